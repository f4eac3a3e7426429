#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! Results are equal on all machines: sums are integers during a run, and each is divided once, at the end.
//!
//! `meter` counts the events of packets:
//!
//! | input | output |
//! |---|---|
//! | [`FlowMeter`]: the packets of a flow | [`FlowSummary`] |
//! | [`LinkMeter`]: the packets in one direction of a link | [`LinkSummary`] |
//! | [`HostMeter`]: the packets at a host with a modeled receive CPU | [`HostSummary`] |
//! | [`Distributions`]: the delay of each packet and frame | `distributions.json` |
//!
//! `summary` holds the results of a run: [`Summary`] is `summary.json` and its tables, and [`Estimate`] is a mean
//! over runs. `expression` computes a number from a summary: [`Expression`], such as
//! `mean(flow[media*].throughput_bps) / 1e3`.
//!
//! `format` writes and reads files:
//!
//! | input | file |
//! |---|---|
//! | [`SeriesWriter`]: samples over time | `series.arrow`, which [`SeriesTable`] reads |
//! | [`PacketRows`]: every packet at every link | `packets.arrow`, which [`PacketTable`] reads, and its [`PacketIndex`] |
//! | [`EventLog`]: drops, timeouts, loss events, late packets | `events.arrow`, which [`EventTable`] reads |
//! | [`ns2`], [`nam`]: packets at queues | lines of an ns-2 or nam trace |
//! | [`perfetto`]: events of links and flows | a trace for Perfetto |
//! | [`PcapngWriter`]: IP packets, built with [`IpHeader`] | a pcapng file for Wireshark |
//! | `series_batches`, `event_batches` (feature `arrow`): bytes of a file | Arrow's record batches |
//!
//! `plot` (feature `plot`) draws series, distributions, drops, packets and samples over a parameter as SVG, PNG and PDF. [`metric`] and
//! [`SERIES_FIGURES`] list the metrics of a series and the figures that show them.
#![forbid(unsafe_code)]

mod expression;
mod figures;
mod format;
mod meter;
pub mod metric;
#[cfg(feature = "plot")]
pub mod plot;
mod readable;
mod summary;

pub use expression::{Expression, ExpressionError, ExpressionFault, Names, Numbers};
pub use figures::{DROPS_FIGURE, FIGURE_ENDINGS, SEQUENCE_FIGURE, SERIES_FIGURES, SeriesFigure, figure_names};
#[cfg(feature = "arrow")]
pub use format::arrow::batches::{event_batches, series_batches, series_schema};
pub use format::arrow::messages::{ARROW_STREAM_END, arrow_messages};
pub use format::events::{
    Event, EventCause, EventKind, EventLog, EventNames, EventRow, EventTable, EventsError, FEEDBACK,
    MAX_ROWS_PER_KIND as MAX_EVENTS_PER_KIND,
};
pub use format::ip::{IpAddresses, IpError, IpHeader};
pub use format::packets::{
    Hop, HopId, HopLink, LinkEnds, PacketIndex, PacketNames, PacketRow, PacketRows, PacketTable, PacketsError,
    TraversalOutcome,
};
pub use format::pcapng::{PcapngDirection, PcapngInterface, PcapngPacket, PcapngWriter};
pub use format::series::{SeriesEntity, SeriesError, SeriesId, SeriesMetric, SeriesNames, SeriesTable, SeriesWriter};
pub use format::{nam, ns2, perfetto};
pub use meter::attacker::AttackerSummary;
pub use meter::by_flow::{ByFlow, GapSummary, LinkFlowSummary};
pub use meter::counts::DropCounts;
pub use meter::delay::{DelaySum, DelaySummary};
pub use meter::display::DisplaySummary;
pub use meter::distribution::{Distribution, Distributions, DistributionsError, FlowDistributions};
pub use meter::e_model::{EModel, mos};
pub use meter::encoder::EncoderSummary;
pub use meter::fairness::jain_index;
pub use meter::flow::{FlowLabel, FlowMeter, FlowPacket, FlowSummary, RttSummary};
pub use meter::frames::{FrameSummary, WrittenFrame};
pub use meter::histogram::{Histogram, PERCENTILE_ERROR};
pub use meter::host::{HostDrops, HostMeter, HostSummary};
pub use meter::judged::LossClassificationSummary;
pub use meter::link::{LinkLabel, LinkMeter, LinkSummary};
pub use meter::measured::Measured;
pub use meter::pages::PagesSummary;
pub use meter::phases::{PHASE_STEP, Phase, PhaseMeter, PhaseSummary};
pub use meter::send_queue::SendQueueSummary;
pub use meter::sessions::{CompletionBySize, CompletionOfSize, SessionsSummary};
pub use readable::{LabelError, axis_title, check_label, quantity};
pub use summary::estimate::{Estimate, MIN_RUNS};
pub use summary::table::{attacker_table, flow_table, host_table, link_table, number_table, session_table};
pub use summary::{Interval, Summary, SummaryError};
