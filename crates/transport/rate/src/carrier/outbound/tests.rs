use super::*;

const SIZE: Bytes = Bytes::new(1000);
const NEXT: Option<&Next> = Some(&Next::new(SIZE));

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Controller that sends a packet every 10 ms and records its calls.
#[derive(Debug, Default)]
struct Clock {
    next: Option<Instant>,
    sent: Vec<(u64, bool)>,
    limited: Vec<Instant>,
    reports: Vec<(u64, u64, bool, u64)>,
    alarm: Option<Instant>,
    alarms: u32,
}

impl SenderHalf for Clock {
    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        match self.next {
            Some(next) if next > now => Permit::At(next),
            _ => Permit::Now,
        }
    }
    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        self.sent.push((sending.number, sending.data));
        self.next = Some(now + Duration::from_millis(10));
        Stamp::default()
    }
    fn on_application_limited(&mut self, now: Instant) {
        self.limited.push(now);
    }
    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        let Feedback { acknowledged, lost_acks, slow_receiver, receive_buffer_drops, .. } = *feedback;
        self.reports.push((acknowledged, lost_acks, slow_receiver, receive_buffer_drops));
    }
    fn handle_timeout(&mut self, _: Instant) {
        (self.alarm, self.alarms) = (None, self.alarms + 1);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.alarm
    }
    fn status(&self) -> Status {
        Status::default()
    }
}

fn running() -> Outbound<Clock> {
    let mut outbound = Outbound::new(100);
    outbound.start(Clock::default());
    outbound
}

/// Numbers include packets before the controller started, with and without data.
#[test]
fn packet_numbers_include_those_before_the_controller() {
    let mut outbound = Outbound::new(100);
    assert_eq!(outbound.send(ms(0), None, true), (0, None));
    outbound.start(Clock::default());
    assert_eq!(outbound.send(ms(1), Some(SIZE), true).0, 1);
    assert_eq!(outbound.send(ms(2), None, false).0, 2);
    assert_eq!(
        (outbound.upcoming(), outbound.controller().unwrap().sent.as_slice()),
        (3, &[(1, true), (2, false)][..])
    );
}

/// The deadline is that of the waiting packet. At the deadline `may_send` permits it.
#[test]
fn a_waiting_packet_sets_a_deadline() {
    let mut outbound = running();
    assert!(outbound.may_send(ms(0), NEXT));
    outbound.send(ms(0), Some(SIZE), true);
    assert!(!outbound.may_send(ms(0), NEXT));
    assert_eq!((outbound.poll_timeout(), outbound.permitted()), (Some(ms(10)), Some(ms(10))));
    assert!(!outbound.handle_timeout(ms(10)), "that was not the controller's");
    assert_eq!(outbound.poll_timeout(), None);
    assert!(outbound.may_send(ms(10), NEXT));
    assert_eq!(outbound.controller().unwrap().limited, [], "there was always data");
}

/// The controller is notified of the exact time at which the application had no data, without a separate timeout.
#[test]
fn the_controller_is_notified_of_application_limited_times() {
    let mut outbound = running();
    outbound.send(ms(0), Some(SIZE), true);
    assert!(!outbound.may_send(ms(5), None));
    assert_eq!(outbound.poll_timeout(), None);
    assert!(outbound.may_send(ms(50), NEXT));
    assert_eq!(outbound.controller().unwrap().limited, [ms(10)]);
    // Data that arrives exactly at the deadline is on time.
    outbound.send(ms(50), Some(SIZE), true);
    assert!(!outbound.may_send(ms(55), None));
    outbound.on_report(ms(60), 1, None, Report::Arrivals(&[]));
    assert_eq!(outbound.controller().unwrap().limited, [ms(10)]);
    assert!(outbound.may_send(ms(60), NEXT));
    assert_eq!(outbound.controller().unwrap().limited, [ms(10), ms(60)]);
    // A packet is permitted now, but none waits.
    assert!(!outbound.may_send(ms(60), None));
    assert_eq!(outbound.controller().unwrap().limited, [ms(10), ms(60), ms(60)]);
}

#[test]
fn hold_cancels_the_deadline() {
    let mut outbound = running();
    outbound.send(ms(0), Some(SIZE), true);
    outbound.may_send(ms(0), NEXT);
    outbound.hold();
    assert_eq!(outbound.poll_timeout(), None);
    outbound.controller_mut().unwrap().alarm = Some(ms(7));
    assert_eq!(outbound.poll_timeout(), Some(ms(7)));
    assert!(!outbound.handle_timeout(ms(6)) && outbound.handle_timeout(ms(7)));
    assert_eq!(outbound.controller().unwrap().alarms, 1);
    outbound.stop();
    assert!(outbound.poll_timeout().is_none() && !outbound.may_send(ms(100), NEXT));
}

/// Signals of acknowledgements without report are passed with the next report, once.
#[test]
fn pending_signals_are_passed_with_the_next_report() {
    let mut outbound = running();
    outbound.send(ms(0), Some(SIZE), true);
    outbound.on_lost_acks(2);
    outbound.on_lost_acks(1);
    outbound.on_slow_receiver();
    outbound.on_receive_buffer_drops(4);
    outbound.on_report(ms(9), 0, None, Report::Arrivals(&[]));
    outbound.on_report(ms(9), 0, None, Report::Arrivals(&[]));
    assert_eq!(outbound.controller().unwrap().reports, [(0, 3, true, 4), (0, 0, false, 0)]);
}

/// RFC 6298 section 2: SRTT is the first sample, then 7/8 of it and 1/8 of the new one.
#[test]
fn round_trips_are_smoothed() {
    let mut outbound = running();
    for at in [0, 1000, 2000] {
        outbound.send(ms(at), Some(SIZE), true);
    }
    let held = Some(Duration::from_millis(20));
    let trip = outbound.measure(ms(100), &Acknowledged { number: 0, held, ..Acknowledged::default() });
    let of = |sample, smoothed| {
        Some(Trip { sample: Duration::from_millis(sample), smoothed: Duration::from_millis(smoothed), silent: false })
    };
    assert_eq!(trip, of(80, 80));
    let at_once = Acknowledged { number: 1, at_once: true, ..Acknowledged::default() };
    assert_eq!(outbound.measure(ms(1160), &at_once), of(160, 90));
    assert_eq!(outbound.round_trip(), Some(Duration::from_millis(90)));
}

/// The subtracted holding time is at most the age of the packet, the time until the next packet, and half of the age if
/// untrusted. Samples of more than 64 s are ignored.
#[test]
fn the_reported_holding_time_is_bounded() {
    let base = Acknowledged::default();
    let held = |millis| Some(Duration::from_millis(millis));
    let sample = |at: u64, acknowledged: &Acknowledged| {
        let mut outbound = running();
        for at in [0, 30] {
            outbound.send(ms(at), Some(SIZE), true);
        }
        outbound.send(ms(40), None, false);
        outbound.measure(ms(at), acknowledged).map(|trip| trip.sample.as_nanos() / 1_000_000)
    };
    assert_eq!(sample(100, &Acknowledged { held: held(101), ..base }), None, "held for longer than the whole");
    assert_eq!(sample(100, &Acknowledged { held: held(90), ..base }), Some(70), "the next packet went after 30 ms");
    assert_eq!(sample(140, &Acknowledged { number: 2, held: held(90), ..base }), Some(10));
    assert_eq!(sample(140, &Acknowledged { number: 2, held: held(90), distrusted: true, ..base }), Some(50));
    assert_eq!(sample(140, &base), None, "the holding time is unknown");
    assert_eq!(
        sample(140, &Acknowledged { number: 2, at_once: true, ..base }),
        None,
        "its acknowledgement waits for another packet"
    );
    assert_eq!(
        sample(140, &Acknowledged { echoed: Some((Duration::from_millis(60), Duration::from_millis(20))), ..base }),
        Some(40)
    );
    assert_eq!(sample(64_101, &Acknowledged { held: held(0), ..base }), None, "longer than the maximum");
    assert_eq!(sample(140, &Acknowledged { number: 3, held: held(0), ..base }), None, "it was never sent");
}

/// After a silence in which all packets were lost, the receiver acknowledges the packet before it again.
#[test]
fn a_repeated_acknowledgement_measures_nothing() {
    let mut outbound = running();
    for at in [0, 30, 60] {
        outbound.send(ms(at), Some(SIZE), true);
    }
    let ack =
        |number, millis| Acknowledged { number, held: Some(Duration::from_millis(millis)), ..Acknowledged::default() };
    let sample = |outbound: &mut Outbound<_>, at, ack| outbound.measure(ms(at), &ack).map(|trip| trip.sample);
    assert_eq!(sample(&mut outbound, 40, ack(0, 0)), Some(Duration::from_millis(40)));
    assert_eq!(sample(&mut outbound, 5040, ack(0, 5000)), None);
    assert_eq!(sample(&mut outbound, 5100, ack(2, 5000)), Some(Duration::from_millis(40)));
    assert_eq!(sample(&mut outbound, 5100, ack(2, 4990)), Some(Duration::from_millis(50)), "no later packet was sent");
}
