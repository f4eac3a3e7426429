//! Errors of an endpoint.

use crate::{Ignored, PacketError};
use headway_units::OptionError;
use thiserror::Error;

/// Reason why a connection cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The endpoint has reached its connection limit.
    #[error("the endpoint has {connections} connections, its maximum (EndpointOptions::connections)")]
    Full {
        /// Number of connections.
        connections: usize,
    },
    /// All dynamic ports are in use with this peer.
    #[error("all {ports} dynamic ports are in use with this peer")]
    NoPort {
        /// Number of dynamic ports.
        ports: u16,
    },
    /// The connection options are invalid.
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] OptionError),
}

/// Reason why a listener cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListenError {
    /// The port already has a listener.
    #[error("DCCP port {port} already has a listener")]
    PortInUse {
        /// DCCP port.
        port: u16,
    },
    /// The connection options are invalid.
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] OptionError),
}

/// Reason why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Dropped {
    /// The datagram is not a DCCP packet.
    #[error("{0}")]
    Packet(#[from] PacketError),
    /// The connection, or the listener, ignored the packet or its data. An answer may still be sent.
    #[error("{0}")]
    Ignored(Ignored),
    /// The datagram requests a connection, and the endpoint has reached its connection limit.
    #[error("the endpoint has its maximum number of connections")]
    Full,
}
