//! The sender half (RFC 5348 section 4, RFC 4342 section 5).

use super::allowed::{Allowed, Moment, News};
use super::counter::WindowCounter;
use super::equation::Equation;
use super::options::{Idle, InitialWindow, Nofeedback, TfrcOptions};
use super::pace::{Gap, Pacer};
use super::reported::Reported;
use super::rtt::RoundTrip;
use super::segment::SegmentSize;
use super::sent::{Sent, SentLog};
use crate::contract::{
    Feedback, Losses, Next, Permit, Report, SenderContext, SenderHalf, Sending, Stamp, Status, TfrcReport,
};
use headway_units::{Duration, Instant, Probability, Rate};
use std::collections::VecDeque;

/// Times remembered at which the application was not the limit.
const NOT_LIMITED: usize = 256;

/// The sender half of `tfrc` and `tfrc-sp`.
#[derive(Debug)]
pub struct TfrcSender {
    options: TfrcOptions,
    equation: Equation,
    rtt: RoundTrip,
    segment: SegmentSize,
    allowed: Allowed,
    pacer: Pacer,
    /// When the next packet may go: whatever moves it notes it.
    due: Option<Instant>,
    counter: WindowCounter,
    sent: SentLog,
    reported: Reported,
    /// Counts reports and expired nofeedback timers (ns-2 `round_id`).
    round: u32,
    nofeedback: Option<Instant>,
    fed_back: bool,
    /// Asks for a report at once (ns-2 `UrgentFlag`).
    urgent: bool,
    /// Data was sent since the nofeedback timer was set.
    sent_since_timer: bool,
    last_sent: Option<Instant>,
    limited: Limited,
}

/// When the application was the limit (ns-2 `datalimited_`, `lastlimited_`, `all_idle_`), and when it was not.
#[derive(Debug, Default)]
struct Limited {
    /// When all that was allowed had been sent. RFC 5348 section 8.2.1 keeps two such times and allows more: with two,
    /// reports that come early, for a loss, find none in the round trip that they cover.
    not_limited: VecDeque<Instant>,
    now: bool,
    last: Option<Instant>,
    all_idle: bool,
}

impl Limited {
    /// All that is allowed has been sent; sixteen times a round trip are enough to remember.
    fn on_all_sent(&mut self, now: Instant, r: f64) {
        if self.not_limited.back().is_none_or(|last| now.since(*last).as_secs_f64() * 16.0 >= r) {
            self.not_limited.push_back(now);
        }
        if self.not_limited.len() > NOT_LIMITED {
            self.not_limited.pop_front();
        }
    }

    /// A report names a packet sent at `t_new`: whether the application was the limit for all of the round trip up to
    /// then.
    fn on_report(&mut self, t_new: Instant, r: f64) -> bool {
        while self.not_limited.front().is_some_and(|at| t_new.since(*at).as_secs_f64() >= r) {
            self.not_limited.pop_front();
        }
        self.not_limited.front().is_none_or(|at| *at > t_new)
    }
}

impl TfrcSender {
    pub(crate) fn new(options: &TfrcOptions, context: SenderContext) -> Self {
        let segment = SegmentSize::new(options.segment, context.packet_size.count());
        let mut sender = Self {
            equation: Equation::new(options),
            rtt: RoundTrip::new(options, context.rtt.map(Duration::as_secs_f64)),
            allowed: Allowed::new(options, segment.s()),
            segment,
            pacer: Pacer::new(options, context.random),
            due: None,
            counter: WindowCounter::default(),
            sent: SentLog::default(),
            reported: Reported::new(options),
            round: 0,
            nofeedback: None,
            fed_back: false,
            urgent: true,
            sent_since_timer: false,
            last_sent: None,
            limited: Limited::default(),
            options: options.clone(),
        };
        sender.allowed.begin(&sender.moment(context.now));
        sender
    }

    fn moment(&self, now: Instant) -> Moment {
        let r = self.rtt.r();
        let mss = self.segment.largest();
        let idle = match self.options.idle {
            Idle::Ns2 => self.limited.now || self.limited.all_idle,
            Idle::Linux => self.last_sent.zip(r).is_some_and(|(at, r)| now.since(at).as_secs_f64() >= 2.0 * r),
            Idle::Rfc5348 | Idle::Rfc4342 | Idle::Rfc3448 => !self.sent_since_timer,
        };
        let recently = self.limited.last.zip(r).is_some_and(|(at, r)| now.since(at).as_secs_f64() < 1.5 * r);
        Moment {
            now,
            s: self.segment.s(),
            r,
            w_init: match self.options.initial_window {
                InitialWindow::Bytes => f64::min(4.0 * mss, f64::max(2.0 * mss, 4380.0)),
                InitialWindow::Packets if mss <= 1095.0 => 4.0 * mss,
                InitialWindow::Packets if mss < 2190.0 => 3.0 * mss,
                InitialWindow::Packets => 2.0 * mss,
            },
            idle,
            recently_limited: self.limited.now || recently,
            round: self.round,
        }
    }

    /// `X_inst` (RFC 5348 section 4.5), in bytes/s.
    fn x_inst(&self) -> f64 {
        if let Some(rising) = self.allowed.rising(self.round) {
            return rising;
        }
        let x = self.allowed.x();
        let relieved = if self.options.reduce_oscillations { x * self.rtt.relief() } else { x };
        if self.options.minimum_rate { relieved.max(self.segment.s() / 64.0) } else { relieved }
    }

    fn gap(&self) -> Gap {
        Gap { t_ipi: self.segment.s() / self.x_inst(), r: self.rtt.r() }
    }

    fn set_nofeedback(&mut self, now: Instant, x: f64) {
        let r = self.rtt.r().unwrap_or(0.0);
        let least = match self.options.nofeedback {
            Nofeedback::FourRtt => 4.0 * r,
            Nofeedback::FourRttBounded => (4.0 * r).max(0.2),
            Nofeedback::TwoRtt => 2.0 * r,
        };
        // A microsecond at least, so that absurd rates do not stop time.
        let wait = least.max(2.0 * self.segment.s() / x).max(1e-6);
        self.nofeedback = Some(now + Duration::from_secs_f64(wait));
        self.sent_since_timer = false;
    }

    /// The equation's answer, less what headers take (RFC 4828 section 3).
    fn x_bps(&self, p: f64) -> f64 {
        let s = self.segment.s();
        let (Some(r), Some(t_rto)) = (self.rtt.r(), self.rtt.t_rto()) else { return f64::INFINITY };
        let nominal = self.options.nominal_segment.map_or(s, |nominal| nominal.count() as f64);
        let header = self.options.header.count() as f64;
        self.equation.rate(nominal, r, t_rto, p) * (s / (s + header))
    }

    fn read(&mut self, feedback: &Feedback<'_>, report: &TfrcReport<'_>) -> (f64, bool) {
        match report.losses {
            Losses::EventRate(p) => (p.value(), report.new_loss_event),
            Losses::Intervals { skip, intervals } => {
                let r = self.rtt.r().unwrap_or(0.0);
                let reading = self.reported.read(feedback.acknowledged, skip, intervals, &self.sent, r);
                (reading.p, reading.new_event)
            }
        }
    }

    /// `X_recv`, lowered by what the receiver's own troubles ask for (RFC 4342 section 5.2).
    fn x_recv(&self, feedback: &Feedback<'_>, report: &TfrcReport<'_>) -> f64 {
        let x_inrecv = report.x_recv.bits_per_second() as f64 / 8.0;
        let mut x_drop = f64::INFINITY;
        if feedback.slow_receiver {
            x_drop = x_inrecv;
        }
        if feedback.receive_buffer_drops > 0 {
            let one = self.segment.s() / self.rtt.r().unwrap_or(1.0);
            let dropped = feedback.receive_buffer_drops as f64 * one;
            x_drop = x_drop.min(f64::max(x_inrecv - dropped, x_inrecv.min(one)));
        }
        x_inrecv.min(x_drop / 2.0)
    }
}

impl SenderHalf for TfrcSender {
    fn poll_send(&mut self, now: Instant, _: Next) -> Permit {
        match self.due {
            Some(due) if due > now => Permit::At(due),
            _ => Permit::Now,
        }
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if !sending.data {
            self.sent.add_without_data(sending.number);
            return Stamp::default();
        }
        self.segment.on_send(sending.size.count());
        self.allowed.on_send(self.round);
        let gap = self.gap();
        self.pacer.on_send(now, gap);
        self.due = self.pacer.due(gap);
        if self.due.is_some_and(|due| due > now) {
            self.limited.on_all_sent(now, self.rtt.r().unwrap_or(0.0));
        }
        if std::mem::take(&mut self.limited.now) {
            self.limited.last = Some(now);
            self.limited.all_idle = false;
        }
        if self.nofeedback.is_none() {
            self.set_nofeedback(now, self.allowed.x());
        }
        self.sent_since_timer = true;
        self.last_sent = Some(now);
        let counter = self.counter.on_send(now, self.rtt.r());
        self.sent.add(Sent { number: sending.number, at: now, counter });
        let [rtt, t_rto] = self.rtt.stamp();
        Stamp { ccval: (counter % 16) as u8, rtt, t_rto, round: self.round, urgent: self.urgent }
    }

    fn on_application_limited(&mut self, _now: Instant) {
        self.limited.now = true;
    }

    /// Reports without a round trip or TFRC's numbers are no feedback (RFC 4342 section 6).
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let (Report::Tfrc(report), Some(r_sample)) = (feedback.report, feedback.rtt_sample) else { return };
        let r_sample = r_sample.as_secs_f64();
        let acknowledged = self.sent.acknowledge(feedback.acknowledged);
        if let Some(sent) = acknowledged {
            self.counter.on_acknowledged(sent.counter);
        }
        self.round = self.round.saturating_add(1);
        self.urgent = false;
        self.rtt.on_sample(r_sample);
        let r = self.rtt.r().unwrap_or(r_sample);
        let (p, new_loss) = self.read(feedback, &report);
        if new_loss {
            self.segment.on_loss_event();
        }
        let x_recv = self.x_recv(feedback, &report);
        let t_new = acknowledged.map_or_else(
            || now.checked_sub(Duration::from_secs_f64(r_sample)).unwrap_or(Instant::ZERO),
            |sent| sent.at,
        );
        let limited = self.limited.on_report(t_new, r) && x_recv > 0.0;
        let x_before = self.allowed.x();
        let moment = self.moment(now);
        let news = News {
            p,
            x_bps: self.x_bps(p),
            x_recv,
            new_loss,
            limited,
            overloaded: feedback.slow_receiver || feedback.receive_buffer_drops > 0,
        };
        let slow_start = self.allowed.p() <= 0.0 && p <= 0.0;
        self.allowed.on_report(&moment, &news);
        if slow_start || !self.fed_back {
            self.pacer.release(now);
        }
        self.fed_back = true;
        let x = if self.options.nofeedback == Nofeedback::TwoRtt { x_before } else { self.allowed.x() };
        self.set_nofeedback(now, x);
        self.due = self.pacer.due(self.gap());
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.nofeedback.is_none_or(|at| at > now) {
            return;
        }
        self.allowed.on_timeout(&self.moment(now));
        self.urgent = true;
        self.round = self.round.saturating_add(1);
        self.limited.all_idle |= self.limited.now;
        self.set_nofeedback(now, self.allowed.x());
        self.pacer.release(now);
        self.due = self.pacer.due(self.gap());
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.nofeedback
    }

    fn status(&self) -> Status {
        let mut x = self.allowed.x();
        if !self.options.min_interval.is_zero() {
            x = x.min(self.segment.s() / self.options.min_interval.as_secs_f64());
        }
        Status {
            rate: Some(Rate::from_bits_per_second((x * 8.0) as u64)),
            rtt: self.rtt.r().map(Duration::from_secs_f64),
            loss_event_rate: Probability::new(self.allowed.p()),
            ..Status::default()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::options::Segment;
    use super::*;
    use crate::contract::LossInterval;
    use headway_units::{Bytes, Dialect, Options, Random};

    fn rfc() -> TfrcOptions {
        TfrcOptions::preset(Dialect::Rfc)
    }

    fn sender(options: &TfrcOptions, packet_size: u64) -> TfrcSender {
        let context = SenderContext {
            now: Instant::ZERO,
            rtt: None,
            packet_size: Bytes::new(packet_size),
            random: Random::new(1, "sender"),
        };
        TfrcSender::new(options, context)
    }

    fn send(sender: &mut TfrcSender, now: Instant, number: u64) -> Stamp {
        let size = Bytes::new(sender.segment.s() as u64);
        sender.on_send(now, &Sending { number, size, data: true })
    }

    fn report(x_recv: f64, p: f64) -> Report<'static> {
        Report::Tfrc(TfrcReport {
            x_recv: Rate::from_bits_per_second((x_recv * 8.0) as u64),
            losses: Losses::EventRate(Probability::new(p).unwrap()),
            new_loss_event: false,
        })
    }

    fn feedback(report: Report<'_>, rtt_sample: f64) -> Feedback<'_> {
        Feedback {
            acknowledged: 0,
            rtt_sample: Some(Duration::from_secs_f64(rtt_sample)),
            report,
            lost_acks: 0,
            slow_receiver: false,
            receive_buffer_drops: 0,
        }
    }

    /// X in bytes/s after two reports of an unlimited receive rate.
    pub(crate) fn allowed_after(options: &TfrcOptions, s: u64, r: f64, p: f64) -> f64 {
        let mut sender = sender(options, s);
        send(&mut sender, Instant::ZERO, 0);
        for seconds in [1, 2] {
            sender.on_feedback(Instant::from_secs(seconds), &feedback(report(1e12, p), r));
        }
        sender.allowed.x()
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A sender of 1000 B packets with R = 100 ms that is limited by p = 1 %: 112332.2 B/s.
    fn steady(options: &TfrcOptions) -> TfrcSender {
        let mut sender = sender(options, 1000);
        for (number, t) in (0..10).zip((0..).step_by(100)) {
            send(&mut sender, ms(t), number);
            let feedback = Feedback { acknowledged: number, ..feedback(report(112_332.2, 0.01), 0.1) };
            sender.on_feedback(ms(t + 100), &feedback);
        }
        sender
    }

    /// RFC 5348 section 4.2: one packet a second, the timer after two; then 4 packets of up to 1095 B a round trip, 4380 B of
    /// larger ones, two of more than 2190 B.
    #[test]
    fn initialization() {
        for (size, w_init) in [(100, 400.0), (1000, 4000.0), (1095, 4380.0), (1460, 4380.0), (3000, 6000.0)] {
            let mut sender = sender(&rfc(), size);
            assert_eq!((sender.allowed.x(), sender.poll_timeout()), (size as f64, None));
            assert_eq!(sender.poll_send(ms(0), Next { size: Bytes::new(size) }), Permit::Now);
            send(&mut sender, ms(0), 0);
            assert_eq!(sender.poll_send(ms(0), Next { size: Bytes::new(size) }), Permit::At(ms(1000)));
            assert_eq!(sender.poll_timeout(), Some(ms(2000)));
            sender.on_feedback(ms(200), &feedback(report(0.0, 0.0), 0.2));
            assert!((sender.allowed.x() - w_init / 0.2).abs() < 1e-6, "{size}");
        }
    }

    /// RFC 5348 section 4.2: a handshake's round trip is as good as that of a report.
    #[test]
    fn a_round_trip_known_before() {
        let context = SenderContext {
            now: ms(50),
            rtt: Some(Duration::from_millis(100)),
            packet_size: Bytes::new(1000),
            random: Random::new(1, "sender"),
        };
        let mut sender = TfrcSender::new(&rfc(), context);
        assert!((sender.allowed.x() - 40_000.0).abs() < 1e-6);
        let stamp = send(&mut sender, ms(50), 0);
        assert_eq!(stamp.rtt, Some(Duration::from_millis(100)));
        assert_eq!(sender.poll_timeout(), Some(ms(450)));
    }

    /// RFC 4342 section 6: what lacks TFRC's options or a round trip is no feedback, and does not move the timer.
    #[test]
    fn other_acknowledgements_are_no_feedback() {
        let mut sender = steady(&rfc());
        let timeout = sender.poll_timeout();
        sender.on_feedback(ms(1050), &feedback(Report::Arrivals(&[]), 0.1));
        sender.on_feedback(ms(1050), &Feedback { rtt_sample: None, ..feedback(report(1e6, 0.5), 0.1) });
        assert_eq!(sender.poll_timeout(), timeout);
        assert_eq!(sender.status().loss_event_rate, Probability::new(0.01));
    }

    /// RFC 4342 section 5.2: X_inrecv 100000 B/s, s 1000 B, R 0.1 s, three packets dropped: X_recv 35000, X 70000.
    #[test]
    fn packets_dropped_at_the_receiver() {
        let mut sender = steady(&rfc());
        let drops = Feedback { receive_buffer_drops: 3, ..feedback(report(100_000.0, 0.01), 0.1) };
        sender.on_feedback(ms(1100), &drops);
        assert!((sender.allowed.x() - 70_000.0).abs() < 1e-6, "{}", sender.allowed.x());
        // Never below one packet a round trip for that reason.
        sender.on_feedback(ms(1200), &Feedback { receive_buffer_drops: 1_000_000, ..drops });
        assert!((sender.allowed.x() - 10_000.0).abs() < 1e-6);
        // A slow receiver is sent no more than it takes.
        let slow = Feedback { slow_receiver: true, ..feedback(report(50_000.0, 0.01), 0.1) };
        sender.on_feedback(ms(1300), &slow);
        assert!((sender.allowed.x() - 50_000.0).abs() < 1e-6);
    }

    /// RFC 5348 section 4.4: half the rate at each expiry, 4R apart, then 2s/X; the third falls on an X of 14 kB/s.
    #[test]
    fn no_feedback() {
        let mut sender = steady(&rfc());
        let mut x = sender.allowed.x();
        for number in 10..20 {
            let at = sender.poll_timeout().unwrap();
            send(&mut sender, at.checked_sub(Duration::from_millis(1)).unwrap(), number);
            sender.handle_timeout(at);
            assert!((sender.allowed.x() - (x / 2.0).max(1000.0 / 64.0)).abs() < 1e-6);
            x = sender.allowed.x();
            let wait = sender.poll_timeout().unwrap().since(at).as_secs_f64();
            assert!((wait - f64::max(0.4, 2000.0 / x)).abs() < 1e-6, "{wait}");
        }
    }

    /// What is left of 112332 B/s, and of a rate below the initial one, after an hour without sending. R = 100 ms, so that
    /// the initial rate is 40000 B/s and one packet a round trip 10000.
    #[test]
    fn idle() {
        let left = |idle: Idle, x_recv: f64, p: f64| {
            let mut sender = steady(&TfrcOptions { idle, ..rfc() });
            let at = sender.poll_timeout().unwrap();
            for _ in 0..3 {
                sender.on_feedback(at, &feedback(report(x_recv, p), 0.1));
            }
            let x = sender.allowed.x();
            for _ in 0..9000 {
                let at = sender.poll_timeout().unwrap();
                sender.handle_timeout(at);
            }
            (x.round(), sender.allowed.x().round())
        };
        // RFC 4342 section 5.1: the initial rate; a lower one is kept.
        assert_eq!(left(Idle::Rfc4342, 112_332.2, 0.01), (112_332.0, 40_000.0));
        assert_eq!(left(Idle::Rfc4342, 112_332.2, 0.1), (17_701.0, 17_701.0));
        // RFC 5348 section 4.4: halved until X_recv is below the initial rate.
        let (_, x) = left(Idle::Rfc5348, 112_332.2, 0.01);
        assert!((20_000.0..80_000.0).contains(&x), "{x}");
        // RFC 3448 section 4.4: two packets a round trip at least.
        let (_, x) = left(Idle::Rfc3448, 112_332.2, 0.01);
        assert!((20_000.0..80_000.0).contains(&x), "{x}");
        // ns-2 asks whether the application has said that it has nothing; it has not, so s/64 is left.
        let (_, x) = left(Idle::Ns2, 112_332.2, 0.01);
        assert!(x <= 16.0, "{x}");
        let (_, x) = left(Idle::Linux, 112_332.2, 0.01);
        assert!((x - 40_000.0).abs() < 1.0, "{x}");
    }

    /// ns-2's `idleFix_`: an application that had nothing to send is left the initial rate.
    #[test]
    fn idle_in_ns2() {
        let mut sender = steady(&TfrcOptions { idle: Idle::Ns2, ..rfc() });
        sender.on_application_limited(ms(1010));
        for _ in 0..20 {
            let at = sender.poll_timeout().unwrap();
            sender.handle_timeout(at);
        }
        assert!((sender.allowed.x() - 40_000.0).abs() < 1e-6);
    }

    /// RFC 5348 section 8.2.1: who sends all that is allowed is limited by X_recv, who does not is not.
    #[test]
    fn data_limited_intervals() {
        for (spacing_ms, limited) in [(5, false), (50, true)] {
            let mut sender = steady(&rfc());
            let mut number = 10;
            for round in 10..20u64 {
                let mut last = number;
                for t in (0..100).step_by(spacing_ms) {
                    last = number;
                    // The link takes only 10 kB/s of what comes: X_recv says so in both cases.
                    send(&mut sender, ms(round * 100 + t), number);
                    number += 1;
                }
                let feedback = Feedback { acknowledged: last, ..feedback(report(10_000.0, 0.01), 0.1) };
                sender.on_feedback(ms(round * 100 + 100), &feedback);
            }
            assert_eq!(sender.allowed.x() > 100_000.0, limited, "{spacing_ms}: {}", sender.allowed.x());
        }
    }

    /// s is the mean of the last four loss intervals, that of a full packet, or a moving average.
    #[test]
    fn segment_sizes() {
        for (segment, s) in [(Segment::Average, 300.0), (Segment::Full, 1000.0), (Segment::Smoothed, 400.0)] {
            let mut sender = sender(&TfrcOptions { segment, ..rfc() }, 1000);
            for number in 0..200 {
                let size = Bytes::new(if number % 2 == 0 { 200 } else { 400 });
                sender.on_send(ms(number), &Sending { number, size, data: true });
            }
            for number in 200..300 {
                if segment == Segment::Smoothed {
                    sender.on_send(ms(number), &Sending { number, size: Bytes::new(400), data: true });
                }
            }
            assert!((sender.segment.s() - s).abs() < 0.1, "{segment:?}: {}", sender.segment.s());
        }
        let mut size = SegmentSize::new(Segment::Average, 1000);
        for interval in 1..=6u64 {
            (0..10).for_each(|_| size.on_send(100 * interval));
            size.on_loss_event();
        }
        assert_eq!(size.s(), 450.0);
    }

    /// RFC 4342 section 8.6.2's example as the sender reads it: intervals of 10, 10, 8 and 15 data packets.
    const EXAMPLE: [LossInterval; 4] = [
        LossInterval { lossless: 10, lossy: 1, data: 10, dropped: 1 },
        LossInterval { lossless: 8, lossy: 5, data: 10, dropped: 4 },
        LossInterval { lossless: 8, lossy: 1, data: 8, dropped: 1 },
        LossInterval { lossless: 10, lossy: 0, data: 15, dropped: 0 },
    ];

    fn read(options: &TfrcOptions, without_data: &[u64], intervals: &[LossInterval]) -> f64 {
        let mut sent = SentLog::default();
        for number in 0..=44 {
            if without_data.contains(&number) {
                sent.add_without_data(number);
            } else {
                sent.add(Sent { number, at: ms(10 * number), counter: number / 2 });
            }
        }
        Reported::new(options).read(44, 2, intervals, &sent, 0.08).p
    }

    #[test]
    fn loss_intervals_from_the_receiver() {
        let plain = TfrcOptions { discounting: false, ..rfc() };
        // Packets 33, 24, 25, 26 and 11 carried no data: lengths 10, 10, 8, 15, of which the closed three are 33.
        let p = read(&plain, &[11, 24, 25, 26, 33], &EXAMPLE);
        assert!((p - 3.0 / 33.0).abs() < 1e-12, "{p}");
        // Nothing is known of packets without data: 11, 13, 9, 15.
        assert!((read(&plain, &[], &EXAMPLE) - 3.0 / 37.0).abs() < 1e-12);
        // 32 carried none: its interval joins the one before, which is now open: 10 + 13, 9, 15.
        let p = read(&plain, &[32], &EXAMPLE);
        assert!((p - 2.0 / f64::max(23.0 + 9.0, 9.0 + 15.0)).abs() < 1e-12, "{p}");
    }

    /// RFC 4828 section 3, RFC 5622 section 6.1: the interval of 13 packets and 4 losses lasted 130 ms, 2R are 160.
    #[test]
    fn short_intervals_from_the_receiver() {
        let options = TfrcOptions { discounting: false, short_intervals: true, ..rfc() };
        // 13/4, 9/1, 15 closed; the open one is short and does not count.
        assert!((read(&options, &[], &EXAMPLE) - 3.0 / (3.25 + 9.0 + 15.0)).abs() < 1e-12);
        // Without Drop Counts the Loss Length counts: 13/5.
        let mut without = EXAMPLE;
        without.iter_mut().for_each(|interval| interval.dropped = 0);
        assert!((read(&options, &[], &without) - 3.0 / (2.6 + 9.0 + 15.0)).abs() < 1e-12);
    }

    /// RFC 4828 section 4.3.
    #[test]
    fn small_packets_are_ten_milliseconds_apart() {
        let options = crate::TfrcSpOptions::preset(Dialect::Rfc).0;
        let mut sender = sender(&options, 100);
        send(&mut sender, ms(0), 0);
        sender.on_feedback(ms(10), &feedback(report(1e6, 0.0), 0.01));
        sender.on_feedback(ms(20), &feedback(report(1e6, 0.0), 0.01));
        send(&mut sender, ms(21), 1);
        assert_eq!(sender.poll_send(ms(21), Next { size: Bytes::new(100) }), Permit::At(ms(31)));
        assert_eq!(sender.status().rate, Some(Rate::from_bits_per_second(80_000)));
    }

    /// Faster Restart: after an idle time, twice the initial rate, and four times as much in the next round trip.
    #[test]
    fn faster_restart() {
        for (on, left, next) in [(false, 40_000.0, 80_000.0), (true, 80_000.0, 112_332.2)] {
            let mut sender = steady(&TfrcOptions { faster_restart: on, ..rfc() });
            for _ in 0..20 {
                let at = sender.poll_timeout().unwrap();
                sender.handle_timeout(at);
            }
            assert!((sender.allowed.x() - left).abs() < 0.1, "{on}: {}", sender.allowed.x());
            let now = sender.poll_timeout().unwrap();
            let mut last = 10;
            for t in 0..20 {
                last = 10 + t;
                send(&mut sender, now + Duration::from_millis(t), last);
            }
            let feedback = Feedback { acknowledged: last, ..feedback(report(40_000.0, 0.01), 0.1) };
            sender.on_feedback(now + Duration::from_millis(120), &feedback);
            assert!((sender.allowed.x() - next).abs() < 0.1, "{on}: {}", sender.allowed.x());
        }
    }
}
