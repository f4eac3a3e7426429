//! Encoding of options into a buffer.

use super::number as n;
use super::{CcidOption, DccpOption, Elapsed, OptionArea, RawOption};
use crate::EncodeError;

/// Appends options to a buffer, without allocating.
///
/// ```
/// use headway_dccp::{DccpOption, OptionWriter};
///
/// let mut buffer = [0; 32];
/// let mut writer = OptionWriter::new(&mut buffer);
/// writer.push(DccpOption::NdpCount(300))?;
/// assert_eq!(writer.finish()?.as_bytes(), [37, 4, 1, 44]);
/// # Ok::<(), headway_dccp::EncodeError>(())
/// ```
#[derive(Debug)]
pub struct OptionWriter<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl<'b> OptionWriter<'b> {
    /// Creates a writer to `buffer`. 1008 bytes are enough for the largest header.
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Returns the number of bytes written, without padding.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "how much is used, not a collection")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.buffer.len() - self.len
    }

    /// Appends an option, with numbers in their shortest form (RFC 4340 sections 7.7, 13.2 and 13.3).
    ///
    /// # Errors
    ///
    /// If the buffer is too small, or the option cannot be encoded. Nothing is then written.
    pub fn push(&mut self, option: DccpOption<'_>) -> Result<(), EncodeError> {
        match option {
            DccpOption::Padding => self.short(n::PADDING),
            DccpOption::Mandatory => self.short(n::MANDATORY),
            DccpOption::SlowReceiver => self.short(n::SLOW_RECEIVER),
            DccpOption::Feature(option) => self.long(option.action.number(), &[&[option.feature.0], option.values]),
            DccpOption::InitCookie(cookie) => self.long(n::INIT_COOKIE, &[cookie]),
            DccpOption::NdpCount(count) if count < 1 << 48 => {
                let bytes = count.to_be_bytes();
                self.long(n::NDP_COUNT, &[&bytes[(count.leading_zeros() as usize / 8).min(7)..]])
            }
            DccpOption::NdpCount(_) => {
                Err(EncodeError::OptionValue { option: n::NDP_COUNT, wanted: "less than 2^48 packets" })
            }
            DccpOption::AckVector(vector) => {
                let number = if vector.nonce() { n::ACK_VECTOR_1 } else { n::ACK_VECTOR_0 };
                self.long(number, &[vector.as_bytes()])
            }
            DccpOption::DataDropped(dropped) => self.long(n::DATA_DROPPED, &[dropped.as_bytes()]),
            DccpOption::Timestamp(timestamp) => self.long(n::TIMESTAMP, &[&timestamp.0.to_be_bytes()]),
            DccpOption::TimestampEcho { timestamp, elapsed } => {
                self.timed(n::TIMESTAMP_ECHO, &timestamp.0.to_be_bytes(), elapsed, elapsed.encoded_len())
            }
            DccpOption::ElapsedTime(elapsed) => self.timed(n::ELAPSED_TIME, &[], elapsed, elapsed.encoded_len().max(2)),
            DccpOption::DataChecksum(crc) => self.long(n::DATA_CHECKSUM, &[&crc.to_be_bytes()]),
            DccpOption::DeliveryOrder(order) => self.long(n::DELIVERY_ORDER, &[&order.to_bytes()]),
            DccpOption::Repair(data) => self.long(n::REPAIR, &[data]),
            DccpOption::Ccid(raw) | DccpOption::Unknown(raw) => self.raw(raw),
        }
    }

    /// Appends an option of CCID 3 or 4.
    ///
    /// # Errors
    ///
    /// Like [`OptionWriter::push`].
    pub fn push_ccid(&mut self, option: CcidOption<'_>) -> Result<(), EncodeError> {
        match option {
            CcidOption::LossEventRate(inverse) => {
                let inverse = inverse.map_or(u32::MAX, std::num::NonZeroU32::get);
                self.long(n::LOSS_EVENT_RATE, &[&inverse.to_be_bytes()])
            }
            CcidOption::LossIntervals(intervals) => {
                self.long(n::LOSS_INTERVALS, &[&[intervals.skip_length()], intervals.as_bytes()])
            }
            CcidOption::ReceiveRate(rate) => self.long(n::RECEIVE_RATE, &[&rate.to_be_bytes()]),
            CcidOption::DroppedPackets(dropped) => self.long(n::DROPPED_PACKETS, &[dropped.as_bytes()]),
        }
    }

    /// Pads to a multiple of 32 bits and returns the option area.
    ///
    /// # Errors
    ///
    /// If the buffer is too small for the padding.
    pub fn finish(mut self) -> Result<OptionArea<'b>, EncodeError> {
        let padded = self.len.next_multiple_of(4);
        self.room(padded - self.len)?.fill(n::PADDING);
        let area: &'b [u8] = self.buffer;
        Ok(OptionArea::of_header(&area[..padded]))
    }

    fn short(&mut self, number: u8) -> Result<(), EncodeError> {
        self.room(1)?.fill(number);
        self.len += 1;
        Ok(())
    }

    fn long(&mut self, number: u8, parts: &[&[u8]]) -> Result<(), EncodeError> {
        let len = parts.iter().map(|part| part.len()).sum();
        let length = u8::try_from(len + 2).map_err(|_| EncodeError::OptionTooLong { option: number, len })?;
        let (head, mut rest) = self.room(usize::from(length))?.split_at_mut(2);
        head.copy_from_slice(&[number, length]);
        for part in parts {
            let (place, after) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = after;
        }
        self.len += usize::from(length);
        Ok(())
    }

    fn timed(&mut self, number: u8, first: &[u8], elapsed: Elapsed, bytes: usize) -> Result<(), EncodeError> {
        self.long(number, &[first, &elapsed.0.to_be_bytes()[4 - bytes..]])
    }

    fn raw(&mut self, raw: RawOption<'_>) -> Result<(), EncodeError> {
        match raw.number {
            n::FIRST_LONG.. => self.long(raw.number, &[raw.data]),
            _ if raw.data.is_empty() => self.short(raw.number),
            option => Err(EncodeError::OptionValue { option, wanted: "without data: types 0 to 31 are one byte long" }),
        }
    }

    fn room(&mut self, bytes: usize) -> Result<&mut [u8], EncodeError> {
        let (needed, available) = (self.len + bytes, self.buffer.len());
        self.buffer.get_mut(self.len..needed).ok_or(EncodeError::NoRoom { needed, available })
    }
}
