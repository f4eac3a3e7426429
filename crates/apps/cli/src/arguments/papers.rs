//! Options of `headway papers`.

use super::values::jobs;
use clap::{Args, Subcommand};
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum PapersCommand {
    /// List the built-in papers, or describe one: its claims by class, and the parameters that it does not state, with
    /// the values that Headway uses.
    List {
        /// Name of a built-in paper, or folder of another paper [default: one line for each built-in paper].
        id: Option<String>,
    },
    /// Run the experiments of a paper. Write its tables and figures with the numbers of the paper, ns-2 and Headway.
    Run {
        /// Name of a built-in paper, or folder of another paper.
        id: String,
        #[command(flatten)]
        options: PapersOptions,
    },
    /// Run the experiments of papers that have no complete record yet, and check each claim. The exit status is 1 if a
    /// claim that follows from the text of its paper (class "derivable") is neither reproduced, at least in its trend,
    /// nor covered by a test.
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
        /// Figure, table or claim, such as fig6, table2 or lan.fig3.a [default: a list of all figures and tables of the
        /// paper].
        name: Option<String>,
        /// Folder with stored results. It must have a file ID/results.json for the paper, where ID is the name of the
        /// paper. Experiments that this file lacks are taken from the results that are built into the program [default:
        /// for each experiment, the first of these that has it: the folder out/papers, the folder papers, the folder of
        /// a paper that is not built in, the built-in results].
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
        /// Folder with stored results. It must have a file ID/results.json for each reported paper, where ID is the
        /// name of the paper. Experiments that this file lacks are taken from the results that are built into the
        /// program [default: for each experiment, the first of these that has it: the folder out/papers, the folder
        /// papers, the folder of a paper that is not built in, the built-in results].
        #[arg(long, value_name = "DIR")]
        results: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PapersOptions {
    /// Use more seeds and longer runs than by default, and also run the experiments that vary the parameters that the
    /// paper does not state.
    #[arg(long)]
    pub(crate) full: bool,
    /// Run only this experiment, by the name of its cell in `claims.toml`. `*` matches any characters. Claims that need
    /// other experiments have the verdict in the stored results (see --merge), or "not run". May be repeated.
    #[arg(long = "cell", value_name = "NAME")]
    pub(crate) cells: Vec<String>,
    /// Run only the experiments of this figure, table or claim, such as fig6, table2 or lan.fig3.a. `headway papers
    /// check` then prints only the verdicts on claims of this figure or table, or on this claim. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// File `results.json` with stored results of the experiments that are not run now. Verdicts that need these
    /// experiments are also taken from this file [default for `headway papers run` with --cell or --only:
    /// `results.json` in the folder of --out, if it exists; otherwise none].
    #[arg(long, alias = "onto", value_name = "FILE")]
    pub(crate) merge: Option<PathBuf>,
    /// Folder for records, tables and figures; `headway papers check` writes only records. `check` of all papers uses a
    /// subfolder for each paper [default: out/papers/ID, with the name of the paper].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of worker threads, from 1 to 65535 [default: one per core].
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Do not show progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
