//! Invariants of RAP with any reports. Shared by the fuzz target and the test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_rate::{
    Arrival, ControllerOptions, Feedback, Next, Permit, Report, Run, Sender, SenderContext, SenderHalf, Sending,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Random, Registry};

const SIZE: Bytes = Bytes::new(1000);
/// Maximum packet gap, also with fine grain, and minimum gap of probes.
const MAX_GAP: Duration = Duration::from_secs(64);

/// Interprets the bytes as events at a sender. The first selects the dialect, and whether a handshake measured a
/// round trip.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let choice = choices.byte();
    let dialect = [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2][usize::from(choice % 3)];
    let options = ControllerOptions::preset("rap", dialect).expect("a kind of this crate");
    let mut context = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "fuzz"));
    context.rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let mut sender = Sender::new(&options, context);
    let mut next = if choice & 32 == 0 { 0 } else { u64::MAX - 20 };
    let mut now = Instant::from_secs(1);
    while let Some(step) = choices.step() {
        now += Duration::from_millis(u64::from(step >> 4));
        match step & 15 {
            0..6 => {
                for _ in 0..=choices.byte() {
                    match sender.poll_send(now, &Next::new(SIZE)) {
                        Permit::At(at) if step & 1 == 0 => now = at,
                        Permit::Now => {
                            sender.on_send(now, &Sending::new(next, (step & 15 != 5).then_some(SIZE)));
                            next = next.wrapping_add(1);
                        }
                        _ => break,
                    }
                }
            }
            6..13 => {
                let acknowledged = next.wrapping_sub(choices.byte().into());
                let flags = choices.byte();
                let runs: Vec<Run> = (0..flags & 7)
                    .map(|_| {
                        let run = choices.byte();
                        let arrival = [Arrival::Received, Arrival::Marked, Arrival::NotReceived, Arrival::Received];
                        let packets = if run & 63 == 63 { u64::MAX } else { (run & 63).into() };
                        Run { arrival: arrival[usize::from(run >> 6)], packets }
                    })
                    .collect();
                let mut feedback = Feedback::new(acknowledged, Report::Arrivals(&runs));
                feedback.rtt_sample = (flags & 8 != 0).then(|| Duration::from_nanos(choices.wide()).min(MAX_GAP));
                let before = sender.congestion_events().loss_events;
                sender.on_feedback(now, &feedback);
                assert!(sender.congestion_events().loss_events <= before + 1, "a report is one loss at most");
            }
            13 => now += Duration::from_millis(1 << (choices.byte() & 31)),
            _ => sender.on_application_limited(now),
        }
        match sender.poll_send(now, &Next::new(SIZE)) {
            Permit::Now => {}
            Permit::At(at) => assert!(at > now && at <= now + MAX_GAP + Duration::from_nanos(1), "{at} at {now}"),
            Permit::Blocked => panic!("RAP waits for nothing but time"),
        }
        assert!(sender.status().target_rate.is_some());
    }
    assert!(format!("{sender:?}").len() < 32 << 20, "its state is bounded");
}
