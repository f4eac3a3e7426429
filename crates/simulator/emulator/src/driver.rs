//! The proxy: an emulator between sockets, with one thread that waits for datagrams and for the next departure.

use super::clients::{ClientId, Clients};
use super::emulator::{Departure, Direction, DirectionCounts, Dropped, Emulator, Packet};
use super::observer::{DatagramInfo, Observer};
use super::report::Report;
use super::socket::{Socket, ecn};
use super::waiter::Waiter;
use headway_engine::Ties;
use headway_link::{Config, PortSample};
use headway_net::Clock;
use headway_record::{Histogram, LinkLabel, LinkSummary, Measured};
use headway_units::{Dscp, Duration, Instant};
use quinn_udp::RecvMeta;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

/// Key of the first listening socket; the others follow. The key of a client's socket is its slot.
const FIRST_LISTENER_KEY: u64 = 1 << 32;
/// Number of buffers per read. Each may hold many datagrams (GRO); more buffers would delay departures that are due.
const BUFFERS: usize = 8;
/// Size of a buffer, in bytes.
const BUFFER: usize = 1 << 16;
/// Maximum number of datagrams that are sent between two reads.
const MAX_SENDS: usize = 64;

/// Options of a proxy.
#[derive(Clone, Copy, Debug)]
pub struct ProxyOptions {
    /// Address at which the proxy listens for clients; port 0 for any free port.
    pub listen: SocketAddr,
    /// Server to which the proxy forwards the datagrams of clients.
    pub to: SocketAddr,
    /// Bytes that each datagram has on the emulated link in addition to its UDP payload; may be negative. `None`: those
    /// of the headers of IP and UDP.
    pub overhead: Option<i32>,
    /// Maximum number of clients, each with a socket toward the server. At the maximum, a new client replaces the
    /// longest idle client that the server has never answered. If there is none, the datagrams of the new client are
    /// dropped, and the run is not valid.
    pub clients: u32,
    /// Maximum 99th percentile of [`Report::release_error_s`] and of [`Report::intake_error_s`]. If either is larger,
    /// the run is not valid ([`Report::valid`]).
    pub bound: Duration,
}

/// Error of a proxy.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A socket cannot be bound to the address.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Address that cannot be bound.
        address: SocketAddr,
        /// Error of the system.
        error: io::Error,
    },
    /// epoll or the timer failed.
    #[error("cannot wait for datagrams: {0}")]
    Wait(io::Error),
    /// A listening socket failed.
    #[error("cannot receive: {0}")]
    Receive(io::Error),
}

#[derive(Clone, Debug, Default)]
struct Datagram {
    client: ClientId,
    listener: usize,
    arrived_at: Instant,
    bytes: Vec<u8>,
}

/// Listening socket for clients.
#[derive(Debug)]
struct Listener {
    socket: Socket,
    /// Whether the socket is bound to the wildcard address, so that sends must set the source address.
    is_wildcard: bool,
    /// Server of its clients.
    to: SocketAddr,
    /// As in [`ProxyOptions::overhead`].
    overhead: Option<i32>,
}

/// Forwards datagrams between clients and a server through an emulated link.
#[derive(Debug)]
pub struct Proxy {
    options: ProxyOptions,
    clock: Clock,
    waiter: Waiter,
    /// Keys of readable sockets; kept to reuse its memory.
    ready: Vec<u64>,
    listeners: Vec<Listener>,
    clients: Clients,
    link: Emulator<Datagram>,
    buffers: Vec<u8>,
    release_error: Histogram,
    intake_error: Histogram,
    refused: u64,
    unsent: u64,
}

impl Proxy {
    /// Creates a proxy with an idle link and starts to listen for clients. `ties`, `directions` and `seed` are those of
    /// [`Emulator::new`].
    ///
    /// # Errors
    /// The address is in use or not local.
    pub fn new(
        options: ProxyOptions,
        ties: Ties,
        directions: [(&str, &Arc<Config>); 2],
        seed: u64,
    ) -> Result<Self, ProxyError> {
        let mut proxy = Self {
            options,
            clock: Clock::new(),
            waiter: Waiter::new().map_err(ProxyError::Wait)?,
            ready: Vec::new(),
            listeners: Vec::new(),
            clients: Clients::new(options.clients as usize),
            link: Emulator::new(ties, directions, seed),
            buffers: vec![0; BUFFERS * BUFFER],
            release_error: Histogram::default(),
            intake_error: Histogram::default(),
            refused: 0,
            unsent: 0,
        };
        proxy.link.keep_dropped();
        proxy.listen(options.listen, options.to, options.overhead)?;
        Ok(proxy)
    }

    /// Listens at another address. Clients that send to it share the link with all other clients; their datagrams are
    /// forwarded to the server `to`. `overhead` has the meaning of [`ProxyOptions::overhead`]. Returns the bound
    /// address.
    ///
    /// # Errors
    /// The address is in use or not local.
    pub fn listen(
        &mut self,
        listen: SocketAddr,
        to: SocketAddr,
        overhead: Option<i32>,
    ) -> Result<SocketAddr, ProxyError> {
        let socket = Socket::bind(listen).map_err(|error| ProxyError::Listen { address: listen, error })?;
        self.waiter.add(&socket, FIRST_LISTENER_KEY + self.listeners.len() as u64).map_err(ProxyError::Wait)?;
        let address = socket.address().map_err(ProxyError::Receive)?;
        self.listeners.push(Listener { socket, is_wildcard: listen.ip().is_unspecified(), to, overhead });
        Ok(address)
    }

    /// Returns the address of the first listening socket.
    ///
    /// # Errors
    /// The system does not return the address.
    pub fn address(&self) -> Result<SocketAddr, ProxyError> {
        let Some(listener) = self.listeners.first() else {
            return Err(ProxyError::Receive(io::ErrorKind::NotConnected.into()));
        };
        listener.socket.address().map_err(ProxyError::Receive)
    }

    /// Returns the clock of the proxy. It is zero at the creation of the proxy.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Sets the interval that [`link_summary`](Self::link_summary) measures. Must be called before the first datagram
    /// arrives.
    pub fn measure(&mut self, measured: &Arc<Measured>) {
        self.link.measure(measured);
    }

    /// Returns the summary of this direction of the link for the measured interval, or until `end` if that is earlier.
    #[must_use]
    pub fn link_summary(&self, direction: Direction, label: LinkLabel, end: Instant) -> LinkSummary {
        self.link.summary(direction, label, end)
    }

    /// Returns the packet counters of this direction of the link.
    #[must_use]
    pub fn counts(&self, direction: Direction) -> DirectionCounts {
        self.link.counts(direction)
    }

    /// Returns the state of this direction of the link.
    pub fn sample(&mut self, direction: Direction) -> PortSample {
        self.link.sample(self.clock.now(), direction)
    }

    /// Waits for the next datagram or departure, at most for `timeout`, and handles it. Must be called in a loop.
    ///
    /// # Errors
    /// A listening socket, epoll or the timer failed, so that the proxy cannot continue.
    pub fn turn(&mut self, timeout: Duration) -> Result<(), ProxyError> {
        self.turn_observed(timeout, &mut ())
    }

    /// Waits for the next datagram or departure and handles it, as [`turn`](Self::turn) does, and notifies `observer`
    /// of each datagram.
    ///
    /// # Errors
    /// A listening socket, epoll or the timer failed, so that the proxy cannot continue.
    pub fn turn_observed(&mut self, timeout: Duration, observer: &mut impl Observer) -> Result<(), ProxyError> {
        let now = self.clock.now();
        let until = self.link.poll_timeout().map_or(now + timeout, |due| due.min(now + timeout));
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.waiter.wait(now, until, &mut ready).map_err(ProxyError::Wait);
        self.release(observer);
        let read = waited.and_then(|()| {
            ready.iter().try_for_each(|key| {
                self.receive(*key, observer)?;
                self.release(observer);
                Ok(())
            })
        });
        self.ready = ready;
        read
    }

    /// Returns the wall-clock time since the creation of the proxy, in s.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.clock.now().as_secs_f64()
    }

    /// Returns the report of the run so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let [to_server, to_client] = Direction::BOTH.map(|direction| self.link.counts(direction));
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
        .with_faults(self.options.bound, self.options.clients)
    }

    /// Reads once from the socket with this key.
    fn receive(&mut self, key: u64, observer: &mut impl Observer) -> Result<(), ProxyError> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut metas = [RecvMeta::default(); BUFFERS];
        let mut slices = buffers.chunks_exact_mut(BUFFER);
        let mut slices: [IoSliceMut<'_>; BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(slices.next().unwrap_or_default()));
        let read = if let Some(listener) = self.listener(key) {
            self.listeners[listener].socket.receive(&mut slices, &mut metas).map_err(ProxyError::Receive)
        } else {
            let client = self.clients.in_slot(key);
            Ok(client.and_then(|client| client.socket.receive(&mut slices, &mut metas).ok()).unwrap_or_default())
        };
        if let Ok(count) = read {
            for (meta, buffer) in metas.iter().zip(buffers.chunks_exact(BUFFER)).take(count) {
                let coalesced = buffer.get(..meta.len).unwrap_or(buffer);
                let delay = meta.timestamp.map(since);
                // A datagram may be empty.
                let empty = coalesced.is_empty().then_some(coalesced);
                for datagram in empty.into_iter().chain(coalesced.chunks(meta.stride.max(1))) {
                    delay.into_iter().for_each(|delay| self.intake_error.record(delay));
                    self.handle(key, meta, datagram, observer);
                }
            }
        }
        self.buffers = buffers;
        read.map(|_| ())
    }

    /// Returns the index of the listening socket with this key.
    fn listener(&self, key: u64) -> Option<usize> {
        let listener = usize::try_from(key.checked_sub(FIRST_LISTENER_KEY)?).ok()?;
        (listener < self.listeners.len()).then_some(listener)
    }

    /// Passes a datagram of a client or of its server to the link, and counts any other as refused.
    fn handle(&mut self, key: u64, meta: &RecvMeta, datagram: &[u8], observer: &mut impl Observer) {
        let now = self.clock.now();
        let from = meta.addr;
        let listener = self.listener(key);
        let (direction, client) = if let Some(listener) = listener {
            // A client without a socket is refused, like one above the maximum number.
            let server = self.listeners[listener].to;
            let client = self.clients.at(now, (listener, from), server, &self.waiter).ok().flatten();
            (Direction::ToServer, client)
        } else {
            let listeners = &self.listeners;
            let is_server = |client: &&mut super::clients::Client| {
                let server = listeners[client.from.0].to;
                (from.ip(), from.port()) == (server.ip(), server.port())
            };
            let mut client = self.clients.in_slot(key).filter(is_server);
            if let Some(client) = &mut client {
                client.is_answered = true;
            }
            (Direction::ToClient, client)
        };
        let Some(client) = client else {
            self.refused += 1;
            return;
        };
        let from_client = listener.is_some();
        let listener = client.from.0;
        if from_client && self.listeners[listener].is_wildcard {
            client.local = meta.dst_ip;
        }
        let overhead = self.listeners[listener].overhead.unwrap_or_else(|| headers(from.ip()));
        let size = (datagram.len() as u32).saturating_add_signed(overhead);
        let flow = client.id.number();
        let payload = Datagram { client: client.id, listener, arrived_at: now, bytes: datagram.to_vec() };
        observer.on_arrival(&DatagramInfo { listener, direction, bytes: size, arrived_at: now });
        self.link.handle(now, direction, Packet { size, ecn: ecn(meta.ecn), dscp: Dscp::CS0, flow, payload });
        self.report_drops(observer);
    }

    fn report_drops(&mut self, observer: &mut impl Observer) {
        while let Some(Dropped { at, direction, cause, packet }) = self.link.poll_dropped() {
            let Datagram { listener, arrived_at, .. } = packet.payload;
            observer.on_drop(at, &DatagramInfo { listener, direction, bytes: packet.size, arrived_at }, cause);
        }
    }

    /// Sends the datagrams that are due.
    fn release(&mut self, observer: &mut impl Observer) {
        let mut now = self.clock.now();
        for _ in 0..MAX_SENDS {
            let departure = self.link.poll_transmit(now);
            self.report_drops(observer);
            let Some(Departure { at, direction, packet: Packet { size, ecn, payload, .. } }) = departure else {
                return;
            };
            let Datagram { client, listener, arrived_at, bytes } = payload;
            let Listener { socket, to, .. } = &self.listeners[listener];
            let sent = self.clients.get(now, client).is_some_and(|client| match direction {
                Direction::ToServer => client.socket.send(*to, None, ecn, &bytes).is_ok(),
                Direction::ToClient => socket.send(client.from.1, client.local, ecn, &bytes).is_ok(),
            });
            now = self.clock.now();
            if sent {
                self.release_error.record(now.since(at).as_nanos());
                observer.on_departure(now, &DatagramInfo { listener, direction, bytes: size, arrived_at });
            } else {
                self.unsent += 1;
            }
        }
    }
}

/// Returns the size of the IP and UDP headers, in bytes (RFC 791, RFC 8200, RFC 768).
fn headers(peer: IpAddr) -> i32 {
    if peer.to_canonical().is_ipv4() { 20 + 8 } else { 40 + 8 }
}

/// Returns the time since `stamp`, in ns; 0 if the clock was set back.
#[expect(clippy::disallowed_methods, reason = "the system stamps datagrams with the time of day")]
fn since(stamp: std::time::Duration) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(stamp).as_nanos()).unwrap_or(u64::MAX)
}
