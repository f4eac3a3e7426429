//! What stands between DCCP packets and UDP datagrams: nothing, or DTLS. Without I/O, as all below it.
//!
//! A session is known by the [`Path`] by which it began. Above it nothing else is ever seen: a peer whose address changes, as behind a
//! NAT that has forgotten it, keeps its name, and only this layer knows where its datagrams really go.

mod dtls;

pub use dtls::{
    Dtls, DtlsCounters, DtlsOptions, DtlsVersions, Fingerprint, FingerprintError, Identity, IdentityError, Trust,
};

use headway_dccp::Path;
use headway_units::Instant;
use std::fmt;

/// Keeps sessions with peers, by their paths.
pub trait Secure: fmt::Debug + Send {
    /// Sessions, and handshakes under way.
    fn held(&self) -> usize;

    /// Bytes that it adds to a packet, at most: above it the MTU is so much smaller.
    fn overhead(&self) -> usize;

    /// Opens a session with the other end of this path, unless there is one. [`SecureEvent::Ready`] tells when packets may go; where there is
    /// a session, that is at once.
    ///
    /// # Errors
    ///
    /// Says why there is no new session.
    fn connect(&mut self, now: Instant, path: Path) -> Result<(), SecureError>;

    /// Whether the handshake of this session succeeded with small datagrams only: the path may carry no larger ones.
    fn is_small(&self, session: Path) -> bool;

    /// A datagram has come by this path. What it says is handed to `deliver`, packet by packet, with the name of the session; what does
    /// not belong to any, and begins none, is ignored. Packets may be changed where they lie.
    fn handle_datagram(&mut self, now: Instant, path: Path, datagram: &mut [u8], deliver: &mut dyn FnMut(Path, &[u8]));

    /// Makes a datagram of a packet that is to go on this session, appended to `datagram`; returns where it goes, or nothing if there is no
    /// such session, or it is not ready.
    fn seal(&mut self, now: Instant, session: Path, packet: &[u8], datagram: &mut Vec<u8>) -> Option<Path>;

    /// The same, but it goes to a path by which the session has been [seen](SecureEvent::Seen): for the packet that asks whether the peer is
    /// there. Nothing if that is not the path of which was told last.
    fn seal_to(
        &mut self,
        now: Instant,
        session: Path,
        path: Path,
        packet: &[u8],
        datagram: &mut Vec<u8>,
    ) -> Option<Path>;

    /// The peer has answered by the path by which it was [seen](SecureEvent::Seen): from now on datagrams go there, and the session keeps its
    /// name. Returns whether it is so.
    fn move_to(&mut self, now: Instant, session: Path, path: Path) -> bool;

    /// The next datagram that goes for the sessions' own sake (handshakes, alerts) in place of what `datagram` holds, and where: ask until
    /// there is nothing.
    fn poll_transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Path>;

    /// The next thing that has happened: ask until there is nothing.
    fn poll_event(&mut self) -> Option<SecureEvent>;

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// That instant has come, or is past.
    fn handle_timeout(&mut self, now: Instant);

    /// The session is of no more use: the peer is told so, and nothing of it is kept.
    fn close(&mut self, now: Instant, session: Path);
}

/// What has happened to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecureEvent {
    /// Packets may go. `accepted`: the peer has begun it.
    Ready {
        /// Its name.
        session: Path,
        /// Whether the peer has begun it.
        accepted: bool,
    },
    /// It is over, or never came to be.
    Closed {
        /// Its name.
        session: Path,
        /// Why.
        why: SecureError,
    },
    /// A handshake that a peer began has failed, and there is no session.
    Refused {
        /// The path of the peer.
        path: Path,
        /// Why.
        why: SecureError,
    },
    /// A packet that only the peer can have made has come from another address of the same host; while such packets come, this is told now and then.
    /// Nothing has moved:
    /// datagrams still go where they went, for who is on the path can send on what the peer has sent, from wherever he likes.
    /// [`Secure::seal_to`] asks the peer whether it is there, and [`Secure::move_to`] follows it.
    Seen {
        /// Its name.
        session: Path,
        /// From where to where it came.
        path: Path,
    },
}

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecureError {
    /// There are as many as there may be.
    #[error("there are {0} sessions, as many as there may be")]
    Full(usize),
    /// The peer did not answer in time.
    #[error("the peer does not answer")]
    NoAnswer,
    /// The peer has ended it.
    #[error("the peer has closed")]
    ByPeer,
    /// The peer's certificate is not the one that was expected.
    #[error("the peer's certificate has the fingerprint {found}, which is not expected")]
    Fingerprint {
        /// What it has.
        found: String,
    },
    /// The peer has begun another in its place.
    #[error("the peer has begun anew")]
    Replaced,
    /// The endpoint's own certificate or key cannot be used.
    #[error("the certificate or its key cannot be used: {0}")]
    Identity(#[from] IdentityError),
    /// The protocol has failed.
    #[error("{0}")]
    Protocol(String),
}
