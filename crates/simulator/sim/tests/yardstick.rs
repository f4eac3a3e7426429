//! Send queues over a flow's opportunities: what the bound promises holds for every queue there is.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::scenario;
use headway_bound::Replayed;
use headway_media::{SendQueueOptions, Travel};
use headway_scenario::Scenario;
use headway_sim::{Yardstick, YardstickError, compare};
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

/// A call beside a TCP at a bottleneck that has room for either of them, but not for both.
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

/// A call on a fast path that loses a packet in thirty, at random: TFRC's equation is the limit.
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

/// Every kind, short and long: for each priority no more on time of it and all more urgent ones than the bound, whether the queue
/// knows the way or not. A slot is used or is not; a packet is on time, late, or never sent.
#[test]
fn no_queue_exceeds_the_bound() {
    for (name, scenario) in each_seed(1..=5) {
        let yardstick = Yardstick::new(&scenario, 0).unwrap();
        let bound = yardstick.bound();
        let slots = yardstick.opportunities() as u64;
        assert_eq!(bound.used + bound.unused, slots, "{name}");
        let offered: u64 = bound.by_priority.values().map(|share| share.offered).sum();
        assert_eq!(offered, yardstick.offered() as u64, "{name}");
        // There is something to choose: not all fits, and not nothing.
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
            holds(&yardstick.replay_knowing(&queue), &format!("{what}, knowing"));
        }
    }
}

/// A queue that sends the most urgent first and knows each way misses nothing of it but for want of room and foresight.
#[test]
fn sure_first_that_knows_the_way_meets_the_bound_of_the_most_urgent() {
    for (name, scenario) in each_seed(1..=5) {
        let yardstick = Yardstick::new(&scenario, 0).unwrap();
        let most = yardstick.bound().up_to(0);
        for dialect in [Dialect::Linux, Dialect::Rfc] {
            let queue = SendQueueOptions::preset("sure-first", dialect).unwrap();
            let found = yardstick.replay_knowing(&queue).up_to(0);
            assert!(found * 100 >= most * 99, "{name}: {found} of {most} in {}", queue.rules.limit);
        }
    }
}

/// The opportunities are the controller's: the flow's own send queue has no part in them. The same seed gives the same numbers, another
/// seed others.
#[test]
fn opportunities_are_the_controllers_and_the_seeds() {
    let seen = |scenario: &Scenario| {
        let yardstick = Yardstick::new(scenario, 0).unwrap();
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

/// The parts are those of the replays, and nobody's part is more than all.
#[test]
fn a_comparison_has_the_numbers_of_run_and_replay() {
    let mut scenario = scenario(&narrow());
    let queues: Vec<SendQueueOptions> = queues().collect();
    let yardstick = Yardstick::new(&scenario, 0).unwrap();
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
        let knowing = yardstick.replay_knowing(queue).up_to(0) as f64 / yardstick.bound().up_to(0) as f64;
        assert_eq!(row.knowing.as_ref().unwrap().part_of_bound[&0], knowing);
    }
    let asked = std::cell::Cell::new(0);
    let twice = || asked.replace(asked.get() + 1) < 2;
    assert_eq!(compare(&scenario, 0, &queues, false, twice), Err(YardstickError::Stopped));
}

#[test]
fn what_cannot_be_measured_is_told() {
    let flows = scenario(&narrow());
    let refused = |scenario: &Scenario, flow| Yardstick::new(scenario, flow).unwrap_err();
    assert_eq!(refused(&flows, 2), YardstickError::NoFlow);
    assert_eq!(refused(&flows, 1), YardstickError::NoSendQueue("tcp".to_owned()));
    assert!(Yardstick::fits(&flows, 0) && !Yardstick::fits(&flows, 1));
    let endless = scenario(&narrow().replace("kind = \"conference\", random_start = true", "kind = \"ftp\""));
    assert_eq!(refused(&endless, 0), YardstickError::NoLifetime("call".to_owned()));
}

/// A window opens several slots at one instant, each with its own arrival: a queue that is told each way, and throws away all that is
/// late, has nothing late.
#[test]
fn who_knows_each_way_is_never_late() {
    for seed in 1..=3 {
        let text = narrow().replace("ccid = 3", "ccid = 2");
        let yardstick = Yardstick::new(&Scenario { seed, ..scenario(&text) }, 0).unwrap();
        for kind in ["sfdps1", "edf"] {
            let queue = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
            let late = |replayed: Replayed| replayed.by_priority.values().map(|outcome| outcome.late).sum::<u64>();
            assert_eq!(late(yardstick.replay_knowing(&queue)), 0, "{kind}, seed {seed}");
            assert!(late(yardstick.replay(&queue)) > 0, "{kind}, seed {seed}: this load does not try it");
        }
    }
}

/// Bare agents measure the way by itself, and a replay is told of it.
#[test]
fn a_replay_is_told_of_one_way_delays() {
    let text = narrow().replace("kind = \"dccp\", ccid = 3", "kind = \"tfrc\"");
    let yardstick = Yardstick::new(&scenario(&text), 0).unwrap();
    let mut queue = SendQueueOptions::preset("sfdps1", Dialect::Rfc).unwrap();
    let half = yardstick.replay(&queue);
    queue.rules.travel = Travel::OneWay;
    let measured = yardstick.replay(&queue);
    assert!(measured.up_to(1) > half.up_to(1), "{measured:?} {half:?}");
}

/// More packets than memory is meant for are refused before they are kept, and whether a flow fits is known without keeping any.
#[test]
fn floods_are_refused() {
    let source = r#"source = { kind = "cbr", interval = "1us", payload = "100B", lifetime = "200ms" }"#;
    let text = narrow().replace(r#"source = { kind = "conference", random_start = true }"#, source);
    let scenario = scenario(&text);
    assert!(Yardstick::fits(&scenario, 0));
    let error = Yardstick::new(&scenario, 0).unwrap_err();
    assert!(matches!(error, YardstickError::TooManyPackets(_)), "{error}");
}
