//! Send queues between a source and a rate controller.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_sim::{Body, LinkEvent, Packet, RoundTrip};
use headway_units::{Duration, Instant, MediaKind};

fn call(transport: &str, queue: &str) -> String {
    format!(
        r#"
duration = "31s"
measure_from = "2s"
record.series = false
[[link]]
between = ["a", "b"]
rate = "400kbps"
delay = "40ms"
queue = {{ kind = "droptail", limit = "10packets" }}
[[flow]]
name = "call"
from = "a"
to = "b"
stop = "30s"
transport = {{ {transport} }}
send_queue = {{ {queue} }}
source = {{ kind = "conference", random_start = true }}
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = {{ kind = "tcp-reno", segment = "571B" }}
source = {{ kind = "ftp" }}
"#
    )
}

/// Counts media packets that leave too late to arrive by their deadline, by half of the round trip that the
/// controller knows, or of the smallest one if no packet has left for two round trips.
#[derive(Default)]
struct Expired {
    round_trip: Duration,
    smallest: Option<Duration>,
    left: Instant,
    sent: u64,
    expired: u64,
}

impl common::Watcher for Expired {
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        let deadline = match &packet.body {
            Body::Numbered(datagram) if datagram.data.payload > 0 => datagram.data.deadline,
            Body::Dccp(dccp) if dccp.data.payload > 0 => dccp.data.deadline,
            _ => return,
        };
        if link == 0 && event == LinkEvent::Enqueue && deadline != Instant::FAR_FUTURE {
            let silent = now.since(self.left) > self.round_trip * 2;
            let known = self.smallest.filter(|_| silent).unwrap_or(self.round_trip);
            self.left = now;
            self.sent += 1;
            self.expired += u64::from(now + known / 2 > deadline);
        }
    }

    fn round_trip(&mut self, _: Instant, flow: usize, trip: RoundTrip) {
        if let (0, Some(smoothed)) = (flow, trip.smoothed) {
            self.round_trip = smoothed;
            self.smallest = Some(self.smallest.map_or(trip.sample, |smallest| smallest.min(trip.sample)));
        }
    }
}

/// "If expiry < now + RTT/2 discard it" (SFDPS section 3): no packet expired at now + RTT/2 leaves, unless the scheme
/// requires it, over every carrier and controller.
#[test]
fn no_expired_packet_leaves() {
    let expired = |transport: &str, queue: &str| {
        let record = common::watch(&common::scenario(&call(transport, queue)), Expired::default());
        let Expired { sent, expired, .. } = record.observer;
        assert!(sent > 700, "{transport} {queue}: only {sent} were sent");
        expired
    };
    for transport in [
        "kind = \"tfrc\"",
        "kind = \"tcp-like\"",
        "kind = \"dccp\", ccid = 2",
        "kind = \"dccp\", ccid = 3",
        "kind = \"dccp\", ccid = 4",
    ] {
        for queue in ["sfdps1", "edf"] {
            assert_eq!(expired(transport, &format!("kind = \"{queue}\"")), 0, "{transport} {queue}");
        }
        assert!(expired(transport, "kind = \"fifo\"") > 50, "{transport}: the load does not test the queues");
        for queue in ["sfdps2", "sure-first"] {
            let last = expired(transport, &format!("kind = \"{queue}\""));
            assert!(last < 50, "{transport} {queue}: {last} were sent without better ones");
        }
    }
}

/// Every packet of the application is sent, discarded or still queued; packets on time or late were written.
#[test]
fn every_packet_has_one_fate() {
    for queue in ["fifo", "prio", "sfdps1", "sfdps2", "ring", "ring-sfdps2", "patient", "sure-first", "edf"] {
        let text = call("kind = \"dccp\", ccid = 3", &format!("kind = \"{queue}\", limit = \"5packets\""));
        let record = common::run(&common::scenario(&text.replace("measure_from = \"2s\"", "")), ());
        let flow = &record.summary.flows[0];
        assert_eq!(flow.send_queue[&MediaKind::Audio].written_packets, 1500, "{queue}");
        let mut unsent = 0;
        for (kind, fates) in &flow.send_queue {
            let finished = fates.sent_packets + fates.unsent_packets();
            assert!(
                finished <= fates.written_packets && finished + 5 >= fates.written_packets,
                "{queue} {kind}: {fates:?}"
            );
            assert!(fates.late_packets <= fates.unsent_packets() && fates.expired_packets <= fates.late_packets);
            unsent += fates.unsent_packets();
            let shares = flow.on_time_ratio[kind] + flow.late_ratio[kind];
            let sent = fates.sent_packets as f64 / fates.written_packets as f64;
            assert!(shares <= sent + 1e-9, "{queue} {kind}: {shares} arrived of {sent}");
        }
        assert!(unsent > 100, "{queue}: the load does not test the queue");
        assert_eq!(unsent, flow.unsent_packets());
    }
}

/// UDP and TCP have no send queue. A configured one is validated and causes a warning.
#[test]
fn udp_and_tcp_have_no_send_queue() {
    let load = |text: &str| headway_scenario::load("test.toml", text, &[], &headway_scenario::NoFiles);
    for transport in ["kind = \"udp\"", "kind = \"tcp-reno\""] {
        let loaded = load(&call(transport, "kind = \"sfdps2\"")).unwrap();
        let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
        let expected = "only a transport with a rate controller uses a send queue";
        assert!(warning.to_string().contains(expected), "{warning}");
        assert!(!loaded.resolved_toml.contains("send_queue"));
        let error = load(&call(transport, "kind = \"sfpds2\"")).unwrap_err().to_string();
        assert!(error.contains("did you mean \"sfdps2\""), "{error}");
    }
    assert_eq!(load(&call("kind = \"tfrc\"", "kind = \"sfdps2\"")).unwrap().warnings, []);
}

/// SFDPS section 4.3: the method of a message selects the algorithm, in the single queue of its flow. If all messages
/// have the same method, they are sent as in a queue of that kind. With SFDPS2, audio in a queue of unmodified DCCP
/// does not wait for video.
#[test]
fn sfdps_4_3_methods_by_kind_of_media() {
    let flow = |queue: &str| {
        let record = common::run(&common::scenario(&call("kind = \"dccp\", ccid = 3", queue)), ());
        record.summary.flows[0].clone()
    };
    for kind in ["sfdps1", "sfdps2", "ring", "ring-sfdps2", "patient", "edf"] {
        let own = flow(&format!("kind = \"{kind}\", limit = \"5packets\""));
        let methods = format!("methods = {{ audio = \"{kind}\", video = \"{kind}\" }}");
        assert_eq!(flow(&format!("kind = \"fifo\", limit = \"5packets\", {methods}")), own, "{kind}");
    }
    let on_time = |queue: &str| flow(queue).on_time_ratio[&MediaKind::Audio];
    let (plain, sound) = (on_time("kind = \"fifo\""), on_time("kind = \"fifo\", methods = { audio = \"sfdps2\" }"));
    assert!(sound > plain, "{sound} of the audio is on time, and {plain} without its method");
}
