//! Effects of an acknowledgement on our half-connection, on our acknowledgement state, and on
//! features that follow the round-trip time.

use super::Connection;
use super::event::{Delivery, Event, Step};
use super::feature_slot::Side;
use super::forward::Ack;
use super::honesty::Verdict;
use super::parsed_options::ParsedOptions;
use super::state::State;
use crate::{Feature, Packet, PacketType, Reset, ResetCode};
use headway_units::{Duration, Ecn, Instant, Seq48};
use std::ops::ControlFlow;

/// "One good guideline is ... about five times the maximum number of packets it expects to send in a round-trip time"
/// (section 7.5.2).
const WINDOWS_A_ROUND_TRIP: u64 = 5;
/// Maximum ratio of the packets expected in a round trip to those sent in the current one.
const STEEPEST_RISE: u64 = 8;

impl Connection {
    /// Handles the acknowledgement in a valid packet other than a Sync. `advanced`: its
    /// acknowledgement number is the greatest so far.
    #[inline(never)]
    pub(super) fn on_acknowledgement(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        seq: Seq48,
        ecn: Ecn,
        advanced: bool,
        parsed: &ParsedOptions,
    ) -> Step<()> {
        const NEXT: Step<()> = ControlFlow::Continue(());
        // The packet that a Sync names need not have been processed, and its other options do not
        // refer to it (section 7.4).
        if matches!(packet.kind(), PacketType::Sync | PacketType::SyncAck) {
            return NEXT;
        }
        let number = self.windows.number_sent(seq);
        self.acknowledge.on_ack_of(seq);
        self.mtu.on_arrivals(seq, 1);
        self.end_of_round_trip(number);
        // An Ack is sent because there is something to acknowledge, but an acknowledgement on
        // another packet may have waited for that packet. An endpoint that sends no Elapsed Time
        // (Linux) acknowledges the last data in a Close, seconds later.
        let at_once = advanced && (packet.kind() == PacketType::Ack || self.machine.state() < State::Open);
        let marked = ecn == Ecn::Ce && !packet.kind().is_data();
        let (upcoming, profile) = (self.windows.upcoming_number(), self.agreed.sending);
        let ack = Ack { seq, number, upcoming, at_once, marked, profile };
        let outcome = self.forward.on_ack(now, &ack, parsed, || self.seen.take_lost());
        self.widen_for_the_rate();
        if outcome.stops {
            self.events.push_back(Event::PeerNotListening);
        }
        self.counters.lies += u64::from(outcome.verdict != Verdict::Believed);
        self.counters.lost_packets += outcome.counts.lost;
        self.counters.marked_packets += outcome.counts.marked;
        if outcome.verdict == Verdict::Penalty {
            self.reset(now, Reset { code: ResetCode::AGGRESSION_PENALTY, data: [0; 3] });
            return ControlFlow::Break(Delivery::Nothing);
        }
        if parsed.vector {
            // The peer's vector reports which of our packets with Ack Vectors were received.
            for (newest, packets) in self.forward.received_runs(seq) {
                self.acknowledge.on_ack_of_run(newest, packets);
                self.mtu.on_arrivals(newest, packets);
            }
        }
        NEXT
    }

    /// Once per round trip, adapts the Sequence Window to the packets sent and the Ack Ratio to the sender.
    fn end_of_round_trip(&mut self, acknowledged: u64) {
        let Some(packets) = self.windows.end_of_round_trip(acknowledged) else { return };
        if !self.machine.state().is_synchronized() {
            return;
        }
        self.widen_for(packets);
        self.propose_ack_ratio();
    }

    /// Widens the window for the pacing rate. A controller may more than double its rate in a round
    /// trip; a window based on packets already sent would be agreed too late.
    fn widen_for_the_rate(&mut self) {
        let Some(size) = self.counters.sent_data.checked_div(self.counters.sent_data_packets) else { return };
        let Some(rate) = self.forward.pacing_rate() else { return };
        let expected = rate.bits_per_second() as f64 / 8.0 * self.rtt().as_secs_f64() / size.max(1) as f64;
        // An unused rate needs no window.
        let expected = (expected as u64).min(self.windows.sent_in_this_round_trip().saturating_mul(STEEPEST_RISE));
        if self.machine.state().is_synchronized() && expected.saturating_mul(2) > self.windows.local_window {
            self.widen_for(expected);
        }
    }

    /// Widens the window before it is half full, for a sender that starts at a high rate or raises
    /// it without acknowledgements.
    #[inline]
    pub(super) fn widen_early(&mut self) {
        if self.counters.sent_data_packets > 0 && self.windows.unacknowledged() > self.windows.local_window / 2 {
            self.widen_for_the_rate();
        }
    }

    fn widen_for(&mut self, packets: u64) {
        let wanted = packets.saturating_mul(WINDOWS_A_ROUND_TRIP);
        let window = self.windows.local_window;
        if wanted > window && !self.negotiation.is_changing(Side::Local, Feature::SEQUENCE_WINDOW) {
            let largest = self.options.largest_sequence_window.max(window);
            let wider = wanted.min(largest).next_power_of_two().min(largest);
            self.negotiation.propose(Feature::SEQUENCE_WINDOW, wider);
        }
    }

    /// Returns whether the acknowledgement of one more packet might be invalid while a wider Sequence Window is
    /// negotiated. All later ones would be invalid too, including the Confirm that widens the window.
    #[inline]
    pub(super) fn is_window_full(&self) -> bool {
        let window = self.windows.local_window;
        self.windows.unacknowledged() >= window - window / 8
            && self.negotiation.is_changing(Side::Local, Feature::SEQUENCE_WINDOW)
    }

    /// Returns the maximum wait before a Change is retransmitted. Only a wider Sequence Window has
    /// one, since data may soon wait for it.
    pub(super) fn longest_change_wait(&self) -> Duration {
        let widens = self.negotiation.is_changing(Side::Local, Feature::SEQUENCE_WINDOW);
        if widens { self.options.longest_change_wait } else { Duration::MAX }
    }

    /// Proposes the Ack Ratio of the sender, if it has changed.
    pub(super) fn propose_ack_ratio(&mut self) {
        if !self.machine.state().is_synchronized() {
            return;
        }
        let ratio = self.forward.status().and_then(|status| status.ack_ratio);
        // Also while the Confirm of an older value is outstanding: the new value takes effect when its Change arrives.
        if let Some(ratio) = ratio {
            self.negotiation.propose(Feature::ACK_RATIO, ratio.into());
        }
    }
}
