//! Entries of a summary as columns named by the paths of metrics: `one_way_delay_s.p95`.

use crate::table::Table;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use headway_run::{DatasetColumn, DatasetValues};
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Whole,
    Number,
}

use Holds::{Number, Text, Whole};

/// Columns of every table of flows, in this order, also if no run has such a value. Others follow.
pub(crate) const FLOW: &[(&str, Holds)] = &[
    ("name", Text),
    ("from", Text),
    ("to", Text),
    ("kind", Text),
    ("sent_packets", Whole),
    ("received_packets", Whole),
    ("in_flight_packets", Whole),
    ("throughput_bps", Number),
    ("goodput_bps", Number),
    ("loss_ratio", Number),
    ("one_way_delay_s.mean", Number),
    ("one_way_delay_s.p50", Number),
    ("one_way_delay_s.p95", Number),
    ("one_way_delay_s.p99", Number),
    ("one_way_delay_s.max", Number),
    ("jitter_s", Number),
    ("rtt_s.mean", Number),
    ("rtt_s.min", Number),
    ("rtt_s.max", Number),
    ("rate_cov", Number),
    ("r_factor", Number),
    ("mos", Number),
];

/// Columns of every table of links.
pub(crate) const LINK: &[(&str, Holds)] = &[
    ("name", Text),
    ("from", Text),
    ("to", Text),
    ("arrived_packets", Whole),
    ("marked_packets", Whole),
    ("mean_queue_packets", Number),
    ("mean_queue_bytes", Number),
    ("peak_queue_packets", Whole),
    ("mean_red_average", Number),
    ("utilisation", Number),
];

/// A column under construction.
struct Column {
    name: String,
    holds: Holds,
}

/// Converts `entries` to a table with one row each. Arrays are omitted.
pub(crate) fn table(known: &[(&str, Holds)], entries: &[Value]) -> Result<Table, ArrowError> {
    let mut columns: Vec<Column> = known.iter().map(|&(name, holds)| Column { name: name.to_owned(), holds }).collect();
    for entry in entries {
        leaves(entry, &mut String::new(), &mut |name, value| gather(&mut columns, name, value));
    }
    let fields: Vec<_> = columns.iter().map(|column| Field::new(&column.name, column.holds.of_arrow(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.iter().map(|column| column.array(entries)).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    Ok(Table::new(schema, vec![batch]))
}

/// Converts the columns of a dataset to a table. The metadata of a field has the unit of its column.
pub(crate) fn dataset(columns: Vec<DatasetColumn>) -> Result<Table, ArrowError> {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for DatasetColumn { name, unit, values } in columns {
        let array: ArrayRef = match values {
            DatasetValues::Integer(cells) => Arc::new(Int64Array::from(cells)),
            DatasetValues::Float(cells) => Arc::new(Float64Array::from(cells)),
            DatasetValues::Boolean(cells) => Arc::new(BooleanArray::from(cells)),
            DatasetValues::Text(cells) => Arc::new(StringArray::from(cells)),
        };
        let field = Field::new(name, array.data_type().clone(), true);
        fields.push(match unit {
            Some(unit) => field.with_metadata([("unit".to_owned(), unit)]),
            None => field,
        });
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    Ok(Table::new(schema, vec![batch]))
}

/// Calls `on_leaf` with each scalar value and its path.
fn leaves<'a>(value: &'a Value, path: &mut String, on_leaf: &mut impl FnMut(&str, &'a Value)) {
    match value {
        Value::Null | Value::Array(_) => {}
        Value::Object(all) => {
            for (key, value) in all {
                let before = path.len();
                if before > 0 {
                    path.push('.');
                }
                path.push_str(key);
                leaves(value, path, on_leaf);
                path.truncate(before);
            }
        }
        _ => on_leaf(path, value),
    }
}

fn gather(columns: &mut Vec<Column>, name: &str, value: &Value) {
    let found = match value {
        Value::String(_) => Text,
        Value::Number(number) if number.is_u64() => Whole,
        _ => Number,
    };
    match columns.iter_mut().find(|column| column.name == name) {
        Some(column) if column.holds == Whole && found == Number => column.holds = Number,
        Some(_) => {}
        None => columns.push(Column { name: name.to_owned(), holds: found }),
    }
}

fn find<'a>(entry: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(entry, |value, key| value.get(key))
}

impl Holds {
    fn of_arrow(self) -> DataType {
        match self {
            Text => DataType::Utf8,
            Whole => DataType::UInt64,
            Number => DataType::Float64,
        }
    }
}

impl Column {
    fn array(&self, entries: &[Value]) -> ArrayRef {
        let values = entries.iter().map(|entry| find(entry, &self.name));
        match self.holds {
            Text => Arc::new(values.map(|value| value?.as_str()).collect::<StringArray>()),
            Whole => Arc::new(values.map(|value| value?.as_u64()).collect::<UInt64Array>()),
            Number => Arc::new(values.map(|value| value?.as_f64()).collect::<Float64Array>()),
        }
    }
}
