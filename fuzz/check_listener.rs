//! Invariants of a flooded listener: Requests from spoofed addresses, and packets of any type with cookies that are
//! stolen, altered or invented. Shared by the fuzz target and the test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_dccp::{
    Body, CcVal, Connection, ConnectionOptions, CsCov, DccpOption, Decoded, InitCookies, Listener, Network, NoData,
    OptionArea, Outcome, Packet, Path, Ports, ServiceCode, State,
};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Seq48};
use std::net::Ipv4Addr;

const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
const BACKLOG: usize = 4;
const PORTS: Ports = Ports { local: 50_000, remote: 5004 };
/// Maximum ratio of the sizes of a stateless Response and its Request, so that a spoofed Request gains little.
const MAX_AMPLIFICATION: usize = 3;

struct Flood {
    now: Instant,
    rules: InitCookies,
    listener: Listener,
    /// Connections in state RESPOND or later.
    kept: Vec<Connection>,
    /// Cookies sent, with the client and the sequence number of the Response.
    cookies: Vec<([u8; 2], Seq48, Vec<u8>)>,
    /// Number of Resets sent, and the time of the first.
    refused: (u64, Instant),
    /// Number of honest clients.
    honest: u64,
}

/// Returns the path from a peer.
const fn path([a, b]: [u8; 2]) -> Path {
    Path::Ipv4 { local: Ipv4Addr::LOCALHOST, remote: Ipv4Addr::new(127, 1, a, b) }
}

/// Interprets the bytes as a flood. The first selects when cookies are used.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let first = choices.byte();
    let rules = [InitCookies::Always, InitCookies::WhenBusy, InitCookies::Never][usize::from(first % 3)];
    let options = ConnectionOptions {
        init_cookies: rules,
        backlog: BACKLOG,
        timestamps: first & 16 != 0,
        ..ConnectionOptions::preset(if first & 32 == 0 { Dialect::Rfc } else { Dialect::Linux })
    };
    let now = Instant::from_secs(1);
    let listener = Listener::new(now, &options, &[SERVICE], Random::new(2, "listener"));
    let size = format!("{listener:?}").len();
    let mut flood = Flood { now, rules, listener, kept: vec![], cookies: vec![], refused: (0, now), honest: 0 };
    while let Some(step) = choices.step() {
        flood.now += Duration::from_millis(u64::from(step >> 4));
        match step & 15 {
            0..7 => flood.request(&mut choices, &options),
            7..11 => flood.completion(&mut choices),
            11 => flood.anything(&mut choices),
            12 => flood.honest_client(&options),
            13 => flood.now += Duration::from_millis(1 << choices.byte().min(24)),
            14 => drop(flood.kept.pop()),
            _ => flood.kept.iter_mut().for_each(|kept| while kept.poll_transmit(flood.now, &mut NoData).is_some() {}),
        }
        flood.holds(size);
    }
}

impl Flood {
    /// Delivers a packet to the listener, and returns its reply.
    fn handle(&mut self, peer: [u8; 2], bytes: &[u8]) -> Option<Vec<u8>> {
        let Ok(packet) = Packet::decode(bytes, Network::Udp) else { return None };
        let request = matches!(packet, Decoded::Long(Packet { body: Body::Request { .. }, .. }));
        match self.listener.handle(self.now, path(peer), Ecn::Ect0, &packet) {
            Outcome::Ignored(_) => None,
            Outcome::Accepted(connection, _) => {
                assert!(!request || self.rules != InitCookies::Always, "a Request alone is kept nowhere");
                // A refused connection has no state.
                if connection.state() != State::Closed {
                    self.kept.push(*connection);
                }
                None
            }
            Outcome::Reply(out) => {
                let kind = out.packet.body;
                let mut reply = vec![0; out.packet.encoded_len()];
                let len = out.packet.encode(&mut reply, Network::Udp);
                assert_eq!(len, Ok(reply.len()), "sent packets can be encoded");
                assert!(reply.len() <= MAX_AMPLIFICATION * bytes.len(), "{} B answer {} B", reply.len(), bytes.len());
                match kind {
                    Body::Response { .. } => self.store_cookie(peer, &reply),
                    Body::Reset { .. } => self.refused.0 += 1,
                    other => panic!("unexpected outcome {other:?}"),
                }
                Some(reply)
            }
        }
    }

    fn store_cookie(&mut self, peer: [u8; 2], response: &[u8]) {
        let Ok(Decoded::Long(packet)) = Packet::decode(response, Network::Udp) else { panic!("not a Response") };
        let mut cookie = vec![];
        for option in packet.options.iter().flatten() {
            if let DccpOption::InitCookie(part) = option {
                cookie.extend_from_slice(part);
            }
        }
        assert!(!cookie.is_empty(), "a Response that keeps nothing has a cookie");
        if self.cookies.len() < 32 {
            self.cookies.push((peer, packet.seq, cookie));
        }
    }

    /// Sends a Request from any peer, with any options.
    fn request(&mut self, choices: &mut Choices<'_>, options: &ConnectionOptions) {
        let what = choices.byte();
        let peer = [choices.byte(), what >> 6];
        if what & 3 == 0 {
            let mut client = Connection::connect(self.now, options, PORTS, SERVICE, Random::new(7, "spoofed"));
            let request = client.poll_transmit(self.now, &mut NoData).map(|out| encoded(&out.packet));
            self.handle(peer, &request.expect("a client asks at once"));
            return;
        }
        let service = if what & 32 == 0 { SERVICE } else { ServiceCode(choices.wide() as u32) };
        let options = choices.bytes(usize::from(what >> 2 & 7) * 4);
        let request = composed(Body::Request { service }, Seq48::new(choices.wide()), options, choices.byte());
        self.handle(peer, &request);
    }

    /// Returns a cookie: from its client or another one, unchanged or not.
    fn completion(&mut self, choices: &mut Choices<'_>) {
        let (which, what) = (choices.byte(), choices.byte());
        let Some((owner, number, cookie)) = self.cookies.get(usize::from(which) % self.cookies.len().max(1)) else {
            return;
        };
        let (mut peer, mut ack, mut cookie) = (*owner, *number, cookie.clone());
        let mut forged = false;
        if what & 1 != 0 {
            peer = [choices.byte(), choices.byte()];
            forged |= peer != *owner;
        }
        if what & 2 != 0 {
            let by = choices.byte();
            ack += u64::from(by);
            forged |= by != 0;
        }
        if what & 4 != 0 {
            let (at, bits) = (usize::from(choices.byte()) % cookie.len(), choices.byte());
            cookie[at] ^= bits;
            forged |= bits != 0;
        }
        if what & 8 != 0 {
            cookie.truncate(usize::from(choices.byte()));
            forged |= cookie.len() < self.cookies[usize::from(which) % self.cookies.len()].2.len();
        }
        let mut area = vec![];
        for part in cookie.chunks(253) {
            area.extend([36, part.len() as u8 + 2]);
            area.extend_from_slice(part);
        }
        area.resize(area.len().next_multiple_of(4), 0);
        let kind = choices.byte();
        let body = match kind & 7 {
            0..4 => Body::Ack { ack },
            4 | 5 => Body::DataAck { ack },
            6 => Body::Close { ack },
            _ => Body::Sync { ack },
        };
        let packet = composed(body, Seq48::new(choices.wide()), &area, kind >> 3);
        let before = self.kept.len();
        self.handle(peer, &packet);
        assert!(!forged || self.kept.len() == before, "a forged cookie opened a connection");
    }

    fn anything(&mut self, choices: &mut Choices<'_>) {
        let many = choices.byte();
        let bytes = choices.bytes(many.into());
        self.handle([0, 0], bytes);
    }

    /// Connects a client that follows the RFC. It succeeds under any load if cookies are enabled.
    fn honest_client(&mut self, options: &ConnectionOptions) {
        // Each has unique numbers, because a cookie opens one connection.
        self.honest += 1;
        let mut client = Connection::connect(self.now, options, PORTS, SERVICE, Random::new(self.honest, "honest"));
        let (peer, before) = ([255, 255], self.kept.len());
        let request = client.poll_transmit(self.now, &mut NoData).map(|out| encoded(&out.packet));
        let reply = self.handle(peer, &request.expect("a client asks at once"));
        if let Some(response) = reply {
            let packet = Packet::decode(&response, Network::Udp).expect("the listener's own words");
            client.handle(self.now, Ecn::Ect0, &packet);
            while let Some(out) = client.poll_transmit(self.now, &mut NoData) {
                let ack = encoded(&out.packet);
                if self.kept.len() == before {
                    self.handle(peer, &ack);
                }
            }
        }
        if self.rules == InitCookies::Always || self.rules == InitCookies::WhenBusy {
            assert_eq!(self.kept.len(), before + 1, "a client that echoes cookies is not served");
        }
    }

    fn holds(&mut self, size: usize) {
        assert!(self.listener.half_open() <= BACKLOG);
        // A valid cookie on an invalid packet creates a connection that the packet does not open.
        let in_respond = self.kept.iter().filter(|connection| connection.state() == State::Respond).count();
        assert!(self.rules != InitCookies::Always || self.listener.half_open() == in_respond, "cookies keep nothing");
        // Peers use no memory, except for the last Response and eight bytes per used cookie.
        let now = format!("{:?}", self.listener).len();
        assert!(now < size + (160 << 10), "{size} grew to {now}");
        // Section 8.1.3: Resets are limited.
        let (refused, since) = self.refused;
        let seconds = self.now.since(since).as_secs_f64();
        assert!(refused as f64 <= 1024.0 * (seconds + 1.0) + 1.0, "{refused} Resets in {seconds} s");
        self.kept.truncate(64);
    }
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    let len = packet.encode(&mut bytes, Network::Udp);
    assert_eq!(len, Ok(bytes.len()), "sent packets can be encoded");
    bytes
}

fn composed(body: Body, seq: Seq48, options: &[u8], data: u8) -> Vec<u8> {
    let mut area = options.to_vec();
    area.resize(area.len().next_multiple_of(4), 0);
    encoded(&Packet {
        source_port: PORTS.local,
        destination_port: PORTS.remote,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq,
        body,
        options: OptionArea::new(&area).unwrap_or(OptionArea::EMPTY),
        data: &[7; 255][..usize::from(data)],
    })
}
