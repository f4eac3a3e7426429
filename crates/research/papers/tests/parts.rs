//! Figures, tables and claims by name, and the tables for a terminal.

use headway_papers::{
    Claims, PAPERS, Paper, Part, Reference, Results, Verdict, by_reading_markdown, by_reading_plain, charts,
    figures_markdown, inferred_markdown, markdown, plain, readings_markdown, readings_plain, scorecard,
    scorecard_markdown, scorecard_plain, show, verdicts_markdown, verdicts_plain,
};

struct Stored {
    paper: &'static Paper,
    claims: Claims,
    ns2: Reference,
    results: Results,
}

fn stored() -> Vec<Stored> {
    let of = |paper: &'static Paper| Stored {
        paper,
        claims: paper.claims().unwrap(),
        ns2: paper.ns2().unwrap(),
        results: serde_json::from_slice(&paper.results().unwrap()).unwrap(),
    };
    PAPERS.iter().map(of).collect()
}

/// Returns the words of the rows of a Markdown table, or of a table for a terminal.
fn words(table: &str) -> Vec<Vec<String>> {
    let rows = table.lines().filter(|line| !line.starts_with("|---"));
    let of = |line: &str| {
        line.replace("\\|", " ").split([' ', '|']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    rows.map(of).filter(|words: &Vec<String>| !words.is_empty()).collect()
}

/// Markdown and a terminal have the same cells.
#[test]
fn scorecards_are_the_same_in_markdown_and_for_a_terminal() {
    let all: Vec<Results> = stored().into_iter().map(|stored| stored.results).collect();
    assert_eq!(words(&scorecard_plain(&scorecard(&all))), words(&scorecard_markdown(&scorecard(&all))));
    assert_eq!(words(&by_reading_plain(&all)), words(&by_reading_markdown(&all)));
}

/// The tables for a terminal have the titles and the rows of those in Markdown, and no notes.
#[test]
fn tables_are_the_same_in_markdown_and_for_a_terminal() {
    for Stored { paper, claims, ns2, results } in stored() {
        let (text, page) = (plain(&claims, &ns2, &results).unwrap(), markdown(&claims, &ns2, &results).unwrap());
        let rows = |text: &str, is_row: fn(&str) -> bool| {
            words(&text.lines().filter(|line| is_row(line)).collect::<Vec<_>>().join("\n"))
        };
        let table = rows(&page, |line| line.starts_with('|'));
        let found = words(&text);
        assert_eq!(table.is_empty(), !page.contains("### "), "{}", paper.id);
        assert!(table.iter().all(|row| found.contains(row)), "{}", paper.id);
        for title in page.lines().filter_map(|line| line.strip_prefix("### ")) {
            assert!(text.lines().any(|line| line == title), "{title}");
        }
        // Both end with a description of the runs.
        let seeds = format!("{} seeds a cell", results.ran.seeds);
        assert!(text.contains(&seeds) && page.replace('\n', " ").contains(&seeds), "{}", paper.id);
        assert!(text.contains(&format!("Headway {}", results.version)));
        let agree = results.agreement.iter().filter(|one| one.agrees).count();
        let words = format!("Of {} numbers compared with ns-2.35, {agree} agree", results.agreement.len());
        assert_eq!(text.contains(&words), !results.agreement.is_empty(), "{}", paper.id);
        for one in &results.agreement {
            let differs = one.ci95.is_none_or(|ci95| one.difference.abs() > ci95);
            let verdict = if differs { "differs" } else { "is undecided" };
            let line = format!("- {}, {} {verdict}: {}", one.cell, one.metric, one.difference);
            assert_eq!(text.contains(&line), !one.agrees, "{line}");
        }
    }
}

/// Every claim has a row. The reasons of claims that do not hold follow.
#[test]
fn verdicts_have_a_row_for_each_claim() {
    for Stored { paper, results, .. } in stored() {
        let (text, page) = (verdicts_plain(&results), verdicts_markdown(&results));
        for judged in &results.claims {
            let row = text.lines().find(|line| line.split_whitespace().next() == Some(&judged.id)).unwrap();
            assert!(row.contains(judged.verdict.name()) && row.contains(judged.class.name()), "{row}");
            assert_eq!(row.split_whitespace().any(|word| word == "yes"), judged.fitted, "{row}");
            let fails = matches!(judged.verdict, Verdict::NotReproduced | Verdict::NotRun | Verdict::NotMeasurable);
            let reason = format!("\n{} is {}: {}\n", judged.id, judged.verdict, judged.reason);
            assert_eq!(text.contains(&reason), fails, "{reason}");
            assert!(page.contains(&format!("| {} |", judged.id)), "{}", judged.id);
        }
        for verdict in Verdict::ALL {
            let count = results.claims.iter().filter(|judged| judged.verdict == verdict).count();
            assert_eq!(page.contains(&format!("### {verdict} ({count})\n")), count > 0, "{} {verdict}", paper.id);
        }
        assert!(text.ends_with(&results.summary()));
    }
}

/// Readings are described with their support. Each claim that several readings judge has a row.
#[test]
fn readings_have_a_row_for_each_claim_that_they_judge() {
    for Stored { paper, claims, results, .. } in stored() {
        let (text, page) = (readings_plain(&claims, &results), readings_markdown(&claims, &results));
        assert_eq!(text.is_empty(), results.claims.iter().all(|judged| judged.readings.is_empty()), "{}", paper.id);
        for reading in &claims.readings {
            assert!(page.contains(&format!("- **{}**: ", reading.name)), "{}", reading.name);
        }
        let several: Vec<_> = results.claims.iter().filter(|judged| !judged.readings.is_empty()).collect();
        for judged in &several {
            let row = page.lines().find(|line| line.starts_with(&format!("| {} |", judged.id))).unwrap();
            assert_eq!(row.ends_with("| yes |"), judged.depends_on_reading(), "{row}");
            assert!(text.lines().any(|line| line.split_whitespace().next() == Some(&judged.id)), "{}", judged.id);
        }
        let measured = results.claims.iter().filter(|judged| !judged.reading.is_empty()).count();
        let counted = format!("{measured} claims are measured, {} of them under several readings", several.len());
        assert!(
            page.replace('\n', " ").contains(&counted) && (text.is_empty() || text.contains(&counted)),
            "{}",
            paper.id
        );
    }
}

/// A part has the verdicts of its claims, and the command that reproduces it.
#[test]
fn each_part_is_shown_with_its_claims_and_its_command() {
    for Stored { paper, claims, ns2, results } in stored() {
        let parts = Part::all(&claims).unwrap();
        let rows = figures_markdown(&paper.id, &claims, &results).unwrap();
        for part in &parts {
            let text = show(part, &paper.id, &claims, &ns2, &results).unwrap();
            assert!(text.starts_with(&format!("{}, {}\n", paper.id, part.called)), "{text}");
            let command = part.command(&paper.id);
            assert!(rows.contains(&format!("`{command}`")), "{command}");
            assert_eq!(part.cells.is_empty(), !text.contains("headway papers run"), "{text}");
            assert_eq!(Part::find(&claims, &part.name).as_ref(), Ok(part));
            let last = text.lines().last().unwrap();
            match (part.cells.is_empty(), command.contains("papers figures")) {
                (true, false) => assert_eq!(last, "no run produces it"),
                (true, true) => assert!(last.contains(&command), "{text}"),
                (false, _) => assert!(last.starts_with("as stored:") && last.ends_with(" --full"), "{text}"),
            }
        }
        for judged in &results.claims {
            let part = Part::find(&claims, &judged.id).unwrap();
            let text = show(&part, &paper.id, &claims, &ns2, &results).unwrap();
            let verdict = format!("\n{} is {}: {}\n", judged.id, judged.verdict, judged.statement);
            assert!(text.contains(&verdict) && text.contains(&format!("\n  {}\n", judged.reason)), "{text}");
            for under in &judged.readings {
                assert!(text.contains(&format!("{}: {}", under.reading, under.verdict)), "{text}");
            }
            assert_eq!(text.contains("judge again:"), !part.cells.is_empty(), "{text}");
        }
    }
}

/// By the points of the chart: the command shows the numbers of the stored results, of the paper and of ns-2.
#[test]
fn a_figure_is_shown_with_its_numbers() {
    let mut shown = 0;
    for Stored { paper, claims, ns2, results } in stored() {
        let charts = charts(&claims, &ns2, &results, &results.cells.keys().cloned().collect()).unwrap();
        for part in Part::all(&claims).unwrap() {
            let text = show(&part, &paper.id, &claims, &ns2, &results).unwrap();
            for name in text.lines().filter_map(|line| line.split_once("(pictures/")?.1.strip_suffix(".svg)")) {
                shown += 1;
                let (_, below) = text.split_once(&format!("(pictures/{name}.svg)")).unwrap();
                let chart = charts.iter().find(|chart| chart.name == name).unwrap();
                assert!(text.contains(&chart.title), "{name}");
                let headway_record::plot::XAxis::Places(places) = &chart.x else { continue };
                // Each place of the axis has a row with the value of each line.
                for (place, called) in places.iter().enumerate() {
                    let row = below.lines().find(|line| line.trim_start().starts_with(called.as_str())).unwrap();
                    let values =
                        chart.lines.iter().flat_map(|line| &line.points).filter(|point| point.x == place as f64);
                    let columns = row.trim_start()[called.len()..]
                        .split_whitespace()
                        .filter(|word| word.parse::<f64>().is_ok())
                        .count();
                    assert!(columns >= values.count(), "{row}");
                }
            }
        }
    }
    assert!(shown > 10, "{shown}");
}

#[test]
fn unknown_parts_have_a_hint() {
    let claims = Paper::find("udpm").unwrap().claims().unwrap();
    let error = |name: &str| Part::find(&claims, name).unwrap_err().to_string();
    let first = Part::all(&claims).unwrap()[0].name.clone();
    assert!(error("figg6").contains("did you mean \"fig6\"? Figures and tables are "), "{}", error("figg6"));
    assert!(
        error("something else").contains(&format!("figures and tables are {first}, ")),
        "{}",
        error("something else")
    );
    // The paper's own words are names, too.
    let fig6 = Part::find(&claims, "fig6").unwrap();
    assert_eq!(
        (Part::find(&claims, "Figure 6").unwrap(), Part::find(&claims, "Fig. 6").unwrap()),
        (fig6.clone(), fig6)
    );
}

#[test]
fn inferred_parameters_have_a_row_each() {
    for Stored { claims, .. } in stored() {
        let table = inferred_markdown(&claims);
        assert_eq!(table.lines().count(), 2 + claims.inferred.len());
        for one in &claims.inferred {
            assert!(table.contains(&one.parameter.replace('|', "\\|")), "{}", one.parameter);
        }
    }
}
