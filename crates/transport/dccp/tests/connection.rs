//! Both endpoints of a connection over a pipe connect, deliver and close (RFC 4340 section 8).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{
    Closed, Connection, ConnectionOptions, DccpOption, Decoded, Event, InitCookies, Listener, Network, NoData,
    OptionArea, OptionWriter, Outcome, Packet, Reset, ResetCode, State,
};
use headway_units::{Duration, Ecn, Instant, Random};
use pipe::{PATH, PORTS, Pipe, SERVICE, options, perfect};

#[test]
fn connect_exchange_data_close() {
    let mut pipe = Pipe::new(&options(), &options(), perfect);
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.client.state(), State::Open, "{:#?}", pipe.log);
    assert_eq!(pipe.server.state(), State::Open);
    for n in 0..10u8 {
        pipe.client.outbox.push(&[n; 100]);
        pipe.server.outbox.push(&[n + 100; 200]);
        pipe.run(Duration::from_millis(20));
    }
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.server.delivered.len(), 10, "{:#?}", pipe.log);
    assert_eq!(pipe.client.delivered.len(), 10);
    let now = pipe.now;
    pipe.client.connection.as_mut().unwrap().close(now);
    pipe.run(Duration::from_secs(1));
    assert_eq!((pipe.client.state(), pipe.server.state()), (State::TimeWait, State::Closed), "{:#?}", pipe.log);
    let closed = Reset { code: ResetCode::CLOSED, data: [0; 3] };
    assert_eq!(pipe.client.events, [Event::Connected, Event::Closed(Closed::ByPeer(closed))]);
    assert_eq!(pipe.server.events, [Event::Connected, Event::Closed(Closed::ByUs(closed))]);
}

/// Last example of section 7.5.6: the client crashed and restarts, while the server still has the
/// earlier connection. The second Sync gives the client the numbers that end it.
#[test]
fn a_half_open_connection_is_cleaned_up() {
    let mut pipe = Pipe::new(&options(), &options(), perfect);
    pipe.run(Duration::from_secs(10));
    pipe.client.connection = Some(Connection::connect(pipe.now, &options(), PORTS, SERVICE, Random::new(9, "client")));
    pipe.run(Duration::from_millis(200));
    assert_eq!(pipe.server.state(), State::TimeWait, "{:#?}", pipe.log);
    let error = Reset { code: ResetCode::PACKET_ERROR, data: [8, 0, 0] };
    assert_eq!(pipe.server.events.last(), Some(&Event::Closed(Closed::ByPeer(error))));
}

/// A flood of Requests uses only the backlog of a listener, and a client that echoes cookies is still accepted.
#[test]
fn a_flood_of_requests() {
    let now = Instant::from_secs(1);
    let rules = ConnectionOptions { backlog: 10, ..options() };
    let mut listener = Listener::new(now, &rules, &[SERVICE], Random::new(1, "listener"));
    let mut kept = Vec::new();
    for peer in 0..10_000u32 {
        let random = Random::new(peer.into(), "client");
        let mut client = Connection::connect(now, &options(), PORTS, SERVICE, random);
        let mut no_data = NoData;
        let request = Decoded::Long(client.poll_transmit(now, &mut no_data).unwrap().packet);
        if let Outcome::Accepted(connection, _) = listener.handle(now, pipe::peer(peer), Ecn::NotEct, &request) {
            kept.push(connection);
        }
    }
    assert_eq!((kept.len(), listener.half_open()), (10, 10));

    let honest = pipe::peer(10_000);
    let mut client = Connection::connect(now, &options(), PORTS, SERVICE, Random::new(0, "honest"));
    let mut no_data = NoData;
    let request = Decoded::Long(client.poll_transmit(now, &mut no_data).unwrap().packet);
    let mut bytes = [0; 1500];
    let Outcome::Reply(response) = listener.handle(now, honest, Ecn::NotEct, &request) else { panic!("no cookie") };
    let len = response.packet.encode(&mut bytes, Network::Udp).unwrap();
    client.handle(now, Ecn::NotEct, &Packet::decode(&bytes[..len], Network::Udp).unwrap());
    let ack = client.poll_transmit(now, &mut no_data).unwrap().packet;
    // From another peer the cookie is invalid.
    let Outcome::Reply(reset) = listener.handle(now, pipe::peer(10_001), Ecn::NotEct, &Decoded::Long(ack)) else {
        panic!("accepted")
    };
    assert!(reset.packet.to_string().contains("Bad Init Cookie"), "{}", reset.packet);
    let later = now + Duration::from_millis(50);
    let Outcome::Accepted(server, _) = listener.handle(later, honest, Ecn::NotEct, &Decoded::Long(ack)) else {
        panic!()
    };
    let status = server.status();
    assert_eq!((status.state, status.rtt), (State::Open, Some(Duration::from_millis(50))));
    assert_eq!((status.send_ccid.0, status.receive_ccid.0), (248, 248));
    assert_eq!((server.service(), server.ports().remote), (SERVICE, PORTS.local));

    // A backlog entry is free again once its handshake has ended.
    drop(kept.pop());
    assert_eq!(listener.half_open(), 9);
}

/// An attacker who knows a client's port sends a Request in its name just before the client's. The
/// client is accepted, and the forged connection is replaced.
#[test]
fn a_forged_request_does_not_block_its_peer() {
    let now = Instant::from_secs(1);
    let mut listener = Listener::new(now, &options(), &[SERVICE], Random::new(1, "listener"));
    let connect = |name| Connection::connect(now, &options(), PORTS, SERVICE, Random::new(7, name));
    let (mut attacker, mut client, mut other) = (connect("thief"), connect("client"), connect("other"));
    let (mut no_data, mut nothing) = (NoData, NoData);
    let first = Decoded::Long(attacker.poll_transmit(now, &mut no_data).unwrap().packet);
    let Outcome::Accepted(forged, _) = listener.handle(now, PATH, Ecn::NotEct, &first) else { panic!() };
    assert!(!listener.is_contested(&forged, &first), "a retransmitted Request");

    let request = Decoded::Long(client.poll_transmit(now, &mut nothing).unwrap().packet);
    assert!(listener.is_contested(&forged, &request));
    let Outcome::Reply(response) = listener.contest(now, PATH, Ecn::NotEct, &request) else { panic!() };
    client.handle(now, Ecn::NotEct, &Decoded::Long(response.packet));
    let ack = Decoded::Long(client.poll_transmit(now, &mut nothing).unwrap().packet);
    assert!(listener.is_contested(&forged, &ack));
    let Outcome::Accepted(server, _) = listener.contest(now, PATH, Ecn::NotEct, &ack) else { panic!() };
    assert_eq!((server.state(), client.state()), (State::Open, State::PartOpen));
    assert!(!listener.is_contested(&server, &first), "an open connection cannot be contested");

    // Without cookies the connection is not contested.
    let never = ConnectionOptions { init_cookies: InitCookies::Never, ..options() };
    let listener = Listener::new(now, &never, &[SERVICE], Random::new(1, "listener"));
    let mut no_data = NoData;
    let second = Decoded::Long(other.poll_transmit(now, &mut no_data).unwrap().packet);
    assert!(!listener.is_contested(&forged, &second));
}

/// The client first receives the Response of the forged connection, which it resets (section 8.5
/// step 4). TIMEWAIT of four minutes must not block it, unless the connection was open.
#[test]
fn timewait_of_a_forged_connection_does_not_block_its_peer() {
    let now = Instant::from_secs(1);
    let say = |end: &mut Connection| {
        let mut bytes = vec![0; 1500];
        let len = end.poll_transmit(now, &mut NoData).unwrap().packet.encode(&mut bytes, Network::Udp).unwrap();
        bytes.truncate(len);
        bytes
    };
    for forged in [true, false] {
        let mut listener = Listener::new(now, &options(), &[SERVICE], Random::new(1, "listener"));
        let connect = |name| Connection::connect(now, &options(), PORTS, SERVICE, Random::new(7, name));
        let (mut client, mut other) = (connect("client"), connect("other"));
        let requests = [say(&mut client), say(&mut other)];
        let [request, others] = requests.each_ref().map(|bytes| Packet::decode(bytes, Network::Udp).unwrap());
        let first = if forged { &others } else { &request };
        let Outcome::Accepted(mut server, _) = listener.handle(now, PATH, Ecn::NotEct, first) else { panic!() };
        client.handle(now, Ecn::NotEct, &Packet::decode(&say(&mut server), Network::Udp).unwrap());
        if !forged {
            server.handle(now, Ecn::NotEct, &Packet::decode(&say(&mut client), Network::Udp).unwrap());
            client.abort(now);
        }
        let reset = say(&mut client);
        let reset = Packet::decode(&reset, Network::Udp).unwrap();
        server.handle(now, Ecn::NotEct, &reset);
        let contested = [&request, &others].map(|request| listener.is_contested(&server, request));
        assert_eq!((server.state(), contested), (State::TimeWait, [forged; 2]));
        assert!(!listener.is_contested(&server, &reset));
    }
}

/// With cookies always enabled, a Request creates no state, but its features and the round trip are not lost.
#[test]
fn nothing_is_kept_before_the_handshake_ends() {
    let rules = ConnectionOptions { init_cookies: InitCookies::Always, ..options() };
    let mut pipe = Pipe::new(&ConnectionOptions { sequence_window: 5000, ..options() }, &rules, perfect);
    pipe.run(Duration::from_millis(15));
    assert_eq!(pipe.server.state(), State::Listen);
    pipe.run(Duration::from_secs(1));
    assert_eq!((pipe.client.state(), pipe.server.state()), (State::Open, State::Open), "{:#?}", pipe.log);
    let status = pipe.server.connection.as_ref().unwrap().status();
    assert_eq!(status.rtt, Some(Duration::from_millis(20)));
    assert!(
        !pipe.log.iter().skip(2).any(|line| line.contains("Change")),
        "no Changes after the handshake: {:#?}",
        pipe.log
    );
}

/// Section 6.6.3: an unanswered Change is retransmitted after at least a round trip, then with back-off. This also
/// applies to a Change that the listener sent with a cookie, if the client echoes the cookie and never confirms.
#[test]
fn unanswered_changes_are_retransmitted_with_back_off() {
    let mut now = Instant::from_secs(1);
    let rules = ConnectionOptions { init_cookies: InitCookies::Always, sequence_window: 1000, ..options() };
    let mut listener = Listener::new(now, &rules, &[SERVICE], Random::new(1, "listener"));
    let mut client = Connection::connect(now, &options(), PORTS, SERVICE, Random::new(0, "client"));
    let (mut no_data, mut bytes) = (NoData, [0; 1500]);
    let request = Decoded::Long(client.poll_transmit(now, &mut no_data).unwrap().packet);
    let Outcome::Reply(response) = listener.handle(now, PATH, Ecn::NotEct, &request) else { panic!("no cookie") };
    assert!(response.packet.to_string().contains("ChangeL(SequenceWindow 1000)"));
    let len = response.packet.encode(&mut bytes, Network::Udp).unwrap();
    client.handle(now, Ecn::NotEct, &Packet::decode(&bytes[..len], Network::Udp).unwrap());

    let ack = client.poll_transmit(now, &mut no_data).unwrap().packet;
    let mut area = [0; 200];
    let mut writer = OptionWriter::new(&mut area);
    let cookies = ack.options.iter().flatten().filter(|option| matches!(option, DccpOption::InitCookie(_)));
    cookies.for_each(|cookie| writer.push(cookie).unwrap());
    let ack = Packet { options: writer.finish().unwrap(), ..ack };
    now += Duration::from_millis(10);
    let Outcome::Accepted(mut server, _) = listener.handle(now, PATH, Ecn::NotEct, &Decoded::Long(ack)) else {
        panic!("the cookie is good")
    };
    let (until, mut sent) = (now + Duration::from_secs(10), 0);
    while now < until && sent < 1000 {
        sent += std::iter::from_fn(|| server.poll_transmit(now, &mut NoData).map(|_| ())).count();
        now = server.poll_timeout().map_or(until, |at| at.max(now));
        server.handle_timeout(now);
    }
    // After two round trips of 0.2 s, four more, and so on: at 0.4, 1.2, 2.8 and 6 s; and the Ack of the Ack.
    assert!((4..=6).contains(&sent), "{sent} packets in ten seconds");
}

/// Section 8.1.3: Resets are limited, whether because of the backlog or of an unacceptable Mandatory option.
#[test]
fn refusals_for_options_are_limited() {
    let now = Instant::from_secs(1);
    for init_cookies in [InitCookies::Always, InitCookies::WhenBusy] {
        let rules = ConnectionOptions { init_cookies, ..options() };
        let mut listener = Listener::new(now, &rules, &[SERVICE], Random::new(1, "listener"));
        let mut answered = 0;
        for peer in 0..1100u32 {
            let mut client = Connection::connect(now, &options(), PORTS, SERVICE, Random::new(peer.into(), "client"));
            let mut no_data = NoData;
            let request = client.poll_transmit(now, &mut no_data).unwrap().packet;
            // Mandatory Change L of an unknown feature.
            let request = Packet { options: OptionArea::new(&[1, 32, 4, 99, 1, 0, 0, 0]).unwrap(), ..request };
            let outcome = listener.handle(now, pipe::peer(peer), Ecn::NotEct, &Decoded::Long(request));
            answered += u32::from(!matches!(outcome, Outcome::Ignored(_)));
        }
        assert_eq!(answered, 1024, "{init_cookies:?}");
    }
}
