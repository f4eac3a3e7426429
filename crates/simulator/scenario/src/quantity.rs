//! Quantities of values by their units, for numbers in columns and in ranges.

use crate::document::{Data, Value};
use headway_units::{Drift, Duration, Offset, QueueSize, Rate, Skew, Threshold, number_and_unit};

/// Value of a varied key in a [`Column`](crate::Column). All cells of a column are of one variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Integer in the column's unit.
    Integer(i64),
    /// Number in the column's unit.
    Number(f64),
    /// Truth value.
    Boolean(bool),
    /// Label of a value that is not a number, or whose column mixes quantities (such as packets and bytes).
    Text(String),
}

/// Quantity of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Number without a unit.
    Plain,
    /// Fraction, written in percent.
    Share,
    Rate,
    Duration,
    Bytes,
    Packets,
    Skew,
    Drift,
}

impl Quantity {
    /// Returns the unit of columns of this quantity.
    pub(crate) fn unit(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain => return None,
            Self::Share => "1",
            Self::Rate => "bps",
            Self::Duration => "s",
            Self::Bytes => "B",
            Self::Packets => "packets",
            Self::Skew => "ppb",
            Self::Drift => "ppb/h",
        })
    }
}

/// Returns a quantity as an integer of its smallest unit: ns, bps, B, packets, ppb. Returns `None` if the text has no
/// such unit or a finer resolution.
pub(crate) fn counted(text: &str) -> Option<(Quantity, i128)> {
    let (number, unit) = number_and_unit(text)?;
    if unit.is_empty() {
        return None;
    }
    let (quantity, count) = count(text)?;
    // Parsers round to the smallest unit.
    let (_, one) = count_of_one(unit)?;
    let exact = number * one as f64;
    ((exact - count as f64).abs() <= 1e-9 * exact.abs()).then_some((quantity, count))
}

fn count(text: &str) -> Option<(Quantity, i128)> {
    use Quantity as Q;
    let duration = || text.parse::<Duration>().ok().map(|duration| i128::from(duration.as_nanos()));
    let offset = || text.parse::<Offset>().ok().map(|offset| i128::from(offset.value()));
    if let Some(nanos) = duration().or_else(offset) {
        return Some((Q::Duration, nanos));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((Q::Rate, rate.bits_per_second().into()));
    }
    match text.parse::<QueueSize>() {
        Ok(QueueSize::Packets(packets)) => return Some((Q::Packets, packets.into())),
        Ok(QueueSize::Bytes(bytes)) => return Some((Q::Bytes, bytes.count().into())),
        Err(_) => {}
    }
    let skew = || text.parse::<Skew>().ok().map(|skew| (Q::Skew, skew.value().into()));
    skew().or_else(|| text.parse::<Drift>().ok().map(|drift| (Q::Drift, drift.value().into())))
}

/// Returns one `unit` in the smallest unit of its quantity.
pub(crate) fn count_of_one(unit: &str) -> Option<(Quantity, i128)> {
    count(&format!("1{unit}"))
}

/// Returns the cells of a column and their unit: numbers if all values have the same quantity, else the labels `shown`.
pub(crate) fn cells<'a>(
    values: impl Iterator<Item = &'a Value> + Clone,
    shown: impl Iterator<Item = &'a str>,
) -> (Option<&'static str>, Vec<Cell>) {
    if let Some(flags) = values.clone().map(flag).collect::<Option<Vec<_>>>() {
        return (None, flags);
    }
    let mut common = None;
    let mut numbers = Vec::new();
    for value in values {
        let Some((quantity, number)) = measured(value) else { return (None, texts(shown)) };
        // A bare 0 is allowed for any quantity.
        if !matches!(value.data, Data::Integer(0)) {
            common = match (common, quantity) {
                (None, quantity) => Some(quantity),
                (Some(common), quantity) if common == quantity => Some(common),
                (Some(Quantity::Plain | Quantity::Share), Quantity::Plain | Quantity::Share) => Some(Quantity::Share),
                _ => return (None, texts(shown)),
            };
        }
        numbers.push(number);
    }
    if numbers.iter().any(|number| matches!(number, Cell::Number(_))) {
        for number in &mut numbers {
            if let Cell::Integer(integer) = number {
                *number = Cell::Number(*integer as f64);
            }
        }
    }
    (common.and_then(Quantity::unit), numbers)
}

/// Returns a string that is equal for equal values: `1000kbps` and `1Mbps`, and tables in any order of their keys.
pub(crate) fn meaning(value: &Value) -> String {
    let number = |cell: &Cell| match cell {
        Cell::Integer(number) => (*number as f64).to_string(),
        Cell::Number(number) => number.to_string(),
        Cell::Boolean(_) | Cell::Text(_) => String::new(),
    };
    match (&value.data, measured(value)) {
        // A bare 0 is allowed for any quantity.
        (_, Some((_, Cell::Integer(0)))) => "0".to_owned(),
        (_, Some((_, Cell::Number(0.0)))) => "0".to_owned(),
        (_, Some((Quantity::Plain | Quantity::Share, cell))) => number(&cell),
        (_, Some((quantity, cell))) => format!("{} {quantity:?}", number(&cell)),
        (Data::Array(values), _) => format!("[{}]", values.iter().map(meaning).collect::<Vec<_>>().join(",")),
        (Data::Table(table), _) => {
            let pairs = table.iter().map(|(key, entry)| format!("{key:?}={}", meaning(&entry.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
        (Data::Integer(number), _) => number.to_string(),
        (Data::Text(text) | Data::Datetime(text) | Data::Unrepresentable(text), _) => format!("{text:?}"),
        (Data::Boolean(value), _) => value.to_string(),
        (Data::Float(number), _) => number.to_string(),
    }
}

fn flag(value: &Value) -> Option<Cell> {
    match value.data {
        Data::Boolean(flag) => Some(Cell::Boolean(flag)),
        _ => None,
    }
}

fn texts<'a>(shown: impl Iterator<Item = &'a str>) -> Vec<Cell> {
    shown.map(|text| Cell::Text(text.to_owned())).collect()
}

/// Returns the number of a value in the unit of its quantity.
fn measured(value: &Value) -> Option<(Quantity, Cell)> {
    match &value.data {
        Data::Integer(number) => i64::try_from(*number).ok().map(|number| (Quantity::Plain, Cell::Integer(number))),
        Data::Float(number) => Some((Quantity::Plain, Cell::Number(*number))),
        Data::Text(text) => measured_text(text),
        _ => None,
    }
}

fn measured_text(text: &str) -> Option<(Quantity, Cell)> {
    let (number, unit) = number_and_unit(text).filter(|(number, _)| number.is_finite())?;
    match unit {
        // A string without a unit may be a name.
        "" => None,
        "%" => Some((Quantity::Share, Cell::Number(number / 100.0))),
        _ => {
            let Some((quantity, count)) = counted(text) else {
                return threshold(text)
                    .or_else(|| count(text).map(|(quantity, count)| (quantity, cell(quantity, count))));
            };
            Some((quantity, cell(quantity, count)))
        }
    }
}

/// Parses a threshold of a queue, which may be a fraction of packets.
fn threshold(text: &str) -> Option<(Quantity, Cell)> {
    match text.parse().ok()? {
        Threshold::Packets(packets) => Some((Quantity::Packets, Cell::Number(packets))),
        Threshold::Bytes(bytes) => Some((Quantity::Bytes, Cell::Number(bytes))),
    }
}

fn cell(quantity: Quantity, count: i128) -> Cell {
    const NANOS: f64 = 1e9;
    match (quantity, i64::try_from(count)) {
        (Quantity::Duration, _) => Cell::Number(count as f64 / NANOS),
        (_, Ok(count)) => Cell::Integer(count),
        (_, Err(_)) => Cell::Number(count as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Origin;

    fn column(values: &[Data]) -> (Option<&'static str>, Vec<Cell>) {
        let values: Vec<Value> =
            values.iter().map(|data| Value { origin: Origin::Preset, data: data.clone() }).collect();
        cells(values.iter(), values.iter().map(|_| "as shown"))
    }

    fn of_texts(texts: &[&str]) -> (Option<&'static str>, Vec<Cell>) {
        column(&texts.iter().map(|text| Data::Text((*text).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn a_column_of_one_quantity_is_numbers_in_its_unit() {
        use Cell::{Integer, Number};
        for (texts, unit, cells) in [
            (["1Mbps", "64kB/s"], "bps", [Integer(1_000_000), Integer(512_000)]),
            (["10ms", "-1.5s"], "s", [Number(0.01), Number(-1.5)]),
            (["1kB", "1KiB"], "B", [Integer(1000), Integer(1024)]),
            (["1packet", "20packets"], "packets", [Integer(1), Integer(20)]),
            (["5packets", "7.5packets"], "packets", [Number(5.0), Number(7.5)]),
            (["1%", "12.5%"], "1", [Number(0.01), Number(0.125)]),
            (["-500ppm", "20ppb"], "ppb", [Integer(-500_000), Integer(20)]),
            (["1ppm/h", "20ppb/h"], "ppb/h", [Integer(1000), Integer(20)]),
            (["0.1ns", "1ns"], "s", [Number(0.0), Number(1e-9)]),
        ] {
            assert_eq!(of_texts(&texts), (Some(unit), cells.to_vec()), "{texts:?}");
        }
    }

    #[test]
    fn equal_values_have_equal_meanings_in_any_unit_and_order() {
        let of = |text: &str| {
            meaning(&crate::document::parse_value(text, &Origin::Preset).unwrap_or_else(|_| panic!("{text}")))
        };
        for (one, other, is_same) in [
            ("1000kbps", "1Mbps", true),
            ("125kB/s", "1Mbps", true),
            ("1Mbps", "1.001Mbps", false),
            ("10ms", "0.01s", true),
            ("1KiB", "1024B", true),
            ("1packet", "1B", false),
            ("1%", "0.01", true),
            ("0", "0ms", true),
            ("2", "2.0", true),
            ("1", "\"1\"", false),
            ("true", "\"true\"", false),
            ("{ kind = \"red\", limit = \"1kB\" }", "{limit=1000B,kind=red}", true),
            ("{kind=red}", "{kind=red,limit=1kB}", false),
            ("[1ms,2ms]", "[ 0.001s, 2ms ]", true),
        ] {
            assert_eq!(of(one) == of(other), is_same, "{one} {other}: {} {}", of(one), of(other));
        }
    }

    #[test]
    fn columns_of_several_quantities_are_text() {
        for texts in [["20packets", "30kB"], ["1", "2"], ["10ms", "fast"], ["10ms", "2"], ["1Mb", "1Mb"]] {
            assert_eq!(of_texts(&texts), (None, vec![Cell::Text("as shown".to_owned()); 2]), "{texts:?}");
        }
        let arrays = [Data::Array(Vec::new()), Data::Integer(1)];
        assert_eq!(column(&arrays), (None, vec![Cell::Text("as shown".to_owned()); 2]));
    }

    #[test]
    fn plain_values_have_no_unit() {
        use Cell::{Boolean, Integer, Number};
        let half = Data::Text("50%".to_owned());
        for (values, unit, cells) in [
            ([Data::Integer(1), Data::Integer(-2)], None, [Integer(1), Integer(-2)]),
            ([Data::Integer(1), Data::Float(0.5)], None, [Number(1.0), Number(0.5)]),
            ([Data::Boolean(true), Data::Boolean(false)], None, [Boolean(true), Boolean(false)]),
            ([Data::Float(0.25), half], Some("1"), [Number(0.25), Number(0.5)]),
            ([Data::Integer(0), Data::Text("10ms".to_owned())], Some("s"), [Number(0.0), Number(0.01)]),
            ([Data::Integer(0), Data::Integer(0)], None, [Integer(0), Integer(0)]),
        ] {
            assert_eq!(column(&values), (unit, cells.to_vec()), "{values:?}");
        }
    }
}
