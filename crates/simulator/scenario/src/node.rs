//! `[[node]]`: a node, or several replicas of it.

use crate::clock::ClockOptions;
use crate::document::Value;
use crate::names::{check_name, count};
use crate::path::Path;
use crate::reader::Reader;
use crate::vocabulary::VOCABULARY;
use headway_link::HostOptions;
use schemars::JsonSchema;
use serde::Serialize;

/// Node, or several replicas of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// Name: 1 to 64 letters, digits and _ - . :
    pub(crate) name: String,
    /// Number of replicas of the node, called name1, name2 and so on; a single node called `name` if absent.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// CPU time that receiving packets takes, separate for each replica of the node; receiving takes no time if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<HostOptions>,
    /// Clock of the node; true time if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<ClockOptions>,
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path) -> Option<NodeTable> {
    let mut open = reader.open(value, path, &VOCABULARY.node)?;
    let name: String = open.required("name", "\"client\"").unwrap_or_default();
    check_name(&mut open, &name, |_| false);
    let count = count(&mut open);
    let host = crate::host::read(&mut open);
    let clock = crate::clock::read(&mut open);
    Some(NodeTable { name, count, host, clock })
}
