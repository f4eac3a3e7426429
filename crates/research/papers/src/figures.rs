//! Charts with the lines of the paper, ns-2 and Headway.

use crate::claim::Claim;
use crate::claims::Claims;
use crate::layout::{Sampled, Timeline};
use crate::pattern::{Bindings, PatternError, expand};
use crate::reference::Reference;
use crate::results::Results;
use crate::timeline::key;
use headway_record::metric;
use headway_record::plot::{Chart, ChartLine, ChartPoint, LineStyle, XAxis, YAxis, whole_intervals};
use std::collections::BTreeSet;

pub(crate) struct Picture<'a> {
    pub(crate) chart: Chart,
    /// Source of each line of the chart.
    pub(crate) sources: Vec<Source<'a>>,
}

/// Source of the numbers of a line.
pub(crate) enum Source<'a> {
    /// A metric, and the cell of each point.
    Cells { metric: &'a str, cells: Vec<String> },
    /// A curve of a cell.
    Curve(&'a Sampled),
}

impl Source<'_> {
    fn cells(&self) -> &[String] {
        match self {
            Self::Cells { cells, .. } => cells,
            Self::Curve(line) => std::slice::from_ref(&line.cell),
        }
    }
}

/// Returns the charts of a paper that show at least one of the `cells` (experiments).
///
/// # Errors
/// If a pattern is invalid, which parsing of the claims excludes.
pub fn charts(
    claims: &Claims,
    ns2: &Reference,
    results: &Results,
    cells: &BTreeSet<String>,
) -> Result<Vec<Chart>, PatternError> {
    let shows = |source: &Source<'_>| source.cells().iter().any(|cell| cells.contains(cell));
    let pictures = pictures(claims, ns2, results)?.into_iter();
    Ok(pictures.filter(|picture| picture.sources.iter().any(shows)).map(|picture| picture.chart).collect())
}

pub(crate) fn pictures<'a>(
    claims: &'a Claims,
    ns2: &Reference,
    results: &Results,
) -> Result<Vec<Picture<'a>>, PatternError> {
    let paper = claims.paper_values_of(Claim::compares);
    let mut pictures = Vec::new();
    for figure in &claims.figures {
        let mut lines: Vec<ChartLine> = Vec::new();
        let mut sources = Vec::new();
        for (color, line) in figure.lines.iter().enumerate() {
            let metric = line.metric.as_ref().unwrap_or(&figure.metric).as_str();
            let cells: Vec<String> = expand(&line.cells, &Bindings::new())?.into_iter().map(|cell| cell.name).collect();
            let value = |style: LineStyle, place: usize, cell: &str| match style {
                LineStyle::Claimed => Some((*paper.get(&(cell, metric)).or_else(|| line.paper.get(place))?, 0.0)),
                LineStyle::Reference => ns2.get(cell, metric).map(|theirs| (theirs.mean, theirs.ci95.unwrap_or(0.0))),
                LineStyle::Measured => results.get(cell, metric).map(|ours| (ours.mean, ours.ci95.unwrap_or(0.0))),
                _ => None,
            };
            for style in [LineStyle::Claimed, LineStyle::Reference, LineStyle::Measured] {
                let point = |(place, cell): (usize, &String)| {
                    let (value, error) = value(style, place, cell)?;
                    Some(ChartPoint { x: place as f64, value, error })
                };
                let points: Vec<ChartPoint> = cells.iter().enumerate().filter_map(point).collect();
                if !points.is_empty() {
                    let known = points.iter().map(|point| cells[point.x as usize].clone()).collect();
                    sources.push(Source::Cells { metric, cells: known });
                    lines.push(ChartLine { label: line.label.clone(), color, style, points });
                }
            }
        }
        let shown = sources.iter().flat_map(Source::cells).map(String::as_str);
        let mut styles = vec![
            (LineStyle::Claimed, "the paper".to_owned()),
            (LineStyle::Reference, "ns-2.35, with its 95 %".to_owned()),
            (LineStyle::Measured, format!("Headway, 95 % of {}", results.runs(shown))),
        ];
        styles.retain(|(style, _)| lines.iter().any(|line| line.style == *style));
        let chart = Chart {
            name: figure.name.clone(),
            title: figure.title.clone(),
            x_title: figure.x_title.clone(),
            y_title: figure.y_title.clone(),
            x: XAxis::Places(figure.places.clone()),
            y: if figure.from_zero { YAxis::FromZero } else { YAxis::Values },
            heading: String::new(),
            styles,
            lines,
            boxes: Vec::new(),
        };
        pictures.push(Picture { chart, sources });
    }
    pictures.extend(claims.timelines.iter().map(|timeline| over_time(timeline, results)));
    Ok(pictures)
}

/// Returns the chart of a timeline: the first run, and the mean of all runs with its 95 % interval.
fn over_time<'a>(timeline: &'a Timeline, results: &Results) -> Picture<'a> {
    let curve = |line: &Sampled| results.curves.get(&line.cell)?.get(&key(&line.entity, &line.metric));
    let mut lines: Vec<ChartLine> = Vec::new();
    let mut sources = Vec::new();
    for (color, line) in timeline.lines.iter().enumerate() {
        let Some(curve) = curve(line) else { continue };
        let drawn = if line.metric == metric::THROUGHPUT { whole_intervals(&curve.at_s) } else { curve.at_s.len() };
        let points = |values: &[f64], errors: &[Option<f64>]| {
            let error = |n: usize| errors.get(n).copied().flatten().map_or(0.0, |error| error * line.times.abs());
            let point = |(n, (at, value)): (usize, (&f64, &f64))| ChartPoint {
                x: *at,
                value: value * line.times,
                error: error(n),
            };
            curve.at_s.iter().zip(values).take(drawn).enumerate().map(point).collect()
        };
        for (style, points) in
            [(LineStyle::SingleRun, points(&curve.first, &[])), (LineStyle::Mean, points(&curve.mean, &curve.ci95))]
        {
            lines.push(ChartLine { label: line.label.clone(), color, style, points });
            sources.push(Source::Curve(line));
        }
    }
    let shown = sources.iter().flat_map(Source::cells).map(String::as_str);
    let mut styles = vec![
        (LineStyle::SingleRun, "one run".to_owned()),
        (LineStyle::Mean, format!("mean of {} and its 95 % interval", results.runs(shown))),
    ];
    styles.retain(|_| !lines.is_empty());
    let chart = Chart {
        name: timeline.name.clone(),
        title: timeline.title.clone(),
        x_title: "time (s)".to_owned(),
        y_title: timeline.y_title.clone(),
        x: XAxis::Numbers,
        y: YAxis::FromZero,
        heading: String::new(),
        styles,
        lines,
        boxes: Vec::new(),
    };
    Picture { chart, sources }
}
