//! The source `encoder` (RFC 8593) over rate controllers, and its record.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
use headway_record::FlowSummary;
use headway_units::MediaKind;

/// Runs an encoder from 1 s to 29 s over a path of 25 ms whose rate falls from 1.5 Mb/s to 300 kb/s at 15 s.
fn run(transport: &str, keys: &str) -> FlowSummary {
    let scenario = common::scenario(&format!(
        r#"duration = "40s"
dialect = "rfc"
[[link]]
name = "access"
between = ["camera", "viewer"]
rate = "1.5Mbps"
delay = "25ms"
queue = {{ kind = "droptail", limit = "60packets" }}
changes = [{{ at = "15s", rate = "300kbps" }}]
[[flow]]
name = "video"
from = "camera"
to = "viewer"
start = "1s"
stop = "29s"
transport = {{ {transport} }}
source = {{ kind = "encoder", {keys} }}
send_queue = {{ kind = "fifo", limit = "1000packets" }}
"#
    ));
    common::run(&scenario, ()).summary.flows.remove(0)
}

/// Each captured frame is written or skipped, and only complete frames are displayed.
#[test]
fn rfc8593_4_captured_frames_are_written_or_skipped() {
    for transport in [
        "kind = \"scream2\"",
        "kind = \"prague\", ecn = true",
        "kind = \"tfrc\"",
        "kind = \"udpm\"",
        "kind = \"dccp\", ccid = 3",
    ] {
        for (keys, skips) in [("lifetime = \"10s\"", false), ("skip_above = \"200ms\"", true)] {
            let flow = run(transport, keys);
            let (encoder, frames) = (flow.encoder.as_ref().unwrap(), &flow.frames[&MediaKind::Video]);
            let display = flow.display.as_ref().unwrap();
            assert_eq!(encoder.captured_frames, frames.written_frames + encoder.skipped_frames, "{transport}");
            assert!(encoder.skipped_frames == 0 || skips, "{transport}: {encoder:?}");
            assert!(display.displayed_frames <= frames.complete_frames, "{transport}: {display:?}");
            // 28 s with a frame each 33.3 ms: the standard deviation of the number is sqrt(840) * 0.21 = 6.
            assert!(encoder.captured_frames.abs_diff(840) < 30, "{transport}: {encoder:?}");
            assert!(encoder.rate_changes > 10 && encoder.bursts <= encoder.rate_changes, "{transport}: {encoder:?}");
            // 28 s are 140 reaction times of 200 ms.
            assert!(encoder.rate_changes <= 140, "{transport}: {encoder:?}");
        }
    }
}

/// After the fall of the capacity, an encoder that skips frames keeps the delay short at the cost of gaps.
#[test]
fn rfc8593_4_skipped_frames_shorten_the_delay() {
    let [all, skipping] = ["lifetime = \"10s\"", "lifetime = \"10s\", skip_above = \"200ms\""]
        .map(|keys| run("kind = \"scream2\"", keys));
    let delay = |flow: &FlowSummary| flow.frames[&MediaKind::Video].delay_s.unwrap().max;
    assert!(delay(&skipping) < delay(&all), "{} and {}", delay(&skipping), delay(&all));
    assert!(skipping.encoder.unwrap().skipped_frames > 0);
    // The queue of the link alone holds 60 packets, 2 s at 300 kb/s.
    assert!(all.display.unwrap().freezes > Some(0));
}

/// A path that is fast enough: the encoder reaches its maximum rate, and the mean is within five standard deviations of
/// 600 sizes and intervals.
#[test]
fn rfc8593_5_4_the_encoder_reaches_its_maximum_rate() {
    let text = r#"duration = "40s"
measure_from = "20s"
dialect = "rfc"
[[link]]
between = ["camera", "viewer"]
rate = "10Mbps"
delay = "25ms"
[[flow]]
name = "video"
from = "camera"
to = "viewer"
transport = { kind = "scream2" }
source = { kind = "encoder" }
send_queue = { kind = "fifo", limit = "100packets" }
"#;
    let flow = common::run(&common::scenario(text), ()).summary.flows.remove(0);
    let ratio = flow.goodput_bps / 1.5e6;
    assert!((ratio - 1.0).abs() < 5.0 * 0.3 / 600f64.sqrt(), "{ratio}");
    let (encoder, display) = (flow.encoder.unwrap(), flow.display.unwrap());
    assert_eq!((encoder.rate_changes, encoder.bursts, display.freezes), (0, 0, Some(0)));
    assert_eq!((flow.loss_ratio, encoder.skipped_frames), (0.0, 0));
}
