//! Options of one algorithm from a JSON map, outside of scenarios, with the error messages of scenarios.

use crate::de;
use crate::document::{self, Data, Origin, Table, Value};
use crate::key_range;
use crate::path::Path;
use headway_units::SchemaRegistry;

/// Error of an unknown option or of a value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{}{message}", if key.is_empty() { "" } else { ": " })]
pub struct KeyError {
    /// Key of the option, such as `expert.gain`; empty if the error concerns all options.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// Parses the options of the algorithm `kind` from a map of their keys and values. Absent keys get no default values.
///
/// # Errors
/// The first error of a key or a value.
pub fn options<R: SchemaRegistry>(kind: &str, keys: serde_json::Value) -> Result<R, KeyError> {
    let none = Value { origin: Origin::Preset, data: Data::Table(Table::new()) };
    let keys = document::preset(keys).unwrap_or(none);
    de::read_with(|deserializer| R::deserialize(kind, deserializer), &keys).map_err(|fault| {
        let all = keys.table().cloned().unwrap_or_default();
        let fault = key_range::narrowed::<R>(kind, &all, &all, fault);
        KeyError { key: Path(fault.steps).to_string(), message: fault.message }
    })
}
