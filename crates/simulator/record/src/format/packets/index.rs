//! Offsets of the batches of `packets.arrow`, for reading part of a long run.

use crate::format::arrow::file::Place;
use crate::format::arrow::metadata::Footer;
use serde::Serialize;

/// Key of the index in the footer of `packets.arrow`.
pub(super) const INDEX_KEY: &str = "headway.index";

/// Index of the batches of `packets.arrow`, the contents of `packets.index.json`.
#[derive(Clone, Debug, Serialize)]
pub struct PacketIndex {
    pub(super) version: u32,
    /// Total number of rows.
    pub(super) rows: u64,
    /// Location of the schema message. The schema followed by a batch is a readable stream.
    pub(super) schema: Place,
    pub(super) batches: Vec<BatchPlace>,
}

/// Location of a batch. Times are in ns since the start of the run, offsets and lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BatchPlace {
    /// Time of the first arrival at a link.
    pub(super) base_ns: u64,
    /// Time of the last event of its packets: arrival at a link, end of transmission, or arrival at the far end.
    pub(super) until_ns: u64,
    /// Unit of the batch's times, in ns.
    pub(super) tick_ns: u32,
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) rows: u64,
}

impl PacketIndex {
    /// Returns the JSON text of the index in the footer of a `packets.arrow`; `None` for other bytes.
    #[must_use]
    pub fn text_of(packets: &[u8]) -> Option<String> {
        Footer::of(packets)?.own_metadata()?.get(INDEX_KEY).map(|text| (*text).to_owned())
    }

    /// Returns the text of `packets.index.json`.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
