//! One endpoint of a connection, and a peer that sends literal packets at given times.
//!
//! The endpoint's sequence numbers are relative to its first, 0; those of the peer are absolute.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by test files that use parts of it"
)]

use headway_dccp::{
    Body, CcVal, Connection, ConnectionOptions, CsCov, Decoded, Delivery, Event, Listener, Network, OptionArea,
    Outcome, Packet, Ports, Reset, ResetCode, ServiceCode, State,
};
use headway_units::{Duration, Ecn, Instant, Random, Seq48};
use std::collections::VecDeque;

pub const SERVICE: ServiceCode = ServiceCode(7);
const START: Instant = Instant::from_secs(100);

pub struct Dialogue {
    pub connection: Option<Connection>,
    pub listener: Option<Listener>,
    pub outbox: super::pipe::Queue,
    iss: Option<Seq48>,
    now: Instant,
    client: bool,
    output: VecDeque<(Instant, String)>,
}

fn at(ms: u64) -> Instant {
    START + Duration::from_millis(ms)
}

impl Dialogue {
    pub fn client(options: &ConnectionOptions) -> Self {
        let ports = Ports { local: 50000, remote: 5004 };
        let connection = Connection::connect(START, options, ports, SERVICE, Random::new(5, "client"));
        Self::new(Some(connection), None, true)
    }
    pub fn server(options: &ConnectionOptions) -> Self {
        Self::new(None, Some(Listener::new(START, options, &[SERVICE], Random::new(6, "listener"))), false)
    }
    fn new(connection: Option<Connection>, listener: Option<Listener>, client: bool) -> Self {
        let outbox = super::pipe::Queue::default();
        Self { connection, listener, outbox, iss: None, now: START, client, output: VecDeque::new() }
    }

    /// Returns a client after its handshake; the peer's next number is 1002.
    pub fn open_client(options: &ConnectionOptions) -> Self {
        let mut client = Self::client(options);
        client.next(0);
        client.send(10, "Response 1000 (0)", &confirms(options), b"");
        client.recv(10, "Ack 1 (1000)");
        client.send(20, "Ack 1001 (1)", &[], b"");
        assert_eq!(client.state(), State::Open);
        client
    }
    /// Returns a server after its handshake; the peer's next number is 1002.
    pub fn open_server(options: &ConnectionOptions) -> Self {
        let mut server = Self::server(options);
        server.send(0, "Request 1000", &changes(options), b"");
        server.next(0);
        server.send(10, "Ack 1001 (0)", &[], b"");
        server.recv(10, "Ack 1 (1001)");
        assert_eq!(server.state(), State::Open);
        server
    }

    pub fn state(&self) -> State {
        self.connection.as_ref().map_or(State::Listen, Connection::state)
    }
    pub fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().unwrap()
    }
    pub fn now(&self) -> Instant {
        self.now
    }
    pub fn events(&mut self) -> Vec<Event> {
        let connection = self.connection();
        std::iter::from_fn(|| connection.poll_event()).collect()
    }

    /// Advances time, and collects packets that the endpoint sends.
    pub fn wait(&mut self, ms: u64) {
        loop {
            self.drain();
            let timeout = self.connection.as_ref().and_then(Connection::poll_timeout);
            let Some(timeout) = timeout.filter(|timeout| *timeout <= at(ms)) else { break };
            self.now = self.now.max(timeout);
            let now = self.now;
            self.connection().handle_timeout(now);
        }
        self.now = self.now.max(at(ms));
        self.drain();
    }

    fn drain(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(out) = connection.poll_transmit(self.now, &mut self.outbox) {
            let iss = *self.iss.get_or_insert(out.packet.seq);
            self.output.push_back((self.now, show(&out.packet, iss)));
            assert!(self.output.len() < 1_000_000, "endless packets");
        }
    }

    pub fn push(&mut self, ms: u64, data: &[u8]) {
        self.wait(ms);
        self.outbox.push(data);
        self.drain();
    }

    /// Returns the next packet sent, which must be at this time.
    pub fn next(&mut self, ms: u64) -> String {
        self.wait(ms);
        let (when, output) = self.output.pop_front().unwrap_or_else(|| panic!("no packet until {ms} ms"));
        assert_eq!(when, at(ms), "{output}");
        output
    }
    /// Returns the next packet sent, and its time in milliseconds.
    pub fn next_at(&mut self) -> (u64, String) {
        let (when, output) = self.output.pop_front().unwrap();
        (when.since(START).as_nanos() / 1_000_000, output)
    }
    /// Returns all packets sent until this time.
    pub fn drain_output(&mut self, ms: u64) -> Vec<String> {
        self.wait(ms);
        self.output.drain(..).map(|(_, output)| output).collect()
    }
    pub fn iss(&self) -> Seq48 {
        self.iss.unwrap()
    }
    /// Checks that the endpoint sends this packet at this time.
    #[track_caller]
    pub fn recv(&mut self, ms: u64, wanted: &str) {
        self.wait(ms);
        let output = self.output.pop_front();
        let reported =
            output.as_ref().map(|(when, output)| (when.since(START).as_nanos() / 1_000_000, output.as_str()));
        assert_eq!(reported, Some((ms, wanted)));
    }
    /// Checks that the endpoint sends no more packets until this time.
    #[track_caller]
    pub fn silence(&mut self, ms: u64) {
        self.wait(ms);
        assert_eq!(self.output.front().map(|(_, output)| output.as_str()), None);
    }

    /// Delivers a packet of the peer: type, sequence number and, in brackets, the acknowledgement number.
    pub fn send(&mut self, ms: u64, what: &str, options: &[u8], data: &[u8]) -> Delivery {
        self.send_ecn(ms, what, options, data, Ecn::NotEct)
    }
    pub fn send_ecn(&mut self, ms: u64, what: &str, options: &[u8], data: &[u8], ecn: Ecn) -> Delivery {
        self.wait(ms);
        let bytes = self.bytes(what, options, data, CsCov::ALL);
        self.receive(&bytes, ecn)
    }
    pub fn send_covered(&mut self, ms: u64, what: &str, data: &[u8], cscov: u8) -> Delivery {
        self.wait(ms);
        let bytes = self.bytes(what, &[], data, CsCov::new(cscov).unwrap());
        self.receive(&bytes, Ecn::NotEct)
    }

    pub fn bytes(&self, what: &str, options: &[u8], data: &[u8], cscov: CsCov) -> Vec<u8> {
        let words: Vec<_> = what.split(' ').collect();
        let ack = words.get(2).map(|word| word.trim_matches(['(', ')']).parse::<i64>().unwrap());
        let base = self.iss.map_or(0, Seq48::value);
        let ack = Seq48::new(base.wrapping_add_signed(ack.unwrap_or(0)));
        let code = words.get(3).map_or(0, |word| word.parse().unwrap());
        let reset = Reset { code: ResetCode(code), data: [0; 3] };
        let body = match words[0] {
            "Request" => Body::Request { service: SERVICE },
            "Response" => Body::Response { ack, service: SERVICE },
            "Data" => Body::Data,
            "Ack" => Body::Ack { ack },
            "DataAck" => Body::DataAck { ack },
            "CloseReq" => Body::CloseReq { ack },
            "Close" => Body::Close { ack },
            "Reset" => Body::Reset { ack, reset },
            "Sync" => Body::Sync { ack },
            "SyncAck" => Body::SyncAck { ack },
            other => panic!("{other}"),
        };
        let (source_port, destination_port) = if self.client { (5004, 50000) } else { (50000, 5004) };
        let packet = Packet {
            source_port,
            destination_port,
            ccval: CcVal::ZERO,
            cscov: CsCov::ALL,
            seq: Seq48::new(words[1].parse().unwrap()),
            body,
            options: OptionArea::EMPTY,
            data: &[],
        };
        let mut bytes = vec![0; packet.encoded_len()];
        packet.encode(&mut bytes, Network::Udp).unwrap();
        bytes.extend_from_slice(options);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes[4] = (bytes.len() / 4) as u8;
        bytes[5] |= cscov.number();
        bytes.extend_from_slice(data);
        bytes
    }

    pub fn receive(&mut self, bytes: &[u8], ecn: Ecn) -> Delivery {
        let packet = Packet::decode(bytes, Network::Udp).unwrap();
        let delivery = match &mut self.connection {
            Some(connection) => connection.handle(self.now, ecn, &packet),
            None => match self.listener.as_mut().unwrap().handle(self.now, super::pipe::PATH, ecn, &packet) {
                Outcome::Accepted(connection, delivery) => {
                    // A connection restored from a cookie has a Response number that is not known yet.
                    if let (Decoded::Long(packet), None) = (packet, self.iss) {
                        self.iss = packet.body.ack();
                    }
                    self.connection = Some(*connection);
                    delivery
                }
                Outcome::Reply(out) => {
                    self.output.push_back((self.now, show(&out.packet, self.iss.unwrap_or(out.packet.seq))));
                    Delivery::Nothing
                }
                Outcome::Ignored(why) => Delivery::Dropped(why),
            },
        };
        self.drain();
        delivery
    }
}

/// Formats type, number, acknowledgement and the other fields of a packet.
fn show(packet: &Packet<'_>, iss: Seq48) -> String {
    let seq = packet.seq.distance_from(iss);
    let ack = packet.body.ack().map_or(String::new(), |ack| format!(" ({ack})"));
    let text = packet.to_string();
    let reset = text.split("(code=").nth(1).and_then(|rest| rest.split(')').next());
    let reset = reset.map_or(String::new(), |code| format!(" {code}"));
    let data = if packet.data.is_empty() { String::new() } else { format!(" Len={}", packet.data.len()) };
    let options = text.split(" | ").nth(1).map_or(String::new(), |options| format!(" | {options}"));
    format!("{} {seq}{ack}{reset}{data}{options}", packet.kind())
}

/// Returns Confirms of the CCIDs that a client requests.
pub fn confirms(options: &ConnectionOptions) -> Vec<u8> {
    let (send, receive) = (options.send_ccids[0], options.receive_ccids[0]);
    vec![35, 5, 1, send, send, 33, 5, 1, receive, receive]
}
/// Returns a client's Mandatory Changes to the server's CCIDs.
pub fn changes(options: &ConnectionOptions) -> Vec<u8> {
    vec![1, 32, 4, 1, options.receive_ccids[0], 1, 34, 4, 1, options.send_ccids[0]]
}
