//! `headway papers`: reproduces the experiments of papers and checks their claims.

mod earlier;
mod figures;
mod read;
mod report;

pub(crate) use report::of_all_papers;

use crate::arguments::{PapersCommand, PapersOptions};
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::plot::write_figure;
use crate::progress::Progress;
use headway_papers::{
    Cell, CellError, Claims, Class, Inferred, JudgedClaim, Measured, Outcome, PAPERS, Paper, Part, Profile, Results,
    RunDetails, Score, Traces, Values, by_reading_plain, charts, figures_markdown, inferred_markdown, markdown,
    parameters_are, plain, readings_markdown, readings_plain, scorecard, scorecard_plain, summary_markdown, trace,
    verdicts_markdown, verdicts_plain,
};
use headway_run::{Folder, FolderKind, Job, Reuse, ScenarioFiles, Watch, each, folder_name, names, safe_name};
use headway_scenario::{Files, Loaded, NoFiles, hint};
use headway_units::counted;
use read::{Read, profile};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn papers(command: &PapersCommand) -> Result<(), Failure> {
    match command {
        PapersCommand::List { id: None } => list(),
        PapersCommand::List { id: Some(id) } => describe(&Read::find(id)?),
        PapersCommand::Run { id, options } => run(&Read::find(id)?, options),
        PapersCommand::Check { id, json, options } => check(id.as_deref(), *json, options),
        PapersCommand::Show { id, name, results } => report::show(id, name.as_deref(), results.as_deref()),
        PapersCommand::Figures { ids, out } => figures::write(ids, out.as_deref()),
        PapersCommand::Report { ids, output, results } => report::write(ids, output, results.as_deref()),
    }
}

/// Prints one line for each built-in paper.
fn list() -> Result<(), Failure> {
    for paper in PAPERS {
        let Read { claims, .. } = Read::new(paper)?;
        output::text(&format!(
            "{:<14} {:>3} claims  {}, {}",
            paper.id,
            claims.claims.len(),
            claims.title,
            claims.source
        ))?;
    }
    output::text(
        "\nheadway papers list PAPER lists the parameters that a paper does not state, headway papers show PAPER its figures.",
    )
}

/// Prints the claims by class and the inferred parameters of a paper.
fn describe(Read { name, claims, .. }: &Read) -> Result<(), Failure> {
    let of = |class: Class| claims.claims.iter().filter(|claim| claim.class == class).count();
    let default = claims.cells.iter().filter(|cell| cell.belongs_to(Profile::Default)).count();
    output::text(&format!(
        "{name}: \"{}\", {}\n{}\n{}: {} derivable, {} that need an assumption, {} contradictory.\n{}, and {} more with \
         --full.\n{} inferred:",
        claims.title,
        claims.source,
        claims.about,
        counted(claims.claims.len() as u64, "claim"),
        of(Class::Derivable),
        of(Class::NeedsAssumption),
        of(Class::Contradictory),
        counted(default as u64, "cell"),
        claims.cells.len() - default,
        parameters_are(claims.inferred.len()),
    ))?;
    for Inferred { parameter, value, why } in &claims.inferred {
        output::text(&format!("- {parameter}: {value} ({why})"))?;
    }
    Ok(())
}

fn run(read: &Read, options: &PapersOptions) -> Result<(), Failure> {
    let Read { name: paper_name, paper, claims, ns2, .. } = read;
    let out = folder(paper, options.out.clone());
    let (results, ran) = results(read, &out, options, earlier::of_part)?;
    let wrong = |error: &dyn std::fmt::Display| Failure::Papers(format!("{paper_name}: {error}"));
    let json = results.to_json().map_err(|error| Failure::Output(error.into()))?;
    let tables = markdown(claims, ns2, &results).map_err(|error| wrong(&error))?;
    for (name, text) in [
        ("results.json", json),
        ("summary.md", summary_markdown(&results)),
        ("tables.md", tables),
        ("verdicts.md", verdicts_markdown(&results)),
        ("inferred.md", inferred_markdown(claims)),
        ("readings.md", readings_markdown(claims, &results)),
        ("figures.md", figures_markdown(paper_name, claims, &results).map_err(|error| wrong(&error))?),
    ] {
        out.write(name, text.as_bytes())?;
    }
    let pictures = out.below("pictures")?;
    let mut drawn = String::new();
    for chart in charts(claims, ns2, &results, &ran).map_err(|error| wrong(&error))? {
        let figure = chart.draw().map_err(|error| Failure::Plot(error.to_string()))?;
        for path in write_figure(&figure, &pictures, &[])? {
            drawn.push_str(&format!("\nchart: {path}"));
        }
    }
    let tables = plain(claims, ns2, &results).map_err(|error| wrong(&error))?;
    output::text(&format!("{tables}\n\n{}{drawn}\nresults: {}", results.summary(), out.0.display()))
}

/// JSON output of `headway papers check`.
#[derive(Serialize)]
struct Checked<'a> {
    claims: Vec<&'a JudgedClaim>,
    counts: BTreeMap<&'static str, usize>,
    papers: Vec<CheckedPaper<'a>>,
    scorecard: Vec<Score>,
}

#[derive(Serialize)]
struct CheckedPaper<'a> {
    id: &'a str,
    claims: usize,
    /// Number of claims that state an input of the scenario.
    inputs: usize,
    inferred: usize,
    /// Number of claims that hold and to which no inferred parameter was fitted.
    held_not_fitted: usize,
    version: &'a str,
    profile: &'a RunDetails,
}

impl<'a> CheckedPaper<'a> {
    fn of(results: &'a Results) -> Self {
        Self {
            id: &results.paper,
            claims: results.claims.len(),
            inputs: results.inputs(),
            inferred: results.inferred.len(),
            held_not_fitted: results.held_unfitted(),
            version: &results.version,
            profile: &results.ran,
        }
    }
}

fn check(id: Option<&str>, json: bool, options: &PapersOptions) -> Result<(), Failure> {
    let papers = match id {
        Some(id) => vec![Read::find(id)?],
        None => PAPERS.iter().map(Read::new).collect::<Result<_, _>>()?,
    };
    let mut all = Vec::new();
    for read in papers {
        let paper = &read.paper;
        // Several papers use subfolders.
        let out = options.out.as_ref().map(|out| if id.is_some() { out.clone() } else { out.join(paper.id.as_ref()) });
        let out = folder(paper, out);
        let (mut results, _) = results(&read, &out, options, earlier::merged)?;
        keep_selected(&read, &mut results, options)?;
        if !json {
            let RunDetails { profile, seeds, .. } = &results.ran;
            output::text(&format!(
                "{} (profile {profile}, {})\n\n{}\n",
                paper.id,
                counted(*seeds, "seed"),
                verdicts_plain(&results)
            ))?;
            let readings = readings_plain(&read.claims, &results);
            if !readings.is_empty() {
                output::text(&format!("{readings}\n"))?;
            }
        }
        all.push(results);
    }
    if json {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (verdict, count) in all.iter().flat_map(Results::counts) {
            *counts.entry(verdict).or_default() += count;
        }
        let papers = all.iter().map(CheckedPaper::of).collect();
        let claims = all.iter().flat_map(|results| &results.claims).collect();
        output::json(&Checked { claims, counts, papers, scorecard: scorecard(&all) })?;
    } else if all.len() > 1 {
        output::text(&format!("{}\n\n{}", scorecard_plain(&scorecard(&all)), by_reading_plain(&all)))?;
    }
    let failed: Vec<String> = (all.iter().flat_map(|results| &results.claims))
        .filter(|judged| !judged.is_acceptable())
        .map(|judged| format!("{} is {}", judged.id, judged.verdict))
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Claims(failed.join(", "))) }
}

fn folder(paper: &Paper, out: Option<PathBuf>) -> Folder {
    Folder::named(&out.unwrap_or_else(|| Path::new("out/papers").join(folder_name(&paper.id))))
}

/// Executes the missing runs and judges the claims with earlier results. Also returns the cells with new results.
fn results(
    read: &Read,
    out: &Folder,
    options: &PapersOptions,
    earlier: impl Fn(&Read, &Folder, &PapersOptions) -> Result<Option<Results>, Failure>,
) -> Result<(Results, BTreeSet<String>), Failure> {
    interrupt::listen();
    let Read { name: paper_name, paper, claims, ns2, .. } = read;
    let profile = profile(options);
    let cells = selected(read, profile, options)?;
    let runs: Vec<(&Cell, u64)> =
        cells.iter().flat_map(|cell| claims.seeds(cell, profile).map(move |seed| (*cell, seed))).collect();
    for cell in &cells {
        let (loaded, _) = load(read, cell, profile, 1)?;
        let check = claims.metrics.check_names(&names(&loaded.scenario));
        check.map_err(|error| Failure::Papers(format!("{paper_name}: cell \"{}\": {error}", cell.name)))?;
    }
    let _lock = out.claim(FolderKind::Paper)?;
    let before = earlier(read, out, options)?;
    let reuse = Reuse::default();
    let progress = Progress::of_runs(options.quiet);
    progress.runs(runs.len());
    let done = each(runs.len(), options.jobs, &progress, |number| {
        let (cell, seed) = runs[number];
        one_run(read, cell, profile, seed, out, &reuse, &progress)
    });
    progress.finish();
    reuse.messages(runs.len()).iter().for_each(|note| output::note(note));
    let done = done?;
    let mut measured = Measured::default();
    let mut seconds = BTreeMap::new();
    for ((cell, seed), outcome) in runs.into_iter().zip(done) {
        let Measurement { values, traces, interval } = outcome.flatten().ok_or(Failure::Interrupted)?;
        measured.add_traces(&cell.name, seed, traces);
        measured.add(&cell.name, seed, cell.deterministic, values);
        seconds.insert(cell.name.clone(), interval);
    }
    let results = Results::new(paper, claims, ns2, profile, &measured, seconds);
    let cells = |results: &Results| results.cells.keys().cloned().collect();
    let ran: BTreeSet<String> = cells(&results);
    let results = match before {
        Some(before) => results.completed_by(claims, ns2, before),
        None => results,
    };
    let changed = if options.merge.is_some() { cells(&results) } else { ran };
    Ok((results, changed))
}

/// Returns the figures, tables and claims of `--only`.
fn parts(claims: &Claims, options: &PapersOptions) -> Result<Vec<Part>, Failure> {
    let parts = options.only.iter().map(|name| Part::find(claims, name)).collect::<Result<_, _>>();
    parts.map_err(|error| Failure::Papers(error.to_string()))
}

/// Keeps the verdicts on the claims of `--only`, if it is set.
fn keep_selected(read: &Read, results: &mut Results, options: &PapersOptions) -> Result<(), Failure> {
    let parts = parts(&read.claims, options)?;
    if parts.is_empty() {
        return Ok(());
    }
    results.claims.retain(|judged| parts.iter().any(|part| part.has_claim(&judged.id)));
    Ok(())
}

/// Returns the cells of the profile. `--cell` selects cells of any profile, `--only` selects the cells of the profile
/// that a part needs.
fn selected<'a>(
    Read { name: paper_name, claims, .. }: &'a Read,
    profile: Profile,
    options: &PapersOptions,
) -> Result<Vec<&'a Cell>, Failure> {
    let names = &options.cells;
    for name in names {
        if !claims.cells.iter().any(|cell| matches(&cell.name, name)) {
            let known = claims.cells.iter().map(|cell| cell.name.as_str());
            return Err(Failure::Papers(format!("there is no cell \"{name}\"{}", hint(name, known))));
        }
    }
    let parts = parts(claims, options)?;
    if let Some(part) = parts.iter().find(|part| part.cells.is_empty()) {
        return Err(Failure::Papers(format!("{} needs no run; see `{}`", part.name, part.command(paper_name))));
    }
    let is_part = |cell: &Cell| parts.iter().any(|part| part.cells.contains(&cell.name));
    let wanted = |cell: &&Cell| match (names.is_empty(), parts.is_empty()) {
        (true, true) => cell.belongs_to(profile),
        _ => names.iter().any(|name| matches(&cell.name, name)) || is_part(cell) && cell.belongs_to(profile),
    };
    Ok(claims.cells.iter().filter(wanted).collect())
}

/// Returns whether a name matches a pattern with the wildcard `*`.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| matches(&name[at..], rest))
        }),
    }
}

struct Measurement {
    values: Values,
    traces: Traces,
    /// Start and end of the measured interval, in s.
    interval: [f64; 2],
}

/// Input files of scenarios by name.
type InputFiles = BTreeMap<String, Arc<[u8]>>;

/// Reads the scenario of a cell and its input files.
fn load(
    Read { name: paper_name, paper, folder, .. }: &Read,
    cell: &Cell,
    profile: Profile,
    seed: u64,
) -> Result<(Loaded, InputFiles), Failure> {
    let inputs = folder.as_ref().map(|folder| ScenarioFiles::new(folder.clone()));
    let files: &dyn Files = inputs.as_ref().map_or(&NoFiles, |inputs| inputs);
    let loaded = cell.load(paper, profile, seed, files);
    let loaded = loaded.map_err(|mut error| {
        if let (CellError::Scenario { error, .. }, Some(folder)) = (&mut error, folder) {
            for problem in error.problems.iter_mut().filter(|problem| !problem.file.is_empty()) {
                problem.file = folder.join(&problem.file).display().to_string();
            }
        }
        Failure::Papers(format!("{paper_name}: {error}"))
    })?;
    Ok((loaded, inputs.map(|inputs| inputs.loaded()).unwrap_or_default()))
}

/// Runs a cell with a seed, or reuses the run in its folder. Returns `None` if the run was stopped.
fn one_run(
    read @ Read { name: paper_name, claims, .. }: &Read,
    cell: &Cell,
    profile: Profile,
    seed: u64,
    out: &Folder,
    reuse: &Reuse,
    watch: &dyn Watch,
) -> Result<Option<Measurement>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Papers(format!("{paper_name}: {error}"));
    let (loaded, files) = load(read, cell, profile, seed)?;
    // Shortened runs of the default profile have a separate folder.
    let short = cell.is_shortened(profile);
    let name = if short { format!("{}-quick", cell.name) } else { cell.name.clone() };
    let job = Job {
        label: cell.name.clone(),
        scenario: loaded.scenario,
        resolved: loaded.resolved_toml,
        folder: out.below(Path::new("runs").join(safe_name(&name)).join(seed.to_string()))?,
        files,
        traces: Vec::new(),
        resumes: true,
    };
    let summary = reuse.or_run(&job, watch)?;
    if !summary.complete {
        return Ok(None);
    }
    let series = job.scenario.series.map(|_| job.folder.series()).transpose()?;
    let outcome = Outcome { scenario: &job.scenario, summary: &summary, series: series.as_ref() };
    Ok(Some(Measurement {
        values: claims.metrics.of(&outcome).map_err(|error| wrong(&format!("cell \"{}\": {error}", cell.name)))?,
        traces: trace(claims, &cell.name, &outcome),
        interval: [summary.interval.from, summary.interval.to],
    }))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_matches_any_characters() {
        for (name, pattern, expected) in [
            ("f4.uddj.0.08", "f4.uddj.0.08", true),
            ("f4.uddj.0.08", "f4.uddj.0", false),
            ("f4.uddj.0.08", "f4.*", true),
            ("f4.uddj.0.08", "*.0.08", true),
            ("f4.uddj.0.08", "f*uddj*8", true),
            ("f4.uddj.0.08", "f4.*.tfrc", false),
            ("f4.uddj.0.08", "*", true),
            ("f4", "f4*", true),
            ("ü.1", "*1", true),
        ] {
            assert_eq!(matches(name, pattern), expected, "{name} {pattern}");
        }
    }
}
