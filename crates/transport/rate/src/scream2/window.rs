//! The reference window (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4). Names of constants are the draft's.

use headway_units::{Duration, Instant};

const MIN_REF_WND: f64 = 3000.0;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
pub(super) const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const MUL_INCREASE_FACTOR: f64 = 0.02;
const POST_CONGESTION_DELAY_RTT: f64 = 100.0;
const VIRTUAL_RTT_S: f64 = 0.025;
const L4S_AVG_INTERVAL_S: f64 = 0.01;
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
const QDELAY_AVG_G: f64 = 0.25;
/// Without jitter reduction, both limits of the draft have this value.
const REF_WND_OVERHEAD: f64 = 3.0;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const RATE_PACE_MIN_BPS: f64 = 50e3;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
const PACKET_OVERHEAD: f64 = 20.0;
/// Slope of the scale near the inflection point.
const INFLECTION_SLOPE: f64 = 8.0;

/// What a report adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Bytes up to the greatest number acknowledged, also of lost packets.
    pub(super) bytes: f64,
    /// Bytes of packets with a mark.
    pub(super) marked_bytes: f64,
    pub(super) packets: u64,
    pub(super) marked_packets: u64,
    /// Whether a packet was lost.
    pub(super) lost: bool,
    /// Queue delay of the newest packet with an arrival time, in s.
    pub(super) qdelay_s: Option<f64>,
    /// Maximum number of bytes in flight in this round trip and the previous one.
    pub(super) max_in_flight: f64,
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
    l4s: bool,
    mss: f64,
    qdelay_target_s: f64,
    max_bps: f64,
    /// `ref_wnd` in bytes, and `ref_wnd_i`, the window of the last reaction.
    bytes: f64,
    inflection: f64,
    may_set_inflection: bool,
    l4s_alpha: f64,
    qdelay_s: f64,
    qdelay_avg_s: f64,
    alpha_updated: Option<Instant>,
    qdelay_updated: Option<Instant>,
    last_reaction: Option<Instant>,
    last_congestion: Option<Instant>,
    /// Packets since the last update of `l4s_alpha`.
    packets: u64,
    marked_packets: u64,
    /// Congestion since the last reaction.
    lost: bool,
    marked: bool,
    target_bps: f64,
}

impl Window {
    pub(super) fn new(l4s: bool, mss: f64, qdelay_target: Duration, max_bps: f64) -> Self {
        Self {
            l4s,
            mss,
            qdelay_target_s: qdelay_target.as_secs_f64(),
            max_bps,
            bytes: MIN_REF_WND,
            inflection: 1.0,
            may_set_inflection: true,
            l4s_alpha: 0.0,
            qdelay_s: 0.0,
            qdelay_avg_s: 0.0,
            alpha_updated: None,
            qdelay_updated: None,
            last_reaction: None,
            last_congestion: None,
            packets: 0,
            marked_packets: 0,
            lost: false,
            marked: false,
            target_bps: 0.0,
        }
    }

    /// Sets the first window.
    pub(super) fn start(&mut self, bytes: f64, srtt_s: f64) {
        self.bytes = bytes.max(MIN_REF_WND);
        self.set_target(srtt_s);
    }

    pub(super) const fn bytes(&self) -> f64 {
        self.bytes
    }

    pub(super) const fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// Returns the number of bytes that may be in flight.
    pub(super) const fn max_in_flight(&self) -> f64 {
        self.bytes * REF_WND_OVERHEAD
    }

    /// Returns the rate at which waiting packets are sent.
    pub(super) fn pace_bps(&self) -> f64 {
        let excess = (self.target_bps / self.max_bps - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
        let relaxed = (1.0 - excess).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        PACKET_PACING_HEADROOM * self.target_bps.max(RATE_PACE_MIN_BPS) / relaxed
    }

    /// Handles a report. Returns the reason if the window was reduced; it may have grown since in the same call, so that
    /// two marks per round trip balance the growth of one MSS.
    pub(super) fn on_report(&mut self, now: Instant, srtt_s: f64, progress: &Progress) -> Option<Reduction> {
        self.update_averages(now, srtt_s, progress);
        let scale = self.inflection_scale();
        self.lost |= progress.lost;
        self.marked |= progress.marked_packets > 0;
        if progress.lost || progress.marked_packets > 0 {
            self.last_congestion = Some(now);
        }
        let reduction = self.reduction(now, srtt_s);
        if let Some(reduction) = reduction {
            self.reduce(now, srtt_s, scale, reduction, progress.max_in_flight);
        }
        self.grow(now, srtt_s, scale, progress);
        self.set_target(srtt_s);
        reduction
    }

    /// Reduces the window as a loss does, because no report arrives.
    pub(super) fn on_silence(&mut self, now: Instant, srtt_s: f64) {
        self.last_congestion = Some(now);
        self.reduce(now, srtt_s, 1.0, Reduction::Loss, f64::INFINITY);
        self.set_target(srtt_s);
    }

    fn update_averages(&mut self, now: Instant, srtt_s: f64, progress: &Progress) {
        self.packets += progress.packets;
        self.marked_packets += progress.marked_packets;
        if self.packets > 0 && is_due(self.alpha_updated, now, srtt_s.min(L4S_AVG_INTERVAL_S)) {
            let fraction = self.marked_packets as f64 / self.packets as f64;
            self.l4s_alpha = averaged_alpha(self.l4s_alpha, fraction);
            (self.alpha_updated, self.packets, self.marked_packets) = (Some(now), 0, 0);
        }
        if let Some(qdelay) = progress.qdelay_s {
            self.qdelay_s = qdelay;
        }
        if is_due(self.qdelay_updated, now, srtt_s.min(VIRTUAL_RTT_S)) {
            self.qdelay_avg_s = averaged_qdelay(self.qdelay_avg_s, self.qdelay_s);
            self.qdelay_updated = Some(now);
        }
    }

    fn reduction(&self, now: Instant, srtt_s: f64) -> Option<Reduction> {
        if !is_due(self.last_reaction, now, srtt_s.min(VIRTUAL_RTT_S)) {
            None
        } else if self.lost {
            Some(Reduction::Loss)
        } else if self.marked {
            Some(Reduction::Mark)
        } else {
            (self.qdelay_avg_s > self.qdelay_target_s / 2.0).then_some(Reduction::Delay)
        }
    }

    fn reduce(&mut self, now: Instant, srtt_s: f64, scale: f64, reduction: Reduction, max_in_flight: f64) {
        if std::mem::take(&mut self.may_set_inflection) {
            self.inflection = self.bytes;
        }
        self.bytes *= match reduction {
            Reduction::Loss => BETA_LOSS,
            Reduction::Mark if !self.l4s => BETA_ECN,
            Reduction::Mark => {
                let near_empty = self.qdelay_s < self.qdelay_target_s / 4.0;
                let back_off = l4s_back_off(self.l4s_alpha, srtt_s, scale, near_empty);
                let quiet_s = POST_CONGESTION_DELAY_RTT * srtt_s.max(VIRTUAL_RTT_S);
                if self.last_reaction.is_none_or(|last| now.since(last).as_secs_f64() > quiet_s) {
                    self.bytes = self.bytes.min(max_in_flight);
                }
                1.0 - back_off
            }
            Reduction::Delay => {
                let half = self.qdelay_target_s / 2.0;
                1.0 - l4s_back_off(((self.qdelay_avg_s - half) / half).clamp(0.0, 1.0), srtt_s, 1.0, false)
            }
        };
        self.bytes = self.bytes.max(MIN_REF_WND);
        (self.last_reaction, self.lost, self.marked) = (Some(now), false, false);
    }

    fn grow(&mut self, now: Instant, srtt_s: f64, scale: f64, progress: &Progress) {
        let quiet_s = POST_CONGESTION_DELAY_RTT * srtt_s.max(VIRTUAL_RTT_S);
        let post = self.last_congestion.map_or(1.0, |last| (now.since(last).as_secs_f64() / quiet_s).clamp(0.0, 1.0));
        let acknowledged = (progress.bytes - progress.marked_bytes).max(0.0);
        let increment = self.increment(acknowledged, srtt_s, scale, post);
        let most = self.mss + BYTES_IN_FLIGHT_HEAD_ROOM * progress.max_in_flight;
        if increment > 0.0 && self.bytes + increment <= most && self.target_bps < self.max_bps {
            self.bytes += increment;
            self.may_set_inflection = true;
        }
    }

    fn increment(&self, acknowledged: f64, srtt_s: f64, scale: f64, post: f64) -> f64 {
        acknowledged
            * (self.mss / self.bytes).min(1.0)
            * (srtt_s / VIRTUAL_RTT_S).min(1.0)
            * scale.max(0.25)
            * (1.0 + MUL_INCREASE_FACTOR * self.bytes / self.mss * post * scale)
    }

    fn set_target(&mut self, srtt_s: f64) {
        let small = 1.0 - ((self.mss / self.bytes).min(1.0) - 0.1).clamp(0.0, 0.2);
        let share = small * self.mss / (self.mss + PACKET_OVERHEAD) / 1.2;
        self.target_bps = (share * 8.0 * self.bytes / srtt_s).min(self.max_bps);
    }

    /// Returns the scale of growth and L4S reductions, which is small near the window of the last reaction.
    fn inflection_scale(&self) -> f64 {
        let distance = INFLECTION_SLOPE * (self.bytes - self.inflection) / self.inflection;
        (distance * distance).clamp(0.1, 1.0)
    }
}

/// Returns whether `interval_s` has passed since `last`.
fn is_due(last: Option<Instant>, now: Instant, interval_s: f64) -> bool {
    last.is_none_or(|last| now.since(last) >= Duration::from_secs_f64(interval_s))
}

fn averaged_alpha(alpha: f64, fraction: f64) -> f64 {
    if fraction >= alpha { alpha + L4S_AVG_G_UP * (fraction - alpha) } else { alpha * (1.0 - L4S_AVG_G_DOWN) }
}

fn averaged_qdelay(average: f64, qdelay: f64) -> f64 {
    if qdelay < average { qdelay } else { QDELAY_AVG_G * qdelay + (1.0 - QDELAY_AVG_G) * average }
}

/// Returns the share by which a reaction to the share `alpha` of marked packets reduces the window.
fn l4s_back_off(alpha: f64, srtt_s: f64, scale: f64, near_empty: bool) -> f64 {
    let back_off = alpha / 2.0 / (srtt_s / VIRTUAL_RTT_S).max(1.0);
    if near_empty { back_off * scale.max(0.25) } else { back_off }
}

#[cfg(test)]
mod tests;
