//! Dialogues with one end whose connection is open or closes.
//! Times are in milliseconds, this end's numbers steps from its first.
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

    /// The first example of section 7.5.6: after a burst of loss the ends find together again.
    #[test]
    fn a_burst_of_loss() {
        let mut server = Dialogue::open_server(&options());
        assert_eq!(server.send(1000, "Data 1101", &[], b"x"), INVALID);
        server.recv(1000, "Sync 2 (1101)");
        server.send(1020, "SyncAck 1102 (2)", &[], b"");
        assert_eq!(server.send(1030, "Data 1103", &[], b"x"), Delivery::Data);
    }

    /// The same after a clock that jumped by eight hours between a packet and its acknowledgement, as that of a machine that slept: they are no
    /// round trip, three of which the peer counts as active (section 7.5.3).
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

    /// The same from the other end: the Sync names a packet that this end did send. Sections 5.7 and 8.2: a SyncAck at once,
    /// whose Acknowledgement Number is the Sync's own.
    #[test]
    fn a_sync_is_answered() {
        let mut client = Dialogue::open_client(&options());
        client.push(21, b"lost");
        client.recv(21, "Data 2 Len=4");
        client.send(5000, "Sync 9000 (2)", &[], b"");
        client.recv(5000, "SyncAck 3 (9000)");
        assert_eq!(client.send(5001, "Data 9001", &[], b"x"), Delivery::Data, "GSR has moved");
    }

    /// Section 11.4.2: what an Ack Vector told is let go once a packet that carried it is known to have come, also where only the peer's
    /// own vector says so: the packet that it acknowledges carried none.
    #[test]
    fn vectors_that_have_come_are_not_told_again() {
        let preset = <ConnectionOptions as headway_units::Options>::preset(headway_units::Dialect::Rfc);
        let rules = ConnectionOptions { send_ccids: vec![2], receive_ccids: vec![2], ..preset };
        let told = |vector: &[u8]| {
            let mut client = Dialogue::client(&rules);
            client.next(0);
            // Both ends send Ack Vectors.
            let both = [&confirms(&rules)[..], &[33, 5, 6, 1, 1, 34, 4, 6, 1]].concat();
            client.send(10, "Response 1000 (0)", &both, b"");
            client.next(10);
            client.send(20, "Ack 1001 (1)", &[35, 5, 6, 1, 1], b"");
            // Every other packet is lost: a byte of the vector each.
            for packet in 0..10 {
                client.send(30, &format!("Data {}", 1002 + 2 * packet), &[], b"data");
            }
            let said = client.drain_said(31);
            assert!(
                said.last().is_some_and(|said| said.starts_with("Ack 7 (1020) | AckVector0[R1 N1 R1 N1 ")),
                "{said:?}"
            );
            client.push(40, b"x");
            client.recv(40, "Data 8 Len=1");
            client.send(50, "Ack 1022 (8)", vector, b"");
            client.send(50, "Data 1023", &[], b"data");
            client.send(50, "Data 1024", &[], b"data");
            client.drain_said(300).concat()
        };
        // Packet 8 alone has come, then all but 7, then 8 and 7.
        for vector in [&[38, 3, 0][..], &[38, 5, 0, 0xc0, 0]] {
            assert!(told(vector).contains("N1 R1 N1 R"), "{vector:?}: {}", told(vector));
        }
        assert_eq!(told(&[38, 3, 1]), "Ack 9 (1024) | AckVector0[R3 N1]");
    }

    /// Section 7.4: the Acknowledgement Number is the greatest number received, whatever came last.
    #[test]
    fn the_greatest_number_is_acknowledged() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Data 1004", &[], b"x");
        client.send(22, "Data 1003", &[], b"x");
        let now = client.now();
        client.connection().close(now);
        client.recv(22, "Close 2 (1004)");
    }

    /// The second example of section 7.5.6: a blind attack.
    #[test]
    fn a_blind_attack() {
        let mut client = Dialogue::open_client(&options());
        client.send(21, "Sync 11 (1000000)", &[], b"");
        client.silence(30);
        client.send(30, "Data 1000000", &[], b"");
        client.recv(30, "Sync 2 (1000000)");
    }

    /// Section 7.5.3: a connection that is active checks Syncs strictly.
    #[test]
    fn syncs_far_away_are_not_believed_while_packets_come() {
        let mut client = Dialogue::open_client(&options());
        assert_eq!(client.send(25, "Sync 5000 (1)", &[], b""), INVALID);
        // Active is who has heard in the last three round trips, of 10 ms here.
        assert_eq!(client.send(50, "Sync 5000 (1)", &[], b""), INVALID);
        assert_eq!(client.send(51, "Sync 5000 (1)", &[], b""), Delivery::Nothing);
    }

    /// Answers that wait are sixteen at most, however much comes before the driver asks; and so with 64 events.
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
        let said = client.drain_said(20);
        assert_eq!(said.iter().filter(|said| said.starts_with("SyncAck")).count(), 16);
        other.events();
        let (now, iss) = (other.now(), other.iss());
        for mtu in (600..1400).rev() {
            other.connection().handle_too_big(iss, mtu);
        }
        assert_eq!(other.events().len(), 64);
        other.connection().handle_timeout(now);
    }

    /// Section 7.5.4: eight Syncs a second at most.
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

    /// Section 7.5.4's limit is meant against blind packets, and must not serve them: however many come, the peer's own packets,
    /// which after a burst of loss are far nearer than a guess, are answered.
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

    /// Sections 7.5.3 and 7.5.4: a Reset must be new and acknowledge enough; otherwise a Sync with GSR asks whether it is
    /// meant.
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

    /// A Request or Response from before the connection opened is no surprise: it was overtaken.
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
    fn what_is_delivered() {
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
        assert_eq!(client.hear(&short, headway_units::Ecn::NotEct), Delivery::Dropped(Ignored::ShortNumbers));
    }

    /// Section 11.7: the application dropped what had been delivered, and says so in time; of a packet that has not come it
    /// has nothing to say.
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

    /// What is a sample of the round trip: the first acknowledgement of what is answered at once. One repeated, or that of an
    /// Ack, which its receiver holds back, tells nothing, nor does an Elapsed Time that is longer than all of it.
    #[test]
    fn round_trip_samples() {
        let mut client = Dialogue::open_client(&options());
        let rtt = |client: &mut Dialogue| client.connection().status().rtt.map(|rtt| rtt.as_nanos() / 1_000_000);
        assert_eq!(rtt(&mut client), Some(10));
        client.send(5000, "Ack 1002 (1)", &[32, 5, 5, 0, 1], b"");
        assert_eq!(rtt(&mut client), Some(10), "again");
        client.recv(5000, "Ack 2 (1002) | ConfirmR(AckRatio 1)");
        client.send(8000, "Ack 1003 (2)", &[], b"");
        assert_eq!(rtt(&mut client), Some(10), "of an Ack");
        client.push(9000, b"x");
        client.send(9050, "Ack 1004 (3)", &[], b"");
        assert_eq!(rtt(&mut client), Some(15), "an eighth of the way to 50 ms");
        client.send(9900, "Ack 1005 (3)", &[], b"");
        assert_eq!(rtt(&mut client), Some(15), "again");
        // With Elapsed Time (section 13.2) any acknowledgement is one: 81 ms, of which 50 were waited.
        client.push(10_000, b"x");
        client.send(10_081, "Ack 1006 (4)", &[43, 4, 19, 136], b"");
        assert_eq!(rtt(&mut client), Some(17));
        client.send(10_082, "Ack 1007 (4)", &[43, 4, 39, 16], b"");
        assert_eq!(rtt(&mut client), Some(17), "it waited for 100 ms of 82");
    }

    /// Section 13.3: the Echo of our Timestamp tells the round trip, less the time that it was held; any other Echo nothing.
    #[test]
    fn an_echo_tells_the_round_trip() {
        let options = ConnectionOptions { timestamps: true, ..options() };
        for (echoed, wanted) in [(0, Some(6)), (1, None)] {
            let mut client = Dialogue::client(&options);
            let said = client.next(0);
            let timestamp = said.split("Timestamp(").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
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

    /// Section 11.7.2: Drop Code 1 ends our data, and theirs if we say it; Slow Receiver (section 11.6) rides along.
    #[test]
    fn nobody_listens() {
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
        // It is repeated until the peer has it.
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

    /// Sections 5.5 and 8.3: two round trips (of 10 ms here), backing off; the Reset ends in TIMEWAIT of 4 minutes, where anything
    /// but a Reset gets Reset 3 by section 8.3.1.
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

    /// Number 0, as steps from a client's first.
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
    fn asked_for_by_the_server() {
        let mut client = Dialogue::open_client(&options());
        client.send(30, "CloseReq 1002 (1)", &[], b"");
        client.recv(30, "Close 2 (1002)");
        // The CloseReq again: the Close has been lost, and its own timer repeats it.
        client.send(35, "CloseReq 1003 (1)", &[], b"");
        client.silence(49);
        client.recv(50, "Close 3 (1003)");
        assert_eq!(client.state(), State::Closing);
    }

    /// Two round trips of no time at all, by a clock that is coarser than the path: the Close is not repeated without end.
    #[test]
    fn at_once() {
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

    /// Both close at once: each answers the other's Close.
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

    /// Nobody answers: eight minutes, and a Reset.
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

    #[test]
    fn aborted() {
        let mut client = Dialogue::open_client(&options());
        let now = client.now();
        client.connection().abort(now);
        client.recv(20, "Reset 2 (1001) Aborted");
        assert_eq!(client.state(), State::Closed);
    }

    /// Section 8.5 step 7: what is a Response too late is told by OSR, "First Seq Number received in OPEN". Where PARTOPEN was closed there is none:
    /// the Response of a server that has not heard of the Close yet gets no Sync, whatever its number.
    #[test]
    fn a_response_behind_a_close_from_partopen() {
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

    /// Section 8.3: whoever asks late is told that the connection is over all the same, and that the peer no longer listens; of what
    /// repeats itself the oldest 64 are kept, the Connected among them.
    #[test]
    fn the_end_is_told_behind_any_number_of_events() {
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
