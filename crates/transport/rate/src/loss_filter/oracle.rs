//! Wireless-TFRC of the UDDJ paper: "it can distinguish all channel loss from estimated loss events". Only a simulator
//! can, which reports each packet lost on the channel to the receiver.

use super::{LossFilter, Seen};
use std::collections::BTreeSet;

/// Maximum number of recorded channel losses.
const MAX_LOSSES: usize = 4096;

/// Filter that knows the losses of the channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    channel: BTreeSet<u64>,
}

impl LossFilter for Oracle {
    fn on_packet(&mut self, _: &Seen) {}

    /// Counts a run that contains any loss in a queue, since the run is a single loss event.
    fn counts(&mut self, first: u64, last: u64) -> bool {
        let channel_losses = self.channel.range(first..=last).count() as u64;
        channel_losses <= last - first
    }

    fn on_channel_loss(&mut self, number: u64) {
        if self.channel.len() == MAX_LOSSES {
            self.channel.pop_first();
        }
        self.channel.insert(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_unless_the_channel_lost_all_of_it() {
        let mut oracle = Oracle::default();
        [3, 4, 9].into_iter().for_each(|number| oracle.on_channel_loss(number));
        assert_eq!(
            [(3, 3), (3, 4), (3, 5), (8, 9), (9, 9), (1, 2)].map(|(first, last)| oracle.counts(first, last)),
            [false, false, true, true, false, true]
        );
        (0..10_000).for_each(|number| oracle.on_channel_loss(number));
        assert_eq!(oracle.channel.len(), MAX_LOSSES);
    }
}
