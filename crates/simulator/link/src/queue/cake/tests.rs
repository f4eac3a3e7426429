use super::tin::Set;
use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Options as _};

struct Run {
    cake: Cake,
    pool: Pool<Packet>,
    decisions: VecDeque<Decision>,
    random: Random,
}

impl Run {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::preset(Dialect::Rfc);
        change(&mut options);
        options.check().unwrap();
        let random = Random::new(1, "queue");
        Self { cake: Cake::new(&options), pool: Pool::default(), decisions: VecDeque::new(), random }
    }

    fn admit(&mut self, now: Instant, idle: bool, packet: Packet) -> Verdict {
        let (packets, bytes) = self.cake.waiting();
        let backlog = Backlog { packets, bytes, idle, idle_s: 0.0 };
        let arrival = Arrival { size: Bytes::new(u64::from(packet.size)), ecn: packet.ecn, dscp: packet.dscp };
        self.cake.admit(now, &backlog, arrival, &mut self.random)
    }

    fn arrive(&mut self, now: Instant, packet: Packet) -> Handle {
        assert_eq!(self.admit(now, false, packet), Verdict::Admit);
        self.enqueue(now, packet)
    }

    fn enqueue(&mut self, now: Instant, packet: Packet) -> Handle {
        let handle = self.pool.insert(packet);
        self.pool.slot_mut(handle).unwrap().since = now;
        self.cake.enqueue(now, handle, &mut self.pool, &mut self.decisions);
        handle
    }

    fn depart(&mut self, now: Instant) -> Option<Packet> {
        let handle = self.cake.dequeue(now, &mut self.pool, &mut self.decisions)?;
        let packet = *self.pool.get(handle);
        self.pool.remove(handle);
        Some(packet)
    }

    /// Returns the bytes of each flow in this many departures, if all flows always have packets of 1000 B.
    fn shares(&mut self, flows: &[Packet], departures: usize) -> Vec<f64> {
        for packet in flows.iter().flat_map(|packet| [*packet; 3]) {
            self.arrive(ms(0), packet);
        }
        let mut got = vec![0.0; flows.len()];
        for departure in 0..departures {
            let now = ms(departure as u64);
            let left = self.depart(now).unwrap();
            let flow = flows.iter().position(|packet| packet.flow == left.flow).unwrap();
            got[flow] += 1.0 / departures as f64;
            self.arrive(now, flows[flow]);
        }
        got
    }
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn of_flow(flow: u64) -> Packet {
    Packet { flow, ..Packet::of(1000) }
}

fn of_class(flow: u64, dscp: u8) -> Packet {
    Packet { dscp: Dscp::new(dscp).unwrap(), ..of_flow(flow) }
}

/// The sojourn time is never above target.
fn calm(options: &mut Options) {
    (options.target, options.interval) = (Duration::from_secs(1000), Duration::from_secs(1000));
}

/// "Piece of CAKE", section III.C: nine flows from two hosts, of which one has eight.
#[test]
fn hosts_share_equally_regardless_of_their_flows() {
    let flows: Vec<_> = (0..9).map(of_flow).collect();
    let host_of = |flow: u32| if flow == 0 { 100 } else { 101 };
    let to_one: Hosts = (0..9).map(|flow| (host_of(flow), 7)).collect();
    let from_one: Hosts = (0..9).map(|flow| (7, host_of(flow))).collect();
    for (isolation, hosts, expected) in [
        (Isolation::DualSrchost, &to_one, 0.5),
        (Isolation::DualDsthost, &from_one, 0.5),
        (Isolation::DualSrchost, &from_one, 1.0 / 9.0),
        (Isolation::Flows, &to_one, 1.0 / 9.0),
        (Isolation::Srchost, &to_one, 0.5),
        (Isolation::Dsthost, &to_one, 1.0 / 9.0),
        // Each flow gets a ninth if all have one destination, or one source.
        (Isolation::TripleIsolate, &to_one, 1.0 / 9.0),
    ] {
        let mut run = Run::new(|options| {
            calm(options);
            options.isolation = isolation;
        });
        run.cake.set_hosts(hosts);
        let first = run.shares(&flows, 9000)[0];
        assert!((first - expected).abs() < 0.01, "{isolation:?}: {first}");
    }
}

/// Triple isolation between two sources and two destinations: each source has one flow to one and three to the other.
#[test]
fn triple_isolation_is_fair_to_both_ends() {
    let hosts: Hosts = [(1, 11), (2, 12), (2, 12), (2, 12)].into_iter().collect();
    let mut run = Run::new(calm);
    run.cake.set_hosts(&hosts);
    let got = run.shares(&(0..4).map(of_flow).collect::<Vec<_>>(), 6000);
    assert!((got[0] - 0.5).abs() < 0.01, "{got:?}");
    assert!(got[1..].iter().all(|share| (share - 1.0 / 6.0).abs() < 0.01), "{got:?}");
}

/// `sch_cake.c`, `cake_config_diffserv4`: without a bandwidth, tins have quanta of 1024, 64, 512 and 256 bytes.
#[test]
fn tins_share_by_weight() {
    let mut run = Run::new(|options| {
        calm(options);
        options.tins = Tins::Diffserv4;
    });
    let got = run.shares(&[of_class(0, 0), of_class(1, 8), of_class(2, 34), of_class(3, 46)], 30_000);
    let expected = [1024.0, 64.0, 512.0, 256.0].map(|quantum| quantum / 1856.0);
    assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.01), "{got:?} {expected:?}");
}

/// With a bandwidth of 8 Mb/s, at which a packet takes 1 ms, voice has priority for a quarter.
#[test]
fn a_tin_within_its_threshold_goes_first() {
    let shaped = |options: &mut Options| {
        calm(options);
        options.bandwidth = Some("8Mbps".parse().unwrap());
    };
    let mut run = Run::new(shaped);
    (0..3).for_each(|_| {
        run.arrive(ms(0), of_class(0, 0));
    });
    // A voice packet every eight packet times: it never waits for the others.
    for packet in 0..20 {
        let now = ms(8 * packet);
        run.arrive(now, of_class(1, 46));
        assert_eq!(run.depart(now).unwrap().flow, 1, "{now}");
        run.arrive(now, of_class(0, 0));
        assert_eq!(run.depart(now + Duration::from_millis(1)).unwrap().flow, 0);
    }
    // If all tins always have packets, each gets its threshold; the rest goes to the tin with the whole bandwidth.
    let got = Run::new(shaped).shares(&[of_class(0, 0), of_class(1, 46)], 10_000);
    assert!((got[1] - 0.25).abs() < 0.06, "{got:?}");
}

#[test]
fn sparse_flows_go_first() {
    let mut run = Run::new(|_| ());
    let bulk: Vec<_> = (0..2).map(of_flow).collect();
    run.shares(&bulk, 10);
    run.arrive(ms(10), Packet { size: 100, ..of_flow(9) });
    assert_eq!(run.depart(ms(10)).unwrap().flow, 9);
}

/// `cake_drop`: above the limit, packets are dropped from the head of the longest queue.
#[test]
fn the_longest_queue_loses_packets() {
    let mut run = Run::new(|options| options.limit = QueueSize::Bytes(Bytes::new(5000)));
    let long: Vec<_> = (0..4).map(|number| run.arrive(ms(number), of_flow(0))).collect();
    run.arrive(ms(4), of_flow(1));
    assert!(run.decisions.is_empty());
    run.arrive(ms(5), of_flow(1));
    let dropped = Decision::Dropped { packet: long[0], enqueued: ms(0), cause: DropCause::QueueFull };
    assert_eq!(run.decisions, [dropped]);
    assert_eq!(run.cake.waiting(), (5, 5000));
}

/// A packet that finds the transmitter idle does not wait, so the limit does not apply to it.
#[test]
fn a_packet_above_the_limit_passes_an_idle_transmitter() {
    let mut run = Run::new(|options| options.limit = QueueSize::Bytes(Bytes::new(999)));
    assert_eq!(run.admit(ms(0), false, of_flow(0)), Verdict::Drop(DropCause::QueueFull));
    assert_eq!(run.admit(ms(0), true, of_flow(0)), Verdict::Admit);
    run.enqueue(ms(0), of_flow(0));
    assert_eq!((run.decisions.len(), run.cake.waiting()), (0, (1, 1000)));
    assert_eq!(run.depart(ms(0)).map(|packet| packet.flow), Some(0));
}

/// `cake_dequeue`: the last packet of a queue may be marked, but is not dropped.
#[test]
fn the_last_packet_is_not_dropped() {
    let mut run = Run::new(|options| options.isolation = Isolation::Flowblind);
    for number in 0..2000 {
        run.arrive(ms(number), of_flow(number));
        assert!(run.depart(ms(number + 400)).is_some(), "{number}");
    }
    assert!(run.decisions.is_empty());
}

/// A queue that has dropped is kept until the state of COBALT is initial, and is then freed.
#[test]
fn an_empty_queue_decays() {
    let mut run = Run::new(|options| options.isolation = Isolation::Flows);
    (0..300).for_each(|_| {
        run.arrive(ms(0), of_flow(0));
    });
    let mut now = 0;
    while run.depart(ms(now)).is_some() {
        now += 2;
    }
    assert!(run.decisions.len() > 5, "{}", run.decisions.len());
    // It is updated when packets of another flow depart.
    let mut decaying = 0;
    for round in 1..100 {
        let now = ms(now + 100 * round);
        run.arrive(now, of_flow(1));
        run.depart(now);
        decaying += run.cake.tins[0].decaying.len();
    }
    assert!(decaying > 3, "{decaying}");
    assert!(run.cake.tins[0].decaying.is_empty());
    assert!(run.cake.tins[0].flows.iter().filter(|flow| flow.set != Set::None).count() <= 1);
    assert_eq!(run.cake.tins[0].active, u32::from(run.cake.tins[0].new.len() + run.cake.tins[0].old.len() > 0));
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |options| options.limit = QueueSize::Packets(1),
            |options| options.target = Duration::from_nanos(1),
            |options| options.interval = Duration::from_nanos(1),
            |options| options.bandwidth = Some(Rate::from_bits_per_second(1000)),
            |options| options.mtu = Bytes::new(256),
            |options| options.mtu = Bytes::new(1_048_576),
        ],
        &[
            ("limit", |options| options.limit = QueueSize::Packets(0)),
            ("limit", |options| options.limit = QueueSize::Bytes(Bytes::new(0))),
            ("target", |options| options.target = Duration::ZERO),
            ("interval", |options| options.interval = Duration::ZERO),
            ("bandwidth", |options| options.bandwidth = Some(Rate::from_bits_per_second(999))),
            ("mtu", |options| options.mtu = Bytes::new(255)),
            ("mtu", |options| options.mtu = Bytes::new(1_048_577)),
        ],
    );
}
