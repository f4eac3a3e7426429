//! TCP Tahoe (Jacobson 1988; ns-2.35 tcp/tcp.cc): the third duplicate acknowledgement has the effect of a timeout.
//!
//! ```text
//! 3 duplicates:  ssthresh = max(window / 2, 2), cwnd = 1, go back to the first unacknowledged segment
//! ```

use crate::growth::Growth;
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Dialect;

#[derive(Clone, Debug)]
pub(crate) struct Tahoe;

impl Recovery for Tahoe {
    type Options = ();

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.adjust_timer_without_sack(dialect);
    }

    fn new(_rules: &Rules, _options: &Self::Options) -> Self {
        Self
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if ack.seq > state.una {
            state.accept(ack, true);
        } else if ack.seq == state.una {
            state.dupacks += 1;
            if state.dupacks == state.rules.dupack_threshold {
                Self::fast_retransmit(state);
            } else if state.dupacks < state.rules.dupack_threshold {
                state.transmit_limited();
            }
        }
        state.release();
    }

    fn on_timeout<G: Growth>(&mut self, _state: &mut State<G>) {}
}

impl Tahoe {
    fn fast_retransmit<G: Growth>(state: &mut State<G>) {
        // Not twice in one window (RFC 6582 section 3.2 step 2, ns-2 `bugFix_`). The first data segment is exempt: no
        // data was sent before it.
        if state.una > state.recover || state.una == 1 {
            state.begin_recovery();
            state.collapse(Cut::DupAcks);
        } else if state.rules.ecn && state.last_cut == Cut::Ecn {
            state.close_to_one(Cut::DupAcks);
            state.restart_timer();
            state.drop_timing();
        } else {
            return;
        }
        state.go_back();
    }
}
