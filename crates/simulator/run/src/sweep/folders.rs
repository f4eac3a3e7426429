//! Folders of a sweep's runs, and the list of them.

use crate::{Error, Folder, safe_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// File that lists the runs of a sweep.
const RUNS: &str = "runs.json";

/// Maximum number of folders that a message names.
const MAX_NAMED: usize = 5;

/// An entry of the list.
#[derive(Serialize, Deserialize)]
struct Listed {
    label: String,
    folder: String,
}

/// Returns a folder name for each run, composed of its keys and values. Names are unique, also on
/// case-insensitive file systems.
pub(super) fn names(runs: &[Vec<(String, String)>]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut unique = |name: String| {
        let mut with_number = (2..).map(|number| format!("{name}-{number}"));
        let mut candidate = name.clone();
        while !known.insert(candidate.to_ascii_lowercase()) {
            candidate = with_number.next().unwrap_or_default();
        }
        candidate
    };
    let joined = |run: &Vec<(String, String)>| {
        let parts: Vec<String> = run.iter().map(|(key, value)| format!("{key}={value}")).collect();
        safe_name(&parts.join("_"))
    };
    runs.iter().map(|run| unique(joined(run))).collect()
}

/// Writes the list of runs. Returns a warning if the folder has records of other runs.
pub(super) fn list(sweep: &Folder, labels: &[String], folders: &[Folder]) -> Result<Vec<String>, Error> {
    let name = |folder: &Folder| folder.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let listed = |(label, folder): (&String, &Folder)| Listed { label: label.clone(), folder: name(folder) };
    let runs: Vec<Listed> = labels.iter().zip(folders).map(listed).collect();
    let json =
        serde_json::to_vec_pretty(&runs).map_err(|error| Error::file("write", &sweep.path(RUNS))(error.into()))?;
    sweep.write(RUNS, &json)?;
    let known: BTreeSet<&str> = runs.iter().map(|run| run.folder.as_str()).collect();
    let entries = std::fs::read_dir(&sweep.0).map_err(Error::file("read", &sweep.0))?;
    let mut others: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| !known.contains(name.as_str()) && Folder(sweep.path(name)).is_record())
        .collect();
    others.sort();
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let more = if others.len() > MAX_NAMED { ", ..." } else { "" };
    let named = others.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let (folder, count) = (sweep.0.display(), others.len());
    Ok(vec![format!(
        "warning: {folder} also holds records that are not of this sweep ({count}), and `headway plot {folder}` leaves them out: {named}{more}"
    )])
}

/// Returns the folders of a sweep's runs in order; `None` if the folder is not of a sweep. A folder with a
/// `summary.json` is the record of one run, even if it contains a file with the name of the list.
///
/// # Errors
/// The list cannot be read.
pub fn listed(sweep: &Folder) -> Result<Option<Vec<Folder>>, Error> {
    let path = sweep.path(RUNS);
    if !path.exists() || sweep.path(Folder::SUMMARY).exists() {
        return Ok(None);
    }
    let runs: Vec<Listed> = serde_json::from_slice(&sweep.read(RUNS)?).map_err(|error| {
        let reason = format!(
            "this is not a list of runs written by `headway run` ({error}); run the scenario into this folder again, which \
             rewrites the list and keeps completed runs"
        );
        Error::Record { path, reason: reason.into() }
    })?;
    Ok(Some(runs.into_iter().map(|run| Folder(sweep.path(&run.folder))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(all: &[&[(&str, &str)]]) -> Vec<String> {
        let run = |varied: &&[(&str, &str)]| {
            varied.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        names(&all.iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn folder_names_have_keys_and_values() {
        assert_eq!(
            named(&[&[("rate", "1Mbps"), ("seed", "1")], &[("rate", "2Mbps"), ("seed", "1")]]),
            ["rate=1Mbps_seed=1", "rate=2Mbps_seed=1"]
        );
    }

    #[test]
    fn folder_names_are_unique() {
        let long = "x".repeat(200);
        let (first, second) = (format!("{long}1"), format!("{long}2"));
        let found = named(&[
            &[("a", "1/2")],
            &[("a", "1 2")],
            &[("a", "Mb")],
            &[("a", "mb")],
            &[("a", &first)],
            &[("a", &second)],
        ]);
        assert_eq!(found[..4], ["a=1_2", "a=1_2-2", "a=Mb", "a=mb-2"]);
        assert!(found[4].ends_with('1') && found[5].ends_with('2'), "{found:?}");
        assert!(found.iter().all(|name| name.len() <= 110), "{found:?}");
    }
}
