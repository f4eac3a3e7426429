//! Reads Arrow IPC files with the schema of `series.arrow`.
//!
//! Files are untrusted: every offset and length is checked, and memory is bounded by the length of the file.

use super::{COLUMNS, SeriesError};
use crate::format::arrow::metadata::{Batch, Footer, FoundColumn};
use std::collections::BTreeMap;

/// The columns of one record batch, as bytes.
pub(crate) struct Rows<'a> {
    pub(crate) times: &'a [u8],
    pub(crate) entities: &'a [u8],
    pub(crate) metrics: &'a [u8],
    pub(crate) values: &'a [u8],
}

/// A complete file with undecoded record batches.
pub(crate) struct File<'a> {
    length: usize,
    footer: Footer<'a>,
    entity_names: Vec<&'a str>,
    metric_names: Vec<&'a str>,
}

fn damaged(reason: &'static str) -> SeriesError {
    SeriesError::Damaged { reason }
}

/// Returns the number of rows of column `index`. Null cells are an error.
fn rows_of(batch: &Batch<'_>, index: usize) -> Result<usize, SeriesError> {
    match batch.node(index).ok_or(damaged("a record batch lacks a column"))? {
        (rows, 0) => Ok(rows),
        _ => Err(SeriesError::Empty { column: COLUMNS.get(index).map_or("name", |column| column.name) }),
    }
}

/// Returns the values of column `index`: `rows` values of `width` bytes.
fn data<'a>(batch: &Batch<'a>, index: usize, rows: usize, width: usize) -> Result<&'a [u8], SeriesError> {
    if rows_of(batch, index)? != rows {
        return Err(damaged("the columns of a record batch differ in length"));
    }
    // A column has two buffers: validity bits and values.
    let bytes = batch.buffer(2 * index + 1).zip(rows.checked_mul(width));
    bytes.and_then(|(data, length)| data.get(..length)).ok_or(damaged("a column is shorter than its rows"))
}

fn reject_compressed(batch: &Batch<'_>) -> Result<(), SeriesError> {
    if batch.compressed { Err(damaged("its buffers are compressed; expected no compression")) } else { Ok(()) }
}

/// Returns the entries of a dictionary: UTF-8 between consecutive offsets.
fn names<'a>(batch: &Batch<'a>) -> Result<Vec<&'a str>, SeriesError> {
    let invalid = || damaged("a dictionary's entries are not text");
    reject_compressed(batch)?;
    let rows = rows_of(batch, 0)?;
    let offsets = batch.buffer(1).ok_or_else(invalid)?;
    let text = batch.buffer(2).ok_or_else(invalid)?;
    // An empty dictionary may have no offsets.
    if rows == 0 {
        return Ok(Vec::new());
    }
    let length = rows.checked_add(1).and_then(|count| count.checked_mul(4)).ok_or_else(invalid)?;
    let offsets = offsets.get(..length).ok_or_else(invalid)?.as_chunks().0;
    let ends: Vec<usize> = offsets.iter().map(|end| u32::from_le_bytes(*end) as usize).collect();
    ends.windows(2)
        .map(|pair| text.get(pair[0]..pair[1]).and_then(|name| std::str::from_utf8(name).ok()).ok_or_else(invalid))
        .collect()
}

/// Returns the identifiers of the two dictionaries, if the columns are those of `series.arrow`.
fn dictionaries(footer: &Footer<'_>) -> Result<(i64, i64), SeriesError> {
    let found = footer.columns().ok_or(damaged("it has no schema"))?;
    let expected = COLUMNS.iter().map(|column| (column.name, Some(column.holds)));
    let matches = expected.eq(found.iter().map(|column| (column.name, column.holds)));
    match found.as_slice() {
        [_, FoundColumn { dictionary: Some(entity), .. }, FoundColumn { dictionary: Some(metric), .. }, _]
            if matches =>
        {
            Ok((*entity, *metric))
        }
        _ => Err(SeriesError::Columns {
            found: found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            expected: COLUMNS.map(|column| format!("{} ({})", column.name, column.holds)).join(", "),
        }),
    }
}

impl<'a> File<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, SeriesError> {
        let footer = Footer::of(bytes);
        let footer = footer.ok_or(damaged("it is not an Arrow IPC file, or it is truncated"))?;
        let (entity_id, metric_id) = dictionaries(&footer)?;
        let mut entries: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
        let mut read = 0;
        for dictionary in footer.dictionaries().ok_or(damaged("its footer cannot be read"))? {
            let dictionary = dictionary.ok_or(damaged("a dictionary is missing or damaged"))?;
            // Overlapping blocks could need far more memory than the file has bytes.
            read += dictionary.batch.body.len();
            if read > bytes.len() {
                return Err(damaged("its dictionaries overlap"));
            }
            let names = names(&dictionary.batch)?;
            if dictionary.is_delta {
                entries.entry(dictionary.id).or_default().extend(names);
            } else {
                entries.insert(dictionary.id, names);
            }
        }
        // A dictionary without keys may be absent; both columns may share one.
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
        let (mut read, length) = (0, self.length);
        let batches = self.footer.batches().ok_or(damaged("its footer cannot be read"))?;
        Ok(batches.map(move |batch| {
            let batch = batch.ok_or(damaged("a record batch is missing or damaged"))?;
            read += batch.body.len();
            if read > length {
                return Err(damaged("its record batches overlap"));
            }
            reject_compressed(&batch)?;
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
    /// Returns the rows: time in ns, key of the entity, key of the metric, value.
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
