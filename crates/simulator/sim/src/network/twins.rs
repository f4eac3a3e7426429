//! Packets of which links make copies: to their flow they are one.
//!
//! A flow's packet arrives with the first of its copies, and is lost if none of them arrives.

use std::collections::BTreeMap;

/// By their number, packets of which there are or were several.
#[derive(Debug, Default)]
pub(super) struct Twins(BTreeMap<u64, Twin>);

#[derive(Debug)]
struct Twin {
    /// How many are on their way.
    left: u32,
    /// Whether one has arrived.
    arrived: bool,
}

impl Twins {
    /// Of how many packets there are copies under way.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// One more of this packet.
    pub(super) fn copied(&mut self, uid: u64) {
        self.0.entry(uid).or_insert(Twin { left: 1, arrived: false }).left += 1;
    }

    fn end(&mut self, uid: u64, arrives: bool) -> Option<Twin> {
        let twin = self.0.get_mut(&uid)?;
        let before = Twin { left: twin.left - 1, arrived: twin.arrived };
        (twin.left, twin.arrived) = (before.left, before.arrived || arrives);
        if before.left == 0 {
            self.0.remove(&uid);
        }
        Some(before)
    }

    /// One of this packet arrives; whether another has before.
    #[cold]
    pub(super) fn arrives(&mut self, uid: u64) -> bool {
        self.end(uid, true).is_some_and(|twin| twin.arrived)
    }

    /// One of this packet is lost; whether another has arrived, or still may.
    #[cold]
    pub(super) fn others(&mut self, uid: u64) -> bool {
        self.end(uid, false).is_some_and(|twin| twin.arrived || twin.left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of packet 7: lost, arrived, arrived again. Two of packet 8: both lost. Nothing is kept of what has ended.
    #[test]
    fn a_packet_arrives_once_and_is_lost_with_its_last_copy() {
        let mut twins = Twins::default();
        for uid in [7, 7, 8] {
            twins.copied(uid);
        }
        assert_eq!([twins.others(7), twins.arrives(7), twins.arrives(7)], [true, false, true]);
        assert_eq!([twins.others(8), twins.others(8)], [true, false]);
        assert_eq!([twins.others(9), twins.arrives(9)], [false; 2]);
        assert_eq!(twins.len(), 0);
    }
}
