//! TCP Reno: fast retransmit and fast recovery (RFC 5681 section 3.2; ns-2.35 tcp/tcp-reno.cc).
//!
//! ```text
//! 3rd duplicate:     ssthresh = max(base / 2, 2), cwnd = half of it, resend the missing segment, inflation = 3
//! further ones:      inflation += 1
//! new data:          inflation = 0: the recovery ends, even if more segments of the window were lost
//! ```
//! Segments are sent while in flight < cwnd + inflation.

use crate::growth::Growth;
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Dialect;

/// Fast recovery that ends with the first new acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl Recovery for Reno {
    type Options = ();

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.adjust_timer_without_sack(dialect);
    }

    fn new(_rules: &Rules, _options: &Self::Options) -> Self {
        Self
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if ack.seq > state.una {
            let recovering = state.inflation > 0;
            if state.last_cut == Cut::DupAcks {
                state.last_cut = Cut::Recovered;
            }
            state.inflation = 0;
            state.accept(ack, state.rules.reno.grow_on_exit || !recovering);
        } else if ack.seq == state.una {
            duplicate(state, state.last_cut == Cut::DupAcks);
        }
        if state.dupacks == 0 || state.dupacks >= state.rules.dupack_threshold {
            state.release();
        }
    }

    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        state.inflation = 0;
        state.dupacks = 0;
    }
}

/// Handles a duplicate acknowledgement in Reno and NewReno. `again`: whether another recovery may start in the same
/// window.
pub(crate) fn duplicate<G: Growth>(state: &mut State<G>, again: bool) {
    state.dupacks += 1;
    if state.dupacks == state.rules.dupack_threshold {
        fast_retransmit(state, again);
    } else if state.dupacks > state.rules.dupack_threshold {
        if state.last_cut == Cut::DupAcks {
            state.inflation += 1;
        }
    } else {
        state.transmit_limited();
    }
}

fn fast_retransmit<G: Growth>(state: &mut State<G>, again: bool) {
    // Once a window, as in Tahoe, but always for the first data segment.
    if state.una > state.recover || again || state.una == 1 {
        state.begin_recovery();
        state.halve(Cut::DupAcks);
    } else if state.rules.ecn && state.last_cut == Cut::Ecn {
        // The window was already halved in this round trip: only resend.
        state.last_cut = Cut::DupAcks;
        state.restart_timer();
        state.drop_timing();
    } else {
        return;
    }
    state.resend(state.una);
    state.inflation = u64::from(state.rules.dupack_threshold);
}
