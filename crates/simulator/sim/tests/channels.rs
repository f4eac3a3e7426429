//! Channels with bursts of losses, losses from a file, and losses in one direction only.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario_with_shipped_files};
use headway_record::Summary;
use headway_units::DropCause;

/// Sends 12,500 packets of 1000 B in each direction, at 1 Mb/s for 100 s.
fn both_ways(link: &str) -> Summary {
    let flow = |name, from, to| {
        format!(
            r#"
[[flow]]
name = "{name}"
from = "{from}"
to = "{to}"
transport = {{ kind = "udp" }}
source = {{ kind = "cbr", rate = "1Mbps", size = "1000B" }}
"#
        )
    };
    let text = format!(
        "duration = \"100s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"10ms\"\n{link}\n{}{}",
        flow("there", "a", "b"),
        flow("back", "b", "a")
    );
    run(&scenario_with_shipped_files(&text), ()).summary
}

/// Returns the losses of each direction, all of them in the channel.
fn lost(link: &str) -> [u64; 2] {
    let summary = both_ways(link);
    let [there, back] = &summary.links[..] else { panic!("two directions") };
    [there, back].map(|link| {
        assert_eq!(link.arrived_packets, 12_500);
        assert_eq!(link.dropped_packets.of(DropCause::Channel), link.dropped_packets.total());
        link.dropped_packets.total()
    })
}

/// `media/losses.txt` loses packets 73 to 76 of 200. 12,500 packets repeat it 62 times, and its first half once more.
const FILE: &str = r#"loss = { kind = "trace", file = "media/losses.txt" }"#;
const FILE_LOSES: u64 = 62 * 4 + 4;

#[test]
fn losses_are_configured_per_direction() {
    assert_eq!(lost(""), [0, 0]);
    assert_eq!(lost(FILE), [FILE_LOSES, FILE_LOSES]);
    assert_eq!(lost(&format!("{FILE}\nreverse = {{ loss = false }}")), [FILE_LOSES, 0]);
    assert_eq!(lost(&format!("reverse = {{ {FILE} }}")), [0, FILE_LOSES]);
    let other = r#"reverse = { loss = { kind = "periodic", every = 100 } }"#;
    assert_eq!(lost(&format!("{FILE}\n{other}")), [FILE_LOSES, 124]);
}

/// 12,500 packets at 2 % in bursts of 4: 250, deviation sqrt(12500 * 0.0196 * (1 + g) / (1 - g)) = 41 with g = 0.7449
/// (1 minus 0.25 and 0.0051). Each direction has its own random stream.
#[test]
fn bursts_of_losses_have_a_state_per_direction() {
    let [there, back] =
        lost(r#"loss = { kind = "gilbert-elliott", mean = "2%", run = 4, place = "after-transmission" }"#);
    assert!(there.abs_diff(250) < 5 * 41 && back.abs_diff(250) < 5 * 41, "{there} {back}");
    assert_ne!(there, back);
}

/// Losses within a round trip are one loss event (RFC 5348 section 5.2): TFRC sends faster if losses are in bursts.
#[test]
fn tfrc_counts_a_burst_of_losses_as_one_event() {
    let summary = run(&common::shipped("channels.toml"), ()).summary;
    let [alone, runs, half, file] = &summary.flows[..] else { panic!("four flows") };
    for flow in [alone, runs, half, file] {
        // 14,000 packets with single losses, 29,000 with bursts: deviations 0.0012, and at most 0.0022.
        assert!((flow.loss_ratio - 0.02).abs() < 5.0 * 0.0022, "{} {}", flow.name, flow.loss_ratio);
    }
    for flow in [runs, half, file] {
        assert!(flow.throughput_bps > 1.5 * alone.throughput_bps, "{} {}", flow.name, flow.throughput_bps);
    }
}
