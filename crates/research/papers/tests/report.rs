//! The report on the stored results is complete, matches them, and loads no resources.

use headway_papers::{Claims, PAPERS, Paper, Reference, ReportedPaper, Results, charts, report};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

const FIGURES: [(&str, u32); 5] =
    [("lan-queues", 7), ("sfdps", 13), ("udpm", 16), ("packet-spacing", 13), ("uddj-tfrc", 6)];

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<Stored> = PAPERS.iter().map(Stored::of).collect();
    page(&all)
});

struct Stored {
    id: &'static str,
    claims: Claims,
    ns2: Reference,
    results: Results,
}

impl Stored {
    fn of(paper: &'static Paper) -> Self {
        let results = serde_json::from_str(&text(&paper.id, "results.json")).unwrap();
        Self { id: &paper.id, claims: paper.claims().unwrap(), ns2: paper.ns2().unwrap(), results }
    }
}

fn page(all: &[Stored]) -> String {
    fn reported(Stored { id, claims, ns2, results }: &Stored) -> ReportedPaper<'_> {
        ReportedPaper { name: id, claims, ns2, results, from: "results.json" }
    }
    report(&all.iter().map(reported).collect::<Vec<_>>()).unwrap()
}

fn text(id: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../papers");
    std::fs::read_to_string(folder.join(id).join(file)).unwrap()
}

fn parts() -> Vec<(&'static str, &'static str)> {
    let part = |part: &'static str| part.split_once('"').unwrap();
    PAGE.split(" data-paper=\"").skip(1).map(part).collect()
}

/// Returns an attribute of a tag; `tag` starts after the tag's name.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let tag = &tag[..tag.find('>')?];
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    Some(value.split_once('"')?.0)
}

fn unescaped(text: &str) -> String {
    text.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

fn number(tag: &str, name: &str) -> f64 {
    attribute(tag, name).unwrap().parse().unwrap()
}

/// Returns the text of a table cell, up to the next tag.
fn written(tag: &str) -> &str {
    let (_, words) = tag.split_once('>').unwrap();
    words.split('<').next().unwrap().trim()
}

/// Rounds to six digits, as in the page.
fn six(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap()
}

fn zero_or(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

#[test]
fn every_number_is_a_stored_one() {
    for (id, part) in parts() {
        let results: Value = serde_json::from_str(&text(id, "results.json")).unwrap();
        let ns2 = reference(id);
        let paper_values = paper_values(id);
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let tables = part.split("<table").skip(1).filter_map(|table| table.split("</table>").next());
        let in_tables = tables.flat_map(|table| table.split("<td").skip(1).map(move |tag| (table, tag)));
        for (table, tag) in in_tables.filter(|(_, tag)| tag.starts_with(" data-of=")) {
            let metric = attribute(tag, "data-metric").or(attribute(table, "data-metric")).unwrap();
            let [of, cell] = ["data-of", "data-cell"].map(|name| attribute(tag, name).unwrap());
            let (value, ci95) =
                (number(tag, "data-value"), attribute(tag, "data-ci95").map_or(0.0, |ci95| ci95.parse().unwrap()));
            *seen.entry(of).or_default() += 1;
            match of {
                "headway" => {
                    let stored = &results["cells"][cell][metric];
                    assert_eq!((Some(value), ci95), (stored[0].as_f64(), zero_or(&stored[1])), "{id} {cell} {metric}");
                }
                "ns2" => assert_eq!((value, ci95), ns2[&(cell.to_owned(), metric.to_owned())], "{id} {cell} {metric}"),
                "paper" => assert!(paper_values.contains(&value.to_bits()), "{id} {cell} {metric}: {value}"),
                other => panic!("{other}"),
            }
            let shown = written(tag).split(" ± ").next().unwrap();
            assert_eq!(shown.parse::<f64>().unwrap(), six(value), "{id} {cell} {metric}");
        }
        assert!(seen["headway"] > 100, "{id}: {seen:?}");
        assert_eq!(seen.contains_key("ns2"), id == "lan-queues");
    }
}

#[test]
fn every_claim_has_its_stored_verdict() {
    let mut anchors = BTreeSet::new();
    for (id, part) in parts() {
        let results: Value = serde_json::from_str(&text(id, "results.json")).unwrap();
        let tags: Vec<&str> = part.split("<dd").skip(1).filter(|tag| tag.starts_with(" data-claim=")).collect();
        let mut count = 0;
        for claim in results["claims"].as_array().unwrap() {
            let name = claim["id"].as_str().unwrap();
            assert!(anchors.insert(name.to_owned()), "{name} twice");
            let article = format!("<article class=\"claim\" id=\"{name}\">");
            let (_, article) = part.split_once(&article).unwrap_or_else(|| panic!("{name} is missing"));
            let article = &article[..article.find("</article>").unwrap()];
            assert!(article.contains(&format!("aria-label=\"{}\"", claim["verdict"].as_str().unwrap())), "{name}");
            for (of, value, ci95) in
                [("paper", "paper_value", ""), ("ns2", "ns2_value", ""), ("headway", "value", "ci95")]
            {
                let tag = tags
                    .iter()
                    .find(|tag| attribute(tag, "data-claim") == Some(name) && attribute(tag, "data-of") == Some(of));
                assert_eq!(tag.map(|tag| number(tag, "data-value")), claim[value].as_f64(), "{name} {of}");
                if let Some(tag) = tag {
                    let stored = claim.get(ci95).and_then(Value::as_f64);
                    assert_eq!(attribute(tag, "data-ci95").map(|half| half.parse().unwrap()), stored, "{name} {of}");
                    count += 1;
                }
            }
        }
        assert_eq!(count, tags.len(), "{id}: every claim is described once");
    }
}

#[test]
fn every_curve_is_the_stored_one() {
    let mut points = 0;
    for (id, part) in parts() {
        let results: Value = serde_json::from_str(&text(id, "results.json")).unwrap();
        let stored: usize = results["curves"]
            .as_object()
            .map_or(0, |cells| cells.values().map(|cell| cell.as_object().unwrap().len()).sum());
        let tables: Vec<&str> = part.split("<table").skip(1).filter(|tag| tag.starts_with(" data-cell=")).collect();
        assert!(tables.len() >= stored, "{id}: {} of {stored}", tables.len());
        for table in tables {
            let [cell, entity, metric] =
                ["data-cell", "data-entity", "data-metric"].map(|name| unescaped(attribute(table, name).unwrap()));
            let times = number(table, "data-times");
            let curve = &results["curves"][&cell][format!("{entity} {metric}")];
            let rows = rows(table);
            let at: Vec<f64> = curve["at_s"].as_array().unwrap().iter().map(|at| at.as_f64().unwrap()).collect();
            // Runs of 120 s in intervals of 504 ms end with an incomplete interval of 48 ms, which has no mean rate.
            let incomplete = usize::from(id == "packet-spacing" && metric == "throughput_bps");
            assert_eq!(rows.len(), at.len() - incomplete, "{id} {cell} {entity} {metric}");
            for (row, cells) in rows.iter().enumerate() {
                let of = |name: &str| curve[name][row].as_f64().unwrap();
                let expected = [
                    six(of("at_s")),
                    six(of("mean") * times),
                    six(zero_or(&curve["ci95"][row]) * times.abs()),
                    six(of("first") * times),
                ];
                assert_eq!(cells[..], expected, "{id} {cell} {entity} {metric} row {row}");
                points += 1;
            }
        }
    }
    assert!(points > 3000, "{points}");
}

/// Heights of marks, curves and bands are linear in the printed numbers, up to the rounding of drawing units.
#[test]
fn drawn_points_match_the_printed_numbers() {
    let (mut marks, mut curves, mut bands) = (0, 0, 0);
    for (id, part) in parts() {
        for figure in part.split("<figure data-chart=").skip(1) {
            let figure = &figure[..figure.find("</figure>").unwrap()];
            let (drawing, text) = figure.split_once("</svg>").unwrap();
            let mut pairs: Vec<(f64, f64)> = Vec::new();
            for table in text.split("<table").skip(1) {
                if table.starts_with(" data-cell=") {
                    continue;
                }
                let drawn = points(text, table, drawing);
                marks += drawn.len();
                pairs.extend(drawn);
            }
            let lines = shapes(drawing, "polyline");
            let areas = shapes(drawing, "polygon");
            for (number, table) in text.split("<table data-cell=").skip(1).enumerate() {
                let rows = rows(table);
                let (one, mean, area) = (&lines[2 * number], &lines[2 * number + 1], &areas[number]);
                assert_eq!([one.len(), mean.len(), area.len()], [rows.len(), rows.len(), 2 * rows.len()], "{id}");
                for (place, row) in rows.iter().enumerate() {
                    let (low, high) = (area[place], area[area.len() - 1 - place]);
                    pairs.extend([
                        (mean[place], row[1]),
                        (one[place], row[3]),
                        (low, row[1] - row[2]),
                        (high, row[1] + row[2]),
                    ]);
                }
                curves += 1;
                bands += area.len();
            }
            linear(&pairs, &format!("{id} {}", &figure[..figure.find('>').unwrap()]));
        }
    }
    assert!(marks > 500 && curves == 27 && bands > 5000, "{marks} {curves} {bands}");
}

/// The check of "4 Mb/s at every loss" is a utilization of at least 85 %: 4 is not a point of a curve in percent.
#[test]
fn numbers_in_different_units_are_not_drawn_together() {
    let part = |id: &str| parts().into_iter().find(|(known, _)| *known == id).unwrap().1;
    let figure = part("uddj-tfrc").split("<figure data-chart=\"fig4-readings\"").nth(1).unwrap();
    assert!(!figure[..figure.find("</figure>").unwrap()].contains("data-of=\"paper\""));
    let article = |id: &str, claim: &str| {
        let begins = format!("<article class=\"claim\" id=\"{claim}\">");
        part(id).split(&begins).nth(1).unwrap().split("</article>").next().unwrap()
    };
    assert!(!article("sfdps", "sfdps.fig13.audio").contains("<svg class=\"plot\""));
    assert!(article("udpm", "udpm.fig6.mean").contains("<svg class=\"plot\""));
}

/// Returns the height and the number of each mark. The paper's and Headway's numbers have marks, in the order of the
/// columns.
fn points(text: &str, table: &str, drawing: &str) -> Vec<(f64, f64)> {
    let head = text.split("<thead>").nth(1).unwrap().split("<tbody>").next().unwrap();
    let columns = head.matches("<th>").count() - 1;
    let body: Vec<Vec<&str>> = table.split("<tr><th>").skip(2).map(|row| row.split("<td").skip(1).collect()).collect();
    let mut values = Vec::new();
    for column in 0..columns {
        let of = body.iter().map(|row| row[column]);
        let marked = of.filter(|tag| tag.starts_with(" data-of=\"paper\"") || tag.starts_with(" data-of=\"headway\""));
        values.extend(marked.map(|tag| number(tag, "data-value")));
    }
    let circles = drawing.split("<circle").skip(1).filter(|tag| attribute(tag, "stroke") != Some("#222222"));
    let heights: Vec<f64> = circles.map(|tag| number(tag, "cy")).collect();
    assert_eq!(heights.len(), values.len());
    heights.into_iter().zip(values).collect()
}

/// Returns the heights of the corners of each shape with more than four corners: not of axes and legends.
fn shapes(drawing: &str, kind: &str) -> Vec<Vec<f64>> {
    let begins = format!("<{kind}");
    let tags = drawing.split(&begins).skip(1);
    let heights = |tag: &str| -> Vec<f64> {
        let corners = attribute(tag, "points").unwrap().split_whitespace();
        corners.map(|corner| corner.split_once(',').unwrap().1.parse().unwrap()).collect()
    };
    tags.map(heights).filter(|heights| heights.len() > 4).collect()
}

fn rows(table: &str) -> Vec<Vec<f64>> {
    let (_, body) = table.split_once("<tbody>").unwrap();
    let rows = body[..body.find("</table>").unwrap()].split("<tr>").skip(1);
    // The interval of equal runs is empty.
    let cell = |words: &str| if words.trim().is_empty() { 0.0 } else { words.trim().parse().unwrap() };
    rows.map(|row| row.split("<td>").skip(1).map(cell).collect()).collect()
}

fn linear(pairs: &[(f64, f64)], what: &str) {
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let (low, high) = (pairs.iter().min_by(by_value).unwrap(), pairs.iter().max_by(by_value).unwrap());
    for (height, value) in pairs {
        let expected = low.0 + (high.0 - low.0) * (value - low.1) / (high.1 - low.1);
        assert!((height - expected).abs() <= 2.0, "{what}: {value} is drawn at {height}; expected {expected}");
    }
}

/// Returns ns-2's numbers, parsed independently of the crate.
fn reference(id: &str) -> BTreeMap<(String, String), (f64, f64)> {
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../papers").join(id).join("ns2.csv").exists() {
        return BTreeMap::new();
    }
    let text = text(id, "ns2.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse().unwrap_or(0.0);
        ((fields[0].to_owned(), fields[1].to_owned()), (number(2), number(3)))
    };
    rows.map(row).collect()
}

/// Returns the paper's numbers in `claims.toml`, as bits.
fn paper_values(id: &str) -> BTreeSet<u64> {
    let claims: toml::Value = toml::from_str(&text(id, "claims.toml")).unwrap();
    let bits =
        |value: &toml::Value| value.as_float().or(value.as_integer().map(|whole| whole as f64)).map(f64::to_bits);
    let list =
        |value: &toml::Value, key: &str| value.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let of_claims = list(&claims, "claim").into_iter().filter_map(|claim| claim.get("paper").cloned());
    let lines = list(&claims, "figure").into_iter().flat_map(|figure| list(&figure, "lines"));
    let of_lines = lines.flat_map(|line| list(&line, "paper"));
    of_claims.chain(of_lines).filter_map(|value| bits(&value)).collect()
}

#[test]
fn every_figure_of_every_paper_has_a_picture() {
    assert_eq!(parts().iter().map(|(id, _)| *id).collect::<Vec<_>>(), FIGURES.map(|(id, _)| id));
    for ((id, part), (_, figures)) in parts().into_iter().zip(FIGURES) {
        let items: Vec<&str> = part.split("<section class=\"item\" ").skip(1).collect();
        for figure in 1..=figures {
            let begins = format!("id=\"{id}-figure-{figure}\"><h3>Figure {figure}</h3>");
            let item = items
                .iter()
                .find(|item| item.starts_with(&begins))
                .unwrap_or_else(|| panic!("{id}: no figure {figure}"));
            assert!(
                item.contains("<figure")
                    && (item.contains("<svg class=\"plot\"") || item.contains("<svg class=\"strip\"")),
                "{id} {figure}"
            );
        }
        let drawn = items.iter().filter(|item| item.contains("-figure-")).count();
        assert!(drawn >= figures as usize, "{id}");
        let stored = Stored::of(Paper::find(id).unwrap());
        for chart in
            charts(&stored.claims, &stored.ns2, &stored.results, &stored.results.cells.keys().cloned().collect())
                .unwrap()
        {
            let begins = format!("<figure data-chart=\"{}\"><svg class=\"plot\"", chart.name);
            assert_eq!(part.matches(&begins).count(), 1, "{id} {}", chart.name);
        }
    }
}

#[test]
fn the_page_is_self_contained() {
    assert!(PAGE.len() < 3_000_000, "{} bytes", PAGE.len());
    assert!(PAGE.contains(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline';"
    ));
    for part in [
        "<script",
        "<img",
        "<iframe",
        "<link",
        "<object",
        "<image",
        " src=",
        " style=",
        "://",
        "url(",
        "@import",
        "javascript:",
    ] {
        assert!(!PAGE.contains(part), "{part}");
    }
    let ids: BTreeSet<&str> = PAGE.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), PAGE.matches(" id=\"").count(), "an ID is duplicated");
    for target in PAGE.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let name = target.strip_prefix('#').unwrap_or_else(|| panic!("{target} is outside the page"));
        assert!(ids.contains(name), "{target} does not exist");
    }
}

/// Markup in claims, titles and file names is escaped.
#[test]
fn text_of_papers_is_escaped() {
    let mut stored = Stored::of(Paper::find("sfdps").unwrap());
    let bad = "</title><script>alert(1)</script>\" onload=\"x' & <b>";
    stored.claims.title = bad.to_owned();
    for judged in &mut stored.results.claims {
        bad.clone_into(&mut judged.statement);
        bad.clone_into(&mut judged.reason);
        judged.place.push_str(bad);
    }
    stored.results.claims[0].id = bad.to_owned();
    stored.results.version = bad.to_owned();
    let page = page(&[stored]);
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("\" onload"));
    assert!(
        page.contains("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x&#39; &amp; &lt;b&gt;")
    );
}
