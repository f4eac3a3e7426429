//! `headway shell`: a program behind an emulated link.

use crate::arguments::{GuardOptions, InitOptions, ShellOptions as Arguments};
use crate::error::Failure;
use crate::output;
use headway_emulator::{
    Capture, LogHeader, MahimahiLog, PacketSink, PathReport, Shell, ShellOptions, ShellReport, run_guard, run_init,
};
use headway_record::number_table;
use headway_scenario::Link;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Exit status if the emulator fails or its run is invalid, like those of timeout(1) and env(1).
pub(crate) const EMULATOR_FAILED: u8 = 125;
/// Time between two checks for a signal and for the end of the command.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Nodes at the ends of the link.
const NODES: [&str; 2] = ["shell", "gateway"];
/// Time that the command has after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) fn shell(args: &Arguments) -> Result<ExitCode, Failure> {
    let failed = |error: headway_emulator::ShellError| Failure::Shell(error.to_string());
    let links = args.link.read(NODES)?;
    let ways = links.duplex(args.link.link.as_deref()).map_err(|error| Failure::Shell(error.to_string()))?;
    let named = ways.map(|way| (way.name.as_str(), &way.config));
    let program =
        std::env::current_exe().map_err(|error| Failure::Shell(format!("cannot find this program: {error}")))?;
    let options = ShellOptions { program, bound: args.bound, host_ports: args.host_port.clone() };
    let command = if args.command.is_empty() { vec![default_shell()] } else { args.command.clone() };
    let sinks = sinks(args, ways)?;
    let stop = handle_signals().map_err(|error| Failure::Shell(format!("cannot handle signals: {error}")))?;
    let shell = Shell::start(&options, links.ties, named, links.seed, sinks, &command).map_err(failed)?;
    if let (Some(problem), false) = (shell.problem(), args.quiet) {
        output::note(&format!("headway: {problem}"));
    }
    let mut waited_since_signal = Duration::ZERO;
    while !shell.has_ended() {
        std::thread::park_timeout(POLL_INTERVAL);
        if stop.load(Ordering::Relaxed) {
            if waited_since_signal.is_zero() {
                shell.terminate();
            } else if waited_since_signal > GRACE {
                shell.kill();
            }
            waited_since_signal += POLL_INTERVAL;
        }
    }
    let (status, report) = shell.finish().map_err(failed)?;
    if args.json {
        let json = serde_json::to_string(&report).map_err(|error| Failure::Shell(error.to_string()))?;
        output::note(&json);
    } else if !args.quiet {
        output::note(table(&report).trim_end());
    }
    if !report.valid {
        return Err(Failure::Shell(format!("this run is not valid: {}", report.faults.join("; "))));
    }
    let code = status.code().or_else(|| Some(128 + status.signal()?)).and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(EMULATOR_FAILED)))
}

/// Returns a flag that SIGTERM and SIGHUP set. The terminal sends SIGINT and SIGQUIT to the command, too, which decides what
/// they mean.
fn handle_signals() -> std::io::Result<Arc<AtomicBool>> {
    let [stop, unused] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    for (signal, is_set) in [(SIGTERM, &stop), (SIGHUP, &stop), (SIGINT, &unused), (SIGQUIT, &unused)] {
        flag::register(signal, Arc::clone(is_set))?;
    }
    Ok(stop)
}

/// Creates the files of the captures and logs.
fn sinks(args: &Arguments, ways: [&Link; 2]) -> Result<Vec<Box<dyn PacketSink>>, Failure> {
    let failed = |option: &str, path: &Path, error: std::io::Error| {
        Failure::Shell(format!("--{option} {}: cannot create: {error}", path.display()))
    };
    let mut sinks: Vec<Box<dyn PacketSink>> = Vec::new();
    if let Some(folder) = &args.capture {
        let [shell, gateway] = NODES;
        let capture = Capture::create(folder, &[[shell, gateway], [gateway, shell]]);
        sinks.push(Box::new(capture.map_err(|error| failed("capture", folder, error))?));
    }
    for (path, (option, direction, file)) in
        [("uplink-log", "Uplink", &args.uplink_log), ("downlink-log", "Downlink", &args.downlink_log)]
            .into_iter()
            .enumerate()
    {
        let (Some(file), config) = (file, &ways[path].config) else { continue };
        let trace = if config.capacity.is_some() { "trace of " } else { "" };
        let header = LogHeader {
            direction: direction.to_owned(),
            trace: format!("{trace}{}", config.rate),
            command_line: std::env::args_os().map(|argument| quoted(&argument)).collect::<Vec<_>>().join(" "),
            queue: serde_json::to_string(&config.queue).map_err(|error| Failure::Shell(error.to_string()))?,
        };
        let log = MahimahiLog::create(file, path, header, config);
        sinks.push(Box::new(log.map_err(|error| failed(option, file, error))?));
    }
    Ok(sinks)
}

/// Returns an argument in the notation of POSIX shells.
fn quoted(argument: &OsStr) -> String {
    format!("'{}'", argument.display().to_string().replace('\'', "'\\''"))
}

fn default_shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

/// Runs a command as the first process of a namespace.
pub(crate) fn init(args: &InitOptions) -> ExitCode {
    match run_init(args.parent, args.nameserver.parse().ok(), &args.command) {
        Ok(status) => ExitCode::from(status),
        Err((status, error)) => {
            let program = args.command.first().map(|program| program.display().to_string()).unwrap_or_default();
            output::note(&format!("headway: cannot start {program}: {error}"));
            ExitCode::from(status)
        }
    }
}

/// Gives a shell access to the outside until standard input ends.
pub(crate) fn guard(args: &GuardOptions) -> Result<(), Failure> {
    run_guard(&args.device, &args.network).map_err(|error| Failure::Shell(error.to_string()))
}

/// Returns the table of the report.
fn table(report: &ShellReport) -> String {
    let paths = [("uplink", &report.uplink), ("downlink", &report.downlink)];
    let titles = [
        "direction",
        "arrived",
        "delivered",
        "dropped",
        "marked",
        "queue\nmean",
        "delivered\nMb/s",
        "release error\np50 us",
        "p99\nus",
        "max\nus",
        "CPU\n%",
    ];
    let row = |(name, path): (&str, &PathReport)| {
        let counts = &path.counts;
        let us = |value: fn(&headway_record::DelaySummary) -> f64| {
            path.release_error_s.as_ref().map_or_else(|| "-".to_owned(), |error| format!("{:.1}", 1e6 * value(error)))
        };
        let rate = 8e-6 * counts.delivered_bytes as f64 / report.elapsed_s.max(1e-3);
        vec![
            name.to_owned(),
            counts.arrived_packets.to_string(),
            counts.delivered_packets.to_string(),
            counts.dropped_packets.total().to_string(),
            counts.marked_packets.to_string(),
            format!("{:.1}", path.mean_queue_packets),
            format!("{rate:.3}"),
            us(|error| error.p50),
            us(|error| error.p99),
            us(|error| error.max),
            format!("{:.1}", 100.0 * path.cpu_share),
        ]
    };
    let table = number_table(1, titles.map(str::to_owned).to_vec(), paths.map(row).to_vec());
    format!("{:.1} s behind the link\n\n{table}", report.elapsed_s)
}
