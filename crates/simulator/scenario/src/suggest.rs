//! Suggestions and quoted input in error messages: the nearest known word, and text without control characters.

use std::borrow::Cow;

/// Maximum length of words that are compared, in characters.
const MAX_CHARS: usize = 64;
/// Maximum number of candidates that are compared: a scenario may have 100 000 nodes.
const MAX_CANDIDATES: usize = 2_000;

/// Returns the candidate that is most similar to `word`; `None` if none is similar.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > MAX_CHARS {
        return None;
    }
    let folded = word.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_CHARS)
        .take(MAX_CANDIDATES)
        .map(|candidate| (strsim::osa_distance(&folded, &candidate.to_lowercase().replace('-', "_")), candidate))
        // At most a third of the characters may differ.
        .filter(|&(distance, _)| distance <= (length / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Renamed values: the old name and the new name.
const RENAMED: [(&str, &str); 4] = [
    ("linux", "window-counter-settled"),
    ("linux", "halved-and-lifted"),
    ("ns2", "halved-to-initial"),
    ("until-heard", "until-cwr"),
];

/// Removed options of transports and controllers.
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

/// Maximum number of candidates in a message, enough for all options of a controller.
const MAX_LISTED: usize = 100;

/// Returns the end of an error message about an unknown key or name: the most similar candidate, or the list of all.
#[must_use]
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, candidates.clone()) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None => format!("; {}", known(candidates)),
    }
}

/// Returns the end of an error message about an unknown value: the new name of a renamed value, or the most similar
/// value and the list of all values.
#[must_use]
pub fn choices<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let is_now = |now: &str| RENAMED.contains(&(word, now));
    if let Some(now) = candidates.clone().into_iter().take(MAX_CANDIDATES).find(|candidate| is_now(candidate)) {
        return format!("; it is called \"{now}\" now");
    }
    match nearest(word, candidates.clone()) {
        Some(near) => format!("; did you mean \"{near}\"? {}", capital(&known(candidates))),
        None => format!("; {}", known(candidates)),
    }
}

/// Lists the candidates, up to [`MAX_LISTED`].
fn known<'a>(candidates: impl IntoIterator<Item = &'a str>) -> String {
    let mut candidates = candidates.into_iter();
    let listed: Vec<&str> = candidates.by_ref().take(MAX_LISTED).collect();
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

/// Returns input for an error message: at most 60 characters, without control characters.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_SHOWN: usize = 60;
    let mut shown = printable(&text.chars().take(MAX_SHOWN).collect::<String>()).into_owned();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Escapes control characters and characters that change the text direction, as `\u001b`. Untrusted text can thus
/// neither control a terminal nor display a misleading order.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_words_find_the_nearest_candidate() {
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

    /// ESC and CSI (C1) of ECMA-48, and RIGHT-TO-LEFT OVERRIDE of Unicode.
    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\x1b[31mb\n\u{9b}2J\u{202e}é"), "a\\u001b[31mb\\u000a\\u009b2J\\u202eé");
        assert_eq!(quoted("\x07"), "\\u0007");
    }

    #[test]
    fn hints_without_a_similar_word_list_all_candidates() {
        assert_eq!(hint("zzz", ["udp", "tcp-reno"]), "; known are udp, tcp-reno");
        assert_eq!(hint("zzz", []), "; there are none");
    }

    /// TFRC has more than 40 options, and the error of `controller = { x = 1 }` listed none of them.
    #[test]
    fn long_lists_end_at_the_limit() {
        let names: Vec<String> = (0..130).map(|number| format!("name-{number}")).collect();
        let of = |count: usize| hint("zzz", names[..count].iter().map(String::as_str));
        assert!(of(100).ends_with("name-98, name-99"));
        assert!(of(130).ends_with("name-98, name-99 and 30 more"));
    }

    /// The error of `dialect = "headway-2"` listed only the nearest dialect.
    #[test]
    fn choices_list_all_values_after_a_suggestion() {
        let dialects = ["headway-1", "rfc"];
        assert_eq!(choices("headway-2", dialects), "; did you mean \"headway-1\"? Known are headway-1, rfc");
        assert_eq!(choices("zzz", dialects), "; known are headway-1, rfc");
        assert_eq!(choices("ns2", ["halved-to-initial"]), "; it is called \"halved-to-initial\" now");
    }
}
