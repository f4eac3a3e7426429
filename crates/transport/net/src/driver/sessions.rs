//! Events of the secure sessions, and migration of peers whose address has changed.

use super::Driver;
use super::entry::{Entry, Stage};
use crate::mailbox::Closed;
use crate::secure::{SecureError, SecureEvent};
use headway_dccp::{ConnectionHandle, Path};
use headway_units::{Duration, Instant};

/// New path of a peer, not yet confirmed.
#[derive(Debug)]
pub(super) struct Migration {
    pub(super) path: Path,
    /// Connection that probes the path, and number of the probe.
    pub(super) handle: ConnectionHandle,
    pub(super) id: u64,
    /// Earliest time of the next probe.
    retry_at: Instant,
    /// End of the time in which datagrams go to both paths.
    pub(super) duplicate_until: Instant,
}

/// Time before a probe is repeated, and in which datagrams go to both paths; at least two round trips.
const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

impl Driver {
    /// Returns whether there was any event.
    pub(super) fn handle_secure_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.secure.as_mut().and_then(|secure| secure.poll_event()) {
            any = true;
            match event {
                SecureEvent::Ready { session, .. } => {
                    self.keys_of_session(session).into_iter().for_each(|key| self.begin(now, key));
                }
                SecureEvent::Closed { session, why } => {
                    for key in self.keys_of_session(session) {
                        // If the Reset that answers a Close is lost, the end of the session is the first sign.
                        let here = self.entries.get(&key).is_some_and(|entry| entry.closed);
                        let why = match &why {
                            SecureError::ByPeer if here => Closed::Here,
                            SecureError::ByPeer => Closed::ByPeer,
                            why => Closed::Security(why.clone()),
                        };
                        self.abort_connection(now, key);
                        self.lose(now, key, why);
                    }
                }
                SecureEvent::Refused { path, why } => self.record_refused(path, Closed::Security(why)),
                SecureEvent::Seen { session, path } => self.probe_path(now, session, path),
            }
        }
        any
    }

    /// Probes a new path of the peer (RFC 4340 section 5.7); the session migrates once the peer has answered. Until
    /// then the peer is most likely at the new path only, since a rebound NAT drops what arrives at the old one. For
    /// the time of one answer datagrams go to both paths. The new path leads to the same host and gets no more than
    /// the old path (RFC 9000 section 9.3 also sends to such an address at once).
    pub(super) fn probe_path(&mut self, now: Instant, session: Path, path: Path) {
        let asked =
            self.migrations.get(&session).filter(|to| to.path == path).map(|to| (to.retry_at, to.duplicate_until));
        if asked.is_some_and(|(retry_at, _)| now < retry_at) {
            return;
        }
        for key in self.keys_of_session(session) {
            if let Some(Entry { stage: Stage::Running(handle), .. }) = self.entries.get(&key)
                && let Some(connection) = self.endpoint.connection_mut(*handle)
                && let Some(id) = connection.probe()
            {
                let retry_at = now + PROBE_TIMEOUT.max(connection.status().rtt.unwrap_or_default() * 2);
                let duplicate_until = asked.map_or(retry_at, |(_, duplicate_until)| duplicate_until);
                self.migrations.insert(session, Migration { path, handle: *handle, id, retry_at, duplicate_until });
                return;
            }
        }
    }

    pub(super) fn on_probe_answered(&mut self, now: Instant, handle: ConnectionHandle, id: u64) {
        let found = self.migrations.iter().find(|(_, to)| (to.handle, to.id) == (handle, id));
        if let Some((session, path)) = found.map(|(session, to)| (*session, to.path)) {
            self.migrations.remove(&session);
            if let Some(secure) = &mut self.secure {
                secure.move_to(now, session, path);
            }
        }
    }

    pub(super) fn keys_of_session(&self, session: Path) -> Vec<u64> {
        self.entries.iter().filter(|(_, entry)| entry.path == session).map(|(key, _)| *key).collect()
    }

    /// Aborts the connection of a session that is gone.
    pub(super) fn abort_connection(&mut self, now: Instant, key: u64) {
        if let Some(Entry { stage: Stage::Running(handle), .. }) = self.entries.get(&key)
            && let Some(connection) = self.endpoint.connection_mut(*handle)
        {
            connection.abort(now);
        }
    }
}
