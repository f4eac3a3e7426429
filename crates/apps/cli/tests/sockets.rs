//! Tests of `headway send` and `headway recv` from the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]
#![allow(clippy::disallowed_types, reason = "the programs on both sides have sockets")]

use crate::common::{headway, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Returns the final report.
pub(crate) fn last(lines: &str) -> Value {
    let last = json(lines.lines().last().unwrap());
    assert_eq!(last["last"], true);
    last
}

/// Running `headway recv`, with its addresses and its fingerprint.
pub(crate) struct Receiver {
    child: Child,
    out: BufReader<ChildStdout>,
    at: String,
    fingerprint: String,
    metrics: String,
}

impl Receiver {
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::listening(ANY, arguments)
    }

    fn listening(at: &str, arguments: &[&str]) -> Self {
        let mut child = headway(&["recv", at, "--json"]).args(arguments).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // The line with the address of the metrics precedes that of the receiver.
        let mut messages: Vec<Value> = Vec::new();
        while messages.last().is_none_or(|line| line["listening"].is_null()) {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
            messages.push(json(&line));
        }
        let text = |key: &str| messages.iter().find_map(|line| line[key].as_str()).unwrap_or_default().to_owned();
        let (at, fingerprint, metrics) = (text("listening"), text("fingerprint"), text("metrics"));
        Self { child, out, at, fingerprint, metrics }
    }

    /// Waits for the end, after a signal if there is one. Returns the status, standard output and standard error.
    pub(crate) fn end(mut self, signal: Option<&str>) -> (Option<i32>, String, String) {
        if let Some(signal) = signal {
            assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        }
        let mut lines = String::new();
        self.out.read_to_string(&mut lines).unwrap();
        let Output { status, stderr, .. } = self.child.wait_with_output().unwrap();
        (status.code(), lines, text(&stderr))
    }

    pub(crate) fn sender(&self, arguments: &[&str]) -> Command {
        let mut command = headway(&["send", &self.at, "--json"]);
        if self.fingerprint.is_empty() {
            command.arg("--insecure");
        } else {
            command.args(["--fingerprint", &self.fingerprint]);
        }
        command.args(arguments);
        command
    }
}

pub(crate) fn succeeded(output: &Output) -> String {
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

/// Checks that a sender failed because the receiver closed the connection before the source had ended.
fn assert_closed_early(output: &Output) {
    let messages = text(&output.stderr);
    let why = "the receiver closed the connection before the source had ended: ";
    assert!(output.status.code() == Some(1) && messages.contains(why), "{:?}: {messages}", output.status);
}

/// Returns bytes that differ from their neighbors.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n / 251 + n % 251) as u8).collect()
}

#[test]
fn a_file_arrives_unchanged() {
    for security in [&[][..], &["--insecure"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("file"), bytes(100_001)).unwrap();
        let output = path("received");
        let receiver = Receiver::new(&[&["--once", "--out", &output], security].concat());
        let sent = last(&succeeded(&receiver.sender(&["--file", &path("file")]).output().unwrap()));
        let (status, lines, messages) = receiver.end(None);
        assert_eq!((status, messages.as_str()), (Some(0), ""));
        assert_eq!(std::fs::read(output).unwrap(), bytes(100_001));
        let received = last(&lines);
        assert_eq!(received["received_bytes"], 100_001);
        assert_eq!(received["received_packets"], sent["sent_packets"]);
        assert_eq!((&sent["kind"], &sent["lost_packets"]["channel"]), (&"tfrc-filtered".into(), &0.into()));
        assert_eq!(sent["send_queue"]["data"]["written_packets"], sent["sent_packets"]);
    }
}

/// JSON lines are on standard error if standard output carries datagrams.
#[test]
fn framed_datagrams_pass_from_stdin_to_stdout() {
    let mut receiver =
        headway(&["recv", ANY, "--json", "--once", "--insecure", "--out", "-", "--framing", "length"]).spawn().unwrap();
    let mut messages = BufReader::new(receiver.stderr.take().unwrap());
    let mut first = String::new();
    messages.read_line(&mut first).unwrap();
    let at = json(&first)["listening"].as_str().unwrap().to_owned();
    let mut sender = headway(&["send", &at, "--insecure", "--stdin", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let stream: Vec<u8> = (0..40u8)
        .flat_map(|n| [vec![0, n], vec![n; n.into()], vec![2, n], bytes(512 + usize::from(n))].concat())
        .collect();
    sender.stdin.take().unwrap().write_all(&stream).unwrap();
    assert_eq!(succeeded(&sender.wait_with_output().unwrap()), "");
    let output = receiver.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout == stream), (Some(0), true));
    let mut lines = String::new();
    messages.read_to_string(&mut lines).unwrap();
    assert_eq!(last(&lines)["received_packets"], 80);
}

/// ISO/IEC 13818-1 section 2.4.3.2: packets have 188 bytes and start with 0x47.
#[test]
fn datagrams_of_mpeg_ts_are_whole_packets() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut stream = bytes(188 * 500);
    stream.iter_mut().step_by(188).for_each(|byte| *byte = 0x47);
    std::fs::write(path("film.ts"), &stream).unwrap();
    for (more, is_whole) in [(&[][..], true), (&["--chunk", "1000"], false)] {
        let output = path("received");
        let receiver = Receiver::new(&["--once", "--out", &output, "--framing", "length"]);
        let file = ["--file", &path("film.ts")];
        succeeded(&receiver.sender(&[&file[..], more].concat()).output().unwrap());
        assert_eq!(receiver.end(None).0, Some(0));
        let received = std::fs::read(output).unwrap();
        let (mut rest, mut joined) = (&received[..], Vec::new());
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let (datagram, after) = after.split_at(u16::from_be_bytes(*length).into());
            assert!(!is_whole || datagram.len().is_multiple_of(188) && datagram.len() <= 1316, "{}", datagram.len());
            assert!(is_whole || datagram.len() == 1000, "{}", datagram.len());
            joined.extend_from_slice(datagram);
            rest = after;
        }
        assert!(joined == stream);
    }
}

#[test]
fn udp_datagrams_are_forwarded() {
    let server = UdpSocket::bind(ANY).unwrap();
    server.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let receiver = Receiver::new(&["--to", &server.local_addr().unwrap().to_string()]);
    // A free port.
    let port = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let mut sender = receiver.sender(&["--udp", &port, "--kind", "audio", "--expires", "60s"]).spawn().unwrap();
    let program = UdpSocket::bind(ANY).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut buffer, mut arrived) = ([0; 2000], None);
    // Datagrams are lost until the sender listens.
    for n in 0..150u32 {
        program.send_to(&n.to_be_bytes(), &port).ok();
        if let Ok((length, _)) = server.recv_from(&mut buffer) {
            arrived = Some((length, n));
            break;
        }
    }
    assert_eq!(arrived.map(|(length, _)| length), Some(4));
    assert!(Command::new("kill").args(["-TERM", &sender.id().to_string()]).status().unwrap().success());
    let mut lines = String::new();
    sender.stdout.take().unwrap().read_to_string(&mut lines).unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(0), "a signal ends the sender without an error");
    assert!(last(&lines)["send_queue"]["audio"]["sent_packets"].as_u64() >= Some(1), "{lines}");
    let (status, lines, messages) = receiver.end(Some("-INT"));
    assert_eq!((status, messages.as_str()), (Some(0), ""));
    assert!(last(&lines)["received_packets"].as_u64() >= Some(1));
}

/// Datagrams larger than any packet are an error.
#[test]
fn large_datagrams_wait_for_the_path_mtu_discovery() {
    let receiver = Receiver::new(&["--once"]);
    let mut sender = receiver.sender(&["--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    let framed = |len: u16| [&len.to_be_bytes()[..], &bytes(len.into())].concat();
    // The discovery starts at 1280 bytes with all headers.
    sender.stdin.take().unwrap().write_all(&[framed(1300), framed(1)].concat()).unwrap();
    succeeded(&sender.wait_with_output().unwrap());
    assert_eq!(last(&receiver.end(None).1)["received_bytes"], 1301);
    let receiver = Receiver::new(&["--once"]);
    let mut sender = receiver.sender(&["--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    sender.stdin.take().unwrap().write_all(&framed(1501)).unwrap();
    let Output { status, stderr, .. } = sender.wait_with_output().unwrap();
    let messages = text(&stderr);
    assert!(status.code() == Some(1) && messages.contains("datagram 1 of standard input has 1501 bytes"), "{messages}");
    assert_eq!(receiver.end(None).0, Some(0));
}

/// If the reader closes standard output, as `head` does, the command closes the connection, completes the record and
/// fails.
#[test]
fn a_closed_standard_output_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let endless = ["--model", "kind = \"cbr\", interval = \"10ms\", payload = \"100B\""];
    let is_complete = |name: &str| {
        let summary = json(&std::fs::read_to_string(path(name) + "/summary.json").unwrap());
        summary["flows"][0]["sent_packets"].as_u64() > Some(0)
    };
    let receiver = Receiver::new(&["--once"]);
    let mut sender = receiver.sender(&[&endless[..], &["--record", &path("sent")]].concat()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(sender.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(json(&line)["last"], false);
    let unread = |ended: &Output| {
        let why = "headway: standard output was closed by its reader; stopped before the transfer was complete\n";
        assert_eq!((ended.status.code(), text(&ended.stderr).as_str()), (Some(1), why));
    };
    unread(&sender.wait_with_output().unwrap());
    // Without a close, the receiver would fail after 45 s.
    let (status, _, messages) = receiver.end(None);
    assert_eq!((status, messages.as_str()), (Some(0), ""));
    assert!(is_complete("sent"));

    let mut receiver = Receiver::new(&["--record", &path("received")]);
    let sender = receiver.sender(&endless).spawn().unwrap();
    receiver.out.read_line(&mut line).unwrap();
    drop(receiver.out);
    assert_closed_early(&sender.wait_with_output().unwrap());
    unread(&receiver.child.wait_with_output().unwrap());
    assert!(is_complete("received"));
}

#[test]
#[cfg(unix)]
fn duration_ends_a_stream_without_feedback() {
    let receiver = Receiver::new(&[]);
    let model = "kind = \"ftp\"";
    let mut sender = receiver.sender(&["--model", model, "--duration", "3s"]).spawn().unwrap();
    let mut lines = BufReader::new(sender.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let signal = |name: &str| Command::new("kill").args([name, &receiver.child.id().to_string()]).status().unwrap();
    assert!(signal("-STOP").success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    sender.wait().unwrap();
    assert!(signal("-CONT").success());
    // The duration of 3 s, 1 s for queued datagrams, and 3 s for the close. The connection would end after 45 s.
    let took = last(&rest)["interval"]["to"].as_f64().unwrap();
    assert!(took < 30.0, "{took}");
    receiver.end(Some("-INT"));
}

/// A source that is faster than the machine stops in time, and a full send queue drops its datagrams. The sender reports
/// how many it did not deliver, and succeeds if the user accepts that.
#[test]
fn a_model_that_is_too_fast_stops() {
    let model = ["--model", "kind = \"cbr\", interval = \"1ns\", payload = \"100B\"", "--duration", "500ms"];
    for (more, status) in [(&[][..], 1), (&["--min-delivered", "0%"], 0), (&["--expires", "100s"], 0)] {
        let receiver = Receiver::new(&["--once"]);
        let output = receiver.sender(&[&model[..], more].concat()).output().unwrap();
        let messages = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{messages}");
        let sent = last(&text(&output.stdout));
        let queue = &sent["send_queue"]["data"];
        let full = queue["refused_packets"].as_u64().unwrap() + queue["pushed_out_packets"].as_u64().unwrap();
        let delivery = &sent["delivery"];
        assert!(full > 0 && delivery["unsent_packets"].as_u64() >= Some(full), "{sent}");
        assert!(delivery["delivered_ratio"].as_f64() < Some(1.0), "{sent}");
        if status == 1 {
            assert!(messages.contains(" were not delivered: ") && messages.contains(" never sent"), "{messages}");
            let failure = sent["connection_failure"].as_str().unwrap();
            assert_eq!(messages, format!("headway: {failure}\n"));
        }
        assert_eq!(receiver.end(None).0, Some(0));
    }
}

/// Waits until a report of a sender counts an acknowledged datagram.
fn await_acknowledgment(reports: &mut impl BufRead) {
    let mut line = String::new();
    while line.is_empty() || json(&line)["received_packets"] == 0 {
        line.clear();
        assert!(reports.read_line(&mut line).unwrap() > 0, "the sender ended");
    }
}

/// A receiver that is killed and started again. The counters of the sender continue.
#[test]
fn a_sender_connects_again_to_a_receiver_that_returns() {
    let model = ["--model", "kind = \"cbr\", interval = \"10ms\", payload = \"100B\", lifetime = \"10s\""];
    let mut first = Receiver::new(&["--insecure"]);
    let mut sender = first.sender(&[&model[..], &["--reconnect"]].concat()).spawn().unwrap();
    let mut reports = BufReader::new(sender.stdout.take().unwrap());
    await_acknowledgment(&mut reports);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let mut second = Receiver::listening(&first.at, &["--insecure"]);
    let mut line = String::new();
    while line.is_empty() || json(&line)["received_packets"] == 0 {
        line.clear();
        second.out.read_line(&mut line).unwrap();
    }
    assert!(Command::new("kill").args(["-INT", &sender.id().to_string()]).status().unwrap().success());
    let mut lines = String::new();
    reports.read_to_string(&mut lines).unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(0));
    let sent = last(&lines);
    let received = last(&second.end(Some("-INT")).1);
    assert_eq!((&sent["interruptions"], &sent["connection_failure"]), (&1.into(), &Value::Null), "{sent}");
    // The receiver that was killed had received more.
    assert!(sent["received_packets"].as_u64() > received["received_packets"].as_u64(), "{sent} {received}");
}

/// The receiver does not return: the sender ends with its source, and reports what is missing.
#[test]
fn a_sender_does_not_wait_for_a_receiver_after_its_source_has_ended() {
    let mut receiver = Receiver::new(&["--insecure"]);
    let mut sender = receiver.sender(&["--stdin", "--reconnect"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = sender.stdin.take().unwrap();
    pipe.write_all(&[0, 3, 1, 2, 3]).unwrap();
    pipe.flush().unwrap();
    await_acknowledgment(&mut BufReader::new(sender.stdout.as_mut().unwrap()));
    receiver.child.kill().unwrap();
    receiver.child.wait().unwrap();
    pipe.write_all(&[0, 3, 1, 2, 3]).unwrap();
    drop(pipe);
    let output = sender.wait_with_output().unwrap();
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.contains("1 of 2 datagrams (50.00 %) was not delivered: 1 "), "{messages}");
}

/// The answer to the Close is missing because the receiver has ended, or because the link lost it. All datagrams were
/// acknowledged, so the sender succeeds.
#[test]
fn a_close_without_an_answer_is_no_failure_after_all_datagrams() {
    for signal in ["-KILL", "-STOP"] {
        let receiver = Receiver::new(&["--insecure"]);
        let mut sender = receiver.sender(&["--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = sender.stdin.take().unwrap();
        pipe.write_all(&[0, 3, 1, 2, 3]).unwrap();
        pipe.flush().unwrap();
        let mut reports = BufReader::new(sender.stdout.take().unwrap());
        await_acknowledgment(&mut reports);
        let process = receiver.child.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        drop(pipe);
        let output = sender.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{signal}");
        receiver.end(Some("-KILL"));
    }
}

/// The encoder rate is written to a file descriptor and served next to the metrics.
#[test]
#[cfg(target_os = "linux")]
fn the_encoder_rate_is_reported_to_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rate").display().to_string();
    let receiver = Receiver::new(&["--insecure"]);
    let model = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\"";
    let command = format!(
        "exec {} send {} --insecure --json --rate-fd 3 --metrics {ANY} --model '{model}' 3>{path}",
        env!("CARGO_BIN_EXE_headway"),
        receiver.at
    );
    let mut sender = Command::new("sh").args(["-c", &command]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(sender.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let at = json(&line)["metrics"].as_str().unwrap().to_owned();
    let rate = loop {
        let answer = ask(&at, &format!("GET /rate HTTP/1.1\r\nHost: {at}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("content-type: application/json"), "{answer}");
        if let Some(rate) = json(answer.split_once("\r\n\r\n").unwrap().1)["encoder_rate_bps"].as_u64() {
            break rate;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    };
    assert!(Command::new("kill").args(["-INT", &sender.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(0));
    let written = std::fs::read_to_string(path).unwrap();
    let rates: Vec<u64> = written.lines().map(|line| json(line)["encoder_rate_bps"].as_u64().unwrap()).collect();
    assert!(rates.contains(&rate) && rates.windows(2).all(|pair| pair[0] != pair[1]), "{rate}: {written}");
    receiver.end(Some("-INT"));
}

/// A socket is standard input of the sender. The descriptors that a command opens itself are not outputs.
#[test]
#[cfg(target_os = "linux")]
fn a_rate_is_written_to_inherited_descriptors_only() {
    use std::os::{fd::OwnedFd, unix::net::UnixStream};
    let receiver = Receiver::new(&["--insecure"]);
    let (here, there) = UnixStream::pair().unwrap();
    let mut sender =
        receiver.sender(&["--rate-fd", "0", "--model", "kind = \"cbr\", interval = \"10ms\", payload = \"100B\""]);
    let mut sender = sender.stdin(OwnedFd::from(there)).stdout(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(here).read_line(&mut line).unwrap();
    assert!(json(&line)["encoder_rate_bps"].as_u64().is_some(), "{line}");
    assert!(Command::new("kill").args(["-INT", &sender.id().to_string()]).status().unwrap().success());
    sender.wait().unwrap();
    receiver.end(Some("-INT"));

    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record").display().to_string();
    for number in 3..10 {
        for command in ["send 127.0.0.1:9 --udp", "relay --connect 127.0.0.1:9 --from"] {
            let command = format!(
                "exec {} {command} {ANY} --insecure --metrics {ANY} --record {record} --rate-fd {number} 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-",
                env!("CARGO_BIN_EXE_headway")
            );
            let output = Command::new("sh").args(["-c", &command]).output().unwrap();
            let why = format!(
                "headway: --rate-fd {number}: this file descriptor is not open; expected the number of an open pipe, socket or file\n"
            );
            assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), why));
        }
    }
}

/// A link that loses each fifth packet: a file is not delivered, and `--min-delivered` sets the share that suffices.
#[test]
fn a_sender_reports_datagrams_that_were_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").display().to_string();
    std::fs::write(&file, bytes(30_000)).unwrap();
    let queue = ["--queue", "fifo,resend=false", "--chunk", "500"];
    for (more, status) in [(&[][..], 1), (&["--min-delivered", "1%"], 0), (&["--min-delivered", "99%"], 1)] {
        let receiver = Receiver::new(&["--insecure"]);
        let link = ["--listen", ANY, "--to", &receiver.at, "--loss", "periodic,every=5,first=20"];
        let mut proxy = headway(&["proxy"]).args(link).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(proxy.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.split(' ').next().unwrap();
        let output = headway(&["send", at, "--insecure", "--file", &file]).args(queue).args(more).output().unwrap();
        proxy.kill().unwrap();
        proxy.wait().unwrap();
        let messages = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{messages}");
        assert_eq!(messages.contains(" of 60 datagrams ("), status == 1, "{messages}");
        assert!(messages.contains(" delivered (") && messages.contains(" lost"), "{messages}");
        receiver.end(Some("-INT"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_write_error_leaves_no_partial_identity() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("identity").display().to_string();
    let full =
        format!("trap '' XFSZ; ulimit -f 0; exec {} recv {ANY} --identity {file}", env!("CARGO_BIN_EXE_headway"));
    let output = Command::new("sh").args(["-c", &full]).output().unwrap();
    let messages = text(&output.stderr);
    assert!(output.status.code() == Some(1) && messages.contains("cannot write"), "{messages}");
    assert!(!Path::new(&file).exists());
}

#[test]
fn endpoints_must_set_the_same_experimental_controller() {
    let receiver = Receiver::new(&["--controller", "udpm"]);
    let model = ["--model", "kind = \"ftp\", segments = 10"];
    let other = receiver.sender(&model).output().unwrap();
    let messages = text(&other.stderr);
    assert!(
        other.status.code() == Some(1) && messages.contains("both endpoints must set the same --controller"),
        "{messages}"
    );
    succeeded(&receiver.sender(&[&model[..], &["--controller", "udpm"]].concat()).output().unwrap());
    receiver.end(Some("-INT"));
    let spacing = ["--controller", "spacing-fixed", "--line-rate", "100Mbps"];
    let mut listening = headway(&["recv", ANY, "--once"]).args(spacing).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(listening.stderr.take().unwrap()).read_line(&mut line).unwrap();
    listening.kill().unwrap();
    listening.wait().unwrap();
    assert!(line.contains("--controller spacing-fixed --line-rate RATE"), "{line}");
    let receiver = Receiver::new(&[&spacing[..], &["--once"]].concat());
    let sent = last(&succeeded(&receiver.sender(&[&model[..], &spacing].concat()).output().unwrap()));
    assert_eq!((&sent["kind"], &sent["sent_packets"]), (&"spacing-fixed".into(), &10.into()));
    receiver.end(None);
}

/// Paper of UDPm, section 2.2: the sender selects the scales, and a model sends the announced encoding. Different rules
/// end the connection with an error at both endpoints.
#[test]
fn udpm_2_2_endpoints_agree_on_scales_and_rules() {
    let model = ["--model", "kind = \"encodings\", rates = [\"8Mbps\", \"16Mbps\"]", "--duration", "300ms"];
    let receiver = Receiver::new(&["--controller", "udpm", "--once"]);
    let five = ["--controller", "udpm,levels=5,step=4Mbps,interval=10ms"];
    let sent = last(&succeeded(&receiver.sender(&[&model[..], &five].concat()).output().unwrap()));
    let (status, lines, messages) = receiver.end(None);
    assert_eq!((status, &sent["kind"]), (Some(0), &"udpm".into()), "{messages}");
    assert!(
        sent["sent_packets"].as_u64() > Some(9) && last(&lines)["received_packets"] == sent["sent_packets"],
        "{sent}"
    );
    let packet = ["--controller", "udpm,decide=packet"];
    let receiver = Receiver::new(&["--controller", "udpm,halve=each-loss", "--once"]);
    let refused = receiver.sender(&[&model[..], &packet].concat()).output().unwrap();
    let (status, _, messages) = receiver.end(None);
    for (status, messages) in [(refused.status.code(), text(&refused.stderr)), (status, messages)] {
        assert!(status == Some(1) && messages.contains("accept the rules of the --controller"), "{messages}");
    }
}

/// Preferences and their reconciliation: RFC 4340 section 6.3.1.
#[test]
fn the_controller_is_the_one_on_which_both_ends_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (number, receives, sends, kind) in [
        (0, &[][..], &["--controller", "tcp-like"][..], "tcp-like"),
        (1, &["--controller", "tcp-like"], &[], "tcp-like"),
        (2, &[], &[], "tfrc-filtered"),
        (3, &["--controller", "tfrc"], &[], "tfrc"),
    ] {
        let record = folder.path().join(number.to_string()).display().to_string();
        let mut receiver = Receiver::new(&[&["--insecure", "--once", "--record", &record], receives].concat());
        let mut sender = receiver.sender(&[&["--stdin"], sends].concat()).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = sender.stdin.take().unwrap();
        pipe.write_all(&[0, 3, 1, 2, 3]).unwrap();
        pipe.flush().unwrap();
        let mut line = String::new();
        while line.is_empty() || json(&line)["received_bytes"] != 3 {
            line.clear();
            receiver.out.read_line(&mut line).unwrap();
        }
        drop(pipe);
        assert_eq!(last(&succeeded(&sender.wait_with_output().unwrap()))["kind"], kind, "{number}");
        receiver.end(None);
        let summary = json(&std::fs::read_to_string(Path::new(&record).join("summary.json")).unwrap());
        assert_eq!(summary["flows"][0]["kind"], kind, "{number}");
    }
    let help = text(&headway(&["recv", "--help"]).output().unwrap().stdout);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("[default: the first of tfrc-filtered, tfrc, tcp-like and tfrc-sp that the peer accepts]"),
        "{help}"
    );
}

/// RAP is an experimental controller with CCID 254.
#[test]
fn rap_runs_on_sockets() {
    let rap = ["--controller", "rap"];
    let receiver = Receiver::new(&[&rap[..], &["--once"]].concat());
    let model = ["--model", "kind = \"ftp\", segments = 10"];
    let sent = last(&succeeded(&receiver.sender(&[&model[..], &rap].concat()).output().unwrap()));
    assert_eq!((&sent["kind"], &sent["sent_packets"]), (&"rap".into(), &10.into()));
    let (status, lines, _) = receiver.end(None);
    assert_eq!((status, &last(&lines)["received_packets"]), (Some(0), &10.into()));
}

/// UDDJ-TFRC and packet spacing, future work: endpoints with different filters or schemes use the same controller.
#[test]
fn filters_and_spacing_run_on_sockets() {
    let model = ["--model", "kind = \"ftp\", segments = 10"];
    let line = ["--line-rate", "1Gbps"];
    for (receives, sends, kind) in [
        (&["--loss-filter", "zigzag"][..], &["--controller", "tfrc-filtered"][..], "tfrc-filtered"),
        (&["--loss-filter", "uddj,action=filter,floor=10ms"], &["--loss-filter", "spike"], "tfrc-filtered"),
        (&["--spacing", "damped"], &["--spacing", "ad-hoc,shorten=step"], "spacing"),
        (&["--controller", "spacing-fixed"], &["--spacing", "fixed,spacing=100us"], "spacing-fixed"),
        (&["--spacing", "equation"], &["--spacing", "equation"], "spacing-equation"),
    ] {
        let needs_line_rate = ["spacing", "spacing-fixed"].contains(&kind);
        let [receives, sends] =
            [receives, sends].map(|end| if needs_line_rate { [end, &line[..]].concat() } else { end.to_vec() });
        let receiver = Receiver::new(&[&receives[..], &["--once"]].concat());
        let sent = last(&succeeded(&receiver.sender(&[&model[..], &sends].concat()).output().unwrap()));
        assert_eq!((&sent["kind"], &sent["sent_packets"]), (&kind.into(), &10.into()), "{sends:?}");
        let (status, lines, _) = receiver.end(None);
        assert_eq!((status, &last(&lines)["received_packets"]), (Some(0), &10.into()), "{receives:?}");
    }
}

/// A source without data closes once the peer has answered.
#[test]
fn a_sender_with_nothing_to_send_succeeds() {
    let receiver = Receiver::new(&["--once"]);
    succeeded(&receiver.sender(&["--stdin"]).output().unwrap());
    assert_eq!(receiver.end(None).0, Some(0));
}

/// docs/src/real.md: the status is 1 if the connection failed.
#[test]
fn recv_once_fails_if_the_negotiation_fails() {
    let why = "both endpoints must set the same --controller";
    let send = ["--any", "--controller", "tfrc", "--model", "kind = \"ftp\", segments = 10"];
    let receiver = Receiver::new(&["--once", "--controller", "tcp-like"]);
    let sent = headway(&["send", &receiver.at]).args(send).output().unwrap();
    assert!(sent.status.code() == Some(1) && text(&sent.stderr).contains(why), "{}", text(&sent.stderr));
    let (status, _, messages) = receiver.end(None);
    assert!(status == Some(1) && messages.contains(why), "{status:?}: {messages}");
    let relay =
        ["relay", "--listen", ANY, "--any", "--once", "--json", "--controller", "tcp-like", "--to", "127.0.0.1:9"];
    let mut relay = headway(&relay).spawn().unwrap();
    let (mut first, mut lines) = (String::new(), BufReader::new(relay.stdout.take().unwrap()));
    lines.read_line(&mut first).unwrap();
    let at = json(&first)["listening"].as_str().unwrap().to_owned();
    let other = ["relay", "--connect", &at, "--any", "--controller", "tfrc", "--from", ANY];
    assert_eq!(headway(&other).output().unwrap().status.code(), Some(1));
    let Output { status, stderr, .. } = relay.wait_with_output().unwrap();
    let messages = text(&stderr);
    assert!(status.code() == Some(1) && messages.contains(why), "{status:?}: {messages}");
    first.clear();
    lines.read_to_string(&mut first).unwrap();
    assert!(last(&first)["connection_failure"].as_str().unwrap().contains(why), "{first}");
}

/// The printed command has the options that the sender must set.
#[test]
fn a_receiver_at_all_addresses_prints_no_host() {
    for (asked, ends) in
        [(&[][..], " --insecure\n"), (&["--loss-filter", "spike"], " --insecure --controller tfrc-filtered\n")]
    {
        let mut child = headway(&["recv", "0.0.0.0:0", "--insecure"]).args(asked).spawn().unwrap();
        let mut messages = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut messages).unwrap();
        assert!(
            messages.starts_with("listening at 0.0.0.0:") && messages.contains(": headway send HOST:"),
            "{messages}"
        );
        assert!(messages.ends_with(ends), "{messages}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_model_has_the_keys_of_a_scenario() {
    let receiver = Receiver::new(&["--once"]);
    let model = "kind = \"cbr\", rate = \"800kbps\", payload = \"500B\", media = \"video\", packets = 100";
    let sent = last(&succeeded(&receiver.sender(&["--model", model]).output().unwrap()));
    assert_eq!(sent["send_queue"]["video"]["written_packets"], 100, "{sent}");
    let (status, lines, _) = receiver.end(None);
    assert_eq!(status, Some(0));
    let received = last(&lines);
    assert_eq!(received["received_bytes"].as_u64(), received["received_packets"].as_u64().map(|packets| 500 * packets));
}

#[test]
fn a_stopped_receiver_closes_its_connections() {
    let receiver = Receiver::new(&[]);
    let mut sender = receiver.sender(&["--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = sender.stdin.take().unwrap();
    pipe.write_all(&[0, 3, 1, 2, 3]).unwrap();
    pipe.flush().unwrap();
    let mut receiver = receiver;
    loop {
        let mut line = String::new();
        receiver.out.read_line(&mut line).unwrap();
        if json(&line)["received_bytes"] == 3 {
            break;
        }
    }
    assert_eq!(receiver.end(Some("-INT")).0, Some(0));
    assert_closed_early(&sender.wait_with_output().unwrap());
    drop(pipe);
}

#[test]
#[cfg(unix)]
fn an_identity_is_persistent_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let identity = |name: &str| path(name).display().to_string();
    let first = Receiver::new(&["--identity", &identity("server")]);
    let fingerprint = first.fingerprint.clone();
    assert_eq!(first.end(Some("-INT")).0, Some(0));
    let mode = std::fs::metadata(path("server")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The second run accepts only one sender, with the identity of another run.
    let other = Receiver::new(&["--identity", &identity("client")]);
    let client = other.fingerprint.trim_start_matches("sha-256 ").to_owned();
    assert_eq!(other.end(Some("-TERM")).0, Some(0));
    let second = Receiver::new(&["--identity", &identity("server"), "--allow", &client]);
    assert_eq!(second.fingerprint, fingerprint);
    std::fs::write(path("file"), b"let me in").unwrap();
    let file = identity("file");
    let stranger = second.sender(&["--file", &file]).output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    assert!(text(&stranger.stderr).contains("the server refused the connection"), "{}", text(&stranger.stderr));
    let stranger = headway(&["send", &second.at, "--fingerprint", &client, "--file", &file]).output().unwrap();
    let messages = text(&stranger.stderr);
    assert!(stranger.status.code() == Some(1) && messages.contains("which is not expected"), "{messages}");
    let friend = second.sender(&["--file", &file, "--identity", &identity("client")]).output().unwrap();
    succeeded(&friend);
    let (_, lines, _) = second.end(Some("-INT"));
    let received = last(&lines);
    assert_eq!(received["received_bytes"], 9);
    assert!(received["refused_handshakes"].as_u64() >= Some(1), "{received}");
    // The first stranger is named by its address and its fingerprint. The second one did not trust the receiver.
    let refused: Vec<Value> = lines.lines().map(json).filter(|line| !line["why"].is_null()).collect();
    assert!(refused.iter().all(|line| line["from"].as_str().unwrap().starts_with("127.0.0.1:")), "{lines}");
    assert!(refused[0]["why"].as_str().unwrap().contains("fingerprint"), "{lines}");
}

#[test]
fn an_identity_with_a_key_of_another_certificate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let parts = ["one", "two"].map(|name| {
        let made = Receiver::new(&["--identity", path(name).to_str().unwrap()]);
        assert_eq!(made.end(Some("-INT")).0, Some(0));
        let text = std::fs::read_to_string(path(name)).unwrap();
        let (certificate, key) = text.split_once("-----BEGIN PRIVATE KEY-----").unwrap();
        (certificate.to_owned(), format!("-----BEGIN PRIVATE KEY-----{key}"))
    });
    let mixed = path("mixed").display().to_string();
    std::fs::write(&mixed, parts[0].0.clone() + &parts[1].1).unwrap();
    let to = ["127.0.0.1:9", "--any", "--model", "kind = \"ftp\", segments = 2"];
    for command in [&["recv", ANY][..], &[&["send"][..], &to].concat()] {
        let output = headway(command).args(["--identity", &mixed]).output().unwrap();
        let messages = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{messages}");
        assert!(
            messages.contains(&format!("{mixed}: "))
                && messages.contains("the private key does not belong to the certificate"),
            "{messages}"
        );
    }
}

/// docs/src/real.md: the status is 1 if the receiver did not answer.
#[test]
fn a_sender_without_an_answer_fails() {
    let why = "headway: the connection was closed before the peer answered\n";
    let silent = UdpSocket::bind(ANY).unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let mut sender = headway(&["send", &at, "--insecure", "--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(sender.stderr.take().unwrap());
    let mut first = String::new();
    messages.read_line(&mut first).unwrap();
    assert_eq!(first, format!("connecting to {at}; press Ctrl-C to stop\n"));
    assert!(Command::new("kill").args(["-INT", &sender.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    messages.read_to_string(&mut rest).unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.starts_with("the connection was closed here; ") && rest.ends_with(why), "{rest}");
    let model = ["--model", "kind = \"ftp\", segments = 10", "--duration", "1ms"];
    let output = headway(&["send", &at, "--any"]).args(model).output().unwrap();
    let messages = text(&output.stderr);
    assert!(output.status.code() == Some(1) && messages.ends_with(why), "{messages}");
}

/// Sends an HTTP request and returns the answer.
fn ask(at: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(at).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// No figures are updated in the first second.
#[test]
fn metrics_have_all_counters_from_the_first_request() {
    let (sent, received) = (
        ["sent", "delivered", "lost", "repair", "written", "expired", "refused"].map(|name| format!("{name}_packets")),
        ["received_packets", "received_bytes", "dropped_packets", "refused_handshakes"].map(str::to_owned),
    );
    for (command, names) in [
        (&["recv", ANY][..], &received[..]),
        (&["send", "127.0.0.1:9", "--udp", ANY], &sent),
        (&["relay", "--connect", "127.0.0.1:9", "--from", ANY], &[&sent[..], &received].concat()),
        (&["relay", "--listen", ANY, "--from", ANY], &[&sent[..], &received].concat()),
    ] {
        let mut program = headway(&[command, &["--insecure", "--json", "--metrics", ANY]].concat()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let at = json(&line)["metrics"].as_str().unwrap().to_owned();
        let page = ask(&at, &format!("GET /metrics HTTP/1.1\r\nHost: {at}\r\n\r\n"));
        for name in names {
            assert!(page.contains(&format!("\nheadway_{name}_total 0\n")), "{command:?}, {name}: {page}");
        }
        let types: Vec<&str> = page.lines().filter(|line| line.starts_with("# TYPE ")).collect();
        let unique: BTreeSet<&str> = types.iter().copied().collect();
        assert_eq!(types.len(), unique.len(), "{command:?}: {page}");
        program.kill().unwrap();
        program.wait().unwrap();
    }
}

/// The text format of Prometheus has lines with help, type and value of each metric.
#[test]
fn metrics_count_received_datagrams() {
    let receiver = Receiver::new(&["--metrics", ANY]);
    let at = receiver.metrics.clone();
    // Invalid requests do not block the server.
    drop(TcpStream::connect(&at).unwrap());
    let asked = |what: &str| ask(&at, &format!("{what} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    assert!(asked("GET /else").starts_with("HTTP/1.1 404 "));
    assert!(asked("GET /rate").starts_with("HTTP/1.1 404 "), "a receiver has no encoder");
    assert!(asked("POST /metrics").starts_with("HTTP/1.1 405 "));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, bytes(5000)).unwrap();
    succeeded(&receiver.sender(&["--file", file.to_str().unwrap()]).output().unwrap());
    let expected = "# TYPE headway_received_bytes_total counter\nheadway_received_bytes_total 5000\n";
    let answer = (0..300).find_map(|_| {
        std::thread::park_timeout(Duration::from_millis(100));
        Some(asked("GET /metrics")).filter(|answer| answer.contains(expected))
    });
    let answer = answer.expect("the metrics are updated each second");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("content-type: text/plain; version=0.0.4"),
        "{answer}"
    );
    assert!(answer.contains("headway_missing_packets 0\n"), "{answer}");
    let help = "Number of packets with data that have not arrived although later ones have, and were not restored.";
    assert!(answer.contains(help), "{answer}");
    assert_eq!(receiver.end(Some("-INT")).0, Some(0));
}

/// The server stops after the command, and the temporary record is deleted.
#[test]
fn the_live_view_serves_the_growing_record() {
    let receiver = Receiver::new(&["--insecure", "--once"]);
    let model = "kind = \"cbr\", rate = \"200kbps\", size = \"500B\"";
    let mut command = receiver.sender(&["--model", model, "--duration", "4s", "--view"]);
    if !crate::common::has_viewer() {
        let refused = command.output().unwrap();
        assert!(text(&refused.stderr).contains("make viewer"), "{}", text(&refused.stderr));
        return drop(receiver.end(Some("-INT")));
    }
    let mut sender = command.spawn().unwrap();
    let mut out = BufReader::new(sender.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let address = json(&first)["view"].as_str().unwrap().to_owned();
    let (host, token) = address.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
    let get = |path: &str| {
        ask(host, &format!("GET {path}?token={token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };
    let summary = loop {
        // The summary exists after two reports at most.
        let answer = get("/api/records/0/summary.json");
        if answer.starts_with("HTTP/1.1 200") {
            break json(answer.split_once("\r\n\r\n").unwrap().1);
        }
        std::thread::park_timeout(Duration::from_millis(50));
    };
    assert_eq!((&summary["complete"], &summary["flows"][0]["name"]), (&false.into(), &"send".into()));
    assert!(summary["flows"][0]["sent_packets"].as_u64().unwrap() > 10);
    let listed = json(get("/api/records").split_once("\r\n\r\n").unwrap().1);
    assert_eq!((&listed[0]["in_progress"], &listed[0]["name"]), (&true.into(), &"send".into()));
    assert!(listed[0]["files"].as_array().unwrap().iter().any(|file| file["name"] == "series.arrow"), "{listed}");
    // A page that polls each second receives the final record.
    while json(get("/api/records").split_once("\r\n\r\n").unwrap().1)[0]["in_progress"] == true {
        std::thread::park_timeout(Duration::from_millis(200));
    }
    let answer = get("/api/records/0/summary.json");
    let summary = json(answer.split_once("\r\n\r\n").unwrap().1);
    let mut lines = String::new();
    out.read_to_string(&mut lines).unwrap();
    assert!(sender.wait().unwrap().success());
    assert_eq!(
        (&summary["complete"], &summary["flows"][0]["sent_packets"]),
        (&true.into(), &last(&lines)["sent_packets"])
    );
    assert!(TcpStream::connect(host).is_err());
    receiver.end(None);
}

#[test]
fn records_of_connections_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let receiver = Receiver::new(&["--once", "--record", &path("viewer")]);
    let model = ["--model", "kind = \"conference\", lifetime = \"150ms\"", "--duration", "2500ms"];
    let sent =
        last(&succeeded(&receiver.sender(&[&model[..], &["--record", &path("call")]].concat()).output().unwrap()));
    let summary: Value = json(&std::fs::read_to_string(path("call/summary.json")).unwrap());
    assert_eq!(summary["flows"][0]["sent_packets"], sent["sent_packets"]);
    assert_eq!(summary["interval"], sent["interval"]);
    assert!(sent["send_queue"]["audio"]["written_packets"].as_u64() > Some(0));
    // Each audio datagram is a frame.
    let (frames, queue) = (&summary["flows"][0]["frames"], &summary["flows"][0]["send_queue"]);
    assert_eq!(frames["audio"]["written_frames"], queue["audio"]["written_packets"], "{summary}");
    assert!(frames["audio"]["complete_frames"].as_u64() > Some(0), "{summary}");
    assert!(frames["video-i"]["written_frames"].as_u64() <= queue["video-i"]["written_packets"].as_u64(), "{summary}");
    let series = std::fs::read(path("call/series.arrow")).unwrap();
    let series = headway_record::SeriesTable::from_ipc(&series).unwrap();
    assert!(!series.samples("send", "waiting_packets").is_empty());
    let mean = |metric: &str| {
        let samples = series.samples("send", metric);
        samples.iter().map(|sample| sample.1).sum::<f64>() / samples.len() as f64
    };
    // A rate without headers is below that of the packets, which all arrive.
    let (sending, throughput) = (mean("sending_rate_bps"), mean("throughput_bps"));
    assert!(0.0 < sending && sending < throughput, "{sending} {throughput}");
    assert!(mean("encoder_rate_bps") > 0.0);
    let received = last(&receiver.end(None).1);
    let viewer: Value = json(&std::fs::read_to_string(path("viewer/summary.json")).unwrap());
    assert_eq!(viewer["flows"][0]["received_packets"], received["received_packets"]);
    let drawn = headway(&["plot", &path("call"), &path("viewer")]).output().unwrap();
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert!(Path::new(&path("call/throughput.svg")).exists());
    let rates = std::fs::read_to_string(path("call/rates.svg")).unwrap();
    assert!(["sending rate", "allowed rate", "encoder rate"].iter().all(|label| rates.contains(label)), "{rates}");
}

#[test]
fn errors_include_the_allowed_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, bytes(10)).unwrap();
    let file = file.display().to_string();
    let mine = UdpSocket::bind(ANY).unwrap();
    let taken = mine.local_addr().unwrap().to_string();
    let nowhere = Path::new("no").join("such").join("file").display().to_string();
    let here = folder.path().display().to_string();
    let print = "AB:".repeat(31) + "AB";
    for (arguments, why) in [
        (&["recv", "127.0.0.1"][..], "\"127.0.0.1\" has no port; expected HOST:PORT"),
        (&["recv", "127.0.0.1:x"], "\"127.0.0.1:x\" is not an address"),
        (&["recv", &taken], "cannot listen at 127.0.0.1:"),
        (&["recv", ANY, "--line-rate", "0bps", "--controller", "spacing-fixed"], "a rate of 0bps is not allowed"),
        (&["send", ANY, "--priority", "256"], "expected a whole number from 0 (highest priority) to 255"),
        (&["send", ANY, "--priority", "-1"], "expected a whole number from 0 (highest priority) to 255"),
        (&["send", ANY, "--expires", "0s"], "a lifetime of 0s is not allowed; expected a duration such as 150ms"),
        (&["recv", ANY, "--loss-filter", "nope"], "known are uddj, guarded, zigzag, mbiaz, spike"),
        (&["recv", ANY, "--controller", "cubic"], "there is no controller \"cubic\"; known are tcp-like, tfrc"),
        (
            &["recv", ANY, "--identity", &file],
            "file: the certificate or its key cannot be used: the text contains no certificate",
        ),
        (&["recv", ANY, "--out", &nowhere], "cannot write no/such/file"),
        (&["recv", ANY, "--allow", "AB:CD"], "expected 32 bytes in hex"),
        (&["recv", ANY, "--framing", "length"], "--out"),
        (&["send", &taken, "--file", &file], "--any"),
        (&["send", &taken, "--any"], "--file"),
        (&["send", &taken, "--any", "--insecure", "--file", &file], "cannot be used with"),
        (&["send", &taken, "--any", "--fingerprint", &print, "--file", &file], "cannot be used with"),
        (&["send", &taken, "--insecure", "--file", &nowhere], "cannot read no/such/file"),
        (&["send", &taken, "--insecure", "--file", &file, "--queue", "sfpds2"], "did you mean \"sfdps2\"?"),
        (&["send", &taken, "--insecure", "--file", &file, "--queue", "fifo,limt=2packets"], "did you mean \"limit\"?"),
        (&["send", &taken, "--insecure", "--stdin", "--kind", "vidoe"], "did you mean \"video\"?"),
        (&["send", &taken, "--insecure", "--model", "kind = \"confernce\""], "did you mean \"conference\"?"),
        (&["send", &taken, "--insecure", "--model", "kind = \"trace\", file = \"none\""], "cannot read none"),
        (&["send", &taken, "--insecure", "--model", "kind = \"cbr\""], "source.size: a cbr source needs size"),
        (&["send", "127.0.0.1:9", "--insecure", "--udp", &taken], "cannot listen at 127.0.0.1:"),
        // Datagrams would loop.
        (&["send", &taken, "--insecure", "--udp", &taken], ": this command listens at 127.0.0.1:"),
        (
            &["recv", "0.0.0.0:5004", "--to", "127.0.0.1:5004"],
            "--to 127.0.0.1:5004: this command listens at 0.0.0.0:5004 and would receive its own datagrams",
        ),
        // A folder is refused before connecting.
        (&["send", &taken, "--insecure", "--file", &here], &format!("cannot read {here}: is a directory")),
        (&["recv", ANY, "--controller", "spacing"], "set --line-rate, such as 100Mbps"),
        (&["recv", ANY, "--spacing", "ad-hoc"], "\"cat /sys/class/net/INTERFACE/speed\" its rate in Mb/s"),
        (&["recv", ANY, "--loss-filter", "oracle"], "only a simulator knows these"),
        (&["recv", ANY, "--loss-filter", "spike", "--spacing", "damped"], "cannot be used with"),
        (&["recv", ANY, "--line-rate", "1Gbps"], "--controller"),
        // An option without effect.
        (
            &["recv", ANY, "--line-rate", "1Gbps", "--spacing", "equation"],
            "--line-rate has no effect with the controller spacing-equation",
        ),
        (
            &["recv", ANY, "--line-rate", "1Gbps", "--controller", "udpm,levels=5"],
            "--line-rate has no effect with the controller udpm",
        ),
        (
            &["send", &taken, "--insecure", "--stdin", "--queue", "sfdps2,margin=2"],
            "margin: this key has no effect without late",
        ),
        // A value that starts with a minus is not an option.
        (&["recv", ANY, "--deadline", "-5ms"], "\"-5ms\" is out of range: a duration is from 0s to 18446744073s"),
        (
            &["recv", ANY, "--spacing", "damped", "--line-rate", "-1Mbps"],
            "\"-1Mbps\" is out of range: expected a rate above 0bps",
        ),
        (
            &["send", &taken, "--insecure", "--stdin", "--expires", "-5ms"],
            "\"-5ms\" is out of range: expected a duration above 0s",
        ),
        (
            &["send", &taken, "--insecure", "--stdin", "--duration", "-1s"],
            "\"-1s\" is out of range: a duration is from 0s",
        ),
        (&["send", &taken, "--insecure", "--stdin", "--chunk", "-5"], "expected a number of bytes, 1 or more"),
        (
            &["send", &taken, "--insecure", "--stdin", "--queue", "sure-first", "--method", "sfdps1"],
            "--queue sure-first: this queue does not support methods of single datagrams",
        ),
        (&["send", &taken, "--insecure", "--stdin", "--method", "ring-3"], "its limit of 3 packets is the queue's"),
        (&["recv", "::1"], "expected [::1]:5004"),
        (&["recv", ANY, "--to", "127.0.0.1:0"], "has port 0; expected a port"),
        (
            &["send", "127.0.0.1:0", "--insecure", "--file", &file],
            "cannot connect to 127.0.0.1:0: port 0 cannot receive",
        ),
        (
            &["send", "0.0.0.0:5004", "--insecure", "--file", &file],
            "cannot connect to 0.0.0.0:5004: the address is unspecified",
        ),
        (&["send", &taken, "--insecure", "--file", &file, "--chunk", "0"], "expected a number of bytes, 1 or more"),
        (
            &["send", &taken, "--insecure", "--model", "kind = \"cbr\", rate = \"1Mbps\", size = \"28B\""],
            "the packets have no payload",
        ),
        // The peer has a socket but does not answer.
        (
            &["send", &taken, "--insecure", "--file", &file],
            "headway: the peer does not answer; it may not be listening",
        ),
    ] {
        let output = headway(arguments).output().unwrap();
        let messages = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert!(messages.contains(why), "{arguments:?}: {messages}");
    }
}

/// The Rust runtime opens /dev/null instead of a closed standard input.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_input_is_refused() {
    let script = format!("exec {} send {ANY} --insecure --stdin <&-", env!("CARGO_BIN_EXE_headway"));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.starts_with("headway: --stdin: standard input is closed or is /dev/null; "), "{messages}");
}

#[test]
fn a_receiver_without_an_output_reports_that_it_discards() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("received").display().to_string();
    for (output, is_counted) in [(&[][..], true), (&["--out", &file], false)] {
        let mut receiver = headway(&["recv", ANY, "--insecure", "--once"]).args(output).spawn().unwrap();
        let mut messages = BufReader::new(receiver.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        let at = line.split_whitespace().nth(2).unwrap().trim_end_matches(':');
        succeeded(
            &headway(&["send", at, "--insecure", "--json", "--model", "kind = \"ftp\", segments = 2"])
                .output()
                .unwrap(),
        );
        let mut rest = String::new();
        messages.read_to_string(&mut rest).unwrap();
        assert_eq!(receiver.wait().unwrap().code(), Some(0), "{rest}");
        let last = rest.lines().last().unwrap();
        assert_eq!(last.contains("the datagrams were counted and discarded"), is_counted, "{rest}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_receiver_closes_after_a_write_error() {
    let receiver = Receiver::new(&["--out", "/dev/full", "--insecure"]);
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\", media = \"data\"";
    assert_closed_early(&receiver.sender(&["--model", endless]).output().unwrap());
    let (status, _, messages) = receiver.end(None);
    assert!(status == Some(1) && messages.contains("/dev/full"), "{status:?}: {messages}");
}

#[test]
fn forwarding_to_a_closed_port_fails() {
    let closed = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let receiver = Receiver::new(&["--to", &closed, "--once"]);
    let _ = receiver.sender(&["--model", "kind = \"ftp\", segments = 20"]).output().unwrap();
    let (status, lines, messages) = receiver.end(None);
    assert_eq!(status, Some(1), "{messages}");
    assert!(
        messages.contains(" dropped: the output was too slow, ") && messages.contains("the system refused them"),
        "{messages}"
    );
    assert!(last(&lines)["dropped_packets"].as_u64().unwrap() > 0, "{lines}");
}

#[test]
fn an_output_file_is_kept_until_data_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("film.ts");
    let path = file.to_str().unwrap();
    std::fs::write(&file, "an earlier film").unwrap();
    // No interface has this address (RFC 5737).
    let output = headway(&["recv", "192.0.2.1:5004", "--out", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    // A sender without data connects.
    let receiver = Receiver::new(&["--insecure", "--once", "--out", path]);
    succeeded(&receiver.sender(&["--stdin"]).output().unwrap());
    assert_eq!(receiver.end(None).0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "an earlier film");
    // The data of two senders replace the contents.
    let receiver = Receiver::new(&["--insecure", "--out", path]);
    std::fs::write(folder.path().join("short"), "film").unwrap();
    let short = folder.path().join("short").display().to_string();
    for _ in 0..2 {
        succeeded(&receiver.sender(&["--file", &short]).output().unwrap());
    }
    assert_eq!(receiver.end(Some("-INT")).0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "filmfilm");
}
