//! Actors: the components that handle events.

/// Class of an actor. With [`Ties::Drawn`](crate::Ties::Drawn), events with bit-identical times are ordered by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A packet arrives at the far end of a link.
    Arrival,
    /// A timer of a sender expires.
    SenderTimer,
    /// A timer of a sink (receiver) expires.
    SinkTimer,
    /// A source produces data.
    Source,
    /// A link ends a transmission. With [`Ties::Drawn`](crate::Ties::Drawn), ordered after every arrival of a
    /// bit-identical time.
    Departure,
    /// The simulator samples the time series, [after all other events](crate::Moment::after_all) of this time.
    Sample,
    /// An attacker sends a packet.
    Attacker,
    /// A host with limited CPU time delivers a packet to its receiver.
    Host,
}

/// Actor: a component that handles events, identified by its class and its number within the class, such as that of a
/// link, flow or host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor(u32);

/// Exclusive upper bound of the [number](Actor::number) of an actor within its class.
pub const MAX_ACTORS: usize = 1 << NUMBER_BITS;
const NUMBER_BITS: u32 = 29;

impl Actor {
    /// The first actor of the first class.
    pub(crate) const FIRST: Self = Self(0);

    /// Creates the actor of this class and number. `number` must be below [`MAX_ACTORS`].
    #[must_use]
    #[inline]
    pub fn new(class: Class, number: usize) -> Self {
        debug_assert!(number < MAX_ACTORS);
        Self((class as u32) << NUMBER_BITS | number as u32)
    }

    /// Returns the class of the actor.
    #[must_use]
    #[inline]
    pub fn class(self) -> Class {
        match self.0 >> NUMBER_BITS {
            0 => Class::Arrival,
            1 => Class::SenderTimer,
            2 => Class::SinkTimer,
            3 => Class::Source,
            4 => Class::Departure,
            5 => Class::Sample,
            6 => Class::Attacker,
            _ => Class::Host,
        }
    }

    /// Returns the number of the link, flow, host or attacker within its class.
    #[must_use]
    #[inline]
    pub fn number(self) -> usize {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as usize
    }

    /// Returns the class and the number of the actor in one word, by which actors are ordered.
    #[must_use]
    #[inline]
    pub fn code(self) -> u32 {
        self.0
    }
}
