//! A transport whose ends have clocks of their own. Outside is the true time, inside that of each end.

use super::{Taken, Transport};
use crate::clocks::{FlowClocks, Meter};
use crate::event_queue::EventQueue;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use crate::transport::dccp::ends::{Client, Server};
use headway_media::{Backlog, Source};
use headway_rate::{Judgement, Status};
use headway_record::WrittenFrame;
use headway_units::{Instant, Moment};

/// Any transport behind two clocks. A deadline becomes the first true instant at which the clock shows it: a function of the deadline
/// alone, so that no error adds up.
#[derive(Debug)]
pub(crate) struct Clocked {
    inner: Transport,
    clocks: FlowClocks,
}

impl Clocked {
    pub(super) fn new(inner: Transport, clocks: FlowClocks) -> Self {
        Self { inner, clocks }
    }

    pub(super) fn clocks(&self) -> &FlowClocks {
        &self.clocks
    }

    fn meter<'a>(clocks: &'a FlowClocks, meter: &'a mut Meter<'_>) -> Meter<'a> {
        Meter::by(meter.flow, Some(&clocks.sender))
    }
}

/// As [`Carrier`](super::carrier::Carrier) says. Never inlined: these are the same functions again.
impl Clocked {
    #[inline(never)]
    pub(super) fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken {
        let Self { inner, clocks } = self;
        let [now, due] = [now, due].map(|at| clocks.sender.read(at));
        inner.take(now, due, source, &mut Self::meter(clocks, meter))
    }
    pub(super) fn set_backlog(&mut self, now: Instant, backlog: Backlog) {
        self.inner.set_backlog(self.clocks.sender.read(now), backlog);
    }
    pub(super) fn close(&mut self, now: Instant) {
        self.inner.close(self.clocks.sender.read(now));
    }
    #[inline(never)]
    pub(super) fn hear(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        self.inner.hear(self.clocks.sender.read(now), self.clocks.receiver.read(sent), packet)
    }
    pub(super) fn handle_sender_timeout(&mut self, now: Instant) {
        self.inner.handle_sender_timeout(self.clocks.sender.read(now));
    }
    #[inline(never)]
    pub(super) fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        let Self { inner, clocks } = self;
        inner.poll_transmit(clocks.sender.read(now), &mut Self::meter(clocks, meter))
    }
    pub(super) fn poll_sender_timeout(&self) -> Option<Instant> {
        self.inner.poll_sender_timeout().map(|due| self.clocks.sender.when_read(due))
    }
    /// The deadline says it: the gap is of another time.
    pub(super) fn gap_s(&self) -> Option<f64> {
        None
    }
    #[inline(never)]
    pub(super) fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        self.inner.deliver(self.clocks.receiver.read(now), self.clocks.sender.read(sent), packet)
    }
    pub(super) fn on_channel_loss(&mut self, number: u64) {
        self.inner.on_channel_loss(number);
    }
    pub(super) fn poll_judgement(&mut self) -> Option<Judgement> {
        self.inner.poll_judgement()
    }
    pub(super) fn poll_frame(&mut self) -> Option<WrittenFrame> {
        self.inner.poll_frame()
    }
    pub(super) fn handle_receiver_timeout(&mut self, now: Instant) {
        self.inner.handle_receiver_timeout(self.clocks.receiver.read(now));
    }
    #[inline(never)]
    pub(super) fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        self.inner.poll_answer(self.clocks.receiver.read(now))
    }
    pub(super) fn poll_aside(&mut self, now: Instant) -> Option<(u32, Envelope)> {
        self.inner.poll_aside(self.clocks.receiver.read(now))
    }
    pub(super) fn poll_receiver_timeout(&self) -> Option<Instant> {
        self.inner.poll_receiver_timeout().map(|due| self.clocks.receiver.when_read(due))
    }
    pub(super) fn place_sender_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        self.inner.place_sender_timers(now, events)
    }
    pub(super) fn place_receiver_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        self.inner.place_receiver_timers(now, events)
    }
    pub(super) fn fetch(&self, receiving: bool) {
        self.inner.fetch(receiving);
    }
    pub(super) fn send_queue(&mut self) -> Option<&mut SendQueue> {
        self.inner.send_queue()
    }
    pub(super) fn status(&self) -> Option<Status> {
        self.inner.status()
    }
    pub(super) fn tcp(&self) -> Option<&headway_tcp::Sender> {
        self.inner.tcp()
    }
    pub(super) fn counters(&self) -> Option<headway_tcp::Counters> {
        self.inner.counters()
    }
    pub(super) fn setbacks(&self) -> Setbacks {
        self.inner.setbacks()
    }
    pub(super) fn open_sessions(&self) -> Option<usize> {
        self.inner.open_sessions()
    }
    pub(super) fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        self.inner.connection()
    }
    pub(super) fn failure(&self) -> Option<String> {
        self.inner.failure()
    }
    pub(super) fn has_ended(&self) -> bool {
        self.inner.has_ended()
    }
    pub(super) fn tell_source(&mut self, now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
        let Self { inner, clocks } = self;
        inner.tell_source(clocks.sender.read(now), source, &mut Self::meter(clocks, meter));
    }
    pub(super) const fn answers(&self) -> bool {
        self.inner.answers()
    }
    pub(super) const fn connects(&self) -> bool {
        self.inner.connects()
    }
}
