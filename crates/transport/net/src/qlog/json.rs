//! JSON of the events, as in draft-ietf-quic-qlog-main-schema-05 and
//! draft-ietf-quic-qlog-quic-events-04: the drafts of `qlog_version` 0.3, which qvis reads. DCCP has other terms than
//! QUIC, so those of DCCP are mapped to its names:
//!
//! - The packet number is the 48-bit sequence number. Request and Response are `initial` packets, all others `1RTT`:
//!   qvis assigns an acknowledgement to packets of the same type only. `dccp_type` is the type of RFC 4340.
//! - The acknowledgement number and Ack Vectors are an `ack` frame, application data is a `datagram` frame, Close,
//!   CloseReq and Reset are a `connection_close` frame, and Sync is a `ping` frame.
//! - Fields without an equivalent in QUIC keep the names of records: `target_rate`, `loss_event_rate`. Events without
//!   one have the category `headway`.

use super::event::{Event, Header, Metrics, PacketInfo};
use crate::BreakerReason;
use crate::mailbox::Closed;
use headway_dccp::{Dropped, Ignored, PacketType, Path, ResetCode};
use headway_units::{Duration, Rate, SendDrop};
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};

/// Start of each record (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Returns the record of the header.
pub(super) fn first_record(header: &Header) -> Vec<u8> {
    let Header { role, group, reference_time } = header;
    record(&json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": concat!("Headway ", env!("CARGO_PKG_VERSION")),
        "trace": {
            "vantage_point": { "name": "headway", "type": role.name() },
            "common_fields": {
                "protocol_type": ["DCCP"],
                "group_id": group,
                "time_format": "relative",
                "reference_time": reference_time,
            },
        },
    }))
}

/// Returns the record of an event. `time`: since the reference time.
pub(super) fn event_record(time: Duration, event: &Event) -> Vec<u8> {
    let (name, data) = named(event);
    record(&json!({ "time": milliseconds(time), "name": name, "data": data }))
}

fn record(value: &Value) -> Vec<u8> {
    let mut bytes = vec![RECORD_SEPARATOR];
    // A value with names as keys can always be written.
    let _ = serde_json::to_writer(&mut bytes, value);
    bytes.push(b'\n');
    bytes
}

/// Returns a time in ms, in whole microseconds.
fn milliseconds(time: Duration) -> f64 {
    (time.as_nanos() / 1000) as f64 / 1000.0
}

fn named(event: &Event) -> (&'static str, Map<String, Value>) {
    match event {
        Event::Started(path) => ("connectivity:connection_started", started(path)),
        Event::Established => {
            let state = [("old", "attempted"), ("new", "handshake_confirmed")];
            ("connectivity:connection_state_updated", strings(state))
        }
        Event::Closed { why, established } => ("connectivity:connection_closed", closed(why, *established)),
        Event::Sent(packet) => ("transport:packet_sent", packet.json()),
        Event::Received(packet) => ("transport:packet_received", packet.json()),
        Event::Ignored(packet, why) => {
            let mut data = packet.json();
            data.insert("trigger".into(), trigger(why).into());
            data.insert("details".into(), json!({ "reason": why.to_string() }));
            ("transport:packet_dropped", data)
        }
        Event::Lost { kind, number } => {
            let header = header(*kind, *number);
            let trigger = ("trigger".into(), "reordering_threshold".into());
            ("recovery:packet_lost", Map::from_iter([("header".into(), header.into()), trigger]))
        }
        Event::DatagramDropped { id, cause, lateness } => {
            let mut data = Map::from_iter([("datagram_id".into(), (*id).into())]);
            data.insert("cause".into(), cause.map_or("withdrawn", SendDrop::name).into());
            if !lateness.is_zero() {
                data.insert("lateness".into(), milliseconds(*lateness).into());
            }
            ("headway:datagram_dropped", data)
        }
        Event::Metrics(metrics) => ("recovery:metrics_updated", metrics.json()),
        Event::EventsDropped(count) => ("headway:events_dropped", Map::from_iter([("count".into(), (*count).into())])),
    }
}

fn strings<const N: usize>(fields: [(&str, &str); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn started(path: &Path) -> Map<String, Value> {
    let (local, remote) = match *path {
        Path::Udp { local, remote } => (local, remote),
        Path::Ipv4 { local, remote } => (SocketAddr::new(local.into(), 0), SocketAddr::new(remote.into(), 0)),
        Path::Ipv6 { local, remote } => (SocketAddr::new(local.into(), 0), SocketAddr::new(remote.into(), 0)),
    };
    let address = |ip: IpAddr| Value::from(ip.to_canonical().to_string());
    let version = if remote.ip().to_canonical().is_ipv4() { "v4" } else { "v6" };
    let mut data = strings([("protocol", "DCCP"), ("ip_version", version)]);
    data.insert("src_ip".into(), address(local.ip()));
    data.insert("dst_ip".into(), address(remote.ip()));
    if let Path::Udp { .. } = path {
        data.insert("src_port".into(), local.port().into());
        data.insert("dst_port".into(), remote.port().into());
    }
    data
}

fn closed(why: &Closed, established: bool) -> Map<String, Value> {
    let (owner, trigger, code) = match why {
        Closed::Here => ("local", "clean", None),
        Closed::ByPeer => ("remote", "clean", None),
        Closed::NoAnswer => ("local", if established { "idle_timeout" } else { "handshake_timeout" }, None),
        Closed::Breaker(BreakerReason::NoReports(_)) => ("local", "idle_timeout", None),
        Closed::Reset(reset) => ("remote", "error", Some(reset.code.0)),
        Closed::Aborted(reset) => ("local", "error", Some(reset.code.0)),
        Closed::Breaker(_) | Closed::Security(_) | Closed::Refused(_) | Closed::Socket => ("local", "error", None),
    };
    let mut data = strings([("owner", owner), ("trigger", trigger)]);
    data.insert("reason".into(), why.to_string().into());
    if let Some(code) = code {
        data.insert("connection_code".into(), code.into());
    }
    data
}

/// Returns the reason of a dropped packet in the terms of the draft.
const fn trigger(why: &Dropped) -> &'static str {
    match why {
        Dropped::Packet(_) | Dropped::Ignored(Ignored::SequenceInvalid | Ignored::Unexpected(_)) => "invalid",
        Dropped::Ignored(Ignored::Duplicate) | Dropped::Full => "rejected",
        Dropped::Ignored(Ignored::ShortNumbers) => "unsupported",
        Dropped::Ignored(Ignored::NoConnection) => "connection_unknown",
        Dropped::Ignored(_) => "general",
    }
}

impl PacketInfo {
    /// Returns whether the packet is a padded Sync (RFC 4340 section 14.1).
    const fn is_mtu_probe(&self) -> bool {
        matches!(self.kind, PacketType::Sync) && self.payload > 0
    }

    fn frames(&self) -> Vec<Value> {
        let mut frames = Vec::new();
        if !self.acknowledged.is_empty() {
            let range = |&(first, last): &(u64, u64)| if first == last { json!([first]) } else { json!([first, last]) };
            let ranges: Vec<Value> = self.acknowledged.iter().map(range).collect();
            frames.push(json!({ "frame_type": "ack", "acked_ranges": ranges }));
        }
        if self.has_datagram() {
            frames.push(json!({ "frame_type": "datagram", "length": self.payload }));
        }
        match (self.kind, self.reset) {
            (PacketType::Sync, _) => frames.push(json!({ "frame_type": "ping" })),
            (PacketType::Close | PacketType::CloseReq, _) => frames.push(json!({
                "frame_type": "connection_close", "error_space": "transport", "error_code": "no_error",
                "reason": self.kind.to_string(),
            })),
            (PacketType::Reset, Some(reset)) => {
                let code = if reset.code == ResetCode::CLOSED { json!("no_error") } else { json!(reset.code.0) };
                frames.push(json!({
                    "frame_type": "connection_close", "error_space": "transport", "error_code": code,
                    "error_code_value": reset.code.0, "reason": reset.code.to_string(),
                }));
            }
            _ => {}
        }
        frames
    }

    fn json(&self) -> Map<String, Value> {
        let mut header = header(self.kind, self.number);
        header.insert("dccp_type".into(), self.kind.to_string().into());
        let mut data = Map::new();
        data.insert("header".into(), header.into());
        data.insert("raw".into(), json!({ "length": self.length, "payload_length": self.payload }));
        data.insert("frames".into(), self.frames().into());
        if self.is_mtu_probe() {
            data.insert("is_mtu_probe_packet".into(), true.into());
        }
        data
    }
}

fn header(kind: PacketType, number: u64) -> Map<String, Value> {
    let packet_type = match kind {
        PacketType::Request | PacketType::Response => "initial",
        _ => "1RTT",
    };
    Map::from_iter([("packet_type".into(), packet_type.into()), ("packet_number".into(), number.into())])
}

impl Metrics {
    fn json(&self) -> Map<String, Value> {
        let rate = |rate: Rate| rate.bits_per_second().into();
        let fields = [
            ("smoothed_rtt", self.smoothed_rtt.map(|rtt| milliseconds(rtt).into())),
            ("congestion_window", self.congestion_window.map(Value::from)),
            ("ssthresh", self.ssthresh.map(Value::from)),
            ("bytes_in_flight", self.bytes_in_flight.map(Value::from)),
            ("packets_in_flight", self.packets_in_flight.map(Value::from)),
            ("pacing_rate", self.pacing_rate.map(rate)),
            ("target_rate", self.target_rate.map(rate)),
            ("loss_event_rate", self.loss_event_rate.map(|p| p.value().into())),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect()
    }
}

#[cfg(test)]
mod tests;
