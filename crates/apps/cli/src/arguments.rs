//! Commands and options of the command line.

use crate::sockets::arguments::{RecvOptions, RelayOptions, SendOptions};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use headway_record::SERIES_FIGURES;
use headway_run::TraceFormat;
use headway_units::Probability;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Headway simulates networks and real-time media at packet level, and sends media over DCCP on real UDP sockets.
#[derive(Debug, Parser)]
#[command(name = "headway", version, about, max_term_width = 100, after_help = BOOK)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and write its record to a folder.
    Run(RunOptions),
    /// Run a scenario with many seeds and parameter values; print a table with confidence intervals and write a
    /// dataset.
    #[command(mut_args(|arg| if STYLE_OPTIONS.contains(&arg.get_id().as_str()) { arg.requires("plot") } else { arg }))]
    Sweep(SweepOptions),
    /// Run the cases of a suite with several controllers, and compare them with pass bands.
    Suite(SuiteOptions),
    /// Draw charts of one or more records as SVG and PNG.
    Plot(PlotOptions),
    /// Show records in the browser, as an animation and as charts. Runs until Ctrl-C.
    View(ViewOptions),
    /// Write records and the viewer to a single HTML file.
    Report(ReportOptions),
    /// Compare send queues on a flow, with each other and with an upper bound on the packets that arrive on time.
    Queues(QueuesOptions),
    /// Send a file, the datagrams of a program, or synthetic media to `headway recv`.
    Send(SendOptions),
    /// Receive datagrams from `headway send`. Runs until Ctrl-C.
    Recv(RecvOptions),
    /// Tunnel the UDP traffic of other programs over a connection between two relays.
    Relay(RelayOptions),
    /// Forward UDP datagrams between clients and a server over an emulated link. Runs until Ctrl-C.
    #[cfg(target_os = "linux")]
    Proxy(ProxyOptions),
    /// Run a program behind an emulated link: in a network namespace whose only way out is the link.
    #[cfg(target_os = "linux")]
    #[command(after_help = SHELL_HELP)]
    Shell(ShellOptions),
    /// Run a scenario in wall-clock time, with real programs and the kernel's TCP at the ends of flows.
    #[cfg(target_os = "linux")]
    #[command(after_help = LAB_HELP)]
    Lab(LabOptions),
    /// First process of a shell's namespace.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    ShellInit(InitOptions),
    /// Process that gives a shell access to the outside.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    ShellGuard(GuardOptions),
    /// Reproduce the experiments of published papers and check their claims.
    #[command(subcommand)]
    Papers(PapersCommand),
    /// Print the JSON Schema of scenario files, for use in editors.
    Schema,
}

/// Scenario and record of `headway run` and `headway lab`.
#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// Scenario file.
    pub(crate) scenario: PathBuf,
    /// Seed of the random number generators [default: the seed of the scenario].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Override a key of the scenario, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Folder for the record [default: out/NAME, with the name of the scenario].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write a packet trace: ns-2 `.tr` lines (`ns2`), a file for the ns-2 animator (`nam`), a capture of all
    /// links for Wireshark (`pcapng`), an Arrow table of all packets at all links (`packets`), or a file for Perfetto
    /// (`perfetto`). May be repeated.
    #[arg(long = "trace", value_name = "FORMAT", value_parser = trace_format())]
    pub(crate) traces: Vec<TraceFormat>,
    /// Print the result as JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) record: RecordOptions,
    /// Number of worker threads for scenarios with `[vary]`, from 1 to 65535 [default: one per core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Repeat runs of `[vary]` that are already complete in the folder. A scenario without `[vary]` always runs.
    #[arg(long)]
    pub(crate) again: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct LabOptions {
    #[command(flatten)]
    pub(crate) record: RecordOptions,
    /// Maximum 99th percentile of the release error in a valid run: the time by which the lab releases a packet later
    /// than the link model computes. A run is also not valid if the lab does not run for more than 100 times this
    /// bound.
    #[arg(long, value_name = "TIME", default_value = "1ms", allow_hyphen_values = true)]
    pub(crate) bound: headway_units::Duration,
}

/// Execution and output of many runs, as of `headway sweep` and `headway suite`.
#[derive(Debug, Args)]
pub(crate) struct ManyRunsOptions {
    /// Number of worker threads, from 1 to 65535 [default: one per core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Repeat runs that are already complete in the folder, instead of reusing their results.
    #[arg(long)]
    pub(crate) again: bool,
    /// Print comma-separated values instead of a table.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SuiteOptions {
    /// Name of a built-in suite (`rfc8867`), or folder with a file suite.toml.
    pub(crate) suite: String,
    /// Run only this controller: a name in the suite, or NAME=TRANSPORT, such as `mine={kind="tfrc",ecn=true}`. May be
    /// repeated [default: all].
    #[arg(long = "controller", value_name = "NAME")]
    pub(crate) controllers: Vec<String>,
    /// Run only this case. May be repeated [default: all].
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Number of seeds, from 1 to 100000; the seeds are 1 to N [default: the number in the suite].
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Folder for the results [default: out/NAME, or out/FOLDER-suite].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the files of a built-in suite to this new folder instead of running it, so that they can be changed.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["controllers", "cases", "seeds", "out"])]
    pub(crate) copy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) runs: ManyRunsOptions,
}

#[derive(Debug, Args)]
pub(crate) struct SweepOptions {
    /// Scenario file, with or without a `[vary]` section.
    pub(crate) scenario: PathBuf,
    /// Vary a key over a list or range of values, such as `link[0].rate=1Mbps,2Mbps` or `link[*].delay=10ms..100ms/10`
    /// (10 values from 10 ms to 100 ms). May be repeated; every combination of values is run.
    #[arg(long = "vary", value_name = "KEY=V1,V2,..")]
    pub(crate) varies: Vec<String>,
    /// Number of seeds, from 1 to 100000; the seeds are 1 to N [default: the seeds of the scenario].
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Override a key of the scenario, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Metric to report, such as `share=flow[tcp].throughput_bps / sum(flow[*].throughput_bps)`. May be repeated
    /// [default: rates, losses and delays].
    #[arg(long = "metric", value_name = "NAME=EXPRESSION")]
    pub(crate) metrics: Vec<String>,
    /// Also report the differences from a baseline, which is one value of a varied key, such as `queue=droptail`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) against: Option<String>,
    /// Compute the differences of --against between runs with the same seed. Without this option, runs are treated as
    /// independent samples, and the confidence intervals of the differences are those of Welch's t-test.
    #[arg(long, requires = "against")]
    pub(crate) paired: bool,
    /// Also draw a chart of each metric over this varied key, as SVG and PNG. If keys other than those of --plot and
    /// --by vary, the metric is first averaged over their values, separately for each seed. If only the
    /// seeds vary, `--plot seed` with --cdf or --boxes draws the distribution of each metric over the seeds.
    #[arg(long, value_name = "KEY")]
    pub(crate) plot: Option<String>,
    /// Draw one line for each value of this varied key. Requires --plot.
    #[arg(long, value_name = "KEY", requires = "plot")]
    pub(crate) by: Option<String>,
    /// Use a logarithmic horizontal axis. All values of the key must be above 0. Requires --plot; not with --boxes or
    /// --cdf.
    #[arg(long, requires = "plot", conflicts_with_all = ["boxes", "cdf"])]
    pub(crate) log_x: bool,
    /// Draw box plots (quartiles and whiskers) instead of means with intervals. Requires --plot.
    #[arg(long, requires = "plot")]
    pub(crate) boxes: bool,
    /// Draw the cumulative distribution of each metric over the runs, one line for each value of the key of --plot,
    /// instead of means with intervals. Requires --plot.
    #[arg(long, requires = "plot", conflicts_with = "boxes")]
    pub(crate) cdf: bool,
    /// Add seeds to each combination of values until half the width of the 95 % confidence interval of each metric is
    /// at most this share of its mean, such as `5%` (above 0%, below 100%). A metric with a mean near 0 may need
    /// --max-seeds seeds. A metric that is the same in all runs has no interval; it is reported as constant after 10
    /// seeds.
    #[arg(long, value_name = "SHARE", conflicts_with = "records", value_parser = precision, allow_hyphen_values = true)]
    pub(crate) precision: Option<Probability>,
    /// Maximum number of seeds of a combination of values with --precision, at least the initial number of seeds
    /// [default: 1000].
    #[arg(long, alias = "most", value_name = "N", value_parser = max_seeds, requires = "precision", allow_negative_numbers = true)]
    pub(crate) max_seeds: Option<u32>,
    /// Folder for the dataset [default: out/NAME-sweep, with the name of the scenario].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write a record of each run, with its time series.
    #[arg(long)]
    pub(crate) records: bool,
    /// Execute the runs on the Dask cluster with this scheduler, such as tcp://127.0.0.1:8786. Needs python3 with the
    /// packages headway and distributed.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["records", "precision"])]
    pub(crate) dask: Option<String>,
    #[command(flatten)]
    pub(crate) runs: ManyRunsOptions,
    #[command(flatten)]
    pub(crate) style: StyleOptions,
}

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

const BOOK: &str = "The book has tutorials, how-to guides and the reference of all keys: \
https://github.com/headway-net/headway/blob/main/docs/src/SUMMARY.md";

#[cfg(target_os = "linux")]
const SHELL_HELP: &str = "\
Shells nest: `headway shell --delay 20ms -- headway shell --rate 6Mbps -- COMMAND` adds two links. The exit status is that \
of the command, or 125 if the emulator fails or the run is not valid. All processes of the command end with it.

As root, programs reach the services of this machine at the gateway, 100.64.0.1 for the first shell. Without privileges, \
where the kernel allows user namespaces, the gateway is in an empty network namespace: programs reach only the ports of \
--host-port there. Access to the outside would need a user-mode network such as passt, which terminates TCP connections.

The link carries IPv4 only.";

#[cfg(target_os = "linux")]
const LAB_HELP: &str = "\
The key `program` of a flow is a shell command that runs at the flow's sending node. The command of the key `server` runs at \
its receiving node. A flow with `transport = { kind = \"kernel-tcp\", congestion = \"bbr\" }` is a connection of the kernel's \
TCP. All other flows are simulated. All packets share the links of the scenario. Each node with a program is a network \
namespace, which reaches only the links of the scenario.

A scenario for a lab runs commands with the rights of the user: read it before you run it. The output of the programs is \
in the folder `programs` of the record.

The exit status is 0 for a valid run, 1 if a program failed, and 125 if the lab fails or the run is not valid.";

/// Options of [`StyleOptions`]; `headway sweep` accepts them only with `--plot`.
const STYLE_OPTIONS: [&str; 6] = ["title", "x_label", "y_label", "size", "font_size", "legend"];

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

#[derive(Debug, Args)]
pub(crate) struct QueuesOptions {
    /// Scenario file.
    pub(crate) scenario: PathBuf,
    /// Override a key of the scenario, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Number of seeds, from 1 to 100000.
    #[arg(long, value_name = "N", default_value = "10", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: u64,
    /// First seed. The runs use consecutive seeds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) first_seed: u64,
    /// Name of the flow. Required if several flows have a send queue and packets with a lifetime (a deadline)
    /// [default: the only such flow].
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Option<String>,
    /// Send queue to compare: its kind, and keys of `send_queue` in a scenario that differ from their defaults, such as
    /// `sfdps1,rtt_share=0`. May be repeated [default: every kind with default options, and the flow's send queue in
    /// the scenario if its options are not the defaults].
    #[arg(long = "queue", value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queues: Vec<String>,
    /// Also report the results of each queue if it knew the delay of each packet before sending it (oracle).
    #[arg(long, alias = "knowing")]
    pub(crate) oracle: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Number of worker threads, from 1 to 65535 [default: one per core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Do not show progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Link of `headway proxy` and `headway shell`.
#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct LinkOptions {
    /// Scenario file with the link. Only the link and the seed of the scenario are used [default: a link with a rate of
    /// 8Gbps and a delay of 0s].
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Link of the scenario, in the direction to the server (proxy) or out of the shell, such as `r1->r2`. Required if
    /// there are several links.
    #[arg(long, value_name = "NAME")]
    pub(crate) link: Option<String>,
    /// Rate of the link in each direction, such as 2Mbps.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) rate: Option<String>,
    /// Mahimahi trace of the link's capacity in each direction, instead of a rate. Each line is a time in ms at which
    /// 1504 bytes may be sent.
    #[arg(long, visible_alias = "trace", value_name = "FILE", conflicts_with_all = ["rate", "scenario"])]
    pub(crate) capacity: Option<PathBuf>,
    /// Propagation delay of the link in each direction, such as 20ms.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Queue of the link in each direction, such as `red,ecn=true,limit=100packets`.
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queue: Option<String>,
    /// Loss model of the link in each direction, such as `bernoulli,probability=0.01`.
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) loss: Option<String>,
    /// Set a key of the reverse direction only (to the clients, or into the shell), such as `rate=20Mbps` or
    /// `capacity="down.trace"`. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) reverse: Vec<String>,
    /// Override a key of the scenario, such as `link[0].mtu=1500B`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Seed of the link's random number generators [default: the seed of the scenario, or 1].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct ProxyOptions {
    /// Local address to which clients send.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: String,
    /// Address of the server that receives the datagrams of the clients.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Maximum 99th percentile of each of two timing errors in a valid run. Release error: the time by which the proxy
    /// sends datagrams later than the link model computes. Intake error: the time from the reception of a datagram by
    /// the kernel until the proxy reads it. If the run is not valid, the final report lists the reason and the exit
    /// status is 1.
    #[arg(long, value_name = "TIME", default_value = "1ms", allow_hyphen_values = true)]
    pub(crate) bound: headway_units::Duration,
    /// Maximum number of simultaneous clients, from 1 to 65535. Each client uses a socket, within the limit of open
    /// files. At the maximum, a new client replaces the longest idle client that the server has never answered. If the
    /// server has answered all of them, datagrams of new clients are dropped, and the run is not valid.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65535), allow_negative_numbers = true)]
    pub(crate) max_clients: u32,
    /// Print a line of JSON each second and one at the end, instead of a table at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show progress: print only the final report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct ShellOptions {
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Maximum 99th percentile of the release error in a valid run: the time from the departure of a packet from the
    /// link until the emulator has passed it to the kernel. A run is also invalid if the emulator does not run for more
    /// than 100 times this bound. If a run is invalid, the exit status is 125.
    #[arg(long, value_name = "TIME", default_value = "1ms", allow_hyphen_values = true)]
    pub(crate) bound: headway_units::Duration,
    /// Port of this machine's loopback address, TCP and UDP, that programs reach at the gateway. May be repeated.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) host_port: Vec<u16>,
    /// Folder for captures in pcapng format: the packets at both ends of the link (`shell.pcapng`, `gateway.pcapng`),
    /// and those that the link dropped (`drops.pcapng`).
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    /// Log of the direction out of the shell, in the format of Mahimahi's mm-link.
    #[arg(long, value_name = "FILE")]
    pub(crate) uplink_log: Option<PathBuf>,
    /// Log of the direction into the shell, in the format of Mahimahi's mm-link.
    #[arg(long, value_name = "FILE")]
    pub(crate) downlink_log: Option<PathBuf>,
    /// Print the report as JSON, on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no report. If the run is not valid, the reason is printed nevertheless.
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Program that runs behind the link, with its arguments [default: $SHELL, or /bin/sh].
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// Process number of the emulator.
    pub(crate) parent: u32,
    /// Address of a name server, or `-`.
    pub(crate) nameserver: String,
    /// Program with its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct GuardOptions {
    /// Outer device of the shell.
    pub(crate) device: String,
    /// Addresses of the shell.
    pub(crate) network: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PapersCommand {
    /// List the built-in papers: the number of claims of each, and the parameters that the paper does not state.
    List,
    /// Run the experiments of a paper. Write its tables and figures with the numbers of the paper, ns-2 and Headway.
    Run {
        /// Name of a built-in paper, or folder of another paper.
        id: String,
        #[command(flatten)]
        options: PapersOptions,
    },
    /// Run missing experiments and check each claim. The exit status is 1 if a claim that follows from the text of the
    /// paper (class "derivable") is neither reproduced, at least in its trend, nor covered by a test.
    Check {
        /// Name of a built-in paper, or folder of another paper [default: all built-in papers].
        id: Option<String>,
        /// Print the verdicts as JSON instead of tables.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        options: PapersOptions,
    },
    /// Print the stored numbers and verdicts of a figure, a table or a claim, and the command that reproduces it. Runs
    /// no simulation.
    Show {
        /// Name of a built-in paper, or folder of another paper.
        id: String,
        /// Figure, table or claim, such as fig6, table2 or lan.fig3.a [default: a list of all figures and tables].
        name: Option<String>,
        /// Folder with the results, one subfolder with a `results.json` for each paper, which must exist. Experiments
        /// that it does not contain are taken from the results that are built into the program [default: out/papers,
        /// then papers, then the built-in results].
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
    },
    /// Draw the figures that need no simulation (networks, state machines, regions, timelines) as SVG.
    Figures {
        /// Names of the papers [default: all built-in papers].
        ids: Vec<String>,
        /// Output folder; figures are written to OUT/ID/drawings, where ID is the name of the paper [default:
        /// out/papers].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Write the results of all claims, tables and figures as one HTML page. Runs no simulation.
    Report {
        /// Names of built-in papers, or folders of other papers [default: all built-in papers].
        ids: Vec<String>,
        /// Output file; `-` is standard output.
        #[arg(long, short, value_name = "FILE", default_value = "report.html")]
        output: PathBuf,
        /// Folder with the results, one subfolder with a `results.json` for each paper, which must exist. Experiments
        /// that it does not contain are taken from the results that are built into the program [default: out/papers,
        /// then papers, then the built-in results].
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PapersOptions {
    /// Use more seeds and longer runs, and sweep the parameters that the paper does not state.
    #[arg(long)]
    pub(crate) full: bool,
    /// Run only this experiment, by the name of its cell in `claims.toml`. `*` matches any characters. Claims that need
    /// other experiments have the verdict "not run". May be repeated.
    #[arg(long = "cell", value_name = "NAME")]
    pub(crate) cells: Vec<String>,
    /// Run only the experiments of this figure, table or claim, such as fig6, table2 or lan.fig3.a. `check` then judges
    /// only its claims. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Stored results (`results.json`) of the experiments that are not run now. Verdicts that need these experiments
    /// are also taken from this file.
    #[arg(long, alias = "onto", value_name = "FILE")]
    pub(crate) merge: Option<PathBuf>,
    /// Folder for records, tables and figures. `check` of all papers uses a subfolder for each paper [default:
    /// out/papers/ID, with the name of the paper].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of worker threads, from 1 to 65535 [default: one per core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Do not show progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn trace_format() -> impl TypedValueParser<Value = TraceFormat> {
    PossibleValuesParser::new(TraceFormat::ALL.map(TraceFormat::name)).map(|name| {
        // The parser accepts no other names.
        TraceFormat::ALL.into_iter().find(|format| format.name() == name).unwrap_or(TraceFormat::Ns2)
    })
}

/// Parses a whole number in a range.
fn whole<T: TryFrom<u64>>(text: &str, min: u64, max: u64) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number
        .and_then(|number: u64| T::try_from(number).ok())
        .ok_or_else(|| format!("out of range: expected a whole number from {min} to {max}"))
}

/// Parses a seed in the range of scenario files.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0, i64::MAX as u64)
}

fn seeds(text: &str) -> Result<u64, String> {
    whole(text, 1, headway_scenario::MAX_RUNS as u64)
}

fn max_seeds(text: &str) -> Result<u32, String> {
    whole(text, 1, u32::MAX.into())
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = whole(text, 1, u16::MAX.into())?;
    NonZeroUsize::new(jobs).ok_or_else(|| "expected 1 or more".to_owned())
}

/// Parses the relative half-width of an interval.
fn precision(text: &str) -> Result<Probability, String> {
    let share: Option<Probability> = text.parse().ok();
    share
        .filter(|share| 0.0 < share.value() && share.value() < 1.0)
        .ok_or_else(|| format!("{text} is out of range: expected a share above 0% and below 100%, such as 5%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every short form `-q` suppresses progress and no result. Options with another meaning have only the long form.
    #[test]
    fn the_short_form_of_quiet_has_one_meaning() {
        fn meanings(command: &clap::Command) -> Vec<(String, String)> {
            let own = command.get_arguments().filter(|argument| argument.get_short() == Some('q'));
            let own = own.map(|argument| argument.get_help().map(ToString::to_string).unwrap_or_default());
            let own = own.map(|help| (command.get_name().to_owned(), help));
            own.chain(command.get_subcommands().flat_map(meanings)).collect()
        }
        let all = meanings(&<Arguments as clap::CommandFactory>::command());
        assert!(all.iter().any(|(command, _)| command == "run"), "{all:?}");
        for (command, help) in all {
            assert!(help.starts_with("Do not show progress"), "{command}: {help}");
        }
    }

    #[test]
    fn errors_of_options_include_the_allowed_range() {
        assert_eq!(seed("9223372036854775807"), Ok(9_223_372_036_854_775_807));
        for text in ["9223372036854775808", "99999999999999999999", "-1", "1.5", "x"] {
            assert_eq!(seed(text).unwrap_err(), "out of range: expected a whole number from 0 to 9223372036854775807");
        }
        for text in ["0", "100001", "-3"] {
            assert_eq!(seeds(text).unwrap_err(), "out of range: expected a whole number from 1 to 100000");
        }
        assert_eq!(jobs("0").unwrap_err(), "out of range: expected a whole number from 1 to 65535");
        assert_eq!(precision("5%").unwrap().value(), 0.05);
        for text in ["-5%", "NaN%", "NaN", "0", "100%", "1e400%", "x"] {
            let error = precision(text).unwrap_err();
            assert_eq!(error, format!("{text} is out of range: expected a share above 0% and below 100%, such as 5%"));
        }
    }
}
