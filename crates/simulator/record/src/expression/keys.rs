//! The keys of a record.

use crate::{AttackerSummary, FlowSummary, HostSummary, LinkSummary, Summary};
use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the keys of the elements of a list or, without a list, of the summary.
pub(super) fn keys_of(list: Option<&str>) -> &'static [&'static str] {
    match list {
        None => fields::<Summary>(),
        Some("flow") => fields::<FlowSummary>(),
        Some("link") => fields::<LinkSummary>(),
        Some("host") => fields::<HostSummary>(),
        Some("attacker") => fields::<AttackerSummary>(),
        Some(_) => &[],
    }
}

/// Returns the names of a struct's fields.
fn fields<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Fields(&mut fields));
    fields
}

/// Deserializer that stores the field names of a struct and returns an error.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only the field names are read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_book_has_the_keys_of_the_summary() {
        let page = include_str!("../../../../../docs/src/records.md");
        for (title, list) in [
            ("Overall", None),
            ("A flow", Some("flow")),
            ("A direction of a link", Some("link")),
            ("A host", Some("host")),
            ("An attacker", Some("attacker")),
        ] {
            let (_, section) = page.split_once(&format!("\n### {title}\n")).unwrap();
            let rows = section.split("\n#").next().unwrap().lines().filter(|line| line.starts_with("| `"));
            let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
            let keys: BTreeSet<_> = names.map(|name| name.split('.').next().unwrap()).collect();
            assert_eq!(keys, keys_of(list).iter().copied().collect(), "{title}");
        }
    }
}
