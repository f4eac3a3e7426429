//! Many threads and tasks on the same handles: nobody waits for what is there, nobody waits for ever. Limits are so far away that only who hangs meets them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_types, reason = "tests")]

use headway_net::{Closed, Duration, Endpoint, Event, Fate, Media, Options, SendError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

const LOOPBACK: &str = "127.0.0.1:0";
/// Longer than anything here takes on the busiest machine.
const LONG: Duration = Duration::from_secs(30);

fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().spawn(run).unwrap()
}

fn pause(millis: u64) {
    std::thread::park_timeout(std::time::Duration::from_millis(millis));
}

fn server() -> (Endpoint, SocketAddr) {
    let server = Endpoint::server(LOOPBACK.parse().unwrap(), &Options::insecure()).unwrap();
    let address = server.local_addr();
    (server, address)
}

/// One thread waits for events, and serves the socket meanwhile; another sends, and so makes one. No datagram comes that would wake the first.
#[test]
fn what_another_thread_does_is_heard() {
    let mut options = Options::insecure();
    options.connection.expert.request_timeout = Duration::from_secs(120);
    options.connection.expert.request_give_up = Duration::from_secs(600);
    let silent = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    let client = Endpoint::client(&options).unwrap();
    let connection = Arc::new(client.connect(silent.local_addr().unwrap()).unwrap());
    let waits = Arc::clone(&connection);
    let thread = spawn(move || waits.event_timeout(LONG));
    pause(50);
    for _ in 0..300 {
        connection.send(Media::new(&[0; 100])).unwrap();
    }
    let first = thread.join().unwrap().expect("the queue has room for 256, and what becomes of others is told");
    assert!(matches!(first, Event::Media(_, Fate::Unsent { .. })), "{first:?}");
}

/// On each connection a thread waits for events, one for datagrams and one for room, while another sends: all come to an end.
#[test]
fn threads_share_a_connection() {
    const MANY: usize = 6;
    let (server, address) = server();
    let echo = spawn(move || {
        let threads: Vec<_> = (0..MANY)
            .map(|_| {
                let accepted = server.accept_timeout(LONG).expect("all connect");
                spawn(move || {
                    let mut datagram = Vec::new();
                    while accepted.recv_timeout(&mut datagram, LONG).expect("the peer goes on, or closes").is_ok() {
                        match accepted.send(Media::new(&datagram)) {
                            Ok(_) | Err(SendError::Closed(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let client = Arc::new(Endpoint::client(&Options::insecure()).unwrap());
    let lines: Vec<_> = (0..MANY)
        .map(|_| {
            let client = Arc::clone(&client);
            spawn(move || {
                let connection = Arc::new(client.connect(address).unwrap());
                let (reads, hears, waits) = (Arc::clone(&connection), Arc::clone(&connection), Arc::clone(&connection));
                let reader = spawn(move || {
                    let (mut datagram, mut came) = (Vec::new(), 0);
                    // A receiver that comes and goes.
                    while came < 100 {
                        if let Some(result) = reads.recv_timeout(&mut datagram, Duration::from_millis(came % 5)) {
                            result.unwrap();
                            came += 1;
                        }
                    }
                });
                let hearer = spawn(move || {
                    let mut delivered = 0;
                    while delivered < 100 {
                        match hears.event_timeout(LONG).expect("each has an end") {
                            Event::Media(_, Fate::Delivered) => delivered += 1,
                            Event::Closed(why) => panic!("{why}"),
                            _ => {}
                        }
                    }
                });
                let waiter = spawn(move || (0..50).for_each(|_| waits.room(1)));
                for n in 0..100u8 {
                    connection.room(8);
                    connection.send(Media::new(&[n; 200])).unwrap();
                }
                [reader, hearer, waiter].into_iter().for_each(|thread| thread.join().unwrap());
                Arc::into_inner(connection).unwrap().close()
            })
        })
        .collect();
    for line in lines {
        assert_eq!(line.join().unwrap(), Closed::Here);
    }
    echo.join().unwrap();
}

/// A program that only sends: all of it goes by the socket's own thread.
#[test]
fn who_only_sends_need_not_wait() {
    let (server, address) = server();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    let connection = client.connect(address).unwrap();
    let accepted = server.accept_timeout(Duration::ZERO).or_else(|| server.accept_timeout(LONG)).unwrap();
    for n in 0..50u8 {
        connection.send(Media::new(&[n; 1000])).unwrap();
    }
    let mut datagram = Vec::new();
    for n in 0..50u8 {
        accepted.recv_timeout(&mut datagram, LONG).expect("what waits goes without the program").unwrap();
        assert_eq!(datagram, vec![n; 1000]);
    }
}

/// The endpoint is dropped while others wait on its connections: those go on, and end when their peers do.
#[test]
fn an_endpoint_goes_before_its_connections() {
    for _ in 0..20 {
        let (server, address) = server();
        let client = Endpoint::client(&Options::insecure()).unwrap();
        let connection = client.connect(address).unwrap();
        connection.connected().unwrap();
        let accepted = server.accept_timeout(LONG).unwrap();
        let reader = spawn(move || {
            let mut datagram = Vec::new();
            accepted.recv(&mut datagram).unwrap();
            (datagram, accepted.recv(&mut Vec::new()))
        });
        let dropped = [spawn(move || drop(server)), spawn(move || drop(client))];
        connection.send(Media::new(b"still here")).unwrap();
        dropped.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(connection.close(), Closed::Here);
        assert_eq!(reader.join().unwrap(), (b"still here".to_vec(), Err(Closed::ByPeer)));
    }
}

/// A program that asks and never waits hears what has come, and keeps nobody else from it.
#[test]
fn who_never_waits_hears_all_the_same() {
    let (server, address) = server();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    let connection = client.connect(address).unwrap();
    connection.connected().unwrap();
    connection.send(Media::new(b"here")).unwrap();
    let accepted = server.accept_timeout(LONG).unwrap();
    let mut datagram = Vec::new();
    while accepted.recv_timeout(&mut datagram, Duration::ZERO).is_none() {}
    assert_eq!(datagram, b"here");
}
