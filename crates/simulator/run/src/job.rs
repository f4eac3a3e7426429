//! One run of a scenario into a folder.

use crate::checksums::Checksums;
use crate::code::CODE;
use crate::findings::{Finding, findings_of};
use crate::folder::{Folder, FolderKind, PartialFile};
use crate::incremental::{Collected, EventRecorder, Files};
use crate::inputs::inputs;
use crate::pace::{FullSpeed, Pace};
use crate::simulate::{SecondTimer, Simulated, Timing, now, simulate_paced};
use crate::traces::{TraceFormat, Traces, Tracing};
use crate::{Error, Watch};
use headway_record::{PacketIndex, SeriesError, Summary};
use headway_scenario::Scenario;
use headway_sim::{EventTrace, Observer, PacketTrace, RunError, Simulation};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Maximum size of the data that wait for a slow disk in a lab.
const MAX_WAITING_BYTES: usize = 256 << 20;

/// One run of a scenario, and the folder into which its record is written.
#[derive(Debug)]
pub struct Job {
    /// Name that distinguishes the run from others of a sweep; empty for a single run.
    pub label: String,
    /// Scenario to run.
    pub scenario: Scenario,
    /// Resolved scenario: the text of a scenario file with all defaults and overrides, which reproduces the run.
    pub resolved: String,
    /// Folder into which the record is written.
    pub folder: Folder,
    /// The files that the scenario names, by the names that it uses.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Formats of the packet traces to write.
    pub traces: Vec<TraceFormat>,
    /// Whether a later job with equal code and inputs may reuse the complete record instead of simulating again. If so,
    /// the record stores hashes of both.
    pub resumes: bool,
}

/// The content of a job's folder.
#[derive(Debug)]
pub enum Found {
    /// No complete record of this job.
    Nothing,
    /// A complete record of this job.
    Whole(Box<Summary>),
    /// A record with files that are missing or differ from their checksums.
    Damaged,
}

/// Part of a run's record that is not written yet.
#[derive(Default)]
struct Slice {
    collected: Collected,
    series: Vec<u8>,
    /// Summary so far, if it is due.
    summary: Option<Summary>,
}

impl Slice {
    fn bytes(&self) -> usize {
        self.collected.bytes() + self.series.len()
    }
}

/// Files of a record that are written during the run.
struct Output<'a> {
    job: &'a Job,
    series: Option<PartialFile>,
    files: Files,
}

impl Output<'_> {
    fn write(&mut self, slice: Slice) -> Result<(), Error> {
        let folder = &self.job.folder;
        self.files.write(folder, &slice.collected)?;
        if let Some(summary) = &slice.summary {
            folder.write_summary_so_far(summary)?;
        }
        if let Some(file) = &mut self.series {
            file.writer().write_all(&slice.series).map_err(Error::file("write", &folder.path(Folder::SERIES)))?;
        }
        Ok(())
    }
}

/// A completed run whose summary is not written yet.
struct Ended {
    summary: Summary,
    timing: Timing,
    outcome: Result<(), RunError>,
}

impl Job {
    /// Returns whether the folder holds a complete record of this job: of an equal scenario with equal files, with the
    /// traces of this job, and by the same code.
    #[must_use]
    pub fn found(&self) -> Found {
        let Some(sums) = self.folder.checksums() else {
            let was_there = [Folder::SUMMARY, Folder::CHECKSUMS].iter().any(|name| self.folder.path(name).exists());
            return if was_there { Found::Damaged } else { Found::Nothing };
        };
        if !sums.hold(&self.folder.0) {
            return Found::Damaged;
        }
        // An interrupted run has no summary; its files are not damaged.
        if sums.of(Folder::SUMMARY).is_none() {
            return Found::Nothing;
        }
        let timing = self.folder.read(Folder::TIMING).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        timing.map_or(Found::Damaged, |timing| {
            self.done_before(&sums, &timing).map_or(Found::Nothing, |summary| Found::Whole(Box::new(summary)))
        })
    }

    /// Returns the summary of a complete run of the same scenario by the same code.
    fn done_before(&self, sums: &Checksums, timing: &Timing) -> Option<Summary> {
        let summary = String::from_utf8(self.folder.read(Folder::SUMMARY).ok()?).ok()?;
        let ours = timing.code.as_deref() == Some(CODE) && timing.inputs.as_ref() == Some(&self.inputs());
        let series = self.scenario.series.map(|_| Folder::SERIES);
        let distributions = self.scenario.distributions.then_some(Folder::DISTRIBUTIONS);
        let traces = self.traces.iter().flat_map(|format| format.files());
        let events = self.records_events().then_some(Folder::EVENTS);
        let wanted = [Folder::SUMMARY].into_iter().chain(events).chain(series).chain(distributions).chain(traces);
        let whole = wanted.into_iter().all(|name| sums.of(name).is_some());
        Summary::from_json(&summary).ok().filter(|summary| ours && whole && summary.complete)
    }

    fn inputs(&self) -> String {
        format!("{:032x}", inputs(&self.resolved, &self.files))
    }

    /// Runs the job and writes the folder. If `watch` stops the run, or the run fails, a partial record is written and
    /// marked incomplete.
    ///
    /// # Errors
    /// The scenario cannot be run, the run fails before its end, or the folder cannot be written.
    pub fn run(&self, watch: &dyn Watch) -> Result<Summary, Error> {
        let _lock = self.folder.claim(FolderKind::Record)?;
        self.record(watch, &mut FullSpeed)
    }

    /// Runs the job, writes the folder, and returns the findings of the record. A stopped run has no
    /// findings, so that the command ends at once.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), or the record cannot be read.
    pub fn run_with_findings(&self, watch: &dyn Watch) -> Result<(Summary, Vec<Finding>), Error> {
        self.run_paced(watch, &mut FullSpeed)
    }

    /// Runs the job, writes the folder, and returns the findings of the record, as
    /// [`run_with_findings`](Self::run_with_findings) does. `pace` advances the run: at full speed or in wall-clock
    /// time.
    ///
    /// # Errors
    /// Those of [`run_with_findings`](Self::run_with_findings).
    pub fn run_paced(&self, watch: &dyn Watch, pace: &mut impl Pace) -> Result<(Summary, Vec<Finding>), Error> {
        let _lock = self.folder.claim(FolderKind::Record)?;
        let summary = self.record(watch, pace)?;
        if watch.stopped() {
            return Ok((summary, Vec::new()));
        }
        watch.recorded();
        let findings = findings_of(&self.folder, &summary, Some(&self.scenario), watch)?;
        Ok((summary, findings))
    }

    /// Runs the job into a folder that is already claimed.
    fn record(&self, watch: &dyn Watch, pace: &mut impl Pace) -> Result<Summary, Error> {
        let mut sums = self.begin()?;
        let packets_alone = self.traces.iter().all(|format| *format == TraceFormat::Packets);
        let events = || EventTrace::new(&self.scenario);
        let ended = match self.traces[..] {
            [] if !self.records_events() => self.simulate((), (), watch, pace, &mut sums)?,
            [] => self.simulate(events(), (), watch, pace, &mut sums)?,
            // The packet trace records no events, so the event trace records them as for other traces.
            _ if packets_alone => self.simulate(events(), PacketTrace::new(&self.scenario), watch, pace, &mut sums)?,
            _ => self.simulate(events(), Traces::new(&self.scenario, &self.traces), watch, pace, &mut sums)?,
        };
        self.end(ended, sums)
    }

    /// Returns whether the run writes `events.arrow`, as all runs with series or traces do.
    const fn records_events(&self) -> bool {
        self.scenario.series.is_some() || !self.traces.is_empty()
    }

    /// Writes the record of a run that was simulated in memory, with the additional `files` (name and content). Also
    /// writes the index of `packets.arrow` if that is one of them.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, summary: &Summary, timing: &Timing, files: &[(&str, &[u8])]) -> Result<(), Error> {
        let _lock = self.folder.claim(FolderKind::Record)?;
        let mut sums = self.begin()?;
        let packets = files.iter().find(|(name, _)| *name == TraceFormat::Packets.file());
        let index = packets.and_then(|(_, trace)| PacketIndex::text_of(trace));
        let index = index.as_ref().map(|text| (Folder::PACKET_INDEX, text.as_bytes()));
        for (name, bytes) in files.iter().copied().chain(index) {
            sums.add(name, self.folder.write(name, bytes)?);
        }
        self.end(Ended { summary: summary.clone(), timing: timing.clone(), outcome: Ok(()) }, sums).map(|_| ())
    }

    fn begin(&self) -> Result<Checksums, Error> {
        self.folder.clear()?;
        let mut sums = Checksums::default();
        for (name, bytes) in &self.files {
            if let Some(sum) = self.folder.write_input(name, bytes)? {
                sums.add(name, sum);
            }
        }
        sums.add(Folder::SCENARIO, self.folder.write(Folder::SCENARIO, self.resolved.as_bytes())?);
        // The checksums of an interrupted run list the files that the next run may remove.
        self.folder.write_checksums(&sums)?;
        Ok(sums)
    }

    fn simulate<E: EventRecorder, T: Tracing, P: Pace>(
        &self,
        events: E,
        traces: T,
        watch: &dyn Watch,
        pace: &mut P,
        sums: &mut Checksums,
    ) -> Result<Ended, Error> {
        let mut observer = (events, traces);
        let series = match self.scenario.series {
            Some(_) => Some(self.folder.begin(Folder::SERIES)?),
            None => None,
        };
        let mut output = Output { job: self, series, files: Files::begin(&self.folder, &observer)? };
        // The state before the first packet.
        output.write(Slice { collected: Collected::take(&self.folder, &mut observer)?, ..Slice::default() })?;
        // The size of a summary is proportional to the flows and links. This limit keeps its cost at most 1 %
        // of the run.
        let hops_between = 5_000 * (self.scenario.flows.len() + self.scenario.links.len()) as u64;
        let (mut second_timer, mut next_hops) = (SecondTimer::new(), hops_between);
        let slice = |simulation: &mut Simulation<'_, (E, T)>| {
            let mut slice =
                Slice { collected: Collected::take(&self.folder, simulation.observer_mut())?, ..Slice::default() };
            if E::RECORDS && simulation.packet_hops() >= next_hops && second_timer.has_elapsed(now()) {
                next_hops = simulation.packet_hops() + hops_between;
                slice.summary = Some(simulation.summary());
            }
            if let Some(samples) = simulation.series_mut() {
                samples.drain(&mut slice.series).map_err(|error| self.not_written(error))?;
            }
            Ok(slice)
        };
        let simulated = if P::IS_EXTERNAL {
            self.simulate_and_write_apart(observer, watch, pace, slice, &mut output)
        } else {
            let mut slice = slice;
            let each_slice = |simulation: &mut Simulation<'_, (E, T)>| output.write(slice(simulation)?);
            simulate_paced(&self.scenario, observer, watch, pace, each_slice)
        };
        let Simulated { mut record, timing, outcome } = simulated?;
        let Output { series, files, .. } = output;
        if let (Some(mut file), Some(samples)) = (series, record.series.take()) {
            samples.finish(file.writer()).map_err(|error| self.not_written(error))?;
            sums.add(Folder::SERIES, file.end()?);
        }
        files.end(&self.folder, record.observer, sums)?;
        if let Some(distributions) = &record.distributions {
            let json = distributions.to_json();
            sums.add(Folder::DISTRIBUTIONS, self.folder.write(Folder::DISTRIBUTIONS, json.as_bytes())?);
        }
        if let Some((name, bytes)) = pace.finish() {
            sums.add(name, self.folder.write(name, &bytes)?);
        }
        Ok(Ended { summary: record.summary, timing, outcome })
    }

    /// Runs by the clock of a lab. A separate thread writes the files, so that a slow disk does not delay packets.
    #[expect(clippy::disallowed_methods, reason = "a thread for the disk")]
    fn simulate_and_write_apart<O: Observer>(
        &self,
        observer: O,
        watch: &dyn Watch,
        pace: &mut impl Pace,
        mut slice: impl FnMut(&mut Simulation<'_, O>) -> Result<Slice, Error>,
        output: &mut Output<'_>,
    ) -> Result<Simulated<O>, Error> {
        let waiting = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel::<Slice>();
        std::thread::scope(|scope| {
            let write = || {
                receiver.into_iter().try_for_each(|slice| {
                    waiting.fetch_sub(slice.bytes(), Ordering::Relaxed);
                    output.write(slice)
                })
            };
            let writer = std::thread::Builder::new()
                .spawn_scoped(scope, write)
                .map_err(Error::file("write", &self.folder.path(Folder::SERIES)))?;
            let simulated = simulate_paced(&self.scenario, observer, watch, pace, |simulation| {
                let slice = slice(simulation)?;
                let bytes = slice.bytes();
                if waiting.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_WAITING_BYTES {
                    let reason = "the disk is slower than the run: more than 256 MiB wait to be written";
                    return Err(Error::Record { path: self.folder.0.clone(), reason: reason.into() });
                }
                // The writer has failed. Its error is returned below.
                sender.send(slice).map_err(|_| Error::Stopped)
            });
            drop(sender);
            writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            simulated
        })
    }

    fn not_written(&self, error: SeriesError) -> Error {
        Error::Record { path: self.folder.path(Folder::SERIES), reason: error.into() }
    }

    /// Writes the timing, then the summary and the checksums. With these last two the record is complete.
    fn end(&self, ended: Ended, mut sums: Checksums) -> Result<Summary, Error> {
        let Ended { summary, timing, outcome } = ended;
        let (code, inputs) = self.resumes.then(|| (CODE.to_owned(), self.inputs())).unzip();
        let timing = serde_json::to_vec_pretty(&Timing { code, inputs, ..timing })
            .map_err(|error| Error::file("write", &self.folder.path(Folder::TIMING))(error.into()))?;
        self.folder.write(Folder::TIMING, &timing)?;
        sums.add(Folder::SUMMARY, self.folder.write_summary(&summary)?);
        self.folder.write_checksums(&sums)?;
        outcome?;
        Ok(summary)
    }
}
