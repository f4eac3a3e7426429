//! Events of a connection.

use headway_net::{Closed, Event, Fate, SendDrop};

/// Kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum HeadwayEventKind {
    /// An event of a newer version of the library.
    #[default]
    Other = 0,
    /// The connection is established. At a client: the server has answered.
    Connected = 1,
    /// `fate` is what happened to the datagram with this `number`. A datagram has one event for each transmission
    /// (`Sent`), and a last one with its outcome.
    Datagram = 2,
    /// An encoder should produce `rate` from now on.
    Rate = 3,
    /// The controller has discrete rates, and the peer announced another one: index `number`, value `rate`.
    Scale = 4,
    /// The largest datagram that fits into one packet has `largest` bytes from now on.
    Largest = 5,
    /// The peer's program no longer reads, so no more data is sent.
    PeerNotListening = 6,
    /// The connection is closed for this `reason`, which `headway_last_error` describes. This is the last event.
    Closed = 7,
}

/// Outcome of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum HeadwayFate {
    /// The event is about no datagram, or the outcome is one of a newer version of the library.
    #[default]
    None = 0,
    /// The datagram was sent. A later event reports whether it arrived.
    Sent = 1,
    /// The peer received the datagram.
    Delivered = 2,
    /// The datagram was lost on the path.
    Lost = 3,
    /// The peer received the datagram, and its program did not read it in time.
    Dropped = 4,
    /// The datagram would have arrived after its lifetime. It was not sent, or not sent again after a loss.
    Expired = 5,
    /// The send queue was full and refused the datagram: a new one, or one that was lost and should be sent again.
    Refused = 6,
    /// The send queue was full and discarded the datagram for another one.
    PushedOut = 7,
    /// The datagram was sent, but no report of the peer shows whether it arrived.
    Unknown = 8,
    /// The connection was closed while the datagram was in the send queue.
    Withdrawn = 9,
}

/// Reason why a connection is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum HeadwayReason {
    /// The connection is not closed, or the reason is one of a newer version of the library.
    #[default]
    None = 0,
    /// This end closed the connection.
    Here = 1,
    /// The peer closed the connection.
    Peer = 2,
    /// The peer does not answer.
    NoAnswer = 3,
    /// The peer refused the connection or ended it with an error.
    PeerReset = 4,
    /// This end ended the connection after an error.
    Aborted = 5,
    /// The circuit breaker ended the connection: its data harmed the network or did not arrive.
    Breaker = 6,
    /// The secure session failed or ended. A fingerprint may be wrong.
    Security = 7,
    /// The connection could not be opened: too many connections, no free port, or an invalid option.
    Refused = 8,
    /// The socket failed.
    Socket = 9,
}

/// Event of a connection. Set `size` to `sizeof(HeadwayEvent)` before a call of `headway_next_event`. Fields that the
/// kind of the event does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HeadwayEvent {
    /// Size of the structure of the caller, in bytes. The library sets it to the bytes that it wrote.
    pub size: usize,
    /// Kind of the event, which determines the fields that have a value.
    pub kind: HeadwayEventKind,
    /// Transmission or outcome of the datagram.
    pub fate: HeadwayFate,
    /// Reason why the connection is closed.
    pub reason: HeadwayReason,
    /// Reserved, 0.
    pub reserved: i32,
    /// Number of the datagram, which `headway_send` wrote, or index of the discrete rate, from 0 for the lowest.
    pub number: u64,
    /// Time after the end of its lifetime at which the send queue expected a discarded datagram to arrive, in us; 0 if
    /// it could still have arrived in time.
    pub lateness_us: u64,
    /// Rate, in bit/s.
    pub rate: u64,
    /// Size of the largest datagram, in bytes.
    pub largest: u64,
}

impl From<&Event> for HeadwayEvent {
    fn from(event: &Event) -> Self {
        let of = |kind| Self { kind, ..Self::default() };
        match event {
            Event::Connected => of(HeadwayEventKind::Connected),
            Event::Media(number, fate) => Self {
                fate: fate.into(),
                number: *number,
                lateness_us: match fate {
                    Fate::Unsent { lateness, .. } => lateness.as_nanos() / 1000,
                    _ => 0,
                },
                ..of(HeadwayEventKind::Datagram)
            },
            Event::Rate(rate) => Self { rate: rate.bits_per_second(), ..of(HeadwayEventKind::Rate) },
            Event::Scale(scale) => {
                Self { number: scale.index.into(), rate: scale.rate.bits_per_second(), ..of(HeadwayEventKind::Scale) }
            }
            Event::Largest(largest) => Self { largest: *largest as u64, ..of(HeadwayEventKind::Largest) },
            Event::PeerNotListening => of(HeadwayEventKind::PeerNotListening),
            Event::Closed(why) => Self { reason: why.into(), ..of(HeadwayEventKind::Closed) },
            _ => of(HeadwayEventKind::Other),
        }
    }
}

impl From<&Fate> for HeadwayFate {
    fn from(fate: &Fate) -> Self {
        match fate {
            Fate::Sent(_) => Self::Sent,
            Fate::Delivered => Self::Delivered,
            Fate::Lost => Self::Lost,
            Fate::Dropped(_) => Self::Dropped,
            Fate::Unsent { cause: SendDrop::Expired, .. } => Self::Expired,
            Fate::Unsent { cause: SendDrop::Refused, .. } => Self::Refused,
            Fate::Unsent { cause: SendDrop::PushedOut, .. } => Self::PushedOut,
            Fate::Unknown => Self::Unknown,
            Fate::Withdrawn => Self::Withdrawn,
        }
    }
}

impl From<&Closed> for HeadwayReason {
    fn from(why: &Closed) -> Self {
        match why {
            Closed::Here => Self::Here,
            Closed::ByPeer => Self::Peer,
            Closed::NoAnswer => Self::NoAnswer,
            Closed::Reset(_) => Self::PeerReset,
            Closed::Aborted(_) => Self::Aborted,
            Closed::Breaker(_) => Self::Breaker,
            Closed::Security(_) => Self::Security,
            Closed::Refused(_) => Self::Refused,
            Closed::Socket => Self::Socket,
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_net::{Duration, Rate};

    #[test]
    fn an_event_has_the_fields_of_its_kind_only() {
        let lateness = Duration::from_millis(3);
        let late = HeadwayEvent::from(&Event::Media(7, Fate::Unsent { cause: SendDrop::Expired, lateness }));
        let expected = HeadwayEvent {
            kind: HeadwayEventKind::Datagram,
            fate: HeadwayFate::Expired,
            number: 7,
            lateness_us: 3000,
            ..HeadwayEvent::default()
        };
        assert_eq!(late, expected);
        let rate = HeadwayEvent::from(&Event::Rate(Rate::from_bits_per_second(300_000)));
        assert_eq!(rate, HeadwayEvent { kind: HeadwayEventKind::Rate, rate: 300_000, ..HeadwayEvent::default() });
        let end = HeadwayEvent::from(&Event::Closed(Closed::ByPeer));
        assert_eq!((end.kind, end.reason), (HeadwayEventKind::Closed, HeadwayReason::Peer));
    }
}
