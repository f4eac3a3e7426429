//! Packet-by-packet agreement with ns-2.35: the TCP cases in the whole simulator. The recorded runs are those of the
//! TCP crate, `crates/simulator/tcp/tests/data`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
#[path = "../../tcp/tests/path/recorded.rs"]
mod recorded;

use common::{bottleneck, calibration, run, summary_of};
use headway_sim::{Body, LinkEvent, Packet};
use headway_tcp::Sender;
use headway_units::Instant;
use recorded::{Case, first_difference};

#[derive(Debug, Default)]
struct Recorder {
    bottleneck: usize,
    last: usize,
    /// Times in ns, and segment numbers.
    drops: Vec<(u64, i64)>,
    received: Vec<(u64, i64)>,
    windows: Vec<(u64, f64, f64)>,
}

impl common::Watcher for Recorder {
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        let Body::Tcp(tcp) = &packet.body else { panic!("only TCP is sent") };
        let seen = (now.as_nanos(), tcp.segment(packet).ns2_number());
        if event == LinkEvent::Drop {
            assert_eq!(link, self.bottleneck);
            self.drops.push(seen);
        }
        if event == LinkEvent::Receive && link == self.last {
            self.received.push(seen);
        }
    }

    fn window(&mut self, now: Instant, _: usize, sender: &Sender) {
        self.windows.push((now.as_nanos(), sender.cwnd(), sender.ssthresh()));
    }
}

fn check(name: &str, recorded: &str) {
    let case = Case::read(recorded);
    let scenario = calibration(name);
    let recorder =
        Recorder { bottleneck: bottleneck(&scenario), last: common::link(&scenario, "n2->n3"), ..Recorder::default() };
    let record = common::watch(&scenario, recorder);
    let seen = &record.observer;
    assert_eq!(first_difference(&seen.drops, &case.drops, 2), None, "drops");
    assert_eq!(first_difference(&seen.received, &case.received, 2), None, "receptions");
    for &(at, cwnd, ssthresh) in &case.window {
        // ns-2 prints the nearest 10 us; the next change is at least the 32 us of an acknowledgement later.
        let ours = seen.windows[seen.windows.partition_point(|window| window.0 <= at * 10_000 + 6_000) - 1];
        // ns-2 prints three decimals of cwnd.
        assert!((ours.1 - cwnd).abs() <= 0.000_500_1 && ours.2 == ssthresh, "{ours:?}, ns-2 {at} {cwnd} {ssthresh}");
    }
    let theirs = summary_of(name);
    let flow = &record.summary.flows[0];
    assert_eq!(flow.sent_packets, theirs.count("sent"));
    assert_eq!(flow.received_packets, theirs.count("received"));
    assert_eq!(flow.lost_packets.total(), theirs.count("dropped"));
    assert_eq!(flow.retransmitted_packets, Some(theirs.count("retransmitted")));
    let delay_ms = flow.one_way_delay_s.unwrap().mean * 1e3;
    // ns-2's is a mean of times rounded to 1 us.
    assert!((delay_ms - theirs.number("delay_mean_ms")).abs() < 1e-3, "{delay_ms}");
    let waiting = record.summary.links[bottleneck(&scenario)].peak_queue_packets;
    assert_eq!(waiting, theirs.count("queue_peak_waiting_pkts"));
    // Without an observer, with one event per packet, the summary is the same.
    assert_eq!(run(&scenario, ()).summary, record.summary);
}

macro_rules! cases {
    ($($test:ident $case:literal $recorded:literal),+ $(,)?) => {$(
        #[test]
        fn $test() {
            check($case, include_str!(concat!("../../tcp/tests/data/ns2-", $recorded, ".txt")));
        }
    )+};
}

cases! {
    tahoe_in_a_short_queue "tcp-Tahoe-q20" "tahoe-q20",
    tahoe_in_a_window_of_30 "tcp-Tahoe-q20-win30" "tahoe-q20-win30",
    reno_in_a_short_queue "tcp-Reno-q20" "reno-q20",
    reno_in_a_window_of_30 "tcp-Reno-q20-win30" "reno-q20-win30",
    newreno_in_a_short_queue "tcp-Newreno-q20" "newreno-q20",
    newreno_in_a_window_of_30 "tcp-Newreno-q20-win30" "newreno-q20-win30",
    sack_in_a_short_queue "tcp-Sack1-q20" "sack1-q20",
    sack_in_a_window_of_30 "tcp-Sack1-q20-win30" "sack1-q20-win30",
    reno_without_loss "tcp-Reno-noloss-win15" "reno-noloss-win15",
    reno_sends_100_segments_with_timeouts "tcp-Reno-100seg" "reno-100seg",
    reno_with_delayed_acknowledgements "tcp-Reno-delack-q20" "reno-delack-q20",
}
