//! `[vary]`: keys, each with the values that it takes in turn.

use crate::document::{Data, Origin, Value};
use crate::overrides::resolve;
use crate::path::{Path, Step};
use crate::problem::Problems;
use crate::reader::Open;
use crate::suggest::quoted;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most runs that one scenario may ask for.
const MOST_RUNS: usize = 10_000;

/// A key that varies.
pub(crate) struct Axis {
    pub(crate) path: Path,
    /// Each with what a label says of it.
    pub(crate) values: Vec<(Arc<Value>, String)>,
}

/// Notes what is wrong with `[vary]`, for a scenario that is loaded as one run.
pub(crate) fn check(open: &mut Open<'_, '_>) {
    axes(open.reader.root, &mut open.reader.problems);
}

/// The keys that vary, in the order of the text.
pub(crate) fn axes(root: &Value, problems: &mut Problems) -> Vec<Axis> {
    let vary = Path::default().key("vary");
    let Some(entry) = root.table().and_then(|table| table.get("vary")) else { return Vec::new() };
    let Some(table) = entry.value.table() else {
        problems.value(root, &vary, "write [vary] as a table of keys, each with an array of values");
        return Vec::new();
    };
    // In the order of the text; overrides, which have none, first.
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(_, entry)| match &entry.key {
        Origin::Text(span) => span.start,
        _ => 0,
    });
    let mut axes = Vec::new();
    let mut runs: usize = 1;
    for (key, entry) in keys {
        if problems.is_full() {
            break;
        }
        let path = match Path::parse(key).and_then(|path| resolve(root, &path).map(|_| path)) {
            Ok(path) if path.0.first() != Some(&Step::Key("vary".to_owned())) => path,
            Ok(_) => {
                problems.key(root, &vary, key, "[vary] cannot vary itself");
                continue;
            }
            Err(message) => {
                problems.key(root, &vary, key, message);
                continue;
            }
        };
        let values = match &entry.value.data {
            Data::Array(values) if !values.is_empty() => {
                let labels = labels(values);
                values.iter().map(|value| Arc::new(value.clone())).zip(labels).collect::<Vec<_>>()
            }
            Data::Table(_) => {
                let message = "put the whole key in quotes, such as \"link[0].rate\", and its values in an array";
                problems.key(root, &vary, key, message);
                continue;
            }
            _ => {
                problems.key(root, &vary, key, format!("{path} varies over an array of one or more values"));
                continue;
            }
        };
        runs = runs.saturating_mul(values.len());
        axes.push(Axis { path, values });
    }
    if runs > MOST_RUNS {
        problems.value(
            root,
            &vary,
            format!("these are more than {MOST_RUNS} runs: vary fewer keys, or each over fewer values"),
        );
        return Vec::new();
    }
    axes
}

/// What labels say of an axis's values. No two say the same: of values that are alike as far as they are shown, the second
/// and later ones say which of the array they are.
fn labels(values: &[Value]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let label = |(place, value): (usize, &Value)| {
        let label = quoted(&shown(value));
        if known.insert(label.clone()) { label } else { format!("{label} #{}", place + 1) }
    };
    values.iter().enumerate().map(label).collect()
}

/// A value in a label.
fn shown(value: &Value) -> String {
    match &value.data {
        Data::Text(text) | Data::Datetime(text) => text.clone(),
        Data::Integer(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Boolean(value) => value.to_string(),
        Data::Array(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(",")),
        Data::Table(table) => {
            let pairs = table.iter().map(|(key, entry)| format!("{key}={}", shown(&entry.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
    }
}
