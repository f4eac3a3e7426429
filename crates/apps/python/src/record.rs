//! The record of a run.

use crate::columns::{self, FLOW, LINK};
use crate::error;
use crate::scenario::{Scenario, trace_format};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::Schema;
use headway_record::{
    Distributions, EventTable, Expression, ExpressionError, Numbers, PacketTable, SeriesError, SeriesTable, Summary,
};
use headway_record::{event_batches, flow_table, link_table, series_batches, series_schema};
use headway_run::{Error, Folder, Timing, TraceFormat};
use headway_scenario::choices;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Series: entity, times in s, values.
type Samples = (String, Vec<f64>, Vec<f64>);

/// The record of a run.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Record {
    summary: Summary,
    /// The bytes of `series.arrow`.
    series: Option<Buffer>,
    /// The bytes of `events.arrow`.
    events: Option<Vec<u8>>,
    /// `distributions.json`.
    distributions: Option<String>,
    traces: Vec<(TraceFormat, Vec<u8>)>,
    timing: Timing,
    /// The folder of a loaded record.
    folder: Option<Folder>,
    /// The packet trace in the folder, read when it is first used.
    packets: OnceLock<Vec<u8>>,
}

impl Record {
    pub(crate) fn new(
        summary: Summary,
        series: Option<Vec<u8>>,
        events: Option<Vec<u8>>,
        distributions: Option<String>,
        traces: Vec<(TraceFormat, Vec<u8>)>,
        timing: Timing,
    ) -> Self {
        let series = series.map(Buffer::from_vec);
        Self { summary, series, events, distributions, traces, timing, folder: None, packets: OnceLock::new() }
    }

    /// Returns the series; an empty table if the record has none.
    pub(crate) fn series_table(&self) -> PyResult<SeriesTable> {
        let table = self.series.as_ref().map(|bytes| SeriesTable::from_ipc(bytes)).transpose();
        Ok(table.map_err(wrong)?.unwrap_or_default())
    }

    pub(crate) const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the packet trace, if the record has one in memory or in its folder.
    pub(crate) fn packet_table(&self, py: Python<'_>) -> PyResult<Option<PacketTable<'_>>> {
        let in_memory = self.traces.iter().find(|(format, _)| *format == TraceFormat::Packets);
        let packets = match in_memory {
            Some((_, bytes)) => Some(bytes),
            None => self.packets_of_folder(py)?,
        };
        packets.map(|bytes| PacketTable::from_ipc(bytes)).transpose().map_err(wrong)
    }

    fn packets_of_folder(&self, py: Python<'_>) -> PyResult<Option<&Vec<u8>>> {
        let name = TraceFormat::Packets.file();
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.path(name).exists()) else { return Ok(None) };
        if let Some(read) = self.packets.get() {
            return Ok(Some(read));
        }
        let bytes = py.detach(|| folder.read_checked(name)).map_err(|wrong| error::run(py, &wrong))?;
        Ok(Some(self.packets.get_or_init(|| bytes)))
    }

    pub(crate) fn read_events(&self) -> PyResult<Option<EventTable>> {
        self.events.as_deref().map(EventTable::from_ipc).transpose().map_err(wrong)
    }

    pub(crate) fn read_distributions(&self) -> PyResult<Option<Distributions>> {
        self.distributions.as_deref().map(serde_json::from_str).transpose().map_err(wrong)
    }

    fn batches(&self) -> Result<Vec<RecordBatch>, SeriesError> {
        Ok(self.series.as_ref().map(series_batches).transpose()?.unwrap_or_default())
    }

    fn entries(&self, list: &str) -> PyResult<Vec<Value>> {
        let mut summary = serde_json::to_value(&self.summary).map_err(wrong)?;
        Ok(summary.get_mut(list).and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default())
    }
}

#[pymethods]
impl Record {
    /// Creates a record from `summary.json`, `series.arrow`, `events.arrow`, `distributions.json`, traces by format
    /// and `timing.json`.
    #[new]
    fn of_parts(
        summary: &str,
        series: Option<Vec<u8>>,
        events: Option<Vec<u8>>,
        distributions: Option<String>,
        traces: BTreeMap<String, Vec<u8>>,
        timing: &str,
    ) -> PyResult<Self> {
        let summary = Summary::from_json(summary).map_err(wrong)?;
        let traces = traces.into_iter().map(|(name, bytes)| Ok((trace_format(&name)?, bytes)));
        let timing = serde_json::from_str(timing).map_err(wrong)?;
        Ok(Self::new(summary, series, events, distributions, traces.collect::<PyResult<_>>()?, timing))
    }

    /// Reads a record from its folder. Traces remain there until a figure needs them.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| load(&Folder::named(&path))).map_err(|wrong| error::run(py, &wrong))
    }

    /// Writes the folder that `headway run` writes for this scenario.
    fn save(&self, py: Python<'_>, scenario: &Scenario, path: PathBuf) -> PyResult<()> {
        let mut files: Vec<(&str, &[u8])> =
            self.traces.iter().map(|(format, bytes)| (format.file(), bytes.as_slice())).collect();
        files.extend(self.series.iter().map(|series| (Folder::SERIES, series.as_slice())));
        files.extend(self.events.iter().map(|events| (Folder::EVENTS, events.as_slice())));
        files.extend(self.distributions.iter().map(|text| (Folder::DISTRIBUTIONS, text.as_bytes())));
        let job = scenario.job(Folder::named(&path));
        let saved = py.detach(|| job.save(&self.summary, &self.timing, &files));
        saved.map_err(|wrong| error::run(py, &wrong))
    }

    /// Returns `summary.json`.
    #[getter]
    fn summary_json(&self) -> String {
        self.summary.to_json_pretty()
    }

    /// Returns the summary as one line of JSON.
    #[getter]
    fn summary_line(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(wrong)
    }

    /// Returns `timing.json`.
    #[getter]
    fn timing_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.timing).map_err(wrong)
    }

    /// Returns the bytes of `series.arrow`.
    #[getter]
    fn series_bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.series.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    /// Returns the bytes of `events.arrow`.
    #[getter]
    fn events_bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.events.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    /// Returns `distributions.json`.
    #[getter]
    fn distributions_json(&self) -> Option<&str> {
        self.distributions.as_deref()
    }

    /// Returns the bytes of traces, by format.
    #[getter]
    fn traces<'py>(&self, py: Python<'py>) -> BTreeMap<&str, Bound<'py, PyBytes>> {
        self.traces.iter().map(|(format, bytes)| (format.name(), PyBytes::new(py, bytes))).collect()
    }

    /// Returns a table with one row per flow.
    fn flows(&self) -> PyResult<Table> {
        columns::table(FLOW, &self.entries("flows")?).map_err(wrong)
    }

    /// Returns a table with one row per link direction.
    fn links(&self) -> PyResult<Table> {
        columns::table(LINK, &self.entries("links")?).map_err(wrong)
    }

    /// Returns `series.arrow` without a copy; a table without rows if the record has none.
    fn series(&self) -> PyResult<Table> {
        Ok(Table::new(series_schema(), self.batches().map_err(wrong)?))
    }

    /// Returns `events.arrow`; a table without columns if the record has none.
    fn events(&self) -> PyResult<Table> {
        let Some(bytes) = &self.events else { return Ok(Table::new(Arc::new(Schema::empty()), Vec::new())) };
        let (schema, batches) = event_batches(bytes).map_err(wrong)?;
        Ok(Table::new(schema, batches))
    }

    /// Returns all series of a metric. A metric without samples has none; an unknown name is an error.
    fn samples(&self, metric: &str) -> PyResult<Vec<Samples>> {
        let table = self.series_table()?;
        let own = table.iter().map(|(_, name, _)| name).collect::<BTreeSet<_>>();
        let names: BTreeSet<&str> = headway_record::metric::ALL.iter().map(|metric| metric.name).chain(own).collect();
        if !names.contains(metric) {
            let choices = choices(metric, names.iter().copied());
            return Err(PyValueError::new_err(format!("there is no metric \"{metric}\" over time{choices}")));
        }
        let of_metric = table.iter().filter(|(_, named, _)| *named == metric);
        let samples = of_metric.map(|(entity, _, samples)| {
            let (times, values) = samples.iter().map(|(at, value)| (at.as_secs_f64(), *value)).unzip();
            (entity.to_owned(), times, values)
        });
        Ok(samples.collect())
    }

    /// Evaluates an expression over the summary; `None` if the record has no such number.
    fn metric(&self, py: Python<'_>, expression: &str) -> PyResult<Option<f64>> {
        let value = expression.parse::<Expression>().and_then(|metric| metric.evaluate(&Numbers::new(&self.summary)));
        value.map_err(|ExpressionError { expression, fault }| error::metric(py, &expression, &fault.to_string()))
    }

    /// Returns the text tables of `headway run`.
    fn tables(&self) -> String {
        format!("{}\n{}", flow_table(&self.summary), link_table(&self.summary))
    }
}

fn load(folder: &Folder) -> Result<Record, Error> {
    let no_record = |name: &str, reason: String| Error::Record { path: folder.path(name), reason: reason.into() };
    if !folder.path(Folder::SUMMARY).exists() {
        let reason = "this is no record: a folder that a run has left holds summary.json".into();
        return Err(Error::Record { path: folder.0.clone(), reason });
    }
    let summary = String::from_utf8_lossy(&folder.read_checked(Folder::SUMMARY)?).into_owned();
    let summary = Summary::from_json(&summary).map_err(|error| no_record(Folder::SUMMARY, error.to_string()))?;
    let timing = serde_json::from_slice(&folder.read(Folder::TIMING)?);
    let timing = timing.map_err(|error| no_record(Folder::TIMING, error.to_string()))?;
    let optional = |name: &str| folder.path(name).exists().then(|| folder.read_checked(name)).transpose();
    let distributions = optional(Folder::DISTRIBUTIONS)?.map(String::from_utf8).transpose();
    let distributions = distributions.map_err(|error| no_record(Folder::DISTRIBUTIONS, error.to_string()))?;
    let (series, events) = (optional(Folder::SERIES)?, optional(Folder::EVENTS)?);
    let record = Record::new(summary, series, events, distributions, Vec::new(), timing);
    let record = Record { folder: Some(folder.clone()), ..record };
    // Damaged data is reported here, not at the first access.
    record.batches().map_err(|error| no_record(Folder::SERIES, error.to_string()))?;
    if let Some(bytes) = &record.events {
        event_batches(bytes).map_err(|error| no_record(Folder::EVENTS, error.to_string()))?;
    }
    Ok(record)
}

fn wrong(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
