//! The choice of a send queue does not affect the receiver, which acknowledges arrivals.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_record::Summary;
use headway_units::MediaKind;

/// Runs a call in packets of one size over CCID 3 with a competing TCP, so that packets are queued, refused and lost.
fn call(queue: &str) -> Summary {
    let text = format!(
        r#"duration = "30s"
[[link]]
between = ["a", "b"]
rate = "700kbps"
delay = "40ms"
queue = {{ kind = "droptail", limit = "14packets" }}
[[flow]]
name = "rival"
from = "a"
to = "b"
transport = {{ kind = "tcp-reno" }}
source = {{ kind = "ftp" }}
[[flow]]
name = "call"
from = "a"
to = "b"
start = "2s"
transport = {{ kind = "dccp", ccid = 3 }}
send_queue = {{ kind = "{queue}", limit = "5packets" }}
source = {{ kind = "conference", audio_size = "500B", motion_mean = "2000B", motion_deviation = "0B", still_mean = "500B",
           still_deviation = "0B", video_packet = "500B" }}
"#
    );
    common::run(&common::scenario(&text), ()).summary
}

/// SFDPS is "completely sender based" (section 3). FIFO and audio first have equally many packets waiting at any
/// time. With one packet size, they differ in the contents sent only, so no event of the run may change: no report,
/// no acknowledgement, and nothing caused by them.
#[test]
fn the_receiver_cannot_detect_which_packet_was_chosen() {
    let (fifo, priority) = (call("fifo"), call("priority"));
    let on_time = |summary: &Summary, kind| summary.flows[1].on_time_ratio[&kind];
    let queue = |summary: &Summary, kind| summary.flows[1].send_queue[&kind].clone();
    assert!(queue(&fifo, MediaKind::Video).refused_packets > 100, "the queue has nothing to choose from");
    assert!(queue(&fifo, MediaKind::Audio).mean_wait_s > queue(&priority, MediaKind::Audio).mean_wait_s);
    assert!(on_time(&priority, MediaKind::Audio) > on_time(&fifo, MediaKind::Audio) + 0.02);
    assert_eq!(fifo.fingerprint, priority.fingerprint);
    let seen = |summary: &Summary| {
        let call = &summary.flows[1];
        (call.sent_packets, call.received_packets, call.rtt_s, call.throughput_bps)
    };
    assert_eq!(seen(&fifo), seen(&priority));
    assert_eq!(fifo.links, priority.links);
    // Expiry changes send times, and thus the fingerprint.
    assert_ne!(call("sfdps1").fingerprint, fifo.fingerprint);
}
