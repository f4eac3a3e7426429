//! Secure sessions between DCCP packets and UDP datagrams: none, or DTLS. Without I/O, as all layers below.
//!
//! A session is identified by the [`Path`] on which it began. Upper layers see only this path: a peer whose address
//! changes, for example after a NAT rebinding, keeps it, and only this layer knows its current address.

mod dtls;

pub use dtls::{
    Dtls, DtlsCounters, DtlsOptions, DtlsVersions, Fingerprint, FingerprintError, Identity, IdentityError, Trust,
};

use headway_dccp::Path;
use headway_units::Instant;
use std::fmt;

/// Secure sessions with peers, identified by their paths.
pub trait Secure: fmt::Debug + Send {
    /// Returns the number of sessions plus that of handshakes in progress.
    fn session_count(&self) -> usize;

    /// Returns the maximum number of bytes that encryption adds to a packet; upper layers subtract it from the MTU.
    fn overhead(&self) -> usize;

    /// Opens a session with the peer of this path unless there is one. [`SecureEvent::Ready`] reports when packets may
    /// be sent, at once if the session exists. `small`: whether to start with small datagrams (548 bytes of UDP payload
    /// with DTLS), because the path is known to carry no larger ones.
    ///
    /// # Errors
    ///
    /// The reason why no session can be opened.
    fn connect(&mut self, now: Instant, path: Path, small: bool) -> Result<(), SecureError>;

    /// Returns whether the handshake of this session succeeded only with small datagrams (548 bytes of UDP payload with
    /// DTLS). The path may carry no larger ones.
    fn is_small(&self, session: Path) -> bool;

    /// Handles a datagram received on this path. Passes each of its packets to `deliver` with the identifier of the
    /// session. Datagrams that belong to no session and begin none are ignored. Decryption may be in place.
    fn handle_datagram(&mut self, now: Instant, path: Path, datagram: &mut [u8], deliver: &mut dyn FnMut(Path, &[u8]));

    /// Encrypts a packet of this session and appends the datagram to `datagram`. Returns the destination, or `None`
    /// if there is no such session or it is not ready.
    fn seal(&mut self, now: Instant, session: Path, packet: &[u8], datagram: &mut Vec<u8>) -> Option<Path>;

    /// Encrypts a packet for a path on which the session was [seen](SecureEvent::Seen), to probe whether the peer is
    /// there. Returns `None` unless this is the path reported last.
    fn seal_to(
        &mut self,
        now: Instant,
        session: Path,
        path: Path,
        packet: &[u8],
        datagram: &mut Vec<u8>,
    ) -> Option<Path>;

    /// Migrates the session to a path on which it was [seen](SecureEvent::Seen), after the peer has answered there.
    /// The session keeps its identifier. Returns whether it has migrated.
    fn move_to(&mut self, now: Instant, session: Path, path: Path) -> bool;

    /// Moves the next datagram of the sessions themselves (handshakes, alerts) into `datagram` and returns its
    /// destination. Call until it returns `None`.
    fn poll_transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Path>;

    /// Returns the next event. Call until it returns `None`.
    fn poll_event(&mut self) -> Option<SecureEvent>;

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Handles timers that are due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Closes the session, or cancels its handshake, and notifies the peer of a session.
    fn close(&mut self, now: Instant, session: Path);
}

/// Event of a secure session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecureEvent {
    /// The session is established: packets may be sent.
    Ready {
        /// Identifier of the session.
        session: Path,
        /// Whether the peer opened the session.
        accepted: bool,
    },
    /// The session ended, or its handshake failed.
    Closed {
        /// Identifier of the session.
        session: Path,
        /// Reason of the end.
        why: SecureError,
    },
    /// A handshake opened by a peer failed.
    Refused {
        /// Path of the peer.
        path: Path,
        /// Reason of the failure.
        why: SecureError,
    },
    /// An authenticated packet arrived from another address of the same host. The event is repeated from time to
    /// time while such packets arrive. Datagrams still go to the old path, since an attacker on the path can forward
    /// the peer's packets from any address. [`Secure::seal_to`] probes the new path and [`Secure::move_to`] migrates
    /// the session to it.
    Seen {
        /// Identifier of the session.
        session: Path,
        /// Path on which the packet arrived.
        path: Path,
    },
}

/// Reason why a secure session cannot be opened, or has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecureError {
    /// The limit of the number of sessions, which is the value, is reached.
    #[error("the limit of {0} sessions is reached")]
    Full(usize),
    /// The peer did not answer in time.
    #[error("the peer does not answer")]
    NoAnswer,
    /// The peer closed the session.
    #[error("the peer closed the session")]
    ByPeer,
    /// The peer's certificate is not one of the [trusted](Trust::Fingerprints) ones.
    #[error("the peer's certificate has the fingerprint {found}, which is not expected")]
    Fingerprint {
        /// Fingerprint of the peer's certificate, or `none`.
        found: String,
    },
    /// The peer opened a new session from the same address, which replaces this one.
    #[error("the peer has opened a new session")]
    Replaced,
    /// The endpoint's certificate or key cannot be used.
    #[error("the certificate or its key cannot be used: {0}")]
    Identity(#[from] IdentityError),
    /// The protocol failed, with this message of the DTLS library, or the system has no random numbers.
    #[error("{0}")]
    Protocol(String),
}
