//! Scenarios.

use crate::controller;
use crate::error;
use crate::files::{Contents, Kept};
use crate::object::Raised;
use crate::queue;
use crate::record::Record;
use crate::run::{self, PythonWatch};
use headway_rate::ControllerOptions;
use headway_run::{Folder, Job, TraceFormat};
use headway_scenario::{Loaded, Override, Place, Problem, ScenarioError, choices, load, plan};
use headway_units::Registry as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A valid scenario: its text, overrides, and the files that it names.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Scenario {
    #[pyo3(get)]
    file: String,
    #[pyo3(get)]
    text: String,
    /// Overrides as `KEY=VALUE`.
    #[pyo3(get)]
    sets: Vec<String>,
    folder: PathBuf,
    named: Contents,
    loaded: Loaded,
}

#[pymethods]
impl Scenario {
    /// Reads `text`. `file` is its name in messages and the default of `name`. Files that the scenario names are in
    /// `files`, or are read from `folder`.
    #[new]
    fn new(
        py: Python<'_>,
        file: String,
        text: String,
        sets: Vec<String>,
        folder: PathBuf,
        files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<Self> {
        let files = files.into_iter().map(|(name, bytes)| (name, Arc::from(bytes))).collect();
        let loaded = py.detach(|| read(&file, &text, &sets, folder.clone(), files));
        let (loaded, named) = loaded.map_err(|wrong| error::scenario(py, &wrong))?;
        Ok(Self { file, text, sets, folder, named, loaded })
    }

    #[getter]
    fn folder(&self) -> &std::ffi::OsStr {
        self.folder.as_os_str()
    }

    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> BTreeMap<String, Bound<'py, PyBytes>> {
        self.named.iter().map(|(name, bytes)| (name.clone(), PyBytes::new(py, bytes))).collect()
    }

    /// Returns the text with all presets and overrides resolved.
    #[getter]
    fn toml(&self) -> &str {
        &self.loaded.resolved_toml
    }

    /// Returns XXH3 (128 bits) of the resolved text and of the named files, each with its length.
    #[getter]
    fn hash(&self) -> String {
        format!("{:032x}", headway_run::inputs(&self.loaded.resolved_toml, &self.named))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.loaded.scenario.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.loaded.scenario.seed
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.loaded.scenario.duration.as_secs_f64()
    }

    /// Returns the names of all flows, with replicas.
    #[getter]
    fn flows(&self) -> Vec<String> {
        self.loaded.scenario.flows.iter().map(|flow| flow.name.clone()).collect()
    }

    /// Returns the names of all link directions.
    #[getter]
    fn links(&self) -> Vec<String> {
        self.loaded.scenario.links.iter().map(|link| link.name.clone()).collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<error::ProblemParts> {
        self.loaded.warnings.iter().map(error::problem).collect()
    }

    /// Returns the number of runs of its `[vary]`.
    fn count_runs(&self, py: Python<'_>) -> PyResult<usize> {
        let plan = overrides(&self.sets).and_then(|sets| plan(&self.file, &self.text, &sets, &[]));
        Ok(plan.map_err(|wrong| error::scenario(py, &wrong))?.runs.len())
    }

    /// Runs the scenario. Other threads continue, unless there are Python controllers or queues. `progress` is called
    /// with the simulated time, the duration (both in s) and the packet hops, ten times per second and at the end.
    /// Returns the record, the exception that stopped the run, and the error that ended it early.
    fn run(
        &self,
        py: Python<'_>,
        traces: Vec<String>,
        progress: Option<Py<PyAny>>,
        controllers: Vec<Controller>,
        queues: Vec<(String, Py<PyAny>)>,
    ) -> PyResult<(Record, Option<Py<PyAny>>, Option<String>)> {
        let traces = traces.iter().map(|name| trace_format(name)).collect::<PyResult<Vec<_>>>()?;
        let mut scenario = Cow::Borrowed(&self.loaded.scenario);
        let raised = (!controllers.is_empty() || !queues.is_empty()).then(Arc::<Raised>::default);
        if let Some(raised) = &raised {
            let scenario = scenario.to_mut();
            controllers.into_iter().try_for_each(|controller| self.put(py, scenario, controller, raised))?;
            queues.into_iter().try_for_each(|(name, class)| self.put_queue(py, scenario, &name, class, raised))?;
        }
        let watch = PythonWatch::new(progress, scenario.duration, raised);
        let run = || run::run(&scenario, &traces, &watch);
        let done = if watch.keeps_lock() { run() } else { py.detach(run) };
        let (record, failure) = done.map_err(|wrong| error::run(py, &wrong))?;
        Ok((record, watch.into_stopped().map(|stopped| stopped.into_value(py).into_any()), failure))
    }
}

/// Flow, classes of both halves, reports, needs.
type Controller = (String, Py<PyAny>, Py<PyAny>, String, Vec<String>);

impl Scenario {
    /// Replaces the controller of a flow.
    fn put(
        &self,
        py: Python<'_>,
        scenario: &mut headway_scenario::Scenario,
        (name, sender, receiver, reports, needs): Controller,
        raised: &Arc<Raised>,
    ) -> PyResult<()> {
        let external = controller::external(sender, receiver, &reports, &needs, raised)?;
        let flow = flow_mut(scenario, &name)?;
        let transport = flow.transport.with_controller(ControllerOptions::External(external));
        flow.transport = Arc::new(
            transport.map_err(|wrong| self.wrong(py, &name, &format!("transport.{}", wrong.key), wrong.message))?,
        );
        Ok(())
    }

    /// Replaces the send queue of a flow, with its limit and travel time.
    fn put_queue(
        &self,
        py: Python<'_>,
        scenario: &mut headway_scenario::Scenario,
        name: &str,
        class: Py<PyAny>,
        raised: &Arc<Raised>,
    ) -> PyResult<()> {
        let flow = flow_mut(scenario, name)?;
        if flow.transport.controller().is_none() {
            let message = format!(
                "{} has no rate controller: only a transport with a rate controller uses a send queue",
                flow.transport.kind()
            );
            return Err(self.wrong(py, name, "send_queue", message));
        }
        let maker = queue::Class { class, raised: Arc::clone(raised) };
        flow.send_queue = Arc::new(flow.send_queue.as_ref().clone().with_external(Arc::new(maker)));
        Ok(())
    }

    fn wrong(&self, py: Python<'_>, flow: &str, key: &str, message: String) -> PyErr {
        let key = format!("flow[{flow}].{key}");
        let problem = Problem { file: self.file.clone(), place: Place::File, key, message, snippet: None };
        error::scenario(py, &ScenarioError { problems: vec![problem], more: false })
    }

    /// Returns a job that writes a record of the scenario to `folder`.
    pub(crate) fn job(&self, folder: Folder) -> Job {
        Job {
            label: String::new(),
            scenario: self.loaded.scenario.clone(),
            resolved: self.loaded.resolved_toml.clone(),
            folder,
            files: self.named.clone(),
            traces: Vec::new(),
            resumes: false,
        }
    }
}

fn flow_mut<'a>(scenario: &'a mut headway_scenario::Scenario, name: &str) -> PyResult<&'a mut headway_scenario::Flow> {
    let flow = scenario.flows.iter_mut().find(|flow| flow.name == name);
    flow.ok_or_else(|| PyValueError::new_err(format!("there is no flow \"{name}\"")))
}

fn read(
    file: &str,
    text: &str,
    sets: &[String],
    folder: PathBuf,
    kept: Contents,
) -> Result<(Loaded, Contents), ScenarioError> {
    let files = Kept::new(kept, folder);
    let loaded = load(file, text, &overrides(sets)?, &files)?;
    Ok((loaded, files.into_named()))
}

fn overrides(sets: &[String]) -> Result<Vec<Override>, ScenarioError> {
    sets.iter().map(|set| set.parse()).collect()
}

/// Returns the trace format of this name.
pub(crate) fn trace_format(name: &str) -> PyResult<TraceFormat> {
    TraceFormat::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
        let choices = choices(name, TraceFormat::ALL.map(TraceFormat::name));
        PyValueError::new_err(format!("there is no trace format \"{name}\"{choices}"))
    })
}

/// Returns the end of an error message about an unknown name: the nearest known name, and all known names.
#[pyfunction]
#[pyo3(name = "choices")]
pub(crate) fn choices_of(name: &str, known: Vec<String>) -> String {
    choices(name, known.iter().map(String::as_str))
}

/// Returns the JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    headway_scenario::schema().to_string()
}
