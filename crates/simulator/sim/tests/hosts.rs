//! Hosts with processing time (Mogul and Ramakrishnan, ACM TOCS 15(3), 1997): throughput under load, and transports.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::{HostDrops, SeriesTable, Summary, metric};
use headway_sim::Record;
use headway_units::DropCause;

const HOST: &str = r#"host = { arrival = "15us", delivery = "180us", queue = "50packets" }"#;

/// Creates a flow from a to b for 10 s, measured from 1 s on.
fn text(ties: &str, host: &str, flow: &str) -> String {
    format!(
        r#"duration = "10s"
measure_from = "1s"
ties = "{ties}"
[[node]]
name = "b"
{host}
[[link]]
between = ["a", "b"]
rate = "1Gbps"
delay = "1ms"
[[flow]]
name = "f"
from = "a"
to = "b"
{flow}
"#
    )
}

fn udp(interval: &str) -> String {
    format!(
        "transport = {{ kind = \"udp\" }}\nsource = {{ kind = \"cbr\", interval = \"{interval}\", size = \"1000B\" }}"
    )
}

fn run(text: &str) -> Record {
    let record = common::run(&common::scenario(text), ());
    let sum = record.conservation;
    assert_eq!(sum.sent, sum.delivered + sum.dropped + sum.in_flight);
    record
}

fn summary(text: &str) -> Summary {
    run(text).summary
}

/// Of L packets/s, L are delivered up to 1 / 195 us = 5128.2, above that (1 - L x 15 us) / 180 us, and none from 66,667
/// on.
#[test]
fn throughput_rises_with_the_load_then_falls_to_nothing() {
    for ties in ["drawn", "scheduled"] {
        let mut last = 0.0;
        let mut fell = false;
        for (interval, per_second) in [
            ("1ms", 1000.0),
            ("400us", 2500.0),
            ("200us", 5000.0),
            ("195us", 5128.2),
            ("160us", 5034.7), // L = 6250
            ("100us", 4722.2),
            ("50us", 3888.9),
            ("25us", 2222.2),
            ("17us", 653.6),
            ("15us", 0.0),
            ("10us", 0.0),
        ] {
            let summary = summary(&text(ties, HOST, &udp(interval)));
            let [flow] = &summary.flows[..] else { panic!("one flow") };
            let delivered = flow.throughput_bps / 8000.0;
            assert!((delivered - per_second).abs() <= 0.01 * per_second, "{ties} {interval}: {delivered}");
            fell |= delivered < last;
            assert!(!fell || delivered <= last, "{ties} {interval}: throughput rises again");
            last = delivered;

            let [host] = &summary.hosts[..] else { panic!("one host") };
            assert_eq!(host.name, "b");
            assert!((host.delivered_packets as f64 / 9.0 - per_second).abs() <= 0.01 * per_second);
            assert!(host.dropped_packets.queue > 0 || !fell);
            // Required work: arrival and delivery, or all of the time.
            let work = (195e-6 * host.arrived_packets as f64 / 9.0).min(1.0);
            assert!((host.utilisation - work).abs() < 1e-3, "{ties} {interval}: {}", host.utilisation);
            assert_eq!(host.dropped_packets.ring > 0, interval == "10us", "arrival work exceeds the time");
        }
    }
}

/// The throughputs stated in the header of the shipped scenario, 0.1 s after each change.
#[test]
fn the_shipped_host_delivers_the_documented_throughput() {
    let mut bytes = Vec::new();
    common::run(&common::shipped("busy-host.toml"), ()).series.take().unwrap().finish(&mut bytes).unwrap();
    let table = SeriesTable::from_ipc(&bytes).unwrap();
    let samples = table.samples("load", metric::THROUGHPUT).iter().map(|(_, bps)| bps / 1e6);
    let settled: Vec<f64> = samples.skip(1).step_by(2).collect();
    let expected = [20.0, 40.0, 37.78, 31.11, 17.78, 4.44, 0.0];
    assert_eq!(settled.len(), expected.len());
    for (settled, expected) in settled.iter().zip(expected) {
        // One packet in 0.1 s is 0.08 Mb/s.
        assert!((settled - expected).abs() < 0.2, "{settled} Mb/s and not {expected}");
    }
}

/// 1000 B at 1 Gb/s take 8 us, the path 1 ms, and an idle host 195 us.
#[test]
fn delay_includes_the_time_in_the_host() {
    let summary = summary(&text("drawn", HOST, &udp("1ms")));
    let delay = summary.flows[0].one_way_delay_s.unwrap();
    assert_eq!((delay.mean, delay.max), (0.001203, 0.001203));
    assert_eq!(summary.hosts[0].mean_wait_s, Some(0.000195));
    assert_eq!(summary.hosts[0].dropped_packets, HostDrops::default());
}

/// The host is the bottleneck, with at most 5128 packets/s; its drops are the congestion signal.
#[test]
fn transports_adapt_to_a_host_bottleneck() {
    for ties in ["drawn", "scheduled"] {
        for transport in [
            r#"{ kind = "tcp-sack", segment = "1000B" }"#,
            r#"{ kind = "tcp-cubic", segment = "1000B" }"#,
            r#"{ kind = "dccp", ccid = 2 }"#,
            r#"{ kind = "dccp", ccid = 3 }"#,
        ] {
            let flow = format!("transport = {transport}\nsource = {{ kind = \"ftp\" }}");
            // The sender's host receives the acknowledgements.
            let sender = "[[node]]\nname = \"a\"\nhost = { arrival = \"0s\", delivery = \"10us\" }";
            let summary = summary(&text(ties, &format!("{HOST}\n{sender}"), &flow));
            let per_second = summary.hosts[0].delivered_packets as f64 / 9.0;
            assert!((2500.0..5130.0).contains(&per_second), "{ties} {transport}: {per_second}");
            assert!(summary.flows[0].lost_packets.of(DropCause::Host) > 0, "{ties} {transport}");
            assert_eq!(summary.flows[0].lost_packets.of(DropCause::Host), summary.flows[0].lost_packets.total());
            let answers = &summary.hosts[1];
            assert!(answers.name == "a" && answers.delivered_packets > 500, "{ties} {transport}: {answers:?}");
        }
    }
}

/// Two flows to one host share its CPU; two flows to replicas do not.
#[test]
fn each_replica_has_its_own_cpu() {
    let flow = udp("250us");
    let of = |count: &str| {
        let text = text("drawn", &format!("{HOST}\n{count}"), &flow);
        let summary = summary(&text);
        summary.hosts.iter().map(|host| (host.name.clone(), host.delivered_packets / 9)).collect::<Vec<_>>()
    };
    assert_eq!(of("count = 2"), [("b1".to_owned(), 4000), ("b2".to_owned(), 4000)]);
    let shared = summary(&text("drawn", HOST, &format!("count = 2\n{flow}")));
    // 8000 per second arrive: (1 - 8000 x 15 us) / 180 us = 4889 are delivered.
    assert_eq!(shared.hosts[0].delivered_packets / 9, 4888);
}

/// Packets routed through an attacker do not use the host at its node; packets sent by the attacker use the server's.
#[test]
fn attack_packets_use_the_host_of_the_server_only() {
    let attacked = |attacker: &str| {
        summary(&format!(
            r#"duration = "5s"
[[node]]
name = "server"
{HOST}
[[node]]
name = "router"
{HOST}
[[link]]
between = ["client", "router"]
rate = "100Mbps"
delay = "1ms"
[[link]]
between = ["router", "server"]
rate = "100Mbps"
delay = "1ms"
[[flow]]
name = "call"
from = "client"
to = "server"
transport = {{ kind = "dccp", ccid = 3 }}
source = {{ kind = "cbr", interval = "20ms", payload = "160B" }}
[[attacker]]
name = "mallory"
at = "router"
target = "call"
{attacker}
"#
        ))
    };
    let path = attacked("on_path = true\nattack = { kind = \"replay\", after = \"1ms\" }");
    let [server, router] = &path.hosts[..] else { panic!("two hosts") };
    assert_eq!((server.name.as_str(), router.arrived_packets), ("server", 0));
    let [call, mallory] = [path.flows[0].received_packets, path.attackers[0].arrived_packets];
    assert!(call > 200 && mallory > 200 && server.delivered_packets >= call);
    assert!(server.arrived_packets > call + 200, "copies are received too: {server:?}");
    // 50,000 Requests per second leave (1 - 0.75) / 180 us = 1389 deliveries, nearly all of them of Requests.
    let flood = attacked("start = \"1s\"\nattack = { kind = \"flood\", interval = \"20us\" }");
    assert!(flood.hosts[0].dropped_packets.queue > 150_000, "{:?}", flood.hosts);
    // In the first second, 50 packets of the call arrived.
    let call = &flood.flows[0];
    let [lost, in_host] = [call.lost_packets.total(), call.lost_packets.of(DropCause::Host)];
    assert!(call.received_packets < 60 && lost >= 10 && in_host == lost, "{call:?}");
}
