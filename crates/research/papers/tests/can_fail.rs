//! Checks that once could not fail, or tested less than their claim states: each fails for a number that the claim
//! excludes.
//!
//! The numbers are the stored means; each case sets one mean in one cell to an excluded value.

use headway_papers::{Measured, Paper, Profile, Results, Values, Verdict};
use std::collections::BTreeMap;
use std::path::Path;

fn stored(paper: &Paper) -> Results {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../papers").join(paper.id.as_ref()).join("results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A cell, a metric, and the changed value.
type Changed<'a> = (&'a str, &'a str, f64);

/// Returns the verdict on a claim by the stored means with some changed values.
fn verdict(id: &str, claim: &str, changed: &[Changed<'_>]) -> Verdict {
    let paper = Paper::find(id).unwrap();
    let (claims, stored) = (paper.claims().unwrap(), stored(paper));
    let mut measured = Measured::default();
    for (cell, numbers) in &stored.cells {
        let mut values: Values = numbers.iter().map(|(metric, number)| (metric.clone(), number.mean)).collect();
        for (_, metric, value) in changed.iter().filter(|(other, ..)| other == cell) {
            let before = values.insert((*metric).to_owned(), *value);
            assert!(before.is_some(), "{cell} has no {metric}");
        }
        measured.add(cell, 1, true, values);
    }
    let results = Results::new(paper, &claims, &paper.ns2().unwrap(), Profile::Full, &measured, BTreeMap::new());
    results.claims.iter().find(|judged| judged.id == claim).unwrap().verdict
}

/// Asserts that the claim holds with the values `holds`, and fails if one of `fails` is also set.
fn holds_and_fails(id: &str, claim: &str, holds: &[Changed<'_>], fails: &[Changed<'_>]) {
    assert_eq!(verdict(id, claim, holds), Verdict::Reproduced, "{claim}");
    for one in fails {
        let changed: Vec<Changed<'_>> = holds.iter().copied().chain([*one]).collect();
        assert_eq!(verdict(id, claim, &changed), Verdict::NotReproduced, "{claim}, {one:?}");
    }
}

const S1: &str = "s1.executed.0.2-100ms.6";
const S2: &str = "s2.executed.3.0.6";

/// A queue of ten packets cannot reach twenty, and a constant queue does not oscillate.
#[test]
fn udpm_fig6_shape() {
    assert_eq!(verdict("udpm", "udpm.fig6.shape", &[]), Verdict::NotReproduced);
    let twenty = [(S1, "queue_peak_packets", 20.0)];
    holds_and_fails(
        "udpm",
        "udpm.fig6.shape",
        &twenty,
        &[
            (S1, "queue_peak_packets", 10.0),
            (S1, "queue_peak_packets", 25.0),
            (S1, "queue_cov_pct", 5.0),
            (S1, "red_average_packets", 9.0),
        ],
    );
}

/// A full link is not necessarily shared fairly: plain UDP fills it, too.
#[test]
fn udpm_fig15_shape() {
    let fails = [
        (S1, "media_share_pct", 98.0),
        (S1, "media_share_pct", 64.0),
        (S1, "media_share_pct", 20.0),
        (S1, "used_pct", 60.0),
    ];
    holds_and_fails("udpm", "udpm.fig15.shape", &[], &fails);
}

/// "Improves utilisation" fails if the link is used less, even by 0.1 %.
#[test]
fn udpm_abstract() {
    assert_eq!(verdict("udpm", "udpm.abstract", &[]), Verdict::NotReproduced);
    holds_and_fails(
        "udpm",
        "udpm.abstract",
        &[(S2, "used_pct", 90.0)],
        &[(S1, "used_pct", 89.9), (S1, "loss_pct", 40.0), (S1, "ftp_kbps", 10.0)],
    );
}

/// Eight further checks of the paper tested only a part of their claims.
#[test]
fn udpm_other_claims() {
    for (claim, fails) in [
        ("udpm.fig7.shape", [(S2, "start_queue_packets", 0.0), (S2, "queue_cov_pct", 61.0)]),
        ("udpm.fig8.shape", [(S1, "drops_r2", 0.9), (S1, "half_of_drops_s", 45.0)]),
        ("udpm.fig9.shape", [(S2, "drops", 365.0), (S2, "drops_r2", 0.9)]),
        ("udpm.fig11.shape", [(S1, "arrivals", 18374.0), (S1, "arrivals_r2", 0.97)]),
        ("udpm.fig12.shape", [(S2, "media_arrivals", 9800.0), (S2, "media_loss_pct", 2.0)]),
        ("udpm.fig14.shape", [(S2, "media_settled_pct", 50.0), (S2, "ftp_settled_pct", 50.0)]),
        ("udpm.loss.ratio", [(S2, "loss_pct", 4.0), (S2, "drops", 400.0)]),
        ("udpm.load.total", [("web.1.5.cbr-1.6", "offered_kbps", 2600.0), ("web.1.5.cbr-1.6", "loss_pct", 0.0)]),
    ] {
        holds_and_fails("udpm", claim, &[], &fails);
    }
}

/// Loss that falls at an increasing rate, or only from 50 us on.
#[test]
fn psp_fig2_shape() {
    let fails = [
        ("wan.25", "psa_sent_loss_pct", 89.0),
        ("wan.25", "psa_sent_loss_pct", 90.5),
        ("wan.100", "psa_sent_loss_pct", 45.0),
        ("wan.200", "psa_sent_loss_pct", 2.3),
    ];
    holds_and_fails("packet-spacing", "psp.fig2.shape", &[], &fails);
}

/// An oracle that classifies queue losses as channel losses, a queue without losses, and different rates.
#[test]
fn uddj_f4_zero() {
    let uddj = stored(Paper::find("uddj-tfrc").unwrap()).cells["f4.uddj.0"]["main_mbps"].mean;
    let fails = [
        ("f4.oracle.0", "missed_pct", 5.0),
        ("f4.oracle.0", "queue_loss_pct", 0.0),
        ("f4.oracle.0", "main_mbps", uddj),
    ];
    holds_and_fails("uddj-tfrc", "uddj.f4.zero", &[], &fails);
}

/// Orderings that must hold at every number of clients, and no congestion with 3 and 5 clients.
#[test]
fn lan_figures_3_and_4() {
    let other = [("droptail.udp.8", "throughput_kbps", 4000.0)];
    holds_and_fails("lan-queues", "lan.fig4.b", &[], &other);
    holds_and_fails("lan-queues", "lan.fig3.a", &[], &[("red.tcp.3", "delay_c_ms", 13.6)]);
    holds_and_fails(
        "lan-queues",
        "lan.fig4.c",
        &[("droptail.udp.10", "delay_c_ms", 13.9)],
        &[("droptail.tcp.8", "delay_c_ms", 13.9)],
    );
}
