//! The ECN field of the IP header.

/// ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: the sender does not react to marks.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint 01.
    Ect1 = 0b01,
    /// ECN-capable, codepoint 10.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Returns whether a queue may mark the packet instead of dropping it: true for all codepoints except
    /// [`Ecn::NotEct`].
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}
