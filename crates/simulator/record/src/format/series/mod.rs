//! Samples over time: `series.arrow`. [`SeriesWriter`] in `writer.rs` writes it, [`SeriesTable`] in `table.rs` reads
//! it.
//!
//! Long ("tidy") form, one row per sample: `time_ns` (u64, since the start of the run), `entity` (name of a flow or of
//! a link direction), `metric` (one of [`metric`](crate::metric)), `value` (f64). Names are dictionary-encoded with
//! 32-bit keys. The file is an Arrow IPC file, which pyarrow, pandas, polars, DuckDB and R read as a table.

pub(crate) mod ipc;
mod table;
mod writer;

pub use table::SeriesTable;
pub use writer::{SeriesEntity, SeriesId, SeriesMetric, SeriesNames, SeriesWriter};

use crate::format::arrow::metadata::{Column, ColumnType};

/// Error while writing or reading `series.arrow`.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// Writing failed.
    #[error("cannot write series.arrow: {0}")]
    Write(#[from] std::io::Error),
    /// The bytes are not a complete Arrow IPC file.
    #[error("not a valid series.arrow (an Arrow IPC file): {reason}")]
    Damaged {
        /// Reason, such as a missing column.
        reason: &'static str,
    },
    /// The file has other columns than a `series.arrow`.
    #[error("series.arrow has the columns {found}; expected {expected}")]
    Columns {
        /// Columns that the file has.
        found: String,
        /// Columns that a `series.arrow` has.
        expected: String,
    },
    /// A cell is null, or its key is not in the dictionary.
    #[error("series.arrow has a row without {column}; expected four values in each row")]
    Empty {
        /// Name of the column with the cell.
        column: &'static str,
    },
}

pub(crate) const COLUMNS: [Column; 4] = [
    Column::new("time_ns", ColumnType::Uint(64)),
    Column::new("entity", ColumnType::Names(32)),
    Column::new("metric", ColumnType::Names(32)),
    Column::new("value", ColumnType::Float64),
];
