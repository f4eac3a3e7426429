//! Invariants of TFRC and TFRC-SP with a lying receiver: it lies about the receive rate, losses in both forms, the
//! delay of reports, and the acknowledged packet. Shared by the fuzz target and the test that replays `fuzz/corpus`.
//!
//! The bounds are those of RFC 5348: section 4.3 for the rate, section 3.1 for the equation, section 4.6 for bursts.
//! They are checked in dialect `rfc`; the others have different rules for rounding and doubling.

use super::choices::Choices;
use headway_rate::{
    ControllerOptions, Feedback, LossInterval, Losses, Next, Permit, Report, Sender, SenderContext, SenderHalf,
    Sending, TfrcReport,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Probability, Random, Rate, Registry};
use std::collections::VecDeque;

const SIZE: Bytes = Bytes::new(1000);
const S: f64 = 1000.0;
/// `W_init` of packets of that size: `min(4 MSS, max(2 MSS, 4380 B))`.
const W_INIT: f64 = 4000.0;
/// CCID 4 adds 36 bytes of header to each packet, and uses the equation for packets of 1460 bytes.
const SP: (f64, f64) = (1460.0, 36.0);
/// Maximum relative rounding: rates are in whole bit/s, round-trip times in whole ns.
const ROUNDING: f64 = 1.0 + 1e-3;

/// 2^33 s, about 270 years.
const END: Instant = Instant::from_secs(1 << 33);

struct Truth {
    sender: Sender,
    small: bool,
    rfc: bool,
    now: Instant,
    next: u64,
    sent: VecDeque<(u64, Instant)>,
    /// Greatest and latest round-trip time of the reports, in s.
    samples: (f64, f64),
    /// Greatest reported receive rate, in bytes/s.
    greatest_x_recv: f64,
    /// Greatest rate at which the nofeedback timer expired.
    greatest_expired: f64,
    /// Greatest `W_init / R`.
    greatest_initial: f64,
    first_report: Option<Instant>,
    /// Time of the last rate change, and packets since then.
    period: (Instant, f64),
}

/// Interprets the bytes as events at a sender. The first selects the kind, the dialect, and whether the handshake
/// measured a round trip.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let choice = choices.byte();
    let dialect = if choice & 1 == 0 { Dialect::Rfc } else { choices.one(&[Dialect::Ns2, Dialect::Linux]) };
    let small = choice & 16 != 0;
    let kind = if small { "tfrc-sp" } else { "tfrc" };
    let options = ControllerOptions::preset(kind, dialect).expect("a kind of this crate");
    let rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let now = Instant::from_secs(100);
    let mut context = SenderContext::new(now, SIZE, Random::new(1, "fuzz"));
    context.rtt = rtt;
    let mut truth = Truth {
        sender: Sender::new(&options, context),
        small,
        rfc: dialect == Dialect::Rfc,
        now,
        next: 0,
        sent: VecDeque::new(),
        samples: (0.04, 0.04),
        greatest_x_recv: 0.0,
        greatest_expired: 0.0,
        greatest_initial: if rtt.is_some() { W_INIT / 0.04 } else { 0.0 },
        first_report: None,
        period: (now, 0.0),
    };

    while let Some(step) = choices.step() {
        truth.now += Duration::from_millis(u64::from(step >> 4));
        match step & 15 {
            0..5 => truth.send(choices.byte()),
            5 => {
                truth.sender.on_send(truth.now, &Sending::new(truth.next, None));
                truth.sender.on_application_limited(truth.now);
                truth.next += 1;
            }
            6..13 => truth.report(&mut choices),
            13 => truth.now += Duration::from_micros(1 << choices.byte().min(35)),
            _ => truth.expire(choices.byte() & 15),
        }
        truth.holds();
    }
    assert!(format!("{:?}", truth.sender).len() < 16 << 20, "its state is bounded");
}

impl Truth {
    /// Returns X in bytes/s, rounded up from the status, which is in whole bit/s.
    fn x(&self) -> f64 {
        let rate = self.sender.status().target_rate.expect("it has a rate");
        (rate.bits_per_second() as f64 + 1.0) / 8.0
    }

    /// Returns R in s.
    fn r(&self) -> f64 {
        self.sender.status().rtt.map_or(0.0, |rtt| rtt.as_secs_f64() + 1e-9)
    }

    fn send(&mut self, many: u8) {
        for _ in 0..=many & 63 {
            match self.sender.poll_send(self.now, &Next::new(SIZE)) {
                Permit::Now => {}
                Permit::At(at) => {
                    assert!(at > self.now, "a packet that may be sent now has to wait");
                    if at.since(self.now) > Duration::from_secs(100) {
                        break;
                    }
                    self.now = at;
                    continue;
                }
                Permit::Blocked => panic!("rate control never blocks"),
            }
            let stamp = self.sender.on_send(self.now, &Sending::new(self.next, Some(SIZE)));
            assert!(stamp.ccval < 16);
            self.sent.push_back((self.next, self.now));
            if self.sent.len() > 1000 {
                self.sent.pop_front();
            }
            self.next += 1;
            self.period.1 += 1.0;
            self.paced();
        }
    }

    /// Section 4.6: packets are s/X_inst apart, plus the unused allowance of the last round trip. Section 4.5: X_inst
    /// is X times `R_sqmean / sqrt(R_sample)`, whose mean is at most the greatest sample, and at least s / t_mbi.
    fn paced(&self) {
        if !self.rfc {
            return;
        }
        let x_inst = self.x() * (self.samples.0 / self.samples.1).sqrt().max(1.0);
        let x_inst = x_inst.max(S / 64.0);
        let elapsed = self.now.since(self.period.0).as_secs_f64();
        let most = (elapsed + self.r()) * x_inst / S * ROUNDING + 2.0;
        // The status is limited to packets 10 ms apart.
        let known = !self.small || self.x() < 0.99 * S / 0.01;
        assert!(!known || self.period.1 <= most, "{} packets in {elapsed} s, {most} allowed", self.period.1);
        if self.small {
            // RFC 4828 section 4.3.
            assert!(self.period.1 <= elapsed / 0.01 + 1.001, "closer than 10 ms");
        }
    }

    fn report(&mut self, choices: &mut Choices<'_>) {
        let flags = choices.byte();
        let back = choices.byte();
        let acknowledged = if back == 255 { choices.wide() } else { self.next.saturating_sub(1 + u64::from(back)) };
        let sent = self.sent.binary_search_by_key(&acknowledged, |sent| sent.0).ok();
        let sample = sent.and_then(|at| self.sent.get(at)).filter(|_| flags & 1 == 0).map(|(_, at)| {
            // The Elapsed Time of the receiver is subtracted.
            Duration::from_secs_f64(self.now.since(*at).as_secs_f64() * choices.part())
        });
        let x_recv = match flags >> 1 & 3 {
            0 => self.x() * 8.0 * choices.part(),
            1 => self.x() * 16.0,
            _ => choices.wide() as f64,
        } as u64;
        let intervals: Vec<_> = (0..choices.byte() & 31)
            .map(|_| {
                let mut wide = |bits: u32| (choices.wide() & ((1 << bits) - 1)) as u32;
                LossInterval { lossless: wide(24), lossy: wide(23), data: wide(24), dropped: wide(24) }
            })
            .collect();
        let losses = match flags >> 3 & 3 {
            0 => Losses::EventRate(Probability::ZERO),
            1 => Losses::EventRate(Probability::new(1.0 / choices.wide().max(1) as f64).expect("0 to 1")),
            2 => Losses::EventRate(Probability::new(choices.part()).expect("0 to 1")),
            _ => Losses::Intervals { skip: choices.byte() & 3, intervals: &intervals },
        };
        let x = Rate::from_bits_per_second(x_recv);
        let report = TfrcReport { x_recv: x, losses, new_loss_event: flags & 32 != 0 };
        let mut feedback = Feedback::new(acknowledged, Report::Tfrc(report));
        feedback.rtt_sample = sample;
        feedback.lost_acks = choices.wide();
        feedback.slow_receiver = flags & 64 != 0;
        feedback.receive_buffer_drops = if flags & 128 == 0 { 0 } else { choices.wide() };
        let before = (self.x(), self.sender.status());
        self.sender.on_feedback(self.now, &feedback);
        let Some(sample) = sample else {
            assert_eq!(self.sender.status(), before.1, "a report without a round trip is no feedback");
            return;
        };
        let sample = sample.as_secs_f64().max(1e-6);
        self.samples = (self.samples.0.max(sample), sample);
        self.greatest_x_recv = self.greatest_x_recv.max(x_recv as f64 / 8.0);
        self.period = (self.now, 0.0);
        if self.rfc {
            self.bounded(before.0);
        }
        assert!(self.sender.poll_timeout().is_some_and(|at| at > self.now), "the nofeedback timer starts again");
    }

    /// Section 4.3, step 4.
    fn bounded(&mut self, before: f64) {
        let (x, r, status) = (self.x(), self.r(), self.sender.status());
        let initial = W_INIT / (r - 2e-9).max(1e-9);
        self.greatest_initial = self.greatest_initial.max(initial);
        let p = status.loss_event_rate.map_or(0.0, Probability::value);
        if self.first_report.is_none() {
            self.first_report = Some(self.now);
            // Section 4.2: the first report gives the initial rate, regardless of its contents.
            assert!(x <= self.greatest_initial * ROUNDING + 1.0, "{x} after one report");
            return;
        }
        let least = S / 64.0;
        if p > 0.0 {
            let allowed = self.equation(p, r).max(least);
            assert!(x <= allowed * ROUNDING + 1.0, "{x} where the equation allows {allowed} (p = {p}, R = {r})");
        } else {
            let allowed = (2.0 * before).max(self.greatest_initial);
            assert!(x <= allowed * ROUNDING + 1.0, "{x} after {before}: more than twice");
        }
        // `recv_limit`: for two round trips after the first report, X_recv_set contains Infinity.
        let since = self.first_report.map_or(0.0, |first| self.now.since(first).as_secs_f64());
        if since > 2.0 * r {
            let reported = (2.0 * self.greatest_x_recv).max(self.greatest_expired);
            let allowed = before.max(reported).max(self.greatest_initial).max(least);
            assert!(x <= allowed * ROUNDING + 1.0, "{x} after {before}, {} received", self.greatest_x_recv);
        }
    }

    /// Section 3.1, with b = 1 and t_RTO = 4R; RFC 4828 section 3 for small packets.
    fn equation(&self, p: f64, r: f64) -> f64 {
        let r = r - 2e-9;
        let f = (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
        let (s, share) = if self.small { (SP.0, S / (S + SP.1)) } else { (S, 1.0) };
        s / (r.max(1e-9) * f) * share
    }

    /// Lets the timer expire some times without reports.
    fn expire(&mut self, times: u8) {
        for _ in 0..=times {
            // Without a minimum rate (ns-2), a timer may be beyond the range of time.
            let Some(at) = self.sender.poll_timeout().filter(|at| *at < END) else { return };
            self.now = self.now.max(at);
            let before = self.x();
            // Section 4.4: the timer puts half of the allowed rate into X_recv_set.
            self.greatest_expired = self.greatest_expired.max(before);
            self.sender.handle_timeout(self.now);
            self.period = (self.now, 0.0);
            let x = self.x();
            assert!(!self.rfc || x <= before.max(S / 64.0 + 1.0), "silence makes it faster: {before} to {x}");
            let woken = self.sender.poll_timeout().map(|next| next.since(self.now));
            assert!(woken.is_some_and(|wait| wait >= Duration::from_millis(1)), "the timer keeps it awake: {woken:?}");
        }
    }

    fn holds(&mut self) {
        let permit = self.sender.poll_send(self.now, &Next::new(SIZE));
        assert!(!matches!(permit, Permit::At(at) if at <= self.now), "the permitted time is in the past");
        assert_ne!(permit, Permit::Blocked, "rate control never blocks");
        let status = self.sender.status();
        let p = status.loss_event_rate.expect("a probability").value();
        assert!((0.0..=1.0).contains(&p), "{p}");
        assert!(status.rtt.is_none_or(|rtt| rtt < Duration::MAX));
        // Section 4.3: s / t_mbi, or before a loss the initial rate, which may be lower for round trips of minutes.
        let least = (S / 64.0).min(0.99 * W_INIT / self.samples.0);
        assert!(!self.rfc || self.x() >= least, "less than a packet in 64 s");
    }
}
