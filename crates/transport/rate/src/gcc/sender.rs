//! Sender half of `gcc`.

use super::draft::Draft;
use super::options::{GccOptions, GccVersion, Limits};
use super::shipped::Shipped;
use super::{PacketReport, ReportedPacket};
use crate::contract::{CongestionEvents, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::{Feedback, Report, TimedReport};
use crate::toolbox::{Flight, Pacer, PacketOutcome};
use headway_units::{Duration, Ecn, Instant, Rate};
use std::collections::VecDeque;

/// Maximum number of packets in flight that are recorded.
const CAPACITY: usize = 1 << 14;
/// Ratio of the pacing rate to the target rate (`kDefaultPaceMultiplier` of libwebrtc).
const PACING: f64 = 2.5;
/// Time that a late packet may make up.
const CREDIT: Duration = Duration::from_millis(1);
/// Data that may be sent at the pacing rate, as a time at the target rate.
const BURST: Duration = Duration::from_millis(250);
/// Number of times from sending a packet to its report that are averaged.
const RTTS: usize = 32;
const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Round-trip time, corrected by the time without reports, above which the rate is reduced, each [`BACK_OFF_INTERVAL`].
const MAX_RTT: Duration = Duration::from_secs(3);
const BACK_OFF_INTERVAL: Duration = Duration::from_secs(1);
const BACK_OFF: f64 = 0.8;

/// Estimator of the rate, by version.
#[derive(Debug)]
enum Estimator {
    Shipped(Box<Shipped>),
    Draft(Box<Draft>),
}

impl Estimator {
    fn new(options: &GccOptions, limits: Limits) -> Self {
        let start_bps = options.start_rate.bits_per_second() as f64;
        match options.version {
            GccVersion::Gcc2026 => {
                let max_probe_bps = options.max_rate.map(|_| limits.max_bps);
                Self::Shipped(Box::new(Shipped::new(limits, start_bps, max_probe_bps)))
            }
            GccVersion::Draft02 => Self::Draft(Box::new(Draft::new(limits, start_bps))),
        }
    }

    fn bps(&self) -> f64 {
        match self {
            Self::Shipped(shipped) => shipped.bps(),
            Self::Draft(draft) => draft.bps(),
        }
    }

    /// Handles a report. Returns whether losses reduced the rate.
    fn on_report(&mut self, report: &PacketReport<'_>) -> bool {
        match self {
            Self::Shipped(shipped) => shipped.on_report(report),
            Self::Draft(draft) => draft.on_report(report),
        }
    }
}

/// Sender half of `gcc`.
#[derive(Debug)]
pub struct GccSender {
    limits: Limits,
    /// Bytes of headers per packet, which count in the rates.
    header: f64,
    /// Size of a full packet with headers, and the share of its data.
    packet_bytes: f64,
    data_share: f64,
    estimator: Estimator,
    flight: Flight,
    packets: Vec<ReportedPacket>,
    rtts: VecDeque<Duration>,
    rtt: Duration,
    /// Time since which packets are not reported: that of the last report, or of the first packet after it.
    unreported_since: Option<Instant>,
    /// Maximum rate without reports, and the time of its last reduction.
    back_off: Option<(f64, Instant)>,
    pacer: Pacer,
    /// Pacer of the mean rate.
    mean: Pacer,
    congestion_events: CongestionEvents,
}

impl GccSender {
    pub(crate) fn new(options: &GccOptions, context: SenderContext) -> Self {
        let (header, size) = (context.header.count() as f64, context.packet_size.count().max(1) as f64);
        let limits = Limits::new(options);
        Self {
            limits,
            header,
            packet_bytes: size + header,
            data_share: size / (size + header),
            estimator: Estimator::new(options, limits),
            flight: Flight::new(CAPACITY),
            packets: Vec::new(),
            rtts: VecDeque::new(),
            rtt: context.rtt.unwrap_or_default(),
            unreported_since: None,
            back_off: None,
            pacer: Pacer::new(CREDIT),
            mean: Pacer::new(BURST),
            congestion_events: CongestionEvents::default(),
        }
    }

    /// Returns the target rate, with headers.
    fn target_bps(&self) -> f64 {
        self.limits.clamp(self.back_off.map_or(f64::INFINITY, |(bps, _)| bps).min(self.estimator.bps()))
    }

    /// Reduces the rate while no reports arrive (`RttBasedBackoff` of libwebrtc).
    fn check_silence(&mut self, now: Instant) {
        let since = *self.unreported_since.get_or_insert(now);
        let is_due = self.back_off.is_none_or(|(_, at)| now.since(at) >= BACK_OFF_INTERVAL);
        if self.rtt + now.since(since) > MAX_RTT && is_due {
            let bps = self.target_bps();
            self.back_off = Some((BACK_OFF * bps, now));
            self.congestion_events.timeouts += u64::from(bps > self.limits.min_bps);
        }
    }

    fn on_used(&mut self, now: Instant, bytes: f64) {
        let gap_s = 8.0 * bytes / self.target_bps();
        self.pacer.on_send(now, gap_s / PACING);
        self.mean.on_send(now, gap_s);
    }

    /// Collects the packets that a report is about, in the order of arrival.
    fn collect(&mut self, feedback: &Feedback<'_>, report: &TimedReport<'_>) {
        self.packets.clear();
        let (packets, header) = (&mut self.packets, self.header);
        self.flight.report_timed(feedback.acknowledged, report, |update| {
            if update.outcome != PacketOutcome::MarkedLater {
                packets.push(ReportedPacket {
                    number: update.number,
                    sent: update.sent,
                    bytes: update.size.count() as f64 + header,
                    is_lost: update.outcome == PacketOutcome::Lost,
                    arrived: update.arrived,
                });
            }
        });
        self.packets.sort_unstable_by_key(|packet| (packet.arrived, packet.number));
    }

    /// Returns the mean time from sending a packet to its report.
    fn response_time(&mut self, now: Instant) -> Duration {
        let received = self.packets.iter().filter(|packet| !packet.is_lost);
        if let Some(oldest) = received.map(|packet| packet.sent).min() {
            if self.rtts.len() == RTTS {
                self.rtts.pop_front();
            }
            self.rtts.push_back(now.since(oldest));
        }
        let count = u32::try_from(self.rtts.len()).unwrap_or(u32::MAX);
        let sum = self.rtts.iter().fold(Duration::ZERO, |sum, rtt| sum + *rtt);
        if count == 0 { DEFAULT_RTT } else { sum / u64::from(count) }
    }
}

impl SenderHalf for GccSender {
    fn poll_send(&mut self, now: Instant, next: &Next) -> Permit {
        if let Estimator::Shipped(shipped) = &mut self.estimator
            && let Some(permit) = shipped.permit(now, next, self.header)
        {
            return permit;
        }
        match (self.pacer.permit(now), self.mean.permit(now)) {
            (Permit::At(pacer), Permit::At(mean)) => Permit::At(pacer.max(mean)),
            (Permit::Now, permit) | (permit, _) => permit,
        }
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        self.flight.send(now, sending.number, sending.data.then_some(sending.size));
        if sending.data {
            let bytes = sending.size.count() as f64 + self.header;
            self.check_silence(now);
            self.on_used(now, bytes);
            if let Estimator::Shipped(shipped) = &mut self.estimator {
                shipped.on_send(now, sending.number, bytes);
            }
        }
        Stamp { ecn: Ecn::NotEct, ..Stamp::default() }
    }

    fn on_discard(&mut self, now: Instant) {
        self.on_used(now, self.packet_bytes);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let Report::Timed(report) = feedback.report else { return };
        self.rtt = feedback.rtt_sample.unwrap_or(self.rtt);
        self.unreported_since = (feedback.acknowledged.wrapping_add(1) != self.flight.next()).then_some(now);
        if self.rtt <= MAX_RTT {
            self.back_off = None;
        }
        self.collect(feedback, &report);
        let rtt = self.response_time(now);
        let reduced = self.estimator.on_report(&PacketReport { now, packets: &self.packets, rtt });
        self.congestion_events.loss_events += u64::from(reduced);
        let target_bps = self.target_bps();
        if let Estimator::Shipped(shipped) = &mut self.estimator {
            shipped.on_rate(now, target_bps, self.rtt > MAX_RTT);
        }
    }

    fn congestion_events(&self) -> CongestionEvents {
        self.congestion_events
    }

    fn status(&self) -> Status {
        let rate = |bps: f64| Some(Rate::from_bits_per_second((bps * self.data_share) as u64));
        Status {
            target_rate: rate(self.target_bps()),
            pacing_rate: rate(PACING * self.target_bps()),
            rtt: Some(self.rtt).filter(|rtt| *rtt > Duration::ZERO),
            ..Status::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TimedArrival;
    use headway_units::{Bytes, Dialect, Options, Random};

    const SIZE: Bytes = Bytes::new(1000);

    fn sender(version: GccVersion) -> GccSender {
        let options = GccOptions { version, ..GccOptions::preset(Dialect::Rfc) };
        GccSender::new(&options, SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "gcc")))
    }

    fn kbps(sender: &GccSender) -> u64 {
        (sender.target_bps() / 1000.0).round() as u64
    }

    /// Sends `packets` packets from `from` on, as early as permitted, and returns the times in ms.
    fn send(sender: &mut GccSender, from: Instant, packets: u64) -> Vec<u64> {
        let (mut now, mut times) = (from, vec![]);
        for _ in 0..packets {
            while let Permit::At(at) = sender.poll_send(now, &Next::new(SIZE)) {
                now = at;
            }
            sender.on_send(now, &Sending::new(sender.flight.next(), Some(SIZE)));
            times.push(now.since(Instant::ZERO).as_nanos() / 1_000_000);
        }
        times
    }

    /// At 300 kb/s, packets of 1000 B are 26.7 ms apart. After a pause, 250 ms of data are sent 10.7 ms apart (the
    /// first gap is a millisecond shorter).
    #[test]
    fn the_mean_rate_is_the_target_rate() {
        let mut sender = sender(GccVersion::Gcc2026);
        assert_eq!(send(&mut sender, Instant::ZERO, 4), [0, 26, 53, 80]);
        let times = send(&mut sender, Instant::from_secs(1), 30);
        assert_eq!(times[..4], [1000, 1009, 1020, 1031]);
        assert_eq!((times[15], times[16], times[29]), (1159, 1176, 1523));
    }

    /// One packet per second, and no report: the rate is reduced by a fifth per s, from 3 s on. A report restores it.
    #[test]
    fn without_reports_the_rate_is_reduced() {
        for version in [GccVersion::Gcc2026, GccVersion::Draft02] {
            let mut sender = sender(version);
            let mut rates = vec![];
            for second in 0..8 {
                send(&mut sender, Instant::from_secs(second), 1);
                rates.push(kbps(&sender));
            }
            assert_eq!(rates, [300, 300, 300, 300, 240, 192, 154, 123]);
            assert_eq!(sender.congestion_events().timeouts, 4);
            let arrivals = [TimedArrival::Received { ecn: Ecn::NotEct, before: None }];
            let report = TimedReport { clock: Instant::from_secs(9), arrivals: &arrivals };
            let mut feedback = Feedback::new(7, Report::Timed(report));
            feedback.rtt_sample = Some(Duration::from_millis(100));
            sender.on_feedback(Instant::from_secs(8), &feedback);
            assert_eq!(kbps(&sender), 300, "{version:?}");
            // All packets are reported: a pause of the application is not a time without reports.
            send(&mut sender, Instant::from_secs(20), 1);
            assert_eq!((kbps(&sender), sender.congestion_events().timeouts), (300, 4), "{version:?}");
        }
    }

    /// Runs a sender with a greedy source over a link of 1 Mb/s with a queue of 300 ms, 50 ms each way, with a report
    /// per 50 ms. Returns the mean rate in kb/s and the mean delay in ms of the second half of `seconds`, and the number
    /// of packets lost in it.
    fn run(version: GccVersion, seconds: u64) -> (f64, f64, u64) {
        let mut sender = sender(version);
        let transmission = Duration::from_millis(8);
        let (mut free, mut arrived, mut lost) = (Instant::ZERO, VecDeque::new(), 0);
        let (mut received, mut delays_ms, mut newest) = (0, 0.0, None);
        let mut states: Vec<Option<Instant>> = vec![];
        for ms in 0..1000 * seconds {
            let (now, is_counted) = (Instant::from_millis(ms), ms >= 500 * seconds);
            let mut next = Next::new(SIZE);
            next.waiting = Bytes::new(100_000);
            while sender.poll_send(now, &next) == Permit::Now {
                sender.on_send(now, &Sending::new(states.len() as u64, Some(SIZE)));
                free = free.max(now);
                if free.since(now) > Duration::from_millis(300) {
                    states.push(None);
                    lost += u64::from(is_counted);
                    continue;
                }
                free += transmission;
                states.push(Some(free + Duration::from_millis(50)));
                arrived.push_back((states.len() as u64 - 1, free + Duration::from_millis(50)));
                received += u64::from(is_counted);
                delays_ms += if is_counted { free.since(now).as_secs_f64() * 1e3 + 50.0 } else { 0.0 };
            }
            while let Some((number, _)) = arrived.pop_front_if(|(_, at)| *at + Duration::from_millis(50) <= now) {
                newest = Some(number);
            }
            if ms % 50 == 0
                && let Some(newest) = newest.take()
            {
                let clock = now.checked_sub(Duration::from_millis(50)).unwrap();
                let arrival = |state: &Option<Instant>| {
                    state.filter(|at| *at <= clock).map_or(TimedArrival::NotReceived, |at| TimedArrival::Received {
                        ecn: Ecn::NotEct,
                        before: Some(clock.since(at)),
                    })
                };
                let arrivals: Vec<_> = states[..=newest as usize].iter().rev().take(100).map(arrival).collect();
                let mut feedback = Feedback::new(newest, Report::Timed(TimedReport { clock, arrivals: &arrivals }));
                feedback.rtt_sample = Some(Duration::from_millis(100));
                sender.on_feedback(now, &feedback);
            }
        }
        (received as f64 * 8.0 / (500.0 * seconds as f64) * 1000.0, delays_ms / received.max(1) as f64, lost)
    }

    /// A source with a queue is probed at 3 and 6 times the start rate, and uses the link after two seconds. Without
    /// probes, as in the draft, the rate has grown by 8 % per s.
    #[test]
    fn probes_of_waiting_media_find_the_link() {
        let (probed, plain) = (run(GccVersion::Gcc2026, 4).0, run(GccVersion::Draft02, 4).0);
        assert!(probed > 800.0 && plain < 450.0, "{probed} {plain}");
    }

    /// A single flow uses most of the link and keeps its queue short.
    #[test]
    fn a_flow_uses_the_link_with_a_short_queue() {
        for version in [GccVersion::Gcc2026, GccVersion::Draft02] {
            let (rate, delay_ms, lost) = run(version, 60);
            assert!(rate > 700.0 && rate <= 1001.0, "{version:?}: {rate}");
            assert!(delay_ms < 150.0, "{version:?}: {delay_ms}");
            assert_eq!(lost, 0, "{version:?}");
        }
    }
}
