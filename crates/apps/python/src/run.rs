//! Runs that Python can watch and stop.

use crate::object::Raised;
use crate::record::Record;
use headway_run::{Error, EventRecorder, Simulated, TraceFormat, Traces, Tracing, Watch, simulate};
use headway_scenario::Scenario;
use headway_sim::{EventTrace, PacketTrace};
use headway_units::Duration;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Interval between checks of Python. Each needs the interpreter lock.
const CHECK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// Checks Python regularly for a request to stop, and reports progress.
pub(crate) struct PythonWatch {
    progress: Option<Py<PyAny>>,
    duration: Duration,
    /// First exception of Python controllers and queues. With any of them, the run keeps the interpreter lock.
    raised: Option<Arc<Raised>>,
    answer: Mutex<Answer>,
}

struct Answer {
    checked: Instant,
    stopped: Option<PyErr>,
}

impl PythonWatch {
    pub(crate) fn new(progress: Option<Py<PyAny>>, duration: Duration, raised: Option<Arc<Raised>>) -> Self {
        Self { progress, duration, raised, answer: Mutex::new(Answer { checked: now(), stopped: None }) }
    }

    /// Returns whether the run keeps the interpreter lock.
    pub(crate) fn keeps_lock(&self) -> bool {
        self.raised.is_some()
    }

    /// Returns the exception that stopped the run.
    pub(crate) fn into_stopped(self) -> Option<PyErr> {
        let raised = self.raised.and_then(|raised| raised.take());
        raised.or(self.answer.into_inner().unwrap_or_else(PoisonError::into_inner).stopped)
    }

    fn check(&self, now: headway_units::Instant, packet_hops: u64) -> PyResult<()> {
        Python::attach(|py| {
            if self.raised.is_some() {
                // Other threads may take the lock.
                py.detach(|| ());
            }
            py.check_signals()?;
            if let Some(progress) = &self.progress {
                progress.call1(py, (now.as_secs_f64(), self.duration.as_secs_f64(), packet_hops))?;
            }
            Ok(())
        })
    }
}

impl Watch for PythonWatch {
    fn stopped(&self) -> bool {
        self.raised.as_ref().is_some_and(|raised| raised.is())
            || self.answer.lock().unwrap_or_else(PoisonError::into_inner).stopped.is_some()
    }

    fn at(&self, now: headway_units::Instant, packet_hops: u64) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let at_end = now.since(headway_units::Instant::ZERO) >= self.duration;
        let time = self::now();
        if at_end || time.duration_since(answer.checked) >= CHECK_INTERVAL {
            answer.checked = time;
            answer.stopped = self.check(now, packet_hops).err();
        }
    }
}

/// Runs a scenario to its end or until it is stopped. Also returns the error that ended it early.
pub(crate) fn run(
    scenario: &Scenario,
    traces: &[TraceFormat],
    watch: &dyn Watch,
) -> Result<(Record, Option<String>), Error> {
    let packets_alone = traces.iter().all(|format| *format == TraceFormat::Packets);
    let events = || EventTrace::new(scenario);
    match traces {
        // As in the command, runs without series and traces record no events.
        [] if scenario.series.is_none() => observed(scenario, (), (), watch),
        [] => observed(scenario, events(), (), watch),
        _ if packets_alone => observed(scenario, events(), PacketTrace::new(scenario), watch),
        _ => observed(scenario, events(), Traces::new(scenario, traces), watch),
    }
}

fn observed<E: EventRecorder, T: Tracing>(
    scenario: &Scenario,
    events: E,
    traces: T,
    watch: &dyn Watch,
) -> Result<(Record, Option<String>), Error> {
    let mut series = Vec::new();
    let observer = (events, traces);
    let Simulated { mut record, timing, outcome } = simulate(scenario, observer, watch, |simulation| {
        Ok(simulation.series_mut().map_or(Ok(()), |samples| samples.drain(&mut series))?)
    })?;
    let series = match record.series.take() {
        Some(samples) => samples.finish(&mut series).map(|()| Some(series))?,
        None => None,
    };
    let distributions = record.distributions.as_ref().map(|distributions| distributions.to_json());
    let (events, mut traces) = record.observer;
    let events = events.finish()?;
    let events = E::RECORDS.then_some(events);
    let formats = traces.formats().into_iter();
    let traces = formats.map(|format| Ok((format, traces.take(format)?))).collect::<Result<_, Error>>()?;
    let record = Record::new(record.summary, series, events, distributions, traces, timing);
    Ok((record, outcome.err().map(|error| error.to_string())))
}

#[expect(clippy::disallowed_methods, reason = "when Python is checked; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}
