//! The transport `udp`: datagrams, sent when they are written.

use super::carrier::{Carrier, Setup, WriteOutcome};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use crate::clocks::Meter;
use crate::network::finite_deadline;
use crate::packet::{Body, Data, Datagram, Envelope, Packet};
use headway_media::{Datagrams, Framing, Source, SourceOptions, UdpOptions, Write, datagrams};
use headway_record::ns2::PacketType;
use headway_units::{Ecn, Instant};

/// Sender; the receiver has no state.
#[derive(Debug)]
pub(crate) struct Udp {
    options: UdpOptions,
    next_sequence: u64,
    /// Current write, and its datagrams not sent yet.
    writing: Option<(Write, Datagrams)>,
    framing: Framing,
}

impl Udp {
    /// Returns the next datagram of writes due by `due`.
    #[inline(always)]
    fn next(&mut self, source: &mut Source, due: Instant, meter: &Meter<'_>) -> Option<(u32, Datagram)> {
        loop {
            if let Some((write, left)) = &mut self.writing
                && let Some(datagram) = left.next()
            {
                let sequence = self.next_sequence;
                self.next_sequence += 1;
                let Write { kind, created, expires, .. } = *write;
                let ends_frame = left.is_exhausted() && write.ends_frame(self.options.header);
                let data = Data {
                    payload: datagram.payload.count() as u32,
                    kind,
                    fragment: Some(self.framing.number(kind, ends_frame)),
                    created,
                    deadline: expires.unwrap_or(Instant::FAR_FUTURE),
                };
                return Some((datagram.wire.count() as u32, Datagram { sequence, data }));
            }
            let mut write = source.poll(due)?;
            meter.convert_to_true_time(&mut write);
            self.writing = Some((write, datagrams(write.size, &self.options)));
        }
    }
}

impl Carrier for Box<Udp> {
    const ANSWERS: bool = false;
    type Options = UdpOptions;

    fn new(options: &UdpOptions, _: &Setup<'_>) -> Self {
        Self::new(Udp { options: options.clone(), next_sequence: 0, writing: None, framing: Framing::default() })
    }

    fn ns2_types(source: &SourceOptions) -> [PacketType; 2] {
        let data = match source {
            SourceOptions::Cbr(_) => PacketType::Cbr,
            SourceOptions::Exponential(_) => PacketType::Exponential,
            SourceOptions::Pareto(_) => PacketType::Pareto,
            _ => PacketType::Udp,
        };
        [data, PacketType::Ack]
    }
}

impl Ends for Box<Udp> {}

impl SendingEnd for Box<Udp> {
    #[inline(always)]
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> WriteOutcome {
        let Some((size, datagram)) = self.next(source, due, meter) else { return WriteOutcome::Nothing };
        meter.flow.written(datagram.data.kind, finite_deadline(datagram.data.deadline));
        if let Some(frame) = datagram.data.begins() {
            if datagram.data.fragment.is_some_and(|fragment| fragment.is_whole()) {
                meter.flow.frame_written_and_sent(meter.time(now), &frame);
            } else {
                meter.flow.frame_written(&frame);
            }
        }
        WriteOutcome::Sent(Envelope { size, ecn: Ecn::NotEct, body: Body::Datagram(datagram) })
    }
}

impl ReceivingEnd for Box<Udp> {
    #[inline(always)]
    fn answers(&self) -> bool {
        false
    }

    #[inline]
    fn deliver(&mut self, _: Instant, _: Instant, packet: &Packet) -> u32 {
        if let Body::Datagram(datagram) = &packet.body { datagram.data.payload } else { 0 }
    }
}

impl Capabilities for Box<Udp> {}
