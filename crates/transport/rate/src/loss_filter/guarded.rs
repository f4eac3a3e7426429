//! A filter of losses that goes by the path alone (ours): a loss is the congestion's as far as losses are more frequent where queues are longer, or where more
//! is sent.
//!
//! Packets are sorted by the queueing delay around them, in classes of which each is twice as wide as the one before. Of a class with l losses among n
//! packets, where shorter queues had L losses among N packets, the channel explains
//!
//! ```text
//! E = n L / N,  with chance E + 3 sqrt(E + E^2 / L)
//! counted: min(1, 2 (1 - E / l)) of its losses
//! ```
//! A loss in the shortest queues is judged by what longer ones say of them: where these lose no more, queues have no part in it. Where delays say
//! nothing (there are no shorter queues, and hardly longer ones) all losses count, as for TFRC: what the filter lets through, it has seen to be no
//! queue's. The same is asked of the pace of sending (`paces`). Nor is any loss let through while the queue stands (`standing`): then there is nothing to be
//! gained by it, and flows that share the queue see the same of it. The greatest part counts.

use super::counts::Counts;
use super::gaps::Gaps;
use super::paces::Paces;
use super::queueing::Queueing;
use super::standing::Standing;
use super::{LossFilter, Seen};
use headway_units::{Duration, Instant};

/// Classes of queueing delays; the first goes up to [`SHORTEST`], and each is twice as wide as the one before.
const CLASSES: usize = 16;
const SHORTEST: Duration = Duration::from_micros(50);
/// In so many round trips what was seen loses all but 1/e of its weight.
pub(super) const MEMORY: u64 = 256;
/// Shorter and longer queues tell something if so much of all packets met them.
const SHARE: f64 = 1.0 / 16.0;
/// And if they are so many.
const FEWEST: f64 = 16.0;
/// The round trip as long as nobody says it.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// What was seen of late.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    gaps: Gaps,
    queueing: Queueing,
    /// The queueing delays of the last two packets, if they came one right after the other.
    row: [Option<Duration>; 2],
    classes: [Counts; CLASSES],
    standing: Standing,
    paces: Paces,
    faded: Option<Instant>,
    /// What is to count of the losses that were let through.
    owed: f64,
}

impl Guarded {
    fn class(queue: Duration) -> usize {
        let widths = queue.as_nanos().saturating_sub(1) / SHORTEST.as_nanos();
        (u64::BITS - widths.leading_zeros()).min(CLASSES as u32 - 1) as usize
    }

    fn fade(&mut self, seen: &Seen) {
        let rtt = seen.rtt.unwrap_or(UNKNOWN_RTT);
        if self.faded.is_some_and(|at| seen.came.since(at) < rtt) {
            return;
        }
        self.faded = Some(seen.came);
        self.standing.fade(1.0 - 1.0 / MEMORY as f64);
        self.classes.iter_mut().for_each(|class| class.fade(1.0 - 1.0 / MEMORY as f64));
    }

    /// Which part of the losses counts that have such a queue around them.
    fn part(&self, class: usize) -> f64 {
        let (shorter, longer) = (Counts::sum(&self.classes[..class]), Counts::sum(&self.classes[class + 1..]));
        let own = self.classes[class];
        let all = shorter.with(own).with(longer).came;
        let tells = |counts: Counts| counts.came >= FEWEST.max(SHARE * all);
        if tells(shorter) {
            own.beyond(shorter)
        } else if tells(longer) && own.came + shorter.came > 0.0 {
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
            // The packet between the two came: lost ones are judged by the same two.
            self.classes[Self::class(before.max(queue))].came += 1.0;
        }
        self.row = [self.row[1], Some(queue)];
    }

    fn counts(&mut self, first: u64, _: u64) -> bool {
        self.gaps.counts(first)
    }
}

#[cfg(test)]
mod tests;
