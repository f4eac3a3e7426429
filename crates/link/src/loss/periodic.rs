//! Periodic loss: every k-th packet is lost, counted as they come to the channel (ns-2's `ErrorModel/List` with a list of
//! multiples, or `ErrorModel/Periodic`). No randomness.

use super::Place;
use headway_units::{Dialect, OptionError};
use serde::{Deserialize, Serialize};

/// Options of `kind = "periodic"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// One packet in so many is lost; 0 for none.
    pub every: u64,
    /// Where packets are lost.
    pub place: Place,
    /// From which packet on, counted from 0, another number holds. Rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Another number from a packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The first packet that counts anew, from 0.
    pub packet: u64,
    /// One in so many from there on; 0 for none.
    pub every: u64,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { every: 0, place: Place::BeforeQueue, changes: Vec::new() }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.changes.windows(2).any(|pair| pair[0].packet >= pair[1].packet) {
            return Err(OptionError::new("changes", "each change must begin at a later packet than the one before"));
        }
        Ok(())
    }
}

/// A running periodic loss model.
#[derive(Debug)]
pub struct Periodic {
    place: Place,
    every: u64,
    /// Packets since the last loss or change.
    since: u64,
    /// Packets that have passed.
    passed: u64,
    /// Those to come, the next one last.
    changes: Vec<Change>,
}

impl Periodic {
    pub(super) fn new(options: &Options) -> Self {
        let changes = options.changes.iter().rev().copied().collect();
        Self { place: options.place, every: options.every, since: 0, passed: 0, changes }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Packet number n after a change (n = 0 is the change itself) is lost where n is a multiple of `every`, but never
    /// packet 0: as in a list of k, 2k, 3k..
    pub(super) fn loses(&mut self) -> bool {
        if let Some(change) = self.changes.pop_if(|change| change.packet == self.passed) {
            self.every = change.every;
            self.since = 0;
        }
        self.passed += 1;
        let lost = self.every > 0 && self.since == self.every;
        self.since = if lost { 1 } else { self.since + 1 };
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;

    fn lost(options: &Options, packets: u64) -> Vec<u64> {
        let mut loss = Periodic::new(options);
        (0..packets).filter(|_| loss.loses()).collect()
    }

    #[test]
    fn every_kth_is_lost_counted_from_the_change() {
        let changes = vec![Change { packet: 25, every: 5 }, Change { packet: 42, every: 0 }];
        let options = Options { every: 10, place: Place::BeforeQueue, changes };
        assert_eq!(lost(&options, 100), [10, 20, 30, 35, 40]);
        assert!(options.check().is_ok());
        assert!(lost(&Options::preset(Dialect::Rfc), 100).is_empty());
        assert_eq!(lost(&Options { every: 1, changes: Vec::new(), ..options }, 4), [1, 2, 3]);
    }

    #[test]
    fn changes_must_rise() {
        let changes = vec![Change { packet: 25, every: 5 }, Change { packet: 25, every: 0 }];
        assert_eq!(Options { changes, ..Options::preset(Dialect::Rfc) }.check().unwrap_err().key, "changes");
    }
}
