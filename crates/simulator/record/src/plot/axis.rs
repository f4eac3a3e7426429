//! What stands along an axis: from values to coordinates, and the ticks between.

use super::frame::printable;
use plotters::coord::ranged1d::{BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub enum XAxis {
    /// These, side by side; a value is the number of a place, from 0.
    Places(Vec<String>),
    /// Numbers.
    Numbers,
    /// Numbers above zero, each factor as long as the same factor anywhere else.
    Logarithm,
}

impl XAxis {
    /// Whether it shows numbers at places whose distances are not those of the numbers.
    pub(super) fn is_distorted(&self) -> bool {
        let Self::Places(names) = self else { return false };
        let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
        let steps: Vec<f64> = numbers.iter().flat_map(|all| all.windows(2)).map(|pair| pair[1] - pair[0]).collect();
        steps.windows(2).any(|pair| (pair[1] - pair[0]).abs() > 1e-6 * pair[0].abs())
    }
}

/// A vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YAxis {
    /// From somewhat below the lowest value.
    Values,
    /// With zero.
    FromZero,
    /// Numbers above zero, each factor as high as the same factor anywhere else.
    Logarithm,
}

/// Beyond is not a number, an infinity or damage: one such value would flatten all others.
pub(super) const LARGEST: f64 = 1e15;
/// On an axis of logarithms, what lies below is taken for zero.
const SMALLEST: f64 = 1e-15;
pub(super) const MOST_DECADES: f64 = 30.0;

/// Up to so many places each has its name below it; of more, some do.
pub(super) const NAMED_PLACES: usize = 40;
const X_LABELS: usize = 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Logarithm,
}

impl Scale {
    /// Where a value lies; none if it cannot be drawn.
    pub(super) fn coordinate(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear => (value.abs() <= LARGEST).then_some(value),
            Self::Logarithm => (SMALLEST..=LARGEST).contains(&value).then(|| libm::log10(value)),
        }
    }
}

/// An axis as it is drawn; values are coordinates.
#[derive(Clone)]
pub(super) struct Drawn {
    /// In coordinates.
    pub(super) range: Range<f64>,
    /// Each with its words; places between which there are none have empty ones.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Drawn {
    /// Places with so much beside the first and the last, in parts of the way from one to the next.
    pub(super) fn places(names: &[String], beside: f64) -> Self {
        let range = -beside..names.len().max(1) as f64 - 1.0 + beside;
        let at = if names.len() > NAMED_PLACES {
            evenly(&range, X_LABELS)
        } else {
            (0..names.len()).map(|n| n as f64).collect()
        };
        let name = |at: f64| {
            let nearest = at.round();
            let known = (at - nearest).abs() < 1e-6 && nearest >= 0.0;
            known.then(|| names.get(nearest as usize)).flatten().map(|name| printable(name)).unwrap_or_default()
        };
        Self { ticks: at.into_iter().map(|at| (at, name(at))).collect(), range }
    }

    /// Numbers in a range of coordinates, with about so many ticks.
    pub(super) fn numbers(scale: Scale, range: Range<f64>, many: usize) -> Self {
        let ticks = match scale {
            Scale::Linear => labelled(evenly(&range, many)),
            Scale::Logarithm => logarithms(&range, many),
        };
        Self { range, ticks }
    }

    /// The same with a tick at each of these coordinates, if they are few and do not crowd.
    pub(super) fn numbers_at(scale: Scale, range: Range<f64>, many: usize, mut at: Vec<f64>) -> Self {
        at.sort_by(f64::total_cmp);
        at.dedup();
        let least = (range.end - range.start) / (many + 1) as f64;
        if !(2..=many).contains(&at.len()) || at.windows(2).any(|pair| pair[1] - pair[0] < least) {
            return Self::numbers(scale, range, many);
        }
        let ticks = match scale {
            Scale::Linear => labelled(at),
            Scale::Logarithm => at.into_iter().map(|at| (at, each(libm::pow(10.0, at)))).collect(),
        };
        Self { range, ticks }
    }

    fn label(&self, at: f64) -> String {
        self.ticks.iter().find(|(known, _)| *known == at).map_or(String::new(), |(_, words)| words.clone())
    }

    pub(super) fn longest_label(&self) -> usize {
        self.ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(0)
    }
}

impl Ranged for Drawn {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // Nothing is drawn far outside, where pixels have no numbers.
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

impl ValueFormatter<f64> for Drawn {
    fn format_ext(&self, at: &f64) -> String {
        self.label(*at)
    }
}

/// Round numbers, evenly, at most so many.
fn evenly(range: &Range<f64>, many: usize) -> Vec<f64> {
    RangedCoordf64::from(range.clone()).key_points(BoldPoints(many))
}

/// Digits for all, or powers of ten for all: an axis reads in one way.
fn labelled(at: Vec<f64>) -> Vec<(f64, String)> {
    let largest = at.iter().map(|at| at.abs()).fold(0.0, f64::max);
    let words: fn(f64) -> String = if largest >= 1e7 || (largest > 0.0 && largest < 1e-4) { power } else { decimal };
    at.into_iter().map(|at| (at, words(at))).collect()
}

/// At most six decimals, without trailing zeros.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn power(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{value:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Powers of ten; where there are few, also twice and five times these; where there are too few, round numbers.
fn logarithms(range: &Range<f64>, many: usize) -> Vec<(f64, String)> {
    let (first, last) = (range.start.floor() as i32, range.end.ceil() as i32);
    let of = |digits: &[f64]| -> Vec<f64> {
        let all = (first..=last)
            .flat_map(|exponent| digits.iter().map(move |digit| digit * libm::pow(10.0, f64::from(exponent))));
        all.filter(|value| range.contains(&libm::log10(*value))).collect()
    };
    let mut values = of(&[1.0, 2.0, 5.0]);
    if values.len() > many {
        values = of(&[1.0]);
        let step = values.len().div_ceil(many.max(1));
        values = values.into_iter().step_by(step).collect();
    } else if values.len() < 3 {
        // In thousands, where steps are whole: the library takes what is near zero for zero, and loses ticks to rounding.
        let unit = libm::pow(10.0, range.start.floor() - 3.0);
        let power = |exponent: f64| libm::pow(10.0, exponent) / unit;
        values = evenly(&(power(range.start)..power(range.end)), many);
        values.iter_mut().for_each(|value| *value *= unit);
    }
    values.into_iter().map(|value| (libm::log10(value), each(value))).collect()
}

/// Digits, unless they would be many: from a millionth to a million is more than they can show.
pub(super) fn each(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) { decimal(value) } else { power(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(drawn: &Drawn) -> Vec<&str> {
        drawn.ticks.iter().map(|(_, words)| words.as_str()).collect()
    }

    /// The rates of the figures 4 to 13 of the SFDPS paper are drawn at equal distances; those of its loss are.
    #[test]
    fn places_that_are_numbers_at_unequal_steps_are_distorted() {
        let distorted =
            |names: &[&str]| XAxis::Places(names.iter().map(|name| (*name).to_owned()).collect()).is_distorted();
        assert!(distorted(&["200", "300", "400", "500", "700"]));
        assert!(!distorted(&["0", "0.1", "0.2", "0.3"]) && !distorted(&["10", "5", "0"]));
        assert!(!distorted(&["1", "5"]) && !distorted(&["1", "2", "many"]) && !distorted(&[]));
        assert!(!XAxis::Numbers.is_distorted());
    }

    #[test]
    fn ticks_of_logarithms_are_round() {
        let of = |low: f64, high: f64| Drawn::numbers(Scale::Logarithm, libm::log10(low)..libm::log10(high), 11);
        assert_eq!(words(&of(0.9, 21.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(
            words(&of(0.0009, 110_000.0)),
            ["0.001", "0.01", "0.1", "1", "10", "100", "1000", "10000", "100000"]
        );
        assert_eq!(
            words(&of(0.9e-9, 1.1e9)),
            ["1e-9", "1e-7", "1e-5", "0.001", "0.1", "10", "1000", "100000", "1e7", "1e9"]
        );
        assert_eq!(
            words(&of(29.0, 41.0)),
            ["30", "32", "34", "36", "38", "40"],
            "no power of ten, and nothing twice or five times one"
        );
    }

    #[test]
    fn an_axis_reads_in_one_way() {
        let of = |low: f64, high: f64| Drawn::numbers(Scale::Linear, low..high, 7);
        assert_eq!(words(&of(0.0, 3.2e7)), ["0", "5e6", "1e7", "1.5e7", "2e7", "2.5e7", "3e7"]);
        assert_eq!(words(&of(0.0, 3.2e-5)), ["0", "5e-6", "1e-5", "1.5e-5", "2e-5", "2.5e-5", "3e-5"]);
        assert_eq!(words(&of(-1.0, 1.0)), ["-1", "-0.5", "0", "0.5", "1"]);
    }

    #[test]
    fn places_are_named_where_there_is_room() {
        let names = |many: usize| (0..many).map(|n| format!("p{n}")).collect::<Vec<_>>();
        assert_eq!(words(&Drawn::places(&names(3), 0.5)), ["p0", "p1", "p2"]);
        assert!(words(&Drawn::places(&names(1000), 0.5)).len() <= X_LABELS);
        assert_eq!(words(&Drawn::places(&[], 0.5)), [""; 0]);
    }

    proptest! {
        #[test]
        fn ticks_lie_in_their_axis(low in -15.0..15.0f64, length in prop_oneof![0.0001..30.0f64, 1e-12..1e-3f64], many in 2usize..12) {
            for scale in [Scale::Linear, Scale::Logarithm] {
                let drawn = Drawn::numbers(scale, low..low + length, many);
                prop_assert!(drawn.ticks.len() <= many + 2, "{:?}", drawn.ticks);
                for (at, label) in &drawn.ticks {
                    prop_assert!((low - 1e-9..=low + length + 1e-9).contains(at), "{label} at {at}");
                }
            }
        }
    }
}
