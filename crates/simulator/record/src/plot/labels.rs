//! What a legend calls runs: what sets them apart, and nothing else.

/// What differs between labels such as `link[0].rate=2Mbps seed=3`, or folders such as `rate=2Mbps_seed=3`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Labels {
    /// The only key that differs, if there is one: then each label is its value.
    pub(super) heading: String,
    /// One a run. Labels that differ stay different.
    pub(super) each: Vec<String>,
    /// What all runs share.
    pub(super) shared: String,
}

impl Labels {
    pub(super) fn of(labels: &[&str]) -> Self {
        match labels {
            [only] => Self { each: vec![(*only).to_owned()], ..Self::default() },
            _ => Self::without(labels, |_| false),
        }
    }

    /// The same, as if runs had no seeds: labels that differ in nothing else become equal.
    pub(super) fn but_for_seed(labels: &[&str]) -> Self {
        Self::without(labels, |word| key(word) == Some("seed"))
    }

    fn without(labels: &[&str], is_left_out: fn(&str) -> bool) -> Self {
        let words: Vec<Vec<&str>> =
            labels.iter().map(|label| words(label).into_iter().filter(|word| !is_left_out(word)).collect()).collect();
        let whole = || words.iter().map(|words| words.join(" ")).collect();
        let Some((first, others)) = words.split_first() else { return Self::default() };
        let alike = |of: &Vec<&str>| of.len() == first.len() && of.iter().zip(first).all(|(a, b)| key(a) == key(b));
        if !others.iter().all(alike) {
            return Self { each: whole(), ..Self::default() };
        }
        let (differing, same): (Vec<usize>, Vec<usize>) =
            (0..first.len()).partition(|&at| others.iter().any(|words| words[at] != first[at]));
        let of = |words: &[&str], places: &[usize]| places.iter().map(|&at| words[at]).collect::<Vec<_>>().join(" ");
        match differing[..] {
            [] => Self { each: whole(), ..Self::default() },
            [only] if key(first[only]).is_some() => Self {
                heading: key(first[only]).unwrap_or_default().to_owned(),
                each: words.iter().map(|words| value(words[only]).to_owned()).collect(),
                shared: of(first, &same),
            },
            _ => Self {
                heading: String::new(),
                each: words.iter().map(|words| of(words, &differing)).collect(),
                shared: of(first, &same),
            },
        }
    }
}

/// The words of a label. The name of a folder has `_` for a space, which keys and values may have, too: it ends a word that has its
/// `=`.
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
    fn one_key_that_differs_is_the_heading_of_its_values() {
        let runs = ["link[0].rate=1Mbps seed=1", "link[0].rate=2Mbps seed=1"];
        assert_eq!(Labels::of(&runs), labels("link[0].rate", &["1Mbps", "2Mbps"], "seed=1"));
        let folders = ["measure_from=1s_seed=1", "measure_from=2s_seed=1"];
        assert_eq!(Labels::of(&folders), labels("measure_from", &["1s", "2s"], "seed=1"));
    }

    #[test]
    fn several_keys_that_differ_stay_with_their_values() {
        let runs = ["rate=1Mbps kind=red seed=1", "rate=2Mbps kind=red seed=2"];
        assert_eq!(Labels::of(&runs), labels("", &["rate=1Mbps seed=1", "rate=2Mbps seed=2"], "kind=red"));
        assert_eq!(Labels::but_for_seed(&runs), labels("rate", &["1Mbps", "2Mbps"], "kind=red"));
    }

    #[test]
    fn names_that_are_no_keys_stay() {
        assert_eq!(Labels::of(&["red_big", "droptail"]), labels("", &["red_big", "droptail"], ""));
        assert_eq!(Labels::of(&["a=1", "b=1"]), labels("", &["a=1", "b=1"], ""));
        assert_eq!(Labels::of(&["only=1_seed=2"]), labels("", &["only=1_seed=2"], ""));
        assert_eq!(Labels::but_for_seed(&["seed=1", "seed=2"]), labels("", &["", ""], ""));
        assert_eq!(Labels::of(&[]), Labels::default());
    }

    proptest! {
        #[test]
        fn labels_that_differ_stay_different(all in prop::collection::vec("[a-c=_ ]{0,8}", 1..6)) {
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
