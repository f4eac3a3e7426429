//! Many streams with a constant rate on one socket. The program submits the due datagrams each millisecond.

use crate::raw::Polled;
use crate::{Done, Job, cpu, headway, quic, sleep_until};
use headway_net::{Connection, Media};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of streams, and the rate of each in bit/s.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    pub many: usize,
    pub bits: f64,
}

impl Streams {
    /// Submits the due datagrams by stream until the job ends. Returns their number and the duration in s.
    fn feed(&self, job: &Job, mut send: impl FnMut(usize, &[u8])) -> (u64, f64) {
        let (mut datagram, mut sent, begin) = (vec![0; job.length], 0_u64, Instant::now());
        let gap = job.length as f64 * 8.0 / self.bits / self.many as f64;
        for tick in 1.. {
            let until = f64::from(tick) * 1e-3;
            if until > job.seconds {
                break;
            }
            sleep_until(begin + Duration::from_secs_f64(until));
            while (sent as f64) * gap < until {
                job.stamp(&mut datagram);
                send(sent as usize % self.many, &datagram);
                sent += 1;
            }
        }
        (sent, begin.elapsed().as_secs_f64())
    }
}

/// Counter of received datagrams, shared by the tasks of all streams.
#[derive(Clone, Debug, Default)]
struct Received(Arc<AtomicU64>);

impl Received {
    /// Returns the count after the last arrival.
    fn all(&self) -> u64 {
        let mut before = u64::MAX;
        while before != self.0.load(Ordering::Relaxed) {
            before = self.0.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(300));
        }
        before
    }
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn done(&self, (sent, wall): (u64, f64), before: f64) -> Done {
        Done { sent, latencies: vec![0; self.all() as usize], wall, before }
    }
}

pub fn raw(job: &Job, streams: Streams) -> Done {
    let [server, client] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    client.connect(server.local_addr().unwrap()).unwrap();
    let received = Received::default();
    let before = cpu();
    {
        let received = received.clone();
        std::thread::spawn(move || {
            let mut datagram = vec![0; 2048];
            while server.recv(&mut datagram).is_ok() {
                received.add();
            }
        });
    }
    let sent = streams.feed(job, |_, datagram| assert_eq!(client.send(datagram).unwrap(), datagram.len()));
    received.done(sent, before)
}

pub fn polled(job: &Job, streams: Streams) -> Done {
    let (mut server, client) = (Polled::new(), Polled::new());
    let (to, received) = (server.local_addr(), Received::default());
    let before = cpu();
    {
        let received = received.clone();
        std::thread::spawn(move || server.receive(|_| received.add()));
    }
    let sent = streams.feed(job, |_, datagram| client.send(to, datagram));
    received.done(sent, before)
}

pub fn headway(job: &Job, transport: &str, streams: Streams) -> Done {
    let (server, client) = headway::pair(transport);
    let address = server.local_addr();
    let received = Received::default();
    let (accepted, connections) = std::sync::mpsc::channel();
    {
        let received = received.clone();
        std::thread::spawn(move || {
            quic::runtime().block_on(async {
                while let Some(connection) = std::future::poll_fn(|context| server.poll_accept(context)).await {
                    let (received, accepted) = (received.clone(), accepted.clone());
                    tokio::spawn(async move {
                        let mut datagram = Vec::new();
                        accepted.send(()).unwrap();
                        while connection.recv_async(&mut datagram).await.is_ok() {
                            received.add();
                        }
                    });
                }
            });
        });
    }
    let all: Vec<Connection> = (0..streams.many)
        .map(|_| {
            let connection = client.connect(address).unwrap();
            connection.connected().unwrap();
            connections.recv().unwrap();
            connection
        })
        .collect();
    while all.iter().any(|connection| connection.largest() < job.length) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let before = cpu();
    let sent = streams.feed(job, |stream, datagram| {
        all[stream].send(Media::new(datagram)).unwrap();
    });
    received.done(sent, before)
}

pub fn quinn(job: &Job, streams: Streams) -> Done {
    drop(rustls::crypto::ring::default_provider().install_default());
    let received = Received::default();
    let handle = quic::runtime();
    let (server, client) = handle.block_on(async { quic::ends() });
    let address = server.local_addr().unwrap();
    let all = {
        let received = received.clone();
        let serving = async move {
            while let Some(incoming) = server.accept().await {
                let received = received.clone();
                tokio::spawn(async move {
                    let connection = incoming.await.unwrap();
                    while connection.read_datagram().await.is_ok() {
                        received.add();
                    }
                });
            }
        };
        handle.spawn(serving);
        handle.block_on(async {
            let mut all = Vec::new();
            for _ in 0..streams.many {
                all.push(client.connect(address, "localhost").unwrap().await.unwrap());
            }
            all
        })
    };
    // One runtime has both ends, so that no thread waits for another one.
    let thread = std::thread::spawn(move || handle.block_on(std::future::pending::<()>()));
    let before = cpu();
    let sent = streams.feed(job, |stream, datagram| {
        all[stream].send_datagram(bytes::Bytes::copy_from_slice(datagram)).unwrap();
    });
    drop(thread);
    received.done(sent, before)
}
