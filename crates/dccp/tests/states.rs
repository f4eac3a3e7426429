//! Dialogues with one end, grouped by its state. Times are in milliseconds, this end's numbers steps from its first.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod dialogue;
mod pipe;

use dialogue::{Dialogue, confirms};
use headway_dccp::{Closed, ConnectionOptions, Delivery, Event, Ignored, InitCookies, Reset, ResetCode, State};
use pipe::options;

const fn reset(code: ResetCode) -> Reset {
    Reset { code, data: [0; 3] }
}
const INVALID: Delivery = Delivery::Dropped(Ignored::SequenceInvalid);
const ASK: &str = " | Mandatory ChangeL(CCID 248) Mandatory ChangeR(CCID 248)";

mod request {
    use super::*;

    /// Sections 5.2 and 8.1.1: after about a second, backing off to 64 s; after three minutes a Reset with acknowledgement number 0.
    #[test]
    fn is_repeated_until_the_client_gives_up() {
        let mut client = Dialogue::client(&options());
        for (n, ms) in [0, 1000, 3000, 7000, 15_000, 31_000, 63_000, 127_000].into_iter().enumerate() {
            client.recv(ms, &format!("Request {n}{ASK}"));
        }
        client.recv(180_000, "Reset 8 (0) Aborted");
        assert_eq!(client.state(), State::Closed);
        assert_eq!(client.events(), [Event::Closed(Closed::NoAnswer(State::Request))]);
        client.silence(1_000_000);
    }

    /// Linux 6.1 sends seven Requests, the first again after 3 s, and then a Reset: its timers, which are late by 2 %, took
    /// 227 s.
    #[test]
    fn of_the_linux_preset() {
        use headway_units::{Dialect, Options};
        let mut client = Dialogue::client(&ConnectionOptions::preset(Dialect::Linux));
        for ms in [0, 3000, 9000, 21_000, 45_000, 93_000, 157_000] {
            assert!(client.next(ms).starts_with("Request"));
        }
        client.recv(221_000, "Reset 7 (0) Aborted");
    }

    /// Section 5.6, step 4: anything but a Response or Reset is answered by Reset 4, whose data is the packet's type, and the state
    /// stays (the half-open example of section 7.5.6).
    #[test]
    fn other_packets_are_reset() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        assert_eq!(client.send(5, "Sync 11 (0)", &[], b""), Delivery::Dropped(Ignored::NotInRequest));
        client.recv(5, "Reset 1 (11) Packet Error, data=080000");
        client.send(6, "Data 12", &[], b"x");
        client.recv(6, "Reset 2 (12) Packet Error, data=020000");
        client.send(7, "Response 13 (77)", &[], b"");
        // Of another connection: its own numbers.
        client.recv(7, "Reset 78 (13) Packet Error, data=010000");
        assert_eq!(client.state(), State::Request);
        client.recv(1000, &format!("Request 3{ASK}"));
    }

    /// Steps 4 and 9.
    #[test]
    fn is_refused() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(5, "Reset 0 (77) 7", &[], b"");
        assert_eq!(client.state(), State::Request, "it acknowledges nothing that was sent");
        client.send(6, "Reset 0 (0) 7", &[], b"");
        assert_eq!(client.state(), State::TimeWait);
        assert_eq!(client.events(), [Event::Closed(Closed::ByPeer(reset(ResetCode::CONNECTION_REFUSED)))]);
        client.silence(239_000);
        assert_eq!(client.state(), State::TimeWait);
        client.silence(240_006);
        assert_eq!(client.state(), State::Closed);
    }

    /// Section 8.1.1: data that goes with a Request is what fits a packet, if it is any.
    #[test]
    fn data_that_does_not_fit_waits() {
        for (len, said) in [(0, ""), (1, " Len=1"), (1440, " Len=1440"), (1441, "")] {
            let mut client = Dialogue::client(&ConnectionOptions { handshake_data: true, ..options() });
            client.outbox.push(&vec![7; len]);
            client.recv(0, &format!("Request 0{said}{ASK}"));
        }
        let mut client = Dialogue::client(&options());
        client.outbox.push(b"x");
        client.recv(0, &format!("Request 0{ASK}"));
    }

    /// Before the first Request nothing has begun: there is nothing to reset.
    #[test]
    fn nothing_goes_before_the_request() {
        let mut client = Dialogue::client(&options());
        let now = client.now();
        client.connection().close(now);
        client.silence(1_000_000);
        assert_eq!((client.state(), client.events().len()), (State::Closed, 1));
    }

    /// Closing before there is a connection.
    #[test]
    fn is_given_up_by_the_application() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        let now = client.now();
        client.connection().close(now);
        client.recv(0, "Reset 1 (0) Aborted");
        assert_eq!(client.state(), State::Closed);
    }

    /// Section 8.1.1: "MUST contain the same ... application data".
    #[test]
    fn repeats_its_data() {
        let mut client = Dialogue::client(&ConnectionOptions { handshake_data: true, ..options() });
        client.outbox.push(b"first");
        client.recv(0, &format!("Request 0 Len=5{ASK}"));
        client.recv(1000, &format!("Request 1 Len=5{ASK}"));
        client.outbox.push(b"second one");
        client.send(1010, "Response 1000 (1)", &confirms(&options()), b"");
        client.recv(1010, "DataAck 2 (1000) Len=10");
    }
}

mod partopen {
    use super::*;

    fn partopen() -> Dialogue {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(10, "Response 1000 (0)", &confirms(&options()), b"");
        assert_eq!(client.state(), State::PartOpen);
        client
    }

    /// Section 8.1.5: a timer of 200 ms, which backs off; after 4MSL Reset 2.
    #[test]
    fn the_ack_is_repeated() {
        let mut client = partopen();
        for (n, ms) in [10, 210, 610, 1410, 3010, 6210, 12_610, 25_410, 51_010, 102_210].into_iter().enumerate() {
            client.recv(ms, &format!("Ack {} (1000)", n + 1));
        }
        client.recv(166_210, "Ack 11 (1000)");
        while client.state() == State::PartOpen {
            let later = client.now().since(headway_units::Instant::from_secs(100)).as_nanos() / 1_000_000 + 1000;
            client.wait(later);
        }
        assert_eq!(client.events(), [Event::Connected, Event::Closed(Closed::NoAnswer(State::PartOpen))]);
    }

    /// Sections 4.3 and 8.1.5: "Clients in the PARTOPEN state that want to send data MUST do so using DCCP-DataAck packets."
    #[test]
    fn data_goes_with_an_acknowledgement() {
        let mut client = partopen();
        client.recv(10, "Ack 1 (1000)");
        client.push(12, b"abc");
        client.recv(12, "DataAck 2 (1000) Len=3");
        client.send(20, "DataAck 1001 (2)", &[], b"d");
        client.push(20, b"abcd");
        client.recv(20, "Data 3 Len=4");
    }

    /// Step 12: a Response is acknowledged again, a Sync answered, and neither opens.
    #[test]
    fn what_does_not_open() {
        let mut client = partopen();
        client.recv(10, "Ack 1 (1000)");
        client.send(11, "Response 1001 (0)", &[], b"");
        client.recv(11, "Ack 2 (1001)");
        client.send(12, "Sync 1002 (2)", &[], b"");
        client.recv(12, "SyncAck 3 (1002)");
        assert_eq!(client.state(), State::PartOpen);
        client.send(13, "SyncAck 1003 (3)", &[], b"");
        assert_eq!(client.state(), State::Open);
    }

    /// Section 8.1.4: the client echoes the cookies in their order on every packet until the handshake has ended, those of
    /// the Response that it acknowledges.
    #[test]
    fn cookies_are_echoed() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        let cookies = |first: u8| [confirms(&options()), vec![36, 4, first, 2, 36, 3, 9]].concat();
        client.send(10, "Response 1000 (0)", &cookies(1), b"");
        client.recv(10, "Ack 1 (1000) | InitCookie(2 bytes) InitCookie(1 bytes)");
        client.push(20, b"abc");
        client.recv(20, "DataAck 2 (1000) Len=3 | InitCookie(2 bytes) InitCookie(1 bytes)");
        client.send(30, "Response 1001 (0)", &[36, 5, 7, 7, 7], b"");
        client.recv(30, "Ack 3 (1001) | InitCookie(3 bytes)");
        client.send(40, "Ack 1002 (3)", &[], b"");
        client.push(40, b"abc");
        client.recv(40, "Data 4 Len=3");
    }

    /// "That Init Cookie MUST be included on every packet sent in PARTOPEN" (section 8.1.5): data that leaves it no room waits until the
    /// connection is open. A server that has nothing to say answers no Ack, but data: after the first retransmission it goes in fragments.
    #[test]
    fn data_leaves_room_for_cookies() {
        for (cookie, len) in [(253, 1440), (100, 1440), (253, 1175)] {
            for answered in [true, false] {
                let mut client = Dialogue::client(&options());
                client.next(0);
                let cookies = [vec![36, cookie as u8 + 2], vec![7; cookie]].concat();
                client.send(10, "Response 1000 (0)", &[confirms(&options()), cookies].concat(), b"");
                client.push(10, &vec![1; len]);
                client.recv(10, &format!("Ack 1 (1000) | InitCookie({cookie} bytes)"));
                client.push(100, b"short");
                client.silence(100);
                if answered {
                    client.send(150, "Ack 1001 (1)", &[], b"");
                    client.recv(150, &format!("Data 2 Len={len}"));
                    client.recv(150, "Data 3 Len=5");
                } else {
                    // What does find room beside nothing else takes the acknowledgement with it.
                    let bare = u64::from(len == 1440);
                    if bare == 1 {
                        client.recv(210, &format!("Ack 2 (1000) | InitCookie({cookie} bytes)"));
                    }
                    for (seq, len) in [(2 + bare, len), (3 + bare, 5)] {
                        client.recv(210, &format!("DataAck {seq} (1000) Len={len} | InitCookie({cookie} bytes)"));
                    }
                    client.send(230, &format!("Ack 1001 ({})", 3 + bare), &[], b"");
                    assert_eq!(client.state(), State::Open);
                }
            }
        }
    }

    /// The longest datagram beside the longest cookies has a form on the wire, in UDP over IPv4 too: 65 535 bytes less 28.
    #[test]
    fn the_longest_of_all_packets() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        let cookies =
            [[vec![36, 252], vec![7; 250]].concat().repeat(3), [vec![36, 216], vec![7; 214]].concat()].concat();
        client.send(10, "Response 1000 (0)", &[confirms(&options()), cookies].concat(), b"");
        client.drain_said(10);
        // The first retransmission is over.
        client.drain_said(215);
        let (now, mut outbox) = (client.now(), pipe::Queue::default());
        [64_515, 64_487].into_iter().for_each(|len| outbox.push(&vec![1; len]));
        let connection = client.connection();
        let len = connection.poll_transmit(now, &mut outbox).map(|out| out.packet.encoded_len());
        assert_eq!((len, outbox.0.len()), (Some(24 + 64_487 + 3 * 252 + 216), 0), "the longer one is thrown away");
        assert!(len <= Some(65_507));
    }

    /// The same on the smallest path: cookies that are longer than a packet may be go on an Ack all the same.
    #[test]
    fn cookies_longer_than_the_path() {
        let rules = ConnectionOptions {
            mtu: headway_units::Bytes::new(576),
            lower_headers: headway_units::Bytes::new(48),
            ..options()
        };
        let mut client = Dialogue::client(&rules);
        client.next(0);
        let cookies = [vec![36, 252], vec![7; 250]].concat().repeat(3);
        client.send(10, "Response 1000 (0)", &[confirms(&rules), cookies].concat(), b"");
        client.recv(10, "Ack 1 (1000) | InitCookie(250 bytes) InitCookie(250 bytes) InitCookie(250 bytes)");
    }

    /// An older Response, overtaken by a newer one, brings no cookies.
    #[test]
    fn cookies_of_an_older_response() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        client.send(10, "Response 1000 (0)", &[confirms(&options()), vec![36, 3, 1]].concat(), b"");
        client.recv(10, "Ack 1 (1000) | InitCookie(1 bytes)");
        client.send(11, "Response 1002 (0)", &[36, 4, 1, 2], b"");
        client.recv(11, "Ack 2 (1002) | InitCookie(2 bytes)");
        client.send(12, "Response 1001 (0)", &[36, 5, 7, 7, 7], b"");
        client.recv(12, "Ack 3 (1002) | InitCookie(2 bytes) ElapsedTime(100)");
    }

    /// The server closes at once.
    #[test]
    fn a_close_req_comes() {
        let mut client = partopen();
        client.recv(10, "Ack 1 (1000)");
        client.send(20, "CloseReq 1001 (1)", &[], b"");
        client.recv(20, "Close 2 (1001)");
        assert_eq!(client.state(), State::Closing);
    }
}

mod respond {
    use super::*;

    fn responding(options: &ConnectionOptions) -> Dialogue {
        let mut server = Dialogue::server(options);
        server.send(0, "Request 1000", &dialogue::changes(options), b"");
        assert_eq!(server.state(), State::Respond);
        server
    }

    /// Sections 5.3 and 8.1.3: each valid Request elicits a Response with the next number, and no timer does. After 8 minutes Reset 2.
    #[test]
    fn each_request_gets_a_response() {
        let mut server = responding(&options());
        let confirms = " | ConfirmL(CCID 248,248) ConfirmR(CCID 248,248)";
        server.recv(0, &format!("Response 0 (1000){confirms}"));
        server.silence(1000);
        server.send(1000, "Request 1001", &dialogue::changes(&options()), b"");
        server.recv(1000, &format!("Response 1 (1001){confirms}"));
        assert_eq!(server.send(1001, "Request 1001", &[], b""), Delivery::Dropped(Ignored::Duplicate));
        server.silence(479_999);
        server.recv(480_000, "Reset 2 (1001) Aborted");
        assert_eq!(server.events(), [Event::Closed(Closed::NoAnswer(State::Respond))]);
    }

    /// Step 11: a flood of Requests is answered once, and then eight times a second.
    #[test]
    fn a_flood_of_requests() {
        let mut server = responding(&options());
        (1001..1060).for_each(|seq| {
            server.send(5, &format!("Request {seq}"), &[], b"");
        });
        assert_eq!(server.drain_said(900).iter().filter(|said| said.starts_with("Response")).count(), 9);
    }

    /// Step 7: Data cannot tell that the client has the Response.
    #[test]
    fn data_is_challenged() {
        let mut server = responding(&options());
        server.next(0);
        let delivery = server.send(5, "Data 1001", &[], b"x");
        assert_eq!(delivery, Delivery::Dropped(Ignored::Unexpected(headway_dccp::PacketType::Data)));
        server.recv(5, "Sync 1 (1001)");
        assert_eq!(server.state(), State::Respond);
    }

    /// Section 8.1.3: data of one Request at most; of the others the Response says Drop Code 0.
    #[test]
    fn only_the_first_requests_data_counts() {
        let mut server = Dialogue::server(&options());
        assert_eq!(server.send(0, "Request 1000", &dialogue::changes(&options()), b"one"), Delivery::Data);
        server.next(0);
        let second = server.send(9, "Request 1001", &dialogue::changes(&options()), b"one");
        assert_eq!(second, Delivery::Dropped(Ignored::ProtocolConstraints));
        let confirms = "ConfirmL(CCID 248,248) ConfirmR(CCID 248,248)";
        server.recv(9, &format!("Response 1 (1001) | {confirms} DataDropped[Protocol Constraints 1]"));
    }

    /// Step 11. The server has nothing to say, but the client must hear something (section 8.1.5).
    #[test]
    fn an_ack_opens() {
        let mut server = responding(&options());
        server.next(0);
        server.send(10, "Ack 1001 (0)", &[], b"");
        assert_eq!((server.state(), server.events()), (State::Open, vec![Event::Connected]));
        server.recv(10, "Ack 1 (1001)");
        // It was lost: the client repeats its Ack.
        server.send(210, "Ack 1002 (0)", &[], b"");
        server.recv(210, "Ack 2 (1002)");
        // Once a round trip, of 10 ms here.
        server.send(219, "Ack 1003 (0)", &[], b"");
        server.silence(219);
        server.send(220, "Ack 1004 (0)", &[], b"");
        server.recv(220, "Ack 3 (1004)");
        server.send(230, "Ack 1005 (2)", &[], b"");
        server.silence(100_000);
    }
}

mod listen {
    use super::*;

    /// Section 8.1.2, 8.1.3 and 8.3.1.
    #[test]
    fn refusals() {
        let mut server =
            Dialogue::server(&ConnectionOptions { init_cookies: InitCookies::Never, backlog: 0, ..options() });
        server.send(0, "Request 1000", &[], b"");
        server.recv(0, "Reset 0 (1000) Too Busy");
        server.send(1, "Ack 1001 (5)", &[], b"");
        server.recv(1, "Reset 0 (1001) No Connection");
        server.send(2, "Reset 1001 (5) 1", &[], b"");
        server.silence(10);
    }

    /// Section 8.1.3: no more than 1024 a second.
    #[test]
    fn refusals_are_limited() {
        let mut server = Dialogue::server(&options());
        let said = (0..3000).filter(|n| server.send(n / 10, "Data 5", &[], b"") == Delivery::Nothing);
        assert_eq!(said.count(), 1024);
    }

    /// Section 8.1.4: nothing is kept until the cookie comes back, and then all is as if it had been.
    #[test]
    fn a_cookie_keeps_the_connection() {
        let options = ConnectionOptions { init_cookies: InitCookies::Always, ndp_counts: true, ..options() };
        let mut server = Dialogue::server(&options);
        assert_eq!(server.send(0, "Request 1000", &dialogue::changes(&options), b"data"), Delivery::Nothing);
        let said = server.next(0);
        assert!(said.contains("InitCookie(") && said.contains("ConfirmL(CCID 248,248)"), "{said}");
        assert!(said.contains("DataDropped[Protocol Constraints 1]"), "{said}");
        assert_eq!(server.state(), State::Listen);
        // Section 8.1.3, no amplification: the Response is at most three times as long as the Request, which is long enough
        // without data too.
        assert_eq!(server.send(0, "Request 1000", &dialogue::changes(&options), b""), Delivery::Nothing);
        assert!(server.next(0).contains("InitCookie("));
        // A wrong cookie.
        server.send(5, "Ack 1001 (0)", &[36, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18], b"");
        server.recv(5, "Reset 0 (1001) Bad Init Cookie");
    }
}

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
        client.recv(1500, "Ack 4 (1004) | ElapsedTime(20000) SlowReceiver DataDropped[Application Not Listening 1 Application Not Listening 1]");
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
