//! Tables for Python with the Arrow C stream of the PyCapsule interface, which pyarrow, polars, pandas and others
//! read without copies.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns the names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the cells of a column, by its number, in the rows from `start` up to `until`.
    fn cells(&self, py: Python<'_>, column: usize, start: usize, until: usize) -> PyResult<Vec<Py<PyAny>>> {
        let mut cells = Vec::new();
        let mut first = 0;
        for batch in &self.batches {
            let end = first + batch.num_rows();
            if let Some(array) = batch.columns().get(column) {
                for row in start.clamp(first, end)..until.clamp(first, end) {
                    cells.push(cell(py, array.as_ref(), row - first)?);
                }
            }
            first = end;
        }
        Ok(cells)
    }

    /// Returns the table as an Arrow IPC stream.
    fn ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let written = || {
            let mut writer = StreamWriter::try_new(Vec::new(), &self.schema)?;
            self.batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.into_inner()
        };
        Ok(PyBytes::new(py, &written().map_err(wrong)?))
    }

    /// Reads an Arrow IPC stream.
    #[staticmethod]
    fn from_ipc(stream: &[u8]) -> PyResult<Self> {
        let read = || {
            let reader = StreamReader::try_new(stream, None)?;
            let schema = reader.schema();
            Ok(Self::new(schema, reader.collect::<Result<_, ArrowError>>()?))
        };
        read().map_err(wrong)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The requested schema may be ignored: the consumer then casts.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, self.schema.clone())));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn wrong(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns a cell as a Python object; None if it is empty.
fn cell(py: Python<'_>, array: &dyn Array, row: usize) -> PyResult<Py<PyAny>> {
    if array.is_null(row) {
        return Ok(py.None());
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into_py_any(py),
        DataType::Boolean => array.as_boolean().value(row).into_py_any(py),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_py_any(py),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into_py_any(py),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into_py_any(py),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into_py_any(py),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_py_any(py),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into_py_any(py),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into_py_any(py),
        DataType::Dictionary(..) => {
            let of_row = array.slice(row, 1);
            let names = of_row.as_any_dictionary();
            let key = names.normalized_keys().first().copied().unwrap_or_default();
            cell(py, names.values().as_ref(), key)
        }
        other => Err(PyValueError::new_err(format!("a column has the type {other}"))),
    }
}
