//! Why an endpoint does not do what was wanted.

use crate::{Ignored, PacketError};
use headway_units::OptionError;
use thiserror::Error;

/// Why there is no new connection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// There are as many as the endpoint may have.
    #[error("there are {connections} connections, as many as this endpoint may have")]
    Full {
        /// So many.
        connections: usize,
    },
    /// All dynamic ports are in use.
    #[error("all {ports} dynamic ports are in use with this peer")]
    NoPort {
        /// So many.
        ports: u16,
    },
    /// The connection's options are wrong.
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] OptionError),
}

/// Why nobody listens.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListenError {
    /// There is a listener already.
    #[error("there is a listener on DCCP port {port} already")]
    PortInUse {
        /// This port.
        port: u16,
    },
    /// The connections' options are wrong.
    #[error("{}: {}", .0.key, .0.message)]
    Options(#[from] OptionError),
}

/// Why nothing comes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Dropped {
    /// It is no packet.
    #[error("{0}")]
    Packet(#[from] PacketError),
    /// Its connection, or the listener, ignores it or its data. It may have been answered all the same.
    #[error("{0}")]
    Ignored(Ignored),
    /// It asks for a connection, and there are as many as the endpoint may have.
    #[error("there are as many connections as this endpoint may have")]
    Full,
}
