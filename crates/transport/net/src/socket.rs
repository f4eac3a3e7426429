//! One UDP socket: batches in, runs of segments out, and what the IP header says of ECN and addresses.
#![expect(clippy::disallowed_types, reason = "this is where sockets are")]

use headway_dccp::Path;
use headway_units::Ecn;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

/// Receive calls hand over so many buffers at once, each of which the system may have filled with many datagrams of one peer.
const BATCH: usize = if quinn_udp::BATCH_SIZE < 8 { quinn_udp::BATCH_SIZE } else { 8 };
/// The largest UDP payload, and the largest run of segments.
const LARGEST: usize = 65_535;
/// What the system is asked to keep for us while this program does not run: 8 MiB. It gives as much of it as its administrator allows
/// (Linux: `net.core.rmem_max`).
const SYSTEM_BUFFER: usize = 8 << 20;

/// A socket without blocking.
#[derive(Debug)]
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// Datagrams that have come.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    buffers: Vec<Vec<u8>>,
    metas: [RecvMeta; BATCH],
    filled: usize,
}

/// How a datagram has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) path: Path,
    pub(crate) ecn: Ecn,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { buffers: vec![vec![0; LARGEST]; BATCH], metas: [RecvMeta::default(); BATCH], filled: 0 }
    }
}

impl Socket {
    /// A new socket. One that is bound to the unspecified address of IPv6 takes IPv4, too.
    pub(crate) fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            socket.set_only_v6(false)?;
        }
        socket.bind(&SockAddr::from(local))?;
        Self::new(socket.into())
    }

    /// One's own socket.
    pub(crate) fn new(io: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&io))?;
        let reference = UdpSockRef::from(&io);
        let bigger = |have: io::Result<usize>| have.is_ok_and(|have| have < SYSTEM_BUFFER);
        // Less than we ask for is no reason not to work.
        if bigger(state.recv_buffer_size(reference)) {
            drop(state.set_recv_buffer_size(UdpSockRef::from(&io), SYSTEM_BUFFER));
        }
        if bigger(state.send_buffer_size(UdpSockRef::from(&io))) {
            drop(state.set_send_buffer_size(UdpSockRef::from(&io), SYSTEM_BUFFER));
        }
        // With the time of arrival there is no room for the ECN field of coalesced datagrams (quinn-udp 0.6.3). Some systems do not tell it.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = nix::sys::socket::setsockopt(&io, nix::sys::socket::sockopt::ReceiveTimestampns, &false);
        let local = io.local_addr()?;
        Ok(Self { io, state, local })
    }

    /// To wait for it.
    pub(crate) const fn io(&self) -> &UdpSocket {
        &self.io
    }

    pub(crate) const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Datagrams that go with one call, at most.
    pub(crate) fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// From where datagrams to this address go: where the socket is bound to no address in particular, the system's routes say it.
    pub(crate) fn path_to(&self, remote: SocketAddr) -> io::Result<Path> {
        let remote = as_it_answers(remote);
        if let Some(why) = nobody(remote) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut local = self.local;
        if local.ip().is_unspecified() {
            let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            let probe = UdpSocket::bind(SocketAddr::new(any, 0))?;
            probe.connect(remote)?;
            local = SocketAddr::new(probe.local_addr()?.ip(), self.local.port());
        }
        Ok(Path::Udp { local, remote })
    }

    /// Sends datagrams of `segment` bytes each, of which the last may be shorter.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the system takes no more for now. All others are of this peer, or of these datagrams.
    pub(crate) fn send(&self, path: Path, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        let Path::Udp { local, remote } = path else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this socket carries DCCP in UDP only"));
        };
        let transmit = Transmit {
            destination: self.in_family(remote),
            ecn: EcnCodepoint::from_bits(ecn as u8),
            contents: datagrams,
            segment_size: (segment < datagrams.len()).then_some(segment),
            // A socket with an address of its own needs not be told.
            src_ip: self.local.ip().is_unspecified().then(|| local.ip()),
        };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    /// Receives as much as one call gives, and says whether that is all; [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing.
    pub(crate) fn receive(&self, batch: &mut Batch) -> io::Result<bool> {
        batch.filled = 0;
        let [first, rest @ ..] = &mut batch.buffers[..] else { return Ok(true) };
        let mut slices: [IoSliceMut<'_>; BATCH] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (slice, buffer) in slices.iter_mut().zip(std::iter::once(first).chain(rest)) {
            *slice = IoSliceMut::new(buffer);
        }
        batch.filled = self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut batch.metas)?;
        // Where calls give one datagram each nobody knows.
        Ok(BATCH > 1 && batch.filled < BATCH)
    }

    /// What has been [received](Self::receive), one datagram after the other.
    pub(crate) fn datagrams(&self, batch: &mut Batch, mut each: impl FnMut(Arrived, &mut [u8])) {
        for (meta, buffer) in batch.metas.iter().zip(&mut batch.buffers).take(batch.filled) {
            let arrived = self.arrived(meta);
            let Some(bytes) = buffer.get_mut(..meta.len) else { continue };
            // An empty datagram has a stride of nothing.
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

    /// An IPv4 address as a socket of IPv6 has it.
    fn in_family(&self, remote: SocketAddr) -> SocketAddr {
        match (self.local, remote.ip()) {
            (SocketAddr::V6(_), IpAddr::V4(ip)) => SocketAddr::new(ip.to_ipv6_mapped().into(), remote.port()),
            _ => remote,
        }
    }
}

/// The address as the system tells of a datagram that comes from there: IPv4 is IPv4, and of IPv6 an address of the link has its interface.
fn as_it_answers(peer: SocketAddr) -> SocketAddr {
    match (peer, peer.ip().to_canonical()) {
        (SocketAddr::V6(peer), IpAddr::V6(ip)) => {
            let scope = if ip.is_unicast_link_local() { peer.scope_id() } else { 0 };
            SocketAddrV6::new(ip, peer.port(), 0, scope).into()
        }
        (_, ip) => SocketAddr::new(ip, peer.port()),
    }
}

/// Why no single peer can answer from this address, if so.
fn nobody(peer: SocketAddr) -> Option<&'static str> {
    let ip = peer.ip();
    if peer.port() == 0 {
        Some("port 0 is nobody's")
    } else if ip.is_unspecified() {
        Some("that is every address of a host that listens, and none to connect to")
    } else if ip.is_multicast() {
        Some("that is a group's address, and a connection has one peer")
    } else if matches!(peer, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0) {
        Some("an address of the link needs its interface, by number, as in [fe80::1%2]:5004")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes from there has the same address, or no connection is found by it.
    #[test]
    fn addresses_are_as_they_answer() {
        for (asked, answers) in [
            ("127.0.0.1:5004", "127.0.0.1:5004"),
            ("[::ffff:192.0.2.1]:5004", "192.0.2.1:5004"),
            ("[2001:db8::1%7]:5004", "[2001:db8::1]:5004"),
            ("[fe80::1%7]:5004", "[fe80::1%7]:5004"),
        ] {
            assert_eq!(as_it_answers(asked.parse().unwrap()), answers.parse().unwrap());
        }
    }

    /// Who would wait for an answer is told at once that none can come.
    #[test]
    fn nobody_is_connected_to() {
        let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        for (peer, why) in [
            ("127.0.0.1:0", "port 0"),
            ("0.0.0.0:5004", "none to connect to"),
            ("[::]:5004", "none to connect to"),
            ("224.0.0.1:5004", "a group"),
            ("[ff02::1%1]:5004", "a group"),
            ("[fe80::1]:5004", "its interface"),
        ] {
            let error = socket.path_to(peer.parse().unwrap()).unwrap_err();
            assert!(error.to_string().contains(why), "{peer}: {error}");
        }
    }

    /// So many datagrams.
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
        panic!("{} of {want} datagrams came", all.len());
    }

    fn pair(server: &str, client: &str) -> (Socket, Socket) {
        let bind = |address: &str| Socket::bind(address.parse().unwrap()).unwrap();
        (bind(server), bind(client))
    }

    /// The IP header's ECN field comes through, and each datagram of a run is one again.
    #[test]
    fn runs_and_marks_come_through() {
        let (server, client) = pair("127.0.0.1:0", "127.0.0.1:0");
        let path = client.path_to(server.local_addr()).unwrap();
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            let many = client.segments().min(3);
            let bytes: Vec<u8> = (0..many * 500 - 100).map(|n| (n / 500) as u8).collect();
            client.send(path, ecn, &bytes, 500).unwrap();
            let came = receive(&server, many);
            let lens: Vec<usize> = came.iter().map(|(_, bytes)| bytes.len()).collect();
            let mut sent = vec![500; many];
            *sent.last_mut().unwrap() = 400;
            assert_eq!(lens, sent);
            for (n, (arrived, bytes)) in came.iter().enumerate() {
                assert_eq!((arrived.ecn, bytes[0]), (ecn, n as u8));
                let Path::Udp { local, remote } = arrived.path else { panic!() };
                assert_eq!((local, remote), (server.local_addr(), client.local_addr()));
            }
        }
    }

    /// A socket on all addresses of both families: the answer comes from the address that was asked, and IPv4 looks like IPv4.
    #[test]
    fn a_socket_on_all_addresses_answers_from_the_right_one() {
        let Ok(server) = Socket::bind("[::]:0".parse().unwrap()) else { return };
        let port = server.local_addr().port();
        for (ip, from) in [("127.0.0.2", "127.0.0.1:0"), ("::1", "[::1]:0")] {
            let to = SocketAddr::new(ip.parse().unwrap(), port);
            let client = Socket::bind(from.parse().unwrap()).unwrap();
            client.send(client.path_to(to).unwrap(), Ecn::NotEct, b"who?", 4).unwrap();
            let came = receive(&server, 1);
            let Path::Udp { local, remote } = came[0].0.path else { panic!() };
            assert_eq!((local, remote), (to, client.local_addr()));
            server.send(came[0].0.path, Ecn::NotEct, b"me", 2).unwrap();
            let Path::Udp { remote, .. } = receive(&client, 1)[0].0.path else { panic!() };
            assert_eq!(remote, to, "not from another address of this machine");
        }
    }

    /// The name that a client gives a path is the one by which answers come.
    #[test]
    fn a_client_on_all_addresses_knows_its_own() {
        let (server, client) = pair("127.0.0.1:0", "0.0.0.0:0");
        let path = client.path_to(server.local_addr()).unwrap();
        client.send(path, Ecn::NotEct, b"hello", 5).unwrap();
        let came = receive(&server, 1);
        server.send(came[0].0.path, Ecn::NotEct, b"hello", 5).unwrap();
        assert_eq!(receive(&client, 1)[0].0.path, path);
    }
}
