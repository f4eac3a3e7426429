//! Functions of libraries return typed errors.

use std::path::Path;

/// Adds the signatures in a file or folder whose error type is `String`. Tests do not count.
fn untyped(path: &Path, all: &mut Vec<String>) {
    if path.is_dir() && !path.ends_with("tests") {
        std::fs::read_dir(path).unwrap().for_each(|entry| untyped(&entry.unwrap().path(), all));
    } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for function in code.split("fn ").skip(1) {
            let end = [" {", ";\n", "\nwhere"].iter().filter_map(|end| function.find(end)).min();
            let signature = &function[..end.unwrap_or(0)];
            let returned = signature.rsplit_once("-> Result<").map(|(_, returned)| returned);
            if returned.is_some_and(|returned| returned.ends_with(", String>")) {
                all.push(format!("{}: {signature}", path.display()));
            }
        }
    }
}

#[test]
fn functions_of_libraries_return_typed_errors() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let untyped_in = |layers: &[&str]| {
        let mut all = Vec::new();
        for layer in layers {
            for entry in std::fs::read_dir(crates.join(layer)).unwrap() {
                untyped(&entry.unwrap().path().join("src"), &mut all);
            }
        }
        all
    };
    assert_eq!(untyped_in(&["transport", "simulator", "research"]), [""; 0]);
    assert!(!untyped_in(&["apps"]).is_empty(), "the test finds functions of programs");
}
