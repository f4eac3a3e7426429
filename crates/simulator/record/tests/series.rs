//! Writing and reading `series.arrow`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{bytes, small};
use headway_record::{SeriesError, SeriesNames, SeriesTable, metric};
use headway_units::Instant;
use proptest::prelude::*;

#[test]
fn samples_are_read_by_entity_and_metric() {
    let table = SeriesTable::from_ipc(&bytes(small())).unwrap();
    let expected: Vec<(Instant, f64)> =
        (0..5u64).map(|step| (Instant::from_millis(100 * step), step as f64 + 0.5)).collect();
    assert_eq!(table.samples("ftp", metric::CWND), expected);
    assert_eq!(table.samples("ftp", metric::QUEUE), []);
    let names: Vec<(&str, &str)> = table.iter().map(|(entity, metric, _)| (entity, metric)).collect();
    assert_eq!(names, [("ftp", "cwnd_packets"), ("r1-r2", "queue_packets")]);
}

#[test]
fn a_file_without_samples_is_an_empty_table() {
    let mut names = SeriesNames::default();
    names.series("never", metric::LOSS);
    assert_eq!(SeriesTable::from_ipc(&bytes(names.samples())).unwrap(), SeriesTable::default());
}

/// More rows than a record batch; the bytes do not depend on the times of draining.
#[test]
fn several_batches_are_one_table() {
    let file = |drain_every: u64| {
        let mut names = SeriesNames::default();
        let a = names.series("a", metric::THROUGHPUT);
        let b = names.series("b", metric::LOSS);
        assert_eq!(names.series("a", metric::THROUGHPUT), a);
        let (mut samples, mut bytes) = (names.samples(), Vec::new());
        for step in 0..50_000u64 {
            samples.push(a, Instant::from_nanos(step), -(step as f64));
            if step % drain_every == 0 {
                samples.drain(&mut bytes).unwrap();
            }
        }
        samples.push(b, Instant::FAR_FUTURE, f64::INFINITY);
        assert_eq!(samples.rows(), 50_001);
        samples.finish(&mut bytes).unwrap();
        bytes
    };
    let whole = file(u64::MAX);
    assert_eq!(file(1000), whole);
    let table = SeriesTable::from_ipc(&whole).unwrap();
    let samples = table.samples("a", metric::THROUGHPUT);
    assert_eq!(samples.len(), 50_000);
    assert!(samples.iter().enumerate().all(|(step, s)| *s == (Instant::from_nanos(step as u64), -(step as f64))));
    assert_eq!(table.samples("b", metric::LOSS), [(Instant::FAR_FUTURE, f64::INFINITY)]);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert!(matches!(small().finish(Full), Err(SeriesError::Write(_))));
}

#[test]
fn equal_samples_give_equal_bytes() {
    assert_eq!(bytes(small()), bytes(small()));
}

#[test]
fn a_truncated_file_is_an_error() {
    let whole = bytes(small());
    for length in 0..whole.len() {
        assert!(SeriesTable::from_ipc(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn other_columns_are_named_in_the_error() {
    use arrow_array::{RecordBatch, UInt64Array};
    let column: arrow_array::ArrayRef = std::sync::Arc::new(UInt64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("when", column)]).unwrap();
    let mut other = Vec::new();
    let mut file = arrow_ipc::writer::FileWriter::try_new(&mut other, &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    drop(file);
    let error = SeriesTable::from_ipc(&other).unwrap_err();
    assert!(matches!(error, SeriesError::Columns { .. }), "{error}");
    assert!(
        error.to_string().contains("has the columns when (uint64); expected time_ns (uint64), entity (Utf8 by int32)"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn round_trip(
        samples in prop::collection::vec((0usize..4, 0usize..3, any::<u64>(), any::<f64>()), 0..300),
    ) {
        let entities = ["f-1", "f-2", "r1-r2", "\u{e9}t\u{e9}"];
        let metrics = [metric::THROUGHPUT, metric::SSTHRESH, metric::DROPPED];
        let mut names = SeriesNames::default();
        let ids: Vec<_> =
            samples.iter().map(|(entity, metric, ..)| names.series(entities[*entity], metrics[*metric])).collect();
        let mut writer = names.samples();
        for (id, (_, _, nanos, value)) in ids.into_iter().zip(&samples) {
            writer.push(id, Instant::from_nanos(*nanos), *value);
        }
        let table = SeriesTable::from_ipc(&bytes(writer)).unwrap();
        for (e, entity) in entities.iter().enumerate() {
            for (m, metric) in metrics.iter().enumerate() {
                let pushed: Vec<(u64, u64)> = samples
                    .iter()
                    .filter(|sample| (sample.0, sample.1) == (e, m))
                    .map(|sample| (sample.2, sample.3.to_bits()))
                    .collect();
                let read: Vec<(u64, u64)> =
                    table.samples(entity, metric).iter().map(|(now, value)| (now.as_nanos(), value.to_bits())).collect();
                prop_assert_eq!(read, pushed);
            }
        }
    }

    /// A damaged file gives an error or other samples.
    #[test]
    fn damaged_files_do_not_panic(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut damaged = bytes(small());
        for (place, byte) in places {
            let index = place.index(damaged.len());
            damaged[index] = byte;
        }
        let _ = SeriesTable::from_ipc(&damaged);
    }
}
