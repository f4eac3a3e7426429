//! Readers that do not read, full disks, refused senders: what a command does with its data, and what its exit status reports.
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

/// A program that the test stops, however it ends.
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
        // A program that never ends fails the test, and does not outlive it.
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

/// An output without room, and its reader, which never reads.
fn stuck() -> (UnixStream, Stdio) {
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

/// A port that was free a moment ago: a program whose output is stuck cannot report its own.
fn free() -> String {
    UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string()
}

/// A datagram through a proxy, there and back, as soon as it listens.
fn exchange(front: &str, server: &UdpSocket) {
    let client = UdpSocket::bind(ANY).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut bytes = [0; 9];
    let came = (0..300).any(|_| {
        let _ = client.send_to(b"hello", front);
        let Ok((length, from)) = server.recv_from(&mut bytes) else { return false };
        server.send_to(&bytes[..length], from).unwrap();
        client.recv_from(&mut bytes).is_ok()
    });
    assert!(came, "the proxy forwards nothing");
}

/// A blocked standard output stopped the proxy, which then ignored signals.
#[test]
fn a_proxy_whose_output_is_not_read_forwards_and_ends() {
    let server = UdpSocket::bind(ANY).unwrap();
    let (front, to) = (free(), server.local_addr().unwrap().to_string());
    let proxy = ["proxy", "--listen", &front, "--to", &to, "--bound", "3600s"];
    let (_reader, out) = stuck();
    let mut running = Running::new(headway(&proxy).arg("--json").stdout(out));
    exchange(&front, &server);
    running.signal("-INT");
    let ended = running.end();
    let said = text(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("its reader does not read"), "{:?}: {said}", ended.status);

    let (_reader, out) = stuck();
    let mut running = Running::new(headway(&proxy).stderr(out));
    exchange(&front, &server);
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0));
    assert!(text(&ended.stdout).contains("to the server"));
}

/// A second signal ends a command whatever it waits for: 128 and the number of SIGINT (POSIX, Shell Command Language, 2.8.2).
#[test]
fn a_second_signal_ends_a_command_without_any_output() {
    let server = UdpSocket::bind(ANY).unwrap();
    let (front, to) = (free(), server.local_addr().unwrap().to_string());
    let ((_one, out), (_two, said)) = (stuck(), stuck());
    let mut running =
        Running::new(headway(&["proxy", "--listen", &front, "--to", &to, "--json"]).stdout(out).stderr(said));
    exchange(&front, &server);
    while running.child().try_wait().unwrap().is_none() {
        running.signal("-INT");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(running.end().status.code(), Some(130));
}

/// A `headway recv` that listens, and its standard output after that line.
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
fn a_sender_whose_output_is_not_read_ends_at_a_signal() {
    let (mut receiver, mut out, at) = receiver(&[]);
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\"";
    let (_reader, stuck) = stuck();
    let mut sender = Running::new(headway(&["send", &at, "--insecure", "--json", "--model", endless]).stdout(stuck));
    while line(&mut out)["received_packets"] == 0 {}
    sender.signal("-TERM");
    let ended = sender.end();
    let said = text(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("its reader does not read"), "{:?}: {said}", ended.status);
    receiver.signal("-INT");
    assert_eq!(receiver.end().status.code(), Some(0));
}

/// `recv --json` with a full pipe wrote nothing to its file, while the sender read that everything was delivered.
#[test]
fn a_receiver_whose_output_is_not_read_writes_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let media: Vec<u8> = (0..100_001_u32).map(|n| (n / 251 + n % 251) as u8).collect();
    std::fs::write(path("media"), &media).unwrap();
    let (at, (_reader, stuck)) = (free(), stuck());
    let mut receiver =
        Running::new(headway(&["recv", &at, "--json", "--insecure", "--out", &path("came")]).stdout(stuck));
    let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--file", &path("media")])).end();
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    receiver.signal("-INT");
    let ended = receiver.end();
    let said = text(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("its reader does not read"), "{:?}: {said}", ended.status);
    assert!(std::fs::read(path("came")).unwrap() == media);
}

/// Datagrams that the output does not accept are not delivered, whatever the transport has acknowledged.
#[test]
fn a_receiver_whose_data_are_not_read_fails() {
    let (at, (_reader, stuck)) = (free(), stuck());
    let mut receiver = Running::new(headway(&["recv", &at, "--insecure", "--out", "-"]).stdout(stuck));
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\"";
    let mut sender = Running::new(&mut headway(&["send", &at, "--insecure", "--json", "--model", endless]));
    let mut out = BufReader::new(sender.child().stdout.take().unwrap());
    while line(&mut out)["received_packets"] == 0 {}
    receiver.signal("-INT");
    let ended = receiver.end();
    let said = text(&ended.stderr);
    let why = "the output does not accept the datagrams of 1 connection";
    assert!(ended.status.code() == Some(1) && said.contains(why), "{:?}: {said}", ended.status);
    drop(out);
    assert_eq!(sender.end().status.code(), Some(1));
}

/// `recv --out -` lost datagrams with status 0 if its reader went away, and counted one of those that a reader did not take. Of a file that was sent, and
/// acknowledged, an output without room gets nothing: the datagrams that are not written are those that were sent.
#[test]
fn datagrams_that_a_reader_did_not_take_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 50_000]).unwrap();
    for goes_away in [true, false] {
        let (at, (reader, stuck)) = (free(), stuck());
        let mut receiver = Running::new(headway(&["recv", &at, "--insecure", "--out", "-"]).stdout(stuck));
        let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--json", "--file", &file])).end();
        assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
        let last: Value = serde_json::from_str(text(&sent.stdout).lines().last().unwrap()).unwrap();
        if goes_away {
            drop(reader);
        } else {
            receiver.signal("-INT");
        }
        let ended = receiver.end();
        let said = text(&ended.stderr);
        let counted = format!("0 datagrams, 0 missing, {} dropped by this end", last["received_packets"]);
        assert!(ended.status.code() == Some(1) && said.contains(&counted), "{:?}: {said}", ended.status);
        let why = "cannot write the datagrams to standard output";
        assert_eq!(said.contains(why), goes_away, "{said}");
    }
}

/// `recv --once` whose reader had stopped waited without end once the sender had closed.
#[test]
fn a_receiver_for_one_sender_ends_although_its_data_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 50_000]).unwrap();
    let (at, (_reader, stuck)) = (free(), stuck());
    let receiver = Running::new(headway(&["recv", &at, "--insecure", "--once", "--out", "-"]).stdout(stuck));
    let sent = Running::new(&mut headway(&["send", &at, "--insecure", "--file", &file])).end();
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let ended = receiver.end();
    let said = text(&ended.stderr);
    let why = "headway: the output does not accept the datagrams of 1 connection\n";
    assert!(ended.status.code() == Some(1) && said.ends_with(why), "{:?}: {said}", ended.status);
    assert!(said.contains(" 0 datagrams, 0 missing, ") && said.contains(" dropped by this end "), "{said}");
}

/// Each sender left a thread and 2048 datagrams with a receiver whose output accepted nothing. Two signals end it at once.
#[test]
fn a_receiver_whose_data_are_not_read_accepts_no_more_senders_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("media").display().to_string();
    std::fs::write(&file, [7; 50_000]).unwrap();
    let (at, (_reader, stuck)) = (free(), stuck());
    let mut receiver =
        Running::new(headway(&["recv", &at, "--insecure", "--max-senders", "2", "--out", "-"]).stdout(stuck));
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

/// `recv --out - >&-` wrote all datagrams to /dev/null, with status 0: Rust's runtime opens it in place of a closed standard output.
#[test]
fn a_receiver_without_a_standard_output_does_not_begin() {
    let script = format!("exec {} recv {ANY} --insecure --out - >&-", env!("CARGO_BIN_EXE_headway"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = Running::new(&mut command).end();
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.starts_with("headway: --out -: standard output is closed or is /dev/null: "), "{said}");
}

/// The 65th sender of a receiver for 64 was turned away, and its status was 0.
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
    let said = text(&second.stderr);
    assert!(second.status.code() == Some(1) && said.contains("it has as many connections as it may have"), "{said}");
    assert!(said.contains("0 delivered"), "{said}");
    drop(first.child().stdin.take());
    assert_eq!(first.end().status.code(), Some(0));
    receiver.signal("-INT");
    let last = out.lines().map_while(Result::ok).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["received_bytes"], &last["refused_handshakes"]), (&1.into(), &1.into()), "{last}");
    assert_eq!(receiver.end().status.code(), Some(0));
}

/// `recv` reported nothing of a sender that is not in its list.
#[test]
fn a_refused_handshake_is_reported() {
    let print = "AB:".repeat(31) + "AB";
    let mut receiver = Running::new(&mut headway(&["recv", ANY, "--allow", &print]));
    let mut said = BufReader::new(receiver.child().stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    let at = first.strip_prefix("listening at ").unwrap().split(": ").next().unwrap().to_owned();
    let model = "kind = \"ftp\", segments = 10";
    let stranger = Running::new(&mut headway(&["send", &at, "--any", "--model", model])).end();
    assert_eq!(stranger.status.code(), Some(1));
    let mut next = String::new();
    said.read_line(&mut next).unwrap();
    assert!(next.starts_with("1 handshake has failed so far, the last one of 127.0.0.1:"), "{next}");
    assert!(next.contains("which is not expected"), "{next}");
    receiver.signal("-INT");
    receiver.end();
}

/// A run of `duration` with one flow.
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

/// Waits until `event`, for a minute at most.
fn until(event: impl FnMut() -> bool) {
    let mut event = event;
    for _ in 0..6000 {
        if event() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("it does not happen");
}

/// The lines of progress blocked a run whose standard error was not read: its record grew no more, and the first signal was ignored.
#[test]
fn a_run_whose_progress_is_not_read_continues_and_ends_at_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (_reader, stuck) = stuck();
    let mut running = Running::new(run(folder.path(), "1000000s", &[]).stderr(stuck));
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

/// A run whose record is complete has nothing left to keep: the first signal ended one with findings, but not one with `--json`.
#[test]
fn a_run_whose_result_is_not_read_ends_at_the_first_signal() {
    for arguments in [&["--json"][..], &[]] {
        let folder = tempfile::tempdir().unwrap();
        let (_reader, stuck) = stuck();
        let mut running = Running::new(run(folder.path(), "1s", arguments).stdout(stuck));
        until(|| folder.path().join("record/summary.json").exists());
        running.signal("-TERM");
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(143), "{arguments:?}");
        // The status alone does not show that nothing is lost.
        assert!(text(&ended.stderr).ends_with("headway: stopped; the record is complete\n"), "{}", text(&ended.stderr));
    }
}

/// A signal in the first milliseconds left `series.arrow.partial` and no summary. It finds either no file yet, or a record that is marked.
#[test]
fn a_signal_in_the_first_milliseconds_leaves_no_partial_file() {
    for waits_for in ["record/scenario.toml", "record/series.arrow.partial"] {
        let folder = tempfile::tempdir().unwrap();
        let mut running = Running::new(&mut run(folder.path(), "1000000s", &["--quiet"]));
        until(|| folder.path().join(waits_for).exists());
        running.signal("-TERM");
        let ended = running.end();
        let said = text(&ended.stderr);
        assert!(ended.status.code() == Some(143) && said.contains("marked incomplete"), "{:?}: {said}", ended.status);
        let summary = std::fs::read(folder.path().join("record/summary.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&summary).unwrap()["complete"], false);
        let files = std::fs::read_dir(folder.path().join("record")).unwrap().map(|file| file.unwrap().file_name());
        let partial: Vec<_> = files.filter(|name| name.to_string_lossy().ends_with(".partial")).collect();
        assert!(partial.is_empty(), "{partial:?}");
    }
}

/// `headway sweep` of a large scenario ignored the first signal while it read the points. Here each of two points has 20,000 flows.
#[test]
fn the_first_signal_ends_the_set_up_of_a_sweep() {
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

/// A phase of a run with many flows: the text is read, the loop runs, the record is written.
#[test]
fn a_run_with_many_flows_ends_at_a_signal_in_each_phase() {
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
        // Before the loop there is nothing to keep, and the signal ends the program itself.
        if status.signal() != Some(15) {
            assert_eq!(status.code(), Some(143), "{waits_for:?}");
            let summary = std::fs::read(record.join("summary.json")).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&summary).unwrap()["complete"], false);
        }
    }
}
