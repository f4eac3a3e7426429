//! One controller per kind of interface, written as in `docs/src/adding.md`. `validation/adding/run` adds the same
//! files to the crate. Here each one drives a path with a bottleneck through the two halves of the carrier.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]
#![allow(dead_code, unreachable_pub, reason = "scenarios and carriers use all of it")]

mod bottleneck;

/// Paths of the crate as seen by its own files.
mod contract {
    pub(crate) use headway_rate::{
        Need, Next, Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending, Stamp, Status,
        Timing,
    };
}
mod report {
    pub(crate) use headway_rate::{Feedback, Own, Report, ReportForm, TimedReport};
}
mod toolbox {
    pub(crate) use headway_rate::toolbox::{Flight, Pacer, PacketOutcome, Rto, RtoRules};
}

#[path = "../../../../../validation/adding/announced.rs"]
mod announced;
#[path = "../../../../../validation/adding/counted.rs"]
mod counted;
#[path = "../../../../../validation/adding/queue_delay.rs"]
mod queue_delay;
#[path = "../../../../../validation/adding/timed_window.rs"]
mod timed_window;

use announced::{AnnouncedOptions, AnnouncedReceiver, AnnouncedSender};
use bottleneck::{Outcome, SIZE, run};
use contract::{Need, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf};
use counted::{CountedOptions, CountedReceiver, CountedSender};
use headway_units::{Dialect, Instant, Options, Random, Rate};
use queue_delay::{QueueDelayOptions, QueueDelayReceiver, QueueDelaySender};
use timed_window::{TimedWindowOptions, TimedWindowReceiver, TimedWindowSender};

fn contexts() -> (SenderContext, ReceiverContext) {
    let mut sender = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "shapes"));
    sender.line_rate = Some(Rate::from_bits_per_second(10_000_000));
    (sender, ReceiverContext::new(Instant::ZERO, SIZE))
}

/// Checks that the flow uses most of the link and loses little.
fn fits(name: &str, outcome: Outcome, least: f64, max_lost: f64) {
    println!("{name}: {outcome:?}");
    assert!(outcome.used >= least && outcome.used <= 1.0, "{name}: {outcome:?}");
    assert!(outcome.lost <= max_lost, "{name}: {outcome:?}");
}

#[test]
fn a_receiver_that_announces_the_rate() {
    let (sender, receiver) = contexts();
    let options = AnnouncedOptions::preset(Dialect::Rfc);
    options.check().unwrap();
    let halves = (AnnouncedSender::new(&options, sender), AnnouncedReceiver::new(&options, receiver));
    fits("announced", run(halves.0, halves.1), 0.5, 0.1);
}

#[test]
fn gaps_by_counted_packets() {
    assert_eq!(<CountedSender as SenderHalf>::NEEDS, [Need::LineRate]);
    let (sender, receiver) = contexts();
    let options = CountedOptions::preset(Dialect::Rfc);
    options.check().unwrap();
    let halves = (CountedSender::new(&options, sender), CountedReceiver::new(&options, receiver));
    fits("counted", run(halves.0, halves.1), 0.5, 0.1);
}

/// A target of 10 ms is a quarter of the queue: nothing is lost after the warm-up.
#[test]
fn one_way_delays_at_the_receiver() {
    assert_eq!(<QueueDelayReceiver as ReceiverHalf>::NEEDS, [Need::SenderClock, Need::RoundTrip]);
    let (sender, receiver) = contexts();
    let options = QueueDelayOptions::preset(Dialect::Rfc);
    options.check().unwrap();
    let halves = (QueueDelaySender::new(&options, sender), QueueDelayReceiver::new(&options, receiver));
    fits("one-way", run(halves.0, halves.1), 0.8, 0.001);
}

/// The same target at the sender, from arrival times.
#[test]
fn a_window_and_a_rate_by_arrivals_with_times() {
    let (sender, receiver) = contexts();
    let options = TimedWindowOptions::preset(Dialect::Rfc);
    options.check().unwrap();
    let halves = (TimedWindowSender::new(&options, sender), TimedWindowReceiver::new(&options, receiver));
    fits("timed-window", run(halves.0, halves.1), 0.85, 0.001);
}
