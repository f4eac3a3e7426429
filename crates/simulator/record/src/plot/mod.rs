//! Pictures of runs: throughput, queues, congestion windows and losses over time, as SVG and PNG.
//!
//! Runs lie over one another in one picture, a colour for each run and flow, with the legend beside the plot. More
//! lines than colours become a mean and a band from the smallest to the largest for each group of flows of one name
//! (`ftp-1`, `ftp-2`, ...). Colours are those of Okabe and Ito, which people with any colour vision can tell apart.
//! A line has at most four points for each pixel of width, so a picture's size does not depend on the run's length.
//! A [`Chart`] shows means over many runs instead: the figures of papers.

mod axis;
mod boxes;
mod chart;
mod curves;
mod delays;
mod draw;
mod figure;
mod font;
mod frame;
mod glyphs;
mod labels;
mod legend;
mod marks;
mod render;
mod style;
mod sweep;

pub use axis::{XAxis, YAxis};
pub use boxes::ChartBox;
pub use chart::{Chart, ChartLine, ChartPoint, LineStyle};
pub use curves::{is_drawable, whole_intervals};
pub use delays::{RunDelays, delay_chart, frame_chart};
pub use figure::{Figure, PlotError};
pub use render::RenderError;
pub use style::{LegendPlace, Style};
pub use sweep::{Group, GroupPoint, Sweep};

use crate::{SERIES_FIGURES, SeriesFigure, SeriesTable, axis_title, metric};
use curves::{Curve, Names};
use draw::Panel;
use headway_units::Instant;
use labels::Labels;
use std::collections::BTreeSet;

/// A run to draw: what the legend calls it, and its samples.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What the legend calls it.
    pub label: &'a str,
    /// Its samples.
    pub series: &'a SeriesTable,
    /// From when on it was measured, in s: earlier samples are not drawn, so that pictures show what summaries are of.
    pub from: f64,
}

impl<'a> Run<'a> {
    /// Every series with the samples that are drawn.
    fn series(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a [(Instant, f64)])> {
        let from = self.from;
        self.series.iter().map(move |(entity, metric, samples)| {
            let first = samples.iter().position(|(at, _)| at.as_secs_f64() >= from).unwrap_or(samples.len());
            (entity, metric, &samples[first..])
        })
    }
}

/// The programs of the book's page.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/src/plots.md")]
struct Book;

/// At most this many links have their own panel.
const MAX_PANELS: usize = 4;

/// Every picture that the samples of `runs` allow; a metric without samples has none. Legends tell what sets lines apart: the run, if there
/// are several, and the flow, if there are several. What all runs share stands in the title.
///
/// # Errors
/// [`PlotError::Draw`], which no input is known to cause.
pub fn figures(runs: &[Run<'_>], style: &Style) -> Result<Vec<Figure>, PlotError> {
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let named = Named { runs: Labels::of(&labels), over_seeds: Labels::but_for_seed(&labels) };
    let mut figures = Vec::new();
    for figure in &SERIES_FIGURES {
        figures.extend(match figure.of_links {
            true => queue_figure(figure, &named, runs, style)?,
            false => flow_figure(figure, &named, flow_curves(runs, figure.metric), style)?,
        });
    }
    Ok(figures)
}

/// What runs are called.
struct Named {
    runs: Labels,
    over_seeds: Labels,
}

impl Named {
    /// A line of a run: by what there are several of.
    fn line(run: &str, of: &str, many_runs: bool, many: bool) -> String {
        match (many_runs && !run.is_empty(), many) {
            (true, true) => format!("{run}: {of}"),
            (true, false) => run.to_owned(),
            (false, _) => of.to_owned(),
        }
    }

    /// The names of what run `number` has of `of`, which is one of several or not, with and without its number.
    fn names(&self, number: usize, of: &str, many: bool, stem: &str, many_stems: bool) -> Names {
        let many_runs = self.runs.each.len() > 1;
        let (run, over_seeds) = (&self.runs.each[number], &self.over_seeds.each[number]);
        Names {
            label: Self::line(run, of, many_runs, many),
            of_run: Self::line(run, stem, many_runs, many_stems),
            of_seeds: Self::line(over_seeds, stem, many_runs, many_stems),
            coarse: if over_seeds.is_empty() { "all".to_owned() } else { over_seeds.clone() },
        }
    }

    /// A title, with the name of an only run, what all share, and the only flow of several runs.
    fn title(&self, title: &str, flow: &str) -> String {
        let of = match &self.runs.each[..] {
            [only] => only.clone(),
            _ => [self.runs.shared.as_str(), flow]
                .into_iter()
                .filter(|words| !words.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
        };
        if of.is_empty() { title.to_owned() } else { format!("{title}: {}", frame::shortened(&of, 60)) }
    }
}

impl Figure {
    /// The picture as a PNG of `scale` pixels for each unit of the SVG: 2 is sharp on paper and on dense screens.
    /// Between 0.1 and 8; values outside are taken as the nearest within.
    ///
    /// # Errors
    /// [`PlotError::Render`], which no picture made here is known to cause.
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, PlotError> {
        render::png(&self.name, &self.svg, scale)
    }
}

/// Samples of a flow of a run.
struct Found<'a> {
    run: usize,
    flow: &'a str,
    samples: &'a [(Instant, f64)],
}

/// What there is of `of`, of every flow of every run. Links are sampled for throughput, too: an entity with a queue is one.
fn flow_curves<'a>(runs: &[Run<'a>], of: &str) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (run, of_run) in runs.iter().enumerate() {
        let links: BTreeSet<&str> =
            of_run.series().filter(|(_, metric, _)| *metric == metric::QUEUE).map(|(entity, ..)| entity).collect();
        for (flow, metric, samples) in of_run.series() {
            let samples = if of == metric::THROUGHPUT { whole(samples) } else { samples };
            if metric == of && !links.contains(flow) && samples.iter().any(|(_, value)| is_drawable(*value)) {
                found.push(Found { run, flow, samples });
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

/// A picture of one panel; none of nothing.
fn flow_figure(
    figure: &SeriesFigure,
    named: &Named,
    found: Vec<Found<'_>>,
    style: &Style,
) -> Result<Option<Figure>, PlotError> {
    let Some(first) = found.first().map(|found| found.flow) else { return Ok(None) };
    let many = found.iter().any(|found| found.flow != first);
    let many_stems = found.iter().any(|found| curves::stem(found.flow) != curves::stem(first));
    let curve = |found: &Found<'_>| {
        let names = named.names(found.run, found.flow, many, curves::stem(found.flow), many_stems);
        Curve::new(names, found.samples)
    };
    let (drawn, together) = curves::reduce(found.iter().filter_map(curve).collect());
    let heading = together.heading(&named.runs, &named.over_seeds).to_owned();
    let (y_title, scale) = axis_title(figure.y_title, figure.unit(), largest(&found), style.y_title.as_deref());
    let panel = Panel { title: String::new(), y_title, scale, heading, drawn };
    let title = named.title(figure.title, if many { "" } else { first });
    draw::figure(figure.name, &title, &[panel], style).map(Some)
}

/// Draws a panel for each of the links with the longest mean queue; none if no link had a queue.
fn queue_figure(
    figure: &SeriesFigure,
    named: &Named,
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
    let left_out = links.len().saturating_sub(MAX_PANELS);
    links.truncate(MAX_PANELS);
    // Panels share a legend if they can: what is told apart in one of them is told apart in all.
    let averages = runs
        .iter()
        .flat_map(Run::series)
        .any(|(link, metric, _)| metric == metric::RED_AVERAGE && links.iter().any(|(known, _)| *known == link));
    let panel = |link: &str| {
        let mut found = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let curve = |of: &str, what: &str| {
                let samples = run.series().find(|(entity, metric, _)| *entity == link && *metric == of);
                let names = Names { coarse: what.to_owned(), ..named.names(number, what, averages, what, averages) };
                Curve::new(names, samples.map_or(&[], |(_, _, samples)| samples))
            };
            let average = curve(metric::RED_AVERAGE, "RED average");
            let queue = curve(metric::QUEUE, "queue");
            found.extend(if average.is_some() { queue.map(Curve::behind_the_next) } else { queue });
            found.extend(average);
        }
        let (drawn, together) = curves::reduce(found);
        let heading = match together {
            curves::Together::Coarse => String::new(),
            _ => together.heading(&named.runs, &named.over_seeds).to_owned(),
        };
        let (y_title, scale) = axis_title(figure.y_title, figure.unit(), 0.0, None);
        Panel { title: link.to_owned(), y_title, scale, heading, drawn }
    };
    let panels: Vec<Panel> = links.iter().map(|(link, _)| panel(link)).collect();
    if panels.is_empty() {
        return Ok(None);
    }
    let title = match left_out {
        0 => figure.title.to_owned(),
        _ => format!("{}: the {} longest of {}", figure.title, panels.len(), panels.len() + left_out),
    };
    draw::figure(figure.name, &named.title(&title, ""), &panels, style).map(Some)
}
