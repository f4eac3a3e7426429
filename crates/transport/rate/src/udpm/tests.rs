//! The paper's rules by its vectors: scale by scale, for losses, marks and silence.

use super::*;
use headway_units::{Bytes, Random};
use proptest::prelude::*;

const TICK: Duration = Duration::from_millis(1);

fn options() -> UdpmOptions {
    UdpmOptions::preset(Dialect::Ns2)
}

/// A receiver whose packets come each millisecond.
struct Bench {
    receiver: UdpmReceiver,
    now: Instant,
    next: u64,
    said: Vec<u8>,
}

impl Bench {
    fn new(options: &UdpmOptions) -> Self {
        options.check().unwrap();
        let receiver = UdpmReceiver::new(options, ReceiverContext::new(Instant::ZERO, Bytes::new(1000)));
        Self { receiver, now: Instant::from_secs(1), next: 0, said: Vec::new() }
    }

    fn hear(&mut self) {
        while let Some(Report::Own(own)) = self.receiver.poll_report(self.now) {
            self.said.extend_from_slice(own.as_bytes());
        }
    }

    fn packet(&mut self, number: u64, ecn: Ecn) {
        let mut packet = Received::new(number, Some(Bytes::new(1000)));
        packet.ecn = ecn;
        packet.timing = Some(crate::Timing::new(self.now.checked_sub(Duration::from_millis(14)).unwrap()));
        self.receiver.on_packet(self.now, &packet);
        self.hear();
    }

    /// The next packet comes.
    fn comes(&mut self) {
        self.packet(self.next, Ecn::Ect0);
        self.next += 1;
    }

    /// The round ends.
    fn round_ends(&mut self) {
        self.now = self.receiver.poll_timeout().unwrap();
        self.receiver.handle_timeout(self.now);
        self.hear();
    }

    /// A round in which so many are lost, and so many come, of which these are marked.
    fn round(&mut self, lost: u64, received: u64, marked: u64) {
        self.next += lost;
        for n in 0..received {
            self.now += TICK;
            self.packet(self.next, if n < marked { Ecn::Ce } else { Ecn::Ect0 });
            self.next += 1;
        }
        self.round_ends();
    }
}

/// The scales that are announced, of which the first is for the first packet.
fn scales(options: &UdpmOptions, rounds: &[(u64, u64, u64)]) -> Vec<u8> {
    let mut bench = Bench::new(options);
    bench.comes();
    assert_eq!(bench.said, [1], "the first packet is acknowledged at once");
    for &(lost, received, marked) in rounds.iter().skip(1) {
        bench.round(lost, received, marked);
    }
    bench.said
}

/// Vector `udpm.mapp.scale.rtt` (paper section 2.2, Figures 2 and 3): once a round, whatever the number of losses.
#[test]
fn udpm_2_2_additive_increase_multiplicative_decrease() {
    let losses = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    let after = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 4, 5, 6, 7, 3, 1, 2, 3, 4, 5, 2, 3, 4, 5];
    assert_eq!(scales(&options(), &losses.map(|lost| (lost, 3, 0))), after);
}

/// Vector `udpm.mapp.scale.silent-rounds`: a round without arrivals keeps the scale, and is acknowledged.
#[test]
fn udpm_2_2_silent_rounds() {
    let losses = [0, 0, 0, 0, 0, 0, 1, 0];
    let received = [1, 1, 1, 1, 0, 0, 1, 1];
    let rounds: Vec<_> = losses.into_iter().zip(received).map(|(lost, received)| (lost, received, 0)).collect();
    assert_eq!(scales(&options(), &rounds), [1, 2, 3, 4, 4, 4, 2, 3]);
}

/// Vector `udpm.mapp.scale.marks`: a mark acts as a loss does, once a round.
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
        bench.comes();
        bench.receiver.scale = scale;
        bench.round(1, 1, 0);
        assert_eq!(bench.said.last(), Some(&half), "{scale}");
    }
}

/// Vector `udpm.mapp.interval` (section 3.1): gap = size * 8 / rate(scale), for ladders of 0.15, 0.2 and 0.3 Mb/s.
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

/// The ancestor: an announcement counts for the next gap, and leaves the one that runs.
#[test]
fn a_gap_that_runs_is_not_moved() {
    let mut sender = sender(&options());
    let start = Instant::from_secs(1);
    sender.on_send(start, &Sending::new(0, Some(Bytes::new(1000))));
    announce(&mut sender, 9, 0);
    let next = start + Duration::from_millis(40);
    assert_eq!(sender.poll_send(start, &Next::default()), Permit::At(next));
    sender.on_send(next, &Sending::new(1, Some(Bytes::new(1000))));
    assert_eq!(sender.poll_send(next, &Next::default()), Permit::At(next + Duration::from_millis(4)));
}

/// What is no scale of the ladder, or was overtaken by a newer announcement, is ignored.
#[test]
fn announcements_that_cannot_be_are_ignored() {
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

/// Figure 3 as it is drawn: each packet ends a round.
#[test]
fn udpm_figure_3_literally() {
    let mut bench = Bench::new(&UdpmOptions { decide: Decide::Packet, ..options() });
    for _ in 0..4 {
        bench.comes();
    }
    bench.next += 1;
    bench.comes();
    bench.comes();
    assert_eq!((bench.said.as_slice(), bench.receiver.poll_timeout()), (&[1, 2, 3, 4, 2, 3][..], None));
}

/// The ancestor: RTT = 2 * one-way delay, 0.9 of the old and 0.1 of the new; the oracle's script: the least.
#[test]
fn rounds_last_twice_the_one_way_delay() {
    for (round_trip, rounds_ms) in [(RoundTrip::OneWay, [20.0, 24.0, 27.6]), (RoundTrip::LeastOneWay, [20.0; 3])] {
        let mut bench = Bench::new(&UdpmOptions { decide: Decide::RoundTrip, round_trip, ..options() });
        for (number, (delay, round)) in (0u64..).zip([10, 30, 30].into_iter().zip(rounds_ms)) {
            let mut packet = Received::new(number, Some(Bytes::new(1000)));
            packet.timing = Some(crate::Timing::new(bench.now.checked_sub(Duration::from_millis(delay)).unwrap()));
            bench.receiver.on_packet(bench.now, &packet);
            if number > 0 {
                bench.round_ends();
            }
            let lasts = bench.receiver.poll_timeout().unwrap().since(bench.now).as_secs_f64() * 1e3;
            assert!((lasts - round).abs() < 1e-5, "{round_trip:?}: {lasts} ms for {round} ms");
        }
    }
}

/// Until the sender knows a round trip, packets end the rounds; then its own measurement does.
#[test]
fn rounds_last_what_the_sender_measured() {
    let mut bench =
        Bench::new(&UdpmOptions { decide: Decide::RoundTrip, round_trip: RoundTrip::Measured, ..options() });
    bench.comes();
    assert_eq!(bench.receiver.poll_timeout(), None);
    let mut packet = Received::new(1, Some(Bytes::new(1000)));
    packet.timing = Some(crate::Timing::new(bench.now));
    packet.rtt = Some(Duration::from_millis(37));
    bench.receiver.on_packet(bench.now, &packet);
    assert_eq!(bench.receiver.poll_timeout(), Some(bench.now + Duration::from_millis(37)));
}

/// Timestamps of a connection begin anywhere: what the sender measured is used in their place.
#[test]
fn clocks_that_do_not_agree() {
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

/// A handshake has taken numbers: they are no losses.
#[test]
fn numbers_of_a_handshake() {
    let mut context = ReceiverContext::new(Instant::ZERO, Bytes::new(1000));
    context.upcoming = 2;
    let mut bench = Bench::new(&options());
    (bench.receiver, bench.next) = (UdpmReceiver::new(&options(), context), 2);
    bench.comes();
    assert_eq!(bench.said, [1]);
}

/// Numbers that come late within their round are not lost; those of a round that is over were.
#[test]
fn reordering() {
    let mut bench = Bench::new(&options());
    bench.comes();
    for number in [2, 1, 3] {
        bench.packet(number, Ecn::NotEct);
    }
    bench.round_ends();
    assert_eq!(bench.said, [1, 2]);
    bench.packet(5, Ecn::NotEct);
    bench.round_ends();
    assert_eq!(bench.said, [1, 2, 1]);
    // Number 4 comes late, and number 6 is lost.
    bench.packet(4, Ecn::NotEct);
    bench.packet(7, Ecn::NotEct);
    bench.round_ends();
    assert_eq!(bench.said, [1, 2, 1, 0]);
}

/// A late packet fills a hole of its own round alone. Of a later round the hole has been counted: in mm-app.cc `lost` is set to 0 when a round ends.
/// Paper section 2.2: "every packet loss for each RTT" halves, whatever arrives late from before.
#[test]
fn a_late_packet_of_an_earlier_round_hides_no_loss() {
    for (late, said) in [(5, [1, 2, 1, 0]), (6, [1, 2, 1, 0]), (8, [1, 2, 1, 2])] {
        let mut bench = Bench::new(&options());
        bench.comes();
        for (round, numbers) in [&[1, 2, 3, 4][..], &[7], &[9, late]].into_iter().enumerate() {
            numbers.iter().for_each(|number| bench.packet(*number, Ecn::NotEct));
            assert_eq!(bench.said.len(), round + 1);
            bench.round_ends();
        }
        // Numbers 5 and 6 were lost in the second round, and number 8 in the third.
        assert_eq!(bench.said, said, "{late}");
    }
}

/// RFC 4340 section 7.7: of numbers 1 and 2, which are missing, the NDP Count of 3 takes one for a packet without data. That one fills no hole when it
/// arrives late; the other does.
#[test]
fn a_late_packet_without_data_fills_no_hole() {
    for (size, said) in [(None, [1, 0]), (Some(Bytes::new(1000)), [1, 2])] {
        let mut bench = Bench::new(&options());
        bench.comes();
        let mut packet = Received::new(3, Some(Bytes::new(1000)));
        packet.ndp_count = Some(1);
        bench.receiver.on_packet(bench.now, &packet);
        bench.receiver.on_packet(bench.now, &Received::new(2, size));
        bench.round_ends();
        assert_eq!(bench.said, said, "{size:?}");
    }
}

/// RFC 4340 section 7.7: missing packets that carried no data of the application are no loss of it.
#[test]
fn packets_without_data_are_no_losses() {
    let mut bench = Bench::new(&options());
    bench.comes();
    for (number, ndp_count) in [(3, 2), (6, 1)] {
        let mut packet = Received::new(number, Some(Bytes::new(1000)));
        packet.ndp_count = Some(ndp_count);
        bench.receiver.on_packet(bench.now, &packet);
        bench.round_ends();
    }
    assert_eq!(bench.said, [1, 2, 1]);
}

/// The ancestor begins with `last = -1`: packets that are lost before any comes count, and keep the scale at 0.
#[test]
fn losses_before_the_first_packet() {
    let mut bench = Bench::new(&options());
    bench.next = 2;
    bench.comes();
    bench.round(0, 1, 0);
    assert_eq!(bench.said, [0, 1]);
}

/// The reading "every packet loss": each halves.
#[test]
fn each_loss_may_halve() {
    let mut bench = Bench::new(&UdpmOptions { halve: Halve::EachLoss, ..options() });
    bench.comes();
    bench.receiver.scale = 9;
    bench.round(2, 1, 0);
    bench.round(1, 1, 1);
    bench.receiver.scale = 9;
    bench.round(1000, 1, 0);
    assert_eq!(bench.said, [1, 2, 0, 0]);
}

#[test]
fn a_ladder_of_any_rates() {
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
    /// Whatever comes, in whatever order: the scale is one of the ladder, a round moves it as the paper says, and time passes from round to round.
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
                bench.round_ends();
            }
            bench.now = until;
            bench.packet(if near { number % 64 } else { number }, if marked { Ecn::Ce } else { Ecn::Ect0 });
        }
        let top = u8::try_from(levels - 1).unwrap();
        for pair in bench.said.windows(2) {
            let allowed = [pair[0], pair[0] / 2, pair[0].saturating_add(1).min(top)];
            prop_assert!(pair[1] <= top && allowed.contains(&pair[1]), "{pair:?}");
        }
    }
}
