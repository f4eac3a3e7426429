//! Where the batches of `packets.arrow` lie, for who reads a part of a long run.

use crate::format::arrow::file::Place;
use crate::format::arrow::metadata::Footer;
use serde::Serialize;

/// Under this key the footer of `packets.arrow` has the index too.
pub(super) const INDEX_KEY: &str = "headway.index";

/// `packets.index.json`.
#[derive(Clone, Debug, Serialize)]
pub struct PacketIndex {
    pub(super) version: u32,
    /// Rows in all.
    pub(super) rows: u64,
    /// Where the schema's message lies: before a batch it makes a stream of it.
    pub(super) schema: Place,
    pub(super) batches: Vec<BatchPlace>,
}

/// A batch. Times are in ns since the start of the run, places in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BatchPlace {
    /// The first offer.
    pub(super) base_ns: u64,
    /// The last thing that happens on a link to one of its packets: an offer, the end of a transmission, or an arrival.
    pub(super) until_ns: u64,
    /// What its times are counted in.
    pub(super) tick_ns: u32,
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) rows: u64,
}

impl PacketIndex {
    /// The index that the bytes of a `packets.arrow` have in their footer, as text; none if they are something else.
    #[must_use]
    pub fn text_of(packets: &[u8]) -> Option<String> {
        Footer::of(packets)?.own_metadata()?.get(INDEX_KEY).map(|text| (*text).to_owned())
    }

    /// The file's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
