//! What TFRC is told: its options, and their presets.

use crate::contract::Need;
use crate::loss_filter::{LossFilterKind, UddjOptions};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::PROBE_INTERVAL;
use headway_units::{Bytes, Dialect, Duration, OptionError, Options, Rate, check_range, unused_unless};

/// Probes that follow one another faster load a path that may have lost all of its rate.
const SHORTEST_PROBE: Duration = Duration::from_millis(1);
/// The longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const LONGEST_GAP: Duration = Duration::from_secs(64);
/// A timer that is coarser than the least timeout of RFC 6298 serves no controller.
const COARSEST_CLOCK: Duration = Duration::from_secs(1);

/// Options of `tfrc` (CCID 3: RFC 5348, RFC 4342), and of `tfrc-sp` in [`TfrcSpOptions`](crate::TfrcSpOptions).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TfrcOptions {
    /// How far the open loss interval reaches.
    pub open_interval: OpenInterval,
    /// The length of the interval before the first loss.
    pub first_interval: FirstInterval,
    /// History discounting (RFC 5348 section 5.5; ns-2 `discount_`). Off: section 5.4.
    pub discounting: bool,
    /// The average is a moving one, in which the newest interval weighs so much, from 0.01 to 1; absent: the weights of RFC 5348 section 5.4.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub moving_average: Option<f64>,
    /// When the receiver reports. Without the sender's clock on data packets it is always the window counter.
    pub feedback: FeedbackClock,
    /// Which losses count; absent: all of them. It needs the sender's clock on data packets.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub loss_filter: Option<LossFilterKind>,
    /// For `loss_filter = "uddj"`; absent: as the paper has it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub uddj: Option<UddjOptions>,
    /// The least `t_RTO` in the equation (RFC 5348 section 3.1 allows 1 s; ns-2 `minrto_`), up to 64s.
    pub min_rto: Duration,
    /// The clock of [`RtoRule::Tcp`] (ns-2 `tcp_tick_`), up to 1s.
    pub tcp_tick: Duration,
    /// How the rate grows after the first loss. It always falls at once.
    pub increase: Increase,
    /// How the receive rate limits the sending rate.
    pub receive_limit: ReceiveLimit,
    /// When the nofeedback timer expires.
    pub nofeedback: Nofeedback,
    /// What its expiry does, above all after an idle time.
    pub idle: Idle,
    /// What a packet takes of the rate.
    pub paced: Paced,
    /// Faster Restart after idle and data-limited times (draft-ietf-dccp-tfrc-faster-restart-06).
    pub faster_restart: bool,

    /// The first report after a silence restarts the flow: slow start from `W_init` in a round trip, without the losses
    /// from before it.
    pub silence_restarts: bool,
    /// After a silence, slow start ends at the rate from before it, which then grows by one packet in each round trip (the slow start
    /// threshold of RFC 5681 section 3.1).
    pub remembers_rate: bool,
    /// A round trip counts although its packet went before or during a silence; false: Karn's rule (RFC 6298 section 3).
    pub silent_samples: bool,
    /// The longest gap between packets during a silence of up to a minute, or a round trip if that is longer. From 1ms to
    /// 64s (`t_mbi` of RFC 5348 section 4.3); absent: the gap follows from the rate.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub probe_interval: Option<Duration>,
    /// Consecutive losses may be several loss events, although no report could leave between them.
    pub events_in_a_gap: bool,

    /// Rules that dialects set, and rules for small packets.
    pub expert: TfrcExpert,
}

/// The table `expert` of [`TfrcOptions`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct TfrcExpert {
    /// Packets that must come after a hole before it counts as lost (NDUPACK of RFC 5348 section 5.1; ns-2 `numPkts_`).
    pub loss_after: u8,
    /// Whether a packet that comes after it was declared lost fills its hole again (RFC 5348 section 5.1).
    pub late_arrivals_fill: bool,
    /// What decides whether two losses belong to one loss event. Without the sender's clock on data packets it is always
    /// the window counter.
    pub loss_events: LossEvents,
    /// The least general discount factor (THRESHOLD of RFC 5348 section 5.5; ns-2 `minDiscountRatio_`), up to 1.
    pub discount_threshold: f64,
    /// What of a closed interval's discount factor stays with those before it.
    pub discount_kept: DiscountKept,
    /// The average loss interval loses its fraction, as in Linux.
    pub whole_intervals: bool,
    /// How often the receiver's round trip is sampled from window counters.
    pub counter_samples: CounterSamples,
    /// What s is.
    pub segment: Segment,
    /// What the old average weighs in R and `R_sqmean` (q of RFC 5348 section 4.3; ns-2 `df_`), below 1.
    pub rtt_filter: f64,
    /// A round trip that the handshake measured is the old average of the first sample, which replaces it otherwise (RFC
    /// 5348 section 4.3).
    pub handshake_rtt_counts: bool,
    /// What `t_RTO` is.
    pub t_rto: RtoRule,
    /// `min(1, 3 sqrt(3bp/8))` in the equation, as in its source (Padhye et al. 1998) and ns-2; it acts for p > 8/27.
    pub bounded_timeout_term: bool,
    /// The equation is read from a table, in steps of p of 0.01 % up to 5 % and of 0.2 % above: a rate from the entry below,
    /// the inverse from the one above (Linux).
    pub tabled_equation: bool,
    /// The most that the equation answers (ns-2's `MAXRATE`); absent: no limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_rate: Option<Rate>,
    /// The rate before anything is known of the round trip (ns-2 `InitRate_`); absent: one packet a second.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub start_rate: Option<Rate>,
    /// `W_init`, what may be sent in the first round trip whose length is known.
    pub initial_window: InitialWindow,
    /// How the rate grows before the first loss.
    pub slow_start: SlowStart,
    /// The rate never falls below one packet in 64 s (`t_mbi` of RFC 5348 section 4.3).
    pub minimum_rate: bool,
    /// The rate gives way to a growing round trip at once (RFC 5348 section 4.5; ns-2 `ca_`).
    pub reduce_oscillations: bool,
    /// When the next packet may go.
    pub pacing: Pacing,
    /// The granularity of the sender's timers: up to half of it, a packet may go early (`t_gran` of RFC 5348 section 8.3). At most
    /// 1s.
    pub t_gran: Duration,
    /// After a report on a packet, the window counter of later ones is four above that packet's at least (RFC 4342 section
    /// 8.1).
    pub counter_keeps_up: bool,
    /// The s of the equation, for small packets (RFC 4828 section 3); to be set lower if the path's MSS is; absent: as
    /// `segment` says.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub nominal_segment: Option<Bytes>,
    /// Headers that count with each packet: the equation's rate is multiplied by s / (s + this) (H of RFC 4828 section 3).
    pub header: Bytes,
    /// The least time between two packets (RFC 4828 section 4.3, RFC 5622 section 5), up to 64s.
    pub min_interval: Duration,
    /// Intervals of at most two round trips count packets lost, not loss events (RFC 4828 section 3).
    pub short_intervals: bool,
}

/// What decides whether two losses belong to one loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum LossEvents {
    /// Arrival times, interpolated for what is missing, against the sender's R (RFC 5348 section 5.2).
    ArrivalTime,
    /// The sender's timestamps, interpolated, and its count of round trips must have risen too (ns-2 `PreciseLoss_` 1).
    SendTime,
    /// The window counter (RFC 4342 section 10.2).
    WindowCounter,
}

/// How far the open loss interval `I_0`, begun by packet `S_A`, reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum OpenInterval {
    /// From `S_A` to the last packet before a hole whose fate is open (Skip Length, RFC 4342 section 6.1).
    ToFirstHole,
    /// From `S_A` to the highest number received, open holes included (RFC 5348 section 5.3).
    ToHighest,
    /// From the packet after `S_A` to the highest number received: the loss counts in the interval that it ends (ns-2).
    AfterLoss,
}

/// By which discount factor an interval that has closed lets those before it weigh less for good (RFC 5348 section 5.5, `DF_i * DF`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum DiscountKept {
    /// That of its whole length.
    Closed,
    /// That of the last average before it closed, which is up to a round trip older (ns-2 `mult_factor_`).
    Averaged,
}

/// The length of the interval before the first loss: the inverse of the equation at some receive rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum FirstInterval {
    /// The greatest so far, exactly inverted (RFC 5348 section 6.3.1).
    GreatestRate,
    /// That of the last round trip, inverted within 5 % and cut to whole packets; the next interval begins at the last
    /// report (ns-2 `AdjustHistoryAfterSS_` 1).
    LastRtt,
    /// That since the last report, cut to whole packets; until the second loss event it is the only one that counts, then
    /// it is forgotten (Linux).
    SinceReport,
}

/// When the receiver reports, beside the first packet and each new loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum FeedbackClock {
    /// When its timer of R expires and data has come (RFC 5348 section 6.2).
    Timer,
    /// With the first packet that comes R after the last report, or 1.5 R after it (ns-2).
    Arrival,
    /// When the window counter is four above that at the last report (RFC 4342 section 10.3).
    WindowCounter,
    /// The same, but not while a hole is open. The receive rate is that since the last report, whenever that was; a loss
    /// event repeats the last one (Linux).
    WindowCounterSettled,
}

/// How often the receiver samples the round trip from window counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum CounterSamples {
    /// At each new counter value, over four steps, or three or two where there are no four (RFC 4342 section 8.1).
    EachStep,
    /// Over four steps, then over the next four; where a packet is missing there, over those that came (Linux).
    EachRoundTrip,
}

/// What s, the segment size, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Segment {
    /// The mean data size of the packets sent in the last four loss intervals (RFC 5348 section 4.1).
    Average,
    /// That of a full packet: the equation then says packets a second (RFC 4342 section 5.3; ns-2).
    Full,
    /// A moving average in whole bytes, a tenth for the newest packet; `W_init` is reckoned with it too (Linux).
    Smoothed,
}

/// What `t_RTO` of the equation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum RtoRule {
    /// 4R (RFC 5348 section 3.1).
    FourRtt,
    /// That of a TCP sender with a coarse clock (ns-2).
    Tcp,
}

/// `W_init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum InitialWindow {
    /// `min(4 MSS, max(2 MSS, 4380 B))` (RFC 3390; RFC 5348 section 4.2).
    Bytes,
    /// 4 packets of at most 1095 B, 3 of less than 2190 B, else 2 (ns-2 `rate_init_option_` 2).
    Packets,
}

impl InitialWindow {
    /// `W_init` in bytes, for packets of up to `mss` bytes (RFC 5348 section 4.2).
    pub(super) fn bytes(self, mss: f64) -> f64 {
        match self {
            Self::Bytes => f64::min(4.0 * mss, f64::max(2.0 * mss, 4380.0)),
            Self::Packets if mss <= 1095.0 => 4.0 * mss,
            Self::Packets if mss < 2190.0 => 3.0 * mss,
            Self::Packets => 2.0 * mss,
        }
    }
}

/// How the rate grows before the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SlowStart {
    /// Twofold once in a round trip, not below the initial rate (RFC 5348 section 4.3).
    Doubling,
    /// Twofold once in a round trip, not below one packet a round trip (RFC 3448, Linux).
    DoublingFromOne,
    /// Twofold once in a round trip; to half the receive limit when above that (ns-2 `slow_increase_` 0).
    Stepwise,
    /// The same, each step spread over the packets of a round trip (ns-2 `slow_increase_` 1).
    Spread,
}

/// How the rate grows after the first loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Increase {
    /// At once to what the equation and the receive limit allow (RFC 5348 section 4.3).
    Jump,
    /// By one packet a round trip in each round trip; the limits are never below one packet a round trip (ns-2).
    PacketPerRtt,
}

/// How the receive rate limits the sending rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ReceiveLimit {
    /// Twice the greatest reported in two round trips; data-limited times do not lower it (RFC 5348 section 4.3).
    RecentMaximum,
    /// Twice that of the last report (RFC 3448 section 4.3; ns-2; Linux).
    Last,
    /// 1.5 times that of the last report, or once after a loss (ns-2 `conservative_`).
    Conservative,
}

/// When the nofeedback timer expires after a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Nofeedback {
    /// After `max(4R, 2s/X)` (RFC 5348 section 4.3).
    FourRtt,
    /// After `max(4R, 200 ms, 2s/X)`; before the first report after 2 s (Linux).
    FourRttBounded,
    /// After `max(2R, 2s/X)`, X that of before the report (ns-2).
    TwoRtt,
}

/// What an expired nofeedback timer does: all halve the rate, and differ where nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Idle {
    /// An idle sender falls to half the initial rate at least (RFC 5348 section 4.4).
    Rfc5348,
    /// An idle sender does not fall below the initial rate (RFC 4342 section 5.1).
    Rfc4342,
    /// An idle sender falls to two packets a round trip at least (RFC 3448 section 4.4).
    Rfc3448,
    /// An idle sender falls to the initial rate at least; a busy one's rate is halved as it is (ns-2).
    HalvedToInitial,
    /// Idle or not, the rate is halved; nothing sent for two round trips lifts the receive limit to the initial rate
    /// (Linux).
    HalvedAndLifted,
}

/// When the next packet may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Pacing {
    /// `t_ipi` after the nominal time of the one before, X as it is now; unused times are kept for a round trip (RFC 5348
    /// section 4.6). Where packets are due more often than each `t_gran`, those of one `t_gran` go together.
    Nominal,
    /// By a timer, set at each packet and not moved by later rates; reports in slow start and the nofeedback timer send a
    /// packet at once; one unused time is kept (ns-2).
    Timer,
    /// `t_ipi` after the nominal time of the one before, s and X as they were before that went; unused times are kept for ever. A
    /// packet may always go half of `t_gran` early, and one that must wait does so for a timer that ticks each `t_gran`
    /// (Linux).
    Scheduled,
    /// `t_ipi` after the packet before has gone, X as it is now; no unused time is kept (even spacing, without bursts to catch up).
    Even,
}

/// What a packet takes of the rate, and so how far it is to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Paced {
    /// Its own data: X is in bytes a second, and so is what arrives (RFC 5348 sections 4.3 and 4.6). Below a packet in four round
    /// trips, each that arrives counts s.
    Bytes,
    /// s, whatever its size, and s is what each packet that arrived counts (RFC 4342 section 5.3; ns-2).
    Packets,
    /// s, but what arrives is counted in bytes (the example of RFC 5348 section 4.6 to the letter; Linux): small packets behind large
    /// ones look like a path that delivers little. Below a packet in four round trips they count s, too.
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
        check_range("tcp_tick", self.tcp_tick, Duration::from_nanos(1)..=COARSEST_CLOCK)?;
        check_range("probe_interval", self.probe_interval.unwrap_or(LONGEST_GAP), SHORTEST_PROBE..=LONGEST_GAP)?;
        check_range("min_rto", self.min_rto, Duration::ZERO..=LONGEST_GAP)?;
        self.expert.check().map_err(|error| error.within("expert"))?;
        match &self.uddj {
            Some(_) if self.loss_filter != Some(LossFilterKind::Uddj) => {
                Err(OptionError::new("uddj", "without `loss_filter = \"uddj\"` these are of no use: write it, too"))
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
        check_range("t_gran", self.t_gran, Duration::ZERO..=COARSEST_CLOCK)?;
        check_range("min_interval", self.min_interval, Duration::ZERO..=LONGEST_GAP)?;
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
    /// The packet size of the equation, in bytes; `s` if no other is set.
    pub(super) fn nominal(&self, s: f64) -> f64 {
        self.expert.nominal_segment.map_or(s, |nominal| nominal.count() as f64)
    }

    /// What a filter of losses needs of its carrier.
    pub(crate) fn needs(&self) -> &'static [Need] {
        match self.loss_filter {
            None => &[],
            Some(LossFilterKind::Oracle) => &[Need::ChannelLosses],
            Some(_) => &[Need::SenderClock, Need::RoundTrip],
        }
    }

    /// RFC 5348 and 4342. Where they leave a choice: history discounting is on (RFC 5348 section 5.5), s is measured, and
    /// holes whose fate is open are left out of the open interval, as RFC 4342 section 6.1 has it; so both forms of
    /// feedback say the same.
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

    /// `rfc` with the rules for silences of [`silence`](crate::toolbox::Silence).
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

    /// ns-2.35: tcp/tfrc.cc, tcp/tfrc-sink.cc, tcp/formula.h, tcl/lib/ns-default.tcl.
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

    /// Linux 6.1: net/dccp/ccids/ccid3.c and lib/, net/dccp/output.c, with HZ 250. Not copied: the ticks
    /// of its nofeedback timer and its fixed-point fractions.
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
