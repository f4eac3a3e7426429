//! Links with changes of rate and delay.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::Summary;

fn outage() -> String {
    std::fs::read_to_string(common::root().join("scenarios/outage.toml")).unwrap()
}

/// Sends 1000 B packets at 4 Mb/s over a link of 2 Mb/s and 10 ms with a sufficient queue.
fn udp(duration: &str, keys: &str) -> Summary {
    let text = format!(
        r#"
        duration = "{duration}"
        [[link]]
        between = ["a", "b"]
        rate = "2Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "100000packets" }}
        {keys}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = {{ kind = "udp" }}
        source = {{ kind = "cbr", rate = "4Mbps", size = "1000B" }}
        "#
    );
    run(&scenario(&text), ()).summary
}

/// A transmission takes 4 ms and the first ends at 4 ms: packets transmitted by 19.990 s arrive by 20 s.
#[test]
fn an_outage_costs_the_packets_of_its_duration() {
    let received = |keys: &str| udp("20s", keys).flows[0].received_packets;
    assert_eq!(received(""), 4997);
    let outage = r#"changes = [{ at = "10s", rate = "0bps" }, { at = "12s", rate = "2Mbps" }]"#;
    assert_eq!(received(outage), 4997 - 500);
    // Half the rate for half the time, in the forward direction only.
    assert_eq!(received(r#"changes = [{ at = "10s", rate = "1Mbps" }]"#), 2500 + (9990 / 8));
    assert_eq!(received(&format!("{outage}\nreverse = {{ changes = [] }}")), 4997 - 500);
}

#[test]
fn delays_follow_changes_without_reordering() {
    let text = |changes: &str| {
        format!(
            r#"
            duration = "10s"
            [[link]]
            between = ["a", "b"]
            rate = "8Mbps"
            delay = "10ms"
            changes = [{changes}]
            [[flow]]
            name = "f"
            from = "a"
            to = "b"
            transport = {{ kind = "udp" }}
            source = {{ kind = "cbr", rate = "800kbps", size = "1000B" }}
            "#
        )
    };
    let delays = |changes: &str| {
        let delay = run(&scenario(&text(changes)), ()).summary.flows[0].one_way_delay_s.unwrap();
        (delay.mean, delay.max)
    };
    // 1 ms of transmission and the delay; one packet of a thousand is in flight at the end.
    let (mean, max) = delays(r#"{ at = "5s", delay = "100ms" }"#);
    assert!((mean - 0.056).abs() < 0.001 && (max - 0.101).abs() < 1e-9, "{mean} {max}");
    // The delay falls by 95 ms at 5 s. The last packet before arrives at 5.1 s, as do the ten packets sent within 95
    // ms after it, with delays from 101 down to 6 ms.
    let (mean, max) = delays(r#"{ at = "2s", delay = "100ms" }, { at = "5s", delay = "5ms" }"#);
    let expected = 0.2 * 0.011 + 0.3 * 0.101 + 0.0095 * 0.0535 + 0.4905 * 0.006;
    assert!((mean - expected).abs() < 0.0003 && (max - 0.101).abs() < 1e-9, "{mean} {expected} {max}");
}

/// The record does not depend on whether the end of each transmission is an event.
#[test]
fn one_and_two_events_per_hop_give_the_same_record() {
    let of = |events: &str| {
        let text = outage().replace("name = \"access\"", &format!("name = \"access\"\nevents = \"{events}\""));
        run(&scenario(&text), ()).summary
    };
    let (one, two) = (of("one"), of("two"));
    assert_eq!((one.flows, one.links), (two.flows, two.links));
}

/// The link summaries of a stopped run contain only packets that left before the stop.
#[test]
fn a_stopped_run_counts_transmitted_packets() {
    let text = outage();
    let of = |events: &str| {
        let scenario =
            scenario(&text.replace("name = \"access\"", &format!("name = \"access\"\nevents = \"{events}\"")));
        let mut simulation = headway_sim::Simulation::new(&scenario, ()).unwrap();
        while simulation.now().as_secs_f64() < 30.0 {
            simulation.run(1).unwrap();
        }
        simulation.finish().summary
    };
    let (one, two) = (of("one"), of("two"));
    assert!(!one.complete && (one.interval.to - two.interval.to).abs() < 0.05, "{:?} {:?}", one.interval, two.interval);
    for (one, two) in one.links.iter().zip(&two.links) {
        assert!(one.arrived_packets.abs_diff(two.arrived_packets) <= 20, "{one:?} {two:?}");
        assert!((one.utilisation - two.utilisation).abs() < 0.001, "{one:?} {two:?}");
        assert!((one.mean_queue_packets - two.mean_queue_packets).abs() < 0.05, "{one:?} {two:?}");
    }
}
