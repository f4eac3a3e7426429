//! `headway sweep`: one scenario, thousands of runs, one table and one dataset.

mod picture;

use crate::arguments::SweepOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::plot::SCALE;
use crate::progress::Progress;
use crate::run::folder;
use headway_record::plot::Figure;
use headway_run::{Answer, CODE, Folder, Metric, ScenarioText, Session, Sweep, Threads};
use headway_scenario::Vary;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether a cluster is done.
const LOOK: Duration = Duration::from_millis(50);

/// The most seeds that `--precision` goes to, if `--most` does not say.
const MOST_SEEDS: usize = 1000;

/// What is asked of a sweep.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) metrics: Vec<Metric>,
    /// How narrow intervals have to be, of their means, and after how many seeds it is enough.
    pub(crate) precision: Option<(f64, usize)>,
}

/// What came of it.
pub(crate) struct Swept {
    pub(crate) answer: Answer,
    /// How many runs are not done.
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
    let progress = Progress::of_runs(options.quiet);
    let sweep = Arc::new(Sweep::read(text, &varies, options.records, &())?);
    let seeds = sweep.seeds();
    let most = options.most.map_or(MOST_SEEDS.max(seeds), |most| most as usize);
    if most < seeds {
        let message = format!("--most {most}: the sweep begins with {seeds} seeds; write at least --most {seeds}");
        return Err(Failure::Sweep(message));
    }
    sweep.warnings().iter().for_each(|warning| output::note(&format!("warning: {warning}")));
    // A run of the same scenario has its record in out/NAME.
    let out = folder(options.out.as_deref(), &format!("{}-sweep", sweep.name()));
    // What cannot be answered is told before anything is run.
    let outline = sweep.outline();
    if let Some(value) = &options.against {
        outline.clone().against(value, options.paired).map_err(against_of)?;
    }
    for (option, key) in
        options.plot.iter().map(|key| ("--plot", key)).chain(options.by.iter().map(|key| ("--by", key)))
    {
        outline.key(key).map_err(|error| Failure::Sweep(format!("{option}: {error}")))?;
    }
    if let (Some(over), Some(by)) = (&options.plot, &options.by)
        && outline.key(over).ok() == outline.key(by).ok()
    {
        return Err(Failure::Sweep(format!(
            "--by {by}: this is the key of --plot; write another key, or leave out --by"
        )));
    }
    if let Some(over) = options.plot.as_ref().filter(|_| options.log_x) {
        picture::check_logarithmic(&outline, over)?;
    }
    sweep.check(&metrics).map_err(|error| match error {
        headway_run::Error::Metric(wrong) => Failure::Sweep(format!("--metric {wrong}")),
        other => other.into(),
    })?;
    // As in `headway run`: until here there is nothing to keep, and the first signal ends the program.
    interrupt::listen();
    if let Some(address) = &options.dask {
        on_dask(address, &out, &varies_as_written, options)?;
    }
    let again = options.again && options.dask.is_none();
    let threads = Threads { jobs: options.jobs, traces: Vec::new(), again };
    let precision = options.precision.map(|relative| (relative.value(), most));
    let Swept { answer, missing } = run(&sweep, out.clone(), &threads, &Asked { metrics, precision }, progress)?;
    let answer = match &options.against {
        Some(value) => answer.against(value, options.paired).map_err(against_of)?,
        None => answer,
    };
    let drawn = match &options.plot {
        Some(over) => draw(&picture::pictures(&answer, over, options)?, &out)?,
        None => Vec::new(),
    };
    if options.json {
        output::json(&answer)?;
    } else if options.csv {
        output::text(&answer.csv())?;
    } else {
        let dataset = if missing == 0 { format!("\ndataset: {}\n", out.0.display()) } else { String::new() };
        let pictures: String = drawn.iter().map(|path| format!("picture: {path}\n")).collect();
        output::text(&format!("{}{dataset}{pictures}", answer.plain()))?;
    }
    let all = answer.rows.iter().map(|row| row.runs).sum::<usize>() + missing;
    if missing == 0 { Ok(()) } else { Err(Failure::SweepStopped(all - missing, all)) }
}

fn against_of(error: headway_run::NoSuchValue) -> Failure {
    Failure::Sweep(format!("--against: {error}"))
}

/// Writes pictures, and gives where.
fn draw(figures: &[Figure], out: &Folder) -> Result<Vec<String>, Failure> {
    let _lock = out.claim_for_pictures()?;
    let mut drawn = Vec::new();
    for figure in figures {
        let png = figure.to_png(SCALE).map_err(|error| Failure::Plot(error.to_string()))?;
        for (ending, bytes) in [("svg", figure.svg.as_bytes()), ("png", &png)] {
            let name = format!("{}.{ending}", figure.name);
            out.write(&name, bytes)?;
            drawn.push(out.path(&name).display().to_string());
        }
    }
    Ok(drawn)
}

/// The package's way to a cluster, which leaves all runs in the folder.
fn on_dask(address: &str, out: &Folder, varies: &[&String], options: &SweepOptions) -> Result<(), Failure> {
    let mut python = std::process::Command::new("python3");
    python.args(["-m", "headway.dask", CODE, address]).arg(&out.0).arg(if options.again { "again" } else { "on" });
    python.arg(&options.scenario).args(&options.overrides).arg("--").args(varies);
    // It ends when this end of the pipe does, however this program ends.
    let mut child = python.stdin(Stdio::piped()).spawn().map_err(|error| {
        Failure::Sweep(format!("--dask: cannot start python3, which is looked for in the PATH: {error}"))
    })?;
    let mut alive = child.stdin.take();
    let status = loop {
        if interrupt::asked() {
            alive = None;
        }
        match child.try_wait().map_err(|error| Failure::Sweep(format!("--dask: {error}")))? {
            Some(status) => break status,
            None => std::thread::park_timeout(LOOK),
        }
    };
    drop(alive);
    if interrupt::asked() {
        return Err(Failure::Stopped);
    }
    if status.success() {
        return Ok(());
    }
    Err(Failure::Sweep(format!(
        "--dask: python3 -m headway.dask {address} has failed ({status}); it needs the packages headway (python/, of this very code) and distributed"
    )))
}

/// Does what is missing, and tells what there is to say of what was there.
pub(crate) fn run(
    sweep: &Arc<Sweep>,
    out: Folder,
    threads: &Threads,
    asked: &Asked,
    progress: Progress,
) -> Result<Swept, Failure> {
    let mut session = Session::open(sweep, out, threads.again)?;
    session.expect(&asked.metrics);
    let mut told = Vec::new();
    loop {
        let said = threads.run(&mut session, &progress)?;
        if told.is_empty() {
            told = said;
        }
        let missing = session.missing().len();
        let refined = match asked.precision {
            Some((relative, most)) if missing == 0 => session.refine(&asked.metrics, relative, most)?,
            _ => false,
        };
        if refined {
            continue;
        }
        progress.finish();
        if missing == 0 {
            // The journal has every run.
            interrupt::end_at_once("stopped; all runs are done and kept, and the same command shows them");
        }
        told.iter().for_each(|told| output::note(told));
        let answer = session.answer(&asked.metrics)?;
        if missing == 0 {
            session.finish()?;
        }
        if let Some((relative, most)) = asked.precision.filter(|_| missing == 0) {
            match answer.wider_than(relative) {
                0 => {}
                wide => output::note(&format!(
                    "warning: of {} combinations {wide} have intervals wider than asked for, or too few runs for one, with {most} seeds or \
                     more; --most sets the maximum",
                    answer.rows.len()
                )),
            }
        }
        return Ok(Swept { answer, missing });
    }
}
