//! Strategies for arbitrary packets, and connections in any state that receive them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by test files that use parts of it")]

use super::pipe::{Fate, Pipe, SERVICE, perfect};
use headway_dccp::{Body, CcVal, ConnectionOptions, CsCov, OptionArea, Packet, Reset, ResetCode, ServiceCode, State};
use headway_units::{Duration, Seq48};
use proptest::prelude::*;

/// Type, offsets of sequence and acknowledgement number, a word, options, data, and what the endpoints do next.
pub type Parts = (u8, i64, i64, [u8; 4], Vec<u8>, Vec<u8>, u8);

/// Generates a packet with numbers near a connection's, or anywhere.
pub fn packets() -> impl Strategy<Value = Parts> {
    let near = || prop_oneof![4 => -5i64..5, 2 => -200i64..200, 1 => any::<i64>()];
    let options = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        prop::collection::vec(prop::collection::vec(option(), 0..6).prop_map(|o| o.concat()), 1)
            .prop_map(|o| o.concat()),
    ];
    (0u8..11, near(), near(), any::<[u8; 4]>(), options, prop::collection::vec(any::<u8>(), 0..20), 0u8..16)
}

fn option() -> impl Strategy<Value = Vec<u8>> {
    let kinds =
        prop::sample::select(vec![0u8, 1, 2, 32, 33, 34, 35, 36, 37, 38, 40, 41, 42, 43, 44, 192, 193, 194, 195]);
    let values = prop_oneof![prop::collection::vec(0u8..10, 0..8), prop::collection::vec(any::<u8>(), 0..30)];
    (kinds, values).prop_map(
        |(kind, values)| {
            if kind < 32 { vec![kind] } else { [vec![kind, values.len() as u8 + 2], values].concat() }
        },
    )
}

/// Encodes the packet for an endpoint, given the last numbers of its peer and its own.
pub fn wire(parts: &Parts, (peer, own): (Seq48, Seq48)) -> Vec<u8> {
    let (kind, seq, ack, word, options, data, _) = parts;
    let seq = Seq48::new(peer.value().wrapping_add_signed(*seq));
    let ack = Seq48::new(own.value().wrapping_add_signed(*ack));
    let service = ServiceCode(u32::from_be_bytes(*word));
    let [code, d @ ..] = *word;
    let body = match kind {
        0 => Body::Request { service: if code < 128 { SERVICE } else { service } },
        1 => Body::Response { ack, service },
        2 => Body::Data,
        3 => Body::Ack { ack },
        4 => Body::DataAck { ack },
        5 => Body::CloseReq { ack },
        6 => Body::Close { ack },
        7 => Body::Reset { ack, reset: Reset { code: ResetCode(code), data: d } },
        8 => Body::Sync { ack },
        9 => Body::SyncAck { ack },
        _ => Body::Listen { service },
    };
    let mut options = options.clone();
    options.resize(options.len().next_multiple_of(4), 0);
    let mut bytes = [0; 2000];
    let len = encode(body, seq, word[3], data, &options, &mut bytes);
    bytes[..len].to_vec()
}

/// Returns a client and a server, one of them in this state. All later packets are lost.
pub fn connection_in(state: State, options: &ConnectionOptions) -> Pipe<fn(u64) -> Fate> {
    let fate: fn(u64) -> Fate = match state {
        State::Request => |_| Fate { lost: true, ..perfect(0) },
        State::Respond => |n| Fate { lost: n > 1, ..perfect(0) },
        State::PartOpen => |n| Fate { lost: n > 3, ..perfect(0) },
        _ => perfect,
    };
    let mut pipe = Pipe::new(options, options, fate);
    pipe.client.outbox.push(&[1; 20]);
    pipe.run(Duration::from_millis(100));
    let now = pipe.now;
    pipe.fate = |_| Fate { lost: true, ..perfect(0) };
    let (client, server) = (&mut pipe.client.connection, &mut pipe.server.connection);
    match state {
        State::CloseReq => server.as_mut().unwrap().close(now),
        State::Closing => client.as_mut().unwrap().close(now),
        State::TimeWait | State::Closed => {
            pipe.fate = perfect;
            client.as_mut().unwrap().close(now);
            pipe.run(Duration::from_secs(1));
        }
        _ => {}
    }
    pipe.drain();
    pipe
}

/// Returns the last sequence numbers of the endpoint's peer and of the endpoint.
pub fn last_numbers<F>(pipe: &Pipe<F>, client: bool) -> (Seq48, Seq48) {
    let (mine, theirs) = if client { ("client", "server") } else { ("server", "client") };
    let last = |who: &str| {
        let output = pipe.log.iter().rev().find(|line| line.contains(who));
        let number = output.and_then(|line| line.split("Seq=").nth(1)?.split(' ').next()?.parse().ok());
        number.map_or(Seq48::ZERO, Seq48::new)
    };
    (last(theirs), last(mine))
}

pub fn encode(body: Body, seq: Seq48, bits: u8, data: &[u8], options: &[u8], bytes: &mut [u8]) -> usize {
    // OptionArea can only be created by writers and decoders, so the options are appended to a bare header.
    let packet = Packet {
        source_port: 5004,
        destination_port: 50000,
        ccval: CcVal::new(bits & 15).unwrap(),
        cscov: CsCov::ALL,
        seq,
        body,
        options: OptionArea::EMPTY,
        data: &[],
    };
    let header = packet.encode(bytes, headway_dccp::Network::Udp).unwrap();
    bytes[header..][..options.len()].copy_from_slice(options);
    bytes[header + options.len()..][..data.len()].copy_from_slice(data);
    bytes[4] = ((header + options.len()) / 4) as u8;
    header + options.len() + data.len()
}
