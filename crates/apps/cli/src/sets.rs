//! `--set`, and the options that set keys of their own.

use crate::error::Failure;
use headway_scenario::Override;

/// Returns the overrides of the options and of `--set`. Each option comes with the override that it stands for.
///
/// # Errors
/// An option and `--set` both set a key.
pub(crate) fn overrides<S: AsRef<str>>(options: &[(S, String)], sets: &[String]) -> Result<Vec<Override>, Failure> {
    for (option, own) in options {
        let option = option.as_ref();
        if let Some(set) = sets.iter().find(|set| key(set) == key(own)) {
            return Err(Failure::Usage(format!(
                "{option} and --set {set} both set {}: leave one of the two out",
                key(own)
            )));
        }
    }
    check_once(sets)?;
    let of_options = options.iter().map(|(option, own)| Override::of_option(option.as_ref(), own));
    let of_sets = sets.iter().map(|set| set.parse());
    Ok(of_options.chain(of_sets).collect::<Result<_, _>>()?)
}

/// Returns the key of `KEY=VALUE`.
pub(crate) fn key(set: &str) -> &str {
    set.split('=').next().unwrap_or_default().trim()
}

/// Checks that no key is there twice in `--set`.
///
/// # Errors
/// The second `--set` of a key, which would replace the first one.
pub(crate) fn check_once(sets: &[String]) -> Result<(), Failure> {
    for (index, set) in sets.iter().enumerate() {
        if sets[..index].iter().any(|first| key(first) == key(set)) {
            return Err(Failure::Usage(format!("--set {set}: {} is set twice: write --set once", key(set))));
        }
    }
    Ok(())
}

/// The override of `--seed`.
pub(crate) fn seed(seed: Option<u64>) -> Vec<(&'static str, String)> {
    seed.map(|seed| ("--seed", format!("seed={seed}"))).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--seed 1 --set seed=2` once ran seed 1 without a word.
    #[test]
    fn a_key_is_set_once() {
        let sets =
            |sets: &[&str]| overrides(&seed(Some(1)), &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>());
        assert_eq!(sets(&["link[0].rate=2Mbps"]).unwrap().len(), 2);
        for set in ["seed=2", " seed = 1"] {
            let error = sets(&["duration=1s", set]).unwrap_err().to_string();
            assert_eq!(error, format!("--seed and --set {set} both set seed: leave one of the two out"));
        }
        let error = sets(&["duration=1s", "duration = 2s"]).unwrap_err().to_string();
        assert_eq!(error, "--set duration = 2s: duration is set twice: write --set once");
        assert_eq!(overrides(&seed(None), &["seed=2".to_owned()]).unwrap(), ["seed=2".parse().unwrap()]);
    }
}
