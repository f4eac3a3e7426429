//! Options of a TCP connection: those of all kinds, and as parts those of several kinds. Options of one kind are in its file.

use crate::keys::options;
use headway_units::{Bytes, Dialect, Duration, OptionError, QueueSize, RtoFloor, check_range, unused_unless};

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
/// ns-2 starts each agent's clock at a random point of a tick. This is the draw that an only agent gets under
/// `ns-random 1`: the second number of that stream (0.5558807) times 10 ms.
const NS2_CLOCK_PHASE: Duration = Duration::from_nanos(5_558_807);
/// tcp_grow_window: each segment that raises the receive window is answered at once. From 34 kB on, 1448 B each, 2874
/// segments raise it to the 4 MiB of a window scale of 6; the 16 that are due at the start (TCP_MAX_QUICKACKS) remain.
const LINUX_QUICK_ACKS: u32 = 2874 + 16;

options! {
    /// The options that all kinds have. Sizes are IP bytes on the wire; windows are in segments, and a size in bytes counts as whole
    /// payloads. The first value of a key is that of the RFCs, also of dialect ns3; those of ns-2.35
    /// (tcl/lib/ns-default.tcl) and of Linux 6.1 with its default sysctls follow. `docs/src/tcp/headway.md` has the evidence for those of
    /// headway-1.
    Rules {
        /// The receiver's window, and with it the most that is ever in flight (ns-2 `window_`). With `pipe = "fack"`
        /// segments received above a hole do not count.
        Usual window: QueueSize = QueueSize::Packets(10_000), Ns2: QueueSize::Packets(20);
        /// A full data segment on the wire, headers included.
        Usual segment: Bytes = Bytes::new(1500), Ns2: Bytes::new(1040);
        /// Headers of a data segment.
        Usual header: Bytes = Bytes::new(40), Linux: Bytes::new(52);
        /// The SYN on the wire; absent: as `header` (ns-2's Vegas sends one of full size).
        Usual syn_size: Option<Bytes> = None;

        /// The window after the SYN's answer (ns-2 `windowInit_`).
        Usual initial_window: QueueSize = QueueSize::Packets(10), Ns2: QueueSize::Packets(2);
        /// Caps `initial_window` at `max(2, this / payload)` segments (RFC 3390: `"4380B"` with 4 packets, RFC 6928:
        /// `"14600B"` with 10).
        Usual initial_window_bytes: Option<Bytes> = Some(Bytes::new(14_600)), Ns2: None, Linux: None;
        /// Where slow start ends before any loss; absent: at `window`, which is never passed anyway.
        Usual initial_ssthresh: Option<QueueSize> = None;

        /// The least retransmission timeout.
        Usual min_rto: Duration = Duration::from_secs(1), Ns2: Duration::from_millis(200), Linux: Duration::from_millis(200);
        /// What `min_rto` is the least of.
        Usual rto_floor: RtoFloor = RtoFloor::Rto, Linux: RtoFloor::Variance;
        /// The granularity of the sender's clock (G of RFC 6298).
        Usual tick: Duration = Duration::from_millis(1), Ns2: Duration::from_millis(10), Linux: Duration::from_micros(1);
        /// How long before time zero the sender's clock ticked, less than `tick` (ns-2 draws it at random).
        Usual clock_phase: Duration = Duration::ZERO, Ns2: NS2_CLOCK_PHASE;
        /// Round-trip samples from each acknowledgement of new data (RFC 7323) instead of one segment a window.
        Usual timestamps: bool = false, Linux: true;

        /// Duplicate acknowledgements that start a fast retransmit.
        Usual dupack_threshold: u32 = 3;
        /// A new segment for each of the duplicates before (RFC 3042).
        Usual limited_transmit: bool = true;
        /// What is halved at a loss.
        Usual halving: Halving = Halving::Flight, Headway1: Halving::Network, Ns2: Halving::Window, Linux: Halving::Window;
        /// What cwnd becomes when a loss halves it.
        Usual halved_window: HalvedWindow = HalvedWindow::Ssthresh, Ns2: HalvedWindow::Fractional;
        /// How the window grows in congestion avoidance.
        Usual increase: Increase = Increase::Fractional, Linux: Increase::Whole;

        /// Segments that one event may release; absent: as the window allows (ns-2 `maxburst_`).
        Usual max_burst: Option<QueueSize> = None;
        /// Each release waits uniformly 0 to this long, which breaks phase effects (ns-2 `overhead_`); at most 1s, the least
        /// timeout of RFC 6298.
        Usual overhead: Duration = Duration::ZERO;
        /// Segments go one after the other, SRTT / cwnd apart, instead of as soon as the window admits them (Aggarwal, Savage and Anderson
        /// 2000). Fast retransmits and what goes before the first round trip is measured do not wait. Without `overhead`.
        Usual paced: bool = false;

        /// Explicit congestion notification (RFC 3168).
        Usual ecn: bool = false;

        /// The sink acknowledges every second segment, or after this long, at most 500ms (RFC 5681 section 4.2); absent: every
        /// segment at once.
        // RFC 1122 section 4.2.3.2 asks for it ("SHOULD"); most implementations of that text take 200 ms.
        Usual delayed_ack: Option<Duration> = Some(Duration::from_millis(200)), Ns2: None, Linux: Some(Duration::from_millis(40));
        /// Segments that a sink with delayed acknowledgements answers at once at the start (Linux's quick-ACK mode).
        Usual quick_acks: u32 = 0, Linux: LINUX_QUICK_ACKS;
        /// Segments that a sink with delayed acknowledgements answers at once after a segment out of order.
        Usual quick_acks_after_gap: u32 = 0;
        /// The last of the segments that a sender releases together carries PSH, which a sink answers at once (Linux).
        Usual push: bool = false, Linux: true;
        /// An acknowledgement without SACK blocks.
        Expert ack_size: Bytes = Bytes::new(40), Linux: Bytes::new(52);
        /// The longest retransmission timeout, back-off included; at least 1ms.
        Expert max_rto: Duration = Duration::from_secs(60), Linux: Duration::from_secs(120);
        /// The retransmission timeout before the first round-trip sample; from 1ms to `max_rto`.
        Expert initial_rto: Duration = Duration::from_secs(1), Ns2: Duration::from_secs(3);
        /// The retransmission timeout after a lost SYN, until a round trip is measured (RFC 6298 step 5.7), from 1ms to `max_rto`;
        /// absent: the back-off stays.
        Expert syn_loss_rto: Option<Duration> = Some(Duration::from_secs(3)), Ns2: None;
        /// Whether a round-trip sample from a timestamp ends the back-off (ns-2 `ts_resetRTO_`).
        Expert timestamps_reset_backoff: bool = true, Ns2: false;

        /// Whether the window grows by acknowledgements or by what they acknowledge (RFC 3465, RFC 5681 section 3.1).
        Expert ack_counting: AckCounting = AckCounting::Segments, Ns2: AckCounting::Acks;
        /// Segments that one acknowledgement may add in slow start when segments count (L of RFC 3465); only one after a
        /// timeout, unless this is 4294967295, which means no limit.
        Expert slow_start_limit: u32 = 2, Linux: u32::MAX;
        /// The window grows even if less was in flight than it allows (ns-2 `control_increase_` 0).
        Expert grow_when_limited: bool = false, Ns2: true;
        /// What is left of the window after a silence longer than the timeout.
        Expert restart_after_idle: Restart = Restart::InitialWindow, Ns2: Restart::One, Linux: Restart::Decay;

        /// Whether retransmissions carry ECT and CWR (RFC 3168 section 6.1.5 forbids it, ns-2 does it; there a repeated SYN
        /// carries CWR, too).
        Expert ecn_on_retransmission: bool = false, Ns2: true;
        /// What a mark leaves of the window at least, in segments, 1 or 2. A timeout leaves 1 with either. With 1 the sender answers a
        /// further mark by waiting for its retransmission timer (RFC 3168 section 6.1.2); with 2 it does not slow down further (Linux).
        Expert ecn_least_window: u32 = 1, Linux: 2;
        /// How a sink reports marks.
        Expert ecn_echo: EcnEcho = EcnEcho::UntilHeard;

        /// The last segment of a session, which has the FIN, is answered at once, as stacks do.
        Expert answer_fin: bool = true, Ns2: false;
        /// A repeated last segment may be acknowledged late like a new one (ns-2's DelAck sink does).
        Expert delay_duplicates: bool = false, Ns2: true;
    } with {
        /// Of the kinds with a fast recovery.
        reno: RenoOptions;
        /// Of `tcp-newreno` and `tcp-jtcp`.
        newreno: NewRenoOptions;
        /// Of the kinds with SACK.
        sack: SackOptions;
    }
}

options! {
    /// Options of the kinds with a fast recovery.
    RenoOptions {
        /// The acknowledgement that ends a fast recovery also opens the window.
        Expert grow_on_exit: bool = false, Ns2: true;
    }
}

options! {
    /// Options of `tcp-newreno` and `tcp-jtcp`.
    NewRenoOptions {
        /// When partial acknowledgements restart the retransmission timer.
        Usual partial_ack_timer: PartialAckTimer = PartialAckTimer::Impatient;
        /// cwnd becomes `min(ssthresh, max(FlightSize, least) + 1)` at the end of a recovery (RFC 6582 step 3, option 1; ns-2
        /// `exit_recovery_fix_`). `exit_recovery_least_flight` is the least.
        Expert exit_recovery_fix: bool = true, Ns2: false;
        /// The least FlightSize that `exit_recovery_fix` counts with, in segments: 1 (RFC 6582) or 0 (ns-2).
        Expert exit_recovery_least_flight: u32 = 1, Ns2: 0;
        /// New segments that one acknowledgement may release in a recovery; absent: as the window allows.
        Expert recovery_burst: Option<QueueSize> = None, Ns2: Some(QueueSize::Packets(2));
    }
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

options! {
    /// Options of the kinds with SACK.
    SackOptions {
        /// Proportional rate reduction (RFC 6937) in a recovery instead of an immediate cut.
        Usual proportional_rate_reduction: bool = false, Headway1: true, Linux: true;
        /// Once in recovery, packets are trusted to arrive in the order in which they were sent: one received makes all sent
        /// before it lost, retransmissions too (RACK of RFC 8985 on a path without reordering).
        Usual rack: bool = false, Headway1: true, Linux: true;
        /// How the sender estimates what is in the network.
        Expert pipe: Pipe = Pipe::Scoreboard, Ns2: Pipe::Counted;
        /// SACK blocks in an acknowledgement at most, 0 to 3.
        Expert sack_blocks: u8 = 0;
        /// A recovery begins before three duplicates if a segment has arrived that was sent a quarter of the least round trip after
        /// the missing one (RACK's reordering window, RFC 8985 section 6.2). With `pipe = "scoreboard"`.
        Expert rack_window: bool = false, Linux: true;
        /// The scoreboard outlives a timeout (RFC 6675 section 5.1 leaves it open, RFC 2018 forbids it).
        Expert keep_sack_after_timeout: bool = false, Linux: true;
    }
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

/// How a sink reports marks.
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
    /// Shortens the timer of a recovery without SACK in dialect headway-1: such a recovery waits for its timer often. A delayed
    /// acknowledgement must then be sooner, or it causes timeouts.
    pub(crate) fn adjust_timer_without_sack(&mut self, dialect: Dialect) {
        if dialect == Dialect::Headway1 {
            self.min_rto = Duration::from_millis(200);
            self.rto_floor = RtoFloor::Variance;
            self.delayed_ack = Some(Duration::from_millis(40));
        }
    }

    /// Takes ns-2's Agent/TCP/Linux for ns-2's other agents: tcl/lib/ns-default.tcl, and `install_congestion_control` of
    /// tcp/tcp-linux.cc for the tick.
    pub(crate) fn adjust_to_linux_agent(&mut self) {
        self.sack.pipe = Pipe::Fack;
        self.timestamps_reset_backoff = true;
        self.max_rto = Duration::from_secs(120);
        self.tick = Duration::from_millis(1);
        // The clock's start was drawn when the tick was 10 ms.
        self.clock_phase = Duration::from_nanos(self.clock_phase.as_nanos() % self.tick.as_nanos());
    }

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
        if self.sack.pipe == Pipe::Fack { MOST_SEGMENTS } else { self.window_segments() }
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

    /// Returns the keys that have no effect, because of the values of other keys.
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
            let message = format!("{header} leaves no payload in a segment of {segment}: it must be from 1B to less");
            return fail("header", message);
        }
        for (key, size) in [("ack_size", self.ack_size), ("syn_size", self.syn_size.unwrap_or(header))] {
            if size.count() == 0 {
                return fail(key, "0B is no packet: it must be at least 1B".into());
            }
        }
        if usize::from(self.sack.sack_blocks) > crate::SackBlocks::MAX {
            return fail("sack_blocks", format!("{} blocks do not fit: from 0 to 3", self.sack.sack_blocks));
        }
        let most = MOST_SEGMENTS;
        for (key, size) in [("window", Some(self.window)), ("initial_window", Some(self.initial_window))]
            .into_iter()
            .chain([("initial_ssthresh", self.initial_ssthresh)])
            .chain([("max_burst", self.max_burst), ("recovery_burst", self.newreno.recovery_burst)])
        {
            let Some(size) = size else { continue };
            if matches!(size, QueueSize::Packets(0)) || self.segments(size) > most {
                return fail(key, format!("{size} is out of range: from 1packets to {most}packets"));
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
        check_range("exit_recovery_least_flight", self.newreno.exit_recovery_least_flight, 0..=1)?;
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
        Ok(())
    }
}
