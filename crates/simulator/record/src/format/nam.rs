//! nam's trace lines (`.nam`), byte for byte as ns-2.35 writes them (`namtrace-all`).
//!
//! ```text
//! + -t 1.84375 -s 0 -d 2 -p cbr -e 210 -c 1 -i 610 -a 1 -x {0.0 3.1 225 ------- null}
//! event time from to type bytes color uid attribute {source.port destination.port sequence flags session}
//! ```
//! Format: ns-2.35 `trace/trace.cc` `Trace::format` and `write_nam_trace`; `tcl/lib/ns-namsupp.tcl` for the lines
//! before the first event. nam lays out the nodes itself.

use super::ns2::{TraceEvent, TracePacket, decimal, general, number, time};
use headway_units::{Duration, Instant, Rate};

/// One direction of a link, as nam draws it.
#[derive(Clone, Copy, Debug)]
pub struct NamLink {
    /// Number of the sending node.
    pub from: u32,
    /// Number of the receiving node.
    pub to: u32,
    /// Transmission rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Duration,
}

/// X11 names of the flows' colors, distinguishable with color vision deficiency.
const COLORS: [&str; 8] = ["blue", "DarkOrange", "SeaGreen", "magenta", "SkyBlue", "gold", "firebrick", "black"];

/// Appends the lines before the first event: the colors of `flows`, the `nodes` and the links. The two directions of a
/// link are one `l` line; each direction has a visible queue.
pub fn header(out: &mut Vec<u8>, nodes: u32, links: &[NamLink], flows: impl IntoIterator<Item = u32>) {
    let mut line = |text: String| out.extend_from_slice(text.as_bytes());
    // Addresses of one level and 31 bits, ns-2's default.
    line(
        "V -t * -v 1.0a5 -a 0\nA -t * -n 1 -p 0 -o 0x7fffffff -c 30 -a 1\nA -t * -h 1 -m 1073741823 -s 0\n".to_owned(),
    );
    let mut seen_flows = std::collections::BTreeSet::new();
    for (flow, color) in flows.into_iter().filter(|flow| seen_flows.insert(*flow)).zip(COLORS.iter().cycle()) {
        line(format!("c -t * -i {flow} -n {color}\n"));
    }
    for node in 0..nodes {
        line(format!("n -t * -a {node} -s {node} -S UP -v circle -c black -i black\n"));
    }
    let mut drawn = std::collections::BTreeSet::new();
    for NamLink { from, to, rate, delay } in links {
        if drawn.insert((from.min(to), from.max(to))) {
            let mut delay_s = Vec::new();
            general(&mut delay_s, delay.as_secs_f64());
            let (rate, delay_s) = (rate.bits_per_second(), String::from_utf8_lossy(&delay_s).into_owned());
            line(format!("l -t * -s {from} -d {to} -S UP -r {rate} -D {delay_s} -c black\n"));
        }
    }
    for NamLink { from, to, .. } in links {
        line(format!("q -t * -s {from} -d {to} -a 0.5\n"));
    }
}

/// Appends a line with a newline, like [`ns2::line`](crate::ns2::line). A [`TraceEvent::Dequeue`] has a second line,
/// `h`, which moves the packet along the link.
pub fn line(out: &mut Vec<u8>, event: TraceEvent, now: Instant, from_node: u32, to_node: u32, packet: &TracePacket) {
    // nam has no event for early drops.
    let event = if event == TraceEvent::EarlyDrop { TraceEvent::Drop } else { event };
    let mut append = |letter: u8, sequence: i64| {
        out.extend_from_slice(&[letter, b' ', b'-', b't', b' ']);
        time(out, now);
        let field = |out: &mut Vec<u8>, name: &[u8], value: u64| {
            out.extend_from_slice(name);
            decimal(out, value);
        };
        field(out, b" -s ", from_node.into());
        field(out, b" -d ", to_node.into());
        out.extend_from_slice(b" -p ");
        out.extend_from_slice(packet.packet_type.name().as_bytes());
        field(out, b" -e ", packet.bytes.into());
        field(out, b" -c ", packet.flow.into());
        field(out, b" -i ", packet.uid);
        field(out, b" -a ", packet.flow.into());
        out.extend_from_slice(b" -x {");
        packet.source.append(out);
        out.push(b' ');
        packet.destination.append(out);
        out.push(b' ');
        number(out, sequence);
        out.push(b' ');
        out.extend_from_slice(&packet.flags());
        out.extend_from_slice(b" null}\n");
    };
    append(event.letter(), packet.sequence);
    if event == TraceEvent::Dequeue {
        append(b'h', -1);
    }
}
