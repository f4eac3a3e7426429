//! What a connection has for its program: datagrams that have come, events, and whether it is still there.

use crate::watched::{Calls, Watched};
use headway_dccp::Fate;
use headway_rate::{OneWayDelay, Scale};
use headway_units::Rate;
use std::collections::VecDeque;

/// Buffers that are kept to be filled again.
const MOST_SPARE: usize = 64;

/// What has happened to a connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Both ends know that they are connected.
    Connected,
    /// What became of a datagram, by the number that [`Connection::send`](crate::Connection::send) gave it.
    Media(u64, Fate),
    /// What an encoder should produce from now on.
    Rate(Rate),
    /// The peer has announced another scale, of a controller with a ladder of rates such as `udpm`: a program with an encoding for each
    /// rate sends the encoding of this index from now on.
    Scale(Scale),
    /// The largest datagram has changed.
    Largest(usize),
    /// The peer's program no longer reads: nothing more is sent.
    PeerNotListening,
    /// It is over. Nothing comes after that.
    Closed(Closed),
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// This end has closed.
    #[error("the connection was closed here")]
    Here,
    /// The peer has closed.
    #[error("the peer closed the connection")]
    ByPeer,
    /// The peer did not answer.
    #[error("the peer does not answer")]
    NoAnswer,
    /// The peer has refused it, or ended it for this reason.
    #[error("the peer ended the connection: {0}")]
    Reset(headway_dccp::Reset),
    /// This end has ended it for this reason.
    #[error("the connection was ended here: {0}")]
    Aborted(headway_dccp::Reset),
    /// The circuit breaker has ended it: what was sent harmed the network, or reached nobody. A program that connects again by itself waits
    /// for at least as long as the reason says, and only if something has changed (RFC 8083 section 4.5).
    #[error("the circuit breaker ended the connection: {0}")]
    Breaker(crate::Tripped),
    /// There is no security.
    #[error("there is no secure session: {0}")]
    Security(#[from] crate::SecureError),
    /// There was no room for it.
    #[error("{0}")]
    Refused(#[from] headway_dccp::ConnectError),
    /// The socket's thread has ended.
    #[error("the socket is closed")]
    Socket,
}

/// Where a connection stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    Opening,
    Open,
    Over(Closed),
}

/// Filled by the socket's thread, emptied by the program's.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Who waits for datagrams is not called for events.
    pub(crate) incoming: Watched<Incoming>,
    pub(crate) events: Watched<Events>,
    /// Datagrams that wait to be sent.
    pub(crate) room: Watched<Room>,
}

#[derive(Debug, Default)]
pub(crate) struct Room {
    waiting: usize,
    /// Who waits is called when so few are left.
    wanted: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Incoming {
    phase: Phase,
    /// The largest datagram that goes.
    largest: usize,
    /// Larger ones do not.
    is_known: bool,
    rate: Option<Rate>,
    scale: Option<Scale>,
    datagrams: VecDeque<(Vec<u8>, Option<OneWayDelay>)>,
    /// Datagrams that wait at most.
    room: usize,
    /// Datagrams for which there was no room.
    dropped: u64,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct Events {
    waiting: VecDeque<Event>,
    /// Events that wait at most; the oldest go.
    room: usize,
    over: bool,
}

impl Mailbox {
    /// `calls`: where tasks that wait are kept until they may be called.
    pub(crate) fn new(room: usize, events: usize, largest: usize, calls: &Calls) -> Self {
        let (datagrams, spare) = Default::default();
        let incoming = Incoming {
            phase: Phase::Opening,
            largest,
            is_known: false,
            rate: None,
            scale: None,
            datagrams,
            room,
            dropped: 0,
            spare,
        };
        let events = Events { waiting: VecDeque::new(), room: events, over: false };
        Self {
            incoming: Watched::new(incoming, calls.clone()),
            events: Watched::new(events, calls.clone()),
            room: Watched::new(Room::default(), calls.clone()),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.incoming.with(|incoming| incoming.phase.clone())
    }
    pub(crate) fn largest(&self) -> usize {
        self.incoming.with(|incoming| incoming.largest)
    }
    /// The same, where larger ones are known not to go; 0 as long as nobody knows.
    pub(crate) fn largest_known(&self) -> usize {
        self.incoming.with(|incoming| if incoming.is_known { incoming.largest } else { 0 })
    }
    /// What was told of the largest is all there is.
    pub(crate) fn know(&self) {
        self.incoming.with(|incoming| incoming.is_known = true);
    }
    /// Datagrams that nobody read in time.
    pub(crate) fn dropped(&self) -> u64 {
        self.incoming.with(|incoming| incoming.dropped)
    }
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.incoming.with(|incoming| incoming.rate)
    }
    pub(crate) fn scale(&self) -> Option<Scale> {
        self.incoming.with(|incoming| incoming.scale)
    }

    pub(crate) fn tell(&self, events: impl IntoIterator<Item = Event>) {
        self.events.change(|all| {
            for event in events {
                self.note(&event);
                if all.waiting.len() >= all.room {
                    all.waiting.pop_front();
                }
                all.over |= matches!(event, Event::Closed(_));
                all.waiting.push_back(event);
            }
        });
    }

    /// What an event changes for those who do not read events.
    fn note(&self, event: &Event) {
        match event {
            Event::Rate(rate) => self.incoming.with(|incoming| incoming.rate = Some(*rate)),
            Event::Scale(scale) => self.incoming.with(|incoming| incoming.scale = Some(*scale)),
            Event::Largest(largest) => self.incoming.with(|incoming| incoming.largest = *largest),
            Event::Connected => self.incoming.change(|incoming| incoming.phase = Phase::Open),
            Event::Closed(why) => {
                self.incoming.change(|incoming| incoming.phase = Phase::Over(why.clone()));
                self.set_waiting(0);
            }
            Event::Media(..) | Event::PeerNotListening => {}
        }
    }

    /// So many datagrams wait to be sent now.
    pub(crate) fn set_waiting(&self, waiting: usize) {
        self.room.change_some(|room| {
            room.waiting = waiting;
            room.wanted.take_if(|wanted| waiting <= *wanted).is_some()
        });
    }

    /// A datagram has come, with its delay if that is known; whether there was room for it.
    pub(crate) fn deliver(&self, datagram: &[u8], delay: Option<OneWayDelay>) -> bool {
        self.incoming.change(|incoming| {
            if incoming.datagrams.len() >= incoming.room {
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
    /// The next datagram, in place of what the buffer holds; or why none will come any more.
    pub(crate) fn receive(&mut self, buffer: &mut Vec<u8>) -> Option<Result<(), Closed>> {
        self.receive_timed(buffer).map(|received| received.map(drop))
    }

    /// The same, with its one-way delay.
    pub(crate) fn receive_timed(&mut self, buffer: &mut Vec<u8>) -> Option<Result<Option<OneWayDelay>, Closed>> {
        let Some((datagram, delay)) = self.datagrams.pop_front() else { return self.over().map(Err) };
        let old = std::mem::replace(buffer, datagram);
        if self.spare.len() < MOST_SPARE {
            self.spare.push(old);
        }
        Some(Ok(delay))
    }

    /// Whether both ends know that they are connected, once that is known.
    pub(crate) fn connected(&self) -> Option<Result<(), Closed>> {
        match &self.phase {
            Phase::Opening => None,
            Phase::Open => Some(Ok(())),
            Phase::Over(why) => Some(Err(why.clone())),
        }
    }

    pub(crate) fn over(&self) -> Option<Closed> {
        match &self.phase {
            Phase::Over(why) => Some(why.clone()),
            Phase::Opening | Phase::Open => None,
        }
    }
}

impl Room {
    /// Less than `limit` datagrams wait. Who has to wait for that has half of the room then.
    pub(crate) fn has(&mut self, limit: usize) -> Option<()> {
        // Less than none never wait.
        let limit = limit.max(1);
        if self.waiting >= self.wanted.map_or(limit, |wanted| wanted + 1) {
            self.wanted = Some(limit / 2);
            return None;
        }
        self.wanted = None;
        Some(())
    }
}

impl Events {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next event; none once that of the end has been told.
    pub(crate) fn next(&mut self) -> Option<Option<Event>> {
        let next = self.waiting.pop_front();
        (next.is_some() || self.over).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(mailbox: &Mailbox) -> Option<Result<Vec<u8>, Closed>> {
        let mut buffer = vec![9; 9];
        mailbox.incoming.with(|incoming| incoming.receive(&mut buffer)).map(|came| came.map(|()| buffer))
    }

    /// What came before the end is read; then the end is, as often as it is asked for.
    #[test]
    fn what_came_before_the_end_is_read() {
        let mailbox = Mailbox::new(2, 9, 1000, &Calls::default());
        assert_eq!(received(&mailbox), None);
        assert_eq!([1, 2, 3].map(|n| mailbox.deliver(&[n], None)), [true, true, false], "there is room for two");
        assert_eq!(mailbox.dropped(), 1);
        mailbox.tell([Event::Closed(Closed::ByPeer)]);
        assert_eq!(received(&mailbox), Some(Ok(vec![1])));
        assert!(mailbox.deliver(&[], None), "an empty datagram is one");
        assert_eq!([(); 2].map(|()| received(&mailbox)), [Some(Ok(vec![2])), Some(Ok(vec![]))]);
        assert_eq!([(); 2].map(|()| received(&mailbox)), [const { Some(Err(Closed::ByPeer)) }; 2]);
        assert_eq!(mailbox.events.with(Events::next), Some(Some(Event::Closed(Closed::ByPeer))));
        assert_eq!(
            [(); 2].map(|()| mailbox.events.with(Events::next)),
            [const { Some(None) }; 2],
            "as often as it is asked for"
        );
    }

    /// Nobody reads events: those of the end are there all the same, and memory does not grow.
    #[test]
    fn events_that_nobody_reads_are_bounded() {
        let mailbox = Mailbox::new(1, 700, 1000, &Calls::default());
        mailbox.tell((0..5000).map(|id| Event::Media(id, Fate::Delivered)));
        mailbox.tell([Event::Largest(500), Event::Connected, Event::Closed(Closed::Here)]);
        let all: Vec<Event> = std::iter::from_fn(|| mailbox.events.with(Events::next).flatten()).collect();
        assert_eq!((all.len(), all.last()), (700, Some(&Event::Closed(Closed::Here))));
        assert_eq!((mailbox.largest(), mailbox.phase()), (500, Phase::Over(Closed::Here)));
    }

    /// A sender that waits is woken once for half a queue, not for each datagram.
    #[test]
    fn a_full_room_opens_at_half_of_its_limit() {
        let mut room = Room::default();
        let mut opens = |waiting| {
            room.waiting = waiting;
            room.has(8).is_some()
        };
        assert_eq!([7, 8, 7, 5, 4, 7, 8].map(&mut opens), [true, false, false, false, true, true, false]);
    }
}
