//! Drops, timeouts and similar events: `events.arrow`.
//!
//! Each row is an event, in the order of time: drops, timeouts, fast retransmits, loss events, data discarded by a send
//! queue, late packets. The first [`MAX_ROWS_PER_KIND`] events of each kind are kept. The schema's metadata has the
//! number of omitted events.

mod log;
pub(crate) mod read;
mod row;
mod table;

pub use log::{EventLog, EventNames};
pub use row::{Event, EventCause, EventKind, FEEDBACK};
pub use table::{EventRow, EventTable};

/// Maximum number of rows of each kind of event in `events.arrow`, 262144; later events of the kind are omitted.
pub const MAX_ROWS_PER_KIND: u64 = 1 << 18;

/// Error while writing or reading `events.arrow`.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// Writing failed.
    #[error("cannot write events.arrow: {0}")]
    Write(#[from] std::io::Error),
    /// The bytes are not a complete `events.arrow`.
    #[error("not a valid events.arrow (an Arrow IPC file): {reason}")]
    Damaged {
        /// Reason, such as a missing column.
        reason: &'static str,
    },
}
