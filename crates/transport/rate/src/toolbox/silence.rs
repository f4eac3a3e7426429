//! Silences: how a sender treats a path that stops answering.
//!
//! An outage samples neither the loss rate nor the round trip of the path after it. A sender therefore takes a silence for
//! an outage if nothing answers several packets for longer than a timeout. It probes the path during the silence, and starts
//! again slowly after it. Persistent congestion looks similar, so two conditions apply. The flow must be healthy before the
//! silence (its controller decides), and must have received [`REPORTS_BETWEEN`] reports since the last one.

use headway_units::{Duration, Instant};

/// The shortest silence, as the least timeout of Linux; four round trips if that is longer (RFC 5348 section 4.3).
pub(crate) const SHORTEST_SILENCE: Duration = Duration::from_millis(200);
/// Packets without an answer that make a silence, as many as make a loss (RFC 5681 section 3.2).
pub(crate) const UNANSWERED: usize = 3;
/// The highest loss event rate of a healthy flow: a window of four packets, below which timeouts are the rule (RFC 5348
/// section 3.1).
pub(crate) const HEALTHY_LOSS: f64 = 0.1;
/// The gap between probes, or a round trip if that is longer (RFC 8085 section 3.1.3 allows one datagram in each; RFC 4340
/// section 3.4 takes 200 ms for a round trip that is not known).
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_millis(200);
/// How long a silent path is probed. The controller's own back-off follows.
const LONGEST_PROBED: Duration = Duration::from_secs(60);
/// Reports before a silence is taken for an outage, at the beginning and after another one.
pub(crate) const REPORTS_BETWEEN: u32 = 8;
/// Packets that arrive without a loss after a silence, before another one is taken for an outage: as many as separate two losses at
/// [`HEALTHY_LOSS`]. On a narrow path that drops three of four packets, fewer arrive.
pub(crate) const PACKETS_BETWEEN: u64 = 10;

/// The silence of a path, as its sender sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    began: Option<Instant>,
    /// The first packet after the last silence.
    fresh_from: u64,
    /// Reports since the beginning, or since the last silence.
    reports: u32,
    /// Packets that have arrived since the last silence, if none was lost.
    arrived: u64,
}

impl Silence {
    /// Begins a silence, if enough reports have arrived since the last one, or enough packets and nothing was lost (`lossless`).
    /// Returns whether it has begun now.
    pub fn begin(&mut self, now: Instant, lossless: bool) -> bool {
        let enough = self.reports >= REPORTS_BETWEEN || lossless && self.arrived >= PACKETS_BETWEEN;
        let begins = enough && self.began.is_none();
        if begins {
            self.began = Some(now);
        }
        begins
    }

    /// Counts a report on packet `acknowledged` that arrives before packet `next` is sent. Returns whether it ends a silence.
    pub fn end(&mut self, acknowledged: u64, next: u64) -> bool {
        let ended = self.began.take().is_some();
        if ended {
            (self.fresh_from, self.reports, self.arrived) = (next, 0, 0);
        } else if self.fresh_from > 0 {
            self.arrived = self.arrived.max(acknowledged.saturating_add(1).saturating_sub(self.fresh_from));
        }
        self.reports = self.reports.saturating_add(1);
        ended
    }

    /// Returns whether the path is silent, and for less than a minute.
    #[must_use]
    pub fn is_probed(&self, now: Instant) -> bool {
        self.began.is_some_and(|began| now.since(began) < LONGEST_PROBED)
    }

    /// Returns whether the round trip of this packet includes a silence.
    #[must_use]
    pub const fn covers(&self, number: u64) -> bool {
        self.began.is_some() || number < self.fresh_from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After enough reports.
    fn established() -> Silence {
        let mut silence = Silence::default();
        (0..REPORTS_BETWEEN).for_each(|_| assert!(!silence.end(0, 0)));
        silence
    }

    /// RFC 6298 section 3: packets from before the end of a silence do not measure the path.
    #[test]
    fn samples_of_a_silence() {
        let mut silence = established();
        assert!(!silence.end(4, 5) && !silence.covers(0));
        silence.begin(Instant::from_secs(1), false);
        assert!(silence.covers(0) && silence.covers(100));
        assert!(silence.end(6, 7));
        assert_eq!([6, 7].map(|number| silence.covers(number)), [true, false]);
    }

    /// RFC 8085 section 3.1.3 bounds probes, and a minute bounds how long they last.
    #[test]
    fn a_silence_is_probed_for_a_minute() {
        let mut silence = established();
        assert!(!silence.is_probed(Instant::ZERO));
        silence.begin(Instant::from_secs(1), false);
        silence.begin(Instant::from_secs(30), false);
        assert!(silence.is_probed(Instant::from_millis(60_999)) && !silence.is_probed(Instant::from_secs(61)));
    }

    /// A radio that fails twice: nothing was lost between the two outages.
    #[test]
    fn a_second_silence_without_losses() {
        for (arrived, lossless, outage) in [(10, true, true), (9, true, false), (10, false, false)] {
            let mut silence = Silence::default();
            silence.begin(Instant::ZERO, true);
            assert!(!silence.end(0, 1), "the flow has received no report yet");
            let mut silence = established();
            silence.begin(Instant::ZERO, true);
            assert!(silence.end(3, 5));
            assert!(!silence.end(4 + arrived, 100));
            silence.begin(Instant::from_secs(1), lossless);
            assert_eq!(silence.end(99, 101), outage, "{arrived} {lossless}");
        }
    }

    /// Persistent congestion: a silence after losses, within eight reports of the last one, is loss.
    #[test]
    fn a_second_silence_is_loss() {
        let mut silence = established();
        silence.begin(Instant::ZERO, false);
        assert!(silence.end(0, 1));
        for _ in 1..8 {
            silence.begin(Instant::from_secs(1), false);
            assert!(!silence.end(0, 1));
        }
        silence.begin(Instant::from_secs(2), false);
        assert!(silence.end(0, 1));
    }
}
