//! `headway lab`: runs a scenario under the wall clock, with programs at the ends of flows.

use crate::arguments::LabOptions as Arguments;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::{Progress, RECORDED};
use crate::run;
use crate::sets;
use headway_emulator::{Lab, LabError, LabOptions, LabReport, LabRights};
use headway_run::{Folder, Job, Pace, ScenarioText};
use headway_scenario::{Document, Loaded, Scenario};
use headway_sim::{Observer, RunError, Simulation};
use serde::Serialize;
use std::process::ExitCode;

/// A lab that starts with the run, and its report after the run.
struct LabPace<'a> {
    rights: LabRights,
    scenario: &'a Scenario,
    options: LabOptions,
    lab: Option<Lab>,
    report: Option<Result<LabReport, LabError>>,
}

impl Pace for LabPace<'_> {
    const IS_EXTERNAL: bool = true;

    fn advance<O: Observer>(&mut self, simulation: &mut Simulation<'_, O>) -> Result<bool, RunError> {
        let lab = match &mut self.lab {
            Some(lab) => lab,
            None => match Lab::new(self.rights, self.scenario, &self.options) {
                Ok(lab) => self.lab.insert(lab),
                Err(error) => {
                    self.report = Some(Err(error));
                    return Ok(true);
                }
            },
        };
        lab.advance(simulation)
    }

    fn finish(&mut self) -> Option<(&'static str, Vec<u8>)> {
        let report = self.report.insert(self.lab.take()?.finish());
        Some((Folder::LIVE, serde_json::to_vec_pretty(report.as_ref().ok()?).ok()?))
    }
}

/// Result of a lab, for `--json`.
#[derive(Serialize)]
struct LabResult<'a> {
    lab: &'a LabReport,
    summary: &'a headway_record::Summary,
}

pub(crate) fn lab(options: &Arguments) -> Result<ExitCode, Failure> {
    let failed = |error: LabError| Failure::Lab(error.to_string());
    let overrides = sets::overrides(&sets::seed(options.record.seed), &options.record.overrides)?;
    let text = ScenarioText { overrides, ..ScenarioText::read(&options.record.scenario, [])? };
    let document = Document::read(&text.file, &text.text, &text.overrides)?;
    let plan = document.plan(&[])?;
    let [one] = plan.runs.as_slice() else {
        let runs = plan.runs.len();
        return Err(Failure::Usage(format!("{}: [vary] makes {runs} runs, and a lab runs one: use --set", text.file)));
    };
    let Loaded { scenario, resolved_toml: resolved, warnings } = document.load_run(one, &text.files)?;
    warnings.iter().for_each(|warning| output::note(&format!("warning: {warning}")));
    let folder = run::folder(options.record.out.as_deref(), &scenario.name);
    run::keep_scenario(&options.record.scenario, &text.text, &folder, &resolved)?;
    let program =
        std::env::current_exe().map_err(|error| Failure::Lab(format!("cannot find this program: {error}")))?;
    let options_of_lab = LabOptions { program, bound: options.bound, logs: folder.path(Folder::PROGRAMS) };
    // Before any thread, which a user namespace does not allow.
    let rights = LabRights::acquire().map_err(failed)?;
    interrupt::listen();
    let files = text.files.loaded();
    let job = Job {
        label: String::new(),
        scenario,
        resolved,
        folder,
        files,
        traces: options.record.traces.clone(),
        resumes: false,
    };
    let progress = Progress::of_time(job.scenario.duration, options.record.quiet);
    let mut pace = LabPace { rights, scenario: &job.scenario, options: options_of_lab, lab: None, report: None };
    let (summary, findings) = job.run_paced(&progress, &mut pace)?;
    progress.finish();
    if summary.complete {
        interrupt::exit_on_signal(RECORDED);
    }
    let Some(report) = pace.report else { return Err(Failure::Interrupted) };
    let report = report.map_err(failed)?;
    if options.record.json {
        output::json(&LabResult { lab: &report, summary: &summary })?;
    } else {
        output::text(&format!("{}{}", run::plain(&job, &summary, &findings), plain(&report)))?;
    }
    if !report.valid {
        return Err(Failure::Lab(format!("this run is not valid: {}", report.faults.join("; "))));
    }
    if !summary.complete {
        return Err(Failure::Interrupted);
    }
    if report.failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let logs = job.folder.path(Folder::PROGRAMS);
    report.failures.iter().for_each(|failure| output::note(&format!("headway: {failure}; see {}", logs.display())));
    Ok(ExitCode::FAILURE)
}

/// Returns the line about the timing.
fn plain(report: &LabReport) -> String {
    let errors = report.release_error_s.as_ref().map_or_else(
        || "no packet was released".to_owned(),
        |error| {
            let us = |value: f64| format!("{:.1} us", 1e6 * value);
            format!("release error p50 {}, p99 {}, max {}", us(error.p50), us(error.p99), us(error.max))
        },
    );
    format!("{} packets of programs; {errors}; CPU {:.1} %\n", report.packets, 100.0 * report.cpu_share)
}
