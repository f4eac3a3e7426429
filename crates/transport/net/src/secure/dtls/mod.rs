//! DTLS below DCCP, as WebRTC uses it below SCTP (RFC 8261): UDP / DTLS / DCCP. Each datagram is one record and one
//! packet.
//!
//! The library `dimpl` runs the handshakes. This module adds what a server with one socket and many peers needs, and
//! protects against attackers:
//!
//! - **Amplification.** An address is sent no more bytes than arrived from it, until its client has proved that it
//!   is there. A ClientHello of 1.3 fills its datagram, which is larger than the answer; a client with a shorter
//!   one, as in 1.2, is asked for a [cookie](cookie).
//! - **State.** Pending handshakes, unproven handshakes among them, sessions and tokens are bounded.
//! - **Small paths.** An unanswered attempt is followed by smaller datagrams (RFC 9147 section 4.4,
//!   RFC 6347 section 4.1.1.1). The library fixes the size of its records when it starts, so the client starts
//!   again. A server's datagrams are no larger than the ClientHello, and small if the ClientHello is not padded.
//! - **Migration.** The session of a peer with a new address is found by a few trials. It migrates only on request.
//!
//! Limits: the library has neither connection IDs (RFC 9146) nor resumption. A DTLS 1.3 session that loses more than
//! 32 767 records in a row cannot decrypt any further record: records carry 16 bits of their number, which are
//! completed by the last number received. DTLS does not notice; the connection above times out.

mod accept;
mod cookie;
mod find;
mod hello;
mod identity;
mod limits;
mod options;
mod peer;
mod record;

pub use identity::{Fingerprint, FingerprintError, Identity, IdentityError, Trust};
pub use options::{DtlsCounters, DtlsOptions, DtlsVersions};

use super::{Secure, SecureError, SecureEvent};
use crate::Clock;
use cookie::Cookies;
use headway_dccp::Path;
use headway_units::{Duration, Instant};
use hello::Hello;
use limits::{Allowance, BySource, Overall};
use peer::{BUFFER, HANDSHAKE_DATAGRAM, HANDSHAKE_DATAGRAMS, Outcome, Peer, SharedState};
use record::Shape;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

/// Retransmissions of a flight: as many as fit into the longest permitted handshake.
const RETRIES: usize = 12;
/// Attempts of a client within the time of a handshake. A forged answer ends an attempt, and after some patterns of
/// loss in a flight of several datagrams of 1.3 the two ends of the library wait for each other.
const ATTEMPTS: u64 = 4;
/// Size of a small handshake datagram, in bytes: 576 bytes of IP, which every host accepts (RFC 791 section 3.1),
/// less the headers of IPv4 and UDP.
const SMALL_DATAGRAM: usize = 576 - 28;
/// Header, explicit nonce and tag of a record (RFC 5288); in 1.3 header, type and tag (RFC 9147 section 4).
const OVERHEAD_12: usize = 13 + 8 + 16;
const OVERHEAD_13: usize = 5 + 1 + 16;

/// DTLS sessions of one socket, as client, as server, or both.
#[derive(Debug)]
pub struct Dtls {
    options: DtlsOptions,
    /// Configuration without a cookie: the whole flight fits into the bytes received.
    plain: Arc<dimpl::Config>,
    /// Configurations with a cookie.
    with_cookie: Sizes,
    client: Sizes,
    cookies: Cookies,
    cookies_asked: Overall,
    begun: BySource,
    trials: BySource,
    all_trials: Overall,
    shared: SharedState,
    events: VecDeque<SecureEvent>,
    /// Handshakes in progress, by path. A peer that starts again has one as well as its session.
    pending: BTreeMap<Path, Box<Peer>>,
    /// Sessions by identifier.
    sessions: BTreeMap<Path, Box<Peer>>,
    /// Sessions by host.
    hosts: BTreeSet<(IpAddr, Path)>,
    /// Identifiers of sessions by paths that differ from the identifier.
    routes: BTreeMap<Path, Path>,
    /// Timers of sessions (`true`) and handshakes.
    timers: BTreeSet<(Instant, bool, Path)>,
    due: BTreeMap<(bool, Path), Instant>,
}

impl Dtls {
    /// Creates a DTLS layer without sessions. `clock` is the clock whose times are passed as `now` to all methods.
    ///
    /// # Errors
    ///
    /// If an option is invalid, or the system has no random numbers.
    pub fn new(options: DtlsOptions, clock: Clock) -> Result<Self, SecureError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| SecureError::Protocol(format!("no random numbers: {error}")))?;
        let whole = options.handshake_timeout;
        let full = full_datagram(&options);
        let sizes = |cookie, timeout| -> Result<Sizes, SecureError> {
            let of = |datagram| config(&options, cookie, timeout, datagram).map(Arc::new);
            Ok(Sizes { full: of(full)?, small: of(full.min(SMALL_DATAGRAM))? })
        };
        let plain = Arc::new(config(&options, false, whole, full)?);
        let (with_cookie, client) = (sizes(true, whole)?, sizes(false, whole / ATTEMPTS)?);
        let allowance = |burst, per_second| Allowance { burst, per_second };
        let trials = options.trials_per_second;
        Ok(Self {
            plain,
            with_cookie,
            client,
            cookies: Cookies::new(key),
            cookies_asked: Overall::new(allowance(options.cookies_per_second, options.cookies_per_second)),
            begun: BySource::new(allowance(options.prefix_burst, options.prefix_per_second)),
            trials: BySource::new(allowance(trials, trials)),
            all_trials: Overall::new(allowance(8 * trials, 8 * trials)),
            shared: SharedState {
                trust: options.trust.clone(),
                clock,
                counters: DtlsCounters::default(),
                transmit: VecDeque::new(),
                buffer: vec![0; BUFFER],
            },
            options,
            events: VecDeque::new(),
            pending: BTreeMap::new(),
            sessions: BTreeMap::new(),
            hosts: BTreeSet::new(),
            routes: BTreeMap::new(),
            timers: BTreeSet::new(),
            due: BTreeMap::new(),
        })
    }

    /// Returns the counters of handshakes, cookies and datagrams.
    #[must_use]
    pub fn counters(&self) -> DtlsCounters {
        self.shared.counters
    }
    /// Returns the number of handshakes in progress, as client and as server.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }
    /// Returns the number of established sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn engine(&self, now: Instant, config: &Arc<dimpl::Config>) -> dimpl::Dtls {
        let certificate = self.options.identity.certificate();
        let now = self.shared.clock.system(now);
        match self.options.versions {
            DtlsVersions::Both => dimpl::Dtls::new_auto(config.clone(), certificate, now),
            DtlsVersions::Dtls12 => dimpl::Dtls::new_12(config.clone(), certificate, now),
            DtlsVersions::Dtls13 => dimpl::Dtls::new_13(config.clone(), certificate, now),
        }
    }

    /// Starts the n-th handshake with this server, with small datagrams if earlier attempts had no answer.
    fn attempt(&mut self, now: Instant, path: Path, attempt: u64, small: bool) -> Result<(), SecureError> {
        let mut dtls = self.engine(now, self.client.of(small));
        dtls.set_active(true);
        let mut peer = Peer::new(dtls, now, path, None);
        (peer.attempt, peer.small) = (attempt, small);
        let outcome = peer.handle_timeout(&mut self.shared, now, path);
        self.shared.counters.handshakes_begun += 1;
        if let Some(why) = outcome.failed {
            return Err(why);
        }
        self.pending.insert(path, Box::new(peer));
        self.arm(false, path);
        Ok(())
    }

    /// Handles the outcome of a call for a handshake in progress.
    fn advance(&mut self, now: Instant, path: Path, outcome: Outcome) {
        if let Some(why) = outcome.failed {
            let mut peer = self.pending.remove(&path);
            self.shared.counters.handshakes_failed += 1;
            if let Some(peer) = peer.as_mut().filter(|peer| peer.accepted.is_some()) {
                // A refused client has established its session already and is notified.
                peer.close(&mut self.shared);
                self.events.push_back(SecureEvent::Refused { path, why: why.clone() });
            }
            if let Some(peer) = peer.filter(|peer| peer.accepted.is_none()) {
                let again = matches!(why, SecureError::NoAnswer | SecureError::Protocol(_)) && peer.attempt < ATTEMPTS;
                let small = peer.small || why == SecureError::NoAnswer;
                if !again || self.attempt(now, path, peer.attempt + 1, small).is_err() {
                    self.events.push_back(SecureEvent::Closed { session: path, why });
                }
            }
        } else if outcome.connected
            && let Some(mut peer) = self.pending.remove(&path)
        {
            self.shared.counters.handshakes_completed += 1;
            let accepted = peer.accepted.is_some();
            self.drop_session(path, Some(SecureError::Replaced));
            if self.sessions.len() >= self.options.sessions {
                peer.close(&mut self.shared);
                let why = SecureError::Full(self.options.sessions);
                self.events.push_back(if accepted {
                    SecureEvent::Refused { path, why }
                } else {
                    SecureEvent::Closed { session: path, why }
                });
            } else {
                self.routes.remove(&path);
                self.hosts.insert((host(path), path));
                self.sessions.insert(path, peer);
                self.arm(true, path);
                self.events.push_back(SecureEvent::Ready { session: path, accepted });
            }
        }
        self.arm(false, path);
    }

    /// Handles the outcome of a call for a session.
    fn update_session(&mut self, name: Path, outcome: Outcome) {
        match outcome.failed {
            Some(why) => {
                // RFC 5246 section 7.2.1: a close_notify is answered with a close_notify.
                if why == SecureError::ByPeer
                    && let Some(session) = self.sessions.get_mut(&name)
                {
                    session.close(&mut self.shared);
                }
                self.drop_session(name, Some(why));
            }
            None => self.arm(true, name),
        }
    }

    fn drop_session(&mut self, name: Path, why: Option<SecureError>) -> Option<Box<Peer>> {
        let session = self.sessions.remove(&name)?;
        self.hosts.remove(&(host(session.at), name));
        for path in session.seen.iter().chain([&session.at]) {
            if self.routes.get(path) == Some(&name) {
                self.routes.remove(path);
            }
        }
        self.arm(true, name);
        if let Some(why) = why {
            self.events.push_back(SecureEvent::Closed { session: name, why });
        }
        Some(session)
    }

    /// Sets the timer of a session or handshake.
    fn arm(&mut self, session: bool, path: Path) {
        let of = if session { &self.sessions } else { &self.pending };
        let due = of.get(&path).and_then(|peer| peer.due(self.options.handshake_timeout));
        let before = match due {
            Some(at) => self.due.insert((session, path), at),
            None => self.due.remove(&(session, path)),
        };
        if before != due {
            if let Some(at) = before {
                self.timers.remove(&(at, session, path));
            }
            if let Some(at) = due {
                self.timers.insert((at, session, path));
            }
        }
    }
}

impl Secure for Dtls {
    fn session_count(&self) -> usize {
        self.sessions.len() + self.pending.len()
    }

    fn overhead(&self) -> usize {
        match self.options.versions {
            DtlsVersions::Dtls13 => OVERHEAD_13,
            DtlsVersions::Both | DtlsVersions::Dtls12 => OVERHEAD_12,
        }
    }

    fn connect(&mut self, now: Instant, path: Path, small: bool) -> Result<(), SecureError> {
        if self.sessions.contains_key(&path) {
            self.events.push_back(SecureEvent::Ready { session: path, accepted: false });
            return Ok(());
        }
        if self.pending.get(&path).is_some_and(|peer| peer.accepted.is_none()) {
            return Ok(());
        }
        let ours = self.pending.values().filter(|peer| peer.accepted.is_none()).count();
        if self.sessions.len() + ours >= self.options.sessions {
            return Err(SecureError::Full(self.options.sessions));
        }
        self.attempt(now, path, 1, small)
    }

    fn is_small(&self, session: Path) -> bool {
        self.sessions.get(&session).is_some_and(|peer| peer.small)
    }

    fn handle_datagram(&mut self, now: Instant, path: Path, datagram: &mut [u8], deliver: &mut dyn FnMut(Path, &[u8])) {
        let datagram = &*datagram;
        let Some(shape) = Shape::of(datagram).filter(|shape| record::is_dtls(datagram) && !shape.plain_alert) else {
            self.shared.counters.ignored += 1;
            return;
        };
        let short = datagram.len() <= HANDSHAKE_DATAGRAM;
        if let Some(hello) = Hello::parse(datagram).filter(|_| short) {
            let repeated =
                self.pending.get(&path).is_some_and(|peer| peer.accepted.is_none_or(|random| random == hello.random));
            if !repeated {
                return self.hello(now, path, &hello, datagram);
            }
        }
        if let Some(peer) = self.pending.get_mut(&path) {
            // A client ignores a ClientHello, and expects ServerHello or HelloVerifyRequest first.
            let kind = record::handshake_type(datagram);
            let fits = kind != Some(1) && (peer.knows_version() || matches!(kind, Some(2 | 3)));
            if short && (peer.accepted.is_some() || fits) {
                let outcome = peer.handle(&mut self.shared, now, path, datagram, deliver);
                let used = outcome.progress || outcome.failed.is_some();
                self.advance(now, path, outcome);
                if used {
                    return;
                }
            }
        }
        let name = self.routes.get(&path).copied().unwrap_or(path);
        let Some(session) = self.sessions.get_mut(&name) else {
            match self.pending.contains_key(&path) {
                true => {}
                false if shape.may_have_moved() => self.try_sessions(now, path, None, datagram, deliver),
                false => self.shared.counters.ignored += 1,
            }
            return;
        };
        if shape.plain > 0 && session.confirmed {
            self.shared.counters.ignored += 1;
            return;
        }
        let outcome = session.handle(&mut self.shared, now, name, datagram, deliver);
        let (delivered, nothing) = (outcome.delivered > 0, !outcome.progress && outcome.failed.is_none());
        self.update_session(name, outcome);
        if delivered {
            self.on_packet(now, name, path);
        } else if nothing && shape.may_have_moved() {
            self.try_sessions(now, path, Some(name), datagram, deliver);
        } else if nothing {
            self.shared.counters.records_failed += 1;
        }
    }

    fn seal(&mut self, _: Instant, session: Path, packet: &[u8], datagram: &mut Vec<u8>) -> Option<Path> {
        let peer = self.sessions.get_mut(&session)?;
        match peer.seal(&mut self.shared, packet, datagram) {
            Ok(()) => Some(peer.at),
            Err(why) => {
                self.drop_session(session, Some(why));
                None
            }
        }
    }

    fn seal_to(
        &mut self,
        now: Instant,
        session: Path,
        path: Path,
        packet: &[u8],
        datagram: &mut Vec<u8>,
    ) -> Option<Path> {
        let seen = self.sessions.get(&session).and_then(|peer| peer.seen);
        (seen == Some(path)).then(|| self.seal(now, session, packet, datagram)).flatten().map(|_| path)
    }

    fn move_to(&mut self, now: Instant, session: Path, path: Path) -> bool {
        self.migrate(now, session, path)
    }

    fn poll_transmit(&mut self, _: Instant, datagram: &mut Vec<u8>) -> Option<Path> {
        let (path, next) = self.shared.transmit.pop_front()?;
        *datagram = next;
        Some(path)
    }

    fn poll_event(&mut self) -> Option<SecureEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(at, ..)| *at)
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, session, path)) = self.timers.first()
            && at <= now
        {
            let of = if session { &mut self.sessions } else { &mut self.pending };
            let Some(peer) = of.get_mut(&path) else {
                self.timers.pop_first();
                self.due.remove(&(session, path));
                continue;
            };
            let mut outcome = peer.handle_timeout(&mut self.shared, now, path);
            if !session {
                self.advance(now, path, outcome);
                continue;
            }
            // The peer has not sent its first packet in time.
            if outcome.failed.is_none() && peer.due(self.options.handshake_timeout).is_some_and(|due| due <= now) {
                peer.close(&mut self.shared);
                outcome.failed = Some(SecureError::NoAnswer);
            }
            self.update_session(path, outcome);
        }
    }

    fn close(&mut self, _: Instant, session: Path) {
        if self.pending.remove(&session).is_some() {
            self.arm(false, session);
        }
        if let Some(mut peer) = self.drop_session(session, None) {
            peer.close(&mut self.shared);
        }
    }
}

/// One configuration for each size of handshake datagrams.
#[derive(Debug)]
struct Sizes {
    full: Arc<dimpl::Config>,
    small: Arc<dimpl::Config>,
}

impl Sizes {
    const fn of(&self, small: bool) -> &Arc<dimpl::Config> {
        if small { &self.small } else { &self.full }
    }
}

/// Returns the size of a handshake datagram on an unknown path, in bytes.
fn full_datagram(options: &DtlsOptions) -> usize {
    options.handshake_datagram.clamp(256, HANDSHAKE_DATAGRAM)
}

fn config(
    options: &DtlsOptions,
    cookie: bool,
    timeout: Duration,
    datagram: usize,
) -> Result<dimpl::Config, SecureError> {
    let mut builder = dimpl::Config::builder()
        .mtu(datagram)
        .max_queue_tx(HANDSHAKE_DATAGRAMS)
        .max_queue_rx(HANDSHAKE_DATAGRAMS)
        .require_client_certificate(options.trust.wants_certificate())
        .use_server_cookie(cookie)
        .flight_start_rto(std::time::Duration::from_nanos(options.first_retransmission.as_nanos()))
        .flight_retries(RETRIES)
        .handshake_timeout(std::time::Duration::from_nanos(timeout.as_nanos()))
        .aead_encryption_limit(options.key_lifetime);
    if cookie {
        builder = builder.with_crypto_provider(cookie::provider());
    }
    builder = match options.versions {
        DtlsVersions::Both => builder,
        DtlsVersions::Dtls12 => builder.dtls13_cipher_suites(&[]),
        DtlsVersions::Dtls13 => builder.dtls12_cipher_suites(&[]),
    };
    builder.build().map_err(|error| SecureError::Protocol(error.to_string()))
}

fn host(path: Path) -> IpAddr {
    match path {
        Path::Ipv4 { remote, .. } => remote.into(),
        Path::Ipv6 { remote, .. } => remote.into(),
        Path::Udp { remote, .. } => remote.ip().to_canonical(),
    }
}

/// Addresses and ports of a path, for a cookie.
fn path_bytes(path: Path) -> [u8; 36] {
    let ends = match path {
        Path::Ipv4 { local, remote } => [(local.into(), 0), (remote.into(), 0)],
        Path::Ipv6 { local, remote } => [(local.into(), 0), (remote.into(), 0)],
        Path::Udp { local, remote } => [local, remote].map(|end| (end.ip(), end.port())),
    };
    let mut bytes = [0; 36];
    for (part, (ip, port)) in bytes.chunks_exact_mut(18).zip(ends) {
        let ip = match ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        for (to, from) in part.iter_mut().zip(ip.octets().into_iter().chain(port.to_be_bytes())) {
            *to = from;
        }
    }
    bytes
}
