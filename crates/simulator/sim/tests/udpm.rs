//! UDPm over the carriers `agent` and `dccp`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_scenario::{NoFiles, load};
use headway_sim::Simulation;

/// Returns the media goodput in bit/s over 300 s, the mean of three seeds. Packets have 992 B with 940 B of data, as
/// DCCP has with an MTU of 1000 B.
fn media_bps(transport: &str, delay: &str) -> f64 {
    media_bps_of(transport, "{ kind = \"ftp\" }", delay)
}

fn media_bps_of(transport: &str, source: &str, delay: &str) -> f64 {
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
            source = {source}
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

/// Paper sections 2.2 and 3.1: a source with an encoding for each scale sends as much as a saturated source, since
/// its packets are due when the sender may send. Two encodings of lower rates leave capacity unused: the greater one
/// arrives, except for the 2 % that RED drops. Packets have 1000 B of data, as DCCP has with an MTU of 1060 B.
#[test]
fn udpm_2_2_a_source_follows_the_announced_scale() {
    for transport in [
        "{ kind = \"udpm\", datagram = \"1028B\", header = \"28B\" }",
        "{ kind = \"dccp\", ccid = 248, connection = { mtu = \"1060B\" } }",
        "{ kind = \"dccp\", ccid = 248, connection = { mtu = \"1060B\" }, controller = { levels = 5, step = \"400kbps\" } }",
    ] {
        let mut bps = Vec::new();
        for source in [
            "{ kind = \"ftp\" }",
            "{ kind = \"encodings\" }",
            "{ kind = \"encodings\", rates = [\"100kbps\", \"300kbps\"] }",
        ] {
            bps.push(media_bps_of(transport, source, "15ms"));
        }
        assert!((bps[1] / bps[0] - 1.0).abs() < 0.02, "{transport}: {bps:?}");
        assert!((0.95..1.0).contains(&(bps[2] / 300_000.0)), "{transport}: {bps:?}");
    }
}

/// RFC 4340 section 6.3.2, paper section 2.2: the handshake negotiates the terms. `codec` encodes each packet.
#[test]
fn udpm_2_2_terms_are_in_the_handshake() {
    let dccp = |controller: &str| {
        let transport = format!("{{ kind = \"dccp\", ccid = 248, codec = true, controller = {{ {controller} }} }}");
        media_bps_of(&transport, "{ kind = \"ftp\" }", "15ms")
    };
    // Both forms give the same rates. The length of the handshakes may move one datagram of 500 across the end.
    let listed: Vec<String> = (1..=5).map(|scale| format!("\"{}kbps\"", scale * 100)).collect();
    let (multiples, list) =
        (dccp("levels = 5, step = \"100kbps\""), dccp(&format!("ladder = [{}]", listed.join(", "))));
    assert!((list / multiples - 1.0).abs() < 0.003 && multiples < 500_000.0, "{multiples} and {list}");
}

/// If a rate grows tenfold in two round trips, a Sequence Window (RFC 4340 section 7.5.2) of 100 packets must grow in
/// time. Otherwise acknowledgements, and the announcements in them, permanently arrive too late to be valid.
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
