//! Collects rows and writes them.

use super::batch::{Shape, Times, columns, write};
use super::by_link::ByLink;
use super::index::{BatchPlace, INDEX_KEY, PacketIndex};
use super::row::{Hop, HopFate, HopLink, Row};
use super::{BATCH_ROWS, PacketsError};
use crate::format::arrow::file::{ArrowFile, Compression};
use crate::format::arrow::metadata::Schema;
use headway_units::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// So many batches wait at most for what becomes of their packets. Where one takes longer, as on a slow link with a long queue, its row
/// comes in a later batch: rows take 60 MB at most, and those of the packets under way that much more.
const MOST_WAITING: usize = 16;

/// The shape of the file, told in its metadata.
const VERSION: u32 = 2;

/// A row that has been begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HopId(u64);

/// What the numbers of rows stand for.
#[derive(Clone, Debug, Default)]
pub struct PacketNames {
    /// Directions of links.
    pub links: Vec<HopLink>,
    /// Flows.
    pub flows: Vec<String>,
    /// What packets are.
    pub kinds: Vec<&'static str>,
}

/// Rows of one batch, in the order of their offers.
#[derive(Debug)]
struct Chunk {
    rows: Vec<Row>,
    /// Rows of packets that are still on their links.
    open: usize,
}

/// Makes `packets.arrow` of the packet-hops of a run: what is ready can be taken as often as one likes, so that a run of any length needs
/// little memory. The same hops always give the same bytes.
#[derive(Debug)]
pub struct PacketRows {
    shape: Shape,
    file: ArrowFile,
    chunks: VecDeque<Chunk>,
    /// How many chunks have been written: the number of the first that is left.
    written: u64,
    /// Rows that were still open when their chunk was written.
    stragglers: BTreeMap<HopId, Row>,
    /// Those of them that no longer are.
    late: Vec<Row>,
    spare: Vec<Row>,
    by_link: ByLink,
    places: Vec<BatchPlace>,
    rows: u64,
    /// What went wrong in a call that cannot say so.
    failure: Option<io::Error>,
}

impl PacketRows {
    /// Of a run with these links, flows and kinds.
    #[must_use]
    pub fn new(names: &PacketNames) -> Self {
        let PacketNames { links, flows, kinds } = names;
        let json = |value: serde_json::Result<String>| value.unwrap_or_default();
        let metadata = [
            ("headway.packets", VERSION.to_string()),
            ("links", json(serde_json::to_string(links))),
            ("flows", json(serde_json::to_string(flows))),
            ("kinds", json(serde_json::to_string(kinds))),
            ("fates", json(serde_json::to_string(&HopFate::names()))),
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
            places: Vec::new(),
            rows: 0,
            failure: None,
        }
    }

    /// A packet is offered to a link. Nothing is offered before what was offered last.
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
        self.write_settled();
        let mut rows = std::mem::take(&mut self.spare);
        rows.clear();
        rows.reserve_exact(BATCH_ROWS);
        self.chunks.push_back(Chunk { rows, open: 0 });
    }

    /// Its transmission lasts, or will last, from `start` to `end`.
    #[inline]
    pub fn transmitted(&mut self, id: HopId, start: Instant, end: Instant) {
        if let Some(row) = self.row_mut(id) {
            (row.start, row.end) = (start.as_nanos(), end.as_nanos());
        }
    }

    /// The link marked it Congestion Experienced.
    pub fn marked(&mut self, id: HopId) {
        if let Some(row) = self.row_mut(id) {
            row.mark = true;
        }
    }

    /// It is no longer on the link: once for each row that has been begun.
    #[inline]
    pub fn ended(&mut self, id: HopId, now: Instant, fate: HopFate) {
        let end = |row: &mut Row| row.leave(now.as_nanos(), fate);
        let (number, place) = Self::place(id);
        if let Some(chunk) = number.checked_sub(self.written).and_then(|place| self.chunks.get_mut(place as usize)) {
            if let Some(row) = chunk.rows.get_mut(place) {
                end(row);
                chunk.open = chunk.open.saturating_sub(1);
            }
        } else if let Some(mut row) = self.stragglers.remove(&id) {
            end(&mut row);
            self.late.push(row);
        }
    }

    const fn place(id: HopId) -> (u64, usize) {
        (id.0 / BATCH_ROWS as u64, id.0 as usize % BATCH_ROWS)
    }

    #[inline]
    fn row_mut(&mut self, id: HopId) -> Option<&mut Row> {
        let (number, place) = Self::place(id);
        match number.checked_sub(self.written).and_then(|place| self.chunks.get_mut(place as usize)) {
            Some(chunk) => chunk.rows.get_mut(place),
            None => self.stragglers.get_mut(&id),
        }
    }

    fn write_settled(&mut self) {
        while self.chunks.front().is_some_and(|chunk| chunk.open == 0) || self.chunks.len() > MOST_WAITING {
            let Some(mut chunk) = self.chunks.pop_front() else { return };
            if chunk.open > 0 {
                self.leave_behind(&mut chunk.rows);
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
    fn leave_behind(&mut self, rows: &mut Vec<Row>) {
        let open = HopFate::InFlight.code();
        let first = self.written * BATCH_ROWS as u64;
        let left = rows.iter().zip(first..).filter(|(row, _)| row.fate == open);
        self.stragglers.extend(left.map(|(row, id)| (HopId(id), *row)));
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
        match write(&mut self.file, self.shape, self.by_link.order(rows), times) {
            Ok(place) => {
                let Times { base_ns, until_ns, tick_ns } = times;
                self.places.push(BatchPlace { base_ns, until_ns, tick_ns, place, rows: rows.len() as u64 });
                self.rows += rows.len() as u64;
            }
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// What is ready of the file, behind what was taken before.
    ///
    /// # Errors
    /// What could not be written.
    pub fn take(&mut self) -> Result<Vec<u8>, PacketsError> {
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.file.take()),
        }
    }

    /// The run ends: what has not ended by now is in flight. What is left of the file can be [taken](Self::take) then.
    pub fn finish(&mut self, now: Instant) -> PacketIndex {
        let now = now.as_nanos();
        let open = HopFate::InFlight.code();
        self.late.extend(std::mem::take(&mut self.stragglers).into_values());
        let left = self.chunks.iter_mut().flat_map(|chunk| &mut chunk.rows).chain(&mut self.late);
        left.filter(|row| row.fate == open).for_each(|row| row.leave(now, HopFate::InFlight));
        for chunk in std::mem::take(&mut self.chunks) {
            self.write(&chunk.rows);
        }
        self.write_late();
        let schema = self.file.schema_place();
        let index =
            PacketIndex { version: VERSION, rows: self.rows, schema, batches: std::mem::take(&mut self.places) };
        self.file.finish([("rows".to_owned(), self.rows.to_string())], Some((INDEX_KEY, &index.to_json())));
        index
    }
}
