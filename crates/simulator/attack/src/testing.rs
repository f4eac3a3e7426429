//! Test fixtures: a connection to attack.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::{Context, Direction, Endpoint, Target, packets};
use headway_dccp::{Body, CcVal, CsCov, OptionArea, Packet, ServiceCode};
use headway_units::{Instant, Random, Seq48};
use std::net::Ipv4Addr;

pub(crate) fn target() -> Target {
    Target {
        client: Endpoint { address: Ipv4Addr::new(10, 0, 0, 1), port: 50_000 },
        server: Endpoint { address: Ipv4Addr::new(10, 0, 0, 2), port: 5004 },
        service: ServiceCode(7),
    }
}

pub(crate) fn context(seed: u64) -> Context {
    Context { target: target(), start: Instant::ZERO, stop: Instant::FAR_FUTURE, random: Random::new(seed, "attacker") }
}

pub(crate) fn data(target: &Target, direction: Direction, seq: u64, data: &[u8]) -> Vec<u8> {
    let (source, destination) = target.ends(direction);
    let packet = Packet {
        source_port: source.port,
        destination_port: destination.port,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq: Seq48::new(seq),
        body: Body::Data,
        options: OptionArea::EMPTY,
        data,
    };
    packets::encode(&packet, packets::network(source, destination))
}
