use super::*;
use proptest::prelude::*;

const fn us(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn options(arrival: u64, delivery: u64, queue: u64, ring: u64) -> HostOptions {
    HostOptions {
        arrival: Duration::from_nanos(arrival),
        delivery: Duration::from_nanos(delivery),
        queue: QueueSize::Packets(queue),
        ring: QueueSize::Packets(ring),
    }
}

/// A host as in Mogul and Ramakrishnan: 15 us for an arrival, 180 us for a delivery.
fn host(queue: u64, ring: u64) -> Host<u64> {
    Host::new(&options(15_000, 180_000, queue, ring))
}

/// Outcome of packets that arrive at these times: deliveries in order, and drops with the number of the packet.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    delivered: Vec<(Instant, u64)>,
    dropped: Vec<(u64, HostDrop)>,
    waiting: usize,
}

fn drive(mut host: Host<u64>, arrivals: &[Instant], end: Instant) -> Seen {
    let mut seen = Seen::default();
    let deliver = |host: &mut Host<u64>, until: Instant| {
        let mut delivered = Vec::new();
        while let Some(at) = host.poll_timeout().filter(|at| *at <= until) {
            delivered.push((at, host.deliver(at).unwrap()));
        }
        delivered
    };
    for (&at, number) in arrivals.iter().zip(0..) {
        seen.delivered.extend(deliver(&mut host, at));
        seen.dropped.extend(host.arrive(at, number).err().map(|cause| (number, cause)));
    }
    seen.delivered.extend(deliver(&mut host, end));
    seen.waiting = host.packets();
    seen
}

#[test]
fn an_idle_host_takes_arrival_and_delivery() {
    let seen = drive(host(1, 1), &[us(100), us(1000)], us(9999));
    assert_eq!(seen.delivered, [(us(295), 0), (us(1195), 1)]);
}

/// 85 us of the first delivery are done when the second packet arrives; then 95 us are left.
#[test]
fn an_arrival_preempts_a_delivery_which_resumes() {
    let seen = drive(host(9, 9), &[us(0), us(100)], us(9999));
    assert_eq!(seen.delivered, [(us(15 + 180 + 15), 0), (us(210 + 180), 1)]);
}

/// Three packets at once: 45 us of arrival work before the first delivery, which a later arrival does not postpone.
#[test]
fn arrival_work_has_priority_over_deliveries() {
    let seen = drive(host(9, 9), &[us(0), us(0), us(0), us(225)], us(9999));
    assert_eq!(seen.delivered, [(us(225), 0), (us(420), 1), (us(600), 2), (us(780), 3)]);
}

/// The packet that is being delivered is not in the queue; one whose delivery has not begun is. Drops cost an arrival.
#[test]
fn a_full_queue_drops_at_the_cost_of_an_arrival() {
    let at_once = drive(host(2, 9), &[us(0); 4], us(9999));
    assert_eq!(at_once.dropped, [(2, HostDrop::Queue), (3, HostDrop::Queue)]);
    assert_eq!(at_once.delivered, [(us(240), 0), (us(420), 1)]);
    let later = drive(host(2, 9), &[us(0), us(15), us(30), us(45)], us(9999));
    assert_eq!(later.dropped, [(3, HostDrop::Queue)], "the first left the queue at 15 us");
    assert_eq!(later.delivered, [(us(240), 0), (us(420), 1), (us(600), 2)]);
}

/// Two packets are on the ring, including the one that is being processed; at 15 us there is space again.
#[test]
fn a_full_ring_drops_at_no_cost() {
    let seen = drive(host(9, 2), &[us(0), us(0), us(0), us(14), us(15)], us(9999));
    assert_eq!(seen.dropped, [(2, HostDrop::Ring), (3, HostDrop::Ring)]);
    assert_eq!(seen.delivered, [(us(225), 0), (us(405), 1), (us(585), 4)]);
}

/// The equations of the module. 1 / 195 us is 5128 packets per second, 1 / 15 us is 66667.
#[test]
fn throughput_falls_to_zero_above_its_peak() {
    for (gap_ns, delivered) in [
        (400_000, 25_000), // 2500/s
        (195_000, 51_282),
        (100_000, 47_222), // (1 - 0.15) / 180 us = 4722/s
        (50_000, 38_889),
        (25_000, 22_222),
        (16_000, 3_472),
        (15_000, 0),
        (5_000, 0),
    ] {
        let end = Instant::from_secs(10);
        let arrivals: Vec<_> =
            (0..end.as_nanos() / gap_ns).map(|number| Instant::from_nanos(number * gap_ns)).collect();
        let seen = drive(host(50, 256), &arrivals, end);
        let off = (seen.delivered.len() as i64 - delivered).unsigned_abs();
        // Packets that wait at the end, and half a packet of rounding in the sums above.
        assert!(off <= 3, "every {gap_ns} ns: {} and not {delivered}", seen.delivered.len());
    }
}

#[test]
fn sizes_in_bytes_and_zero_delivery_times_are_rejected() {
    assert_eq!(HostOptions::new(Duration::ZERO, Duration::from_nanos(1)).check(), Ok(()));
    let wrong = |options: HostOptions| options.check().unwrap_err().key;
    assert_eq!(wrong(options(1, 0, 1, 1)), "delivery");
    assert_eq!(wrong(options(1, 1, 0, 1)), "queue");
    assert_eq!(wrong(options(1, 1, 1, 0)), "ring");
    assert_eq!(wrong(HostOptions { ring: "9kB".parse().unwrap(), ..options(1, 1, 1, 1) }), "ring");
}

/// A nanosecond-by-nanosecond model of the CPU as the module describes it.
struct Cpu {
    options: HostOptions,
    /// Each with its remaining work.
    ring: VecDeque<(u64, u64)>,
    queue: VecDeque<u64>,
    delivering: Option<(u64, u64)>,
    seen: Seen,
}

impl Cpu {
    fn run(options: HostOptions, arrivals: &[Instant], end: u64) -> Seen {
        let nothing = Seen::default();
        let mut cpu = Self { options, ring: VecDeque::new(), queue: VecDeque::new(), delivering: None, seen: nothing };
        let mut arrivals = (0..).zip(arrivals).peekable();
        for nanos in 0..=end {
            cpu.finish(nanos);
            while let Some((number, _)) = arrivals.next_if(|(_, at)| at.as_nanos() == nanos) {
                cpu.arrive(number);
                cpu.finish(nanos);
            }
            // A nanosecond of work.
            if let Some((_, left)) = cpu.ring.front_mut().or(cpu.delivering.as_mut()) {
                *left -= 1;
            }
        }
        cpu.seen.waiting = cpu.queue.len() + usize::from(cpu.delivering.is_some());
        cpu.seen
    }

    fn arrive(&mut self, number: u64) {
        if QueueSize::Packets(self.ring.len() as u64) == self.options.ring {
            self.seen.dropped.push((number, HostDrop::Ring));
        } else {
            self.ring.push_back((number, self.options.arrival.as_nanos()));
        }
    }

    fn finish(&mut self, nanos: u64) {
        if let Some((number, _)) = self.delivering.take_if(|(_, left)| *left == 0) {
            self.seen.delivered.push((Instant::from_nanos(nanos), number));
        }
        while let Some((number, _)) = self.ring.pop_front_if(|(_, left)| *left == 0) {
            if QueueSize::Packets(self.queue.len() as u64) == self.options.queue {
                self.seen.dropped.push((number, HostDrop::Queue));
            } else {
                self.queue.push_back(number);
            }
        }
        if self.ring.is_empty() && self.delivering.is_none() {
            self.delivering = self.queue.pop_front().map(|number| (number, self.options.delivery.as_nanos()));
        }
    }
}

proptest! {
    /// The host is equal to the model: deliveries, their times and drops. Packets are delivered in order of arrival,
    /// not before arrival and delivery are done, and each is delivered, dropped or waits.
    #[test]
    fn a_host_equals_a_cpu_simulated_in_nanoseconds(
        (arrival, delivery) in (0u64..6, 1u64..12),
        (queue, ring) in (1u64..5, 1u64..5),
        gaps in prop::collection::vec(0u64..12, 0..60),
    ) {
        let options = options(arrival, delivery, queue, ring);
        let mut at = 0;
        let arrivals: Vec<_> = gaps.iter().map(|gap| { at += gap; Instant::from_nanos(at) }).collect();
        // Idle by then.
        let end = at + 5 * arrival + 6 * delivery;
        let seen = drive(Host::new(&options), &arrivals, Instant::from_nanos(end));
        let mut literal = Cpu::run(options, &arrivals, end);
        // The model drops when the arrival work is done; the host at once.
        literal.dropped.sort_by_key(|(number, _)| *number);
        prop_assert_eq!(&seen, &literal);
        prop_assert_eq!(seen.delivered.len() + seen.dropped.len(), arrivals.len());
        prop_assert!(seen.delivered.is_sorted_by_key(|(_, number)| *number));
        let soonest = |number: u64| arrivals[number as usize] + options.arrival + options.delivery;
        prop_assert!(seen.delivered.iter().all(|(at, number)| *at >= soonest(*number)));
    }

    /// Cut at any time: arrived = delivered + dropped + waiting, and at most the queue and one.
    #[test]
    fn packets_are_conserved(gaps in prop::collection::vec(0u64..12, 0..60), left_out in 0u64..100) {
        let options = options(2, 5, 3, 2);
        let mut at = 0;
        let arrivals: Vec<_> = gaps.iter().map(|gap| { at += gap; Instant::from_nanos(at) }).collect();
        let end = Instant::from_nanos(at.max(left_out) - left_out);
        let arrivals: Vec<_> = arrivals.into_iter().filter(|at| *at <= end).collect();
        let seen = drive(Host::new(&options), &arrivals, end);
        prop_assert!(seen.waiting <= 4);
        prop_assert_eq!(seen.delivered.len() + seen.dropped.len() + seen.waiting, arrivals.len());
    }

    /// Any calls in any order: no panic, no overflow of times, no queue above its limit.
    #[test]
    fn any_sequence_of_calls_is_safe(
        arrival: u64, delivery in 1u64.., (queue, ring) in (1u64..5, 1u64..5),
        deeds in prop::collection::vec((any::<bool>(), any::<u64>()), 0..60),
    ) {
        let mut host = Host::new(&options(arrival, delivery, queue, ring));
        for (arrives, at) in deeds {
            let at = Instant::from_nanos(at);
            if arrives {
                let _ = host.arrive(at, ());
            } else {
                host.deliver(at);
            }
            prop_assert!(host.packets() as u64 <= queue + 1);
        }
    }
}
