//! Hash of everything that determines the result of a run: its scenario and the files that it names.

use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Computes XXH3 of the names and contents of these files and of the resolved scenario. A length precedes
/// each part, so that different lists give different bytes.
pub fn inputs<'a>(resolved: &str, files: impl IntoIterator<Item = (&'a String, &'a Arc<[u8]>)>) -> u128 {
    let mut hash = Xxh3::new();
    let files = files.into_iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]);
    for part in std::iter::once(resolved.as_bytes()).chain(files) {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.digest128()
}
