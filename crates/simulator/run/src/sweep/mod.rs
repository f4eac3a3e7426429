//! Many runs of one scenario, their data and their result.
//!
//! A sweep has **points**, the combinations of varied values. All points have the same **seeds**, unless
//! [`Session::refine`] adds seeds to some. The summary of each completed run is appended to a journal. At the end the
//! journal is converted to a dataset, whose bytes do not depend on how often the sweep was interrupted, and a
//! [`ResultTable`] is computed.
//!
//! - `session`: a sweep in a folder; `journal`: summaries of completed runs.
//! - `dataset`, `parquet_file`, `flat`: Parquet tables; `folders`: records of the runs, if requested.
//! - `metric`: what is computed per run; `results`: estimates over seeds; `over`: data of plots.

#[cfg(feature = "plot")]
mod charts;
mod dataset;
mod flat;
mod folders;
mod from_dataset;
mod journal;
mod metric;
mod over;
mod parquet_file;
mod results;
mod session;

#[cfg(feature = "plot")]
pub use charts::{ChartOptions, SweepOf};
pub use dataset::{FLOWS, LINKS, RUNS, read_table};
pub use folders::listed;
pub use metric::Metric;
pub use over::{Line, LinePoint, NoSuchKey, Places};
pub use parquet_file::{DatasetColumn, DatasetValues};
pub use results::{Against, Difference, Key, NO_RANDOMNESS, NoSuchValue, ResultRow, ResultTable, shown_estimate};
pub use session::Session;

use crate::code::CODE;
use crate::folder::Folder;
use crate::inputs::inputs;
use crate::simulate::simulate;
use crate::text::ScenarioText;
use crate::{Error, Job, Reuse, TraceFormat, Watch, each};
use headway_record::{ExpressionError, Names, Summary};
use headway_scenario::{Cell, Column, Loaded, Override, Scenario, Vary, load, plan};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use xxhash_rust::xxh3::Xxh3;

/// Hash of a run's resolved scenario, the files that it names, its seed and the code. Runs that could give
/// different numbers have different keys.
type RunKey = u128;

/// Number of loaded points that are cached. Runs are in order of points, so that workers are at neighboring points.
const MAX_CACHED_POINTS: usize = 16;

/// A scenario that is run many times: with each combination of its varied values (point), and each with several seeds.
#[derive(Debug)]
pub struct Sweep {
    text: ScenarioText,
    columns: Vec<Column>,
    points: Vec<Point>,
    /// Identity of algorithms outside the code of this program; empty without any.
    algorithms: String,
    seeds: Vec<u64>,
    /// Whether the sweep varies the seed; otherwise the scenario's seed is used.
    varies_seed: bool,
    records: bool,
    name: String,
    warnings: Vec<String>,
    kept: Mutex<BTreeMap<usize, Arc<Loaded>>>,
}

/// A combination of varied values, except the seed.
#[derive(Debug)]
struct Point {
    overrides: Vec<Override>,
    /// Values, one per column.
    cells: Vec<Cell>,
    /// Keys, and values as written.
    varied: Vec<(String, String)>,
    /// Hash of the scenario with seed 0 and of the files that it names.
    hash: u128,
}

/// A run of a [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Index of the combination of varied values (point), from 0.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
}

/// Execution of runs on threads of this machine.
#[derive(Debug, Default)]
pub struct Threads {
    /// Number of threads; `None` for one per core.
    pub jobs: Option<NonZeroUsize>,
    /// Packet traces to write for each run. Unused unless the sweep writes a record of each run.
    pub traces: Vec<TraceFormat>,
    /// Whether to repeat runs whose records are already complete, instead of reusing these. Unused unless the sweep
    /// writes a record of each run.
    pub again: bool,
}

impl Sweep {
    /// Loads the scenario with every combination of varied values (point), so that errors are found before the first
    /// run. `varies` are the caller's additions to the scenario's `[vary]`. With `records`, each run leaves a record;
    /// without, time series are disabled.
    ///
    /// # Errors
    /// The scenario is invalid with a combination of varied values.
    pub fn read(mut text: ScenarioText, varies: &[Vary], records: bool, watch: &dyn Watch) -> Result<Self, Error> {
        if !records {
            text.overrides.push(NO_SERIES.parse()?);
        }
        let plan = plan(&text.file, &text.text, &text.overrides, varies)?;
        let varies_seed = plan.runs.iter().any(|run| run.seed.is_some());
        let mut seeds: Vec<u64> = plan.runs.iter().filter(|run| run.point == 0).filter_map(|run| run.seed).collect();
        let mut points = Vec::new();
        for run in plan.runs {
            if run.point == points.len() {
                let varied = run.varied.into_iter().filter(|(key, _)| key != SEED).collect();
                points.push(Point { overrides: run.overrides, cells: run.values, varied, hash: 0 });
            }
        }
        let first = load(&text.file, &text.text, &points[0].overrides, &text.files)?;
        if !varies_seed {
            seeds = vec![first.scenario.seed];
        }
        let name = first.scenario.name.clone();
        let warnings = first.warnings.iter().map(ToString::to_string).collect();
        let (columns, kept) = (plan.columns, Mutex::default());
        let algorithms = String::new();
        let mut sweep = Self { text, columns, points, algorithms, seeds, varies_seed, records, name, warnings, kept };
        let hashes = each(sweep.points.len(), None, &Quiet(watch), |point| sweep.hash(point))?;
        for (point, hash) in sweep.points.iter_mut().zip(hashes) {
            point.hash = hash.ok_or(Error::Stopped)?;
        }
        Ok(sweep)
    }

    /// Returns the hash of a point: of its scenario with seed 0 and of the files that it names.
    fn hash(&self, point: usize) -> Result<u128, Error> {
        let loaded = self.load_point(point)?;
        let resolved = loaded.with_seed(0).resolved_toml;
        let files = self.text.files.loaded();
        // Files of other points are excluded.
        Ok(inputs(&resolved, files.iter().filter(|(name, _)| resolved.contains(name.as_str()))))
    }

    fn load_point(&self, point: usize) -> Result<Loaded, Error> {
        Ok(load(&self.text.file, &self.text.text, &self.points[point].overrides, &self.text.files)?)
    }

    /// Returns the scenario's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns warnings about keys of the scenario that have no effect.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the varied keys, except the seed.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns a [`ResultTable`] with all combinations of varied values and without metrics. Requests such as
    /// [`ResultTable::against()`] can be checked with this table before any run.
    #[must_use]
    pub fn outline(&self) -> ResultTable {
        let row = |point: &Point| ResultRow {
            values: point.varied.iter().map(|(_, value)| value.clone()).collect(),
            runs: 0,
            identical: false,
            metrics: Vec::new(),
            samples: Vec::new(),
            cells: point.cells.clone(),
            overrides: self.varied(point).to_vec(),
        };
        ResultTable::new(self.columns.iter().map(Key::from).collect(), &[], self.points.iter().map(row).collect())
    }

    /// Loads the scenario of the first combination of values and the first seed, with one more override.
    pub(crate) fn load_with(&self, set: Override) -> Result<Loaded, Error> {
        let overrides: Vec<Override> = self.points[0].overrides.iter().cloned().chain([set]).collect();
        let loaded = load(&self.text.file, &self.text.text, &overrides, &self.text.files)?;
        Ok(loaded.with_seed(self.seeds[0]))
    }

    /// Returns the overrides that set the values of a point, one per column. They follow the caller's overrides.
    fn varied<'p>(&self, point: &'p Point) -> &'p [Override] {
        let first = self.text.overrides.len();
        point.overrides.get(first..first + self.columns.len()).unwrap_or_default()
    }

    /// Checks without a run that each metric names existing flows, links, hosts and attackers and has a single value,
    /// with at least one combination of varied values (point).
    ///
    /// # Errors
    /// A metric is valid at no point, or a point can no longer be loaded.
    pub fn check(&self, metrics: &[Metric]) -> Result<(), Error> {
        let mut wrong: Vec<(&Metric, Option<ExpressionError>)> = metrics.iter().map(|metric| (metric, None)).collect();
        for point in 0..self.points.len() {
            if wrong.is_empty() {
                break;
            }
            let names = names(&self.load_point(point)?.scenario);
            wrong.retain_mut(|(metric, first)| match metric.of.check_names(&names) {
                Ok(()) => false,
                Err(error) => {
                    first.get_or_insert(error);
                    true
                }
            });
        }
        wrong.into_iter().find_map(|(_, error)| error).map_or(Ok(()), |error| Err(Error::Metric(error)))
    }

    /// Returns the number of seeds with which each combination of varied values is run, without those that
    /// [`Session::refine`] adds.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Returns all runs of the sweep, in the order of the combinations of varied values, then of seeds, without those
    /// that [`Session::refine`] adds.
    #[must_use]
    pub fn tasks(&self) -> Vec<Task> {
        let of = |point| self.seeds.iter().map(move |&seed| Task { point, seed });
        (0..self.points.len()).flat_map(of).collect()
    }

    /// Returns the label of a run: short keys and values, such as `rate=2Mbps seed=3`.
    #[must_use]
    pub fn label(&self, task: Task) -> String {
        let of_point = self.columns.iter().zip(&self.points[task.point].varied);
        let words = of_point.map(|(column, (_, value))| format!("{}={value}", column.name));
        words.chain(self.varies_seed.then(|| format!("seed={}", task.seed))).collect::<Vec<_>>().join(" ")
    }

    /// Returns the scenario of a run.
    ///
    /// # Errors
    /// The scenario with the values of this run can no longer be loaded.
    pub fn load(&self, task: Task) -> Result<Loaded, Error> {
        let kept = |point: usize| self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&point).cloned();
        let loaded = match kept(task.point) {
            Some(loaded) => loaded,
            None => {
                let loaded = Arc::new(self.load_point(task.point)?);
                let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= MAX_CACHED_POINTS {
                    kept.pop_first();
                }
                kept.insert(task.point, Arc::clone(&loaded));
                loaded
            }
        };
        Ok(loaded.with_seed(task.seed))
    }

    /// Simulates one run and returns its summary as JSON for [`Session::add`]; `None` if the run was stopped.
    ///
    /// # Errors
    /// The scenario cannot be run.
    pub fn simulate(&self, task: Task, watch: &dyn Watch) -> Result<Option<String>, Error> {
        let of_run = |error: Error| Error::of_run(self.label(task), error);
        let loaded = self.load(task).map_err(of_run)?;
        // Loading a large scenario takes long, so check again.
        if watch.stopped() {
            return Ok(None);
        }
        let done = simulate(&loaded.scenario, (), &Quiet(watch), |_| Ok(())).map_err(of_run)?;
        done.outcome.map_err(|error| of_run(error.into()))?;
        json(&done.record.summary).map(|json| done.record.summary.complete.then_some(json))
    }

    /// Returns the sweep with the `identity` of algorithms outside the code of this program, such as controllers in
    /// Python. Stored runs with another identity are not reused.
    #[must_use]
    pub fn with_algorithms(self, identity: String) -> Self {
        Self { algorithms: identity, ..self }
    }

    fn key(&self, task: Task) -> RunKey {
        let mut hash = Xxh3::new();
        hash.update(self.algorithms.as_bytes());
        hash.update(&self.points[task.point].hash.to_le_bytes());
        hash.update(&task.seed.to_le_bytes());
        hash.update(CODE.as_bytes());
        hash.digest128()
    }

    /// Returns the folder of each run's record, in the order of [`tasks`](Self::tasks).
    #[must_use]
    pub fn folders(&self, out: &Folder) -> Vec<Folder> {
        let named = |task: &Task| {
            let of_point = self.columns.iter().zip(&self.points[task.point].varied);
            let keys = of_point.map(|(column, (_, value))| (column.name.clone(), value.clone()));
            keys.chain(self.varies_seed.then(|| (SEED.to_owned(), task.seed.to_string()))).collect::<Vec<_>>()
        };
        let runs: Vec<_> = self.tasks().iter().map(named).collect();
        folders::names(&runs).iter().map(|name| Folder(out.path(name))).collect()
    }
}

impl Threads {
    /// Executes the runs that are not stored in the session yet and stores their summaries. Returns messages about
    /// reused and damaged records.
    ///
    /// # Errors
    /// A run fails, or its summary cannot be stored. Completed runs are kept.
    pub fn run(&self, session: &mut Session, watch: &dyn Watch) -> Result<Vec<String>, Error> {
        session.jobs = self.jobs;
        if session.sweep().records {
            return self.run_records(session, watch);
        }
        let tasks = session.missing();
        let messages = session.messages();
        watch.runs(tasks.len());
        let (sweep, session) = (session.sweep(), Mutex::new(session));
        each(tasks.len(), self.jobs, watch, |number| {
            let task = tasks[number];
            if let Some(summary) = sweep.simulate(task, watch)? {
                session.lock().unwrap_or_else(PoisonError::into_inner).keep(task, &summary)?;
            }
            Ok::<_, Error>(())
        })?;
        Ok(messages)
    }

    /// Runs the missing runs of a session with a record each. Complete records are reused.
    fn run_records(&self, session: &mut Session, watch: &dyn Watch) -> Result<Vec<String>, Error> {
        let (sweep, out) = (session.sweep(), session.folder().clone());
        let (tasks, folders) = (sweep.tasks(), sweep.folders(&out));
        let labels: Vec<String> = tasks.iter().map(|task| sweep.label(*task)).collect();
        let mut messages = folders::list(&out, &labels, &folders)?;
        let reuse = Reuse::default();
        watch.runs(tasks.len());
        let files = sweep.text.files.loaded();
        let session = Mutex::new(session);
        each(tasks.len(), self.jobs, watch, |number| {
            let loaded = sweep.load(tasks[number])?;
            if watch.stopped() {
                return Ok(());
            }
            let job = Job {
                label: labels[number].clone(),
                scenario: loaded.scenario,
                resolved: loaded.resolved_toml,
                folder: folders[number].clone(),
                files: files.clone(),
                traces: self.traces.clone(),
                resumes: true,
            };
            let of_run = |error: Error| Error::of_run(job.label.clone(), error);
            let quiet = Quiet(watch);
            let summary = if self.again { job.run(&quiet) } else { reuse.or_run(&job, &quiet) }.map_err(of_run)?;
            if summary.complete {
                session.lock().unwrap_or_else(PoisonError::into_inner).keep(tasks[number], &json(&summary)?)?;
            }
            Ok::<_, Error>(())
        })?;
        messages.extend(reuse.messages(tasks.len()));
        Ok(messages)
    }
}

/// Returns the names of flows, links, hosts and attackers in the record of this scenario.
#[must_use]
pub fn names(scenario: &Scenario) -> Names {
    let busy = scenario.nodes.iter().zip(&scenario.hosts).filter(|(_, host)| host.is_some());
    Names {
        flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
        links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        hosts: busy.map(|(name, _)| name.clone()).collect(),
        attackers: scenario.attackers.iter().map(|attacker| attacker.name.clone()).collect(),
    }
}

/// Override that disables series.
const NO_SERIES: &str = "record.series=false";

/// Key of a scenario that sets the seed.
pub const SEED: &str = "seed";

fn json(summary: &Summary) -> Result<String, Error> {
    serde_json::to_string(summary).map_err(|error| Error::file("write", "summary.json".as_ref())(error.into()))
}

/// Forwards requests to stop, but not the progress of single runs.
struct Quiet<'a>(&'a dyn Watch);

impl Watch for Quiet<'_> {
    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}
