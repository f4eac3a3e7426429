//! Options of TCP-like congestion control and their presets.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::RtoRules;
use headway_units::{Bytes, Dialect, Duration, OptionError, Options, QueueSize, RtoFloor, check_range};

/// Maximum number of data packets in flight: two Ack Vector options can cover this many (RFC 4340 section 11.4).
pub(super) const MAX_WINDOW: u64 = 2 * 253 * 64;

/// Maximum delay of an acknowledgement (RFC 5681 section 4.2).
const MAX_DELAYED_ACK: Duration = Duration::from_millis(500);
/// Minimum timeout of RFC 6298, the upper bound of a useful clock granularity.
const MAX_GRANULARITY: Duration = Duration::from_secs(1);

/// Options of the controller `tcp-like` (CCID 2: RFC 4341). Windows are in data packets; a size in bytes is divided by
/// that of a full packet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct TcpLikeOptions {
    /// Initial window, from 1 to 32384 packets (ns-2 `initial_cwnd_`).
    pub initial_window: QueueSize,
    /// Limit of `initial_window` in bytes: at most `max(2, bytes / packet size)` packets (RFC 3390: `"4.38kB"`);
    /// absent: no such limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub initial_window_bytes: Option<Bytes>,
    /// Initial slow start threshold, at least 1 packet; absent: unlimited (ns-2 `initial_ssthresh_`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub initial_ssthresh: Option<QueueSize>,
    /// Minimum slow start threshold after a loss or a timeout.
    pub min_ssthresh: QueueSize,
    /// Rule for the growth of a window that the application does not fill.
    pub unused_window: UnusedWindow,
    /// Rule for the window after an idle period longer than the retransmission timeout.
    pub restart_after_idle: Restart,

    /// Whether the first report after a silence (an outage of the path) restarts the flow with slow start from the
    /// initial window.
    pub silence_restarts: bool,
    /// Whether slow start after a silence (a time without reports) ends at the window from before it, or at the slow
    /// start threshold from before it if that is higher (RFC 5681 section 3.1). Only with `silence_restarts`.
    pub remembers_rate: bool,
    /// Whether round-trip samples that include a silence (a time without reports) are used. False: they are ignored, by
    /// Karn's algorithm (RFC 6298 section 3).
    pub silent_samples: bool,
    /// Whether each retransmission timeout during a silence (a time without reports) doubles the next one (RFC 6298
    /// section 5.5); otherwise only those after the first minute of the silence do.
    pub silence_backs_off: bool,

    /// Rules whose presets differ between dialects (`rfc`, `ns2`, `linux`).
    pub expert: TcpLikeExpert,
}

/// Rules of TCP-like congestion control whose presets differ between dialects: the table `expert` of
/// [`TcpLikeOptions`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct TcpLikeExpert {
    /// Number of acknowledged data packets per packet of window growth in slow start, at least 1.
    pub slow_start_packets: u32,
    /// Whether the maximum number of data packets for which an acknowledgement opens the window in slow start is
    /// rounded up to an even number. The maximum is the Ack Ratio.
    pub slow_start_rounds_up: bool,
    /// Whether acknowledgements of packets sent before a congestion event was detected increase the window after the
    /// event.
    pub grow_in_recovery: bool,
    /// Quantity that `min_rto` bounds from below.
    pub rto_floor: RtoFloor,
    /// Minimum retransmission timeout or, by `rto_floor`, minimum of its variance term; at least 1ms. It should exceed
    /// `delayed_ack`, which measured round trips exclude.
    pub min_rto: Duration,
    /// Maximum retransmission timeout, including back-off; at least `min_rto`.
    pub max_rto: Duration,
    /// Retransmission timeout before the first round-trip sample, from `min_rto` to `max_rto`.
    pub initial_rto: Duration,
    /// Granularity of the sender's clock, at most 1s (G of RFC 6298).
    pub granularity: Duration,
    /// Whether round trips are sampled once per window (RFC 4341 section 5) instead of per acknowledgement.
    pub sample_once_a_window: bool,
    /// Whether each data packet sent restarts the timer of the retransmission timeout; otherwise only a packet sent
    /// with none in flight starts it.
    pub sending_restarts_timer: bool,
    /// Whether a timeout discards the record of the packets sent before it, as RFC 4340 section 11.4.1 allows: late
    /// acknowledgements of them then neither open the window nor restart the timer.
    pub timeout_forgets: bool,
    /// Rule that controls the Ack Ratio, the number of data packets per acknowledgement.
    pub ack_ratio: AckRatioRule,
    /// Whether an Ack Ratio of 2 is allowed with any window, also one of 1 or 2 packets (RFC 4341 section 6.1.2).
    pub ack_ratio_of_two: bool,
    /// Maximum delay of the receiver's acknowledgement, above 0s and at most 500ms (RFC 5681 section 4.2); absent: no
    /// timer.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub delayed_ack: Option<Duration>,
    /// Whether the receiver acknowledges a mark or gap immediately, at most once per round trip (RFC 4340 section
    /// 11.3).
    pub immediate_acks: bool,
}

/// Rule for the growth of a window that the application does not fill (RFC 4341 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UnusedWindow {
    /// The window grows regardless of its use.
    Grows,
    /// The window grows only for acknowledged packets that were in flight while it was full.
    Holds,
    /// The window grows, but the part that was unused for a retransmission timeout is halved (RFC 2861).
    Decays,
}

/// Rule for the window after an idle period longer than the retransmission timeout (RFC 4341 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Restart {
    /// The window is kept.
    Keep,
    /// The window is reduced to the initial window (RFC 2581).
    InitialWindow,
    /// The window is halved once per retransmission timeout that the idle period lasted, down to the initial window
    /// (RFC 2861; RFC 4341 has round trips instead).
    Decay,
}

/// Rule that controls the Ack Ratio, the number of data packets per acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum AckRatioRule {
    /// Lost acknowledgements double the Ack Ratio, windows without losses decrease it (RFC 4341 section 6.1.2).
    Losses,
    /// The Ack Ratio is doubled if there are 20 or more acknowledgements per window, and halved if there are fewer than
    /// 10 (Linux).
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
                return error(key, format!("{packets} packets is out of range; expected 1 to {MAX_WINDOW} packets"));
            }
        }
        self.expert.check().map_err(|error| error.within("expert"))
    }
}

impl TcpLikeExpert {
    fn check(&self) -> Result<(), OptionError> {
        let error = |key, message: String| Err(OptionError::new(key, message));
        if self.slow_start_packets == 0 {
            return error("slow_start_packets", "0 is out of range; expected 1 or more".into());
        }
        if self.min_rto < Duration::from_millis(1) {
            return error("min_rto", format!("{} is out of range; expected 1ms or more", self.min_rto));
        }
        for (key, rto) in [("max_rto", self.max_rto), ("initial_rto", self.initial_rto)] {
            if rto < self.min_rto {
                return error(key, format!("{rto} is out of range; expected min_rto ({}) or more", self.min_rto));
            }
        }
        if self.initial_rto > self.max_rto {
            let Self { initial_rto, max_rto, .. } = self;
            return error(
                "initial_rto",
                format!("{initial_rto} is out of range; expected max_rto ({max_rto}) or less"),
            );
        }
        if self.delayed_ack.is_some_and(Duration::is_zero) {
            return error(
                "delayed_ack",
                "0s is out of range; expected a delay above 0s and at most 500ms, or omit the key to disable the timer"
                    .into(),
            );
        }
        check_range("delayed_ack", self.delayed_ack.unwrap_or_default(), Duration::ZERO..=MAX_DELAYED_ACK)?;
        check_range("granularity", self.granularity, Duration::ZERO..=MAX_GRANULARITY)
    }
    /// Returns the rules of the retransmission timeout.
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
    /// Returns RFC 4341, 3390 and 6298 and, where RFC 4341 section 5.1 allows a choice, RFC 2861.
    fn rfc() -> Self {
        Self {
            initial_window: QueueSize::Packets(4),
            initial_window_bytes: Some(Bytes::new(4380)),
            initial_ssthresh: None,
            min_ssthresh: QueueSize::Packets(2),
            unused_window: UnusedWindow::Holds,
            // RFC 2861 keeps the old window in ssthresh. With the alternative, RFC 2581, every burst restarts from the
            // initial window and ssthresh, once reduced, never recovers.
            restart_after_idle: Restart::Decay,
            silence_restarts: false,
            remembers_rate: false,
            silent_samples: true,
            silence_backs_off: true,
            expert: TcpLikeExpert {
                slow_start_packets: 2,
                slow_start_rounds_up: false,
                grow_in_recovery: false,
                // "DCCP does not require TCP's recommended minimum timeout of one second", but the last odd packet of a
                // burst is acknowledged 0.2 s late, which must not cause a timeout.
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

    /// Returns the options with the rules for silences of [`Silence`](crate::toolbox::Silence).
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

    /// Returns ns-2.35, Agent/DCCP/TCPlike: tcl/lib/ns-default.tcl and dccp/dccp_tcplike.cc.
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
                max_rto: Duration::from_secs(1_000_000), // no limit
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

    /// Returns Linux, net/dccp/ccids/ccid2.c, of a 4.x kernel and a later derivative.
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

    /// Returns the initial window in packets of this size, 1 to [`MAX_WINDOW`].
    pub(super) fn initial_cwnd(&self, packet_size: Bytes) -> u64 {
        let packets = packets(self.initial_window, packet_size);
        let most = self.initial_window_bytes.map_or(MAX_WINDOW, |bytes| packets_of(bytes, packet_size).max(2));
        packets.min(most).clamp(1, MAX_WINDOW)
    }
}

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
    fn invalid_values_are_rejected_with_their_key() {
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
