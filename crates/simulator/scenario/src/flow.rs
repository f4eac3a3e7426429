//! `[[flow]]`: a sender and its receiver, or many alike.

use crate::chosen::Chosen;
use crate::document::{Data, Value};
use crate::dscp::{DscpTable, FlowDscp, KindsTable};
use crate::e_model::EModelOptions;
use crate::files::Traces;
use crate::limits::MOST_REPLICAS;
use crate::names::{Names, check_name, count, numbered, pairs};
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::suggest::so_many;
use crate::transport::Transport;
use crate::vocabulary::VOCABULARY;
use foldhash::fast::RandomState;
use headway_media::{SendQueueOptions, SourceOptions, Trace};
use headway_units::{Dialect, Duration, Instant, MediaKind};
use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// A sender and its receiver, or many alike.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// Letters, digits and _ - . : up to 64.
    pub(crate) name: String,
    /// The node that sends. If it has replicas, each of them sends.
    pub(crate) from: String,
    /// The node that receives. If it has replicas, each of them receives.
    pub(crate) to: String,
    /// How many there are, called name1, name2 and so on; as many as the nodes' replicas if absent.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// When the source starts.
    #[schemars(default)]
    pub(crate) start: StartTable,
    /// When the source stops; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Duration>,
    /// ns-2's `fid_` in its traces, replicas the same; the flow's number, from 1, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fid: Option<u32>,
    /// The DSCP of its packets, answers too; cs0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dscp: Option<DscpTable>,
    /// The codec by which the E-model rates its speech; G.711 with packet-loss concealment if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) e_model: Option<EModelOptions>,
    /// Whose rules the options of this flow follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Dialect>,
    /// What carries the packets.
    pub(crate) transport: Chosen<Transport>,
    /// What waits for the transport's rate controller, and which of it goes next; fifo if absent. Transports without a rate
    /// controller have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) send_queue: Option<Chosen<SendQueueOptions>>,
    /// What the application sends.
    pub(crate) source: Chosen<SourceOptions>,
}

/// When a flow's source starts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum StartTable {
    /// All replicas then.
    At(Duration),
    /// Each replica at its own time, in order.
    Each(Vec<Duration>),
    /// Each replica evenly anywhere in a time.
    Uniform(UniformTable),
}

impl Default for StartTable {
    fn default() -> Self {
        Self::At(Duration::ZERO)
    }
}

/// Evenly anywhere in a time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct UniformTable {
    /// From the first to before the second.
    pub(crate) uniform: [Duration; 2],
}

/// One sender and its receiver. Replicas share their options.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// No two flows have the same.
    pub name: String,
    /// The sender: index into [`Scenario::nodes`](crate::Scenario::nodes).
    pub from: usize,
    /// The receiver: index into [`Scenario::nodes`](crate::Scenario::nodes), another one.
    pub to: usize,
    /// When the source starts.
    pub start: Start,
    /// Nothing new is sent from here on; after the start.
    pub stop: Option<Instant>,
    /// ns-2's flow id, in its traces; without one they have the flow's number, from 1.
    pub fid: Option<u32>,
    /// The DSCP of its packets and of what answers them.
    pub dscp: FlowDscp,
    /// The codec by which its speech is rated.
    pub e_model: EModelOptions,
    /// What carries the packets.
    pub transport: Arc<Transport>,
    /// What waits for the transport's rate controller; without one it is not used.
    pub send_queue: Arc<SendQueueOptions>,
    /// What the application sends.
    pub source: Arc<SourceOptions>,
    /// What the source plays from its file; flows may share it.
    pub trace: Option<Arc<Trace>>,
}

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Then.
    At(Instant),
    /// Uniform in [first, second), drawn from the flow's own random stream.
    Uniform(Duration, Duration),
}

impl Start {
    /// The first instant at which it may be.
    #[must_use]
    pub fn earliest(&self) -> Instant {
        match *self {
            Self::At(start) => start,
            Self::Uniform(first, _) => Instant::ZERO + first,
        }
    }
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path, dialect: Dialect) -> Option<FlowTable> {
    let mut open = reader.open(value, path, &VOCABULARY.flow)?;
    let name: Option<String> = open.required("name", "\"ftp\"");
    if let Some(name) = &name {
        check_name(&mut open, name, |_| false);
    }
    let from: Option<String> = open.required("from", "\"client\"");
    let to: Option<String> = open.required("to", "\"server\"");
    let count = count(&mut open);
    let start = start(&mut open);
    let stop: Option<Duration> = open.optional("stop");
    let first = match &start {
        StartTable::At(start) => *start,
        StartTable::Each(starts) => starts.iter().copied().max().unwrap_or_default(),
        StartTable::Uniform(table) => table.uniform[1],
    };
    if let Some(stop) = stop
        && stop <= first
    {
        open.wrong("stop", format!("{stop} is not after the start at {first}"));
    }
    let fid: Option<u32> = open.optional("fid");
    let dscp = dscp(&mut open);
    let e_model = crate::e_model::read(&mut open);
    let own_dialect = open.optional("dialect");
    let dialect = own_dialect.unwrap_or(dialect);
    let transport = open.options::<Transport>("transport", dialect, &VOCABULARY.transport);
    if open.value("transport").is_none() {
        open.missing("transport", "{ kind = \"tcp-newreno\" } or { kind = \"udp\" }");
    }
    let send_queue = match (open.value("send_queue"), &transport) {
        (Some(_), Some(Chosen { options, .. })) if options.controller().is_none() => {
            // It is read for its mistakes, and not used: transports are changed from the command line.
            open.options::<SendQueueOptions>("send_queue", dialect, &VOCABULARY.send_queue);
            None
        }
        (Some(_), _) => open.options("send_queue", dialect, &VOCABULARY.send_queue),
        (None, Some(Chosen { options, .. })) => {
            options.controller().map(|_| Chosen::preset(SendQueueOptions::fifo(dialect)))
        }
        (None, None) => None,
    };
    let source = open.options("source", dialect, &VOCABULARY.source);
    if open.value("source").is_none() {
        open.missing("source", "{ kind = \"ftp\" } or { kind = \"cbr\", rate = \"1Mbps\", size = \"1000B\" }");
    }
    Some(FlowTable {
        name: name?,
        from: from?,
        to: to?,
        count,
        start,
        stop,
        fid,
        dscp,
        e_model,
        dialect: own_dialect,
        transport: transport?,
        send_queue,
        source: source?,
    })
}

fn dscp(open: &mut Open<'_, '_>) -> Option<DscpTable> {
    let value = open.value("dscp")?;
    let Data::Table(_) = &value.data else { return open.optional("dscp").map(DscpTable::All) };
    let path = open.path.key("dscp");
    let mut table = open.reader.open(value, &path, &VOCABULARY.dscp)?;
    let mut kinds = KindsTable { other: table.optional("other"), ..KindsTable::default() };
    for kind in MediaKind::ALL {
        *kinds.of_mut(kind) = table.optional(kind.name());
    }
    Some(DscpTable::ByKind(kinds))
}

fn start(open: &mut Open<'_, '_>) -> StartTable {
    let Some(value) = open.value("start") else { return StartTable::default() };
    match &value.data {
        Data::Array(_) => open.optional("start").map(StartTable::Each),
        Data::Table(_) => {
            let path = open.path.key("start");
            open.reader.open(value, &path, &VOCABULARY.uniform).and_then(|mut table| uniform(&mut table))
        }
        _ => open.optional("start").map(StartTable::At),
    }
    .unwrap_or_default()
}

fn uniform(open: &mut Open<'_, '_>) -> Option<StartTable> {
    let bounds: [Duration; 2] = open.required("uniform", "[\"0s\", \"0.1s\"]")?;
    if bounds[0] >= bounds[1] {
        open.wrong("uniform", format!("{} is not before {}", bounds[0], bounds[1]));
        return None;
    }
    Some(StartTable::Uniform(UniformTable { uniform: bounds }))
}

/// Makes the flows of the tables, and returns the number of the table of each.
pub(crate) fn expand(
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
            let message = format!("count = {count} does not match the {nodes} replicas of its node: leave count out");
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
                start: table.start.of_replica(replica),
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

/// The send queue of a transport that has none.
fn unused() -> SendQueueOptions {
    SendQueueOptions::fifo(Dialect::default())
}

impl StartTable {
    fn of_replica(&self, replica: usize) -> Start {
        match self {
            Self::At(start) => Start::At(instant(*start)),
            Self::Each(starts) => Start::At(instant(starts.get(replica).copied().unwrap_or_default())),
            Self::Uniform(table) => Start::Uniform(table.uniform[0], table.uniform[1]),
        }
    }
}

fn instant(after_zero: Duration) -> Instant {
    Instant::ZERO + after_zero
}
