//! The reference window (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4). Names of constants are the draft's.

use super::is_due;
use super::losses::Losses;
use super::queue_delay::{Delays, QueueDelay};
use super::rules::{NearEmpty, Rules, VIRTUAL_RTT_S};
use headway_units::{Duration, Instant};

const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
const RATE_PACE_MIN_BPS: f64 = 50e3;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// Round trips without a reaction after which a mark limits the window to the bytes in flight.
const QUIET_RTTS: f64 = 100.0;
/// Share of the acknowledged rate below which the target rate is low, and the factor of back-offs below it.
const LOW_TARGET: f64 = 0.8;
const LOW_TARGET_BACK_OFF: f64 = 0.25;
/// Share of the maximum rate from which it limits the window, and the factor of that limit.
const NEAR_MAX_RATE: f64 = 0.95;
const MAX_RATE_HEAD_ROOM: f64 = 1.5;

/// What a report adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Bytes up to the greatest number acknowledged, also of lost packets.
    pub(super) bytes: f64,
    /// Bytes of packets with a mark.
    pub(super) marked_bytes: f64,
    pub(super) packets: u64,
    pub(super) marked_packets: u64,
    pub(super) lost: u64,
    /// Queue delays of packets with an arrival time.
    pub(super) delays: Option<Delays>,
    /// Maximum number of bytes in flight in this interval and the previous one.
    pub(super) max_in_flight: f64,
    /// Mean time for which the receiver holds reports, if it counts in the rates, in s.
    pub(super) hold_s: f64,
    /// Whether the round-trip time falls.
    pub(super) rtt_falls: bool,
    /// Rate at which packets are acknowledged, in bit/s, if it is known and limits reactions.
    pub(super) acknowledged_bps: Option<f64>,
}

/// Reason for a smaller window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Loss,
    Mark,
    Delay,
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    rules: Rules,
    l4s: bool,
    mss: f64,
    qdelay_target_s: f64,
    max_bps: f64,
    /// `ref_wnd` in bytes, and `ref_wnd_i`, the window of the last reaction.
    bytes: f64,
    inflection: f64,
    may_set_inflection: bool,
    l4s_alpha: f64,
    /// Last share of marked packets.
    fraction: f64,
    qdelay: QueueDelay,
    losses: Losses,
    alpha_updated: Option<Instant>,
    last_reaction: Option<Instant>,
    last_congestion: Option<Instant>,
    last_growth: Option<Instant>,
    /// Time at which the window was last raised to its minimum of each second.
    raised: Option<Instant>,
    /// Packets since the last update of `l4s_alpha`.
    packets: u64,
    marked_packets: u64,
    /// Unmarked bytes acknowledged since the last growth.
    acknowledged: f64,
    /// Whether a frame has begun since the last growth.
    new_frame: bool,
    /// Congestion since the last reaction.
    lost: bool,
    marked: bool,
    /// Divisor of the target rate for frames that wait.
    divisor: f64,
    target_bps: f64,
}

impl Window {
    pub(super) fn new(rules: Rules, l4s: bool, mss: f64, qdelay_target: Duration, max_bps: f64, now: Instant) -> Self {
        let qdelay_target_s = qdelay_target.as_secs_f64();
        let start = rules.starts_as_congested.then_some(now);
        Self {
            rules,
            l4s,
            mss,
            qdelay_target_s,
            max_bps,
            bytes: rules.min_bytes.max(rules.min_mss * mss),
            inflection: 1.0,
            may_set_inflection: true,
            l4s_alpha: rules.first_alpha,
            fraction: 0.0,
            qdelay: QueueDelay::new(&rules, qdelay_target_s, now),
            losses: Losses::new(rules.losses),
            alpha_updated: None,
            last_reaction: start,
            last_congestion: start,
            last_growth: None,
            raised: None,
            packets: 0,
            marked_packets: 0,
            acknowledged: 0.0,
            new_frame: false,
            lost: false,
            marked: false,
            divisor: 1.0,
            target_bps: 0.0,
        }
    }

    /// Sets the first window.
    pub(super) fn start(&mut self, bytes: f64, rtt_s: f64) {
        self.bytes = bytes.max(self.least());
        self.set_target(rtt_s, self.mss_ratio());
    }

    /// Handles the first packet of a frame. The target rate is divided by `divisor`.
    pub(super) const fn on_frame(&mut self, divisor: f64) {
        self.new_frame = true;
        self.target_bps = (self.target_bps * self.divisor / divisor).min(self.max_bps);
        self.divisor = divisor;
    }

    /// Handles a packet that is sent.
    pub(super) fn on_send(&mut self, now: Instant) {
        let raised = *self.raised.get_or_insert(now);
        if now.since(raised) > Duration::from_secs(1) {
            self.raised = Some(now);
            self.bytes = self.bytes.max(self.rules.min_mss_each_second * self.mss);
        }
    }

    const fn least(&self) -> f64 {
        self.rules.min_bytes.max(self.rules.min_mss * self.mss)
    }

    pub(super) const fn bytes(&self) -> f64 {
        self.bytes
    }

    pub(super) const fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// Returns the number of bytes that may be in flight.
    pub(super) fn max_in_flight(&self) -> f64 {
        let [min, max] = self.rules.overhead;
        self.bytes * (min + (max - min) * self.qdelay.overhead_scale())
    }

    /// Returns the rate at which waiting packets are sent.
    pub(super) fn pace_bps(&self) -> f64 {
        let excess = (self.target_bps / self.max_bps - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
        let relaxed = (1.0 - excess).clamp(1.0 / self.rules.max_relaxed_pacing, 1.0);
        self.rules.pacing_headroom * self.target_bps.max(RATE_PACE_MIN_BPS) / relaxed
    }

    /// Handles a report. Returns the reason if the window was reduced; it may have grown since in the same call, so that
    /// two marks per round trip balance the growth of one MSS.
    pub(super) fn on_report(&mut self, now: Instant, srtt_s: f64, progress: &Progress) -> Option<Reduction> {
        let delay = self.qdelay.average_s() / self.qdelay_target_s;
        let (ratio, before) = (self.mss_ratio(), self.bytes);
        let kept = self.rules.keeps_mss_ratio.then_some(ratio);
        let lost = self.losses.on_report(now, srtt_s, ratio, delay, progress.lost, progress.packets);
        self.update_alpha(now, srtt_s, progress);
        self.qdelay.on_report(now, srtt_s, progress.delays);
        let marked = progress.marked_packets > 0;
        self.lost = lost || self.lost && self.rules.remembers_congestion;
        self.marked = marked || self.marked && self.rules.remembers_congestion;
        if (lost || marked) && self.rules.counts_from_detection {
            self.last_congestion = Some(now);
        }
        let scale = self.inflection_scale();
        let reduction = self.reduction(now, srtt_s, progress.rtt_falls);
        if let Some(reduction) = reduction {
            self.reduce(now, srtt_s, scale, reduction, progress);
        }
        self.acknowledged += (progress.bytes - progress.marked_bytes).max(0.0);
        if reduction.is_some() || self.may_grow(now, srtt_s, marked) {
            let scale = if self.rules.inflection_by_net_change { self.inflection_scale() } else { scale };
            self.grow(now, srtt_s, scale, kept.unwrap_or_else(|| self.mss_ratio()), progress);
        }
        if self.rules.inflection_by_net_change {
            self.set_inflection_by_net_change(before);
        }
        self.set_target(srtt_s + progress.hold_s, kept.unwrap_or_else(|| self.mss_ratio()));
        reduction
    }

    /// Reduces the window as a loss does, because no report arrives.
    pub(super) fn on_silence(&mut self, now: Instant, srtt_s: f64) {
        self.last_congestion = Some(now);
        self.reduce(now, srtt_s, 1.0, Reduction::Loss, &Progress::default());
        self.set_target(srtt_s, self.mss_ratio());
    }

    fn update_alpha(&mut self, now: Instant, srtt_s: f64, progress: &Progress) {
        self.packets += progress.packets;
        self.marked_packets += progress.marked_packets;
        if self.packets > 0 && is_due(self.alpha_updated, now, srtt_s.min(self.rules.alpha_interval_s)) {
            self.fraction = self.marked_packets as f64 / self.packets as f64;
            self.l4s_alpha = averaged_alpha(self.l4s_alpha, self.fraction);
            (self.alpha_updated, self.packets, self.marked_packets) = (Some(now), 0, 0);
        }
    }

    fn is_delayed(&self) -> bool {
        self.qdelay.average_s() > self.qdelay_target_s / 2.0
    }

    fn reduction(&mut self, now: Instant, srtt_s: f64, rtt_falls: bool) -> Option<Reduction> {
        let is_reaction_due = is_due(self.last_reaction, now, srtt_s.min(self.rules.reaction_interval_s));
        let is_loss_due =
            if self.rules.loss_once_per_rtt { is_due(self.last_reaction, now, srtt_s) } else { is_reaction_due };
        if self.lost && is_loss_due {
            Some(Reduction::Loss)
        } else if !is_reaction_due {
            None
        } else if self.marked {
            if self.rules.ignores_marks_of_draining_queue && rtt_falls && self.fraction >= 1.0 {
                self.last_reaction = Some(now);
                return None;
            }
            Some(Reduction::Mark)
        } else {
            self.is_delayed().then_some(Reduction::Delay)
        }
    }

    fn reduce(&mut self, now: Instant, srtt_s: f64, scale: f64, reduction: Reduction, progress: &Progress) {
        if !self.rules.inflection_by_net_change && std::mem::take(&mut self.may_set_inflection) {
            self.inflection = self.bytes;
        }
        self.bytes *= match reduction {
            Reduction::Loss => BETA_LOSS,
            Reduction::Mark if !self.l4s => BETA_ECN,
            Reduction::Mark => {
                let near_empty = match self.rules.near_empty {
                    NearEmpty::Newest => self.qdelay.newest_s() < self.qdelay_target_s / 4.0,
                    NearEmpty::Average => !self.is_delayed(),
                };
                let scales = near_empty.then(|| (scale, self.qdelay.back_off_scale()));
                let back_off = self.back_off(self.l4s_alpha, srtt_s, progress.acknowledged_bps, scales);
                let quiet_s = QUIET_RTTS * srtt_s.max(VIRTUAL_RTT_S);
                if self.rules.limits_window_after_quiet
                    && self.last_reaction.is_none_or(|last| now.since(last).as_secs_f64() > quiet_s)
                {
                    self.bytes = self.bytes.min(progress.max_in_flight);
                }
                1.0 - back_off
            }
            Reduction::Delay => {
                let half = self.qdelay_target_s / 2.0;
                let alpha = ((self.qdelay.average_s() - half) / half).clamp(0.0, 1.0);
                let alpha = if self.rules.divides_delay_twice { alpha / self.reactions_per_rtt(srtt_s) } else { alpha };
                1.0 - self.back_off(alpha, srtt_s, progress.acknowledged_bps, None)
            }
        };
        self.bytes = self.bytes.max(self.least());
        (self.last_reaction, self.lost, self.marked) = (Some(now), false, false);
        if !self.rules.counts_from_detection {
            self.last_congestion = Some(now);
        }
    }

    /// Returns the share by which a reaction to the share `alpha` of marked packets reduces the window. `scales` apply
    /// while the queue is nearly empty: near the inflection point, and by jitter.
    fn back_off(&self, alpha: f64, srtt_s: f64, acknowledged_bps: Option<f64>, scales: Option<(f64, f64)>) -> f64 {
        let back_off = alpha / 2.0 / self.reactions_per_rtt(srtt_s);
        let is_low = acknowledged_bps.is_some_and(|bps| self.target_bps < LOW_TARGET * bps);
        let low = if is_low { LOW_TARGET_BACK_OFF } else { 1.0 };
        let scale = scales.map_or(1.0, |(inflection, jitter)| inflection.max(0.25) * jitter);
        back_off * low * scale
    }

    fn reactions_per_rtt(&self, srtt_s: f64) -> f64 {
        (srtt_s / self.rules.reaction_interval_s).max(1.0)
    }

    /// Sets the inflection point to the window `before` the report, if the report reduces it.
    fn set_inflection_by_net_change(&mut self, before: f64) {
        if self.bytes > before {
            self.may_set_inflection = true;
        } else if self.bytes < before && std::mem::take(&mut self.may_set_inflection) {
            self.inflection = before;
        }
    }

    fn may_grow(&mut self, now: Instant, srtt_s: f64, marked: bool) -> bool {
        if !self.rules.grows_in_congestion && (marked || self.is_delayed() || self.losses.prevent_growth()) {
            self.acknowledged = 0.0;
            return false;
        }
        self.new_frame || is_due(self.last_growth, now, srtt_s.min(self.rules.growth_interval_s))
    }

    fn grow(&mut self, now: Instant, srtt_s: f64, scale: f64, ratio: f64, progress: &Progress) {
        let quiet_s = self.rules.post_congestion_rtts * srtt_s.max(self.rules.post_congestion_min_rtt_s);
        let post = self.last_congestion.map_or(1.0, |last| (now.since(last).as_secs_f64() / quiet_s).clamp(0.0, 1.0));
        let acknowledged = std::mem::take(&mut self.acknowledged);
        (self.last_growth, self.new_frame) = (Some(now), false);
        let mut increment = self.increment(acknowledged * ratio, srtt_s + progress.hold_s, scale, post);
        let room = self.mss + self.rules.bytes_in_flight_head_room * progress.max_in_flight - self.bytes;
        if self.rules.cuts_increase {
            increment = increment.min(room);
        }
        if increment > 0.0 && increment <= room && self.target_bps < self.max_bps {
            self.bytes += increment;
            self.may_set_inflection |= !self.rules.inflection_by_net_change;
        }
        if self.rules.limits_window_at_max_rate && self.target_bps > NEAR_MAX_RATE * self.max_bps {
            let most = MAX_RATE_HEAD_ROOM * self.max_bps / 8.0 * (srtt_s + self.rules.target_rtt_margin_s);
            self.bytes = self.bytes.min(most.max(progress.max_in_flight)).max(self.least());
        }
    }

    /// Returns the increase for `share`, the acknowledged bytes times MSS/`ref_wnd`.
    fn increment(&self, share: f64, rtt_s: f64, scale: f64, post: f64) -> f64 {
        let short = (rtt_s / VIRTUAL_RTT_S).min(1.0);
        share
            * if self.rules.multiplies_short_rtt_twice { short * short } else { short }
            * scale.max(0.25)
            * self.qdelay.growth_scale()
            * (1.0 + self.rules.mul_increase_factor * self.bytes / self.mss * post * scale)
    }

    fn mss_ratio(&self) -> f64 {
        (self.mss / self.bytes).min(1.0)
    }

    fn set_target(&mut self, rtt_s: f64, ratio: f64) {
        let small = 1.0 - (ratio - 0.1).clamp(0.0, 0.2);
        let divisor = self.rules.rate_divisor * self.divisor;
        let share = small * self.mss / (self.mss + self.rules.packet_overhead) / divisor;
        let rtt_s = (rtt_s + self.rules.target_rtt_margin_s).min(self.rules.target_max_rtt_s);
        self.target_bps = (share * 8.0 * self.bytes / rtt_s).min(self.max_bps);
    }

    /// Returns the scale of growth and L4S reductions, which is small near the window of the last reaction.
    fn inflection_scale(&self) -> f64 {
        let distance = self.rules.inflection_slope * (self.bytes - self.inflection) / self.inflection;
        (distance * distance).clamp(0.1, 1.0)
    }
}

fn averaged_alpha(alpha: f64, fraction: f64) -> f64 {
    if fraction >= alpha { alpha + L4S_AVG_G_UP * (fraction - alpha) } else { alpha * (1.0 - L4S_AVG_G_DOWN) }
}

#[cfg(test)]
mod tests;
