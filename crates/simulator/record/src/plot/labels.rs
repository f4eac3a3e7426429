//! Labels of runs in a legend: only the parts in which they differ.

/// The differences between labels such as `link[0].rate=2Mbps seed=3`, or folders such as `rate=2Mbps_seed=3`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Labels {
    /// The key, if only one key differs; each label is then its value.
    pub(super) heading: String,
    /// One label per run. Different labels stay different.
    pub(super) each: Vec<String>,
    /// The common part of all labels.
    pub(super) shared: String,
}

impl Labels {
    pub(super) fn of(labels: &[&str]) -> Self {
        match labels {
            [only] => Self { each: vec![(*only).to_owned()], ..Self::default() },
            _ => Self::without(labels, |_| false),
        }
    }

    /// Like [`of`](Self::of), but ignores seeds: labels that differ only in seeds become equal.
    pub(super) fn without_seeds(labels: &[&str]) -> Self {
        Self::without(labels, |word| key(word) == Some("seed"))
    }

    fn without(labels: &[&str], is_omitted: fn(&str) -> bool) -> Self {
        let words: Vec<Vec<&str>> =
            labels.iter().map(|label| words(label).into_iter().filter(|word| !is_omitted(word)).collect()).collect();
        let whole = || words.iter().map(|words| words.join(" ")).collect();
        let Some((first, others)) = words.split_first() else { return Self::default() };
        let has_keys_of_first =
            |words: &Vec<&str>| words.len() == first.len() && words.iter().zip(first).all(|(a, b)| key(a) == key(b));
        if !others.iter().all(has_keys_of_first) {
            return Self { each: whole(), ..Self::default() };
        }
        let (differing, same): (Vec<usize>, Vec<usize>) =
            (0..first.len()).partition(|&at| others.iter().any(|words| words[at] != first[at]));
        let joined =
            |words: &[&str], indices: &[usize]| indices.iter().map(|&at| words[at]).collect::<Vec<_>>().join(" ");
        match differing[..] {
            [] => Self { each: whole(), ..Self::default() },
            [only] if key(first[only]).is_some() => Self {
                heading: key(first[only]).unwrap_or_default().to_owned(),
                each: words.iter().map(|words| value(words[only]).to_owned()).collect(),
                shared: joined(first, &same),
            },
            _ => Self {
                heading: String::new(),
                each: words.iter().map(|words| joined(words, &differing)).collect(),
                shared: joined(first, &same),
            },
        }
    }
}

/// Returns the seed in a label.
pub(super) fn seed(label: &str) -> Option<&str> {
    words(label).into_iter().find(|word| key(word) == Some("seed")).map(value)
}

/// Returns the words of a label. Names of folders have `_` instead of spaces, which may also occur in keys and values.
/// A `_` separates two words if both have a `=`.
fn words(label: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in label.split_whitespace() {
        let mut start = 0;
        for (at, _) in part.match_indices('_') {
            if part[start..at].contains('=') && part[at + 1..].contains('=') {
                words.push(&part[start..at]);
                start = at + 1;
            }
        }
        words.push(&part[start..]);
    }
    words
}

fn key(word: &str) -> Option<&str> {
    word.split_once('=').map(|(key, _)| key)
}

fn value(word: &str) -> &str {
    word.split_once('=').map_or(word, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(heading: &str, each: &[&str], shared: &str) -> Labels {
        let each = each.iter().map(|&label| label.to_owned()).collect();
        Labels { heading: heading.to_owned(), each, shared: shared.to_owned() }
    }

    #[test]
    fn a_single_differing_key_is_the_heading() {
        let runs = ["link[0].rate=1Mbps seed=1", "link[0].rate=2Mbps seed=1"];
        assert_eq!(Labels::of(&runs), labels("link[0].rate", &["1Mbps", "2Mbps"], "seed=1"));
        let folders = ["measure_from=1s_seed=1", "measure_from=2s_seed=1"];
        assert_eq!(Labels::of(&folders), labels("measure_from", &["1s", "2s"], "seed=1"));
    }

    #[test]
    fn several_differing_keys_stay_in_the_labels() {
        let runs = ["rate=1Mbps kind=red seed=1", "rate=2Mbps kind=red seed=2"];
        assert_eq!(Labels::of(&runs), labels("", &["rate=1Mbps seed=1", "rate=2Mbps seed=2"], "kind=red"));
        assert_eq!(Labels::without_seeds(&runs), labels("rate", &["1Mbps", "2Mbps"], "kind=red"));
    }

    #[test]
    fn labels_without_keys_are_unchanged() {
        assert_eq!(Labels::of(&["red_big", "droptail"]), labels("", &["red_big", "droptail"], ""));
        assert_eq!(Labels::of(&["a=1", "b=1"]), labels("", &["a=1", "b=1"], ""));
        assert_eq!(Labels::of(&["only=1_seed=2"]), labels("", &["only=1_seed=2"], ""));
        assert_eq!(Labels::without_seeds(&["seed=1", "seed=2"]), labels("", &["", ""], ""));
        assert_eq!(Labels::of(&[]), Labels::default());
    }

    proptest! {
        #[test]
        fn different_labels_stay_different(all in prop::collection::vec("[a-c=_ ]{0,8}", 1..6)) {
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let found = Labels::of(&all).each;
            prop_assert_eq!(found.len(), all.len());
            for (one, label) in found.iter().zip(&all) {
                for (other, its) in found.iter().zip(&all) {
                    prop_assert!(words(label) == words(its) || one != other, "{} and {}: {}", label, its, one);
                }
            }
        }
    }
}
