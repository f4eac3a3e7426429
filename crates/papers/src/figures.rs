//! The paper's figures again: the paper's lines, ns-2's and Headway's over one another.

use crate::claims::Claims;
use crate::pattern::{Bindings, PatternError, expand};
use crate::reference::Reference;
use crate::results::Results;
use headway_record::plot::{Chart, ChartLine, ChartPoint, LineStyle};

/// Each figure of a paper.
///
/// # Errors
/// If a pattern is wrong, which reading the claims has excluded.
pub fn charts(claims: &Claims, ns2: &Reference, results: &Results) -> Result<Vec<Chart>, PatternError> {
    let paper = claims.paper_values();
    let mut charts = Vec::new();
    for figure in &claims.figures {
        let mut lines: Vec<ChartLine> = Vec::new();
        for (colour, line) in figure.lines.iter().enumerate() {
            let metric = line.metric.as_ref().unwrap_or(&figure.metric).as_str();
            let cells: Vec<String> = expand(&line.cells, &Bindings::new())?.into_iter().map(|cell| cell.name).collect();
            let value = |style: LineStyle, place: usize, cell: &str| match style {
                LineStyle::Said => Some((*paper.get(&(cell, metric)).or_else(|| line.paper.get(place))?, 0.0)),
                LineStyle::Reference => Some((ns2.get(cell, metric)?.mean, 0.0)),
                LineStyle::Measured => results.get(cell, metric).map(|ours| (ours.mean, ours.ci95.unwrap_or(0.0))),
            };
            for style in [LineStyle::Said, LineStyle::Reference, LineStyle::Measured] {
                let point = |(place, cell): (usize, &String)| {
                    let (value, error) = value(style, place, cell)?;
                    Some(ChartPoint { place, value, error })
                };
                let points: Vec<ChartPoint> = cells.iter().enumerate().filter_map(point).collect();
                if !points.is_empty() {
                    lines.push(ChartLine { label: line.label.clone(), colour, style, points });
                }
            }
        }
        let mut styles = vec![
            (LineStyle::Said, "the paper".to_owned()),
            (LineStyle::Reference, "ns-2.35".to_owned()),
            (LineStyle::Measured, format!("Headway, 95 % of {} runs", results.ran.seeds)),
        ];
        styles.retain(|(style, _)| lines.iter().any(|line| line.style == *style));
        charts.push(Chart {
            name: figure.name.clone(),
            title: figure.title.clone(),
            x_title: figure.x_title.clone(),
            y_title: figure.y_title.clone(),
            places: figure.places.clone(),
            from_zero: figure.from_zero,
            styles,
            lines,
        });
    }
    Ok(charts)
}
