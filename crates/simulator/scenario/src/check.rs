//! Checks across the tables of a scenario: limits, routes, sources, and warnings about keys without effect.

use crate::document::{Data, Value};
use crate::flow::Flow;
use crate::hop_counts::{HopCount, Route, hop_counts};
use crate::path::Path;
use crate::problem::Problems;
use crate::reader::Reader;
use crate::scenario::{Expanded, Scenario};
use headway_media::{Context, FtpOptions, Source, SourceOptions, WriteSize};
use headway_units::{Bytes, Duration, Instant, Random, Registry};

/// Maximum number of packets of a run: some hours of computation.
const MAX_PACKETS: u64 = 10_000_000_000;
/// Maximum number of links on the routes of all flows; each takes 4 bytes.
const MAX_HOPS: u64 = 50_000_000;
/// Maximum number of pairs of a flow and a link with `by_flow`; each takes some hundred bytes.
const MAX_FLOWS_AT_LINKS: usize = 1_000_000;
/// Maximum number of values in all series; they take a gigabyte.
const MAX_SAMPLES: u64 = 50_000_000;

/// Reports the errors of the expanded scenario to `reader`.
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

/// Returns warnings about keys without effect.
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

/// Warns about flows, attackers, changes and samples that start after the end of the run.
fn after_the_end(root: &Value, expanded: &Expanded, warnings: &mut Problems) {
    let Scenario { duration, flows, attackers, series, .. } = &expanded.scenario;
    let (end, ends_at) = (Instant::ZERO + *duration, format!("the run ends at {duration}"));
    let mut first = 0;
    for replicas in expanded.flow_tables.chunk_by(usize::eq) {
        let of_table = &flows[first..first + replicas.len()];
        if let Some(late) = of_table.iter().position(|flow| flow.start.earliest() >= end) {
            let path = flow_path(replicas[0]).key("start");
            // Replicas may have separate start times.
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

/// Calls `found` with the path of the first time at or after `end` in each list of `changes`.
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

/// Warns about hosts that receive no packets.
fn idle_hosts(root: &Value, expanded: &Expanded, warnings: &mut Problems) {
    let scenario = &expanded.scenario;
    let mut receives = vec![false; scenario.nodes.len()];
    for flow in &scenario.flows {
        receives[flow.to] = true;
        receives[flow.from] |= sizes(flow).1.is_some();
    }
    // Responses to forged addresses are delivered to the attacker.
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

/// Returns the first flow of each table, with the path of the table.
fn one_of_each_table(expanded: &Expanded) -> impl Iterator<Item = (Path, &Flow)> {
    let mut last = None;
    expanded.flow_tables.iter().zip(&expanded.scenario.flows).filter_map(move |(&table, flow)| {
        let first = last != Some(table);
        last = Some(table);
        first.then(|| (flow_path(table), flow))
    })
}

fn flows_at_links(scenario: &Scenario) -> usize {
    scenario.flows.len().saturating_mul(scenario.links.iter().filter(|link| link.by_flow).count())
}

fn by_flow(reader: &mut Reader<'_>, expanded: &Expanded) {
    let counted = flows_at_links(&expanded.scenario);
    if counted > MAX_FLOWS_AT_LINKS {
        let message = format!(
            "flows by links with by_flow make {counted} counters, above the limit of {MAX_FLOWS_AT_LINKS}: leave by_flow out of some links"
        );
        reader.wrong(&Path::default().key("link"), message);
    }
}

fn series(reader: &mut Reader<'_>, expanded: &Expanded) {
    let scenario = &expanded.scenario;
    let Some(interval) = scenario.series else { return };
    let each = scenario.duration.as_nanos() / interval.as_nanos().max(1);
    // Per link: throughput, queue, arrivals, drops and average. Per flow at a link: arrivals and drops.
    let flows: usize = scenario.flows.iter().map(|flow| flow.transport.series()).sum();
    let all = each.saturating_mul((flows + 5 * scenario.links.len() + 2 * flows_at_links(scenario)) as u64);
    if all > MAX_SAMPLES {
        let path = Path::default().key("record").key("series");
        let message = format!(
            "{all} samples are too many: at most {MAX_SAMPLES}; write an interval longer than {interval}, or false"
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
        if flow.transport.external().is_some() && *flow.source != (SourceOptions::Ftp(FtpOptions { segments: None })) {
            let message = format!(
                "{} sends all that its connection can carry: write source = {{ kind = \"ftp\" }}",
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
                "{} reports no rate for the source to follow: give the flow a transport with a rate controller, \
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

fn send_queues(reader: &mut Reader<'_>, expanded: &Expanded) {
    for (path, flow) in one_of_each_table(expanded) {
        if let Some(message) = resend_error(flow) {
            reader.wrong(&path.key("send_queue").key("resend"), message);
        }
    }
}

/// Returns why the send queue of the flow cannot retransmit lost packets although `resend` is set; `None` if it can, or
/// if `resend` is not set.
#[must_use]
pub fn resend_error(flow: &Flow) -> Option<String> {
    let controller = flow.transport.controller()?;
    if !flow.send_queue.rules.resend {
        None
    } else if controller.reports() != headway_rate::ReportForm::Arrivals {
        Some(format!(
            "resend needs a receiver that acknowledges each packet as in Ack Vectors, and that of {} does not: \
             write resend = false, or a transport tcp-like, rap, or dccp with ccid = 2 or 254",
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

/// Returns the largest write and the headers of its datagram if the headers leave no room for data.
fn without_data(flow: &Flow) -> Option<(Bytes, Bytes)> {
    let header = flow.transport.write_header()?;
    match flow.source.largest_write(flow.trace.as_deref())? {
        WriteSize::Wire(size) if size <= header => Some((size, header)),
        WriteSize::Wire(_) | WriteSize::Payload(_) => None,
    }
}

/// Returns the sizes of the largest packets of the forward path and of the reverse path, if it has any.
fn sizes(flow: &Flow) -> (u64, Option<u64>) {
    let (forward, reverse) = flow.transport.largest_packets(flow.source.largest_write(flow.trace.as_deref()));
    (forward.count(), reverse.map(Bytes::count))
}

fn routes(reader: &mut Reader<'_>, expanded: &Expanded) {
    let scenario = &expanded.scenario;
    let mut routes = Vec::new();
    let mut of_flow = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let (forward, reverse) = sizes(flow);
        routes.push(Route { from: flow.from, to: flow.to, size: forward });
        of_flow.push(index);
        if let Some(size) = reverse {
            routes.push(Route { from: flow.to, to: flow.from, size });
            of_flow.push(index);
        }
    }
    // The routes of attackers follow. Attackers send to both ends and receive from both: packets that are routed
    // through their node, and the server's responses to their packets.
    let flow_routes = routes.len();
    for attacker in &scenario.attackers {
        let flow = &scenario.flows[attacker.target];
        let (forward, reverse) = sizes(flow);
        let reverse = reverse.unwrap_or_default();
        for (from, to, size) in [
            (attacker.at, flow.to, forward),
            (flow.to, attacker.at, reverse),
            (attacker.at, flow.from, reverse),
            (flow.from, attacker.at, forward),
        ] {
            routes.push(Route { from, to, size });
        }
    }
    let counts = hop_counts(scenario.nodes.len(), &scenario.links, &routes);
    for (number, (count, route)) in counts.iter().zip(&routes).skip(flow_routes).enumerate() {
        if *count == HopCount::Unreachable {
            let path = Path::default().key("attacker").index(number / 4).key("at");
            unreachable(reader, expanded, &path, *route);
        }
    }
    let mut hops = 0;
    let mut reported = None;
    for ((count, route), &flow) in counts.iter().zip(&routes).zip(&of_flow) {
        let table = expanded.flow_tables[flow];
        match count {
            HopCount::Hops(count) => hops += u64::from(*count),
            // One error per table is enough.
            _ if reported == Some(table) => {}
            HopCount::Unreachable => {
                reported = Some(table);
                unreachable(reader, expanded, &flow_path(table), *route);
            }
            HopCount::Unknown => {
                let path = Path::default().key("link");
                reader.wrong(&path, "the network is too large: its flows end at too many nodes with several links");
                return;
            }
        }
    }
    if hops > MAX_HOPS {
        let message =
            format!("the flows cross {hops} links in total: at most {MAX_HOPS}; use fewer flows or shorter paths");
        reader.wrong(&Path::default().key("flow"), message);
    }
}

fn unreachable(reader: &mut Reader<'_>, expanded: &Expanded, path: &Path, route: Route) {
    let scenario = &expanded.scenario;
    let names = [route.from, route.to].map(|node| scenario.nodes[node].as_str());
    let without_mtu = hop_counts(scenario.nodes.len(), &scenario.links, &[Route { size: 0, ..route }]);
    let message = if without_mtu == [HopCount::Unreachable] {
        format!("there is no path from \"{}\" to \"{}\"", names[0], names[1])
    } else {
        format!(
            "packets of {}B exceed the mtu of every path from \"{}\" to \"{}\": send smaller packets, or raise the mtu",
            route.size, names[0], names[1]
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
        if all > MAX_PACKETS {
            let kind = flow.source.kind();
            let message = format!(
                "with this {kind} source the scenario sends more than {MAX_PACKETS} packets: lower the rate, or the duration"
            );
            reader.wrong(&flow_path(table).key("source"), message);
            return;
        }
    }
    for (number, attacker) in scenario.attackers.iter().enumerate() {
        let end = Instant::ZERO + scenario.duration;
        let length = attacker.stop.unwrap_or(end).min(end).since(attacker.start);
        all = all.saturating_add(attacker.attack.shots_within(length));
        if all > MAX_PACKETS {
            let message = format!(
                "with this attack the scenario sends more than {MAX_PACKETS} packets: make its interval longer, or the duration shorter"
            );
            reader.wrong(&Path::default().key("attacker").index(number).key("attack"), message);
            return;
        }
    }
}
