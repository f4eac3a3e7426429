//! The crates of Headway use only the crates that `crates/dependencies.toml` lists for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Member of the workspace in the metadata of cargo.
struct Crate {
    layer: String,
    name: String,
    description: String,
    /// Crates of Headway that it uses outside of tests and examples.
    uses: BTreeSet<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Returns the output of cargo.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn crates() -> Vec<Crate> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"]);
    let metadata: serde_json::Value = serde_json::from_str(&output).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let short = |value: &serde_json::Value| Some(value.as_str()?.strip_prefix("headway-")?.to_owned());
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let folder = PathBuf::from(text(&package["manifest_path"]));
            let layer = folder.ancestors().nth(2).unwrap().file_name().unwrap().to_string_lossy().into_owned();
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            Crate {
                layer,
                name: short(&package["name"]).unwrap(),
                description: text(&package["description"]),
                uses: dependencies
                    .filter(|used| used["kind"] != "dev")
                    .filter_map(|used| short(&used["name"]))
                    .collect(),
            }
        })
        .collect()
}

/// Lists of `dependencies.toml` by layer, or by crate of a layer.
type Names = BTreeMap<String, Vec<String>>;

fn allowed() -> BTreeMap<String, Names> {
    toml::from_str(&std::fs::read_to_string(root().join("crates/dependencies.toml")).unwrap()).unwrap()
}

#[test]
fn every_crate_uses_only_its_listed_crates() {
    let mut allowed = allowed();
    let layers = allowed.remove("layers").unwrap();
    let layer_of: BTreeMap<_, _> = crates().into_iter().map(|one| (one.name, one.layer)).collect();
    for one in crates() {
        let listed = allowed.get_mut(&one.layer).and_then(|layer| layer.remove(&one.name));
        let listed = listed.unwrap_or_else(|| panic!("crates/dependencies.toml has no {}.{}", one.layer, one.name));
        let listed: BTreeSet<_> = listed.into_iter().collect();
        assert_eq!(one.uses, listed, "{} (left: its manifest, right: crates/dependencies.toml)", one.name);
        for used in &listed {
            let layer = &layer_of[used];
            assert!(*layer == one.layer || layers[&one.layer].contains(layer), "{} must not use {used}", one.name);
        }
    }
    let left: Vec<_> = allowed.into_iter().filter(|(_, crates)| !crates.is_empty()).collect();
    assert!(left.is_empty(), "unknown crates: {left:?}");
}

/// `UPDATE_DOCS=1` writes the table.
#[test]
fn the_book_has_the_table_of_crates() {
    const BEGIN: &str = "<!-- crates: begin -->\n";
    const END: &str = "<!-- crates: end -->";
    let layers = ["transport", "simulator", "apps", "research"];
    let mut crates = crates();
    let depth = |one: &Crate| one.uses.len();
    crates.sort_by_key(|one| (layers.iter().position(|layer| *layer == one.layer), depth(one), one.name.clone()));
    let mut table = String::from("| layer | crate | contents | uses |\n|---|---|---|---|\n");
    for one in &crates {
        let uses = if one.uses.is_empty() { "-".to_owned() } else { Vec::from_iter(one.uses.clone()).join(", ") };
        writeln!(table, "| {} | `headway-{}` | {} | {uses} |", one.layer, one.name, one.description).unwrap();
    }
    let path = root().join("docs/src/house.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (old, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(old, table, "run this test with UPDATE_DOCS=1 to write the table");
    }
}

/// A program that sends real-time media compiles no simulator, no Arrow and no charts, and at most 80 crates.
#[test]
fn a_program_that_uses_sockets_compiles_few_crates() {
    let arguments =
        ["tree", "--package", "headway-net", "--edges", "normal", "--prefix", "none", "--locked", "--offline"];
    let tree = cargo(&arguments);
    let crates: BTreeSet<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for heavy in
        ["arrow-array", "plotters", "schemars", "statrs", "lz4_flex", "serde_json", "headway-engine", "headway-link"]
    {
        assert!(!crates.contains(heavy), "headway-net uses {heavy}");
    }
    assert!(crates.contains("quinn-udp") && crates.len() <= 80, "{} crates: {crates:?}", crates.len());
}
