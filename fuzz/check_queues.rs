//! Invariants of a link with any kind of queue and any arrivals. Shared by the fuzz target and the test that replays
//! `fuzz/corpus`.

use super::choices::Choices;
use headway_engine::{Class, Moment, Ties};
use headway_link::queue::{cake, codel, drr, dualpi2, fq_codel, pie, priority};
use headway_link::{
    Config, DroppedPacket, DuplicateOptions, Handle, Handler, Item, JitterOptions, Ports, QueueOptions, ReorderOptions,
    ShaperChange, ShaperOptions, jitter, reorder,
};
use headway_record::{LinkLabel, Measured};
use headway_units::{
    Bytes, Dialect, DropCause, Dscp, Duration, Ecn, Instant, Options, Probability, QueueSize, Rate, Registry,
};

/// A packet whose ECN and DSCP fields depend on its flow.
struct Packet {
    number: u64,
    flow: u8,
    size: u32,
    marked: bool,
}

impl Item for Packet {
    fn release(&mut self) {}
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        if self.marked { Ecn::Ce } else { ecn_of(self.flow) }
    }
    /// Queues only mark.
    fn set_ecn(&mut self, ecn: Ecn) {
        panic!("a queue sets {ecn:?}");
    }
    fn mark(&mut self) {
        assert!(ecn_of(self.flow).is_capable(), "only ECN-capable packets are marked");
        assert!(!std::mem::replace(&mut self.marked, true), "a packet is marked once");
    }
    fn dscp(&self) -> Dscp {
        Dscp::new([0, 46, 34, 8][usize::from(self.flow >> 2 & 3)]).unwrap_or_default()
    }
    fn flow(&self) -> u64 {
        u64::from(self.flow)
    }
    fn host_pair(&self) -> (usize, bool) {
        (usize::from(self.flow), self.flow & 32 == 0)
    }
}

const fn ecn_of(flow: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][(flow & 3) as usize]
}

/// Counters of the packets.
struct Fates {
    keeps_order: bool,
    /// Number of the last packet that arrived, by flow.
    last: [u64; 256],
    offered: u64,
    ended: u64,
}

impl Handler<Packet> for Fates {
    // Needed for exact queue lengths.
    const HOPS: bool = true;

    fn duplicate(&mut self, _: Instant, _: usize, packet: &Packet, _: usize) -> Option<Packet> {
        self.offered += 1;
        Some(Packet { number: self.offered, ..*packet })
    }
    fn reordered(&mut self, _: usize) {
        assert!(!self.keeps_order, "nothing is reordered");
    }
    fn marked(&mut self, _: Instant, _: usize, _: Handle, _: &mut Packet) {}
    fn dropped(&mut self, drop: DroppedPacket<'_, Packet>) {
        assert!(matches!(drop.cause, DropCause::QueueFull | DropCause::Early));
        assert!(!self.keeps_order || drop.packet.number > self.last[usize::from(drop.packet.flow)]);
        self.ended += 1;
    }
}

struct Run {
    link: Ports<Packet, Fates>,
    now: Instant,
    most: QueueSize,
    /// RED accepts one packet above its limit in bytes.
    slack: u64,
}

/// Interprets the bytes as options and events. The first selects the kind of queue.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let Some((queue, most)) = queue(&mut choices) else { return };
    let slack = if matches!(queue, QueueOptions::Red(_)) { 10_000 } else { 0 };
    let around = choices.byte();
    let ties = if around & 1 == 0 { Ties::Drawn } else { Ties::Scheduled };
    let has = |bit: u8| around >> bit & 1 == 1;
    let rate = choices.one(&["64kbps", "1Mbps", "10Mbps", "10Gbps"]).parse().expect("a rate");
    let delay = Duration::from_millis(u64::from(choices.byte()));
    let config = Config {
        shaper: has(1).then(|| shaper(has(7))),
        jitter: has(2).then(|| jitter(has(3))),
        reorder: has(4).then(|| reorder(has(5))),
        duplicate: has(6).then(|| DuplicateOptions { probability: part(0.2), correlation: part(0.1) }),
        ..Config::new(rate, delay, queue)
    };
    let keeps_order = !config.overtakes();
    let fates = Fates { keeps_order, last: [0; 256], offered: 0, ended: 0 };
    let measured = Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
    let mut link = Ports::new(ties, &measured, fates);
    link.add(&config.into(), 1, "fuzz", false);
    link.set_hosts(&(0..32).map(|flow| (flow % 3, 3 + flow % 2)).collect());
    let mut run = Run { link, now: Instant::from_millis(1), most, slack };
    while let Some(step) = choices.step() {
        match step & 3 {
            0 => run.now += Duration::from_micros(u64::from(step >> 2) * 97),
            1 => run.now += Duration::from_micros(choices.wide() & ((1 << 30) - 1)),
            _ => {
                let flow = choices.byte();
                for _ in 0..=step >> 4 {
                    run.offer(flow, if step & 4 == 0 { 1500 } else { 20 + u32::from(flow) * 37 });
                }
            }
        }
        run.until(Moment::after_all(run.now));
        run.holds();
    }
    // All packets leave.
    run.until(Moment::after_all(Instant::FAR_FUTURE));
    let Fates { offered, ended, .. } = run.link.handler;
    assert_eq!((offered, run.link.packets.alive()), (ended, 0));
}

fn shaper(changes: bool) -> ShaperOptions {
    let rate = |text: &str| text.parse().expect("a rate");
    let change = |(at, to)| ShaperChange { at: Duration::from_millis(at), rate: rate(to) };
    let changes = [(20, "0bps"), (70, "5Mbps"), (700, "200kbps")].map(change).into_iter().filter(|_| changes);
    ShaperOptions { rate: rate("900kbps"), burst: Bytes::new(10_000), changes: changes.collect() }
}

fn part(of: f64) -> Probability {
    Probability::new(of).expect("a part")
}

fn jitter(keeps_order: bool) -> JitterOptions {
    let options = jitter::exponential::Options::preset(Dialect::Rfc);
    JitterOptions::Exponential(jitter::exponential::Options { mean: Duration::from_millis(9), keeps_order, ..options })
}

fn reorder(ahead: bool) -> ReorderOptions {
    let (by, probability) = (Duration::from_millis(7), part(0.2));
    if ahead {
        ReorderOptions::NotDelayed(reorder::let_ahead::Options {
            by,
            probability,
            gap: 3,
            ..reorder::let_ahead::Options::preset(Dialect::Rfc)
        })
    } else {
        ReorderOptions::Delayed(reorder::held_back::Options {
            by,
            probability: Some(probability),
            ..reorder::held_back::Options::preset(Dialect::Rfc)
        })
    }
}

fn limit(choices: &mut Choices<'_>) -> QueueSize {
    match choices.byte() {
        bytes if bytes & 1 == 1 => QueueSize::Bytes(Bytes::new(1000 + u64::from(bytes) * 200)),
        packets => QueueSize::Packets(1 + u64::from(packets >> 2)),
    }
}

/// Returns a queue of any kind with its main options chosen, and its limit.
fn queue(choices: &mut Choices<'_>) -> Option<(QueueOptions, QueueSize)> {
    let kind = choices.one(QueueOptions::KINDS);
    let mut queue =
        QueueOptions::preset(kind, choices.one(&[Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux]))?;
    let mut most = limit(choices);
    let millis = |choices: &mut Choices<'_>| Duration::from_micros(u64::from(choices.byte()) * 250);
    let flags = choices.byte();
    let flag = |bit: u8| flags >> bit & 1 == 1;
    match &mut queue {
        QueueOptions::DropTail(options) => options.limit = most,
        QueueOptions::EarlyRandomDrop(options) => {
            options.limit = most;
            options.drop_probability = Probability::new(choices.part())?;
        }
        QueueOptions::Red(options) => {
            (options.limit, options.in_bytes) = (most, options.in_bytes || matches!(most, QueueSize::Bytes(_)));
            (options.ecn, options.queue_weight) = (flag(0), 0.1);
            if let QueueSize::Packets(packets) = most
                && options.in_bytes
            {
                most = QueueSize::Bytes(Bytes::new(packets * options.mean_packet.count()));
            }
        }
        QueueOptions::Codel(options) => {
            options.limit = most;
            (options.target, options.interval) = (millis(choices), millis(choices));
            (options.ecn, options.maxpacket) = (flag(0), Bytes::new(u64::from(choices.byte()) * 16));
            options.ce_threshold = flag(1).then(|| millis(choices));
            options.tick = Duration::from_nanos(choices.one(&[1, 1024, 1_000_000]));
            options.inverse_sqrt = choices.one(&[codel::InverseSqrt::Exact, codel::InverseSqrt::Newton]);
        }
        QueueOptions::FqCodel(options) => {
            let packets = 1 + u64::from(choices.byte() >> 1);
            most = QueueSize::Packets(packets);
            options.limit = most;
            options.flows = choices.one(&[1, 2, 3, 16, 1024]);
            options.quantum = Bytes::new(256 + u64::from(choices.byte()) * 16);
            (options.target, options.interval) = (millis(choices), millis(choices));
            (options.ecn, options.drop_counts) = (flag(0), flag(1));
            options.drop_batch = 1 + u32::from(choices.byte());
            options.drop_half_of = choices.one(&[fq_codel::HalfOf::Packets, fq_codel::HalfOf::Bytes]);
            options.maxpacket_of = choices.one(&[fq_codel::MaxpacketOf::Queue, fq_codel::MaxpacketOf::All]);
            options.retire = choices.one(&[fq_codel::Retire::BehindOld, fq_codel::Retire::AtOnceIfAlone]);
            options.spent_at = choices.one(&[fq_codel::DeficitExhausted::Zero, fq_codel::DeficitExhausted::BelowZero]);
        }
        QueueOptions::Pie(options) => {
            options.limit = most;
            (options.qdelay_ref, options.max_burst) = (millis(choices), millis(choices));
            options.t_update = Duration::from_millis(u64::from(choices.byte()));
            (options.alpha, options.beta) = (choices.part() * 100.0, choices.part() * 100.0);
            (options.ecn, options.derandomize, options.cap_adjustment) = (flag(0), flag(1), flag(2));
            options.inactive_below = flag(3);
            options.delay = choices.one(&[pie::Delay::Timestamp, pie::Delay::DequeueRate]);
        }
        QueueOptions::DualPi2(options) => {
            options.limit = Some(most);
            (options.target, options.rtt_max) = (millis(choices), millis(choices));
            options.t_update = Some(Duration::from_millis(u64::from(choices.byte())));
            options.k = choices.part() * 8.0;
            (options.min_th, options.range) = (millis(choices), millis(choices));
            options.scheduler = choices.one(&[dualpi2::Scheduler::Wrr, dualpi2::Scheduler::TsFifo]);
            options.classic_weight = choices.part();
            options.min_backlog = Bytes::new(u64::from(choices.byte()) * 16);
        }
        QueueOptions::Drr(options) => {
            options.limit = most;
            options.quantum = Bytes::new(64 + u64::from(choices.byte()) * 16);
            let ef = drr::Class { dscp: vec![Dscp::new(46)?, Dscp::new(34)?], quantum: None, limit: None };
            options.classes.push(ef);
            most = times(most, 2);
        }
        QueueOptions::Priority(options) => {
            options.limit = most;
            let class = |value| Some(priority::Class { dscp: vec![Dscp::new(value)?], limit: None });
            options.classes = vec![class(46)?, class(34)?];
            most = times(most, 3);
        }
        QueueOptions::Cake(options) => {
            options.limit = most;
            (options.target, options.interval) = (millis(choices), millis(choices));
            (options.first_waits, options.mtu) = (flag(0), Bytes::new(256 + u64::from(choices.byte()) * 16));
            options.bandwidth = flag(1).then(|| Rate::from_bits_per_second(1000 << (choices.byte() & 31)));
            options.tins = choices.one(&[
                cake::Tins::Diffserv3,
                cake::Tins::Diffserv4,
                cake::Tins::Diffserv8,
                cake::Tins::Precedence,
            ]);
            options.isolation = choices.one(&[
                cake::Isolation::TripleIsolate,
                cake::Isolation::DualSrchost,
                cake::Isolation::DualDsthost,
                cake::Isolation::Flows,
                cake::Isolation::Hosts,
                cake::Isolation::Flowblind,
            ]);
        }
    }
    match queue.check() {
        Ok(()) => Some((queue, most)),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn times(limit: QueueSize, classes: u64) -> QueueSize {
    match limit {
        QueueSize::Packets(packets) => QueueSize::Packets(packets * classes),
        QueueSize::Bytes(bytes) => QueueSize::Bytes(Bytes::new(bytes.count() * classes)),
    }
}

impl Run {
    fn offer(&mut self, flow: u8, size: u32) {
        self.link.handler.offered += 1;
        let packet = Packet { number: self.link.handler.offered, flow, size, marked: false };
        let packet = self.link.packets.insert(packet);
        let sum_s = self.now.as_secs_f64();
        let events = &mut self.link.events;
        let now = match events.ties {
            Ties::Scheduled => Moment::scheduled(sum_s, events.places.next()),
            Ties::Drawn => Moment::in_class(self.now, sum_s, Class::Source),
        };
        self.link.offer(now, 0, packet);
    }

    /// Handles all events up to `until` in order.
    fn until(&mut self, until: Moment) {
        while let Some((at, _, packet)) = self.link.next_arrival(until) {
            self.now = self.now.max(at.at);
            let Packet { number, flow, .. } = *self.link.packets.get(packet);
            self.link.packets.remove(packet);
            let fates = &mut self.link.handler;
            let last = std::mem::replace(&mut fates.last[usize::from(flow)], number);
            assert!(!fates.keeps_order || last < number, "a flow's packets stay in order");
            fates.ended += 1;
        }
    }

    fn holds(&mut self) {
        let on_link = self.link.on_port(0).count() as u64;
        let Fates { offered, ended, .. } = self.link.handler;
        assert_eq!(offered, ended + on_link, "in = out + dropped + on the link");
        assert_eq!(self.link.packets.alive() as u64, on_link);
        let (packets, bytes) = self.link.get(0).map_or((0, 0), |port| port.waiting());
        match self.most {
            QueueSize::Packets(most) => assert!(packets <= most, "{packets} wait"),
            // RED accepts one packet above its limit in bytes.
            QueueSize::Bytes(most) => assert!(bytes <= most.count() + self.slack, "{bytes} B wait"),
        }
        let summary = self.link.summary(0, LinkLabel::default(), self.now, true, |_| String::new());
        assert!((0.0..=1.0).contains(&summary.utilisation) && summary.mean_queue_packets >= 0.0);
    }
}
