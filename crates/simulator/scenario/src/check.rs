//! What must hold between the tables of a scenario.

use crate::document::{Data, Value};
use crate::flow::Flow;
use crate::path::Path;
use crate::problem::Problems;
use crate::reach::{Trip, Way, ways};
use crate::reader::Reader;
use crate::scenario::{Expanded, Scenario};
use headway_media::{Context, Source, SourceOptions, WriteSize};
use headway_units::{Bytes, Duration, Instant, Random, Registry};

/// More packets than anyone waits for: some hours of computing.
const MOST_PACKETS: u64 = 10_000_000_000;
/// Links that all flows' routes pass together; each takes four bytes.
const MOST_HOPS: u64 = 50_000_000;
/// Flows by links that count by flow; each takes some hundred bytes.
const MOST_FLOWS_AT_LINKS: usize = 1_000_000;
/// Values in all series together; they take a gigabyte.
const MOST_SAMPLES: u64 = 50_000_000;

/// Notes what is wrong with `reader`.
pub(crate) fn scenario(reader: &mut Reader<'_>, expanded: &Expanded) {
    by_flow(reader, expanded);
    series(reader, expanded);
    sources(reader, expanded);
    send_queues(reader, expanded);
    if reader.problems.is_empty() {
        routes(reader, expanded);
        packets(reader, expanded);
    }
}

/// What is allowed but odd.
pub(crate) fn warnings(root: &Value, expanded: &Expanded) -> Problems {
    let mut warnings = Problems::default();
    after_the_end(root, expanded, &mut warnings);
    for (path, flow) in one_of_each_table(expanded) {
        if root.has(&path.key("e_model")) && flow.source.lifetime().is_none() {
            let message = "the E-model needs packets with a deadline: give the source a lifetime, or leave e_model out";
            warnings.value(root, &path.key("e_model"), message);
        }
        let path = path.key("send_queue");
        if flow.transport.controller().is_none() && root.has(&path) {
            let message = format!(
                "{} has no rate controller: only a transport with a rate controller uses a send queue, so that \
                 send_queue has no effect",
                flow.transport.kind()
            );
            warnings.value(root, &path, message);
        }
    }
    idle_hosts(root, expanded, &mut warnings);
    warnings
}

/// Warns of flows, attackers, changes and samples that are due after the end of the run.
fn after_the_end(root: &Value, expanded: &Expanded, warnings: &mut Problems) {
    let Scenario { duration, flows, attackers, series, .. } = &expanded.scenario;
    let (end, ends_at) = (Instant::ZERO + *duration, format!("the run ends at {duration}"));
    let mut first = 0;
    for replicas in expanded.flow_tables.chunk_by(usize::eq) {
        let of_table = &flows[first..first + replicas.len()];
        if let Some(late) = of_table.iter().position(|flow| flow.start.earliest() >= end) {
            let path = flow_path(replicas[0]).key("start");
            // Each replica may have its own start.
            let path = Some(path.index(late)).filter(|own| root.has(own)).unwrap_or(path);
            warnings.value(root, &path, format!("this flow never starts: {ends_at}"));
        }
        first += replicas.len();
    }
    for (index, attacker) in attackers.iter().enumerate() {
        if attacker.start >= end {
            let path = Path::default().key("attacker").index(index).key("start");
            warnings.value(root, &path, format!("this attacker never starts: {ends_at}"));
        }
    }
    let path = Path::default().key("record").key("series");
    if root.has(&path) && series.is_some_and(|interval| interval > *duration) {
        warnings.value(root, &path, format!("no sample is taken: {ends_at}"));
    }
    for key in ["link", "flow"] {
        let Some(entry) = root.table().and_then(|table| table.get(key)) else { continue };
        changes_after(*duration, &entry.value, &Path::default().key(key), &mut |path| {
            warnings.value(root, path, format!("this change never happens: {ends_at}"));
        });
    }
}

/// Calls `found` with the time of the first of each list of `changes` that is due at `end` or later.
fn changes_after(end: Duration, value: &Value, path: &Path, found: &mut impl FnMut(&Path)) {
    let has_keys = |value: &Value| matches!(value.data, Data::Array(_) | Data::Table(_));
    for (index, value) in value.array().unwrap_or_default().iter().enumerate().filter(|(_, value)| has_keys(value)) {
        changes_after(end, value, &path.index(index), found);
    }
    for (key, entry) in value.table().into_iter().flatten().filter(|(_, entry)| has_keys(&entry.value)) {
        let path = path.key(key);
        if key == "changes" {
            let at = |change: &Value| change.table()?.get("at")?.value.text()?.parse::<Duration>().ok();
            let changes = entry.value.array().unwrap_or_default();
            if let Some(late) = changes.iter().position(|change| at(change).is_some_and(|at| at >= end)) {
                found(&path.index(late).key("at"));
            }
        } else {
            changes_after(end, &entry.value, &path, found);
        }
    }
}

/// Hosts at which nothing ends its way.
fn idle_hosts(root: &Value, expanded: &Expanded, warnings: &mut Problems) {
    let scenario = &expanded.scenario;
    let mut receives = vec![false; scenario.nodes.len()];
    for flow in &scenario.flows {
        receives[flow.to] = true;
        receives[flow.from] |= sizes(flow).1.is_some();
    }
    // What answers made-up addresses ends there.
    scenario.attackers.iter().for_each(|attacker| receives[attacker.at] = true);
    let mut first = 0;
    for replicas in expanded.node_tables.chunk_by(usize::eq) {
        let end = first + replicas.len();
        if scenario.hosts[first].is_some() && !receives[first..end].contains(&true) {
            let message = "no packet is addressed to this node, and forwarding has no cost: this host has no effect";
            warnings.value(root, &Path::default().key("node").index(replicas[0]).key("host"), message);
        }
        first = end;
    }
}

fn flow_path(table: usize) -> Path {
    Path::default().key("flow").index(table)
}

/// The first flow that each table made, with the table's path.
fn one_of_each_table(expanded: &Expanded) -> impl Iterator<Item = (Path, &Flow)> {
    let mut last = None;
    expanded.flow_tables.iter().zip(&expanded.scenario.flows).filter_map(move |(&table, flow)| {
        let first = last != Some(table);
        last = Some(table);
        first.then(|| (flow_path(table), flow))
    })
}

/// Flows at links that count by flow.
fn flows_at_links(scenario: &Scenario) -> usize {
    scenario.flows.len().saturating_mul(scenario.links.iter().filter(|link| link.by_flow).count())
}

fn by_flow(reader: &mut Reader<'_>, expanded: &Expanded) {
    let counted = flows_at_links(&expanded.scenario);
    if counted > MOST_FLOWS_AT_LINKS {
        let message = format!(
            "flows by links with by_flow make {counted} counters, above the limit of {MOST_FLOWS_AT_LINKS}: leave by_flow out of some links"
        );
        reader.wrong(&Path::default().key("link"), message);
    }
}

fn series(reader: &mut Reader<'_>, expanded: &Expanded) {
    let scenario = &expanded.scenario;
    let Some(interval) = scenario.series else { return };
    let each = scenario.duration.as_nanos() / interval.as_nanos().max(1);
    // Of each link throughput, queue, arrivals, drops and average; of each flow there arrivals and drops.
    let flows: usize = scenario.flows.iter().map(|flow| flow.transport.series()).sum();
    let all = each.saturating_mul((flows + 5 * scenario.links.len() + 2 * flows_at_links(scenario)) as u64);
    if all > MOST_SAMPLES {
        let path = Path::default().key("record").key("series");
        let message = format!(
            "{all} samples are too many: at most {MOST_SAMPLES}; write an interval longer than {interval}, or false"
        );
        reader.wrong(&path, message);
    }
}

fn sources(reader: &mut Reader<'_>, expanded: &Expanded) {
    for (path, flow) in one_of_each_table(expanded) {
        if let (false, SourceOptions::Ftp(_)) = (flow.transport.takes_backlog(), &*flow.source) {
            let message = format!(
                "{} would send all data of an ftp source at once: give the flow a tcp transport, or a source with a rate",
                flow.transport.kind()
            );
            reader.wrong(&path.key("source"), message);
            continue;
        }
        if !flow.transport.opens_sessions() && flow.source.makes_sessions() {
            let message = format!(
                "{} does not open a connection for each session: give the flow a tcp transport, or a source without sessions",
                flow.transport.kind()
            );
            reader.wrong(&path.key("source"), message);
            continue;
        }
        if flow.source.follows_rate() && flow.transport.controller().is_none() {
            let message = format!(
                "{} reports no rate for the encodings to follow: give the flow a transport with a rate controller, \
                 such as udpm, or a source such as cbr",
                flow.transport.kind()
            );
            reader.wrong(&path.key("source"), message);
            continue;
        }
        if let Some((size, header)) = without_data(flow) {
            let message =
                format!("the writes carry no data: the largest IP packet has {size}, and its headers take {header}");
            reader.wrong(&path.key("source"), message);
            continue;
        }
        let random = Random::new(expanded.scenario.seed, &flow.name);
        let context = Context { start: Instant::ZERO, stop: None, random, trace: flow.trace.clone() };
        if let Err(error) = Source::new(&flow.source, context) {
            reader.wrong(&path.key("source").key(error.key), error.message);
        }
    }
}

/// Notes send queues that cannot do what they are told.
fn send_queues(reader: &mut Reader<'_>, expanded: &Expanded) {
    for (path, flow) in one_of_each_table(expanded) {
        if let Some(message) = resend_misfit(flow) {
            reader.wrong(&path.key("send_queue").key("resend"), message);
        }
    }
}

/// Why the flow's send queue cannot send again what is lost, if it is to.
#[must_use]
pub fn resend_misfit(flow: &Flow) -> Option<String> {
    let controller = flow.transport.controller()?;
    if !flow.send_queue.rules.resend {
        None
    } else if controller.reports() != headway_rate::ReportForm::Arrivals {
        Some(format!(
            "resend needs a receiver that acknowledges each packet, and that of {} reports rates and losses only: \
             write resend = false, or a transport tcp-like or dccp with ccid = 2",
            controller.kind()
        ))
    } else if let SourceOptions::Ftp(_) = *flow.source {
        let message = "resend has no effect with an ftp source, which always has new data: \
                       write resend = false, or another source";
        Some(message.to_owned())
    } else {
        None
    }
}

/// The largest write and the headers of its datagram, if they leave no room for data.
fn without_data(flow: &Flow) -> Option<(Bytes, Bytes)> {
    let header = flow.transport.write_header()?;
    match flow.source.largest_write(flow.trace.as_deref())? {
        WriteSize::Wire(size) if size <= header => Some((size, header)),
        WriteSize::Wire(_) | WriteSize::Payload(_) => None,
    }
}

/// The sizes of a flow's largest packets, there and, if it has any, back.
fn sizes(flow: &Flow) -> (u64, Option<u64>) {
    let (there, back) = flow.transport.largest_packets(flow.source.largest_write(flow.trace.as_deref()));
    (there.count(), back.map(Bytes::count))
}

fn routes(reader: &mut Reader<'_>, expanded: &Expanded) {
    let scenario = &expanded.scenario;
    let mut trips = Vec::new();
    let mut of_flow = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let (there, back) = sizes(flow);
        trips.push(Trip { from: flow.from, to: flow.to, size: there });
        of_flow.push(index);
        if let Some(size) = back {
            trips.push(Trip { from: flow.to, to: flow.from, size });
            of_flow.push(index);
        }
    }
    // Attackers come last. They reach both ends, and hear from both: where packets are led by their node, and where the server
    // answers what they send.
    let flow_trips = trips.len();
    for attacker in &scenario.attackers {
        let flow = &scenario.flows[attacker.target];
        let (there, back) = sizes(flow);
        let back = back.unwrap_or_default();
        for (from, to, size) in [
            (attacker.at, flow.to, there),
            (flow.to, attacker.at, back),
            (attacker.at, flow.from, back),
            (flow.from, attacker.at, there),
        ] {
            trips.push(Trip { from, to, size });
        }
    }
    let found = ways(scenario.nodes.len(), &scenario.links, &trips);
    for (number, (way, trip)) in found.iter().zip(&trips).skip(flow_trips).enumerate() {
        if *way == Way::None {
            let path = Path::default().key("attacker").index(number / 4).key("at");
            no_way(reader, expanded, &path, *trip);
        }
    }
    let mut hops = 0;
    let mut told = None;
    for ((way, trip), &flow) in found.iter().zip(&trips).zip(&of_flow) {
        let table = expanded.flow_tables[flow];
        match way {
            Way::Hops(count) => hops += u64::from(*count),
            // One of a table's replicas is enough.
            _ if told == Some(table) => {}
            Way::None => {
                told = Some(table);
                no_way(reader, expanded, &flow_path(table), *trip);
            }
            Way::TooFar => {
                let path = Path::default().key("link");
                reader.wrong(&path, "the network is too large: its flows end at too many nodes with several links");
                return;
            }
        }
    }
    if hops > MOST_HOPS {
        let message =
            format!("the flows cross {hops} links in total: at most {MOST_HOPS}; use fewer flows or shorter paths");
        reader.wrong(&Path::default().key("flow"), message);
    }
}

fn no_way(reader: &mut Reader<'_>, expanded: &Expanded, path: &Path, trip: Trip) {
    let scenario = &expanded.scenario;
    let names = [trip.from, trip.to].map(|node| scenario.nodes[node].as_str());
    let without_mtu = ways(scenario.nodes.len(), &scenario.links, &[Trip { size: 0, ..trip }]);
    let message = if without_mtu == [Way::None] {
        format!("there is no path from \"{}\" to \"{}\"", names[0], names[1])
    } else {
        format!(
            "packets of {}B exceed the mtu of every path from \"{}\" to \"{}\": send smaller packets, or raise the mtu",
            trip.size, names[0], names[1]
        )
    };
    reader.wrong(path, message);
}

fn packets(reader: &mut Reader<'_>, expanded: &Expanded) {
    let scenario = &expanded.scenario;
    let mut all: u64 = 0;
    for (flow, &table) in scenario.flows.iter().zip(&expanded.flow_tables) {
        let end = Instant::ZERO + scenario.duration;
        let length = flow.stop.unwrap_or(end).min(end).since(flow.start.earliest());
        let trace = flow.trace.as_deref();
        let write = flow.source.largest_write(trace);
        let each = write.map_or(1, |write| flow.transport.packets_at_once(write));
        all = all.saturating_add(flow.source.writes_within(trace, length).saturating_mul(each));
        if all > MOST_PACKETS {
            let kind = flow.source.kind();
            let message = format!(
                "with this {kind} source the scenario sends more than {MOST_PACKETS} packets: lower the rate, or the duration"
            );
            reader.wrong(&flow_path(table).key("source"), message);
            return;
        }
    }
    for (number, attacker) in scenario.attackers.iter().enumerate() {
        let end = Instant::ZERO + scenario.duration;
        let length = attacker.stop.unwrap_or(end).min(end).since(attacker.start);
        all = all.saturating_add(attacker.attack.shots_within(length));
        if all > MOST_PACKETS {
            let message = format!(
                "with this attack the scenario sends more than {MOST_PACKETS} packets: make its interval longer, or the duration shorter"
            );
            reader.wrong(&Path::default().key("attacker").index(number).key("attack"), message);
            return;
        }
    }
}
