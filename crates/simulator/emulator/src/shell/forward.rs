//! Forwarding of a port of the gateway to a service of this machine, for namespaces without a route to it. Connections of
//! TCP end at the gateway: on the link they are connections of the kernel's TCP.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Maximum number of open connections, and of clients of UDP, for each port.
const MAX_CLIENTS: usize = 1024;
/// Idle time after which a client of UDP is forgotten, the minimum for a NAT mapping (RFC 4787 section 4.3, REQ-5).
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum size of a datagram.
const MAX_DATAGRAM: usize = 65_535;

/// Sockets of the gateway that listen at a port.
pub(super) struct Port {
    tcp: socket2::Socket,
    udp: socket2::Socket,
    to: SocketAddr,
}

impl Port {
    /// Listens at a port of the gateway, in the network namespace of this thread. Clients are forwarded to `to`.
    pub(super) fn listen(gateway: Ipv4Addr, port: u16, to: SocketAddr) -> io::Result<Self> {
        let bind = |kind| {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, kind, None)?;
            socket.set_nonblocking(true)?;
            socket.bind(&SocketAddr::from((gateway, port)).into())?;
            io::Result::Ok(socket)
        };
        let (tcp, udp) = (bind(socket2::Type::STREAM)?, bind(socket2::Type::DGRAM)?);
        tcp.listen(128)?;
        Ok(Self { tcp, udp, to })
    }
}

/// Forwards the clients of all ports, on a thread in the network namespace of this thread, until the program ends.
pub(super) fn forward(ports: Vec<Port>) -> io::Result<()> {
    if ports.is_empty() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let run = move || {
        runtime.block_on(async {
            for port in ports {
                if let (Ok(tcp), Ok(udp)) =
                    (TcpListener::from_std(port.tcp.into()), UdpSocket::from_std(port.udp.into()))
                {
                    Handle::current().spawn(forward_connections(tcp, port.to));
                    Handle::current().spawn(forward_datagrams(Arc::new(udp), port.to));
                }
            }
            std::future::pending::<()>().await;
        });
    };
    Builder::new().name("host ports".to_owned()).spawn(run).map(|_| ())
}

async fn forward_connections(listener: TcpListener, to: SocketAddr) {
    let open = Arc::new(Semaphore::new(MAX_CLIENTS));
    while let Ok(permit) = Arc::clone(&open).acquire_owned().await {
        let Ok((mut client, _)) = listener.accept().await else {
            // Out of file descriptors: others will be closed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        Handle::current().spawn(async move {
            if let Ok(mut server) = TcpStream::connect(to).await {
                let _ = client.set_nodelay(true);
                let _ = server.set_nodelay(true);
                let _ = copy_bidirectional(&mut client, &mut server).await;
            } else {
                // The client gets a reset, as from a port without a service.
                let _ = client.set_zero_linger();
            }
            drop(permit);
        });
    }
}

/// Gives each client a socket towards the service.
async fn forward_datagrams(gateway: Arc<UdpSocket>, to: SocketAddr) {
    let mut clients: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
    let mut buffer = vec![0; MAX_DATAGRAM];
    loop {
        // An error belongs to a datagram that was sent before (ICMP).
        let Ok((length, client)) = gateway.recv_from(&mut buffer).await else { continue };
        if clients.len() >= MAX_CLIENTS {
            clients.retain(|_, socket| Arc::strong_count(socket) > 1);
        }
        let is_open = clients.get(&client).filter(|socket| Arc::strong_count(socket) > 1);
        let socket = match is_open {
            Some(socket) => Arc::clone(socket),
            None if clients.len() >= MAX_CLIENTS => continue,
            None => {
                let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await else { continue };
                if socket.connect(to).await.is_err() {
                    continue;
                }
                let socket = Arc::new(socket);
                clients.insert(client, Arc::clone(&socket));
                Handle::current().spawn(return_datagrams(Arc::clone(&socket), Arc::clone(&gateway), client));
                socket
            }
        };
        let _ = socket.send(&buffer[..length]).await;
    }
}

/// Returns the datagrams of the service to a client until it is idle.
async fn return_datagrams(service: Arc<UdpSocket>, gateway: Arc<UdpSocket>, client: SocketAddr) {
    let mut buffer = vec![0; MAX_DATAGRAM];
    while let Ok(received) = timeout(IDLE_TIMEOUT, service.recv(&mut buffer)).await {
        if let Ok(length) = received {
            let _ = gateway.send_to(&buffer[..length], client).await;
        }
    }
}
