//! Every TOML block in the README and the book is a scenario, or a part of one that loads in a small scenario.

use crate::common::{Below, folder};
use headway_scenario::{load, plan};
use std::path::{Path, PathBuf};

/// Pages whose blocks have separate tests or are not scenarios: scenario.md (`shipped.rs`), papers.md (files of
/// papers), real.md (rules of relays).
const OTHERS: [&str; 3] = ["scenario.md", "papers.md", "real.md"];

const HEAD: &str = "duration = \"100s\"\n";
const LINK: [(&str, &str); 3] =
    [("rate", "\"1Mbps\""), ("delay", "\"10ms\""), ("queue", "{ kind = \"droptail\", limit = \"20packets\" }")];

fn pages(below: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => pages(&path),
            Some(extension) if extension == "md" => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

/// Returns the assignments of a block. An assignment ends when all brackets are closed.
fn assignments(block: &str) -> Vec<String> {
    let (mut all, mut open, mut depth) = (Vec::new(), String::new(), 0);
    for line in block.lines() {
        let code = line.split('#').next().unwrap_or_default();
        if open.is_empty() && code.trim().is_empty() {
            continue;
        }
        open += &format!("{line}\n");
        depth += code.matches(['[', '{']).count() as i32 - code.matches([']', '}']).count() as i32;
        if depth == 0 {
            all.push(std::mem::take(&mut open));
        }
    }
    all
}

/// Returns a table with the keys of `own` and the other keys of `usual`.
fn table(head: &str, usual: &[(&str, &str)], own: &str) -> String {
    let key = own.split('=').next().unwrap_or_default().trim();
    let others = usual.iter().filter(|(name, _)| *name != key).map(|(name, value)| format!("{name} = {value}\n"));
    format!("{head}{}{own}", others.collect::<String>())
}

fn link(own: &str) -> String {
    table("[[link]]\nname = \"bottleneck\"\nbetween = [\"a\", \"b\"]\n", &LINK, own)
}

fn flow(transport: &str, own: &str) -> String {
    let usual = [("transport", transport), ("source", "{ kind = \"ftp\" }")];
    table("[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n", &usual, own)
}

/// Returns groups of scenarios that contain the block. One of each group must load: some sources need TCP, others
/// exclude it, and some need a rate controller.
fn scenarios(block: &str) -> Vec<Vec<String>> {
    let [tcp, udp, udpm] = ["tcp-newreno", "udp", "udpm"].map(|kind| format!("{{ kind = \"{kind}\" }}"));
    let tcp = tcp.as_str();
    let whole = |links: &str, flows: &str, rest: &str| format!("{HEAD}{links}{flows}{rest}");
    if block.contains("duration =") {
        return vec![vec![block.to_owned()]];
    }
    if block.starts_with("[vary]") || block.starts_with("[record]") {
        return vec![vec![whole(&link(""), &flow(tcp, ""), block)]];
    }
    if block.starts_with("[[node]]") {
        let node = block.replace("\"camera\"", "\"a\"").replace("\"sink\"", "\"b\"");
        return vec![vec![whole(&link(""), &flow(tcp, ""), &node)]];
    }
    if block.starts_with("[[flow]]") {
        return vec![vec![whole(&link(""), block, "")]];
    }
    let of = |own: &String| match own.split('=').next().map(str::trim) {
        Some("source" | "transport") => [tcp, &udp, &udpm].map(|kind| whole(&link(""), &flow(kind, own), "")).to_vec(),
        _ => vec![whole(&link(own), &flow(tcp, ""), "")],
    };
    assignments(block).iter().map(of).collect()
}

fn loads(text: &str) -> Result<(), String> {
    let runs = plan("book.toml", text, &[], &[]).map_err(|error| error.to_string())?.runs;
    let of = |overrides| load("book.toml", text, overrides, &Below(folder())).map_err(|error| error.to_string());
    runs.iter().try_for_each(|run| of(&run.overrides).map(drop))
}

#[test]
fn every_block_of_toml_loads() {
    let root = folder().join("..");
    let mut pages = pages(&root.join("docs/src"));
    pages.push(root.join("README.md"));
    let mut blocks = 0;
    for page in pages.iter().filter(|page| !OTHERS.iter().any(|other| page.ends_with(format!("src/{other}")))) {
        let text = std::fs::read_to_string(page).unwrap();
        for block in text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()) {
            // Manifest of a program that depends on Headway.
            if block.starts_with("[dependencies]") {
                continue;
            }
            blocks += 1;
            for group in scenarios(block) {
                let wrong: Vec<String> = group.iter().filter_map(|text| loads(text).err()).collect();
                assert!(wrong.len() < group.len(), "{}: {wrong:?} of\n{block}", page.display());
            }
        }
    }
    assert!(blocks >= 30, "{blocks} blocks");
}
