//! Charts of the report, each with a table of its numbers.

use super::html::Escaped;
use crate::figures::{Picture, Source};
use crate::layout::Sampled;
use crate::number::shortest;
use crate::tables::two_digits;
use headway_record::plot::{Chart, ChartLine, ChartPoint, LegendPlace, LineStyle, PlotError, Style, XAxis, YAxis};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Returns a chart as SVG with the colors and the font of the page. The title is in the caption.
pub(super) fn inline(chart: &Chart, style: &Style) -> Result<String, PlotError> {
    let style = Style { title: Some(String::new()), ..style.clone() };
    let svg = chart.draw_styled(&style)?.svg;
    let label = format!("<svg class=\"plot\" role=\"img\" aria-label=\"{}\"", Escaped(&chart.title));
    // Quotes in text are escaped, so these matches are always attributes.
    let svg =
        [(" xmlns=\"http://www.w3.org/2000/svg\"", ""), (" opacity=\"1\"", ""), (" font-family=\"sans-serif\"", "")]
            .iter()
            .fold(svg, |svg, (from, to)| svg.replace(from, to));
    Ok(svg.replacen("<svg", &label, 1))
}

pub(super) fn figure(picture: &Picture<'_>) -> Result<String, PlotError> {
    let svg = inline(&picture.chart, &Style::default())?;
    let values = values(picture);
    Ok(format!(
        "{svg}<figcaption>{}</figcaption>\n<details class=\"values\"><summary>The numbers in this picture</summary>\n{values}</details>\n",
        Escaped(&picture.chart.title)
    ))
}

pub(super) fn cells<'a>(picture: &'a Picture<'_>) -> Vec<&'a str> {
    let cells = picture.sources.iter().flat_map(|source| match source {
        Source::Cells { cells, .. } => cells.iter().map(String::as_str).collect(),
        Source::Curve(line) => vec![line.cell.as_str()],
    });
    cells.collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn has_paper_values(picture: &Picture<'_>) -> bool {
    picture.chart.lines.iter().any(|line| line.style == LineStyle::Claimed)
}

/// Draws single numbers, one per source.
pub(super) fn numbers(title: &str, numbers: &[(&str, f64, f64)]) -> Result<String, PlotError> {
    let line = |(place, (_, value, error)): (usize, &(&str, f64, f64))| ChartLine {
        label: String::new(),
        color: place,
        style: if place == 0 { LineStyle::Claimed } else { LineStyle::Marks },
        points: vec![ChartPoint { x: place as f64, value: *value, error: *error }],
    };
    let chart = Chart {
        name: "numbers".to_owned(),
        title: title.to_owned(),
        x_title: String::new(),
        y_title: String::new(),
        x: XAxis::Places(numbers.iter().map(|(source, ..)| (*source).to_owned()).collect()),
        y: YAxis::FromZero,
        heading: String::new(),
        styles: Vec::new(),
        lines: numbers.iter().enumerate().map(line).collect(),
        boxes: Vec::new(),
    };
    inline(&chart, &Style { width: 400.0, height: Some(240.0), legend: LegendPlace::Hidden, ..Style::default() })
}

/// Returns the source of a line as the value of `data-of` and as a column title.
fn source_of(style: LineStyle) -> (&'static str, &'static str) {
    match style {
        LineStyle::Claimed => ("paper", "paper"),
        LineStyle::Reference => ("ns2", "ns-2.35"),
        _ => ("headway", "Headway"),
    }
}

fn values(picture: &Picture<'_>) -> String {
    let lines = || picture.chart.lines.iter().zip(&picture.sources);
    let points: Vec<_> = lines().filter(|(_, source)| matches!(source, Source::Cells { .. })).collect();
    let mut text = String::new();
    if let XAxis::Places(places) = &picture.chart.x {
        at_places(&mut text, places, &picture.chart.x_title, &points);
    }
    for (number, (line, source)) in lines().enumerate() {
        if let (LineStyle::Mean, Source::Curve(sampled)) = (line.style, source) {
            // The line of the first run precedes the mean of all runs.
            let one = number.checked_sub(1).and_then(|before| picture.chart.lines.get(before));
            over_time(&mut text, line, one, sampled);
        }
    }
    text
}

fn at_places(text: &mut String, places: &[String], x_title: &str, lines: &[(&ChartLine, &Source<'_>)]) {
    let _ = write!(text, "<div class=\"wide\"><table><thead><tr><th>{}", Escaped(x_title));
    for (line, _) in lines {
        let _ = write!(text, "<th>{}: {}", Escaped(&line.label), source_of(line.style).1);
    }
    text.push_str("<tbody>\n");
    for (place, name) in places.iter().enumerate() {
        let _ = write!(text, "<tr><th>{}", Escaped(name));
        for (line, source) in lines {
            let Source::Cells { metric, cells } = source else { continue };
            let known = line.points.iter().zip(cells).find(|(point, _)| point.x == place as f64);
            match known {
                Some((point, cell)) => {
                    number(text, source_of(line.style).0, cell, Some(*metric), point.value, point.error);
                }
                None => text.push_str("<td>-"),
            }
        }
        text.push('\n');
    }
    text.push_str("</table></div>\n");
}

/// Adds a number to a table, with its source and cell as attributes. `metric` is given unless the table has it.
pub(super) fn number(text: &mut String, of: &str, cell: &str, metric: Option<&str>, value: f64, error: f64) {
    let _ = write!(text, "<td data-of=\"{of}\" data-cell=\"{}\"", Escaped(cell));
    if let Some(metric) = metric {
        let _ = write!(text, " data-metric=\"{}\"", Escaped(metric));
    }
    let _ = write!(text, " data-value=\"{value}\"");
    if error > 0.0 {
        let _ = write!(text, " data-ci95=\"{error}\">{} ± {}", shortest(value), two_digits(error));
    } else {
        let _ = write!(text, ">{}", shortest(value));
    }
}

fn over_time(text: &mut String, line: &ChartLine, one: Option<&ChartLine>, sampled: &Sampled) {
    let _ = writeln!(
        text,
        "<div class=\"wide\"><table data-cell=\"{}\" data-entity=\"{}\" data-metric=\"{}\" data-times=\"{}\"><caption>{}</caption>\
         <thead><tr><th>time (s)<th>mean<th>± 95 %<th>one run<tbody>",
        Escaped(&sampled.cell),
        Escaped(&sampled.entity),
        Escaped(&sampled.metric),
        sampled.times,
        Escaped(&line.label),
    );
    for (number, point) in line.points.iter().enumerate() {
        let at = shortest(point.x);
        let one = one.and_then(|one| one.points.get(number)).map_or(String::new(), |point| shortest(point.value));
        let half = if point.error > 0.0 { shortest(point.error) } else { String::new() };
        let _ = writeln!(text, "<tr><td>{at}<td>{}<td>{half}<td>{one}", shortest(point.value));
    }
    text.push_str("</table></div>\n");
}
