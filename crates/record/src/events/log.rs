//! Collects events and writes them.

use super::row::{Event, EventCause, EventKind};
use super::{EventsError, MOST_ROWS};
use crate::arrow_file::ArrowFile;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a record batch.
const BATCH_ROWS: usize = 4096;

/// The shape of the file, told in its metadata.
const VERSION: u32 = 1;

/// What the numbers of events stand for.
#[derive(Clone, Debug)]
pub struct EventNames {
    entities: StringArray,
    flows: StringArray,
    kinds: StringArray,
}

impl EventNames {
    /// Names of places, flows and kinds of packets. Places may have a name in common.
    #[must_use]
    pub fn new<'a>(
        entities: impl IntoIterator<Item = &'a str>,
        flows: impl IntoIterator<Item = &'a str>,
        kinds: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            entities: StringArray::from_iter_values(entities),
            flows: StringArray::from_iter_values(flows),
            kinds: StringArray::from_iter_values(kinds),
        }
    }
}

/// The file, and its dictionaries. A file holds each dictionary once, so that there is one for all batches.
#[derive(Debug)]
struct Columns {
    file: ArrowFile,
    schema: Arc<Schema>,
    events: ArrayRef,
    entities: ArrayRef,
    /// The place in `entities` of each place that events know.
    entity_keys: Vec<i32>,
    flows: ArrayRef,
    kinds: ArrayRef,
    causes: ArrayRef,
}

/// Makes `events.arrow` of the events of a run: what is ready can be taken as often as one likes. The same events always give the same
/// bytes.
#[derive(Debug)]
pub struct EventLog {
    names: EventNames,
    batch: Vec<Event>,
    /// How many there were of each kind.
    seen: [u64; EventKind::ALL.len()],
    columns: Option<Columns>,
    /// What went wrong in [`push`](Self::push), which cannot say so.
    failure: Option<ArrowError>,
}

impl EventLog {
    /// None has happened yet.
    #[must_use]
    pub fn new(names: EventNames) -> Self {
        Self { names, batch: Vec::new(), seen: Default::default(), columns: None, failure: None }
    }

    /// Something happened, not before what happened last.
    pub fn push(&mut self, event: Event) {
        let seen = &mut self.seen[event.kind as usize];
        *seen += 1;
        if *seen > MOST_ROWS {
            return;
        }
        if self.batch.len() == BATCH_ROWS {
            self.flush();
        }
        self.batch.push(event);
    }

    #[cold]
    fn flush(&mut self) {
        if let Err(error) = self.encode() {
            self.failure.get_or_insert(error);
        }
        self.batch.clear();
    }

    fn encode(&mut self) -> Result<(), ArrowError> {
        let columns = match &mut self.columns {
            Some(columns) => columns,
            None => self.columns.insert(Columns::new(&self.names)?),
        };
        if self.batch.is_empty() { Ok(()) } else { columns.write(&self.batch) }
    }

    /// What is ready of the file, behind what was taken before.
    ///
    /// # Errors
    /// What could not be written.
    pub fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.columns.as_mut().map(|columns| columns.file.take()).unwrap_or_default()),
        }
    }

    /// No more happens. Gives the rest of the file.
    ///
    /// # Errors
    /// What could not be written.
    pub fn finish(mut self) -> Result<Vec<u8>, EventsError> {
        self.flush();
        let of_kinds = || EventKind::ALL.into_iter().zip(self.seen);
        let left_out: BTreeMap<_, _> = of_kinds()
            .filter(|(_, seen)| *seen > MOST_ROWS)
            .map(|(kind, seen)| (kind.name(), seen - MOST_ROWS))
            .collect();
        let rows: u64 = of_kinds().map(|(_, seen)| seen.min(MOST_ROWS)).sum();
        let metadata = [
            ("rows".to_owned(), rows.to_string()),
            ("left_out".to_owned(), serde_json::to_string(&left_out).unwrap_or_default()),
        ];
        if let Some(columns) = &mut self.columns {
            columns.file.finish(metadata, None);
        }
        self.take()
    }
}

/// A column of names.
fn named(name: &str, key: DataType, nullable: bool) -> Field {
    Field::new(name, DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8)), nullable)
}

impl Columns {
    fn new(names: &EventNames) -> Result<Self, ArrowError> {
        let fields = vec![
            Field::new("time_ns", DataType::Int64, false),
            named("event", DataType::Int8, false),
            named("entity", DataType::Int32, false),
            named("flow", DataType::Int32, true),
            named("kind", DataType::Int8, true),
            named("cause", DataType::Int8, true),
            Field::new("sequence", DataType::UInt64, true),
            Field::new("bytes", DataType::UInt32, true),
            Field::new("late_ns", DataType::Int64, true),
        ];
        let metadata = BTreeMap::from([("headway.events".to_owned(), VERSION.to_string())]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let (entities, entity_keys) = each_once(&names.entities);
        Ok(Self {
            file: ArrowFile::new(Arc::clone(&schema))?,
            schema,
            events: Arc::new(StringArray::from_iter_values(EventKind::ALL.map(EventKind::name))),
            entities: Arc::new(entities),
            entity_keys,
            flows: Arc::new(names.flows.clone()),
            kinds: Arc::new(names.kinds.clone()),
            causes: Arc::new(StringArray::from_iter_values(EventCause::names())),
        })
    }

    fn write(&mut self, rows: &[Event]) -> Result<(), ArrowError> {
        let few = |keys: Int8Array, names: &ArrayRef| DictionaryArray::<Int8Type>::try_new(keys, Arc::clone(names));
        let many = |keys: Int32Array, names: &ArrayRef| DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(names));
        let entity = |row: &Event| self.entity_keys.get(row.entity as usize).copied();
        let late = |row: &Event| row.late.map(|late| late.as_nanos() as i64);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.at.as_nanos() as i64))),
            Arc::new(few(rows.iter().map(|row| Some(row.kind as i8)).collect(), &self.events)?),
            Arc::new(many(rows.iter().map(entity).collect(), &self.entities)?),
            Arc::new(many(rows.iter().map(|row| Some(row.flow as i32)).collect(), &self.flows)?),
            Arc::new(few(rows.iter().map(|row| row.media.map(|kind| kind as i8)).collect(), &self.kinds)?),
            Arc::new(few(rows.iter().map(|row| row.cause.map(|cause| cause.code() as i8)).collect(), &self.causes)?),
            Arc::new(rows.iter().map(|row| row.sequence).collect::<UInt64Array>()),
            Arc::new(rows.iter().map(|row| row.bytes).collect::<UInt32Array>()),
            Arc::new(rows.iter().map(late).collect::<Int64Array>()),
        ];
        self.file.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        Ok(())
    }
}

/// Each name once, and where each is among them: a dictionary with a name twice is one that pandas refuses.
fn each_once(names: &StringArray) -> (StringArray, Vec<i32>) {
    let mut places: BTreeMap<&str, i32> = BTreeMap::new();
    let mut once = Vec::new();
    let keys = names
        .iter()
        .flatten()
        .map(|name| {
            *places.entry(name).or_insert_with(|| {
                once.push(name);
                once.len() as i32 - 1
            })
        })
        .collect();
    (StringArray::from_iter_values(once), keys)
}
