//! What tests of the program share.

/// Returns whether the program holds the page of the viewer. In CI it must: `make test` builds the page first.
pub(crate) fn has_viewer() -> bool {
    let built = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../viewer/dist/index.html").exists();
    assert!(built || std::env::var("CI").as_deref() != Ok("true"), "run `make viewer` before the tests");
    built
}
