//! `[[flow]]`: a sender and its receiver, or several replicas of them.

use crate::document::{Data, Value};
use crate::dscp::{DscpTable, FlowDscp, KindsTable};
use crate::e_model::EModelOptions;
use crate::files::Traces;
use crate::kind_options::KindOptions;
use crate::limits::MAX_REPLICAS;
use crate::names::{Names, check_name, count, numbered, pairs};
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::transport::{ExternalOptions, ProgramOptions, Transport};
use crate::vocabulary::VOCABULARY;
use foldhash::fast::RandomState;
use headway_media::{FtpOptions, SendQueueOptions, SourceOptions, Trace};
use headway_units::{Dialect, Duration, Instant, MediaKind, counted};
use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Sender and receiver, or several replicas of them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{ "required": ["transport", "source"] }, { "required": ["program"] }]))]
pub(crate) struct FlowTable {
    /// Name: 1 to 64 letters, digits and _ - . :
    pub(crate) name: String,
    /// Sending node. If it has replicas, each of them sends one replica of the flow.
    pub(crate) from: String,
    /// Receiving node. If it has replicas, each of them receives one replica of the flow.
    pub(crate) to: String,
    /// Number of replicas of the flow, called name1, name2 and so on. If absent: the number of replicas of the nodes
    /// `from` and `to`; without such replicas, a single flow called `name`.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// Start time of the source, since the start of the run: one time for all replicas, a list with a time for each
    /// replica, or a uniform distribution.
    #[schemars(default)]
    pub(crate) start: StartTable,
    /// Time since the start of the run, after `start`, at which the source stops. If absent, it never stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Duration>,
    /// Flow id (`fid_`) in ns-2 traces, equal for all replicas; the flow's number, from 1, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fid: Option<u32>,
    /// DSCP of the flow's packets in both directions; cs0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dscp: Option<DscpTable>,
    /// Codec with which the E-model rates the flow's speech; G.711 with packet-loss concealment if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) e_model: Option<EModelOptions>,
    /// Dialect of this flow: the implementation or standard whose default values its absent options have. If absent:
    /// the dialect of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Dialect>,
    /// Shell command that sends and receives the flow's packets at the sending node, in place of a transport and a
    /// source; only for headway lab. {from} and {to} are replaced by the addresses of the sending and the receiving
    /// node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    /// Shell command of the peer of `program` at the receiving node; none if absent. It starts before the run, which
    /// begins when this command has opened a socket or has ended, or after 5s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// Transport and its options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transport: Option<KindOptions<Transport>>,
    /// Send queue: packets that wait until the transport's rate controller permits them; fifo if absent. Transports
    /// without a rate controller have no send queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) send_queue: Option<KindOptions<SendQueueOptions>>,
    /// Source of the application's data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<KindOptions<SourceOptions>>,
}

/// Start time of a flow's source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum StartTable {
    /// Start time of all replicas.
    At(Duration),
    /// Start time of each replica, in order.
    Each(Vec<Duration>),
    /// Uniformly distributed start time of each replica.
    Uniform(UniformTable),
}

impl Default for StartTable {
    fn default() -> Self {
        Self::At(Duration::ZERO)
    }
}

/// Uniform distribution of a time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct UniformTable {
    /// Bounds of the uniform distribution; the first is inclusive, the second exclusive.
    pub(crate) uniform: [Duration; 2],
}

/// Sender and receiver. Replicas share their options.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique name of the flow.
    pub name: String,
    /// Sending node: index into [`Scenario::nodes`](crate::Scenario::nodes).
    pub from: usize,
    /// Receiving node: index into [`Scenario::nodes`](crate::Scenario::nodes); differs from `from`.
    pub to: usize,
    /// Start time of the source, since the start of the run: fixed, or drawn from a uniform distribution.
    pub start: Start,
    /// Time since the start of the run after which no new data is sent, later than [`start`](Self::start); `None` for
    /// no limit.
    pub stop: Option<Instant>,
    /// Flow id (`fid_`) in ns-2 traces; `None` for the number of the flow, from 1.
    pub fid: Option<u32>,
    /// DSCP of the packets in both directions.
    pub dscp: FlowDscp,
    /// Codec with which the E-model rates the flow's speech.
    pub e_model: EModelOptions,
    /// Transport and its options.
    pub transport: Arc<Transport>,
    /// Send queue: packets that wait until the transport's rate controller permits them. Unused by transports without a
    /// rate controller.
    pub send_queue: Arc<SendQueueOptions>,
    /// Source of the application's data.
    pub source: Arc<SourceOptions>,
    /// Contents of the trace file that the source plays; flows may share it.
    pub trace: Option<Arc<Trace>>,
}

/// Start time of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The same start time in each run.
    At(Instant),
    /// Start time with a uniform distribution in [first, second), drawn from the flow's random stream.
    Uniform(Duration, Duration),
}

impl Start {
    /// Returns the earliest possible start time.
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
    let (program, server) = programs(&mut open);
    let transport = open.options::<Transport>("transport", dialect, &VOCABULARY.transport);
    if open.value("transport").is_none() && open.value("program").is_none() {
        open.missing("transport", "{ kind = \"tcp-newreno\" } or { kind = \"udp\" }");
    }
    let send_queue = match (open.value("send_queue"), &transport) {
        (Some(_), Some(KindOptions { options, .. })) if options.controller().is_none() => {
            // Read only to report errors: the transport may be set from the command line.
            open.options::<SendQueueOptions>("send_queue", dialect, &VOCABULARY.send_queue);
            None
        }
        (Some(_), _) => open.options("send_queue", dialect, &VOCABULARY.send_queue),
        (None, Some(KindOptions { options, .. })) => {
            options.controller().map(|_| KindOptions::preset(SendQueueOptions::fifo(dialect)))
        }
        (None, None) => None,
    };
    let source = open.options("source", dialect, &VOCABULARY.source);
    if open.value("source").is_none() && open.value("program").is_none() {
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
        program,
        server,
        transport,
        send_queue,
        source,
    })
}

/// Reads the programs of both ends.
fn programs(open: &mut Open<'_, '_>) -> (Option<String>, Option<String>) {
    let [program, server]: [Option<String>; 2] = ["program", "server"].map(|key| open.optional(key));
    for (key, command) in [("program", &program), ("server", &server)] {
        if command.as_ref().is_some_and(|command| command.trim().is_empty() || command.contains('\0')) {
            open.wrong(key, "a program is a shell command, such as \"iperf3 -c {to} -t 20\"".to_owned());
        }
    }
    if open.value("program").is_none() && server.is_some() {
        open.wrong("server", "server has no effect without program: add program, or leave server out".to_owned());
    }
    for key in ["transport", "source", "send_queue", "e_model"] {
        if open.value("program").is_some() && open.value(key).is_some() {
            open.wrong(key, format!("a flow with a program has no {key}: leave out {key} or program"));
        }
    }
    (program, server)
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

/// Expands the tables into flows. Returns the flows and the index of the table of each.
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
        let source = table.source();
        let trace = traces.source(reader, &path.key("source"), &source);
        let ([Some(from), Some(to)], None | Some(Some(_))) = (ends, &trace) else { continue };
        let trace = trace.flatten();
        let Some(transport) = table.transport() else { continue };

        let names_of_ends = [table.from.clone(), table.to.clone()];
        let Some(replicas) = pairs(reader, &path.key("to"), [from, to], &names_of_ends) else { continue };
        let node_replicas = from.count().or(to.count());
        if let (Some(count), Some(nodes)) = (table.count, node_replicas)
            && count != nodes as u64
        {
            let message = format!("count = {count} does not match the {nodes} replicas of its node: leave count out");
            reader.wrong(&path.key("count"), message);
            continue;
        }
        let has_replicas = table.count.is_some() || node_replicas.is_some();
        let replicas = table.count.map_or(replicas, |count| count as usize);
        if (flows.len() + replicas) as u64 > MAX_REPLICAS {
            reader.wrong(&path, format!("there are too many flows: at most {MAX_REPLICAS}"));
            return None;
        }
        if let StartTable::Each(starts) = &table.start
            && starts.len() != replicas
        {
            let (times, flows) = (counted(starts.len() as u64, "time"), counted(replicas as u64, "flow"));
            let message = format!("{times} for {flows}: write one for each");
            reader.wrong(&path.key("start"), message);
            continue;
        }
        let transport = Arc::new(transport);
        let send_queue = Arc::new(table.send_queue.as_ref().map_or_else(unused, |chosen| chosen.options.clone()));
        let source = Arc::new(source);
        flows.reserve(replicas);
        for replica in 0..replicas {
            let name = if has_replicas { numbered(&table.name, replica as u64 + 1) } else { table.name.clone() };
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

/// Returns the options of the send queue of a transport without one.
fn unused() -> SendQueueOptions {
    SendQueueOptions::fifo(Dialect::default())
}

impl FlowTable {
    /// Returns the transport, or the programs in its place. `None` only after an error.
    fn transport(&self) -> Option<Transport> {
        match &self.program {
            Some(program) => Some(Transport::External(ExternalOptions::Program(ProgramOptions {
                program: program.clone(),
                server: self.server.clone(),
            }))),
            None => Some(self.transport.as_ref()?.options.clone()),
        }
    }

    /// Returns the source. Programs have their own data, in the place of a source without an end.
    fn source(&self) -> SourceOptions {
        self.source
            .as_ref()
            .map_or_else(|| SourceOptions::Ftp(FtpOptions { segments: None }), |source| source.options.clone())
    }
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
