//! Send queues over a flow's opportunities: the bound holds for every queue.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::scenario;
use headway_bound::Replayed;
use headway_media::{SendQueueOptions, Travel};
use headway_scenario::Scenario;
use headway_sim::{SendQueueEvaluation, YardstickError, compare};
use headway_units::{Dialect, Registry};

const CALL: &str = r#"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 3 }
send_queue = { kind = "fifo", limit = "5packets" }
source = { kind = "conference", random_start = true }
"#;

/// Returns a call that shares a bottleneck with a TCP; its capacity suffices for either of them, but not for both.
fn narrow() -> String {
    format!(
        r#"
duration = "22s"
measure_from = "2s"
dialect = "linux"
[[link]]
between = ["a", "b"]
rate = "800kbps"
delay = "30ms"
queue = {{ kind = "droptail", limit = "15packets" }}
{CALL}
[[flow]]
name = "tcp"
from = "a"
to = "b"
start = {{ uniform = ["0s", "1s"] }}
transport = {{ kind = "tcp-reno" }}
source = {{ kind = "ftp" }}
"#
    )
}

/// Returns a call on a fast path that loses 3 % of packets at random: TFRC's equation is the limit.
fn lossy() -> String {
    format!(
        r#"
duration = "22s"
measure_from = "2s"
dialect = "linux"
[[link]]
between = ["a", "b"]
rate = "10Mbps"
delay = "40ms"
loss = {{ kind = "bernoulli", probability = 0.03 }}
{CALL}
"#
    )
}

fn each_seed(seeds: std::ops::RangeInclusive<u64>) -> impl Iterator<Item = (String, Scenario)> {
    [("narrow", narrow()), ("lossy", lossy())].into_iter().flat_map(move |(name, text)| {
        let scenario = scenario(&text);
        seeds.clone().map(move |seed| (format!("{name}, seed {seed}"), Scenario { seed, ..scenario.clone() }))
    })
}

fn queues() -> impl Iterator<Item = SendQueueOptions> {
    let dialects = [Dialect::Linux, Dialect::Rfc];
    let preset = move |kind: &&str| dialects.map(|dialect| SendQueueOptions::preset(kind, dialect).unwrap());
    SendQueueOptions::KINDS.iter().flat_map(preset)
}

/// Every kind of queue, short and long: for each priority, packets on time of this and all more urgent ones are
/// within the bound, whether the queue knows path delays or not. A slot is used or unused; a packet is on time, late,
/// or never sent.
#[test]
fn no_queue_exceeds_the_bound() {
    for (name, scenario) in each_seed(1..=5) {
        let yardstick = SendQueueEvaluation::new(&scenario, 0).unwrap();
        let bound = yardstick.bound();
        let slots = yardstick.opportunities() as u64;
        assert_eq!(bound.used + bound.unused, slots, "{name}");
        let offered: u64 = bound.by_priority.values().map(|share| share.offered).sum();
        assert_eq!(offered, yardstick.offered() as u64, "{name}");
        // Some packets fit, but not all.
        assert!((offered / 2..offered).contains(&bound.used), "{name}: {bound:?}");
        let holds = |replayed: &Replayed, what: &str| {
            assert_eq!(replayed.used + replayed.unused, slots, "{what}");
            for (&priority, outcome) in &replayed.by_priority {
                let most = bound.up_to(priority);
                assert!(replayed.up_to(priority) <= most, "{what}: {replayed:?}, {bound:?}");
                assert_eq!(outcome.offered, bound.by_priority[&priority].offered, "{what}");
                assert_eq!(outcome.on_time + outcome.late + outcome.never_sent, outcome.offered, "{what}");
            }
        };
        for queue in queues() {
            let what = format!("{name}, {} of {}", queue.kind(), queue.rules.limit);
            holds(&yardstick.replay(&queue), &what);
            holds(&yardstick.replay_oracle(&queue), &format!("{what}, oracle"));
        }
    }
}

/// A queue that sends the most urgent packets first and knows path delays reaches the bound of the most urgent
/// packets up to 1 %, which requires foresight and space.
#[test]
fn sure_first_with_known_delays_reaches_the_bound_of_the_most_urgent() {
    for (name, scenario) in each_seed(1..=5) {
        let yardstick = SendQueueEvaluation::new(&scenario, 0).unwrap();
        let most = yardstick.bound().up_to(0);
        for dialect in [Dialect::Linux, Dialect::Rfc] {
            let queue = SendQueueOptions::preset("sure-first", dialect).unwrap();
            let found = yardstick.replay_oracle(&queue).up_to(0);
            assert!(found * 100 >= most * 99, "{name}: {found} of {most} in {}", queue.rules.limit);
        }
    }
}

/// Opportunities depend on the controller and the seed, and not on the flow's own send queue.
#[test]
fn opportunities_depend_on_controller_and_seed() {
    let seen = |scenario: &Scenario| {
        let yardstick = SendQueueEvaluation::new(scenario, 0).unwrap();
        let replayed: Vec<Replayed> = queues().map(|queue| yardstick.replay(&queue)).collect();
        (yardstick.opportunities(), yardstick.bound(), replayed)
    };
    for (name, mut scenario) in each_seed(3..=4) {
        let first = seen(&scenario);
        assert_eq!(seen(&scenario), first, "{name}");
        for queue in queues() {
            scenario.flows[0].send_queue = std::sync::Arc::new(queue.clone());
            assert_eq!(seen(&scenario), first, "{name}: {queue:?}");
        }
        scenario.seed += 10;
        assert_ne!(seen(&scenario), first, "{name}");
    }
}

/// The shares are those of the replays, and at most 1.
#[test]
fn a_comparison_equals_run_and_replay() {
    let mut scenario = scenario(&narrow());
    let queues: Vec<SendQueueOptions> = queues().collect();
    let yardstick = SendQueueEvaluation::new(&scenario, 0).unwrap();
    let compared = compare(&scenario, 0, &queues, true, || true).unwrap();
    assert_eq!(compared.queues.len(), queues.len());
    for (queue, row) in queues.iter().zip(&compared.queues) {
        scenario.flows[0].send_queue = std::sync::Arc::new(queue.clone());
        let summary = common::run(&scenario, ()).summary;
        assert_eq!((&row.on_time, &row.late), (&summary.flows[0].on_time_ratio, &summary.flows[0].late_ratio));
        let replayed = yardstick.replay(queue);
        let outcome = replayed.by_priority[&1];
        assert_eq!(row.replayed.on_time[&1], outcome.on_time as f64 / outcome.offered as f64);
        assert!(row.replayed.part_of_bound.values().all(|part| (0.0..=1.0).contains(part)), "{row:?}");
        let oracle = yardstick.replay_oracle(queue).up_to(0) as f64 / yardstick.bound().up_to(0) as f64;
        assert_eq!(row.oracle.as_ref().unwrap().part_of_bound[&0], oracle);
    }
    let calls = std::cell::Cell::new(0);
    let twice = || calls.replace(calls.get() + 1) < 2;
    assert_eq!(compare(&scenario, 0, &queues, false, twice), Err(YardstickError::Stopped));
}

#[test]
fn unsupported_flows_are_refused() {
    let flows = scenario(&narrow());
    let refused = |scenario: &Scenario, flow| SendQueueEvaluation::new(scenario, flow).unwrap_err();
    assert_eq!(refused(&flows, 2), YardstickError::NoFlow);
    assert_eq!(refused(&flows, 1), YardstickError::NoSendQueue("tcp".to_owned()));
    assert!(SendQueueEvaluation::fits(&flows, 0) && !SendQueueEvaluation::fits(&flows, 1));
    let endless = scenario(&narrow().replace("kind = \"conference\", random_start = true", "kind = \"ftp\""));
    assert_eq!(refused(&endless, 0), YardstickError::NoLifetime("call".to_owned()));
}

/// A window allows several sends at the same time, each with its own delay: a queue that knows the delays and
/// discards all late packets has no late packet.
#[test]
fn queues_with_known_delays_have_no_late_packets() {
    for seed in 1..=3 {
        let text = narrow().replace("ccid = 3", "ccid = 2");
        let yardstick = SendQueueEvaluation::new(&Scenario { seed, ..scenario(&text) }, 0).unwrap();
        for kind in ["sfdps1", "edf"] {
            let queue = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
            let late = |replayed: Replayed| replayed.by_priority.values().map(|outcome| outcome.late).sum::<u64>();
            assert_eq!(late(yardstick.replay_oracle(&queue)), 0, "{kind}, seed {seed}");
            assert!(late(yardstick.replay(&queue)) > 0, "{kind}, seed {seed}: the load does not test it");
        }
    }
}

/// The carrier `agent` measures one-way delays, and a replay receives them.
#[test]
fn a_replay_receives_one_way_delays() {
    let text = narrow().replace("kind = \"dccp\", ccid = 3", "kind = \"tfrc\"");
    let yardstick = SendQueueEvaluation::new(&scenario(&text), 0).unwrap();
    let mut queue = SendQueueOptions::preset("sfdps1", Dialect::Rfc).unwrap();
    let half = yardstick.replay(&queue);
    queue.rules.travel = Travel::OneWay;
    let measured = yardstick.replay(&queue);
    assert!(measured.up_to(1) > half.up_to(1), "{measured:?} {half:?}");
}

/// More packets than the maximum are refused before they are stored, and `fits` stores none.
#[test]
fn floods_are_refused() {
    let source = r#"source = { kind = "cbr", interval = "1us", payload = "100B", lifetime = "200ms" }"#;
    let text = narrow().replace(r#"source = { kind = "conference", random_start = true }"#, source);
    let scenario = scenario(&text);
    assert!(SendQueueEvaluation::fits(&scenario, 0));
    let error = SendQueueEvaluation::new(&scenario, 0).unwrap_err();
    assert!(matches!(error, YardstickError::TooManyPackets(_)), "{error}");
}
