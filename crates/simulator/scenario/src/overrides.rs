//! `--set KEY=VALUE`: sets one key of a scenario, or all keys that a path with `*` matches.

use crate::document::{self, Data, DocumentError, Entry, Origin, Value, parse_value};
use crate::limits::MAX_REPLICAS;
use crate::path::{Path, PathError, Step};
use crate::problem::{Place, Problems, ScenarioError};
use crate::quantity::meaning;
use crate::suggest::{hint, quoted};
use std::str::FromStr;
use std::sync::Arc;

/// Key with a value that replaces that of the file. Text: `link[0].rate=4Mbps`, `seed=7`,
/// `flow[ftp].start=["0s", "1s"]`, `link[*].delay=5ms`. A value that is not TOML is a string, so that quotes are rarely
/// needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Shared, like the value, by the runs of a plan.
    pub(crate) path: Arc<Path>,
    pub(crate) value: Arc<Value>,
}

/// Reason why an override cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OverrideError {
    #[error("a value is missing: write KEY=VALUE, such as link[0].rate=4Mbps")]
    NoValue,
    #[error("values are missing: write KEY=VALUE,VALUE, such as link[0].rate=1Mbps,2Mbps")]
    NoValues,
    #[error(
        "\"{}\" is not a range: write FROM..TO with whole numbers, such as 1..10, FROM..TO/COUNT, such as 10ms..100ms/10 \
         (10 values), or FROM..TO/COUNT/log; a step needs a table, such as {{from=1,to=9,step=2}}",
        quoted(.0)
    )]
    Range(String),
    #[error("\"{}\" is a range among other values: write the range alone, or list its values", quoted(.0))]
    RangeInList(String),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Value(#[from] DocumentError),
    #[error("this sets {0} values, above the limit of a scenario: set fewer")]
    TooManyValues(usize),
    #[error("it matches more than {MAX_REPLICAS} keys")]
    TooManyKeys,
    #[error("there is no element {0}")]
    NoElement(String),
    #[error("{0} is neither a table nor an array")]
    Plain(Path),
    #[error("there is no [[{0}]]: an override cannot create one")]
    NoArray(Path),
    /// Array of tables, with the key written with the index and with the name of its first table.
    #[error("there may be several [[{array}]]: write {}", written.join(", or by its name "))]
    NoIndex { array: Path, written: Vec<String> },
    #[error("there is no {array}[{index}]: they are {array}[0] to {array}[{}]", count.saturating_sub(1))]
    Index { array: Path, index: usize, count: usize },
    #[error("there is no {array} {} \"{}\"{}", article(name), quoted(name), hint_of(array, name, known))]
    Unknown { array: Path, name: String, known: Vec<String> },
}

fn article(name: &str) -> &'static str {
    if name.contains('*') { "with a name like" } else { "called" }
}

fn hint_of(array: &Path, name: &str, known: &[String]) -> String {
    let reverse = name.split_once("->").map(|(from, to)| format!("{to}->{from}"));
    match reverse.filter(|reverse| known.contains(reverse)) {
        Some(written) => {
            let written = quoted(&written);
            format!("; it is the reverse path of \"{written}\": write {array}[{written}]")
        }
        None => hint(name, known.iter().map(String::as_str)),
    }
}

impl FromStr for Override {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let key = key_of(text);
        Self::read(text, Place::Set(quoted(key)), &Origin::Set(Arc::from(key)))
    }
}

fn key_of(text: &str) -> &str {
    text.split_once('=').map_or(text, |(key, _)| key).trim()
}

impl Override {
    /// Parses the override `text` (`KEY=VALUE`) that implements the command-line option `option`, such as `--rate`.
    /// Errors name the option.
    ///
    /// # Errors
    /// The text is not `KEY=VALUE`.
    pub fn of_option(option: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::read(text, Place::Option(option.to_owned()), &Origin::Option(Arc::from(option)))
    }

    /// Returns whether the value of the override equals the value written as `text`; `1Mbps` and `1000kbps` are equal.
    #[must_use]
    pub fn has_value(&self, text: &str) -> bool {
        let written = parse_value(text.trim(), &Origin::Preset);
        written.is_ok_and(|written| meaning(&written) == meaning(&self.value))
    }

    fn read(text: &str, place: Place, origin: &Origin) -> Result<Self, ScenarioError> {
        let read = || -> Result<Self, OverrideError> {
            let (_, value) = text.split_once('=').ok_or(OverrideError::NoValue)?;
            let path = Path::parse(key_of(text))?.into();
            Ok(Self { path, value: parse_value(value.trim(), origin)?.into() })
        };
        read().map_err(|error| ScenarioError::new("", place, error))
    }

    /// Sets all values that the path matches. Returns the number of values written, at most `limit`.
    pub(crate) fn apply(&self, root: &mut Value, limit: usize) -> Result<usize, OverrideError> {
        let places = resolve(root, &self.path)?;
        let values = places.len().saturating_mul(self.value.size());
        if values > limit {
            return Err(OverrideError::TooManyValues(values));
        }
        places.iter().try_for_each(|place| self.write(root, place))?;
        Ok(values)
    }

    fn write(&self, root: &mut Value, place: &Path) -> Result<(), OverrideError> {
        let mut at = root;
        let last = place.0.len().saturating_sub(1);
        for (depth, step) in place.0.iter().enumerate() {
            at = match (step, &mut at.data) {
                (Step::Key(key), Data::Table(table)) => {
                    let missing = || {
                        let origin = self.value.origin.clone();
                        Entry { key: origin.clone(), value: missing_table(&place.0[..=depth], origin) }
                    };
                    let entry = table.entry(key.clone()).or_insert_with(missing);
                    // Marks the entry as overridden ([`Entry::is_overridden`]). The keys under [vary] keep their order
                    // in the text.
                    if depth == last && place.0[0] != Step::Key("vary".to_owned()) {
                        entry.key = self.value.origin.clone();
                    }
                    &mut entry.value
                }
                (Step::Element(element), Data::Array(values)) => {
                    let found = element.parse().ok().and_then(|index: usize| values.get_mut(index));
                    found.ok_or_else(|| OverrideError::NoElement(element.clone()))?
                }
                _ => return Err(OverrideError::Plain(Path(place.0[..depth].to_vec()))),
            };
        }
        *at = Value::clone(&self.value);
        Ok(())
    }
}

/// Creates a table that the file lacks and an override sets a key of. The queue of a link is the default queue.
fn missing_table(path: &[Step], origin: Origin) -> Value {
    let mut table = document::Table::new();
    if let [Step::Key(links), Step::Element(_), Step::Key(queue)] = path
        && (links.as_str(), queue.as_str()) == ("link", "queue")
    {
        let kind = Value { origin: origin.clone(), data: Data::Text(crate::link::DEFAULT_QUEUE.to_owned()) };
        table.insert("kind".to_owned(), Entry { key: origin.clone(), value: kind });
    }
    Value { origin, data: Data::Table(table) }
}

/// Returns the paths that `path` matches, with indices instead of names, so that equal paths denote equal keys. At
/// least one; several if `path` contains `*`.
pub(crate) fn resolve(root: &Value, path: &Path) -> Result<Vec<Path>, OverrideError> {
    let mut matches = vec![(Path::default(), Some(root))];
    for (depth, step) in path.0.iter().enumerate() {
        let mut next = Vec::with_capacity(matches.len());
        for (place, at) in matches {
            match (step, at.map(|value| &value.data)) {
                (Step::Element(element), Some(Data::Array(values))) => {
                    let indices = elements(&place, values, element)?;
                    next.extend(indices.into_iter().map(|index| (place.index(index), values.get(index))));
                }
                (Step::Element(_), _) => return Err(OverrideError::NoArray(place)),
                (Step::Key(_), Some(Data::Array(values))) if values.iter().all(|value| value.table().is_some()) => {
                    let name = values.first().and_then(|value| names(value).next()).map(|name| quoted(&name));
                    let with = |element| place.and(Step::Element(element)).join(&path.0[depth..]).to_string();
                    let written = ["0".to_owned()].into_iter().chain(name).map(with).collect();
                    return Err(OverrideError::NoIndex { array: place, written });
                }
                (Step::Key(key), _) => {
                    let below = at.and_then(Value::table).and_then(|table| table.get(key)).map(|entry| &entry.value);
                    next.push((place.key(key), below));
                }
            }
            if next.len() as u64 > MAX_REPLICAS {
                return Err(OverrideError::TooManyKeys);
            }
        }
        matches = next;
    }
    Ok(matches.into_iter().map(|(place, _)| place).collect())
}

/// Returns the indices of the elements that `element` matches, at least one.
fn elements(array: &Path, values: &[Value], element: &str) -> Result<Vec<usize>, OverrideError> {
    if let Ok(index) = element.parse::<usize>() {
        let (array, count) = (array.clone(), values.len());
        return if index < count { Ok(vec![index]) } else { Err(OverrideError::Index { array, index, count }) };
    }
    let named = || values.iter().enumerate().flat_map(|(index, value)| names(value).map(move |name| (index, name)));
    let mut found: Vec<usize> = if element.bytes().all(|byte| byte == b'*') {
        (0..values.len()).collect()
    } else if element.contains('*') {
        named().filter(|(_, name)| is_like(name, element)).map(|(index, _)| index).collect()
    } else {
        named().find(|(_, name)| name == element).map(|(index, _)| index).into_iter().collect()
    };
    // A link has two names that may both match.
    found.dedup();
    if found.is_empty() {
        let known = named().map(|(_, name)| name).collect();
        return Err(OverrideError::Unknown { array: array.clone(), name: element.to_owned(), known });
    }
    Ok(found)
}

/// Returns whether `name` matches `pattern`, in which `*` matches any characters.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns the names of a table: its `name`, and for a link also its two ends, as in the record.
fn names(value: &Value) -> impl Iterator<Item = String> {
    let entry = |key| Some(&value.table()?.get(key)?.value);
    let name = entry("name").and_then(Value::text).map(str::to_owned);
    let ends = match entry("between").and_then(Value::array) {
        Some([a, b]) => a.text().zip(b.text()).map(|(a, b)| format!("{a}->{b}")),
        _ => None,
    };
    name.into_iter().chain(ends)
}

/// Parses the text and applies the overrides. Returns `None` after an error, which is added to `problems`.
pub(crate) fn document(text: &str, overrides: &[Override], problems: &mut Problems) -> Option<Value> {
    let mut root = document::parse(text).map_err(|wrong| problems.at(wrong.origin, "", wrong.error)).ok()?;
    let mut remaining = document::MAX_VALUES;
    for set in overrides {
        match set.apply(&mut root, remaining) {
            Ok(written) => remaining -= written,
            Err(error) => problems.at(set.value.origin.clone(), &set.path.to_string(), error),
        }
    }
    problems.is_empty().then_some(root)
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_star_matches_any_characters_and_none() {
        for (name, pattern, is) in [
            ("tcp1", "tcp*", true),
            ("tcp", "tcp*", true),
            ("udp", "tcp*", false),
            ("a->b", "*->b", true),
            ("a->bb", "*->b", false),
            ("abcbd", "a*b*d", true),
            ("aba", "ab*ba", false),
            ("abcb", "a*c*c*", false),
            ("tcp", "tcp", true),
            ("tcp1", "tcp", false),
            ("éa", "é*", true),
        ] {
            assert_eq!(is_like(name, pattern), is, "{name} {pattern}");
        }
    }
}
