//! Tests of two endpoints over the loopback interface. No test asserts a speed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_types, reason = "tests")]

use headway_net::{
    Closed, Connection, ControllerOptions, DropCode, Duration, Endpoint, Event, Fate, Identity, Media, Options, Rate,
    SecureError, SendError, Trust,
};
use headway_rate::SpacingFixedOptions;
use headway_units::{Dialect, Options as _};
use std::net::SocketAddr;

const LOOPBACK: &str = "127.0.0.1:0";
/// Longer than any step takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// Options of the server and of the client.
type Both = (Options, Options);

fn secure() -> Both {
    let server = Options::server().unwrap();
    let trust = Trust::Fingerprints(vec![server.fingerprint().unwrap()]);
    (server, Options::client(trust).unwrap())
}

fn insecure() -> Both {
    (Options::insecure(), Options::insecure())
}

fn server(options: &Options) -> (Endpoint, SocketAddr) {
    let server = Endpoint::server(LOOPBACK.parse().unwrap(), options).unwrap();
    let address = server.local_addr();
    (server, address)
}

fn pair((ours, theirs): &Both) -> (Endpoint, Connection, Endpoint, Connection) {
    let (server, address) = server(ours);
    let client = Endpoint::client(theirs).unwrap();
    let connection = client.connect(address).unwrap();
    connection.connected().unwrap();
    let accepted = server.accept_timeout(LONG).unwrap();
    (client, connection, server, accepted)
}

/// Receives all datagrams until the peer has closed.
fn all(connection: &Connection) -> (Vec<Vec<u8>>, Closed) {
    let mut received = Vec::new();
    loop {
        let mut datagram = Vec::new();
        match connection.recv_timeout(&mut datagram, LONG).expect("the peer continues or closes") {
            Ok(()) => received.push(datagram),
            Err(why) => return (received, why),
        }
    }
}

/// It waited for ever.
#[test]
fn a_client_accepts_no_connections() {
    assert!(Endpoint::client(&Options::insecure()).unwrap().accept().is_none());
}

#[test]
fn media_arrives_in_order_and_the_end_is_reported() {
    media_arrives_in_order_and_the_end_is_reported_with(&secure());
    media_arrives_in_order_and_the_end_is_reported_with(&insecure());
}

fn media_arrives_in_order_and_the_end_is_reported_with(both: &Both) {
    let (_client, connection, _server, accepted) = pair(both);
    let sender = std::thread::Builder::new().spawn(move || {
        for n in 0..500u32 {
            connection.send(Media::new(&n.to_be_bytes())).unwrap();
            // A source of media takes time.
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        connection.close()
    });
    let (received, why) = all(&accepted);
    assert_eq!(received, (0..500u32).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!((why, sender.unwrap().join().unwrap()), (Closed::ByPeer, Closed::Here));
}

/// Each datagram has one final outcome, and datagrams reported as delivered have arrived.
#[test]
fn the_outcome_of_each_datagram_is_reported() {
    the_outcome_of_each_datagram_is_reported_with(&secure());
    the_outcome_of_each_datagram_is_reported_with(&insecure());
}

fn the_outcome_of_each_datagram_is_reported_with(both: &Both) {
    let (_client, connection, _server, accepted) = pair(both);
    let reader = std::thread::Builder::new().spawn(move || all(&accepted)).unwrap();
    for n in 0..200u64 {
        assert_eq!(connection.send(Media::new(&n.to_be_bytes())).unwrap(), n);
        std::thread::park_timeout(std::time::Duration::from_millis(2));
    }
    let mut delivered = Vec::new();
    while delivered.len() < 200 {
        match connection.event_timeout(LONG).expect("an event for each") {
            Event::Media(id, Fate::Delivered) => delivered.push(id),
            Event::Media(_, Fate::Sent(_)) | Event::Rate(_) | Event::Largest(_) | Event::Connected => {}
            other => panic!("{other:?}"),
        }
    }
    delivered.sort_unstable();
    assert_eq!(delivered, (0..200).collect::<Vec<_>>());
    connection.close();
    assert_eq!(reader.join().unwrap().0.len(), 200);
}

/// RFC 4340 section 11.7: datagrams beyond the limit of unread ones are dropped and reported to the peer; only
/// datagrams that were read are reported as delivered.
#[test]
fn unread_datagrams_are_reported_as_dropped() {
    unread_datagrams_are_reported_as_dropped_with(secure());
    unread_datagrams_are_reported_as_dropped_with(insecure());
}

fn unread_datagrams_are_reported_as_dropped_with((server, client): Both) {
    let (_client, connection, _server, accepted) = pair(&(Options { unread: 8, ..server }, client));
    // All queued datagrams are sent at once.
    for n in 0..60u64 {
        connection.send(Media::new(&n.to_be_bytes())).unwrap();
    }
    let (mut delivered, mut dropped) = (Vec::new(), 0);
    while delivered.len() + dropped < 60 {
        match connection.event_timeout(LONG).expect("an event for each") {
            Event::Media(id, Fate::Delivered) => delivered.push(id),
            Event::Media(_, Fate::Dropped(code)) => {
                assert_eq!(code, DropCode::RECEIVE_BUFFER);
                dropped += 1;
            }
            Event::Media(_, Fate::Sent(_)) | Event::Rate(_) | Event::Largest(_) | Event::Connected => {}
            other => panic!("{other:?}"),
        }
    }
    connection.close();
    let (received, _) = all(&accepted);
    let received: Vec<u64> =
        received.iter().map(|datagram| u64::from_be_bytes(datagram[..].try_into().unwrap())).collect();
    assert_eq!((received, 8), (delivered, 60 - dropped), "what was read is what was delivered");
    assert_eq!(accepted.dropped_datagrams(), 52);
}

/// A datagram that cannot arrive on time is not sent, and the program is notified.
#[test]
fn expired_datagrams_are_not_sent() {
    // One packet per second: other datagrams wait for longer than their lifetime.
    let spaced = |mut options: Options| {
        options.connection.line_rate = Some(Rate::from_bits_per_second(100_000_000));
        let spacing = Duration::from_secs(1);
        let fixed = SpacingFixedOptions { spacing, ..SpacingFixedOptions::preset(Dialect::default()) };
        options.with_controller_options(ControllerOptions::SpacingFixed(fixed)).unwrap()
    };
    for (server, client) in [secure(), insecure()] {
        expired_datagrams_are_not_sent_with(&(spaced(server), spaced(client)));
    }
}

fn expired_datagrams_are_not_sent_with(both: &Both) {
    let (_client, connection, _server, _accepted) = pair(both);
    let old = Media { expires: Some(Duration::from_nanos(1)), ..Media::new(&[7; 1000]) };
    for _ in 0..50 {
        connection.send(old).unwrap();
    }
    let (mut sent, mut expired) = (0, 0);
    while sent + expired < 50 {
        match connection.event_timeout(LONG).expect("an event for each") {
            Event::Media(_, Fate::Sent(_)) => sent += 1,
            Event::Media(_, Fate::Unsent { .. }) => expired += 1,
            _ => {}
        }
    }
    assert!(expired > 0, "{sent} were sent");
}

#[test]
fn datagrams_above_the_largest_are_refused() {
    datagrams_above_the_largest_are_refused_with(&secure());
    datagrams_above_the_largest_are_refused_with(&insecure());
}

fn datagrams_above_the_largest_are_refused_with(both: &Both) {
    let (_client, connection, _server, _accepted) = pair(both);
    // The search starts at 1280 bytes with all headers: 28 of IP and UDP, 37 of DTLS, 24 of DCCP, 16 of options and 8 for
    // the position of the datagram.
    assert!((1167..1500).contains(&connection.largest()), "{}", connection.largest());
    while connection.largest() < 1300 {
        connection.event_timeout(LONG).expect("the path MTU search raises it");
    }
    let largest = connection.largest();
    assert_eq!(
        connection.send(Media::new(&vec![0; largest + 1])),
        Err(SendError::TooLarge { len: largest + 1, largest })
    );
    connection.send(Media::new(&vec![0; largest])).unwrap();
}

/// At both ends, a datagram that may fit after path MTU discovery is not refused before.
#[test]
fn large_datagrams_wait_for_path_mtu_discovery() {
    for both in [secure(), insecure()] {
        let (_client, connection, _server, accepted) = pair(&both);
        for (from, to) in [(&connection, &accepted), (&accepted, &connection)] {
            from.send(Media::new(&[7; 1350])).unwrap();
            let mut datagram = Vec::new();
            to.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
            assert_eq!(datagram, [7; 1350]);
        }
    }
}

/// A datagram queued before path MTU discovery is discarded if it is too large; later ones are sent.
#[test]
fn queued_datagrams_above_the_largest_are_discarded() {
    for both in [secure(), insecure()] {
        let (server, address) = server(&both.0);
        let connection = Endpoint::client(&both.1).unwrap().connect(address).unwrap();
        // A client without DTLS may know the limit at once.
        let large = connection.send(Media::new(&[7; 3000]));
        let small = connection.send(Media::new(b"small")).unwrap();
        let accepted = server.accept_timeout(LONG).unwrap();
        let mut datagram = Vec::new();
        accepted.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
        assert!(datagram == b"small", "{} bytes arrived first", datagram.len());
        assert_ne!(large.as_ref().ok(), Some(&small));
        if let Ok(large) = large {
            let fate = std::iter::from_fn(|| connection.event_timeout(LONG)).find_map(|event| match event {
                Event::Media(number, fate) if number == large => Some(fate),
                _ => None,
            });
            assert!(matches!(fate, Some(Fate::Unsent { .. })), "{fate:?}");
        }
    }
}

/// If the peer is absent, the connection ends, not the program.
#[test]
fn an_absent_peer_times_out() {
    let mut options = Options::insecure();
    options.connection.expert.request_give_up = Duration::from_millis(300);
    options.connection.expert.request_timeout = Duration::from_millis(100);
    let silent = Endpoint::client(&options).unwrap();
    let client = Endpoint::client(&options).unwrap();
    let absent = SocketAddr::new([127, 0, 0, 1].into(), silent.local_addr().port());
    drop(silent);
    let connection = client.connect(absent).unwrap();
    assert_eq!(connection.connected(), Err(Closed::NoAnswer));
    assert_eq!(connection.send(Media::new(b"?")), Err(SendError::Closed(Closed::NoAnswer)));
}

/// A connection that is closed before it is established reports that it was closed here.
#[test]
fn closing_before_an_answer_is_reported_as_closed_here() {
    for options in [Options::insecure(), Options::client(Trust::AnyPeer).unwrap()] {
        let silent = std::net::UdpSocket::bind(LOOPBACK).unwrap();
        let connection = Endpoint::client(&options).unwrap().connect(silent.local_addr().unwrap()).unwrap();
        assert_eq!(connection.close(), Closed::Here);
    }
}

/// A server refuses another service.
#[test]
fn another_service_is_refused() {
    let (_server, address) = server(&Options::insecure());
    let other = Options { service: headway_dccp::ServiceCode(1), ..Options::insecure() };
    let client = Endpoint::client(&other).unwrap();
    let Err(Closed::Reset(reset)) = client.connect(address).unwrap().connected() else { panic!() };
    assert_eq!(reset.code, headway_dccp::ResetCode::BAD_SERVICE_CODE);
}

/// Datagrams sent before the connection is established wait and are sent.
#[test]
fn media_sent_before_the_handshake_arrives() {
    media_sent_before_the_handshake_arrives_with(&secure());
    media_sent_before_the_handshake_arrives_with(&insecure());
}

fn media_sent_before_the_handshake_arrives_with(both: &Both) {
    let (server, address) = server(&both.0);
    let client = Endpoint::client(&both.1).unwrap();
    let connection = client.connect(address).unwrap();
    connection.send(Media::new(b"early")).unwrap();
    let accepted = server.accept_timeout(LONG).unwrap();
    let mut datagram = Vec::new();
    accepted.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
    assert_eq!(datagram, b"early");
}

/// Both directions at once, on one server socket.
#[test]
fn many_connections_share_a_socket() {
    many_connections_share_a_socket_with(&secure());
    many_connections_share_a_socket_with(&insecure());
}

fn many_connections_share_a_socket_with(both: &Both) {
    let (server, address) = server(&both.0);
    let client = Endpoint::client(&both.1).unwrap();
    let connections: Vec<Connection> = (0..20).map(|_| client.connect(address).unwrap()).collect();
    for (n, connection) in connections.iter().enumerate() {
        connection.send(Media::new(&[n as u8])).unwrap();
    }
    let mut accepted = Vec::new();
    for _ in 0..20 {
        let one = server.accept_timeout(LONG).unwrap();
        let mut datagram = Vec::new();
        one.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
        one.send(Media::new(&[datagram[0], datagram[0]])).unwrap();
        accepted.push(one);
    }
    for (n, connection) in connections.iter().enumerate() {
        let mut datagram = Vec::new();
        connection.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
        assert_eq!(datagram, [n as u8; 2]);
    }
}

/// A later connection to the same server uses the existing session.
#[test]
fn later_connections_share_the_session() {
    let (client, first, server, _accepted) = pair(&secure());
    for _ in 0..3 {
        let later = client.connect(server.local_addr()).unwrap();
        later.connected().unwrap();
        later.send(Media::new(b"later")).unwrap();
        let accepted = server.accept_timeout(LONG).unwrap();
        accepted.recv_timeout(&mut Vec::new(), LONG).unwrap().unwrap();
        assert_eq!(later.close(), Closed::Here);
    }
    first.send(Media::new(b"still there")).unwrap();
}

/// Datagrams beyond the limit of unread ones are dropped, and memory does not grow.
#[test]
fn unread_datagrams_above_the_limit_are_dropped() {
    unread_datagrams_above_the_limit_are_dropped_with(&secure());
    unread_datagrams_above_the_limit_are_dropped_with(&insecure());
}

fn unread_datagrams_above_the_limit_are_dropped_with(both: &Both) {
    let few = (Options { unread: 4, ..both.0.clone() }, both.1.clone());
    let (_client, connection, server, accepted) = pair(&few);
    for n in 0..50u8 {
        connection.send(Media::new(&[n])).unwrap();
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    connection.close();
    let (received, _) = all(&accepted);
    assert!(received.len() <= 4, "{}", received.len());
    assert_eq!(server.counters().unread_datagrams, 50 - received.len() as u64);
}

/// Handles are `Send`: one thread may send while another receives.
#[test]
fn handles_are_send_and_sync() {
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<Endpoint>();
    sendable::<Connection>();
}

/// A client that expects another certificate reports it and sends no media.
#[test]
fn an_untrusted_server_gets_no_media() {
    let (server, address) = server(&Options::server().unwrap());
    let other = Options::server().unwrap().fingerprint().unwrap();
    let client = Endpoint::client(&Options::client(Trust::Fingerprints(vec![other])).unwrap()).unwrap();
    let connection = client.connect(address).unwrap();
    // The connection may be closed already.
    drop(connection.send(Media::new(b"secret")));
    assert!(matches!(connection.connected(), Err(Closed::Security(SecureError::Fingerprint { .. }))));
    assert!(server.accept_timeout(Duration::from_millis(100)).is_none());
}

/// A server with a list of clients refuses all others.
#[test]
fn an_untrusted_client_is_refused() {
    let known = Options::client(Trust::AnyPeer).unwrap();
    let (server, address) =
        server(&Options::new(Identity::generate().unwrap(), Trust::Fingerprints(vec![known.fingerprint().unwrap()])));
    let stranger = Endpoint::client(&Options::client(Trust::AnyPeer).unwrap()).unwrap();
    let turned_away = stranger.connect(address).unwrap();
    // In DTLS 1.3 the session of the client is ready before the server sees its certificate, but no connection is.
    assert_eq!(turned_away.connected(), Err(Closed::ByPeer));
    let friend = Endpoint::client(&known).unwrap();
    friend.connect(address).unwrap().connected().unwrap();
    assert!(server.accept_timeout(LONG).is_some());
}

/// An end with security and one without cannot connect, and neither hangs.
#[test]
fn ends_with_and_without_security_do_not_connect() {
    let (_server, address) = server(&Options::server().unwrap());
    let mut options = Options::insecure();
    options.connection.expert.request_give_up = Duration::from_millis(500);
    let client = Endpoint::client(&options).unwrap();
    assert_eq!(client.connect(address).unwrap().connected(), Err(Closed::NoAnswer));
}
