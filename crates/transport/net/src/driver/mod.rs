//! All connections behind one socket: in, drain, events, next deadline. Who runs it holds the lock on it: mostly the socket's thread, and the
//! program's when it sends, so that a datagram that may go leaves at once.

mod breakers;
mod events;
mod lifecycle;
mod line;
mod receive;
mod sessions;
#[cfg(test)]
mod tests;
mod transmit;

use self::line::{Line, Place};
use self::sessions::Move;
use self::transmit::Run;
use crate::encoder::{EncoderOptions, EncoderRate};
use crate::mailbox::{Closed, Mailbox};
use crate::media::Media;
use crate::outbox::LineOutbox;
use crate::secure::Secure;
use crate::socket::Batch;
use crate::watched::{Calls, Watched};
use crate::wire::Carrier;
use headway_dccp::{
    ConnectionHandle, ConnectionOptions, Endpoint, EndpointOptions, MediaOutbox, Path, ServiceCode, Status,
};
use headway_media::SendQueueOptions;
use headway_units::{Bytes, Duration, Entropy, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;

/// How often circuit breakers look.
const LOOK: Duration = Duration::from_secs(1);

/// Send calls in a turn.
const MOST_SENDS: usize = 256;

/// What all connections of a socket have in common.
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
    pub(crate) accepted: Option<usize>,
}

/// A connection that a peer has opened, for whoever accepts.
pub(crate) type Accepted = (u64, Path, Arc<Mailbox>);

/// A peer that did not become a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The address of the peer; `None` without UDP.
    pub from: Option<SocketAddr>,
    /// Why its handshake failed.
    pub why: Closed,
}

/// What waits to be accepted.
#[derive(Debug, Default)]
pub(crate) struct Accepts {
    pub(crate) waiting: VecDeque<Accepted>,
    /// Nothing more comes.
    pub(crate) over: bool,
}

/// What the socket has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Datagrams received, whatever they were.
    pub received_datagrams: u64,
    /// Of them those of which nothing came: no packet of ours, or one that its connection ignores.
    pub ignored_datagrams: u64,
    /// Datagrams sent.
    pub sent_datagrams: u64,
    /// Those that the system refused to send: no route, or larger than the interface takes.
    pub unsendable_datagrams: u64,
    /// Datagrams for programs that did not read theirs in time.
    pub unread_datagrams: u64,
    /// Handshakes of peers that failed: a certificate that is not expected, another controller, no room, no answer.
    pub refused_handshakes: u64,
}

#[derive(Debug)]
pub(crate) struct Driver {
    common: Common,
    socket: Arc<Carrier>,
    secure: Option<Box<dyn Secure>>,
    endpoint: Endpoint<Option<LineOutbox>>,
    /// By keys, which do not come again.
    lines: BTreeMap<u64, Line>,
    next_key: u64,
    keys: BTreeMap<ConnectionHandle, u64>,
    /// Those that are to be closed as soon as nothing waits.
    closing: Vec<(u64, Instant)>,
    /// When circuit breakers look again: while data goes, each second.
    look: Option<Instant>,
    /// Sessions whose peers have been seen elsewhere.
    moves: BTreeMap<Path, Move>,
    /// Sessions whose connections have ended, and whose last packets may wait to be sent.
    unused: Vec<Path>,
    accepts: Arc<Watched<Accepts>>,
    calls: Calls,
    counters: SocketCounters,
    /// The newest of the refused handshakes that the program has not asked for.
    refused: Option<Refused>,
    batch: Batch,
    /// More than one had come when something had come last.
    queues: bool,
    packets: Vec<u8>,
    sealed: Vec<u8>,
    /// What the system did not take yet.
    pending: Option<Run>,
}

/// What a turn leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is more to do at once.
    Turn,
    /// Until something comes, the system takes more if it did not, or this instant.
    Wait { until: Option<Instant>, writable: bool },
}

impl Next {
    /// When there is something to do.
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
        let calls = Calls::default();
        Self {
            common,
            socket,
            secure,
            endpoint: Endpoint::new(bounds, random),
            lines: BTreeMap::new(),
            next_key: 0,
            keys: BTreeMap::new(),
            closing: Vec::new(),
            look: None,
            moves: BTreeMap::new(),
            unused: Vec::new(),
            accepts: Arc::new(Watched::new(Accepts::default(), calls.clone())),
            calls,
            counters: SocketCounters::default(),
            refused: None,
            batch,
            queues: false,
            packets: Vec::new(),
            sealed: Vec::new(),
            pending: None,
        }
    }

    pub(crate) fn accepts(&self) -> Arc<Watched<Accepts>> {
        Arc::clone(&self.accepts)
    }
    /// Tasks to be called once the lock on this is given back.
    pub(crate) fn take_calls(&self) -> Vec<Waker> {
        self.calls.take()
    }
    pub(crate) const fn counters(&self) -> SocketCounters {
        self.counters
    }
    pub(crate) const fn take_refused(&mut self) -> Option<Refused> {
        self.refused.take()
    }
    /// Counts a peer's handshake that failed, and keeps the newest for the program: a flood of them takes no memory.
    fn note_refused(&mut self, path: Path, why: Closed) {
        self.counters.refused_handshakes += 1;
        let from = match path {
            Path::Udp { remote, .. } => Some(remote),
            Path::Ipv4 { .. } | Path::Ipv6 { .. } => None,
        };
        self.refused = Some(Refused { from, why });
    }
    pub(crate) fn connections(&self) -> usize {
        let waiting = self.lines.values().filter(|line| matches!(line.place, Place::Session(_))).count();
        self.endpoint.connections() + waiting
    }
    pub(crate) fn sessions(&self) -> usize {
        self.secure.as_ref().map_or(0, |secure| secure.held())
    }
    pub(crate) const fn is_blocked(&self) -> bool {
        self.pending.is_some()
    }
    pub(crate) fn is_idle(&self) -> bool {
        self.lines.is_empty()
    }

    /// Peers may connect from now on.
    pub(crate) fn listen(&mut self, now: Instant) -> Result<(), headway_dccp::ListenError> {
        let Common { port, connection, service, .. } = &self.common;
        self.endpoint.listen(now, *port, connection, &[*service])
    }

    /// A connection to this peer, which begins once there is a session.
    pub(crate) fn connect(&mut self, now: Instant, path: Path) -> (u64, Arc<Mailbox>) {
        let mailbox = self.mailbox();
        let outbox = Box::new(self.outbox(&mailbox));
        let session = self.secure.as_mut().map(|secure| secure.connect(now, path));
        let line = Line::new(now, Arc::clone(&mailbox), path, Place::Session(outbox));
        let key = self.insert(line);
        match session {
            None => self.begin(now, key),
            Some(Ok(())) => {}
            Some(Err(why)) => self.end(key, Closed::Security(why)),
        }
        (key, mailbox)
    }

    /// The media waits, or goes at once; the number under which events name it.
    pub(crate) fn send(&mut self, now: Instant, key: u64, media: &Media<'_>) -> Option<u64> {
        let line = self.lines.get_mut(&key)?;
        self.look.get_or_insert(now + LOOK);
        match &mut line.place {
            Place::Session(outbox) => Some(outbox.push(now, media)),
            Place::Endpoint(handle) => Some(self.endpoint.outbox_mut(*handle)?.as_mut()?.push(now, media)),
        }
    }

    /// What the connection holds; nothing before it has a session.
    pub(crate) fn status(&self, key: u64) -> Option<Status> {
        match self.lines.get(&key)?.place {
            Place::Session(_) => None,
            Place::Endpoint(handle) => Some(self.endpoint.connection(handle)?.status()),
        }
    }

    /// Closes once nothing waits, or at this instant.
    pub(crate) fn close(&mut self, key: u64, at: Instant) {
        if self.lines.contains_key(&key) {
            self.closing.push((key, at));
        }
    }

    /// One turn of the loop. `readable`: something may have come.
    pub(crate) fn turn(&mut self, now: Instant, readable: bool) -> io::Result<Next> {
        // Where datagrams queue, to look is cheaper than to ask whether there are any.
        let mut more = (readable || self.queues) && self.receive(now)?;
        if let Some(secure) = &mut self.secure {
            secure.handle_timeout(now);
        }
        self.endpoint.handle_timeout(now);
        self.look_at_breakers(now);
        more |= self.drain(now);
        if more {
            return Ok(Next::Turn);
        }
        Ok(Next::Wait { until: self.deadline(), writable: self.pending.is_some() })
    }

    /// Sends what may go, and tells what has happened, until there is neither; or, if it would take too long, whether there is more.
    pub(crate) fn drain(&mut self, now: Instant) -> bool {
        // A peer for which there is no room gets a Reset in place of a Response.
        if self.common.accepted.is_some() {
            self.handle_events(now);
        }
        let mut sends = MOST_SENDS;
        loop {
            self.finish_closing(now);
            if self.transmit(now, &mut sends) {
                return true;
            }
            let closed = self.close_unused(now);
            // What a connection has heard before its session ended counts.
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
        closing.chain(self.endpoint.poll_timeout()).chain(secure).chain(self.look).min()
    }

    fn mailbox(&self) -> Arc<Mailbox> {
        Arc::new(Mailbox::new(self.common.unread, self.common.events, 0, &self.calls))
    }

    fn outbox(&self, mailbox: &Arc<Mailbox>) -> LineOutbox {
        let queue = MediaOutbox::new(&self.common.queue);
        let queue = if self.common.follow { queue.follow() } else { queue };
        LineOutbox::new(queue, EncoderRate::new(self.common.encoder), Arc::clone(mailbox))
    }

    /// Nobody accepts any more; what has not been accepted is closed.
    pub(crate) fn stop_accepting(&mut self, now: Instant) {
        self.endpoint.stop_listening(self.common.port);
        let waiting = self.accepts.change(|accepts| {
            accepts.over = true;
            std::mem::take(&mut accepts.waiting)
        });
        waiting.into_iter().for_each(|(key, ..)| self.close(key, now));
    }

    /// The socket is of no more use.
    pub(crate) fn fail(&mut self) {
        let keys: Vec<u64> = self.lines.keys().copied().collect();
        keys.into_iter().for_each(|key| self.end(key, Closed::Socket));
        self.accepts.change(|accepts| accepts.over = true);
    }
}

/// How long a connection that is dropped may still send what waits.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
