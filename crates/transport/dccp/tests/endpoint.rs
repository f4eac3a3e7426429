//! Endpoints connected to each other (RFC 4340 section 8; RFC 6773 section 3.8): many connections
//! through one pair of sockets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::network;
use crate::pipe;

use headway_dccp::{
    Closed, ConnectError, Connection, ConnectionOptions, Endpoint, EndpointOptions, Event, InitCookies, ListenError,
    Path, Reset, ResetCode, ServiceCode, State,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Options, Random};
use network::{CLIENT, End, PORT, Queue, SERVER, SERVICE, World, back, bad, perfect, there};
use pipe::options;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

const SECOND: Duration = Duration::from_secs(1);

fn world() -> World {
    World::new(EndpointOptions::default(), &options(), perfect())
}

/// Connections open, carry data in both directions, close, and are removed: the server's at once,
/// the client's after TIMEWAIT (section 8.3).
#[test]
fn connect_exchange_data_close() {
    let mut world = world();
    let client = world.connect(there(4000), &options(), vec![b"question".to_vec()]);
    world.run(SECOND);
    let [server] = world.ends[SERVER].accepted()[..] else { panic!("one connection") };
    world.push(SERVER, server, b"answer");
    world.run(SECOND);
    assert_eq!(world.ends[SERVER].delivered, [(server, b"question".to_vec())]);
    assert_eq!(world.ends[CLIENT].delivered, [(client, b"answer".to_vec())]);
    assert_eq!(world.ends[SERVER].endpoint.path(server), Some(back(there(4000))));

    world.close(CLIENT, client);
    world.run(SECOND);
    let closed = Reset { code: ResetCode::CLOSED, data: [0; 3] };
    assert_eq!(world.ends[CLIENT].events_of(client), [Event::Connected, Event::Closed(Closed::ByPeer(closed))]);
    let ended = Event::Closed(Closed::ByUs(closed));
    assert_eq!(world.ends[SERVER].events_of(server), [Event::Accepted, Event::Connected, ended]);
    assert_eq!((world.ends[CLIENT].state(client), world.ends[SERVER].state(server)), (Some(State::TimeWait), None));
    world.run(SECOND * 240);
    assert_eq!(world.ends[CLIENT].state(client), None);
    for end in &mut world.ends {
        assert_eq!((end.endpoint.connections(), end.endpoint.poll_timeout()), (0, None));
        assert!(end.endpoint.outbox_mut(client).is_none() && end.endpoint.connection_mut(server).is_none());
    }
}

/// The status of a closed connection can be read until the next event.
#[test]
fn the_status_of_a_closed_connection_can_be_read() {
    let mut world = world();
    let client = world.connect(there(4000), &options(), vec![vec![1; 100]]);
    world.run(SECOND);
    let handle = world.ends[SERVER].accepted()[0];
    world.ends[CLIENT].endpoint.connection_mut(client).unwrap().abort(world.now);
    let [(path, ecn, reset)] = &world.ends[CLIENT].drain(world.now)[..] else { panic!("a Reset") };
    let server = &mut world.ends[SERVER].endpoint;
    server.handle_datagram(world.now, back(*path), *ecn, reset).unwrap();
    // The events are polled as late as possible.
    assert!(matches!(server.poll_event(), Some((of, Event::Closed(_))) if of == handle));
    assert_eq!(server.connection(handle).unwrap().status().counters.delivered_packets, 1);
    assert!(server.poll_transmit(world.now, &mut vec![]).is_none());
    let time_wait = world.now + SECOND * 240;
    server.handle_timeout(time_wait);
    assert_eq!((server.poll_transmit(time_wait, &mut vec![]), server.poll_event()), (None, None));
    assert!(server.connection(handle).is_none());
}

/// RFC 6773 section 3.8: six numbers identify a connection. Tested with the same DCCP ports on two
/// UDP ports, and two DCCP ports on one.
#[test]
fn six_numbers_identify_a_connection() {
    let mut world = world();
    let handles: Vec<_> = [4000, 4000, 4001]
        .map(|port| world.connect(there(port), &options(), vec![vec![port as u8; 10], vec![port as u8; 20]]))
        .into();
    // Two hosts behind address translators may use the same DCCP ports.
    let mut other = End::new(EndpointOptions::default(), "client");
    let twin = other.endpoint.connect(world.now, there(5000), PORT, SERVICE, &options(), Queue::default()).unwrap();
    let ports = |end: &End, handle| end.endpoint.connection(handle).unwrap().ports();
    assert_eq!(ports(&other, twin), ports(&world.ends[CLIENT], handles[0]));
    for (path, ecn, bytes) in other.drain(world.now) {
        assert_eq!(world.ends[SERVER].receive(world.now, back(path), ecn, &bytes), Ok(false));
    }
    world.run(SECOND);
    let accepted = world.ends[SERVER].accepted();
    assert_eq!(accepted.len(), 4);
    for handle in accepted {
        let of = world.ends[SERVER].delivered.iter().filter(|(of, _)| *of == handle).count();
        let is_twin = world.ends[SERVER].endpoint.path(handle) == Some(back(there(5000)));
        assert_eq!(of, if is_twin { 0 } else { 2 });
    }
}

#[test]
fn invalid_options_are_rejected() {
    let (now, mut end) = (Instant::ZERO, End::new(EndpointOptions::default(), "end"));
    let wrong = ConnectionOptions { mtu: Bytes::new(100), ..options() };
    let listened = end.endpoint.listen(now, PORT, &wrong, &[SERVICE]);
    assert_eq!(listened.unwrap_err().to_string(), "mtu: 100B is out of range: from 576B to 9216B");
    assert_eq!(end.endpoint.listen(now, PORT, &options(), &[SERVICE]), Ok(()));
    let again = end.endpoint.listen(now, PORT, &options(), &[ServiceCode(1)]);
    assert_eq!(again, Err(ListenError::PortInUse { port: PORT }));
    assert!(end.endpoint.stop_listening(PORT) && !end.endpoint.stop_listening(PORT));
    let connected = end.endpoint.connect(now, there(1), PORT, SERVICE, &wrong, Queue::default());
    assert!(matches!(connected, Err(ConnectError::Options(error)) if error.key == "mtu"));
}

/// A client's port is a random dynamic port (RFC 4340 section 19.9) without a listener or a
/// connection to the same peer. Connections to different peers may share a port.
#[test]
fn ports_are_dynamic() {
    let (now, mut end) = (Instant::ZERO, End::new(EndpointOptions::default(), "end"));
    let connect = |end: &mut End, path| end.endpoint.connect(now, path, PORT, SERVICE, &options(), Queue::default());
    let port = |end: &End, handle| end.endpoint.connection(handle).unwrap().ports().local;
    let mut drawn: Vec<_> = (0..100).map(|_| connect(&mut end, there(1)).unwrap()).collect();
    drawn.sort_by_key(|handle| port(&end, *handle));
    let ports: BTreeSet<_> = drawn.iter().map(|handle| port(&end, *handle)).collect();
    assert!(ports.len() == 100 && ports.first() >= Some(&49_152));
    assert!(ports.first() < Some(&52_000) && ports.last() > Some(&62_000), "whole range: {ports:?}");
    for taken in (49_152..=u16::MAX).filter(|port| !ports.contains(port)) {
        end.endpoint.listen(now, taken, &options(), &[SERVICE]).unwrap();
    }
    assert_eq!(connect(&mut end, there(1)), Err(ConnectError::NoPort { ports: 16_384 }));
    let other = connect(&mut end, there(2)).unwrap();
    assert!(ports.contains(&port(&end, other)));
    let free = (49_152..=u16::MAX).find(|port| !ports.contains(port)).unwrap();
    end.endpoint.stop_listening(free);
    let last = connect(&mut end, there(1)).unwrap();
    assert_eq!(port(&end, last), free);
}

/// A flow label is not part of an address: it may differ between packets (RFC 6437 section 3).
#[test]
fn flow_labels_do_not_matter() {
    let mut world = world();
    let end = |port, flow| SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::LOCALHOST, port, flow, 0));
    let client = world.connect(Path::Udp { local: end(1, 7), remote: end(2, 8) }, &options(), Queue::default());
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT), (CLIENT, SERVER), (SERVER, CLIENT)] {
        for (path, ecn, bytes) in world.ends[from].drain(world.now) {
            assert!(matches!(path, Path::Udp { remote: SocketAddr::V6(remote), .. } if remote.flowinfo() == 0));
            let (local, remote) = if to == SERVER { (end(2, 0), end(1, 9)) } else { (end(1, 0), end(2, 10)) };
            assert_eq!(world.ends[to].receive(world.now, Path::Udp { local, remote }, ecn, &bytes), Ok(false));
        }
    }
    assert_eq!(world.ends[CLIENT].state(client), Some(State::Open));
}

/// RFC 6773 section 3.7 and section 14: the headers of the path reduce the maximum packet size,
/// independent of the options.
#[test]
fn headers_below() {
    let mapped = Path::Udp {
        local: "[::ffff:192.0.2.1]:1".parse().unwrap(),
        remote: "[::ffff:192.0.2.2]:6511".parse().unwrap(),
    };
    let six = Path::Udp { local: "[::]:1".parse().unwrap(), remote: "[2001:db8::2]:6511".parse().unwrap() };
    let [four, ip6] = [
        Path::Ipv4 { local: [192, 0, 2, 1].into(), remote: [192, 0, 2, 2].into() },
        Path::Ipv6 { local: "::1".parse().unwrap(), remote: "::2".parse().unwrap() },
    ];
    for (path, headers) in [(four, 20), (ip6, 40), (there(1), 28), (mapped, 28), (six, 48)] {
        for init_cookies in [InitCookies::WhenBusy, InitCookies::Always] {
            let rules = ConnectionOptions { init_cookies, ..options() };
            let mut world = World::new(EndpointOptions::default(), &rules, perfect());
            let client = world.connect(path, &rules, Queue::default());
            world.run(SECOND);
            let server = world.ends[SERVER].accepted()[0];
            for (end, handle) in [(CLIENT, client), (SERVER, server)] {
                let status = world.ends[end].endpoint.connection(handle).unwrap().status();
                assert_eq!(status.maximum_packet_size, 1500 - headers - 40, "{path:?}");
            }
        }
    }
}

/// With segmentation offload, datagrams of one size are sent in batches up to the limit; the last
/// may be shorter. A longer one starts the next batch. The order is preserved.
#[test]
fn batches() {
    let sizes = |sizes: &[usize]| sizes.iter().enumerate().map(|(n, len)| vec![n as u8; *len]).collect::<Vec<_>>();
    let runs = [&[1000; 10][..], &[500, 1200, 1200, 0, 1200], &[1400; 100]].concat();
    // 16 bytes of header each. A packet that is longer than the others of a batch is sent alone.
    // One UDP datagram holds 46 packets of 1416 B.
    let batched = [(10 * 1016 + 516, 1016), (2 * 1216 + 16, 1216), (1216, 1216)];
    let full = [(1416, 1416), (46 * 1416, 1416), (46 * 1416, 1416), (7 * 1416, 1416)];
    for (segments, wanted) in
        [(64, [&batched[..], &full].concat()), (1, runs.iter().map(|len| (len + 16, len + 16)).collect())]
    {
        let mut world = World::new(EndpointOptions { segments, ..EndpointOptions::default() }, &options(), perfect());
        let client = world.connect(there(4000), &options(), Queue::default());
        world.run(SECOND);
        world.ends[CLIENT].sent.clear();
        sizes(&runs).iter().for_each(|data| world.push(CLIENT, client, data));
        world.run(SECOND);
        let sent = world.ends[CLIENT].sent.iter().map(|sent| (sent.len, sent.segment_size));
        assert_eq!(sent.collect::<Vec<_>>(), wanted);
        let delivered = world.ends[SERVER].delivered.iter().map(|(_, data)| data.clone());
        assert_eq!(delivered.collect::<Vec<_>>(), sizes(&runs));
    }
    // Packets above the path MTU may be fragmented and are not batched with others.
    let mut mixed = world();
    let client = mixed.connect(there(4000), &options(), Queue::default());
    mixed.run(SECOND);
    mixed.ends[CLIENT].sent.clear();
    [2000, 1000, 1000].iter().for_each(|len| mixed.push(CLIENT, client, &vec![1; *len]));
    mixed.run(SECOND);
    let sent = mixed.ends[CLIENT].sent.iter().map(|sent| (sent.len, sent.dont_fragment)).collect::<Vec<_>>();
    assert_eq!(sent, [(2016, false), (1016, true), (1016, true)]);
    // Raw IP has no segmentation offload.
    let mut world = world();
    let four = Path::Ipv4 { local: [192, 0, 2, 1].into(), remote: [192, 0, 2, 2].into() };
    let client = world.connect(four, &options(), sizes(&runs));
    world.run(SECOND);
    assert!(world.ends[CLIENT].sent.iter().all(|sent| sent.len == sent.segment_size));
    assert_eq!((world.ends[CLIENT].state(client), world.ends[SERVER].delivered.len()), (Some(State::Open), runs.len()));
}

/// Connections with data take turns, one batch each; the others are not polled.
#[test]
fn connections_take_turns() {
    let mut world = World::new(EndpointOptions { segments: 4, ..EndpointOptions::default() }, &options(), perfect());
    let handles: Vec<_> = (0..100).map(|n| world.connect(there(4000 + n), &options(), Queue::default())).collect();
    world.run(SECOND);
    world.ends[CLIENT].sent.clear();
    let asked = |world: &mut World| -> Vec<u64> {
        handles.iter().map(|handle| world.ends[CLIENT].endpoint.outbox_mut(*handle).unwrap().asked).collect()
    };
    // Access to an outbox schedules its connection: all are polled once.
    let before = asked(&mut world);
    world.drain();
    for (n, handle) in handles.iter().enumerate().filter(|(n, _)| n % 10 == 0) {
        (0..12).for_each(|_| world.push(CLIENT, *handle, &[n as u8; 100]));
    }
    world.drain();
    let turns: Vec<_> = world.ends[CLIENT].sent.iter().map(|sent| (sent.path, sent.len)).collect();
    let round = (0..100).step_by(10).map(|n| (there(4000 + n), 4 * 116));
    assert_eq!(turns, [round.clone(), round.clone(), round].into_iter().flatten().collect::<Vec<_>>());
    for (n, (before, after)) in before.iter().zip(asked(&mut world)).enumerate() {
        assert_eq!(after - before == 1, n % 10 != 0, "{n}: {before} {after}");
    }
}

/// A connection may start without an outbox and get one later.
#[test]
fn an_outbox_may_be_set_later() {
    let now = Instant::from_secs(1);
    let mut endpoint: Endpoint<Option<Queue>> = Endpoint::new(EndpointOptions::default(), Random::new(1, "late"));
    let rules = ConnectionOptions { handshake_data: true, ..options() };
    let handle = endpoint.connect(now, there(1), PORT, SERVICE, &rules, None).unwrap();
    let mut buffer = vec![];
    let bare = endpoint.poll_transmit(now, &mut buffer).unwrap().len;
    *endpoint.outbox_mut(handle).unwrap() = Some(vec![vec![7; 100]].into());
    assert_eq!(endpoint.poll_transmit(now, &mut buffer), None);
    let with = endpoint.connect(now, there(1), PORT, SERVICE, &rules, Some(vec![vec![7; 100]].into())).unwrap();
    assert_eq!(endpoint.poll_transmit(now, &mut buffer).map(|sent| sent.len), Some(bare + 100));
    assert_ne!(endpoint.connection(with).map(Connection::ports), endpoint.connection(handle).map(Connection::ports));
}

/// Returns RFC 4340's options with one CCID in both directions.
fn rules(ccid: u8) -> ConnectionOptions {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let controllers = [preset.controllers.clone(), options().controllers].concat();
    ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, ..preset }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Ten connections through one pair of UDP ports with losses, duplicates and reordering. Each connects or reports
    /// no answer, since all Requests may be lost (RFC 4340, 8.1.1). No datagram is delivered twice or on another
    /// connection, most are delivered, and all connections are closed and removed.
    #[test]
    fn over_a_bad_path(seed: u64, ccid in prop::sample::select(vec![2, 3, 4, 248]), lost in 0u64..20, twice in 0u64..20, late in 0u64..30) {
        let rules = rules(ccid);
        let mut world = World::new(EndpointOptions::default(), &rules, bad(seed, lost, twice, late));
        let data = |of: u8| (0..30u8).map(|n| vec![of, n, 9]).collect::<Vec<_>>();
        let clients: Vec<_> = (0..10).map(|of| world.connect(there(4000), &rules, data(of))).collect();
        world.run(SECOND * 300);
        let servers = world.ends[SERVER].accepted();
        for handle in &servers {
            data(100).iter().for_each(|data| world.push(SERVER, *handle, data));
        }
        world.run(SECOND * 300);
        for (end, handles, sent) in [(SERVER, &servers, 0..10), (CLIENT, &clients, 100..101)] {
            let mut seen = BTreeSet::new();
            for (handle, data) in &world.ends[end].delivered {
                prop_assert!(handles.contains(handle) && sent.contains(&data[0]) && data[2] == 9);
                prop_assert!(seen.insert((*handle, data[1])), "twice");
            }
            prop_assert!(seen.len() > 150 && seen.len() <= 300, "{} datagrams of 300", seen.len());
        }
        // The first data of a connection identifies its sender; all other data must match.
        for server in servers {
            let of: BTreeSet<_> = world.ends[SERVER].delivered.iter().filter(|(of, _)| *of == server).map(|(_, data)| data[0]).collect();
            prop_assert!(of.len() <= 1);
        }
        for client in clients {
            if world.ends[CLIENT].endpoint.connection(client).is_some() {
                world.close(CLIENT, client);
            } else {
                prop_assert_eq!(world.ends[CLIENT].events_of(client), [Event::Closed(Closed::NoAnswer(State::Request))]);
            }
        }
        world.run(SECOND * 1000);
        for end in &world.ends {
            prop_assert_eq!((end.endpoint.connections(), end.endpoint.poll_timeout()), (0, None));
        }
    }
}
