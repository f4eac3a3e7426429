//! Options of a TCP connection: options of all kinds, and groups of options for several kinds. Options of one kind are
//! in its file.

use crate::keys::options;
use crate::segment::{EcnCounts, SackBlocks};
use headway_units::{Bytes, Dialect, Duration, OptionError, QueueSize, RtoFloor, check_range, unused_unless};

/// Maximum data of one unit of segmentation offload (Linux `GSO_LEGACY_MAX_SIZE`, the 64 KiB of an IP packet).
pub(crate) const OFFLOADED: Bytes = Bytes::new(65_536);
/// Maximum window. SACK blocks carry 32-bit numbers, compared within half of this range.
const MAX_SEGMENTS: u64 = 1 << 30;
/// Minimum timeout; shorter ones flood the path at each loss. Linux at 1000 Hz has no shorter timer.
const LEAST_RTO: Duration = Duration::from_millis(1);
/// Maximum timeout: eleven days, longer than any run.
const LONGEST_RTO: Duration = Duration::from_secs(1_000_000);
/// Maximum delay of an acknowledgement (RFC 5681 section 4.2).
const LONGEST_DELAYED_ACK: Duration = Duration::from_millis(500);
/// Maximum `overhead`, the minimum timeout of RFC 6298. With a longer one, the timer would always expire first.
const LONGEST_OVERHEAD: Duration = Duration::from_secs(1);
/// Clock phase of a single agent with `ns-random 1`: the second number of that stream (0.5558807) times 10 ms. ns-2
/// starts the clock of each agent at a random point of a tick.
const NS2_CLOCK_PHASE: Duration = Duration::from_nanos(5_558_807);
/// tcp_grow_window: each segment that raises the receive window is acknowledged immediately. From 34 kB on, 2874
/// segments of 1448 B raise it to the 4 MiB of a window scale of 6. The 16 initial quick ACKs (TCP_MAX_QUICKACKS) are
/// added.
const LINUX_QUICK_ACKS: u32 = 2874 + 16;

options! {
    /// Options of all kinds of TCP. Sizes are IP bytes on the wire. Windows are in segments; a window in bytes is
    /// converted to whole payloads. The first value is the default of dialects rfc and ns3. Values of other dialects
    /// follow: `Ns2` of ns-2.35 (tcl/lib/ns-default.tcl), `Linux` of Linux 6.1 with default sysctls.
    /// `docs/src/tcp/headway.md` gives the evidence for headway-1.
    Rules {
        /// Receiver window, which limits the segments in flight (ns-2 `window_`). With `pipe = "fack"`, segments
        /// received above a hole are not counted.
        Usual window: QueueSize = QueueSize::Packets(10_000), Ns2: QueueSize::Packets(20);
        /// Size of a full data segment on the wire, including headers, at most 65535B.
        Usual segment: Bytes = Bytes::new(1500), Ns2: Bytes::new(1040);
        /// Size of the headers of a data segment, from 1B to less than `segment`.
        Usual header: Bytes = Bytes::new(40), Linux: Bytes::new(52);
        /// Size of the SYN on the wire. If absent: the value of `header` (ns-2's Vegas sends a SYN of full size).
        Usual syn_size: Option<Bytes> = None;

        /// Window after the SYN-ACK (ns-2 `windowInit_`).
        Usual initial_window: QueueSize = QueueSize::Packets(10), Ns2: QueueSize::Packets(2);
        /// Bytes that limit `initial_window` to `max(2, initial_window_bytes / payload)` segments (RFC 3390: `"4380B"`
        /// with 4 packets, RFC 6928: `"14600B"` with 10); `false` for no such limit.
        Usual initial_window_bytes: Option<Bytes> = Some(Bytes::new(14_600)), Ns2: None, Linux: None;
        /// Initial slow-start threshold. If absent: the value of `window`.
        Usual initial_ssthresh: Option<QueueSize> = None;

        /// Minimum retransmission timeout.
        Usual min_rto: Duration = Duration::from_secs(1), Ns2: Duration::from_millis(200), Linux: Duration::from_millis(200);
        /// Quantity that `min_rto` limits.
        Usual rto_floor: RtoFloor = RtoFloor::Rto, Linux: RtoFloor::Variance;
        /// Granularity of the sender's clock (G of RFC 6298), from 1ns to 1s.
        Usual tick: Duration = Duration::from_millis(1), Ns2: Duration::from_millis(10), Linux: Duration::from_micros(1);
        /// How long before the start of the run the sender's clock last ticked, less than `tick` (random in ns-2).
        Usual clock_phase: Duration = Duration::ZERO, Ns2: NS2_CLOCK_PHASE;
        /// Whether each acknowledgement of new data gives a round-trip sample, by timestamps (RFC 7323), instead of one
        /// segment per window.
        Usual timestamps: bool = false, Linux: true;

        /// Number of duplicate acknowledgements that start a fast retransmit, at least 1.
        Usual dupack_threshold: u32 = 3;
        /// Whether each duplicate acknowledgement before the threshold releases a new segment (Limited Transmit, RFC
        /// 3042).
        Usual limited_transmit: bool = true;
        /// Quantity whose half becomes ssthresh after a loss.
        Usual halving: Halving = Halving::Flight, Headway1: Halving::Network, Ns2: Halving::Window, Linux: Halving::Window;
        /// Value of cwnd after a loss or a mark halves it.
        Usual halved_window: HalvedWindow = HalvedWindow::Ssthresh, Ns2: HalvedWindow::Fractional;
        /// Increase of the window in congestion avoidance.
        Usual increase: Increase = Increase::Fractional, Linux: Increase::Whole;

        /// Maximum number of segments that the sender sends at one acknowledgement or timeout (ns-2 `maxburst_`). If
        /// absent: limited by the window only.
        Usual max_burst: Option<QueueSize> = None;
        /// Maximum of the random delay, uniform from 0, after which the sender sends segments that the window permits;
        /// it breaks phase effects (ns-2 `overhead_`); at most 1s, the minimum timeout of RFC 6298.
        Usual overhead: Duration = Duration::ZERO;
        /// Whether segments are paced SRTT / cwnd apart (Aggarwal, Savage and Anderson 2000). Fast retransmits and
        /// segments before the first round-trip sample are not delayed. Excludes `overhead`.
        Usual paced: bool = false;
        /// With `paced`: the sender sends at once the data that the pacing rate sends in this time (at least two
        /// segments, at most 64 KiB), as a host with segmentation offload does (Linux: 1ms); at most 1s. If absent:
        /// each segment is paced.
        Usual segmentation_offload: Option<Duration> = None;

        /// Whether sender and sink use Explicit Congestion Notification (RFC 3168).
        Usual ecn: bool = false;

        /// Maximum time by which the sink (receiver) delays an acknowledgement, at most 500ms (RFC 5681 section 4.2);
        /// it acknowledges every second segment immediately. With `false` it acknowledges every segment immediately.
        // RFC 1122 section 4.2.3.2 requires delayed acknowledgements ("SHOULD"); most implementations use 200 ms.
        Usual delayed_ack: Option<Duration> = Some(Duration::from_millis(200)), Ns2: None, Linux: Some(Duration::from_millis(40));
        /// Number of segments at the start of the connection that a sink with delayed acknowledgements acknowledges
        /// immediately (Linux's quick-ACK mode).
        Usual quick_acks: u32 = 0, Linux: LINUX_QUICK_ACKS;
        /// Number of segments from a segment out of order on that a sink with delayed acknowledgements acknowledges
        /// immediately.
        Usual quick_acks_after_gap: u32 = 0;
        /// Whether the last of several segments released together carries PSH, which a sink acknowledges immediately
        /// (Linux).
        Usual push: bool = false, Linux: true;
        /// Size of an acknowledgement without SACK blocks, from 1B to 65535B.
        Expert ack_size: Bytes = Bytes::new(40), Linux: Bytes::new(52);
        /// Maximum retransmission timeout, including back-off; at least 1ms.
        Expert max_rto: Duration = Duration::from_secs(60), Linux: Duration::from_secs(120);
        /// Retransmission timeout before the first round-trip sample, from 1ms to `max_rto`.
        Expert initial_rto: Duration = Duration::from_secs(1), Ns2: Duration::from_secs(3);
        /// Retransmission timeout after a lost SYN, until the first round-trip sample (RFC 6298 step 5.7), from 1ms to
        /// `max_rto`. With `false` the back-off of the SYN is kept.
        Expert syn_loss_rto: Option<Duration> = Some(Duration::from_secs(3)), Ns2: None;
        /// Whether a round-trip sample from a timestamp ends the back-off (ns-2 `ts_resetRTO_`).
        Expert timestamps_reset_backoff: bool = true, Ns2: false;

        /// What the growth of the window counts: acknowledgements or acknowledged segments (RFC 3465, RFC 5681 section
        /// 3.1).
        Expert ack_counting: AckCounting = AckCounting::Segments, Ns2: AckCounting::Acks;
        /// Maximum increase per acknowledgement in slow start, in segments, with `ack_counting = "segments"` (L of RFC
        /// 3465). It is 1 after a timeout, unless the limit is 4294967295, which means no limit.
        Expert slow_start_limit: u32 = 2, Linux: u32::MAX;
        /// Whether the window grows even if the sender does not use all of it (ns-2 `control_increase_` 0).
        Expert grow_when_limited: bool = false, Ns2: true;
        /// Window with which a sender resumes after it has sent nothing for longer than its retransmission timeout.
        Expert restart_after_idle: Restart = Restart::InitialWindow, Ns2: Restart::One, Linux: Restart::Decay;

        /// Whether retransmissions carry ECT and CWR (RFC 3168 section 6.1.5 forbids it, ns-2 does it). In ns-2 a
        /// repeated SYN also carries CWR.
        Expert ecn_on_retransmission: bool = false, Ns2: true;
        /// Minimum window after an ECN mark, in segments, 1 or 2. A timeout always leaves 1. With 1, a further mark
        /// makes the sender wait for its retransmission timer (RFC 3168 section 6.1.2). With 2, the sender does not
        /// slow down further (Linux).
        Expert ecn_least_window: u32 = 1, Linux: 2;
        /// Method by which a sink (receiver) reports ECN marks.
        Expert ecn_echo: EcnEcho = EcnEcho::UntilCwr;

        /// Whether the sink acknowledges the last segment of a session, which carries the FIN, immediately, as real
        /// stacks do.
        Expert answer_fin: bool = true, Ns2: false;
        /// Whether the sink may delay the acknowledgement of a duplicate of the newest segment received in order, as
        /// ns-2's DelAck sink does.
        Expert delay_duplicates: bool = false, Ns2: true;
    } with {
        /// Options of kinds with fast recovery.
        reno: RenoOptions;
        /// Options of `tcp-newreno` and `tcp-jtcp`.
        newreno: NewRenoOptions;
        /// Options of kinds with SACK.
        sack: SackOptions;
    }
}

options! {
    /// Options of kinds with fast recovery.
    RenoOptions {
        /// Whether the acknowledgement that ends a fast recovery also increases the window, as in congestion avoidance
        /// or slow start.
        Expert grow_on_exit: bool = false, Ns2: true;
    }
}

options! {
    /// Options of `tcp-newreno` and `tcp-jtcp`.
    NewRenoOptions {
        /// Which partial acknowledgements restart the retransmission timer.
        Usual partial_ack_timer: PartialAckTimer = PartialAckTimer::Impatient;
        /// Whether cwnd becomes `min(ssthresh, max(FlightSize, least) + 1)` at the end of a recovery (RFC 6582 step 3,
        /// option 1; ns-2 `exit_recovery_fix_`). `exit_recovery_least_flight` is the least.
        Expert exit_recovery_fix: bool = true, Ns2: false;
        /// Minimum FlightSize used by `exit_recovery_fix`, in segments: 1 (RFC 6582) or 0 (ns-2).
        Expert exit_recovery_least_flight: u32 = 1, Ns2: 0;
        /// Maximum number of new segments that one acknowledgement releases in a recovery. If `false`, or absent except
        /// in dialect ns2: limited by the window only.
        Expert recovery_burst: Option<QueueSize> = None, Ns2: Some(QueueSize::Packets(2));
    }
}

/// Which partial acknowledgements restart the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAckTimer {
    /// Only the first partial acknowledgement of a recovery restarts the retransmission timer. With many losses the
    /// timer then expires.
    Impatient,
    /// Every partial acknowledgement restarts the retransmission timer. The recovery then takes a round trip for each
    /// loss.
    SlowButSteady,
}

options! {
    /// Options of kinds with SACK.
    SackOptions {
        /// Whether a recovery uses proportional rate reduction (RFC 6937) instead of an immediate reduction.
        Usual proportional_rate_reduction: bool = false, Headway1: true, Linux: true;
        /// Whether, in a recovery, the sender takes all segments as lost that were sent before a received one,
        /// including retransmissions (RACK of RFC 8985, for paths without reordering).
        Usual rack: bool = false, Headway1: true, Linux: true;
        /// Method by which the sender estimates the number of segments in the network.
        Expert pipe: Pipe = Pipe::Scoreboard, Ns2: Pipe::Counted;
        /// Maximum number of SACK blocks in an acknowledgement, 0 to 3.
        Expert sack_blocks: u8 = 0;
        /// Whether a recovery may start before three duplicates, by RACK's reordering window (RFC 8985 section 6.2). It
        /// starts when a received segment was sent at least a quarter of the minimum round-trip time after the missing
        /// one. Used with `pipe = "scoreboard"`.
        Expert rack_window: bool = false, Linux: true;
        /// Whether the SACK scoreboard is kept after a timeout (RFC 6675 section 5.1 leaves this open, RFC 2018 forbids
        /// it).
        Expert keep_sack_after_timeout: bool = false, Linux: true;
    }
}

/// Method by which the sender estimates the number of segments in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// A counter, decremented by each acknowledgement and incremented by each segment sent (ns-2 Sack1; Fall and Floyd
    /// 1996).
    Counted,
    /// Computed from the SACK scoreboard (RFC 6675 section 4).
    Scoreboard,
    /// Computed from the SACK scoreboard by forward acknowledgement: segments well below the highest SACK block are
    /// lost. With the recovery and the round-trip estimate of Linux 2.6 (ns-2 Agent/TCP/Linux).
    Fack,
    /// Segments sent and neither delivered nor lost, with loss detection by time and tail loss probes (RACK-TLP, RFC
    /// 8985). The sink reports duplicates (D-SACK, RFC 2883).
    RackTlp,
}

/// Method by which a sink (receiver) reports ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnEcho {
    /// The sink sets ECN-Echo from a marked segment until the sender confirms it with CWR (RFC 3168 section 6.1.3).
    UntilCwr,
    /// The sink reports the mark of each segment: an acknowledgement covers only segments with equal marks (RFC 8257
    /// section 3.2).
    Exact,
    /// The sink counts the packets that arrive as ECT(0), ECT(1) and CE, and reports the counts in each acknowledgement
    /// (RFC 9768).
    Accurate,
}

/// Quantity whose half becomes ssthresh after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// `min(cwnd, window)`, which each further timeout halves again (ns-2, Linux).
    Window,
    /// FlightSize without the segments of Limited Transmit (RFC 5681 section 3.1). A timeout never raises ssthresh
    /// within a loss event.
    Flight,
    /// The minimum of FlightSize, without the segments of Limited Transmit, and `min(cwnd, window)`. SACKed data counts
    /// in FlightSize until it is acknowledged in sequence, although it left the network (RFC 6675 section 5.1 does not
    /// define what a timeout halves).
    Network,
}

/// Value of cwnd after a loss or a mark halves it. ssthresh is the half in whole segments, at least two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalvedWindow {
    /// cwnd becomes ssthresh (RFC 5681 section 3.2 step 2).
    Ssthresh,
    /// cwnd becomes the half with its fraction (ns-2 `precisionReduce_` 1). Except with `restart_after_idle = "one"`,
    /// at least two segments remain after a loss, and `ecn_least_window` after a mark.
    Fractional,
    /// cwnd becomes the half in whole segments (ns-2 `precisionReduce_` 0). Except with `restart_after_idle = "one"`,
    /// at least two segments remain after a loss, and `ecn_least_window` after a mark.
    Whole,
}

/// What the growth of the window counts: acknowledgements or acknowledged segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckCounting {
    /// The window grows by the number of acknowledgements.
    Acks,
    /// The window grows by the number of acknowledged segments.
    Segments,
}

/// Increase of the window in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// cwnd grows by 1/cwnd for each unit of `ack_counting` (RFC 5681 equation 3; ns-2 `windowOption_` 1).
    Fractional,
    /// cwnd grows by one segment after each cwnd units of `ack_counting` (RFC 5681 section 3.1, recommended; ns-2
    /// `windowOption_` 0; Linux).
    Whole,
}

/// Window with which a sender resumes after it has sent nothing for longer than its retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// The window from before the pause.
    Keep,
    /// One segment: the retransmission timer also runs with nothing in flight, and its expiry sets the window to one
    /// segment (ns-2 `slow_start_restart_`).
    One,
    /// The window from before the pause, but at most the initial window (RFC 5681 section 4.1).
    InitialWindow,
    /// The window from before the pause, halved for each retransmission timeout that elapsed, but at least the initial
    /// window (RFC 2861, Linux).
    Decay,
}

impl Rules {
    /// Shortens the timer of a recovery without SACK in dialect headway-1, since such recoveries often wait for it. The
    /// delay of acknowledgements is shortened, too, to avoid spurious timeouts.
    pub(crate) fn adjust_timer_without_sack(&mut self, dialect: Dialect) {
        if dialect == Dialect::Headway1 {
            self.min_rto = Duration::from_millis(200);
            self.rto_floor = RtoFloor::Variance;
            self.delayed_ack = Some(Duration::from_millis(40));
        }
    }

    /// Applies the defaults of ns-2's Agent/TCP/Linux: tcl/lib/ns-default.tcl, and `install_congestion_control` of
    /// tcp/tcp-linux.cc for the tick.
    pub(crate) fn adjust_to_linux_agent(&mut self) {
        self.sack.pipe = Pipe::Fack;
        self.timestamps_reset_backoff = true;
        self.max_rto = Duration::from_secs(120);
        self.tick = Duration::from_millis(1);
        // The phase was drawn for a tick of 10 ms.
        self.clock_phase = Duration::from_nanos(self.clock_phase.as_nanos() % self.tick.as_nanos());
    }

    /// Converts a size to segments, at least one.
    pub(crate) fn segments(&self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Packets(packets) => packets.max(1),
            QueueSize::Bytes(bytes) => (bytes.count() / self.payload().count().max(1)).max(1),
        }
    }
    /// Returns the receiver window, which limits the segments in flight, in segments.
    #[must_use]
    pub fn window_segments(&self) -> u64 {
        self.segments(self.window)
    }
    /// Returns how far above the first missing segment the sender sends and the sink accepts.
    pub(crate) fn reach(&self) -> u64 {
        // The window of Agent/TCP/Linux limits the segments in the network, without those above a hole, and ns-2's
        // sinks accept any segment.
        if self.sack.pipe == Pipe::Fack { MAX_SEGMENTS } else { self.window_segments() }
    }
    /// Returns the bytes of data in a full segment.
    pub(crate) fn payload(&self) -> Bytes {
        Bytes::new(self.segment.count().saturating_sub(self.header.count()))
    }
    /// Returns the segments that a host with segmentation offload sends at once, at this pacing rate in segments per
    /// second (Linux `tcp_tso_autosize`).
    pub(crate) fn offloaded_segments(&self, rate: f64, time: Duration) -> u32 {
        let most = (OFFLOADED.count() / self.payload().count().max(1)).max(2);
        (rate * time.as_secs_f64()).clamp(2.0, most as f64) as u32
    }
    /// Returns the size of the largest acknowledgement that the sink can send, on the wire.
    #[must_use]
    pub fn largest_ack(&self) -> Bytes {
        let (most, option) = match self.ecn_echo {
            EcnEcho::Accurate => (SackBlocks::MAX - 1, EcnCounts::LARGEST_OPTION),
            EcnEcho::UntilCwr | EcnEcho::Exact => (SackBlocks::MAX, 0),
        };
        let blocks = usize::from(self.sack.sack_blocks).min(most) as u32;
        Bytes::new(self.ack_size.count() + u64::from(SackBlocks::BYTES * blocks + option))
    }
    pub(crate) fn initial_window_segments(&self) -> u64 {
        let packets = self.segments(self.initial_window);
        match self.initial_window_bytes {
            Some(bytes) => packets.min((bytes.count() / self.payload().count().max(1)).max(2)),
            None => packets,
        }
    }

    /// Returns the keys without effect, given the values of other keys.
    pub(crate) fn unused(&self) -> Vec<OptionError> {
        let with_ecn = |key| unused_unless(self.ecn, key, "ecn = true");
        let by_duplicates = |key| unused_unless(self.sack.pipe != Pipe::RackTlp, key, "another pipe than \"rack-tlp\"");
        let with_delay = |key| unused_unless(self.delayed_ack.is_some(), key, "delayed_ack");
        [
            unused_unless(self.paced || self.segmentation_offload.is_none(), "segmentation_offload", "paced = true"),
            by_duplicates("rack"),
            by_duplicates("rack_window"),
            by_duplicates("keep_sack_after_timeout"),
            by_duplicates("limited_transmit"),
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
            unused_unless(self.newreno.exit_recovery_fix, "exit_recovery_least_flight", "exit_recovery_fix = true"),
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
            ("syn_size", self.syn_size.unwrap_or(self.header)),
        ] {
            if size > largest {
                return fail(key, format!("{size} is more than an IP packet holds: at most {largest}"));
            }
        }
        let Self { segment, header, tick, clock_phase, .. } = *self;
        if header.count() == 0 || header >= segment {
            let message = format!("{header} is out of range: from 1B to less than segment, {segment}");
            return fail("header", message);
        }
        for (key, size) in [("ack_size", self.ack_size), ("syn_size", self.syn_size.unwrap_or(header))] {
            if size.count() == 0 {
                return fail(key, "0B is out of range: at least 1B".into());
            }
        }
        if self.sack.pipe == Pipe::RackTlp && self.sack.sack_blocks == 0 {
            return fail("sack_blocks", "0 leaves pipe = \"rack-tlp\" without reports: from 1 to 3".into());
        }
        if usize::from(self.sack.sack_blocks) > SackBlocks::MAX {
            return fail("sack_blocks", format!("{} is out of range: from 0 to 3", self.sack.sack_blocks));
        }
        let max = MAX_SEGMENTS;
        for (key, size) in [("window", Some(self.window)), ("initial_window", Some(self.initial_window))]
            .into_iter()
            .chain([("initial_ssthresh", self.initial_ssthresh)])
            .chain([("max_burst", self.max_burst), ("recovery_burst", self.newreno.recovery_burst)])
        {
            let Some(size) = size else { continue };
            if matches!(size, QueueSize::Packets(0)) || self.segments(size) > max {
                return fail(key, format!("{size} is out of range: from 1packets to {max}packets"));
            }
        }
        check_range("tick", tick, Duration::from_nanos(1)..=Duration::from_secs(1))?;
        if clock_phase >= tick {
            let message = format!("{clock_phase} is out of range: from 0s to less than the tick of {tick}");
            return fail("clock_phase", message);
        }
        check_range("max_rto", self.max_rto, LEAST_RTO..=LONGEST_RTO)?;
        if self.min_rto > self.max_rto {
            return fail("min_rto", format!("{} is out of range: from 0s to max_rto, {}", self.min_rto, self.max_rto));
        }
        for (key, rto) in
            [("initial_rto", self.initial_rto), ("syn_loss_rto", self.syn_loss_rto.unwrap_or(self.max_rto))]
        {
            if !(LEAST_RTO..=self.max_rto).contains(&rto) {
                return fail(key, format!("{rto} is out of range: from {LEAST_RTO} to max_rto, {}", self.max_rto));
            }
        }
        check_range(
            "segmentation_offload",
            self.segmentation_offload.unwrap_or(LONGEST_OVERHEAD),
            Duration::from_nanos(1)..=LONGEST_OVERHEAD,
        )?;
        check_range("overhead", self.overhead, Duration::ZERO..=LONGEST_OVERHEAD)?;
        if self.paced && !self.overhead.is_zero() {
            return fail("paced", "true excludes overhead: set only one of the two".into());
        }
        if self.dupack_threshold == 0 {
            return fail("dupack_threshold", "0 is out of range: at least 1".into());
        }
        check_range("exit_recovery_least_flight", self.newreno.exit_recovery_least_flight, 0..=1)?;
        if !(1..=2).contains(&self.ecn_least_window) {
            return fail("ecn_least_window", format!("{} is out of range: expected 1 or 2", self.ecn_least_window));
        }
        if self.slow_start_limit == 0 {
            return fail("slow_start_limit", "0 is out of range: at least 1".into());
        }
        if self.delayed_ack.is_some_and(|delay| delay.is_zero()) {
            return fail(
                "delayed_ack",
                "0s is out of range: above 0s; omit the key to acknowledge every segment immediately".into(),
            );
        }
        check_range("delayed_ack", self.delayed_ack.unwrap_or_default(), Duration::ZERO..=LONGEST_DELAYED_ACK)?;
        Ok(())
    }
}
