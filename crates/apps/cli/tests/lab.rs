//! Tests of `headway lab` from the command line: function and containment. No test depends on the load of the machine.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the tests start programs and look at the processes of the system")]

use crate::common::{headway, text};
use crate::shell::has_rights;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Bound of the release error that no run exceeds, so that all runs are valid.
const NO_BOUND: &str = "1h";

const LINK: &str = r#"
[[link]]
between = ["server", "client"]
rate = "10Mbps"
delay = "5ms"
"#;

fn flow(name: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"client\"\n{keys}\n")
}

/// Returns the command of a lab of this duration in a folder.
fn lab(place: &Path, duration: &str, flows: &[String], arguments: &[&str]) -> Command {
    let scenario = format!("duration = \"{duration}\"\n{LINK}{}", flows.concat());
    fs::write(place.join("lab.toml"), scenario).unwrap();
    let mut command = headway(&["lab", "lab.toml", "--quiet"]);
    command.args(arguments).current_dir(place);
    command
}

/// Runs a lab until `is_complete` returns true, then interrupts it.
fn until(place: &Path, flows: &[String], arguments: &[&str], is_complete: impl Fn() -> bool) -> Output {
    let mut child = lab(place, "1h", flows, arguments).spawn().unwrap();
    let start = Instant::now();
    while !is_complete() {
        assert!(start.elapsed() < Duration::from_secs(300), "the programs have not ended");
        if child.try_wait().unwrap().is_some() {
            panic!("the lab ended: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

/// Programs, the kernel's TCP and simulated flows share a link, and the record is that of a run.
#[test]
fn programs_kernel_tcp_and_simulated_flows_share_a_link() {
    if !has_rights() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    // Column 10 of /proc/net/dev has the bytes sent by all flows from this node.
    let program = r#"exec bash -c 'echo hello > /dev/udp/{to}/5000; bytes() { awk "/headway:/ { print \$10 }" /proc/net/dev; }; \
        until [ $(bytes) -gt 1000000 ]; do sleep 0.01; done; touch done'"#;
    let flows = [
        flow("echo", &format!("program = \"\"\"{}\"\"\"", program.replace('\\', "\\\\"))),
        flow("kernel", "transport = { kind = \"kernel-tcp\", congestion = \"reno\" }\nsource = { kind = \"ftp\" }"),
        flow(
            "simulated",
            "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"1Mbps\", size = \"1000B\" }",
        ),
    ];
    let arguments = ["--bound", NO_BOUND, "--json", "--trace", "pcapng"];
    let out = until(place.path(), &flows, &arguments, || place.path().join("done").exists());
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    let result: Value = serde_json::from_slice(&out.stdout).unwrap();
    let flows = &result["summary"]["flows"];
    assert_eq!(flows[0]["sent_packets"], 1, "one datagram");
    // The node has sent 1 MB. A queue of 50 packets loses less than half of it.
    assert!(flows[1]["received_packets"].as_u64().unwrap() > 300, "{flows}");
    assert!(flows[2]["received_packets"].as_u64().unwrap() > 0, "{flows}");
    let link = &result["summary"]["links"][0];
    let sent: u64 = (0..3).map(|flow| flows[flow]["sent_packets"].as_u64().unwrap()).sum();
    assert_eq!(link["arrived_packets"].as_u64().unwrap(), sent, "all flows cross the link");
    assert_eq!((&result["lab"]["valid"], &result["lab"]["failures"]), (&Value::Bool(true), &Value::Array(Vec::new())));
    let folder = place.path().join("out/lab");
    for name in ["summary.json", "series.arrow", "events.arrow", "live.json", "trace.pcapng", "programs/echo.log"] {
        assert!(folder.join(name).exists(), "{name}");
    }
}

/// The server has a socket before the program starts, also if it needs some time. Both ends have the addresses of the
/// flow, and the namespace of a node reaches nothing else.
#[test]
fn a_program_reaches_the_server_of_its_flow_and_nothing_else() {
    if !has_rights() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let server = "sleep 0.3; exec python3 -c \\\"import socket; s = socket.create_server(('{to}', 5000)); c, peer = s.accept(); \
                  print(peer[0], c.recv(9).decode())\\\"";
    let program =
        "exec bash -c 'echo hello > /dev/tcp/{to}/5000; ls /sys/class/net; : > /dev/tcp/8.8.8.8/53 || touch done'";
    let flows = [flow("tcp", &format!("program = \"{program}\"\nserver = \"{server}\""))];
    let log = |name: &str| fs::read_to_string(place.path().join("out/lab/programs").join(name)).unwrap_or_default();
    until(place.path(), &flows, &["--bound", NO_BOUND], || {
        place.path().join("done").exists() && log("tcp.server.log").ends_with("\n\n")
    });
    assert_eq!(log("tcp.server.log"), "100.64.0.1 hello\n\n");
    let program = log("tcp.log");
    let devices: Vec<_> = program.lines().take(2).collect();
    assert_eq!(devices, ["headway", "lo"], "{program}");
    assert!(program.contains("Network is unreachable"), "{program}");
}

/// A program that fails is named, with status 1. One that the lab stops at the end of its flow is no failure.
#[test]
fn the_exit_status_names_failed_programs() {
    if !has_rights() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let flows =
        [flow("fails", "program = \"exit 3\""), flow("endless", "program = \"sleep 1h & sleep 1h\"\nstop = \"1s\"")];
    // The programs have ten seconds to start.
    let out = lab(place.path(), "10s", &flows, &["--bound", NO_BOUND]).output().unwrap();
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{errors}");
    assert!(errors.contains("flow \"fails\": the program ended with exit status: 3"), "{errors}");
    assert!(!errors.contains("endless"), "{errors}");
    // The kernel has ended all processes of both programs.
    assert!(!processes().iter().any(|command| command.contains("sleep\u{0}1h")));
}

fn processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok()).collect()
}

/// A congestion control that the kernel does not have is an error that lists those that it has.
#[test]
fn an_unknown_congestion_control_lists_the_known_ones() {
    if !has_rights() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let keys = "transport = { kind = \"kernel-tcp\", congestion = \"nope\" }\nsource = { kind = \"ftp\" }";
    let out = lab(place.path(), "1s", &[flow("kernel", keys)], &[]).output().unwrap();
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(125), "{errors}");
    assert!(errors.contains("flow \"kernel\": the kernel refused the congestion control \"nope\""), "{errors}");
    assert!(errors.contains("reno"), "{errors}");
}

/// A run with a bound that no system meets is not valid.
#[test]
fn a_late_release_makes_the_run_invalid() {
    if !has_rights() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    // The refusal of the connection is a packet from the client.
    let flows = [flow("refused", "program = \"exec bash -c ': > /dev/tcp/{to}/9 || touch done'\"")];
    let out = until(place.path(), &flows, &["--bound", "1ns"], || place.path().join("done").exists());
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(125), "{errors}");
    assert!(errors.contains("this run is not valid: the 99th percentile of the release error"), "{errors}");
}

/// `headway run` does not execute the programs of a scenario.
#[test]
fn a_simulation_runs_no_programs() {
    let place = tempfile::tempdir().unwrap();
    let _ = lab(place.path(), "1s", &[flow("program", "program = \"touch executed\"")], &[]);
    let out = headway(&["run", "lab.toml", "--quiet"]).current_dir(place.path()).output().unwrap();
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{errors}");
    assert!(errors.contains("flow \"program\" has real programs"), "{errors}");
    assert!(!place.path().join("executed").exists());
}
