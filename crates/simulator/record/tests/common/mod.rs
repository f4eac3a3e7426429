//! Sample data for tests.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::{SeriesNames, SeriesWriter, metric};
use headway_units::Instant;

/// Returns the bytes of `series.arrow`.
pub(crate) fn bytes(samples: SeriesWriter) -> Vec<u8> {
    let mut bytes = Vec::new();
    samples.finish(&mut bytes).unwrap();
    bytes
}

/// Returns five samples of each of two series.
pub(crate) fn small() -> SeriesWriter {
    let mut names = SeriesNames::default();
    let cwnd = names.series("ftp", metric::CWND);
    let queue = names.series("r1-r2", metric::QUEUE);
    let mut samples = names.samples();
    for step in 0..5u64 {
        samples.push(cwnd, Instant::from_millis(100 * step), step as f64 + 0.5);
        samples.push(queue, Instant::from_millis(100 * step), 2.0 * step as f64);
    }
    samples
}
