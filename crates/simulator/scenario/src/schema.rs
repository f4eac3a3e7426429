//! JSON Schema of scenario files, for editors.

/// Returns the JSON Schema (2020-12) of scenario files, with the descriptions of all tables, keys, kinds and options.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(crate::scenario::ScenarioTable).to_value();
    schema["title"] = "Headway scenario".into();
    // TOML has no null: absent keys are left out.
    schema.as_object_mut().into_iter().for_each(crate::disabled::remove_null);
    let tables = schema.get_mut("$defs").and_then(|tables| tables.as_object_mut());
    tables.into_iter().flatten().filter_map(|(_, table)| table.as_object_mut()).for_each(crate::disabled::remove_null);
    schema
}
