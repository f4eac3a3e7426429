//! Collects events and writes `events.arrow`.

use super::row::{Event, EventCause, EventKind};
use super::{EventsError, MAX_ROWS_PER_KIND};
use crate::format::arrow::file::{ArrowFile, Compression};
use crate::format::arrow::metadata::{Column, ColumnType, Schema};
use std::collections::BTreeMap;
use std::io;

const BATCH_ROWS: usize = 4096;

/// Version of the file's layout, written in its metadata.
const VERSION: u32 = 1;

/// Names in one string. Thousands of names may have no event; separate allocations would be wasteful.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.text[begin..*end])
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, number: usize) -> Option<&str> {
        let begin = if number == 0 { 0 } else { *self.ends.get(number - 1)? };
        self.text.get(begin..*self.ends.get(number)?)
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut all = Self::default();
        for name in names {
            all.text.push_str(name);
            all.ends.push(all.text.len());
        }
        all
    }
}

/// Names of entities, flows and kinds of packets. An [`Event`] has indices instead of names.
#[derive(Clone, Debug)]
pub struct EventNames {
    entities: Names,
    flows: Names,
    kinds: Names,
}

impl EventNames {
    /// Creates the names of entities, flows and kinds of packets. Entities may share a name.
    #[must_use]
    pub fn new<'a>(
        entities: impl IntoIterator<Item = &'a str>,
        flows: impl IntoIterator<Item = &'a str>,
        kinds: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let [entities, flows, kinds] =
            [entities.into_iter().collect(), flows.into_iter().collect(), kinds.into_iter().collect()];
        Self { entities, flows, kinds }
    }
}

#[derive(Debug)]
struct Columns {
    file: ArrowFile,
    /// Dictionary key of each entity number.
    entity_keys: Vec<i32>,
    /// Whether keys of entities and flows have four bytes instead of two.
    wide: bool,
}

/// Writer of `events.arrow` from the events of a run. [`take`](Self::take) may be called at any time. Equal events give
/// equal bytes.
#[derive(Debug)]
pub struct EventLog {
    names: EventNames,
    batch: Vec<Event>,
    seen: [u64; EventKind::ALL.len()],
    columns: Option<Columns>,
    /// Error of [`push`](Self::push), returned by the next [`take`](Self::take).
    failure: Option<io::Error>,
}

impl EventLog {
    /// Creates a log without events.
    #[must_use]
    pub fn new(names: EventNames) -> Self {
        Self { names, batch: Vec::new(), seen: Default::default(), columns: None, failure: None }
    }

    /// Appends an event. Events must be in the order of time. After [`MAX_ROWS_PER_KIND`] events of a kind, further
    /// events of this kind are only counted.
    pub fn push(&mut self, event: Event) {
        let seen = &mut self.seen[event.kind as usize];
        *seen += 1;
        if *seen > MAX_ROWS_PER_KIND {
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

    fn encode(&mut self) -> io::Result<()> {
        let columns = match &mut self.columns {
            Some(columns) => columns,
            None => self.columns.insert(Columns::new(&self.names, !self.batch.is_empty())?),
        };
        if self.batch.is_empty() { Ok(()) } else { columns.write(&self.batch) }
    }

    /// Returns the bytes of the file that are complete since the last call.
    ///
    /// # Errors
    /// Encoding of an earlier batch failed.
    pub fn take(&mut self) -> Result<Vec<u8>, EventsError> {
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.columns.as_mut().map(|columns| columns.file.take()).unwrap_or_default()),
        }
    }

    /// Ends the log and returns the rest of the file.
    ///
    /// # Errors
    /// Encoding failed.
    pub fn finish(mut self) -> Result<Vec<u8>, EventsError> {
        self.flush();
        let counts = || EventKind::ALL.into_iter().zip(self.seen);
        let omitted: BTreeMap<_, _> = counts()
            .filter(|(_, seen)| *seen > MAX_ROWS_PER_KIND)
            .map(|(kind, seen)| (kind.name(), seen - MAX_ROWS_PER_KIND))
            .collect();
        let rows: u64 = counts().map(|(_, seen)| seen.min(MAX_ROWS_PER_KIND)).sum();
        let metadata = [
            ("rows".to_owned(), rows.to_string()),
            ("left_out".to_owned(), serde_json::to_string(&omitted).unwrap_or_default()),
        ];
        if let Some(columns) = &mut self.columns {
            columns.file.finish(metadata, None);
        }
        self.take()
    }
}

/// Returns the columns of `events.arrow`. With `wide`, keys of entities and flows have four bytes instead of two.
pub(super) fn columns(wide: bool) -> [Column; 9] {
    let key = ColumnType::Names(if wide { 32 } else { 16 });
    [
        Column::new("time_ns", ColumnType::Int(64)),
        Column::new("event", ColumnType::Names(8)),
        Column::new("entity", key),
        Column::nullable("flow", key),
        Column::nullable("kind", ColumnType::Names(8)),
        Column::nullable("cause", ColumnType::Names(8)),
        Column::nullable("sequence", ColumnType::Uint(64)),
        Column::nullable("bytes", ColumnType::Uint(32)),
        Column::nullable("late_ns", ColumnType::Int(64)),
    ]
}

impl Columns {
    /// Begins the file. With `with_rows`, writes the dictionaries, once for all batches.
    fn new(names: &EventNames, with_rows: bool) -> io::Result<Self> {
        let wide = names.entities.ends.len() > i16::MAX as usize;
        let metadata = BTreeMap::from([("headway.events".to_owned(), VERSION.to_string())]);
        let schema = Schema { columns: columns(wide).to_vec(), metadata };
        let mut file = ArrowFile::new(schema, Compression::Lz4);
        let mut entity_keys = Vec::new();
        if with_rows {
            let (entities, keys) = unique(&names.entities);
            entity_keys = keys;
            file.dictionary(0, EventKind::ALL.into_iter().map(EventKind::name))?;
            file.dictionary(1, entities.into_iter())?;
            file.dictionary(2, names.flows.iter())?;
            file.dictionary(3, names.kinds.iter())?;
            file.dictionary(4, EventCause::names())?;
        }
        Ok(Self { file, entity_keys, wide })
    }

    fn write(&mut self, rows: &[Event]) -> io::Result<()> {
        let Self { file, entity_keys, wide } = self;
        let entity = |row: &Event| entity_keys.get(row.entity as usize).copied().unwrap_or_default();
        let flow = |row: &Event| row.flow as i32;
        file.begin(rows.len());
        file.column(rows, |row| row.at.as_nanos() as i64);
        file.column(rows, |row| row.kind as i8);
        if *wide {
            file.column(rows, entity);
            file.column(rows, flow);
        } else {
            file.column(rows, |row| entity(row) as i16);
            file.column(rows, |row| flow(row) as i16);
        }
        file.nullable_column(rows, |row| row.media.map(|kind| kind as i8));
        file.nullable_column(rows, |row| row.cause.map(|cause| cause.code() as i8));
        file.nullable_column(rows, |row| row.sequence);
        file.nullable_column(rows, |row| row.bytes);
        file.nullable_column(rows, |row| row.late.map(|late| late.as_nanos() as i64));
        file.end().map(|_| ())
    }
}

/// Returns the distinct names and the index of each name among them. pandas rejects dictionaries with duplicates.
fn unique(names: &Names) -> (Vec<&str>, Vec<i32>) {
    let mut indices: BTreeMap<&str, i32> = BTreeMap::new();
    let mut distinct = Vec::new();
    let keys = names.iter().map(|name| {
        *indices.entry(name).or_insert_with(|| {
            distinct.push(name);
            distinct.len() as i32 - 1
        })
    });
    let keys = keys.collect();
    (distinct, keys)
}
