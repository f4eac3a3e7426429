//! Peers whose address has changed, as behind a NAT that has forgotten them: there are no connection IDs, so that their packets are tried.

use super::super::SecureEvent;
use super::{Dtls, host};
use headway_dccp::Path;
use headway_units::{Duration, Instant};

/// Sessions that one packet from an unknown address is tried against: those that have been silent for longest.
const TRIED: usize = 16;
/// How often it is told that packets still come from where the session is not: the question that it is to be asked may have been lost, or it has come
/// back to where it was. Packets that are only late are over before that.
const TOLD_AGAIN: Duration = Duration::from_millis(200);

impl Dtls {
    /// A packet that is not of the session that has its address, `but`, or whose address nobody has: perhaps of a peer whose address has changed.
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
                Some(_) => self.desk.counters.records_failed += 1,
                None => self.desk.counters.ignored += 1,
            }
            return;
        }
        if !(self.trials.take(now, host) && self.all_trials.take(now)) {
            self.desk.counters.trials_refused += 1;
            return;
        }
        self.desk.counters.trials += 1;
        let mut names: Vec<_> =
            others().filter_map(|(_, name)| Some((self.sessions.get(name)?.heard, *name))).collect();
        names.sort_unstable();
        for (_, name) in names.into_iter().take(TRIED) {
            let Some(session) = self.sessions.get_mut(&name) else { continue };
            let outcome = session.handle(&mut self.desk, now, name, datagram, deliver);
            let found = outcome.delivered > 0;
            self.settle(name, outcome);
            if found {
                self.saw(now, name, path);
                return;
            }
        }
        self.desk.counters.records_failed += 1;
    }

    /// A packet of this session has come by this path.
    pub(super) fn saw(&mut self, now: Instant, name: Path, path: Path) {
        let Some(session) = self.sessions.get_mut(&name) else { return };
        let known = session.seen == Some(path);
        if session.at == path || known && now < session.told + TOLD_AGAIN {
            return;
        }
        session.told = now;
        let old = session.seen.replace(path);
        if let Some(old) = old.filter(|old| !known && self.routes.get(old) == Some(&name)) {
            self.routes.remove(&old);
        }
        // Where another is, it stays until this one has shown that it is there.
        let owner = self.routes.get(&path).unwrap_or(&path);
        if self.sessions.get(owner).is_none_or(|owner| owner.at != path) && path != name {
            self.routes.insert(path, name);
        }
        self.events.push_back(SecureEvent::Seen { session: name, path });
    }

    /// The peer has answered by this path.
    pub(super) fn moves(&mut self, now: Instant, session: Path, path: Path) -> bool {
        let Some(peer) = self.sessions.get_mut(&session).filter(|peer| peer.seen == Some(path)) else { return false };
        // What is late still comes by the old path.
        let old = std::mem::replace(&mut peer.at, path);
        (peer.seen, peer.told) = (Some(old), now);
        self.hosts.remove(&(host(old), session));
        self.hosts.insert((host(path), session));
        for path in [old, path] {
            if path == session {
                self.routes.remove(&path);
            } else {
                self.routes.insert(path, session);
            }
        }
        self.desk.counters.moved += 1;
        true
    }
}
