//! Two endpoints with their applications, and a network with losses, duplicates and reordering.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by test files that use parts of it"
)]

use headway_dccp::{
    Connection, ConnectionHandle, ConnectionOptions, Datagram, Dropped, Endpoint, EndpointOptions, Event, Outbox, Path,
    ServiceCode, State, Transmit,
};
use headway_units::{Duration, Ecn, Instant, Random};
use std::collections::{BTreeMap, VecDeque};

pub const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
pub const PORT: u16 = 5004;
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// Returns the path from this UDP port of the client to the server.
pub fn there(port: u16) -> Path {
    Path::Udp { local: ([192, 0, 2, 1], port).into(), remote: ([192, 0, 2, 2], 6511).into() }
}
/// Returns the path from the view of the peer.
pub fn back(path: Path) -> Path {
    match path {
        Path::Udp { local, remote } => Path::Udp { local: remote, remote: local },
        Path::Ipv4 { local, remote } => Path::Ipv4 { local: remote, remote: local },
        Path::Ipv6 { local, remote } => Path::Ipv6 { local: remote, remote: local },
    }
}

pub type Sent = (Path, Ecn, Vec<u8>);

/// Queued datagrams, and how often they were polled.
#[derive(Debug, Default)]
pub struct Queue {
    pub waiting: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
    pub asked: u64,
}
impl Outbox for Queue {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        self.asked += 1;
        self.waiting.front().map(Vec::len)
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        self.taken = self.waiting.pop_front()?;
        Some(&self.taken)
    }
}
impl From<Vec<Vec<u8>>> for Queue {
    fn from(waiting: Vec<Vec<u8>>) -> Self {
        Self { waiting: waiting.into(), ..Self::default() }
    }
}

/// An endpoint, and what its application has received.
#[derive(Debug)]
pub struct End {
    pub endpoint: Endpoint<Queue>,
    pub delivered: Vec<(ConnectionHandle, Vec<u8>)>,
    pub events: Vec<(ConnectionHandle, Event)>,
    pub sent: Vec<Transmit>,
    pub buffer: Vec<u8>,
}

impl End {
    pub fn new(options: EndpointOptions, name: &str) -> Self {
        let endpoint = Endpoint::new(options, Random::new(1, name));
        Self { endpoint, delivered: vec![], events: vec![], sent: vec![], buffer: vec![] }
    }
    pub fn state(&self, handle: ConnectionHandle) -> Option<State> {
        self.endpoint.connection(handle).map(Connection::state)
    }
    pub fn events_of(&self, handle: ConnectionHandle) -> Vec<Event> {
        self.events.iter().filter(|(of, _)| *of == handle).map(|(_, event)| *event).collect()
    }
    pub fn accepted(&self) -> Vec<ConnectionHandle> {
        self.events.iter().filter(|(_, event)| *event == Event::Accepted).map(|(handle, _)| *handle).collect()
    }
    pub fn receive(&mut self, now: Instant, path: Path, ecn: Ecn, bytes: &[u8]) -> Result<bool, Dropped> {
        let datagram = self.endpoint.handle_datagram(now, path, ecn, bytes)?;
        self.delivered.extend(datagram.map(|Datagram { handle, data, .. }| (handle, data.to_vec())));
        Ok(datagram.is_some())
    }
    pub fn drain(&mut self, now: Instant) -> Vec<Sent> {
        let mut all = vec![];
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut self.buffer) {
            self.sent.push(transmit);
            let segments = self.buffer[..transmit.len].chunks(transmit.segment_size);
            all.extend(segments.map(|bytes| (transmit.path, transmit.ecn, bytes.to_vec())));
            assert!(all.len() < 100_000, "endless packets");
        }
        self.events.extend(std::iter::from_fn(|| self.endpoint.poll_event()));
        all
    }
}

/// Returns the delay of each copy of a packet; none if it is lost.
pub type Fate = Box<dyn FnMut() -> Vec<Duration>>;

/// Delivers after ten milliseconds.
pub fn perfect() -> Fate {
    Box::new(|| vec![Duration::from_millis(10)])
}

/// Loses, duplicates, and delays by up to 30 ms the given percentages of packets.
pub fn bad(seed: u64, lost: u64, twice: u64, late: u64) -> Fate {
    let mut random = Random::new(seed, "path");
    Box::new(move || {
        let copies = if random.below(100) < lost { 0 } else { 1 + u64::from(random.below(100) < twice) };
        let mut delay = || if random.below(100) < late { random.below(30) } else { 0 };
        (0..copies).map(|_| Duration::from_millis(10 + delay())).collect()
    })
}

pub struct World {
    pub now: Instant,
    pub ends: [End; 2],
    pub fate: Fate,
    in_flight: BTreeMap<(Instant, u64), (usize, Sent)>,
    sent: u64,
}

impl World {
    pub fn new(options: EndpointOptions, rules: &ConnectionOptions, fate: Fate) -> Self {
        let now = Instant::from_secs(1);
        let mut ends = [End::new(options, "client"), End::new(options, "server")];
        ends[SERVER].endpoint.listen(now, PORT, rules, &[SERVICE]).unwrap();
        Self { now, ends, fate, in_flight: BTreeMap::new(), sent: 0 }
    }

    pub fn connect(&mut self, path: Path, rules: &ConnectionOptions, outbox: impl Into<Queue>) -> ConnectionHandle {
        self.ends[CLIENT].endpoint.connect(self.now, path, PORT, SERVICE, rules, outbox.into()).unwrap()
    }

    pub fn push(&mut self, end: usize, handle: ConnectionHandle, data: &[u8]) {
        self.ends[end].endpoint.outbox_mut(handle).unwrap().waiting.push_back(data.to_vec());
    }

    pub fn close(&mut self, end: usize, handle: ConnectionHandle) {
        self.ends[end].endpoint.connection_mut(handle).unwrap().close(self.now);
    }

    pub fn drain(&mut self) {
        for end in [CLIENT, SERVER] {
            for (path, ecn, bytes) in self.ends[end].drain(self.now) {
                for delay in (self.fate)() {
                    self.sent += 1;
                    self.in_flight.insert((self.now + delay, self.sent), (1 - end, (back(path), ecn, bytes.clone())));
                }
            }
        }
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        for steps in 0.. {
            assert!(steps < 1_000_000, "endless events");
            self.drain();
            let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
            let deadlines = [CLIENT, SERVER].map(|end| self.ends[end].endpoint.poll_timeout());
            let next = deadlines.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|at| *at <= until) else { break };
            self.now = self.now.max(next);
            while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (end, (path, ecn, bytes)) = entry.remove();
                // Drops are decided by the endpoint.
                let _ = self.ends[end].receive(self.now, path, ecn, &bytes);
            }
            for end in &mut self.ends {
                if end.endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                    end.endpoint.handle_timeout(self.now);
                }
            }
        }
        self.now = until;
    }
}
