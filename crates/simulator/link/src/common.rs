//! What links have that are alike, kept once for all of them: rate, delay, limits, and who decides about their packets.

use crate::config::{Config, Framing};
use crate::duplicate::Duplicate;
use crate::in_flight::InFlight;
use crate::loss::{Loss, Place};
use crate::policer::Policer;
use crate::pool::Handle;
use crate::queue::{Arrival, Backlog, Decision, Discipline, Hosts, LinkFacts, Verdict};
use crate::unmarked::Unmarked;
use crate::varying::Varying;
use headway_engine::Ties;
use headway_units::{Bytes, DropCause, Duration, Instant, Random, Rate, Step};
use std::collections::VecDeque;

/// What a packet of some size takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    bytes: u32,
    pub(crate) step: Step,
    pub(crate) transmission_s: f64,
    /// Transmission and propagation.
    pub(crate) way_s: f64,
}

/// The state that ports of equal links share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) varying: Option<Box<Varying>>,
    /// Largest packet.
    pub(crate) mtu: u32,
    framing: Framing,
    pub(crate) ties: Ties,
    pub(crate) two_events: bool,
    /// Of the size that came first, and of the last other one: data and acknowledgements.
    paces: [Pace; 2],
    pub(crate) discipline: Discipline,
    /// Whether that holds what waits.
    pub(crate) holds: bool,
    /// Its decisions that are not carried out yet.
    pub(crate) decisions: VecDeque<Decision>,
    queue_random: Random,
    /// The last refusal by an idle link, from which ns-2 counts the idle time anew. Who asks for that shares with no other link.
    pub(crate) refused_s: f64,
    takers: Option<Box<Takers>>,
    /// The waiting packets in order, where the discipline may take any of them out: a list is slow to count along.
    pub(crate) order: Option<VecDeque<Handle>>,
    /// The most packets that may wait at a plain port; 0 if the port is not plain: see [`Port::make_plain`](crate::port::Port::make_plain).
    pub(crate) plain_room: u32,
    /// The waiting packets that the discipline may mark, where it may.
    pub(crate) unmarked: Option<Box<Unmarked>>,
}

/// What takes packets apart from the queue. Most links have none of it.
#[derive(Debug)]
struct Takers {
    loss: Option<(Loss, Place, Random)>,
    policer: Option<Policer>,
    in_flight: Option<InFlight>,
    duplicate: Option<Duplicate>,
}

/// A link's random stream.
pub(crate) fn random(seed: u64, name: &str, what: &str) -> Random {
    Random::new(seed, &["link ", name, " ", what].concat())
}

impl Common {
    /// For links of this configuration at time zero. `name` and `seed` give the random streams of one that shares it with no other.
    /// `two_events` forces an event at the end of each transmission.
    pub(crate) fn new(config: &Config, ties: Ties, two_events: bool, seed: u64, name: &str) -> Self {
        let Config { rate, delay, mtu, queue, loss, policer, duplicate, .. } = config;
        // Behind a shaper the queue is served no faster than it lets.
        let served = config.shaper.as_ref().map_or(*rate, |shaper| shaper.rate.min(*rate));
        let facts = LinkFacts { rate: served, delay: *delay };
        let nothing = Pace { bytes: 0, step: Step::default(), transmission_s: 0.0, way_s: 0.0 };
        let loss = loss.as_ref().map(|loss| {
            let loss = Loss::new(loss);
            let place = loss.place();
            (loss, place, random(seed, name, "loss"))
        });
        let policer = policer.as_ref().map(Policer::new);
        let duplicate = duplicate.as_ref().map(|options| Duplicate::new(options, random(seed, name, "duplicate")));
        let in_flight = InFlight::new(queue);
        let any = loss.is_some() || policer.is_some() || in_flight.is_some() || duplicate.is_some();
        let mtu = mtu.iter().chain(config.shaper.as_ref().map(|shaper| &shaper.burst)).min();
        let holds = queue.decides_at_departure();
        let mut common = Self {
            rate: *rate,
            delay: *delay,
            varying: Varying::new(config, seed, name).map(Box::new),
            mtu: mtu.map_or(u32::MAX, |mtu| u32::try_from(mtu.count()).unwrap_or(u32::MAX)),
            framing: Framing::new(config),
            ties,
            two_events: two_events || ties == Ties::Scheduled || config.needs_two_events(),
            paces: [nothing; 2],
            discipline: Discipline::new(queue, facts),
            holds,
            decisions: VecDeque::new(),
            queue_random: random(seed, name, "queue"),
            refused_s: 0.0,
            takers: any.then(|| Box::new(Takers { loss, policer, in_flight, duplicate })),
            order: (!queue.decides_at_arrival() && !holds).then(VecDeque::new),
            plain_room: 0,
            unmarked: queue.unmarked().map(Box::new),
        };
        let simple = !common.two_events && common.takers.is_none() && common.varying.is_none();
        if simple && common.mtu == u32::MAX {
            common.plain_room = queue.room_of_tail_drop().unwrap_or(0);
        }
        common.paces = [common.new_pace(0); 2];
        common
    }

    /// Sets the hosts of each flow for a queue that is fair to hosts. Without it each flow has its own hosts.
    pub(crate) fn set_hosts(&mut self, hosts: &Hosts) {
        self.discipline.know_hosts(hosts);
    }

    /// Whether the queue has decided about packets that waited.
    #[inline]
    pub(crate) fn has_decided(&self) -> bool {
        !self.decisions.is_empty()
    }

    /// Whether packets may overtake one another: the next arrival is then not that of the first that waits.
    pub(crate) fn overtakes(&self) -> bool {
        self.varying.as_ref().is_some_and(|varying| varying.overtaking.is_some())
    }

    pub(crate) fn duplicates(&self) -> bool {
        self.takers.as_ref().is_some_and(|takers| takers.duplicate.is_some())
    }

    /// Whether the packet that is offered next is duplicated. To be called once for each packet, and not for copies.
    pub(crate) fn copies(&mut self) -> bool {
        let duplicate = self.takers.as_mut().and_then(|takers| takers.duplicate.as_mut());
        duplicate.is_some_and(Duplicate::copies)
    }

    /// What a packet of this size takes.
    #[inline]
    pub(crate) fn pace(&mut self, bytes: u32) -> &Pace {
        if self.paces[0].bytes == bytes { &self.paces[0] } else { self.other_pace(bytes) }
    }

    #[inline]
    fn other_pace(&mut self, bytes: u32) -> &Pace {
        let which = usize::from(self.paces[0].bytes != 0);
        if self.paces[which].bytes != bytes {
            self.paces[which] = self.new_pace(bytes);
        }
        &self.paces[which]
    }

    /// Where the rate varies: when a packet has left that is first from `start` on, and when it arrives. `waited` is when it arrived if it found the
    /// transmitter busy.
    pub(crate) fn opportunity(
        &mut self,
        start: Instant,
        waited: Option<Instant>,
        bytes: u32,
    ) -> Option<(Instant, Instant)> {
        Some(self.varying.as_mut()?.transmit(start, waited, bytes, self.framing))
    }

    fn new_pace(&self, bytes: u32) -> Pace {
        let on_wire = self.framing.on_wire(bytes);
        // Grouped as ns-2 does (link/delay.cc): the last bit counts.
        let transmission_s = 8.0 * on_wire as f64 / self.rate.bits_per_second() as f64;
        let delay_s = match self.ties {
            Ties::Drawn => self.delay.as_secs_f64(),
            // As ns-2 reads a delay in ms (tclcl, time_atof).
            Ties::Scheduled => 1e-3 * (self.delay.as_nanos() as f64 / 1e6),
        };
        Pace { bytes, step: Step::new(Bytes::new(on_wire), self.rate), transmission_s, way_s: transmission_s + delay_s }
    }

    /// A packet that bears no mark waits, behind all others.
    #[inline]
    pub(crate) fn waits(&mut self, packet: Handle, arrival: Arrival) {
        if let Some(unmarked) = &mut self.unmarked {
            unmarked.waits(packet, arrival.dscp, arrival.ecn);
        }
    }

    #[inline]
    pub(crate) fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival) -> Verdict {
        self.discipline.admit(now, backlog, arrival, &mut self.queue_random)
    }

    /// Whether a packet is surely let in if at most so many packets and bytes wait.
    #[inline]
    pub(crate) fn fits(&self, waiting: (u64, u64), arrival: Arrival) -> bool {
        self.discipline.fits(waiting, arrival)
    }

    /// What takes the packet that comes to the queue at `now`, if anything does.
    #[inline]
    pub(crate) fn takes_before_queue(&mut self, bytes: u32, now: Instant) -> Option<DropCause> {
        self.takers.as_mut()?.before_queue(bytes, now)
    }

    /// Whether the channel loses the packet that has been transmitted and is at the far end at `now`.
    #[inline]
    pub(crate) fn loses_behind(&mut self, now: Instant) -> bool {
        self.takers.as_mut().is_some_and(|takers| takers.behind(now))
    }

    /// The average that the discipline keeps, as of the last arrival.
    #[inline]
    pub(crate) fn average(&self) -> Option<f64> {
        self.discipline.average()
    }
}

impl Takers {
    /// The policer never sees what the channel has lost.
    #[cold]
    fn before_queue(&mut self, bytes: u32, now: Instant) -> Option<DropCause> {
        if self.lose(Place::BeforeQueue, now) {
            return Some(DropCause::Channel);
        }
        if let Some(policer) = &mut self.policer
            && !policer.passes(bytes, now)
        {
            return Some(DropCause::Policer);
        }
        let in_flight = self.in_flight.as_mut()?;
        (!in_flight.enters()).then_some(DropCause::QueueFull)
    }

    #[cold]
    fn behind(&mut self, now: Instant) -> bool {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.leaves();
        }
        self.lose(Place::AfterTransmission, now)
    }

    #[inline]
    fn lose(&mut self, place: Place, now: Instant) -> bool {
        match &mut self.loss {
            Some((loss, at, random)) if *at == place => loss.loses(now, random),
            _ => false,
        }
    }
}
