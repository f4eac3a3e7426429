//! Reaction of a sender to Data Dropped and Slow Receiver (RFC 4340 sections 11.6 and 11.7.2).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;

use dialogue::{Dialogue, confirms};
use headway_dccp::{ConnectionOptions, DropCode};
use headway_units::{Dialect, Options, Seq48};

/// Returns a client that has sent packets 2, 3 and 4 with data at 30 ms; the peer's next number is 1002.
fn client(ccid: u8) -> Dialogue {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let rules = ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], ..preset };
    let mut client = Dialogue::client(&rules);
    client.next(0);
    let vectors: &[u8] = if ccid == 2 { &[33, 5, 6, 1, 1] } else { &[] };
    client.send(10, "Response 1000 (0)", &[&confirms(&rules), vectors].concat(), b"");
    client.next(10);
    client.send(20, "Ack 1001 (1)", &[], b"");
    for _ in 0..3 {
        client.outbox.push(b"x");
    }
    let output = client.drain_output(50);
    assert_eq!(output.iter().filter(|output| output.contains("Len=1")).count(), 3, "{output:?}");
    client
}

fn window(client: &mut Dialogue) -> f64 {
    client.connection().status().sender.unwrap().window_packets.unwrap()
}

fn rate(client: &mut Dialogue) -> u64 {
    client.connection().status().sender.unwrap().target_rate.unwrap().bits_per_second()
}

/// Section 11.7: the first block covers the packet's own acknowledgement number. Options of an
/// earlier packet do not apply to one without options.
#[test]
fn a_packet_without_options_reports_no_drops() {
    let (dropped, received) = ([40, 3, 0xa0], [38, 3, 2]);
    let mut client = client(2);
    assert_eq!(window(&mut client), 3.0);
    client.send(60, "Ack 1002 (2)", &[dropped, received].concat(), b"");
    assert_eq!(window(&mut client), 2.0, "one less for packet 2");
    client.send(70, "Ack 1003 (4)", &[], b"");
    client.send(80, "Ack 1004 (4)", &[dropped, received].concat(), b"");
    assert_eq!(window(&mut client), 1.0, "one less for packet 4, which was not reported before");
}

/// Section 11.7: options that "report the status of more packets than have been sent" are ignored.
#[test]
fn drops_of_unsent_packets_are_ignored() {
    let received = [38, 3, 2];
    for (block, left) in [(0xa2, 1.0), (0xa3, 3.0), (0x90, 3.0), (0x9f, 3.0)] {
        let mut client = client(2);
        client.events();
        client.send(60, "Ack 1002 (2)", &[&[40, 3, block][..], &received].concat(), b"");
        assert_eq!(window(&mut client), left, "{block}");
        // One packet may be reported as not listened to, but not sixteen of three.
        assert_eq!(client.events().len(), usize::from(block == 0x90));
    }
}

/// Section 11.7: options that "disagree with Ack Vector ... (by reporting a 'not yet received' packet as 'dropped in
/// the receive buffer', for example)" are ignored completely. The vector here covers packets 4, 3 and 2.
#[test]
fn drops_of_unreceived_packets_are_ignored() {
    const RECEIVED: u8 = 0;
    const NOT_RECEIVED: u8 = 0xc0;
    for (blocks, vector, ignored) in [
        (&[0, 0xa0][..], &[RECEIVED, NOT_RECEIVED, RECEIVED][..], true),
        (&[0, 0xa0], &[2], false),
        (&[0, 0xa1], &[1, NOT_RECEIVED], true),
        (&[0xa0, 0x90], &[RECEIVED, NOT_RECEIVED], true),
        (&[1, 0xa0], &[RECEIVED, NOT_RECEIVED, RECEIVED], false),
        (&[0, 0xa0], &[RECEIVED], false),
    ] {
        let vector = [&[38, 2 + vector.len() as u8], vector].concat();
        let dropped = [&[40, 2 + blocks.len() as u8], blocks].concat();
        let [without, with] = [vec![], dropped].map(|dropped| {
            let mut client = client(2);
            client.send(60, "Ack 1002 (4)", &[dropped, vector.clone()].concat(), b"");
            window(&mut client)
        });
        assert_eq!(with == without, ignored, "{blocks:?} {vector:?}: {without}, {with}");
    }
}

/// Section 11.7.2: "Every packet newly acknowledged as Drop Code 2 SHOULD reduce the sender's instantaneous rate by one
/// packet per round-trip time". Data Dropped and Slow Receiver may be on any acknowledgement. If it is not feedback
/// (RFC 4342 section 6), they apply with the next feedback.
#[test]
fn drops_without_feedback_apply_with_the_next() {
    // Receive Rate 150 B/s, no losses, no time elapsed.
    let feedback = [&[194, 6, 0, 0, 0, 150][..], &[193, 12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0], &[43, 4, 0, 0]].concat();
    for trouble in [&[40, 4, 0xa0, 0xa0][..], &[2]] {
        let rates = [[false, false], [false, true], [true, false]].map(|reported| {
            let mut client = client(3);
            client.send(60, "Ack 1002 (3)", &feedback, b"");
            for (seq, reported) in (1003..).zip(reported) {
                let is_feedback: &[u8] = if seq == 1004 { &feedback } else { &[] };
                let output = if reported { trouble } else { &[] };
                client.send(200, &format!("Ack {seq} (4)"), &[is_feedback, output].concat(), b"");
            }
            rate(&mut client)
        });
        let [none, with_feedback, before] = rates;
        assert!(with_feedback < none, "{trouble:?}: {rates:?}");
        assert_eq!(before, with_feedback, "{trouble:?}: {rates:?}");
    }
}

/// Section 11.7.2: Drop Code 3 "MUST cause the relevant CCID to behave as if the relevant packets
/// were ECN marked". Under CCID 3 the receiver detects loss events (RFC 4342 section 6.1), so that
/// its Loss Intervals contain a packet with a wrong Data Checksum.
#[test]
fn corruption_is_a_loss_event_of_tfrc() {
    for crc in [[0; 4], headway_dccp::crc32c(b"x").to_be_bytes()] {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        let rules = ConnectionOptions { send_ccids: vec![3], receive_ccids: vec![3], ..preset };
        let mut server = Dialogue::open_server(&rules);
        for seq in 1002..1012 {
            let checksum = [&[44, 6][..], &crc].concat();
            let options = if seq == 1008 { &checksum[..] } else { &[] };
            server.send(20 + seq, &format!("Data {seq}"), options, b"x");
        }
        let output = server.drain_output(2000);
        // Lossless packets / nonce : lossy packets / data packets.
        let events = output.iter().any(|output| output.contains("LossIntervals(skip 0; 0/0:1/1 "));
        assert_eq!(events, crc == [0; 4], "{output:?}");
    }
}

/// The application may detect corruption itself ("this would let applications calculate their own checksums", section
/// 11.7), at once or later. Codes 0 to 2 are not marks; packets that have not arrived are not reported.
#[test]
fn corruption_that_the_application_reports_is_a_loss_event_of_tfrc() {
    for (corrupt, reported_behind, code, reported, event) in [
        (1008, 1008, 3, true, true),
        (1008, 1008, 7, true, true),
        (1008, 1008, 5, true, true),
        (1008, 1011, 3, true, true),
        (1008, 1008, 2, true, false),
        (1012, 1011, 3, false, false),
    ] {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        let rules = ConnectionOptions { send_ccids: vec![3], receive_ccids: vec![3], ..preset };
        let mut server = Dialogue::open_server(&rules);
        for seq in (1002..1015).filter(|seq| *seq != 1012) {
            server.send(20 + seq, &format!("Data {seq}"), &[], b"x");
            if seq == reported_behind {
                let (now, code) = (server.now(), DropCode::new(code).unwrap());
                server.connection().report_dropped(now, Seq48::new(corrupt), code);
            }
        }
        let output = server.drain_output(2000);
        let case = format!("{corrupt} after {reported_behind}, code {code}: {output:?}");
        assert_eq!(output.iter().any(|output| output.contains("DataDropped")), reported, "{case}");
        // Lossless packets / nonce : lossy packets / data packets.
        let events = output.iter().any(|output| output.contains(":1/") && output.contains("LossIntervals"));
        assert_eq!(events, event, "{case}");
    }
}
