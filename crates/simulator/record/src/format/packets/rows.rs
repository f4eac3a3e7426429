//! Collects rows and writes `packets.arrow`.

use super::batch::{Shape, Times, columns, write};
use super::by_link::ByLink;
use super::index::{BatchPlace, INDEX_KEY, PacketIndex};
use super::row::{Hop, HopLink, Row, TraversalOutcome};
use super::{BATCH_ROWS, PacketsError};
use crate::format::arrow::file::{ArrowFile, Compression};
use crate::format::arrow::metadata::Schema;
use headway_units::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Maximum number of batches that wait for the fates of their packets. A packet that takes longer, for example in the
/// long queue of a slow link, is written in a later batch. Rows take at most 60 MB, plus one row per packet in flight.
const MAX_WAITING: usize = 16;

/// Version of the file's layout, written in its metadata.
pub(super) const VERSION: u32 = 2;

/// Identifier of the row of a packet at a link, returned by [`PacketRows::offered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HopId(u64);

/// Names of link directions, flows and kinds of packets. The rows of `packets.arrow` have numbers instead of names.
#[derive(Clone, Debug, Default)]
pub struct PacketNames {
    /// Directions of links, by number.
    pub links: Vec<HopLink>,
    /// Names of flows, by number.
    pub flows: Vec<String>,
    /// Kinds of packets, by number.
    pub kinds: Vec<&'static str>,
}

/// Rows of one batch, in the order of arrival at their links.
#[derive(Debug)]
struct Chunk {
    rows: Vec<Row>,
    /// Number of packets that are still on their links.
    open: usize,
}

/// Writer of `packets.arrow` from the packets at each link of a run. [`take`](Self::take) may be called at any time, so
/// that memory does not grow with the run. Equal calls give equal bytes.
#[derive(Debug)]
pub struct PacketRows {
    shape: Shape,
    file: ArrowFile,
    chunks: VecDeque<Chunk>,
    /// Number of chunks written, which is the number of the first remaining chunk.
    written: u64,
    /// Rows that were open when their chunk was written.
    stragglers: BTreeMap<HopId, Row>,
    /// Stragglers that have been completed since.
    late: Vec<Row>,
    spare: Vec<Row>,
    by_link: ByLink,
    batches: Vec<BatchPlace>,
    rows: u64,
    /// Error of a call that returns no result, returned by the next [`take`](Self::take).
    failure: Option<io::Error>,
}

impl PacketRows {
    /// Creates the writer for a run with these links, flows and kinds of packets.
    #[must_use]
    pub fn new(names: &PacketNames) -> Self {
        let PacketNames { links, flows, kinds } = names;
        let json = |value: serde_json::Result<String>| value.unwrap_or_default();
        let metadata = [
            ("headway.packets", VERSION.to_string()),
            ("links", json(serde_json::to_string(links))),
            ("flows", json(serde_json::to_string(flows))),
            ("kinds", json(serde_json::to_string(kinds))),
            ("fates", json(serde_json::to_string(&TraversalOutcome::names()))),
        ];
        let metadata: BTreeMap<String, String> =
            metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let shape = Shape::of(links.len(), flows.len());
        let file = ArrowFile::new(Schema { columns: columns(shape), metadata }, Compression::Lz4);
        Self {
            shape,
            file,
            chunks: VecDeque::new(),
            written: 0,
            stragglers: BTreeMap::new(),
            late: Vec::new(),
            spare: Vec::new(),
            by_link: ByLink::new(links.len()),
            batches: Vec::new(),
            rows: 0,
            failure: None,
        }
    }

    /// Records the arrival of a packet at a link. Calls must be in the order of time.
    #[inline]
    pub fn offered(&mut self, hop: &Hop) -> HopId {
        if self.chunks.back().is_none_or(|chunk| chunk.rows.len() == BATCH_ROWS) {
            self.begin_chunk();
        }
        let number = self.written + self.chunks.len() as u64 - 1;
        let Some(chunk) = self.chunks.back_mut() else { return HopId(u64::MAX) };
        let id = HopId(number * BATCH_ROWS as u64 + chunk.rows.len() as u64);
        chunk.rows.push(Row::new(hop));
        chunk.open += 1;
        id
    }

    #[cold]
    fn begin_chunk(&mut self) {
        self.write_complete();
        let mut rows = std::mem::take(&mut self.spare);
        rows.clear();
        rows.reserve_exact(BATCH_ROWS);
        self.chunks.push_back(Chunk { rows, open: 0 });
    }

    /// Records that the packet's transmission lasts from `start` to `end`; both may be in the future.
    #[inline]
    pub fn transmitted(&mut self, id: HopId, start: Instant, end: Instant) {
        if let Some(row) = self.row_mut(id) {
            (row.start, row.end) = (start.as_nanos(), end.as_nanos());
        }
    }

    /// Records that the link marked the packet Congestion Experienced.
    pub fn marked(&mut self, id: HopId) {
        if let Some(row) = self.row_mut(id) {
            row.mark = true;
        }
    }

    /// Records that the packet left the link. Called once for each [`offered`](Self::offered) packet.
    #[inline]
    pub fn ended(&mut self, id: HopId, now: Instant, fate: TraversalOutcome) {
        let end = |row: &mut Row| row.leave(now.as_nanos(), fate);
        let (number, index) = Self::position(id);
        if let Some(chunk) = number.checked_sub(self.written).and_then(|chunk| self.chunks.get_mut(chunk as usize)) {
            if let Some(row) = chunk.rows.get_mut(index) {
                end(row);
                chunk.open = chunk.open.saturating_sub(1);
            }
        } else if let Some(mut row) = self.stragglers.remove(&id) {
            end(&mut row);
            self.late.push(row);
        }
    }

    const fn position(id: HopId) -> (u64, usize) {
        (id.0 / BATCH_ROWS as u64, id.0 as usize % BATCH_ROWS)
    }

    #[inline]
    fn row_mut(&mut self, id: HopId) -> Option<&mut Row> {
        let (number, index) = Self::position(id);
        match number.checked_sub(self.written).and_then(|chunk| self.chunks.get_mut(chunk as usize)) {
            Some(chunk) => chunk.rows.get_mut(index),
            None => self.stragglers.get_mut(&id),
        }
    }

    fn write_complete(&mut self) {
        while self.chunks.front().is_some_and(|chunk| chunk.open == 0) || self.chunks.len() > MAX_WAITING {
            let Some(mut chunk) = self.chunks.pop_front() else { return };
            if chunk.open > 0 {
                self.set_stragglers_aside(&mut chunk.rows);
            }
            self.written += 1;
            self.write(&chunk.rows);
            self.spare = chunk.rows;
        }
        if self.late.len() >= BATCH_ROWS {
            self.write_late();
        }
    }

    #[cold]
    fn set_stragglers_aside(&mut self, rows: &mut Vec<Row>) {
        let open = TraversalOutcome::InFlight.code();
        let first = self.written * BATCH_ROWS as u64;
        let stragglers = rows.iter().zip(first..).filter(|(row, _)| row.fate == open);
        self.stragglers.extend(stragglers.map(|(row, id)| (HopId(id), *row)));
        rows.retain(|row| row.fate != open);
    }

    #[cold]
    fn write_late(&mut self) {
        let mut late = std::mem::take(&mut self.late);
        late.sort_by_key(|row| row.offered);
        late.chunks(BATCH_ROWS).for_each(|rows| self.write(rows));
    }

    fn write(&mut self, rows: &[Row]) {
        if rows.is_empty() {
            return;
        }
        let times = Times::of(rows);
        match write(&mut self.file, self.shape, self.by_link.sort(rows), times) {
            Ok(place) => {
                let Times { base_ns, until_ns, tick_ns } = times;
                self.batches.push(BatchPlace { base_ns, until_ns, tick_ns, place, rows: rows.len() as u64 });
                self.rows += rows.len() as u64;
            }
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Returns the bytes of the file that are complete since the last call.
    ///
    /// # Errors
    /// Compression of an earlier batch failed.
    pub fn take(&mut self) -> Result<Vec<u8>, PacketsError> {
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.file.take()),
        }
    }

    /// Ends the run at `now` and returns the index. Packets for which [`ended`](Self::ended) was not called are in
    /// flight. [`take`](Self::take) then returns the rest of the file.
    pub fn finish(&mut self, now: Instant) -> PacketIndex {
        let now = now.as_nanos();
        let open = TraversalOutcome::InFlight.code();
        self.late.extend(std::mem::take(&mut self.stragglers).into_values());
        let rows = self.chunks.iter_mut().flat_map(|chunk| &mut chunk.rows).chain(&mut self.late);
        rows.filter(|row| row.fate == open).for_each(|row| row.leave(now, TraversalOutcome::InFlight));
        for chunk in std::mem::take(&mut self.chunks) {
            self.write(&chunk.rows);
        }
        self.write_late();
        let schema = self.file.schema_place();
        let index =
            PacketIndex { version: VERSION, rows: self.rows, schema, batches: std::mem::take(&mut self.batches) };
        self.file.finish([("rows".to_owned(), self.rows.to_string())], Some((INDEX_KEY, &index.to_json())));
        index
    }
}
