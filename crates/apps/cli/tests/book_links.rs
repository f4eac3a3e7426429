//! Links between pages of the book, README files and the changelog: each file exists, and each anchor is a heading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Returns the lines of a page that are not in blocks of code.
fn prose(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect()
}

/// Returns the anchors of a page's headings as mdBook and GitHub build them: lower case, spaces as hyphens, without other punctuation, and a number
/// if a heading repeats.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let mut anchors = BTreeSet::new();
    for heading in headings {
        let title = heading.trim_start_matches('#').trim();
        let title: String =
            title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter)).collect();
        let anchor = title.to_lowercase().replace(' ', "-");
        let repeats = seen.entry(anchor.clone()).or_default();
        anchors.insert(if *repeats == 0 { anchor } else { format!("{anchor}-{repeats}") });
        *repeats += 1;
    }
    anchors
}

/// Returns the targets of links and images in a page.
fn targets(page: &str) -> Vec<String> {
    let text = prose(page).join("\n");
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

#[test]
fn each_link_leads_to_a_file_and_a_heading() {
    let listed = Command::new("git").args(["ls-files", "-z", "*.md"]).current_dir(root()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut broken = Vec::new();
    let mut links = 0;
    for name in listed.split_terminator('\0') {
        let Ok(page) = std::fs::read_to_string(root().join(name)) else { continue };
        for target in targets(&page) {
            // README files of crates are also rustdoc, whose links are Rust paths.
            let is_rust_path = target.chars().all(|letter| letter.is_alphanumeric() || "_:!".contains(letter));
            if is_rust_path || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { root().join(name) } else { root().join(name).parent().unwrap().join(file) };
            if !path.exists() {
                broken.push(format!("{name}: {target}: no such file"));
            } else if !anchor.is_empty() && !anchors(&std::fs::read_to_string(&path).unwrap()).contains(anchor) {
                broken.push(format!("{name}: {target}: no such heading"));
            }
        }
    }
    assert!(links > 400, "{links} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
