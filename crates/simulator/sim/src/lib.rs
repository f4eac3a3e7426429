#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod addresses;
mod attacker;
mod clocks;
mod compare;
mod event_trace;
mod fingerprint;
mod flow;
mod flow_paths;
mod frames;
mod network;
mod ns2_trace;
mod observe;
mod opportunities;
mod packet;
mod packet_trace;
mod pcapng;
mod perfetto_trace;
mod routes;
mod send_queue;
mod series;
mod simulation;
mod spare;
mod speech;
mod transport;
mod yardstick;

pub use clocks::FlowClocks;
pub use compare::{Compared, Comparison, Shares, compare};
pub use event_trace::EventTrace;
pub use fingerprint::Fingerprint;
pub use flow_paths::{FlowPath, flow_paths};
pub use frames::Frames;
pub use network::accounts::Conservation;
pub use ns2_trace::Ns2Trace;
pub use observe::{CongestionEvent, LinkEvent, Observer, OfferedPacket, Place, RoundTrip};
pub use packet::{
    Body, Data, Datagram, DccpPacket, Numbered, Packet, RawPacket, ReportBody, ReportNumbers, Sending, TcpPacket,
    TfrcNumbers,
};
pub use packet_trace::PacketTrace;
pub use pcapng::PcapngTrace;
pub use perfetto_trace::PerfettoTrace;
pub use simulation::setup::{FlowStart, SetupError};
pub use simulation::{Record, RunError, Simulation, SimulationError, simulate};
pub use speech::rate_speech;
pub use transport::ExternalPacket;
pub use transport::dccp::ends::dccp_cut;
pub use yardstick::{SendQueueEvaluation, YardstickError};
