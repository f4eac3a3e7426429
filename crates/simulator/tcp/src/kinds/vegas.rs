//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995), as
//! implemented by Linux (net/ipv4/tcp_vegas.c). The window follows the queueing delay instead of losses. Once a round
//! trip, with its least RTT:
//!
//! ```text
//! diff = cwnd (RTT - baseRTT) / baseRTT          segments in the queue; baseRTT is the least RTT of all
//! slow start:  diff > gamma:  cwnd = min(cwnd, floor(cwnd baseRTT / RTT) + 1), ssthresh = min(ssthresh, cwnd)
//! avoidance:   diff > beta:   cwnd -= 1, ssthresh = min(ssthresh, cwnd);   diff < alpha: cwnd += 1
//! then         cwnd = max(cwnd, 2), ssthresh = max(ssthresh, 3/4 cwnd)
//! ```
//! The window grows as Reno's in slow start, in rounds with fewer than three samples, and from a loss to the end of its
//! recovery. A loss halves it. A silence resets baseRTT. `arizona.rs` implements the other variant.

use crate::growth::{Acked, Growth, Window};
use crate::keys::options;
use crate::kinds::aimd::Aimd;
use crate::kinds::arizona::Arizona;
use crate::kinds::sack::Sack;
use crate::options::{Increase, Rules};
use crate::segment::Segment;
use crate::sender::Recovery;
use crate::state::{Cut, State};
use headway_units::{Bytes, Dialect, Duration, OptionError};

options! {
    /// Options of `tcp-vegas`.
    VegasOptions {
        /// Implementation of Vegas that the flow follows.
        Usual vegas: VegasRules = VegasRules::Linux, Ns2: VegasRules::Arizona;
        /// Estimated number of the flow's segments in queues below which its window grows; at most `vegas_beta`.
        Usual vegas_alpha: u32 = 2, Ns2: 1;
        /// Estimated number of the flow's segments in queues above which its window shrinks.
        Usual vegas_beta: u32 = 4, Ns2: 3;
    }
}

/// Implementation that `tcp-vegas` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasRules {
    /// Vegas of the University of Arizona, with fine-grained retransmission timeouts, as in ns-2's Agent/TCP/Vegas.
    Arizona,
    /// Vegas of Linux, which changes only the growth of the window. Losses are recovered with SACK.
    Linux,
}

/// gamma: number of queued segments above which slow start ends.
pub(crate) const GAMMA: f64 = 1.0;

#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    reno: Aimd,
    alpha: f64,
    beta: f64,
    whole: bool,
    phase: Phase,
    base_rtt: Duration,
    round_rtt: Duration,
    round_samples: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next acknowledgement begins a round.
    Starting,
    /// The round ends when an acknowledgement exceeds this number.
    Round(u64),
    /// The window was reduced, and no acknowledgement has arrived since.
    Reduced,
    /// The recovery ends when this number is acknowledged.
    Recovering(u64),
}

impl Growth for Vegas {
    type Options = VegasOptions;

    fn check(_rules: &Rules, options: &Self::Options) -> Result<(), OptionError> {
        let VegasOptions { vegas_alpha, vegas_beta, .. } = options;
        if vegas_alpha <= vegas_beta {
            return Ok(());
        }
        let message = format!("{vegas_alpha} is out of range: from 0 to vegas_beta, {vegas_beta}");
        Err(OptionError::new("vegas_alpha", message))
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        Self {
            reno: Aimd::new(rules, &()),
            alpha: f64::from(options.vegas_alpha),
            beta: f64::from(options.vegas_beta),
            whole: rules.increase == Increase::Whole,
            phase: Phase::Round(1),
            base_rtt: Duration::MAX,
            round_rtt: Duration::MAX,
            round_samples: 0,
        }
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        self.follow(acked);
        let Phase::Round(end) = self.phase else {
            self.reno.grow(window, acked);
            return;
        };
        if acked.una <= end {
            if window.in_slow_start() {
                self.reno.slow_start(window, acked.segments);
            }
            return;
        }
        if self.round_samples <= 2 {
            self.reno.grow(window, acked);
        } else {
            self.adjust_window(window, acked);
        }
        self.begin_round(acked.max);
    }

    fn hold(&mut self, acked: Acked) {
        self.follow(acked);
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.phase = Phase::Reduced;
        self.reno.decrease(cut, cwnd, base)
    }

    fn recovered(&mut self, _window: &mut Window) {
        self.phase = Phase::Starting;
    }

    fn timed_out(&mut self) {
        self.reno.timed_out();
    }

    fn resumed(&mut self, _silence: Duration) {
        self.base_rtt = Duration::MAX;
        self.phase = Phase::Starting;
    }
}

impl Vegas {
    fn begin_round(&mut self, max: u64) {
        self.phase = Phase::Round(max);
        self.round_rtt = Duration::MAX;
        self.round_samples = 0;
    }

    /// Processes a round-trip sample and the end of a reduction.
    fn follow(&mut self, acked: Acked) {
        if let Some(rtt) = acked.rtt {
            let rtt = rtt.max(Duration::from_nanos(1));
            self.base_rtt = self.base_rtt.min(rtt);
            self.round_rtt = self.round_rtt.min(rtt);
            self.round_samples += 1;
        }
        if self.phase == Phase::Reduced {
            self.phase = Phase::Recovering(acked.max);
        }
        match self.phase {
            Phase::Recovering(end) if acked.una < end => {}
            Phase::Recovering(_) | Phase::Starting => self.begin_round(acked.max),
            Phase::Round(_) | Phase::Reduced => {}
        }
    }

    fn adjust_window(&mut self, window: &mut Window, acked: Acked) {
        let (base, rtt) = (self.base_rtt.as_nanos() as f64, self.round_rtt.as_nanos() as f64);
        let diff = window.cwnd * (rtt - base) / base;
        // The kernel's integers: the window is unchanged from beta to below beta + 1.
        let diff = if self.whole { diff.floor() } else { diff };
        if window.in_slow_start() && diff > GAMMA {
            window.cwnd = window.cwnd.min((window.cwnd * base / rtt).floor() + 1.0);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if window.in_slow_start() {
            self.reno.slow_start(window, acked.segments);
        } else if diff > self.beta {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if diff < self.alpha {
            window.cwnd += 1.0;
        }
        window.cwnd = window.cwnd.max(2.0);
        window.ssthresh = window.ssthresh.max((window.cwnd * 0.75).floor());
    }
}

macro_rules! either {
    ($value:expr, $each:ident => $call:expr) => {
        match $value {
            VegasRecovery::Arizona($each) => $call,
            VegasRecovery::Linux($each) => $call,
        }
    };
}

#[derive(Clone, Debug)]
pub(crate) enum VegasRecovery {
    Arizona(Arizona),
    Linux(Sack),
}

impl Recovery for VegasRecovery {
    type Options = VegasOptions;

    fn adjust(rules: &mut Rules, dialect: Dialect) {
        if dialect == Dialect::Ns2 {
            // `VegasTcpAgent::output` adds no headers and sends a SYN of full size.
            rules.segment = Bytes::new(1000);
            rules.syn_size = Some(Bytes::new(1000));
            // Vegas draws once more than other agents before its clock starts: the third number of `ns-random 1`, times
            // 10 ms.
            rules.clock_phase = Duration::from_nanos(142_047);
        } else {
            Sack::adjust(rules, dialect);
            // A round needs at least three samples.
            rules.timestamps = true;
        }
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        match options.vegas {
            VegasRules::Arizona => Self::Arizona(Arizona::new(rules, options)),
            VegasRules::Linux => Self::Linux(Sack::new(rules, &())),
        }
    }

    fn on_echo<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        either!(self, each => each.on_echo(state, ack));
    }
    fn on_ack<G: Growth>(&mut self, state: &mut State<G>, ack: &Segment) {
        either!(self, each => each.on_ack(state, ack));
    }
    fn on_timeout<G: Growth>(&mut self, state: &mut State<G>) {
        either!(self, each => each.on_timeout(state));
    }
    fn time_out<G: Growth>(&mut self, state: &mut State<G>) {
        either!(self, each => each.time_out(state));
    }
    fn next<G: Growth>(&self, state: &State<G>) -> Option<u64> {
        either!(self, each => each.next(state))
    }
    fn sent<G: Growth>(&mut self, state: &mut State<G>, seq: u64) {
        either!(self, each => each.sent(state, seq));
    }
    fn output<G: Growth>(&mut self, state: &mut State<G>, seq: u64) -> Segment {
        either!(self, each => each.output(state, seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpOptions;
    use headway_units::{Instant, Registry};

    fn vegas(dialect: Dialect) -> Vegas {
        let options = TcpOptions::preset("tcp-vegas", dialect).unwrap();
        Vegas::new(&options.rules, &options.own.vegas)
    }

    /// Feeds ten acknowledgements with this round trip, in ms. The first one starts the round.
    fn round(vegas: &mut Vegas, window: &mut Window, from: u64, rtt: u64) -> u64 {
        for una in from + 1..=from + 10 {
            let rtt = Duration::from_millis(rtt);
            let max = from + 10;
            vegas.grow(window, Acked { now: Instant::ZERO, segments: 1, una, max, rtt: Some(rtt), srtt: rtt });
        }
        from + 10
    }

    /// baseRTT 100 ms and 20 segments: 20 (RTT - 100)/100 queued segments. The window grows by one below 2 and shrinks
    /// by one above 4.
    #[test]
    fn the_window_follows_the_queue() {
        for (rtt, cwnd) in [(100, 21.0), (109, 21.0), (110, 20.0), (120, 20.0), (121, 19.0), (300, 19.0)] {
            let mut vegas = vegas(Dialect::Rfc);
            let mut window = Window { cwnd: 20.0, ssthresh: 2.0 };
            let una = round(&mut vegas, &mut window, 1, 100);
            window = Window { cwnd: 20.0, ssthresh: 2.0 };
            let una = round(&mut vegas, &mut window, una, rtt);
            window = Window { cwnd: 20.0, ssthresh: 2.0 };
            // The first acknowledgement of the next round evaluates this one.
            let acked = Acked {
                now: Instant::ZERO,
                segments: 1,
                una: una + 1,
                max: una + 20,
                rtt: Some(Duration::from_millis(rtt)),
                srtt: Duration::from_millis(rtt),
            };
            vegas.grow(&mut window, acked);
            assert_eq!(window.cwnd, cwnd, "{rtt} ms");
            assert_eq!(window.ssthresh, (cwnd * 0.75).floor(), "tcp_current_ssthresh");
        }
    }

    /// More than gamma = 1 queued segments end slow start, at the capacity of the empty path plus one: 20 x 100/106 =
    /// 18.87, 19. With 20 x 5/100 = 1, slow start continues.
    #[test]
    fn slow_start_ends_before_the_queue_fills() {
        for (rtt, cwnd, slow) in [(105, 21.0, true), (106, 19.0, false)] {
            let mut vegas = vegas(Dialect::Rfc);
            let mut window = Window { cwnd: 1.0, ssthresh: 1000.0 };
            let una = round(&mut vegas, &mut window, 1, 100);
            let una = round(&mut vegas, &mut window, una, rtt);
            window.cwnd = 20.0;
            round(&mut vegas, &mut Window { ..window }, una, rtt);
            let mut adjusted = Window { cwnd: 20.0, ssthresh: 1000.0 };
            (vegas.base_rtt, vegas.round_rtt) = (Duration::from_millis(100), Duration::from_millis(rtt));
            let rtt = Duration::from_millis(rtt);
            let acked = Acked { now: Instant::ZERO, segments: 1, una, max: una, rtt: Some(rtt), srtt: rtt };
            vegas.adjust_window(&mut adjusted, acked);
            assert_eq!((adjusted.cwnd, adjusted.in_slow_start()), (cwnd, slow), "{rtt:?}");
        }
    }

    /// Linux uses integers: 20 x 24/100 = 4.8 becomes 4, not above beta.
    #[test]
    fn linux_counts_whole_segments() {
        for (dialect, cwnd) in [(Dialect::Linux, 20.0), (Dialect::Rfc, 19.0)] {
            let mut vegas = vegas(dialect);
            (vegas.base_rtt, vegas.round_rtt) = (Duration::from_millis(100), Duration::from_millis(124));
            let mut window = Window { cwnd: 20.0, ssthresh: 2.0 };
            let rtt = Duration::from_millis(124);
            vegas.adjust_window(
                &mut window,
                Acked { now: Instant::ZERO, segments: 1, una: 9, max: 9, rtt: Some(rtt), srtt: rtt },
            );
            assert_eq!(window.cwnd, cwnd, "{dialect:?}");
        }
    }

    /// The window grows as Reno's in rounds with fewer than three samples, and from a loss until all data sent before
    /// it is acknowledged.
    #[test]
    fn without_enough_samples_vegas_grows_as_reno() {
        let ms = Duration::from_millis;
        let acked = |una, max, rtt| Acked { now: Instant::ZERO, segments: 1, una, max, rtt, srtt: ms(100) };
        let mut vegas = vegas(Dialect::Rfc);
        let mut window = Window { cwnd: 10.0, ssthresh: 2.0 };
        vegas.grow(&mut window, acked(2, 12, Some(ms(100))));
        assert!((window.cwnd - 10.1).abs() < 1e-12, "a round of one sample");
        vegas.grow(&mut window, acked(12, 22, Some(ms(500))));
        assert!((window.cwnd - 10.1).abs() < 1e-12, "within a round");
        vegas.grow(&mut window, acked(13, 22, Some(ms(500))));
        assert!((window.cwnd - 10.1 - 1.0 / 10.1).abs() < 1e-12, "a round of two");
        assert_eq!(vegas.decrease(Cut::Timeout, 20.0, 20.0), 10.0);
        window.cwnd = 10.0;
        for una in 14..23 {
            let before = window.cwnd;
            vegas.grow(&mut window, acked(una, 23, Some(ms(500))));
            assert!((window.cwnd - before - 1.0 / before).abs() < 1e-12, "{una}");
        }
        vegas.grow(&mut window, acked(23, 33, Some(ms(500))));
        let before = window.cwnd;
        for una in 24..=33 {
            vegas.grow(&mut window, acked(una, 43, Some(ms(500))));
        }
        assert_eq!(window.cwnd, before, "unchanged within a round");
        vegas.grow(&mut window, acked(34, 43, Some(ms(500))));
        assert_eq!(window.cwnd, before - 1.0, "changed at its end");
    }

    /// `tcp_vegas_init`: a silence resets baseRTT.
    #[test]
    fn a_silence_resets_the_base_rtt() {
        let mut vegas = vegas(Dialect::Linux);
        let mut window = Window { cwnd: 10.0, ssthresh: 2.0 };
        let una = round(&mut vegas, &mut window, 1, 100);
        assert_eq!(vegas.base_rtt, Duration::from_millis(100));
        vegas.resumed(Duration::from_secs(1));
        round(&mut vegas, &mut window, una, 140);
        assert_eq!(vegas.base_rtt, Duration::from_millis(140));
    }
}
