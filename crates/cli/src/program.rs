//! Which program this is.

use std::sync::OnceLock;

/// A hash of this very program, so that what another build has left is not taken for this one's. `None` where it cannot
/// be read.
pub(crate) fn identity() -> Option<&'static str> {
    static IDENTITY: OnceLock<Option<String>> = OnceLock::new();
    let hash = || {
        let program = std::fs::read(std::env::current_exe().ok()?).ok()?;
        Some(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&program)))
    };
    IDENTITY.get_or_init(hash).as_deref()
}
