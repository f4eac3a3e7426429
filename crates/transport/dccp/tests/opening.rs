//! Dialogues with an endpoint until its connection is open, grouped by state. Times are in
//! milliseconds; the endpoint's numbers are relative to its first.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::{Dialogue, confirms};
use headway_dccp::{Closed, ConnectionOptions, Delivery, Event, Ignored, InitCookies, Reset, ResetCode, State};
use pipe::options;

const fn reset(code: ResetCode) -> Reset {
    Reset { code, data: [0; 3] }
}
const ASK: &str = " | Mandatory ChangeL(CCID 248) Mandatory ChangeR(CCID 248)";

mod request {
    use super::*;

    /// Sections 5.2 and 8.1.1: retransmission after about a second, with back-off to 64 s; after
    /// three minutes a Reset with acknowledgement number 0.
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

    /// Linux 6.1 sends seven Requests, the first retransmission after 3 s, and then a Reset: its
    /// timers, which are late by 2 %, took 227 s.
    #[test]
    fn of_the_linux_preset() {
        use headway_units::{Dialect, Options};
        let mut client = Dialogue::client(&ConnectionOptions::preset(Dialect::Linux));
        for ms in [0, 3000, 9000, 21_000, 45_000, 93_000, 157_000] {
            assert!(client.next(ms).starts_with("Request"));
        }
        client.recv(221_000, "Reset 7 (0) Aborted");
    }

    /// Section 5.6, step 4: packets other than a Response or Reset are answered with Reset 4, whose
    /// data is the packet type. The state does not change (half-open example of section 7.5.6).
    #[test]
    fn other_packets_are_reset() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        assert_eq!(client.send(5, "Sync 11 (0)", &[], b""), Delivery::Dropped(Ignored::NotInRequest));
        client.recv(5, "Reset 1 (11) Packet Error, data=080000");
        client.send(6, "Data 12", &[], b"x");
        client.recv(6, "Reset 2 (12) Packet Error, data=020000");
        client.send(7, "Response 13 (77)", &[], b"");
        // It belongs to another connection, whose numbers the Reset uses.
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
        assert_eq!(client.state(), State::Request, "it acknowledges no sent packet");
        client.send(6, "Reset 0 (0) 7", &[], b"");
        assert_eq!(client.state(), State::TimeWait);
        assert_eq!(client.events(), [Event::Closed(Closed::ByPeer(reset(ResetCode::CONNECTION_REFUSED)))]);
        client.silence(239_000);
        assert_eq!(client.state(), State::TimeWait);
        client.silence(240_006);
        assert_eq!(client.state(), State::Closed);
    }

    /// Section 8.1.1: a Request carries data that fits.
    #[test]
    fn data_that_does_not_fit_waits() {
        for (len, output) in [(0, ""), (1, " Len=1"), (1440, " Len=1440"), (1441, "")] {
            let mut client = Dialogue::client(&ConnectionOptions { handshake_data: true, ..options() });
            client.outbox.push(&vec![7; len]);
            client.recv(0, &format!("Request 0{output}{ASK}"));
        }
        let mut client = Dialogue::client(&options());
        client.outbox.push(b"x");
        client.recv(0, &format!("Request 0{ASK}"));
    }

    /// Before the first Request there is no connection to reset.
    #[test]
    fn nothing_is_sent_before_the_request() {
        let mut client = Dialogue::client(&options());
        let now = client.now();
        client.connection().close(now);
        client.silence(1_000_000);
        assert_eq!((client.state(), client.events().len()), (State::Closed, 1));
    }

    /// Closing before the connection is established.
    #[test]
    fn is_aborted_by_the_application() {
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

    /// Section 8.1.5: a timer of 200 ms with back-off; after 4MSL Reset 2.
    #[test]
    fn the_ack_is_retransmitted() {
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

    /// Sections 4.3 and 8.1.5: "Clients in the PARTOPEN state that want to send data MUST do so
    /// using DCCP-DataAck packets."
    #[test]
    fn data_in_partopen_is_sent_on_data_acks() {
        let mut client = partopen();
        client.recv(10, "Ack 1 (1000)");
        client.push(12, b"abc");
        client.recv(12, "DataAck 2 (1000) Len=3");
        client.send(20, "DataAck 1001 (2)", &[], b"d");
        client.push(20, b"abcd");
        client.recv(20, "Data 3 Len=4");
    }

    /// Step 12: a Response is acknowledged again and a Sync answered; neither opens the connection.
    #[test]
    fn a_response_or_sync_does_not_open() {
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

    /// Section 8.1.5: a server answers an Ack that acknowledges the Response only. If a Sync of the server has been
    /// acknowledged and its Ack was lost, the server is silent, so the client repeats a Sync instead of the Ack. Without it
    /// a client without data, or whose datagrams are larger than the size before the first probe, stayed in PARTOPEN.
    #[test]
    fn after_a_sync_of_the_server_the_client_sends_syncs() {
        let mut client = partopen();
        client.recv(10, "Ack 1 (1000)");
        client.send(12, "Sync 1002 (1)", &[], b"");
        client.recv(12, "SyncAck 2 (1002)");
        client.recv(212, "Sync 3 (1002)");
        client.recv(612, "Sync 4 (1002)");
        client.send(620, "SyncAck 1003 (4)", &[], b"");
        assert_eq!(client.state(), State::Open);
    }

    /// Section 8.1.4: until the handshake has ended, the client echoes the cookies of the
    /// acknowledged Response in order on every packet.
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

    /// "That Init Cookie MUST be included on every packet sent in PARTOPEN" (section 8.1.5). Data
    /// that does not fit next to it waits until the connection is open. A server without data does
    /// not answer an Ack, but answers data: after the first retransmission it is sent in fragments.
    #[test]
    fn data_waits_until_cookies_fit() {
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
                    // A packet on which the cookies fit carries the acknowledgement too.
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

    /// The longest datagram with the longest cookies can be encoded, also in UDP over IPv4: 65 535 bytes less 28.
    #[test]
    fn the_longest_packet_can_be_encoded() {
        let mut client = Dialogue::client(&options());
        client.next(0);
        let cookies =
            [[vec![36, 252], vec![7; 250]].concat().repeat(3), [vec![36, 216], vec![7; 214]].concat()].concat();
        client.send(10, "Response 1000 (0)", &[confirms(&options()), cookies].concat(), b"");
        client.drain_output(10);
        // The first retransmission is over.
        client.drain_output(215);
        let (now, mut outbox) = (client.now(), pipe::Queue::default());
        [64_515, 64_487].into_iter().for_each(|len| outbox.push(&vec![1; len]));
        let connection = client.connection();
        let len = connection.poll_transmit(now, &mut outbox).map(|out| out.packet.encoded_len());
        assert_eq!((len, outbox.0.len()), (Some(24 + 64_487 + 3 * 252 + 216), 0), "the longer one is discarded");
        assert!(len <= Some(65_507));
    }

    /// On the smallest path, cookies longer than a packet are sent on an Ack in fragments.
    #[test]
    fn cookies_longer_than_the_path() {
        let mut rules = ConnectionOptions { mtu: headway_units::Bytes::new(576), ..options() };
        rules.expert.lower_headers = headway_units::Bytes::new(48);
        let mut client = Dialogue::client(&rules);
        client.next(0);
        let cookies = [vec![36, 252], vec![7; 250]].concat().repeat(3);
        client.send(10, "Response 1000 (0)", &[confirms(&rules), cookies].concat(), b"");
        client.recv(10, "Ack 1 (1000) | InitCookie(250 bytes) InitCookie(250 bytes) InitCookie(250 bytes)");
    }

    /// A reordered older Response does not replace the cookies.
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
    fn a_close_req_is_answered() {
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

    /// Sections 5.3 and 8.1.3: each valid Request is answered with a Response with the next number.
    /// There is no Response timer. After 8 minutes Reset 2.
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

    /// Step 11: a flood of Requests is answered once, and then eight times per second.
    #[test]
    fn a_flood_of_requests() {
        let mut server = responding(&options());
        (1001..1060).for_each(|seq| {
            server.send(5, &format!("Request {seq}"), &[], b"");
        });
        assert_eq!(server.drain_output(900).iter().filter(|output| output.starts_with("Response")).count(), 9);
    }

    /// Step 7: Data does not show that the client has received the Response.
    #[test]
    fn data_is_challenged() {
        let mut server = responding(&options());
        server.next(0);
        let delivery = server.send(5, "Data 1001", &[], b"x");
        assert_eq!(delivery, Delivery::Dropped(Ignored::Unexpected(headway_dccp::PacketType::Data)));
        server.recv(5, "Sync 1 (1001)");
        assert_eq!(server.state(), State::Respond);
    }

    /// Section 8.1.3: only the data of one Request is delivered; for the others the Response reports Drop Code 0.
    #[test]
    fn only_the_first_requests_data_is_delivered() {
        let mut server = Dialogue::server(&options());
        assert_eq!(server.send(0, "Request 1000", &dialogue::changes(&options()), b"one"), Delivery::Data);
        server.next(0);
        let second = server.send(9, "Request 1001", &dialogue::changes(&options()), b"one");
        assert_eq!(second, Delivery::Dropped(Ignored::ProtocolConstraints));
        let confirms = "ConfirmL(CCID 248,248) ConfirmR(CCID 248,248)";
        server.recv(9, &format!("Response 1 (1001) | {confirms} DataDropped[Protocol Constraints 1]"));
    }

    /// Step 11. A server without data still answers the client (section 8.1.5).
    #[test]
    fn an_ack_opens() {
        let mut server = responding(&options());
        server.next(0);
        server.send(10, "Ack 1001 (0)", &[], b"");
        assert_eq!((server.state(), server.events()), (State::Open, vec![Event::Connected]));
        server.recv(10, "Ack 1 (1001)");
        // The answer was lost: the client repeats its Ack.
        server.send(210, "Ack 1002 (0)", &[], b"");
        server.recv(210, "Ack 2 (1002)");
        // At most once per round trip, of 10 ms here.
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

    /// Sections 8.1.2, 8.1.3 and 8.3.1.
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

    /// Section 8.1.3: at most 1024 per second.
    #[test]
    fn refusals_are_limited() {
        let mut server = Dialogue::server(&options());
        let output = (0..3000).filter(|n| server.send(n / 10, "Data 5", &[], b"") == Delivery::Nothing);
        assert_eq!(output.count(), 1024);
    }

    /// Section 8.1.4: no state is kept until the cookie is echoed.
    #[test]
    fn a_cookie_stores_the_connection() {
        let options = ConnectionOptions { init_cookies: InitCookies::Always, ndp_counts: true, ..options() };
        let mut server = Dialogue::server(&options);
        assert_eq!(server.send(0, "Request 1000", &dialogue::changes(&options), b"data"), Delivery::Nothing);
        let output = server.next(0);
        assert!(output.contains("InitCookie(") && output.contains("ConfirmL(CCID 248,248)"), "{output}");
        assert!(output.contains("DataDropped[Protocol Constraints 1]"), "{output}");
        assert_eq!(server.state(), State::Listen);
        // Section 8.1.3, no amplification: the Response is at most three times as long as the
        // Request, which is long enough even without data.
        assert_eq!(server.send(0, "Request 1000", &dialogue::changes(&options), b""), Delivery::Nothing);
        assert!(server.next(0).contains("InitCookie("));
        // An invalid cookie is rejected.
        server.send(5, "Ack 1001 (0)", &[36, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18], b"");
        server.recv(5, "Reset 0 (1001) Bad Init Cookie");
    }
}
