//! Window reductions by losses, marks, timeouts and silences.

use super::{Cut, State};
use crate::growth::Growth;
use crate::options::{EcnEcho, HalvedWindow, Halving, Pipe, Restart};
use crate::segment::Segment;
use headway_units::Instant;

impl<G: Growth> State<G> {
    /// Returns the value that a loss halves.
    fn halving_base(&self) -> f64 {
        let window = (self.window.cwnd + self.inflation as f64).min(self.limit as f64);
        let flight = self.flight().saturating_sub(u64::from(self.limited_sent)) as f64;
        match self.rules.halving {
            Halving::Window => window,
            // RACK detects lost retransmissions, so a recovery may last, and received segments above the hole accumulate.
            Halving::Flight if self.rules.sack.rack || self.rules.sack.pipe == Pipe::RackTlp => flight.min(window),
            Halving::Flight => flight,
            Halving::Network => flight.min(window),
        }
    }

    /// Returns the minimum window after a reduction, in segments: two after a loss (RFC 9438 section 4.6), one or two
    /// after a mark. ns-2 has no minimum, but its timer runs even with nothing in flight and reopens the window.
    pub(crate) fn least_window(&self, cut: Cut) -> f64 {
        match (self.rules.restart_after_idle, cut) {
            (Restart::One, _) => 0.0,
            (_, Cut::Ecn) => f64::from(self.rules.ecn_least_window),
            _ => 2.0,
        }
    }

    /// Reduces ssthresh. Returns the reduced window.
    fn reduce(&mut self, cut: Cut) -> f64 {
        let base = self.halving_base();
        let reduced = self.growth.decrease(cut, self.window.cwnd, base);
        self.window.ssthresh = reduced.floor().max(2.0);
        let least = self.least_window(cut);
        let left = match self.rules.halved_window {
            HalvedWindow::Ssthresh if least == 0.0 => self.window.ssthresh,
            HalvedWindow::Ssthresh | HalvedWindow::Whole => reduced.floor(),
            HalvedWindow::Fractional => reduced,
        };
        left.max(least)
    }

    /// Halves ssthresh and cwnd.
    pub(crate) fn halve(&mut self, cut: Cut) {
        let reduced = self.reduce(cut);
        self.window.cwnd = self.growth.settle(self.window.cwnd, reduced);
        self.last_cut = cut;
        // RFC 9768 section 3.2.2: the flag is a bit of the field ACE.
        self.cwr_due = self.rules.ecn_echo != EcnEcho::Accurate;
    }
    /// Halves ssthresh and sets cwnd to one segment.
    pub(crate) fn collapse(&mut self, cut: Cut) {
        let before = self.window.ssthresh;
        self.reduce(cut);
        // Fast recovery sends beyond cwnd for segments that left the network. They count in FlightSize until
        // acknowledged in sequence, but are no load. RFC 5681 equation 4 to the letter would let a timeout in a long
        // NewReno recovery raise ssthresh several times. Within a loss event it is therefore never raised.
        if self.rules.halving != Halving::Window && self.una < self.recover {
            self.window.ssthresh = self.window.ssthresh.min(before);
        }
        self.close_to_one(cut);
    }
    /// Sets cwnd to one segment and keeps ssthresh.
    pub(crate) fn close_to_one(&mut self, cut: Cut) {
        self.window.cwnd = 1.0;
        self.last_cut = cut;
        self.cwr_due = self.rules.ecn_echo != EcnEcho::Accurate;
    }

    /// Handles ECN-Echo: halves once a window (RFC 3168 section 6.1.2).
    pub(crate) fn echo_of_congestion(&mut self, ack: &Segment) {
        if ack.seq > self.recover || self.last_cut == Cut::Timeout {
            self.recover = self.max;
            if self.window.cwnd <= 1.0 {
                // The window cannot shrink, so the timer backs off (RFC 3168 section 6.1.2).
                if self.ecn_backoff {
                    self.rto.back_off(&self.rules);
                } else {
                    self.ecn_backoff = true;
                }
            } else {
                self.ecn_backoff = false;
            }
            let before = self.window.cwnd;
            self.halve(Cut::Ecn);
            let least = self.least_window(Cut::Ecn);
            if least > 0.0 || self.rules.halved_window == HalvedWindow::Ssthresh {
                // The minimum must not raise the window.
                self.window.cwnd = self.window.cwnd.min(before);
            }
            // At a window of one, the next segment waits for the timer, which starts now (RFC 3168 section 6.1.2).
            self.waits_for_timer = before <= 1.0 && least == 1.0;
            // The echo may be on a duplicate, with nothing in flight and no timer running. ns-2's timer always runs and
            // reopens a window below one.
            if self.waits_for_timer || (self.window.cwnd < 1.0 && self.retransmit_at == Instant::FAR_FUTURE) {
                self.restart_timer();
            }
            self.counters.ecn_reductions += 1;
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298 steps 5.4 to 5.6).
    pub(crate) fn time_out(&mut self) {
        self.window.cwnd = self.window.cwnd.max(1.0);
        self.waits_for_timer = false;
        if self.una == self.max {
            // With nothing in flight, the window is stale but the estimate is not, and the timer does not restart.
            self.recover = self.max;
            self.close_to_one(Cut::Timeout);
            self.drop_timing();
            self.go_back();
            return;
        }
        self.recover = self.max;
        self.syn_lost |= self.una == 0;
        self.counters.timeouts += 1;
        // ECN has already halved the window in this round trip.
        if self.last_cut == Cut::Ecn && !G::REDUCES_AFTER_MARK {
            self.close_to_one(Cut::Timeout);
        } else {
            self.collapse(Cut::Timeout);
        }
        self.growth.timed_out();
        self.back_off();
        self.restart_timer();
        self.drop_timing();
        self.go_back();
    }

    /// Reduces the window when data is sent after a silence (RFC 5681 section 4.1).
    pub(crate) fn resume(&mut self) {
        if !self.opened || self.una < self.max {
            return;
        }
        let silence = self.now.since(self.last_sent);
        let timeout = self.rto.timeout(&self.rules);
        let initial = (self.rules.initial_window_segments() as f64).min(self.window.cwnd);
        match self.rules.restart_after_idle {
            Restart::Keep | Restart::One => {}
            Restart::InitialWindow if silence > timeout => self.window.cwnd = initial,
            Restart::Decay if silence > timeout => {
                self.window.ssthresh = self.window.ssthresh.max((self.window.cwnd * 0.75).floor());
                let halvings = silence.as_nanos() / timeout.as_nanos().max(1);
                for _ in 0..halvings.min(64) {
                    self.window.cwnd = (self.window.cwnd / 2.0).floor().max(initial);
                }
            }
            Restart::InitialWindow | Restart::Decay => {}
        }
        self.growth.resumed(silence);
    }
}
