//! Tests of the circuit breaker: it stops a sender far above the capacity of its path, and no controlled sender.
#![cfg(target_os = "linux")]

use crate::world::{LONG, pause};
use headway_emulator::{Proxy, ProxyOptions};
use headway_net::{BreakerReason, Clock, Closed, Connection, Duration, Endpoint, Event, Media, Options};
use headway_scenario::{NoFiles, links};
use headway_units::Instant;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

/// 400 kb/s with a queue of four packets.
const LINK: &str = "seed = 3\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"400kbps\"\ndelay = \"20ms\"
queue = { kind = \"droptail\", limit = \"4packets\" }";

/// Sends 1000 B each 2 ms, ten times the capacity of the link, for `seconds`. Returns the reason of the end, if any.
fn flood(controller: &str, seconds: u64) -> Option<Closed> {
    let options = Options::insecure().with_controller(controller).unwrap();
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let links = links("link.toml", LINK, &[], &NoFiles).unwrap();
    let ways = links.duplex(None).unwrap();
    let listen = ProxyOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        to: server.local_addr(),
        overhead: None,
        clients: 256,
        bound: Duration::from_secs(3600),
    };
    let mut proxy =
        Proxy::new(listen, links.ties, ways.map(|link| (&link.name[..], &link.config)), links.seed).unwrap();
    let (address, over) = (proxy.address().unwrap(), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&over);
    let carrier = Builder::new().spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            proxy.turn(Duration::from_millis(5)).unwrap();
        }
    });
    let client = Endpoint::client(&options).unwrap();
    let connection = client.connect(address).unwrap();
    connection.connected().unwrap();
    let accepted = server.accept_timeout(LONG).expect("it has connected");
    let clock = Clock::new();
    let (mut closed, mut sent) = (None, 0);
    while closed.is_none() && clock.now() < Instant::from_secs(seconds) {
        // As many as are due by now, also on a busy machine.
        while Instant::from_millis(2 * sent) < clock.now() {
            sent += 1;
            // The connection may be closed already: an event has the reason.
            drop(connection.send(Media { expires: Some(Duration::from_millis(100)), ..Media::new(&[7; 1000]) }));
        }
        while accepted.recv_timeout(&mut Vec::new(), Duration::ZERO).is_some_and(|received| received.is_ok()) {}
        closed = end(&connection);
        pause(2);
    }
    println!("{controller}: {closed:?} after {}", clock.now());
    over.store(true, Ordering::SeqCst);
    drop((connection, accepted));
    carrier.unwrap().join().unwrap();
    closed
}

/// Returns the reason of the end, if the connection is closed.
fn end(connection: &Connection) -> Option<Closed> {
    while let Some(event) = connection.event_timeout(Duration::ZERO) {
        if let Event::Closed(why) = event {
            return Some(why);
        }
    }
    None
}

#[test]
fn a_sender_without_control_is_stopped() {
    let why = flood("none", 60);
    assert!(matches!(why, Some(Closed::Breaker(BreakerReason::Congestion { .. }))), "{why:?}");
}

#[test]
fn a_controlled_sender_is_not_stopped() {
    assert_eq!(flood("tfrc", 12), None);
}
