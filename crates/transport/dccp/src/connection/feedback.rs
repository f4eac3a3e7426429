//! What an acknowledgement leads to: for our half-connection, for what we acknowledge, and for the features that follow the round trip.

use super::Connection;
use super::event::{Delivery, Event, Step};
use super::feature_slot::Side;
use super::forward::Ack;
use super::heard::Heard;
use super::honesty::Verdict;
use super::state::State;
use crate::{Feature, Packet, PacketType, Reset, ResetCode};
use headway_units::{Duration, Ecn, Instant, Seq48};
use std::ops::ControlFlow;

/// "One good guideline is ... about five times the maximum number of packets it expects to send in a round-trip time"
/// (section 7.5.2).
const WINDOWS_A_ROUND_TRIP: u64 = 5;
/// How many times more packets are expected in a round trip, at most, than have gone in the present one.
const STEEPEST_RISE: u64 = 8;

impl Connection {
    /// A valid packet other than a Sync acknowledges ours. `advanced`: it names a greater number than any before.
    #[inline(never)]
    pub(super) fn on_acknowledgement(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        seq: Seq48,
        ecn: Ecn,
        advanced: bool,
        heard: &Heard,
    ) -> Step<()> {
        const NEXT: Step<()> = ControlFlow::Continue(());
        // What a Sync names need not have been processed, and its other options do not refer to it (section 7.4).
        if matches!(packet.kind(), PacketType::Sync | PacketType::SyncAck) {
            return NEXT;
        }
        let number = self.windows.number_sent(seq);
        self.acknowledge.on_ack_of(seq);
        self.mtu.on_arrivals(seq, 1);
        self.end_of_round_trip(number);
        // An Ack goes because there is something to acknowledge. What rides on other packets has waited for them: an end that
        // sends no Elapsed Time (Linux) acknowledges its peer's last data in a Close, seconds later.
        let at_once = advanced && (packet.kind() == PacketType::Ack || self.machine.state() < State::Open);
        let marked = ecn == Ecn::Ce && !packet.kind().is_data();
        let (upcoming, room) = (self.windows.upcoming_number(), self.agreed.sending);
        let ack = Ack { seq, number, upcoming, at_once, marked, room };
        let outcome = self.forward.on_ack(now, &ack, heard, || self.seen.take_lost());
        self.widen_for_the_rate();
        if outcome.stops {
            self.events.push_back(Event::PeerNotListening);
        }
        self.counters.lies += u64::from(outcome.verdict != Verdict::Believed);
        self.counters.lost_packets += outcome.fate.lost;
        self.counters.marked_packets += outcome.fate.marked;
        if outcome.verdict == Verdict::Penalty {
            self.reset(now, Reset { code: ResetCode::AGGRESSION_PENALTY, data: [0; 3] });
            return ControlFlow::Break(Delivery::Nothing);
        }
        if heard.vector {
            // Our packets that carried Ack Vectors have come if the peer's vector says so.
            for (newest, packets) in self.forward.runs_that_came(seq) {
                self.acknowledge.on_ack_of_run(newest, packets);
                self.mtu.on_arrivals(newest, packets);
            }
        }
        NEXT
    }

    /// Once a round trip: does the Sequence Window hold what we send, and has the sender another Ack Ratio in mind?
    fn end_of_round_trip(&mut self, acknowledged: u64) {
        let Some(packets) = self.windows.end_of_round_trip(acknowledged) else { return };
        if !self.machine.state().is_synchronized() {
            return;
        }
        self.widen_for(packets);
        self.propose_ack_ratio();
    }

    /// A controller may raise its rate more than to the double in a round trip. Packets that were counted then tell too late: before a
    /// wider window is agreed, what goes would be too much for the old one.
    fn widen_for_the_rate(&mut self) {
        let Some(size) = self.counters.sent_data.checked_div(self.counters.sent_data_packets) else { return };
        let Some(rate) = self.forward.pacing_rate() else { return };
        let expected = rate.bits_per_second() as f64 / 8.0 * self.rtt().as_secs_f64() / size.max(1) as f64;
        // A rate that is not used needs no window.
        let expected = (expected as u64).min(self.windows.sent_in_this_round_trip().saturating_mul(STEEPEST_RISE));
        if self.machine.state().is_synchronized() && expected.saturating_mul(2) > self.windows.local_window {
            self.widen_for(expected);
        }
    }

    /// A sender that begins at a high rate, or raises it while nothing is heard, fills half of the window before any acknowledgement tells.
    #[inline]
    pub(super) fn widen_before_it_is_full(&mut self) {
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

    /// While a wider Sequence Window is being agreed on: whether the acknowledgement of one more packet might come too late to be valid. All
    /// later ones would be, and with them the answer that widens the window.
    #[inline]
    pub(super) fn is_window_full(&self) -> bool {
        let window = self.windows.local_window;
        self.windows.unacknowledged() >= window - window / 8
            && self.negotiation.is_changing(Side::Local, Feature::SEQUENCE_WINDOW)
    }

    /// Returns the longest wait before a Change is repeated. Data may soon wait for a wider Sequence Window, and for no other feature.
    pub(super) fn longest_change_wait(&self) -> Duration {
        let widens = self.negotiation.is_changing(Side::Local, Feature::SEQUENCE_WINDOW);
        if widens { self.options.longest_change_wait } else { Duration::MAX }
    }

    /// The sender may have another Ack Ratio in mind.
    pub(super) fn propose_ack_ratio(&mut self) {
        if !self.machine.state().is_synchronized() {
            return;
        }
        let ratio = self.forward.status().and_then(|status| status.ack_ratio);
        // Also while the Confirm of an older one is lost again and again: it takes effect where the Change comes.
        if let Some(ratio) = ratio {
            self.negotiation.propose(Feature::ACK_RATIO, ratio.into());
        }
    }
}
