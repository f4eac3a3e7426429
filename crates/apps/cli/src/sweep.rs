//! `headway sweep`: runs a scenario with many seeds and values, and writes a table and a dataset.

use crate::arguments::{StyleOptions, SweepOptions};
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::plot::over::{self, Over};
use crate::plot::{check_style, write_figure};
use crate::progress::Progress;
use crate::run::folder;
use headway_record::plot::Figure;
use headway_run::{CODE, Folder, Metric, ResultTable, ScenarioText, Session, Sweep, Threads};
use headway_scenario::Vary;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// Time between two checks whether the cluster is done.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Default of `--max-seeds`.
const MAX_SEEDS: usize = 1000;

/// Metrics and precision of a sweep.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) metrics: Vec<Metric>,
    /// Target half-width of intervals relative to their means, and maximum number of seeds.
    pub(crate) precision: Option<(f64, usize)>,
}

/// Result of a sweep.
pub(crate) struct Outcome {
    pub(crate) results: ResultTable,
    /// Number of runs that are not complete.
    pub(crate) missing: usize,
}

pub(crate) fn sweep(options: &SweepOptions) -> Result<(), Failure> {
    crate::sets::check_once(&options.overrides)?;
    let text = ScenarioText::read(&options.scenario, &options.overrides)?;
    let seeds = options.seeds.map(|seeds| format!("seeds={seeds}"));
    let varies_as_written: Vec<&String> = options.varies.iter().chain(&seeds).collect();
    let mut varies: Vec<Vary> = options.varies.iter().map(|vary| vary.parse()).collect::<Result<_, _>>()?;
    varies.extend(options.seeds.map(Vary::seeds));
    let metrics = Metric::read_all(&options.metrics).map_err(|error| Failure::Sweep(format!("--metric {error}")))?;
    let progress = Progress::of_runs(options.runs.quiet);
    let sweep = Arc::new(Sweep::read(text, &varies, options.records, &())?);
    let seeds = sweep.seeds();
    let max_seeds = options.max_seeds.map_or(MAX_SEEDS.max(seeds), |max_seeds| max_seeds as usize);
    if max_seeds < seeds {
        let message =
            format!("--max-seeds {max_seeds}: the sweep starts with {seeds} seeds; expected at least {seeds}");
        return Err(Failure::Sweep(message));
    }
    sweep.warnings().iter().for_each(|warning| output::note(&format!("warning: {warning}")));
    // `headway run` uses out/NAME for the same scenario.
    let out = folder(options.out.as_deref(), &format!("{}-sweep", sweep.name()));
    // Options are checked before the first run.
    let outline = sweep.outline();
    if let Some(value) = &options.against {
        outline.clone().against(value, options.paired).map_err(against_error)?;
    }
    let over = options.plot.as_ref().map(|key| Over {
        option: "--plot",
        key,
        by: options.over.by.as_deref(),
        log_x: options.log_x,
        options: &options.over,
        style: &options.style,
    });
    over.as_ref().map_or(Ok(()), |over| over.check(&outline))?;
    sweep.check(&metrics).map_err(|error| match error {
        headway_run::Error::Metric(wrong) => Failure::Sweep(format!("--metric {wrong}")),
        other => other.into(),
    })?;
    // Before this point the first signal ends the program, as there is no result to keep.
    interrupt::listen();
    if let Some(address) = &options.dask {
        on_dask(address, &out, &varies_as_written, options)?;
    }
    let again = options.runs.again && options.dask.is_none();
    let threads = Threads { jobs: options.runs.jobs, traces: Vec::new(), again };
    let precision = options.precision.map(|relative| (relative.value(), max_seeds));
    let Outcome { results, missing } = run(&sweep, out.clone(), &threads, &Request { metrics, precision }, progress)?;
    let results = match &options.against {
        Some(value) => results.against(value, options.paired).map_err(against_error)?,
        None => results,
    };
    let drawn = match &over {
        Some(over) => draw(&over::charts(&results, over)?, &out, &options.style)?,
        None => Vec::new(),
    };
    if options.runs.json {
        output::json(&results)?;
    } else if options.runs.csv {
        output::text(&results.csv())?;
    } else {
        let dataset = if missing == 0 { format!("\ndataset: {}\n", out.0.display()) } else { String::new() };
        let charts: String = drawn.iter().map(|path| format!("chart: {path}\n")).collect();
        output::text(&format!("{}{dataset}{charts}", results.plain()))?;
    }
    let all = results.rows.iter().map(|row| row.runs).sum::<usize>() + missing;
    if missing == 0 { Ok(()) } else { Err(Failure::SweepStopped(all - missing, all)) }
}

fn against_error(error: headway_run::NoSuchValue) -> Failure {
    Failure::Sweep(format!("--against: {error}"))
}

/// Writes charts and returns their paths.
fn draw(figures: &[Figure], out: &Folder, options: &StyleOptions) -> Result<Vec<String>, Failure> {
    let _lock = out.claim_for_pictures()?;
    check_style(figures, options);
    let mut drawn = Vec::new();
    for figure in figures {
        drawn.extend(write_figure(figure, out, &options.formats)?);
    }
    Ok(drawn)
}

/// Executes all runs on a Dask cluster with the Python package. Their results are in the folder.
fn on_dask(address: &str, out: &Folder, varies: &[&String], options: &SweepOptions) -> Result<(), Failure> {
    let mut python = std::process::Command::new("python3");
    python.args(["-m", "headway.dask", CODE, address]).arg(&out.0).arg(if options.runs.again { "again" } else { "on" });
    python.arg(&options.scenario).args(&options.overrides).arg("--").args(varies);
    // The child exits when this pipe is closed, even if this program is killed.
    let mut child = python
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::Sweep(format!("--dask: cannot start python3 (searched in PATH): {error}")))?;
    let mut alive = child.stdin.take();
    let status = loop {
        if interrupt::stop_requested() {
            alive = None;
        }
        match child.try_wait().map_err(|error| Failure::Sweep(format!("--dask: {error}")))? {
            Some(status) => break status,
            None => std::thread::park_timeout(POLL_INTERVAL),
        }
    };
    drop(alive);
    if interrupt::stop_requested() {
        return Err(Failure::Stopped);
    }
    if status.success() {
        return Ok(());
    }
    Err(Failure::Sweep(format!(
        "--dask: python3 -m headway.dask {address} failed ({status}); it needs the package headway of this version (python/) and distributed"
    )))
}

/// Executes the missing runs and reports reused ones.
pub(crate) fn run(
    sweep: &Arc<Sweep>,
    out: Folder,
    threads: &Threads,
    request: &Request,
    progress: Progress,
) -> Result<Outcome, Failure> {
    let mut session = Session::open(sweep, out, threads.again)?;
    session.expect(&request.metrics);
    let mut notes = Vec::new();
    loop {
        let new_notes = threads.run(&mut session, &progress)?;
        if notes.is_empty() {
            notes = new_notes;
        }
        let missing = session.missing().len();
        let refined = match request.precision {
            Some((relative, max_seeds)) if missing == 0 => session.refine(&request.metrics, relative, max_seeds)?,
            _ => false,
        };
        if refined {
            continue;
        }
        progress.finish();
        if missing == 0 {
            // The journal has every run.
            interrupt::exit_on_signal(
                "stopped; all runs are complete and kept; run the same command again for the result",
            );
        }
        notes.iter().for_each(|note| output::note(note));
        let results = session.results(&request.metrics)?;
        if missing == 0 {
            session.finish()?;
        }
        if let Some((relative, max_seeds)) = request.precision.filter(|_| missing == 0) {
            match results.wider_than(relative) {
                0 => {}
                wide => output::note(&format!(
                    "warning: {wide} of {} combinations have wider intervals than --precision, or too few runs for an interval, \
                     with {max_seeds} or more seeds; --max-seeds sets the maximum",
                    results.rows.len()
                )),
            }
        }
        return Ok(Outcome { results, missing });
    }
}
