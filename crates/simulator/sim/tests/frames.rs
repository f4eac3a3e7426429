//! Frames in the record, with every transport.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_media::Fragment;
use headway_record::{FlowSummary, FrameSummary};
use headway_sim::{Body, LinkEvent, Packet};
use headway_units::{Instant, MediaKind};
use std::collections::{BTreeMap, BTreeSet};

/// Every carrier, and controllers of each form of report.
const TRANSPORTS: [&str; 9] = [
    r#"kind = "udp""#,
    r#"kind = "udp", dialect = "ns2""#,
    r#"kind = "tcp-newreno""#,
    r#"kind = "tcp-sack", dialect = "linux""#,
    r#"kind = "tfrc""#,
    r#"kind = "tcp-like""#,
    r#"kind = "dccp", ccid = 2"#,
    r#"kind = "dccp", ccid = 3"#,
    r#"kind = "dccp", ccid = 3, codec = true"#,
];

const CBR: &str = r#"{ kind = "cbr", payload = "160B", interval = "20ms", media = "audio" }"#;
/// Three datagrams of 1500, 1500 and 1084 B (4000 = 1472 + 1472 + 1056), once a second.
const THREE: &str = r#"{ kind = "cbr", payload = "4000B", interval = "1s", lifetime = "500ms" }"#;

/// Runs a flow from 1 s to 9 s over a path of 10 ms, in a run of 30 s.
fn run(transport: &str, source: &str, rate: &str, loss: &str, more: &str) -> FlowSummary {
    let scenario = common::scenario(&format!(
        r#"duration = "30s"
{more}
[[link]]
between = ["a", "b"]
one_way = true
rate = "{rate}"
delay = "10ms"
queue = {{ kind = "droptail", limit = "1000packets" }}
{loss}
[[link]]
between = ["b", "a"]
one_way = true
rate = "10Mbps"
delay = "10ms"
[[flow]]
name = "call"
from = "a"
to = "b"
start = "1s"
stop = "9s"
transport = {{ {transport} }}
source = {source}
"#
    ));
    common::run(&scenario, ()).summary.flows.remove(0)
}

fn counts(frames: &FrameSummary) -> (u64, u64, Option<u64>) {
    (frames.written_frames, frames.complete_frames, frames.on_time_frames)
}

fn ordered(frames: &BTreeMap<MediaKind, FrameSummary>) {
    for frames in frames.values() {
        let (written, complete, on_time) = counts(frames);
        assert!(written >= complete && complete >= on_time.unwrap_or(0), "{frames:?}");
    }
}

/// 400 audio frames in 8 s; 80 video frames of a call, cut by the application; 200 video frames of an encoder, by
/// type. Some sizes on the wire leave no data in the last packet of a frame.
#[test]
fn without_loss_all_frames_are_complete() {
    let conference = r#"{ kind = "conference" }"#;
    let gop = r#"{ kind = "gop", i_mean = "26kB", p_mean = "5700B", b_mean = "2100B", lifetime = "5s" }"#;
    for transport in TRANSPORTS {
        let flow = run(transport, CBR, "50Mbps", "", "");
        assert_eq!(counts(&flow.frames[&MediaKind::Audio]), (400, 400, None), "{transport}");
        assert_eq!(flow.frames.len(), 1);

        let flow = run(transport, conference, "50Mbps", "", "");
        assert_eq!(flow.lost_packets.total(), 0);
        for kind in [MediaKind::Audio, MediaKind::Video] {
            let (written, complete, _) = counts(&flow.frames[&kind]);
            assert_eq!(written, complete, "{transport} {kind:?}");
        }
        assert_eq!(flow.frames[&MediaKind::Video].written_frames, 80);

        let flow = run(transport, gop, "50Mbps", "", "");
        let all: Vec<_> = flow.frames.values().map(counts).collect();
        assert_eq!(
            flow.frames.keys().copied().collect::<Vec<_>>(),
            [MediaKind::VideoI, MediaKind::VideoP, MediaKind::VideoB]
        );
        assert_eq!(all.iter().map(|(written, ..)| written).sum::<u64>(), 200, "{transport}");
        assert!(all.iter().all(|(written, complete, _)| written == complete), "{transport} {all:?}");
    }
}

#[test]
fn a_backlog_has_no_frames() {
    for transport in [TRANSPORTS[2], TRANSPORTS[4], TRANSPORTS[7]] {
        let flow = run(transport, r#"{ kind = "ftp" }"#, "1Mbps", "", "");
        assert!(flow.received_packets > 100 && flow.frames.is_empty());
    }
}

/// The loss of any packet of a frame loses this frame, and no other.
#[test]
fn a_lost_packet_loses_its_frame() {
    for transport in [TRANSPORTS[0], TRANSPORTS[5]] {
        for lost in 0..24 {
            let loss = format!(r#"loss = {{ kind = "list", packets = [{lost}] }}"#);
            let flow = run(transport, THREE, "1Mbps", &loss, "");
            assert_eq!((flow.sent_packets, flow.lost_packets.total()), (24, 1));
            let frames = &flow.frames[&MediaKind::Data];
            assert_eq!(counts(frames), (8, 7, Some(7)), "{transport} {lost}");
            assert_eq!((frames.complete_ratio, frames.on_time_ratio), (0.875, Some(0.875)));
        }
    }
}

/// 4084 B at 1 Mb/s and 10 ms: from the write to the arrival of the last of three datagrams.
#[test]
fn frame_delay_ends_with_the_last_packet() {
    let flow = run(TRANSPORTS[0], THREE, "1Mbps", "", "");
    let delay = flow.frames[&MediaKind::Data].delay_s.unwrap();
    assert_eq!((delay.mean, delay.max), (0.042_672, 0.042_672));
    // On time to the nanosecond.
    for (lifetime, on_time) in [("42672us", 8), ("42671999ns", 0)] {
        let flow = run(TRANSPORTS[0], &THREE.replace("500ms", lifetime), "1Mbps", "", "");
        assert_eq!(counts(&flow.frames[&MediaKind::Data]), (8, 8, Some(on_time)));
    }
}

/// Frames of one packet are counted like packets.
#[test]
fn a_frame_of_one_packet_is_complete_on_arrival() {
    for transport in [TRANSPORTS[0], TRANSPORTS[4], TRANSPORTS[5]] {
        let source = CBR.replace("20ms", "5ms");
        let flow = run(transport, &source, "2Mbps", r#"loss = { kind = "bernoulli", probability = 0.1 }"#, "");
        let frames = &flow.frames[&MediaKind::Audio];
        assert_eq!(frames.complete_frames, flow.received_packets, "{transport}");
        assert!(frames.complete_frames < frames.written_frames && flow.lost_packets.total() > 50);
        ordered(&flow.frames);
    }
}

/// A stream delivers all frames in the end; late data make their frame late.
#[test]
fn tcp_completes_frames_with_losses() {
    let source = r#"{ kind = "gop", i_mean = "26kB", p_mean = "5700B", b_mean = "2100B", lifetime = "60ms" }"#;
    for transport in [TRANSPORTS[2], TRANSPORTS[3]] {
        let flow = run(transport, source, "5Mbps", r#"loss = { kind = "bernoulli", probability = 0.03 }"#, "");
        assert!(flow.lost_packets.total() > 10);
        let all: Vec<_> = flow.frames.values().map(counts).collect();
        assert!(all.iter().all(|(written, complete, _)| written == complete), "{transport} {all:?}");
        assert!(all.iter().any(|(written, _, on_time)| on_time.unwrap() < *written), "{transport} {all:?}");
        ordered(&flow.frames);
    }
}

/// A frame written before the measured interval counts if its deadline is in it; without a deadline it does not
/// count. Of the frames from 1 s to 8 s, those from 3 s on are in the interval; with a lifetime of a second, those
/// from 2 s on.
#[test]
fn frames_belong_to_an_interval() {
    let measured = r#"measure_from = "3s""#;
    let forever = THREE.replace(r#", lifetime = "500ms""#, "");
    let all = |source: &str| counts(&run(TRANSPORTS[0], source, "1Mbps", "", measured).frames[&MediaKind::Data]);
    assert_eq!(all(&forever), (6, 6, None));
    assert_eq!(all(&THREE.replace("500ms", "1s")), (7, 7, Some(7)));
    assert_eq!(all(THREE), (6, 6, Some(6)));
}

/// Distinct fragments that arrived at the server, and the number of arrivals.
#[derive(Default)]
struct Arrived {
    link: usize,
    fragments: BTreeSet<(u32, u16, bool)>,
    all: usize,
}

impl common::Watcher for Arrived {
    fn link_event(&mut self, _: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if let (LinkEvent::Receive, true, Body::Dccp(dccp)) = (event, link == self.link, &packet.body)
            && let Some(Fragment { frame, index, last }) = dccp.data.fragment
        {
            self.fragments.insert((frame, index, last));
            self.all += 1;
        }
    }
}

impl Arrived {
    fn complete(&self) -> usize {
        let ends = self.fragments.iter().filter(|(.., last)| *last);
        let whole = |(frame, index, _): &&(u32, u16, bool)| {
            self.fragments.iter().filter(|(other, ..)| other == frame).count() == usize::from(*index) + 1
        };
        ends.filter(whole).count()
    }
}

/// Runs a connection through an attacker. Returns its summary, the attacker's packets, and arrivals at the server.
fn attacked(connection: &str, source: &str, attack: &str) -> (FlowSummary, u64, Arrived) {
    let scenario = common::scenario(&format!(
        r#"duration = "10s"
[[link]]
between = ["client", "router"]
rate = "10Mbps"
delay = "5ms"
[[link]]
between = ["router", "server"]
rate = "10Mbps"
delay = "20ms"
[[flow]]
name = "call"
from = "client"
to = "server"
start = "1s"
stop = "9s"
transport = {{ kind = "dccp", {connection} }}
source = {source}
[[attacker]]
name = "mallory"
at = "router"
target = "call"
on_path = true
start = "2s"
stop = "8s"
attack = {attack}
"#
    ));
    let arrived = Arrived { link: common::link(&scenario, "router->server"), ..Arrived::default() };
    let mut record = common::watch(&scenario, arrived);
    (record.summary.flows.remove(0), record.summary.attackers[0].sent_packets, record.observer)
}

/// Replayed packets complete no frame twice.
#[test]
fn replayed_packets_complete_nothing() {
    for source in [CBR, THREE] {
        let (flow, sent, arrived) = attacked("ccid = 3", source, r#"{ kind = "replay", after = "0s", copies = 10 }"#);
        let frames = flow.frames.values().next().unwrap();
        assert!(sent > 5 * frames.written_frames);
        assert_eq!(frames.complete_frames, frames.written_frames);
        assert_eq!(arrived.complete() as u64, frames.complete_frames);
    }
}

/// Overtaken packets are declared lost and retransmitted, so both copies reach the application.
#[test]
fn copies_of_the_sender_complete_no_frame_twice() {
    let connection = r#"ccid = 2 }
send_queue = { kind = "fifo", resend = true"#;
    for source in [CBR, r#"{ kind = "cbr", payload = "4000B", interval = "40ms" }"#] {
        let (flow, _, arrived) = attacked(connection, source, r#"{ kind = "reorder", delay = "200ms" }"#);
        assert!(arrived.all > arrived.fragments.len() + 10, "no fragment arrived twice");
        let frames = flow.frames.values().next().unwrap();
        assert_eq!(frames.complete_frames, arrived.complete() as u64);
        ordered(&flow.frames);
    }
}
