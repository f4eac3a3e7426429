//! The section of a paper in the report.

use super::html::{Escaped, anchor};
use super::item::Item;
use super::verdicts::{mark, scorecard};
use super::{ReportError, ReportedPaper, claim, command, picture, table};
use crate::figures::{Picture, pictures};
use crate::tables::{FilledTable, filled, runs_text};
use crate::verdict::JudgedClaim;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Contents of the section of a figure or a table.
#[derive(Default)]
struct Contents<'a> {
    pictures: Vec<&'a Picture<'a>>,
    tables: Vec<&'a FilledTable<'a>>,
    /// Claims that are described here.
    claims: Vec<&'a JudgedClaim>,
    /// Claims that are described at another figure or table, which they name first.
    others: Vec<&'a JudgedClaim>,
    /// Figures and tables that also show this one.
    also: BTreeSet<Item>,
}

pub(super) fn section(of: &ReportedPaper<'_>) -> Result<String, ReportError> {
    let ReportedPaper { claims, ns2, results, .. } = of;
    let pictures = pictures(claims, ns2, results)?;
    let tables = filled(claims, ns2, results)?;
    let mut items: BTreeMap<Item, Contents<'_>> = BTreeMap::new();
    let mut beyond = Contents::default();
    for picture in &pictures {
        let named = Item::of_title(&picture.chart.title);
        let home = place(&mut items, &mut beyond, &named);
        home.pictures.push(picture);
    }
    for table in &tables {
        let named = Item::of_title(&table.table.title);
        place(&mut items, &mut beyond, &named).tables.push(table);
    }
    for judged in &results.claims {
        let named = Item::all(&judged.place);
        place(&mut items, &mut beyond, &named).claims.push(judged);
        for other in named.iter().skip(1) {
            items.entry(other.clone()).or_default().others.push(judged);
        }
    }
    let mut text = head(of, &items);
    for (item, found) in &items {
        let _ = writeln!(text, "<section class=\"item\" id=\"{}\"><h3>{item}</h3>", here(of, &item.anchor()));
        self::item(&mut text, of, found)?;
        text.push_str("</section>\n");
    }
    rest(&mut text, of, &beyond)?;
    text.push_str("</section>\n");
    Ok(text)
}

/// Returns the contents of the first figure or table of `named`, and links the others to it.
fn place<'a, 'b>(
    items: &'b mut BTreeMap<Item, Contents<'a>>,
    beyond: &'b mut Contents<'a>,
    named: &[Item],
) -> &'b mut Contents<'a> {
    let Some((home, others)) = named.split_first() else { return beyond };
    for other in others {
        items.entry(other.clone()).or_default().also.insert(home.clone());
    }
    items.entry(home.clone()).or_default()
}

fn here(of: &ReportedPaper<'_>, name: &str) -> String {
    format!("{}-{name}", anchor(&of.results.paper))
}

/// Returns the title, the subject, the scorecard and the links of a paper.
fn head(of: &ReportedPaper<'_>, items: &BTreeMap<Item, Contents<'_>>) -> String {
    let ReportedPaper { claims, results, from, name, .. } = of;
    let id = anchor(&results.paper);
    let mut text = format!(
        "<section class=\"paper\" id=\"{id}\" data-paper=\"{}\"><h2>{}</h2>\n<p class=\"source\">{}</p>\n<p>{}</p>\n",
        Escaped(&results.paper),
        Escaped(&claims.title),
        Escaped(&claims.source),
        Escaped(&claims.about)
    );
    text.push_str(&scorecard(results));
    let full = command::of_cells(name, &results.ran.profile, []);
    let _ = writeln!(
        text,
        "<p>{}</p>\n<p class=\"note\">{} Results: <code>{}</code>.</p>\n<p>All of it again: <code>{}</code></p>",
        Escaped(&results.summary()),
        Escaped(runs_text(results).lines().next().unwrap_or_default()),
        Escaped(from),
        Escaped(&full)
    );
    text.push_str("<nav class=\"items\">");
    for item in items.keys() {
        let _ = write!(text, "<a href=\"#{}\">{item}</a> ", here(of, &item.anchor()));
    }
    let _ = writeln!(
        text,
        "<a href=\"#{}\">other claims</a> <a href=\"#{}\">beyond the paper</a> <a href=\"#{}\">open parameters</a></nav>",
        here(of, "claims"),
        here(of, "beyond"),
        here(of, "open")
    );
    text
}

fn item(text: &mut String, of: &ReportedPaper<'_>, found: &Contents<'_>) -> Result<(), ReportError> {
    let profile = of.results.ran.profile.as_str();
    for picture in &found.pictures {
        drawing(text, of, picture)?;
    }
    for drawn in &found.tables {
        // If the figure itself is drawn, its tables have no pictures.
        let svg = if found.pictures.is_empty() { table::picture(drawn)? } else { String::new() };
        let run = command::of_cells(of.name, profile, table::cells(drawn));
        let _ = writeln!(
            text,
            "<figure>{svg}<figcaption>{}</figcaption>\n{}<p><code>{}</code></p></figure>",
            Escaped(&drawn.table.title),
            table::table(drawn),
            Escaped(&run)
        );
    }
    if found.pictures.is_empty() && found.tables.is_empty() && found.also.is_empty() {
        let all: Vec<&JudgedClaim> = found.claims.iter().chain(&found.others).copied().collect();
        let _ = writeln!(
            text,
            "<figure>{}<figcaption>The paper shows no numbers here; this picture shows the verdicts on its claims.</figcaption></figure>",
            claim::strip(&all)
        );
    }
    for other in &found.also {
        let _ = writeln!(text, "<p>See also <a href=\"#{}\">{other}</a>.</p>", here(of, &other.anchor()));
    }
    let has_paper_values =
        found.pictures.iter().any(|picture| picture::has_paper_values(picture)) || !found.tables.is_empty();
    for judged in &found.claims {
        text.push_str(&claim::claim(judged, of.claims, (of.name, profile), !has_paper_values)?);
    }
    if !found.others.is_empty() {
        let _ = writeln!(
            text,
            "<details open><summary>{} more claims refer to it</summary><ul class=\"links\">",
            found.others.len()
        );
        found.others.iter().for_each(|judged| text.push_str(&claim::link(judged)));
        text.push_str("</ul></details>\n");
    }
    Ok(())
}

fn drawing(text: &mut String, of: &ReportedPaper<'_>, drawn: &Picture<'_>) -> Result<(), ReportError> {
    let run = command::of_cells(of.name, &of.results.ran.profile, picture::cells(drawn));
    let name = Escaped(&drawn.chart.name);
    let _ = writeln!(
        text,
        "<figure data-chart=\"{name}\">{}<p><code>{}</code></p></figure>",
        picture::figure(drawn)?,
        Escaped(&run)
    );
    Ok(())
}

/// Adds the other claims, the results beyond the paper, and the parameters that the paper does not state.
fn rest(text: &mut String, of: &ReportedPaper<'_>, beyond: &Contents<'_>) -> Result<(), ReportError> {
    let profile = of.results.ran.profile.as_str();
    let _ = writeln!(text, "<section id=\"{}\"><h3>Other claims</h3>", here(of, "claims"));
    for judged in &beyond.claims {
        text.push_str(&claim::claim(judged, of.claims, (of.name, profile), true)?);
    }
    let _ = writeln!(text, "</section>\n<section id=\"{}\"><h3>Beyond the paper</h3>", here(of, "beyond"));
    for picture in &beyond.pictures {
        drawing(text, of, picture)?;
    }
    for drawn in &beyond.tables {
        let _ = writeln!(
            text,
            "<details class=\"values\"><summary>{}</summary>\n{}</details>",
            Escaped(&drawn.table.title),
            table::table(drawn)
        );
    }
    let _ = writeln!(
        text,
        "</section>\n<section id=\"{}\"><h3>Parameters that the paper does not state</h3>\n<div class=\"wide\"><table class=\"words\"><thead><tr><th>parameter\
         <th>value<th>reason<tbody>",
        here(of, "open")
    );
    for open in &of.results.inferred {
        let _ = writeln!(
            text,
            "<tr><th>{}<td>{}<td>{}",
            Escaped(&open.parameter),
            Escaped(&open.value),
            Escaped(&open.why)
        );
    }
    text.push_str("</table></div></section>\n");
    Ok(())
}

pub(super) fn row(of: &ReportedPaper<'_>) -> String {
    let mut text = format!(
        "<tr><th><a href=\"#{}\">{}</a><td>{}",
        anchor(&of.results.paper),
        Escaped(&of.claims.title),
        of.results.claims.len()
    );
    let counts = of.results.counts();
    for verdict in crate::verdict::Verdict::ALL {
        match counts[verdict.name()] {
            0 => text.push_str("<td>-"),
            count => {
                let _ = write!(text, "<td>{} {count}", mark(verdict));
            }
        }
    }
    text + "\n"
}
