//! Tests of `headway proxy` from the command line.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "the programs on both sides of the proxy have sockets")]

use crate::common::text;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn headway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.arg("proxy").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Running proxy, with its address and its server.
struct Running {
    child: Child,
    messages: BufReader<std::process::ChildStderr>,
    front: SocketAddr,
    server: UdpSocket,
}

impl Running {
    fn new(arguments: &[&str]) -> Self {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let to = server.local_addr().unwrap().to_string();
        let mut child = headway(&["--listen", "127.0.0.1:0", "--to", &to]).args(arguments).spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        messages.read_line(&mut first).unwrap();
        let front = first.split(' ').next().unwrap().parse().unwrap();
        Self { child, messages, front, server }
    }

    /// Sends a datagram to the server and back.
    fn exchange(&self) {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        client.send_to(b"hello", self.front).unwrap();
        let mut bytes = [0; 100];
        let (length, from) = self.server.recv_from(&mut bytes).unwrap();
        self.server.send_to(&bytes[..length], from).unwrap();
        let (length, from) = client.recv_from(&mut bytes).unwrap();
        assert_eq!((&bytes[..length], from), (&b"hello"[..], self.front));
    }

    /// Sends a signal. Returns the status, standard output and standard error.
    fn end(mut self, signal: &str) -> (Option<i32>, String, String) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        let mut messages = String::new();
        self.messages.read_to_string(&mut messages).unwrap();
        let Output { status, stdout, .. } = self.child.wait_with_output().unwrap();
        (status.code(), text(&stdout), messages)
    }
}

#[test]
fn the_last_line_is_the_report_of_the_run() {
    let running = Running::new(&["--rate", "10Mbps", "--delay", "2ms", "--json", "--bound", "3600s"]);
    running.exchange();
    let (status, out, messages) = running.end("-INT");
    assert_eq!((status, messages.as_str()), (Some(0), ""));
    let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["last"], &last["valid"], &last["clients"]), (&true.into(), &true.into(), &1.into()));
    for side in ["to_server", "to_client"] {
        assert_eq!((&last[side]["arrived_packets"], &last[side]["delivered_bytes"]), (&1.into(), &33.into()), "{side}");
    }
    assert!(last["release_error_s"]["max"].as_f64().unwrap() >= 0.0);
}

/// The columns of duplicated and reordered packets are omitted if they are zero.
#[test]
fn duplicated_packets_are_in_the_table() {
    let running =
        Running::new(&["--rate", "10Mbps", "--set", "link[0].duplicate={ probability = 1 }", "--bound", "3600s"]);
    running.exchange();
    let (status, out, messages) = running.end("-INT");
    assert_eq!(status, Some(0), "{messages}");
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let titles =
        out.lines().map(columns).find(|titles| titles.first().is_some_and(|first| first == "direction")).unwrap();
    assert_eq!(titles[1..6], ["arrived", "delivered", "dropped", "marked", "duplicated"], "{out}");
    assert!(!out.contains("reordered"), "{out}");
    let to_server = out.lines().find(|line| line.starts_with("to the server")).map(columns).unwrap();
    assert_eq!((&to_server[3][..], &to_server[7][..]), ("1", "1"), "{out}");
}

/// No datagram is sent within a nanosecond of its time.
#[test]
fn a_run_with_late_datagrams_is_not_valid() {
    let running = Running::new(&["--bound", "1ns"]);
    running.exchange();
    let (status, out, messages) = running.end("-TERM");
    assert_eq!(status, Some(1));
    assert!(out.contains("to the server") && out.contains("release"), "{out}");
    assert!(
        messages.starts_with("headway: this run is not valid: the 99th percentile of the release error is "),
        "{messages}"
    );
}

/// Two links with `one_way` are the directions of one link. `--reverse` was refused, and `--rate` set one direction only.
#[test]
fn options_set_both_links_of_a_pair_of_one_way_links() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pair.toml");
    let link = |ends: &str| format!("[[link]]\nbetween = {ends}\none_way = true\nrate = \"1Mbps\"\ndelay = \"1ms\"\n");
    std::fs::write(&file, link("[\"a\", \"b\"]") + &link("[\"b\", \"a\"]")).unwrap();
    let file = file.to_str().unwrap();
    for name in [&[][..], &["--link", "a->b"], &["--link", "b->a"]] {
        let arguments = ["--scenario", file, "--rate", "2Mbps", "--reverse", "rate=3Mbps", "--bound", "3600s"];
        let running = Running::new(&[&arguments[..], name].concat());
        running.exchange();
        assert_eq!(running.end("-INT").0, Some(0));
        let reverse = if name == ["--link", "b->a"] { "a->b" } else { "b->a" };
        for (option, value) in [("--rate", "1.5"), ("--reverse", "rate=1.5")] {
            let set = format!("link[{reverse}].rate=2Mbps");
            let arguments = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--scenario", file, "--set", &set];
            let output = headway(&arguments).args(name).args([option, value]).output().unwrap();
            let why = format!("{option} and --set {set} both set link[{reverse}].rate; remove one of them");
            assert!(text(&output.stderr).contains(&why), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn the_link_is_read_from_a_scenario_or_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    let link = |ends: &str, keys: &str| format!("[[link]]\nbetween = {ends}\ndelay = \"1ms\"\n{keys}\n");
    let two = link("[\"a\", \"b\"]", "rate = \"1Mbps\"") + &link("[\"b\", \"c\"]", "capacity = \"trace\"");
    std::fs::write(&file, two).unwrap();
    std::fs::write(folder.path().join("trace"), "1\n").unwrap();
    let file = file.to_str().unwrap();
    let running = Running::new(&["--scenario", file, "--link", "c->b", "--bound", "3600s"]);
    running.exchange();
    assert_eq!(running.end("-INT").0, Some(0));
    let trace = folder.path().join("trace").display().to_string();
    let running = Running::new(&["--capacity", &trace, "--delay", "1ms", "--bound", "3600s"]);
    running.exchange();
    assert_eq!(running.end("-INT").0, Some(0));
    let refused = |arguments: &[&str]| {
        let output = headway(&["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]).args(arguments).output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        text(&output.stderr)
    };
    for (arguments, why) in [
        (&["--scenario", file][..], "there are several links: name one of a->b, b->a, b->c, c->b"),
        // Errors include the option instead of `--set`.
        (&["--rate", "2mbps"], "--rate: \"2mbps\": unknown unit"),
        (&["--rate=-3Mbps"], "--rate: \"-3Mbps\" is out of range: write a rate above 0bps"),
        (&["--rate", "-3Mbps"], "--rate: \"-3Mbps\" is out of range: write a rate above 0bps"),
        (
            &["--rate", "1e30bps"],
            "--rate: \"1e30bps\" is out of range: write a rate above 0bps and at most 18446744Tbps",
        ),
        (&["--delay", "-5ms"], "--delay: \"-5ms\" is out of range: from 0s to 1000000s"),
        (&["--queue", "rde"], "--queue: kind: unknown queue \"rde\"; did you mean \"red\"? Known are droptail"),
        (&["--queue", "red,limti=3"], "--queue: unknown key \"limti\"; did you mean \"limit\"?"),
        (&["--queue", "red,limit=-3packets"], "--queue: limit: \"-3packets\" is out of range"),
        (
            &["--scenario", file, "--link", "b->a", "--rate", "1Mbps"],
            "there is no link called \"b->a\"; it is the reverse path of \"a->b\": write link[a->b]",
        ),
        (&["--link", "x", "--rate", "1Mbps"], "--link x --rate: there is no link called \"x\""),
        (&["--scenario", file, "--link", "a->b", "--rate", "fast"], "--rate: \"fast\" is not a rate"),
        (
            &["--queue", "red,limit=30packets,limit=40packets"],
            "--queue red,limit=30packets,limit=40packets: limit: duplicate key",
        ),
        (&["--queue", "red,limit"], "--queue red,limit: \"limit\" has no value; expected KEY=VALUE"),
        (&["--loss", "bernoulli,probabilty=0.1"], "probability"),
        (&["--bound", "fast"], "--bound"),
        (&["--scenario", "nowhere.toml"], "nowhere.toml"),
        (&["--capacity", "nowhere.trace"], "--capacity: cannot read \"nowhere.trace\""),
        (&["--capacity", &trace, "--rate", "2Mbps"], "cannot be used with"),
    ] {
        let messages = refused(arguments);
        assert!(messages.contains(why), "{arguments:?}: {messages}");
    }
    for (listen, to, why) in [
        ("localhost:0", "127.0.0.1:0", "\"127.0.0.1:0\" has port 0; expected a port"),
        ("localhost:0", "127.0.0.1", "\"127.0.0.1\" has no port; expected HOST:PORT"),
        // Datagrams would loop.
        ("127.0.0.1:7100", "127.0.0.1:7100", "--to 127.0.0.1:7100: this command listens at 127.0.0.1:7100 and"),
        ("0.0.0.0:7100", "127.0.0.1:7100", "this command listens at 0.0.0.0:7100 and"),
        ("[::]:7100", "127.0.0.2:7100", "this command listens at [::]:7100 and"),
        ("5004", "localhost:9", "\"5004\" is only a port; write HOST:PORT, such as 127.0.0.1:5004"),
    ] {
        let output = headway(&["--listen", listen, "--to", to]).output().unwrap();
        let messages = text(&output.stderr);
        assert!(!output.status.success() && messages.contains(why), "{listen} {to}: {messages}");
    }
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = headway(&["--listen", &address, "--to", "127.0.0.1:9"]).output().unwrap();
    let messages = text(&output.stderr);
    assert!(messages.starts_with(&format!("headway: cannot listen at {address}: ")), "{messages}");
}
