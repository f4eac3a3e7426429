//! Options that stand elsewhere than in a scenario, and are told what is wrong in the same words.

use crate::de;
use crate::document::{self, Data, Origin, Table, Value};
use crate::key_range;
use crate::path::Path;
use headway_units::SchemaRegistry;

/// Reads the options of `kind` from all of its keys.
///
/// # Errors
/// A sentence part that names the key, and says what would be right.
pub fn options<R: SchemaRegistry>(kind: &str, keys: serde_json::Value) -> Result<R, String> {
    let none = Value { origin: Origin::Preset, data: Data::Table(Table::new()) };
    let keys = document::preset(keys).unwrap_or(none);
    de::read_with(|deserializer| R::deserialize(kind, deserializer), &keys).map_err(|fault| {
        let all = keys.table().cloned().unwrap_or_default();
        let fault = key_range::narrowed::<R>(kind, &all, &all, fault);
        let path = Path(fault.steps);
        if path.0.is_empty() { fault.message } else { format!("{path}: {}", fault.message) }
    })
}
