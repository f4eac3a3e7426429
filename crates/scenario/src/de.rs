//! Reads typed values from the tree: serde's side of it, with sentences for errors and the way to what is wrong.

use crate::document::{Data, Entry, Origin, Table, Value};
use crate::path::Step;
use crate::suggest::{hint, quoted};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use std::fmt;
use std::ops::Bound;

/// What is wrong with a value, and where below the value that was read.
#[derive(Debug)]
pub(crate) struct Fault {
    /// From the innermost step outwards while it travels up; [`read`] turns it round.
    pub(crate) steps: Vec<Step>,
    pub(crate) message: String,
    /// Whether the last step is a key that should not be there, rather than one with a wrong value.
    pub(crate) about_key: bool,
    /// Whether an array stands where there is one value.
    pub(crate) is_list: bool,
}

/// Reads a `T`.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    read_with(T::deserialize, value)
}

/// Reads whatever `deserialize` makes of the value.
pub(crate) fn read_with<'a, T>(
    deserialize: impl FnOnce(&'a Value) -> Result<T, Fault>,
    value: &'a Value,
) -> Result<T, Fault> {
    deserialize(value).map_err(|mut fault| {
        fault.steps.reverse();
        fault
    })
}

impl Fault {
    fn new(message: String) -> Self {
        Self { steps: Vec::new(), message, about_key: false, is_list: false }
    }

    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("{} is not {}", found_as_written(&found), plain(expected));
        Self { is_list: matches!(found, Unexpected::Seq), ..Self::new(message) }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("{} is out of range: write {}", found_as_written(&found), plain(expected)))
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("{found} values are the wrong number: write {}", plain(expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown value \"{}\"{}", quoted(variant), hint(variant, expected.iter().copied())))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("unknown key \"{}\"{}", quoted(field), hint(field, expected.iter().copied()));
        Self { steps: vec![Step::Key(field.to_owned())], about_key: true, ..Self::new(message) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key \"{field}\" is missing"))
    }
}

/// What was found, in the words of a scenario's author.
fn found_as_written(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => format!("\"{}\"", quoted(text)),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Float(number) => number.to_string(),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Map | Unexpected::StructVariant => "a table".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        other => other.to_string(),
    }
}

/// Rust's names of types mean nothing to a scenario's author.
fn plain(expected: &dyn Expected) -> String {
    let range = |low: i128, high: i128| format!("a whole number from {low} to {high}");
    match expected.to_string().as_str() {
        "u8" => range(0, u8::MAX.into()),
        "u16" => range(0, u16::MAX.into()),
        "u32" => range(0, u32::MAX.into()),
        // TOML's whole numbers have a sign.
        "u64" | "usize" => range(0, i64::MAX.into()),
        "i32" => range(i32::MIN.into(), i32::MAX.into()),
        "i64" => range(i64::MIN.into(), i64::MAX.into()),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text in quotes".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other if other.starts_with("enum ") => "one of the words that this key takes, in quotes".to_owned(),
        other => other.to_owned(),
    }
}

impl<'de> Deserializer<'de> for &Value {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.data {
            Data::Text(text) => visitor.visit_str(text),
            Data::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (_, Ok(signed)) if signed < 0 => visitor.visit_i64(signed),
                (Ok(unsigned), _) => visitor.visit_u64(unsigned),
                _ => visitor.visit_i128(*number),
            },
            Data::Float(number) => visitor.visit_f64(*number),
            Data::Boolean(value) => visitor.visit_bool(*value),
            Data::Datetime(text) => {
                Err(serde::de::Error::invalid_type(Unexpected::Other(&format!("the date {text}")), &visitor))
            }
            Data::Array(values) => {
                let mut elements = Elements { values: values.iter(), index: 0 };
                let read = visitor.visit_seq(&mut elements)?;
                // Of an array of fixed length no more is asked for: what nobody reads would be dropped without a word.
                if elements.values.len() > 0 {
                    let message =
                        format!("{} values are the wrong number: write an array of {}", values.len(), elements.index);
                    return Err(Fault::new(message));
                }
                Ok(read)
            }
            Data::Table(table) => {
                visitor.visit_map(Keys { entries: table.range::<str, _>(..), current: None, is_law: false })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // TOML has no null: what is written is there.
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.data {
            Data::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Data::Table(table) if chosen(table).is_some() => {
                let name = chosen(table).map_or("", String::as_str);
                let entries = table.range::<str, _>((Bound::Included(name), Bound::Included(name)));
                visitor.visit_enum(serde::de::value::MapAccessDeserializer::new(Keys {
                    entries,
                    current: None,
                    is_law: true,
                }))
            }
            Data::Table(table) => {
                let message = format!("{} keys do not say which it is: write one of {}", table.len(), words.join(", "));
                Err(Fault::new(message))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// Which key of a table says what it is: the only one, or the only one that is written, over that of a preset.
fn chosen(table: &Table) -> Option<&String> {
    let mut written = table.iter().filter(|(_, entry)| table.len() == 1 || entry.key != Origin::Preset);
    written.next().filter(|_| written.next().is_none()).map(|(name, _)| name)
}

struct Elements<'a> {
    values: std::slice::Iter<'a, Value>,
    index: usize,
}

impl<'de> serde::de::SeqAccess<'de> for &mut Elements<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.values.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(value).map(Some).map_err(|fault| fault.below(Step::Element(index.to_string())))
    }
}

struct Keys<'a> {
    entries: std::collections::btree_map::Range<'a, String, Entry>,
    current: Option<(&'a String, &'a Entry)>,
    /// Whether it is one table that says by its key what it is, such as a law by its name: who writes it writes all of it, and nothing of a preset's is kept
    /// that happens to be of the same name.
    is_law: bool,
}

impl<'de> serde::de::MapAccess<'de> for Keys<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let Some((key, Entry { key: origin, value })) = self.current.take() else {
            return Err(serde::de::Error::custom("a value was asked for before its key"));
        };
        let read = match &value.data {
            Data::Table(table) if self.is_law && *origin != Origin::Preset => {
                let written = table.iter().filter(|(_, entry)| entry.key != Origin::Preset);
                let written = written.map(|(key, entry)| (key.clone(), entry.clone())).collect();
                seed.deserialize(&Value { origin: value.origin.clone(), data: Data::Table(written) })
            }
            _ => seed.deserialize(value),
        };
        read.map_err(|fault| fault.below(Step::Key(key.clone())))
    }
}
