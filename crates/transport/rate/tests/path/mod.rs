//! Sender and receiver half connected by a path: a link with a rate, a delay in each direction, and losses by a rule.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "of presets that exist")]

use headway_rate::{
    ControllerOptions, Due, Inbound, LossForm, LossInterval, Losses, Next, Outbound, Received, Receiver,
    ReceiverContext, Report, Sender, SenderContext, SenderHalf, Status, TfrcReport, Timing,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Probability, Random, Rate, Registry};
use std::collections::VecDeque;

/// Fields of data packets in addition to their number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Sender's clock, as between two ns-2 agents.
    Agent,
    /// Window counter, as in DCCP.
    Counter,
}

struct Flying {
    at: Instant,
    packet: Received,
}

enum OwnedLosses {
    Rate(Probability),
    Intervals(u8, Vec<LossInterval>),
}

struct Returning {
    at: Instant,
    acknowledged: u64,
    hold: Duration,
    x_recv: Rate,
    losses: OwnedLosses,
    new_loss_event: bool,
}

/// Both halves and the path between them.
pub(crate) struct Path {
    sender: Outbound,
    receiver: Inbound,
    form: Form,
    size: Bytes,
    /// Bytes on the wire of a data packet and of a report.
    pub(crate) wire: (u64, u64),
    /// Rate of the link; `None` for no transmission time.
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Duration,
    /// Returns whether the n-th data packet, from 0, is lost.
    pub(crate) drop: Box<dyn FnMut(u64) -> bool>,
    pub(crate) drop_report: Box<dyn FnMut(Instant) -> bool>,
    /// Additional delays in ns of packets by number, and of reports by arrival time, which reproduce ns-2's order of
    /// events.
    pub(crate) nudges: Vec<(u64, i64)>,
    pub(crate) report_nudges: Vec<(u64, i64)>,
    /// Times in ns at which a packet is sent before a report that arrives at the same time.
    pub(crate) send_first: Vec<u64>,
    free: [Instant; 2],
    data: VecDeque<Flying>,
    reports: VecDeque<Returning>,
    now: Instant,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) sent_at: Vec<Instant>,
    /// Time and p of each report that arrived.
    pub(crate) reported: Vec<(Instant, f64)>,
    pub(crate) r_samples: (f64, u64),
}

pub(crate) fn options(
    kind: &str,
    dialect: Dialect,
    change: impl FnOnce(&mut headway_rate::TfrcOptions),
) -> ControllerOptions {
    let mut options = ControllerOptions::preset(kind, dialect).unwrap();
    match &mut options {
        ControllerOptions::Tfrc(options) => change(options),
        ControllerOptions::TfrcSp(options) => change(&mut options.0),
        _ => panic!("{kind} is not a TFRC controller"),
    }
    options.check().unwrap();
    options
}

fn nudged(at: Instant, nudges: &[(u64, i64)], key: u64) -> Instant {
    let nudge = nudges.iter().find(|nudge| nudge.0 == key).map_or(0, |nudge| nudge.1);
    Instant::from_nanos(at.as_nanos().saturating_add_signed(nudge))
}

impl Path {
    pub(crate) fn new(options: &ControllerOptions, form: Form, losses: LossForm, size: u64, rtt: Duration) -> Self {
        let size = Bytes::new(size);
        let now = Instant::ZERO;
        let (mut sender, mut receiver) = (Outbound::new(1 << 16), Inbound::default());
        sender.start(Sender::new(options, SenderContext::new(now, size, Random::new(1, "path"))));
        let mut context = ReceiverContext::new(now, size);
        context.tfrc.losses = losses;
        receiver.start(Receiver::new(options, context));
        Self {
            sender,
            receiver,
            form,
            size,
            wire: (size.count(), 40),
            rate: None,
            delay: rtt / 2,
            drop: Box::new(|_| false),
            drop_report: Box::new(|_| false),
            nudges: Vec::new(),
            report_nudges: Vec::new(),
            send_first: Vec::new(),
            free: [now; 2],
            data: VecDeque::new(),
            reports: VecDeque::new(),
            now,
            sent: 0,
            received: 0,
            sent_at: Vec::new(),
            reported: Vec::new(),
            r_samples: (0.0, 0),
        }
    }

    fn next(&self) -> Next {
        Next::new(self.size)
    }

    fn cross(&mut self, direction: usize, bytes: u64) -> Instant {
        let start = self.now.max(self.free[direction]);
        self.free[direction] = start + self.rate.map_or(Duration::ZERO, |rate| rate.time_of(Bytes::new(bytes)));
        self.free[direction] + self.delay
    }

    /// Runs the path up to `until`.
    pub(crate) fn run(&mut self, until: Instant) {
        loop {
            self.send();
            let permit = self.sender.permitted().unwrap_or(Instant::FAR_FUTURE);
            let controller = self.sender.controller().and_then(SenderHalf::poll_timeout);
            let never = Instant::FAR_FUTURE;
            let next = [
                self.data.front().map_or(never, |data| data.at),
                self.reports.front().map_or(never, |report| report.at),
                controller.unwrap_or(never),
                self.receiver.poll_timeout().unwrap_or(never),
                permit,
            ];
            let at = next.iter().min().copied().unwrap_or(never);
            if at > until {
                self.now = until;
                return;
            }
            self.now = at.max(self.now);
            // A packet permitted at this time is sent before other events.
            if permit == at && self.send_first.contains(&at.as_nanos()) {
                continue;
            }
            match next.iter().position(|next| *next == at) {
                Some(0) => self.arrive(),
                Some(1) => self.return_report(),
                Some(2) => {
                    self.sender.handle_timeout(self.now);
                }
                Some(3) => {
                    self.receiver.handle_timeout(self.now);
                    self.report();
                }
                _ => {}
            }
        }
    }

    fn send(&mut self) {
        while self.sender.may_send(self.now, Some(&self.next())) {
            let (number, stamp) = self.sender.send(self.now, Some(self.size), true);
            let stamp = stamp.unwrap();
            self.sent += 1;
            self.sent_at.push(self.now);
            let mut packet = Received::new(number, Some(self.size));
            packet.ccval = stamp.ccval;
            if self.form == Form::Agent {
                (packet.rtt, packet.timing) = (stamp.rtt, Some(Timing::stamped(self.now, &stamp)));
            }
            if !(self.drop)(number) {
                let at = self.cross(0, self.wire.0);
                let at = nudged(at, &self.nudges, number);
                self.data.push_back(Flying { at, packet });
            }
        }
    }

    fn arrive(&mut self) {
        if let Some(flying) = self.data.pop_front() {
            self.received += 1;
            self.receiver.on_packet(self.now, &flying.packet);
            self.report();
        }
    }

    fn report(&mut self) {
        let now = self.now;
        let Some(Due { acknowledged, held, report: Report::Tfrc(report), .. }) = self.receiver.poll_report(now) else {
            return;
        };
        let losses = match report.losses {
            Losses::EventRate(p) => OwnedLosses::Rate(p),
            Losses::Intervals { skip, intervals } => OwnedLosses::Intervals(skip, intervals.to_vec()),
        };
        let (x_recv, new_loss_event) = (report.x_recv, report.new_loss_event);
        if !(self.drop_report)(now) {
            let at = self.cross(1, self.wire.1);
            let at = nudged(at, &self.report_nudges, at.as_nanos());
            self.reports.push_back(Returning { at, acknowledged, hold: held, x_recv, losses, new_loss_event });
        }
    }

    fn return_report(&mut self) {
        let Some(report) = self.reports.pop_front() else { return };
        let age = self.sender.ledger().age(report.acknowledged, self.now).unwrap();
        let sample = age - report.hold;
        self.r_samples = (self.r_samples.0 + sample.as_secs_f64(), self.r_samples.1 + 1);
        let losses = match &report.losses {
            OwnedLosses::Rate(p) => Losses::EventRate(*p),
            OwnedLosses::Intervals(skip, intervals) => Losses::Intervals { skip: *skip, intervals },
        };
        let (x_recv, new_loss_event) = (report.x_recv, report.new_loss_event);
        let contents = Report::Tfrc(TfrcReport { x_recv, losses, new_loss_event });
        self.sender.on_report(self.now, report.acknowledged, Some(sample), contents);
        let p = self.status().loss_event_rate.map_or(0.0, |p| p.value());
        self.reported.push((self.now, p));
    }

    pub(crate) fn status(&self) -> Status {
        self.sender.status().unwrap_or_default()
    }

    /// Returns the allowed rate in bytes/s.
    pub(crate) fn allowed(&self) -> f64 {
        self.status().target_rate.map_or(0.0, |rate| rate.bits_per_second() as f64 / 8.0)
    }

    pub(crate) fn mean_r_sample(&self) -> f64 {
        self.r_samples.0 / self.r_samples.1 as f64
    }
}
