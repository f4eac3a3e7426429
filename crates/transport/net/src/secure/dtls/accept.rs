//! Admission of new clients: at once, after a cookie, or by evicting an older handshake.

use super::hello::Hello;
use super::limits::prefix;
use super::peer::{Outcome, Peer};
use super::{Dtls, SMALL_DATAGRAM, cookie, full_datagram, host};
use headway_dccp::Path;
use headway_units::Instant;
use std::net::IpAddr;

/// Bytes of a server's first flight without its certificate: 421 with P-256, some more with P-384.
const FLIGHT: usize = 480;

impl Dtls {
    /// Handles a ClientHello that belongs to no handshake in progress.
    pub(super) fn hello(&mut self, now: Instant, path: Path, hello: &Hello<'_>, datagram: &[u8]) {
        let existing = self.sessions.get(&path);
        // It duplicates the one that opened the session, or the session has migrated and still owns the identifier.
        let taken = existing
            .is_some_and(|session| session.at != path || session.accepted.is_none_or(|random| random == hello.random));
        if !self.options.accept || taken {
            self.shared.counters.ignored += 1;
            return;
        }
        if existing.is_none() && self.sessions.len() >= self.options.sessions {
            self.shared.counters.handshakes_refused += 1;
            return;
        }
        let source = prefix(host(path));
        // A client pads its ClientHello to its estimate of the path's size, and this one has arrived. Without
        // padding the size is unknown.
        let small = hello.padding.is_some() && datagram.len() <= SMALL_DATAGRAM;
        if hello.cookie().is_some() {
            let Some((cookie, first)) = self
                .cookies
                .verify(now, path, hello)
                .and_then(|(cookie, padding)| Some((cookie, hello.first(padding)?)))
            else {
                self.shared.counters.cookies_bad += 1;
                return;
            };
            if !self.begun.take(now, source) {
                self.shared.counters.handshakes_refused += 1;
                return;
            }
            let config = self.with_cookie.of(datagram.len() < full_datagram(&self.options));
            let mut peer = Peer::new(self.engine(now, config), now, path, Some(hello.random));
            peer.small = small;
            let asked = cookie::with(hello.random, cookie, || peer.repeat(&self.shared, now, &first));
            if asked {
                let outcome = cookie::with(hello.random, cookie, || {
                    peer.handle(&mut self.shared, now, path, datagram, &mut |_, _| ())
                });
                self.begin(path, source, peer, outcome);
            } else {
                self.shared.counters.cookies_bad += 1;
            }
            return;
        }
        let unproven = self.pending.values().filter(|peer| peer.credit.is_some()).count();
        let at_once = existing.is_none()
            && !self.pending.contains_key(&path)
            && datagram.len() >= self.options.identity.certificate_len() + FLIGHT
            && unproven < self.options.unproven
            && self.begun.take_unproven(now, source);
        if at_once {
            let mut peer = Peer::new(self.engine(now, &self.plain), now, path, Some(hello.random));
            (peer.credit, peer.small) = (Some(0), small);
            let outcome = peer.handle(&mut self.shared, now, path, datagram, &mut |_, _| ());
            self.begin(path, source, peer, outcome);
        } else if self.cookies_asked.take(now) {
            let Some(cookie) = self.cookies.make(now, path, hello) else { return };
            let mut peer = Peer::new(self.engine(now, self.with_cookie.of(false)), now, path, None);
            peer.credit = Some(0);
            let before = self.shared.transmit.len();
            cookie::with(hello.random, cookie, || peer.handle(&mut self.shared, now, path, datagram, &mut |_, _| ()));
            self.shared.counters.cookies_asked += (self.shared.transmit.len() - before) as u64;
        } else {
            self.shared.counters.handshakes_refused += 1;
        }
    }

    /// Adds a handshake unless it has failed at once.
    fn begin(&mut self, path: Path, source: IpAddr, peer: Peer, outcome: Outcome) {
        self.shared.counters.handshakes_begun += 1;
        if outcome.failed.is_some() {
            self.shared.counters.handshakes_failed += 1;
            return;
        }
        self.pending.remove(&path);
        if self.pending.values().filter(|peer| peer.accepted.is_some()).count() >= self.options.pending {
            let oldest = |same: bool| {
                let of = self
                    .pending
                    .iter()
                    .filter(|(path, peer)| peer.accepted.is_some() && (!same || prefix(host(**path)) == source));
                of.min_by_key(|(_, peer)| peer.begun).map(|(path, _)| *path)
            };
            if let Some(oldest) = oldest(true).or_else(|| oldest(false)) {
                self.pending.remove(&oldest);
                self.arm(false, oldest);
                self.shared.counters.handshakes_evicted += 1;
            }
        }
        self.pending.insert(path, Box::new(peer));
        self.arm(false, path);
    }
}
