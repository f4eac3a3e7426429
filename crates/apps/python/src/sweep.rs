//! Sweeps: many runs of one scenario, on this machine or where Python distributes them.

use crate::columns;
use crate::error;
use crate::figure::{Figure, Look, wrong};
use crate::files::Contents;
use crate::table::Table;
use headway_record::plot::{Style, SweepChart};
use headway_run::{
    ChartOptions, Folder, Line, LinePoint, Metric, Places, ScenarioFiles, ScenarioText, SweepOf, Task, Threads, Watch,
    read_table, safe_name,
};
use headway_scenario::{Cell, Vary};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval between checks of Python during runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A scenario with varied keys.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Sweep(Arc<headway_run::Sweep>);

/// A sweep in a folder.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Session(Mutex<Option<headway_run::Session>>);

/// Result of a sweep.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct ResultTable(headway_run::ResultTable);

#[pymethods]
impl Sweep {
    /// Loads the scenario at every point. `varies` has the syntax of `--vary`; `algorithms` identifies controllers and send
    /// queues in Python, and is empty without any.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the parts of a sweep, as Python sends them to workers")]
    fn new(
        py: Python<'_>,
        file: String,
        text: String,
        sets: Vec<String>,
        folder: PathBuf,
        files: std::collections::BTreeMap<String, Vec<u8>>,
        varies: Vec<String>,
        algorithms: String,
    ) -> PyResult<Self> {
        let files: Contents = files.into_iter().map(|(name, bytes)| (name, Arc::from(bytes))).collect();
        let varies: Result<Vec<Vary>, _> = varies.iter().map(|vary| vary.parse()).collect();
        let varies = varies.map_err(|wrong| error::scenario(py, &wrong))?;
        let read = py.detach(|| {
            let text = ScenarioText::with(file, text, ScenarioFiles::with(folder, files), &sets)?;
            headway_run::Sweep::read(text, &varies, false, &())
        });
        let sweep = read.map_err(|wrong| error::run(py, &wrong))?;
        Ok(Self(Arc::new(sweep.with_algorithms(algorithms))))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// Returns the runs: point and seed.
    fn tasks(&self) -> Vec<(usize, u64)> {
        self.0.tasks().into_iter().map(|task| (task.point, task.seed)).collect()
    }

    /// Checks the names in metrics without a run.
    fn check(&self, py: Python<'_>, metrics: Vec<String>) -> PyResult<()> {
        let metrics = parsed(py, &metrics)?;
        py.detach(|| self.0.check(&metrics)).map_err(|wrong| error::run(py, &wrong))
    }

    /// Returns the scenario of a run with all presets and keys written out.
    fn resolved(&self, py: Python<'_>, point: usize, seed: u64) -> PyResult<String> {
        let loaded = py.detach(|| self.0.load(Task { point, seed }));
        Ok(loaded.map_err(|wrong| error::run(py, &wrong))?.resolved_toml)
    }

    /// Simulates one run and returns its summary as JSON. Other threads continue.
    fn simulate(&self, py: Python<'_>, point: usize, seed: u64) -> PyResult<String> {
        let asking = Signals { stopped: AtomicBool::new(false), done: AtomicUsize::new(0) };
        let run = py.detach(|| self.0.simulate(Task { point, seed }, &asking));
        let summary = run.map_err(|wrong| error::run(py, &wrong))?;
        summary.ok_or_else(|| PyValueError::new_err("the run was stopped"))
    }

    /// Opens the folder.
    fn open(&self, py: Python<'_>, folder: PathBuf, again: bool) -> PyResult<Session> {
        let opened = py.detach(|| headway_run::Session::open(&self.0, Folder::named(&folder), again));
        Ok(Session(Mutex::new(Some(opened.map_err(|wrong| error::run(py, &wrong))?))))
    }
}

/// Request to stop and number of completed runs, shared with the thread that called.
struct Signals {
    stopped: AtomicBool,
    done: AtomicUsize,
}

impl Watch for Signals {
    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn run_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, Option<headway_run::Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut headway_run::Session) -> Result<T, headway_run::Error> + Send,
    ) -> PyResult<T>
    where
        T: Send,
    {
        let done = py.detach(|| self.lock().as_mut().map(work));
        done.ok_or_else(closed)?.map_err(|wrong| error::run(py, &wrong))
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("this sweep is finished, or it is being run")
}

#[pymethods]
impl Session {
    /// Returns messages about runs that were stored when the session was opened.
    fn messages(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |session| Ok(session.messages()))
    }

    /// Returns the runs that are not stored yet.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(usize, u64)>> {
        self.with(py, |session| Ok(session.missing().into_iter().map(|task| (task.point, task.seed)).collect()))
    }

    /// Runs the missing runs on threads of this machine. `progress` is called with the numbers of runs that this call has
    /// completed and has to complete.
    #[expect(clippy::disallowed_methods, reason = "runs continue while Python is called")]
    fn run(&self, py: Python<'_>, jobs: Option<NonZeroUsize>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let mut session = self.lock().take().ok_or_else(closed)?;
        let all = session.missing().len();
        let signals = Signals { stopped: AtomicBool::new(false), done: AtomicUsize::new(0) };
        let threads = Threads { jobs, ..Threads::default() };
        let mut stopped = Ok(());
        let ran = std::thread::scope(|scope| {
            let (running, watch) = (&mut session, &signals);
            let runs = scope.spawn(move || threads.run(running, watch).map(|_| ()));
            let mut reported = usize::MAX;
            loop {
                let over = runs.is_finished();
                let done = signals.done.load(Ordering::Relaxed);
                if stopped.is_ok() {
                    stopped = py.check_signals();
                    if let (Ok(()), Some(progress)) = (&stopped, progress.as_ref().filter(|_| done != reported)) {
                        stopped = progress.call1(py, (done, all)).map(|_| ());
                    }
                    reported = done;
                    if stopped.is_err() {
                        signals.stopped.store(true, Ordering::Relaxed);
                    }
                }
                if over {
                    break runs.join();
                }
                py.detach(|| std::thread::park_timeout(CHECK_INTERVAL));
            }
        });
        *self.lock() = Some(session);
        stopped?;
        match ran {
            Ok(ran) => ran.map_err(|wrong| error::run(py, &wrong)),
            Err(_) => Err(PyValueError::new_err("a thread of the sweep panicked")),
        }
    }

    /// Stores the summary of a run.
    fn add(&self, py: Python<'_>, point: usize, seed: u64, summary: String) -> PyResult<()> {
        self.with(py, |session| session.add(Task { point, seed }, &summary))
    }

    /// Adds seeds to points with wide intervals. Returns whether any was added.
    fn refine(&self, py: Python<'_>, metrics: Vec<String>, relative: f64, max_seeds: usize) -> PyResult<bool> {
        let metrics = parsed(py, &metrics)?;
        self.with(py, |session| session.refine(&metrics, relative, max_seeds))
    }

    /// Returns the result of the stored runs.
    fn results(&self, py: Python<'_>, metrics: Vec<String>) -> PyResult<ResultTable> {
        let metrics = parsed(py, &metrics)?;
        self.with(py, |session| session.results(&metrics)).map(ResultTable)
    }

    /// Writes the dataset and closes the session.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.lock().take().ok_or_else(closed)?;
        py.detach(|| session.finish()).map_err(|wrong| error::run(py, &wrong))
    }

    /// Closes the session and unlocks the folder. Completed runs are kept.
    fn close(&self) {
        drop(self.lock().take());
    }
}

fn parsed(py: Python<'_>, metrics: &[String]) -> PyResult<Vec<Metric>> {
    Metric::read_all(metrics).map_err(|wrong| error::metric(py, &wrong.expression, &wrong.fault.to_string()))
}

/// Label; position, mean and half width of the interval of each point.
type LineParts = (String, Vec<(f64, f64, Option<f64>)>);

#[pymethods]
impl ResultTable {
    /// Returns the JSON of `headway sweep --json`.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns the text of `headway sweep`.
    fn plain(&self) -> String {
        self.0.plain()
    }

    /// Returns the CSV of `headway sweep --csv`.
    fn csv(&self) -> String {
        self.0.csv()
    }

    /// Returns the results with the differences to one value of a key.
    fn against(&self, value: &str, paired: bool) -> PyResult<Self> {
        let against = self.0.clone().against(value, paired);
        against.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns a metric over a key, with one line per value of another key: the names on the axis (`None` for
    /// numbers), and by label the position, mean and half width of the interval of each point.
    fn over(&self, metric: usize, x: &str, by: Option<&str>) -> PyResult<(Option<Vec<String>>, Vec<LineParts>)> {
        self.check_metric(metric)?;
        let key = |asked: &str| self.0.key(asked).map_err(|error| PyValueError::new_err(error.to_string()));
        let (x, by) = (key(x)?, by.map(key).transpose()?);
        let places = match self.0.places(x) {
            Places::Numbers => None,
            Places::Names(names) => Some(names),
        };
        let parts = |point: LinePoint| point.number.map(|number| (point.x, number.mean, number.ci95));
        let line = |line: Line| (line.label, line.points.into_iter().filter_map(parts).collect());
        Ok((places, self.0.over(metric, x, by).into_iter().map(line).collect()))
    }

    /// Draws a metric over a key (`None`: all seeds), with a line for each value of another key. `kind`: `lines`, `boxes`,
    /// `cdf` or `heat-map`.
    fn draw(
        &self,
        metric: usize,
        x: Option<&str>,
        by: Option<&str>,
        kind: &str,
        log_x: bool,
        look: Look,
    ) -> PyResult<Figure> {
        self.check_metric(metric)?;
        let style = look.style()?;
        let key = |asked: &str| self.0.key(asked).map_err(|error| PyValueError::new_err(error.to_string()));
        let (x, by) = (x.map(key).transpose()?, by.map(key).transpose()?);
        let chart = match kind {
            "lines" => SweepChart::Lines,
            "boxes" => SweepChart::Boxes,
            "cdf" => SweepChart::Distributions,
            "heat-map" => SweepChart::HeatMap,
            _ => {
                let message = format!("kind is \"{kind}\"; expected \"lines\", \"boxes\", \"cdf\" or \"heat-map\"");
                return Err(PyValueError::new_err(message));
            }
        };
        let mut sweep = self.0.sweep_of(metric, &ChartOptions { chart, x, by, log_x }, &style).sweep;
        sweep.name = safe_name(&sweep.name);
        sweep.draw(chart, &style).map(Figure).map_err(wrong)
    }

    /// Returns the titles of both axes and their units, in units of the key and of the metric.
    fn axes(&self, metric: usize, x: &str) -> PyResult<((String, f64), (String, f64))> {
        self.check_metric(metric)?;
        let x = self.0.key(x).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let axes = ChartOptions { chart: SweepChart::Lines, x: Some(x), by: None, log_x: false };
        let SweepOf { sweep, scale, x_scale } = self.0.sweep_of(metric, &axes, &Style::default());
        Ok(((sweep.x_title, x_scale), (sweep.y_title, scale)))
    }

    /// Returns the values of the keys of a row, as numbers in the keys' units if possible.
    fn cells(&self, py: Python<'_>, row: usize) -> PyResult<Vec<Py<PyAny>>> {
        let cell = |cell: &Cell| match cell {
            Cell::Integer(number) => number.into_py_any(py),
            Cell::Number(number) => number.into_py_any(py),
            Cell::Boolean(truth) => truth.into_py_any(py),
            Cell::Text(text) => text.into_py_any(py),
        };
        self.0.rows.get(row).map_or(&[][..], |row| row.cells()).iter().map(cell).collect()
    }

    /// Returns the seeds and values of a metric for the runs of a row.
    fn samples(&self, row: usize, metric: usize) -> PyResult<(Vec<u64>, Vec<f64>)> {
        self.check_metric(metric)?;
        let rows = self.0.rows.len();
        let found = self.0.rows.get(row);
        let found =
            found.ok_or_else(|| PyIndexError::new_err(format!("there is no row {row}; the table has {rows}")))?;
        Ok(found.samples(metric).iter().copied().unzip())
    }
}

impl ResultTable {
    fn check_metric(&self, metric: usize) -> PyResult<()> {
        let metrics = self.0.metrics.len();
        let message = || format!("there is no metric {metric}; the table has {metrics}");
        if metric < metrics { Ok(()) } else { Err(PyIndexError::new_err(message())) }
    }
}

/// A table of a dataset: `flows.parquet`, `links.parquet` or `runs.parquet`.
#[pyfunction]
pub(crate) fn dataset_table(py: Python<'_>, folder: PathBuf, name: &str) -> PyResult<Table> {
    let read = py.detach(|| read_table(&Folder::named(&folder), name));
    let columns = read.map_err(|wrong| error::run(py, &wrong))?;
    columns::dataset(columns).map_err(|error| PyValueError::new_err(error.to_string()))
}
