//! Every packet at every link, in columns: `packets.arrow`, and beside it `packets.index.json`.
//!
//! A row a packet-hop. Rows are kept until what became of their packets is known, and written in batches of [`BATCH_ROWS`] in the order of
//! their offers; within a batch they stand link by link, where neighbours are alike: that makes two thirds of the bytes. Times are counted
//! from a batch's own base in a batch's own tick, so that four bytes hold them.

mod batch;
mod by_link;
mod index;
mod row;
mod rows;

pub use index::PacketIndex;
pub use row::{Hop, HopFate, HopLink};
pub use rows::{HopId, PacketNames, PacketRows};

pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Why `packets.arrow` could not be written.
#[derive(Debug, thiserror::Error)]
#[error("packets.arrow could not be written: {0}")]
pub struct PacketsError(#[from] std::io::Error);
