//! Vegas, Westwood, JTCP, Veno, BIC and paced TCP in the situations they were designed for.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

use crate::path::{Hop, Limit, Outcome, dumbbell, hop, run};
use headway_tcp::{BandwidthFilter, TcpOptions, VegasRules};
use headway_units::{Dialect, Instant, Registry};

const DIALECTS: [Dialect; 4] = [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux];

fn preset(kind: &str, dialect: Dialect) -> TcpOptions {
    let mut options = TcpOptions::preset(kind, dialect).unwrap();
    options.rules_mut().window = "1000packets".parse().unwrap();
    options
}

/// Runs one endless flow for 60 s; the queue is measured from 20 s on.
fn alone(hops: &[Hop], options: &TcpOptions) -> Outcome {
    let flow = (options.clone(), Instant::ZERO, u64::MAX / 2);
    run(hops, &[flow], Instant::from_secs(20), Instant::from_secs(60))
}

/// Creates a path of 10 Mb/s and 50 ms each way with `percent` random loss, which keeps the queue empty.
fn lossy(percent: f64) -> Vec<Hop> {
    let mut link = hop("10Mbps", "50ms", Limit::Ns2(1000));
    link.loss = percent / 100.0;
    vec![link]
}

/// A single flow of either Vegas keeps alpha to beta segments queued, fills the link and loses nothing. The packet in
/// transmission and one more per round trip are allowed. Acknowledgements are not delayed, since a delayed one
/// lengthens the round trip by a segment.
#[test]
fn vegas_keeps_a_few_segments_waiting() {
    for dialect in DIALECTS {
        let mut options = preset("tcp-vegas", dialect);
        options.rules_mut().delayed_ack = None;
        let outcome = alone(&dumbbell("2Mbps", "10ms", 50), &options);
        let (alpha, beta) = (f64::from(options.own.vegas.vegas_alpha), f64::from(options.own.vegas.vegas_beta));
        let queue = outcome.mean_queue;
        assert!((alpha..=beta + 2.0).contains(&queue), "{dialect:?}: {queue} segments in the queue");
        assert!(outcome.drops.is_empty(), "{dialect:?}: {:?}", outcome.drops);
        // 2 Mb/s for 60 s minus the idle time in slow start.
        assert!(outcome.sent_bytes as f64 * 8.0 > 0.97 * 2e6 * 60.0, "{dialect:?}: {}", outcome.sent_bytes);
    }
}

/// Every packet of ns-2's Vegas has 1000 B, including the SYN (`VegasTcpAgent::output`).
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

/// Either Vegas runs in each dialect, with losses and delayed acknowledgements.
#[test]
fn either_vegas_runs_in_each_dialect() {
    for dialect in DIALECTS {
        for vegas in [VegasRules::Arizona, VegasRules::Linux] {
            let mut options = preset("tcp-vegas", dialect);
            options.own_mut().vegas.vegas = vegas;
            let rules = options.rules_mut();
            (rules.timestamps, rules.sack.sack_blocks) = (true, 3);
            rules.delayed_ack = Some("100ms".parse().unwrap());
            let outcome = alone(&lossy(0.1), &options);
            let sink = &outcome.flows[0].sink;
            assert!(sink.received_segments() > 5_000, "{dialect:?} {vegas:?}: {}", sink.received_segments());
        }
    }
}

/// With random losses, Westwood keeps the bandwidth-delay product and SACK halves. Both estimates give at least 1.5
/// times the throughput at 1 % (Mascolo and others 2001 report gains of up to 550 %).
#[test]
fn westwood_outruns_reno_on_a_lossy_link() {
    for dialect in DIALECTS {
        let sack = alone(&lossy(1.0), &preset("tcp-sack", dialect)).flows[0].sink.received_segments();
        for filter in [BandwidthFilter::Plus, BandwidthFilter::Tustin] {
            let mut options = preset("tcp-westwood", dialect);
            options.own_mut().westwood.bandwidth_filter = filter;
            let westwood = alone(&lossy(1.0), &options).flows[0].sink.received_segments();
            assert!(westwood * 2 > sack * 3, "{dialect:?} {filter:?}: {westwood} compared with {sack}");
        }
    }
}

/// With a full queue, BWE RTTmin is the bandwidth-delay product: 2 Mb/s, 28 ms and a segment. A loss thus leaves the
/// link full and the queue empty, for any previous window.
#[test]
fn westwood_keeps_the_link_full_after_a_loss() {
    for dialect in DIALECTS {
        let mut options = preset("tcp-westwood", dialect);
        // ns-2's `linux` uses Reno's ssthresh.
        (options.rules_mut().timestamps, options.own_mut().westwood.bandwidth_filter) = (true, BandwidthFilter::Plus);
        let outcome = alone(&dumbbell("2Mbps", "10ms", 20), &options);
        let segment = options.rules.segment.count() as f64 * 8.0;
        let product = 2e6 * 0.028 / segment + 2.0;
        let flow = &outcome.flows[0];
        let late = flow.windows.iter().filter(|window| window.0 > 20_000_000_000);
        let ssthresh: Vec<_> = late.map(|window| window.2).collect();
        let (least, most) = ssthresh.iter().fold((f64::MAX, 0f64), |(a, b), &c| (a.min(c), b.max(c)));
        assert!(least >= product - 3.0 && most <= product + 3.0, "{dialect:?}: {least} to {most}, not near {product}");
    }
}

/// With random losses and a short queue, Veno keeps 4/5 of its window and Reno half. With a loss rate p and a growth of
/// one per round trip, a window that keeps 1 - d averages sqrt((2 - d)/(2 d p)): 1.7 times as much for d = 1/5 as for d
/// = 1/2.
#[test]
fn veno_outruns_reno_on_a_lossy_link() {
    for dialect in DIALECTS {
        let sack = alone(&lossy(1.0), &preset("tcp-sack", dialect)).flows[0].sink.received_segments();
        let veno = alone(&lossy(1.0), &preset("tcp-veno", dialect)).flows[0].sink.received_segments();
        let ratio = veno as f64 / sack as f64;
        assert!((1.3..2.2).contains(&ratio), "{dialect:?}: {veno} compared with {sack}");
    }
}

/// BIC returns to the window of its last loss in tens of round trips, Reno in half as many as the window has segments.
/// BIC delivers more on 10 Mb/s and 100 ms with a loss in 5,000 segments, and about as much below its `low_window` of
/// 14 segments.
#[test]
fn bic_returns_faster_than_reno() {
    for dialect in DIALECTS {
        let of = |kind: &str, percent: f64| {
            alone(&lossy(percent), &preset(kind, dialect)).flows[0].sink.received_segments() as f64
        };
        let [long, short] = [0.02, 5.0].map(|percent| of("tcp-bic", percent) / of("tcp-sack", percent));
        assert!(long > 1.05, "{dialect:?}: {long}");
        assert!((0.75..1.35).contains(&short), "{dialect:?}: {short}");
    }
}

/// Aggarwal, Savage and Anderson 2000, section 2: the ten segments of a window are sent SRTT/cwnd = 100 ms/10 apart.
/// Without pacing they are sent back to back, 12 us apart on this link.
#[test]
fn paced_tcp_spreads_its_window() {
    for (paced, gap_us) in [(false, 12.0), (true, 10_000.0)] {
        let mut options = preset("tcp-newreno", Dialect::Rfc);
        options.rules_mut().paced = paced;
        let flow = (options, Instant::ZERO, 10);
        let outcome = run(&[hop("1Gbps", "50ms", Limit::None)], &[flow], Instant::ZERO, Instant::from_secs(2));
        let data: Vec<u64> = outcome.flows[0].received.iter().filter(|one| one.1 > 0).map(|one| one.0).collect();
        assert_eq!(data.len(), 10);
        for pair in data.windows(2) {
            let gap = (pair[1] - pair[0]) as f64 / 1000.0;
            assert!((gap / gap_us - 1.0).abs() < 0.02, "{paced}: {gap} us");
        }
    }
}

/// Every kind completes a paced transfer in every dialect, through a short queue and random losses.
#[test]
fn every_kind_can_be_paced() {
    for kind in TcpOptions::KINDS {
        for dialect in DIALECTS {
            let mut options = preset(kind, dialect);
            options.rules_mut().paced = true;
            let mut hops = dumbbell("2Mbps", "10ms", 20);
            hops[1].loss = 0.02;
            let outcome = run(&hops, &[(options, Instant::ZERO, 500)], Instant::ZERO, Instant::from_secs(120));
            assert!(outcome.flows[0].sender.is_finished(), "{kind} {dialect:?}");
        }
    }
}

/// Random losses on an idle link are no congestion: JTCP keeps its window, NewReno halves.
#[test]
fn jtcp_outruns_newreno_on_a_lossy_link() {
    for dialect in DIALECTS {
        let newreno = alone(&lossy(1.0), &preset("tcp-newreno", dialect)).flows[0].sink.received_segments();
        let jtcp = alone(&lossy(1.0), &preset("tcp-jtcp", dialect)).flows[0].sink.received_segments();
        assert!(jtcp * 2 > newreno * 3, "{dialect:?}: {jtcp} compared with {newreno}");
    }
}

/// A full queue is congestion: without delayed acknowledgements, nearly all losses at a bottleneck halve the window.
#[test]
fn jtcp_halves_at_a_full_queue() {
    for dialect in DIALECTS {
        let mut options = preset("tcp-jtcp", dialect);
        options.rules_mut().delayed_ack = None;
        let outcome = alone(&dumbbell("2Mbps", "10ms", 20), &options);
        let flow = &outcome.flows[0];
        let halvings = flow.windows.windows(2).filter(|pair| pair[1].1 < 0.6 * pair[0].1).count() as u64;
        let losses = flow.sender.counters().fast_recoveries;
        assert!(losses > 10 && halvings * 10 >= losses * 9, "{dialect:?}: {halvings} of {losses}");
    }
}
