//! Parser of the ns-2 runs in `data/ns2-*.txt`.

#![allow(unreachable_pub, dead_code, reason = "each test file uses its part")]

use headway_units::Duration;
use std::collections::BTreeSet;

/// Recorded run of ns-2.
#[derive(Default)]
pub struct Case {
    pub kind: String,
    pub path: Vec<String>,
    pub segments: u64,
    pub until: Duration,
    pub options: Vec<(String, String)>,
    pub lost: BTreeSet<u64>,
    pub marked: BTreeSet<u64>,
    pub sent: u64,
    /// Times in us and numbers.
    pub drops: Vec<(i64, i64)>,
    pub received: Vec<(i64, i64)>,
    /// Time in units of 10 us, cwnd and ssthresh.
    pub window: Vec<(u64, f64, f64)>,
}

fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.split_whitespace().map(|word| word.parse().unwrap())
}

impl Case {
    pub fn read(text: &str) -> Self {
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

    /// Parses `4160+1x38`: 38 arrivals, each 4160 us later with a number higher by one.
    fn receive(&mut self, steps: &str) {
        let (step, times) = steps.split_once('x').unwrap_or((steps, "1"));
        let sign = step.find(['+', '-']).unwrap();
        let (after, further) = (step[..sign].parse::<i64>().unwrap(), step[sign..].parse::<i64>().unwrap());
        for _ in 0..times.parse::<u32>().unwrap() {
            let last = self.received.last().copied().unwrap_or((0, 0));
            self.received.push((last.0 + after, last.1 + further));
        }
    }
}

/// Returns the first position where two sequences differ by more than `tolerance` us or in their numbers.
pub fn first_difference(ours: &[(u64, i64)], theirs: &[(i64, i64)], tolerance: i64) -> Option<String> {
    let same = |(ours, theirs): (&(u64, i64), &(i64, i64))| {
        ours.1 == theirs.1 && (ours.0 as i64 - theirs.0 * 1000).abs() <= tolerance * 1000
    };
    let equal = ours.iter().zip(theirs).take_while(|pair| same(*pair)).count();
    if equal == ours.len() && equal == theirs.len() {
        return None;
    }
    Some(format!("entry {equal} of {}: ours {:?}, ns-2 {:?}", theirs.len(), ours.get(equal), theirs.get(equal)))
}
