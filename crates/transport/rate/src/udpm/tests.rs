//! The paper's rules by its vectors, for losses, marks and silence.

use super::*;
use headway_units::{Bytes, Random};
use proptest::prelude::*;

const TICK: Duration = Duration::from_millis(1);

fn options() -> UdpmOptions {
    UdpmOptions::preset(Dialect::Ns2)
}

/// Receiver with a packet every millisecond.
struct Bench {
    receiver: UdpmReceiver,
    now: Instant,
    next: u64,
    announced: Vec<u8>,
}

impl Bench {
    fn new(options: &UdpmOptions) -> Self {
        options.check().unwrap();
        let receiver = UdpmReceiver::new(options, ReceiverContext::new(Instant::ZERO, Bytes::new(1000)));
        Self { receiver, now: Instant::from_secs(1), next: 0, announced: Vec::new() }
    }

    fn collect(&mut self) {
        while let Some(Report::Own(own)) = self.receiver.poll_report(self.now) {
            self.announced.extend_from_slice(own.as_bytes());
        }
    }

    fn packet(&mut self, number: u64, ecn: Ecn) {
        let mut packet = Received::new(number, Some(Bytes::new(1000)));
        packet.ecn = ecn;
        packet.timing = Some(crate::Timing::new(self.now.checked_sub(Duration::from_millis(14)).unwrap()));
        self.receiver.on_packet(self.now, &packet);
        self.collect();
    }

    fn next_packet(&mut self) {
        self.packet(self.next, Ecn::Ect0);
        self.next += 1;
    }

    fn end_round(&mut self) {
        self.now = self.receiver.poll_timeout().unwrap();
        self.receiver.handle_timeout(self.now);
        self.collect();
    }

    /// Runs a round with `lost` losses and `received` packets, of which `marked` are marked.
    fn round(&mut self, lost: u64, received: u64, marked: u64) {
        self.next += lost;
        for n in 0..received {
            self.now += TICK;
            self.packet(self.next, if n < marked { Ecn::Ce } else { Ecn::Ect0 });
            self.next += 1;
        }
        self.end_round();
    }
}

/// Returns the announced scales, the first for the first packet.
fn scales(options: &UdpmOptions, rounds: &[(u64, u64, u64)]) -> Vec<u8> {
    let mut bench = Bench::new(options);
    bench.next_packet();
    assert_eq!(bench.announced, [1], "the first packet is reported immediately");
    for &(lost, received, marked) in rounds.iter().skip(1) {
        bench.round(lost, received, marked);
    }
    bench.announced
}

/// Vector `udpm.mapp.scale.rtt` (paper section 2.2, Figures 2 and 3): once per round, for any number of losses.
#[test]
fn udpm_2_2_additive_increase_multiplicative_decrease() {
    let losses = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    let after = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 4, 5, 6, 7, 3, 1, 2, 3, 4, 5, 2, 3, 4, 5];
    assert_eq!(scales(&options(), &losses.map(|lost| (lost, 3, 0))), after);
}

/// Vector `udpm.mapp.scale.silent-rounds`: a round without arrivals keeps the scale and is reported.
#[test]
fn udpm_2_2_silent_rounds() {
    let losses = [0, 0, 0, 0, 0, 0, 1, 0];
    let received = [1, 1, 1, 1, 0, 0, 1, 1];
    let rounds: Vec<_> = losses.into_iter().zip(received).map(|(lost, received)| (lost, received, 0)).collect();
    assert_eq!(scales(&options(), &rounds), [1, 2, 3, 4, 4, 4, 2, 3]);
}

/// Vector `udpm.mapp.scale.marks`: a mark counts as a loss, once per round.
#[test]
fn udpm_2_2_marks() {
    for marked in [1, 3] {
        let rounds = [0, 0, 0, 0, 0, marked, 0, 0].map(|marked| (0, 3, marked));
        assert_eq!(scales(&options(), &rounds), [1, 2, 3, 4, 5, 2, 3, 4], "{marked}");
    }
}

/// Vector `udpm.mapp.scale.halving`: rounded down.
#[test]
fn udpm_2_2_halving_rounds_down() {
    for (scale, half) in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].into_iter().zip([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]) {
        let mut bench = Bench::new(&options());
        bench.next_packet();
        bench.receiver.scale = scale;
        bench.round(1, 1, 0);
        assert_eq!(bench.announced.last(), Some(&half), "{scale}");
    }
}

/// Vector `udpm.mapp.interval` (section 3.1): gap = size * 8 / rate(scale), for steps of 0.15, 0.2 and 0.3 Mb/s.
#[test]
fn udpm_3_1_gaps() {
    let vectors = [
        (
            150,
            [
                53.3333333, 26.6666667, 17.7777778, 13.3333333, 10.6666667, 8.88888889, 7.61904762, 6.66666667,
                5.92592593, 5.33333333,
            ],
        ),
        (200, [40.0, 20.0, 13.3333333, 10.0, 8.0, 6.66666667, 5.71428571, 5.0, 4.44444444, 4.0]),
        (
            300,
            [
                26.6666667, 13.3333333, 8.88888889, 6.66666667, 5.33333333, 4.44444444, 3.80952381, 3.33333333,
                2.96296296, 2.66666667,
            ],
        ),
    ];
    for (kbps, gaps) in vectors {
        let options = UdpmOptions { step: Rate::from_bits_per_second(kbps * 1000), ..options() };
        let mut sender = sender(&options);
        for (scale, gap_ms) in (0u8..).zip(gaps) {
            announce(&mut sender, scale, scale.into());
            let now = Instant::from_secs(u64::from(scale) + 1);
            assert_eq!(sender.poll_send(now, &Next::default()), Permit::Now);
            let stamp = sender.on_send(now, &Sending::new(scale.into(), Some(Bytes::new(1000))));
            assert_eq!(stamp.own.as_bytes(), [scale]);
            let Permit::At(at) = sender.poll_send(now, &Next::default()) else { panic!("{scale}") };
            assert!((at.since(now).as_secs_f64() * 1e3 - gap_ms).abs() < 1e-6, "{kbps} kb/s, {scale}");
        }
    }
}

fn sender(options: &UdpmOptions) -> UdpmSender {
    let context = SenderContext::new(Instant::ZERO, Bytes::new(1000), Random::new(1, "udpm"));
    UdpmSender::new(options, context)
}

fn announce(sender: &mut UdpmSender, scale: u8, acknowledged: u64) {
    sender.on_feedback(Instant::ZERO, &Feedback::new(acknowledged, Report::Own(Own::new(&[scale]).unwrap())));
}

/// `mm-app.cc`: an announcement applies to the next gap, not to the current one.
#[test]
fn an_announcement_does_not_change_the_current_gap() {
    let mut sender = sender(&options());
    let start = Instant::from_secs(1);
    sender.on_send(start, &Sending::new(0, Some(Bytes::new(1000))));
    announce(&mut sender, 9, 0);
    let next = start + Duration::from_millis(40);
    assert_eq!(sender.poll_send(start, &Next::default()), Permit::At(next));
    sender.on_send(next, &Sending::new(1, Some(Bytes::new(1000))));
    assert_eq!(sender.poll_send(next, &Next::default()), Permit::At(next + Duration::from_millis(4)));
}

/// Announcements of an unknown scale, or older than the newest one, are ignored.
#[test]
fn invalid_and_old_announcements_are_ignored() {
    let mut sender = sender(&options());
    let rate = |sender: &UdpmSender| sender.status().target_rate.unwrap().bits_per_second();
    announce(&mut sender, 4, 7);
    assert_eq!(rate(&sender), 1_000_000);
    announce(&mut sender, 10, 8);
    announce(&mut sender, 9, 6);
    assert_eq!(rate(&sender), 1_000_000);
    sender.on_feedback(Instant::ZERO, &Feedback::new(9, Report::Own(Own::new(&[5, 5]).unwrap())));
    assert_eq!(rate(&sender), 1_000_000);
    announce(&mut sender, 2, 7);
    assert_eq!(rate(&sender), 600_000);
}

/// Figure 3 as drawn: each packet ends a round.
#[test]
fn udpm_figure_3_each_packet_ends_a_round() {
    let mut bench = Bench::new(&UdpmOptions { decide: Decide::Packet, ..options() });
    for _ in 0..4 {
        bench.next_packet();
    }
    bench.next += 1;
    bench.next_packet();
    bench.next_packet();
    assert_eq!((bench.announced.as_slice(), bench.receiver.poll_timeout()), (&[1, 2, 3, 4, 2, 3][..], None));
}

/// `mm-app.cc`: RTT = 2 * one-way delay, 0.9 of the old and 0.1 of the new; the validation script: the minimum.
#[test]
fn rounds_last_twice_the_one_way_delay() {
    for (round_trip, rounds_ms) in [(RoundTrip::OneWay, [20.0, 24.0, 27.6]), (RoundTrip::LeastOneWay, [20.0; 3])] {
        let mut bench = Bench::new(&UdpmOptions { decide: Decide::RoundTrip, round_trip, ..options() });
        for (number, (delay, round)) in (0u64..).zip([10, 30, 30].into_iter().zip(rounds_ms)) {
            let mut packet = Received::new(number, Some(Bytes::new(1000)));
            packet.timing = Some(crate::Timing::new(bench.now.checked_sub(Duration::from_millis(delay)).unwrap()));
            bench.receiver.on_packet(bench.now, &packet);
            if number > 0 {
                bench.end_round();
            }
            let lasts = bench.receiver.poll_timeout().unwrap().since(bench.now).as_secs_f64() * 1e3;
            assert!((lasts - round).abs() < 1e-5, "{round_trip:?}: {lasts} ms for {round} ms");
        }
    }
}

/// Until the sender has a round-trip time, packets end the rounds; then its measurement does.
#[test]
fn rounds_last_the_measured_round_trip() {
    let mut bench =
        Bench::new(&UdpmOptions { decide: Decide::RoundTrip, round_trip: RoundTrip::Measured, ..options() });
    bench.next_packet();
    assert_eq!(bench.receiver.poll_timeout(), None);
    let mut packet = Received::new(1, Some(Bytes::new(1000)));
    packet.timing = Some(crate::Timing::new(bench.now));
    packet.rtt = Some(Duration::from_millis(37));
    bench.receiver.on_packet(bench.now, &packet);
    assert_eq!(bench.receiver.poll_timeout(), Some(bench.now + Duration::from_millis(37)));
}

/// Timestamps of a connection start at any value; the sender's measurement replaces them.
#[test]
fn unsynchronized_clocks_use_the_measured_round_trip() {
    for round_trip in [RoundTrip::OneWay, RoundTrip::LeastOneWay] {
        for sent in [Instant::from_secs(42_949), Instant::from_secs(99_900)] {
            let mut bench = Bench::new(&UdpmOptions { decide: Decide::RoundTrip, round_trip, ..options() });
            bench.now = Instant::from_secs(if sent == Instant::from_secs(42_949) { 5 } else { 100_000 });
            let mut packet = Received::new(0, Some(Bytes::new(1000)));
            packet.timing = Some(crate::Timing::new(sent));
            packet.rtt = Some(Duration::from_millis(37));
            bench.receiver.on_packet(bench.now, &packet);
            assert_eq!(bench.receiver.poll_timeout(), Some(bench.now + Duration::from_millis(37)), "{sent}");
        }
    }
}

/// Numbers used by a handshake are not losses.
#[test]
fn numbers_of_a_handshake() {
    let mut context = ReceiverContext::new(Instant::ZERO, Bytes::new(1000));
    context.upcoming = 2;
    let mut bench = Bench::new(&options());
    (bench.receiver, bench.next) = (UdpmReceiver::new(&options(), context), 2);
    bench.next_packet();
    assert_eq!(bench.announced, [1]);
}

/// Packets that arrive late within their round are not lost; those of an earlier round are.
#[test]
fn reordering() {
    let mut bench = Bench::new(&options());
    bench.next_packet();
    for number in [2, 1, 3] {
        bench.packet(number, Ecn::NotEct);
    }
    bench.end_round();
    assert_eq!(bench.announced, [1, 2]);
    bench.packet(5, Ecn::NotEct);
    bench.end_round();
    assert_eq!(bench.announced, [1, 2, 1]);
    // Number 4 arrives late, and number 6 is lost.
    bench.packet(4, Ecn::NotEct);
    bench.packet(7, Ecn::NotEct);
    bench.end_round();
    assert_eq!(bench.announced, [1, 2, 1, 0]);
}

/// A late packet reduces the losses of its round only; mm-app.cc sets `lost` to 0 when a round ends. Paper section 2.2:
/// "every packet loss for each RTT" halves, regardless of late packets of earlier rounds.
#[test]
fn a_late_packet_of_an_earlier_round_does_not_hide_a_loss() {
    for (late, scales) in [(5, [1, 2, 1, 0]), (6, [1, 2, 1, 0]), (8, [1, 2, 1, 2])] {
        let mut bench = Bench::new(&options());
        bench.next_packet();
        for (round, numbers) in [&[1, 2, 3, 4][..], &[7], &[9, late]].into_iter().enumerate() {
            numbers.iter().for_each(|number| bench.packet(*number, Ecn::NotEct));
            assert_eq!(bench.announced.len(), round + 1);
            bench.end_round();
        }
        // Numbers 5 and 6 were lost in the second round, and number 8 in the third.
        assert_eq!(bench.announced, scales, "{late}");
    }
}

/// RFC 4340 section 7.7: the NDP Count of 3 marks one of the missing numbers 1 and 2 as a packet without data. If that
/// one arrives late it does not reduce the losses; the other does.
#[test]
fn a_late_packet_without_data_does_not_reduce_the_losses() {
    for (size, scales) in [(None, [1, 0]), (Some(Bytes::new(1000)), [1, 2])] {
        let mut bench = Bench::new(&options());
        bench.next_packet();
        let mut packet = Received::new(3, Some(Bytes::new(1000)));
        packet.ndp_count = Some(1);
        bench.receiver.on_packet(bench.now, &packet);
        bench.receiver.on_packet(bench.now, &Received::new(2, size));
        bench.end_round();
        assert_eq!(bench.announced, scales, "{size:?}");
    }
}

/// RFC 4340 section 7.7: missing packets without data are not losses.
#[test]
fn missing_packets_without_data_are_not_losses() {
    let mut bench = Bench::new(&options());
    bench.next_packet();
    for (number, ndp_count) in [(3, 2), (6, 1)] {
        let mut packet = Received::new(number, Some(Bytes::new(1000)));
        packet.ndp_count = Some(ndp_count);
        bench.receiver.on_packet(bench.now, &packet);
        bench.end_round();
    }
    assert_eq!(bench.announced, [1, 2, 1]);
}

/// `mm-app.cc` starts with `last = -1`: packets lost before the first arrival count, and keep the scale at 0.
#[test]
fn losses_before_the_first_packet() {
    let mut bench = Bench::new(&options());
    bench.next = 2;
    bench.next_packet();
    bench.round(0, 1, 0);
    assert_eq!(bench.announced, [0, 1]);
}

/// Interpretation of "every packet loss": each one halves the scale.
#[test]
fn each_loss_may_halve() {
    let mut bench = Bench::new(&UdpmOptions { halve: Halve::EachLoss, ..options() });
    bench.next_packet();
    bench.receiver.scale = 9;
    bench.round(2, 1, 0);
    bench.round(1, 1, 1);
    bench.receiver.scale = 9;
    bench.round(1000, 1, 0);
    assert_eq!(bench.announced, [1, 2, 0, 0]);
}

#[test]
fn ladders_are_checked() {
    let rates = |list: &[u64]| Some(list.iter().map(|rate| Rate::from_bits_per_second(*rate)).collect());
    let five = UdpmOptions { ladder: rates(&[64_000, 128_000, 400_000, 1_000_000, 1_500_000]), ..options() };
    five.check().unwrap();
    assert_eq!(
        (five.top(), five.rate(0), five.rate(4)),
        (4, Rate::from_bits_per_second(64_000), Rate::from_bits_per_second(1_500_000))
    );
    for wrong in [&[][..], &[0, 1], &[2, 2], &[3, 1], &[1; 257]] {
        assert_eq!(UdpmOptions { ladder: rates(wrong), ..options() }.check().unwrap_err().key, "ladder");
    }
    for levels in [0, 257] {
        assert_eq!(UdpmOptions { levels, ..options() }.check().unwrap_err().key, "levels");
    }
    assert_eq!(UdpmOptions { step: Rate::from_bits_per_second(0), ..options() }.check().unwrap_err().key, "step");
    assert_eq!(
        UdpmOptions { step: Rate::from_bits_per_second(11_000_000_000), ..options() }.check().unwrap_err().key,
        "step"
    );
    assert_eq!(UdpmOptions { interval: Duration::from_micros(999), ..options() }.check().unwrap_err().key, "interval");
}

proptest! {
    /// For any packets in any order, the scale is valid, changes by the paper's rule, and rounds take time.
    #[test]
    fn scales_move_by_one_or_by_half(
        levels in 1u16..=256,
        decide in prop_oneof![Just(Decide::Interval), Just(Decide::RoundTrip), Just(Decide::Packet)],
        packets in prop::collection::vec((any::<u64>(), any::<bool>(), 0u64..50), 1..200),
        near in any::<bool>(),
    ) {
        let mut bench = Bench::new(&UdpmOptions { levels, decide, ..options() });
        for (number, marked, ms) in packets {
            let until = bench.now + Duration::from_millis(ms);
            let mut last = None;
            while let Some(at) = bench.receiver.poll_timeout().filter(|at| *at <= until) {
                prop_assert!(last.is_none_or(|last| at > last));
                last = Some(at);
                bench.end_round();
            }
            bench.now = until;
            bench.packet(if near { number % 64 } else { number }, if marked { Ecn::Ce } else { Ecn::Ect0 });
        }
        let top = u8::try_from(levels - 1).unwrap();
        for pair in bench.announced.windows(2) {
            let allowed = [pair[0], pair[0] / 2, pair[0].saturating_add(1).min(top)];
            prop_assert!(pair[1] <= top && allowed.contains(&pair[1]), "{pair:?}");
        }
    }
}
