//! What happens to the sessions below connections; above all that a peer turns up elsewhere.

use super::Driver;
use super::line::{Line, Place};
use crate::mailbox::Closed;
use crate::secure::{SecureError, SecureEvent};
use headway_dccp::{ConnectionHandle, Path};
use headway_units::Instant;

/// Where a peer may be now.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) path: Path,
    /// Who asks, and the number of the question.
    pub(super) handle: ConnectionHandle,
    pub(super) id: u64,
}

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
                        let why =
                            if why == SecureError::ByPeer { Closed::ByPeer } else { Closed::Security(why.clone()) };
                        self.forget(now, key);
                        self.end(now, key, why);
                    }
                }
                SecureEvent::Seen { session, path } => self.ask(session, path),
            }
        }
        any
    }

    /// The peer seems to have moved: it is asked there (RFC 4340 section 5.7), and followed once it has answered.
    pub(super) fn ask(&mut self, session: Path, path: Path) {
        for key in self.of_session(session) {
            if let Some(Line { place: Place::Endpoint(handle), .. }) = self.lines.get(&key)
                && let Some(id) = self.endpoint.connection_mut(*handle).and_then(|connection| connection.probe())
            {
                self.moves.insert(session, Move { path, handle: *handle, id });
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
