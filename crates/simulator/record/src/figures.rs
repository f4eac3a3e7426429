//! The figures of a record. The list does not need the feature `plot`, because a run removes the figures of an earlier
//! run.

use crate::metric;

/// A figure that shows a metric of `series.arrow` over time, with a line for each flow or link.
#[derive(Clone, Copy, Debug)]
pub struct SeriesFigure {
    /// Name of the figure and of its files.
    pub name: &'static str,
    /// Name of the metric in `series.arrow`.
    pub metric: &'static str,
    /// Title above the figure.
    pub title: &'static str,
    /// Title of the figure's vertical axis, without the unit.
    pub y_title: &'static str,
    /// Whether the figure shows the metric of links instead of that of flows.
    pub of_links: bool,
}

/// Figures of the time series in `series.arrow`.
pub const SERIES_FIGURES: [SeriesFigure; 8] = [
    of_flows("throughput", metric::THROUGHPUT, "Throughput of each flow", "Throughput"),
    of_flows("delay", metric::ONE_WAY_DELAY, "One-way delay of each flow", "One-way delay"),
    of_flows("allowed-rate", metric::ALLOWED_RATE, "Allowed data rate of each controller", "Rate"),
    SeriesFigure { of_links: true, ..of_flows("queue", metric::QUEUE, "Queue of each link", "Queue") },
    of_flows("cwnd", metric::CWND, "Congestion window of each flow", "Window"),
    of_flows("rtt", metric::RTT, "Smoothed round-trip time of each controller", "Round-trip time"),
    of_flows("loss-events", metric::LOSS_EVENT_RATE, "Loss event rate of each controller", "Loss event rate"),
    of_flows("loss", metric::LOSS, "Packets lost since the start", "Lost"),
];

/// Endings of the names of a figure's files, one for each format.
pub const FIGURE_ENDINGS: [&str; 3] = ["svg", "png", "pdf"];

/// Names of the figures of `distributions.json`: delays of packets, and of frames.
pub(crate) const DISTRIBUTION_FIGURES: [&str; 2] = ["delay-cdf", "frames"];

const fn of_flows(name: &'static str, metric: &'static str, title: &'static str, y: &'static str) -> SeriesFigure {
    SeriesFigure { name, metric, title, y_title: y, of_links: false }
}

impl SeriesFigure {
    /// Returns the unit of the metric, or `None` for a ratio.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        metric::unit_of(self.metric)
    }
}

/// Returns the names of all figures of a record.
pub fn figure_names() -> impl Iterator<Item = &'static str> {
    SERIES_FIGURES.iter().map(|figure| figure.name).chain(DISTRIBUTION_FIGURES)
}
