//! Options of emulated links, and of the commands that have one.

use super::values::seed;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Link of `headway proxy` and `headway shell`.
#[derive(Debug, Args)]
pub(crate) struct LinkOptions {
    /// Scenario file with the link. Only its links, nodes, `seed`, `dialect` and `ties` are used [default: a link with
    /// a rate of 8Gbps and a delay of 0s].
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Name of the scenario's link in the direction from the clients to the server (`headway proxy`) or out of the
    /// shell (`headway shell`), such as `r1->r2`. Required if the scenario has several links.
    #[arg(long, value_name = "NAME")]
    pub(crate) link: Option<String>,
    /// Rate of the link in each direction, such as 2Mbps [default: that of the scenario's link, or 8Gbps if neither
    /// --scenario nor --capacity is set].
    #[arg(long, alias = "bandwidth", value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) rate: Option<String>,
    /// Mahimahi trace of the link's capacity in each direction, instead of a rate. Each line is a time in ms at which
    /// 1504 bytes may be sent.
    #[arg(long, visible_alias = "trace", value_name = "FILE", conflicts_with_all = ["rate", "scenario"])]
    pub(crate) capacity: Option<PathBuf>,
    /// Propagation delay of the link in each direction, such as 20ms [default: that of the scenario's link, or 0s if
    /// --scenario is not set].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Queue of the link in each direction, such as `red,ecn=true,limit=100packets`.
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queue: Option<String>,
    /// Loss model of the link in each direction, such as `bernoulli,probability=0.01`.
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) loss: Option<String>,
    /// Set a key of the link in the reverse direction only (from the server to the clients, or into the shell), such as
    /// `rate=20Mbps` or `capacity="down.trace"`. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) reverse: Vec<String>,
    /// Override a key of the scenario, or of the default link without --scenario, such as `link[0].mtu=1500B`. May be
    /// repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Seed of the link's random number generators [default: the seed of the scenario, or 1].
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyOptions {
    /// Local address to which clients send.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: String,
    /// Address of the server, to which the datagrams of the clients are forwarded. Its answers are forwarded to the
    /// clients.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Maximum 99th percentile of each of two timing errors in a valid run. Release error: the time by which the proxy
    /// sends datagrams later than the link model computes. Intake error: the time from the reception of a datagram by
    /// the kernel until the proxy reads it. A run is also not valid if datagrams are lost outside the link. If the run
    /// is not valid, the command prints the reason at the end and exits with status 1.
    #[arg(long, value_name = "TIME", default_value = "1ms", allow_hyphen_values = true)]
    pub(crate) bound: headway_units::Duration,
    /// Maximum number of simultaneous clients, from 1 to 65535. Each client uses a socket, within the limit of open
    /// files. At the maximum, a new client replaces the longest idle client that the server has never answered. If the
    /// server has answered all of them, datagrams of new clients are dropped, and the run is not valid.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65535), allow_negative_numbers = true)]
    pub(crate) max_clients: u32,
    /// Print a line of JSON each second and one at the end, instead of a table at the end. With --quiet, only the one
    /// at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show progress: print only the final report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShellOptions {
    #[command(flatten)]
    pub(crate) link: LinkOptions,
    /// Maximum 99th percentile of the release error in a valid run: the time from the departure of a packet from the
    /// link model until the emulator has passed it to the kernel. A run is also not valid if the emulator is suspended
    /// for longer than 100 times this bound while packets are due, or if packets are lost outside the link. If a run is
    /// not valid, the exit status is 125.
    #[arg(long, value_name = "TIME", default_value = "1ms", allow_hyphen_values = true)]
    pub(crate) bound: headway_units::Duration,
    /// Port of this machine's loopback address, TCP and UDP, that the command reaches at the same port of the gateway
    /// (the outer end of the link). May be repeated.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) host_port: Vec<u16>,
    /// Folder for captures in pcapng format: the packets at both ends of the link (`shell.pcapng`, `gateway.pcapng`),
    /// and those that the link dropped (`drops.pcapng`).
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    /// Write a log of the packets that leave the shell to this file, in the format of Mahimahi's mm-link.
    #[arg(long, value_name = "FILE")]
    pub(crate) uplink_log: Option<PathBuf>,
    /// Write a log of the packets into the shell to this file, in the format of Mahimahi's mm-link.
    #[arg(long, value_name = "FILE")]
    pub(crate) downlink_log: Option<PathBuf>,
    /// Print the report at the end as JSON, on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no report at the end. If the run is not valid, the reason is printed nevertheless.
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Program that runs behind the link, with its arguments [default: $SHELL, or /bin/sh].
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

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

#[derive(Debug, Args)]
pub(crate) struct GuardOptions {
    /// Outer device of the shell.
    pub(crate) device: String,
    /// Addresses of the shell.
    pub(crate) network: String,
}
