//! A chain of FIFO links between senders and sinks: a minimal network for tests of TCP.
//!
//! Times are whole nanoseconds with exact remainders over a busy period. Simultaneous events run in the order of
//! scheduling, as in ns-2.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

use headway_tcp::{Segment, Sender, Sink, TcpOptions};
use headway_units::{Accumulator, Bytes, Duration, Instant, Random, Rate};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Link in both directions. Only the forward direction has a limit and drops packets.
#[derive(Clone, Debug)]
pub struct Hop {
    pub rate: Rate,
    pub delay: Duration,
    pub limit: Limit,
    /// Data packets dropped on arrival, by count from 0.
    pub lost: BTreeSet<u64>,
    /// Data packets marked on arrival, by count from 0.
    pub marked: BTreeSet<u64>,
    /// Probability that a packet is dropped on arrival.
    pub loss: f64,
    pub seed: u64,
}

/// Capacity of a link's queue.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    None,
    /// ns-2's DropTail: a limit of n holds n - 1 waiting packets.
    Ns2(usize),
    /// Linux's pfifo and netem: n packets including the one in transmission.
    Netem(usize),
}

pub fn hop(rate: &str, delay: &str, limit: Limit) -> Hop {
    let (rate, delay) = (rate.parse().unwrap(), delay.parse().unwrap());
    Hop { rate, delay, limit, lost: BTreeSet::new(), marked: BTreeSet::new(), loss: 0.0, seed: 1 }
}

/// Creates ns-2's calibration path: n0 -10Mb/2ms- n1 -`rate`/`delay`- n2 -10Mb/2ms- n3, with the tested queue in the
/// middle.
pub fn dumbbell(rate: &str, delay: &str, limit: usize) -> Vec<Hop> {
    vec![hop("10Mbps", "2ms", Limit::None), hop(rate, delay, Limit::Ns2(limit)), hop("10Mbps", "2ms", Limit::Ns2(50))]
}

/// Results of a connection.
#[derive(Debug)]
pub struct Flow {
    pub sender: Sender,
    pub sink: Sink,
    /// Arrivals at the sink: time in ns and ns-2's number.
    pub received: Vec<(u64, i64)>,
    /// Changes of cwnd or ssthresh: time in ns and new values.
    pub windows: Vec<(u64, f64, f64)>,
    pub data_sent: u64,
}

/// Results of a run.
#[derive(Debug)]
pub struct Outcome {
    pub flows: Vec<Flow>,
    /// Packets dropped by queues: time in ns and ns-2's number.
    pub drops: Vec<(u64, i64)>,
    /// Time average of the middle (or only) queue from `measure_from` on, including the packet in transmission.
    pub mean_queue: f64,
    /// Bytes sent by the middle link.
    pub sent_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Write { flow: usize, segments: u64 },
    Arrive { node: usize, packet: Packet },
    Free { link: usize, back: bool },
    Timer { flow: usize, sink: bool, at: Instant },
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    flow: usize,
    segment: Segment,
}

struct Queue {
    waiting: VecDeque<Packet>,
    busy: Option<Accumulator>,
}

struct World {
    now: Instant,
    order: u64,
    events: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    slots: Vec<What>,
    free: Vec<usize>,
}

impl World {
    fn at(&mut self, at: Instant, what: What) {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(what);
        } else {
            self.slots[slot] = what;
        }
        self.events.push(Reverse((at, self.order, slot)));
        self.order += 1;
    }
}

/// Runs connections (options, start, segments to send) until `until`.
pub fn run(hops: &[Hop], flows: &[(TcpOptions, Instant, u64)], measure_from: Instant, until: Instant) -> Outcome {
    run_with(hops, flows, &[], measure_from, until)
}

/// Runs connections, with later writes (index, time, segments).
pub fn run_with(
    hops: &[Hop],
    flows: &[(TcpOptions, Instant, u64)],
    later: &[(usize, Instant, u64)],
    measure_from: Instant,
    until: Instant,
) -> Outcome {
    let nodes = hops.len();
    let measured = nodes / 2;
    let mut world = World { now: Instant::ZERO, order: 0, events: BinaryHeap::new(), slots: vec![], free: vec![] };
    let mut random = Random::new(hops[nodes / 2].seed, "path");
    let mut queues: Vec<[Queue; 2]> =
        hops.iter().map(|_| [(); 2].map(|()| Queue { waiting: VecDeque::new(), busy: None })).collect();
    let mut entered = vec![0u64; nodes];
    let mut out = Outcome { flows: vec![], drops: vec![], mean_queue: 0.0, sent_bytes: 0 };
    for (index, (options, start, segments)) in flows.iter().enumerate() {
        out.flows.push(Flow {
            sender: Sender::new(options, Random::new(1, "flow")),
            sink: Sink::new(options),
            received: vec![],
            windows: vec![],
            data_sent: 0,
        });
        world.at(*start, What::Write { flow: index, segments: *segments });
    }
    for &(flow, at, segments) in later {
        world.at(at, What::Write { flow, segments });
    }
    let (mut area, mut last) = (0.0, measure_from);
    while let Some(Reverse((at, _, slot))) = world.events.pop() {
        if at > until {
            break;
        }
        world.now = at;
        world.free.push(slot);
        let what = world.slots[slot];
        if at >= last {
            let queue = &queues[measured][0];
            area += (queue.waiting.len() + usize::from(queue.busy.is_some())) as f64 * at.since(last).as_secs_f64();
            last = at;
        }
        match what {
            What::Write { flow, segments } => {
                out.flows[flow].sender.write(at, segments);
                pump(&mut world, &mut out, flow, hops, &mut queues, &mut entered, &mut random);
            }
            What::Timer { flow, sink, at: due } => {
                let machine = &mut out.flows[flow];
                if sink {
                    if machine.sink.poll_timeout() != Some(due) {
                        continue;
                    }
                    machine.sink.handle_timeout(at);
                } else {
                    if machine.sender.poll_timeout() != Some(due) {
                        continue;
                    }
                    machine.sender.handle_timeout(at);
                }
                pump(&mut world, &mut out, flow, hops, &mut queues, &mut entered, &mut random);
            }
            What::Free { link, back } => {
                let queue = &mut queues[link][usize::from(back)];
                match queue.waiting.pop_front() {
                    Some(packet) => transmit(&mut world, hops, queue, link, back, packet),
                    None => queue.busy = None,
                }
            }
            What::Arrive { node, packet } => {
                let flow = packet.flow;
                if !packet.segment.is_ack && node == nodes {
                    let machine = &mut out.flows[flow];
                    machine.received.push((at.as_nanos(), packet.segment.ns2_number()));
                    machine.sink.handle(at, &packet.segment);
                    pump(&mut world, &mut out, flow, hops, &mut queues, &mut entered, &mut random);
                } else if packet.segment.is_ack && node == 0 {
                    out.flows[flow].sender.handle(at, &packet.segment);
                    pump(&mut world, &mut out, flow, hops, &mut queues, &mut entered, &mut random);
                } else {
                    enter(&mut world, &mut out, node, packet, hops, &mut queues, &mut entered, &mut random);
                }
            }
        }
    }
    let queue = &queues[measured][0];
    area += (queue.waiting.len() + usize::from(queue.busy.is_some())) as f64 * until.since(last).as_secs_f64();
    out.mean_queue = area / until.since(measure_from).as_secs_f64().max(1e-9);
    out
}

/// Sends all pending packets of a connection and sets its timers.
fn pump(
    world: &mut World,
    out: &mut Outcome,
    flow: usize,
    hops: &[Hop],
    queues: &mut [[Queue; 2]],
    entered: &mut [u64],
    random: &mut Random,
) {
    while let Some(segment) = out.flows[flow].sink.poll_transmit(world.now) {
        enter(world, out, hops.len(), Packet { flow, segment }, hops, queues, entered, random);
    }
    while let Some(segment) = out.flows[flow].sender.poll_transmit(world.now) {
        out.flows[flow].data_sent += 1;
        enter(world, out, 0, Packet { flow, segment }, hops, queues, entered, random);
    }
    let machine = &mut out.flows[flow];
    let now = (machine.sender.cwnd(), machine.sender.ssthresh());
    if machine.windows.last().is_none_or(|last| (last.1, last.2) != now) {
        machine.windows.push((world.now.as_nanos(), now.0, now.1));
    }
    for (sink, due) in [(false, machine.sender.poll_timeout()), (true, machine.sink.poll_timeout())] {
        if let Some(at) = due {
            world.at(at, What::Timer { flow, sink, at });
        }
    }
}

/// Passes a packet at `node` to the next link: forward for data, backward for acknowledgements.
#[allow(clippy::too_many_arguments, reason = "a test's plumbing")]
fn enter(
    world: &mut World,
    out: &mut Outcome,
    node: usize,
    mut packet: Packet,
    hops: &[Hop],
    queues: &mut [[Queue; 2]],
    entered: &mut [u64],
    random: &mut Random,
) {
    let back = packet.segment.is_ack;
    let link = if back { node - 1 } else { node };
    let queue = &mut queues[link][usize::from(back)];
    if !back {
        let index = entered[link];
        entered[link] += 1;
        let full = match hops[link].limit {
            Limit::None => false,
            Limit::Ns2(limit) => queue.busy.is_some() && queue.waiting.len() + 1 >= limit,
            Limit::Netem(limit) => queue.waiting.len() + usize::from(queue.busy.is_some()) >= limit,
        };
        let lost = hops[link].lost.contains(&index) || (hops[link].loss > 0.0 && random.uniform() < hops[link].loss);
        if lost || full {
            out.drops.push((world.now.as_nanos(), packet.segment.ns2_number()));
            return;
        }
        if hops[link].marked.contains(&index) && packet.segment.ecn.is_capable() {
            packet.segment.ecn = headway_units::Ecn::Ce;
        }
        if link == hops.len() / 2 {
            out.sent_bytes += u64::from(packet.segment.size);
        }
    }
    if queue.busy.is_some() {
        queue.waiting.push_back(packet);
    } else {
        queue.busy = Some(Accumulator::starting(world.now));
        transmit(world, hops, queue, link, back, packet);
    }
}

fn transmit(world: &mut World, hops: &[Hop], queue: &mut Queue, link: usize, back: bool, packet: Packet) {
    let busy = queue.busy.as_mut().expect("a transmitting link is busy");
    let done = busy.advance(Bytes::new(u64::from(packet.segment.size)), hops[link].rate);
    let node = if back { link } else { link + 1 };
    world.at(done + hops[link].delay, What::Arrive { node, packet });
    world.at(done, What::Free { link, back });
}
