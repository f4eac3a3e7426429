//! Replays `fuzz/corpus/scenario`: former failures and seeds for the fuzzer. Also checks that the corpus of every
//! other target is replayed, in the crate that it concerns.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

#[path = "../../../../fuzz/check.rs"]
mod check;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn the_corpus_of_scenarios_passes() {
    let folder = root().join("fuzz/corpus/scenario");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "the corpus is in {}", folder.display());
    for file in files {
        println!("{}", file.display());
        check::check(&String::from_utf8_lossy(&fs::read(&file).unwrap()));
    }
}

/// Each target of `fuzz/Cargo.toml` has a corpus that a `tests/corpus.rs` replays. Inputs of `tables` are scenarios.
#[test]
fn every_target_is_replayed() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let (_, bins) = manifest.split_once("[[bin]]").unwrap();
    let targets: Vec<_> = bins.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).collect();
    assert!(targets.len() > 20, "{targets:?}");

    let layers = ["transport", "simulator"].map(|layer| fs::read_dir(root().join("crates").join(layer)).unwrap());
    let crates = layers.into_iter().flatten();
    let tests = crates.filter_map(|one| fs::read_to_string(one.unwrap().path().join("tests/corpus.rs")).ok());
    let replayed: String = tests.collect();
    for target in targets.iter().filter(|target| !["scenario", "tables"].contains(target)) {
        let corpus = format!("fuzz/corpus/{target}.hex");
        assert!(root().join(&corpus).exists(), "{target} has no corpus: {corpus}");
        let replay = format!("replay(include_str!(\"../../../../{corpus}\")");
        assert!(replayed.contains(&replay), "no crates/*/*/tests/corpus.rs has {replay}");
    }
    // And no corpus without a target.
    for file in fs::read_dir(root().join("fuzz/corpus")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy();
        assert!(targets.contains(&&*name), "{} is no target's", path.display());
    }
}
