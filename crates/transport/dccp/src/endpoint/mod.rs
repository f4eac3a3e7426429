//! All connections and listeners behind one socket, or any number of them, without I/O.
//!
//! An [`Endpoint`] finds the connection of each datagram that comes, makes connections for listeners, lets connections take turns
//! to send, knows who is to be called next, and forgets connections that are over. Its driver runs the same loop as that of a
//! [`Connection`]: in, drain, events, next deadline.
//!
//! - What comes is in `receive`, what goes in `transmit`; `deadlines` says who is called when, `slots` names connections.

mod deadlines;
mod error;
mod receive;
mod slots;
mod transmit;

pub use error::{ConnectError, Dropped, ListenError};
pub use receive::Datagram;
pub use slots::ConnectionHandle;
pub use transmit::Transmit;

use crate::connection::RateLimit;
use crate::path::Ports;
use crate::{Connection, ConnectionOptions, Event, Listener, Outbox, Path, Reset, ServiceCode, State};
use deadlines::Deadlines;
use headway_units::{Duration, Entropy, Instant, Options};
use slots::Slots;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use transmit::Waiting;

/// Ports that nobody has registered (RFC 4340 section 19.9).
const FIRST_DYNAMIC: u16 = 49_152;
const DYNAMIC: u16 = u16::MAX - FIRST_DYNAMIC + 1;

/// The bounds of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointOptions {
    /// Connections at most, of which each has some 10 kB, those in RESPOND and in TIMEWAIT included, and those whose end the program
    /// has not heard of. Who is in TIMEWAIT gives way to another, the first one first: else peers that come and go, or who opens connections in the
    /// name of one that refuses them, would keep all others out for minutes. More than the listeners' backlogs together, lest Requests of which nothing comes keep others out.
    pub connections: usize,
    /// Datagrams of one size that go at once, in one buffer, at most; 1 where the system cannot take them apart.
    pub segments: usize,
    /// A connection whose peer has vanished, and that has heard nothing for so long, is given up, unless its own options say when. `None`:
    /// never; then it is kept until the program closes it.
    pub idle_give_up: Option<Duration>,
    /// Resets a second at most to packets that belong to no connection and no listener (RFC 4340 section 8.1.3).
    pub refusals_per_second: u32,
}

impl Default for EndpointOptions {
    /// 4096 connections, 64 segments as Linux has them, ten minutes of silence, 1024 refusals a second.
    fn default() -> Self {
        Self {
            connections: 4096,
            segments: 64,
            idle_give_up: Some(Duration::from_secs(600)),
            refusals_per_second: 1024,
        }
    }
}

/// Connections, listeners, and an [`Outbox`] for each connection.
///
/// A connection that a listener accepts begins with `O::default()`. Where an outbox cannot be made of nothing, `O` is an [`Option`]
/// of it, which has no data until the program puts one there.
#[derive(Debug)]
pub struct Endpoint<O> {
    options: EndpointOptions,
    random: Box<dyn Entropy>,
    /// Those of the newest connection from here.
    recent: Option<Arc<ConnectionOptions>>,
    /// By their DCCP ports.
    listeners: BTreeMap<u16, Listener>,
    slots: Slots<Entry<O>>,
    /// Whose packets they are.
    names: BTreeMap<(Path, Ports), u32>,
    deadlines: Deadlines,
    /// Who may have something to say, in turn.
    ready: VecDeque<u32>,
    /// Of whom something may have to be told.
    eventful: VecDeque<u32>,
    /// Who waits for nothing but old packets, in TIMEWAIT; the first is there still.
    parted: VecDeque<ConnectionHandle>,
    waiting: Waiting,
    refusals: RateLimit,
    /// The newest peer whose Request a listener answered by a Reset.
    refused: Option<(Path, Reset)>,
}

/// A connection and what the endpoint knows of it.
#[derive(Debug)]
struct Entry<O> {
    connection: Box<Connection>,
    outbox: O,
    path: Path,
    /// In the queue of this name.
    ready: bool,
    /// In the queue of this name.
    eventful: bool,
    /// In the queue of this name.
    parted: bool,
    /// The program knows that it is there.
    announced: bool,
}

impl<O> Entry<O> {
    const fn new(connection: Box<Connection>, outbox: O, path: Path) -> Self {
        Self { connection, outbox, path, ready: false, eventful: false, parted: false, announced: true }
    }
    fn has_events(&self) -> bool {
        !self.announced || self.connection.has_events()
    }
}

impl<O: Outbox + Default> Endpoint<O> {
    /// An endpoint without connections. From `random` come its ports, and what its connections and listeners draw: where the network
    /// can be attacked, its bits must be unguessable.
    #[must_use]
    pub fn new(options: EndpointOptions, random: impl Entropy + 'static) -> Self {
        Self {
            options,
            random: Box::new(random),
            recent: None,
            listeners: BTreeMap::new(),
            slots: Slots::new(),
            names: BTreeMap::new(),
            deadlines: Deadlines::default(),
            ready: VecDeque::new(),
            eventful: VecDeque::new(),
            parted: VecDeque::new(),
            waiting: Waiting::default(),
            refusals: RateLimit::new(options.refusals_per_second),
            refused: None,
        }
    }

    /// Listens on a DCCP port for these service codes, whatever path Requests come by.
    ///
    /// # Errors
    ///
    /// If somebody listens there already, or no connection can work with the options. They need not know how long the headers below
    /// DCCP are: the path says that.
    pub fn listen(
        &mut self,
        now: Instant,
        port: u16,
        options: &ConnectionOptions,
        services: &[ServiceCode],
    ) -> Result<(), ListenError> {
        options.check()?;
        if self.listeners.contains_key(&port) {
            return Err(ListenError::PortInUse { port });
        }
        let options = self.with_idle(options);
        self.listeners.insert(port, Listener::with(now, &options, services, self.random.stream("listener")));
        Ok(())
    }

    /// Nobody listens there any more; connections go on. Returns whether somebody did.
    pub fn stop_listening(&mut self, port: u16) -> bool {
        self.listeners.remove(&port).is_some()
    }

    /// Opens a connection to this DCCP port of the peer, from a dynamic port drawn at random. Its Request goes with the next
    /// [`poll_transmit`](Self::poll_transmit).
    ///
    /// Over UDP a client should give each connection a UDP port of its own, by which middleboxes tell flows apart (RFC 6773 section 3.8).
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]. The options need not know how long the headers below DCCP are: the path says that.
    pub fn connect(
        &mut self,
        now: Instant,
        path: Path,
        remote_port: u16,
        service: ServiceCode,
        options: &ConnectionOptions,
        outbox: O,
    ) -> Result<ConnectionHandle, ConnectError> {
        options.check()?;
        if self.is_full() {
            return Err(ConnectError::Full { connections: self.slots.len() });
        }
        let path = path.without_flow();
        let first = self.random.below(DYNAMIC.into()) as u16;
        let ports = (0..DYNAMIC)
            .map(|n| Ports { local: FIRST_DYNAMIC + (first + n) % DYNAMIC, remote: remote_port })
            .find(|ports| !self.listeners.contains_key(&ports.local) && !self.names.contains_key(&(path, *ports)))
            .ok_or(ConnectError::NoPort { ports: DYNAMIC })?;
        let options = self.shared(options);
        let mut connection = Connection::active(now, options, ports, service, self.random.stream("connection"));
        connection.set_path(path);
        let index = self.insert(Entry::new(Box::new(connection), outbox, path));
        Ok(self.slots.handle(index))
    }

    /// Returns the newest peer whose Request a listener answered by a Reset for its options, and that Reset. There is no connection, and no event.
    pub const fn take_refused(&mut self) -> Option<(Path, Reset)> {
        self.refused.take()
    }

    /// The next thing that happened to a connection: ask until there is nothing, once nothing is left
    /// [to transmit](Self::poll_transmit). A connection of a listener begins with [`Event::Accepted`].
    ///
    /// A connection is forgotten once its [`Event::Closed`] has been told and TIMEWAIT is behind it, but not before the next call of
    /// this: its status is there to be read until then.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, Event)> {
        while let Some(index) = self.eventful.front().copied() {
            let handle = self.slots.handle(index);
            let entry = self.slots.get_mut(index)?;
            if !std::mem::replace(&mut entry.announced, true) {
                return Some((handle, Event::Accepted));
            }
            if let Some(event) = entry.connection.poll_event() {
                return Some((handle, event));
            }
            entry.eventful = false;
            self.eventful.pop_front();
            self.forget_if_over(index);
        }
        None
    }

    /// When [`Self::handle_timeout`] is to be called, once nothing is left [to transmit](Self::poll_transmit).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come, or is past.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(index) = self.deadlines.take_due(now) {
            if let Some(entry) = self.slots.get_mut(index) {
                entry.connection.handle_timeout(now);
                entry.outbox.timer_expired(now, &entry.connection);
                self.touch(index);
            }
        }
    }

    /// A connection, until it is [forgotten](Self::poll_event).
    #[must_use]
    pub fn connection(&self, handle: ConnectionHandle) -> Option<&Connection> {
        Some(&*self.slots.get(self.slots.index(handle)?)?.connection)
    }

    /// A connection, to be closed or told something. Whatever that is takes effect with the next [`poll_transmit`](Self::poll_transmit).
    pub fn connection_mut(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        let index = self.slots.index(handle)?;
        self.touch(index);
        Some(&mut *self.slots.get_mut(index)?.connection)
    }

    /// A connection's outbox.
    #[must_use]
    pub fn outbox(&self, handle: ConnectionHandle) -> Option<&O> {
        Some(&self.slots.get(self.slots.index(handle)?)?.outbox)
    }

    /// A connection's outbox, which may have something to send from now on.
    pub fn outbox_mut(&mut self, handle: ConnectionHandle) -> Option<&mut O> {
        let index = self.slots.index(handle)?;
        self.touch(index);
        Some(&mut self.slots.get_mut(index)?.outbox)
    }

    /// The addresses of a connection.
    #[must_use]
    pub fn path(&self, handle: ConnectionHandle) -> Option<Path> {
        Some(self.slots.get(self.slots.index(handle)?)?.path)
    }

    /// Connections, those that are over and not yet forgotten included.
    #[must_use]
    pub const fn connections(&self) -> usize {
        self.slots.len()
    }

    fn with_idle(&self, options: &ConnectionOptions) -> ConnectionOptions {
        ConnectionOptions { idle_give_up: options.idle_give_up.or(self.options.idle_give_up), ..options.clone() }
    }

    /// The same for all connections that have the same.
    fn shared(&mut self, options: &ConnectionOptions) -> Arc<ConnectionOptions> {
        let options = self.with_idle(options);
        let known = self.recent.as_ref().filter(|known| ***known == options).map(Arc::clone);
        let shared = known.unwrap_or_else(|| Arc::new(options));
        self.recent = Some(Arc::clone(&shared));
        shared
    }

    fn is_full(&self) -> bool {
        self.slots.len() >= self.options.connections && self.parted.is_empty()
    }

    fn insert(&mut self, entry: Entry<O>) -> u32 {
        if self.slots.len() >= self.options.connections
            && let Some(index) = self.parted.front().and_then(|first| self.slots.index(*first))
        {
            self.forget(index);
        }
        let name = (entry.path, entry.connection.ports());
        let index = self.slots.insert(entry);
        self.names.insert(name, index);
        self.touch(index);
        index
    }

    /// Something has happened to a connection: it may have something to say, and something to tell.
    fn touch(&mut self, index: u32) {
        let Some(entry) = self.slots.get_mut(index) else { return };
        if !std::mem::replace(&mut entry.ready, true) {
            self.ready.push_back(index);
        }
        self.note_events(index);
    }

    fn note_events(&mut self, index: u32) {
        let Some(entry) = self.slots.get_mut(index) else { return };
        if entry.has_events() && !std::mem::replace(&mut entry.eventful, true) {
            self.eventful.push_back(index);
        }
    }

    /// A connection has nothing to say until its deadline, or until something happens to it.
    fn rest(&mut self, index: u32) {
        let deadline = self.slots.get(index).and_then(|entry| entry.connection.poll_timeout());
        self.deadlines.set(index, deadline);
        self.note_events(index);
        self.forget_if_over(index);
    }

    /// Nothing is left to say and to tell, and no timer runs, but perhaps that of TIMEWAIT.
    fn forget_if_over(&mut self, index: u32) {
        let handle = self.slots.handle(index);
        let Some(entry) = self.slots.get_mut(index).filter(|entry| !entry.ready && !entry.eventful) else { return };
        match entry.connection.state() {
            State::Closed => self.forget(index),
            State::TimeWait if !std::mem::replace(&mut entry.parted, true) => self.parted.push_back(handle),
            _ => {}
        }
    }

    fn forget(&mut self, index: u32) {
        let Some(entry) = self.slots.remove(index) else { return };
        self.deadlines.set(index, None);
        let name = (entry.path, entry.connection.ports());
        // Another may have taken its place.
        if self.names.get(&name) == Some(&index) {
            self.names.remove(&name);
        }
        while self.parted.front().is_some_and(|first| self.slots.index(*first).is_none()) {
            self.parted.pop_front();
        }
    }
}
