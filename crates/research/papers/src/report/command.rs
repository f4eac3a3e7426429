//! Shell commands that reproduce results.

use crate::claim::Claim;
use std::collections::BTreeSet;

/// Largest number of cells in a command; the command for more cells runs the whole paper.
const MAX_CELLS: usize = 8;

/// Returns the command that runs these cells with the profile of the results.
pub(super) fn of_cells<'a>(paper: &str, profile: &str, cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: BTreeSet<&str> = cells.into_iter().collect();
    let full = if profile == "full" { " --full" } else { "" };
    let chosen = if cells.len() > MAX_CELLS {
        String::new()
    } else {
        cells.into_iter().map(|cell| format!(" --cell {}", quoted(cell))).collect()
    };
    format!("headway papers check {}{full}{chosen}", quoted(paper))
}

/// Returns the commands that reproduce a claim: its tests, or its cells.
pub(super) fn of_claim(paper: &str, profile: &str, claim: &Claim) -> Vec<String> {
    if !claim.tests.is_empty() {
        return claim.tests.iter().filter_map(|test| of_test(test)).collect();
    }
    let explained = claim.explain.iter().flat_map(|explain| &explain.checks);
    let checks = claim.checks.iter().chain(&claim.trend).chain(explained);
    let cells: Vec<&str> = checks.flat_map(|check| &check.cells).map(String::as_str).collect();
    if cells.is_empty() { Vec::new() } else { vec![of_cells(paper, profile, cells)] }
}

/// Returns the command for a test such as `crates/simulator/x/tests/y.rs::z`, which is in headway-x.
fn of_test(test: &str) -> Option<String> {
    let (path, function) = test.split_once("::")?;
    let name = path.strip_prefix("crates/")?.split('/').nth(1)?;
    Some(format!("cargo test -p {} {}", quoted(&format!("headway-{name}")), quoted(function)))
}

/// Quotes an argument for a shell where needed.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-/+:=~".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_for_a_shell() {
        assert_eq!(of_cells("p", "default", ["b", "a", "b"]), "headway papers check p --cell a --cell b");
        assert_eq!(of_cells("my paper", "full", ["it's"]), "headway papers check 'my paper' --full --cell 'it'\\''s'");
        let many: Vec<String> = (0..9).map(|cell| cell.to_string()).collect();
        assert_eq!(of_cells("p", "full", many.iter().map(String::as_str)), "headway papers check p --full");
        assert_eq!(of_test("crates/simulator/link/src/queue/red.rs::a").unwrap(), "cargo test -p headway-link a");
        assert_eq!(of_test("papers/x"), None);
    }
}
