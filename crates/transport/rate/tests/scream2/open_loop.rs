//! Open-loop feedback: what was sent, and what a receiver reported, independent of the controller.
//!
//! Packets of 1200 B each 10 ms, 20 ms in each direction, a report each 50 ms. From 5 to 7 s the queue grows by 0.5 ms a
//! packet to 100 ms, and it drains until 9 s. Every 20th packet is lost from 10 to 12 s, every 5th until 14 s. Every 10th
//! is marked from 18 to 20 s, every 2nd until 22 s. From 24 s on, the delay alternates by 3 ms.

use headway_rate::{
    ControllerOptions, Feedback, Next, Report, Sender, SenderContext, SenderHalf, Sending, Status, TimedArrival,
    TimedReport,
};
use headway_units::{Bytes, Duration, Ecn, Instant, Random};

const PACKETS: u64 = 3000;
const SIZE: Bytes = Bytes::new(1200);
/// Resolution of arrival times in reports (RFC 8888).
const ATO_NS: u64 = 1_000_000_000 / 1024;

struct Packet {
    sent_ms: u64,
    /// Arrival in us; `None` if lost.
    arrival_us: Option<u64>,
    marked: bool,
}

fn packets() -> Vec<Packet> {
    let mut queue_us: u64 = 0;
    let packet = |n: u64| {
        let sent_ms = 10 * (n + 1);
        match sent_ms {
            5000..7000 => queue_us = (queue_us + 500).min(100_000),
            7000..9000 => queue_us = queue_us.saturating_sub(500),
            _ => {}
        }
        let jitter_us = if sent_ms >= 24_000 && n % 2 == 1 { 3000 } else { 0 };
        let lost =
            (10_000..12_000).contains(&sent_ms) && n % 20 == 7 || (12_000..14_000).contains(&sent_ms) && n % 5 == 2;
        let marked =
            (18_000..20_000).contains(&sent_ms) && n % 10 == 4 || (20_000..22_000).contains(&sent_ms) && n % 2 == 1;
        let arrival_us = (!lost).then_some(1000 * sent_ms + 20_000 + queue_us + jitter_us);
        Packet { sent_ms, arrival_us, marked }
    };
    (0..PACKETS).map(packet).collect()
}

/// Frames of the packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frames {
    /// One packet per frame.
    Each,
    /// All packets are of one frame, written at the start.
    One,
}

/// Drives a sender half that knows the round-trip time `rtt` at the start. Returns its state at each report.
pub(crate) fn run(options: &ControllerOptions, frames: Frames, rtt: Option<Duration>) -> Vec<Status> {
    let mut context = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "open loop"));
    context.rtt = rtt;
    let mut sender = Sender::new(options, context);
    let packets = packets();
    let (mut sent, mut reported, mut states) = (0, 0, vec![]);
    for k in 1..=600u64 {
        let clock_us = 50_000 * k + 5000;
        let now = Instant::from_micros(clock_us + 20_000);
        while let Some(packet) = packets.get(sent).filter(|packet| Instant::from_millis(packet.sent_ms) <= now) {
            let at = Instant::from_millis(packet.sent_ms);
            let mut next = Next::new(SIZE);
            next.ends_frame = frames == Frames::Each;
            next.age = if frames == Frames::One { at.since(Instant::ZERO) } else { Duration::ZERO };
            sender.poll_send(at, &next);
            sender.on_send(at, &Sending::new(sent as u64, Some(SIZE)));
            sent += 1;
        }
        let arrived = |number: &usize| packets[*number].arrival_us.is_some_and(|at| at <= clock_us);
        let newest = (reported..packets.len()).rfind(arrived).unwrap();
        let held_us = |number: usize| clock_us - packets[number].arrival_us.unwrap();
        let state = |number: usize| {
            if !arrived(&number) {
                return TimedArrival::NotReceived;
            }
            let ticks = held_us(number) * 1000 / ATO_NS;
            let ecn = if packets[number].marked { Ecn::Ce } else { Ecn::Ect1 };
            TimedArrival::Received { ecn, before: Some(Duration::from_nanos(ticks * ATO_NS)) }
        };
        let arrivals: Vec<TimedArrival> = (reported..=newest).rev().map(state).collect();
        let report = TimedReport { clock: Instant::from_micros(clock_us), arrivals: &arrivals };
        let mut feedback = Feedback::new(newest as u64, Report::Timed(report));
        let trip = now.since(Instant::from_millis(packets[newest].sent_ms));
        feedback.rtt_sample = Some(trip.saturating_sub(Duration::from_micros(held_us(newest))));
        sender.on_feedback(now, &feedback);
        reported = newest + 1;
        states.push(sender.status());
    }
    states
}
