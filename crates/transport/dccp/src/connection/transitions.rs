//! State transitions: the diagram of RFC 4340 section 8.4 with the arcs that it omits.

use super::state::State;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The application listens on a port.
    PassiveOpen,
    /// The application connects: a Request is sent.
    ActiveOpen,
    /// A Request for this port arrives (section 8.5 step 3).
    RcvRequest,
    /// A packet with a valid Init Cookie arrives (step 3).
    RcvInitCookie,
    /// A Response with an Init Cookie is sent; the cookie holds the state (step 11).
    SndInitCookie,
    /// The Response arrives (steps 4 and 10).
    RcvResponse,
    /// In RESPOND anything but a Request arrives, in PARTOPEN anything but a Response or Sync (steps 11 and 12).
    RcvPacket,
    /// The application closes: a Close is sent.
    ActiveClose,
    /// The server's application closes: a CloseReq is sent.
    ServerActiveClose,
    /// A CloseReq arrives: a Close is sent (step 13).
    RcvCloseReq,
    /// A Close arrives: a Reset is sent (step 14).
    RcvClose,
    /// A Reset arrives (step 9).
    RcvReset,
    /// A Reset is sent because of an error, missing progress, or the application's abort (section 8.3.1).
    SndReset,
    /// TIMEWAIT has lasted two maximum segment lifetimes.
    TimeWaitOver,
}

use Cause as C;
use State as S;

pub(crate) const TABLE: [(State, Cause, State); 28] = [
    (S::Closed, C::PassiveOpen, S::Listen),
    (S::Closed, C::ActiveOpen, S::Request),
    (S::Listen, C::RcvRequest, S::Respond),
    (S::Listen, C::RcvInitCookie, S::Respond),
    (S::Request, C::RcvResponse, S::PartOpen),
    (S::Request, C::RcvReset, S::TimeWait),
    (S::Request, C::SndReset, S::Closed),
    (S::Respond, C::SndInitCookie, S::Closed),
    (S::Respond, C::RcvPacket, S::Open),
    (S::Respond, C::RcvReset, S::TimeWait),
    (S::Respond, C::SndReset, S::Closed),
    (S::PartOpen, C::RcvPacket, S::Open),
    (S::PartOpen, C::ActiveClose, S::Closing),
    (S::PartOpen, C::RcvReset, S::TimeWait),
    (S::PartOpen, C::SndReset, S::Closed),
    (S::Open, C::ServerActiveClose, S::CloseReq),
    (S::Open, C::ActiveClose, S::Closing),
    (S::Open, C::RcvCloseReq, S::Closing),
    (S::Open, C::RcvClose, S::Closed),
    (S::Open, C::RcvReset, S::TimeWait),
    (S::Open, C::SndReset, S::Closed),
    (S::CloseReq, C::RcvClose, S::Closed),
    (S::CloseReq, C::RcvReset, S::TimeWait),
    (S::CloseReq, C::SndReset, S::Closed),
    (S::Closing, C::RcvClose, S::Closed),
    (S::Closing, C::RcvReset, S::TimeWait),
    (S::Closing, C::SndReset, S::Closed),
    (S::TimeWait, C::TimeWaitOver, S::Closed),
];

/// State of one connection, changed only through the table.
#[derive(Debug)]
pub(crate) struct Machine(State);

impl Machine {
    pub(crate) const fn new() -> Self {
        Self(State::Closed)
    }
    pub(crate) const fn state(&self) -> State {
        self.0
    }
    pub(crate) fn go(&mut self, cause: Cause) -> bool {
        let row = TABLE.iter().find(|(from, on, _)| (*from, *on) == (self.0, cause));
        if let Some((_, _, to)) = row {
            self.0 = *to;
        }
        row.is_some()
    }
}

/// Formats the cause as in the RFC's diagram.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PassiveOpen => "passive open",
            Self::ActiveOpen => "active open, snd Request",
            Self::RcvRequest => "rcv Request, snd Response",
            Self::RcvInitCookie => "rcv Init Cookie",
            Self::SndInitCookie => "snd Init Cookie",
            Self::RcvResponse => "rcv Response, snd Ack",
            Self::RcvPacket => "rcv packet",
            Self::ActiveClose => "active close, snd Close",
            Self::ServerActiveClose => "server active close, snd CloseReq",
            Self::RcvCloseReq => "rcv CloseReq, snd Close",
            Self::RcvClose => "rcv Close, snd Reset",
            Self::RcvReset => "rcv Reset",
            Self::SndReset => "snd Reset",
            Self::TimeWaitOver => "2MSL timer expires",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// The table matches the diagram in the repository, so that a review shows changes.
    #[test]
    fn the_diagram_matches_the_table() {
        let mut diagram = String::from("stateDiagram-v2\n");
        for (from, cause, to) in TABLE {
            writeln!(diagram, "    {from} --> {to}: {cause}").unwrap();
        }
        assert_eq!(diagram, include_str!("../../tests/data/states.mmd"));
    }

    #[test]
    fn the_table_is_a_function() {
        for (n, (from, cause, _)) in TABLE.iter().enumerate() {
            assert!(!TABLE[n + 1..].iter().any(|row| (row.0, row.1) == (*from, *cause)), "{from} {cause}");
        }
    }

    /// Section 8.4: "there are arcs (not shown) from every state except CLOSED to TIMEWAIT, contingent on the receipt
    /// of a valid DCCP-Reset". LISTEN has no sequence numbers to validate a Reset.
    #[test]
    fn a_reset_ends_every_connection() {
        for state in State::ALL {
            let to = TABLE.iter().find(|row| (row.0, row.1) == (state, Cause::RcvReset)).map(|row| row.2);
            let none = matches!(state, State::Closed | State::Listen | State::TimeWait);
            assert_eq!(to, (!none).then_some(State::TimeWait), "{state}");
        }
    }

    #[test]
    fn transitions_outside_the_table_are_ignored() {
        let mut machine = Machine::new();
        assert!(machine.go(Cause::ActiveOpen));
        assert!(!machine.go(Cause::ServerActiveClose));
        assert_eq!(machine.state(), State::Request);
    }
}
