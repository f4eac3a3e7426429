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
/// Maximum data sent at once (`kMaxBurstSize` of libwebrtc).
const MAX_BURST_BYTES: f64 = 63_000.0;
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

/// Pacing of a version.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    /// Ratio of the pacing rate to the target rate. It also limits the mean rate of a source that ignores its rate.
    factor: f64,
    /// Time at the pacing rate whose data may be sent at once.
    burst: Duration,
}

impl Pacing {
    /// Returns that of libwebrtc (`kDefaultPaceMultiplierWithSendSideBwe`, `kDefaultBurstInterval`), or that of the
    /// draft: the data of 5 ms at the target rate (section 4).
    const fn new(version: GccVersion) -> Self {
        match version {
            GccVersion::Gcc2026 => Self { factor: 1.1, burst: Duration::from_millis(40) },
            GccVersion::Draft02 => Self { factor: 1.0, burst: Duration::from_millis(5) },
        }
    }
}

/// Sender half of the controller `gcc` (Google Congestion Control), which computes the rate from one-way delays and
/// losses.
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
    pacing: Pacing,
    pacer: Pacer,
    congestion_events: CongestionEvents,
}

impl GccSender {
    pub(crate) fn new(options: &GccOptions, context: SenderContext) -> Self {
        let (header, size) = (context.header.count() as f64, context.packet_size.count().max(1) as f64);
        let (limits, pacing) = (Limits::new(options), Pacing::new(options.version));
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
            pacing,
            pacer: Pacer::new(pacing.burst),
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

    fn pacing_bps(&self) -> f64 {
        self.pacing.factor * self.target_bps()
    }

    fn on_used(&mut self, now: Instant, bytes: f64) {
        let bps = self.pacing_bps();
        self.pacer.set_credit(self.pacing.burst.min(Duration::from_secs_f64(8.0 * MAX_BURST_BYTES / bps)));
        self.pacer.on_send(now, 8.0 * bytes / bps);
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
        self.pacer.permit(now)
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
            pacing_rate: rate(self.pacing_bps()),
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

    /// At 300 kb/s a source that always has data sends 330 kb/s, packets of 1000 B 24.24 ms apart. After a pause, the
    /// packets of the last 40 ms are sent at once. The first packet is held back for 200 ms, to fill a probe. By the
    /// draft packets are 26.67 ms apart, which is more than the 5 ms of a burst.
    #[test]
    fn the_mean_rate_is_limited() {
        for (version, expected, last) in [
            (GccVersion::Gcc2026, [200, 224, 248, 272, 1000, 1000, 1008, 1032], 1905),
            (GccVersion::Draft02, [0, 26, 53, 80, 1000, 1021, 1048, 1075], 2035),
        ] {
            let mut sender = sender(version);
            let mut times = send(&mut sender, Instant::ZERO, 4);
            times.extend(send(&mut sender, Instant::from_secs(1), 40));
            assert_eq!((&times[..8], times[43]), (&expected[..], last), "{version:?}");
        }
    }

    /// 40 ms at 110 Mb/s are 550 kB, but a burst has at most 63 kB and one packet.
    #[test]
    fn bursts_are_limited() {
        let options =
            GccOptions { start_rate: Rate::from_bits_per_second(100_000_000), ..GccOptions::preset(Dialect::Rfc) };
        let mut sender = GccSender::new(&options, SenderContext::new(Instant::ZERO, SIZE, Random::new(1, "gcc")));
        send(&mut sender, Instant::ZERO, 1);
        let (now, mut sent) = (Instant::from_secs(1), 0);
        while sender.poll_send(now, &Next::new(SIZE)) == Permit::Now {
            sender.on_send(now, &Sending::new(sender.flight.next(), Some(SIZE)));
            sent += 1;
        }
        assert_eq!(sent, 64);
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

    #[derive(Clone, Copy, Debug)]
    enum Source {
        Greedy,
        /// Frames of the target rate, the sizes of which deviate by up to 20 %.
        Encoder {
            frame_ms: u64,
        },
    }

    #[derive(Debug, Default)]
    struct Outcome {
        /// Mean rate, mean delay after the send queue, and lost packets of the second half.
        kbps: f64,
        delay_ms: f64,
        lost: u64,
        /// Number of seconds, each with a send queue that was never empty, and mean number of bytes in it.
        standing_s: u64,
        queued_bytes: f64,
    }

    /// Runs a sender over a link of 1 Mb/s with a queue of 300 ms, 50 ms each way, with a report per 50 ms.
    fn run(version: GccVersion, source: Source, seconds: u64) -> Outcome {
        let (mut sender, mut random) = (sender(version), Random::new(7, "frames"));
        let transmission = Duration::from_millis(8);
        let (mut free, mut arrived, mut outcome) = (Instant::ZERO, VecDeque::new(), Outcome::default());
        let (mut received, mut delays_ms, mut newest) = (0, 0.0, None);
        let mut states: Vec<Option<Instant>> = vec![];
        let (mut waiting, mut was_empty) = (0.0, false);
        for ms in 0..1000 * seconds {
            let (now, is_counted) = (Instant::from_millis(ms), ms >= 500 * seconds);
            match source {
                Source::Greedy => waiting = 100_000.0,
                Source::Encoder { frame_ms } if ms % frame_ms == 0 => {
                    waiting += sender.target_bps() * frame_ms as f64 / 8000.0 * (0.8 + 0.4 * random.uniform());
                }
                Source::Encoder { .. } => {}
            }
            let next = |waiting: f64| {
                let mut next = Next::new(SIZE);
                next.waiting = Bytes::new(waiting as u64);
                next
            };
            while waiting >= 1000.0 && sender.poll_send(now, &next(waiting)) == Permit::Now {
                waiting -= 1000.0;
                sender.on_send(now, &Sending::new(states.len() as u64, Some(SIZE)));
                free = free.max(now);
                if free.since(now) > Duration::from_millis(300) {
                    states.push(None);
                    outcome.lost += u64::from(is_counted);
                    continue;
                }
                free += transmission;
                states.push(Some(free + Duration::from_millis(50)));
                arrived.push_back((states.len() as u64 - 1, free + Duration::from_millis(50)));
                received += u64::from(is_counted);
                delays_ms += if is_counted { free.since(now).as_secs_f64() * 1e3 + 50.0 } else { 0.0 };
            }
            was_empty |= waiting < 1000.0;
            outcome.queued_bytes += waiting / (1000.0 * seconds as f64);
            if ms % 1000 == 999 {
                outcome.standing_s += u64::from(!std::mem::take(&mut was_empty));
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
        outcome.kbps = received as f64 * 8.0 / (500.0 * seconds as f64) * 1000.0;
        outcome.delay_ms = delays_ms / received.max(1) as f64;
        outcome
    }

    /// A source with a queue is probed at 3 and 6 times the start rate, and uses the link after two seconds. Without
    /// probes, as in the draft, the rate has grown by 8 % per s.
    #[test]
    fn probes_of_waiting_media_find_the_link() {
        let kbps = |version| run(version, Source::Greedy, 4).kbps;
        let (probed, plain) = (kbps(GccVersion::Gcc2026), kbps(GccVersion::Draft02));
        assert!(probed > 800.0 && plain < 450.0, "{probed} {plain}");
    }

    /// A single flow uses most of the link and keeps its queue short.
    #[test]
    fn a_flow_uses_the_link_with_a_short_queue() {
        for version in [GccVersion::Gcc2026, GccVersion::Draft02] {
            let run = run(version, Source::Greedy, 60);
            assert!(run.kbps > 700.0 && run.kbps <= 1001.0, "{version:?}: {run:?}");
            assert!(run.delay_ms < 150.0, "{version:?}: {run:?}");
            assert_eq!(run.lost, 0, "{version:?}");
        }
    }

    /// The send queue of an encoder that writes the target rate on average is empty once per second or more often,
    /// although the sizes of frames vary and the rate sometimes falls by 15 %.
    #[test]
    fn an_encoder_at_the_target_rate_has_no_standing_queue() {
        for frame_ms in [10, 16, 33, 66] {
            let run = run(GccVersion::Gcc2026, Source::Encoder { frame_ms }, 120);
            assert!(run.kbps > 700.0, "{frame_ms} ms: {run:?}");
            assert_eq!(run.standing_s, 0, "{frame_ms} ms: {run:?}");
            assert!(run.queued_bytes < 1000.0, "less than a packet: {frame_ms} ms: {run:?}");
        }
    }
}
