//! Time-sequence graphs: marks read from their axes, and reading of `packets.arrow`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::reading::{Element, Panel, Points, number};
use headway_record::plot::{Figure, Style, sequence_figure};
use headway_record::{
    FEEDBACK, FlowLabel, FlowMeter, Hop, HopLink, Interval, Measured, PacketNames, PacketRow, PacketRows, PacketTable,
    SeriesNames, Summary, TraversalOutcome,
};
use headway_units::{Bytes, DropCause, Duration, Instant, Rate};
use proptest::prelude::*;

/// A packet at a link: link, flow, whether it is feedback, number, times in ms, and its outcome.
type Passage = (u32, u32, bool, u32, [u64; 2], TraversalOutcome);

const DELIVERED: TraversalOutcome = TraversalOutcome::Delivered;
const DROPPED: TraversalOutcome = TraversalOutcome::Dropped(DropCause::QueueFull);

/// Links from a through r to b, and back.
fn trace(flows: &[&str], passages: &[Passage]) -> Vec<u8> {
    let (delay, rate) = (Duration::from_millis(5), Rate::from_bits_per_second(1_000_000));
    let link = |ends: [&str; 2]| HopLink::new(&ends.join("->"), ends, delay, rate);
    let names = PacketNames {
        links: [["a", "r"], ["r", "b"], ["b", "r"], ["r", "a"]].map(link).into(),
        flows: flows.iter().map(|flow| (*flow).to_owned()).collect(),
        kinds: vec!["data", FEEDBACK],
    };
    let mut rows = PacketRows::new(&names);
    for (link, flow, is_feedback, sequence, [from, to], outcome) in passages {
        let offered = Instant::from_millis(*from);
        let (kind, bytes) = (u8::from(*is_feedback), Bytes::new(1000));
        let (link, flow, sequence) = (*link, *flow, *sequence);
        let id = rows.offered(&Hop { offered, link, flow, kind, bytes, sequence, queue: 0, deadline: None });
        rows.transmitted(id, offered, offered);
        if *outcome != TraversalOutcome::InFlight {
            rows.ended(id, Instant::from_millis(*to), *outcome);
        }
    }
    rows.finish(Instant::from_secs(10));
    rows.take().unwrap()
}

fn summary(flows: &[&str], kind: &str, from: f64) -> Summary {
    let measured = Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
    let flow = |name: &&str| {
        let [name, from, to, kind] = [*name, "a", "b", kind].map(str::to_owned);
        FlowMeter::new(&measured).summary(FlowLabel { name, from, to, kind }, Instant::from_secs(10))
    };
    Summary {
        version: String::new(),
        name: String::new(),
        seed: 1,
        complete: true,
        interval: Interval { from, to: 10.0 },
        flows: flows.iter().map(flow).collect(),
        links: Vec::new(),
        hosts: Vec::new(),
        attackers: Vec::new(),
        jain_index: None,
        packet_hops: 0,
        fingerprint: String::new(),
    }
}

fn draw(passages: &[Passage], flows: &[&str], kind: &str, from: f64) -> Option<Figure> {
    let bytes = trace(flows, passages);
    let table = PacketTable::from_ipc(&bytes).unwrap();
    sequence_figure("run", &table, &summary(flows, kind, from), &Style::default()).unwrap()
}

/// Returns the centers of the marks of a color in a panel: circles and the strokes of crosses.
fn marks(elements: &[Element<'_>], panel: &Panel, color: &str) -> Points {
    let circles = elements.iter().filter(|e| e.is("circle") && [e.get("fill"), e.get("stroke")].contains(&color));
    let strokes = elements.iter().filter(|e| e.is("polyline") && e.get("stroke") == color).map(Element::points);
    let middle = |points: Points| (f64::midpoint(points[0].0, points[1].0), f64::midpoint(points[0].1, points[1].1));
    let mut all: Points = circles.map(|e| (e.number("cx"), e.number("cy"))).chain(strokes.map(middle)).collect();
    all.retain(|at| panel.holds(*at));
    all.dedup();
    all
}

const SENT: &str = "#0072B2";
const LOST: &str = "#D55E00";
const RECEIVED: &str = "#009E73";
const ACKNOWLEDGED: &str = "#CC79A7";

/// Packets 7, 8 and 9 are sent at 1, 2 and 3 s and take 0.5 s on each of two links. Packet 8 is dropped at the second
/// link and sent again at 4 s. Each packet that arrives is acknowledged.
fn exchange() -> Vec<Passage> {
    let mut passages = Vec::new();
    for (number, at) in [(7, 1000), (8, 2000), (9, 3000), (8, 4000)] {
        let is_dropped = at == 2000;
        passages.push((0, 0, false, number, [at, at + 500], DELIVERED));
        let outcome = if is_dropped { DROPPED } else { DELIVERED };
        passages.push((1, 0, false, number, [at + 500, at + 1000], outcome));
        if !is_dropped {
            passages.push((2, 0, true, number, [at + 1000, at + 1250], DELIVERED));
            passages.push((3, 0, true, number, [at + 1250, at + 1500], DELIVERED));
        }
    }
    passages.sort_by_key(|(link, .., [from, _], _)| (*from, *link));
    passages
}

#[test]
fn packets_have_marks_where_they_are_sent_dropped_received_and_acknowledged() {
    let figure = draw(&exchange(), &["f"], "tcp-newreno", 0.0).unwrap();
    assert_eq!(figure.name, "sequence");
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    for (color, expected, name) in [
        (SENT, &[(1.0, 0.0), (2.0, 1.0), (3.0, 2.0), (4.0, 1.0)][..], "sent"),
        (LOST, &[(3.0, 1.0)], "dropped"),
        (RECEIVED, &[(2.0, 0.0), (4.0, 2.0), (5.0, 1.0)], "received"),
        (ACKNOWLEDGED, &[(2.5, 0.0), (4.5, 2.0), (5.5, 1.0)], "acknowledged"),
    ] {
        let mut found = marks(&elements, panel, color);
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        panel.assert_shows(&found, expected, name);
        assert!(elements.iter().any(|e| e.is("text") && e.text == name), "{name}");
    }
}

/// The axis shows the whole interval, here from 0 to 10 s. Marks have their colors also if others are missing.
#[test]
fn the_axis_shows_the_interval() {
    let received: Vec<Passage> = exchange().into_iter().filter(|(.., outcome)| *outcome == DELIVERED).collect();
    let figure = draw(&received, &["f"], "tcp-newreno", 0.0).unwrap();
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let ends = (panel.x.pixel(0.0) - panel.left, panel.x.pixel(10.0) - panel.right);
    assert!(ends.0.abs() <= 2.0 && ends.1.abs() <= 2.0, "{ends:?}");
    assert_eq!((marks(&elements, panel, LOST).len(), marks(&elements, panel, RECEIVED).len()), (0, 3));
}

/// The trace has the numbers of DCCP's feedback, not those that it acknowledges.
#[test]
fn feedback_of_dccp_has_no_marks() {
    let figure = draw(&exchange(), &["f"], "dccp-ccid3", 0.0).unwrap();
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    assert_eq!(marks(&elements, panel, ACKNOWLEDGED), []);
    assert_eq!(marks(&elements, panel, RECEIVED).len(), 3);
}

/// Numbers are counted from the first packet of the run, also if it is sent before the measured interval, and wrap.
#[test]
fn numbers_are_counted_from_the_first_packet() {
    let passage = |n: u32| {
        let at = 1000 * u64::from(n);
        (0, 0, false, (u32::MAX - 1).wrapping_add(n), [at, at + 10], DELIVERED)
    };
    let figure = draw(&(0..20).map(passage).collect::<Vec<_>>(), &["f"], "udp", 1.5).unwrap();
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let expected: Points = (2..=10).map(|n| (f64::from(n), f64::from(n))).collect();
    panel.assert_shows(&marks(&elements, panel, SENT), &expected, "sent from 1.5 to 10 s");
    assert!(draw(&[passage(0)], &["f"], "udp", 1.5).is_none());
}

#[test]
fn the_flows_with_most_packets_have_a_panel() {
    let names = ["e", "d", "c", "b", "a"];
    let of = |flow: u32| {
        let passage = move |n: u32| (0, flow, false, n, [u64::from(n * 10 + flow), u64::from(n * 10 + 50)], DELIVERED);
        (0..3 + flow).map(passage)
    };
    let mut passages: Vec<Passage> = (0..5).flat_map(of).collect();
    passages.sort_by_key(|passage| passage.4[0]);
    let figure = draw(&passages, &names, "udp", 0.0).unwrap();
    let elements = Element::all(&figure.svg);
    assert_eq!(Panel::all(&elements, number, number).len(), 4);
    let texts: Vec<&str> = elements.iter().filter(|e| e.is("text")).map(|e| e.text).collect();
    assert!(texts.iter().any(|text| text.contains("the 4 flows of 5 with most packets")), "{texts:?}");
    assert!(["a", "b", "c", "d"].iter().all(|name| texts.contains(name)) && !texts.contains(&"e"), "{texts:?}");
}

/// 100,000 packets have at most 1000 marks of a kind, which reach from the first to near the last packet.
#[test]
fn the_number_of_marks_is_bounded() {
    let passage = |n: u32| (0, 0, false, n, [u64::from(n) / 10, u64::from(n) / 10 + 5], DELIVERED);
    let figure = draw(&(0..100_000).map(passage).collect::<Vec<_>>(), &["f"], "udp", 0.0).unwrap();
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let found = marks(&elements, panel, SENT);
    assert!((500..=1000).contains(&found.len()), "{}", found.len());
    panel.assert_shows(&found[..1], &[(0.0, 0.0)], "the first");
    let last = found.iter().copied().fold((0.0, 0.0), |a: (f64, f64), b| if b.0 > a.0 { b } else { a });
    assert!((last.0 - panel.x.pixel(10.0)).abs() < 0.01 * (panel.right - panel.left), "{last:?}");
}

/// The table has the rows that were written.
#[test]
fn a_table_has_the_packets_of_the_file() {
    let mut passages = exchange();
    passages.push((0, 0, false, 10, [6000, 10_000], TraversalOutcome::InFlight));
    let bytes = trace(&["f"], &passages);
    let table = PacketTable::from_ipc(&bytes).unwrap();
    assert_eq!(table.flows(), ["f"]);
    let mut found = Vec::new();
    table.for_each(|row| found.push((row.link.from.clone(), row.link.to.clone(), Read::of(row)))).unwrap();
    found.sort_by_key(|(.., row)| row.offered);
    let nodes = [["a", "r"], ["r", "b"], ["b", "r"], ["r", "a"]];
    let expected = passages.iter().map(|(link, _, is_feedback, sequence, [from, to], outcome)| {
        let [from_node, to_node] = nodes[*link as usize].map(str::to_owned);
        let [offered, left] = [from, to].map(|ms| Instant::from_millis(*ms));
        let row = Read { offered, left, is_feedback: *is_feedback, sequence: *sequence, outcome: *outcome };
        (from_node, to_node, row)
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[derive(Debug, PartialEq)]
struct Read {
    offered: Instant,
    left: Instant,
    is_feedback: bool,
    sequence: u32,
    outcome: TraversalOutcome,
}

impl Read {
    fn of(row: &PacketRow<'_>) -> Self {
        let &PacketRow { offered, left, is_feedback, sequence, outcome, .. } = row;
        Self { offered, left, is_feedback, sequence, outcome }
    }
}

#[test]
fn other_bytes_are_no_table() {
    let bytes = trace(&["f"], &exchange());
    for bytes in [&[], &b"ARROW1"[..], &bytes[..bytes.len() - 1]] {
        let error = PacketTable::from_ipc(bytes).unwrap_err().to_string();
        assert!(error.contains("it is not an Arrow IPC file, or it is truncated"), "{error}");
    }
    let mut series = SeriesNames::default().samples();
    series.flush();
    let mut other = Vec::new();
    series.finish(&mut other).unwrap();
    let error = PacketTable::from_ipc(&other).unwrap_err().to_string();
    assert!(error.contains("it has other columns"), "{error}");
}

/// A small file could name one batch many times.
#[test]
fn a_batch_counts_once() {
    let sent = |n: u32| {
        let at = u64::from(n) * u64::from(n % 97);
        (n % 4, 0, false, n.wrapping_mul(0x9E37_79B9), [at, at + u64::from(n % 89)], DELIVERED)
    };
    let mut bytes = trace(&["f"], &(0..66_000).map(sent).collect::<Vec<_>>());
    let count = |bytes: &[u8]| {
        let mut rows = 0;
        PacketTable::from_ipc(bytes).unwrap().for_each(|_| rows += 1).map(|()| rows)
    };
    assert_eq!(count(&bytes).unwrap(), 66_000);
    // The footer has a block of 24 bytes for each of the two batches: offset, length of the header and of the body.
    let is_block = |at: usize| {
        let parts = [0, 8, 16].map(|part| u64::from_le_bytes(bytes[at + part..at + part + 8].try_into().unwrap()));
        let end = at as u64;
        parts.iter().all(|part| (1..end).contains(part)) && parts.iter().sum::<u64>() < end
    };
    let first = (0..bytes.len() - 48).rev().find(|at| is_block(*at) && is_block(at + 24)).unwrap();
    bytes.copy_within(first..first + 24, first + 24);
    let error = count(&bytes).unwrap_err().to_string();
    assert!(error.contains("its record batches overlap"), "{error}");
}

proptest! {
    /// Damaged bytes give an error or other rows, but no panic.
    #[test]
    fn damaged_bytes_do_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = trace(&["f"], &exchange());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(table) = PacketTable::from_ipc(&bytes) {
            _ = table.for_each(|_| ());
            _ = sequence_figure("run", &table, &summary(&["f"], "udp", 0.0), &Style::default());
        }
    }
}
