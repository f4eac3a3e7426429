//! Encoding and decoding of DCCP packets: header, options, data and checksums.

use crate::{Operation, with_buffer};
use headway_dccp::{
    Addresses, Body, CcVal, Ccid, CcidOption, CsCov, DccpOption, Decoded, Elapsed, LossInterval, LossIntervals,
    Network, OptionArea, OptionWriter, Packet, PacketType, UdpPorts,
};
use headway_units::Seq48;
use std::hint::black_box;
use std::num::NonZeroU32;

const ADDRESSES: Addresses =
    Addresses::V4 { source: std::net::Ipv4Addr::new(192, 0, 2, 1), destination: std::net::Ipv4Addr::new(192, 0, 2, 2) };
const NETWORK: Network = Network::Ip(ADDRESSES);

pub(crate) fn cases() -> Vec<(&'static str, Operation)> {
    vec![
        ("data-0-ip", with_buffer(|buffer| over_ip(&[], buffer))),
        ("data-1000-ip", with_buffer(|buffer| over_ip(&[7; 1000], buffer))),
        ("data-0-udp", with_buffer(|buffer| in_udp(&[], buffer))),
        ("data-1000-udp", with_buffer(|buffer| in_udp(&[7; 1000], buffer))),
        ("ack-loss-intervals-ip", with_buffer(ack)),
    ]
}

fn packet<'a>(body: Body, options: OptionArea<'a>, data: &'a [u8]) -> Packet<'a> {
    Packet {
        source_port: 50_000,
        destination_port: 5004,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq: black_box(Seq48::new(0x0a1b_2c3d_4e62)),
        body,
        options,
        data,
    }
}

fn over_ip(data: &[u8], buffer: &mut [u8]) {
    let len = packet(Body::Data, OptionArea::EMPTY, black_box(data)).encode(buffer, NETWORK).expect("a packet");
    let decoded = Packet::decode(black_box(&buffer[..len]), NETWORK).expect("a packet");
    black_box(decoded);
}

fn in_udp(data: &[u8], buffer: &mut [u8]) {
    let ports = UdpPorts { source: 51_000, destination: 6511 };
    let packet = packet(Body::Data, OptionArea::EMPTY, black_box(data));
    let len = ports.encode(&packet, ADDRESSES, buffer).expect("a packet");
    let decoded = UdpPorts::decode(black_box(&buffer[..len]), ADDRESSES).expect("a packet");
    black_box(decoded);
}

/// CCID 3 feedback: Elapsed Time, Receive Rate, Loss Event Rate and nine Loss Intervals.
fn ack(buffer: &mut [u8]) {
    let interval = black_box(LossInterval { lossless_length: 100, loss_length: 2, nonce: false, data_length: 102 });
    let intervals = [interval.to_bytes().expect("lengths that fit"); 9];
    let (space, buffer) = buffer.split_at_mut(256);
    let mut writer = OptionWriter::new(space);
    writer.push(DccpOption::ElapsedTime(Elapsed(125))).expect("room");
    for option in [
        CcidOption::ReceiveRate(125_000),
        CcidOption::LossEventRate(NonZeroU32::new(100)),
        CcidOption::LossIntervals(LossIntervals::new(0, &intervals).expect("not too many")),
    ] {
        writer.push_ccid(option).expect("room");
    }
    let options = writer.finish().expect("room");
    let packet = packet(Body::Ack { ack: Seq48::new(100) }, options, &[]);
    let len = packet.encode(buffer, NETWORK).expect("a packet");

    let Ok(Decoded::Long(packet)) = Packet::decode(black_box(&buffer[..len]), NETWORK) else { unreachable!() };
    for option in packet.options.process(PacketType::Ack) {
        match option.expect("a good option").option {
            DccpOption::Ccid(raw) => {
                if let CcidOption::LossIntervals(intervals) =
                    CcidOption::decode(Ccid::TFRC, raw, PacketType::Ack).expect("a good option")
                {
                    black_box(intervals.iter().map(|interval| interval.data_length).sum::<u32>());
                }
            }
            other => drop(black_box(other)),
        }
    }
}
