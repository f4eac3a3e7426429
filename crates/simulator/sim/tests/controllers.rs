//! Rate controllers in the simulator, over connections and between bare agents.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::FlowSummary;
use headway_scenario::Scenario;
use headway_sim::{PcapngTrace, Record};
use headway_units::MediaKind;

/// A flow through a bottleneck of 2 Mb/s beside a TCP that acknowledges each packet, where one packet in a hundred is lost besides.
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

/// All that a run leaves, as text and bytes.
fn everything(mut record: Record) -> (String, Vec<u8>) {
    let mut series = Vec::new();
    record.series.take().unwrap().finish(&mut series).unwrap();
    (record.summary.to_json_pretty(), series)
}

fn flow(record: &Record, name: &str) -> FlowSummary {
    record.summary.flows.iter().find(|flow| flow.name == name).unwrap().clone()
}

/// Packets hold what is on the wire: turning each into bytes and back leaves the record as it is, to the last byte.
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

/// Each controller fills the path that it has alone, and leaves room beside a TCP.
#[test]
fn controllers_take_what_there_is_and_leave_what_is_not_theirs() {
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
        println!("{transport}: {alone} alone, {media} beside {rival}");
        assert!((0.25..4.0).contains(&ratio), "{transport}: {media} beside {rival}");
    }
}

/// Over a connection TFRC goes by quarter round trips and whole bytes a second, between agents by exact numbers: what they
/// send under loss by chance is nearly the same. Means of ten runs; their standard error is about 2 %.
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

/// What does not fit into the send queue is refused, counted, and never sent.
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
        // A handshake and acknowledgements of reports besides.
        assert!(refused + sent + 5 >= written && refused + sent < written + 400, "{transport}: {refused} + {sent}");
    }
}

/// A closed connection ends with its handshake, not with the run: nothing is sent after it, whatever the source.
#[test]
fn a_stopped_flow_closes_its_connection() {
    for source in [r#"{ kind = "ftp" }"#, r#"{ kind = "cbr", rate = "1Mbps", size = "1000B" }"#] {
        stops(source);
    }
}

fn stops(source: &str) {
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
    // The server says no more either: it holds no connection whose timers go on.
    assert_eq!(record.summary.links[1].arrived_packets, 0, "{source}");
}

/// A capture holds each packet that a link transmits, whatever carries it, and does not change the record.
#[test]
fn a_capture_holds_every_packet_and_changes_nothing() {
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
        // What waits at the end has arrived and is not transmitted.
        assert!(packets <= transmitted && packets + 50 > transmitted, "{transport}: {packets} of {transmitted}");
    }
}
