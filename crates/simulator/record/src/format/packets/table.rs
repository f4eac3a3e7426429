//! Reads `packets.arrow` batch by batch.
//!
//! Files are untrusted: every offset and length is checked. Memory in addition to the file is bounded by one batch.

use super::batch::{Shape, columns};
use super::row::TraversalOutcome;
use super::rows::VERSION;
use super::{PacketsError, damaged};
use crate::format::arrow::compressed::{CompressedBatch, DecodedColumn};
use crate::format::arrow::metadata::{Batch, Column, Footer};
use headway_units::Instant;
use serde::Deserialize;

/// The packets of a run at each link, read from `packets.arrow`.
#[derive(Debug)]
pub struct PacketTable<'a> {
    footer: Footer<'a>,
    /// Length of the file, in bytes.
    length: usize,
    columns: Vec<Column>,
    links: Vec<LinkEnds>,
    flows: Vec<String>,
    /// Number of the kind of acknowledgements and reports.
    feedback: Option<usize>,
}

/// Nodes of a link direction.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LinkEnds {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
}

/// A packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRow<'a> {
    /// Time at which the packet was offered to the link.
    pub offered: Instant,
    /// Time at which it reached the far end, was dropped or, in flight, at which the run ended.
    pub left: Instant,
    /// Nodes of the link.
    pub link: &'a LinkEnds,
    /// Number of the flow, in the order of [`PacketTable::flows`].
    pub flow: usize,
    /// Whether the packet is an acknowledgement or a report to the flow's sender.
    pub is_feedback: bool,
    /// Outcome of the packet at the link.
    pub outcome: TraversalOutcome,
    /// Low 32 bits of the packet's number in its flow, or of the number that feedback acknowledges.
    pub sequence: u32,
}

/// Indices of the columns that are read: those of times, then `link`, `flow`, `kind`, `fate` and `sequence`.
const READ: [usize; 11] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11];

impl<'a> PacketTable<'a> {
    /// Reads the schema of the bytes of `packets.arrow`.
    ///
    /// # Errors
    /// The bytes are not a complete `packets.arrow` of this version.
    pub fn from_ipc(bytes: &'a [u8]) -> Result<Self, PacketsError> {
        let footer = Footer::of(bytes).ok_or(damaged("it is not an Arrow IPC file, or it is truncated"))?;
        let found = footer.columns().ok_or(damaged("its schema cannot be read"))?;
        let matches = |columns: &Vec<Column>| {
            let expected = columns.iter().map(|column| (column.name, Some(column.holds)));
            expected.eq(found.iter().map(|column| (column.name, column.holds)))
        };
        let columns = Shape::ALL.into_iter().map(columns).find(matches).ok_or(damaged("it has other columns"))?;
        let metadata = footer.metadata().ok_or(damaged("its metadata cannot be read"))?;
        if metadata.get("headway.packets").is_none_or(|version| **version != VERSION.to_string()) {
            return Err(damaged("it has another version of the layout"));
        }
        let (links, flows) = (list(metadata.get("links"))?, list(metadata.get("flows"))?);
        let kinds: Vec<&str> = list(metadata.get("kinds"))?;
        let feedback = kinds.iter().position(|kind| *kind == crate::FEEDBACK);
        Ok(Self { footer, length: bytes.len(), columns, links, flows, feedback })
    }

    /// Returns the names of the flows, in the order of the scenario.
    #[must_use]
    pub fn flows(&self) -> &[String] {
        &self.flows
    }

    /// Calls `on_row` with each packet at each link. Packets are ordered by link within each batch.
    ///
    /// # Errors
    /// The file is damaged. `on_row` may have been called for earlier rows.
    pub fn for_each(&self, mut on_row: impl FnMut(&PacketRow<'_>)) -> Result<(), PacketsError> {
        let mut body_bytes = 0;
        for batch in self.footer.batches().ok_or(damaged("its footer cannot be read"))? {
            let batch = batch.ok_or(damaged("a record batch is missing or damaged"))?;
            body_bytes += batch.body.len();
            // Overlapping blocks could repeat a batch any number of times.
            if body_bytes > self.length {
                return Err(damaged("its record batches overlap"));
            }
            self.read(batch, &mut on_row)?;
        }
        Ok(())
    }

    fn read(&self, batch: Batch<'_>, on_row: &mut impl FnMut(&PacketRow<'_>)) -> Result<(), PacketsError> {
        let batch = CompressedBatch::new(batch).map_err(damaged)?;
        let column = |number: usize| batch.column(number, self.columns[number].holds).map_err(damaged);
        let read = READ.into_iter().map(column);
        let columns: Vec<DecodedColumn> = read.collect::<Result<_, _>>()?;
        for row in 0..batch.batch.rows {
            let value = |column: usize| {
                let value = columns[column].integer(row).and_then(|value| u64::try_from(value).ok());
                value.ok_or(damaged("a cell is null or negative"))
            };
            let (base, tick) = (value(0)?, value(1)?);
            let at = |ticks: u64| Instant::from_nanos(base.saturating_add(tick.saturating_mul(ticks)));
            let offered = value(2)?;
            let left = offered + value(3)? + value(4)? + value(5)?;
            let flow = value(7)? as usize;
            on_row(&PacketRow {
                offered: at(offered),
                left: at(left),
                link: self.links.get(value(6)? as usize).ok_or(damaged("a link has no name"))?,
                flow: Some(flow).filter(|flow| *flow < self.flows.len()).ok_or(damaged("a flow has no name"))?,
                is_feedback: self.feedback == Some(value(8)? as usize),
                outcome: TraversalOutcome::of_code(value(9)?).ok_or(damaged("an outcome is unknown"))?,
                sequence: value(10)? as u32,
            });
        }
        Ok(())
    }
}

/// Returns the list in a value of the metadata.
fn list<'a, T: Deserialize<'a>>(text: Option<&&'a str>) -> Result<Vec<T>, PacketsError> {
    text.and_then(|text| serde_json::from_str(text).ok()).ok_or(damaged("its names cannot be read"))
}
