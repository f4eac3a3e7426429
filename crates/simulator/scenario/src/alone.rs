//! Texts in a scenario's words that are no scenario: the options of one algorithm, or a table of somebody else's.

use crate::overrides::document;
use crate::path::Path;
use crate::problem::{Problems, ScenarioError};
use crate::reader::Reader;
use crate::vocabulary::keys_of_kinds;
use headway_units::{Dialect, SchemaRegistry};
use serde::de::DeserializeOwned;

/// Reads what a scenario writes as `source = { kind = .., .. }`, or under whatever other `key` has kinds: that kind's options, over their preset
/// in dialect rfc. `file` is for messages.
///
/// # Errors
/// Everything that is wrong with it, as far as one thing does not hide another.
pub fn kind<R: SchemaRegistry>(file: &str, key: &str, text: &str) -> Result<R, ScenarioError> {
    read(file, text, |reader| {
        let path = Path::default();
        let Some(entry) = reader.root.table().and_then(|table| table.get(key)) else {
            reader.wrong(&path, format!("the key \"{key}\" is missing"));
            return None;
        };
        let chosen = reader.options::<R>(&entry.value, &path.key(key), Dialect::default(), &keys_of_kinds::<R>());
        chosen.map(|chosen| chosen.options)
    })
}

/// Reads a text whose keys are those of `T`. A `T` that refuses unknown fields is told of the nearest right one. `file` is for messages.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn table<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ScenarioError> {
    read(file, text, |reader| reader.read(reader.root, &Path::default()))
}

fn read<T>(file: &str, text: &str, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Result<T, ScenarioError> {
    let mut problems = Problems::default();
    let Some(root) = document(text, &[], &mut problems) else {
        return Err(problems.into_error(file, text));
    };
    let mut reader = Reader::new(&root);
    let found = read(&mut reader);
    // Beside an unknown key there may be a value.
    if reader.problems.is_empty()
        && let Some(found) = found
    {
        return Ok(found);
    }
    Err(reader.problems.into_error(file, text))
}
