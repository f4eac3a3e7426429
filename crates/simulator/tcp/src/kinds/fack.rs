//! The recovery of Linux 2.6 as implemented by ns-2's Agent/TCP/Linux (ns-2.35 tcp/tcp-linux.cc, `recv`,
//! `tcp_fastretrans_alert`, `enter_loss`, `send_much`), with the scoreboard of `fack_board.rs`.
//!
//! ```text
//! in flight   next to send - first missing - received above it - lost and not resent
//! loss        the growth reduces ssthresh and cwnd; one segment is sent per two acknowledgements until
//!             the segments in flight have decreased from the previous window to cwnd (rate halving)
//! its end     all segments sent before it are acknowledged: cwnd = ssthresh if less, then at most in flight + 3
//! timeout     all segments not received are lost, cwnd = 1; ends as a loss does, unless another loss is detected
//! ```
//! Each acknowledgement, including duplicates, is a round-trip sample if it has a timestamp, ends the back-off and
//! restarts the timer. Data follows the SYN immediately (`delay_growth_` 0). The agent does not implement the states
//! Disorder and CWR, undo, and F-RTO of Linux 2.6. `window` limits the segments in flight, which exclude SACKed
//! segments.

use crate::fack_board::FackBoard;
use crate::growth::Growth;
use crate::segment::Segment;
use crate::state::{Cut, State};

/// `tcp_max_burst` of Linux: segments released at the end of a recovery.
const MAX_BURST: u64 = 3;

/// `icsk_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery,
    Loss,
}

#[derive(Clone, Debug)]
pub(crate) struct Fack {
    board: FackBoard,
    phase: Phase,
    /// Limit of the segments in flight while the rate is halved (`next_pkts_in_flight_`).
    halving: u64,
}

impl Fack {
    pub(crate) fn new() -> Self {
        Self { board: FackBoard::new(), phase: Phase::Open, halving: 0 }
    }

    /// `packets_in_flight`.
    fn in_flight<G: Growth>(&self, state: &State<G>) -> u64 {
        (state.nxt - state.una).saturating_sub(self.board.left_network())
    }

    /// `recv`.
    pub(crate) fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        if ack.seq < state.una {
            return;
        }
        let in_flight = self.in_flight(state);
        let segments = state.advance_una(ack);
        let changes = if ack.sack.is_empty() && self.board.is_empty() {
            Default::default()
        } else {
            self.board.update(state.max, ack)
        };
        let rtt = state.measure(ack).filter(|_| !changes.resent);
        state.renew_timer();
        state.dupacks += u32::from(segments == 0);

        let echo = ack.ece && state.rules.ecn && ack.seq > 1;
        let fine = self.phase == Phase::Open && segments > 0 && !changes.sacked && !echo;
        let acked = state.acked(segments, rtt);
        state.acknowledged(acked, fine);
        if segments > 0 {
            let may_grow = self.phase != Phase::Recovery && (!echo || state.window.in_slow_start());
            // `tcp_is_cwnd_limited`.
            let filled = in_flight >= state.window.cwnd as u64;
            if may_grow && filled {
                state.grow(acked);
            } else {
                if may_grow && !filled {
                    state.application_limited();
                }
                state.hold(acked);
            }
        }
        if !fine {
            self.alert(state, changes.lost, echo);
        }
        self.halving = self.halving.min(self.in_flight(state) + 1);
        state.release();
    }

    /// `tcp_fastretrans_alert`.
    fn alert<G: Growth>(&mut self, state: &mut State<G>, lost: bool, echo: bool) {
        if self.phase != Phase::Open && state.una >= state.recover {
            self.board.clear();
            if self.phase == Phase::Recovery {
                state.recovered();
            }
            if state.window.in_slow_start() {
                // `tcp_moderate_cwnd`.
                let most = self.in_flight(state) + MAX_BURST;
                state.window.cwnd = state.window.ssthresh.min(most as f64);
            }
            (self.phase, self.halving) = (Phase::Open, 0);
        } else if self.phase != Phase::Recovery && (lost || echo) {
            state.recover = state.max;
            self.halving = state.window.cwnd as u64;
            state.halve(Cut::DupAcks);
            state.counters.fast_recoveries += u64::from(lost);
            state.counters.ecn_reductions += u64::from(!lost);
            self.phase = Phase::Recovery;
        }
    }

    /// `timeout` and `enter_loss`.
    pub(crate) fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        let next = state.nxt;
        if state.una == state.max {
            state.time_out();
            // `slowdown (CLOSE_CWND_INIT)`.
            state.window.cwnd = state.rules.initial_window_segments() as f64;
        } else {
            state.time_out();
            // The scoreboard selects the segments to resend.
            state.nxt = next;
            self.board.lose_all(state.una, next);
            self.phase = Phase::Loss;
        }
        self.halving = 0;
        state.dupacks = 0;
        state.release();
    }

    /// `send_much`.
    pub(crate) fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        let window = (state.window.cwnd as u64).min(state.limit).max(self.halving);
        if self.in_flight(state) >= window {
            return None;
        }
        let new = state.nxt < state.end && state.nxt < state.una + state.rules.reach();
        self.board.next_lost().or_else(|| new.then_some(state.nxt))
    }

    pub(crate) fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        if self.board.next_lost() == Some(seq) {
            self.board.resend(state.nxt);
        } else {
            state.nxt = seq + 1;
        }
        self.halving = self.halving.min(self.in_flight(state).saturating_sub(1).max(1));
    }
}
