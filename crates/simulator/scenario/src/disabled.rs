//! Keys that are disabled by `key = false`: options of a preset that a scenario removes. TOML has no null; the options
//! that can be null in the JSON Schema are those that can be disabled.

use crate::document::{self, Data, Entry};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Known keys of a table.
pub(crate) type Keys = BTreeMap<String, Key>;

/// Allowed values of a key.
#[derive(Default)]
pub(crate) struct Key {
    /// Whether `false` disables the key.
    pub(crate) can_be_disabled: bool,
    /// Keys of a table of options; empty for any other value.
    pub(crate) table: Keys,
}

/// Disabled keys of a table and of the tables in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Disabled(BTreeMap<String, DisabledKey>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum DisabledKey {
    /// The key itself; `false` when serialized.
    Key(bool),
    /// Keys of the table under the key.
    Within(Disabled),
}

impl Disabled {
    /// Removes the disabled keys from `table`.
    pub(crate) fn take(table: &mut document::Table, known: &Keys) -> Self {
        let mut disabled = BTreeMap::new();
        table.retain(|name, entry| {
            let Some(key) = known.get(name) else { return true };
            match &mut entry.value.data {
                Data::Boolean(false) if key.can_be_disabled => {
                    disabled.insert(name.clone(), DisabledKey::Key(false));
                    return false;
                }
                Data::Table(within) => {
                    let within = Self::take(within, &key.table);
                    if !within.0.is_empty() {
                        disabled.insert(name.clone(), DisabledKey::Within(within));
                    }
                }
                _ => {}
            }
            true
        });
        Self(disabled)
    }

    /// Removes the disabled keys from a preset.
    pub(crate) fn remove_from(&self, preset: &mut document::Table) {
        preset.retain(|name, Entry { value, .. }| match (self.0.get(name), &mut value.data) {
            (Some(DisabledKey::Key(_)), _) => false,
            (Some(DisabledKey::Within(disabled)), Data::Table(within)) => {
                disabled.remove_from(within);
                true
            }
            _ => true,
        });
    }

    /// Inserts `false` for each disabled key.
    pub(crate) fn write(&self, table: &mut serde_json::Map<String, Value>) {
        for (name, disabled) in &self.0 {
            match disabled {
                DisabledKey::Key(_) => drop(table.insert(name.clone(), false.into())),
                DisabledKey::Within(disabled) => {
                    if let Some(within) = table.get_mut(name).and_then(Value::as_object_mut) {
                        disabled.write(within);
                    }
                }
            }
        }
    }

    /// Returns whether no key of a nested table is disabled.
    pub(crate) fn is_flat(&self) -> bool {
        self.0.values().all(|disabled| matches!(disabled, DisabledKey::Key(_)))
    }
}

/// Replaces null by `false` in the types of the properties of a table.
pub(crate) fn replace_null_by_false(table: &mut serde_json::Map<String, Value>) {
    for_each_nullable(table, |alternatives| alternatives.push(json!({ "const": false, "description": "absent" })));
}

/// Removes null from the types of the properties of a table.
pub(crate) fn remove_null(table: &mut serde_json::Map<String, Value>) {
    for_each_nullable(table, |_| {});
}

/// Returns whether a property can be `false` to disable it.
pub(crate) fn can_be_disabled(property: &Value) -> bool {
    let alternatives = property.get("anyOf").and_then(Value::as_array);
    alternatives.into_iter().flatten().any(|alternative| alternative.get("const") == Some(&json!(false)))
}

/// Removes null from each nullable property and passes the other alternatives to `change`. schemars writes an `Option`
/// as `"type": [.., "null"]` or with `anyOf`; the first form is converted to the second.
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
            // Everything but the description and the default belongs to the type.
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
