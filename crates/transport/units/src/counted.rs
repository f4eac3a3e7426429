//! Numbers with their nouns.

/// Returns the number with its singular `noun`, plus an "s" unless the number is 1: `1 packet` or `2 packets`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
