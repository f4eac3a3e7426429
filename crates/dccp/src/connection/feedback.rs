//! What the peer says of our packets, brought to the controller of our data (RFC 4340 section 11; RFC 4342 section 6).

use super::Connection;
use super::event::{Delivery, Event, Step};
use super::feature_slot::Side;
use super::heard::Heard;
use super::honesty::{Claim, Verdict};
use super::state::State;
use crate::{DropCode, Elapsed, Feature, Packet, PacketType, Reset, ResetCode};
use headway_rate::{Acknowledged, Arrival};
use headway_units::{Duration, Ecn, Instant, Seq48};
use std::ops::ControlFlow;

/// "One good guideline is ... about five times the maximum number of packets it expects to send in a round-trip time"
/// (section 7.5.2).
const WINDOWS_A_ROUND_TRIP: u64 = 5;

impl Connection {
    /// A valid packet other than a Sync acknowledges ours. `advanced`: it names a greater number than any before.
    pub(super) fn on_acknowledgement(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        ecn: Ecn,
        advanced: bool,
        heard: &Heard,
    ) -> Step<()> {
        const NEXT: Step<()> = ControlFlow::Continue(());
        let Some(ack) = packet.body.ack() else { return NEXT };
        // What a Sync names need not have been processed, and its other options do not refer to it (section 7.4).
        if matches!(packet.kind(), PacketType::Sync | PacketType::SyncAck) {
            return NEXT;
        }
        let number = self.windows.number_sent(ack);
        self.acknowledge.on_ack_of(ack);
        self.end_of_round_trip(number);
        // An Ack goes because there is something to acknowledge. What rides on other packets has waited for them: an end that
        // sends no Elapsed Time (Linux) acknowledges its peer's last data in a Close, seconds later.
        let at_once = packet.kind() == PacketType::Ack || self.machine.state() < State::Open;
        let rtt_sample = self.measure(now, number, advanced && at_once, heard);
        self.rtt_sample = rtt_sample.or(self.rtt_sample);
        let ack_marked = ecn == Ecn::Ce && !packet.kind().is_data();
        self.outbound.on_lost_acks(u64::from(ack_marked));
        if heard.slow_receiver {
            self.outbound.on_slow_receiver();
            self.slow_receiver_until = Some(now + self.rtt());
        }
        let told: u64 = self.scratch.runs.iter().map(|run| run.packets).fold(0, u64::saturating_add);
        // "A packet with a sequence number less than ISN ... SHOULD be considered invalid": ignored (section 11.4).
        let arrivals = heard.vector && told <= number.saturating_add(1);
        let told: u64 = self.scratch.drops.iter().map(|run| u64::from(run.packets)).sum();
        // Of "more packets than have been sent", or of what the Ack Vector calls "not yet received": invalid, and ignored
        // (section 11.7).
        if told > number.saturating_add(1) || arrivals && self.scratch.drops_what_has_not_come() {
            self.scratch.drops.clear();
        }
        let drops = self.on_data_dropped(number);
        self.outbound.on_receive_buffer_drops(drops);
        match self.judge(number, arrivals) {
            Verdict::Believed => {}
            Verdict::Lie => self.outbound.on_slow_receiver(),
            Verdict::Penalty => {
                self.reset(now, Reset { code: ResetCode::AGGRESSION_PENALTY, data: [0; 3] });
                return ControlFlow::Break(Delivery::Nothing);
            }
        }
        if arrivals {
            self.scratch.mark_dropped();
            self.arrivals_from = Some(ack);
        }
        self.bring_report(now, number, arrivals, rtt_sample);
        if heard.vector {
            self.acknowledge_by_vector(ack);
        }
        NEXT
    }

    /// The controller of our data hears of it, if it is a report.
    fn bring_report(&mut self, now: Instant, number: u64, arrivals: bool, rtt_sample: Option<Duration>) {
        let verifies = self.honesty.verifies();
        let runs = arrivals.then_some(self.scratch.runs.as_slice());
        let room = self.agreed.sending;
        if self.outbound.controller().is_none()
            || room.report(runs, &self.said, rtt_sample.is_some(), verifies).is_none()
        {
            return;
        }
        self.said.join_dropped_packets();
        if let (true, Some((skip, intervals))) = (verifies, self.said.intervals_mut()) {
            self.honesty.complete(number, skip, intervals);
        }
        self.honesty.begin();
        self.outbound.on_lost_acks(self.seen.take_lost());
        if let Some(report) = room.report(runs, &self.said, rtt_sample.is_some(), verifies) {
            self.outbound.on_report(now, number, rtt_sample, report);
        }
    }

    /// Holds what the peer says has come against what went (section 12.3).
    fn judge(&mut self, acknowledged: u64, arrivals: bool) -> Verdict {
        let claim = match self.said.intervals() {
            Some((skip, intervals)) => Claim::Intervals(skip, intervals),
            None if arrivals => Claim::Runs(&self.scratch.runs),
            None => Claim::Nothing,
        };
        let verdict = self.honesty.judge(acknowledged, self.windows.upcoming_number(), claim);
        self.counters.lies += u64::from(verdict != Verdict::Believed);
        verdict
    }

    /// Our packets that carried Ack Vectors have come if the peer's vector says so.
    fn acknowledge_by_vector(&mut self, ack: Seq48) {
        let mut newest = ack;
        for run in &self.scratch.runs {
            if run.arrival != Arrival::NotReceived {
                // The newest vector among them told the most.
                self.acknowledge.on_ack_of_run(newest, run.packets);
            }
            newest -= run.packets;
        }
    }

    /// The time since the acknowledged packet went, less what its receiver held it back.
    fn measure(&mut self, now: Instant, number: u64, at_once: bool, heard: &Heard) -> Option<Duration> {
        // A Timestamp that comes back tells of the packet that it went on.
        let echoed = heard.echo.and_then(|(echo, elapsed)| {
            let (_, at) = self.stamped.take_if(|(timestamp, _)| *timestamp == echo)?;
            Some((now.since(at), elapsed.duration()))
        });
        // Nobody knows how long a peer that is to be verified held an acknowledgement back, in a handshake or before a pause. A window does
        // not go by it, and its receivers do wait.
        let distrusted = self.options.passed_over_interval > 0 && !self.agreed.sending.goes_by_window();
        let held = heard.elapsed.map(Elapsed::duration);
        let trip = self.outbound.measure(now, &Acknowledged { number, held, at_once, echoed, distrusted })?;
        self.honesty.on_round_trip(trip.sample);
        Some(trip.sample)
    }

    /// Data Dropped: counts packets that are newly said to have found no room in the receiver's buffer.
    fn on_data_dropped(&mut self, acknowledged: u64) -> u64 {
        let (mut number, mut drops) = (Some(acknowledged), 0);
        for run in &self.scratch.drops {
            if !matches!(run.code, Some(DropCode::RECEIVE_BUFFER | DropCode::APPLICATION_NOT_LISTENING)) {
                number = number.and_then(|number| number.checked_sub(run.packets.into()));
                continue;
            }
            for _ in 0..run.packets {
                let Some(this) = number else { return drops };
                match run.code {
                    Some(DropCode::RECEIVE_BUFFER) => {
                        drops += u64::from(self.outbound.ledger_mut().drop_in_buffer(this));
                    }
                    Some(DropCode::APPLICATION_NOT_LISTENING) if !self.peer_stopped => {
                        self.peer_stopped = true;
                        self.events.push_back(Event::PeerNotListening);
                    }
                    _ => {}
                }
                number = this.checked_sub(1);
            }
        }
        drops
    }

    /// Once a round trip: does the Sequence Window hold what we send, and has the sender another Ack Ratio in mind?
    fn end_of_round_trip(&mut self, acknowledged: u64) {
        if acknowledged < self.round_trip_began {
            return;
        }
        let upcoming = self.windows.upcoming_number();
        let packets = upcoming.saturating_sub(self.round_trip_began);
        self.round_trip_began = upcoming;
        if !self.machine.state().is_synchronized() {
            return;
        }
        let wanted = packets.saturating_mul(WINDOWS_A_ROUND_TRIP);
        let window = self.windows.local_window;
        if wanted > window && !self.negotiation.is_changing(Side::Local, Feature::SEQUENCE_WINDOW) {
            let largest = self.options.largest_sequence_window.max(window);
            let wider = wanted.min(largest).next_power_of_two().min(largest);
            self.negotiation.propose(Feature::SEQUENCE_WINDOW, wider);
        }
        self.propose_ack_ratio();
    }

    /// The sender may have another Ack Ratio in mind.
    pub(super) fn propose_ack_ratio(&mut self) {
        if !self.machine.state().is_synchronized() {
            return;
        }
        let ratio = self.outbound.status().and_then(|status| status.ack_ratio);
        // Also while the Confirm of an older one is lost again and again: it takes effect where the Change comes.
        if let Some(ratio) = ratio {
            self.negotiation.propose(Feature::ACK_RATIO, ratio.into());
        }
    }
}
