//! Prints what a queue does with a list of arrivals. Each input line has the time in ns, flow, bytes, the traffic
//! class (the byte of DSCP and ECN; 0 by default) and, for an `asked` queue, the 64-bit numbers that it draws. Output:
//! `NS - NUMBER` for each packet that departs (on a link: whose transmission begins), `NS d NUMBER` for each dropped
//! and `NS m NUMBER` for each marked packet, in order. Packets are numbered from 0.
//!
//! usage: departures KIND DIALECT OPTIONS RATE|asked [SEED] < ARRIVALS
//!        departures draws NUMBER                                (numbers that the queue of a link draws, one per line)
//!
//! Flows 0 and 1 have one source host, 2 and 3 another, and so on; all have one destination.
//!
//! OPTIONS is a JSON object that overrides the preset of the dialect, such as `{"limit": "100packets"}`. The queue is
//! that of a link of RATE, or it is separate and `asked` for a packet at given times, lines of `NS -` among the
//! arrivals. `validation/ns3/run` compares it with ns-3, `validation/kernel-queues/run` with Linux.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "wrong arguments cause a panic")]

use headway_engine::{Class, Moment, Ties};
use headway_link::queue::{Arrival, Backlog, Discipline, Hosts, LinkProperties, Verdict};
use headway_link::{Config, Decision, DroppedPacket, Handle, Handler, Item, Pool, Ports, QueueOptions};
use headway_record::Measured;
use headway_units::{Bytes, Dscp, Duration, Ecn, Instant, Random, Rate, Registry, SchemaRegistry};
use std::collections::VecDeque;

const SEED: u64 = 1;

struct Packet {
    number: usize,
    flow: u64,
    size: u32,
    dscp: Dscp,
    ecn: Ecn,
    /// Whether the queue has marked it.
    marked: bool,
}

impl Item for Packet {
    fn release(&mut self) {}
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
        self.marked = true;
    }
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn host_pair(&self) -> (usize, bool) {
        (self.flow as usize, true)
    }
}

/// A line of the input.
enum Line {
    Comes(Instant, Packet, Option<Random>),
    Asked(Instant, Option<Random>),
}

fn lines(text: &str) -> Vec<Line> {
    let mut number = 0;
    let line = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let field = |place: usize| fields[place].parse::<u64>().expect("a number");
        let at = Instant::from_nanos(field(0));
        let drawn = |from: usize| {
            let bits: Vec<_> = (from..fields.len()).map(field).collect();
            (!bits.is_empty()).then(|| Random::scripted(&bits))
        };
        if fields[1] == "-" {
            return Line::Asked(at, drawn(2));
        }
        let class = fields.get(3).map_or(0, |class| class.parse::<u8>().expect("from 0 to 255"));
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(class & 3)];
        let dscp = Dscp::new(class >> 2).expect("six bits");
        number += 1;
        Line::Comes(
            at,
            Packet { number: number - 1, flow: field(1), size: field(2) as u32, dscp, ecn, marked: false },
            drawn(4),
        )
    };
    text.lines().map(line).collect()
}

fn options(kind: &str, dialect: &str, changes: &str) -> QueueOptions {
    let preset = QueueOptions::preset(kind, dialect.parse().expect("a dialect")).expect("a kind of queue");
    let mut options = serde_json::to_value(preset).unwrap();
    let table = options.as_object_mut().unwrap();
    table.remove("kind");
    let changes: serde_json::Map<_, _> = serde_json::from_str(changes).expect("options in JSON");
    table.extend(changes);
    let options = QueueOptions::deserialize(kind, options).expect("options of this kind");
    options.check().expect("options in their ranges");
    options
}

fn print(at: Instant, what: char, packet: &Packet) {
    println!("{} {what} {}", at.as_nanos(), packet.number);
}

/// Prints the decisions of the queue, and keeps the start of a transmission, which is printed after them.
#[derive(Default)]
struct Printer {
    begun: Option<(Instant, usize)>,
}

impl Handler<Packet> for Printer {
    const HOPS: bool = true;

    fn transmitted(&mut self, _: Handle, packet: &Packet, start: Instant, _: Instant) {
        self.begun = Some((start, packet.number));
    }
    fn duplicate(&mut self, _: Instant, _: usize, _: &Packet, _: usize) -> Option<Packet> {
        None
    }
    fn marked(&mut self, now: Instant, _: usize, _: Handle, packet: &mut Packet) {
        print(now, 'm', packet);
        packet.marked = false;
    }
    fn dropped(&mut self, drop: DroppedPacket<'_, Packet>) {
        // Marked, and then dropped by a full queue.
        if drop.packet.marked {
            print(drop.now, 'm', drop.packet);
        }
        print(drop.now, 'd', drop.packet);
    }
}

/// The queue of a link.
fn on_link(queue: QueueOptions, rate: Rate, seed: u64, lines: Vec<Line>) {
    let config = Config { two_events: true, ..Config::new(rate, Duration::from_millis(1), queue) };
    let measured = Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
    let mut link = Ports::new(Ties::Drawn, &measured, Printer::default());
    link.add(&config.into(), seed, "link", false);
    link.set_hosts(&hosts());
    let arrivals = lines.into_iter().map(|line| match line {
        Line::Comes(at, packet, _) => (at, packet),
        Line::Asked(..) => panic!("a link is not asked: give `asked` for its rate"),
    });
    let mut arrivals = arrivals.peekable();
    loop {
        // Before other events of that time.
        let end = arrivals.peek().map_or(Moment::after_all(Instant::FAR_FUTURE), |(at, _)| Moment::before_all(*at));
        if let Some((now, actor)) = link.events.pop_before(end) {
            if actor.class() == Class::Departure {
                link.departed(now, 0);
            } else if let Some(packet) = link.arrived(now, 0) {
                link.packets.remove(packet);
            }
        } else if let Some((at, packet)) = arrivals.next() {
            let packet = link.packets.insert(packet);
            // RED uses the idle time of the link.
            link.offer(Moment::new(at), 0, packet);
        } else {
            return;
        }
        if let Some((start, number)) = link.handler.begun.take() {
            println!("{} - {number}", start.as_nanos());
        }
    }
}

/// Returns the hosts of the first flows.
fn hosts() -> Hosts {
    (0..64).map(|flow| (flow / 2, 64)).collect()
}

fn draw_from(queue: &mut Discipline, drawn: Option<&Random>) {
    if let (Discipline::Cake(cake), Some(drawn)) = (queue, drawn) {
        cake.draw_from(drawn.clone());
    }
}

fn decided(at: Instant, decision: Decision, pool: &mut Pool<Packet>) {
    match decision {
        Decision::Marked(packet) => {
            print(at, 'm', pool.get(packet));
            pool.get_mut(packet).ecn = Ecn::Ce;
        }
        Decision::Dropped { packet, .. } => {
            print(at, 'd', pool.get(packet));
            pool.remove(packet);
        }
    }
}

/// Drives a queue without a link. A packet is always in transmission, so that no packet is admitted above the limit.
fn asked(queue: &QueueOptions, seed: u64, lines: Vec<Line>) {
    let facts = LinkProperties { rate: Rate::from_bits_per_second(1), delay: Duration::ZERO };
    let (mut queue, mut random) = (Discipline::new(queue, facts), Random::new(seed, "queue"));
    queue.set_hosts(&hosts());
    let (mut pool, mut decisions) = (Pool::default(), VecDeque::new());
    for line in lines {
        let at = match line {
            Line::Comes(at, packet, mut drawn) => {
                let arrival = Arrival { size: Bytes::new(u64::from(packet.size)), ecn: packet.ecn, dscp: packet.dscp };
                draw_from(&mut queue, drawn.as_ref());
                let (packets, bytes) = queue.waiting();
                let backlog = Backlog { packets, bytes, idle: false, idle_s: 0.0 };
                let packet = pool.insert(packet);
                match queue.admit(at, &backlog, arrival, drawn.as_mut().unwrap_or(&mut random)) {
                    Verdict::Admit => queue.enqueue(at, packet, &mut pool, &mut decisions),
                    Verdict::Mark => {
                        decisions.push_back(Decision::Marked(packet));
                        queue.enqueue(at, packet, &mut pool, &mut decisions);
                    }
                    Verdict::Drop(cause) => decisions.push_back(Decision::Dropped { packet, enqueued: at, cause }),
                    other => panic!("{other:?}: this queue does not enqueue what waits"),
                }
                decisions.drain(..).for_each(|decision| decided(at, decision, &mut pool));
                continue;
            }
            Line::Asked(at, drawn) => {
                draw_from(&mut queue, drawn.as_ref());
                at
            }
        };
        let left = queue.dequeue(at, &mut pool, &mut decisions);
        decisions.drain(..).for_each(|decision| decided(at, decision, &mut pool));
        if let Some(packet) = left {
            print(at, '-', pool.get(packet));
            pool.remove(packet);
        }
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if let [what, number] = &arguments[..]
        && what == "draws"
    {
        let mut random = Random::new(SEED, "link link queue");
        (0..number.parse().expect("a number")).for_each(|_| println!("{}", random.uniform()));
        return;
    }
    let [kind, dialect, changes, rate, seed @ ..] = &arguments[..] else {
        panic!("usage: departures KIND DIALECT OPTIONS RATE|asked [SEED] < ARRIVALS");
    };
    let seed = seed.first().map_or(SEED, |seed| seed.parse().expect("a seed"));
    let queue = options(kind, dialect, changes);
    let lines = lines(&std::io::read_to_string(std::io::stdin()).expect("a text"));
    match &rate[..] {
        "asked" => asked(&queue, seed, lines),
        rate => on_link(queue, rate.parse().expect("a rate"), seed, lines),
    }
}
