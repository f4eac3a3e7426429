//! The TCP transports: a sender and a sink of one-way TCP.

mod frames;

use super::carrier::{Carrier, Setup, WriteOutcome};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use crate::clocks::Meter;
use crate::observe::RoundTrip;
use crate::packet::{Body, Envelope, Packet};
use frames::StreamFrames;
use headway_media::{Backlog, Source, SourceOptions};
use headway_prefetch::fetch;
use headway_record::{WrittenFrame, ns2::PacketType};
use headway_tcp::{Sender, Sink, TcpOptions};
use headway_units::{Bytes, Instant};

/// Backlog that no run exhausts, in segments.
const ENDLESS: u64 = u64::MAX / 2;

#[derive(Debug)]
pub(crate) struct Tcp {
    sender: Sender,
    sink: Box<End>,
}

/// Receiver. State accessed by each packet comes first.
#[derive(Debug)]
#[repr(C)]
struct End {
    sink: Sink,
    frames: StreamFrames,
}

impl Carrier for Tcp {
    type Options = TcpOptions;

    fn new(options: &TcpOptions, setup: &Setup<'_>) -> Self {
        let sink = End { sink: Sink::new(options), frames: StreamFrames::default() };
        Self { sender: Sender::new(options, setup.stream("sender")), sink: Box::new(sink) }
    }

    fn ns2_types(_: &SourceOptions) -> [PacketType; 2] {
        [PacketType::Tcp, PacketType::Ack]
    }

    fn bytes_per_number(options: &TcpOptions) -> u32 {
        options.rules.segment.count().saturating_sub(options.rules.header.count()) as u32
    }
}

impl Ends for Tcp {
    #[inline]
    fn fetch(&self, receiving: bool) {
        if receiving {
            fetch(&self.sink.sink);
        } else {
            self.sender.fetch();
        }
    }
}

impl SendingEnd for Tcp {
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> WriteOutcome {
        let Some(mut write) = source.poll(due) else { return WriteOutcome::Nothing };
        meter.convert_to_true_time(&mut write);
        let payload = self.sender.payload_size().count().max(1);
        let header = Bytes::new(self.sender.segment_size().count() - self.sender.payload_size().count());
        let segments = write.size.payload(header).count().div_ceil(payload);
        let deadline = write.expires.unwrap_or(Instant::FAR_FUTURE);
        let frame = WrittenFrame { kind: write.kind, created: write.created, deadline };
        if self.sink.frames.write(segments, frame, write.ends_frame(header)) {
            meter.flow.frame_written(&frame);
        }
        self.sender.write(now, segments);
        WriteOutcome::Queued
    }

    fn set_backlog(&mut self, now: Instant, backlog: Backlog) {
        match backlog {
            Backlog::None => self.sender.stop(),
            Backlog::Segments(segments) => self.sender.write(now, segments),
            Backlog::Endless => self.sender.write(now, ENDLESS),
        }
    }

    #[inline]
    fn on_feedback(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        let Body::Tcp(tcp) = &packet.body else { return None };
        let segment = tcp.stamped(packet, sent);
        let before = self.sender.acknowledged();
        self.sender.handle(now, &segment);
        let measured = self.sender.acknowledged() > before;
        measured.then(|| RoundTrip { sample: now.since(segment.echo), smoothed: None, one_way: None })
    }

    #[inline]
    fn handle_sender_timeout(&mut self, now: Instant) {
        if self.sender.poll_timeout().is_some_and(|deadline| deadline <= now) {
            self.sender.handle_timeout(now);
        }
    }

    #[inline(always)]
    fn poll_transmit(&mut self, now: Instant, _: &mut Meter<'_>) -> Option<Envelope> {
        self.sender.poll_transmit(now).map(Envelope::from)
    }

    #[inline]
    fn poll_sender_timeout(&self) -> Option<Instant> {
        self.sender.poll_timeout()
    }
}

impl ReceivingEnd for Tcp {
    #[inline]
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        let Body::Tcp(tcp) = &packet.body else { return 0 };
        let sink = &mut self.sink.sink;
        let before = sink.received_payload().count();
        sink.handle(now, &tcp.stamped(packet, sent));
        (sink.received_payload().count() - before) as u32
    }

    #[inline]
    fn poll_frame(&mut self) -> Option<WrittenFrame> {
        let End { sink, frames } = &mut *self.sink;
        frames.poll_complete(sink.next_expected())
    }

    #[inline]
    fn handle_receiver_timeout(&mut self, now: Instant) {
        let sink = &mut self.sink.sink;
        if sink.poll_timeout().is_some_and(|deadline| deadline <= now) {
            sink.handle_timeout(now);
        }
    }

    #[inline(always)]
    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        self.sink.sink.poll_transmit(now).map(Envelope::from)
    }

    #[inline]
    fn poll_receiver_timeout(&self) -> Option<Instant> {
        self.sink.sink.poll_timeout()
    }
}

impl Capabilities for Tcp {
    #[inline]
    fn tcp(&self) -> Option<&Sender> {
        Some(&self.sender)
    }
}
