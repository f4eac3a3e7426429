//! CUBIC window growth (RFC 9438; Ha, Rhee and Xu 2008). Windows in segments, times in seconds:
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max                    K = cbrt((W_max - cwnd_epoch) / C)            (1), (2)
//! target     = W_cubic(t + RTT), from cwnd to 1.5 cwnd;  cwnd += (target - cwnd) / cwnd             section 4.4
//! W_est     += alpha N / cwnd,  alpha = 3 (1 - beta) / (1 + beta), 1 from cwnd_prior on             (4)
//! cwnd       = W_est where W_cubic(t) < W_est
//! loss:       W_max = cwnd, or cwnd (1 + beta) / 2 if it was below the last W_max; ssthresh = base beta
//! timeout:    as a loss, and the next epoch starts at its plateau: K = 0, W_max = cwnd
//! grow_without_plateau: cwnd += 1 / 20 at least, before the first loss and after a timeout
//! ```
//! t is the time since the start of the epoch, without application-limited periods (section 4.2).

use crate::growth::{Acked, Growth, Step, Window};
use crate::keys::options;
use crate::kinds::hystart::HyStart;
use crate::options::{Pipe, Rules};
use crate::state::Cut;
use headway_units::{Dialect, Duration, Instant, OptionError};

options! {
    /// Options of `tcp-cubic`.
    CubicOptions {
        /// Fraction of the window that remains after a loss; above 0 and below 1.
        Usual beta: f64 = 0.7, Linux: 717.0 / 1024.0;
        /// Whether HyStart ends slow start on a long ACK train or an increasing delay (Ha and Rhee 2008).
        Usual hystart: bool = false, Linux: true;
        /// Whether the Reno-friendly increase becomes that of Reno (alpha = 1) at the window before the loss (RFC 9438
        /// section 4.3).
        Expert reno_friendly_alpha_rises: bool = true, Linux: false;
        /// Whether the window grows by at least 5 % per round trip before the first loss, which sets W_max, and after a
        /// timeout (Linux).
        Expert grow_without_plateau: bool = false, Linux: true;
    }
}

/// C, in segments per second cubed (RFC 9438 section 5).
const C: f64 = 0.4;

/// Maximum segments per increment without a plateau (Linux net/ipv4/tcp_cubic.c, `bictcp_update`).
const PROBING_SEGMENTS: f64 = 20.0;

#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    step: Step,
    beta: f64,
    alpha: f64,
    alpha_rises: bool,
    grow_without_plateau: bool,
    hystart: Option<HyStart>,
    /// Whether no loss has set W_max since the start or the last timeout (`last_max_cwnd` 0 in Linux).
    no_plateau: bool,
    /// W_max in segments; 0 before a loss sets it.
    w_max: f64,
    k: f64,
    w_est: f64,
    cwnd_prior: f64,
    epoch: Option<Instant>,
    /// Start of the current application-limited period.
    limited_since: Option<Instant>,
    min_rtt: Duration,
}

impl Growth for Cubic {
    type Options = CubicOptions;

    /// ns-2.35 has CUBIC only as an older kernel file in Agent/TCP/Linux. In that dialect, CUBIC keeps the sizes and
    /// windows of ns-2, but uses RFC 6675 as RFC 9438 requires.
    fn adjust(rules: &mut Rules, dialect: Dialect) {
        if dialect == Dialect::Ns2 {
            rules.sack.pipe = Pipe::Scoreboard;
        }
    }

    fn check(_rules: &Rules, options: &Self::Options) -> Result<(), OptionError> {
        let beta = options.beta;
        if beta > 0.0 && beta < 1.0 {
            return Ok(());
        }
        Err(OptionError::new("beta", format!("{beta} is out of range: above 0 and below 1")))
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        let CubicOptions { beta, hystart, reno_friendly_alpha_rises, grow_without_plateau } = *options;
        Self {
            step: Step::new(rules),
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            alpha_rises: reno_friendly_alpha_rises,
            grow_without_plateau,
            hystart: hystart.then(HyStart::new),
            no_plateau: true,
            w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            limited_since: None,
            min_rtt: Duration::MAX,
        }
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        self.observe(acked);
        if let (Some(since), Some(epoch)) = (self.limited_since.take(), &mut self.epoch) {
            *epoch += acked.now.since(since);
        }
        if window.in_slow_start()
            && let (Some(hystart), Some(rtt)) = (&mut self.hystart, acked.rtt)
            && hystart.on_ack(acked.now, acked.una, acked.max, window.cwnd, rtt, self.min_rtt)
        {
            window.ssthresh = window.cwnd;
        }
        let left = self.step.slow_start(window, acked.segments);
        if left > 0.0 {
            self.avoid(window, acked, left);
        }
    }

    fn hold(&mut self, acked: Acked) {
        self.observe(acked);
    }

    fn application_limited(&mut self, now: Instant) {
        self.limited_since.get_or_insert(now);
    }

    fn decrease(&mut self, _cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.epoch = None;
        self.limited_since = None;
        self.step.reset(false);
        // Section 4.7: fast convergence releases bandwidth for new flows when W_max decreases.
        self.w_max = if cwnd < self.w_max { self.step.whole_if_counted(cwnd * (1.0 + self.beta) / 2.0) } else { cwnd };
        self.no_plateau = false;
        self.cwnd_prior = cwnd;
        base * self.beta
    }

    fn timed_out(&mut self) {
        // Section 4.8: the next epoch starts at the current window.
        self.w_max = 0.0;
        self.no_plateau = true;
        self.epoch = None;
        self.step.reset(true);
        if let Some(hystart) = &mut self.hystart {
            hystart.reset();
        }
    }

    fn resumed(&mut self, silence: Duration) {
        // A silence within an application-limited period is already excluded from t by [`Cubic::grow`].
        if let (None, Some(epoch)) = (self.limited_since, &mut self.epoch) {
            *epoch += silence;
        }
    }
}

impl Cubic {
    fn observe(&mut self, acked: Acked) {
        if let Some(rtt) = acked.rtt {
            self.min_rtt = self.min_rtt.min(rtt);
        }
    }

    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.w_max
    }

    fn begin_epoch(&mut self, now: Instant, cwnd: f64) -> Instant {
        if self.w_max > cwnd {
            self.k = libm::cbrt((self.w_max - cwnd) / C);
        } else {
            self.k = 0.0;
            self.w_max = cwnd;
        }
        self.w_est = cwnd;
        self.epoch = Some(now);
        now
    }

    fn avoid(&mut self, window: &mut Window, acked: Acked, segments: f64) {
        let cwnd = window.cwnd;
        let epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(acked.now, cwnd));
        let t = acked.now.since(epoch).as_secs_f64();
        let probing = self.grow_without_plateau && self.no_plateau;
        let alpha = if self.alpha_rises && self.w_est >= self.cwnd_prior { 1.0 } else { self.alpha };
        self.w_est += alpha * acked.segments as f64 / cwnd;
        if self.w_cubic(t) < self.w_est {
            let friendly = self.step.whole_if_counted(self.w_est);
            window.cwnd = cwnd.max(friendly);
            if friendly > cwnd || !probing {
                return;
            }
        }
        let ahead = self.w_cubic(t + acked.srtt.as_secs_f64());
        let target = self.step.towards(ahead, self.w_max).clamp(cwnd, 1.5 * cwnd);
        let most = if probing { PROBING_SEGMENTS } else { f64::INFINITY };
        let per_segment = if target > cwnd { cwnd / (target - cwnd) } else { f64::INFINITY }.min(most);
        if per_segment.is_finite() {
            self.step.avoid(window, segments, per_segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::Registry;

    fn cubic(change: impl FnOnce(&mut TcpOptions)) -> Cubic {
        let mut options = TcpOptions::preset("tcp-cubic", Dialect::Rfc).unwrap();
        change(&mut options);
        Cubic::new(&options.rules, &options.own.cubic)
    }

    fn acked(now: Instant, segments: u64, rtt: Duration) -> Acked {
        Acked { now, segments, una: 1_000, max: 2_000, rtt: Some(rtt), srtt: rtt }
    }

    /// W_max = 100, cwnd = 70: K = 4.2172 s, W(0) = 70, W(2) = 95.640, W(K) = 100, W(6) = 102.267 (RFC 9438 equations 1, 2).
    #[test]
    fn the_cubic_function() {
        let mut cubic = cubic(|_| {});
        assert_eq!(cubic.decrease(Cut::DupAcks, 100.0, 100.0), 70.0);
        cubic.begin_epoch(Instant::ZERO, 70.0);
        assert!((cubic.k - 4.2172).abs() < 5e-5);
        for (t, window) in [(0.0, 70.0), (2.0, 95.640), (cubic.k, 100.0), (6.0, 102.267)] {
            assert!((cubic.w_cubic(t) - window).abs() < 5e-4, "W({t}) = {}", cubic.w_cubic(t));
        }
    }

    /// Linux net/ipv4/tcp_cubic.c, `bictcp_update`: `cnt` is at most 20 while `last_max_cwnd` is 0. In a capture at 8
    /// Mb/s and 150 ms, the window grew from 131 to 168 segments in 1.2 s; without the rule it takes 4 s.
    #[test]
    fn without_a_plateau_the_window_grows_by_a_twentieth_per_round_trip() {
        let rtt = Duration::from_millis(150);
        let grown = |cubic: &mut Cubic, from: f64| {
            let mut window = Window { cwnd: from, ssthresh: from };
            for ack in 0..100 {
                cubic.grow(&mut window, acked(Instant::from_secs(1) + rtt * ack / 100, 1, rtt));
            }
            window.cwnd - from
        };
        let linux = |options: &mut TcpOptions| {
            options.own_mut().cubic.grow_without_plateau = true;
            options.rules_mut().increase = crate::options::Increase::Whole;
        };
        assert_eq!(grown(&mut cubic(|_| {}), 100.0).floor(), 0.0);
        let mut cubic = cubic(linux);
        assert_eq!(grown(&mut cubic, 100.0), 5.0);
        cubic.decrease(Cut::DupAcks, 105.0, 105.0);
        assert_eq!(grown(&mut cubic, 105.0), 0.0);
        cubic.decrease(Cut::Timeout, 105.0, 105.0);
        cubic.timed_out();
        assert_eq!(grown(&mut cubic, 100.0), 5.0);
    }

    /// With a long round trip the window follows the curve, outside the Reno-friendly region. At t it is close to
    /// W_cubic(t), the target set one round trip before.
    #[test]
    fn the_window_follows_the_curve() {
        let mut cubic = cubic(|_| {});
        let rtt = Duration::from_millis(100);
        let mut window = Window { cwnd: cubic.decrease(Cut::DupAcks, 100.0, 100.0), ssthresh: 70.0 };
        cubic.begin_epoch(Instant::ZERO, window.cwnd);
        cubic.w_est = f64::NEG_INFINITY;
        for round in 0..60u64 {
            let start = Instant::ZERO + rtt * round;
            let count = window.cwnd as u64;
            for n in 0..count {
                cubic.grow(&mut window, acked(start + rtt * n / count, 1, rtt));
            }
            let t = start.as_secs_f64() + 0.1;
            assert!((window.cwnd - cubic.w_cubic(t)).abs() < 1.6, "{t}: {} {}", window.cwnd, cubic.w_cubic(t));
        }
        assert!((window.cwnd - 102.267).abs() < 1.0);
    }

    /// Section 4.3: with a short round trip CUBIC grows as Reno with alpha 9/17, and with 1 from cwnd_prior on.
    #[test]
    fn the_reno_friendly_region() {
        let mut cubic = cubic(|_| {});
        let rtt = Duration::from_millis(1);
        let mut window = Window { cwnd: cubic.decrease(Cut::DupAcks, 20.0, 20.0), ssthresh: 14.0 };
        let mut now = Instant::ZERO;
        let mut round = |window: &mut Window| {
            let before = window.cwnd;
            now += rtt;
            for _ in 0..before as u64 {
                cubic.grow(window, acked(now, 1, rtt));
            }
            window.cwnd - before
        };
        round(&mut window);
        let slow = round(&mut window);
        assert!((slow - 9.0 / 17.0).abs() < 0.05, "{slow}");
        while window.cwnd < 20.5 {
            round(&mut window);
        }
        let fast = round(&mut window);
        assert!((fast - 1.0).abs() < 0.06, "{fast}");
    }

    /// Section 4.4: the window grows by at most half per round trip, even if the curve is far above.
    #[test]
    fn the_target_is_at_most_1_5_cwnd() {
        let mut cubic = cubic(|_| {});
        cubic.w_max = 10_000.0;
        let mut window = Window { cwnd: 10.0, ssthresh: 10.0 };
        cubic.begin_epoch(Instant::ZERO, 10.0);
        cubic.grow(&mut window, acked(Instant::from_secs(20), 1, Duration::from_millis(100)));
        assert!((window.cwnd - 10.5).abs() < 1e-9);
    }

    /// Section 4.7: W_max is set below cwnd when it decreases.
    #[test]
    fn fast_convergence() {
        let mut cubic = cubic(|_| {});
        cubic.decrease(Cut::DupAcks, 100.0, 100.0);
        assert_eq!(cubic.w_max, 100.0);
        cubic.decrease(Cut::DupAcks, 80.0, 80.0);
        assert!((cubic.w_max - 80.0 * 0.85).abs() < 1e-9);
    }

    /// Section 4.8: after a timeout the curve starts at its plateau.
    #[test]
    fn a_timeout_starts_at_the_plateau() {
        let mut cubic = cubic(|_| {});
        cubic.decrease(Cut::DupAcks, 100.0, 100.0);
        cubic.timed_out();
        cubic.begin_epoch(Instant::ZERO, 35.0);
        assert_eq!((cubic.k, cubic.w_max), (0.0, 35.0));
    }

    /// Section 4.2: application-limited time does not advance the curve.
    #[test]
    fn application_limited_time_does_not_count() {
        let mut cubic = cubic(|_| {});
        let rtt = Duration::from_millis(10);
        cubic.decrease(Cut::DupAcks, 100.0, 100.0);
        let mut window = Window { cwnd: 70.0, ssthresh: 70.0 };
        cubic.grow(&mut window, acked(Instant::from_secs(1), 1, rtt));
        cubic.application_limited(Instant::from_secs(2));
        cubic.application_limited(Instant::from_secs(3));
        // A silence within the application-limited period.
        cubic.resumed(Duration::from_secs(5));
        cubic.grow(&mut window, acked(Instant::from_secs(9), 1, rtt));
        assert_eq!(cubic.epoch, Some(Instant::from_secs(8)));
        // A silence after a full window.
        cubic.resumed(Duration::from_secs(5));
        assert_eq!(cubic.epoch, Some(Instant::from_secs(13)));
        // ECN-Echo suppresses an increase, but the flow is not application-limited.
        cubic.hold(acked(Instant::from_secs(14), 1, rtt));
        cubic.grow(&mut window, acked(Instant::from_secs(16), 1, rtt));
        assert_eq!(cubic.epoch, Some(Instant::from_secs(13)));
    }
}
