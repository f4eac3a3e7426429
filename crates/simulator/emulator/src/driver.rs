//! The emulator between sockets: one thread, which waits for datagrams and for the next departure.

use super::clients::{ClientId, Clients};
use super::emulator::{Departure, Dropped, Emulator, Packet, Way, WayCounts};
use super::report::Report;
use super::socket::{Socket, ecn};
use super::waiter::Waiter;
use super::watch::{Seen, Watch};
use headway_engine::Ties;
use headway_link::{Config, PortSample};
use headway_net::Clock;
use headway_record::{Histogram, LinkLabel, LinkSummary, Measured};
use headway_units::{Duration, Instant};
use quinn_udp::RecvMeta;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

/// What the first door's socket is called, and those of the others follow; clients are called by their slots.
const DOORS: u64 = 1 << 32;
/// Buffers that are read at once. Each may hold many datagrams (GRO); more at once would keep those waiting that are due.
const BUFFERS: usize = 8;
const BUFFER: usize = 1 << 16;
/// Datagrams that are sent before it is looked again whether some have come.
const SENT_AT_ONCE: usize = 64;

/// Where a proxy stands, and what it keeps.
#[derive(Clone, Copy, Debug)]
pub struct ProxyOptions {
    /// The address that clients send to; port 0 for any free one.
    pub listen: SocketAddr,
    /// The server that their datagrams go on to.
    pub to: SocketAddr,
    /// What a datagram counts on the link beside its payload, in bytes; negative: less than that. `None`: the headers of IP and UDP.
    pub beside: Option<i32>,
    /// Clients at a time, at most. Each has a socket; datagrams of others are dropped, and the run is not valid.
    pub clients: u32,
    /// What the 99th percentile of the release error, and of the intake error, may be in a valid run.
    pub bound: Duration,
}

/// Why a proxy cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system does not let it wait for sockets and time.
    #[error("cannot wait for datagrams: {0}")]
    Wait(io::Error),
    /// The listening socket is of no more use.
    #[error("cannot receive: {0}")]
    Receive(io::Error),
}

#[derive(Clone, Debug, Default)]
struct Datagram {
    client: ClientId,
    door: usize,
    came: Instant,
    bytes: Vec<u8>,
}

/// Where clients come in.
#[derive(Debug)]
struct Door {
    listener: Socket,
    /// Whether answers must say from which of our addresses they come.
    anywhere: bool,
    to: SocketAddr,
    /// What a datagram counts on the link beside its payload; `None`: the headers of IP and UDP.
    beside: Option<i32>,
}

/// A link between clients and a server: see the [module](super).
#[derive(Debug)]
pub struct Proxy {
    options: ProxyOptions,
    clock: Clock,
    waiter: Waiter,
    /// Whose sockets have something to read: kept for its memory.
    ready: Vec<u64>,
    doors: Vec<Door>,
    clients: Clients,
    link: Emulator<Datagram>,
    buffers: Vec<u8>,
    release_error: Histogram,
    intake_error: Histogram,
    refused: u64,
    unsent: u64,
}

impl Proxy {
    /// Listens, with an idle link; `ties`, `ways` and `seed` are those of [`Emulator::new`].
    ///
    /// # Errors
    /// The address may be taken, or not be ours.
    pub fn new(
        options: ProxyOptions,
        ties: Ties,
        ways: [(&str, &Arc<Config>); 2],
        seed: u64,
    ) -> Result<Self, ProxyError> {
        let mut proxy = Self {
            options,
            clock: Clock::new(),
            waiter: Waiter::new().map_err(ProxyError::Wait)?,
            ready: Vec::new(),
            doors: Vec::new(),
            clients: Clients::new(options.clients as usize),
            link: Emulator::new(ties, ways, seed),
            buffers: vec![0; BUFFERS * BUFFER],
            release_error: Histogram::default(),
            intake_error: Histogram::default(),
            refused: 0,
            unsent: 0,
        };
        proxy.link.keep_dropped();
        proxy.open(options.listen, options.to, options.beside)?;
        Ok(proxy)
    }

    /// Opens another door: who sends to this address shares the link with all others, and is led to a server of its own; `beside` as
    /// in [`ProxyOptions`]. Returns where it listens.
    ///
    /// # Errors
    /// The address may be taken, or not be ours.
    pub fn open(&mut self, listen: SocketAddr, to: SocketAddr, beside: Option<i32>) -> Result<SocketAddr, ProxyError> {
        let listener = Socket::bind(listen).map_err(|error| ProxyError::Listen { address: listen, error })?;
        self.waiter.add(&listener, DOORS + self.doors.len() as u64).map_err(ProxyError::Wait)?;
        let address = listener.address().map_err(ProxyError::Receive)?;
        self.doors.push(Door { listener, anywhere: listen.ip().is_unspecified(), to, beside });
        Ok(address)
    }

    /// Where it listens, at its first door.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn address(&self) -> Result<SocketAddr, ProxyError> {
        let Some(door) = self.doors.first() else {
            return Err(ProxyError::Receive(io::ErrorKind::NotConnected.into()));
        };
        door.listener.address().map_err(ProxyError::Receive)
    }

    /// What it goes by: it began with the proxy.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// What [`link_summary`](Self::link_summary) tells is of this time. To be said before the first datagram comes.
    pub fn measure(&mut self, measured: &Arc<Measured>) {
        self.link.measure(measured);
    }

    /// What happened to this direction of the link, until `end` at the latest.
    #[must_use]
    pub fn link_summary(&self, way: Way, label: LinkLabel, end: Instant) -> LinkSummary {
        self.link.summary(way, label, end)
    }

    /// What became of the packets of this direction so far.
    #[must_use]
    pub fn counts(&self, way: Way) -> WayCounts {
        self.link.counts(way)
    }

    /// The state of this direction of the link.
    pub fn sample(&mut self, way: Way) -> PortSample {
        self.link.sample(self.clock.now(), way)
    }

    /// Waits until something happens or so long, and does what is to be done then: to be called again and again.
    ///
    /// # Errors
    /// Those from which it does not recover.
    pub fn turn(&mut self, longest: Duration) -> Result<(), ProxyError> {
        self.turn_watched(longest, &mut ())
    }

    /// The same, and `watch` hears what becomes of each datagram.
    ///
    /// # Errors
    /// Those from which it does not recover.
    pub fn turn_watched(&mut self, longest: Duration, watch: &mut impl Watch) -> Result<(), ProxyError> {
        let now = self.clock.now();
        let until = self.link.poll_timeout().map_or(now + longest, |due| due.min(now + longest));
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.waiter.wait(now, until, &mut ready).map_err(ProxyError::Wait);
        self.release(watch);
        let read = waited.and_then(|()| {
            ready.iter().try_for_each(|key| {
                self.receive(*key, watch)?;
                self.release(watch);
                Ok(())
            })
        });
        self.ready = ready;
        read
    }

    /// How long it has run, in s.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.clock.now().as_secs_f64()
    }

    /// The run so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let [to_server, to_client] = Way::BOTH.map(|way| self.link.counts(way));
        Report {
            elapsed_s: self.elapsed_s(),
            clients: self.clients.len(),
            to_server,
            to_client,
            release_error_s: self.release_error.summary(),
            intake_error_s: self.intake_error.summary(),
            refused_packets: self.refused,
            unsent_packets: self.unsent,
            bound_s: 0.0,
            faults: Vec::new(),
            valid: false,
        }
        .judged(self.options.bound, self.options.clients)
    }

    /// Reads once from this socket.
    fn receive(&mut self, key: u64, watch: &mut impl Watch) -> Result<(), ProxyError> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut metas = [RecvMeta::default(); BUFFERS];
        let mut slices = buffers.chunks_exact_mut(BUFFER);
        let mut slices: [IoSliceMut<'_>; BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(slices.next().unwrap_or_default()));
        let read = if let Some(door) = self.door(key) {
            self.doors[door].listener.receive(&mut slices, &mut metas).map_err(ProxyError::Receive)
        } else {
            let client = self.clients.in_slot(key);
            Ok(client.and_then(|client| client.socket.receive(&mut slices, &mut metas).ok()).unwrap_or_default())
        };
        if let Ok(count) = read {
            for (meta, buffer) in metas.iter().zip(buffers.chunks_exact(BUFFER)).take(count) {
                let coalesced = buffer.get(..meta.len).unwrap_or(buffer);
                let late = meta.timestamp.map(since);
                // Nothing but headers is a datagram, too.
                let empty = coalesced.is_empty().then_some(coalesced);
                for datagram in empty.into_iter().chain(coalesced.chunks(meta.stride.max(1))) {
                    late.into_iter().for_each(|late| self.intake_error.record(late));
                    self.take(key, meta, datagram, watch);
                }
            }
        }
        self.buffers = buffers;
        read.map(|_| ())
    }

    /// The door of whose socket this is the key.
    fn door(&self, key: u64) -> Option<usize> {
        let door = usize::try_from(key.checked_sub(DOORS)?).ok()?;
        (door < self.doors.len()).then_some(door)
    }

    /// Takes a datagram to the link, if it is one that the proxy is there for.
    fn take(&mut self, key: u64, meta: &RecvMeta, datagram: &[u8], watch: &mut impl Watch) {
        let now = self.clock.now();
        let from = meta.addr;
        let is_client = self.door(key);
        let (way, client) = if let Some(door) = is_client {
            // A client that can have no socket has no room.
            let client = self.clients.at(now, (door, from), self.doors[door].to, &self.waiter).ok().flatten();
            (Way::ToServer, client)
        } else {
            let doors = &self.doors;
            let is_server = |client: &&mut super::clients::Client| {
                let server = doors[client.from.0].to;
                (from.ip(), from.port()) == (server.ip(), server.port())
            };
            let mut client = self.clients.in_slot(key).filter(is_server);
            if let Some(client) = &mut client {
                client.is_answered = true;
            }
            (Way::ToClient, client)
        };
        let Some(client) = client else {
            self.refused += 1;
            return;
        };
        let door = client.from.0;
        if is_client.is_some() && self.doors[door].anywhere {
            client.local = meta.dst_ip;
        }
        let beside = self.doors[door].beside.unwrap_or_else(|| headers(from.ip()));
        let size = (datagram.len() as u32).saturating_add_signed(beside);
        let flow = client.id.number();
        let payload = Datagram { client: client.id, door, came: now, bytes: datagram.to_vec() };
        watch.came(&Seen { door, way, bytes: size, came: now });
        self.link.handle(now, way, Packet { size, ecn: ecn(meta.ecn), flow, payload });
        self.tell_dropped(watch);
    }

    fn tell_dropped(&mut self, watch: &mut impl Watch) {
        while let Some(Dropped { at, way, cause, packet: Packet { size, payload, .. } }) = self.link.poll_dropped() {
            let Datagram { door, came, .. } = payload;
            watch.dropped(at, &Seen { door, way, bytes: size, came }, cause);
        }
    }

    /// Sends what is due.
    fn release(&mut self, watch: &mut impl Watch) {
        let mut now = self.clock.now();
        for _ in 0..SENT_AT_ONCE {
            let departure = self.link.poll_transmit(now);
            self.tell_dropped(watch);
            let Some(Departure { at, way, packet: Packet { size, ecn, payload, .. } }) = departure else { return };
            let Datagram { client, door, came, bytes } = payload;
            let ends = &self.doors[door];
            let sent = self.clients.get(now, client).is_some_and(|client| match way {
                Way::ToServer => client.socket.send(ends.to, None, ecn, &bytes).is_ok(),
                Way::ToClient => ends.listener.send(client.from.1, client.local, ecn, &bytes).is_ok(),
            });
            now = self.clock.now();
            if sent {
                self.release_error.record(now.since(at).as_nanos());
                watch.left(now, &Seen { door, way, bytes: size, came });
            } else {
                self.unsent += 1;
            }
        }
    }
}

/// What IP and UDP add to a payload (RFC 791, RFC 8200, RFC 768).
fn headers(peer: IpAddr) -> i32 {
    if peer.to_canonical().is_ipv4() { 20 + 8 } else { 40 + 8 }
}

/// How long ago that time of day was, in ns; 0 if the clock was set back.
#[expect(clippy::disallowed_methods, reason = "the system stamps datagrams with the time of day")]
fn since(stamp: std::time::Duration) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(stamp).as_nanos()).unwrap_or(u64::MAX)
}
