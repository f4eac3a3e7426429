//! The viewer, if it was built: `make viewer` leaves it as one page.

use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer/dist/index.html");
    println!("cargo::rerun-if-changed={}", viewer.display());
    let page = match viewer.canonicalize() {
        Ok(page) => format!("Some(include_str!({:?}))", page.display().to_string()),
        Err(_) => "None".to_owned(),
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo says where")?).join("viewer.rs");
    Ok(std::fs::write(out, format!("pub(super) const VIEWER: Option<&str> = {page};\n"))?)
}
