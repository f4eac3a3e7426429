//! The tables of a record as Arrow arrays, compared with those of Arrow's reader.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{bytes, small};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileReader;
use headway_record::{
    Event, EventCause, EventKind, EventLog, EventNames, SeriesNames, event_batches, metric, series_batches,
    series_schema,
};
use headway_units::{DropCause, Duration, Instant, SendDrop};
use proptest::prelude::*;
use std::io::Cursor;

fn events(rows: u64) -> Vec<u8> {
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

/// Two entities with one name share a dictionary entry.
#[test]
fn event_batches_equal_those_of_arrow() {
    let bytes = events(10_000);
    let (schema, batches) = event_batches(&bytes).unwrap();
    let theirs = FileReader::try_new(Cursor::new(&bytes), None).unwrap();
    assert_eq!(theirs.schema(), schema);
    let theirs: Vec<RecordBatch> = theirs.map(Result::unwrap).collect();
    assert_eq!(batches, theirs);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10_000);
    assert_eq!(event_batches(&events(0)).unwrap().1, []);
}

#[test]
fn a_series_without_samples_has_the_schema_of_arrow() {
    let mut names = SeriesNames::default();
    names.series("never", metric::LOSS);
    let bytes = bytes(names.samples());
    let theirs = FileReader::try_new(Cursor::new(&bytes), None).unwrap();
    assert_eq!(theirs.schema(), series_schema());
    assert_eq!(theirs.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
}

#[test]
fn series_batches_equal_those_of_arrow_and_refer_to_the_file() {
    let mut names = SeriesNames::default();
    let ids = ["a", "b"].map(|entity| names.series(entity, metric::QUEUE));
    let mut writer = names.samples();
    // Two batches and part of a third.
    for number in 0..20_000 {
        writer.push(ids[number % 2], Instant::from_nanos(number as u64), number as f64 / 8.0);
    }
    let whole = bytes(writer);
    let reader = FileReader::try_new(Cursor::new(&whole), None).unwrap();
    let expected: Vec<_> = reader.map(Result::unwrap).collect();
    let whole = Buffer::from_vec(whole);
    let batches = series_batches(&whole).unwrap();
    assert_eq!(batches, expected);
    let inside = whole.as_ptr_range();
    for batch in &batches {
        for column in [0, 3] {
            let data = batch.column(column).to_data();
            assert!(inside.contains(&data.buffers()[0].as_ptr()), "column {column} was copied");
        }
    }
}

#[test]
fn unaligned_files_are_copied() {
    let whole = bytes(small());
    let mut shifted = vec![0];
    shifted.extend(&whole);
    let shifted = Buffer::from_vec(shifted).slice(1);
    assert_eq!(series_batches(&shifted).unwrap(), series_batches(&Buffer::from_vec(whole)).unwrap());
}

proptest! {
    /// Damaged or truncated bytes give an error or another table, with the memory limit of a file of events.
    #[test]
    fn damaged_files_do_not_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let damage = |mut bytes: Vec<u8>| {
            for (place, byte) in &places {
                let index = place.index(bytes.len());
                bytes[index] = *byte;
            }
            bytes
        };
        let _ = series_batches(&Buffer::from_vec(damage(bytes(small()))));
        let events = damage(events(300));
        let _ = event_batches(&events);
        let _ = event_batches(&events[..cut.index(events.len())]);
    }
}
