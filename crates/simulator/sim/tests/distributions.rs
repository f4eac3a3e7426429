//! Distributions of packet and frame delays.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};

/// 1000 B with the IP header every 10 ms over 1 Mb/s and 5 ms: 8 ms of transmission, 13 ms in total, for each of the
/// 100 packets of a second but the last, which is sent at 990 ms and would arrive at 1003 ms. The other flow sends
/// nothing.
const STEADY: &str = r#"
    duration = "1s"
    record = { distributions = DISTRIBUTIONS, series = false }
    [[link]]
    between = ["a", "b"]
    rate = "1Mbps"
    delay = "5ms"
    [[flow]]
    name = "steady"
    from = "a"
    to = "b"
    transport = { kind = "udp" }
    source = { kind = "cbr", interval = "10ms", size = "1000B" }
    [[flow]]
    name = "silent"
    from = "a"
    to = "b"
    start = "999ms"
    transport = { kind = "udp" }
    source = { kind = "cbr", interval = "1s", size = "1000B" }
"#;

#[test]
fn distributions_contain_every_packet_and_do_not_change_the_run() {
    let of = |kept: &str| run(&scenario(&STEADY.replace("DISTRIBUTIONS", kept)), ());
    let (without, with) = (of("false"), of("true"));
    assert_eq!(without.summary, with.summary);
    assert_eq!(without.distributions, None);
    let flows = with.distributions.unwrap().flows;
    assert_eq!(flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(), ["steady", "silent"]);
    let delays = flows[0].one_way_delay_s.as_ref().unwrap();
    assert_eq!((delays.of, &delays.bins), (99, &vec![(0.013, 99)]));
    assert_eq!(flows[1].one_way_delay_s, None);
    // Each packet is a frame: 100 are written, and 99 complete.
    let frames: Vec<_> = flows[0].frame_delay_s.values().collect();
    assert_eq!((frames.len(), frames[0].of, &frames[0].bins), (1, 100, &vec![(0.013, 99)]));
}
