//! `headway papers report` and `show`: stored results as one page, or those of one figure.

use super::Read;
use crate::error::Failure;
use crate::output;
use headway_papers::{PAPERS, Part, ReportedPaper, Results, figures_markdown, report};
use headway_run::{folder_name, read};
use headway_units::counted;
use std::path::{Path, PathBuf};

/// Folder of results of `headway papers run`.
const RUN: &str = "out/papers";
/// Folder of results in the repository.
const REPOSITORY: &str = "papers";
/// Name of the built-in results on the page.
const BUILT_IN: &str = "built-in results";
/// Maximum size of a file of results, in bytes.
const MAX_RESULTS_SIZE: u64 = 256 << 20;

/// Paper with its stored results.
struct Found {
    /// Name of the paper in commands.
    name: String,
    read: Read,
    results: Results,
    /// Source of the results.
    from: String,
}

pub(super) fn write(ids: &[String], page: &Path, folder: Option<&Path>) -> Result<(), Failure> {
    let file = output::Page::at(page)?;
    let found = all(ids, folder)?;
    let text = text(&found)?;
    let claims: usize = found.iter().map(|found| found.results.claims.len()).sum();
    let (claims, papers) = (counted(claims as u64, "claim"), counted(found.len() as u64, "paper"));
    let size_kb = text.len().div_ceil(1000);
    file.write(&text, &format!("{claims} of {papers}, {size_kb} kB: {}", page.display()))
}

/// Returns the page of all papers, or `None` if the results of a paper are missing.
pub(crate) fn of_all_papers() -> Option<String> {
    text(&all(&[], None).ok()?).ok()
}

fn all(ids: &[String], folder: Option<&Path>) -> Result<Vec<Found>, Failure> {
    let mut named: Vec<String> =
        if ids.is_empty() { PAPERS.iter().map(|paper| paper.id.clone().into_owned()).collect() } else { Vec::new() };
    for id in ids {
        // A paper that is named twice is reported once.
        if !named.contains(id) {
            named.push(id.clone());
        }
    }
    named.iter().map(|id| find(id, folder)).collect()
}

fn text(found: &[Found]) -> Result<String, Failure> {
    let papers: Vec<ReportedPaper<'_>> = found
        .iter()
        .map(|Found { name, read, results, from }| ReportedPaper {
            name,
            claims: &read.claims,
            ns2: &read.ns2,
            results,
            from,
        })
        .collect();
    report(&papers).map_err(|error| Failure::Papers(error.to_string()))
}

/// Prints the results of a part of a paper, or the list of its parts.
pub(super) fn show(id: &str, name: Option<&str>, folder: Option<&Path>) -> Result<(), Failure> {
    let Found { read, results, from, .. } = find(id, folder)?;
    let wrong = |error: &dyn std::fmt::Display| Failure::Papers(format!("{id}: {error}"));
    let text = match name {
        None => figures_markdown(id, &read.claims, &results).map_err(|error| wrong(&error))?,
        Some(name) => {
            let part = Part::find(&read.claims, name).map_err(|error| wrong(&error))?;
            headway_papers::show(&part, id, &read.claims, &read.ns2, &results).map_err(|error| wrong(&error))?
        }
    };
    output::text(&format!("{text}\nresults: {from}"))
}

fn find(name: &str, folder: Option<&Path>) -> Result<Found, Failure> {
    let read = Read::find(name)?;
    let id = read.paper.id.as_ref();
    let below = |folder: &Path| folder.join(folder_name(id)).join("results.json");
    let mut places: Vec<PathBuf> = match folder {
        Some(folder) => vec![below(folder)],
        None => vec![below(Path::new(RUN)), below(Path::new(REPOSITORY))],
    };
    // A paper that is not built in may have results in its own folder.
    if folder.is_none() && read.folder.is_some() {
        places.push(Path::new(name).join("results.json"));
    }
    let mut found: Option<(Results, String)> = None;
    for place in places.iter().filter(|place| place.exists()) {
        complete(&mut found, &read, || Ok((of_version(&read, place, folder.is_some())?, place.display().to_string())))?;
    }
    if let Some(json) = read.paper.results().filter(|_| found.is_some() || folder.is_none()) {
        complete(&mut found, &read, || Ok((parse(id, &json, BUILT_IN, "rebuild Headway")?, BUILT_IN.to_owned())))?;
    }
    let Some((results, from)) = found else {
        let searched = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(Failure::Papers(format!(
            "there are no results of {id} (searched {searched}); run `headway papers run {name} --full`"
        )));
    };
    Ok(Found { name: name.to_owned(), from, read, results })
}

/// Adds missing cells from the next source of results. Reads that source only if a cell is missing.
fn complete(
    found: &mut Option<(Results, String)>,
    Read { claims, ns2, .. }: &Read,
    next: impl FnOnce() -> Result<(Results, String), Failure>,
) -> Result<(), Failure> {
    let lacks = |results: &Results| claims.cells.iter().any(|cell| !results.cells.contains_key(&cell.name));
    *found = Some(match found.take() {
        Some((results, from)) if lacks(&results) => {
            let (stored, place) = next()?;
            let (before, profile) = (results.cells.len(), stored.ran.profile.clone());
            let results = results.completed_by(claims, ns2, stored);
            let more = results.cells.len() - before;
            let more =
                if more > 0 { format!("; {more} other cells: {place}, profile {profile}") } else { String::new() };
            (results, from + &more)
        }
        Some(found) => found,
        None => next()?,
    });
    Ok(())
}

/// Reads results and compares their version with that of the program. A different version is an error if the user has
/// set the folder (`is_named`), otherwise a warning.
fn of_version(Read { name, paper, .. }: &Read, place: &Path, is_named: bool) -> Result<Results, Failure> {
    let out = place.parent().unwrap_or(place).display().to_string();
    let remedy = format!("run `headway papers run {name} --out {out}` again");
    let results = stored(&paper.id, place, &remedy)?;
    if let Err(why) = results.check_version() {
        let message = format!("{}: {why}; {remedy}", place.display());
        if is_named {
            return Err(Failure::Papers(message));
        }
        output::note(&format!("warning: {message}"));
    }
    Ok(results)
}

/// Reads the results of a paper from a file. Errors end with `remedy`, an instruction to the user.
pub(super) fn stored(id: &str, place: &Path, remedy: &str) -> Result<Results, Failure> {
    let bytes = read(place, MAX_RESULTS_SIZE).map_err(Failure::file("read", place))?;
    parse(id, &bytes, &place.display().to_string(), remedy)
}

fn parse(id: &str, bytes: &[u8], place: &str, remedy: &str) -> Result<Results, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Papers(format!("{place}: {why}"));
    let results: Results = serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        wrong(&format!("line {line}, column {column}: the file is damaged or of another version; {remedy}"))
    })?;
    if results.paper != id {
        return Err(wrong(&format!("these are results of {}, not of {id}", results.paper)));
    }
    Ok(results)
}
