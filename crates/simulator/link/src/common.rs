//! State that ports of equal links share: rate, delay, limits, queue discipline and impairments.

use crate::config::{Config, Framing};
use crate::duplicate::Duplicate;
use crate::ecn_rewrite::EcnRewrite;
use crate::in_flight::InFlight;
use crate::loss::{Loss, Place};
use crate::policer::Policer;
use crate::pool::Handle;
use crate::queue::{Arrival, Backlog, Decision, Discipline, Hosts, LinkProperties, Verdict};
use crate::unmarked::Unmarked;
use crate::varying::Varying;
use headway_engine::Ties;
use headway_units::{Bytes, DropCause, Duration, Instant, Random, Rate, Step};
use std::collections::VecDeque;

/// Transmission time and delay for a packet size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    bytes: u32,
    pub(crate) step: Step,
    pub(crate) transmission_s: f64,
    /// Transmission time and propagation delay, in s.
    pub(crate) latency_s: f64,
}

#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) varying: Option<Box<Varying>>,
    pub(crate) mtu: u32,
    framing: Framing,
    pub(crate) ties: Ties,
    pub(crate) two_events: bool,
    /// For the first packet size, and for the last other one: data and acknowledgements.
    paces: [Pace; 2],
    pub(crate) discipline: Discipline,
    pub(crate) holds: bool,
    pub(crate) decisions: VecDeque<Decision>,
    queue_random: Random,
    /// Last drop at an idle link, at which ns-2 restarts the idle time. Such links do not share this state.
    pub(crate) idle_drop_s: f64,
    impairments: Option<Box<Impairments>>,
    /// Waiting packets in order, if the discipline may evict any of them; faster to index than the linked list.
    pub(crate) order: Option<VecDeque<Handle>>,
    /// Capacity of the queue of a plain port, in packets; 0 if the port is not plain: see
    /// [`Port::make_plain`](crate::port::Port::make_plain).
    pub(crate) plain_capacity: u32,
    pub(crate) unmarked: Option<Box<Unmarked>>,
}

/// Losses, limits and duplication outside of the queue. Most links have none.
#[derive(Debug)]
struct Impairments {
    loss: Option<(Loss, Place, Random)>,
    policer: Option<Policer>,
    in_flight: Option<InFlight>,
    duplicate: Option<Duplicate>,
    ecn: Option<EcnRewrite>,
}

pub(crate) fn random(seed: u64, name: &str, what: &str) -> Random {
    Random::new(seed, &["link ", name, " ", what].concat())
}

impl Common {
    /// Creates the state for links of this configuration at time zero. `name` and `seed` determine the random streams
    /// if the state is not shared. `two_events` forces an event at the end of each transmission.
    pub(crate) fn new(config: &Config, ties: Ties, two_events: bool, seed: u64, name: &str) -> Self {
        let Config { rate, delay, mtu, queue, loss, policer, duplicate, ecn, .. } = config;
        // A queue with a shaper is not served faster than the rate of the shaper.
        let served = config.shaper.as_ref().map_or(*rate, |shaper| shaper.rate.min(*rate));
        let facts = LinkProperties { rate: served, delay: *delay };
        let nothing = Pace { bytes: 0, step: Step::default(), transmission_s: 0.0, latency_s: 0.0 };
        let loss = loss.as_ref().map(|loss| {
            let loss = Loss::new(loss);
            let place = loss.place();
            (loss, place, random(seed, name, "loss"))
        });
        let policer = policer.as_ref().map(Policer::new);
        let duplicate = duplicate.as_ref().map(|options| Duplicate::new(options, random(seed, name, "duplicate")));
        let in_flight = InFlight::new(queue);
        let any = loss.is_some() || policer.is_some() || in_flight.is_some() || duplicate.is_some() || ecn.is_some();
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
            idle_drop_s: 0.0,
            impairments: any.then(|| Box::new(Impairments { loss, policer, in_flight, duplicate, ecn: *ecn })),
            order: (!queue.decides_at_arrival() && !holds).then(VecDeque::new),
            plain_capacity: 0,
            unmarked: queue.unmarked().map(Box::new),
        };
        let simple = !common.two_events && common.impairments.is_none() && common.varying.is_none();
        if simple && common.mtu == u32::MAX {
            common.plain_capacity = queue.tail_drop_capacity().unwrap_or(0);
        }
        common.paces = [common.new_pace(0); 2];
        common
    }

    /// Sets the hosts of each flow for a queue that is fair to hosts. Without it each flow has its own hosts.
    pub(crate) fn set_hosts(&mut self, hosts: &Hosts) {
        self.discipline.set_hosts(hosts);
    }

    #[inline]
    pub(crate) fn has_decided(&self) -> bool {
        !self.decisions.is_empty()
    }

    /// Returns whether packets may overtake one another, so that the next to arrive may be any.
    pub(crate) fn overtakes(&self) -> bool {
        self.varying.as_ref().is_some_and(|varying| varying.overtaking.is_some())
    }

    /// Returns whether arriving packets may be changed or duplicated.
    pub(crate) fn alters(&self) -> bool {
        self.impairments
            .as_ref()
            .is_some_and(|impairments| impairments.duplicate.is_some() || impairments.ecn.is_some())
    }

    pub(crate) fn ecn_rewrite(&self) -> Option<EcnRewrite> {
        self.impairments.as_ref()?.ecn
    }

    /// Returns whether the packet that is offered next is duplicated. To be called once per packet, not for copies.
    pub(crate) fn copies(&mut self) -> bool {
        let duplicate = self.impairments.as_mut().and_then(|impairments| impairments.duplicate.as_mut());
        duplicate.is_some_and(Duplicate::copies)
    }

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

    /// For a link whose rate or delay varies: returns when the transmission of a packet ends that is next from `start`
    /// on, and when the packet arrives. `waited` is its arrival time if it found the transmitter busy.
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
        // Evaluated in the order of ns-2 (link/delay.cc), since the last bit of the result matters.
        let transmission_s = 8.0 * on_wire as f64 / self.rate.bits_per_second() as f64;
        let delay_s = match self.ties {
            Ties::Drawn => self.delay.as_secs_f64(),
            // As ns-2 reads a delay in ms (tclcl, time_atof).
            Ties::Scheduled => 1e-3 * (self.delay.as_nanos() as f64 / 1e6),
        };
        Pace {
            bytes,
            step: Step::new(Bytes::new(on_wire), self.rate),
            transmission_s,
            latency_s: transmission_s + delay_s,
        }
    }

    #[inline]
    pub(crate) fn add_unmarked(&mut self, packet: Handle, arrival: Arrival) {
        if let Some(unmarked) = &mut self.unmarked {
            unmarked.push(packet, arrival.dscp, arrival.ecn);
        }
    }

    #[inline]
    pub(crate) fn admit(&mut self, now: Instant, backlog: &Backlog, arrival: Arrival) -> Verdict {
        self.discipline.admit(now, backlog, arrival, &mut self.queue_random)
    }

    /// Returns whether a packet is admitted in any case if at most `waiting` (packets, bytes) wait.
    #[inline]
    pub(crate) fn fits(&self, waiting: (u64, u64), arrival: Arrival) -> bool {
        self.discipline.fits(waiting, arrival)
    }

    /// Returns why a packet that arrives at `now` is dropped before the queue, if it is.
    #[inline]
    pub(crate) fn drop_before_queue(&mut self, bytes: u32, now: Instant) -> Option<DropCause> {
        self.impairments.as_mut()?.before_queue(bytes, now)
    }

    /// Returns whether the channel loses the packet that has reached the far end at `now`.
    #[inline]
    pub(crate) fn is_lost_after_transmission(&mut self, now: Instant) -> bool {
        self.impairments.as_mut().is_some_and(|impairments| impairments.after_transmission(now))
    }

    #[inline]
    pub(crate) fn average(&self) -> Option<f64> {
        self.discipline.average()
    }
}

impl Impairments {
    /// The policer does not count packets that the channel lost.
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
        (!in_flight.admit()).then_some(DropCause::QueueFull)
    }

    #[cold]
    fn after_transmission(&mut self, now: Instant) -> bool {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.departed();
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
