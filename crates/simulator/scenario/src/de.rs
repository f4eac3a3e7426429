//! The serde deserializer of scenario values. Its errors contain a message and the path to the value.

mod example;

use crate::document::{Data, Entry, Origin, Table, Value};
use crate::path::Step;
use crate::suggest::{choices, hint, quoted};
use headway_units::counted;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Error about a value, with its path below the value that was read.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Path; from the innermost step outwards until [`read`] reverses it.
    pub(crate) steps: Vec<Step>,
    pub(crate) message: String,
    /// Whether the last step is an unknown key, and not a key with a wrong value.
    pub(crate) about_key: bool,
    /// Whether the value is an array instead of a single value.
    pub(crate) is_list: bool,
    /// The value as written if it is outside the range of its type.
    pub(crate) out_of_range: Option<String>,
}

pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    read_with(T::deserialize, value)
}

/// Reads the value with `deserialize`.
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
        Self { steps: Vec::new(), message, about_key: false, is_list: false, out_of_range: None }
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
        let expected = plain(expected);
        let none = if found == Unexpected::Bool(false) && expected == "an array" { ": write [] for none" } else { "" };
        let message = format!("{} is not {expected}{none}", found_as_written(&found));
        Self { is_list: matches!(found, Unexpected::Seq), ..Self::new(message) }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = found_as_written(&found);
        let message = format!("{found} is out of range: write {}", plain(expected));
        Self { out_of_range: Some(found), ..Self::new(message) }
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(format!(
            "an array of {} has the wrong length: write {}",
            counted(found as u64, "value"),
            plain(expected)
        ))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown value \"{}\"{}", quoted(variant), choices(variant, expected.iter().copied())))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("unknown key \"{}\"{}", quoted(field), hint(field, expected.iter().copied()));
        Self { steps: vec![Step::Key(field.to_owned())], about_key: true, ..Self::new(message) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key \"{field}\" is missing"))
    }
}

/// Returns the number in at most 24 characters.
fn float(number: f64) -> String {
    let is_plain = number == 0.0 || (1e-5..1e16).contains(&number.abs());
    if is_plain { number.to_string() } else { format!("{number:e}") }
}

/// Returns the value as written in a scenario.
fn found_as_written(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => format!("\"{}\"", quoted(text)),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Float(number) => float(*number),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Map | Unexpected::StructVariant => "a table".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        other => other.to_string(),
    }
}

/// Returns what is expected, with serde's names of Rust types replaced by TOML terms.
fn plain(expected: &dyn Expected) -> String {
    let range = |low: i128, high: i128| format!("a whole number from {low} to {high}");
    match expected.to_string().as_str() {
        "u8" => range(0, u8::MAX.into()),
        "u16" => range(0, u16::MAX.into()),
        "u32" => range(0, u32::MAX.into()),
        // Whole numbers of TOML are signed.
        "u64" | "usize" => range(0, i64::MAX.into()),
        "i32" => range(i32::MIN.into(), i32::MAX.into()),
        "i64" => range(i64::MIN.into(), i64::MAX.into()),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text in quotes".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the error about a number that is not finite or does not fit into 64 bits.
fn unrepresentable(text: &str, expected: &dyn Expected) -> Fault {
    let expected = plain(expected);
    let expected = if expected == "a number" { "a finite number" } else { &expected };
    if !["a finite number", "a whole number"].iter().any(|number| expected.starts_with(number)) {
        return Fault::new(format!("{text} is not {expected}"));
    }
    let message = format!("{text} is out of range: write {expected}");
    Fault { out_of_range: Some(text.to_owned()), ..Fault::new(message) }
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
            Data::Unrepresentable(text) => Err(unrepresentable(text, &visitor)),
            Data::Array(values) => {
                let mut elements = Elements { values: values.iter(), index: 0 };
                let read = visitor.visit_seq(&mut elements)?;
                // A type of fixed length reads only its elements: further elements would be ignored silently.
                if elements.values.len() > 0 {
                    let found = counted(values.len() as u64, "value");
                    let message =
                        format!("an array of {found} has the wrong length: write an array of {}", elements.index);
                    return Err(Fault::new(message));
                }
                Ok(read)
            }
            Data::Table(table) => visitor.visit_map(Keys { entries: table.range::<str, _>(..), current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // TOML has no null: a present key has a value.
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
            Data::Text(text) => visitor.visit_enum(Choice { name: text, content: None }),
            Data::Table(table) if let Some((name, entry)) = selected(table) => {
                visitor.visit_enum(Choice { name, content: Some(written(entry)) })
            }
            Data::Table(table) => {
                let message = format!("{} keys are too many: write one of {}", table.len(), words.join(", "));
                Err(Fault::new(message))
            }
            _ => {
                let message = format!("{} is not {}", as_written(self), example::of_choice(words, visitor));
                Err(Fault { is_list: self.array().is_some(), ..Fault::new(message) })
            }
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// Returns the value as written, and for arrays and tables the type.
pub(crate) fn as_written(value: &Value) -> String {
    match &value.data {
        Data::Text(text) => found_as_written(&Unexpected::Str(text)),
        Data::Integer(number) => number.to_string(),
        Data::Float(number) => float(*number),
        Data::Boolean(value) => value.to_string(),
        Data::Datetime(text) => format!("the date {text}"),
        Data::Unrepresentable(text) => text.clone(),
        Data::Array(_) => "an array".to_owned(),
        Data::Table(_) => "a table".to_owned(),
    }
}

/// Variant of an enum: a string, or the only key of a table with its value.
struct Choice<'a> {
    name: &'a str,
    content: Option<Cow<'a, Value>>,
}

/// Returns the value of a variant without the keys of the preset: a variant is written in full.
fn written(Entry { key, value }: &Entry) -> Cow<'_, Value> {
    let Data::Table(table) = &value.data else { return Cow::Borrowed(value) };
    if *key == Origin::Preset {
        return Cow::Borrowed(value);
    }
    let written = table.iter().filter(|(_, entry)| entry.key != Origin::Preset);
    let data = Data::Table(written.map(|(key, entry)| (key.clone(), entry.clone())).collect());
    Cow::Owned(Value { origin: value.origin.clone(), data })
}

impl<'de> serde::de::EnumAccess<'de> for Choice<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        let name: serde::de::value::StrDeserializer<'_, Fault> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> serde::de::VariantAccess<'de> for Choice<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            None => Ok(()),
            Some(_) => {
                let name = quoted(self.name);
                Err(Fault::new(format!("\"{name}\" takes no table: write \"{name}\" in place of the table")))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        match self.content {
            Some(value) => seed.deserialize(&*value).map_err(|fault| fault.below(Step::Key(self.name.to_owned()))),
            None => {
                let table = example::of_entry(self.name, seed);
                Err(Fault::new(format!("\"{}\" needs a table: write {table}", quoted(self.name))))
            }
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.newtype_variant_seed(example::WholeValue(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.newtype_variant_seed(example::WholeValue(visitor))
    }
}

/// Returns the key of a table that names the variant: the only key, or the only key that is not from the preset.
fn selected(table: &Table) -> Option<(&String, &Entry)> {
    let mut written = table.iter().filter(|(_, entry)| table.len() == 1 || entry.key != Origin::Preset);
    written.next().filter(|_| written.next().is_none())
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
    current: Option<(&'a String, &'a Value)>,
}

impl<'de> serde::de::MapAccess<'de> for Keys<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.entries.next().map(|(key, entry)| (key, &entry.value));
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let Some((key, value)) = self.current.take() else {
            return Err(serde::de::Error::custom("a value was requested before its key"));
        };
        seed.deserialize(value).map_err(|fault| fault.below(Step::Key(key.clone())))
    }
}
