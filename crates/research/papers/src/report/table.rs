//! Tables of the report. Tables that the paper numbers are also drawn.

use super::html::Escaped;
use super::picture::{inline, number};
use crate::layout::{Column, From};
use crate::tables::{Entry, FilledTable};
use headway_record::plot::{Chart, ChartLine, ChartPoint, LineStyle, PlotError, Style, XAxis, YAxis};
use std::fmt::Write;

/// Distance between the marks of neighboring columns; rows are 1 apart.
const MARK_SPACING: f64 = 0.16;

pub(super) fn table(drawn: &FilledTable<'_>) -> String {
    let of = drawn.table;
    let mut text = format!("<div class=\"wide\"><table data-metric=\"{}\"><thead><tr><th>cell", Escaped(&of.metric));
    for column in &of.columns {
        let _ = write!(text, "<th>{}", Escaped(&column.title));
    }
    text.push_str("<tbody>\n");
    for (name, entries) in &drawn.rows {
        let _ = write!(text, "<tr><th>{}", Escaped(name));
        for (column, entry) in of.columns.iter().zip(entries) {
            let source = match column.from {
                From::Paper => "paper",
                From::Ns2 => "ns2",
                From::Headway => "headway",
            };
            match entry.number {
                Some(known) => number(&mut text, source, &entry.cell, None, known.mean, known.ci95.unwrap_or(0.0)),
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

/// Returns the cells of Headway's numbers.
pub(super) fn cells<'a>(drawn: &'a FilledTable<'_>) -> impl Iterator<Item = &'a str> {
    let ours = |(column, entry): (&'a Column, &'a Entry)| {
        (column.from == From::Headway && entry.number.is_some()).then_some(entry.cell.as_str())
    };
    drawn.rows.iter().flat_map(move |(_, entries)| drawn.table.columns.iter().zip(entries).filter_map(ours))
}

/// Draws the columns as marks over the rows.
pub(super) fn picture(drawn: &FilledTable<'_>) -> Result<String, PlotError> {
    let of = drawn.table;
    let line = |(number, column): (usize, &Column)| {
        let point = |(row, (_, entries)): (usize, &(String, Vec<Entry>))| {
            let known = entries.get(number)?.number?;
            // Marks of a row are side by side, so that equal values do not overlap.
            let offset = (number as f64 - (of.columns.len() - 1) as f64 / 2.0) * MARK_SPACING;
            Some(ChartPoint { x: row as f64 + offset, value: known.mean, error: known.ci95.unwrap_or(0.0) })
        };
        ChartLine {
            label: column.title.clone(),
            color: number,
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

/// Returns the row names without the parts that all rows share; numbers are kept.
fn names(drawn: &FilledTable<'_>) -> Vec<String> {
    let parts: Vec<Vec<&str>> = drawn.rows.iter().map(|(name, _)| name.split('.').collect()).collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_distinct = |at: usize| {
        let first = parts[0].get(at);
        is_number(first.unwrap_or(&"")) || parts.iter().any(|of| of.get(at) != first || of.len() != parts[0].len())
    };
    let name = |of: &Vec<&str>| {
        let kept: Vec<&str> = of.iter().enumerate().filter(|(at, _)| is_distinct(*at)).map(|(_, part)| *part).collect();
        if kept.is_empty() { of.join(".") } else { kept.join(".") }
    };
    parts.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;

    /// A run repeats the cells of Headway's numbers: not those of other sources, nor those without a number.
    #[test]
    fn the_cells_of_a_table_are_those_of_our_numbers() {
        let text = "title = 't'\nmetric = 'm'\nrows = 'r'
            columns = [{ title = 'p', cell = 'c', from = 'paper' }, { title = 'h', cell = 'c', from = 'headway' }]";
        let table = toml::from_str(text).unwrap();
        let entry = |cell: &str, mean: Option<f64>| Entry {
            cell: cell.to_owned(),
            number: mean.map(|mean| Number { mean, ci95: None, runs: 1 }),
            text: String::new(),
        };
        let row = |name: &str, ours| (name.to_owned(), vec![entry("theirs", Some(1.0)), entry(name, ours)]);
        let rows = vec![row("a", Some(2.0)), row("b", None), row("c", Some(3.0))];
        let filled = FilledTable { table: &table, rows };
        assert_eq!(cells(&filled).collect::<Vec<_>>(), ["a", "c"]);
    }
}
