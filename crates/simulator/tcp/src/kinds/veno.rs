//! TCP Veno (Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC 21(2),
//! 2003), as implemented by Linux (net/ipv4/tcp_veno.c): Reno that attributes a loss with a short queue to the channel.
//!
//! ```text
//! N = cwnd (RTT - baseRTT) / RTT     queued segments; RTT is the least since the window last opened
//! slow start                         as Reno
//! avoidance    N <  beta:            cwnd += 1 per round trip
//!              N >= beta:            cwnd += 1 per two round trips
//! loss         N <  beta:            4/5 of the window remain
//!              N >= beta:            1/2 remains
//! ```
//! The window grows as Reno's before the third sample, and from a reduction to the end of its recovery.
//!
//! Departures from the paper, shared with Linux: baseRTT is kept after losses (paper: reset), and a timeout reduces as
//! a loss does (paper: halves). With windows in whole segments, N is computed in half segments, rounded up: beta = 3 is
//! N <= 2.5. With `pipe = "fack"`, all arithmetic uses the integers of Linux 2.6.22, as in ns-2's Agent/TCP/Linux.

use crate::growth::{Acked, Growth, Window};
use crate::linux_window::LinuxWindow;
use crate::open_state::OpenState;
use crate::opening::Opening;
use crate::options::{Increase, Rules};
use crate::state::Cut;
use headway_units::{Dialect, Duration};

/// Number of queued segments from which on a loss counts as congestion.
const BETA: f64 = 3.0;

#[derive(Clone, Debug)]
pub(crate) struct Veno {
    opening: Opening,
    /// Whether N is rounded as in Linux.
    whole: bool,
    state: OpenState,
    base_rtt: Duration,
    /// Least round trip since the window last opened.
    rtt: Duration,
    samples: u32,
    /// N, in segments.
    backlog: f64,
    /// With `opening` in integers: whether the next full count opens the window although N is above beta (`inc`).
    opens_next: bool,
}

impl Growth for Veno {
    type Options = ();

    /// Enables timestamps, since each acknowledgement must give a round-trip sample.
    fn adjust(rules: &mut Rules, dialect: Dialect) {
        rules.timestamps = true;
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
            base_rtt: Duration::MAX,
            rtt: Duration::MAX,
            samples: 0,
            backlog: 0.0,
            opens_next: true,
        }
    }

    fn acknowledged(&mut self, acked: Acked, _fine: bool) {
        self.opening.acknowledged(acked.segments);
        if self.opening.is_linux() {
            self.follow(acked);
        }
    }

    /// `tcp_veno_cong_avoid`.
    fn grow(&mut self, window: &mut Window, acked: Acked) {
        if !self.opening.is_linux() {
            self.follow(acked);
        }
        let measures = self.state.is_open();
        let uses_backlog = measures && self.samples > 2;
        if uses_backlog {
            self.update_backlog(window.cwnd);
        }
        let congested = uses_backlog && self.backlog >= BETA;
        match &mut self.opening {
            Opening::Step(step) => {
                let left = step.slow_start(window, acked.segments);
                if left > 0.0 {
                    let rounds = if congested { 2.0 } else { 1.0 };
                    step.avoid(window, left, rounds * window.cwnd);
                }
            }
            Opening::Linux(counters) if !uses_backlog || LinuxWindow::in_slow_start(window) => counters.reno(window),
            Opening::Linux(counters) => {
                if counters.is_full(window.cwnd as u64) {
                    let opens = !congested || self.opens_next;
                    self.opens_next ^= congested;
                    if opens {
                        counters.open(window);
                    }
                }
            }
        }
        if measures {
            self.rtt = Duration::MAX;
        }
    }

    fn hold(&mut self, acked: Acked) {
        if !self.opening.is_linux() {
            self.follow(acked);
        }
    }

    /// `tcp_veno_ssthresh`.
    fn decrease(&mut self, _cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.state.reduced();
        let share = if self.backlog < BETA { 0.8 } else { 0.5 };
        self.opening.reduced(share, cwnd, base)
    }

    fn recovered(&mut self, _window: &mut Window) {
        self.state.recovered();
        self.rtt = Duration::MAX;
    }

    fn timed_out(&mut self) {
        self.state.timed_out();
        self.opening.timed_out();
    }

    /// `tcp_veno_init`.
    fn resumed(&mut self, _silence: Duration) {
        (self.base_rtt, self.rtt) = (Duration::MAX, Duration::MAX);
        self.opens_next = true;
        self.state.recovered();
    }
}

impl Veno {
    /// Processes the end of a recovery and a round-trip sample (`tcp_veno_state`, `tcp_veno_pkts_acked`).
    fn follow(&mut self, acked: Acked) {
        if self.state.on_ack(acked) {
            self.rtt = Duration::MAX;
        }
        if acked.segments == 0 {
            return;
        }
        if let Some(rtt) = acked.rtt {
            // The kernel counts microseconds, plus one.
            let rtt = if self.whole {
                Duration::from_micros(rtt.as_nanos() / 1000 + 1)
            } else {
                rtt.max(Duration::from_nanos(1))
            };
            self.base_rtt = self.base_rtt.min(rtt);
            self.rtt = self.rtt.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
    }

    /// Computes N. Without a new sample, N is unchanged.
    fn update_backlog(&mut self, cwnd: f64) {
        if self.rtt == Duration::MAX {
            return;
        }
        let share = |cwnd: f64| cwnd * self.base_rtt.as_nanos() as f64 / self.rtt.as_nanos() as f64;
        self.backlog = if self.whole { cwnd - share(2.0 * cwnd).floor() / 2.0 } else { cwnd - share(cwnd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Instant, Registry};

    fn veno(dialect: Dialect) -> Veno {
        Veno::new(&TcpOptions::preset("tcp-veno", dialect).unwrap().rules, &())
    }

    fn acked(una: u64, rtt_ms: u64) -> Acked {
        let rtt = Duration::from_millis(rtt_ms);
        Acked { now: Instant::ZERO, segments: 1, una, max: una + 20, rtt: Some(rtt), srtt: rtt }
    }

    /// Returns what two round trips of 20 acknowledgements add to a window of 20, and the window after a loss.
    fn after(dialect: Dialect, rtt_ms: u64) -> (f64, f64) {
        let mut veno = veno(dialect);
        (1..=3).for_each(|una| veno.hold(acked(una, 100)));
        veno.grow(&mut Window { cwnd: 20.0, ssthresh: 2.0 }, acked(4, 100));
        veno.opening = Opening::new(&TcpOptions::preset("tcp-veno", dialect).unwrap().rules);
        let mut window = Window { cwnd: 20.0, ssthresh: 2.0 };
        let mut cwnd = 0.0;
        for una in 5..45 {
            let before = window.cwnd;
            veno.grow(&mut window, acked(una, rtt_ms));
            cwnd += window.cwnd - before;
            window.cwnd = 20.0;
        }
        (cwnd, veno.decrease(Cut::DupAcks, 20.0, 20.0))
    }

    /// Fu and Liew 2003 with 20 segments and a baseRTT of 100 ms: N = 20 x 17/117 = 2.9 at 117 ms, 3.05 at 118 ms.
    /// Below beta = 3 the window grows by 1 per round trip and a loss leaves 4/5; above, by 1 per two round trips and
    /// 1/2.
    #[test]
    fn fu_and_liew_2003_backlog_decides() {
        for (rtt_ms, added, left) in [(100, 2.0, 16.0), (117, 2.0, 16.0), (118, 1.0, 10.0), (300, 1.0, 10.0)] {
            let (cwnd, reduced) = after(Dialect::Rfc, rtt_ms);
            assert!((cwnd - added).abs() < 1e-9 && reduced == left, "{rtt_ms}: {cwnd} {reduced}");
        }
    }

    /// net/ipv4/tcp_veno.c counts half segments (V_PARAM_SHIFT 1): at 114 ms 40 x 100001/114001 is 35, 40 - 35 = 5 < 6;
    /// at 115 ms it is 34, 40 - 34 = 6.
    #[test]
    fn linux_counts_half_segments() {
        for (rtt_ms, added, left) in [(114, 2.0, 16.0), (115, 1.0, 10.0)] {
            assert_eq!(after(Dialect::Linux, rtt_ms), (added, left), "{rtt_ms}");
        }
    }

    /// Before the third sample, and from a reduction to its end, a queue does not slow the growth.
    #[test]
    fn without_enough_samples_veno_grows_as_reno() {
        let mut veno = veno(Dialect::Rfc);
        let mut window = Window { cwnd: 10.0, ssthresh: 2.0 };
        let mut grows = |veno: &mut Veno, una| {
            window.cwnd = 10.0;
            veno.grow(&mut window, acked(una, if una == 2 { 100 } else { 200 }));
            window.cwnd - 10.0
        };
        let steps = [2, 3, 4, 5].map(|una| (grows(&mut veno, una) * 100.0).round());
        assert_eq!(steps, [10.0, 10.0, 5.0, 5.0], "N = 5");
        assert_eq!(veno.decrease(Cut::DupAcks, 10.0, 10.0), 5.0);
        // Data sent before the reduction: up to 24.
        let steps = [6, 24, 25, 26, 27].map(|una| (grows(&mut veno, una) * 100.0).round());
        assert_eq!(steps, [10.0, 10.0, 10.0, 5.0, 5.0]);
        veno.decrease(Cut::DupAcks, 10.0, 10.0);
        veno.recovered(&mut Window { cwnd: 10.0, ssthresh: 5.0 });
        assert_eq!((grows(&mut veno, 28) * 100.0).round(), 5.0, "SACK's recovery is over");
    }

    /// `tcp_veno_init`: a silence resets baseRTT.
    #[test]
    fn a_silence_resets_the_base_rtt() {
        let mut veno = veno(Dialect::Linux);
        veno.hold(acked(1, 100));
        veno.resumed(Duration::from_secs(1));
        veno.hold(acked(2, 140));
        assert_eq!(veno.base_rtt, Duration::from_micros(140_001));
    }

    /// Linux 2.6.22: one segment more at the acknowledgement after `cwnd` acknowledgements; above beta, every other
    /// time.
    #[test]
    fn integer_arithmetic_matches_linux_2_6() {
        for (rtt_ms, opened) in [(100, vec![11, 22, 33, 44]), (150, vec![11, 33])] {
            let mut veno = veno(Dialect::Ns2);
            let mut window = Window { cwnd: 10.0, ssthresh: 2.0 };
            (1..=3).for_each(|una| veno.acknowledged(acked(una, 100), true));
            let mut seen = vec![];
            for n in 1..=44 {
                let acked = acked(3 + n, rtt_ms);
                veno.acknowledged(acked, true);
                veno.grow(&mut window, acked);
                if window.cwnd > 10.0 {
                    seen.push(n);
                    window.cwnd = 10.0;
                }
            }
            assert_eq!(seen, opened, "{rtt_ms}");
        }
    }
}
