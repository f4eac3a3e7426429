//! Both endpoints of a connection in one program: a hundred datagrams under CCID 3 over a path of 50 ms each way.
//!
//! This is the complete driver loop: handle received packets, poll packets and events, wait for the next deadline. A
//! program with sockets uses `recv`, `send` and a sleep instead of the two queues and the simulated clock. Run it with
//! `cargo run --package headway-dccp --example two_ends`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "an example stops where something is wrong")]

use headway_dccp::{
    Connection, ConnectionOptions, Decoded, Delivery, Listener, NoData, Outbox, Outcome, Packet, Path, Ports,
    ServiceCode,
};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const THERE: Path = Path::Ipv4 { local: CLIENT, remote: SERVER };
const BACK: Path = Path::Ipv4 { local: SERVER, remote: CLIENT };
const DELAY: Duration = Duration::from_millis(50);

/// Datagrams of the application. The connection takes the next one when its controller permits.
struct Datagrams {
    waiting: VecDeque<Vec<u8>>,
    taken: Vec<u8>,
}

impl Outbox for Datagrams {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        self.waiting.front().map(Vec::len)
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        self.taken = self.waiting.pop_front()?;
        Some(&self.taken)
    }
}

/// Packets in flight in one direction: arrival time, ECN codepoint and bytes.
type InFlight = VecDeque<(Instant, Ecn, Vec<u8>)>;

fn arrived(in_flight: &mut InFlight, now: Instant) -> Option<(Ecn, Vec<u8>)> {
    in_flight.pop_front_if(|(at, ..)| *at <= now).map(|(_, ecn, bytes)| (ecn, bytes))
}

/// Sends all packets that are due.
fn drain(end: &mut Connection, now: Instant, outbox: &mut impl Outbox, path: Path, in_flight: &mut InFlight) {
    while let Some(outgoing) = end.poll_transmit(now, outbox) {
        let mut bytes = vec![0; outgoing.packet.encoded_len()];
        outgoing.packet.encode(&mut bytes, path.outgoing()).expect("packets of a connection can be encoded");
        in_flight.push_back((now + DELAY, outgoing.ecn, bytes));
    }
    while let Some(event) = end.poll_event() {
        println!("{:8.3} s  {event:?}", now.as_secs_f64());
    }
}

fn main() {
    let service = ServiceCode::from_ascii("RTPV").unwrap();
    // CCIDs of sent data, and of received data.
    let options =
        ConnectionOptions { send_ccids: vec![3], receive_ccids: vec![3], ..ConnectionOptions::preset(Dialect::Rfc) };
    let mut now = Instant::ZERO;
    let ports = Ports { local: 50000, remote: 5004 };
    // On a network with attackers, use an `Entropy` of the operating system instead of `Random`.
    let mut client = Connection::connect(now, &options, ports, service, Random::new(1, "client"));
    let mut listener = Listener::new(now, &options, &[service], Random::new(2, "server"));
    let mut server: Option<Box<Connection>> = None;

    let mut data = Datagrams { waiting: (0..100).map(|n| vec![n; 1000]).collect(), taken: Vec::new() };
    let (mut there, mut back) = (InFlight::new(), InFlight::new());
    let mut delivered = 0;
    loop {
        // Handle received packets. Application data is in the packet.
        while let Some((ecn, bytes)) = arrived(&mut there, now) {
            let packet = Packet::decode(&bytes, BACK.incoming()).expect("the path does not corrupt packets");
            let delivery = match &mut server {
                Some(server) => server.handle(now, ecn, &packet),
                None => match listener.handle(now, BACK, ecn, &packet) {
                    Outcome::Accepted(connection, delivery) => {
                        server = Some(connection);
                        delivery
                    }
                    other => panic!("the listener refused: {other:?}"),
                },
            };
            if let (Delivery::Data, Decoded::Long(packet)) = (delivery, &packet) {
                assert_eq!(packet.data, [delivered; 1000]);
                delivered += 1;
                if delivered == 100 {
                    client.close(now);
                }
            }
        }
        while let Some((ecn, bytes)) = arrived(&mut back, now) {
            client.handle(
                now,
                ecn,
                &Packet::decode(&bytes, THERE.incoming()).expect("the path does not corrupt packets"),
            );
        }
        for end in [Some(&mut client), server.as_deref_mut()].into_iter().flatten() {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
            }
        }
        // Poll packets and events.
        drain(&mut client, now, &mut data, THERE, &mut there);
        if let Some(server) = &mut server {
            drain(server, now, &mut NoData, BACK, &mut back);
        }
        // Wait for the next deadline. The client's last one is the end of TIMEWAIT, four minutes later.
        let deadlines = [client.poll_timeout(), server.as_ref().and_then(|server| server.poll_timeout())];
        let arrivals = [&there, &back].map(|path| path.front().map(|(at, ..)| *at));
        match deadlines.into_iter().chain(arrivals).flatten().min() {
            Some(next) => now = next.max(now),
            None => break,
        }
    }
    println!("{delivered} datagrams; the client is {}, the server {:?}", client.state(), server.map(|end| end.state()));
    assert_eq!(delivered, 100);
}
