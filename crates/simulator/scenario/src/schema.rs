//! The JSON Schema of scenario files, for editors.

/// The JSON Schema (2020-12) of a scenario file: every table, key, kind and option with its description.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(crate::scenario::ScenarioTable).to_value();
    schema["title"] = "Headway scenario".into();
    // TOML has no null: what is absent is left out.
    schema.as_object_mut().into_iter().for_each(crate::off::no_null);
    let tables = schema.get_mut("$defs").and_then(|tables| tables.as_object_mut());
    tables.into_iter().flatten().filter_map(|(_, table)| table.as_object_mut()).for_each(crate::off::no_null);
    schema
}
