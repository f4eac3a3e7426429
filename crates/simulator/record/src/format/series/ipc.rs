//! Reads the one shape of Arrow IPC file that `series.arrow` has.
//!
//! Files come from anywhere, so every offset and length is checked before it is followed, and what is kept is never
//! more than the file is long.

use super::{COLUMNS, SeriesError};
use crate::format::arrow::metadata::{Batch, Footer, FoundColumn};
use std::collections::BTreeMap;

/// The rows of one record batch, keys checked against their dictionary.
pub(crate) struct Rows<'a> {
    pub(crate) times: &'a [u8],
    pub(crate) entities: &'a [u8],
    pub(crate) metrics: &'a [u8],
    pub(crate) values: &'a [u8],
}

/// A whole file, its record batches still as bytes.
pub(crate) struct File<'a> {
    length: usize,
    footer: Footer<'a>,
    entity_names: Vec<&'a str>,
    metric_names: Vec<&'a str>,
}

fn damaged(what: &'static str) -> SeriesError {
    SeriesError::Damaged { what }
}

/// Returns the rows of column `index`, none of whose cells may be empty.
fn rows_of(batch: &Batch<'_>, index: usize) -> Result<usize, SeriesError> {
    match batch.node(index).ok_or(damaged("a record batch lacks a column"))? {
        (rows, 0) => Ok(rows),
        _ => Err(SeriesError::Empty { column: COLUMNS.get(index).map_or("name", |column| column.name) }),
    }
}

/// Returns the values of column `index`: as many as the batch has rows, each of `width` bytes.
fn data<'a>(batch: &Batch<'a>, index: usize, rows: usize, width: usize) -> Result<&'a [u8], SeriesError> {
    if rows_of(batch, index)? != rows {
        return Err(damaged("the columns of a record batch differ in length"));
    }
    // A column has two buffers: which cells are empty, and the values.
    let bytes = batch.buffer(2 * index + 1).zip(rows.checked_mul(width));
    bytes.and_then(|(data, length)| data.get(..length)).ok_or(damaged("a column is shorter than its rows"))
}

fn compressed(batch: &Batch<'_>) -> Result<(), SeriesError> {
    if batch.compressed { Err(damaged("its buffers are compressed; write it without compression")) } else { Ok(()) }
}

/// Returns the entries of a dictionary: UTF-8 between consecutive offsets.
fn names<'a>(batch: &Batch<'a>) -> Result<Vec<&'a str>, SeriesError> {
    let wrong = || damaged("a dictionary's entries are not text");
    compressed(batch)?;
    let rows = rows_of(batch, 0)?;
    let offsets = batch.buffer(1).ok_or_else(wrong)?;
    let text = batch.buffer(2).ok_or_else(wrong)?;
    // No entries may come without offsets.
    if rows == 0 {
        return Ok(Vec::new());
    }
    let length = rows.checked_add(1).and_then(|count| count.checked_mul(4)).ok_or_else(wrong)?;
    let offsets = offsets.get(..length).ok_or_else(wrong)?.as_chunks().0;
    let ends: Vec<usize> = offsets.iter().map(|end| u32::from_le_bytes(*end) as usize).collect();
    ends.windows(2)
        .map(|pair| text.get(pair[0]..pair[1]).and_then(|name| std::str::from_utf8(name).ok()).ok_or_else(wrong))
        .collect()
}

/// Returns the identifiers of the two dictionaries, if the columns are those of `series.arrow`.
fn dictionaries(footer: &Footer<'_>) -> Result<(i64, i64), SeriesError> {
    let found = footer.columns().ok_or(damaged("it has no schema"))?;
    let alike = COLUMNS.iter().map(|column| (column.name, Some(column.holds)));
    let alike = alike.eq(found.iter().map(|column| (column.name, column.holds)));
    match found.as_slice() {
        [_, FoundColumn { dictionary: Some(entity), .. }, FoundColumn { dictionary: Some(metric), .. }, _] if alike => {
            Ok((*entity, *metric))
        }
        _ => Err(SeriesError::Columns {
            found: found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            right: COLUMNS.map(|column| format!("{} ({})", column.name, column.holds)).join(", "),
        }),
    }
}

impl<'a> File<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, SeriesError> {
        let footer = Footer::of(bytes);
        let footer = footer.ok_or(damaged("it does not begin and end as an Arrow IPC file does: is it cut short?"))?;
        let (entity_id, metric_id) = dictionaries(&footer)?;
        let mut entries: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
        let mut kept = 0;
        for dictionary in footer.dictionaries().ok_or(damaged("its footer is unreadable"))? {
            let dictionary = dictionary.ok_or(damaged("a dictionary is not where it should be"))?;
            // Blocks that overlap could ask for far more than the file holds.
            kept += dictionary.batch.body.len();
            if kept > bytes.len() {
                return Err(damaged("its dictionaries overlap"));
            }
            let names = names(&dictionary.batch)?;
            if dictionary.is_delta {
                entries.entry(dictionary.id).or_default().extend(names);
            } else {
                entries.insert(dictionary.id, names);
            }
        }
        // A dictionary that no row needs may be absent; both columns may share one.
        let metric_names = entries.get(&metric_id).cloned().unwrap_or_default();
        let entity_names = entries.remove(&entity_id).unwrap_or_default();
        Ok(Self { length: bytes.len(), footer, entity_names, metric_names })
    }

    pub(crate) fn entities(&self) -> &[&'a str] {
        &self.entity_names
    }

    pub(crate) fn metrics(&self) -> &[&'a str] {
        &self.metric_names
    }

    pub(crate) fn batches(&self) -> Result<impl Iterator<Item = Result<Rows<'a>, SeriesError>>, SeriesError> {
        let (mut kept, length) = (0, self.length);
        let batches = self.footer.batches().ok_or(damaged("its footer is unreadable"))?;
        Ok(batches.map(move |batch| {
            let batch = batch.ok_or(damaged("a record batch is not where it should be"))?;
            kept += batch.body.len();
            if kept > length {
                return Err(damaged("its record batches overlap"));
            }
            compressed(&batch)?;
            let rows = rows_of(&batch, 0)?;
            let [times, entities, metrics, values] = COLUMNS.map(|column| column.holds.width());
            Ok(Rows {
                times: data(&batch, 0, rows, times)?,
                entities: data(&batch, 1, rows, entities)?,
                metrics: data(&batch, 2, rows, metrics)?,
                values: data(&batch, 3, rows, values)?,
            })
        }))
    }
}

impl Rows<'_> {
    /// Time in ns, key of the entity, key of the metric, value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, i32, i32, f64)> {
        let times = self.times.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let entities = self.entities.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes));
        let metrics = self.metrics.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes));
        let values = self.values.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        times
            .zip(entities)
            .zip(metrics)
            .zip(values)
            .map(|(((time, entity), metric), value)| (time, entity, metric, value))
    }
}
