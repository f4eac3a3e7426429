//! One run of one scenario, from start to folder.

use crate::arguments::TraceFormat;
use crate::checksums::{Checksum, Checksums};
use crate::error::Failure;
use crate::folder::{Folder, Holds};
use crate::interrupt;
use crate::program;
use crate::traces::Traces;
use headway_record::{SeriesError, Summary};
use headway_scenario::Scenario;
use headway_sim::{Observer, RunError, Simulation};
use headway_units::Instant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
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
    pub(crate) traces: Vec<TraceFormat>,
    /// Whether it is one of many, which are not run again where they are found complete.
    pub(crate) resumes: bool,
}

/// What a folder holds of a job.
pub(crate) enum Found {
    /// No record that could stand for it.
    Nothing,
    /// The very record that it would leave.
    Whole(Box<Summary>),
    /// A record with files that are not as a run has left them.
    Damaged,
}

/// What a run took: outside the record, since no two machines agree.
#[derive(Serialize, Deserialize)]
struct Timing {
    wall_s: f64,
    simulated_s: f64,
    /// Simulated seconds a wall second.
    speed: f64,
    packet_hops_per_s: f64,
    events: u64,
    /// Which program ran it, for runs that are resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
}

/// A run that is over, its summary not yet written.
struct Simulated {
    summary: Summary,
    timing: Timing,
    outcome: Result<(), RunError>,
}

impl Job {
    /// What the folder holds of this job.
    pub(crate) fn found(&self) -> Found {
        let Some(sums) = self.folder.checksums() else {
            let was_there = [Folder::SUMMARY, Folder::CHECKSUMS].iter().any(|name| self.folder.path(name).exists());
            return if was_there { Found::Damaged } else { Found::Nothing };
        };
        if !sums.hold(&self.folder.0) {
            return Found::Damaged;
        }
        // Without a summary it is what a run has left that was killed: nothing is damaged.
        if sums.of(Folder::SUMMARY).is_none() {
            return Found::Nothing;
        }
        let timing = self.folder.read(Folder::TIMING).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        timing.map_or(Found::Damaged, |timing| {
            self.done_before(&sums, &timing).map_or(Found::Nothing, |summary| Found::Whole(Box::new(summary)))
        })
    }

    /// The summary of a complete run of the very same scenario by this very program.
    fn done_before(&self, sums: &Checksums, timing: &Timing) -> Option<Summary> {
        let summary = String::from_utf8(self.folder.read(Folder::SUMMARY).ok()?).ok()?;
        let ours = timing.program.as_deref() == Some(program::identity()?);
        let series = self.scenario.series.map(|_| Folder::SERIES);
        let traces = self.traces.iter().map(|format| format.file());
        let whole = [Folder::SUMMARY].into_iter().chain(series).chain(traces).all(|name| sums.of(name).is_some());
        let same = sums.of(Folder::SCENARIO) == Some(Checksum::of(self.resolved.as_bytes()));
        Summary::from_json(&summary).ok().filter(|summary| same && ours && whole && summary.complete)
    }

    /// Runs it and writes the folder. `on_progress` hears of the simulated time and the packet hops so far. If the user
    /// stops it, the record is written as far as it goes, and says so.
    pub(crate) fn run(&self, on_progress: impl FnMut(Instant, u64)) -> Result<Summary, Failure> {
        let _lock = self.folder.claim(Holds::Record)?;
        self.folder.clear()?;
        let mut sums = Checksums::default();
        for (name, text) in &self.files {
            if let Some(sum) = self.folder.write_input(name, text.as_bytes())? {
                sums.add(name, sum);
            }
        }
        sums.add(Folder::SCENARIO, self.folder.write(Folder::SCENARIO, self.resolved.as_bytes())?);
        // A run that is killed has left these, and the next one may remove them.
        self.folder.write_checksums(&sums)?;
        let simulated = match self.traces[..] {
            [] => self.simulate((), |(): &mut ()| Ok(()), on_progress, &mut sums)?,
            _ => self.run_traced(on_progress, &mut sums)?,
        };
        self.write(simulated, sums)
    }

    fn run_traced(&self, on_progress: impl FnMut(Instant, u64), sums: &mut Checksums) -> Result<Simulated, Failure> {
        let mut traces = Traces::new(&self.scenario, &self.traces);
        let mut files = Vec::new();
        for format in traces.formats() {
            files.push((format, self.folder.begin(format.file())?));
        }
        let mut write = |traces: &mut Traces| {
            files.iter_mut().try_for_each(|(format, file)| {
                let path = self.folder.path(format.file());
                file.writer().write_all(&traces.take(*format)).map_err(Failure::file("write", &path))
            })
        };
        // What is there before the first packet.
        write(&mut traces)?;
        let simulated = self.simulate(traces, &mut write, on_progress, sums)?;
        for (format, file) in files {
            sums.add(format.file(), file.end()?);
        }
        Ok(simulated)
    }

    fn simulate<O: Observer>(
        &self,
        observer: O,
        mut after_slice: impl FnMut(&mut O) -> Result<(), Failure>,
        mut on_progress: impl FnMut(Instant, u64),
        sums: &mut Checksums,
    ) -> Result<Simulated, Failure> {
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
        let simulated_s = simulation.now().as_secs_f64();
        let mut record = simulation.finish();
        if let (Some(mut file), Some(samples)) = (series, record.series.take()) {
            samples.finish(file.writer()).map_err(|error| self.not_written(&error))?;
            sums.add(Folder::SERIES, file.end()?);
        }
        let wall_s = started.elapsed().as_secs_f64();
        let timing = Timing {
            wall_s,
            simulated_s,
            speed: simulated_s / wall_s,
            packet_hops_per_s: record.summary.packet_hops as f64 / wall_s,
            events: record.events,
            program: if self.resumes { program::identity().map(str::to_owned) } else { None },
        };
        Ok(Simulated { summary: record.summary, timing, outcome: outcome.map(|_| ()) })
    }

    fn not_written(&self, error: &SeriesError) -> Failure {
        Failure::Record { path: self.folder.path(Folder::SERIES), reason: error.to_string() }
    }

    /// The summary and the checksums come last: with them the record is complete.
    fn write(&self, simulated: Simulated, mut sums: Checksums) -> Result<Summary, Failure> {
        let Simulated { summary, timing, outcome } = simulated;
        let timing = serde_json::to_vec_pretty(&timing).map_err(|error| Failure::Output(error.into()))?;
        self.folder.write(Folder::TIMING, &timing)?;
        sums.add(Folder::SUMMARY, self.folder.write(Folder::SUMMARY, summary.to_json_pretty().as_bytes())?);
        self.folder.write_checksums(&sums)?;
        outcome?;
        Ok(summary)
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line tells how long a run took; no result depends on it")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
