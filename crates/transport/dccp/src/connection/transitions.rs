//! Which state follows which, and why: the diagram of RFC 4340 section 8.4 with the arcs that it leaves out.

use super::state::State;
use std::fmt;

/// What moves a connection from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The application opens a port.
    PassiveOpen,
    /// The application connects: a Request goes.
    ActiveOpen,
    /// A Request for this port (section 8.5 step 3).
    RcvRequest,
    /// A packet with a valid Init Cookie (step 3).
    RcvInitCookie,
    /// A Response went with an Init Cookie, which keeps the state instead of us (step 11).
    SndInitCookie,
    /// The Response (steps 4 and 10).
    RcvResponse,
    /// RESPOND: anything but a Request; PARTOPEN: anything but a Response or Sync (steps 11 and 12).
    RcvPacket,
    /// The application closes: a Close goes.
    ActiveClose,
    /// The server's application closes: a CloseReq goes.
    ServerActiveClose,
    /// The server wants the client to close: a Close goes (step 13).
    RcvCloseReq,
    /// The peer closes: a Reset goes (step 14).
    RcvClose,
    /// A Reset (step 9).
    RcvReset,
    /// A Reset goes: an error, no progress, or the application's abort (section 8.3.1).
    SndReset,
    /// TIMEWAIT has lasted two segment lifetimes.
    TimeWaitOver,
}

use Cause as C;
use State as S;

/// Every transition there is.
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

/// The state of one connection, which only the table can change.
#[derive(Debug)]
pub(crate) struct Machine(State);

impl Machine {
    /// Before anything has happened.
    pub(crate) const fn new() -> Self {
        Self(State::Closed)
    }
    /// The state.
    pub(crate) const fn state(&self) -> State {
        self.0
    }
    /// Moves on if the table has a row for it, and says whether it has.
    pub(crate) fn go(&mut self, cause: Cause) -> bool {
        let row = TABLE.iter().find(|(from, on, _)| (*from, *on) == (self.0, cause));
        if let Some((_, _, to)) = row {
            self.0 = *to;
        }
        row.is_some()
    }
}

/// As the RFC's diagram names it.
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

    /// The diagram as it stands in the repository: a change of the table shows in a review.
    #[test]
    fn the_diagram() {
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

    /// Section 8.4: "there are arcs (not shown) from every state except CLOSED to TIMEWAIT, contingent on the receipt of a
    /// valid DCCP-Reset". LISTEN has no sequence numbers by which a Reset could be valid.
    #[test]
    fn a_reset_ends_every_connection() {
        for state in State::ALL {
            let to = TABLE.iter().find(|row| (row.0, row.1) == (state, Cause::RcvReset)).map(|row| row.2);
            let none = matches!(state, State::Closed | State::Listen | State::TimeWait);
            assert_eq!(to, (!none).then_some(State::TimeWait), "{state}");
        }
    }

    #[test]
    fn what_is_not_in_the_table_does_not_happen() {
        let mut machine = Machine::new();
        assert!(machine.go(Cause::ActiveOpen));
        assert!(!machine.go(Cause::ServerActiveClose));
        assert_eq!(machine.state(), State::Request);
    }
}
