//! `headway run`: one scenario, one run or many.

use crate::arguments::RunOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::sweep::{self, folder_names, identical, same_but_for_seed};
use headway_record::{Summary, attacker_table, flow_table, host_table, link_table};
use headway_run::{Folder, Holds, Job, Reuse, ScenarioText, each, folder_name};
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
    let (out, jobs) = jobs(options)?;
    interrupt::listen();
    let summaries = match &jobs[..] {
        [job] => vec![run_one(job, options)?],
        _ => run_many(&jobs, &out, options)?,
    };
    let done: Vec<_> =
        jobs.iter().zip(&summaries).filter_map(|(job, summary)| Some((job, summary.as_ref()?))).collect();
    show(&done, options)?;
    let complete = done.len() == jobs.len() && done.iter().all(|(_, summary)| summary.complete);
    if complete { Ok(()) } else { Err(Failure::Interrupted) }
}

/// Reads the scenario and everything that it varies into runs; with the folder that holds their records, or the only one.
fn jobs(options: &RunOptions) -> Result<(Folder, Vec<Job>), Failure> {
    let seed = options.seed.map(|seed| format!("seed={seed}"));
    let sets = options.overrides.iter().chain(&seed);
    let ScenarioText { file, text, overrides, files } = ScenarioText::read(&options.scenario, sets)?;
    let plan = plan(&file, &text, &overrides).map_err(Failure::scenario)?;
    let many = plan.runs.len() > 1;
    let names = if many { folder_names(&plan.runs) } else { Vec::new() };
    let mut out = options.out.as_deref().map(Folder::named);
    let mut jobs = Vec::with_capacity(plan.runs.len());
    for (number, run) in plan.runs.iter().enumerate() {
        let loaded = load(&file, &text, &run.overrides, &files).map_err(Failure::scenario)?;
        if number == 0 {
            for warning in &loaded.warnings {
                output::note(&format!("warning: {warning}"));
            }
        }
        let out = out.get_or_insert_with(|| Folder(Path::new("out").join(folder_name(&loaded.scenario.name))));
        let own = names.get(number).map_or_else(|| out.0.clone(), |name| out.path(name));
        jobs.push(Job {
            label: run.label.clone(),
            scenario: loaded.scenario,
            resolved: loaded.resolved_toml,
            folder: Folder(own),
            files: files.taken(),
            traces: options.traces.clone(),
            resumes: many,
        });
    }
    if let [job] = &jobs[..] {
        keep_scenario(&options.scenario, &text, &job.folder, &job.resolved)?;
    }
    Ok((out.unwrap_or_else(|| Folder("out".into())), jobs))
}

/// A record's scenario can be run again where it is, but not after somebody has changed it: the change would be lost.
pub(crate) fn keep_scenario(scenario: &Path, text: &str, out: &Folder, resolved: &str) -> Result<(), Failure> {
    let written = out.path(Folder::SCENARIO).canonicalize();
    if written.is_ok_and(|written| scenario.canonicalize().is_ok_and(|read| read == written)) && text != resolved {
        let reason = "this run would write its scenario over; write --out and the name of another folder";
        return Err(Failure::record(scenario.to_owned(), reason));
    }
    Ok(())
}

fn run_one(job: &Job, options: &RunOptions) -> Result<Option<Summary>, Failure> {
    let progress = Progress::of_time(job.scenario.duration, options.quiet);
    let summary = job.run(&progress)?;
    progress.finish();
    Ok(Some(summary))
}

/// What a folder already holds complete is not run again, so that a sweep that was stopped goes on where it was. A run
/// that was never begun has no summary.
fn run_many(jobs: &[Job], out: &Folder, options: &RunOptions) -> Result<Vec<Option<Summary>>, Failure> {
    let _lock = out.claim(Holds::Sweep)?;
    sweep::list(out, jobs)?;
    let progress = Progress::of_runs(jobs.len(), options.quiet);
    let reuse = Reuse::default();
    let summaries = each(jobs.len(), options.jobs, &progress, |number| {
        let job = &jobs[number];
        if options.again { job.run(&progress) } else { reuse.or_run(job, &progress) }
    });
    progress.finish();
    reuse.told(jobs.len()).iter().for_each(|told| output::note(told));
    Ok(summaries?)
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
    for same in same_but_for_seed(done) {
        let Some((job, summary)) = same.first() else { continue };
        output::text(&plain(job, summary, &same))?;
    }
    Ok(())
}

/// The tables of a run; of several that are one and the same but for their seed, once.
fn plain(job: &Job, summary: &Summary, same: &[(&Job, &Summary)]) -> String {
    let seeds: Vec<String> = same.iter().map(|(_, summary)| summary.seed.to_string()).collect();
    let mut heading = format!("{} (seed{} {})", summary.name, if same.len() > 1 { "s" } else { "" }, seeds.join(", "));
    if !job.label.is_empty() {
        let of_seed = |word: &&str| same.len() > 1 && word.starts_with("seed=");
        let label: Vec<&str> = job.label.split(' ').filter(|word| !of_seed(word)).collect();
        heading = format!("{heading}: {}", label.join(" "));
    }
    let heading = heading.trim_end_matches(": ");
    let state = if summary.complete { "" } else { ", stopped" };
    let failed = summary.flows.iter().filter_map(|flow| Some((&flow.name, flow.connection_failure.as_ref()?)));
    let failed: String = failed.take(FAILURES).map(|(name, why)| format!("{name}: {why}\n")).collect();
    let tables = [host_table(summary), attacker_table(summary)].map(|mut table| {
        if !table.is_empty() {
            table.push('\n');
        }
        table
    });
    let warning = if same.len() > 1 { identical(same.len()) } else { String::new() };
    let records: String = same.iter().map(|(job, _)| format!("record: {}\n", job.folder.0.display())).collect();
    format!(
        "{heading}, {} to {} s{state}\n\n{}{failed}\n{}\n{}{warning}{records}\n",
        summary.interval.from,
        summary.interval.to,
        flow_table(summary),
        link_table(summary),
        tables.concat(),
    )
}
