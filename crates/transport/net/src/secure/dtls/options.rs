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
    /// Identity of this endpoint.
    pub identity: Identity,
    /// Trusted peers.
    pub trust: Trust,
    /// Whether peers may open sessions, as at a server.
    pub accept: bool,
    /// Enabled versions.
    pub versions: DtlsVersions,
    /// Size of handshake datagrams (UDP payload), 256 to 2048 bytes; longer messages are fragmented. After a quarter
    /// of [`handshake_timeout`](Self::handshake_timeout) without an answer a client starts again with 548 bytes, if
    /// that is less.
    pub handshake_datagram: usize,
    /// Time until the first retransmission of a handshake message; it doubles each time. RFC 9147 section 5.8.2
    /// recommends 1000 ms, or less if the round trip is known to be short. Real-time media needs a shorter time.
    pub first_retransmission: Duration,
    /// Time after which a handshake fails, from its start. A peer that opens a session must also send its first packet
    /// of data within this time from the start of the handshake.
    pub handshake_timeout: Duration,
    /// Maximum number of sessions.
    pub sessions: usize,
    /// Maximum number of pending handshakes of peers. Beyond it, a new handshake evicts the oldest pending one of the
    /// same address prefix, or else the oldest of all.
    pub pending: usize,
    /// Maximum number of pending handshakes whose address is unproven. Further clients are asked for a cookie, which
    /// costs a round trip.
    pub unproven: usize,
    /// Maximum burst of handshakes of one address prefix (/24 of IPv4, /48 of IPv6). Clients whose address is unproven
    /// can use half of it.
    pub prefix_burst: u64,
    /// Maximum number of handshakes of one address prefix (/24 of IPv4, /48 of IPv6) per second, after a burst.
    pub prefix_per_second: u64,
    /// Maximum number of cookie requests per second in total. One costs 20 to 40 us.
    pub cookies_per_second: u64,
    /// Maximum number of packets per second and host from unknown addresses that are tried against sessions of the same
    /// host; eight times as many in total.
    pub trials_per_second: u64,
    /// Approximate number of packets after which the keys of a session are changed (DTLS 1.3,
    /// RFC 9147 section 4.5.3).
    pub key_lifetime: u64,
}

impl DtlsOptions {
    /// Creates the options of a client; with [`accept`](Self::accept) also those of a server.
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
    /// Datagrams that are not DTLS, or belong to no session and begin none.
    pub ignored: u64,
    /// Handshakes begun by either end.
    pub handshakes_begun: u64,
    /// Handshakes completed.
    pub handshakes_completed: u64,
    /// Handshakes that failed or timed out.
    pub handshakes_failed: u64,
    /// Handshakes evicted by newer ones.
    pub handshakes_evicted: u64,
    /// Handshakes refused because of the limit of sessions, or of handshakes of one address prefix.
    pub handshakes_refused: u64,
    /// Clients asked for a cookie.
    pub cookies_asked: u64,
    /// Cookies that were invalid or expired.
    pub cookies_bad: u64,
    /// Handshake datagrams withheld because the unproven client had sent fewer bytes.
    pub withheld: u64,
    /// Protected datagrams without effect: forged, replayed or damaged, and acknowledgements of DTLS 1.3, which the
    /// library does not report.
    pub records_failed: u64,
    /// Packets from unknown addresses tried against sessions of the same host.
    pub trials: u64,
    /// Packets from unknown addresses not tried against sessions, because of the rate limit.
    pub trials_refused: u64,
    /// Sessions migrated to a new address of their peer.
    pub moved: u64,
}
