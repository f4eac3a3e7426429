//! Who is gone, and who is gone for a while.

use crate::nat::{Nat, Way};
use crate::world::{Both, LONG, Stream, World, accounted, each, pause, small, until, with};
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Event, Media, Options, SendError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

/// A peer that says nothing for two seconds is gone.
fn impatient(both: Both) -> Both {
    with(both, |options| {
        options.connection.keep_alive = Some(Duration::from_millis(500));
        options.connection.idle_give_up = Some(Duration::from_secs(2));
        options.connection.expert.close_give_up = Duration::from_millis(500);
    })
}

/// The peer's host vanishes without a word: whoever waits for anything hears of it, with the reason, and nothing is left.
#[test]
fn a_peer_that_vanishes_is_missed() {
    each(|name, both| {
        let World { server, client, nat, ends } = World::new(&impatient(both));
        ends[0].send(Media::new(b"still here")).unwrap();
        ends[1].recv_timeout(&mut Vec::new(), LONG).expect("it comes").unwrap();
        let clock = Clock::new();
        nat.vanish();
        // One end sends all the time, the other waits; both ways of waiting end.
        let [sends, waits] = ends;
        let hears = Arc::clone(&waits);
        let hearer = Builder::new().spawn(move || std::iter::from_fn(|| hears.next_event()).last()).unwrap();
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
        println!("{name}: a peer that is gone was given up after {}, of 2s", clock.now());
        assert_eq!(hearer.join().unwrap(), Some(Event::Closed(Closed::NoAnswer)));
        // Who waits for room waits no more.
        sends.room(1);
        let close = |connection: Arc<Connection>| Arc::into_inner(connection).map(Connection::close);
        assert_eq!([close(sends), close(waits)], [const { Some(Closed::NoAnswer) }; 2]);
        for endpoint in [&server, &client] {
            until("nothing is left", || (endpoint.connections(), endpoint.sessions()) == (0, 0));
        }
    });
}

/// An outage that is shorter than the peer's patience: media goes on, both ways, and of none is it unknown what became of it.
#[test]
fn media_goes_on_after_an_outage() {
    each(|name, both| {
        let world = World::new(&both);
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(50));
        world.nat.hole(true);
        pause(1500);
        world.nat.hole(false);
        let clock = Clock::new();
        streams.iter().for_each(Stream::goes_on);
        println!("{name}: media goes on {} after an outage of 1.5s", clock.now());
        streams.iter().for_each(Stream::goes_on);
        for stream in streams {
            let sums = accounted(&stream.stop());
            println!("{name}: {sums:?}");
            assert!(sums["delivered"] > 50 && !sums.contains_key("unknown"), "{sums:?}");
        }
    });
}

/// The program is gone and has closed, but its Close is lost, and so is all that follows: the peer is not left hanging, and neither is who closes.
#[test]
fn a_close_that_is_lost_ends_all_the_same() {
    each(|name, both| {
        let World { server, client, nat, ends: [closes, waits] } = World::new(&impatient(both));
        nat.hole(true);
        let closed = Arc::into_inner(closes).unwrap().close();
        assert!(matches!(closed, Closed::Here | Closed::NoAnswer), "{name}: {closed:?}");
        assert_eq!(waits.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::NoAnswer)), "{name}");
        drop((waits, client, server));
    });
}

/// A server goes while a handshake is under way: nobody will accept that connection, and it does not stay for ever.
#[test]
fn a_handshake_that_outlives_its_server_ends() {
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &Options::insecure()).unwrap();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    let nat = Nat::new(server.local_addr());
    // The server hears the Request, and nothing more until it is gone.
    let (gone, mut heard) = (Arc::new(AtomicBool::new(false)), false);
    let is_gone = Arc::clone(&gone);
    nat.on_path(Box::new(move |came| {
        let mut passes =
            |way| way == Way::ToClient || !std::mem::replace(&mut heard, true) || is_gone.load(Ordering::SeqCst);
        let came = came.filter(|(way, _)| passes(*way));
        came.into_iter().map(|(way, datagram)| (way, datagram.to_vec())).collect()
    }));
    let connection = client.connect(nat.address()).unwrap();
    until("the handshake is under way", || server.connections() == 1);
    drop(server);
    gone.store(true, Ordering::SeqCst);
    assert_eq!(connection.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::ByPeer)));
}

/// A server that begins anew at its old address knows nobody: DTLS has no word for it that could be believed, so that its client goes by its own patience;
/// without DTLS a Reset says so.
#[test]
fn a_server_that_has_begun_anew_is_found_out() {
    each(|name, both| {
        // The client's patience is longer than the old server takes to go, on any machine.
        let (ours, mut theirs) = impatient(both.clone());
        theirs.connection.idle_give_up = Some(Duration::from_secs(8));
        let World { server, client, nat, ends: [waits, accepted] } = World::new(&(ours, theirs));
        let address = server.local_addr();
        nat.hole(true);
        drop((accepted, server));
        // The old one is not gone before it has given up its Close.
        let mut again = None;
        until("the port is free", || {
            again = Endpoint::server(address, &both.0).ok();
            again.is_some()
        });
        // What it said last, a Reset, may not have come to the hole yet: behind DTLS that would be believed.
        pause(200);
        nat.hole(false);
        waits.send(Media::new(b"who are you?")).unwrap();
        let why = waits.recv_timeout(&mut Vec::new(), LONG);
        if name == "DTLS" {
            assert_eq!(why, Some(Err(Closed::NoAnswer)));
        } else {
            assert!(matches!(why, Some(Err(Closed::Reset(_)))), "{why:?}");
        }
        // And it is as good as the old one.
        let later = client.connect(nat.address()).unwrap();
        assert_eq!(later.connected(), Ok(()), "{name}");
        drop(again);
    });
}
