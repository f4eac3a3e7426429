//! `key = false` for an option that a preset has and a scenario wants absent. TOML has no null; the options that JSON
//! Schema lets be null are those that may be off.

use crate::document::{self, Data, Entry};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The keys that a table may have.
pub(crate) type Keys = BTreeMap<String, Key>;

/// What a key may hold.
#[derive(Default)]
pub(crate) struct Key {
    /// Whether it may be `false` to be absent although a preset has it.
    pub(crate) may_be_off: bool,
    /// The keys of a table of options; empty for any other value.
    pub(crate) table: Keys,
}

/// The keys of a table that are off, and those of the tables in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Off(BTreeMap<String, What>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum What {
    /// It is `false`.
    Key(bool),
    /// Keys in it are.
    Within(Off),
}

impl Off {
    /// Takes from `table` the keys that are off.
    pub(crate) fn take(table: &mut document::Table, known: &Keys) -> Self {
        let mut off = BTreeMap::new();
        table.retain(|name, entry| {
            let Some(key) = known.get(name) else { return true };
            match &mut entry.value.data {
                Data::Boolean(false) if key.may_be_off => {
                    off.insert(name.clone(), What::Key(false));
                    return false;
                }
                Data::Table(within) => {
                    let within = Self::take(within, &key.table);
                    if !within.0.is_empty() {
                        off.insert(name.clone(), What::Within(within));
                    }
                }
                _ => {}
            }
            true
        });
        Self(off)
    }

    /// Takes what is off from a preset.
    pub(crate) fn remove_from(&self, preset: &mut document::Table) {
        preset.retain(|name, Entry { value, .. }| match (self.0.get(name), &mut value.data) {
            (Some(What::Key(_)), _) => false,
            (Some(What::Within(off)), Data::Table(within)) => {
                off.remove_from(within);
                true
            }
            _ => true,
        });
    }

    /// Writes `false` for what is off into a table.
    pub(crate) fn write(&self, table: &mut serde_json::Map<String, Value>) {
        for (name, what) in &self.0 {
            match what {
                What::Key(_) => drop(table.insert(name.clone(), false.into())),
                What::Within(off) => {
                    if let Some(within) = table.get_mut(name).and_then(Value::as_object_mut) {
                        off.write(within);
                    }
                }
            }
        }
    }

    /// Whether only keys of the table itself are off.
    pub(crate) fn is_flat(&self) -> bool {
        self.0.values().all(|what| matches!(what, What::Key(_)))
    }
}

/// Lets the properties of a table be `false` where they could be null.
pub(crate) fn instead_of_null(table: &mut serde_json::Map<String, Value>) {
    for_each_nullable(table, |alternatives| alternatives.push(json!({ "const": false, "description": "absent" })));
}

/// Takes null from the properties of a table: an absent key is left out.
pub(crate) fn no_null(table: &mut serde_json::Map<String, Value>) {
    for_each_nullable(table, |_| {});
}

/// Whether a property may be off.
pub(crate) fn may_be(property: &Value) -> bool {
    let alternatives = property.get("anyOf").and_then(Value::as_array);
    alternatives.into_iter().flatten().any(|alternative| alternative.get("const") == Some(&json!(false)))
}

/// schemars writes an `Option` as `"type": [.., "null"]` or as one of `anyOf`: makes the second of the first, and lets
/// `change` work on the alternatives without null.
fn for_each_nullable(table: &mut serde_json::Map<String, Value>, change: impl Fn(&mut Vec<Value>) + Copy) {
    let properties = table.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flatten().filter_map(|(_, property)| property.as_object_mut()) {
        property.retain(|key, value| key != "default" || !value.is_null());
        if property.contains_key("properties") {
            for_each_nullable(property, change);
        }
        let null = json!("null");
        let mut alternatives = if property.get("type").and_then(Value::as_array).is_some_and(|all| all.contains(&null))
        {
            // Everything but the words belongs to the type.
            let description = property.remove("description");
            let default = property.remove("default");
            let mut one = std::mem::take(property);
            if let Some(Value::Array(mut types)) = one.remove("type") {
                types.retain(|each| *each != null);
                one.insert("type".into(), if types.len() == 1 { types.remove(0) } else { types.into() });
            }
            for (key, value) in [("description", description), ("default", default)] {
                property.extend(value.map(|value| (key.to_owned(), value)));
            }
            vec![Value::Object(one)]
        } else if let Some(Value::Array(mut all)) = property.remove("anyOf") {
            let before = all.len();
            all.retain(|each| each.get("type") != Some(&null));
            if all.len() == before {
                property.insert("anyOf".into(), all.into());
                continue;
            }
            all
        } else {
            continue;
        };
        change(&mut alternatives);
        match <[Value; 1]>::try_from(alternatives) {
            Ok([Value::Object(only)]) => property.extend(only),
            Ok(only) => drop(property.insert("anyOf".into(), only.to_vec().into())),
            Err(several) => drop(property.insert("anyOf".into(), several.into())),
        }
    }
}
