#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! Every formula stands beside its source, and every number is the same on any machine: integers while a run lasts, one division at its
//! end.
//!
//! | in | out |
//! |---|---|
//! | [`FlowMeter`]: what happened to a flow's packets | [`FlowSummary`] |
//! | [`LinkMeter`]: what happened at one direction of a link | [`LinkSummary`] |
//! | [`HostMeter`]: what happened at a host that takes time | [`HostSummary`] |
//! | [`Summary`]: both, of a whole run | `summary.json`, or tables for people |
//! | [`Distributions`]: how long each packet and frame took | `distributions.json` |
//! | [`Expression`]: a number by name, `mean(flow[media*].throughput_bps) / 1e3` | its value in a [`Summary`] |
//! | [`SeriesWriter`]: samples over time | `series.arrow`, read back by [`SeriesTable`] |
//! | [`PacketRows`]: every packet at every link | `packets.arrow`, and a [`PacketIndex`] beside it |
//! | [`EventLog`]: drops, timeouts, what came late | `events.arrow` |
//! | [`ns2`]: a packet at a queue | a line of ns-2's `.tr` |
//! | [`nam`]: the same | lines for nam |
//! | [`perfetto`]: what happens on links and to flows | a trace that Perfetto opens |
//! | [`PcapngWriter`]: IP packets, which [`IpHeader`] makes | a pcapng file for Wireshark |
//! | `series_batches`, `event_batches` (feature `arrow`): bytes of a file | Arrow's record batches |
//! | `plot` (feature of that name): series tables, distributions, samples over a parameter | SVG and PNG |
#![forbid(unsafe_code)]

#[cfg(feature = "arrow")]
mod arrow_batches;
mod arrow_file;
mod arrow_messages;
mod arrow_metadata;
mod attacker;
mod by_flow;
mod counts;
mod delay;
mod distribution;
mod e_model;
mod estimate;
mod events;
mod expression;
mod fairness;
mod figures;
mod flow;
mod frames;
mod histogram;
mod host;
mod ip;
mod jitter;
mod judged;
mod link;
mod measured;
pub mod nam;
mod name_set;
pub mod ns2;
mod packets;
mod pages;
mod pcapng;
pub mod perfetto;
#[cfg(feature = "plot")]
pub mod plot;
mod pretty;
mod rate_bins;
mod readable;
mod send_queue;
mod series;
mod sessions;
mod summary;
mod table;

#[cfg(feature = "arrow")]
pub use arrow_batches::{event_batches, series_batches, series_schema};
pub use arrow_messages::{ARROW_STREAM_END, arrow_messages};
pub use attacker::AttackerSummary;
pub use by_flow::{ByFlow, GapSummary, LinkFlowSummary};
pub use counts::DropCounts;
pub use delay::DelaySummary;
pub use distribution::{Distribution, Distributions, DistributionsError, FlowDistributions};
pub use e_model::{EModel, mos};
pub use estimate::{Estimate, FEWEST_RUNS};
pub use events::{
    Event, EventCause, EventKind, EventLog, EventNames, EventRow, EventTable, EventsError, MOST_ROWS as MOST_EVENTS,
};
pub use expression::{Expression, ExpressionError, ExpressionFault, Names, Numbers};
pub use fairness::jain_index;
pub use figures::{FIGURES, SERIES_FIGURES};
pub use flow::{FlowLabel, FlowMeter, FlowPacket, FlowSummary, RttSummary};
pub use frames::{FrameSummary, WrittenFrame};
pub use histogram::{Histogram, PERCENTILE_ERROR};
pub use host::{HostDrops, HostMeter, HostSummary};
pub use ip::{IpAddresses, IpError, IpHeader};
pub use judged::JudgedSummary;
pub use link::{LinkLabel, LinkMeter, LinkSummary};
pub use measured::Measured;
pub use packets::{Hop, HopFate, HopId, HopLink, PacketIndex, PacketNames, PacketRows, PacketsError};
pub use pages::PagesSummary;
pub use pcapng::{PcapngDirection, PcapngInterface, PcapngPacket, PcapngWriter};
pub use readable::{readable_unit, titled};
pub use send_queue::SendQueueSummary;
pub use series::{SeriesEntity, SeriesError, SeriesId, SeriesMetric, SeriesNames, SeriesTable, SeriesWriter, metric};
pub use sessions::{CompletionBySize, CompletionOfSize, SessionsSummary};
pub use summary::{Interval, Summary, SummaryError};
pub use table::{attacker_table, flow_table, host_table, link_table, number_table, session_table};
