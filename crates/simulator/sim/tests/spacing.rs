//! Packet spacing over DCCP: a sender that starts at its line rate, before any feedback.

#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::scenario;

fn goodput_bps(text: &str) -> f64 {
    common::run(&scenario(text), ()).summary.flows[0].goodput_bps
}

/// RFC 4340 section 7.5.2: the Sequence Window must cover the packets of a round trip. It starts at 100 packets, and
/// 100 Mb/s send more within 12 ms: half of it is used before the first acknowledgement arrives. Gaps include the
/// transmission of a packet with its option (no queue grows at the sender's link).
#[test]
fn the_sequence_window_follows_a_high_initial_rate() {
    for (dialect, delay_ms, silence) in [
        ("rfc", 1, 4),
        ("rfc", 10, 4),
        ("rfc", 40, 4),
        ("rfc", 100, 4),
        ("rfc", 100, 0),
        ("ns2", 10, 0),
        ("ns2", 100, 0),
        ("linux", 40, 4),
    ] {
        let text = |trunk: &str| {
            format!(
                "duration = \"10s\"\nmeasure_from = \"4s\"\ndialect = \"{dialect}\"\nrecord.series = false\n\
                 [[link]]\nbetween = [\"a\", \"r\"]\nrate = \"100Mbps\"\ndelay = \"2ms\"\n\
                 [[link]]\nbetween = [\"r\", \"b\"]\nrate = \"{trunk}\"\ndelay = \"{delay_ms}ms\"\n\
                 [[flow]]\nname = \"m\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ kind = \"ftp\" }}\n\
                 transport = {{ kind = \"dccp\", ccid = 249, controller = {{ silence = {silence} }}, connection = {{ line_rate = \"100Mbps\" }} }}\n"
            )
        };
        let clean = goodput_bps(&text("1Gbps"));
        assert!(clean > 96e6, "{dialect}, {delay_ms} ms, silence {silence}: {clean} of 97 Mb/s");
        let crowded = goodput_bps(&text("10Mbps"));
        assert!(crowded > 4e6, "{dialect}, {delay_ms} ms, silence {silence}, 10 Mb/s: {crowded}");
        let queue = common::run(&scenario(&text("1Gbps")), ()).summary.links[0].mean_queue_packets;
        assert!(queue < 2.0, "{dialect}, {delay_ms} ms: {queue} packets wait before the line");
    }
}

/// "Packet spacing", figure 3: rate = 8 s / (tx + ts), over DCCP with CCID 252, also for more packets than the first
/// Sequence Window covers. 1440 B of data with 16 B of DCCP and 20 B of IPv4 take 118.08 us at 100 Mb/s. CCID 253
/// determines the rate of the same path by the equation.
#[test]
fn packet_spacing_figure_3_over_dccp() {
    let text = |ccid: u8, controller: &str, connection: &str| {
        format!(
            "duration = \"6s\"\nmeasure_from = \"1s\"\ndialect = \"rfc\"\nrecord.series = false\n\
             [[link]]\nbetween = [\"a\", \"b\"]\nrate = \"100Mbps\"\ndelay = \"20ms\"\nqueue = {{ kind = \"droptail\", limit = \"50packets\" }}\n\
             [[flow]]\nname = \"m\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ kind = \"ftp\" }}\n\
             transport = {{ kind = \"dccp\", ccid = {ccid}, controller = {{ {controller} }}, connection = {{ {connection} }} }}\n"
        )
    };
    for gap_us in [0, 500, 3000] {
        let found = goodput_bps(&text(252, &format!("spacing = \"{gap_us}us\""), "line_rate = \"100Mbps\""));
        let expected = 8.0 * 1440.0 / ((118.08 + f64::from(gap_us)) * 1e-6);
        assert!((found / expected - 1.0).abs() < 0.001, "{gap_us} us: {found} of {expected}");
    }
    assert!(goodput_bps(&text(253, "", "")) > 50e6);
}
