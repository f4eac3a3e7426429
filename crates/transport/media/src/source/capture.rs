//! The source `capture`: the UDP datagrams of a packet capture, at the times at which they were captured.
//!
//! A capture contains both directions of a call and other traffic. `from` and `to` select one direction. `kinds`
//! assigns a media kind to each datagram by RTP payload type, UDP port or size; the first matching rule applies.

mod datagrams;
#[cfg(feature = "capture")]
mod file;
#[cfg(feature = "capture")]
mod headers;

pub use datagrams::{Capture, CaptureError, CaptureProblem, Cut, Datagram};

use super::playback::{Streams, TraceOptions};
use super::trace::Trace;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::check_lifetime;
use headway_units::{Bytes, Dialect, Duration, MediaKind, OptionError};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// Options of the source `capture`, which sends the UDP datagrams of a packet capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct CaptureOptions {
    /// Path of the capture file, in pcap or pcapng format.
    pub file: String,
    /// Sender of the captured datagrams that the source sends; absent: any sender. If `to` is absent, too, the capture
    /// must have a single sender.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub from: Option<Host>,
    /// Receiver of the captured datagrams that the source sends; absent: any receiver. If `from` is absent, too, the
    /// capture must have a single sender.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub to: Option<Host>,
    /// Rules that assign media kinds to datagrams; the first rule that matches a datagram applies to it.
    pub kinds: Vec<KindRule>,
    /// Media kind of datagrams that no rule matches.
    pub media: MediaKind,
    /// Whether the capture repeats without end.
    #[cfg_attr(feature = "schema", serde(rename = "loop"))]
    pub looped: bool,
    /// Time after which a datagram is useless to the receiver, counted from its write, at least 1ns; absent: without
    /// limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lifetime: Option<Duration>,
    /// Priority of audio; 0 is the most urgent.
    pub audio_priority: u8,
    /// Priority of video without a frame type; 0 is the most urgent.
    pub video_priority: u8,
    /// Priority of I-frames; 0 is the most urgent.
    pub i_priority: u8,
    /// Priority of P-frames; 0 is the most urgent.
    pub p_priority: u8,
    /// Priority of B-frames; 0 is the most urgent.
    pub b_priority: u8,
    /// Priority of other data; 0 is the most urgent.
    pub data_priority: u8,
}

/// Rule that assigns a media kind to datagrams. It matches a datagram if all given conditions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct KindRule {
    /// RTP payload type that the rule matches (RFC 3550 section 5.1), 0 to 127.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub payload_type: Option<u8>,
    /// UDP port of the sender or of the receiver that the rule matches.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub port: Option<u16>,
    /// Smallest size of the UDP payload that the rule matches.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub min_size: Option<Bytes>,
    /// Largest size of the UDP payload that the rule matches.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub max_size: Option<Bytes>,
    /// Media kind of the datagrams that match.
    pub kind: MediaKind,
}

/// IP address with an optional UDP port, as text: `192.0.2.1`, `192.0.2.1:5004`, `2001:db8::1` or `[2001:db8::1]:5004`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(try_from = "String", into = "String"))]
pub struct Host {
    /// IP address.
    pub address: IpAddr,
    /// UDP port; absent: any port.
    pub port: Option<u16>,
}

/// Error of parsing a [`Host`] from text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0:.60}\" is not an address: write one such as 192.0.2.1, 192.0.2.1:5004 or [2001:db8::1]:5004")]
pub struct ParseHostError(String);

impl FromStr for Host {
    type Err = ParseHostError;

    fn from_str(text: &str) -> Result<Self, ParseHostError> {
        let with_port = |socket: SocketAddr| Self { address: socket.ip(), port: Some(socket.port()) };
        let alone = text.parse().map(|address| Self { address, port: None });
        alone.or_else(|_| text.parse().map(with_port)).map_err(|_| ParseHostError(text.to_owned()))
    }
}

impl TryFrom<String> for Host {
    type Error = ParseHostError;

    fn try_from(text: String) -> Result<Self, ParseHostError> {
        text.parse()
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.to_string()
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
            None => self.address.fmt(f),
        }
    }
}

impl Host {
    fn matches(&self, socket: SocketAddr) -> bool {
        self.address == socket.ip() && self.port.is_none_or(|port| port == socket.port())
    }
}

impl KindRule {
    fn matches(&self, datagram: &Datagram, ports: [u16; 2]) -> bool {
        let size = Bytes::new(u64::from(datagram.bytes));
        self.payload_type.is_none_or(|payload_type| datagram.payload_type == Some(payload_type))
            && self.port.is_none_or(|port| ports.contains(&port))
            && self.min_size.is_none_or(|least| size >= least)
            && self.max_size.is_none_or(|most| size <= most)
    }

    fn check(&self, number: usize) -> Result<(), OptionError> {
        let Self { payload_type, port, min_size, max_size, .. } = self;
        let wrong = |message: String| Err(OptionError::new("kinds", format!("rule {number}: {message}")));
        if payload_type.is_none() && port.is_none() && min_size.is_none() && max_size.is_none() {
            return wrong("no condition: expected payload_type, port, min_size or max_size".to_owned());
        }
        if let Some(payload_type) = payload_type.filter(|payload_type| *payload_type > 127) {
            return wrong(format!("payload_type = {payload_type} is not an RTP payload type: expected 0 to 127"));
        }
        if let (Some(least), Some(most)) = (min_size, max_size)
            && least > most
        {
            return wrong(format!("min_size = {least} is above max_size = {most}, so that no datagram matches"));
        }
        Ok(())
    }
}

/// Datagrams that a capture source sends, and notes about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSchedule {
    /// Selected datagrams, each as a frame.
    pub trace: Trace,
    /// Notes about unusual but valid input: a truncated file, a rule that matches no datagram.
    pub notes: Vec<String>,
}

/// Maximum number of flows listed in an error message.
const LISTED_FLOWS: usize = 5;

impl CaptureOptions {
    /// Selects the datagrams of `capture` that the source sends, with their kinds.
    ///
    /// # Errors
    /// Returns an error if the options are invalid, no datagram matches, or a matching datagram has no time. Without
    /// `from` and `to`, several senders are an error.
    pub fn schedule(&self, capture: &Capture) -> Result<CaptureSchedule, OptionError> {
        self.check_rules()?;
        let chosen = self.chosen_flows(capture)?;
        let mut uses = vec![0u64; self.kinds.len()];
        let mut sent = Vec::new();
        for datagram in capture.datagrams() {
            let flow = datagram.flow;
            if !chosen.get(flow as usize).copied().unwrap_or_default() || datagram.bytes == 0 {
                continue;
            }
            let Some(at) = datagram.at else {
                let message = format!(
                    "packet {} of \"{}\" has no time, because it is in a Simple Packet Block: capture with dumpcap or tcpdump, \
                     which record times",
                    datagram.packet, self.file
                );
                return Err(OptionError::new("file", message));
            };
            let ports = capture.flow(flow).map_or([0; 2], |ends| ends.map(|end| end.port()));
            let rule = self.kinds.iter().position(|rule| rule.matches(datagram, ports));
            let kind = rule.map_or(self.media, |rule| {
                uses[rule] += 1;
                self.kinds[rule].kind
            });
            sent.push(((flow, kind), flow, at, Bytes::new(u64::from(datagram.bytes)), kind));
        }
        let no_data = || OptionError::new("file", format!("no datagram chosen from \"{}\" has a payload", self.file));
        let trace = Trace::of(sent).ok_or_else(no_data)?;
        let unused = uses.iter().zip(1..).filter(|(count, _)| **count == 0);
        let unused = unused.map(|(_, number)| format!("rule {number} of kinds decides for no datagram"));
        let cut = capture.cut().map(|cut| format!("\"{}\": {cut}", self.file));
        let step_back = capture.step_back().map(|step| format!("\"{}\": {step}", self.file));
        Ok(CaptureSchedule { trace, notes: cut.into_iter().chain(step_back).chain(unused).collect() })
    }

    /// Returns whether each flow of the capture is sent.
    fn chosen_flows(&self, capture: &Capture) -> Result<Vec<bool>, OptionError> {
        let wrong = |key, message: String| Err(OptionError::new(key, message));
        if capture.datagrams().is_empty() {
            let cut = capture.cut().map(|cut| format!("; {cut}")).unwrap_or_default();
            return wrong("file", format!("\"{}\" has no UDP datagram{}{cut}", self.file, capture.unread()));
        }
        let matches = |host: Option<Host>, socket| host.is_none_or(|host| host.matches(socket));
        let is_chosen = |[from, to]: &[SocketAddr; 2]| matches(self.from, *from) && matches(self.to, *to);
        let chosen: Vec<bool> = capture.flows().map(is_chosen).collect();
        let listed = || format!("\"{}\" has {}", self.file, capture.list(LISTED_FLOWS));
        let key = if self.from.is_some() { "from" } else { "to" };
        if !chosen.contains(&true) {
            return wrong(key, format!("no datagram matches; {}", listed()));
        }
        if self.from.is_none() && self.to.is_none() && capture.senders() > 1 {
            return wrong("from", format!("choose one direction with from, to or both; {}", listed()));
        }
        Ok(chosen)
    }

    /// Returns the options of the playback of [`Self::schedule`].
    pub(super) fn playback(&self) -> TraceOptions {
        TraceOptions {
            file: self.file.clone(),
            looped: self.looped,
            streams: Streams::All,
            frame_interval: None,
            lifetime: self.lifetime,
            audio_priority: self.audio_priority,
            video_priority: self.video_priority,
            i_priority: self.i_priority,
            p_priority: self.p_priority,
            b_priority: self.b_priority,
            data_priority: self.data_priority,
        }
    }

    fn check_rules(&self) -> Result<(), OptionError> {
        self.kinds.iter().zip(1..).try_for_each(|(rule, number)| rule.check(number))
    }
}

impl headway_units::Options for CaptureOptions {
    /// Uses the priorities of a trace.
    fn preset(dialect: Dialect) -> Self {
        let trace = TraceOptions::preset(dialect);
        Self {
            file: trace.file,
            from: None,
            to: None,
            kinds: Vec::new(),
            media: MediaKind::Data,
            looped: trace.looped,
            lifetime: trace.lifetime,
            audio_priority: trace.audio_priority,
            video_priority: trace.video_priority,
            i_priority: trace.i_priority,
            p_priority: trace.p_priority,
            b_priority: trace.b_priority,
            data_priority: trace.data_priority,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.file.is_empty() {
            return Err(OptionError::new("file", "a capture source needs file, a capture in pcap or pcapng format"));
        }
        self.check_rules()?;
        check_lifetime(self.lifetime)
    }
}
