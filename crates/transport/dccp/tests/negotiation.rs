//! Feature negotiation (RFC 4340 section 6) in dialogues with one endpoint. Times are in milliseconds.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::{Dialogue, changes, confirms};
use headway_dccp::{
    Ccid, CcidController, Closed, ConnectionOptions, CsCov, Delivery, Event, Ignored, Reset, ResetCode, State, crc32c,
};
use headway_rate::ControllerOptions;
use headway_units::{Dialect, Ecn, Options, Registry};
use pipe::options;

const OPTION_ERROR: Delivery = Delivery::Dropped(Ignored::OptionError);

/// Returns options for CCIDs 2 and 3 with controllers that permit all packets.
fn with(send: &[u8], receive: &[u8]) -> ConnectionOptions {
    let row = |ccid, ack_vectors| CcidController { ccid: Ccid(ccid), ack_vectors, ..options().controllers[0].clone() };
    let controllers = vec![row(2, true), row(3, false), row(248, false)];
    ConnectionOptions { send_ccids: send.to_vec(), receive_ccids: receive.to_vec(), controllers, ..options() }
}

/// Options on a client's Request and a server's Response.
mod first_packets {
    use super::*;

    /// Section 10: "that endpoint MUST send Mandatory Change(CCID) options on its first packets" if
    /// CCID 2 is unacceptable.
    #[test]
    fn a_request_negotiates_its_ccids() {
        for (send, receive, wanted) in [
            (&[2][..], &[2][..], "Mandatory ChangeL(SendAckVector 1) Mandatory ChangeR(SendAckVector 1)"),
            (&[3], &[3], "Mandatory ChangeL(CCID 3) Mandatory ChangeR(CCID 3)"),
            (&[3, 2], &[2], "ChangeL(CCID 3,2) Mandatory ChangeL(SendAckVector 1)"),
            (&[2, 3], &[3], "ChangeL(CCID 2,3) Mandatory ChangeR(CCID 3) Mandatory ChangeR(SendAckVector 1)"),
        ] {
            Dialogue::client(&with(send, receive)).recv(0, &format!("Request 0 | {wanted}"));
        }
    }

    /// RFC 4341 section 4: Ack Vectors are negotiated at connection setup, and no data is sent
    /// before they are confirmed.
    #[test]
    fn ccid_2_waits_for_ack_vectors() {
        let mut client = Dialogue::client(&with(&[2], &[248]));
        let output = client.next(0);
        assert!(output.contains("Mandatory ChangeR(SendAckVector 1)"), "{output}");
        client.outbox.push(b"data");
        client.send(10, "Response 1000 (0)", &[33, 5, 1, 248, 248], b"");
        let output = client.next(10);
        assert_eq!(output, "Ack 1 (1000)");
        client.send(20, "Ack 1001 (1)", &[33, 5, 6, 1, 1], b"");
        let output = client.next(20);
        assert!(output.starts_with("DataAck 2 (1001) Len=4"), "{output}");
    }

    /// Features of CCID 3 follow a Mandatory Change of the CCID, or wait until it is settled (section 10.3).
    #[test]
    fn features_of_a_ccid_follow_its_negotiation() {
        let rules = |send: &[u8]| ConnectionOptions { loss_event_rate: true, ..with(send, &[248]) };
        let output = Dialogue::client(&rules(&[3])).next(0);
        assert!(
            output.ends_with("Mandatory ChangeL(CCID 3) Mandatory ChangeR(CCID 248) ChangeR(SendLossEventRate 1,0)"),
            "{output}"
        );
        let mut client = Dialogue::client(&rules(&[3, 2]));
        assert!(!client.next(0).contains("SendLossEventRate"));
        client.send(10, "Response 1000 (0)", &[35, 5, 1, 3, 3, 33, 5, 1, 248, 248], b"");
        client.recv(10, "Ack 1 (1000) | ChangeR(SendLossEventRate 1,0)");
    }

    /// "The value ... is the first entry in the server's list that also occurs in the client's"
    /// (section 6.3.1). A server without a preference follows the client.
    #[test]
    fn a_server_without_preference_follows_the_client() {
        let mut server = Dialogue::server(&with(&[3], &[3]));
        let changes = [1, 32, 4, 1, 3, 1, 34, 4, 1, 3, 34, 5, 192, 1, 0, 34, 5, 7, 1, 0];
        server.send(0, "Request 1000", &changes, b"");
        let output = server.next(0);
        for confirm in ["ConfirmL(SendLossEventRate 1,1,0)", "ConfirmL(SendNDPCount 1,1,0)"] {
            assert!(output.contains(confirm), "{output}");
        }
    }

    /// Linux cannot read ECN: "it MUST send Mandatory Change L(ECN Incapable, 1) options ... until
    /// acknowledged" and "MUST NOT accept any data until" then (section 12.1).
    #[test]
    fn an_ecn_incapable_endpoint_waits_for_its_confirm() {
        let blind = ConnectionOptions { ecn: false, ..options() };
        let mut server = Dialogue::server(&blind);
        server.send(0, "Request 1000", &changes(&options()), b"");
        assert!(server.next(0).contains("Mandatory ChangeL(ECNIncapable 1)"));
        let delivery = server.send(10, "DataAck 1001 (0)", &[], b"too early");
        assert_eq!(delivery, Delivery::Dropped(Ignored::ProtocolConstraints));
        server.recv(10, "Ack 1 (1001) | DataDropped[Protocol Constraints 1]");
        server.send(20, "Ack 1002 (1)", &[35, 5, 4, 1, 1], b"");
        assert_eq!(server.send(21, "Data 1003", &[], b"now"), Delivery::Data);
    }

    /// Section 12: packets are ECN-capable unless the peer is ECN Incapable or no controller would react to a mark.
    #[test]
    fn packets_are_ecn_capable() {
        let none = (&[][..], "none", Ecn::NotEct);
        for (blind, kind, ecn) in [(&[][..], "tfrc", Ecn::Ect0), (&[1, 32, 4, 4, 1], "tfrc", Ecn::NotEct), none] {
            let mut rules = options();
            rules.controllers[0].controller = ControllerOptions::preset(kind, Dialect::Rfc).unwrap();
            let mut client = Dialogue::client(&rules);
            client.next(0);
            client.send(10, "Response 1000 (0)", &[&confirms(&options()), blind].concat(), b"");
            client.outbox.push(b"data");
            let now = client.now();
            let client = client.connection.as_mut().unwrap();
            let mut outbox = pipe::Queue::default();
            outbox.push(b"data");
            assert_eq!(client.poll_transmit(now, &mut outbox).unwrap().ecn, ecn);
        }
    }

    /// The server's order decides (section 6.3.1).
    #[test]
    fn a_server_chooses() {
        let mut server = Dialogue::server(&with(&[3, 2], &[3, 2]));
        server.send(0, "Request 1000", &[32, 5, 1, 2, 3, 34, 5, 1, 2, 3], b"");
        server.recv(0, "Response 0 (1000) | ConfirmL(CCID 3,3,2) ConfirmR(CCID 3,3,2)");
        let status = server.connection().status();
        assert_eq!((status.send_ccid, status.receive_ccid), (Ccid(3), Ccid(3)));
    }

    /// Section 6.6.9: an unacceptable Mandatory Change resets the connection with its data (section 5.6).
    #[test]
    fn a_mandatory_change_without_a_common_value_resets() {
        let mut server = Dialogue::server(&with(&[2], &[2]));
        assert_eq!(server.send(0, "Request 1000", &[1, 32, 4, 1, 3], b""), OPTION_ERROR);
        server.recv(0, "Reset 0 (1000) Mandatory Error, data=200103");
        // Without Mandatory the value is unchanged.
        let mut server = Dialogue::server(&with(&[2], &[2]));
        server.send(0, "Request 1000", &[32, 4, 1, 3, 34, 4, 1, 3], b"");
        assert!(server.next(0).starts_with("Response 0 (1000) | ConfirmL(CCID 2,2) ConfirmR(CCID 2,2)"));
    }

    /// Section 10: without a common CCID, CCID 2 remains. An endpoint that does not support it resets the connection,
    /// like Linux with the same code. During a connection the current value is acceptable and the Change is declined.
    #[test]
    fn without_a_common_ccid_an_endpoint_without_ccid_2_resets() {
        let mut server = Dialogue::server(&with(&[3], &[3]));
        assert_eq!(server.send(0, "Request 1000", &[32, 4, 1, 2, 34, 4, 1, 2], b""), OPTION_ERROR);
        server.recv(0, "Reset 0 (1000) Option Error, data=200102");
        let mut client = Dialogue::client(&with(&[3], &[3]));
        client.next(0);
        client.send(10, "Response 1000 (0)", &[35, 5, 1, 3, 3, 33, 5, 1, 3, 3], b"");
        client.next(10);
        client.send(20, "Ack 1001 (1)", &[32, 4, 1, 2], b"");
        client.recv(20, "Ack 2 (1001) | ConfirmR(CCID 3,3)");
    }
}

mod in_the_middle {
    use super::*;

    /// Non-negotiable features may change at any time, as with Linux (section 6.3.2). They are
    /// confirmed and take effect.
    #[test]
    fn values_are_confirmed() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1002 (1)", &[32, 9, 3, 0, 0, 0, 0, 0, 50, 32, 5, 5, 0, 1], b"");
        client.recv(30, "Ack 2 (1002) | ConfirmR(SequenceWindow 50) ConfirmR(AckRatio 1)");
        // W is 50 now: SWH is GSR + 38.
        assert_eq!(client.send(31, "Data 1041", &[], b""), Delivery::Dropped(Ignored::SequenceInvalid));
        client.recv(31, "Sync 3 (1041)");
        assert_eq!(client.send(32, "Data 1040", &[], b""), Delivery::Data);
    }

    /// Sections 6.6.7 and 6.6.8: unknown or invalid Changes get an empty Confirm.
    #[test]
    fn unknown_and_invalid_changes_get_empty_confirms() {
        let mut client = Dialogue::open_client(&options());
        let bad = [&[32, 4, 99, 1][..], &[34, 4, 121, 1], &[32, 9, 3, 0, 0, 0, 0, 0, 31], &[34, 5, 5, 0, 1]].concat();
        client.send(30, "Ack 1002 (1)", &bad, b"");
        client.recv(30, "Ack 2 (1002) | ConfirmR(99 empty) ConfirmL(121 empty) ConfirmR(SequenceWindow empty) ConfirmL(AckRatio empty)");
        client.silence(1000);
        // With Mandatory they are errors (section 6.6.9).
        assert_eq!(client.send(1000, "Ack 1003 (2)", &[1, 32, 4, 99, 1], b""), OPTION_ERROR);
        client.recv(1000, "Reset 3 (1003) Mandatory Error, data=206301");
        let why = Closed::ByUs(Reset { code: ResetCode::MANDATORY_ERROR, data: [32, 99, 1] });
        assert_eq!(client.events()[1..], [Event::Closed(why)]);
    }

    /// Short sequence numbers are declined in both directions (section 7.6.1; reasons: sections 7.5.5 and 7.6.2).
    #[test]
    fn short_sequence_numbers_are_declined() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1002 (1)", &[32, 5, 2, 1, 0, 34, 4, 2, 1], b"");
        client.recv(30, "Ack 2 (1002) | ConfirmL(AllowShortSeqnos 0,0) ConfirmR(AllowShortSeqnos 0,0)");
    }

    /// Section 6.6.3: a Change is retransmitted unchanged, from two round trips (of 10 ms here) up
    /// to 64 s, until the Confirm arrives.
    #[test]
    fn changes_are_retransmitted() {
        let mut client = Dialogue::open_client(&ConnectionOptions { send_coverage: 1, ..options() });
        // The Response did not confirm the Change of the Request.
        let change = "ChangeR(MinChecksumCoverage 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15)";
        let mut times = Vec::new();
        for n in 2..18 {
            client.wait(1_000_000);
            let output = client.next_at();
            assert!(output.1.starts_with(&format!("Ack {n} (1001) | {change}")), "{}", output.1);
            times.push(output.0);
        }
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.windows(2).all(|pair| pair[1] == (pair[0] * 2).min(64_000)), "{gaps:?}");
        assert_eq!(gaps.last(), Some(&64_000));
    }

    /// "Not less than one round-trip time", but never at once if a coarse clock measures zero.
    #[test]
    fn changes_are_not_retransmitted_at_once() {
        let mut client = Dialogue::client(&ConnectionOptions { loss_event_rate: true, ..with(&[3, 2], &[3]) });
        client.next(0);
        client.send(0, "Response 1000 (0)", &[35, 5, 1, 3, 3, 33, 5, 1, 3, 3], b"");
        client.send(0, "Ack 1001 (0)", &[], b"");
        let output = client.drain_output(1000);
        let changes = output.iter().filter(|output| output.contains("ChangeR(SendLossEventRate 1,0)")).count();
        // At 0, 2, 6, 14, ... up to 510 ms, each at most one round trip later.
        assert!((5..=10).contains(&changes), "{changes}: {output:?}");
    }

    /// Section 6.6.4, first condition: options of a reordered packet are ignored.
    #[test]
    fn reordered_changes_are_ignored() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1003 (1)", &[32, 9, 3, 0, 0, 0, 0, 0, 50], b"");
        client.recv(30, "Ack 2 (1003) | ConfirmR(SequenceWindow 50)");
        client.send(31, "Ack 1002 (1)", &[32, 9, 3, 0, 0, 0, 0, 0, 99], b"");
        client.silence(1000);
        assert_eq!(client.send(1000, "Data 1042", &[], b""), Delivery::Dropped(Ignored::SequenceInvalid), "still 50");
    }

    /// FGSR is the greatest sequence number received (section 6.6.4): a reordered packet does not
    /// lower it, so that later reordered packets are also ignored.
    #[test]
    fn consecutive_reordered_changes_are_ignored() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1004 (1)", &[32, 9, 3, 0, 0, 0, 0, 0, 50], b"");
        client.recv(30, "Ack 2 (1004) | ConfirmR(SequenceWindow 50)");
        for (ms, packet) in [(31, "Ack 1002 (1)"), (32, "Ack 1003 (1)")] {
            client.send(ms, packet, &[32, 9, 3, 0, 0, 0, 0, 0, 99], b"");
        }
        client.silence(1000);
        assert_eq!(client.send(1000, "Data 1043", &[], b""), Delivery::Dropped(Ignored::SequenceInvalid), "still 50");
    }

    /// Section 6.6.1: packets for negotiation only are sent once per round trip. A delayed packet may cause a measured
    /// round trip of minutes; the wait is limited to the maximum retransmission interval of Changes.
    #[test]
    fn the_wait_of_confirms_is_bounded() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(170_000, "Response 1000 (0)", &confirms(&options()), b"");
        client.drain_output(170_000);
        client.send(170_010, "Ack 1001 (0)", &[32, 9, 3, 0, 0, 0, 0, 0, 50], b"");
        let output = client.drain_output(170_010);
        assert!(output.last().unwrap().contains("ConfirmR(SequenceWindow 50)"), "{output:?}");
        client.send(171_000, "Ack 1002 (0)", &[32, 9, 3, 0, 0, 0, 0, 0, 60], b"");
        let output = client.drain_output(170_010 + 64_000);
        assert!(output.last().is_some_and(|output| output.contains("ConfirmR(SequenceWindow 60)")), "{output:?}");
    }

    /// Second condition: a Confirm must acknowledge the latest Change.
    #[test]
    fn old_confirms_are_ignored() {
        let mut client = Dialogue::client(&ConnectionOptions { loss_event_rate: true, ..with(&[3, 2], &[3]) });
        client.next(0);
        client.send(10, "Response 1000 (0)", &[35, 5, 1, 3, 3, 33, 5, 1, 3, 3], b"");
        client.recv(10, "Ack 1 (1000) | ChangeR(SendLossEventRate 1,0)");
        // The Change is on packet 1: a packet that acknowledges 0 does not answer it, even with a wrong choice.
        client.send(20, "Ack 1001 (0)", &[33, 5, 192, 7, 7], b"");
        client.silence(25);
        client.send(25, "Ack 1002 (1)", &[33, 5, 192, 7, 7], b"");
        client.recv(25, "Reset 2 (1002) Option Error, data=21c007");
    }

    /// Section 6.6.8: a Confirm of a wrong value is an Option Error; an unrequested one is ignored (section 6.6.2).
    #[test]
    fn wrong_confirms() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        assert_eq!(client.send(10, "Response 1000 (0)", &[35, 5, 1, 3, 3], b""), OPTION_ERROR);
        client.recv(10, "Reset 1 (1000) Option Error, data=230103");
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1002 (1)", &[35, 5, 1, 3, 3, 35, 3, 77, 33, 9, 3, 0, 0, 0, 0, 0, 1], b"");
        client.silence(1000);
        assert_eq!(client.state(), State::Open);
    }

    /// Section 6.6.7: an empty Confirm leaves the value unchanged, except for features that every
    /// implementation must support.
    #[test]
    fn empty_confirms() {
        let mut client = Dialogue::client(&ConnectionOptions { ndp_counts: true, ..options() });
        client.next(0);
        client.send(10, "Response 1000 (0)", &[&confirms(&options())[..], &[33, 3, 7]].concat(), b"");
        assert_eq!(client.next(10), "Ack 1 (1000)");
        let mut client = Dialogue::client(&options());
        client.next(0);
        assert_eq!(client.send(10, "Response 1000 (0)", &[35, 3, 1], b""), OPTION_ERROR);
        client.recv(10, "Reset 1 (1000) Option Error, data=230100");
    }

    /// Section 6.6.6: a Change answers a Change.
    #[test]
    fn a_change_answers_a_change() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(10, "Response 1000 (0)", &[32, 4, 1, 248, 34, 4, 1, 248], b"");
        client.recv(10, "Ack 1 (1000) | ConfirmL(CCID 248,248) ConfirmR(CCID 248,248)");
        client.send(20, "Ack 1001 (1)", &[], b"");
        client.silence(1000);
    }

    /// A CCID can change during a connection, but not repeatedly (section 10.5).
    #[test]
    fn ccids_change_once_a_minute() {
        let mut server = Dialogue::server(&with(&[2, 3], &[2, 3]));
        server.send(0, "Request 1000", &[], b"");
        let output = server.next(0);
        assert!(output.contains("ChangeL(CCID 2,3) ChangeR(CCID 2,3)"), "{output}");
        server.send(10, "Ack 1001 (0)", &[33, 7, 1, 2, 2, 3, 35, 7, 1, 2, 2, 3, 33, 5, 6, 1, 1, 35, 5, 6, 1, 1], b"");
        server.next(10);
        server.send(20, "Ack 1002 (1)", &[32, 4, 1, 3], b"");
        assert_eq!(server.connection().status().receive_ccid, Ccid(3));
        server.wait(100);
        server.send(100, "Ack 1003 (1)", &[32, 4, 1, 2], b"");
        assert_eq!(server.connection().status().receive_ccid, Ccid(3), "too soon");
        server.wait(61_000);
        server.send(61_000, "Ack 1004 (1)", &[32, 4, 1, 2], b"");
        assert_eq!(server.connection().status().receive_ccid, Ccid(2), "a minute later");
    }

    /// The Sequence Window grows to five times the packets of a round trip (section 7.5.2).
    #[test]
    fn the_sequence_window_grows() {
        let mut client = Dialogue::open_client(&options());
        (0..60).for_each(|n| client.push(20 + n / 20, b"data"));
        assert!(client.drain_output(23).iter().all(|output| output.starts_with("Data")));
        client.send(30, "Ack 1002 (61)", &[], b"");
        client.push(31, b"data");
        let output = client.next_at().1;
        assert!(output.contains("ChangeL(SequenceWindow 512)"), "{output}");
    }

    /// A window of 100 is five times the packets of a round trip for up to 20 of them.
    #[test]
    fn a_wide_sequence_window_is_not_changed() {
        for (packets, grows) in [(19, false), (20, false), (21, true)] {
            let mut client = Dialogue::open_client(&options());
            (0..packets).for_each(|n| client.push(20 + n / 20, b"data"));
            assert_eq!(client.drain_output(23).len() as u64, packets);
            client.send(30, &format!("Ack 1002 ({})", packets + 1), &[], b"");
            client.push(31, b"data");
            let output = client.drain_output(40);
            assert_eq!(
                output.iter().any(|output| output.contains("ChangeL(SequenceWindow 128)")),
                grows,
                "{packets}: {output:?}"
            );
        }
    }
}

mod data {
    use super::*;

    /// Section 9.2.1: data with less coverage than agreed is dropped and reported.
    #[test]
    fn checksum_coverage() {
        let mut server = Dialogue::server(&ConnectionOptions { minimum_coverage: 3, ..options() });
        server.send(0, "Request 1000", &[&changes(&options())[..], &[34, 5, 8, 2, 3]].concat(), b"");
        assert!(server.next(0).contains("ConfirmL(MinChecksumCoverage 3,3,4,5"));
        server.send(10, "Ack 1001 (0)", &[], b"");
        server.next(10);
        assert_eq!(server.send_covered(20, "Data 1002", b"12345678", 3), Delivery::Data);
        assert_eq!(server.send_covered(20, "Data 1003", b"12345678", 0), Delivery::Data);
        let refused = server.send_covered(20, "Data 1004", b"12345678", 2);
        assert_eq!(refused, Delivery::Dropped(Ignored::ProtocolConstraints));
        server.recv(220, "Ack 2 (1004) | ElapsedTime(20000) DataDropped[Protocol Constraints 1]");
    }

    /// Section 9.2.1: Minimum Checksum Coverage is initially 0, which requires full coverage of every packet.
    #[test]
    fn nothing_is_left_uncovered_unless_agreed() {
        let mut server = Dialogue::open_server(&options());
        assert_eq!(server.send_covered(20, "Data 1002", b"12345678", 0), Delivery::Data);
        for (number, cscov) in [(1003, 1), (1004, 3)] {
            let refused = server.send_covered(20, &format!("Data {number}"), b"12345678", cscov);
            assert_eq!(refused, Delivery::Dropped(Ignored::ProtocolConstraints), "{cscov}");
        }
    }

    /// Section 9.3: corrupt data is dropped and reported to the peer.
    #[test]
    fn data_checksums() {
        let checksum = |data: &[u8]| [&[44, 6][..], &crc32c(data).to_be_bytes()].concat();
        let mut client = Dialogue::open_client(&options());
        assert_eq!(client.send(30, "Data 1002", &checksum(b"good"), b"good"), Delivery::Data);
        let corrupt = client.send(30, "Data 1003", &checksum(b"good"), b"gold");
        assert_eq!(corrupt, Delivery::Dropped(Ignored::Corrupt));
        client.recv(230, "Ack 2 (1003) | ElapsedTime(20000) DataDropped[Corrupt 1]");
    }

    /// Section 9.3.1: an endpoint requests verification of Data Checksums, and sends no data before it is agreed.
    #[test]
    fn data_checksums_are_negotiated() {
        let mut client = Dialogue::client(&ConnectionOptions { data_checksum: true, ..options() });
        assert!(client.next(0).contains("Mandatory ChangeR(CheckDataChecksum 1)"));
        client.send(10, "Response 1000 (0)", &confirms(&options()), b"");
        client.push(10, b"data");
        assert!(client.next(10).starts_with("Ack 1 (1000)"));
        client.send(20, "Ack 1001 (1)", &[33, 5, 9, 1, 1], b"");
        client.wait(20);
        let output = client.next_at().1;
        assert_eq!(output, format!("Data 2 Len=4 | DataChecksum({:08x})", crc32c(b"data")));
    }

    /// Sections 7.7 and 7.7.2: on request of the peer, a packet after packets without data counts them.
    #[test]
    fn ndp_counts() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1002 (1)", &[34, 4, 7, 1], b"");
        client.recv(30, "Ack 2 (1002) | NDP(1) ConfirmL(SendNDPCount 1,0,1)");
        client.push(40, b"data");
        client.push(40, b"data");
        client.recv(40, "Data 3 Len=4 | NDP(2)");
        client.recv(40, "Data 4 Len=4");
    }

    /// Section 6.3.1: an endpoint that does not accept repair packets confirms the value 0.
    #[test]
    fn repair_packets_need_consent() {
        let mut refusing = Dialogue::open_client(&options());
        refusing.send(30, "Ack 1002 (1)", &[32, 5, 120, 1, 0], b"");
        refusing.recv(30, "Ack 2 (1002) | ConfirmR(SendRepairs 0,0)");
        let mut accepting = Dialogue::open_client(&ConnectionOptions { receive_repairs: true, ..options() });
        accepting.send(30, "Ack 1002 (1)", &[32, 5, 120, 1, 0], b"");
        accepting.recv(30, "Ack 2 (1002) | ConfirmR(SendRepairs 1,1,0)");
    }

    /// Sections 14 and 14.1: an ICMP message that quotes a sent packet reduces the MPS with an
    /// event. One that quotes another packet is ignored.
    #[test]
    fn mtu_reports_shrink_the_path_mtu() {
        let mut client = Dialogue::open_client(&options());
        client.events();
        let iss = client.iss();
        client.connection().handle_too_big(iss + 77, 1000);
        assert_eq!(client.connection().status().maximum_packet_size, 1440);
        client.connection().handle_too_big(iss + 1, 1000);
        assert_eq!(client.events(), [Event::MaximumPacketSize(940)]);
        // Larger packets are sent in fragments (section 14.2).
        let (now, mut outbox) = (client.now(), pipe::Queue::default());
        outbox.push(&[0; 1200]);
        outbox.push(&[0; 900]);
        let client = client.connection();
        let fragmentable = client.poll_transmit(now, &mut outbox).map(|out| (out.packet.data.len(), out.dont_fragment));
        assert_eq!(fragmentable, Some((1200, false)));
        let whole = client.poll_transmit(now, &mut outbox).map(|out| (out.packet.data.len(), out.dont_fragment));
        assert_eq!(whole, Some((900, true)));
        // The limit is exact: 980 bytes of DCCP, of which the header of a Data packet is 16.
        for (len, dont_fragment) in [(964, true), (965, false)] {
            outbox.push(&vec![0; len]);
            assert_eq!(client.poll_transmit(now, &mut outbox).map(|out| out.dont_fragment), Some(dont_fragment));
        }
        // A datagram above the limit is discarded: 65535 bytes less the longest header.
        outbox.push(&[0; 64_488]);
        outbox.push(&[0; 64_487]);
        assert_eq!(client.poll_transmit(now, &mut outbox).map(|out| out.packet.data.len()), Some(64_487));
        assert_eq!(client.poll_event(), Some(Event::DatagramTooLarge(64_488)));
    }

    /// Section 11.2: an acknowledgement is combined with data unless the packet would be too long.
    #[test]
    fn acknowledgements_are_combined_with_data() {
        for (len, output) in [
            (100, &["DataAck 2 (1002) Len=100"][..]),
            (1200, &["DataAck 2 (1002) Len=1200"]),
            (1230, &["Ack 2 (1002)", "Data 3 Len=1230"]),
            (1440, &["Ack 2 (1002)", "Data 3 Len=1440"]),
        ] {
            let mut client = Dialogue::open_client(&options());
            client.wait(30);
            client.outbox.push(&vec![0; len]);
            let change = client.bytes("Ack 1002 (1)", &[32, 5, 5, 0, 1], b"", CsCov::ALL);
            client.receive(&change, Ecn::NotEct);
            let reported = client.drain_output(30);
            let bare: Vec<_> = reported.iter().map(|output| output.split(" | ").next().unwrap()).collect();
            assert_eq!(bare, output);
            assert!(reported[0].ends_with("ConfirmR(AckRatio 1)"), "{}", reported[0]);
        }
    }

    /// Section 14.1: padded Syncs find a larger path MTU.
    #[test]
    fn the_path_mtu_is_probed() {
        let mut client = Dialogue::open_client(&ConnectionOptions { probe_mtu: true, ..options() });
        client.recv(20, "Sync 2 (1001) Len=1456");
        client.recv(20, "Sync 3 (1001)");
        client.events();
        assert!(!client.connection().status().maximum_packet_size_is_known);
        client.send(30, "SyncAck 1002 (2)", &[], b"");
        client.send(30, "SyncAck 1003 (3)", &[], b"");
        assert_eq!(client.events(), [Event::MaximumPacketSize(1440)]);
        assert!(client.connection().status().maximum_packet_size_is_known);
        client.silence(500_000);
    }

    /// If only the bare Sync after a probe is answered, the probe is repeated at once (the timer of
    /// RFC 8899 section 5.1.1 is for silence).
    #[test]
    fn a_probe_known_as_lost_is_repeated_at_once() {
        let mut client = Dialogue::open_client(&ConnectionOptions { probe_mtu: true, ..options() });
        client.events();
        for (n, ms) in [2, 4, 6].into_iter().zip([20, 30, 40]) {
            client.recv(ms, &format!("Sync {n} ({}) Len=1456", 1000 + n / 2));
            client.recv(ms, &format!("Sync {} ({})", n + 1, 1000 + n / 2));
            assert_eq!(client.events(), []);
            client.send(ms + 10, &format!("SyncAck {} ({})", 1001 + n / 2, n + 1), &[], b"");
        }
        assert_eq!(client.events(), [Event::MaximumPacketSize(1220)], "the size is known and unchanged");
        assert!(client.connection().status().maximum_packet_size_is_known);
        // RFC 8899 section 5.2: the base size is confirmed.
        client.recv(50, "Sync 8 (1004) Len=1236");
        client.recv(50, "Sync 9 (1004)");
        client.send(60, "SyncAck 1005 (8)", &[], b"");
        client.recv(60, "Sync 10 (1005) Len=1346");
    }

    /// RFC 1191 section 3: after a "too big" message nothing larger is tried for five minutes,
    /// during a probe or between searches.
    #[test]
    fn no_probe_goes_soon_after_too_big() {
        for when in [100, 19_000, 500_000] {
            let mut client = Dialogue::open_client(&ConnectionOptions { probe_mtu: true, ..options() });
            client.drain_output(when);
            let data = client.iss() + 1;
            client.connection().handle_too_big(data, 1000);
            client.silence(when + 300_000);
            assert!(client.drain_output(when + 900_000)[0].starts_with("Sync"), "the search resumes");
        }
    }

    /// An unanswered probe is repeated three times, a second apart, then a smaller one follows,
    /// half way up from 1280. A successful one raises the MPS; the lost size is tried again after
    /// ten minutes. An NDP Count reduces the padding.
    #[test]
    fn an_unanswered_probe_is_too_large() {
        let mut client = Dialogue::open_client(&ConnectionOptions { probe_mtu: true, ..options() });
        client.events();
        assert_eq!(client.connection().status().maximum_packet_size, 1220);
        for (n, ms) in [(2, 20), (4, 1020), (6, 2020)] {
            client.recv(ms, &format!("Sync {n} (1001) Len=1456"));
            client.recv(ms, &format!("Sync {} (1001)", n + 1));
        }
        // RFC 8899 section 5.2: the base size must be confirmed; three Syncs stay unanswered.
        for (n, ms) in [(8, 3020), (10, 4020), (12, 5020)] {
            client.recv(ms, &format!("Sync {n} (1001) Len=1236"));
            client.recv(ms, &format!("Sync {} (1001)", n + 1));
        }
        // Half way between 1280 and 1499 is 1390, less 20 of IP and 24 of the Sync header.
        client.recv(6020, "Sync 14 (1001) Len=1346");
        client.recv(6020, "Sync 15 (1001)");
        assert_eq!(client.events(), [Event::MaximumPacketSize(1220)], "the size is known and unchanged");
        client.send(6030, "Ack 1002 (15)", &[34, 4, 7, 1], b"");
        client.recv(6030, "Ack 16 (1002) | NDP(15) ConfirmL(SendNDPCount 1,0,1)");
        assert_eq!(client.events(), []);
        client.send(6040, "SyncAck 1003 (14)", &[], b"");
        assert_eq!(client.events(), [Event::MaximumPacketSize(1350 - 20)]);
        let output = client.next(6040);
        assert_eq!(
            output, "Sync 17 (1003) Len=1397 | NDP(16)",
            "half way between 1390 and 1499, less a word of options"
        );
    }

    /// Packets of every type and bytes of data are counted.
    #[test]
    fn counters() {
        let mut client = Dialogue::open_client(&options());
        client.push(21, b"four");
        client.push(21, b"seven b");
        client.send(22, "Data 1002", &[], b"x");
        client.send(23, "Data 1003", &[], b"x");
        client.send(24, "Data 1003", &[], b"x");
        client.send(25, "Data 9000", &[], b"x");
        client.send(26, "Ack 1004 (3)", &[], b"");
        let counters = client.connection().status().counters;
        // Sent: Request, Ack, two Data and a Sync. Received: Response, two Acks and two Data, one
        // invalid packet and one duplicate.
        let sent = (counters.sent_packets, counters.sent_data_packets, counters.sent_data, counters.syncs);
        assert_eq!(sent, (5, 2, 11, 1));
        let received = (counters.received_packets, counters.delivered_packets, counters.dropped_packets);
        assert_eq!(received, (5, 2, 2));
    }

    /// Section 9.3: a Data Checksum on a packet without data is that of zero bytes.
    #[test]
    fn data_checksum_of_no_data() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "Ack 1002 (1)", &[44, 6, 0, 0, 0, 0], b"");
        client.silence(1000);
        client.send(1000, "Ack 1003 (1)", &[44, 6, 0, 0, 0, 1], b"");
        client.recv(1200, "Ack 2 (1003) | ElapsedTime(20000) DataDropped[Corrupt 1]");
    }

    /// The Linux preset matches the captures.
    #[test]
    fn the_linux_preset() {
        let mut client = Dialogue::client(&ConnectionOptions {
            controllers: with(&[], &[]).controllers,
            ..ConnectionOptions::preset(Dialect::Linux)
        });
        let output = client.next(0);
        for option in [
            "Mandatory ChangeL(ECNIncapable 1)",
            "Mandatory ChangeR(SendAckVector 1)",
            "Mandatory ChangeL(SendAckVector 1)",
            "Timestamp(",
        ] {
            assert!(output.contains(option), "{output}");
        }
    }
}
