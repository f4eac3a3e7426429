//! Data and exit status of commands with blocked readers, full disks and refused senders.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "the programs on both sides have sockets")]

use crate::common::{headway, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";

/// Program that is killed at the end of the test.
struct Running(Option<Child>);

impl Running {
    fn new(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    fn signal(&mut self, name: &str) {
        let id = self.child().id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn end(mut self) -> Output {
        let mut child = self.0.take().unwrap();
        // A program that does not end fails the test and is killed.
        for _ in 0..600 {
            if child.try_wait().unwrap().is_some() {
                return child.wait_with_output().unwrap();
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        self.0 = Some(child);
        panic!("the program does not end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns an output with a full buffer, and its reader.
fn blocked_output() -> (UnixStream, Stdio) {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    for size in [1 << 12, 1] {
        while writer.write(&vec![b'\n'; size]).map_err(|error| assert_eq!(error.kind(), ErrorKind::WouldBlock)).is_ok()
        {
        }
    }
    writer.set_nonblocking(false).unwrap();
    (reader, OwnedFd::from(writer).into())
}

/// Returns a free port, for programs that cannot print their own because their output is blocked.
fn free_address() -> String {
    UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string()
}

/// Sends a datagram through a proxy and back, once the proxy listens.
fn exchange(front: &str, server: &UdpSocket) {
    let client = UdpSocket::bind(ANY).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut bytes = [0; 9];
    let arrived = (0..300).any(|_| {
        let _ = client.send_to(b"hello", front);
        let Ok((length, from)) = server.recv_from(&mut bytes) else { return false };
        server.send_to(&bytes[..length], from).unwrap();
        client.recv_from(&mut bytes).is_ok()
    });
    assert!(arrived, "the proxy forwards nothing");
}

#[test]
fn a_proxy_with_blocked_output_forwards_and_stops_at_a_signal() {
    let server = UdpSocket::bind(ANY).unwrap();
    let (front, to) = (free_address(), server.local_addr().unwrap().to_string());
    let proxy = ["proxy", "--listen", &front, "--to", &to, "--bound", "3600s"];
    let (_reader, out) = blocked_output();
    let mut running = Running::new(headway(&proxy).arg("--json").stdout(out));
    exchange(&front, &server);
    running.signal("-INT");
    let ended = running.end();
    let messages = text(&ended.stderr);
    assert!(
        ended.status.code() == Some(1) && messages.contains("its reader does not read"),
        "{:?}: {messages}",
        ended.status
    );

    let (_reader, out) = blocked_output();
    let mut running = Running::new(headway(&proxy).stderr(out));
    exchange(&front, &server);
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0));
    assert!(text(&ended.stdout).contains("to the server"));
}

/// The status is 128 plus the number of SIGINT (POSIX, Shell Command Language, 2.8.2).
#[test]
fn a_second_signal_ends_a_command_with_blocked_outputs() {
    let server = UdpSocket::bind(ANY).unwrap();
    let (front, to) = (free_address(), server.local_addr().unwrap().to_string());
    let ((_one, out), (_two, messages)) = (blocked_output(), blocked_output());
    let mut running =
        Running::new(headway(&["proxy", "--listen", &front, "--to", &to, "--json"]).stdout(out).stderr(messages));
    exchange(&front, &server);
    while running.child().try_wait().unwrap().is_none() {
        running.signal("-INT");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(running.end().status.code(), Some(130));
}

/// Starts `headway recv`. Returns its standard output after the first line, and its address.
fn receiver(arguments: &[&str]) -> (Running, BufReader<std::process::ChildStdout>, String) {
    let mut running = Running::new(headway(&["recv", ANY, "--json", "--insecure"]).args(arguments));
    let mut out = BufReader::new(running.child().stdout.take().unwrap());
    let at = line(&mut out)["listening"].as_str().unwrap().to_owned();
    (running, out, at)
}

fn line(out: &mut impl BufRead) -> Value {
    let mut line = String::new();
    assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_sender_with_blocked_output_stops_at_a_signal() {
    let (mut receiver, mut out, at) = receiver(&[]);
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\"";
    let (_reader, blocked) = blocked_output();
    let mut sender = Running::new(headway(&["send", &at, "--insecure", "--json", "--model", endless]).stdout(blocked));
    while line(&mut out)["received_packets"] == 0 {}
    sender.signal("-TERM");
    let ended = sender.end();
    let messages = text(&ended.stderr);
    assert!(
        ended.status.code() == Some(1) && messages.contains("its reader does not read"),
        "{:?}: {messages}",
        ended.status
    );
    receiver.signal("-INT");
    assert_eq!(receiver.end().status.code(), Some(0));
}

#[test]
fn a_receiver_with_blocked_json_output_writes_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let media: Vec<u8> = (0..100_001_u32).map(|n| (n / 251 + n % 251) as u8).collect();
    std::fs::write(path("media"), &media).unwrap();
    let (at, (_reader, blocked)) = (free_address(), blocked_output());
    let mut receiver =
        Running::new(headway(&["recv", &at, "--json", "--insecure", "--out", &path("received")]).stdout(blocked));
    let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--file", &path("media")])).end();
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    receiver.signal("-INT");
    let ended = receiver.end();
    let messages = text(&ended.stderr);
    assert!(
        ended.status.code() == Some(1) && messages.contains("its reader does not read"),
        "{:?}: {messages}",
        ended.status
    );
    assert!(std::fs::read(path("received")).unwrap() == media);
}

/// Acknowledged datagrams that the output does not accept are an error.
#[test]
fn a_receiver_with_blocked_data_output_fails() {
    let (at, (_reader, blocked)) = (free_address(), blocked_output());
    let mut receiver = Running::new(headway(&["recv", &at, "--insecure", "--out", "-"]).stdout(blocked));
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\"";
    let mut sender = Running::new(&mut headway(&["send", &at, "--insecure", "--json", "--model", endless]));
    let mut out = BufReader::new(sender.child().stdout.take().unwrap());
    while line(&mut out)["received_packets"] == 0 {}
    receiver.signal("-INT");
    let ended = receiver.end();
    let messages = text(&ended.stderr);
    let why = "the output does not accept the datagrams of 1 connection";
    assert!(ended.status.code() == Some(1) && messages.contains(why), "{:?}: {messages}", ended.status);
    drop(out);
    assert_eq!(sender.end().status.code(), Some(1));
}

/// The output accepts nothing, so that all sent and acknowledged datagrams are dropped.
#[test]
fn datagrams_that_the_output_did_not_accept_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 50_000]).unwrap();
    for is_closed in [true, false] {
        let (at, (reader, blocked)) = (free_address(), blocked_output());
        let mut receiver = Running::new(headway(&["recv", &at, "--insecure", "--out", "-"]).stdout(blocked));
        let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--json", "--file", &file])).end();
        assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
        let last: Value = serde_json::from_str(text(&sent.stdout).lines().last().unwrap()).unwrap();
        if is_closed {
            drop(reader);
        } else {
            receiver.signal("-INT");
        }
        let ended = receiver.end();
        let messages = text(&ended.stderr);
        let counted = format!("0 datagrams, 0 missing, {} dropped by the receiver", last["received_packets"]);
        assert!(ended.status.code() == Some(1) && messages.contains(&counted), "{:?}: {messages}", ended.status);
        let why = "cannot write the datagrams to standard output";
        assert_eq!(messages.contains(why), is_closed, "{messages}");
    }
}

#[test]
fn recv_once_with_blocked_data_output_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 50_000]).unwrap();
    let (at, (_reader, blocked)) = (free_address(), blocked_output());
    let receiver = Running::new(headway(&["recv", &at, "--insecure", "--once", "--out", "-"]).stdout(blocked));
    let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--file", &file])).end();
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let ended = receiver.end();
    let messages = text(&ended.stderr);
    let why = "headway: the output does not accept the datagrams of 1 connection\n";
    assert!(ended.status.code() == Some(1) && messages.ends_with(why), "{:?}: {messages}", ended.status);
    assert!(
        messages.contains(" 0 datagrams, 0 missing, ") && messages.contains(" dropped by the receiver "),
        "{messages}"
    );
}

/// Closed connections with unread datagrams count for the limit.
#[test]
fn a_receiver_with_blocked_data_output_keeps_its_limit_of_senders() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 50_000]).unwrap();
    let (at, (_reader, blocked)) = (free_address(), blocked_output());
    let mut receiver =
        Running::new(headway(&["recv", &at, "--insecure", "--max-senders", "2", "--out", "-"]).stdout(blocked));
    for _ in 0..2 {
        let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--file", &file])).end();
        assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    }
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\"";
    let third = Running::new(&mut headway(&["send", &at, "--insecure", "--model", endless])).end();
    assert_eq!(third.status.code(), Some(1), "{}", text(&third.stderr));
    while receiver.child().try_wait().unwrap().is_none() {
        receiver.signal("-INT");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(receiver.end().status.code(), Some(130));
}

/// The Rust runtime opens /dev/null instead of a closed standard output.
#[test]
fn recv_to_a_closed_standard_output_is_refused() {
    let script = format!("exec {} recv {ANY} --insecure --out - >&-", env!("CARGO_BIN_EXE_headway"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = Running::new(&mut command).end();
    let messages = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{messages}");
    assert!(messages.starts_with("headway: --out -: standard output is closed or is /dev/null; "), "{messages}");
}

#[test]
fn a_sender_beyond_the_limit_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 5000]).unwrap();
    let (mut receiver, mut out, at) = receiver(&["--max-senders", "1"]);
    let mut first = Running::new(headway(&["send", &at, "--insecure", "--stdin"]).stdin(Stdio::piped()));
    first.child().stdin.as_mut().unwrap().write_all(&[0, 1, 7]).unwrap();
    while line(&mut out)["connections"] != 1 {}
    let second = Running::new(&mut headway(&["send", &at, "--insecure", "--file", &file])).end();
    let messages = text(&second.stderr);
    assert!(
        second.status.code() == Some(1) && messages.contains("the peer has reached its maximum number of connections"),
        "{messages}"
    );
    assert!(messages.contains("0 delivered"), "{messages}");
    drop(first.child().stdin.take());
    assert_eq!(first.end().status.code(), Some(0));
    receiver.signal("-INT");
    let last = out.lines().map_while(Result::ok).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["received_bytes"], &last["refused_handshakes"]), (&1.into(), &1.into()), "{last}");
    assert_eq!(receiver.end().status.code(), Some(0));
}

#[test]
fn a_refused_handshake_is_reported() {
    let print = "AB:".repeat(31) + "AB";
    let mut receiver = Running::new(&mut headway(&["recv", ANY, "--allow", &print]));
    let mut messages = BufReader::new(receiver.child().stderr.take().unwrap());
    let mut first = String::new();
    messages.read_line(&mut first).unwrap();
    let at = first.strip_prefix("listening at ").unwrap().split(": ").next().unwrap().to_owned();
    let model = "kind = \"ftp\", segments = 10";
    let stranger = Running::new(&mut headway(&["send", &at, "--any", "--model", model])).end();
    assert_eq!(stranger.status.code(), Some(1));
    let mut next = String::new();
    messages.read_line(&mut next).unwrap();
    assert!(next.starts_with("1 handshake has failed, the last one from 127.0.0.1:"), "{next}");
    assert!(next.contains("which is not expected"), "{next}");
    receiver.signal("-INT");
    receiver.end();
}

/// Returns the command of a run of `duration` with one flow.
fn run(out: &std::path::Path, duration: &str, arguments: &[&str]) -> Command {
    let scenario = out.join("scenario.toml");
    let text = format!(
        "name = \"long\"\nduration = \"{duration}\"\n[record]\nseries = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"5ms\"\n\
         [[flow]]\nname = \"talk\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"udp\" }}\n\
         source = {{ kind = \"cbr\", interval = \"10ms\", payload = \"160B\" }}\n"
    );
    std::fs::write(&scenario, text).unwrap();
    let (scenario, record) = (scenario.display().to_string(), out.join("record").display().to_string());
    let mut command = headway(&["run", &scenario, "--out", &record]);
    command.args(arguments);
    command
}

/// Waits up to a minute until `event` returns true.
fn until(event: impl FnMut() -> bool) {
    let mut event = event;
    for _ in 0..6000 {
        if event() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("timeout");
}

#[test]
fn a_run_with_blocked_progress_continues_and_stops_at_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (_reader, blocked) = blocked_output();
    let mut running = Running::new(run(folder.path(), "1000000s", &[]).stderr(blocked));
    let growing = folder.path().join("record/series.arrow.partial");
    // A line is due after 2 s; the file grows each second.
    let mut seen = 0;
    for _ in 0..4 {
        until(|| {
            let length = std::fs::metadata(&growing).map_or(0, |about| about.len());
            let has_grown = length > seen;
            seen = seen.max(length);
            has_grown
        });
    }
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(143));
    let summary = std::fs::read(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["complete"], false);
}

#[test]
fn a_complete_run_with_blocked_output_stops_at_the_first_signal() {
    for arguments in [&["--json"][..], &[]] {
        let folder = tempfile::tempdir().unwrap();
        let (_reader, blocked) = blocked_output();
        let mut running = Running::new(run(folder.path(), "1s", arguments).stdout(blocked));
        until(|| folder.path().join("record/summary.json").exists());
        running.signal("-TERM");
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(143), "{arguments:?}");
        assert!(text(&ended.stderr).ends_with("headway: stopped; the record is complete\n"), "{}", text(&ended.stderr));
    }
}

#[test]
fn a_signal_in_the_first_milliseconds_leaves_no_partial_file() {
    for waits_for in ["record/scenario.toml", "record/series.arrow.partial"] {
        let folder = tempfile::tempdir().unwrap();
        let mut running = Running::new(&mut run(folder.path(), "1000000s", &["--quiet"]));
        until(|| folder.path().join(waits_for).exists());
        running.signal("-TERM");
        let ended = running.end();
        let messages = text(&ended.stderr);
        assert!(
            ended.status.code() == Some(143) && messages.contains("marked incomplete"),
            "{:?}: {messages}",
            ended.status
        );
        let summary = std::fs::read(folder.path().join("record/summary.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&summary).unwrap()["complete"], false);
        let files = std::fs::read_dir(folder.path().join("record")).unwrap().map(|file| file.unwrap().file_name());
        let partial: Vec<_> = files.filter(|name| name.to_string_lossy().ends_with(".partial")).collect();
        assert!(partial.is_empty(), "{partial:?}");
    }
}

/// Each of two points has 20,000 flows.
#[test]
fn the_first_signal_ends_the_setup_of_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let flow = |number: usize| {
        format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"udp\" }}\n\
             source = {{ kind = \"cbr\", interval = \"10ms\", payload = \"160B\" }}\n"
        )
    };
    let link = "name = \"huge\"\nduration = \"1000000s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"5ms\"\n";
    let text = link.to_owned() + &(0..20_000).map(flow).collect::<String>();
    let mut sweep = headway(&["sweep", "/dev/stdin", "--vary", "link[0].rate=1Mbps,2Mbps", "--out"]);
    let mut running = Running::new(sweep.arg(&out).stdin(Stdio::piped()));
    let mut stdin = running.child().stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    running.signal("-TERM");
    assert_eq!(running.end().status.signal(), Some(15));
    assert!(!out.exists());
}

/// The phases are reading the scenario, simulating, and writing the record.
#[test]
fn a_run_with_many_flows_stops_at_a_signal_in_each_phase() {
    let flow = |number: usize| {
        format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"udp\" }}\n\
             source = {{ kind = \"cbr\", interval = \"1s\", payload = \"160B\" }}\n"
        )
    };
    let link = "name = \"many\"\nduration = \"100000s\"\n[record]\nseries = \"100s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"100Mbps\"\ndelay = \"5ms\"\n";
    // The summary so far is written after 5000 packet-hops for each flow at the earliest.
    for (flows, waits_for) in [(5000, None), (5000, Some("series.arrow.partial")), (500, Some("summary.json.partial"))]
    {
        let text = link.to_owned() + &(0..flows).map(flow).collect::<String>();
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("record");
        let mut command = headway(&["run", "/dev/stdin", "--quiet", "--out"]);
        let mut running = Running::new(command.arg(&record).stdin(Stdio::piped()));
        running.child().stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        if let Some(file) = waits_for {
            until(|| record.join(file).exists());
        }
        running.signal("-TERM");
        let status = running.end().status;
        // Before the simulation starts, the signal ends the program.
        if status.signal() != Some(15) {
            assert_eq!(status.code(), Some(143), "{waits_for:?}");
            let summary = std::fs::read(record.join("summary.json")).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&summary).unwrap()["complete"], false);
        }
    }
}
