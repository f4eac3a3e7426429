//! How datagrams go and come: by a socket of this endpoint, or by whoever owns the port.
#![expect(clippy::disallowed_types, reason = "who waits for a socket has to see it")]

use crate::socket::{Arrived, Batch, Socket};
use headway_dccp::Path;
use headway_units::Ecn;
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Sends for an endpoint that has no socket: an ICE agent that owns the port (RFC 8445), a TURN client, a tunnel.
///
/// What comes is handed to [`Endpoint::deliver`](crate::Endpoint::deliver) by whoever owns the port, once it has told DTLS from STUN and the rest by
/// the first byte (RFC 7983: 20 to 63). Addresses are names here: an agent that has chosen another pair of candidates may keep the name of the
/// first, and nothing above it notices.
pub trait Wire: fmt::Debug + Send + Sync {
    /// What this end is called.
    fn local_addr(&self) -> SocketAddr;

    /// Sends datagrams of `segment` bytes each, of which the last may be shorter, with this ECN field if it can. Called with the endpoint locked:
    /// it must neither wait nor call the endpoint.
    ///
    /// # Errors
    ///
    /// What cannot go, [`WouldBlock`](io::ErrorKind::WouldBlock) included, is lost.
    fn send(&self, to: SocketAddr, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()>;

    /// Datagrams that one call of [`send`](Self::send) takes, at most.
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

    /// To wait for it, where there is something to wait for.
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

    /// Datagrams that go with one call, at most.
    pub(crate) fn segments(&self) -> usize {
        match self {
            Self::Socket(socket) => socket.segments(),
            Self::Wire(wire) => wire.segments().max(1),
        }
    }

    /// From where datagrams to this address go.
    pub(crate) fn path_to(&self, remote: SocketAddr) -> io::Result<Path> {
        match self {
            Self::Socket(socket) => socket.path_to(remote),
            Self::Wire(wire) => Ok(Path::Udp { local: wire.local_addr(), remote }),
        }
    }

    /// As [`Socket::send`].
    pub(crate) fn send(&self, path: Path, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        match (self, path) {
            (Self::Socket(socket), _) => socket.send(path, ecn, datagrams, segment),
            (Self::Wire(wire), Path::Udp { remote, .. }) => match wire.send(remote, ecn, datagrams, segment) {
                // Nobody would say when there is room again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::Other.into()),
                sent => sent,
            },
            (Self::Wire(_), _) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// As [`Socket::receive`].
    pub(crate) fn receive(&self, batch: &mut Batch) -> io::Result<bool> {
        match self {
            Self::Socket(socket) => socket.receive(batch),
            Self::Wire(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// As [`Socket::datagrams`].
    pub(crate) fn datagrams(&self, batch: &mut Batch, each: impl FnMut(Arrived, &mut [u8])) {
        if let Self::Socket(socket) = self {
            socket.datagrams(batch, each);
        }
    }
}
