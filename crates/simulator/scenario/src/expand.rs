//! From the tables to the run: replicas written out, names turned into indices.

use crate::dscp::FlowDscp;
use crate::files::Traces;
use crate::limits::MOST_REPLICAS;
use crate::links::Links;
use crate::model::{Attacker, Flow, Link, LinkOptions, Scenario, Start};
use crate::names::{Named, Names, numbered};
use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::{hint, quoted, so_many};
use crate::tables::{
    AttackerTable, Events, FlowTable, Instead, LinkTable, LinksTable, NodeTable, ReverseTable, ScenarioTable,
    StartTable,
};
use foldhash::fast::RandomState;
use headway_attack::{AttackOptions, Way};
use headway_dccp::Ccid;
use headway_engine::Ties;
use headway_link::{
    CapacityTrace, DuplicateOptions, JitterOptions, LinkChange, LinkChanges, LossOptions, PolicerOptions,
    ReorderOptions, ShaperOptions, reorder,
};
use headway_media::SendQueueOptions;
use headway_units::{Bytes, Dialect, Duration, Instant, Rate};
use indexmap::IndexSet;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A run, and where its flows and nodes come from.
pub(crate) struct Expanded {
    pub(crate) scenario: Scenario,
    /// For each flow the number of its table; rising.
    pub(crate) flow_tables: Vec<usize>,
    /// For each node that has a table the number of that, rising; then come those that only links name.
    pub(crate) node_tables: Vec<usize>,
}

/// The run that the tables describe; `None` if something is wrong, which is noted with `reader`.
pub(crate) fn scenario(reader: &mut Reader<'_>, tables: &ScenarioTable, traces: &mut Traces<'_>) -> Option<Expanded> {
    let names = nodes(reader, &tables.node, &tables.link)?;
    let links = links(reader, &tables.link, &names, tables.ties, traces)?;
    let (flows, flow_tables) = flows(reader, &tables.flow, &names, traces)?;
    let attackers = attackers(reader, &tables.attacker, &names, &flows);
    let series = tables.record.series;
    let replicas = |(index, node): (_, &NodeTable)| std::iter::repeat_n(index, node.count.unwrap_or(1) as usize);
    let node_tables: Vec<usize> = tables.node.iter().enumerate().flat_map(replicas).collect();
    let scenario = Scenario {
        name: tables.name.clone(),
        duration: tables.duration,
        measure_from: tables.measure_from,
        seed: tables.seed,
        ties: tables.ties,
        series: (!series.is_zero()).then_some(series),
        distributions: tables.record.distributions,
        hosts: of_nodes(tables, &node_tables, names.nodes.len(), |node| node.host),
        clocks: of_nodes(tables, &node_tables, names.nodes.len(), |node| node.clock),
        nodes: names.nodes.into_iter().collect(),
        links,
        flows,
        attackers,
    };
    reader.problems.is_empty().then_some(Expanded { scenario, flow_tables, node_tables })
}

/// The nodes' names; `None` if there are too many.
fn nodes(reader: &mut Reader<'_>, nodes: &[NodeTable], links: &[LinkTable]) -> Option<Names> {
    let replicas: u64 = nodes.iter().map(|node| node.count.unwrap_or(1)).sum();
    if replicas > MOST_REPLICAS {
        let path = Path::default().key("node");
        reader.wrong(&path, format!("{replicas} nodes are too many: at most {MOST_REPLICAS}"));
        return None;
    }
    Some(Names::of(reader, nodes, links))
}

/// The links alone; `None` if something is wrong, which is noted with `reader`.
pub(crate) fn links_alone(reader: &mut Reader<'_>, tables: &LinksTable, traces: &mut Traces<'_>) -> Option<Links> {
    let names = nodes(reader, &tables.node, &tables.link)?;
    let links = links(reader, &tables.link, &names, tables.ties, traces)?;
    reader.problems.is_empty().then_some(Links { seed: tables.seed, ties: tables.ties, links })
}

/// What the nodes' tables say, one a node: nothing of those that only links name.
fn of_nodes<T: Clone>(
    tables: &ScenarioTable,
    node_tables: &[usize],
    nodes: usize,
    said: impl Fn(&NodeTable) -> Option<T>,
) -> Vec<Option<T>> {
    let mut all: Vec<_> = node_tables.iter().map(|table| said(&tables.node[*table])).collect();
    all.resize(nodes, None);
    all
}

fn links(
    reader: &mut Reader<'_>,
    tables: &[LinkTable],
    names: &Names,
    ties: Ties,
    traces: &mut Traces<'_>,
) -> Option<Vec<Link>> {
    let mut links = Vec::new();
    let mut handles = BTreeSet::new();
    let mut taken: IndexSet<_, RandomState> = IndexSet::default();
    for (index, table) in tables.iter().enumerate() {
        if reader.problems.is_full() {
            return None;
        }
        let path = Path::default().key("link").index(index);
        if let Some(name) = &table.name
            && !handles.insert(name)
        {
            reader.wrong(&path.key("name"), format!("two links are called \"{name}\""));
        }
        let one_event_is_enough = table.queue.options.decides_at_arrival();
        if table.events == Some(Events::One) && !one_event_is_enough {
            reader.wrong(
                &path.key("events"),
                "this queue decides about packets that it has let in: its link needs events = \"two\", or leave events out",
            );
        }
        if table.events == Some(Events::One) && ties == Ties::Scheduled {
            reader.wrong(
                &path.key("events"),
                "the order of scheduling takes two events: write ties = \"drawn\" for the scenario, or leave events out",
            );
        }
        let two_events = table.events == Some(Events::Two) || !one_event_is_enough;
        let between = path.key("between");
        let [Some(a), Some(b)] = [0, 1].map(|end| names.find(reader, &between.index(end), &table.between[end])) else {
            continue;
        };
        let Some(pairs) = pairs(reader, &between, [a, b], &table.between) else { continue };
        let queue = Arc::new(table.queue.options.clone());
        let loss = table.loss.as_ref().map(|loss| loss_of(reader, &path.key("loss"), &loss.options, traces));
        let reverse = table.reverse.as_ref();
        let loss_back = Instead::or(reverse.and_then(|reverse| reverse.loss.as_ref()), loss.clone(), |loss| {
            loss_of(reader, &path.key("reverse").key("loss"), &loss.options, traces)
        });
        let around = Around {
            loss,
            policer: table.policer,
            shaper: table.shaper.clone(),
            jitter: table.jitter.as_ref().map(|jitter| jitter.options.clone()),
            reorder: table.reorder.as_ref().map(|reorder| reorder.options.clone()),
            duplicate: table.duplicate,
        };
        let around_back = around.back(reverse, loss_back);
        if table.events == Some(Events::One) && (around.overtakes() || around_back.overtakes()) {
            reader.wrong(&path.key("events"), "packets that overtake others take two events: leave events out");
        }
        let speed = capacity_of(reader, &path.key("capacity"), table.capacity.as_deref(), traces)
            .or(table.rate.map(|rate| (rate, None)));
        let path_back = path.key("reverse").key("capacity");
        let file_back = reverse.and_then(|reverse| reverse.capacity.as_deref());
        let speed_back = capacity_of(reader, &path_back, file_back, traces).or_else(|| speed.clone());
        let changes = changes_of(&table.changes);
        // A way back that was measured does not change as the way there does.
        let changes_back = match reverse.and_then(|reverse| reverse.changes.as_ref()) {
            Some(back) => changes_of(back),
            None => changes.clone().filter(|_| file_back.is_none()),
        };
        // What cannot be read was told.
        let (Some(speed), Some(speed_back)) = (speed, speed_back) else { continue };
        let directions = if table.one_way { 1 } else { 2 };
        if (links.len() + pairs * directions) as u64 > 2 * MOST_REPLICAS {
            reader.wrong(&path, format!("there are too many links: at most {MOST_REPLICAS} in both directions"));
            return None;
        }
        links.reserve(pairs * directions);
        taken.reserve(pairs * directions);
        let options = |(rate, capacity): &(Rate, Option<Arc<CapacityTrace>>),
                       changes: &Option<Arc<LinkChanges>>,
                       around: Around| {
            let Around { loss, policer, shaper, jitter, reorder, duplicate } = around;
            let default_overhead = if capacity.is_some() { CapacityTrace::HEADER } else { Bytes::new(0) };
            Arc::new(LinkOptions {
                rate: *rate,
                capacity: capacity.clone(),
                changes: changes.clone(),
                delay: table.delay,
                mtu: table.mtu,
                overhead: table.overhead.unwrap_or(default_overhead),
                queue: Arc::clone(&queue),
                loss,
                policer,
                shaper,
                jitter,
                reorder,
                duplicate,
                two_events,
                by_flow: table.by_flow,
            })
        };
        let ways = [options(&speed, &changes, around), options(&speed_back, &changes_back, around_back)];
        for replica in 0..pairs {
            let (a, b) = (a.replica(replica), b.replica(replica));
            for ((from, to), options) in [(a, b), (b, a)].into_iter().zip(&ways).take(directions) {
                let name = [&names.nodes[from], "->", &names.nodes[to]].concat();
                if from == to {
                    reader.wrong(&between, format!("a link cannot lead from \"{}\" to itself", names.nodes[from]));
                } else if !taken.insert((from, to)) {
                    reader.wrong(&between, format!("there are two links {name}: one of them would never be used"));
                }
                links.push(Link { name, from, to, options: Arc::clone(options) });
            }
        }
    }
    Some(links)
}

/// What a direction has around its queue.
#[derive(Clone)]
struct Around {
    loss: Option<Arc<LossOptions>>,
    policer: Option<PolicerOptions>,
    shaper: Option<ShaperOptions>,
    jitter: Option<JitterOptions>,
    reorder: Option<ReorderOptions>,
    duplicate: Option<DuplicateOptions>,
}

impl Around {
    /// What the way back has, with that loss.
    fn back(&self, reverse: Option<&ReverseTable>, loss: Option<Arc<LossOptions>>) -> Self {
        let there = self.clone();
        let Some(reverse) = reverse else { return Self { loss, ..there } };
        Self {
            loss,
            policer: Instead::or(reverse.policer.as_ref(), there.policer, |policer| *policer),
            shaper: Instead::or(reverse.shaper.as_ref(), there.shaper, ShaperOptions::clone),
            jitter: Instead::or(reverse.jitter.as_ref(), there.jitter, |jitter| jitter.options.clone()),
            reorder: Instead::or(reverse.reorder.as_ref(), there.reorder, |reorder| reorder.options.clone()),
            duplicate: Instead::or(reverse.duplicate.as_ref(), there.duplicate, |duplicate| *duplicate),
        }
    }

    /// Whether packets may overtake one another.
    fn overtakes(&self) -> bool {
        reorder::overtakes(self.jitter.as_ref(), self.reorder.as_ref())
    }
}

/// What the channel loses, with the trace that it names; if that cannot be read, it is told.
fn loss_of(reader: &mut Reader<'_>, path: &Path, written: &LossOptions, traces: &mut Traces<'_>) -> Arc<LossOptions> {
    let mut loss = written.clone();
    if let LossOptions::Trace(options) = &mut loss {
        options.trace = traces.loss(reader, &path.key("file"), &options.file);
    }
    Arc::new(loss)
}

/// How a link changes; `None` if it does not. What is wrong with it was told.
fn changes_of(changes: &[LinkChange]) -> Option<Arc<LinkChanges>> {
    let changes = LinkChanges::new(changes.to_vec()).ok()?;
    (!changes.as_slice().is_empty()).then(|| Arc::new(changes))
}

/// The mean of a measured capacity, and the capacity; `None` if there is none, or if it cannot be read, which is told.
fn capacity_of(
    reader: &mut Reader<'_>,
    path: &Path,
    file: Option<&str>,
    traces: &mut Traces<'_>,
) -> Option<(Rate, Option<Arc<CapacityTrace>>)> {
    let trace = traces.capacity(reader, path, file?)?;
    Some((trace.rate(), Some(trace)))
}

/// How many replicas a table with these two nodes makes.
fn pairs(reader: &mut Reader<'_>, path: &Path, ends: [Named; 2], names: &[String; 2]) -> Option<usize> {
    match ends.map(Named::count) {
        [Some(a), Some(b)] if a != b => {
            let message = format!(
                "\"{}\" has {a} replicas and \"{}\" has {b}: they go in pairs, so write the same count",
                names[0], names[1]
            );
            reader.wrong(path, message);
            None
        }
        [a, b] => Some(a.or(b).unwrap_or(1)),
    }
}

fn flows(
    reader: &mut Reader<'_>,
    tables: &[FlowTable],
    names: &Names,
    traces: &mut Traces<'_>,
) -> Option<(Vec<Flow>, Vec<usize>)> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut flow_tables = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        if reader.problems.is_full() {
            return None;
        }
        let path = Path::default().key("flow").index(index);
        let ends =
            [("from", &table.from), ("to", &table.to)].map(|(key, name)| names.find(reader, &path.key(key), name));
        let trace = traces.source(reader, &path.key("source"), &table.source.options);
        let ([Some(from), Some(to)], None | Some(Some(_))) = (ends, &trace) else { continue };
        let trace = trace.flatten();

        let both = [table.from.clone(), table.to.clone()];
        let Some(replicas) = pairs(reader, &path.key("to"), [from, to], &both) else { continue };
        let counted = from.count().or(to.count());
        if let (Some(count), Some(nodes)) = (table.count, counted)
            && count != nodes as u64
        {
            let message =
                format!("count = {count} does not match its node, of which there are {nodes}: leave count out");
            reader.wrong(&path.key("count"), message);
            continue;
        }
        let many = table.count.is_some() || counted.is_some();
        let replicas = table.count.map_or(replicas, |count| count as usize);
        if (flows.len() + replicas) as u64 > MOST_REPLICAS {
            reader.wrong(&path, format!("there are too many flows: at most {MOST_REPLICAS}"));
            return None;
        }
        if let StartTable::Each(starts) = &table.start
            && starts.len() != replicas
        {
            let (times, flows) = (so_many(starts.len(), "time"), so_many(replicas, "flow"));
            let message = format!("{times} for {flows}: write one for each");
            reader.wrong(&path.key("start"), message);
            continue;
        }
        let transport = Arc::new(table.transport.options.clone());
        let send_queue = Arc::new(table.send_queue.as_ref().map_or_else(unused, |chosen| chosen.options.clone()));
        let source = Arc::new(table.source.options.clone());
        flows.reserve(replicas);
        for replica in 0..replicas {
            let name = if many { numbered(&table.name, replica as u64 + 1) } else { table.name.clone() };
            let (from, to) = (from.replica(replica), to.replica(replica));
            if from == to {
                let message = format!("a flow cannot go from \"{}\" to itself", names.nodes[from]);
                reader.wrong(&path.key("to"), message);
            }
            flow_tables.push(index);
            flows.push(Flow {
                name,
                from,
                to,
                start: start(&table.start, replica),
                stop: table.stop.map(instant),
                fid: table.fid,
                dscp: table.dscp.map(FlowDscp::from).unwrap_or_default(),
                e_model: table.e_model.unwrap_or_default(),
                transport: Arc::clone(&transport),
                send_queue: Arc::clone(&send_queue),
                source: Arc::clone(&source),
                trace: trace.clone(),
            });
        }
    }
    let mut taken: IndexSet<_, RandomState> = IndexSet::default();
    taken.reserve(flows.len());
    for (flow, table) in flows.iter().zip(&flow_tables) {
        if !taken.insert(flow.name.as_str()) {
            let path = Path::default().key("flow").index(*table).key("name");
            reader.wrong(&path, format!("two flows are called \"{}\"", flow.name));
        }
    }
    Some((flows, flow_tables))
}

fn attackers(reader: &mut Reader<'_>, tables: &[AttackerTable], names: &Names, flows: &[Flow]) -> Vec<Attacker> {
    let mut attackers: Vec<Attacker> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        if reader.problems.is_full() {
            break;
        }
        let path = Path::default().key("attacker").index(index);
        if attackers.iter().any(|attacker| attacker.name == table.name) {
            reader.wrong(&path.key("name"), format!("two attackers are called \"{}\"", table.name));
        }
        let at = names.find(reader, &path.key("at"), &table.at);
        let Some(target) = flows.iter().position(|flow| flow.name == table.target) else {
            let hint = hint(&table.target, flows.iter().map(|flow| flow.name.as_str()));
            reader.wrong(&path.key("target"), format!("unknown flow \"{}\"{hint}", quoted(&table.target)));
            continue;
        };
        let Some(at) = at else { continue };
        let flow = &flows[target];
        if flow.transport.connection().is_none() {
            let message = format!("\"{}\" is no connection: only flows of transport dccp are attacked", flow.name);
            reader.wrong(&path.key("target"), message);
        }
        let Named::One(at) = at else {
            let message = format!("\"{}\" has replicas: name one of them, such as \"{}1\"", table.at, table.at);
            reader.wrong(&path.key("at"), message);
            continue;
        };
        if at == flow.from || at == flow.to {
            let message = format!("\"{}\" is an end of \"{}\": an attacker sits elsewhere", table.at, flow.name);
            reader.wrong(&path.key("at"), message);
        }
        if table.on_path && attackers.iter().any(|other| other.on_path && other.target == target) {
            let message = format!("there is another attacker on the path of \"{}\": at most one is", flow.name);
            reader.wrong(&path.key("on_path"), message);
        }
        let floods = |attack: &AttackOptions| matches!(attack, AttackOptions::Flood(_));
        if floods(&table.attack.options)
            && attackers.iter().any(|other| floods(&other.attack) && other.target == target)
        {
            let message = format!("another attacker floods \"{}\": at most one does", flow.name);
            reader.wrong(&path.key("attack"), message);
        }
        if let (AttackOptions::Lie(lie), Some(connection)) = (&table.attack.options, flow.transport.connection()) {
            let path = path.key("attack");
            let mut ccids = connection.send_ccids.iter();
            if let Some(ccid) = ccids.find(|ccid| !lie.claim.concerns(Ccid(**ccid))) {
                let own = if Ccid(*ccid) == Ccid::TCP_LIKE {
                    "no-marks"
                } else {
                    "one-event, first-interval or receive-rate"
                };
                let message = format!(
                    "a receiver of CCID {ccid} says nothing that this changes: it may claim no-losses, ahead, elapsed, {own}"
                );
                reader.wrong(&path.key("claim"), message);
            }
            if lie.towards == Way::ToServer {
                let message = "all data goes to the server, and who sends is lied to: write to-client, or leave it out";
                reader.wrong(&path.key("towards"), message);
            }
        }
        attackers.push(Attacker {
            name: table.name.clone(),
            at,
            target,
            on_path: table.on_path,
            start: instant(table.start),
            stop: table.stop.map(instant),
            attack: table.attack.options.clone(),
        });
    }
    attackers
}

/// The send queue of a transport that has none.
fn unused() -> SendQueueOptions {
    SendQueueOptions::fifo(Dialect::default())
}

fn start(table: &StartTable, replica: usize) -> Start {
    match table {
        StartTable::At(start) => Start::At(instant(*start)),
        StartTable::Each(starts) => Start::At(instant(starts.get(replica).copied().unwrap_or_default())),
        StartTable::Uniform(table) => Start::Uniform(table.uniform[0], table.uniform[1]),
    }
}

fn instant(after_zero: Duration) -> Instant {
    Instant::ZERO + after_zero
}
