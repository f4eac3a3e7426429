//! Invariants of TCP-like congestion control with a lying receiver: it acknowledges any sent packet, and shortens the
//! measured round-trip time by false Elapsed Times. Shared by the fuzz target and the test that replays
//! `fuzz/corpus`.

use super::choices::Choices;
use headway_rate::{
    Arrival, ControllerOptions, Feedback, Next, Permit, Report, Run, Sender, SenderContext, SenderHalf, Sending,
};
use headway_units::{Bytes, Dialect, Duration, Instant, Random, Registry};
use std::collections::{BTreeMap, BTreeSet};

const SIZE: Bytes = Bytes::new(1000);
/// More packets than the sender remembers.
const MAX_PACKETS: usize = 70_000;

/// Reference model that the receiver cannot deceive.
struct Truth {
    sender: Sender,
    now: Instant,
    next: u64,
    /// Time of each packet, and whether it carries data.
    sent: BTreeMap<u64, (Instant, bool)>,
    /// Data packets that the receiver claimed to have received.
    claimed_packets: BTreeSet<u64>,
    initial: u64,
    /// Data packets sent since the last report or timeout.
    since: u64,
}

/// Interprets the bytes as events at a sender. The first selects the dialect, and whether the handshake measured a
/// round trip.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let choice = choices.byte();
    let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
    let options = ControllerOptions::preset("tcp-like", dialect).expect("a kind of this crate");
    let rtt = (choice & 64 != 0).then_some(Duration::from_millis(40));
    let now = Instant::from_secs(1);
    let mut context = SenderContext::new(now, SIZE, Random::new(1, "fuzz"));
    context.rtt = rtt;
    let sender = Sender::new(&options, context);
    let next = if choice & 32 == 0 { 0 } else { u64::from(u32::MAX) - 20 };
    let mut truth =
        Truth { sender, now, next, sent: BTreeMap::new(), claimed_packets: BTreeSet::new(), initial: 0, since: 0 };
    truth.initial = truth.window();

    while let Some(step) = choices.step() {
        truth.now += Duration::from_millis(u64::from(step >> 4));
        match step & 15 {
            0..5 => truth.send(choices.byte(), true),
            5 => truth.send(choices.byte() & 7, false),
            6..13 => truth.report(&mut choices),
            13 => truth.now += Duration::from_millis(1 << (choices.byte() & 31)),
            _ => truth.timeout(),
        }
        truth.holds();
    }
    assert!(format!("{:?}", truth.sender).len() < 8 << 20, "its state is bounded");
}

impl Truth {
    fn window(&self) -> u64 {
        self.sender.status().window_packets.expect("it has a window") as u64
    }

    /// Sends up to `many` packets.
    fn send(&mut self, many: u8, data: bool) {
        for _ in 0..=many {
            if data {
                if self.sender.poll_send(self.now, &Next::new(SIZE)) != Permit::Now {
                    break;
                }
                self.since += 1;
            }
            self.sender.on_send(self.now, &Sending::new(self.next, data.then_some(SIZE)));
            self.sent.insert(self.next, (self.now, data));
            if self.sent.len() > MAX_PACKETS {
                self.sent.pop_first();
            }
            self.next += 1;
            // Without acknowledgements and timeouts, the number of packets in flight only grows.
            assert!(self.since <= self.window().max(1), "{} packets at once", self.since);
        }
    }

    fn report(&mut self, choices: &mut Choices<'_>) {
        // Usually a sent number, occasionally one that was not sent.
        let back = choices.byte();
        let never_sent = back == 255;
        let acknowledged = if never_sent {
            self.next.saturating_add(choices.wide())
        } else {
            self.next.saturating_sub(1 + u64::from(back))
        };
        let flags = choices.byte();
        let mut runs = vec![];
        for _ in 0..flags & 7 {
            let run = choices.byte();
            let arrival = choices.one(&[Arrival::Received, Arrival::Received, Arrival::Marked, Arrival::NotReceived]);
            runs.push(Run { arrival, packets: if run == 255 { u64::MAX } else { run.into() } });
        }
        // The Elapsed Time of the receiver is subtracted.
        let sample = match self.sent.get(&acknowledged) {
            Some((at, _)) if flags & 8 == 0 => {
                Some(Duration::from_secs_f64(self.now.since(*at).as_secs_f64() * choices.part()))
            }
            _ => None,
        };
        let mut feedback = Feedback::new(acknowledged, Report::Arrivals(&runs));
        feedback.rtt_sample = sample;
        feedback.lost_acks = if flags & 16 == 0 { 0 } else { choices.wide() };
        feedback.slow_receiver = flags & 32 != 0;
        feedback.receive_buffer_drops = if flags & 64 == 0 { 0 } else { choices.wide() };

        let claimed = self.claim(acknowledged, &runs);
        let (before, ratio) = (self.window(), u64::from(self.sender.status().ack_ratio.unwrap_or(1)));
        self.sender.on_feedback(self.now, &feedback);
        self.since = 0;
        let after = self.window();
        if never_sent {
            assert!(after <= before, "an acknowledgement of what was never sent opened the window");
        }
        // RFC 4341 section 5.1 in slow start: one per two acknowledged packets, limited by the Ack Ratio, plus the
        // remainder (ns-2 and Linux: one per packet); otherwise one per window of data, plus the remainder.
        let slow_start = claimed.min(ratio.next_multiple_of(2)) + 1;
        let avoidance = (claimed + before) / before;
        assert!(after <= before + slow_start.max(avoidance), "{before} to {after} for {claimed} packets");

        // A repeated report has no new information.
        self.sender.on_feedback(self.now, &feedback);
        assert!(self.window() <= after, "a repeated report has no effect");
    }

    /// Returns the number of data packets that this report acknowledges for the first time.
    fn claim(&mut self, acknowledged: u64, runs: &[Run]) -> u64 {
        let (mut end, mut new) = (acknowledged.saturating_add(1), 0);
        if acknowledged >= self.next {
            return 0;
        }
        for run in runs {
            let start = end.saturating_sub(run.packets);
            if run.arrival != Arrival::NotReceived {
                let data = self.sent.range(start..end).filter(|(_, (_, data))| *data);
                new += data.filter(|(number, _)| self.claimed_packets.insert(**number)).count() as u64;
            }
            end = start;
        }
        new
    }

    fn timeout(&mut self) {
        let Some(at) = self.sender.poll_timeout() else { return };
        self.now = self.now.max(at);
        self.sender.handle_timeout(self.now);
        self.since = 0;
        assert_eq!(self.sender.poll_timeout(), None, "no packet is in flight");
        assert_eq!(self.window(), 1, "RFC 4341 section 5: a timeout leaves one packet");
        assert_eq!(self.sender.poll_send(self.now, &Next::new(SIZE)), Permit::Now);
    }

    fn holds(&mut self) {
        let permit = self.sender.poll_send(self.now, &Next::new(SIZE));
        assert!(permit == Permit::Now || self.sender.poll_timeout().is_some(), "it waits for nothing");
        assert!(!matches!(permit, Permit::At(_)), "a window knows no time");
        let status = self.sender.status();
        let window = self.window();
        assert!((1..=32_384).contains(&window), "{window}");
        // Each sent packet opens the window at most once, by at most one.
        let most = self.initial + self.claimed_packets.len() as u64;
        assert!(window <= most, "a window of {window} after {} acknowledged packets", self.claimed_packets.len());
        // RFC 4341 section 6.1.2.
        let ratio = u64::from(status.ack_ratio.unwrap_or(0));
        assert!(ratio >= 1 && ratio <= window.div_ceil(2).max(2), "{ratio} of {window}");
    }
}
