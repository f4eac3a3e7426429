//! Random lives of a sender.

use super::{FIRST, SIZE, Talk, feedback};
use crate::contract::{Next, SenderHalf, Sending};
use crate::report::{Arrival, Feedback, Run};
use crate::tcp_like::options::MAX_WINDOW;
use headway_units::{Dialect, Duration};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What may happen to a sender: packets, reports from the true state of a lossy, reordering path, timeouts.
#[derive(Clone, Debug)]
enum Step {
    Send {
        data: bool,
        fate: u8,
    },
    /// A report goes: how many of those already made it overtakes, and whether it is lost.
    Report {
        delay: usize,
        lost: bool,
    },
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (prop::bool::weighted(0.8), 0u8..10).prop_map(|(data, fate)| Step::Send { data, fate }),
        5 => (0usize..4, prop::bool::weighted(0.2)).prop_map(|(delay, lost)| Step::Report { delay, lost }),
        1 => Just(Step::Timeout),
    ]
}

/// pipe by its definition, from all that was ever said: data sent since the last timeout that no report called received,
/// with fewer than three later packets that one did.
fn pipe_by_definition(sent: &BTreeMap<u64, bool>, said: &BTreeSet<u64>, since: u64) -> u64 {
    sent.iter()
        .filter(|(number, data)| **data && **number >= since && !said.contains(number))
        .filter(|(number, _)| said.range(**number + 1..).count() < 3)
        .count() as u64
}

proptest! {
    /// Reports are lost and reordered; pipe is always what its definition says.
    #[test]
    fn pipe_is_what_its_definition_says(steps in prop::collection::vec(step(), 1..400), dialect in 0usize..4) {
        let dialect = [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux][dialect];
        let mut talk = Talk::with_window(dialect, 1000);
        let (mut sent, mut come, mut said) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut forgotten = 0;
        let mut since = 0;
        // (newest, arrivals from the oldest on) of reports that are on their way.
        let mut on_the_way: Vec<(u64, String)> = vec![];
        for step in steps {
            talk.now += Duration::from_millis(1);
            match step {
                Step::Send { data, fate } => {
                    sent.insert(talk.next, data);
                    if fate > 1 {
                        come.insert(talk.next);
                    }
                    talk.send(data);
                }
                Step::Report { delay, lost } => {
                    if let Some(&newest) = come.last().filter(|_| !lost) {
                        let arrivals = (FIRST..=newest).map(|n| if come.contains(&n) { '+' } else { '-' }).collect();
                        on_the_way.push((newest, arrivals));
                    }
                    if on_the_way.len() > delay {
                        let (newest, arrivals) = on_the_way.remove(delay);
                        talk.report(newest - FIRST, &arrivals);
                        // A report that ends a silence empties the pipe.
                        since = since.max(talk.sender.pipe_start);
                        said.extend((forgotten.max(FIRST)..=newest).filter(|n| arrivals.as_bytes()[(n - FIRST) as usize] == b'+'));
                    }
                }
                Step::Timeout if talk.sender.poll_timeout().is_some() => {
                    talk.time_out();
                    since = talk.next;
                    if dialect != Dialect::Ns2 {
                        forgotten = talk.next;
                    }
                }
                Step::Timeout => {}
            }
            let expected = pipe_by_definition(&sent, &said, since);
            prop_assert_eq!(talk.sender.pipe, expected);
            prop_assert_eq!(talk.sender.poll_timeout().is_some(), expected > 0);
        }
    }

    /// Whatever a peer says, nothing panics, and the window keeps its bounds.
    #[test]
    fn any_feedback_is_survived(
        steps in prop::collection::vec(
            (any::<bool>(), 0u64..40, 0u8..4, any::<u64>(), prop::collection::vec((0u8..3, prop_oneof![0u64..10, any::<u64>()]), 0..6), any::<Option<u64>>()),
            1..200,
        ),
        dialect in 0usize..4,
        first: u64,
    ) {
        let mut talk = Talk::new([Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux][dialect], |_| {});
        talk.next = first;
        for (data, number, kind, big, runs, rtt) in steps {
            talk.now += Duration::from_nanos(big >> 24);
            match kind {
                0 | 1 => {
                    talk.sender.on_send(talk.now, &Sending { number: talk.next, size: SIZE, data });
                    talk.next = talk.next.wrapping_add(1);
                }
                2 => {
                    let runs: Vec<_> = runs.iter().map(|&(arrival, packets)| Run {
                        arrival: [Arrival::Received, Arrival::Marked, Arrival::NotReceived][usize::from(arrival)],
                        packets,
                    }).collect();
                    talk.sender.on_feedback(talk.now, &Feedback {
                        rtt_sample: rtt.map(Duration::from_nanos),
                        lost_acks: big,
                        slow_receiver: number == 7,
                        receive_buffer_drops: if number == 9 { big } else { 0 },
                        ..feedback(if data { big } else { talk.next.wrapping_sub(number) }, &runs)
                    });
                }
                _ => talk.sender.handle_timeout(talk.sender.poll_timeout().unwrap_or(talk.now)),
            }
            talk.sender.poll_send(talk.now, &Next::new(SIZE));
            let status = talk.sender.status();
            prop_assert!((1..=MAX_WINDOW).contains(&talk.sender.window.cwnd));
            prop_assert!(status.ack_ratio.unwrap() >= 1);
        }
    }
}
