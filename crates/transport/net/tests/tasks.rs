//! Tests of tasks: futures that are dropped early, and wakers that run arbitrary code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_types, reason = "tests")]

use headway_net::{Closed, Connection, Duration, Endpoint, Event, Media, Options};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Builder;

/// Longer than any step takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// Connections of one client to one server, with both ends of each.
fn connections(many: usize) -> (Endpoint, Endpoint, Vec<(Connection, Connection)>) {
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &Options::insecure()).unwrap();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    let each = (0..many).map(|_| {
        let connection = client.connect(server.local_addr()).unwrap();
        connection.connected().unwrap();
        (connection, server.accept_timeout(LONG).expect("it has connected"))
    });
    let each = each.collect();
    (client, server, each)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// Half of the receives are dropped before they are ready: each datagram is still received once and in order.
#[test]
fn a_cancelled_receive_loses_no_datagram() {
    const MANY: u32 = 400;
    let (_client, _server, mut ends) = connections(1);
    let (sends, receives) = ends.pop().unwrap();
    let sender = Builder::new().spawn(move || {
        for n in 0..MANY {
            sends.send(Media::new(&n.to_be_bytes())).unwrap();
            std::thread::park_timeout(std::time::Duration::from_micros(500));
        }
        sends.close()
    });
    let (mut received, mut cancelled) = (Vec::new(), 0);
    runtime().block_on(async {
        let mut datagram = Vec::new();
        loop {
            tokio::select! {
                result = receives.recv_async(&mut datagram) => match result {
                    Ok(()) => received.push(u32::from_be_bytes(datagram[..].try_into().unwrap())),
                    Err(why) => break assert_eq!(why, Closed::ByPeer),
                },
                () = tokio::task::yield_now() => cancelled += 1,
            }
        }
    });
    assert_eq!((received, sender.unwrap().join().unwrap()), ((0..MANY).collect::<Vec<_>>(), Closed::Here));
    assert!(cancelled > 0);
}

/// An echo server with one task per connection and one that accepts.
#[test]
fn tasks_serve_many_connections() {
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &Options::insecure()).unwrap();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    let address = server.local_addr();
    runtime().block_on(async {
        let echo = tokio::spawn(async move {
            for _ in 0..20 {
                let accepted = server.accept_async().await.unwrap();
                tokio::spawn(async move {
                    let mut datagram = Vec::new();
                    while accepted.recv_async(&mut datagram).await.is_ok() {
                        // The connection may be closed already.
                        drop(accepted.send(Media::new(&datagram)));
                    }
                });
            }
            server
        });
        let calls: Vec<_> = (0..20u8)
            .map(|n| {
                let connection = client.connect(address).unwrap();
                tokio::spawn(async move {
                    connection.connected_async().await.unwrap();
                    connection.writable_async(0).await;
                    connection.send(Media::new(&[n])).unwrap();
                    let mut datagram = Vec::new();
                    connection.recv_async(&mut datagram).await.unwrap();
                    assert_eq!(datagram, [n]);
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        drop(echo.await.unwrap());
    });
}

/// A task that waits for a peer ends when the endpoint stops accepting. Both ends of a connection wait for its end.
#[test]
fn tasks_are_notified_of_ends() {
    let (_client, server, mut ends) = connections(1);
    let (connection, accepted) = ends.pop().unwrap();
    runtime().block_on(async {
        let server = Arc::new(server);
        let waiting = tokio::spawn({
            let server = Arc::clone(&server);
            async move { server.accept_async().await.is_none() }
        });
        tokio::task::yield_now().await;
        server.stop_accepting();
        assert!(waiting.await.unwrap());
        connection.start_close();
        assert_eq!(accepted.closed_async().await, Closed::ByPeer);
        assert_eq!(connection.closed_async().await, Closed::Here);
    });
}

/// The poll functions return what the futures return, and wake the task.
#[test]
fn polls_return_what_futures_return() {
    let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &Options::insecure()).unwrap();
    let client = Endpoint::client(&Options::insecure()).unwrap();
    runtime().block_on(async {
        assert!(server.poll_accept(&Context::from_waker(Waker::noop())).is_pending());
        let connection = client.connect(server.local_addr()).unwrap();
        let accepted = poll_fn(|context| server.poll_accept(context)).await.expect("the endpoint is not closed");
        while poll_fn(|context| connection.poll_event(context)).await.unwrap() != Event::Connected {}
        let mut datagram = Vec::new();
        assert!(accepted.poll_recv(&Context::from_waker(Waker::noop()), &mut datagram).is_pending());
        connection.send(Media::new(b"now")).unwrap();
        poll_fn(|context| accepted.poll_recv(context, &mut datagram)).await.unwrap();
        assert_eq!(datagram, b"now");
    });
}

/// Waker that does nothing and counts its references.
struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

/// Dropped futures leave no waker, however many there were.
#[test]
fn a_dropped_future_leaves_no_waker() {
    let (client, server, mut ends) = connections(1);
    let (connection, _accepted) = ends.pop().unwrap();
    while connection.event_timeout(Duration::from_millis(1)).is_some() {}
    let counted = Arc::new(Counted);
    for _ in 0..100 {
        let waker = Waker::from(Arc::clone(&counted));
        let mut datagram = Vec::new();
        let mut context = Context::from_waker(&waker);
        assert!(pin!(connection.recv_async(&mut datagram)).poll(&mut context).is_pending());
        assert!(pin!(server.accept_async()).poll(&mut context).is_pending());
        assert!(connection.poll_recv(&context, &mut datagram).is_pending(), "of these one is kept");
    }
    assert!(Arc::strong_count(&counted) <= 2, "{} wakers are left", Arc::strong_count(&counted) - 1);
    drop((client, server));
}

/// Waker that drops a value when it is woken or dropped.
struct Drops<T>(Mutex<Option<T>>);

impl<T: Send> Wake for Drops<T> {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

fn drops<T: Send + 'static>(what: T) -> Waker {
    Waker::from(Arc::new(Drops(Mutex::new(Some(what)))))
}

fn waits(connection: &Connection, waker: &Waker) {
    let mut datagram = Vec::new();
    assert_eq!(connection.poll_recv(&Context::from_waker(waker), &mut datagram), Poll::Pending);
}

/// A waker may drop the connection it is woken for, other connections, and the endpoint, since no lock is held.
#[test]
fn a_waker_may_drop_connections_and_endpoints() {
    let (client, server, mut ends) = connections(3);
    let [third, second, first] = [(); 3].map(|()| ends.pop().unwrap());
    // The thread of the server's socket wakes it.
    waits(&first.1, &drops((second.1, server)));
    first.0.send(Media::new(b"now")).unwrap();
    assert_eq!(second.0.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::ByPeer)));
    // A second waker replaces the first, which drops its value; this thread, which serves the client's socket, wakes
    // it.
    waits(&third.0, &drops(first.0));
    let last = drops(client);
    waits(&third.0, &last);
    assert_eq!(first.1.recv_timeout(&mut Vec::new(), LONG), Some(Ok(())));
    assert_eq!(first.1.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::ByPeer)));
    assert_eq!(third.1.close(), Closed::Here);
    assert_eq!(third.0.recv_timeout(&mut Vec::new(), LONG), Some(Err(Closed::ByPeer)));
}
