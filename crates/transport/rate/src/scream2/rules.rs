//! Rules of the versions: constants and the points in which the draft and its implementations differ.
//!
//! The draft is draft-ietf-ccwg-rfc8298bis-screamv2-01. The implementations are that of Ericsson of July 2026
//! (EricssonResearch/scream), with the values of its simulator, and libwebrtc's module of about July 2026. Names of
//! constants are the draft's.

use super::options::Scream2Version;

/// Rules of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// `MIN_REF_WND`: the greater one of a number of bytes and a number of MSS.
    pub(super) min_bytes: f64,
    pub(super) min_mss: f64,
    /// Number of MSS to which a smaller window is raised once per second.
    pub(super) min_mss_each_second: f64,
    pub(super) bytes_in_flight_head_room: f64,
    pub(super) mul_increase_factor: f64,
    /// Slope of the scale near the inflection point.
    pub(super) inflection_slope: f64,
    /// Whether the inflection point is the window before a report that reduces it, and may be set after a report that
    /// increases it. Growth is then scaled by the window after a reaction. Otherwise a reaction sets it, and growth in
    /// the same report allows this again.
    pub(super) inflection_by_net_change: bool,
    /// `REF_WND_OVERHEAD_MIN` and `REF_WND_OVERHEAD_MAX`.
    pub(super) overhead: [f64; 2],

    /// `POST_CONGESTION_DELAY_RTT`, and the minimum round-trip time that it multiplies, in s.
    pub(super) post_congestion_rtts: f64,
    pub(super) post_congestion_min_rtt_s: f64,
    /// Whether growth after congestion is counted from the detection of a loss or mark. Otherwise it is counted from
    /// the reaction to a loss, a mark or the queue delay.
    pub(super) counts_from_detection: bool,
    /// Whether the time since congestion starts with the flow. Otherwise the flow starts as after a long time.
    pub(super) starts_as_congested: bool,
    /// Whether a loss or mark that arrives too early for a reaction causes one later.
    pub(super) remembers_congestion: bool,
    /// Maximum time between reactions; the round-trip time if shorter. In s.
    pub(super) reaction_interval_s: f64,
    /// Whether losses cause at most one reaction per round trip, also in a longer one.
    pub(super) loss_once_per_rtt: bool,
    /// Whether a mark after 100 round trips without a reaction limits the window to the bytes in flight.
    pub(super) limits_window_after_quiet: bool,
    /// Whether marks are ignored while each packet is marked and the round-trip time falls.
    pub(super) ignores_marks_of_draining_queue: bool,
    /// Whether a back-off is divided by 4 while the target rate is less than 0.8 times the acknowledged rate.
    pub(super) spares_low_target: bool,
    /// Whether a reaction to the queue delay is divided by `max(1, s_rtt / reaction_interval_s)` twice.
    pub(super) divides_delay_twice: bool,
    /// Condition under which a reaction to a mark is scaled down near the inflection point and by jitter.
    pub(super) near_empty: NearEmpty,

    /// First `l4s_alpha`, and the maximum time between its updates, in s.
    pub(super) first_alpha: f64,
    pub(super) alpha_interval_s: f64,
    /// Maximum time between updates of `qdelay_avg`, in s.
    pub(super) qdelay_interval_s: f64,
    pub(super) delays: DelaySample,
    /// Whether a slow average of minimum queue delays is subtracted from the queue delay.
    pub(super) subtracts_slow_minimum: bool,
    pub(super) jitter: JitterRule,
    pub(super) losses: LossRule,
    /// Whether a loss is found by sending times and waiting times, not by three later packets.
    pub(super) finds_losses_by_time: bool,

    /// Maximum time between increases without a reaction or frame, in s; 0: with each report.
    pub(super) growth_interval_s: f64,
    /// Whether the window also grows with reports of congestion to which it does not react.
    pub(super) grows_in_congestion: bool,
    /// Whether an increase and the target rate depend on MSS/`ref_wnd` before a reaction in the same report.
    pub(super) keeps_mss_ratio: bool,
    /// Whether an increase is multiplied by `min(1, s_rtt / VIRTUAL_RTT)` twice.
    pub(super) multiplies_short_rtt_twice: bool,
    /// Whether an increase may be cut to reach the limit by the bytes in flight. Otherwise it is skipped.
    pub(super) cuts_increase: bool,
    /// Interval of the maximum of the bytes in flight, in s, or a round trip if longer and `peak_per_rtt`.
    pub(super) peak_interval_s: f64,
    pub(super) peak_per_rtt: bool,
    /// Time after the start for which the maximum of the bytes in flight is that since the start, in s.
    pub(super) first_peak_s: f64,
    /// Whether the window is limited to 1.5 times the maximum rate while the target rate is above 95 % of it.
    pub(super) limits_window_at_max_rate: bool,

    pub(super) rtt: RttRule,
    /// Gain of the smoothed round-trip time while the window is not used, and whether it applies downwards only.
    pub(super) unused_rtt_gain: f64,
    pub(super) unused_rtt_only_falls: bool,
    pub(super) hold: HoldRule,

    /// Divisor of the target rate.
    pub(super) rate_divisor: f64,
    /// `PACKET_OVERHEAD`, in bytes.
    pub(super) packet_overhead: f64,
    /// Added to the round-trip time in the target rate, and the maximum of the sum, in s.
    pub(super) target_rtt_margin_s: f64,
    pub(super) target_max_rtt_s: f64,
    /// Change of `rate_adjust_factor` per frame that waited for one frame period longer than for half of one.
    pub(super) rate_adjust_gain: f64,
    pub(super) pacing_headroom: f64,
    /// Maximum factor of the pacing rate for a frame larger than the average.
    pub(super) max_frame_pacing: f64,
    /// `MAX_RELAXED_PACING_FACTOR`; 1: no relaxed pacing.
    pub(super) max_relaxed_pacing: f64,
}

/// Condition under which the queue is nearly empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NearEmpty {
    /// The queue delay is below a quarter of its target.
    Newest,
    /// The average queue delay is at most half of its target.
    Average,
}

/// Packets of a report whose queue delays count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelaySample {
    /// The newest packet.
    Newest,
    /// Each packet for the base and the jitter, the newest one for the average.
    EachThenNewest,
    /// Each packet for the base and the jitter, the shortest delay of two reports for the average.
    EachThenShortest,
}

/// Definition of the jitter that slows growth down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JitterRule {
    /// Jitter has no effect.
    Ignored,
    /// Difference of slow maximum and minimum queue delays (`REDUCE_JITTER`).
    MaxMin,
    /// Mean of the shortest queue delay in a report, and mean of the differences within a report.
    PerReport,
}

/// Losses that reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossRule {
    /// Each loss.
    Each,
    /// Losses while more than 1 % of the packets are lost, or the queue delay is above a quarter of its target.
    AboveRate,
    /// Losses after three round trips with losses, or while the queue delay is above half of its target.
    ThreeRoundTrips,
}

/// Filter of round-trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RttRule {
    /// A gain of 1/8 per sample (RFC 6298).
    Once,
    /// A gain of 1/8 per sample, and again once per round trip. Times are multiples of 1/65536 s.
    Twice,
}

/// Effect of the time for which a receiver holds a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldRule {
    /// None.
    Ignored,
    /// It is part of the round-trip time.
    InRtt,
    /// Its mean is added to the round-trip time in the rates and in the scale of short round-trip times.
    InRate,
}

const DRAFT_01: Rules = Rules {
    min_bytes: 3000.0,
    min_mss: 0.0,
    min_mss_each_second: 0.0,
    bytes_in_flight_head_room: 1.5,
    mul_increase_factor: 0.02,
    inflection_slope: 8.0,
    inflection_by_net_change: false,
    overhead: [1.5, 3.0],
    post_congestion_rtts: 100.0,
    post_congestion_min_rtt_s: 0.025,
    counts_from_detection: true,
    starts_as_congested: false,
    remembers_congestion: true,
    reaction_interval_s: 0.025,
    loss_once_per_rtt: false,
    limits_window_after_quiet: true,
    ignores_marks_of_draining_queue: false,
    spares_low_target: false,
    divides_delay_twice: false,
    near_empty: NearEmpty::Newest,
    first_alpha: 0.0,
    alpha_interval_s: 0.01,
    qdelay_interval_s: 0.025,
    delays: DelaySample::Newest,
    subtracts_slow_minimum: false,
    jitter: JitterRule::Ignored,
    losses: LossRule::Each,
    finds_losses_by_time: false,
    growth_interval_s: 0.0,
    grows_in_congestion: true,
    keeps_mss_ratio: false,
    multiplies_short_rtt_twice: false,
    cuts_increase: false,
    peak_interval_s: 0.0,
    peak_per_rtt: true,
    first_peak_s: 0.0,
    limits_window_at_max_rate: false,
    rtt: RttRule::Once,
    unused_rtt_gain: 1.0 / 1024.0,
    unused_rtt_only_falls: true,
    hold: HoldRule::Ignored,
    rate_divisor: 1.2,
    packet_overhead: 20.0,
    target_rtt_margin_s: 0.0,
    target_max_rtt_s: f64::INFINITY,
    rate_adjust_gain: 0.0,
    pacing_headroom: 1.5,
    max_frame_pacing: 1.0,
    max_relaxed_pacing: 4.0,
};

const ERICSSON_2026_07: Rules = Rules {
    min_bytes: 0.0,
    min_mss: 2.0,
    min_mss_each_second: 3.0,
    bytes_in_flight_head_room: 2.0,
    mul_increase_factor: 0.05,
    post_congestion_rtts: 200.0,
    post_congestion_min_rtt_s: 0.0,
    counts_from_detection: false,
    starts_as_congested: true,
    remembers_congestion: false,
    reaction_interval_s: 0.03,
    loss_once_per_rtt: true,
    ignores_marks_of_draining_queue: true,
    spares_low_target: true,
    divides_delay_twice: true,
    first_alpha: 0.1,
    qdelay_interval_s: 0.03,
    delays: DelaySample::EachThenNewest,
    subtracts_slow_minimum: true,
    jitter: JitterRule::MaxMin,
    losses: LossRule::AboveRate,
    finds_losses_by_time: true,
    growth_interval_s: 0.03,
    keeps_mss_ratio: true,
    peak_interval_s: 0.05,
    peak_per_rtt: false,
    first_peak_s: 2.0,
    limits_window_at_max_rate: true,
    rtt: RttRule::Twice,
    hold: HoldRule::InRtt,
    rate_divisor: 1.1,
    target_rtt_margin_s: 0.001,
    target_max_rtt_s: 0.2,
    rate_adjust_gain: 0.025,
    max_frame_pacing: 1.5,
    max_relaxed_pacing: 1.0,
    ..DRAFT_01
};

const LIBWEBRTC_2026_07: Rules = Rules {
    min_bytes: 1000.0,
    bytes_in_flight_head_room: 1.1,
    inflection_slope: 2.0,
    inflection_by_net_change: true,
    counts_from_detection: false,
    remembers_congestion: false,
    limits_window_after_quiet: false,
    near_empty: NearEmpty::Average,
    alpha_interval_s: 0.0,
    qdelay_interval_s: 0.0,
    delays: DelaySample::EachThenShortest,
    jitter: JitterRule::PerReport,
    losses: LossRule::ThreeRoundTrips,
    grows_in_congestion: false,
    multiplies_short_rtt_twice: true,
    cuts_increase: true,
    peak_interval_s: 0.025,
    unused_rtt_gain: 1.0 / 128.0,
    unused_rtt_only_falls: false,
    hold: HoldRule::InRate,
    rate_divisor: 1.0,
    packet_overhead: 0.0,
    pacing_headroom: 1.1,
    max_relaxed_pacing: 1.0,
    ..DRAFT_01
};

/// `VIRTUAL_RTT`, in s.
pub(super) const VIRTUAL_RTT_S: f64 = 0.025;

impl Rules {
    pub(super) const fn of(version: Scream2Version) -> Self {
        match version {
            Scream2Version::Draft01 => DRAFT_01,
            Scream2Version::Ericsson202607 => ERICSSON_2026_07,
            Scream2Version::Libwebrtc202607 => LIBWEBRTC_2026_07,
        }
    }
}
