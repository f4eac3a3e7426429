//! Options of a connection, and their presets.

use crate::ccid::{CcidController, CcidProfile};
use crate::feature::Ccid;
use headway_rate::{ControllerOptions, Need};
use headway_units::{Bytes, Dialect, Duration, OptionError, Options, Rate, Registry, check_range};
#[cfg(feature = "schema")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

/// Options of a DCCP connection. In the dialect `rfc`, durations default to those of RFC 4340.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct ConnectionOptions {
    /// CCIDs that this endpoint proposes for the data it sends, the most preferred first. CCIDs without a controller
    /// are not proposed.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub send_ccids: Vec<u8>,
    /// CCIDs that this endpoint accepts for the data it receives, the most preferred first.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_ccids: Vec<u8>,
    /// Controllers, one for each CCID. CCIDs 248 to 254 are experimental (RFC 4340 section 19.5).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub controllers: Vec<CcidController>,

    /// Initial Sequence Window of this endpoint, 32 to 2^46 - 1 packets (RFC 4340 section 7.5.2).
    pub sequence_window: u64,
    /// Maximum Sequence Window of this endpoint, from `sequence_window` to 2^46 - 1 packets. The window grows to five
    /// times the number of packets that this endpoint sends in a round trip.
    pub largest_sequence_window: u64,
    /// Whether this endpoint reads ECN marks on arrival and sends packets as ECN-capable (RFC 4340 sections 12 and
    /// 12.1).
    pub ecn: bool,
    /// Whether to request NDP Counts from the peer (RFC 4340 section 7.7).
    pub ndp_counts: bool,
    /// Whether this endpoint, as a sender of data, requests a Loss Event Rate from a TFRC receiver instead of Loss
    /// Intervals (RFC 4342 section 8.4).
    pub loss_event_rate: bool,
    /// Whether to accept repair packets of the peer. The program passes those that it
    /// [receives](crate::Datagram::repair) to a [`Restorer`](crate::Restorer).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_repairs: bool,
    /// Whether Request and Response carry Timestamps (RFC 4340 section 13.1).
    pub timestamps: bool,
    /// Whether to measure one-way delays of received data. Timestamps on acknowledgements make the
    /// peer put Timestamps on its data (RFC 4340 sections 13.1 and 13.3).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub one_way_delays: bool,
    /// Checksum coverage of sent data: 0 covers all, n = 1 to 15 the first 4(n - 1) bytes (RFC 4340 section 9.2). The
    /// peer's minimum may raise it.
    pub send_coverage: u8,
    /// Minimum checksum coverage of received data, 0 to 15; 0 accepts full coverage only (RFC 4340 section 9.2.1).
    pub minimum_coverage: u8,
    /// Whether each data packet that this endpoint sends has a Data Checksum, which the peer must check (RFC 4340
    /// section 9.3).
    pub data_checksum: bool,
    /// Whether this endpoint sends its first datagram on the Request or Response (RFC 4340 section 8.1.1).
    pub handshake_data: bool,
    /// Whether this endpoint accepts data on a received Request or Response.
    pub accept_handshake_data: bool,
    /// Time without valid packets from the peer after which an open connection is closed, above 0s; absent: never. RFC
    /// 4340 has no such timer. Without `keep_alive`, an application at the peer that may be silent for longer must send
    /// something.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub idle_give_up: Option<Duration>,
    /// Time without valid packets from the peer after which a Sync is sent, above 0s and below `idle_give_up`; absent:
    /// never. The peer answers with a SyncAck (RFC 4340 section 7.5.4). The Sync is repeated after 1 s, 2 s and so on,
    /// up to half of this time. It keeps middlebox bindings open and detects a vanished peer. One of the two endpoints
    /// suffices. 15 s or more is recommended (RFC 8085 section 3.5).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub keep_alive: Option<Duration>,
    /// Maximum wait before an unanswered request to change the Sequence Window (option Change) is retransmitted, 1ms to
    /// 64s, or a round trip if that is longer (RFC 4340 section 6.6.3). The wait doubles with each retransmission.
    pub longest_change_wait: Duration,
    /// Whether a server closes with Close, and holds TIMEWAIT itself, instead of CloseReq.
    pub server_time_wait: bool,
    /// Maximum number of Syncs per second in answer to invalid packets (RFC 4340 section 7.5.4).
    pub syncs_per_second: u32,

    /// Mean number of data packets per sequence number that this sender skips on purpose, to detect receivers that
    /// acknowledge packets they did not receive; 20 or more; 0: none are skipped. A connection whose peer acknowledges
    /// skipped numbers three times, round trips apart, is reset with code 11 (RFC 4342 section 9). If numbers are
    /// skipped, TFRC receivers must send Loss Intervals, as RFC 4342 section 6 requires and Linux does not, and packets
    /// are sent without ECN, since a receiver can hide marks.
    pub passed_over_interval: u64,

    /// Rate of the network interface, above 0bps, for controllers that need it (`spacing-fixed`, `spacing`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub line_rate: Option<Rate>,
    /// MTU of the network interface, 576B to 9216B, including the IP header.
    pub mtu: Bytes,
    /// Whether to start with a path MTU of 1280 bytes and search upwards with padded Syncs (RFC 4340 section 14.1).
    pub probe_mtu: bool,

    /// When a listener answers with an Init Cookie (RFC 4340 section 8.1.4).
    pub init_cookies: InitCookies,
    /// Maximum number of connections of a listener in RESPOND, whose handshake is incomplete.
    pub backlog: usize,

    /// Timers and header sizes, whose presets differ between dialects (`rfc`, `ns2`, `linux`).
    pub expert: ConnectionExpert,
}

/// Timers and header sizes of a connection: the table `expert` of [`ConnectionOptions`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct ConnectionExpert {
    /// Wait before the first retransmission of a Request; it doubles each time, up to 64 s.
    pub request_timeout: Duration,
    /// Time after which a client in REQUEST gives up.
    pub request_give_up: Duration,
    /// Time after which a server in RESPOND gives up; RFC 4340 requires 8 min or more.
    pub respond_give_up: Duration,
    /// Time after which a client in PARTOPEN gives up.
    pub partopen_give_up: Duration,
    /// Wait before the first retransmission of a Close or CloseReq; absent: two round trips.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub close_timeout: Option<Duration>,
    /// Time after which an unanswered Close or CloseReq is given up.
    pub close_give_up: Duration,
    /// Duration of TIMEWAIT: two maximum segment lifetimes.
    pub time_wait: Duration,
    /// Minimum time between two reports of a receiver under CCID 3 or 4, up to 64s; absent: none. If the round trip is
    /// shorter than the gap between packets, RFC 5348 section 6 requires a report for each packet, which adds no
    /// information. The sender must support it: one whose nofeedback timer is four round trips (`nofeedback =
    /// "four-rtt"`) mistakes the missing reports for lost ones.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub report_gap: Option<Duration>,
    /// Age at which received data that no acknowledgement has covered is acknowledged with an Ack Vector, if the peer
    /// uses those, 1ms to 64s, or two round trips if that is longer; absent: never. A receiver under CCID 3 or 4
    /// reports when the next packet arrives, so that the last packets would stay unreported. A sender whose last
    /// datagrams have no outcome after two round trips, and twice this time, asks for it with three Syncs.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub tail_ack: Option<Duration>,
    /// Size of the headers below DCCP, IP and UDP if used: 20, 28, 40 or 48 bytes.
    pub lower_headers: Bytes,
    /// Size that a security layer between UDP and DCCP adds to each packet, such as the DTLS record
    /// header and tag: up to 256 bytes.
    pub secure_headers: Bytes,
}

/// When a listener answers a Request with an Init Cookie instead of keeping a connection in RESPOND. The cookie
/// contains the state of the connection; the client returns it with its packets until the handshake is complete (RFC
/// 4340 section 8.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum InitCookies {
    /// Init Cookies are never used: with a full backlog, Requests are refused with the Reset "Too Busy". For clients
    /// that do not echo cookies (Linux).
    Never,
    /// Init Cookies are used while the backlog is full. At other times clients that do not support cookies are served,
    /// too.
    WhenBusy,
    /// Init Cookies are always used: no state is kept before the handshake ends.
    Always,
}

/// Minimum timeout: a shorter one retransmits before any path can answer.
const MIN_WAIT: Duration = Duration::from_millis(1);
/// Maximum wait before a retransmission (RFC 4340 sections 6.6.3 and 8.1.1).
const MAX_WAIT: Duration = Duration::from_secs(64);
const MAX_LIFETIME: Duration = Duration::from_secs(1_000_000);

/// Minimum mean number of data packets per skipped number. Below it, an honest receiver's reports
/// are hard to distinguish from lies.
const MIN_SKIP_INTERVAL: u64 = 20;

const STANDARD: [(Ccid, &str); 3] = [(Ccid::TCP_LIKE, "tcp-like"), (Ccid::TFRC, "tfrc"), (Ccid::TFRC_SP, "tfrc-sp")];

impl Options for ConnectionOptions {
    fn preset(dialect: Dialect) -> Self {
        let controllers = STANDARD.into_iter();
        let rfc = Self {
            send_ccids: vec![2, 3, 4],
            receive_ccids: vec![2, 3, 4],
            controllers: controllers
                .filter_map(|(ccid, kind)| Some(CcidController::new(ccid, ControllerOptions::preset(kind, dialect)?)))
                .collect(),
            sequence_window: 100,
            largest_sequence_window: 1 << 20,
            ecn: true,
            ndp_counts: false,
            loss_event_rate: false,
            receive_repairs: false,
            timestamps: false,
            one_way_delays: false,
            send_coverage: 0,
            minimum_coverage: 0,
            data_checksum: false,
            handshake_data: false,
            accept_handshake_data: true,
            idle_give_up: None,
            keep_alive: None,
            longest_change_wait: Duration::from_secs(64),
            server_time_wait: false,
            syncs_per_second: 8,
            passed_over_interval: 0,
            line_rate: None,
            mtu: Bytes::new(1500),
            probe_mtu: false,
            init_cookies: InitCookies::WhenBusy,
            backlog: 128,
            expert: ConnectionExpert {
                request_timeout: Duration::from_secs(1),
                request_give_up: Duration::from_secs(180),
                respond_give_up: Duration::from_secs(480),
                partopen_give_up: Duration::from_secs(480),
                close_timeout: None,
                close_give_up: Duration::from_secs(480),
                time_wait: Duration::from_secs(240),
                report_gap: None,
                tail_ack: None,
                lower_headers: Bytes::new(20),
                secure_headers: Bytes::new(0),
            },
        };
        match dialect {
            Dialect::Rfc | Dialect::Ns3 => rfc,
            // Data waits for a wider Sequence Window. After an outage, its Change must not wait for
            // the duration of the outage.
            Dialect::Headway1 => Self { longest_change_wait: Duration::from_millis(200), ..rfc },
            // ns-2.35 tcl/lib/ns-default.tcl: initial_rtx_to_, resp_to_.
            Dialect::Ns2 => Self {
                send_ccids: vec![2, 3],
                receive_ccids: vec![2, 3],
                loss_event_rate: true,
                expert: ConnectionExpert {
                    request_timeout: Duration::from_secs(3),
                    request_give_up: Duration::from_secs(75),
                    respond_give_up: Duration::from_secs(75),
                    ..rfc.expert
                },
                ..rfc
            },
            // Measured with Linux 6.1: seven Requests, Close retransmitted after 3 s, one CCID offered, no ECN.
            Dialect::Linux => Self {
                send_ccids: vec![2],
                receive_ccids: vec![2],
                ecn: false,
                loss_event_rate: true,
                timestamps: true,
                init_cookies: InitCookies::Never,
                expert: ConnectionExpert {
                    request_timeout: Duration::from_secs(3),
                    request_give_up: Duration::from_secs(221),
                    close_timeout: Some(Duration::from_secs(3)),
                    ..rfc.expert
                },
                ..rfc
            },
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let wrong = |key, message: String| Err(OptionError::new(key, message));
        let window = 32..1u64 << 46;
        if !window.contains(&self.sequence_window) {
            let window = self.sequence_window;
            return wrong("sequence_window", format!("{window} is out of range: from 32 to 70368744177663 packets"));
        }
        if !window.contains(&self.largest_sequence_window) || self.largest_sequence_window < self.sequence_window {
            let (largest, least) = (self.largest_sequence_window, self.sequence_window);
            return wrong(
                "largest_sequence_window",
                format!("{largest} is out of range: from {least} (sequence_window) to 70368744177663 packets"),
            );
        }
        for (key, coverage) in [("send_coverage", self.send_coverage), ("minimum_coverage", self.minimum_coverage)] {
            if coverage > 15 {
                return wrong(key, format!("{coverage} is out of range: from 0 to 15"));
            }
        }
        if (1..MIN_SKIP_INTERVAL).contains(&self.passed_over_interval) {
            let interval = self.passed_over_interval;
            return wrong("passed_over_interval", format!("{interval} is out of range: 0, or 20 and above"));
        }
        if self.passed_over_interval > 0 && self.loss_event_rate {
            return wrong(
                "passed_over_interval",
                "needs Loss Intervals: set it to 0, or loss_event_rate to false (true by default in dialects linux and ns2)".into(),
            );
        }
        for (key, time) in [("idle_give_up", self.idle_give_up), ("keep_alive", self.keep_alive)] {
            if time.is_some_and(Duration::is_zero) {
                return wrong(key, "0s is out of range: above 0s, or absent".into());
            }
        }
        if let Some((give_up, interval)) = self.idle_give_up.zip(self.keep_alive)
            && give_up <= interval
        {
            return wrong("keep_alive", format!("{interval} is out of range: below idle_give_up ({give_up})"));
        }
        if self.line_rate.is_some_and(|rate| rate.bits_per_second() == 0) {
            return wrong("line_rate", "0bps is out of range: above 0bps, or absent".into());
        }
        if !(576..=9216).contains(&self.mtu.count()) {
            return wrong("mtu", format!("{} is out of range: from 576B to 9216B", self.mtu));
        }
        check_range("longest_change_wait", self.longest_change_wait, MIN_WAIT..=MAX_WAIT)?;
        self.controllers
            .iter()
            .try_for_each(|row| row.controller.check_terms())
            .map_err(|error| error.within("controllers"))?;
        self.expert.check().map_err(|error| error.within("expert"))
    }
}

impl ConnectionExpert {
    fn check(&self) -> Result<(), OptionError> {
        if ![20, 28, 40, 48].contains(&self.lower_headers.count()) {
            return Err(OptionError::new(
                "lower_headers",
                format!("{} is out of range: 20B or 40B of IP, and 8B more of UDP", self.lower_headers),
            ));
        }
        if self.secure_headers.count() > 256 {
            return Err(OptionError::new(
                "secure_headers",
                format!("{} is out of range: from 0B to 256B", self.secure_headers),
            ));
        }
        check_range("tail_ack", self.tail_ack.unwrap_or(MAX_WAIT), MIN_WAIT..=MAX_WAIT)?;
        check_range("report_gap", self.report_gap.unwrap_or_default(), Duration::ZERO..=MAX_WAIT)?;
        for (key, time) in [
            ("request_timeout", self.request_timeout),
            ("close_timeout", self.close_timeout.unwrap_or(MIN_WAIT)),
            ("request_give_up", self.request_give_up),
            ("respond_give_up", self.respond_give_up),
            ("partopen_give_up", self.partopen_give_up),
            ("close_give_up", self.close_give_up),
            ("time_wait", self.time_wait),
        ] {
            check_range(key, time, MIN_WAIT..=MAX_LIFETIME)?;
        }
        Ok(())
    }
}

impl ConnectionOptions {
    pub(crate) fn row(&self, ccid: Ccid) -> Option<&CcidController> {
        self.controllers.iter().find(|row| row.ccid == ccid)
    }
    /// Checks that a connection with these options can provide `need` to a controller.
    ///
    /// # Errors
    ///
    /// The option that must be set, and its required value. [`Need::ChannelLosses`] is always an error.
    pub fn fulfils(&self, need: Need) -> Result<(), OptionError> {
        match need {
            Need::LineRate if self.line_rate.is_none() => Err(("line_rate", "set it")),
            // No packet reports the cause of losses.
            Need::ChannelLosses => {
                return Err(OptionError::new(
                    "controllers",
                    format!("the controller needs {need}, and no packet of a connection reports that"),
                ));
            }
            Need::Ect1 if !self.ecn => Err(("ecn", "set it to true")),
            Need::Ect1 if self.passed_over_interval > 0 => {
                Err(("passed_over_interval", "set it to 0, since verification disables ECN"))
            }
            _ => Ok(()),
        }
        .map_err(|(key, remedy)| OptionError::new(key, format!("the controller needs {need}: {remedy}")))
    }

    pub(crate) fn profile(&self, ccid: u8) -> CcidProfile {
        CcidProfile::of(Ccid(ccid), self.row(Ccid(ccid)))
    }
    pub(crate) fn usable<'a>(&'a self, ccids: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        ccids.iter().copied().filter(|ccid| self.row(Ccid(*ccid)).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid() {
        for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux] {
            assert_eq!(ConnectionOptions::preset(dialect).check(), Ok(()), "{dialect}");
        }
    }

    /// Section 7.5.2: 32 to 2^46 - 1; section 9.2.1: 0 to 15.
    #[test]
    fn options_out_of_range_are_rejected() {
        let rfc = || ConnectionOptions::preset(Dialect::Rfc);
        for (wrong, key) in [
            (ConnectionOptions { sequence_window: 31, ..rfc() }, "sequence_window"),
            (ConnectionOptions { largest_sequence_window: 1 << 46, ..rfc() }, "largest_sequence_window"),
            (ConnectionOptions { largest_sequence_window: 99, ..rfc() }, "largest_sequence_window"),
            (ConnectionOptions { send_coverage: 16, ..rfc() }, "send_coverage"),
            (ConnectionOptions { mtu: Bytes::new(500), ..rfc() }, "mtu"),
            (ConnectionOptions { line_rate: Some(Rate::from_bits_per_second(0)), ..rfc() }, "line_rate"),
            (ConnectionOptions { idle_give_up: Some(Duration::ZERO), ..rfc() }, "idle_give_up"),
            (ConnectionOptions { keep_alive: Some(Duration::ZERO), ..rfc() }, "keep_alive"),
            (
                ConnectionOptions {
                    keep_alive: Some(Duration::from_secs(15)),
                    idle_give_up: Some(Duration::from_secs(15)),
                    ..rfc()
                },
                "keep_alive",
            ),
            (ConnectionOptions { passed_over_interval: 19, ..rfc() }, "passed_over_interval"),
            (ConnectionOptions { passed_over_interval: 20, loss_event_rate: true, ..rfc() }, "passed_over_interval"),
        ] {
            assert_eq!(wrong.check().unwrap_err().key, key);
        }
    }

    /// Serialized options are read back unchanged.
    #[test]
    fn serialized_options_are_read_back() {
        // CCIDs and controllers are composed elsewhere and not serialized.
        let (controllers, send_ccids, receive_ccids) = Default::default();
        let preset = ConnectionOptions::preset(Dialect::Linux);
        let rfc = ConnectionOptions { controllers, send_ccids, receive_ccids, ..preset };
        let text = serde_json::to_string(&rfc).unwrap();
        assert_eq!(serde_json::from_str::<ConnectionOptions>(&text).unwrap(), rfc);
        assert!(serde_json::from_str::<ConnectionOptions>(&text.replace("\"ecn\"", "\"enc\"")).is_err());
    }
}
