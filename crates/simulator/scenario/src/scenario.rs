//! The scenario: its own keys, and its tables put together.

use crate::attacker::{self, Attacker, AttackerTable};
use crate::clock::ClockOptions;
use crate::document::Value;
use crate::files::Traces;
use crate::flow::{self, Flow, FlowTable};
use crate::limits::{LONGEST_RUN, MOST_REPLICAS};
use crate::link::{self, Link, LinkTable};
use crate::links::Links;
use crate::names::{Names, check_name};
use crate::node::{self, NodeTable};
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::record::{self, RecordTable};
use crate::vocabulary::VOCABULARY;
use headway_engine::Ties;
use headway_link::HostOptions;
use headway_units::{Dialect, Duration};
use schemars::JsonSchema;
use serde::Serialize;

/// A network, the flows through it, and how long to watch them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ScenarioTable {
    /// What the record calls it; the file's name without .toml if absent.
    #[schemars(default)]
    pub(crate) name: String,
    /// How long the run lasts, more than 0s and at most 1000000s.
    pub(crate) duration: Duration,
    /// The seed of every random stream.
    #[schemars(default = "default_seed", range(max = 9_223_372_036_854_775_807_u64))]
    pub(crate) seed: u64,
    /// Whose rules the options that are not written follow.
    #[schemars(default)]
    pub(crate) dialect: Dialect,
    /// Who comes first of what happens at one time; scheduled in dialect ns2, else drawn.
    #[schemars(default = "no_default")]
    pub(crate) ties: Ties,
    /// Summaries count from here on; before duration.
    #[schemars(default)]
    pub(crate) measure_from: Duration,
    /// What is recorded besides the summary.
    #[schemars(default)]
    pub(crate) record: RecordTable,
    /// Nodes with replicas or a host. Others need no table: links name them.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) node: Vec<NodeTable>,
    /// The links.
    pub(crate) link: Vec<LinkTable>,
    /// The flows.
    pub(crate) flow: Vec<FlowTable>,
    /// Who harms them.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attacker: Vec<AttackerTable>,
    /// Keys to vary, each with its values: every combination is a run.
    #[schemars(with = "crate::vary::VaryTable", default)]
    #[serde(skip_serializing)]
    #[expect(dead_code, reason = "the schema's; a resolved scenario is one run")]
    pub(crate) vary: (),
}

fn default_seed() -> u64 {
    1
}

/// The part of a scenario that its links are made of.
#[derive(Debug)]
pub(crate) struct LinksTable {
    pub(crate) seed: u64,
    pub(crate) ties: Ties,
    pub(crate) node: Vec<NodeTable>,
    pub(crate) link: Vec<LinkTable>,
}

/// A key that may be absent, and whose default depends on others.
fn no_default() -> Option<()> {
    None
}

/// One run: plain data, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What the record calls it.
    pub name: String,
    /// How long it runs, more than zero.
    pub duration: Duration,
    /// Summaries count from here on; before `duration`.
    pub measure_from: Duration,
    /// The seed of every random stream.
    pub seed: u64,
    /// Who comes first of what is alike to the last bit.
    pub ties: Ties,
    /// The interval of the series; `None`: no series.
    pub series: Option<Duration>,
    /// Whether the record keeps how long each packet and frame took.
    pub distributions: bool,
    /// The nodes' names: those of `[[node]]` in file order, then those that links imply.
    pub nodes: Vec<String>,
    /// What receiving costs there, one a node; `None`: nothing.
    pub hosts: Vec<Option<HostOptions>>,
    /// The clock of each node, for those that have one of their own.
    pub clocks: Vec<Option<ClockOptions>>,
    /// One entry a direction, in file order; a duplex link gives its written direction, then the way back.
    pub links: Vec<Link>,
    /// In file order, replicas from 1.
    pub flows: Vec<Flow>,
    /// In file order.
    pub attackers: Vec<Attacker>,
}

/// Reads all tables; `None` if something was wrong. `default_name` is that of a scenario without.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, default_name: &str) -> Option<ScenarioTable> {
    let root = reader.root;
    let mut open = reader.open(root, &Path::default(), &VOCABULARY.scenario)?;
    let name = open.optional("name").unwrap_or_else(|| default_name.to_owned());
    check_name(&mut open, &name, |c| c == ' ');
    if open.value("duration").is_none() {
        open.missing("duration", "\"50s\"");
    }
    let allowed = format!("a run lasts more than 0s and at most {LONGEST_RUN}");
    let duration = open.within("duration", Duration::from_nanos(1)..=LONGEST_RUN, &allowed).unwrap_or(LONGEST_RUN);
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
        // What is no array was told already.
        if tables.is_empty() && open.value(key).is_none_or(|value| value.array().is_some()) {
            open.wrong(key, format!("there is no {key}: write at least one [[{key}]], with {needs}"));
        }
    }
    crate::vary::check(&mut open);

    let record = record.and_then(|value| record::read(reader, value)).unwrap_or_default();
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

/// What holds for links and flows alike.
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

/// Reads what links are made of; the rest of a scenario may be there, and is not looked at.
pub(crate) fn read_links(reader: &mut Reader<'_>) -> Option<LinksTable> {
    let root = reader.root;
    let mut open = reader.open(root, &Path::default(), &VOCABULARY.scenario)?;
    let Rules { seed, dialect, ties } = rules(&mut open);
    let (nodes, links) = (open.tables("node"), open.tables("link"));
    let node = each(reader, nodes, node::read);
    let link = each(reader, links, |reader, value, path| link::read(reader, value, path, dialect));
    reader.problems.is_empty().then_some(LinksTable { seed, ties, node, link })
}

/// Reads each table, until more problems were found than anybody reads.
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
    const MOST: u64 = i64::MAX as u64;
    open.within("seed", 0..=MOST, &format!("write a whole number from 0 to {MOST}")).unwrap_or(1)
}

/// A run, and where its flows and nodes come from.
pub(crate) struct Expanded {
    pub(crate) scenario: Scenario,
    /// For each flow the number of its table; rising.
    pub(crate) flow_tables: Vec<usize>,
    /// For each node that has a table the number of that, rising; then come those that only links name.
    pub(crate) node_tables: Vec<usize>,
}

/// The run that the tables describe; `None` if something is wrong, which is noted with `reader`.
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
pub(crate) fn expand_links(reader: &mut Reader<'_>, tables: &LinksTable, traces: &mut Traces<'_>) -> Option<Links> {
    let names = nodes(reader, &tables.node, &tables.link)?;
    let links = link::expand(reader, &tables.link, &names, tables.ties, traces)?;
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
