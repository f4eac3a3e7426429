//! All connections of one socket: receives, sends, collects events and computes the next deadline. The thread that
//! runs it holds its lock: mostly the socket's thread, and the program's thread when it sends, so that a datagram
//! leaves at once.

mod breakers;
mod entry;
mod events;
mod in_order;
mod lifecycle;
mod receive;
mod reconnect;
mod recovery;
mod sessions;
#[cfg(test)]
mod tests;
mod traces;
mod transmit;

pub(crate) use receive::is_peer_error;

use self::entry::{Entry, Stage};
use self::sessions::Migration;
use self::traces::Traces;
use self::transmit::SendBatch;
use crate::Clock;
use crate::mailbox::{Closed, Mailbox};
use crate::media::Media;
use crate::outbox::ConnectionOutbox;
use crate::qlog::Qlog;
use crate::secure::Secure;
use crate::socket::Batch;
use crate::watched::{PendingWakers, Watched};
use crate::wire::Carrier;
use headway_dccp::{
    ConnectionHandle, ConnectionOptions, Endpoint, EndpointOptions, Fec, MediaOutbox, Path, ServiceCode, Status,
};
use headway_media::SendQueueOptions;
use headway_rate::{EncoderOptions, EncoderRate};
use headway_units::{Bytes, Duration, Entropy, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;

/// Interval of the circuit breakers.
const BREAKER_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of send calls in a turn.
const MAX_SENDS: usize = 256;

/// Options of all connections of a socket.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) connection: ConnectionOptions,
    pub(crate) queue: SendQueueOptions,
    pub(crate) encoder: EncoderOptions,
    pub(crate) service: ServiceCode,
    pub(crate) port: u16,
    pub(crate) unread: usize,
    pub(crate) events: usize,
    pub(crate) follow: bool,
    pub(crate) fec: Fec,
    pub(crate) accepted: Option<usize>,
    pub(crate) order_wait: Option<Duration>,
    pub(crate) reconnect: bool,
    pub(crate) qlog: Option<Qlog>,
    pub(crate) clock: Clock,
}

/// Bytes that a datagram of the largest size leaves in its packet for its position, so that the receiver can restore the
/// order: the maximum packet size leaves 16 bytes for options, and the data of the default controller have up to 16 others.
const POSITION_ROOM: usize = 8;

impl Common {
    /// Returns the size of the largest datagram, in bytes, for a maximum packet size of DCCP (RFC 4340 section 14).
    fn largest(&self, maximum_packet_size: usize) -> usize {
        maximum_packet_size - if self.queue.rules.resend { POSITION_ROOM.min(maximum_packet_size) } else { 0 }
    }
}

/// A connection opened by a peer, for the program to accept.
pub(crate) type Accepted = (u64, Path, Arc<Mailbox>);

/// Failed handshakes with one reason: peers began to connect to this endpoint, and no connection was established.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Address of the last peer; `None` without UDP.
    pub from: Option<SocketAddr>,
    /// Reason of the last failure.
    pub why: Closed,
    /// Number of these handshakes.
    pub handshakes: u64,
}

/// Maximum number of reasons of failed handshakes that are kept apart. Further ones are counted with the last reason.
const MAX_REASONS: usize = 8;

/// Connections that wait to be accepted.
#[derive(Debug, Default)]
pub(crate) struct AcceptQueue {
    pub(crate) waiting: VecDeque<Accepted>,
    /// Whether no further connection will be accepted.
    pub(crate) is_closed: bool,
}

/// Counters of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// UDP datagrams received, of any kind.
    pub received_datagrams: u64,
    /// At an endpoint without DTLS: UDP datagrams received that are no DCCP packet, or that their connection ignores. 0
    /// with DTLS, where [`DtlsCounters::ignored`](crate::DtlsCounters::ignored) is a similar count.
    pub ignored_datagrams: u64,
    /// UDP datagrams sent.
    pub sent_datagrams: u64,
    /// UDP datagrams that the system refused to send: no route, or too large for the interface.
    pub unsendable_datagrams: u64,
    /// Datagrams for the program that were dropped because it did not read in time.
    pub unread_datagrams: u64,
    /// Failed handshakes that peers began. Reasons are, for example, an unexpected certificate, no common controller, a
    /// limit of this endpoint on connections or handshakes, or a peer that stops answering.
    pub refused_handshakes: u64,
}

/// Counters of the forward error correction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FecCounters {
    /// Repair packets sent.
    pub repair_packets: u64,
    /// Lost datagrams of this endpoint that the peer could restore, according to its reports.
    pub restored_by_peer: u64,
    /// Lost datagrams of the peer that this endpoint restored.
    pub restored: u64,
    /// Number of these whose packets have not arrived since.
    pub missing_restored: u64,
}

#[derive(Debug)]
pub(crate) struct Driver {
    common: Common,
    socket: Arc<Carrier>,
    secure: Option<Box<dyn Secure>>,
    endpoint: Endpoint<Option<ConnectionOutbox>>,
    /// By key; keys are not reused.
    entries: BTreeMap<u64, Entry>,
    next_key: u64,
    keys: BTreeMap<ConnectionHandle, u64>,
    /// Connections to close once their send queue is empty, and the latest time for that.
    closing: Vec<(u64, Instant)>,
    /// Next update of the circuit breakers, each second while data is sent.
    breakers_due: Option<Instant>,
    /// Next check for silent peers, while data is sent.
    silence_due: Option<Instant>,
    /// Next attempt to reconnect.
    retry_due: Option<Instant>,
    /// End of the wait of a received datagram for earlier ones.
    order_due: Option<Instant>,
    /// Sessions whose peers were seen at another address.
    migrations: BTreeMap<Path, Migration>,
    /// Sessions without a connection, whose last packets may still be queued.
    unused: Vec<Path>,
    /// `None` without qlog.
    traces: Option<Traces>,
    accepts: Arc<Watched<AcceptQueue>>,
    wakers: PendingWakers,
    counters: SocketCounters,
    /// Failed handshakes that the program has not read, by reason.
    refused: VecDeque<Refused>,
    batch: Batch,
    /// Whether the last receive returned more than one datagram.
    is_backlogged: bool,
    packets: Vec<u8>,
    sealed: Vec<u8>,
    /// Datagrams that the system has not taken yet.
    pending: Option<SendBatch>,
}

/// Outcome of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// More work is left.
    Turn,
    /// Wait for a datagram, for space in the send buffer if `writable`, or until this time.
    Wait { until: Option<Instant>, writable: bool },
}

impl Next {
    /// Returns the time of the next work.
    pub(crate) const fn at(self) -> Option<Instant> {
        match self {
            Self::Turn => Some(Instant::ZERO),
            Self::Wait { until, .. } => until,
        }
    }
}

impl Driver {
    pub(crate) fn new(
        common: Common,
        mut bounds: EndpointOptions,
        socket: Arc<Carrier>,
        secure: Option<Box<dyn Secure>>,
        random: impl Entropy + 'static,
    ) -> Self {
        bounds.segments = bounds.segments.min(socket.segments());
        let mut common = common;
        if let Some(secure) = &secure {
            common.connection.expert.secure_headers = Bytes::new(secure.overhead() as u64);
        }
        let batch = if socket.io().is_some() { Batch::new() } else { Batch::default() };
        let wakers = PendingWakers::default();
        let traces = common.qlog.clone().map(|qlog| Traces::new(qlog, common.clock));
        Self {
            common,
            socket,
            secure,
            endpoint: Endpoint::new(bounds, random),
            entries: BTreeMap::new(),
            next_key: 0,
            keys: BTreeMap::new(),
            closing: Vec::new(),
            breakers_due: None,
            silence_due: None,
            retry_due: None,
            order_due: None,
            migrations: BTreeMap::new(),
            unused: Vec::new(),
            traces,
            accepts: Arc::new(Watched::new(AcceptQueue::default(), wakers.clone())),
            wakers,
            counters: SocketCounters::default(),
            refused: VecDeque::new(),
            batch,
            is_backlogged: false,
            packets: Vec::new(),
            sealed: Vec::new(),
            pending: None,
        }
    }

    pub(crate) fn accepts(&self) -> Arc<Watched<AcceptQueue>> {
        Arc::clone(&self.accepts)
    }
    /// Takes the wakers to wake once the lock on the driver is released.
    pub(crate) fn take_wakers(&self) -> Vec<Waker> {
        self.wakers.take()
    }
    pub(crate) const fn counters(&self) -> SocketCounters {
        self.counters
    }
    pub(crate) fn take_refused(&mut self) -> Option<Refused> {
        self.refused.pop_front()
    }
    /// Counts a failed handshake of a peer and keeps the last one of each reason: a flood of them uses no memory.
    fn record_refused(&mut self, path: Path, why: Closed) {
        self.counters.refused_handshakes += 1;
        let from = match path {
            Path::Udp { remote, .. } => Some(remote),
            Path::Ipv4 { .. } | Path::Ipv6 { .. } => None,
        };
        let known = self.refused.iter().position(|refused| refused.why.is_alike(&why));
        match self.refused.get_mut(known.unwrap_or(MAX_REASONS - 1)) {
            Some(refused) => *refused = Refused { from, why, handshakes: refused.handshakes + 1 },
            None => self.refused.push_back(Refused { from, why, handshakes: 1 }),
        }
    }
    pub(crate) fn connections(&self) -> usize {
        let waiting = self.entries.values().filter(|entry| matches!(entry.stage, Stage::AwaitingSession(_))).count();
        self.endpoint.connections() + waiting
    }
    pub(crate) fn sessions(&self) -> usize {
        self.secure.as_ref().map_or(0, |secure| secure.session_count())
    }
    pub(crate) const fn is_blocked(&self) -> bool {
        self.pending.is_some()
    }
    pub(crate) fn is_idle(&self) -> bool {
        self.entries.is_empty()
    }

    /// Accepts connections from now on.
    pub(crate) fn listen(&mut self, now: Instant) -> Result<(), headway_dccp::ListenError> {
        let Common { port, connection, service, .. } = &self.common;
        self.endpoint.listen(now, *port, connection, &[*service])
    }

    /// Opens a connection to this peer; it begins once its session is established.
    pub(crate) fn connect(&mut self, now: Instant, path: Path) -> (u64, Arc<Mailbox>) {
        let mailbox = self.mailbox();
        let outbox = Box::new(self.outbox(&mailbox));
        let session = self.secure.as_mut().map(|secure| secure.connect(now, path, false));
        let entry = Entry::new(now, Arc::clone(&mailbox), path, Stage::AwaitingSession(outbox));
        let key = self.insert(entry);
        match session {
            None => self.begin(now, key),
            Some(Ok(())) => {}
            Some(Err(why)) => self.end(key, Closed::Security(why)),
        }
        (key, mailbox)
    }

    /// Queues datagrams or sends them at once. Returns their numbers in events; `None` if the connection has ended.
    pub(crate) fn send_all(&mut self, now: Instant, key: u64, all: &[Media<'_>]) -> Option<Range<u64>> {
        let entry = self.entries.get_mut(&key)?;
        let outbox = match &mut entry.stage {
            Stage::AwaitingSession(outbox) => outbox,
            Stage::Running(handle) => self.endpoint.outbox_mut(*handle)?.as_mut()?,
        };
        self.breakers_due.get_or_insert(now + BREAKER_INTERVAL);
        let first = outbox.pushed();
        all.iter().for_each(|media| outbox.push(now, media));
        let numbers = first..outbox.pushed();
        self.watch_silence(now);
        Some(numbers)
    }

    /// Returns the status of the connection; `None` before its session is established.
    pub(crate) fn status(&self, key: u64) -> Option<Status> {
        match self.entries.get(&key)?.stage {
            Stage::AwaitingSession(_) => None,
            Stage::Running(handle) => Some(self.endpoint.connection(handle)?.status()),
        }
    }

    /// Returns the counters of forward error correction; `None` once the connection is closed.
    pub(crate) fn fec_counters(&self, key: u64) -> Option<FecCounters> {
        let entry = self.entries.get(&key)?;
        let outbox = match &entry.stage {
            Stage::AwaitingSession(outbox) => Some(outbox.as_ref()),
            Stage::Running(handle) => self.endpoint.outbox(*handle)?.as_ref(),
        };
        let sent = outbox.map(ConnectionOutbox::repair_counters).unwrap_or_default();
        Some(FecCounters {
            repair_packets: sent.repair_packets,
            restored_by_peer: sent.restored_datagrams,
            restored: entry.restored,
            missing_restored: entry.restorer.as_ref().map_or(0, |restorer| restorer.missing_restored()),
        })
    }

    /// Closes the connection once its send queue is empty, at this time at the latest.
    pub(crate) fn close(&mut self, key: u64, at: Instant) {
        if self.entries.contains_key(&key) {
            self.closing.push((key, at));
        }
    }

    /// Runs one turn. `readable`: datagrams may be waiting.
    pub(crate) fn turn(&mut self, now: Instant, readable: bool) -> io::Result<Next> {
        // While datagrams are queued, reading is cheaper than polling for readiness.
        let mut more = (readable || self.is_backlogged) && self.receive(now)?;
        if let Some(secure) = &mut self.secure {
            secure.handle_timeout(now);
        }
        self.endpoint.handle_timeout(now);
        self.update_breakers(now);
        self.check_silence(now);
        self.retry_lost(now);
        self.deliver_held(now);
        more |= self.drain(now);
        if more {
            return Ok(Next::Turn);
        }
        Ok(Next::Wait { until: self.deadline(), writable: self.pending.is_some() })
    }

    /// Sends queued datagrams and reports events until there are none. Returns true if more work is left.
    pub(crate) fn drain(&mut self, now: Instant) -> bool {
        // A peer above the limit gets a Reset instead of a Response.
        if self.common.accepted.is_some() {
            self.handle_events(now);
        }
        let mut sends = MAX_SENDS;
        loop {
            self.finish_closing(now);
            if self.transmit(now, &mut sends) {
                return true;
            }
            let closed = self.close_unused(now);
            // Events that precede the end of a session are reported before it.
            let events = self.handle_events(now);
            let secure = self.handle_secure_events(now);
            if !(closed || events || secure) || self.pending.is_some() {
                return false;
            }
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let secure = self.secure.as_ref().and_then(|secure| secure.poll_timeout());
        let closing = self.closing.iter().map(|(_, at)| *at);
        closing
            .chain(self.endpoint.poll_timeout())
            .chain(secure)
            .chain(self.breakers_due)
            .chain(self.order_due)
            .chain(self.recovery_due())
            .min()
    }

    fn mailbox(&self) -> Arc<Mailbox> {
        Arc::new(Mailbox::new(self.common.unread, self.common.events, 0, &self.wakers))
    }

    fn outbox(&self, mailbox: &Arc<Mailbox>) -> ConnectionOutbox {
        let queue = MediaOutbox::new(&self.common.queue).with_fec(self.common.fec);
        let queue = if self.common.follow { queue.follow() } else { queue };
        ConnectionOutbox::new(queue, EncoderRate::new(self.common.encoder), Arc::clone(mailbox))
    }

    /// Stops accepting connections and closes those that are waiting.
    pub(crate) fn stop_accepting(&mut self, now: Instant) {
        self.endpoint.stop_listening(self.common.port);
        let waiting = self.accepts.change(|accepts| {
            accepts.is_closed = true;
            std::mem::take(&mut accepts.waiting)
        });
        waiting.into_iter().for_each(|(key, ..)| self.close(key, now));
    }

    /// Ends all connections after an error of the socket.
    pub(crate) fn fail(&mut self) {
        let keys: Vec<u64> = self.entries.keys().copied().collect();
        keys.into_iter().for_each(|key| self.end(key, Closed::Socket));
        self.accepts.change(|accepts| accepts.is_closed = true);
    }
}

/// Time in which a dropped connection may still send queued datagrams.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
