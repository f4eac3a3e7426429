//! Columnar trace of every packet at every link.

use crate::observe::{LinkEvent, Observer, OfferedPacket};
use crate::packet::Packet;
use headway_record::{Hop, HopId, HopLink, PacketIndex, PacketNames, PacketRows, PacketsError, TraversalOutcome};
use headway_scenario::{Link, Scenario};
use headway_units::{Bytes, DropCause, Instant};

/// Trace of every packet at every link: `packets.arrow`. Call [`take`](Self::take) regularly to limit its memory.
#[derive(Debug)]
pub struct PacketTrace {
    rows: PacketRows,
    /// Row of each packet that is on a link, by slot.
    open: Vec<HopId>,
    index: Option<PacketIndex>,
}

impl PacketTrace {
    /// Creates the trace of a run of this scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let node = |number: usize| scenario.nodes.get(number).map_or("", String::as_str);
        let link = |link: &Link| HopLink::new(&link.name, [node(link.from), node(link.to)], link.delay, link.rate);
        let names = PacketNames {
            links: scenario.links.iter().map(link).collect(),
            flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
            kinds: Packet::KINDS.to_vec(),
        };
        Self { rows: PacketRows::new(&names), open: Vec::new(), index: None }
    }

    /// Returns the bytes of `packets.arrow` that have become complete since the last call.
    ///
    /// # Errors
    /// Returns an error if encoding fails.
    pub fn take(&mut self) -> Result<Vec<u8>, PacketsError> {
        self.rows.take()
    }

    /// Returns the positions of the batches in `packets.arrow`; `None` before the end of the run.
    #[must_use]
    pub fn index(&self) -> Option<&PacketIndex> {
        self.index.as_ref()
    }

    #[inline]
    fn row(&self, slot: usize) -> Option<HopId> {
        self.open.get(slot).copied()
    }
}

impl Observer for PacketTrace {
    const WATCHES: bool = false;
    const HOPS: bool = true;

    fn link_event(&mut self, _: Instant, _: LinkEvent, _: usize, _: &Packet) {}

    #[inline]
    fn hop_offered(&mut self, now: Instant, hop: &OfferedPacket<'_>) {
        let &OfferedPacket { slot, link, queue, packet } = hop;
        let row = self.rows.offered(&Hop {
            offered: now,
            link: link as u32,
            flow: packet.flow.0,
            kind: packet.kind(),
            bytes: Bytes::new(packet.size.into()),
            sequence: packet.trace_number() as u32,
            queue,
            deadline: packet.body.data().map(|data| data.deadline).filter(|at| *at != Instant::FAR_FUTURE),
        });
        if slot >= self.open.len() {
            self.open.resize(slot + 1, row);
        }
        self.open[slot] = row;
    }

    #[inline]
    fn hop_transmitted(&mut self, slot: usize, start: Instant, end: Instant) {
        if let Some(row) = self.row(slot) {
            self.rows.transmitted(row, start, end);
        }
    }

    fn hop_marked(&mut self, slot: usize) {
        if let Some(row) = self.row(slot) {
            self.rows.marked(row);
        }
    }

    #[inline]
    fn hop_ended(&mut self, now: Instant, slot: usize, dropped: Option<DropCause>) {
        if let Some(row) = self.row(slot) {
            self.rows.ended(row, now, dropped.map_or(TraversalOutcome::Delivered, TraversalOutcome::Dropped));
        }
    }

    fn ended(&mut self, now: Instant) {
        self.index = Some(self.rows.finish(now));
    }
}
