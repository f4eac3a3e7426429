//! State of the reconnection of one connection.

use headway_units::{Duration, Instant};

/// Wait before the first retransmission of a Request. It doubles each time, as that of DTLS handshakes.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_millis(125);

/// Whether a connection is lost, and what is known of its peer.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Whether this end opened the connection, it was established, and the endpoint reconnects.
    pub(super) is_enabled: bool,
    /// Time of the next attempt; `None` while the connection is not lost.
    pub(super) retry_at: Option<Instant>,
    /// Whether the handshake needed small datagrams.
    pub(super) small: bool,
    /// Last known round-trip time.
    pub(super) rtt: Duration,
    /// Packets received and data packets sent up to the last check.
    received: u64,
    sent: u64,
    /// First check that found data sent since the last packet of the peer.
    silent_since: Option<Instant>,
}

impl Recovery {
    /// Returns the state of a connection that was established now.
    pub(super) fn established(small: bool, rtt: Duration) -> Self {
        Self { is_enabled: true, small, rtt, ..Self::default() }
    }

    /// Returns whether the connection is lost and not yet established again.
    pub(super) const fn is_lost(&self) -> bool {
        self.retry_at.is_some()
    }

    /// Updates the counters of packets. Returns how long the peer has not answered data.
    pub(super) fn silence(&mut self, now: Instant, received: u64, sent: u64) -> Option<Duration> {
        if received != self.received {
            self.silent_since = None;
        }
        if sent != self.sent {
            self.silent_since.get_or_insert(now);
        }
        (self.received, self.sent) = (received, sent);
        Some(now.since(self.silent_since?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Silence begins with data that is sent after the last packet of the peer, and not with the packet itself.
    #[test]
    fn a_peer_is_silent_only_while_data_is_sent() {
        let (mut recovery, at) = (Recovery::default(), Instant::from_millis);
        let silence = |ms| Some(Duration::from_millis(ms));
        assert_eq!(recovery.silence(at(0), 1, 0), None);
        assert_eq!(recovery.silence(at(5000), 1, 0), None, "no data");
        assert_eq!(recovery.silence(at(6000), 1, 1), silence(0));
        assert_eq!(recovery.silence(at(6500), 1, 1), silence(500));
        assert_eq!(recovery.silence(at(7000), 2, 1), None, "an answer");
        assert_eq!(recovery.silence(at(8000), 3, 2), silence(0));
        assert_eq!(recovery.silence(at(8100), 3, 3), silence(100));
    }
}
