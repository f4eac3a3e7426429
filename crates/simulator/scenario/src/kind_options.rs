//! Options of one kind of an algorithm as written in a scenario.

use crate::disabled::Disabled;
use headway_units::Dialect;
use schemars::JsonSchema;
use serde::Serialize;

/// Options of one kind, with its dialect if the table sets one.
#[derive(Debug)]
pub(crate) struct KindOptions<R> {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) options: R,
    /// Keys that are set to `false`, which removes the value of the preset.
    pub(crate) disabled: Disabled,
}

impl<R> KindOptions<R> {
    pub(crate) fn preset(options: R) -> Self {
        Self { dialect: None, options, disabled: Disabled::default() }
    }
}

impl<R: Serialize> Serialize for KindOptions<R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a, R> {
            #[serde(skip_serializing_if = "Option::is_none")]
            dialect: Option<Dialect>,
            #[serde(flatten)]
            options: &'a R,
            #[serde(flatten)]
            disabled: Option<&'a Disabled>,
        }
        let Self { dialect, options, disabled } = self;
        if disabled.is_flat() {
            return Flat { dialect: *dialect, options, disabled: Some(disabled) }.serialize(serializer);
        }
        let table = Flat { dialect: *dialect, options, disabled: None };
        let mut table = serde_json::to_value(table).map_err(serde::ser::Error::custom)?;
        table.as_object_mut().into_iter().for_each(|table| disabled.write(table));
        table.serialize(serializer)
    }
}

impl<R: JsonSchema> JsonSchema for KindOptions<R> {
    fn inline_schema() -> bool {
        R::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        R::schema_name()
    }

    /// Returns the schema of the kinds, each with the key `dialect` and without additional properties.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut dialect = generator.subschema_for::<Dialect>().to_value();
        let text =
            "Dialect of this table: the implementation or standard whose default values its absent options have.";
        if let Some(dialect) = dialect.as_object_mut() {
            dialect.insert("description".into(), text.into());
        }
        let mut schema = R::json_schema(generator);
        let kinds = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut());
        for kind in kinds.into_iter().flatten().filter_map(|kind| kind.as_object_mut()) {
            kind.insert("additionalProperties".into(), false.into());
            crate::disabled::replace_null_by_false(kind);
            if let Some(properties) = kind.get_mut("properties").and_then(|properties| properties.as_object_mut()) {
                properties.insert("dialect".into(), dialect.clone());
            }
        }
        schema
    }
}
