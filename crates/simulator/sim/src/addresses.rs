//! Where nodes and the ends of flows are in an IP network.

use headway_units::FlowId;
use std::net::Ipv4Addr;

/// Bytes of IPv4's header.
pub(crate) const IP_HEADER: usize = 20;

/// The ports of a flow's ends: its sender's, of which each flow has its own as far as there are dynamic ports, and its
/// receiver's.
pub(crate) fn ports(flow: FlowId) -> [u16; 2] {
    [49_152 + (flow.0 % 16_384) as u16, 5004]
}

/// The ports of one of a flow's sessions, counted from 1: its sender's, of which each has its own as far as there are dynamic
/// ports, and its receiver's, which is the flow's own.
pub(crate) fn session_ports(flow: FlowId, session: u32) -> [u16; 2] {
    let [own, _] = ports(flow);
    [49_152 + (session.saturating_sub(1) % 16_384) as u16, own]
}

pub(crate) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(10 << 24 | (node as u32 + 1) & 0xff_ffff)
}
