//! Headway's endpoint: `headway_dccp` on a TUN device, with an address that the kernel routes to but does not own.

use crate::data::{Data, Sending, Tally};
use crate::meddle::{self, Change, Loss};
use crate::{ip, sys};
use headway_dccp::{
    Body, Closed, Connection, ConnectionOptions, Decoded, Delivery, Event, Listener, Network, Outcome, Outgoing,
    Packet, Ports, Reset, ResetCode, ServiceCode, State, refusal,
};
use headway_units::{Dialect, Ecn, Instant, Options, Random};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Configuration of this endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// Name of the TUN device.
    tun: String,
    /// Addresses of this endpoint and of the kernel.
    address: IpAddr,
    peer: IpAddr,
    /// Port of the server.
    port: u16,
    server: bool,
    /// Seed of the initial sequence number and the client's port.
    seed: u64,
    /// Service code of a client, or those of a server; 0 if absent.
    #[serde(default)]
    services: Vec<u32>,
    dialect: String,
    #[serde(default)]
    send_ccids: Vec<u8>,
    #[serde(default)]
    receive_ccids: Vec<u8>,
    /// Options of the connection that differ from the dialect.
    #[serde(default)]
    options: serde_json::Map<String, Value>,
    #[serde(default)]
    send: Sending,
    /// Whether received data is sent back.
    #[serde(default)]
    echo: bool,
    /// Time in ms from the end of sending to closing; if absent, closes after the peer.
    #[serde(default)]
    close_after_ms: Option<u64>,
    /// Whether to reset the connection instead of closing it.
    #[serde(default)]
    abort: bool,
    /// Code of the Resets that answer all Requests.
    #[serde(default)]
    refuse: Option<u8>,
    /// Time in ms to continue after the end, to answer late packets.
    #[serde(default = "linger")]
    linger_ms: u64,
    /// Time limit in ms.
    #[serde(default = "limit")]
    limit_ms: u64,
    #[serde(default)]
    lose: Vec<Loss>,
    #[serde(default)]
    change: Vec<Change>,
}

const fn linger() -> u64 {
    500
}
const fn limit() -> u64 {
    60_000
}

/// Runs the endpoint.
pub(crate) fn play(spec: Spec) -> Result<Value, Box<dyn Error>> {
    let mut options = serde_json::to_value(ConnectionOptions::preset(dialect(&spec.dialect)?))?;
    if let Value::Object(keys) = &mut options {
        if let Some(Value::Object(expert)) = keys.get_mut("expert") {
            expert.insert("lower_headers".into(), if spec.address.is_ipv4() { "20B" } else { "40B" }.into());
        }
        keys.extend(spec.options.clone());
    }
    let read: ConnectionOptions = serde_json::from_value(options)?;
    // Controllers and CCIDs are not serialized options.
    let ConnectionOptions { send_ccids, receive_ccids, controllers, .. } =
        ConnectionOptions::preset(dialect(&spec.dialect)?);
    let or = |configured: &[u8], preset: Vec<u8>| if configured.is_empty() { preset } else { configured.to_vec() };
    let options = ConnectionOptions {
        send_ccids: or(&spec.send_ccids, send_ccids),
        receive_ccids: or(&spec.receive_ccids, receive_ccids),
        controllers,
        ..read
    };
    options.check()?;
    let tun = sys::tun(&spec.tun)?;
    let (sender, packets) = channel();
    let mut reading = tun.try_clone()?;
    // This thread runs until the program ends.
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(len) = reading.read(&mut buffer) {
            if sender.send((std::time::Instant::now(), buffer[..len].to_vec())).is_err() {
                return;
            }
        }
    });
    let start = std::time::Instant::now();
    let now = Instant::ZERO;
    let services: Vec<ServiceCode> =
        if spec.services.is_empty() { vec![0] } else { spec.services.clone() }.into_iter().map(ServiceCode).collect();
    let mut end = End {
        wire: Wire {
            there: ip::network(spec.address, spec.peer),
            address: spec.address,
            peer: spec.peer,
            tun,
            lose: spec.lose.clone(),
            change: spec.change.clone(),
            lost: 0,
        },
        listener: spec.server.then(|| Listener::new(now, &options, &services, Random::new(spec.seed, "listener"))),
        connection: None,
        data: Data::new(spec.send, options.handshake_data.then_some(now)),
        tally: Tally::default(),
        ignored: BTreeMap::new(),
        states: Vec::new(),
        closed: None,
        connected: None,
        other_port: 0,
        spec,
    };
    if !end.spec.server {
        let local = 49_152 + (Random::new(end.spec.seed, "port").bits() >> 52) as u16;
        let ports = Ports { local, remote: end.spec.port };
        let random = Random::new(end.spec.seed, "client");
        end.connection = Some(Box::new(Connection::connect(now, &options, ports, services[0], random)));
    }
    let timed_out = end.run(start, &packets);
    Ok(end.report(timed_out))
}

fn dialect(name: &str) -> Result<Dialect, String> {
    match name {
        "rfc" => Ok(Dialect::Rfc),
        "linux" => Ok(Dialect::Linux),
        _ => Err(format!("the dialect is rfc or linux, not {name}")),
    }
}

/// The TUN device, with losses and changes of packets.
struct Wire {
    tun: File,
    address: IpAddr,
    peer: IpAddr,
    there: Network,
    lose: Vec<Loss>,
    change: Vec<Change>,
    /// Number of packets lost by `losses`, not on the path.
    lost: u32,
}

impl Wire {
    fn is_lost(&mut self, now: Instant, sent: bool, packet: &Packet<'_>) -> bool {
        let now = Duration::from_nanos(now.as_nanos());
        let mut lost = false;
        for loss in &mut self.lose {
            lost |= loss.applies(now, sent, packet.kind());
        }
        self.lost += u32::from(lost);
        lost
    }

    fn send(&mut self, now: Instant, outgoing: &Outgoing<'_>) {
        let packet = &outgoing.packet;
        let kind = packet.kind();
        if self.is_lost(now, true, packet) {
            return;
        }
        let changed =
            self.change.iter_mut().find_map(|change| change.applies(kind).then(|| change.make(packet, self.there)));
        for bytes in changed.unwrap_or_else(|| vec![meddle::encode(packet, self.there)]) {
            let mut whole = ip::header(self.address, self.peer, outgoing.ecn, outgoing.dont_fragment, bytes.len());
            whole.extend(bytes);
            self.tun.write_all(&whole).expect("the TUN device accepts valid packets");
        }
    }
}

struct End {
    spec: Spec,
    wire: Wire,
    listener: Option<Listener>,
    connection: Option<Box<Connection>>,
    data: Data,
    tally: Tally,
    /// Reasons for ignored packets.
    ignored: BTreeMap<String, u32>,
    states: Vec<(f64, String)>,
    closed: Option<(Instant, Closed)>,
    connected: Option<Instant>,
    /// The client's port at the kernel.
    other_port: u16,
}

impl End {
    /// Runs the loop: receive, transmit, wait until the next deadline. Returns whether the time limit was exceeded.
    fn run(&mut self, start: std::time::Instant, packets: &Receiver<(std::time::Instant, Vec<u8>)>) -> bool {
        let clock = |at: std::time::Instant| Instant::from_nanos(at.saturating_duration_since(start).as_nanos() as u64);
        let limit = Instant::from_nanos(self.spec.limit_ms * 1_000_000);
        let mut all_sent: Option<Instant> = None;
        loop {
            let now = clock(std::time::Instant::now());
            let mut deadline = limit;
            if let Some(connection) = &mut self.connection {
                if connection.poll_timeout().is_some_and(|at| at <= now) {
                    connection.handle_timeout(now);
                }
                self.drain(now);
            }
            if now >= limit {
                return true;
            }
            if let Some((at, _)) = self.closed {
                let over = Instant::from_nanos(at.as_nanos() + self.spec.linger_ms * 1_000_000);
                if now >= over {
                    return false;
                }
                deadline = deadline.min(over);
            }
            if let Some(connected) = self.connected.filter(|_| self.closed.is_none()) {
                match self.data.due(now) {
                    Some(due) => {
                        if due > now {
                            deadline = deadline.min(due);
                        }
                        all_sent = None;
                    }
                    None if self.data.is_empty() => all_sent = all_sent.or(Some(now.max(connected))),
                    None => {}
                }
                if let (Some(at), Some(wait)) = (all_sent, self.spec.close_after_ms) {
                    let at = Instant::from_nanos(at.as_nanos() + wait * 1_000_000);
                    if now >= at {
                        self.close(now);
                    } else {
                        deadline = deadline.min(at);
                    }
                }
            }
            if let Some(at) = self.connection.as_ref().and_then(|connection| connection.poll_timeout()) {
                deadline = deadline.min(at);
            }
            let wait = deadline.since(clock(std::time::Instant::now()));
            if let Ok((at, bytes)) = packets.recv_timeout(Duration::from_nanos(wait.as_nanos())) {
                self.receive(clock(at), &bytes);
            }
        }
    }

    fn close(&mut self, now: Instant) {
        self.spec.close_after_ms = None;
        let Some(connection) = &mut self.connection else { return };
        if self.spec.abort {
            connection.abort(now);
        } else {
            connection.close(now);
        }
        self.drain(now);
    }

    fn receive(&mut self, now: Instant, bytes: &[u8]) {
        let Some((source, destination, ecn, dccp)) = ip::unwrap(bytes) else { return };
        if (source, destination) != (self.spec.peer, self.spec.address) {
            return;
        }
        match Packet::decode(dccp, ip::network(source, destination)) {
            Ok(decoded) => self.process(now, ecn, &decoded),
            Err(error) => {
                let text = format!("{error:?}");
                let name = text.split([' ', '{']).next().unwrap_or_default();
                *self.ignored.entry(name.into()).or_default() += 1;
            }
        }
    }

    fn process(&mut self, now: Instant, ecn: Ecn, decoded: &Decoded<'_>) {
        if let Decoded::Long(packet) = decoded
            && self.wire.is_lost(now, false, packet)
        {
            return;
        }
        let (source_port, destination_port) = match decoded {
            Decoded::Long(packet) => (packet.source_port, packet.destination_port),
            Decoded::Short(packet) => (packet.source_port, packet.destination_port),
        };
        let ours =
            |connection: &Connection| connection.ports() == Ports { local: destination_port, remote: source_port };
        let delivery = match (&mut self.connection, &mut self.listener) {
            (Some(connection), _) if ours(connection) => connection.handle(now, ecn, decoded),
            (_, Some(listener)) if destination_port == self.spec.port => {
                if let (Some(code), Decoded::Long(packet)) = (self.spec.refuse, decoded) {
                    if let Some(reset) = refusal(packet, Reset { code: ResetCode(code), data: [0; 3] }) {
                        self.wire.send(now, &reset);
                        self.closed =
                            self.closed.or(Some((now, Closed::ByUs(Reset { code: ResetCode(code), data: [0; 3] }))));
                    }
                    return;
                }
                match listener.handle(now, ip::path(self.spec.address, self.spec.peer), ecn, decoded) {
                    Outcome::Ignored(_) => return,
                    Outcome::Reply(reply) => {
                        self.wire.send(now, &reply);
                        if let Body::Reset { reset, .. } = reply.packet.body {
                            self.closed = self.closed.or(Some((now, Closed::ByUs(reset))));
                        }
                        return;
                    }
                    Outcome::Accepted(connection, delivery) => {
                        self.other_port = source_port;
                        self.connection = Some(connection);
                        delivery
                    }
                }
            }
            _ => return,
        };
        match (delivery, decoded) {
            (Delivery::Data, Decoded::Long(packet)) => {
                self.tally.count(packet.data);
                if self.spec.echo {
                    self.data.send_back(packet.data);
                }
            }
            (Delivery::Dropped(why), _) => *self.ignored.entry(why.to_string()).or_default() += 1,
            _ => {}
        }
        self.drain(now);
    }

    /// Transmits all packets of the connection.
    fn drain(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        loop {
            let state = connection.state().to_string();
            if self.states.last().is_none_or(|(_, last)| *last != state) {
                self.states.push((now.as_secs_f64(), state));
            }
            while let Some(event) = connection.poll_event() {
                match event {
                    Event::Connected => {
                        self.connected = Some(now);
                        self.data.begin(now);
                    }
                    Event::Closed(closed) => self.closed = self.closed.or(Some((now, closed))),
                    _ => {}
                }
            }
            match connection.poll_transmit(now, &mut self.data) {
                Some(outgoing) => self.wire.send(now, &outgoing),
                None => return,
            }
        }
    }

    fn report(self, timed_out: bool) -> Value {
        let closed = self.closed.map(|(at, closed)| match closed {
            Closed::ByPeer(reset) => {
                json!({ "at": at.as_secs_f64(), "by": "peer", "code": reset.code.0, "data": reset.data })
            }
            Closed::ByUs(reset) => {
                json!({ "at": at.as_secs_f64(), "by": "us", "code": reset.code.0, "data": reset.data })
            }
            Closed::NoAnswer(state) => json!({ "at": at.as_secs_f64(), "by": "none", "state": state.to_string() }),
        });
        let status = self.connection.as_ref().map(|connection| connection.status());
        let counters = status.map(|status| status.counters).unwrap_or_default();
        json!({
            "connect_s": self.connected.map(Instant::as_secs_f64), "closed": closed, "timed_out": timed_out, "states": self.states,
            "state": status.map_or(State::Closed, |status| status.state).to_string(),
            "send_ccid": status.map(|status| status.send_ccid.0), "receive_ccid": status.map(|status| status.receive_ccid.0),
            "rtt_s": status.and_then(|status| status.rtt).map(headway_units::Duration::as_secs_f64),
            "sent": counters.sent_data_packets, "sent_packets": counters.sent_packets, "received_packets": counters.received_packets,
            "syncs": counters.syncs, "ignored": self.ignored, "lost": self.wire.lost, "tally": self.tally, "port": self.other_port,
        })
    }
}
