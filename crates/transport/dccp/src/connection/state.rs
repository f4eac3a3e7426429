use std::fmt;

/// State of a connection (RFC 4340 section 4.3), ordered as in section 8.5 (`S.state >= OPEN`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// There is no connection.
    Closed,
    /// A server waits for clients.
    Listen,
    /// A client has sent a Request.
    Request,
    /// A server has received a Request.
    Respond,
    /// A client has received the Response, but no confirmation that the server knows.
    PartOpen,
    /// Data may be sent in both directions.
    Open,
    /// A server has asked the client to close.
    CloseReq,
    /// An endpoint has sent Close and waits for the Reset.
    Closing,
    /// The endpoint that received the Reset keeps the ports for two maximum segment lifetimes.
    TimeWait,
}

impl State {
    /// All states, in order.
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

    /// Returns whether the handshake has ended and no Reset has been sent or received.
    pub(crate) const fn is_synchronized(self) -> bool {
        matches!(self, Self::PartOpen | Self::Open | Self::CloseReq | Self::Closing)
    }
}

/// Formats the state as the RFC spells it.
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
