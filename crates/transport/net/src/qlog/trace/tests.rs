use super::super::tests::Memory;
use super::*;
use headway_dccp::{Body, CcVal, CsCov, OptionArea, ServiceCode};
use headway_units::{SendDrop, Seq48};
use serde_json::Value;

fn path() -> Path {
    Path::Udp { local: ([192, 0, 2, 1], 1000).into(), remote: ([192, 0, 2, 2], 5004).into() }
}

fn packet(seq: u64, body: Body, data: &[u8]) -> Packet<'_> {
    let (ccval, cscov, options) = (CcVal::ZERO, CsCov::default(), OptionArea::EMPTY);
    Packet { source_port: 1, destination_port: 2, ccval, cscov, seq: Seq48::new(seq), body, options, data }
}

fn names(records: &[Value]) -> Vec<&str> {
    records.iter().skip(1).filter_map(|record| record["name"].as_str()).collect()
}

fn trace(role: Role, opens_at_once: bool) -> (Memory, Qlog, Trace) {
    let memory = Memory::default();
    let qlog = memory.log();
    let trace = Trace::new(&qlog, Clock::new(), role, opens_at_once, path());
    (memory, qlog, trace)
}

/// Both ends name the connection after the number of the Request. A server has no file before the handshake is complete.
#[test]
fn the_file_of_a_server_is_created_after_the_handshake() {
    let service = ServiceCode(0);
    let (request, response) = (Body::Request { service }, Body::Response { ack: Seq48::new(10), service });
    let (memory, qlog, server) = trace(Role::Server, false);
    server.received(&packet(10, request, &[]), None);
    server.sent(&packet(70, response, &[]), None);
    assert!(memory.records(&qlog).is_empty());
    server.open();
    let records = memory.records(&qlog);
    let expected = ["connectivity:connection_started", "transport:packet_received", "transport:packet_sent"];
    assert_eq!(names(&records), expected);
    assert_eq!(records[0]["trace"]["common_fields"]["group_id"], "00000000000a");

    let (memory, qlog, client) = trace(Role::Client, true);
    client.sent(&packet(10, request, &[]), None);
    let records = memory.records(&qlog);
    assert_eq!(names(&records), ["connectivity:connection_started", "transport:packet_sent"]);
    assert_eq!(records[0]["trace"]["common_fields"]["group_id"], "00000000000a");
}

/// The events of a stranger are bounded: 64 with the start. The file states the number of the missing ones.
#[test]
fn events_before_the_file_is_open_are_bounded() {
    let (memory, qlog, server) = trace(Role::Server, false);
    (0..70).for_each(|seq| server.received(&packet(seq, Body::Data, &[]), None));
    server.open();
    server.established();
    let records = memory.records(&qlog);
    assert_eq!(records.len(), 1 + 64 + 2);
    let missing = &records[65];
    assert_eq!((&missing["name"], &missing["data"]["count"]), (&"headway:events_dropped".into(), &7.into()));
}

/// An acknowledgement of packet 13 without an Ack Vector: 10 bytes of packet 14 remain in flight.
#[test]
fn metrics_follow_acknowledgements() {
    let (memory, qlog, client) = trace(Role::Client, true);
    (11..=14).for_each(|seq| client.sent(&packet(seq, Body::Data, &[7; 10]), None));
    client.fate(3, Fate::Unsent { cause: SendDrop::PushedOut, lateness: Duration::ZERO });
    client.fate(4, Fate::Sent(Seq48::new(14)));
    client.received(&packet(70, Body::Ack { ack: Seq48::new(13) }, &[]), Some(&status()));
    client.closed(&Closed::Here);
    client.finish();
    client.closed(&Closed::Here);
    let records = memory.records(&qlog);
    let expected = [
        "headway:datagram_dropped",
        "transport:packet_received",
        "recovery:metrics_updated",
        "connectivity:connection_closed",
    ];
    assert_eq!(names(&records)[5..], expected);
    let metrics = &records[8]["data"];
    assert_eq!((&metrics["bytes_in_flight"], &metrics["packets_in_flight"]), (&10.into(), &1.into()));
    assert_eq!(metrics["smoothed_rtt"], 20.0);
    let times: Vec<f64> = records.iter().skip(1).map(|record| record["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted());
}

/// Returns the status of a connection with a round-trip time of 20 ms.
fn status() -> Status {
    let options = headway_dccp::ConnectionOptions::real();
    let ports = headway_dccp::Ports { local: 1, remote: 2 };
    let random = headway_units::Random::new(1, "trace");
    let connection = headway_dccp::Connection::connect(Instant::ZERO, &options, ports, ServiceCode(0), random);
    Status { rtt: Some(Duration::from_millis(20)), ..connection.status() }
}

/// A window of 2.5 packets, with datagrams of 400 bytes on average: 1000 bytes.
#[test]
fn windows_in_packets_become_bytes() {
    let mut status = status();
    (status.counters.sent_data, status.counters.sent_data_packets) = (1200, 3);
    let mut sender = status.sender.unwrap_or_default();
    (sender.window, sender.window_packets, sender.ssthresh) = (None, Some(2.5), Some(5.0));
    status.sender = Some(sender);
    let metrics = Metrics::of(&status);
    assert_eq!((metrics.congestion_window, metrics.ssthresh), (Some(1000), Some(2000)));
}
