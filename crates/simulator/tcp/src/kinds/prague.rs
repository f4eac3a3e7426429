//! TCP Prague: a scalable sender for L4S (RFC 9331 section 4; draft-briscoe-iccrg-prague-congestion-control-00; Linux
//! module tcp_prague 0.6 of L4STeam/linux, net/ipv4/tcp_prague.c).
//!
//! ```text
//! once a round     F = CE packets / counted packets, alpha <- alpha + (F - alpha) / 16   not before the first CE;
//!                                                                         initially alpha = 1
//! packet, no CE    w <- w + a / ceil(w)         a = 1, or (SRTT / T)^2 if independent and SRTT < T
//! CE               w <- w (1 - alpha / 2)       once a round trip
//! loss, timeout    w <- w / 2                   also after a mark of the same round trip
//! cwnd             follows ceil(w) by one segment per acknowledgement, at least 2
//! independent      after 500 rounds without slow start: alpha and w change by marks at most once in T = 25 ms
//! ```
//! w has 20 fractional bits, alpha 20 bits scaled by 16, both in integers as in the module. All packets are ECT(1),
//! also retransmissions (section 4.1). Marks are counted by accurate ECN (section 4.2, RFC 9768). If the path changes
//! the ECN field, the sender is Reno without ECN from then on. With `classic_ecn_fallback` it is Reno with ECN while the
//! queue is judged to have classic ECN (section 4.3).
//!
//! Departures: w has the same minimum as cwnd, two segments; the module lets w fall below, and recovers as late. w is
//! not restored when a loss was spurious. Slow start is paced by SRTT / cwnd, where the module uses half of it.

use crate::growth::{Acked, Growth, Step, Window};
use crate::keys::options;
use crate::kinds::aimd::Aimd;
use crate::kinds::classic_queue::ClassicQueue;
use crate::options::{EcnEcho, HalvedWindow, Halving, Rules};
use crate::segment::{EcnCounts, Segment};
use crate::state::Cut;
use headway_units::{Dialect, Duration, Ecn, Instant, OptionError};

/// A segment, in units of the window.
const ONE: u64 = 1 << 20;
/// 1, in units of alpha.
const LARGEST_ALPHA: u64 = 1 << 20;
/// Binary logarithm of 1/g, the weight of a round in alpha.
const GAIN_SHIFT: u32 = 4;
/// Smallest window, in segments.
const LEAST: u64 = 2;
/// T, the round trip for which the rate of an independent sender is computed.
const TARGET: Duration = Duration::from_millis(25);
/// Round trip above which the module does not scale the increase.
const LONGEST_SCALED: Duration = Duration::from_millis(100);
/// Rounds after slow start from which on the sender is independent of its round trip.
const ROUNDS_TO_INDEPENDENCE: u32 = 500;

options! {
    /// Options of `tcp-prague`.
    PragueOptions {
        /// Whether the sender is Reno with ECN while it judges that a queue marks as classic ECN (RFC 3168), without
        /// distinguishing ECT(1).
        Usual classic_ecn_fallback: bool = false;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Prague {
    slow_start: Step,
    /// Response without ECN, and behind a classic queue.
    reno: Aimd,
    ecn_failed: bool,
    classic: Option<Box<ClassicQueue>>,
    most: u64,
    /// w; at most cwnd until it is next used.
    window: u64,
    /// cwnd limits w, after it changed for another reason.
    limited: bool,
    /// alpha / g.
    upscaled_alpha: u64,
    is_marked: bool,
    in_slow_start: bool,
    now: Instant,
    srtt: Duration,
    recovering: bool,
    /// CE packets reported by this acknowledgement.
    marked: u64,
    /// Packets counted in this round, and CE packets of them.
    round_packets: u64,
    round_marked: u64,
    /// The round ends when all segments below this number are acknowledged.
    round_end: u64,
    rounds: u32,
    /// a, in units of the window.
    increase: u64,
    alpha_updated: Instant,
    reduced: Instant,
    /// Whether the last reduction was by marks, which cwnd follows in steps.
    by_marks: bool,
}

/// Returns alpha / g after a round with `marked` of `packets`.
fn updated(upscaled: u64, marked: u64, packets: u64) -> u64 {
    let share = (marked << LARGEST_ALPHA.ilog2()) / packets.max(1);
    (upscaled - (upscaled >> GAIN_SHIFT) + share).min(LARGEST_ALPHA << GAIN_SHIFT)
}

/// Returns w after a mark.
fn reduced(window: u64, upscaled_alpha: u64) -> u64 {
    let alpha = upscaled_alpha >> GAIN_SHIFT;
    window
        - ((u128::from(alpha) * u128::from(window) + u128::from(LARGEST_ALPHA)) >> (LARGEST_ALPHA.ilog2() + 1)) as u64
}

/// Returns a of an independent sender.
fn scaled_increase(srtt: Duration) -> u64 {
    if srtt.is_zero() || srtt >= TARGET.min(LONGEST_SCALED) {
        return ONE;
    }
    let in_units = |duration: Duration| (duration.as_nanos() / 1000) >> 7;
    let (rtt, target) = (in_units(srtt), in_units(TARGET));
    ((rtt << ONE.ilog2()) * rtt + target * target / 2) / (target * target)
}

/// Returns w after `segments` without CE.
fn grown(window: u64, segments: u64, increase: u64) -> u64 {
    let whole = window.div_ceil(ONE).max(1);
    window + ((segments * increase + whole / 2) / whole).max(segments)
}

impl Prague {
    fn is_independent(&self) -> bool {
        !self.in_slow_start && self.rounds >= ROUNDS_TO_INDEPENDENCE
    }

    /// Limits w by a cwnd that changed for another reason.
    fn follow(&mut self, cwnd: f64) {
        if std::mem::take(&mut self.limited) {
            self.window = self.window.min((cwnd.max(0.0) * ONE as f64) as u64);
        }
    }

    fn is_reno(&self) -> bool {
        self.ecn_failed || self.classic.as_ref().is_some_and(|classic| classic.is_classic())
    }

    /// Ends the round if all segments sent at its start are acknowledged, and in independence T has passed.
    fn end_round(&mut self, acked: Acked) {
        self.srtt = acked.srtt;
        if let (Some(classic), Some(rtt)) = (&mut self.classic, acked.rtt) {
            classic.on_sample(acked.now, rtt, self.marked > 0);
        }
        if acked.una < self.round_end || self.is_independent() && acked.now.since(self.alpha_updated) < TARGET {
            return;
        }
        if self.is_marked {
            self.upscaled_alpha = updated(self.upscaled_alpha, self.round_marked, self.round_packets);
            self.alpha_updated = acked.now;
        }
        if let Some(classic) = &mut self.classic {
            classic.end_round(acked.srtt.as_secs_f64() / (acked.max - acked.una).max(1) as f64);
            // cwnd of a Reno sender becomes w when the fallback ends.
            if classic.is_classic() {
                (self.window, self.limited) = (u64::MAX, true);
            }
        }
        (self.round_packets, self.round_marked, self.round_end) = (0, 0, acked.max);
        if !self.in_slow_start {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.update_increase();
    }

    fn update_increase(&mut self) {
        self.increase = if self.rounds < ROUNDS_TO_INDEPENDENCE { ONE } else { scaled_increase(self.srtt) };
    }

    /// Moves cwnd by at most one segment towards w.
    fn step(&mut self, window: &mut Window) {
        let target = self.window.div_ceil(ONE).clamp(LEAST, self.most.max(LEAST)) as f64;
        if window.cwnd > target {
            window.cwnd = (window.cwnd - 1.0).max(target);
            window.ssthresh = window.cwnd;
        } else if window.cwnd < target {
            window.cwnd = (window.cwnd + 1.0).min(target);
        } else {
            return;
        }
        self.update_increase();
    }
}

impl Growth for Prague {
    type Options = PragueOptions;

    const GROWS_WHEN_MARKED: bool = true;
    const GROWS_WHEN_PACED: bool = true;
    const REDUCES_AFTER_MARK: bool = true;

    fn adjust(rules: &mut Rules, _dialect: Dialect) {
        rules.ecn = true;
        rules.ecn_echo = EcnEcho::Accurate;
        rules.ecn_on_retransmission = true;
        rules.ecn_least_window = 2;
        rules.paced = true;
        // The pace and the increase depend on the smoothed round trip.
        (rules.tick, rules.clock_phase) = (Duration::from_micros(1), Duration::ZERO);
        rules.timestamps = true;
        rules.sack.rack = true;
        rules.halving = Halving::Window;
        rules.halved_window = HalvedWindow::Fractional;
    }

    fn check(rules: &Rules, _options: &Self::Options) -> Result<(), OptionError> {
        if !rules.ecn {
            return Err(OptionError::new("ecn", "false: tcp-prague requires true; use tcp-sack without ECN"));
        }
        if rules.ecn_echo != EcnEcho::Accurate {
            return Err(OptionError::new("ecn_echo", "tcp-prague requires \"accurate\""));
        }
        Ok(())
    }

    fn new(rules: &Rules, options: &Self::Options) -> Self {
        Self {
            slow_start: Step::new(rules),
            reno: Aimd::new(rules, &()),
            ecn_failed: false,
            classic: options.classic_ecn_fallback.then(Box::default),
            most: rules.window_segments(),
            window: u64::MAX,
            limited: true,
            upscaled_alpha: LARGEST_ALPHA << GAIN_SHIFT,
            is_marked: false,
            in_slow_start: true,
            now: Instant::ZERO,
            srtt: Duration::ZERO,
            recovering: false,
            marked: 0,
            round_packets: 0,
            round_marked: 0,
            round_end: 0,
            rounds: 0,
            increase: ONE,
            alpha_updated: Instant::ZERO,
            reduced: Instant::ZERO,
            by_marks: false,
        }
    }

    fn counted(&mut self, window: &mut Window, now: Instant, _numbers: (u64, u64), _ack: &Segment, new: EcnCounts) {
        if !self.is_reno() && !self.limited && !self.recovering {
            self.step(window);
        }
        self.now = now;
        self.marked = u64::from(new.ce);
        self.is_marked |= new.ce > 0;
        self.round_packets += new.total();
        self.round_marked += self.marked;
    }

    fn ecn_failed(&mut self) {
        self.ecn_failed = true;
    }

    fn grow(&mut self, window: &mut Window, acked: Acked) {
        if self.is_reno() {
            self.reno.grow(window, acked);
            self.hold(acked);
            return;
        }
        self.follow(window.cwnd);
        self.in_slow_start = window.in_slow_start();
        let mut segments = acked.segments.saturating_sub(self.marked);
        if self.in_slow_start && segments > 0 {
            segments = self.slow_start.slow_start(window, segments) as u64;
            self.window = (window.cwnd * ONE as f64) as u64;
        }
        if segments > 0 {
            self.window = grown(self.window, segments, self.increase);
        }
        self.end_round(acked);
    }

    fn hold(&mut self, acked: Acked) {
        if !self.ecn_failed {
            self.end_round(acked);
        }
    }

    fn decrease(&mut self, cut: Cut, cwnd: f64, base: f64) -> f64 {
        self.by_marks = cut == Cut::Ecn && !self.is_reno();
        if self.is_reno() {
            return self.reno.decrease(cut, cwnd, base);
        }
        self.follow(cwnd);
        if cut != Cut::Ecn {
            self.recovering = cut == Cut::DupAcks;
            self.window -= self.window / 2;
        } else if !self.is_independent() || self.now.since(self.reduced) >= TARGET {
            self.reduced = self.now;
            self.window = reduced(self.window, self.upscaled_alpha);
        }
        self.in_slow_start = false;
        self.window = self.window.max(LEAST * ONE);
        self.window as f64 / ONE as f64
    }

    fn settle(&self, cwnd: f64, reduced: f64) -> f64 {
        if self.by_marks { cwnd } else { reduced.ceil() }
    }

    fn recovered(&mut self, _window: &mut Window) {
        self.recovering = false;
    }

    fn timed_out(&mut self) {
        self.slow_start.reset(true);
        self.reno.timed_out();
        self.limited = true;
    }

    fn resumed(&mut self, _silence: Duration) {
        self.limited = true;
    }

    fn codepoint(&self) -> Ecn {
        Ecn::Ect1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// alpha / g and alpha of the module, computed from 1 with (CE, packets) of five rounds.
    #[test]
    fn alpha_agrees_with_the_module() {
        let mut upscaled = LARGEST_ALPHA << GAIN_SHIFT;
        let rounds = [(1, 10), (0, 10), (2, 20), (0, 20), (20, 20)].map(|(marked, packets)| {
            upscaled = updated(upscaled, marked, packets);
            (upscaled, upscaled >> GAIN_SHIFT)
        });
        assert_eq!(
            rounds,
            [
                (15_833_497, 989_593),
                (14_843_904, 927_744),
                (14_021_017, 876_313),
                (13_144_704, 821_544),
                (13_371_736, 835_733)
            ]
        );
    }

    /// w of the module after a mark, in segments, for w and alpha.
    #[test]
    fn a_mark_reduces_by_half_of_alpha() {
        for (window, alpha, left) in
            [(10.0, 1.0, 5.0), (40.0, 0.05, 39.000_015_259), (100.0, 0.02, 99.000_024_796), (2.5, 0.8, 1.500_000_954)]
        {
            let upscaled = ((alpha * LARGEST_ALPHA as f64) as u64) << GAIN_SHIFT;
            let after = reduced((window * ONE as f64) as u64, upscaled) as f64 / ONE as f64;
            assert!((after - left).abs() < 1e-9, "{window} {alpha}: {after}");
        }
    }

    /// a of the module for round trips in ms.
    #[test]
    fn the_increase_is_quadratic_in_the_round_trip() {
        let of = |ms| scaled_increase(Duration::from_millis(ms));
        assert_eq!([1, 5, 10, 20, 25, 50].map(of), [1351, 41_943, 167_772, 671_089, ONE, ONE]);
    }

    /// w of the module after 20 acknowledgements without CE at 20 segments.
    #[test]
    fn a_round_without_ce_adds_a_segment() {
        let window = (0..20).fold(20 * ONE, |window, _| grown(window, 1, ONE));
        assert!((window as f64 / ONE as f64 - 20.954_758_644).abs() < 1e-9);
    }
}
