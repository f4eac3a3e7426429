//! Shipped scenarios load, and their resolved scenarios are equal.

use crate::common::{Below, folder, shipped};
use headway_scenario::{NoFiles, Override, Transport, load, plan};
use headway_units::{Bytes, Duration, Registry};

#[test]
fn shipped_scenarios_load_without_warnings() {
    let all = shipped();
    assert!(all.len() >= 24, "{} scenarios", all.len());
    for (name, text) in all {
        let loaded = load(&name, &text, &[], &Below(folder())).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.warnings, [], "{name}");
        let stem = name.rsplit('/').next().unwrap().trim_end_matches(".toml");
        assert_eq!(loaded.scenario.name, stem);
    }
}

#[test]
fn resolved_scenarios_are_equal_ones() {
    for (name, text) in shipped() {
        let loaded = load(&name, &text, &[], &Below(folder())).unwrap();
        let again = load("resolved.toml", &loaded.resolved_toml, &[], &Below(folder()))
            .unwrap_or_else(|error| panic!("{name}: {error}\n{}", loaded.resolved_toml));
        assert_eq!(again.scenario, loaded.scenario, "{name}");
        assert_eq!(again.resolved_toml, loaded.resolved_toml, "{name}");
    }
}

/// Topology of ns2-calibration/calib.tcl: n0 --10Mb/2ms-- n1 --2Mb/10ms-- n2 --10Mb/2ms-- n3; the limit is 20 packets
/// in the forward direction and 10000 in the reverse direction.
#[test]
fn calibration_scenarios_have_the_topology_of_their_script() {
    let path = "calibration/tcp-Reno-q20.toml";
    let text = std::fs::read_to_string(folder().join(path)).unwrap();
    let scenario = load(path, &text, &[], &Below(folder())).unwrap().scenario;
    assert_eq!(scenario.nodes, ["n0", "n1", "n2", "n3"]);
    let links: Vec<String> = scenario
        .links
        .iter()
        .map(|link| format!("{} {} {} {:?}", link.name, link.rate, link.delay, link.queue))
        .collect();
    let queue = |limit: u32| format!("DropTail(Options {{ limit: {limit}packets, counts: BelowLimit, drop: Tail }})");
    assert_eq!(
        links,
        [
            format!("n0->n1 10Mbps 2ms {}", queue(10_000)),
            format!("n1->n0 10Mbps 2ms {}", queue(50)),
            format!("n1->n2 2Mbps 10ms {}", queue(20)),
            format!("n2->n1 2Mbps 10ms {}", queue(10_000)),
            format!("n2->n3 10Mbps 2ms {}", queue(50)),
            format!("n3->n2 10Mbps 2ms {}", queue(50)),
        ]
    );
    let Transport::Tcp(tcp) = &*scenario.flows[0].transport else { panic!() };
    assert_eq!((tcp.kind(), tcp.rules.segment), ("tcp-reno", Bytes::new(1040)));
    assert_eq!(tcp.rules.min_rto, Duration::from_millis(200));
}

#[test]
fn the_star_grows_with_its_count() {
    let text = std::fs::read_to_string(folder().join("star-lan.toml")).unwrap();
    let set = ["node[client].count=50".parse().unwrap()];
    let scenario = load("star-lan.toml", &text, &set, &Below(folder())).unwrap().scenario;
    assert_eq!((scenario.nodes.len(), scenario.links.len(), scenario.flows.len()), (52, 102, 50));
    let last = &scenario.flows[49];
    assert_eq!((last.name.as_str(), scenario.nodes[last.from].as_str()), ("upload50", "client50"));
}

/// Example, attacker, overrides, `[vary]` and error of docs/src/scenario.md.
#[test]
fn the_examples_of_the_book_are_valid() {
    let book = std::fs::read_to_string(folder().join("../docs/src/scenario.md")).unwrap();
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        book.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
    };
    let (toml, text) = (blocks("toml"), blocks("text"));
    let lan = &toml[0];
    let sets: Vec<Override> = text[0]
        .lines()
        .map(|line| line.trim_start_matches("--set ").split("   ").next().unwrap().trim_matches('\'').parse().unwrap())
        .collect();
    assert_eq!(load("lan.toml", lan, &sets, &NoFiles).unwrap().warnings, []);
    let runs = plan("lan.toml", &format!("{lan}{}", toml[2]), &[], &[]).unwrap().runs;
    assert_eq!((runs.len(), runs[0].label.as_str()), (6, "link[uplink].rate=1Mbps seed=1"));

    let attacked = r#"
[[link]]
between = ["elsewhere", "router"]
rate = "1Mbps"
delay = "1ms"
[[flow]]
name = "video"
from = "client1"
to = "server"
transport = { kind = "dccp", ccid = 3 }
source = { kind = "cbr", interval = "20ms", payload = "160B" }
"#;
    let attacked = load("lan.toml", &format!("{lan}{attacked}{}", toml[1]), &[], &NoFiles).unwrap();
    assert_eq!((attacked.scenario.attackers.len(), attacked.warnings), (1, vec![]));

    let wrong = lan.replace("limit =", "limits =").replace("\"2Mbps\"", "\"2mbps\"");
    let error = load("lan.toml", &wrong, &[], &NoFiles).unwrap_err().to_string();
    assert_eq!(error, text[1].trim_end());
}
