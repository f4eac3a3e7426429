//! Migration of sessions whose peer has a new address, for example after a NAT rebinding. Without connection IDs,
//! its packets are tried against the sessions of the host.

use super::super::SecureEvent;
use super::{Dtls, host};
use headway_dccp::Path;
use headway_units::{Duration, Instant};

/// Maximum number of sessions against which a packet of an unknown address is tried; the longest silent are first.
const MAX_TRIALS: usize = 16;
/// Interval of repeated [`SecureEvent::Seen`]: the probe may have been lost, or the peer has returned to its old
/// path. Packets that are only late have arrived before that.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

impl Dtls {
    /// Tries a packet that does not belong to `but`, the session of its address, or whose address has no session.
    pub(super) fn try_sessions(
        &mut self,
        now: Instant,
        path: Path,
        but: Option<Path>,
        datagram: &[u8],
        deliver: &mut dyn FnMut(Path, &[u8]),
    ) {
        let host = host(path);
        let from = (host, Path::Ipv4 { local: [0; 4].into(), remote: [0; 4].into() });
        let others =
            || self.hosts.range(from..).take_while(|(of, _)| *of == host).filter(|(_, name)| Some(*name) != but);
        if others().next().is_none() {
            match but {
                Some(_) => self.shared.counters.records_failed += 1,
                None => self.shared.counters.ignored += 1,
            }
            return;
        }
        if !(self.trials.take(now, host) && self.all_trials.take(now)) {
            self.shared.counters.trials_refused += 1;
            return;
        }
        self.shared.counters.trials += 1;
        let mut names: Vec<_> =
            others().filter_map(|(_, name)| Some((self.sessions.get(name)?.received_at, *name))).collect();
        names.sort_unstable();
        for (_, name) in names.into_iter().take(MAX_TRIALS) {
            let Some(session) = self.sessions.get_mut(&name) else { continue };
            let outcome = session.handle(&mut self.shared, now, name, datagram, deliver);
            let found = outcome.delivered > 0;
            self.update_session(name, outcome);
            if found {
                self.on_packet(now, name, path);
                return;
            }
        }
        self.shared.counters.records_failed += 1;
    }

    /// Records that a packet of this session arrived on this path.
    pub(super) fn on_packet(&mut self, now: Instant, name: Path, path: Path) {
        let Some(session) = self.sessions.get_mut(&name) else { return };
        let known = session.seen == Some(path);
        if session.at == path || known && now < session.reported_at + REPORT_INTERVAL {
            return;
        }
        session.reported_at = now;
        let old = session.seen.replace(path);
        if let Some(old) = old.filter(|old| !known && self.routes.get(old) == Some(&name)) {
            self.routes.remove(&old);
        }
        // Another session keeps its path until this one is confirmed there.
        let owner = self.routes.get(&path).unwrap_or(&path);
        if self.sessions.get(owner).is_none_or(|owner| owner.at != path) && path != name {
            self.routes.insert(path, name);
        }
        self.events.push_back(SecureEvent::Seen { session: name, path });
    }

    /// Migrates the session to this path, on which the peer has answered.
    pub(super) fn migrate(&mut self, now: Instant, session: Path, path: Path) -> bool {
        let Some(peer) = self.sessions.get_mut(&session).filter(|peer| peer.seen == Some(path)) else { return false };
        // Late packets still arrive on the old path.
        let old = std::mem::replace(&mut peer.at, path);
        (peer.seen, peer.reported_at) = (Some(old), now);
        self.hosts.remove(&(host(old), session));
        self.hosts.insert((host(path), session));
        for path in [old, path] {
            if path == session {
                self.routes.remove(&path);
            } else {
                self.routes.insert(path, session);
            }
        }
        self.shared.counters.moved += 1;
        true
    }
}
