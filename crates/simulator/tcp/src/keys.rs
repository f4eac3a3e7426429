//! Declaration, parsing, serialization and schema of options, in the table of a transport and its subtable `expert`.

use headway_units::Dialect;
use schemars::{Schema, SchemaGenerator};
use serde::de::value::{Error as NoValue, UnitDeserializer};
use serde::de::{Deserialize, MapAccess};
use serde_json::{Map, Value};

/// Table that contains a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// Table of the transport.
    Usual,
    /// Subtable `expert` of the transport, for keys that normally only presets set.
    Expert,
}

pub(crate) const EXPERT: &str = "expert";

/// The entries of each [`Table`].
pub(crate) type Tables = [Map<String, Value>; 2];

/// Names of the option groups of a kind.
pub(crate) type Parts = &'static [&'static str];

/// Option group whose fields are keys of a transport, with nested groups `parts`.
pub(crate) trait Keys {
    /// Returns the values of a dialect. Groups that the kind lacks have the values of the RFCs.
    fn preset(dialect: Dialect, parts: Parts) -> Self;

    /// Sets all optional values to absent.
    fn clear(&mut self);

    /// Reads the value of `key` if it belongs to this group. Returns whether it does.
    fn read<'de, A: MapAccess<'de>>(&mut self, parts: Parts, at: (Table, &str), map: &mut A) -> Result<bool, A::Error>;

    /// Writes the keys and values. Absent options are omitted.
    fn write(&self, parts: Parts, tables: &mut Tables) -> Result<(), serde_json::Error>;

    /// Writes the keys and their schemas.
    fn describe(&self, parts: Parts, generator: &mut SchemaGenerator, tables: &mut Tables);
}

pub(crate) fn clear<T: for<'de> Deserialize<'de>>(option: &mut T) {
    if let Ok(absent) = T::deserialize(UnitDeserializer::<NoValue>::new()) {
        *option = absent;
    }
}

pub(crate) fn described(mut schema: Schema, description: &str) -> Value {
    schema.insert("description".into(), description.trim().into());
    schema.to_value()
}

/// Declares an option group. Each line has a table, key, type and value of the RFCs, followed by values of other
/// dialects. Nested groups follow `with`.
macro_rules! options {
    (
        $(#[$meta:meta])*
        $Name:ident { $(
            $(#[doc = $text:literal])+
            $table:ident $key:ident: $Type:ty = $value:expr $(, $dialect:ident: $other:expr)*;
        )* }
        $( with { $( $(#[$part_meta:meta])+ $part:ident: $Part:ty; )+ } )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Name {
            $( $(#[doc = $text])+ pub $key: $Type, )*
            $( $( $(#[$part_meta])+ pub $part: $Part, )+ )?
        }

        #[allow(
            unused_variables, unreachable_code, clippy::match_single_binding,
            reason = "not every struct has keys and parts, nor every key dialects"
        )]
        impl $crate::keys::Keys for $Name {
            fn preset(dialect: headway_units::Dialect, parts: $crate::keys::Parts) -> Self {
                $( $( let $part = if parts.contains(&stringify!($part)) { dialect } else { headway_units::Dialect::Rfc }; )+ )?
                Self {
                    $( $key: match dialect { $( headway_units::Dialect::$dialect => $other, )* _ => $value }, )*
                    $( $( $part: <$Part>::preset($part, parts), )+ )?
                }
            }
            fn clear(&mut self) {
                $( $crate::keys::clear(&mut self.$key); )*
                $( $( self.$part.clear(); )+ )?
            }
            fn read<'de, A: serde::de::MapAccess<'de>>(
                &mut self, parts: $crate::keys::Parts, at: ($crate::keys::Table, &str), map: &mut A,
            ) -> Result<bool, A::Error> {
                match at {
                    $( ($crate::keys::Table::$table, stringify!($key)) => self.$key = map.next_value()?, )*
                    _ => return Ok(false $( $( || parts.contains(&stringify!($part)) && self.$part.read(parts, at, map)? )+ )?),
                }
                Ok(true)
            }
            fn write(&self, parts: $crate::keys::Parts, tables: &mut $crate::keys::Tables) -> Result<(), serde_json::Error> {
                $( tables[$crate::keys::Table::$table as usize]
                    .insert(stringify!($key).into(), serde_json::to_value(&self.$key)?); )*
                tables.iter_mut().for_each(|table| table.retain(|_, value| !value.is_null()));
                $( $( if parts.contains(&stringify!($part)) { self.$part.write(parts, tables)?; } )+ )?
                Ok(())
            }
            fn describe(
                &self, parts: $crate::keys::Parts, generator: &mut schemars::SchemaGenerator, tables: &mut $crate::keys::Tables,
            ) {
                $( tables[$crate::keys::Table::$table as usize].insert(
                    stringify!($key).into(),
                    $crate::keys::described(generator.subschema_for::<$Type>(), concat!($($text),+)),
                ); )*
                $( $( if parts.contains(&stringify!($part)) { self.$part.describe(parts, generator, tables); } )+ )?
            }
        }
    };
}
pub(crate) use options;
