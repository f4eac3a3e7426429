//! The rows of `events.arrow`, one after the other.

use super::{EventKind, EventsError, event_batches};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// The events of a run, as they are in its file.
#[derive(Debug, Default)]
pub struct EventTable {
    batches: Vec<RecordBatch>,
    left_out: BTreeMap<String, u64>,
}

/// One of them. Names are those of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow<'a> {
    /// When.
    pub at: Instant,
    /// The name of an [`EventKind`].
    pub event: &'a str,
    /// Where: a flow, or a link's direction.
    pub entity: &'a str,
    /// Whose it is.
    pub flow: Option<&'a str>,
    /// What the packet is.
    pub kind: Option<&'a str>,
    /// Why.
    pub cause: Option<&'a str>,
    /// Its bytes.
    pub bytes: Option<u32>,
    /// How late it came, or would have come.
    pub late: Option<Duration>,
}

impl EventRow<'_> {
    /// Whether it is one of these.
    #[must_use]
    pub fn is(&self, kind: EventKind) -> bool {
        self.event == kind.name()
    }
}

impl EventTable {
    /// Reads the bytes of `events.arrow`.
    ///
    /// # Errors
    /// They are not a whole file of events.
    pub fn from_ipc(bytes: &[u8]) -> Result<Self, EventsError> {
        let (schema, batches) = event_batches(bytes)?;
        let left_out = schema.metadata().get("left_out");
        let left_out = left_out.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Ok(Self { batches, left_out })
    }

    /// How many more of these there were than were kept.
    #[must_use]
    pub fn left_out(&self, kind: EventKind) -> u64 {
        self.left_out.get(kind.name()).copied().unwrap_or_default()
    }

    /// All of them, in the order of time.
    pub fn iter(&self) -> impl Iterator<Item = EventRow<'_>> {
        self.batches
            .iter()
            .filter_map(Columns::of)
            .flat_map(|columns| (0..columns.rows()).map(move |row| columns.row(row)))
    }
}

/// A batch, its columns as what they are.
struct Columns<'a> {
    time: &'a PrimitiveArray<Int64Type>,
    /// event, entity, flow, kind, cause
    names: [Names<'a>; 5],
    bytes: &'a PrimitiveArray<UInt32Type>,
    late: &'a PrimitiveArray<Int64Type>,
}

struct Names<'a> {
    keys: Vec<usize>,
    column: &'a ArrayRef,
    names: &'a StringArray,
}

impl<'a> Names<'a> {
    fn of(column: &'a ArrayRef) -> Option<Self> {
        let dictionary = column.as_any_dictionary_opt()?;
        let names = dictionary.values().as_string_opt()?;
        // Without names there is nothing that a key could stand for.
        let keys = if names.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        Some(Self { keys, column, names })
    }

    fn get(&self, row: usize) -> Option<&'a str> {
        let key = self.keys.get(row).filter(|_| self.column.is_valid(row))?;
        Some(self.names.value(*key))
    }
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Option<Self> {
        let [time, event, entity, flow, kind, cause, _, bytes, late] = batch.columns() else { return None };
        let names = [event, entity, flow, kind, cause].map(Names::of);
        let [Some(event), Some(entity), Some(flow), Some(kind), Some(cause)] = names else { return None };
        Some(Self {
            time: time.as_primitive_opt()?,
            names: [event, entity, flow, kind, cause],
            bytes: bytes.as_primitive_opt()?,
            late: late.as_primitive_opt()?,
        })
    }

    fn rows(&self) -> usize {
        self.time.len()
    }

    fn row(&self, row: usize) -> EventRow<'a> {
        let [event, entity, flow, kind, cause] = self.names.each_ref().map(|names| names.get(row));
        let nanos = |value: i64| u64::try_from(value).unwrap_or_default();
        EventRow {
            at: Instant::from_nanos(nanos(self.time.value(row))),
            event: event.unwrap_or_default(),
            entity: entity.unwrap_or_default(),
            flow,
            kind,
            cause,
            bytes: self.bytes.is_valid(row).then(|| self.bytes.value(row)),
            late: self.late.is_valid(row).then(|| Duration::from_nanos(nanos(self.late.value(row)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Event, EventCause, EventLog, EventNames};
    use super::*;
    use headway_units::{DropCause, SendDrop};

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut log = EventLog::new(EventNames::new(["a->b", "call"], ["call"], ["data", "audio"]));
        let event = Event {
            at: Instant::from_nanos(5),
            kind: EventKind::Drop,
            entity: 0,
            flow: 0,
            media: None,
            cause: Some(EventCause::Drop(DropCause::QueueFull)),
            sequence: Some(1),
            bytes: Some(100),
            late: None,
        };
        let late = Some(Duration::from_nanos(9));
        let cause = Some(EventCause::Unsent(SendDrop::Expired));
        log.push(event);
        log.push(Event { kind: EventKind::Unsent, entity: 1, media: Some(1), cause, bytes: None, late, ..event });
        let table = EventTable::from_ipc(&log.finish().unwrap()).unwrap();
        let rows: Vec<_> = table.iter().collect();
        let first = EventRow {
            at: Instant::from_nanos(5),
            event: "drop",
            entity: "a->b",
            flow: Some("call"),
            kind: None,
            cause: Some("queue_full"),
            bytes: Some(100),
            late: None,
        };
        let second = EventRow {
            event: "unsent",
            entity: "call",
            kind: Some("audio"),
            cause: Some("expired"),
            bytes: None,
            late,
            ..first
        };
        assert_eq!(rows, [first, second]);
        assert!(rows[1].is(EventKind::Unsent) && !rows[1].is(EventKind::Drop));
        assert_eq!(table.left_out(EventKind::Drop), 0);
        assert_eq!(EventTable::default().iter().count(), 0);
    }
}
