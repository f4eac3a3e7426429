//! Tests of peers that vanish, for ever or for a while.

use crate::nat::{Direction, Nat};
use crate::world::{Both, LONG, Stream, World, accounted, each, pause, small, until, with};
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Event, Fate, Media, Options, SendError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

/// Options with a timeout of two seconds.
fn short_timeouts(both: Both) -> Both {
    with(both, |options| {
        options.connection.keep_alive = Some(Duration::from_millis(500));
        options.connection.idle_give_up = Some(Duration::from_secs(2));
        options.connection.expert.close_give_up = Duration::from_millis(500);
    })
}

/// When the peer's host vanishes, every waiting call returns the reason and no state is left.
#[test]
fn a_peer_that_vanishes_times_out() {
    each(|name, both| {
        let World { server, client, nat, ends } = World::new(&short_timeouts(both));
        ends[0].send(Media::new(b"still here")).unwrap();
        ends[1].recv_timeout(&mut Vec::new(), LONG).expect("it arrives").unwrap();
        let clock = Clock::new();
        nat.vanish();
        // One end sends and the other waits, for datagrams and for events.
        let [sends, waits] = ends;
        let watched = Arc::clone(&waits);
        let event_reader = Builder::new().spawn(move || std::iter::from_fn(|| watched.next_event()).last()).unwrap();
        let sender = Builder::new().spawn(move || {
            loop {
                match sends.send(Media::new(&[7; 500])) {
                    Ok(_) => pause(5),
                    Err(error) => break (error, sends),
                }
            }
        });
        assert_eq!(waits.recv(&mut Vec::new()), Err(Closed::NoAnswer), "{name}");
        let (error, sends) = sender.unwrap().join().unwrap();
        assert_eq!(error, SendError::Closed(Closed::NoAnswer), "{name}");
        println!("{name}: timeout of 2s after {}", clock.now());
        assert_eq!(event_reader.join().unwrap(), Some(Event::Closed(Closed::NoAnswer)));
        // A wait for space in the send queue ends.
        sends.writable(1);
        let close = |connection: Arc<Connection>| Arc::into_inner(connection).map(Connection::close);
        assert_eq!([close(sends), close(waits)], [const { Some(Closed::NoAnswer) }; 2]);
        for endpoint in [&server, &client] {
            until("nothing is left", || (endpoint.connections(), endpoint.sessions()) == (0, 0));
        }
    });
}

/// After an outage shorter than the timeout, media continues in both directions, and every outcome is known.
#[test]
fn media_continues_after_an_outage() {
    each(|name, both| {
        let world = World::new(&both);
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(50));
        world.nat.hole(true);
        pause(1500);
        world.nat.hole(false);
        let clock = Clock::new();
        streams.iter().for_each(Stream::continues);
        println!("{name}: media continues {} after an outage of 1.5s", clock.now());
        streams.iter().for_each(Stream::continues);
        for stream in streams {
            stream.reports(Fate::Delivered, 50);
            let sums = accounted(&stream.stop());
            println!("{name}: {sums:?}");
            assert!(!sums.contains_key("unknown"), "{sums:?}");
        }
    });
}

/// If the Close and all later datagrams are lost, both ends time out.
#[test]
fn a_lost_close_ends_by_timeout() {
    each(|name, both| {
        let World { server, client, nat, ends: [closes, waits] } = World::new(&short_timeouts(both));
        nat.hole(true);
        let closed = Arc::into_inner(closes).unwrap().close();
        assert!(matches!(closed, Closed::Here | Closed::NoAnswer), "{name}: {closed:?}");
        assert_eq!(waits.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::NoAnswer)), "{name}");
        drop((waits, client, server));
    });
}

/// A server is dropped during a handshake: the connection, which nothing will accept, is closed.
#[test]
fn a_handshake_ends_with_its_server() {
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &Options::insecure()).unwrap();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    let nat = Nat::new(server.local_addr());
    // The server receives the Request, and nothing else until it is dropped.
    let (gone, mut has_passed) = (Arc::new(AtomicBool::new(false)), false);
    let is_gone = Arc::clone(&gone);
    nat.on_path(Box::new(move |received| {
        let mut passes = |direction| {
            direction == Direction::ToClient
                || !std::mem::replace(&mut has_passed, true)
                || is_gone.load(Ordering::SeqCst)
        };
        let received = received.filter(|(direction, _)| passes(*direction));
        received.into_iter().map(|(direction, datagram)| (direction, datagram.to_vec())).collect()
    }));
    let connection = client.connect(nat.address()).unwrap();
    until("the handshake is in progress", || server.connections() == 1);
    drop(server);
    gone.store(true, Ordering::SeqCst);
    assert_eq!(connection.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::ByPeer)));
}

/// A restarted server has no state of its clients. With DTLS it cannot send an authenticated notice, so the client
/// times out; without DTLS it sends a Reset.
#[test]
fn a_restarted_server_is_detected() {
    each(|name, both| {
        // The client's timeout is longer than the old server needs to end, on any machine.
        let (ours, mut theirs) = short_timeouts(both.clone());
        theirs.connection.idle_give_up = Some(Duration::from_secs(8));
        let World { server, client, nat, ends: [waits, accepted] } = World::new(&(ours, theirs));
        let address = server.local_addr();
        nat.hole(true);
        drop((accepted, server));
        // The old server ends when its Close times out.
        let mut again = None;
        until("the port is free", || {
            again = Endpoint::server(address, &both.0).ok();
            again.is_some()
        });
        // Its last Reset may still be in transit: under DTLS the client would accept it.
        nat.drain();
        nat.hole(false);
        waits.send(Media::new(b"who are you?")).unwrap();
        let why = waits.recv_timeout(&mut Vec::new(), LONG);
        if name == "DTLS" {
            assert_eq!(why, Some(Err(Closed::NoAnswer)));
        } else {
            assert!(matches!(why, Some(Err(Closed::Reset(_)))), "{why:?}");
        }
        // A new connection to it works.
        let later = client.connect(nat.address()).unwrap();
        assert_eq!(later.connected(), Ok(()), "{name}");
        drop(again);
    });
}
