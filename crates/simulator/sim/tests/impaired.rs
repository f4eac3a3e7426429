//! Links with jitter, reordering, duplication and shaping.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario, shipped};
use headway_record::Summary;
use headway_sim::{Ns2Trace, Record};

/// Sends 12,375 packets of 1000 B at 1 Mb/s over 8 Mb/s and 10 ms, where each takes 11 ms and none waits.
fn udp(keys: &str) -> Record<()> {
    let text = format!(
        r#"
        duration = "100s"
        [[link]]
        between = ["a", "b"]
        rate = "8Mbps"
        delay = "10ms"
        {keys}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        stop = "99s"
        transport = {{ kind = "udp" }}
        source = {{ kind = "cbr", rate = "1Mbps", size = "1000B", lifetime = "1s" }}
        "#
    );
    run(&scenario(&text), ())
}

const SENT: u64 = 12_375;

fn delay(summary: &Summary) -> (f64, f64) {
    let delay = summary.flows[0].one_way_delay_s.as_ref().unwrap();
    (delay.mean * 1e3, delay.max * 1e3)
}

/// The mean is within five standard errors of the distribution's while packets do not meet: the gaps are 8 ms.
#[test]
fn jitter_follows_its_distribution_and_keeps_order() {
    assert_eq!(delay(&udp("").summary), (11.0, 11.0));
    let uniform = |keys: &str| udp(&format!("jitter = {{ kind = \"uniform\", most = \"8ms\"{keys} }}")).summary;
    for keys in ["", ", keeps_order = false", ", correlation = 0.5"] {
        let summary = uniform(keys);
        let (mean, max) = delay(&summary);
        let worth = if keys.contains("correlation") { 3.0 } else { 1.0 };
        let error = 8.0 / 12f64.sqrt() * (worth / SENT as f64).sqrt();
        assert!((mean - 15.0).abs() < 5.0 * error && (18.5..19.0).contains(&max), "{keys}: {mean} {max}");
        assert_eq!((summary.flows[0].received_packets, summary.links[0].reordered_packets), (SENT, 0));
    }
    // With longer jitter, packets meet; they are not reordered if order is kept.
    let jitter = |keys: &str| udp(&format!("jitter = {{ kind = \"exponential\", mean = \"10ms\"{keys} }}")).summary;
    let (kept, free) = (jitter(""), jitter(", keeps_order = false"));
    assert_eq!(kept.links[0].reordered_packets, 0);
    assert!(free.links[0].reordered_packets > SENT / 10);
    assert!(delay(&kept).0 > delay(&free).0 && delay(&free).0 > 20.0, "a packet waits for those before it");
}

/// RFC 4737 section 3.3: each fifth packet is held back by 20 ms, two and a half gaps, and so overtaken by two: a
/// fifth is reordered, except the last. Held back by 7 ms, it is not overtaken. If each fifth packet is advanced by
/// 20 ms instead, the two before it are reordered.
#[test]
fn overtaken_packets_are_reordered() {
    let reordered = |keys: &str| {
        let summary = udp(&format!("reorder = {{ {keys} }}\nreverse = {{ reorder = false }}")).summary;
        assert_eq!((summary.flows[0].received_packets, summary.links[1].reordered_packets), (SENT, 0));
        summary.links[0].reordered_packets
    };
    assert_eq!(reordered(r#"kind = "held-back", probability = 1, gap = 5, by = "20ms""#), SENT / 5 - 1);
    assert_eq!(reordered(r#"kind = "held-back", probability = 1, gap = 5, by = "7ms""#), 0);
    assert_eq!(reordered(r#"kind = "let-ahead", gap = 5, by = "20ms""#), 2 * SENT / 5);
}

/// All packets are duplicated: the copy uses link time and queue space, and the flow receives each packet once. A
/// packet counts as received if one copy arrives. With 50 % channel loss, a quarter of the packets loses both copies.
#[test]
fn a_copy_uses_queue_and_link_and_counts_once() {
    let record = udp("duplicate = { probability = 1 }");
    let (flow, link) = (&record.summary.flows[0], &record.summary.links[0]);
    assert_eq!((flow.received_packets, flow.duplicate_packets, flow.sent_packets), (SENT, SENT, SENT));
    assert_eq!((link.arrived_packets, link.duplicated_packets, link.peak_queue_packets), (SENT, SENT, 1));
    assert_eq!((link.utilisation * 1e4).round(), (2.0 * SENT as f64 / 1e5 * 1e4).round());
    assert_eq!(delay(&record.summary), (11.0, 11.0));
    assert!(
        (flow.throughput_bps - 2.0 * flow.goodput_bps * 1000.0 / 972.0).abs() < 1.0,
        "{} {}",
        flow.throughput_bps,
        flow.goodput_bps
    );
    assert!(flow.on_time_ratio.values().all(|on_time| *on_time == 1.0));
    let sum = record.conservation;
    assert_eq!((sum.sent, sum.copied, sum.delivered), (SENT, SENT, 2 * SENT));
    let lossy = udp("duplicate = { probability = 1 }\nloss = { kind = \"bernoulli\", probability = 0.5, place = \"after-transmission\" }").summary;
    let (flow, link) = (&lossy.flows[0], &lossy.links[0]);
    let lost = flow.lost_packets.total();
    assert_eq!(
        (flow.received_packets + lost, link.dropped_packets.total()),
        (SENT, 2 * SENT - flow.received_packets - flow.duplicate_packets)
    );
    // Five standard deviations of a binomial count.
    assert!((lost as f64 - SENT as f64 / 4.0).abs() < 5.0 * (SENT as f64 * 3.0 / 16.0).sqrt(), "{lost}");
}

/// RFC 2475 section 2.3.3.3: 1 Mb/s through a shaper of 500 kb/s. Half of it arrives, a packet every 16 ms after the
/// burst of three. No packet is dropped before the queue is full, and the queue grows.
#[test]
fn a_shaper_delays_and_the_queue_drops() {
    let shaper = r#"shaper = { rate = "500kbps", burst = "3000B" }"#;
    let roomy = udp(&format!("{shaper}\nqueue = {{ kind = \"droptail\", limit = \"10000packets\" }}")).summary;
    // Three from the bucket, and one per 16 ms of the 99.989 s until the last arriving packet is sent.
    assert_eq!((roomy.flows[0].received_packets, roomy.flows[0].lost_packets.total()), (3 + 6249, 0));
    let narrow = udp(&format!("{shaper}\nqueue = {{ kind = \"droptail\", limit = \"10packets\" }}")).summary;
    // Ten wait and one waits for tokens in the transmitter: at most 11 times 16 ms, and 11 ms of path.
    assert!(narrow.flows[0].lost_packets.total() > SENT / 3 && narrow.links[0].peak_queue_packets == 10);
    assert!((160.0..=187.0).contains(&delay(&narrow).1), "{:?}", delay(&narrow));
    // Below the rate, no packet is delayed.
    let below = udp(r#"shaper = { rate = "1001kbps", burst = "3000B" }"#).summary;
    assert_eq!(delay(&below), (11.0, 11.0));
}

/// The properties stated in the shipped scenario.
#[test]
fn the_shipped_link_has_the_documented_properties() {
    let record = run(&shipped("impaired.toml"), ());
    let [there, back] = &record.summary.links[..] else { panic!("a link has two directions") };
    assert_eq!((back.duplicated_packets, back.reordered_packets), (0, 0));
    let part = |count: u64| count as f64 / there.arrived_packets as f64;
    assert!((0.003..0.007).contains(&part(there.duplicated_packets)), "{}", there.duplicated_packets);
    assert!((0.005..0.011).contains(&part(there.reordered_packets)), "{}", there.reordered_packets);
    let bits: f64 = record.summary.flows.iter().map(|flow| flow.throughput_bps).sum();
    assert!(bits < 4e6 + 6e3 * 8.0 / 60.0 && bits > 3.7e6, "{bits}");
    for flow in &record.summary.flows {
        assert_eq!(flow.sent_packets, flow.received_packets + flow.lost_packets.total() + flow.in_flight_packets);
        assert!(flow.duplicate_packets > 0, "{}", flow.name);
    }
}

/// Acknowledgements are duplicated and lost like data. State of copies is freed (an assertion of the network).
#[test]
fn state_of_copied_acknowledgements_is_freed() {
    let text = r#"
        duration = "30s"
        [[link]]
        between = ["a", "b"]
        rate = "8Mbps"
        delay = "10ms"
        duplicate = { probability = 0.5 }
        loss = { kind = "bernoulli", probability = 0.02 }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "tcp-sack" }
        source = { kind = "ftp", segments = 2000 }
    "#;
    let record = run(&scenario(text), ());
    assert!(record.summary.links[1].duplicated_packets > 100);
    assert_eq!((record.conservation.in_flight, record.summary.flows[0].in_flight_packets), (0, 0));
}

/// Linux netem, `netem_enqueue`. 24,001 packets, one every 833,333 ns, meet a limit of 1000 in flight for 1 s and the
/// 1824 ns that 228 B take at 1 Gb/s. Packets 0 to 999 fill it; the first leaves at 1.000001824 s, before packet
/// 1201, so 201 are dropped, and so on: 19 rounds of 1201 and a part of 1182 drop 19 x 201 + 182.
#[test]
fn netem_drops_what_exceeds_its_limit_in_flight() {
    let summary = run(&shipped("netem-limit.toml"), ()).summary;
    let link = &summary.links[0];
    assert_eq!((link.arrived_packets, link.dropped_packets.total()), (24_001, 4001));
    assert_eq!(link.dropped_packets.of(headway_units::DropCause::QueueFull), 4001);
}

/// Mahimahi's `LinkQueue`: an opportunity of 1504 B per ms takes a packet of 1500 B and the 4 B of its TUN header.
/// Opportunities at 1 to 19,990 ms deliver by 20 s, 10 ms later; arrivals at the end of the run are not counted.
/// Without the header, 1504 of 1500 B pass per ms.
#[test]
fn mahimahi_sends_a_packet_of_1500_bytes_per_opportunity() {
    let delivered = |overhead: &str| {
        let text = format!(
            r#"
            duration = "20001ms"
            [[link]]
            between = ["a", "b"]
            capacity = "tests/data/one-per-ms.trace"
            delay = "10ms"
            {overhead}
            queue = {{ kind = "droptail", limit = "1000000packets" }}
            [[flow]]
            name = "u"
            from = "a"
            to = "b"
            transport = {{ kind = "udp", header = "0B" }}
            source = {{ kind = "cbr", rate = "30Mbps", size = "1500B" }}
            "#
        );
        run(&scenario(&text), ()).summary.flows[0].received_packets
    };
    assert_eq!(delivered(""), 19_990);
    // 19,990 x 1504 / 1500, rounded down.
    assert_eq!(delivered("overhead = \"0B\""), 20_043);
}

/// The trace of ns-2.35 with `mark_p_ 2.0` has 71,813 lines, with 886 marked packets that leave the queue, and no drop.
#[test]
fn ns2_marks_886_packets_with_mark_p_2() {
    let scenario = shipped("red-mark-p-2.toml");
    let mut trace = run(&scenario, Ns2Trace::new(&scenario)).observer;
    let trace = String::from_utf8(trace.take()).unwrap();
    let count = |what: fn(&&str) -> bool| trace.lines().filter(what).count();
    assert_eq!(count(|line| line.starts_with('-') && line.contains("E-N ")), 886);
    assert_eq!((count(|line| line.starts_with('d')), count(|_| true)), (0, 71_813));
}
