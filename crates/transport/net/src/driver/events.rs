//! What the protocol tells, in the words of the program.

use super::Driver;
use crate::mailbox::{Closed, Event};
use headway_dccp::ResetCode;
use headway_units::Instant;

impl Driver {
    /// Whether there was anything.
    pub(super) fn handle_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            any = true;
            if event == headway_dccp::Event::Accepted {
                self.accept(now, handle);
                continue;
            }
            let Some(key) = self.keys.get(&handle).copied() else { continue };
            let told = match event {
                headway_dccp::Event::Connected => {
                    self.tell_largest(handle);
                    self.show(now, handle);
                    Event::Connected
                }
                headway_dccp::Event::MaximumPacketSize(largest) => {
                    if let Some(line) = self.lines.get(&key) {
                        line.mailbox.tell([Event::Largest(largest)]);
                    }
                    self.know_largest(handle);
                    continue;
                }
                headway_dccp::Event::PeerNotListening => Event::PeerNotListening,
                headway_dccp::Event::ProbeAnswered(id) => {
                    self.follow(now, handle, id);
                    continue;
                }
                headway_dccp::Event::Closed(why) => {
                    let line = self.lines.get(&key);
                    let here = line.is_some_and(|line| line.closed);
                    let tripped = line.and_then(|line| line.tripped);
                    self.end(key, tripped.map_or_else(|| closed(why, here), Closed::Breaker));
                    continue;
                }
                _ => continue,
            };
            if let Some(line) = self.lines.get(&key) {
                line.mailbox.tell([told]);
            }
        }
        any
    }
}

/// `here`: this end has wanted it.
const fn closed(why: headway_dccp::Closed, here: bool) -> Closed {
    match why {
        headway_dccp::Closed::ByPeer(reset) | headway_dccp::Closed::ByUs(reset)
            if reset.code.0 == ResetCode::CLOSED.0 =>
        {
            if here {
                Closed::Here
            } else {
                Closed::ByPeer
            }
        }
        // Before there is an answer there is nothing to close: what the program gives up is aborted.
        headway_dccp::Closed::ByUs(reset) if here && reset.code.0 == ResetCode::ABORTED.0 => Closed::Here,
        headway_dccp::Closed::ByPeer(reset) => Closed::Reset(reset),
        headway_dccp::Closed::ByUs(reset) => Closed::Aborted(reset),
        headway_dccp::Closed::NoAnswer(_) if here => Closed::Here,
        headway_dccp::Closed::NoAnswer(_) => Closed::NoAnswer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_dccp::{Reset, State};

    /// RFC 4340 section 8.3: Reset code 1 ends a connection in order, and 2 by a program that gives up.
    #[test]
    fn an_end_is_named_after_its_cause() {
        let reset = |code| Reset { code, data: [0; 3] };
        let (orderly, aborted) = (reset(ResetCode::CLOSED), reset(ResetCode::ABORTED));
        let unanswered = headway_dccp::Closed::NoAnswer(State::Request);
        for (cause, by_this_end, otherwise) in [
            (headway_dccp::Closed::ByPeer(orderly), Closed::Here, Closed::ByPeer),
            (headway_dccp::Closed::ByUs(orderly), Closed::Here, Closed::ByPeer),
            (headway_dccp::Closed::ByPeer(aborted), Closed::Reset(aborted), Closed::Reset(aborted)),
            (headway_dccp::Closed::ByUs(aborted), Closed::Here, Closed::Aborted(aborted)),
            (unanswered, Closed::Here, Closed::NoAnswer),
        ] {
            assert_eq!((closed(cause, true), closed(cause, false)), (by_this_end, otherwise));
        }
    }
}
