//! Decoding of options.

use super::number as n;
use super::{AckVector, DataDropped, DeliveryOrder, Elapsed, OptionFault, RawOption, Timestamp};
use crate::feature::{Feature, FeatureAction, FeatureOption};

/// Option of RFC 4340.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DccpOption<'a> {
    /// Padding to a multiple of 32 bits (RFC 4340 section 5.8.1).
    Padding,
    /// The next option must be understood (RFC 4340 section 5.8.2).
    Mandatory,
    /// The sender should not raise its rate for about one round-trip time (RFC 4340 section 11.6).
    SlowReceiver,
    /// Change L, Confirm L, Change R or Confirm R (RFC 4340 sections 6.1 and 6.2).
    Feature(FeatureOption<'a>),
    /// Server state stored by the client, at most 253 bytes (RFC 4340 section 8.1.4).
    InitCookie(&'a [u8]),
    /// Number of packets without data sent just before this one, below 2^48 (RFC 4340 section 7.7).
    NdpCount(u64),
    /// State of received packets (RFC 4340 section 11.4).
    AckVector(AckVector<'a>),
    /// Packets whose data did not reach the application, and why (RFC 4340 section 11.7).
    DataDropped(DataDropped<'a>),
    /// Time of the sender (RFC 4340 section 13.1).
    Timestamp(Timestamp),
    /// Echo of a Timestamp (RFC 4340 section 13.3).
    TimestampEcho {
        /// Timestamp as received.
        timestamp: Timestamp,
        /// Time since its arrival.
        elapsed: Elapsed,
    },
    /// Time since the acknowledged packet arrived (RFC 4340 section 13.2).
    ElapsedTime(Elapsed),
    /// [CRC-32c](crate::crc32c) of the application data area (RFC 4340 section 9.3).
    DataChecksum(u32),
    /// Position of a datagram that may be sent again; an experiment of this crate.
    DeliveryOrder(DeliveryOrder),
    /// Packets that this packet can restore, decoded by [`Repair::decode`](super::Repair::decode); an experiment of this crate.
    Repair(&'a [u8]),
    /// CCID-specific option, see [`CcidOption`](super::CcidOption) (RFC 4340 section 10.3).
    Ccid(RawOption<'a>),
    /// Option that this crate does not know.
    Unknown(RawOption<'a>),
}

impl<'a> DccpOption<'a> {
    pub(super) fn decode(raw: RawOption<'a>) -> Result<Self, OptionFault> {
        let data = raw.data;
        Ok(match raw.number {
            n::PADDING => Self::Padding,
            n::MANDATORY => Self::Mandatory,
            n::SLOW_RECEIVER => Self::SlowReceiver,
            n::CHANGE_L => Self::feature(FeatureAction::ChangeL, data)?,
            n::CONFIRM_L => Self::feature(FeatureAction::ConfirmL, data)?,
            n::CHANGE_R => Self::feature(FeatureAction::ChangeR, data)?,
            n::CONFIRM_R => Self::feature(FeatureAction::ConfirmR, data)?,
            n::INIT_COOKIE => Self::InitCookie(data),
            n::NDP_COUNT if (1..=6).contains(&data.len()) => {
                Self::NdpCount(data.iter().fold(0, |count, byte| count << 8 | u64::from(*byte)))
            }
            n::NDP_COUNT => return Err(OptionFault::length(data, "3 to 8")),
            n::ACK_VECTOR_0 => Self::AckVector(AckVector::new(false, data)),
            n::ACK_VECTOR_1 => Self::AckVector(AckVector::new(true, data)),
            n::DATA_DROPPED => Self::DataDropped(DataDropped::new(data)),
            n::TIMESTAMP => Self::Timestamp(Timestamp(word(data)?)),
            n::TIMESTAMP_ECHO => {
                let wrong = OptionFault::length(data, "6, 8 or 10");
                let (timestamp, elapsed) = data.split_first_chunk().ok_or(wrong)?;
                let timestamp = Timestamp(u32::from_be_bytes(*timestamp));
                Self::TimestampEcho { timestamp, elapsed: Elapsed::decode(elapsed).ok_or(wrong)? }
            }
            n::ELAPSED_TIME => {
                let elapsed = Elapsed::decode(data).filter(|_| !data.is_empty());
                Self::ElapsedTime(elapsed.ok_or(OptionFault::length(data, "4 or 6"))?)
            }
            n::DATA_CHECKSUM => Self::DataChecksum(word(data)?),
            n::DELIVERY_ORDER => {
                Self::DeliveryOrder(DeliveryOrder::decode(data).ok_or(OptionFault::length(data, "7"))?)
            }
            n::REPAIR => Self::Repair(data),
            n::FIRST_CCID.. => Self::Ccid(raw),
            _ => Self::Unknown(raw),
        })
    }

    fn feature(action: FeatureAction, data: &'a [u8]) -> Result<Self, OptionFault> {
        let wanted = if action.is_change() { "at least 4" } else { "at least 3" };
        let (&feature, values) = data.split_first().ok_or(OptionFault::length(data, wanted))?;
        Ok(Self::Feature(FeatureOption { action, feature: Feature(feature), values }))
    }
}

pub(super) fn word(data: &[u8]) -> Result<u32, OptionFault> {
    data.try_into().map(u32::from_be_bytes).map_err(|_| OptionFault::length(data, "6"))
}
