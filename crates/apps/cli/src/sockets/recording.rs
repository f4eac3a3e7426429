//! Record of a connection, in the format of a simulated run.

use crate::error::Failure;
use headway_record::{FlowSummary, Interval, SeriesError, SeriesId, SeriesNames, SeriesWriter, Summary, metric};
use headway_run::{Checksums, Folder, FolderKind, Lock, PartialFile};
use headway_units::{Duration, Instant};
use std::path::Path;

/// Fingerprint of a run that is not reproducible.
const NO_FINGERPRINT: &str = "0000000000000000";

pub(super) struct Recording {
    folder: Folder,
    _lock: Lock,
    file: PartialFile,
    samples: SeriesWriter,
    seed: u64,
    /// Time series of each flow.
    series: Vec<[SeriesId; METRICS.len()]>,
}

const METRICS: [&str; 8] = [
    metric::THROUGHPUT,
    metric::LOSS,
    metric::SENDING_RATE,
    metric::ALLOWED_RATE,
    metric::ENCODER_RATE,
    metric::RTT,
    metric::LOSS_EVENT_RATE,
    metric::WAITING,
];

/// Values of [`METRICS`], if they are known.
pub(super) type Values = [Option<f64>; METRICS.len()];

impl Recording {
    /// `flows`: names of the flows.
    pub(super) fn new(path: &Path, flows: &[&str], seed: u64) -> Result<Self, Failure> {
        let folder = Folder::named(path);
        let lock = folder.claim(FolderKind::Record)?;
        folder.clear()?;
        let file = folder.begin(Folder::SERIES)?;
        let mut names = SeriesNames::default();
        let series = flows.iter().map(|flow| METRICS.map(|metric| names.series(flow, metric))).collect();
        Ok(Self { folder, _lock: lock, file, samples: names.samples(), seed, series })
    }

    pub(super) const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Writes the values of each flow at the end of `interval`, and the summaries of `flows` if there are any.
    pub(super) fn sample(
        &mut self,
        interval: Interval,
        values: &[Values],
        flows: Vec<FlowSummary>,
    ) -> Result<(), Failure> {
        let at = Instant::ZERO + Duration::from_secs_f64(interval.to);
        for (series, value) in self.series.iter().flatten().zip(values.iter().flatten()) {
            if let Some(value) = value {
                self.samples.push(*series, at, *value);
            }
        }
        self.samples.flush();
        self.samples.drain(self.file.writer()).map_err(|error| write_error(&self.folder, &error))?;
        if !flows.is_empty() {
            let summary = summary(interval, flows, self.seed, false);
            self.folder.write_summary_so_far(&summary)?;
        }
        Ok(())
    }

    /// Completes the record with the summary and the checksums.
    pub(super) fn finish(self, interval: Interval, flows: Vec<FlowSummary>) -> Result<(), Failure> {
        let Self { folder, _lock, mut file, samples, seed, .. } = self;
        samples.finish(file.writer()).map_err(|error| write_error(&folder, &error))?;
        let mut sums = Checksums::default();
        sums.add(Folder::SERIES, file.end()?);
        let summary = summary(interval, flows, seed, true);
        sums.add(Folder::SUMMARY, folder.write_summary(&summary)?);
        Ok(folder.write_checksums(&sums)?)
    }
}

/// Returns the summary. Its name is that of the first flow.
fn summary(interval: Interval, flows: Vec<FlowSummary>, seed: u64, complete: bool) -> Summary {
    let name = flows.first().map(|flow| flow.name.clone()).unwrap_or_default();
    Summary {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name,
        seed,
        complete,
        interval,
        jain_index: Summary::fairness(&flows),
        flows,
        links: Vec::new(),
        hosts: Vec::new(),
        attackers: Vec::new(),
        packet_hops: 0,
        fingerprint: NO_FINGERPRINT.to_owned(),
    }
}

fn write_error(folder: &Folder, error: &SeriesError) -> Failure {
    Failure::record(folder.path(Folder::SERIES), error.to_string())
}
