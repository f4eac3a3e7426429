//! A program's end of a connection.

use crate::driver::LINGER;
use crate::endpoint::Shared;
use crate::mailbox::{Closed, Event, Events, Mailbox, Phase};
use crate::media::Media;
use crate::watched::Watched;
use headway_dccp::{Path, Status};
use headway_rate::{OneWayDelay, Scale};
use headway_units::{Duration, Rate};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// One connection: datagrams out, by their priority and as long as they are of use; datagrams in; and what became of them.
///
/// All calls take `&self`: one thread may send and another receive. Those that wait block the thread, and have a twin that is a future, for any
/// executor. A connection that is dropped is [closed](Self::close), and nobody waits for it.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    key: u64,
    path: Path,
    mailbox: Arc<Mailbox>,
}

/// Why a datagram is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It is longer than [`Connection::largest`].
    #[error("the datagram has {len} bytes, and {largest} is the largest that goes in one packet on this path")]
    TooLarge {
        /// Its bytes.
        len: usize,
        /// As many as may be.
        largest: usize,
    },
    /// The message has its own queueing method, and the send queue compares all messages that wait: `sure-first`, or one whose decisions are the program's.
    #[error(
        "a message cannot have its own method: the send queue compares all messages that wait; expected another kind in Options::queue"
    )]
    Method,
    /// The connection is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl Connection {
    pub(crate) const fn new(shared: Arc<Shared>, key: u64, path: Path, mailbox: Arc<Mailbox>) -> Self {
        Self { shared, key, path, mailbox }
    }

    /// Where the peer was when the connection began.
    #[must_use]
    pub const fn remote_addr(&self) -> Option<SocketAddr> {
        match self.path {
            Path::Udp { remote, .. } => Some(remote),
            Path::Ipv4 { .. } | Path::Ipv6 { .. } => None,
        }
    }

    /// Waits until both ends know that they are connected.
    ///
    /// # Errors
    ///
    /// Why they will not be.
    pub fn connected(&self) -> Result<(), Closed> {
        self.wait(&self.mailbox.incoming, None, |incoming| incoming.connected()).unwrap_or(Err(Closed::Socket))
    }

    /// The same as a future.
    ///
    /// # Errors
    ///
    /// Why they will not be.
    pub async fn connected_async(&self) -> Result<(), Closed> {
        self.mailbox.incoming.until(|incoming| incoming.connected()).await
    }

    /// Hands a datagram over. It goes when the controller and the send queue let it, at once perhaps; this call never waits. Returns the
    /// number by which [events](Self::next_event) tell what became of it: 0, 1 and so on.
    ///
    /// # Errors
    ///
    /// See [`SendError`]. A queue that is full is none: it throws something away, by its rules, and an event says what.
    pub fn send(&self, media: Media<'_>) -> Result<u64, SendError> {
        self.check(&media)?;
        self.shared.with(|now, driver| driver.send(now, self.key, &media)).ok_or_else(|| self.send_error())
    }

    /// Hands over several datagrams at once: those that may go together leave with one call of the system. Returns the number of the first
    /// one; the next ones follow.
    ///
    /// # Errors
    ///
    /// See [`SendError`]: then none of them goes.
    pub fn send_all(&self, all: &[Media<'_>]) -> Result<u64, SendError> {
        all.iter().try_for_each(|media| self.check(media))?;
        let first = self.shared.with(|now, driver| {
            let mut numbers = all.iter().map(|media| driver.send(now, self.key, media));
            let first = numbers.next()?;
            numbers.for_each(drop);
            first
        });
        first.ok_or_else(|| self.send_error())
    }

    /// Waits until less than `limit` datagrams wait in the send queue. Live media need not ask: what comes too late is better thrown away. What is
    /// made faster than it goes, as a file is, should.
    pub fn room(&self, limit: usize) {
        self.wait(&self.mailbox.room, None, |room| room.has(limit));
    }

    /// The same as a future.
    pub async fn room_async(&self, limit: usize) {
        self.mailbox.room.until(|room| room.has(limit)).await;
    }

    /// Waits for a datagram, and puts it in place of what `datagram` holds.
    ///
    /// # Errors
    ///
    /// Why none will come any more, once all that have come are read.
    pub fn recv(&self, datagram: &mut Vec<u8>) -> Result<(), Closed> {
        self.wait(&self.mailbox.incoming, None, |incoming| incoming.receive(datagram)).unwrap_or(Err(Closed::Socket))
    }

    /// Waits for a datagram as [`recv`](Self::recv) does, and returns its one-way delay from the packet's Timestamp to its arrival here. The delay is
    /// `None` unless the endpoint [measures it](headway_dccp::ConnectionOptions::one_way_delays), and before the first round trip.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_timed(&self, datagram: &mut Vec<u8>) -> Result<Option<OneWayDelay>, Closed> {
        self.wait(&self.mailbox.incoming, None, |incoming| incoming.receive_timed(datagram))
            .unwrap_or(Err(Closed::Socket))
    }

    /// The same, for so long at most: `None` if nothing has come.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_timeout(&self, datagram: &mut Vec<u8>, timeout: Duration) -> Option<Result<(), Closed>> {
        self.wait(&self.mailbox.incoming, Some(timeout), |incoming| incoming.receive(datagram))
    }

    /// The same for a task. Of several that ask, the last is called: they had better wait for [futures](Self::recv_async).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_recv(&self, context: &Context<'_>, datagram: &mut Vec<u8>) -> Poll<Result<(), Closed>> {
        self.mailbox.incoming.poll(context, |incoming| incoming.receive(datagram))
    }

    /// The same as a future. One that is dropped before it is ready has taken nothing.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub async fn recv_async(&self, datagram: &mut Vec<u8>) -> Result<(), Closed> {
        self.mailbox.incoming.until(|incoming| incoming.receive(datagram)).await
    }

    /// Waits for the next thing that happens; `None` once it is over. Of events that nobody asks for the last
    /// [`Options::events`](crate::Options::events) are kept.
    #[must_use]
    pub fn next_event(&self) -> Option<Event> {
        self.wait(&self.mailbox.events, None, Events::next)?
    }

    /// The same, for so long at most.
    #[must_use]
    pub fn event_timeout(&self, timeout: Duration) -> Option<Event> {
        self.wait(&self.mailbox.events, Some(timeout), Events::next)?
    }

    /// The same for a task. Of several that ask, the last is called: they had better wait for [futures](Self::event_async).
    pub fn poll_event(&self, context: &Context<'_>) -> Poll<Option<Event>> {
        self.mailbox.events.poll(context, Events::next)
    }

    /// The same as a future.
    pub async fn event_async(&self) -> Option<Event> {
        self.mailbox.events.until(Events::next).await
    }

    /// Datagrams that have come and are lost, since [`Options::unread`](crate::Options::unread) others waited to be read. The peer's sender is told of each,
    /// and slows down (RFC 4340 section 11.7, RFC 4342 section 5.2).
    #[must_use]
    pub fn dropped_datagrams(&self) -> u64 {
        self.mailbox.dropped()
    }

    /// Events that nobody has asked for yet; of more than [`Options::events`](crate::Options::events) the oldest are lost.
    #[must_use]
    pub fn waiting_events(&self) -> usize {
        self.mailbox.events.with(|events| events.waiting())
    }

    /// What an encoder should produce now. `None` before the first report. [`Event::Rate`] tells of each change.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.mailbox.rate()
    }

    /// The scale that the peer has announced last, of a controller with a ladder of rates. [`Event::Scale`] reports each change.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.mailbox.scale()
    }

    /// The rate of the encoding to send now: that of the announced [scale](Self::scale), or else what an encoder should
    /// [produce](Self::rate).
    #[must_use]
    pub fn encoding_rate(&self) -> Option<Rate> {
        self.scale().map(|scale| scale.rate).or_else(|| self.rate())
    }

    /// Bytes of the largest datagram that goes in one packet; 0 before there is a connection. For a few round trips behind that more may go than is known:
    /// larger datagrams wait, and are refused then if they do not. [`Event::Largest`] tells of each change.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.mailbox.largest()
    }

    /// What the connection holds now: round trip, controller, counters. `None` before it has begun, and once it is over.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.shared.look(|driver| driver.status(self.key))
    }

    /// Closes: what waits may still go for a second. Returns why it is over, once it is, or after a second more.
    pub fn close(self) -> Closed {
        self.start_close();
        self.wait(&self.mailbox.incoming, Some(Duration::from_secs(2)), |incoming| incoming.over())
            .unwrap_or(Closed::NoAnswer)
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
        let (len, largest) = (media.payload.len(), self.mailbox.largest_known());
        if media.method.is_some() && !self.shared.accepts_methods {
            return Err(SendError::Method);
        }
        // Before the path has been asked nobody knows how much goes: then it waits for that.
        if largest > 0 && len > largest { Err(SendError::TooLarge { len, largest }) } else { Ok(()) }
    }

    fn send_error(&self) -> SendError {
        match self.mailbox.phase() {
            Phase::Over(why) => SendError::Closed(why),
            Phase::Opening | Phase::Open => SendError::Closed(Closed::Here),
        }
    }

    /// Begins to close, for a program whose other threads still use the connection: what waits may still go for a second. The last
    /// [event](Self::next_event) tells when it is over.
    pub fn start_close(&self) {
        self.shared.with(|now, driver| driver.close(self.key, now + LINGER));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.start_close();
    }
}
