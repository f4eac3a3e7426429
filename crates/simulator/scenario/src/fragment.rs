//! Parts of scenarios in other texts: the options of one algorithm, or a table of another file format.

use crate::overrides::document;
use crate::path::Path;
use crate::problem::{Problems, ScenarioError};
use crate::reader::Reader;
use crate::vocabulary::keys_of_kinds;
use headway_units::{Dialect, SchemaRegistry};
use serde::de::DeserializeOwned;

/// Parses the options of one algorithm from `text`, such as `source = { kind = .., .. }` with the `key` `source`.
/// Absent keys have the default values of dialect `rfc`, those of the RFCs. `file` is the name in error messages.
///
/// # Errors
/// All errors of the text that can be found despite the others.
pub fn kind<R: SchemaRegistry>(file: &str, key: &str, text: &str) -> Result<R, ScenarioError> {
    read(file, text, |reader| {
        let path = Path::default();
        let Some(entry) = reader.root.table().and_then(|table| table.get(key)) else {
            reader.wrong(&path, format!("the key \"{key}\" is missing"));
            return None;
        };
        let read = reader.options::<R>(&entry.value, &path.key(key), Dialect::default(), &keys_of_kinds::<R>());
        read.map(|read| read.options)
    })
}

/// Parses a TOML text into `T`. With `deny_unknown_fields`, errors suggest the nearest known key. `file` is the name in
/// error messages.
///
/// # Errors
/// The text is not TOML, or does not fit `T`.
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
    // A value may have been read although a key is unknown.
    if reader.problems.is_empty()
        && let Some(found) = found
    {
        return Ok(found);
    }
    Err(reader.problems.into_error(file, text))
}
