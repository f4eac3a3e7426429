//! Replays `fuzz/corpus/scenario`: scenarios that once went wrong, and seeds for the fuzzer.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

#[path = "../../../fuzz/check.rs"]
mod check;

#[test]
fn nothing_in_the_corpus_goes_wrong() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "the corpus is in {}", folder.display());
    for file in files {
        println!("{}", file.display());
        check::check(&String::from_utf8_lossy(&std::fs::read(&file).unwrap()));
    }
}
