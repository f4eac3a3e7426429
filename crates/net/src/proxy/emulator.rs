//! A duplex link under somebody's clock: what the simulator does to packets, without a simulation around it. Without I/O.
//!
//! The link is the simulator's own ([`headway_link::Link`]), and so are its random streams, by the names and the seed of the scenario: packets that
//! come at the same instants with the same sizes leave at the same instants, and the same ones are dropped.
//!
//! What is computed goes by the instants that are passed in, never by when somebody asks: a caller that comes late gets late what left in time, and
//! [`Departure::at`] tells when that was.

use headway_engine::{Class, Moment, Places, Ties};
use headway_link::{Common, Config, Decision, Delivery, Handle, Item, Link, Offer, Pool, Transmission};
use headway_record::{DropCounts, LinkLabel, LinkMeter, LinkSummary, Measured};
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

/// What a direction shows of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Packets that wait, without the one in transmission.
    pub waiting_packets: u64,
    /// Bytes that it has transmitted, or begun to, since the beginning.
    pub transmitted_bytes: u64,
    /// RED's average, in packets or bytes as the queue counts, where there is one.
    pub red_average: Option<f64>,
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

/// One direction.
#[derive(Debug)]
struct Direction {
    link: Link,
    common: Common,
    counts: WayCounts,
    meter: LinkMeter,
}

/// What a meter notes of a transmission.
fn note(meter: &mut LinkMeter, measured: &Measured, transmission: &Transmission) {
    let bytes = transmission.size.count() as u32;
    meter.waited(measured, transmission.enqueued, transmission.start, bytes);
    meter.transmitted(measured, transmission.start, transmission.end, bytes);
}

/// A duplex link: see the [module](super).
#[derive(Debug)]
pub struct Emulator<T> {
    ways: [Direction; 2],
    packets: Pool<Packet<T>>,
    places: Places,
    ties: Ties,
    now: Instant,
    /// Bytes that packets take, on the link or due.
    held: u64,
    /// What has reached the far end and was not fetched yet, in order.
    due: VecDeque<Departure<T>>,
    /// What was dropped and not fetched yet, if anybody wants it.
    dropped: Option<VecDeque<Dropped<T>>>,
    measured: Arc<Measured>,
}

impl<T: Default + Clone> Emulator<T> {
    /// An idle link at time zero: the way to the server, then the way back, each with its name in the scenario. The names and the seed give the
    /// random streams.
    #[must_use]
    pub fn new(ways: [(&str, &Config); 2], seed: u64) -> Self {
        let ties = ways[0].1.ties;
        let direction = |(name, config): (&str, &Config)| Direction {
            link: Link::new(seed, name, 0),
            common: Common::new(config, seed, name),
            counts: WayCounts::default(),
            meter: LinkMeter::default(),
        };
        Self {
            ways: ways.map(direction),
            packets: Pool::default(),
            places: Places::default(),
            ties,
            now: Instant::ZERO,
            held: 0,
            due: VecDeque::new(),
            dropped: None,
            measured: Measured::between(Instant::ZERO, Instant::FAR_FUTURE),
        }
    }

    /// What [`summary`](Self::summary) tells is of this time. To be said before the first packet comes.
    pub fn measure(&mut self, measured: &Arc<Measured>) {
        self.measured = Arc::clone(measured);
    }

    /// From now on what is dropped is kept for [`poll_dropped`](Self::poll_dropped), which must be asked after each other call.
    pub fn keep_dropped(&mut self) {
        self.dropped.get_or_insert_default();
    }

    /// The next packet that was dropped, if they are [kept](Self::keep_dropped).
    pub fn poll_dropped(&mut self) -> Option<Dropped<T>> {
        self.dropped.as_mut()?.pop_front()
    }

    /// A packet comes to the link. Time does not go back: one that would come before the last comes with it.
    pub fn handle(&mut self, now: Instant, way: Way, packet: Packet<T>) {
        self.now = self.now.max(now);
        let moment = self.moment();
        self.advance(moment);
        let (direction, measured) = (&mut self.ways[way as usize], &*self.measured);
        direction.counts.arrived_packets += 1;
        direction.meter.arrived(measured, self.now);
        let copy = direction.common.copies().then(|| packet.clone());
        if copy.is_some() {
            direction.counts.duplicated_packets += 1;
            direction.meter.duplicated(measured, self.now);
        }
        for packet in [Some(packet), copy].into_iter().flatten() {
            self.offer(moment, way, packet);
        }
    }

    /// A packet comes to the link, or a copy of it.
    fn offer(&mut self, moment: Moment, way: Way, packet: Packet<T>) {
        let (direction, measured) = (&mut self.ways[way as usize], &*self.measured);
        let costs = cost(packet.size);
        if self.held + costs > MOST_HELD {
            direction.counts.no_room_packets += 1;
            return;
        }
        self.held += costs;
        direction.counts.held_packets += 1;
        let handle = self.packets.insert(packet);
        let Direction { link, common, meter, .. } = direction;
        let begun = |_: &Pool<_>, transmission| note(meter, measured, &transmission);
        let offer = link.offer(common, &mut self.packets, &mut self.places, moment, handle, 0, begun);
        meter.queue_seen(measured, self.now, link.waiting().0 as u32);
        if let Some(average) = common.average() {
            meter.red_average(measured, self.now, average);
        }
        match offer {
            Offer::Accepted => {}
            Offer::Marked => self.mark(self.now, way, handle),
            Offer::MarkedAhead(ahead) => self.mark(self.now, way, ahead),
            Offer::Decided => self.decided(self.now, way),
            Offer::Dropped(cause) | Offer::DroppedMarked(cause) => self.drop(self.now, way, handle, cause),
            Offer::Evicted { marked, victim, cause } => {
                if marked {
                    self.mark(self.now, way, handle);
                }
                self.drop(self.now, way, victim, cause);
            }
        }
    }

    /// The next packet that has reached the far end by `now`, if any has: ask until there is none. They come in the order of their instants.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Departure<T>> {
        self.now = self.now.max(now);
        if self.due.is_empty() {
            self.advance(Moment::after_all(self.now));
        }
        let departure = self.due.pop_front()?;
        self.held -= cost(departure.packet.size);
        Some(departure)
    }

    /// When the next packet reaches the far end, or not after that: where packets overtake others, also when something else happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        // What is on a link has the arrival of its first settled: who ends its transmission before that can wait till then.
        let next = self.ways.iter().filter_map(|Direction { link, common, .. }| {
            // Who may overtake has to be transmitted first.
            let departure = if common.overtakes() { link.next_departure(common) } else { None };
            link.next_arrival().into_iter().chain(departure).map(|at| at.at).min()
        });
        let next = next.min();
        self.due.front().map(|due| due.at).or(next)
    }

    /// What became of the packets of this direction so far.
    #[must_use]
    pub fn counts(&self, way: Way) -> WayCounts {
        self.ways[way as usize].counts
    }

    /// What this direction shows now.
    pub fn show(&mut self, now: Instant, way: Way) -> Shown {
        self.now = self.now.max(now);
        let Direction { link, common, meter, .. } = &mut self.ways[way as usize];
        link.settle(common, &mut self.packets, Moment::after_all(self.now));
        Shown {
            waiting_packets: link.waiting().0,
            transmitted_bytes: meter.total_sent_bytes() - link.bytes_told_ahead(common),
            red_average: common.average(),
        }
    }

    /// What happened to this direction in the time that is [measured](Self::measure), or until `end` if that is earlier.
    #[must_use]
    pub fn summary(&self, way: Way, label: LinkLabel, end: Instant) -> LinkSummary {
        let Direction { link, common, meter, .. } = &self.ways[way as usize];
        let mut meter = meter.clone();
        for (since, size) in link.unsettled(common, &self.packets) {
            meter.waited(&self.measured, since, end, size.count() as u32);
        }
        for (_, start, until, size) in link.settled_after(common, &self.packets, end) {
            meter.cut_waiting(&self.measured, end, end, start, size.count() as u32);
            meter.cut_transmission(&self.measured, end, start, until);
        }
        meter.summary(&self.measured, label, end)
    }

    /// This instant, as the simulator has those at which sources send.
    fn moment(&mut self) -> Moment {
        let sum_s = self.now.as_secs_f64();
        match self.ties {
            Ties::Scheduled => Moment::scheduled(sum_s, self.places.next()),
            Ties::Drawn => Moment::in_class(self.now, sum_s, Class::Source),
        }
    }

    /// Lets everything happen that comes before `until`, in its order.
    fn advance(&mut self, until: Moment) {
        loop {
            let next = Way::BOTH.into_iter().flat_map(|way| {
                let Direction { link, common, .. } = &self.ways[way as usize];
                let arrival = link.next_arrival().map(|at| (at, way, Class::Arrival));
                let departure = link.next_departure(common).map(|at| (at, way, Class::Departure));
                arrival.into_iter().chain(departure)
            });
            match next.min_by_key(|(at, ..)| *at) {
                Some((at, way, Class::Departure)) if at < until => {
                    let (direction, measured) = (&mut self.ways[way as usize], &*self.measured);
                    let Direction { link, common, meter, .. } = direction;
                    let begun = |_: &Pool<_>, transmission| note(meter, measured, &transmission);
                    link.depart(common, &mut self.packets, &mut self.places, begun);
                    self.decided(at.at, way);
                }
                Some((at, way, _)) if at < until => self.arrive(at, way),
                _ => return,
            }
        }
    }

    /// A packet is at the far end.
    fn arrive(&mut self, at: Moment, way: Way) {
        let Direction { link, common, counts, meter } = &mut self.ways[way as usize];
        let delivery = link.arrive(common, &mut self.packets, at);
        if let Some(Delivery::Reordered(_)) = &delivery {
            counts.reordered_packets += 1;
            meter.reordered(&self.measured, at.at);
        }
        match delivery {
            Some(Delivery::Arrived(handle) | Delivery::Reordered(handle)) => {
                let packet = std::mem::take(self.packets.get_mut(handle));
                self.packets.remove(handle);
                counts.delivered_packets += 1;
                counts.delivered_bytes += u64::from(packet.size);
                counts.held_packets -= 1;
                self.due.push_back(Departure { at: at.at, way, packet });
            }
            Some(Delivery::Lost(handle)) => self.drop(at.at, way, handle, DropCause::Channel),
            None => {}
        }
    }

    /// What a queue has decided about packets that waited.
    fn decided(&mut self, at: Instant, way: Way) {
        while let Some(decision) = self.ways[way as usize].common.poll_decision() {
            match decision {
                Decision::Marked(handle) => self.mark(at, way, handle),
                Decision::Dropped { packet, enqueued, cause } => {
                    let bytes = self.packets.get(packet).size;
                    self.ways[way as usize].meter.waited(&self.measured, enqueued, at, bytes);
                    self.drop(at, way, packet, cause);
                }
            }
        }
    }

    fn mark(&mut self, at: Instant, way: Way, handle: Handle) {
        let direction = &mut self.ways[way as usize];
        direction.counts.marked_packets += 1;
        direction.meter.marked(&self.measured, at);
        let packet = self.packets.get_mut(handle);
        if packet.ecn.is_capable() {
            packet.ecn = Ecn::Ce;
        }
    }

    fn drop(&mut self, at: Instant, way: Way, handle: Handle, cause: DropCause) {
        // The slot keeps what is in it until it is taken again.
        let packet = std::mem::take(self.packets.get_mut(handle));
        self.packets.remove(handle);
        self.held -= cost(packet.size);
        let Direction { counts, meter, .. } = &mut self.ways[way as usize];
        counts.held_packets -= 1;
        counts.dropped_packets.add(cause);
        meter.dropped(&self.measured, at, cause);
        if let Some(dropped) = &mut self.dropped {
            dropped.push_back(Dropped { at, way, cause, packet });
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

    fn config(rate: &str, delay: Duration) -> Config {
        Config {
            rate: rate.parse().unwrap(),
            delay,
            mtu: None,
            overhead: headway_units::Bytes::new(0),
            queue: QueueOptions::preset("droptail", Dialect::Rfc).unwrap(),
            loss: None,
            policer: None,
            shaper: None,
            jitter: None,
            reorder: None,
            duplicate: None,
            capacity: None,
            changes: None,
            two_events: false,
            ties: Ties::Drawn,
        }
    }

    fn packet(size: u32, payload: u32) -> Packet<u32> {
        Packet { size, ecn: Ecn::NotEct, flow: 0, payload }
    }

    /// 1000 B at 2 Mb/s are 4 ms, and 10 ms of way: 14 ms, then every 4 ms. The way back is empty meanwhile.
    #[test]
    fn packets_leave_by_rate_and_delay_and_never_before() {
        let config = config("2Mbps", Duration::from_millis(10));
        let mut link = Emulator::new([("a->b", &config), ("b->a", &config)], 1);
        assert_eq!((link.poll_timeout(), link.poll_transmit(Instant::ZERO)), (None, None));
        for number in 0..3 {
            link.handle(Instant::ZERO, Way::ToServer, packet(1000, number));
        }
        link.handle(Instant::from_millis(1), Way::ToClient, packet(500, 9));
        // After 5 ms the second is in transmission, and the third waits.
        let shown = Shown { waiting_packets: 1, transmitted_bytes: 2000, red_average: None };
        assert_eq!(link.show(Instant::from_millis(5), Way::ToServer), shown);
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
        let mut link = Emulator::new([("a->b", &config), ("b->a", &config)], 1);
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
        let QueueOptions::DropTail(queue) = &mut config.queue else { unreachable!() };
        queue.limit = QueueSize::Packets(u64::MAX);
        let mut link = Emulator::new([("a->b", &config), ("b->a", &config)], 1);
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
