//! The nine states of a connection (RFC 4340 section 4.3).

use std::fmt;

/// A state. Their order is that of a connection's life, which section 8.5 compares them by (`S.state >= OPEN`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// There is no connection, or no longer.
    Closed,
    /// A server waits for clients.
    Listen,
    /// A client has sent a Request.
    Request,
    /// A server has received a Request.
    Respond,
    /// A client has received the Response, and does not know yet whether the server knows.
    PartOpen,
    /// Data goes both ways.
    Open,
    /// A server has asked the client to close.
    CloseReq,
    /// An end has closed, and waits for the Reset that says so.
    Closing,
    /// The end that received the Reset keeps the ports for two segment lifetimes.
    TimeWait,
}

impl State {
    /// Every state, in order.
    pub const ALL: [Self; 9] = [
        Self::Closed,
        Self::Listen,
        Self::Request,
        Self::Respond,
        Self::PartOpen,
        Self::Open,
        Self::CloseReq,
        Self::Closing,
        Self::TimeWait,
    ];

    /// Whether the handshake has ended and no Reset has: where packets of both kinds go to and fro.
    pub(crate) const fn is_synchronized(self) -> bool {
        matches!(self, Self::PartOpen | Self::Open | Self::CloseReq | Self::Closing)
    }
}

/// As the RFC spells it.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::Request => "REQUEST",
            Self::Respond => "RESPOND",
            Self::PartOpen => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq => "CLOSEREQ",
            Self::Closing => "CLOSING",
            Self::TimeWait => "TIMEWAIT",
        })
    }
}
