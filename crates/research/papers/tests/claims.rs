//! Consistency of the files in `papers/`: claims, cells, metrics, tests and stored results.

use headway_papers::{
    Claim, Class, Kind, PAPERS, Part, Profile, Results, Verdict, charts, figures_markdown, inferred_markdown, markdown,
    readings_markdown, summary_markdown, verdicts_markdown,
};
use headway_scenario::NoFiles;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_cell_is_a_scenario() {
    for paper in PAPERS {
        let claims = paper.claims().unwrap_or_else(|error| panic!("{}: {error}", paper.id));
        for cell in &claims.cells {
            for profile in [Profile::Default, Profile::Full] {
                let loaded = cell.load(paper, profile, 7, &NoFiles).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(loaded.warnings, [], "{}", cell.name);
                assert_eq!(loaded.scenario.seed, 7);
            }
        }
    }
}

#[test]
fn the_default_profile_judges_every_claim() {
    for paper in PAPERS {
        let claims = paper.claims().unwrap();
        let run: BTreeSet<&str> = claims
            .cells
            .iter()
            .filter(|cell| cell.belongs_to(Profile::Default))
            .map(|cell| cell.name.as_str())
            .collect();
        for claim in &claims.claims {
            let explained = claim.explain.iter().flat_map(|explain| &explain.checks);
            for cell in claim.checks.iter().chain(&claim.trend).chain(explained).flat_map(|check| &check.cells) {
                assert!(run.contains(cell.as_str()), "{}: {cell} is only in the full profile", claim.id);
            }
        }
    }
}

#[test]
fn definitions_name_existing_tests() {
    for paper in PAPERS {
        for claim in paper.claims().unwrap().claims {
            for test in &claim.tests {
                let (file, function) = test.split_once("::").unwrap();
                let text = read(file);
                let head = format!("fn {function}() {{");
                let place = text.find(&head).unwrap_or_else(|| panic!("{}: {file} has no {function}", claim.id));
                let before = text[..place].trim_end();
                assert!(before.ends_with("#[test]"), "{}: {function} in {file} is no test", claim.id);
            }
        }
    }
}

#[test]
fn ns2_has_numbers_of_known_cells_and_metrics() {
    for paper in PAPERS {
        let claims = paper.claims().unwrap();
        let metrics: BTreeSet<&str> = claims.metrics.iter().map(|metric| metric.name).collect();
        for (cell, metric, _) in paper.ns2().unwrap_or_else(|error| panic!("{}: {error}", paper.id)).iter() {
            assert!(claims.cells.iter().any(|known| known.name == cell), "{}: {cell}", paper.id);
            assert!(metrics.contains(metric), "{}: {metric}", paper.id);
        }
    }
}

/// Every claim of the ledger, which is older than all runs, exists and has the class of the ledger.
#[test]
fn claims_and_classes_match_the_ledger() {
    let ledger: BTreeMap<&str, &str> = include_str!("data/ledger.csv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(id, rest)| (id, rest.split_once(',').unwrap().0))
        .collect();
    assert_eq!(ledger.len(), 281);
    let claims: Vec<Claim> = PAPERS.iter().flat_map(|paper| paper.claims().unwrap().claims).collect();
    let classes: Vec<String> = claims.iter().map(|claim| serde_json::to_string(&claim.class).unwrap()).collect();
    let ours: BTreeMap<&str, &str> =
        claims.iter().zip(&classes).map(|(claim, class)| (claim.id.as_str(), class.trim_matches('"'))).collect();
    assert_eq!(ours, ledger);
}

/// In the stored results, too, only contradictory claims are `explained`.
#[test]
fn only_contradictory_claims_are_explained() {
    for paper in PAPERS {
        let stored: Results = serde_json::from_str(&read(&format!("papers/{}/results.json", paper.id))).unwrap();
        for judged in stored.claims.iter().filter(|judged| judged.verdict == Verdict::Explained) {
            assert_eq!(judged.class, Class::Contradictory, "{}", judged.id);
            assert!(judged.value.is_some(), "{} has no nearest feasible value", judged.id);
        }
    }
}

/// The pages and pictures of a paper's folder are those that `results.json` gives.
#[test]
fn stored_pages_and_pictures_show_the_stored_numbers() {
    for paper in PAPERS {
        let folder = format!("papers/{}", paper.id);
        let results: Results = serde_json::from_str(&read(&format!("{folder}/results.json"))).unwrap();
        let (claims, ns2) = (paper.claims().unwrap(), paper.ns2().unwrap());
        let again = "run `make papers`";
        assert_eq!((&results.paper[..], &results.combined), (&paper.id[..], &claims.combined()));
        let readme = read(&format!("{folder}/README.md"));
        for (mark, text) in [
            ("summary", summary_markdown(&results)),
            ("figures", figures_markdown(&paper.id, &claims, &results).unwrap()),
            ("readings", readings_markdown(&claims, &results)),
            ("inferred", inferred_markdown(&claims)),
            ("tables", markdown(&claims, &ns2, &results).unwrap()),
        ] {
            let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
            let shown = readme.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map(|(shown, _)| shown);
            assert_eq!(shown, Some(text.as_str()), "{folder}/README.md, {mark}: {again}");
        }
        assert_eq!(
            read(&format!("{folder}/verdicts.md")),
            verdicts_markdown(&results),
            "{folder}/verdicts.md: {again}"
        );
        for chart in charts(&claims, &ns2, &results, &results.cells.keys().cloned().collect()).unwrap() {
            let path = format!("{folder}/pictures/{}.svg", chart.name);
            assert!(read(&path) == chart.draw().unwrap().svg, "{path}: {again}");
        }
        // The claims have not been edited since the runs: IDs, classes and checks are equal.
        for (claim, judged) in claims.claims.iter().zip(&results.claims) {
            assert_eq!((&claim.id, claim.class, claim.fitted), (&judged.id, judged.class, judged.fitted), "{again}");
            let bounds: Vec<String> = judged.checks.iter().map(|result| result.bound.clone()).collect();
            let explained = claim.explain.iter().flat_map(|explain| &explain.checks);
            let written: Vec<String> =
                claim.checks.iter().chain(explained).map(|check| check.bound.to_string()).collect();
            assert!(bounds.iter().all(|bound| written.contains(bound)), "{}: {again}", claim.id);
        }
        assert_eq!(claims.claims.len(), results.claims.len());
    }
}

/// A verdict on a measured claim has its reading, and the other readings of a stored verdict are those of the claim.
#[test]
fn every_measured_verdict_names_its_reading() {
    for paper in PAPERS {
        let claims = paper.claims().unwrap();
        assert!(!claims.readings.is_empty(), "{} has no reading", paper.id);
        assert!(claims.readings.iter().all(|reading| !reading.support.is_empty()), "{}", paper.id);
        let stored: Results = serde_json::from_str(&read(&format!("papers/{}/results.json", paper.id))).unwrap();
        for (claim, judged) in claims.claims.iter().zip(&stored.claims) {
            // Inputs and definitions are not measured.
            let is_measured = claim.kind != Kind::Input && (!claim.checks.is_empty() || claim.explain.is_some());
            assert!(!is_measured || claim.reading.as_deref() == Some(judged.reading.as_str()), "{}", judged.id);
            let written = claim.readings.iter().map(|under| under.reading.as_str());
            assert!(written.eq(judged.readings.iter().map(|under| under.reading.as_str())), "{}", judged.id);
            for under in &judged.readings {
                assert_ne!(under.verdict, Verdict::NotRun, "{} under {}", judged.id, under.reading);
            }
        }
    }
}

/// Every check that a reading changes is judged under this reading, and every result under other assumptions that it
/// changes is measured. Explanations were once judged under the first reading only.
#[test]
fn every_check_that_a_reading_changes_is_judged_under_it() {
    for paper in PAPERS {
        let claims = paper.claims().unwrap();
        let stored: Results = serde_json::from_str(&read(&format!("papers/{}/results.json", paper.id))).unwrap();
        for (claim, judged) in claims.claims.iter().zip(&stored.claims) {
            for (written, under) in claim.readings.iter().zip(&judged.readings) {
                let explained = written.explain.iter().flat_map(|explain| &explain.checks);
                let expected: Vec<_> = written.checks.iter().chain(explained).map(ToString::to_string).collect();
                let found: Vec<_> = under.checks.iter().map(|result| result.what.clone()).collect();
                assert_eq!(found, expected, "{} under {}", judged.id, under.reading);
                let additional = written.additional.iter().flat_map(|additional| &additional.checks);
                for check in additional.clone() {
                    assert!(
                        under.additional.contains(&format!("{check} is ")),
                        "{} under {}: {check}",
                        judged.id,
                        under.reading
                    );
                }
                assert_eq!(
                    under.additional.is_empty(),
                    additional.count() == 0,
                    "{} under {}",
                    judged.id,
                    under.reading
                );
            }
        }
    }
}

/// UDDJ is the loss filter of the first cell and of every scenario file without TCP as the main flow.
#[test]
fn the_default_cell_of_uddj_is_uddj() {
    let paper = PAPERS.iter().find(|paper| paper.id == "uddj-tfrc").unwrap();
    let claims = paper.claims().unwrap();
    assert_eq!(claims.cells[0].name, "f4.uddj.0");
    for entry in std::fs::read_dir(root().join("papers/uddj-tfrc/scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("loss_filter = \"uddj\""), !name.ends_with("-tcp"), "{name}");
    }
    for cell in claims.cells.iter().filter(|cell| cell.name.split('.').any(|word| word == "tfrc")) {
        let resolved = cell.load(paper, Profile::Full, 1, &NoFiles).unwrap().resolved_toml;
        assert!(!resolved.contains("loss_filter"), "{}", cell.name);
    }
}

/// Every listed figure and table is found by the name in its command, and all its cells exist.
#[test]
fn every_listed_part_is_found_by_its_name() {
    for paper in PAPERS {
        let claims = paper.claims().unwrap();
        let cells: BTreeSet<&str> = claims.cells.iter().map(|cell| cell.name.as_str()).collect();
        let parts = Part::all(&claims).unwrap();
        assert!(parts.len() >= 5, "{}", paper.id);
        for part in parts {
            assert_eq!(Part::find(&claims, &part.name).unwrap(), part, "{}", paper.id);
            let unknown: Vec<&String> = part.cells.iter().filter(|cell| !cells.contains(cell.as_str())).collect();
            assert_eq!(unknown, [""; 0], "{} {}", paper.id, part.name);
        }
        let error = Part::find(&claims, "fig99").unwrap_err().to_string();
        assert!(error.starts_with("there is no figure, table or claim \"fig99\""), "{error}");
    }
    let uddj = PAPERS.iter().find(|paper| paper.id == "uddj-tfrc").unwrap().claims().unwrap();
    let six = Part::find(&uddj, "fig6").unwrap();
    assert_eq!(six.command("uddj-tfrc"), "headway papers run uddj-tfrc --only fig6");
    assert!(six.cells.contains("f6.path.6.uddj.0.01") && six.cells.contains("f6.hop.2.uddj.0.01"));
    assert!(!six.cells.contains("f5.uddj.0.01"));
}

/// The titles of a paper's pictures differ by more than the figure number. Five pictures of sfdps once had the same
/// title.
#[test]
fn picture_titles_are_unique() {
    for paper in PAPERS {
        let (claims, ns2) = (paper.claims().unwrap(), paper.ns2().unwrap());
        let results: Results = serde_json::from_slice(&paper.results().unwrap()).unwrap();
        let cells = results.cells.keys().cloned().collect();
        let charts = charts(&claims, &ns2, &results, &cells).unwrap();
        let plain = |title: &str| title.split_once(": ").map_or(title, |(_, what)| what).to_owned();
        let titles: BTreeSet<String> = charts.iter().map(|chart| plain(&chart.title)).collect();
        assert_eq!(titles.len(), charts.len(), "{}: {titles:?}", paper.id);
    }
}

/// `--only` with a claim runs the cells of all readings. It once ran only those of the first reading.
#[test]
fn a_claim_is_run_under_all_readings() {
    let uddj = PAPERS.iter().find(|paper| paper.id == "uddj-tfrc").unwrap().claims().unwrap();
    let order = Part::find(&uddj, "uddj.f6.order").unwrap();
    for cell in ["f6.path.6.uddj.0.01", "f6.path.6.uddj-hold.0.01", "f6.hop.2.uddj.0.01", "f6.hop.6.uddj-round.0.08"] {
        assert!(order.cells.contains(cell), "{cell}: {:?}", order.cells);
    }
}
