//! Media through two endpoints: each outbox is notified of sent packets and of arrivals, and
//! vanished peers are given up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::network;
use crate::pipe;

use headway_dccp::{
    Closed, ConnectionOptions, Datagram, Endpoint, EndpointOptions, Event, InOrder, MediaOutbox, Path, State,
};
use headway_media::{Media, SendQueueOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Registry};
use network::{CLIENT, PORT, SERVER, SERVICE, World, back, perfect, there};
use pipe::options;
use std::collections::BTreeMap;

type MediaEndpoint = Endpoint<Option<MediaOutbox<Vec<u8>>>>;

/// Datagrams in flight by arrival time: receiving endpoint and path.
type InFlight = BTreeMap<(Instant, u64), (usize, Path, Vec<u8>)>;

fn arrived(in_flight: &mut InFlight, now: Instant) -> Option<(usize, Path, Vec<u8>)> {
    in_flight.first_entry().filter(|entry| entry.key().0 <= now).map(|entry| entry.remove())
}

/// Sends 500 datagrams, one every 10 ms with a lifetime of 1 s, under CCID 2 over 20 ms each way.
/// Every 25th packet with data is lost. Returns the datagrams received, in the order in which the program gets them, and
/// the number given up.
fn call(resend: bool) -> (Vec<u16>, usize) {
    let mut rules = SendQueueOptions::preset("fifo", Dialect::Rfc).unwrap();
    rules.rules.resend = resend;
    let connection = ConnectionOptions { send_ccids: vec![2], ..ConnectionOptions::preset(Dialect::Rfc) };
    let mut ends =
        ["client", "server"].map(|name| MediaEndpoint::new(EndpointOptions::default(), Random::new(1, name)));
    let mut now = Instant::from_secs(1);
    ends[SERVER].listen(now, PORT, &connection, &[SERVICE]).unwrap();
    let outbox = Some(MediaOutbox::new(&rules));
    let client = ends[CLIENT].connect(now, there(4000), PORT, SERVICE, &connection, outbox).unwrap();
    let (mut in_flight, mut received, mut given_up, mut data_sent, mut sent) =
        (InFlight::new(), Vec::new(), 0, 0u64, 0u64);
    let (mut in_order, mut pushed) = (InOrder::new(Duration::from_secs(2), 1024), 0u16);
    for tick in 0..12_000u64 {
        now = Instant::from_millis(1000 + tick);
        let outbox = ends[CLIENT].outbox_mut(client).and_then(Option::as_mut).unwrap();
        if tick % 10 == 0 && (1000..6000).contains(&tick) {
            let expires = Some(now + Duration::from_secs(1));
            let data = [&pushed.to_be_bytes()[..], &[7; 498]].concat();
            outbox.push(now, Media { expires, ..Media::new(now, data) });
            pushed += 1;
        }
        given_up += std::iter::from_fn(|| outbox.poll_given_up()).count();
        while let Some((end, path, bytes)) = arrived(&mut in_flight, now) {
            let handled: Option<Datagram<'_>> =
                ends[end].handle_datagram(now, path, Ecn::NotEct, &bytes).ok().flatten();
            let Some(Datagram { data, order, .. }) = handled else { continue };
            let mut read = |data: &[u8], ()| received.push(u16::from_be_bytes([data[0], data[1]]));
            match order {
                Some(order) => in_order.receive(now, order, data, (), &mut read),
                None => read(data, ()),
            }
        }
        for end in [CLIENT, SERVER] {
            ends[end].handle_timeout(now);
            let mut buffer = vec![];
            while let Some(transmit) = ends[end].poll_transmit(now, &mut buffer) {
                for bytes in buffer[..transmit.len].chunks(transmit.segment_size) {
                    let data = bytes.len() > 500;
                    data_sent += u64::from(data);
                    if data && data_sent % 25 == 0 {
                        continue;
                    }
                    sent += 1;
                    let arrives = (now + Duration::from_millis(20), sent);
                    in_flight.insert(arrives, (1 - end, back(transmit.path), bytes.to_vec()));
                }
            }
            while ends[end].poll_event().is_some() {}
        }
    }
    (received, given_up)
}

/// Without `resend`, lost datagrams are not reported; with it each datagram is received or given up, and the receiver
/// restores the order.
#[test]
fn lost_datagrams_are_resent() {
    let [(received, given_up), (received_again, given_up_again)] = [false, true].map(call);
    assert!(received.is_sorted() && received_again.is_sorted(), "{received_again:?}");
    let (received, received_again) = (received.len(), received_again.len());
    println!("{received} and {given_up}, {received_again} and {given_up_again}");
    assert!(received + given_up <= 490, "{received} received, {given_up} given up");
    assert!(
        received_again + given_up_again == 500 && received_again > received,
        "{received_again} received, {given_up_again} given up"
    );
}

/// Datagrams that are queued when a connection ends are returned.
#[test]
fn queued_datagrams_are_returned_at_the_end() {
    let rules = SendQueueOptions::preset("fifo", Dialect::Rfc).unwrap();
    let mut outbox = MediaOutbox::new(&rules);
    let now = Instant::from_secs(1);
    for n in 0..5u8 {
        outbox.push(now, Media::new(now, vec![n]));
    }
    let left: Vec<Vec<u8>> = outbox.drain().into_iter().map(|media| media.payload).collect();
    assert_eq!(left, (0..5u8).map(|n| vec![n]).collect::<Vec<_>>());
    assert!(outbox.queue().is_empty() && outbox.poll_given_up().is_none());
}

/// A silent client or server is closed after ten minutes; silence before that is accepted.
#[test]
fn vanished_peers_are_given_up() {
    let mut world = World::new(EndpointOptions::default(), &options(), perfect());
    let handle = world.connect(there(4000), &options(), vec![vec![1]]);
    world.run(Duration::from_secs(1));
    world.fate = Box::new(Vec::new);
    world.run(Duration::from_secs(590));
    assert_eq!((world.ends[CLIENT].state(handle), world.ends[SERVER].endpoint.connections()), (Some(State::Open), 1));
    world.run(Duration::from_secs(20));
    for end in [CLIENT, SERVER] {
        let closed = Event::Closed(Closed::NoAnswer(State::Open));
        assert!(world.ends[end].events.iter().any(|(_, event)| *event == closed), "{:?}", world.ends[end].events);
        assert_eq!(world.ends[end].endpoint.connections(), 0);
        assert_eq!(world.ends[end].endpoint.poll_timeout(), None);
    }
}

/// Occasional packets in either direction keep a connection open; without the option nothing closes it.
#[test]
fn occasional_packets_keep_a_connection() {
    for idle_give_up in [Some(Duration::from_secs(600)), None] {
        let rules = ConnectionOptions::preset(Dialect::Rfc);
        let bounds = EndpointOptions { idle_give_up, ..EndpointOptions::default() };
        let mut world = World::new(bounds, &rules, perfect());
        let handle = world.connect(there(4000), &rules, vec![vec![1]]);
        for _ in 0..4 {
            world.run(Duration::from_secs(if idle_give_up.is_some() { 500 } else { 5000 }));
            assert_eq!(world.ends[CLIENT].state(handle), Some(State::Open));
            world.push(CLIENT, handle, b"still there");
        }
        world.run(Duration::from_secs(1));
        assert_eq!(world.ends[SERVER].delivered.len(), 5);
    }
}
