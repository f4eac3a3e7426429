//! How a scenario names an algorithm: `kind`, its options, their presets.
//!
//! Each algorithm's options stand in its own file as a struct with [`Options`]. A [`registry!`](crate::registry) line
//! a kind makes the enum over them, with their schema, and the enum that dispatches to the running algorithms.

use crate::Dialect;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The options of one algorithm: plain data with its ranges.
pub trait Options: Sized {
    /// The values under a dialect. A scenario's own keys are laid over these.
    fn preset(dialect: Dialect) -> Self;

    /// Ranges that the types do not already keep.
    ///
    /// # Errors
    /// Names the key, what is wrong with it and what would be right.
    fn check(&self) -> Result<(), OptionError> {
        Ok(())
    }

    /// Returns the keys that have no effect with the values of the others, whatever their own values are.
    ///
    /// A scenario that writes one of them with another value than the preset's is refused, and so is a command that writes one.
    fn unused(&self) -> Vec<OptionError> {
        Vec::new()
    }
}

/// Describes `key`, which has an effect only where `condition` holds, such as `shorten = "step"`; `None` where it `holds`.
#[must_use]
pub fn unused_unless(holds: bool, key: &'static str, condition: &str) -> Option<OptionError> {
    (!holds).then(|| {
        let message = format!("this key has no effect without {condition}: write {condition}, or leave {key} out");
        OptionError::new(key, message)
    })
}

/// A value that an algorithm cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// The key, as written in the scenario.
    pub key: &'static str,
    /// The tables within the options that the key stands in, the outermost first; none: among the options themselves.
    pub tables: Vec<&'static str>,
    /// What is wrong and what would be right, as a sentence part.
    pub message: String,
    /// A right value as a scenario has it, where the preset has none: who leaves the key out is told to write it.
    pub example: Option<String>,
}

impl OptionError {
    /// `key` is wrong, because of `message`.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, tables: Vec::new(), message: message.into(), example: None }
    }

    /// The same with a value that is right, which ends the message: `write one` becomes `write one such as 5`.
    #[must_use]
    pub fn such_as(mut self, example: impl Into<String>) -> Self {
        let example = example.into();
        self.message = format!("{} such as {example}", self.message);
        self.example = Some(example);
        self
    }

    /// The same, where the key stands in a table within the options.
    #[must_use]
    pub fn within(mut self, table: &'static str) -> Self {
        self.tables.insert(0, table);
        self
    }
}

/// Checks that the value of `key` is in a range.
///
/// # Errors
/// Names the key, its value and the range.
pub fn check_range<T: PartialOrd + Display>(
    key: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), OptionError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(OptionError::new(key, format!("{value} is out of range: from {} to {}", range.start(), range.end())))
}

/// A set of algorithms of one sort, told apart by the key `kind`. Made by [`registry!`](crate::registry).
pub trait Registry: Sized + Clone {
    /// What these are, for messages: `"queue"`.
    const WHAT: &'static str;
    /// The kinds there are.
    const KINDS: &'static [&'static str];
    /// A word and a key that complete each other: with `("dccp", "ccid")` the kind `dccp-3` is written
    /// `kind = "dccp", ccid = 3`.
    const NUMBERED: Option<(&'static str, &'static str)> = None;

    /// Which kind this is.
    fn kind(&self) -> &'static str;

    /// The options of `kind` under a dialect; `None` if there is no such kind.
    fn preset(kind: &str, dialect: Dialect) -> Option<Self>;

    /// [`Options::check`] of whichever kind this is.
    ///
    /// # Errors
    /// As there.
    fn check(&self) -> Result<(), OptionError>;

    /// [`Options::unused`] of the kind.
    fn unused(&self) -> Vec<OptionError> {
        Vec::new()
    }
}

/// A [`Registry`] whose options are tables of a scenario, with a JSON Schema. Made by the same line, with the feature `schema`.
#[cfg(feature = "schema")]
pub trait SchemaRegistry: Registry + serde::Serialize + schemars::JsonSchema {
    /// Reads the options of `kind` (one of [`Registry::KINDS`]) from a table without the key `kind`.
    ///
    /// # Errors
    /// The deserializer's, or an unknown kind.
    fn deserialize<'de, D: serde::Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error>;
}

/// The JSON Schema of a table with `kind` and one of several option sets.
#[cfg(feature = "schema")]
#[doc(hidden)]
pub fn schema_of_kinds(kinds: Vec<(&'static str, schemars::Schema)>) -> schemars::Schema {
    let one_of: Vec<serde_json::Value> = kinds
        .into_iter()
        .map(|(kind, schema)| {
            let mut schema = schema.to_value();
            if let Some(object) = schema.as_object_mut() {
                // Every option has a preset, so none is required.
                object.insert("required".into(), serde_json::json!(["kind"]));
                let properties = object.entry("properties").or_insert_with(|| serde_json::json!({}));
                if let Some(properties) = properties.as_object_mut() {
                    properties.insert("kind".into(), serde_json::json!({ "const": kind }));
                }
            }
            schema
        })
        .collect();
    schemars::json_schema!({ "oneOf": one_of })
}

/// Declares the algorithms of one sort: `"kind" => Variant(options type, machine type)`, a line each. A last line `; from code "kind" => ..` is one that only
/// code can make: no scenario can name it, and the schema has none.
///
/// Makes the option enum with [`Registry`](crate::Registry), and where the crate that declares them has a feature `schema` that is on, with
/// `SchemaRegistry`, `Serialize` and `JsonSchema`; the machine enum with one variant a kind; and a macro for static dispatch, `each!(value, name => expression)`.
#[macro_export]
macro_rules! registry {
    ($($all:tt)*) => { $crate::__registry!{ ($) $($all)* } };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __registry {
    (
        ($d:tt)
        $(#[$options_meta:meta])* options $Options:ident;
        $(#[$machine_meta:meta])* machine $Machine:ident $(<$G:ident>)?;
        what $what:literal; dispatch $each:ident;
        $( $kind:literal => $Variant:ident($opts:ty, $machine:ty) ),+ $(,)?
        $( ; from code $code_kind:literal => $Code:ident($code_opts:ty, $code_machine:ty) )?
    ) => {
        $(#[$options_meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $Options {
            $( #[doc = concat!("`kind = \"", $kind, "\"`")] $Variant($opts), )+
            $( #[doc = "What no scenario can name."] $Code($code_opts), )?
        }

        $(#[$machine_meta])*
        #[derive(Debug)]
        pub enum $Machine $(<$G>)? {
            $( #[doc = concat!("`kind = \"", $kind, "\"`")] $Variant($machine), )+
            $( #[doc = "What no scenario can name."] $Code($code_machine), )?
        }

        #[allow(unused_macros)]
        macro_rules! $each {
            ($d value:expr, $d name:ident => $d body:expr) => {
                match $d value { $( $Machine::$Variant($d name) => $d body, )+ $( $Machine::$Code($d name) => $d body, )? }
            };
        }

        impl $crate::Registry for $Options {
            const WHAT: &'static str = $what;
            const KINDS: &'static [&'static str] = &[$($kind),+];

            fn kind(&self) -> &'static str {
                match self { $( Self::$Variant(_) => $kind, )+ $( Self::$Code(_) => $code_kind, )? }
            }
            fn preset(kind: &str, dialect: $crate::Dialect) -> Option<Self> {
                match kind {
                    $( $kind => Some(Self::$Variant(<$opts as $crate::Options>::preset(dialect))), )+
                    _ => None,
                }
            }
            fn check(&self) -> Result<(), $crate::OptionError> {
                match self { $( Self::$Variant(options) => $crate::Options::check(options), )+ $( Self::$Code(_) => { let _ = $code_kind; Ok(()) } )? }
            }
            fn unused(&self) -> Vec<$crate::OptionError> {
                match self { $( Self::$Variant(options) => $crate::Options::unused(options), )+ $( Self::$Code(_) => { let _ = $code_kind; Vec::new() } )? }
            }
        }

        #[cfg(feature = "schema")]
        impl $crate::SchemaRegistry for $Options {
            fn deserialize<'de, D: $crate::__private::serde::Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
                match kind {
                    $( $kind => <$opts as $crate::__private::serde::Deserialize>::deserialize(options).map(Self::$Variant), )+
                    _ => Err(<D::Error as $crate::__private::serde::de::Error>::unknown_variant(kind, <Self as $crate::Registry>::KINDS)),
                }
            }
        }

        #[cfg(feature = "schema")]
        impl $crate::__private::serde::Serialize for $Options {
            fn serialize<S: $crate::__private::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive($crate::__private::serde::Serialize)]
                #[serde(crate = "headway_units::__private::serde")]
                struct Tagged<'a, T> {
                    kind: &'static str,
                    #[serde(flatten)]
                    options: &'a T,
                }
                match self {
                    $( Self::$Variant(options) =>
                        $crate::__private::serde::Serialize::serialize(&Tagged { kind: $kind, options }, serializer), )+
                    // What code has made cannot be written down.
                    $( Self::$Code(_) => $crate::__private::serde::Serialize::serialize(
                        &Tagged { kind: $code_kind, options: &::std::collections::BTreeMap::<&str, &str>::new() }, serializer), )?
                }
            }
        }

        #[cfg(feature = "schema")]
        impl $crate::__private::schemars::JsonSchema for $Options {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Options).into()
            }
            fn json_schema(generator: &mut $crate::__private::schemars::SchemaGenerator) -> $crate::__private::schemars::Schema {
                $crate::schema_of_kinds(vec![
                    $( ($kind, <$opts as $crate::__private::schemars::JsonSchema>::json_schema(generator)) ),+
                ])
            }
        }
    };
}
