//! TCP NewReno (RFC 6582; ns-2.35 tcp/tcp-newreno.cc): recovery lasts until everything sent before it is acknowledged.
//!
//! ```text
//! partial acknowledgement of n:  resend the next missing segment; window -= n, += 1
//! full acknowledgement:          inflation = 0; cwnd = min(ssthresh, max(FlightSize, 1) + 1) with exit_recovery_fix; ns-2 has FlightSize + 1
//! ```

use crate::growth::Growth;
use crate::keys::options;
use crate::kinds::reno::duplicate;
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::{Dialect, QueueSize};

options! {
    /// Options of `tcp-newreno` and `tcp-jtcp`.
    NewRenoOptions {
        /// When partial acknowledgements restart the retransmission timer.
        Usual partial_ack_timer: PartialAckTimer = PartialAckTimer::Impatient;
        /// cwnd becomes `min(ssthresh, max(FlightSize, least) + 1)` at the end of a recovery (RFC 6582 step 3, option 1; ns-2
        /// `exit_recovery_fix_`). `exit_recovery_least_flight` is the least.
        Expert exit_recovery_fix: bool = true, Ns2: false;
        /// The least FlightSize that `exit_recovery_fix` counts with, in segments: 1 (RFC 6582) or 0 (ns-2).
        Expert exit_recovery_least_flight: u32 = 1, Ns2: 0;
        /// New segments that one acknowledgement may release in a recovery; absent: as the window allows.
        Expert recovery_burst: Option<QueueSize> = None, Ns2: Some(QueueSize::Packets(2));
    }
}

/// When partial acknowledgements restart the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAckTimer {
    /// The first only: many losses end in a timeout.
    Impatient,
    /// Each: many losses take a round trip each.
    SlowButSteady,
}

/// Fast recovery that stays for partial acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    /// Whether a partial acknowledgement was seen in this recovery.
    partial: bool,
}

impl Recovery for NewReno {
    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.adjust_timer_without_sack(dialect);
    }

    fn new(_rules: &Rules) -> Self {
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
        // A mark may have left half a segment, which no deflation keeps (ns-2).
        state.window.cwnd = state.window.cwnd.max(1.0);
        state.una = ack.seq;
        state.nxt = state.nxt.max(state.una);
        state.drop_measurement();
        state.resend(state.una);
    }
}
