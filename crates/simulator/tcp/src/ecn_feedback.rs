//! The sink's counters of accurate ECN (RFC 9768) as read by the sender, and the detection of paths that change the ECN
//! field (section 3.2.2.3).
//!
//! ```text
//! marks:        increase of the CE counter since the newest acknowledgement; older ones are ignored  section 3.2.2.2
//! bleaching:    fewer packets counted than segments acknowledged, without those resent as Not-ECT
//! re-marking:   the counter of the ECT codepoint that the sender does not use has increased
//! only CE:      every packet of the first four round trips was CE
//! ```

use crate::segment::EcnCounts;
use headway_units::Ecn;

/// Round trips with only CE after which marks are ignored.
const ONLY_CE_ROUNDS: u8 = 4;
const NONE: EcnCounts = EcnCounts { ect0: 0, ect1: 0, ce: 0 };

/// Numbers of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// All segments below this number are acknowledged.
    pub(crate) seq: u64,
    /// One past the highest segment sent.
    pub(crate) max: u64,
    /// Segments sent as Not-ECT.
    pub(crate) not_ect: u64,
}

/// Feedback of the sink so far.
#[derive(Debug)]
pub(crate) struct EcnFeedback {
    /// Counters of the newest acknowledgement.
    newest: EcnCounts,
    /// Whether the path changes the ECN field.
    pub(crate) failed: bool,
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
    pub(crate) const fn new() -> Self {
        Self { newest: EcnCounts::INITIAL, failed: false, only_ce: false, ce_rounds: Some(0), round_end: 1, arrived: 0 }
    }

    /// Processes the counters of an acknowledgement; `codepoint` is that of the sender. Returns the newly counted
    /// packets, and whether the path was found to change the ECN field.
    pub(crate) fn read(&mut self, counts: EcnCounts, acked: Acknowledged, codepoint: Ecn) -> (EcnCounts, bool) {
        let mut new = NONE;
        if let Some(increase) = counts.since(self.newest) {
            (self.newest, new) = (counts, increase);
        }
        self.arrived += new.total();
        let changed = !self.failed && self.is_changed(new, acked, codepoint);
        if self.only_ce {
            new.ce = 0;
        }
        (new, changed)
    }

    fn is_changed(&mut self, new: EcnCounts, acked: Acknowledged, codepoint: Ecn) -> bool {
        let is_bleached = acked.seq.saturating_sub(1) > self.arrived + acked.not_ect;
        let other = if codepoint == Ecn::Ect1 { new.ect0 } else { new.ect1 };
        if new.ect0 > 0 || new.ect1 > 0 {
            self.ce_rounds = None;
        }
        if let Some(rounds) = &mut self.ce_rounds
            && new.ce > 0
            && acked.seq > self.round_end
        {
            self.round_end = acked.max;
            *rounds += 1;
            self.only_ce = *rounds > ONLY_CE_ROUNDS;
        }
        is_bleached || other > 0 || self.only_ce
    }
}
