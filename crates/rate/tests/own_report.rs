//! A controller of another shape, from outside the crate: the receiver announces one of ten rates in a byte of its own, and the sender says on
//! each packet which one it goes by. The carrier drives it as it is.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_rate::{
    Due, Feedback, Inbound, Next, Outbound, Own, Permit, Received, ReceiverHalf, Report, ReportForm, SenderHalf,
    Sending, Stamp, Status,
};
use headway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

const SIZE: Bytes = Bytes::new(1000);

/// Sends 100 packets a second for each level.
struct Announced {
    level: u8,
    next: Instant,
}

impl SenderHalf for Announced {
    fn poll_send(&mut self, now: Instant, _: Next) -> Permit {
        if self.next > now { Permit::At(self.next) } else { Permit::Now }
    }
    fn on_send(&mut self, now: Instant, _: &Sending) -> Stamp {
        self.next = now + Duration::from_millis(10) / u64::from(self.level);
        Stamp { own: Own::new(&[self.level]).unwrap(), ..Stamp::default() }
    }
    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        if let Report::Own(own) = feedback.report
            && let [level @ 1..=10] = *own.as_bytes()
        {
            self.level = level;
        }
    }
    fn status(&self) -> Status {
        Status::default()
    }
}

/// A level more each 100 ms without a loss, half of them at a gap.
struct Announces {
    level: u8,
    expected: u64,
    since: Instant,
    due: bool,
    said_by_sender: Option<u8>,
}

impl ReceiverHalf for Announces {
    const REPORTS: ReportForm = ReportForm::Own;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        self.said_by_sender = packet.own.as_bytes().first().copied();
        if packet.number > self.expected {
            (self.level, self.since, self.due) = ((self.level / 2).max(1), now, true);
        } else if now.since(self.since) >= Duration::from_millis(100) && self.level < 10 {
            (self.level, self.since, self.due) = (self.level + 1, now, true);
        }
        self.expected = packet.number + 1;
    }
    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        std::mem::take(&mut self.due).then(|| Report::Own(Own::new(&[self.level]).unwrap()))
    }
}

/// 20 ms there and back, one packet of each `every` lost: packets that went in 10 s, and the levels on the way.
fn run(every: Option<u64>) -> (u64, Vec<u8>) {
    let start = Instant::ZERO;
    let (mut sender, mut receiver) = (Outbound::new(100), Inbound::default());
    sender.start(Announced { level: 1, next: start });
    receiver.start(Announces { level: 1, expected: 0, since: start, due: false, said_by_sender: None });
    let delay = Duration::from_millis(10);
    let mut there = VecDeque::<(Instant, u64, Own)>::new();
    let mut back = VecDeque::<(Instant, u64, Own)>::new();
    let mut levels = vec![];
    for tick in 0..100_000u64 {
        let now = Instant::from_nanos(tick * 100_000);
        while back.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, acknowledged, own) = back.pop_front().unwrap();
            sender.on_report(now, acknowledged, None, Report::Own(own));
            levels.push(own.as_bytes()[0]);
        }
        while there.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, number, own) = there.pop_front().unwrap();
            receiver.on_packet(now, &Received { number, size: SIZE, data: true, own, ..Received::default() });
            if let Some(Due { acknowledged, report: Report::Own(own), .. }) = receiver.poll_report(now) {
                back.push_back((now + delay, acknowledged, own));
            }
        }
        while sender.may_send(now, Some(Next { size: SIZE })) {
            let (number, stamp) = sender.send(now, Some(SIZE), true);
            if every.is_none_or(|every| number % every != every - 1) {
                there.push_back((now + delay, number, stamp.unwrap().own));
            }
        }
    }
    (sender.upcoming(), levels)
}

#[test]
fn the_rate_that_is_announced_is_sent() {
    let (sent, levels) = run(None);
    assert_eq!(levels, (2..=10).collect::<Vec<u8>>());
    // A second or so of slow start, and then a packet a millisecond.
    assert!((9000..9600).contains(&sent), "{sent}");
    let (sent, levels) = run(Some(100));
    assert!(levels.windows(2).all(|pair| pair[1] == pair[0] + 1 || pair[1] == (pair[0] / 2).max(1)), "{levels:?}");
    assert!((1500..5000).contains(&sent), "{sent}");
}
