//! How messages speak of words: the nearest right one for a wrong one, and nothing that a terminal would obey.

use std::borrow::Cow;

/// Names longer than this are nobody's slip of the finger.
const LONGEST: usize = 64;
/// More candidates than this are not compared: a scenario may have 100 000 nodes.
const MOST: usize = 2_000;

/// The candidate that `word` was most likely meant to be; `None` if none is near.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > LONGEST {
        return None;
    }
    let folded = word.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .take(MOST)
        .map(|candidate| (strsim::osa_distance(&folded, &candidate.to_lowercase().replace('-', "_")), candidate))
        // A third of the letters may be wrong; more is another word.
        .filter(|&(distance, _)| distance <= (length / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Values that once had another name, each with what it has now.
const RENAMED: [(&str, &str); 3] =
    [("linux", "window-counter-settled"), ("linux", "halved-and-lifted"), ("ns2", "halved-to-initial")];

/// The end of a sentence about an unknown word: what it is called now, the nearest right one, or all of a few.
#[must_use]
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let is_now = |now: &str| RENAMED.contains(&(word, now));
    if let Some(now) = candidates.clone().into_iter().take(MOST).find(|candidate| is_now(candidate)) {
        return format!("; it is called \"{now}\" now");
    }
    if let Some(near) = nearest(word, candidates.clone()) {
        return format!("; did you mean \"{near}\"?");
    }
    const SHOWN: usize = 40;
    let known: Vec<&str> = candidates.into_iter().take(SHOWN + 1).collect();
    match known.len() {
        0 => "; there are none".to_owned(),
        1..=SHOWN => format!("; known are {}", known.join(", ")),
        _ => String::new(),
    }
}

/// Messages quote input; nobody wants a megabyte of it, nor its control characters.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown = printable(&text.chars().take(SHOWN).collect::<String>()).into_owned();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// The text, its control characters and those that change the direction of writing as `\u001b`: what somebody else has
/// written cannot move a cursor, nor show other words than are there.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| {
        !c.is_control() && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if is_plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    Cow::Owned(text.chars().map(shown).collect())
}

/// So many of something: `1 flow`, `2 flows`.
pub(crate) fn so_many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word() {
        let keys = ["limit", "min_threshold", "max_threshold", "gentle"];
        for (word, meant) in [
            ("limits", Some("limit")),
            ("Limit", Some("limit")),
            ("min-threshold", Some("min_threshold")),
            ("gnetle", Some("gentle")),
            ("delay", None),
        ] {
            assert_eq!(nearest(word, keys), meant, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), keys), None);
    }

    /// ESC, CSI (C1) and RIGHT-TO-LEFT OVERRIDE, by the numbers that ECMA-48 and Unicode give them.
    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(printable("a\x1b[31mb\n\u{9b}2J\u{202e}é"), "a\\u001b[31mb\\u000a\\u009b2J\\u202eé");
        assert_eq!(quoted("\x07"), "\\u0007");
    }

    #[test]
    fn a_foreign_word_is_shown_all_that_there_are() {
        assert_eq!(hint("zzz", ["udp", "tcp-reno"]), "; known are udp, tcp-reno");
        assert_eq!(hint("zzz", []), "; there are none");
    }
}
