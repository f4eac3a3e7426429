//! Options of the commands that show records, and the appearance of charts.

use clap::{Args, ValueEnum};
use headway_record::plot::SweepChart;
use headway_units::Duration;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Args)]
pub(crate) struct PlotOptions {
    /// Folders of records, written for example by `headway run`. Several records share each chart. Or one folder of a
    /// dataset, written by `headway sweep`: the metrics are drawn over a varied key. If that folder also has records
    /// (`headway sweep --records`), they are drawn unless --over, --by, --boxes, --cdf or --heat-map is set.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// Kind of chart [default: series].
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<PlotKind>,
    /// For records: draw only this time series, such as throughput. For a dataset: draw this metric, an expression or
    /// NAME=EXPRESSION. May be repeated [default: all time series with samples, or the default metrics of `headway
    /// sweep`].
    #[arg(long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Varied key of a dataset on the horizontal axis [default: the first one whose values are numbers, or else the
    /// first one, apart from that of --by].
    #[arg(long, value_name = "KEY")]
    pub(crate) over: Option<String>,
    #[command(flatten)]
    pub(crate) of_sweep: OverOptions,
    /// Draw the simulated time from here on, such as 5s, of time series, --kind drops and --kind sequence [default: from
    /// `measure_from` of the scenario].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<Duration>,
    /// Draw the simulated time up to here, as --from [default: the end of the run].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<Duration>,
    /// Draw the complementary distribution, the share of delays above each value, on a logarithmic vertical axis.
    /// Requires --kind delay-cdf or frames.
    #[arg(long)]
    pub(crate) complementary: bool,
    /// Use a logarithmic horizontal axis, for the delays of --kind delay-cdf or frames, or for the key of a dataset
    /// that is on the horizontal axis (see --over). All values of this key must be numbers above 0. Not for --kind
    /// series, drops and sequence, and not with --boxes, --cdf or --heat-map.
    #[arg(long)]
    pub(crate) log_x: bool,
    /// Folder for the charts [default: the first DIR].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) style: StyleOptions,
}

impl PlotOptions {
    /// Returns an option that only the chart of a dataset has, if one is given.
    pub(crate) fn only_of_dataset(&self) -> Option<&'static str> {
        let OverOptions { by, boxes, cdf, heat_map } = &self.of_sweep;
        let given = [
            (self.over.is_some(), "--over"),
            (by.is_some(), "--by"),
            (*boxes, "--boxes"),
            (*cdf, "--cdf"),
            (*heat_map, "--heat-map"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ViewOptions {
    /// Folders of records, written for example by `headway run`. Several records share each chart.
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
    /// Folders of records, written for example by `headway run`. Several records share each chart.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// Output file; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Omit packet traces, which are the largest part of a report.
    #[arg(long)]
    pub(crate) without_packets: bool,
}

/// Charts of a sweep's metrics over a varied key.
#[derive(Debug, Args)]
pub(crate) struct OverOptions {
    /// Draw one line for each value of this varied key [default of `headway plot`: the first varied key not on the
    /// horizontal axis; of `headway sweep`: no key].
    #[arg(long, value_name = "KEY")]
    pub(crate) by: Option<String>,
    /// Draw box plots of each metric over the seeds (quartiles and whiskers) instead of means with confidence
    /// intervals.
    #[arg(long)]
    pub(crate) boxes: bool,
    /// Draw the cumulative distribution of each metric over the seeds, instead of means with confidence intervals. Each
    /// line is for one pair of values of two varied keys: the key of --over in `headway plot` or of --plot in `headway
    /// sweep`, and the key of --by.
    #[arg(long, conflicts_with = "boxes")]
    pub(crate) cdf: bool,
    /// Draw the mean of each metric as color over two varied keys. The key of --over in `headway plot` or of --plot in
    /// `headway sweep` is on the horizontal axis, and the key of --by is on the vertical axis.
    #[arg(long, conflicts_with_all = ["boxes", "cdf"])]
    pub(crate) heat_map: bool,
}

impl OverOptions {
    pub(crate) fn chart(&self) -> SweepChart {
        match self {
            Self { heat_map: true, .. } => SweepChart::HeatMap,
            Self { boxes: true, .. } => SweepChart::Boxes,
            Self { cdf: true, .. } => SweepChart::Distributions,
            _ => SweepChart::Lines,
        }
    }
}

/// Appearance of charts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Style")]
pub(crate) struct StyleOptions {
    /// Chart size, font size and legend position for a column or the whole width of a page, and no title. The other
    /// style options replace single ones of these settings.
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<PlotPreset>,
    /// Title above each chart; "" for none [default: the metric of the chart, or no title if --preset is set].
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Label of the horizontal axis [default: the quantity and its unit].
    #[arg(long, value_name = "TEXT")]
    pub(crate) x_label: Option<String>,
    /// Label of the vertical axis [default: the quantity and its unit].
    #[arg(long, value_name = "TEXT")]
    pub(crate) y_label: Option<String>,
    /// Replace a label, such as a value in the legend (`droptail=DropTail`). May be repeated.
    #[arg(long = "name", value_name = "LABEL=TEXT", value_parser = name)]
    pub(crate) names: Vec<(String, String)>,
    /// Width and height in px (1/96 inch) or mm, such as 800x500 or 88x60mm, each from 200 to 4000 px. A PNG has two
    /// pixels for each px [default: that of --preset, or 960 px wide and as high as needed].
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub(crate) size: Option<PlotSize>,
    /// Font size of labels in px or pt, such as 13 or 8pt, from 6 to 200 px. A size above a twentieth of the chart's
    /// shorter side (without --size and --preset: of its width) is reduced to that. Titles are proportionally larger
    /// [default: 13, or 8pt if --preset is set].
    #[arg(long, value_name = "SIZE", value_parser = font_size, allow_negative_numbers = true)]
    pub(crate) font_size: Option<f64>,
    /// Position of the legend [default: outside, or below if --preset is set].
    #[arg(long, value_name = "PLACE")]
    pub(crate) legend: Option<PlotLegend>,
    /// Format of the files. May be repeated [default: all].
    #[arg(long = "format", value_name = "FORMAT")]
    pub(crate) formats: Vec<PlotFormat>,
}

/// Style of a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotPreset {
    /// Column of an IEEE journal or conference, 88.9 mm (3.5 in) wide.
    IeeeColumn,
    /// Page of an IEEE journal or conference, 181.9 mm (7.16 in) wide.
    IeeePage,
    /// Column of an ACM conference (`acmart`, `sigconf`), 84.7 mm wide.
    AcmColumn,
    /// Page of an ACM conference (`acmart`, `sigconf`), 177.9 mm wide.
    AcmPage,
}

/// px in a mm, and in a pt.
const PX_PER_MM: f64 = 96.0 / 25.4;
const PX_PER_PT: f64 = 96.0 / 72.0;

impl PlotPreset {
    /// Text size of the presets, in px: 8 pt, as in the captions of both publishers.
    pub(crate) const FONT_SIZE: f64 = 8.0 * PX_PER_PT;

    pub(crate) fn size(self) -> PlotSize {
        let (width, height) = match self {
            Self::IeeeColumn => (88.9, 60.0),
            Self::IeeePage => (181.9, 80.0),
            Self::AcmColumn => (84.7, 58.0),
            Self::AcmPage => (177.9, 80.0),
        };
        PlotSize { width: width * PX_PER_MM, height: height * PX_PER_MM }
    }
}

/// Reads a text size in px or pt. Returns it in px.
fn font_size(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix("pt").map_or((text, 1.0), |number| (number, PX_PER_PT));
    let size = number.parse().map(|size: f64| size * unit).ok().filter(|size| (6.0..=200.0).contains(size));
    size.ok_or_else(|| "expected a size from 6 to 200 px, such as 13 or 8pt".to_owned())
}

/// Reads a label and the text that replaces it. The label may contain `=`.
fn name(text: &str) -> Result<(String, String), String> {
    let parts = text.rsplit_once('=').filter(|(label, _)| !label.is_empty());
    let (label, name) = parts.ok_or("expected LABEL=TEXT, such as droptail=DropTail")?;
    Ok((label.to_owned(), name.to_owned()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    /// Time series, one chart per metric.
    Series,
    /// Cumulative distribution of the one-way delays of received packets; needs records with `[record] distributions =
    /// true`.
    #[value(alias = "cdf")]
    DelayCdf,
    /// Share of the media frames that arrive completely within a time after the sender wrote them, as a curve over that
    /// time; needs records with `[record] distributions = true`.
    Frames,
    /// Number of dropped packets over time, by cause and flow.
    Drops,
    /// Sequence numbers of the packets of each flow over time, with marks where they are sent, received, acknowledged and
    /// dropped; needs one record of `headway run --trace packets`.
    Sequence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotFormat {
    Svg,
    Png,
    /// Vector graphics with text in an embedded font.
    Pdf,
}

impl PlotFormat {
    /// Returns the ending of the files.
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlotSize {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl FromStr for PlotSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (numbers, unit) = text.strip_suffix("mm").map_or((text, 1.0), |numbers| (numbers, PX_PER_MM));
        let number = |text: &str| {
            let number: f64 = text.strip_suffix("mm").filter(|_| unit != 1.0).unwrap_or(text).parse().ok()?;
            Some(number * unit).filter(|pixels| (200.0..=4000.0).contains(pixels))
        };
        let both = numbers.split_once('x').and_then(|(width, height)| Some((number(width)?, number(height)?)));
        both.map(|(width, height)| Self { width, height }).ok_or_else(|| {
            "expected WIDTHxHEIGHT in px from 200 to 4000, such as 800x500, or in mm from 53 to 1058, such as 88x60mm"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let px = |text: &str| text.parse::<PlotSize>().map(|size| [size.width, size.height].map(f64::round));
        assert_eq!(px("800x500"), Ok([800.0, 500.0]));
        assert_eq!(px("127x63.5mm"), Ok([480.0, 240.0]));
        assert_eq!(px("127mmx63.5mm"), Ok([480.0, 240.0]));
        for wrong in ["800", "800x", "199x500", "800x4001", "50x60mm", "127mmx300", "NaNxNaN", "infx300"] {
            assert!(px(wrong).is_err(), "{wrong}");
        }
        assert_eq!((font_size("13"), font_size("9pt")), (Ok(13.0), Ok(12.0)));
        for wrong in ["5", "4pt", "201", "-8", "x", "NaN"] {
            assert!(font_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn labels_may_contain_an_equals_sign() {
        assert_eq!(name("kind=red=RED"), Ok(("kind=red".to_owned(), "RED".to_owned())));
        assert!(name("red").is_err() && name("=RED").is_err());
    }
}
