//! Reads `events.arrow`.
//!
//! Files are untrusted: every offset and length is checked, and memory is bounded by the limits of a file of events.

use super::log::{Names, columns};
use super::row::EventKind;
use super::{EventsError, MAX_ROWS_PER_KIND};
use crate::format::arrow::metadata::{Batch, Column, ColumnType, Footer};
use lz4_flex::frame::FrameDecoder;
use std::collections::BTreeMap;
use std::io::Read;

/// Maximum number of rows of a batch.
const MAX_BATCH_ROWS: usize = 1 << 20;
/// Maximum text of a dictionary, in bytes: a hundred thousand names each of flows, links and nodes.
const MAX_TEXT: usize = 1 << 26;

/// Number of dictionaries: one for each column of names.
pub(super) const DICTIONARIES: usize = 5;

fn damaged(reason: &'static str) -> EventsError {
    EventsError::Damaged { reason }
}

#[derive(Debug, Default)]
pub(crate) struct EventFile {
    pub(crate) columns: Vec<Column>,
    pub(crate) metadata: BTreeMap<String, String>,
    /// The dictionaries in the order of their columns. All keys of the batches are valid.
    pub(crate) names: [Names; DICTIONARIES],
    pub(crate) batches: Vec<EventBatch>,
}

#[derive(Debug)]
pub(crate) struct EventBatch {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<EventColumn>,
}

#[derive(Debug)]
pub(crate) struct EventColumn {
    pub(crate) holds: ColumnType,
    /// A bit for each row, which is 0 if the cell is null. `None` if no cell is null.
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) values: Vec<u8>,
}

impl EventColumn {
    /// Returns the value or the key of a row; an unsigned 64-bit value keeps its bits. `None` if the cell is null.
    pub(crate) fn integer(&self, row: usize) -> Option<i64> {
        if self.validity.as_ref().is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0) {
            return None;
        }
        Some(match self.holds {
            ColumnType::Names(8) => i8::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Names(16) => i16::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Names(_) => i32::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Uint(32) => u32::from_le_bytes(self.bytes(row)).into(),
            ColumnType::Int(_) | ColumnType::Uint(_) | ColumnType::Float64 => i64::from_le_bytes(self.bytes(row)),
        })
    }

    fn bytes<const N: usize>(&self, row: usize) -> [u8; N] {
        self.values.as_chunks().0[row]
    }
}

impl EventFile {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, EventsError> {
        let footer = Footer::of(bytes);
        let footer = footer.ok_or(damaged("it is not an Arrow IPC file, or it is truncated"))?;
        let found = footer.columns().ok_or(damaged("its schema cannot be read"))?;
        let matches = |columns: &[Column; 9]| {
            let expected = columns.iter().map(|column| (column.name, Some(column.holds)));
            expected.eq(found.iter().map(|column| (column.name, column.holds)))
        };
        let columns = [false, true].map(columns).into_iter().find(matches).ok_or(damaged("it has other columns"))?;
        let metadata = footer.metadata().ok_or(damaged("its metadata cannot be read"))?;
        let metadata = metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let mut names: [Option<Names>; DICTIONARIES] = Default::default();
        for dictionary in footer.dictionaries().ok_or(damaged("its footer cannot be read"))? {
            let dictionary = dictionary.ok_or(damaged("a dictionary is missing or damaged"))?;
            let slot = usize::try_from(dictionary.id).ok().and_then(|id| names.get_mut(id));
            let slot = slot.ok_or(damaged("a dictionary has no column"))?;
            if slot.replace(CompressedBatch::new(dictionary.batch)?.text()?).is_some() {
                return Err(damaged("a dictionary is duplicated"));
            }
        }
        // A dictionary without keys may be absent.
        let names = names.map(Option::unwrap_or_default);
        let mut file = Self { columns: columns.to_vec(), metadata, names, batches: Vec::new() };
        let mut rows = 0;
        for batch in footer.batches().ok_or(damaged("its footer cannot be read"))? {
            let batch = CompressedBatch::new(batch.ok_or(damaged("a record batch is missing or damaged"))?)?;
            rows += batch.batch.rows as u64;
            // Overlapping blocks could exceed the size of the file.
            if rows > MAX_ROWS_PER_KIND * EventKind::ALL.len() as u64 {
                return Err(damaged("it has more rows than the maximum of all kinds"));
            }
            file.batches.push(batch.columns(&file.columns, &file.names)?);
        }
        Ok(file)
    }
}

/// A record batch with compressed buffers.
struct CompressedBatch<'a> {
    batch: Batch<'a>,
}

impl<'a> CompressedBatch<'a> {
    fn new(batch: Batch<'a>) -> Result<Self, EventsError> {
        if batch.rows > MAX_BATCH_ROWS { Err(damaged("a record batch has too many rows")) } else { Ok(Self { batch }) }
    }

    /// Returns a decompressed buffer of at most `max` bytes.
    fn buffer(&self, number: usize, max: usize) -> Result<Vec<u8>, EventsError> {
        let invalid = || damaged("a column cannot be read");
        let part = self.batch.buffer(number).ok_or_else(invalid)?;
        if part.is_empty() {
            return Ok(Vec::new());
        }
        let (length, part) = part.split_first_chunk::<8>().ok_or_else(invalid)?;
        let length = i64::from_le_bytes(*length);
        if length == -1 {
            return Ok(part.to_vec());
        }
        let length = usize::try_from(length).ok().filter(|length| *length <= max).ok_or_else(invalid)?;
        let mut bytes = Vec::with_capacity(length);
        FrameDecoder::new(part).take(length as u64).read_to_end(&mut bytes).map_err(|_| invalid())?;
        if bytes.len() == length { Ok(bytes) } else { Err(invalid()) }
    }

    fn text(&self) -> Result<Names, EventsError> {
        let invalid = || damaged("a dictionary's entries are not text");
        let rows = self.batch.rows;
        let ends = self.buffer(1, 4 * (rows + 1))?;
        let ends: Vec<usize> = ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end) as usize).collect();
        if ends.len() != rows + 1 || !ends.is_sorted() {
            return Err(invalid());
        }
        let text = String::from_utf8(self.buffer(2, MAX_TEXT)?).map_err(|_| invalid())?;
        ends.windows(2).map(|pair| text.get(pair[0]..pair[1]).ok_or_else(invalid)).collect()
    }

    /// Returns the columns and checks that all keys are in their dictionaries.
    fn columns(&self, columns: &[Column], names: &[Names]) -> Result<EventBatch, EventsError> {
        let rows = self.batch.rows;
        let read = columns.iter().enumerate().map(|(number, column)| self.column(number, column.holds));
        let columns: Vec<EventColumn> = read.collect::<Result<_, _>>()?;
        let with_names = columns.iter().filter(|column| matches!(column.holds, ColumnType::Names(_)));
        for (column, names) in with_names.zip(names) {
            let known = |key: i64| usize::try_from(key).is_ok_and(|key| key < names.len());
            if !(0..rows).filter_map(|row| column.integer(row)).all(known) {
                return Err(damaged("a key is not in its dictionary"));
            }
        }
        Ok(EventBatch { rows, columns })
    }

    fn column(&self, number: usize, holds: ColumnType) -> Result<EventColumn, EventsError> {
        let short = || damaged("a column is shorter than its rows");
        let rows = self.batch.rows;
        let validity = match self.batch.node(number).ok_or_else(short)? {
            (length, _) if length != rows => return Err(short()),
            (_, 0) => None,
            _ => Some(self.buffer(2 * number, rows.div_ceil(8))?),
        };
        let values = self.buffer(2 * number + 1, rows * holds.width())?;
        let is_short = validity.as_ref().is_some_and(|bits: &Vec<u8>| bits.len() < rows.div_ceil(8));
        if is_short || values.len() < rows * holds.width() {
            return Err(short());
        }
        Ok(EventColumn { holds, validity, values })
    }
}
