//! Early Random Drop in whole runs.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_units::DropCause;

/// A constant rate of 1.05 times the link's, p = 0.02: the share a of arrivals that finds space above the level is
/// admitted with probability 0.98, and 1.05 x 0.98 a = 1. So 1 - a = 2.818 % find a full queue, and 0.02 a = 1.944 %
/// are dropped early.
#[test]
fn an_overload_is_dropped_early_and_late() {
    let text = "duration = \"410s\"\nmeasure_from = \"10s\"\nrecord.series = false\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"2Mbps\"\ndelay = \"10ms\"\n\
                queue = { kind = \"early-random-drop\", limit = \"50packets\" }\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"2.1Mbps\", size = \"1000B\" }\n";
    let record = run(&scenario(text), ());
    let link = &record.summary.links[0];
    let drops = &link.dropped_packets;
    let arrived = record.summary.flows[0].sent_packets as f64;
    let share = |cause| drops.of(cause) as f64 / arrived;
    let admitted = 1.0 / (1.05 * 0.98);
    let (early, late) = (share(DropCause::Early), share(DropCause::QueueFull));
    // 105,000 packets: a standard deviation of 0.042 %.
    assert!((early - 0.02 * admitted).abs() < 4.0 * 0.00042, "early {early}");
    assert!((late - (1.0 - admitted)).abs() < 4.0 * 0.00042, "late {late}");
    assert!((early + late - (1.0 - 1.0 / 1.05)).abs() < 0.0005, "{early} {late}");
}
