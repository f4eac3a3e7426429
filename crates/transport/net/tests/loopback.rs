//! Two endpoints over the loopback interface of this machine. Nothing here asserts how fast anything is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_types, reason = "tests")]

use headway_net::{
    Closed, Connection, DropCode, Duration, Endpoint, Event, Fate, Identity, Media, Options, SecureError, SendError,
    Trust,
};
use std::net::SocketAddr;

const LOOPBACK: &str = "127.0.0.1:0";
/// Longer than anything here takes on the busiest machine.
const LONG: Duration = Duration::from_secs(30);

/// A server's options and its client's.
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

/// All datagrams until the peer has closed.
fn all(connection: &Connection) -> (Vec<Vec<u8>>, Closed) {
    let mut came = Vec::new();
    loop {
        let mut datagram = Vec::new();
        match connection.recv_timeout(&mut datagram, LONG).expect("the peer goes on, or says that it does not") {
            Ok(()) => came.push(datagram),
            Err(why) => return (came, why),
        }
    }
}

#[test]
fn media_arrives_in_order_and_the_end_is_told() {
    media_arrives_in_order_and_the_end_is_told_with(&secure());
    media_arrives_in_order_and_the_end_is_told_with(&insecure());
}

fn media_arrives_in_order_and_the_end_is_told_with(both: &Both) {
    let (_client, connection, _server, accepted) = pair(both);
    let sender = std::thread::Builder::new().spawn(move || {
        for n in 0..500u32 {
            connection.send(Media::new(&n.to_be_bytes())).unwrap();
            // A program that makes media takes its time.
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        connection.close()
    });
    let (came, why) = all(&accepted);
    assert_eq!(came, (0..500u32).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!((why, sender.unwrap().join().unwrap()), (Closed::ByPeer, Closed::Here));
}

/// Each datagram has one end, and those of which the peer says so have arrived.
#[test]
fn what_became_of_each_datagram_is_told() {
    what_became_of_each_datagram_is_told_with(&secure());
    what_became_of_each_datagram_is_told_with(&insecure());
}

fn what_became_of_each_datagram_is_told_with(both: &Both) {
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

/// A program that does not read loses what finds no room (RFC 4340 section 11.7). Its peer hears of which: nothing that was not read was delivered.
#[test]
fn what_is_not_read_in_time_was_not_delivered() {
    what_is_not_read_in_time_was_not_delivered_with(secure());
    what_is_not_read_in_time_was_not_delivered_with(insecure());
}

fn what_is_not_read_in_time_was_not_delivered_with((server, client): Both) {
    let (_client, connection, _server, accepted) = pair(&(Options { unread: 8, ..server }, client));
    // All that waits goes at once.
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
    let (came, _) = all(&accepted);
    let came: Vec<u64> = came.iter().map(|datagram| u64::from_be_bytes(datagram[..].try_into().unwrap())).collect();
    assert_eq!((came, 8), (delivered, 60 - dropped), "what was read is what was delivered");
    assert_eq!(accepted.dropped_datagrams(), 52);
}

/// What cannot come in time does not go, and the program hears it.
#[test]
fn what_has_expired_is_not_sent() {
    what_has_expired_is_not_sent_with(&secure());
    what_has_expired_is_not_sent_with(&insecure());
}

fn what_has_expired_is_not_sent_with(both: &Both) {
    let (_client, connection, _server, _accepted) = pair(both);
    // TFRC begins with a few packets: of so many at once most would wait for reports for longer than a microsecond.
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
fn what_no_packet_can_carry_is_refused() {
    what_no_packet_can_carry_is_refused_with(&secure());
    what_no_packet_can_carry_is_refused_with(&insecure());
}

fn what_no_packet_can_carry_is_refused_with(both: &Both) {
    let (_client, connection, _server, _accepted) = pair(both);
    // The search begins at 1280 bytes with all headers: IP's and UDP's 28, DTLS's 37, DCCP's 24 and 16 of options.
    assert!((1175..1500).contains(&connection.largest()), "{}", connection.largest());
    while connection.largest() < 1300 {
        connection.event_timeout(LONG).expect("the path is asked for more");
    }
    let largest = connection.largest();
    assert_eq!(
        connection.send(Media::new(&vec![0; largest + 1])),
        Err(SendError::TooLarge { len: largest + 1, largest })
    );
    connection.send(Media::new(&vec![0; largest])).unwrap();
}

/// What goes once the path has answered, a round trip later, is not refused before; either end.
#[test]
fn what_may_yet_go_waits_for_the_answer_of_the_path() {
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

/// Also if it is handed over before anybody knows how much a packet carries; what stands behind it goes.
#[test]
fn what_no_packet_can_carry_does_not_go_first() {
    for both in [secure(), insecure()] {
        let (server, address) = server(&both.0);
        let connection = Endpoint::client(&both.1).unwrap().connect(address).unwrap();
        // A client without DTLS may know it at once.
        let large = connection.send(Media::new(&[7; 3000]));
        let small = connection.send(Media::new(b"small")).unwrap();
        let accepted = server.accept_timeout(LONG).unwrap();
        let mut datagram = Vec::new();
        accepted.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
        assert!(datagram == b"small", "{} bytes came first", datagram.len());
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

/// Nobody is there: the connection is over after a while, not the program.
#[test]
fn nobody_answers() {
    let mut options = Options::insecure();
    options.connection.expert.request_give_up = Duration::from_millis(300);
    options.connection.expert.request_timeout = Duration::from_millis(100);
    let silent = Endpoint::client(&options).unwrap();
    let client = Endpoint::client(&options).unwrap();
    let nobody = SocketAddr::new([127, 0, 0, 1].into(), silent.local_addr().port());
    drop(silent);
    let connection = client.connect(nobody).unwrap();
    assert_eq!(connection.connected(), Err(Closed::NoAnswer));
    assert_eq!(connection.send(Media::new(b"?")), Err(SendError::Closed(Closed::NoAnswer)));
}

/// A program that gives up before there is an answer has closed, and nothing else has happened.
#[test]
fn who_closes_before_there_is_an_answer_has_closed() {
    for options in [Options::insecure(), Options::client(Trust::Anyone).unwrap()] {
        let silent = std::net::UdpSocket::bind(LOOPBACK).unwrap();
        let connection = Endpoint::client(&options).unwrap().connect(silent.local_addr().unwrap()).unwrap();
        assert_eq!(connection.close(), Closed::Here);
    }
}

/// A server that serves something else says so.
#[test]
fn another_service_is_refused() {
    let (_server, address) = server(&Options::insecure());
    let other = Options { service: headway_dccp::ServiceCode(1), ..Options::insecure() };
    let client = Endpoint::client(&other).unwrap();
    let Err(Closed::Reset(reset)) = client.connect(address).unwrap().connected() else { panic!() };
    assert_eq!(reset.code, headway_dccp::ResetCode::BAD_SERVICE_CODE);
}

/// What is sent before there is an answer waits, and goes.
#[test]
fn the_first_media_need_not_wait() {
    the_first_media_need_not_wait_with(&secure());
    the_first_media_need_not_wait_with(&insecure());
}

fn the_first_media_need_not_wait_with(both: &Both) {
    let (server, address) = server(&both.0);
    let client = Endpoint::client(&both.1).unwrap();
    let connection = client.connect(address).unwrap();
    connection.send(Media::new(b"early")).unwrap();
    let accepted = server.accept_timeout(LONG).unwrap();
    let mut datagram = Vec::new();
    accepted.recv_timeout(&mut datagram, LONG).unwrap().unwrap();
    assert_eq!(datagram, b"early");
}

/// Both ways at once, on one socket that serves many.
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

/// What comes to the same server later uses the session that there is.
#[test]
fn a_later_connection_is_as_good_as_the_first() {
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

/// A program that does not read loses what it does not read, and nothing grows.
#[test]
fn who_does_not_read_loses() {
    who_does_not_read_loses_with(&secure());
    who_does_not_read_loses_with(&insecure());
}

fn who_does_not_read_loses_with(both: &Both) {
    let few = (Options { unread: 4, ..both.0.clone() }, both.1.clone());
    let (_client, connection, server, accepted) = pair(&few);
    for n in 0..50u8 {
        connection.send(Media::new(&[n])).unwrap();
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    connection.close();
    let (came, _) = all(&accepted);
    assert!(came.len() <= 4, "{}", came.len());
    assert_eq!(server.counters().unread_datagrams, 50 - came.len() as u64);
}

/// The handles are `Send`, and one thread may send while another receives.
#[test]
fn handles_go_to_other_threads() {
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<Endpoint>();
    sendable::<Connection>();
}

/// A client that expects somebody else says so, and nothing of its media goes.
#[test]
fn a_server_that_is_not_trusted_gets_nothing() {
    let (server, address) = server(&Options::server().unwrap());
    let other = Options::server().unwrap().fingerprint().unwrap();
    let client = Endpoint::client(&Options::client(Trust::Fingerprints(vec![other])).unwrap()).unwrap();
    let connection = client.connect(address).unwrap();
    // It may be refused already.
    drop(connection.send(Media::new(b"secret")));
    assert!(matches!(connection.connected(), Err(Closed::Security(SecureError::Fingerprint { .. }))));
    assert!(server.accept_timeout(Duration::from_millis(100)).is_none());
}

/// A server that knows its clients turns others away.
#[test]
fn a_client_that_is_not_trusted_is_turned_away() {
    let known = Options::client(Trust::Anyone).unwrap();
    let (server, address) =
        server(&Options::new(Identity::generate().unwrap(), Trust::Fingerprints(vec![known.fingerprint().unwrap()])));
    let stranger = Endpoint::client(&Options::client(Trust::Anyone).unwrap()).unwrap();
    let turned_away = stranger.connect(address).unwrap();
    // In DTLS 1.3 it is ready before the server has seen its certificate, but no connection is.
    assert_eq!(turned_away.connected(), Err(Closed::ByPeer));
    let friend = Endpoint::client(&known).unwrap();
    friend.connect(address).unwrap().connected().unwrap();
    assert!(server.accept_timeout(LONG).is_some());
}

/// One end with security and one without do not understand each other, and neither hangs.
#[test]
fn security_is_not_left_out() {
    let (_server, address) = server(&Options::server().unwrap());
    let mut options = Options::insecure();
    options.connection.expert.request_give_up = Duration::from_millis(500);
    let client = Endpoint::client(&options).unwrap();
    assert_eq!(client.connect(address).unwrap().connected(), Err(Closed::NoAnswer));
}
