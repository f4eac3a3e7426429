//! Vegas for what it was made for.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

mod path;

use headway_tcp::{TcpOptions, VegasRules};
use headway_units::{Dialect, Instant, Registry};
use path::{Hop, Limit, Outcome, dumbbell, hop, run};

const DIALECTS: [Dialect; 3] = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux];

fn preset(kind: &str, dialect: Dialect) -> TcpOptions {
    let mut options = TcpOptions::preset(kind, dialect).unwrap();
    options.rules_mut().window = "1000packets".parse().unwrap();
    options
}

/// One endless flow, 60 s, the queue from 20 s on.
fn alone(hops: &[Hop], options: &TcpOptions) -> Outcome {
    let flow = (options.clone(), Instant::ZERO, u64::MAX / 2);
    run(hops, &[flow], Instant::from_secs(20), Instant::from_secs(60))
}

/// 10 Mb/s, 50 ms each way, so many of 100 packets lost at random: the queue stays empty.
fn lossy(percent: f64) -> Vec<Hop> {
    let mut link = hop("10Mbps", "50ms", Limit::Ns2(1000));
    link.loss = percent / 100.0;
    vec![link]
}

/// Alone it keeps alpha to beta segments in the queue, in either Vegas, fills the link, and loses nothing (the packet in transmission
/// counts, and the one that a round trip may be ahead). Each segment is acknowledged at once: behind a pair the round trip is longer by one.
#[test]
fn vegas_keeps_a_few_segments_waiting() {
    for dialect in DIALECTS {
        let mut options = preset("tcp-vegas", dialect);
        options.rules_mut().delayed_ack = None;
        let outcome = alone(&dumbbell("2Mbps", "10ms", 50), &options);
        let (alpha, beta) = (f64::from(options.rules.vegas_alpha), f64::from(options.rules.vegas_beta));
        let queue = outcome.mean_queue;
        assert!((alpha..=beta + 2.0).contains(&queue), "{dialect:?}: {queue} segments in the queue");
        assert!(outcome.drops.is_empty(), "{dialect:?}: {:?}", outcome.drops);
        // 2 Mb/s for 60 s less what slow start leaves idle.
        assert!(outcome.sent_bytes as f64 * 8.0 > 0.97 * 2e6 * 60.0, "{dialect:?}: {}", outcome.sent_bytes);
    }
}

/// Every packet of ns-2's Vegas has 1000 B, its SYN too (`VegasTcpAgent::output`).
#[test]
fn vegas_sends_packets_of_one_size() {
    let mut sender =
        headway_tcp::Sender::new(&preset("tcp-vegas", Dialect::Ns2), headway_units::Random::new(1, "size"));
    sender.write(Instant::ZERO, 1);
    assert_eq!(sender.poll_transmit(Instant::ZERO).unwrap().size, 1000);
    let mut options = preset("tcp-reno", Dialect::Ns2);
    let size = |options: &TcpOptions| {
        let mut sender = headway_tcp::Sender::new(options, headway_units::Random::new(1, "size"));
        sender.write(Instant::ZERO, 1);
        sender.poll_transmit(Instant::ZERO).unwrap().size
    };
    assert_eq!(size(&options), 40);
    options.rules_mut().syn_size = Some("60B".parse().unwrap());
    assert_eq!(size(&options), 60);
}

/// Either Vegas can be had in each dialect, through losses and delayed acknowledgements.
#[test]
fn either_vegas_runs_in_each_dialect() {
    for dialect in DIALECTS {
        for vegas in [VegasRules::Arizona, VegasRules::Linux] {
            let mut options = preset("tcp-vegas", dialect);
            let rules = options.rules_mut();
            (rules.vegas, rules.timestamps, rules.sack_blocks) = (vegas, true, 3);
            rules.delayed_ack = Some("100ms".parse().unwrap());
            let outcome = alone(&lossy(0.1), &options);
            let sink = &outcome.flows[0].sink;
            assert!(sink.received_segments() > 5_000, "{dialect:?} {vegas:?}: {}", sink.received_segments());
        }
    }
}
