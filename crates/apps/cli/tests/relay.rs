//! Tests of `headway relay` from the command line.
#![allow(clippy::disallowed_types, reason = "the programs on both sides have sockets")]

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";

fn headway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Running `headway relay`.
struct Relay {
    child: Child,
    messages: BufReader<ChildStderr>,
}

impl Relay {
    fn new(arguments: &[&str]) -> Self {
        let mut child = headway(&["relay"]).args(arguments).spawn().unwrap();
        let messages = BufReader::new(child.stderr.take().unwrap());
        Self { child, messages }
    }

    /// Returns the word after `words` in the next messages.
    fn word_after(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.messages.read_line(&mut line).unwrap() > 0, "it ended before \"{words}\"");
            if let Some((_, rest)) = line.split_once(words) {
                return rest.split_whitespace().next().unwrap_or_default().trim_end_matches([':', ';']).to_owned();
            }
        }
    }

    fn end(mut self) -> (Option<i32>, String) {
        assert!(Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap().success());
        let mut messages = String::new();
        self.messages.read_to_string(&mut messages).unwrap();
        (self.child.wait().unwrap().code(), messages)
    }
}

fn program() -> UdpSocket {
    let socket = UdpSocket::bind(ANY).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

#[test]
fn two_relays_forward_both_directions_of_several_ports() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, picture) = (program(), program());
    let rules = folder.path().join("rules.toml");
    let port = |number: u8, program: &UdpSocket| {
        format!("[[port]]\nnumber = {number}\nto = \"{}\"\n", program.local_addr().unwrap())
    };
    let rule = "[[rule]]\npayload_type = 96\nkind = \"video\"\npriority = 1\n";
    std::fs::write(&rules, port(0, &sound) + &port(1, &picture) + rule).unwrap();
    let mut there = Relay::new(&[rules.to_str().unwrap(), "--listen", ANY, "--any"]);
    let at = there.word_after("listening at ");
    let mut here = Relay::new(&["--connect", &at, "--any", "--from", ANY, "--from", ANY]);
    let ports = [here.word_after("port 0 listens at "), here.word_after("port 1 listens at ")];
    let (speaker, camera) = (program(), program());
    let mut buffer = [0; 100];
    for (from, port, to) in [(&speaker, &ports[0], &sound), (&camera, &ports[1], &picture)] {
        let asked = port.as_bytes();
        from.send_to(asked, port).unwrap();
        let (length, back) = to.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], asked);
        to.send_to(b"answer", back).unwrap();
        let (length, by) = from.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], by.to_string()), (&b"answer"[..], port.clone()));
    }
    for relay in [here, there] {
        let (status, messages) = relay.end();
        assert_eq!(status, Some(0), "{messages}");
        // The peer may close before it has acknowledged the last datagram, which is then unaccounted for.
        assert!(
            ["2 datagrams, 2 sent, ", " 0 lost, ", " 0 never sent"].iter().all(|part| messages.contains(part)),
            "{messages}"
        );
        let back = messages.split_once("; received in ").unwrap().1;
        assert!(back.contains("2 datagrams, 0 missing"), "{messages}");
    }
}

#[test]
fn datagrams_for_unknown_ports_are_reported() {
    let sound = program();
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let to = sound.local_addr().unwrap().to_string();
    let mut there =
        Relay::new(&["--listen", ANY, "--any", "--to", &to, "--once", "--record", record.to_str().unwrap()]);
    let at = there.word_after("listening at ");
    let mut here = Relay::new(&["--connect", &at, "--any", "--from", ANY, "--from", ANY]);
    let ports = [here.word_after("port 0 listens at "), here.word_after("port 1 listens at ")];
    let camera = program();
    let mut buffer = [0; 9];
    camera.send_to(b"picture", &ports[1]).unwrap();
    camera.send_to(b"sound", &ports[0]).unwrap();
    assert_eq!(sound.recv_from(&mut buffer).unwrap().0, 5);
    assert_eq!(there.word_after("warning: 1 datagram for unknown ports dropped, the last one for port "), "1");
    assert_eq!(here.end().0, Some(0));
    assert_eq!(there.end().0, Some(0));
    // The record of the listening relay includes the received datagrams.
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(record.join("summary.json")).unwrap()).unwrap();
    let flow = |place: usize| (&summary["flows"][place]["name"], &summary["flows"][place]["received_packets"]);
    assert_eq!((flow(0), flow(1)), ((&"relay".into(), &0.into()), (&"reverse".into(), &2.into())));
}

/// The system reports a closed port on a connected socket only. The program may open the port later.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_port_of_a_program_is_reported() {
    let closed = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let mut there = Relay::new(&["--listen", ANY, "--insecure", "--to", &closed, "--once"]);
    let at = there.word_after("listening at ");
    let mut here = Relay::new(&["--connect", &at, "--insecure", "--from", ANY]);
    let port = here.word_after("port 0 listens at ");
    let camera = program();
    camera.send_to(b"lost", &port).unwrap();
    assert_eq!(there.word_after("warning: port 0: no program listens at "), closed);
    let late = UdpSocket::bind(&closed).unwrap();
    late.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut buffer = [0; 100];
    // The error of an earlier datagram may prevent a datagram, which is then sent again.
    let arrived = (0..100).any(|_| {
        camera.send_to(b"here", &port).unwrap();
        late.recv_from(&mut buffer).is_ok_and(|(length, _)| &buffer[..length] == b"here")
    });
    assert!(arrived, "the program has opened its port");
    here.end();
    there.end();
}

#[test]
fn a_new_connection_replaces_the_current_one() {
    let program = program();
    let mut there = Relay::new(&["--listen", ANY, "--insecure", "--to", &program.local_addr().unwrap().to_string()]);
    let at = there.word_after("listening at ");
    let mut buffer = [0; 100];
    let mut peers = Vec::new();
    for n in 0..2u8 {
        let mut here = Relay::new(&["--connect", &at, "--insecure", "--from", ANY]);
        let port = here.word_after("port 0 listens at ");
        UdpSocket::bind(ANY).unwrap().send_to(&[n], port).unwrap();
        assert_eq!(program.recv_from(&mut buffer).unwrap().0, 1);
        assert_eq!(buffer[0], n);
        peers.push(here);
    }
    let mut first = peers.remove(0);
    let mut messages = String::new();
    first.messages.read_to_string(&mut messages).unwrap();
    let why = "the peer serves a newer relay instead of this one (Too Busy)";
    assert!(messages.ends_with(&format!("headway: {why}\n")), "{messages}");
    assert_eq!(first.child.wait().unwrap().code(), Some(1));
    // A connecting relay would wait for the return of the listening one.
    assert_eq!(peers.remove(0).end().0, Some(0));
    let (status, messages) = there.end();
    assert!(status == Some(0) && messages.contains(": a newer peer replaces this one; "), "{status:?}: {messages}");
}

/// A stranger is named in a line of JSON and counted, although it is not connected.
#[test]
fn a_refused_client_is_named_and_counted() {
    let print = ["AB"; 32].join(":");
    let listen = ["--listen", ANY, "--fingerprint", &print, "--to", "127.0.0.1:9", "--json"];
    let mut child = headway(&["relay"]).args(listen).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    let at = next()["listening"].as_str().unwrap().to_owned();
    let stranger = headway(&["relay", "--connect", &at, "--any", "--from", ANY]).output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    let refused = std::iter::repeat_with(&mut next).find(|line| !line["why"].is_null()).unwrap();
    assert!(refused["why"].as_str().unwrap().contains("fingerprint"), "{refused}");
    assert!(refused["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{refused}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let last = std::iter::repeat_with(next).find(|line| line["last"] == true).unwrap();
    assert_eq!(last["reverse"]["refused_handshakes"], 1);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// RFC 4340 section 8.1.2: a server refuses a Request with another service code by the Reset "Bad Service Code". The
/// datagrams of a sender were acknowledged, and the relay dropped them or forwarded them without their first byte.
#[test]
fn a_relay_connects_to_relays_only() {
    let model = ["--model", "kind = \"ftp\", segments = 2"];
    for (security, trust) in [("--any", &[][..]), ("--insecure", &["--insecure"])] {
        let relay = ["relay", "--listen", ANY, security, "--to", "127.0.0.1:9"];
        let (recv, send, other) = (
            [&["recv", ANY][..], trust].concat(),
            [&["send"][..], &model, &[security]].concat(),
            ["relay", "--from", ANY, security, "--connect"],
        );
        for (server, client) in [(&relay[..], &send[..]), (&recv, &other)] {
            let mut server = headway(server).args(["--once", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(server.stdout.take().unwrap());
            let mut next = || {
                let mut line = String::new();
                assert!(lines.read_line(&mut line).unwrap() > 0, "it ended");
                serde_json::from_str::<serde_json::Value>(&line).unwrap()
            };
            let at = next()["listening"].as_str().unwrap().to_owned();
            let client = headway(client).arg(&at).output().unwrap();
            let messages = String::from_utf8(client.stderr).unwrap();
            let why = "the peer ended the connection: code=Bad Service Code: the peer provides a different service; \
                       headway send connects to headway recv, and headway relay to another headway relay";
            assert!(client.status.code() == Some(1) && messages.contains(why), "{messages}");
            let refused = std::iter::repeat_with(&mut next).find(|line| !line["why"].is_null()).unwrap();
            assert_eq!(refused["why"], "the connection was ended here: code=Bad Service Code", "{refused}");
            assert_eq!((&refused["handshakes"], &refused["refused_handshakes"]), (&1.into(), &1.into()));
            // The right peer can still connect.
            assert!(server.try_wait().unwrap().is_none());
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}

/// The listening relay is killed and started again: the connecting relay connects to it again, unless `--once` is set.
#[test]
fn a_relay_connects_again_to_a_relay_that_returns() {
    for security in ["--any", "--insecure"] {
        let (player, camera) = (program(), program());
        let to = player.local_addr().unwrap().to_string();
        let mut first = Relay::new(&["--listen", ANY, security, "--to", &to]);
        let at = first.word_after("listening at ");
        let mut here = Relay::new(&["--connect", &at, security, "--from", ANY]);
        let port = here.word_after("port 0 listens at ");
        let mut buffer = [0; 100];
        camera.send_to(&[1], &port).unwrap();
        assert_eq!(player.recv_from(&mut buffer).unwrap().0, 1);
        first.child.kill().unwrap();
        first.child.wait().unwrap();
        let there = Relay::new(&["--listen", &at, security, "--to", &to]);
        player.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        // A program that sends continuously.
        let arrived = (0..1200).any(|_| {
            camera.send_to(&[2], &port).unwrap();
            player.recv_from(&mut buffer).is_ok_and(|_| buffer[0] == 2)
        });
        assert!(arrived, "{security}");
        assert_eq!(here.word_after("; trying to "), "reconnect");
        assert_eq!(here.word_after(": connected "), "again");
        let (status, messages) = here.end();
        assert_eq!(status, Some(0), "{messages}");
        assert_eq!(there.end().0, Some(0));
    }
}

/// docs/src/real.md: `--json` prints a line each second, and one at the end.
#[test]
fn a_relay_without_a_peer_prints_reports() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let once = ["--once", "--record", record.to_str().unwrap()];
    for more in [&[][..], &once] {
        let listen = ["--listen", ANY, "--insecure", "--to", "127.0.0.1:9", "--json"];
        let mut child = headway(&["relay"]).args(listen).args(more).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
            serde_json::from_str::<serde_json::Value>(&line).unwrap()
        };
        assert!(next()["listening"].is_string());
        let line = next();
        assert_eq!(
            (&line["last"], &line["sent_packets"], &line["reverse"]["connections"]),
            (&false.into(), &0.into(), &0.into())
        );
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let last = std::iter::repeat_with(next).find(|line| line["last"] == true).unwrap();
        assert_eq!((&last["sent_packets"], &last["reverse"]["received_packets"]), (&0.into(), &0.into()));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{more:?}");
    }
    let summary = std::fs::read_to_string(record.join("summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&summary).unwrap()["complete"], true);
    let mut relay = Relay::new(&["--listen", ANY, "--insecure", "--to", "127.0.0.1:9"]);
    relay.word_after("listening at ");
    let (status, messages) = relay.end();
    assert_eq!(status, Some(0), "{messages}");
    assert!(
        messages.starts_with("no peer is connected; 0.") && messages.contains(" s: 0 datagrams, 0 sent, "),
        "{messages}"
    );
}

/// A second peer was accepted, and its datagrams were acknowledged and then discarded.
#[test]
fn a_relay_with_once_refuses_a_second_peer() {
    let program = program();
    let to = program.local_addr().unwrap().to_string();
    let mut server = Relay::new(&["--listen", ANY, "--to", &to, "--insecure", "--once"]);
    let at = server.word_after("listening at ");
    let mut first = Relay::new(&["--connect", &at, "--from", ANY, "--insecure", "--once"]);
    let from = first.word_after("port 0 listens at ");
    let send = |number: u8| UdpSocket::bind(ANY).unwrap().send_to(&[number], &from).unwrap();
    let mut buffer = [0; 8];
    send(1);
    assert_eq!(program.recv(&mut buffer).unwrap(), 1);
    let second = headway(&["relay", "--connect", &at, "--from", ANY, "--insecure", "--once"]).output().unwrap();
    let messages = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success() && messages.contains("Too Busy"), "{messages}");
    send(2);
    assert_eq!((program.recv(&mut buffer).unwrap(), buffer[0]), (1, 2));
    first.end();
    server.child.wait().unwrap();
}

#[test]
fn errors_include_the_allowed_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.toml");
    std::fs::write(&file, "[[port]]\nnumber = 0\nlsten = \"127.0.0.1:0\"\n").unwrap();
    let file = file.to_str().unwrap();
    let itself = folder.path().join("itself.toml");
    let ports = "[[port]]\nnumber = 7\nto = \"127.0.0.1:7300\"\n[[port]]\nnumber = 8\nlisten = \"0.0.0.0:7300\"\n";
    std::fs::write(&itself, ports).unwrap();
    let itself = itself.to_str().unwrap();
    let end = ["--connect", "127.0.0.1:9", "--insecure"];
    let many = ["--from", ANY].repeat(257);
    for (arguments, why) in [
        (&[file][..], "rules.toml:3:1: port[0]: unknown key \"lsten\"; did you mean \"listen\"?"),
        (&["none.toml"], "cannot read none.toml"),
        (&[], "--from"),
        (&[file, "--from", ANY], "cannot be used with"),
        (&["--from", ANY, "--to", "127.0.0.1:9"], "cannot be used with"),
        (&["--from", ANY, "--listen", ANY], "cannot be used with"),
        (&["--to", "127.0.0.1"], "\"127.0.0.1\" has no port"),
        (&["--to", "127.0.0.1:0"], "has port 0; expected a port"),
        (&many, "--from and --to: 257 addresses; a relay has at most 256 ports"),
        (&["--from", ANY, "--rate-fd", "77"], "--rate-fd 77: this file descriptor is not open"),
        // Datagrams would loop.
        (&["--from", "127.0.0.1:9"], "--connect 127.0.0.1:9: this command listens at 127.0.0.1:9 and"),
        (&[itself], "port 7: to 127.0.0.1:7300: this command listens at 0.0.0.0:7300 and"),
    ] {
        let output = headway(&["relay"]).args(end).args(arguments).output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(messages.contains(why), "{arguments:?}: {messages}");
    }
}
