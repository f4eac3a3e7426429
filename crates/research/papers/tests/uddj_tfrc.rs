//! The UDDJ-TFRC paper: settings of its runs, and requirements on the stored results of the guarded filter, which is
//! Headway's.

use crate::common::link;
use headway_media::SourceOptions;
use headway_papers::{Number, Paper, Results};
use headway_scenario::{Flow, Scenario};
use headway_units::{Duration, Rate};
use serde_json::Value;

fn paper() -> &'static Paper {
    Paper::find("uddj-tfrc").unwrap()
}

fn scenarios(prefix: &str) -> Vec<(String, Scenario)> {
    crate::common::scenarios(paper(), prefix)
}

fn mbps(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000)
}

/// Returns the offered load of a constant rate, in Mb/s.
fn offered_load(flow: &Flow) -> f64 {
    let SourceOptions::Cbr(cbr) = &*flow.source else { panic!("{}", flow.name) };
    cbr.size.unwrap().count() as f64 * 8.0 / cbr.nominal_interval().unwrap().as_secs_f64() / 1e6
}

fn wireless_loss(scenario: &Scenario) -> Value {
    let router = if scenario.nodes.iter().any(|node| node == "r4") { "r4" } else { "router" };
    serde_json::to_value(link(scenario, router, "mobile").loss.as_ref().unwrap()).unwrap()
}

fn constant(scenario: &Scenario) -> Vec<&Flow> {
    scenario.flows.iter().filter(|flow| flow.name.starts_with("constant")).collect()
}

/// Section III and Figure 4: three constant rates of 6 Mb/s in total, a wireless link of 10 Mb/s with a DropTail queue,
/// and loss from 0 to 0.08 in steps of 0.005, in the direction of the data.
#[test]
fn figure_4_is_the_network() {
    for kind in ["tfrc", "uddj", "oracle", "reno", "guarded"] {
        let mut losses = Vec::new();
        for (name, scenario) in scenarios(&format!("f4.{kind}.")) {
            let wireless = link(&scenario, "router", "mobile");
            assert_eq!(wireless.rate, mbps(10), "{name}");
            assert_eq!(serde_json::to_value(&wireless.queue).unwrap()["kind"], "droptail", "{name}");
            assert!(link(&scenario, "mobile", "router").loss.is_none(), "{name}");
            assert!(link(&scenario, "sender", "router").loss.is_none(), "{name}");
            let flows = constant(&scenario);
            assert_eq!((flows.len(), flows.into_iter().map(offered_load).sum()), (3, 6.0), "{name}");
            losses.push(wireless_loss(&scenario)["probability"].as_f64().unwrap());
        }
        let expected: Vec<f64> = (0..17).map(|step| f64::from(step) * 0.005).collect();
        assert_eq!(losses.len(), 17, "{kind}");
        assert!(losses.iter().zip(&expected).all(|(loss, expected)| (loss - expected).abs() < 1e-12), "{losses:?}");
    }
}

/// Section III: "the optimal throughput is 4Mbps, which is also the residual bandwidth".
#[test]
fn figure_4_leaves_4_mbps() {
    for (name, scenario) in scenarios("f4.uddj.") {
        let capacity = link(&scenario, "router", "mobile").rate.bits_per_second() as f64 / 1e6;
        let left = capacity - constant(&scenario).into_iter().map(offered_load).sum::<f64>();
        assert!((left - 4.0).abs() < 1e-9, "{name}: {left}");
    }
}

/// Section 3.1: constant rates of 2 Mb/s add up to 2, 4 and 6 Mb/s at three pairs of routers; wired links have no
/// random loss; 2000 s.
#[test]
fn cross_traffic_joins_hop_by_hop() {
    for (name, scenario) in scenarios("f5.") {
        let node = |index: usize| scenario.nodes[index].as_str();
        for (pair, expected) in [(1, 2.0), (2, 4.0), (3, 6.0)] {
            let joined = |flow: &&Flow| {
                let from = node(flow.from).trim_start_matches('r').parse::<u32>().unwrap();
                flow.name.starts_with("cross") && from <= pair && node(flow.to) == "end"
            };
            let crossing: f64 = scenario.flows.iter().filter(joined).map(offered_load).sum();
            assert!((crossing - expected).abs() < 1e-9, "{name}: pair {pair} carries {crossing}");
            let (from, to) = (format!("r{pair}"), format!("r{}", pair + 1));
            assert!(link(&scenario, &from, &to).loss.is_none(), "{name}");
        }
        assert!(link(&scenario, "r3", "r4").rate <= link(&scenario, "r1", "r2").rate, "{name}");
        assert_eq!(link(&scenario, "r4", "mobile").rate, mbps(10), "{name}");
        assert_eq!(wireless_loss(&scenario)["place"], "after-transmission", "{name}");
        assert_eq!(scenario.duration, Duration::from_secs(2000), "{name}");
    }
}

/// Section I: "end-to-end": links only queue and drop packets, and no flow uses marks.
#[test]
fn routers_only_queue_and_drop() {
    for prefix in ["f4.uddj", "f5.uddj", "f6.path.6.uddj", "intra.uddj", "inter.alone.uddj", "inter.cbr.uddj"] {
        for (name, scenario) in scenarios(prefix) {
            for link in &scenario.links {
                assert_eq!(serde_json::to_value(&link.queue).unwrap()["kind"], "droptail", "{name}: {}", link.name);
                assert!(link.policer.is_none(), "{name}: {}", link.name);
            }
            let marked = |flow: &Flow| serde_json::to_value(&*flow.transport).unwrap()["ecn"] == true;
            assert!(!scenario.flows.iter().any(marked), "{name}");
        }
    }
}

fn stored() -> Results {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../papers/uddj-tfrc/results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(results: &Results, cell: &str, metric: &str) -> Number {
    results
        .cells
        .get(cell)
        .and_then(|metrics| metrics.get(metric))
        .copied()
        .unwrap_or_else(|| panic!("{cell} {metric}"))
}

/// The guarded filter uses at least 95 % of the residual bandwidth times (1 - p_w) at each point of Figure 4, with the
/// whole interval.
#[test]
fn guarded_fills_the_residual_at_every_loss_of_figure_4() {
    let results = stored();
    let points: Vec<&String> = results.cells.keys().filter(|cell| cell.starts_with("f4.guarded.")).collect();
    assert_eq!(points.len(), 17);
    for cell in points {
        let filled = number(&results, cell, "filled_pct");
        assert!(filled.runs >= 10, "{cell}: {} runs", filled.runs);
        assert!(filled.mean - filled.ci95.unwrap_or(0.0) >= 95.0, "{cell}: {filled:?}");
    }
}

/// With queue losses only, the guarded filter is as aggressive as TFRC: next to one Reno it gets 50 to 150 % of TFRC's
/// rate, with queues of 2, 5 and 50 packets and with RED.
#[test]
fn guarded_next_to_reno_is_tfrc_within_a_half() {
    let results = stored();
    for queue in ["2", "5", "50", "red"] {
        let [guarded, tfrc] =
            ["guarded", "tfrc"].map(|kind| number(&results, &format!("safe.{queue}.{kind}"), "main_mbps").mean);
        assert!((0.5..=1.5).contains(&(guarded / tfrc)), "{queue}: {guarded} and {tfrc} Mb/s");
    }
}
