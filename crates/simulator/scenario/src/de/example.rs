//! Example values in error messages, derived from a type's `Deserialize`: a deserializer whose errors are the examples.

use super::Fault;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess, Visitor};

/// Placeholder in an example.
const PLACEHOLDER: &str = "..";

/// Returns what is allowed for an enum with the variants `words`: one of them as a string, or a table with one as key.
pub(super) fn of_choice<'de, V: Visitor<'de>>(words: &'static [&'static str], visitor: V) -> String {
    let first = words.first().copied().unwrap_or(PLACEHOLDER);
    let all = words.join(", ");
    match example_text(visitor.visit_enum(VariantExample { word: first })) {
        Some(table) => format!("a table with one of the keys {all}, such as {table}"),
        None => format!("one of the words {all}, in quotes"),
    }
}

/// Returns a table with this key and an example for `seed`: `{ poisson = "10ms" }`.
pub(super) fn of_entry<'de, T: DeserializeSeed<'de>>(name: &str, seed: T) -> String {
    format!("{{ {name} = {} }}", of(seed))
}

fn of<'de, T: DeserializeSeed<'de>>(seed: T) -> String {
    example_text(seed.deserialize(ExampleDeserializer)).unwrap_or_else(|| PLACEHOLDER.to_owned())
}

fn example_text<T>(result: Result<T, Fault>) -> Option<String> {
    result.err().map(|fault| fault.message)
}

/// Returns the example in a description: `"10ms"` of `a duration with its unit, such as "10ms" or "1.5s"`.
fn of_description(expecting: &dyn serde::de::Expected) -> String {
    let description = expecting.to_string();
    let example = description.split_once("such as ").map_or(PLACEHOLDER, |(_, example)| example);
    example.split_once(" or ").map_or(example, |(first, _)| first).to_owned()
}

/// Deserializer that returns an error for every type, with an example as message.
struct ExampleDeserializer;

impl<'de> Deserializer<'de> for ExampleDeserializer {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        Err(Fault::new(of_description(&visitor)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        let keys: Vec<String> = keys.iter().map(|key| format!("{key} = {PLACEHOLDER}")).collect();
        Err(Fault::new(format!("{{ {} }}", keys.join(", "))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        Err(Fault::new(format!("\"{}\"", words.first().copied().unwrap_or(PLACEHOLDER))))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for ExampleDeserializer {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        Err(Fault::new(format!("[{}]", of(seed))))
    }
}

/// Deserializer of the variant `word`: succeeds for a unit variant, and returns an example as error for any other.
struct VariantExample {
    word: &'static str,
}

impl<'de> EnumAccess<'de> for VariantExample {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        let word: StrDeserializer<'_, Fault> = self.word.into_deserializer();
        Ok((seed.deserialize(word)?, self))
    }
}

impl<'de> VariantAccess<'de> for VariantExample {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        Err(Fault::new(of_entry(self.word, seed)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.newtype_variant_seed(WholeValue(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.newtype_variant_seed(WholeValue(visitor))
    }
}

/// Content of a variant as one value.
pub(super) struct WholeValue<V>(pub(super) V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for WholeValue<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}
