//! Samples over time: `series.arrow`.
//!
//! Long ("tidy") form, a row a sample: `time_ns` (u64, since the start of the run), `entity` (the name of a flow or of a
//! link's direction), `metric` (one of [`metric`]), `value` (f64). Names are dictionary-encoded with 32-bit keys; the
//! bytes are an Arrow IPC file, which pyarrow, pandas, polars, DuckDB and R read as a table.

mod builder;
pub(crate) mod ipc;
mod table;

pub use builder::{SeriesEntity, SeriesId, SeriesMetric, SeriesNames, SeriesWriter};
pub use table::SeriesTable;

use crate::format::arrow::metadata::{Column, ColumnType};

/// The metrics that a run samples; each name ends in its unit.
pub mod metric {
    /// Of a flow or a link: wire bits that arrived (flow) or left (link) since the sample before, by the time since.
    pub const THROUGHPUT: &str = "throughput_bps";
    /// Of a TCP flow: the congestion window.
    pub const CWND: &str = "cwnd_packets";
    /// Of a TCP flow: the slow-start threshold.
    pub const SSTHRESH: &str = "ssthresh_packets";
    /// Of a flow with a source of sessions: how many are open.
    pub const OPEN_SESSIONS: &str = "open_sessions";
    /// Of a flow with a rate controller: the data rate that it allows.
    pub const ALLOWED_RATE: &str = "allowed_rate_bps";
    /// Of a flow with a rate controller: the smoothed round trip.
    pub const RTT: &str = "rtt_s";
    /// Of a flow with TFRC: the loss event rate that its sender reckons with.
    pub const LOSS_EVENT_RATE: &str = "loss_event_ratio";
    /// Of the record of a real connection: datagrams that wait in its send queue.
    pub const WAITING: &str = "waiting_packets";
    /// Of a flow: packets lost since the start of the run.
    pub const LOSS: &str = "loss_packets";
    /// Of a link: packets that wait, without the one in service.
    pub const QUEUE: &str = "queue_packets";
    /// Of a link that changes, or whose capacity was measured: the rate that it had on average since the sample before.
    pub const LINK_RATE: &str = "link_rate_bps";
    /// Of a link whose delay changes: the delay of what leaves now.
    pub const LINK_DELAY: &str = "link_delay_s";
    /// Of a link with RED: its average queue.
    pub const RED_AVERAGE: &str = "red_average_packets";
    /// Of a link, or a flow there: packets offered to it since the start of the run.
    pub const ARRIVED: &str = "arrived_packets";
    /// Of a link, or a flow there: packets dropped since the start of the run.
    pub const DROPPED: &str = "dropped_packets";
}

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

/// The columns of `series.arrow`.
pub(crate) const COLUMNS: [Column; 4] = [
    Column::new("time_ns", ColumnType::Uint(64)),
    Column::new("entity", ColumnType::Names(32)),
    Column::new("metric", ColumnType::Names(32)),
    Column::new("value", ColumnType::Float64),
];
