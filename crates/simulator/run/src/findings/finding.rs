//! The type of a finding, and helpers that compose its text.

pub(super) use headway_units::counted as count;
use serde::Serialize;
use std::collections::BTreeMap;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A problem that affects users or applications.
    Problem,
    /// Information, not necessarily a problem.
    Note,
}

/// Something notable in a record, found by one of the rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Start of the interval that the finding concerns, in s since the start of the run.
    pub time_from_s: f64,
    /// End of the interval that the finding concerns, in s since the start of the run.
    pub time_to_s: f64,
    /// Severity of the finding.
    pub severity: Severity,
    /// Name of the flow or of the link direction that the finding concerns.
    pub subject: String,
    /// Description of the finding: one sentence without a full stop.
    pub text: String,
}

/// Maximum number of flows or links with one cause that are reported individually.
pub(super) const MAX_SEPARATE: usize = 3;

/// Selects the effects to report from (cause, size, effect), and keeps their order. If more than [`MAX_SEPARATE`]
/// have one cause, only the largest is returned, with the number of the others.
pub(super) fn by_cause<K: Ord, T>(effects: Vec<(K, f64, T)>) -> Vec<(T, u64)> {
    let mut causes: BTreeMap<&K, (usize, usize)> = BTreeMap::new();
    for (at, (cause, size, _)) in effects.iter().enumerate() {
        let (count, largest) = causes.entry(cause).or_insert((0, at));
        *count += 1;
        if *size > effects[*largest].1 {
            *largest = at;
        }
    }
    let others = |(at, (cause, ..)): (usize, &(K, f64, T))| match causes[cause] {
        (count, _) if count <= MAX_SEPARATE => Some(0),
        (count, largest) => (at == largest).then_some(count as u64 - 1),
    };
    let others: Vec<Option<u64>> = effects.iter().enumerate().map(others).collect();
    let described = effects.into_iter().zip(others);
    described.filter_map(|((.., effect), others)| Some((effect, others?))).collect()
}

/// Merges findings (cause, size, finding) of one cause. The text of a merged finding ends with the number of the
/// others and `what`.
pub(super) fn one_per_cause<K: Ord>(findings: Vec<(K, f64, Finding)>, what: &str) -> Vec<Finding> {
    let finding = |(mut finding, others): (Finding, u64)| {
        finding.text.push_str(&likewise(others, what));
        finding
    };
    by_cause(findings).into_iter().map(finding).collect()
}

pub(super) fn likewise(others: u64, what: &str) -> String {
    if others == 0 { String::new() } else { format!("; likewise {}", count(others, what)) }
}

/// Formats a part of a whole in percent, with few digits.
pub(super) fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent {
        large if large >= 9.95 => format!("{large:.0} %"),
        small if small > 0.0 && small < 0.05 => "less than 0.1 %".to_owned(),
        other => format!("{other:.1} %"),
    }
}

/// Formats a time with few digits.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        long if long >= 10.0 => format!("{long:.1} s"),
        long if long >= 1.0 => format!("{long:.2} s"),
        short => format!("{:.0} ms", short * 1e3),
    }
}

/// Formats a rate with few digits.
pub(super) fn rate(bits_per_second: f64) -> String {
    if bits_per_second >= 1e6 {
        format!("{:.2} Mb/s", bits_per_second / 1e6)
    } else {
        format!("{:.0} kb/s", bits_per_second / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::{by_cause, percent, rate, time};

    #[test]
    fn more_than_three_effects_of_a_cause_are_merged() {
        let effects = |count: i32| (0..count).map(|at| ("full", f64::from(at % 4), at)).collect::<Vec<_>>();
        assert_eq!(by_cause(effects(3)), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(by_cause(effects(4)), [(3, 3)]);
        let mut mixed = effects(6);
        mixed.insert(2, ("lost", 0.0, 9));
        assert_eq!(by_cause(mixed), [(9, 0), (3, 5)]);
    }

    /// Values at which the unit or the number of digits changes.
    #[test]
    fn quantities_have_few_digits() {
        assert_eq!(
            [0.0, 0.000_499, 0.0005, 0.0994, 0.0995, 1.0].map(percent).join(", "),
            "0.0 %, less than 0.1 %, 0.1 %, 9.9 %, 10 %, 100 %"
        );
        assert_eq!([0.25, 0.9994, 1.0, 9.994, 10.0].map(time).join(", "), "250 ms, 999 ms, 1.00 s, 9.99 s, 10.0 s");
        assert_eq!([25e3, 999_400.0, 1e6].map(rate).join(", "), "25 kb/s, 999 kb/s, 1.00 Mb/s");
    }
}
