//! ns-2's trace lines (`.tr`), byte for byte as ns-2.35 writes them.
//!
//! ```text
//! + 1.84375 0 2 cbr 210 ------- 0 0.0 3.1 225 610
//! event time from to type bytes flags flow source.port destination.port sequence uid
//! ```
//! Format: ns-2.35 `trace/trace.cc` `Trace::format`, without TCP header fields (`show_tcphdr_` 0, the default). Times:
//! `trace/basetrace.h`, rounded to 1e-6 s in doubles, printed `%.15g`.

use headway_units::{Ecn, Instant};
use std::io::Write;

/// Event of a packet at the queue of a link or at the link's far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// `+`: arrival at the queue. Also written for packets that the queue drops, but not for packets lost before it.
    Enqueue,
    /// `-`: start of the transmission.
    Dequeue,
    /// `r`: arrival at the far end.
    Receive,
    /// `d`: the packet is dropped.
    Drop,
    /// `e`: early drop by RED, if the script traces these separately (`attach-edrops`); otherwise `d`.
    EarlyDrop,
}

/// Type of a packet, with ns-2's name (`common/packet.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketType {
    /// `tcp`: TCP data.
    Tcp,
    /// `ack`: TCP acknowledgement.
    Ack,
    /// `udp`: UDP data without a traffic generator.
    Udp,
    /// `cbr`: data at a constant rate.
    Cbr,
    /// `exp`: data of an exponential on-off source.
    Exponential,
    /// `pareto`: data of a Pareto on-off source.
    Pareto,
    /// `tcpFriend`: TFRC data.
    Tfrc,
    /// `tcpFriendCtl`: TFRC feedback.
    TfrcAck,
}

impl PacketType {
    /// Returns the name of the packet type in ns-2's traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ack => "ack",
            Self::Udp => "udp",
            Self::Cbr => "cbr",
            Self::Exponential => "exp",
            Self::Pareto => "pareto",
            Self::Tfrc => "tcpFriend",
            Self::TfrcAck => "tcpFriendCtl",
        }
    }
}

/// A node and a port on it, printed `node.port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceAddress {
    /// Node number, from 0 in the order of the scenario.
    pub node: u32,
    /// Port number, from 0 on each node in the order of attachment.
    pub port: u32,
}

/// Fields of a packet in a trace line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePacket {
    /// Type of the packet.
    pub packet_type: PacketType,
    /// Size of the packet as ns-2 counts it, in bytes.
    pub bytes: u32,
    /// ECN codepoint: `N` for an ECN-capable transport, `N` and `E` for congestion experienced, because ns-2 marks only
    /// ECN-capable packets.
    pub ecn: Ecn,
    /// TCP's ECN-Echo flag, `C`.
    pub ecn_echo: bool,
    /// TCP's Congestion Window Reduced flag, `A` (ns-2: congestion action).
    pub cwr: bool,
    /// Flow number, ns-2's `fid_`.
    pub flow: u32,
    /// Node and port of the sender.
    pub source: TraceAddress,
    /// Node and port of the receiver.
    pub destination: TraceAddress,
    /// Sequence number of the packet in its flow; TCP counts segments. Negative if the packet has none.
    pub sequence: i64,
    /// Number of the packet among all packets of the run.
    pub uid: u64,
}

/// Appends the line, with a newline, of `event` of `packet` at `now` on the link from `from_node` to `to_node`.
pub fn line(out: &mut Vec<u8>, event: TraceEvent, now: Instant, from_node: u32, to_node: u32, packet: &TracePacket) {
    out.extend_from_slice(&[event.letter(), b' ']);
    time(out, now);
    let spaced = |out: &mut Vec<u8>, number: u64| {
        out.push(b' ');
        decimal(out, number);
    };
    spaced(out, from_node.into());
    spaced(out, to_node.into());
    out.push(b' ');
    out.extend_from_slice(packet.packet_type.name().as_bytes());
    spaced(out, packet.bytes.into());
    out.push(b' ');
    out.extend_from_slice(&packet.flags());
    spaced(out, packet.flow.into());
    for address in [packet.source, packet.destination] {
        out.push(b' ');
        address.append(out);
    }
    out.push(b' ');
    number(out, packet.sequence);
    spaced(out, packet.uid);
    out.push(b'\n');
}

impl TraceEvent {
    pub(crate) const fn letter(self) -> u8 {
        match self {
            Self::Enqueue => b'+',
            Self::Dequeue => b'-',
            Self::Receive => b'r',
            Self::Drop => b'd',
            Self::EarlyDrop => b'e',
        }
    }
}

impl TraceAddress {
    pub(crate) fn append(self, out: &mut Vec<u8>) {
        decimal(out, self.node.into());
        out.push(b'.');
        decimal(out, self.port.into());
    }
}

impl TracePacket {
    pub(crate) fn flags(&self) -> [u8; 7] {
        let flag = |set: bool, letter: u8| if set { letter } else { b'-' };
        [
            flag(self.ecn_echo, b'C'),
            b'-',
            b'-',
            flag(self.cwr, b'A'),
            flag(self.ecn == Ecn::Ce, b'E'),
            b'-',
            flag(self.ecn.is_capable(), b'N'),
        ]
    }
}

pub(crate) fn number(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    decimal(out, number.unsigned_abs());
}

/// Appends `number` in decimal, several times faster than `write!`. Most of a line is decimal numbers.
pub(crate) fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// Appends `%.15g` of `now`, rounded to 1e-6 s in doubles like `BaseTrace::round`, so that halves round equally.
pub(crate) fn time(out: &mut Vec<u8>, now: Instant) {
    let micros = (now.as_secs_f64() * 1e6 + 0.5).floor();
    // From 1e-4 s and with at most 15 digits, the double micros/1e6 prints as its exact decimal.
    if (100.0..1e15).contains(&micros) {
        let micros = micros as u64;
        let (whole, fraction) = (micros / 1_000_000, micros % 1_000_000);
        decimal(out, whole);
        if fraction != 0 {
            // The leading 1 keeps the zeros of the six-digit fraction and is replaced by the decimal point.
            let point = out.len();
            decimal(out, 1_000_000 + fraction);
            out[point] = b'.';
            trim_zeros(out);
        }
    } else {
        general(out, micros / 1e6);
    }
}

/// Appends C's `%.15g` of a finite nonnegative number: 15 significant digits, correctly rounded, without trailing
/// zeros, with an exponent below 1e-4 and from 1e15 (ISO C 7.21.6.1).
pub(crate) fn general(out: &mut Vec<u8>, value: f64) {
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let scientific = format!("{value:.14e}");
    // Rust always prints the exponent.
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        let decimals = (14 - exponent) as usize;
        append(out, format_args!("{value:.decimals$}"));
        if decimals > 0 {
            trim_zeros(out);
        }
    } else {
        append(out, format_args!("{digits}"));
        trim_zeros(out);
        let sign = if exponent < 0 { '-' } else { '+' };
        append(out, format_args!("e{sign}{:02}", exponent.unsigned_abs()));
    }
}

/// Removes the trailing zeros of a fraction, and its decimal point if no digit follows.
fn trim_zeros(out: &mut Vec<u8>) {
    while out.last() == Some(&b'0') {
        out.pop();
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a Vec does not fail.
    let _ = out.write_fmt(text);
}
