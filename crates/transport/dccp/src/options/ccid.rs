//! Options of CCID 3 (RFC 4342 section 8) and CCID 4 (RFC 5622 section 8), sent by the receiver of data.

use super::decode::word;
use super::number as n;
use super::{OptionFault, RawOption};
use crate::{Ccid, PacketType};
use std::num::NonZeroU32;

/// Option of CCID 3 or 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcidOption<'a> {
    /// Inverse of the loss event rate p, rounded up, at least 1; `None` (`ffffffff` on the wire)
    /// before the first loss (RFC 4342 section 8.5).
    LossEventRate(Option<NonZeroU32>),
    /// Newest loss intervals (RFC 4342 section 8.6).
    LossIntervals(LossIntervals<'a>),
    /// Rate of the data received since the last of these options, in bytes per second (RFC 4342 section 8.3).
    ReceiveRate(u32),
    /// Packets lost or marked in each loss interval; CCID 4 only (RFC 5622 section 8.7).
    DroppedPackets(DroppedPackets<'a>),
}

impl<'a> CcidOption<'a> {
    /// Decodes an option of a packet of this kind, for a half-connection under this CCID. Types 128 to 191 are from the
    /// half-connection's data sender, 192 to 255 from its data receiver (RFC 4340 section 10.3).
    ///
    /// A second Loss Intervals option on one packet must have Skip Length 0 (RFC 4342 section 8.6.1). The caller must
    /// check this and ignore a second option with another Skip Length.
    ///
    /// # Errors
    ///
    /// If the CCID has no such option, its data is invalid, or it is not allowed on this packet.
    /// [`ProcessedOption::error`](super::ProcessedOption::error) gives the required reaction.
    pub fn decode(ccid: Ccid, raw: RawOption<'a>, kind: PacketType) -> Result<Self, OptionFault> {
        let needs_ack = matches!(raw.number, n::LOSS_INTERVALS | n::DROPPED_PACKETS);
        let known = match raw.number {
            n::LOSS_EVENT_RATE | n::LOSS_INTERVALS | n::RECEIVE_RATE => matches!(ccid, Ccid::TFRC | Ccid::TFRC_SP),
            n::DROPPED_PACKETS => ccid == Ccid::TFRC_SP,
            _ => false,
        };
        if !known {
            return Err(OptionFault::NotUnderstood);
        }
        if kind == PacketType::Data || needs_ack && !kind.has_ack() {
            return Err(OptionFault::NotOnThisPacket { kind });
        }
        Self::read(raw)
    }

    pub(crate) fn read(raw: RawOption<'a>) -> Result<Self, OptionFault> {
        Ok(match raw.number {
            n::LOSS_EVENT_RATE => match word(raw.data)? {
                u32::MAX => Self::LossEventRate(None),
                inverse => {
                    let zero = OptionFault::Value { wanted: "1 or more data packets per loss event" };
                    Self::LossEventRate(Some(NonZeroU32::new(inverse).ok_or(zero)?))
                }
            },
            n::LOSS_INTERVALS => Self::LossIntervals(LossIntervals::decode(raw.data)?),
            n::RECEIVE_RATE => Self::ReceiveRate(word(raw.data)?),
            n::DROPPED_PACKETS => Self::DroppedPackets(DroppedPackets::decode(raw.data)?),
            _ => return Err(OptionFault::NotUnderstood),
        })
    }
}

/// Loss intervals, newest first, starting Skip Length packets below the acknowledgement number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossIntervals<'a> {
    skip_length: u8,
    intervals: &'a [[u8; 9]],
}

/// Loss interval: a lossy part, and the lossless part that followed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LossInterval {
    /// Number of packets in the lossless part, below 2^24.
    pub lossless_length: u32,
    /// Number of packets in the lossy part, below 2^23.
    pub loss_length: u32,
    /// ECN Nonce Echo of the lossless part, 0 since RFC 8311.
    pub nonce: bool,
    /// Number of data packets in both parts, below 2^24 (RFC 4342 section 6.1.1).
    pub data_length: u32,
}

impl LossInterval {
    /// Decodes a loss interval from its nine bytes in the option Loss Intervals.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 9]) -> Self {
        let [a, b, c, d, e, f, g, h, i] = bytes;
        Self {
            lossless_length: u32::from_be_bytes([0, a, b, c]),
            loss_length: u32::from_be_bytes([0, d & 127, e, f]),
            nonce: d & 128 != 0,
            data_length: u32::from_be_bytes([0, g, h, i]),
        }
    }
    /// Encodes the loss interval as nine bytes of the option Loss Intervals; `None` if a length exceeds its field.
    #[must_use]
    pub const fn to_bytes(self) -> Option<[u8; 9]> {
        let Self { lossless_length, loss_length, nonce, data_length } = self;
        if lossless_length >= 1 << 24 || loss_length >= 1 << 23 || data_length >= 1 << 24 {
            return None;
        }
        let [_, a, b, c] = lossless_length.to_be_bytes();
        let [_, d, e, f] = (loss_length | (nonce as u32) << 23).to_be_bytes();
        let [_, g, h, i] = data_length.to_be_bytes();
        Some([a, b, c, d, e, f, g, h, i])
    }
    /// Returns the number of packets in the lossy and the lossless part together.
    #[must_use]
    pub const fn sequence_length(self) -> u32 {
        self.lossless_length + self.loss_length
    }
}

impl<'a> LossIntervals<'a> {
    /// Maximum number of intervals in one option; more continue in the next one.
    pub const MAX: usize = 28;
    /// Maximum Skip Length, in packets: NDUPACK (RFC 4342 section 6.1).
    pub const MAX_SKIP: u8 = 3;

    /// Creates the option from 1 to 28 intervals of [`LossInterval::to_bytes`] and a Skip Length of
    /// 0 to 3; `None` otherwise.
    #[must_use]
    pub const fn new(skip_length: u8, intervals: &'a [[u8; 9]]) -> Option<Self> {
        if skip_length > Self::MAX_SKIP || intervals.is_empty() || intervals.len() > Self::MAX {
            return None;
        }
        Some(Self { skip_length, intervals })
    }

    fn decode(data: &'a [u8]) -> Result<Self, OptionFault> {
        let wrong = OptionFault::length(data, "3 + 9n, n from 1 to 28");
        let (&skip_length, intervals) = data.split_first().ok_or(wrong)?;
        if skip_length > Self::MAX_SKIP {
            return Err(OptionFault::Value { wanted: "a Skip Length of 0 to 3" });
        }
        match intervals.as_chunks() {
            (intervals, []) => Self::new(skip_length, intervals).ok_or(wrong),
            _ => Err(wrong),
        }
    }

    /// Returns the number of packets in no interval, down from the acknowledgement number, 0 to 3.
    #[must_use]
    pub const fn skip_length(&self) -> u8 {
        self.skip_length
    }
    /// Returns the intervals as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.intervals.as_flattened()
    }
    /// Returns the intervals, newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = LossInterval> + use<'a> {
        self.intervals.iter().map(|bytes| LossInterval::from_bytes(*bytes))
    }
}

/// Number of packets lost or marked in each loss interval, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPackets<'a>(&'a [[u8; 3]]);

impl<'a> DroppedPackets<'a> {
    /// Maximum number of counts in one option; more continue in the next one.
    pub const MAX: usize = 84;

    /// Creates the option from 1 to 84 counts of three bytes; `None` otherwise.
    #[must_use]
    pub const fn new(counts: &'a [[u8; 3]]) -> Option<Self> {
        if counts.is_empty() || counts.len() > Self::MAX { None } else { Some(Self(counts)) }
    }

    fn decode(data: &'a [u8]) -> Result<Self, OptionFault> {
        let wrong = OptionFault::length(data, "2 + 3n, n from 1 to 84");
        match data.as_chunks() {
            (counts, []) => Self::new(counts).ok_or(wrong),
            _ => Err(wrong),
        }
    }

    /// Returns the counts as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0.as_flattened()
    }
    /// Returns the counts, newest first. A count above the Loss Length of its interval means the Loss Length.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.0.iter().map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC_4342_EXAMPLE: [u8; 37] = [
        2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8, 0, 0, 10, 128, 0, 0,
        0, 0, 15,
    ];

    fn decode(ccid: Ccid, number: u8, data: &[u8], kind: PacketType) -> Result<CcidOption<'_>, OptionFault> {
        CcidOption::decode(ccid, RawOption { number, data }, kind)
    }

    /// Example of RFC 4342 section 8.6.2, field by field; its packets, 0 to 44, are counted.
    #[test]
    fn loss_intervals_of_the_rfc() {
        let option = decode(Ccid::TFRC, 193, &RFC_4342_EXAMPLE, PacketType::Ack);
        let Ok(CcidOption::LossIntervals(intervals)) = option else { panic!("{option:?}") };
        assert_eq!(intervals.skip_length(), 2);
        let l = |lossless_length, loss_length, nonce, data_length| LossInterval {
            lossless_length,
            loss_length,
            nonce,
            data_length,
        };
        let wanted = [l(10, 1, true, 10), l(8, 5, false, 10), l(8, 1, false, 8), l(10, 0, true, 15)];
        assert!(intervals.iter().eq(wanted));
        assert_eq!(intervals.iter().map(LossInterval::sequence_length).sum::<u32>() + 2, 45);
        let bytes = wanted.map(|interval| interval.to_bytes().unwrap());
        assert_eq!(LossIntervals::new(2, &bytes), Some(intervals));
    }

    /// Example of RFC 5622 section 8.7.1.
    #[test]
    fn dropped_packets_of_the_rfc() {
        let data = [0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0];
        let option = decode(Ccid::TFRC_SP, 195, &data, PacketType::Ack);
        let Ok(CcidOption::DroppedPackets(dropped)) = option else { panic!("{option:?}") };
        assert!(dropped.iter().eq([1, 4, 1, 0]));
    }

    #[test]
    fn loss_event_rates() {
        let read = |data| decode(Ccid::TFRC, 192, data, PacketType::Ack).ok();
        assert_eq!(read(&[0, 0, 0, 100]), Some(CcidOption::LossEventRate(NonZeroU32::new(100))));
        assert_eq!(read(&[255; 4]), Some(CcidOption::LossEventRate(None)));
        assert_eq!(read(&[0; 4]), None);
    }

    /// RFC 4342 sections 8, 8.3, 8.5, 8.6 and 8.6.1, RFC 5622 section 8: none on Data; Loss
    /// Intervals need an acknowledgement number.
    #[test]
    fn packets_that_may_not_carry_them() {
        let ignored = |kind| Err(OptionFault::NotOnThisPacket { kind });
        assert_eq!(decode(Ccid::TFRC, 194, &[0; 4], PacketType::Data), ignored(PacketType::Data));
        assert_eq!(decode(Ccid::TFRC, 193, &RFC_4342_EXAMPLE, PacketType::Request), ignored(PacketType::Request));
        assert!(decode(Ccid::TFRC, 194, &[0; 4], PacketType::DataAck).is_ok());
    }

    #[test]
    fn options_of_other_ccids_are_not_understood() {
        for (ccid, number) in [(2, 192), (3, 195), (4, 196), (4, 128), (248, 193)] {
            assert_eq!(decode(Ccid(ccid), number, &[0; 4], PacketType::Ack), Err(OptionFault::NotUnderstood));
        }
    }

    #[test]
    fn lengths_and_ranges() {
        for data in [&[][..], &[0], &[0; 9], &[0; 11], &[0; 254], &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(decode(Ccid::TFRC, 193, data, PacketType::Ack).is_err(), "{data:?}");
        }
        let skip = decode(Ccid::TFRC, 193, &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0], PacketType::Ack);
        assert_eq!(skip, Err(OptionFault::Value { wanted: "a Skip Length of 0 to 3" }));
        assert!(decode(Ccid::TFRC, 193, &[0; 253], PacketType::Ack).is_ok());
        assert!(decode(Ccid::TFRC_SP, 195, &[0; 4], PacketType::Ack).is_err());
        assert!(decode(Ccid::TFRC_SP, 195, &[], PacketType::Ack).is_err());
        let longest = LossInterval {
            lossless_length: (1 << 24) - 1,
            loss_length: (1 << 23) - 1,
            nonce: true,
            data_length: (1 << 24) - 1,
        };
        assert_eq!(longest.to_bytes(), Some([255; 9]));
        assert_eq!(LossInterval { loss_length: 1 << 23, ..longest }.to_bytes(), None);
    }
}
