//! BBR version 1 as in Linux 6.1 (net/ipv4/tcp_bbr.c; Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR:
//! Congestion-Based Congestion Control", ACM Queue 14(5), 2016).
//!
//! ```text
//! bw        = maximum of the delivery rate over 10 round trips
//! min_rtt   = minimum of the round-trip time over 10 s
//! rate      = 0.99 pacing_gain bw
//! cwnd      = cwnd_gain bw min_rtt + aggregation, + 3 bursts, in whole pairs
//! Startup:  gain 2.885 until bw grew by less than 25 % in 3 round trips; Drain: its inverse until the queue is empty
//! ProbeBW:  gains 1.25, 0.75, 1, 1, 1, 1, 1, 1 for a min_rtt each
//! ProbeRTT: 4 segments in flight for 200 ms, if min_rtt was not measured for 10 s
//! ```

use crate::delivery::RateSample;
use crate::growth::Window;
use crate::unit::BUFFER;
use crate::windowed_max::WindowedMax;
use headway_units::{Duration, Instant, Random};

/// `bbr_bw_rtts`.
const BW_ROUNDS: u64 = 10;
/// `bbr_min_rtt_win_sec`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// `bbr_high_gain`: 2 / ln 2, and its inverse.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// `bbr_pacing_gain`.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;
/// `bbr_cwnd_min_target`.
const LEAST_CWND: f64 = 4.0;
/// `bbr_full_bw_thresh` and `bbr_full_bw_cnt`.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// `bbr_pacing_margin_percent`.
const MARGIN: f64 = 0.99;
/// `bbr_extra_acked_max_us` and `bbr_extra_acked_win_rtts`.
const MAX_EXTRA_ACKED_S: f64 = 0.1;
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// Pacing interval whose data is one burst: `sk_pacing_shift` 10.
const BURST_S: f64 = 1.0 / 1024.0;
/// `bbr_min_tso_rate`, in bytes per second.
const PAIR_RATE: f64 = 1.2e6 / 8.0;
/// `TCP_INIT_CWND`.
const INITIAL_WINDOW: u64 = 10;
/// Policer detection: `bbr_lt_intvl_min_rtts`, `bbr_lt_loss_thresh` (of 256), `bbr_lt_bw_ratio` (of 256),
/// `bbr_lt_bw_diff` in bytes per second, `bbr_lt_bw_max_rtts`.
const POLICER_ROUNDS: u32 = 4;
const POLICER_LOSS: f64 = 50.0 / 256.0;
const POLICER_RATIO: f64 = 32.0 / 256.0;
const POLICER_DIFFERENCE: f64 = 500.0;
const POLICED_ROUNDS: u32 = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Estimate of the rate of a policer (`lt_*`): the rate of two consecutive intervals that end with losses.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    is_sampling: bool,
    /// Rate used instead of `bw`, while `in_use`.
    rate: f64,
    in_use: bool,
    rounds: u32,
    /// Counts and time at the start of the interval.
    delivered: u64,
    lost: u64,
    since: Instant,
}

/// Acknowledgements that exceed `bw` (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    since: Instant,
    acked: f64,
    /// Maximum excess of the current and the previous window of rounds.
    extra: [f64; 2],
    index: usize,
    rounds: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct V1 {
    mode: Mode,
    bw: WindowedMax,
    min_rtt: Duration,
    min_rtt_at: Instant,
    round: u64,
    round_start: bool,
    /// Count of delivered segments whose segment ends the round.
    round_end: u64,
    full_bw: f64,
    full_bw_count: u32,
    full_bw_reached: bool,
    cycle_index: usize,
    cycle_at: Instant,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Segments per second.
    pacing_rate: f64,
    prior_cwnd: f64,
    recovering: bool,
    conserving: bool,
    idle_restart: bool,
    probe_rtt_done_at: Option<Instant>,
    probe_rtt_round_done: bool,
    policer: Policer,
    aggregation: Aggregation,
    lost: u64,
    delivered: u64,
    /// Bytes on the wire of a segment.
    segment: f64,
}

impl V1 {
    pub(crate) fn new(segment_bytes: u64) -> Self {
        Self {
            mode: Mode::Startup,
            bw: WindowedMax::new(BW_ROUNDS),
            min_rtt: Duration::MAX,
            min_rtt_at: Instant::ZERO,
            round: 0,
            round_start: false,
            round_end: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_reached: false,
            cycle_index: 0,
            cycle_at: Instant::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0.0,
            prior_cwnd: 0.0,
            recovering: false,
            conserving: false,
            idle_restart: false,
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            lost: 0,
            delivered: 0,
            segment: segment_bytes as f64,
        }
    }

    pub(crate) fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full_bw_reached
    }

    /// `bbr_init` and `bbr_init_pacing_rate_from_rtt`.
    pub(crate) fn opened(&mut self, window: &Window, now: Instant, rtt: Option<Duration>) {
        (self.min_rtt, self.min_rtt_at) = (rtt.unwrap_or(Duration::MAX), now);
        self.aggregation.since = now;
        self.policer.since = now;
        // Without a round trip, the initial window is not paced.
        self.pacing_rate = rtt.map_or(0.0, |rtt| HIGH_GAIN * window.cwnd / rtt.as_secs_f64().max(1e-6) * MARGIN);
    }

    /// `bbr_cwnd_event` with CA_EVENT_TX_START.
    pub(crate) fn sending(&mut self, window: &mut Window, now: Instant, app_limited: bool, random: &mut Random) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        (self.aggregation.since, self.aggregation.acked) = (now, 0.0);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.finish_probe_rtt(window, now, random),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_ssthresh`, at the start of a recovery or at a timeout.
    pub(crate) fn save_window(&mut self, cwnd: f64) {
        self.prior_cwnd = if self.recovering || self.mode == Mode::ProbeRtt { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// `bbr_set_state` with TCP_CA_Loss.
    pub(crate) fn timed_out(&mut self) {
        self.recovering = true;
        self.full_bw = 0.0;
        self.round_start = true;
    }

    /// `bbr_undo_cwnd`.
    pub(crate) fn undone(&mut self) {
        (self.full_bw, self.full_bw_count) = (0.0, 0);
        self.reset_policer();
    }

    /// `bbr_main`. Returns whether the connection counts as limited by the application.
    pub(crate) fn sampled(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        self.lost += sample.newly_lost;
        self.delivered = sample.total_delivered;
        self.update_bw(sample, random);
        self.update_aggregation(sample, window.cwnd);
        self.update_cycle(sample);
        self.check_full_bw(sample);
        self.check_drain(window, sample, random);
        let limits = self.update_min_rtt(window, sample, random);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(window, sample);
        limits
    }

    fn max_bw(&self) -> f64 {
        self.bw.get()
    }
    /// `bbr_bw`.
    fn rate(&self) -> f64 {
        if self.policer.in_use { self.policer.rate } else { self.max_bw() }
    }

    fn update_bw(&mut self, sample: &RateSample, random: &mut Random) {
        self.round_start = false;
        let Some(rate) = sample.rate else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.total_delivered;
            self.round += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.sample_policer(sample, random);
        if !sample.app_limited || rate >= self.max_bw() {
            self.bw.add(self.round, rate);
        }
    }

    fn reset_policer_interval(&mut self, now: Instant) {
        self.policer.since = now;
        (self.policer.delivered, self.policer.lost, self.policer.rounds) = (self.delivered, self.lost, 0);
    }
    fn reset_policer(&mut self) {
        self.policer = Policer { since: self.policer.since, ..Policer::default() };
        self.reset_policer_interval(self.policer.since);
    }

    /// `bbr_lt_bw_sampling`.
    fn sample_policer(&mut self, sample: &RateSample, random: &mut Random) {
        if self.policer.in_use {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.policer.rounds += 1;
                if self.policer.rounds >= POLICED_ROUNDS {
                    self.reset_policer();
                    self.enter_probe_bw(sample.now, random);
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            if sample.newly_lost == 0 {
                return;
            }
            self.reset_policer_interval(sample.now);
            self.policer.is_sampling = true;
        }
        if sample.app_limited {
            self.reset_policer();
            return;
        }
        self.policer.rounds += u32::from(self.round_start);
        if self.policer.rounds < POLICER_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * POLICER_ROUNDS {
            self.reset_policer();
            return;
        }
        if sample.newly_lost == 0 {
            return;
        }
        let (lost, delivered) = (self.lost - self.policer.lost, self.delivered - self.policer.delivered);
        if delivered == 0 || (lost as f64) < POLICER_LOSS * delivered as f64 {
            return;
        }
        let elapsed = sample.now.since(self.policer.since);
        if elapsed < Duration::from_millis(1) {
            return;
        }
        self.end_policer_interval(delivered as f64 / elapsed.as_secs_f64(), sample.now);
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_policer_interval(&mut self, rate: f64, now: Instant) {
        if self.policer.rate > 0.0 {
            let difference = (rate - self.policer.rate).abs();
            if difference <= POLICER_RATIO * self.policer.rate
                || difference * self.segment * MARGIN <= POLICER_DIFFERENCE
            {
                self.policer.rate = (rate + self.policer.rate) / 2.0;
                (self.policer.in_use, self.policer.rounds, self.pacing_gain) = (true, 0, 1.0);
                return;
            }
        }
        self.policer.rate = rate;
        self.reset_policer_interval(now);
    }

    fn update_aggregation(&mut self, sample: &RateSample, cwnd: f64) {
        if sample.rate.is_none() || sample.newly_delivered == 0 {
            return;
        }
        let aggregation = &mut self.aggregation;
        if self.round_start {
            aggregation.rounds += 1;
            if aggregation.rounds >= EXTRA_ACKED_ROUNDS {
                aggregation.rounds = 0;
                aggregation.index ^= 1;
                aggregation.extra[aggregation.index] = 0.0;
            }
        }
        let rate = if self.policer.in_use { self.policer.rate } else { self.bw.get() };
        let mut expected = rate * sample.now.since(aggregation.since).as_secs_f64();
        if aggregation.acked <= expected {
            (aggregation.since, aggregation.acked, expected) = (sample.now, 0.0, 0.0);
        }
        aggregation.acked += sample.newly_delivered as f64;
        let extra = (aggregation.acked - expected).min(cwnd);
        let slot = &mut aggregation.extra[aggregation.index];
        *slot = slot.max(extra);
    }

    /// `bbr_ack_aggregation_cwnd`.
    fn aggregation_segments(&self) -> f64 {
        if !self.full_bw_reached {
            return 0.0;
        }
        let [first, second] = self.aggregation.extra;
        first.max(second).min(self.rate() * MAX_EXTRA_ACKED_S).floor()
    }

    /// `bbr_packets_in_net_at_edt`.
    fn in_flight_at_departure(&self, sample: &RateSample, in_flight: u64) -> f64 {
        let delivered = (self.rate() * sample.departs.since(sample.now).as_secs_f64()).floor();
        let burst = if self.pacing_gain > 1.0 { self.burst_goal() } else { 0.0 };
        (in_flight as f64 + burst - delivered).max(0.0)
    }

    /// `bbr_tso_segs_goal`.
    fn burst_goal(&self) -> f64 {
        let least = if self.pacing_rate * self.segment < PAIR_RATE { 1.0 } else { 2.0 };
        (self.pacing_rate * BURST_S).floor().clamp(least, (BUFFER as f64 / self.segment).floor().clamp(2.0, 127.0))
    }

    /// `bbr_bdp`.
    fn bdp(&self, rate: f64, gain: f64) -> f64 {
        if self.min_rtt == Duration::MAX {
            return INITIAL_WINDOW as f64;
        }
        (gain * rate * self.min_rtt.as_secs_f64()).ceil()
    }
    /// `bbr_quantization_budget`.
    fn with_bursts(&self, cwnd: f64) -> f64 {
        let pairs = ((cwnd + 3.0 * self.burst_goal() + 1.0) / 2.0).floor() * 2.0;
        if self.mode == Mode::ProbeBw && self.cycle_index == 0 { pairs + 2.0 } else { pairs }
    }
    /// `bbr_inflight`.
    fn inflight(&self, rate: f64, gain: f64) -> f64 {
        self.with_bursts(self.bdp(rate, gain))
    }

    fn update_cycle(&mut self, sample: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let is_full_length = sample.now.since(self.cycle_at) > self.min_rtt;
        let in_flight = self.in_flight_at_departure(sample, sample.prior_in_flight);
        let is_next = if self.pacing_gain > 1.0 {
            is_full_length && (sample.newly_lost > 0 || in_flight >= self.inflight(self.max_bw(), self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            is_full_length || in_flight <= self.inflight(self.max_bw(), 1.0)
        } else {
            is_full_length
        };
        if is_next {
            self.advance_cycle(sample.now);
        }
    }
    fn advance_cycle(&mut self, now: Instant) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    fn check_full_bw(&mut self, sample: &RateSample) {
        if self.full_bw_reached || !self.round_start || sample.app_limited {
            return;
        }
        if self.max_bw() >= FULL_BW_GROWTH * self.full_bw {
            (self.full_bw, self.full_bw_count) = (self.max_bw(), 0);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(self.max_bw(), 1.0);
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(sample, sample.in_flight) <= self.inflight(self.max_bw(), 1.0)
        {
            self.enter_probe_bw(sample.now, random);
        }
    }
    /// `bbr_reset_probe_bw_mode`: the cycle starts at any phase but the second.
    fn enter_probe_bw(&mut self, now: Instant, random: &mut Random) {
        self.mode = Mode::ProbeBw;
        self.cycle_index = CYCLE.len() - 1 - random.below(7) as usize;
        self.advance_cycle(now);
    }

    fn update_min_rtt(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        let expired = sample.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            && (rtt < self.min_rtt || expired)
        {
            (self.min_rtt, self.min_rtt_at) = (rtt, sample.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window.cwnd);
            self.probe_rtt_done_at = None;
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            if self.probe_rtt_done_at.is_none() {
                if sample.in_flight as f64 <= LEAST_CWND {
                    self.probe_rtt_done_at = Some(sample.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.round_end = sample.total_delivered;
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.finish_probe_rtt(window, sample.now, random);
                }
            }
        }
        // A sample exists only if something was delivered.
        self.idle_restart = false;
        probes
    }

    /// `bbr_check_probe_rtt_done`.
    fn finish_probe_rtt(&mut self, window: &mut Window, now: Instant, random: &mut Random) {
        if self.probe_rtt_done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.min_rtt_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(now, random);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.in_use => (1.0, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle_index], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.rate() * MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_set_cwnd` and `bbr_set_cwnd_to_recover_or_restore`.
    fn set_window(&mut self, window: &mut Window, sample: &RateSample) {
        let acked = sample.newly_delivered as f64;
        let mut cwnd = window.cwnd;
        if sample.newly_lost > 0 {
            cwnd = (cwnd - sample.newly_lost as f64).max(1.0);
        }
        if sample.recovering && !self.recovering {
            self.conserving = true;
            self.round_end = sample.total_delivered;
            cwnd = sample.in_flight as f64 + acked;
        } else if self.recovering && !sample.recovering {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.recovering = sample.recovering;
        if self.conserving {
            cwnd = cwnd.max(sample.in_flight as f64 + acked);
        } else {
            let target = self.with_bursts(self.bdp(self.rate(), self.cwnd_gain) + self.aggregation_segments());
            if self.full_bw_reached {
                cwnd = (cwnd + acked).min(target);
            } else if cwnd < target || sample.total_delivered < INITIAL_WINDOW {
                cwnd += acked;
            }
            cwnd = cwnd.max(LEAST_CWND);
        }
        window.cwnd = if self.mode == Mode::ProbeRtt { cwnd.min(LEAST_CWND) } else { cwnd };
    }
}
