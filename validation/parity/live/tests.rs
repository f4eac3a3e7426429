//! Complete runs. No test depends on the speed of the machine: the bound on delays is an hour.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::Options;
use crate::run::live;
use serde_json::Value;
use std::path::Path;

/// Three flows, together a third of a megabit per second, over a link that loses 1.5 % and between wrong clocks.
const SCENARIO: &str = r#"
name = "pair"
duration = "3s"
measure_from = "1s"
[[link]]
between = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
overhead = "8B"
loss = { kind = "bernoulli", probability = 0.015 }
[[node]]
name = "a"
clock = { skew = "5000ppm", offset = "1h" }
[[node]]
name = "b"
clock = { skew = "-5000ppm", offset = "-1h" }
[[flow]]
name = "sound"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 4 }
send_queue = { kind = "fifo", limit = "32packets" }
source = { kind = "cbr", interval = "20ms", payload = "172B", media = "audio", lifetime = "500ms" }
[[flow]]
name = "data"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 2 }
send_queue = { kind = "fifo", limit = "500packets" }
source = { kind = "cbr", rate = "240kbps", size = "600B" }
[[flow]]
name = "bare"
from = "a"
to = "b"
transport = { kind = "udp" }
source = { kind = "cbr", interval = "20ms", payload = "3B", lifetime = "500ms" }
"#;

fn options(folder: &Path, dtls: bool) -> Options {
    let (scenario, out) = (folder.join("pair.toml"), folder.join("real"));
    Options { scenario, seed: None, overrides: Vec::new(), out, dtls, bound: "3600s".parse().unwrap() }
}

fn written(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pair.toml"), text).unwrap();
    folder
}

fn json(folder: &Path, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap()
}

/// All flows pass the link with and without DTLS and have a record: every packet is received, lost or in flight, and
/// delays are in true time.
#[test]
fn flows_between_sockets_have_a_record() {
    let folder = written(SCENARIO);
    for dtls in [false, true] {
        live(&options(folder.path(), dtls)).unwrap();
        let record = folder.path().join("real");
        let (summary, live) = (json(&record, "summary.json"), json(&record, "live.json"));
        assert_eq!(
            (&summary["complete"], &summary["name"], &live["valid"]),
            (&true.into(), &"pair".into(), &true.into())
        );
        let number = |value: &Value| value.as_f64().unwrap();
        for (flow, wire_bytes) in summary["flows"].as_array().unwrap().iter().zip([172.0, 564.0, 3.0]) {
            assert_eq!(flow["connection_failure"], Value::Null, "{flow}");
            let lost: f64 = flow["lost_packets"].as_object().unwrap().values().map(number).sum();
            let sent = number(&flow["sent_packets"]);
            assert!(sent >= 40.0, "{flow}");
            assert_eq!(sent, number(&flow["received_packets"]) + lost + number(&flow["in_flight_packets"]));
            let delay = &flow["one_way_delay_s"];
            // A DCCP sender is notified of a transmission with delay; UDP datagrams have the complete path delay.
            let least = if flow["kind"] == "udp" { 0.01 } else { 0.001 };
            assert!((least..3.0).contains(&number(&delay["mean"])), "{flow}");
            // Each packet has at most 60 bytes of headers and options.
            let received = number(&flow["received_packets"]) * (wire_bytes + 60.0) * 8.0 / 2.0;
            assert!(number(&flow["throughput_bps"]) > 0.0 && number(&flow["goodput_bps"]) <= received, "{flow}");
            assert!(number(&flow["throughput_bps"]) <= 1.2 * received, "{flow}");
        }
        let on_time = number(&summary["flows"][0]["on_time_ratio"]["audio"]);
        assert!((0.0..=1.0).contains(&on_time));
        assert!(number(&summary["links"][0]["arrived_packets"]) >= 120.0);
    }
}

/// The controllers that the simulator runs without DCCP are carried by DCCP between sockets, and an encoder follows them.
#[test]
fn controllers_of_bare_agents_run_over_dccp() {
    for kind in ["scream2", "nada", "gcc", "prague"] {
        let file = format!("{}/../../../validation/parity/scenarios/{kind}.toml", env!("CARGO_MANIFEST_DIR"));
        let folder = written(&std::fs::read_to_string(file).unwrap());
        let overrides = ["duration=3s", "measure_from=1s"].map(str::to_owned).into();
        live(&Options { overrides, ..options(folder.path(), false) }).unwrap();
        let flow = json(&folder.path().join("real"), "summary.json")["flows"][0].clone();
        assert_eq!((&flow["kind"], &flow["connection_failure"]), (&kind.into(), &Value::Null));
        assert!(flow["received_packets"].as_u64().unwrap() > 10, "{flow}");
    }
}

/// Scenarios that need more than sockets of one machine are errors without a record.
#[test]
fn unsupported_scenarios_are_errors() {
    let third = "[[link]]\nbetween = [\"b\", \"c\"]\nrate = \"5Mbps\"\ndelay = \"10ms\"\n";
    for (text, expected) in [
        (SCENARIO.to_owned() + third, "there are 3 nodes"),
        (SCENARIO.to_owned() + "[vary]\nseed = [1, 2]\n", "[vary] makes 2 runs"),
        (SCENARIO.replace("name = \"bare\"", "name = \"bare\"\ncount = 63"), "there are 65 flows"),
        (
            SCENARIO
                .replace("kind = \"udp\"", "kind = \"tcp-newreno\"")
                .replace("\"3B\", lifetime = \"500ms\"", "\"3B\""),
            "flow \"bare\": its transport is `kernel-tcp`, a program or a simulated TCP",
        ),
        (SCENARIO.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\""), "expected from \"a\" to \"b\""),
        (
            SCENARIO.replace("kind = \"cbr\", rate = \"240kbps\", size = \"600B\"", "kind = \"ftp\""),
            "its source has no schedule",
        ),
    ] {
        let folder = written(&text);
        let error = live(&options(folder.path(), false)).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!folder.path().join("real/summary.json").exists());
    }
}
