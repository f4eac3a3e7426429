//! The page of a suite's results: one HTML file with tables and figures, without scripts.

use headway_papers::Escaped;
use headway_record::Estimate;
use headway_record::plot::Figure;
use headway_run::{Band, BandResult, BandVerdict, CaseResult, Suite, SuiteResults, shown_estimate};
use headway_units::counted;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// Returns the page. `rates` has a figure for each case and controller, in their order.
pub(super) fn page(suite: &Suite, results: &SuiteResults, rates: &[Option<Figure>]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Headway: {title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n<p>Source: {}. Headway {}, means over {} with 95 % intervals (Student).\n\
         The bands are limits of this suite. A band is met if the mean is within it, and undecided (?) if a limit is\n\
         within the interval of the mean.</p>\n",
        Escaped(&results.source),
        Escaped(results.version),
        counted(results.seeds, "seed"),
        title = Escaped(&results.title)
    );
    html.push_str(&controllers(suite));
    html.push_str(&overview(results));
    let mut rates = rates.iter();
    for case in &results.cases {
        let rates: Vec<Option<&Figure>> = rates.by_ref().take(case.controllers.len()).map(Option::as_ref).collect();
        html.push_str(&of_case(suite, results, case, &rates));
    }
    html.push_str("</body>\n</html>\n");
    html
}

fn controllers(suite: &Suite) -> String {
    let mut html = "<h2>Controllers</h2>\n<dl>\n".to_owned();
    for controller in &suite.controllers {
        let _ = write!(html, "<dt>{}</dt><dd>{}", Escaped(&controller.name), Escaped(&controller.about));
        for set in &controller.set {
            let _ = write!(html, "<br><code>{}</code>", Escaped(set));
        }
        html.push_str("</dd>\n");
    }
    html + "</dl>\n"
}

/// Returns the table of the bands that are met, by case and controller.
fn overview(results: &SuiteResults) -> String {
    let mut html = "<h2>Bands met</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>case</th>".to_owned();
    for controller in results.cases.first().into_iter().flat_map(CaseResult::tested) {
        let _ = write!(html, "<th>{}</th>", Escaped(&controller.name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for case in &results.cases {
        let name = Escaped(&case.name);
        let _ = write!(html, "<tr><th><a href=\"#case-{name}\">{name}</a> {}</th>", Escaped(&case.title));
        for controller in case.tested() {
            let (met, all) = (controller.count(BandVerdict::Met), controller.bands.len());
            let class = match controller.count(BandVerdict::Missed) {
                0 if met == all => "met",
                0 => "undecided",
                _ => "missed",
            };
            let _ = write!(html, "<td class=\"{class}\">{met} of {all}</td>");
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>\n"
}

fn of_case(suite: &Suite, results: &SuiteResults, case: &CaseResult, rates: &[Option<&Figure>]) -> String {
    let name = Escaped(&case.name);
    let mut html = format!("<h2 id=\"case-{name}\">{name}: {}</h2>\n", Escaped(&case.title));
    let _ = write!(html, "<p>Scenario: <code>{}</code>", Escaped(&case.file));
    if let Some(case) = suite.cases.iter().find(|other| other.name == case.name) {
        let of_controllers =
            case.set_for.iter().flat_map(|(name, set)| set.iter().map(move |set| format!("{name}: {set}")));
        for set in case.set.iter().cloned().chain(of_controllers) {
            let _ = write!(html, ", <code>{}</code>", Escaped(&set));
        }
    }
    html.push_str("</p>\n");
    html.push_str("<div class=\"wide\"><table>\n<thead><tr><th>metric</th><th>band</th>");
    for controller in &case.controllers {
        let _ = write!(html, "<th>{}</th>", Escaped(&controller.name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (number, metric) in case.metrics.iter().enumerate() {
        let band = case.tested().find_map(|controller| controller.band(metric));
        let limits = band.map(|band| limits(&band.band)).unwrap_or_default();
        let _ = write!(html, "<tr><th>{}</th><td>{limits}</td>", Escaped(metric));
        for controller in &case.controllers {
            let class =
                controller.band(metric).map_or(String::new(), |band| format!(" class=\"{}\"", band.verdict.name()));
            let value = controller.metrics.get(number).copied().flatten();
            let value = value.map_or_else(|| "–".to_owned(), |value| shown(value, results.seeds));
            let _ = write!(html, "<td{class}>{value}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    html.push_str(&reasons(case));
    for (controller, figure) in case.controllers.iter().zip(rates) {
        if let Some(figure) = figure {
            let name = Escaped(&controller.name);
            let _ = writeln!(
                html,
                "<details><summary>Rates over time: {name}, first seed</summary>\n{}\n</details>",
                figure.svg
            );
        }
    }
    html
}

/// Returns the reasons for the bands of a case, and those for which they are missed.
fn reasons(case: &CaseResult) -> String {
    let Some(first) = case.tested().next() else { return String::new() };
    let mut html = "<details><summary>Reasons for the bands</summary>\n<ul>\n".to_owned();
    for BandResult { band, .. } in &first.bands {
        let _ = writeln!(html, "<li>{}, {}: {}</li>", Escaped(&band.metric), limits(band), Escaped(&band.why));
    }
    html.push_str("</ul>\n</details>\n<ul>\n");
    // Controllers with the same reason are in one line.
    let mut missed: BTreeMap<[&str; 2], Vec<&str>> = BTreeMap::new();
    for controller in case.tested() {
        for band in controller.bands.iter().filter(|band| band.verdict == BandVerdict::Missed) {
            let why = band.explained.as_deref().unwrap_or("not explained");
            missed.entry([&band.band.metric, why]).or_default().push(&controller.name);
        }
    }
    for ([metric, why], controllers) in missed {
        let controllers = controllers.join(", ");
        let _ = writeln!(html, "<li>{} missed by {}: {}</li>", Escaped(metric), Escaped(&controllers), Escaped(why));
    }
    html + "</ul>\n"
}

fn limits(band: &Band) -> String {
    match (band.min, band.max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => String::new(),
    }
}

/// Formats a mean with its interval, and the number of runs if some have no value.
fn shown(value: Estimate, seeds: u64) -> String {
    let runs = value.runs as u64;
    let more = if runs < seeds { format!(" ({runs} of {seeds})") } else { String::new() };
    shown_estimate(value) + &more
}
