//! The paper's rules by its vectors, and both halves over a path.

use super::options::{Damping, Shorten, SpacingOptions};
use super::rule::{ReportSummary, Rule};
use super::*;
use crate::contract::{Permit, Received, ReceiverContext, ReceiverHalf, SenderContext, SenderHalf, Sending};
use crate::report::{Feedback, Report};
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Options, Random, Rate};
use proptest::prelude::*;

const RTT_S: f64 = 0.084;
const TX_S: f64 = 120e-6;
const LOSSES: [u8; 18] = [1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1];

fn options(damping: Damping, shorten: Shorten) -> SpacingOptions {
    let options = SpacingOptions { damping, shorten, ..SpacingOptions::preset(Dialect::Ns2) };
    options.check().unwrap();
    options
}

/// Returns the gaps in us after each report; 1 is a report with losses. A hundred packets are sent under each decision,
/// and each report covers those sent `late` decisions ago.
fn gaps(rule: &mut Rule, losses: &[u8], late: u64) -> Vec<f64> {
    let step = |(n, lost): (usize, &u8)| {
        let n = n as u64;
        rule.on_report(&ReportSummary {
            congested: *lost == 1,
            middle: (100 * n + 50).saturating_sub(100 * late),
            next: 100 * (n + 1),
            may_shorten: true,
            rtt_s: RTT_S,
            tx_s: TX_S,
        });
        rule.gap_s() * 1e6
    };
    losses.iter().enumerate().map(step).collect()
}

fn near(gaps: &[f64], vector: &[f64]) {
    assert_eq!(gaps.len(), vector.len());
    for (gap, expected) in gaps.iter().zip(vector) {
        assert!((gap - expected).abs() < 1e-4, "{gaps:?} instead of {vector:?}");
    }
}

/// Vectors `psp.adhoc.*` and `psp.damped.*` (sections 2.1 and 2.2): first 50 us, then doubled; shorter by each rule. If
/// damped, a loss immediately after a shortening restores the gap.
#[test]
fn psp_2_1_and_2_2_gaps() {
    let up = [50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0];
    let halved = [1600.0, 3200.0, 1600.0, 800.0, 1600.0, 800.0, 400.0, 200.0, 400.0, 200.0, 400.0];
    let rate = [
        3073.77004, 6147.54008, 5712.36639, 5333.7, 10667.4, 9439.7263, 8462.93457, 7667.2505, 15334.501, 12932.9847,
        25865.9695,
    ];
    let rate_damped = [
        3073.77004, 3200.0, 3073.77004, 2956.78729, 3073.77004, 2956.78729, 2848.07152, 2746.77632, 2848.07152,
        2746.77632, 2848.07152,
    ];
    let step = [3150.0, 6300.0, 6250.0, 6200.0, 12400.0, 12350.0, 12300.0, 12250.0, 24500.0, 24450.0, 48900.0];
    let step_damped = [3150.0, 3200.0, 3150.0, 3100.0, 3150.0, 3100.0, 3050.0, 3000.0, 3050.0, 3000.0, 3050.0];
    for (shorten, ad_hoc, damped) in [
        (Shorten::Factor, &halved, &halved),
        (Shorten::Rate, &rate, &rate_damped),
        (Shorten::Step, &step, &step_damped),
    ] {
        for (damping, rest) in [(Damping::None, ad_hoc), (Damping::Newest, damped)] {
            let found = gaps(&mut Rule::new(&options(damping, shorten)), &LOSSES, 0);
            near(&found, &[up.as_slice(), rest].concat());
        }
        // Reports without delay: the newest decision is in force.
        let found = gaps(&mut Rule::new(&options(Damping::InForce, shorten)), &LOSSES, 0);
        near(&found, &[up.as_slice(), damped].concat());
    }
}

/// Vector `psp.cap` (section 2.1): at least one packet per round trip. `psp.reach-2000us`: 2000 us after seven.
#[test]
fn psp_2_1_cap_and_reach() {
    let found = gaps(&mut Rule::new(&options(Damping::None, Shorten::Rate)), &[1; 14], 0);
    let vector = [50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0, 12800.0, 25600.0, 51200.0, 84000.0];
    near(&found, &[vector.as_slice(), &[84000.0; 2]].concat());
    assert_eq!(found.iter().position(|gap| *gap >= 2000.0), Some(6));
}

/// Section 2.2 with reports one round trip late: a loss in the report after a reaction is ignored, and a loss is
/// attributed to the decision under which the packets were sent. The seventh report covers packets sent under the first
/// of two shortenings and restores the gap before it.
#[test]
fn psp_2_2_attributes_a_loss_to_the_decision_in_force() {
    let options = SpacingOptions { step: Duration::from_micros(10), ..options(Damping::InForce, Shorten::Step) };
    let found = gaps(&mut Rule::new(&options), &[1, 1, 1, 0, 0, 0, 1, 1, 0], 1);
    near(&found, &[50.0, 50.0, 100.0, 100.0, 90.0, 80.0, 100.0, 100.0, 90.0]);
    // Packets sent before the first shortening were not lost because of it.
    let found = gaps(&mut Rule::new(&options), &[1, 1, 1, 0, 0, 1], 1);
    near(&found, &[50.0, 50.0, 100.0, 100.0, 90.0, 180.0]);
    // The loss is attributed to the newest decision, even for packets sent before it.
    let options = SpacingOptions { damping: Damping::Newest, ..options };
    let found = gaps(&mut Rule::new(&options), &[1, 1, 1, 0, 0, 0, 1, 1, 0], 1);
    near(&found, &[50.0, 100.0, 200.0, 190.0, 180.0, 170.0, 180.0, 360.0, 350.0]);
}

fn report(congested: bool, middle: u64, next: u64) -> ReportSummary {
    ReportSummary { congested, middle, next, may_shorten: true, rtt_s: RTT_S, tx_s: TX_S }
}

/// Section 2.2: a decision applies from the first packet sent under it. A loss before that packet precedes the reaction
/// and is ignored; a loss of that packet doubles the gap.
#[test]
fn psp_2_2_a_reaction_begins_with_its_first_packet() {
    for (middle, gap_us) in [(0, 50.0), (99, 50.0), (100, 100.0), (101, 100.0)] {
        let mut rule = Rule::new(&options(Damping::InForce, Shorten::Step));
        rule.on_report(&report(true, 50, 100));
        rule.on_report(&report(true, middle, 200));
        near(&[rule.gap_s() * 1e6], &[gap_us]);
    }
}

/// Section 2.2: "if loss follows a deliberate decrease, return to the previous ps". Numbers from 200 are sent under the
/// first shortening, from 50 to 40 us, those from 300 under the second, to 30 us. A loss restores the gap before the
/// shortening under which the packet was sent; an earlier loss doubles the gap.
#[test]
fn psp_2_2_a_shortening_begins_with_its_first_packet() {
    for (middle, gap_us) in [(199, 60.0), (200, 50.0), (299, 50.0), (300, 40.0), (301, 40.0)] {
        let options = SpacingOptions { step: Duration::from_micros(10), ..options(Damping::InForce, Shorten::Step) };
        let mut rule = Rule::new(&options);
        rule.on_report(&report(true, 50, 100));
        rule.on_report(&report(false, 150, 200));
        rule.on_report(&report(false, 150, 300));
        near(&[rule.gap_s() * 1e6], &[30.0]);
        rule.on_report(&report(true, middle, 400));
        near(&[rule.gap_s() * 1e6], &[gap_us]);
    }
}

/// Packets sent under a discarded decision: the gap is shortened 70 times by 0.1 us from 50 us, and 64 decisions are
/// kept. The oldest is the seventh shortening, from 49.4 us, first used by number 800. An earlier loss is not
/// attributed to it and doubles 43 us.
#[test]
fn psp_2_2_a_forgotten_decision_is_not_blamed() {
    for (middle, gap_us) in [(150, 86.0), (799, 86.0), (800, 49.4), (899, 49.4), (900, 49.3)] {
        let options = SpacingOptions { step: Duration::from_nanos(100), ..options(Damping::InForce, Shorten::Step) };
        let mut rule = Rule::new(&options);
        rule.on_report(&report(true, 0, 100));
        (1..=70).for_each(|n| rule.on_report(&report(false, 150, 100 + 100 * n)));
        near(&[rule.gap_s() * 1e6], &[43.0]);
        rule.on_report(&report(true, middle, 7200));
        near(&[rule.gap_s() * 1e6], &[gap_us]);
    }
}

fn context() -> SenderContext {
    let mut context = SenderContext::new(Instant::ZERO, Bytes::new(1460), Random::new(1, "spacing"));
    context.header = Bytes::new(40);
    context.line_rate = Some(Rate::from_bits_per_second(100_000_000));
    context.rtt = Some(Duration::from_millis(84));
    context
}

fn send(sender: &mut SpacingSender, now: Instant, numbers: std::ops::Range<u64>) {
    for number in numbers {
        sender.on_send(now, &Sending::new(number, Some(Bytes::new(1460))));
    }
}

fn receive_report(sender: &mut SpacingSender, now: Instant, acknowledged: u64, highest: u32, received: u32) {
    let own = Count { highest, received }.encode();
    sender.on_feedback(now, &Feedback::new(acknowledged, Report::Own(own)));
}

fn gap_us(sender: &SpacingSender) -> u64 {
    let bits = sender.status().pacing_rate.unwrap().bits_per_second();
    (1460.0 * 8e6 / bits as f64 - 120.0).round() as u64
}

/// Vector `psp.psa.fluid` (Figure 3): the gap is from the end of one packet, with headers, to the start of the next.
#[test]
fn psp_2_gap_from_end_to_start() {
    let mut sender = SpacingSender::new(&options(Damping::None, Shorten::Rate), context());
    send(&mut sender, Instant::ZERO, 0..1);
    assert_eq!(sender.poll_send(Instant::ZERO, &Default::default()), Permit::At(Instant::from_nanos(120_000)));
    receive_report(&mut sender, Instant::from_millis(84), 0, 0, 0);
    send(&mut sender, Instant::from_millis(84), 1..2);
    let due = Permit::At(Instant::from_millis(84) + Duration::from_micros(170));
    assert_eq!(sender.poll_send(Instant::from_millis(84), &Default::default()), due);
}

/// Reports cover numbers, not time windows: packets in flight are not missing, the next report replaces a lost one, and
/// a reordered report or one of packets never sent is ignored. A late packet fills its gap.
#[test]
fn psp_2_1_counts_by_numbers() {
    let mut sender = SpacingSender::new(&options(Damping::None, Shorten::Step), context());
    let now = Instant::from_secs(1);
    // Numbers may start anywhere, also near the end of 32 bits.
    let base = (1u64 << 32) - 150;
    let low = |n: u64| (base + n) as u32;
    send(&mut sender, now, base..base + 300);
    receive_report(&mut sender, now, base + 99, low(99), 100);
    assert_eq!(gap_us(&sender), 0, "200 are in flight");
    receive_report(&mut sender, now, base + 250, low(249), 249);
    assert_eq!(gap_us(&sender), 50, "one is missing; the next one is not counted although the carrier acknowledged it");
    receive_report(&mut sender, now, base + 250, low(199), 150);
    receive_report(&mut sender, now, base + 900, low(900), 500);
    assert_eq!(gap_us(&sender), 50);
    receive_report(&mut sender, now, base + 299, low(299), 300);
    assert_eq!(gap_us(&sender), 0, "the missing packet has arrived");
    send(&mut sender, now, base + 300..base + 400);
    receive_report(&mut sender, now, base + 399, low(399), 400);
    send(&mut sender, now, base + 400..base + 500);
    receive_report(&mut sender, now, base + 499, low(499), 490);
    assert_eq!(gap_us(&sender), 50);
}

/// Section 2.1: the base round-trip time is measured by a packet sent alone, repeated until it is acknowledged.
#[test]
fn psp_2_1_base_round_trip() {
    let mut at_set_up = context();
    at_set_up.rtt = None;
    let mut sender = SpacingSender::new(&options(Damping::None, Shorten::Rate), at_set_up);
    let mut receiver = SpacingReceiver::new(
        &options(Damping::None, Shorten::Rate),
        ReceiverContext::new(Instant::ZERO, Bytes::new(1460)),
    );
    let mut packet = Received::new(0, Some(Bytes::new(1460)));
    let mut transfer = |sender: &mut SpacingSender, now: Instant, number: u64| {
        let stamp = sender.on_send(now, &Sending::new(number, Some(Bytes::new(1460))));
        (packet.number, packet.rtt) = (number, stamp.rtt);
        receiver.on_packet(now, &packet);
        match receiver.poll_report(now) {
            Some(Report::Own(own)) => Some(own),
            _ => None,
        }
    };
    let now = Instant::from_secs(1);
    assert!(transfer(&mut sender, now, 0).is_some(), "reported immediately");
    assert_eq!(sender.poll_send(now + Duration::from_millis(999), &Default::default()), Permit::Blocked);
    assert_eq!(sender.poll_timeout(), Some(Instant::from_secs(2)));
    sender.handle_timeout(Instant::from_secs(2));
    assert_eq!(sender.poll_send(Instant::from_secs(2), &Default::default()), Permit::Now);
    let own = transfer(&mut sender, Instant::from_secs(2), 1).unwrap();
    let mut feedback = Feedback::new(1, Report::Own(own));
    feedback.rtt_sample = Some(Duration::from_millis(84));
    let now = Instant::from_millis(2084);
    sender.on_feedback(now, &feedback);
    assert_eq!((sender.poll_send(now, &Default::default()), sender.status().rtt), (Permit::Now, feedback.rtt_sample));
    assert!(transfer(&mut sender, now, 2).is_none(), "then once per round");
    assert_eq!(receiver.poll_timeout(), Some(now + Duration::from_millis(84)));
    // Later samples are ignored.
    feedback.rtt_sample = Some(Duration::from_millis(300));
    sender.on_feedback(now, &feedback);
    assert_eq!(sender.status().rtt, Some(Duration::from_millis(84)));
}

/// The authors' future work: a round-trip time that follows the path.
#[test]
fn the_round_trip_time_follows_the_option() {
    for (rule, after) in [(SpacingRtt::Base, 84_000), (SpacingRtt::Least, 40_000), (SpacingRtt::Smoothed, 83_560)] {
        let options = SpacingOptions { round_trip: rule, ..options(Damping::None, Shorten::Rate) };
        let mut sender = SpacingSender::new(&options, context());
        send(&mut sender, Instant::ZERO, 0..10);
        for sample in [120, 40] {
            let mut feedback = Feedback::new(5, Report::Own(Own::NONE));
            feedback.rtt_sample = Some(Duration::from_millis(sample));
            sender.on_feedback(Instant::from_secs(1), &feedback);
        }
        let rtt_us = sender.status().rtt.unwrap().as_nanos() / 1000;
        // 0.9 (0.9 84 + 0.1 120) + 0.1 40 ms.
        let expected = if rule == SpacingRtt::Smoothed { 82_840 } else { after };
        assert_eq!(rtt_us, expected, "{rule:?}");
    }
}

/// After four round trips without a report packets count as lost, and again while packets are sent.
#[test]
fn silence_is_loss() {
    let options = SpacingOptions { silence: 4, ..options(Damping::InForce, Shorten::Rate) };
    let mut sender = SpacingSender::new(&options, context());
    let mut now = Instant::ZERO;
    let mut gaps = vec![];
    for number in 0..6 {
        send(&mut sender, now, number..number + 1);
        now = sender.poll_timeout().unwrap();
        sender.handle_timeout(now);
        gaps.push(gap_us(&sender));
        assert_eq!(sender.poll_timeout(), None, "idle senders are not silent");
    }
    assert_eq!(gaps, [50, 100, 200, 400, 800, 1600]);
    // A report cancels the timer if no packet is in flight.
    send(&mut sender, now, 6..8);
    receive_report(&mut sender, now, 6, 6, 1);
    assert!(sender.poll_timeout().is_some());
    receive_report(&mut sender, now, 7, 7, 2);
    assert_eq!(sender.poll_timeout(), None);
}

/// Dialect headway-1: a silence of any length at most doubles the gap; round trips during it are ignored.
#[test]
fn a_silence_is_one_loss() {
    for (silence_is_one_loss, after) in [(true, 100), (false, 1600)] {
        let options = SpacingOptions { silence: 4, silence_is_one_loss, ..options(Damping::InForce, Shorten::Rate) };
        let mut sender = SpacingSender::new(&options, context());
        send(&mut sender, Instant::ZERO, 0..2);
        receive_report(&mut sender, Instant::ZERO, 1, 1, 1);
        let mut now = Instant::ZERO;
        let before = gap_us(&sender);
        assert_eq!(before, 50);
        for number in 2..7 {
            send(&mut sender, now, number..number + 1);
            now = sender.poll_timeout().unwrap();
            sender.handle_timeout(now);
        }
        assert_eq!(gap_us(&sender), 1600);
        assert_eq!([6, 7].map(|number| sender.measures_silence(now, number)), [silence_is_one_loss; 2]);
        receive_report(&mut sender, now, 6, 6, 2);
        if silence_is_one_loss {
            assert_eq!(gap_us(&sender), after);
            assert_eq!([6, 7].map(|number| sender.measures_silence(now, number)), [true, false]);
        } else {
            assert!(gap_us(&sender) >= after);
        }
    }
}

/// The first report on packets sent after a silence restores the previous gap of 50 us if none was lost. A loss
/// restores the gap of the silence, 1600 us, because it is attributed to the shortening (section 2.2).
#[test]
fn recovery_of_the_path_restores_the_gap() {
    for (remembers_rate, lost, after) in [(true, 0, 50), (false, 0, 99), (true, 1, 1600)] {
        let options = SpacingOptions {
            silence: 4,
            silence_is_one_loss: true,
            remembers_rate,
            ..options(Damping::InForce, Shorten::Rate)
        };
        let mut sender = SpacingSender::new(&options, context());
        send(&mut sender, Instant::ZERO, 0..2);
        receive_report(&mut sender, Instant::ZERO, 1, 1, 1);
        let mut now = Instant::ZERO;
        for number in 2..7 {
            send(&mut sender, now, number..number + 1);
            now = sender.poll_timeout().unwrap();
            sender.handle_timeout(now);
        }
        receive_report(&mut sender, now, 6, 6, 2);
        assert_eq!(gap_us(&sender), 100);
        send(&mut sender, now, 7..1007);
        receive_report(&mut sender, now, 1006, 1006, 1002 - lost);
        assert_eq!(gap_us(&sender), after, "{remembers_rate} {lost}");
    }
}

/// A gap of which less than half is used is kept, unless it permits less than four packets per round trip.
#[test]
fn unused_gaps_are_kept() {
    let seconds = |n: u64| Instant::from_secs(n);
    for (when_limited, sent, after) in
        [(WhenLimited::Hold, 2000, 100), (WhenLimited::Hold, 2500, 50), (WhenLimited::Shorten, 2000, 50)]
    {
        let options = SpacingOptions { when_limited, ..options(Damping::None, Shorten::Step) };
        let mut sender = SpacingSender::new(&options, context());
        send(&mut sender, Instant::ZERO, 0..200);
        receive_report(&mut sender, seconds(1), 99, 99, 99);
        receive_report(&mut sender, seconds(2), 199, 199, 198);
        assert_eq!(gap_us(&sender), 100);
        // 1 / 220 us = 4545 packets are permitted per second.
        send(&mut sender, seconds(2), 200..200 + sent);
        sender.on_application_limited(seconds(2));
        receive_report(&mut sender, seconds(3), 199 + sent, 199 + sent as u32, 198 + sent as u32);
        assert_eq!(gap_us(&sender), after, "{when_limited:?} {sent}");
    }
}

/// After a round trip without data a sender restarts with four packets per round trip.
#[test]
fn idle_senders_restart() {
    let options =
        SpacingOptions { when_limited: WhenLimited::Hold, silence: 4, ..options(Damping::InForce, Shorten::Rate) };
    let mut sender = SpacingSender::new(&options, context());
    let mut now = Instant::ZERO;
    for number in 0..14 {
        send(&mut sender, now, number..number + 1);
        now = sender.poll_timeout().unwrap();
        sender.handle_timeout(now);
    }
    assert_eq!(gap_us(&sender), 84_000);
    send(&mut sender, now, 14..15);
    sender.on_application_limited(now + Duration::from_millis(84));
    assert_eq!(gap_us(&sender), 84_000);
    sender.on_application_limited(now + Duration::from_millis(85));
    assert_eq!(gap_us(&sender), 84_000 / 4 - 120);
}

/// A report per round trip. Marked and corrupt packets count as lost; a round without packets has none.
#[test]
fn psp_2_1_reports() {
    let context = ReceiverContext::new(Instant::ZERO, Bytes::new(1460));
    let mut receiver = SpacingReceiver::new(&options(Damping::None, Shorten::Rate), context);
    let arrive = |receiver: &mut SpacingReceiver, now: Instant, number: u64, ecn: Ecn| {
        let mut packet = Received::new(number, Some(Bytes::new(1460)));
        (packet.rtt, packet.ecn) = (Some(Duration::from_millis(84)), ecn);
        receiver.on_packet(now, &packet);
    };
    let start = Instant::from_secs(1);
    for (number, ecn) in [(0, Ecn::Ect0), (1, Ecn::Ce), (3, Ecn::Ect0), (2, Ecn::Ect0)] {
        arrive(&mut receiver, start, number, ecn);
        assert_eq!(receiver.poll_report(start), None);
    }
    receiver.on_corrupt(start, 3);
    let end = receiver.poll_timeout().unwrap();
    assert_eq!(end, start + Duration::from_millis(84));
    receiver.handle_timeout(end);
    let Some(Report::Own(own)) = receiver.poll_report(end) else { panic!("no report") };
    assert_eq!(Count::decode(own), Some(Count { highest: 3, received: 2 }));
    assert_eq!(receiver.poll_report(end), None);
    let silent = receiver.poll_timeout().unwrap();
    receiver.handle_timeout(silent);
    assert_eq!(receiver.poll_report(silent), None);
    assert_eq!(receiver.poll_timeout(), None);
    arrive(&mut receiver, silent, 9, Ecn::Ect0);
    assert_eq!(receiver.poll_timeout(), Some(silent + Duration::from_millis(84)));
}

proptest! {
    /// For any report the gap is between zero and a round trip.
    #[test]
    fn any_report_keeps_the_gap_bounded(
        base in prop::sample::select(vec![0, 1 << 32, (1 << 48) - 500, u64::MAX - 2000]),
        reports in prop::collection::vec((prop::num::u64::ANY, prop::collection::vec(prop::num::u8::ANY, 0..12), 0u64..2000), 0..40),
        damping in prop::sample::select(vec![Damping::None, Damping::Newest, Damping::InForce]),
        shorten in prop::sample::select(vec![Shorten::Rate, Shorten::Step, Shorten::Factor]),
    ) {
        let mut sender = SpacingSender::new(&options(damping, shorten), context());
        let (mut now, mut number) = (Instant::ZERO, base);
        for (far, bytes, close) in reports {
            send(&mut sender, now, number..number + 20);
            number += 20;
            now += Duration::from_millis(50);
            let own = Own::new(&bytes).unwrap();
            for acknowledged in [far, base.saturating_add(close)] {
                sender.on_feedback(now, &Feedback::new(acknowledged, Report::Own(own)));
                receive_report(&mut sender, now, acknowledged, acknowledged as u32, close as u32);
            }
            if let Some(at) = sender.poll_timeout() {
                sender.handle_timeout(at);
            }
            prop_assert!(gap_us(&sender) <= 84_000);
            prop_assert!(matches!(sender.poll_send(now + Duration::from_secs(1), &Default::default()), Permit::Now));
        }
    }
}
