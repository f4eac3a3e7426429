//! Reads the one shape of Arrow IPC file that `series.arrow` has.
//!
//! Files come from anywhere, so every offset and length is checked before it is followed, and what is kept is never
//! more than the file is long. (`arrow_ipc::reader::FileReader` panics on a damaged length, and allocates what it
//! says; its verified flatbuffers are used here without it.)
//!
//! Layout: "Arrow Columnar Format", section "IPC File Format". `ARROW1`, messages, footer, its length, `ARROW1`; the
//! footer lists where each message is; a message is a header (flatbuffer) and a body of buffers.

use super::SeriesError;
use arrow_ipc::{Block, Field, FloatingPoint, Footer, Int, Precision, RecordBatch, Type};
use std::collections::BTreeMap;
use std::sync::Arc;

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: u32 = u32::MAX;
const COLUMNS: [&str; 4] = ["time_ns", "entity", "metric", "value"];

/// The rows of one record batch, keys checked against their dictionary.
pub(super) struct Rows<'a> {
    pub(super) times: &'a [u8],
    pub(super) entities: &'a [u8],
    pub(super) metrics: &'a [u8],
    pub(super) values: &'a [u8],
}

/// A whole file, its record batches still as bytes.
pub(super) struct File<'a> {
    bytes: &'a [u8],
    footer: Footer<'a>,
    /// The dictionaries of the entity and metric columns.
    entity_names: Vec<Arc<str>>,
    metric_names: Vec<Arc<str>>,
}

fn damaged(what: &'static str) -> SeriesError {
    SeriesError::Damaged { what }
}

/// `bytes[from..from + length]`, where both come from the file.
fn part(bytes: &[u8], from: i64, length: i64) -> Option<&[u8]> {
    let from = usize::try_from(from).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(length).ok()?)?)
}

fn little_u32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.first_chunk()?))
}

/// The header and the body of the message that `block` points to.
fn message<'a>(bytes: &'a [u8], block: &Block) -> Option<(arrow_ipc::Message<'a>, &'a [u8])> {
    let header_length = i64::from(block.metaDataLength());
    let header = part(bytes, block.offset(), header_length)?;
    let body = part(bytes, block.offset().checked_add(header_length)?, block.bodyLength())?;
    // Since version 0.15 of the format: a marker, the flatbuffer's length, the flatbuffer.
    if little_u32(header)? != CONTINUATION {
        return None;
    }
    let length = little_u32(&header[4..])? as usize;
    let flatbuffer = header.get(8..8usize.checked_add(length)?)?;
    Some((arrow_ipc::root_as_message(flatbuffer).ok()?, body))
}

/// Buffer `index` of a batch.
fn buffer<'a>(batch: &RecordBatch<'_>, body: &'a [u8], index: usize) -> Option<&'a [u8]> {
    let buffers = batch.buffers()?;
    let buffer = (index < buffers.len()).then(|| buffers.get(index))?;
    part(body, buffer.offset(), buffer.length())
}

/// The rows of column `index`, if none of its cells is empty.
fn rows_of(batch: &RecordBatch<'_>, index: usize) -> Result<usize, SeriesError> {
    let nodes = batch.nodes().filter(|nodes| index < nodes.len()).ok_or(damaged("a record batch lacks a column"))?;
    let node = nodes.get(index);
    if node.null_count() != 0 {
        return Err(SeriesError::Empty { column: COLUMNS.get(index).copied().unwrap_or("name") });
    }
    usize::try_from(node.length()).map_err(|_| damaged("a column has a negative length"))
}

/// The first `rows * width` bytes of the data of column `index`: each of these columns has a validity and a data buffer.
fn data<'a>(
    batch: &RecordBatch<'_>,
    body: &'a [u8],
    index: usize,
    rows: usize,
    width: usize,
) -> Result<&'a [u8], SeriesError> {
    if rows_of(batch, index)? != rows {
        return Err(damaged("the columns of a record batch differ in length"));
    }
    buffer(batch, body, 2 * index + 1)
        .zip(rows.checked_mul(width))
        .and_then(|(data, length)| data.get(..length))
        .ok_or(damaged("a column is shorter than its rows"))
}

/// The entries of a dictionary: UTF-8 between consecutive offsets.
fn names<'a>(batch: &RecordBatch<'_>, body: &'a [u8]) -> Result<Vec<&'a str>, SeriesError> {
    let wrong = || damaged("a dictionary's entries are not text");
    if batch.compression().is_some() {
        return Err(damaged("its buffers are compressed; write it without compression"));
    }
    let rows = rows_of(batch, 0)?;
    let offsets = buffer(batch, body, 1).ok_or_else(wrong)?;
    let text = buffer(batch, body, 2).ok_or_else(wrong)?;
    // No entries may come without offsets.
    if rows == 0 {
        return Ok(Vec::new());
    }
    let length = rows.checked_add(1).and_then(|count| count.checked_mul(4)).ok_or_else(wrong)?;
    let ends: Vec<usize> = offsets
        .get(..length)
        .ok_or_else(wrong)?
        .chunks_exact(4)
        .map_while(little_u32)
        .map(|end| end as usize)
        .collect();
    ends.windows(2)
        .map(|pair| text.get(pair[0]..pair[1]).and_then(|name| std::str::from_utf8(name).ok()).ok_or_else(wrong))
        .collect()
}

/// The dictionary of a column that is `Dictionary(Int32, Utf8)`.
fn dictionary_id(field: &Field<'_>) -> Option<i64> {
    let encoding = field.dictionary()?;
    // The format's default index type is a signed 32-bit integer.
    let index_is_right = encoding.indexType().is_none_or(|int: Int<'_>| int.bitWidth() == 32 && int.is_signed());
    (field.type_type() == Type::Utf8 && index_is_right).then(|| encoding.id())
}

/// A column in words, for an error.
fn described(field: &Field<'_>) -> String {
    let bits = |int: Int<'_>| format!("{}int{}", if int.is_signed() { "" } else { "u" }, int.bitWidth());
    let values = field.type_as_int().map_or(field.type_type().variant_name().unwrap_or("?").to_owned(), bits);
    let keys = field
        .dictionary()
        .map_or(String::new(), |encoding| format!(" by {}", encoding.indexType().map_or("int32".to_owned(), bits)));
    format!("{} ({values}{keys})", field.name().unwrap_or("?"))
}

/// The identifiers of the two dictionaries, if the columns are those of `series.arrow`.
fn dictionaries(footer: &Footer<'_>) -> Result<(i64, i64), SeriesError> {
    let fields = footer.schema().and_then(|schema| schema.fields()).ok_or(damaged("it has no schema"))?;
    let found =
        || SeriesError::Columns { found: fields.iter().map(|field| described(&field)).collect::<Vec<_>>().join(", ") };
    if !fields.iter().map(|field| field.name().unwrap_or_default()).eq(COLUMNS) {
        return Err(found());
    }
    let (time, value) = (fields.get(0), fields.get(3));
    let plain = time.dictionary().is_none() && value.dictionary().is_none();
    let is_u64 = time.type_as_int().is_some_and(|int: Int<'_>| int.bitWidth() == 64 && !int.is_signed());
    let is_f64 =
        value.type_as_floating_point().is_some_and(|float: FloatingPoint<'_>| float.precision() == Precision::DOUBLE);
    match (plain && is_u64 && is_f64, dictionary_id(&fields.get(1)), dictionary_id(&fields.get(2))) {
        (true, Some(entity), Some(metric)) => Ok((entity, metric)),
        _ => Err(found()),
    }
}

impl<'a> File<'a> {
    /// Reads the footer and the dictionaries.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, SeriesError> {
        let no_end = || damaged("it does not end as an Arrow IPC file does: is it cut short?");
        if !bytes.starts_with(MAGIC) {
            return Err(damaged("it does not start as an Arrow IPC file does"));
        }
        let rest = bytes.strip_suffix(MAGIC).ok_or_else(no_end)?;
        let (rest, length) = rest.split_last_chunk::<4>().ok_or_else(no_end)?;
        let start = rest.len().checked_sub(u32::from_le_bytes(*length) as usize).ok_or_else(no_end)?;
        let footer = arrow_ipc::root_as_footer(&rest[start..]).map_err(|_| damaged("its footer is unreadable"))?;
        let (entity_id, metric_id) = dictionaries(&footer)?;
        let mut entries: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
        let mut kept = 0u64;
        for block in footer.dictionaries().unwrap_or_default() {
            let (message, body) = message(bytes, block).ok_or(damaged("a dictionary is not where it should be"))?;
            // Blocks that overlap could ask for far more than the file holds.
            kept += body.len() as u64;
            if kept > bytes.len() as u64 {
                return Err(damaged("its dictionaries overlap"));
            }
            let header = message.header_as_dictionary_batch().ok_or(damaged("a dictionary is something else"))?;
            let batch = header.data().ok_or(damaged("a dictionary has no entries"))?;
            let names = names(&batch, body)?;
            if header.isDelta() {
                entries.entry(header.id()).or_default().extend(names);
            } else {
                entries.insert(header.id(), names);
            }
        }
        // A dictionary that no row needs may be absent; both columns may share one.
        let names_of = |id| -> Vec<Arc<str>> {
            entries.get(&id).map(|names| names.iter().map(|name| Arc::from(*name)).collect()).unwrap_or_default()
        };
        let (entity_names, metric_names) = (names_of(entity_id), names_of(metric_id));
        Ok(Self { bytes, footer, entity_names, metric_names })
    }

    /// The dictionary of the entity column.
    pub(super) fn entities(&self) -> &[Arc<str>] {
        &self.entity_names
    }

    /// The dictionary of the metric column.
    pub(super) fn metrics(&self) -> &[Arc<str>] {
        &self.metric_names
    }

    /// The name of a key of the entity column; `None` if its dictionary lacks it.
    pub(super) fn entity(&self, key: i32) -> Option<Arc<str>> {
        self.entity_names.get(usize::try_from(key).ok()?).cloned()
    }

    /// The name of a key of the metric column; `None` if its dictionary lacks it.
    pub(super) fn metric(&self, key: i32) -> Option<Arc<str>> {
        self.metric_names.get(usize::try_from(key).ok()?).cloned()
    }

    /// Each record batch in order.
    pub(super) fn batches(&self) -> impl Iterator<Item = Result<Rows<'a>, SeriesError>> {
        let mut kept = 0u64;
        let blocks = self.footer.recordBatches().unwrap_or_default();
        blocks.iter().map(move |block| {
            let (message, body) =
                message(self.bytes, block).ok_or(damaged("a record batch is not where it should be"))?;
            kept += body.len() as u64;
            if kept > self.bytes.len() as u64 {
                return Err(damaged("its record batches overlap"));
            }
            let batch = message.header_as_record_batch().ok_or(damaged("a record batch is something else"))?;
            if batch.compression().is_some() {
                return Err(damaged("its buffers are compressed; write it without compression"));
            }
            let rows = rows_of(&batch, 0)?;
            Ok(Rows {
                times: data(&batch, body, 0, rows, 8)?,
                entities: data(&batch, body, 1, rows, 4)?,
                metrics: data(&batch, body, 2, rows, 4)?,
                values: data(&batch, body, 3, rows, 8)?,
            })
        })
    }
}

impl Rows<'_> {
    /// Time in ns, key of the entity, key of the metric, value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, i32, i32, f64)> {
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
