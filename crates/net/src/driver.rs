//! All connections behind one socket: in, drain, events, next deadline. Who runs it holds the lock on it: mostly the socket's thread, and the
//! program's when it sends, so that a datagram that may go leaves at once.

use crate::breaker::{Breaker, Observed, Step, Tripped};
use crate::encoder::{EncoderOptions, EncoderRate};
use crate::mailbox::{Closed, Event, Mailbox};
use crate::media::Media;
use crate::outbox::LineOutbox;
use crate::secure::{Secure, SecureError, SecureEvent};
use crate::socket::{Batch, Socket};
use crate::watched::Watched;
use headway_dccp::{
    ConnectionHandle, ConnectionOptions, DropCode, Endpoint, EndpointOptions, MediaOutbox, Path, ResetCode,
    ServiceCode, Status, Transmit,
};
use headway_media::SendQueueOptions;
use headway_units::{Duration, Ecn, Entropy, Instant, Seq48};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

/// Receive calls in a turn: then others have theirs.
const MOST_RECEIVES: usize = 16;
/// Send calls in a turn.
const MOST_SENDS: usize = 256;
/// How often circuit breakers look.
const LOOK: Duration = Duration::from_secs(1);

/// Bytes that one call of the system takes: a datagram of IPv6 with its headers, whatever it is cut into.
const LONGEST_RUN: usize = 65_535 - 48;

/// What all connections of a socket have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) connection: ConnectionOptions,
    pub(crate) queue: SendQueueOptions,
    pub(crate) encoder: EncoderOptions,
    pub(crate) service: ServiceCode,
    pub(crate) port: u16,
    pub(crate) unread: usize,
    pub(crate) follow: bool,
}

/// A connection that a peer has opened, for whoever accepts.
pub(crate) type Accepted = (u64, Path, Arc<Mailbox>);

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
}

#[derive(Debug)]
pub(crate) struct Driver {
    common: Common,
    socket: Arc<Socket>,
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
    accepts: Arc<Watched<Accepts>>,
    counters: SocketCounters,
    batch: Batch,
    packets: Vec<u8>,
    sealed: Vec<u8>,
    /// What the system did not take yet.
    pending: Option<Run>,
}

/// One connection.
#[derive(Debug)]
struct Line {
    mailbox: Arc<Mailbox>,
    path: Path,
    place: Place,
    /// It waits to be shown to whoever accepts.
    unseen: bool,
    /// This end has closed.
    closed: bool,
    breaker: Breaker,
    tripped: Option<Tripped>,
}

impl Line {
    fn new(now: Instant, mailbox: Arc<Mailbox>, path: Path, place: Place) -> Self {
        Self { mailbox, path, place, unseen: false, closed: false, breaker: Breaker::new(now), tripped: None }
    }
}

#[derive(Debug)]
enum Place {
    /// It waits for its session.
    Session(Box<LineOutbox>),
    Endpoint(ConnectionHandle),
}

/// Where a peer may be now.
#[derive(Debug)]
struct Move {
    path: Path,
    /// Who asks, and the number of the question.
    handle: ConnectionHandle,
    id: u64,
}

/// Datagrams to one peer.
#[derive(Debug)]
struct Run {
    path: Path,
    ecn: Ecn,
    segment: usize,
    bytes: Vec<u8>,
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
        socket: Arc<Socket>,
        secure: Option<Box<dyn Secure>>,
        random: impl Entropy + 'static,
    ) -> Self {
        bounds.segments = bounds.segments.min(socket.segments());
        let mut common = common;
        if let Some(secure) = &secure {
            let mtu = common.connection.mtu.count().saturating_sub(secure.overhead() as u64);
            common.connection.mtu = headway_units::Bytes::new(mtu);
        }
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
            accepts: Arc::default(),
            counters: SocketCounters::default(),
            batch: Batch::new(),
            packets: Vec::new(),
            sealed: Vec::new(),
            pending: None,
        }
    }

    pub(crate) fn accepts(&self) -> Arc<Watched<Accepts>> {
        Arc::clone(&self.accepts)
    }
    pub(crate) const fn counters(&self) -> SocketCounters {
        self.counters
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
            Some(Err(why)) => self.end(now, key, Closed::Security(why)),
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
        let mut more = readable && self.receive(now)?;
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
        let mut sends = MOST_SENDS;
        loop {
            self.finish_closing(now);
            if self.transmit(now, &mut sends) {
                return true;
            }
            // What a connection has heard before its session ended counts.
            let events = self.handle_events(now);
            let secure = self.handle_secure_events(now);
            if !(events || secure) || self.pending.is_some() {
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
        Arc::new(Mailbox::new(self.common.unread, 0))
    }

    fn outbox(&self, mailbox: &Arc<Mailbox>) -> LineOutbox {
        let queue = MediaOutbox::new(&self.common.queue);
        let queue = if self.common.follow { queue.follow() } else { queue };
        LineOutbox::new(queue, EncoderRate::new(self.common.encoder), Arc::clone(mailbox))
    }

    fn insert(&mut self, line: Line) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        if let Place::Endpoint(handle) = line.place {
            self.keys.insert(handle, key);
        }
        self.lines.insert(key, line);
        key
    }

    /// The session is there: the connection begins.
    fn begin(&mut self, now: Instant, key: u64) {
        let Some(mut line) = self.lines.remove(&key) else { return };
        let Place::Session(outbox) = line.place else {
            self.lines.insert(key, line);
            return;
        };
        let Common { port, service, connection, .. } = &self.common;
        match self.endpoint.connect(now, line.path, *port, *service, connection, Some(*outbox)) {
            Ok(handle) => {
                line.place = Place::Endpoint(handle);
                self.keys.insert(handle, key);
                self.lines.insert(key, line);
            }
            Err(why) => line.mailbox.tell([Event::Closed(Closed::Refused(why))]),
        }
    }

    /// It is over: the program hears it, and nothing is kept.
    fn end(&mut self, now: Instant, key: u64, why: Closed) {
        let Some(mut line) = self.lines.remove(&key) else { return };
        match &mut line.place {
            Place::Session(outbox) => outbox.give_up(),
            Place::Endpoint(handle) => {
                self.keys.remove(handle);
                if let Some(Some(outbox)) = self.endpoint.outbox_mut(*handle) {
                    outbox.give_up();
                }
            }
        }
        line.mailbox.tell([Event::Closed(why)]);
        self.closing.retain(|(other, _)| *other != key);
        if let Some(secure) = &mut self.secure
            && !self.lines.values().any(|other| other.path == line.path)
        {
            secure.close(now, line.path);
            self.moves.remove(&line.path);
        }
    }

    /// Connections without anything left to send are closed, and those that have waited long enough.
    fn finish_closing(&mut self, now: Instant) {
        let (mut due, mut gone) = (Vec::new(), Vec::new());
        for (key, at) in &self.closing {
            match self.lines.get(key).map(|line| &line.place) {
                None => {}
                Some(Place::Session(outbox)) if outbox.is_empty() || *at <= now => gone.push(*key),
                Some(Place::Endpoint(handle)) if self.has_sent_all(*handle) || *at <= now => due.push((*key, *handle)),
                Some(_) => {}
            }
        }
        for (key, handle) in due {
            self.closing.retain(|(other, _)| *other != key);
            if let Some(connection) = self.endpoint.connection_mut(handle) {
                connection.close(now);
            }
            if let Some(line) = self.lines.get_mut(&key) {
                line.closed = true;
            }
        }
        gone.into_iter().for_each(|key| self.end(now, key, Closed::Here));
    }

    fn has_sent_all(&self, handle: ConnectionHandle) -> bool {
        let outbox = self.endpoint.outbox(handle).and_then(Option::as_ref);
        outbox.is_none_or(LineOutbox::is_empty)
    }

    /// Everything that has come, or as much as a turn may take; whether there may be more.
    fn receive(&mut self, now: Instant) -> io::Result<bool> {
        for _ in 0..MOST_RECEIVES {
            match self.socket.receive(&mut self.batch) {
                Ok(all) => {
                    self.handle_batch(now);
                    if all {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // What the network says of a datagram that was sent is of no account here (RFC 5461: it may be forged).
                Err(error) if is_of_a_peer(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn handle_batch(&mut self, now: Instant) {
        let Self { socket, batch, endpoint, secure, lines, keys, counters, .. } = self;
        let (mut early, mut unread) = (Vec::new(), Vec::new());
        socket.datagrams(batch, |arrived, datagram| {
            counters.received_datagrams += 1;
            let mut of_use = false;
            let mut deliver = |path: Path, packet: &[u8]| match endpoint.handle_datagram(now, path, arrived.ecn, packet)
            {
                Ok(None) => of_use = true,
                Ok(Some(came)) => {
                    of_use = true;
                    match keys.get(&came.handle).and_then(|key| lines.get(key)) {
                        Some(line) if line.mailbox.deliver(came.data) => {}
                        Some(_) => unread.push((came.handle, came.seq)),
                        None => early.push((came.handle, came.data.to_vec())),
                    }
                }
                Err(_) => {}
            };
            match secure {
                None => deliver(arrived.path, datagram),
                Some(secure) => {
                    secure.handle_datagram(now, arrived.path, datagram, &mut deliver);
                    of_use = true; // it counts those for itself
                }
            }
            counters.ignored_datagrams += u64::from(!of_use);
        });
        for (handle, data) in early {
            self.accept(now, handle);
            self.tell_largest(handle);
            if let Some(line) = self.keys.get(&handle).and_then(|key| self.lines.get(key)) {
                line.mailbox.deliver(&data);
            }
            self.show(handle);
        }
        for (handle, seq) in unread {
            self.drop_unread(now, handle, seq);
        }
    }

    /// The program does not read: the peer's controller is told so (RFC 4340 section 11.7, Drop Code 2).
    fn drop_unread(&mut self, now: Instant, handle: ConnectionHandle, seq: Seq48) {
        self.counters.unread_datagrams += 1;
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.report_dropped(now, seq, DropCode::RECEIVE_BUFFER);
        }
    }

    /// Whether there is more than `sends` calls could send.
    fn transmit(&mut self, now: Instant, sends: &mut usize) -> bool {
        if let Some(run) = self.pending.take() {
            self.send_run(run.path, run.ecn, run.segment, &run.bytes);
        }
        while self.pending.is_none() {
            if *sends == 0 {
                return true;
            }
            *sends -= 1;
            if let Some(secure) = &mut self.secure {
                let mut datagram = std::mem::take(&mut self.sealed);
                let path = secure.poll_transmit(now, &mut datagram);
                if let Some(path) = path {
                    self.send_run(path, Ecn::NotEct, datagram.len(), &datagram);
                }
                self.sealed = datagram;
                if path.is_some() {
                    continue;
                }
            }
            let Some(out) = self.endpoint.poll_transmit(now, &mut self.packets) else { return false };
            let packets = std::mem::take(&mut self.packets);
            let bytes = packets.get(..out.len).unwrap_or_default();
            if self.secure.is_some() {
                self.seal(now, &out, bytes);
            } else {
                self.send_run(out.path, out.ecn, out.segment_size, bytes);
            }
            self.packets = packets;
        }
        false
    }

    /// Each packet becomes a datagram; those of one size go together.
    fn seal(&mut self, now: Instant, out: &Transmit, packets: &[u8]) {
        let mut sealed = std::mem::take(&mut self.sealed);
        sealed.clear();
        let mut run: Option<(Path, usize)> = None;
        // A Sync that asks whether the peer is elsewhere goes there, alone.
        let asked = self.moves.get(&out.path).filter(|to| out.probe == Some(to.id));
        let elsewhere = asked.map(|to| to.path);
        for packet in packets.chunks(out.segment_size.max(1)) {
            let before = sealed.len();
            let Some(secure) = &mut self.secure else { break };
            let path = match elsewhere {
                Some(path) => secure.seal_to(now, out.path, path, packet, &mut sealed),
                None => secure.seal(now, out.path, packet, &mut sealed),
            };
            let Some(path) = path else { continue };
            let len = sealed.len() - before;
            if let Some((same, segment)) = run
                && (same != path || len > segment || !before.is_multiple_of(segment) || sealed.len() > LONGEST_RUN)
            {
                self.send_run(same, out.ecn, segment, sealed.get(..before).unwrap_or_default());
                sealed.drain(..before);
                run = None;
            }
            run.get_or_insert((path, len));
        }
        if let Some((path, segment)) = run {
            self.send_run(path, out.ecn, segment, &sealed);
        }
        self.sealed = sealed;
    }

    fn send_run(&mut self, path: Path, ecn: Ecn, segment: usize, datagrams: &[u8]) {
        let many = datagrams.len().div_ceil(segment.max(1)) as u64;
        match self.socket.send(path, ecn, datagrams, segment) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Two runs of one seal may both have to wait: the second one is lost, as it may be on the path.
                if self.pending.is_none() {
                    self.pending = Some(Run { path, ecn, segment, bytes: datagrams.to_vec() });
                }
            }
            // A system that cannot take runs apart says so with the first one; from then on it is not asked.
            Err(_) if many > 1 => {
                for datagram in datagrams.chunks(segment) {
                    let sent = self.socket.send(path, ecn, datagram, segment).is_ok();
                    self.count(sent, 1);
                }
            }
            sent => self.count(sent.is_ok(), many),
        }
    }

    fn count(&mut self, sent: bool, datagrams: u64) {
        let count = if sent { &mut self.counters.sent_datagrams } else { &mut self.counters.unsendable_datagrams };
        *count += datagrams;
    }

    /// Whether there was anything.
    fn handle_secure_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.secure.as_mut().and_then(|secure| secure.poll_event()) {
            any = true;
            match event {
                SecureEvent::Ready { session, .. } => {
                    self.of_session(session).into_iter().for_each(|key| self.begin(now, key));
                }
                SecureEvent::Closed { session, why } => {
                    for key in self.of_session(session) {
                        let why =
                            if why == SecureError::ByPeer { Closed::ByPeer } else { Closed::Security(why.clone()) };
                        self.forget(now, key);
                        self.end(now, key, why);
                    }
                }
                SecureEvent::Seen { session, path } => self.ask(session, path),
            }
        }
        any
    }

    /// The peer seems to have moved: it is asked there (RFC 4340 section 5.7), and followed once it has answered.
    fn ask(&mut self, session: Path, path: Path) {
        for key in self.of_session(session) {
            if let Some(Line { place: Place::Endpoint(handle), .. }) = self.lines.get(&key)
                && let Some(id) = self.endpoint.connection_mut(*handle).and_then(|connection| connection.probe())
            {
                self.moves.insert(session, Move { path, handle: *handle, id });
                return;
            }
        }
    }

    fn follow(&mut self, now: Instant, handle: ConnectionHandle, id: u64) {
        let found = self.moves.iter().find(|(_, to)| (to.handle, to.id) == (handle, id));
        if let Some((session, path)) = found.map(|(session, to)| (*session, to.path)) {
            self.moves.remove(&session);
            if let Some(secure) = &mut self.secure {
                secure.move_to(now, session, path);
            }
        }
    }

    fn of_session(&self, session: Path) -> Vec<u64> {
        self.lines.iter().filter(|(_, line)| line.path == session).map(|(key, _)| *key).collect()
    }

    /// A connection whose session is gone says nothing more.
    fn forget(&mut self, now: Instant, key: u64) {
        if let Some(Line { place: Place::Endpoint(handle), .. }) = self.lines.get(&key)
            && let Some(connection) = self.endpoint.connection_mut(*handle)
        {
            connection.abort(now);
        }
    }

    /// Whether there was anything.
    fn handle_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            any = true;
            if event == headway_dccp::Event::Accepted {
                self.accept(now, handle);
                continue;
            }
            let Some(key) = self.keys.get(&handle).copied() else { continue };
            let told = match event {
                headway_dccp::Event::Connected => {
                    self.tell_largest(handle);
                    self.show(handle);
                    Event::Connected
                }
                headway_dccp::Event::MaximumPacketSize(largest) => Event::Largest(largest),
                headway_dccp::Event::PeerNotListening => Event::PeerNotListening,
                headway_dccp::Event::ProbeAnswered(id) => {
                    self.follow(now, handle, id);
                    continue;
                }
                headway_dccp::Event::Closed(why) => {
                    let line = self.lines.get(&key);
                    let here = line.is_some_and(|line| line.closed);
                    let tripped = line.and_then(|line| line.tripped);
                    self.end(now, key, tripped.map_or_else(|| closed(why, here), Closed::Breaker));
                    continue;
                }
                _ => continue,
            };
            if let Some(line) = self.lines.get(&key) {
                line.mailbox.tell([told]);
            }
        }
        any
    }

    /// Each second, while data goes: whether a connection harms the network, or reaches nobody.
    fn look_at_breakers(&mut self, now: Instant) {
        if self.look.is_none_or(|at| at > now) {
            return;
        }
        self.look = None;
        let Self { lines, endpoint, moves, .. } = self;
        for line in lines.values_mut() {
            let Place::Endpoint(handle) = line.place else { continue };
            let waits = endpoint.outbox(handle).and_then(Option::as_ref).is_some_and(|outbox| !outbox.is_empty());
            let Some(connection) = endpoint.connection_mut(handle) else { continue };
            let seen = Observed::from(&connection.status());
            if waits || line.breaker.has_more(&seen) {
                self.look = Some(now + LOOK);
            }
            match line.breaker.update(now, seen) {
                Step::Nothing => {}
                // Its own question is an answer to this one, too.
                Step::Ask if moves.contains_key(&line.path) => {}
                Step::Ask => drop(connection.probe()),
                Step::Trip(why) => {
                    line.tripped = Some(why);
                    connection.abort(now);
                }
            }
        }
    }

    /// A listener has made this connection, if it is new.
    fn accept(&mut self, now: Instant, handle: ConnectionHandle) {
        if self.keys.contains_key(&handle) {
            return;
        }
        let mailbox = self.mailbox();
        let outbox = self.outbox(&mailbox);
        let (Some(path), Some(place)) = (self.endpoint.path(handle), self.endpoint.outbox_mut(handle)) else { return };
        *place = Some(outbox);
        self.insert(Line { unseen: true, ..Line::new(now, mailbox, path, Place::Endpoint(handle)) });
    }

    /// What the program must know before it sends, as long as it has not changed.
    fn tell_largest(&self, handle: ConnectionHandle) {
        let line = self.keys.get(&handle).and_then(|key| self.lines.get(key));
        if let (Some(line), Some(connection)) = (line, self.endpoint.connection(handle)) {
            line.mailbox.tell([Event::Largest(connection.status().maximum_packet_size)]);
        }
    }

    /// Whoever accepts may have it: it is connected, or has brought something.
    fn show(&mut self, handle: ConnectionHandle) {
        let Some(key) = self.keys.get(&handle) else { return };
        let Some(line) = self.lines.get_mut(key) else { return };
        if std::mem::replace(&mut line.unseen, false) {
            let accepted = (*key, line.path, Arc::clone(&line.mailbox));
            self.accepts.change(|accepts| accepts.waiting.push_back(accepted));
        }
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
    pub(crate) fn fail(&mut self, now: Instant) {
        let keys: Vec<u64> = self.lines.keys().copied().collect();
        keys.into_iter().for_each(|key| self.end(now, key, Closed::Socket));
        self.accepts.change(|accepts| accepts.over = true);
    }
}

/// Errors that the system reports for what some peer, or a router, has said.
fn is_of_a_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

/// `here`: this end has wanted it.
const fn closed(why: headway_dccp::Closed, here: bool) -> Closed {
    match why {
        headway_dccp::Closed::ByPeer(reset) | headway_dccp::Closed::ByUs(reset)
            if reset.code.0 == ResetCode::CLOSED.0 =>
        {
            if here {
                Closed::Here
            } else {
                Closed::ByPeer
            }
        }
        headway_dccp::Closed::ByPeer(reset) => Closed::Reset(reset),
        headway_dccp::Closed::ByUs(reset) => Closed::Aborted(reset),
        headway_dccp::Closed::NoAnswer(_) if here => Closed::Here,
        headway_dccp::Closed::NoAnswer(_) => Closed::NoAnswer,
    }
}

/// How long a connection that is dropped may still send what waits.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
