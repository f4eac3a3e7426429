//! `headway run`: one scenario, one run or many.

use crate::arguments::RunOptions;
use crate::error::Failure;
use crate::files::{Folder, safe_name};
use crate::interrupt;
use crate::job::Job;
use crate::output;
use crate::pool;
use crate::progress::Progress;
use crate::text::ScenarioText;
use headway_record::{Summary, attacker_table, flow_table, link_table};
use headway_scenario::{load, plan};
use serde::Serialize;
use std::path::Path;

/// Connections that failed, of which the reasons are shown: they are mostly alike.
const FAILURES: usize = 5;

/// A run's result, for `--json` over several runs.
#[derive(Serialize)]
struct OneOfMany<'a> {
    label: &'a str,
    folder: String,
    summary: &'a Summary,
}

pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let jobs = jobs(options)?;
    interrupt::listen();
    let summaries = if let [job] = &jobs[..] { vec![run_one(job, options)?] } else { run_many(&jobs, options)? };
    let done: Vec<_> =
        jobs.iter().zip(&summaries).filter_map(|(job, summary)| Some((job, summary.as_ref()?))).collect();
    show(&done, options)?;
    let complete = done.len() == jobs.len() && done.iter().all(|(_, summary)| summary.complete);
    if complete { Ok(()) } else { Err(Failure::Interrupted) }
}

/// Reads the scenario and everything that it varies into runs.
fn jobs(options: &RunOptions) -> Result<Vec<Job>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Scenario(error.to_string());
    let seed = options.seed.map(|seed| format!("seed={seed}"));
    let sets = options.overrides.iter().chain(&seed);
    let ScenarioText { file, text, overrides, files } = ScenarioText::read(&options.scenario, sets)?;
    let plan = plan(&file, &text, &overrides).map_err(|error| wrong(&error))?;
    let many = plan.runs.len() > 1;
    let mut jobs = Vec::with_capacity(plan.runs.len());
    for (number, run) in plan.runs.iter().enumerate() {
        let loaded = load(&file, &text, &run.overrides, &files).map_err(|error| wrong(&error))?;
        if number == 0 {
            for warning in &loaded.warnings {
                output::note(&format!("warning: {warning}"));
            }
        }
        let mut folder = options.out.clone().unwrap_or_else(|| Path::new("out").join(safe_name(&loaded.scenario.name)));
        if many {
            folder.push(format!("{number:04}-{}", safe_name(&run.label)));
        }
        jobs.push(Job {
            label: run.label.clone(),
            scenario: loaded.scenario,
            resolved: loaded.resolved_toml,
            folder: Folder(folder),
            files: files.taken(),
            traces: options.traces.clone(),
            resumes: many,
        });
    }
    Ok(jobs)
}

fn run_one(job: &Job, options: &RunOptions) -> Result<Option<Summary>, Failure> {
    let progress = Progress::of_time(job.scenario.duration, options.quiet);
    let summary = job.run(|now, packet_hops| progress.at(now, packet_hops))?;
    progress.finish();
    Ok(Some(summary))
}

/// What a folder already holds complete is not run again, so that a sweep that was stopped goes on where it was. A run
/// that was never begun has no summary.
fn run_many(jobs: &[Job], options: &RunOptions) -> Result<Vec<Option<Summary>>, Failure> {
    let progress = Progress::of_runs(jobs.len(), options.quiet);
    let summaries = pool::each(jobs.len(), options.jobs, &progress, |number| {
        let job = &jobs[number];
        let before = if options.again { None } else { job.done_before() };
        before.map_or_else(|| job.run(|_, _| {}), Ok)
    });
    progress.finish();
    summaries
}

fn show(done: &[(&Job, &Summary)], options: &RunOptions) -> Result<(), Failure> {
    if options.json {
        if let [(job, summary)] = done
            && job.label.is_empty()
        {
            return output::text(&summary.to_json_pretty());
        }
        let results: Vec<_> = done
            .iter()
            .map(|(job, summary)| OneOfMany { label: &job.label, folder: job.folder.0.display().to_string(), summary })
            .collect();
        return output::json(&results);
    }
    for (job, summary) in done {
        let mut heading = format!("{} (seed {})", summary.name, summary.seed);
        if !job.label.is_empty() {
            heading = format!("{heading}: {}", job.label);
        }
        let state = if summary.complete { "" } else { ", stopped" };
        let failed = summary.flows.iter().filter_map(|flow| Some((&flow.name, flow.connection_failure.as_ref()?)));
        let failed: String = failed.take(FAILURES).map(|(name, why)| format!("{name}: {why}\n")).collect();
        let mut attackers = attacker_table(summary);
        if !attackers.is_empty() {
            attackers.push('\n');
        }
        output::text(&format!(
            "{heading}, {} to {} s{state}\n\n{}{failed}\n{}\n{attackers}record: {}\n",
            summary.interval.from,
            summary.interval.to,
            flow_table(summary),
            link_table(summary),
            job.folder.0.display()
        ))?;
    }
    Ok(())
}
