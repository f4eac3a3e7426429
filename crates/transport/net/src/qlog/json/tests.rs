use super::*;
use crate::qlog::Role;
use headway_dccp::{Fate, Reset};
use headway_units::Probability;

/// Parses a record: its separator, its JSON and its end of line (RFC 7464 section 2.2).
fn parsed(record: &[u8]) -> Value {
    let json = record.strip_prefix(&[0x1e]).and_then(|rest| rest.strip_suffix(b"\n")).unwrap();
    assert!(!json.contains(&b'\n') && !json.contains(&0x1e));
    serde_json::from_slice(json).unwrap()
}

fn event(event: &Event) -> Value {
    parsed(&event_record(Duration::from_nanos(1_234_567_890), event))
}

fn packet(kind: PacketType) -> PacketInfo {
    PacketInfo { kind, number: 7, length: 24, payload: 0, acknowledged: Vec::new(), reset: None }
}

/// draft-ietf-quic-qlog-main-schema-05 section 8.2 (JSON-SEQ): the fields of QlogFileSeq and TraceSeq. qvis reads the
/// version 0.3 and `reference_time` as a number of ms.
#[test]
fn the_first_record_is_the_header() {
    let header = Header { role: Role::Server, group: "0123456789ab".into(), reference_time: 1_553_986_553_572.0 };
    let mut found = parsed(&first_record(&header));
    assert!(found["title"].take().as_str().unwrap().starts_with("Headway "));
    let expected = json!({
        "qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": null,
        "trace": {
            "vantage_point": { "name": "headway", "type": "server" },
            "common_fields": {
                "protocol_type": ["DCCP"], "group_id": "0123456789ab",
                "time_format": "relative", "reference_time": 1_553_986_553_572.0
            }
        }
    });
    assert_eq!(found, expected);
}

/// draft-ietf-quic-qlog-quic-events-04: TransportPacketSent with AckFrame, whose ranges of one packet have one number.
/// Times are in ms.
#[test]
fn a_packet_has_a_header_sizes_and_frames() {
    let acknowledged = vec![(12, 12), (3, 10)];
    let sent = Event::Sent(PacketInfo { length: 1240, payload: 1200, acknowledged, ..packet(PacketType::DataAck) });
    let expected = json!({
        "time": 1234.567,
        "name": "transport:packet_sent",
        "data": {
            "header": { "packet_type": "1RTT", "packet_number": 7, "dccp_type": "DataAck" },
            "raw": { "length": 1240, "payload_length": 1200 },
            "frames": [
                { "frame_type": "ack", "acked_ranges": [[12], [3, 10]] },
                { "frame_type": "datagram", "length": 1200 }
            ]
        }
    });
    assert_eq!(event(&sent), expected);
    let received = event(&Event::Received(packet(PacketType::Data)));
    assert_eq!(received["name"], "transport:packet_received");
    assert_eq!(received["data"]["frames"], json!([{ "frame_type": "datagram", "length": 0 }]), "an empty datagram");
}

/// qvis aligns the clocks of both ends by the `initial` packets.
#[test]
fn each_type_of_packet_has_an_equivalent() {
    let of = |kind, payload| event(&Event::Sent(PacketInfo { payload, ..packet(kind) }))["data"].clone();
    for kind in PacketType::ALL {
        let packet_type = if matches!(kind, PacketType::Request | PacketType::Response) { "initial" } else { "1RTT" };
        assert_eq!(of(kind, 0)["header"]["packet_type"], packet_type, "{kind}");
    }
    assert_eq!(of(PacketType::Request, 0)["frames"], json!([]));
    assert_eq!(of(PacketType::Request, 9)["frames"][0]["frame_type"], "datagram");
    assert_eq!(of(PacketType::Ack, 9)["frames"], json!([]), "an Ack has no application data");
    // RFC 4340 section 14.1: a probe of the path MTU is a padded Sync.
    assert_eq!(of(PacketType::Sync, 9)["is_mtu_probe_packet"], true);
    assert_eq!(
        of(PacketType::Sync, 0),
        json!({
            "header": { "packet_type": "1RTT", "packet_number": 7, "dccp_type": "Sync" },
            "raw": { "length": 24, "payload_length": 0 },
            "frames": [{ "frame_type": "ping" }]
        })
    );
    let close = json!([{
        "frame_type": "connection_close", "error_space": "transport", "error_code": "no_error", "reason": "Close"
    }]);
    assert_eq!(of(PacketType::Close, 0)["frames"], close);
}

/// RFC 4340 section 5.6: code 1 ends a connection in order, code 9 is "Too Busy".
#[test]
fn a_reset_has_its_code() {
    let of = |code| {
        let reset = Some(Reset { code, data: [0; 3] });
        event(&Event::Received(PacketInfo { reset, ..packet(PacketType::Reset) }))["data"]["frames"][0].clone()
    };
    let frame = |code: Value, value, reason| {
        json!({
            "frame_type": "connection_close", "error_space": "transport", "error_code": code,
            "error_code_value": value, "reason": reason
        })
    };
    assert_eq!(of(ResetCode::CLOSED), frame("no_error".into(), 1, "Closed"));
    assert_eq!(of(ResetCode::TOO_BUSY), frame(9.into(), 9, "Too Busy"));
}

/// draft-ietf-quic-qlog-quic-events-04: RecoveryPacketLost and TransportPacketDropped.
#[test]
fn lost_and_ignored_packets_have_a_trigger() {
    let lost = event(&Event::Lost { kind: PacketType::Data, number: 99 });
    let expected = json!({
        "time": 1234.567, "name": "recovery:packet_lost",
        "data": { "header": { "packet_type": "1RTT", "packet_number": 99 }, "trigger": "reordering_threshold" }
    });
    assert_eq!(lost, expected);
    for (why, trigger) in [
        (Ignored::Duplicate, "rejected"),
        (Ignored::SequenceInvalid, "invalid"),
        (Ignored::NoConnection, "connection_unknown"),
        (Ignored::NotInRequest, "general"),
    ] {
        let ignored = event(&Event::Ignored(packet(PacketType::Data), Dropped::Ignored(why)));
        assert_eq!(
            (&ignored["name"], &ignored["data"]["trigger"]),
            (&"transport:packet_dropped".into(), &trigger.into())
        );
        assert_eq!(ignored["data"]["details"]["reason"], why.to_string());
    }
}

/// draft-ietf-quic-qlog-quic-events-04: RecoveryMetricsUpdated has round-trip times in ms, windows in bytes and rates in
/// bit/s, and should contain changed metrics only.
#[test]
fn metrics_are_recorded_when_they_change() {
    let metrics = Metrics {
        smoothed_rtt: Some(Duration::from_micros(20_500)),
        congestion_window: Some(14_600),
        bytes_in_flight: Some(0),
        pacing_rate: Some(Rate::from_bits_per_second(2_000_000)),
        loss_event_rate: Probability::new(0.25),
        ..Metrics::default()
    };
    let first = metrics.changes_since(&Metrics::default()).unwrap();
    let expected = json!({
        "smoothed_rtt": 20.5, "congestion_window": 14_600, "bytes_in_flight": 0, "pacing_rate": 2_000_000,
        "loss_event_rate": 0.25
    });
    assert_eq!(event(&Event::Metrics(first))["data"], expected);
    assert_eq!(metrics.changes_since(&metrics), None);
    let later = Metrics { bytes_in_flight: Some(1200), ssthresh: Some(7300), ..metrics };
    let changes = event(&Event::Metrics(later.changes_since(&metrics).unwrap()));
    assert_eq!(changes["data"], json!({ "bytes_in_flight": 1200, "ssthresh": 7300 }));
}

/// draft-ietf-quic-qlog-quic-events-04: ConnectivityConnectionStarted and ConnectivityConnectionClosed.
#[test]
fn the_life_of_a_connection_is_recorded() {
    let path =
        Path::Udp { local: "[::ffff:192.0.2.1]:1000".parse().unwrap(), remote: "192.0.2.2:5004".parse().unwrap() };
    let started = event(&Event::Started(path));
    let expected = json!({
        "protocol": "DCCP", "ip_version": "v4", "src_ip": "192.0.2.1", "src_port": 1000, "dst_ip": "192.0.2.2",
        "dst_port": 5004
    });
    assert_eq!((&started["name"], &started["data"]), (&"connectivity:connection_started".into(), &expected));
    let established = event(&Event::Established);
    assert_eq!(established["data"], json!({ "old": "attempted", "new": "handshake_confirmed" }));
    let closed = |why, established| event(&Event::Closed { why, established })["data"].clone();
    assert_eq!(
        closed(Closed::ByPeer, true),
        json!({ "owner": "remote", "trigger": "clean", "reason": "the peer closed the connection" })
    );
    assert_eq!(closed(Closed::NoAnswer, false)["trigger"], "handshake_timeout");
    assert_eq!(closed(Closed::NoAnswer, true)["trigger"], "idle_timeout");
    let busy = closed(Closed::Reset(Reset { code: ResetCode::TOO_BUSY, data: [0; 3] }), false);
    assert_eq!(
        (&busy["owner"], &busy["trigger"], &busy["connection_code"]),
        (&"remote".into(), &"error".into(), &9.into())
    );
}

#[test]
fn the_datagrams_that_the_send_queue_drops_are_recorded() {
    let fate = Fate::Unsent { cause: SendDrop::Expired, lateness: Duration::from_millis(30) };
    let dropped = event(&Event::dropped(5, fate).unwrap());
    assert_eq!(dropped["name"], "headway:datagram_dropped");
    assert_eq!(dropped["data"], json!({ "datagram_id": 5, "cause": "expired", "lateness": 30.0 }));
    let withdrawn = event(&Event::dropped(6, Fate::Withdrawn).unwrap());
    assert_eq!(withdrawn["data"], json!({ "datagram_id": 6, "cause": "withdrawn" }));
    assert_eq!(Event::dropped(7, Fate::Delivered), None);
}
