//! Many runs of one scenario: where their records lie, which of them are one and the same, and which are left of others.

use crate::error::Failure;
use crate::output;
use headway_record::Summary;
use headway_run::{Folder, Job, safe_name};
use headway_scenario::{Run, Scenario};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The file of a sweep's folder that lists its runs.
const RUNS: &str = "runs.json";

/// Of many folders so many are named.
const NAMED: usize = 5;

/// A run in that file.
#[derive(Serialize, Deserialize)]
struct Listed {
    label: String,
    folder: String,
}

/// A folder for each run, called after what sets it apart: no two are the same, not even where capitals do not count. Keys
/// go by their last part where that is enough.
pub(crate) fn folder_names(runs: &[Run]) -> Vec<String> {
    let keys: Vec<&str> =
        runs.first().map_or(Vec::new(), |run| run.varied.iter().map(|(key, _)| key.as_str()).collect());
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let short: Vec<String> = (keys.iter())
        .map(|key| {
            let clear = keys.iter().filter(|other| last(other) == last(key)).count() == 1;
            if clear { last(key) } else { (*key).to_owned() }
        })
        .collect();
    let mut known = BTreeSet::new();
    let mut unique = |name: String| {
        let mut with_number = (2..).map(|number| format!("{name}-{number}"));
        let mut candidate = name.clone();
        while !known.insert(candidate.to_ascii_lowercase()) {
            candidate = with_number.next().unwrap_or_default();
        }
        candidate
    };
    runs.iter()
        .map(|run| {
            let parts: Vec<String> =
                short.iter().zip(&run.varied).map(|(key, (_, value))| format!("{key}={value}")).collect();
            unique(safe_name(&parts.join("_")))
        })
        .collect()
}

/// Writes down which runs the folder is for, and says which records in it are of others.
pub(crate) fn list(sweep: &Folder, jobs: &[Job]) -> Result<(), Failure> {
    let name = |job: &Job| job.folder.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let runs: Vec<Listed> = jobs.iter().map(|job| Listed { label: job.label.clone(), folder: name(job) }).collect();
    let json = serde_json::to_vec_pretty(&runs).map_err(|error| Failure::Output(error.into()))?;
    sweep.write(RUNS, &json)?;
    let known: BTreeSet<&str> = runs.iter().map(|run| run.folder.as_str()).collect();
    let entries = std::fs::read_dir(&sweep.0).map_err(Failure::file("read", &sweep.0))?;
    let mut others: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| !known.contains(name.as_str()) && Folder(sweep.path(name)).is_record())
        .collect();
    others.sort();
    if !others.is_empty() {
        let more = if others.len() > NAMED { ", ..." } else { "" };
        let named = others.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let (folder, count) = (sweep.0.display(), others.len());
        output::note(&format!(
            "warning: {folder} also holds records that are not of this sweep ({count}), and `headway plot {folder}` leaves them \
             out: {named}{more}"
        ));
    }
    Ok(())
}

/// The runs that a sweep's folder is for, in order; `None` if it is none. A record may hold a file of the same name.
pub(crate) fn listed(sweep: &Folder) -> Result<Option<Vec<Folder>>, Failure> {
    let path = sweep.path(RUNS);
    if !path.exists() || sweep.path(Folder::SUMMARY).exists() {
        return Ok(None);
    }
    let runs: Vec<Listed> = serde_json::from_slice(&sweep.read(RUNS)?).map_err(|error| {
        let reason = format!(
            "this is no list of runs as `headway run` leaves it ({error}); run the scenario into this folder again, which writes it \
             anew and keeps the runs that are done"
        );
        Failure::record(path, reason)
    })?;
    Ok(Some(runs.into_iter().map(|run| Folder(sweep.path(&run.folder))).collect()))
}

/// Runs that are one and the same but for their seed, in the order of the first of each.
pub(crate) fn same_but_for_seed<'a>(done: &[(&'a Job, &'a Summary)]) -> Vec<Vec<(&'a Job, &'a Summary)>> {
    let mut same: Vec<Vec<(&Job, &Summary)>> = Vec::new();
    let mut by_fingerprint: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &(job, summary) in done {
        let places = by_fingerprint.entry(&summary.fingerprint).or_default();
        let twin = places.iter().copied().find(|&place| {
            let (other, others) = same[place][0];
            Summary { seed: summary.seed, ..others.clone() } == *summary
                && Scenario { seed: job.scenario.seed, ..other.scenario.clone() } == job.scenario
        });
        match twin {
            Some(place) => same[place].push((job, summary)),
            None => {
                places.push(same.len());
                same.push(vec![(job, summary)]);
            }
        }
    }
    same
}

/// What there is to say of seeds that make no difference.
pub(crate) fn identical(seeds: usize) -> String {
    format!(
        "These {seeds} seeds gave one and the same run: chance has no part in it, or made no difference. So there is no interval,\nand a \
         start some milliseconds later may give other numbers. Chance comes with `start = {{ uniform = [\"0s\", \"0.1s\"] }}`\nof a flow, \
         the `loss` of a link, a `red` queue, or a source that draws.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&[(&str, &str)]]) -> Vec<String> {
        let run = |varied: &&[(&str, &str)]| Run {
            label: String::new(),
            varied: varied.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            overrides: Vec::new(),
        };
        folder_names(&all.iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn folders_tell_what_sets_their_runs_apart() {
        assert_eq!(
            names(&[&[("link[a->b].rate", "1Mbps"), ("seed", "1")], &[("link[a->b].rate", "2Mbps"), ("seed", "1")]]),
            ["rate=1Mbps_seed=1", "rate=2Mbps_seed=1"]
        );
        assert_eq!(
            names(&[&[("link[a].rate", "1Mbps"), ("link[b].rate", "2Mbps")]]),
            ["link_a_.rate=1Mbps_link_b_.rate=2Mbps"],
            "the last part is not enough"
        );
    }

    #[test]
    fn no_two_runs_share_a_folder() {
        let long = "x".repeat(200);
        let (first, second) = (format!("{long}1"), format!("{long}2"));
        let found = names(&[
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
