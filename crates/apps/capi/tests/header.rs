//! `include/headway.h` is generated from the functions of `src/abi`. `UPDATE_DOCS=1` writes it.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::path::Path;

#[test]
fn the_header_has_the_functions_of_the_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut generated = Vec::new();
    cbindgen::generate(root).unwrap().write(&mut generated);
    let path = root.join("include/headway.h");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let old = std::fs::read(&path).unwrap_or_default();
    assert!(old == generated, "run this test with UPDATE_DOCS=1 to write include/headway.h");
}
