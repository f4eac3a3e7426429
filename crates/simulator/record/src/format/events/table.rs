//! The rows of `events.arrow`.

use super::log::Names;
use super::read::{DICTIONARIES, EventBatch, EventFile};
use super::{EventKind, EventsError, FEEDBACK};
use headway_units::{Duration, Instant};
use std::collections::BTreeMap;

/// The events of a run, read from `events.arrow`.
#[derive(Debug, Default)]
pub struct EventTable {
    rows: Vec<Row>,
    /// The dictionaries of `event`, `entity`, `flow`, `kind` and `cause`.
    names: [Names; DICTIONARIES],
    omitted: BTreeMap<String, u64>,
}

/// A decoded event. Decoding once is faster, because the findings read all events several times.
#[derive(Debug)]
struct Row {
    at: Instant,
    /// Keys of the dictionaries, from the second column on. `None` if the cell is null.
    keys: [Option<u32>; DICTIONARIES],
    bytes: Option<u32>,
    late: Option<Duration>,
}

impl Row {
    fn of(batch: &EventBatch, row: usize) -> Self {
        let integer = |column: usize| batch.columns.get(column)?.integer(row);
        let nanos = |value: i64| u64::try_from(value).unwrap_or_default();
        Self {
            at: Instant::from_nanos(integer(0).map_or(0, nanos)),
            keys: std::array::from_fn(|named| u32::try_from(integer(named + 1)?).ok()),
            bytes: integer(7).map(|bytes| bytes as u32),
            late: integer(8).map(|late| Duration::from_nanos(nanos(late))),
        }
    }
}

/// A row of `events.arrow`, with names instead of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow<'a> {
    /// Time of the event.
    pub at: Instant,
    /// Kind of the event: the [name](EventKind::name) of an [`EventKind`].
    pub event: &'a str,
    /// Name of the flow, link direction or node at which the event occurred.
    pub entity: &'a str,
    /// Name of the flow that the event concerns; `None` if it concerns no flow.
    pub flow: Option<&'a str>,
    /// Kind of media of the packet, or `feedback` for acknowledgements and reports; `None` if the event concerns no
    /// packet.
    pub kind: Option<&'a str>,
    /// Cause for which a packet was dropped, or discarded by a send queue; `None` for other events.
    pub cause: Option<&'a str>,
    /// Size of the packet in bytes, with the IP header; for a packet discarded by a send queue, without headers. `None`
    /// if the event concerns no packet.
    pub bytes: Option<u32>,
    /// Time by which a late packet missed its deadline, or an unsent one would have missed it if it had been sent (0 if
    /// it would not); `None` for other events.
    pub late: Option<Duration>,
}

impl EventRow<'_> {
    /// Returns whether the event is of this kind.
    #[must_use]
    pub fn is(&self, kind: EventKind) -> bool {
        self.event == kind.name()
    }

    /// Returns whether the packet is an acknowledgement or a report.
    #[must_use]
    pub fn is_feedback(&self) -> bool {
        self.kind == Some(FEEDBACK)
    }
}

impl EventTable {
    /// Reads the bytes of `events.arrow`.
    ///
    /// # Errors
    /// The bytes are not a complete `events.arrow`.
    pub fn from_ipc(bytes: &[u8]) -> Result<Self, EventsError> {
        let file = EventFile::read(bytes)?;
        let omitted = file.metadata.get("left_out");
        let omitted = omitted.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let of_batch = |batch: &EventBatch| (0..batch.rows).map(|row| Row::of(batch, row)).collect::<Vec<_>>();
        Ok(Self { rows: file.batches.iter().flat_map(of_batch).collect(), names: file.names, omitted })
    }

    /// Returns the names of all flows, in the order of the scenario.
    pub fn flows(&self) -> impl Iterator<Item = &str> {
        self.names[2].iter()
    }

    /// Returns the number of events of this kind that the file omits.
    #[must_use]
    pub fn omitted(&self, kind: EventKind) -> u64 {
        self.omitted.get(kind.name()).copied().unwrap_or_default()
    }

    /// Returns all events in the order of time.
    pub fn iter(&self) -> impl Iterator<Item = EventRow<'_>> {
        self.rows.iter().map(|row| {
            let name = |named: usize| self.names[named].get(row.keys[named]? as usize);
            EventRow {
                at: row.at,
                event: name(0).unwrap_or_default(),
                entity: name(1).unwrap_or_default(),
                flow: name(2),
                kind: name(3),
                cause: name(4),
                bytes: row.bytes,
                late: row.late,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Event, EventCause, EventLog, EventNames};
    use super::*;
    use headway_units::{DropCause, SendDrop};

    #[test]
    fn rows_round_trip() {
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
        assert_eq!(table.omitted(EventKind::Drop), 0);
        assert_eq!(EventTable::default().iter().count(), 0);
    }
}
