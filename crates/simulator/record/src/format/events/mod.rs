//! What went wrong, and when: `events.arrow`.
//!
//! A row an event, in the order of time: drops, timeouts, fast retransmits, loss events, what a send queue threw away, what came late.
//! Of each of these [`MOST_ROWS`] are kept, the first ones; how many more there were is told in the schema's metadata.

mod log;
pub(crate) mod read;
mod row;
mod table;

pub use log::{EventLog, EventNames};
pub use row::{Event, EventCause, EventKind};
pub use table::{EventRow, EventTable};

/// So many rows of each kind of event are kept.
pub const MOST_ROWS: u64 = 1 << 18;

/// Why events could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// Writing failed.
    #[error("events.arrow could not be written: {0}")]
    Write(#[from] std::io::Error),
    /// The bytes are not a whole file of events.
    #[error("not a readable events.arrow (an Arrow IPC file): {what}")]
    Damaged {
        /// Where reading ended.
        what: &'static str,
    },
}
