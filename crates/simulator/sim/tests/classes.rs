//! DSCP and ECN fields of packets, and queues that use them.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{LinkFlowSummary, Summary};
use headway_sim::{Body, LinkEvent, Packet};
use headway_units::{DropCause, Dscp, Ecn, Instant, MediaKind};
use std::collections::BTreeSet;

/// Packets offered to a link: direction, kind of media, DSCP.
#[derive(Debug, Default)]
struct DscpsSeen(BTreeSet<(bool, MediaKind, Dscp)>);

impl common::Watcher for DscpsSeen {
    fn link_event(&mut self, _: Instant, event: LinkEvent, _: usize, packet: &Packet) {
        let kind = match &packet.body {
            Body::Numbered(datagram) => datagram.data.kind,
            Body::Dccp(packet) => packet.data.kind,
            Body::Datagram(datagram) => datagram.data.kind,
            Body::Tcp(_) | Body::Report(_) | Body::Raw(_) | Body::External(_) => MediaKind::Data,
        };
        if event == LinkEvent::Enqueue {
            self.0.insert((packet.forward, kind, packet.dscp));
        }
    }
}

fn dscp(name: &str) -> Dscp {
    name.parse().unwrap()
}

/// A single DSCP applies to all packets in both directions. A table applies by kind; others count as data.
#[test]
fn packets_have_the_dscp_of_their_flow() {
    let dscps_seen = |flow: &str| {
        let text = format!(
            "duration = \"3s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"2Mbps\"\ndelay = \"5ms\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        common::watch(&scenario(&text), DscpsSeen::default()).observer.0.into_iter().collect::<Vec<_>>()
    };
    let tcp = "transport = { kind = \"tcp-sack\" }\nsource = { kind = \"ftp\" }";
    let both = |dscp| [false, true].map(|forward| (forward, MediaKind::Data, dscp));
    assert_eq!(dscps_seen(&format!("dscp = \"af11\"\n{tcp}")), both(dscp("af11")));
    assert_eq!(dscps_seen(&format!("dscp = 5\n{tcp}")), both(dscp("5")));
    assert_eq!(dscps_seen(tcp), both(Dscp::CS0));
    for transport in ["tfrc\"", "dccp\", ccid = 2", "dccp\", ccid = 3"] {
        let conference = format!("transport = {{ kind = \"{transport} }}\nsource = {{ kind = \"conference\" }}");
        let found = dscps_seen(&format!("dscp = {{ audio = \"ef\", other = \"af41\", data = \"le\" }}\n{conference}"));
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

/// Marks on packets of the media flows that leave the bottleneck of the shipped scenario.
#[derive(Debug, Default)]
struct Marks {
    left: u64,
    not_capable: u64,
}

impl common::Watcher for Marks {
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

/// Media packets of a class are marked instead of dropped early, and the flows react: no excess lasts. Packets of no
/// class are dropped. Marks are set on queued packets, so every mark leaves the queue, unless its packet is dropped or
/// waits at the end.
#[test]
fn media_are_marked_while_other_packets_are_dropped() {
    for action in ["mark-tail", "mark-head"] {
        let text = shipped_text().replace("mark-head", action).replace("measure_from = \"5s\"\n", "");
        let record = common::watch(&scenario(&text), Marks::default());
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

/// With ECN alone, ECN-capable flows are marked; a class of their DSCPs with `drop` drops their packets.
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
