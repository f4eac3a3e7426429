//! The proxy between real sockets on loopback. Nothing here asks how late it is: a busy machine is late, and never early.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_emulator::{Emulator, Packet, Proxy, ProxyOptions, Seen, Watch, Way};
use headway_net::Clock;
use headway_scenario::{Links, NoFiles, links};
use headway_units::{DropCause, Duration, Ecn, Instant};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Socket, Type};
use std::io::IoSliceMut;
use std::net::SocketAddr;

/// One of the programs on both sides of the proxy.
struct End {
    io: Socket,
    state: UdpSocketState,
}

struct Came {
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

    /// What has come, datagram by datagram.
    fn read(&self, clock: &Clock) -> Vec<Came> {
        let mut came = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        let mut meta = [RecvMeta::default()];
        while self.state.recv(UdpSockRef::from(&self.io), &mut [IoSliceMut::new(&mut buffer)], &mut meta).is_ok() {
            let RecvMeta { addr, len, stride, ecn, .. } = meta[0];
            let at = clock.now();
            let empty = (len == 0).then_some(&[][..]);
            let each = empty.into_iter().chain(buffer[..len].chunks(stride.max(1)));
            came.extend(each.map(|bytes| Came { at, from: addr, ecn, bytes: bytes.to_vec() }));
        }
        came
    }
}

fn link(keys: &str) -> Links {
    let text = format!("seed = 3\n[[link]]\nbetween = [\"a\", \"b\"]\n{keys}");
    links("link.toml", &text, &[], &NoFiles).unwrap()
}

fn proxy(links: &Links, to: SocketAddr) -> Proxy {
    let ways = links.duplex(None).unwrap();
    let bound = Duration::from_secs(3600);
    let options = ProxyOptions { listen: ([127, 0, 0, 1], 0).into(), to, beside: None, clients: 256, bound };
    Proxy::new(options, links.ties, ways.map(|way| (&way.name[..], &way.config)), links.seed).unwrap()
}

/// Runs the proxy until this holds; that it never does is a failure, after half a minute.
fn until(proxy: &mut Proxy, mut done: impl FnMut(&Proxy) -> bool) {
    let clock = Clock::new();
    while !done(proxy) {
        assert!(clock.now() < Instant::from_secs(30), "{:?}", proxy.report());
        proxy.turn(Duration::from_millis(5)).unwrap();
    }
}

/// Three hundred datagrams there, of sizes from none to 1200 B, and an answer to each: all come, in order, none before the link lets it.
#[test]
fn all_come_in_order_and_none_too_early() {
    const COUNT: usize = 300;
    let delay = Duration::from_millis(20);
    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let mut proxy = proxy(
        &link("rate = \"100Mbps\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = \"1000packets\" }"),
        server.address(),
    );
    let front = proxy.address().unwrap();
    let (mut sent, mut there, mut back): (Vec<Instant>, Vec<Came>, Vec<Came>) = Default::default();
    until(&mut proxy, |_| {
        if sent.len() < COUNT {
            sent.push(clock.now());
            client.send(front, None, &vec![sent.len() as u8; 4 * (sent.len() - 1)], None);
        }
        for came in server.read(&clock) {
            server.send(came.from, None, &came.bytes, None);
            there.push(came);
        }
        back.extend(client.read(&clock));
        back.len() == COUNT
    });
    for (number, sent) in sent.iter().enumerate() {
        let expected = vec![(number + 1) as u8; 4 * number];
        assert_eq!((&there[number].bytes, &back[number].bytes), (&expected, &expected));
        // 8 bits at 100 Mb/s are 80 ns.
        let least = delay + Duration::from_nanos(80 * (4 * number as u64 + 28));
        assert!(there[number].at >= *sent + least && back[number].at >= there[number].at + least, "{number}");
        assert_eq!(back[number].from, front);
    }
    let report = proxy.report();
    assert_eq!((report.to_server.delivered_packets, report.to_client.delivered_packets), (300, 300));
    let bytes: u64 = (0..COUNT as u64).map(|number| 4 * number + 28).sum();
    assert_eq!((report.to_server.delivered_bytes, report.to_client.delivered_bytes), (bytes, bytes));
    assert_eq!((report.clients, report.refused_packets, report.unsent_packets), (1, 0, 0));
    assert!(report.valid && report.release_error_s.unwrap().p50 >= 0.0, "{report:?}");
}

/// The same datagrams are lost as in the emulator, which those of the simulator are lost in.
#[test]
fn those_are_lost_that_the_seed_says() {
    const COUNT: u32 = 500;
    let links = link("rate = \"1Gbps\"\ndelay = \"1ms\"\nloss = { kind = \"bernoulli\", probability = 0.2 }");
    let config = &links.links[0].config;
    let mut emulator = Emulator::new(links.ties, [("a->b", config), ("b->a", config)], links.seed);
    for number in 0..COUNT {
        let now = Instant::from_millis(u64::from(number));
        emulator.handle(now, Way::ToServer, Packet { size: 32, ecn: Ecn::NotEct, flow: 0, payload: number });
    }
    let expected: Vec<u32> =
        std::iter::from_fn(|| emulator.poll_transmit(Instant::from_secs(9))).map(|gone| gone.packet.payload).collect();
    // Deviation 9 of 100.
    assert!(expected.len().abs_diff(400) < 45);

    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let mut proxy = proxy(&links, server.address());
    let front = proxy.address().unwrap();
    let (mut sent, mut came) = (0u32, Vec::new());
    until(&mut proxy, |proxy| {
        if sent < COUNT {
            client.send(front, None, &sent.to_be_bytes(), None);
            sent += 1;
        }
        came.extend(server.read(&clock).into_iter().map(|came| u32::from_be_bytes(came.bytes.try_into().unwrap())));
        let counts = proxy.report().to_server;
        counts.arrived_packets == u64::from(COUNT) && counts.held_packets == 0 && came.len() >= expected.len()
    });
    assert_eq!(came, expected);
    assert!(proxy.report().valid);
}

/// A burst that came as one (GSO) crosses the link datagram by datagram: 972 B and headers are 4 ms at 2 Mb/s, each.
#[test]
fn what_was_sent_at_once_is_spaced_by_the_link() {
    const COUNT: usize = 10;
    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let mut proxy = proxy(&link("rate = \"2Mbps\"\ndelay = \"0s\""), server.address());
    let front = proxy.address().unwrap();
    let contents: Vec<u8> = (0..COUNT).flat_map(|number| [number as u8; 972]).collect();
    let begin = clock.now();
    client.send(front, None, &contents, Some(972));
    let mut came = Vec::new();
    until(&mut proxy, |_| {
        came.extend(server.read(&clock));
        came.len() == COUNT
    });
    for (came, number) in came.iter().zip(0..) {
        assert_eq!((came.bytes.len(), came.bytes[0]), (972, number));
        assert!(came.at >= begin + Duration::from_millis(4 * (u64::from(number) + 1)), "{number}");
    }
}

/// The field goes through as it is, and a queue that marks sets it: RED's average is what waits here, and it marks ever more of the burst.
#[test]
fn the_ecn_field_is_carried_and_queues_mark() {
    let (clock, client, server) = (Clock::new(), End::new(), End::new());
    let red = "{ kind = \"red\", limit = \"100packets\", ecn = true, queue_weight = 1.0, min_threshold = \"1packets\", \
               max_threshold = \"50packets\", max_probability = 1.0 }";
    let mut proxy = proxy(&link(&format!("rate = \"2Mbps\"\ndelay = \"0s\"\nqueue = {red}")), server.address());
    let front = proxy.address().unwrap();
    let fields = [None, Some(EcnCodepoint::Ect1), Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ce)];
    let mut came = Vec::new();
    for (number, field) in fields.into_iter().enumerate() {
        client.send(front, field, &[number as u8; 100], None);
        until(&mut proxy, |_| {
            came.extend(server.read(&clock));
            came.len() == number + 1
        });
    }
    assert_eq!(came.iter().map(|came| came.ecn).collect::<Vec<_>>(), fields);
    assert_eq!(proxy.report().to_server.marked_packets, 0);
    let burst: Vec<u8> = (0..40).flat_map(|number| [number; 1000]).collect();
    client.send(front, Some(EcnCodepoint::Ect0), &burst, Some(1000));
    let mut came = Vec::new();
    until(&mut proxy, |proxy| {
        came.extend(server.read(&clock));
        let counts = proxy.report().to_server;
        counts.arrived_packets == 44 && counts.held_packets == 0 && came.len() as u64 + 4 == counts.delivered_packets
    });
    let marked = came.iter().filter(|came| came.ecn == Some(EcnCodepoint::Ce)).count() as u64;
    assert!(marked >= 2, "{marked} of {}", came.len());
    assert_eq!(marked, proxy.report().to_server.marked_packets);
    assert!(came.iter().all(|came| came.ecn.is_some()));
}

/// The server sees two clients at two addresses, and each gets its own answers. What comes to a client's socket from elsewhere is no answer.
#[test]
fn each_client_has_an_address_of_its_own() {
    let (clock, clients, server, stranger) = (Clock::new(), [End::new(), End::new()], End::new(), End::new());
    let mut proxy = proxy(&link("rate = \"100Mbps\"\ndelay = \"1ms\""), server.address());
    let front = proxy.address().unwrap();
    for (client, name) in clients.iter().zip([b"one", b"two"]) {
        client.send(front, None, name, None);
    }
    let mut came = Vec::new();
    until(&mut proxy, |_| {
        came.extend(server.read(&clock));
        came.len() == 2
    });
    assert_ne!(came[0].from, came[1].from);
    for came in &came {
        stranger.send(SocketAddr::from(([127, 0, 0, 1], came.from.port())), None, b"no answer", None);
        server.send(came.from, None, &came.bytes, None);
    }
    let mut answers: [Vec<Came>; 2] = Default::default();
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

/// What a watcher has heard: which door and way, bytes, and how long it was on the link; `None` for what was dropped.
#[derive(Default)]
struct Heard(Vec<(usize, Way, u32, Option<Duration>)>, u64);

impl Watch for Heard {
    fn came(&mut self, _: &Seen) {
        self.1 += 1;
    }
    fn left(&mut self, now: Instant, seen: &Seen) {
        self.0.push((seen.door, seen.way, seen.bytes, Some(now.since(seen.came))));
    }
    fn dropped(&mut self, _: Instant, seen: &Seen, cause: DropCause) {
        assert_eq!(cause, DropCause::TooBig);
        self.0.push((seen.door, seen.way, seen.bytes, None));
    }
}

/// Two doors lead to two servers over one link, on which the second one's datagrams count 8 bytes less than they have: 1000 B and the 28 of their
/// headers are 4.112 ms at 2 Mb/s, and then 992 B are 3.968 ms. One that is too big for the link is dropped, and who watches hears all of that.
#[test]
fn doors_share_the_link_and_who_watches_hears_of_each_datagram() {
    let (clock, client, servers) = (Clock::new(), End::new(), [End::new(), End::new()]);
    let mut proxy = proxy(&link("rate = \"2Mbps\"\ndelay = \"0s\"\nmtu = \"1028B\""), servers[0].address());
    let first = proxy.address().unwrap();
    let second = proxy.open(first_free(), servers[1].address(), Some(-8)).unwrap();
    let mut heard = Heard::default();
    let come = |proxy: &mut Proxy, heard: &mut Heard, many| {
        let mut came: [Vec<Came>; 2] = Default::default();
        let patience = Clock::new();
        while heard.0.len() < many || came[0].len() + came[1].len() + 1 < many {
            assert!(patience.now() < Instant::from_secs(30), "{:?}", heard.0);
            proxy.turn_watched(Duration::from_millis(5), heard).unwrap();
            for (came, server) in came.iter_mut().zip(&servers) {
                came.extend(server.read(&clock));
            }
        }
        came
    };
    client.send(first, None, &[1; 1000], None);
    // Lest the second comes first: two sockets have no order.
    while heard.1 == 0 {
        proxy.turn_watched(Duration::from_millis(5), &mut heard).unwrap();
    }
    client.send(second, None, &[2; 1000], None);
    client.send(first, None, &[3; 1001], None);
    let came = come(&mut proxy, &mut heard, 3);
    assert_eq!(came.map(|came| came.iter().map(|came| came.bytes[0]).collect::<Vec<_>>()), [vec![1], vec![2]]);
    heard.0.sort_by_key(|(door, _, bytes, _)| (*door, *bytes));
    let (there, times) = (Way::ToServer, [heard.0[0].3.unwrap(), heard.0[2].3.unwrap()]);
    assert_eq!(heard.0, [(0, there, 1028, Some(times[0])), (0, there, 1029, None), (1, there, 992, Some(times[1]))]);
    assert!(times[0] >= Duration::from_micros(4112) && times[1] >= Duration::from_micros(3968), "{times:?}");
    assert_eq!((heard.1, proxy.report().to_server.delivered_bytes), (3, 1028 + 992));
    // The same address at another door is another client.
    assert_eq!(proxy.report().clients, 2);
}

fn first_free() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}
