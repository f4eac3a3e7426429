//! A duplex link under the caller's clock, without I/O.
//!
//! The link consists of two ports of the simulator ([`headway_link::Ports`]), with the same random streams, by the names and the seed of the scenario: packets that
//! arrive at the same times with the same sizes leave at the same times, and the same ones are dropped.
//!
//! All times follow from those that are passed in, not from when the caller polls. [`Departure::at`] is the time at which a packet left, however late the
//! caller polls.

use headway_engine::{Class, Moment, Ties};
use headway_link::{Config, DroppedPacket, Handle, Handler, Item, PortSample, Ports};
use headway_record::{DropCounts, LinkLabel, LinkSummary, Measured};
use headway_units::{DropCause, Dscp, Ecn, Instant};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most that a link may hold, 256 MiB: one second of 2 Gb/s. Whatever its queue and its delay would let in beyond that is dropped and
/// counted, as [`WayCounts::no_room_packets`].
pub const MOST_HELD: u64 = 256 << 20;
/// What a packet takes beside its bytes, more or less.
const EACH: u64 = 256;

/// One of the link's directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the clients to the server: the link's written direction.
    ToServer,
    /// From the server to the clients.
    ToClient,
}

impl Way {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::ToServer, Self::ToClient];
}

/// What comes to the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet<T> {
    /// IP bytes.
    pub size: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whose it is: what shares this is one flow to a queue that tells flows apart.
    pub flow: u64,
    /// What it carries: the caller's.
    pub payload: T,
}

impl<T: Default> Item for Packet<T> {
    fn release(&mut self) {
        self.payload = T::default();
    }
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
    }
    /// Sockets do not tell it.
    fn dscp(&self) -> Dscp {
        Dscp::CS0
    }
    fn flow(&self) -> u64 {
        self.flow
    }
}

/// What comes out at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// When it is there: not before that.
    pub at: Instant,
    /// Which way it went.
    pub way: Way,
    /// The packet, marked if a queue has marked it.
    pub packet: Packet<T>,
}

/// What the link has dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// When.
    pub at: Instant,
    /// Which way it was to go.
    pub way: Way,
    /// Why.
    pub cause: DropCause,
    /// The packet.
    pub packet: Packet<T>,
}

/// What became of the packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WayCounts {
    /// Came to the link.
    pub arrived_packets: u64,
    /// Copies of them that the link has made.
    pub duplicated_packets: u64,
    /// Of those that reached the far end, behind a later one (RFC 4737 section 3.3).
    pub reordered_packets: u64,
    /// Reached the far end.
    pub delivered_packets: u64,
    /// IP bytes of those that did.
    pub delivered_bytes: u64,
    /// Were marked Congestion Experienced.
    pub marked_packets: u64,
    /// Were dropped by the link, by cause.
    pub dropped_packets: DropCounts,
    /// Were dropped because both directions together held [`MOST_HELD`]: that is no property of the link, and with any of these a run is not true.
    pub no_room_packets: u64,
    /// Are on the link.
    pub held_packets: u64,
}

/// A duplex link: see the [module](super).
#[derive(Debug)]
pub struct Emulator<T> {
    ports: Ports<Packet<T>, Fates<T>>,
    now: Instant,
    /// Packets that have reached the far end and were not polled yet, in order.
    due: VecDeque<Departure<T>>,
}

/// Counters of the packets, and those that were dropped.
#[derive(Debug)]
struct Fates<T> {
    counts: [WayCounts; 2],
    /// Bytes that packets take, on the link or due.
    held: u64,
    /// Dropped packets that were not polled yet, if they are kept.
    dropped: Option<VecDeque<Dropped<T>>>,
}

impl<T> Fates<T> {
    /// Whether there is room for a packet, which is counted.
    fn accepts(&mut self, way: usize, size: u32) -> bool {
        let fits = self.held + cost(size) <= MOST_HELD;
        if fits {
            self.held += cost(size);
            self.counts[way].held_packets += 1;
        } else {
            self.counts[way].no_room_packets += 1;
        }
        fits
    }
}

impl<T: Default + Clone> Handler<Packet<T>> for Fates<T> {
    fn duplicate(&mut self, _: Instant, way: usize, packet: &Packet<T>, _: usize) -> Option<Packet<T>> {
        let copy = self.accepts(way, packet.size).then(|| packet.clone())?;
        self.counts[way].duplicated_packets += 1;
        Some(copy)
    }

    fn reordered(&mut self, way: usize) {
        self.counts[way].reordered_packets += 1;
    }

    fn marked(&mut self, _: Instant, way: usize, _: Handle, _: &mut Packet<T>) {
        self.counts[way].marked_packets += 1;
    }

    fn dropped(&mut self, drop: DroppedPacket<'_, Packet<T>>) {
        let (packet, counts) = (std::mem::take(drop.packet), &mut self.counts[drop.port]);
        self.held -= cost(packet.size);
        counts.held_packets -= 1;
        counts.dropped_packets.add(drop.cause);
        if let Some(dropped) = &mut self.dropped {
            dropped.push_back(Dropped { at: drop.now, way: Way::BOTH[drop.port], cause: drop.cause, packet });
        }
    }
}

impl<T: Default + Clone> Emulator<T> {
    /// Creates an idle link at time zero: the path to the server, then the reverse path, each with its name in the scenario.
    /// The names and the seed determine the random streams.
    #[must_use]
    pub fn new(ties: Ties, ways: [(&str, &Arc<Config>); 2], seed: u64) -> Self {
        let measured = &Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
        let fates = Fates { counts: [WayCounts::default(); 2], held: 0, dropped: None };
        let mut ports = Ports::new(ties, measured, fates);
        ways.into_iter().for_each(|(name, config)| ports.add(config, seed, name, false));
        Self { ports, now: Instant::ZERO, due: VecDeque::new() }
    }

    /// Sets the time that [`summary`](Self::summary) measures. To be called before the first packet.
    pub fn measure(&mut self, measured: &Arc<Measured>) {
        self.ports.measure(measured);
    }

    /// Keeps dropped packets from now on for [`poll_dropped`](Self::poll_dropped), which must be called after each other call.
    pub fn keep_dropped(&mut self) {
        self.ports.handler.dropped.get_or_insert_default();
    }

    /// The next dropped packet, if they are [kept](Self::keep_dropped).
    pub fn poll_dropped(&mut self) -> Option<Dropped<T>> {
        self.ports.handler.dropped.as_mut()?.pop_front()
    }

    /// Offers a packet to the link. Time does not go back: a packet with an earlier time than the last has the time of the last.
    pub fn handle(&mut self, now: Instant, way: Way, packet: Packet<T>) {
        self.now = self.now.max(now);
        let moment = self.moment();
        self.advance(moment);
        let fates = &mut self.ports.handler;
        fates.counts[way as usize].arrived_packets += 1;
        if fates.accepts(way as usize, packet.size) {
            let handle = self.ports.packets.insert(packet);
            self.ports.offer(moment, way as usize, handle);
        }
    }

    /// The next packet that has reached the far end by `now`, in the order of time. To be called until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Departure<T>> {
        self.now = self.now.max(now);
        if self.due.is_empty() {
            self.advance(Moment::after_all(self.now));
        }
        let departure = self.due.pop_front()?;
        self.ports.handler.held -= cost(departure.packet.size);
        Some(departure)
    }

    /// When the next packet reaches the far end, or an earlier time: where packets overtake one another, also that of other events.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.front().map(|due| due.at).or_else(|| self.ports.poll_timeout())
    }

    /// What became of the packets of this direction so far.
    #[must_use]
    pub fn counts(&self, way: Way) -> WayCounts {
        self.ports.handler.counts[way as usize]
    }

    /// The state of this direction.
    pub fn sample(&mut self, now: Instant, way: Way) -> PortSample {
        self.now = self.now.max(now);
        self.ports.sample(Moment::after_all(self.now), way as usize)
    }

    /// Returns the meter of this direction for the measured time, or until `end` if that is earlier.
    #[must_use]
    pub fn summary(&self, way: Way, label: LinkLabel, end: Instant) -> LinkSummary {
        self.ports.summary(way as usize, label, end, true, |_| String::new())
    }

    /// The moment of now, as that of a source in the simulator.
    fn moment(&mut self) -> Moment {
        let sum_s = self.now.as_secs_f64();
        let events = &mut self.ports.events;
        match events.ties {
            Ties::Scheduled => Moment::scheduled(sum_s, events.places.next()),
            Ties::Drawn => Moment::in_class(self.now, sum_s, Class::Source),
        }
    }

    /// Handles all events before `until`.
    fn advance(&mut self, until: Moment) {
        while let Some((at, way, handle)) = self.ports.next_arrival(until) {
            let packet = std::mem::take(self.ports.packets.get_mut(handle));
            self.ports.packets.remove(handle);
            let counts = &mut self.ports.handler.counts[way];
            counts.delivered_packets += 1;
            counts.delivered_bytes += u64::from(packet.size);
            counts.held_packets -= 1;
            self.due.push_back(Departure { at: at.at, way: Way::BOTH[way], packet });
        }
    }
}

/// What a packet takes of [`MOST_HELD`].
fn cost(size: u32) -> u64 {
    u64::from(size) + EACH
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_link::QueueOptions;
    use headway_units::{Dialect, Duration, QueueSize, Registry};

    fn config(rate: &str, delay: Duration) -> Arc<Config> {
        let queue = QueueOptions::preset("droptail", Dialect::Rfc).unwrap();
        Config::new(rate.parse().unwrap(), delay, queue).into()
    }

    fn packet(size: u32, payload: u32) -> Packet<u32> {
        Packet { size, ecn: Ecn::NotEct, flow: 0, payload }
    }

    /// A packet on a way of a second holds up none on the way back: each of those is there after its transmission of 1 ms and its delay of 1 ms,
    /// whenever the emulator is polled.
    #[test]
    fn a_long_way_does_not_delay_the_way_back() {
        let [there, back] = [1000, 1].map(|millis| config("8Mbps", Duration::from_millis(millis)));
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &there), ("b->a", &back)], 1);
        let ms = Instant::from_millis;
        let mut due = VecDeque::new();
        for millis in (0..3000).step_by(5) {
            if millis % 700 == 0 {
                link.handle(ms(millis), Way::ToServer, packet(1000, 1));
            }
            link.handle(ms(millis), Way::ToClient, packet(1000, 0));
            due.push_back(ms(millis + 2));
            for now in [millis + 1, millis + 2, millis + 3].map(ms) {
                while let Some(departure) = link.poll_transmit(now) {
                    let to_client = (departure.way == Way::ToClient).then(|| due.pop_front().unwrap());
                    assert_eq!(departure.at, to_client.unwrap_or(departure.at));
                }
                assert!(due.front().is_none_or(|at| *at > now), "{due:?} at {now}");
            }
        }
        assert_eq!(link.counts(Way::ToServer).delivered_packets, 3);
    }

    /// 1000 B at 2 Mb/s are 4 ms, and 10 ms of way: 14 ms, then every 4 ms. The way back is empty meanwhile.
    #[test]
    fn packets_leave_by_rate_and_delay_and_never_before() {
        let config = config("2Mbps", Duration::from_millis(10));
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &config), ("b->a", &config)], 1);
        assert_eq!((link.poll_timeout(), link.poll_transmit(Instant::ZERO)), (None, None));
        for number in 0..3 {
            link.handle(Instant::ZERO, Way::ToServer, packet(1000, number));
        }
        link.handle(Instant::from_millis(1), Way::ToClient, packet(500, 9));
        // After 5 ms the second is in transmission, and the third waits.
        let sample = link.sample(Instant::from_millis(5), Way::ToServer);
        assert_eq!((sample.queue_packets, sample.sent_bytes, sample.average), (1, 2000, None));
        let mut seen = Vec::new();
        while let Some(at) = link.poll_timeout() {
            assert_eq!(link.poll_transmit(Instant::from_nanos(at.as_nanos() - 1)), None);
            let departure = link.poll_transmit(at).unwrap();
            seen.push((departure.at, departure.way, departure.packet.payload));
        }
        let ms = Instant::from_millis;
        let there = Way::ToServer;
        assert_eq!(seen, [(ms(13), Way::ToClient, 9), (ms(14), there, 0), (ms(18), there, 1), (ms(22), there, 2)]);
        assert_eq!(link.counts(there).delivered_bytes, 3000);
    }

    /// Who asks late gets what left, in order, with the instants at which it did.
    #[test]
    fn a_late_caller_changes_nothing() {
        let config = config("2Mbps", Duration::from_millis(10));
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &config), ("b->a", &config)], 1);
        link.handle(Instant::ZERO, Way::ToServer, packet(1000, 0));
        link.handle(Instant::from_millis(500), Way::ToServer, packet(1000, 1));
        let late = Instant::from_secs(5);
        let at: Vec<_> = std::iter::from_fn(|| link.poll_transmit(late)).map(|departure| departure.at).collect();
        assert_eq!(at, [14, 514].map(Instant::from_millis));
        assert_eq!(link.poll_timeout(), None);
        // A clock that went back would bring packets before those that have left.
        link.handle(Instant::from_secs(1), Way::ToServer, packet(1000, 2));
        assert_eq!(link.poll_timeout(), Some(late + Duration::from_millis(14)));
    }

    /// A link that would hold an hour of traffic holds 256 MiB, counts what it refuses, and has room again when that has left.
    #[test]
    fn what_is_held_has_a_bound() {
        let mut config = config("8Gbps", Duration::from_secs(3600));
        let QueueOptions::DropTail(queue) = &mut Arc::make_mut(&mut config).queue else { unreachable!() };
        queue.limit = QueueSize::Packets(u64::MAX);
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &config), ("b->a", &config)], 1);
        let most = MOST_HELD / cost(64_000);
        for number in 0..most + 5 {
            link.handle(Instant::ZERO, Way::BOTH[(number % 2) as usize], packet(64_000, 0));
        }
        let [there, back] = Way::BOTH.map(|way| link.counts(way));
        assert_eq!(there.held_packets + back.held_packets, most);
        assert_eq!(there.no_room_packets + back.no_room_packets, 5);
        let end = Instant::from_secs(4000);
        assert_eq!(std::iter::from_fn(|| link.poll_transmit(end)).count() as u64, most);
        link.handle(end, Way::ToServer, packet(64_000, 0));
        assert_eq!(link.counts(Way::ToServer).held_packets, 1);
    }
}
