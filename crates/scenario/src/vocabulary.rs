//! Which keys each table may have: asked of the JSON Schema, so that the two cannot differ.

use crate::clock::ClockOptions;
use crate::design::DesignTable;
use crate::dscp::KindsTable;
use crate::e_model::EModelOptions;
use crate::off::{Key, Keys};
use crate::range::RangeTable;
use crate::tables::{
    AttackerTable, Chosen, FlowTable, LinkTable, NodeTable, RecordTable, ReverseTable, ScenarioTable, UniformTable,
};
use crate::transport::Transport;
use crate::vary::SeedsTable;
use headway_attack::AttackOptions;
use headway_link::{
    DuplicateOptions, HostOptions, JitterOptions, LossOptions, PolicerOptions, QueueOptions, ReorderOptions,
    ShaperOptions,
};
use headway_media::{SendQueueOptions, SourceOptions};
use headway_units::SchemaRegistry;
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The keys of each kind's table.
pub(crate) type KindKeys = BTreeMap<String, Keys>;

pub(crate) struct Vocabulary {
    pub(crate) scenario: Keys,
    pub(crate) record: Keys,
    pub(crate) node: Keys,
    pub(crate) host: Keys,
    pub(crate) clock: Keys,
    pub(crate) link: Keys,
    pub(crate) policer: Keys,
    pub(crate) shaper: Keys,
    pub(crate) duplicate: Keys,
    pub(crate) reverse: Keys,
    pub(crate) flow: Keys,
    pub(crate) attacker: Keys,
    pub(crate) uniform: Keys,
    pub(crate) range: Keys,
    pub(crate) design: Keys,
    pub(crate) seeds: Keys,
    pub(crate) dscp: Keys,
    pub(crate) e_model: Keys,
    pub(crate) queue: KindKeys,
    pub(crate) loss: KindKeys,
    pub(crate) jitter: KindKeys,
    pub(crate) reorder: KindKeys,
    pub(crate) transport: KindKeys,
    pub(crate) send_queue: KindKeys,
    pub(crate) source: KindKeys,
    pub(crate) attack: KindKeys,
}

pub(crate) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    scenario: keys_of::<ScenarioTable>(),
    record: keys_of::<RecordTable>(),
    node: keys_of::<NodeTable>(),
    host: keys_of::<HostOptions>(),
    clock: keys_of::<ClockOptions>(),
    link: keys_of::<LinkTable>(),
    policer: keys_of::<PolicerOptions>(),
    shaper: keys_of::<ShaperOptions>(),
    duplicate: keys_of::<DuplicateOptions>(),
    reverse: keys_of::<ReverseTable>(),
    flow: keys_of::<FlowTable>(),
    attacker: keys_of::<AttackerTable>(),
    uniform: keys_of::<UniformTable>(),
    range: keys_of::<RangeTable>(),
    design: keys_of::<DesignTable>(),
    seeds: keys_of::<SeedsTable>(),
    dscp: keys_of::<KindsTable>(),
    e_model: keys_of::<EModelOptions>(),
    queue: keys_of_kinds::<QueueOptions>(),
    loss: keys_of_kinds::<LossOptions>(),
    jitter: keys_of_kinds::<JitterOptions>(),
    reorder: keys_of_kinds::<ReorderOptions>(),
    transport: keys_of_kinds::<Transport>(),
    send_queue: keys_of_kinds::<SendQueueOptions>(),
    source: keys_of_kinds::<SourceOptions>(),
    attack: keys_of_kinds::<AttackOptions>(),
});

fn keys_of<T: JsonSchema>() -> Keys {
    keys(schemars::schema_for!(T).as_value())
}

pub(crate) fn keys_of_kinds<R: SchemaRegistry>() -> KindKeys {
    let schema = schemars::schema_for!(Chosen<R>);
    let kinds = schema.get("oneOf").and_then(|kinds| kinds.as_array()).into_iter().flatten();
    kinds.filter_map(|kind| Some((kind_of::<R>(kind)?, keys(kind)))).collect()
}

/// Which kind a schema describes.
fn kind_of<R: SchemaRegistry>(schema: &serde_json::Value) -> Option<String> {
    let word = schema["properties"]["kind"]["const"].as_str()?;
    let number = R::NUMBERED.and_then(|(_, key)| schema["properties"][key]["const"].as_u64());
    Some(number.map_or_else(|| word.to_owned(), |number| format!("{word}-{number}")))
}

fn keys(schema: &serde_json::Value) -> Keys {
    let properties = schema.get("properties").and_then(|properties| properties.as_object()).into_iter().flatten();
    let key = |schema| Key { may_be_off: crate::off::may_be(schema), table: keys(schema) };
    properties.map(|(name, schema)| (name.clone(), key(schema))).collect()
}
