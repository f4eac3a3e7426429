//! Ranges of values: `{ from = "10ms", to = "100ms", steps = 10 }`.

use crate::document::{Data, Origin, Value};
use crate::limits::MAX_RUNS;
use crate::path::Path;
use crate::quantity::{count_of_one, counted};
use crate::reader::{Open, Reader};
use crate::vocabulary::VOCABULARY;
use headway_units::number_and_unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Range of values of a key that varies, both ends included; `KEY=10ms..100ms/10` with `--vary`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "used by the schema only")]
pub(crate) struct RangeTable {
    /// First value: a number, or text with a unit.
    from: EndTable,
    /// Last value, in the same unit.
    to: EndTable,
    /// Number of values, including both ends.
    #[schemars(range(min = 2, max = 100_000))]
    steps: Option<u64>,
    /// Difference of consecutive values, in place of steps.
    step: Option<EndTable>,
    /// Spacing of the values: equal differences, or equal ratios.
    #[schemars(default)]
    scale: Scale,
}

/// Number, or text with a unit.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "used by the schema only")]
enum EndTable {
    /// Number.
    Number(f64),
    /// Number with its unit, such as "10ms".
    Text(String),
}

/// Spacing of the values of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// Valid range.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    origin: Origin,
    form: Form,
    ends: Ends,
    scale: Scale,
    count: usize,
}

/// Notation of the values.
#[derive(Clone, Debug)]
enum Form {
    Integer,
    Float,
    /// With a unit and at most `decimals` decimals.
    Text {
        unit: String,
        decimals: u32,
    },
}

/// Ends and step of a range: integers of the smallest unit if possible, so that all values are exact.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Whole { from: i128, to: i128, step: Option<i128> },
    Real { from: f64, to: f64, step: Option<f64> },
}

/// Significant digits of numbers that are not exact.
const DIGITS: i32 = 12;

/// Returns whether a table is a range and not a value.
pub(crate) fn is_range(value: &Value) -> bool {
    value.table().is_some_and(|table| table.keys().any(|key| matches!(key.as_str(), "from" | "to" | "step" | "steps")))
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path) -> Option<Range> {
    let mut open = reader.open(value, path, &VOCABULARY.range)?;
    let from = end(&mut open, "from");
    let to = end(&mut open, "to");
    let step = open.value("step").map(|_| end(&mut open, "step"));
    let allowed = format!("from 2, both ends counted, to {MAX_RUNS}");
    let steps = open.within("steps", 2..=MAX_RUNS as u64, &allowed);
    if steps.is_none() && open.value("steps").is_some() {
        return None;
    }
    let scale = open.optional("scale").unwrap_or_default();
    let (from, to, step) = (from?, to?, step.map_or(Some(None), |step| step.map(Some))?);
    if steps.is_some() && step.is_some() {
        open.wrong("step", "steps already sets the number of values: leave one of the two out");
        return None;
    }
    if step.is_some() && scale == Scale::Log {
        open.wrong("step", "a step needs a linear scale: write steps");
        return None;
    }
    let other_unit =
        [Some(&to), step.as_ref()].into_iter().flatten().zip(["to", "step"]).find(|(end, _)| end.unit != from.unit);
    if let Some((end, key)) = other_unit {
        let (unit, found) = (named(from.unit), named(end.unit));
        open.wrong(key, format!("this is {found}, and from is {unit}: write all in one unit"));
        return None;
    }
    let (form, ends) = ends(&from, &to, step.as_ref());
    let range = Range { origin: value.origin.clone(), form, ends, scale, count: 0 };
    let (low, high) = range.ends();
    if !(high - low).is_finite() {
        open.wrong("to", "the difference of from and to is out of range");
        return None;
    }
    if low == high {
        open.wrong("to", "from and to are the same: write a single value in an array, or leave the key out");
        return None;
    }
    if scale == Scale::Log && (low <= 0.0 || high <= 0.0) {
        let key = if low <= 0.0 { "from" } else { "to" };
        open.wrong(key, "on a log scale both ends must be above zero");
        return None;
    }
    let count = match (steps, step) {
        (Some(steps), _) => steps as usize,
        (None, Some(_)) => match range.count_by_step() {
            Ok(count) => count,
            Err(message) => {
                open.wrong("step", message);
                return None;
            }
        },
        (None, None) => {
            reader.wrong(path, "this range has neither steps nor step: write steps = 10, or a step");
            return None;
        }
    };
    Some(Range { count, ..range })
}

/// Reason why a step does not divide a range.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error("expected a step above 0 and at most the difference of from and to")]
    Size,
    #[error("these are more than {MAX_RUNS} values: write a larger step")]
    TooMany,
    #[error(
        "the range is not a multiple of this step: write another step, or the number of values, such as steps = {steps}"
    )]
    Past { steps: usize },
}

/// End of a range as written.
struct End<'a> {
    value: &'a Value,
    number: f64,
    /// `None` for a bare number.
    unit: Option<&'a str>,
}

fn named(unit: Option<&str>) -> String {
    match unit {
        None => "a bare number".to_owned(),
        Some("") => "text without a unit".to_owned(),
        Some(unit) => format!("in {}", crate::suggest::quoted(unit)),
    }
}

fn end<'a>(open: &mut Open<'_, 'a>, key: &str) -> Option<End<'a>> {
    let Some(value) = open.value(key) else {
        open.missing(key, "\"10ms\"");
        return None;
    };
    let end = match &value.data {
        Data::Integer(number) => Some((*number as f64, None)),
        Data::Float(number) => Some((*number, None)),
        Data::Text(text) => number_and_unit(text).map(|(number, unit)| (number, Some(unit))),
        _ => None,
    };
    let Some((number, unit)) = end.filter(|(number, _)| number.is_finite()) else {
        open.wrong(
            key,
            "expected a number, or a number with a unit such as \"10ms\": other values are written in an array",
        );
        return None;
    };
    Some(End { value, number, unit })
}

/// Returns the notation of the values, and the ends as numbers.
fn ends(from: &End<'_>, to: &End<'_>, step: Option<&End<'_>>) -> (Form, Ends) {
    let whole = |end: &End<'_>| match &end.value.data {
        Data::Integer(number) => Some(*number),
        Data::Text(text) => counted(text).map(|(_, count)| count),
        _ => None,
    };
    let form = match from.unit {
        None if [Some(from), Some(to), step].into_iter().flatten().all(|end| whole(end).is_some()) => Form::Integer,
        None => Form::Float,
        Some(unit) => {
            let one = count_of_one(unit).map_or(0, |(_, one)| one);
            let decimals = (0..=12).find(|decimals| 10_i128.pow(*decimals) == one);
            Form::Text { unit: unit.to_owned(), decimals: decimals.unwrap_or(u32::MAX) }
        }
    };
    let is_exact = !matches!(form, Form::Float | Form::Text { decimals: u32::MAX, .. });
    let ends = match (whole(from), whole(to), step.map(whole)) {
        (Some(from), Some(to), None) if is_exact => Ends::Whole { from, to, step: None },
        (Some(from), Some(to), Some(Some(step))) if is_exact => Ends::Whole { from, to, step: Some(step) },
        _ => Ends::Real { from: from.number, to: to.number, step: step.map(|step| step.number) },
    };
    (form, ends)
}

impl Range {
    /// Returns the range of `count` integers from `first`; `count` is at least 1.
    pub(crate) fn of_integers(origin: Origin, first: u64, count: u64) -> Self {
        let (from, to) = (i128::from(first), i128::from(first) + i128::from(count) - 1);
        let ends = Ends::Whole { from, to, step: Some(1) };
        Self { origin, form: Form::Integer, ends, scale: Scale::Linear, count: count as usize }
    }

    /// Returns all values in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.count).map(|index| self.value(index))
    }

    fn ends(&self) -> (f64, f64) {
        match self.ends {
            Ends::Whole { from, to, .. } => (from as f64, to as f64),
            Ends::Real { from, to, .. } => (from, to),
        }
    }

    /// Returns the number of values with the step of the range.
    fn count_by_step(&self) -> Result<usize, StepError> {
        let steps = match self.ends {
            Ends::Whole { step: Some(step), .. } if step <= 0 => 0.0,
            Ends::Real { step: Some(step), .. } if step <= 0.0 => 0.0,
            Ends::Whole { from, to, step } => ((to - from).abs() / step.unwrap_or(1)) as f64,
            // Tolerates rounding: a step divides the range if the remainder is below the written digits.
            Ends::Real { from, to, step } => ((to - from).abs() / step.unwrap_or(1.0) * (1.0 + 1e-12)).floor(),
        };
        if steps < 1.0 {
            return Err(StepError::Size);
        }
        if steps >= MAX_RUNS as f64 {
            return Err(StepError::TooMany);
        }
        let is_exact = match self.ends {
            Ends::Whole { from, to, step } => (to - from) % step.unwrap_or(1) == 0,
            Ends::Real { from, to, step } => ((to - from).abs() / step.unwrap_or(1.0) - steps).abs() <= 1e-9 * steps,
        };
        if is_exact { Ok(steps as usize + 1) } else { Err(StepError::Past { steps: steps as usize + 2 }) }
    }

    fn value(&self, index: usize) -> Value {
        let last = self.count - 1;
        let (low, high) = self.ends();
        match (self.ends, self.scale) {
            (Ends::Whole { from, to, step: Some(step) }, _) => {
                self.whole(from + (to - from).signum() * step * index as i128)
            }
            (Ends::Whole { from, .. }, _) if index == 0 => self.whole(from),
            (Ends::Whole { to, .. }, _) if index == last => self.whole(to),
            (Ends::Whole { from, to, .. }, Scale::Linear) => {
                self.whole(from + rounded((to - from) * index as i128, last as i128))
            }
            (Ends::Whole { .. }, Scale::Log) => {
                let value = short(between(low, high, index as f64 / last as f64));
                self.whole(libm::round(value) as i128)
            }
            (Ends::Real { from, to, step: Some(step) }, _) => {
                let step = if to < from { -step } else { step };
                self.real(from + step * index as f64)
            }
            (Ends::Real { from, .. }, _) if index == 0 => self.text(from, from.to_string()),
            (Ends::Real { to, .. }, _) if index == last => self.text(to, to.to_string()),
            (Ends::Real { from, to, .. }, Scale::Linear) => {
                self.real(from + (to - from) * (index as f64 / last as f64))
            }
            (Ends::Real { from, to, .. }, Scale::Log) => self.real(between(from, to, index as f64 / last as f64)),
        }
    }

    fn whole(&self, count: i128) -> Value {
        let data = match &self.form {
            Form::Text { unit, decimals } => Data::Text(format!("{}{unit}", point(count, *decimals))),
            Form::Integer | Form::Float => Data::Integer(count),
        };
        Value { origin: self.origin.clone(), data }
    }

    fn real(&self, number: f64) -> Value {
        let (low, high) = self.ends();
        // On a linear scale, numbers near zero have the resolution of the ends.
        let size = if self.scale == Scale::Linear { low.abs().max(high.abs()) } else { number.abs() };
        self.text(number, decimal(number, size))
    }

    /// Returns the value of the number with the notation `text`.
    fn text(&self, number: f64, text: String) -> Value {
        let data = match &self.form {
            Form::Text { unit, .. } => Data::Text(format!("{text}{unit}")),
            Form::Integer | Form::Float => Data::Float(text.parse().unwrap_or(number)),
        };
        Value { origin: self.origin.clone(), data }
    }
}

/// Interpolates on a logarithmic scale; `fraction` is 0 at `from` and 1 at `to`.
fn between(from: f64, to: f64, fraction: f64) -> f64 {
    let (from, to) = (libm::log(from), libm::log(to));
    libm::exp(from + (to - from) * fraction)
}

/// Divides and rounds half away from zero.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    (dividend + dividend.signum() * (divisor / 2)) / divisor
}

/// Formats `count` multiples of 10^-decimals.
fn point(count: i128, decimals: u32) -> String {
    let one = 10_u128.pow(decimals);
    let (whole, fraction) = (count.unsigned_abs() / one, count.unsigned_abs() % one);
    let sign = if count < 0 { "-" } else { "" };
    let fraction =
        if fraction == 0 { String::new() } else { format!(".{fraction:0width$}", width = decimals as usize) };
    format!("{sign}{whole}{}", fraction.trim_end_matches('0'))
}

/// Formats the number with the decimals of a number of `size` with twelve significant digits.
fn decimal(number: f64, size: f64) -> String {
    let decimals = (DIGITS - 1 - exponent(size)).max(0) as usize;
    let text = format!("{number:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    (if text == "-0" { "0" } else { text }).to_owned()
}

/// Rounds to twelve significant digits.
fn short(number: f64) -> f64 {
    decimal(number, number.abs()).parse().unwrap_or(number)
}

/// Returns the exponent of ten in scientific notation.
fn exponent(number: f64) -> i32 {
    let text = format!("{number:e}");
    text.rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}
