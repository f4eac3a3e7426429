//! The range of a key whose type allows more: the error about `ecn_least_window = -1` shows 1 or 2, not the range of 32
//! bits.
//!
//! Only the checks of options know the ranges of keys. So this module checks the smallest and the largest value of the
//! type in place of the written one, and the message contains the results.

use crate::de::Fault;
use crate::document::{Data, Table, Value};
use crate::path::Step;
use crate::reader::with_preset;
use headway_units::{OptionError, SchemaRegistry, number_and_unit};

/// Maximum number of values of a table: each check copies the table.
const MAX_VALUES: usize = 1000;
/// Units to try for a value that is written as a bare number.
const UNITS: [&str; 5] = ["", "s", "B", "bps", "packets"];

/// Returns the fault with the range of its key, if it is about a range and the options' check has a narrower one.
pub(crate) fn narrowed<R: SchemaRegistry>(kind: &str, preset: &Table, written: &Table, fault: Fault) -> Fault {
    let Some(found) = fault.out_of_range.clone() else { return fault };
    let Some(Step::Key(key)) = fault.steps.first() else { return fault };
    if written.values().map(|entry| entry.value.size()).sum::<usize>() > MAX_VALUES {
        return fault;
    }
    let only_key: Table =
        written.get_key_value(key).map(|(key, entry)| (key.clone(), entry.clone())).into_iter().collect();
    // Other keys may be wrong, or may be required by this key: check with and without them.
    let check = |data: &Data| {
        [written, &only_key].into_iter().find_map(|table| {
            let table = replaced(table, &fault.steps, data)?;
            with_preset::<R>(kind, preset, &table).ok().map(|options| options.check())
        })
    };
    let about = |error: OptionError| {
        let is_key = |step: &Step| matches!(step, Step::Key(key) if key == error.key);
        fault.steps.iter().any(is_key).then(|| allowed(&error.message).to_owned())
    };
    let of = |checked: Result<(), OptionError>| checked.err().and_then(about);
    let unit = number_and_unit(found.trim_matches('"')).map_or("", |(_, unit)| unit);
    let zero = if unit.is_empty() { Data::Integer(0) } else { Data::Text(format!("0{unit}")) };
    let least = check(&zero).map(of);
    let most = largest(unit).into_iter().find_map(|data| check(&data)).and_then(of);
    let range = match (least, most) {
        (Some(Some(least)), Some(most)) if least != most => format!("{least}; {most}"),
        (Some(Some(one)), Some(_)) => one,
        // The largest value of the type is allowed.
        (Some(Some(one)), None) => match end_of_type(&fault.message) {
            Some(end) => format!("{one}; at most {end}"),
            None => one,
        },
        (Some(None), Some(most)) if !most.contains("from ") => format!("0 or more; {most}"),
        (_, Some(most)) => most,
        (_, None) => return fault,
    };
    Fault { message: format!("{found} is out of range: {range}"), ..fault }
}

/// Returns values in descending order. The first that the key's type accepts is its largest.
fn largest(unit: &str) -> Vec<Data> {
    let numbers = [i64::MAX.into(), u32::MAX.into(), i128::from(u16::MAX), i128::from(u8::MAX), 1].map(Data::Integer);
    let units = if unit.is_empty() { &UNITS[..] } else { &[unit] };
    let quantities =
        (0..20).rev().flat_map(|power| units.iter().map(move |unit| Data::Text(format!("1e{power}{unit}"))));
    numbers.into_iter().chain(quantities).collect()
}

/// Returns the table with `data` at the end of `steps`.
fn replaced(table: &Table, steps: &[Step], data: &Data) -> Option<Table> {
    let (Step::Key(key), rest) = steps.split_first()? else { return None };
    let mut table = table.clone();
    let mut at: &mut Value = &mut table.get_mut(key)?.value;
    for step in rest {
        at = match (step, &mut at.data) {
            (Step::Key(key), Data::Table(table)) => &mut table.get_mut(key)?.value,
            (Step::Element(element), Data::Array(values)) => values.get_mut(element.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    at.data = data.clone();
    Some(table)
}

/// Returns the largest value of the type from an error message such as `write a rate from 0bps to 18446744Tbps, in
/// steps of 1bps`.
fn end_of_type(message: &str) -> Option<&str> {
    let (_, end) = message.rsplit_once(" to ")?;
    Some(end.split(", in ").next().unwrap_or(end))
}

/// Returns the allowed values from an error message such as `10s is too long; expected at most 1s`.
fn allowed(message: &str) -> &str {
    if let Some((_, allowed)) = message.split_once("expected ").or_else(|| message.split_once(": ")) {
        return allowed;
    }
    match message.split_once(' ') {
        Some((value, rest)) if value.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => message,
    }
}
