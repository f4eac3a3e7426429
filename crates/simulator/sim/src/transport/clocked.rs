//! A transport whose ends have clocks of their own. Outside is the true time, inside that of each end.

use super::ends::Ends;
use super::{Taken, Transport};
use crate::clocks::{FlowClocks, Meter};
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Envelope, Packet};
use crate::send_queue::SendQueue;
use crate::transport::dccp::ends::{Client, Server};
use headway_engine::{EventQueue, Moment};
use headway_media::{Backlog, Source};
use headway_rate::{Judgement, Status};
use headway_record::WrittenFrame;
use headway_units::Instant;

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

    fn meter<'a>(clocks: &'a FlowClocks, meter: &'a mut Meter<'_>) -> Meter<'a> {
        Meter::by(meter.flow, Some(&clocks.sender))
    }
}

/// Never inlined: these are the same functions again.
impl Ends for Box<Clocked> {
    fn clocks(&self) -> Option<&FlowClocks> {
        Some(&self.clocks)
    }
    #[inline(never)]
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken {
        let Clocked { inner, clocks } = &mut **self;
        let [now, due] = [now, due].map(|at| clocks.sender.read(at));
        inner.take(now, due, source, &mut Clocked::meter(clocks, meter))
    }
    fn set_backlog(&mut self, now: Instant, backlog: Backlog) {
        self.inner.set_backlog(self.clocks.sender.read(now), backlog);
    }
    fn close(&mut self, now: Instant) {
        self.inner.close(self.clocks.sender.read(now));
    }
    #[inline(never)]
    fn hear(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        self.inner.hear(self.clocks.sender.read(now), self.clocks.receiver.read(sent), packet)
    }
    fn handle_sender_timeout(&mut self, now: Instant) {
        self.inner.handle_sender_timeout(self.clocks.sender.read(now));
    }
    #[inline(never)]
    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        let Clocked { inner, clocks } = &mut **self;
        inner.poll_transmit(clocks.sender.read(now), &mut Clocked::meter(clocks, meter))
    }
    fn poll_sender_timeout(&self) -> Option<Instant> {
        self.inner.poll_sender_timeout().map(|due| self.clocks.sender.when_read(due))
    }
    /// The deadline says it: the gap is of another time.
    fn gap_s(&self) -> Option<f64> {
        None
    }
    #[inline(never)]
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        self.inner.deliver(self.clocks.receiver.read(now), self.clocks.sender.read(sent), packet)
    }
    fn on_channel_loss(&mut self, number: u64) {
        self.inner.on_channel_loss(number);
    }
    fn poll_judgement(&mut self) -> Option<Judgement> {
        self.inner.poll_judgement()
    }
    fn poll_frame(&mut self) -> Option<WrittenFrame> {
        self.inner.poll_frame()
    }
    fn handle_receiver_timeout(&mut self, now: Instant) {
        self.inner.handle_receiver_timeout(self.clocks.receiver.read(now));
    }
    #[inline(never)]
    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        self.inner.poll_answer(self.clocks.receiver.read(now))
    }
    fn poll_aside(&mut self, now: Instant) -> Option<(u32, Envelope)> {
        self.inner.poll_aside(self.clocks.receiver.read(now))
    }
    fn poll_receiver_timeout(&self) -> Option<Instant> {
        self.inner.poll_receiver_timeout().map(|due| self.clocks.receiver.when_read(due))
    }
    fn place_sender_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        self.inner.place_sender_timers(now, events)
    }
    fn place_receiver_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        self.inner.place_receiver_timers(now, events)
    }
    fn fetch(&self, receiving: bool) {
        self.inner.fetch(receiving);
    }
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        self.inner.send_queue()
    }
    fn status(&self) -> Option<Status> {
        self.inner.status()
    }
    fn tcp(&self) -> Option<&headway_tcp::Sender> {
        self.inner.tcp()
    }
    fn counters(&self) -> Option<headway_tcp::Counters> {
        self.inner.counters()
    }
    fn setbacks(&self) -> Setbacks {
        self.inner.setbacks()
    }
    fn open_sessions(&self) -> Option<usize> {
        self.inner.open_sessions()
    }
    fn connection(&mut self) -> Option<(&mut Client, &mut Server)> {
        self.inner.connection()
    }
    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }
    fn has_ended(&self) -> bool {
        self.inner.has_ended()
    }
    fn tell_source(&mut self, now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
        let Clocked { inner, clocks } = &mut **self;
        inner.tell_source(clocks.sender.read(now), source, &mut Clocked::meter(clocks, meter));
    }
    fn answers(&self) -> bool {
        self.inner.answers()
    }
    fn connects(&self) -> bool {
        self.inner.connects()
    }
}
