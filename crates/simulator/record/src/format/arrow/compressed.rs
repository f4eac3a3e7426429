//! Reads record batches whose buffers are compressed with LZ4.
//!
//! Files are untrusted: every offset and length is checked. Errors are reasons, for the error of the file's format.

use super::metadata::{Batch, ColumnType};
use lz4_flex::frame::FrameDecoder;
use std::io::Read;

/// Maximum number of rows of a batch.
const MAX_BATCH_ROWS: usize = 1 << 20;

/// A record batch with compressed buffers.
pub(crate) struct CompressedBatch<'a> {
    pub(crate) batch: Batch<'a>,
}

/// A decompressed column.
#[derive(Debug)]
pub(crate) struct DecodedColumn {
    pub(crate) holds: ColumnType,
    /// A bit for each row, which is 0 if the cell is null. `None` if no cell is null.
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) values: Vec<u8>,
}

impl DecodedColumn {
    /// Returns the value or the key of a row; an unsigned 64-bit value keeps its bits. `None` if the cell is null.
    pub(crate) fn integer(&self, row: usize) -> Option<i64> {
        if self.validity.as_ref().is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0) {
            return None;
        }
        Some(match self.holds {
            ColumnType::Names(8) => i8::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Names(16) => i16::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Names(_) | ColumnType::Int(32) => i32::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Uint(8) => u8::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Uint(16) => u16::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Uint(32) => u32::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Int(_) | ColumnType::Uint(_) | ColumnType::Float64 => i64::from_le_bytes(self.bytes(row)),
        })
    }

    fn bytes<const N: usize>(&self, row: usize) -> [u8; N] {
        self.values.as_chunks().0[row]
    }
}

impl<'a> CompressedBatch<'a> {
    pub(crate) fn new(batch: Batch<'a>) -> Result<Self, &'static str> {
        if batch.rows > MAX_BATCH_ROWS { Err("a record batch has too many rows") } else { Ok(Self { batch }) }
    }

    /// Returns a decompressed buffer of at most `max` bytes.
    pub(crate) fn buffer(&self, number: usize, max: usize) -> Result<Vec<u8>, &'static str> {
        let invalid = "a column cannot be read";
        let part = self.batch.buffer(number).ok_or(invalid)?;
        if part.is_empty() {
            return Ok(Vec::new());
        }
        let (length, part) = part.split_first_chunk::<8>().ok_or(invalid)?;
        let length = i64::from_le_bytes(*length);
        if length == -1 {
            return Ok(part[..part.len().min(max)].to_vec());
        }
        let length = usize::try_from(length).ok().filter(|length| *length <= max).ok_or(invalid)?;
        let mut bytes = Vec::with_capacity(length);
        FrameDecoder::new(part).take(length as u64).read_to_end(&mut bytes).map_err(|_| invalid)?;
        if bytes.len() == length { Ok(bytes) } else { Err(invalid) }
    }

    /// Returns the column with this number.
    pub(crate) fn column(&self, number: usize, holds: ColumnType) -> Result<DecodedColumn, &'static str> {
        let short = "a column is shorter than its rows";
        let rows = self.batch.rows;
        let validity = match self.batch.node(number).ok_or(short)? {
            (length, _) if length != rows => return Err(short),
            (_, 0) => None,
            _ => Some(self.buffer(2 * number, rows.div_ceil(8))?),
        };
        let values = self.buffer(2 * number + 1, rows * holds.width())?;
        let is_short = validity.as_ref().is_some_and(|bits: &Vec<u8>| bits.len() < rows.div_ceil(8));
        if is_short || values.len() < rows * holds.width() {
            return Err(short);
        }
        Ok(DecodedColumn { holds, validity, values })
    }
}
