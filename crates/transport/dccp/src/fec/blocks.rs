//! Blocks in flight at the sender: whether the receiver can restore a lost datagram follows from the arrivals of its block.

use std::collections::{BTreeMap, VecDeque};

/// Maximum number of blocks; the oldest is decided when there are more.
const MAX_BLOCKS: usize = 1024;

/// Blocks whose packets are not all reported, with lost datagrams `D` that the receiver may restore.
#[derive(Debug)]
pub(super) struct Blocks<D> {
    blocks: BTreeMap<u64, Block<D>>,
    decided: VecDeque<(D, bool)>,
}

#[derive(Debug)]
struct Block<D> {
    datagrams: usize,
    arrived: usize,
    /// Packets that are not reported, and repair packets that are not sent.
    open: usize,
    /// Whether the block is complete: the number of its repair packets is known.
    is_complete: bool,
    lost: Vec<D>,
}

impl<D> Default for Blocks<D> {
    fn default() -> Self {
        Self { blocks: BTreeMap::new(), decided: VecDeque::new() }
    }
}

impl<D> Blocks<D> {
    /// Adds a datagram to a block, which begins with its first one. Blocks begin in ascending order.
    pub(super) fn add(&mut self, block: u64) {
        if self.blocks.len() >= MAX_BLOCKS
            && !self.blocks.contains_key(&block)
            && let Some((_, oldest)) = self.blocks.pop_first()
        {
            self.decided.extend(oldest.lost.into_iter().map(|lost| (lost, false)));
        }
        let new = || Block { datagrams: 0, arrived: 0, open: 0, is_complete: false, lost: Vec::new() };
        let block = self.blocks.entry(block).or_insert_with(new);
        block.datagrams += 1;
        block.open += 1;
    }

    /// Completes a block, to which this number of repair packets belongs.
    pub(super) fn complete(&mut self, block: u64, repairs: usize) {
        if let Some(found) = self.blocks.get_mut(&block) {
            found.open += repairs;
            found.is_complete = true;
        }
        self.decide(block);
    }

    /// Records that a packet of a block arrived or not. `lost` is its datagram if it is lost, and not a repair packet.
    pub(super) fn settle(&mut self, block: u64, arrived: bool, lost: Option<D>) {
        let Some(found) = self.blocks.get_mut(&block) else {
            self.decided.extend(lost.map(|lost| (lost, false)));
            return;
        };
        found.open = found.open.saturating_sub(1);
        found.arrived += usize::from(arrived);
        found.lost.extend(lost);
        self.decide(block);
    }

    /// Returns the next decided datagram, and whether the receiver can restore it.
    pub(super) fn poll(&mut self) -> Option<(D, bool)> {
        self.decided.pop_front()
    }

    /// Removes and returns the lost datagrams of all blocks, at the end of a connection.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = D> + '_ {
        let decided = std::mem::take(&mut self.decided).into_iter().map(|(lost, _)| lost);
        decided.chain(std::mem::take(&mut self.blocks).into_values().flat_map(|block| block.lost))
    }

    fn decide(&mut self, number: u64) {
        let Some(block) = self.blocks.get_mut(&number).filter(|block| block.is_complete) else { return };
        let can_restore = block.arrived >= block.datagrams;
        if can_restore || block.arrived + block.open < block.datagrams {
            self.decided.extend(block.lost.drain(..).map(|lost| (lost, can_restore)));
        }
        if block.open == 0 {
            self.blocks.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(blocks: &mut Blocks<char>) -> Vec<(char, bool)> {
        std::iter::from_fn(|| blocks.poll()).collect()
    }

    /// In a block of n datagrams, a lost datagram is restored once n packets of the block have arrived.
    #[test]
    fn arrivals_decide() {
        let mut blocks = Blocks::default();
        (0..3).for_each(|_| blocks.add(0));
        blocks.settle(0, true, None);
        blocks.settle(0, false, Some('b'));
        assert_eq!(all(&mut blocks), [], "the block is not complete");
        blocks.complete(0, 1);
        blocks.settle(0, true, None);
        assert_eq!(all(&mut blocks), [], "the repair packet is in flight");
        blocks.settle(0, true, None);
        assert_eq!(all(&mut blocks), [('b', true)]);
        assert!(blocks.blocks.is_empty());
    }

    /// A datagram is lost for good as soon as too few packets of its block can still arrive.
    #[test]
    fn too_many_losses_decide_early() {
        let mut blocks = Blocks::default();
        (0..3).for_each(|_| blocks.add(7));
        blocks.complete(7, 1);
        blocks.settle(7, false, Some('a'));
        assert_eq!(all(&mut blocks), []);
        blocks.settle(7, false, Some('b'));
        assert_eq!(all(&mut blocks), [('a', false), ('b', false)]);
        blocks.settle(7, true, None);
        blocks.settle(7, true, None);
        assert!(blocks.blocks.is_empty());
    }

    /// Without repair packets a loss is final, and so is one of a forgotten block.
    #[test]
    fn without_repair_packets_losses_are_final() {
        let mut blocks = Blocks::default();
        blocks.add(1);
        blocks.settle(1, false, Some('a'));
        blocks.complete(1, 0);
        blocks.settle(9, false, Some('z'));
        assert_eq!(all(&mut blocks), [('a', false), ('z', false)]);
    }

    #[test]
    fn memory_is_limited() {
        let mut blocks = Blocks::default();
        for block in 0..3000 {
            blocks.add(block);
            blocks.settle(block, false, Some('x'));
        }
        assert!(blocks.blocks.len() <= MAX_BLOCKS);
        assert_eq!(all(&mut blocks).len() + blocks.drain().count(), 3000);
    }
}
