//! One run of one scenario, from start to folder.

use crate::error::Failure;
use crate::files::Folder;
use crate::interrupt;
use headway_record::{SeriesError, Summary};
use headway_scenario::Scenario;
use headway_sim::{Ns2Trace, Observer, Record, Simulation};
use headway_units::Instant;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// Steps between two looks at the clock and at Ctrl-C: about ten milliseconds.
const SLICE: u64 = 100_000;

/// A run to do.
pub(crate) struct Job {
    /// What tells it from its siblings; empty for a single run.
    pub(crate) label: String,
    pub(crate) scenario: Scenario,
    /// The scenario as text that reproduces the run.
    pub(crate) resolved: String,
    pub(crate) folder: Folder,
    /// The files that the scenario names, with the names it uses.
    pub(crate) files: BTreeMap<String, Arc<str>>,
    pub(crate) trace: bool,
}

/// What a run took: outside the record, since no two machines agree.
#[derive(Serialize)]
struct Timing {
    wall_s: f64,
    simulated_s: f64,
    /// Simulated seconds a wall second.
    speed: f64,
    packet_hops_per_s: f64,
    events: u64,
}

impl Job {
    /// The summary that the folder holds, if it is complete, of the very same scenario and of this version.
    pub(crate) fn done_before(&self) -> Option<Summary> {
        let text = |name| self.folder.read(name).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let is_there = |name| self.folder.path(name).exists();
        let files_are_there =
            (!self.trace || is_there(Folder::TRACE)) && (self.scenario.series.is_none() || is_there(Folder::SERIES));
        let same = text(Folder::SCENARIO)? == self.resolved && files_are_there;
        let is_current = |summary: &Summary| summary.complete && summary.version == env!("CARGO_PKG_VERSION");
        Summary::from_json(&text(Folder::SUMMARY)?).ok().filter(|summary| same && is_current(summary))
    }

    /// Runs it and writes the folder. `on_progress` hears of the simulated time and the packet hops so far. If the user
    /// stops it, the record is written as far as it goes, and says so.
    pub(crate) fn run(&self, on_progress: impl FnMut(Instant, u64)) -> Result<Summary, Failure> {
        self.folder.create()?;
        let _lock = self.folder.lock()?;
        self.folder.clear()?;
        for (name, text) in &self.files {
            self.folder.write_below(name, text.as_bytes())?;
        }
        self.folder.write(Folder::SCENARIO, self.resolved.as_bytes())?;
        if self.trace { self.run_traced(on_progress) } else { self.simulate((), |(): &mut ()| Ok(()), on_progress) }
    }

    fn run_traced(&self, on_progress: impl FnMut(Instant, u64)) -> Result<Summary, Failure> {
        let path = self.folder.path(Folder::TRACE);
        let mut file = BufWriter::new(File::create(&path).map_err(Failure::file("write", &path))?);
        let mut write = |trace: &mut Ns2Trace| file.write_all(&trace.take()).map_err(Failure::file("write", &path));
        let summary = self.simulate(Ns2Trace::new(&self.scenario), &mut write, on_progress)?;
        file.flush().map_err(Failure::file("write", &path))?;
        Ok(summary)
    }

    fn simulate<O: Observer>(
        &self,
        observer: O,
        mut after_slice: impl FnMut(&mut O) -> Result<(), Failure>,
        mut on_progress: impl FnMut(Instant, u64),
    ) -> Result<Summary, Failure> {
        let started = now();
        let mut simulation = Simulation::new(&self.scenario, observer)?;
        let mut series = match self.scenario.series {
            Some(_) => Some(self.folder.begin(Folder::SERIES)?),
            None => None,
        };
        let outcome = loop {
            let outcome = simulation.run(SLICE);
            after_slice(simulation.observer_mut())?;
            if let (Some(file), Some(samples)) = (&mut series, simulation.series_mut()) {
                samples.drain(file.writer()).map_err(|error| self.not_written(&error))?;
            }
            on_progress(simulation.now(), simulation.packet_hops());
            if outcome != Ok(false) || interrupt::asked() {
                break outcome;
            }
        };
        let reached = simulation.now().as_secs_f64();
        let mut record = simulation.finish();
        if let (Some(mut file), Some(samples)) = (series, record.series.take()) {
            samples.finish(file.writer()).map_err(|error| self.not_written(&error))?;
            file.end()?;
        }
        self.write(&record, reached, started.elapsed().as_secs_f64())?;
        outcome?;
        Ok(record.summary)
    }

    fn not_written(&self, error: &SeriesError) -> Failure {
        Failure::Record { path: self.folder.path(Folder::SERIES), reason: error.to_string() }
    }

    fn write<O>(&self, record: &Record<O>, simulated_s: f64, wall_s: f64) -> Result<(), Failure> {
        let timing = Timing {
            wall_s,
            simulated_s,
            speed: simulated_s / wall_s,
            packet_hops_per_s: record.summary.packet_hops as f64 / wall_s,
            events: record.events,
        };
        let timing = serde_json::to_vec_pretty(&timing).map_err(|error| Failure::Output(error.into()))?;
        self.folder.write(Folder::TIMING, &timing)?;
        self.folder.write(Folder::SUMMARY, record.summary.to_json_pretty().as_bytes())
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line tells how long a run took; no result depends on it")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
