//! Send queues with retransmission in the simulator.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::{FlowSummary, SendQueueSummary};
use headway_units::MediaKind;

/// Transports whose receivers report arrivals.
const TRANSPORTS: [&str; 2] = [r#"kind = "dccp", ccid = 2"#, r#"kind = "tcp-like""#];

/// A window that losses do not close and that need not be filled: only channel losses are missing at the receiver.
const OPEN_WINDOW: &str = r#"controller = { initial_window = "100packets", initial_window_bytes = false, min_ssthresh = "100packets", unused_window = "grows", restart_after_idle = "keep" }"#;

/// Runs a flow over a path of `delay` that loses one packet in twenty, and in the reverse direction a share `back`.
fn run(transport: &str, queue: &str, delay: &str, back: &str, source: &str) -> FlowSummary {
    let scenario = common::scenario(&format!(
        r#"duration = "200s"
[[link]]
between = ["a", "b"]
one_way = true
rate = "2Mbps"
delay = "{delay}"
loss = {{ kind = "bernoulli", probability = 0.05 }}
[[link]]
between = ["b", "a"]
one_way = true
rate = "2Mbps"
delay = "{delay}"
loss = {{ kind = "bernoulli", probability = {back} }}
[[flow]]
name = "call"
from = "a"
to = "b"
transport = {{ {transport} }}
send_queue = {queue}
source = {source}
"#
    ));
    let mut record = common::run(&scenario, ());
    record.summary.flows.remove(0)
}

/// Runs a telephone call: a packet every 20 ms with a lifetime of 200 ms.
fn call(transport: &str, resend: bool, delay: &str) -> FlowSummary {
    let queue = format!(r#"{{ kind = "sfdps2", resend = {resend} }}"#);
    run(
        &format!("{transport}, {OPEN_WINDOW}"),
        &queue,
        delay,
        "0.0",
        r#"{ kind = "cbr", media = "audio", payload = "160B", interval = "20ms", lifetime = "200ms" }"#,
    )
}

fn audio(flow: &FlowSummary) -> (f64, &SendQueueSummary) {
    (flow.on_time_ratio[&MediaKind::Audio], &flow.send_queue[&MediaKind::Audio])
}

/// A round trip of 40 ms and a lifetime of 200 ms allow one retransmission: the loss is detected after three more
/// packets, 60 ms. The channel alone delivers 0.95, and with one retransmission 0.9975.
#[test]
fn retransmissions_arrive_on_time_with_short_round_trips() {
    for transport in TRANSPORTS {
        let (without, with) = (call(transport, false, "20ms"), call(transport, true, "20ms"));
        let (before, queue) = audio(&without);
        assert_eq!((queue.returned_packets, queue.lost_late_packets), (0, 0));
        let (after, queue) = audio(&with);
        println!("{transport}: {before} on time, {after} with resending; {queue:?}");
        assert!((0.93..0.96).contains(&before), "{transport}: {before}");
        assert!((0.985..=1.0).contains(&after), "{transport}: {after}");
        // One in twenty of 10,000, and one in twenty of the retransmissions.
        assert!((450..600).contains(&(queue.returned_packets + queue.lost_late_packets)), "{transport}: {queue:?}");
    }
}

/// With a round trip of 300 ms, losses are detected after the packet has expired: no packet is retransmitted.
#[test]
fn no_retransmission_is_sent_with_long_round_trips() {
    for transport in TRANSPORTS {
        let (without, mut with) = (call(transport, false, "150ms"), call(transport, true, "150ms"));
        let queue = with.send_queue.get_mut(&MediaKind::Audio).unwrap();
        println!("{transport}: {queue:?}");
        assert!(queue.lost_late_packets > 300, "{transport}: {queue:?}");
        queue.lost_late_packets = 0;
        assert_eq!(with, without, "{transport}");
    }
}

/// These paths keep the order, so no packet that arrived is retransmitted: data without deadline arrive exactly once.
/// Acknowledgements are lost as often as data. The source stops 20 s before the end, so that a timeout near the end
/// leaves no packet in the queue.
#[test]
fn no_packet_arrives_twice() {
    for transport in TRANSPORTS {
        let queue = r#"{ kind = "fifo", limit = "100000packets", resend = true }"#;
        let source = "{ kind = \"cbr\", media = \"audio\", payload = \"160B\", interval = \"20ms\" }\nstop = \"180s\"";
        let flow = run(transport, queue, "20ms", "0.05", source);
        let queue = &flow.send_queue[&MediaKind::Audio];
        let arrived = (flow.goodput_bps * 200.0 / 8.0 / 160.0).round() as u64;
        println!("{transport}: {arrived} arrived; {queue:?}");
        assert!(queue.returned_packets > 300, "{transport}: {queue:?}");
        assert_eq!(queue.lost_late_packets, 0);
        assert_eq!(arrived, queue.written_packets, "{transport}: {queue:?}");
        // Each packet written or returned has left the queue or is still in it.
        let (into, out) = (queue.written_packets + queue.returned_packets, queue.sent_packets);
        assert!(out <= into && into <= out + 20, "{transport}: {queue:?}");
    }
}
