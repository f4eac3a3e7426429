//! Equal flows get equal shares: the order in which links and flows are listed does not matter.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use std::fmt::Write;

const CLIENTS: usize = 20;
const SEEDS: u32 = 20;

/// Creates a star of equal clients on links of 10 Mb/s, connected to a server's link of 50 Mb/s: 1.2 ms per packet, a
/// multiple of 0.24 ms. Starts are random.
fn star(
    ties: &str,
    seed: u32,
    seconds: u32,
    links: impl Iterator<Item = usize>,
    flows: impl Iterator<Item = usize>,
) -> String {
    let mut text = format!("duration = \"{seconds}s\"\nseed = {seed}\nties = \"{ties}\"\nrecord.series = false\n");
    for client in links {
        writeln!(
            text,
            "[[link]]\nbetween = [\"c{client}\", \"r\"]\nrate = \"10Mbps\"\ndelay = \"3ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"16packets\" }}"
        )
        .unwrap();
    }
    text += "[[link]]\nbetween = [\"r\", \"s\"]\nrate = \"50Mbps\"\ndelay = \"10ms\"\n\
             queue = { kind = \"droptail\", limit = \"10packets\" }\n";
    for client in flows {
        writeln!(
            text,
            "[[flow]]\nname = \"f{client}\"\nfrom = \"c{client}\"\nto = \"s\"\nstart = {{ uniform = [\"0s\", \"0.1s\"] }}\n\
             transport = {{ kind = \"tcp-newreno\", window = \"10000packets\", segment = \"1500B\" }}\nsource = {{ kind = \"ftp\" }}"
        )
        .unwrap();
    }
    text
}

/// Returns the throughput of each flow, in bit/s, by the number in its name.
fn throughputs(text: &str) -> Vec<f64> {
    let mut found = vec![0.0; CLIENTS];
    for flow in run(&scenario(text), ()).summary.flows {
        found[flow.name[1..].parse::<usize>().unwrap() - 1] = flow.throughput_bps;
    }
    found
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The first quarter of the clients compared with the last: the difference is within its 95 % interval.
#[test]
fn equal_clients_get_equal_shares() {
    // Student's quantile of 19 degrees of freedom.
    const T: f64 = 2.093;
    for ties in ["drawn", "scheduled"] {
        for reversed in [false, true] {
            let links = |is_reversed: bool| (1..=CLIENTS).map(move |n| if is_reversed { CLIENTS + 1 - n } else { n });
            let differences: Vec<f64> = (1..=SEEDS)
                .map(|seed| {
                    let got = throughputs(&star(ties, seed, 20, links(reversed), links(false)));
                    (mean(&got[..CLIENTS / 4]) - mean(&got[CLIENTS - CLIENTS / 4..])) / mean(&got)
                })
                .collect();
            let difference = mean(&differences);
            let squares: Vec<f64> = differences.iter().map(|d| (d - difference) * (d - difference)).collect();
            let interval = T * (mean(&squares) / f64::from(SEEDS - 1)).sqrt();
            println!("{ties} reversed {reversed}: {:+.2} % +- {:.2} %", 100.0 * difference, 100.0 * interval);
            assert!(difference.abs() <= interval, "{ties} reversed {reversed}: {difference} +- {interval}");
            // The test detects a difference of a tenth.
            assert!(interval < 0.1, "{interval}");
        }
    }
}

/// With drawn ties, the order of listing has no effect.
#[test]
fn drawn_ties_ignore_the_order_of_listing() {
    let plain = throughputs(&star("drawn", 1, 5, 1..=CLIENTS, 1..=CLIENTS));
    let shuffled = |step: usize| (1..=CLIENTS).map(move |n| 1 + n * step % CLIENTS);
    for text in [
        star("drawn", 1, 5, (1..=CLIENTS).rev(), 1..=CLIENTS),
        star("drawn", 1, 5, 1..=CLIENTS, (1..=CLIENTS).rev()),
        star("drawn", 1, 5, shuffled(7), shuffled(3)),
    ] {
        assert_eq!(throughputs(&text), plain);
    }
    assert_ne!(throughputs(&star("drawn", 2, 5, 1..=CLIENTS, 1..=CLIENTS)), plain);
}
