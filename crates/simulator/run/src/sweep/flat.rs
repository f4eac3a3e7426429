//! Values of a summary by path, such as `one_way_delay_s.p95`.

use serde_json::Value;
use std::collections::BTreeMap;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Integer,
    Float,
    Boolean,
    Text,
}

impl Sort {
    /// Returns the type of a value; `None` for null, arrays and objects.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            Value::Bool(_) => Some(Self::Boolean),
            Value::String(_) => Some(Self::Text),
            Value::Number(number) if number.is_i64() => Some(Self::Integer),
            Value::Number(_) => Some(Self::Float),
        }
    }

    /// Returns a type that holds values of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, same) if one == same => one,
            (Self::Integer | Self::Float, Self::Integer | Self::Float) => Self::Float,
            _ => Self::Text,
        }
    }
}

/// Names and types of a table's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns(pub(super) BTreeMap<String, Sort>);

impl Columns {
    /// Adds the columns of a row.
    pub(super) fn add(&mut self, row: &Value) {
        walk("", row, &mut |path, value| {
            let Some(sort) = Sort::of(value) else { return };
            match self.0.get_mut(path) {
                Some(known) => *known = known.with(sort),
                None => drop(self.0.insert(path.to_owned(), sort)),
            }
        });
    }

    /// Adds the columns of another table.
    pub(super) fn merge(&mut self, other: Self) {
        for (path, sort) in other.0 {
            self.0.entry(path).and_modify(|known| *known = known.with(sort)).or_insert(sort);
        }
    }
}

/// Calls `take` with each scalar value and its path. Arrays are skipped.
pub(super) fn walk<'a>(path: &str, value: &'a Value, take: &mut impl FnMut(&str, &'a Value)) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(&below, value, take);
            }
        }
        Value::Array(_) => {}
        other => take(path, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_hold_the_values_of_all_rows() {
        let mut columns = Columns::default();
        columns.add(&json!({ "a": 1, "b": { "c": 2.5, "d": null, "list": [1, 2] }, "e": "x" }));
        columns.add(&json!({ "a": 1.5, "b": { "d": true }, "e": "y" }));
        let expected = [("a", Sort::Float), ("b.c", Sort::Float), ("b.d", Sort::Boolean), ("e", Sort::Text)];
        assert_eq!(columns.0, expected.map(|(name, sort)| (name.to_owned(), sort)).into());
        let mut others = Columns::default();
        others.add(&json!({ "a": "none", "f": 3 }));
        others.merge(columns);
        let sorts: Vec<Sort> = others.0.into_values().collect();
        assert_eq!(sorts, [Sort::Text, Sort::Float, Sort::Boolean, Sort::Text, Sort::Integer]);
    }
}
