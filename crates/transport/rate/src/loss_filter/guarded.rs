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
//!
//! The first losses count, since nothing is known yet. Once the path explains them they no longer count: each loss has
//! the least share of all judgements since it occurred, except for that of standing queues.

use super::counts::Counts;
use super::gaps::Gaps;
use super::paces::Paces;
use super::queueing::Queueing;
use super::standing::Standing;
use super::{LossFilter, Seen};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Number of classes of queueing delays. The first extends to [`SHORTEST`]; each further one is twice as wide.
const CLASSES: usize = 16;
const SHORTEST: Duration = Duration::from_micros(50);
/// Time constant of the exponential decay of the counts, in round trips.
pub(super) const MEMORY: u64 = 256;
/// Minimum share of all packets for shorter or longer queues to be conclusive.
const SHARE: f64 = 1.0 / 16.0;
/// Minimum number of packets for them to be conclusive.
const MIN_PACKETS: f64 = 16.0;
/// Maximum number of losses that are judged again.
const MAX_LOSSES: usize = 64;
/// Round-trip time assumed while it is unknown.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// Consecutive missing packets, which are judged as one loss.
#[derive(Clone, Copy, Debug)]
struct Loss {
    first: u64,
    last: u64,
    /// Classes of its queueing delay and of its sending rate.
    class: usize,
    pace: usize,
    /// Share that counts, and the least value that it may have.
    part: f64,
    least: f64,
    counts: bool,
}

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
    /// Recent losses, the newest last.
    losses: VecDeque<Loss>,
    /// Accumulated share of older losses that is still to be counted.
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

    fn lose(&mut self, seen: &Seen, missing: u64, queue: Duration) {
        let class = Self::class(queue);
        self.classes[class].lost += 1.0;
        let pace = self.paces.lose();
        if self.losses.len() == MAX_LOSSES
            && let Some(oldest) = self.losses.pop_front()
        {
            self.owed = (self.owed + oldest.part).fract();
        }
        let (first, last) = (seen.number - missing, seen.number - 1);
        self.losses.push_back(Loss { first, last, class, pace, part: 1.0, least: self.standing.part(), counts: true });
        self.judge();
    }

    /// Judges all recent losses by what is known now.
    fn judge(&mut self) {
        let parts: [f64; CLASSES] = std::array::from_fn(|class| self.part(class));
        let mut owed = self.owed;
        for loss in &mut self.losses {
            let part = parts[loss.class].max(self.paces.part(loss.pace)).max(loss.least);
            loss.part = loss.part.min(part);
            owed += loss.part;
            loss.counts = owed >= 1.0;
            if loss.counts {
                owed -= 1.0;
            }
        }
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
            self.lose(seen, missing, before.max(queue));
            self.row = [None; 2];
        }
        if let Some(before) = self.row[0] {
            // The packet between the two was received; lost packets are sorted by the same two neighbors.
            self.classes[Self::class(before.max(queue))].received += 1.0;
        }
        self.row = [self.row[1], Some(queue)];
    }

    /// Unknown packets count.
    fn counts(&mut self, first: u64, _: u64) -> bool {
        let loss = self.losses.iter().rev().find(|loss| (loss.first..=loss.last).contains(&first));
        loss.is_none_or(|loss| loss.counts)
    }

    fn revises(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
