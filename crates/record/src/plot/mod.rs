//! Pictures of runs: throughput, queues, congestion windows and losses over time, as SVG and PNG.
//!
//! Runs lie over one another in one picture, a colour for each run and flow, with the legend beside the plot. More
//! lines than colours become a mean and a band from the smallest to the largest for each group of flows of one name
//! (`ftp-1`, `ftp-2`, ...). Colours are those of Okabe and Ito, which people with any colour vision can tell apart.
//! A line has at most four points for each pixel of width, so a picture's size does not depend on the run's length.
//! A [`Chart`] shows means over many runs instead: the figures of papers.

mod chart;
mod curves;
mod draw;
mod render;

pub use chart::{Chart, ChartLine, ChartPoint, LineStyle};

use crate::{SeriesTable, metric};
use curves::{Curve, Drawn};
use headway_units::Instant;
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

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it shows, fit for a file name, such as `throughput`.
    pub name: String,
    /// The picture as SVG text.
    pub svg: String,
}

/// A picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// Drawing failed.
    #[error("the picture \"{name}\" could not be drawn: {why}")]
    Draw {
        /// Which one.
        name: String,
        /// What the drawing library says.
        why: String,
    },
    /// Turning the SVG into pixels failed.
    #[error("the picture \"{name}\" could not be turned into pixels: {why}")]
    Render {
        /// Which one.
        name: String,
        /// What the rendering library says.
        why: String,
    },
}

/// At most this many links have their own panel.
const MAX_PANELS: usize = 4;

/// One plot area of a picture.
struct Panel {
    title: String,
    y_title: String,
    /// What a value is divided by to be in the unit of `y_title`.
    scale: f64,
    drawn: Vec<Drawn>,
}

/// Every picture that the samples of `runs` allow; a metric without samples has none.
///
/// # Errors
/// [`PlotError::Draw`], which no input is known to cause.
pub fn figures(runs: &[Run<'_>]) -> Result<Vec<Figure>, PlotError> {
    let mut figures = Vec::new();
    for (name, of, title, what) in [
        ("throughput", metric::THROUGHPUT, "Throughput of each flow", "Throughput"),
        ("allowed-rate", metric::ALLOWED_RATE, "Data rate that each controller allows", "Rate"),
    ] {
        let found = flow_curves(runs, of);
        if !found.is_empty() {
            let (unit, scale) = rate_unit(curves::largest(&found));
            let y_title = format!("{what} ({unit})");
            let panel = Panel { title: String::new(), y_title, scale, drawn: curves::reduce(found) };
            figures.push(draw::figure(name, title, runs, vec![panel])?);
        }
    }
    let (panels, left_out) = queue_panels(runs);
    if !panels.is_empty() {
        let title = match left_out {
            0 => "Queue of each link".to_owned(),
            _ => format!("Queue of each link: the {} longest of {}", panels.len(), panels.len() + left_out),
        };
        figures.push(draw::figure("queue", &title, runs, panels)?);
    }
    for (name, of, title, y_title) in [
        ("cwnd", metric::CWND, "Congestion window of each flow", "Window (packets)"),
        ("rtt", metric::RTT, "Round trip as each controller has smoothed it", "Round trip (s)"),
        ("loss-events", metric::LOSS_EVENT_RATE, "Loss event rate of each controller", "Loss event rate"),
        ("loss", metric::LOSS, "Packets lost since the start", "Lost (packets)"),
    ] {
        let found = flow_curves(runs, of);
        if !found.is_empty() {
            let panel =
                Panel { title: String::new(), y_title: y_title.to_owned(), scale: 1.0, drawn: curves::reduce(found) };
            figures.push(draw::figure(name, title, runs, vec![panel])?);
        }
    }
    Ok(figures)
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

/// The curves of `of` of every flow of every run. Links are sampled for throughput, too: an entity with a queue is one.
fn flow_curves(runs: &[Run<'_>], of: &str) -> Vec<Curve> {
    let mut found = Vec::new();
    for run in runs {
        let links: BTreeSet<&str> =
            run.series().filter(|(_, metric, _)| *metric == metric::QUEUE).map(|(entity, ..)| entity).collect();
        let named = |name: &str| if runs.len() > 1 { format!("{}: {name}", run.label) } else { name.to_owned() };
        for (entity, metric, samples) in run.series() {
            if metric == of && !links.contains(entity) {
                found.extend(Curve::new(named(entity), named(curves::stem(entity)), run.label, samples));
            }
        }
    }
    found
}

/// A panel for each of the links with the longest mean queue, and how many used links have none.
fn queue_panels(runs: &[Run<'_>]) -> (Vec<Panel>, usize) {
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
    let panel = |link: &str| {
        let mut found = Vec::new();
        for run in runs {
            let curve = |of: &str, what: &str| {
                let label = if runs.len() > 1 { format!("{}: {what}", run.label) } else { what.to_owned() };
                let samples = run.series().find(|(entity, metric, _)| *entity == link && *metric == of);
                Curve::new(label, what.to_owned(), what, samples.map_or(&[], |(_, _, samples)| samples))
            };
            let average = curve(metric::RED_AVERAGE, "RED average");
            let queue = curve(metric::QUEUE, "queue");
            found.extend(if average.is_some() { queue.map(Curve::behind_the_next) } else { queue });
            found.extend(average);
        }
        let y_title = "Waiting (packets)".to_owned();
        Panel { title: link.to_owned(), y_title, scale: 1.0, drawn: curves::reduce(found) }
    };
    (links.into_iter().map(|(link, _)| panel(link)).collect(), left_out)
}

fn rate_unit(bits_per_second: f64) -> (&'static str, f64) {
    match bits_per_second {
        rate if rate >= 1e9 => ("Gb/s", 1e9),
        rate if rate >= 1e6 => ("Mb/s", 1e6),
        _ => ("kb/s", 1e3),
    }
}
