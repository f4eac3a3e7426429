//! Options and counters of DTLS.

use super::identity::{Identity, Trust};
use headway_units::Duration;

/// Enabled versions of DTLS. The newest version of both ends is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DtlsVersions {
    /// DTLS 1.2 (RFC 6347) and 1.3 (RFC 9147).
    #[default]
    Both,
    /// DTLS 1.2 only.
    Dtls12,
    /// DTLS 1.3 only, which saves 15 bytes per packet.
    Dtls13,
}

/// Options of DTLS. Start from [`new`](Self::new) and change fields.
#[derive(Clone, Debug)]
pub struct DtlsOptions {
    /// Certificate and private key of this endpoint.
    pub identity: Identity,
    /// Trusted peers.
    pub trust: Trust,
    /// Whether peers may open sessions, as at a server. An [`Endpoint`](crate::Endpoint) sets it itself.
    pub accept: bool,
    /// Enabled versions of DTLS.
    pub versions: DtlsVersions,
    /// Size of handshake datagrams (UDP payload), 256 to 2048 bytes; longer messages are fragmented. After a quarter of
    /// [`handshake_timeout`](Self::handshake_timeout) without an answer a client starts again with 548 bytes, if that
    /// is less than this size.
    pub handshake_datagram: usize,
    /// Time until the first retransmission of a handshake message; it doubles with each retransmission. RFC 9147
    /// section 5.8.2 recommends 1000 ms, or less if the round trip is known to be short. Real-time media needs a
    /// shorter time.
    pub first_retransmission: Duration,
    /// Time after which a handshake fails, from its start. A server also ends a session in which the client's first
    /// encrypted packet does not arrive within this time from the start of the handshake.
    pub handshake_timeout: Duration,
    /// Maximum number of established sessions.
    pub sessions: usize,
    /// Maximum number of pending handshakes that peers began. Beyond it, a new handshake evicts the oldest pending one
    /// of the same address prefix (/24 of IPv4, /48 of IPv6), or else the oldest of all.
    pub pending: usize,
    /// Maximum number of pending handshakes of clients that have not proved their address. Further clients are asked
    /// for a cookie, which costs a round trip.
    pub unproven: usize,
    /// Maximum number of handshakes that clients of one address prefix (/24 of IPv4, /48 of IPv6) begin in a burst.
    /// Clients that have not proved their address by a cookie can use half of it.
    pub prefix_burst: u64,
    /// Maximum number of handshakes per second that clients of one address prefix begin (/24 of IPv4, /48 of IPv6),
    /// after a burst.
    pub prefix_per_second: u64,
    /// Maximum number of cookie requests that a server sends per second, to all clients together. One request costs the
    /// server 20 to 40 us of computing time.
    pub cookies_per_second: u64,
    /// Maximum number of packets per second from an IP address that are tried against the sessions of this IP address,
    /// because their UDP port is not that of a session; for all IP addresses together eight times as many.
    pub trials_per_second: u64,
    /// Approximate number of packets after which the keys of a session are changed (DTLS 1.3,
    /// RFC 9147 section 4.5.3).
    pub key_lifetime: u64,
}

impl DtlsOptions {
    /// Creates the options of a client with this identity and these trusted peers. Set [`accept`](Self::accept) for a
    /// server.
    #[must_use]
    pub fn new(identity: Identity, trust: Trust) -> Self {
        Self {
            identity,
            trust,
            accept: false,
            versions: DtlsVersions::default(),
            handshake_datagram: 1150,
            first_retransmission: Duration::from_millis(125),
            handshake_timeout: Duration::from_secs(10),
            sessions: 4096,
            pending: 256,
            unproven: 64,
            prefix_burst: 128,
            prefix_per_second: 32,
            cookies_per_second: 10_000,
            trials_per_second: 16,
            key_lifetime: 1 << 23,
        }
    }
}

/// Counters of DTLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DtlsCounters {
    /// Received datagrams that are not DTLS, or belong to no session and begin none.
    pub ignored: u64,
    /// Handshakes begun by either end; each attempt of a client counts.
    pub handshakes_begun: u64,
    /// Handshakes completed.
    pub handshakes_completed: u64,
    /// Handshakes that failed or timed out; each attempt of a client counts.
    pub handshakes_failed: u64,
    /// Pending handshakes evicted by newer ones, at the limit [`DtlsOptions::pending`].
    pub handshakes_evicted: u64,
    /// Handshakes of clients refused because of the limit of sessions, of handshakes of one address prefix, or of
    /// cookie requests.
    pub handshakes_refused: u64,
    /// Cookie requests sent to clients.
    pub cookies_asked: u64,
    /// Cookies of clients that were invalid or expired.
    pub cookies_bad: u64,
    /// Handshake datagrams not sent to a client that has not proved its address, because it had sent fewer bytes.
    pub withheld: u64,
    /// Encrypted datagrams received without effect: forged, replayed or damaged, and acknowledgements of DTLS 1.3,
    /// which the DTLS library does not report.
    pub records_failed: u64,
    /// Packets tried against the other sessions of their IP address, because their UDP port is not that of their
    /// session.
    pub trials: u64,
    /// Packets not tried against sessions of their IP address, because of [`DtlsOptions::trials_per_second`].
    pub trials_refused: u64,
    /// Sessions migrated to a new address of their peer.
    pub moved: u64,
}
