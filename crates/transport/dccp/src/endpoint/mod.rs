//! All connections and listeners of any number of sockets, without I/O.
//!
//! An [`Endpoint`] finds the connection of each received datagram, creates connections for listeners, schedules
//! connections for sending, tracks deadlines, and removes closed connections. Its driver runs the same loop as that of
//! a [`Connection`].
//!
//! - `receive` and `transmit` handle datagrams, `deadlines` the timeouts, `slots` the connection handles.

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

/// Lowest dynamic port (RFC 4340 section 19.9).
const FIRST_DYNAMIC: u16 = 49_152;
const DYNAMIC: u16 = u16::MAX - FIRST_DYNAMIC + 1;

/// Limits of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointOptions {
    /// Maximum number of connections, about 10 kB each. Those in RESPOND and TIMEWAIT, and those
    /// with unread closing events, are included. At the limit, the oldest connection in TIMEWAIT is
    /// removed for a new one; otherwise short connections, or an attacker who opens connections in
    /// the name of a host that refuses them, could block the endpoint for minutes. The limit should
    /// exceed the sum of the listeners' backlogs, so that unfinished handshakes do not block it.
    pub connections: usize,
    /// Maximum number of datagrams of one size that are sent in one buffer; 1 if the system does
    /// not support segmentation offload.
    pub segments: usize,
    /// Time without valid packets after which a connection is closed, unless its options set another; `None`: never, so
    /// that a connection with a vanished peer remains until the program closes it.
    pub idle_give_up: Option<Duration>,
    /// Maximum number of Resets per second to packets without a connection and a listener (RFC 4340 section 8.1.3).
    pub refusals_per_second: u32,
}

impl Default for EndpointOptions {
    /// Returns 4096 connections, 64 segments (the limit of Linux), ten minutes of silence and 1024 refusals per second.
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
/// A connection that a listener accepts starts with `O::default()`. If an outbox has no default,
/// `O` can be an [`Option`] of it, which has no data until the program sets it.
#[derive(Debug)]
pub struct Endpoint<O> {
    options: EndpointOptions,
    random: Box<dyn Entropy>,
    recent: Option<Arc<ConnectionOptions>>,
    listeners: BTreeMap<u16, Listener>,
    slots: Slots<Entry<O>>,
    /// Slot of the connection with this path and these ports.
    names: BTreeMap<(Path, Ports), u32>,
    deadlines: Deadlines,
    ready: VecDeque<u32>,
    eventful: VecDeque<u32>,
    /// Queue of connections in TIMEWAIT; the first one still exists.
    in_time_wait: VecDeque<ConnectionHandle>,
    waiting: Waiting,
    refusals: RateLimit,
    refused: Option<(Path, Reset)>,
}

#[derive(Debug)]
struct Entry<O> {
    connection: Box<Connection>,
    outbox: O,
    path: Path,
    ready: bool,
    eventful: bool,
    in_time_wait: bool,
    /// The program has received its first event.
    announced: bool,
    /// A datagram was sent. Its size changes the allowed rate, which the outbox then reads.
    has_sent_data: bool,
}

impl<O> Entry<O> {
    const fn new(connection: Box<Connection>, outbox: O, path: Path) -> Self {
        let (ready, eventful, in_time_wait, has_sent_data) = (false, false, false, false);
        Self { connection, outbox, path, ready, eventful, in_time_wait, announced: true, has_sent_data }
    }
    fn has_events(&self) -> bool {
        !self.announced || self.connection.has_events()
    }
}

impl<O: Outbox + Default> Endpoint<O> {
    /// Creates an endpoint without connections. `random` supplies its ports, and the random bits of
    /// its connections and listeners. On a network with attackers it must be unpredictable.
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
            in_time_wait: VecDeque::new(),
            waiting: Waiting::default(),
            refusals: RateLimit::new(options.refusals_per_second),
            refused: None,
        }
    }

    /// Listens on a DCCP port for these service codes, on all paths.
    ///
    /// # Errors
    ///
    /// If the port has a listener, or the options are invalid. The option `lower_headers` is not
    /// needed: the path determines it.
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

    /// Removes the listener of a port; its connections continue. Returns whether there was one.
    pub fn stop_listening(&mut self, port: u16) -> bool {
        self.listeners.remove(&port).is_some()
    }

    /// Opens a connection to this DCCP port of the peer, from a random dynamic port. The next
    /// [`poll_transmit`](Self::poll_transmit) returns its Request.
    ///
    /// Over UDP a client should use a separate UDP port for each connection, so that middleboxes
    /// can distinguish flows (RFC 6773 section 3.8).
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]. The option `lower_headers` is not needed: the path determines it.
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

    /// Returns the latest peer whose Request a listener answered with a Reset, because of its
    /// service code or its options, and that Reset. Such a Request creates no connection and no event.
    pub const fn take_refused(&mut self) -> Option<(Path, Reset)> {
        self.refused.take()
    }

    /// Returns the next event of a connection. Call it until it returns `None`, after
    /// [`poll_transmit`](Self::poll_transmit) has returned `None`. The first event of a listener's
    /// connection is [`Event::Accepted`].
    ///
    /// A connection is removed once its [`Event::Closed`] was returned and TIMEWAIT has ended. A new connection at the
    /// limit of [`EndpointOptions::connections`] ends the oldest TIMEWAIT early. The status of a connection can be read
    /// until its removal.
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

    /// Returns when [`Self::handle_timeout`] must be called, after
    /// [`poll_transmit`](Self::poll_transmit) has returned `None`.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// Handles all expired timers; see [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(index) = self.deadlines.take_due(now) {
            if let Some(entry) = self.slots.get_mut(index) {
                entry.connection.handle_timeout(now);
                entry.outbox.timer_expired(now, &entry.connection);
                self.touch(index);
            }
        }
    }

    /// Returns a connection; `None` once it was [removed](Self::poll_event).
    #[must_use]
    pub fn connection(&self, handle: ConnectionHandle) -> Option<&Connection> {
        Some(&*self.slots.get(self.slots.index(handle)?)?.connection)
    }

    /// Returns a connection for changes, which take effect with the next [`poll_transmit`](Self::poll_transmit); `None`
    /// once it was [removed](Self::poll_event).
    pub fn connection_mut(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        let index = self.slots.index(handle)?;
        self.touch(index);
        Some(&mut *self.slots.get_mut(index)?.connection)
    }

    /// Returns the outbox of a connection; `None` once the connection was [removed](Self::poll_event).
    #[must_use]
    pub fn outbox(&self, handle: ConnectionHandle) -> Option<&O> {
        Some(&self.slots.get(self.slots.index(handle)?)?.outbox)
    }

    /// Returns the outbox of a connection for changes, and schedules the connection for sending; `None` once it was
    /// [removed](Self::poll_event).
    pub fn outbox_mut(&mut self, handle: ConnectionHandle) -> Option<&mut O> {
        let index = self.slots.index(handle)?;
        self.touch(index);
        Some(&mut self.slots.get_mut(index)?.outbox)
    }

    /// Returns the addresses of a connection; `None` once it was [removed](Self::poll_event).
    #[must_use]
    pub fn path(&self, handle: ConnectionHandle) -> Option<Path> {
        Some(self.slots.get(self.slots.index(handle)?)?.path)
    }

    /// Returns the number of connections, including closed ones that are not yet removed.
    #[must_use]
    pub const fn connections(&self) -> usize {
        self.slots.len()
    }

    fn with_idle(&self, options: &ConnectionOptions) -> ConnectionOptions {
        ConnectionOptions { idle_give_up: options.idle_give_up.or(self.options.idle_give_up), ..options.clone() }
    }

    /// Returns the options, shared with the previous connection if they are equal.
    fn shared(&mut self, options: &ConnectionOptions) -> Arc<ConnectionOptions> {
        let options = self.with_idle(options);
        let known = self.recent.as_ref().filter(|known| ***known == options).map(Arc::clone);
        let shared = known.unwrap_or_else(|| Arc::new(options));
        self.recent = Some(Arc::clone(&shared));
        shared
    }

    fn is_full(&self) -> bool {
        self.slots.len() >= self.options.connections && self.in_time_wait.is_empty()
    }

    fn insert(&mut self, entry: Entry<O>) -> u32 {
        if self.slots.len() >= self.options.connections
            && let Some(index) = self.in_time_wait.front().and_then(|first| self.slots.index(*first))
        {
            self.forget(index);
        }
        let name = (entry.path, entry.connection.ports());
        let index = self.slots.insert(entry);
        self.names.insert(name, index);
        self.touch(index);
        index
    }

    /// Schedules a connection after a change: it may have packets to send, and events.
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

    /// Updates the deadline of a connection without packets to send.
    fn rest(&mut self, index: u32) {
        let deadline = self
            .slots
            .get(index)
            .and_then(|entry| entry.connection.poll_timeout().into_iter().chain(entry.outbox.poll_timeout()).min());
        self.deadlines.set(index, deadline);
        self.note_events(index);
        self.forget_if_over(index);
    }

    /// Removes a closed connection without packets and events, or queues one in TIMEWAIT for removal.
    fn forget_if_over(&mut self, index: u32) {
        let handle = self.slots.handle(index);
        let Some(entry) = self.slots.get_mut(index).filter(|entry| !entry.ready && !entry.eventful) else { return };
        match entry.connection.state() {
            State::Closed => self.forget(index),
            State::TimeWait if !std::mem::replace(&mut entry.in_time_wait, true) => self.in_time_wait.push_back(handle),
            _ => {}
        }
    }

    fn forget(&mut self, index: u32) {
        let Some(entry) = self.slots.remove(index) else { return };
        self.deadlines.set(index, None);
        let name = (entry.path, entry.connection.ports());
        // A new connection may already use the name.
        if self.names.get(&name) == Some(&index) {
            self.names.remove(&name);
        }
        while self.in_time_wait.front().is_some_and(|first| self.slots.index(*first).is_none()) {
            self.in_time_wait.pop_front();
        }
    }
}
