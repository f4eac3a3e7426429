use super::{FIRST, Harness, SIZE, feedback};
use crate::contract::{Next, SenderHalf, Sending};
use crate::report::{Arrival, Feedback, Run};
use crate::tcp_like::options::MAX_WINDOW;
use headway_units::{Dialect, Duration};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Event: a packet, a report on the state of a lossy, reordering path, or a timeout.
#[derive(Clone, Debug)]
enum Step {
    Send {
        data: bool,
        outcome: u8,
    },
    /// A report is sent, delivered before `delay` earlier ones, or lost.
    Report {
        delay: usize,
        lost: bool,
    },
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (prop::bool::weighted(0.8), 0u8..10).prop_map(|(data, outcome)| Step::Send { data, outcome }),
        5 => (0usize..4, prop::bool::weighted(0.2)).prop_map(|(delay, lost)| Step::Report { delay, lost }),
        1 => Just(Step::Timeout),
    ]
}

/// Returns pipe by its definition: data sent since the last timeout that is not reported as received, with fewer than
/// three later packets reported as received.
fn pipe_by_definition(sent: &BTreeMap<u64, bool>, reported: &BTreeSet<u64>, since: u64) -> u64 {
    sent.iter()
        .filter(|(number, data)| **data && **number >= since && !reported.contains(number))
        .filter(|(number, _)| reported.range(**number + 1..).count() < 3)
        .count() as u64
}

proptest! {
    #[test]
    fn pipe_matches_its_definition(steps in prop::collection::vec(step(), 1..400), dialect in 0usize..4) {
        let dialect = [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux][dialect];
        let mut harness = Harness::with_window(dialect, 1000);
        let (mut sent, mut received, mut reported) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut forgotten = 0;
        let mut since = 0;
        // Newest packet and arrivals, oldest first, of reports in flight.
        let mut in_flight: Vec<(u64, String)> = vec![];
        for step in steps {
            harness.now += Duration::from_millis(1);
            match step {
                Step::Send { data, outcome } => {
                    sent.insert(harness.next, data);
                    if outcome > 1 {
                        received.insert(harness.next);
                    }
                    harness.send(data);
                }
                Step::Report { delay, lost } => {
                    if let Some(&newest) = received.last().filter(|_| !lost) {
                        let arrivals = (FIRST..=newest).map(|n| if received.contains(&n) { '+' } else { '-' }).collect();
                        in_flight.push((newest, arrivals));
                    }
                    if in_flight.len() > delay {
                        let (newest, arrivals) = in_flight.remove(delay);
                        harness.report(newest - FIRST, &arrivals);
                        // A report that ends a silence empties the pipe.
                        since = since.max(harness.sender.pipe_start);
                        reported.extend((forgotten.max(FIRST)..=newest).filter(|n| arrivals.as_bytes()[(n - FIRST) as usize] == b'+'));
                    }
                }
                Step::Timeout if harness.sender.poll_timeout().is_some() => {
                    harness.time_out();
                    since = harness.next;
                    if dialect != Dialect::Ns2 {
                        forgotten = harness.next;
                    }
                }
                Step::Timeout => {}
            }
            let expected = pipe_by_definition(&sent, &reported, since);
            prop_assert_eq!(harness.sender.pipe, expected);
            prop_assert_eq!(harness.sender.poll_timeout().is_some(), expected > 0);
        }
    }

    /// Any feedback causes no panic and keeps the window in its bounds.
    #[test]
    fn any_feedback_keeps_the_window_in_its_bounds(
        steps in prop::collection::vec(
            (any::<bool>(), 0u64..40, 0u8..4, any::<u64>(), prop::collection::vec((0u8..3, prop_oneof![0u64..10, any::<u64>()]), 0..6), any::<Option<u64>>()),
            1..200,
        ),
        dialect in 0usize..4,
        first: u64,
    ) {
        let mut harness = Harness::new([Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux][dialect], |_| {});
        harness.next = first;
        for (data, number, kind, big, runs, rtt) in steps {
            harness.now += Duration::from_nanos(big >> 24);
            match kind {
                0 | 1 => {
                    harness.sender.on_send(harness.now, &Sending { number: harness.next, size: SIZE, data });
                    harness.next = harness.next.wrapping_add(1);
                }
                2 => {
                    let runs: Vec<_> = runs.iter().map(|&(arrival, packets)| Run {
                        arrival: [Arrival::Received, Arrival::Marked, Arrival::NotReceived][usize::from(arrival)],
                        packets,
                    }).collect();
                    harness.sender.on_feedback(harness.now, &Feedback {
                        rtt_sample: rtt.map(Duration::from_nanos),
                        lost_acks: big,
                        slow_receiver: number == 7,
                        receive_buffer_drops: if number == 9 { big } else { 0 },
                        ..feedback(if data { big } else { harness.next.wrapping_sub(number) }, &runs)
                    });
                }
                _ => harness.sender.handle_timeout(harness.sender.poll_timeout().unwrap_or(harness.now)),
            }
            harness.sender.poll_send(harness.now, &Next::new(SIZE));
            let status = harness.sender.status();
            prop_assert!((1..=MAX_WINDOW).contains(&harness.sender.window.cwnd));
            prop_assert!(status.ack_ratio.unwrap() >= 1);
        }
    }
}
