//! Addresses of a connection below DCCP.

use crate::checksum::{Addresses, Network};
use crate::{Packet, UDP_HEADER_LEN};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Size of a peer's identification, in bytes: a protocol, two addresses with ports and scopes, two DCCP ports.
const PEER: usize = 1 + 2 * (16 + 2 + 4) + 4;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// DCCP ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// Local port.
    pub local: u16,
    /// Port of the peer.
    pub remote: u16,
}

impl Ports {
    /// Returns the ports of a packet from its receiver's view.
    pub(crate) const fn of_receiver<N>(packet: &Packet<'_, N>) -> Self {
        Self { local: packet.destination_port, remote: packet.source_port }
    }
}

/// Local and remote addresses below DCCP. With the DCCP ports they identify a connection: the
/// four-tuple of RFC 4340 section 4.4, or over UDP the six-tuple of RFC 6773 section 3.8, so that
/// one pair of UDP ports carries any number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// DCCP in IPv4, protocol 33.
    Ipv4 {
        /// Local address.
        local: Ipv4Addr,
        /// Address of the peer.
        remote: Ipv4Addr,
    },
    /// DCCP in IPv6, protocol 33.
    Ipv6 {
        /// Local address.
        local: Ipv6Addr,
        /// Address of the peer.
        remote: Ipv6Addr,
    },
    /// DCCP in UDP (RFC 6773).
    Udp {
        /// Local address and UDP port. For a socket that is bound to all addresses and does not
        /// learn a datagram's destination, this is always the unspecified address.
        local: SocketAddr,
        /// Address and UDP port of the peer.
        remote: SocketAddr,
    },
}

impl Path {
    /// Returns the protocol below DCCP, with the addresses for the checksum of received packets: the source is the
    /// peer.
    #[must_use]
    pub const fn incoming(&self) -> Network {
        match *self {
            Self::Ipv4 { local, remote } => Network::Ip(Addresses::V4 { source: remote, destination: local }),
            Self::Ipv6 { local, remote } => Network::Ip(Addresses::V6 { source: remote, destination: local }),
            Self::Udp { .. } => Network::Udp,
        }
    }

    /// Returns the protocol below DCCP, with the addresses for the checksum of sent packets: the destination is the
    /// peer.
    #[must_use]
    pub const fn outgoing(&self) -> Network {
        match *self {
            Self::Ipv4 { local, remote } => Network::Ip(Addresses::V4 { source: local, destination: remote }),
            Self::Ipv6 { local, remote } => Network::Ip(Addresses::V6 { source: local, destination: remote }),
            Self::Udp { .. } => Network::Udp,
        }
    }

    /// Returns the size of the headers below DCCP, in bytes: IP without options and, for DCCP in UDP, UDP.
    #[must_use]
    pub const fn lower_headers(&self) -> usize {
        match self {
            Self::Ipv4 { .. } => IPV4_HEADER,
            Self::Ipv6 { .. } => IPV6_HEADER,
            // An IPv4 address may be mapped to IPv6; the header on the wire is IPv4.
            Self::Udp { remote, .. } if remote.ip().to_canonical().is_ipv4() => IPV4_HEADER + UDP_HEADER_LEN,
            Self::Udp { .. } => IPV6_HEADER + UDP_HEADER_LEN,
        }
    }

    /// Returns the path with IPv6 flow labels set to zero, since they are not part of an address.
    #[must_use]
    pub fn without_flow(mut self) -> Self {
        if let Self::Udp { local, remote } = &mut self {
            for end in [local, remote] {
                if let SocketAddr::V6(end) = end {
                    end.set_flowinfo(0);
                }
            }
        }
        self
    }

    /// Returns bytes that identify this peer, independent of the machine, as input of a keyed hash.
    pub(crate) fn peer(&self, ports: Ports) -> Peer {
        let (kind, ends) = match *self {
            Self::Ipv4 { local, remote } => (4, [IpAddr::V4(local), IpAddr::V4(remote)].map(|ip| (ip, 0, 0))),
            Self::Ipv6 { local, remote } => (6, [IpAddr::V6(local), IpAddr::V6(remote)].map(|ip| (ip, 0, 0))),
            Self::Udp { local, remote } => (17, [local, remote].map(|end| (end.ip(), end.port(), scope(&end)))),
        };
        let mut bytes = [0; PEER];
        let mut rest = bytes.as_mut_slice();
        let mut put = |part: &[u8]| {
            if let Some(place) = rest.split_off_mut(..part.len()) {
                place.copy_from_slice(part);
            }
        };
        put(&[kind]);
        for (ip, port, scope) in ends {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            put(&ip.octets());
            put(&port.to_be_bytes());
            put(&scope.to_be_bytes());
        }
        put(&ports.local.to_be_bytes());
        put(&ports.remote.to_be_bytes());
        Peer { path: *self, bytes }
    }
}

const fn scope(end: &SocketAddr) -> u32 {
    match end {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(end) => end.scope_id(),
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    path: Path,
    bytes: [u8; PEER],
}

impl Peer {
    pub(crate) const fn path(&self) -> Path {
        self.path
    }
    pub(crate) const fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: Ports = Ports { local: 0x1394, remote: 0xc350 };

    /// RFC 6773 section 3.8: six numbers identify a connection. Each of them and the protocol count.
    #[test]
    fn peers_differ_by_each_number() {
        let udp =
            |local: &str, remote: &str| Path::Udp { local: local.parse().unwrap(), remote: remote.parse().unwrap() };
        let [one, two] = [1, 2].map(|host| Ipv4Addr::new(192, 0, 2, host));
        let six = |ip: Ipv4Addr| ip.to_ipv6_mapped();
        let all = [
            udp("192.0.2.1:6511", "192.0.2.2:6511").peer(PORTS),
            udp("192.0.2.3:6511", "192.0.2.2:6511").peer(PORTS),
            udp("192.0.2.1:6512", "192.0.2.2:6511").peer(PORTS),
            udp("192.0.2.1:6511", "192.0.2.3:6511").peer(PORTS),
            udp("192.0.2.1:6511", "192.0.2.2:6512").peer(PORTS),
            udp("192.0.2.1:6511", "192.0.2.2:6511").peer(Ports { local: 1, ..PORTS }),
            udp("192.0.2.1:6511", "192.0.2.2:6511").peer(Ports { remote: 1, ..PORTS }),
            udp("[fe80::1%1]:6511", "[fe80::2%1]:6511").peer(PORTS),
            udp("[fe80::1%1]:6511", "[fe80::2%2]:6511").peer(PORTS),
            Path::Ipv4 { local: one, remote: two }.peer(PORTS),
            Path::Ipv4 { local: two, remote: one }.peer(PORTS),
            Path::Ipv6 { local: six(one), remote: six(two) }.peer(PORTS),
        ];
        for (n, peer) in all.iter().enumerate() {
            assert!(!all[n + 1..].iter().any(|other| other.bytes == peer.bytes), "{n}");
        }
        assert_eq!(all[0].bytes[45..], [0x13, 0x94, 0xc3, 0x50], "to the last byte");
    }

    #[test]
    fn flow_labels_do_not_matter() {
        let end = |flow| SocketAddr::V6(std::net::SocketAddrV6::new(Ipv6Addr::LOCALHOST, 6511, flow, 0));
        let peer = |flow| Path::Udp { local: end(0), remote: end(flow) }.peer(PORTS);
        assert_eq!(peer(7).bytes, peer(0).bytes);
    }
}
