//! Tests of an endpoint whose port is owned by the program, as by an ICE agent, and of one on a socket of the
//! program.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]
#![allow(clippy::disallowed_types, reason = "the program's own socket is what is tested")]

use headway_media::SendQueueOptions;
use headway_net::{Closed, Endpoint, EndpointError, Media, Options, QueueMethod, SendError, Trust, Wire};
use headway_units::{Dialect, Ecn, Registry as _};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, mpsc};

type Datagrams = (SocketAddr, Ecn, Vec<Vec<u8>>);

/// Wire that passes all datagrams to the owner of the port.
#[derive(Debug)]
struct Agent {
    name: SocketAddr,
    out: mpsc::Sender<Datagrams>,
}

impl Wire for Agent {
    fn local_addr(&self) -> SocketAddr {
        self.name
    }
    fn send(&self, to: SocketAddr, ecn: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        let all = datagrams.chunks(segment).map(<[u8]>::to_vec).collect();
        self.out.send((to, ecn, all)).map_err(|_| io::ErrorKind::WouldBlock.into())
    }
    fn segments(&self) -> usize {
        8
    }
}

fn name(port: u16) -> SocketAddr {
    ([192, 0, 2, 1], port).into()
}

/// RFC 7983 section 7: datagrams of DTLS and of STUN, whose first byte is below 20, share a channel. The connection
/// works as any other, including ECN.
#[test]
fn an_agent_owns_the_port() {
    let options = Options::server().unwrap();
    let trust = Trust::Fingerprints(vec![options.fingerprint().unwrap()]);
    let [(there, to_server), (back, to_client)] = [(); 2].map(|()| mpsc::channel::<Datagrams>());
    let client = Agent { name: name(1), out: there };
    let client = Arc::new(Endpoint::over(Arc::new(client), false, &Options::client(trust).unwrap()).unwrap());
    let server = Arc::new(Endpoint::over(Arc::new(Agent { name: name(2), out: back }), true, &options).unwrap());
    let carry = |from, to: &Arc<Endpoint>, datagrams: mpsc::Receiver<Datagrams>| {
        let to = Arc::downgrade(to);
        std::thread::Builder::new().spawn(move || {
            for (addressed, ecn, all) in datagrams {
                let Some(to) = to.upgrade() else { return };
                assert_eq!(addressed, to.local_addr());
                let stun = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
                all.into_iter().chain([stun]).for_each(|mut one| to.deliver(from, ecn, &mut one));
            }
        })
    };
    carry(name(1), &server, to_server).unwrap();
    carry(name(2), &client, to_client).unwrap();
    let connection = client.connect(server.local_addr()).unwrap();
    let accepted = {
        connection.send(Media::new(&[1; 500])).unwrap();
        server.accept().unwrap()
    };
    let mut datagram = Vec::new();
    accepted.recv(&mut datagram).unwrap();
    assert_eq!(datagram, [1; 500]);
    accepted.send_all(&[Media::new(&[2; 900]); 20]).unwrap();
    for _ in 0..20 {
        connection.recv(&mut datagram).unwrap();
        assert_eq!(datagram, [2; 900]);
    }
    assert_eq!(connection.close(), Closed::Here);
    assert_eq!(accepted.recv(&mut datagram), Err(Closed::ByPeer));
}

/// An empty slice sends nothing. It is no error before or after the connection is established, only once it is closed.
#[test]
fn no_datagrams_are_sent_without_an_error() {
    let client = Agent { name: name(1), out: mpsc::channel().0 };
    let client = Endpoint::over(Arc::new(client), false, &Options::insecure()).unwrap();
    let connection = client.connect(name(2)).unwrap();
    assert_eq!(connection.send_all(&[]), Ok(0..0));
    assert_eq!(connection.send_all(&[Media::new(b"a"), Media::new(b"")]), Ok(0..2));
    assert_eq!(connection.send_all(&[]), Ok(2..2));
    assert_eq!(connection.send(Media::new(b"b")), Ok(2));
    // An empty datagram from the network is ignored.
    client.deliver(name(2), Ecn::NotEct, &mut []);

    let mut options = Options::insecure();
    options.connection.expert.request_give_up = headway_net::Duration::from_millis(20);
    options.connection.expert.request_timeout = headway_net::Duration::from_millis(10);
    let client = Endpoint::over(Arc::new(Agent { name: name(1), out: mpsc::channel().0 }), false, &options).unwrap();
    let connection = client.connect(name(2)).unwrap();
    let closed = connection.connected().unwrap_err();
    assert_eq!(connection.send_all(&[]), Err(SendError::Closed(closed)));
}

/// SFDPS section 4.3: a message names its method. A queue that compares all queued messages refuses such a message
/// and its whole batch.
#[test]
fn sfdps_4_3_a_queue_refuses_unsupported_methods() {
    let mut options = Options::insecure();
    options.queue = SendQueueOptions::preset("sure-first", Dialect::Rfc).unwrap();
    let client = Endpoint::over(Arc::new(Agent { name: name(1), out: mpsc::channel().0 }), false, &options).unwrap();
    let connection = client.connect(name(2)).unwrap();
    let message = Media { method: QueueMethod::named("sfdps1").ok(), ..Media::new(b"a") };
    assert_eq!(connection.send(message), Err(SendError::Method));
    assert_eq!(connection.send_all(&[Media::new(b"b"), message]), Err(SendError::Method));
    assert_eq!(connection.send(Media::new(b"b")), Ok(0));
}

/// A wire that cannot send loses all datagrams, and the connection reports that the peer does not answer.
#[test]
fn a_wire_that_fails_times_out() {
    let (out, gone) = mpsc::channel();
    drop(gone);
    let mut options = Options::insecure();
    options.connection.expert.request_give_up = headway_net::Duration::from_millis(300);
    options.connection.expert.request_timeout = headway_net::Duration::from_millis(100);
    let endpoint = Endpoint::over(Arc::new(Agent { name: name(1), out }), false, &options).unwrap();
    let connection = endpoint.connect(name(2)).unwrap();
    assert_eq!(connection.connected(), Err(Closed::NoAnswer));
    assert!(endpoint.counters().unsendable_datagrams >= 2, "{:?}", endpoint.counters());
}

#[test]
fn an_endpoint_uses_a_socket_of_the_program() {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = Endpoint::on(bind(), true, &Options::insecure()).unwrap();
    let client = Endpoint::on(bind(), false, &Options::insecure()).unwrap();
    let connection = client.connect(server.local_addr()).unwrap();
    connection.send(Media::new(&[3; 100])).unwrap();
    let mut datagram = Vec::new();
    server.accept().unwrap().recv(&mut datagram).unwrap();
    assert_eq!(datagram, [3; 100]);
    let connected = bind();
    connected.connect(server.local_addr()).unwrap();
    let refused = Endpoint::on(connected, false, &Options::insecure());
    assert!(matches!(refused, Err(EndpointError::System(why)) if why.to_string().contains("connected")));
}
