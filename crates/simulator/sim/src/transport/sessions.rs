//! The carrier of a TCP whose source makes sessions: a connection for each of them.
//!
//! A connection is what a flow of its own would be, of so many whole segments as the session has bytes for, from the instant of its
//! arrival on. It is open until all of it is acknowledged. Its receiving end goes on answering what comes late, as long as RFC 9293
//! section 3.6.1 has one wait. A packet that is later still finds nobody: no connection takes the number of another.

mod deadlines;

use super::carrier::{Carrier, Setup, Taken};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use crate::clocks::Meter;
use crate::observe::{RoundTrip, Setbacks};
use crate::packet::{Body, Envelope, Packet};
use deadlines::Deadlines;
use headway_engine::{EventQueue, Moment};
use headway_media::{PageEvent, Source, SourceOptions, WriteSize};
use headway_record::ns2::PacketType;
use headway_tcp::{Counters, Sender, Sink, TcpOptions};
use headway_units::{Bytes, Duration, Instant, Random};
use std::collections::{BTreeMap, VecDeque};

/// More sessions of a flow are not open at once, and no more of those that are complete can answer: they take about 100 MB. A session
/// that comes when so many are open is refused.
const MOST: usize = 1 << 16;

/// How long the receiving end of a session that is complete answers: twice the maximum segment lifetime, 2 minutes (RFC 9293 section
/// 3.4.2).
const LINGER: Duration = Duration::from_secs(240);

/// All sessions, by their numbers: 1, 2 and so on in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Sessions {
    options: TcpOptions,
    random: Random,
    /// The last number that was taken.
    arrived: u32,
    /// The sending ends of the open sessions.
    senders: BTreeMap<u32, Sending>,
    /// The receiving ends of these, and of those that have not been complete for long.
    sinks: BTreeMap<u32, Receiving>,
    sender_deadlines: Deadlines,
    sink_deadlines: Deadlines,
    /// Who may have something to send now: something has just happened to each.
    talking: VecDeque<u32>,
    answering: VecDeque<u32>,
    /// Those that are complete, and how long they still answer.
    complete: VecDeque<(Instant, u32)>,
    /// How many writes were taken.
    taken: u64,
    /// Which of them have ended that the source was not told of, if it wants to know.
    ended: Option<Vec<u64>>,
    /// What the senders of those have counted.
    counted: Counters,
    /// What has set any of them back.
    setbacks: Setbacks,
}

/// A session's sending end.
#[derive(Debug)]
struct Sending {
    sender: Sender,
    arrived: Instant,
    size: Bytes,
    /// Which write it is, counted from 0.
    write: u64,
}

/// Its receiving end, and how many segments it gets.
#[derive(Debug)]
struct Receiving {
    sink: Sink,
    segments: u64,
}

impl Sessions {
    /// Opens a connection for a session of this size, if there may be another.
    fn open(&mut self, now: Instant, size: Bytes) -> Option<()> {
        if self.senders.len() >= MOST {
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
        self.talking.push_back(number);
        Some(())
    }

    /// The session has sent what it may: it is complete, or waits.
    fn rests(&mut self, now: Instant, number: u32, meter: &mut Meter<'_>) {
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
        if self.complete.len() > MOST
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

/// What has become of pages, of a source that has any.
fn tell_pages(now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
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
            talking: VecDeque::new(),
            answering: VecDeque::new(),
            complete: VecDeque::new(),
            taken: 0,
            ended: matches!(*setup.flow.source, SourceOptions::Pages(_)).then(Vec::new),
            counted: Counters::default(),
            setbacks: Setbacks::default(),
        })
    }

    fn ns2_types(_: &SourceOptions) -> [PacketType; 2] {
        [PacketType::Tcp, PacketType::Ack]
    }
}

impl Ends for Box<Sessions> {}

impl SendingEnd for Box<Sessions> {
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> Taken {
        let Some(write) = source.poll(due) else {
            tell_pages(now, source, meter);
            return Taken::Nothing;
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
        tell_pages(now, source, meter);
        Taken::Kept
    }

    fn on_feedback(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        let Body::Tcp(tcp) = &packet.body else { return None };
        let Sending { sender, .. } = self.senders.get_mut(&tcp.session)?;
        self.talking.push_back(tcp.session);
        let segment = tcp.stamped(packet, sent);
        let before = sender.acknowledged();
        let counted = sender.counters();
        sender.handle(now, &segment);
        self.setbacks.add(counted, sender.counters());
        let measured = sender.acknowledged() > before;
        measured.then(|| RoundTrip { sample: now.since(segment.echo), smoothed: None, one_way: None })
    }

    fn handle_sender_timeout(&mut self, now: Instant) {
        while let Some(number) = self.sender_deadlines.take_due(now) {
            if let Some(Sending { sender, .. }) = self.senders.get_mut(&number) {
                let counted = sender.counters();
                sender.handle_timeout(now);
                self.setbacks.add(counted, sender.counters());
                self.talking.push_back(number);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        while let Some(number) = self.talking.front().copied() {
            let sending = self.senders.get_mut(&number);
            if let Some(segment) = sending.and_then(|sending| sending.sender.poll_transmit(now)) {
                return Some(Envelope::of_session(number, &segment));
            }
            self.talking.pop_front();
            self.rests(now, number, meter);
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
        self.answering.push_back(tcp.session);
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
                self.answering.push_back(number);
            }
        }
    }

    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        while let Some(number) = self.answering.front().copied() {
            if let Some(Receiving { sink, .. }) = self.sinks.get_mut(&number) {
                if let Some(segment) = sink.poll_transmit(now) {
                    return Some(Envelope::of_session(number, &segment));
                }
                self.sink_deadlines.set(number, sink.poll_timeout());
            }
            self.answering.pop_front();
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

    fn setbacks(&self) -> Setbacks {
        self.setbacks
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| !ended.is_empty())
    }

    fn notify_source(&mut self, now: Instant, source: &mut Source, meter: &mut Meter<'_>) {
        if let Source::Pages(pages) = source {
            self.ended.iter_mut().flat_map(|ended| ended.drain(..)).for_each(|write| pages.ended(now, write, false));
        }
        tell_pages(now, source, meter);
    }

    fn open_sessions(&self) -> Option<usize> {
        Some(self.senders.len())
    }
}
