//! The paper's tables in the page; those that it names are drawn, too.

use super::html::Escaped;
use super::picture::{inline, number};
use crate::layout::{Column, From};
use crate::tables::{Drawn, Entry};
use headway_record::plot::{Chart, ChartLine, ChartPoint, LineStyle, PlotError, Style, XAxis, YAxis};
use std::fmt::Write;

/// From the mark of a column to that of the next, where rows are 1 apart.
const BESIDE: f64 = 0.16;

/// The table with its caption and its note.
pub(super) fn table(drawn: &Drawn<'_>) -> String {
    let of = drawn.table;
    let mut text = format!("<div class=\"wide\"><table data-metric=\"{}\"><thead><tr><th>cell", Escaped(&of.metric));
    for column in &of.columns {
        let _ = write!(text, "<th>{}", Escaped(&column.title));
    }
    text.push_str("<tbody>\n");
    for (name, entries) in &drawn.rows {
        let _ = write!(text, "<tr><th>{}", Escaped(name));
        for (column, entry) in of.columns.iter().zip(entries) {
            let whose = match column.from {
                From::Paper => "paper",
                From::Ns2 => "ns2",
                From::Headway => "headway",
            };
            match entry.number {
                Some(known) => number(&mut text, whose, &entry.cell, None, known.mean, known.ci95.unwrap_or(0.0)),
                None => text.push_str("<td>-"),
            }
        }
        text.push('\n');
    }
    text.push_str("</table></div>\n");
    if !of.note.is_empty() {
        let _ = writeln!(text, "<p class=\"note\">{}</p>", Escaped(&of.note));
    }
    text
}

/// The cells of its rows.
pub(super) fn cells<'a>(drawn: &'a Drawn<'_>) -> impl Iterator<Item = &'a str> {
    let ours = |(column, entry): (&'a Column, &'a Entry)| {
        (column.from == From::Headway && entry.number.is_some()).then_some(entry.cell.as_str())
    };
    drawn.rows.iter().flat_map(move |(_, entries)| drawn.table.columns.iter().zip(entries).filter_map(ours))
}

/// Its columns as marks over its rows.
pub(super) fn picture(drawn: &Drawn<'_>) -> Result<String, PlotError> {
    let of = drawn.table;
    let line = |(number, column): (usize, &Column)| {
        let point = |(row, (_, entries)): (usize, &(String, Vec<Entry>))| {
            let known = entries.get(number)?.number?;
            // Marks of a row stand side by side: equal ones would hide one another.
            let beside = (number as f64 - (of.columns.len() - 1) as f64 / 2.0) * BESIDE;
            Some(ChartPoint { x: row as f64 + beside, value: known.mean, error: known.ci95.unwrap_or(0.0) })
        };
        ChartLine {
            label: column.title.clone(),
            colour: number,
            style: LineStyle::Marks,
            points: drawn.rows.iter().enumerate().filter_map(point).collect(),
        }
    };
    let chart = Chart {
        name: "table".to_owned(),
        title: of.title.clone(),
        x_title: String::new(),
        y_title: of.title.rsplit_once(": ").map_or("", |(_, words)| words).to_owned(),
        x: XAxis::Places(names(drawn)),
        y: YAxis::Values,
        heading: String::new(),
        styles: vec![(LineStyle::Marks, "95 % interval".to_owned())],
        lines: of.columns.iter().enumerate().map(line).collect(),
        boxes: Vec::new(),
    };
    inline(&chart, &Style::default())
}

/// Of each row's name the parts that are not the same in all: numbers, and what tells rows apart.
fn names(drawn: &Drawn<'_>) -> Vec<String> {
    let parts: Vec<Vec<&str>> = drawn.rows.iter().map(|(name, _)| name.split('.').collect()).collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let tells = |at: usize| {
        let first = parts[0].get(at);
        is_number(first.unwrap_or(&"")) || parts.iter().any(|of| of.get(at) != first || of.len() != parts[0].len())
    };
    let name = |of: &Vec<&str>| {
        let kept: Vec<&str> = of.iter().enumerate().filter(|(at, _)| tells(*at)).map(|(_, part)| *part).collect();
        if kept.is_empty() { of.join(".") } else { kept.join(".") }
    };
    parts.iter().map(name).collect()
}
