//! Packets that links have duplicated; the flow counts each packet once.
//!
//! A packet counts as received when its first copy arrives, and as lost if no copy arrives.

use std::collections::BTreeMap;

/// State of duplicated packets, by packet number.
#[derive(Debug, Default)]
pub(super) struct Duplicates(BTreeMap<u64, Duplicate>);

#[derive(Debug)]
struct Duplicate {
    /// Number of copies in the network.
    left: u32,
    arrived: bool,
}

impl Duplicates {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn copied(&mut self, uid: u64) {
        self.0.entry(uid).or_insert(Duplicate { left: 1, arrived: false }).left += 1;
    }

    fn end(&mut self, uid: u64, arrives: bool) -> Option<Duplicate> {
        let duplicate = self.0.get_mut(&uid)?;
        let before = Duplicate { left: duplicate.left - 1, arrived: duplicate.arrived };
        (duplicate.left, duplicate.arrived) = (before.left, before.arrived || arrives);
        if before.left == 0 {
            self.0.remove(&uid);
        }
        Some(before)
    }

    /// Records the arrival of a copy. Returns whether another copy arrived before.
    #[cold]
    pub(super) fn arrives(&mut self, uid: u64) -> bool {
        self.end(uid, true).is_some_and(|duplicate| duplicate.arrived)
    }

    /// Records the loss of a copy. Returns whether another copy has arrived or may still arrive.
    #[cold]
    pub(super) fn others(&mut self, uid: u64) -> bool {
        self.end(uid, false).is_some_and(|duplicate| duplicate.arrived || duplicate.left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three copies of packet 7: lost, arrived, arrived again. Two copies of packet 8: both lost. Packets without
    /// copies in the network are not kept.
    #[test]
    fn a_packet_arrives_once_and_is_lost_with_its_last_copy() {
        let mut duplicates = Duplicates::default();
        for uid in [7, 7, 8] {
            duplicates.copied(uid);
        }
        assert_eq!([duplicates.others(7), duplicates.arrives(7), duplicates.arrives(7)], [true, false, true]);
        assert_eq!([duplicates.others(8), duplicates.others(8)], [true, false]);
        assert_eq!([duplicates.others(9), duplicates.arrives(9)], [false; 2]);
        assert_eq!(duplicates.len(), 0);
    }
}
