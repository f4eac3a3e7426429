//! The text of a scenario as a tree of values, each with its origin for error messages.

use crate::path::{Path, Step};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Origin of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Origin {
    /// Byte range in the scenario's text.
    Text(Range<usize>),
    /// Override of this key.
    Set(Arc<str>),
    /// Key of a `--vary` and its position among all, from 0.
    Vary(Arc<str>, usize),
    /// Command-line option that sets a key, such as `--rate`.
    Option(Arc<str>),
    /// A preset or a default.
    #[default]
    Preset,
}

/// Value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) origin: Origin,
    pub(crate) data: Data,
}

/// Value of a TOML type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(String),
    /// Signed 64-bit integer of TOML, or unsigned 64-bit integer of a preset.
    Integer(i128),
    Float(f64),
    Boolean(bool),
    /// Kept for an error message: no key of a scenario takes a date.
    Datetime(String),
    /// Number as written that is not finite or does not fit into 64 bits; kept for an error message.
    Unrepresentable(String),
    Array(Vec<Value>),
    Table(Table),
}

/// Entries by key, in alphabetical order.
pub(crate) type Table = BTreeMap<String, Entry>;

/// Origin of a key, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Origin,
    pub(crate) value: Value,
}

impl Entry {
    /// Returns whether an override set the value. In a text, a key and its value have different byte ranges.
    pub(crate) fn is_overridden(&self) -> bool {
        self.key == self.value.origin && self.key != Origin::Preset
    }
}

/// Maximum length of a text, in bytes.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// Maximum number of values. A value of two bytes of text can take a hundred times as much memory.
pub(crate) const MAX_VALUES: usize = 1_000_000;
/// Maximum nesting depth of tables and arrays; a scenario needs five.
const MAX_DEPTH: usize = 16;

/// Reason why a text cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("the scenario has {0} bytes: at most {MAX_BYTES} are read")]
    Bytes(usize),
    #[error("the scenario has about {0} values: at most {MAX_VALUES} are read; write replicas with count")]
    Values(usize),
    #[error("tables and arrays are nested more than {MAX_DEPTH} deep; a scenario needs five")]
    Depth,
    /// Error of the parser; its message has one or more lines.
    #[error("this is not TOML: {}", .0.message().trim().replace('\n', ", "))]
    Toml(toml::de::Error),
    #[error(transparent)]
    NotWritten(#[from] toml::ser::Error),
}

/// Error with its origin.
pub(crate) struct Unreadable {
    pub(crate) origin: Origin,
    pub(crate) error: DocumentError,
}

/// Parses a TOML document.
pub(crate) fn parse(text: &str) -> Result<Value, Unreadable> {
    check_size(text).map_err(|error| Unreadable { origin: Origin::Preset, error })?;
    let table = toml::de::DeTable::parse(text).map_err(|error| {
        // An error without a span is at the end of the text.
        let span = error.span().unwrap_or(text.len()..text.len());
        Unreadable { origin: Origin::Text(span), error: DocumentError::Toml(error) }
    })?;
    let span = table.span();
    Ok(Value { data: Data::Table(convert_table(table.into_inner(), 0)?), origin: Origin::Text(span) })
}

/// Checks the length of a text and estimates its number of values.
pub(crate) fn check_size(text: &str) -> Result<(), DocumentError> {
    if text.len() > MAX_BYTES {
        return Err(DocumentError::Bytes(text.len()));
    }
    let values = text.bytes().filter(|byte| matches!(byte, b',' | b'=' | b'[' | b'{')).count();
    if values > MAX_VALUES { Err(DocumentError::Values(values)) } else { Ok(()) }
}

/// Parses one value of an override: as TOML, or else as a table or an array of unquoted strings such as `{kind=codel}`,
/// or else as a string.
pub(crate) fn parse_value(text: &str, origin: &Origin) -> Result<Value, DocumentError> {
    check_size(text)?;
    let data = match toml::de::DeValue::parse(text) {
        Ok(value) => convert(value.into_inner(), &(0..0), 0).map_err(|wrong| wrong.error)?,
        Err(_) => unquoted(text, origin, 0).unwrap_or_else(|| Data::Text(text.to_owned())),
    };
    let mut value = Value { data, origin: origin.clone() };
    value.set_origin(origin);
    Ok(value)
}

/// Parses an inline table or an array with unquoted strings. A shell removes quotes, and tables in labels have none.
fn unquoted(text: &str, origin: &Origin, depth: usize) -> Option<Data> {
    let within = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    let value = |text: &str| -> Option<Value> {
        let text = text.trim();
        check_depth(depth).ok().filter(|()| !text.is_empty())?;
        let data = match toml::de::DeValue::parse(text) {
            Ok(value) => convert(value.into_inner(), &(0..0), depth + 1).ok()?,
            Err(_) => unquoted(text, origin, depth + 1).unwrap_or_else(|| Data::Text(text.to_owned())),
        };
        Some(Value { data, origin: origin.clone() })
    };
    if let Some(values) = within('[', ']') {
        return split(values).into_iter().map(value).collect::<Option<_>>().map(Data::Array);
    }
    let mut table = Table::new();
    for pair in split(within('{', '}')?) {
        let (key, text) = pair.split_once('=')?;
        let key = key.trim().trim_matches('"');
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let entry = Entry { key: origin.clone(), value: value(text)? };
        if !is_key || table.insert(key.to_owned(), entry).is_some() {
            return None;
        }
    }
    Some(Data::Table(table))
}

/// Splits a text at the commas outside of quotes, brackets and braces.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quote) = (Vec::new(), 0, 0u32, None);
    for (place, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Converts a preset from JSON, which is exact; null is an absent key.
pub(crate) fn preset(value: serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    let data = match value {
        Json::Null => return None,
        Json::Bool(value) => Data::Boolean(value),
        Json::String(text) => Data::Text(text),
        Json::Number(number) => match (number.as_i128(), number.as_f64()) {
            (Some(integer), _) => Data::Integer(integer),
            (None, Some(float)) => Data::Float(float),
            (None, None) => return None,
        },
        Json::Array(values) => Data::Array(values.into_iter().filter_map(preset).collect()),
        Json::Object(values) => Data::Table(
            values
                .into_iter()
                .filter_map(|(key, value)| Some((key, Entry { key: Origin::Preset, value: preset(value)? })))
                .collect(),
        ),
    };
    Some(Value { origin: Origin::Preset, data })
}

/// Merges the keys of `written` into `base`, recursively for tables.
pub(crate) fn merge(base: &mut Table, written: &Table) {
    for (key, entry) in written {
        match (base.get_mut(key), &entry.value.data) {
            (Some(Entry { key: origin, value: Value { data: Data::Table(below), .. } }), Data::Table(above)) => {
                // The table is written, although some of its keys are of the preset.
                *origin = entry.key.clone();
                merge(below, above);
            }
            _ => {
                base.insert(key.clone(), entry.clone());
            }
        }
    }
}

fn convert(value: toml::de::DeValue<'_>, span: &Range<usize>, depth: usize) -> Result<Data, Unreadable> {
    use toml::de::DeValue;
    let wrong = |error| Unreadable { origin: Origin::Text(span.clone()), error };
    Ok(match value {
        DeValue::String(text) => Data::Text(text.into_owned()),
        DeValue::Boolean(value) => Data::Boolean(value),
        DeValue::Datetime(value) => Data::Datetime(value.to_string()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(value) => Data::Integer(value.into()),
            Err(_) => Data::Unrepresentable(integer.as_str().to_owned()),
        },
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(value) if value.is_finite() => Data::Float(value),
            _ => Data::Unrepresentable(float.as_str().to_owned()),
        },
        DeValue::Array(values) => {
            check_depth(depth).map_err(wrong)?;
            let values = values.into_iter().map(|value| {
                let span = value.span();
                Ok(Value { data: convert(value.into_inner(), &span, depth + 1)?, origin: Origin::Text(span) })
            });
            Data::Array(values.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            check_depth(depth).map_err(wrong)?;
            Data::Table(convert_table(table, depth + 1)?)
        }
    })
}

fn convert_table(table: toml::de::DeTable<'_>, depth: usize) -> Result<Table, Unreadable> {
    let entries = table.into_iter().map(|(key, value)| {
        let span = value.span();
        let data = convert(value.into_inner(), &span, depth)?;
        let entry = Entry { key: Origin::Text(key.span()), value: Value { data, origin: Origin::Text(span) } };
        Ok((key.into_inner().into_owned(), entry))
    });
    entries.collect()
}

fn check_depth(depth: usize) -> Result<(), DocumentError> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(DocumentError::Depth) }
}

impl Value {
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn array(&self) -> Option<&[Self]> {
        match &self.data {
            Data::Array(values) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the origin of the value at `path`, or of its nearest existing parent.
    pub(crate) fn locate(&self, path: &Path) -> Origin {
        let (_, key, value) = self.walk(path);
        // A table is located by its key, any other value by itself.
        if value.table().is_some() { key } else { value.origin.clone() }
    }

    /// Returns the origin of the last key of `path`, or of its nearest existing parent.
    pub(crate) fn locate_key(&self, path: &Path) -> Origin {
        let (complete, key, _) = self.walk(path);
        if complete { key } else { self.locate(path) }
    }

    pub(crate) fn has(&self, path: &Path) -> bool {
        self.walk(path).0
    }

    /// Follows `path` as far as values exist. Returns whether its end was reached, the origin of the last key, and the
    /// last value.
    fn walk(&self, path: &Path) -> (bool, Origin, &Self) {
        let mut at = self;
        let mut key = Origin::Preset;
        for step in &path.0 {
            (key, at) = match (step, &at.data) {
                (Step::Key(name), Data::Table(table)) => match table.get(name) {
                    Some(entry) => (entry.key.clone(), &entry.value),
                    None => return (false, key, at),
                },
                (Step::Element(element), Data::Array(values)) => {
                    match element.parse().ok().and_then(|index: usize| values.get(index)) {
                        Some(value) => (value.origin.clone(), value),
                        None => return (false, key, at),
                    }
                }
                _ => return (false, key, at),
            };
        }
        (true, key, at)
    }

    /// Returns whether both values are equal, regardless of their origin.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        match (&self.data, &other.data) {
            (Data::Array(these), Data::Array(those)) => {
                these.len() == those.len() && these.iter().zip(those).all(|(this, that)| this.is_alike(that))
            }
            (Data::Table(these), Data::Table(those)) => {
                let alike = |((key, this), (name, that)): ((&String, &Entry), (&String, &Entry))| {
                    key == name && this.value.is_alike(&that.value)
                };
                these.len() == those.len() && these.iter().zip(those).all(alike)
            }
            (these, those) => these == those,
        }
    }

    /// Returns the number of values in this value; a long string counts as several, by its memory.
    pub(crate) fn size(&self) -> usize {
        const BYTES_A_VALUE: usize = 64;
        match &self.data {
            Data::Text(text) | Data::Datetime(text) | Data::Unrepresentable(text) => 1 + text.len() / BYTES_A_VALUE,
            Data::Array(values) => 1 + values.iter().map(Self::size).sum::<usize>(),
            Data::Table(table) => 1 + table.values().map(|entry| entry.value.size()).sum::<usize>(),
            Data::Integer(_) | Data::Float(_) | Data::Boolean(_) => 1,
        }
    }

    /// Sets the origin of this value and of all values in it.
    pub(crate) fn set_origin(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.data {
            Data::Array(values) => values.iter_mut().for_each(|value| value.set_origin(origin)),
            Data::Table(table) => table.values_mut().for_each(|entry| {
                entry.key = origin.clone();
                entry.value.set_origin(origin);
            }),
            _ => {}
        }
    }
}
