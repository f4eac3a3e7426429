//! Sender half of `prague`.

use super::classic::ClassicQueue;
use super::control::{Control, Counters};
use super::frames::Frames;
use super::options::{PragueMode, PragueOptions};
use super::receiver::MIN_INTERVAL;
use crate::contract::{CongestionEvents, Need, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::{Feedback, Report, TimedArrival, TimedReport};
use crate::toolbox::{Flight, MissingReports, Outstanding, Pacer, PacketOutcome};
use headway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::collections::VecDeque;

/// Maximum number of packets in flight that are recorded.
const CAPACITY: usize = 1 << 14;
/// Time that a late packet may make up (`BURST_TIME` of udp_prague).
const CREDIT: Duration = Duration::from_micros(250);
/// Maximum rate by growth, relative to the rate at which packets were sent.
const MAX_UNUSED: u64 = 2;
/// Minimum number of packets in the window (`MIN_PKT_WIN` of udp_prague).
const MIN_WINDOW: u64 = 2;
/// Time of sending that the window permits beyond the round-trip time, while reports are held. A peer on a real socket may
/// have the receiver of `scream2` or `gcc`, which hold them for 40 and 50 ms.
const HOLD_US: u64 = 50_000;

/// Bytes sent in this virtual round trip and in the previous one.
#[derive(Clone, Copy, Debug, Default)]
struct SentBytes {
    since: Option<Instant>,
    current: u64,
    previous: u64,
}

impl SentBytes {
    fn on_send(&mut self, now: Instant, bytes: u64, interval_us: u64) {
        let since = *self.since.get_or_insert(now);
        if now.since(since).as_nanos() >= 1000 * interval_us {
            (self.since, self.previous, self.current) = (Some(now), self.current, 0);
        }
        self.current = self.current.saturating_add(bytes);
    }

    /// Returns the rate in B/s.
    fn rate(&self, interval_us: u64) -> u64 {
        let bytes = u128::from(self.current.max(self.previous));
        u64::try_from(bytes * 1_000_000 / u128::from(interval_us.max(1))).unwrap_or(u64::MAX)
    }
}

/// Sender half of the controller `prague` (RFC 9331), which adapts the rate to the share of marked packets.
#[derive(Debug)]
pub struct PragueSender {
    control: Control,
    frames: Option<Frames>,
    classic: Option<Box<ClassicQueue>>,
    started: Instant,
    /// Bytes of headers per packet, which count in the window and the rates.
    header: u64,
    /// Size of a full packet with headers.
    mtu: u64,
    ecn: Ecn,
    flight: Flight,
    counters: Counters,
    /// Numbers of lost packets that may still be reported as received, oldest first.
    lost: VecDeque<u64>,
    outstanding: Outstanding,
    sent: SentBytes,
    /// Whether the packet of the last query ends a frame.
    ends_frame: bool,
    pacer: Pacer,
    reports: MissingReports,
    loss_events: u64,
}

impl PragueSender {
    pub(crate) fn new(options: &PragueOptions, context: SenderContext) -> Self {
        let header = context.header.count();
        let mtu = context.packet_size.count().max(1).saturating_add(header);
        let us = |duration: Duration| duration.as_nanos() / 1000;
        let frames = (options.mode == PragueMode::Frames)
            .then(|| Frames::new(us(options.frame_interval()), us(options.frame_budget)));
        let mut control = Control::new(options.limits(), mtu, frames.as_ref().map(Frames::interval_us));
        context.rtt.into_iter().for_each(|rtt| control.on_rtt(us(rtt)));
        Self {
            control,
            frames,
            classic: options.classic_ecn_fallback.then(Box::default),
            started: context.now,
            header,
            mtu,
            ecn: Ecn::Ect1,
            flight: Flight::new(CAPACITY),
            counters: Counters::default(),
            lost: VecDeque::new(),
            outstanding: Outstanding::new(CAPACITY),
            sent: SentBytes::default(),
            ends_frame: false,
            pacer: Pacer::new(CREDIT),
            reports: MissingReports::new(MIN_INTERVAL, context.rtt),
            loss_events: 0,
        }
    }

    fn us(&self, now: Instant) -> u64 {
        now.since(self.started).as_nanos() / 1000
    }

    /// Returns the number of bytes that may be in flight: 1.03 W and one packet, at least two packets.
    fn window(&self) -> u64 {
        let window = u128::from(self.control.window_bytes()) * 103 / 100 + u128::from(self.mtu);
        u64::try_from(window).unwrap_or(u64::MAX).max(MIN_WINDOW.saturating_mul(self.mtu))
    }

    fn is_window_full(&self) -> bool {
        let rate = self.control.rate();
        match &self.frames {
            Some(frames) => !frames.may_send(self.window(), rate),
            None => {
                let held = (u128::from(rate) * u128::from(HOLD_US) / 1_000_000) as u64;
                self.outstanding.bytes() >= self.window().saturating_add(held)
            }
        }
    }

    /// Returns the time from a packet of this size that is sent now to the next one, in s.
    fn gap_s(&self, now: Instant, size: u64) -> f64 {
        if let Some(interval) = self.reports.probe_interval(now) {
            return interval.as_secs_f64();
        }
        let rate = match &self.frames {
            Some(_) => self.control.rate(),
            None => self.control.pacing_rate(self.us(now)),
        };
        size as f64 / rate.max(1) as f64
    }

    /// Returns the maximum rate by growth, for an application that sends less than permitted.
    fn max_grown_rate(&self) -> u64 {
        let rate = MAX_UNUSED.saturating_mul(self.sent.rate(self.control.virtual_rtt_us()));
        self.frames.as_ref().map_or(rate, |frames| frames.sending_rate(rate))
    }

    /// Moves lost packets that the report lists as received.
    fn find_late_packets(&mut self, acknowledged: u64, report: &TimedReport<'_>) {
        let counters = &mut self.counters;
        self.lost.retain(|number| {
            let place = acknowledged.checked_sub(*number).and_then(|place| usize::try_from(place).ok());
            let Some(TimedArrival::Received { ecn, .. }) = place.and_then(|place| report.arrivals.get(place)) else {
                return true;
            };
            counters.lost -= 1;
            counters.received += 1;
            counters.marked += u64::from(*ecn == Ecn::Ce);
            false
        });
    }

    /// Counts the packets of a report. Returns the mean size of those that it is the first to report as received.
    fn count(&mut self, acknowledged: u64, report: &TimedReport<'_>) -> u64 {
        self.find_late_packets(acknowledged, report);
        let (mut packets, mut bytes, mut bleached) = (0, 0u64, false);
        let (counters, lost, classic, header) = (&mut self.counters, &mut self.lost, &mut self.classic, self.header);
        self.flight.report_timed(acknowledged, report, |update| {
            let marked = matches!(update.outcome, PacketOutcome::Marked | PacketOutcome::MarkedLater);
            counters.marked += u64::from(marked);
            match update.outcome {
                PacketOutcome::Received | PacketOutcome::Marked => {
                    counters.received += 1;
                    packets += 1;
                    bytes = bytes.saturating_add(update.size.count().saturating_add(header));
                }
                PacketOutcome::Lost => {
                    counters.lost += 1;
                    if lost.len() == TimedReport::MAX_ARRIVALS {
                        lost.pop_front();
                    }
                    lost.push_back(update.number);
                }
                PacketOutcome::MarkedLater => {}
            }
            bleached |= update.ecn.is_some_and(|ecn| !matches!(ecn, Ecn::Ect1 | Ecn::Ce));
            if let (Some(classic), Some(arrived)) = (classic.as_mut(), update.arrived) {
                let delay_ns = arrived.as_nanos().wrapping_sub(update.sent.as_nanos()).cast_signed();
                classic.on_arrival(arrived, delay_ns, marked);
            }
        });
        if bleached {
            self.ecn = Ecn::NotEct;
        }
        bytes.checked_div(packets).unwrap_or(self.mtu)
    }
}

impl SenderHalf for PragueSender {
    const NEEDS: &'static [Need] = &[Need::Ect1];

    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        self.ends_frame = next.ends_frame;
        if !self.reports.are_missing() && self.is_window_full() {
            return Permit::Blocked;
        }
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        let removed = self.flight.send(now, sending.number, sending.data.then_some(sending.size));
        self.counters.sent -= u64::from(removed.is_some());
        if sending.data {
            let size = sending.size.count().saturating_add(self.header);
            self.counters.sent += 1;
            self.outstanding.send(sending.number, size);
            self.sent.on_send(now, size, self.control.virtual_rtt_us());
            if let Some(frames) = &mut self.frames {
                frames.on_send(sending.number, self.ends_frame);
            }
            self.pacer.on_send(now, self.gap_s(now, size));
            self.reports.on_send(now);
        }
        Stamp { ecn: self.ecn, ..Stamp::default() }
    }

    fn on_discard(&mut self, now: Instant) {
        self.pacer.on_send(now, self.gap_s(now, self.mtu));
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Report::Timed(report) = feedback.report else { return };
        if let Some(rtt) = feedback.rtt_sample {
            self.control.on_rtt(rtt.as_nanos() / 1000);
        }
        let size = self.count(feedback.acknowledged, &report);
        self.outstanding.acknowledge(feedback.acknowledged);
        if let Some(frames) = &mut self.frames {
            frames.acknowledge(feedback.acknowledged);
        }
        if self.reports.on_report(now, feedback.rtt_sample, !self.outstanding.is_empty()) {
            self.pacer.bring_forward(now);
        }
        let packet_us = u64::try_from(u128::from(self.mtu) * 1_000_000 / u128::from(self.control.rate().max(1)));
        let (rtt_us, packet_us) = (self.control.virtual_rtt_us(), packet_us.unwrap_or(u64::MAX));
        let is_classic = self.classic.as_mut().is_some_and(|classic| classic.on_report(now, rtt_us, packet_us));
        self.control.set_reno(is_classic || self.ecn == Ecn::NotEct);
        let reduction = self.control.on_report(self.us(now), self.counters, size, self.max_grown_rate());
        self.loss_events += u64::from(reduction.is_some());
    }

    /// Handles a time without reports.
    fn handle_timeout(&mut self, now: Instant) {
        if !self.reports.handle_timeout(now) {
            return;
        }
        self.flight.clear();
        self.lost.clear();
        self.outstanding.clear();
        if let Some(frames) = &mut self.frames {
            frames.clear();
        }
        self.counters.sent = self.counters.received + self.counters.lost;
        self.control.on_silence(self.counters.sent);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.reports.poll_timeout()
    }

    fn measures_silence(&self, _: Instant, _: u64) -> bool {
        self.reports.are_missing()
    }

    fn congestion_events(&self) -> CongestionEvents {
        CongestionEvents { loss_events: self.loss_events, timeouts: self.reports.timeouts() }
    }

    fn status(&self) -> Status {
        let data = self.mtu - self.header;
        let rate = |bytes_per_s: u64| {
            let bits = u128::from(bytes_per_s) * 8 * u128::from(data) / u128::from(self.mtu);
            Some(Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX)))
        };
        let sending = self.control.rate();
        Status {
            pacing_rate: rate(sending),
            target_rate: rate(self.frames.as_ref().map_or(sending, |frames| frames.mean_rate(sending))),
            window: Some(Bytes::new(self.window())),
            rtt: self.control.srtt_us().map(Duration::from_micros),
            ..Status::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Dialect, Options, Random};

    const SIZE: Bytes = Bytes::new(1000);

    fn sender(options: &PragueOptions) -> PragueSender {
        let mut context = SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "prague"));
        context.rtt = Some(Duration::from_millis(50));
        PragueSender::new(options, context)
    }

    fn at_rate(kbps: u64) -> PragueSender {
        let start_rate = Rate::from_bits_per_second(1000 * kbps);
        sender(&PragueOptions { start_rate, ..PragueOptions::preset(Dialect::Rfc) })
    }

    /// Sends packets `numbers` at `ms` and returns their ECN fields.
    fn send(sender: &mut PragueSender, ms: u64, numbers: std::ops::Range<u64>) -> Vec<Ecn> {
        numbers.map(|number| sender.on_send(Instant::from_millis(ms), &Sending::new(number, Some(SIZE))).ecn).collect()
    }

    /// Reports packets from `newest` downwards; `None` is a packet that has not arrived.
    fn report(sender: &mut PragueSender, ms: u64, newest: u64, packets: &[Option<Ecn>]) {
        let arrival = |ecn: &Option<Ecn>| match *ecn {
            Some(ecn) => TimedArrival::Received { ecn, before: Some(Duration::ZERO) },
            None => TimedArrival::NotReceived,
        };
        let arrivals: Vec<_> = packets.iter().map(arrival).collect();
        let report = TimedReport { clock: Instant::from_millis(ms - 25), arrivals: &arrivals };
        let mut feedback = Feedback::new(newest, Report::Timed(report));
        feedback.rtt_sample = Some(Duration::from_millis(50));
        sender.on_feedback(Instant::from_millis(ms), &feedback);
    }

    fn kbps(sender: &PragueSender) -> u64 {
        sender.status().target_rate.unwrap().bits_per_second() / 1000
    }

    const L4S: Option<Ecn> = Some(Ecn::Ect1);

    /// Packets arrive with ECT(0) or without ECT: the sender stops setting ECT(1) for good (RFC 9331 section 4.3). CE is
    /// valid.
    #[test]
    fn bleaching_ends_ect1() {
        for (ecn, expected) in
            [(Ecn::Ect1, Ecn::Ect1), (Ecn::Ce, Ecn::Ect1), (Ecn::Ect0, Ecn::NotEct), (Ecn::NotEct, Ecn::NotEct)]
        {
            let mut sender = at_rate(1000);
            assert_eq!(send(&mut sender, 0, 1..3), [Ecn::Ect1; 2]);
            report(&mut sender, 50, 2, &[L4S, Some(ecn)]);
            assert_eq!(send(&mut sender, 60, 3..4), [expected], "{ecn:?}");
            report(&mut sender, 110, 3, &[L4S]);
            assert_eq!(send(&mut sender, 120, 4..5), [expected], "{ecn:?}");
        }
    }

    /// Packet 2 is lost when three later ones have arrived, and restores the rate when a report lists it.
    #[test]
    fn a_late_packet_undoes_the_reduction() {
        let mut sender = at_rate(800);
        send(&mut sender, 0, 1..7);
        report(&mut sender, 50, 4, &[L4S, L4S, None, L4S]);
        let before = kbps(&sender);
        report(&mut sender, 60, 5, &[L4S, L4S, L4S, None, L4S]);
        assert!(kbps(&sender) <= before / 2 + 10, "{} {before}", kbps(&sender));
        assert_eq!(sender.counters, Counters { received: 4, marked: 0, lost: 1, sent: 6 });
        report(&mut sender, 70, 6, &[L4S, L4S, L4S, L4S, Some(Ecn::Ce), L4S]);
        assert_eq!(sender.counters, Counters { received: 6, marked: 1, lost: 0, sent: 6 });
        assert!(kbps(&sender) >= before, "{} {before}", kbps(&sender));
        assert_eq!(sender.congestion_events().loss_events, 2, "the loss, and the mark of the late packet");
    }

    /// At 800 kb/s and 50 ms the window is 5150 B and a packet, and 5000 B are sent in 50 ms while reports are held.
    #[test]
    fn the_window_stops_the_sender_if_no_report_arrives() {
        let mut sender = at_rate(800);
        send(&mut sender, 0, 1..2);
        report(&mut sender, 50, 1, &[L4S]);
        let blocked =
            |sender: &mut PragueSender| sender.poll_send(Instant::from_secs(1), &Next::new(SIZE)) == Permit::Blocked;
        let window = sender.window();
        let packets = (2..100).find(|number| {
            send(&mut sender, 60, *number..number + 1);
            blocked(&mut sender)
        });
        let held = sender.control.rate() / 20;
        assert_eq!(packets.unwrap() - 1, (window + held).div_ceil(1000));
        sender.handle_timeout(sender.poll_timeout().unwrap());
        assert!(sender.measures_silence(Instant::ZERO, 0) && !blocked(&mut sender));
    }

    /// While reports are missing, the rate halves at each timeout, and one packet per 200 ms is sent.
    #[test]
    fn without_reports_the_rate_halves() {
        let mut sender = at_rate(800);
        send(&mut sender, 0, 1..4);
        // RFC 6298 with one sample of 50 ms: the variance is 25 ms, and its share at least 200 ms.
        let at = sender.poll_timeout().unwrap();
        sender.handle_timeout(at);
        assert_eq!((kbps(&sender), sender.congestion_events().timeouts), (400, 1));
        sender.on_send(at, &Sending::new(4, Some(SIZE)));
        assert_eq!(sender.poll_send(at, &Next::new(SIZE)), Permit::At(at + Duration::from_micros(200_000 - 250)));
        report(&mut sender, 2000, 4, &[L4S]);
        assert!(!sender.measures_silence(Instant::ZERO, 0));
        assert_eq!(sender.poll_send(Instant::from_secs(2), &Next::new(SIZE)), Permit::Now);
    }

    /// Even pacing: at 800 kb/s a packet of 1000 B per 10 ms. A packet that is 5 ms late makes up 250 us.
    #[test]
    fn bursts_are_at_most_250_us() {
        let mut sender = at_rate(800);
        let due = |sender: &mut PragueSender, now| match sender.poll_send(now, &Next::new(SIZE)) {
            Permit::At(at) => at.since(now).as_nanos() / 1000,
            permit => panic!("{permit:?}"),
        };
        send(&mut sender, 0, 1..2);
        let gap = due(&mut sender, Instant::ZERO);
        assert!(gap.abs_diff(10_000) <= 300, "within 3 %: {gap}");
        send(&mut sender, 15, 2..3);
        assert_eq!(due(&mut sender, Instant::from_millis(15)), gap - 250);
    }

    /// An application that sends 1000 B per round trip of 50 ms: the rate grows to twice that, 320 kb/s.
    #[test]
    fn an_unused_rate_does_not_grow() {
        let mut sender = at_rate(100);
        for round in 1..200 {
            send(&mut sender, 50 * round, round..round + 1);
            report(&mut sender, 50 * round + 50, round, &[L4S]);
        }
        assert_eq!(kbps(&sender), 320);
    }

    /// At 1.2 Mb/s, 30 frames per second of 10 ms have 1500 B, and the encoder sends 360 kb/s.
    #[test]
    fn the_encoder_has_the_rate_of_its_frames() {
        let options = PragueOptions { mode: PragueMode::Frames, ..PragueOptions::preset(Dialect::Rfc) };
        let sender = sender(&PragueOptions { start_rate: Rate::from_bits_per_second(1_200_000), ..options });
        let status = sender.status();
        assert_eq!(status.pacing_rate.unwrap().bits_per_second(), 1_200_000);
        assert_eq!(kbps(&sender), 360);
    }
}
