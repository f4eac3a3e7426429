//! What may stand on the command line.

use crate::sockets::arguments::{RecvOptions, RelayOptions, SendOptions};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use headway_record::SERIES_FIGURES;
use headway_run::TraceFormat;
use headway_units::Probability;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Real-time media over UDP without wrecking the network: a packet simulator for rate control and queues, and the same on real sockets.
#[derive(Debug, Parser)]
#[command(name = "headway", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and leave its record in a folder.
    Run(RunOptions),
    /// Run a scenario many times, and say what that tells: a table with intervals, and a dataset.
    #[command(mut_args(|arg| if LOOK.contains(&arg.get_id().as_str()) { arg.requires("plot") } else { arg }))]
    Sweep(SweepOptions),
    /// Draw one or several records over one another, as SVG and PNG.
    Plot(PlotOptions),
    /// Show records in a browser, in motion and in curves, until Ctrl-C.
    View(ViewOptions),
    /// Write records and the page that shows them into one file, to be sent to somebody.
    Report(ReportOptions),
    /// Compare send queues on a flow, as they run, and with the most that any queue could have on time.
    Queues(QueuesOptions),
    /// Send a file, a program's datagrams or a media model's to a `headway recv`.
    Send(SendOptions),
    /// Receive what `headway send` sends, until Ctrl-C.
    Recv(RecvOptions),
    /// Carry the UDP of programs that know nothing of it to another `headway relay`, and back.
    Relay(RelayOptions),
    /// Put a link between two addresses, for real UDP datagrams, until Ctrl-C.
    #[cfg(target_os = "linux")]
    Proxy(ProxyOptions),
    /// Run what papers ran, and see what comes of their claims.
    #[command(subcommand)]
    Papers(PapersCommand),
    /// Print the JSON Schema of scenario files, for editors.
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// The scenario file.
    pub(crate) scenario: PathBuf,
    /// Seed of all random streams [default: the scenario's].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Override a key, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Folder for the record [default: out/NAME].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write a packet trace: ns-2's `.tr` lines (`ns2`), or for its animator (`nam`), what every link transmits, for Wireshark (`pcapng`),
    /// what became of every packet at every link, in columns (`packets`), or for Perfetto (`perfetto`). May be repeated.
    #[arg(long = "trace", value_name = "FORMAT", value_parser = trace_format())]
    pub(crate) traces: Vec<TraceFormat>,
    /// Print the summary as JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Worker threads for scenarios with `[vary]` [default: one a core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// With `[vary]`: run again what the folder already holds complete. A single run always runs.
    #[arg(long)]
    pub(crate) again: bool,
    /// Show no progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SweepOptions {
    /// The scenario file, with or without a `[vary]` of its own.
    pub(crate) scenario: PathBuf,
    /// Vary a key, such as `link[0].rate=1Mbps,2Mbps` or `link[*].delay=10ms..100ms/10`. May be repeated.
    #[arg(long = "vary", value_name = "KEY=V1,V2,..")]
    pub(crate) varies: Vec<String>,
    /// How many seeds, from 1 on [default: the scenario's].
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Override a key, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// A number to show, such as `share=flow[tcp].throughput_bps / sum(flow[*].throughput_bps)`. May be repeated [default: rates, losses, delays].
    #[arg(long = "metric", value_name = "NAME=EXPRESSION")]
    pub(crate) metrics: Vec<String>,
    /// Also show the differences to one value of a key, such as `queue=droptail`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) against: Option<String>,
    /// Take these differences run by run of the same seed; otherwise their intervals are Welch's.
    #[arg(long, requires = "against")]
    pub(crate) paired: bool,
    /// Also draw each metric over this key, SVG and PNG, into the folder; what varies besides is taken together, seed by seed.
    #[arg(long, value_name = "KEY")]
    pub(crate) plot: Option<String>,
    /// In these pictures, a line for each value of this key.
    #[arg(long, value_name = "KEY", requires = "plot")]
    pub(crate) by: Option<String>,
    /// In these pictures, the key's axis is logarithmic: all values of the key must be above 0.
    #[arg(long, requires = "plot", conflicts_with_all = ["boxes", "cdf"])]
    pub(crate) log_x: bool,
    /// Draw boxes (quartiles and whiskers) in place of means with intervals.
    #[arg(long, requires = "plot")]
    pub(crate) boxes: bool,
    /// Draw distributions over the runs in place of means with intervals.
    #[arg(long, requires = "plot", conflicts_with = "boxes")]
    pub(crate) cdf: bool,
    /// Add seeds until each 95 % interval is narrower than this share of its mean, such as `5%`. A metric that is the same in
    /// all runs has no interval; it is reported as constant after 10 seeds.
    #[arg(long, value_name = "SHARE", conflicts_with = "records", value_parser = precision, allow_hyphen_values = true)]
    pub(crate) precision: Option<Probability>,
    /// Maximum number of seeds, at least as many as the sweep begins with [default: 1000].
    #[arg(long, value_name = "N", value_parser = most, requires = "precision", allow_negative_numbers = true)]
    pub(crate) most: Option<u32>,
    /// Folder for the dataset [default: out/NAME-sweep].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also leave a record of each run, with its series.
    #[arg(long)]
    pub(crate) records: bool,
    /// Do the runs on the Dask cluster whose scheduler is there, such as tcp://127.0.0.1:8786. It needs python3 with the packages headway and distributed.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["records", "precision"])]
    pub(crate) dask: Option<String>,
    /// Worker threads [default: one a core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run again what the folder already holds.
    #[arg(long)]
    pub(crate) again: bool,
    /// Print comma-separated values instead of a table.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) look: LookOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotOptions {
    /// Folders that `headway run` has left; several are drawn over one another.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// What to draw of them.
    #[arg(long, value_name = "KIND", default_value = "series")]
    pub(crate) kind: PlotKind,
    /// Of the series: draw this picture only. May be repeated [default: all that there are samples of].
    #[arg(long = "metric", value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(SERIES_FIGURES.map(|figure| figure.name)))]
    pub(crate) metrics: Vec<String>,
    /// Of delays: the share that takes longer, over logarithms.
    #[arg(long)]
    pub(crate) complementary: bool,
    /// Of delays: each factor as long as the same factor elsewhere on the horizontal axis.
    #[arg(long)]
    pub(crate) log_x: bool,
    /// Folder for the pictures [default: the first DIR].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write this format only. May be repeated [default: all].
    #[arg(long = "format", value_name = "FORMAT")]
    pub(crate) formats: Vec<PlotFormat>,
    #[command(flatten)]
    pub(crate) look: LookOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ViewOptions {
    /// Folders that `headway run` has left; several are drawn over one another.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// Port of the loopback address to serve at; 0 is any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) port: u16,
    /// Only print the address, and open no browser.
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Folders that `headway run` has left; several are drawn over one another.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) records: Vec<PathBuf>,
    /// The file to write; `-` for standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Leave out the packets of runs that were traced: most of a large report.
    #[arg(long)]
    pub(crate) without_packets: bool,
}

/// The options of [`LookOptions`], which a sweep takes only with pictures.
const LOOK: [&str; 6] = ["title", "x_label", "y_label", "size", "font_size", "legend"];

/// How pictures look.
#[derive(Debug, Args)]
#[command(next_help_heading = "Look")]
pub(crate) struct LookOptions {
    /// What stands above each picture; "" for nothing [default: what it shows].
    #[arg(long, value_name = "WORDS")]
    pub(crate) title: Option<String>,
    /// What stands below the horizontal axis [default: what it counts].
    #[arg(long, value_name = "WORDS")]
    pub(crate) x_label: Option<String>,
    /// What stands beside the vertical axis [default: what it counts].
    #[arg(long, value_name = "WORDS")]
    pub(crate) y_label: Option<String>,
    /// Width and height of an SVG in px, each from 200 to 4000; a PNG has twice as many [default: 960, and what the picture takes].
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub(crate) size: Option<PlotSize>,
    /// Height of numbers and names in px, from 6 to a twentieth of the picture's shorter side; titles are larger in proportion.
    #[arg(long, value_name = "PX", default_value = "13", value_parser = clap::value_parser!(u32).range(6..=200), allow_negative_numbers = true)]
    pub(crate) font_size: u32,
    /// Where the legend is.
    #[arg(long, value_name = "PLACE", default_value = "beside")]
    pub(crate) legend: PlotLegend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    /// Values over time, a picture each metric.
    Series,
    /// How many packets are under way how long; records must have `[record] distributions = true`.
    DelayCdf,
    /// How many frames are complete how soon; records must have `[record] distributions = true`.
    Frames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotFormat {
    Svg,
    Png,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotLegend {
    /// In a column at the right.
    Beside,
    /// In rows below the plot.
    Below,
    /// Nowhere.
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
            .ok_or_else(|| "write width x height in px, each from 200 to 4000, such as 800x500".to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct QueuesOptions {
    /// The scenario file.
    pub(crate) scenario: PathBuf,
    /// Override a key, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// How many seeds.
    #[arg(long, value_name = "N", default_value = "10", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: u64,
    /// The first of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) first_seed: u64,
    /// The flow [default: the only one that has a send queue that packets with a lifetime come to].
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Option<String>,
    /// A queue to compare, with options other than its kind's, such as `sure-first,margin=2`. May be repeated [default: every kind,
    /// and the scenario's own queue if it has other options].
    #[arg(long = "queue", value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queues: Vec<String>,
    /// Also show what each queue would do if it knew how long every packet will be on its way.
    #[arg(long)]
    pub(crate) knowing: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Worker threads [default: one a core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Show no progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct ProxyOptions {
    /// Where clients send to.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: String,
    /// The server that their datagrams go on to.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// A file with the link, as in a scenario; what else a scenario says does not count [default: a link of 8Gbps and 0s, what below says
    /// else].
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Which link of several: `r1->r2`, the way to the server first.
    #[arg(long, value_name = "NAME")]
    pub(crate) link: Option<String>,
    /// The link's rate, each way, such as 2Mbps.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) rate: Option<String>,
    /// In place of a rate: a trace of Mahimahi's, a line for each 1504 bytes that may leave, with the ms at which they do, each way.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "scenario"])]
    pub(crate) capacity: Option<PathBuf>,
    /// The link's delay, each way, such as 20ms.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// The link's queue, each way, such as `red,ecn=true,limit=100packets`.
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queue: Option<String>,
    /// What the link loses, each way, such as `bernoulli,probability=0.01`.
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) loss: Option<String>,
    /// Override a key, such as `link[0].mtu=1500B`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Seed of what the link draws [default: the scenario's, or 1].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// How late 1 in 100 datagrams may be in a valid run. A millisecond is the step of Mahimahi's clock, and what most media can tell.
    #[arg(long, value_name = "TIME", default_value = "1ms", allow_hyphen_values = true)]
    pub(crate) bound: headway_units::Duration,
    /// Forward the datagrams of this many clients at a time, 1 to 65535. Each has a socket, within the limit of open files; datagrams of more
    /// are dropped, and the run is not valid.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65535), allow_negative_numbers = true)]
    pub(crate) max_clients: u32,
    /// Print JSON, a line each second and one at the end, instead of a table at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show nothing until the end.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PapersCommand {
    /// What papers there are, how many claims they make, and what they leave open.
    List,
    /// Run a paper's cells; write its tables and figures again, with the paper's, ns-2's and our numbers.
    Run {
        /// The paper, or the folder of a paper that is not built in.
        id: String,
        #[command(flatten)]
        options: PapersOptions,
    },
    /// Run what is missing, and judge each claim. Fails if a derivable claim does not hold.
    Check {
        /// The paper, or the folder of a paper that is not built in [default: all that are built in].
        id: Option<String>,
        /// Print the verdicts as JSON instead of tables.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        options: PapersOptions,
    },
    /// Print the stored numbers and verdicts of a figure, a table or a claim, and the command that runs it again. Runs nothing.
    Show {
        /// The paper, or the folder of a paper that is not built in.
        id: String,
        /// What to show, such as fig6, table2 or lan.fig3.a [default: a list of all figures and tables].
        name: Option<String>,
        /// The folder that has a folder for each paper, with its `results.json`; cells that it lacks are those that are built in [default:
        /// out/papers, then papers, then the results that are built in].
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
    },
    /// Draw the figures that no run gives: networks, state machines, regions and timelines, as SVG. Runs nothing.
    Figures {
        /// The papers [default: all that are built in].
        ids: Vec<String>,
        /// Folder that gets a folder for each paper [default: out/papers].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Write what comes of all claims, tables and figures as one HTML page. Runs nothing.
    Report {
        /// The papers, or the folders of papers that are not built in [default: all that are built in].
        ids: Vec<String>,
        /// The file to write; `-` for standard output.
        #[arg(long, short, value_name = "FILE", default_value = "report.html")]
        output: PathBuf,
        /// The folder that has a folder for each paper, with its `results.json`; cells that it lacks are those that are built in [default:
        /// out/papers, then papers, then the results that are built in].
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PapersOptions {
    /// More seeds, longer runs, and the sweeps over what the paper leaves open.
    #[arg(long)]
    pub(crate) full: bool,
    /// Run this cell only. Claims that need other cells are "not run". `*` matches any characters. May be repeated.
    #[arg(long = "cell", value_name = "NAME")]
    pub(crate) cells: Vec<String>,
    /// Run the cells of this figure, table or claim only, such as fig6, table2 or lan.fig3.a. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Results to complete: cells that are not run now, and verdicts that need them, are taken from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) onto: Option<PathBuf>,
    /// Folder for records, tables and pictures [default: out/papers/ID].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Worker threads [default: one a core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Show no progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn trace_format() -> impl TypedValueParser<Value = TraceFormat> {
    PossibleValuesParser::new(TraceFormat::ALL.map(TraceFormat::name)).map(|name| {
        // The parser lets in no other names.
        TraceFormat::ALL.into_iter().find(|format| format.name() == name).unwrap_or(TraceFormat::Ns2)
    })
}

/// Reads a whole number in a range.
fn whole<T: TryFrom<u64>>(text: &str, least: u64, most: u64) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number
        .and_then(|number: u64| T::try_from(number).ok())
        .ok_or_else(|| format!("out of range: write a whole number from {least} to {most}"))
}

/// Reads a seed, as large as a scenario can have it.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, i64::MAX as u64)
}

fn seeds(text: &str) -> Result<u64, String> {
    whole(text, 1, headway_scenario::MOST_RUNS as u64)
}

fn most(text: &str) -> Result<u32, String> {
    whole(text, 1, u32::MAX.into())
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = whole(text, 1, u16::MAX.into())?;
    NonZeroUsize::new(jobs).ok_or_else(|| "write 1 at least".to_owned())
}

/// Reads a share of a mean that an interval can have.
fn precision(text: &str) -> Result<Probability, String> {
    let share: Option<Probability> = text.parse().ok();
    share
        .filter(|share| 0.0 < share.value() && share.value() < 1.0)
        .ok_or_else(|| format!("{text} is out of range: write a share above 0% and below 100%, such as 5%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of `--seed 99999999999999999999` named a "target type", that of `--seeds 0` a "non-zero type", and that of
    /// `--precision=-5%` the range of all probabilities.
    #[test]
    fn an_option_names_its_own_range() {
        assert_eq!(seed("9223372036854775807"), Ok(9_223_372_036_854_775_807));
        for text in ["9223372036854775808", "99999999999999999999", "-1", "1.5", "x"] {
            assert_eq!(seed(text).unwrap_err(), "out of range: write a whole number from 0 to 9223372036854775807");
        }
        for text in ["0", "100001", "-3"] {
            assert_eq!(seeds(text).unwrap_err(), "out of range: write a whole number from 1 to 100000");
        }
        assert_eq!(jobs("0").unwrap_err(), "out of range: write a whole number from 1 to 65535");
        assert_eq!(precision("5%").unwrap().value(), 0.05);
        for text in ["-5%", "NaN%", "NaN", "0", "100%", "1e400%", "x"] {
            let error = precision(text).unwrap_err();
            assert_eq!(error, format!("{text} is out of range: write a share above 0% and below 100%, such as 5%"));
        }
    }
}
