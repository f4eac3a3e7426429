//! Figures of runs: throughput, queues, congestion windows and losses over time, as SVG, PNG and PDF.
//!
//! A figure shows one or more runs, with a color and a dash pattern for each run and flow, and a legend. If there are
//! more lines than colors, each group of flows of one name (`ftp-1`, `ftp-2`, ...) is drawn as its mean and a band from
//! minimum to maximum, or each run has its own panel. The colors are those of Okabe and Ito, which are distinguishable
//! with color vision deficiency. A line has at most four points per pixel of width, so that the size of a figure does
//! not depend on the length of the run. A [`Chart`] shows means over many runs.

mod axis;
mod boxes;
mod chart;
mod curves;
mod delays;
mod draw;
mod drops;
mod figure;
mod font;
mod frame;
mod glyphs;
mod heat_map;
mod labels;
mod legend;
mod marks;
mod multiples;
mod pdf;
mod png;
mod rates;
mod sequence;
mod style;
mod svg;
mod sweep;

pub use axis::{XAxis, YAxis};
pub use boxes::ChartBox;
pub use chart::{Chart, ChartLine, ChartPoint, LineStyle};
pub use curves::{is_drawable, whole_intervals};
pub use delays::{RunDelays, delay_chart, frame_chart};
pub use drops::{RunEvents, drop_lines, drops_figure};
pub use figure::{Figure, PlotError};
pub use heat_map::HeatMap;
pub use sequence::{SequenceError, sequence_figure, sequence_marks};
pub use style::{LegendPlace, Style};
pub use svg::RenderError;
pub use sweep::{Group, GroupPoint, Sweep, SweepChart};

#[cfg(doc)]
use crate::FIGURE_ENDINGS;
use crate::{Interval, SERIES_FIGURES, SeriesFigure, SeriesTable, axis_title, metric};
use curves::{Curve, Grouping, Names, Trace};
use draw::{Between, Panel};
use figure::y_axis_title;
use headway_units::Instant;
use labels::Labels;
use multiples::Member;
use std::collections::{BTreeMap, BTreeSet};

/// A run to draw.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Label of the run in the legend, different for each run.
    pub label: &'a str,
    /// Time series of the run.
    pub series: &'a SeriesTable,
    /// Time to draw, such as the measured interval of the run. Other samples are not drawn, because the summary does not
    /// count them either.
    pub interval: Interval,
}

impl<'a> Run<'a> {
    /// Returns all series with the samples to draw.
    fn series(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a [(Instant, f64)])> {
        let Interval { from, to } = self.interval;
        self.series.iter().map(move |(entity, metric, samples)| {
            let first = samples.partition_point(|(at, _)| at.as_secs_f64() < from);
            let end = samples.partition_point(|(at, _)| at.as_secs_f64() <= to);
            (entity, metric, &samples[first.min(end)..end])
        })
    }
}

/// The examples of the book's page.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/src/plots.md")]
struct Book;

/// Maximum number of links or flows with a panel.
const MAX_PANELS: usize = 4;

/// Draws each of the [`SERIES_FIGURES`] of whose metric these runs have samples. Legend labels contain the run if there
/// are several runs, and the flow if there are several flows. The common part of the runs' labels is in the title.
///
/// # Errors
/// The errors of [`series_figure`].
pub fn figures(runs: &[Run<'_>], style: &Style) -> Result<Vec<Figure>, PlotError> {
    let figures = SERIES_FIGURES.iter().map(|figure| series_figure(figure, runs, style));
    figures.filter_map(Result::transpose).collect()
}

/// Draws one of the [`SERIES_FIGURES`] of these runs; `None` if they have no samples of its metric.
///
/// # Errors
/// [`PlotError::Label`] if a label of an axis has a unit of another quantity; [`PlotError::Draw`], which no input is known
/// to cause.
pub fn series_figure(figure: &SeriesFigure, runs: &[Run<'_>], style: &Style) -> Result<Option<Figure>, PlotError> {
    let run_labels = RunLabels::of(runs);
    match figure.metrics {
        _ if figure.of_links => queue_figure(figure, &run_labels, runs, style),
        [_] => flow_figure(figure, &run_labels, samples_of(figure, runs), style),
        _ => rates::figure(figure, &run_labels, &samples_of(figure, runs), style),
    }
}

/// The lines of a figure, for another drawing program.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesLines {
    /// Title of the vertical axis, with the unit of the values.
    pub y_title: String,
    /// Label and points of each line.
    pub lines: Vec<(String, Points)>,
}

/// Times in s and values.
pub type Points = Vec<(f64, f64)>;

/// Returns the lines of one of [`SERIES_FIGURES`], without bands: one for each metric and each flow or link of each run.
#[must_use]
pub fn series_lines(figure: &SeriesFigure, runs: &[Run<'_>]) -> SeriesLines {
    let run_labels = RunLabels::of(runs);
    let found = samples_of(figure, runs);
    let many = found.iter().any(|of| Some(of.entity) != found.first().map(|first| first.entity));
    let (y_title, scale) = axis_title(figure.y_title, figure.unit(), largest(&found), None);
    let several = figure.metrics.len() > 1;
    let line = |found: &Found<'_>| {
        let label = match (several, many) {
            (false, _) => found.entity.to_owned(),
            (true, false) => metric::label_of(found.metric),
            (true, true) => format!("{}: {}", found.entity, metric::label_of(found.metric)),
        };
        let names = run_labels.names(found.run, &label, many || several, &label, many || several);
        let points = found.samples.iter().filter(|(_, value)| is_drawable(*value));
        (names.label, points.map(|(at, value)| (at.as_secs_f64(), value / scale)).collect())
    };
    SeriesLines { y_title, lines: found.iter().map(line).collect() }
}

/// The labels of all runs, with and without their seeds.
struct RunLabels {
    runs: Labels,
    over_seeds: Labels,
    /// Seed of each run that differs from another only in its seed, as text after a label.
    seeds: Vec<String>,
}

impl RunLabels {
    fn of(runs: &[Run<'_>]) -> Self {
        Self::of_labels(&runs.iter().map(|run| run.label).collect::<Vec<_>>())
    }

    fn of_labels(labels: &[&str]) -> Self {
        let over_seeds = Labels::without_seeds(labels);
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        over_seeds.each.iter().for_each(|label| *counts.entry(label).or_default() += 1);
        let seeds = labels.iter().zip(&over_seeds.each).map(|(label, over_seeds)| match labels::seed(label) {
            Some(seed) if counts[over_seeds] > 1 => format!(": seed {seed}"),
            _ => String::new(),
        });
        Self { runs: Labels::of(labels), seeds: seeds.collect(), over_seeds }
    }

    /// Returns the label of a line: the run if there are several, and the entity if there are several or only one run.
    fn line(run: &str, entity: &str, many_runs: bool, many: bool) -> String {
        match (many_runs && !run.is_empty(), many) {
            (true, true) => format!("{run}: {entity}"),
            (true, false) => run.to_owned(),
            (false, _) => entity.to_owned(),
        }
    }

    /// Returns the labels of an entity of run `number`. `stem` is the entity's name without its number; `many` and
    /// `many_stems` are whether there are several.
    fn names(&self, number: usize, entity: &str, many: bool, stem: &str, many_stems: bool) -> Names {
        let many_runs = self.runs.each.len() > 1;
        let (run, over_seeds) = (&self.runs.each[number], &self.over_seeds.each[number]);
        Names {
            label: Self::line(run, entity, many_runs, many),
            of_run: Self::line(run, stem, many_runs, many_stems),
            of_seeds: Self::line(over_seeds, stem, many_runs, many_stems),
            coarse: if over_seeds.is_empty() { "all".to_owned() } else { over_seeds.clone() },
        }
    }

    /// Returns a title with the label of a single run, or with the common part of several runs and their only flow.
    fn title(&self, title: &str, flow: &str) -> String {
        let subject = match &self.runs.each[..] {
            [only] => only.clone(),
            _ => [self.runs.shared.as_str(), flow]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
        };
        if subject.is_empty() { title.to_owned() } else { format!("{title}: {}", frame::shortened(&subject, 60)) }
    }
}

impl Figure {
    /// Returns the figure as PNG with `scale` pixels per SVG pixel, from 0.1 to 8; values outside are clamped. 2 is
    /// sharp on paper and on high-resolution screens.
    ///
    /// # Errors
    /// [`PlotError::Render`]; no figure of this crate is known to cause it.
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, PlotError> {
        png::png(&self.name, &self.svg, scale)
    }

    /// Returns the figure in the format of one of [`FIGURE_ENDINGS`], as PNG with two pixels for each px; `None` for
    /// another ending.
    ///
    /// # Errors
    /// [`PlotError::Render`]; no figure of this crate is known to cause it.
    pub fn file(&self, ending: &str) -> Result<Option<Vec<u8>>, PlotError> {
        Ok(Some(match ending {
            "svg" => self.svg.clone().into_bytes(),
            "png" => self.to_png(2.0)?,
            "pdf" => self.to_pdf()?,
            _ => return Ok(None),
        }))
    }

    /// Returns the figure as PDF: one page of the figure's size (96 px are an inch), as vector graphics with text. The
    /// font is embedded.
    ///
    /// # Errors
    /// [`PlotError::Render`]; no figure of this crate is known to cause it.
    pub fn to_pdf(&self) -> Result<Vec<u8>, PlotError> {
        pdf::pdf(&self.name, &self.svg)
    }
}

/// The samples of a metric of a flow or a link of a run.
struct Found<'a> {
    run: usize,
    entity: &'a str,
    metric: &'a str,
    samples: &'a [(Instant, f64)],
}

/// Returns the samples of a figure of all flows with its first metric, or of all links that had a queue, of all runs.
/// Links, which are entities with a queue, also have throughput.
fn samples_of<'a>(figure: &SeriesFigure, runs: &[Run<'a>]) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let with = |name: Option<&&str>| -> BTreeSet<&str> {
            let has = run.series().filter(|(_, metric, _)| Some(metric) == name);
            has.map(|(entity, ..)| entity).collect()
        };
        let (links, shown) = (with(Some(&metric::QUEUE)), with(figure.metrics.first()));
        for (entity, metric, samples) in run.series() {
            let is_of_figure = figure.metrics.contains(&metric) && shown.contains(entity);
            if !is_of_figure || links.contains(entity) != figure.of_links {
                continue;
            }
            let samples = if metric::is_mean_rate(metric) { whole(samples) } else { samples };
            let is_drawn = |value: f64| is_drawable(value) && (!figure.of_links || value > 0.0);
            if samples.iter().any(|(_, value)| is_drawn(*value)) {
                found.push(Found { run: number, entity, metric, samples });
            }
        }
    }
    found
}

fn whole(samples: &[(Instant, f64)]) -> &[(Instant, f64)] {
    let times: Vec<f64> = samples.iter().map(|(at, _)| at.as_secs_f64()).collect();
    &samples[..whole_intervals(&times)]
}

fn largest(found: &[Found<'_>]) -> f64 {
    let values = found.iter().flat_map(|found| found.samples).map(|(_, value)| *value);
    values.filter(|value| is_drawable(*value)).fold(0.0, f64::max)
}

/// Draws a figure of one panel, or of small multiples; returns `None` without samples.
fn flow_figure(
    figure: &SeriesFigure,
    run_labels: &RunLabels,
    found: Vec<Found<'_>>,
    style: &Style,
) -> Result<Option<Figure>, PlotError> {
    let Some(first) = found.first().map(|found| found.entity) else { return Ok(None) };
    let many = found.iter().any(|found| found.entity != first);
    let many_stems = found.iter().any(|found| curves::group_name(found.entity) != curves::group_name(first));
    let entities: BTreeSet<&str> = found.iter().map(|found| found.entity).collect();
    let member = |found: &Found<'_>| {
        let stem = curves::group_name(found.entity);
        let mut names = run_labels.names(found.run, found.entity, many, &stem, many_stems);
        let (label, of_run) = (format!("{}{}", found.entity, run_labels.seeds[found.run]), stem);
        let mut in_panel = Names { label, of_seeds: of_run.clone(), of_run, coarse: "all".to_owned() };
        // A flow and its media kinds are not in one group, which would count packets twice.
        let kind = found.entity.rsplit_once('/').filter(|(flow, _)| entities.contains(flow));
        if let Some((_, kind)) = kind {
            for names in [&mut names, &mut in_panel] {
                names.coarse = format!("{}/{kind}", names.coarse);
            }
        }
        let panel = run_labels.over_seeds.each[found.run].clone();
        Some(Member { curve: Curve::new(names, found.samples)?, panel, in_panel })
    };
    let (y_title, scale) = y_axis_title(figure.name, figure.y_title, figure.unit(), largest(&found), style)?;
    let is_delay = figure.metrics == [metric::ONE_WAY_DELAY];
    let between = if is_delay { Between::LineWithoutGaps } else { Between::Line };
    let panel = |(title, traces, grouping): (String, Vec<Trace>, Grouping)| {
        let heading =
            if title.is_empty() { grouping.heading(&run_labels.runs, &run_labels.over_seeds, true) } else { "" };
        Panel { title, y_title: y_title.clone(), scale, heading: heading.to_owned(), traces, between }
    };
    let panels = multiples::panels(found.iter().filter_map(member).collect()).into_iter().map(panel).collect();
    let title = run_labels.title(figure.title, if many { "" } else { first });
    draw::figure(figure.name, &title, panels, None, style).map(Some)
}

/// Draws a panel for each of the links with the longest mean queues; returns `None` without a queue.
fn queue_figure(
    figure: &SeriesFigure,
    run_labels: &RunLabels,
    runs: &[Run<'_>],
    style: &Style,
) -> Result<Option<Figure>, PlotError> {
    let mut links: Vec<(&str, f64)> = Vec::new();
    for run in runs {
        for (entity, metric, samples) in run.series() {
            let mean = samples.iter().map(|(_, value)| value).sum::<f64>() / samples.len().max(1) as f64;
            if metric == metric::QUEUE && mean > 0.0 {
                match links.iter_mut().find(|(name, _)| *name == entity) {
                    Some((_, longest)) => *longest = longest.max(mean),
                    None => links.push((entity, mean)),
                }
            }
        }
    }
    links.sort_by(|a, b| b.1.total_cmp(&a.1));
    let omitted = links.len().saturating_sub(MAX_PANELS);
    links.truncate(MAX_PANELS);
    // Labels distinguish queue and average in all panels if any has an average, so that panels can share a legend.
    let averages = runs
        .iter()
        .flat_map(Run::series)
        .any(|(link, metric, _)| metric == metric::RED_AVERAGE && links.iter().any(|(known, _)| *known == link));
    let (y_title, scale) = y_axis_title(figure.name, figure.y_title, figure.unit(), 0.0, style)?;
    let panel = |link: &str| {
        let mut found = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let curve = |metric_name: &str, label: &str| {
                let samples = run.series().find(|(entity, metric, _)| *entity == link && *metric == metric_name);
                let names = run_labels.names(number, label, averages, label, averages);
                let names = Names { coarse: label.to_owned(), ..names };
                Curve::new(names, samples.map_or(&[], |(_, _, samples)| samples))
            };
            let average = curve(metric::RED_AVERAGE, "RED average");
            let queue = curve(metric::QUEUE, "queue");
            found.extend(if average.is_some() { queue.map(Curve::pale) } else { queue });
            found.extend(average);
        }
        let (traces, grouping) = curves::reduce(found);
        let heading = grouping.heading(&run_labels.runs, &run_labels.over_seeds, false).to_owned();
        Panel { title: link.to_owned(), y_title: y_title.clone(), scale, heading, traces, between: Between::Steps }
    };
    let panels: Vec<Panel> = links.iter().map(|(link, _)| panel(link)).collect();
    if panels.is_empty() {
        return Ok(None);
    }
    let title = match omitted {
        0 => figure.title.to_owned(),
        _ => format!("{}: the {} longest of {}", figure.title, panels.len(), panels.len() + omitted),
    };
    draw::figure(figure.name, &run_labels.title(&title, ""), panels, None, style).map(Some)
}
