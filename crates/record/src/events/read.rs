//! Reads `events.arrow` back, as Arrow's own arrays.
//!
//! Files come from anywhere, so every offset and length is checked before it is followed, and what is kept is never more than a file of
//! events may have.

use super::log::fields;
use super::row::EventKind;
use super::{EventsError, MOST_ROWS};
use crate::arrow_file::{body_of, footer};
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::{MessageHeader, RecordBatch as Header};
use arrow_schema::{DataType, Schema};
use lz4_flex::frame::FrameDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

/// More rows a batch of ours does not have, nor more text a dictionary: a hundred thousand names of flows, links and nodes each.
const MOST_BATCH_ROWS: usize = 1 << 20;
const MOST_TEXT: usize = 1 << 26;

fn damaged(what: &'static str) -> EventsError {
    EventsError::Damaged { what }
}

/// The bytes of `events.arrow` as a table: its columns, and a record batch after the other.
///
/// # Errors
/// They are not a whole file of events.
pub fn event_batches(bytes: &[u8]) -> Result<(Arc<Schema>, Vec<RecordBatch>), EventsError> {
    let footer = footer(bytes).ok_or(damaged("it does not end as an Arrow IPC file does: is it cut short?"))?;
    let named = footer.schema().map(arrow_ipc::convert::try_fb_to_schema);
    let named = named.ok_or(damaged("it has no schema"))?.map_err(|_| damaged("its schema cannot be read"))?;
    let alike = |many: bool| {
        let ours = fields(many);
        let same = ours.iter().map(|field| (field.name(), field.data_type()));
        same.eq(named.fields().iter().map(|field| (field.name(), field.data_type()))).then_some(ours)
    };
    let fields = [false, true].into_iter().find_map(alike).ok_or(damaged("its columns are others"))?;
    let schema = Arc::new(Schema::new_with_metadata(fields, named.metadata().clone()));
    let mut names: BTreeMap<i64, ArrayRef> = BTreeMap::new();
    for block in footer.dictionaries().unwrap_or_default() {
        let (message, body) = body_of(bytes, block).ok_or(damaged("a dictionary is not where it should be"))?;
        let dictionary = message.header_as_dictionary_batch().ok_or(damaged("a dictionary is something else"))?;
        let data = dictionary.data().ok_or(damaged("a dictionary is empty"))?;
        if names.insert(dictionary.id(), Arc::new(text(&Parts::new(data, body)?)?)).is_some() {
            return Err(damaged("a dictionary is there twice"));
        }
    }
    let (mut batches, mut rows) = (Vec::new(), 0);
    for block in footer.recordBatches().unwrap_or_default() {
        let (message, body) = body_of(bytes, block).ok_or(damaged("a batch is not where it should be"))?;
        let data = message.header_as_record_batch().filter(|_| message.header_type() == MessageHeader::RecordBatch);
        let parts = Parts::new(data.ok_or(damaged("a batch is something else"))?, body)?;
        rows += parts.rows as u64;
        // Blocks may overlap.
        if rows > MOST_ROWS * EventKind::ALL.len() as u64 {
            return Err(damaged("it has more rows than events are kept"));
        }
        batches.push(batch(&schema, &parts, &names)?);
    }
    Ok((schema, batches))
}

/// A record batch, its buffers in their order.
struct Parts<'a> {
    header: Header<'a>,
    body: &'a [u8],
    rows: usize,
}

impl<'a> Parts<'a> {
    fn new(header: Header<'a>, body: &'a [u8]) -> Result<Self, EventsError> {
        let rows = usize::try_from(header.length()).ok().filter(|rows| *rows <= MOST_BATCH_ROWS);
        Ok(Self { header, body, rows: rows.ok_or(damaged("a batch has too many rows"))? })
    }

    /// A buffer as it was before it was compressed, of so many bytes at most.
    fn buffer(&self, number: usize, most: usize) -> Result<Vec<u8>, EventsError> {
        let wrong = || damaged("a column cannot be read");
        let buffers = self.header.buffers().filter(|buffers| number < buffers.len()).ok_or_else(wrong)?;
        let place = buffers.get(number);
        let from = usize::try_from(place.offset()).map_err(|_| wrong())?;
        let length = usize::try_from(place.length()).map_err(|_| wrong())?;
        let part = from.checked_add(length).and_then(|until| self.body.get(from..until)).ok_or_else(wrong)?;
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

    /// The validity and the values of a column whose values have so many bytes each.
    fn column(&self, number: usize, width: usize) -> Result<(Option<NullBuffer>, Buffer), EventsError> {
        let wrong = || damaged("a column is shorter than its rows");
        let nodes = self.header.nodes().filter(|nodes| number < nodes.len()).ok_or_else(wrong)?;
        let node = nodes.get(number);
        if usize::try_from(node.length()) != Ok(self.rows) {
            return Err(wrong());
        }
        let validity = if node.null_count() == 0 {
            None
        } else {
            let bits = self.buffer(2 * number, self.rows.div_ceil(8))?;
            if bits.len() < self.rows.div_ceil(8) {
                return Err(wrong());
            }
            Some(NullBuffer::new(BooleanBuffer::new(bits.into(), 0, self.rows)))
        };
        let values = self.buffer(2 * number + 1, self.rows * width)?;
        if values.len() < self.rows * width { Err(wrong()) } else { Ok((validity, values.into())) }
    }
}

/// The names of a dictionary.
fn text(parts: &Parts<'_>) -> Result<StringArray, EventsError> {
    let wrong = || damaged("a dictionary's entries are not text");
    let ends = parts.buffer(1, 4 * (parts.rows + 1))?;
    let ends: Vec<i32> = ends.chunks_exact(4).map(|end| end.try_into().map_or(-1, i32::from_le_bytes)).collect();
    let rises = ends.first().is_some_and(|first| *first >= 0) && ends.is_sorted();
    if ends.len() != parts.rows + 1 || !rises {
        return Err(wrong());
    }
    let text = parts.buffer(2, MOST_TEXT)?;
    StringArray::try_new(OffsetBuffer::new(ends.into()), text.into(), None).map_err(|_| wrong())
}

fn batch(schema: &Arc<Schema>, parts: &Parts<'_>, names: &BTreeMap<i64, ArrayRef>) -> Result<RecordBatch, EventsError> {
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut dictionaries = 0..;
    for (number, field) in schema.fields().iter().enumerate() {
        let width = |of: &DataType| of.primitive_width().unwrap_or_default();
        columns.push(match field.data_type() {
            DataType::Dictionary(key, _) => {
                let column = parts.column(number, width(key))?;
                let names = dictionaries.next().and_then(|number| names.get(&number));
                let names = names.ok_or(damaged("a dictionary is missing"))?;
                match **key {
                    DataType::Int8 => named::<Int8Type>(parts.rows, column, names)?,
                    DataType::Int16 => named::<Int16Type>(parts.rows, column, names)?,
                    _ => named::<Int32Type>(parts.rows, column, names)?,
                }
            }
            of => {
                let (validity, values) = parts.column(number, width(of))?;
                match of {
                    DataType::UInt32 => Arc::new(UInt32Array::new(ScalarBuffer::new(values, 0, parts.rows), validity)),
                    DataType::UInt64 => Arc::new(UInt64Array::new(ScalarBuffer::new(values, 0, parts.rows), validity)),
                    _ => Arc::new(Int64Array::new(ScalarBuffer::new(values, 0, parts.rows), validity)),
                }
            }
        });
    }
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn named<K: ArrowDictionaryKeyType>(
    rows: usize,
    (validity, values): (Option<NullBuffer>, Buffer),
    names: &ArrayRef,
) -> Result<ArrayRef, EventsError> {
    let keys = PrimitiveArray::<K>::new(ScalarBuffer::new(values, 0, rows), validity);
    let column = DictionaryArray::try_new(keys, Arc::clone(names));
    column.map(|column| Arc::new(column) as ArrayRef).map_err(|_| damaged("a name is missing"))
}

#[cfg(test)]
mod tests {
    use super::super::{Event, EventCause, EventLog, EventNames};
    use super::*;
    use headway_units::{DropCause, Duration, Instant, SendDrop};
    use proptest::prelude::*;

    fn file(rows: u64) -> Vec<u8> {
        let mut log = EventLog::new(EventNames::new(["a->b", "f", "f"], ["f"], ["data", "audio"]));
        for row in 0..rows {
            let unsent = row % 3 == 0;
            let cause =
                if unsent { EventCause::Unsent(SendDrop::PushedOut) } else { EventCause::Drop(DropCause::QueueFull) };
            log.push(Event {
                at: Instant::from_nanos(row * 977),
                kind: if unsent { EventKind::Unsent } else { EventKind::Drop },
                entity: if unsent { 2 } else { 0 },
                flow: 0,
                media: Some((row % 2) as u8),
                cause: Some(cause),
                sequence: (!unsent).then_some(row),
                bytes: Some(100),
                late: unsent.then_some(Duration::from_nanos(row)),
            });
        }
        log.finish().unwrap()
    }

    /// What was written is what is read, by Arrow's reader as by ours; a name that two places share is there once.
    #[test]
    fn a_file_is_read_back() {
        let bytes = file(10_000);
        let (schema, batches) = event_batches(&bytes).unwrap();
        let theirs = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(&bytes), None).unwrap();
        assert_eq!(theirs.schema().metadata(), schema.metadata());
        let theirs: Vec<_> = theirs.map(Result::unwrap).collect();
        assert_eq!(batches.len(), theirs.len());
        for (ours, theirs) in batches.iter().zip(&theirs) {
            assert_eq!(ours.columns(), theirs.columns());
        }
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10_000);
        let (_, none) = event_batches(&file(0)).unwrap();
        assert!(none.is_empty());
    }

    proptest! {
        /// Damaged bytes are an error, or a table: never a panic, never more memory than a file of events may take.
        #[test]
        fn damaged_bytes_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
            let mut bytes = file(300);
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            drop(event_batches(&bytes));
            drop(event_batches(&bytes[..cut.index(bytes.len())]));
        }
    }
}
