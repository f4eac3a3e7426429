//! What a `[[link]]` has around its queue: `policer`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod common;

use common::{OneTrace, changed};
use headway_scenario::load;
use headway_units::Bytes;

const POLICED: &str = "\"10ms\"\npolicer = { rate = \"1Mbps\", burst = \"15kB\" }";

#[test]
fn a_policer_is_there_each_way_and_stays_when_resolved() {
    let loaded = changed("\"10ms\"", POLICED).unwrap();
    let policers: Vec<_> = loaded.scenario.links.iter().map(|link| link.policer.unwrap()).collect();
    assert_eq!(policers[0], policers[1]);
    assert_eq!((policers[0].rate.bits_per_second(), policers[0].burst), (1_000_000, Bytes::new(15_000)));
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
}

#[test]
fn what_is_wrong_with_a_policer_is_told_with_its_place() {
    for (from, to, expected) in [
        ("burst", "bursts", "small.toml:8:29: link[0].policer: unknown key \"bursts\"; did you mean \"burst\"?"),
        (", burst = \"15kB\"", "", "link[0].policer: the key \"burst\" is missing; write it like burst = \"15kB\""),
        ("rate = \"1Mbps\", ", "", "link[0].policer: the key \"rate\" is missing; write it like rate = \"1Mbps\""),
        ("\"1Mbps\"", "\"0bps\"", "link[0].policer.rate: a policer of 0bps passes nothing for long"),
        ("\"15kB\"", "\"1kB\"", "link[0].policer.burst: a packet of 1.5kB would never pass a burst of 1kB"),
        (
            "\"15kB\" }",
            "\"8kB\" }\nmtu = \"9000B\"",
            "link[0].policer.burst: a packet of 9kB would never pass a burst of 8kB",
        ),
        (
            "{ rate = \"1Mbps\", burst = \"15kB\" }",
            "true",
            "link[0].policer: this must be a table with the keys burst, rate",
        ),
    ] {
        let error = changed("\"10ms\"", &POLICED.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
    let small = "\"10ms\"\nmtu = \"1500B\"\npolicer = { rate = \"1Mbps\", burst = \"1500B\" }";
    changed("\"10ms\"", small).unwrap();
}
