//! The drawn figures of each paper.

use super::graph::{Graph, Node, Transition};
use super::times::{Box, Note, Row, departures};
use super::{Drawing, DrawingError, network, regions, scenario, times};
use crate::paper::Paper;
use headway_scenario::Scenario;
use headway_units::{Bytes, Duration, Rate};

/// Rows of packets, and the notes below them.
type Rows = (Vec<Row>, Vec<Note>);

pub(super) struct Figure {
    name: &'static str,
    title: &'static str,
    what: What,
}

enum What {
    /// The network of the first cell whose name starts with this text.
    Network(&'static str),
    /// The regions of RED in such a cell.
    Regions(&'static str),
    /// A state machine or a block diagram.
    Graph(Graph),
    /// Packets over time in such a cell.
    Times(&'static str, fn(&Scenario) -> Option<Rows>),
}

impl Figure {
    pub(super) fn draw(&self, paper: &Paper) -> Result<Drawing, DrawingError> {
        let missing = |cell, what| DrawingError::Missing { paper: paper.id.to_string(), cell, what };
        let svg = match &self.what {
            What::Network(cell) => network::draw(&scenario(paper, cell, "a network")?, self.title),
            What::Regions(cell) => regions::draw(&scenario(paper, cell, "RED")?, self.title)
                .ok_or_else(|| missing(cell, "a link with RED"))?,
            What::Graph(graph) => graph.draw(self.title),
            What::Times(cell, rows) => {
                let rows = rows(&scenario(paper, cell, "flows")?);
                let (rows, notes) = rows.ok_or_else(|| missing(cell, "the packets of this figure"))?;
                times::draw(&rows, &notes, self.title)
            }
        };
        Ok(Drawing { name: self.name.to_owned(), title: self.title.to_owned(), svg })
    }
}

/// Returns the title of the drawn figure that belongs to a part of a paper: `fig2`, or `fig4a` to `fig4`.
pub(super) fn title(paper: &str, part: &str) -> Option<&'static str> {
    let is_part = |figure: &&Figure| figure.name.trim_end_matches(|letter: char| letter.is_ascii_lowercase()) == part;
    figures(paper).iter().find(is_part).map(|figure| figure.title)
}

pub(super) fn figures(paper: &str) -> &'static [Figure] {
    match &*paper.to_ascii_lowercase() {
        "lan-queues" => LAN,
        "udpm" => UDPM,
        "packet-spacing" => SPACING,
        "uddj-tfrc" => UDDJ,
        _ => &[],
    }
}

const LAN: &[Figure] = &[
    Figure { name: "fig1", title: "Figure 1: the three states of RED", what: What::Regions("red.tcp.") },
    Figure { name: "fig2", title: "Figure 2: the network, with ten clients", what: What::Network("droptail.tcp.10") },
];

const UDPM: &[Figure] = &[
    Figure { name: "fig1", title: "Figure 1: DCCP between UDP and TCP", what: What::Graph(DCCP) },
    Figure {
        name: "fig2",
        title: "Figure 2: the multimedia sender",
        what: What::Graph(Graph {
            nodes: &[
                Node { lines: &["start"], column: 0.0, row: 0.0 },
                Node { lines: &["send at rate k"], column: 1.3, row: 0.0 },
            ],
            transitions: UDPM_SENDER,
            apart: (220.0, 100.0),
            states: true,
        }),
    },
    Figure {
        name: "fig3",
        title: "Figure 3: the multimedia receiver",
        what: What::Graph(Graph {
            nodes: &[
                Node { lines: &["start"], column: 0.0, row: 0.0 },
                Node { lines: &["wait for packets", "of rate k"], column: 1.3, row: 0.0 },
            ],
            transitions: UDPM_RECEIVER,
            apart: (220.0, 100.0),
            states: true,
        }),
    },
    Figure { name: "fig4", title: "Figure 4: the network with MApp over UDPm", what: What::Network("s1.executed.") },
    Figure { name: "fig5", title: "Figure 5: the network with CBR over UDP", what: What::Network("s2.executed.") },
];

/// Transitions of the sender's state machine in Figure 2 of the paper on UDPm. Box 0 is the start; box 1 sends.
pub const UDPM_SENDER: &[Transition] = &[
    Transition { from: 0, to: 1, label: &["k = 0"] },
    Transition { from: 1, to: 1, label: &["the receiver announces n:", "k = n"] },
];

/// Transitions of the receiver's state machine in Figure 3 of the paper on UDPm. Box 0 is the start; box 1 waits. The
/// second transition is without congestion, the third with congestion.
pub const UDPM_RECEIVER: &[Transition] = &[
    Transition { from: 0, to: 1, label: &["k = 0"] },
    Transition { from: 1, to: 1, label: &["no packet lost or marked:", "k = min(k + 1, highest), announce k"] },
    Transition { from: 1, to: 1, label: &["a packet lost or marked:", "k = k/2 rounded down, announce k"] },
];

const DCCP: Graph = Graph {
    nodes: &[
        Node { lines: &["UDP"], column: 0.0, row: 0.0 },
        Node { lines: &["DCCP"], column: 1.0, row: 0.0 },
        Node { lines: &["TCP"], column: 2.0, row: 0.0 },
    ],
    transitions: &[
        Transition { from: 0, to: 1, label: &["datagrams that are", "not sent again"] },
        Transition { from: 2, to: 1, label: &["connections and", "congestion control"] },
    ],
    apart: (230.0, 100.0),
    states: false,
};

const SPACING: &[Figure] = &[
    Figure { name: "fig3", title: "Figure 3: packet spacing", what: What::Times("p16.50", spacing) },
    Figure {
        name: "fig4",
        title: "Figure 4: the ad-hoc packet-spacing protocol",
        what: What::Graph(Graph {
            nodes: &[
                Node { lines: &["a report arrives:", "sent > received?"], column: 0.0, row: 1.0 },
                Node { lines: &["ps = 0?"], column: 1.4, row: 0.0 },
                Node { lines: &["ps = 50 us"], column: 2.6, row: 0.0 },
                Node { lines: &["ps = min(2 ps, RTT)"], column: 2.6, row: 1.0 },
                Node { lines: &["one packet more", "in a round trip"], column: 2.6, row: 2.0 },
            ],
            transitions: &[
                Transition { from: 0, to: 1, label: &["yes"] },
                Transition { from: 1, to: 2, label: &["yes"] },
                Transition { from: 1, to: 3, label: &["no"] },
                Transition { from: 0, to: 4, label: &["no"] },
            ],
            apart: (210.0, 90.0),
            states: false,
        }),
    },
    Figure { name: "fig5", title: "Figure 5: the network, with four senders", what: What::Network("p4.") },
];

const UDDJ: &[Figure] = &[
    Figure {
        name: "fig1",
        title: "Figure 1: UDDJ-TFRC",
        what: What::Graph(Graph {
            nodes: &[
                Node { lines: &["TFRC sender"], column: 0.0, row: 0.0 },
                Node { lines: &["bottleneck and", "wireless link"], column: 1.2, row: 0.0 },
                Node { lines: &["receiver: one-way delay", "jitter (equation 2)"], column: 2.5, row: 0.0 },
                Node { lines: &["queueing delay", "(equation 8)"], column: 2.5, row: 1.2 },
                Node { lines: &["congestion flag", "(equation 11)"], column: 1.2, row: 1.2 },
                Node { lines: &["loss event rate"], column: 0.0, row: 1.2 },
            ],
            transitions: &[
                Transition { from: 0, to: 1, label: &["packets"] },
                Transition { from: 1, to: 2, label: &["packets"] },
                Transition { from: 2, to: 3, label: &["each packet"] },
                Transition { from: 3, to: 4, label: &["each round trip,", "each loss"] },
                Transition { from: 4, to: 5, label: &["losses that count"] },
                Transition { from: 5, to: 0, label: &["feedback"] },
            ],
            apart: (230.0, 100.0),
            states: false,
        }),
    },
    Figure {
        name: "fig2",
        title: "Figure 2: P2 is lost on the wireless link, and the router is busy",
        what: What::Times("f4.", lost_packet),
    },
    Figure {
        name: "fig3",
        title: "Figure 3: gaps that bursty cross traffic leaves unfilled",
        what: What::Times("f4.", noise),
    },
    Figure { name: "fig4a", title: "Figure 4a: the network of the first experiment", what: What::Network("f4.") },
];

fn box_of(name: String, from_ms: f64, duration_ms: f64) -> Box {
    Box { name, from_ms, to_ms: from_ms + duration_ms, lost: false }
}

/// Returns three packets of the first flow: tx each, and ts from the end of one to the start of the next.
fn spacing(scenario: &Scenario) -> Option<Rows> {
    let transport = serde_json::to_value(&*scenario.flows.first()?.transport).ok()?;
    let line: Rate = transport["line_rate"].as_str()?.parse().ok()?;
    let size: Bytes = transport["datagram"].as_str()?.parse().ok()?;
    let gap: Duration = transport["controller"]["spacing"].as_str()?.parse().ok()?;
    let (tx, ts) = (transmission_ms(size, line), gap.as_secs_f64() * 1e3);
    let boxes = (0..3).map(|n| box_of(format!("P{}", n + 1), f64::from(n) * (tx + ts), tx)).collect();
    let note = |from_ms: f64, to_ms: f64, text: String| Note { from_ms, to_ms, row: 0, text };
    let notes =
        vec![note(0.0, tx, format!("tx = {:.0} us", tx * 1e3)), note(tx, tx + ts, format!("ts = {:.0} us", ts * 1e3))];
    Some((vec![Row { name: format!("line, {line}"), boxes, continues: false }], notes))
}

fn transmission_ms(size: Bytes, rate: Rate) -> f64 {
    size.count() as f64 * 8000.0 / rate.bits_per_second() as f64
}

/// Returns the transmission times of a packet of the first flow on its first link and on the lossy link, in ms.
fn times_of(scenario: &Scenario) -> Option<(f64, f64)> {
    let flow = scenario.flows.first()?;
    let access = scenario.links.iter().find(|link| link.from == flow.from)?;
    let wireless = scenario.links.iter().find(|link| link.loss.is_some() && link.to == flow.to)?;
    let size = flow.transport.full_packet();
    Some((transmission_ms(size, access.rate), transmission_ms(size, wireless.rate)))
}

/// Returns two rows: packets at the router, and the same packets after its queue. `arrivals` has names and times in ms,
/// in order.
fn through_router(arrivals: &[(String, f64)], (access, service): (f64, f64), names: [&str; 2]) -> [Row; 2] {
    let times: Vec<f64> = arrivals.iter().map(|arrival| arrival.1).collect();
    let done = departures(&times, service);
    let at = arrivals.iter().map(|(name, at)| box_of(name.clone(), *at, access)).collect();
    let out =
        arrivals.iter().zip(done).map(|((name, _), done)| box_of(name.clone(), done - service, service)).collect();
    let [arrives, leaves] = names.map(str::to_owned);
    [Row { name: arrives, boxes: at, continues: true }, Row { name: leaves, boxes: out, continues: false }]
}

/// Returns packets at intervals of 1.25 bottleneck transmissions, with a packet of another flow between each two, so
/// that the queue grows. P2 is lost after the router.
fn lost_packet(scenario: &Scenario) -> Option<Rows> {
    let (access, service) = times_of(scenario)?;
    let gap = 1.25 * service;
    let arrivals: Vec<(String, f64)> = (0..3)
        .flat_map(|n| {
            let at = f64::from(n) * gap;
            [(format!("P{}", n + 1), at), (format!("C{}", n + 1), at + gap / 2.0)]
        })
        .collect();
    let [at, mut out] = through_router(&arrivals, (access, service), ["at the router", "on the wireless link"]);
    out.boxes.iter_mut().filter(|one| one.name == "P2").for_each(|one| one.lost = true);
    out.continues = true;
    let received = out.boxes.iter().filter(|one| one.name.starts_with('P') && !one.lost);
    let boxes: Vec<Box> = received.map(|one| box_of(one.name.clone(), one.to_ms, access)).collect();
    let [first, last] = [boxes.first()?, boxes.last()?].map(|one| one.from_ms);
    let notes = vec![
        Note { from_ms: 0.0, to_ms: 2.0 * gap, row: 0, text: format!("input gaps, {:.2} ms", 2.0 * gap) },
        Note { from_ms: first, to_ms: last, row: 2, text: format!("output gap of P1 and P3, {:.2} ms", last - first) },
    ];
    Some((vec![at, out, Row { name: "at the receiver".to_owned(), boxes, continues: false }], notes))
}

/// Returns the same cross traffic evenly spaced and as one burst after P3. The total exceeds the bottleneck's capacity,
/// but the burst leaves two gaps unfilled.
fn noise(scenario: &Scenario) -> Option<Rows> {
    let (access, service) = times_of(scenario)?;
    let gap = 2.5 * service;
    let probes = (0..4).map(|n| (format!("P{}", n + 1), f64::from(n) * gap));
    let cross = |at: &dyn Fn(f64) -> f64| (0..6).map(|n| (format!("C{}", n + 1), at(f64::from(n)))).collect::<Vec<_>>();
    let case = |at: &dyn Fn(f64) -> f64, names| {
        let mut arrivals: Vec<(String, f64)> = probes.clone().chain(cross(at)).collect();
        arrivals.sort_by(|a, b| a.1.total_cmp(&b.1));
        through_router(&arrivals, (access, service), names)
    };
    let even = case(&|n| (n + 0.5) * gap / 2.0, ["evenly: arrive", "leave"]);
    let burst = case(&|n| 2.0 * gap + (n + 1.5) * access, ["in a burst: arrive", "leave"]);
    let unfilled =
        |n: f64| Note { from_ms: n * gap + service, to_ms: (n + 1.0) * gap, row: 3, text: "noise".to_owned() };
    Some((even.into_iter().chain(burst).collect(), vec![unfilled(0.0), unfilled(1.0)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every listed figure is drawn, with a unique name.
    #[test]
    fn every_figure_is_drawn() {
        let all: Vec<(&str, Vec<Drawing>)> =
            crate::PAPERS.iter().map(|paper| (paper.id.as_ref(), super::super::drawings(paper).unwrap())).collect();
        let names: Vec<String> = all
            .iter()
            .flat_map(|(id, figures)| figures.iter().map(move |figure| format!("{id} {}", figure.name)))
            .collect();
        assert_eq!(
            names,
            [
                "lan-queues fig1",
                "lan-queues fig2",
                "udpm fig1",
                "udpm fig2",
                "udpm fig3",
                "udpm fig4",
                "udpm fig5",
                "packet-spacing fig3",
                "packet-spacing fig4",
                "packet-spacing fig5",
                "uddj-tfrc fig1",
                "uddj-tfrc fig2",
                "uddj-tfrc fig3",
                "uddj-tfrc fig4a",
            ]
        );
        let svg = |name: &str| {
            let (id, figure) = name.split_once(' ').unwrap();
            let (_, figures) = all.iter().find(|(known, _)| *known == id).unwrap();
            figures.iter().find(|known| known.name == figure).unwrap().svg.clone()
        };
        // Section III and figure 2; Table 1 and figure 4; section 3.1 and figure 5.
        for (figure, texts) in [
            ("lan-queues fig2", &["10Mbps, 3ms", "50Mbps, 10ms", "10 flows ("][..]),
            ("udpm fig4", &["2Mbps, 10ms", "red 20packets", "ftp over tcp-newreno"]),
            ("udpm fig5", &["cbr over udp"]),
            ("packet-spacing fig5", &["100Mbps, 2ms", "155Mbps, 40ms", "droptail 10packets"]),
            ("uddj-tfrc fig4a", &["10Mbps, 10ms, loses packets", "3 flows ("]),
            // 1500 B at 100 Mb/s.
            ("packet-spacing fig3", &["tx = 120 us", "ts = 50 us"]),
            ("lan-queues fig1", &["dropped at random", "all dropped"]),
        ] {
            let svg = svg(figure);
            for text in texts {
                assert!(svg.contains(text), "{figure} lacks {text}:\n{svg}");
            }
        }
    }

    /// The ends of the regions of RED are ticks of 6 px below the axis, which is 260 px below the top at 30 px.
    #[test]
    fn the_regions_of_red_end_at_ticks() {
        let svg = regions::draw(&scenario(Paper::find("lan-queues").unwrap(), "red.tcp.", "RED").unwrap(), "").unwrap();
        let ticks = super::super::canvas::numbers(&svg, "line", "/>");
        assert_eq!(ticks.len(), 2, "{svg}");
        for tick in &ticks {
            let [x1, y1, x2, y2] = tick[..] else { panic!("{tick:?}") };
            assert_eq!((x1 - x2, y1, y2), (0.0, 290.0, 296.0), "{svg}");
        }
    }

    /// Section 2.3: P2 is lost while the router is busy, so the gap from P1 to P3 is four transmissions, 4 x 0.8 ms:
    /// C1, P2, C2 and P3.
    #[test]
    fn figure_2_of_uddj() {
        let paper = Paper::find("uddj-tfrc").unwrap();
        let (rows, _) = lost_packet(&scenario(paper, "f4.", "").unwrap()).unwrap();
        let received = &rows[2].boxes;
        assert_eq!(received.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["P1", "P3"]);
        assert!((received[1].from_ms - received[0].from_ms - 3.2).abs() < 1e-9);
    }

    /// Figure 3: both cases have ten packets of 0.8 ms in 6 ms. With even spacing the link is not idle between P1 and
    /// P4; with a burst it is idle before P2 and P3.
    #[test]
    fn figure_3_of_uddj() {
        let paper = Paper::find("uddj-tfrc").unwrap();
        let (rows, _) = noise(&scenario(paper, "f4.", "").unwrap()).unwrap();
        let idle = |row: &Row| row.boxes.windows(2).filter(|pair| pair[1].from_ms > pair[0].to_ms + 1e-9).count();
        assert_eq!([&rows[1], &rows[3]].map(idle), [0, 2]);
    }

    fn is_span(note: &Note, row: usize, from_ms: f64, to_ms: f64) -> bool {
        note.row == row && (note.from_ms - from_ms).abs() < 1e-9 && (note.to_ms - to_ms).abs() < 1e-9
    }

    /// The notes of Figure 3 are the times without a packet in the last row: from the end of P1 to P2, and from the
    /// end of P2 to P3.
    #[test]
    fn the_notes_of_figure_3_of_uddj_are_the_idle_times() {
        let paper = Paper::find("uddj-tfrc").unwrap();
        let (rows, notes) = noise(&scenario(paper, "f4.", "").unwrap()).unwrap();
        assert_eq!(notes.len(), 2);
        for (note, pair) in notes.iter().zip(rows[3].boxes.windows(2)) {
            assert!(is_span(note, 3, pair[0].to_ms, pair[1].from_ms) && note.from_ms < note.to_ms, "{pair:?}");
        }
        // Both cases have the same packets.
        let names = |row: &Row| row.boxes.iter().map(|one| one.name.clone()).collect::<std::collections::BTreeSet<_>>();
        assert!(rows.iter().all(|row| row.boxes.len() == 10 && names(row) == names(&rows[0])));
    }

    /// Figure 2: the input gap is that of P1 and P3 at the router, the output gap that at the receiver. Each packet
    /// waits longer than the one before it.
    #[test]
    fn the_notes_of_figure_2_of_uddj_are_the_gaps_of_p1_and_p3() {
        let paper = Paper::find("uddj-tfrc").unwrap();
        let (rows, notes) = lost_packet(&scenario(paper, "f4.", "").unwrap()).unwrap();
        let start = |row: usize, name: &str| rows[row].boxes.iter().find(|one| one.name == name).unwrap().from_ms;
        assert!(is_span(&notes[0], 0, start(0, "P1"), start(0, "P3")));
        assert!(is_span(&notes[1], 2, start(2, "P1"), start(2, "P3")));
        for (note, gap) in notes.iter().zip([start(0, "P3") - start(0, "P1"), start(2, "P3") - start(2, "P1")]) {
            assert!(note.text.ends_with(&format!(", {gap:.2} ms")), "{}", note.text);
        }
        let waits: Vec<f64> = ["P1", "P2", "P3"].iter().map(|name| start(1, name) - start(0, name)).collect();
        assert!(waits[0] == 0.0 && waits[0] < waits[1] && waits[1] < waits[2], "{waits:?}");
        assert_eq!(rows.iter().map(|row| row.continues).collect::<Vec<_>>(), [true, true, false]);
        let lost: Vec<_> = rows[1].boxes.iter().filter(|one| one.lost).map(|one| one.name.as_str()).collect();
        assert_eq!(lost, ["P2"]);
    }

    /// Figure 3 of packet spacing: tx is the time of a packet, ts the time to the next.
    #[test]
    fn figure_3_of_packet_spacing() {
        let paper = Paper::find("packet-spacing").unwrap();
        let (rows, notes) = spacing(&scenario(paper, "p16.50", "").unwrap()).unwrap();
        let [first, second, third] = &rows[0].boxes[..] else { panic!() };
        assert!(is_span(&notes[0], 0, first.from_ms, first.to_ms));
        assert!(is_span(&notes[1], 0, first.to_ms, second.from_ms));
        assert!((third.from_ms - second.from_ms - second.from_ms).abs() < 1e-9 && first.from_ms == 0.0);
        let lengths = rows[0].boxes.iter().map(|one| one.to_ms - one.from_ms);
        assert!(lengths.into_iter().all(|length| (length - 0.12).abs() < 1e-9));
    }

    /// A part of a figure has the title of the whole figure; other papers and parts have none.
    #[test]
    fn titles_are_found_by_paper_and_part() {
        assert_eq!(title("uddj-tfrc", "fig4"), Some("Figure 4a: the network of the first experiment"));
        assert_eq!(title("LAN-queues", "fig1"), Some("Figure 1: the three states of RED"));
        assert_eq!([title("lan-queues", "fig3"), title("none", "fig1")], [None; 2]);
    }
}
