//! Invariants of reading files of a record: `series.arrow` with any changed bytes, and any text as `summary.json`.
//! Shared by the fuzz target and the test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_record::{SeriesNames, SeriesTable, Summary, metric};
use headway_units::Instant;

/// The first byte selects: a series file of the input, a valid series file with changed bytes, or a text.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    match choices.byte() & 3 {
        0 => series(choices.bytes(usize::MAX)),
        1 | 2 => {
            let mut file = file(choices.byte());
            while let Some(at) = choices.step() {
                let at = usize::from(at) << 8 | usize::from(choices.byte());
                let at = at % file.len();
                match choices.byte() {
                    255 => file.truncate(at.max(1)),
                    254 => drop(file.drain(at..(at + 8).min(file.len() - 1).max(at))),
                    value => file[at] = value,
                }
            }
            series(&file);
        }
        _ => {
            let text = String::from_utf8_lossy(choices.bytes(usize::MAX));
            match Summary::from_json(&text) {
                Err(error) => assert!(!error.to_string().is_empty()),
                Ok(summary) => {
                    let again = Summary::from_json(&summary.to_json_pretty());
                    assert!(again.is_ok_and(|again| again == summary), "{summary:?}");
                }
            }
        }
    }
}

fn series(file: &[u8]) {
    match SeriesTable::from_ipc(file) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(table) => {
            // The memory of a table is at most a small multiple of the bytes.
            let samples: usize =
                table.iter().map(|(entity, metric, samples)| 16 * samples.len() + entity.len() + metric.len()).sum();
            assert!(samples <= 64 * file.len(), "{samples} B of {} B", file.len());
        }
    }
}

/// Returns a file with two series of `samples` samples.
fn file(samples: u8) -> Vec<u8> {
    let mut names = SeriesNames::default();
    let [cwnd, queue] = [names.series("ftp", metric::CWND), names.series("r1-r2", metric::QUEUE)];
    let mut writer = names.samples();
    for step in 0..samples.into() {
        writer.push(cwnd, Instant::from_millis(step), step as f64);
        writer.push(queue, Instant::from_millis(step), 0.5);
    }
    let mut file = vec![];
    writer.finish(&mut file).expect("memory is written");
    file
}
