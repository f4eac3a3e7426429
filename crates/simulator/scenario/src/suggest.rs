//! How messages speak of words: the nearest right one for a wrong one, and nothing that a terminal would obey.

use std::borrow::Cow;

/// Names longer than this are nobody's slip of the finger.
const LONGEST: usize = 64;
/// More candidates than this are not compared: a scenario may have 100 000 nodes.
const MOST: usize = 2_000;

/// Returns the candidate that `word` was most likely meant to be; `None` if none is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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

/// Options of transports and controllers that were removed.
pub(crate) const REMOVED: [&str; 22] = [
    "bandwidth_time_constant",
    "bic_low_window",
    "bic_max_increment",
    "bic_smooth_part",
    "cookie_lifetime",
    "cubic_scale",
    "dctcp_gain",
    "default_rtt",
    "delayed_ack",
    "deliver_corrupt",
    "dither",
    "fast_convergence",
    "jitter_threshold",
    "packets_per_ack",
    "partial_window_deflation",
    "partopen_timeout",
    "refusals_per_second",
    "reno_friendly",
    "reports_per_rtt",
    "sack_block_size",
    "vegas_gamma",
    "veno_beta",
];

/// Candidates that a message lists, at most: all options of any controller, or the first of many names.
const LISTED: usize = 100;

/// Returns the end of a sentence about an unknown key or name: the nearest right one, or else a list.
#[must_use]
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, candidates.clone()) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None => format!("; {}", known(candidates)),
    }
}

/// Returns the end of a sentence about an unknown value: its new name, or the nearest right value, and all values.
#[must_use]
pub fn choices<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let is_now = |now: &str| RENAMED.contains(&(word, now));
    if let Some(now) = candidates.clone().into_iter().take(MOST).find(|candidate| is_now(candidate)) {
        return format!("; it is called \"{now}\" now");
    }
    match nearest(word, candidates.clone()) {
        Some(near) => format!("; did you mean \"{near}\"? {}", capital(&known(candidates))),
        None => format!("; {}", known(candidates)),
    }
}

/// Lists the candidates, up to [`LISTED`].
fn known<'a>(candidates: impl IntoIterator<Item = &'a str>) -> String {
    let mut candidates = candidates.into_iter();
    let listed: Vec<&str> = candidates.by_ref().take(LISTED).collect();
    match (listed.len(), candidates.count()) {
        (0, _) => "there are none".to_owned(),
        (_, 0) => format!("known are {}", listed.join(", ")),
        (_, more) => format!("known are {} and {more} more", listed.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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

    /// TFRC has more than 40 options, and `controller = { x = 1 }` once listed none of them.
    #[test]
    fn a_long_list_is_shown_to_its_bound() {
        let names: Vec<String> = (0..130).map(|number| format!("name-{number}")).collect();
        let of = |count: usize| hint("zzz", names[..count].iter().map(String::as_str));
        assert!(of(100).ends_with("name-98, name-99"));
        assert!(of(130).ends_with("name-98, name-99 and 30 more"));
    }

    /// `dialect = "headway-2"` once showed the nearest dialect only.
    #[test]
    fn a_value_near_another_is_shown_all_that_there_are() {
        let dialects = ["headway-1", "rfc"];
        assert_eq!(choices("headway-2", dialects), "; did you mean \"headway-1\"? Known are headway-1, rfc");
        assert_eq!(choices("zzz", dialects), "; known are headway-1, rfc");
        assert_eq!(choices("ns2", ["halved-to-initial"]), "; it is called \"halved-to-initial\" now");
    }
}
