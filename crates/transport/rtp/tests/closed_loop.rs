//! Two sessions over a simulated link: the rate follows the link, and lost or late feedback does not change that.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod path;

use headway_rtp::{Bytes, Duration, Event, MediaKind, NumReports, Rate, SessionOptions};
use path::{Path, Stream};

const fn kbps(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1000)
}

fn options(controller: &str) -> SessionOptions {
    let mut options = SessionOptions::new(controller).unwrap();
    if controller == "nada" {
        // NADA subtracts the data in the send queue itself (RFC 8698 equation 11).
        options.encoder.headroom = 0.0;
    }
    options
}

fn video() -> Vec<Stream> {
    vec![Stream::new(7, 1, MediaKind::Video, None)]
}

fn path(controller: &str) -> Path {
    Path::new(options(controller), options("none"), video())
}

/// Runs 30 s each at 1 Mb/s, 400 kb/s and 1 Mb/s, and returns the rates of the last 10 s of each.
fn follow(path: &mut Path) -> [f64; 3] {
    for rate in [1000, 400, 1000] {
        path.rate = kbps(rate);
        path.run(Duration::from_secs(30));
    }
    [(20, 30), (50, 60), (80, 90)].map(|(from, to)| path.kbps(from, to))
}

fn mean_queue_ms(path: &Path) -> f64 {
    path.queued_ms.iter().sum::<f64>() / path.queued_ms.len() as f64
}

/// At most the link's rate, and at least this share of it.
fn is_between(rates: [f64; 3], share: f64) -> bool {
    rates.iter().zip([1000.0, 400.0, 1000.0]).all(|(rate, link)| (share * link..=1.01 * link).contains(rate))
}

/// RFC 8867 section 5.1 with other rates. Over the 30 s after a change, the mean queue is below 50 ms. The sequence
/// numbers wrap.
#[test]
fn the_rate_follows_the_link() {
    for (controller, share) in [("scream2", 0.75), ("gcc", 0.75), ("nada", 0.9)] {
        let mut path = path(controller);
        let rates = follow(&mut path);
        assert!(is_between(rates, share), "{controller}: {rates:?}");
        assert!(mean_queue_ms(&path) < 50.0, "{controller}: {}", mean_queue_ms(&path));
        assert_eq!(path.refused, 0);
        assert_eq!(path.sender.counters().refused_feedback, 0);
        let rtt = path.sender.round_trip().unwrap().as_secs_f64();
        assert!((0.05..0.2).contains(&rtt), "{controller}: {rtt}");
    }
}

/// Controllers whose receiver half computes reports, or that expect Ack Vectors: the halves of each run at the sender.
#[test]
fn controllers_of_dccp_run_without_their_reports() {
    for controller in ["tfrc", "tfrc-filtered", "tcp-like", "prague", "udpm"] {
        let mut path = path(controller);
        let rates = follow(&mut path);
        assert!(is_between(rates, 0.65), "{controller}: {rates:?}");
    }
}

/// From 20 kb/s, at which feedback is sent each 200 ms, over a round trip of 10 ms. The timers of TFRC expect a report
/// in each round trip.
#[test]
fn rates_grow_although_reports_are_rare() {
    for controller in ["tfrc", "tcp-like", "nada", "scream2", "gcc"] {
        let mut path = path(controller);
        path.delay = Duration::from_millis(5);
        path.streams[0].rate = Some(kbps(20));
        path.run(Duration::from_secs(15));
        path.streams[0].rate = None;
        path.run(Duration::from_secs(30));
        let rate = path.kbps(35, 45);
        assert!(rate > 700.0, "{controller}: {rate}");
    }
}

/// Each arrival is in three feedback packets: losing every third one changes nothing but the delay of reports.
#[test]
fn lost_feedback_costs_little_rate() {
    for controller in ["scream2", "gcc", "nada"] {
        let [_, _, undisturbed] = follow(&mut path(controller));
        let mut path = path(controller);
        path.drop_report = |count| count % 3 == 0;
        let rates = follow(&mut path);
        assert!(rates[2] > 0.9 * undisturbed && is_between(rates, 0.7), "{controller}: {rates:?}, {undisturbed}");
        // Packets that the link dropped are the only lost ones.
        let lost = path.sender.counters().lost_packets;
        let dropped = path.sender.counters().sent_packets - path.streams[0].received;
        assert!(lost <= dropped, "{controller}: {lost} of {dropped}");
    }
}

/// Every third feedback packet arrives 120 ms late, after two later ones.
#[test]
fn reordered_feedback_costs_little_rate() {
    for controller in ["scream2", "gcc", "nada"] {
        let mut path = path(controller);
        path.delay_report = |count| Duration::from_millis(if count % 3 == 0 { 120 } else { 0 });
        let rates = follow(&mut path);
        assert!(is_between(rates, 0.7), "{controller}: {rates:?}");
        assert_eq!(path.sender.counters().refused_feedback, 0);
    }
}

/// Both readings of `num_reports` work if the ends agree. If they do not, feedback is refused with a reason.
#[test]
fn readings_of_num_reports() {
    let run = |sender, receiver| {
        let with = |controller, num_reports| SessionOptions { num_reports, ..options(controller) };
        let mut path = Path::new(with("scream2", sender), with("none", receiver), video());
        path.run(Duration::from_secs(20));
        path
    };
    let path = run(NumReports::LastOffset, NumReports::LastOffset);
    assert!(path.kbps(15, 20) > 600.0 && path.sender.counters().refused_feedback == 0);
    for (sender, receiver) in [(NumReports::Count, NumReports::LastOffset), (NumReports::LastOffset, NumReports::Count)]
    {
        let path = run(sender, receiver);
        assert!(path.sender.counters().refused_feedback > 10, "{:?}", path.sender.counters());
        assert!(path.events.iter().any(|(_, event)| matches!(event, Event::RefusedFeedback(_))));
    }
}

/// Over a round trip of 0.2 ms with feedback each 50 ms, a sender can send its encoder's rate: the send queue drops less
/// than one packet in a hundred. An encoder rate that doubles in each second has a mean of 0.72 of its last value.
#[test]
fn the_encoder_rate_is_sent_over_a_short_round_trip() {
    for controller in ["scream2", "gcc", "nada", "tfrc", "tfrc-filtered", "tcp-like", "prague", "udpm"] {
        let mut path = path(controller);
        (path.rate, path.delay) = (kbps(200_000), Duration::from_micros(100));
        path.run(Duration::from_secs(10));
        let unsent = path.events.iter().filter(|(_, event)| matches!(event, Event::Unsent { .. })).count() as u64;
        let (rate, sent) = (path.sender.rate().unwrap(), path.streams[0].sent);
        assert!(unsent * 100 < sent, "{controller}: {unsent} of {sent}");
        let arrived = path.kbps(9, 10);
        assert!(arrived > 0.7e-3 * rate.bits_per_second() as f64, "{controller}: {arrived} of {rate}");
    }
}

/// Two streams share one controller. The video ignores its rate and sends 1.5 Mb/s; the sound has priority.
#[test]
fn a_stream_with_priority_arrives() {
    let streams = vec![
        Stream::new(7, 1, MediaKind::Video, Some(kbps(1500))),
        Stream::new(8, 0, MediaKind::Audio, Some(kbps(40))),
    ];
    let mut path = Path::new(options("scream2"), options("none"), streams);
    path.run(Duration::from_secs(30));
    let [video, sound] = &path.streams[..] else { panic!() };
    let share = |stream: &Stream| stream.received as f64 / stream.sent as f64;
    assert!(share(sound) > 0.98 && share(video) < 0.7, "{} {}", share(sound), share(video));
    let dropped = path.events.iter().filter(|(_, event)| matches!(event, Event::Unsent { .. })).count() as u64;
    // Each packet was sent, is reported as dropped, or waits in the queue of 256 packets.
    let unsent = video.sent + sound.sent - path.sender.counters().sent_packets;
    assert!(dropped > 1000 && (unsent - 256..=unsent).contains(&dropped), "{dropped} {unsent}");
}

/// Feedback in datagrams of 256 B is split by streams. No packet counts as lost because its block follows later.
#[test]
fn split_feedback_is_complete() {
    let streams: Vec<Stream> = (1..=8).map(|ssrc| Stream::new(ssrc, 0, MediaKind::Video, Some(kbps(200)))).collect();
    let small = SessionOptions { packet_size: Bytes::new(256), ..options("none") };
    let mut path = Path::new(options("scream2"), small, streams);
    path.rate = kbps(20_000);
    path.run(Duration::from_secs(20));
    let counters = path.sender.counters();
    let received: u64 = path.streams.iter().map(|stream| stream.received).sum();
    assert!(counters.lost_packets == 0 && path.sender.round_trip().is_some(), "{counters:?}");
    assert!(counters.feedback > 700 && counters.acknowledged_packets + 100 > received, "{counters:?}");
    assert!(path.kbps(10, 20) > 1600.0, "{}", path.kbps(10, 20));
}

/// Marks reduce the rate before the queue overflows: SCReAM sends ECT(1) and no packet is dropped by the link.
#[test]
fn marks_replace_losses() {
    let mut path = Path::new(SessionOptions { ecn: true, ..options("scream2") }, options("none"), video());
    path.mark_above = Some(Duration::from_millis(5));
    path.rate = kbps(3000);
    path.run(Duration::from_secs(30));
    let counters = path.sender.counters();
    assert!(path.marked > 50 && counters.lost_packets == 0, "{} {counters:?}", path.marked);
    assert!(mean_queue_ms(&path) < 10.0, "{}", mean_queue_ms(&path));
    // Without the option no packet is ECN-capable.
    let mut path = self::path("scream2");
    path.mark_above = Some(Duration::from_millis(5));
    path.run(Duration::from_secs(5));
    assert_eq!(path.marked, 0);
}

/// Feedback stops for 8 s: one event reports it, and the sender reduces its rate and recovers.
#[test]
fn a_silence_of_the_peer_is_reported() {
    for controller in ["scream2", "gcc", "nada"] {
        let mut path = path(controller);
        path.run(Duration::from_secs(20));
        let before = path.kbps(15, 20);
        path.drop_report = |_| true;
        path.run(Duration::from_secs(8));
        assert!(path.kbps(26, 28) < 0.5 * before, "{controller}: {} of {before}", path.kbps(26, 28));
        path.drop_report = |_| false;
        path.run(Duration::from_secs(20));
        assert!(path.kbps(40, 48) > 0.8 * before, "{controller}: {} of {before}", path.kbps(40, 48));
        let silences: Vec<bool> = path
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::FeedbackStopped(silence) => {
                    assert!((1.0..1.3).contains(&silence.as_secs_f64()), "{silence}");
                    Some(true)
                }
                Event::FeedbackResumed => Some(false),
                _ => None,
            })
            .collect();
        assert_eq!(silences, [true, false], "{controller}");
    }
}

/// The same seeds give the same run.
#[test]
fn runs_are_deterministic() {
    let run = || {
        let mut path = path("gcc");
        path.run(Duration::from_secs(10));
        (path.events, path.arrived)
    };
    assert_eq!(run(), run());
}
