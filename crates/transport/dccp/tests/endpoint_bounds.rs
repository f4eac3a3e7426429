//! Limits of an endpoint's state and answers for arbitrary senders (RFC 4340 sections 8.1.3 and
//! 8.1.4; RFC 6773 section 3.8).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::network;
use crate::pipe;

use headway_dccp::{
    Body, Closed, ConnectError, Connection, ConnectionOptions, Decoded, Dropped, EndpointOptions, Event, Ignored,
    InitCookies, NoData, Packet, PacketError, Reset, ResetCode, State,
};
use headway_units::{Duration, Ecn, Instant, Random};
use network::{CLIENT, End, PORT, Queue, SERVER, SERVICE, Sent, World, back, perfect, there};
use pipe::options;
use proptest::prelude::*;
use std::collections::BTreeSet;

const SECOND: Duration = Duration::from_secs(1);

fn world() -> World {
    World::new(EndpointOptions::default(), &options(), perfect())
}

fn shown(datagrams: &[Sent]) -> Vec<String> {
    let packet = |(path, _, bytes): &Sent| match Packet::decode(bytes, path.outgoing()) {
        Ok(Decoded::Long(packet)) => packet.to_string(),
        other => panic!("{other:?}"),
    };
    datagrams.iter().map(packet).collect()
}

/// Thousands of connections use one pair of UDP ports, and all are removed.
#[test]
fn thousands_of_connections() {
    let mut rules = options();
    rules.expert.time_wait = SECOND * 2;
    let mut world = World::new(EndpointOptions { connections: 3000, ..EndpointOptions::default() }, &rules, perfect());
    for _ in 0..2 {
        let mut handles = BTreeSet::new();
        for _ in 0..30 {
            // Requests beyond the backlog are answered with cookies, but the queue of answers is short.
            handles.extend((0..100u8).map(|n| world.connect(there(4000), &rules, vec![vec![n]])));
            world.run(SECOND);
        }
        assert_eq!(handles.len(), 3000);
        let again =
            world.ends[CLIENT].endpoint.connect(world.now, there(4000), PORT, SERVICE, &rules, Queue::default());
        assert_eq!(again, Err(ConnectError::Full { connections: 3000 }));
        assert!(handles.iter().all(|handle| world.ends[CLIENT].state(*handle) == Some(State::Open)));
        assert_eq!((world.ends[SERVER].endpoint.connections(), world.ends[SERVER].delivered.len()), (3000, 3000));
        handles.iter().for_each(|handle| world.close(CLIENT, *handle));
        world.run(SECOND * 3);
        for end in &mut world.ends {
            assert_eq!((end.endpoint.connections(), end.endpoint.poll_timeout()), (0, None));
            end.delivered.clear();
        }
        // Only free slots and the capacity of queues remain.
        assert!(format!("{:?}", world.ends[SERVER].endpoint).len() < 400_000);
    }
}

/// A full server answers with Reset 9 (section 5.6), and accepts again when a connection is removed.
#[test]
fn a_full_server() {
    let mut world = World::new(EndpointOptions { connections: 2, ..EndpointOptions::default() }, &options(), perfect());
    let first = [4000, 4001].map(|port| world.connect(there(port), &options(), Queue::default()))[0];
    world.run(SECOND);
    let mut other = End::new(EndpointOptions::default(), "other");
    let late = other.endpoint.connect(world.now, there(5000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    for (path, ecn, bytes) in other.drain(world.now) {
        assert_eq!(world.ends[SERVER].receive(world.now, back(path), ecn, &bytes), Err(Dropped::Full));
    }
    for (path, ecn, bytes) in world.ends[SERVER].drain(world.now) {
        assert_eq!(other.receive(world.now, back(path), ecn, &bytes), Ok(false));
    }
    other.drain(world.now);
    let busy = Reset { code: ResetCode::TOO_BUSY, data: [0; 3] };
    assert_eq!(other.events_of(late), [Event::Closed(Closed::ByPeer(busy))]);
    world.close(CLIENT, first);
    world.run(SECOND);
    let again = other.endpoint.connect(world.now, there(5001), PORT, SERVICE, &options(), Queue::default()).unwrap();
    for (path, ecn, bytes) in other.drain(world.now) {
        assert_eq!(world.ends[SERVER].receive(world.now, back(path), ecn, &bytes), Ok(false));
    }
    assert_eq!(other.state(again), Some(State::Request));
    assert_eq!(world.ends[SERVER].endpoint.connections(), 2);
}

/// Connections in TIMEWAIT, here for eight minutes, do not block new ones: twelve consecutive
/// connections with a limit of two.
#[test]
fn connections_in_timewait_are_replaced() {
    let few = EndpointOptions { connections: 2, ..EndpointOptions::default() };
    let mut world = World::new(few, &options(), perfect());
    for port in 4000..4012 {
        let handle = world.connect(there(port), &options(), Queue::default());
        world.run(SECOND);
        assert_eq!(world.ends[CLIENT].state(handle), Some(State::Open));
        world.close(CLIENT, handle);
        world.run(SECOND);
        assert_eq!(world.ends[CLIENT].state(handle), Some(State::TimeWait));
        assert!(world.ends[CLIENT].endpoint.connections() <= 2);
    }
    // Open connections are not removed.
    for port in [5000, 5001] {
        world.connect(there(port), &options(), Queue::default());
        world.run(SECOND);
    }
    let third =
        world.ends[CLIENT].endpoint.connect(world.now, there(5002), PORT, SERVICE, &options(), Queue::default());
    assert_eq!(third, Err(ConnectError::Full { connections: 2 }));
}

/// Sections 8.1.3 and 8.5 step 3: without a listener, a Request is answered with Connection Refused, another packet
/// with No Connection, and a Reset not at all. The number of answers is limited.
#[test]
fn no_listener() {
    let now = Instant::from_secs(1);
    let mut server = End::new(EndpointOptions { refusals_per_second: 8, ..EndpointOptions::default() }, "server");
    let mut client = End::new(EndpointOptions::default(), "client");
    let handle = client.endpoint.connect(now, there(4000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    let [(path, ecn, request)] = &client.drain(now)[..] else { panic!("a Request") };
    assert_eq!(server.receive(now, back(*path), *ecn, request), Err(Dropped::Ignored(Ignored::NoConnection)));
    let [(path, ecn, reset)] = &server.drain(now)[..] else { panic!("a Reset") };
    assert_eq!(server.receive(now, *path, *ecn, reset), Err(Dropped::Ignored(Ignored::NoConnection)));
    assert_eq!(server.drain(now), []);
    client.receive(now, back(*path), *ecn, reset).unwrap();
    client.drain(now);
    let refused = Reset { code: ResetCode::CONNECTION_REFUSED, data: [0; 3] };
    assert_eq!(client.events_of(handle), [Event::Closed(Closed::ByPeer(refused))]);

    let Ok(Decoded::Long(packet)) = Packet::decode(request, there(4000).outgoing()) else { panic!() };
    let mut bytes = [0; 100];
    let data = Packet { body: Body::Data, data: b"x", ..packet };
    let len = data.encode(&mut bytes, there(4000).outgoing()).unwrap();
    for _ in 0..100 {
        server.receive(now, back(there(4000)), Ecn::NotEct, &bytes[..len]).unwrap_err();
    }
    let output = shown(&server.drain(now));
    assert_eq!(output.len(), 7, "one of eight was already sent");
    assert!(output.iter().all(|output| output.contains("No Connection")), "{output:?}");
}

/// An attacker who knows a client's port sends a Request in its name just before the client's. The client is accepted,
/// and the forged connection is closed with an event, whether or not the client received its Response.
#[test]
fn a_forged_request_does_not_block_its_peer() {
    let complaint = Reset { code: ResetCode::PACKET_ERROR, data: [1, 0, 0] };
    for (handled, end) in [(true, Closed::ByPeer(complaint)), (false, Closed::NoAnswer(State::Respond))] {
        let mut world = world();
        let client = world.connect(there(4000), &options(), vec![b"mine".to_vec()]);
        let ports = world.ends[CLIENT].endpoint.connection(client).unwrap().ports();
        let mut attacker = Connection::connect(world.now, &options(), ports, SERVICE, Random::new(7, "thief"));
        let (mut bytes, mut nothing) = ([0; 100], NoData);
        let request = attacker.poll_transmit(world.now, &mut nothing).unwrap().packet;
        let len = request.encode(&mut bytes, there(4000).outgoing()).unwrap();
        assert_eq!(world.ends[SERVER].receive(world.now, back(there(4000)), Ecn::NotEct, &bytes[..len]), Ok(false));
        if !handled {
            assert_eq!(world.ends[SERVER].drain(world.now).len(), 1);
        }
        world.run(SECOND / 2);
        let server = &world.ends[SERVER];
        let [forged, real] = server.accepted()[..] else { panic!("{:?}", server.events) };
        assert_eq!(server.events_of(forged), [Event::Accepted, Event::Closed(end)]);
        assert_eq!(server.delivered, [(real, b"mine".to_vec())]);
        assert_eq!((server.state(forged), server.state(real)), (None, Some(State::Open)));
        assert_eq!((server.endpoint.connections(), world.ends[CLIENT].state(client)), (1, Some(State::Open)));
        // Removal of the forged connection does not remove the other.
        world.push(CLIENT, client, b"mine too");
        world.run(SECOND);
        assert_eq!(world.ends[SERVER].delivered.last(), Some(&(real, b"mine too".to_vec())));
    }
}

/// At the connection limit a forged connection is not replaced; it remains until it ends.
#[test]
fn a_full_endpoint_keeps_a_forged_connection() {
    let mut world = World::new(EndpointOptions { connections: 1, ..EndpointOptions::default() }, &options(), perfect());
    let mut client = End::new(EndpointOptions::default(), "client");
    client.endpoint.connect(world.now, there(4000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    let [(path, ecn, request)] = &client.drain(world.now)[..] else { panic!("a Request") };
    // The number is half of the number space away, and thus foreign.
    let mut forged = request.clone();
    forged[10] ^= 0x80;
    let server = &mut world.ends[SERVER];
    assert_eq!(server.receive(world.now, back(*path), *ecn, &forged), Ok(false));
    assert_eq!(server.receive(world.now, back(*path), *ecn, request), Err(Dropped::Full));
    assert_eq!(server.endpoint.connections(), 1);
}

/// A Request with an option that resets its connection is answered with the Reset, without an event.
#[test]
fn a_request_reset_by_an_option_creates_no_connection() {
    let mut world = world();
    let request = Packet {
        source_port: 50_000,
        destination_port: PORT,
        ccval: headway_dccp::CcVal::ZERO,
        cscov: headway_dccp::CsCov::ALL,
        seq: headway_units::Seq48::new(7),
        body: Body::Request { service: SERVICE },
        // Mandatory Change L of an unknown feature.
        options: headway_dccp::OptionArea::new(&[1, 32, 4, 99, 1, 0, 0, 0]).unwrap(),
        data: b"data",
    };
    let mut bytes = [0; 100];
    let len = request.encode(&mut bytes, there(4000).outgoing()).unwrap();
    let server = &mut world.ends[SERVER];
    let handled = server.receive(world.now, back(there(4000)), Ecn::NotEct, &bytes[..len]);
    assert_eq!(handled, Err(Dropped::Ignored(Ignored::OptionError)));
    let output = shown(&server.drain(world.now));
    assert!(output.len() == 1 && output[0].contains("Mandatory Error"), "{output:?}");
    assert_eq!((server.endpoint.connections(), server.events.len()), (0, 0));
}

/// The queue of unsent answers is bounded.
#[test]
fn queued_answers_are_bounded() {
    let rules = ConnectionOptions { init_cookies: InitCookies::Always, ..options() };
    let mut world = World::new(EndpointOptions::default(), &rules, perfect());
    let mut clients = End::new(EndpointOptions::default(), "clients");
    for n in 0..1000 {
        clients.endpoint.connect(world.now, there(n), PORT, SERVICE, &rules, Queue::default()).unwrap();
    }
    let requests = clients.drain(world.now);
    assert_eq!(requests.len(), 1000);
    for (path, ecn, bytes) in requests {
        let _ = world.ends[SERVER].receive(world.now, back(path), ecn, &bytes);
    }
    assert_eq!((world.ends[SERVER].drain(world.now).len(), world.ends[SERVER].endpoint.connections()), (64, 0));
}

proptest! {
    /// Garbage is reported as such, and leaves no state.
    #[test]
    fn garbage_leaves_no_state(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..50)) {
        let mut world = world();
        for bytes in &datagrams {
            let handled = world.ends[SERVER].receive(world.now, back(there(1)), Ecn::Ce, bytes);
            prop_assert!(handled.is_err() || world.ends[SERVER].endpoint.connections() > 0);
            if bytes.len() < 12 {
                prop_assert_eq!(handled, Err(Dropped::Packet(PacketError::TooShort { len: bytes.len() })));
            }
        }
        prop_assert!(world.ends[SERVER].endpoint.connections() <= datagrams.len());
        world.run(SECOND * 1000);
        prop_assert_eq!(world.ends[SERVER].endpoint.connections(), 0);
    }
}
