//! The columns of `series.arrow` as Arrow's own arrays, for whoever hands tables on: nothing is copied.

use super::ipc::File;
use super::{SeriesError, series_schema};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use std::sync::Arc;

/// What the widest column must be aligned to.
const ALIGNMENT: usize = align_of::<u64>();

/// The bytes of `series.arrow` as a table: a record batch after the other, whose columns lie where they are in the file. What is not
/// aligned is copied, which no file of ours needs.
///
/// # Errors
/// As of [`SeriesTable::from_ipc`](super::SeriesTable::from_ipc).
pub fn series_batches(bytes: &Buffer) -> Result<Vec<RecordBatch>, SeriesError> {
    let file = File::open(bytes)?;
    let names = |names: &[Arc<str>]| -> ArrayRef { Arc::new(StringArray::from_iter_values(names)) };
    let (entities, metrics) = (names(file.entities()), names(file.metrics()));
    let part = |part: &[u8]| {
        let part = bytes.slice_with_length(part.as_ptr().addr() - bytes.as_ptr().addr(), part.len());
        if part.as_ptr().addr().is_multiple_of(ALIGNMENT) { part } else { Buffer::from(part.as_slice()) }
    };
    let named = |keys: &[u8], names: &ArrayRef, column| {
        let keys = Int32Array::new(ScalarBuffer::from(part(keys)), None);
        DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(names)).map_err(|_| SeriesError::Empty { column })
    };
    let batches = file.batches().map(|rows| {
        let rows = rows?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::new(ScalarBuffer::from(part(rows.times)), None)),
            Arc::new(named(rows.entities, &entities, "entity")?),
            Arc::new(named(rows.metrics, &metrics, "metric")?),
            Arc::new(Float64Array::new(ScalarBuffer::from(part(rows.values)), None)),
        ];
        Ok(RecordBatch::try_new(series_schema(), columns)?)
    });
    batches.collect()
}
