//! Reads `events.arrow`.
//!
//! Files are untrusted: every offset and length is checked, and memory is bounded by the limits of a file of events.

use super::log::{Names, columns};
use super::row::EventKind;
use super::{EventsError, MAX_ROWS_PER_KIND};
use crate::format::arrow::compressed::{CompressedBatch, DecodedColumn};
use crate::format::arrow::metadata::{Batch, Column, ColumnType, Footer};
use std::collections::BTreeMap;

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
    pub(crate) columns: Vec<DecodedColumn>,
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
            if slot.replace(text(&compressed(dictionary.batch)?).map_err(damaged)?).is_some() {
                return Err(damaged("a dictionary is duplicated"));
            }
        }
        // A dictionary without keys may be absent.
        let names = names.map(Option::unwrap_or_default);
        let mut file = Self { columns: columns.to_vec(), metadata, names, batches: Vec::new() };
        let mut rows = 0;
        for batch in footer.batches().ok_or(damaged("its footer cannot be read"))? {
            let batch = compressed(batch.ok_or(damaged("a record batch is missing or damaged"))?)?;
            rows += batch.batch.rows as u64;
            // Overlapping blocks could exceed the size of the file.
            if rows > MAX_ROWS_PER_KIND * EventKind::ALL.len() as u64 {
                return Err(damaged("it has more rows than the maximum of all kinds"));
            }
            let batch = columns_of(&batch, &file.columns, &file.names).map_err(damaged)?;
            file.batches.push(batch);
        }
        Ok(file)
    }
}

fn compressed(batch: Batch<'_>) -> Result<CompressedBatch<'_>, EventsError> {
    CompressedBatch::new(batch).map_err(damaged)
}

/// Returns the entries of a dictionary.
fn text(batch: &CompressedBatch<'_>) -> Result<Names, &'static str> {
    let invalid = "a dictionary's entries are not text";
    let rows = batch.batch.rows;
    let ends = batch.buffer(1, 4 * (rows + 1))?;
    let ends: Vec<usize> = ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end) as usize).collect();
    if ends.len() != rows + 1 || !ends.is_sorted() {
        return Err(invalid);
    }
    let text = String::from_utf8(batch.buffer(2, MAX_TEXT)?).map_err(|_| invalid)?;
    ends.windows(2).map(|pair| text.get(pair[0]..pair[1]).ok_or(invalid)).collect()
}

/// Returns the columns of a batch and checks that all keys are in their dictionaries.
fn columns_of(batch: &CompressedBatch<'_>, columns: &[Column], names: &[Names]) -> Result<EventBatch, &'static str> {
    let rows = batch.batch.rows;
    let read = columns.iter().enumerate().map(|(number, column)| batch.column(number, column.holds));
    let columns: Vec<DecodedColumn> = read.collect::<Result<_, _>>()?;
    let with_names = columns.iter().filter(|column| matches!(column.holds, ColumnType::Names(_)));
    for (column, names) in with_names.zip(names) {
        let known = |key: i64| usize::try_from(key).is_ok_and(|key| key < names.len());
        if !(0..rows).filter_map(|row| column.integer(row)).all(known) {
            return Err("a key is not in its dictionary");
        }
    }
    Ok(EventBatch { rows, columns })
}
