//! The drop probability from which on RED drops packets instead of marking them (ns-2's `mark_p_`).

use headway_units::{Probability, number_and_unit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Drop probability of RED, before `wait` spaces the drops, from which on RED drops ECN-capable packets instead of
/// marking them; from 0 to 100. A value above 1 is never reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MarkLimit(f64);

impl MarkLimit {
    const MAX: f64 = 100.0;

    /// Creates the limit `value` if it is from 0 to 100, otherwise returns `None`.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=Self::MAX).contains(&value).then_some(Self(value))
    }

    pub(super) fn is_reached_by(self, p_b: f64) -> bool {
        p_b >= self.0
    }
}

impl From<Probability> for MarkLimit {
    fn from(probability: Probability) -> Self {
        Self(probability.value())
    }
}

impl<'de> Deserialize<'de> for MarkLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Level;
        impl serde::de::Visitor<'_> for Level {
            type Value = MarkLimit;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability, such as 0.1 or \"10%\", or a number above 1 such as 2 to mark always")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<MarkLimit, E> {
                match number_and_unit(text) {
                    Some((number, "")) => self.visit_f64(number),
                    Some((number, "%")) => self.visit_f64(number / 100.0),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<MarkLimit, E> {
                MarkLimit::new(value).ok_or_else(|| E::custom(format!("{value} is out of range: from 0 to 100")))
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<MarkLimit, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<MarkLimit, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Level)
    }
}

impl schemars::JsonSchema for MarkLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MarkLimit".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "a probability, such as 0.1 or \"10%\", or a number above 1, which marks always",
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 100 }, { "type": "string" }]
        })
    }
}
