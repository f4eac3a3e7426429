//! TCP NewReno (RFC 6582; ns-2.35 tcp/tcp-newreno.cc): recovery lasts until all data sent before it is acknowledged.
//!
//! ```text
//! partial acknowledgement of n:  resend the next missing segment; window -= n, += 1
//! full acknowledgement:          inflation = 0; cwnd = min(ssthresh, max(FlightSize, 1) + 1) with exit_recovery_fix; ns-2 has FlightSize + 1
//! ```

use crate::growth::Growth;
use crate::kinds::reno::duplicate;
use crate::options::{PartialAckTimer, Rules};
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::Dialect;

/// Fast recovery that continues through partial acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    /// Whether this recovery received a partial acknowledgement.
    partial: bool,
}

impl Recovery for NewReno {
    type Options = ();

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.adjust_timer_without_sack(dialect);
    }

    fn new(_rules: &Rules, _options: &Self::Options) -> Self {
        Self { partial: false }
    }

    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if ack.seq > state.una {
            if ack.seq >= state.recover || state.last_cut != Cut::DupAcks {
                self.full(state, ack);
            } else {
                self.partial(state, ack);
            }
        } else if ack.seq == state.una {
            duplicate(state, false);
        }
        if state.dupacks == 0 {
            state.release();
        } else if state.dupacks >= state.rules.dupack_threshold {
            state.release_at_most(state.rules.newreno.recovery_burst);
        }
    }

    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        state.inflation = 0;
        state.dupacks = 0;
    }
}

impl NewReno {
    fn full<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        let recovering = state.inflation > 0;
        if recovering {
            state.inflation = 0;
            if state.last_cut == Cut::DupAcks {
                state.last_cut = Cut::Recovered;
            }
            if state.rules.newreno.exit_recovery_fix {
                let flight = (state.max - ack.seq).max(u64::from(state.rules.newreno.exit_recovery_least_flight));
                state.window.cwnd = state.window.ssthresh.min(flight as f64 + 1.0);
            }
        }
        self.partial = false;
        state.accept(ack, state.rules.reno.grow_on_exit || !recovering);
    }

    fn partial<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if state.rules.newreno.partial_ack_timer == PartialAckTimer::SlowButSteady || !self.partial {
            self.partial = true;
            state.restart_timer();
        }
        let acked = ack.seq - state.una;
        if state.inflation > acked {
            state.inflation -= acked - 1;
        } else {
            state.window.cwnd -= (acked - state.inflation) as f64;
            state.inflation = 1;
        }
        // After a mark, cwnd may be half a segment; ns-2 does not deflate below one.
        state.window.cwnd = state.window.cwnd.max(1.0);
        state.una = ack.seq;
        state.nxt = state.nxt.max(state.una);
        state.drop_measurement();
        state.resend(state.una);
    }
}
