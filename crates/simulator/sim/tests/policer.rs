//! `policer` of a link: admits as much as its token bucket, and its drops are recorded separately.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::Summary;
use headway_units::DropCause;

/// Sends 1000 B packets at `rate` over a link of 10 Mb/s for 60 s.
fn constant(rate: &str, policer: &str, more: &str) -> Summary {
    let text = format!(
        r#"duration = "60s"
[[link]]
between = ["a", "b"]
rate = "10Mbps"
delay = "10ms"
by_flow = true
{policer}
[[flow]]
name = "f"
from = "a"
to = "b"
transport = {{ kind = "udp" }}
source = {{ kind = "cbr", rate = "{rate}", size = "1000B" }}
{more}"#
    );
    run(&scenario(&text), ()).summary
}

const POLICER: &str = r#"policer = { rate = "2Mbps", burst = "10kB" }"#;

/// At 3 Mb/s, 22,500 packets arrive in 60 s. The initial 10 kB and 15 MB of the bucket are tokens for 15,010, less
/// those of the last 8/3 ms and a part of a packet: 15,008 or 15,009 pass, 7491 or 7492 do not. No packet is dropped
/// elsewhere, since 10 Mb/s suffice for all.
#[test]
fn an_excess_of_half_the_rate_is_dropped() {
    let summary = constant("3Mbps", POLICER, "");
    let link = &summary.links[0];
    let policed = link.dropped_packets.of(DropCause::Policer);
    assert_eq!(link.arrived_packets, 22_500);
    assert!((7490..=7492).contains(&policed), "{policed}");
    assert_eq!(link.dropped_packets.total(), policed);
    assert_eq!(link.flows[0].dropped_packets.of(DropCause::Policer), policed);
    assert_eq!(summary.flows[0].lost_packets.of(DropCause::Policer), policed);
    assert!(summary.to_json_pretty().contains(&format!("\"policer\": {policed}")));
}

/// A flow within the rate loses no packet, and the reverse direction has its own bucket.
#[test]
fn a_flow_within_the_rate_has_no_drops_in_either_direction() {
    let back = r#"
[[flow]]
name = "back"
from = "b"
to = "a"
transport = { kind = "udp" }
source = { kind = "cbr", rate = "2Mbps", size = "1000B" }
"#;
    let summary = constant("2Mbps", POLICER, back);
    assert!(summary.links.iter().all(|link| link.dropped_packets.total() == 0), "{:?}", summary.links);
    assert_eq!(summary.links[1].arrived_packets, 15_000);
}

/// Without a queue to smooth a TCP's bursts, throughput is at most burst and rate, and here at least half of it.
#[test]
fn a_tcp_stays_below_the_rate() {
    let mut policed = common::shipped("policer.toml");
    policed.flows.retain(|flow| flow.name == "download");
    let summary = run(&policed, ()).summary;
    let flow = &summary.flows[0];
    assert!(flow.lost_packets.of(DropCause::Policer) > 0);
    assert_eq!(flow.lost_packets.total(), flow.lost_packets.of(DropCause::Policer));
    // 50 s are measured: 2 Mb/s, and 10 kB more.
    assert!(flow.throughput_bps <= 2e6 + 80_000.0 / 50.0, "{}", flow.throughput_bps);
    assert!(flow.throughput_bps > 1e6, "{}", flow.throughput_bps);
}
