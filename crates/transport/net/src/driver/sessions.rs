//! What happens to the sessions below connections; above all that a peer turns up elsewhere.

use super::Driver;
use super::line::{Line, Place};
use crate::mailbox::Closed;
use crate::secure::{SecureError, SecureEvent};
use headway_dccp::{ConnectionHandle, Path};
use headway_units::{Duration, Instant};

/// Where a peer may be now.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) path: Path,
    /// Who asks, and the number of the question.
    pub(super) handle: ConnectionHandle,
    pub(super) id: u64,
    /// When it is of use to ask again.
    again: Instant,
    /// So long all that goes to the session goes there too.
    pub(super) both: Instant,
}

/// Until a question is asked again, and until it is taken for answered or in vain, unless two round trips are longer.
const ANSWER: Duration = Duration::from_millis(100);

impl Driver {
    /// Whether there was anything.
    pub(super) fn handle_secure_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.secure.as_mut().and_then(|secure| secure.poll_event()) {
            any = true;
            match event {
                SecureEvent::Ready { session, .. } => {
                    self.of_session(session).into_iter().for_each(|key| self.begin(now, key));
                }
                SecureEvent::Closed { session, why } => {
                    for key in self.of_session(session) {
                        // The peer that answers a close may lose its Reset, and then ends the session all the same.
                        let here = self.lines.get(&key).is_some_and(|line| line.closed);
                        let why = match &why {
                            SecureError::ByPeer if here => Closed::Here,
                            SecureError::ByPeer => Closed::ByPeer,
                            why => Closed::Security(why.clone()),
                        };
                        self.forget(now, key);
                        self.end(key, why);
                    }
                }
                SecureEvent::Refused { path, why } => self.note_refused(path, Closed::Security(why)),
                SecureEvent::Seen { session, path } => self.ask(now, session, path),
            }
        }
        any
    }

    /// The peer seems to have moved: it is asked there (RFC 4340 section 5.7), and followed once it has answered. Until then it is most likely there and nowhere
    /// else, since a NAT that has forgotten it brings nothing to where it was: for one answer's time what goes to it goes both ways. That is to the
    /// same host, and no more than goes there anyway (RFC 9000 section 9.3 sends to such an address at once, too).
    pub(super) fn ask(&mut self, now: Instant, session: Path, path: Path) {
        let asked = self.moves.get(&session).filter(|to| to.path == path).map(|to| (to.again, to.both));
        if asked.is_some_and(|(again, _)| now < again) {
            return;
        }
        for key in self.of_session(session) {
            if let Some(Line { place: Place::Endpoint(handle), .. }) = self.lines.get(&key)
                && let Some(connection) = self.endpoint.connection_mut(*handle)
                && let Some(id) = connection.probe()
            {
                let again = now + ANSWER.max(connection.status().rtt.unwrap_or_default() * 2);
                let both = asked.map_or(again, |(_, both)| both);
                self.moves.insert(session, Move { path, handle: *handle, id, again, both });
                return;
            }
        }
    }

    pub(super) fn follow(&mut self, now: Instant, handle: ConnectionHandle, id: u64) {
        let found = self.moves.iter().find(|(_, to)| (to.handle, to.id) == (handle, id));
        if let Some((session, path)) = found.map(|(session, to)| (*session, to.path)) {
            self.moves.remove(&session);
            if let Some(secure) = &mut self.secure {
                secure.move_to(now, session, path);
            }
        }
    }

    pub(super) fn of_session(&self, session: Path) -> Vec<u64> {
        self.lines.iter().filter(|(_, line)| line.path == session).map(|(key, _)| *key).collect()
    }

    /// A connection whose session is gone says nothing more.
    pub(super) fn forget(&mut self, now: Instant, key: u64) {
        if let Some(Line { place: Place::Endpoint(handle), .. }) = self.lines.get(&key)
            && let Some(connection) = self.endpoint.connection_mut(*handle)
        {
            connection.abort(now);
        }
    }
}
