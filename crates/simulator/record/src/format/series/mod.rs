//! Samples over time: `series.arrow`.
//!
//! Long ("tidy") form, a row a sample: `time_ns` (u64, since the start of the run), `entity` (the name of a flow or of a
//! link's direction), `metric` (one of [`metric`](crate::metric)), `value` (f64). Names are dictionary-encoded with 32-bit keys; the
//! bytes are an Arrow IPC file, which pyarrow, pandas, polars, DuckDB and R read as a table.

mod builder;
pub(crate) mod ipc;
mod table;

pub use builder::{SeriesEntity, SeriesId, SeriesMetric, SeriesNames, SeriesWriter};
pub use table::SeriesTable;

use crate::format::arrow::metadata::{Column, ColumnType};

/// Why a series could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// Writing failed.
    #[error("series.arrow could not be written: {0}")]
    Write(#[from] std::io::Error),
    /// The bytes are not a whole Arrow IPC file.
    #[error("not a readable series.arrow (an Arrow IPC file): {what}")]
    Damaged {
        /// Where reading ended.
        what: &'static str,
    },
    /// The file has other columns.
    #[error("series.arrow has the columns {found}; right would be {right}")]
    Columns {
        /// The columns of the file.
        found: String,
        /// The columns of every `series.arrow`.
        right: String,
    },
    /// A cell is empty, or names an entry that its dictionary lacks.
    #[error("series.arrow has a row without {column}; every row needs its four values")]
    Empty {
        /// The column's name.
        column: &'static str,
    },
}

pub(crate) const COLUMNS: [Column; 4] = [
    Column::new("time_ns", ColumnType::Uint(64)),
    Column::new("entity", ColumnType::Names(32)),
    Column::new("metric", ColumnType::Names(32)),
    Column::new("value", ColumnType::Float64),
];
