//! What a sender makes of Data Dropped and Slow Receiver (RFC 4340 sections 11.6 and 11.7.2).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;

use dialogue::{Dialogue, confirms};
use headway_dccp::{ConnectionOptions, DropCode};
use headway_units::{Dialect, Options, Seq48};

/// A client that has sent packets 2, 3 and 4 with data at 30 ms; the peer's next number is 1002.
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
    let said = client.drain_said(50);
    assert_eq!(said.iter().filter(|said| said.contains("Len=1")).count(), 3, "{said:?}");
    client
}

fn window(client: &mut Dialogue) -> f64 {
    client.connection().status().sender.unwrap().window_packets.unwrap()
}

fn rate(client: &mut Dialogue) -> u64 {
    client.connection().status().sender.unwrap().target_rate.unwrap().bits_per_second()
}

/// Section 11.7: the first block covers the packet's own acknowledgement number. A packet without options says nothing, least of all what
/// the packet before it said.
#[test]
fn a_packet_without_options_drops_nothing() {
    let (dropped, received) = ([40, 3, 0xa0], [38, 3, 2]);
    let mut client = client(2);
    assert_eq!(window(&mut client), 3.0);
    client.send(60, "Ack 1002 (2)", &[dropped, received].concat(), b"");
    assert_eq!(window(&mut client), 2.0, "one less for packet 2");
    client.send(70, "Ack 1003 (4)", &[], b"");
    client.send(80, "Ack 1004 (4)", &[dropped, received].concat(), b"");
    assert_eq!(window(&mut client), 1.0, "and one for packet 4, of which nothing was said before");
}

/// Section 11.7: options that "report the status of more packets than have been sent" are ignored.
#[test]
fn more_packets_than_were_sent_drop_nothing() {
    let received = [38, 3, 2];
    for (block, left) in [(0xa2, 1.0), (0xa3, 3.0), (0x90, 3.0), (0x9f, 3.0)] {
        let mut client = client(2);
        client.events();
        client.send(60, "Ack 1002 (2)", &[&[40, 3, block][..], &received].concat(), b"");
        assert_eq!(window(&mut client), left, "{block}");
        // One packet of which the application says that it does not listen, but not sixteen of three.
        assert_eq!(client.events().len(), usize::from(block == 0x90));
    }
}

/// Section 11.7: options that "disagree with Ack Vector ... (by reporting a 'not yet received' packet as 'dropped in the receive buffer', for
/// example)" are ignored, all of them. Of packets 4, 3 and 2 the vector says here which have come.
#[test]
fn packets_that_have_not_come_drop_nothing() {
    const COME: u8 = 0;
    const NOT_COME: u8 = 0xc0;
    for (blocks, vector, ignored) in [
        (&[0, 0xa0][..], &[COME, NOT_COME, COME][..], true),
        (&[0, 0xa0], &[2], false),
        (&[0, 0xa1], &[1, NOT_COME], true),
        (&[0xa0, 0x90], &[COME, NOT_COME], true),
        (&[1, 0xa0], &[COME, NOT_COME, COME], false),
        (&[0, 0xa0], &[COME], false),
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

/// Section 11.7.2: "Every packet newly acknowledged as Drop Code 2 SHOULD reduce the sender's instantaneous rate by one packet per
/// round-trip time". Data Dropped and Slow Receiver may ride on any acknowledgement, also on one that is no feedback (RFC 4342
/// section 6): then they count with the next that is.
#[test]
fn what_was_told_without_feedback_counts_with_the_next() {
    // Receive Rate 150 B/s; nothing was lost; no time has passed.
    let feedback = [&[194, 6, 0, 0, 0, 150][..], &[193, 12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0], &[43, 4, 0, 0]].concat();
    for trouble in [&[40, 4, 0xa0, 0xa0][..], &[2]] {
        let rates = [[false, false], [false, true], [true, false]].map(|told| {
            let mut client = client(3);
            client.send(60, "Ack 1002 (3)", &feedback, b"");
            for (seq, told) in (1003..).zip(told) {
                let is_feedback: &[u8] = if seq == 1004 { &feedback } else { &[] };
                let said = if told { trouble } else { &[] };
                client.send(200, &format!("Ack {seq} (4)"), &[is_feedback, said].concat(), b"");
            }
            rate(&mut client)
        });
        let [none, with_feedback, before] = rates;
        assert!(with_feedback < none, "{trouble:?}: {rates:?}");
        assert_eq!(before, with_feedback, "{trouble:?}: {rates:?}");
    }
}

/// Section 11.7.2: Drop Code 3 "MUST cause the relevant CCID to behave as if the relevant packets were ECN marked". Loss events
/// are the receiver's to find under CCID 3 (RFC 4342 section 6.1), so that its Loss Intervals tell of a packet whose Data Checksum is wrong.
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
        let said = server.drain_said(2000);
        // Lossless packets / nonce : lossy packets / data packets.
        let events = said.iter().any(|said| said.contains("LossIntervals(skip 0; 0/0:1/1 "));
        assert_eq!(events, crc == [0; 4], "{said:?}");
    }
}

/// The same where the application finds out by itself ("this would let applications calculate their own checksums", section 11.7), at once
/// or a while later. Codes 0 to 2 are no marks; of a packet that has not come nothing is told.
#[test]
fn corruption_that_the_application_reports_is_a_loss_event_of_tfrc() {
    for (corrupt, reported_behind, code, told, event) in [
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
        let said = server.drain_said(2000);
        let case = format!("{corrupt} behind {reported_behind}, code {code}: {said:?}");
        assert_eq!(said.iter().any(|said| said.contains("DataDropped")), told, "{case}");
        // Lossless packets / nonce : lossy packets / data packets.
        let events = said.iter().any(|said| said.contains(":1/") && said.contains("LossIntervals"));
        assert_eq!(events, event, "{case}");
    }
}
