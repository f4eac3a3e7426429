//! The tables of a scenario file as they are written, before replicas are made of them. Their fields' comments are the
//! descriptions in the JSON Schema.

use headway_attack::AttackOptions;
use headway_engine::Ties;
use headway_link::{
    DuplicateOptions, HostOptions, JitterOptions, LinkChange, LossOptions, PolicerOptions, QueueOptions,
    ReorderOptions, ShaperOptions,
};
use headway_media::{SendQueueOptions, SourceOptions};
use headway_units::{Bytes, Dialect, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::ClockOptions;
use crate::dscp::DscpTable;
use crate::e_model::EModelOptions;
use crate::off::Off;
use crate::transport::Transport;

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

/// What is recorded besides the summary.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RecordTable {
    /// The interval of the series; false or 0s for none.
    #[schemars(default, with = "Series")]
    pub(crate) series: Duration,
    /// Whether to keep how long each packet and frame took, and not only mean and percentiles.
    #[schemars(default)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) distributions: bool,
}

impl Default for RecordTable {
    fn default() -> Self {
        Self { series: Duration::from_millis(100), distributions: false }
    }
}

/// An interval, or `false` for none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema's; reading tells the two apart itself")]
pub(crate) enum Series {
    /// The time from one sample to the next.
    Every(Duration),
    /// No series.
    Off(bool),
}

/// A node, or many alike.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// Letters, digits and _ - . : up to 64.
    pub(crate) name: String,
    /// How many there are, called name1, name2 and so on.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// What receiving costs there, each replica for itself; nothing if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<HostOptions>,
    /// A clock of its own; the true time if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<ClockOptions>,
}

/// A link, in both directions unless `one_way`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// What an override may call it, as in link[access].rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its two ends. A node with replicas makes a link to each of them.
    pub(crate) between: [String; 2],
    /// How fast it transmits, each way, more than 0bps; the mean of capacity, where that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Rate>,
    /// A file that tells when it transmits, each way, as Mahimahi has it: a time in ms a line, where it takes 1504B. In place of rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<String>,
    /// How rate and delay change at instants, each way; in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) changes: Vec<LinkChange>,
    /// How long a bit takes from one end to the other; at least 1ns where the rate is above 8Gbps.
    pub(crate) delay: Duration,
    /// Whether it leads only from the first end to the second.
    #[schemars(default)]
    pub(crate) one_way: bool,
    /// The largest packet, headers and all, 1B at least; larger ones are dropped. Any size if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mtu: Option<Bytes>,
    /// Lower-layer bytes that each packet takes besides its own, at most 64KiB. If absent: 4B with capacity, as mm-link counts, else 0B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overhead: Option<Bytes>,
    /// How many events a packet is simulated with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<Events>,
    /// Whether the record counts the packets of each flow apart, each way.
    #[schemars(default)]
    pub(crate) by_flow: bool,
    /// Whose rules the options of this link follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Dialect>,
    /// What waits for the transmitter, each way; droptail if absent.
    #[schemars(default = "no_default")]
    pub(crate) queue: Chosen<QueueOptions>,
    /// What the channel loses, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Chosen<LossOptions>>,
    /// What is dropped before the queue for its rate, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policer: Option<PolicerOptions>,
    /// What delays transmissions for its rate, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<ShaperOptions>,
    /// How much longer than delay packets take, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Chosen<JitterOptions>>,
    /// Which packets overtake others, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reorder: Option<Chosen<ReorderOptions>>,
    /// Which packets come twice, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duplicate: Option<DuplicateOptions>,
    /// What is otherwise on the way back, from the second end to the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverse: Option<ReverseTable>,
}

/// What is otherwise on the way back of a link; what is absent is the same both ways.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ReverseTable {
    /// A file that tells when it transmits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<String>,
    /// How rate and delay change, in place of what they do on the way there; `[]` for not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<LinkChange>>,
    /// What the channel loses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Instead<Chosen<LossOptions>>>,
    /// What is dropped before the queue for its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policer: Option<Instead<PolicerOptions>>,
    /// What delays transmissions for its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Instead<ShaperOptions>>,
    /// How much longer than delay packets take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Instead<Chosen<JitterOptions>>>,
    /// Which packets overtake others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reorder: Option<Instead<Chosen<ReorderOptions>>>,
    /// Which packets come twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duplicate: Option<Instead<DuplicateOptions>>,
}

/// Something else, or `false` for nothing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Instead<T> {
    /// There is none.
    Off(bool),
    /// There is this.
    Is(T),
}

impl<T> Instead<T> {
    /// What there is: what is made of this, or `both` where nothing is written.
    pub(crate) fn or<U>(instead: Option<&Self>, both: Option<U>, of: impl FnOnce(&T) -> U) -> Option<U> {
        match instead {
            None => both,
            Some(Self::Off(_)) => None,
            Some(Self::Is(this)) => Some(of(this)),
        }
    }
}

/// The queue of a link that names none.
pub(crate) const DEFAULT_QUEUE: &str = "droptail";

/// A key that may be absent, and whose default the schema cannot tell.
fn no_default() -> Option<()> {
    None
}

/// How a link is simulated; the record is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Events {
    /// The departure is computed on arrival: one event a packet.
    One,
    /// Arrival and departure are events of their own.
    Two,
}

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

/// Somebody who harms a DCCP flow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AttackerTable {
    /// Letters, digits and _ - . : up to 64.
    pub(crate) name: String,
    /// The node where it sits, which is neither end of the flow.
    pub(crate) at: String,
    /// The flow that it attacks, of transport dccp.
    pub(crate) target: String,
    /// Whether the flow's packets, there and back, are led by way of its node. Otherwise it sees nothing, and knows addresses, ports
    /// and the service code only.
    #[schemars(default)]
    pub(crate) on_path: bool,
    /// When it begins.
    #[schemars(default)]
    pub(crate) start: Duration,
    /// When it stops; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Duration>,
    /// What it does.
    pub(crate) attack: Chosen<AttackOptions>,
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

/// One kind's options, and the dialect that they were laid over if it is not the table's.
#[derive(Debug)]
pub(crate) struct Chosen<R> {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) options: R,
    /// The keys that are `false`: absent although the preset may have them.
    pub(crate) off: Off,
}

impl<R: Serialize> Serialize for Chosen<R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a, R> {
            #[serde(skip_serializing_if = "Option::is_none")]
            dialect: Option<Dialect>,
            #[serde(flatten)]
            options: &'a R,
            #[serde(flatten)]
            off: Option<&'a Off>,
        }
        let Self { dialect, options, off } = self;
        if off.is_flat() {
            return Flat { dialect: *dialect, options, off: Some(off) }.serialize(serializer);
        }
        let table = Flat { dialect: *dialect, options, off: None };
        let mut table = serde_json::to_value(table).map_err(serde::ser::Error::custom)?;
        table.as_object_mut().into_iter().for_each(|table| off.write(table));
        table.serialize(serializer)
    }
}

impl<R: JsonSchema> JsonSchema for Chosen<R> {
    fn inline_schema() -> bool {
        R::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        R::schema_name()
    }

    /// The kinds' schema, where each may also name its dialect and nothing else.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let dialect = generator.subschema_for::<Dialect>().to_value();
        let mut schema = R::json_schema(generator);
        let kinds = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut());
        for kind in kinds.into_iter().flatten().filter_map(|kind| kind.as_object_mut()) {
            kind.insert("additionalProperties".into(), false.into());
            crate::off::instead_of_null(kind);
            if let Some(properties) = kind.get_mut("properties").and_then(|properties| properties.as_object_mut()) {
                properties.insert("dialect".into(), dialect.clone());
            }
        }
        schema
    }
}
