//! One kind's options as a scenario writes them.

use crate::off::Off;
use headway_units::Dialect;
use schemars::JsonSchema;
use serde::Serialize;

/// One kind's options, and the dialect that they were laid over if it is not the table's.
#[derive(Debug)]
pub(crate) struct Chosen<R> {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) options: R,
    /// The keys that are `false`: absent although the preset may have them.
    pub(crate) off: Off,
}

impl<R> Chosen<R> {
    pub(crate) fn preset(options: R) -> Self {
        Self { dialect: None, options, off: Off::default() }
    }
}

impl<R: Serialize> Serialize for Chosen<R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a, R> {
            #[serde(skip_serializing_if = "Option::is_none")]
            dialect: Option<Dialect>,
            #[serde(flatten)]
            options: &'a R,
            #[serde(flatten)]
            off: Option<&'a Off>,
        }
        let Self { dialect, options, off } = self;
        if off.is_flat() {
            return Flat { dialect: *dialect, options, off: Some(off) }.serialize(serializer);
        }
        let table = Flat { dialect: *dialect, options, off: None };
        let mut table = serde_json::to_value(table).map_err(serde::ser::Error::custom)?;
        table.as_object_mut().into_iter().for_each(|table| off.write(table));
        table.serialize(serializer)
    }
}

impl<R: JsonSchema> JsonSchema for Chosen<R> {
    fn inline_schema() -> bool {
        R::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        R::schema_name()
    }

    /// The kinds' schema, where each may also name its dialect and nothing else.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let dialect = generator.subschema_for::<Dialect>().to_value();
        let mut schema = R::json_schema(generator);
        let kinds = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut());
        for kind in kinds.into_iter().flatten().filter_map(|kind| kind.as_object_mut()) {
            kind.insert("additionalProperties".into(), false.into());
            crate::off::instead_of_null(kind);
            if let Some(properties) = kind.get_mut("properties").and_then(|properties| properties.as_object_mut()) {
                properties.insert("dialect".into(), dialect.clone());
            }
        }
        schema
    }
}
