//! Behavior of any TCP at a simple bottleneck.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::Summary;

/// Runs one flow, or two that start together, over 10 Mb/s and a round trip of 50 ms.
fn bottleneck(limit: u32, flows: &[(&str, &str)]) -> Summary {
    let mut text = format!(
        "duration = \"100s\"\nmeasure_from = \"10s\"\n\
         [[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"25ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"{limit}packets\" }}\n"
    );
    for (number, (kind, dialect)) in flows.iter().enumerate() {
        text += &format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"{kind}\", dialect = \"{dialect}\" }}\nsource = {{ kind = \"ftp\" }}\n"
        );
    }
    run(&scenario(&text), ()).summary
}

/// A timeout in a long NewReno recovery once raised ssthresh sixfold: a lost window every 1.7 s, 57 % utilization.
#[test]
fn a_timeout_in_a_long_recovery_does_not_raise_ssthresh() {
    for limit in [18, 20, 25, 30] {
        let summary = bottleneck(limit, &[("tcp-newreno", "rfc")]);
        assert!(summary.links[0].utilisation > 0.9, "{limit}: {}", summary.links[0].utilisation);
        assert!(summary.flows[0].timeouts.unwrap() <= 5, "{limit}: {:?}", summary.flows[0].timeouts);
    }
}

/// RFC 9438 section 4.3: in the Reno-friendly region, CUBIC gets about Reno's share. Here W_max is 92 segments.
#[test]
fn cubic_gets_a_fair_share_with_reno() {
    for dialect in ["rfc", "linux"] {
        let summary = bottleneck(50, &[("tcp-cubic", dialect), ("tcp-sack", dialect)]);
        let [cubic, reno] = [0, 1].map(|flow| summary.flows[flow].throughput_bps);
        assert!((0.5..2.0).contains(&(cubic / reno)), "{dialect}: {cubic} and {reno}");
        assert!(summary.links[0].utilisation > 0.98, "{dialect}");
    }
}

/// A buffer of one bandwidth-delay product keeps the link busy under halving (42 packets at 10 Mb/s and 50 ms).
#[test]
fn a_buffer_of_one_bandwidth_delay_product_fills_the_link() {
    for (kind, dialect) in [("tcp-sack", "rfc"), ("tcp-cubic", "rfc"), ("tcp-cubic", "linux")] {
        let summary = bottleneck(60, &[(kind, dialect)]);
        assert!(summary.links[0].utilisation > 0.95, "{kind} {dialect}");
    }
}

/// Counters belong to the measured interval, like everything else in a summary.
#[test]
fn counters_begin_with_the_measurement() {
    let text = "duration = \"60s\"\nmeasure_from = \"59.9s\"\n\
        [[link]]\nbetween = [\"a\", \"b\"]\nrate = \"2Mbps\"\ndelay = \"10ms\"\nqueue = { kind = \"droptail\", limit = \"10packets\" }\n\
        [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"tcp-reno\" }\nsource = { kind = \"ftp\" }\n";
    let late = run(&scenario(text), ()).summary;
    let whole = run(&scenario(&text.replace("measure_from = \"59.9s\"\n", "")), ()).summary;
    assert!(whole.flows[0].retransmitted_packets.unwrap() > 10);
    assert!(late.flows[0].retransmitted_packets.unwrap() <= late.flows[0].sent_packets);
}

/// The first 20 s of one download through PIE at 10 Mb/s and a round trip of 40 ms (33 packets). In dialect rfc,
/// NewReno keeps the ssthresh of its first slow start through its timeouts, waits for a second each, and leaves half
/// of the link idle. Dialect headway-1 follows deployed practice; a Linux sender uses 85 % there.
#[test]
fn start_up_with_pie_is_short() {
    for kind in ["tcp-newreno", "tcp-sack", "tcp-cubic"] {
        let utilisation = [1, 2, 3].map(|seed| {
            let text = format!(
                "seed = {seed}\nduration = \"20s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
                 queue = {{ kind = \"pie\", limit = \"400packets\" }}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                 transport = {{ kind = \"{kind}\", dialect = \"headway-1\" }}\nsource = {{ kind = \"ftp\" }}\n"
            );
            run(&scenario(&text), ()).summary.links[0].utilisation
        });
        assert!(utilisation.iter().all(|part| *part > 0.85), "{kind}: {utilisation:?}");
    }
}
