//! Packet by packet against ns-2.35: every file in `data/ns2-*.txt` is a run of its agents, replayed here.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

mod path;

use headway_tcp::{Rules, TcpOptions};
use headway_units::{Dialect, Duration, Instant, Registry};
use path::{Outcome, dumbbell, run};
use std::collections::BTreeSet;

/// One run of ns-2, as recorded.
#[derive(Default)]
struct Case {
    kind: String,
    path: Vec<String>,
    segments: u64,
    until: Duration,
    options: Vec<(String, String)>,
    lost: BTreeSet<u64>,
    marked: BTreeSet<u64>,
    sent: u64,
    /// Microseconds and numbers.
    drops: Vec<(i64, i64)>,
    received: Vec<(i64, i64)>,
    /// Tens of microseconds, cwnd and ssthresh.
    window: Vec<(u64, f64, f64)>,
}

fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.split_whitespace().map(|word| word.parse().unwrap())
}

impl Case {
    fn read(text: &str) -> Self {
        let mut case = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "kind" => case.kind = rest.into(),
                "path" => case.path = rest.split(' ').map(str::to_owned).collect(),
                "segments" => case.segments = rest.parse().unwrap(),
                "until" => case.until = rest.parse().unwrap(),
                "option" => {
                    let (name, value) = rest.split_once(' ').unwrap();
                    case.options.push((name.into(), value.into()));
                }
                "lost" => case.lost = numbers(rest).collect(),
                "marked" => case.marked = numbers(rest).collect(),
                "sent" => case.sent = rest.parse().unwrap(),
                "drops" => {
                    case.drops.extend(rest.split_whitespace().map(|drop| {
                        let (at, number) = drop.split_once(':').unwrap();
                        (at.parse::<i64>().unwrap(), number.parse::<i64>().unwrap())
                    }));
                }
                "received" => rest.split_whitespace().for_each(|steps| case.receive(steps)),
                "window" => case.window.extend(rest.split_whitespace().map(|step| {
                    let (at, windows) = step.split_once(':').unwrap();
                    let (cwnd, ssthresh) = windows.split_once('/').unwrap();
                    (at.parse().unwrap(), cwnd.parse().unwrap(), ssthresh.parse().unwrap())
                })),
                _ => panic!("unknown line {key}"),
            }
        }
        case
    }

    /// `4160+1x38`: 38 times one number further, 4160 us later.
    fn receive(&mut self, steps: &str) {
        let (step, times) = steps.split_once('x').unwrap_or((steps, "1"));
        let sign = step.find(['+', '-']).unwrap();
        let (after, further) = (step[..sign].parse::<i64>().unwrap(), step[sign..].parse::<i64>().unwrap());
        for _ in 0..times.parse::<u32>().unwrap() {
            let last = self.received.last().copied().unwrap_or((0, 0));
            self.received.push((last.0 + after, last.1 + further));
        }
    }

    fn options(&self) -> TcpOptions {
        let mut options = TcpOptions::preset(&self.kind, Dialect::Ns2).unwrap();
        let mut rules = serde_json::to_value(&options.rules).unwrap();
        for (name, value) in &self.options {
            rules[name] = serde_json::from_str(value).unwrap();
        }
        options.rules = serde_json::from_value::<Rules>(rules).unwrap();
        options.check().unwrap();
        options
    }

    fn run(&self) -> Outcome {
        let mut hops = dumbbell(&self.path[0], &self.path[1], self.path[2].parse().unwrap());
        hops[0].lost.clone_from(&self.lost);
        hops[0].marked.clone_from(&self.marked);
        let segments = if self.segments == 0 { u64::MAX / 2 } else { self.segments };
        run(&hops, &[(self.options(), Instant::ZERO, segments)], Instant::ZERO, Instant::ZERO + self.until)
    }
}

/// The first place where two sequences differ by more than `tolerance` us, or by their numbers.
fn first_difference(ours: &[(u64, i64)], theirs: &[(i64, i64)], tolerance: i64) -> Option<String> {
    let same = |(ours, theirs): (&(u64, i64), &(i64, i64))| {
        ours.1 == theirs.1 && (ours.0 as i64 - theirs.0 * 1000).abs() <= tolerance * 1000
    };
    let equal = ours.iter().zip(theirs).take_while(|pair| same(*pair)).count();
    if equal == ours.len() && equal == theirs.len() {
        return None;
    }
    Some(format!("entry {equal} of {}: ours {:?}, ns-2 {:?}", theirs.len(), ours.get(equal), theirs.get(equal)))
}

fn replay(name: &str, text: &str) {
    let case = Case::read(text);
    let outcome = case.run();
    let flow = &outcome.flows[0];
    if let Some(difference) = first_difference(&outcome.drops, &case.drops, 2) {
        panic!("{name}: drops differ at {difference}");
    }
    if let Some(difference) = first_difference(&flow.received, &case.received, 2) {
        panic!("{name}: receptions differ at {difference}");
    }
    assert_eq!(flow.sender.counters().sent, case.sent, "{name}: packets sent");
    for &(at, cwnd, ssthresh) in &case.window {
        // Printed at the nearest 10 us; the next change is at least an acknowledgement's 32 us away.
        let before = flow.windows.partition_point(|window| window.0 <= at * 10_000 + 6_000);
        let ours = flow.windows[before - 1];
        assert!(
            (ours.1 - cwnd).abs() <= 0.000_500_1 && ours.2 == ssthresh,
            "{name}: at {} us cwnd {} ssthresh {}, ns-2 {cwnd} {ssthresh}",
            at * 10,
            ours.1,
            ours.2
        );
    }
    assert!(case.window.len() > 20 || case.received.len() < 50, "{name}: the record of windows is cut short");
}

macro_rules! cases {
    ($($test:ident $file:literal),+ $(,)?) => {$(
        #[test]
        fn $test() {
            replay($file, include_str!(concat!("data/ns2-", $file, ".txt")));
        }
    )+};
}

cases! {
    // The calibration runs: 2 Mb/s, 10 ms, DropTail of 20 (19 waiting).
    tahoe_in_a_short_queue "tahoe-q20",
    tahoe_in_a_window_of_30 "tahoe-q20-win30",
    reno_in_a_short_queue "reno-q20",
    reno_in_a_window_of_30 "reno-q20-win30",
    newreno_in_a_short_queue "newreno-q20",
    newreno_in_a_window_of_30 "newreno-q20-win30",
    sack_in_a_short_queue "sack1-q20",
    sack_in_a_window_of_30 "sack1-q20-win30",
    reno_without_loss "reno-noloss-win15",
    reno_sends_100_segments_with_timeouts "reno-100seg",
    reno_with_delayed_acknowledgements "reno-delack-q20",
    // Listed losses and marks on a link of 1.3007 Mb/s and 37.7171 ms.
    tahoe_delayed_acknowledgements_and_losses "tahoe-delack-lost",
    newreno_delayed_acknowledgements_and_losses "newreno-delack-lost",
    sack_delayed_acknowledgements_and_losses "sack-delack-lost",
    sack_many_losses_in_a_window "sack-lost-burst",
    newreno_many_losses_in_a_window "newreno-lost-burst",
    reno_loses_its_syn "reno-lost-syn",
    reno_answers_ecn "reno-ecn",
    sack_answers_ecn_and_loss "sack-ecn-delack",
    tahoe_answers_ecn_and_loss "tahoe-ecn",
    newreno_with_timestamps "newreno-timestamps",
    reno_in_whole_steps_and_short_bursts "reno-whole-maxburst",
    newreno_slow_but_steady "newreno-slow-but-steady",
    tahoe_without_limited_transmit "tahoe-no-limited-transmit",
}

/// Every recorded file is a test.
#[test]
fn no_file_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let this = include_str!("ns2.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(case) = name.strip_prefix("ns2-").and_then(|name| name.strip_suffix(".txt")) {
            assert!(this.contains(&format!("\"{case}\"")), "{name} is not replayed");
        }
    }
}
