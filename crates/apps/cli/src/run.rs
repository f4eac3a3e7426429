//! `headway run`: runs a scenario once, or all runs of its `[vary]`.

use crate::arguments::RunOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::{Progress, RECORDED};
use crate::sets;
use crate::sweep;
use headway_record::{Summary, attacker_table, flow_table, host_table, link_table, session_table};
use headway_run::{Finding, Folder, Job, ScenarioText, Severity, Sweep, Task, Threads, folder_name};
use headway_scenario::{Document, Loaded};
use headway_units::counted;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of failed connections whose errors are printed.
const MAX_FAILURES: usize = 5;

/// Maximum number of findings that are printed. `headway view` shows all.
const MAX_FINDINGS: usize = 10;

/// Result of one run, for `--json` with several runs.
#[derive(Serialize)]
struct RunResult {
    label: String,
    folder: String,
    summary: Summary,
}

pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let overrides = sets::overrides(&sets::seed(options.record.seed), &options.record.overrides)?;
    let text = ScenarioText { overrides, ..ScenarioText::read(&options.record.scenario, [])? };
    let document = Document::read(&text.file, &text.text, &text.overrides)?;
    match document.plan(&[])?.runs.as_slice() {
        [run] => {
            let loaded = document.load_run(run, &text.files)?;
            drop(document);
            run_one(&text, loaded, options)
        }
        _ => run_many(text, options),
    }
}

fn run_one(text: &ScenarioText, loaded: Loaded, options: &RunOptions) -> Result<(), Failure> {
    let ScenarioText { text, files, .. } = text;
    loaded.warnings.iter().for_each(|warning| output::note(&format!("warning: {warning}")));
    let folder = folder(options.record.out.as_deref(), &loaded.scenario.name);
    keep_scenario(&options.record.scenario, text, &folder, &loaded.resolved_toml)?;
    let (files, traces) = (files.loaded(), options.record.traces.clone());
    let Loaded { scenario, resolved_toml: resolved, .. } = loaded;
    let job = Job { label: String::new(), scenario, resolved, folder, files, traces, resumes: false };
    // Before this point a signal ends the program, as there is no result to keep. After it, no partial file remains.
    interrupt::listen();
    let progress = Progress::of_time(job.scenario.duration, options.record.quiet);
    let (summary, findings) =
        if options.record.json { (job.run(&progress)?, Vec::new()) } else { job.run_with_findings(&progress)? };
    progress.finish();
    if summary.complete {
        interrupt::exit_on_signal(RECORDED);
    }
    output::text(&if options.record.json { summary.to_json_pretty() } else { plain(&job, &summary, &findings) })?;
    let complete = summary.complete;
    // The program exits soon. Freeing the memory of thousands of flows would delay the exit.
    std::mem::forget((job, summary));
    if complete { Ok(()) } else { Err(Failure::Interrupted) }
}

fn run_many(text: ScenarioText, options: &RunOptions) -> Result<(), Failure> {
    let progress = Progress::of_runs(options.record.quiet);
    // While the runs are read, the first signal ends the program, as there is no result to keep.
    let sweep = Arc::new(Sweep::read(text, &[], true, &())?);
    interrupt::listen();
    let out = folder(options.record.out.as_deref(), sweep.name());
    let threads = Threads { jobs: options.jobs, traces: options.record.traces.clone(), again: options.again };
    let outcome = sweep::run(&sweep, out.clone(), &threads, &sweep::Request::default(), progress)?;
    if options.record.json {
        let runs = sweep.tasks().into_iter().zip(sweep.folders(&out));
        let runs = runs.filter(|(_, folder)| folder.path(Folder::SUMMARY).exists());
        let of_run = |(task, folder): (Task, Folder)| {
            let summary = Summary::from_json(&String::from_utf8_lossy(&folder.read(Folder::SUMMARY)?));
            let summary = summary.map_err(|error| Failure::record(folder.0.clone(), error.to_string()))?;
            Ok(RunResult { label: sweep.label(task), folder: folder.0.display().to_string(), summary })
        };
        output::json(&runs.map(of_run).collect::<Result<Vec<_>, Failure>>()?)?;
    } else {
        output::text(&format!("{}\nrecords: {}\n", outcome.results.plain(), out.0.display()))?;
    }
    if outcome.missing == 0 { Ok(()) } else { Err(Failure::Interrupted) }
}

/// Returns the folder of `--out`, or `out/NAME`.
pub(crate) fn folder(out: Option<&Path>, name: &str) -> Folder {
    out.map_or_else(|| Folder(Path::new("out").join(folder_name(name))), Folder::named)
}

/// Checks that the run does not overwrite its own scenario file. A record's scenario can run in its folder if it is
/// unchanged.
pub(crate) fn keep_scenario(scenario: &Path, text: &str, out: &Folder, resolved: &str) -> Result<(), Failure> {
    let written = out.path(Folder::SCENARIO).canonicalize();
    if written.is_ok_and(|written| scenario.canonicalize().is_ok_and(|read| read == written)) && text != resolved {
        let reason = "this run would overwrite its scenario file; set another folder with --out";
        return Err(Failure::record(scenario.to_owned(), reason));
    }
    Ok(())
}

/// Returns the findings, one per line.
fn findings_text(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let severity = match finding.severity {
            Severity::Problem => "problem",
            Severity::Note => "note",
        };
        format!("{severity:<8} {:.1} to {:.1} s: {}\n", finding.time_from_s, finding.time_to_s, finding.text)
    };
    let mut lines: String = findings.iter().take(MAX_FINDINGS).map(line).collect();
    match findings.len().saturating_sub(MAX_FINDINGS) {
        _ if findings.is_empty() => {}
        0 => lines.push('\n'),
        more => lines.push_str(&format!("{}: see headway view\n\n", counted(more as u64, "more finding"))),
    }
    lines
}

/// Returns the tables of a run.
pub(crate) fn plain(job: &Job, summary: &Summary, findings: &[Finding]) -> String {
    let state = if summary.complete { "" } else { ", stopped" };
    let failed = summary.flows.iter().filter_map(|flow| Some((&flow.name, flow.connection_failure.as_ref()?)));
    let failed: Vec<_> = failed.collect();
    let more = failed.len().saturating_sub(MAX_FAILURES) as u64;
    let mut failed: String = failed.iter().take(MAX_FAILURES).map(|(name, why)| format!("{name}: {why}\n")).collect();
    if more > 0 {
        failed.push_str(&format!("{} failed\n", counted(more, "more connection")));
    }
    let tables = [session_table(summary), host_table(summary), attacker_table(summary)].map(|mut table| {
        if !table.is_empty() {
            table.push('\n');
        }
        table
    });
    format!(
        "{} (seed {}), {} to {} s{state}\n\n{}{failed}\n{}\n{}{}record: {}\n\n",
        summary.name,
        summary.seed,
        summary.interval.from,
        summary.interval.to,
        flow_table(summary),
        link_table(summary),
        tables.concat(),
        findings_text(findings),
        job.folder.0.display(),
    )
}
