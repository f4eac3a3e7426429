//! Every packet at every link: `packets.arrow` and its index, `packets.index.json`.
//!
//! Each row is a packet at a link. A row is kept until the fate of its packet is known. Rows are written in batches of
//! [`BATCH_ROWS`] in the order of arrival at the link. A batch is sorted by link: neighboring rows are then similar,
//! and the compressed file has two thirds of the size. Times are four bytes, in a tick and from a base chosen for each
//! batch.

mod batch;
mod by_link;
mod index;
mod row;
mod rows;
mod table;

pub use index::PacketIndex;
pub use row::{Hop, HopLink, TraversalOutcome};
pub use rows::{HopId, PacketNames, PacketRows};
pub use table::{LinkEnds, PacketRow, PacketTable};

pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Error while writing or reading `packets.arrow`.
#[derive(Debug, thiserror::Error)]
pub enum PacketsError {
    /// Writing failed.
    #[error("cannot write packets.arrow: {0}")]
    Write(#[from] std::io::Error),
    /// The bytes are not a complete `packets.arrow`.
    #[error("not a valid packets.arrow (an Arrow IPC file): {reason}")]
    Damaged {
        /// Reason, such as a missing column.
        reason: &'static str,
    },
}

fn damaged(reason: &'static str) -> PacketsError {
    PacketsError::Damaged { reason }
}
