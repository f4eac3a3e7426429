//! X, the allowed sending rate (RFC 5348 sections 4.3 and 4.4; ns-2 tcp/tfrc.cc). Rates in bytes/s, times in s.
//!
//! ```text
//! p > 0:  X = max(min(X_Bps, recv_limit), s / t_mbi)
//! p = 0:  X = max(min(2 X, recv_limit), initial_rate)     once per R
//! ```

use super::limit::ReceiveRates;
use super::options::{Idle, Increase, ReceiveLimit, SlowStart, TfrcOptions};
use crate::faster_restart::FasterRestart;
use headway_units::Instant;

/// Maximum back-off interval, in s (RFC 5348 section 4.3).
const T_MBI: f64 = 64.0;
/// Lower bound without a minimum rate, so that intervals stay finite.
const MIN_RATE: f64 = 1e-6;

/// Difference within which a limit equals the rate, because reported rates are whole bits per second.
const ROUNDING: f64 = 1.0;

/// State of the sender at a change of the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) s: f64,
    /// R; `None` before the first report.
    pub(crate) r: Option<f64>,
    /// `W_init`, in bytes.
    pub(crate) w_init: f64,
    /// Whether nothing was sent since the nofeedback timer was set, or for two round trips, depending on the rule.
    pub(crate) idle: bool,
    /// Whether the application recently was the limit (ns-2 `datalimited_`, `lastlimited_`).
    pub(crate) recently_limited: bool,
    /// Counter of the sender's round trips.
    pub(crate) round: u32,
}

impl Moment {
    fn initial_rate(&self) -> Option<f64> {
        Some(self.w_init / self.r?)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedReport {
    pub(crate) p: f64,
    /// Result of the throughput equation; unused if p is 0.
    pub(crate) x_bps: f64,
    pub(crate) x_recv: f64,
    pub(crate) new_loss: bool,
    /// Whether the sender was data-limited throughout the reported interval.
    pub(crate) limited: bool,
    /// Whether the receiver dropped packets or is slow, so that `x_recv` is the limit immediately (RFC 4342 section
    /// 5.2).
    pub(crate) overloaded: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    slow_start: SlowStart,
    increase: Increase,
    receive_limit: ReceiveLimit,
    idle: Idle,
    minimum_rate: bool,
    restart: Option<FasterRestart>,
    /// Whether the rate before a round-trip measurement is `start_rate`, not one packet per second.
    starts_by_option: bool,
    x: f64,
    x_bps: f64,
    p: f64,
    set: ReceiveRates,
    /// Time at which the rate was last doubled (`tld`) or changed (ns-2 `last_change_`).
    changed: Option<Instant>,
    /// Rate while it rises to `x` in slow start, and its step per packet (ns-2 `oldrate_`, `delta_`).
    rising: f64,
    step: f64,
    seen_loss: bool,
    fed_back: bool,
    expired: bool,
    /// X after the last report.
    reported: f64,
    /// X at which slow start ends without a loss; may be infinite.
    threshold: f64,
    remembers_rate: bool,
}

impl Allowed {
    pub(crate) fn new(options: &TfrcOptions, s: f64) -> Self {
        let x = options.expert.start_rate.map_or(s, |rate| rate.bits_per_second() as f64 / 8.0);
        Self {
            slow_start: options.expert.slow_start,
            increase: options.increase,
            receive_limit: options.receive_limit,
            idle: options.idle,
            minimum_rate: options.expert.minimum_rate,
            restart: options.faster_restart.then(FasterRestart::new),
            starts_by_option: options.expert.start_rate.is_some(),
            x,
            x_bps: f64::INFINITY,
            p: 0.0,
            set: ReceiveRates::new(),
            changed: None,
            rising: x,
            step: 0.0,
            seen_loss: false,
            fed_back: false,
            expired: false,
            reported: x,
            threshold: f64::INFINITY,
            remembers_rate: options.remembers_rate,
        }
    }

    pub(crate) fn x(&self) -> f64 {
        self.x
    }

    pub(crate) fn p(&self) -> f64 {
        self.p
    }

    /// Sets the rate for the first packet, whose size is now known: `W_init` per round trip, if that has been measured,
    /// else one packet per second (RFC 5348 section 4.2).
    pub(crate) fn begin(&mut self, moment: &Moment) {
        if let Some(initial) = moment.initial_rate() {
            self.rising = self.x;
            self.x = initial;
            self.changed = Some(moment.now);
        } else if !self.starts_by_option {
            self.x = moment.s;
            self.rising = self.x;
        }
    }

    /// Restarts after a silence: the next report counts as the first. If losses had ended slow start, slow start ends
    /// at the rate from before the silence.
    pub(crate) fn restart(&mut self) {
        if self.remembers_rate {
            self.threshold = if self.p > 0.0 { self.reported } else { self.threshold.max(self.reported) };
        }
        (self.fed_back, self.seen_loss, self.expired) = (false, false, false);
    }

    /// Applies the first round-trip measurement after a restart, by a packet of the first window. The rate is 1 to 2
    /// initial rates, because expiries of the timer meanwhile were based on an outdated round-trip time.
    pub(crate) fn on_first_round_trip(&mut self, moment: &Moment) {
        self.x = moment.initial_rate().map_or(self.x, |initial| self.x.clamp(initial, 2.0 * initial));
    }

    /// Returns the pacing rate while a spread step of slow start rises.
    pub(crate) fn rising(&self, round: u32) -> Option<f64> {
        let spread = self.slow_start == SlowStart::Spread && round > 2 && !self.seen_loss;
        (spread && self.rising + 1e-7 < self.x).then_some(self.rising)
    }

    /// Advances a spread step by one packet.
    pub(crate) fn on_send(&mut self, round: u32) {
        if self.rising(round).is_some() {
            self.rising += self.step;
        }
    }

    pub(crate) fn on_report(&mut self, moment: &Moment, report: &ReceivedReport) {
        self.update(moment, report);
        self.reported = self.x;
    }

    fn update(&mut self, moment: &Moment, report: &ReceivedReport) {
        let Some(r) = moment.r else { return };
        let initial = moment.w_init / r;
        if let Some(restart) = &mut self.restart {
            restart.on_report(moment.now, report.x_recv, report.new_loss || report.p > self.p);
        }
        if !self.fed_back {
            self.fed_back = true;
            self.set.begin(moment.now);
            self.p = report.p;
            self.x_bps = report.x_bps;
            self.rising = self.x;
            // ns-2 keeps a higher rate.
            self.x = if matches!(self.slow_start, SlowStart::Stepwise | SlowStart::Spread) {
                self.x.max(initial)
            } else {
                initial
            };
            self.step = (self.x - self.rising) / (self.x * r / moment.s);
            self.changed = Some(moment.now);
            return;
        }
        let limit = self.limit(moment, report, r);
        self.p = report.p;
        self.x_bps = report.x_bps;
        let expired = std::mem::take(&mut self.expired);
        if report.p > 0.0 {
            self.avoid(moment, limit, r);
        } else if !(expired && self.idle == Idle::HalvedAndLifted) {
            let limit = if self.receive_limit == ReceiveLimit::Conservative { 2.0 * report.x_recv } else { limit };
            self.grow(moment, limit, r);
        }
    }

    /// Returns `recv_limit`.
    fn limit(&mut self, moment: &Moment, report: &ReceivedReport, r: f64) -> f64 {
        let now = moment.now;
        if report.overloaded {
            self.set.replace(now, report.x_recv);
        }
        let limit = match self.receive_limit {
            // Only the first report may contain zero (RFC 5348 section 4.3). A later zero, which would stop the flow,
            // is treated like a missing report.
            ReceiveLimit::RecentMaximum if report.x_recv <= 0.0 => {
                self.set.halve();
                2.0 * self.set.max()
            }
            ReceiveLimit::RecentMaximum if report.limited => {
                if report.new_loss || report.p > self.p {
                    self.set.halve();
                    self.set.maximize(now, 0.85 * report.x_recv);
                    self.set.max()
                } else {
                    self.set.maximize(now, report.x_recv);
                    2.0 * self.set.max()
                }
            }
            ReceiveLimit::RecentMaximum => {
                self.set.update(now, report.x_recv, r);
                2.0 * self.set.max()
            }
            ReceiveLimit::Last => {
                self.set.replace(now, report.x_recv);
                2.0 * report.x_recv
            }
            ReceiveLimit::Conservative => {
                self.set.replace(now, report.x_recv);
                if report.new_loss { report.x_recv } else { 1.5 * report.x_recv }
            }
        };
        // A report after an expired timer covers a silence to which the timer has responded (RFC 4342 section 8.3
        // measures since the last report, RFC 5348 section 6.2 over a round trip), so it does not lower the rate again.
        let answered = self.expired && self.receive_limit == ReceiveLimit::RecentMaximum && !report.overloaded;
        let limit = self.lift(moment, if answered { limit.max(self.x) } else { limit });
        match &self.restart {
            Some(restart) => restart.limit(now, limit, self.set.max(), report.limited),
            None => limit,
        }
    }

    /// Raises the limit to the initial rate if nothing was sent for two round trips (Linux).
    fn lift(&self, moment: &Moment, limit: f64) -> f64 {
        match moment.initial_rate() {
            Some(initial) if self.idle == Idle::HalvedAndLifted && moment.idle => limit.max(initial),
            _ => limit,
        }
    }

    fn minimum(&self, s: f64) -> f64 {
        if self.minimum_rate { s / T_MBI } else { MIN_RATE }
    }

    /// Sets the rate in congestion avoidance.
    fn avoid(&mut self, moment: &Moment, limit: f64, r: f64) {
        let one = moment.s / r;
        let first = !std::mem::replace(&mut self.seen_loss, true);
        self.x = match self.increase {
            Increase::Jump => self.x_bps.min(limit),
            Increase::PacketPerRtt if first => self.x_bps,
            Increase::PacketPerRtt if self.x_bps > self.x => {
                let rounds = self.since_change(moment.now) / r;
                let least = if moment.recently_limited { moment.w_init / r } else { one };
                (self.x + one * rounds.min(2.0)).min(limit.max(least)).min(self.x_bps)
            }
            Increase::PacketPerRtt => self.x_bps.min(limit.max(one)),
        }
        .max(self.minimum(moment.s));
        if !first {
            self.changed = Some(moment.now);
        }
    }

    fn since_change(&self, now: Instant) -> f64 {
        self.changed.map_or(f64::INFINITY, |changed| now.since(changed).as_secs_f64())
    }

    /// Sets the rate in slow start.
    fn grow(&mut self, moment: &Moment, limit: f64, r: f64) {
        let initial = moment.w_init / r;
        let one = moment.s / r;
        let since = self.since_change(moment.now);
        match self.slow_start {
            SlowStart::Doubling | SlowStart::DoublingFromOne => {
                // A clock of whole nanoseconds shortens a round trip by up to 1 ns.
                if since < r - 1e-9 {
                    return;
                }
                let least = if self.slow_start == SlowStart::Doubling { initial } else { one };
                let factor = self.restart.as_ref().map_or(2.0, |restart| restart.factor(moment.now, self.x));
                let higher = (factor * self.x).min(self.threshold.max(self.x + one));
                self.x = higher.min(limit).max(least);
            }
            SlowStart::Stepwise | SlowStart::Spread => {
                let before = self.x;
                let held = moment.round <= 2 || moment.recently_limited && limit < initial;
                if limit > 0.0 && held || moment.round <= 2 {
                    self.x = self.x.max(initial);
                } else if limit <= 0.0 {
                    self.x = one;
                } else if self.x > limit + ROUNDING {
                    self.x = limit / 2.0;
                } else if self.x < limit - ROUNDING && since > r - 1e-9 {
                    self.x = (2.0 * self.x).min(limit).max(one);
                } else {
                    return;
                }
                let rises = self.x > before;
                self.rising = if rises { before } else { self.x };
                self.step = if rises { (self.x - before) / (self.x * r / moment.s) } else { 0.0 };
            }
        }
        self.changed = Some(moment.now);
    }

    /// Handles an expiry of the nofeedback timer.
    pub(crate) fn on_timeout(&mut self, moment: &Moment) {
        let least = self.minimum(moment.s);
        let halved = (self.x / 2.0).max(least);
        let initial = moment.initial_rate();
        self.expired = true;
        if self.idle == Idle::HalvedToInitial {
            let initial = initial.unwrap_or(f64::INFINITY);
            if !moment.idle || self.x > 2.0 * initial {
                self.x = halved;
            } else {
                self.x = self.x.min(initial);
            }
            return;
        }
        let (Some(initial), Some(r)) = (initial, moment.r) else {
            // RFC 5348 section 4.4 does not specify an idle sender without a round-trip time; it keeps its rate.
            if !moment.idle {
                self.x = halved;
            }
            return;
        };
        let x_recv = self.set.max();
        let recover_rate = if self.restart.is_some() { 2.0 * initial } else { initial };
        let mut at_least = least;
        if moment.idle {
            match self.idle {
                Idle::Rfc5348 if self.p > 0.0 && x_recv < recover_rate => return,
                Idle::Rfc5348 if self.p <= 0.0 && self.x < 2.0 * recover_rate => return,
                Idle::Rfc3448 if x_recv < 4.0 * moment.s / r => return,
                Idle::Rfc4342 => at_least = least.max(recover_rate.min(self.x)),
                Idle::Rfc5348 | Idle::Rfc3448 | Idle::HalvedAndLifted | Idle::HalvedToInitial => {}
            }
        }
        if self.p <= 0.0 || !self.fed_back {
            self.x = halved.max(at_least);
            return;
        }
        // Update_Limits().
        let limit = if self.x_bps > 2.0 * x_recv { x_recv } else { self.x_bps / 2.0 };
        // "Cut the allowed sending rate in half": half of the equation's rate may exceed the rate after the first
        // report or an earlier expiry. Linux raises an idle sender's rate intentionally.
        let limit = if self.idle == Idle::HalvedAndLifted { limit } else { limit.min(self.x) }.max(at_least);
        self.set.replace(moment.now, limit / 2.0);
        self.x = self.x_bps.min(self.lift(moment, limit)).max(least);
    }
}

#[cfg(test)]
mod tests;
