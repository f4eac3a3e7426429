//! A duplex link under the caller's clock, without I/O.
//!
//! The link consists of two ports of the simulator ([`headway_link::Ports`]). The names and the seed of the scenario
//! determine the random streams. Packets with equal arrival times and sizes thus have the departure times and drops of
//! the simulation.
//!
//! All times derive from the times that are passed in, not from when the caller polls. [`Departure::at`] is the
//! departure time of a packet, regardless of how late the caller polls.

use headway_engine::{Moment, Ties};
use headway_link::{Config, DroppedPacket, Handle, Handler, Item, PortSample, Ports};
use headway_record::{DropCounts, LinkLabel, LinkSummary, Measured};
use headway_units::{DropCause, Dscp, Ecn, Instant};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum memory of the packets in both directions, 256 MiB, about one second at 2 Gb/s. A packet counts with its IP
/// bytes plus 256. Packets above the limit are dropped and counted in [`DirectionCounts::no_room_packets`].
pub const MAX_HELD_BYTES: u64 = 256 << 20;
/// Approximate memory of a packet in addition to its bytes.
const PACKET_OVERHEAD: u64 = 256;

/// Direction of a duplex link between clients and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the clients to the server: the forward direction of the link.
    ToServer,
    /// From the server to the clients.
    ToClient,
}

impl Direction {
    /// Both directions, in the order of indices: to the server, then to the client.
    pub const BOTH: [Self; 2] = [Self::ToServer, Self::ToClient];
}

/// Packet on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet<T> {
    /// Size of the packet on the link, in IP bytes.
    pub size: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// DSCP of the packet; CS0 for datagrams from sockets, which do not report it.
    pub dscp: Dscp,
    /// Flow of the packet, for queues that separate flows.
    pub flow: u64,
    /// Data of the caller, which the link does not use.
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
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn flow(&self) -> u64 {
        self.flow
    }
}

/// Packet that the link has delivered at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// Time at which the packet arrived at the far end of the link, after queue, transmission and propagation.
    pub at: Instant,
    /// Direction of the packet.
    pub direction: Direction,
    /// Packet; queues of the link may have marked its ECN field.
    pub packet: Packet<T>,
}

/// Packet that the link has dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// Time of the drop.
    pub at: Instant,
    /// Direction of the packet.
    pub direction: Direction,
    /// Cause of the drop.
    pub cause: DropCause,
    /// Packet that was dropped.
    pub packet: Packet<T>,
}

/// Packet counters of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DirectionCounts {
    /// Packets that arrived at the link.
    pub arrived_packets: u64,
    /// Copies that the link made of packets (duplication).
    pub duplicated_packets: u64,
    /// Packets delivered after a packet that was sent later (RFC 4737 section 3.3).
    pub reordered_packets: u64,
    /// Packets delivered at the far end of the link.
    pub delivered_packets: u64,
    /// IP bytes of the delivered packets.
    pub delivered_bytes: u64,
    /// Packets that the link marked Congestion Experienced.
    pub marked_packets: u64,
    /// Packets dropped by the link, by cause.
    pub dropped_packets: DropCounts,
    /// Packets dropped because both directions together held [`MAX_HELD_BYTES`]. This is not a property of the link: a
    /// run with such drops is not valid.
    pub no_room_packets: u64,
    /// Packets that are on the link now: waiting, in transmission or propagating.
    pub held_packets: u64,
}

/// Duplex link under the caller's clock, without I/O. Packets carry a payload of type `T`.
#[derive(Debug)]
pub struct Emulator<T> {
    ports: Ports<Packet<T>, Outcomes<T>>,
    now: Instant,
    /// Delivered packets that have not been polled, in order.
    due: VecDeque<Departure<T>>,
}

/// Counters and dropped packets.
#[derive(Debug)]
struct Outcomes<T> {
    counts: [DirectionCounts; 2],
    /// Memory of the packets on the link or due, as [`cost`] counts it.
    held: u64,
    /// Dropped packets that have not been polled, if they are kept.
    dropped: Option<VecDeque<Dropped<T>>>,
}

impl<T> Outcomes<T> {
    /// Returns whether there is room for a packet, and counts it.
    fn accepts(&mut self, direction: usize, size: u32) -> bool {
        let fits = self.held + cost(size) <= MAX_HELD_BYTES;
        if fits {
            self.held += cost(size);
            self.counts[direction].held_packets += 1;
        } else {
            self.counts[direction].no_room_packets += 1;
        }
        fits
    }
}

impl<T: Default + Clone> Handler<Packet<T>> for Outcomes<T> {
    fn duplicate(&mut self, _: Instant, direction: usize, packet: &Packet<T>, _: usize) -> Option<Packet<T>> {
        let copy = self.accepts(direction, packet.size).then(|| packet.clone())?;
        self.counts[direction].duplicated_packets += 1;
        Some(copy)
    }

    fn reordered(&mut self, direction: usize) {
        self.counts[direction].reordered_packets += 1;
    }

    fn marked(&mut self, _: Instant, direction: usize, _: Handle, _: &mut Packet<T>) {
        self.counts[direction].marked_packets += 1;
    }

    fn dropped(&mut self, drop: DroppedPacket<'_, Packet<T>>) {
        let (packet, counts) = (std::mem::take(drop.packet), &mut self.counts[drop.port]);
        self.held -= cost(packet.size);
        counts.held_packets -= 1;
        counts.dropped_packets.add(drop.cause);
        if let Some(dropped) = &mut self.dropped {
            dropped.push_back(Dropped {
                at: drop.now,
                direction: Direction::BOTH[drop.port],
                cause: drop.cause,
                packet,
            });
        }
    }
}

impl<T: Default + Clone> Emulator<T> {
    /// Creates an idle link at time zero. `directions` are the name and the configuration of the direction to the
    /// server, then of the direction to the client. Names and seed determine the random streams.
    #[must_use]
    pub fn new(ties: Ties, directions: [(&str, &Arc<Config>); 2], seed: u64) -> Self {
        let measured = &Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
        let outcomes = Outcomes { counts: [DirectionCounts::default(); 2], held: 0, dropped: None };
        let mut ports = Ports::new(ties, measured, outcomes);
        directions.into_iter().for_each(|(name, config)| ports.add(config, seed, name, false));
        Self { ports, now: Instant::ZERO, due: VecDeque::new() }
    }

    /// Sets the interval that [`summary`](Self::summary) measures. Must be called before the first packet is passed to
    /// the link.
    pub fn measure(&mut self, measured: &Arc<Measured>) {
        self.ports.measure(measured);
    }

    /// Keeps packets that the link drops from now on, for [`poll_dropped`](Self::poll_dropped), which the caller must
    /// then call after each call of another method.
    pub fn keep_dropped(&mut self) {
        self.ports.handler.dropped.get_or_insert_default();
    }

    /// Returns the next dropped packet; `None` if there is none, or dropped packets are not [kept](Self::keep_dropped).
    pub fn poll_dropped(&mut self) -> Option<Dropped<T>> {
        self.ports.handler.dropped.as_mut()?.pop_front()
    }

    /// Passes a packet to the link at `now`. If an earlier call had a later time, the packet arrives at that later
    /// time.
    pub fn handle(&mut self, now: Instant, direction: Direction, packet: Packet<T>) {
        self.now = self.now.max(now);
        let moment = self.moment();
        self.advance(moment);
        let outcomes = &mut self.ports.handler;
        outcomes.counts[direction as usize].arrived_packets += 1;
        if outcomes.accepts(direction as usize, packet.size) {
            let handle = self.ports.packets.insert(packet);
            self.ports.offer(moment, direction as usize, handle);
        }
    }

    /// Returns the next packet that the link has delivered by `now`, in the order of time; `None` if there is none.
    /// Must be called until it returns `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Departure<T>> {
        self.now = self.now.max(now);
        if self.due.is_empty() {
            self.advance(Moment::after_all(self.now));
        }
        let departure = self.due.pop_front()?;
        self.ports.handler.held -= cost(departure.packet.size);
        Some(departure)
    }

    /// Returns when to call [`poll_transmit`](Self::poll_transmit) next: at the time of the next delivery, or earlier
    /// if packets may overtake one another. `None` if the link is empty.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.front().map(|due| due.at).or_else(|| self.ports.poll_timeout())
    }

    /// Returns the packet counters of this direction of the link.
    #[must_use]
    pub fn counts(&self, direction: Direction) -> DirectionCounts {
        self.ports.handler.counts[direction as usize]
    }

    /// Returns the state of this direction of the link at `now`.
    pub fn sample(&mut self, now: Instant, direction: Direction) -> PortSample {
        self.now = self.now.max(now);
        self.ports.sample(Moment::after_all(self.now), direction as usize)
    }

    /// Returns the summary of this direction of the link for the measured interval, or until `end` if that is earlier.
    #[must_use]
    pub fn summary(&self, direction: Direction, label: LinkLabel, end: Instant) -> LinkSummary {
        self.ports.summary(direction as usize, label, end, true, |_| String::new())
    }

    /// Returns the current moment, in the order of a source's events in the simulator.
    fn moment(&mut self) -> Moment {
        self.ports.events.external_moment(self.now)
    }

    /// Handles all events before `until`.
    fn advance(&mut self, until: Moment) {
        while let Some((at, direction, handle)) = self.ports.next_arrival(until) {
            let packet = std::mem::take(self.ports.packets.get_mut(handle));
            self.ports.packets.remove(handle);
            let counts = &mut self.ports.handler.counts[direction];
            counts.delivered_packets += 1;
            counts.delivered_bytes += u64::from(packet.size);
            counts.held_packets -= 1;
            self.due.push_back(Departure { at: at.at, direction: Direction::BOTH[direction], packet });
        }
    }
}

/// Returns the part of [`MAX_HELD_BYTES`] that a packet uses.
fn cost(size: u32) -> u64 {
    u64::from(size) + PACKET_OVERHEAD
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
        Packet { size, ecn: Ecn::NotEct, dscp: Dscp::CS0, flow: 0, payload }
    }

    /// Packets on a path of 1 s do not delay those on the reverse path, which are delivered after a transmission of 1
    /// ms and a delay of 1 ms, regardless of polling.
    #[test]
    fn a_long_path_does_not_delay_the_reverse_path() {
        let [forward, reverse] = [1000, 1].map(|millis| config("8Mbps", Duration::from_millis(millis)));
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &forward), ("b->a", &reverse)], 1);
        let ms = Instant::from_millis;
        let mut due = VecDeque::new();
        for millis in (0..3000).step_by(5) {
            if millis % 700 == 0 {
                link.handle(ms(millis), Direction::ToServer, packet(1000, 1));
            }
            link.handle(ms(millis), Direction::ToClient, packet(1000, 0));
            due.push_back(ms(millis + 2));
            for now in [millis + 1, millis + 2, millis + 3].map(ms) {
                while let Some(departure) = link.poll_transmit(now) {
                    let to_client = (departure.direction == Direction::ToClient).then(|| due.pop_front().unwrap());
                    assert_eq!(departure.at, to_client.unwrap_or(departure.at));
                }
                assert!(due.front().is_none_or(|at| *at > now), "{due:?} at {now}");
            }
        }
        assert_eq!(link.counts(Direction::ToServer).delivered_packets, 3);
    }

    /// 1000 B at 2 Mb/s take 4 ms, and the delay is 10 ms: the first packet is delivered after 14 ms, the others every
    /// 4 ms.
    #[test]
    fn packets_leave_after_transmission_and_delay() {
        let config = config("2Mbps", Duration::from_millis(10));
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &config), ("b->a", &config)], 1);
        assert_eq!((link.poll_timeout(), link.poll_transmit(Instant::ZERO)), (None, None));
        for number in 0..3 {
            link.handle(Instant::ZERO, Direction::ToServer, packet(1000, number));
        }
        link.handle(Instant::from_millis(1), Direction::ToClient, packet(500, 9));
        // After 5 ms, the second packet is in transmission and the third is queued.
        let sample = link.sample(Instant::from_millis(5), Direction::ToServer);
        assert_eq!((sample.queue_packets, sample.sent_bytes, sample.average), (1, 2000, None));
        let mut seen = Vec::new();
        while let Some(at) = link.poll_timeout() {
            assert_eq!(link.poll_transmit(Instant::from_nanos(at.as_nanos() - 1)), None);
            let departure = link.poll_transmit(at).unwrap();
            seen.push((departure.at, departure.direction, departure.packet.payload));
        }
        let ms = Instant::from_millis;
        let to_server = Direction::ToServer;
        assert_eq!(
            seen,
            [(ms(13), Direction::ToClient, 9), (ms(14), to_server, 0), (ms(18), to_server, 1), (ms(22), to_server, 2)]
        );
        assert_eq!(link.counts(to_server).delivered_bytes, 3000);
    }

    #[test]
    fn departure_times_do_not_depend_on_polling() {
        let config = config("2Mbps", Duration::from_millis(10));
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &config), ("b->a", &config)], 1);
        link.handle(Instant::ZERO, Direction::ToServer, packet(1000, 0));
        link.handle(Instant::from_millis(500), Direction::ToServer, packet(1000, 1));
        let late = Instant::from_secs(5);
        let at: Vec<_> = std::iter::from_fn(|| link.poll_transmit(late)).map(|departure| departure.at).collect();
        assert_eq!(at, [14, 514].map(Instant::from_millis));
        assert_eq!(link.poll_timeout(), None);
        // Earlier times are replaced by the last one: packets would otherwise leave before departed ones.
        link.handle(Instant::from_secs(1), Direction::ToServer, packet(1000, 2));
        assert_eq!(link.poll_timeout(), Some(late + Duration::from_millis(14)));
    }

    /// A link with a delay of an hour holds 256 MiB, counts the packets above the limit, and accepts packets again
    /// after departures.
    #[test]
    fn held_bytes_have_a_limit() {
        let mut config = config("8Gbps", Duration::from_secs(3600));
        let QueueOptions::DropTail(queue) = &mut Arc::make_mut(&mut config).queue else { unreachable!() };
        queue.limit = QueueSize::Packets(u64::MAX);
        let mut link = Emulator::new(Ties::Drawn, [("a->b", &config), ("b->a", &config)], 1);
        let most = MAX_HELD_BYTES / cost(64_000);
        for number in 0..most + 5 {
            link.handle(Instant::ZERO, Direction::BOTH[(number % 2) as usize], packet(64_000, 0));
        }
        let [to_server, to_client] = Direction::BOTH.map(|direction| link.counts(direction));
        assert_eq!(to_server.held_packets + to_client.held_packets, most);
        assert_eq!(to_server.no_room_packets + to_client.no_room_packets, 5);
        let end = Instant::from_secs(4000);
        assert_eq!(std::iter::from_fn(|| link.poll_transmit(end)).count() as u64, most);
        link.handle(end, Direction::ToServer, packet(64_000, 0));
        assert_eq!(link.counts(Direction::ToServer).held_packets, 1);
    }
}
