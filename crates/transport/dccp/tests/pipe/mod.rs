//! Both endpoints of a connection, and the path between them.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by test files that use parts of it"
)]

use headway_dccp::{
    Addresses, Ccid, CcidController, Connection, ConnectionOptions, Decoded, Delivery, Event, Listener, Network,
    Outbox, Outcome, Packet, Path, Ports, ServiceCode, State,
};
use headway_rate::{ControllerOptions, NoneOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

pub const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
pub const PORTS: Ports = Ports { local: 50000, remote: 5004 };
/// Path of the server's packets.
pub const PATH: Path = peer(1);

/// Returns the path to a client, 192.0.2.0 and up.
pub const fn peer(host: u32) -> Path {
    Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::from_bits(0xc000_0200 + host) }
}

/// Returns RFC 4340's options with a controller without feedback under an experimental CCID.
pub fn options() -> ConnectionOptions {
    let none = ControllerOptions::None(NoneOptions {});
    ConnectionOptions {
        send_ccids: vec![248],
        receive_ccids: vec![248],
        controllers: vec![CcidController { ccid: Ccid(248), controller: none, ack_vectors: false }],
        ..ConnectionOptions::preset(Dialect::Rfc)
    }
}

#[derive(Debug, Default)]
pub struct Queue(pub VecDeque<Vec<u8>>, Vec<u8>, pub Throws);

/// Datagrams that an outbox discards when polled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throws {
    #[default]
    Nothing,
    /// All queued datagrams.
    All,
    /// All queued datagrams, and the queue is never empty.
    Endlessly,
}

impl Queue {
    pub fn push(&mut self, data: &[u8]) {
        self.0.push_back(data.to_vec());
    }
}
impl Outbox for Queue {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        self.0.front().map(Vec::len).or_else(|| (self.2 == Throws::Endlessly).then_some(100))
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        if self.2 != Throws::Nothing {
            self.0.clear();
        }
        self.1 = self.0.pop_front()?;
        Some(&self.1)
    }
}

#[derive(Debug, Default)]
pub struct End {
    pub connection: Option<Connection>,
    pub outbox: Queue,
    pub delivered: Vec<Vec<u8>>,
    pub events: Vec<Event>,
}

impl End {
    pub fn state(&self) -> State {
        self.connection.as_ref().map_or(State::Listen, Connection::state)
    }
}

/// Returns a replacement of a packet, if any.
pub type Lie = fn(&Packet<'_>) -> Option<Vec<u8>>;

#[derive(Clone, Copy, Debug)]
pub struct Fate {
    pub lost: bool,
    pub copies: u64,
    pub delay: Duration,
}

/// A client, a server with its listener, and a path controlled by a function.
pub struct Pipe<F> {
    pub now: Instant,
    pub client: End,
    pub server: End,
    pub listener: Listener,
    pub fate: F,
    /// Every packet sent, formatted, with its time and sender.
    pub log: Vec<String>,
    /// Replaces packets of the server.
    pub lie: Lie,
    /// Whether the path marks every ECN-capable packet.
    pub congested: bool,
    in_flight: BTreeMap<(Instant, u64), (bool, Ecn, Vec<u8>)>,
    sent: u64,
}

pub fn addresses() -> Network {
    Network::Ip(Addresses::V4 { source: [192, 0, 2, 1].into(), destination: [192, 0, 2, 2].into() })
}

/// Delivers after ten milliseconds.
pub fn perfect(_: u64) -> Fate {
    Fate { lost: false, copies: 1, delay: Duration::from_millis(10) }
}

impl<F: FnMut(u64) -> Fate> Pipe<F> {
    pub fn new(client: &ConnectionOptions, server: &ConnectionOptions, fate: F) -> Self {
        let now = Instant::from_secs(1);
        let connection = Connection::connect(now, client, PORTS, SERVICE, Random::new(1, "client"));
        Self {
            now,
            client: End { connection: Some(connection), ..End::default() },
            server: End::default(),
            listener: Listener::new(now, server, &[SERVICE], Random::new(2, "listener")),
            fate,
            log: Vec::new(),
            lie: |_| None,
            congested: false,
            in_flight: BTreeMap::new(),
            sent: 0,
        }
    }

    fn send(&mut self, from_client: bool, ecn: Ecn, packet: &Packet<'_>) {
        let mut bytes = vec![0; 65_535];
        let len = packet.encode(&mut bytes, addresses()).unwrap();
        bytes.truncate(len);
        let who = if from_client { "client" } else { "server" };
        let ecn = if self.congested && ecn == Ecn::Ect0 { Ecn::Ce } else { ecn };
        self.log.push(format!("{} {who} {packet}", self.now));
        let fate = (self.fate)(self.sent);
        for copy in 0..fate.copies * u64::from(!fate.lost) {
            let at = self.now + fate.delay * (copy + 1);
            self.sent += 1;
            self.in_flight.insert((at, self.sent), (from_client, ecn, bytes.clone()));
        }
        self.sent += 1;
    }

    pub fn drain(&mut self) {
        for from_client in [true, false] {
            for packets in 0.. {
                assert!(packets < 10_000, "endless packets");
                let now = self.now;
                let end = if from_client { &mut self.client } else { &mut self.server };
                let End { connection: Some(connection), outbox, events, .. } = end else { break };
                let sent = connection.poll_transmit(now, outbox).map(|out| {
                    let mut bytes = vec![0; 65_535];
                    let len = out.packet.encode(&mut bytes, addresses()).unwrap();
                    bytes.truncate(len);
                    (out.ecn, bytes)
                });
                events.extend(std::iter::from_fn(|| connection.poll_event()));
                let Some((ecn, bytes)) = sent else { break };
                let Ok(Decoded::Long(packet)) = Packet::decode(&bytes, addresses()) else { panic!("not a packet") };
                let lie = if from_client { None } else { (self.lie)(&packet) };
                let bytes = lie.as_deref().unwrap_or(&bytes);
                let Ok(Decoded::Long(packet)) = Packet::decode(bytes, addresses()) else { panic!("not a packet") };
                self.send(from_client, ecn, &packet);
            }
        }
    }

    /// Advances to the next event. Returns false if there is none before `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        self.drain();
        let timeouts =
            [&self.client, &self.server].map(|end| end.connection.as_ref().and_then(Connection::poll_timeout));
        let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
        let next = timeouts.into_iter().chain([arrival]).flatten().min();
        let Some(next) = next.filter(|at| *at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        assert!(next >= self.now || arrival != Some(next), "time does not go backwards");
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, (from_client, ecn, bytes)) = self.in_flight.pop_first().unwrap();
            self.arrive(from_client, ecn, &bytes);
        }
        for end in [&mut self.client, &mut self.server] {
            if let Some(connection) = &mut end.connection
                && connection.poll_timeout().is_some_and(|at| at <= self.now)
            {
                connection.handle_timeout(self.now);
            }
        }
        true
    }

    fn arrive(&mut self, from_client: bool, ecn: Ecn, bytes: &[u8]) {
        let packet = Packet::decode(bytes, addresses()).unwrap();
        let Decoded::Long(long) = packet else { panic!("short numbers") };
        let end = if from_client { &mut self.server } else { &mut self.client };
        let mut reply = None;
        let delivery = match &mut end.connection {
            Some(connection) => connection.handle(self.now, ecn, &packet),
            None => match self.listener.handle(self.now, PATH, ecn, &packet) {
                Outcome::Accepted(connection, delivery) => {
                    end.connection = Some(*connection);
                    delivery
                }
                Outcome::Reply(out) => {
                    let mut bytes = vec![0; 65_535];
                    let len = out.packet.encode(&mut bytes, addresses()).unwrap();
                    bytes.truncate(len);
                    reply = Some((out.ecn, bytes));
                    Delivery::Nothing
                }
                Outcome::Ignored(why) => Delivery::Dropped(why),
            },
        };
        if delivery == Delivery::Data {
            end.delivered.push(long.data.to_vec());
        }
        if let Some((ecn, bytes)) = reply {
            let Ok(Decoded::Long(packet)) = Packet::decode(&bytes, addresses()) else { panic!("not a packet") };
            self.send(false, ecn, &packet);
        }
    }

    pub fn sleep(&mut self, time: Duration) {
        self.now += time;
        let in_flight = std::mem::take(&mut self.in_flight).into_iter();
        self.in_flight = in_flight.map(|((at, n), packet)| ((at + time, n), packet)).collect();
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        let mut steps = 0;
        while self.step(until) {
            steps += 1;
            assert!(steps < 1_000_000, "endless events");
        }
    }
}
