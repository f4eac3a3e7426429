//! A sweep in a folder: completed and missing runs, and the result.

use super::dataset::{self, Row};
use super::journal::Journal;
use super::results::{Key, ResultRow, ResultTable, estimate};
use super::{Metric, RunKey, Sweep, Task};
use crate::folder::{Folder, FolderKind, Lock};
use crate::{Error, each};
use headway_record::{ExpressionError, Numbers, Summary};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Number of seeds added to a point at a time if its intervals are too wide.
const MORE_SEEDS: usize = 5;

/// A sweep and its locked folder.
#[derive(Debug)]
pub struct Session {
    sweep: Arc<Sweep>,
    folder: Folder,
    journal: Journal,
    tasks: Vec<Task>,
    /// Runs that were complete when the session was opened.
    reused: BTreeSet<RunKey>,
    is_damaged: bool,
    /// Metrics of runs that were read.
    read: BTreeMap<Task, Read>,
    /// Number of threads that read and write runs; `None` for one per core.
    pub(super) jobs: Option<NonZeroUsize>,
    asked: Vec<Metric>,
    /// Metrics that are checked with the first run of each point, and the number of points at which each failed.
    expected: Vec<(Metric, usize)>,
    checked: BTreeSet<usize>,
    _lock: Lock,
}

/// Data of a run that a result needs.
#[derive(Debug)]
struct Read {
    metrics: Vec<Option<f64>>,
    /// Hash of all numbers of the run, except its seed and the fingerprint of its event order.
    hash: u128,
}

impl Session {
    /// Locks the folder and verifies the checksums of the runs stored in it. Stored runs of this sweep are reused,
    /// unless `again` is set.
    ///
    /// # Errors
    /// The folder is in use or holds other content, or cannot be written.
    pub fn open(sweep: &Arc<Sweep>, folder: Folder, again: bool) -> Result<Self, Error> {
        let lock = folder.claim(FolderKind::Sweep)?;
        let mut journal = Journal::open(&folder)?;
        // The journal of an unfinished sweep has all runs, including those of an earlier dataset.
        let is_damaged =
            dataset::runs(&folder, |key, summary| if journal.has(key) { Ok(()) } else { journal.add(key, summary) })?;
        let is_damaged = is_damaged || journal.is_damaged;
        let tasks = sweep.tasks();
        let reused = if again {
            BTreeSet::new()
        } else {
            tasks.iter().map(|task| sweep.key(*task)).filter(|key| journal.has(*key)).collect()
        };
        let mut session = Self {
            sweep: Arc::clone(sweep),
            folder,
            journal,
            tasks,
            reused,
            is_damaged,
            read: BTreeMap::new(),
            jobs: None,
            asked: Vec::new(),
            expected: Vec::new(),
            checked: BTreeSet::new(),
            _lock: lock,
        };
        if again {
            session.journal.forget(session.tasks.iter().map(|task| sweep.key(*task)));
        }
        // A dataset exists only for a finished sweep. Runs of an earlier sweep are in the journal.
        if !session.missing().is_empty() {
            session.folder.remove([dataset::FLOWS, dataset::LINKS, dataset::RUNS].map(str::to_owned))?;
        }
        Ok(session)
    }

    /// Returns the sweep.
    #[must_use]
    pub fn sweep(&self) -> Arc<Sweep> {
        Arc::clone(&self.sweep)
    }

    /// Returns the folder of the sweep.
    #[must_use]
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns messages about the runs that were already stored, or damaged, when the session was opened.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        let mut messages = Vec::new();
        if !self.reused.is_empty() {
            messages.push(format!("{} of {} runs reused", self.reused.len(), self.tasks.len()));
        }
        if self.is_damaged {
            messages.push("damaged stored runs are run again".to_owned());
        }
        messages
    }

    /// Returns the runs of the sweep that are not stored yet, in order.
    #[must_use]
    pub fn missing(&self) -> Vec<Task> {
        self.tasks.iter().copied().filter(|task| !self.journal.has(self.sweep.key(*task))).collect()
    }

    /// Stores the summary of a run, as returned by [`Sweep::simulate`].
    ///
    /// # Errors
    /// The summary cannot be written, or is not the complete summary of a run with this seed. A metric of
    /// [`expect`](Self::expect) exists at no combination of values.
    pub fn add(&mut self, task: Task, summary: &str) -> Result<(), Error> {
        let read: Summary = Summary::from_json(summary).map_err(|error| self.wrong(&error))?;
        if read.seed != task.seed || !read.complete || summary.contains('\n') {
            return Err(self.wrong(&"it is not the summary of this run, or the run is incomplete"));
        }
        self.keep(task, summary)
    }

    /// Stores a summary that this process computed, without checking it.
    pub(super) fn keep(&mut self, task: Task, summary: &str) -> Result<(), Error> {
        let key = self.sweep.key(task);
        if self.journal.has(key) {
            return Ok(());
        }
        self.journal.add(key, summary)?;
        self.check_expected(task.point, summary)
    }

    /// Registers metrics to check during the sweep, at the first run that is added for each combination of values. A
    /// metric may exist at some combinations only. Once it has failed at every combination, [`add`](Self::add) returns
    /// the error that [`results`](Self::results) would return.
    pub fn expect(&mut self, metrics: &[Metric]) {
        self.expected = metrics.iter().map(|metric| (metric.clone(), 0)).collect();
    }

    fn check_expected(&mut self, point: usize, summary: &str) -> Result<(), Error> {
        if self.expected.is_empty() || !self.checked.insert(point) {
            return Ok(());
        }
        let value: Value = serde_json::from_str(summary).map_err(|error| self.wrong(&error))?;
        let (numbers, points) = (Numbers::from(value), self.sweep.points.len());
        for (metric, failed) in &mut self.expected {
            if let Err(error) = metric.of.evaluate(&numbers) {
                *failed += 1;
                if *failed == points {
                    return Err(Error::Metric(error));
                }
            }
        }
        Ok(())
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> Error {
        Error::Record {
            path: self.folder.0.clone(),
            reason: format!("the summary of a run cannot be stored: {error}").into(),
        }
    }

    /// Adds up to five seeds to each combination of values (point) with a metric that is not
    /// [within](headway_record::Estimate::is_within) `relative`. This is a metric for which half the width of the 95 %
    /// interval is above `relative` times its mean, or which has the same value in all runs of the combination, of
    /// which there are fewer than ten. A combination gets at most `max_seeds` seeds. Returns whether any seed was
    /// added. All runs must be stored before the call; the caller executes the added runs and calls the method again.
    ///
    /// # Errors
    /// Those of [`results`](Self::results).
    pub fn refine(&mut self, metrics: &[Metric], relative: f64, max_seeds: usize) -> Result<bool, Error> {
        let results = self.results(metrics)?;
        let mut more = Vec::new();
        for (point, row) in results.rows.iter().enumerate() {
            let seeds = self.tasks.iter().filter(|task| task.point == point).map(|task| task.seed);
            let last = seeds.clone().max().unwrap_or(0);
            let more_seeds = max_seeds.saturating_sub(seeds.count()).min(MORE_SEEDS);
            if row.is_wider_than(relative) {
                more.extend(
                    (1..=more_seeds as u64).filter_map(|next| Some(Task { point, seed: last.checked_add(next)? })),
                );
            }
        }
        self.tasks.extend(&more);
        self.tasks.sort_by_key(|task| task.point);
        Ok(!more.is_empty())
    }

    /// Returns the result of the stored runs, with the [default](Metric::defaults) metrics if `metrics` is empty.
    ///
    /// # Errors
    /// A metric exists in no run, or stored data cannot be read.
    pub fn results(&mut self, metrics: &[Metric]) -> Result<ResultTable, Error> {
        let there: Vec<Task> =
            self.tasks.iter().copied().filter(|task| self.journal.has(self.sweep.key(*task))).collect();
        let defaults;
        let (metrics, asked) = if metrics.is_empty() {
            defaults = match there.first() {
                Some(first) => {
                    let summary = self.journal.summary(self.sweep.key(*first))?;
                    Metric::defaults(&Summary::from_json(&summary).map_err(|error| self.wrong(&error))?)
                }
                None => Vec::new(),
            };
            (&defaults[..], false)
        } else {
            (metrics, true)
        };
        if self.asked != metrics {
            self.read.clear();
            self.asked = metrics.to_vec();
        }
        let unread: Vec<Task> = there.iter().copied().filter(|task| !self.read.contains_key(task)).collect();
        let read = each(unread.len(), self.jobs, &(), |number| self.read_run(unread[number], metrics))?;
        let mut failures: Vec<(usize, Option<ExpressionError>)> = metrics.iter().map(|_| (0, None)).collect();
        for (task, (read, failed)) in unread.into_iter().zip(read.into_iter().flatten()) {
            self.read.insert(task, read);
            for (failure, error) in failures.iter_mut().zip(failed) {
                failure.0 += usize::from(error.is_some());
                failure.1 = failure.1.take().or(error);
            }
        }
        let mut rows = Vec::new();
        let sweep = Arc::clone(&self.sweep);
        for (point, described) in sweep.points.iter().enumerate() {
            let of_point: Vec<Task> = there.iter().copied().filter(|task| task.point == point).collect();
            if of_point.is_empty() {
                continue;
            }
            let mut samples: Vec<Vec<(u64, f64)>> = metrics.iter().map(|_| Vec::new()).collect();
            let mut hashes = BTreeSet::new();
            for task in &of_point {
                let read = &self.read[task];
                hashes.insert(read.hash);
                for (samples, value) in samples.iter_mut().zip(&read.metrics) {
                    samples.extend(value.map(|value| (task.seed, value)));
                }
            }
            let identical = of_point.len() > 1 && hashes.len() == 1;
            rows.push(ResultRow {
                values: described.varied.iter().map(|(_, value)| value.clone()).collect(),
                runs: of_point.len(),
                identical,
                metrics: samples.iter().map(|samples| estimate(samples)).collect(),
                samples,
                cells: described.cells.clone(),
                overrides: self.sweep.varied(described).to_vec(),
            });
        }
        for (failed, error) in failures {
            // A metric may exist at some points only.
            if let Some(error) = error.filter(|_| asked && failed == there.len()) {
                return Err(Error::Metric(error));
            }
        }
        Ok(ResultTable::new(self.sweep.columns.iter().map(Key::from).collect(), metrics, rows))
    }

    /// Returns the metrics of a stored run, and the error of each metric that it does not have.
    fn read_run(&self, task: Task, metrics: &[Metric]) -> Result<(Read, Vec<Option<ExpressionError>>), Error> {
        let summary = self.journal.summary(self.sweep.key(task))?;
        let value: Value = serde_json::from_str(&summary).map_err(|error| self.wrong(&error))?;
        let mut compared = value.clone();
        for key in ["seed", "fingerprint"] {
            if let Some(value) = compared.get_mut(key) {
                *value = Value::Null;
            }
        }
        let hash = xxh3_128(compared.to_string().as_bytes());
        let numbers = Numbers::from(value);
        let of = |metric: &Metric| {
            metric.of.evaluate(&numbers).map_or_else(|error| (None, Some(error)), |value| (value, None))
        };
        let (metrics, failed) = metrics.iter().map(of).unzip();
        Ok((Read { metrics, hash }, failed))
    }

    /// Writes the dataset (Parquet files) with the runs of this sweep. Stored runs of other sweeps stay in the journal
    /// of the folder and can be reused later.
    ///
    /// # Errors
    /// A run is missing, or the dataset cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        let sweep = Arc::clone(&self.sweep);
        let wanted: BTreeSet<RunKey> = self.tasks.iter().map(|task| sweep.key(*task)).collect();
        let (tasks, journal) = (&self.tasks, &self.journal);
        dataset::write(&self.folder, &sweep.columns, tasks.len(), self.jobs, |run| {
            let task = tasks[run];
            let (point, key) = (&sweep.points[task.point], sweep.key(task));
            let summary = journal.summary(key)?;
            Ok(Row { run, point: task.point, cells: &point.cells, scenario_hash: point.hash, key, summary })
        })?;
        let others: Vec<RunKey> = self.journal.keys().filter(|key| !wanted.contains(key)).collect();
        self.journal.keep(&self.folder, &others)
    }
}
