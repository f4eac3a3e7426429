//! `headway proxy`: a link between real sockets.

use crate::arguments::ProxyOptions as Asked;
use crate::error::Failure;
use crate::interrupt;
use crate::sets;
use crate::sockets::{Teller, address, check_not_own, destination};
use headway_emulator::{Proxy, ProxyOptions, Report, WayCounts};
use headway_record::number_table;
use headway_run::ScenarioText;
use headway_scenario::{Links, links};
use headway_units::{Duration, counted};
use serde::Serialize;

/// The link of who names no scenario: as fast as one without a delay may be.
const BARE_LINK: &str = "[[link]]\nbetween = [\"clients\", \"server\"]\ndelay = \"0s\"\n";
const BARE_RATE: &str = "rate = \"8Gbps\"\n";
/// So long nothing looks whether the user wants to stop.
const TURN: Duration = Duration::from_millis(100);
/// From one line of figures to the next, in s.
const LINE_S: f64 = 1.0;

/// A report as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    last: bool,
}

pub(crate) fn proxy(asked: &Asked) -> Result<(), Failure> {
    let links = read(asked)?;
    // The scenario has been read, from a pipe perhaps: until here a signal ends the program.
    interrupt::listen();
    let ways = links.duplex(asked.link.as_deref()).map_err(|error| Failure::Proxy(error.to_string()))?;
    let named = ways.map(|way| (way.name.as_str(), &way.config));
    let failed = |error: headway_emulator::ProxyError| Failure::Proxy(error.to_string());
    let (listen, to) = (address(&asked.listen)?, destination(&asked.to)?);
    check_not_own(listen, "--to", to)?;
    let options = ProxyOptions { listen, to, beside: None, clients: asked.max_clients, bound: asked.bound };
    let mut proxy = Proxy::new(options, links.ties, named, links.seed).map_err(failed)?;
    let front = proxy.address().map_err(failed)?;
    // The system may have chosen this port for --listen with port 0.
    check_not_own(front, "--to", to)?;
    let teller = Teller::new(asked.json, asked.quiet, false)?;
    if !asked.quiet {
        teller.warn(&format!("{front} leads to {to} by the link {}; Ctrl-C ends it", ways[0].name));
    }
    let mut before = proxy.report();
    while !interrupt::asked() {
        proxy.turn(TURN).map_err(failed)?;
        if proxy.elapsed_s() - before.elapsed_s < LINE_S {
            continue;
        }
        let report = proxy.report();
        if !asked.quiet {
            teller.line(&Line { report: &report, last: false })?;
        }
        teller.live(live(&before, &report));
        before = report;
    }
    let report = proxy.report();
    if asked.json {
        teller.last_line(&Line { report: &report, last: true })?;
    } else {
        teller.text(table(&report))?;
    }
    teller.finish()?;
    if report.valid {
        Ok(())
    } else {
        Err(Failure::Proxy(format!("this run is not valid: {}", report.faults.join("; "))))
    }
}

/// The links that the arguments describe: overrides of a scenario's, or of a link without a scenario.
fn read(asked: &Asked) -> Result<Links, Failure> {
    let link = format!("link[{}]", asked.link.as_deref().unwrap_or("0"));
    let mut sets = sets::seed(asked.seed);
    for (option, key, value) in [("--rate", "rate", &asked.rate), ("--delay", "delay", &asked.delay)] {
        sets.extend(value.iter().map(|value| (option, format!("{link}.{key}={value}"))));
    }
    let capacity = asked.capacity.iter().map(|file| file.display().to_string());
    sets.extend(capacity.map(|file| ("--capacity", format!("{link}.capacity=\"{}\"", file.escape_debug()))));
    for (option, key, value) in [("--queue", "queue", &asked.queue), ("--loss", "loss", &asked.loss)] {
        let Some(text) = value else { continue };
        let (kind, keys) = text.split_once(',').unwrap_or((text, ""));
        // A table of its own: nothing stays of what the scenario has there.
        sets.push((option, format!("{link}.{key}={{ kind = \"{}\" }}", kind.trim().escape_debug())));
        for part in keys.split(',').filter(|part| !part.trim().is_empty()) {
            if !part.contains('=') {
                let message = format!("--{key} {text}: \"{}\" has no value: write KEY=VALUE", part.trim());
                return Err(Failure::Proxy(message));
            }
            let set = format!("{link}.{key}.{}", part.trim());
            if sets.iter().any(|(_, first)| sets::key(first) == sets::key(&set)) {
                let part = sets::key(part);
                let message = format!("--{key} {text}: {part}: this key has two values: write one of them");
                return Err(Failure::Proxy(message));
            }
            sets.push((option, set));
        }
    }
    // The user of --link has named the link whose keys the other options set.
    let named =
        |option: &str| asked.link.as_ref().map_or_else(|| option.to_owned(), |link| format!("--link {link} {option}"));
    let label = |(option, set): (&str, String)| {
        if set.starts_with("link[") { (named(option), set) } else { (option.to_owned(), set) }
    };
    let sets: Vec<(String, String)> = sets.into_iter().map(label).collect();
    let overrides = sets::overrides(&sets, &asked.overrides)?;
    let ScenarioText { file, text, files, .. } = match &asked.scenario {
        Some(path) => ScenarioText::read(path, [])?,
        None if asked.capacity.is_some() => ScenarioText::written("the link", BARE_LINK, [])?,
        None => ScenarioText::written("the link", &format!("{BARE_LINK}{BARE_RATE}"), [])?,
    };
    Ok(links(&file, &text, &overrides, &files)?)
}

/// The last second on one line.
fn live(before: &Report, now: &Report) -> String {
    let seconds = (now.elapsed_s - before.elapsed_s).max(1e-3);
    let way = |before: &WayCounts, now: &WayCounts| {
        let mbps = 8e-6 * (now.delivered_bytes - before.delivered_bytes) as f64 / seconds;
        let dropped = now.dropped_packets.total() - before.dropped_packets.total();
        format!("{mbps:.2} Mb/s, {dropped} dropped, {} on the link", now.held_packets)
    };
    format!(
        "{:.0} s, {}; to the server {}; back {}; late {}",
        now.elapsed_s,
        counted(now.clients as u64, "client"),
        way(&before.to_server, &now.to_server),
        way(&before.to_client, &now.to_client),
        now.release_error_s.map_or_else(String::new, |error| format!("{:.0} us at p99", 1e6 * error.p99)),
    )
}

/// All that is told at the end.
fn table(report: &Report) -> String {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let both = [&report.to_server, &report.to_client];
    let column = |title: &str, count: fn(&WayCounts) -> u64| (title.to_owned(), both.map(count));
    let mut columns = vec![
        column("came", |counts| counts.arrived_packets),
        column("left", |counts| counts.delivered_packets),
        column("dropped", |counts| counts.dropped_packets.total()),
        column("marked", |counts| counts.marked_packets),
        column("copied", |counts| counts.duplicated_packets),
        column("reordered", |counts| counts.reordered_packets),
        column("on the link", |counts| counts.held_packets),
        column("left\nB", |counts| counts.delivered_bytes),
    ];
    // What few links do.
    columns.retain(|(title, counts)| !matches!(&title[..], "copied" | "reordered") || *counts != [0; 2]);
    let titles = std::iter::once("way".to_owned()).chain(columns.iter().map(|(title, _)| title.clone())).collect();
    let way = |name: &str, place: usize| {
        let numbers = columns.iter().map(|(_, counts)| counts[place].to_string());
        std::iter::once(name.to_owned()).chain(numbers).collect::<Vec<_>>()
    };
    let ways = number_table(1, titles, vec![way("to the server", 0), way("to the clients", 1)]);
    let error = |name: &str, error: &Option<headway_record::DelaySummary>| {
        let us = |seconds: f64| format!("{:.1}", 1e6 * seconds);
        error.map(|error| vec![name.to_owned(), us(error.p50), us(error.p99), us(error.max)])
    };
    let errors = [error("release", &report.release_error_s), error("intake", &report.intake_error_s)];
    let errors: Vec<_> = errors.into_iter().flatten().collect();
    if errors.is_empty() {
        return format!("{:.1} s\n\n{ways}", report.elapsed_s);
    }
    let errors = number_table(1, texts(&["late", "p50\nus", "p99\nus", "max\nus"]), errors);
    format!("{:.1} s\n\n{ways}\n{errors}", report.elapsed_s)
}
