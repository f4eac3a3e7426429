//! A run, which Python can watch and stop.

use crate::object::Raised;
use crate::record::Record;
use headway_run::{Error, Gathering, Simulated, TraceFormat, Traces, Tracing, Watch, simulate};
use headway_scenario::Scenario;
use headway_sim::{EventTrace, PacketTrace};
use headway_units::Duration;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How often Python is asked: each time it takes the lock that its threads share.
const ASKED_EACH: std::time::Duration = std::time::Duration::from_millis(100);

/// Asks Python now and then whether to go on, and tells it how far the run is.
pub(crate) struct Asking {
    progress: Option<Py<PyAny>>,
    duration: Duration,
    /// What controllers and queues of Python have raised, if there are any: then the run keeps the lock that they need.
    raised: Option<Arc<Raised>>,
    answer: Mutex<Answer>,
}

struct Answer {
    asked: Instant,
    stopped: Option<PyErr>,
}

impl Asking {
    pub(crate) fn new(progress: Option<Py<PyAny>>, duration: Duration, raised: Option<Arc<Raised>>) -> Self {
        Self { progress, duration, raised, answer: Mutex::new(Answer { asked: now(), stopped: None }) }
    }

    /// Whether the run must not let go of the lock.
    pub(crate) fn keeps_lock(&self) -> bool {
        self.raised.is_some()
    }

    /// What stopped the run.
    pub(crate) fn into_stopped(self) -> Option<PyErr> {
        let raised = self.raised.and_then(|raised| raised.take());
        raised.or(self.answer.into_inner().unwrap_or_else(PoisonError::into_inner).stopped)
    }

    fn ask(&self, now: headway_units::Instant, packet_hops: u64) -> PyResult<()> {
        Python::attach(|py| {
            if self.raised.is_some() {
                // Whoever waits for the lock has a turn.
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

impl Watch for Asking {
    fn stopped(&self) -> bool {
        self.raised.as_ref().is_some_and(|raised| raised.is())
            || self.answer.lock().unwrap_or_else(PoisonError::into_inner).stopped.is_some()
    }

    fn at(&self, now: headway_units::Instant, packet_hops: u64) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let at_end = now.since(headway_units::Instant::ZERO) >= self.duration;
        let time = self::now();
        if at_end || time.duration_since(answer.asked) >= ASKED_EACH {
            answer.asked = time;
            answer.stopped = self.ask(now, packet_hops).err();
        }
    }
}

/// Runs it to its end, or as far as it can go and who is asked lets it; with why it could not go on.
pub(crate) fn run(
    scenario: &Scenario,
    traces: &[TraceFormat],
    watch: &dyn Watch,
) -> Result<(Record, Option<String>), Error> {
    let packets_alone = traces.iter().all(|format| *format == TraceFormat::Packets);
    let events = || EventTrace::new(scenario);
    match traces {
        // As the command has it: where nothing is kept over time, events are not either.
        [] if scenario.series.is_none() => observed(scenario, (), (), watch),
        [] => observed(scenario, events(), (), watch),
        _ if packets_alone => observed(scenario, events(), PacketTrace::new(scenario), watch),
        _ => observed(scenario, events(), Traces::new(scenario, traces), watch),
    }
}

fn observed<E: Gathering, T: Tracing>(
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
    let events = E::GATHERS.then_some(events);
    let formats = traces.formats().into_iter();
    let traces = formats.map(|format| Ok((format, traces.take(format)?))).collect::<Result<_, Error>>()?;
    let record = Record::new(record.summary, series, events, distributions, traces, timing);
    Ok((record, outcome.err().map(|error| error.to_string())))
}

#[expect(clippy::disallowed_methods, reason = "when Python is asked; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}
