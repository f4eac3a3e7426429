//! UDPm: the same rules between bare agents and over DCCP.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_scenario::{NoFiles, load};
use headway_sim::Simulation;

/// Bits a second of the media's data in 300 s, the mean of three seeds. Packets of 992 B with 940 B of data, which DCCP makes of an MTU of 1000 B.
fn media_bps(transport: &str, delay: &str) -> f64 {
    let run = |seed: u64| {
        let text = format!(
            r#"
            duration = "300s"
            seed = {seed}
            dialect = "ns2"
            [[link]]
            between = ["a", "b"]
            rate = "2Mbps"
            delay = "{delay}"
            queue = {{ kind = "red", limit = "20packets" }}
            [[flow]]
            name = "media"
            from = "a"
            to = "b"
            start = "1s"
            transport = {transport}
            source = {{ kind = "ftp" }}
            [[flow]]
            name = "ftp"
            from = "a"
            to = "b"
            transport = {{ kind = "tcp-newreno", window = "100packets" }}
            source = {{ kind = "ftp" }}
            "#
        );
        let scenario = load("udpm.toml", &text, &[], &NoFiles).unwrap().scenario;
        let mut simulation = Simulation::new(&scenario, ()).unwrap();
        while !simulation.run(u64::MAX).unwrap() {}
        simulation.finish().summary.flows[0].goodput_bps
    };
    (1..=3).map(run).sum::<f64>() / 3.0
}

/// Where a rate grows to the tenfold in two round trips, a Sequence Window of 100 packets must grow in time (RFC 4340 section 7.5.2): otherwise
/// acknowledgements come too late to be valid, and the announcements with them, for ever.
#[test]
fn rates_over_dccp_are_those_between_agents() {
    for delay in ["15ms", "250ms"] {
        for step in ["", ", step = \"400kbps\""] {
            let controller = format!("controller = {{ levels = 10{step} }}");
            let agents = media_bps(
                &format!("{{ kind = \"udpm\", datagram = \"992B\", header = \"52B\", {controller} }}"),
                delay,
            );
            let dccp = media_bps(
                &format!("{{ kind = \"dccp\", ccid = 248, connection = {{ mtu = \"1000B\" }}, {controller} }}"),
                delay,
            );
            assert!((dccp / agents - 1.0).abs() < 0.02, "{delay}{step}: {agents} b/s between agents, {dccp} over DCCP");
        }
    }
}
