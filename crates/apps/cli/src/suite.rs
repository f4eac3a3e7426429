//! `headway suite`: runs cases with several controllers, and writes a page of results with pass bands.

mod built_in;
mod page;

use crate::arguments::SuiteOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::run::folder;
use built_in::BuiltIn;
use headway_record::plot::{Figure, Run, Style, figures};
use headway_record::{Interval, SeriesTable, number_table};
use headway_run::{
    BandVerdict, Case, CaseResult, Controller, ControllerResult, Error, FolderKind, Part, RanParts, ScenarioFiles,
    ScenarioText, Suite, SuiteError, SuiteResults, Watch, each, read, run_parts, simulate,
};
use headway_units::counted;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file that describes a suite.
const SUITE: &str = "suite.toml";
/// Maximum size of a file of a suite, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Name of the figure of the rates of a run.
const RATES: &str = "throughput";

/// A suite and its files.
struct Opened {
    suite: Suite,
    name: String,
    /// Folder of the files; `None` for a built-in suite.
    folder: Option<PathBuf>,
    built_in: Option<&'static BuiltIn>,
}

pub(crate) fn suite(options: &SuiteOptions) -> Result<(), Failure> {
    if let Some(folder) = &options.copy {
        return copy(&options.suite, folder);
    }
    let mut opened = Opened::open(&options.suite)?;
    let controllers = opened.controllers(&options.controllers)?;
    opened.suite.select(&controllers, &options.cases).map_err(|error| wrong(&error))?;
    let seeds = options.seeds.unwrap_or(opened.suite.seeds);
    let parts = opened.parts(seeds)?;
    let out = folder(options.out.as_deref(), &opened.name);
    interrupt::listen();
    let _lock = out.claim(FolderKind::Suite)?;
    let progress = Progress::of_runs(options.runs.quiet);
    progress.runs(parts.len());
    let RanParts { results, missing } = run_parts(&parts, &out, options.runs.jobs, options.runs.again, &progress)?;
    if missing > 0 {
        progress.finish();
        let all = parts.len() * usize::try_from(seeds).unwrap_or(usize::MAX);
        return Err(Failure::SweepStopped(all - missing, all));
    }
    let results = SuiteResults::new(&opened.suite, seeds, results);
    let rates = rates(&parts, &progress)?;
    progress.finish();
    if interrupt::stop_requested() {
        let all = parts.len() * usize::try_from(seeds).unwrap_or(usize::MAX);
        return Err(Failure::SweepStopped(all, all));
    }
    let json = serde_json::to_string_pretty(&results).map_err(|error| Failure::Output(error.into()))?;
    out.write("results.json", json.as_bytes())?;
    out.write("results.csv", results.csv().as_bytes())?;
    out.write("index.html", page::page(&opened.suite, &results, &rates).as_bytes())?;
    if options.runs.json {
        output::text(&json)
    } else if options.runs.csv {
        output::text(&results.csv())
    } else {
        output::text(&format!("{}\npage: {}", plain(&results), out.path("index.html").display()))
    }
}

fn wrong(error: &SuiteError) -> Failure {
    Failure::Suite(error.to_string())
}

/// Writes the files of a built-in suite to a folder, so that they can be changed.
fn copy(name: &str, to: &Path) -> Result<(), Failure> {
    let Some(suite) = BuiltIn::find(name) else {
        return Err(Failure::Suite(format!(
            "--copy: \"{name}\" is not a built-in suite; expected one of {}",
            BuiltIn::names()
        )));
    };
    if to.exists() {
        return Err(Failure::Suite(format!("--copy: {} exists already; choose a new folder", to.display())));
    }
    std::fs::create_dir_all(to).map_err(Failure::file("create the folder", to))?;
    for (file, bytes) in suite.copies() {
        let path = to.join(file);
        std::fs::write(&path, bytes).map_err(Failure::file("write", &path))?;
    }
    output::text(&format!(
        "{} in {}; run `headway suite {}`",
        counted(suite.files.len() as u64, "file"),
        to.display(),
        to.display()
    ))
}

impl Opened {
    /// Opens the built-in suite with this name, or the one in this folder.
    fn open(name: &str) -> Result<Self, Failure> {
        if let Some(built_in) = BuiltIn::find(name) {
            let text = built_in.text(SUITE).unwrap_or_default();
            let suite = Suite::parse(SUITE, text).map_err(|error| wrong(&error))?;
            return Ok(Self { suite, name: name.to_owned(), folder: None, built_in: Some(built_in) });
        }
        let folder = Path::new(name);
        let file = folder.join(SUITE);
        if !file.exists() {
            let (file, known) = (file.display(), BuiltIn::names());
            let message =
                format!("there is no suite \"{name}\": there is no {file}, and the built-in suites are {known}");
            return Err(Failure::Suite(message));
        }
        let suite = Suite::parse(&file.display().to_string(), &text_of(&file)?).map_err(|error| wrong(&error))?;
        let path = folder.canonicalize().ok();
        let name = path.as_deref().and_then(Path::file_name).map_or("suite".into(), |name| name.to_string_lossy());
        Ok(Self { suite, name: format!("{name}-suite"), folder: Some(folder.to_owned()), built_in: None })
    }

    /// Adds the controllers that are written as NAME=TRANSPORT, and returns the names of all wanted ones.
    fn controllers(&mut self, wanted: &[String]) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for text in wanted {
            let Some((name, transport)) = text.split_once('=') else {
                names.push(text.clone());
                continue;
            };
            let name = name.trim().to_owned();
            let controller = Controller {
                name: name.clone(),
                about: transport.trim().to_owned(),
                set: vec![format!("flow[media*].transport={transport}")],
                reference: false,
            };
            self.suite.add(controller).map_err(|error| wrong(&error))?;
            names.push(name);
        }
        Ok(names)
    }

    fn parts(&self, seeds: u64) -> Result<Vec<Part<'_>>, Failure> {
        let mut parts = Vec::new();
        for case in &self.suite.cases {
            for controller in &self.suite.controllers {
                let named = |error| Failure::Suite(format!("case {} with {}: {error}", case.name, controller.name));
                let text = self.scenario(case, controller).map_err(named)?;
                parts.push(Part::read(case, controller, seeds, text).map_err(named)?);
            }
        }
        Ok(parts)
    }

    fn scenario(&self, case: &Case, controller: &Controller) -> Result<ScenarioText, Error> {
        let sets = case.overrides(controller);
        match (&self.folder, self.built_in) {
            (Some(folder), _) => ScenarioText::read(&folder.join(&case.file), sets),
            (None, suite) => {
                let text = suite.and_then(|suite| suite.text(&case.file)).unwrap_or_default();
                let named = suite.map(|suite| suite.files).unwrap_or_default().iter();
                let named = named.filter(|(name, _)| text.contains(name));
                let known = named.map(|(name, bytes)| ((*name).to_owned(), Arc::from(*bytes))).collect();
                ScenarioText::with(case.file.clone(), text.to_owned(), ScenarioFiles::with(PathBuf::new(), known), sets)
            }
        }
    }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let bytes = read(path, MAX_FILE_BYTES).map_err(Failure::file("read", path))?;
    String::from_utf8(bytes).map_err(|_| Failure::Suite(format!("{}: the file is not UTF-8 text", path.display())))
}

/// Returns a figure of the rates of all flows over time, for the first seed of each part.
fn rates(parts: &[Part<'_>], watch: &dyn Watch) -> Result<Vec<Option<Figure>>, Failure> {
    let drawn = each(parts.len(), None, watch, |number| {
        let part = &parts[number];
        let scenario = part.first_run()?.scenario;
        let record = simulate(&scenario, (), &(), |_| Ok(()))?.record;
        let mut bytes = Vec::new();
        let plot = |error: &dyn std::fmt::Display| Failure::Plot(error.to_string());
        if let Some(series) = record.series {
            series.finish(&mut bytes).map_err(|error| plot(&error))?;
        }
        // Entities with a queue are links, which the figure omits.
        let series =
            SeriesTable::of_metrics(&bytes, &["throughput_bps", "queue_packets"]).map_err(|error| plot(&error))?;
        let run =
            Run { label: &part.controller.name, series: &series, interval: Interval { from: 0.0, to: f64::INFINITY } };
        let all = figures(&[run], &Style::default()).map_err(|error| plot(&error))?;
        Ok::<_, Failure>(all.into_iter().find(|figure| figure.name == RATES))
    })?;
    Ok(drawn.into_iter().map(Option::flatten).collect())
}

/// Formats the number of bands that are met, by case and controller, and the bands that are not.
fn plain(results: &SuiteResults) -> String {
    let first = results.cases.first();
    let names = first.into_iter().flat_map(CaseResult::tested).map(|controller| controller.name.clone());
    let heads: Vec<String> = ["case".to_owned()].into_iter().chain(names).collect();
    let score = |controller: &ControllerResult| {
        let undecided = controller.count(BandVerdict::Undecided);
        let more = if undecided > 0 { format!("+{undecided}") } else { String::new() };
        format!("{}{more}/{}", controller.count(BandVerdict::Met), controller.bands.len())
    };
    let row = |case: &CaseResult| [case.name.clone()].into_iter().chain(case.tested().map(score)).collect();
    let table = number_table(1, heads, results.cases.iter().map(row).collect());
    let missed = results.cases.iter().flat_map(|case| &case.controllers).flat_map(|controller| &controller.bands);
    let missed = missed.filter(|band| band.verdict == BandVerdict::Missed);
    let (all, explained) = (missed.clone().count(), missed.filter(|band| band.explained.is_some()).count());
    let seeds = counted(results.seeds, "seed");
    format!(
        "{}\n{table}\nbands met / all bands, means over {seeds}; +N: N bands have a limit within the 95 % interval of the mean\n\
         {all} missed, {explained} of them explained in the suite",
        results.title
    )
}
