//! The tables of a record as Arrow arrays in memory.

use super::compressed::DecodedColumn;
use super::metadata::{Column, ColumnType};
use crate::format::events::EventsError;
use crate::format::events::read::EventFile;
use crate::format::series::ipc::File;
use crate::format::series::{COLUMNS, SeriesError};
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Alignment of the widest column, in bytes.
const ALIGNMENT: usize = align_of::<u64>();

fn schema(columns: &[Column], metadata: BTreeMap<String, String>) -> SchemaRef {
    let fields = columns.iter().map(|column| {
        let int = |bits| match bits {
            8 => DataType::Int8,
            16 => DataType::Int16,
            32 => DataType::Int32,
            _ => DataType::Int64,
        };
        let holds = match column.holds {
            ColumnType::Int(bits) => int(bits),
            ColumnType::Uint(32) => DataType::UInt32,
            ColumnType::Uint(_) => DataType::UInt64,
            ColumnType::Float64 => DataType::Float64,
            ColumnType::Names(bits) => DataType::Dictionary(Box::new(int(bits)), Box::new(DataType::Utf8)),
        };
        Field::new(column.name, holds, column.nullable)
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata))
}

/// Returns the columns of `series.arrow`.
#[must_use]
pub fn series_schema() -> SchemaRef {
    schema(&COLUMNS, BTreeMap::new())
}

/// Returns the record batches of the bytes of `series.arrow`. Columns refer to `bytes`; only unaligned columns are
/// copied, which files of Headway do not have.
///
/// # Errors
///
/// The errors of [`SeriesTable::from_ipc`](crate::SeriesTable::from_ipc).
pub fn series_batches(bytes: &Buffer) -> Result<Vec<RecordBatch>, SeriesError> {
    let file = File::open(bytes)?;
    let names = |names: &[&str]| -> ArrayRef { Arc::new(StringArray::from_iter_values(names)) };
    let (entities, metrics) = (names(file.entities()), names(file.metrics()));
    let part = |part: &[u8]| {
        let part = bytes.slice_with_length(part.as_ptr().addr() - bytes.as_ptr().addr(), part.len());
        if part.as_ptr().addr().is_multiple_of(ALIGNMENT) { part } else { Buffer::from(part.as_slice()) }
    };
    let named = |keys: &[u8], names: &ArrayRef, column| {
        let keys = Int32Array::new(ScalarBuffer::from(part(keys)), None);
        DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(names)).map_err(|_| SeriesError::Empty { column })
    };
    let batches = file.batches()?.map(|rows| {
        let rows = rows?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::new(ScalarBuffer::from(part(rows.times)), None)),
            Arc::new(named(rows.entities, &entities, "entity")?),
            Arc::new(named(rows.metrics, &metrics, "metric")?),
            Arc::new(Float64Array::new(ScalarBuffer::from(part(rows.values)), None)),
        ];
        let batch = RecordBatch::try_new(series_schema(), columns);
        batch.map_err(|_| SeriesError::Damaged { reason: "the columns of a record batch differ in length" })
    });
    batches.collect()
}

/// Returns the schema and the record batches of the bytes of `events.arrow`.
///
/// # Errors
///
/// The bytes are not a complete `events.arrow`.
pub fn event_batches(bytes: &[u8]) -> Result<(SchemaRef, Vec<RecordBatch>), EventsError> {
    let file = EventFile::read(bytes)?;
    let schema = schema(&file.columns, file.metadata);
    let names = file.names.map(|names| -> ArrayRef { Arc::new(StringArray::from_iter_values(names.iter())) });
    let batches = file.batches.into_iter().map(|batch| {
        let mut dictionaries = names.iter();
        let columns = batch.columns.into_iter().map(|column| {
            let is_named = matches!(column.holds, ColumnType::Names(_));
            array(column, batch.rows, if is_named { dictionaries.next() } else { None })
        });
        let columns = columns.collect::<Option<Vec<_>>>();
        let batch = columns.and_then(|columns| RecordBatch::try_new(Arc::clone(&schema), columns).ok());
        batch.ok_or(EventsError::Damaged { reason: "its columns do not match its schema" })
    });
    let batches = batches.collect::<Result<Vec<_>, _>>()?;
    Ok((schema, batches))
}

fn array(column: DecodedColumn, rows: usize, names: Option<&ArrayRef>) -> Option<ArrayRef> {
    let validity = column.validity.map(|bits| NullBuffer::new(BooleanBuffer::new(bits.into(), 0, rows)));
    let values = column.values;
    Some(match column.holds {
        ColumnType::Int(_) => Arc::new(Int64Array::new(scalars(&values, i64::from_le_bytes), validity)),
        ColumnType::Uint(32) => Arc::new(UInt32Array::new(scalars(&values, u32::from_le_bytes), validity)),
        ColumnType::Uint(_) => Arc::new(UInt64Array::new(scalars(&values, u64::from_le_bytes), validity)),
        ColumnType::Float64 => Arc::new(Float64Array::new(scalars(&values, f64::from_le_bytes), validity)),
        ColumnType::Names(8) => named::<Int8Type>(scalars(&values, i8::from_le_bytes), validity, names?)?,
        ColumnType::Names(16) => named::<Int16Type>(scalars(&values, i16::from_le_bytes), validity, names?)?,
        ColumnType::Names(_) => named::<Int32Type>(scalars(&values, i32::from_le_bytes), validity, names?)?,
    })
}

/// Copies the values to aligned memory.
fn scalars<const N: usize, T: arrow_buffer::ArrowNativeType>(bytes: &[u8], of: fn([u8; N]) -> T) -> ScalarBuffer<T> {
    bytes.as_chunks().0.iter().map(|bytes| of(*bytes)).collect::<Vec<T>>().into()
}

fn named<K: ArrowDictionaryKeyType>(
    keys: ScalarBuffer<K::Native>,
    validity: Option<NullBuffer>,
    names: &ArrayRef,
) -> Option<ArrayRef> {
    let keys = PrimitiveArray::<K>::try_new(keys, validity).ok()?;
    Some(Arc::new(DictionaryArray::try_new(keys, Arc::clone(names)).ok()?))
}
