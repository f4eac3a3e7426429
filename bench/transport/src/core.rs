//! The protocol without sockets, in simulated time: two endpoints, a backlog of datagrams, and a path with a delay of
//! 10 ms.

use headway_dccp::{ConnectionHandle, ConnectionOptions, Endpoint, EndpointOptions, Outbox, Path, ServiceCode};
use headway_units::{Duration, Ecn, Instant, Random};
use std::collections::VecDeque;

/// Outbox that always has datagrams of one size.
#[derive(Debug, Default)]
struct Backlog {
    left: usize,
    datagram: Vec<u8>,
}

impl Outbox for Backlog {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        (self.left > 0).then_some(self.datagram.len())
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        self.left = self.left.checked_sub(1)?;
        Some(&self.datagram)
    }
}

/// Datagrams per burst.
const BURST: usize = 50;
const STEP: Duration = Duration::from_micros(100);
const DELAY: usize = 100;

struct End {
    endpoint: Endpoint<Backlog>,
    buffer: Vec<u8>,
    /// CPU time.
    spent: std::time::Duration,
}

/// Datagrams of one step in one buffer.
#[derive(Default)]
struct Flight {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

fn ends(server: bool) -> Path {
    let (near, far) = (([192, 0, 2, 1], 4000).into(), ([192, 0, 2, 2], 6511).into());
    if server { Path::Udp { local: far, remote: near } } else { Path::Udp { local: near, remote: far } }
}

impl End {
    fn new(name: &str) -> Self {
        let options = EndpointOptions { segments: 54, ..EndpointOptions::default() };
        Self { endpoint: Endpoint::new(options, Random::new(1, name)), buffer: Vec::new(), spent: Default::default() }
    }

    /// Processes the arrived datagrams and collects the sent ones. Returns the number of datagrams with data that
    /// arrived.
    fn step(&mut self, now: Instant, server: bool, arrived: &Flight, sent: &mut Flight) -> u64 {
        let (path, begin, mut data, mut at) = (ends(server), std::time::Instant::now(), 0, 0);
        for len in &arrived.lengths {
            let datagram = &arrived.bytes[at..at + len];
            at += len;
            data += u64::from(matches!(self.endpoint.handle_datagram(now, path, Ecn::NotEct, datagram), Ok(Some(_))));
        }
        self.endpoint.handle_timeout(now);
        sent.bytes.clear();
        sent.lengths.clear();
        while let Some(out) = self.endpoint.poll_transmit(now, &mut self.buffer) {
            sent.bytes.extend_from_slice(&self.buffer[..out.len]);
            sent.lengths.extend(self.buffer[..out.len].chunks(out.segment_size).map(<[u8]>::len));
        }
        while self.endpoint.poll_event().is_some() {}
        self.spent += begin.elapsed();
        data
    }
}

/// Prints nanoseconds per arrived datagram, at the sender and at the receiver.
pub fn run(seconds: f64, length: usize) {
    let mut options = ConnectionOptions::real();
    options.mtu = headway_units::Bytes::new(9000.min(length as u64 + 500).max(1500));
    options.probe_mtu = false;
    let service = ServiceCode::default();
    let (mut client, mut server) = (End::new("client"), End::new("server"));
    let mut now = Instant::from_secs(1);
    server.endpoint.listen(now, 5004, &options, &[service]).expect("the options are right");
    let backlog = Backlog { left: 0, datagram: vec![7; length] };
    let handle: ConnectionHandle =
        client.endpoint.connect(now, ends(false), 5004, service, &options, backlog).expect("the options are right");
    let mut paths: [VecDeque<Flight>; 2] = std::array::from_fn(|_| (0..DELAY).map(|_| Flight::default()).collect());
    let (mut delivered, mut before) = (0, (0, [std::time::Duration::ZERO; 2]));
    let begin = std::time::Instant::now();
    for step in 0_u64.. {
        now = now + STEP;
        // The rate and the windows have grown by then.
        if step == 20_000 {
            before = (delivered, [client.spent, server.spent]);
        }
        if step > 20_000 && step.is_multiple_of(1000) && begin.elapsed().as_secs_f64() > seconds {
            break;
        }
        if let Some(backlog) = client.endpoint.outbox_mut(handle) {
            backlog.left = BURST;
        }
        for (end, which) in [(&mut client, 0), (&mut server, 1)] {
            let arrived = paths[1 - which].pop_front().expect("as many as there were");
            let mut sent = Flight::default();
            delivered += end.step(now, which == 1, &arrived, &mut sent);
            paths[which].push_back(sent);
        }
    }
    let many = (delivered - before.0).max(1) as f64;
    let per = |spent: std::time::Duration, before: std::time::Duration| (spent - before).as_secs_f64() * 1e9 / many;
    println!("{:.1} {:.1} {many}", per(client.spent, before.1[0]), per(server.spent, before.1[1]));
}
