//! BBR version 3 (draft-ietf-ccwg-bbr, editor's copy of 2026-08-03, git 4ce5e87; the same rules as -06). Section numbers
//! are those of the draft. Sizes are segments, rates segments per second; names are the draft's.
//!
//! ```text
//! max_bw    = maximum of the delivery rate over 2 cycles     bw = min(max_bw, bw_shortterm)
//! min_rtt   = minimum of the round-trip time over 10 s
//! rate      = 0.99 pacing_gain bw
//! cwnd      = cwnd_gain bw min_rtt + extra_acked, limited by inflight_longterm and inflight_shortterm
//! Startup 2.77, Drain 0.5, then cycles: DOWN 0.9, CRUISE 1, REFILL 1, UP 1.25; ProbeRTT: half of the flight
//! ```
//!
//! Where the draft contradicts itself:
//! - Drain ends after round `drain_start_round + 3`, which is the fourth round (the pseudocode; test 4 says three).
//! - The gains of the four states of ProbeBW are set at each entry (the pseudocode leaves `cwnd_gain` at 2.25 after UP).
//! - A lost segment that the application limited does not lower `inflight_longterm` (the pseudocode; test 6 says "regardless"
//!   of that), but ends UP.
//! - High loss in Startup sets both `full_bw_now` and `full_bw_reached` (test 2; the text names only the second).
//! - The state to undo is saved once per recovery, not in each of its rounds, which would overwrite what it restores.
//! - `inflight_longterm` falls to the maximum of the flight at the loss and 0.7 times the target (the pseudocode), which is
//!   less than a cut by Beta (test 21).

#[cfg(test)]
mod appendix_a;

use crate::delivery::{Lost, RateSample};
use crate::growth::Window;
use crate::windowed_max::WindowedMax;
use headway_units::{Duration, Instant, Random};

const STARTUP_PACING_GAIN: f64 = 2.77;
const STARTUP_CWND_GAIN: f64 = 2.0;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DRAIN_ROUNDS: u64 = 3;
/// `PacingMarginPercent` 1.
const MARGIN: f64 = 0.99;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const MIN_PIPE_CWND: f64 = 4.0;
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
const STARTUP_FULL_LOSS_COUNT: u64 = 6;
/// Longest time between probes, in rounds of a flow with Reno's growth (section 5.3.3.5.2).
const RENO_ROUNDS: f64 = 63.0;
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_WAIT_RANDOM_S: f64 = 1.0;
/// Data of one burst: 1 ms at the pacing rate, from 2 segments to 64 KiB (section 5.6.3).
const BURST_S: f64 = 1e-3;
const MAX_BURST_BYTES: f64 = 65_536.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
    /// Returns the pacing gain and the window gain (section 5.1, table 1).
    fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (STARTUP_PACING_GAIN, STARTUP_CWND_GAIN),
            Self::Drain => (DRAIN_PACING_GAIN, STARTUP_CWND_GAIN),
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeRtt => (1.0, 0.5),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// State to restore after a spurious recovery.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: f64,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    /// State in which the loss ended a probe.
    state: Option<State>,
}

#[derive(Clone, Debug)]
pub(crate) struct V3 {
    pub(super) state: State,
    pub(super) pacing_rate: f64,
    pub(super) round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    total_delivered: u64,
    idle_restart: bool,

    /// Filter of `max_bw` (`MaxBwFilter`): the previous and the current cycle.
    bw_filter: [f64; 2],
    pub(super) bw_shortterm: f64,
    pub(super) bw: f64,
    pub(super) min_rtt: Duration,
    min_rtt_at: Instant,
    pub(super) inflight_longterm: f64,
    pub(super) inflight_shortterm: f64,

    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    loss_in_round: bool,

    extra_acked: WindowedMax,
    extra_acked_since: Instant,
    extra_acked_delivered: f64,

    full_bw: f64,
    pub(super) full_bw_now: bool,
    pub(super) full_bw_reached: bool,
    full_bw_count: u32,
    startup_lost_ranges: u64,
    drain_start_round: u64,

    cycle_at: Instant,
    probe_wait: Duration,
    rounds_since_probe: u64,
    ack_phase: AckPhase,
    probe_rounds: u32,
    probe_acked: f64,
    probe_per_inc: f64,
    is_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    probe_rtt_min: Duration,
    probe_rtt_min_at: Instant,
    probe_rtt_expired: bool,
    probe_rtt_done_at: Option<Instant>,
    probe_rtt_round_done: bool,
    probe_rtt_cwnd: f64,

    saved: Option<Saved>,
    /// Whether a lost segment of this acknowledgement showed that the probe was too high.
    lost_too_high: bool,
    recovering: bool,
    initial_cwnd: f64,
    max_burst: f64,
    offload: f64,
}

impl V3 {
    /// `payload`: bytes of data of a segment. `offload`: whether bursts of segmentation offload are sent.
    pub(crate) fn new(payload: u64, initial_cwnd: u64, offload: bool) -> Self {
        Self {
            state: State::Startup,
            pacing_rate: 0.0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            total_delivered: 0,
            idle_restart: false,
            bw_filter: [0.0; 2],
            bw_shortterm: f64::INFINITY,
            bw: 0.0,
            min_rtt: Duration::MAX,
            min_rtt_at: Instant::ZERO,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            extra_acked: WindowedMax::new(1),
            extra_acked_since: Instant::ZERO,
            extra_acked_delivered: 0.0,
            full_bw: 0.0,
            full_bw_now: false,
            full_bw_reached: false,
            full_bw_count: 0,
            startup_lost_ranges: 0,
            drain_start_round: 0,
            cycle_at: Instant::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            ack_phase: AckPhase::Init,
            probe_rounds: 0,
            probe_acked: 0.0,
            probe_per_inc: f64::INFINITY,
            is_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_rtt_min: Duration::MAX,
            probe_rtt_min_at: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            probe_rtt_cwnd: 0.0,
            saved: None,
            lost_too_high: false,
            recovering: false,
            initial_cwnd: initial_cwnd as f64,
            max_burst: (MAX_BURST_BYTES / payload.max(1) as f64).max(2.0),
            offload: if offload { 3.0 } else { 1.0 },
        }
    }

    pub(super) fn max_bw(&self) -> f64 {
        self.bw_filter[0].max(self.bw_filter[1])
    }

    /// `BBROnInit` and `BBRInitPacingRate` (sections 5.2.1 and 5.6.2), once the round trip of the SYN is known.
    pub(crate) fn opened(&mut self, window: &Window, now: Instant, rtt: Option<Duration>) {
        let least = rtt.unwrap_or(Duration::MAX);
        (self.min_rtt, self.min_rtt_at) = (least, now);
        (self.probe_rtt_min, self.probe_rtt_min_at) = (least, now);
        self.extra_acked_since = now;
        // Without a round trip, the initial window is not paced.
        self.pacing_rate = rtt.map_or(0.0, |rtt| STARTUP_PACING_GAIN * window.cwnd / rtt.as_secs_f64().max(1e-6));
    }

    /// `BBRHandleRestartFromIdle` (section 5.4.1).
    pub(crate) fn sending(&mut self, window: &mut Window, now: Instant, app_limited: bool, random: &mut Random) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra_acked_since = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window, now, random);
        }
    }

    /// `BBRHandleLostPacket` (section 5.3.3.6.2).
    pub(crate) fn segment_lost(&mut self, lost: &Lost, cwnd: f64) {
        if !self.loss_in_round {
            self.loss_round_delivered = lost.total_delivered;
        }
        self.loss_in_round = true;
        self.save(cwnd);
        if !self.is_probe_sample || !is_inflight_too_high(lost.lost, lost.tx_in_flight) {
            return;
        }
        let target = self.target_inflight(cwnd);
        let at_loss = inflight_at_loss(lost);
        self.handle_inflight_too_high(at_loss, target, lost.app_limited);
    }

    /// `BBRHandleInflightTooHigh`.
    fn handle_inflight_too_high(&mut self, inflight: f64, target: f64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.is_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = inflight.max(BETA * target);
        }
        self.lost_too_high |= self.state == State::Up;
    }

    /// Saves the state once per recovery (`BBRSaveStateUponLoss`).
    fn save(&mut self, cwnd: f64) {
        self.saved.get_or_insert(Saved {
            cwnd,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
            state: None,
        });
    }

    /// `BBROnEnterRTO` and `BBROnEnterFastRecovery` (section 5.6.4.4).
    pub(crate) fn recovery_begins(&mut self, cwnd: f64) {
        self.save(cwnd);
    }

    /// `BBRHandleSpuriousLossDetection` (section 5.5.11).
    pub(crate) fn undone(&mut self, window: &mut Window) {
        let Some(saved) = self.saved.take() else { return };
        self.loss_in_round = false;
        self.recovering = false;
        window.cwnd = window.cwnd.max(saved.cwnd);
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(saved.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(saved.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(saved.inflight_longterm);
        if self.state == State::ProbeRtt {
            return;
        }
        match saved.state {
            Some(State::Startup) => {
                self.full_bw_reached = false;
                self.enter(State::Startup);
            }
            Some(State::Up) => self.start_refill(),
            _ => {}
        }
    }

    /// Updates the model and the controls for an acknowledgement (`BBRUpdateOnACK`, section 5.2.3). Returns whether the
    /// segments in flight count as limited by the application.
    pub(crate) fn sampled(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        self.total_delivered = sample.total_delivered;
        if !sample.recovering
            && let Some(saved) = self.saved.take()
            && self.recovering
        {
            // `BBRRestoreCwnd` at the end of a recovery (section 5.6.4.4).
            window.cwnd = window.cwnd.max(saved.cwnd);
        }
        self.recovering = sample.recovering;
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample, window.cwnd);
        self.update_extra_acked(sample, window.cwnd);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample, random);
        self.update_probe_bw_cycle(window, sample, random);
        self.update_min_rtt(sample);
        let limits = self.check_probe_rtt(window, sample, random);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (sample.rate.unwrap_or(0.0), sample.delivered as f64);
        }
        self.bw = self.max_bw().min(self.bw_shortterm);
        self.set_pacing_rate(self.state.gains().0);
        self.set_cwnd(window, sample);
        limits
    }

    fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate.unwrap_or(0.0));
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = sample.total_delivered;
            self.loss_round_start = true;
        }
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.total_delivered;
    }

    fn update_congestion_signals(&mut self, sample: &RateSample, cwnd: f64) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe += 1;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.max_bw() || !sample.app_limited)
        {
            self.bw_filter[1] = self.bw_filter[1].max(rate);
        }
        if self.loss_round_start {
            let probes = matches!(self.state, State::Startup | State::Refill | State::Up);
            if !probes && self.loss_in_round {
                let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { self.max_bw() };
                let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { cwnd };
                self.bw_shortterm = self.bw_latest.max(BETA * bw);
                self.inflight_shortterm = self.inflight_latest.max(BETA * inflight);
            }
            self.loss_in_round = false;
        }
    }

    /// `BBRUpdateACKAggregation` (section 5.5.9).
    fn update_extra_acked(&mut self, sample: &RateSample, cwnd: f64) {
        let mut expected = self.bw * sample.now.since(self.extra_acked_since).as_secs_f64();
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_since, expected) = (0.0, sample.now, 0.0);
        }
        self.extra_acked_delivered += sample.newly_delivered as f64;
        let extra = (self.extra_acked_delivered - expected).min(cwnd);
        self.extra_acked.set_window(if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 });
        self.extra_acked.add(self.round_count, extra);
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        let rate = sample.rate.unwrap_or(0.0);
        if rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        if self.full_bw_count >= FULL_BW_ROUNDS {
            (self.full_bw_now, self.full_bw_reached) = (true, true);
        }
    }

    /// `BBRCheckStartupDone` (section 5.3.1.3): at the end of a round of a recovery with more than 2 % lost in at least 6
    /// separate ranges.
    fn check_startup_done(&mut self, sample: &RateSample) {
        if self.state == State::Startup && !self.full_bw_reached {
            self.startup_lost_ranges += sample.lost_ranges;
            if self.loss_round_start {
                let ranges = std::mem::take(&mut self.startup_lost_ranges);
                if sample.recovering
                    && ranges >= STARTUP_FULL_LOSS_COUNT
                    && is_inflight_too_high(sample.lost, sample.tx_in_flight)
                {
                    self.note_undo_state(State::Startup);
                    (self.full_bw_now, self.full_bw_reached) = (true, true);
                    self.inflight_longterm = self.bdp(1.0, self.max_bw()).max(self.inflight_latest);
                }
            }
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.enter(State::Drain);
            self.drain_start_round = self.round_count;
        }
    }

    fn note_undo_state(&mut self, state: State) {
        if let Some(saved) = &mut self.saved {
            saved.state = Some(state);
        }
    }

    fn check_drain_done(&mut self, sample: &RateSample, random: &mut Random) {
        if self.state == State::Drain
            && (sample.in_flight as f64 <= self.inflight(1.0, self.bw)
                || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down(sample.now, random);
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
    }

    fn start_down(&mut self, now: Instant, random: &mut Random) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
        self.probe_per_inc = f64::INFINITY;
        // Section 5.3.3.5.3: the bound of 62 or 63 rounds, and 2 to 3 s.
        self.rounds_since_probe = random.below(2);
        self.probe_wait = PROBE_WAIT + Duration::from_secs_f64(PROBE_WAIT_RANDOM_S * random.uniform());
        self.cycle_at = now;
        self.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.enter(State::Down);
    }

    fn start_refill(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
        (self.probe_rounds, self.probe_acked) = (0, 0.0);
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::Refill);
    }

    fn start_up(&mut self, sample: &RateSample, cwnd: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = sample.rate.unwrap_or(0.0);
        self.enter(State::Up);
        self.raise_inflight_slope(cwnd);
    }

    /// `BBRUpdateProbeBWCyclePhase` (section 5.3.3.6).
    fn update_probe_bw_cycle(&mut self, window: &Window, sample: &RateSample, random: &mut Random) {
        if !self.full_bw_reached {
            return;
        }
        if std::mem::take(&mut self.lost_too_high) && self.state == State::Up {
            self.note_undo_state(State::Up);
            self.start_down(sample.now, random);
        }
        if self.adapt_longterm_model(window, sample) {
            return;
        }
        match self.state {
            State::Down => {
                if self.is_time_to_probe(window, sample.now) {
                    self.start_refill();
                } else if self.is_time_to_cruise(sample) {
                    self.enter(State::Cruise);
                }
            }
            State::Cruise => {
                if self.is_time_to_probe(window, sample.now) {
                    self.start_refill();
                }
            }
            State::Refill => {
                if self.round_start {
                    self.is_probe_sample = true;
                    self.start_up(sample, window.cwnd);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(window, sample) {
                    self.start_down(sample.now, random);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// `BBRAdaptLongTermModel`. Returns whether the state changed.
    fn adapt_longterm_model(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.ack_phase == AckPhase::Starting && self.round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.round_start {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.app_limited {
                self.bw_filter = [self.bw_filter[1], 0.0];
            }
            if self.state.is_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if !is_inflight_too_high(sample.lost, sample.tx_in_flight) && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight as f64);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(window, sample);
            }
        }
        false
    }

    fn raise_inflight_slope(&mut self, cwnd: f64) {
        let growth = f64::from(1u32 << self.probe_rounds.min(30));
        self.probe_rounds = (self.probe_rounds + 1).min(30);
        self.probe_per_inc = (cwnd / growth).max(1.0);
    }

    fn probe_inflight_longterm_upward(&mut self, window: &Window, sample: &RateSample) {
        if !sample.window_limited || window.cwnd < self.inflight_longterm {
            return;
        }
        self.probe_acked += sample.newly_delivered as f64;
        if self.probe_acked >= self.probe_per_inc {
            let increments = (self.probe_acked / self.probe_per_inc).floor();
            self.probe_acked -= increments * self.probe_per_inc;
            self.inflight_longterm += increments;
        }
        if self.round_start {
            self.raise_inflight_slope(window.cwnd);
        }
    }

    fn is_time_to_probe(&self, window: &Window, now: Instant) -> bool {
        let rounds = self.target_inflight(window.cwnd).min(RENO_ROUNDS);
        now > self.cycle_at + self.probe_wait || self.rounds_since_probe as f64 >= rounds
    }

    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        let in_flight = sample.in_flight as f64;
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(1.0, self.max_bw())
    }

    fn is_time_to_go_down(&mut self, window: &Window, sample: &RateSample) -> bool {
        let precautionary = self.prev_probe_too_high && sample.in_flight as f64 >= self.inflight_longterm;
        if precautionary {
            self.prev_probe_precautionary = true;
        } else if sample.window_limited && window.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = sample.rate.unwrap_or(0.0);
            return false;
        }
        if precautionary || self.full_bw_now {
            self.prev_probe_too_high = false;
            return true;
        }
        false
    }

    /// `BBRUpdateMinRTT` (section 5.3.4.3).
    fn update_min_rtt(&mut self, sample: &RateSample) {
        self.probe_rtt_expired = sample.now > self.probe_rtt_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt
            && (rtt < self.probe_rtt_min || self.probe_rtt_expired)
        {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (rtt, sample.now);
        }
        let expired = sample.now > self.min_rtt_at + MIN_RTT_FILTER_LEN;
        if self.probe_rtt_min < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }

    /// `BBRCheckProbeRTT`.
    fn check_probe_rtt(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.enter(State::ProbeRtt);
            self.probe_rtt_cwnd = if self.recovering { window.cwnd.max(self.probe_rtt_cwnd) } else { window.cwnd };
            self.probe_rtt_done_at = None;
            self.ack_phase = AckPhase::Stopping;
            self.start_round();
        }
        let probes = self.state == State::ProbeRtt;
        if probes {
            if self.probe_rtt_done_at.is_none() {
                if sample.in_flight as f64 <= self.probe_rtt_limit() {
                    self.probe_rtt_done_at = Some(sample.now + PROBE_RTT_DURATION);
                    self.probe_rtt_round_done = false;
                    self.start_round();
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(window, sample.now, random);
                }
            }
        }
        // A sample exists only if something was delivered.
        self.idle_restart = false;
        probes
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Instant, random: &mut Random) {
        if self.probe_rtt_done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.probe_rtt_min_at = now;
        window.cwnd = window.cwnd.max(self.probe_rtt_cwnd);
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
        if self.full_bw_reached {
            self.start_down(now, random);
            self.enter(State::Cruise);
        } else {
            self.enter(State::Startup);
        }
    }

    fn probe_rtt_limit(&self) -> f64 {
        self.bdp(State::ProbeRtt.gains().1, self.bw).max(MIN_PIPE_CWND)
    }

    /// `BBRBDPMultiple`.
    fn bdp(&self, gain: f64, bw: f64) -> f64 {
        if self.min_rtt == Duration::MAX {
            return self.initial_cwnd;
        }
        gain * bw * self.min_rtt.as_secs_f64()
    }

    fn send_quantum(&self) -> f64 {
        (self.pacing_rate * BURST_S).min(self.max_burst).max(2.0)
    }

    /// `BBRQuantizationBudget`.
    fn with_budget(&self, inflight: f64) -> f64 {
        let enough = inflight.max(self.offload * self.send_quantum()).max(MIN_PIPE_CWND);
        if self.state == State::Up { enough + 2.0 } else { enough }
    }

    /// `BBRInflight`.
    fn inflight(&self, gain: f64, bw: f64) -> f64 {
        self.with_budget(self.bdp(gain, bw))
    }

    fn inflight_with_headroom(&self) -> f64 {
        inflight_with_headroom(self.inflight_longterm)
    }

    fn target_inflight(&self, cwnd: f64) -> f64 {
        self.bdp(1.0, self.bw).min(cwnd)
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `BBRSetCwnd` (section 5.6.4.6).
    fn set_cwnd(&mut self, window: &mut Window, sample: &RateSample) {
        let acked = sample.newly_delivered as f64;
        let max_inflight = self.with_budget(self.bdp(self.state.gains().1, self.bw) + self.extra_acked.get());
        let mut cwnd = window.cwnd;
        if self.full_bw_reached {
            cwnd = (cwnd + acked).min(max_inflight);
        } else if cwnd < max_inflight || (sample.total_delivered as f64) < self.initial_cwnd {
            cwnd += acked;
        }
        cwnd = cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_limit());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        window.cwnd = cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE_CWND));
    }
}

/// `IsInflightTooHigh`: more than 2 % of the flight was lost.
fn is_inflight_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost as f64 > LOSS_THRESH * tx_in_flight as f64
}

/// `BBRInflightAtLoss` (section 5.3.3.6.2): the prefix of the flight in which 2 % were lost.
fn inflight_at_loss(lost: &Lost) -> f64 {
    let before = lost.tx_in_flight as f64 - 1.0;
    let lost_before = lost.lost as f64 - 1.0;
    before + (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)
}

fn inflight_with_headroom(longterm: f64) -> f64 {
    if longterm.is_infinite() { longterm } else { (longterm - (HEADROOM * longterm).max(1.0)).max(MIN_PIPE_CWND) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} instead of {expected}");
    }

    /// `BBRInflightAtLoss`, computed by hand for segments of 1000 B: with 100 in flight of which 4 were lost, the first
    /// 97.96 have exactly 2 % of losses.
    #[test]
    fn the_flight_at_a_loss_is_the_prefix_with_two_percent_lost() {
        let at =
            |tx_in_flight, lost| inflight_at_loss(&Lost { tx_in_flight, lost, app_limited: false, total_delivered: 0 });
        close(at(100, 4), 97.959_183_673);
        let prefix = at(100, 4) - 99.0;
        close((3.0 + prefix) / (99.0 + prefix), 0.02);
    }

    /// `BBRAdaptLowerBoundsFromCongestion`: 0.7 times the last bound, or the latest delivery if it is higher.
    #[test]
    fn short_term_bounds() {
        for (bw, inflight, latest, expected) in [
            (f64::INFINITY, f64::INFINITY, (90.0, 800.0), (90.0, 1400.0)),
            (100.0, 2000.0, (50.0, 800.0), (70.0, 1400.0)),
            (70.0, 1400.0, (60.0, 1300.0), (60.0, 1300.0)),
        ] {
            let mut bbr = V3::new(1460, 10, false);
            (bbr.state, bbr.bw_filter[1], bbr.loss_in_round) = (State::Cruise, 100.0, true);
            (bbr.bw_shortterm, bbr.inflight_shortterm) = (bw, inflight);
            (bbr.bw_latest, bbr.inflight_latest, bbr.loss_round_start) = (latest.0, latest.1, true);
            bbr.update_congestion_signals(&sample(0.0), 2000.0);
            close(bbr.bw_shortterm, expected.0);
            close(bbr.inflight_shortterm, expected.1);
            assert!(!bbr.loss_in_round);
        }
    }

    /// Sections 5.6.2, 5.6.3 and 5.6.4.2 in segments of 1460 B: Mb/s, min_rtt in ms, state, pacing rate in B/s, burst in
    /// B, and the target of the window in B with a budget of one and of three bursts.
    #[test]
    fn pacing_burst_and_window() {
        let smss = 1460.0;
        for (mbps, rtt, state, pacing, burst, one, three) in [
            (1.0, 50, State::Startup, 342_787.5, 2920.0, 12_500.0, 12_500.0),
            (1.0, 50, State::Up, 154_687.5, 2920.0, 16_982.5, 16_982.5),
            (1.0, 50, State::ProbeRtt, 123_750.0, 2920.0, 5840.0, 8760.0),
            (10.0, 50, State::Startup, 3_427_875.0, 3427.875, 125_000.0, 125_000.0),
            (10.0, 50, State::Down, 1_113_750.0, 2920.0, 125_000.0, 125_000.0),
            (10.0, 50, State::Up, 1_546_875.0, 2920.0, 143_545.0, 143_545.0),
            (0.064, 100, State::Startup, 21_938.4, 2920.0, 5840.0, 8760.0),
            (0.064, 100, State::Up, 9900.0, 2920.0, 8760.0, 11_680.0),
            (1000.0, 100, State::Startup, 342_787_500.0, 65_536.0, 25_000_000.0, 25_000_000.0),
            (1000.0, 100, State::Up, 154_687_500.0, 65_536.0, 28_127_920.0, 28_127_920.0),
        ] {
            for (offload, target) in [(false, one), (true, three)] {
                let mut bbr = V3::new(1460, 10, offload);
                bbr.bw = mbps * 1e6 / 8.0 / smss;
                bbr.min_rtt = Duration::from_millis(rtt);
                bbr.enter(state);
                bbr.full_bw_reached = true;
                let (pacing_gain, cwnd_gain) = state.gains();
                bbr.set_pacing_rate(pacing_gain);
                close(bbr.pacing_rate * smss, pacing);
                close(bbr.send_quantum() * smss, burst);
                close(bbr.inflight(cwnd_gain, bbr.bw) * smss, target);
            }
        }
    }

    /// `BBRInflightWithHeadroom`: 15 %, at least one segment, and at least four remain.
    #[test]
    fn headroom() {
        for (longterm, expected) in [(8.0, 6.8), (5.0, 4.0), (4.0, 4.0), (20.0, 17.0), (100.0, 85.0), (6.0, 5.0)] {
            close(inflight_with_headroom(longterm), expected);
        }
        assert!(inflight_with_headroom(f64::INFINITY).is_infinite());
    }

    /// `BBRRaiseInflightLongtermSlope`: 1, 2, 4, 8 ... segments per round, for a window of 64.
    #[test]
    fn the_slope_doubles_each_round() {
        let mut bbr = V3::new(1460, 10, false);
        let slopes: Vec<f64> = (0..8)
            .map(|_| {
                bbr.raise_inflight_slope(64.0);
                bbr.probe_per_inc
            })
            .collect();
        assert_eq!(slopes, [64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0]);
    }

    /// `BBRCheckFullBWReached`: three rounds without 25 % of growth.
    #[test]
    fn three_rounds_without_growth_fill_the_pipe() {
        let mut bbr = V3::new(1460, 10, false);
        bbr.round_start = true;
        let full: Vec<bool> = [10.0, 20.0, 40.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0]
            .into_iter()
            .map(|rate| {
                bbr.check_full_bw_reached(&sample(rate));
                bbr.full_bw_now
            })
            .collect();
        assert_eq!(full, [false, false, false, false, false, false, false, true, true]);
    }

    /// `BBRUpdateACKAggregation` at 1000 segments per second and a window of 30: bursts of 8 every 10 ms, then 20 at 60 ms
    /// and again 1 ms later.
    #[test]
    fn extra_acked() {
        let mut bbr = V3::new(1460, 10, false);
        bbr.bw = 1000.0;
        let mut extra = vec![];
        for (ms, acked) in [(10, 8), (20, 8), (30, 8), (60, 20), (61, 20)] {
            let sample = RateSample { now: Instant::from_millis(ms), newly_delivered: acked, ..sample(0.0) };
            // The filter holds only this sample.
            bbr.extra_acked = WindowedMax::new(1);
            bbr.update_extra_acked(&sample, 30.0);
            extra.push(bbr.extra_acked.get());
        }
        assert_eq!(extra, [8.0, 8.0, 8.0, 20.0, 30.0]);
    }

    pub(super) fn sample(rate: f64) -> RateSample {
        RateSample {
            now: Instant::ZERO,
            rate: Some(rate).filter(|&rate| rate > 0.0),
            delivered: 0,
            prior_delivered: 0,
            rtt: None,
            tx_in_flight: 0,
            lost: 0,
            app_limited: false,
            newly_delivered: 0,
            newly_lost: 0,
            lost_ranges: 0,
            total_delivered: 0,
            prior_in_flight: 0,
            in_flight: 0,
            window_limited: false,
            recovering: false,
            departs: Instant::ZERO,
        }
    }
}
