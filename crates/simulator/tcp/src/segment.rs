//! The packets between a sender and a sink.

use headway_units::{Ecn, Instant};
use std::ops::Range;

/// Packet of a one-way TCP connection; cheap to copy.
///
/// Data is counted in whole segments, as in ns-2: number 0 is the SYN, numbers from 1 are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of a data segment, or next number expected by the sink in an acknowledgement.
    pub seq: u64,
    /// Time of transmission, on the clock of its sender (TSval of RFC 7323).
    pub sent: Instant,
    /// `sent` of the packet that the peer responds to (TSecr of RFC 7323).
    pub echo: Instant,
    /// SACK blocks of an acknowledgement (RFC 2018).
    pub sack: SackBlocks,
    /// Size on the wire in bytes, including headers.
    pub size: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Whether this is an acknowledgement, not data or the SYN.
    pub is_ack: bool,
    /// ECN-Echo (RFC 3168 section 6.1); on the SYN and SYN-ACK: ECN negotiation.
    pub ece: bool,
    /// Congestion Window Reduced (RFC 3168 section 6.1).
    pub cwr: bool,
    /// PSH: requests an immediate acknowledgement. Only set on the first transmission of data.
    pub push: bool,
    /// Whether this number was sent before.
    pub retransmission: bool,
}

impl Segment {
    /// Returns the segment number as ns-2 prints it. For an acknowledgement, it is the last number received in order,
    /// -1 before the first.
    #[must_use]
    pub const fn ns2_number(&self) -> i64 {
        self.seq as i64 - if self.is_ack { 1 } else { 0 }
    }
}

/// SACK blocks: up to three ranges of received segments, most recent first (RFC 2018 section 4).
///
/// Stores the low 32 bits of each edge, as on the wire. Edges must be within 2^31 segments of the acknowledgement. An
/// empty range is no block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([(u32, u32); 3]);

impl SackBlocks {
    /// Maximum number of SACK blocks, which fit next to the timestamp option.
    pub const MAX: usize = 3;
    /// Size of a SACK block in an acknowledgement, in bytes.
    pub const BYTES: u32 = 8;

    /// Returns the number of SACK blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edges().count()
    }
    /// Returns whether there are no SACK blocks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[0].0 == self.0[0].1
    }
    /// Appends a nonempty block; ignored if there are already three.
    pub fn push(&mut self, block: Range<u64>) {
        if let Some(edges) = self.0.iter_mut().find(|(start, end)| start == end) {
            *edges = (block.start as u32, block.end as u32);
        }
    }
    /// Returns these blocks after a block that reports `seq` as received twice, at most `most` (D-SACK, RFC 2883 section
    /// 4).
    pub(crate) fn after_duplicate(&self, seq: u64, most: u8) -> Self {
        let mut blocks = Self::default();
        for (block, edges) in blocks
            .0
            .iter_mut()
            .take(usize::from(most))
            .zip(std::iter::once((seq as u32, (seq + 1) as u32)).chain(self.edges()))
        {
            *block = edges;
        }
        blocks
    }
    fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied().take_while(|(start, end)| start != end)
    }
    /// Returns the blocks of an acknowledgement of `ack`, most recent first.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let near = move |edge: u32| ack.wrapping_add_signed(i64::from(edge.wrapping_sub(ack as u32) as i32));
        self.edges().map(move |(start, end)| near(start)..near(end))
    }
}

/// Creates an acknowledgement with these blocks, for tests.
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
    fn blocks_are_restored_when_their_low_bits_wrap() {
        let ack = (1 << 32) + 2;
        let mut blocks = SackBlocks::default();
        for block in [ack + 5..ack + 9, ack - 4..ack - 1, ack + 1..ack + 2, 1..2] {
            blocks.push(block);
        }
        assert_eq!(blocks.iter(ack).collect::<Vec<_>>(), [ack + 5..ack + 9, ack - 4..ack - 1, ack + 1..ack + 2]);
    }
}
