//! IPv4 addresses of nodes and ports of flows.

use headway_units::FlowId;
use std::net::Ipv4Addr;

/// Size of an IPv4 header, in bytes.
pub(crate) const IP_HEADER: usize = 20;

/// Returns the ports of a flow's sender and receiver. The ports of the first 16,384 senders differ.
pub(crate) fn ports(flow: FlowId) -> [u16; 2] {
    [49_152 + (flow.0 % 16_384) as u16, 5004]
}

/// Returns the ports of a session's sender and receiver. Sessions count from 1; the receiver's port is the flow's.
pub(crate) fn session_ports(flow: FlowId, session: u32) -> [u16; 2] {
    let [own, _] = ports(flow);
    [49_152 + (session.saturating_sub(1) % 16_384) as u16, own]
}

pub(crate) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(10 << 24 | (node as u32 + 1) & 0xff_ffff)
}
