//! SACK with a counted pipe (Fall and Floyd 1996; ns-2.35 tcp/tcp-sack1.cc, scoreboard-rq.h, rq.cc).
//!
//! ```text
//! 3rd duplicate with new SACK information:  halve, resend the first hole, pipe = in flight - 3
//! each acknowledgement:     pipe -= 1, and again if it is partial
//! each segment sent:        pipe += 1; holes below the highest block first, each once; then new data
//! ```
//! As in ns-2, the resent first hole is not added to the pipe, and an acknowledgement is a duplicate only if the
//! scoreboard changed. Both have measurable effects.

use crate::growth::Growth;
use crate::options::Rules;
use crate::ranges::Ranges;
use crate::segment::Segment;
use crate::state::{Cut, State};

#[derive(Clone, Debug)]
pub(crate) struct Counted {
    received: Ranges,
    /// One past the highest resent hole (`h_seqno_`).
    resent: u64,
    /// First segment of the scoreboard (`sack_min`).
    floor: u64,
    recovering: bool,
    /// Whether nothing new was acknowledged since a timeout: duplicates are ignored.
    timed_out: bool,
    pipe: i64,
}

impl Counted {
    pub(crate) fn new(_rules: &Rules) -> Self {
        Self { received: Ranges::default(), resent: 0, floor: 0, recovering: false, timed_out: false, pipe: 0 }
    }

    fn clear(&mut self) {
        self.received.clear();
        self.resent = 0;
    }

    /// Processes the blocks of `ack`. Returns whether the scoreboard changed.
    fn update<G: Growth>(&mut self, state: &State<G>, una: u64, ack: &Segment) -> bool {
        let before = self.received.total();
        let mut changed = false;
        if self.floor < una {
            self.floor = una;
            if !self.received.is_empty() {
                self.received.remove_below(una);
                changed = true;
            }
        }
        for block in ack.sack.iter(ack.seq) {
            if block.start >= block.end || block.end > state.max {
                continue;
            }
            self.received.add(block);
        }
        changed || self.received.total() != before
    }

    /// Returns the lowest hole below a block that was not resent.
    fn next_hole(&self) -> Option<u64> {
        let from = self.resent.max(self.floor);
        let hole = self.received.holding(from).map_or(from, |block| block.end);
        self.received.end().is_some_and(|end| hole < end).then_some(hole)
    }

    pub(crate) fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if self.recovering {
            self.in_recovery(state, ack);
            state.release();
            return;
        }
        if ack.seq > state.una {
            state.accept(ack, true);
            self.timed_out = false;
            self.clear();
        } else if ack.seq == state.una && !self.timed_out && self.update(state, state.una, ack) {
            state.dupacks += 1;
            if state.dupacks == state.rules.dupack_threshold {
                self.fast_retransmit(state);
            } else if state.dupacks < state.rules.dupack_threshold {
                state.transmit_limited();
            }
        }
        if state.dupacks == 0 {
            state.release();
        }
    }

    fn in_recovery<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        self.pipe -= 1;
        // `recover` is one past the highest segment sent on entry; ns-2 leaves when the highest itself is acknowledged.
        if ack.seq >= state.recover {
            state.recover = 1;
            self.recovering = false;
            self.timed_out = false;
            state.advance(ack);
            state.recovered();
            self.clear();
        } else if ack.seq > state.una {
            state.una = ack.seq;
            self.update(state, ack.seq, ack);
            self.pipe -= 1;
            state.renew_timer();
            state.reset_back_off();
        } else if !self.timed_out && self.update(state, state.una, ack) && state.dupacks > 0 {
            state.dupacks += 1;
        }
    }

    fn fast_retransmit<G: Growth>(&mut self, state: &mut State<G>) {
        let fresh = state.una > state.recover || state.una == 1;
        let after_ecn = state.rules.ecn && state.last_cut == Cut::Ecn;
        if !fresh && !after_ecn {
            return;
        }
        self.pipe = state.flight() as i64 - i64::from(state.rules.dupack_threshold);
        self.recovering = true;
        self.resent = self.resent.max(state.una + 1);
        if fresh {
            state.begin_recovery();
            state.halve(Cut::DupAcks);
        } else {
            state.last_cut = Cut::DupAcks;
            state.restart_timer();
            state.drop_timing();
        }
        state.resend(state.una);
    }

    pub(crate) fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        state.dupacks = 0;
        self.recovering = false;
        self.timed_out = true;
        self.clear();
    }

    pub(crate) fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        if self.recovering {
            if self.pipe >= state.window.cwnd as i64 {
                return None;
            }
        } else if state.nxt >= state.una + state.usable() {
            return None;
        }
        match self.next_hole() {
            Some(hole) => (state.recover > 1 && hole < state.una + state.limit).then_some(hole),
            None => (state.nxt < state.una + state.limit && state.nxt < state.end).then_some(state.nxt),
        }
    }

    pub(crate) fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        if self.next_hole() == Some(seq) {
            self.resent = seq + 1;
        }
        state.nxt = state.nxt.max(seq + 1);
        self.pipe += 1;
    }
}
