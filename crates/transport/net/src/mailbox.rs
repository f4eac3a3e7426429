//! State that the socket's thread shares with the program for each connection: received datagrams, events and the
//! phase.

use crate::secure::SecureError;
use crate::unread::Unread;
use crate::watched::{PendingWakers, Watched};
use headway_dccp::Fate;
use headway_rate::{OneWayDelay, Scale};
use headway_units::{Bytes, Rate};
use std::collections::VecDeque;

/// Maximum number of buffers kept for reuse.
const MAX_SPARE_BUFFERS: usize = 64;

/// Event of a connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The connection is established. At a client: the server has answered.
    Connected,
    /// Each transmission ([`Fate::Sent`]) and then the outcome of the datagram with the number that
    /// [`Connection::send`](crate::Connection::send) returned.
    Media(u64, Fate),
    /// Rate that an encoder should produce from now on.
    Rate(Rate),
    /// The peer announced another rate, for a controller with discrete rates (`udpm`). A program with one encoding for
    /// each rate sends the encoding with this index from now on.
    Scale(Scale),
    /// The size of the largest datagram that fits into one packet changed to this number of bytes.
    Largest(usize),
    /// The connection was lost for this reason. The endpoint [reconnects](crate::Options::reconnect), and
    /// [`Connected`](Self::Connected) follows. Datagrams that were in flight get the outcome [`Fate::Unknown`]; queued
    /// ones wait.
    Interrupted(Closed),
    /// The peer's program no longer reads, so no more data is sent.
    PeerNotListening,
    /// The connection is closed. This is the last event.
    Closed(Closed),
}

/// Reason why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// This end closed the connection.
    #[error("the connection was closed here")]
    Here,
    /// The peer closed the connection.
    #[error("the peer closed the connection")]
    ByPeer,
    /// The peer did not answer.
    #[error("the peer does not answer")]
    NoAnswer,
    /// The peer refused the connection or ended it, with this Reset, which is not that of a normal close.
    #[error("the peer ended the connection: {0}")]
    Reset(headway_dccp::Reset),
    /// This end ended the connection with this Reset, because of an error.
    #[error("the connection was ended here: {0}")]
    Aborted(headway_dccp::Reset),
    /// The circuit breaker of this end closed the connection: its data harmed the network or did not arrive. A program
    /// that connects again by itself must wait at least for the time that the reason states, and do so only if
    /// something has changed (RFC 8083 section 4.5).
    #[error("the circuit breaker ended the connection: {0}")]
    Breaker(crate::BreakerReason),
    /// There is no secure session: its handshake failed, or it has ended.
    #[error("there is no secure session: {0}")]
    Security(#[from] SecureError),
    /// The connection could not be opened: too many connections, no free port, or an invalid option.
    #[error("{0}")]
    Refused(#[from] headway_dccp::ConnectError),
    /// The socket failed, or its thread has ended.
    #[error("the socket is closed")]
    Socket,
}

impl Closed {
    /// Returns whether the reasons differ at most in details that the peer determines, such as its fingerprint.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reset(one), Self::Reset(two)) | (Self::Aborted(one), Self::Aborted(two)) => one.code == two.code,
            (Self::Security(SecureError::Fingerprint { .. }), Self::Security(SecureError::Fingerprint { .. })) => true,
            _ => self == other,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    Opening,
    Open,
    Over(Closed),
}

/// Filled by the socket's thread, emptied by the program's threads.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Separate from `events`, so that an event does not wake a thread that waits for datagrams.
    pub(crate) incoming: Watched<Incoming>,
    pub(crate) events: Watched<Unread<Event>>,
    /// Datagrams queued for sending.
    pub(crate) backlog: Watched<Backlog>,
}

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    len: usize,
    size: Bytes,
    /// Number of queued datagrams at which waiting senders are woken.
    wake_at: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Incoming {
    phase: Phase,
    /// Size of the largest datagram, in bytes.
    largest: usize,
    /// Whether path MTU discovery has ended, so that larger datagrams do not fit.
    is_largest_confirmed: bool,
    rate: Option<Rate>,
    scale: Option<Scale>,
    datagrams: VecDeque<(Vec<u8>, Option<OneWayDelay>)>,
    /// Maximum number of unread datagrams.
    capacity: usize,
    /// Number of datagrams dropped because the queue was full.
    dropped: u64,
    spare: Vec<Vec<u8>>,
}

impl Mailbox {
    /// Creates the state of a new connection. `wakers` collects wakers until they may be called.
    pub(crate) fn new(capacity: usize, events: usize, largest: usize, wakers: &PendingWakers) -> Self {
        let (datagrams, spare) = Default::default();
        let incoming = Incoming {
            phase: Phase::Opening,
            largest,
            is_largest_confirmed: false,
            rate: None,
            scale: None,
            datagrams,
            capacity,
            dropped: 0,
            spare,
        };
        Self {
            incoming: Watched::new(incoming, wakers.clone()),
            events: Watched::new(Unread::new(events), wakers.clone()),
            backlog: Watched::new(Backlog::default(), wakers.clone()),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.incoming.with(|incoming| incoming.phase.clone())
    }
    pub(crate) fn largest(&self) -> usize {
        self.incoming.with(|incoming| incoming.largest)
    }
    /// Returns the size of the largest datagram, in bytes; 0 until path MTU discovery has ended.
    pub(crate) fn confirmed_largest(&self) -> usize {
        self.incoming.with(|incoming| if incoming.is_largest_confirmed { incoming.largest } else { 0 })
    }
    /// Records that path MTU discovery has ended.
    pub(crate) fn confirm_largest(&self) {
        self.incoming.with(|incoming| incoming.is_largest_confirmed = true);
    }
    /// Returns the number of datagrams dropped because the program did not read in time.
    pub(crate) fn dropped(&self) -> u64 {
        self.incoming.with(|incoming| incoming.dropped)
    }
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.incoming.with(|incoming| incoming.rate)
    }
    pub(crate) fn scale(&self) -> Option<Scale> {
        self.incoming.with(|incoming| incoming.scale)
    }

    pub(crate) fn publish(&self, events: impl IntoIterator<Item = Event>) {
        self.events.change(|all| {
            for event in events {
                self.apply(&event);
                if matches!(event, Event::Closed(_)) {
                    all.close();
                }
                all.push(event);
            }
        });
    }

    /// Applies an event to the state that is read without events.
    fn apply(&self, event: &Event) {
        match event {
            Event::Rate(rate) => self.incoming.with(|incoming| incoming.rate = Some(*rate)),
            Event::Scale(scale) => self.incoming.with(|incoming| incoming.scale = Some(*scale)),
            Event::Largest(largest) => self.incoming.with(|incoming| incoming.largest = *largest),
            Event::Connected => self.incoming.change(|incoming| incoming.phase = Phase::Open),
            Event::Closed(why) => {
                self.incoming.change(|incoming| incoming.phase = Phase::Over(why.clone()));
                self.set_backlog(0, Bytes::new(0));
            }
            // The next path may carry smaller packets only.
            Event::Interrupted(_) => self.incoming.with(|incoming| incoming.is_largest_confirmed = false),
            Event::Media(..) | Event::PeerNotListening => {}
        }
    }

    /// Sets the number and the size of the datagrams queued for sending.
    pub(crate) fn set_backlog(&self, len: usize, size: Bytes) {
        self.backlog.change_some(|backlog| {
            (backlog.len, backlog.size) = (len, size);
            backlog.wake_at.take_if(|wake_at| len <= *wake_at).is_some()
        });
    }

    /// Queues a received datagram and its delay, if measured. Returns false if the queue is full.
    pub(crate) fn deliver(&self, datagram: &[u8], delay: Option<OneWayDelay>) -> bool {
        self.incoming.change(|incoming| {
            if incoming.datagrams.len() >= incoming.capacity {
                incoming.dropped += 1;
                return false;
            }
            let mut buffer = incoming.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(datagram);
            incoming.datagrams.push_back((buffer, delay));
            true
        })
    }
}

impl Incoming {
    /// Moves the next datagram into the buffer, or returns the reason of the end if none is left.
    pub(crate) fn receive(&mut self, buffer: &mut Vec<u8>) -> Option<Result<(), Closed>> {
        self.receive_timed(buffer).map(|received| received.map(drop))
    }

    /// Returns the one-way delay as well.
    pub(crate) fn receive_timed(&mut self, buffer: &mut Vec<u8>) -> Option<Result<Option<OneWayDelay>, Closed>> {
        let Some((datagram, delay)) = self.datagrams.pop_front() else { return self.closed().map(Err) };
        let old = std::mem::replace(buffer, datagram);
        if self.spare.len() < MAX_SPARE_BUFFERS {
            self.spare.push(old);
        }
        Some(Ok(delay))
    }

    /// Returns whether the connection is established, once that is known.
    pub(crate) fn connected(&self) -> Option<Result<(), Closed>> {
        match &self.phase {
            Phase::Opening => None,
            Phase::Open => Some(Ok(())),
            Phase::Over(why) => Some(Err(why.clone())),
        }
    }

    pub(crate) fn closed(&self) -> Option<Closed> {
        match &self.phase {
            Phase::Over(why) => Some(why.clone()),
            Phase::Opening | Phase::Open => None,
        }
    }
}

impl Backlog {
    pub(crate) const fn size(&self) -> Bytes {
        self.size
    }

    /// Returns whether fewer than `limit` datagrams are queued. A sender that has to wait is woken at half of the
    /// limit.
    pub(crate) fn poll_below(&mut self, limit: usize) -> Option<()> {
        // A queue never has fewer than 0 datagrams.
        let limit = limit.max(1);
        if self.len >= self.wake_at.map_or(limit, |wake_at| wake_at + 1) {
            self.wake_at = Some(limit / 2);
            return None;
        }
        self.wake_at = None;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(mailbox: &Mailbox) -> Option<Result<Vec<u8>, Closed>> {
        let mut buffer = vec![9; 9];
        mailbox.incoming.with(|incoming| incoming.receive(&mut buffer)).map(|received| received.map(|()| buffer))
    }

    /// Datagrams received before the end are delivered first; then every call returns the reason of the end.
    #[test]
    fn datagrams_received_before_the_end_are_read() {
        let mailbox = Mailbox::new(2, 9, 1000, &PendingWakers::default());
        assert_eq!(received(&mailbox), None);
        assert_eq!([1, 2, 3].map(|n| mailbox.deliver(&[n], None)), [true, true, false], "there is room for two");
        assert_eq!(mailbox.dropped(), 1);
        mailbox.publish([Event::Closed(Closed::ByPeer)]);
        assert_eq!(received(&mailbox), Some(Ok(vec![1])));
        assert!(mailbox.deliver(&[], None), "an empty datagram is one");
        assert_eq!([(); 2].map(|()| received(&mailbox)), [Some(Ok(vec![2])), Some(Ok(vec![]))]);
        assert_eq!([(); 2].map(|()| received(&mailbox)), [const { Some(Err(Closed::ByPeer)) }; 2]);
        assert_eq!(mailbox.events.with(Unread::next), Some(Some(Event::Closed(Closed::ByPeer))));
        assert_eq!(
            [(); 2].map(|()| mailbox.events.with(Unread::next)),
            [const { Some(None) }; 2],
            "as often as it is asked for"
        );
    }

    /// Unread events are bounded, and the last event is kept.
    #[test]
    fn unread_events_are_bounded() {
        let mailbox = Mailbox::new(1, 700, 1000, &PendingWakers::default());
        mailbox.publish((0..5000).map(|id| Event::Media(id, Fate::Delivered)));
        mailbox.publish([Event::Largest(500), Event::Connected, Event::Closed(Closed::Here)]);
        let all: Vec<Event> = std::iter::from_fn(|| mailbox.events.with(Unread::next).flatten()).collect();
        assert_eq!((all.len(), all.last()), (700, Some(&Event::Closed(Closed::Here))));
        assert_eq!((mailbox.largest(), mailbox.phase()), (500, Phase::Over(Closed::Here)));
    }

    /// A waiting sender is woken once for half a queue, not for each datagram.
    #[test]
    fn a_waiting_sender_is_woken_at_half_of_its_limit() {
        let mut backlog = Backlog::default();
        let mut opens = |len| {
            backlog.len = len;
            backlog.poll_below(8).is_some()
        };
        assert_eq!([7, 8, 7, 5, 4, 7, 8].map(&mut opens), [true, false, false, false, true, true, false]);
    }
}
