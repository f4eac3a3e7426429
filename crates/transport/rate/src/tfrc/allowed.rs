//! X, the allowed sending rate (RFC 5348 sections 4.3 and 4.4; ns-2 tcp/tfrc.cc). Rates in bytes/s, times in s.
//!
//! ```text
//! p > 0:  X = max(min(X_Bps, recv_limit), s / t_mbi)
//! p = 0:  X = max(min(2 X, recv_limit), initial_rate)     once in R
//! ```

use super::limit::ReceiveRates;
use super::options::{Idle, Increase, ReceiveLimit, SlowStart, TfrcOptions};
use crate::faster_restart::FasterRestart;
use headway_units::Instant;

/// The maximum back-off interval, in s (RFC 5348 section 4.3).
const T_MBI: f64 = 64.0;
/// Where there is no minimum rate: enough for time to go on.
const NEVER_ZERO: f64 = 1e-6;

/// Reported rates are whole bits a second: a limit so near to the rate is the rate.
const ROUNDING: f64 = 1.0;

/// What is known when the rate is to be changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) s: f64,
    /// R; unknown before the first report.
    pub(crate) r: Option<f64>,
    /// `W_init`, in bytes.
    pub(crate) w_init: f64,
    /// Nothing was sent since the nofeedback timer was set, or for two round trips, as the rule has it.
    pub(crate) idle: bool,
    /// The application was the limit a moment ago (ns-2 `datalimited_`, `lastlimited_`).
    pub(crate) recently_limited: bool,
    /// The sender's count of round trips.
    pub(crate) round: u32,
}

impl Moment {
    fn initial_rate(&self) -> Option<f64> {
        Some(self.w_init / self.r?)
    }
}

/// What a report says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    pub(crate) p: f64,
    /// The equation's answer; not used if p is 0.
    pub(crate) x_bps: f64,
    pub(crate) x_recv: f64,
    pub(crate) new_loss: bool,
    /// The sender was data-limited in all of the time that the report covers.
    pub(crate) limited: bool,
    /// The receiver lost packets of its own, or is slow: `x_recv` is the limit at once (RFC 4342 section 5.2).
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
    /// The rate before anything is known of the round trip is the option's, not a packet a second.
    starts_by_option: bool,
    x: f64,
    x_bps: f64,
    p: f64,
    set: ReceiveRates,
    /// When the rate was last doubled (`tld`), or changed (ns-2 `last_change_`).
    changed: Option<Instant>,
    /// The rate on its way to `x` in slow start, and what a packet adds (ns-2 `oldrate_`, `delta_`).
    rising: f64,
    step: f64,
    seen_loss: bool,
    fed_back: bool,
    expired: bool,
    /// X after the last report.
    reported: f64,
    /// X at which slow start ends without a loss; infinity: nowhere.
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

    /// The first packet is about to go, and with it its size is known: `W_init` in a round trip, if something has measured
    /// that, else a packet in a second (RFC 5348 section 4.2).
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

    /// The next report is the first one again: a silence separates what was known from now. Where losses had ended slow start, it ends at
    /// the rate from before the silence.
    pub(crate) fn restart(&mut self) {
        if self.remembers_rate {
            self.threshold = if self.p > 0.0 { self.reported } else { self.threshold.max(self.reported) };
        }
        (self.fed_back, self.seen_loss, self.expired) = (false, false, false);
    }

    /// A round trip is measured for the first time after a restart, by a packet of the first window. The second window of slow start
    /// is two initial ones. Expiries meanwhile followed from a round trip that no longer holds, so that it is not less than one.
    pub(crate) fn on_first_round_trip(&mut self, moment: &Moment) {
        self.x = moment.initial_rate().map_or(self.x, |initial| self.x.clamp(initial, 2.0 * initial));
    }

    /// The rate that paces, where slow start is spread over packets and still rising.
    pub(crate) fn rising(&self, round: u32) -> Option<f64> {
        let spread = self.slow_start == SlowStart::Spread && round > 2 && !self.seen_loss;
        (spread && self.rising + 1e-7 < self.x).then_some(self.rising)
    }

    /// A packet goes.
    pub(crate) fn on_send(&mut self, round: u32) {
        if self.rising(round).is_some() {
            self.rising += self.step;
        }
    }

    pub(crate) fn on_report(&mut self, moment: &Moment, news: &News) {
        self.update(moment, news);
        self.reported = self.x;
    }

    fn update(&mut self, moment: &Moment, news: &News) {
        let Some(r) = moment.r else { return };
        let initial = moment.w_init / r;
        if let Some(restart) = &mut self.restart {
            restart.on_report(moment.now, news.x_recv, news.new_loss || news.p > self.p);
        }
        if !self.fed_back {
            self.fed_back = true;
            self.set.begin(moment.now);
            self.p = news.p;
            self.x_bps = news.x_bps;
            self.rising = self.x;
            // ns-2 keeps a rate that is higher already.
            self.x = if matches!(self.slow_start, SlowStart::Stepwise | SlowStart::Spread) {
                self.x.max(initial)
            } else {
                initial
            };
            self.step = (self.x - self.rising) / (self.x * r / moment.s);
            self.changed = Some(moment.now);
            return;
        }
        let limit = self.limit(moment, news, r);
        self.p = news.p;
        self.x_bps = news.x_bps;
        let expired = std::mem::take(&mut self.expired);
        if news.p > 0.0 {
            self.avoid(moment, limit, r);
        } else if !(expired && self.idle == Idle::HalvedAndLifted) {
            let limit = if self.receive_limit == ReceiveLimit::Conservative { 2.0 * news.x_recv } else { limit };
            self.grow(moment, limit, r);
        }
    }

    /// `recv_limit`.
    fn limit(&mut self, moment: &Moment, news: &News, r: f64) -> f64 {
        let now = moment.now;
        if news.overloaded {
            self.set.replace(now, news.x_recv);
        }
        let limit = match self.receive_limit {
            // Only the first report may say zero (RFC 5348 section 4.3). What would be the end of the rate says as much as no report.
            ReceiveLimit::RecentMaximum if news.x_recv <= 0.0 => {
                self.set.halve();
                2.0 * self.set.max()
            }
            ReceiveLimit::RecentMaximum if news.limited => {
                if news.new_loss || news.p > self.p {
                    self.set.halve();
                    self.set.maximize(now, 0.85 * news.x_recv);
                    self.set.max()
                } else {
                    self.set.maximize(now, news.x_recv);
                    2.0 * self.set.max()
                }
            }
            ReceiveLimit::RecentMaximum => {
                self.set.update(now, news.x_recv, r);
                2.0 * self.set.max()
            }
            ReceiveLimit::Last => {
                self.set.replace(now, news.x_recv);
                2.0 * news.x_recv
            }
            ReceiveLimit::Conservative => {
                self.set.replace(now, news.x_recv);
                if news.new_loss { news.x_recv } else { 1.5 * news.x_recv }
            }
        };
        // A report behind an expired timer covers a silence that the timer has answered already (RFC 4342 section 8.3 measures since the
        // last report, RFC 5348 section 6.2 over a round trip): it does not lower the rate once more.
        let answered = self.expired && self.receive_limit == ReceiveLimit::RecentMaximum && !news.overloaded;
        let limit = self.lift(moment, if answered { limit.max(self.x) } else { limit });
        match &self.restart {
            Some(restart) => restart.limit(now, limit, self.set.max(), news.limited),
            None => limit,
        }
    }

    /// Linux: who has sent nothing for two round trips may start again as in the beginning.
    fn lift(&self, moment: &Moment, limit: f64) -> f64 {
        match moment.initial_rate() {
            Some(initial) if self.idle == Idle::HalvedAndLifted && moment.idle => limit.max(initial),
            _ => limit,
        }
    }

    fn least(&self, s: f64) -> f64 {
        if self.minimum_rate { s / T_MBI } else { NEVER_ZERO }
    }

    /// Congestion avoidance.
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
        .max(self.least(moment.s));
        if !first {
            self.changed = Some(moment.now);
        }
    }

    fn since_change(&self, now: Instant) -> f64 {
        self.changed.map_or(f64::INFINITY, |changed| now.since(changed).as_secs_f64())
    }

    /// Slow start.
    fn grow(&mut self, moment: &Moment, limit: f64, r: f64) {
        let initial = moment.w_init / r;
        let one = moment.s / r;
        let since = self.since_change(moment.now);
        match self.slow_start {
            SlowStart::Doubling | SlowStart::DoublingFromOne => {
                // A clock of whole nanoseconds makes a round trip up to one shorter.
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

    /// The nofeedback timer has expired.
    pub(crate) fn on_timeout(&mut self, moment: &Moment) {
        let least = self.least(moment.s);
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
            // RFC 5348 section 4.4 leaves open what an idle sender without a round trip does; it keeps its rate.
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
        // "Cut the allowed sending rate in half": half of the equation's may be more than the first report, or an earlier expiry,
        // has left. Linux raises an idle sender's on purpose.
        let limit = if self.idle == Idle::HalvedAndLifted { limit } else { limit.min(self.x) }.max(at_least);
        self.set.replace(moment.now, limit / 2.0);
        self.x = self.x_bps.min(self.lift(moment, limit)).max(least);
    }
}

#[cfg(test)]
mod tests;
