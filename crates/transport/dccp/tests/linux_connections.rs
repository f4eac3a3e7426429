//! Replays packets between Linux kernels to this implementation, in either role.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{
    Body, Ccid, CcidController, Connection, ConnectionOptions, Decoded, Delivery, Listener, Network, Outcome, Packet,
    PacketType, Ports, ServiceCode, State,
};
use headway_rate::{ControllerOptions, NoneOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Seq48};
use pipe::Queue;
use proptest::prelude::*;

const CAPTURES: &str = include_str!("data/linux-6.1-connections.txt");
const SERVICE: ServiceCode = ServiceCode::NONE;

struct Captured {
    at: Instant,
    by_client: bool,
    len: usize,
    bytes: Vec<u8>,
}

impl Captured {
    fn packet(&self) -> Packet<'_> {
        let Ok(Decoded::Long(packet)) = Packet::decode(&self.bytes, Network::Udp) else { panic!("not a packet") };
        packet
    }
}

fn capture(name: &str) -> Vec<Captured> {
    let lines = CAPTURES.lines().skip_while(|line| line.strip_prefix("# ") != Some(name)).skip(1);
    let packets = lines.take_while(|line| !line.is_empty()).map(|line| {
        let [micros, by, len, hex] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let len = len.parse().unwrap();
        let mut bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        bytes.resize(bytes.len() + len, 0);
        Captured {
            at: Instant::from_secs(100) + Duration::from_micros(micros.parse().unwrap()),
            by_client: by == "c",
            len,
            bytes,
        }
    });
    packets.collect()
}

/// Returns options of the replayed endpoint, with controllers that permit all packets.
fn rules(name: &str, client: bool) -> ConnectionOptions {
    let none = |ccid, ack_vectors| CcidController {
        ccid: Ccid(ccid),
        controller: ControllerOptions::None(NoneOptions {}),
        ack_vectors,
    };
    let (send, receive): (&[u8], &[u8]) = match (name, client) {
        ("ccid-preference-lists", true) => (&[2, 3], &[2, 3]),
        ("ccid-preference-lists", false) => (&[3, 2], &[3, 2]),
        ("ccid3-to-ccid2-back", true) => (&[3], &[2]),
        ("ccid3-to-ccid2-back", false) => (&[2], &[3]),
        ("ccid3-echo" | "cscov-send4-ccid3", _) => (&[3], &[3]),
        _ => (&[2], &[2]),
    };
    ConnectionOptions {
        send_ccids: send.to_vec(),
        receive_ccids: receive.to_vec(),
        controllers: vec![none(2, true), none(3, false)],
        sequence_window: if name == "ccid2-seqwin300" { 300 } else { 100 },
        send_coverage: if name == "cscov-send4-ccid3" && client { 4 } else { 0 },
        minimum_coverage: if name == "cscov-send4-ccid3" { 3 } else { 0 },
        server_time_wait: name == "close-by-server-timewait",
        ..ConnectionOptions::preset(Dialect::Linux)
    }
}

struct Played {
    connection: Option<Connection>,
    outbox: Queue,
    gss: Seq48,
    output: Vec<String>,
}

impl Played {
    fn drain(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(at) = connection.poll_timeout().filter(|at| *at <= now) {
            connection.handle_timeout(at);
            assert!(connection.poll_timeout() != Some(at), "repeated timeout");
        }
        while let Some(out) = connection.poll_transmit(now, &mut self.outbox) {
            self.gss = out.packet.seq;
            self.output.push(format!("{now} {}", out.packet));
        }
    }
}

/// Replays one endpoint of a capture: its application acts as in the capture, and it receives the
/// packets of the other endpoint.
fn play(name: &str, client: bool) -> Played {
    let (options, packets) = (rules(name, client), capture(name));
    let start = packets[0].at;
    let mut listener = Listener::new(start, &options, &[SERVICE], Random::new(1, "listener"));
    let ports = Ports { local: packets[0].packet().source_port, remote: packets[0].packet().destination_port };
    let connection = client.then(|| Connection::connect(start, &options, ports, SERVICE, Random::new(1, "client")));
    let mut played = Played { connection, outbox: Queue::default(), gss: Seq48::ZERO, output: Vec::new() };
    let (mut delivered, mut wanted, mut asked) = (0, 0, false);
    for captured in &packets {
        let (now, kind) = (captured.at, captured.packet().kind());
        played.drain(now);
        if captured.by_client == client {
            // Actions of the application.
            if captured.len > 0 {
                played.outbox.push(&vec![0; captured.len]);
            }
            let connection = played.connection.as_mut().unwrap();
            match kind {
                PacketType::CloseReq => connection.close(now),
                PacketType::Close if !asked => connection.close(now),
                PacketType::Reset if name == "abort-by-client" => connection.abort(now),
                _ => {}
            }
        } else {
            asked |= kind == PacketType::CloseReq;
            // Acknowledgement numbers are replaced, since this endpoint's sequence numbers differ
            // from the captured ones.
            let mut packet = captured.packet();
            let ack = played.gss;
            packet.body = match packet.body {
                Body::Response { service, .. } => Body::Response { ack, service },
                Body::Ack { .. } => Body::Ack { ack },
                Body::DataAck { .. } => Body::DataAck { ack },
                Body::CloseReq { .. } => Body::CloseReq { ack },
                Body::Close { .. } => Body::Close { ack },
                Body::Reset { reset, .. } => Body::Reset { ack, reset },
                Body::Sync { .. } => Body::Sync { ack },
                Body::SyncAck { .. } => Body::SyncAck { ack },
                body => body,
            };
            wanted += u32::from(captured.len > 0);
            let decoded = Decoded::Long(packet);
            let delivery = match &mut played.connection {
                Some(connection) => connection.handle(now, Ecn::NotEct, &decoded),
                None => match listener.handle(now, pipe::PATH, Ecn::NotEct, &decoded) {
                    Outcome::Accepted(connection, delivery) => {
                        played.connection = Some(*connection);
                        delivery
                    }
                    other => panic!("{name}: {packet} is not accepted: {other:?}"),
                },
            };
            delivered += u32::from(delivery == Delivery::Data);
            assert!(
                matches!(delivery, Delivery::Data | Delivery::Nothing),
                "{name}: {packet} is dropped: {delivery:?}\n{}",
                played.output.join("\n")
            );
        }
        played.drain(now);
    }
    assert_eq!(delivered, wanted, "{name}");
    played
}

const ALL: [&str; 12] = [
    "ccid2-plain",
    "ccid3-echo",
    "ccid-preference-lists",
    "ccid3-to-ccid2-back",
    "cscov-send4-ccid3",
    "close-by-server-closereq",
    "close-by-server-timewait",
    "request-retransmitted",
    "response-lost-A",
    "partopen-acks-lost-B",
    "ccid2-seqwin300",
    "abort-by-client",
];

/// No packet of a kernel is dropped, refused or reset, and the connection ends as between kernels.
#[test]
fn connections_work_in_either_role() {
    for name in ALL {
        for client in [true, false] {
            let played = play(name, client);
            let output = played.output.join("\n");
            let state = played.connection.as_ref().map(Connection::state);
            assert!(matches!(state, Some(State::Closed | State::TimeWait)), "{name}: {state:?}\n{output}");
            for line in played.output.iter().filter(|line| line.contains("[Reset]")) {
                let wanted = if name == "abort-by-client" { "code=Aborted" } else { "code=Closed" };
                assert!(line.contains(wanted), "{name}: {line}\n{output}");
            }
            assert!(!output.contains("[Sync]"), "{name}\n{output}");
            assert!(!output.contains("empty"), "{name}: all features are understood\n{output}");
        }
    }
}

/// The CCIDs are those that the kernels negotiated.
#[test]
fn ccids_match_those_of_the_kernels() {
    for (name, ccids) in [
        ("ccid2-plain", (2, 2)),
        ("ccid3-echo", (3, 3)),
        ("ccid-preference-lists", (3, 3)),
        ("ccid3-to-ccid2-back", (3, 2)),
    ] {
        for client in [true, false] {
            let status = play(name, client).connection.unwrap().status();
            let (send, receive) = if client { ccids } else { (ccids.1, ccids.0) };
            assert_eq!((status.send_ccid, status.receive_ccid), (Ccid(send), Ccid(receive)), "{name}");
        }
    }
}

/// "A peer that does not confirm the Changes of the Response gets Reset 9": every packet in
/// PARTOPEN carries all Confirms.
#[test]
fn changes_of_the_kernel_are_confirmed_until_open() {
    let output = play("ccid2-plain", true).output;
    let mut packets = output.iter().filter(|line| !line.contains("[Request]"));
    for _ in 0..3 {
        let line = packets.next().unwrap();
        for confirm in [
            "ConfirmR(AllowShortSeqnos 0,0)",
            "ConfirmR(ECNIncapable 1,",
            "ConfirmL(SendAckVector 1,1)",
            "ConfirmR(SendAckVector 1,1)",
        ] {
            assert!(line.contains(confirm), "{confirm}: {line}");
        }
    }
}

proptest! {
    /// Packets of the kernel with some bytes changed, some duplicated and some missing.
    #[test]
    fn mutated(
        name in prop::sample::select(ALL.to_vec()), client: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..30),
    ) {
        let (options, mut packets) = (rules(name, client), capture(name));
        let start = packets[0].at;
        let ports = Ports { local: 50000, remote: 5001 };
        let mut listener = Listener::new(start, &options, &[SERVICE], Random::new(1, "listener"));
        let mut connection = client.then(|| Connection::connect(start, &options, ports, SERVICE, Random::new(1, "client")));
        for (packet, byte, value) in changes {
            let bytes = &mut packet.get_mut(&mut packets[..]).bytes;
            let at = byte.index(bytes.len());
            bytes[at] = value;
        }
        let mut gss = Seq48::ZERO;
        for captured in packets.iter().filter(|captured| captured.by_client != client) {
            let now = captured.at;
            let Ok(Decoded::Long(mut packet)) = Packet::decode(&captured.bytes, Network::Udp) else { continue };
            if let Body::Ack { ack } | Body::DataAck { ack } | Body::Response { ack, .. } | Body::Close { ack } = &mut packet.body {
                *ack = gss;
            }
            match &mut connection {
                Some(connection) => {
                    connection.handle(now, Ecn::NotEct, &Decoded::Long(packet));
                }
                None => if let Outcome::Accepted(accepted, _) = listener.handle(now, pipe::PATH, Ecn::NotEct, &Decoded::Long(packet)) {
                    connection = Some(*accepted);
                },
            }
            let Some(connection) = &mut connection else { continue };
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
            while let Some(out) = connection.poll_transmit(now, &mut headway_dccp::NoData) {
                gss = out.packet.seq;
            }
        }
    }
}
