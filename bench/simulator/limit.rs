//! Limit of one core: the star of the benchmark, reduced to links, packets and an event queue.
//!
//! usage: limit tcp|cbr N SECONDS
//!
//! There are no TCP, statistics, routes and options. `tcp` has N constant windows of four packets, each acknowledged;
//! `cbr` has N constant rates. Each hop is one event: a FIFO link knows at arrival when the packet will leave, and
//! only the first packet of a link is in the event queue. The difference to a simulator is the cost of its real work.

use std::collections::VecDeque;

/// Unit of time: picoseconds.
const MILLISECOND: u64 = 1_000_000_000;
const DATA_BYTES: u64 = 1500;
const ACK_BYTES: u64 = 40;
const WINDOW: u64 = 4;
const NONE: u32 = u32::MAX;

/// Timer wheel. Each id has at most one event, so that a slot is a list linked by `next`. All events are within its
/// range: 10 ms of delay, and less than 5 ms of transmission or pause.
struct Wheel {
    slot_bits: u32,
    first: Vec<u32>,
    next: Vec<u32>,
    due: Vec<u64>,
    slot: u64,
    /// Events of the current slot, the latest first.
    present: Vec<(u64, u32)>,
}

/// Range of the wheel, as a power of two in ps: 17 ms.
const REACH_BITS: u32 = 34;

impl Wheel {
    fn new(slots: usize, ids: usize) -> Self {
        Self {
            slot_bits: REACH_BITS - slots.trailing_zeros(),
            first: vec![NONE; slots],
            next: vec![NONE; ids],
            due: vec![0; ids],
            slot: 0,
            present: Vec::new(),
        }
    }

    fn add(&mut self, at: u64, id: u32) {
        let slot = at >> self.slot_bits;
        if slot <= self.slot {
            let place = self.present.iter().rposition(|event| *event > (at, id)).map_or(0, |place| place + 1);
            self.present.insert(place, (at, id));
            return;
        }
        assert!(slot - self.slot < self.first.len() as u64, "an event beyond the wheel's reach");
        let place = slot as usize & (self.first.len() - 1);
        self.due[id as usize] = at;
        self.next[id as usize] = self.first[place];
        self.first[place] = id;
    }

    /// Removes the next event before `end`.
    fn pop(&mut self, end: u64) -> Option<(u64, u32)> {
        while self.present.is_empty() {
            self.slot += 1;
            if self.slot << self.slot_bits >= end {
                return None;
            }
            let place = self.slot as usize & (self.first.len() - 1);
            let mut id = std::mem::replace(&mut self.first[place], NONE);
            while id != NONE {
                self.present.push((self.due[id as usize], id));
                id = self.next[id as usize];
            }
            self.present.sort_unstable_by(|one, other| other.cmp(one));
        }
        self.present.pop().filter(|event| event.0 < end)
    }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    is_ack: bool,
}

struct Link {
    data_time: u64,
    ack_time: u64,
    delay: u64,
    limit: usize,
    free_at: u64,
    /// Packets in the queue and on the link, with their arrival times at the far end.
    packets: VecDeque<(u64, Packet)>,
    /// Number of these that have left the near end.
    left: usize,
}

impl Link {
    fn new(bits_per_second: u64, delay_ms: u64, limit: usize) -> Self {
        let time = |bytes| bytes * 8_000_000_000_000 / bits_per_second;
        let (data_time, ack_time) = (time(DATA_BYTES), time(ACK_BYTES));
        Self {
            data_time,
            ack_time,
            delay: delay_ms * MILLISECOND,
            limit,
            free_at: 0,
            packets: VecDeque::new(),
            left: 0,
        }
    }
}

struct Star {
    wheel: Wheel,
    /// Links from each client to the gateway, to each client, to the server and from it.
    links: Vec<Link>,
    clients: u32,
    hops: u64,
    delivered: u64,
    dropped: u64,
}

impl Star {
    fn send(&mut self, now: u64, to: u32, packet: Packet) {
        let link = &mut self.links[to as usize];
        while link.packets.get(link.left).is_some_and(|(arrival, _)| arrival - link.delay <= now) {
            link.left += 1;
        }
        if link.packets.len() - link.left > link.limit {
            self.dropped += 1;
            return;
        }
        link.free_at = link.free_at.max(now) + if packet.is_ack { link.ack_time } else { link.data_time };
        let arrival = link.free_at + link.delay;
        link.packets.push_back((arrival, packet));
        if link.packets.len() == 1 {
            self.wheel.add(arrival, to);
        }
    }

    fn arrive(&mut self, now: u64, from: u32, acknowledges: bool) {
        let link = &mut self.links[from as usize];
        let Some((_, packet)) = link.packets.pop_front() else { return };
        link.left = link.left.saturating_sub(1);
        if let Some((arrival, _)) = link.packets.front() {
            self.wheel.add(*arrival, from);
        }
        self.hops += 1;
        let (to_server, to_gateway) = (2 * self.clients, 2 * self.clients + 1);
        if from < self.clients {
            self.send(now, to_server, packet);
        } else if from < to_server {
            self.send(now, packet.flow, Packet { is_ack: false, ..packet });
        } else if from == to_gateway {
            self.send(now, self.clients + packet.flow, packet);
        } else {
            self.delivered += 1;
            if acknowledges {
                self.send(now, to_gateway, Packet { is_ack: true, ..packet });
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, clients, seconds] = &arguments[..] else { panic!("usage: limit tcp|cbr N SECONDS") };
    let is_tcp = kind == "tcp";
    let clients: u32 = clients.parse().expect("N is a number");
    let end = (seconds.parse::<f64>().expect("SECONDS is a number") * 1000.0) as u64 * MILLISECOND;

    let (rate, limit) =
        if is_tcp { (u64::from(clients) * 1_000_000, 2 * clients as usize) } else { (155_000_000, 1000) };
    let mut links: Vec<Link> = (0..2 * clients).map(|_| Link::new(10_000_000, 3, 1000)).collect();
    links.extend([Link::new(rate, 10, limit), Link::new(rate, 10, 100_000)]);
    let sources = links.len() as u32;
    // About one event per slot.
    let slots = (8 * clients as usize).next_power_of_two();
    let wheel = Wheel::new(slots, links.len() + clients as usize);
    let mut star = Star { wheel, links, clients, hops: 0, delivered: 0, dropped: 0 };

    // A window is filled by one packet per 10 ms, so that no initial burst is lost.
    let interval = if is_tcp { 10 * MILLISECOND } else { DATA_BYTES * 8_000_000_000_000 / 3_000_000 };
    for flow in 0..clients {
        let start = if is_tcp { interval * u64::from(flow) / u64::from(clients) } else { 77_000_000 * u64::from(flow) };
        star.wheel.add(start, sources + flow);
    }
    while let Some((now, id)) = star.wheel.pop(end) {
        if id < sources {
            star.arrive(now, id, is_tcp);
            continue;
        }
        let flow = id - sources;
        star.send(now, flow, Packet { flow, is_ack: false });
        if !is_tcp || now < (WINDOW - 1) * interval {
            star.wheel.add(now + interval, id);
        }
    }
    println!("hops {} delivered {} dropped {}", star.hops, star.delivered, star.dropped);
}
