//! The carrier `agent`: a rate controller's halves between numbered datagrams and reports, with exact timestamps and no
//! handshake, as ns-2's agents are.

use crate::network::Envelope;
use crate::observe::RoundTrip;
use crate::packet::{Body, Numbered, ReportBody, ReportNumbers, TfrcNumbers};
use crate::send_queue::SendQueue;
use headway_dccp::AckVectorBuffer;
use headway_media::{SendQueueOptions, UdpOptions};
use headway_rate::{
    Feedback, LossForm, Losses, Next, Permit, Receiver, ReceiverContext, ReceiverHalf, Report, Sender, SenderContext,
    SenderHalf, Sending, Status, TfrcReport, Timing,
};
use headway_scenario::{AgentOptions, Controlled};
use headway_units::{Bytes, Duration, Ecn, Instant, Random, Seq48};

/// The data's sender.
#[derive(Debug)]
pub(crate) struct AgentSender {
    controller: Sender,
    /// When the controller lets the next datagram go; far in the future if it waits for something else.
    permitted: Instant,
    /// Whether there is no next datagram. Then nothing happens at `permitted`, and the controller is told afterwards that the
    /// application had nothing.
    empty: bool,
    next_number: u64,
    next_report: u64,
    ecn: Ecn,
    header: u32,
    pub(crate) queue: SendQueue,
}

/// The data's receiver.
#[derive(Debug)]
pub(crate) struct AgentReceiver {
    controller: Receiver,
    /// The datagram with the greatest number: its number, when it was sent and when it came.
    newest: Option<(u64, Instant, Instant)>,
    /// What has come, for reports that tell of each packet.
    arrivals: Option<AckVectorBuffer>,
    next_report: u64,
    ack_ratio: u16,
    feedback: u32,
}

/// Both ends of a flow.
pub(crate) fn pair(
    options: &Controlled<AgentOptions>,
    send_queue: &SendQueueOptions,
    now: Instant,
    random: Random,
) -> (AgentSender, AgentReceiver) {
    let AgentOptions { datagram, header, feedback, ecn, initial_rtt } = options.carrier;
    let queue = SendQueue::new(UdpOptions { datagram, header }, send_queue);
    let packet_size = queue.full();
    let context = SenderContext { now, rtt: initial_rtt, packet_size, random };
    let sender = AgentSender {
        controller: Sender::new(&options.controller, context),
        permitted: Instant::FAR_FUTURE,
        empty: true,
        next_number: 0,
        next_report: 0,
        ecn: if ecn { Ecn::Ect0 } else { Ecn::NotEct },
        header: header.count() as u32,
        queue,
    };
    let context = ReceiverContext { now, packet_size, losses: LossForm::EventRate };
    let controller = Receiver::new(&options.controller, context);
    let receiver = AgentReceiver {
        newest: None,
        ack_ratio: 0,
        arrivals: options.controller.reports_arrivals().then(AckVectorBuffer::new),
        controller,
        next_report: 0,
        feedback: feedback.count() as u32,
    };
    (sender, receiver)
}

impl AgentSender {
    /// The controller is told that the application had nothing when a datagram might have gone.
    fn catch_up(&mut self, before: Instant) {
        if self.empty && self.permitted < before {
            self.controller.on_application_limited(self.permitted);
            self.permitted = Instant::FAR_FUTURE;
        }
    }

    /// The next datagram to send now, if any.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        self.catch_up(now + Duration::from_nanos(1));
        let size = self.queue.next_size(now);
        let next = Next { size: size.unwrap_or(Bytes::new(0)) };
        self.empty = size.is_none();
        self.permitted = Instant::FAR_FUTURE;
        match self.controller.poll_send(now, next) {
            Permit::Now => {}
            Permit::At(at) => {
                self.permitted = at;
                return None;
            }
            Permit::Blocked => return None,
        }
        let Some(media) = self.queue.take(now) else {
            self.controller.on_application_limited(now);
            return None;
        };
        let number = self.next_number;
        self.next_number += 1;
        let stamp = self.controller.on_send(now, &Sending { number, size: media.payload, data: true });
        self.queue.sent(number, media);
        let payload = media.payload.count() as u32;
        let body = Body::Numbered(Box::new(Numbered {
            number,
            payload,
            kind: media.kind,
            deadline: media.expires.unwrap_or(Instant::FAR_FUTURE),
            stamp,
            ack_ratio: self.controller.status().ack_ratio.unwrap_or(0),
        }));
        Some(Envelope { size: payload + self.header, ecn: self.ecn, body })
    }

    /// A report has come that was sent then; returns what it lets measure.
    pub(crate) fn handle(&mut self, now: Instant, sent: Instant, report: &ReportBody) -> RoundTrip {
        self.catch_up(now);
        let sample = now.since(report.echo) - report.held;
        let tfrc = |numbers: &TfrcNumbers| TfrcReport {
            x_recv: numbers.x_recv,
            losses: Losses::EventRate(numbers.p),
            new_loss_event: numbers.new_loss_event,
        };
        let lost_acks = report.number.saturating_sub(self.next_report);
        self.next_report = self.next_report.max(report.number + 1);
        let feedback = Feedback {
            acknowledged: report.acknowledged,
            rtt_sample: Some(sample),
            report: match &report.numbers {
                ReportNumbers::Arrivals(runs) => Report::Arrivals(runs),
                ReportNumbers::Tfrc(numbers) => Report::Tfrc(tfrc(numbers)),
            },
            lost_acks,
            slow_receiver: false,
            receive_buffer_drops: 0,
        };
        self.controller.on_feedback(now, &feedback);
        let trip = RoundTrip { sample, smoothed: self.controller.status().rtt, one_way: Some(sent.since(report.echo) - report.held) };
        self.queue.on_round_trip(&trip);
        if let (true, ReportNumbers::Arrivals(runs)) = (self.queue.resends(), &report.numbers) {
            self.queue.on_arrivals(now, report.acknowledged, runs);
        }
        trip
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.catch_up(now);
        if self.controller.poll_timeout().is_some_and(|at| at <= now) {
            self.controller.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let permitted = if self.empty { Instant::FAR_FUTURE } else { self.permitted };
        let at = self.controller.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(permitted);
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    pub(crate) fn status(&self) -> Status {
        self.controller.status()
    }
}

impl AgentReceiver {
    /// A datagram has come.
    pub(crate) fn handle(&mut self, now: Instant, sent: Instant, ecn: Ecn, datagram: &Numbered) {
        let Numbered { number, payload, stamp, ack_ratio, .. } = *datagram;
        if ack_ratio > 0 && self.ack_ratio != ack_ratio {
            self.ack_ratio = ack_ratio;
            self.controller.set_ack_ratio(ack_ratio);
        }
        if self.newest.is_none_or(|(newest, ..)| number > newest) {
            self.newest = Some((number, sent, now));
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.received(Seq48::new(number), ecn);
        }
        self.controller.on_packet(
            now,
            &headway_rate::Received {
                number,
                size: Bytes::new(payload.into()),
                data: true,
                ecn,
                ccval: stamp.ccval,
                ndp_count: Some(0),
                timing: Some(Timing {
                    sent,
                    rtt: stamp.rtt,
                    t_rto: stamp.t_rto,
                    round: stamp.round,
                    urgent: stamp.urgent,
                }),
            },
        );
    }

    /// The next report to send now, if any.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Envelope> {
        let numbers = match self.controller.poll_report(now)? {
            Report::Tfrc(TfrcReport { x_recv, losses: Losses::EventRate(p), new_loss_event }) => {
                ReportNumbers::Tfrc(TfrcNumbers { x_recv, p, new_loss_event })
            }
            // The context asks TFRC for the event rate.
            Report::Arrivals(_) | Report::Tfrc(_) => {
                ReportNumbers::Arrivals(self.arrivals.iter().flat_map(AckVectorBuffer::runs).collect())
            }
        };
        let (acknowledged, echo, came) = self.newest?;
        let number = self.next_report;
        self.next_report += 1;
        let report = ReportBody { number, acknowledged, echo, held: now.since(came), numbers };
        Some(Envelope { size: self.feedback, ecn: Ecn::NotEct, body: Body::Report(Box::new(report)) })
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.controller.poll_timeout().is_some_and(|at| at <= now) {
            self.controller.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.controller.poll_timeout()
    }
}
