//! `host` of a `[[node]]`.

use headway_scenario::{Loaded, NoFiles, Override, ScenarioError};
use headway_units::{Duration, QueueSize};

fn load(host: &str, set: &[&str]) -> Result<Loaded, ScenarioError> {
    let text = format!(
        r#"duration = "10s"
[[node]]
name = "plain"
[[node]]
name = "sink"
count = 2
{host}
[[link]]
between = ["plain", "sink"]
rate = "1Gbps"
delay = "1ms"
[[link]]
between = ["plain", "implied"]
rate = "1Gbps"
delay = "1ms"
[[flow]]
name = "load"
from = "plain"
to = "sink"
transport = {{ kind = "udp" }}
source = {{ kind = "cbr", rate = "1Mbps", size = "1000B" }}
"#
    );
    let set: Vec<Override> = set.iter().map(|set| set.parse().unwrap()).collect();
    headway_scenario::load("host.toml", &text, &set, &NoFiles)
}

const HOST: &str = r#"host = { arrival = "15us", delivery = "180us", queue = "40packets" }"#;

#[test]
fn each_replica_has_a_host_and_other_nodes_have_none() {
    let loaded = load(HOST, &[]).unwrap();
    let scenario = &loaded.scenario;
    assert_eq!(scenario.nodes, ["plain", "sink1", "sink2", "implied"]);
    let [None, Some(one), Some(two), None] = scenario.hosts[..] else { panic!("{:?}", scenario.hosts) };
    assert_eq!(one, two);
    assert_eq!((one.arrival, one.delivery), (Duration::from_micros(15), Duration::from_micros(180)));
    assert_eq!((one.queue, one.ring), (QueueSize::Packets(40), QueueSize::Packets(256)));
    let again = headway_scenario::load("resolved.toml", &loaded.resolved_toml, &[], &NoFiles).unwrap();
    assert_eq!(&again.scenario, scenario);
    assert_eq!(load("", &[]).unwrap().scenario.hosts, [None; 4]);
}

#[test]
fn overrides_set_keys_of_a_host_and_create_it() {
    let host = |written, set: &[&str]| load(written, set).unwrap().scenario.hosts[1].unwrap();
    assert_eq!(host(HOST, &["node[sink].host.queue=9packets"]).queue, QueueSize::Packets(9));
    assert_eq!(host(HOST, &["node[1].host.arrival=0s"]).arrival, Duration::ZERO);
    let made = host("", &["node[sink].host.arrival=1us", "node[sink].host.delivery=2us"]);
    assert_eq!((made.delivery, made.queue), (Duration::from_micros(2), QueueSize::Packets(50)));
}

/// Forwarding takes no CPU time, and a UDP sender receives no packets.
#[test]
fn a_host_that_receives_no_packets_has_a_warning() {
    assert_eq!(load(HOST, &[]).unwrap().warnings, []);
    let sender = ["node[plain].host.arrival=1us", "node[plain].host.delivery=1us"];
    let warnings = load(HOST, &sender).unwrap().warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(warning.key, "node[0].host");
    assert!(warning.message.starts_with("no packet is addressed to this node"), "{warning:?}");
    let tcp = [sender[0], sender[1], "flow[load].transport.kind=tcp-sack", "flow[load].source={ kind = \"ftp\" }"];
    assert_eq!(load(HOST, &tcp).unwrap().warnings, []);
}

#[test]
fn errors_name_their_place() {
    for (from, to, expected) in [
        ("queue", "queu", "host.toml:7:48: node[1].host: unknown key \"queu\"; did you mean \"queue\"?"),
        ("arrival = \"15us\", ", "", "node[1].host: the key \"arrival\" is missing; write it like arrival = \"15us\""),
        ("delivery = \"180us\", ", "", "the key \"delivery\" is missing; write it like delivery = \"180us\""),
        ("\"15us\"", "\"15\"", "node[1].host.arrival: \"15\" has no unit"),
        ("180us", "0s", "host.toml:7:39: node[1].host.delivery: must be above 0s"),
        ("40packets", "0packets", "node[1].host.queue: 0packets is out of range"),
        ("40packets", "40kB", "node[1].host.queue: 40kB is out of range"),
        ("queue = \"40", "ring = \"0", "node[1].host.ring: 0packets is out of range"),
        (
            HOST,
            "host = \"busy\"",
            "node[1].host: \"busy\" is not a table: write one with the keys arrival, delivery, queue, ring",
        ),
    ] {
        let error = load(&HOST.replace(from, to), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
}
