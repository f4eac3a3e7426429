//! Wireless-TFRC of the UDDJ paper: "it can distinguish all channel loss from estimated loss events". Nobody can but a simulator, which tells the
//! receiver of each packet that the channel takes.

use super::{LossFilter, Seen};
use std::collections::BTreeSet;

/// Losses that may still be asked about.
const MOST: usize = 4096;

/// Knows which losses were the channel's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    channel: BTreeSet<u64>,
}

impl LossFilter for Oracle {
    fn on_packet(&mut self, _: &Seen) {}

    /// A run with any packet of the queue's counts: it is one loss event in any case.
    fn counts(&mut self, first: u64, last: u64) -> bool {
        let told = self.channel.range(first..=last).count() as u64;
        told <= last - first
    }

    fn on_channel_loss(&mut self, number: u64) {
        if self.channel.len() == MOST {
            self.channel.pop_first();
        }
        self.channel.insert(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_unless_all_of_it_was_the_channels() {
        let mut oracle = Oracle::default();
        [3, 4, 9].into_iter().for_each(|number| oracle.on_channel_loss(number));
        assert_eq!(
            [(3, 3), (3, 4), (3, 5), (8, 9), (9, 9), (1, 2)].map(|(first, last)| oracle.counts(first, last)),
            [false, false, true, true, false, true]
        );
        (0..10_000).for_each(|number| oracle.on_channel_loss(number));
        assert_eq!(oracle.channel.len(), MOST);
    }
}
