//! `--set KEY=VALUE`: a scenario with one key changed.

use crate::document::{Data, Entry, Origin, Value, parse_value};
use crate::path::{Path, Step};
use crate::problem::{Place, Problem, ScenarioError};
use crate::suggest::{hint, quoted};
use std::str::FromStr;
use std::sync::Arc;

/// A key and the value that it shall have, whatever the file says. Text: `link[0].rate=4Mbps`, `seed=7`,
/// `flow[ftp].start=["0s", "1s"]`. A value that is not TOML is taken as text, so that quotes are rarely needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    pub(crate) path: Path,
    /// Shared: a plan holds it once for each of its runs.
    pub(crate) value: Arc<Value>,
}

impl FromStr for Override {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let key = text.split_once('=').map_or(text, |(key, _)| key).trim();
        let error = |message: String| {
            let place = Place::Set(quoted(key));
            let problem = Problem { file: String::new(), place, key: String::new(), message, snippet: None };
            ScenarioError { problems: vec![problem], more: false }
        };
        let Some((_, value)) = text.split_once('=') else {
            return Err(error("a value is missing: write KEY=VALUE, such as link[0].rate=4Mbps".to_owned()));
        };
        let path = Path::parse(key).map_err(error)?;
        let origin = Origin::Set(Arc::from(key));
        let value = parse_value(value.trim(), &origin).map_err(|wrong| error(wrong.message))?;
        Ok(Self { path, value: Arc::new(value) })
    }
}

impl Override {
    /// The same, its path with numbers instead of names: two that mean the same key are equal in it.
    pub(crate) fn resolved_path(&self, root: &Value) -> Result<Path, String> {
        resolve(root, &self.path)
    }

    /// Changes the document; `Err` says why it cannot be.
    pub(crate) fn apply(&self, root: &mut Value) -> Result<(), String> {
        let path = self.resolved_path(root)?;
        let mut at = root;
        for (depth, step) in path.0.iter().enumerate() {
            at = match (step, &mut at.data) {
                (Step::Key(key), Data::Table(table)) => {
                    let missing = || {
                        let origin = self.value.origin.clone();
                        Entry { key: origin.clone(), value: missing_table(&path.0[..=depth], origin) }
                    };
                    &mut table.entry(key.clone()).or_insert_with(missing).value
                }
                (Step::Element(element), Data::Array(values)) => {
                    let found = element.parse().ok().and_then(|index: usize| values.get_mut(index));
                    found.ok_or_else(|| format!("there is no element {element}"))?
                }
                _ => return Err(format!("{} has no keys or elements of its own", Path(path.0[..depth].to_vec()))),
            };
        }
        *at = Value::clone(&self.value);
        Ok(())
    }
}

/// A table that an override writes into and the file leaves out. A link without a queue has the default one.
fn missing_table(path: &[Step], origin: Origin) -> Value {
    let mut table = crate::document::Table::new();
    if let [Step::Key(links), Step::Element(_), Step::Key(queue)] = path
        && (links.as_str(), queue.as_str()) == ("link", "queue")
    {
        let kind = Value { origin: origin.clone(), data: Data::Text(crate::tables::DEFAULT_QUEUE.to_owned()) };
        table.insert("kind".to_owned(), Entry { key: origin.clone(), value: kind });
    }
    Value { origin, data: Data::Table(table) }
}

/// The path with every name in brackets turned into the number of the table that is called so.
pub(crate) fn resolve(root: &Value, path: &Path) -> Result<Path, String> {
    let mut at = Some(root);
    let mut steps = Vec::with_capacity(path.0.len());
    for step in &path.0 {
        let step = match (step, at.map(|value| &value.data)) {
            (Step::Element(element), Some(Data::Array(values))) => {
                Step::Element(element_index(&Path(steps.clone()), values, element)?.to_string())
            }
            (Step::Element(_), _) => return Err(format!("there is no [[{}]]: it cannot be made here", Path(steps))),
            (Step::Key(_), Some(Data::Array(values))) if values.iter().all(|value| value.table().is_some()) => {
                return Err(one_of(&Path(steps.clone()), values, &path.0[steps.len()..]));
            }
            (Step::Key(_), _) => step.clone(),
        };
        at = at.and_then(|value| match (&step, &value.data) {
            (Step::Key(key), Data::Table(table)) => table.get(key).map(|entry| &entry.value),
            (Step::Element(index), Data::Array(values)) => values.get(index.parse::<usize>().ok()?),
            _ => None,
        });
        steps.push(step);
    }
    Ok(Path(steps))
}

/// How a key of one of the tables in `array` is written.
fn one_of(array: &Path, values: &[Value], key: &[Step]) -> String {
    let with = |element: &str| Path(array.0.clone()).and(Step::Element(element.to_owned())).join(key);
    let by_name = values.first().and_then(|value| called(value).next());
    let by_name = by_name.map(|name| format!(", or by its name {}", with(&quoted(&name)))).unwrap_or_default();
    format!("there may be several [[{array}]]: write {}{by_name}", with("0"))
}

fn element_index(array: &Path, values: &[Value], element: &str) -> Result<usize, String> {
    if let Ok(index) = element.parse::<usize>() {
        return (index < values.len()).then_some(index).ok_or_else(|| {
            format!("there is no {array}[{index}]: they are {array}[0] to {array}[{}]", values.len().saturating_sub(1))
        });
    }
    let names: Vec<(usize, String)> =
        values.iter().enumerate().flat_map(|(index, value)| called(value).map(move |name| (index, name))).collect();
    names.iter().find(|(_, name)| name == element).map(|(index, _)| *index).ok_or_else(|| {
        let known = names.iter().map(|(_, name)| name.as_str());
        format!("there is no {array} called \"{}\"{}", quoted(element), hint(element, known))
    })
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
