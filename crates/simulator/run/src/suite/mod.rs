//! Suites: cases, each a scenario with pass bands, that are run with several controllers.
//!
//! Each combination of a case and a controller is a [`Sweep`] over seeds in a folder `CASE/CONTROLLER`, so that an
//! interrupted suite continues with its missing runs.
//!
//! - `file`: the file `suite.toml`; `results`: means with intervals, and whether they are within the bands.

mod file;
mod results;

pub use file::{Band, Case, Controller, Explanation, Suite, SuiteError};
pub use results::{BandResult, BandVerdict, CaseResult, ControllerResult, SuiteResults};

use crate::sweep::{Session, Sweep, Task};
use crate::text::ScenarioText;
use crate::{Error, Folder, Watch, each};
use headway_scenario::{Override, Vary};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Part of a suite: a test case with one of the controllers.
#[derive(Debug)]
pub struct Part<'a> {
    /// Test case of the part.
    pub case: &'a Case,
    /// Controller that is tested.
    pub controller: &'a Controller,
    sweep: Arc<Sweep>,
}

impl<'a> Part<'a> {
    /// Loads the scenario of a case for each seed. `text` is the scenario with the overrides of
    /// [`Case::overrides`].
    ///
    /// # Errors
    /// The scenario is invalid with the overrides, or a metric of the case names a flow, link or key that the scenario
    /// does not have.
    pub fn read(case: &'a Case, controller: &'a Controller, seeds: u64, text: ScenarioText) -> Result<Self, Error> {
        let sweep = Sweep::read(text, &[Vary::seeds(seeds)], false, &())?;
        sweep.check(&case.metrics)?;
        Ok(Self { case, controller, sweep: Arc::new(sweep) })
    }

    /// Returns the scenario with the first seed, and with time series that have a sample each second.
    ///
    /// # Errors
    /// The scenario can no longer be loaded.
    pub fn first_run(&self) -> Result<headway_scenario::Loaded, Error> {
        let series: Override = "record.series=1s".parse()?;
        self.sweep.load_with(series)
    }
}

/// Results of the parts of a suite. A part is a test case with one controller.
#[derive(Debug)]
pub struct RanParts {
    /// Results in the order of the parts; empty if runs are missing.
    pub results: Vec<ControllerResult>,
    /// Number of runs that are not complete, because the user stopped the suite.
    pub missing: usize,
}

/// Runs all parts below a folder. Stored runs of an earlier execution are reused, unless `again` is set. If `watch`
/// stops the runs, those that are complete are kept.
///
/// # Errors
/// A run fails, or a folder cannot be written.
pub fn run_parts(
    parts: &[Part<'_>],
    out: &Folder,
    jobs: Option<NonZeroUsize>,
    again: bool,
    watch: &dyn Watch,
) -> Result<RanParts, Error> {
    let folder = |part: &Part<'_>| Folder(out.path(&part.case.name).join(&part.controller.name));
    let open = |part: &Part<'_>| Session::open(&part.sweep, folder(part), again);
    let mut sessions: Vec<Session> = parts.iter().map(open).collect::<Result<_, _>>()?;
    let missing = |(part, session): (usize, &Session)| -> Vec<(usize, Task)> {
        session.missing().into_iter().map(|task| (part, task)).collect()
    };
    let tasks: Vec<(usize, Task)> = sessions.iter().enumerate().flat_map(missing).collect();
    watch.runs(tasks.len());
    let shared: Vec<Mutex<&mut Session>> = sessions.iter_mut().map(Mutex::new).collect();
    each(tasks.len(), jobs, watch, |number| {
        let (part, task) = tasks[number];
        if let Some(summary) = parts[part].sweep.simulate(task, watch)? {
            shared[part].lock().unwrap_or_else(PoisonError::into_inner).add(task, &summary)?;
        }
        Ok::<_, Error>(())
    })?;
    drop(shared);
    let (missing, mut results) = (sessions.iter().map(|session| session.missing().len()).sum(), Vec::new());
    if missing > 0 {
        return Ok(RanParts { results, missing });
    }
    for (part, mut session) in parts.iter().zip(sessions) {
        let table = session.results(&part.case.metrics)?;
        session.finish()?;
        results.push(ControllerResult::new(part.case, part.controller, &table));
    }
    Ok(RanParts { results, missing })
}
