//! What acts at an event.

/// The kind of an actor. Events that are equal to the last bit of their time are in this order, where ties are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A packet reaches the far end of a link.
    Arrival,
    /// A sender's timer.
    SenderTimer,
    /// A sink's timer.
    SinkTimer,
    /// A source writes.
    Source,
    /// A link ends a transmission: after everything that may still arrive.
    Departure,
    /// The series take a sample; its moment is [after all others](crate::Moment::after_all) of its time.
    Sample,
    /// An attacker sends.
    Attacker,
    /// A host delivers a packet.
    Host,
}

/// An actor: its class, and the number of the link, flow or host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor(u32);

/// Numbers of links, flows and hosts are below this.
pub const MAX_ACTORS: usize = 1 << NUMBER_BITS;
const NUMBER_BITS: u32 = 29;

impl Actor {
    /// The first actor of the first class.
    pub(crate) const FIRST: Self = Self(0);

    /// The actor of this class with this number, which is below [`MAX_ACTORS`].
    #[must_use]
    #[inline]
    pub fn new(class: Class, number: usize) -> Self {
        debug_assert!(number < MAX_ACTORS);
        Self((class as u32) << NUMBER_BITS | number as u32)
    }

    /// Its class.
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

    /// Its number.
    #[must_use]
    #[inline]
    pub fn number(self) -> usize {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as usize
    }

    /// Class and number in one word.
    #[must_use]
    #[inline]
    pub fn code(self) -> u32 {
        self.0
    }
}
