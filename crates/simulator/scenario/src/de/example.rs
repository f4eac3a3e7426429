//! What a value that is read would look like, for messages: the type is asked what it expects, and what it answers is written as an author would.

use super::Fault;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess, Visitor};

/// What stands in an example where an author knows better.
const ANY: &str = "..";

/// What is right for a key that takes one of `words`: one of them by itself, or a table of which it is the key.
pub(super) fn of_choice<'de, V: Visitor<'de>>(words: &'static [&'static str], visitor: V) -> String {
    let first = words.first().copied().unwrap_or(ANY);
    let all = words.join(", ");
    match told(visitor.visit_enum(AskingOf { word: first })) {
        Some(table) => format!("a table with one of the keys {all}, such as {table}"),
        None => format!("one of the words {all}, in quotes"),
    }
}

/// The table with this key and what `seed` reads: `{ poisson = "10ms" }`.
pub(super) fn of_entry<'de, T: DeserializeSeed<'de>>(name: &str, seed: T) -> String {
    format!("{{ {name} = {} }}", of(seed))
}

fn of<'de, T: DeserializeSeed<'de>>(seed: T) -> String {
    told(seed.deserialize(Asking)).unwrap_or_else(|| ANY.to_owned())
}

fn told<T>(answer: Result<T, Fault>) -> Option<String> {
    answer.err().map(|fault| fault.message)
}

/// The example that a description ends with: `"10ms"` of `a duration with its unit, such as "10ms" or "1.5s"`.
fn of_description(expecting: &dyn serde::de::Expected) -> String {
    let description = expecting.to_string();
    let example = description.split_once("such as ").map_or(ANY, |(_, example)| example);
    example.split_once(" or ").map_or(example, |(first, _)| first).to_owned()
}

/// Reads nothing: every question for a type is answered by an error, whose message is the example.
struct Asking;

impl<'de> Deserializer<'de> for Asking {
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
        let keys: Vec<String> = keys.iter().map(|key| format!("{key} = {ANY}")).collect();
        Err(Fault::new(format!("{{ {} }}", keys.join(", "))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        Err(Fault::new(format!("\"{}\"", words.first().copied().unwrap_or(ANY))))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Asking {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        Err(Fault::new(format!("[{}]", of(seed))))
    }
}

/// Asks what stands behind a word: nothing, or what the error shows.
struct AskingOf {
    word: &'static str,
}

impl<'de> EnumAccess<'de> for AskingOf {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        let word: StrDeserializer<'_, Fault> = self.word.into_deserializer();
        Ok((seed.deserialize(word)?, self))
    }
}

impl<'de> VariantAccess<'de> for AskingOf {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        Err(Fault::new(of_entry(self.word, seed)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.newtype_variant_seed(Whole(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.newtype_variant_seed(Whole(visitor))
    }
}

/// All that stands behind a word, as one value.
pub(super) struct Whole<V>(pub(super) V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Whole<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}
