//! `headway papers report`: what was found before, as one page.

use super::Read;
use crate::error::Failure;
use crate::output;
use headway_papers::{PAPERS, Part, Reported, Results, figures_markdown, report};
use headway_run::{folder_name, read};
use headway_units::counted;
use std::path::{Path, PathBuf};

/// Where `headway papers run` leaves results.
const RUN: &str = "out/papers";
/// Where the repository keeps them.
const KEPT: &str = "papers";
/// What the page calls the results that are built in.
const BUILT_IN: &str = "results that are built in";
/// Larger results are mistakes.
const LARGEST: u64 = 256 << 20;

/// A paper, what commands call it, what its runs gave, and the file that says so.
struct Found {
    name: String,
    read: Read,
    results: Results,
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

/// The page of all papers, of the results that are here; none if those of a paper are not.
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
    let papers: Vec<Reported<'_>> = found
        .iter()
        .map(|Found { name, read, results, from }| Reported {
            name,
            claims: &read.claims,
            ns2: &read.ns2,
            results,
            from,
        })
        .collect();
    report(&papers).map_err(|error| Failure::Papers(error.to_string()))
}

/// Prints what there is of a part of a paper, or which parts there are.
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
        None => vec![below(Path::new(RUN)), below(Path::new(KEPT))],
    };
    // A paper of one's own may have its results beside its claims.
    if folder.is_none() && read.folder.is_some() {
        places.push(Path::new(name).join("results.json"));
    }
    let mut found: Option<(Results, String)> = None;
    for place in places.iter().filter(|place| place.exists()) {
        complete(&mut found, &read, || Ok((of_version(&read, place, folder.is_some())?, place.display().to_string())))?;
    }
    if let Some(json) = read.paper.results().filter(|_| found.is_some() || folder.is_none()) {
        complete(&mut found, &read, || Ok((parse(id, &json, BUILT_IN, "build Headway again")?, BUILT_IN.to_owned())))?;
    }
    let Some((results, from)) = found else {
        let looked = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(Failure::Papers(format!(
            "there are no results of {id} (looked for {looked}): run `headway papers run {name} --full`"
        )));
    };
    Ok(Found { name: name.to_owned(), from, read, results })
}

/// Adds to the results the cells that they lack and the next source has. Reads the next source only if a cell is missing.
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

/// Reads results and compares their version with that of the program. The user has named the folder of `is_named` results: another version is an
/// error. Otherwise it is a warning.
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

/// The results of a paper in a file. `remedy` is what the user can do if the file is not such results.
pub(super) fn stored(id: &str, place: &Path, remedy: &str) -> Result<Results, Failure> {
    let bytes = read(place, LARGEST).map_err(Failure::file("read", place))?;
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
