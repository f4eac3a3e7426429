//! The proxy between real sockets on loopback. The tests check that datagrams are not early; a busy machine may be
//! late.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_emulator::{DatagramInfo, Direction, Emulator, Observer, Packet, Proxy, ProxyOptions};
use headway_net::Clock;
use headway_scenario::{Links, NoFiles, links};
use headway_units::{DropCause, Dscp, Duration, Ecn, Instant};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Socket, Type};
use std::io::IoSliceMut;
use std::net::SocketAddr;

/// Socket of a program on one side of the proxy.
struct End {
    io: Socket,
    state: UdpSocketState,
}

struct Received {
    at: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: Vec<u8>,
}

impl End {
    fn new() -> Self {
        let io = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        io.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let state = UdpSocketState::new(UdpSockRef::from(&io)).unwrap();
        Self { io, state }
    }

    fn address(&self) -> SocketAddr {
        self.io.local_addr().unwrap().as_socket().unwrap()
    }

    fn send(&self, to: SocketAddr, ecn: Option<EcnCodepoint>, contents: &[u8], segment_size: Option<usize>) {
        let transmit = Transmit { destination: to, ecn, contents, segment_size, src_ip: None };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit).unwrap();
    }

    /// Reads all received datagrams.
    fn read(&self, clock: &Clock) -> Vec<Received> {
        let mut received = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        let mut meta = [RecvMeta::default()];
        while self.state.recv(UdpSockRef::from(&self.io), &mut [IoSliceMut::new(&mut buffer)], &mut meta).is_ok() {
            let RecvMeta { addr, len, stride, ecn, .. } = meta[0];
            let at = clock.now();
            let empty = (len == 0).then_some(&[][..]);
            let each = empty.into_iter().chain(buffer[..len].chunks(stride.max(1)));
            received.extend(each.map(|bytes| Received { at, from: addr, ecn, bytes: bytes.to_vec() }));
        }
        received
    }
}

fn link(keys: &str) -> Links {
    let text = format!("seed = 3\n[[link]]\nbetween = [\"a\", \"b\"]\n{keys}");
    links("link.toml", &text, &[], &NoFiles).unwrap()
}

fn proxy(links: &Links, to: SocketAddr) -> Proxy {
    let directions = links.duplex(None).unwrap();
    let bound = Duration::from_secs(3600);
    let options = ProxyOptions { listen: ([127, 0, 0, 1], 0).into(), to, overhead: None, clients: 256, bound };
    Proxy::new(options, links.ties, directions.map(|link| (&link.name[..], &link.config)), links.seed).unwrap()
}

/// Runs the proxy until `done` returns true; panics after 30 s.
fn until(proxy: &mut Proxy, mut done: impl FnMut(&Proxy) -> bool) {
    let clock = Clock::new();
    while !done(proxy) {
        assert!(clock.now() < Instant::from_secs(30), "{:?}", proxy.report());
        proxy.turn(Duration::from_millis(5)).unwrap();
    }
}

/// 300 datagrams from 0 B to 1200 B and an answer to each arrive in order, and not before the link delivers them.
#[test]
fn datagrams_arrive_in_order_and_not_early() {
    const COUNT: usize = 300;
    let delay = Duration::from_millis(20);
    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let mut proxy = proxy(
        &link("rate = \"100Mbps\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = \"1000packets\" }"),
        server.address(),
    );
    let front = proxy.address().unwrap();
    let (mut sent, mut at_server, mut at_client): (Vec<Instant>, Vec<Received>, Vec<Received>) = Default::default();
    until(&mut proxy, |_| {
        if sent.len() < COUNT {
            sent.push(clock.now());
            client.send(front, None, &vec![sent.len() as u8; 4 * (sent.len() - 1)], None);
        }
        for received in server.read(&clock) {
            server.send(received.from, None, &received.bytes, None);
            at_server.push(received);
        }
        at_client.extend(client.read(&clock));
        at_client.len() == COUNT
    });
    for (number, sent) in sent.iter().enumerate() {
        let expected = vec![(number + 1) as u8; 4 * number];
        assert_eq!((&at_server[number].bytes, &at_client[number].bytes), (&expected, &expected));
        // 8 bits at 100 Mb/s are 80 ns.
        let least = delay + Duration::from_nanos(80 * (4 * number as u64 + 28));
        assert!(
            at_server[number].at >= *sent + least && at_client[number].at >= at_server[number].at + least,
            "{number}"
        );
        assert_eq!(at_client[number].from, front);
    }
    let report = proxy.report();
    assert_eq!((report.to_server.delivered_packets, report.to_client.delivered_packets), (300, 300));
    let bytes: u64 = (0..COUNT as u64).map(|number| 4 * number + 28).sum();
    assert_eq!((report.to_server.delivered_bytes, report.to_client.delivered_bytes), (bytes, bytes));
    assert_eq!((report.clients, report.refused_packets, report.unsent_packets), (1, 0, 0));
    assert!(report.valid && report.release_error_s.unwrap().p50 >= 0.0, "{report:?}");
}

/// The proxy drops the same datagrams as the emulator, which drops the same packets as the simulator.
#[test]
fn the_seed_determines_the_losses() {
    const COUNT: u32 = 500;
    let links = link("rate = \"1Gbps\"\ndelay = \"1ms\"\nloss = { kind = \"bernoulli\", probability = 0.2 }");
    let config = &links.links[0].config;
    let mut emulator = Emulator::new(links.ties, [("a->b", config), ("b->a", config)], links.seed);
    for number in 0..COUNT {
        let now = Instant::from_millis(u64::from(number));
        emulator.handle(
            now,
            Direction::ToServer,
            Packet { size: 32, ecn: Ecn::NotEct, dscp: Dscp::CS0, flow: 0, payload: number },
        );
    }
    let expected: Vec<u32> = std::iter::from_fn(|| emulator.poll_transmit(Instant::from_secs(9)))
        .map(|departure| departure.packet.payload)
        .collect();
    // The standard deviation is 9.
    assert!(expected.len().abs_diff(400) < 45);

    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let mut proxy = proxy(&links, server.address());
    let front = proxy.address().unwrap();
    let (mut sent, mut received) = (0u32, Vec::new());
    until(&mut proxy, |proxy| {
        if sent < COUNT {
            client.send(front, None, &sent.to_be_bytes(), None);
            sent += 1;
        }
        received.extend(
            server.read(&clock).into_iter().map(|received| u32::from_be_bytes(received.bytes.try_into().unwrap())),
        );
        let counts = proxy.report().to_server;
        counts.arrived_packets == u64::from(COUNT) && counts.held_packets == 0 && received.len() >= expected.len()
    });
    assert_eq!(received, expected);
    assert!(proxy.report().valid);
}

/// The datagrams of a burst that was sent with GSO are transmitted one by one: 972 B and headers take 4 ms at 2 Mb/s.
#[test]
fn the_link_spaces_datagrams_of_a_burst() {
    const COUNT: usize = 10;
    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let mut proxy = proxy(&link("rate = \"2Mbps\"\ndelay = \"0s\""), server.address());
    let front = proxy.address().unwrap();
    let contents: Vec<u8> = (0..COUNT).flat_map(|number| [number as u8; 972]).collect();
    let begin = clock.now();
    client.send(front, None, &contents, Some(972));
    let mut received = Vec::new();
    until(&mut proxy, |_| {
        received.extend(server.read(&clock));
        received.len() == COUNT
    });
    for (received, number) in received.iter().zip(0..) {
        assert_eq!((received.bytes.len(), received.bytes[0]), (972, number));
        assert!(received.at >= begin + Duration::from_millis(4 * (u64::from(number) + 1)), "{number}");
    }
}

/// The ECN field is preserved, and queues mark it: RED's average equals the queue here, and it marks more and more of
/// the burst.
#[test]
fn the_ecn_field_is_preserved_and_queues_mark_it() {
    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let red = "{ kind = \"red\", limit = \"100packets\", ecn = true, queue_weight = 1.0, min_threshold = \"1packets\", \
               max_threshold = \"50packets\", max_probability = 1.0 }";
    let mut proxy = proxy(&link(&format!("rate = \"2Mbps\"\ndelay = \"0s\"\nqueue = {red}")), server.address());
    let front = proxy.address().unwrap();
    let fields = [None, Some(EcnCodepoint::Ect1), Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ce)];
    let mut received = Vec::new();
    for (number, field) in fields.into_iter().enumerate() {
        client.send(front, field, &[number as u8; 100], None);
        until(&mut proxy, |_| {
            received.extend(server.read(&clock));
            received.len() == number + 1
        });
    }
    assert_eq!(received.iter().map(|received| received.ecn).collect::<Vec<_>>(), fields);
    assert_eq!(proxy.report().to_server.marked_packets, 0);
    let burst: Vec<u8> = (0..40).flat_map(|number| [number; 1000]).collect();
    client.send(front, Some(EcnCodepoint::Ect0), &burst, Some(1000));
    let mut received = Vec::new();
    until(&mut proxy, |proxy| {
        received.extend(server.read(&clock));
        let counts = proxy.report().to_server;
        counts.arrived_packets == 44
            && counts.held_packets == 0
            && received.len() as u64 + 4 == counts.delivered_packets
    });
    let marked = received.iter().filter(|received| received.ecn == Some(EcnCodepoint::Ce)).count() as u64;
    assert!(marked >= 2, "{marked} of {}", received.len());
    assert_eq!(marked, proxy.report().to_server.marked_packets);
    assert!(received.iter().all(|received| received.ecn.is_some()));
}

/// The server sees two clients at two addresses, and each receives its own answers. Datagrams to a client's socket from
/// other addresses are refused.
#[test]
fn each_client_has_a_separate_address() {
    let (clock, clients, server, stranger) = (Clock::new(), [End::new(), End::new()], End::new(), End::new());
    let mut proxy = proxy(&link("rate = \"100Mbps\"\ndelay = \"1ms\""), server.address());
    let front = proxy.address().unwrap();
    for (client, name) in clients.iter().zip([b"one", b"two"]) {
        client.send(front, None, name, None);
    }
    let mut received = Vec::new();
    until(&mut proxy, |_| {
        received.extend(server.read(&clock));
        received.len() == 2
    });
    assert_ne!(received[0].from, received[1].from);
    for received in &received {
        stranger.send(SocketAddr::from(([127, 0, 0, 1], received.from.port())), None, b"no answer", None);
        server.send(received.from, None, &received.bytes, None);
    }
    let mut answers: [Vec<Received>; 2] = Default::default();
    until(&mut proxy, |proxy| {
        for (client, answers) in clients.iter().zip(&mut answers) {
            answers.extend(client.read(&clock));
        }
        answers.iter().map(Vec::len).sum::<usize>() == 2 && proxy.report().refused_packets == 2
    });
    assert_eq!(answers.map(|answers| answers[0].bytes.clone()), [b"one", b"two"]);
    let report = proxy.report();
    assert!(report.clients == 2 && !report.valid && report.faults[0].contains("2 datagrams refused"), "{report:?}");
}

/// Listener, direction, bytes and time on the link of each datagram, `None` for dropped ones; and the number of
/// arrivals.
#[derive(Default)]
struct Observed(Vec<(usize, Direction, u32, Option<Duration>)>, u64);

impl Observer for Observed {
    fn on_arrival(&mut self, _: &DatagramInfo) {
        self.1 += 1;
    }
    fn on_departure(&mut self, now: Instant, datagram: &DatagramInfo) {
        let held = now.since(datagram.arrived_at);
        self.0.push((datagram.listener, datagram.direction, datagram.bytes, Some(held)));
    }
    fn on_drop(&mut self, _: Instant, datagram: &DatagramInfo, cause: DropCause) {
        assert_eq!(cause, DropCause::TooBig);
        self.0.push((datagram.listener, datagram.direction, datagram.bytes, None));
    }
}

/// Two listening sockets forward to two servers over one link. The overhead of the second is -8 B: 1000 B and 28 B of
/// headers take 4.112 ms at 2 Mb/s, then 992 B take 3.968 ms. The link drops an oversized datagram. The observer is
/// notified of each.
#[test]
fn listeners_share_the_link_and_the_observer_is_notified() {
    let (clock, client, servers) = (Clock::new(), End::new(), [End::new(), End::new()]);
    let mut proxy = proxy(&link("rate = \"2Mbps\"\ndelay = \"0s\"\nmtu = \"1028B\""), servers[0].address());
    let first = proxy.address().unwrap();
    let second = proxy.listen(first_free(), servers[1].address(), Some(-8)).unwrap();
    let mut observed = Observed::default();
    let receive = |proxy: &mut Proxy, observed: &mut Observed, count| {
        let mut received: [Vec<Received>; 2] = Default::default();
        let clock_of_test = Clock::new();
        while observed.0.len() < count || received[0].len() + received[1].len() + 1 < count {
            assert!(clock_of_test.now() < Instant::from_secs(30), "{:?}", observed.0);
            proxy.turn_observed(Duration::from_millis(5), observed).unwrap();
            for (received, server) in received.iter_mut().zip(&servers) {
                received.extend(server.read(&clock));
            }
        }
        received
    };
    client.send(first, None, &[1; 1000], None);
    // Datagrams of two sockets have no order: wait for the first.
    while observed.1 == 0 {
        proxy.turn_observed(Duration::from_millis(5), &mut observed).unwrap();
    }
    client.send(second, None, &[2; 1000], None);
    client.send(first, None, &[3; 1001], None);
    let received = receive(&mut proxy, &mut observed, 3);
    assert_eq!(
        received.map(|received| received.iter().map(|received| received.bytes[0]).collect::<Vec<_>>()),
        [vec![1], vec![2]]
    );
    observed.0.sort_by_key(|(listener, _, bytes, _)| (*listener, *bytes));
    let (to_server, times) = (Direction::ToServer, [observed.0[0].3.unwrap(), observed.0[2].3.unwrap()]);
    assert_eq!(
        observed.0,
        [(0, to_server, 1028, Some(times[0])), (0, to_server, 1029, None), (1, to_server, 992, Some(times[1]))]
    );
    assert!(times[0] >= Duration::from_micros(4112) && times[1] >= Duration::from_micros(3968), "{times:?}");
    assert_eq!((observed.1, proxy.report().to_server.delivered_bytes), (3, 1028 + 992));
    // An address that sends to two listening sockets is two clients.
    assert_eq!(proxy.report().clients, 2);
}

fn first_free() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}
