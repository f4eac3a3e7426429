//! Options of the commands that run scenarios.

use super::plots::{OverOptions, StyleOptions};
use super::values::{jobs, max_seeds, precision, seed, seeds, trace_format};
use clap::Args;
use headway_run::TraceFormat;
use headway_units::Probability;
use std::num::NonZeroUsize;
use std::path::PathBuf;

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
    /// than the link model computes. A run is also not valid if the lab's process is suspended for longer than 100
    /// times this bound while packets are due, or if packets are lost outside the links.
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
    /// Run only this controller of the suite. NAME=TRANSPORT adds a controller and runs it; TRANSPORT is a value of the
    /// key `transport` of a flow in a scenario, such as `mine={kind="tfrc",ecn=true}`. May be repeated [default: all of
    /// the suite].
    #[arg(long = "controller", value_name = "NAME")]
    pub(crate) controllers: Vec<String>,
    /// Run only this test case of the suite. May be repeated [default: all].
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Number of seeds, from 1 to 100000; the seeds are 1 to N [default: the number in the suite].
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Folder for the results [default: out/SUITE for a built-in suite, otherwise out/FOLDER-suite with the name of the
    /// suite's folder].
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
    /// Number of seeds, from 1 to 100000; the seeds are 1 to N [default: `seeds` in the scenario's `[vary]` section, or
    /// only the scenario's seed].
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Override a key of the scenario, such as `link[0].rate=4Mbps` or `flow[video].start=2s`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Metric to report, such as `share=flow[tcp].throughput_bps / sum(flow[*].throughput_bps)`. May be repeated
    /// [default: rates, losses, delays and shares on time of the flows, and Jain's fairness index].
    #[arg(long = "metric", value_name = "NAME=EXPRESSION")]
    pub(crate) metrics: Vec<String>,
    /// Also report the difference of each metric from a baseline, which is one value of a varied key, such as
    /// `queue=droptail`: the metric with another value minus that with the baseline.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) against: Option<String>,
    /// Compute the differences of --against between runs with the same seed. Without this option, all runs are treated
    /// as independent samples, and the confidence intervals of the differences are those of Welch's t-test.
    #[arg(long, requires = "against")]
    pub(crate) paired: bool,
    /// Also draw a chart of each metric over this varied key. If keys other than those of --plot and
    /// --by vary, the metric is first averaged over their values, separately for each seed. If only the
    /// seeds vary, `--plot seed` with --cdf or --boxes draws the distribution of each metric over the seeds.
    #[arg(long, value_name = "KEY")]
    pub(crate) plot: Option<String>,
    /// Use a logarithmic horizontal axis. All values of the key of --plot must be numbers above 0. Requires --plot; not
    /// with --boxes, --cdf or --heat-map.
    #[arg(long, requires = "plot", conflicts_with_all = ["boxes", "cdf", "heat_map"])]
    pub(crate) log_x: bool,
    #[command(flatten)]
    pub(crate) over: OverOptions,
    /// Add seeds to each combination of values until half the width of the 95 % confidence interval of each metric is
    /// at most this share of its mean, such as `5%` (above 0%, below 100%), or until --max-seeds. A metric with a mean
    /// near 0 may need that many. A metric that is the same in all runs has no interval; it is reported as constant
    /// after 10 seeds.
    #[arg(long, value_name = "SHARE", conflicts_with = "records", value_parser = precision, allow_hyphen_values = true)]
    pub(crate) precision: Option<Probability>,
    /// Maximum number of seeds of a combination of values with --precision, at least the initial number of seeds (see
    /// --seeds) [default: 1000, or the initial number if that is larger].
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
    /// Name of the flow whose send queue is replaced. Required if several flows have a send queue and packets with a
    /// lifetime (a deadline) [default: the only such flow].
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Option<String>,
    /// Send queue to compare: its kind, and keys of `send_queue` in a scenario that differ from their defaults, such as
    /// `sfdps1,rtt_share=0`. `limit` defaults to that of the flow's send queue in the scenario, but for `ring-3` to 3
    /// packets. May be repeated [default: every kind with default options, and the flow's send queue if its options are
    /// not the defaults].
    #[arg(long = "queue", value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queues: Vec<String>,
    /// Also report the results of each queue in a replay in which it knows the delay of each packet before it sends the
    /// packet (oracle).
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
