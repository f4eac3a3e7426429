//! The figures of a record. The list does not need the feature `plot`, because a run removes the figures of an earlier
//! run.

use crate::metric;

/// A figure that shows metrics of `series.arrow` over time.
#[derive(Clone, Copy, Debug)]
pub struct SeriesFigure {
    /// Name of the figure and of its files.
    pub name: &'static str,
    /// Names of the metrics in `series.arrow`. A single metric has a line for each flow or link. Of several metrics, each
    /// has a line in the panel of a flow, for flows with the first metric.
    pub metrics: &'static [&'static str],
    /// Title above the figure.
    pub title: &'static str,
    /// Title of the figure's vertical axis, without the unit.
    pub y_title: &'static str,
    /// Whether the figure shows the metrics of links instead of those of flows.
    pub of_links: bool,
}

/// Figures of the time series in `series.arrow`.
pub const SERIES_FIGURES: [SeriesFigure; 9] = [
    of_flows("throughput", &[metric::THROUGHPUT], "Throughput of each flow", "Throughput"),
    of_flows("delay", &[metric::ONE_WAY_DELAY], "One-way delay of each flow", "One-way delay"),
    of_flows("allowed-rate", &[metric::ALLOWED_RATE], "Allowed data rate of each controller", "Rate"),
    of_flows(
        "rates",
        &[metric::SENDING_RATE, metric::ALLOWED_RATE, metric::ENCODER_RATE],
        "Sending, allowed and encoder rate of each flow",
        "Rate",
    ),
    SeriesFigure { of_links: true, ..of_flows("queue", &[metric::QUEUE], "Queue of each link", "Queue") },
    of_flows("cwnd", &[metric::CWND], "Congestion window of each flow", "Window"),
    of_flows("rtt", &[metric::RTT], "Smoothed round-trip time of each controller", "Round-trip time"),
    of_flows("loss-events", &[metric::LOSS_EVENT_RATE], "Loss event rate of each controller", "Loss event rate"),
    of_flows("loss", &[metric::LOSS], "Packets lost since the start", "Lost"),
];

/// Endings of the names of a figure's files, one for each format.
pub const FIGURE_ENDINGS: [&str; 3] = ["svg", "png", "pdf"];

/// Names of the figures of `distributions.json`: delays of packets, and of frames.
pub(crate) const DISTRIBUTION_FIGURES: [&str; 2] = ["delay-cdf", "frames"];

/// Name of the figure of `events.arrow`: dropped packets by cause.
pub const DROPS_FIGURE: &str = "drops";

/// Name of the figure of `packets.arrow`: sequence numbers over time.
pub const SEQUENCE_FIGURE: &str = "sequence";

const fn of_flows(
    name: &'static str,
    metrics: &'static [&'static str],
    title: &'static str,
    y_title: &'static str,
) -> SeriesFigure {
    SeriesFigure { name, metrics, title, y_title, of_links: false }
}

impl SeriesFigure {
    /// Returns the unit of the metrics, or `None` for a ratio.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        self.metrics.first().and_then(|metric| metric::unit_of(metric))
    }
}

/// Returns the names of all figures of a record.
pub fn figure_names() -> impl Iterator<Item = &'static str> {
    SERIES_FIGURES.iter().map(|figure| figure.name).chain(DISTRIBUTION_FIGURES).chain([DROPS_FIGURE, SEQUENCE_FIGURE])
}
