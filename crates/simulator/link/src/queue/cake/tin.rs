//! A tin: the queues of a class and their scheduler (DRR++; Linux `cake_hash`, `cake_enqueue`, `cake_dequeue`).

use super::ways::{self, QUEUES};
use super::{Isolation, Options};
use crate::pool::{Handle, Item, Pool};
use crate::queue::Decision;
use crate::queue::cobalt::{self, Action, Control};
use crate::sublist::Sublist;
use headway_units::{DropCause, Instant, Random};
use std::collections::VecDeque;

/// Transmission time per byte at the rate of a tin: ns = bytes * `ns` >> `shift`, as in Linux.
#[derive(Clone, Copy, Debug)]
struct Pace {
    ns: u64,
    shift: u32,
}

impl Pace {
    fn of(bytes_per_second: u64) -> Self {
        let (mut ns, mut shift) = ((1_000_000_000_u64 << 34) / bytes_per_second.max(64), 34);
        while ns >> 34 > 0 {
            ns >>= 1;
            shift -= 1;
        }
        Self { ns, shift }
    }

    fn time(self, bytes: u64) -> u64 {
        ((u128::from(bytes) * u128::from(self.ns)) >> self.shift) as u64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// On no list: it has no packets and no state.
    None,
    /// On the list of new queues, or on that of old queues without packets.
    Sparse,
    /// On the list of old queues, without packets, and still counted as sparse.
    SparseWait,
    /// On the list of old queues.
    Bulk,
    /// Without packets; the state of COBALT is not initial yet.
    Decaying,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) queue: Sublist,
    pub(super) control: Control,
    pub(super) credits: i64,
    pub(super) set: Set,
    source: u16,
    destination: u16,
}

/// A slot for a source and a destination host, with their numbers of bulk flows.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    bulk_of_source: u16,
    bulk_of_destination: u16,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

#[derive(Debug)]
pub(super) struct Tin {
    pub(super) params: cobalt::Params,
    /// Transmission time at the threshold rate, if there is a bandwidth.
    pace: Option<Pace>,
    /// Quantum of a flow, in bytes.
    flow_quantum: i64,
    /// Quantum of the tin, in bytes.
    pub(super) quantum: i64,
    pub(super) credits: i64,
    /// When it is within its threshold again, in ns.
    pub(super) next: u64,
    /// Number of flows with packets, or with packets until recently.
    pub(super) active: u32,
    pub(super) new: VecDeque<u16>,
    pub(super) old: VecDeque<u16>,
    pub(super) decaying: VecDeque<u16>,
    pub(super) flows: Vec<Flow>,
    tags: Vec<u64>,
    hosts: Vec<Host>,
    source_tags: Vec<u64>,
    destination_tags: Vec<u64>,
    pub(super) bytes: u64,
}

impl Tin {
    /// Creates a tin; `rate` is its threshold in bytes per second.
    pub(super) fn new(options: &Options, rate: Option<u64>, quantum: i64) -> Self {
        let pace = rate.map(Pace::of);
        let mtu_time = pace.map_or(0, |pace| pace.time(options.mtu.count()));
        let (target, interval) = (options.target.as_nanos(), options.interval.as_nanos());
        let stretched = target.max(mtu_time.saturating_mul(3) / 2);
        let interval = (interval + (stretched - target)).max(stretched.saturating_mul(2));
        let mtu = options.mtu.count() as i64;
        Self {
            params: cobalt::Params { target: stretched, interval, mtu_time },
            pace,
            flow_quantum: rate.map_or(mtu, |rate| ((rate >> 12) as i64).min(mtu).max(300)),
            quantum,
            credits: 0,
            next: 0,
            active: 0,
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            flows: Vec::new(),
            tags: Vec::new(),
            hosts: Vec::new(),
            source_tags: Vec::new(),
            destination_tags: Vec::new(),
            bytes: 0,
        }
    }

    /// Allocates the queues, at the first packet.
    pub(super) fn begin(&mut self, first_waits: bool) {
        let flow = || Flow {
            queue: Sublist::default(),
            control: Control::new(first_waits),
            credits: 0,
            set: Set::None,
            source: 0,
            destination: 0,
        };
        self.flows.resize_with(QUEUES, flow);
        self.hosts.resize(QUEUES, Host::default());
        for tags in [&mut self.tags, &mut self.source_tags, &mut self.destination_tags] {
            tags.resize(QUEUES, 0);
        }
    }

    /// Returns the queue of these hashes (`cake_hash`).
    pub(super) fn queue_of(&mut self, (hash, source, destination): (u64, u64, u64), isolation: Isolation) -> usize {
        let (place, is_new) = ways::place(hash, &self.tags, |place| self.flows[place].set == Set::None);
        if is_new {
            self.tags[place] = hash;
            let is_bulk = self.flows[place].set == Set::Bulk;
            // The slot belonged to a flow of other hosts, and is shared from now on.
            if is_bulk {
                self.count_bulk(place, isolation, -1);
            }
            if isolation.is_fair_to_sources() {
                let (host, _) = ways::place(source, &self.source_tags, |host| self.hosts[host].bulk_of_source == 0);
                self.source_tags[host] = source;
                self.flows[place].source = host as u16;
            }
            if isolation.is_fair_to_destinations() {
                let tags = &self.destination_tags;
                let (host, _) = ways::place(destination, tags, |host| self.hosts[host].bulk_of_destination == 0);
                self.destination_tags[host] = destination;
                self.flows[place].destination = host as u16;
            }
            if is_bulk {
                self.count_bulk(place, isolation, 1);
            }
        }
        place
    }

    /// Adds `change` to the number of bulk flows of the hosts of a flow.
    fn count_bulk(&mut self, flow: usize, isolation: Isolation, change: i16) {
        let Flow { source, destination, .. } = self.flows[flow];
        if isolation.is_fair_to_sources() {
            let count = &mut self.hosts[usize::from(source)].bulk_of_source;
            *count = count.saturating_add_signed(change);
        }
        if isolation.is_fair_to_destinations() {
            let count = &mut self.hosts[usize::from(destination)].bulk_of_destination;
            *count = count.saturating_add_signed(change);
        }
    }

    /// Returns the quantum of a flow for one round, in bytes. The remainder of the division is rounded at random, so
    /// that no bytes are lost in the long run.
    fn round_quantum(&self, flow: usize, isolation: Isolation, random: &mut Random) -> i64 {
        let Flow { source, destination, .. } = self.flows[flow];
        let mut load = 1;
        if isolation.is_fair_to_sources() {
            load = load.max(self.hosts[usize::from(source)].bulk_of_source);
        }
        if isolation.is_fair_to_destinations() {
            load = load.max(self.hosts[usize::from(destination)].bulk_of_destination);
        }
        let drawn = (random.bits() >> 48) as i64;
        (self.flow_quantum * i64::from(u16::MAX / load) + drawn) >> 16
    }

    /// Returns the list whose first flow is served next (`cake_dequeue`).
    pub(super) fn next_list(&self, may_decay: bool) -> List {
        if may_decay && !self.decaying.is_empty() {
            List::Decaying
        } else if !self.new.is_empty() {
            List::New
        } else if !self.old.is_empty() {
            List::Old
        } else {
            List::Decaying
        }
    }

    pub(super) fn list(&mut self, list: List) -> &mut VecDeque<u16> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
            List::Decaying => &mut self.decaying,
        }
    }

    /// Returns the next packet of a flow, if it has one.
    pub(super) fn serve<T: Item>(
        &mut self,
        flow: usize,
        now: Instant,
        pool: &mut Pool<T>,
        decisions: &mut VecDeque<Decision>,
        random: &mut Random,
    ) -> Option<Handle> {
        let Flow { queue, control, .. } = &mut self.flows[flow];
        loop {
            let packet = queue.pop(pool)?;
            let slot = pool.slot(packet)?;
            let (enqueued, size, is_ecn) = (slot.since, u64::from(slot.item.size()), slot.item.ecn().is_capable());
            self.bytes -= size;
            let action = control.decide(&self.params, now, now.since(enqueued), is_ecn, random);
            if matches!(action, Action::Drop | Action::MarkAndDrop) && queue.packets() > 0 {
                decisions.push_back(Decision::Dropped { packet, enqueued, cause: DropCause::Early });
                continue;
            }
            if matches!(action, Action::Mark | Action::MarkAndDrop) {
                decisions.push_back(Decision::Marked(packet));
            }
            self.charge(flow, size, now);
            return Some(packet);
        }
    }

    /// Moves a flow whose credits are spent to the end of the old list, with the credits of its next round.
    pub(super) fn move_to_old(&mut self, flow: usize, isolation: Isolation, random: &mut Random) {
        if self.flows[flow].set == Set::Sparse {
            let has_packets = self.flows[flow].queue.packets() > 0;
            self.flows[flow].set = if has_packets { Set::Bulk } else { Set::SparseWait };
            if has_packets {
                self.count_bulk(flow, isolation, 1);
            }
        }
        self.flows[flow].credits += self.round_quantum(flow, isolation, random);
        self.old.push_back(flow as u16);
    }

    /// Updates a flow that was found empty and was removed from its list.
    pub(super) fn found_empty(&mut self, flow: usize, isolation: Isolation, now: Instant) {
        let Flow { control, set, .. } = &mut self.flows[flow];
        control.found_empty(&self.params, now);
        let next = if control.is_at_rest(now) { Set::None } else { Set::Decaying };
        let before = std::mem::replace(set, next);
        if next == Set::Decaying {
            self.decaying.push_back(flow as u16);
        }
        if before != Set::Decaying {
            self.active -= 1;
        }
        if before == Set::Bulk {
            self.count_bulk(flow, isolation, -1);
        }
    }

    fn charge(&mut self, flow: usize, size: u64, now: Instant) {
        if let Some(pace) = self.pace {
            let (now, time) = (now.as_nanos(), pace.time(size));
            if self.next < now {
                self.next += time;
            } else {
                self.next = self.next.max(now.saturating_add(time));
            }
        }
        self.flows[flow].credits -= size as i64;
        self.credits -= size as i64;
    }

    /// Updates a flow that has received a packet (`cake_enqueue`).
    pub(super) fn on_arrival(&mut self, flow: usize, isolation: Isolation, random: &mut Random) {
        match self.flows[flow].set {
            Set::None | Set::Decaying => {
                if self.flows[flow].set == Set::Decaying {
                    self.decaying.retain(|other| usize::from(*other) != flow);
                }
                self.new.push_back(flow as u16);
                self.active += 1;
                self.flows[flow].set = Set::Sparse;
                self.flows[flow].credits = self.round_quantum(flow, isolation, random);
            }
            Set::SparseWait => {
                self.flows[flow].set = Set::Bulk;
                self.count_bulk(flow, isolation, 1);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }
}

#[cfg(test)]
mod tests;
