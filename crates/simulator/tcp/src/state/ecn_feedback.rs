//! Accurate ECN at the sender (RFC 9768): the increase of the sink's counters, and paths that change the ECN field.
//!
//! ```text
//! marks:        increase of the CE counter since the newest acknowledgement; older ones are ignored  section 3.2.2.2
//! SYN:          sent as Not-ECT, received otherwise                                                  section 3.2.2.3
//! bleaching:    fewer packets counted than segments acknowledged, without those resent as Not-ECT
//! re-marking:   the counter of the ECT codepoint that the sender does not use has increased
//! only CE:      every packet of the first four round trips was CE
//! ```
//! In each of these cases the sender uses Not-ECT for the rest of the connection. It still responds to marks, except
//! with only CE.

use super::{Cut, State};
use crate::growth::Growth;
use crate::segment::{EcnCounts, Segment};
use headway_units::Ecn;
use std::sync::Arc;

/// Round trips with only CE after which marks are ignored.
const ONLY_CE_ROUNDS: u8 = 4;

/// Feedback of the sink so far.
#[derive(Debug)]
pub(super) struct EcnFeedback {
    /// Counters of the newest acknowledgement.
    newest: EcnCounts,
    failed: bool,
    /// Whether marks are ignored.
    only_ce: bool,
    /// Round trips so far in which every packet was CE; `None` after another packet.
    ce_rounds: Option<u8>,
    /// First number sent after the start of this round trip.
    round_end: u64,
    /// Packets counted by the sink.
    arrived: u64,
}

impl EcnFeedback {
    pub(super) const fn new() -> Self {
        Self { newest: EcnCounts::INITIAL, failed: false, only_ce: false, ce_rounds: Some(0), round_end: 1, arrived: 0 }
    }
}

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
            if counts != EcnCounts::of_syn(Ecn::NotEct) {
                self.fail_ecn();
            }
            self.observe(&read);
            return read;
        }
        let new = counts.since(self.ecn_feedback.newest);
        if new.is_some() {
            self.ecn_feedback.newest = counts;
        }
        let mut new = new.unwrap_or(EcnCounts { ect0: 0, ect1: 0, ce: 0 });
        self.ecn_feedback.arrived += new.total();
        if !self.ecn_feedback.failed {
            self.validate_ecn(ack.seq, new);
        }
        if self.ecn_feedback.only_ce {
            new.ce = 0;
        }
        // The window does not grow until a segment sent after the reduction is acknowledged (Linux, state TCP_CA_CWR).
        read.ece = new.ce > 0 || self.last_cut == Cut::Ecn && ack.seq <= self.recover;
        self.growth.counted(&mut self.window, self.now, (self.una, self.max), &read, new);
        read
    }

    /// Stops using ECN if the acknowledgement of all segments below `seq` shows that the path changes the ECN field.
    fn validate_ecn(&mut self, seq: u64, new: EcnCounts) {
        let resent_as_not_ect = if self.rules.ecn_on_retransmission { 0 } else { self.counters.retransmitted };
        let is_bleached = seq.saturating_sub(1) > self.ecn_feedback.arrived + resent_as_not_ect;
        let other = if self.growth.codepoint() == Ecn::Ect1 { new.ect0 } else { new.ect1 };
        if is_bleached || other > 0 {
            self.fail_ecn();
        }
        let feedback = &mut self.ecn_feedback;
        if new.ect0 > 0 || new.ect1 > 0 {
            feedback.ce_rounds = None;
        }
        let Some(rounds) = &mut feedback.ce_rounds else { return };
        if new.ce > 0 && seq > feedback.round_end {
            feedback.round_end = self.max;
            *rounds += 1;
            if *rounds > ONLY_CE_ROUNDS {
                feedback.only_ce = true;
                self.fail_ecn();
            }
        }
    }

    fn fail_ecn(&mut self) {
        if !std::mem::replace(&mut self.ecn_feedback.failed, true) {
            Arc::make_mut(&mut self.rules).ecn = false;
            self.counters.ecn_failures += 1;
            self.growth.ecn_failed();
        }
    }
}
