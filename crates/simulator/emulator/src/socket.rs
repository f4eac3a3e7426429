//! A UDP socket that sends and receives the ECN field.

use headway_units::Ecn;
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Requested size of the system's socket buffers: 0.2 s at 170 Mb/s.
const BUFFER: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Socket {
    io: socket2::Socket,
    state: UdpSocketState,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl Socket {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let io = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        io.bind(&address.into())?;
        let state = UdpSocketState::new(UdpSockRef::from(&io))?;
        // quinn-udp 0.6.3 reads at most three control messages and loses the ECN field of coalesced datagrams. Without
        // GRO, each datagram also has its own receive time. The call fails on systems without GRO, which do not
        // coalesce.
        let _ = setsockopt(&io, sockopt::UdpGroSegment, &false);
        // Smaller buffers are sufficient.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&io), BUFFER);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&io), BUFFER);
        Ok(Self { io, state })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        let address = self.io.local_addr()?;
        address.as_socket().ok_or_else(|| io::Error::other("the socket has no IP address"))
    }

    /// Sends one datagram. A datagram without room in the system's buffer is lost, as in any queue of a network.
    pub(super) fn send(&self, to: SocketAddr, from: Option<IpAddr>, ecn: Ecn, datagram: &[u8]) -> io::Result<()> {
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        let transmit = Transmit { destination: to, ecn, contents: datagram, segment_size: None, src_ip: from };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    /// Reads received datagrams. Returns the number of buffers filled, 0 if there is no datagram.
    pub(super) fn receive(&self, buffers: &mut [IoSliceMut<'_>], metas: &mut [RecvMeta]) -> io::Result<usize> {
        match self.state.recv(UdpSockRef::from(&self.io), buffers, metas) {
            Ok(count) => Ok(count),
            // ICMP errors of a server that does not listen are ignored.
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::Interrupted
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable => Ok(0),
                _ => Err(error),
            },
        }
    }
}

pub(super) fn ecn(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codepoints of RFC 3168 section 5.
    #[test]
    fn codepoints_have_the_bits_of_the_rfc() {
        for (bits, field) in [(0b01, Ecn::Ect1), (0b10, Ecn::Ect0), (0b11, Ecn::Ce)] {
            assert_eq!(ecn(EcnCodepoint::from_bits(bits)), field);
            assert_eq!(field as u8, bits);
        }
        assert_eq!(ecn(None), Ecn::NotEct);
    }
}
