//! Every CCID with a controller carries data over a path, and its reports arrive.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::{Dialogue, changes};
use headway_dccp::{Ccid, ConnectionOptions, NoData, State};
use headway_units::{Bytes, Dialect, Duration, Instant, Options};
use pipe::{Fate, Pipe, options};

fn rules(dialect: Dialect, ccid: Ccid) -> ConnectionOptions {
    let preset = ConnectionOptions::preset(dialect);
    let controllers = [preset.controllers.clone(), options().controllers].concat();
    ConnectionOptions { send_ccids: vec![ccid.0], receive_ccids: vec![ccid.0], controllers, ..preset }
}

/// Returns a path of 20 ms each way that loses every `lost`-th packet after the handshake, or none.
fn path(lost: u64) -> impl FnMut(u64) -> Fate {
    let mut sent = 0;
    move |_| {
        sent += 1;
        Fate { lost: lost > 0 && sent > 10 && sent % lost == 0, copies: 1, delay: Duration::from_millis(20) }
    }
}

#[test]
fn every_ccid_carries_data() {
    for dialect in [Dialect::Rfc, Dialect::Linux] {
        for row in rules(dialect, Ccid(0)).controllers {
            let rules = rules(dialect, row.ccid);
            let mut pipe = Pipe::new(&rules, &rules, path(0));
            for n in 0..500u32 {
                pipe.client.outbox.push(&[n as u8; 500]);
                if n % 2 == 0 {
                    pipe.server.outbox.push(&[n as u8; 300]);
                }
                pipe.run(Duration::from_millis(10));
            }
            pipe.run(Duration::from_secs(20));
            let name = format!("{dialect} CCID {}", row.ccid.0);
            let log = || pipe.log.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
            assert_eq!((pipe.client.state(), pipe.server.state()), (State::Open, State::Open), "{name}\n{}", log());
            assert_eq!((pipe.server.delivered.len(), pipe.client.delivered.len()), (500, 250), "{name}\n{}", log());
            let status = pipe.client.connection.as_ref().unwrap().status();
            assert_eq!((status.send_ccid, status.receive_ccid), (row.ccid, row.ccid), "{name}");
            let rtt = status.rtt.unwrap();
            assert!(rtt >= Duration::from_millis(40) && rtt < Duration::from_millis(260), "{name}: {rtt}");
            assert!(!pipe.log.iter().any(|line| line.contains("[Sync]")), "{name}\n{}", log());
            println!("{name}: {} packets, rtt {rtt}, {:?}", pipe.log.len(), status.sender);
        }
    }
}

/// With data in one direction, acknowledgements of CCID 2 are acknowledged, so that Ack Vectors stay short (RFC 4340
/// section 11.1, RFC 4341 section 6.2), and so are those of CCID 3 with Ack Vectors (RFC 4342 section 6.3).
#[test]
fn one_way_data_keeps_its_vectors_short() {
    let ccids = rules(Dialect::Rfc, Ccid(0)).controllers;
    for (row, ack_vectors) in ccids.iter().map(|row| (row, row.ack_vectors)).chain([(&ccids[1], true)]) {
        let mut rules = rules(Dialect::Rfc, row.ccid);
        rules
            .controllers
            .iter_mut()
            .filter(|rule| rule.ccid == row.ccid)
            .for_each(|rule| rule.ack_vectors = ack_vectors);
        let mut pipe = Pipe::new(&rules, &rules, path(50));
        for n in 0..2000u32 {
            pipe.client.outbox.push(&[n as u8; 500]);
            pipe.run(Duration::from_millis(10));
        }
        pipe.run(Duration::from_secs(2));
        let longest =
            pipe.log.iter().filter_map(|line| line.split("AckVector0[").nth(1)).map(str::len).max().unwrap_or(0);
        assert!(longest < 200, "CCID {}: {longest}", row.ccid.0);
        let acks = pipe.log.iter().filter(|line| line.contains("server") && line.contains("[Ack]")).count();
        println!(
            "CCID {}: {} delivered, {acks} acks, longest vector {longest}",
            row.ccid.0,
            pipe.server.delivered.len()
        );
        assert!(
            pipe.server.delivered.len() > 1000,
            "CCID {}: {}\n{}",
            row.ccid.0,
            pipe.server.delivered.len(),
            pipe.log[..80].join("\n")
        );
        let idle = Instant::from_secs(1000);
        assert!(
            pipe.client
                .connection
                .as_mut()
                .unwrap()
                .poll_transmit(idle, &mut NoData)
                .is_none_or(|out| out.packet.data.is_empty())
        );
    }
}

/// RFC 4340 section 11.1: "there is no need for acks-of-acks-of-acks". With all packets marked, and a round trip longer
/// than the 0.2 s within which marks are reported once (section 11.3), an idle connection becomes silent.
#[test]
fn marked_acknowledgements_are_not_acknowledged_endlessly() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let rules = rules(Dialect::Rfc, ccid);
        let mut pipe =
            Pipe::new(&rules, &rules, |_| Fate { lost: false, copies: 1, delay: Duration::from_millis(120) });
        pipe.congested = true;
        for n in 0..20u8 {
            pipe.client.outbox.push(&[n; 100]);
            pipe.server.outbox.push(&[n; 100]);
            pipe.run(Duration::from_millis(20));
        }
        // Each marked packet is a separate loss event: the last ones under TFRC are seconds apart.
        pipe.run(Duration::from_secs(600));
        assert_eq!((pipe.server.delivered.len(), pipe.client.delivered.len()), (20, 20), "{ccid:?}");
        let before = pipe.log.len();
        pipe.run(Duration::from_secs(600));
        assert_eq!(pipe.log[before..].len(), 0, "{ccid:?}: {}", pipe.log[before]);
    }
}

/// Both machines sleep for eight hours while sending 50 packets per second. This is not taken as a
/// round trip, and the rate recovers within ten seconds.
#[test]
fn a_sleep_is_no_round_trip() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let rules = rules(Dialect::Rfc, ccid);
        let mut pipe = Pipe::new(&rules, &rules, path(0));
        let talk = |seconds: usize, pipe: &mut Pipe<_>| {
            let before = pipe.server.delivered.len();
            for n in 0..50 * seconds {
                pipe.client.outbox.push(&[n as u8; 100]);
                pipe.run(Duration::from_millis(20));
            }
            pipe.server.delivered.len() - before
        };
        assert!(talk(10, &mut pipe) > 490, "{ccid:?}");
        pipe.client.outbox.push(&[1; 100]);
        pipe.drain();
        pipe.sleep(Duration::from_secs(8 * 3600));
        talk(10, &mut pipe);
        let output = talk(10, &mut pipe);
        assert!((490..=510).contains(&output), "{ccid:?}: {output}");
        let status = pipe.client.connection.as_ref().unwrap().status();
        assert!(status.rtt < Some(Duration::from_secs(1)), "{ccid:?}: {:?}", status.rtt);
    }
}

/// RFC 4342 sections 6, 8.2, 8.3, 8.4 and 8.6: feedback contains the receive rate, its delay, and
/// the loss intervals, or the loss event rate if the sender has requested it.
#[test]
fn tfrc_feedback_has_rate_delay_and_losses() {
    for (loss_event_rate, there, absent) in
        [(false, "LossIntervals", "LossEventRate"), (true, "LossEventRate", "LossIntervals")]
    {
        let rules = ConnectionOptions { loss_event_rate, ..rules(Dialect::Rfc, Ccid::TFRC) };
        let mut pipe = Pipe::new(&rules, &rules, path(50));
        for n in 0..500u32 {
            pipe.client.outbox.push(&[n as u8; 500]);
            pipe.run(Duration::from_millis(10));
        }
        let feedback: Vec<_> =
            pipe.log.iter().filter(|line| line.contains("server") && line.contains("ReceiveRate")).collect();
        assert!(feedback.len() > 50, "{}", feedback.len());
        for line in feedback {
            assert!(line.contains("Elapsed") && line.contains(there) && !line.contains(absent), "{line}");
        }
    }
}

/// RFC 4340 section 11.4.2. On the smallest path, with IPv6 and UDP, an Ack has 500 bytes of options. Only the newest
/// part of a longer vector is sent. Otherwise an attacker who drops every other packet for a while, and the
/// acknowledgements of vectors, could silence a receiver permanently.
#[test]
fn a_vector_too_long_for_the_path_is_shortened() {
    let rules = rules(Dialect::Rfc, Ccid::TCP_LIKE);
    let mut rules = ConnectionOptions { mtu: Bytes::new(576), ..rules };
    rules.expert.lower_headers = Bytes::new(48);
    let mut server = Dialogue::server(&rules);
    server.send(0, "Request 1000", &[changes(&rules), vec![34, 4, 6, 1]].concat(), b"");
    server.send(10, "Ack 1001 (0)", &[], b"");
    let mut seq = 1002;
    for (packets, step) in [(700, 2), (700, 1)] {
        server.drain_output(1000 * step);
        for ms in 0..packets {
            seq += step;
            server.send(5000 / step + ms, &format!("Data {seq}"), &[], b"x");
        }
        let output = server.drain_output(5000 / step + 900);
        assert!(output.len() >= 350, "{}", output.len());
        for output in output {
            let vectors: Vec<_> = output.split("AckVector0[").skip(1).collect();
            assert!(vectors.first().is_some_and(|vector| vector.starts_with('R')), "{output}");
        }
    }
}
