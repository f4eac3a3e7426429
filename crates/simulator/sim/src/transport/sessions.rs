//! A TCP transport whose source opens sessions: one connection per session.
//!
//! A connection behaves like a flow that starts at the session's arrival and sends the session's bytes, rounded up to
//! whole segments. It is open until all data are acknowledged. Its receiver replies to late packets for the time that
//! RFC 9293 section 3.6.1 requires. Later packets are ignored; session numbers are not reused.

mod deadlines;

use super::carrier::{Carrier, Setup, WriteOutcome};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use crate::clocks::Meter;
use crate::observe::{CongestionEvents, RoundTrip};
use crate::packet::{Body, Envelope, Packet};
use deadlines::Deadlines;
use headway_engine::{EventQueue, Moment};
use headway_media::{PageEvent, Source, SourceOptions, WriteSize};
use headway_record::ns2::PacketType;
use headway_tcp::{Counters, Sender, Sink, TcpOptions};
use headway_units::{Bytes, Duration, Instant, Random};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of open sessions of a flow, and of complete ones that still reply; about 100 MB.
const MAX_SESSIONS: usize = 1 << 16;

/// Time that the receiver of a complete session still replies: twice the MSL of 2 minutes (RFC 9293 section 3.4.2).
const LINGER: Duration = Duration::from_secs(240);

/// All sessions, numbered from 1 in the order of arrival.
#[derive(Debug)]
pub(crate) struct Sessions {
    options: TcpOptions,
    random: Random,
    /// Number of the last session.
    arrived: u32,
    /// Senders of the open sessions.
    senders: BTreeMap<u32, Sending>,
    /// Receivers of the open sessions, and of those completed within [`LINGER`].
    sinks: BTreeMap<u32, Receiving>,
    sender_deadlines: Deadlines,
    sink_deadlines: Deadlines,
    /// Sessions whose sender or receiver may have packets to send after an event.
    senders_to_poll: VecDeque<u32>,
    sinks_to_poll: VecDeque<u32>,
    /// Complete sessions, with the time until which they reply.
    complete: VecDeque<(Instant, u32)>,
    /// Number of writes taken from the source.
    taken: u64,
    /// Writes whose sessions have ended and that the source was not notified of; `None` if it needs no notification.
    ended: Option<Vec<u64>>,
    /// Sum of the counters of senders of complete sessions.
    counted: Counters,
    /// Congestion events of all sessions.
    congestion_events: CongestionEvents,
}

#[derive(Debug)]
struct Sending {
    sender: Sender,
    arrived: Instant,
    size: Bytes,
    /// Number of its write, from 0.
    write: u64,
}

/// Receiver of a session, and the number of segments that it receives.
#[derive(Debug)]
struct Receiving {
    sink: Sink,
    segments: u64,
}

impl Sessions {
    /// Opens a connection for a session of this size, unless there are too many.
    fn open(&mut self, now: Instant, size: Bytes) -> Option<()> {
        if self.senders.len() >= MAX_SESSIONS {
            return None;
        }
        self.arrived = self.arrived.checked_add(1)?;
        let number = self.arrived;
        let mut sender = Sender::new(&self.options, Random::new(self.random.bits(), "session"));
        let payload = sender.payload_size().count().max(1);
        let segments = size.count().div_ceil(payload).max(1);
        sender.write(now, segments);
        self.senders.insert(number, Sending { sender, arrived: now, size, write: self.taken });
        self.sinks.insert(number, Receiving { sink: Sink::new(&self.options), segments });
        self.senders_to_poll.push_back(number);
        Some(())
    }

    /// Updates a session that has no more packets to send now: completes it, or sets its deadline.
    fn after_transmit(&mut self, now: Instant, number: u32, meter: &mut Meter<'_>) {
        let Some(Sending { sender, arrived, size, write }) = self.senders.get(&number) else { return };
        if !sender.is_finished() {
            self.sender_deadlines.set(number, sender.poll_timeout());
            return;
        }
        meter.flow.session_completed(meter.time(*arrived), meter.time(now), *size);
        self.counted += sender.counters();
        self.ended.iter_mut().for_each(|ended| ended.push(*write));
        self.senders.remove(&number);
        self.sender_deadlines.set(number, None);
        self.complete.push_back((now + LINGER, number));
        while let Some((_, number)) = self.complete.pop_front_if(|(until, _)| *until <= now) {
            self.forget(number);
        }
        if self.complete.len() > MAX_SESSIONS
            && let Some((_, number)) = self.complete.pop_front()
        {
            self.forget(number);
        }
    }

    fn forget(&mut self, number: u32) {
        self.sinks.remove(&number);
        self.sink_deadlines.set(number, None);
    }
}

/// Reports events of pages to the meter, if the source has pages.
fn report_pages(now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
    let Source::Pages(pages) = source else { return };
    for event in pages.events() {
        match event {
            PageEvent::Began(at) => meter.flow.page_arrived(meter.time(at)),
            PageEvent::Completed(began) => meter.flow.page_completed(meter.time(began), meter.time(now)),
            PageEvent::Refused(began) => meter.flow.page_refused(meter.time(began)),
        }
    }
}

impl Carrier for Box<Sessions> {
    type Options = TcpOptions;

    fn new(options: &TcpOptions, setup: &Setup<'_>) -> Self {
        Self::new(Sessions {
            options: options.clone(),
            random: setup.stream("sender"),
            arrived: 0,
            senders: BTreeMap::new(),
            sinks: BTreeMap::new(),
            sender_deadlines: Deadlines::default(),
            sink_deadlines: Deadlines::default(),
            senders_to_poll: VecDeque::new(),
            sinks_to_poll: VecDeque::new(),
            complete: VecDeque::new(),
            taken: 0,
            ended: matches!(*setup.flow.source, SourceOptions::Pages(_)).then(Vec::new),
            counted: Counters::default(),
            congestion_events: CongestionEvents::default(),
        })
    }

    fn ns2_types(_: &SourceOptions) -> [PacketType; 2] {
        [PacketType::Tcp, PacketType::Ack]
    }
}

impl Ends for Box<Sessions> {}

impl SendingEnd for Box<Sessions> {
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> WriteOutcome {
        let Some(write) = source.poll(due) else {
            report_pages(now, source, meter);
            return WriteOutcome::Nothing;
        };
        let (WriteSize::Payload(size) | WriteSize::Wire(size)) = write.size;
        let opened = self.open(now, size);
        meter.flow.session_arrived(meter.time(now), size, opened.is_none());
        if opened.is_none()
            && let Source::Pages(pages) = source
        {
            pages.ended(now, self.taken, true);
        }
        self.taken += 1;
        report_pages(now, source, meter);
        WriteOutcome::Queued
    }

    fn on_feedback(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        let Body::Tcp(tcp) = &packet.body else { return None };
        let Sending { sender, .. } = self.senders.get_mut(&tcp.session)?;
        self.senders_to_poll.push_back(tcp.session);
        let segment = tcp.stamped(packet, sent);
        let before = sender.acknowledged();
        let counted = sender.counters();
        sender.handle(now, &segment);
        self.congestion_events.add(counted, sender.counters());
        let measured = sender.acknowledged() > before;
        measured.then(|| RoundTrip { sample: now.since(segment.echo), smoothed: None, one_way: None })
    }

    fn handle_sender_timeout(&mut self, now: Instant) {
        while let Some(number) = self.sender_deadlines.take_due(now) {
            if let Some(Sending { sender, .. }) = self.senders.get_mut(&number) {
                let counted = sender.counters();
                sender.handle_timeout(now);
                self.congestion_events.add(counted, sender.counters());
                self.senders_to_poll.push_back(number);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        while let Some(number) = self.senders_to_poll.front().copied() {
            let sending = self.senders.get_mut(&number);
            if let Some(segment) = sending.and_then(|sending| sending.sender.poll_transmit(now)) {
                return Some(Envelope::of_session(number, &segment));
            }
            self.senders_to_poll.pop_front();
            self.after_transmit(now, number, meter);
        }
        None
    }

    fn poll_sender_timeout(&self) -> Option<Instant> {
        self.sender_deadlines.first()
    }

    fn place_sender_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        self.sender_deadlines.place(now, events)
    }
}

impl ReceivingEnd for Box<Sessions> {
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        let Body::Tcp(tcp) = &packet.body else { return 0 };
        let Some(Receiving { sink, segments }) = self.sinks.get_mut(&tcp.session) else { return 0 };
        self.sinks_to_poll.push_back(tcp.session);
        let before = sink.received_payload().count();
        sink.handle(now, &tcp.stamped(packet, sent));
        if sink.received_segments() >= *segments {
            sink.handle_fin();
        }
        (sink.received_payload().count() - before) as u32
    }

    fn handle_receiver_timeout(&mut self, now: Instant) {
        while let Some(number) = self.sink_deadlines.take_due(now) {
            if let Some(Receiving { sink, .. }) = self.sinks.get_mut(&number) {
                sink.handle_timeout(now);
                self.sinks_to_poll.push_back(number);
            }
        }
    }

    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        while let Some(number) = self.sinks_to_poll.front().copied() {
            if let Some(Receiving { sink, .. }) = self.sinks.get_mut(&number) {
                if let Some(segment) = sink.poll_transmit(now) {
                    return Some(Envelope::of_session(number, &segment));
                }
                self.sink_deadlines.set(number, sink.poll_timeout());
            }
            self.sinks_to_poll.pop_front();
        }
        None
    }

    fn poll_receiver_timeout(&self) -> Option<Instant> {
        self.sink_deadlines.first()
    }

    fn place_receiver_timers(&mut self, now: Moment, events: &mut EventQueue) -> Option<Moment> {
        self.sink_deadlines.place(now, events)
    }
}

impl Capabilities for Box<Sessions> {
    fn counters(&self) -> Option<Counters> {
        let mut all = self.counted;
        self.senders.values().for_each(|sending| all += sending.sender.counters());
        Some(all)
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| !ended.is_empty())
    }

    fn notify_source(&mut self, now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
        if let Source::Pages(pages) = source {
            self.ended.iter_mut().flat_map(|ended| ended.drain(..)).for_each(|write| pages.ended(now, write, false));
        }
        report_pages(now, source, meter);
    }

    fn open_sessions(&self) -> Option<usize> {
        Some(self.senders.len())
    }
}
