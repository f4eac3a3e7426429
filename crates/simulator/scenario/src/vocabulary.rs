//! The keys of each table, listed in `vocabulary.txt` because building the JSON Schema takes ten times longer than
//! reading a scenario. A test compares the list with the schema.
//!
//! To add a key, add the field to the table's type (for a link: `link.rs` or `link/direction.rs`) and run the test
//! below with `UPDATE_VOCABULARY` set, which writes `vocabulary.txt`. A new table also needs a field of [`Vocabulary`].

use crate::disabled::{Key, Keys};
use crate::kind_options::KindOptions;
use headway_units::SchemaRegistry;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Keys of the table of each kind.
pub(crate) type KindKeys = BTreeMap<String, Keys>;

pub(crate) struct Vocabulary {
    pub(crate) scenario: Keys,
    pub(crate) record: Keys,
    pub(crate) phase: Keys,
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

/// Sections `[table]` or `[table kind]` with one key per line: `key`, `key.key` within a nested table, `key?` if it can
/// be `false`.
const TEXT: &str = include_str!("vocabulary.txt");

pub(crate) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let (mut tables, mut kinds) = sections();
    let mut table = |name: &str| tables.remove(name).unwrap_or_default();
    let mut kind = |name: &str| kinds.remove(name).unwrap_or_default();
    Vocabulary {
        scenario: table("scenario"),
        record: table("record"),
        phase: table("phase"),
        node: table("node"),
        host: table("host"),
        clock: table("clock"),
        link: table("link"),
        policer: table("policer"),
        shaper: table("shaper"),
        duplicate: table("duplicate"),
        reverse: table("reverse"),
        flow: table("flow"),
        attacker: table("attacker"),
        e_model: table("e_model"),
        uniform: table("uniform"),
        range: table("range"),
        seeds: table("seeds"),
        dscp: table("dscp"),
        queue: kind("queue"),
        loss: kind("loss"),
        jitter: kind("jitter"),
        reorder: kind("reorder"),
        transport: kind("transport"),
        send_queue: kind("send_queue"),
        source: kind("source"),
        attack: kind("attack"),
    }
});

/// Parses the keys of each table, and of the table of each kind.
fn sections() -> (BTreeMap<&'static str, Keys>, BTreeMap<&'static str, KindKeys>) {
    let (mut tables, mut kinds): (BTreeMap<_, Keys>, BTreeMap<_, KindKeys>) = Default::default();
    for section in TEXT.split("[").skip(1) {
        let (title, lines) = section.split_once(']').unwrap_or_default();
        let mut keys = Keys::new();
        lines.lines().filter(|line| !line.is_empty()).for_each(|line| insert(&mut keys, line));
        match title.split_once(' ') {
            None => drop(tables.insert(title, keys)),
            Some((table, kind)) => drop(kinds.entry(table).or_default().insert(kind.to_owned(), keys)),
        }
    }
    (tables, kinds)
}

fn insert(keys: &mut Keys, line: &str) {
    match line.split_once('.') {
        Some((table, rest)) => insert(&mut keys.entry(table.to_owned()).or_default().table, rest),
        None => {
            let name = line.trim_end_matches('?');
            keys.entry(name.to_owned()).or_default().can_be_disabled = name.len() < line.len();
        }
    }
}

pub(crate) fn keys_of_kinds<R: SchemaRegistry>() -> KindKeys {
    let schema = schemars::schema_for!(KindOptions<R>);
    let kinds = schema.get("oneOf").and_then(|kinds| kinds.as_array()).into_iter().flatten();
    kinds.filter_map(|kind| Some((kind_of::<R>(kind)?, keys(kind)))).collect()
}

/// Returns the kind that a schema describes.
fn kind_of<R: SchemaRegistry>(schema: &serde_json::Value) -> Option<String> {
    let word = schema["properties"]["kind"]["const"].as_str()?;
    let number = R::NUMBERED.and_then(|(_, key)| schema["properties"][key]["const"].as_u64());
    Some(number.map_or_else(|| word.to_owned(), |number| format!("{word}-{number}")))
}

fn keys(schema: &serde_json::Value) -> Keys {
    let properties = schema.get("properties").and_then(|properties| properties.as_object()).into_iter().flatten();
    let key = |schema| Key { can_be_disabled: crate::disabled::can_be_disabled(schema), table: keys(schema) };
    properties.map(|(name, schema)| (name.clone(), key(schema))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attacker::AttackerTable;
    use crate::clock::ClockOptions;
    use crate::dscp::KindsTable;
    use crate::e_model::EModelOptions;
    use crate::flow::{FlowTable, UniformTable};
    use crate::link::{Direction, LinkTable};
    use crate::node::NodeTable;
    use crate::range::RangeTable;
    use crate::record::{PhaseTable, RecordTable};
    use crate::scenario::ScenarioTable;
    use crate::transport::Transport;
    use crate::vary::SeedsTable;
    use headway_attack::AttackOptions;
    use headway_link::{
        DuplicateOptions, HostOptions, JitterOptions, LossOptions, PolicerOptions, QueueOptions, ReorderOptions,
        ShaperOptions,
    };
    use headway_media::{SendQueueOptions, SourceOptions};
    use schemars::JsonSchema;
    use std::fmt::Write as _;

    fn table<T: JsonSchema>(text: &mut String, name: &str) {
        section(text, name, &keys(schemars::schema_for!(T).as_value()));
    }

    fn kinds<R: SchemaRegistry>(text: &mut String, name: &str) {
        for (kind, keys) in keys_of_kinds::<R>() {
            section(text, &format!("{name} {kind}"), &keys);
        }
    }

    fn section(text: &mut String, title: &str, keys: &Keys) {
        let _ = writeln!(text, "[{title}]");
        lines(text, "", keys);
    }

    fn lines(text: &mut String, before: &str, keys: &Keys) {
        for (name, key) in keys {
            let _ = writeln!(text, "{before}{name}{}", if key.can_be_disabled { "?" } else { "" });
            lines(text, &format!("{before}{name}."), &key.table);
        }
    }

    #[test]
    fn the_vocabulary_is_equal_to_the_schema() {
        let mut text = String::new();
        table::<ScenarioTable>(&mut text, "scenario");
        table::<RecordTable>(&mut text, "record");
        table::<PhaseTable>(&mut text, "phase");
        table::<NodeTable>(&mut text, "node");
        table::<HostOptions>(&mut text, "host");
        table::<ClockOptions>(&mut text, "clock");
        table::<LinkTable>(&mut text, "link");
        table::<PolicerOptions>(&mut text, "policer");
        table::<ShaperOptions>(&mut text, "shaper");
        table::<DuplicateOptions>(&mut text, "duplicate");
        table::<Direction>(&mut text, "reverse");
        table::<FlowTable>(&mut text, "flow");
        table::<AttackerTable>(&mut text, "attacker");
        table::<EModelOptions>(&mut text, "e_model");
        table::<UniformTable>(&mut text, "uniform");
        table::<RangeTable>(&mut text, "range");
        table::<SeedsTable>(&mut text, "seeds");
        table::<KindsTable>(&mut text, "dscp");
        kinds::<QueueOptions>(&mut text, "queue");
        kinds::<LossOptions>(&mut text, "loss");
        kinds::<JitterOptions>(&mut text, "jitter");
        kinds::<ReorderOptions>(&mut text, "reorder");
        kinds::<Transport>(&mut text, "transport");
        kinds::<SendQueueOptions>(&mut text, "send_queue");
        kinds::<SourceOptions>(&mut text, "source");
        kinds::<AttackOptions>(&mut text, "attack");
        if std::env::var_os("UPDATE_VOCABULARY").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/vocabulary.txt"), &text).unwrap();
        } else {
            assert_eq!(TEXT, text, "set UPDATE_VOCABULARY and run this test to write src/vocabulary.txt");
        }
    }
}
