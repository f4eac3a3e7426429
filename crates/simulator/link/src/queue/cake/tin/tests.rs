//! The numbers of bulk flows of each host, as Linux counts them.

use super::*;
use crate::queue::testing::Packet;
use headway_units::{Dialect, Options as _};

struct Run {
    tin: Tin,
    pool: Pool<Packet>,
    random: Random,
    isolation: Isolation,
}

impl Run {
    fn new(isolation: Isolation) -> Self {
        let mut tin = Tin::new(&Options::preset(Dialect::Linux), None, 1024);
        tin.begin(false);
        Self { tin, pool: Pool::default(), random: Random::new(1, "tin"), isolation }
    }

    /// Enqueues a packet of 1000 B. Returns the slot of its queue.
    fn enqueue(&mut self, hashes: (u64, u64, u64)) -> usize {
        let place = self.tin.queue_of(hashes, self.isolation);
        let packet = self.pool.insert(Packet::of(1000));
        self.tin.flows[place].queue.push(packet, &mut self.pool);
        self.tin.bytes += 1000;
        self.tin.on_arrival(place, self.isolation, &mut self.random);
        place
    }

    /// One step of `cake_dequeue`, by the lists of the tin.
    fn dequeue(&mut self, now: Instant) {
        let list = self.tin.next_list(false);
        let Some(flow) = self.tin.list(list).front().map(|flow| usize::from(*flow)) else { return };
        if self.tin.flows[flow].credits <= 0 {
            self.tin.list(list).pop_front();
            self.tin.move_to_old(flow, self.isolation, &mut self.random);
            return;
        }
        let decisions = &mut VecDeque::new();
        if let Some(packet) = self.tin.serve(flow, now, &mut self.pool, decisions, &mut self.random) {
            self.pool.remove(packet);
        } else {
            self.tin.list(list).pop_front();
            self.tin.found_empty(flow, self.isolation, now);
        }
    }

    /// Returns the bulk flows of a source and of a destination, by their hashes.
    fn bulk(&self, source: u64, destination: u64) -> [u16; 2] {
        let at = |tags: &[u64], hash| tags.iter().position(|tag| *tag == hash);
        let source = at(&self.tin.source_tags, source).map(|host| self.tin.hosts[host].bulk_of_source);
        let destination =
            at(&self.tin.destination_tags, destination).map(|host| self.tin.hosts[host].bulk_of_destination);
        [source.unwrap_or(0), destination.unwrap_or(0)]
    }
}

/// Returns hash number `n` of those whose first slot is that of set 0.
fn in_one_set(n: u64) -> u64 {
    n * QUEUES as u64
}

/// `cake_hash`: if a ninth flow of a set takes over the queue of a bulk flow, the hosts of that flow lose a bulk flow
/// and those of the new one gain one (`srchost_bulk_flow_count--`, then `++` of the host that is found).
#[test]
fn a_bulk_queue_that_is_taken_over_counts_for_the_new_hosts() {
    for (isolation, sources, destinations) in [
        (Isolation::TripleIsolate, true, true),
        (Isolation::DualSrchost, true, false),
        (Isolation::DualDsthost, false, true),
        (Isolation::Flows, false, false),
    ] {
        let counts =
            |source: u16, destination: u16| [source * u16::from(sources), destination * u16::from(destinations)];
        let mut run = Run::new(isolation);
        let places: Vec<_> = (1..=8).map(|n| run.enqueue((in_one_set(n), 100, 200))).collect();
        assert_eq!(run.bulk(100, 200), [0, 0], "new flows are sparse");
        for place in &places {
            run.tin.new.pop_front();
            run.tin.move_to_old(*place, isolation, &mut run.random);
        }
        assert_eq!(run.bulk(100, 200), counts(8, 8), "{isolation:?}");
        assert_eq!(run.enqueue((in_one_set(9), 101, 201)), places[0]);
        assert_eq!((run.bulk(100, 200), run.bulk(101, 201)), (counts(7, 7), counts(1, 1)), "{isolation:?}");
    }
}

#[test]
fn a_host_counts_its_bulk_flows() {
    for isolation in [Isolation::TripleIsolate, Isolation::DualSrchost, Isolation::DualDsthost, Isolation::Flows] {
        let mut run = Run::new(isolation);
        let mut drawn = Random::new(7, "steps");
        let (mut taken_over, mut most) = (0, 0);
        for step in 0..6000_u64 {
            // Twelve flows in eight slots, alternately busy and idle.
            if drawn.bits() % 100 < if step / 500 % 2 == 0 { 60 } else { 20 } {
                let n = 1 + drawn.bits() % 12;
                let bulk_before = run.tin.flows.iter().map(|flow| flow.set == Set::Bulk).collect::<Vec<_>>();
                let tags = run.tin.tags.clone();
                let place = run.enqueue((in_one_set(n), 100 + n % 3, 200 + n % 5));
                taken_over += usize::from(bulk_before[place] && tags[place] != in_one_set(n));
            } else {
                run.dequeue(Instant::from_millis(step));
            }
            let Tin { flows, hosts, .. } = &run.tin;
            let bulk: Vec<_> = flows.iter().filter(|flow| flow.set == Set::Bulk).collect();
            most = most.max(bulk.len());
            for (place, host) in hosts.iter().enumerate() {
                let of = |is_fair: bool, host_of: fn(&Flow) -> u16| {
                    bulk.iter().filter(|flow| is_fair && usize::from(host_of(flow)) == place).count()
                };
                let sources = of(isolation.is_fair_to_sources(), |flow| flow.source);
                let destinations = of(isolation.is_fair_to_destinations(), |flow| flow.destination);
                let counted = (usize::from(host.bulk_of_source), usize::from(host.bulk_of_destination));
                assert_eq!(counted, (sources, destinations), "{isolation:?}, step {step}, host {place}");
            }
        }
        assert!(taken_over > 20 && most == 8, "{taken_over} {most}");
    }
}
