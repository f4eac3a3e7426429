//! What is lost at which pace of sending: losses that become more frequent as more is sent are made by it.

use super::Seen;
use super::counts::Counts;
use headway_units::Instant;

/// Classes of gaps between packets, two to each doubling, from 1 us (2^10 ns) on.
const CLASSES: usize = 50;
const SHORTEST_LOG2: u32 = 10;
/// The part that a new gap takes in the mean.
const SMOOTHING: u64 = 16;
/// Packets that a class remembers: what is lost at a pace is known as long as nothing goes at it.
const MEMORY: f64 = 4096.0;
/// Slower packets tell something if they are so many.
const FEWEST: f64 = 64.0;

/// Losses by the pace of sending.
#[derive(Clone, Debug)]
pub(super) struct Paces {
    classes: [Counts; CLASSES],
    last: Option<(u64, Instant)>,
    /// The mean gap between two packets that were sent, in ns.
    gap_ns: u64,
}

impl Default for Paces {
    fn default() -> Self {
        Self { classes: [Counts::default(); CLASSES], last: None, gap_ns: 0 }
    }
}

impl Paces {
    /// A packet has come.
    pub(super) fn add(&mut self, seen: &Seen) {
        if let Some((number, sent)) = self.last.replace((seen.number, seen.sent)) {
            let gap_ns = seen.sent.since(sent).as_nanos() / seen.number.saturating_sub(number).max(1);
            self.gap_ns = match self.gap_ns {
                0 => gap_ns,
                mean => mean - mean / SMOOTHING + gap_ns / SMOOTHING,
            };
        }
        let class = &mut self.classes[class(self.gap_ns)];
        class.came += 1.0;
        if class.came > MEMORY {
            class.fade(0.5);
        }
    }

    /// One is lost: which part of it counts, since losses are more frequent than where less was sent.
    pub(super) fn lose(&mut self) -> f64 {
        let class = class(self.gap_ns);
        self.classes[class].lost += 1.0;
        let slower = Counts::sum(&self.classes[class + 1..]);
        if slower.came >= FEWEST { self.classes[class].beyond(slower) } else { 0.0 }
    }
}

/// Longer gaps have greater numbers.
fn class(gap_ns: u64) -> usize {
    let gap_ns = gap_ns.max(1 << SHORTEST_LOG2);
    let log2 = gap_ns.ilog2();
    let upper_half = u128::from(gap_ns).pow(2) >= 1 << (2 * log2 + 1);
    (2 * (log2 - SHORTEST_LOG2) as usize + usize::from(upper_half)).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::super::seen;
    use super::*;

    #[test]
    fn two_classes_are_a_doubling() {
        let classes = [0, 1024, 1448, 1449, 2047, 2048, 4096, u64::MAX].map(class);
        assert_eq!(classes, [0, 0, 0, 1, 1, 2, 4, CLASSES - 1]);
    }

    /// 2000 packets each 20 ms lose 2 %, then 4000 each 2 ms lose `p`: what the pace has made counts.
    fn faster(p: u64) -> f64 {
        let mut paces = Paces::default();
        let mut part = 0.0;
        for number in 0..6000_u64 {
            let slow = number.min(2000);
            let sent = 20_000 * slow + 2_000 * (number - slow);
            paces.add(&seen(number, sent, sent));
            let one_in = if number < 2000 { 50 } else { 100 / p };
            if number % one_in == one_in - 1 {
                part = paces.lose();
            }
        }
        part
    }

    /// Fewer than 64 slower packets say nothing. Slower packets without a loss explain none: all losses of the faster ones count.
    #[test]
    fn sixty_four_slower_packets_tell_something() {
        for (slower, part) in [(63.0, 0.0), (64.0, 1.0), (65.0, 1.0)] {
            let mut paces = Paces { gap_ns: 2_000_000, ..Paces::default() };
            paces.classes[class(20_000_000)].came = slower;
            paces.classes[class(2_000_000)].came = 100.0;
            assert_eq!(paces.lose(), part, "{slower}");
        }
    }

    /// A class remembers 4096 packets: with the next it holds half of them, and half of their losses.
    #[test]
    fn a_pace_forgets_by_half() {
        let mut paces = Paces::default();
        for number in 0..=4096 {
            let held = paces.classes[0].came;
            assert_eq!(held, number as f64);
            paces.classes[0].lost = 8.0;
            paces.add(&seen(number, 0, 0));
        }
        assert_eq!((paces.classes[0].came, paces.classes[0].lost), (2048.5, 4.0));
    }

    #[test]
    fn losses_that_grow_with_the_rate_count() {
        assert_eq!(faster(2), 0.0);
        assert_eq!(faster(10), 1.0);
        let some = faster(4);
        assert!(some > 0.0 && some < 1.0, "{some}");
    }
}
