//! BIC (Xu, Harfoush and Rhee, "Binary Increase Congestion Control for Fast, Long Distance Networks", INFOCOM 2004), as
//! implemented by Linux (net/ipv4/tcp_bic.c). The window searches for its size at the last loss. It opens by one
//! segment per this many acknowledged segments:
//!
//! ```text
//! d = (W_max - cwnd)/B, B = 4
//! cwnd <= low_window                   cwnd                            as Reno
//! cwnd <  W_max,  d > S_max            cwnd / S_max                    additive increase
//!                 d <= 1               smooth_part cwnd / B            the last B segments in smooth_part round trips
//!                 else                 cwnd / d                        binary search
//! cwnd <  W_max + B                    smooth_part cwnd / B            max probing, symmetric above W_max
//! cwnd <  W_max + S_max (B - 1)        cwnd (B - 1) / (cwnd - W_max)
//! else                                 cwnd / S_max
//! before a loss, and after a timeout   at most 20
//! loss         W_max = cwnd, or cwnd (1 + beta)/2 if cwnd < last W_max; cwnd *= beta, or 1/2 up to low_window
//! timeout      as a loss, and W_max is reset
//! ```
//! Departures from the paper, shared with Linux: S_max = 16 and beta = 0.8 (paper: 32 and 0.875), steps of a quarter
//! (paper: a half), and `smooth_part` instead of S_min. With windows in whole segments, the numbers are rounded down as
//! in Linux and divided by the segments per acknowledgement. With `pipe = "fack"`, acknowledgements are counted as in
//! Linux 2.6.22, which ns-2's Agent/TCP/Linux uses.

use crate::growth::{Acked, Growth, Window};
use crate::linux_window::LinuxWindow;
use crate::open_state::OpenState;
use crate::opening::Opening;
use crate::options::{Increase, Rules};
use crate::state::Cut;
use headway_units::{Dialect, Instant};

/// Window up to which BIC behaves as Reno, in segments.
const LOW_WINDOW: f64 = 14.0;
/// S_max: maximum increase per round trip, in segments.
const MAX_INCREMENT: f64 = 16.0;
/// Round trips in which BIC adds the last [`B`] segments below W_max, and the first above it.
const SMOOTH_PART: f64 = 20.0;
/// Multiplicative decrease: fraction of the window that remains.
const BETA: f64 = 819.0 / 1024.0;
/// BICTCP_B.
const B: f64 = 4.0;
/// Maximum segments per increment without W_max: 5 % per round trip.
const PROBING_SEGMENTS: f64 = 20.0;
/// HZ / 32, in ms: how long the increment of an unchanged window is reused.
const SAME_PACE_MS: u64 = 31;
/// Initial segments per acknowledgement, in sixteenths (`2 << ACK_RATIO_SHIFT`).
const TWO_SEGMENTS: u64 = 2 << 4;

#[derive(Clone, Debug)]
pub(crate) struct Bic {
    opening: Opening,
    /// Whether increments are rounded, reused and divided as in Linux.
    whole: bool,
    state: OpenState,
    /// W_max in segments; 0 before a loss sets it.
    w_max: f64,
    /// Segments per acknowledgement, in sixteenths (`delayed_ack`).
    ack_ratio: u64,
    /// Window, its segments per increment, and when they were computed.
    pace: (f64, f64, Instant),
}

impl Growth for Bic {
    type Options = ();

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        if dialect == Dialect::Ns2 {
            rules.adjust_to_linux_agent();
        }
    }

    fn new(rules: &Rules, _options: &Self::Options) -> Self {
        let opening = Opening::new(rules);
        Self {
            whole: opening.is_linux() || rules.increase == Increase::Whole,
            opening,
            state: OpenState::new(),
            w_max: 0.0,
            ack_ratio: TWO_SEGMENTS,
            pace: (0.0, 0.0, Instant::ZERO),
        }
    }

    fn acknowledged(&mut self, acked: Acked, _fine: bool) {
        self.opening.acknowledged(acked.segments);
        if self.opening.is_linux() {
            self.follow(acked);
        }
    }

    /// `bictcp_cong_avoid`.
    fn grow(&mut self, window: &mut Window, acked: Acked) {
        if !self.opening.is_linux() {
            self.follow(acked);
        }
        let per = self.pace(window.cwnd, acked.now);
        match &mut self.opening {
            Opening::Step(step) => {
                let left = step.slow_start(window, acked.segments);
                if left > 0.0 {
                    step.avoid(window, left, per);
                }
            }
            Opening::Linux(counters) if LinuxWindow::in_slow_start(window) => counters.slow_start(window),
            Opening::Linux(counters) => {
                if counters.is_full(per as u64) {
                    counters.open(window);
                }
            }
        }
    }

    fn hold(&mut self, acked: Acked) {
        if !self.opening.is_linux() {
            self.follow(acked);
        }
    }

    /// `bictcp_recalc_ssthresh`.
    fn decrease(&mut self, _cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.state.reduced();
        self.w_max = if cwnd < self.w_max { self.rounded(cwnd * (1.0 + BETA) / 2.0) } else { cwnd };
        let share = if cwnd <= LOW_WINDOW { 0.5 } else { BETA };
        self.opening.reduced(share, cwnd, base)
    }

    fn recovered(&mut self, _window: &mut Window) {
        self.state.recovered();
    }

    /// `bictcp_reset`.
    fn timed_out(&mut self) {
        self.state.timed_out();
        (self.w_max, self.ack_ratio) = (0.0, TWO_SEGMENTS);
        self.pace = (0.0, 0.0, Instant::ZERO);
        self.opening.timed_out();
    }
}

impl Bic {
    /// `bictcp_acked`.
    fn follow(&mut self, acked: Acked) {
        self.state.on_ack(acked);
        if acked.segments > 0 && self.state.is_open() {
            self.ack_ratio = self.ack_ratio - (self.ack_ratio >> 4) + acked.segments;
        }
    }

    fn rounded(&self, number: f64) -> f64 {
        if self.whole { number.floor() } else { number }
    }

    /// Returns the segments, or acknowledgements, per increment of one segment (`bictcp_update`).
    fn pace(&mut self, cwnd: f64, now: Instant) -> f64 {
        if !self.whole {
            return self.segments_for_one(cwnd).max(1.0);
        }
        let (of, pace, at) = self.pace;
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        if of == cwnd && millis(now).saturating_sub(millis(at)) <= SAME_PACE_MS {
            return pace;
        }
        let segments = self.segments_for_one(cwnd);
        let per = if cwnd <= LOW_WINDOW { segments } else { (segments * 16.0 / self.ack_ratio as f64).floor() };
        self.pace = (cwnd, per.max(1.0), now);
        per.max(1.0)
    }

    fn segments_for_one(&self, cwnd: f64) -> f64 {
        let smooth = self.rounded(cwnd * SMOOTH_PART / B);
        let linear = self.rounded(cwnd / MAX_INCREMENT);
        if cwnd <= LOW_WINDOW {
            return cwnd;
        }
        let above = cwnd - self.w_max;
        let segments = if above < 0.0 {
            let distance = self.rounded(-above / B);
            if distance > MAX_INCREMENT {
                linear
            } else if distance <= 1.0 {
                smooth
            } else {
                self.rounded(cwnd / distance)
            }
        } else if above < B {
            smooth
        } else if above < MAX_INCREMENT * (B - 1.0) {
            self.rounded(cwnd * (B - 1.0) / above)
        } else {
            linear
        };
        if self.w_max > 0.0 { segments } else { segments.min(PROBING_SEGMENTS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Duration, Registry};

    fn bic(dialect: Dialect) -> Bic {
        Bic::new(&TcpOptions::preset("tcp-bic", dialect).unwrap().rules, &())
    }

    fn acked(una: u64) -> Acked {
        let rtt = Duration::from_millis(100);
        Acked { now: Instant::from_millis(100 * una), segments: 1, una, max: una + 20, rtt: Some(rtt), srtt: rtt }
    }

    /// net/ipv4/tcp_bic.c, `bictcp_update`, with W_max = 200, computed by hand: below 14 as Reno; 100: d = 25 > 16,
    /// 100/16 = 6; 150: d = 12, 150/12 = 12; 193: d = 1, 193 x 20/4 = 965; 200 to 203: 1000 to 1015; 210: 210 x 3/10 =
    /// 63; 248 and more: 248/16 = 15.
    #[test]
    fn segments_per_increment_match_linux() {
        for (cwnd, linux, exact) in [
            (10.0, 10.0, 10.0),
            (14.0, 14.0, 14.0),
            (100.0, 6.0, 6.25),
            (150.0, 12.0, 12.0),
            (190.0, 95.0, 76.0),
            (193.0, 965.0, 193.0 / 1.75),
            (199.0, 995.0, 995.0),
            (200.0, 1000.0, 1000.0),
            (203.0, 1015.0, 1015.0),
            (210.0, 63.0, 63.0),
            (248.0, 15.0, 15.5),
            (1000.0, 62.0, 62.5),
        ] {
            for (dialect, pace) in [(Dialect::Linux, linux), (Dialect::Rfc, exact)] {
                let mut bic = bic(dialect);
                (bic.w_max, bic.ack_ratio) = (200.0, 16);
                assert_eq!(bic.pace(cwnd, Instant::ZERO), pace, "{dialect} {cwnd}");
            }
        }
    }

    /// `ca->cnt = (ca->cnt << ACK_RATIO_SHIFT) / ca->delayed_ack`: an acknowledgement of two segments counts twice. The
    /// ratio starts at 2. An acknowledgement of one segment lowers it by a sixteenth.
    #[test]
    fn linux_divides_by_the_segments_per_acknowledgement() {
        let mut bic = bic(Dialect::Linux);
        bic.w_max = 200.0;
        assert_eq!(bic.pace(150.0, Instant::ZERO), 6.0);
        (1..=100).for_each(|una| bic.hold(acked(una)));
        assert_eq!(bic.ack_ratio, 31, "32 - 2 + 1 = 31, then 31 - 1 + 1");
        bic.ack_ratio = 16;
        assert_eq!(bic.pace(150.0, Instant::from_millis(31)), 6.0, "HZ / 32");
        assert_eq!(bic.pace(150.0, Instant::from_millis(32)), 12.0);
    }

    /// `bictcp_recalc_ssthresh`: 819/1024 of 100 remain, half of 14. A second loss at 90, below W_max = 100, sets W_max
    /// = 90 x 1843/2048 = 80 (80.99 before rounding). `bictcp_reset`: a timeout resets W_max, and the window opens by 5
    /// % per round trip.
    #[test]
    fn losses_and_timeouts() {
        for (dialect, w_max) in [(Dialect::Linux, 80.0), (Dialect::Rfc, 90.0 * 1843.0 / 2048.0)] {
            let mut bic = bic(dialect);
            assert_eq!(bic.pace(1000.0, Instant::ZERO), if dialect == Dialect::Linux { 10.0 } else { 20.0 });
            assert_eq!(bic.decrease(Cut::DupAcks, 100.0, 100.0), 100.0 * 819.0 / 1024.0);
            assert_eq!(bic.w_max, 100.0);
            assert_eq!((bic.decrease(Cut::DupAcks, 90.0, 90.0), bic.w_max), (90.0 * 819.0 / 1024.0, w_max));
            assert_eq!(bic.decrease(Cut::DupAcks, 14.0, 14.0), 7.0);
            bic.timed_out();
            assert_eq!(bic.w_max, 0.0);
        }
        let mut bic = bic(Dialect::Ns2);
        assert_eq!(bic.decrease(Cut::DupAcks, 101.0, 50.0), 80.0, "101 x 819/1024 = 80.78");
    }
}
