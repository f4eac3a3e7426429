//! Python values as TOML. They go through text so that one reader reports all errors of scenarios.

use crate::error;
use crate::object::shown;
use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMapping, PySequence, PyString};
use serde::{Serialize, Serializer};

/// Maximum nesting depth. A value that contains itself has no end.
const MAX_DEPTH: u32 = 100;
/// Approximate maximum length of the TOML, in bytes. The reader has the same limit.
const MAX_BYTES: usize = 16 << 20;

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Array(Vec<Value>),
    Table(#[serde(serialize_with = "in_order")] Vec<(String, Value)>),
}

fn in_order<S: Serializer>(entries: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
}

/// Converts values up to a total length.
struct Converter {
    remaining_bytes: usize,
}

impl Converter {
    fn new() -> Self {
        Self { remaining_bytes: MAX_BYTES }
    }

    fn value(&mut self, value: &Bound<'_, PyAny>, depth: u32) -> PyResult<Value> {
        if depth > MAX_DEPTH {
            let message = format!("tables and lists are nested more than {MAX_DEPTH} deep, or contain themselves");
            return Err(PyRecursionError::new_err(message));
        }
        // A digit and a comma.
        self.count(value.py(), 2)?;
        if let Ok(text) = value.cast::<PyString>() {
            return self.text(text).map(Value::Text);
        }
        if let Ok(boolean) = value.cast::<PyBool>() {
            return Ok(Value::Boolean(boolean.is_true()));
        }
        if value.is_instance_of::<PyInt>() {
            let message = || format!("{} is out of range: a whole number has at most 64 bits", shown(value));
            return value.extract().map(Value::Integer).map_err(|_| error::value(value.py(), &message()));
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            return Ok(Value::Float(float.value()));
        }
        if let Ok(table) = value.cast::<PyMapping>() {
            return self.table(table, depth);
        }
        let is_bytes = value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>();
        if !is_bytes && value.is_instance_of::<PySequence>() {
            let values = value.try_iter()?.map(|value| self.value(&value?, depth + 1));
            return values.collect::<PyResult<_>>().map(Value::Array);
        }
        // NumPy scalars and arrays.
        if let Some(tolist) = value.getattr_opt("tolist")? {
            return self.value(&tolist.call0()?, depth + 1);
        }
        let message = format!("a scenario cannot hold {}; expected a string, number, bool, list or dict", shown(value));
        Err(PyTypeError::new_err(message))
    }

    fn table(&mut self, table: &Bound<'_, PyMapping>, depth: u32) -> PyResult<Value> {
        let entry = |item: Bound<'_, PyAny>| {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let not_text = |_| PyTypeError::new_err(format!("the key {} is not a string", shown(&key)));
            let key = self.text(key.cast().map_err(not_text)?)?;
            Ok((key, self.value(&value, depth + 1)?))
        };
        table.items()?.iter().map(entry).collect::<PyResult<_>>().map(Value::Table)
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> PyResult<String> {
        let py = text.py();
        let text = text.to_cow()?;
        self.count(py, text.len())?;
        Ok(text.into_owned())
    }

    fn count(&mut self, py: Python<'_>, bytes: usize) -> PyResult<()> {
        let message = || format!("the value is larger than {MAX_BYTES} bytes of TOML, the limit for a scenario");
        let remaining = self.remaining_bytes.checked_sub(bytes);
        self.remaining_bytes = remaining.ok_or_else(|| error::value(py, &message()))?;
        Ok(())
    }
}

fn not_written(error: toml::ser::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns a table as the text of a scenario file, with its keys in their order.
#[pyfunction]
pub(crate) fn toml_document(table: &Bound<'_, PyMapping>) -> PyResult<String> {
    toml::to_string(&Converter::new().table(table, 0)?).map_err(not_written)
}

/// Returns a value as it is written after `=`.
#[pyfunction]
pub(crate) fn toml_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::new();
    let value = Converter::new().value(value, 0)?;
    value.serialize(toml::ser::ValueSerializer::new(&mut text)).map_err(not_written)?;
    Ok(text)
}
