//! Time-sequence graphs: the numbers of a flow's packets over time, as in tcptrace and in papers with ns-2.

use super::curves::Trace;
use super::draw::{self, Between, Panel};
use super::style::Style;
use super::{Figure, MAX_PANELS, PlotError, Points, SeriesLines};
use crate::{FlowSummary, Interval, PacketRow, PacketTable, PacketsError, SEQUENCE_FIGURE, Summary, TraversalOutcome};
use std::collections::BTreeMap;

/// Error while drawing packets.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum SequenceError {
    #[error(transparent)]
    Packets(#[from] PacketsError),
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// Title of the vertical axis.
const Y_TITLE: &str = "Packet number";
/// Maximum number of marks of a kind in a panel.
const MAX_MARKS: usize = 1000;
/// Number of columns and rows of the finest grid in which close marks become one.
const FINEST: f64 = 4096.0;

/// What happens to a packet. The order is that of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// The sender sends it.
    Sent,
    /// A link or a host drops it.
    Dropped,
    /// It reaches the receiver.
    Received,
    /// A packet that acknowledges it reaches the sender.
    Acknowledged,
}

impl Mark {
    const ALL: [Self; 4] = [Self::Sent, Self::Dropped, Self::Received, Self::Acknowledged];

    const fn label(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Dropped => "dropped",
            Self::Received => "received",
            Self::Acknowledged => "acknowledged",
        }
    }

    /// Returns the index of its shape, its size in percent, and the index of its color: a small blue dot, an orange cross,
    /// a green ring and a pink plus.
    const fn look(self) -> (usize, i32, usize) {
        match self {
            Self::Sent => (0, 40, 0),
            Self::Dropped => (5, 100, 1),
            Self::Received => (7, 55, 2),
            Self::Acknowledged => (6, 55, 3),
        }
    }
}

/// Draws the sequence numbers of the packets of a run over time: a mark for each packet when the sender sends it, when
/// it is dropped, when it reaches the receiver and when it is acknowledged. Numbers are counted from the first packet
/// of the flow. There is a panel for each flow; of more than four flows, these are the ones with most packets. A panel
/// has at most 1000 marks of each kind: of marks that are close to each other, the first is drawn. Returns `None` if no
/// packet was sent in the measured interval.
///
/// Feedback of DCCP has no mark, because its trace has the number of the feedback, not the acknowledged one.
///
/// # Errors
/// The table is damaged, or [`PlotError::Draw`].
pub fn sequence_figure(
    label: &str,
    packets: &PacketTable<'_>,
    summary: &Summary,
    style: &Style,
) -> Result<Option<Figure>, SequenceError> {
    let Found { count, flows } = found(packets, summary)?;
    let panel = |(flow, marks): &(&str, FlowMarks)| {
        let trace = |(mark, points): (Mark, Points)| {
            let (shape, percent, color) = mark.look();
            Trace::Marks { label: mark.label().to_owned(), points, shape, percent, color }
        };
        let traces = points_of(marks).map(trace).collect();
        let title = if count == 1 { String::new() } else { (*flow).to_owned() };
        Panel { title, y_title: Y_TITLE.to_owned(), scale: 1.0, heading: String::new(), traces, between: Between::Line }
    };
    let Some((first, _)) = flows.first() else { return Ok(None) };
    let title = match count - flows.len() {
        0 if count == 1 => format!("Packets over time: {label}, {first}"),
        0 => format!("Packets over time: {label}"),
        _ => format!("Packets over time, the {} flows of {count} with most packets: {label}", flows.len()),
    };
    let panels = flows.iter().map(panel).collect();
    Ok(Some(draw::figure(SEQUENCE_FIGURE, &title, panels, Some(summary.interval), style)?))
}

/// Returns the marks of [`sequence_figure`] for another drawing program: those of each kind of each flow.
///
/// # Errors
/// The table is damaged.
pub fn sequence_marks(packets: &PacketTable<'_>, summary: &Summary) -> Result<SeriesLines, SequenceError> {
    let Found { flows, .. } = found(packets, summary)?;
    let mut lines = Vec::new();
    for (flow, marks) in &flows {
        let label = |mark: Mark| match flows.len() {
            1 => mark.label().to_owned(),
            _ => format!("{flow}: {}", mark.label()),
        };
        lines.extend(points_of(marks).map(|(mark, points)| (label(mark), points)));
    }
    Ok(SeriesLines { y_title: Y_TITLE.to_owned(), lines })
}

/// The marks of each kind of a flow.
type FlowMarks = [Marks; Mark::ALL.len()];

/// The flows to draw, in the order of the scenario.
struct Found<'a> {
    /// Number of flows that sent packets.
    count: usize,
    flows: Vec<(&'a str, FlowMarks)>,
}

/// Returns the points of each kind of marks that a flow has.
fn points_of(marks: &FlowMarks) -> impl Iterator<Item = (Mark, Points)> {
    let all = Mark::ALL.into_iter().zip(marks).filter(|(_, marks)| !marks.at.is_empty());
    all.map(|(mark, marks)| (mark, marks.at.values().copied().collect()))
}

/// Returns the marks of the flows that sent packets in the measured interval; of more than four flows, the ones with
/// most packets.
fn found<'a>(packets: &'a PacketTable<'_>, summary: &Summary) -> Result<Found<'a>, PacketsError> {
    let summaries: BTreeMap<&str, &FlowSummary> = summary.flows.iter().map(|flow| (flow.name.as_str(), flow)).collect();
    let ends: Vec<Option<&FlowSummary>> =
        packets.flows().iter().map(|name| summaries.get(name.as_str()).copied()).collect();
    let Interval { from, to } = summary.interval;
    let is_drawn = |at: f64| (from..=to).contains(&at);
    let mut extents: BTreeMap<usize, Extent> = BTreeMap::new();
    packets.for_each(|row| {
        if let Some(flow) = ends.get(row.flow).copied().flatten()
            && is_sent(row, flow)
        {
            extents.entry(row.flow).or_insert_with(|| Extent::of(row)).add(row, is_drawn);
        }
    })?;
    extents.retain(|_, extent| extent.packets > 0);
    let count = extents.len();
    let mut flows: Vec<(usize, Extent)> = extents.into_iter().collect();
    flows.sort_by_key(|(_, extent)| std::cmp::Reverse(extent.packets));
    flows.truncate(MAX_PANELS);
    let mut shown: BTreeMap<usize, (Extent, FlowMarks)> =
        flows.into_iter().map(|(flow, extent)| (flow, (extent, Default::default()))).collect();
    packets.for_each(|row| {
        let (Some(flow), Some((extent, marks))) = (ends.get(row.flow).copied().flatten(), shown.get_mut(&row.flow))
        else {
            return;
        };
        for (mark, at) in events(row, flow).into_iter().flatten() {
            if is_drawn(at) {
                let point = (at, extent.number(row.sequence));
                marks[mark as usize].add(point, (from, to), extent.range());
            }
        }
    })?;
    let flows = shown.into_iter().map(|(flow, (_, marks))| (packets.flows()[flow].as_str(), marks)).collect();
    Ok(Found { count, flows })
}

/// Returns whether the sender of the flow offers the packet to its first link.
fn is_sent(row: &PacketRow<'_>, flow: &FlowSummary) -> bool {
    !row.is_feedback && row.link.from == flow.from
}

/// Returns the marks of a packet at a link, and their times in s.
fn events(row: &PacketRow<'_>, flow: &FlowSummary) -> [Option<(Mark, f64)>; 2] {
    let at = |mark: Mark| Some((mark, row.left.as_secs_f64()));
    if row.is_feedback {
        let acknowledges = !flow.kind.starts_with("dccp");
        let arrives = row.link.to == flow.from && row.outcome == TraversalOutcome::Delivered;
        return [at(Mark::Acknowledged).filter(|_| acknowledges && arrives), None];
    }
    let sent = is_sent(row, flow).then(|| (Mark::Sent, row.offered.as_secs_f64()));
    let end = match row.outcome {
        TraversalOutcome::Dropped(_) => at(Mark::Dropped),
        TraversalOutcome::Delivered if row.link.to == flow.to => at(Mark::Received),
        TraversalOutcome::Delivered | TraversalOutcome::InFlight => None,
    };
    [sent, end]
}

/// Numbers of the packets that a flow sends in the measured interval.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Time and number of the first packet of the flow.
    first: (f64, u32),
    packets: u64,
    smallest: f64,
    largest: f64,
}

impl Extent {
    fn of(row: &PacketRow<'_>) -> Self {
        let first = (row.offered.as_secs_f64(), row.sequence);
        Self { first, packets: 0, smallest: f64::INFINITY, largest: f64::NEG_INFINITY }
    }

    fn add(&mut self, row: &PacketRow<'_>, is_drawn: impl Fn(f64) -> bool) {
        let at = row.offered.as_secs_f64();
        if at < self.first.0 {
            let moved = self.number(row.sequence);
            self.first = (at, row.sequence);
            (self.smallest, self.largest) = (self.smallest - moved, self.largest - moved);
        }
        if is_drawn(at) {
            self.packets += 1;
            let number = self.number(row.sequence);
            (self.smallest, self.largest) = (self.smallest.min(number), self.largest.max(number));
        }
    }

    /// Returns a number counted from the first packet. Sequence numbers wrap.
    fn number(&self, sequence: u32) -> f64 {
        f64::from(sequence.wrapping_sub(self.first.1).cast_signed())
    }

    fn range(&self) -> (f64, f64) {
        (self.smallest, self.largest)
    }
}

/// Marks of a kind, of which at most [`MAX_MARKS`] are kept: one in each cell of a grid that becomes coarser.
#[derive(Debug)]
struct Marks {
    /// Width and height of a cell, relative to the ranges of time and numbers.
    cell: f64,
    at: BTreeMap<(i64, i64), (f64, f64)>,
}

impl Default for Marks {
    fn default() -> Self {
        Self { cell: 1.0 / FINEST, at: BTreeMap::new() }
    }
}

impl Marks {
    fn add(&mut self, point: (f64, f64), time: (f64, f64), numbers: (f64, f64)) {
        let part = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low).max(f64::MIN_POSITIVE);
        let place = |cell: f64, (at, number): (f64, f64)| {
            ((part(at, time) / cell).floor() as i64, (part(number, numbers) / cell).floor() as i64)
        };
        keep_first(&mut self.at, place(self.cell, point), point);
        while self.at.len() > MAX_MARKS {
            self.cell *= 2.0;
            let points = std::mem::take(&mut self.at);
            points.into_values().for_each(|point| keep_first(&mut self.at, place(self.cell, point), point));
        }
    }
}

/// Keeps the earlier of the points of a cell.
fn keep_first(points: &mut BTreeMap<(i64, i64), (f64, f64)>, cell: (i64, i64), point: (f64, f64)) {
    let kept = points.entry(cell).or_insert(point);
    if point.0 < kept.0 {
        *kept = point;
    }
}
