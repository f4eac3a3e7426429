use super::tin::Set;
use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{Dscp, Options as _};

struct Run {
    cake: Cake,
    pool: Pool<Packet>,
    told: VecDeque<Decision>,
    random: Random,
}

impl Run {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::preset(Dialect::Rfc);
        change(&mut options);
        options.check().unwrap();
        let random = Random::new(1, "queue");
        Self { cake: Cake::new(&options), pool: Pool::default(), told: VecDeque::new(), random }
    }

    fn come(&mut self, now: Instant, packet: Packet) -> Handle {
        let handle = self.pool.insert(packet);
        self.pool.slot_mut(handle).unwrap().since = now;
        let backlog = Backlog { packets: 0, bytes: 0, idle: false, idle_s: 0.0 };
        let arrival = Arrival { size: Bytes::new(u64::from(packet.size)), ecn: packet.ecn, dscp: packet.dscp };
        assert_eq!(self.cake.admit(now, &backlog, arrival, &mut self.random), Verdict::Admit);
        self.cake.hold(now, handle, &mut self.pool, &mut self.told);
        handle
    }

    fn leave(&mut self, now: Instant) -> Option<Packet> {
        let handle = self.cake.dequeue(now, &mut self.pool, &mut self.told)?;
        let packet = *self.pool.get(handle);
        self.pool.remove(handle);
        Some(packet)
    }

    /// Of so many departures, how many bytes each flow gets if all of them always have packets of 1000 B.
    fn shares(&mut self, flows: &[Packet], departures: usize) -> Vec<f64> {
        for packet in flows.iter().flat_map(|packet| [*packet; 3]) {
            self.come(ms(0), packet);
        }
        let mut got = vec![0.0; flows.len()];
        for departure in 0..departures {
            let now = ms(departure as u64);
            let left = self.leave(now).unwrap();
            let flow = flows.iter().position(|packet| packet.flow == left.flow).unwrap();
            got[flow] += 1.0 / departures as f64;
            self.come(now, flows[flow]);
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

/// Never above its target.
fn calm(options: &mut Options) {
    (options.target, options.interval) = (Duration::from_secs(1000), Duration::from_secs(1000));
}

/// "Piece of CAKE", section III.C: nine flows from two hosts, of which one has eight.
#[test]
fn a_host_with_eight_flows_gets_what_one_with_one_gets() {
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
        // Both have the ninth part, as all go to one host, or come from it: the other end is what all have in common.
        (Isolation::TripleIsolate, &to_one, 1.0 / 9.0),
    ] {
        let mut run = Run::new(|options| {
            calm(options);
            options.isolation = isolation;
        });
        run.cake.know_hosts(hosts);
        let first = run.shares(&flows, 9000)[0];
        assert!((first - expected).abs() < 0.01, "{isolation:?}: {first}");
    }
}

/// Triple isolation between two hosts that send to two others: each pair of one flow beside one of three.
#[test]
fn triple_isolation_is_fair_to_both_ends() {
    let hosts: Hosts = [(1, 11), (2, 12), (2, 12), (2, 12)].into_iter().collect();
    let mut run = Run::new(calm);
    run.cake.know_hosts(&hosts);
    let got = run.shares(&(0..4).map(of_flow).collect::<Vec<_>>(), 6000);
    assert!((got[0] - 0.5).abs() < 0.01, "{got:?}");
    assert!(got[1..].iter().all(|share| (share - 1.0 / 6.0).abs() < 0.01), "{got:?}");
}

/// `sch_cake.c`, `cake_config_diffserv4`: without a bandwidth tins take turns by 1024, 64, 512 and 256 bytes.
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

/// With a bandwidth of 8 Mb/s, at which a packet takes 1 ms, voice has a quarter before all others.
#[test]
fn a_tin_within_its_threshold_goes_first() {
    let shaped = |options: &mut Options| {
        calm(options);
        options.bandwidth = Some("8Mbps".parse().unwrap());
    };
    let mut run = Run::new(shaped);
    (0..3).for_each(|_| {
        run.come(ms(0), of_class(0, 0));
    });
    // Some voice each eighth packet's time: it never waits behind the others.
    for packet in 0..20 {
        let now = ms(8 * packet);
        run.come(now, of_class(1, 46));
        assert_eq!(run.leave(now).unwrap().flow, 1, "{now}");
        run.come(now, of_class(0, 0));
        assert_eq!(run.leave(now + Duration::from_millis(1)).unwrap().flow, 0);
    }
    // Of tins that always want more each gets its threshold; what is left goes to the one whose threshold it is.
    let got = Run::new(shaped).shares(&[of_class(0, 0), of_class(1, 46)], 10_000);
    assert!((got[1] - 0.25).abs() < 0.06, "{got:?}");
}

/// A flow that has nothing waiting goes before those that have.
#[test]
fn what_is_sparse_goes_first() {
    let mut run = Run::new(|_| ());
    let bulk: Vec<_> = (0..2).map(of_flow).collect();
    run.shares(&bulk, 10);
    run.come(ms(10), Packet { size: 100, ..of_flow(9) });
    assert_eq!(run.leave(ms(10)).unwrap().flow, 9);
}

/// `cake_drop`: what has no room is taken from the head of the longest queue.
#[test]
fn the_longest_queue_makes_room() {
    let mut run = Run::new(|options| options.limit = QueueSize::Bytes(Bytes::new(5000)));
    let long: Vec<_> = (0..4).map(|number| run.come(ms(number), of_flow(0))).collect();
    run.come(ms(4), of_flow(1));
    assert!(run.told.is_empty());
    run.come(ms(5), of_flow(1));
    let dropped = Decision::Dropped { packet: long[0], enqueued: ms(0), cause: DropCause::QueueFull };
    assert_eq!(run.told, [dropped]);
    assert_eq!(run.cake.waiting(), (5, 5000));
}

/// `cake_dequeue`: the last packet of a queue may be marked, and is not dropped.
#[test]
fn the_last_packet_stays() {
    let mut run = Run::new(|options| options.isolation = Isolation::Flowblind);
    for number in 0..2000 {
        run.come(ms(number), of_flow(number));
        assert!(run.leave(ms(number + 400)).is_some(), "{number}");
    }
    assert!(run.told.is_empty());
}

/// A queue that has dropped is kept in mind until COBALT has nothing to tell of it, and then it is gone.
#[test]
fn an_empty_queue_decays() {
    let mut run = Run::new(|options| options.isolation = Isolation::Flows);
    (0..300).for_each(|_| {
        run.come(ms(0), of_flow(0));
    });
    let mut now = 0;
    while run.leave(ms(now)).is_some() {
        now += 2;
    }
    assert!(run.told.len() > 5, "{}", run.told.len());
    // It is looked after when another flow's packets leave.
    let mut decaying = 0;
    for round in 1..100 {
        let now = ms(now + 100 * round);
        run.come(now, of_flow(1));
        run.leave(now);
        decaying += run.cake.tins[0].decaying.len();
    }
    assert!(decaying > 3, "{decaying}");
    assert!(run.cake.tins[0].decaying.is_empty());
    assert!(run.cake.tins[0].flows.iter().filter(|flow| flow.set != Set::None).count() <= 1);
    assert_eq!(run.cake.tins[0].active, u32::from(run.cake.tins[0].new.len() + run.cake.tins[0].old.len() > 0));
}

/// The last value that each bound accepts and the first that it refuses, as the options are documented.
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
