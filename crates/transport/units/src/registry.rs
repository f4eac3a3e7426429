//! Selection of an algorithm by the key `kind` of a scenario, with its options and their presets.
//!
//! The options of each algorithm are a struct that implements [`Options`], in the file of the algorithm.
//! [`registry!`](crate::registry) generates the enum over these structs, its schema, and the enum that dispatches to
//! the algorithms.

use crate::Dialect;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Options of one algorithm.
pub trait Options: Sized {
    /// Returns the default values of all options under `dialect`. The keys of a scenario override them.
    fn preset(dialect: Dialect) -> Self;

    /// Checks ranges that the types do not enforce.
    ///
    /// # Errors
    /// Returns the first invalid key with its value and the allowed range.
    fn check(&self) -> Result<(), OptionError> {
        Ok(())
    }

    /// Returns an error for each key of these options that has no effect, given the values of the other keys.
    ///
    /// Such an error only applies to a key that the command line sets, or that a scenario sets to another value than
    /// that of the preset.
    fn unused(&self) -> Vec<OptionError> {
        Vec::new()
    }
}

/// Returns an error that `key` has no effect without `condition`, a text such as `shorten = "step"`. `None` if `holds`
/// is true.
#[must_use]
pub fn unused_unless(holds: bool, key: &'static str, condition: &str) -> Option<OptionError> {
    (!holds).then(|| {
        let message = format!("this key has no effect without {condition}: write {condition}, or leave {key} out");
        OptionError::new(key, message)
    })
}

/// Invalid value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// Key as written in the scenario.
    pub key: &'static str,
    /// Tables within the options that contain the key, outermost first; empty if the key is not in a table.
    pub tables: Vec<&'static str>,
    /// Message of what is wrong and what is allowed, without the key.
    pub message: String,
    /// Valid value in the notation of a scenario, for a key without preset. The error for a missing key includes it.
    pub example: Option<String>,
}

impl OptionError {
    /// Creates an error about `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, tables: Vec::new(), message: message.into(), example: None }
    }

    /// Adds a valid value and appends it to the message: `write one` becomes `write one such as 5`.
    #[must_use]
    pub fn with_example(mut self, example: impl Into<String>) -> Self {
        let example = example.into();
        self.message = format!("{} such as {example}", self.message);
        self.example = Some(example);
        self
    }

    /// Adds a table of the scenario that contains the key, outside of the tables added before.
    #[must_use]
    pub fn within(mut self, table: &'static str) -> Self {
        self.tables.insert(0, table);
        self
    }
}

/// Checks that the value of `key` is in a range.
///
/// # Errors
/// Returns the key, its value and the range.
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

/// Options of one of the algorithms of a category, such as queues. The key `kind` of a scenario selects the algorithm.
/// Implemented by [`registry!`](crate::registry).
pub trait Registry: Sized + Clone {
    /// Name of the category for messages, such as `"queue"`.
    const WHAT: &'static str;
    /// Names of all algorithms of the category: the values of the key `kind`.
    const KINDS: &'static [&'static str];
    /// Word and key that together name an algorithm, if any: with `("dccp", "ccid")` the kind `dccp-3` is written `kind
    /// = "dccp", ccid = 3`.
    const NUMBERED: Option<(&'static str, &'static str)> = None;

    /// Returns the name of the algorithm: the value of the key `kind`.
    fn kind(&self) -> &'static str;

    /// Returns the default options of the algorithm called `kind` under `dialect`; `None` if there is no such
    /// algorithm.
    fn preset(kind: &str, dialect: Dialect) -> Option<Self>;

    /// Checks these options with [`Options::check`].
    ///
    /// # Errors
    /// Returns the error of [`Options::check`]: the first invalid key.
    fn check(&self) -> Result<(), OptionError>;

    /// Returns an error for each key without effect, as [`Options::unused`] does.
    fn unused(&self) -> Vec<OptionError> {
        Vec::new()
    }
}

/// [`Registry`] whose options are tables of a scenario, with a JSON Schema. Requires the feature `schema`.
#[cfg(feature = "schema")]
pub trait SchemaRegistry: Registry + serde::Serialize + schemars::JsonSchema {
    /// Deserializes the options of `kind` (one of [`Registry::KINDS`]) from a table without the key `kind`.
    ///
    /// # Errors
    /// Returns an error for an unknown kind, or that of the deserializer.
    fn deserialize<'de, D: serde::Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error>;
}

/// Returns the JSON Schema of a table with the key `kind` and the options of that kind. `kinds`: each kind with the
/// schema of its options.
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

/// Declares the algorithms of one category, one per line: `"kind" => Variant(options type, machine type)`. The machine
/// is the state of a running algorithm. A last line `; from code "kind" => ..` declares one that only code can create:
/// no scenario can name it, and the schema omits it.
///
/// Generates the option enum with [`Registry`](crate::Registry) and, if the declaring crate has the feature `schema`
/// on, `SchemaRegistry`, `Serialize` and `JsonSchema`; the machine enum with one variant per kind; and a macro for
/// static dispatch, `each!(value, name => expression)`.
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
            $( #[doc = concat!("Options of the algorithm that `kind = \"", $kind, "\"` selects.")] $Variant($opts), )+
            $( #[doc = "Options of an algorithm that only code can select, no scenario."] $Code($code_opts), )?
        }

        $(#[$machine_meta])*
        #[derive(Debug)]
        pub enum $Machine $(<$G>)? {
            $( #[doc = concat!("State of the algorithm that `kind = \"", $kind, "\"` selects.")] $Variant($machine), )+
            $( #[doc = "State of an algorithm that only code can select, no scenario."] $Code($code_machine), )?
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
                    // Options created by code have no serialized form.
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
