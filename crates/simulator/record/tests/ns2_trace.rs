//! Compares trace lines with those of ns-2.35.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use headway_record::ns2::{PacketType, TraceAddress, TraceEvent, TracePacket, line};
use headway_units::{Ecn, Instant};

fn data_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

fn address(text: &str) -> TraceAddress {
    let (node, port) = text.split_once('.').unwrap();
    TraceAddress { node: node.parse().unwrap(), port: port.parse().unwrap() }
}

/// Parses seconds with at most six decimals exactly.
fn instant(text: &str) -> Instant {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Instant::from_micros(format!("{whole}{fraction:0<6}").parse().unwrap())
}

/// Parses a line and writes it again.
fn rewritten(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let [event, time, from, to, name, bytes, flags, flow, source, destination, sequence, uid] = words[..] else {
        panic!("not a trace line: {text}");
    };
    let event = match event {
        "+" => TraceEvent::Enqueue,
        "-" => TraceEvent::Dequeue,
        "r" => TraceEvent::Receive,
        "d" => TraceEvent::Drop,
        _ => panic!("{text}"),
    };
    let packet_type = [
        ("tcp", PacketType::Tcp),
        ("ack", PacketType::Ack),
        ("cbr", PacketType::Cbr),
        ("exp", PacketType::Exponential),
        ("pareto", PacketType::Pareto),
        ("tcpFriend", PacketType::Tfrc),
        ("tcpFriendCtl", PacketType::TfrcAck),
    ];
    let packet = TracePacket {
        packet_type: packet_type.into_iter().find(|(known, _)| *known == name).unwrap().1,
        bytes: bytes.parse().unwrap(),
        ecn: match (flags.contains('N'), flags.contains('E')) {
            (_, true) => Ecn::Ce,
            (true, false) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        },
        ecn_echo: flags.contains('C'),
        cwr: flags.contains('A'),
        flow: flow.parse().unwrap(),
        source: address(source),
        destination: address(destination),
        sequence: sequence.parse().unwrap(),
        uid: uid.parse().unwrap(),
    };
    let mut out = Vec::new();
    line(&mut out, event, instant(time), from.parse().unwrap(), to.parse().unwrap(), &packet);
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_equal_those_of_ns2() {
    let lines: Vec<&str> = data_lines(include_str!("data/ns2_lines.tr")).collect();
    assert!(lines.len() > 100, "{}", lines.len());
    for line in lines {
        assert_eq!(rewritten(line), format!("{line}\n"));
    }
}

/// `BaseTrace::round` and `%.15g`, from 0 to 2^64 ns, with halves of a microsecond and both forms of `%g`.
#[test]
fn times_equal_those_of_ns2() {
    let packet = TracePacket {
        packet_type: PacketType::Udp,
        bytes: 1,
        ecn: Ecn::NotEct,
        ecn_echo: false,
        cwr: false,
        flow: 0,
        source: TraceAddress { node: 0, port: 0 },
        destination: TraceAddress { node: 1, port: 0 },
        sequence: -1,
        uid: 7,
    };
    let mut count = 0;
    for line_text in data_lines(include_str!("data/ns2_times.txt")) {
        let (nanos, printed) = line_text.split_once(' ').unwrap();
        let mut out = Vec::new();
        line(&mut out, TraceEvent::Receive, Instant::from_nanos(nanos.parse().unwrap()), 0, 1, &packet);
        let expected = format!("r {printed} 0 1 udp 1 ------- 0 0.0 1.0 -1 7\n");
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{nanos} ns");
        count += 1;
    }
    assert!(count > 250, "{count}");
}

#[test]
fn events_and_flags_have_the_letters_of_ns2() {
    let packet = TracePacket {
        packet_type: PacketType::Udp,
        bytes: 500,
        ecn: Ecn::Ect1,
        ecn_echo: true,
        cwr: true,
        flow: 3,
        source: TraceAddress { node: 10, port: 2 },
        destination: TraceAddress { node: 11, port: 1 },
        sequence: 5,
        uid: 6,
    };
    let mut out = Vec::new();
    line(&mut out, TraceEvent::EarlyDrop, Instant::from_millis(1_500), 10, 9, &packet);
    assert_eq!(String::from_utf8(out).unwrap(), "e 1.5 10 9 udp 500 C--A--N 3 10.2 11.1 5 6\n");
}
