//! Path of 1 Mb/s with 20 ms in each direction and a queue of 40 ms, between two halves with unlimited data.

use headway_rate::{
    Acknowledged, Due, Inbound, Next, Outbound, Own, Received, ReceiverHalf, Report, SenderHalf, TimedArrival,
    TimedReport, Timing,
};
use headway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

pub(crate) const SIZE: Bytes = Bytes::new(500);
const RATE: Rate = Rate::from_bits_per_second(1_000_000);
const DELAY: Duration = Duration::from_millis(20);
const QUEUE: Duration = Duration::from_millis(40);
const CLOCK_OFFSET: Duration = Duration::from_secs(12_345);
const WARM_UP: Instant = Instant::from_secs(10);
const END: Instant = Instant::from_secs(60);

/// Results after the warm-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) used: f64,
    pub(crate) lost: f64,
}

enum Contents {
    Own(Own),
    /// Encoded as by a carrier.
    Timed(Vec<u8>),
}

pub(crate) fn run(sender: impl SenderHalf, receiver: impl ReceiverHalf) -> Outcome {
    let (mut outbound, mut inbound) = (Outbound::new(1000), Inbound::default());
    outbound.start(sender);
    inbound.start(receiver);
    let (mut data, mut reports) = (VecDeque::<(Instant, Received)>::new(), VecDeque::new());
    let (mut free, mut sent, mut lost, mut received) = (Instant::ZERO, 0u64, 0u64, 0u64);
    let mut now = Instant::ZERO;
    while now < END {
        while let Some((_, packet)) = data.pop_front_if(|(at, _)| *at <= now) {
            inbound.on_packet(now + CLOCK_OFFSET, &packet);
            received += u64::from(now >= WARM_UP);
        }
        inbound.handle_timeout(now + CLOCK_OFFSET);
        while let Some(Due { acknowledged, held, report, .. }) = inbound.poll_report(now + CLOCK_OFFSET) {
            let contents = match report {
                Report::Own(own) => Contents::Own(own),
                Report::Timed(report) => {
                    let mut bytes = vec![0; 300];
                    let len = report.encode(&mut bytes).unwrap();
                    bytes.truncate(len);
                    Contents::Timed(bytes)
                }
                report => panic!("{report:?}"),
            };
            reports.push_back((now + DELAY, acknowledged, held, contents));
        }
        while let Some((_, number, held, contents)) = reports.pop_front_if(|(at, ..)| *at <= now) {
            let trip = outbound.measure(now, &Acknowledged { number, held: Some(held), ..Acknowledged::default() });
            let sample = trip.map(|trip| trip.sample);
            match contents {
                Contents::Own(own) => outbound.on_report(now, number, sample, Report::Own(own)),
                Contents::Timed(bytes) => {
                    let mut arrivals = vec![];
                    let ticks = TimedArrival::decode(&bytes, &mut arrivals).unwrap();
                    let clock = Instant::from_nanos(u64::from(ticks) * 1_000_000_000 / 65_536);
                    let report = TimedReport { clock, arrivals: &arrivals };
                    outbound.on_report(now, number, sample, Report::Timed(report));
                }
            }
        }
        outbound.handle_timeout(now);
        while outbound.may_send(now, Some(&Next::new(SIZE))) {
            let (number, stamp) = outbound.send(now, Some(SIZE), true);
            let counts = u64::from(now >= WARM_UP);
            sent += counts;
            free = free.max(now);
            if free.since(now) > QUEUE {
                lost += counts;
                continue;
            }
            free += RATE.time_of(SIZE);
            let stamp = stamp.unwrap();
            let mut packet = Received::new(number, Some(SIZE));
            (packet.own, packet.rtt, packet.timing) = (stamp.own, stamp.rtt, Some(Timing::stamped(now, &stamp)));
            data.push_back((free + DELAY, packet));
        }
        let next = [
            outbound.poll_timeout(),
            inbound.poll_timeout().and_then(|at| at.checked_sub(CLOCK_OFFSET)),
            data.front().map(|packet| packet.0),
            reports.front().map(|report| report.0),
        ];
        now = next.into_iter().flatten().min().unwrap_or(END).max(now + Duration::from_nanos(1));
    }
    let bits = RATE.bits_per_second() as f64 * END.since(WARM_UP).as_secs_f64();
    Outcome { used: (received * SIZE.count() * 8) as f64 / bits, lost: lost as f64 / sent.max(1) as f64 }
}
