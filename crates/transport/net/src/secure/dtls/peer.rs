//! One session, pending or established.

use super::super::SecureError;
use super::identity::{Fingerprint, Trust};
use super::options::DtlsCounters;
use dimpl::Output;
use headway_dccp::Path;
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Maximum number of queued handshake datagrams of all sessions. The driver takes them after each call, and lost
/// ones are retransmitted.
const TRANSMIT: usize = 1024;
/// Maximum size of a received handshake datagram, in bytes. No path needs more, and it bounds reassembly.
pub(super) const HANDSHAKE_DATAGRAM: usize = 2048;
/// Size of the output buffer, in bytes: the data of a datagram, or a certificate. The certificate must fit, or the
/// library panics; it is reassembled from at most [`HANDSHAKE_DATAGRAMS`].
pub(super) const BUFFER: usize = HANDSHAKE_DATAGRAMS * HANDSHAKE_DATAGRAM;
/// Maximum number of datagrams of which a message is reassembled.
pub(super) const HANDSHAKE_DATAGRAMS: usize = 32;
/// Timers of the library beyond this are off.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// State shared by all sessions.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) trust: Trust,
    pub(super) clock: crate::Clock,
    pub(super) counters: DtlsCounters,
    pub(super) transmit: VecDeque<(Path, Vec<u8>)>,
    pub(super) buffer: Vec<u8>,
}

impl SharedState {
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
    /// Destination of its datagrams.
    pub(super) at: Path,
    /// Last path other than `at` on which a packet arrived.
    pub(super) seen: Option<Path>,
    /// Time of the last report of `seen`.
    pub(super) reported_at: Instant,
    /// Random number of the ClientHello, if the peer opened the session.
    pub(super) accepted: Option<[u8; 32]>,
    pub(super) begun: Instant,
    /// Number of the attempt, if this end opened the session.
    pub(super) attempt: u64,
    /// Whether the handshake uses small datagrams because larger ones may not arrive.
    pub(super) small: bool,
    /// Time of the last packet received.
    pub(super) received_at: Instant,
    /// Bytes that may be sent before the client has proved its address; `None` afterwards.
    pub(super) credit: Option<usize>,
    /// Whether the peer has shown a trusted certificate.
    certified: bool,
    /// Fingerprint of an untrusted certificate. A client is notified once the session is encrypted: earlier notices
    /// could be forged.
    refused: Option<Fingerprint>,
    /// Whether the handshake is complete at this end.
    connected: bool,
    /// Whether a packet has arrived, so that the handshake is complete at the peer. Plaintext is ignored from then
    /// on.
    pub(super) confirmed: bool,
    /// Next timer of the library.
    deadline: Option<Instant>,
}

/// Outcome of a call.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Whether the datagram was valid and new.
    pub(super) progress: bool,
    /// Number of packets delivered.
    pub(super) delivered: usize,
    /// Whether the handshake is complete with this call.
    pub(super) connected: bool,
    /// Reason of the end, if the session has ended.
    pub(super) failed: Option<SecureError>,
}

impl Peer {
    pub(super) fn new(dtls: dimpl::Dtls, now: Instant, at: Path, accepted: Option<[u8; 32]>) -> Self {
        Self {
            dtls,
            at,
            seen: None,
            reported_at: now,
            accepted,
            begun: now,
            attempt: 0,
            small: false,
            received_at: now,
            credit: None,
            certified: false,
            refused: None,
            connected: false,
            confirmed: false,
            deadline: None,
        }
    }

    /// Returns the time of the next timer. `timeout` bounds the time until the first packet of a peer that opened
    /// the session.
    pub(super) fn due(&self, timeout: Duration) -> Option<Instant> {
        let silent = (self.accepted.is_some() && self.connected && !self.confirmed).then(|| self.begun + timeout);
        self.deadline.into_iter().chain(silent).min()
    }

    /// Handles a datagram of the peer. `name` identifies the session.
    pub(super) fn handle(
        &mut self,
        shared: &mut SharedState,
        now: Instant,
        name: Path,
        datagram: &[u8],
        deliver: &mut dyn FnMut(Path, &[u8]),
    ) -> Outcome {
        if let Some(credit) = &mut self.credit {
            *credit = credit.saturating_add(datagram.len());
        }
        let system = shared.clock.system(now);
        let result = self.dtls.handle_timeout(system).and_then(|()| self.dtls.handle_packet(datagram));
        self.drain(shared, now, name, result, deliver)
    }

    /// Feeds the first ClientHello again and discards the cookie request. Returns whether there was exactly one.
    pub(super) fn repeat(&mut self, shared: &SharedState, now: Instant, first: &[u8]) -> bool {
        let system = shared.clock.system(now);
        let mut buffer = [0; 512];
        self.dtls.handle_timeout(system).is_ok()
            && self.dtls.handle_packet(first).is_ok()
            && matches!(self.dtls.poll_output(&mut buffer), Output::Packet(_))
            && matches!(self.dtls.poll_output(&mut buffer), Output::Timeout(_))
    }

    /// Handles timers; starts the handshake of a new client.
    pub(super) fn handle_timeout(&mut self, shared: &mut SharedState, now: Instant, name: Path) -> Outcome {
        let result = self.dtls.handle_timeout(shared.clock.system(now));
        self.drain(shared, now, name, result, &mut |_, _| ())
    }

    /// Returns whether the version is known. Before, any datagram other than an answer would fail the client's
    /// handshake.
    pub(super) fn knows_version(&self) -> bool {
        self.dtls.protocol_version().is_some()
    }

    fn drain(
        &mut self,
        shared: &mut SharedState,
        now: Instant,
        name: Path,
        result: Result<(), dimpl::Error>,
        deliver: &mut dyn FnMut(Path, &[u8]),
    ) -> Outcome {
        let mut outcome = Outcome { failed: result.err().map(secure_error), ..Outcome::default() };
        let mut buffer = std::mem::take(&mut shared.buffer);
        while outcome.failed.is_none() {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(packet) => {
                    outcome.progress = true;
                    self.send(shared, packet);
                }
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                Output::PeerCert(certificate) => {
                    let peer = Fingerprint::of(certificate);
                    self.certified = shared.trust.trusts(peer);
                    if !self.certified && self.accepted.is_some() {
                        self.refused = Some(peer);
                    } else if !self.certified {
                        outcome.failed = Some(SecureError::Fingerprint { found: peer.to_string() });
                    }
                }
                Output::Connected if shared.trust.wants_certificate() && !self.certified => {
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
                    self.received_at = now;
                    outcome.progress = true;
                    outcome.delivered += 1;
                    deliver(name, packet);
                }
                Output::CloseNotify => outcome.failed = Some(SecureError::ByPeer),
                Output::Timeout(at) => {
                    let wait = at.saturating_duration_since(shared.clock.system(now));
                    let wait = Duration::from_nanos(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
                    // At least 1 ms, so that time passes.
                    self.deadline = (wait < NEVER).then(|| now + wait.max(Duration::from_millis(1)));
                    break;
                }
                _ => {}
            }
        }
        shared.buffer = buffer;
        outcome
    }

    fn send(&mut self, shared: &mut SharedState, packet: &[u8]) {
        match &mut self.credit {
            Some(credit) if *credit < packet.len() => shared.counters.withheld += 1,
            Some(credit) => {
                *credit -= packet.len();
                shared.send(self.at, packet.to_vec());
            }
            None => shared.send(self.at, packet.to_vec()),
        }
    }

    /// Encrypts one packet as one record. The output is polled after each packet: several records would share a
    /// datagram, and more than ten end the session.
    pub(super) fn seal(
        &mut self,
        shared: &mut SharedState,
        packet: &[u8],
        datagram: &mut Vec<u8>,
    ) -> Result<(), SecureError> {
        self.dtls.send_application_data(packet).map_err(secure_error)?;
        let mut buffer = std::mem::take(&mut shared.buffer);
        let mut first = true;
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(record) if first => {
                    datagram.extend_from_slice(record);
                    first = false;
                }
                Output::Packet(record) => self.send(shared, record),
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        shared.buffer = buffer;
        Ok(())
    }

    /// Sends a close_notify if the session is encrypted.
    pub(super) fn close(&mut self, shared: &mut SharedState) {
        if self.connected && self.dtls.close().is_ok() {
            let mut buffer = std::mem::take(&mut shared.buffer);
            loop {
                match self.dtls.poll_output(&mut buffer) {
                    Output::Packet(record) => self.send(shared, record),
                    Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                    Output::Timeout(_) => break,
                    _ => {}
                }
            }
            shared.buffer = buffer;
        }
    }
}

fn secure_error(error: dimpl::Error) -> SecureError {
    match error {
        dimpl::Error::Timeout(_) => SecureError::NoAnswer,
        error => SecureError::Protocol(error.to_string()),
    }
}
