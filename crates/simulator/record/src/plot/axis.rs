//! Axes: conversion of values to coordinates, and ticks.

use super::frame::printable;
use plotters::coord::ranged1d::{BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// Kind of the horizontal axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum XAxis {
    /// Axis of named categories at equal distances; a value is the index of a category, from 0.
    Places(Vec<String>),
    /// Linear axis.
    Numbers,
    /// Logarithmic axis; values must be above 0.
    Logarithm,
}

impl XAxis {
    /// Returns whether the categories are numbers at unequal steps.
    pub(super) fn is_distorted(&self) -> bool {
        let Self::Places(names) = self else { return false };
        let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
        let steps: Vec<f64> = numbers.iter().flat_map(|all| all.windows(2)).map(|pair| pair[1] - pair[0]).collect();
        steps.windows(2).any(|pair| (pair[1] - pair[0]).abs() > 1e-6 * pair[0].abs())
    }
}

/// Kind of the vertical axis of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YAxis {
    /// Linear axis from slightly below the smallest value.
    Values,
    /// Linear axis that includes 0.
    FromZero,
    /// Logarithmic axis; values must be above 0.
    Logarithm,
}

/// Maximum magnitude that is drawn; a larger value would flatten all others.
pub(super) const MAX_VALUE: f64 = 1e15;
/// Minimum value on a logarithmic axis; smaller values are not drawn.
const MIN_VALUE: f64 = 1e-15;
/// Number of decades from [`MIN_VALUE`] to [`MAX_VALUE`].
pub(super) const MAX_DECADES: f64 = 30.0;

/// Maximum number of categories that are all labeled.
pub(super) const MAX_NAMED_PLACES: usize = 40;
/// Number of labels of a longer list of categories.
const X_LABELS: usize = 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Logarithm,
}

impl Scale {
    /// Returns the coordinate of a value; `None` if it cannot be drawn.
    pub(super) fn coordinate(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear => (value.abs() <= MAX_VALUE).then_some(value),
            Self::Logarithm => (MIN_VALUE..=MAX_VALUE).contains(&value).then(|| libm::log10(value)),
        }
    }
}

/// An axis with its ticks; values are coordinates.
#[derive(Clone)]
pub(super) struct AxisScale {
    /// Range of coordinates.
    pub(super) range: Range<f64>,
    /// Coordinates and labels of the ticks.
    pub(super) ticks: Vec<(f64, String)>,
}

impl AxisScale {
    /// Returns an axis of categories, with `margin` before the first and after the last, as a fraction of their
    /// distance.
    pub(super) fn places(names: &[String], margin: f64) -> Self {
        let range = -margin..names.len().max(1) as f64 - 1.0 + margin;
        let at = if names.len() > MAX_NAMED_PLACES {
            even_ticks(&range, X_LABELS)
        } else {
            (0..names.len()).map(|n| n as f64).collect()
        };
        // Ticks of more than MAX_NAMED_PLACES are whole numbers, too.
        let name = |at: f64| names.get(at.round() as usize).map(|name| printable(name)).unwrap_or_default();
        Self { ticks: at.into_iter().map(|at| (at, name(at))).collect(), range }
    }

    /// Returns an axis of numbers in a range of coordinates with about `max_ticks` ticks.
    pub(super) fn numbers(scale: Scale, range: Range<f64>, max_ticks: usize) -> Self {
        let ticks = match scale {
            Scale::Linear => labeled(even_ticks(&range, max_ticks)),
            Scale::Logarithm => logarithmic_ticks(&range, max_ticks),
        };
        Self { range, ticks }
    }

    /// Like [`numbers`](Self::numbers), with ticks at the coordinates `at` if they are few and not too close.
    pub(super) fn numbers_at(scale: Scale, range: Range<f64>, max_ticks: usize, mut at: Vec<f64>) -> Self {
        at.sort_by(f64::total_cmp);
        at.dedup();
        let min_distance = (range.end - range.start) / (max_ticks + 1) as f64;
        if !(2..=max_ticks).contains(&at.len()) || at.windows(2).any(|pair| pair[1] - pair[0] < min_distance) {
            return Self::numbers(scale, range, max_ticks);
        }
        let ticks = match scale {
            Scale::Linear => labeled(at),
            Scale::Logarithm => at.into_iter().map(|at| (at, tick_label(libm::pow(10.0, at)))).collect(),
        };
        Self { range, ticks }
    }

    fn label(&self, at: f64) -> String {
        self.ticks.iter().find(|(known, _)| *known == at).map_or(String::new(), |(_, label)| label.clone())
    }

    pub(super) fn longest_label(&self) -> usize {
        self.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0)
    }
}

impl Ranged for AxisScale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // Values far outside would overflow pixel coordinates.
        let length = self.range.end - self.range.start;
        let near = value.clamp(self.range.start - length, self.range.end + length);
        RangedCoordf64::from(self.range.clone()).map(&near, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let bold = !hint.weight().allow_light_points();
        self.ticks.iter().map(|(at, _)| *at).filter(|_| bold).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for AxisScale {
    fn format_ext(&self, at: &f64) -> String {
        self.label(*at)
    }
}

/// Returns at most `max` round numbers at equal distances.
fn even_ticks(range: &Range<f64>, max: usize) -> Vec<f64> {
    RangedCoordf64::from(range.clone()).key_points(BoldPoints(max))
}

/// Labels all ticks in decimal, or all in scientific notation.
fn labeled(at: Vec<f64>) -> Vec<(f64, String)> {
    let largest = at.iter().map(|at| at.abs()).fold(0.0, f64::max);
    let label: fn(f64) -> String =
        if largest >= 1e7 || (largest > 0.0 && largest < 1e-4) { scientific } else { decimal };
    at.into_iter().map(|at| (at, label(at))).collect()
}

/// Formats a number with at most six decimals, without trailing zeros.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn scientific(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{value:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns powers of ten and two and five times these, only powers of ten if there are too many, or round numbers if
/// there are fewer than three.
fn logarithmic_ticks(range: &Range<f64>, max: usize) -> Vec<(f64, String)> {
    let (first, last) = (range.start.floor() as i32, range.end.ceil() as i32);
    let of = |digits: &[f64]| -> Vec<f64> {
        let all = (first..=last)
            .flat_map(|exponent| digits.iter().map(move |digit| digit * libm::pow(10.0, f64::from(exponent))));
        all.filter(|value| range.contains(&libm::log10(*value))).collect()
    };
    let mut values = of(&[1.0, 2.0, 5.0]);
    if values.len() > max {
        values = of(&[1.0]);
        let step = values.len().div_ceil(max.max(1));
        values = values.into_iter().step_by(step).collect();
    } else if values.len() < 3 {
        // Scaled to thousands: the library treats numbers near 0 as 0 and loses ticks to rounding.
        let unit = libm::pow(10.0, range.start.floor() - 3.0);
        let power = |exponent: f64| libm::pow(10.0, exponent) / unit;
        values = even_ticks(&(power(range.start)..power(range.end)), max);
        values.iter_mut().for_each(|value| *value *= unit);
    }
    values.into_iter().map(|value| (libm::log10(value), tick_label(value))).collect()
}

/// Formats a number from 1e-3 to 1e6 in decimal, others in scientific notation.
pub(super) fn tick_label(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) { decimal(value) } else { scientific(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &AxisScale) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    /// Figures 4 to 13 of the SFDPS paper have unequal rates at equal distances; its loss ratios have equal steps.
    #[test]
    fn categories_with_unequal_steps_are_distorted() {
        let distorted =
            |names: &[&str]| XAxis::Places(names.iter().map(|name| (*name).to_owned()).collect()).is_distorted();
        assert!(distorted(&["200", "300", "400", "500", "700"]));
        assert!(!distorted(&["0", "0.1", "0.2", "0.3"]) && !distorted(&["10", "5", "0"]));
        assert!(!distorted(&["1", "5"]) && !distorted(&["1", "2", "many"]) && !distorted(&[]));
        assert!(!XAxis::Numbers.is_distorted());
    }

    #[test]
    fn logarithmic_ticks_are_round() {
        let of = |low: f64, high: f64| AxisScale::numbers(Scale::Logarithm, libm::log10(low)..libm::log10(high), 11);
        assert_eq!(labels(&of(0.9, 21.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(
            labels(&of(0.0009, 110_000.0)),
            ["0.001", "0.01", "0.1", "1", "10", "100", "1000", "10000", "100000"]
        );
        assert_eq!(
            labels(&of(0.9e-9, 1.1e9)),
            ["1e-9", "1e-7", "1e-5", "0.001", "0.1", "10", "1000", "100000", "1e7", "1e9"]
        );
        assert_eq!(
            labels(&of(29.0, 41.0)),
            ["30", "32", "34", "36", "38", "40"],
            "without a power of ten, or two or five times one"
        );
    }

    #[test]
    fn all_ticks_have_one_notation() {
        let of = |low: f64, high: f64| AxisScale::numbers(Scale::Linear, low..high, 7);
        assert_eq!(labels(&of(0.0, 3.2e7)), ["0", "5e6", "1e7", "1.5e7", "2e7", "2.5e7", "3e7"]);
        assert_eq!(labels(&of(0.0, 3.2e-5)), ["0", "5e-6", "1e-5", "1.5e-5", "2e-5", "2.5e-5", "3e-5"]);
        assert_eq!(labels(&of(-1.0, 1.0)), ["-1", "-0.5", "0", "0.5", "1"]);
    }

    #[test]
    fn all_or_some_categories_are_labeled() {
        let names = |count: usize| (0..count).map(|n| format!("p{n}")).collect::<Vec<_>>();
        assert_eq!(labels(&AxisScale::places(&names(3), 0.5)), ["p0", "p1", "p2"]);
        assert!(labels(&AxisScale::places(&names(1000), 0.5)).len() <= X_LABELS);
        assert_eq!(labels(&AxisScale::places(&[], 0.5)), [""; 0]);
    }

    proptest! {
        #[test]
        fn ticks_are_within_their_axis(low in -15.0..15.0f64, length in prop_oneof![0.0001..30.0f64, 1e-12..1e-3f64], max_ticks in 2usize..12) {
            for scale in [Scale::Linear, Scale::Logarithm] {
                let axis = AxisScale::numbers(scale, low..low + length, max_ticks);
                prop_assert!(axis.ticks.len() <= max_ticks + 2, "{:?}", axis.ticks);
                for (at, label) in &axis.ticks {
                    prop_assert!((low - 1e-9..=low + length + 1e-9).contains(at), "{label} at {at}");
                }
            }
        }
    }
}
