//! Options of TFRC and their presets.

use crate::contract::Need;
use crate::loss_filter::{LossFilterKind, UddjOptions};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::PROBE_INTERVAL;
use headway_units::{Bytes, Dialect, Duration, OptionError, Options, Rate, check_range, unused_unless};

/// Shortest interval of probes, since faster ones would load a path that may have lost its capacity.
const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(1);
/// Longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const MAX_GAP: Duration = Duration::from_secs(64);
/// Coarsest useful clock: the minimum timeout of RFC 6298.
const MAX_TICK: Duration = Duration::from_secs(1);

/// Options of the controller `tfrc` (CCID 3: RFC 5348, RFC 4342).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TfrcOptions {
    /// Extent of the open loss interval, the packets since the newest loss event.
    pub open_interval: OpenInterval,
    /// Length of the interval before the first loss.
    pub first_interval: FirstInterval,
    /// Whether history discounting applies (RFC 5348 section 5.5; ns-2 `discount_`); otherwise the average of RFC 5348
    /// section 5.4.
    pub discounting: bool,
    /// Weight of the newest loss interval in a moving average, 0.01 to 1; absent: the weights of RFC 5348 section 5.4.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub moving_average: Option<f64>,
    /// When the receiver sends reports. If data packets do not carry the sender's clock, `timer` and `arrival` act as
    /// `window-counter`.
    pub feedback: FeedbackClock,
    /// Criterion by which losses count as congestion; absent: all losses count. All criteria but `oracle` require that
    /// data packets carry the sender's clock and its round-trip time.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub loss_filter: Option<LossFilterKind>,
    /// Options of the loss filter for `loss_filter = "uddj"`; absent: those of the UDDJ-TFRC paper.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub uddj: Option<UddjOptions>,
    /// Minimum `t_RTO` in the equation, up to 64s (RFC 5348 section 3.1 allows 1 s; ns-2 `minrto_`).
    pub min_rto: Duration,
    /// Clock tick with `expert.t_rto = "tcp"`, above 0s and up to 1s (ns-2 `tcp_tick_`).
    pub tcp_tick: Duration,
    /// Growth of the rate after the first loss. A decrease is always immediate.
    pub increase: Increase,
    /// Limit of the sending rate by the receive rate.
    pub receive_limit: ReceiveLimit,
    /// Time after which the nofeedback timer expires.
    pub nofeedback: Nofeedback,
    /// Effect of an expiry of the nofeedback timer on the rate, in particular that of an idle sender.
    pub idle: Idle,
    /// Size with which a packet counts in pacing and in the receive rate.
    pub paced: Paced,
    /// Whether Faster Restart applies after idle and data-limited periods (draft-ietf-dccp-tfrc-faster-restart-06).
    pub faster_restart: bool,

    /// Whether the first report after a silence (an outage of the path) restarts the flow, in slow start and with an
    /// empty loss history.
    pub silence_restarts: bool,
    /// Whether slow start after a silence (a time without reports) ends at the rate from before it; from there on the
    /// rate grows by one packet per round trip (as above the slow start threshold of RFC 5681 section 3.1). Only with
    /// `silence_restarts`.
    pub remembers_rate: bool,
    /// Whether round-trip samples that include a silence (a time without reports) are used. False: they are ignored, by
    /// Karn's algorithm (RFC 6298 section 3).
    pub silent_samples: bool,
    /// Longest gap between packets in the first minute of a silence (a time without reports), from 1ms to 64s, or a
    /// round trip if that is longer; absent: the gap follows from the rate.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub probe_interval: Option<Duration>,
    /// Whether a run of consecutive lost packets may be several loss events. False: it is a single event while the loss
    /// event rate is at most 10 %, since the receiver could send no report during the run.
    pub events_in_a_gap: bool,

    /// Rules whose presets differ between dialects (`rfc`, `ns2`, `linux`), and rules for small packets.
    pub expert: TfrcExpert,
}

/// Rules of TFRC whose presets differ between dialects, and rules for small packets: the table `expert` of
/// [`TfrcOptions`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct TfrcExpert {
    /// Number of later packets that make a missing packet lost, 1 to 255 (NDUPACK of RFC 5348 section 5.1; ns-2
    /// `numPkts_`).
    pub loss_after: u8,
    /// Whether the late arrival of a packet declared lost revokes the loss (RFC 5348 section 5.1).
    pub late_arrivals_fill: bool,
    /// Criterion by which two losses belong to one loss event. If data packets do not carry the sender's clock, it is
    /// the window counter in any case.
    pub loss_events: LossEvents,
    /// Minimum general discount factor, from 0.01 to 1 (THRESHOLD of RFC 5348 section 5.5; ns-2 `minDiscountRatio_`).
    pub discount_threshold: f64,
    /// Discount factor that a closed interval applies to older intervals.
    pub discount_kept: DiscountKept,
    /// Whether the average loss interval is truncated to whole packets, as in Linux.
    pub whole_intervals: bool,
    /// When the receiver takes a sample of the round-trip time from window counters (CCVal).
    pub counter_samples: CounterSamples,
    /// Definition of s, the segment size of the throughput equation.
    pub segment: Segment,
    /// Weight of the old average in R and `R_sqmean`, from 0 to 0.999 (q of RFC 5348 section 4.3; ns-2 `df_`).
    pub rtt_filter: f64,
    /// Whether the first round-trip sample is averaged with the round-trip time of the handshake, which then has the
    /// weight `rtt_filter`. If not, the first sample replaces that of the handshake.
    pub handshake_rtt_counts: bool,
    /// Definition of `t_RTO`, the retransmission timeout in the equation.
    pub t_rto: RtoRule,
    /// Whether the equation uses `min(1, 3 sqrt(3bp/8))`, as in Padhye et al. 1998 and ns-2; relevant for p > 8/27.
    pub bounded_timeout_term: bool,
    /// Whether the equation is read from a table, in steps of p of 0.01 % up to 5 % and of 0.2 % above: a rate from the
    /// entry below, the inverse from the entry above (Linux).
    pub tabled_equation: bool,
    /// Maximum rate of the equation, above 0bps (ns-2's `MAXRATE`); absent: unlimited.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_rate: Option<Rate>,
    /// Rate before a round-trip measurement, above 0bps (ns-2 `InitRate_`); absent: one packet per second.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub start_rate: Option<Rate>,
    /// `W_init`: data per round trip at the initial rate, which applies once the round-trip time is known.
    pub initial_window: InitialWindow,
    /// Growth of the rate before the first loss.
    pub slow_start: SlowStart,
    /// Whether the rate is at least one packet per 64 s (`t_mbi` of RFC 5348 section 4.3).
    pub minimum_rate: bool,
    /// Whether the rate decreases immediately with a growing round-trip time (RFC 5348 section 4.5; ns-2 `ca_`).
    pub reduce_oscillations: bool,
    /// Rule that determines when the next packet may be sent.
    pub pacing: Pacing,
    /// Granularity of the sender's timers, at most 1s. A packet may be sent early by at most half of it (RFC 5348
    /// section 8.3).
    pub t_gran: Duration,
    /// Whether a report advances the sender's window counter (CCVal) to at least four above that of the acknowledged
    /// packet (RFC 4342 section 8.1).
    pub counter_keeps_up: bool,
    /// Value of s in the equation for small packets, above 0B (RFC 4828 section 3); absent: by `segment`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub nominal_segment: Option<Bytes>,
    /// Header bytes per packet, which reduce the equation's rate by s / (s + header) (H of RFC 4828 section 3).
    pub header: Bytes,
    /// Minimum time between two packets, up to 64s (RFC 4828 section 4.3, RFC 5622 section 5).
    pub min_interval: Duration,
    /// Whether each lost packet counts in a loss interval of at most two round trips, not only one loss event (RFC 4828
    /// section 3).
    pub short_intervals: bool,
}

/// Criterion by which two losses belong to one loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum LossEvents {
    /// Losses belong to one event if their arrival times, interpolated for missing packets, are at most the sender's
    /// round-trip time apart (RFC 5348 section 5.2).
    ArrivalTime,
    /// Losses belong to one event if their sending times are at most a round-trip time apart, or if the sender's
    /// round-trip counter has not changed. Sending times are interpolated from timestamps (ns-2 `PreciseLoss_` 1).
    SendTime,
    /// Losses belong to one event if their window counters (CCVal) differ by at most 4 (RFC 4342 section 10.2).
    WindowCounter,
}

/// Extent of the open loss interval `I_0`, which starts with `S_A`, the first lost packet of the newest loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum OpenInterval {
    /// The open interval extends from `S_A`, the first lost packet, to the last packet before a missing one that is not
    /// yet declared lost (Skip Length, RFC 4342 section 6.1).
    ToFirstHole,
    /// The open interval extends from `S_A`, the first lost packet, to the highest number received, including undecided
    /// packets (RFC 5348 section 5.3).
    ToHighest,
    /// The open interval extends from the packet after `S_A`, the first lost packet, to the highest number received:
    /// the loss counts in the interval that it ends (ns-2).
    AfterLoss,
}

/// Discount factor that a closed interval applies to older intervals (RFC 5348 section 5.5, `DF_i * DF`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum DiscountKept {
    /// Discount factor for the full length of the interval when it closed.
    Closed,
    /// Discount factor of the last average before the interval closed, up to a round trip older (ns-2 `mult_factor_`).
    Averaged,
}

/// Length of the interval before the first loss: the inverse of the equation for a receive rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum FirstInterval {
    /// The equation is inverted exactly for the maximum receive rate so far (RFC 5348 section 6.3.1).
    GreatestRate,
    /// The equation is inverted within 5 % for the receive rate of the last round trip, and the interval is truncated
    /// to whole packets. The next interval starts at the last report (ns-2 `AdjustHistoryAfterSS_` 1).
    LastRtt,
    /// The equation is inverted for the receive rate since the last report, and the interval is truncated to whole
    /// packets. Until the second loss event this interval is used alone, or with the open interval if it has less than
    /// 4 packets and the open one is longer. The second loss event discards it (Linux).
    SinceReport,
}

/// Times of the receiver's reports, in addition to the first packet and each new loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum FeedbackClock {
    /// A report is sent when a timer of one round-trip time expires, if data has arrived (RFC 5348 section 6.2).
    Timer,
    /// A report is sent with the first packet that arrives a round-trip time R or more after the last report, or 1.5 R
    /// after that report if none has arrived until then (ns-2).
    Arrival,
    /// A report is sent when the window counter is at least four above that at the last report (RFC 4342 section 10.3).
    WindowCounter,
    /// A report is sent when the window counter is at least four above that at the last report, but not while a packet
    /// is missing. The receive rate covers the time since the last report; a report of a loss event repeats the last
    /// rate (Linux).
    WindowCounterSettled,
}

/// When the receiver takes a sample of the round-trip time from window counters (CCVal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum CounterSamples {
    /// A sample is taken at each new counter value, over four steps, or three or two if four are not available (RFC
    /// 4342 section 8.1).
    EachStep,
    /// Samples are taken over consecutive spans of four steps of the counter; if no packet has the last value, over the
    /// steps received (Linux).
    EachRoundTrip,
}

/// Definition of s, the segment size of the throughput equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Segment {
    /// The segment size s is the mean data size of the packets sent in the open and the last four closed loss intervals
    /// (RFC 5348 section 4.1).
    Average,
    /// The segment size s is that of a full packet: the equation then yields packets per second (RFC 4342 section 5.3;
    /// ns-2).
    Full,
    /// The segment size s is a moving average of the packets' data sizes in whole bytes, with weight 0.1 for the newest
    /// packet. It is also used for `W_init` (Linux).
    Smoothed,
}

/// Definition of `t_RTO`, the retransmission timeout in the throughput equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum RtoRule {
    /// `t_RTO` is four round-trip times, 4R (RFC 5348 section 3.1).
    FourRtt,
    /// `t_RTO` is the timeout of a TCP sender with a coarse clock (ns-2).
    Tcp,
}

/// Definition of `W_init`, the initial window: the initial rate is one such window per round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum InitialWindow {
    /// The initial window is `min(4 MSS, max(2 MSS, 4380 B))` (RFC 3390; RFC 5348 section 4.2).
    Bytes,
    /// The initial window is 4 packets of at most 1095 B, 3 of less than 2190 B, else 2 (ns-2 `rate_init_option_` 2).
    Packets,
    /// The initial window is `min(10 MSS, max(2 MSS, 14600 B))` (RFC 6928), as in the TCPs of today.
    Ten,
}

impl InitialWindow {
    /// Returns `W_init` in bytes, for packets of up to `mss` bytes (RFC 5348 section 4.2).
    pub(super) fn bytes(self, mss: f64) -> f64 {
        match self {
            Self::Bytes => f64::min(4.0 * mss, f64::max(2.0 * mss, 4380.0)),
            Self::Ten => f64::min(10.0 * mss, f64::max(2.0 * mss, 14_600.0)),
            Self::Packets if mss <= 1095.0 => 4.0 * mss,
            Self::Packets if mss < 2190.0 => 3.0 * mss,
            Self::Packets => 2.0 * mss,
        }
    }
}

/// Growth of the rate before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SlowStart {
    /// The rate doubles once per round trip, at least to the initial rate (RFC 5348 section 4.3).
    Doubling,
    /// The rate doubles once per round trip, at least to one packet per round trip (RFC 3448, Linux).
    DoublingFromOne,
    /// The rate doubles once per round trip. If it is above the receive limit, it falls to half of that (ns-2
    /// `slow_increase_` 0).
    Stepwise,
    /// The rate doubles once per round trip, in steps spread over the packets of a round trip. If it is above the
    /// receive limit, it falls to half of that (ns-2 `slow_increase_` 1).
    Spread,
}

/// Growth of the rate after the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Increase {
    /// The rate grows immediately to the rate that the equation and the receive limit allow (RFC 5348 section 4.3).
    Jump,
    /// The rate grows by one packet per round trip in each round trip, up to the rate of the equation and the receive
    /// limit. That limit is at least one packet per round trip, or the initial rate if the application limited the rate
    /// recently (ns-2).
    PacketPerRtt,
}

/// Limit of the sending rate by the receive rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ReceiveLimit {
    /// The limit is twice the maximum receive rate reported in the last two round trips. A report on a period in which
    /// the application limited the rate lowers it only if it contains a new loss (RFC 5348 section 4.3).
    RecentMaximum,
    /// The limit is twice the receive rate of the last report (RFC 3448 section 4.3; ns-2; Linux).
    Last,
    /// The limit is 1.5 times the receive rate of the last report, or once that rate if the report contains a new loss.
    /// Before the first loss it is twice that rate (ns-2 `conservative_`).
    Conservative,
}

/// Time after which the nofeedback timer expires, from a report or an earlier expiry; R is the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Nofeedback {
    /// The timer expires after `max(4R, 2s/X)`, with R the round-trip time, s the segment size and X the rate (RFC 5348
    /// section 4.3).
    FourRtt,
    /// The timer expires after `max(4R, 200 ms, 2s/X)`, with R the round-trip time, s the segment size and X the rate;
    /// before the first report, after 2 s, or `2s/X` if that is longer (Linux).
    FourRttBounded,
    /// The timer expires after `max(2R, 2s/X)`, with R the round-trip time, s the segment size and X the rate before
    /// the report (ns-2).
    TwoRtt,
}

/// Effect of an expiry of the nofeedback timer. All rules halve the rate; they differ for an idle sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Idle {
    /// The rate of an idle sender is halved only from twice the initial rate on or, after a loss, only if the receive
    /// rate is at least the initial rate (RFC 5348 section 4.4).
    Rfc5348,
    /// An idle sender keeps at least the initial rate, or its rate if that is lower (RFC 4342 section 5.1).
    Rfc4342,
    /// The rate of an idle sender is halved only if the receive rate is at least four packets per round trip (RFC 3448
    /// section 4.4).
    Rfc3448,
    /// An idle sender keeps at least the initial rate, or its rate if that is lower; the current rate of a busy sender
    /// is halved (ns-2).
    HalvedToInitial,
    /// The rate is halved; after two idle round trips the limit by the receive rate is at least the initial rate
    /// (Linux).
    HalvedAndLifted,
}

/// Rule that determines when the next packet may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Pacing {
    /// A packet is due s / X after the nominal time of the previous packet, with segment size s and the current rate X.
    /// Unused permissions are kept for a round trip (RFC 5348 section 4.6). If several packets are due per `t_gran`,
    /// they are sent together.
    Nominal,
    /// As `nominal`, but every second packet is sent together with the one before, a gap early, if there are four or
    /// more packets in a round trip. The bottleneck then queues one of both, so that a loss filter can see whether
    /// queues cause losses.
    Pairs,
    /// A packet is due when a timer expires that the previous packet set; later rates do not change the timer. Reports
    /// in slow start and the nofeedback timer permit a packet immediately. One unused permission is kept (ns-2).
    Timer,
    /// A packet is due s / X after the nominal time of the previous packet, with segment size s and rate X from before
    /// that packet. Unused permissions are kept indefinitely. A packet may be sent half of `t_gran` early; one that
    /// must wait is sent by a timer that ticks every `t_gran` (Linux).
    Scheduled,
    /// A packet is due s / X after the previous packet, with segment size s and the current rate X. Unused permissions
    /// are not kept.
    Even,
}

/// Size with which a packet counts in pacing, where it determines the time to the next packet, and in the receive rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Paced {
    /// A packet counts with its data size: X and the receive rate are in bytes per second (RFC 5348 sections 4.3 and
    /// 4.6). At rates below one packet per four round trips, each received packet counts as a segment of size s.
    Bytes,
    /// Any packet, sent or received, counts with the segment size s (RFC 4342 section 5.3; ns-2).
    Packets,
    /// Sent packets count with the segment size s, received ones with their bytes (the example of RFC 5348 section 4.6
    /// taken literally; Linux): small packets after large ones then appear as a low receive rate. At rates below one
    /// packet per four round trips, received packets count as s, too.
    Segments,
}

impl Options for TfrcOptions {
    fn preset(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Headway1 => Self::rfc().recovering(),
            Dialect::Rfc | Dialect::Ns3 => Self::rfc(),
            Dialect::Ns2 => Self::ns2(),
            Dialect::Linux => Self::linux(),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_range("moving_average", self.moving_average.unwrap_or(1.0), 0.01..=1.0)?;
        check_range("tcp_tick", self.tcp_tick, Duration::from_nanos(1)..=MAX_TICK)?;
        check_range("probe_interval", self.probe_interval.unwrap_or(MAX_GAP), MIN_PROBE_INTERVAL..=MAX_GAP)?;
        check_range("min_rto", self.min_rto, Duration::ZERO..=MAX_GAP)?;
        self.expert.check().map_err(|error| error.within("expert"))?;
        match &self.uddj {
            Some(_) if self.loss_filter != Some(LossFilterKind::Uddj) => {
                Err(OptionError::new("uddj", "this table has no effect without `loss_filter = \"uddj\"`"))
            }
            Some(uddj) => uddj.check(),
            None => Ok(()),
        }
    }

    fn unused(&self) -> Vec<OptionError> {
        let discounting =
            |key| unused_unless(self.discounting, key, "discounting = true").map(|error| error.within("expert"));
        [
            discounting("discount_threshold"),
            discounting("discount_kept"),
            unused_unless(self.expert.t_rto == RtoRule::Tcp, "tcp_tick", "expert.t_rto = \"tcp\""),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl TfrcExpert {
    fn check(&self) -> Result<(), OptionError> {
        check_range("discount_threshold", self.discount_threshold, 0.01..=1.0)?;
        check_range("rtt_filter", self.rtt_filter, 0.0..=0.999)?;
        check_range("t_gran", self.t_gran, Duration::ZERO..=MAX_TICK)?;
        check_range("min_interval", self.min_interval, Duration::ZERO..=MAX_GAP)?;
        let zero = [
            ("loss_after", self.loss_after == 0),
            ("max_rate", self.max_rate == Some(Rate::from_bits_per_second(0))),
            ("start_rate", self.start_rate == Some(Rate::from_bits_per_second(0))),
            ("nominal_segment", self.nominal_segment == Some(Bytes::new(0))),
        ];
        match zero.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((key, _)) => Err(OptionError::new(key, "0 is out of range: write more than 0")),
            None => Ok(()),
        }
    }
}

impl TfrcOptions {
    /// Returns the packet size of the equation, in bytes; `s` if none is set.
    pub(super) fn nominal(&self, s: f64) -> f64 {
        self.expert.nominal_segment.map_or(s, |nominal| nominal.count() as f64)
    }

    /// Returns the requirements of a loss filter on the carrier.
    pub(crate) fn needs(&self) -> &'static [Need] {
        match self.loss_filter {
            None => &[],
            Some(LossFilterKind::Oracle) => &[Need::ChannelLosses],
            Some(_) => &[Need::SenderClock, Need::RoundTrip],
        }
    }

    /// Returns RFC 5348 and 4342. Choices: history discounting is on (RFC 5348 section 5.5), s is measured, and
    /// undecided packets are excluded from the open interval, as in RFC 4342 section 6.1, so that both forms of
    /// feedback agree.
    fn rfc() -> Self {
        Self {
            open_interval: OpenInterval::ToFirstHole,
            first_interval: FirstInterval::GreatestRate,
            discounting: true,
            moving_average: None,
            feedback: FeedbackClock::Timer,
            loss_filter: None,
            uddj: None,
            min_rto: Duration::ZERO,
            tcp_tick: Duration::from_millis(100),
            increase: Increase::Jump,
            receive_limit: ReceiveLimit::RecentMaximum,
            nofeedback: Nofeedback::FourRtt,
            idle: Idle::Rfc4342,
            paced: Paced::Bytes,
            faster_restart: false,
            silence_restarts: false,
            remembers_rate: false,
            silent_samples: true,
            probe_interval: None,
            events_in_a_gap: true,
            expert: TfrcExpert {
                loss_after: 3,
                late_arrivals_fill: true,
                loss_events: LossEvents::ArrivalTime,
                discount_threshold: 0.25,
                discount_kept: DiscountKept::Closed,
                whole_intervals: false,
                counter_samples: CounterSamples::EachStep,
                segment: Segment::Average,
                rtt_filter: 0.9,
                handshake_rtt_counts: false,
                t_rto: RtoRule::FourRtt,
                bounded_timeout_term: false,
                tabled_equation: false,
                max_rate: None,
                start_rate: None,
                initial_window: InitialWindow::Bytes,
                slow_start: SlowStart::Doubling,
                minimum_rate: true,
                reduce_oscillations: true,
                pacing: Pacing::Nominal,
                t_gran: Duration::ZERO,
                counter_keeps_up: true,
                nominal_segment: None,
                header: Bytes::new(0),
                min_interval: Duration::ZERO,
                short_intervals: false,
            },
        }
    }

    /// Returns the options with the rules for silences of [`silence`](crate::toolbox::Silence).
    fn recovering(self) -> Self {
        Self {
            silence_restarts: true,
            remembers_rate: true,
            silent_samples: false,
            probe_interval: Some(PROBE_INTERVAL),
            events_in_a_gap: false,
            ..self
        }
    }

    /// Returns ns-2.35: tcp/tfrc.cc, tcp/tfrc-sink.cc, tcp/formula.h, tcl/lib/ns-default.tcl.
    fn ns2() -> Self {
        let rfc = Self::rfc();
        Self {
            open_interval: OpenInterval::AfterLoss,
            first_interval: FirstInterval::LastRtt,
            feedback: FeedbackClock::Arrival,
            increase: Increase::PacketPerRtt,
            receive_limit: ReceiveLimit::Last,
            nofeedback: Nofeedback::TwoRtt,
            idle: Idle::HalvedToInitial,
            paced: Paced::Packets,
            expert: TfrcExpert {
                loss_after: 1,
                late_arrivals_fill: false,
                loss_events: LossEvents::SendTime,
                discount_threshold: 0.5,
                discount_kept: DiscountKept::Averaged,
                segment: Segment::Full,
                rtt_filter: 0.95,
                t_rto: RtoRule::Tcp,
                bounded_timeout_term: true,
                max_rate: Some(Rate::from_bits_per_second(200_000_000)),
                start_rate: Some(Rate::from_bits_per_second(2400)),
                initial_window: InitialWindow::Packets,
                slow_start: SlowStart::Spread,
                minimum_rate: false,
                pacing: Pacing::Timer,
                ..rfc.expert
            },
            ..rfc
        }
    }

    /// Returns Linux 6.1: net/dccp/ccids/ccid3.c and lib/, net/dccp/output.c, with HZ 250, except the ticks of its
    /// nofeedback timer and its fixed-point fractions.
    fn linux() -> Self {
        let rfc = Self::rfc();
        Self {
            open_interval: OpenInterval::ToHighest,
            first_interval: FirstInterval::SinceReport,
            discounting: false,
            feedback: FeedbackClock::WindowCounterSettled,
            receive_limit: ReceiveLimit::Last,
            nofeedback: Nofeedback::FourRttBounded,
            idle: Idle::HalvedAndLifted,
            paced: Paced::Segments,
            expert: TfrcExpert {
                late_arrivals_fill: false,
                loss_events: LossEvents::WindowCounter,
                whole_intervals: true,
                counter_samples: CounterSamples::EachRoundTrip,
                segment: Segment::Smoothed,
                handshake_rtt_counts: true,
                tabled_equation: true,
                slow_start: SlowStart::DoublingFromOne,
                reduce_oscillations: false,
                pacing: Pacing::Scheduled,
                t_gran: Duration::from_millis(4),
                counter_keeps_up: false,
                ..rfc.expert
            },
            ..rfc
        }
    }
}
