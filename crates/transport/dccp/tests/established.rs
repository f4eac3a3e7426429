//! Dialogues with an endpoint whose connection is open or closing. Times are in milliseconds; the
//! endpoint's numbers are relative to its first.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::{Dialogue, confirms};
use headway_dccp::{Closed, ConnectionOptions, Delivery, Event, Ignored, Reset, ResetCode, State};
use pipe::options;

const fn reset(code: ResetCode) -> Reset {
    Reset { code, data: [0; 3] }
}
const INVALID: Delivery = Delivery::Dropped(Ignored::SequenceInvalid);

mod open {
    use super::*;

    /// First example of section 7.5.6: after a burst of losses the endpoints resynchronize.
    #[test]
    fn a_burst_of_loss() {
        let mut server = Dialogue::open_server(&options());
        assert_eq!(server.send(1000, "Data 1101", &[], b"x"), INVALID);
        server.recv(1000, "Sync 2 (1101)");
        server.send(1020, "SyncAck 1102 (2)", &[], b"");
        assert_eq!(server.send(1030, "Data 1103", &[], b"x"), Delivery::Data);
    }

    /// The same after a clock jump of eight hours between a packet and its acknowledgement, as on a machine that slept.
    /// It is not a round trip, three of which would count as active (section 7.5.3).
    #[test]
    fn a_burst_of_loss_after_a_long_sleep() {
        let mut client = Dialogue::open_client(&options());
        client.push(21, b"data");
        client.recv(21, "Data 2 Len=4");
        let (hours, minutes) = (8 * 3_600_000, 60_000);
        client.send(hours, "Ack 1002 (2)", &[], b"");
        assert_eq!(client.connection().status().rtt, Some(headway_units::Duration::from_millis(10)));
        assert_eq!(client.send(hours + minutes, "Data 1101", &[], b"x"), INVALID);
        client.recv(hours + minutes, "Sync 3 (1101)");
        client.send(hours + 5 * minutes, "Sync 1102 (3)", &[], b"");
        client.recv(hours + 5 * minutes, "SyncAck 4 (1102)");
        assert_eq!(client.send(hours + 5 * minutes + 20, "Data 1103", &[], b"x"), Delivery::Data);
    }

    /// Resynchronization at the other endpoint: the Sync acknowledges a packet that was sent. Sections 5.7 and 8.2: a
    /// SyncAck follows at once, whose acknowledgement number is the Sync's sequence number.
    #[test]
    fn a_sync_is_answered() {
        let mut client = Dialogue::open_client(&options());
        client.push(21, b"lost");
        client.recv(21, "Data 2 Len=4");
        client.send(5000, "Sync 9000 (2)", &[], b"");
        client.recv(5000, "SyncAck 3 (9000)");
        assert_eq!(client.send(5001, "Data 9001", &[], b"x"), Delivery::Data, "GSR has moved");
    }

    /// Section 11.4.2: state reported by an Ack Vector is discarded once a packet that carried it is acknowledged, also
    /// if only the peer's vector reports that: the packet in the acknowledgement number carried none.
    #[test]
    fn acknowledged_vectors_are_not_repeated() {
        let preset = <ConnectionOptions as headway_units::Options>::preset(headway_units::Dialect::Rfc);
        let rules = ConnectionOptions { send_ccids: vec![2], receive_ccids: vec![2], ..preset };
        let reported = |vector: &[u8]| {
            let mut client = Dialogue::client(&rules);
            client.next(0);
            // Both endpoints send Ack Vectors.
            let both = [&confirms(&rules)[..], &[33, 5, 6, 1, 1, 34, 4, 6, 1]].concat();
            client.send(10, "Response 1000 (0)", &both, b"");
            client.next(10);
            client.send(20, "Ack 1001 (1)", &[35, 5, 6, 1, 1], b"");
            // Every other packet is lost: one byte of the vector each.
            for packet in 0..10 {
                client.send(30, &format!("Data {}", 1002 + 2 * packet), &[], b"data");
            }
            let output = client.drain_output(31);
            assert!(
                output.last().is_some_and(|output| output.starts_with("Ack 7 (1020) | AckVector0[R1 N1 R1 N1 ")),
                "{output:?}"
            );
            client.push(40, b"x");
            client.recv(40, "Data 8 Len=1");
            client.send(50, "Ack 1022 (8)", vector, b"");
            client.send(50, "Data 1023", &[], b"data");
            client.send(50, "Data 1024", &[], b"data");
            client.drain_output(300).concat()
        };
        // Packet 8 alone was received, then all but 7, then 8 and 7.
        for vector in [&[38, 3, 0][..], &[38, 5, 0, 0xc0, 0]] {
            assert!(reported(vector).contains("N1 R1 N1 R"), "{vector:?}: {}", reported(vector));
        }
        assert_eq!(reported(&[38, 3, 1]), "Ack 9 (1024) | AckVector0[R3 N1]");
    }

    /// Section 7.4: the acknowledgement number is the greatest number received, not the latest.
    #[test]
    fn the_greatest_number_is_acknowledged() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Data 1004", &[], b"x");
        client.send(22, "Data 1003", &[], b"x");
        let now = client.now();
        client.connection().close(now);
        client.recv(22, "Close 2 (1004)");
    }

    /// Second example of section 7.5.6: a blind attack.
    #[test]
    fn a_blind_attack() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Sync 11 (1000000)", &[], b"");
        client.silence(30);
        client.send(30, "Data 1000000", &[], b"");
        client.recv(30, "Sync 2 (1000000)");
    }

    /// Section 7.5.3: an active connection checks Syncs strictly.
    #[test]
    fn active_connections_check_syncs_strictly() {
        let mut client = Dialogue::open_client(&options());
        assert_eq!(client.send(25, "Sync 5000 (1)", &[], b""), INVALID);
        // A connection is active if it received packets in the last three round trips, of 10 ms here.
        assert_eq!(client.send(50, "Sync 5000 (1)", &[], b""), INVALID);
        assert_eq!(client.send(51, "Sync 5000 (1)", &[], b""), Delivery::Nothing);
    }

    /// At most sixteen answers and 64 events are queued before the driver polls.
    #[test]
    fn answers_are_bounded() {
        let mut client = Dialogue::open_client(&options());
        let mut other = Dialogue::open_client(&options());
        for seq in 1002..1040 {
            let sync = other.bytes(&format!("Sync {seq} (1)"), &[], b"", headway_dccp::CsCov::ALL);
            let packet = headway_dccp::Packet::decode(&sync, headway_dccp::Network::Udp).unwrap();
            let now = client.now();
            client.connection().handle(now, headway_units::Ecn::NotEct, &packet);
        }
        let output = client.drain_output(20);
        assert_eq!(output.iter().filter(|output| output.starts_with("SyncAck")).count(), 16);
        other.events();
        let (now, iss) = (other.now(), other.iss());
        for mtu in (600..1400).rev() {
            other.connection().handle_too_big(iss, mtu);
        }
        assert_eq!(other.events().len(), 64);
        other.connection().handle_timeout(now);
    }

    /// Section 7.5.4: at most eight Syncs per second.
    #[test]
    fn syncs_are_limited() {
        let mut client = Dialogue::open_client(&options());
        (0..100).for_each(|n| assert_eq!(client.send(21 + n, "Data 900000", &[], b""), INVALID));
        for n in 2..10 {
            client.recv(19 + n, &format!("Sync {n} (900000)"));
        }
        client.silence(1000);
        assert_eq!(client.connection().status().counters.syncs, 8);
    }

    /// The limit of section 7.5.4 is meant against blind packets and must not help them: the peer's packets, whose
    /// numbers after a burst of losses are far nearer than a guess, are still answered.
    #[test]
    fn blind_packets_do_not_hinder_recovery() {
        let mut server = Dialogue::open_server(&options());
        (0..100).for_each(|n| assert_eq!(server.send(1000 + n, "Data 200000000000000", &[], b""), INVALID));
        for n in 0..4 {
            server.recv(1000 + n, &format!("Sync {} (200000000000000)", n + 2));
        }
        server.silence(1100);
        assert_eq!(server.send(1100, "Data 1101", &[], b"x"), INVALID);
        server.recv(1100, "Sync 6 (1101)");
        server.send(1120, "SyncAck 1102 (6)", &[], b"");
        assert_eq!(server.send(1130, "Data 1103", &[], b"x"), Delivery::Data);
        assert_eq!(server.connection().status().counters.syncs, 5);
    }

    /// Sections 7.5.3 and 7.5.4: a Reset must be new and acknowledge a recent packet; otherwise a
    /// Sync with GSR is sent to verify it.
    #[test]
    fn blind_resets_are_challenged() {
        let mut client = Dialogue::open_client(&options());
        for (n, bad) in
            ["Reset 1001 (1) 1", "Reset 1077 (1) 1", "Reset 1002 (0) 1", "Reset 1002 (99) 1"].into_iter().enumerate()
        {
            assert_eq!(client.send(21, bad, &[], b""), INVALID, "{bad}");
            client.recv(21, &format!("Sync {} (1001)", n + 2));
        }
        assert_eq!(client.state(), State::Open);
        client.send(22, "Reset 1002 (5) 11", &[], b"");
        assert_eq!(client.state(), State::TimeWait);
    }

    /// Step 7.
    #[test]
    fn unexpected_types_are_challenged() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Request 1002", &[], b"");
        client.recv(21, "Sync 2 (1002)");
        client.send(22, "Response 1003 (1)", &[], b"");
        client.recv(22, "Sync 3 (1003)");
        let mut server = Dialogue::open_server(&options());
        server.send(21, "CloseReq 1002 (1)", &[], b"");
        server.recv(21, "Sync 2 (1002)");
        server.send(22, "Response 1003 (1)", &[], b"");
        server.recv(22, "Sync 3 (1003)");
        server.send(23, "Request 1004", &[], b"");
        server.recv(23, "Sync 4 (1004)");
        assert_eq!((client.state(), server.state()), (State::Open, State::Open));
    }

    /// A reordered Request or Response from before the connection opened is not answered with a Sync.
    #[test]
    fn late_handshake_packets_are_not_challenged() {
        let mut server = Dialogue::server(&options());
        server.send(0, "Request 1000", &dialogue::changes(&options()), b"");
        server.next(0);
        server.send(10, "Ack 1002 (0)", &[], b"");
        server.recv(10, "Ack 1 (1002)");
        server.send(11, "Request 1001", &[], b"");
        server.silence(20);
    }

    /// Zero-length Data is a datagram (section 5.4); data on an Ack is padding.
    #[test]
    fn data_and_data_acks_are_delivered() {
        let mut client = Dialogue::open_client(&options());
        assert_eq!(client.send(21, "Data 1002", &[], b""), Delivery::Data);
        assert_eq!(client.send(22, "DataAck 1003 (1)", &[], b"x"), Delivery::Data);
        assert_eq!(client.send(23, "Ack 1004 (1)", &[], b"padding"), Delivery::Nothing);
        assert_eq!(client.send(24, "Data 1003", &[], b"x"), Delivery::Dropped(Ignored::Duplicate));
    }

    /// Section 7.6.1: short sequence numbers have not been allowed.
    #[test]
    fn short_numbers_are_ignored() {
        let mut client = Dialogue::open_client(&options());
        let short = [19, 140, 195, 80, 3, 0, 0, 0, 4, 0, 3, 234];
        client.wait(30);
        assert_eq!(client.receive(&short, headway_units::Ecn::NotEct), Delivery::Dropped(Ignored::ShortNumbers));
    }

    /// Section 11.7: the application reports that it dropped delivered data. Reports about packets
    /// that have not arrived are ignored.
    #[test]
    fn the_application_drops_data() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Data 1002", &[], b"x");
        client.send(22, "Data 1003", &[], b"x");
        let (now, seq) = (client.now(), headway_units::Seq48::new);
        for number in [1004, 900, 1002] {
            client.connection().report_dropped(now, seq(number), headway_dccp::DropCode::RECEIVE_BUFFER);
        }
        client.recv(222, "Ack 2 (1003) | ElapsedTime(20000) DataDropped[Normal 1 Receive Buffer 1]");
        client.silence(10_000);
    }

    /// The first acknowledgement of a packet that is answered at once is a round-trip sample. A repeated one, that of
    /// an Ack, which its receiver may delay, and one with an Elapsed Time above the whole time are not.
    #[test]
    fn round_trip_samples() {
        let mut client = Dialogue::open_client(&options());
        let rtt = |client: &mut Dialogue| client.connection().status().rtt.map(|rtt| rtt.as_nanos() / 1_000_000);
        assert_eq!(rtt(&mut client), Some(10));
        client.send(5000, "Ack 1002 (1)", &[32, 5, 5, 0, 1], b"");
        assert_eq!(rtt(&mut client), Some(10), "a repeated acknowledgement");
        client.recv(5000, "Ack 2 (1002) | ConfirmR(AckRatio 1)");
        client.send(8000, "Ack 1003 (2)", &[], b"");
        assert_eq!(rtt(&mut client), Some(10), "acknowledgement of an Ack");
        client.push(9000, b"x");
        client.send(9050, "Ack 1004 (3)", &[], b"");
        assert_eq!(rtt(&mut client), Some(15), "moves by an eighth towards 50 ms");
        client.send(9900, "Ack 1005 (3)", &[], b"");
        assert_eq!(rtt(&mut client), Some(15), "a repeated acknowledgement");
        // With Elapsed Time (section 13.2) any acknowledgement is a sample: 81 ms, less 50 ms of delay.
        client.push(10_000, b"x");
        client.send(10_081, "Ack 1006 (4)", &[43, 4, 19, 136], b"");
        assert_eq!(rtt(&mut client), Some(17));
        client.send(10_082, "Ack 1007 (4)", &[43, 4, 39, 16], b"");
        assert_eq!(rtt(&mut client), Some(17), "100 ms of delay within 82 ms");
    }

    /// Section 13.3: the Echo of our Timestamp gives the round trip less the hold time; other Echoes are ignored.
    #[test]
    fn an_echo_gives_the_round_trip() {
        let options = ConnectionOptions { timestamps: true, ..options() };
        for (echoed, wanted) in [(0, Some(6)), (1, None)] {
            let mut client = Dialogue::client(&options);
            let output = client.next(0);
            let timestamp = output.split("Timestamp(").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
            let timestamp = timestamp.parse::<u32>().unwrap() + echoed;
            // It was held for 4 ms, 400 units of 10 us.
            let echo = [&[42, 8][..], &timestamp.to_be_bytes(), &[1, 144]].concat();
            client.send(10, "Response 1000 (0)", &[confirms(&options), echo].concat(), b"");
            let rtt = client.connection().status().rtt.map(|rtt| rtt.as_nanos() / 1_000_000);
            // Without an Echo the acknowledgement of the Request is a sample.
            assert_eq!(rtt, wanted.or(Some(10)));
        }
    }

    /// Section 13.3: a Timestamp is echoed by the next packet.
    #[test]
    fn timestamps_are_echoed() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Data 1002", &[41, 6, 0, 0, 0, 99], b"");
        client.push(25, b"x");
        client.recv(25, "Data 2 Len=1 | TimestampEcho(99, elapsed 400)");
    }

    /// Section 11.7.2: Drop Code 1 stops our data when received; when sent it reports dropped data
    /// of the peer. Slow Receiver (section 11.6) is sent with it.
    #[test]
    fn no_listener() {
        let mut client = Dialogue::open_client(&options());
        client.events();
        client.push(21, b"x");
        client.recv(21, "Data 2 Len=1");
        client.send(30, "Ack 1002 (2)", &[40, 3, 0x90], b"");
        assert_eq!(client.events(), [Event::PeerNotListening]);
        client.push(40, b"y");
        client.silence(1000);
        client.connection().stop_receiving();
        assert_eq!(client.send(1000, "Data 1003", &[], b"z"), Delivery::Dropped(Ignored::NotListening));
        client.recv(1200, "Ack 3 (1003) | ElapsedTime(20000) DataDropped[Application Not Listening 1]");
        // It is repeated until the peer acknowledges it.
        client.connection().set_slow_receiver(true);
        assert_eq!(client.send(1300, "Data 1004", &[], b"z"), Delivery::Dropped(Ignored::NotListening));
        client.recv(1500, "Ack 4 (1004) | ElapsedTime(20000) SlowReceiver DataDropped[Application Not Listening 2]");
        client.send(1510, "Ack 1005 (4)", &[], b"");
        assert_eq!(client.send(1520, "Data 1006", &[], b"z"), Delivery::Dropped(Ignored::NotListening));
        client.recv(1720, "Ack 5 (1006) | ElapsedTime(20000) SlowReceiver DataDropped[Application Not Listening 1]");
    }
}

mod close {
    use super::*;

    /// Sections 5.5 and 8.3: Close is retransmitted from two round trips (of 10 ms here) with back-off. The Reset leads
    /// to TIMEWAIT of 4 minutes, where all packets but a Reset are answered with Reset 3 by section 8.3.1.
    #[test]
    fn by_the_client() {
        let mut client = Dialogue::open_client(&options());
        let now = client.now();
        client.connection().close(now);
        for (n, ms) in [20, 40, 80, 160, 320].into_iter().enumerate() {
            client.recv(ms, &format!("Close {} (1001)", n + 2));
        }
        client.send(400, "Reset 1002 (2) 1", &[], b"");
        assert_eq!(client.state(), State::TimeWait);
        client.send(401, "Data 1003", &[], b"");
        client.recv(401, &format!("Reset {} (1003) No Connection", seq_zero(&client)));
        client.send(402, "Ack 1003 (6)", &[], b"");
        client.recv(402, "Reset 7 (1003) No Connection");
        client.send(403, "Reset 1003 (6) 1", &[], b"");
        client.silence(240_399);
        assert_eq!(client.state(), State::TimeWait);
        client.silence(240_400);
        assert_eq!(client.state(), State::Closed);
    }

    /// Returns number 0 relative to a client's first.
    fn seq_zero(_: &Dialogue) -> u64 {
        let iss = headway_units::Random::new(5, "client").bits() >> 16;
        (1 << 48) - iss
    }

    #[test]
    fn by_the_server() {
        let mut server = Dialogue::open_server(&options());
        let now = server.now();
        server.connection().close(now);
        server.recv(10, "CloseReq 2 (1001)");
        assert_eq!(server.state(), State::CloseReq);
        server.send(20, "Close 1002 (2)", &[], b"");
        server.recv(20, "Reset 3 (1002) Closed");
        assert_eq!(server.events()[1..], [Event::Closed(Closed::ByUs(reset(ResetCode::CLOSED)))]);
        assert_eq!(server.state(), State::Closed);
    }

    #[test]
    fn by_a_server_that_keeps_timewait() {
        let mut server = Dialogue::open_server(&ConnectionOptions { server_time_wait: true, ..options() });
        let now = server.now();
        server.connection().close(now);
        server.recv(10, "Close 2 (1001)");
        server.send(20, "Reset 1002 (2) 1", &[], b"");
        assert_eq!(server.state(), State::TimeWait);
    }

    #[test]
    fn requested_by_the_server() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "CloseReq 1002 (1)", &[], b"");
        client.recv(30, "Close 2 (1002)");
        // The CloseReq is repeated because the Close was lost; the Close is retransmitted by its own timer.
        client.send(35, "CloseReq 1003 (1)", &[], b"");
        client.silence(49);
        client.recv(50, "Close 3 (1003)");
        assert_eq!(client.state(), State::Closing);
    }

    /// Two round trips are zero with a clock coarser than the path: the Close is not retransmitted endlessly.
    #[test]
    fn with_a_round_trip_of_zero() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(0, "Response 1000 (0)", &confirms(&options()), b"");
        client.recv(0, "Ack 1 (1000)");
        client.send(0, "Ack 1001 (1)", &[], b"");
        assert_eq!(client.connection().status().rtt, Some(headway_units::Duration::ZERO));
        let now = client.now();
        client.connection().close(now);
        for (n, ms) in [0, 2, 6, 14, 30, 62].into_iter().enumerate() {
            client.recv(ms, &format!("Close {} (1001)", n + 2));
        }
    }

    /// Simultaneous Close: each endpoint answers the other's Close.
    #[test]
    fn at_the_same_time() {
        let mut client = Dialogue::open_client(&options());
        let now = client.now();
        client.connection().close(now);
        client.recv(20, "Close 2 (1001)");
        client.send(25, "Close 1002 (1)", &[], b"");
        client.recv(25, "Reset 3 (1002) Closed");
        assert_eq!(client.state(), State::Closed);
    }

    /// Without an answer the connection is reset after eight minutes.
    #[test]
    fn without_an_answer() {
        let mut client = Dialogue::open_client(&options());
        let now = client.now();
        client.connection().close(now);
        client.wait(480_019);
        assert_eq!(client.state(), State::Closing);
        client.wait(480_020);
        assert_eq!(client.state(), State::Closed);
        assert_eq!(client.events()[1..], [Event::Closed(Closed::NoAnswer(State::Closing))]);
    }

    /// Section 8.3: a server answers a Close with a Reset and keeps no state. If the Reset is lost, it answers the next
    /// Close with No Connection (section 8.3.1). This is a normal end, too.
    #[test]
    fn the_reset_for_a_close_is_lost() {
        let mut client = Dialogue::open_client(&options());
        let now = client.now();
        client.connection().close(now);
        client.recv(20, "Close 2 (1001)");
        client.send(60, "Reset 1002 (2) 3", &[], b"");
        assert_eq!(client.events()[1..], [Event::Closed(Closed::ByPeer(reset(ResetCode::CLOSED)))]);
        // Without a Close, the peer has lost the connection.
        let mut client = Dialogue::open_client(&options());
        client.send(60, "Reset 1002 (1) 3", &[], b"");
        assert_eq!(client.events()[1..], [Event::Closed(Closed::ByPeer(reset(ResetCode::NO_CONNECTION)))]);
    }

    #[test]
    fn aborted() {
        let mut client = Dialogue::open_client(&options());
        let now = client.now();
        client.connection().abort(now);
        client.recv(20, "Reset 2 (1001) Aborted");
        assert_eq!(client.state(), State::Closed);
    }

    /// Section 8.5 step 7: a late Response is identified by OSR, "First Seq Number received in
    /// OPEN". If the connection was closed in PARTOPEN there is none: a Response from a server that
    /// has not received the Close yet gets no Sync, whatever its number.
    #[test]
    fn a_response_after_a_close_in_partopen_is_ignored() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(10, "Response 1000 (0)", &confirms(&options()), b"");
        client.recv(10, "Ack 1 (1000)");
        let now = client.now();
        client.connection().close(now);
        client.recv(10, "Close 2 (1000)");
        client.send(11, "Response 1001 (1)", &[], b"");
        client.silence(20);
        client.send(30, "Reset 1002 (2) 1", &[], b"");
        assert_eq!(client.state(), State::TimeWait);
    }

    /// Section 8.3: the end of the connection and PeerNotListening are reported however many events
    /// precede them. Of repeatable events the oldest 64 are kept, including Connected.
    #[test]
    fn closing_events_are_always_reported() {
        let mut client = Dialogue::open_client(&options());
        for ms in 100..200 {
            client.push(ms, &vec![0; 64_488]);
        }
        client.push(200, b"x");
        client.recv(200, "Data 2 Len=1");
        // Drop Code 1 for that packet.
        client.send(210, "Ack 1002 (2)", &[40, 3, 0x90], b"");
        client.send(220, "Close 1003 (2)", &[], b"");
        let mut wanted = vec![Event::Connected];
        wanted.extend([Event::DatagramTooLarge(64_488); 63]);
        wanted.extend([Event::PeerNotListening, Event::Closed(Closed::ByUs(reset(ResetCode::CLOSED)))]);
        assert_eq!(client.events(), wanted);
    }
}
