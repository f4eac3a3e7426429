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
//! - A lost segment that the application limited does not lower `inflight_longterm`, but ends UP (the pseudocode; test 6
//!   says "regardless").
//! - High loss in Startup sets both `full_bw_now` and `full_bw_reached` (test 2; the text names only the second).
//! - The state to undo is saved once per recovery, not in each of its rounds, which would overwrite what it restores.
//! - `inflight_longterm` falls to the maximum of the flight at the loss and 0.7 times the target (the pseudocode), which is
//!   less than a cut by Beta (test 21).

#[cfg(test)]
mod appendix_a;
mod extra_acked;
mod full_pipe;
mod losses;
mod min_rtt;
mod slope;
mod state;
#[cfg(test)]
mod tests;

use crate::delivery::{Lost, RateSample};
use crate::growth::Window;
use crate::options::OFFLOADED;
use extra_acked::ExtraAcked;
use full_pipe::FullPipe;
use headway_units::{Duration, Instant, Random};
use losses::{inflight_at_loss, is_inflight_too_high};
use min_rtt::MinRtt;
use slope::Slope;
use state::State;

const DRAIN_ROUNDS: u64 = 3;
/// `PacingMarginPercent` 1.
const MARGIN: f64 = 0.99;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const MIN_PIPE_CWND: f64 = 4.0;
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
const STARTUP_FULL_LOSS_COUNT: u64 = 6;
/// Longest time between probes, in rounds of a flow with Reno's growth (section 5.3.3.5.2).
const RENO_ROUNDS: f64 = 63.0;
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_WAIT_RANDOM_S: f64 = 1.0;
/// Data of one burst: 1 ms at the pacing rate, from 2 segments to 64 KiB (section 5.6.3).
const BURST_S: f64 = 1e-3;

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
    state: State,
    pub(super) pacing_rate: f64,
    round_count: u64,
    round_start: bool,
    /// Whether the window limited the flight in the previous and in this round (`C.is_cwnd_limited`).
    cwnd_limited: [bool; 2],
    next_round_delivered: u64,
    total_delivered: u64,
    idle_restart: bool,

    /// Filter of `max_bw` (`MaxBwFilter`): the previous and the current cycle.
    bw_filter: [f64; 2],
    bw_shortterm: f64,
    bw: f64,
    min_rtt: MinRtt,
    inflight_longterm: f64,
    inflight_shortterm: f64,

    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    loss_in_round: bool,

    extra_acked: ExtraAcked,

    full_pipe: FullPipe,
    pub(super) full_bw_reached: bool,
    startup_lost_ranges: u64,
    drain_start_round: u64,

    cycle_at: Instant,
    probe_wait: Duration,
    rounds_since_probe: u64,
    ack_phase: AckPhase,
    slope: Slope,
    is_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

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
            cwnd_limited: [false; 2],
            next_round_delivered: 0,
            total_delivered: 0,
            idle_restart: false,
            bw_filter: [0.0; 2],
            bw_shortterm: f64::INFINITY,
            bw: 0.0,
            min_rtt: MinRtt::new(),
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            extra_acked: ExtraAcked::new(),
            full_pipe: FullPipe::new(),
            full_bw_reached: false,
            startup_lost_ranges: 0,
            drain_start_round: 0,
            cycle_at: Instant::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            ack_phase: AckPhase::Init,
            slope: Slope::new(),
            is_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            probe_rtt_cwnd: 0.0,
            saved: None,
            lost_too_high: false,
            recovering: false,
            initial_cwnd: initial_cwnd as f64,
            max_burst: (OFFLOADED.count() as f64 / payload.max(1) as f64).max(2.0),
            offload: if offload { 3.0 } else { 1.0 },
        }
    }

    fn max_bw(&self) -> f64 {
        self.bw_filter[0].max(self.bw_filter[1])
    }

    /// `BBROnInit` and `BBRInitPacingRate` (sections 5.2.1 and 5.6.2), once the round trip of the SYN is known.
    pub(crate) fn opened(&mut self, window: &Window, now: Instant, rtt: Option<Duration>) {
        self.min_rtt.start(now, rtt);
        self.extra_acked.restart(now);
        // Without a round trip, the initial window is not paced.
        self.pacing_rate = rtt.map_or(0.0, |rtt| State::Startup.gains().0 * window.cwnd / rtt.as_secs_f64().max(1e-6));
    }

    /// `BBRHandleRestartFromIdle` (section 5.4.1).
    pub(crate) fn sending(&mut self, window: &mut Window, now: Instant, app_limited: bool, random: &mut Random) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra_acked.restart(now);
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
        self.recovery_begins(cwnd);
        if !self.is_probe_sample || !is_inflight_too_high(lost.lost, lost.tx_in_flight) {
            return;
        }
        // `BBRHandleInflightTooHigh`.
        self.prev_probe_too_high = true;
        self.is_probe_sample = false;
        if !lost.app_limited {
            self.inflight_longterm = inflight_at_loss(lost).max(BETA * self.target_inflight(cwnd));
        }
        self.lost_too_high |= self.state == State::Up;
    }

    /// Saves the state once per recovery (`BBRSaveStateUponLoss`, `BBROnEnterRTO`, `BBROnEnterFastRecovery`, section
    /// 5.6.4.4).
    pub(crate) fn recovery_begins(&mut self, cwnd: f64) {
        self.saved.get_or_insert(Saved {
            cwnd,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
            state: None,
        });
    }

    /// `BBRHandleSpuriousLossDetection` (section 5.5.11).
    pub(crate) fn undone(&mut self, window: &mut Window) {
        let Some(saved) = self.saved.take() else { return };
        self.loss_in_round = false;
        self.recovering = false;
        window.cwnd = window.cwnd.max(saved.cwnd);
        self.full_pipe.restart(0.0);
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
        let rounds = (self.round_count, self.full_bw_reached);
        self.extra_acked.update(sample, self.bw, window.cwnd, rounds);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample, random);
        self.update_probe_bw_cycle(window, sample, random);
        self.min_rtt.update(sample.now, sample.rtt);
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
            self.cwnd_limited = [self.cwnd_limited[1], false];
        }
        self.cwnd_limited[1] |= sample.window_limited;
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

    fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.round_start && !sample.app_limited {
            self.full_bw_reached |= self.full_pipe.on_round(sample.rate.unwrap_or(0.0));
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
                    (self.full_pipe.now, self.full_bw_reached) = (true, true);
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
        self.slope.stop();
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
        self.slope = Slope::new();
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::Refill);
    }

    fn start_up(&mut self, sample: &RateSample, cwnd: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round();
        self.full_pipe.restart(sample.rate.unwrap_or(0.0));
        self.enter(State::Up);
        self.slope.raise(cwnd);
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

    fn probe_inflight_longterm_upward(&mut self, window: &Window, sample: &RateSample) {
        if !self.is_cwnd_limited() || window.cwnd < self.inflight_longterm {
            return;
        }
        self.inflight_longterm += self.slope.acked(sample.newly_delivered);
        if self.round_start {
            self.slope.raise(window.cwnd);
        }
    }

    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited != [false; 2]
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
        } else if self.is_cwnd_limited() && window.cwnd >= self.inflight_longterm {
            self.full_pipe.restart(sample.rate.unwrap_or(0.0));
            return false;
        }
        if precautionary || self.full_pipe.now {
            self.prev_probe_too_high = false;
            return true;
        }
        false
    }

    /// `BBRCheckProbeRTT`.
    fn check_probe_rtt(&mut self, window: &mut Window, sample: &RateSample, random: &mut Random) -> bool {
        if self.state != State::ProbeRtt && self.min_rtt.is_probe_due && !self.idle_restart {
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
        self.min_rtt.probed(now);
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
        self.min_rtt.get().map_or(self.initial_cwnd, |rtt| gain * bw * rtt.as_secs_f64())
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

fn inflight_with_headroom(longterm: f64) -> f64 {
    if longterm.is_infinite() { longterm } else { (longterm - (HEADROOM * longterm).max(1.0)).max(MIN_PIPE_CWND) }
}
