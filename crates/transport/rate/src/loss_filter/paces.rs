//! Losses by sending rate: losses that become more frequent at higher rates are caused by the sender.

use super::Seen;
use super::counts::Counts;
use headway_units::Instant;

/// Number of classes of gaps between packets, two per factor of 2, from 1 us (2^10 ns).
const CLASSES: usize = 50;
const SHORTEST_LOG2: u32 = 10;
/// Inverse gain of the mean gap.
const SMOOTHING: u64 = 16;
/// Number of packets after which a class halves its counts. Classes do not fade while no packet falls into them.
const MEMORY: f64 = 4096.0;
/// Minimum number of packets in slower classes to be conclusive.
const MIN_PACKETS: f64 = 64.0;

/// Losses by sending rate.
#[derive(Clone, Debug)]
pub(super) struct Paces {
    classes: [Counts; CLASSES],
    last: Option<(u64, Instant)>,
    /// Mean gap between two sent packets, in ns.
    gap_ns: u64,
}

impl Default for Paces {
    fn default() -> Self {
        Self { classes: [Counts::default(); CLASSES], last: None, gap_ns: 0 }
    }
}

impl Paces {
    pub(super) fn add(&mut self, seen: &Seen) {
        if let Some((number, sent)) = self.last.replace((seen.number, seen.sent)) {
            let gap_ns = seen.sent.since(sent).as_nanos() / seen.number.saturating_sub(number).max(1);
            self.gap_ns = match self.gap_ns {
                0 => gap_ns,
                mean => mean - mean / SMOOTHING + gap_ns / SMOOTHING,
            };
        }
        let class = &mut self.classes[class(self.gap_ns)];
        class.received += 1.0;
        if class.received > MEMORY {
            class.fade(0.5);
        }
    }

    /// Adds a loss and returns its class.
    pub(super) fn lose(&mut self) -> usize {
        let class = class(self.gap_ns);
        self.classes[class].lost += 1.0;
        class
    }

    /// Returns the share of the losses in a class that counts, because they are more frequent than at lower rates.
    pub(super) fn part(&self, class: usize) -> f64 {
        let slower = Counts::sum(&self.classes[class + 1..]);
        if slower.received >= MIN_PACKETS { self.classes[class].beyond(slower) } else { 0.0 }
    }
}

/// Returns the class of a gap; longer gaps have greater classes.
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
    fn two_classes_span_a_factor_of_two() {
        let classes = [0, 1024, 1448, 1449, 2047, 2048, 4096, u64::MAX].map(class);
        assert_eq!(classes, [0, 0, 0, 1, 1, 2, 4, CLASSES - 1]);
    }

    /// Returns the share that counts after 2000 packets every 20 ms with 2 % loss and 4000 every 2 ms with `p` % loss.
    fn faster(p: u64) -> f64 {
        let mut paces = Paces::default();
        let mut part = 0.0;
        for number in 0..6000_u64 {
            let slow = number.min(2000);
            let sent = 20_000 * slow + 2_000 * (number - slow);
            paces.add(&seen(number, sent, sent));
            let one_in = if number < 2000 { 50 } else { 100 / p };
            if number % one_in == one_in - 1 {
                let class = paces.lose();
                part = paces.part(class);
            }
        }
        part
    }

    /// Fewer than 64 slower packets are inconclusive. Without loss, all losses at the higher rate count.
    #[test]
    fn sixty_four_slower_packets_are_conclusive() {
        for (slower, part) in [(63.0, 0.0), (64.0, 1.0), (65.0, 1.0)] {
            let mut paces = Paces { gap_ns: 2_000_000, ..Paces::default() };
            paces.classes[class(20_000_000)].received = slower;
            paces.classes[class(2_000_000)].received = 100.0;
            let class = paces.lose();
            assert_eq!(paces.part(class), part, "{slower}");
        }
    }

    /// A class with more than 4096 packets halves its counts.
    #[test]
    fn a_full_class_halves_its_counts() {
        let mut paces = Paces::default();
        for number in 0..=4096 {
            let held = paces.classes[0].received;
            assert_eq!(held, number as f64);
            paces.classes[0].lost = 8.0;
            paces.add(&seen(number, 0, 0));
        }
        assert_eq!((paces.classes[0].received, paces.classes[0].lost), (2048.5, 4.0));
    }

    #[test]
    fn losses_that_grow_with_the_rate_count() {
        assert_eq!(faster(2), 0.0);
        assert_eq!(faster(10), 1.0);
        let some = faster(4);
        assert!(some > 0.0 && some < 1.0, "{some}");
    }
}
