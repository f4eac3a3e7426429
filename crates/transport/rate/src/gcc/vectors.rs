//! Vectors computed by another program, for tests; the file states its source.

use serde_json::Value;

pub(super) fn rows(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../tests/data/gcc.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

pub(super) fn near(value: f64, expected: f64, error: f64) {
    assert!((value - expected).abs() <= error, "{value} in place of {expected}");
}
