//! What a connection is told, and its presets.

use crate::ccid::{CcidController, Room};
use crate::feature::Ccid;
use headway_rate::{ControllerOptions, Need};
use headway_units::{Bytes, Dialect, Duration, OptionError, Options, Rate, Registry, check_range};
#[cfg(feature = "schema")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

/// The rules of a connection's end. Durations are those of RFC 4340 unless the field says otherwise.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct ConnectionOptions {
    /// CCIDs for the data that this end sends, the most preferred first. Those without a controller are left out.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub send_ccids: Vec<u8>,
    /// CCIDs for the data that the peer sends.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_ccids: Vec<u8>,
    /// The controller of each CCID. CCIDs 248 to 254 are for experiments (section 19.5).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub controllers: Vec<CcidController>,

    /// This end's Sequence Window at first, 32 to 2^46 - 1 (section 7.5.2).
    pub sequence_window: u64,
    /// As far as it grows to five times the packets of a round trip.
    pub largest_sequence_window: u64,
    /// Whether ECN marks can be read here (section 12.1), and packets be sent as capable (section 12).
    pub ecn: bool,
    /// Ask the peer for NDP Counts (section 7.7).
    pub ndp_counts: bool,
    /// Ask TFRC's receiver for its Loss Event Rate instead of Loss Intervals (RFC 4342 section 8.4).
    pub loss_event_rate: bool,
    /// Timestamps on Request and Response (section 13.1).
    pub timestamps: bool,
    /// Measure the one-way delays of the peer's data: Timestamps on acknowledgements ask the peer for Timestamps on its data (sections 13.1 and 13.3).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub one_way_delays: bool,
    /// How much of the data that this end sends its checksum covers: 0 all, n the first 4(n - 1) bytes (section 9.2).
    pub send_coverage: u8,
    /// The least coverage that this end accepts; 0 full coverage only (section 9.2.1).
    pub minimum_coverage: u8,
    /// Put a Data Checksum on each packet of data, and require the peer to check them (section 9.3).
    pub data_checksum: bool,
    /// Send the first datagram on the Request or Response (section 8.1.1).
    pub handshake_data: bool,
    /// Accept data on a Request or Response.
    pub accept_handshake_data: bool,
    /// An open end that has heard nothing for so long gives up; absent: never. The RFC has no such timer: without `keep_alive` an application
    /// that may be silent for longer says something now and then.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub idle_give_up: Option<Duration>,
    /// An open end that has heard nothing for so long asks by a Sync, which the peer answers by a SyncAck (section 7.5.4), and again after
    /// 1 s, 2 s and so on up to half of this time; absent: never. It keeps bindings of middleboxes open, and shows a peer that has vanished soon
    /// enough for `idle_give_up`. Of two ends one need do it. While packets come it costs nothing. 15 s or more (RFC 8085 section 3.5).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub keep_alive: Option<Duration>,
    /// The longest wait before a Change of the Sequence Window without an answer is repeated, from 1ms to 64s, or a round trip if that
    /// is longer (section 6.6.3). Each repetition waits twice as long as the one before it.
    pub longest_change_wait: Duration,
    /// A server closes with Close and keeps TIMEWAIT itself, instead of CloseReq.
    pub server_time_wait: bool,
    /// Syncs a second that answer invalid packets, at most (section 7.5.4).
    pub syncs_per_second: u32,

    /// Data packets, in the mean, for which one number is passed over to see whether the peer says that it has come; 0: never
    /// (RFC 4342 section 9). Who says so thrice, round trips apart, gets a Reset with code 11. TFRC's receivers must then
    /// send Loss Intervals, as section 6 demands and Linux does not; and packets go without ECN, whose marks can be hidden.
    pub passed_over_interval: u64,

    /// How fast the interface takes packets, for controllers that must know.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub line_rate: Option<Rate>,
    /// The interface's MTU: what a packet may have with its IP header.
    pub mtu: Bytes,
    /// Begin with a small path MTU and probe upwards with padded Syncs (section 14.1).
    pub probe_mtu: bool,

    /// When a listener keeps a connection in an Init Cookie (section 8.1.4).
    pub init_cookies: InitCookies,
    /// Connections in RESPOND at most.
    pub backlog: usize,

    /// Timers and headers that presets set.
    pub expert: ConnectionExpert,
}

/// The table `expert` of [`ConnectionOptions`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct ConnectionExpert {
    /// The first retransmission of a Request; each next one waits twice as long, up to 64 s.
    pub request_timeout: Duration,
    /// After this long a client gives up.
    pub request_give_up: Duration,
    /// A server in RESPOND gives up; 8 min or more.
    pub respond_give_up: Duration,
    /// A client in PARTOPEN gives up.
    pub partopen_give_up: Duration,
    /// The first retransmission of a Close or CloseReq; absent: two round trips.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub close_timeout: Option<Duration>,
    /// An end whose Close or CloseReq has no answer gives up.
    pub close_give_up: Duration,
    /// How long TIMEWAIT lasts: two segment lifetimes.
    pub time_wait: Duration,
    /// The least time between two reports of a receiver under CCID 3 or 4; absent: none. Where the round trip is below the gap between
    /// packets, RFC 5348 section 6 would have each of them reported, which tells a sender no more. Both ends' controllers must live with it:
    /// a sender whose nofeedback timer waits for four round trips only (`nofeedback = "four-rtt"`) takes thinned reports for lost ones.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub report_gap: Option<Duration>,
    /// Data of which no acknowledgement has told for so long, and for two round trips, gets an Ack with its Ack Vector, where the peer asks for
    /// those; absent: none. A receiver under CCID 3 or 4 reports when the next packet comes, so that nobody tells of the last ones.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub tail_ack: Option<Duration>,
    /// IP's header, and UDP's below DCCP in UDP: 20, 28, 40 or 48 bytes.
    pub lower_headers: Bytes,
    /// What security between UDP and DCCP adds to each packet, such as DTLS's record header and tag: up to 256 bytes.
    pub secure_headers: Bytes,
}

/// When a listener answers a Request with an Init Cookie instead of keeping the connection in RESPOND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum InitCookies {
    /// Never: with a full backlog it is too busy. For clients that do not echo cookies (Linux).
    Never,
    /// Once the backlog is full. Until then clients that do not know cookies are served too.
    WhenBusy,
    /// Always: nothing is kept before the handshake ends.
    Always,
}

/// A timer that is shorter sends a packet again before any path can answer.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// The longest wait before a repetition (RFC 4340 sections 6.6.3 and 8.1.1).
const LONGEST_WAIT: Duration = Duration::from_secs(64);
/// Eleven days: no run is longer.
const LONGEST_LIFE: Duration = Duration::from_secs(1_000_000);

/// Data packets for a number passed over, at least: with fewer, an honest receiver's reports are hard to tell from lies.
const LEAST_PASSED_OVER: u64 = 20;

/// The kind of controller of each standard CCID.
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
            // Data waits for a wider Sequence Window: after an outage, its Change must not wait for as long as the outage lasted.
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
            // As measured with Linux 6.1: seven Requests, Close again after 3 s, one CCID offered, no ECN.
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
        let wrong = |key, message: &str| Err(OptionError::new(key, message));
        let window = 32..1u64 << 46;
        if !window.contains(&self.sequence_window) {
            return wrong("sequence_window", "a Sequence Window is from 32 to 70368744177663 packets");
        }
        if !window.contains(&self.largest_sequence_window) || self.largest_sequence_window < self.sequence_window {
            return wrong(
                "largest_sequence_window",
                "it should be 70368744177663 at most, and not less than sequence_window",
            );
        }
        for (key, coverage) in [("send_coverage", self.send_coverage), ("minimum_coverage", self.minimum_coverage)] {
            if coverage > 15 {
                return wrong(key, "a checksum coverage is from 0 to 15");
            }
        }
        if (1..LEAST_PASSED_OVER).contains(&self.passed_over_interval) {
            return wrong(
                "passed_over_interval",
                "at least 20 data packets for a number passed over, or 0 for none: more of them would look like losses",
            );
        }
        if self.passed_over_interval > 0 && self.loss_event_rate {
            return wrong(
                "passed_over_interval",
                "who verifies needs Loss Intervals, which loss_event_rate = true (dialect linux and ns2) does without",
            );
        }
        if self.idle_give_up.is_some_and(Duration::is_zero) {
            return wrong("idle_give_up", "0s is out of range: write more than 0s, or leave it out");
        }
        if self.keep_alive.is_some_and(Duration::is_zero) {
            return wrong("keep_alive", "0s is out of range: write more than 0s, or leave it out");
        }
        if self.idle_give_up.zip(self.keep_alive).is_some_and(|(give_up, ask)| give_up <= ask) {
            return wrong("keep_alive", "it should be shorter than idle_give_up, lest nobody is asked in time");
        }
        if self.line_rate.is_some_and(|rate| rate.bits_per_second() == 0) {
            return wrong("line_rate", "a line takes more than 0bps");
        }
        if !(576..=9216).contains(&self.mtu.count()) {
            return wrong("mtu", "an MTU is from 576B to 9216B");
        }
        check_range("longest_change_wait", self.longest_change_wait, SHORTEST_WAIT..=LONGEST_WAIT)?;
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
                "headers below DCCP are 20 or 40 bytes of IP, and 8 more of UDP: 20, 28, 40 or 48",
            ));
        }
        if self.secure_headers.count() > 256 {
            return Err(OptionError::new("secure_headers", "security adds from 0B to 256B to a packet"));
        }
        check_range("tail_ack", self.tail_ack.unwrap_or(LONGEST_WAIT), SHORTEST_WAIT..=LONGEST_WAIT)?;
        check_range("report_gap", self.report_gap.unwrap_or_default(), Duration::ZERO..=LONGEST_WAIT)?;
        for (key, time) in [
            ("request_timeout", self.request_timeout),
            ("close_timeout", self.close_timeout.unwrap_or(SHORTEST_WAIT)),
            ("request_give_up", self.request_give_up),
            ("respond_give_up", self.respond_give_up),
            ("partopen_give_up", self.partopen_give_up),
            ("close_give_up", self.close_give_up),
            ("time_wait", self.time_wait),
        ] {
            check_range(key, time, SHORTEST_WAIT..=LONGEST_LIFE)?;
        }
        Ok(())
    }
}

impl ConnectionOptions {
    /// The row of a CCID, if there is one.
    pub(crate) fn row(&self, ccid: Ccid) -> Option<&CcidController> {
        self.controllers.iter().find(|row| row.ccid == ccid)
    }
    /// Why a connection cannot give a controller what it needs, if so.
    ///
    /// # Errors
    ///
    /// The key that would have to be set.
    pub fn fulfils(&self, need: Need) -> Result<(), OptionError> {
        match need {
            Need::LineRate if self.line_rate.is_none() => Err(("line_rate", "set it")),
            // No packet says why others are lost.
            Need::ChannelLosses => {
                return Err(OptionError::new(
                    "controllers",
                    format!("the controller needs {need}, and no packet of a connection reports that"),
                ));
            }
            Need::Ect1 if !self.ecn => Err(("ecn", "it should be true")),
            Need::Ect1 if self.passed_over_interval > 0 => {
                Err(("passed_over_interval", "it should be 0: who verifies goes without ECN"))
            }
            _ => Ok(()),
        }
        .map_err(|(key, remedy)| OptionError::new(key, format!("the controller needs {need}: {remedy}")))
    }

    /// How the receivers of a CCID report.
    pub(crate) fn room(&self, ccid: u8) -> Room {
        Room::of(Ccid(ccid), self.row(Ccid(ccid)))
    }
    /// Those of a list of CCIDs that have a controller.
    pub(crate) fn usable<'a>(&'a self, ccids: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        ccids.iter().copied().filter(|ccid| self.row(Ccid(*ccid)).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_right() {
        for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux] {
            assert_eq!(ConnectionOptions::preset(dialect).check(), Ok(()), "{dialect}");
        }
    }

    /// Section 7.5.2: 32 to 2^46 - 1; section 9.2.1: 0 to 15.
    #[test]
    fn wrong_options_are_told() {
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

    /// What a scenario writes is read again; the controllers are composed elsewhere.
    #[test]
    fn they_come_back_from_text() {
        // Which CCIDs there are is composed, not read.
        let (controllers, send_ccids, receive_ccids) = Default::default();
        let preset = ConnectionOptions::preset(Dialect::Linux);
        let rfc = ConnectionOptions { controllers, send_ccids, receive_ccids, ..preset };
        let text = serde_json::to_string(&rfc).unwrap();
        assert_eq!(serde_json::from_str::<ConnectionOptions>(&text).unwrap(), rfc);
        assert!(serde_json::from_str::<ConnectionOptions>(&text.replace("\"ecn\"", "\"enc\"")).is_err());
    }
}
