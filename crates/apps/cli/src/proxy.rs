//! `headway proxy`: an emulated link between real UDP sockets.

use crate::arguments::ProxyOptions as Arguments;
use crate::error::Failure;
use crate::interrupt;
use crate::sockets::{Console, address, check_not_own, destination};
use headway_emulator::{DirectionCounts, Proxy, ProxyOptions, Report};
use headway_record::number_table;
use headway_units::{Duration, counted};
use serde::Serialize;

/// Time between two checks for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two reports, in s.
const REPORT_INTERVAL_S: f64 = 1.0;

/// Report as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    last: bool,
}

pub(crate) fn proxy(args: &Arguments) -> Result<(), Failure> {
    let links = args.link.read(["clients", "server"])?;
    // The scenario may be a pipe: until it is read, a signal ends the program.
    interrupt::listen();
    let ways = links.duplex(args.link.link.as_deref()).map_err(|error| Failure::Proxy(error.to_string()))?;
    let named = ways.map(|way| (way.name.as_str(), &way.config));
    let failed = |error: headway_emulator::ProxyError| Failure::Proxy(error.to_string());
    let (listen, to) = (address(&args.listen)?, destination(&args.to)?);
    check_not_own(listen, "--to", to)?;
    let options = ProxyOptions { listen, to, overhead: None, clients: args.max_clients, bound: args.bound };
    let mut proxy = Proxy::new(options, links.ties, named, links.seed).map_err(failed)?;
    let front = proxy.address().map_err(failed)?;
    // With --listen and port 0, the system has chosen the port.
    check_not_own(front, "--to", to)?;
    let console = Console::new(args.json, args.quiet, false)?;
    if !args.quiet {
        console.warn(&format!("{front} forwards to {to} over the link {}; press Ctrl-C to stop", ways[0].name));
    }
    let mut before = proxy.report();
    while !interrupt::stop_requested() {
        proxy.turn(POLL_INTERVAL).map_err(failed)?;
        if proxy.elapsed_s() - before.elapsed_s < REPORT_INTERVAL_S {
            continue;
        }
        let report = proxy.report();
        if !args.quiet {
            console.line(&Line { report: &report, last: false })?;
        }
        console.status(live(&before, &report));
        before = report;
    }
    let report = proxy.report();
    if args.json {
        console.last_line(&Line { report: &report, last: true })?;
    } else {
        console.text(table(&report))?;
    }
    console.finish()?;
    if report.valid {
        Ok(())
    } else {
        Err(Failure::Proxy(format!("this run is not valid: {}", report.faults.join("; "))))
    }
}

/// Returns the status line of the last second.
fn live(before: &Report, now: &Report) -> String {
    let seconds = (now.elapsed_s - before.elapsed_s).max(1e-3);
    let way = |before: &DirectionCounts, now: &DirectionCounts| {
        let mbps = 8e-6 * (now.delivered_bytes - before.delivered_bytes) as f64 / seconds;
        let dropped = now.dropped_packets.total() - before.dropped_packets.total();
        format!("{mbps:.2} Mb/s, {dropped} dropped, {} in flight", now.held_packets)
    };
    format!(
        "{:.0} s, {}; to server {}; to clients {}; lateness {}",
        now.elapsed_s,
        counted(now.clients as u64, "client"),
        way(&before.to_server, &now.to_server),
        way(&before.to_client, &now.to_client),
        now.release_error_s.map_or_else(String::new, |error| format!("{:.0} us (p99)", 1e6 * error.p99)),
    )
}

/// Returns the tables of the final report.
fn table(report: &Report) -> String {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let both = [&report.to_server, &report.to_client];
    let column = |title: &str, count: fn(&DirectionCounts) -> u64| (title.to_owned(), both.map(count));
    let mut columns = vec![
        column("arrived", |counts| counts.arrived_packets),
        column("delivered", |counts| counts.delivered_packets),
        column("dropped", |counts| counts.dropped_packets.total()),
        column("marked", |counts| counts.marked_packets),
        column("duplicated", |counts| counts.duplicated_packets),
        column("reordered", |counts| counts.reordered_packets),
        column("in flight", |counts| counts.held_packets),
        column("delivered\nB", |counts| counts.delivered_bytes),
    ];
    // Few links duplicate or reorder packets.
    columns.retain(|(title, counts)| !matches!(&title[..], "duplicated" | "reordered") || *counts != [0; 2]);
    let titles =
        std::iter::once("direction".to_owned()).chain(columns.iter().map(|(title, _)| title.clone())).collect();
    let row = |name: &str, place: usize| {
        let numbers = columns.iter().map(|(_, counts)| counts[place].to_string());
        std::iter::once(name.to_owned()).chain(numbers).collect::<Vec<_>>()
    };
    let directions = number_table(1, titles, vec![row("to the server", 0), row("to the clients", 1)]);
    let error = |name: &str, error: &Option<headway_record::DelaySummary>| {
        let us = |seconds: f64| format!("{:.1}", 1e6 * seconds);
        error.map(|error| vec![name.to_owned(), us(error.p50), us(error.p99), us(error.max)])
    };
    let errors = [error("release", &report.release_error_s), error("intake", &report.intake_error_s)];
    let errors: Vec<_> = errors.into_iter().flatten().collect();
    if errors.is_empty() {
        return format!("{:.1} s\n\n{directions}", report.elapsed_s);
    }
    let errors = number_table(1, texts(&["lateness", "p50\nus", "p99\nus", "max\nus"]), errors);
    format!("{:.1} s\n\n{directions}\n{errors}", report.elapsed_s)
}
