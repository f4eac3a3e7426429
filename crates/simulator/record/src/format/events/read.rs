//! Reads `events.arrow` back.
//!
//! Files come from anywhere, so every offset and length is checked before it is followed, and what is kept is never more than a file of
//! events may have.

use super::log::{Names, columns};
use super::row::EventKind;
use super::{EventsError, MOST_ROWS};
use crate::format::arrow::metadata::{Batch, Column, ColumnType, Footer};
use lz4_flex::frame::FrameDecoder;
use std::collections::BTreeMap;
use std::io::Read;

/// More rows a batch of ours does not have, nor more text a dictionary: a hundred thousand names of flows, links and nodes each.
const MOST_BATCH_ROWS: usize = 1 << 20;
const MOST_TEXT: usize = 1 << 26;

/// The columns of names have a dictionary each.
pub(super) const DICTIONARIES: usize = 5;

fn damaged(what: &'static str) -> EventsError {
    EventsError::Damaged { what }
}

#[derive(Debug, Default)]
pub(crate) struct EventFile {
    pub(crate) columns: Vec<Column>,
    pub(crate) metadata: BTreeMap<String, String>,
    /// The dictionaries in the order of their columns. Each batch has an entry for each of its keys.
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
    /// A bit for each row, which is 0 if the cell is empty. `None` if no cell is.
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) values: Vec<u8>,
}

impl EventColumn {
    /// Returns the value or the key of a row, of which a value of 64 bits without a sign keeps its bits. `None` if the cell is empty.
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
        let footer = footer.ok_or(damaged("it does not begin and end as an Arrow IPC file does: is it cut short?"))?;
        let found = footer.columns().ok_or(damaged("its schema cannot be read"))?;
        let alike = |columns: &[Column; 9]| {
            let ours = columns.iter().map(|column| (column.name, Some(column.holds)));
            ours.eq(found.iter().map(|column| (column.name, column.holds)))
        };
        let columns = [false, true].map(columns).into_iter().find(alike).ok_or(damaged("its columns are others"))?;
        let metadata = footer.metadata().ok_or(damaged("its metadata cannot be read"))?;
        let metadata = metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let mut names: [Option<Names>; DICTIONARIES] = Default::default();
        for dictionary in footer.dictionaries().ok_or(damaged("its footer cannot be read"))? {
            let dictionary = dictionary.ok_or(damaged("a dictionary is not where it should be"))?;
            let place = usize::try_from(dictionary.id).ok().and_then(|id| names.get_mut(id));
            let place = place.ok_or(damaged("a dictionary has no column"))?;
            if place.replace(Parts::new(dictionary.batch)?.text()?).is_some() {
                return Err(damaged("a dictionary is there twice"));
            }
        }
        // A dictionary that no row needs may be absent.
        let names = names.map(Option::unwrap_or_default);
        let mut file = Self { columns: columns.to_vec(), metadata, names, batches: Vec::new() };
        let mut rows = 0;
        for batch in footer.batches().ok_or(damaged("its footer cannot be read"))? {
            let parts = Parts::new(batch.ok_or(damaged("a batch is not where it should be"))?)?;
            rows += parts.batch.rows as u64;
            // Blocks may overlap.
            if rows > MOST_ROWS * EventKind::ALL.len() as u64 {
                return Err(damaged("it has more rows than events are kept"));
            }
            file.batches.push(parts.columns(&file.columns, &file.names)?);
        }
        Ok(file)
    }
}

/// A record batch, its buffers in their order.
struct Parts<'a> {
    batch: Batch<'a>,
}

impl<'a> Parts<'a> {
    fn new(batch: Batch<'a>) -> Result<Self, EventsError> {
        if batch.rows > MOST_BATCH_ROWS { Err(damaged("a batch has too many rows")) } else { Ok(Self { batch }) }
    }

    /// A buffer as it was before it was compressed, of so many bytes at most.
    fn buffer(&self, number: usize, most: usize) -> Result<Vec<u8>, EventsError> {
        let wrong = || damaged("a column cannot be read");
        let part = self.batch.buffer(number).ok_or_else(wrong)?;
        if part.is_empty() {
            return Ok(Vec::new());
        }
        let (length, part) = part.split_first_chunk::<8>().ok_or_else(wrong)?;
        let length = i64::from_le_bytes(*length);
        if length == -1 {
            return Ok(part.to_vec());
        }
        let length = usize::try_from(length).ok().filter(|length| *length <= most).ok_or_else(wrong)?;
        let mut bytes = Vec::with_capacity(length);
        FrameDecoder::new(part).take(length as u64).read_to_end(&mut bytes).map_err(|_| wrong())?;
        if bytes.len() == length { Ok(bytes) } else { Err(wrong()) }
    }

    fn text(&self) -> Result<Names, EventsError> {
        let wrong = || damaged("a dictionary's entries are not text");
        let rows = self.batch.rows;
        let ends = self.buffer(1, 4 * (rows + 1))?;
        let ends: Vec<usize> = ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end) as usize).collect();
        if ends.len() != rows + 1 || !ends.is_sorted() {
            return Err(wrong());
        }
        let text = String::from_utf8(self.buffer(2, MOST_TEXT)?).map_err(|_| wrong())?;
        ends.windows(2).map(|pair| text.get(pair[0]..pair[1]).ok_or_else(wrong)).collect()
    }

    /// The columns, whose keys are all in their dictionaries.
    fn columns(&self, columns: &[Column], names: &[Names]) -> Result<EventBatch, EventsError> {
        let rows = self.batch.rows;
        let read = columns.iter().enumerate().map(|(number, column)| self.column(number, column.holds));
        let columns: Vec<EventColumn> = read.collect::<Result<_, _>>()?;
        let with_names = columns.iter().filter(|column| matches!(column.holds, ColumnType::Names(_)));
        for (column, names) in with_names.zip(names) {
            let known = |key: i64| usize::try_from(key).is_ok_and(|key| key < names.len());
            if !(0..rows).filter_map(|row| column.integer(row)).all(known) {
                return Err(damaged("a name is missing"));
            }
        }
        Ok(EventBatch { rows, columns })
    }

    fn column(&self, number: usize, holds: ColumnType) -> Result<EventColumn, EventsError> {
        let wrong = || damaged("a column is shorter than its rows");
        let rows = self.batch.rows;
        let validity = match self.batch.node(number).ok_or_else(wrong)? {
            (length, _) if length != rows => return Err(wrong()),
            (_, 0) => None,
            _ => Some(self.buffer(2 * number, rows.div_ceil(8))?),
        };
        let values = self.buffer(2 * number + 1, rows * holds.width())?;
        let short = validity.as_ref().is_some_and(|bits: &Vec<u8>| bits.len() < rows.div_ceil(8));
        if short || values.len() < rows * holds.width() {
            return Err(wrong());
        }
        Ok(EventColumn { holds, validity, values })
    }
}
