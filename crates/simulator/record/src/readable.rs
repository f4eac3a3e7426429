//! Selection of units in which numbers have few digits.

/// Units of a record or a scenario, each with its display units and their factors, largest first.
const UNITS: [(&str, &[(&str, f64)]); 3] = [
    ("bps", &[("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)]),
    ("s", &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]),
    ("B", &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)]),
];
/// Further display units, which only a label selects.
const LABEL_UNITS: [(&str, &[(&str, f64)]); 2] = [
    ("bps", &[("GB/s", 8e9), ("MB/s", 8e6), ("kB/s", 8e3), ("B/s", 8.0), ("Kb/s", 1e3)]),
    ("s", &[("min", 60.0), ("h", 3600.0)]),
];

/// Returns the title of an axis with its display unit, and the size of the display unit in `unit`s: `Rate (Mb/s)` and
/// 1e6 for values in `bps`.
///
/// The display unit is the largest one that does not exceed the largest value, or `unit` if there is none. If the
/// user's `label` ends in a unit of the same quantity, such as `Link rate (Mb/s)`, that unit is used instead. The unit
/// `1` of ratios and counts is not shown.
#[must_use]
pub fn axis_title(title: &str, unit: Option<&str>, largest: f64, label: Option<&str>) -> (String, f64) {
    let Some(unit) = unit else { return (title.to_owned(), 1.0) };
    let (unit, scale) = readable_unit(unit, largest, label);
    (if unit == "1" { title.to_owned() } else { format!("{title} ({unit})") }, scale)
}

/// A label of an axis whose unit is one of another quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the label \"{label}\" has the unit {found}; the axis has {allowed}")]
pub struct LabelError {
    label: String,
    found: String,
    allowed: String,
}

/// Checks that a user's label of an axis with values in `unit` does not end in a unit of another quantity, such as
/// `Rate (ms)`. Any other text in parentheses is allowed.
///
/// # Errors
/// It does.
pub fn check_label(label: &str, unit: &str) -> Result<(), LabelError> {
    let Some(found) = unit_of_label(label) else { return Ok(()) };
    let all = || UNITS.iter().chain(&LABEL_UNITS);
    let has_found = |(_, units): &&(&str, &[(&str, f64)])| units.iter().any(|(name, _)| *name == found);
    if all().filter(has_found).all(|(of, _)| *of == unit) {
        return Ok(());
    }
    let own: Vec<&str> =
        all().filter(|(of, _)| *of == unit).flat_map(|(_, units)| units.iter()).map(|unit| unit.0).collect();
    let allowed = match own.as_slice() {
        [] if unit == "1" => "no unit".to_owned(),
        [] => format!("the unit {unit}"),
        own => format!("one of the units {}", own.join(", ")),
    };
    Err(LabelError { label: label.to_owned(), found, allowed })
}

/// Returns a value as text in the unit in which it has few digits, with at most six decimals: `2 Mb/s` for 2e6 in
/// `bps`.
#[must_use]
pub fn quantity(value: f64, unit: Option<&str>) -> String {
    let (unit, scale) = unit.map_or(("1", 1.0), |unit| readable_unit(unit, value.abs(), None));
    let digits = format!("{:.6}", value / scale);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if unit == "1" { digits.to_owned() } else { format!("{digits} {unit}") }
}

fn readable_unit<'a>(unit: &'a str, largest: f64, label: Option<&str>) -> (&'a str, f64) {
    let Some((_, units)) = UNITS.iter().find(|(known, _)| *known == unit) else { return (unit, 1.0) };
    let label_unit = label.and_then(unit_of_label);
    let others = LABEL_UNITS.iter().find(|(known, _)| *known == unit).map_or(&[][..], |(_, units)| *units);
    let from_label = label_unit.and_then(|label_unit| units.iter().chain(others).find(|(name, _)| *name == label_unit));
    let fitting = units.iter().find(|(_, scale)| largest >= *scale);
    let base = units.iter().find(|(_, scale)| *scale == 1.0);
    from_label.or(fitting).or(base).copied().unwrap_or((unit, 1.0))
}

/// Returns the unit in parentheses at the end of a label, in the spelling of [`UNITS`].
fn unit_of_label(label: &str) -> Option<String> {
    let (_, unit) = label.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let unit = unit.trim();
    let rate = unit.strip_suffix("bit/s").or_else(|| unit.strip_suffix("bps"));
    Some(rate.map_or_else(|| unit.replace(['µ', 'μ'], "u"), |prefix| format!("{prefix}b/s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: ticks of a rate were 1e6 and 1e7 under a label in bits per second.
    #[test]
    fn an_axis_has_the_unit_of_its_largest_value() {
        let of = |unit, largest| readable_unit(unit, largest, None);
        assert_eq!(of("bps", 1e7), ("Mb/s", 1e6));
        assert_eq!(of("bps", 2.5e9), ("Gb/s", 1e9));
        assert_eq!(of("bps", 0.0), ("b/s", 1.0));
        assert_eq!(of("s", 0.08), ("ms", 1e-3));
        assert_eq!(of("s", 90.0), ("s", 1.0));
        assert_eq!(of("B", 1500.0), ("kB", 1e3));
        assert_eq!(of("s", 0.0), ("s", 1.0));
        assert_eq!(of("packets", 1e7), ("packets", 1.0));
        assert_eq!(axis_title("rate", Some("bps"), 1e7, None), ("rate (Mb/s)".to_owned(), 1e6));
        assert_eq!(axis_title("probability", Some("1"), 1e7, None), ("probability".to_owned(), 1.0));
    }

    #[test]
    fn a_quantity_has_the_unit_in_which_it_has_few_digits() {
        let found = [(2e6, "bps"), (0.04, "s"), (1500.0, "B"), (20.0, "packets"), (0.05, "1"), (-0.5, "s")]
            .map(|(value, unit)| quantity(value, Some(unit)));
        assert_eq!(found, ["2 Mb/s", "40 ms", "1.5 kB", "20 packets", "0.05", "-500 ms"]);
        assert_eq!(quantity(100.0, None), "100");
    }

    #[test]
    fn a_label_has_no_unit_of_another_quantity() {
        for (label, unit) in [
            ("Rate (Mb/s)", "bps"),
            ("Rate (kB/s)", "bps"),
            ("Rate (solid: video)", "bps"),
            ("Rate", "bps"),
            ("Time (min)", "s"),
            ("Queue (packets)", "packets"),
            ("Loss (%)", "1"),
        ] {
            assert_eq!(check_label(label, unit), Ok(()), "{label}");
        }
        let error = |label, unit| check_label(label, unit).unwrap_err().to_string();
        assert_eq!(
            error("Rate (ms)", "bps"),
            "the label \"Rate (ms)\" has the unit ms; the axis has one of the units Gb/s, Mb/s, kb/s, b/s, GB/s, MB/s, \
             kB/s, B/s, Kb/s"
        );
        assert_eq!(
            error("Queue (ms)", "packets"),
            "the label \"Queue (ms)\" has the unit ms; the axis has the unit packets"
        );
        assert_eq!(error("Loss (Mbit/s)", "1"), "the label \"Loss (Mbit/s)\" has the unit Mb/s; the axis has no unit");
    }

    /// Regression: the ticks under a label in Mb/s had another unit.
    #[test]
    fn the_unit_of_a_label_is_that_of_its_ticks() {
        let of = |unit, label| readable_unit(unit, 5e5, Some(label));
        for label in ["Link rate (Mb/s)", "Link rate (Mbit/s)", "Link rate (Mbps) "] {
            assert_eq!(of("bps", label), ("Mb/s", 1e6), "{label}");
        }
        assert_eq!(of("bps", "Link rate"), ("kb/s", 1e3));
        assert_eq!(of("bps", "Link rate (kB/s)"), ("kB/s", 8e3));
        assert_eq!(readable_unit("s", 30.0, Some("Time (min)")), ("min", 60.0));
        assert_eq!(of("bps", "Link rate (of both)"), ("kb/s", 1e3));
        assert_eq!(readable_unit("s", 0.5, Some("Delay (µs)")), ("us", 1e-6));
        assert_eq!(readable_unit("s", 0.5, Some("Delay (Mb/s)")), ("ms", 1e-3));
    }
}
