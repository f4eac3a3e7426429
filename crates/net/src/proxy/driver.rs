//! The emulator between sockets: one thread, which waits for datagrams and for the next departure.

use super::clients::{ClientId, Clients};
use super::emulator::{Departure, Emulator, Packet, Way};
use super::report::Report;
use super::socket::{Socket, ecn};
use super::waiter::Waiter;
use crate::Clock;
use headway_link::Config;
use headway_record::Histogram;
use headway_units::Duration;
use quinn_udp::RecvMeta;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

/// What the listening socket is called; clients are called by their slots.
const LISTENER: u64 = u64::MAX - 1;
/// Buffers that are read at once. Each may hold many datagrams (GRO); more at once would keep those waiting that are due.
const BUFFERS: usize = 8;
/// What a buffer may hold.
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

/// A datagram on the link.
#[derive(Debug, Default)]
struct Datagram {
    client: ClientId,
    bytes: Vec<u8>,
}

/// A link between clients and a server: see the [module](super).
#[derive(Debug)]
pub struct Proxy {
    options: ProxyOptions,
    clock: Clock,
    waiter: Waiter,
    /// Whose sockets have something to read: kept for its memory.
    ready: Vec<u64>,
    listener: Socket,
    /// Whether answers must say from which of our addresses they come.
    anywhere: bool,
    clients: Clients,
    link: Emulator<Datagram>,
    buffers: Vec<u8>,
    release_error: Histogram,
    intake_error: Histogram,
    refused: u64,
    unsent: u64,
}

impl Proxy {
    /// Listens, with an idle link: the way to the server and the way back, each with its name, as [`Emulator::new`] takes them.
    ///
    /// # Errors
    /// The address may be taken, or not be ours.
    pub fn new(options: ProxyOptions, ways: [(&str, &Config); 2], seed: u64) -> Result<Self, ProxyError> {
        let address = options.listen;
        let listener = Socket::bind(address).map_err(|error| ProxyError::Listen { address, error })?;
        let waiter = Waiter::new().map_err(ProxyError::Wait)?;
        waiter.add(&listener, LISTENER).map_err(ProxyError::Wait)?;
        Ok(Self {
            options,
            clock: Clock::new(),
            waiter,
            ready: Vec::new(),
            listener,
            anywhere: address.ip().is_unspecified(),
            clients: Clients::new(options.to),
            link: Emulator::new(ways, seed),
            buffers: vec![0; BUFFERS * BUFFER],
            release_error: Histogram::default(),
            intake_error: Histogram::default(),
            refused: 0,
            unsent: 0,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn address(&self) -> Result<SocketAddr, ProxyError> {
        self.listener.address().map_err(ProxyError::Receive)
    }

    /// Waits until something happens or so long, and does what is to be done then: to be called again and again.
    ///
    /// # Errors
    /// Those from which it does not recover.
    pub fn turn(&mut self, longest: Duration) -> Result<(), ProxyError> {
        let now = self.clock.now();
        let until = self.link.poll_timeout().map_or(now + longest, |due| due.min(now + longest));
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.waiter.wait(now, until, &mut ready).map_err(ProxyError::Wait);
        self.release();
        let read = waited.and_then(|()| {
            ready.iter().try_for_each(|key| {
                self.receive(*key)?;
                self.release();
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
        .judged(self.options.bound)
    }

    /// Reads once from this socket.
    fn receive(&mut self, key: u64) -> Result<(), ProxyError> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut metas = [RecvMeta::default(); BUFFERS];
        let mut slices = buffers.chunks_exact_mut(BUFFER);
        let mut slices: [IoSliceMut<'_>; BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(slices.next().unwrap_or_default()));
        let read = if key == LISTENER {
            self.listener.receive(&mut slices, &mut metas).map_err(ProxyError::Receive)
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
                    self.take(key, meta, datagram);
                }
            }
        }
        self.buffers = buffers;
        read.map(|_| ())
    }

    /// Takes a datagram to the link, if it is one that the proxy is there for.
    fn take(&mut self, key: u64, meta: &RecvMeta, datagram: &[u8]) {
        let now = self.clock.now();
        let from = meta.addr;
        let (way, client) = if key == LISTENER {
            // A client that can have no socket has no room.
            let client = self.clients.at(now, from, &self.waiter).ok().flatten();
            (Way::ToServer, client)
        } else {
            let is_server = (from.ip(), from.port()) == (self.options.to.ip(), self.options.to.port());
            (Way::ToClient, self.clients.in_slot(key).filter(|_| is_server))
        };
        let Some(client) = client else {
            self.refused += 1;
            return;
        };
        if key == LISTENER && self.anywhere {
            client.local = meta.dst_ip;
        }
        let size = datagram.len() as u32 + headers(from.ip());
        let payload = Datagram { client: client.id, bytes: datagram.to_vec() };
        self.link.handle(now, way, Packet { size, ecn: ecn(meta.ecn), payload });
    }

    /// Sends what is due.
    fn release(&mut self) {
        let mut now = self.clock.now();
        for _ in 0..SENT_AT_ONCE {
            let Some(departure) = self.link.poll_transmit(now) else { return };
            let Departure { at, way, packet: Packet { ecn, payload: Datagram { client, bytes }, .. } } = departure;
            let sent = self.clients.get(now, client).is_some_and(|client| match way {
                Way::ToServer => client.socket.send(self.options.to, None, ecn, &bytes).is_ok(),
                Way::ToClient => self.listener.send(client.address, client.local, ecn, &bytes).is_ok(),
            });
            now = self.clock.now();
            if sent {
                self.release_error.record(now.since(at).as_nanos());
            } else {
                self.unsent += 1;
            }
        }
    }
}

/// What IP and UDP add to a payload (RFC 791, RFC 8200, RFC 768).
fn headers(peer: IpAddr) -> u32 {
    if peer.to_canonical().is_ipv4() { 20 + 8 } else { 40 + 8 }
}

/// How long ago that time of day was, in ns; 0 if the clock was set back.
#[expect(clippy::disallowed_methods, reason = "the system stamps datagrams with the time of day")]
fn since(stamp: std::time::Duration) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(stamp).as_nanos()).unwrap_or(u64::MAX)
}
