//! Translation of protocol events to events of the program.

use super::Driver;
use crate::mailbox::{Closed, Event};
use headway_dccp::ResetCode;
use headway_units::Instant;

impl Driver {
    /// Handles all protocol events. Returns whether there was any.
    pub(super) fn handle_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            any = true;
            if event == headway_dccp::Event::Accepted {
                self.accept(now, handle);
                continue;
            }
            let Some(key) = self.keys.get(&handle).copied() else { continue };
            let event = match event {
                headway_dccp::Event::Connected => {
                    self.report_largest(handle);
                    self.announce(now, handle);
                    if let Some(trace) = self.entries.get(&key).and_then(|entry| entry.trace.as_ref()) {
                        trace.established();
                    }
                    self.on_established(key);
                    Event::Connected
                }
                headway_dccp::Event::MaximumPacketSize(_) => {
                    self.report_largest(handle);
                    continue;
                }
                headway_dccp::Event::PeerNotListening => Event::PeerNotListening,
                headway_dccp::Event::ProbeAnswered(id) => {
                    self.on_probe_answered(now, handle, id);
                    continue;
                }
                headway_dccp::Event::Closed(why) => {
                    let entry = self.entries.get(&key);
                    let here = entry.is_some_and(|entry| entry.closed);
                    let tripped = entry.and_then(|entry| entry.tripped);
                    self.lose(now, key, tripped.map_or_else(|| closed(why, here), Closed::Breaker));
                    continue;
                }
                _ => continue,
            };
            if let Some(entry) = self.entries.get(&key) {
                entry.mailbox.publish([event]);
            }
        }
        any
    }
}

/// Returns the reason of an end. `here`: this end has closed the connection.
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
        // A connection that is closed before there is an answer is aborted.
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

    /// RFC 4340 section 8.3: Reset code 1 ends a connection in order, code 2 is that of a program that aborts.
    #[test]
    fn the_reason_of_the_end_depends_on_its_cause() {
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
