//! A link in use: times to the nanosecond, ties, and equal results of one and two events.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_engine::{Class, Moment, Ties};
use headway_link::queue::{cake, codel, droptail, drr, dualpi2, early_random_drop, fq_codel, pie, priority, red};
use headway_link::{
    CapacityTrace, Config, DroppedPacket, DuplicateOptions, Handle, Handler, Item, JitterOptions, LinkChange,
    LinkChanges, LossOptions, PolicerOptions, Pool, Ports, QueueOptions, ReorderOptions, ShaperChange, ShaperOptions,
    jitter, loss, reorder,
};
use headway_record::{LinkLabel, LinkSummary, Measured};
use headway_units::{
    Bytes, Dialect, DropCause, Dscp, Duration, Ecn, Instant, Options, Probability, QueueSize, Rate, Threshold,
};
use proptest::prelude::*;

fn config(rate: &str, queue: QueueOptions) -> Config {
    Config::new(rate.parse().unwrap(), Duration::from_millis(10), queue)
}

fn droptail(limit: u64) -> QueueOptions {
    QueueOptions::DropTail(droptail::Options {
        limit: QueueSize::Packets(limit),
        ..droptail::Options::preset(Dialect::Rfc)
    })
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn when(at: Instant, class: Class) -> Moment {
    Moment::in_class(at, at.as_secs_f64(), class)
}

struct Numbered {
    id: u32,
    size: u32,
}

impl Item for Numbered {
    fn release(&mut self) {}
    fn size(&self) -> u32 {
        self.size
    }
    /// By flow: two of five are L4S.
    fn ecn(&self) -> Ecn {
        [Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ect0][flow(self.id) as usize]
    }
    fn set_ecn(&mut self, _: Ecn) {}
    /// One of five flows.
    fn flow(&self) -> u64 {
        u64::from(flow(self.id))
    }
    /// One in three is AF41, one EF, one has no class.
    fn dscp(&self) -> Dscp {
        [AF41, EF, Dscp::CS0][self.id as usize % 3]
    }
}

const fn flow(id: u32) -> u32 {
    id % 5
}

const AF41: Dscp = Dscp::new(34).unwrap();
const EF: Dscp = Dscp::new(46).unwrap();

fn classes(dscp: &[Dscp], on_congestion: red::OnCongestion) -> Vec<red::Class> {
    vec![red::Class { dscp: dscp.to_vec(), on_congestion }]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transmission {
    enqueued: Instant,
    start: Instant,
    end: Instant,
    bytes: u64,
}

#[derive(Debug, Default, PartialEq)]
struct Seen {
    transmissions: Vec<(u32, Transmission)>,
    drops: Vec<(u32, DropCause)>,
    marks: Vec<u32>,
    delivered: Vec<(Instant, u32)>,
    lost: Vec<u32>,
    reordered: Vec<u32>,
    waiting: Vec<(u64, u64)>,
    summary: Option<LinkSummary>,
}

/// Collects the callbacks of a port. Without hops, the port removes packets from its count only when necessary.
#[derive(Debug, Default)]
struct Notes<const HOPS: bool> {
    seen: Seen,
    offered: Vec<Instant>,
    sizes: Vec<u32>,
    dropped: Vec<(u32, Instant)>,
    reorders: bool,
}

impl<const HOPS: bool> Handler<Numbered> for Notes<HOPS> {
    const HOPS: bool = HOPS;

    fn offered(&mut self, now: Instant, _: usize, _: u64, _: Handle, packet: &Numbered) {
        assert_eq!(packet.id as usize, self.offered.len());
        self.offered.push(now);
        self.sizes.push(packet.size);
    }
    fn transmitted(&mut self, _: Handle, packet: &Numbered, start: Instant, end: Instant) {
        let (enqueued, bytes) = (self.offered[packet.id as usize], u64::from(packet.size));
        self.seen.transmissions.push((packet.id, Transmission { enqueued, start, end, bytes }));
    }
    fn reordered(&mut self, _: usize) {
        self.reorders = true;
    }
    fn duplicate(&mut self, _: Instant, _: usize, _: &Numbered, _: usize) -> Option<Numbered> {
        None
    }
    fn marked(&mut self, _: Instant, _: usize, _: Handle, packet: &mut Numbered) {
        self.seen.marks.push(packet.id);
    }
    fn dropped(&mut self, drop: DroppedPacket<'_, Numbered>) {
        let id = drop.packet.id;
        if drop.cause == DropCause::Channel && !drop.before_queue {
            self.seen.lost.push(id);
        } else {
            self.seen.drops.push((id, drop.cause));
            self.dropped.push((id, drop.now));
        }
    }
}

type Link<const HOPS: bool> = Ports<Numbered, Notes<HOPS>>;

/// An idle port. It is not plain if it counts by flow.
fn start<const HOPS: bool>(ties: Ties, config: &Config, by_flow: bool) -> Link<HOPS> {
    let measured = Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
    let mut link = Ports::new(ties, &measured, Notes::default());
    link.add(&config.clone().into(), 1, "test", by_flow);
    link
}

fn label() -> LinkLabel {
    LinkLabel::default()
}

/// Offers the packets (time, size) in order and runs the link until it is empty, with departures after arrivals.
fn drive(config: &Config, packets: &[(Instant, u64)]) -> Seen {
    let packets: Vec<_> = packets.iter().map(|&(at, size)| (when(at, Class::Source), size)).collect();
    drive_moments(config, &packets)
}

fn drive_moments(config: &Config, packets: &[(Moment, u64)]) -> Seen {
    drive_after(Ties::Drawn, config, 0, packets)
}

/// `places` places in the order of scheduling are used before.
fn drive_after(ties: Ties, config: &Config, places: u64, packets: &[(Moment, u64)]) -> Seen {
    drive_link(start::<true>(ties, config, false), places, packets)
}

fn drive_link<const HOPS: bool>(mut link: Link<HOPS>, places: u64, packets: &[(Moment, u64)]) -> Seen {
    (0..places).for_each(|_| _ = link.events.places.next());
    let mut offers = packets.iter().enumerate().peekable();
    let mut end = Instant::ZERO;
    loop {
        let offer_at = offers.peek().map(|(_, (at, _))| *at);
        let event = link.events.pop_before(offer_at.unwrap_or(Moment::after_all(Instant::FAR_FUTURE)));
        let now = if let Some((now, actor)) = event {
            match actor.class() {
                Class::Departure => link.departed(now, 0),
                _ => arrived(&mut link, now),
            }
            now
        } else if let Some((id, &(at, size))) = offers.next() {
            let packet = link.packets.insert(Numbered { id: id as u32, size: size as u32 });
            link.offer(at, 0, packet);
            let waiting = link.get(0).unwrap().waiting();
            link.handler.seen.waiting.push(waiting);
            at
        } else {
            break;
        };
        end = now.at;
        // Too slow with many packets.
        if packets.len() < 1000 {
            let seen = &link.handler.seen;
            let ended = seen.drops.len() + seen.delivered.len() + seen.lost.len();
            assert_eq!(link.on_port(0).count() + ended, seen.waiting.len(), "all packets are accounted for");
            if HOPS {
                check_meter(&mut link, now.at);
            }
        }
    }
    let summary = link.summary(0, label(), end, true, |_| String::new());
    let mut seen = link.handler.seen;
    seen.summary = Some(LinkSummary { flows: Vec::new(), ..summary });
    seen.transmissions.sort_by_key(|(id, t)| (t.start, *id));
    seen
}

fn arrived<const HOPS: bool>(link: &mut Link<HOPS>, now: Moment) {
    let Some(packet) = link.arrived(now, 0) else { return };
    let id = link.packets.get(packet).id;
    link.packets.remove(packet);
    let Notes { seen, reorders, .. } = &mut link.handler;
    seen.delivered.push((now.at, id));
    if std::mem::take(reorders) {
        seen.reordered.push(id);
    }
}

/// The meter, closed now, has the sums of all transmissions, and of all waiting times until transmissions or drops.
fn check_meter<const HOPS: bool>(link: &mut Link<HOPS>, now: Instant) {
    let Notes { seen, offered, dropped, .. } = &link.handler;
    let (mut busy, mut packets, mut bytes) = (0, 0, 0);
    let shared = |from: Instant, until: Instant| u128::from(until.min(now).since(from.min(now)).as_nanos());
    let mut ends = vec![now; offered.len()];
    for (id, transmission) in &seen.transmissions {
        busy += shared(transmission.start, transmission.end);
        ends[*id as usize] = transmission.start;
    }
    for (id, at) in dropped {
        ends[*id as usize] = *at;
    }
    for (id, (from, until)) in offered.iter().zip(ends).enumerate() {
        packets += shared(*from, until);
        bytes += shared(*from, until) * u128::from(link.handler.sizes[id]);
    }
    let summary = link.summary(0, label(), now, true, |_| String::new());
    let mean = |sum: u128| if now == Instant::ZERO { 0.0 } else { sum as f64 / now.as_nanos() as f64 };
    assert_eq!(
        [summary.utilisation, summary.mean_queue_packets, summary.mean_queue_bytes],
        [busy, packets, bytes].map(mean),
        "at {now}"
    );
    let begun = |by: fn(&Instant, &Instant) -> bool| {
        let all = link.handler.seen.transmissions.iter().map(|(_, transmission)| transmission);
        all.filter(|transmission| by(&transmission.start, &now)).map(|transmission| transmission.bytes).sum::<u64>()
    };
    let (before, by_now) = (begun(Instant::lt), begun(Instant::le));
    let sent = link.sample(Moment::before_all(now), 0).sent_bytes;
    assert!((before..=by_now).contains(&sent), "{sent} of {before} to {by_now} at {now}");
}

fn offer_four(config: &Config, bytes: u32) -> Link<false> {
    let mut link = start(Ties::Drawn, config, true);
    for id in 0..4 {
        let packet = link.packets.insert(Numbered { id, size: bytes });
        link.offer(when(ms(0), Class::Source), 0, packet);
    }
    link
}

/// A sample has the bytes of the transmissions that have begun, whether transmissions are settled in advance (one
/// event) or not (two events). Each takes 4 ms.
#[test]
fn a_sample_has_the_bytes_that_were_sent() {
    for two_events in [false, true] {
        let mut link = offer_four(&Config { two_events, ..config("2Mbps", droptail(50)) }, 1000);
        assert_eq!(link.packets.alive(), 4);
        let sent = [0, 3, 4, 12].map(|millis| {
            let at = Moment::after_all(ms(millis));
            while let Some((now, actor)) = link.events.pop_before(at) {
                assert_eq!(actor.class(), Class::Departure);
                link.departed(now, 0);
            }
            let sample = link.sample(at, 0);
            assert_eq!((sample.average, sample.arrived_packets), (None, 4));
            sample.sent_bytes
        });
        assert_eq!(sent, [1000, 1000, 2000, 4000]);
    }
}

#[test]
fn freed_slots_are_reused() {
    let mut pool: Pool<Numbered> = Pool::default();
    let [first, second] = [7, 8].map(|id| pool.insert(Numbered { id, size: 1 }));
    pool.remove(first);
    assert_eq!(pool.alive(), 1);
    let third = pool.insert(Numbered { id: 9, size: 1 });
    assert_eq!((third, pool.alive()), (first, 2));
    assert_eq!((pool.get(second).id, pool.get(third).id), (8, 9));
    pool.get_mut(second).id = 10;
    assert_eq!(pool.get(second).id, 10);
    assert_ne!(pool.insert(Numbered { id: 11, size: 1 }), second);
}

#[test]
fn the_average_of_red() {
    for in_bytes in [false, true] {
        let red = red::Options { in_bytes, queue_weight: 1.0, ..red::Options::preset(Dialect::Rfc) };
        let mut link = offer_four(&config("2Mbps", QueueOptions::Red(red)), 500);
        let sample = link.sample(Moment::new(ms(0)), 0);
        assert_eq!(sample.average, Some(2.0), "two packets waited when the last one arrived");
    }
}

#[test]
fn an_unqueued_packet_takes_transmission_and_delay() {
    let seen = drive(&config("2Mbps", droptail(50)), &[(ms(0), 1000)]);
    assert_eq!(seen.delivered, [(ms(14), 0)]);
}

#[test]
fn lower_layer_bytes_take_time() {
    let mut with_overhead = config("2Mbps", droptail(50));
    with_overhead.overhead = Bytes::new(250);
    assert_eq!(drive(&with_overhead, &[(ms(0), 1000)]).delivered, [(ms(15), 0)]);
}

#[test]
fn packets_above_the_mtu_are_dropped() {
    let mut narrow = config("2Mbps", droptail(50));
    narrow.mtu = Some(Bytes::new(999));
    assert_eq!(drive(&narrow, &[(ms(0), 1000), (ms(0), 999)]).drops, [(0, DropCause::TooBig)]);
}

/// A transmitter busy until t is still busy for a packet that arrives at t: the packet waits for a time of zero, and a
/// queue of one that holds another packet is full. After the end of the transmission it is idle.
#[test]
fn with_drawn_ties_a_transmitter_is_busy_to_the_end() {
    for two_events in [false, true] {
        let config = |limit| Config { two_events, ..config("2Mbps", droptail(limit)) };
        let at = |millis, class| (when(ms(millis), class), 1000);
        for (class, waiting, drops) in
            [(Class::Arrival, (1, 1000), 1), (Class::Source, (1, 1000), 1), (Class::Attacker, (0, 0), 0)]
        {
            let seen = drive_moments(&config(50), &[at(0, Class::Source), at(4, class)]);
            assert_eq!(seen.waiting[1], waiting, "{class:?}");
            assert_eq!(seen.delivered, [(ms(14), 0), (ms(18), 1)]);
            let seen = drive_moments(&config(1), &[at(0, Class::Source), at(0, Class::Source), at(4, class)]);
            assert_eq!(seen.drops.len(), drops, "{class:?}");
        }
    }
}

/// ns-2's `LinkDelay::recv` schedules the arrival at the far end, then the end of the transmission: those of the first
/// packet have the places 2 and 3. A packet that was scheduled before that end finds the transmitter busy and the
/// queue of one full; one that was scheduled after it does not.
#[test]
fn scheduled_first_is_served_first() {
    let config = config("2Mbps", droptail(1));
    let mut link = start::<false>(Ties::Scheduled, &config, false);
    let now = Moment::scheduled(0.0, link.events.places.next());
    for id in 0..2 {
        let packet = link.packets.insert(Numbered { id, size: 1000 });
        link.offer(now, 0, packet);
    }
    let mut next = || link.events.pop_before(Moment::after_all(ms(1000))).map(|(at, actor)| (at, actor.class()));
    assert_eq!(next(), Some((Moment::scheduled(0.004, 3), Class::Departure)));
    assert_eq!(next(), Some((Moment::scheduled(0.014, 2), Class::Arrival)));
    for (place, waiting, drops) in [(1, (1, 1000), 1), (4, (0, 0), 0)] {
        let at = |millis: u64, place| (Moment::scheduled(millis as f64 / 1e3, place), 1000);
        let seen = drive_after(Ties::Scheduled, &config, 1, &[at(0, 1), at(4, place)]);
        assert_eq!(seen.waiting[1], waiting, "{place}");
        assert_eq!(seen.delivered, [(ms(14), 0), (ms(18), 1)]);
        let seen = drive_after(Ties::Scheduled, &config, 1, &[at(0, 1), at(0, 1), at(4, place)]);
        assert_eq!(seen.drops.len(), drops, "{place}");
    }
}

/// Packets that have begun transmission may count as waiting while the queue is shorter than its peak, unless they are
/// observed. Nothing else differs.
#[test]
fn waiting_packets_are_counted_lazily() {
    let packets: Vec<_> = (0..400)
        .map(|n| (when(Instant::from_micros(n * 2900 + n * n % 7 * 4100), Class::Source), 400 + n % 5 * 350))
        .collect();
    let mut packets = packets;
    packets.sort_by_key(|(at, _)| *at);
    for limit in [1, 3, 50] {
        let config = config("2Mbps", droptail(limit));
        let exact = drive_moments(&config, &packets);
        let peak = exact.waiting.iter().map(|(packets, _)| *packets).max().unwrap();
        let mut seen = drive_link(start::<false>(Ties::Drawn, &config, true), 0, &packets);
        let bounds = std::mem::replace(&mut seen.waiting, exact.waiting.clone());
        for (bound, waiting) in bounds.iter().zip(&exact.waiting) {
            assert!(bound.0 == waiting.0 || bound.0 > waiting.0 && bound.0 <= peak, "{bound:?} {waiting:?}");
        }
        assert_eq!(seen, Seen { transmissions: Vec::new(), ..exact }, "limit {limit}");
    }
}

/// The n-th of many transmissions starts within 1 ns of the exact rational: 1000 B at 3 Mb/s take 2666666.67 ns.
#[test]
fn a_busy_period_does_not_drift() {
    let packets: Vec<_> = (0..3001).map(|_| (ms(0), 1000)).collect();
    let seen = drive(&config("3Mbps", droptail(10_000)), &packets);
    assert_eq!(seen.transmissions[3000].1.start, Instant::from_secs(8));
}

#[test]
fn front_drop_drops_the_packet_that_waited_longest() {
    let queue = QueueOptions::DropTail(droptail::Options {
        limit: QueueSize::Packets(2),
        drop: droptail::Victim::Front,
        ..droptail::Options::preset(Dialect::Rfc)
    });
    let seen = drive(&config("2Mbps", queue), &[(ms(0), 1000), (ms(1), 1000), (ms(1), 1000), (ms(2), 1000)]);
    assert_eq!(seen.drops, [(1, DropCause::QueueFull)]);
    assert_eq!(seen.delivered.iter().map(|d| d.1).collect::<Vec<_>>(), [0, 2, 3]);
}

/// At an idle link no packet waits that could be dropped instead of the arriving one, even if the limit of ns-2 leaves
/// no room. The packet is sent, and is not marked.
#[test]
fn front_drop_sends_a_packet_that_finds_the_link_idle() {
    let queue = QueueOptions::DropTail(droptail::Options {
        limit: QueueSize::Packets(1),
        counts: droptail::Counts::BelowLimit,
        drop: droptail::Victim::Front,
    });
    let seen = drive(&config("2Mbps", queue), &[(ms(0), 1000)]);
    assert_eq!((seen.drops, seen.marks, seen.delivered), (vec![], vec![], vec![(ms(14), 0)]));
}

#[test]
fn channel_loss_takes_time_only_after_the_transmission() {
    let lossy = |place| {
        let mut config = config("2Mbps", droptail(50));
        let probability = Probability::new(1.0).unwrap();
        config.loss = Some(LossOptions::Bernoulli(loss::bernoulli::Options {
            probability: Some(probability),
            place,
            changes: Vec::new(),
        }));
        drive(&config, &[(ms(0), 1000), (ms(0), 1000)])
    };
    let before = lossy(loss::Place::BeforeQueue);
    assert_eq!((before.drops.len(), before.transmissions.len()), (2, 0));
    let after = lossy(loss::Place::AfterTransmission);
    assert_eq!((after.lost, after.transmissions.len()), (vec![0, 1], 2));
}

/// 1 Mb/s and a burst of 2000 B: of five packets of 1000 B at once the channel loses the first, which uses no tokens;
/// nor does a packet that is too large. Two pass, and 8 ms later one more does.
#[test]
fn the_policer_is_between_the_channel_and_the_queue() {
    let mut config = config("2Mbps", droptail(1));
    config.mtu = Some(Bytes::new(1000));
    let list = loss::list::Options { packets: vec![0], ..loss::list::Options::preset(Dialect::Rfc) };
    config.loss = Some(LossOptions::List(list));
    config.policer = Some(PolicerOptions { rate: "1Mbps".parse().unwrap(), burst: Bytes::new(2000) });
    let packets = [0, 0, 0, 0, 0, 0, 8, 8].map(ms).into_iter().zip([1000, 1001, 1000, 1000, 1000, 1000, 1000, 1000]);
    let seen = drive(&config, &packets.collect::<Vec<_>>());
    let policed = [4, 5, 7].map(|id| (id, DropCause::Policer));
    assert_eq!(seen.drops, [&[(0, DropCause::Channel), (1, DropCause::TooBig)], &policed[..]].concat());
    assert_eq!(seen.transmissions.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [2, 3, 6]);
    // The queue may be full for packets that pass.
    config.policer = Some(PolicerOptions { rate: "1Mbps".parse().unwrap(), burst: Bytes::new(4000) });
    let seen = drive(&config, &[0; 6].map(|at| (ms(at), 1000)));
    let full = [3, 4].map(|id| (id, DropCause::QueueFull));
    assert_eq!(seen.drops, [&[(0, DropCause::Channel)], &full[..], &[(5, DropCause::Policer)]].concat());
}

/// RFC 2475 section 2.3.3.3. 1 Mb/s and 2000 B on a link of 8 Mb/s and 10 ms: packets of 1000 B take 1 ms, and tokens
/// for one 8 ms. Two pass at once; the third has 1 of 8 ms of tokens when it leaves the queue for the idle transmitter
/// at 2 ms. Packets above the burst are dropped.
#[test]
fn a_shaper_delays_packets_above_its_rate() {
    for two_events in [false, true] {
        let mut config = Config { two_events, ..config("8Mbps", droptail(2)) };
        config.shaper =
            Some(ShaperOptions { rate: "1Mbps".parse().unwrap(), burst: Bytes::new(2000), changes: Vec::new() });
        let seen = drive(
            &config,
            &[(ms(0), 1000), (ms(0), 1000), (ms(0), 1000), (ms(0), 2001), (ms(3), 1000), (ms(3), 1000), (ms(3), 1000)],
        );
        assert_eq!(seen.drops, [(3, DropCause::TooBig), (6, DropCause::QueueFull)]);
        let delivered = [(11, 0), (12, 1), (19, 2), (27, 4), (35, 5)];
        assert_eq!(seen.delivered, delivered.map(|(at, id)| (ms(at), id)));
    }
}

/// Exact times in rational numbers (`tests/data/token-bucket.csv`): each packet begins and ends less than 2 ns later,
/// with rates that change, are zero, and are above or below that of the link.
#[test]
fn a_shaper_begins_at_the_exact_times() {
    let text = include_str!("data/token-bucket.csv");
    let parts = text.split("case,").skip(1);
    assert_eq!(parts.clone().count(), 11);
    for part in parts {
        let (head, packets) = part.split_once('\n').unwrap();
        let fields: Vec<&str> = head.split(',').collect();
        let number = |place: usize| fields[place].parse::<u64>().unwrap();
        let change = |text: &str| {
            let (at, rate) = text.split_once(':').unwrap();
            ShaperChange {
                at: format!("{at}s").parse().unwrap(),
                rate: Rate::from_bits_per_second(rate.parse().unwrap()),
            }
        };
        let changes = fields[5].split(';').filter(|text| !text.is_empty()).map(change).collect();
        let (rate, burst) = (Rate::from_bits_per_second(number(3)), Bytes::new(number(4)));
        let packets: Vec<Vec<u64>> =
            packets.lines().map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
        let offered: Vec<_> = packets.iter().map(|packet| (Instant::from_nanos(packet[0]), packet[1])).collect();
        for two_events in [false, true] {
            let mut config = Config { two_events, ..config(&format!("{}bps", number(1)), droptail(100)) };
            config.overhead = Bytes::new(number(2));
            config.shaper = Some(ShaperOptions { rate, burst, changes: Vec::clone(&changes) });
            let seen = drive(&config, &offered);
            assert_eq!(seen.delivered.len(), packets.len(), "{head}");
            for ((arrived, _), packet) in seen.delivered.iter().zip(&packets) {
                let end = arrived.as_nanos() - 10_000_000;
                assert!((packet[3]..packet[3] + 2).contains(&end), "{head}: {packet:?} ends at {end}");
                let wire = 8_000_000_000 * (packet[1] + number(2)) / number(1);
                assert!((end - wire).abs_diff(packet[2]) <= 2, "{head}: {packet:?} begins at {}", end - wire);
            }
        }
    }
}

/// The token rate is 1 Mb/s, 0 from 4 ms, and 2 Mb/s from 10 ms on. After the burst of 1500 B a packet of 1000 B needs
/// 8000 bits: 4000 until 4 ms, and 4000 in 2 ms from 10 ms on. The next one needs 4 ms more.
#[test]
fn a_waiting_packet_gets_tokens_at_the_new_rate() {
    let change = |at, rate: u64| ShaperChange {
        at: Duration::from_millis(at),
        rate: Rate::from_bits_per_second(rate * 1_000_000),
    };
    let shaper = ShaperOptions {
        rate: "1Mbps".parse().unwrap(),
        burst: Bytes::new(1500),
        changes: vec![change(4, 0), change(10, 2)],
    };
    assert_eq!(shaper.check(None), Ok(()));
    let seen = drive(
        &Config { shaper: Some(shaper.clone()), ..config("8Gbps", droptail(10)) },
        &[(ms(0), 1500), (ms(0), 1000), (ms(0), 1000)],
    );
    let ends = [1_500, 12_001_000, 16_001_000].map(|nanos| 10_000_000 + nanos);
    assert_eq!(seen.delivered.iter().map(|(at, _)| at.as_nanos()).collect::<Vec<_>>(), ends);
    let mean = |from, to| shaper.mean_rate(ms(from), ms(to));
    assert!((mean(0, 20) - 1.2e6).abs() < 1e-6 && mean(5, 9) == 0.0);
    let check = |changes| ShaperOptions { changes, ..shaper.clone() }.check(None).unwrap_err();
    let error = check(vec![change(4, 1), change(4, 2)]);
    assert_eq!(
        (error.key, error.message),
        ("changes", "change 1: each change must be later than the previous one; 4ms is not later than 4ms".to_owned())
    );
    assert!(check(vec![change(4, 0)]).message.contains("the last rate is 0bps"));
}

/// Linux netem, `netem_enqueue`: `sch->q.qlen >= sch->limit` drops, and a packet leaves the queue when its delay is
/// over. Three packets within 10 ms and the 1 ms of each transmission: those at 0, 1 and 2 ms arrive at 11, 12 and 13
/// ms, so that one at 10 ms is dropped and those at 11.5 and 12.5 ms pass.
#[test]
fn netem_counts_packets_in_flight() {
    let netem = droptail::Options {
        limit: QueueSize::Packets(3),
        counts: droptail::Counts::InFlight,
        ..droptail::Options::preset(Dialect::Rfc)
    };
    assert_eq!(netem.check(), Ok(()));
    let micros = |micros: u64| Instant::from_nanos(micros * 1000);
    let packets = [0, 1000, 2000, 3000, 10_000, 11_500, 11_600, 12_500].map(|at| (micros(at), 1000));
    for (two_events, jitter) in
        [(false, None), (true, None), (false, Some(kept_jitter(0))), (true, Some(free_jitter(0)))]
    {
        let queue = QueueOptions::DropTail(netem.clone());
        let config = Config { two_events, jitter, ..config("8Mbps", queue) };
        assert!(!config.may_be_shared());
        let seen = drive(&config, &packets);
        assert_eq!(seen.drops, [3, 4, 6].map(|id| (id, DropCause::QueueFull)));
        let delivered = [(11_000, 0), (12_000, 1), (13_000, 2), (22_500, 5), (23_500, 7)];
        assert_eq!(seen.delivered, delivered.map(|(at, id)| (micros(at), id)));
    }
    let refused = |change: fn(&mut droptail::Options)| {
        let mut options = netem.clone();
        change(&mut options);
        options.check().unwrap_err().key
    };
    assert_eq!(refused(|options| options.limit = "3kB".parse().unwrap()), "limit");
    assert_eq!(refused(|options| options.drop = droptail::Victim::Front), "drop");
}

/// Mahimahi's `LinkQueue::read_packet` uses up the opportunities of the current ms before it enqueues a packet: the
/// rest of an opportunity is for packets that waited, not for one that arrives at its time. With the 4 B of the TUN
/// header a packet of 1500 B uses a whole opportunity.
#[test]
fn mahimahi_gives_the_rest_of_an_opportunity_to_waiting_packets() {
    let trace = std::sync::Arc::new(CapacityTrace::parse("5\n10\n").unwrap());
    for two_events in [false, true] {
        let delivered = |overhead, packets: &[(Instant, u64)]| {
            let mut config =
                Config { two_events, capacity: Some(std::sync::Arc::clone(&trace)), ..config("1Mbps", droptail(9)) };
            config.overhead = overhead;
            drive(&config, packets).delivered.iter().map(|(at, _)| at.as_nanos() / 1_000_000 - 10).collect::<Vec<_>>()
        };
        assert_eq!(delivered(CapacityTrace::HEADER, &[(ms(1), 100), (ms(2), 100), (ms(5), 100)]), [5, 5, 10]);
        assert_eq!(delivered(CapacityTrace::HEADER, &[(ms(1), 1500), (ms(1), 1500), (ms(1), 1)]), [5, 10, 15]);
        assert_eq!(delivered(Bytes::new(0), &[(ms(1), 1500), (ms(1), 1500), (ms(1), 1)]), [5, 10, 10]);
    }
}

#[test]
fn each_impairment_has_its_own_random_stream() {
    let packets: Vec<_> = (0..400).map(|n| (ms(n * 5), 1000)).collect();
    let delays = |config: &Config| {
        let mut delivered = drive(config, &packets).delivered;
        delivered.sort_by_key(|(_, id)| *id);
        let delay = |(at, id): (Instant, u32)| at.since(packets[id as usize].0).as_nanos() - 14_000_000;
        delivered.into_iter().map(delay).collect::<Vec<_>>()
    };
    let plain = config("2Mbps", droptail(50));
    let jittery = Config { jitter: Some(free_jitter(20)), ..plain.clone() };
    let reordering = Config { reorder: Some(held_back(0.2, 15)), ..plain };
    let both = Config { reorder: reordering.reorder.clone(), ..jittery.clone() };
    let duplicate = Some(DuplicateOptions { probability: Probability::ONE, correlation: Probability::ZERO });
    let all = Config { duplicate, ..both.clone() };
    let (jitter, held) = (delays(&jittery), delays(&reordering));
    assert!(
        jitter.iter().any(|extra| *extra > 10_000_000)
            && held.iter().filter(|extra| **extra == 15_000_000).count() > 50
    );
    let sums: Vec<u64> = jitter.iter().zip(&held).map(|(jitter, held)| jitter + held).collect();
    assert_eq!((delays(&both), delays(&all)), (sums.clone(), sums));
}

fn free_jitter(most: u64) -> JitterOptions {
    let most = Duration::from_millis(most);
    JitterOptions::Uniform(jitter::uniform::Options {
        most,
        keeps_order: false,
        ..jitter::uniform::Options::preset(Dialect::Rfc)
    })
}

fn kept_jitter(mean: u64) -> JitterOptions {
    let mean = Duration::from_millis(mean);
    JitterOptions::Exponential(jitter::exponential::Options {
        mean,
        ..jitter::exponential::Options::preset(Dialect::Rfc)
    })
}

fn held_back(probability: f64, by: u64) -> ReorderOptions {
    let (probability, by) = (Probability::new(probability).unwrap(), Duration::from_millis(by));
    ReorderOptions::Delayed(reorder::held_back::Options {
        probability: Some(probability),
        by,
        ..reorder::held_back::Options::preset(Dialect::Rfc)
    })
}

fn let_ahead(probability: f64, by: u64) -> ReorderOptions {
    let (probability, by) = (Probability::new(probability).unwrap(), Duration::from_millis(by));
    ReorderOptions::NotDelayed(reorder::let_ahead::Options {
        probability,
        by,
        ..reorder::let_ahead::Options::preset(Dialect::Rfc)
    })
}

fn overtaking_strategy() -> impl Strategy<Value = (Option<JitterOptions>, Option<ReorderOptions>)> {
    prop_oneof![
        Just((Some(free_jitter(30)), None)),
        Just((None, Some(held_back(0.2, 12)))),
        Just((None, Some(let_ahead(0.3, 7)))),
        Just((Some(kept_jitter(4)), Some(held_back(0.3, 20)))),
        Just((Some(free_jitter(9)), Some(let_ahead(0.1, 7)))),
    ]
}

/// 4 ms of packets at 2 Mb/s, every second of which is delayed by 9 ms: RFC 4737 section 3.3, by earlier arrivals.
#[test]
fn packets_that_arrive_after_a_later_one_are_reordered() {
    let ReorderOptions::Delayed(every) = held_back(1.0, 9) else { unreachable!() };
    let reorder = Some(ReorderOptions::Delayed(reorder::held_back::Options { gap: 2, ..every }));
    let config = Config { reorder, ..config("2Mbps", droptail(50)) };
    let seen = drive(&config, &[(ms(0), 1000); 6]);
    let order = [(14, 0), (22, 2), (27, 1), (30, 4), (35, 3), (43, 5)];
    assert_eq!(seen.delivered, order.map(|(at, id)| (ms(at), id)));
    assert_eq!(seen.reordered, [1, 3]);
}

fn class_strategy() -> impl Strategy<Value = Vec<red::Class>> {
    use red::OnCongestion::{Drop, MarkHead, MarkTail};
    let action = prop_oneof![Just(Drop), Just(MarkTail), Just(MarkHead)];
    let class = |dscp: &'static [Dscp]| action.clone().prop_map(move |action| classes(dscp, action));
    prop_oneof![Just(Vec::new()), class(&[AF41]), class(&[AF41, EF]), class(&[EF, Dscp::CS0])]
}

/// RED for the classes of [`Numbered`] packets.
fn marking(classes: Vec<red::Class>) -> QueueOptions {
    QueueOptions::Red(red::Options {
        limit: QueueSize::Packets(100_000),
        min_threshold: Some(Threshold::Packets(3.0)),
        max_threshold: Some(Threshold::Packets(300.0)),
        max_probability: Probability::ONE,
        queue_weight: 0.2,
        classes,
        ..red::Options::preset(Dialect::Rfc)
    })
}

/// If all classes are marked, RED makes equal decisions at the head and at the tail. Each mark at the head is
/// delivered earlier or, if no other unmarked packet waits, on the same packet. No packet is marked twice.
#[test]
fn a_mark_at_the_head_arrives_sooner() {
    let packets: Vec<_> = (0..600).map(|n| (Instant::from_micros(3_000 * n), 1000)).collect();
    let all = [AF41, EF, Dscp::CS0];
    let seen = |action| drive(&config("2Mbps", marking(classes(&all, action))), &packets);
    let (head, tail) = (seen(red::OnCongestion::MarkHead), seen(red::OnCongestion::MarkTail));
    assert_eq!((&head.delivered, &head.drops), (&tail.delivered, &tail.drops));
    assert!(head.marks.len() == tail.marks.len() && head.marks.len() > 5, "{:?}", tail.marks);
    assert!(
        head.marks.is_sorted_by(|a, b| a < b) && head.marks.iter().zip(&tail.marks).all(|(head, tail)| head <= tail)
    );
    let arrival = |seen: &Seen, id| seen.delivered.iter().find(|(_, other)| *other == id).unwrap().0;
    let sooner =
        head.marks.iter().zip(&tail.marks).map(|(first, last)| arrival(&tail, *last).since(arrival(&head, *first)));
    // 4 ms each: several packets wait.
    assert!(sooner.into_iter().filter(|sooner| *sooner >= Duration::from_millis(12)).count() > 5);
}

/// The average is equal to the queue. From 3 waiting packets on p_b is max_p = 1; at 6, twice the upper threshold,
/// drops are certain. Packets 0 to 13 arrive at once, and 1, 4, 7, 10 and 13 are EF; 0 is transmitted, 3 is the first
/// above the lower threshold. Then 4 finds three waiting, and 1 is the first of its class; 7 marks 4, and 10 marks 7.
/// Packets without a class are dropped early, and 13 is a forced drop.
///
/// If 1 and 4 are too large for the link, no EF waits: 7 and 10 are marked themselves, and 13, which finds 2, 3, 5, 7
/// and 10, is, too.
#[test]
fn the_first_waiting_packet_of_the_class_is_marked() {
    let red = red::Options {
        limit: QueueSize::Packets(100),
        min_threshold: Some(Threshold::Packets(2.0)),
        max_threshold: Some(Threshold::Packets(3.0)),
        max_probability: Probability::ONE,
        queue_weight: 1.0,
        wait: false,
        classes: classes(&[EF], red::OnCongestion::MarkHead),
        ..red::Options::preset(Dialect::Rfc)
    };
    let config = Config { mtu: Some(Bytes::new(1000)), ..config("2Mbps", QueueOptions::Red(red)) };
    let all_except =
        |large: &[u64]| (0..14).map(|id| (ms(0), if large.contains(&id) { 1001 } else { 1000 })).collect::<Vec<_>>();
    let early = |ids: &[u32]| ids.iter().map(|id| (*id, DropCause::Early)).collect::<Vec<_>>();
    let seen = drive(&config, &all_except(&[]));
    assert_eq!(seen.marks, [1, 4, 7]);
    assert_eq!(
        seen.drops,
        [
            early(&[5, 6, 8, 9]),
            vec![(11, DropCause::QueueFull), (12, DropCause::QueueFull), (13, DropCause::QueueFull)]
        ]
        .concat()
    );
    let seen = drive(&config, &all_except(&[1, 4]));
    assert_eq!(seen.marks, [7, 10, 13]);
    assert_eq!(seen.drops, [vec![(1, DropCause::TooBig), (4, DropCause::TooBig)], early(&[6, 8, 9, 11, 12])].concat());
}

/// A limit of packets in flight: drops depend on the delay, too.
fn in_flight_strategy() -> impl Strategy<Value = QueueOptions> {
    (1u64..20).prop_map(|limit| {
        QueueOptions::DropTail(droptail::Options {
            limit: QueueSize::Packets(limit),
            counts: droptail::Counts::InFlight,
            drop: droptail::Victim::Tail,
        })
    })
}

fn queue_strategy() -> impl Strategy<Value = QueueOptions> {
    prop_oneof![
        (
            1u64..8,
            prop_oneof![
                Just(droptail::Counts::Waiting),
                Just(droptail::Counts::WithTransmission),
                Just(droptail::Counts::BelowLimit)
            ]
        )
            .prop_map(|(limit, counts)| QueueOptions::DropTail(droptail::Options {
                limit: QueueSize::Packets(limit),
                counts,
                drop: droptail::Victim::Tail,
            })),
        (1000u64..9000).prop_map(|limit| QueueOptions::DropTail(droptail::Options {
            limit: QueueSize::Bytes(Bytes::new(limit)),
            ..droptail::Options::preset(Dialect::Rfc)
        })),
        (2u64..9, any::<bool>()).prop_map(|(limit, certain)| {
            QueueOptions::EarlyRandomDrop(early_random_drop::Options {
                limit: QueueSize::Packets(limit),
                drop_level: None,
                drop_probability: Probability::new(if certain { 1.0 } else { 0.3 }).unwrap(),
            })
        }),
        (any::<bool>(), any::<bool>(), any::<bool>(), 1u64..12, class_strategy()).prop_map(
            |(in_bytes, wait, ecn, limit, classes)| {
                QueueOptions::Red(red::Options {
                    classes,
                    in_bytes,
                    weigh_size: in_bytes,
                    wait,
                    ecn,
                    limit: QueueSize::Packets(limit),
                    min_threshold: Some(Threshold::Packets(1.0)),
                    max_threshold: Some(Threshold::Packets(4.0)),
                    queue_weight: 0.2,
                    ..red::Options::preset(Dialect::Rfc)
                })
            }
        ),
    ]
}

/// Small limits and short times, for frequent decisions of the queue.
fn held_strategy() -> impl Strategy<Value = QueueOptions> {
    prop_oneof![
        codel_strategy(),
        pie_strategy(),
        fq_codel_strategy(),
        dualpi2_strategy(),
        by_class_strategy(),
        cake_strategy()
    ]
}

fn cake_strategy() -> impl Strategy<Value = QueueOptions> {
    use cake::{Isolation, Tins};
    let tins = prop::sample::select(vec![Tins::Besteffort, Tins::Precedence, Tins::Diffserv3, Tins::Diffserv8]);
    let isolation =
        prop::sample::select(vec![Isolation::Flowblind, Isolation::Hosts, Isolation::Flows, Isolation::TripleIsolate]);
    (limit_strategy(), tins, isolation, 1u64..50, 1u64..200, any::<[bool; 2]>()).prop_map(
        |(limit, tins, isolation, target, interval, [shaped, first_waits])| {
            QueueOptions::Cake(cake::Options {
                limit,
                tins,
                isolation,
                first_waits,
                bandwidth: shaped.then(|| "2Mbps".parse().unwrap()),
                target: Duration::from_millis(target),
                interval: Duration::from_millis(interval),
                mtu: Bytes::new(300),
            })
        },
    )
}

fn fq_codel_strategy() -> impl Strategy<Value = QueueOptions> {
    (
        1u64..40,
        any::<[bool; 5]>(),
        1u64..50,
        1u64..200,
        prop_oneof![Just(1u32), Just(2), Just(1024)],
        1u32..9,
        256u64..3000,
    )
        .prop_map(|(limit, [ecn, half, all, below, linux], target, interval, flows, drop_batch, quantum)| {
            QueueOptions::FqCodel(fq_codel::Options {
                limit: QueueSize::Packets(limit),
                ecn,
                flows,
                drop_batch,
                quantum: Bytes::new(quantum),
                drop_half_of: if half { fq_codel::HalfOf::Packets } else { fq_codel::HalfOf::Bytes },
                maxpacket_of: if all { fq_codel::MaxpacketOf::All } else { fq_codel::MaxpacketOf::Queue },
                spent_at: if below { fq_codel::DeficitExhausted::BelowZero } else { fq_codel::DeficitExhausted::Zero },
                target: Duration::from_millis(target),
                interval: Duration::from_millis(interval),
                maxpacket: Bytes::new(500),
                ..fq_codel::Options::preset(if linux { Dialect::Linux } else { Dialect::Rfc })
            })
        })
}

fn dualpi2_strategy() -> impl Strategy<Value = QueueOptions> {
    let scheduler = prop_oneof![Just(dualpi2::Scheduler::Wrr), Just(dualpi2::Scheduler::TsFifo)];
    (limit_strategy(), scheduler, 1u64..50, 1u64..200, 0u32..4, any::<bool>()).prop_map(
        |(limit, scheduler, target, rtt_max, th_len, linux)| {
            QueueOptions::DualPi2(dualpi2::Options {
                limit: Some(limit),
                scheduler,
                th_len,
                target: Duration::from_millis(target),
                rtt_max: Duration::from_millis(rtt_max),
                t_update: Some(Duration::from_millis(5)),
                tshift: Duration::from_millis(target),
                ..dualpi2::Options::preset(if linux { Dialect::Linux } else { Dialect::Rfc })
            })
        },
    )
}

fn by_class_strategy() -> impl Strategy<Value = QueueOptions> {
    (limit_strategy(), any::<bool>(), 64u64..3000, 64u64..3000).prop_map(|(limit, priority, quantum, of_ef)| {
        if priority {
            let class = |dscp| priority::Class { dscp: vec![dscp], limit: None };
            return QueueOptions::Priority(priority::Options { limit, classes: vec![class(EF), class(AF41)] });
        }
        let class = |dscp, quantum| drr::Class { dscp: vec![dscp], quantum, limit: None };
        QueueOptions::Drr(drr::Options {
            limit,
            quantum: Bytes::new(quantum),
            classes: vec![class(EF, Some(Bytes::new(of_ef))), class(AF41, None)],
        })
    })
}

fn pie_strategy() -> impl Strategy<Value = QueueOptions> {
    (limit_strategy(), any::<[bool; 5]>(), 1u64..50, 1u64..30, 0u64..100).prop_map(
        |(limit, [ecn, derandomize, rate, inactive_below, half], qdelay_ref, t_update, max_burst)| {
            QueueOptions::Pie(pie::Options {
                limit,
                ecn,
                derandomize,
                inactive_below,
                delay: if rate { pie::Delay::DequeueRate } else { pie::Delay::Timestamp },
                decay: if half { pie::Decay::Half } else { pie::Decay::Zero },
                qdelay_ref: Duration::from_millis(qdelay_ref),
                t_update: Duration::from_millis(t_update),
                max_burst: Duration::from_millis(max_burst),
                alpha: 2.0,
                beta: 20.0,
                mean_pktsize: Bytes::new(300),
                dq_threshold: Bytes::new(2000),
                ..pie::Options::preset(Dialect::Rfc)
            })
        },
    )
}

fn codel_strategy() -> impl Strategy<Value = QueueOptions> {
    (
        limit_strategy(),
        any::<bool>(),
        prop_oneof![Just(Dialect::Rfc), Just(Dialect::Linux)],
        1u64..50,
        1u64..200,
        any::<bool>(),
    )
        .prop_map(|(limit, ecn, dialect, target, interval, threshold)| {
            QueueOptions::Codel(codel::Options {
                limit,
                ecn,
                target: Duration::from_millis(target),
                interval: Duration::from_millis(interval),
                maxpacket: Bytes::new(500),
                ce_threshold: threshold.then(|| Duration::from_millis(target / 2)),
                ..codel::Options::preset(dialect)
            })
        })
}

fn limit_strategy() -> impl Strategy<Value = QueueSize> {
    prop_oneof![
        (1u64..60).prop_map(QueueSize::Packets),
        (1000u64..50_000).prop_map(|bytes| QueueSize::Bytes(Bytes::new(bytes))),
    ]
}

fn limit_of(queue: &QueueOptions) -> QueueSize {
    match queue {
        QueueOptions::Codel(options) => options.limit,
        QueueOptions::Pie(options) => options.limit,
        QueueOptions::FqCodel(options) => options.limit,
        QueueOptions::DualPi2(options) => options.limit.unwrap(),
        QueueOptions::Cake(options) => options.limit,
        // For each of three classes.
        QueueOptions::Drr(drr::Options { limit, .. }) | QueueOptions::Priority(priority::Options { limit, .. }) => {
            match limit {
                QueueSize::Packets(packets) => QueueSize::Packets(3 * packets),
                QueueSize::Bytes(bytes) => QueueSize::Bytes(Bytes::new(3 * bytes.count())),
            }
        }
        other => unreachable!("{other:?}"),
    }
}

/// The buffer of 250 ms is computed from the rate of the shaper (RFC 9332 appendix A: DualPI2 without a limit).
#[test]
fn a_limit_in_time_uses_the_rate_of_the_shaper() {
    let queue = || QueueOptions::DualPi2(dualpi2::Options::preset(Dialect::Rfc));
    let shaper = ShaperOptions { rate: "2Mbps".parse().unwrap(), burst: Bytes::new(1500), changes: Vec::new() };
    let packets = vec![(ms(0), 1000); 300];
    let shaped = drive(&Config { shaper: Some(shaper), ..config("1Gbps", queue()) }, &packets);
    let slow = drive(&config("2Mbps", queue()), &packets);
    assert!(slow.drops.len() > 200, "{}", slow.drops.len());
    assert!(shaped.drops.len().abs_diff(slow.drops.len()) <= 2, "{} {}", shaped.drops.len(), slow.drops.len());
}

/// RFC 8290 section 4.2: a transmitter that becomes idle has asked the queue and got nothing, so that flow 0, whose
/// packet departed long ago, is new again at 101 ms, and is served before flow 4, whose packet arrives at 102 ms.
/// Packets above the MTU do not reach the queue.
#[test]
fn an_idle_transmitter_has_polled_the_queue() {
    let queue = QueueOptions::FqCodel(fq_codel::Options { flows: 65_536, ..fq_codel::Options::preset(Dialect::Rfc) });
    let config = Config { mtu: Some(Bytes::new(1000)), ..config("2Mbps", queue) };
    let times = [0, 100, 100, 100, 100, 101, 101, 101, 101, 102];
    let packets: Vec<_> =
        (0..10).map(|id| (ms(times[id]), if [4, 6, 7, 8].contains(&id) { 1001 } else { 1000 })).collect();
    let delivered = drive(&config, &packets).delivered;
    assert_eq!(delivered.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [0, 1, 2, 3, 5, 9]);
}

/// A queue of 50000 evicts a packet from any position, 50000 times: without constant-time access this takes minutes.
#[test]
fn eviction_takes_constant_time() {
    let red = red::Options {
        limit: QueueSize::Packets(50_000),
        min_threshold: Some(Threshold::Packets(1e6)),
        max_threshold: Some(Threshold::Packets(2e6)),
        drop: red::Victim::Random,
        ..red::Options::preset(Dialect::Rfc)
    };
    let packets = vec![(ms(0), 100); 100_001];
    let seen = drive(&config("1Gbps", QueueOptions::Red(red)), &packets);
    assert_eq!((seen.drops.len(), seen.delivered.len()), (50_000, 50_001));
}

/// A link with a tail-drop queue whose packets may use the plain path.
fn plain_strategy() -> impl Strategy<Value = Config> {
    use droptail::Counts::{BelowLimit, Waiting, WithTransmission};
    let counts = prop::sample::select(vec![Waiting, WithTransmission, BelowLimit]);
    let rates = prop::sample::select(vec!["1Mbps", "3Mbps", "10Mbps", "1234567bps", "1Gbps"]);
    (rates, 2u64..12, counts, 0u64..40, 0u64..3).prop_map(|(rate, limit, counts, overhead, delay)| {
        let limit = QueueSize::Packets(limit);
        let options = droptail::Options { limit, counts, ..droptail::Options::preset(Dialect::Rfc) };
        let (overhead, delay) = (Bytes::new(overhead), Duration::from_millis(delay));
        Config { overhead, delay, ..config(rate, QueueOptions::DropTail(options)) }
    })
}

/// Packets in order, some of them at equal times or a transmission time apart, with fractions of a nanosecond.
fn moments_strategy() -> impl Strategy<Value = Vec<(Moment, u64)>> {
    let gap = prop_oneof![Just(0u64), Just(1_200_000), Just(400_000), 0u64..3_000_000, Just(12_000)];
    let packet = (gap, prop::sample::select(vec![40u64, 500, 1500]), 0u8..4, any::<u32>());
    prop::collection::vec(packet, 1..120).prop_map(|packets| {
        let mut nanos = 0;
        let mut moments: Vec<_> = packets
            .into_iter()
            .map(|(gap, size, quarter, salt)| {
                nanos += gap;
                let at = Instant::from_nanos(nanos);
                let fraction_ns = f32::from(quarter) / 4.0 - 0.25;
                (Moment::drawn(at, at.as_secs_f64(), fraction_ns, Class::Arrival, salt), size)
            })
            .collect();
        moments.sort_by_key(|(at, _)| *at);
        moments
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_and_general_paths_agree(config in plain_strategy(), packets in moments_strategy()) {
        let (plain, general) = (start::<false>(Ties::Drawn, &config, false), start::<false>(Ties::Drawn, &config, true));
        prop_assert!(plain.get(0).unwrap().is_plain() && !general.get(0).unwrap().is_plain());
        let plain = drive_link(plain, 0, &packets);
        prop_assert_eq!(&plain, &drive_link(general, 0, &packets));
        let observed = drive_moments(&config, &packets);
        prop_assert_eq!((&plain.drops, &plain.delivered, &plain.summary), (&observed.drops, &observed.delivered, &observed.summary));
    }

    /// One event or two per packet: equal transmissions, drops, marks, deliveries and waiting packets. With whole
    /// milliseconds for gaps and transmissions, ties are frequent.
    #[test]
    fn one_event_and_two_events_agree(
        queue in prop_oneof![8 => queue_strategy(), 1 => in_flight_strategy()],
        rate in prop_oneof![Just("2Mbps"), Just("3Mbps"), Just("1Gbps"), Just("900Gbps")],
        gaps in prop::collection::vec((0u64..5, prop_oneof![Just(250u64), Just(500), Just(1000), 40u64..1500]), 1..120),
        lossy: bool,
        policed: bool,
        shaped: bool,
        jittery: bool,
        changing: bool,
        before: bool,
    ) {
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (ms(now), *size) }).collect();
        let mut one = config(rate, queue);
        if lossy {
            one.loss = Some(LossOptions::Bernoulli(loss::bernoulli::Options {
                probability: Probability::new(0.2),
                place: if before { loss::Place::BeforeQueue } else { loss::Place::AfterTransmission },
                changes: Vec::new(),
            }));
        }
        one.mtu = before.then(|| Bytes::new(1200));
        one.policer = policed.then(|| PolicerOptions { rate: "1Mbps".parse().unwrap(), burst: Bytes::new(1500) });
        one.shaper = shaped.then(|| ShaperOptions { rate: "1500kbps".parse().unwrap(), burst: Bytes::new(2000), changes: Vec::new() });
        one.jitter = jittery.then(|| kept_jitter(5));
        let change = |at, rate: Option<&str>, delay: Option<u64>| LinkChange {
            at: Duration::from_millis(at),
            rate: rate.map(|rate| rate.parse().unwrap()),
            delay: delay.map(Duration::from_millis),
        };
        let changes = vec![change(20, Some("0bps"), Some(3)), change(45, Some("1Mbps"), None), change(90, None, Some(12))];
        one.changes = changing.then(|| std::sync::Arc::new(LinkChanges::new(changes).unwrap()));
        let two = Config { two_events: true, ..one.clone() };
        let (one, two) = (drive(&one, &packets), drive(&two, &packets));
        prop_assert_eq!(one, two);
    }

    /// Queues that evict waiting packets: the others depart in order, and at most `limit` wait.
    #[test]
    fn queues_that_evict(
        limit in 1u64..6,
        random: bool,
        in_bytes: bool,
        gaps in prop::collection::vec((0u64..5, prop_oneof![Just(500u64), Just(1000)]), 1..120),
    ) {
        let queue = if random {
            QueueOptions::Red(red::Options {
                limit: QueueSize::Packets(limit),
                min_threshold: Some(Threshold::Packets(1e6)),
                max_threshold: Some(Threshold::Packets(2e6)),
                drop: red::Victim::Random,
                ..red::Options::preset(Dialect::Rfc)
            })
        } else {
            QueueOptions::DropTail(droptail::Options {
                limit: if in_bytes { QueueSize::Bytes(Bytes::new(limit * 1000)) } else { QueueSize::Packets(limit) },
                drop: droptail::Victim::Front,
                ..droptail::Options::preset(Dialect::Rfc)
            })
        };
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (ms(now), *size) }).collect();
        let seen = drive(&config("2Mbps", queue), &packets);
        prop_assert_eq!(seen.delivered.len() + seen.drops.len(), packets.len());
        prop_assert!(seen.delivered.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
        prop_assert!(seen.transmissions.windows(2).all(|w| w[0].1.end <= w[1].1.start));
        if !in_bytes || random {
            prop_assert!(seen.waiting.iter().all(|(packets, _)| *packets <= limit));
        }
    }

    /// Queues that hold the waiting packets: at most `limit` wait, each flow is in order, and each packet departs or
    /// is reported as dropped.
    #[test]
    fn queues_that_decide_at_departure(
        queue in held_strategy(),
        rate in prop_oneof![Just("100kbps"), Just("1Mbps"), Just("2Mbps")],
        gaps in prop::collection::vec((0u64..12, prop_oneof![Just(250u64), Just(1000), 40u64..1500]), 1..300),
    ) {
        let limit = limit_of(&queue);
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (ms(now), *size) }).collect();
        let seen = drive(&config(rate, queue), &packets);
        prop_assert_eq!(seen.delivered.len() + seen.drops.len(), packets.len());
        prop_assert!(seen.transmissions.windows(2).all(|w| w[0].1.end <= w[1].1.start));
        for (packets, bytes) in &seen.waiting {
            let holds = match limit {
                QueueSize::Packets(limit) => *packets <= limit,
                QueueSize::Bytes(limit) => *bytes <= limit.count(),
            };
            prop_assert!(holds, "{} packets, {} B", packets, bytes);
        }
        prop_assert!(seen.delivered.is_sorted_by_key(|(at, _)| *at));
        for one in 0..5 {
            // Of one class, if the queue has classes: one in three has the same.
            for class in 0..3 {
                let ids = seen.delivered.iter().map(|(_, id)| *id).filter(|id| flow(*id) == one && id % 3 == class);
                prop_assert!(ids.is_sorted_by(|a, b| a < b), "a flow stays in order");
            }
        }
        let mut once = seen.marks.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), seen.marks.len(), "no packet is marked twice");
        prop_assert!(seen.marks.iter().all(|mark| seen.delivered.iter().any(|(_, id)| id == mark)));
    }

    /// Packets that overtake: queue, transmissions and losses are equal to those of a link without reordering; each
    /// packet that is not dropped arrives once, and the reordered packets are those that arrive after a later one.
    #[test]
    fn packets_that_overtake_are_conserved(
        queue in prop_oneof![queue_strategy(), held_strategy()],
        (jitter, reorder) in overtaking_strategy(),
        gaps in prop::collection::vec((0u64..12, prop_oneof![Just(250u64), Just(1000), 40u64..1500]), 1..150),
        lossy: bool,
        shaped: bool,
        scheduled: bool,
    ) {
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (ms(now), *size) }).collect();
        let moments: Vec<_> = packets.iter().map(|(at, size)| {
            let moment = if scheduled { Moment::scheduled(at.as_secs_f64(), 0) } else { when(*at, Class::Source) };
            (moment, *size)
        }).collect();
        let mut config = Config { two_events: true, ..config("1Mbps", queue) };
        let ties = if scheduled { Ties::Scheduled } else { Ties::Drawn };
        config.shaper = shaped.then(|| ShaperOptions { rate: "900kbps".parse().unwrap(), burst: Bytes::new(2000), changes: Vec::new() });
        // Whole nanoseconds in both.
        let last = LinkChange { at: Duration::from_secs(1000), rate: Some("1Mbps".parse().unwrap()), delay: None };
        config.changes = Some(std::sync::Arc::new(LinkChanges::new(vec![last]).unwrap()));
        config.loss = lossy.then(|| LossOptions::Bernoulli(loss::bernoulli::Options {
            probability: Probability::new(0.2),
            place: loss::Place::AfterTransmission,
            changes: Vec::new(),
        }));
        let plain = drive_after(ties, &config, 0, &moments);
        let seen = drive_after(ties, &Config { jitter, reorder, ..config }, 0, &moments);
        prop_assert_eq!((&seen.transmissions, &seen.drops, &seen.waiting), (&plain.transmissions, &plain.drops, &plain.waiting));
        prop_assert_eq!(seen.delivered.len() + seen.lost.len() + seen.drops.len(), packets.len());
        prop_assert!(seen.delivered.is_sorted_by_key(|(at, _)| *at));
        let order: Vec<u32> = seen.transmissions.iter().map(|(id, _)| *id).collect();
        let number = |id: u32| order.iter().position(|other| *other == id).unwrap();
        let (mut most, mut reordered) = (None, Vec::new());
        for (_, id) in &seen.delivered {
            if most.is_some_and(|most| number(*id) < most) {
                reordered.push(*id);
            }
            most = most.max(Some(number(*id)));
        }
        prop_assert_eq!(seen.reordered, reordered);
    }

    /// Classes without packets change nothing. If all packets are marked, none is dropped early: drops are forced.
    #[test]
    fn classes_determine_early_drops(
        limit in 3u64..30,
        gaps in prop::collection::vec((0u64..5, prop_oneof![Just(500u64), Just(1000)]), 1..200),
    ) {
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (ms(now), *size) }).collect();
        let seen = |classes| {
            let QueueOptions::Red(options) = marking(classes) else { unreachable!() };
            let options = red::Options {
                limit: QueueSize::Packets(limit),
                min_threshold: Some(Threshold::Packets(1.0)),
                max_threshold: Some(Threshold::Packets(8.0)),
                ..options
            };
            drive(&config("2Mbps", QueueOptions::Red(options)), &packets)
        };
        let plain = seen(Vec::new());
        let actions = [red::OnCongestion::MarkTail, red::OnCongestion::MarkHead, red::OnCongestion::Drop];
        for action in actions {
            prop_assert_eq!(&seen(classes(&[Dscp::new(63).unwrap()], action)), &plain);
        }
        for action in &actions[..2] {
            let marked = seen(classes(&[AF41, EF, Dscp::CS0], *action));
            prop_assert!(marked.drops.iter().all(|(_, cause)| *cause == DropCause::QueueFull));
            let mut once = marked.marks.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), marked.marks.len());
        }
    }

    #[test]
    fn packets_are_conserved_and_in_order(
        queue in queue_strategy(),
        gaps in prop::collection::vec((0u64..5_000_000, 1u64..2000), 1..200),
    ) {
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (Instant::from_nanos(now), *size) }).collect();
        let seen = drive(&config("2Mbps", queue), &packets);
        prop_assert_eq!(seen.delivered.len() + seen.drops.len(), packets.len());
        prop_assert!(seen.delivered.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
        prop_assert!(seen.transmissions.windows(2).all(|w| w[0].1.end <= w[1].1.start));
        for (_, t) in &seen.transmissions {
            let exact = Rate::from_bits_per_second(2_000_000).time_of(Bytes::new(t.bytes));
            let took = t.end.since(t.start);
            prop_assert!(took.as_nanos().abs_diff(exact.as_nanos()) <= 1);
        }
    }
}
