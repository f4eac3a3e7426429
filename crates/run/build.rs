//! Which code this is: a hash of all sources that a run's numbers can hang on, so that what other code has left is not taken for this one's. Where
//! the sources of the workspace are not at hand it is the version alone.

use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// The crates of which a run is made, and the one that writes it down.
const CRATES: [&str; 11] =
    ["units", "prefetch", "link", "tcp", "media", "rate", "dccp", "attack", "record", "scenario", "sim"];

fn main() {
    // Not `env!`: a build script that another checkout has compiled would hash that one's code.
    let crates = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let own = ["run"].iter().chain(&CRATES).map(|name| crates.join(name).join("src"));
    let mut hash = Xxh3::new();
    let mut found = true;
    for folder in own {
        println!("cargo::rerun-if-changed={}", folder.display());
        found &= add(&mut hash, &folder).is_some();
    }
    let lock = crates.join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    // Libraries of others are part of it, too.
    found &= std::fs::read(&lock).map(|text| hash.update(&text)).is_ok();
    let version = env!("CARGO_PKG_VERSION");
    let code = if found { format!("{version}+{:016x}", hash.digest()) } else { version.to_owned() };
    println!("cargo::rustc-env=HEADWAY_CODE={code}");
}

/// Adds every file of a folder and of those below, in an order that is the same everywhere.
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
