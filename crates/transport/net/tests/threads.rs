//! Tests of many threads and tasks on the same handles: no lost wake-ups and no deadlocks. Timeouts are far longer
//! than any step.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_types, reason = "tests")]

use headway_net::{Closed, Duration, Endpoint, Event, Fate, Media, Options, SendError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

const LOOPBACK: &str = "127.0.0.1:0";
/// Longer than any step takes on a busy machine.
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

/// A thread that waits for events, and serves the socket, is woken by an event of another thread's call, without a
/// datagram.
#[test]
fn an_event_of_another_thread_wakes_a_waiter() {
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
    let first = thread.join().unwrap().expect("the queue holds 256, and the others are reported");
    assert!(matches!(first, Event::Media(_, Fate::Unsent { .. })), "{first:?}");
}

/// On each connection, threads wait for events, datagrams and queue space while another thread sends.
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
                    while accepted.recv_timeout(&mut datagram, LONG).expect("the peer continues or closes").is_ok() {
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
    let clients: Vec<_> = (0..MANY)
        .map(|_| {
            let client = Arc::clone(&client);
            spawn(move || {
                let connection = Arc::new(client.connect(address).unwrap());
                let (reads, watched, waits) =
                    (Arc::clone(&connection), Arc::clone(&connection), Arc::clone(&connection));
                let reader = spawn(move || {
                    let (mut datagram, mut received) = (Vec::new(), 0);
                    // The receiver waits repeatedly for short times.
                    while received < 100 {
                        if let Some(result) = reads.recv_timeout(&mut datagram, Duration::from_millis(received % 5)) {
                            result.unwrap();
                            received += 1;
                        }
                    }
                });
                let event_reader = spawn(move || {
                    let mut delivered = 0;
                    while delivered < 100 {
                        match watched.event_timeout(LONG).expect("each has an end") {
                            Event::Media(_, Fate::Delivered) => delivered += 1,
                            Event::Closed(why) => panic!("{why}"),
                            _ => {}
                        }
                    }
                });
                let waiter = spawn(move || (0..50).for_each(|_| waits.writable(1)));
                for n in 0..100u8 {
                    connection.writable(8);
                    connection.send(Media::new(&[n; 200])).unwrap();
                }
                [reader, event_reader, waiter].into_iter().for_each(|thread| thread.join().unwrap());
                Arc::into_inner(connection).unwrap().close()
            })
        })
        .collect();
    for client in clients {
        assert_eq!(client.join().unwrap(), Closed::Here);
    }
    echo.join().unwrap();
}

/// The socket's own thread sends all datagrams of a program that never waits.
#[test]
fn a_program_that_only_sends_need_not_wait() {
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

/// The endpoint is dropped while other threads wait on its connections, which continue until their peers close.
#[test]
fn connections_survive_their_endpoint() {
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

/// A program that polls without waiting receives datagrams, and does not starve other threads.
#[test]
fn a_program_that_polls_receives_datagrams() {
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
