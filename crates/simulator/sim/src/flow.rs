//! A flow's two ends: a source and its transport at one node, a sink at the other.

pub(crate) mod struck;

use crate::clocks::{Clocks, Meter, local, true_time};
use crate::frames::Frames;
use crate::network::Network;
use crate::observe::{Observer, Setbacks};
use crate::packet::{Body, Datagram, Packet, Sending};
use crate::send_queue::SendQueue;
use crate::transport::{Ends, Taken, Transport, with_ends};
use headway_engine::{Class, EventQueue, Moment, Owner, Ties, Timer};
use headway_link::Handle;
use headway_media::{Backlog, Source, Unsent};
use headway_prefetch::fetch_first;
use headway_record::WrittenFrame;
use headway_tcp::Counters;
use headway_units::{FlowId, Instant};

/// The most packets that one event sends, more than any ordinary write or window makes at once. What is left goes out in
/// another event at the same moment, so that no event takes long, whatever the scenario says.
const BURST: u32 = 1 << 14;

/// A flow: its two ends, and what drives them. Laid out so that data touches the first cache line, an acknowledgement the second too.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) transport: Transport,
    pub(crate) driver: Driver,
}

/// The state and timers that drive the ends of a flow. [`Flow`] chooses the type of the ends once for each event.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Driver {
    pub(crate) id: FlowId,
    /// Where its routes start: towards the sink, and back.
    pub(crate) forward: u32,
    pub(crate) reverse: u32,
    /// Sets its events apart from those of other flows, where ties are drawn.
    pub(crate) salt: u32,
    pub(crate) sink_timer: Timer,
    /// What frames are made of at the sink; none as long as there are none.
    pub(crate) frames: Option<Box<Frames>>,
    pub(crate) sender_timer: Timer,
    pub(crate) source_timer: Timer,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    /// Of the stop, and of all else but the start that is scheduled before the run, in the order of scheduling.
    pub(crate) stop_place: u64,
    pub(crate) source: Source,
    /// The sender's counters when measuring began.
    pub(crate) counted_before: Counters,
    /// What has set the sender back, as far as who watches was told.
    pub(crate) told: Setbacks,
}

impl Flow {
    /// Prefetches the parts of the flow that an event reads.
    pub(crate) fn fetch(&self) {
        fetch_first(self);
        fetch_first(&self.driver.sender_timer);
    }

    /// Arms the timers of the flow's start.
    pub(crate) fn set_off(&mut self, events: &mut EventQueue) {
        with_ends!(&self.transport, ends, (ends, clocks) => self.driver.set_off(ends, clocks, events));
    }

    /// Handles the timer of the source, which was due at `due`.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) {
        with_ends!(&mut self.transport, ends_mut, (ends, clocks) => self.driver.on_source(ends, clocks, now, due, network));
    }

    /// Handles the timer of the sender, which was due at `due`.
    pub(crate) fn on_sender_timer<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) {
        with_ends!(&mut self.transport, ends_mut, (ends, clocks) => self.driver.on_sender_timer(ends, clocks, now, due, network));
    }

    /// Handles the timer of the sink, which was due at `due`.
    pub(crate) fn on_sink_timer<O: Observer>(&mut self, now: Moment, due: Instant, network: &mut Network<O>) {
        with_ends!(&mut self.transport, ends_mut, (ends, clocks) => self.driver.on_sink_timer(ends, clocks, now, due, network));
    }

    /// Handles a packet that arrives at one of the ends.
    #[inline(always)]
    pub(crate) fn on_packet<O: Observer>(&mut self, now: Moment, handle: Handle, network: &mut Network<O>) {
        with_ends!(&mut self.transport, ends_mut, (ends, clocks) => self.driver.on_packet(ends, clocks, now, handle, network));
    }
}

impl Driver {
    fn owner(&self, class: Class) -> Owner {
        Owner { class, number: self.id.0, salt: self.salt }
    }

    /// Sets the timers of the flow's start, and takes the places of start and stop, which ns-2's scripts schedule in the
    /// order of their flows.
    fn set_off<E: Ends + ?Sized, C: Clocks>(&mut self, ends: &E, clocks: C, events: &mut EventQueue) {
        let place = events.places.next();
        self.stop_place = events.places.next();
        if let Some(due) = self.source_due(ends, clocks, None) {
            self.source_timer.arm_at(due, place, self.owner(Class::Source), events);
        }
        if ends.connects() {
            let place = events.places.next();
            self.sender_timer.arm_at(self.start, place, self.owner(Class::SenderTimer), events);
        }
    }

    /// When the source must be asked next: its own time, or the start and stop of a backlog. A connection is closed at the
    /// stop, whatever its source.
    #[inline]
    fn source_due<E: Ends + ?Sized, C: Clocks>(&self, ends: &E, clocks: C, now: Option<Instant>) -> Option<Instant> {
        let stop = self.stop.filter(|stop| now.is_none_or(|now| *stop > now));
        match self.source.backlog() {
            Backlog::None if ends.connects() => match (self.poll_source(clocks), stop) {
                (Some(due), Some(stop)) => Some(due.min(stop)),
                (due, stop) => due.or(stop),
            },
            Backlog::None => self.poll_source(clocks),
            _ if now.is_none() => Some(self.start),
            _ => stop,
        }
    }

    /// Returns when the source is due by the clock of its node.
    #[inline(always)]
    fn poll_source<C: Clocks>(&self, clocks: C) -> Option<Instant> {
        let due = true_time(clocks.sender(), self.source.poll_timeout());
        // Two times may be one nanosecond of a slow clock.
        if clocks.sender().is_some() { due.map(|due| due.max(self.start)) } else { due }
    }

    fn on_source<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        due: Instant,
        network: &mut Network<O>,
    ) {
        let stopped = self.stop.is_some_and(|stop| Moment::new(stop) <= now);
        let scheduled = network.events().ties == Ties::Scheduled;
        let by_clock = scheduled && clocks.sender().is_some();
        // By a clock each deadline is what it is, and no sum.
        let base = Moment { at: due, sum_s: if by_clock { due.as_secs_f64() } else { now.sum_s }, ..now };
        let source = self.owner(Class::Source);
        let backlog = self.source.backlog();
        match backlog {
            // The stop has cancelled the timer.
            Backlog::None if stopped && !Self::paced(ends) => return,
            Backlog::None => {
                if self.take_burst(ends, clocks, now, due.max(now.at), network) {
                    self.source_timer.arm(base, Some(due), source, network.events());
                }
            }
            backlog => ends.set_backlog(local(clocks.sender(), now.at), if stopped { Backlog::None } else { backlog }),
        }
        if stopped {
            ends.close(local(clocks.sender(), now.at));
        }
        match self.source_due(ends, clocks, Some(now.at)) {
            Some(stop) if Some(stop) == self.stop && (backlog != Backlog::None || Self::paced(ends)) => {
                self.source_timer.arm_at(stop, self.stop_place, source, network.events());
            }
            // A script schedules all of them before the run.
            Some(next) if self.source.has_listed_times() => {
                self.source_timer.arm_at(next, self.stop_place, source, network.events());
            }
            next => {
                let wait_s = if scheduled && !by_clock { self.source.interval_s() } else { None };
                self.source_timer.arm_after(base, next, wait_s, source, network.events());
            }
        }
        self.transmit(ends, clocks, now, network);
    }

    /// Whether a rate controller paces it.
    fn paced<E: Ends + ?Sized>(ends: &mut E) -> bool {
        ends.send_queue().is_some()
    }

    /// Passes to the transport up to [`BURST`] writes that the source has made by `due`. Returns whether there may be more.
    fn take_burst<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        due: Instant,
        network: &mut Network<O>,
    ) -> bool {
        let mut more = true;
        for _ in 0..BURST {
            let meter = &mut Meter::by(network.flow_meter(self.id), clocks.sender());
            match ends.take(local(clocks.sender(), now.at), local(clocks.sender(), due), &mut self.source, meter) {
                Taken::Nothing => {
                    more = false;
                    break;
                }
                Taken::Kept => {}
                Taken::Goes(envelope) => network.inject(now, self.id, self.forward, true, envelope),
            }
        }
        self.tell_unsent(ends, now.at, network);
        more
    }

    fn on_sender_timer<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        due: Instant,
        network: &mut Network<O>,
    ) {
        // ns-2's sum may be a nanosecond before the deadline.
        let at = now.at.max(due);
        ends.handle_sender_timeout(local(clocks.sender(), at));
        self.transmit_at(ends, clocks, now, at, network);
        if O::TELLS {
            self.tell_setbacks(ends, now.at, None, network);
        }
    }

    fn on_sink_timer<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        due: Instant,
        network: &mut Network<O>,
    ) {
        let at = now.at.max(due);
        ends.handle_receiver_timeout(local(clocks.receiver(), at));
        self.answer_at(ends, clocks, now, at, network);
    }

    #[inline(always)]
    fn on_packet<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        handle: Handle,
        network: &mut Network<O>,
    ) {
        let packet = network.packet(handle);
        if packet.forward {
            if network.fates().judges() {
                self.tell_losses(ends, network);
            }
            let packet = network.packet(handle);
            let (at, sent) = (local(clocks.receiver(), now.at), local(clocks.sender(), packet.sent));
            let goodput = ends.deliver(at, sent, packet);
            if goodput > 0 {
                let complete = self.completed_by(ends, packet, network.copies());
                self.count_frames(ends, now.at, complete, network);
            }
            if network.fates().judges() {
                self.hear_judgements(ends, now.at, network);
            }
            network.delivered(now.at, handle, goodput);
            self.answer_at(ends, clocks, now, now.at, network);
        } else {
            let (at, sent) = (local(clocks.sender(), now.at), local(clocks.receiver(), packet.sent));
            if let Some(trip) = ends.on_feedback(at, sent, packet) {
                network.round_trip(now.at, self.id, trip);
            }
            network.delivered(now.at, handle, 0);
            self.transmit(ends, clocks, now, network);
            // A TCP's show in what it sends again.
            if O::TELLS && ends.tcp().is_none() {
                self.tell_setbacks(ends, now.at, None, network);
            }
        }
    }

    /// The receiver hears which packets the channel has taken, if it may know.
    #[cold]
    fn tell_losses<E: Ends + ?Sized, O: Observer>(&mut self, ends: &mut E, network: &mut Network<O>) {
        while let Some(number) = network.fates().untold(self.id) {
            ends.on_channel_loss(number);
        }
    }

    /// What the receiver has made of losses.
    #[cold]
    fn hear_judgements<E: Ends + ?Sized, O: Observer>(&mut self, ends: &mut E, now: Instant, network: &mut Network<O>) {
        while let Some(judgement) = ends.poll_judgement() {
            network.fates().judged(now, self.id, judgement);
        }
    }

    /// A packet has brought the application data that it did not have; the frame that they complete, if they do.
    #[inline(always)]
    fn completed_by<E: Ends + ?Sized>(&mut self, ends: &mut E, packet: &Packet, copies: bool) -> Option<WrittenFrame> {
        match &packet.body {
            Body::Tcp(_) => ends.poll_frame(),
            // Where nobody makes copies of it.
            Body::Datagram(Datagram { data, .. }) if !copies && data.fragment?.is_whole() => Some(data.frame()),
            body => {
                let data = body.data().filter(|data| data.fragment.is_some())?;
                self.frames.get_or_insert_default().insert(data)
            }
        }
    }

    /// Counts a frame that is complete. Over TCP several may end where a gap is filled.
    #[inline(always)]
    fn count_frames<E: Ends + ?Sized, O: Observer>(
        &mut self,
        ends: &mut E,
        now: Instant,
        first: Option<WrittenFrame>,
        network: &mut Network<O>,
    ) {
        let mut complete = first;
        while let Some(frame) = complete {
            network.flow_meter(self.id).frame_complete(now, &frame);
            complete = ends.poll_frame();
        }
    }

    /// Sends what the sender may send now.
    #[inline]
    fn transmit<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        network: &mut Network<O>,
    ) {
        self.transmit_at(ends, clocks, now, now.at, network);
    }

    /// Sends what the sender may send when its clock shows `at`, and arms its timer. Ends without answers have sent everything when it was written.
    fn transmit_at<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        at: Instant,
        network: &mut Network<O>,
    ) {
        if !ends.answers() {
            return;
        }
        let mut room = BURST;
        while room > 0 {
            let meter = &mut Meter::by(network.flow_meter(self.id), clocks.sender());
            let Some(envelope) = ends.poll_transmit(local(clocks.sender(), at), meter) else { break };
            room -= 1;
            if O::TELLS
                && let Body::Tcp(tcp) = &envelope.body
                && tcp.sending == Sending::Again
            {
                let resent = tcp.seq as i64;
                self.tell_setbacks(ends, now.at, Some(resent), network);
            }
            network.inject(now, self.id, self.forward, true, envelope);
        }
        self.tell_unsent(ends, now.at, network);
        if room == 0 {
            self.sender_timer.arm(now, Some(now.at), self.owner(Class::SenderTimer), network.events());
        }
        if let Some(sender) = ends.tcp() {
            network.observer().window(now.at, self.id.0 as usize, sender);
        }
        if ends.has_ended() {
            self.notify_source(ends, clocks, now, at, network);
        }
        let set = ends.place_sender_timers(now, network.events());
        let due = true_time(clocks.sender(), ends.poll_sender_timeout());
        let owner = self.owner(Class::SenderTimer);
        if set.is_some() {
            self.sender_timer.arm_set(now, due, set, owner, network.events());
        } else {
            // The deadline of an end with its own clock is no sum of gaps.
            let sums = network.events().ties == Ties::Scheduled && clocks.sender().is_none();
            let gap_s = if sums { ends.gap_s() } else { None };
            self.sender_timer.arm_after(now, due, gap_s, owner, network.events());
        }
    }

    /// Notifies the source of what has ended, which changes its next deadline.
    #[cold]
    #[inline(never)]
    fn notify_source<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        at: Instant,
        network: &mut Network<O>,
    ) {
        let meter = &mut Meter::by(network.flow_meter(self.id), clocks.sender());
        ends.notify_source(local(clocks.sender(), at), &mut self.source, meter);
        let due = self.source_due(ends, clocks, Some(now.at));
        self.source_timer.arm(now, due, self.owner(Class::Source), network.events());
    }

    /// Tells what the send queue has thrown away since it was told last.
    #[inline(always)]
    pub(crate) fn tell_unsent<E: Ends + ?Sized, O: Observer>(
        &mut self,
        ends: &mut E,
        now: Instant,
        network: &mut Network<O>,
    ) {
        if O::TELLS
            && let Some(untold) = ends.send_queue().and_then(SendQueue::untold)
        {
            tell_each(untold, now, self.id, network);
        }
    }

    /// Tells what has set the sender back since it was told last.
    #[inline(never)]
    pub(crate) fn tell_setbacks<E: Ends + ?Sized, O: Observer>(
        &mut self,
        ends: &mut E,
        now: Instant,
        resent: Option<i64>,
        network: &mut Network<O>,
    ) {
        let setbacks = ends.setbacks();
        if setbacks != self.told {
            let before = std::mem::replace(&mut self.told, setbacks);
            let flow = self.id.0 as usize;
            setbacks.since(before).for_each(|setback| network.observer().setback(now, flow, setback, resent));
        }
    }

    /// Sends what the receiving end may send when its clock shows `at`, and arms its timer.
    fn answer_at<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        at: Instant,
        network: &mut Network<O>,
    ) {
        if !ends.answers() {
            return;
        }
        while let Some(envelope) = ends.poll_answer(local(clocks.receiver(), at)) {
            network.inject(now, self.id, self.reverse, false, envelope);
        }
        while let Some((route, envelope)) = ends.poll_aside(local(clocks.receiver(), at)) {
            network.inject(now, self.id, route, false, envelope);
        }
        let set = ends.place_receiver_timers(now, network.events());
        let due = true_time(clocks.receiver(), ends.poll_receiver_timeout());
        self.sink_timer.arm_set(now, due, set, self.owner(Class::SinkTimer), network.events());
    }
}

#[cold]
#[inline(never)]
fn tell_each<O: Observer>(untold: &mut Vec<Unsent>, now: Instant, flow: FlowId, network: &mut Network<O>) {
    untold.drain(..).for_each(|unsent| network.observer().unsent(now, flow.0 as usize, &unsent));
}
