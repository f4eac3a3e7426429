//! The scenario: its keys, and the expansion of its tables into nodes, links, flows and attackers.

use crate::attacker::{self, Attacker, AttackerTable};
use crate::clock::ClockOptions;
use crate::document::Value;
use crate::files::Traces;
use crate::flow::{self, Flow, FlowTable};
use crate::limits::{MAX_DURATION, MAX_REPLICAS};
use crate::link::{self, Link, LinkTable};
use crate::link_file::Links;
use crate::names::{Names, check_name};
use crate::node::{self, NodeTable};
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::record::{self, PhaseTable, RecordTable};
use crate::vocabulary::VOCABULARY;
use headway_engine::Ties;
use headway_link::HostOptions;
use headway_units::{Dialect, Duration};
use schemars::JsonSchema;
use serde::Serialize;

/// Network, the flows through it and the duration of the run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ScenarioTable {
    /// Name of the scenario in the record; the file name without .toml if absent.
    #[schemars(default)]
    pub(crate) name: String,
    /// Simulated duration of the run, above 0s and at most 1000000s.
    pub(crate) duration: Duration,
    /// Seed of all random streams.
    #[schemars(default = "default_seed", range(max = 9_223_372_036_854_775_807_u64))]
    pub(crate) seed: u64,
    /// Dialect of the scenario: the implementation or standard whose default values absent options have. A link or flow
    /// may have its own.
    #[schemars(default)]
    pub(crate) dialect: Dialect,
    /// Rule for the order of simultaneous events. If absent: scheduled in dialect ns2, else drawn.
    #[schemars(default = "no_default")]
    pub(crate) ties: Ties,
    /// Start of the measured interval, counted from the start of the run; before `duration`. The summary covers only
    /// this interval.
    #[schemars(default)]
    pub(crate) measure_from: Duration,
    /// Data that is recorded in addition to the summary.
    #[schemars(default)]
    pub(crate) record: RecordTable,
    /// Nodes with replicas, a host or a clock. Other nodes need no table: links name them.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) node: Vec<NodeTable>,
    /// Links.
    pub(crate) link: Vec<LinkTable>,
    /// Flows.
    pub(crate) flow: Vec<FlowTable>,
    /// Attackers on DCCP flows.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attacker: Vec<AttackerTable>,
    /// Keys that vary, each with its values: every combination of values is a run.
    #[schemars(with = "crate::vary::VaryTable", default)]
    #[serde(skip_serializing)]
    #[expect(dead_code, reason = "used by the schema only; a resolved scenario is one run")]
    pub(crate) vary: (),
}

fn default_seed() -> u64 {
    1
}

/// Tables of a scenario that determine its links.
#[derive(Debug)]
pub(crate) struct LinksTable {
    pub(crate) seed: u64,
    pub(crate) ties: Ties,
    pub(crate) node: Vec<NodeTable>,
    pub(crate) link: Vec<LinkTable>,
}

/// Default of a key in the schema whose default depends on other keys.
fn no_default() -> Option<()> {
    None
}

/// Validated scenario of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name of the scenario in the record.
    pub name: String,
    /// Duration of the run, above zero.
    pub duration: Duration,
    /// Start of the measured interval, counted from the start of the run; before `duration`. The summary covers only
    /// this interval.
    pub measure_from: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Rule for the order of simultaneous events.
    pub ties: Ties,
    /// Time between samples of the time series; `None` if none is recorded.
    pub series: Option<Duration>,
    /// Whether histograms of packet and frame delays are recorded.
    pub distributions: bool,
    /// Named intervals of the run (phases) with separate results of each flow.
    pub phases: Vec<PhaseTable>,
    /// Names of the nodes: those of `[[node]]` in file order, then those that only links name.
    pub nodes: Vec<String>,
    /// CPU times of receiving packets, by node; `None` for a node where receiving takes no time.
    pub hosts: Vec<Option<HostOptions>>,
    /// Clocks, by node; `None` for a node that has true time.
    pub clocks: Vec<Option<ClockOptions>>,
    /// Directions of the links, in file order; for a duplex link the forward direction, then the reverse direction.
    pub links: Vec<Link>,
    /// Flows in file order; the replicas of a flow are separate entries, in order of their numbers.
    pub flows: Vec<Flow>,
    /// Attackers in file order.
    pub attackers: Vec<Attacker>,
}

/// Reads all tables. Returns `None` after an error. `default_name` is the name if the key is absent.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, default_name: &str) -> Option<ScenarioTable> {
    let root = reader.root;
    let mut open = reader.open(root, &Path::default(), &VOCABULARY.scenario)?;
    let name = open.optional("name").unwrap_or_else(|| default_name.to_owned());
    check_name(&mut open, &name, |c| c == ' ');
    if open.value("duration").is_none() {
        open.missing("duration", "\"50s\"");
    }
    let allowed = format!("a run lasts more than 0s and at most {MAX_DURATION}");
    let duration = open.within("duration", Duration::from_nanos(1)..=MAX_DURATION, &allowed).unwrap_or(MAX_DURATION);
    let Rules { seed, dialect, ties } = rules(&mut open);
    let allowed = format!("from 0s to before the end of the run at {duration}");
    let measure_from: Duration = open.within("measure_from", .., &allowed).unwrap_or_default();
    if measure_from >= duration {
        open.wrong("measure_from", format!("{measure_from} is not before the end of the run at {duration}"));
    }
    let record = open.value("record");
    let (nodes, links, flows) = (open.tables("node"), open.tables("link"), open.tables("flow"));
    let attackers = open.tables("attacker");
    for (key, needs, tables) in
        [("link", "between, rate and delay", &links), ("flow", "name, from, to, transport and source", &flows)]
    {
        // A value that is not an array has been reported.
        if tables.is_empty() && open.value(key).is_none_or(|value| value.array().is_some()) {
            open.wrong(key, format!("there is no {key}: write at least one [[{key}]], with {needs}"));
        }
    }
    crate::vary::check(&mut open);

    let record = record.and_then(|value| record::read(reader, value, duration)).unwrap_or_default();
    let node = each(reader, nodes, node::read);
    let link = each(reader, links, |reader, value, path| link::read(reader, value, path, dialect));
    let flow = each(reader, flows, |reader, value, path| flow::read(reader, value, path, dialect));
    let attacker = each(reader, attackers, |reader, value, path| attacker::read(reader, value, path, dialect));
    let table = ScenarioTable {
        name,
        duration,
        seed,
        dialect,
        ties,
        measure_from,
        record,
        node,
        link,
        flow,
        attacker,
        vary: (),
    };
    reader.problems.is_empty().then_some(table)
}

/// Keys that apply to links and flows.
struct Rules {
    seed: u64,
    dialect: Dialect,
    ties: Ties,
}

fn rules(open: &mut Open<'_, '_>) -> Rules {
    let seed = seed(open);
    let dialect = open.optional("dialect").unwrap_or_default();
    Rules { seed, dialect, ties: open.optional("ties").unwrap_or(Ties::preset(dialect)) }
}

/// Reads the keys that determine links. Other keys of a scenario are allowed, and their values are ignored.
pub(crate) fn read_links(reader: &mut Reader<'_>) -> Option<LinksTable> {
    let root = reader.root;
    let mut open = reader.open(root, &Path::default(), &VOCABULARY.scenario)?;
    let Rules { seed, dialect, ties } = rules(&mut open);
    let (nodes, links) = (open.tables("node"), open.tables("link"));
    let node = each(reader, nodes, node::read);
    let link = each(reader, links, |reader, value, path| link::read(reader, value, path, dialect));
    reader.problems.is_empty().then_some(LinksTable { seed, ties, node, link })
}

/// Reads each table until the maximum number of problems is reached.
fn each<'a, T>(
    reader: &mut Reader<'a>,
    tables: Vec<(&'a Value, Path)>,
    read: impl Fn(&mut Reader<'a>, &'a Value, &Path) -> Option<T>,
) -> Vec<T> {
    let mut all = Vec::with_capacity(tables.len());
    for (value, path) in tables {
        if reader.problems.is_full() {
            break;
        }
        all.extend(read(reader, value, &path));
    }
    all
}

fn seed(open: &mut Open<'_, '_>) -> u64 {
    const MAX_SEED: u64 = i64::MAX as u64;
    open.within("seed", 0..=MAX_SEED, &format!("write a whole number from 0 to {MAX_SEED}")).unwrap_or(1)
}

/// Run with the tables of its flows and nodes.
pub(crate) struct Expanded {
    pub(crate) scenario: Scenario,
    /// Index of the table of each flow, in ascending order.
    pub(crate) flow_tables: Vec<usize>,
    /// Index of the table of each node with one, in ascending order. Nodes that only links name follow without an
    /// entry.
    pub(crate) node_tables: Vec<usize>,
}

/// Expands the tables into a run. Returns `None` after an error, which is reported to `reader`.
pub(crate) fn expand(reader: &mut Reader<'_>, tables: &ScenarioTable, traces: &mut Traces<'_>) -> Option<Expanded> {
    let names = nodes(reader, &tables.node, &tables.link)?;
    let links = link::expand(reader, &tables.link, &names, tables.ties, traces)?;
    let (flows, flow_tables) = flow::expand(reader, &tables.flow, &names, traces)?;
    let attackers = attacker::expand(reader, &tables.attacker, &names, &flows);
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
        phases: tables.record.phases.clone(),
        hosts: of_nodes(tables, &node_tables, names.nodes.len(), |node| node.host),
        clocks: of_nodes(tables, &node_tables, names.nodes.len(), |node| node.clock),
        nodes: names.nodes.into_iter().collect(),
        links,
        flows,
        attackers,
    };
    reader.problems.is_empty().then_some(Expanded { scenario, flow_tables, node_tables })
}

/// Returns the names of the nodes; `None` if there are too many.
fn nodes(reader: &mut Reader<'_>, nodes: &[NodeTable], links: &[LinkTable]) -> Option<Names> {
    let replicas: u64 = nodes.iter().map(|node| node.count.unwrap_or(1)).sum();
    if replicas > MAX_REPLICAS {
        let path = Path::default().key("node");
        reader.wrong(&path, format!("{replicas} nodes are too many: at most {MAX_REPLICAS}"));
        return None;
    }
    Some(Names::of(reader, nodes, links))
}

/// Expands only the links. Returns `None` after an error, which is reported to `reader`.
pub(crate) fn expand_links(reader: &mut Reader<'_>, tables: &LinksTable, traces: &mut Traces<'_>) -> Option<Links> {
    let names = nodes(reader, &tables.node, &tables.link)?;
    let links = link::expand(reader, &tables.link, &names, tables.ties, traces)?;
    reader.problems.is_empty().then_some(Links { seed: tables.seed, ties: tables.ties, links })
}

/// Returns a key of the node tables for each node; `None` for nodes that only links name.
fn of_nodes<T: Clone>(
    tables: &ScenarioTable,
    node_tables: &[usize],
    nodes: usize,
    value: impl Fn(&NodeTable) -> Option<T>,
) -> Vec<Option<T>> {
    let mut all: Vec<_> = node_tables.iter().map(|table| value(&tables.node[*table])).collect();
    all.resize(nodes, None);
    all
}
