//! What travels between a sender and a sink.

use headway_units::{Ecn, Instant};
use std::ops::Range;

/// One packet of a one-way TCP connection, small enough to be copied.
///
/// Data is counted in whole segments, as ns-2 counts it: number 0 is the SYN, numbers from 1 are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Of data: its number. Of an acknowledgement: the next number the sink waits for.
    pub seq: u64,
    /// When this packet was sent, on its sender's clock (TSval of RFC 7323).
    pub sent: Instant,
    /// The `sent` that the peer answers to (TSecr of RFC 7323).
    pub echo: Instant,
    /// What an acknowledgement reports beyond its `seq` (RFC 2018).
    pub sack: SackBlocks,
    /// Bytes on the wire, headers included.
    pub size: u32,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// Whether this acknowledges, or carries data (or the SYN).
    pub is_ack: bool,
    /// ECN-Echo (RFC 3168 section 6.1); on the SYN and its answer: asks for and grants ECN.
    pub ece: bool,
    /// Congestion Window Reduced (RFC 3168 section 6.1).
    pub cwr: bool,
    /// PSH: the sink is to answer at once. Only data that is sent for the first time carries it.
    pub push: bool,
    /// Whether this number was sent before.
    pub retransmission: bool,
}

impl Segment {
    /// The number as ns-2 prints it: an acknowledgement there names the last segment in order, -1 before the first.
    #[must_use]
    pub const fn ns2_number(&self) -> i64 {
        self.seq as i64 - if self.is_ack { 1 } else { 0 }
    }
}

/// Up to three ranges of received segments, most recent first (RFC 2018 section 4).
///
/// Kept as the low 32 bits of each edge, as on the wire; edges lie within 2^31 segments of the acknowledgement. A range that
/// holds nothing is no block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([(u32, u32); 3]);

impl SackBlocks {
    /// How many fit beside the timestamp option.
    pub const MAX: usize = 3;
    /// Bytes that each adds to an acknowledgement.
    pub const BYTES: u32 = 8;

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edges().count()
    }
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[0].0 == self.0[0].1
    }
    /// Adds a block, which holds something, behind the others; a fourth is forgotten.
    pub fn push(&mut self, block: Range<u64>) {
        if let Some(edges) = self.0.iter_mut().find(|(start, end)| start == end) {
            *edges = (block.start as u32, block.end as u32);
        }
    }
    fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied().take_while(|(start, end)| start != end)
    }
    /// The blocks of an acknowledgement for `ack`, most recent first.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let near = move |edge: u32| ack.wrapping_add_signed(i64::from(edge.wrapping_sub(ack as u32) as i32));
        self.edges().map(move |(start, end)| near(start)..near(end))
    }
}

/// An acknowledgement with these blocks, for tests of what reads it.
#[cfg(test)]
pub(crate) fn ack(seq: u64, blocks: &[(u64, u64)]) -> Segment {
    let mut sack = SackBlocks::default();
    for &(start, end) in blocks {
        sack.push(start..end);
    }
    Segment {
        seq,
        sent: Instant::ZERO,
        echo: Instant::ZERO,
        sack,
        size: 40,
        ecn: Ecn::NotEct,
        is_ack: true,
        ece: false,
        cwr: false,
        push: false,
        retransmission: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_fits_in_a_cache_line() {
        assert!(size_of::<Segment>() <= 64, "{}", size_of::<Segment>());
    }

    #[test]
    fn blocks_survive_the_wrap_of_their_low_bits() {
        let ack = (1 << 32) + 2;
        let mut blocks = SackBlocks::default();
        for block in [ack + 5..ack + 9, ack - 4..ack - 1, ack + 1..ack + 2, 1..2] {
            blocks.push(block);
        }
        assert_eq!(blocks.iter(ack).collect::<Vec<_>>(), [ack + 5..ack + 9, ack - 4..ack - 1, ack + 1..ack + 2]);
    }
}
