//! `headway send` and `headway recv` as their users run them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]
#![allow(clippy::disallowed_types, reason = "the programs on both sides have sockets")]

use crate::common::{headway, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The last line of figures.
fn last(lines: &str) -> Value {
    let last = json(lines.lines().last().unwrap());
    assert_eq!(last["last"], true);
    last
}

/// A `headway recv` that runs, and how it is reached.
struct Receiver {
    child: Child,
    out: BufReader<ChildStdout>,
    at: String,
    fingerprint: String,
    metrics: String,
}

impl Receiver {
    fn new(arguments: &[&str]) -> Self {
        let mut child = headway(&["recv", ANY, "--json"]).args(arguments).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // Only who may go on listens: where figures are to be had comes first.
        let mut said: Vec<Value> = Vec::new();
        while said.last().is_none_or(|line| line["listening"].is_null()) {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
            said.push(json(&line));
        }
        let text = |key: &str| said.iter().find_map(|line| line[key].as_str()).unwrap_or_default().to_owned();
        let (at, fingerprint, metrics) = (text("listening"), text("fingerprint"), text("metrics"));
        Self { child, out, at, fingerprint, metrics }
    }

    /// What it said until it ended by itself, or by a signal.
    fn end(mut self, signal: Option<&str>) -> (Option<i32>, String, String) {
        if let Some(signal) = signal {
            assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        }
        let mut lines = String::new();
        self.out.read_to_string(&mut lines).unwrap();
        let Output { status, stderr, .. } = self.child.wait_with_output().unwrap();
        (status.code(), lines, text(&stderr))
    }

    fn sender(&self, arguments: &[&str]) -> Command {
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

fn ended_well(output: &Output) -> String {
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

/// The job of a sender is to send all that its source has: its status was 0 when the receiver closed before, with a full disk for example. The
/// source had not ended; the error was "before everything was delivered" in this case, too.
fn not_done(output: &Output) {
    let said = text(&output.stderr);
    let why = "the receiver closed the connection before the source had ended: ";
    assert!(output.status.code() == Some(1) && said.contains(why), "{:?}: {said}", output.status);
}

/// Bytes of which each place differs from its neighbours.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n / 251 + n % 251) as u8).collect()
}

#[test]
fn a_file_arrives_as_it_is() {
    for security in [&[][..], &["--insecure"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("file"), bytes(100_001)).unwrap();
        let came = path("came");
        let receiver = Receiver::new(&[&["--once", "--out", &came], security].concat());
        let sent = last(&ended_well(&receiver.sender(&["--file", &path("file")]).output().unwrap()));
        let (status, lines, said) = receiver.end(None);
        assert_eq!((status, said.as_str()), (Some(0), ""));
        assert_eq!(std::fs::read(came).unwrap(), bytes(100_001));
        let received = last(&lines);
        assert_eq!(received["received_bytes"], 100_001);
        assert_eq!(received["received_packets"], sent["sent_packets"]);
        assert_eq!((&sent["kind"], &sent["lost_packets"]["channel"]), (&"tfrc".into(), &0.into()));
        assert_eq!(sent["send_queue"]["data"]["written_packets"], sent["sent_packets"]);
    }
}

/// What goes in on one side comes out on the other, datagram by datagram. Lines are then on standard error.
#[test]
fn datagrams_go_through_pipes() {
    let mut receiver =
        headway(&["recv", ANY, "--json", "--once", "--insecure", "--out", "-", "--framing", "length"]).spawn().unwrap();
    let mut said = BufReader::new(receiver.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    let at = json(&first)["listening"].as_str().unwrap().to_owned();
    let mut sender = headway(&["send", &at, "--insecure", "--stdin", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let stream: Vec<u8> = (0..40u8)
        .flat_map(|n| [vec![0, n], vec![n; n.into()], vec![2, n], bytes(512 + usize::from(n))].concat())
        .collect();
    sender.stdin.take().unwrap().write_all(&stream).unwrap();
    assert_eq!(ended_well(&sender.wait_with_output().unwrap()), "");
    let output = receiver.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout == stream), (Some(0), true));
    let mut lines = String::new();
    said.read_to_string(&mut lines).unwrap();
    assert_eq!(last(&lines)["received_packets"], 80);
}

#[test]
fn a_programs_datagrams_go_on_one_for_one() {
    let server = UdpSocket::bind(ANY).unwrap();
    server.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let receiver = Receiver::new(&["--to", &server.local_addr().unwrap().to_string()]);
    // A port that nobody has: bound, looked at, and let go.
    let port = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let mut sender = receiver.sender(&["--udp", &port, "--kind", "audio", "--expires", "60s"]).spawn().unwrap();
    let program = UdpSocket::bind(ANY).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut buffer, mut came) = ([0; 2000], None);
    // Nobody says when it listens; what comes before is lost, as UDP's datagrams are.
    for n in 0..150u32 {
        program.send_to(&n.to_be_bytes(), &port).ok();
        if let Ok((length, _)) = server.recv_from(&mut buffer) {
            came = Some((length, n));
            break;
        }
    }
    assert_eq!(came.map(|(length, _)| length), Some(4));
    assert!(Command::new("kill").args(["-TERM", &sender.id().to_string()]).status().unwrap().success());
    let mut lines = String::new();
    sender.stdout.take().unwrap().read_to_string(&mut lines).unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(0), "a signal ends it in order");
    assert!(last(&lines)["send_queue"]["audio"]["sent_packets"].as_u64() >= Some(1), "{lines}");
    let (status, lines, said) = receiver.end(Some("-INT"));
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(last(&lines)["received_packets"].as_u64() >= Some(1));
}

/// The path is searched for how much a packet takes: a pipe waits for that, and what goes nowhere is told.
#[test]
fn a_pipe_waits_until_large_datagrams_go() {
    let receiver = Receiver::new(&["--once"]);
    let mut sender = receiver.sender(&["--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    let framed = |len: u16| [&len.to_be_bytes()[..], &bytes(len.into())].concat();
    // The search begins at 1280 bytes with all headers.
    sender.stdin.take().unwrap().write_all(&[framed(1300), framed(1)].concat()).unwrap();
    ended_well(&sender.wait_with_output().unwrap());
    assert_eq!(last(&receiver.end(None).1)["received_bytes"], 1301);
    let receiver = Receiver::new(&["--once"]);
    let mut sender = receiver.sender(&["--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    sender.stdin.take().unwrap().write_all(&framed(1501)).unwrap();
    let Output { status, stderr, .. } = sender.wait_with_output().unwrap();
    let said = text(&stderr);
    assert!(status.code() == Some(1) && said.contains("datagram 1 of standard input has 1501 bytes"), "{said}");
    assert_eq!(receiver.end(None).0, Some(0));
}

/// A reader that closes standard output, as `head` does, stops the command: the peer learns of it at once, and the record is whole. The status is
/// not 0, for the job is not done.
#[test]
fn who_stops_to_listen_ends_it_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let endless = ["--model", "kind = \"cbr\", interval = \"10ms\", payload = \"100B\""];
    let whole = |name: &str| {
        let summary = json(&std::fs::read_to_string(path(name) + "/summary.json").unwrap());
        summary["flows"][0]["sent_packets"].as_u64() > Some(0)
    };
    let receiver = Receiver::new(&["--once"]);
    let mut sender = receiver.sender(&[&endless[..], &["--record", &path("sent")]].concat()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(sender.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(json(&line)["last"], false);
    let unread = |ended: &Output| {
        let why = "headway: the reader of standard output closed it: stopped before the end of the job\n";
        assert_eq!((ended.status.code(), text(&ended.stderr).as_str()), (Some(1), why));
    };
    unread(&sender.wait_with_output().unwrap());
    // Without a close it would wait for 45 s, and fail.
    let (status, _, said) = receiver.end(None);
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(whole("sent"));

    let mut receiver = Receiver::new(&["--record", &path("came")]);
    let sender = receiver.sender(&endless).spawn().unwrap();
    receiver.out.read_line(&mut line).unwrap();
    drop(receiver.out);
    not_done(&sender.wait_with_output().unwrap());
    unread(&receiver.child.wait_with_output().unwrap());
    assert!(whole("came"));
}

/// Time is up, as when the user wants no more: nobody waits for what cannot go.
#[test]
#[cfg(unix)]
fn a_duration_ends_a_stream_that_stands_still() {
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
    // Three seconds, one for what waits, and three until the peer is not waited for. Of itself the connection would have ended after 45.
    let took = last(&rest)["interval"]["to"].as_f64().unwrap();
    assert!(took < 30.0, "{took}");
    receiver.end(Some("-INT"));
}

/// A source that writes faster than any machine is no endless loop: it ends in time, and makes no more than there is room for.
#[test]
fn a_model_that_is_too_fast_ends() {
    let receiver = Receiver::new(&["--once"]);
    let model = "kind = \"cbr\", interval = \"1ns\", payload = \"100B\"";
    let sent = last(&ended_well(&receiver.sender(&["--model", model, "--duration", "500ms"]).output().unwrap()));
    assert!(sent["send_queue"]["data"]["refused_packets"].as_u64() > Some(0), "{sent}");
    assert_eq!(receiver.end(None).0, Some(0));
}

/// A disk that is full leaves no half of an identity, which would be in the way of the next run.
#[test]
#[cfg(target_os = "linux")]
fn an_identity_is_whole_or_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("identity").display().to_string();
    let full =
        format!("trap '' XFSZ; ulimit -f 0; exec {} recv {ANY} --identity {file}", env!("CARGO_BIN_EXE_headway"));
    let output = Command::new("sh").args(["-c", &full]).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("cannot write"), "{said}");
    assert!(!Path::new(&file).exists());
}

/// Both ends name the same controller, or are told so; and what a controller has to know can be told.
#[test]
fn ends_agree_on_a_controller() {
    let receiver = Receiver::new(&["--controller", "udpm"]);
    let model = ["--model", "kind = \"ftp\", segments = 10"];
    let other = receiver.sender(&model).output().unwrap();
    let said = text(&other.stderr);
    assert!(other.status.code() == Some(1) && said.contains("both ends have to name the same --controller"), "{said}");
    ended_well(&receiver.sender(&[&model[..], &["--controller", "udpm"]].concat()).output().unwrap());
    receiver.end(Some("-INT"));
    let spacing = ["--controller", "spacing-fixed", "--line-rate", "100Mbps"];
    let mut told = headway(&["recv", ANY, "--once"]).args(spacing).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(told.stderr.take().unwrap()).read_line(&mut line).unwrap();
    told.kill().unwrap();
    told.wait().unwrap();
    assert!(line.contains("--controller spacing-fixed --line-rate RATE"), "{line}");
    let receiver = Receiver::new(&[&spacing[..], &["--once"]].concat());
    let sent = last(&ended_well(&receiver.sender(&[&model[..], &spacing].concat()).output().unwrap()));
    assert_eq!((&sent["kind"], &sent["sent_packets"]), (&"spacing-fixed".into(), &10.into()));
    receiver.end(None);
}

/// Paper of UDPm, section 2.2: the sender decides the scales, and a model sends the encoding of the announced one. Rules that differ end the
/// connection at both ends with a reason.
#[test]
fn udpm_2_2_ends_agree_on_scales_and_rules() {
    let model = ["--model", "kind = \"encodings\", rates = [\"8Mbps\", \"16Mbps\"]", "--duration", "300ms"];
    let receiver = Receiver::new(&["--controller", "udpm", "--once"]);
    let five = ["--controller", "udpm,levels=5,step=4Mbps,interval=10ms"];
    let sent = last(&ended_well(&receiver.sender(&[&model[..], &five].concat()).output().unwrap()));
    let (status, lines, said) = receiver.end(None);
    assert_eq!((status, &sent["kind"]), (Some(0), &"udpm".into()), "{said}");
    assert!(
        sent["sent_packets"].as_u64() > Some(9) && last(&lines)["received_packets"] == sent["sent_packets"],
        "{sent}"
    );
    let packet = ["--controller", "udpm,decide=packet"];
    let receiver = Receiver::new(&["--controller", "udpm,halve=each-loss", "--once"]);
    let refused = receiver.sender(&[&model[..], &packet].concat()).output().unwrap();
    let (status, _, said) = receiver.end(None);
    for (status, said) in [(refused.status.code(), text(&refused.stderr)), (status, said)] {
        assert!(status == Some(1) && said.contains("accept the rules of its --controller"), "{said}");
    }
}

/// The help of `recv` said that its default was tfrc, and it accepted whatever the sender named; records said tfrc in each case. Preferences and
/// their reconciliation: RFC 4340 section 6.3.1.
#[test]
fn the_controller_is_the_one_on_which_both_ends_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (number, receives, sends, kind) in [
        (0, &[][..], &["--controller", "tcp-like"][..], "tcp-like"),
        (1, &["--controller", "tcp-like"], &[], "tcp-like"),
        (2, &[], &[], "tfrc"),
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
        assert_eq!(last(&ended_well(&sender.wait_with_output().unwrap()))["kind"], kind, "{number}");
        receiver.end(None);
        let summary = json(&std::fs::read_to_string(Path::new(&record).join("summary.json")).unwrap());
        assert_eq!(summary["flows"][0]["kind"], kind, "{number}");
    }
    let help = text(&headway(&["recv", "--help"]).output().unwrap().stdout);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[default: the first of tfrc, tcp-like and tfrc-sp that the peer accepts]"), "{help}");
}

/// RAP is an experiment that both ends name: CCID 254.
#[test]
fn rap_runs_on_sockets() {
    let rap = ["--controller", "rap"];
    let receiver = Receiver::new(&[&rap[..], &["--once"]].concat());
    let model = ["--model", "kind = \"ftp\", segments = 10"];
    let sent = last(&ended_well(&receiver.sender(&[&model[..], &rap].concat()).output().unwrap()));
    assert_eq!((&sent["kind"], &sent["sent_packets"]), (&"rap".into(), &10.into()));
    let (status, lines, _) = receiver.end(None);
    assert_eq!((status, &last(&lines)["received_packets"]), (Some(0), &10.into()));
}

/// UDDJ-TFRC and packet spacing, future work: on real sockets each end has its own filter or scheme, and both name one controller.
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
        let sent = last(&ended_well(&receiver.sender(&[&model[..], &sends].concat()).output().unwrap()));
        assert_eq!((&sent["kind"], &sent["sent_packets"]), (&kind.into(), &10.into()), "{sends:?}");
        let (status, lines, _) = receiver.end(None);
        assert_eq!((status, &last(&lines)["received_packets"]), (Some(0), &10.into()), "{receives:?}");
    }
}

/// A source without data closes once the peer has answered.
#[test]
fn a_sender_with_nothing_to_send_succeeds() {
    let receiver = Receiver::new(&["--once"]);
    ended_well(&receiver.sender(&["--stdin"]).output().unwrap());
    assert_eq!(receiver.end(None).0, Some(0));
}

/// `recv --once` and `relay --once` waited forever after a sender whose controller was another one. docs/src/real.md: 1 if the connection failed.
#[test]
fn a_receiver_for_one_sender_fails_with_its_negotiation() {
    let why = "both ends have to name the same --controller";
    let send = ["--any", "--controller", "tfrc", "--model", "kind = \"ftp\", segments = 10"];
    let receiver = Receiver::new(&["--once", "--controller", "tcp-like"]);
    let sent = headway(&["send", &receiver.at]).args(send).output().unwrap();
    assert!(sent.status.code() == Some(1) && text(&sent.stderr).contains(why), "{}", text(&sent.stderr));
    let (status, _, said) = receiver.end(None);
    assert!(status == Some(1) && said.contains(why), "{status:?}: {said}");
    let relay =
        ["relay", "--listen", ANY, "--any", "--once", "--json", "--controller", "tcp-like", "--to", "127.0.0.1:9"];
    let mut relay = headway(&relay).spawn().unwrap();
    let (mut first, mut lines) = (String::new(), BufReader::new(relay.stdout.take().unwrap()));
    lines.read_line(&mut first).unwrap();
    let at = json(&first)["listening"].as_str().unwrap().to_owned();
    let sent = headway(&["send", &at]).args(send).output().unwrap();
    assert_eq!(sent.status.code(), Some(1));
    let Output { status, stderr, .. } = relay.wait_with_output().unwrap();
    let said = text(&stderr);
    assert!(status.code() == Some(1) && said.contains(why), "{status:?}: {said}");
    first.clear();
    lines.read_to_string(&mut first).unwrap();
    assert!(last(&first)["connection_failure"].as_str().unwrap().contains(why), "{first}");
}

/// No single address is right for clients on other hosts. The printed command is the sender's, with the controller that it has to name.
#[test]
fn who_listens_everywhere_leaves_the_host_open() {
    for (asked, ends) in
        [(&[][..], " --insecure\n"), (&["--loss-filter", "spike"], " --insecure --controller tfrc-filtered\n")]
    {
        let mut child = headway(&["recv", "0.0.0.0:0", "--insecure"]).args(asked).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.starts_with("listening at 0.0.0.0:") && said.contains(": headway send HOST:"), "{said}");
        assert!(said.ends_with(ends), "{said}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Words of a scenario, on a real socket.
#[test]
fn a_model_sends_what_it_would_in_a_scenario() {
    let receiver = Receiver::new(&["--once"]);
    let model = "kind = \"cbr\", rate = \"800kbps\", payload = \"500B\", media = \"video\", packets = 100";
    let sent = last(&ended_well(&receiver.sender(&["--model", model]).output().unwrap()));
    assert_eq!(sent["send_queue"]["video"]["written_packets"], 100, "{sent}");
    let (status, lines, _) = receiver.end(None);
    assert_eq!(status, Some(0));
    let received = last(&lines);
    assert_eq!(received["received_bytes"].as_u64(), received["received_packets"].as_u64().map(|packets| 500 * packets));
}

#[test]
fn a_receiver_that_stops_closes() {
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
    not_done(&sender.wait_with_output().unwrap());
    drop(pipe);
}

#[test]
#[cfg(unix)]
fn an_identity_lasts_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let identity = |name: &str| path(name).display().to_string();
    let first = Receiver::new(&["--identity", &identity("server")]);
    let fingerprint = first.fingerprint.clone();
    assert_eq!(first.end(Some("-INT")).0, Some(0));
    let mode = std::fs::metadata(path("server")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The second time it lets in one sender only, whose identity another run has made.
    let other = Receiver::new(&["--identity", &identity("client")]);
    let client = other.fingerprint.trim_start_matches("sha-256 ").to_owned();
    assert_eq!(other.end(Some("-TERM")).0, Some(0));
    let second = Receiver::new(&["--identity", &identity("server"), "--allow", &client]);
    assert_eq!(second.fingerprint, fingerprint);
    std::fs::write(path("file"), b"let me in").unwrap();
    let file = identity("file");
    let stranger = second.sender(&["--file", &file]).output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    assert!(text(&stranger.stderr).contains("the server turned this end away"), "{}", text(&stranger.stderr));
    let stranger = headway(&["send", &second.at, "--fingerprint", &client, "--file", &file]).output().unwrap();
    let said = text(&stranger.stderr);
    assert!(stranger.status.code() == Some(1) && said.contains("which is not expected"), "{said}");
    let friend = second.sender(&["--file", &file, "--identity", &identity("client")]).output().unwrap();
    ended_well(&friend);
    let (_, lines, _) = second.end(Some("-INT"));
    assert_eq!(last(&lines)["received_bytes"], 9);
}

/// A receiver whose key was that of another certificate started, and every handshake failed.
#[test]
fn an_identity_with_the_key_of_another_is_refused() {
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
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&format!("{mixed}: ")) && said.contains("the private key does not belong to the certificate"),
            "{said}"
        );
    }
}

/// A sender without an answer ended with status 0 after a signal or `--duration`. docs/src/real.md: 1 if the receiver did not answer.
#[test]
fn a_sender_that_gives_up_without_an_answer_fails() {
    let why = "headway: the peer did not answer before this end closed\n";
    let silent = UdpSocket::bind(ANY).unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let mut sender = headway(&["send", &at, "--insecure", "--stdin"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(sender.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert_eq!(first, format!("to {at}; Ctrl-C ends it\n"));
    assert!(Command::new("kill").args(["-INT", &sender.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(sender.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.starts_with("the connection was closed here; ") && rest.ends_with(why), "{rest}");
    let model = ["--model", "kind = \"ftp\", segments = 10", "--duration", "1ms"];
    let output = headway(&["send", &at, "--any"]).args(model).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.ends_with(why), "{said}");
}

/// One request of HTTP, and all that comes back.
fn ask(at: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(at).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// Prometheus' text format has a line of help, one of the type, and `name value` for each figure.
#[test]
fn prometheus_hears_what_comes() {
    let receiver = Receiver::new(&["--metrics", ANY]);
    let at = receiver.metrics.clone();
    // Who says nothing, too much or something else keeps nobody up.
    drop(TcpStream::connect(&at).unwrap());
    let asked = |what: &str| ask(&at, &format!("{what} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    assert!(asked("GET /else").starts_with("HTTP/1.1 404 "));
    assert!(asked("POST /metrics").starts_with("HTTP/1.1 405 "));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, bytes(5000)).unwrap();
    ended_well(&receiver.sender(&["--file", file.to_str().unwrap()]).output().unwrap());
    let came = "# TYPE headway_received_bytes_total counter\nheadway_received_bytes_total 5000\n";
    let answer = (0..300).find_map(|_| {
        std::thread::park_timeout(Duration::from_millis(100));
        Some(asked("GET /metrics")).filter(|answer| answer.contains(came))
    });
    let answer = answer.expect("figures are there within a second or two");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("content-type: text/plain; version=0.0.4"),
        "{answer}"
    );
    assert!(answer.contains("headway_missing_packets 0\n"), "{answer}");
    assert!(answer.contains("Datagrams that have not arrived, although later ones have."), "{answer}");
    assert_eq!(receiver.end(Some("-INT")).0, Some(0));
}

/// The page asks for the record so far; with the end of the command nobody answers any more, and nothing is left.
#[test]
fn a_connection_is_shown_as_it_goes_on() {
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
        // Two lines of figures at most until there is one.
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
    // A page that asks each second has the end, and what is worth looking at.
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
fn a_record_is_drawn_as_a_simulations() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let receiver = Receiver::new(&["--once", "--record", &path("viewer")]);
    let model = ["--model", "kind = \"conference\", lifetime = \"150ms\"", "--duration", "2500ms"];
    let sent =
        last(&ended_well(&receiver.sender(&[&model[..], &["--record", &path("call")]].concat()).output().unwrap()));
    let summary: Value = json(&std::fs::read_to_string(path("call/summary.json")).unwrap());
    assert_eq!(summary["flows"][0]["sent_packets"], sent["sent_packets"]);
    assert_eq!(summary["interval"], sent["interval"]);
    assert!(sent["send_queue"]["audio"]["written_packets"].as_u64() > Some(0));
    // The record of a call held no frames, and not how many datagrams waited. A datagram of sound is a frame by itself.
    let (frames, queue) = (&summary["flows"][0]["frames"], &summary["flows"][0]["send_queue"]);
    assert_eq!(frames["audio"]["written_frames"], queue["audio"]["written_packets"], "{summary}");
    assert!(frames["audio"]["complete_frames"].as_u64() > Some(0), "{summary}");
    assert!(frames["video-i"]["written_frames"].as_u64() <= queue["video-i"]["written_packets"].as_u64(), "{summary}");
    let series = std::fs::read(path("call/series.arrow")).unwrap();
    let series = headway_record::SeriesTable::from_ipc(&series).unwrap();
    assert!(!series.samples("send", "waiting_packets").is_empty());
    let received = last(&receiver.end(None).1);
    let viewer: Value = json(&std::fs::read_to_string(path("viewer/summary.json")).unwrap());
    assert_eq!(viewer["flows"][0]["received_packets"], received["received_packets"]);
    let drawn = headway(&["plot", &path("call"), &path("viewer")]).output().unwrap();
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert!(Path::new(&path("call/throughput.svg")).exists());
}

#[test]
fn mistakes_are_sentences() {
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
        (&["recv", "127.0.0.1"][..], "\"127.0.0.1\" has no port: write HOST:PORT"),
        (&["recv", "127.0.0.1:x"], "\"127.0.0.1:x\" is no address"),
        (&["recv", &taken], "cannot listen at 127.0.0.1:"),
        (&["recv", ANY, "--line-rate", "0bps", "--controller", "spacing-fixed"], "an interface takes more than 0bps"),
        (&["send", ANY, "--priority", "256"], "expected a whole number from 0 to 255"),
        (&["send", ANY, "--priority", "-1"], "expected a whole number from 0 to 255"),
        (&["send", ANY, "--expires", "0s"], "no datagram is of use for 0s: write a time such as 150ms"),
        (&["recv", ANY, "--loss-filter", "nope"], "known are uddj, guarded, zigzag, mbiaz, spike"),
        (&["recv", ANY, "--controller", "cubic"], "there is no controller \"cubic\"; known are tcp-like, tfrc"),
        (
            &["recv", ANY, "--identity", &file],
            "file: the certificate or its key cannot be used: there is no certificate in it",
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
        // A datagram would return to the command.
        (&["send", &taken, "--insecure", "--udp", &taken], ": this command listens there (127.0.0.1:"),
        (
            &["recv", "0.0.0.0:5004", "--to", "127.0.0.1:5004"],
            "--to 127.0.0.1:5004: this command listens there (0.0.0.0:5004), and its datagrams would return to it",
        ),
        // A folder failed at its first read, when the peer had answered.
        (&["send", &taken, "--insecure", "--file", &here], &format!("cannot read {here}: is a directory")),
        (&["recv", ANY, "--controller", "spacing"], "write --line-rate, such as 100Mbps"),
        (&["recv", ANY, "--spacing", "ad-hoc"], "\"cat /sys/class/net/INTERFACE/speed\" its rate in Mb/s"),
        (&["recv", ANY, "--loss-filter", "oracle"], "only a simulator knows these"),
        (&["recv", ANY, "--loss-filter", "spike", "--spacing", "damped"], "cannot be used with"),
        (&["recv", ANY, "--line-rate", "1Gbps"], "--controller"),
        // An option without effect.
        (
            &["recv", ANY, "--line-rate", "1Gbps", "--spacing", "equation"],
            "--line-rate: the controller spacing-equation does not need the rate of the line",
        ),
        (
            &["recv", ANY, "--line-rate", "1Gbps", "--controller", "udpm,levels=5"],
            "--line-rate: the controller udpm does not need the rate of the line",
        ),
        (
            &["send", &taken, "--insecure", "--stdin", "--queue", "sfdps2,margin=2"],
            "margin: this key has no effect without late",
        ),
        // A value that begins with a minus is no option.
        (&["recv", ANY, "--deadline", "-5ms"], "\"-5ms\" is out of range: a duration is from 0s to 18446744073s"),
        (
            &["recv", ANY, "--spacing", "damped", "--line-rate", "-1Mbps"],
            "\"-1Mbps\" is out of range: write a rate above 0bps",
        ),
        (
            &["send", &taken, "--insecure", "--stdin", "--expires", "-5ms"],
            "\"-5ms\" is out of range: write a time above 0s",
        ),
        (
            &["send", &taken, "--insecure", "--stdin", "--duration", "-1s"],
            "\"-1s\" is out of range: a duration is from 0s",
        ),
        (&["send", &taken, "--insecure", "--stdin", "--chunk", "-5"], "expected a number of bytes, 1 or more"),
        (
            &["send", &taken, "--insecure", "--stdin", "--queue", "sure-first", "--method", "sfdps1"],
            "--queue sure-first: it compares all datagrams that wait",
        ),
        (&["send", &taken, "--insecure", "--stdin", "--method", "ring-3"], "its limit of 3 packets is the queue's"),
        (&["recv", "::1"], "write [::1]:5004"),
        (&["recv", ANY, "--to", "127.0.0.1:0"], "has port 0, which is nobody's"),
        (&["send", "127.0.0.1:0", "--insecure", "--file", &file], "cannot connect to 127.0.0.1:0: port 0 is nobody's"),
        (
            &["send", "0.0.0.0:5004", "--insecure", "--file", &file],
            "cannot connect to 0.0.0.0:5004: that is every address",
        ),
        (&["send", &taken, "--insecure", "--file", &file, "--chunk", "0"], "expected a number of bytes, 1 or more"),
        (
            &["send", &taken, "--insecure", "--model", "kind = \"cbr\", rate = \"1Mbps\", size = \"28B\""],
            "no write has data",
        ),
        // Somebody is there who does not answer.
        (
            &["send", &taken, "--insecure", "--file", &file],
            "headway: the peer does not answer: nobody may listen there",
        ),
    ] {
        let output = headway(arguments).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

/// The sender ended with status 0 and sent nothing: Rust's runtime opens /dev/null in place of a closed standard input.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_input_is_refused() {
    let script = format!("exec {} send {ANY} --insecure --stdin <&-", env!("CARGO_BIN_EXE_headway"));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("headway: --stdin: standard input is closed or is /dev/null: "), "{said}");
}

/// A receiver without an output printed the figures of a receiver that has written everything.
#[test]
fn a_receiver_without_an_output_reports_that_it_only_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("received").display().to_string();
    for (output, is_counted) in [(&[][..], true), (&["--out", &file], false)] {
        let mut receiver = headway(&["recv", ANY, "--insecure", "--once"]).args(output).spawn().unwrap();
        let mut said = BufReader::new(receiver.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let at = line.split_whitespace().nth(2).unwrap().trim_end_matches(':');
        ended_well(
            &headway(&["send", at, "--insecure", "--json", "--model", "kind = \"ftp\", segments = 2"])
                .output()
                .unwrap(),
        );
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(receiver.wait().unwrap().code(), Some(0), "{rest}");
        let last = rest.lines().last().unwrap();
        assert_eq!(last.contains("the datagrams were counted and not written"), is_counted, "{rest}");
    }
}

/// A receiver that cannot write says so to both: to its user, and to the sender, which need not wait until nobody answers.
#[cfg(target_os = "linux")]
#[test]
fn a_receiver_that_cannot_write_closes() {
    let receiver = Receiver::new(&["--out", "/dev/full", "--insecure"]);
    let endless = "kind = \"cbr\", interval = \"10ms\", payload = \"100B\", media = \"data\"";
    not_done(&receiver.sender(&["--model", endless]).output().unwrap());
    let (status, _, said) = receiver.end(None);
    assert!(status == Some(1) && said.contains("/dev/full"), "{status:?}: {said}");
}

/// No program listens at the port: what was handed to the system did not arrive, and the status says so.
#[test]
fn a_closed_port_gets_nothing() {
    let closed = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let receiver = Receiver::new(&["--to", &closed, "--once"]);
    let _ = receiver.sender(&["--model", "kind = \"ftp\", segments = 20"]).output().unwrap();
    let (status, lines, said) = receiver.end(None);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the output did not get ") && said.contains("the system refused them"), "{said}");
    assert!(last(&lines)["dropped_packets"].as_u64().unwrap() > 0, "{lines}");
}

/// A file that is there keeps its contents if nothing can be received.
#[test]
fn a_file_is_kept_if_there_is_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("film.ts");
    std::fs::write(&file, "film").unwrap();
    // An address that no interface has (RFC 5737).
    let output = headway(&["recv", "192.0.2.1:5004", "--out", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "film");
}
