//! UDP socket of an endpoint, through `quinn-udp`: receives batches of datagrams, sends batches of segments (GSO),
//! and reads and sets the ECN field and the local address. The emulator's proxy has its own, `headway_emulator`'s
//! `socket`.
#![expect(clippy::disallowed_types, reason = "this is where sockets are")]

use headway_dccp::Path;
use headway_units::Ecn;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

/// Buffers of one receive call. The system may fill each with several datagrams of one peer (GRO).
const MAX_BUFFERS: usize = if quinn_udp::BATCH_SIZE < 8 { quinn_udp::BATCH_SIZE } else { 8 };
/// Largest UDP payload and largest batch of segments, in bytes.
const MAX_PAYLOAD: usize = 65_535;
/// Requested size of the system's buffers, in bytes (8 MiB). They absorb datagrams while this program does not run.
/// The administrator limits the size (Linux: `net.core.rmem_max`).
const SYSTEM_BUFFER: usize = 8 << 20;

/// Nonblocking UDP socket.
#[derive(Debug)]
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// Received datagrams.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    buffers: Vec<Vec<u8>>,
    metas: [RecvMeta; MAX_BUFFERS],
    filled: usize,
}

/// Path and ECN field of a received datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) path: Path,
    pub(crate) ecn: Ecn,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { buffers: vec![vec![0; MAX_PAYLOAD]; MAX_BUFFERS], metas: [RecvMeta::default(); MAX_BUFFERS], filled: 0 }
    }
}

impl Socket {
    /// Binds a socket. A socket on the unspecified IPv6 address also receives IPv4.
    pub(crate) fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            socket.set_only_v6(false)?;
        }
        socket.bind(&SockAddr::from(local))?;
        Self::new(socket.into())
    }

    /// Uses a socket of the program.
    pub(crate) fn new(io: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&io))?;
        let reference = UdpSockRef::from(&io);
        let is_small = |have: io::Result<usize>| have.is_ok_and(|have| have < SYSTEM_BUFFER);
        // A smaller buffer is no error.
        if is_small(state.recv_buffer_size(reference)) {
            drop(state.set_recv_buffer_size(UdpSockRef::from(&io), SYSTEM_BUFFER));
        }
        if is_small(state.send_buffer_size(UdpSockRef::from(&io))) {
            drop(state.set_send_buffer_size(UdpSockRef::from(&io), SYSTEM_BUFFER));
        }
        // With receive timestamps the control messages have no room for the ECN field of coalesced datagrams
        // (quinn-udp 0.6.3). Some systems lack the option.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = nix::sys::socket::setsockopt(&io, nix::sys::socket::sockopt::ReceiveTimestampns, &false);
        let local = io.local_addr()?;
        Ok(Self { io, state, local })
    }

    /// Returns the socket for pollers.
    pub(crate) const fn io(&self) -> &UdpSocket {
        &self.io
    }

    pub(crate) const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Returns the maximum number of datagrams of one send call.
    pub(crate) fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Returns the path of datagrams to this address. The system's routes choose the local address of a socket that
    /// is bound to the unspecified address.
    pub(crate) fn path_to(&self, remote: SocketAddr) -> Result<Path, PeerError> {
        let remote = canonical_peer(remote);
        check_peer(self.local.ip(), remote)?;
        let mut local = self.local;
        if local.ip().is_unspecified() {
            let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            let probe = UdpSocket::bind(SocketAddr::new(any, 0))?;
            probe.connect(remote)?;
            local = SocketAddr::new(probe.local_addr()?.ip(), self.local.port());
        }
        Ok(Path::Udp { local, remote })
    }

    /// Sends datagrams of `segment` bytes each; the last may be shorter.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the system's buffer is full. All other errors concern this peer
    /// or these datagrams.
    pub(crate) fn send(&self, path: Path, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        let Path::Udp { local, remote } = path else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this socket carries DCCP in UDP only"));
        };
        let transmit = Transmit {
            destination: self.in_family(remote),
            ecn: EcnCodepoint::from_bits(ecn as u8),
            contents: datagrams,
            segment_size: (segment < datagrams.len()).then_some(segment),
            // A socket that is bound to one address always sends from it.
            src_ip: self.local.ip().is_unspecified().then(|| local.ip()),
        };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    /// Receives the datagrams of one system call. Returns whether no more are waiting;
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub(crate) fn receive(&self, batch: &mut Batch) -> io::Result<bool> {
        batch.filled = 0;
        let [first, rest @ ..] = &mut batch.buffers[..] else { return Ok(true) };
        let mut slices: [IoSliceMut<'_>; MAX_BUFFERS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (slice, buffer) in slices.iter_mut().zip(std::iter::once(first).chain(rest)) {
            *slice = IoSliceMut::new(buffer);
        }
        batch.filled = self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut batch.metas)?;
        // With one datagram a call, the call does not show whether more are waiting.
        Ok(MAX_BUFFERS > 1 && batch.filled < MAX_BUFFERS)
    }

    /// Calls `each` with every [received](Self::receive) datagram.
    pub(crate) fn datagrams(&self, batch: &mut Batch, mut each: impl FnMut(Arrived, &mut [u8])) {
        for (meta, buffer) in batch.metas.iter().zip(&mut batch.buffers).take(batch.filled) {
            let arrived = self.arrived(meta);
            let Some(bytes) = buffer.get_mut(..meta.len) else { continue };
            // An empty datagram has stride 0.
            bytes.chunks_mut(meta.stride.max(1)).for_each(|datagram| each(arrived, datagram));
        }
    }

    fn arrived(&self, meta: &RecvMeta) -> Arrived {
        let ip = meta.dst_ip.filter(|_| self.local.ip().is_unspecified()).unwrap_or(self.local.ip());
        let mut local = self.local;
        local.set_ip(ip.to_canonical());
        let mut remote = meta.addr;
        remote.set_ip(remote.ip().to_canonical());
        let ecn = match meta.ecn {
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
            None => Ecn::NotEct,
        };
        Arrived { path: Path::Udp { local, remote }, ecn }
    }

    /// Maps an IPv4 address to IPv6 for an IPv6 socket.
    fn in_family(&self, remote: SocketAddr) -> SocketAddr {
        match (self.local, remote.ip()) {
            (SocketAddr::V6(_), IpAddr::V4(ip)) => SocketAddr::new(ip.to_ipv6_mapped().into(), remote.port()),
            _ => remote,
        }
    }
}

/// Returns the address under which the system reports datagrams from this peer: IPv4 without mapping, and IPv6 with
/// its interface only if it is link-local.
fn canonical_peer(peer: SocketAddr) -> SocketAddr {
    match (peer, peer.ip().to_canonical()) {
        (SocketAddr::V6(peer), IpAddr::V6(ip)) => {
            let scope = if ip.is_unicast_link_local() { peer.scope_id() } else { 0 };
            SocketAddrV6::new(ip, peer.port(), 0, scope).into()
        }
        (_, ip) => SocketAddr::new(ip, peer.port()),
    }
}

/// Reason why an address cannot be that of a peer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The port is 0.
    #[error("port 0 cannot receive; expected 1 to 65535")]
    Port,
    /// RTP and RTCP have two ports, and the port of RTP is 65535.
    #[error("port 65535 has no next port for RTCP; expected an RTP port up to 65534")]
    RtcpPort,
    /// The address is 0.0.0.0 or ::.
    #[error("the address is unspecified; expected the address of one host")]
    Unspecified,
    /// The address is that of a group.
    #[error("the address is a multicast group; expected the address of one host")]
    Multicast,
    /// The address is 255.255.255.255.
    #[error("the address is that of all hosts (broadcast); expected the address of one host")]
    Broadcast,
    /// The address is link-local, without interface.
    #[error("a link-local address needs the number of its interface, as in [fe80::1%2]:5004")]
    Interface,
    /// The socket is bound to an address of the other family.
    #[error("{peer} cannot be reached from {local}; expected an address of the same family, IPv4 or IPv6")]
    Family {
        /// Address of the socket.
        local: IpAddr,
        /// Address of the peer.
        peer: IpAddr,
    },
    /// The operating system has no route to the address, or refused a socket to search one.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<PeerError> for io::Error {
    fn from(error: PeerError) -> Self {
        match error {
            PeerError::System(error) => error,
            error => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// Checks that this address can be that of a peer of a socket at `local`.
const fn check_peer(local: IpAddr, peer: SocketAddr) -> Result<(), PeerError> {
    let ip = peer.ip();
    if peer.port() == 0 {
        return Err(PeerError::Port);
    }
    if ip.is_unspecified() {
        return Err(PeerError::Unspecified);
    }
    if ip.is_multicast() {
        return Err(PeerError::Multicast);
    }
    if matches!(ip, IpAddr::V4(v4) if v4.is_broadcast()) {
        return Err(PeerError::Broadcast);
    }
    if matches!(peer, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0) {
        return Err(PeerError::Interface);
    }
    match (local.to_canonical(), ip) {
        (IpAddr::V4(_), IpAddr::V6(_)) => Err(PeerError::Family { local, peer: ip }),
        (IpAddr::V6(v6), IpAddr::V4(_)) if !v6.is_unspecified() => Err(PeerError::Family { local, peer: ip }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections are found by the address that the system reports.
    #[test]
    fn peers_have_the_address_of_their_datagrams() {
        for (asked, answers) in [
            ("127.0.0.1:5004", "127.0.0.1:5004"),
            ("[::ffff:192.0.2.1]:5004", "192.0.2.1:5004"),
            ("[2001:db8::1%7]:5004", "[2001:db8::1]:5004"),
            ("[fe80::1%7]:5004", "[fe80::1%7]:5004"),
        ] {
            assert_eq!(canonical_peer(asked.parse().unwrap()), answers.parse().unwrap());
        }
    }

    /// An address from which no single peer can answer is refused at once.
    #[test]
    fn addresses_of_no_single_peer_are_refused() {
        let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        for (peer, why) in [
            ("127.0.0.1:0", "port 0"),
            ("0.0.0.0:5004", "unspecified"),
            ("[::]:5004", "unspecified"),
            ("224.0.0.1:5004", "multicast"),
            ("[ff02::1%1]:5004", "multicast"),
            ("255.255.255.255:5004", "broadcast"),
            ("[::ffff:255.255.255.255]:5004", "broadcast"),
            ("[fe80::1]:5004", "number of its interface"),
            ("[::1]:5004", "::1 cannot be reached from 127.0.0.1"),
        ] {
            let error = io::Error::from(socket.path_to(peer.parse().unwrap()).unwrap_err());
            assert!(error.to_string().contains(why), "{peer}: {error}");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    /// A socket on an IPv6 address cannot send to IPv4, unless it is on all addresses.
    #[test]
    fn the_families_of_both_ends_agree() {
        let check = |local: &str, peer: &str| check_peer(local.parse().unwrap(), peer.parse().unwrap());
        assert!(matches!(check("::1", "127.0.0.1:5004"), Err(PeerError::Family { .. })));
        assert!(matches!(check("0.0.0.0", "[::1]:5004"), Err(PeerError::Family { .. })));
        for (local, peer) in [
            ("::", "127.0.0.1:5004"),
            ("::", "[::1]:5004"),
            ("::1", "[::1]:5004"),
            ("::ffff:127.0.0.1", "127.0.0.1:5004"),
        ] {
            assert!(check(local, peer).is_ok(), "{local} {peer}");
        }
    }

    fn receive(socket: &Socket, want: usize) -> Vec<(Arrived, Vec<u8>)> {
        let (mut batch, mut all) = (Batch::new(), Vec::new());
        for _ in 0..5000 {
            while socket.receive(&mut batch).is_ok() {
                socket.datagrams(&mut batch, |arrived, bytes| all.push((arrived, bytes.to_vec())));
            }
            if all.len() >= want {
                return all;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        panic!("{} of {want} datagrams arrived", all.len());
    }

    fn pair(server: &str, client: &str) -> (Socket, Socket) {
        let bind = |address: &str| Socket::bind(address.parse().unwrap()).unwrap();
        (bind(server), bind(client))
    }

    /// The ECN field arrives, and a batch of segments arrives as separate datagrams.
    #[test]
    fn batches_and_ecn_fields_arrive() {
        let (server, client) = pair("127.0.0.1:0", "127.0.0.1:0");
        let path = client.path_to(server.local_addr()).unwrap();
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            let many = client.segments().min(3);
            let bytes: Vec<u8> = (0..many * 500 - 100).map(|n| (n / 500) as u8).collect();
            client.send(path, ecn, &bytes, 500).unwrap();
            let received = receive(&server, many);
            let lens: Vec<usize> = received.iter().map(|(_, bytes)| bytes.len()).collect();
            let mut sent = vec![500; many];
            *sent.last_mut().unwrap() = 400;
            assert_eq!(lens, sent);
            for (n, (arrived, bytes)) in received.iter().enumerate() {
                assert_eq!((arrived.ecn, bytes[0]), (ecn, n as u8));
                let Path::Udp { local, remote } = arrived.path else { panic!() };
                assert_eq!((local, remote), (server.local_addr(), client.local_addr()));
            }
        }
    }

    /// A socket on all addresses of both families answers from the address that the peer used, and IPv4 peers have
    /// IPv4 addresses.
    #[test]
    fn a_socket_on_all_addresses_answers_from_the_address_used() {
        let Ok(server) = Socket::bind("[::]:0".parse().unwrap()) else { return };
        let port = server.local_addr().port();
        for (ip, from) in [("127.0.0.2", "127.0.0.1:0"), ("::1", "[::1]:0")] {
            let to = SocketAddr::new(ip.parse().unwrap(), port);
            let client = Socket::bind(from.parse().unwrap()).unwrap();
            client.send(client.path_to(to).unwrap(), Ecn::NotEct, b"who?", 4).unwrap();
            let received = receive(&server, 1);
            let Path::Udp { local, remote } = received[0].0.path else { panic!() };
            assert_eq!((local, remote), (to, client.local_addr()));
            server.send(received[0].0.path, Ecn::NotEct, b"me", 2).unwrap();
            let Path::Udp { remote, .. } = receive(&client, 1)[0].0.path else { panic!() };
            assert_eq!(remote, to, "not from another address of this machine");
        }
    }

    /// The path of a client has the local address to which answers are sent.
    #[test]
    fn a_client_on_all_addresses_knows_its_address() {
        let (server, client) = pair("127.0.0.1:0", "0.0.0.0:0");
        let path = client.path_to(server.local_addr()).unwrap();
        client.send(path, Ecn::NotEct, b"hello", 5).unwrap();
        let received = receive(&server, 1);
        server.send(received[0].0.path, Ecn::NotEct, b"hello", 5).unwrap();
        assert_eq!(receive(&client, 1)[0].0.path, path);
    }
}
