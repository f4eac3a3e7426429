//! Many runs of one scenario: what is run, what is kept of it, and what it says.
//!
//! A sweep has **points**, the combinations of what is varied, and each has the same **seeds**. What a run gives is added to a journal when it is over;
//! at the end all of it becomes a dataset, whose bytes do not hang on how often the sweep was stopped, and an [`Answer`].

mod answer;
mod dataset;
mod flat;
mod folders;
mod journal;
mod metric;
mod over;
mod parquet_file;
mod session;

pub use answer::{Against, Answer, AnswerRow, Difference, Key, NO_CHANCE, NoSuchValue};
pub use dataset::{FLOWS, LINKS, RUNS, read_table};
pub use folders::listed;
pub use metric::Metric;
pub use over::{Line, LinePoint, NoSuchKey, Places};
pub use parquet_file::{DatasetColumn, DatasetValues};
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

/// What a run is known by: its scenario with every value, the files that it names, its seed and the code. No two runs that could give different
/// numbers share one.
type RunKey = u128;

/// Points that are kept read: those that all workers are at, as runs are in the order of points.
const KEPT: usize = 16;

/// A scenario that is run many times.
#[derive(Debug)]
pub struct Sweep {
    text: ScenarioText,
    columns: Vec<Column>,
    points: Vec<Point>,
    seeds: Vec<u64>,
    /// Whether the sweep says which seeds; otherwise there is one, the scenario's.
    varies_seed: bool,
    records: bool,
    name: String,
    warnings: Vec<String>,
    kept: Mutex<BTreeMap<usize, Arc<Loaded>>>,
}

/// A combination of what is varied, but for the seed.
#[derive(Debug)]
struct Point {
    overrides: Vec<Override>,
    /// Its values, a column each.
    cells: Vec<Cell>,
    /// The same as they are written, with their keys.
    varied: Vec<(String, String)>,
    /// Of the scenario with seed 0, and of the files that it names.
    hash: u128,
}

/// A run of a [`Sweep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Which combination, from 0.
    pub point: usize,
    /// The seed.
    pub seed: u64,
}

/// How runs are done that no other machine does.
#[derive(Debug, Default)]
pub struct Threads {
    /// How many threads; none for one a core.
    pub jobs: Option<NonZeroUsize>,
    /// What is traced of each, with records.
    pub traces: Vec<TraceFormat>,
    /// Whether to run again what is there.
    pub again: bool,
}

impl Sweep {
    /// Reads the scenario at every point, so that what is wrong with any is known before the first run. `varies` is what the caller varies beside the
    /// scenario's own `[vary]`. With `records` each run leaves a record of its own; without, nothing is sampled over time, as nobody would see it.
    ///
    /// # Errors
    /// The scenario is wrong, or one of its points.
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
        let mut sweep = Self { text, columns, points, seeds, varies_seed, records, name, warnings, kept };
        let hashes = each(sweep.points.len(), None, &Quiet(watch), |point| sweep.hash(point))?;
        for (point, hash) in sweep.points.iter_mut().zip(hashes) {
            point.hash = hash.ok_or(Error::Stopped)?;
        }
        Ok(sweep)
    }

    /// Of a point that is read: of its scenario with seed 0, and of the files that it names.
    fn hash(&self, point: usize) -> Result<u128, Error> {
        let loaded = self.load_point(point)?;
        let resolved = loaded.with_seed(0).resolved_toml;
        let files = self.text.files.taken();
        // Other points may name other files.
        Ok(inputs(&resolved, files.iter().filter(|(name, _)| resolved.contains(name.as_str()))))
    }

    fn load_point(&self, point: usize) -> Result<Loaded, Error> {
        Ok(load(&self.text.file, &self.text.text, &self.points[point].overrides, &self.text.files)?)
    }

    /// The scenario's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is allowed but odd.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What is varied, but for the seed.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its combinations as an [`Answer`] without metrics: what can be asked about them is known before anything is run.
    #[must_use]
    pub fn outline(&self) -> Answer {
        let row = |point: &Point| AnswerRow {
            values: point.varied.iter().map(|(_, value)| value.clone()).collect(),
            runs: 0,
            identical: false,
            metrics: Vec::new(),
            samples: Vec::new(),
            cells: point.cells.clone(),
            overrides: self.varied(point).to_vec(),
        };
        Answer::new(&self.columns, &[], self.points.iter().map(row).collect())
    }

    /// The overrides that set the values of a point, a column each: they follow those of the caller.
    fn varied<'p>(&self, point: &'p Point) -> &'p [Override] {
        let first = self.text.overrides.len();
        point.overrides.get(first..first + self.columns.len()).unwrap_or_default()
    }

    /// Checks that each metric names what exists, and one number, at one point at least: what only other points have is no mistake. No run is needed.
    ///
    /// # Errors
    /// A metric names what no run will have, a text or several numbers, or a point cannot be read any more.
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

    /// How many seeds each combination is run with.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// The runs that it asks for, point by point.
    #[must_use]
    pub fn tasks(&self) -> Vec<Task> {
        let of = |point| self.seeds.iter().map(move |&seed| Task { point, seed });
        (0..self.points.len()).flat_map(of).collect()
    }

    /// What tells a run from its siblings: `rate=2Mbps seed=3`, the keys by their short names.
    #[must_use]
    pub fn label(&self, task: Task) -> String {
        let of_point = self.columns.iter().zip(&self.points[task.point].varied);
        let words = of_point.map(|(column, (_, value))| format!("{}={value}", column.name));
        words.chain(self.varies_seed.then(|| format!("seed={}", task.seed))).collect::<Vec<_>>().join(" ")
    }

    /// The scenario of a run.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub fn load(&self, task: Task) -> Result<Loaded, Error> {
        let kept = |point: usize| self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&point).cloned();
        let loaded = match kept(task.point) {
            Some(loaded) => loaded,
            None => {
                let loaded = Arc::new(self.load_point(task.point)?);
                let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= KEPT {
                    kept.pop_first();
                }
                kept.insert(task.point, Arc::clone(&loaded));
                loaded
            }
        };
        Ok(loaded.with_seed(task.seed))
    }

    /// Does one run, and gives its summary as JSON, which a [`Session`] takes; none if it was stopped.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn simulate(&self, task: Task, watch: &dyn Watch) -> Result<Option<String>, Error> {
        let of_run = |error: Error| Error::of_run(self.label(task), error);
        let loaded = self.load(task).map_err(of_run)?;
        // To read a large scenario takes as long as to set it up.
        if watch.stopped() {
            return Ok(None);
        }
        let done = simulate(&loaded.scenario, (), &Quiet(watch), |_| Ok(())).map_err(of_run)?;
        done.outcome.map_err(|error| of_run(error.into()))?;
        json(&done.record.summary).map(|json| done.record.summary.complete.then_some(json))
    }

    fn key(&self, task: Task) -> RunKey {
        let mut hash = Xxh3::new();
        hash.update(&self.points[task.point].hash.to_le_bytes());
        hash.update(&task.seed.to_le_bytes());
        hash.update(CODE.as_bytes());
        hash.digest128()
    }

    /// Where each run leaves its record, in the order of [`tasks`](Self::tasks).
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
    /// Does what is missing of a session, on threads of this machine. Gives what there is to say of what was there before.
    ///
    /// # Errors
    /// A run cannot be done, or what it gives cannot be kept. What is done is kept.
    pub fn run(&self, session: &mut Session, watch: &dyn Watch) -> Result<Vec<String>, Error> {
        session.jobs = self.jobs;
        if session.sweep().records {
            return self.run_records(session, watch);
        }
        let tasks = session.missing();
        let told = session.told();
        watch.runs(tasks.len());
        let (sweep, session) = (session.sweep(), Mutex::new(session));
        each(tasks.len(), self.jobs, watch, |number| {
            let task = tasks[number];
            if let Some(summary) = sweep.simulate(task, watch)? {
                session.lock().unwrap_or_else(PoisonError::into_inner).keep(task, &summary)?;
            }
            Ok::<_, Error>(())
        })?;
        Ok(told)
    }

    /// The same where each run has a folder. What such a folder holds complete is not run again.
    fn run_records(&self, session: &mut Session, watch: &dyn Watch) -> Result<Vec<String>, Error> {
        let (sweep, out) = (session.sweep(), session.folder().clone());
        let (tasks, folders) = (sweep.tasks(), sweep.folders(&out));
        let labels: Vec<String> = tasks.iter().map(|task| sweep.label(*task)).collect();
        let mut told = folders::list(&out, &labels, &folders)?;
        let reuse = Reuse::default();
        watch.runs(tasks.len());
        let files = sweep.text.files.taken();
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
        told.extend(reuse.told(tasks.len()));
        Ok(told)
    }
}

/// The names that the record of a run of this scenario will have.
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

/// What turns series off.
const NO_SERIES: &str = "record.series=false";

/// The key of seeds.
const SEED: &str = "seed";

fn json(summary: &Summary) -> Result<String, Error> {
    serde_json::to_string(summary).map_err(|error| Error::file("write", "summary.json".as_ref())(error.into()))
}

/// Watches a run among others, of whose own time nobody is told.
struct Quiet<'a>(&'a dyn Watch);

impl Watch for Quiet<'_> {
    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}
