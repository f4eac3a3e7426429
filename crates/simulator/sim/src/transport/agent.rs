//! The transport of rate controllers outside of DCCP: numbered datagrams and reports, exact timestamps and no
//! handshake, like the agents of ns-2.

use super::carrier::{Carrier, Setup, WriteOutcome};
use super::ends::{Capabilities, Ends, ReceivingEnd, SendingEnd};
use super::ns2_gap::ns2_gap_s;
use crate::clocks::Meter;
use crate::observe::{CongestionEvents, RoundTrip};
use crate::packet::{Body, Envelope, Numbered, Packet, ReportBody, ReportNumbers, TfrcNumbers};
use crate::send_queue::SendQueue;
use crate::spare;
use headway_dccp::AckVectorBuffer;
use headway_media::{Backlog, Source, SourceOptions, TransportState};
use headway_rate::{
    Due, Inbound, LossClassification, Losses, Outbound, Received, Receiver, ReceiverContext, Report, ReportForm,
    Sender, SenderContext, Status, TfrcReport, TimedReport, Timing,
};
use headway_record::ns2::PacketType;
use headway_scenario::{AgentOptions, Controlled};
use headway_units::{Bytes, Ecn, Instant, Seq48};

#[derive(Debug)]
pub(crate) struct Agent {
    sender: Box<AgentSender>,
    receiver: Box<AgentReceiver>,
}

impl Carrier for Agent {
    type Options = Controlled<AgentOptions>;

    fn new(options: &Self::Options, setup: &Setup<'_>) -> Self {
        let (sender, receiver) = pair(options, setup);
        Self { sender: Box::new(sender), receiver: Box::new(receiver) }
    }

    fn ns2_types(_: &SourceOptions) -> [PacketType; 2] {
        [PacketType::Tfrc, PacketType::TfrcAck]
    }
}

impl Ends for Agent {}

impl Agent {
    /// Returns what encoders follow. Not inlined: most sources are not encoders.
    #[inline(never)]
    fn transport_state(&self) -> TransportState {
        TransportState {
            target_rate: self.status().and_then(|status| status.target_rate),
            waiting: self.sender.queue.bytes(),
        }
    }
}

impl SendingEnd for Agent {
    #[inline]
    fn take(&mut self, now: Instant, due: Instant, source: &mut Source, meter: &mut Meter<'_>) -> WriteOutcome {
        source.follow(|| self.transport_state());
        let Some(write) = source.poll(due) else { return WriteOutcome::Nothing };
        self.sender.queue.write(now, &write, meter);
        WriteOutcome::Queued
    }

    fn set_backlog(&mut self, _: Instant, backlog: Backlog) {
        self.sender.queue.set_backlog(backlog);
    }

    #[inline]
    fn on_feedback(&mut self, now: Instant, sent: Instant, packet: &Packet) -> Option<RoundTrip> {
        let Body::Report(report) = &packet.body else { return None };
        Some(self.sender.handle(now, sent, report))
    }

    #[inline]
    fn handle_sender_timeout(&mut self, now: Instant) {
        self.sender.outbound.handle_timeout(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, meter: &mut Meter<'_>) -> Option<Envelope> {
        let envelope = self.sender.poll_transmit(now, meter);
        self.sender.queue.report(now, meter);
        envelope
    }

    #[inline]
    fn poll_sender_timeout(&self) -> Option<Instant> {
        self.sender.outbound.poll_timeout()
    }

    fn gap_s(&self) -> Option<f64> {
        ns2_gap_s(&self.sender.outbound)
    }
}

impl ReceivingEnd for Agent {
    #[inline]
    fn deliver(&mut self, now: Instant, sent: Instant, packet: &Packet) -> u32 {
        let Body::Numbered(datagram) = &packet.body else { return 0 };
        self.receiver.handle(now, sent, packet.ecn, datagram);
        datagram.data.payload
    }

    fn on_channel_loss(&mut self, number: u64) {
        self.receiver.inbound.on_channel_loss(number);
    }

    fn poll_loss_classification(&mut self) -> Option<LossClassification> {
        self.receiver.inbound.poll_loss_classification()
    }

    #[inline]
    fn handle_receiver_timeout(&mut self, now: Instant) {
        self.receiver.inbound.handle_timeout(now);
    }

    #[inline]
    fn poll_answer(&mut self, now: Instant) -> Option<Envelope> {
        self.receiver.poll_transmit(now)
    }

    #[inline]
    fn poll_receiver_timeout(&self) -> Option<Instant> {
        self.receiver.inbound.poll_timeout()
    }
}

impl Capabilities for Agent {
    fn send_queue(&mut self) -> Option<&mut SendQueue> {
        Some(&mut self.sender.queue)
    }

    fn status(&self) -> Option<Status> {
        Some(self.sender.status())
    }

    fn sent_data(&self) -> Option<Bytes> {
        Some(self.sender.queue.sent_bytes())
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.sender.outbound.congestion_events().into()
    }
}

#[derive(Debug)]
struct AgentSender {
    outbound: Outbound,
    /// Whether datagrams contain the controller's ack ratio.
    sends_ack_ratio: bool,
    next_report: u64,
    /// Whether datagrams are ECN-capable.
    ecn: bool,
    header: u32,
    /// Whether both endpoints use the same clock. Otherwise the difference of two timestamps is not a delay.
    clocks_agree: bool,
    queue: SendQueue,
}

#[derive(Debug)]
struct AgentReceiver {
    inbound: Inbound,
    /// Received packets, for reports that list each packet.
    arrivals: Option<AckVectorBuffer>,
    next_report: u64,
    feedback: u32,
}

fn pair(options: &Controlled<AgentOptions>, setup: &Setup<'_>) -> (AgentSender, AgentReceiver) {
    let AgentOptions { header, feedback, ecn, line_rate, initial_rtt, .. } = options.carrier;
    let queue = SendQueue::new(options.carrier.cut(), &setup.flow.send_queue);
    let packet_size = queue.full();
    let mut outbound = Outbound::new(0);
    let mut context = SenderContext::new(setup.starts[0], packet_size, setup.stream("sender"));
    (context.rtt, context.line_rate, context.header) = (initial_rtt, line_rate, header);
    outbound.start(Sender::new(&options.controller, context));
    let sender = AgentSender {
        outbound,
        sends_ack_ratio: options.controller.reports() == ReportForm::Arrivals,
        next_report: 0,
        ecn,
        header: header.count() as u32,
        clocks_agree: setup.clocks_agree,
        queue,
    };
    let mut inbound = Inbound::default();
    inbound.start(Receiver::new(&options.controller, ReceiverContext::new(setup.starts[1], packet_size)));
    let receiver = AgentReceiver {
        inbound,
        arrivals: (options.controller.reports() == ReportForm::Arrivals).then(AckVectorBuffer::new),
        next_report: 0,
        feedback: feedback.count() as u32,
    };
    (sender, receiver)
}

impl AgentSender {
    fn poll_transmit(&mut self, now: Instant, meter: &Meter<'_>) -> Option<Envelope> {
        let mut next = self.queue.next(now);
        if !self.outbound.may_send(now, next.as_ref()) {
            return None;
        }
        while self.queue.discard_head(now) {
            self.outbound.on_discard(now);
            next = self.queue.next(now);
            if !self.outbound.may_send(now, next.as_ref()) {
                return None;
            }
        }
        let Some(media) = self.queue.take(now) else {
            self.outbound.on_nothing_sent(now);
            return None;
        };
        let (number, stamp) = self.outbound.send(now, Some(media.size), true);
        let stamp = stamp.unwrap_or_default();
        self.queue.sent(number, media);
        let data = meter.data(&media);
        let ack_ratio = if self.sends_ack_ratio { self.status().ack_ratio.unwrap_or(0) } else { 0 };
        let body = Body::Numbered(spare::boxed(&spare::NUMBERED, Numbered { number, data, stamp, ack_ratio }));
        let ecn = if self.ecn { stamp.ecn } else { Ecn::NotEct };
        Some(Envelope { size: data.payload + self.header, ecn, body })
    }

    /// Handles a report that was sent at `sent`. Returns the measured round trip.
    fn handle(&mut self, now: Instant, sent: Instant, report: &ReportBody) -> RoundTrip {
        let sample = now.since(report.echo) - report.held;
        self.outbound.on_lost_acks(report.number.saturating_sub(self.next_report));
        self.next_report = self.next_report.max(report.number + 1);
        let content = match &report.numbers {
            ReportNumbers::Arrivals(runs) => Report::Arrivals(runs),
            ReportNumbers::Timed(clock, arrivals) => Report::Timed(TimedReport { clock: *clock, arrivals }),
            ReportNumbers::Own(own) => Report::Own(*own),
            ReportNumbers::Tfrc(TfrcNumbers { x_recv, p, new_loss_event }) => Report::Tfrc(TfrcReport {
                x_recv: *x_recv,
                losses: Losses::EventRate(*p),
                new_loss_event: *new_loss_event,
            }),
        };
        self.outbound.on_report(now, report.acknowledged, Some(sample), content);
        let one_way = self.clocks_agree.then(|| sent.since(report.echo) - report.held);
        let trip = RoundTrip { sample, smoothed: self.status().rtt, one_way };
        if !self.outbound.measures_silence(now, report.acknowledged) {
            self.queue.on_round_trip(&trip);
        }
        if let (true, ReportNumbers::Arrivals(runs)) = (self.queue.resends(), &report.numbers) {
            self.queue.on_arrivals(now, report.acknowledged, runs);
        }
        trip
    }

    fn status(&self) -> Status {
        self.outbound.status().unwrap_or_default()
    }
}

impl AgentReceiver {
    fn handle(&mut self, now: Instant, sent: Instant, ecn: Ecn, datagram: &Numbered) {
        let Numbered { number, data, stamp, ack_ratio } = *datagram;
        if ack_ratio > 0 {
            self.inbound.set_ack_ratio(ack_ratio);
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.received(Seq48::new(number), ecn);
        }
        let mut packet = Received::new(number, Some(Bytes::new(data.payload.into())));
        (packet.ecn, packet.ccval, packet.ndp_count) = (ecn, stamp.ccval, Some(0));
        (packet.timing, packet.rtt, packet.own) = (Some(Timing::stamped(sent, &stamp)), stamp.rtt, stamp.own);
        self.inbound.on_packet(now, &packet);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        let Due { acknowledged, echo, held, report } = self.inbound.poll_report(now)?;
        let numbers = match report {
            Report::Tfrc(TfrcReport { x_recv, losses: Losses::EventRate(p), new_loss_event }) => {
                ReportNumbers::Tfrc(TfrcNumbers { x_recv, p, new_loss_event })
            }
            Report::Timed(report) => ReportNumbers::Timed(report.clock, report.arrivals.into()),
            Report::Own(own) => ReportNumbers::Own(own),
            // The receiver's context selects TFRC reports with the loss event rate.
            Report::Arrivals(_) | Report::Tfrc(_) => {
                ReportNumbers::Arrivals(self.arrivals.iter().flat_map(AckVectorBuffer::runs).collect())
            }
        };
        let number = self.next_report;
        self.next_report += 1;
        let report = ReportBody { number, acknowledged, echo: echo.unwrap_or(now), held, numbers };
        Some(Envelope { size: self.feedback, ecn: Ecn::NotEct, body: Body::Report(Box::new(report)) })
    }
}
