//! Collects events and writes them.

use super::row::{Event, EventCause, EventKind};
use super::{EventsError, MOST_ROWS};
use crate::format::arrow::file::{ArrowFile, Compression};
use crate::format::arrow::metadata::{Column, ColumnType, Schema};
use std::collections::BTreeMap;
use std::io;

const BATCH_ROWS: usize = 4096;

/// The shape of the file, told in its metadata.
const VERSION: u32 = 1;

/// Names one after the other, without memory for each: there may be thousands, of which no event tells.
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

/// What the numbers of events stand for.
#[derive(Clone, Debug)]
pub struct EventNames {
    entities: Names,
    flows: Names,
    kinds: Names,
}

impl EventNames {
    /// Names of places, flows and kinds of packets. Places may have a name in common.
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
    /// The place in its dictionary of each place that events know.
    entity_keys: Vec<i32>,
    /// Whether a number of an entity or a flow has two bytes or four.
    many: bool,
}

/// Makes `events.arrow` of the events of a run: what is ready can be taken as often as one likes. The same events always give the same
/// bytes.
#[derive(Debug)]
pub struct EventLog {
    names: EventNames,
    batch: Vec<Event>,
    seen: [u64; EventKind::ALL.len()],
    columns: Option<Columns>,
    /// What went wrong in [`push`](Self::push), which cannot say so.
    failure: Option<io::Error>,
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

    fn encode(&mut self) -> io::Result<()> {
        let columns = match &mut self.columns {
            Some(columns) => columns,
            None => self.columns.insert(Columns::new(&self.names, !self.batch.is_empty())?),
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

/// Returns the columns of `events.arrow`; `many`: entities and flows are so many that their numbers have four bytes.
pub(super) fn columns(many: bool) -> [Column; 9] {
    let key = ColumnType::Names(if many { 32 } else { 16 });
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
    /// `with_rows`: there will be rows, which need dictionaries. A file holds each once, so that there is one for all batches.
    fn new(names: &EventNames, with_rows: bool) -> io::Result<Self> {
        let many = names.entities.ends.len() > i16::MAX as usize;
        let metadata = BTreeMap::from([("headway.events".to_owned(), VERSION.to_string())]);
        let schema = Schema { columns: columns(many).to_vec(), metadata };
        let mut file = ArrowFile::new(schema, Compression::Lz4);
        let mut entity_keys = Vec::new();
        if with_rows {
            let (entities, keys) = each_once(&names.entities);
            entity_keys = keys;
            file.dictionary(0, EventKind::ALL.into_iter().map(EventKind::name))?;
            file.dictionary(1, entities.into_iter())?;
            file.dictionary(2, names.flows.iter())?;
            file.dictionary(3, names.kinds.iter())?;
            file.dictionary(4, EventCause::names())?;
        }
        Ok(Self { file, entity_keys, many })
    }

    fn write(&mut self, rows: &[Event]) -> io::Result<()> {
        let Self { file, entity_keys, many } = self;
        let entity = |row: &Event| entity_keys.get(row.entity as usize).copied().unwrap_or_default();
        let flow = |row: &Event| row.flow as i32;
        file.begin(rows.len());
        file.column(rows, |row| row.at.as_nanos() as i64);
        file.column(rows, |row| row.kind as i8);
        if *many {
            file.column(rows, entity);
            file.column(rows, flow);
        } else {
            file.column(rows, |row| entity(row) as i16);
            file.column(rows, |row| flow(row) as i16);
        }
        file.column_with_gaps(rows, |row| row.media.map(|kind| kind as i8));
        file.column_with_gaps(rows, |row| row.cause.map(|cause| cause.code() as i8));
        file.column_with_gaps(rows, |row| row.sequence);
        file.column_with_gaps(rows, |row| row.bytes);
        file.column_with_gaps(rows, |row| row.late.map(|late| late.as_nanos() as i64));
        file.end().map(|_| ())
    }
}

/// Each name once, and where each is among them: a dictionary with a name twice is one that pandas refuses.
fn each_once(names: &Names) -> (Vec<&str>, Vec<i32>) {
    let mut places: BTreeMap<&str, i32> = BTreeMap::new();
    let mut once = Vec::new();
    let keys = names.iter().map(|name| {
        *places.entry(name).or_insert_with(|| {
            once.push(name);
            once.len() as i32 - 1
        })
    });
    let keys = keys.collect();
    (once, keys)
}
