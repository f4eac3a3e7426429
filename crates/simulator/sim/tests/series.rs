//! Time series, compared with sums computed by hand and paths with known properties.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{SeriesTable, metric};

/// Returns the samples of metrics of entities.
fn samples(text: &str, wanted: &[(&str, &str)]) -> Vec<Vec<f64>> {
    let mut record = run(&scenario(text), ());
    let mut bytes = Vec::new();
    record.series.take().unwrap().finish(&mut bytes).unwrap();
    let table = SeriesTable::from_ipc(&bytes).unwrap();
    let of = |(entity, metric): &(&str, &str)| table.samples(entity, metric).iter().map(|(_, value)| *value).collect();
    wanted.iter().map(of).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// 1250 B every 5.076 ms (10,000 bits at 1.97 Mb/s) into a link that needs 10 ms for each and has space for 5, with
/// 15 ms to the far end; a sample every 104 ms. No packet arrives when another leaves.
///
/// Once the queue is full, 4 packets wait from a departure to the next arrival, otherwise 5. The last departures
/// before 104, 208 and 312 ms are at 100, 200 and 310 ms, the next arrivals at 101.5, 203.0 and 314.7 ms: 5, 5 and 4
/// wait. By then 21, 41 and 62 packets have arrived, and the transmission of 11, 21 and 32 has begun: 5, 15 and 26
/// are dropped. A link's throughput counts packets whose transmission has begun; 8, 19 and 29 have reached the far
/// end; each has 10,000 bits.
#[test]
fn an_overloaded_link_by_hand() {
    let text = r#"
        duration = "320ms"
        record = { series = "104ms" }
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "15ms"
        queue = { kind = "droptail", limit = "5packets" }
        by_flow = true
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "1.97Mbps", size = "1250B" }
    "#;
    let found = samples(
        text,
        &[
            ("a->b", metric::QUEUE),
            ("a->b", metric::DROPPED),
            ("f", metric::LOSS),
            ("a->b", metric::THROUGHPUT),
            ("f", metric::THROUGHPUT),
            ("a->b", metric::ARRIVED),
            ("a->b/f", metric::ARRIVED),
            ("a->b/f", metric::DROPPED),
        ],
    );
    let rates = |packets: [f64; 3]| packets.map(|packets| packets * 10_000.0 / 0.104);
    let (offered, dropped) = ([21.0, 41.0, 62.0], [5.0, 15.0, 26.0]);
    let (left, arrived) = (rates([11.0, 10.0, 11.0]), rates([8.0, 11.0, 10.0]));
    let expected = [[5.0, 5.0, 4.0], dropped, dropped, left, arrived, offered, offered, dropped];
    for (found, expected) in found.iter().zip(expected) {
        let near = found[..3].iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6 * expected);
        assert!(near, "{found:?} is not {expected:?}");
    }
}

/// TFRC over `agent` and as CCID 3, over a round trip of 20 ms that loses each hundredth packet: the measured round
/// trip is little more than 20 ms, the loss event rate 1 in 100, and the allowed rate, in bit/s on arrival, is the
/// rate sent.
#[test]
fn a_controller_on_a_known_path() {
    for transport in [r#"{ kind = "tfrc" }"#, r#"{ kind = "dccp", ccid = 3 }"#] {
        let text = format!(
            r#"
        duration = "60s"
        [[link]]
        between = ["a", "b"]
        rate = "100Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "100packets" }}
        loss = {{ kind = "periodic", every = 100 }}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = {transport}
        source = {{ kind = "ftp" }}
    "#
        );
        let found = samples(
            &text,
            &[
                ("f", metric::RTT),
                ("f", metric::LOSS_EVENT_RATE),
                ("f", metric::ALLOWED_RATE),
                ("f", metric::THROUGHPUT),
            ],
        );
        let [rtt, loss_events, allowed, throughput] =
            [0, 1, 2, 3].map(|of: usize| mean(&found[of][found[of].len() / 2..]));
        assert!((0.020..0.0205).contains(&rtt), "{transport}: {rtt} s");
        assert!((loss_events - 0.01).abs() < 0.001, "{transport}: {loss_events}");
        assert!((throughput / allowed - 1.0).abs() < 0.05, "{transport}: {throughput} of {allowed}");
    }
}

/// Reno halves: at each loss, the threshold becomes half the window, and the window returns to it. In congestion
/// avoidance, the window is at least the threshold.
#[test]
fn a_window_and_its_threshold() {
    let text = r#"
        duration = "60s"
        record = { series = "10ms" }
        [[link]]
        between = ["a", "b"]
        rate = "100Mbps"
        delay = "10ms"
        queue = { kind = "droptail", limit = "1000packets" }
        loss = { kind = "periodic", every = 1000 }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "tcp-newreno" }
        source = { kind = "ftp" }
    "#;
    let found = samples(text, &[("f", metric::CWND), ("f", metric::SSTHRESH)]);
    let (windows, thresholds) = (&found[0][3000..], &found[1][3000..]);
    let (highest, threshold) = (windows.iter().copied().fold(0.0, f64::max), mean(thresholds));
    // W^2 grows by 2 per segment from (W/2)^2 in 1000 segments less a recovery: W = sqrt(2000 / 0.75) = 51.6 at most.
    assert!((47.0..51.7).contains(&highest), "{highest}");
    assert!((threshold / (highest / 2.0) - 1.0).abs() < 0.06, "{threshold} for {highest}");
    assert!(thresholds.iter().all(|one| (one - threshold).abs() < 2.0));
}

/// A queue that RED keeps between its thresholds, in packets.
#[test]
fn the_average_of_red_is_in_packets() {
    let text = r#"
        duration = "60s"
        [[link]]
        between = ["a", "b"]
        rate = "1Mbps"
        delay = "1ms"
        queue = { kind = "red", limit = "1000packets", min_threshold = "5packets", max_threshold = "10packets",
                  queue_weight = 0.01, gentle = false }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "4Mbps", size = "500B" }
    "#;
    let found = samples(text, &[("a->b", metric::RED_AVERAGE), ("a->b", metric::QUEUE)]);
    let [average, queue] = [0, 1].map(|of: usize| mean(&found[of][found[of].len() / 2..]));
    // Four packets arrive for each that leaves: the admitted ones raise the average to the upper threshold.
    assert!((9.0..11.0).contains(&average), "{average}");
    assert!((average / queue - 1.0).abs() < 0.1, "{average} of {queue}");
}

/// Rate and delay of a link with changes: its mean rate between two samples, and its delay at the sample. A link
/// without changes has no such series.
#[test]
fn a_link_with_changes_has_rate_and_delay() {
    let text = r#"
        duration = "4s"
        record = { series = "1s" }
        [[link]]
        between = ["a", "b"]
        rate = "8Mbps"
        delay = "10ms"
        changes = [{ at = "500ms", rate = "0bps" }, { at = "2s", rate = "2Mbps" }, { at = "2500ms", delay = "40ms" }]
        reverse = { changes = [] }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "1Mbps", size = "500B" }
    "#;
    let names = [metric::LINK_RATE, metric::LINK_DELAY];
    let [forth, back] = ["a->b", "b->a"].map(|link| samples(text, &names.map(|name| (link, name))));
    assert_eq!(forth, [vec![4e6, 0.0, 2e6, 2e6], vec![0.01, 0.01, 0.04, 0.04]]);
    assert_eq!(back, [Vec::<f64>::new(), Vec::new()]);
}

/// Returns a scenario with a flow over a fast link; `flow`: keys of the flow.
fn one_flow(duration: &str, series: &str, flow: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        record = {{ series = "{series}" }}
        [[link]]
        between = ["a", "b"]
        rate = "100Mbps"
        delay = "10ms"
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        {flow}
    "#
    )
}

/// A source of 1000 B each 10 ms over a rate controller that allows more: 20 packets are sent in each 200 ms, with a
/// deviation of one. All samples together are the data that arrived, except the last packets.
#[test]
fn the_sending_rate_is_that_of_the_data() {
    for transport in [r#"{ kind = "tfrc" }"#, r#"{ kind = "dccp", ccid = 3 }"#] {
        let source = r#"{ kind = "cbr", interval = "10ms", payload = "1000B" }"#;
        let text = one_flow("20s", "200ms", &format!("transport = {transport}\nsource = {source}"));
        let rates = samples(&text, &[("f", metric::SENDING_RATE)]).remove(0);
        assert_eq!(rates.len(), 100, "{transport}");
        let packets: Vec<f64> = rates.iter().map(|rate| rate * 0.2 / 8000.0).collect();
        assert!(packets[20..].iter().all(|packets| (packets - 20.0).abs() < 1.001), "{transport}: {packets:?}");
        let received = run(&scenario(&text), ()).summary.flows[0].goodput_bps * 20.0 / 8000.0;
        let sent = packets.iter().sum::<f64>();
        assert!((sent - sent.round()).abs() < 1e-6 && (0.0..4.0).contains(&(sent - received)), "{sent} and {received}");
    }
}

#[test]
fn a_flow_without_a_controller_has_no_sending_rate() {
    for flow in [
        "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", interval = \"10ms\", payload = \"1000B\" }",
        "transport = { kind = \"tcp-newreno\" }\nsource = { kind = \"ftp\" }",
    ] {
        let wanted = [("f", metric::SENDING_RATE), ("f", metric::THROUGHPUT)];
        let [rates, throughput] = &samples(&one_flow("1s", "200ms", flow), &wanted)[..] else { unreachable!() };
        assert!(rates.is_empty() && throughput.len() == 5, "{flow}");
    }
}

/// An encoder of 300 kb/s from 1 s to 3 s.
#[test]
fn the_encoder_rate_is_known_while_the_flow_is_active() {
    let of = |source: &str| {
        let transport = r#"start = "1s"
        stop = "3s"
        transport = { kind = "scream2" }
        send_queue = { kind = "fifo", limit = "100packets" }"#;
        let text = one_flow("5s", "500ms", &format!("{transport}\nsource = {source}"));
        samples(&text, &[("f", metric::ENCODER_RATE)]).remove(0)
    };
    for source in [
        r#"{ kind = "encoder", start_rate = "300kbps", min_rate = "300kbps", max_rate = "300kbps" }"#,
        r#"{ kind = "encodings", rates = ["300kbps"] }"#,
    ] {
        assert_eq!(of(source), [3e5; 5], "{source}: at 1, 1.5, 2, 2.5 and 3 s");
    }
    assert!(of(r#"{ kind = "cbr", interval = "100ms", payload = "1000B" }"#).is_empty());
}
