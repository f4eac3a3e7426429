//! `--set`, and options that set a fixed key of the scenario.

use crate::error::Failure;
use headway_scenario::Override;

/// Returns the overrides of the options and of `--set`. `options` are pairs of an option's name and its override.
///
/// # Errors
/// An option and `--set` set the same key.
pub(crate) fn overrides<S: AsRef<str>>(options: &[(S, String)], sets: &[String]) -> Result<Vec<Override>, Failure> {
    for (option, own) in options {
        let option = option.as_ref();
        if let Some(set) = sets.iter().find(|set| key(set) == key(own)) {
            return Err(Failure::Usage(format!("{option} and --set {set} both set {}; remove one of them", key(own))));
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

/// Checks that `--set` sets each key at most once.
pub(crate) fn check_once(sets: &[String]) -> Result<(), Failure> {
    for (index, set) in sets.iter().enumerate() {
        if sets[..index].iter().any(|first| key(first) == key(set)) {
            return Err(Failure::Usage(format!("--set {set}: {} is set twice", key(set))));
        }
    }
    Ok(())
}

/// Returns the override of `--seed`.
pub(crate) fn seed(seed: Option<u64>) -> Vec<(&'static str, String)> {
    seed.map(|seed| ("--seed", format!("seed={seed}"))).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_are_refused() {
        let sets =
            |sets: &[&str]| overrides(&seed(Some(1)), &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>());
        assert_eq!(sets(&["link[0].rate=2Mbps"]).unwrap().len(), 2);
        for set in ["seed=2", " seed = 1"] {
            let error = sets(&["duration=1s", set]).unwrap_err().to_string();
            assert_eq!(error, format!("--seed and --set {set} both set seed; remove one of them"));
        }
        let error = sets(&["duration=1s", "duration = 2s"]).unwrap_err().to_string();
        assert_eq!(error, "--set duration = 2s: duration is set twice");
        assert_eq!(overrides(&seed(None), &["seed=2".to_owned()]).unwrap(), ["seed=2".parse().unwrap()]);
    }
}
