//! Use of accurate ECN (RFC 9768). If the path changes the ECN field, the sender uses Not-ECT for the rest of the
//! connection. It still responds to marks, unless every packet was marked (section 3.2.2.3).

use super::{Cut, State};
use crate::ecn_feedback::Acknowledged;
use crate::growth::Growth;
use crate::segment::{EcnCounts, Segment};
use headway_units::Ecn;
use std::sync::Arc;

impl<G: Growth> State<G> {
    /// Returns whether the sender responds to reports of marks.
    pub(crate) fn reads_ecn(&self) -> bool {
        self.rules.ecn || self.ecn_feedback.failed
    }

    /// Processes the counters of an acknowledgement. Returns it without counters, and with ECN-Echo if they report new
    /// marks or the window was reduced by marks in this round trip.
    #[cold]
    #[inline(never)]
    pub(crate) fn read_counts(&mut self, ack: &Segment) -> Segment {
        let mut read = *ack;
        let Some(counts) = read.sack.take_counts() else { return read };
        if self.una == 0 {
            // The SYN was sent as Not-ECT.
            if counts != EcnCounts::of_syn(Ecn::NotEct) {
                self.fail_ecn();
            }
            self.observe(&read);
            return read;
        }
        let not_ect = if self.rules.ecn_on_retransmission { 0 } else { self.counters.retransmitted };
        let acked = Acknowledged { seq: ack.seq, max: self.max, not_ect };
        let (new, changed) = self.ecn_feedback.read(counts, acked, self.growth.codepoint());
        if changed {
            self.fail_ecn();
        }
        // The window does not grow until a segment sent after the reduction is acknowledged (Linux, state TCP_CA_CWR).
        read.ece = new.ce > 0 || self.last_cut == Cut::Ecn && ack.seq <= self.recover;
        self.growth.counted(&mut self.window, self.now, (self.una, self.max), &read, new);
        read
    }

    fn fail_ecn(&mut self) {
        if !std::mem::replace(&mut self.ecn_feedback.failed, true) {
            Arc::make_mut(&mut self.rules).ecn = false;
            self.counters.ecn_failures += 1;
            self.growth.ecn_failed();
        }
    }
}
