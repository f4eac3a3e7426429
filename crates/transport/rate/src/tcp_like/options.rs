//! What TCP-like congestion control is told, and its three presets.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::RtoRules;
use headway_units::{Bytes, Dialect, Duration, OptionError, Options, QueueSize, RtoFloor, check_range};

/// The most data packets that are ever under way: what two Ack Vector options can tell of (RFC 4340 section 11.4).
pub(super) const MAX_WINDOW: u64 = 2 * 253 * 64;

/// No acknowledgement waits longer (RFC 5681 section 4.2).
const LONGEST_DELAYED_ACK: Duration = Duration::from_millis(500);
/// The least timeout of RFC 6298.
const COARSEST_CLOCK: Duration = Duration::from_secs(1);

/// Options of `tcp-like`. Windows are in data packets; a size in bytes counts as so many full packets.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TcpLikeOptions {
    /// The first window (ns-2 `initial_cwnd_`).
    pub initial_window: QueueSize,
    /// Caps `initial_window` at `max(2, this / packet size)` packets (RFC 3390: `"4.38kB"`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub initial_window_bytes: Option<Bytes>,
    /// Where slow start ends before any loss; absent: nowhere (ns-2 `initial_ssthresh_`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub initial_ssthresh: Option<QueueSize>,
    /// The least that a loss or a timeout makes of ssthresh.
    pub min_ssthresh: QueueSize,
    /// What becomes of a window that the application does not fill.
    pub unused_window: UnusedWindow,
    /// What is left of the window after a silence longer than the timeout.
    pub restart_after_idle: Restart,

    /// The first report after a silence restarts the flow: slow start from the initial window.
    pub silence_restarts: bool,
    /// Slow start after a silence ends at the window from before it (RFC 5681 section 3.1); false: only at a loss.
    pub remembers_rate: bool,
    /// A round trip counts although its packet went before or during a silence; false: Karn's rule (RFC 6298 section 3).
    pub silent_samples: bool,
    /// Each timeout of a silence doubles the next (RFC 6298 section 5.5); false: only after a minute of it.
    pub silence_backs_off: bool,

    /// Rules that dialects set.
    pub expert: TcpLikeExpert,
}

/// The table `expert` of [`TcpLikeOptions`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct TcpLikeExpert {
    /// Acknowledged data packets that add one to the window in slow start.
    pub slow_start_packets: u32,
    /// Whether the data packets that one acknowledgement may count in slow start, as many as the Ack Ratio, are rounded
    /// up to an even number.
    pub slow_start_rounds_up: bool,
    /// Whether what was sent before a congestion event was detected opens the window when it is acknowledged after.
    pub grow_in_recovery: bool,
    /// What `min_rto` is the least of.
    pub rto_floor: RtoFloor,
    /// The least timeout, or the least that is added to the round trip. It must leave time for `delayed_ack`, because
    /// round trips are measured without it.
    pub min_rto: Duration,
    /// The most, back-off included.
    pub max_rto: Duration,
    /// Before the first round-trip sample.
    pub initial_rto: Duration,
    /// The granularity of the sender's clock (G of RFC 6298), at most 1s.
    pub granularity: Duration,
    /// One round-trip sample for each window of data (RFC 4341 section 5) instead of one for each acknowledgement.
    pub sample_once_a_window: bool,
    /// Each data packet starts the timer afresh, not only the first.
    pub sending_restarts_timer: bool,
    /// What was sent before a timeout is forgotten (RFC 4340 section 11.4.1 allows it): when it is acknowledged after
    /// all, that neither opens the window nor holds the timer.
    pub timeout_forgets: bool,
    /// What moves the Ack Ratio.
    pub ack_ratio: AckRatioRule,
    /// Ack Ratio 2 is always allowed (RFC 4341 section 6.1.2), however small the window: two packets or the receiver's
    /// timer make an acknowledgement.
    pub ack_ratio_of_two: bool,
    /// The receiver acknowledges what has come at the latest after this long, at most 500ms (RFC 5681 section 4.2);
    /// absent: it waits for as many as the Ack Ratio says.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub delayed_ack: Option<Duration>,
    /// The receiver acknowledges a mark or a hole at once, if it has not done so within a round trip (RFC 4340 section
    /// 11.3).
    pub immediate_acks: bool,
}

/// What becomes of a window that the application does not fill (RFC 4341 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UnusedWindow {
    /// It grows all the same.
    Grows,
    /// It grows only by packets that were under way while it was full.
    Holds,
    /// It grows, but what was not used for a timeout is halved (RFC 2861).
    Decays,
}

/// What is left of the window after a silence longer than the timeout (RFC 4341 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Restart {
    /// All of it.
    Keep,
    /// The initial window at most (RFC 2581).
    InitialWindow,
    /// Half for each timeout that passed, the initial window at least (RFC 2861 counts in timeouts; RFC 4341, which
    /// quotes it, in round trips).
    Decay,
}

/// What moves the Ack Ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum AckRatioRule {
    /// Lost acknowledgements double it, windows without lower it (RFC 4341 section 6.1.2).
    Losses,
    /// It keeps 10 to 20 acknowledgements a window, a tenth to a fifth of a Sequence Window of 100 (Linux).
    Count,
}

impl Options for TcpLikeOptions {
    fn preset(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Headway1 => Self::rfc().recovering(),
            Dialect::Rfc | Dialect::Ns3 => Self::rfc(),
            Dialect::Ns2 => Self::ns2(),
            Dialect::Linux => Self::linux(),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let error = |key, message: String| Err(OptionError::new(key, message));
        for (key, window) in
            [("initial_window", Some(self.initial_window)), ("initial_ssthresh", self.initial_ssthresh)]
        {
            if let Some(QueueSize::Packets(packets)) = window
                && (packets == 0 || (key == "initial_window" && packets > MAX_WINDOW))
            {
                return error(
                    key,
                    format!("{packets} packets are no window: it must be from 1 to {MAX_WINDOW} packets"),
                );
            }
        }
        self.expert.check().map_err(|error| error.within("expert"))
    }
}

impl TcpLikeExpert {
    fn check(&self) -> Result<(), OptionError> {
        let error = |key, message: String| Err(OptionError::new(key, message));
        if self.slow_start_packets == 0 {
            return error(
                "slow_start_packets",
                "0 packets would open the window without end: it must be 1 or more".into(),
            );
        }
        if self.min_rto < Duration::from_millis(1) {
            return error("min_rto", format!("{} is too short: it must be 1ms or more", self.min_rto));
        }
        for (key, rto) in [("max_rto", self.max_rto), ("initial_rto", self.initial_rto)] {
            if rto < self.min_rto {
                return error(key, format!("{rto} is out of range: from min_rto, {}", self.min_rto));
            }
        }
        if self.delayed_ack.is_some_and(Duration::is_zero) {
            return error("delayed_ack", "0s is no delay: leave it out to wait for the Ack Ratio alone".into());
        }
        check_range("delayed_ack", self.delayed_ack.unwrap_or_default(), Duration::ZERO..=LONGEST_DELAYED_ACK)?;
        check_range("granularity", self.granularity, Duration::ZERO..=COARSEST_CLOCK)
    }
    /// The rules of the timeout.
    pub(crate) const fn rto(&self) -> RtoRules {
        RtoRules {
            initial: self.initial_rto,
            least: self.min_rto,
            floor: self.rto_floor,
            most: self.max_rto,
            granularity: self.granularity,
        }
    }
}

impl TcpLikeOptions {
    /// RFC 4341, 3390, 6298 and, where RFC 4341 section 5.1 leaves a choice, RFC 2861.
    fn rfc() -> Self {
        Self {
            initial_window: QueueSize::Packets(4),
            initial_window_bytes: Some(Bytes::new(4380)),
            initial_ssthresh: None,
            min_ssthresh: QueueSize::Packets(2),
            unused_window: UnusedWindow::Holds,
            // RFC 2861 remembers the window in ssthresh; RFC 2581, the other choice, goes back to the first packets with each burst, for
            // ever, since ssthresh is never raised.
            restart_after_idle: Restart::Decay,
            silence_restarts: false,
            remembers_rate: false,
            silent_samples: true,
            silence_backs_off: true,
            expert: TcpLikeExpert {
                slow_start_packets: 2,
                slow_start_rounds_up: false,
                grow_in_recovery: false,
                // "DCCP does not require TCP's recommended minimum timeout of one second", but the last odd packet of a burst
                // is acknowledged 0.2 s late, and that must not look like a loss.
                rto_floor: RtoFloor::Variance,
                min_rto: Duration::from_millis(300),
                max_rto: Duration::from_secs(60),
                initial_rto: Duration::from_secs(1),
                granularity: Duration::from_millis(1),
                sample_once_a_window: true,
                sending_restarts_timer: false,
                timeout_forgets: true,
                ack_ratio: AckRatioRule::Losses,
                ack_ratio_of_two: true,
                delayed_ack: Some(Duration::from_millis(200)),
                immediate_acks: true,
            },
        }
    }

    /// `rfc` with the rules for silences of [`Silence`](crate::toolbox::Silence).
    fn recovering(self) -> Self {
        Self {
            initial_window: QueueSize::Packets(10),
            initial_window_bytes: Some(Bytes::new(14_600)),
            restart_after_idle: Restart::Keep,
            silence_restarts: true,
            remembers_rate: true,
            silent_samples: false,
            silence_backs_off: false,
            ..self
        }
    }

    /// ns-2.35, Agent/DCCP/TCPlike: tcl/lib/ns-default.tcl and dccp/dccp_tcplike.cc.
    fn ns2() -> Self {
        let rfc = Self::rfc();
        Self {
            initial_window: QueueSize::Packets(3),
            initial_window_bytes: None,
            initial_ssthresh: Some(QueueSize::Packets(65_535)),
            min_ssthresh: QueueSize::Packets(1),
            unused_window: UnusedWindow::Grows,
            restart_after_idle: Restart::Keep,
            expert: TcpLikeExpert {
                slow_start_packets: 1,
                grow_in_recovery: true,
                rto_floor: RtoFloor::Rto,
                min_rto: Duration::from_secs(1),
                max_rto: Duration::from_secs(1_000_000), // there is none
                initial_rto: Duration::from_secs(3),
                granularity: Duration::from_millis(10),
                sample_once_a_window: false,
                timeout_forgets: false,
                ack_ratio_of_two: false,
                immediate_acks: false,
                ..rfc.expert
            },
            ..rfc
        }
    }

    /// Linux, net/dccp/ccids/ccid2.c, as read in a 4.x kernel and in a later derivative; not compared with 6.1 line by line.
    fn linux() -> Self {
        let rfc = Self::rfc();
        Self {
            unused_window: UnusedWindow::Decays,
            restart_after_idle: Restart::Decay,
            expert: TcpLikeExpert {
                slow_start_rounds_up: true,
                grow_in_recovery: true,
                min_rto: Duration::from_millis(200),
                max_rto: Duration::from_secs(64),
                initial_rto: Duration::from_secs(3),
                granularity: Duration::from_millis(4),
                sample_once_a_window: false,
                sending_restarts_timer: true,
                ack_ratio: AckRatioRule::Count,
                ack_ratio_of_two: false,
                delayed_ack: None,
                immediate_acks: false,
                ..rfc.expert
            },
            ..rfc
        }
    }

    /// The initial window of packets of this size, 1 to [`MAX_WINDOW`].
    pub(super) fn initial_cwnd(&self, packet_size: Bytes) -> u64 {
        let packets = packets(self.initial_window, packet_size);
        let most = self.initial_window_bytes.map_or(MAX_WINDOW, |bytes| packets_of(bytes, packet_size).max(2));
        packets.min(most).clamp(1, MAX_WINDOW)
    }
}

/// A size as packets.
pub(super) fn packets(size: QueueSize, packet_size: Bytes) -> u64 {
    match size {
        QueueSize::Packets(packets) => packets,
        QueueSize::Bytes(bytes) => packets_of(bytes, packet_size),
    }
}

fn packets_of(bytes: Bytes, packet_size: Bytes) -> u64 {
    bytes.count() / packet_size.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_in_range() {
        for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux] {
            let options = TcpLikeOptions::preset(dialect);
            options.check().unwrap();
            let text = serde_json::to_string(&options).unwrap();
            assert_eq!(serde_json::from_str::<TcpLikeOptions>(&text).unwrap(), options);
        }
    }

    #[test]
    fn wrong_values_are_named() {
        let wrong = |key: &str, value: serde_json::Value| {
            let mut options = serde_json::to_value(TcpLikeOptions::preset(Dialect::Rfc)).unwrap();
            let table = if options["expert"].get(key).is_some() { &mut options["expert"] } else { &mut options };
            table[key] = value;
            serde_json::from_value::<TcpLikeOptions>(options).unwrap().check().unwrap_err().key
        };
        for (key, value) in [
            ("initial_window", "0packets".into()),
            ("initial_window", "40000packets".into()),
            ("initial_ssthresh", "0packets".into()),
            ("slow_start_packets", 0.into()),
            ("min_rto", "0s".into()),
            ("max_rto", "10ms".into()),
            ("initial_rto", "10ms".into()),
            ("delayed_ack", "0s".into()),
        ] {
            assert_eq!(wrong(key, value), key);
        }
    }
}
