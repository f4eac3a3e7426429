//! Loss filter by evidence of the path (our own): losses count as far as they are more frequent with longer queues or
//! at higher sending rates.
//!
//! Packets are sorted by the queueing delay around them into classes, each twice as wide as the previous one. For a
//! class with l losses in n packets, where shorter queues had L losses in N packets, the channel explains
//!
//! ```text
//! E = n L / N,  with chance B = E + 3 sqrt(E + E^2 / L)
//! counted: min(1, 2 (1 - B / l)) of its losses
//! ```
//! Losses in the shortest queues are judged by the longer ones: if these do not lose more, queues are not the cause. If
//! delays are inconclusive (no shorter and few longer queues), all losses count, as for TFRC, so a loss is ignored only
//! on evidence. The same comparison is made for sending rates (`paces`). While a standing queue exists (`standing`),
//! all losses count: ignoring them gains nothing then, and flows that share the queue observe it as well. The greatest
//! of the three shares applies.

use super::counts::Counts;
use super::gaps::Gaps;
use super::paces::Paces;
use super::queueing::Queueing;
use super::standing::Standing;
use super::{LossFilter, Seen};
use headway_units::{Duration, Instant};

/// Number of classes of queueing delays. The first extends to [`SHORTEST`]; each further one is twice as wide.
const CLASSES: usize = 16;
const SHORTEST: Duration = Duration::from_micros(50);
/// Time constant of the exponential decay of the counts, in round trips.
pub(super) const MEMORY: u64 = 256;
/// Minimum share of all packets for shorter or longer queues to be conclusive.
const SHARE: f64 = 1.0 / 16.0;
/// Minimum number of packets for them to be conclusive.
const MIN_PACKETS: f64 = 16.0;
/// Round-trip time assumed while it is unknown.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// State of the filter, with decaying counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    gaps: Gaps,
    queueing: Queueing,
    /// Queueing delays of the last two packets, if their numbers are consecutive.
    row: [Option<Duration>; 2],
    classes: [Counts; CLASSES],
    standing: Standing,
    paces: Paces,
    faded: Option<Instant>,
    /// Accumulated share of ignored losses that is still to be counted.
    owed: f64,
}

impl Guarded {
    fn class(queue: Duration) -> usize {
        let widths = queue.as_nanos().saturating_sub(1) / SHORTEST.as_nanos();
        (u64::BITS - widths.leading_zeros()).min(CLASSES as u32 - 1) as usize
    }

    fn fade(&mut self, seen: &Seen) {
        let rtt = seen.rtt.unwrap_or(UNKNOWN_RTT);
        if self.faded.is_some_and(|at| seen.arrived.since(at) < rtt) {
            return;
        }
        self.faded = Some(seen.arrived);
        self.standing.fade(1.0 - 1.0 / MEMORY as f64);
        self.classes.iter_mut().for_each(|class| class.fade(1.0 - 1.0 / MEMORY as f64));
    }

    /// Returns the share of losses in a class that counts as congestion.
    fn part(&self, class: usize) -> f64 {
        let (shorter, longer) = (Counts::sum(&self.classes[..class]), Counts::sum(&self.classes[class + 1..]));
        let own = self.classes[class];
        let all = shorter.with(own).with(longer).received;
        let conclusive = |counts: Counts| counts.received >= MIN_PACKETS.max(SHARE * all);
        if conclusive(shorter) {
            own.beyond(shorter)
        } else if conclusive(longer) && own.received + shorter.received > 0.0 {
            longer.beyond(shorter.with(own))
        } else {
            1.0
        }
    }

    fn judge(&mut self, queue: Duration) -> bool {
        let class = Self::class(queue);
        self.classes[class].lost += 1.0;
        self.owed += self.part(class).max(self.paces.lose()).max(self.standing.part());
        let counts = self.owed >= 1.0;
        if counts {
            self.owed -= 1.0;
        }
        counts
    }
}

impl LossFilter for Guarded {
    fn on_packet(&mut self, seen: &Seen) {
        self.fade(seen);
        let met = self.queueing.add(seen);
        self.standing.add(met.above + met.below);
        let queue = met.above;
        self.paces.add(seen);
        let missing = self.gaps.before(seen);
        if missing > 0 {
            let before = self.row[1].unwrap_or(queue);
            let counts = self.judge(before.max(queue));
            self.gaps.judge(seen, missing, counts);
            self.row = [None; 2];
        }
        if let Some(before) = self.row[0] {
            // The packet between the two was received; lost packets are sorted by the same two neighbors.
            self.classes[Self::class(before.max(queue))].received += 1.0;
        }
        self.row = [self.row[1], Some(queue)];
    }

    fn counts(&mut self, first: u64, _: u64) -> bool {
        self.gaps.counts(first)
    }
}

#[cfg(test)]
mod tests;
