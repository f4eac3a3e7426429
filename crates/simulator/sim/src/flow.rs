//! The endpoints of a flow: a source and its transport at one node, a sink at the other.

pub(crate) mod attacked;

use crate::clocks::{Clocks, Meter, local, true_time};
use crate::frames::Frames;
use crate::network::Network;
use crate::observe::{CongestionEvents, Observer};
use crate::packet::{Body, Datagram, Packet, Sending};
use crate::send_queue::SendQueue;
use crate::transport::{Ends, Transport, WriteOutcome, with_ends};
use headway_engine::{Class, EventQueue, Moment, Owner, Ties, Timer};
use headway_link::Handle;
use headway_media::{Backlog, Source, Unsent};
use headway_prefetch::fetch_first;
use headway_record::WrittenFrame;
use headway_tcp::Counters;
use headway_units::{FlowId, Instant};

/// Maximum number of packets that one event sends, more than any ordinary write or window. Another event at the same
/// time sends the rest, so that each event takes a bounded time.
const MAX_BURST_PACKETS: u32 = 1 << 14;

/// A flow: its endpoints and their driver. Data packets access one cache line; acknowledgements, two.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) transport: Transport,
    pub(crate) driver: Driver,
}

/// State and timers that drive the endpoints. [`Flow`] selects the type of the endpoints once per event.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Driver {
    pub(crate) id: FlowId,
    /// Starts of its routes, to the sink and back.
    pub(crate) forward: u32,
    pub(crate) reverse: u32,
    /// Distinguishes its events from those of other flows, with drawn ties.
    pub(crate) salt: u32,
    pub(crate) sink_timer: Timer,
    /// Reassembly of frames at the sink; `None` before the first fragment.
    pub(crate) frames: Option<Box<Frames>>,
    pub(crate) sender_timer: Timer,
    pub(crate) source_timer: Timer,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    /// Place in the order of scheduling of the stop and of listed source times, which are scheduled before the run.
    pub(crate) stop_place: u64,
    pub(crate) source: Source,
    /// Counters of the sender at the start of the measurement.
    pub(crate) counted_before: Counters,
    /// Congestion events of the sender that were reported to the observer.
    pub(crate) reported_events: CongestionEvents,
}

impl Flow {
    /// Prefetches the parts of the flow that an event reads.
    pub(crate) fn fetch(&self) {
        fetch_first(self);
        fetch_first(&self.driver.sender_timer);
    }

    pub(crate) fn arm_start(&mut self, events: &mut EventQueue) {
        with_ends!(&self.transport, ends, (ends, clocks) => self.driver.arm_start(ends, clocks, events));
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

    /// Arms the timers of the flow's start. Reserves places for start and stop, which ns-2 scripts schedule per flow.
    fn arm_start<E: Ends + ?Sized, C: Clocks>(&mut self, ends: &E, clocks: C, events: &mut EventQueue) {
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

    /// Returns when to poll the source next: its own deadline, or the start or stop of a backlog. A connection is
    /// closed at the stop, whatever its source.
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

    /// Returns the deadline of the source in true time.
    #[inline(always)]
    fn poll_source<C: Clocks>(&self, clocks: C) -> Option<Instant> {
        let due = true_time(clocks.sender(), self.source.poll_timeout());
        // The slow clock may map two times to one nanosecond.
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
        // With a local clock, deadlines are exact times, not floating-point sums.
        let base = Moment { at: due, sum_s: if by_clock { due.as_secs_f64() } else { now.sum_s }, ..now };
        let source = self.owner(Class::Source);
        let backlog = self.source.backlog();
        match backlog {
            // The stop cancels the timer.
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
            // A script schedules all listed times before the run.
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

    fn paced<E: Ends + ?Sized>(ends: &mut E) -> bool {
        ends.send_queue().is_some()
    }

    /// Passes up to [`MAX_BURST_PACKETS`] due writes of the source to the transport. Returns whether there may be more.
    fn take_burst<E: Ends + ?Sized, C: Clocks, O: Observer>(
        &mut self,
        ends: &mut E,
        clocks: C,
        now: Moment,
        due: Instant,
        network: &mut Network<O>,
    ) -> bool {
        let mut more = true;
        for _ in 0..MAX_BURST_PACKETS {
            let meter = &mut Meter::by(network.flow_meter(self.id), clocks.sender());
            match ends.take(local(clocks.sender(), now.at), local(clocks.sender(), due), &mut self.source, meter) {
                WriteOutcome::Nothing => {
                    more = false;
                    break;
                }
                WriteOutcome::Queued => {}
                WriteOutcome::Sent(envelope) => network.inject(now, self.id, self.forward, true, envelope),
            }
        }
        self.report_unsent(ends, now.at, network);
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
        // The floating-point sum of ns-2 may be 1 ns before the deadline.
        let at = now.at.max(due);
        ends.handle_sender_timeout(local(clocks.sender(), at));
        self.transmit_at(ends, clocks, now, at, network);
        if O::FLOW_EVENTS {
            self.report_congestion_events(ends, now.at, None, network);
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
                self.notify_losses(ends, network);
            }
            let packet = network.packet(handle);
            let (at, sent) = (local(clocks.receiver(), now.at), local(clocks.sender(), packet.sent));
            let goodput = ends.deliver(at, sent, packet);
            if goodput > 0 {
                let complete = self.completed_by(ends, packet, network.copies());
                self.count_frames(ends, now.at, complete, network);
            }
            if network.fates().judges() {
                self.record_judgements(ends, now.at, network);
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
            // Congestion events of TCP are reported with the retransmission.
            if O::FLOW_EVENTS && ends.tcp().is_none() {
                self.report_congestion_events(ends, now.at, None, network);
            }
        }
    }

    /// Notifies the receiver of packets lost in the channel, for receivers that use this information.
    #[cold]
    fn notify_losses<E: Ends + ?Sized, O: Observer>(&mut self, ends: &mut E, network: &mut Network<O>) {
        while let Some(number) = network.fates().unreported(self.id) {
            ends.on_channel_loss(number);
        }
    }

    #[cold]
    fn record_judgements<E: Ends + ?Sized, O: Observer>(
        &mut self,
        ends: &mut E,
        now: Instant,
        network: &mut Network<O>,
    ) {
        while let Some(judgement) = ends.poll_loss_classification() {
            network.fates().judged(now, self.id, judgement);
        }
    }

    /// Returns the frame that a new packet completes, if any.
    #[inline(always)]
    fn completed_by<E: Ends + ?Sized>(&mut self, ends: &mut E, packet: &Packet, copies: bool) -> Option<WrittenFrame> {
        match &packet.body {
            Body::Tcp(_) => ends.poll_frame(),
            // Without duplicates, a frame of one packet needs no reassembly.
            Body::Datagram(Datagram { data, .. }) if !copies && data.fragment?.is_whole() => Some(data.frame()),
            body => {
                let data = body.data().filter(|data| data.fragment.is_some())?;
                self.frames.get_or_insert_default().insert(data)
            }
        }
    }

    /// Counts complete frames. Over TCP, a segment that fills a gap may complete several.
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

    /// Sends the packets that the sender may send when its clock shows `at`, and arms its timer. Endpoints without
    /// feedback send everything when it is written.
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
        let mut packets_left = MAX_BURST_PACKETS;
        while packets_left > 0 {
            let meter = &mut Meter::by(network.flow_meter(self.id), clocks.sender());
            let Some(envelope) = ends.poll_transmit(local(clocks.sender(), at), meter) else { break };
            packets_left -= 1;
            if O::FLOW_EVENTS
                && let Body::Tcp(tcp) = &envelope.body
                && tcp.sending == Sending::Retransmission
            {
                let resent = tcp.seq as i64;
                self.report_congestion_events(ends, now.at, Some(resent), network);
            }
            network.inject(now, self.id, self.forward, true, envelope);
        }
        self.report_unsent(ends, now.at, network);
        if packets_left == 0 {
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
            // Deadlines of a sender with a local clock are exact times, not sums of gaps.
            let sums = network.events().ties == Ties::Scheduled && clocks.sender().is_none();
            let gap_s = if sums { ends.gap_s() } else { None };
            self.sender_timer.arm_after(now, due, gap_s, owner, network.events());
        }
    }

    /// Notifies the source of sessions that have ended, which changes its next deadline.
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

    /// Reports packets discarded by the send queue since the last report.
    #[inline(always)]
    pub(crate) fn report_unsent<E: Ends + ?Sized, O: Observer>(
        &mut self,
        ends: &mut E,
        now: Instant,
        network: &mut Network<O>,
    ) {
        if O::FLOW_EVENTS
            && let Some(unreported) = ends.send_queue().and_then(SendQueue::unreported)
        {
            report_each(unreported, now, self.id, network);
        }
    }

    /// Reports congestion events of the sender since the last report.
    #[inline(never)]
    pub(crate) fn report_congestion_events<E: Ends + ?Sized, O: Observer>(
        &mut self,
        ends: &mut E,
        now: Instant,
        resent: Option<i64>,
        network: &mut Network<O>,
    ) {
        let congestion_events = ends.congestion_events();
        if congestion_events != self.reported_events {
            let before = std::mem::replace(&mut self.reported_events, congestion_events);
            let flow = self.id.0 as usize;
            congestion_events
                .since(before)
                .for_each(|congestion_event| network.observer().congestion_event(now, flow, congestion_event, resent));
        }
    }

    /// Sends the packets that the receiver may send when its clock shows `at`, and arms its timer.
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
fn report_each<O: Observer>(unreported: &mut Vec<Unsent>, now: Instant, flow: FlowId, network: &mut Network<O>) {
    unreported.drain(..).for_each(|unsent| network.observer().unsent(now, flow.0 as usize, &unsent));
}
