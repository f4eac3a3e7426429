//! Sweeps: many runs of one scenario, here or wherever Python sends them.

use crate::columns;
use crate::error;
use crate::files::Contents;
use crate::table::Table;
use headway_run::{
    Answer as Answered, Beside, Folder, Line, LinePoint, Metric, Places, ScenarioText, Sweep as Swept, Task, Threads,
    Watch, read_table,
};
use headway_scenario::{Cell, Vary};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often Python is asked while others run.
const ASKED_EACH: Duration = Duration::from_millis(50);

/// A scenario and what is varied of it.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Sweep(Arc<Swept>);

/// A sweep and the folder that it is run into.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Session(Mutex<Option<headway_run::Session>>);

/// What a sweep says.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Answer(Answered);

#[pymethods]
impl Sweep {
    /// Reads the scenario at every point. `varies` are as `--vary` has them.
    #[new]
    fn new(
        py: Python<'_>,
        file: String,
        text: String,
        sets: Vec<String>,
        folder: PathBuf,
        files: std::collections::BTreeMap<String, Vec<u8>>,
        varies: Vec<String>,
    ) -> PyResult<Self> {
        let files: Contents = files.into_iter().map(|(name, bytes)| (name, Arc::from(bytes))).collect();
        let varies: Result<Vec<Vary>, _> = varies.iter().map(|vary| vary.parse()).collect();
        let varies = varies.map_err(|wrong| error::scenario(py, &wrong))?;
        let read = py.detach(|| {
            let text = ScenarioText::with(file, text, Beside::with(folder, files), &sets)?;
            Swept::read(text, &varies, false, &())
        });
        Ok(Self(Arc::new(read.map_err(|wrong| error::run(py, &wrong))?)))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// The runs that it asks for: which combination, and which seed.
    fn tasks(&self) -> Vec<(usize, u64)> {
        self.0.tasks().into_iter().map(|task| (task.point, task.seed)).collect()
    }

    /// Checks the names in metrics: no run is needed.
    fn check(&self, py: Python<'_>, metrics: Vec<String>) -> PyResult<()> {
        let metrics = parsed(py, &metrics)?;
        py.detach(|| self.0.check(&metrics)).map_err(|wrong| error::run(py, &wrong))
    }

    /// Does one run, and gives its summary as JSON. Other threads go on meanwhile.
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

/// Whether the program was told to stop, looked at by the thread that called.
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
        done.ok_or_else(over)?.map_err(|wrong| error::run(py, &wrong))
    }
}

fn over() -> PyErr {
    PyValueError::new_err("this sweep is finished, or it is being run")
}

#[pymethods]
impl Session {
    /// What was there when it was opened, in sentences.
    fn told(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |session| Ok(session.told()))
    }

    /// The runs that there are not yet.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(usize, u64)>> {
        self.with(py, |session| Ok(session.missing().into_iter().map(|task| (task.point, task.seed)).collect()))
    }

    /// Does what is missing on threads of this machine; `progress` hears of how many runs of how many are done.
    #[expect(clippy::disallowed_methods, reason = "runs go on while Python is asked")]
    fn run(&self, py: Python<'_>, jobs: Option<NonZeroUsize>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let mut session = self.lock().take().ok_or_else(over)?;
        let all = session.missing().len();
        let signals = Signals { stopped: AtomicBool::new(false), done: AtomicUsize::new(0) };
        let threads = Threads { jobs, ..Threads::default() };
        let mut stopped = Ok(());
        let ran = std::thread::scope(|scope| {
            let (running, watch) = (&mut session, &signals);
            let runs = scope.spawn(move || threads.run(running, watch).map(|_| ()));
            let mut told = usize::MAX;
            loop {
                let over = runs.is_finished();
                let done = signals.done.load(Ordering::Relaxed);
                if stopped.is_ok() {
                    stopped = py.check_signals();
                    if let (Ok(()), Some(progress)) = (&stopped, progress.as_ref().filter(|_| done != told)) {
                        stopped = progress.call1(py, (done, all)).map(|_| ());
                    }
                    told = done;
                    if stopped.is_err() {
                        signals.stopped.store(true, Ordering::Relaxed);
                    }
                }
                if over {
                    break runs.join();
                }
                py.detach(|| std::thread::park_timeout(ASKED_EACH));
            }
        });
        *self.lock() = Some(session);
        stopped?;
        match ran {
            Ok(ran) => ran.map_err(|wrong| error::run(py, &wrong)),
            Err(_) => Err(PyValueError::new_err("a thread of the sweep panicked")),
        }
    }

    /// Keeps what a run gave.
    fn add(&self, py: Python<'_>, point: usize, seed: u64, summary: String) -> PyResult<()> {
        self.with(py, |session| session.add(Task { point, seed }, &summary))
    }

    /// Asks for more seeds where an interval is too wide; whether it did.
    fn refine(&self, py: Python<'_>, metrics: Vec<String>, relative: f64, most: usize) -> PyResult<bool> {
        let metrics = parsed(py, &metrics)?;
        self.with(py, |session| session.refine(&metrics, relative, most))
    }

    /// What the runs say that there are.
    fn answer(&self, py: Python<'_>, metrics: Vec<String>) -> PyResult<Answer> {
        let metrics = parsed(py, &metrics)?;
        self.with(py, |session| session.answer(&metrics)).map(Answer)
    }

    /// Writes the dataset. Nothing can be done with it any more.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.lock().take().ok_or_else(over)?;
        py.detach(|| session.finish()).map_err(|wrong| error::run(py, &wrong))
    }

    /// Leaves the folder to others. What is done is kept.
    fn close(&self) {
        drop(self.lock().take());
    }
}

fn parsed(py: Python<'_>, metrics: &[String]) -> PyResult<Vec<Metric>> {
    Metric::read_all(metrics).map_err(|wrong| error::metric(py, &wrong.expression, &wrong.why.to_string()))
}

/// A label; where each point is, its mean, and half of its interval.
type LineParts = (String, Vec<(f64, f64, Option<f64>)>);

#[pymethods]
impl Answer {
    /// As `headway sweep --json` prints it.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// As `headway sweep` prints it.
    fn plain(&self) -> String {
        self.0.plain()
    }

    /// As `headway sweep --csv` prints it.
    fn csv(&self) -> String {
        self.0.csv()
    }

    /// The differences to one value of a key.
    fn against(&self, value: &str, paired: bool) -> PyResult<Self> {
        let against = self.0.clone().against(value, paired);
        against.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// A metric over a key, a line for each value of another one: the names of the places on the axis, or none where they are numbers; and by
    /// label where each point is, its mean, and half of its interval.
    fn over(&self, metric: usize, x: &str, by: Option<&str>) -> PyResult<(Option<Vec<String>>, Vec<LineParts>)> {
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

    /// The values of the keys of a row, as numbers in the keys' units where they have one.
    fn cells(&self, py: Python<'_>, row: usize) -> PyResult<Vec<Py<PyAny>>> {
        let cell = |cell: &Cell| match cell {
            Cell::Integer(number) => number.into_py_any(py),
            Cell::Number(number) => number.into_py_any(py),
            Cell::Boolean(truth) => truth.into_py_any(py),
            Cell::Text(text) => text.into_py_any(py),
        };
        self.0.rows.get(row).map_or(&[][..], |row| row.cells()).iter().map(cell).collect()
    }

    /// Of a row and a metric: seeds, and what their runs gave.
    fn samples(&self, row: usize, metric: usize) -> (Vec<u64>, Vec<f64>) {
        let samples = self.0.rows.get(row).map_or(&[][..], |row| row.samples(metric));
        samples.iter().copied().unzip()
    }
}

/// A table of a dataset: `flows.parquet`, `links.parquet` or `runs.parquet`.
#[pyfunction]
pub(crate) fn dataset_table(py: Python<'_>, folder: PathBuf, name: &str) -> PyResult<Table> {
    let read = py.detach(|| read_table(&Folder::named(&folder), name));
    let columns = read.map_err(|wrong| error::run(py, &wrong))?;
    columns::dataset(columns).map_err(|error| PyValueError::new_err(error.to_string()))
}
