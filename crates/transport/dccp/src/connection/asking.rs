//! Syncs that ask whether the peer is there: when nothing has been heard for long, and when the driver wants to know.
//!
//! "Each valid received DCCP-Sync immediately elicits a DCCP-SyncAck" (RFC 4340 section 5.7), in PARTOPEN and behind, whoever sends it and
//! why: section 14.1 has padded ones measure the path. It takes a number and carries nothing, so that it asks nothing of either
//! controller. What it shows is that both directions of a path carry packets between these two ends.

use headway_units::{Duration, Seq48};

/// The first repetition of a question, unless two round trips are longer; each next one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// What has been asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asking {
    /// How long the last question for the sake of [`keep_alive`](super::ConnectionOptions::keep_alive) waits; nothing while all is well.
    wait: Option<Duration>,
    /// Probes of the driver so far.
    probes: u64,
    /// The last one of them, and the number of its Sync once it has gone.
    probe: Option<(u64, Option<Seq48>)>,
}

impl Asking {
    /// The Sync of the driver's probe goes with this number. Which probe that is.
    pub(super) fn probe_sent(&mut self, seq: Seq48) -> Option<u64> {
        let (id, sent) = self.probe.as_mut()?;
        *sent = Some(seq);
        Some(*id)
    }

    /// The driver probes. Returns the number of the probe.
    pub(super) fn probe(&mut self) -> u64 {
        let id = self.probes;
        self.probes += 1;
        self.probe = Some((id, None));
        id
    }
    /// A SyncAck names our Sync `ack`. Returns the probe that it answers, if any.
    pub(super) fn answered(&mut self, ack: Seq48) -> Option<u64> {
        self.probe.take_if(|(_, sent)| *sent == Some(ack)).map(|(id, _)| id)
    }
    /// A packet has arrived within `keep_alive`.
    pub(super) const fn forget_wait(&mut self) {
        self.wait = None;
    }
    /// Nothing has arrived for `keep_alive`, and a Sync asks again. Returns how long it waits for its answer.
    pub(super) fn ask(&mut self, keep_alive: Duration, rtt: Duration) -> Duration {
        let first = FIRST_WAIT.max(rtt * 2);
        let wait = self.wait.map_or(first, |wait| wait * 2).min((keep_alive / 2).max(first));
        *self.wait.insert(wait)
    }
}
