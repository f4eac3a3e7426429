//! What may be chosen, and what is counted.

use super::identity::{Identity, Trust};
use headway_units::Duration;

/// Which versions are spoken. The newest that both ends speak is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DtlsVersions {
    /// DTLS 1.2 (RFC 6347) and 1.3 (RFC 9147).
    #[default]
    Both,
    /// DTLS 1.2 only.
    Dtls12,
    /// DTLS 1.3 only: 15 bytes a packet less.
    Dtls13,
}

/// What DTLS is to do. Made by [`new`](Self::new); what stands there may be changed.
#[derive(Clone, Debug)]
pub struct DtlsOptions {
    /// Who we are.
    pub identity: Identity,
    /// Whom we believe.
    pub trust: Trust,
    /// Whether peers may begin sessions: a server.
    pub accept: bool,
    /// Which versions are spoken.
    pub versions: DtlsVersions,
    /// Bytes of a handshake's datagram, UDP's payload: longer messages go in pieces. From 256 to 2048. After a quarter of
    /// [`handshake_timeout`](Self::handshake_timeout) without an answer a client starts again with 548 bytes, if that is less.
    pub handshake_datagram: usize,
    /// Until a handshake's message is sent again for the first time; then twice as long each time. RFC 9147 section 5.8.2 has 1000 ms, and
    /// less where a round trip is known to be short; here a lost datagram of real-time media should not cost more than it must.
    pub first_retransmission: Duration,
    /// Until a handshake has failed. A peer that has begun a session must also send its first packet within this time.
    pub handshake_timeout: Duration,
    /// Sessions at most.
    pub sessions: usize,
    /// Handshakes of others that are under way, at most: the oldest goes for a new one, of the same prefix if there is one.
    pub pending: usize,
    /// Those among them that have not shown that they are where they say they are. Beyond, clients are asked for a cookie: a round trip more.
    pub unproven: usize,
    /// Handshakes that one prefix (/24, /48) may begin at once.
    pub prefix_burst: u64,
    /// And a second.
    pub prefix_per_second: u64,
    /// Cookies asked for a second, from all together. One costs 20 to 40 us.
    pub cookies_per_second: u64,
    /// Packets from an unknown address that are tried against the sessions with the same host, a second and host. All together get eight
    /// times as many.
    pub trials_per_second: u64,
    /// Packets after which a session's keys are changed (DTLS 1.3, RFC 9147 section 4.5.3), about.
    pub key_lifetime: u64,
}

impl DtlsOptions {
    /// A client's; with [`accept`](Self::accept) a server's too.
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

/// What has come and gone since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DtlsCounters {
    /// Datagrams that are not DTLS, or belong to no session and begin none.
    pub ignored: u64,
    /// Handshakes begun, by either end: each had an object.
    pub handshakes_begun: u64,
    /// Of these, those that ended well.
    pub handshakes_completed: u64,
    /// Of these, those that failed, or took too long.
    pub handshakes_failed: u64,
    /// Of these, those that had to make room for newer ones.
    pub handshakes_evicted: u64,
    /// Handshakes that were not begun: there are too many sessions, or too many from this prefix.
    pub handshakes_refused: u64,
    /// Clients asked for a cookie.
    pub cookies_asked: u64,
    /// Cookies that were not ours, or too old.
    pub cookies_bad: u64,
    /// Handshake datagrams not sent, since the client had not sent as many bytes and may be somebody else.
    pub withheld: u64,
    /// Protected datagrams of which nothing came: forged, replayed, spoilt; and acknowledgements of DTLS 1.3, of which the library says nothing.
    pub records_failed: u64,
    /// Packets that were tried against sessions of the same host.
    pub trials: u64,
    /// Packets that were not tried, since there had been too many.
    pub trials_refused: u64,
    /// Sessions that have moved.
    pub moved: u64,
}
