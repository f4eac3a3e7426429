//! Connection handle of a program.

use crate::driver::{FecCounters, LINGER};
use crate::endpoint::Shared;
use crate::mailbox::{Closed, Event, Mailbox, Phase};
use crate::media::Media;
use crate::unread::Unread;
use crate::watched::Watched;
use headway_dccp::{Path, Status};
use headway_rate::{OneWayDelay, Scale};
use headway_units::{Bytes, Duration, Rate};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Connection: sends and receives datagrams and reports the outcome of each sent datagram.
///
/// The [send queue](crate::Options::queue) selects the datagram that is sent next. The default queue sends by priority,
/// then by expiry, and drops datagrams that would arrive after their expiry. All methods take `&self`, so one thread
/// may send while another receives. Methods that wait block the thread; each has an equivalent that returns a future,
/// for any executor. Dropping a connection [closes](Self::close) it without waiting.
///
/// # Reconnection
///
/// With [`Options::reconnect`](crate::Options::reconnect) an established connection to a server survives the loss of
/// that server. The connection is lost if the server ends it, or if nothing arrives from the server for a second, or
/// four round trips if that is longer, while data is sent. [`Event::Interrupted`] reports the loss. The endpoint then
/// sends handshake messages until the server answers. The time between two of them is at most half a second, or a round
/// trip if that is longer: within this time a server that returns receives one. [`Event::Connected`] reports the new
/// connection.
///
/// The program keeps its `Connection`: the numbers of datagrams continue, and calls that wait continue to wait. Until
/// the new connection is established, [`send`](Self::send) queues datagrams; they expire, and the limit of the send
/// queue applies. Datagrams in flight at the time of the loss have the outcome [`Fate::Unknown`](crate::Fate::Unknown).
/// The rate controller of the new connection starts without state.
///
/// The connection ends with [`Event::Closed`] if the program closes it, if the server is not trusted or [serves another
/// client](Self::refuse), if the [circuit breaker](Closed::Breaker) ends it, or after any other error that would also
/// end a new handshake.
///
/// ```
/// use headway_net::{Endpoint, Event, Media, Options};
///
/// let server = Endpoint::server("127.0.0.1:0".parse()?, &Options::insecure())?;
/// let client = Endpoint::client(&Options { reconnect: true, ..Options::insecure() })?;
/// let connection = client.connect(server.local_addr())?;
/// let mut datagram = Vec::new();
/// for text in ["before the loss", "after it"] {
///     connection.send(Media::new(text.as_bytes()))?;
///     // The server ends the first connection when it drops it.
///     let accepted = server.accept().ok_or("the socket is closed")?;
///     accepted.recv(&mut datagram)?;
///     assert_eq!(datagram, text.as_bytes());
///     drop(accepted);
///     while !matches!(connection.next_event(), Some(Event::Interrupted(_))) {}
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    key: u64,
    path: Path,
    mailbox: Arc<Mailbox>,
}

/// Reason why a datagram is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The datagram is longer than [`Connection::largest`]. Until path MTU discovery has ended, no datagram is refused
    /// for its size.
    #[error("the datagram has {len} bytes; the largest datagram on this path has {largest} bytes")]
    TooLarge {
        /// Size of the datagram, in bytes.
        len: usize,
        /// Size of the largest datagram, in bytes.
        largest: usize,
    },
    /// The datagram has its own queueing method ([`Media::method`]), but the send queue compares all queued datagrams:
    /// `sure-first`, or a queue whose decisions the program makes.
    #[error(
        "a message cannot have its own method: the send queue compares all queued messages; expected another kind in \
         Options::queue"
    )]
    Method,
    /// The connection is closed.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl Connection {
    pub(crate) const fn new(shared: Arc<Shared>, key: u64, path: Path, mailbox: Arc<Mailbox>) -> Self {
        Self { shared, key, path, mailbox }
    }

    /// Returns the address that the peer had when the connection began; `None` without UDP.
    #[must_use]
    pub const fn remote_addr(&self) -> Option<SocketAddr> {
        match self.path {
            Path::Udp { remote, .. } => Some(remote),
            Path::Ipv4 { .. } | Path::Ipv6 { .. } => None,
        }
    }

    /// Waits until the connection is established: at a client, until the server has answered.
    ///
    /// # Errors
    ///
    /// The reason why the connection was not established.
    pub fn connected(&self) -> Result<(), Closed> {
        self.wait(&self.mailbox.incoming, None, |incoming| incoming.connected()).unwrap_or(Err(Closed::Socket))
    }

    /// Returns a future equivalent to [`connected`](Self::connected).
    ///
    /// # Errors
    ///
    /// As [`connected`](Self::connected).
    pub async fn connected_async(&self) -> Result<(), Closed> {
        self.mailbox.incoming.until(|incoming| incoming.connected()).await
    }

    /// Queues a datagram and returns at once. The controller and the send queue decide when it is sent, possibly
    /// immediately. Returns the number of the datagram in [events](Self::next_event), counted from 0.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. A full queue is not an error: it discards a datagram by its rules and an event reports
    /// which one.
    pub fn send(&self, media: Media<'_>) -> Result<u64, SendError> {
        self.check(&media)?;
        self.shared
            .with(|now, driver| driver.send_all(now, self.key, &[media]))
            .map(|numbers| numbers.start)
            .ok_or_else(|| self.send_error())
    }

    /// Queues several datagrams; those that can be sent together leave in one system call. Returns their numbers in
    /// [events](Self::next_event), which are consecutive. An empty slice queues nothing and returns an empty range.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. If any datagram is refused, none is queued.
    pub fn send_all(&self, all: &[Media<'_>]) -> Result<Range<u64>, SendError> {
        all.iter().try_for_each(|media| self.check(media))?;
        let numbers = self.shared.with(|now, driver| driver.send_all(now, self.key, all));
        numbers.ok_or_else(|| self.send_error())
    }

    /// Waits if `limit` or more datagrams are queued, until at most half of `limit` are. For data that is produced
    /// faster than it is sent, such as a file. Live media does not need it: the send queue discards late datagrams.
    pub fn writable(&self, limit: usize) {
        self.wait(&self.mailbox.backlog, None, |backlog| backlog.poll_below(limit));
    }

    /// Returns a future equivalent to [`writable`](Self::writable).
    pub async fn writable_async(&self, limit: usize) {
        self.mailbox.backlog.until(|backlog| backlog.poll_below(limit)).await;
    }

    /// Waits for a datagram and replaces the contents of `datagram` with it.
    ///
    /// # Errors
    ///
    /// The reason why the connection is closed, once all received datagrams are read.
    pub fn recv(&self, datagram: &mut Vec<u8>) -> Result<(), Closed> {
        self.wait(&self.mailbox.incoming, None, |incoming| incoming.receive(datagram)).unwrap_or(Err(Closed::Socket))
    }

    /// Waits for a datagram as [`recv`](Self::recv) does and returns its one-way delay, from the packet's Timestamp
    /// to its arrival. The delay is `None` unless the endpoint [measures
    /// it](headway_dccp::ConnectionOptions::one_way_delays), and before the first round trip.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_timed(&self, datagram: &mut Vec<u8>) -> Result<Option<OneWayDelay>, Closed> {
        self.wait(&self.mailbox.incoming, None, |incoming| incoming.receive_timed(datagram))
            .unwrap_or(Err(Closed::Socket))
    }

    /// Waits for a datagram as [`recv`](Self::recv) does, for at most `timeout`. Returns `None` after the timeout.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_timeout(&self, datagram: &mut Vec<u8>, timeout: Duration) -> Option<Result<(), Closed>> {
        self.wait(&self.mailbox.incoming, Some(timeout), |incoming| incoming.receive(datagram))
    }

    /// Polls for a datagram, which replaces the contents of `datagram`. Only the task that polled last is woken;
    /// several tasks should await [futures](Self::recv_async) instead.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_recv(&self, context: &Context<'_>, datagram: &mut Vec<u8>) -> Poll<Result<(), Closed>> {
        self.mailbox.incoming.poll(context, |incoming| incoming.receive(datagram))
    }

    /// Returns a future equivalent to [`recv`](Self::recv). It is cancel safe: a future that is dropped before it is
    /// ready has removed no datagram.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub async fn recv_async(&self, datagram: &mut Vec<u8>) -> Result<(), Closed> {
        self.mailbox.incoming.until(|incoming| incoming.receive(datagram)).await
    }

    /// Waits for the next event. Returns `None` once the connection is closed and its last event was returned. At most
    /// [`Options::events`](crate::Options::events) unread events are kept: the newest.
    #[must_use]
    pub fn next_event(&self) -> Option<Event> {
        self.wait(&self.mailbox.events, None, Unread::next)?
    }

    /// Waits for the next event for at most `timeout`. Returns `None` after the timeout, and once the connection is
    /// closed and its last event is read.
    #[must_use]
    pub fn event_timeout(&self, timeout: Duration) -> Option<Event> {
        self.wait(&self.mailbox.events, Some(timeout), Unread::next)?
    }

    /// Polls for an event; `None` once the connection is closed and its last event is read. Only the task that polled
    /// last is woken; several tasks should await [futures](Self::event_async) instead.
    pub fn poll_event(&self, context: &Context<'_>) -> Poll<Option<Event>> {
        self.mailbox.events.poll(context, Unread::next)
    }

    /// Returns a future equivalent to [`next_event`](Self::next_event).
    pub async fn event_async(&self) -> Option<Event> {
        self.mailbox.events.until(Unread::next).await
    }

    /// Returns the number of received datagrams that were dropped because [`Options::unread`](crate::Options::unread)
    /// others were unread. Each drop is reported to the peer. Its controller then reduces its rate if it is `tcp-like`
    /// or based on `tfrc` (RFC 4340 section 11.7, RFC 4342 section 5.2).
    #[must_use]
    pub fn dropped_datagrams(&self) -> u64 {
        self.mailbox.dropped()
    }

    /// Returns the number of unread events. Beyond [`Options::events`](crate::Options::events) the oldest are
    /// discarded.
    #[must_use]
    pub fn waiting_events(&self) -> usize {
        self.mailbox.events.with(|events| events.len())
    }

    /// Returns the rate that an encoder should produce now; `None` before the connection is established.
    /// [`Event::Rate`] reports each change.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.mailbox.rate()
    }

    /// Returns the one of the controller's discrete rates that the peer announced last; `None` for all controllers but
    /// `udpm`, which have no discrete rates. [`Event::Scale`] reports each change.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.mailbox.scale()
    }

    /// Returns the rate of the encoding to send now: the rate of [`scale`](Self::scale) that the peer announced (only
    /// `udpm`), or else [`rate`](Self::rate). `None` if neither is known.
    #[must_use]
    pub fn encoding_rate(&self) -> Option<Rate> {
        self.scale().map(|scale| scale.rate).or_else(|| self.rate())
    }

    /// Returns the size of all datagrams queued for sending, without headers.
    #[must_use]
    pub fn queued_bytes(&self) -> Bytes {
        self.mailbox.backlog.with(|backlog| backlog.size())
    }

    /// Returns the size of the largest datagram that fits into one packet, in bytes; 0 before the connection is
    /// established. Path MTU discovery may raise it, mostly during the first round trips. Larger datagrams wait in the
    /// send queue until the path is known to carry packets of the interface's MTU or not, and are discarded if they
    /// then do not fit. [`Event::Largest`] reports each change.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.mailbox.largest()
    }

    /// Returns the round-trip time, controller state and counters of the connection. `None` until the DTLS session, if
    /// used, is established, between two attempts to reconnect, and once the connection is closed.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.shared.inspect(|driver| driver.status(self.key))
    }

    /// Returns the counters of forward error correction ([`Options::fec`](crate::Options::fec)); `None` once the
    /// connection is closed.
    #[must_use]
    pub fn fec_counters(&self) -> Option<FecCounters> {
        self.shared.inspect(|driver| driver.fec_counters(self.key))
    }

    /// Closes the connection and waits until it is closed, for at most two seconds. Queued datagrams are sent for up to
    /// one second. Returns the reason why it is closed; [`Closed::NoAnswer`] after two seconds.
    pub fn close(self) -> Closed {
        self.start_close();
        self.wait(&self.mailbox.incoming, Some(Duration::from_secs(2)), |incoming| incoming.closed())
            .unwrap_or(Closed::NoAnswer)
    }

    /// Returns a future that waits until the connection is closed and returns the reason.
    pub async fn closed_async(&self) -> Closed {
        self.mailbox.incoming.until(|incoming| incoming.closed()).await
    }

    /// Ends the connection with the Reset "Too Busy", because this program serves another peer instead. A peer with the
    /// option [`reconnect`](crate::Options::reconnect) does not try again after this Reset.
    pub fn refuse(&self) {
        self.shared.with(|now, driver| driver.refuse(now, self.key));
    }

    fn wait<T, R>(
        &self,
        watched: &Watched<T>,
        timeout: Option<Duration>,
        ready: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        let until = timeout.map(|timeout| self.shared.clock.now() + timeout);
        self.shared.wait(watched, until, ready)
    }

    fn check(&self, media: &Media<'_>) -> Result<(), SendError> {
        let (len, largest) = (media.payload.len(), self.mailbox.confirmed_largest());
        if media.method.is_some() && !self.shared.accepts_methods {
            return Err(SendError::Method);
        }
        // Until path MTU discovery has ended the largest datagram is unknown, and the datagram waits.
        if largest > 0 && len > largest { Err(SendError::TooLarge { len, largest }) } else { Ok(()) }
    }

    fn send_error(&self) -> SendError {
        match self.mailbox.phase() {
            Phase::Over(why) => SendError::Closed(why),
            Phase::Opening | Phase::Open => SendError::Closed(Closed::Here),
        }
    }

    /// Starts to close the connection, for a program whose other threads still use it. Queued datagrams are sent for
    /// up to one second. The last [event](Self::next_event) reports the end.
    pub fn start_close(&self) {
        self.shared.with(|now, driver| driver.close(self.key, now + LINGER));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.start_close();
    }
}
