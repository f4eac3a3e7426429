//! One session, from its first datagram on.

use super::super::SecureError;
use super::identity::{Fingerprint, Trust};
use super::options::DtlsCounters;
use dimpl::Output;
use headway_dccp::Path;
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Datagrams of handshakes that wait for the driver, all together. It takes them after each call; and what is lost is sent again.
const TRANSMIT: usize = 1024;
/// Bytes of a datagram that a handshake takes: no path that is known to us carries longer ones, and what may be put together of them is bounded.
pub(super) const HANDSHAKE_DATAGRAM: usize = 2048;
/// What one call may hand over: a datagram's data, or a certificate. That one must fit, or the library panics; it waits for no more
/// than [`HANDSHAKE_DATAGRAMS`].
pub(super) const BUFFER: usize = HANDSHAKE_DATAGRAMS * HANDSHAKE_DATAGRAM;
/// Datagrams of which a message is put together, at most.
pub(super) const HANDSHAKE_DATAGRAMS: usize = 32;
/// The library's timers that are off are years away.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// What all sessions share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) trust: Trust,
    pub(super) clock: crate::Clock,
    pub(super) counters: DtlsCounters,
    pub(super) transmit: VecDeque<(Path, Vec<u8>)>,
    pub(super) buffer: Vec<u8>,
}

impl Desk {
    pub(super) fn send(&mut self, to: Path, datagram: Vec<u8>) {
        if self.transmit.len() < TRANSMIT {
            self.transmit.push_back((to, datagram));
        }
    }
}

/// A session, pending or established.
#[derive(Debug)]
pub(super) struct Peer {
    dtls: dimpl::Dtls,
    /// Where its datagrams go.
    pub(super) at: Path,
    /// From where a packet of its has come, which is not where they go.
    pub(super) seen: Option<Path>,
    /// When that was told last.
    pub(super) told: Instant,
    /// The random number of the ClientHello by which the peer has begun it.
    pub(super) accepted: Option<[u8; 32]>,
    pub(super) begun: Instant,
    /// How often we have begun, if it is we.
    pub(super) attempt: u64,
    /// Whether the handshake uses small datagrams because larger ones may not get through.
    pub(super) small: bool,
    /// When a packet came last.
    pub(super) heard: Instant,
    /// Bytes that may still go before the client has shown that it is there; nothing if it has.
    pub(super) credit: Option<usize>,
    /// It has shown a certificate, which we believe.
    certified: bool,
    /// It has shown one that we do not believe. A client hears so once there is a secret to tell it by: until then anybody could say so.
    refused: Option<Fingerprint>,
    /// The handshake is over at this end.
    connected: bool,
    /// And at the other: a packet has come. From then on nothing is believed that is not protected.
    pub(super) confirmed: bool,
    /// When the library wants to be called.
    deadline: Option<Instant>,
}

/// What has come of a call.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Something was good and new.
    pub(super) progress: bool,
    /// Packets delivered.
    pub(super) delivered: usize,
    /// The handshake is over, now.
    pub(super) connected: bool,
    /// It is over.
    pub(super) failed: Option<SecureError>,
}

impl Peer {
    pub(super) fn new(dtls: dimpl::Dtls, now: Instant, at: Path, accepted: Option<[u8; 32]>) -> Self {
        Self {
            dtls,
            at,
            seen: None,
            told: now,
            accepted,
            begun: now,
            attempt: 0,
            small: false,
            heard: now,
            credit: None,
            certified: false,
            refused: None,
            connected: false,
            confirmed: false,
            deadline: None,
        }
    }

    /// When it is to be called, if a session that the peer has begun may be silent for so long at first.
    pub(super) fn due(&self, patience: Duration) -> Option<Instant> {
        let silent = (self.accepted.is_some() && self.connected && !self.confirmed).then(|| self.begun + patience);
        self.deadline.into_iter().chain(silent).min()
    }

    /// The peer's bytes. `name` is the session's.
    pub(super) fn handle(
        &mut self,
        desk: &mut Desk,
        now: Instant,
        name: Path,
        datagram: &[u8],
        deliver: &mut dyn FnMut(Path, &[u8]),
    ) -> Outcome {
        if let Some(credit) = &mut self.credit {
            *credit = credit.saturating_add(datagram.len());
        }
        let system = desk.clock.system(now);
        let result = self.dtls.handle_timeout(system).and_then(|()| self.dtls.handle_packet(datagram));
        self.drain(desk, now, name, result, deliver)
    }

    /// Lets it say again what another object has said to this ClientHello, and forgets that. Returns whether it has said it.
    pub(super) fn repeat(&mut self, desk: &Desk, now: Instant, first: &[u8]) -> bool {
        let system = desk.clock.system(now);
        let mut buffer = [0; 512];
        self.dtls.handle_timeout(system).is_ok()
            && self.dtls.handle_packet(first).is_ok()
            && matches!(self.dtls.poll_output(&mut buffer), Output::Packet(_))
            && matches!(self.dtls.poll_output(&mut buffer), Output::Timeout(_))
    }

    /// Time has passed; or it has just been made, and has something to say.
    pub(super) fn handle_timeout(&mut self, desk: &mut Desk, now: Instant, name: Path) -> Outcome {
        let result = self.dtls.handle_timeout(desk.clock.system(now));
        self.drain(desk, now, name, result, &mut |_, _| ())
    }

    /// Whether the version is known. Before, a client must not be shown what cannot be an answer: its library would give up.
    pub(super) fn knows_version(&self) -> bool {
        self.dtls.protocol_version().is_some()
    }

    fn drain(
        &mut self,
        desk: &mut Desk,
        now: Instant,
        name: Path,
        result: Result<(), dimpl::Error>,
        deliver: &mut dyn FnMut(Path, &[u8]),
    ) -> Outcome {
        let mut outcome = Outcome { failed: result.err().map(why), ..Outcome::default() };
        let mut buffer = std::mem::take(&mut desk.buffer);
        while outcome.failed.is_none() {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(packet) => {
                    outcome.progress = true;
                    self.send(desk, packet);
                }
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                Output::PeerCert(certificate) => {
                    let peer = Fingerprint::of(certificate);
                    self.certified = desk.trust.believes(peer);
                    if !self.certified && self.accepted.is_some() {
                        self.refused = Some(peer);
                    } else if !self.certified {
                        outcome.failed = Some(SecureError::Fingerprint { found: peer.to_string() });
                    }
                }
                Output::Connected if desk.trust.wants_certificate() && !self.certified => {
                    (self.connected, self.credit) = (true, None);
                    let found = self.refused.map_or_else(|| "none".to_owned(), |peer| peer.to_string());
                    outcome.failed = Some(SecureError::Fingerprint { found });
                }
                Output::Connected => {
                    (self.connected, self.credit) = (true, None);
                    outcome.connected = true;
                    outcome.progress = true;
                }
                Output::ApplicationData(packet) => {
                    self.confirmed = true;
                    self.heard = now;
                    outcome.progress = true;
                    outcome.delivered += 1;
                    deliver(name, packet);
                }
                Output::CloseNotify => outcome.failed = Some(SecureError::ByPeer),
                Output::Timeout(at) => {
                    let wait = at.saturating_duration_since(desk.clock.system(now));
                    let wait = Duration::from_nanos(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
                    // Never at once, whatever the library says: time has to pass.
                    self.deadline = (wait < NEVER).then(|| now + wait.max(Duration::from_millis(1)));
                    break;
                }
                _ => {}
            }
        }
        desk.buffer = buffer;
        outcome
    }

    fn send(&mut self, desk: &mut Desk, packet: &[u8]) {
        match &mut self.credit {
            Some(credit) if *credit < packet.len() => desk.counters.withheld += 1,
            Some(credit) => {
                *credit -= packet.len();
                desk.send(self.at, packet.to_vec());
            }
            None => desk.send(self.at, packet.to_vec()),
        }
    }

    /// A record of this packet. The library is asked after each, since several that wait would share a datagram, and more than ten end the session.
    pub(super) fn seal(&mut self, desk: &mut Desk, packet: &[u8], datagram: &mut Vec<u8>) -> Result<(), SecureError> {
        self.dtls.send_application_data(packet).map_err(why)?;
        let mut buffer = std::mem::take(&mut desk.buffer);
        let mut first = true;
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(record) if first => {
                    datagram.extend_from_slice(record);
                    first = false;
                }
                Output::Packet(record) => self.send(desk, record),
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        desk.buffer = buffer;
        Ok(())
    }

    /// Tells the peer, if there is a secret to tell it by.
    pub(super) fn close(&mut self, desk: &mut Desk) {
        if self.connected && self.dtls.close().is_ok() {
            let mut buffer = std::mem::take(&mut desk.buffer);
            loop {
                match self.dtls.poll_output(&mut buffer) {
                    Output::Packet(record) => self.send(desk, record),
                    Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                    Output::Timeout(_) => break,
                    _ => {}
                }
            }
            desk.buffer = buffer;
        }
    }
}

fn why(error: dimpl::Error) -> SecureError {
    match error {
        dimpl::Error::Timeout(_) => SecureError::NoAnswer,
        error => SecureError::Protocol(error.to_string()),
    }
}
