//! Network of Ericsson's simulator: 25 ms from the sender to a link, whose queue marks by a ramp of 8 to 12 ms of queue
//! delay. The receiver reports at the end of each frame and after 16 packets, and its reports have no delay.
//!
//! An encoder writes 50 frames per second. Their sizes follow the target rate and vary by 22 %, with a correlation of
//! -0.35 from frame to frame, as in the simulator's file of frame sizes.

use headway_rate::{
    Acknowledged, ControllerOptions, Next, Outbound, Report, Sender, SenderContext, TimedArrival, TimedReport,
};
use headway_units::{Bytes, Duration, Ecn, Instant, Random};
use std::collections::VecDeque;

const PAYLOAD: u64 = 1000;
const DELAY: Duration = Duration::from_millis(25);
const FRAME_PERIOD: Duration = Duration::from_millis(20);
/// Number of packets after which the receiver reports within a frame.
const MAX_REPORTED: usize = 16;
const RAMP_S: [f64; 2] = [0.008, 0.012];
const FIRST_TARGET_BPS: f64 = 1e6;

/// Packet that left the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) at: Instant,
    pub(crate) size: u64,
    /// Time in the queue and on the link.
    pub(crate) delay: Duration,
}

struct Waiting {
    written: Instant,
    size: u64,
    ends_frame: bool,
}

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    size: u64,
    ends_frame: bool,
    /// Time at which the packet reaches the queue of the link.
    queued: Instant,
    /// Time at which it leaves the link.
    leaves: Instant,
}

/// Runs the network until `end`. The rate of the link applies to packets that reach it from then on.
pub(crate) fn run(
    options: &ControllerOptions,
    seed: u64,
    end: Instant,
    rate_bps: impl Fn(Instant) -> u64,
) -> Vec<Delivered> {
    let size = Bytes::new(PAYLOAD);
    let mut outbound = Outbound::new(1 << 14);
    outbound.start(Sender::new(options, SenderContext::new(Instant::ZERO, size, Random::new(seed, "sender"))));
    let mut random = Random::new(seed, "network");
    let mut waiting = VecDeque::<Waiting>::new();
    let mut flying = VecDeque::<Packet>::new();
    let mut arrived = Vec::new();
    let (mut queue, mut free) = (VecDeque::<Packet>::new(), Instant::ZERO);
    let (mut now, mut frame, mut draw) = (Instant::ZERO, Instant::ZERO, 0.0);
    let mut delivered = Vec::new();
    while now < end {
        let target = outbound.status().and_then(|status| status.target_rate);
        let target_bps = target.map_or(FIRST_TARGET_BPS, |rate| rate.bits_per_second() as f64);
        if frame <= now {
            let last = std::mem::replace(&mut draw, 0.7 * random.uniform() - 0.35);
            let mut left = (target_bps * FRAME_PERIOD.as_secs_f64() / 8.0 * (1.0 + draw - 0.4 * last)) as u64;
            while left > 0 {
                let size = left.min(PAYLOAD);
                left -= size;
                waiting.push_back(Waiting { written: now, size, ends_frame: left == 0 });
            }
            frame += FRAME_PERIOD;
        }
        while let Some(packet) = flying.pop_front_if(|packet| packet.queued <= now) {
            free = free.max(packet.queued) + Duration::from_secs_f64(8.0 * packet.size as f64 / rate_bps(now) as f64);
            queue.push_back(Packet { leaves: free, ..packet });
        }
        while let Some(packet) = queue.pop_front_if(|packet| packet.leaves <= now) {
            let delay = packet.leaves.since(packet.queued);
            delivered.push(Delivered { at: now, size: packet.size, delay });
            let probability = ((delay.as_secs_f64() - RAMP_S[0]) / (RAMP_S[1] - RAMP_S[0])).clamp(0.0, 1.0);
            let ecn = if random.uniform() < probability { Ecn::Ce } else { Ecn::Ect1 };
            arrived.push((now, ecn));
            if packet.ends_frame || arrived.len() >= MAX_REPORTED {
                let received = |(at, ecn)| TimedArrival::Received { ecn, before: Some(now.since(at)) };
                let arrivals: Vec<TimedArrival> = arrived.drain(..).rev().map(received).collect();
                let acknowledged = Acknowledged { number: packet.number, at_once: true, ..Acknowledged::default() };
                let sample = outbound.measure(now, &acknowledged).map(|trip| trip.sample);
                let report = TimedReport { clock: now, arrivals: &arrivals };
                outbound.on_report(now, packet.number, sample, Report::Timed(report));
            }
        }
        outbound.handle_timeout(now);
        while let Some(first) = waiting.front() {
            let mut next = Next::new(Bytes::new(first.size));
            next.waiting = Bytes::new(waiting.iter().map(|packet| packet.size).sum());
            next.age = now.since(first.written);
            next.ends_frame = first.ends_frame;
            if !outbound.may_send(now, Some(&next)) {
                break;
            }
            let (number, _) = outbound.send(now, Some(next.size), true);
            let queued = now + DELAY;
            flying.push_back(Packet { number, size: first.size, ends_frame: first.ends_frame, queued, leaves: queued });
            waiting.pop_front();
        }
        let events = [
            Some(frame),
            outbound.poll_timeout(),
            flying.front().map(|packet| packet.queued),
            queue.front().map(|packet| packet.leaves),
        ];
        now = events.into_iter().flatten().min().unwrap_or(end).max(now + Duration::from_nanos(1));
    }
    delivered
}
