//! Commands of the command line. Their options are in one file for each group of commands.

#[cfg(target_os = "linux")]
mod links;
mod papers;
mod plots;
mod runs;
mod values;

use crate::sockets::arguments::{RecvOptions, RelayOptions, SendOptions};
use clap::{Parser, Subcommand};
#[cfg(target_os = "linux")]
pub(crate) use links::{GuardOptions, InitOptions, LinkOptions, ProxyOptions, ShellOptions};
pub(crate) use papers::{PapersCommand, PapersOptions};
pub(crate) use plots::{
    OverOptions, PlotFormat, PlotKind, PlotLegend, PlotOptions, PlotPreset, ReportOptions, StyleOptions, ViewOptions,
};
#[cfg(target_os = "linux")]
pub(crate) use runs::LabOptions;
pub(crate) use runs::{QueuesOptions, RunOptions, SuiteOptions, SweepOptions};
pub(crate) use values::seed;

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
    #[command(alias = "simulate")]
    Run(RunOptions),
    /// Run a scenario with many seeds and parameter values; print a table of means with confidence intervals over the
    /// seeds, and write a dataset.
    #[command(mut_args(|arg| if STYLE_OPTIONS.contains(&arg.get_id().as_str()) { arg.requires("plot") } else { arg }))]
    Sweep(SweepOptions),
    /// Run the test cases of a suite with several rate controllers, and compare the results with the ranges that the
    /// suite requires.
    Suite(SuiteOptions),
    /// Draw charts of one or more records, or of the dataset of a sweep, as SVG, PNG and PDF.
    Plot(PlotOptions),
    /// Show records in the browser, as an animation and as charts. Runs until Ctrl-C.
    View(ViewOptions),
    /// Write records and the viewer (the page of `headway view`) to a single HTML file.
    Report(ReportOptions),
    /// Run a scenario with different send queues at one of its flows. Compare the shares of packets that arrive on time
    /// with each other and with an upper bound for any send queue.
    Queues(QueuesOptions),
    /// Send a file, the datagrams of a program, or synthetic media to `headway recv`.
    Send(SendOptions),
    /// Receive datagrams from `headway send`. Runs until Ctrl-C.
    Recv(RecvOptions),
    /// Tunnel the UDP traffic of other programs over a DCCP connection between two relays.
    Relay(RelayOptions),
    /// Forward UDP datagrams between clients and a server over an emulated link, in both directions. Runs until Ctrl-C.
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

const BOOK: &str = "The book has tutorials, how-to guides and the reference of all keys: \
https://github.com/headway-net/headway/blob/main/docs/src/SUMMARY.md";

#[cfg(target_os = "linux")]
const SHELL_HELP: &str = "\
Shells nest: `headway shell --delay 20ms -- headway shell --rate 6Mbps -- COMMAND` adds two links. The exit status is that \
of the command, or 125 if the emulator fails or the run is not valid. When the command ends, all processes that it started \
are killed.

If `headway shell` runs as root, COMMAND reaches other hosts through address translation, and the services of this machine \
at the gateway, the outer end of the link: 100.64.0.1 for the first shell. Without privileges, where the kernel allows user \
namespaces, the gateway is in an empty network namespace: COMMAND reaches only the ports of --host-port, at the gateway. \
Access to other hosts would need a user-mode network such as passt, which terminates TCP connections.

The link carries IPv4 only.";

#[cfg(target_os = "linux")]
const LAB_HELP: &str = "\
The key `program` of a flow is a shell command that runs at the flow's sending node. The command of the key `server` runs at \
its receiving node. A flow with `transport = { kind = \"kernel-tcp\", congestion = \"bbr\" }` is a connection of the kernel's \
TCP. All other flows are simulated. All packets share the links of the scenario. Each node with a program or an end of such \
a TCP connection is a network namespace, which reaches only the links of the scenario.

A scenario for a lab runs commands with the rights of the user: read it before you run it. The output of the programs is \
in the folder `programs` of the record.

The exit status is 0 for a valid run, 1 if a program failed, and 125 if the lab fails or the run is not valid.";

/// Options of [`OverOptions`] and [`StyleOptions`]; `headway sweep` accepts them only with `--plot`.
const STYLE_OPTIONS: [&str; 13] = [
    "by",
    "boxes",
    "cdf",
    "heat_map",
    "preset",
    "title",
    "x_label",
    "y_label",
    "names",
    "size",
    "font_size",
    "legend",
    "formats",
];

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
}
