//! Runs the flows of a scenario in real time between real sockets of this machine, through its link.
//! `validation/parity/run` compares the record with that of `headway run`.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod application;
#[cfg(target_os = "linux")]
mod carrier;
#[cfg(target_os = "linux")]
mod flow_setup;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod meters;
#[cfg(target_os = "linux")]
mod receiver;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod sender;
#[cfg(target_os = "linux")]
mod series;
#[cfg(target_os = "linux")]
mod stamp;
#[cfg(all(test, target_os = "linux"))]
mod tests;
#[cfg(target_os = "linux")]
mod time;
#[cfg(target_os = "linux")]
mod udp;

use clap::Parser;
use headway_units::Duration;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the flows of a scenario in real time between real sockets of this machine, through its link.
#[derive(Debug, Parser)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the link between sockets needs Linux"))]
struct Options {
    /// The scenario file: two nodes, a duplex link between them, and flows with `dccp` or `udp` along it.
    scenario: PathBuf,
    /// Seed of the random streams of sources and of the link [default: the scenario's].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Override a key, such as `link[0].rate=4Mbps`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Folder for the record.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Put DTLS below DCCP.
    #[arg(long)]
    dtls: bool,
    /// Maximum 99th percentile of the delays of the link and of sources. Above it, the command fails.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    bound: Duration,
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let Err(error) = run::live(&Options::parse()) else { return ExitCode::SUCCESS };
    eprintln!("live: {error}");
    ExitCode::FAILURE
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    let _ = Options::parse();
    eprintln!("live: the link between sockets needs Linux");
    ExitCode::FAILURE
}
