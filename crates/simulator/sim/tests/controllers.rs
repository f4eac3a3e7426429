//! Rate controllers in the simulator, over the carriers `dccp` and `agent`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::FlowSummary;
use headway_scenario::Scenario;
use headway_sim::{PcapngTrace, Record};
use headway_units::MediaKind;

/// Creates a flow through 2 Mb/s with 1 % of random loss, shared with a TCP that acknowledges each packet.
fn scenario(transport: &str, queue: &str) -> Scenario {
    let udp = transport.contains("udp");
    let source = if udp { r#"{ kind = "cbr", rate = "1Mbps", size = "1000B" }"# } else { r#"{ kind = "ftp" }"# };
    common::scenario(&format!(
        r#"duration = "30s"
[[link]]
between = ["a", "b"]
rate = "2Mbps"
delay = "25ms"
queue = {queue}
loss = {{ kind = "bernoulli", probability = 0.01 }}
[[flow]]
name = "media"
from = "a"
to = "b"
transport = {transport}
source = {source}
[[flow]]
name = "rival"
from = "a"
to = "b"
start = "5s"
stop = "20s"
transport = {{ kind = "tcp-sack", delayed_ack = false, min_rto = "200ms" }}
source = {{ kind = "ftp" }}
"#
    ))
}

const DROPTAIL: &str = r#"{ kind = "droptail", limit = "25packets" }"#;
const RED_MARKS: &str = r#"{ kind = "red", limit = "50packets", ecn = true }"#;

/// Returns summary and series of a run, as text and bytes.
fn everything(mut record: Record) -> (String, Vec<u8>) {
    let mut series = Vec::new();
    record.series.take().unwrap().finish(&mut series).unwrap();
    (record.summary.to_json_pretty(), series)
}

fn flow(record: &Record, name: &str) -> FlowSummary {
    record.summary.flows.iter().find(|flow| flow.name == name).unwrap().clone()
}

/// Simulated packets contain the information on the wire: encoding and decoding them does not change the record.
#[test]
fn the_codec_in_the_loop_changes_nothing() {
    for ccid in [2, 3, 4] {
        for queue in [DROPTAIL, RED_MARKS] {
            for connection in [
                "",
                "ndp_counts = true, timestamps = true",
                "data_checksum = true, send_coverage = 2",
                "loss_event_rate = true",
            ] {
                let run = |codec: bool| {
                    let transport = format!(
                        r#"{{ kind = "dccp", ccid = {ccid}, codec = {codec}, connection = {{ {connection} }} }}"#
                    );
                    everything(common::run(&scenario(&transport, queue), ()))
                };
                assert!(run(false) == run(true), "CCID {ccid}, {queue}, {connection}");
            }
        }
    }
}

/// Each controller fills a path that it has alone, and shares it with a TCP.
#[test]
fn controllers_fill_a_free_path_and_share_a_busy_one() {
    for transport in [
        r#"{ kind = "tfrc" }"#,
        r#"{ kind = "tcp-like" }"#,
        r#"{ kind = "dccp", ccid = 2 }"#,
        r#"{ kind = "dccp", ccid = 3 }"#,
        r#"{ kind = "dccp", ccid = 2, dialect = "linux" }"#,
        r#"{ kind = "dccp", ccid = 3, dialect = "linux" }"#,
        r#"{ kind = "tfrc", dialect = "ns2" }"#,
    ] {
        let mut lossless = scenario(transport, DROPTAIL);
        lossless.links.iter_mut().for_each(|link| link.loss = None);
        lossless.flows[1].stop = Some(headway_units::Instant::from_secs(80));
        lossless.duration = headway_units::Duration::from_secs(100);
        lossless.measure_from = headway_units::Duration::from_secs(85);
        let record = common::run(&lossless, ());
        let alone = flow(&record, "media").throughput_bps;
        assert!(alone > 1.8e6, "{transport}: {alone} alone");
        lossless.measure_from = headway_units::Duration::from_secs(15);
        lossless.duration = headway_units::Duration::from_secs(80);
        let record = common::run(&lossless, ());
        let [media, rival] = ["media", "rival"].map(|name| flow(&record, name).throughput_bps);
        let ratio = media / rival;
        println!("{transport}: {alone} alone, {media} with {rival}");
        assert!((0.25..4.0).contains(&ratio), "{transport}: {media} with {rival}");
    }
}

/// Over DCCP, TFRC uses quarter round trips and whole bytes per second, and between agents exact numbers. Under
/// random loss, both send nearly the same. Means of ten runs; their standard error is about 2 %.
#[test]
fn both_carriers_send_the_same() {
    let mean = |transport: &str| {
        let rates = (1..=10).map(|seed| {
            let mut scenario = scenario(transport, DROPTAIL);
            scenario.flows.truncate(1);
            scenario.links.iter_mut().for_each(|link| link.rate = "100Mbps".parse().unwrap());
            scenario.duration = headway_units::Duration::from_secs(200);
            scenario.seed = seed;
            let record = common::run(&scenario, ());
            flow(&record, "media").throughput_bps
        });
        rates.sum::<f64>() / 10.0
    };
    let agent = mean(r#"{ kind = "tfrc" }"#);
    let connection = mean(r#"{ kind = "dccp", ccid = 3 }"#);
    assert!((connection / agent - 1.0).abs() < 0.1, "{connection} over connections, {agent} between agents");
}

/// Packets that do not fit into the send queue are refused, counted, and never sent.
#[test]
fn a_full_send_queue_refuses() {
    for transport in [r#"{ kind = "tfrc" }"#, r#"{ kind = "dccp", ccid = 3 }"#] {
        let text = format!(
            r#"duration = "30s"
[[link]]
between = ["a", "b"]
rate = "1Mbps"
delay = "25ms"
queue = {{ kind = "droptail", limit = "10packets" }}
[[flow]]
name = "media"
from = "a"
to = "b"
transport = {transport}
send_queue = {{ kind = "fifo", limit = "5packets" }}
source = {{ kind = "cbr", rate = "2Mbps", size = "1000B" }}
"#
        );
        let record = common::run(&common::scenario(&text), ());
        let media = flow(&record, "media");
        let queue = &media.send_queue[&MediaKind::Data];
        let (refused, sent, written) = (queue.refused_packets, media.sent_packets, queue.written_packets);
        assert_eq!(written, 30 * 2_000_000 / 8000);
        assert!(queue.sent_packets + refused + 5 >= written, "{queue:?}");
        assert!(refused > written / 4, "{transport}: {refused} refused");
        // Plus a handshake and acknowledgements of reports.
        assert!(refused + sent + 5 >= written && refused + sent < written + 400, "{transport}: {refused} + {sent}");
    }
}

/// A stopped flow closes its connection and sends nothing afterwards, with any source.
#[test]
fn a_stopped_flow_closes_its_connection() {
    for source in [r#"{ kind = "ftp" }"#, r#"{ kind = "cbr", rate = "1Mbps", size = "1000B" }"#] {
        sends_nothing_after_its_stop(source);
    }
}

fn sends_nothing_after_its_stop(source: &str) {
    let mut scenario = common::scenario(&format!(
        r#"duration = "30s"
[[link]]
between = ["a", "b"]
rate = "2Mbps"
delay = "25ms"
[[flow]]
name = "media"
from = "a"
to = "b"
transport = {{ kind = "dccp", ccid = 3 }}
source = {source}
"#
    ));
    scenario.flows[0].stop = Some(headway_units::Instant::from_secs(10));
    scenario.measure_from = headway_units::Duration::from_secs(11);
    let record = common::run(&scenario, ());
    assert_eq!(flow(&record, "media").sent_packets, 0, "{source}");
    // The server sends nothing either: it has no connection with running timers.
    assert_eq!(record.summary.links[1].arrived_packets, 0, "{source}");
}

/// A capture contains each transmitted packet, with any transport, and does not change the record.
#[test]
fn a_capture_contains_every_packet_and_changes_nothing() {
    for transport in [r#"{ kind = "dccp", ccid = 3 }"#, r#"{ kind = "tfrc" }"#, r#"{ kind = "udp" }"#] {
        let scenario = scenario(transport, DROPTAIL);
        let plain = common::run(&scenario, ());
        let mut simulation = headway_sim::Simulation::new(&scenario, PcapngTrace::new(&scenario)).unwrap();
        while !simulation.run(u64::MAX).unwrap() {}
        let capture = simulation.observer_mut().take();
        let record = simulation.finish();
        assert_eq!(plain.summary.flows, record.summary.flows, "{transport}");
        let (mut packets, mut at) = (0, 0);
        while let Some(head) = capture.get(at..at + 8) {
            let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
            packets += u64::from(word(0) == 6);
            at += word(4) as usize;
        }
        assert_eq!(at, capture.len());
        let links = &record.summary.links;
        let transmitted: u64 = links.iter().map(|link| link.arrived_packets - link.dropped_packets.total()).sum();
        // Packets that wait at the end have arrived and are not transmitted.
        assert!(packets <= transmitted && packets + 50 > transmitted, "{transport}: {packets} of {transmitted}");
    }
}
