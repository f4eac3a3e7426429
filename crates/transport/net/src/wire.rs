//! Transport below an endpoint: its own UDP socket, or a [`Wire`] of the program that owns the port.
#![expect(clippy::disallowed_types, reason = "pollers need the socket")]

use crate::socket::{Arrived, Batch, PeerError, Socket};
use headway_dccp::Path;
use headway_units::Ecn;
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Sends datagrams for an [`Endpoint`](crate::Endpoint::over) without a socket. The program implements it, for example
/// for an ICE agent that owns the UDP port (RFC 8445), a TURN client or a tunnel.
///
/// The owner of the port separates DTLS from STUN and other protocols by the first byte (RFC 7983: 20 to 63) and
/// passes received datagrams to [`Endpoint::deliver`](crate::Endpoint::deliver). Addresses are only identifiers: an
/// agent that selects another candidate pair may keep the address of the first.
pub trait Wire: fmt::Debug + Send + Sync {
    /// Returns the address that identifies this end to the endpoint.
    fn local_addr(&self) -> SocketAddr;

    /// Sends datagrams of `segment` bytes each (the last may be shorter), with this ECN field if possible. The
    /// endpoint is locked during the call, so an implementation must neither block nor call the endpoint.
    ///
    /// # Errors
    ///
    /// Datagrams that cannot be sent are lost, also with [`WouldBlock`](io::ErrorKind::WouldBlock).
    fn send(&self, to: SocketAddr, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()>;

    /// Returns the maximum number of datagrams that the endpoint may pass to one call of [`send`](Self::send).
    fn segments(&self) -> usize {
        1
    }
}

#[derive(Debug)]
pub(crate) enum Carrier {
    Socket(Box<Socket>),
    Wire(Arc<dyn Wire>),
}

impl Carrier {
    pub(crate) fn bind(local: SocketAddr) -> io::Result<Self> {
        Socket::bind(local).map(|socket| Self::Socket(Box::new(socket)))
    }

    /// Returns the socket for pollers; `None` for a wire.
    pub(crate) fn io(&self) -> Option<&UdpSocket> {
        match self {
            Self::Socket(socket) => Some(socket.io()),
            Self::Wire(_) => None,
        }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        match self {
            Self::Socket(socket) => socket.local_addr(),
            Self::Wire(wire) => wire.local_addr(),
        }
    }

    /// Returns the maximum number of datagrams of one send call.
    pub(crate) fn segments(&self) -> usize {
        match self {
            Self::Socket(socket) => socket.segments(),
            Self::Wire(wire) => wire.segments().max(1),
        }
    }

    /// Returns the path of datagrams to this address.
    pub(crate) fn path_to(&self, remote: SocketAddr) -> Result<Path, PeerError> {
        match self {
            Self::Socket(socket) => socket.path_to(remote),
            Self::Wire(wire) => Ok(Path::Udp { local: wire.local_addr(), remote }),
        }
    }

    /// See [`Socket::send`].
    pub(crate) fn send(&self, path: Path, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        match (self, path) {
            (Self::Socket(socket), _) => socket.send(path, ecn, datagrams, segment),
            (Self::Wire(wire), Path::Udp { remote, .. }) => match wire.send(remote, ecn, datagrams, segment) {
                // A wire does not report when it can send again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::Other.into()),
                sent => sent,
            },
            (Self::Wire(_), _) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// See [`Socket::receive`].
    pub(crate) fn receive(&self, batch: &mut Batch) -> io::Result<bool> {
        match self {
            Self::Socket(socket) => socket.receive(batch),
            Self::Wire(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// See [`Socket::datagrams`].
    pub(crate) fn datagrams(&self, batch: &mut Batch, each: impl FnMut(Arrived, &mut [u8])) {
        if let Self::Socket(socket) = self {
            socket.datagrams(batch, each);
        }
    }
}
