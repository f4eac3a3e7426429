//! Computes the identity of the code: the version and a hash of all sources that determine a run's numbers.
//! Runs of other code are therefore not reused. Without the workspace sources it is only the version.

use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// The layers of crates that a run consists of.
const LAYERS: [&str; 2] = ["transport", "simulator"];
/// The crates of these layers that no simulated run uses.
const REAL_TIME: [&str; 2] = ["net", "emulator"];

fn main() {
    // Not `env!`: a build script that was compiled in another checkout would hash that checkout.
    let crates = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let mut hash = Xxh3::new();
    let mut found = true;
    for layer in LAYERS {
        let members = names(&crates.join(layer));
        found &= members.is_some();
        for name in members.unwrap_or_default().iter().filter(|name| !REAL_TIME.contains(&name.as_str())) {
            let folder = crates.join(layer).join(name).join("src");
            println!("cargo::rerun-if-changed={}", folder.display());
            found &= add(&mut hash, &folder).is_some();
        }
    }
    let lock = crates.join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    // Library versions can affect the numbers.
    found &= std::fs::read(&lock).map(|text| hash.update(&text)).is_ok();
    let version = env!("CARGO_PKG_VERSION");
    let code = if found { format!("{version}+{:016x}", hash.digest()) } else { version.to_owned() };
    println!("cargo::rustc-env=HEADWAY_CODE={code}");
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<_> = entries.map(|entry| entry.ok()?.file_name().into_string().ok()).collect::<Option<_>>()?;
    names.sort();
    Some(names)
}

/// Adds every file of a folder and its subfolders, in sorted order.
fn add(hash: &mut Xxh3, folder: &Path) -> Option<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add(hash, &path)?;
        } else {
            let name = path.file_name()?.to_str()?;
            let bytes = std::fs::read(&path).ok()?;
            hash.update(name.as_bytes());
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(&bytes);
        }
    }
    Some(())
}
