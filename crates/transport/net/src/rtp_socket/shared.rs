//! State that the threads of the sockets share with the program.

use super::{RtpEvent, RtpKind, RtpOptions};
use crate::Clock;
use crate::breaker::{Breaker, Observed, Step};
use crate::socket::{Arrived, Batch, PeerError};
use crate::unread::Unread;
use crate::wait::Waiter;
use crate::watched::{PendingWakers, Watched, lock};
use crate::wire::Carrier;
use headway_dccp::Path;
use headway_media::RtpHeader;
use headway_rtp::{Handled, Session};
use headway_units::{Duration, Ecn, Instant};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Indices of the sockets. If RTP and RTCP share a port, only the first exists.
const RTP: usize = 0;
const RTCP: usize = 1;
/// Maximum number of receive calls before sending gets its share.
const MAX_RECEIVES: usize = 16;
/// Number of attempts to find an even port with a free one after it.
const MAX_PAIRS: usize = 64;
/// Interval of updates of the circuit breaker.
const BREAKER_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Shared {
    clock: Clock,
    state: Mutex<State>,
    ports: Vec<Port>,
    pub(super) received: Watched<Unread<(RtpKind, Vec<u8>)>>,
    pub(super) events: Watched<Unread<RtpEvent>>,
    /// Whether RTCP is for the program, too.
    delivers_rtcp: bool,
    is_over: AtomicBool,
}

#[derive(Debug)]
struct Port {
    carrier: Arc<Carrier>,
    waiter: Waiter,
}

#[derive(Debug)]
struct State {
    session: Session,
    /// Path of each port to the peer, once known.
    paths: [Option<Path>; 2],
    /// Datagrams that are not of the peer.
    ignored: u64,
    /// Datagram that waits for space in the system's buffer of a port.
    blocked: Option<(usize, Ecn, Vec<u8>)>,
    buffer: Vec<u8>,
    breaker: Breaker,
    breaker_due: Option<Instant>,
}

/// Binds the sockets of RTP and RTCP.
fn bind(local: SocketAddr, is_multiplexed: bool) -> io::Result<Vec<Carrier>> {
    if is_multiplexed {
        return Ok(vec![Carrier::bind(local)?]);
    }
    if local.port() % 2 == 1 {
        let why = "the port of RTP is odd; expected an even one, since RTCP uses the next";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut refused = None;
    for _ in 0..MAX_PAIRS {
        let rtp = Carrier::bind(local)?;
        let mut next = rtp.local_addr();
        // The system may choose an odd port.
        next.set_port(next.port() ^ 1);
        match Carrier::bind(next) {
            Ok(other) if next.port() % 2 == 1 => return Ok(vec![rtp, other]),
            Ok(other) => return Ok(vec![other, rtp]),
            Err(error) if local.port() == 0 => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

impl Shared {
    pub(super) fn bind(local: SocketAddr, options: &RtpOptions, session: Session) -> io::Result<Self> {
        let clock = options.clock;
        let port = |carrier: Carrier| {
            let carrier = Arc::new(carrier);
            Waiter::new(clock, Arc::clone(&carrier)).map(|waiter| Port { carrier, waiter })
        };
        let ports = bind(local, options.is_multiplexed)?.into_iter().map(port).collect::<io::Result<_>>()?;
        let state = State {
            session,
            paths: [None; 2],
            ignored: 0,
            blocked: None,
            buffer: Vec::new(),
            breaker: Breaker::new(clock.now()),
            breaker_due: None,
        };
        Ok(Self {
            clock,
            state: Mutex::new(state),
            ports,
            received: Watched::new(Unread::new(options.unread), PendingWakers::default()),
            events: Watched::new(Unread::new(options.events), PendingWakers::default()),
            delivers_rtcp: options.session.cname.is_none(),
            is_over: AtomicBool::new(false),
        })
    }

    pub(super) const fn ports(&self) -> usize {
        self.ports.len()
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.ports.first().map_or(([0; 4], 0).into(), |port| port.carrier.local_addr())
    }

    /// Returns the standard time `timeout` from now.
    pub(super) fn after(&self, timeout: Duration) -> std::time::Instant {
        self.clock.system(self.clock.now() + timeout)
    }

    pub(super) fn connect(&self, peer: SocketAddr) -> Result<(), PeerError> {
        let paths = self.paths_to(peer)?;
        self.locked(|_, state| state.paths = paths);
        Ok(())
    }

    /// Returns the path of each port to the peer with this RTP address.
    fn paths_to(&self, peer: SocketAddr) -> Result<[Option<Path>; 2], PeerError> {
        let mut paths = [None; 2];
        for (index, (port, path)) in self.ports.iter().zip(&mut paths).enumerate() {
            let number = peer.port().checked_add(index as u16).ok_or(PeerError::RtcpPort)?;
            *path = Some(port.carrier.path_to(SocketAddr::new(peer.ip(), number))?);
        }
        Ok(paths)
    }

    /// Acts on the session, and sends what may be sent then.
    pub(super) fn with<R>(&self, act: impl FnOnce(Instant, &mut Session) -> R) -> R {
        self.locked(|now, state| act(now, &mut state.session))
    }

    /// Acts on the session at a time of a test.
    #[cfg(test)]
    pub(super) fn run_at<R>(&self, now: Instant, act: impl FnOnce(&mut Session) -> R) -> R {
        let mut state = lock(&self.state);
        let result = act(&mut state.session);
        self.drain(now, &mut state);
        result
    }

    pub(super) fn ignored(&self) -> u64 {
        lock(&self.state).ignored
    }

    /// Reads the session.
    pub(super) fn inspect<R>(&self, inspect: impl FnOnce(&Session) -> R) -> R {
        inspect(&lock(&self.state).session)
    }

    fn locked<R>(&self, act: impl FnOnce(Instant, &mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        let result = act(now, &mut state);
        self.drain(now, &mut state);
        if let (Some(at), Some(port)) = (deadline(&state), self.ports.first()) {
            port.waiter.arm(at);
        }
        result
    }

    /// Handles timers, sends, and publishes events.
    fn drain(&self, now: Instant, state: &mut State) {
        state.session.handle_timeout(now);
        let tripped = self.update_breaker(now, state);
        self.transmit(now, state);
        let session = &mut state.session;
        let events = std::iter::from_fn(|| session.poll_event()).map(RtpEvent::Session);
        let events: Vec<RtpEvent> = events.chain(tripped).collect();
        if !events.is_empty() {
            self.events.change(|unread| events.into_iter().for_each(|event| unread.push(event)));
        }
    }

    fn transmit(&self, now: Instant, state: &mut State) {
        if let Some((port, ecn, datagram)) = state.blocked.take() {
            self.send(state, port, ecn, datagram);
        }
        // Before the peer is known, packets wait, and expire.
        while state.blocked.is_none() && state.paths[RTP].is_some() {
            let mut datagram = std::mem::take(&mut state.buffer);
            let Some(transmit) = state.session.poll_transmit(now, &mut datagram) else {
                state.buffer = datagram;
                break;
            };
            let port = if transmit.is_rtcp { RTCP.min(self.ports.len() - 1) } else { RTP };
            self.send(state, port, transmit.ecn, datagram);
        }
    }

    fn send(&self, state: &mut State, port: usize, ecn: Ecn, datagram: Vec<u8>) {
        let carrier = self.ports.get(port).map(|port| &port.carrier);
        let (Some(carrier), Some(Some(path))) = (carrier, state.paths.get(port)) else { return };
        match carrier.send(*path, ecn, &datagram, datagram.len()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.blocked = Some((port, ecn, datagram));
                // The thread of this socket waits for space from now on.
                self.ports.iter().skip(port).take(1).for_each(|port| port.waiter.notify());
            }
            // A datagram that cannot be sent is lost, as on a path.
            _ => state.buffer = datagram,
        }
    }

    /// Updates the circuit breaker each second while packets are sent. Returns the event if it stops the sender.
    fn update_breaker(&self, now: Instant, state: &mut State) -> Option<RtpEvent> {
        let State { session, breaker, breaker_due, .. } = state;
        let Some(due) = *breaker_due else {
            *breaker_due = breaker.has_more(session.counters().sent_packets).then_some(now + BREAKER_INTERVAL);
            return None;
        };
        if due > now {
            return None;
        }
        let counters = session.counters();
        let observed = Observed {
            data: counters.sent_packets,
            sent: counters.sent_packets,
            bytes: counters.sent_bytes,
            lost: counters.lost_packets,
            acknowledged: counters.acknowledged_packets,
            received: counters.feedback,
            rtt: session.round_trip(),
            allowed: session.status().and_then(|status| status.target_rate),
        };
        let has_more = breaker.has_more(observed.data) || session.queued_bytes().count() > 0;
        *breaker_due = has_more.then_some(now + BREAKER_INTERVAL);
        let Step::Trip(why) = breaker.update(now, observed) else { return None };
        session.stop();
        Some(RtpEvent::Breaker(why))
    }

    /// Serves a socket until the program drops it.
    pub(super) fn serve(&self, index: usize) {
        let Some(port) = self.ports.get(index) else { return };
        let mut batch = Batch::new();
        while !self.is_over.load(Ordering::SeqCst) {
            let is_done = self.receive(index, port, &mut batch).and_then(|is_done| {
                let writable = self.prepare_to_wait(index, port);
                if is_done { port.waiter.wait_set(writable).map(drop) } else { Ok(()) }
            });
            if is_done.is_err() {
                self.fail();
                return;
            }
        }
    }

    /// Sets the end of the next wait. Returns whether it also ends with space in the system's buffer.
    fn prepare_to_wait(&self, index: usize, port: &Port) -> bool {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        self.drain(now, &mut state);
        let until = if index == RTP { deadline(&state) } else { None };
        port.waiter.set(now, until);
        if index != RTP
            && let (Some(at), Some(rtp)) = (deadline(&state), self.ports.first())
        {
            rtp.waiter.arm(at);
        }
        state.blocked.as_ref().is_some_and(|(blocked, ..)| *blocked == index)
    }

    /// Receives waiting datagrams. Returns whether no more are waiting.
    fn receive(&self, index: usize, port: &Port, batch: &mut Batch) -> io::Result<bool> {
        for _ in 0..MAX_RECEIVES {
            match port.carrier.receive(batch) {
                Ok(is_last) => {
                    self.handle(index, port, batch);
                    if is_last {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if crate::driver::is_peer_error(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn handle(&self, index: usize, port: &Port, batch: &mut Batch) {
        let mut delivered = Vec::new();
        self.locked(|now, state| {
            port.carrier.datagrams(batch, |arrived, datagram| {
                delivered.extend(self.handle_datagram(now, state, index, arrived, datagram));
            });
        });
        if !delivered.is_empty() {
            self.received.change(|unread| delivered.into_iter().for_each(|datagram| unread.push(datagram)));
        }
    }

    fn handle_datagram(
        &self,
        now: Instant,
        state: &mut State,
        index: usize,
        Arrived { path, ecn }: Arrived,
        datagram: &[u8],
    ) -> Option<(RtpKind, Vec<u8>)> {
        let known = state.paths.get(index).copied().flatten();
        let is_of_peer = match known {
            Some(known) => remote(known) == remote(path),
            // Only RTP determines the peer.
            None => index == RTP && RtpHeader::of(datagram, datagram.len()) != Some(RtpHeader::Rtcp),
        };
        if !is_of_peer {
            state.ignored += 1;
            return None;
        }
        let handled = state.session.handle(now, datagram, ecn).ok()?;
        if known.is_none() {
            self.accept(state, path);
        }
        match handled {
            Handled::Rtp(_) => Some((RtpKind::Rtp, datagram.to_vec())),
            Handled::Rtcp => self.delivers_rtcp.then(|| (RtpKind::Rtcp, datagram.to_vec())),
        }
    }

    /// Makes the sender of the first valid RTP packet the peer.
    fn accept(&self, state: &mut State, path: Path) {
        if let Some(Ok(paths)) = remote(path).map(|peer| self.paths_to(peer)) {
            state.paths = paths;
        }
        state.paths[RTP] = Some(path);
    }

    fn fail(&self) {
        self.received.change(Unread::close);
        self.events.change(Unread::close);
    }

    /// Ends the session and the threads.
    pub(super) fn close(&self) {
        self.locked(|now, state| state.session.close(now));
        self.is_over.store(true, Ordering::SeqCst);
        self.ports.iter().for_each(|port| port.waiter.notify());
    }
}

/// Returns the next deadline. A blocked socket only waits for space.
fn deadline(state: &State) -> Option<Instant> {
    let session = state.session.poll_timeout().filter(|_| state.blocked.is_none() && state.paths[RTP].is_some());
    [session, state.breaker_due].into_iter().flatten().min()
}

const fn remote(path: Path) -> Option<SocketAddr> {
    match path {
        Path::Udp { remote, .. } => Some(remote),
        _ => None,
    }
}
