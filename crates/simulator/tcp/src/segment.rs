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
    /// In an acknowledgement: [`sent`](Self::sent) of the data packet that it echoes, on the clock of the data sender
    /// (TSecr of RFC 7323).
    pub echo: Instant,
    /// SACK blocks of an acknowledgement (RFC 2018), and counters of accurate ECN.
    pub sack: SackBlocks,
    /// Size on the wire in bytes, including headers.
    pub size: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Whether this is an acknowledgement, not data or the SYN.
    pub is_ack: bool,
    /// ECN-Echo (RFC 3168 section 6.1); on the SYN and SYN-ACK: ECN negotiation. True on each acknowledgement with
    /// [`EcnCounts`], whose flag is a bit of the field ACE (RFC 9768 section 3.2.2).
    pub ece: bool,
    /// Congestion Window Reduced (RFC 3168 section 6.1).
    pub cwr: bool,
    /// PSH: requests an immediate acknowledgement. Only set on the first transmission of data.
    pub push: bool,
    /// Whether a segment with this number was sent before.
    pub retransmission: bool,
}

impl Segment {
    /// Returns the number of the packet as ns-2 prints it: of an acknowledgement, the last number received in order, -1
    /// before the first.
    #[must_use]
    pub const fn ns2_number(&self) -> i64 {
        self.seq as i64 - if self.is_ack { 1 } else { 0 }
    }
}

/// SACK blocks: up to three ranges of received segments, most recent first (RFC 2018 section 4).
///
/// Stores the low 32 bits of each edge, as on the wire. Edges must be within 2^31 segments of the acknowledgement. An
/// empty range is no block.
///
/// Counters of accurate ECN take the place of the third block, as their option does in the header (RFC 9768 section
/// 3.2.3.3 keeps space for two blocks). They are stored as a range of at least 2^31 segments, which no block has.
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
    /// Stores the counters of accurate ECN instead of the third block.
    pub fn set_counts(&mut self, counts: EcnCounts) {
        let start = u32::from(counts.ect0) | u32::from(counts.ect1) << 16;
        self.0[2] = (start, start.wrapping_add(COUNTS | u32::from(counts.ce)));
    }
    /// Removes and returns the counters of accurate ECN. Must be called before the blocks are read if there may be
    /// counters.
    pub fn take_counts(&mut self) -> Option<EcnCounts> {
        let (start, end) = self.0[2];
        let rest = end.wrapping_sub(start);
        if rest < COUNTS {
            return None;
        }
        self.0[2] = (0, 0);
        Some(EcnCounts { ect0: start as u16, ect1: (start >> 16) as u16, ce: rest as u16 })
    }
    /// Removes the third block.
    pub(crate) fn keep_two(&mut self) {
        self.0[2] = (0, 0);
    }
    fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied().take_while(|(start, end)| start != end)
    }
    /// Returns the blocks, most recent first, as ranges of segment numbers. `ack` is the cumulative number of their
    /// acknowledgement: blocks store only the low 32 bits.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let near = move |edge: u32| ack.wrapping_add_signed(i64::from(edge.wrapping_sub(ack as u32) as i32));
        self.edges().map(move |(start, end)| near(start)..near(end))
    }
}

/// Length from which on a range is no block, but counters.
const COUNTS: u32 = 1 << 31;

/// Numbers of packets that a sink received with each ECN field, as reported by accurate ECN (RFC 9768). The counters
/// wrap.
///
/// They replace the counter of CE packets in the field ACE and the byte counters of the AccECN option (section
/// 3.2.1), since all segments of a connection have one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCounts {
    /// Data packets that arrived as ECT(0).
    pub ect0: u16,
    /// Data packets that arrived as ECT(1).
    pub ect1: u16,
    /// Data packets that arrived as CE. On the SYN-ACK: the ECN field of the SYN, as in the header ([`EcnCounts::of_syn`]).
    pub ce: u16,
}

impl EcnCounts {
    /// Initial values of the counters (RFC 9768 section 3.2.1).
    pub const INITIAL: Self = Self { ect0: 1, ect1: 1, ce: 5 };

    /// Returns the counters of a SYN-ACK, which report the ECN field of the SYN by the flags AE, CWR and ECE (RFC 9768
    /// section 3.1.1 table 2).
    #[must_use]
    pub const fn of_syn(ecn: Ecn) -> Self {
        let ce = match ecn {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        };
        Self { ce, ..Self::INITIAL }
    }

    /// Counts a data packet.
    pub(crate) const fn count(&mut self, ecn: Ecn) {
        let counter = match ecn {
            Ecn::NotEct => return,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        };
        *counter = counter.wrapping_add(1);
    }

    /// Returns the increase since `before`; `None` if `self` is older (RFC 9768 section 3.2.3.1).
    pub(crate) fn since(self, before: Self) -> Option<Self> {
        let [ect0, ect1, ce] = [(self.ect0, before.ect0), (self.ect1, before.ect1), (self.ce, before.ce)]
            .map(|(now, before)| now.wrapping_sub(before));
        [ect0, ect1, ce].iter().all(|&increase| increase as i16 >= 0).then_some(Self { ect0, ect1, ce })
    }

    /// Returns the number of counted packets.
    pub(crate) fn total(self) -> u64 {
        u64::from(self.ect0) + u64::from(self.ect1) + u64::from(self.ce)
    }

    /// Returns the size of the AccECN option in whole words: the counters that have changed since the start, 3 bytes
    /// each, and 2 bytes (RFC 9768 sections 3.2.3 and 3.2.3.3).
    pub(crate) fn option_bytes(self) -> u32 {
        let Self { ect0, ect1, ce } = Self::INITIAL;
        let changed = u32::from(self.ect0 != ect0) + u32::from(self.ect1 != ect1) + u32::from(self.ce != ce);
        (2 + 3 * changed).next_multiple_of(4)
    }
    /// Largest size of the AccECN option in bytes, rounded up to whole words of 4 bytes.
    pub const LARGEST_OPTION: u32 = 12;
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
        assert_eq!(size_of::<Segment>(), 64);
    }

    #[test]
    fn counts_replace_the_third_block() {
        for counts in
            [EcnCounts::INITIAL, EcnCounts { ect0: 0, ect1: 0, ce: 0 }, EcnCounts { ect0: 9, ect1: 65535, ce: 65535 }]
        {
            let mut blocks = SackBlocks::default();
            [5..6, 8..9, 2..3].into_iter().for_each(|block| blocks.push(block));
            assert_eq!(blocks.take_counts(), None);
            blocks.set_counts(counts);
            assert_eq!(blocks.take_counts(), Some(counts));
            assert_eq!(blocks.iter(2).collect::<Vec<_>>(), [5..6, 8..9]);
            assert_eq!(blocks.take_counts(), None);
        }
    }

    /// An acknowledgement that was overtaken reports fewer packets; the counters may wrap in between.
    #[test]
    fn increases_of_counters_that_wrap() {
        let old = EcnCounts { ect0: 65_530, ect1: 1, ce: 7 };
        let new = EcnCounts { ect0: 4, ect1: 1, ce: 8 };
        assert_eq!(new.since(old), Some(EcnCounts { ect0: 10, ect1: 0, ce: 1 }));
        assert_eq!(old.since(new), None);
    }

    /// RFC 9768 table 5: 5, 8 or 11 bytes for one, two or three counters, padded to words.
    #[test]
    fn sizes_of_the_option() {
        let mut counts = EcnCounts::INITIAL;
        assert_eq!(counts.option_bytes(), 4);
        let sizes = [Ecn::NotEct, Ecn::Ect1, Ecn::Ce, Ecn::Ect0].map(|ecn| {
            counts.count(ecn);
            counts.option_bytes()
        });
        assert_eq!(sizes, [4, 8, 8, EcnCounts::LARGEST_OPTION]);
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
