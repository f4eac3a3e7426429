//! The viewer, if it was built: `make viewer` leaves it as one page.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // Not `env!`: a build script that another checkout has compiled would look there.
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo names the folder of the crate")?);
    let viewer = folder.join("../../../viewer/dist/index.html");
    println!("cargo::rerun-if-changed={}", viewer.display());
    let page = match viewer.canonicalize() {
        Ok(page) => format!("Some(include_str!({:?}))", page.display().to_string()),
        Err(_) => "None".to_owned(),
    };
    let out =
        PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names the folder of the output")?).join("viewer.rs");
    Ok(std::fs::write(out, format!("pub(super) const VIEWER: Option<&str> = {page};\n"))?)
}
