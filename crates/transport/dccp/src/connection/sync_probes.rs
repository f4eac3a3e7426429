//! Syncs that test whether the peer is reachable, after a period of silence or on request of the driver.
//!
//! "Each valid received DCCP-Sync immediately elicits a DCCP-SyncAck" (RFC 4340 section 5.7) from PARTOPEN on, for any
//! reason; section 14.1 uses padded ones to probe the path MTU. A Sync uses a sequence number but carries no data, so
//! neither controller is involved. An answer shows that the path works in both directions.

use headway_units::{Duration, Seq48};

/// Minimum wait before the first repetition, unless two round trips are longer. The wait doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SyncProbes {
    /// Current wait for an answer of a [`keep_alive`](super::ConnectionOptions::keep_alive) Sync;
    /// `None` while packets arrive.
    wait: Option<Duration>,
    probes: u64,
    /// Latest probe, and the sequence number of its Sync once sent.
    probe: Option<(u64, Option<Seq48>)>,
}

impl SyncProbes {
    /// Records the sequence number of the probe's Sync. Returns the number of the probe.
    pub(super) fn probe_sent(&mut self, seq: Seq48) -> Option<u64> {
        let (id, sent) = self.probe.as_mut()?;
        *sent = Some(seq);
        Some(*id)
    }

    pub(super) fn probe(&mut self) -> u64 {
        let id = self.probes;
        self.probes += 1;
        self.probe = Some((id, None));
        id
    }
    /// Handles a SyncAck of our Sync `ack`. Returns the number of the probe that it answers, if any.
    pub(super) fn answered(&mut self, ack: Seq48) -> Option<u64> {
        self.probe.take_if(|(_, sent)| *sent == Some(ack)).map(|(id, _)| id)
    }
    /// Resets the back-off because a packet has arrived within `keep_alive`.
    pub(super) const fn reset_wait(&mut self) {
        self.wait = None;
    }
    /// Returns how long to wait for an answer to the next keep-alive Sync.
    pub(super) fn next_wait(&mut self, keep_alive: Duration, rtt: Duration) -> Duration {
        let first = FIRST_WAIT.max(rtt * 2);
        let wait = self.wait.map_or(first, |wait| wait * 2).min((keep_alive / 2).max(first));
        *self.wait.insert(wait)
    }
}
