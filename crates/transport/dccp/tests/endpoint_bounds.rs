//! What an endpoint keeps and answers, whoever sends to it: as much as its options say (RFC 4340 sections 8.1.3 and 8.1.4; RFC 6773
//! section 3.8).
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

/// The packets of an end's datagrams, in words.
fn shown(datagrams: &[Sent]) -> Vec<String> {
    let packet = |(path, _, bytes): &Sent| match Packet::decode(bytes, path.outgoing()) {
        Ok(Decoded::Long(packet)) => packet.to_string(),
        other => panic!("{other:?}"),
    };
    datagrams.iter().map(packet).collect()
}

/// Thousands at once through one pair of UDP ports, and none is left behind.
#[test]
fn thousands_of_connections() {
    let mut rules = options();
    rules.expert.time_wait = SECOND * 2;
    let mut world = World::new(EndpointOptions { connections: 3000, ..EndpointOptions::default() }, &rules, perfect());
    for _ in 0..2 {
        let mut handles = BTreeSet::new();
        for _ in 0..30 {
            // More Requests at once than the backlog holds are answered with cookies, but the queue of answers is short.
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
        // All that is kept: places that are free, and the queues' room.
        assert!(format!("{:?}", world.ends[SERVER].endpoint).len() < 400_000);
    }
}

/// A server that has as many as it may have says so (Reset 9, section 5.6), and serves again when one has gone.
#[test]
fn a_full_server() {
    let mut world = World::new(EndpointOptions { connections: 2, ..EndpointOptions::default() }, &options(), perfect());
    let first = [4000, 4001].map(|port| world.connect(there(port), &options(), Queue::default()))[0];
    world.run(SECOND);
    let mut other = End::new(EndpointOptions::default(), "other");
    let late = other.endpoint.connect(world.now, there(5000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    for (path, ecn, bytes) in other.drain(world.now) {
        assert_eq!(world.ends[SERVER].hear(world.now, back(path), ecn, &bytes), Err(Dropped::Full));
    }
    for (path, ecn, bytes) in world.ends[SERVER].drain(world.now) {
        assert_eq!(other.hear(world.now, back(path), ecn, &bytes), Ok(false));
    }
    other.drain(world.now);
    let busy = Reset { code: ResetCode::TOO_BUSY, data: [0; 3] };
    assert_eq!(other.told(late), [Event::Closed(Closed::ByPeer(busy))]);
    world.close(CLIENT, first);
    world.run(SECOND);
    let again = other.endpoint.connect(world.now, there(5001), PORT, SERVICE, &options(), Queue::default()).unwrap();
    for (path, ecn, bytes) in other.drain(world.now) {
        assert_eq!(world.ends[SERVER].hear(world.now, back(path), ecn, &bytes), Ok(false));
    }
    assert_eq!(other.state(again), Some(State::Request));
    assert_eq!(world.ends[SERVER].endpoint.connections(), 2);
}

/// Who waits in TIMEWAIT, here for eight minutes, keeps nobody out: twelve connections one after the other where there may be two.
#[test]
fn who_has_parted_gives_way() {
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
    // Those that go on do not.
    for port in [5000, 5001] {
        world.connect(there(port), &options(), Queue::default());
        world.run(SECOND);
    }
    let third =
        world.ends[CLIENT].endpoint.connect(world.now, there(5002), PORT, SERVICE, &options(), Queue::default());
    assert_eq!(third, Err(ConnectError::Full { connections: 2 }));
}

/// Section 8.1.3 and section 8.5 step 3: where nobody listens a Request gets Connection Refused, another packet No Connection, a
/// Reset nothing; and no more of them than the options allow.
#[test]
fn nobody_listens() {
    let now = Instant::from_secs(1);
    let mut server = End::new(EndpointOptions { refusals_per_second: 8, ..EndpointOptions::default() }, "server");
    let mut client = End::new(EndpointOptions::default(), "client");
    let handle = client.endpoint.connect(now, there(4000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    let [(path, ecn, request)] = &client.drain(now)[..] else { panic!("a Request") };
    assert_eq!(server.hear(now, back(*path), *ecn, request), Err(Dropped::Ignored(Ignored::NoConnection)));
    let [(path, ecn, reset)] = &server.drain(now)[..] else { panic!("a Reset") };
    assert_eq!(server.hear(now, *path, *ecn, reset), Err(Dropped::Ignored(Ignored::NoConnection)));
    assert_eq!(server.drain(now), []);
    client.hear(now, back(*path), *ecn, reset).unwrap();
    client.drain(now);
    let refused = Reset { code: ResetCode::CONNECTION_REFUSED, data: [0; 3] };
    assert_eq!(client.told(handle), [Event::Closed(Closed::ByPeer(refused))]);

    let Ok(Decoded::Long(packet)) = Packet::decode(request, there(4000).outgoing()) else { panic!() };
    let mut bytes = [0; 100];
    let data = Packet { body: Body::Data, data: b"x", ..packet };
    let len = data.encode(&mut bytes, there(4000).outgoing()).unwrap();
    for _ in 0..100 {
        server.hear(now, back(there(4000)), Ecn::NotEct, &bytes[..len]).unwrap_err();
    }
    let said = shown(&server.drain(now));
    assert_eq!(said.len(), 7, "one of eight had gone");
    assert!(said.iter().all(|said| said.contains("No Connection")), "{said:?}");
}

/// Somebody who knows a client's port sends a Request in its name, just before its own: the client is served all the same, and the
/// program hears that the forged connection is over, be it that the client has heard of that one or not.
#[test]
fn a_forged_request_does_not_keep_its_peer_out() {
    let complaint = Reset { code: ResetCode::PACKET_ERROR, data: [1, 0, 0] };
    for (heard, end) in [(true, Closed::ByPeer(complaint)), (false, Closed::NoAnswer(State::Respond))] {
        let mut world = world();
        let client = world.connect(there(4000), &options(), vec![b"mine".to_vec()]);
        let ports = world.ends[CLIENT].endpoint.connection(client).unwrap().ports();
        let mut thief = Connection::connect(world.now, &options(), ports, SERVICE, Random::new(7, "thief"));
        let (mut bytes, mut nothing) = ([0; 100], NoData);
        let request = thief.poll_transmit(world.now, &mut nothing).unwrap().packet;
        let len = request.encode(&mut bytes, there(4000).outgoing()).unwrap();
        assert_eq!(world.ends[SERVER].hear(world.now, back(there(4000)), Ecn::NotEct, &bytes[..len]), Ok(false));
        if !heard {
            assert_eq!(world.ends[SERVER].drain(world.now).len(), 1);
        }
        world.run(SECOND / 2);
        let server = &world.ends[SERVER];
        let [forged, real] = server.accepted()[..] else { panic!("{:?}", server.events) };
        assert_eq!(server.told(forged), [Event::Accepted, Event::Closed(end)]);
        assert_eq!(server.delivered, [(real, b"mine".to_vec())]);
        assert_eq!((server.state(forged), server.state(real)), (None, Some(State::Open)));
        assert_eq!((server.endpoint.connections(), world.ends[CLIENT].state(client)), (1, Some(State::Open)));
        // That the forged one is forgotten does not make the other one so.
        world.push(CLIENT, client, b"mine too");
        world.run(SECOND);
        assert_eq!(world.ends[SERVER].delivered.last(), Some(&(real, b"mine too".to_vec())));
    }
}

/// Where there is no room for another connection, none takes the place of a forged one either, which stays until it is over.
#[test]
fn no_room_to_contest() {
    let mut world = World::new(EndpointOptions { connections: 1, ..EndpointOptions::default() }, &options(), perfect());
    let mut client = End::new(EndpointOptions::default(), "client");
    client.endpoint.connect(world.now, there(4000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    let [(path, ecn, request)] = &client.drain(world.now)[..] else { panic!("a Request") };
    // Half of all numbers away, and so a stranger's.
    let mut forged = request.clone();
    forged[10] ^= 0x80;
    let server = &mut world.ends[SERVER];
    assert_eq!(server.hear(world.now, back(*path), *ecn, &forged), Ok(false));
    assert_eq!(server.hear(world.now, back(*path), *ecn, request), Err(Dropped::Full));
    assert_eq!(server.endpoint.connections(), 1);
}

/// A Request with an option that ends its connection before it begins gets its Reset, and the program hears nothing.
#[test]
fn what_never_begins() {
    let mut world = world();
    let request = Packet {
        source_port: 50_000,
        destination_port: PORT,
        ccval: headway_dccp::CcVal::ZERO,
        cscov: headway_dccp::CsCov::ALL,
        seq: headway_units::Seq48::new(7),
        body: Body::Request { service: SERVICE },
        // Mandatory Change L of a feature that nobody knows.
        options: headway_dccp::OptionArea::new(&[1, 32, 4, 99, 1, 0, 0, 0]).unwrap(),
        data: b"data",
    };
    let mut bytes = [0; 100];
    let len = request.encode(&mut bytes, there(4000).outgoing()).unwrap();
    let server = &mut world.ends[SERVER];
    let heard = server.hear(world.now, back(there(4000)), Ecn::NotEct, &bytes[..len]);
    assert_eq!(heard, Err(Dropped::Ignored(Ignored::OptionError)));
    let said = shown(&server.drain(world.now));
    assert!(said.len() == 1 && said[0].contains("Mandatory Error"), "{said:?}");
    assert_eq!((server.endpoint.connections(), server.events.len()), (0, 0));
}

/// Answers that nobody sends are few, however many Requests come.
#[test]
fn answers_that_wait_are_few() {
    let rules = ConnectionOptions { init_cookies: InitCookies::Always, ..options() };
    let mut world = World::new(EndpointOptions::default(), &rules, perfect());
    let mut clients = End::new(EndpointOptions::default(), "clients");
    for n in 0..1000 {
        clients.endpoint.connect(world.now, there(n), PORT, SERVICE, &rules, Queue::default()).unwrap();
    }
    let requests = clients.drain(world.now);
    assert_eq!(requests.len(), 1000);
    for (path, ecn, bytes) in requests {
        let _ = world.ends[SERVER].hear(world.now, back(path), ecn, &bytes);
    }
    assert_eq!((world.ends[SERVER].drain(world.now).len(), world.ends[SERVER].endpoint.connections()), (64, 0));
}

proptest! {
    /// Garbage is said to be so, and leaves nothing behind.
    #[test]
    fn garbage(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..50)) {
        let mut world = world();
        for bytes in &datagrams {
            let heard = world.ends[SERVER].hear(world.now, back(there(1)), Ecn::Ce, bytes);
            prop_assert!(heard.is_err() || world.ends[SERVER].endpoint.connections() > 0);
            if bytes.len() < 12 {
                prop_assert_eq!(heard, Err(Dropped::Packet(PacketError::TooShort { len: bytes.len() })));
            }
        }
        prop_assert!(world.ends[SERVER].endpoint.connections() <= datagrams.len());
        world.run(SECOND * 1000);
        prop_assert_eq!(world.ends[SERVER].endpoint.connections(), 0);
    }
}
