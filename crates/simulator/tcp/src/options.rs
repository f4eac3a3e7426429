//! What a TCP connection is told: one set of rules for all kinds. `presets.rs` has its defaults.

use headway_units::{Bytes, Duration, OptionError, QueueSize, RtoFloor, check_range, unused_unless};

/// Numbers travel as 32 bits in SACK blocks and are compared within half of that.
const MOST_SEGMENTS: u64 = 1 << 30;
/// A timeout that is shorter floods the path at each loss; Linux has no shorter timer at 1000 Hz.
const LEAST_RTO: Duration = Duration::from_millis(1);
/// Eleven days: no run is longer.
const LONGEST_RTO: Duration = Duration::from_secs(1_000_000);
/// No acknowledgement waits longer (RFC 5681 section 4.2).
const LONGEST_DELAYED_ACK: Duration = Duration::from_millis(500);
/// The least timeout of RFC 6298: a sender that waits longer by itself would lose each race with its timer.
const LONGEST_OVERHEAD: Duration = Duration::from_secs(1);

/// The rules of a sender and its sink. Sizes are IP bytes on the wire; windows are in segments (a size in bytes counts
/// as so many payloads). Defaults are the preset of the kind and dialect.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The receiver's window, and with it the most that is ever in flight (ns-2 `window_`). With `pipe = "fack"` what has been received behind a
    /// hole does not count.
    pub window: QueueSize,
    /// A full data segment on the wire, headers included.
    pub segment: Bytes,
    /// Headers of a data segment.
    pub header: Bytes,
    /// The SYN on the wire; absent: as `header` (ns-2's Vegas sends one of full size).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_size: Option<Bytes>,
    /// An acknowledgement without SACK blocks.
    pub ack_size: Bytes,
    /// What each SACK block adds to an acknowledgement.
    pub sack_block_size: Bytes,
    /// SACK blocks in an acknowledgement at most, 0 to 3; senders without SACK ignore them.
    pub sack_blocks: u8,

    /// The window after the SYN's answer (ns-2 `windowInit_`).
    pub initial_window: QueueSize,
    /// Caps `initial_window` at `max(2, this / payload)` segments (RFC 3390: `"4380B"` with 4 packets, RFC 6928:
    /// `"14600B"` with 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window_bytes: Option<Bytes>,
    /// Where slow start ends before any loss; absent: at `window`, which is never passed anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<QueueSize>,

    /// The least retransmission timeout.
    pub min_rto: Duration,
    /// The most, back-off included; at least 1ms.
    pub max_rto: Duration,
    /// Before the first round-trip sample; from 1ms to `max_rto`.
    pub initial_rto: Duration,
    /// After a lost SYN, as long as nothing is measured (RFC 6298 step 5.7), from 1ms to `max_rto`; absent: the back-off stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_loss_rto: Option<Duration>,
    /// What `min_rto` is the least of.
    pub rto_floor: RtoFloor,
    /// The granularity of the sender's clock (G of RFC 6298).
    pub tick: Duration,
    /// How long before time zero the sender's clock ticked, less than `tick` (ns-2 draws it at random).
    pub clock_phase: Duration,
    /// Round-trip samples from each acknowledgement of new data (RFC 7323) instead of one segment a window.
    pub timestamps: bool,
    /// Whether such a sample ends the back-off (ns-2 `ts_resetRTO_`).
    pub timestamps_reset_backoff: bool,

    /// Duplicate acknowledgements that start a fast retransmit.
    pub dupack_threshold: u32,
    /// A new segment for each of the duplicates before (RFC 3042).
    pub limited_transmit: bool,
    /// What is halved at a loss.
    pub halving: Halving,
    /// What cwnd becomes when a loss halves it.
    pub halved_window: HalvedWindow,
    /// cwnd becomes `min(ssthresh, max(FlightSize, least) + 1)` at the end of NewReno's recovery (RFC 6582 step 3, option 1;
    /// ns-2 `exit_recovery_fix_`). `exit_recovery_least_flight` is the least.
    pub exit_recovery_fix: bool,
    /// The least FlightSize that `exit_recovery_fix` counts with, in segments: 1 (RFC 6582) or 0 (ns-2).
    pub exit_recovery_least_flight: u32,
    /// The acknowledgement that ends a fast recovery also opens the window.
    pub grow_on_exit: bool,
    /// NewReno's window shrinks by what a partial acknowledgement covers (RFC 6582 step 3).
    pub partial_window_deflation: bool,
    /// When NewReno's partial acknowledgements restart the retransmission timer.
    pub partial_ack_timer: PartialAckTimer,
    /// New segments that one acknowledgement may release in NewReno's recovery; absent: as the window allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_burst: Option<QueueSize>,

    /// How SACK estimates what is in the network.
    pub pipe: Pipe,
    /// Proportional rate reduction (RFC 6937) in SACK's recovery instead of an immediate cut.
    pub proportional_rate_reduction: bool,
    /// Once in recovery, packets are trusted to arrive in the order in which they were sent: one received makes all sent
    /// before it lost, retransmissions too (RACK of RFC 8985 on a path without reordering).
    pub rack: bool,
    /// A recovery begins before three duplicates if a segment has arrived that was sent a quarter of the least round trip after the missing
    /// one (RACK's reordering window, RFC 8985 section 6.2). With `pipe = "scoreboard"`.
    pub rack_window: bool,
    /// SACK's knowledge outlives a timeout (RFC 6675 section 5.1 leaves it open, RFC 2018 forbids it).
    pub keep_sack_after_timeout: bool,

    /// Whether the window grows by acknowledgements or by what they acknowledge (RFC 3465, RFC 5681 section 3.1).
    pub ack_counting: AckCounting,
    /// Segments that one acknowledgement may add in slow start when segments count (L of RFC 3465); only one after a
    /// timeout, unless this is 4294967295, which means no limit.
    pub slow_start_limit: u32,
    /// How the window grows in congestion avoidance.
    pub increase: Increase,
    /// The window grows even if less was in flight than it allows (ns-2 `control_increase_` 0).
    pub grow_when_limited: bool,
    /// What is left of the window after a silence longer than the timeout.
    pub restart_after_idle: Restart,

    /// Segments that one event may release; absent: as the window allows (ns-2 `maxburst_`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<QueueSize>,
    /// Each release waits uniformly 0 to this long, which breaks phase effects (ns-2 `overhead_`); at most 1s, the least
    /// timeout of RFC 6298.
    pub overhead: Duration,

    /// Segments go one after the other, SRTT / cwnd apart, instead of as soon as the window admits them (Aggarwal, Savage and Anderson
    /// 2000). Fast retransmits and what goes before the first round trip is measured do not wait. Without `overhead`.
    pub paced: bool,

    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Whether retransmissions carry ECT and CWR (RFC 3168 section 6.1.5 forbids it, ns-2 does it; there a repeated SYN
    /// carries CWR, too).
    pub ecn_on_retransmission: bool,
    /// What a mark leaves of the window at least, in segments, 1 or 2. A timeout leaves 1 with either. With 1 the sender answers a further mark by waiting for its
    /// retransmission timer (RFC 3168 section 6.1.2); with 2 it does not slow down further (Linux).
    pub ecn_least_window: u32,

    /// Whether data goes as ECT(1), which asks for the service of L4S (RFC 9331 section 4.1): only for senders that take a mark as lightly as
    /// `tcp-dctcp` does.
    pub l4s: bool,
    /// What a sink says of marks.
    pub ecn_echo: EcnEcho,
    /// DCTCP's g: the weight of a window in its estimate of how much is marked (RFC 8257 section 3.3).
    pub dctcp_gain: f64,

    /// The sink acknowledges every second segment, or after this long, at most 500ms (RFC 5681 section 4.2); absent: every
    /// segment at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Duration>,
    /// Segments that a sink with delayed acknowledgements answers at once at the start (Linux's quick-ACK mode).
    pub quick_acks: u32,
    /// The same after a segment out of order.
    pub quick_acks_after_gap: u32,
    /// The last of the segments that a sender releases together carries PSH, which a sink answers at once (Linux).
    pub push: bool,
    /// The last segment of a session, which has the FIN, is answered at once, as stacks do.
    pub answer_fin: bool,
    /// A repeated last segment may be acknowledged late like a new one (ns-2's DelAck sink does).
    pub delay_duplicates: bool,

    /// CUBIC's C, in segments per second cubed.
    pub cubic_scale: f64,
    /// CUBIC's and BIC's multiplicative decrease: what is left of the window.
    pub beta: f64,
    /// CUBIC and BIC give way earlier when their plateau sinks (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// CUBIC's Reno-friendly region (RFC 9438 section 4.3).
    pub reno_friendly: bool,
    /// In it, the increase is that of Reno once the window of before the loss is reached (RFC 9438 section 4.3).
    pub reno_friendly_alpha_rises: bool,
    /// Until a loss has set W_max, and again after a timeout, CUBIC opens by 5 % a round trip at least (Linux).
    pub grow_without_plateau: bool,
    /// CUBIC leaves slow start on a long ACK train or growing delay (Ha and Rhee 2008).
    pub hystart: bool,

    /// Which Vegas `tcp-vegas` is.
    pub vegas: VegasRules,
    /// Below so many segments in the queue Vegas opens its window.
    pub vegas_alpha: u32,
    /// Above so many it closes it.
    pub vegas_beta: u32,
    /// Above so many it leaves slow start.
    pub vegas_gamma: u32,

    /// Veno's beta: with this many segments in the queue or more, a loss is one of congestion.
    pub veno_beta: u32,

    /// Up to this window, in segments, BIC is Reno.
    pub bic_low_window: u32,
    /// BIC's S_max: segments that a round trip adds at most; from 1 on.
    pub bic_max_increment: u32,
    /// Round trips in which BIC adds the last four segments before W_max, and the first four after it; from 1 on.
    pub bic_smooth_part: u32,

    /// How Westwood estimates its bandwidth.
    pub bandwidth_filter: BandwidthFilter,
    /// T of the `tustin` filter (Mascolo and others 2001).
    pub bandwidth_time_constant: Duration,

    /// JTCP's k: a loss is congestion if the jitter ratio is above k / cwnd.
    pub jitter_threshold: f64,
}

/// Which Vegas `tcp-vegas` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasRules {
    /// The University of Arizona's, with its own fine-grained retransmission, as ns-2's Agent/TCP/Vegas has it.
    Arizona,
    /// Linux's: only the window's growth, over SACK's recovery.
    Linux,
}

/// How Westwood estimates its bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthFilter {
    /// Westwood+: a sample a round trip, smoothed twice (Linux).
    Plus,
    /// Westwood of 2001: a sample an acknowledgement, through a filter of two poles.
    Tustin,
    /// Westwood+ in the integers of Linux 2.6, which halves ssthresh as Reno does; over `pipe = "fack"`, whose events it follows
    /// (ns-2 Agent/TCP/Linux).
    Linux,
}

/// What a sink says of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnEcho {
    /// That there was one, until the sender says that it has heard (RFC 3168 section 6.1.3).
    UntilHeard,
    /// Of each segment whether it was marked: an acknowledgement covers segments that were marked alike (RFC 8257 section 3.2).
    Exact,
}

/// What a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// `min(cwnd, window)`, and again at each further timeout (ns-2, Linux).
    Window,
    /// FlightSize, without what Limited Transmit sent (RFC 5681 section 3.1). Within one loss event a timeout never raises
    /// ssthresh.
    Flight,
    /// The least of FlightSize, without what Limited Transmit sent, and `min(cwnd, window)`. SACKed data are part of FlightSize until they
    /// are acknowledged in sequence, but not in the network (RFC 6675 section 5.1 leaves open what a timeout halves).
    Network,
}

/// What cwnd becomes when a loss or a mark halves it. ssthresh is the half in whole segments, two at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalvedWindow {
    /// ssthresh (RFC 5681 section 3.2 step 2).
    Ssthresh,
    /// The half with its fraction, even if it is below two segments (ns-2 `precisionReduce_` 1).
    Fractional,
    /// The half in whole segments, even if it is one or none (ns-2 `precisionReduce_` 0).
    Whole,
}

/// When partial acknowledgements restart the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAckTimer {
    /// The first only: many losses end in a timeout.
    Impatient,
    /// Each: many losses take a round trip each.
    SlowButSteady,
}

/// How SACK estimates what is in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// A counter: one less for each acknowledgement, one more for each segment sent (ns-2 Sack1; Fall and Floyd 1996).
    Counted,
    /// From the scoreboard (RFC 6675 section 4).
    Scoreboard,
    /// The same by the highest block, with the recovery and the estimate of the round trip of Linux 2.6 (ns-2 Agent/TCP/Linux).
    Fack,
}

/// What makes the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckCounting {
    /// Each acknowledgement counts as one, whatever it covers.
    Acks,
    /// The segments that it covers.
    Segments,
}

/// How the window grows in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// By 1/cwnd each time (RFC 5681 equation 3; ns-2 `windowOption_` 1).
    Fractional,
    /// By a whole segment after cwnd of them (RFC 5681 section 3.1, recommended; ns-2 `windowOption_` 0; Linux).
    Whole,
}

/// What is left of the window after a silence longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// All of it.
    Keep,
    /// One segment: the timer runs on without anything in flight (ns-2 `slow_start_restart_`).
    One,
    /// The initial window at most (RFC 5681 section 4.1).
    InitialWindow,
    /// Half for each timeout that passed, the initial window at least (RFC 2861, Linux).
    Decay,
}

impl Rules {
    /// A size as segments, one at least.
    pub(crate) fn segments(&self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Packets(packets) => packets.max(1),
            QueueSize::Bytes(bytes) => (bytes.count() / self.payload().count().max(1)).max(1),
        }
    }
    /// Returns the limit of the window, in segments.
    #[must_use]
    pub fn window_segments(&self) -> u64 {
        self.segments(self.window)
    }
    /// How far ahead of the first missing segment another may be sent, and is taken.
    pub(crate) fn reach(&self) -> u64 {
        // Agent/TCP/Linux bounds by its window what is in the network; what waits behind a hole is beside it, and ns-2's sinks take any.
        if self.pipe == Pipe::Fack { MOST_SEGMENTS } else { self.window_segments() }
    }
    /// Bytes of data in a full segment.
    pub(crate) fn payload(&self) -> Bytes {
        Bytes::new(self.segment.count().saturating_sub(self.header.count()))
    }
    /// The initial window in segments.
    pub(crate) fn initial_window_segments(&self) -> u64 {
        let packets = self.segments(self.initial_window);
        match self.initial_window_bytes {
            Some(bytes) => packets.min((bytes.count() / self.payload().count().max(1)).max(2)),
            None => packets,
        }
    }

    /// Returns the keys that have no effect on any kind, because of the values of other keys.
    pub(crate) fn unused(&self) -> Vec<OptionError> {
        let with_ecn = |key| unused_unless(self.ecn, key, "ecn = true");
        let with_delay = |key| unused_unless(self.delayed_ack.is_some(), key, "delayed_ack");
        [
            with_ecn("ecn_on_retransmission"),
            with_ecn("ecn_least_window"),
            with_delay("quick_acks"),
            with_delay("quick_acks_after_gap"),
            with_delay("delay_duplicates"),
            unused_unless(
                self.ack_counting == AckCounting::Segments,
                "slow_start_limit",
                "ack_counting = \"segments\"",
            ),
            unused_unless(self.sack_blocks > 0, "sack_block_size", "sack_blocks above 0"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let fail = |key, message: String| Err(OptionError::new(key, message));
        let largest = Bytes::new(65_535);
        for (key, size) in [
            ("segment", self.segment),
            ("ack_size", self.ack_size),
            ("header", self.header),
            ("sack_block_size", self.sack_block_size),
            ("syn_size", self.syn_size.unwrap_or(self.header)),
        ] {
            if size > largest {
                return fail(key, format!("{size} is more than an IP packet holds: at most {largest}"));
            }
        }
        if self.header.count() == 0 || self.header >= self.segment {
            return fail(
                "header",
                format!(
                    "{} leaves no payload in a segment of {}: it must be from 1B to less",
                    self.header, self.segment
                ),
            );
        }
        if self.ack_size.count() == 0 {
            return fail("ack_size", "0B is no packet: it must be at least 1B".into());
        }
        if self.syn_size.is_some_and(|size| size.count() == 0) {
            return fail("syn_size", "0B is no packet: it must be at least 1B".into());
        }
        if usize::from(self.sack_blocks) > crate::SackBlocks::MAX {
            return fail("sack_blocks", format!("{} blocks do not fit: from 0 to 3", self.sack_blocks));
        }
        let most = MOST_SEGMENTS;
        for (key, size) in [("window", Some(self.window)), ("initial_window", Some(self.initial_window))]
            .into_iter()
            .chain([("initial_ssthresh", self.initial_ssthresh)])
            .chain([("max_burst", self.max_burst), ("recovery_burst", self.recovery_burst)])
        {
            let Some(size) = size else { continue };
            if matches!(size, QueueSize::Packets(0)) || self.segments(size) > most {
                return fail(key, format!("{size} is out of range: from 1packets to {most}packets"));
            }
        }
        check_range("tick", self.tick, Duration::from_nanos(1)..=Duration::from_secs(1))?;
        if self.clock_phase >= self.tick {
            return fail(
                "clock_phase",
                format!("{} is out of range: from 0s to less than the tick of {}", self.clock_phase, self.tick),
            );
        }
        check_range("max_rto", self.max_rto, LEAST_RTO..=LONGEST_RTO)?;
        if self.min_rto > self.max_rto {
            return fail("min_rto", format!("{} is out of range: from 0s to max_rto, {}", self.min_rto, self.max_rto));
        }
        check_range("initial_rto", self.initial_rto, LEAST_RTO..=self.max_rto)?;
        check_range("syn_loss_rto", self.syn_loss_rto.unwrap_or(self.max_rto), LEAST_RTO..=self.max_rto)?;
        check_range("overhead", self.overhead, Duration::ZERO..=LONGEST_OVERHEAD)?;
        if self.paced && !self.overhead.is_zero() {
            return fail(
                "paced",
                "a release that overhead delays at random has no even gaps: set one of the two".into(),
            );
        }
        if self.dupack_threshold == 0 {
            return fail("dupack_threshold", "0 would resend without a sign of loss: at least 1".into());
        }
        if self.exit_recovery_least_flight > 1 {
            let least = self.exit_recovery_least_flight;
            return fail("exit_recovery_least_flight", format!("{least} is out of range: from 0 to 1"));
        }
        if !(1..=2).contains(&self.ecn_least_window) {
            return fail("ecn_least_window", format!("{} is out of range: write 1 or 2", self.ecn_least_window));
        }
        if self.slow_start_limit == 0 {
            return fail("slow_start_limit", "0 would never leave the initial window: at least 1".into());
        }
        if self.delayed_ack.is_some_and(|delay| delay.is_zero()) {
            return fail("delayed_ack", "0s is no delay: leave the key away to acknowledge at once".into());
        }
        check_range("delayed_ack", self.delayed_ack.unwrap_or_default(), Duration::ZERO..=LONGEST_DELAYED_ACK)?;
        if !(self.beta > 0.0 && self.beta < 1.0) {
            return fail("beta", format!("{} is out of range: above 0 and below 1", self.beta));
        }
        if !(self.cubic_scale > 0.0 && self.cubic_scale <= 1e6) {
            return fail("cubic_scale", format!("{} is out of range: above 0 and at most 1e6", self.cubic_scale));
        }
        if self.vegas_alpha > self.vegas_beta {
            return fail(
                "vegas_alpha",
                format!("{} is out of range: from 0 to vegas_beta, {}", self.vegas_alpha, self.vegas_beta),
            );
        }
        for (key, number) in [("bic_max_increment", self.bic_max_increment), ("bic_smooth_part", self.bic_smooth_part)]
        {
            if number == 0 {
                return fail(key, "0 would never open the window: at least 1".into());
            }
        }
        if self.bandwidth_filter == BandwidthFilter::Linux && self.pipe != Pipe::Fack {
            return fail(
                "bandwidth_filter",
                "linux goes by what pipe = \"fack\" tells it: set both, or another filter".into(),
            );
        }
        let constants = Duration::from_millis(1)..=Duration::from_secs(1000);
        check_range("bandwidth_time_constant", self.bandwidth_time_constant, constants)?;
        if self.l4s && !self.ecn {
            return fail("l4s", "without ecn = true nothing goes as ECT(1): set both".into());
        }
        if !(self.dctcp_gain > 0.0 && self.dctcp_gain <= 1.0) {
            return fail("dctcp_gain", format!("{} is out of range: above 0 and at most 1", self.dctcp_gain));
        }
        check_range("jitter_threshold", self.jitter_threshold, 0.0..=1e6)?;
        Ok(())
    }
}
