//! What stands in `papers/` fits together: claims, cells, metrics, tests, stored numbers.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_papers::{Kind, PAPERS, Profile, Results, charts, inferred_markdown, markdown, verdicts_markdown};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
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
                let loaded = cell.load(paper, profile, 7).unwrap_or_else(|error| panic!("{error}"));
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
fn definitions_name_tests_that_there_are() {
    for paper in PAPERS {
        for claim in paper.claims().unwrap().claims {
            assert_eq!(claim.kind == Kind::Definition, !claim.tests.is_empty(), "{}", claim.id);
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
        let metrics: BTreeSet<&str> = paper.metrics.iter().map(|metric| metric.name).collect();
        assert_eq!(metrics.len(), paper.metrics.len(), "{}: two metrics have one name", paper.id);
        for (cell, metric, _) in paper.ns2().unwrap_or_else(|error| panic!("{}: {error}", paper.id)).iter() {
            assert!(claims.cells.iter().any(|known| known.name == cell), "{}: {cell}", paper.id);
            assert!(metrics.contains(metric), "{}: {metric}", paper.id);
        }
    }
}

/// Every claim that was found in the paper has a verdict: its three tables cell by cell, and what else it says.
#[test]
fn no_claim_of_the_lan_paper_is_left_out() {
    let (tcp, few) = ([3, 5, 8, 10, 25, 35, 50].as_slice(), [3, 5, 8, 10].as_slice());
    let mut expected = BTreeSet::new();
    for table in ["t2", "t3", "t4"] {
        for (column, clients) in
            [("droptail.tcp", tcp), ("droptail.udp", few), ("droptail.mix", few), ("red.tcp", tcp), ("red.udp", few)]
        {
            // Table III has no mixed column.
            if !(table == "t3" && column == "droptail.mix") {
                expected.extend(clients.iter().map(|n| format!("lan.{table}.{column}.{n}")));
            }
        }
    }
    let rest = "def.droptail def.red def.utilization def.delay t1 fig1 fig2 bdp buffer lfn fig3.a fig3.b fig4.a fig4.b \
                fig4.c fig4.d fig5.a fig5.b fig6 fig7 conclusion.delay conclusion.loss conclusion.throughput \
                conclusion.voip conclusion.reliable sync";
    expected.extend(rest.split(' ').map(|name| format!("lan.{name}")));
    assert_eq!(expected.len(), 100);
    let paper = headway_papers::Paper::find("lan-queues").unwrap();
    let ids: BTreeSet<String> = paper.claims().unwrap().claims.into_iter().map(|claim| claim.id).collect();
    assert_eq!(ids, expected);
}

/// What a paper's folder shows is what `results.json` holds, drawn again.
#[test]
fn stored_pages_and_pictures_show_the_stored_numbers() {
    for paper in PAPERS {
        let folder = format!("papers/{}", paper.id);
        let results: Results = serde_json::from_str(&read(&format!("{folder}/results.json"))).unwrap();
        let (claims, ns2) = (paper.claims().unwrap(), paper.ns2().unwrap());
        let again = "run `make papers`";
        assert_eq!(results.paper, paper.id);
        let readme = read(&format!("{folder}/README.md"));
        for (mark, text) in [
            ("summary", results.summary() + "\n"),
            ("inferred", inferred_markdown(&claims)),
            ("tables", markdown(paper, &claims, &ns2, &results).unwrap()),
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
        for chart in charts(&claims, &ns2, &results).unwrap() {
            let path = format!("{folder}/pictures/{}.svg", chart.name);
            assert!(read(&path) == chart.draw().unwrap().svg, "{path}: {again}");
        }
        // The claims may have been edited since: same names, same classes, same checks.
        for (claim, judged) in claims.claims.iter().zip(&results.claims) {
            assert_eq!((&claim.id, claim.class, claim.fitted), (&judged.id, judged.class, judged.fitted), "{again}");
            let bounds: Vec<String> = judged.checks.iter().map(|finding| finding.bound.clone()).collect();
            let explained = claim.explain.iter().flat_map(|explain| &explain.checks);
            let written: Vec<String> =
                claim.checks.iter().chain(explained).map(|check| check.bound.to_string()).collect();
            assert!(bounds.iter().all(|bound| written.contains(bound)), "{}: {again}", claim.id);
        }
        assert_eq!(claims.claims.len(), results.claims.len());
    }
}
