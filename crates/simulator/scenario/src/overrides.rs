//! `--set KEY=VALUE`: a scenario with one key changed, or with `*` in it all keys that it stands for.

use crate::document::{self, Data, Entry, Origin, Value, parse_value};
use crate::limits::MOST_REPLICAS;
use crate::path::{Path, Step};
use crate::problem::{Place, Problems, ScenarioError};
use crate::quantity::meaning;
use crate::suggest::{hint, quoted};
use std::str::FromStr;
use std::sync::Arc;

/// A key and the value that it shall have, whatever the file says. Text: `link[0].rate=4Mbps`, `seed=7`,
/// `flow[ftp].start=["0s", "1s"]`, `link[*].delay=5ms`. A value that is not TOML is taken as text, so that quotes are rarely needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Shared, as the value is: a plan holds it once for each of its runs.
    pub(crate) path: Arc<Path>,
    pub(crate) value: Arc<Value>,
}

impl FromStr for Override {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let key = key_of(text);
        Self::read(text, Place::Set(quoted(key)), Origin::Set(Arc::from(key)))
    }
}

fn key_of(text: &str) -> &str {
    text.split_once('=').map_or(text, |(key, _)| key).trim()
}

impl Override {
    /// Reads the override `text` that stands for an option of a program, such as `--rate`. Its errors name the option.
    ///
    /// # Errors
    /// The text is not `KEY=VALUE`.
    pub fn of_option(option: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::read(text, Place::Option(option.to_owned()), Origin::Option(Arc::from(option)))
    }

    /// Whether its value means the same as the one that `text` is on the command line, such as `1Mbps` for `1000kbps`.
    #[must_use]
    pub fn has_value(&self, text: &str) -> bool {
        let written = parse_value(text.trim(), &Origin::Preset);
        written.is_ok_and(|written| meaning(&written) == meaning(&self.value))
    }

    fn read(text: &str, place: Place, origin: Origin) -> Result<Self, ScenarioError> {
        let error = |message| ScenarioError::of_argument(place.clone(), message);
        let Some((_, value)) = text.split_once('=') else {
            return Err(error("a value is missing: write KEY=VALUE, such as link[0].rate=4Mbps".to_owned()));
        };
        let path = Path::parse(key_of(text)).map_err(error)?;
        let value = parse_value(value.trim(), &origin).map_err(|wrong| error(wrong.message))?;
        Ok(Self { path: Arc::new(path), value: Arc::new(value) })
    }

    /// Changes the document at all places that the path stands for, and says how many values it wrote; `Err` says why it cannot.
    /// Nothing is written that takes more than `most` values.
    pub(crate) fn apply(&self, root: &mut Value, most: usize) -> Result<usize, String> {
        let places = resolve(root, &self.path)?;
        let values = places.len().saturating_mul(self.value.size());
        if values > most {
            return Err(format!("this writes {values} values, more than are read: write fewer"));
        }
        places.iter().try_for_each(|place| self.write(root, place))?;
        Ok(values)
    }

    fn write(&self, root: &mut Value, place: &Path) -> Result<(), String> {
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
                    // Marks the entry as overridden ([`Entry::is_overridden`]). The keys under [vary] keep their order in the text.
                    if depth == last && place.0[0] != Step::Key("vary".to_owned()) {
                        entry.key = self.value.origin.clone();
                    }
                    &mut entry.value
                }
                (Step::Element(element), Data::Array(values)) => {
                    let found = element.parse().ok().and_then(|index: usize| values.get_mut(index));
                    found.ok_or_else(|| format!("there is no element {element}"))?
                }
                _ => return Err(format!("{} has no keys or elements of its own", Path(place.0[..depth].to_vec()))),
            };
        }
        *at = Value::clone(&self.value);
        Ok(())
    }
}

/// A table that an override writes into and the file leaves out. A link without a queue has the default one.
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

/// The places that a path stands for, names in brackets turned into numbers, so that two paths mean the same if they have the same places.
/// Several if there is a `*` in it, one at least.
pub(crate) fn resolve(root: &Value, path: &Path) -> Result<Vec<Path>, String> {
    let mut reached = vec![(Path::default(), Some(root))];
    for (depth, step) in path.0.iter().enumerate() {
        let mut next = Vec::with_capacity(reached.len());
        for (place, at) in reached {
            match (step, at.map(|value| &value.data)) {
                (Step::Element(element), Some(Data::Array(values))) => {
                    let indices = elements(&place, values, element)?;
                    next.extend(indices.into_iter().map(|index| (place.index(index), values.get(index))));
                }
                (Step::Element(_), _) => return Err(format!("there is no [[{place}]]: it cannot be made here")),
                (Step::Key(_), Some(Data::Array(values))) if values.iter().all(|value| value.table().is_some()) => {
                    return Err(one_of(&place, values, &path.0[depth..]));
                }
                (Step::Key(key), _) => {
                    let below = at.and_then(Value::table).and_then(|table| table.get(key)).map(|entry| &entry.value);
                    next.push((place.key(key), below));
                }
            }
            if next.len() as u64 > MOST_REPLICAS {
                return Err(format!("it stands for more than {MOST_REPLICAS} keys"));
            }
        }
        reached = next;
    }
    Ok(reached.into_iter().map(|(place, _)| place).collect())
}

/// How a key of one of the tables in `array` is written.
fn one_of(array: &Path, values: &[Value], key: &[Step]) -> String {
    let with = |element: &str| array.and(Step::Element(element.to_owned())).join(key);
    let by_name = values.first().and_then(|value| called(value).next());
    let by_name = by_name.map(|name| format!(", or by its name {}", with(&quoted(&name)))).unwrap_or_default();
    format!("there may be several [[{array}]]: write {}{by_name}", with("0"))
}

/// The elements of `array` that are meant, one at least.
fn elements(array: &Path, values: &[Value], element: &str) -> Result<Vec<usize>, String> {
    if let Ok(index) = element.parse::<usize>() {
        return (index < values.len()).then_some(vec![index]).ok_or_else(|| {
            format!("there is no {array}[{index}]: they are {array}[0] to {array}[{}]", values.len().saturating_sub(1))
        });
    }
    let named = || values.iter().enumerate().flat_map(|(index, value)| called(value).map(move |name| (index, name)));
    let mut found: Vec<usize> = if element.bytes().all(|byte| byte == b'*') {
        (0..values.len()).collect()
    } else if element.contains('*') {
        named().filter(|(_, name)| is_like(name, element)).map(|(index, _)| index).collect()
    } else {
        named().find(|(_, name)| name == element).map(|(index, _)| index).into_iter().collect()
    };
    // A link has two names.
    found.dedup();
    if found.is_empty() {
        let names: Vec<String> = named().map(|(_, name)| name).collect();
        let reverse = element.split_once("->").map(|(from, to)| format!("{to}->{from}"));
        let hint = match reverse.filter(|reverse| names.contains(reverse)) {
            Some(written) => {
                let written = quoted(&written);
                format!("; it is the reverse path of \"{written}\": write {array}[{written}]")
            }
            None => hint(element, names.iter().map(String::as_str)),
        };
        let called = if element.contains('*') { "of which the name is like" } else { "called" };
        return Err(format!("there is no {array} {called} \"{}\"{hint}", quoted(element)));
    }
    Ok(found)
}

/// Whether a name is what `pattern` says, in which `*` stands for any characters.
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

/// What a table is called: its `name`, and a link by its two ends too, as in the record.
fn called(value: &Value) -> impl Iterator<Item = String> {
    let entry = |key| Some(&value.table()?.get(key)?.value);
    let name = entry("name").and_then(Value::text).map(str::to_owned);
    let ends = match entry("between").and_then(Value::array) {
        Some([a, b]) => a.text().zip(b.text()).map(|(a, b)| format!("{a}->{b}")),
        _ => None,
    };
    name.into_iter().chain(ends)
}

/// The document with the overrides applied; `None` if something is wrong, which is noted.
pub(crate) fn document(text: &str, overrides: &[Override], problems: &mut Problems) -> Option<Value> {
    let mut root = document::parse(text).map_err(|wrong| problems.at(wrong.origin, "", wrong.message)).ok()?;
    let mut room = document::MAX_VALUES;
    for set in overrides {
        match set.apply(&mut root, room) {
            Ok(written) => room -= written,
            Err(message) => problems.at(set.value.origin.clone(), &set.path.to_string(), message),
        }
    }
    problems.is_empty().then_some(root)
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_star_stands_for_any_characters_and_for_none() {
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
