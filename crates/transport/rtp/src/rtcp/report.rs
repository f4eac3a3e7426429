//! Contents of sender and receiver reports (RFC 3550 section 6.4).

use headway_units::Instant;

/// Clocks and counters of a sender (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// Sending time of the report: seconds in the high 32 bits, and their fraction.
    pub ntp: u64,
    /// Sending time of the report in units of the stream's RTP timestamps.
    pub rtp_timestamp: u32,
    /// Number of RTP packets sent, modulo 2^32.
    pub packets: u32,
    /// Number of payload bytes sent, without headers and padding, modulo 2^32.
    pub octets: u32,
}

/// Reception of one stream (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// Synchronization source of the stream.
    pub ssrc: u32,
    /// Fraction of packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Number of packets expected minus packets received, in 24 bits; negative after duplicates.
    pub cumulative_lost: i32,
    /// Greatest sequence number received, extended by the number of its wraps in the high 16 bits.
    pub extended_highest: u32,
    /// Interarrival jitter, in units of the stream's RTP timestamps.
    pub jitter: u32,
    /// Middle 32 bits of the NTP time in the last sender report of the stream; 0 before the first.
    pub last_sr: u32,
    /// Time since the arrival of that sender report, in 1/65536 s; 0 before the first.
    pub delay_since_last_sr: u32,
}

/// Iterator over the blocks of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportBlocks<'a>(&'a [[u8; ReportBlock::BYTES]]);

impl SenderInfo {
    pub(crate) const BYTES: usize = 20;

    pub(super) fn of(bytes: &[u8; Self::BYTES]) -> Self {
        let [n0, n1, n2, n3, n4, n5, n6, n7, t0, t1, t2, t3, p0, p1, p2, p3, o0, o1, o2, o3] = *bytes;
        Self {
            ntp: u64::from_be_bytes([n0, n1, n2, n3, n4, n5, n6, n7]),
            rtp_timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            packets: u32::from_be_bytes([p0, p1, p2, p3]),
            octets: u32::from_be_bytes([o0, o1, o2, o3]),
        }
    }

    pub(super) fn write(&self, buffer: &mut Vec<u8>) {
        buffer.extend(self.ntp.to_be_bytes());
        buffer.extend([self.rtp_timestamp, self.packets, self.octets].into_iter().flat_map(u32::to_be_bytes));
    }
}

impl ReportBlock {
    pub(crate) const BYTES: usize = 24;
    /// Range of a signed field of 24 bits.
    const MAX_LOST: i32 = (1 << 23) - 1;

    fn of(bytes: &[u8; Self::BYTES]) -> Self {
        let words = bytes.as_chunks::<4>().0;
        let word = |index: usize| words.get(index).map_or(0, |word| u32::from_be_bytes(*word));
        Self {
            ssrc: word(0),
            fraction_lost: (word(1) >> 24) as u8,
            cumulative_lost: (word(1) << 8).cast_signed() >> 8,
            extended_highest: word(2),
            jitter: word(3),
            last_sr: word(4),
            delay_since_last_sr: word(5),
        }
    }

    pub(super) fn write(&self, buffer: &mut Vec<u8>) {
        let lost = self.cumulative_lost.clamp(-Self::MAX_LOST - 1, Self::MAX_LOST).cast_unsigned() & 0xff_ffff;
        let words = [
            self.ssrc,
            u32::from(self.fraction_lost) << 24 | lost,
            self.extended_highest,
            self.jitter,
            self.last_sr,
            self.delay_since_last_sr,
        ];
        buffer.extend(words.into_iter().flat_map(u32::to_be_bytes));
    }
}

impl<'a> ReportBlocks<'a> {
    /// Returns the first `count` blocks in `bytes`; `None` if there are fewer.
    pub(super) fn first(bytes: &'a [u8], count: u8) -> Option<Self> {
        bytes.as_chunks().0.get(..count.into()).map(Self)
    }
}

impl Iterator for ReportBlocks<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(ReportBlock::of(first))
    }
}

/// Returns an instant as an NTP timestamp of 64 bits that counts from zero of the node's clock. RFC 3550 section 6.4.1
/// allows the elapsed time for a sender without wall-clock time.
pub(crate) fn ntp(at: Instant) -> u64 {
    ((u128::from(at.as_nanos()) << 32) / 1_000_000_000) as u64
}

/// Returns the middle 32 bits of an NTP timestamp, in 1/65536 s.
pub(crate) const fn middle_bits(ntp: u64) -> u32 {
    (ntp >> 16) as u32
}
