//! Embeds the viewer, if `make viewer` has built it.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // Not `env!`, because the script may have been compiled in another checkout.
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let viewer = folder.join("../../../viewer/dist/index.html");
    println!("cargo::rerun-if-changed={}", viewer.display());
    let page = match viewer.canonicalize() {
        Ok(page) => format!("Some(include_str!({:?}))", page.display().to_string()),
        Err(_) => "None".to_owned(),
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join("viewer.rs");
    Ok(std::fs::write(out, format!("pub(super) const VIEWER: Option<&str> = {page};\n"))?)
}
