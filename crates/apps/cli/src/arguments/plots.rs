//! Options of the commands that show records, and the appearance of charts.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use headway_record::SERIES_FIGURES;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Args)]
pub(crate) struct PlotOptions {
    /// Folders of records, written by `headway run`. Several records share each chart.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// Kind of chart.
    #[arg(long, value_name = "KIND", default_value = "series")]
    pub(crate) kind: PlotKind,
    /// Draw only the chart of this time series. May be repeated [default: all time series with samples].
    #[arg(long = "metric", value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(SERIES_FIGURES.map(|figure| figure.name)))]
    pub(crate) metrics: Vec<String>,
    /// Draw the complementary distribution, the share of delays above each value, on a logarithmic vertical axis.
    /// Requires --kind delay-cdf or frames.
    #[arg(long)]
    pub(crate) complementary: bool,
    /// Use a logarithmic horizontal axis for delays. Requires --kind delay-cdf or frames.
    #[arg(long)]
    pub(crate) log_x: bool,
    /// Folder for the charts [default: the first DIR].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Image format. May be repeated [default: all].
    #[arg(long = "format", value_name = "FORMAT")]
    pub(crate) formats: Vec<PlotFormat>,
    #[command(flatten)]
    pub(crate) style: StyleOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ViewOptions {
    /// Folders of records, written by `headway run`. Several records share each chart.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// TCP port of the viewer on the loopback address. 0 selects a free port.
    #[arg(long, value_name = "PORT", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) port: u16,
    /// Print the address without opening a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Folders of records, written by `headway run`. Several records share each chart.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// Output file; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Omit packet traces, which are the largest part of a report.
    #[arg(long)]
    pub(crate) without_packets: bool,
}

/// Appearance of charts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Style")]
pub(crate) struct StyleOptions {
    /// Title above each chart; "" for none [default: the metric of the chart].
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Label of the horizontal axis [default: the quantity and its unit].
    #[arg(long, value_name = "TEXT")]
    pub(crate) x_label: Option<String>,
    /// Label of the vertical axis [default: the quantity and its unit].
    #[arg(long, value_name = "TEXT")]
    pub(crate) y_label: Option<String>,
    /// Width and height of the SVG in px, each from 200 to 4000. The PNG has twice these dimensions [default: 960 wide,
    /// height as needed].
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub(crate) size: Option<PlotSize>,
    /// Font size of labels in px, from 6 to a twentieth of the chart's shorter side. Titles are proportionally larger.
    #[arg(long, value_name = "PX", default_value = "13", value_parser = clap::value_parser!(u32).range(6..=200), allow_negative_numbers = true)]
    pub(crate) font_size: u32,
    /// Position of the legend.
    #[arg(long, value_name = "PLACE", default_value = "outside")]
    pub(crate) legend: PlotLegend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    /// Time series, one chart per metric.
    Series,
    /// Cumulative distribution of the one-way delays of received packets; needs records with `[record] distributions =
    /// true`.
    DelayCdf,
    /// Share of the media frames that arrive completely within a time after the sender wrote them, as a curve over that
    /// time; needs records with `[record] distributions = true`.
    Frames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotFormat {
    Svg,
    Png,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotLegend {
    /// To the right of the plot.
    Outside,
    /// Below the plot, in rows.
    Below,
    /// No legend.
    None,
}

/// Width and height in px.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlotSize {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl FromStr for PlotSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|pixels| (200..=4000).contains(pixels));
        let both = text.split_once('x').and_then(|(width, height)| Some((number(width)?, number(height)?)));
        both.map(|(width, height)| Self { width, height })
            .ok_or_else(|| "expected WIDTHxHEIGHT in px, each from 200 to 4000, such as 800x500".to_owned())
    }
}
