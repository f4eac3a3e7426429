//! What packets bear in their IP headers, and what a queue makes of it.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{LinkFlowSummary, Summary};
use headway_sim::{Body, LinkEvent, Observer, Packet};
use headway_units::{DropCause, Dscp, Ecn, Instant, MediaKind};
use std::collections::BTreeSet;

/// What was offered to a link: which way, what it was, its DSCP.
#[derive(Debug, Default)]
struct Borne(BTreeSet<(bool, MediaKind, Dscp)>);

impl Observer for Borne {
    const WATCHES: bool = true;
    fn link_event(&mut self, _: Instant, event: LinkEvent, _: usize, packet: &Packet) {
        let kind = match &packet.body {
            Body::Numbered(datagram) => datagram.data.kind,
            Body::Dccp(packet) => packet.data.kind,
            Body::Datagram(datagram) => datagram.data.kind,
            Body::Tcp(_) | Body::Report(_) | Body::Raw(_) => MediaKind::Data,
        };
        if event == LinkEvent::Enqueue {
            self.0.insert((packet.forward, kind, packet.dscp));
        }
    }
}

fn dscp(name: &str) -> Dscp {
    name.parse().unwrap()
}

/// One DSCP is that of all packets, there and back; a table is by kind, where what has none is data.
#[test]
fn packets_bear_the_dscp_of_their_flow() {
    let borne = |flow: &str| {
        let text = format!(
            "duration = \"3s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"2Mbps\"\ndelay = \"5ms\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        run(&scenario(&text), Borne::default()).observer.0.into_iter().collect::<Vec<_>>()
    };
    let tcp = "transport = { kind = \"tcp-sack\" }\nsource = { kind = \"ftp\" }";
    let both = |dscp| [false, true].map(|forward| (forward, MediaKind::Data, dscp));
    assert_eq!(borne(&format!("dscp = \"af11\"\n{tcp}")), both(dscp("af11")));
    assert_eq!(borne(&format!("dscp = 5\n{tcp}")), both(dscp("5")));
    assert_eq!(borne(tcp), both(Dscp::CS0));
    for transport in ["tfrc\"", "dccp\", ccid = 2", "dccp\", ccid = 3"] {
        let conference = format!("transport = {{ kind = \"{transport} }}\nsource = {{ kind = \"conference\" }}");
        let found = borne(&format!("dscp = {{ audio = \"ef\", other = \"af41\", data = \"le\" }}\n{conference}"));
        assert!(found.contains(&(true, MediaKind::Audio, dscp("ef"))), "{transport}: {found:?}");
        assert!(found.contains(&(true, MediaKind::Video, dscp("af41"))), "{transport}: {found:?}");
        assert!(found.contains(&(false, MediaKind::Data, dscp("le"))), "{transport}: {found:?}");
        let expected = |kind| match kind {
            MediaKind::Audio => dscp("ef"),
            MediaKind::Data => dscp("le"),
            _ => dscp("af41"),
        };
        assert!(found.iter().all(|(_, kind, dscp)| *dscp == expected(*kind)), "{transport}: {found:?}");
    }
}

/// Of the shipped scenario: the marks that leave the bottleneck on packets of the media flows.
#[derive(Debug, Default)]
struct Marks {
    left: u64,
    not_capable: u64,
}

impl Observer for Marks {
    const WATCHES: bool = true;
    fn link_event(&mut self, _: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if (event, link) == (LinkEvent::Dequeue, 0) && packet.ecn == Ecn::Ce {
            self.left += 1;
            self.not_capable += u64::from(packet.dscp == Dscp::CS0);
        }
    }
}

fn shipped_text() -> String {
    std::fs::read_to_string(common::root().join("scenarios/media-marks.toml")).unwrap()
}

fn at_the_bottleneck(summary: &Summary) -> impl Iterator<Item = &LinkFlowSummary> {
    summary.links[0].flows.iter()
}

/// Media of a class lose nothing early and get marks, which they heed: none is dropped for long. What is of no class loses. A mark is set on
/// what is in the queue, so that as many leave as were set, but for those dropped or waiting at the end.
#[test]
fn media_are_marked_where_others_lose() {
    for action in ["mark-tail", "mark-head"] {
        let text = shipped_text().replace("mark-head", action).replace("measure_from = \"5s\"\n", "");
        let record = run(&scenario(&text), Marks::default());
        let mut set = 0;
        for flow in at_the_bottleneck(&record.summary) {
            let (early, marked) = (flow.dropped_packets.of(DropCause::Early), flow.marked_packets);
            set += marked;
            if flow.name.starts_with("download") {
                assert!(early > 0 && marked == 0, "{action}: {flow:?}");
            } else {
                assert!(early == 0 && marked > 0, "{action}: {flow:?}");
            }
        }
        let Marks { left, not_capable } = record.observer;
        assert!(left <= set && set <= left + 60, "{action}: {left} of {set}");
        assert_eq!(not_capable, 0);
    }
}

/// By ECN alone, the flows that are capable are marked; a class of those DSCPs with `drop` drops them again.
#[test]
fn a_class_that_drops_overrules_ecn() {
    let marked = |text: &str| {
        let summary = run(&scenario(text), ()).summary;
        at_the_bottleneck(&summary).map(|flow| flow.marked_packets).sum::<u64>()
    };
    let ecn = shipped_text().replace("max_probability = 0.1", "ecn = true");
    assert!(marked(&ecn.replace("\"af41\", \"ef\"", "\"cs7\"")) > 0);
    assert_eq!(marked(&ecn.replace("mark-head", "drop")), 0);
}
