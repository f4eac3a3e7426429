//! The defaults of [`Rules`] under each dialect.

use crate::options::{
    AckCounting, BandwidthFilter, EcnEcho, HalvedWindow, Halving, Increase, PartialAckTimer, Pipe, Restart, Rules,
    VegasRules,
};
use headway_units::{Bytes, Dialect, Duration, QueueSize, RtoFloor};

impl Rules {
    /// What all kinds have in common under a dialect; each kind's file lays its own over it.
    pub(crate) fn preset(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Headway1 => Self::headway_1(),
            Dialect::Rfc | Dialect::Ns3 => Self::rfc(),
            Dialect::Ns2 => Self::ns2(),
            Dialect::Linux => Self::linux(),
        }
    }

    /// RFC 5681, 6298, 3042, 3465, 6928, 7323 off. Delayed acknowledgements are on, as RFC 1122 section 4.2.3.2 asks
    /// ("SHOULD"), with the 200 ms that most implementations of that text use.
    fn rfc() -> Self {
        Self {
            window: QueueSize::Packets(10_000),
            segment: Bytes::new(1500),
            header: Bytes::new(40),
            syn_size: None,
            ack_size: Bytes::new(40),
            sack_block_size: Bytes::new(8),
            sack_blocks: 0,
            initial_window: QueueSize::Packets(10),
            initial_window_bytes: Some(Bytes::new(14_600)),
            initial_ssthresh: None,
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            initial_rto: Duration::from_secs(1),
            syn_loss_rto: Some(Duration::from_secs(3)),
            rto_floor: RtoFloor::Rto,
            tick: Duration::from_millis(1),
            clock_phase: Duration::ZERO,
            timestamps: false,
            timestamps_reset_backoff: true,
            dupack_threshold: 3,
            limited_transmit: true,
            halving: Halving::Flight,
            halved_window: HalvedWindow::Ssthresh,
            exit_recovery_fix: true,
            exit_recovery_least_flight: 1,
            grow_on_exit: false,
            partial_window_deflation: true,
            partial_ack_timer: PartialAckTimer::Impatient,
            recovery_burst: None,
            pipe: Pipe::Scoreboard,
            proportional_rate_reduction: false,
            rack: false,
            rack_window: false,
            keep_sack_after_timeout: false,
            ack_counting: AckCounting::Segments,
            slow_start_limit: 2,
            increase: Increase::Fractional,
            grow_when_limited: false,
            restart_after_idle: Restart::InitialWindow,
            max_burst: None,
            overhead: Duration::ZERO,
            paced: false,
            ecn: false,
            ecn_on_retransmission: false,
            ecn_least_window: 1,
            delayed_ack: Some(Duration::from_millis(200)),
            answer_fin: true,
            quick_acks: 0,
            quick_acks_after_gap: 0,
            push: false,
            delay_duplicates: false,
            cubic_scale: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            reno_friendly_alpha_rises: true,
            grow_without_plateau: false,
            hystart: false,
            vegas: VegasRules::Linux,
            vegas_alpha: 2,
            vegas_beta: 4,
            vegas_gamma: 1,
            veno_beta: 3,
            bic_low_window: 14,
            bic_max_increment: 16,
            bic_smooth_part: 20,
            bandwidth_filter: BandwidthFilter::Plus,
            bandwidth_time_constant: Duration::from_millis(500),
            jitter_threshold: 1.0,
            l4s: false,
            ecn_echo: EcnEcho::UntilHeard,
            dctcp_gain: 1.0 / 16.0,
        }
    }

    /// The RFCs, and deployed practice where it works clearly better: `docs/src/tcp/headway.md` has the evidence for each line.
    fn headway_1() -> Self {
        Self { halving: Halving::Network, proportional_rate_reduction: true, rack: true, ..Self::rfc() }
    }

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
        self.pipe = Pipe::Fack;
        self.timestamps_reset_backoff = true;
        self.max_rto = Duration::from_secs(120);
        self.tick = Duration::from_millis(1);
        // The clock's start was drawn when the tick was 10 ms.
        self.clock_phase = Duration::from_nanos(self.clock_phase.as_nanos() % self.tick.as_nanos());
    }

    /// ns-2.35, tcl/lib/ns-default.tcl.
    fn ns2() -> Self {
        Self {
            window: QueueSize::Packets(20),
            segment: Bytes::new(1040),
            initial_window: QueueSize::Packets(2),
            initial_window_bytes: None,
            min_rto: Duration::from_millis(200),
            initial_rto: Duration::from_secs(3),
            syn_loss_rto: None,
            tick: Duration::from_millis(10),
            clock_phase: NS2_CLOCK_PHASE,
            timestamps_reset_backoff: false,
            halving: Halving::Window,
            halved_window: HalvedWindow::Fractional,
            exit_recovery_fix: false,
            exit_recovery_least_flight: 0,
            grow_on_exit: true,
            recovery_burst: Some(QueueSize::Packets(2)),
            pipe: Pipe::Counted,
            ack_counting: AckCounting::Acks,
            grow_when_limited: true,
            restart_after_idle: Restart::One,
            ecn_on_retransmission: true,
            delayed_ack: None,
            answer_fin: false,
            delay_duplicates: true,
            vegas: VegasRules::Arizona,
            vegas_alpha: 1,
            vegas_beta: 3,
            ..Self::rfc()
        }
    }

    /// Linux 6.1 with its default sysctls.
    fn linux() -> Self {
        Self {
            header: Bytes::new(52),
            ack_size: Bytes::new(52),
            initial_window_bytes: None,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            rto_floor: RtoFloor::Variance,
            tick: Duration::from_micros(1),
            timestamps: true,
            halving: Halving::Window,
            proportional_rate_reduction: true,
            rack: true,
            rack_window: true,
            keep_sack_after_timeout: true,
            slow_start_limit: u32::MAX,
            increase: Increase::Whole,
            restart_after_idle: Restart::Decay,
            delayed_ack: Some(Duration::from_millis(40)),
            // tcp_grow_window: each segment that raises the receive window is answered at once. From 34 kB on, 1448 B each, 2874
            // segments raise it to the 4 MiB of a window scale of 6; the 16 that are due at the start (TCP_MAX_QUICKACKS) remain.
            quick_acks: 2874 + 16,
            push: true,
            beta: 717.0 / 1024.0,
            reno_friendly_alpha_rises: false,
            grow_without_plateau: true,
            hystart: true,
            ecn_least_window: 2,
            ..Self::rfc()
        }
    }
}

/// ns-2 starts each agent's clock at a random point of a tick. This is the draw that an only agent gets under
/// `ns-random 1`: the second number of that stream (0.5558807) times 10 ms.
const NS2_CLOCK_PHASE: Duration = Duration::from_nanos(5_558_807);
