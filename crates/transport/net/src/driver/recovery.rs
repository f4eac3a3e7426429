//! State of the reconnection of one connection.

use headway_units::{Duration, Instant};

/// Duration of an attempt, at least [`ANSWER_TRIPS`] round trips.
const ATTEMPT: Duration = Duration::from_millis(1375);
/// Round trips within which an answer is expected.
const ANSWER_TRIPS: u64 = 2;
/// Round trips for the rest of a handshake after the first answer; [`ATTEMPT`] if that is longer.
const HANDSHAKE_TRIPS: u64 = 8;
/// Wait before the first retransmission of a Request. It doubles each time, as that of DTLS handshakes.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_millis(125);

/// Whether a connection is lost, and what is known of its peer.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Whether this end opened the connection, it was established, and the endpoint reconnects.
    pub(super) is_enabled: bool,
    /// Time of the next attempt; `None` while the connection is not lost.
    pub(super) retry_at: Option<Instant>,
    /// Whether the peer has not answered the present attempt.
    awaits_answer: bool,
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

    /// Records that an attempt begins.
    pub(super) fn on_attempt(&mut self, now: Instant) {
        self.awaits_answer = true;
        self.retry_at = Some(now + ATTEMPT.max(self.rtt * ANSWER_TRIPS));
    }

    /// Records that no attempt is in progress until `at`.
    pub(super) const fn wait_until(&mut self, at: Instant) {
        self.awaits_answer = false;
        self.retry_at = Some(at);
    }

    /// Records a datagram from the peer during the handshake: the first one gives it time to end.
    pub(super) fn on_answer(&mut self, now: Instant) {
        if std::mem::take(&mut self.awaits_answer) {
            self.retry_at = Some(now + ATTEMPT.max(self.rtt * HANDSHAKE_TRIPS));
        }
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

    /// An attempt takes 1375 ms or two round trips, and eight round trips more once the peer has answered.
    #[test]
    fn only_the_first_answer_prolongs_an_attempt() {
        let at = Instant::from_millis;
        for (rtt_ms, unanswered, answered) in [(40, 1375, 1375), (600, 1375, 4800), (1000, 2000, 8000)] {
            let mut recovery = Recovery { rtt: Duration::from_millis(rtt_ms), ..Recovery::default() };
            recovery.on_attempt(at(0));
            assert_eq!(recovery.retry_at, Some(at(unanswered)), "{rtt_ms}");
            recovery.on_answer(at(700));
            recovery.on_answer(at(1000));
            assert_eq!(recovery.retry_at, Some(at(700 + answered)), "{rtt_ms}");
            recovery.wait_until(at(1500));
            recovery.on_answer(at(1200));
            assert_eq!(recovery.retry_at, Some(at(1500)), "{rtt_ms}: no attempt is in progress");
        }
    }

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
