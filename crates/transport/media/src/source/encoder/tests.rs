use super::*;
use crate::{Context, Source, SourceOptions, Trace, TransportState, Write};
use headway_units::{Instant, MediaKind, Options as _, Random};
use proptest::prelude::*;

const START: Instant = Instant::from_nanos(1_000_000_000);
/// 20 ms: at 1 Mb/s a frame has 2500 B.
const INTERVAL: Duration = Duration::from_millis(20);

fn options(change: impl FnOnce(&mut EncoderOptions)) -> EncoderOptions {
    let mut options = EncoderOptions::preset(Dialect::Rfc);
    change(&mut options);
    options
}

/// An encoder without chance that starts at 1 Mb/s.
fn exact(change: impl FnOnce(&mut EncoderOptions)) -> EncoderOptions {
    options(|o| {
        (o.start_rate, o.frame_interval) = (kbps(1000), INTERVAL);
        (o.interval_scale, o.size_scale) = (0.0, 0.0);
        change(o);
    })
}

const fn kbps(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1000)
}

fn start(options: &EncoderOptions, seed: u64) -> Encoder {
    options.check().unwrap();
    Encoder::new(options, Context { start: START, stop: None, random: Random::new(seed, "encoder"), trace: None })
        .unwrap()
}

fn bytes(write: &Write) -> u64 {
    write.size.payload(Bytes::new(28)).count()
}

const fn target(rate: Rate) -> TransportState {
    TransportState { target_rate: Some(rate), waiting: Bytes::new(0) }
}

/// Returns the next `count` frames of an encoder whose transport has the rate `rate(ms since the start)` in kb/s.
fn frames(encoder: &mut Encoder, count: usize, rate: impl Fn(u64) -> u64) -> Vec<Write> {
    let frame = |_| {
        let due = encoder.poll_timeout().unwrap();
        encoder.follow(target(kbps(rate(due.since(START).as_nanos() / 1_000_000))));
        encoder.poll(due).unwrap()
    };
    (0..count).map(frame).collect()
}

fn sizes(frames: &[Write]) -> Vec<u64> {
    frames.iter().map(bytes).collect()
}

/// Figure 2: the example values. `B0` is 4.17 kB at 1 Mb/s.
#[test]
fn rfc8593_5_the_preset_has_the_example_values() {
    let preset = options(|_| {});
    assert_eq!(
        (preset.min_rate, preset.max_rate, preset.reaction),
        (kbps(150), kbps(1500), Duration::from_millis(200))
    );
    assert_eq!((preset.burst_frames, preset.burst_size), (8, Bytes::new(13_500)));
    assert_eq!((preset.interval_scale, preset.size_scale), (0.15, 0.15));
    assert!((preset.mean_bytes(kbps(1000)) - 4170.0).abs() < 5.0);
    assert!((preset.key_factor * preset.mean_bytes(kbps(1000)) - 13_500.0).abs() < 10.0);
    preset.check().unwrap();
}

/// A request at 400 ms is accepted, and those of the 200 ms after it are ignored. The last rate is the one at 600 ms,
/// not that of the ignored requests.
#[test]
fn rfc8593_5_1_requests_are_ignored_for_the_reaction_time() {
    let mut encoder = start(&exact(|o| o.burst_frames = 0), 1);
    let rate = |ms| match ms {
        ..400 => 1000,
        400..420 => 800,
        420..600 => 400,
        _ => 600,
    };
    let sizes = sizes(&frames(&mut encoder, 40, rate));
    assert_eq!(sizes[..20], [2500; 20]);
    assert_eq!(sizes[20..30], [2000; 10]);
    assert_eq!(sizes[30..], [1500; 10]);
    assert_eq!(encoder.rate(), kbps(600));
}

/// The start counts as an accepted request. Equal requests are no transition, so that the next change is accepted at
/// once.
#[test]
fn rfc8593_5_1_only_a_transition_starts_the_reaction_time() {
    let mut encoder = start(&exact(|o| o.burst_frames = 0), 1);
    let at_once = sizes(&frames(&mut encoder, 60, |ms| if ms < 580 { 500 } else { 700 }));
    assert_eq!(at_once[..10], [2500; 10], "the reaction time of the start");
    assert_eq!(at_once[10..29], [1250; 19]);
    assert_eq!(at_once[29..], [1750; 31], "500 kb/s were accepted at 200 ms");
    let mut encoder = start(&exact(|o| (o.burst_frames, o.reaction) = (0, Duration::ZERO)), 1);
    let each = sizes(&frames(&mut encoder, 3, |ms| 400 + ms));
    assert_eq!(each, [1000, 1050, 1100]);
}

/// Without a rate of the transport the encoder keeps its rate.
#[test]
fn a_transport_without_a_rate_requests_nothing() {
    let mut encoder = start(&exact(|o| (o.burst_frames, o.reaction) = (0, Duration::ZERO)), 1);
    assert_eq!(sizes(&frames(&mut encoder, 1, |_| 800)), [2000]);
    for _ in 0..3 {
        encoder.follow(TransportState::default());
        let due = encoder.poll_timeout().unwrap();
        assert_eq!(bytes(&encoder.poll(due).unwrap()), 2000);
    }
}

/// The example values: 13500 B, then seven frames of (8 * 4167 - 13500) / 7 = 2833 B.
#[test]
fn rfc8593_5_2_a_burst_keeps_the_mean() {
    let mut encoder = start(&options(|o| (o.start_rate, o.size_scale) = (kbps(1000), 0.0)), 1);
    let all = sizes(&frames(&mut encoder, 9, |_| 1000));
    assert_eq!(all, [13_500, 2833, 2833, 2833, 2833, 2833, 2833, 2833, 4167]);
    let mean = all[..8].iter().sum::<u64>() as f64 / 8.0;
    assert!((mean - 4167.0).abs() < 1.0, "{mean}");
}

/// A change of at most a tenth has no burst (section 7), and one of more has.
#[test]
fn rfc8593_7_a_burst_follows_a_change_of_more_than_a_tenth() {
    for (next, burst) in [(1100, false), (1101, true), (900, false), (899, true)] {
        let mut encoder = start(&exact(|_| {}), 1);
        let sizes = sizes(&frames(&mut encoder, 40, |ms| if ms < 600 { 1000 } else { next }));
        let mean = next * 1000 / 400;
        assert_eq!(sizes[8..30], [2500; 22]);
        assert_eq!(sizes[30] == 13_500, burst, "{next} kb/s: {sizes:?}");
        assert!(sizes[38..].iter().all(|size| size.abs_diff(mean) <= 3), "{sizes:?}");
        let sum: u64 = sizes[30..38].iter().sum();
        assert!(sum.abs_diff(8 * mean) <= 24, "{sum} of {}", 8 * mean);
    }
}

/// At 150 kb/s a frame has 375 B. 13500 B would leave nothing for seven others: they have 75 B, and the first has the
/// rest of 8 * 375 B.
#[test]
fn rfc8593_5_2_the_burst_is_limited_at_low_rates() {
    let mut encoder = start(&exact(|o| o.start_rate = kbps(150)), 1);
    let sizes = sizes(&frames(&mut encoder, 9, |_| 150));
    assert_eq!(sizes, [2475, 75, 75, 75, 75, 75, 75, 75, 375]);
}

/// Deviations from the mean have the Laplace scale: a share of exp(-k) deviates by more than k scales. Interval and size
/// are independent.
#[test]
fn rfc8593_5_3_the_steady_state_has_laplace_deviations() {
    const FRAMES: usize = 50_000;
    let mut encoder = start(&options(|o| (o.start_rate, o.burst_frames) = (kbps(1000), 0)), 5);
    let all = frames(&mut encoder, FRAMES + 1, |_| 1000);
    let interval = |pair: &[Write]| pair[1].created.since(pair[0].created).as_secs_f64() * 30.0 - 1.0;
    let intervals: Vec<f64> = all.windows(2).map(interval).collect();
    let sizes: Vec<f64> = all[..FRAMES].iter().map(|write| bytes(write) as f64 / 4166.67 - 1.0).collect();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / FRAMES as f64;
    // The standard deviation of one value is sqrt(2) 0.15 = 0.2121.
    let deviation_of_mean = 0.2121 / (FRAMES as f64).sqrt();
    for deviations in [&intervals, &sizes] {
        assert!(mean(deviations).abs() < 4.0 * deviation_of_mean + 0.0001, "{}", mean(deviations));
        for (beyond, share) in [(0.15, 0.367_879), (0.3, 0.135_335), (0.6, 0.018_316)] {
            let seen = deviations.iter().filter(|deviation| deviation.abs() > beyond).count() as f64 / FRAMES as f64;
            let error = (share * (1.0 - share) / FRAMES as f64).sqrt();
            assert!((seen - share).abs() < 4.0 * error, "{seen} beyond {beyond}");
        }
    }
    let product: Vec<f64> = intervals.iter().zip(&sizes).map(|(a, b)| a * b / (0.2121 * 0.2121)).collect();
    assert!(mean(&product).abs() < 4.0 / (FRAMES as f64).sqrt(), "correlation {}", mean(&product));
}

#[test]
fn rfc8593_5_4_the_rate_is_limited() {
    for (requested, accepted) in [(1, 150), (149, 150), (150, 150), (1500, 1500), (9000, 1500)] {
        let mut encoder = start(&exact(|o| o.reaction = Duration::ZERO), 1);
        let _ = frames(&mut encoder, 1, |_| requested);
        assert_eq!(encoder.rate(), kbps(accepted));
    }
}

/// Sizes are limited to 10 B to 1 MB, and intervals to at least 1 ns.
#[test]
fn rfc8593_6_2_1_frames_have_a_range() {
    let wide = options(|o| {
        (o.interval_scale, o.size_scale, o.burst_frames) = (0.5, 0.5, 0);
        (o.start_rate, o.max_rate) = (kbps(200_000), kbps(200_000));
    });
    let all = frames(&mut start(&wide, 3), 5000, |_| 200_000);
    let sizes = sizes(&all);
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&10), Some(&1_000_000)));
    assert!(all.windows(2).all(|pair| pair[1].created > pair[0].created));
    let WriteSize::Payload(largest) = wide.largest_write(None).unwrap() else { panic!() };
    assert_eq!(largest, Bytes::new(1_000_000));
}

/// Ten frames of 2500 B: a key frame of 3.24 * 2500 B and nine of (10 - 3.24) / 9 * 2500 B.
#[test]
fn key_frames_keep_the_mean() {
    let with_keys = exact(|o| (o.key_interval, o.burst_frames, o.priority) = (Some(10), 0, 2));
    let all = frames(&mut start(&with_keys, 1), 30, |_| 1000);
    for ten in all.chunks(10) {
        assert_eq!(sizes(ten), [8100, 1878, 1878, 1878, 1878, 1878, 1878, 1878, 1878, 1878]);
        assert_eq!((ten[0].kind, ten[0].priority), (MediaKind::VideoI, 0));
        assert!(ten[1..].iter().all(|write| (write.kind, write.priority) == (MediaKind::VideoP, 2)));
    }
    // The frames of a burst do not count: the key frame of the start is the first after it.
    let all = frames(&mut start(&exact(|o| o.key_interval = Some(10)), 1), 30, |_| 1000);
    let keys: Vec<usize> = (0..30).filter(|index| all[*index].kind == MediaKind::VideoI).collect();
    assert_eq!(keys, [8, 18, 28]);
}

/// 100 ms at 1 Mb/s are 12500 B. A skipped frame belongs to no burst, and the draws of the others are the same.
#[test]
fn frames_are_skipped_while_too_much_data_waits() {
    let skipping = options(|o| (o.start_rate, o.skip_above) = (kbps(1000), Some(Duration::from_millis(100))));
    let run = |waiting: [u64; 6]| {
        let mut encoder = start(&skipping, 4);
        let frames: Vec<Write> = waiting
            .into_iter()
            .filter_map(|waiting| {
                encoder.follow(TransportState { target_rate: None, waiting: Bytes::new(waiting) });
                encoder.poll(encoder.poll_timeout()?)
            })
            .collect();
        (frames, encoder.counts().skipped_frames)
    };
    let (all, none) = run([0; 6]);
    let (fewer, skipped) = run([0, 12_501, 90_000, 12_500, 0, 0]);
    assert_eq!((all.len(), none, fewer.len(), skipped), (6, 0, 4, 2));
    let times = |frames: &[Write]| frames.iter().map(|write| write.created).collect::<Vec<_>>();
    assert_eq!(times(&fewer), [0, 3, 4, 5].map(|index| all[index].created));
    assert_eq!(sizes(&fewer), sizes(&all[..4]), "the burst continues after the skipped frames");
    // A late poll skips only the frame for which the queue was measured.
    let mut encoder = start(&skipping, 4);
    encoder.follow(TransportState { target_rate: None, waiting: Bytes::new(90_000) });
    let late = std::iter::from_fn(|| encoder.poll(START + Duration::from_secs(1))).count() as u64;
    assert_eq!((encoder.counts().skipped_frames, late > 20), (1, true));
}

/// The target falls from 1 Mb/s to 200 kb/s at 2 s, which allows 25000 B in a window. The encoder reacts at 2.5 s and has
/// 500 kb/s, its minimum.
#[test]
fn bytes_above_the_target_are_counted_in_windows() {
    let slow = exact(|o| {
        (o.min_rate, o.burst_frames, o.reaction) = (kbps(500), 0, Duration::from_millis(2500));
    });
    let mut encoder = start(&slow, 1);
    let rate = |ms| if ms < 2000 { 1000 } else { 200 };
    let above = |encoder: &mut Encoder, count| {
        let _ = frames(encoder, count, rate);
        encoder.counts().bytes_above_target
    };
    assert!(above(&mut encoder, 101) < 1e-6, "two windows at the target");
    // 25 frames of 2500 B and 25 of 1250 B.
    assert!((above(&mut encoder, 50) - (62_500.0 + 31_250.0 - 25_000.0)).abs() < 1e-6);
    let counts = encoder.counts();
    assert_eq!((counts.captured_frames, counts.rate_changes, counts.bursts), (151, 1, 0));
    encoder.restart_counts();
    assert_eq!(encoder.counts(), EncoderCounts::default());
}

#[test]
fn equal_seeds_give_equal_frames_and_options_shift_no_draws() {
    let run = |options: &EncoderOptions, seed| frames(&mut start(options, seed), 300, |ms| 200 + ms / 8 % 900);
    let preset = options(|_| {});
    assert_eq!(run(&preset, 1), run(&preset, 1));
    assert_ne!(run(&preset, 1), run(&preset, 2));
    let times = |frames: Vec<Write>| frames.iter().map(|write| write.created).collect::<Vec<_>>();
    let other = options(|o| (o.burst_frames, o.size_scale, o.key_interval) = (0, 0.3, Some(30)));
    assert_eq!(times(run(&preset, 1)), times(run(&other, 1)));
}

#[test]
fn frames_end_at_the_stop_and_have_a_deadline() {
    let lifetime = Some(Duration::from_millis(300));
    let options = SourceOptions::Encoder(exact(|o| o.lifetime = lifetime));
    let stop = Some(START + Duration::from_secs(1));
    let context = Context { start: START, stop, random: Random::new(1, "encoder"), trace: None };
    let mut source = Source::new(&options, context).unwrap();
    let all: Vec<Write> = std::iter::from_fn(|| source.poll(Instant::FAR_FUTURE)).collect();
    assert_eq!((all.len(), source.poll_timeout()), (50, None));
    assert!(all.iter().all(|write| write.expires == Some(write.created + Duration::from_millis(300))));
    assert!(all.iter().all(|write| write.kind == MediaKind::Video && write.ends_frame(Bytes::new(28))));
}

/// Frames are 20 ms apart. The first two pauses contain the frames that are due at 40 and 130 ms, the third none.
#[test]
fn a_frame_in_a_pause_is_captured_at_its_end() {
    let pause = |from, until| [Duration::from_millis(from), Duration::from_millis(until)];
    let mut encoder = start(&exact(|o| o.pauses = vec![pause(40, 110), pause(120, 135), pause(140, 150)]), 1);
    let frames = frames(&mut encoder, 6, |_| 1000);
    let times: Vec<u64> = frames.iter().map(|frame| frame.created.since(START).as_nanos() / 1_000_000).collect();
    assert_eq!(times, [0, 20, 110, 135, 155, 175]);
}

#[test]
fn invalid_options_are_rejected() {
    for (change, key, part) in [
        ((|o| o.min_rate = kbps(0)) as fn(&mut EncoderOptions), "min_rate", "from 10B to 1MB"),
        (|o| o.max_rate = kbps(149), "max_rate", "149kbps is below min_rate = 150kbps"),
        (|o| o.start_rate = kbps(149), "start_rate", "from 150kbps to 1.5Mbps"),
        (|o| o.start_rate = kbps(1501), "start_rate", "from 150kbps to 1.5Mbps"),
        (|o| o.frame_interval = Duration::from_nanos(999), "frame_interval", "from 1us to 10s"),
        (|o| o.frame_interval = Duration::from_micros(533), "min_rate", "9.99375 B; expected from 10B to 1MB"),
        (|o| o.max_rate = kbps(240_001), "max_rate", "from 10B to 1MB"),
        (|o| o.reaction = Duration::from_secs(101), "reaction", "at most 100s"),
        (|o| o.burst_change = -0.1, "burst_change", "at least 0"),
        (|o| o.burst_change = f64::NAN, "burst_change", "at least 0"),
        (|o| o.burst_frames = 1, "burst_frames", "0, or from 2 to 1000"),
        (|o| o.burst_frames = 1001, "burst_frames", "0, or from 2 to 1000"),
        (|o| o.burst_size = Bytes::new(9), "burst_size", "from 10B to 1MB"),
        (|o| o.interval_scale = 0.51, "interval_scale", "from 0 to 0.5"),
        (|o| o.size_scale = f64::NAN, "size_scale", "from 0 to 0.5"),
        (|o| o.key_interval = Some(1), "key_interval", "from 2 to 100000"),
        (|o| o.key_factor = 0.9, "key_factor", "from 1 to 100"),
        (|o| o.skip_above = Some(Duration::ZERO), "skip_above", "at least 1ns"),
        (|o| o.lifetime = Some(Duration::ZERO), "lifetime", "at least 1ns"),
        (|o| o.pauses = vec![[Duration::from_secs(2), Duration::from_secs(2)]], "pauses", "2s is not after 2s"),
        (|o| o.pauses = vec![[Duration::ZERO, Duration::from_nanos(1)]; 1001], "pauses", "at most 1000"),
    ] {
        let error = options(change).check().unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
    let unused = |change: fn(&mut EncoderOptions)| -> Vec<&str> {
        options(change).unused().iter().map(|error| error.key).collect()
    };
    assert_eq!(unused(|o| o.key_interval = Some(30)), ["loop_from"]);
    let without = ["loop_from", "key_factor", "key_priority", "burst_change", "burst_size"];
    assert_eq!(unused(|o| o.burst_frames = 0), without);
    assert_eq!(unused(|o| o.file = Some("video.txt".into())), ["size_scale", "key_interval", "key_factor"]);
}

/// Three encodings of five pictures, of which the last three repeat: 1000, 2000 and 4000 B on average, which are 400,
/// 800 and 1600 kb/s at 20 ms. The streams are not in the order of their rates.
fn traced(change: impl FnOnce(&mut EncoderOptions)) -> Result<Encoder, OptionError> {
    let streams =
        [(2, [9000, 800, 1500, 2500, 2000]), (0, [3000, 300, 900, 1200, 900]), (5, [20_000, 2000, 5000, 3000, 4000])];
    let mut text = String::new();
    for frame in 0..5 {
        for (stream, sizes) in streams {
            let flags = if frame == 0 { "K_" } else { "__" };
            let (at, size) = (f64::from(frame) * 0.04, sizes[frame as usize]);
            text += &format!("packet|codec_type=video|stream_index={stream}|dts_time={at}|size={size}|flags={flags}\n");
        }
    }
    text += "packet|codec_type=audio|stream_index=1|dts_time=0|size=80|flags=K_\n";
    of_text(&text, |o| {
        (o.min_rate, o.max_rate, o.start_rate) = (kbps(100), kbps(3200), kbps(400));
        (o.reaction, o.burst_frames, o.loop_from) = (Duration::ZERO, 0, 2);
        change(o);
    })
}

fn of_text(text: &str, change: impl FnOnce(&mut EncoderOptions)) -> Result<Encoder, OptionError> {
    let options = exact(|o| {
        o.file = Some("video.txt".into());
        change(o);
    });
    let trace = Some(Trace::parse(text).unwrap().into());
    Encoder::new(&options, Context { start: START, stop: None, random: Random::new(1, "encoder"), trace })
}

/// Case a: sizes between two rates are interpolated, here at the rates of the ladder and halfway. The frames after the
/// first two repeat.
#[test]
fn rfc8593_6_2_1_sizes_are_interpolated() {
    for (rate, expected) in [
        (400, [3000, 300, 900, 1200, 900, 900, 1200, 900, 900]),
        (600, [6000, 550, 1200, 1850, 1450, 1200, 1850, 1450, 1200]),
        (800, [9000, 800, 1500, 2500, 2000, 1500, 2500, 2000, 1500]),
        (1000, [11_750, 1100, 2375, 2625, 2500, 2375, 2625, 2500, 2375]),
        (1600, [20_000, 2000, 5000, 3000, 4000, 5000, 3000, 4000, 5000]),
    ] {
        assert_eq!(sizes(&frames(&mut traced(|_| {}).unwrap(), 9, |_| rate)), expected, "{rate} kb/s");
    }
}

/// Cases b and c: sizes below the lowest rate and above the highest are scaled.
#[test]
fn rfc8593_6_2_1_sizes_are_scaled_outside_of_the_ladder() {
    for (rate, expected) in [(200, [1500, 150, 450, 600, 450]), (3200, [40_000, 4000, 10_000, 6000, 8000])] {
        assert_eq!(sizes(&frames(&mut traced(|_| {}).unwrap(), 5, |_| rate)), expected, "{rate} kb/s");
    }
}

/// The mean rate of the frames that repeat is the target, at each rate.
#[test]
fn rfc8593_6_2_1_the_mean_rate_is_the_target() {
    for rate in [100, 250, 400, 555, 800, 1234, 1600, 3000] {
        let all = sizes(&frames(&mut traced(|_| {}).unwrap(), 302, |_| rate));
        let mean = all[2..].iter().sum::<u64>() as f64 / 300.0;
        assert!((mean - (rate * 1000) as f64 / 400.0).abs() <= 0.5, "{rate} kb/s: {mean}");
    }
}

/// A change of the rate continues with the next picture, and an I frame keeps its kind and priority.
#[test]
fn rfc8593_6_2_1_the_trace_continues_at_the_new_rate() {
    let mut encoder = traced(|o| o.priority = 3).unwrap();
    let all = frames(&mut encoder, 6, |ms| if ms < 40 { 400 } else { 1600 });
    assert_eq!(sizes(&all), [3000, 300, 5000, 3000, 4000, 5000]);
    let kinds: Vec<(MediaKind, u8)> = all.iter().map(|write| (write.kind, write.priority)).collect();
    assert_eq!(kinds[0], (MediaKind::VideoI, 0));
    assert!(kinds[1..].iter().all(|kind| *kind == (MediaKind::VideoP, 3)));
}

/// The hybrid model: a burst of the statistical model, then the trace, which has advanced in the meantime.
#[test]
fn rfc8593_7_bursts_replace_frames_of_the_trace() {
    let mut encoder =
        traced(|o| (o.start_rate, o.burst_frames, o.burst_size) = (kbps(800), 3, Bytes::new(4000))).unwrap();
    assert_eq!(sizes(&frames(&mut encoder, 6, |_| 800)), [4000, 1000, 1000, 2500, 2000, 1500]);
}

#[test]
fn unfit_traces_are_rejected() {
    let error = |result: Result<Encoder, OptionError>| result.map(drop).unwrap_err();
    let packet = |stream: u32, kind: &str, size: u32| {
        format!("packet|codec_type={kind}|stream_index={stream}|dts_time=0|size={size}|flags=__\n")
    };
    for (text, key, part) in [
        (packet(0, "audio", 80), "file", "the trace has no video"),
        (packet(0, "video", 80), "loop_from", "the trace has 1 frames: loop_from is at most 0"),
        (
            packet(0, "video", 80) + &packet(0, "video", 80) + &packet(3, "video", 90),
            "file",
            "stream 3 has 1 frames, and another has 2",
        ),
        (packet(0, "video", 80).repeat(21) + &packet(1, "video", 80).repeat(21), "file", "the same rate"),
    ] {
        let error = error(of_text(&text, |_| {}));
        assert!(error.key == key && error.message.contains(part), "{error}");
    }
    let options = exact(|o| o.file = Some("video.txt".into()));
    assert_eq!((options.largest_write(None), options.check()), (None, Ok(())));
    let context = Context { start: START, stop: None, random: Random::new(1, "encoder"), trace: None };
    assert_eq!(error(Encoder::new(&options, context)).key, "file");
}

prop_compose! {
    fn any_options()(
        rates in (150u64..2_000, 0u64..4_000),
        interval in 10_000u64..100_000,
        scales in (0.0f64..0.2, 0.0f64..0.2),
        burst in (prop_oneof![Just(0u32), 2u32..40], 10u64..60_000, 0.0f64..0.5),
        reaction in 0u64..2_000,
        keys in (prop::option::of(2u32..300), 1.0f64..20.0),
    ) -> EncoderOptions {
        options(|o| {
            (o.min_rate, o.start_rate, o.max_rate) = (kbps(rates.0), kbps(rates.0), kbps(rates.0 + rates.1));
            o.frame_interval = Duration::from_micros(interval);
            (o.interval_scale, o.size_scale) = scales;
            (o.burst_frames, o.burst_size, o.burst_change) = (burst.0, Bytes::new(burst.1), burst.2);
            o.reaction = Duration::from_millis(reaction);
            (o.key_interval, o.key_factor) = keys;
        })
    }
}

proptest! {
    /// At a constant target the mean rate of n frames deviates by at most the sum of:
    /// - five standard deviations of the sum of sizes and of the sum of intervals, each of n values with the relative
    ///   standard deviation sqrt(2) s, where s is the scale. Sizes of a key cycle have the weights of their shares,
    ///   whose mean square is at most that of the largest shares.
    /// - the shift of the mean by the limits at -1, s exp(-1/s) / 2.
    /// - the sizes of an unfinished key cycle.
    #[test]
    fn rfc8593_5_3_the_long_run_rate_is_the_target(o in any_options(), seed: u64, requested in 150u64..6_000) {
        prop_assume!(o.check().is_ok());
        const FRAMES: usize = 3000;
        let mut encoder = start(&o, seed);
        // The first burst, the reaction time and the burst after it are not counted.
        while encoder.poll_timeout().unwrap() < START + o.reaction + o.frame_interval * 4 {
            let _ = frames(&mut encoder, 1, |_| requested);
        }
        let _ = frames(&mut encoder, 2 * o.burst_frames as usize + 1, |_| requested);
        let begin = encoder.poll_timeout().unwrap();
        let all = frames(&mut encoder, FRAMES, |_| requested);
        let seconds = encoder.poll_timeout().unwrap().since(begin).as_secs_f64();
        let target = kbps(requested).clamp(o.min_rate, o.max_rate);
        prop_assert_eq!(encoder.rate(), target);
        let rate = all.iter().map(bytes).sum::<u64>() as f64 * 8.0 / seconds;
        let ratio = rate / target.bits_per_second() as f64;

        let (key, other) = o.key_interval.map_or((1.0, 1.0), |frames| first_and_others(o.key_factor, frames).unwrap());
        let cycle = f64::from(o.key_interval.unwrap_or(1));
        let mean_square = (key * key + (cycle - 1.0) * other * other) / cycle;
        let n = FRAMES as f64;
        let spread = |scale: f64, mean_square: f64| 5.0 * scale * (2.0 * mean_square / n).sqrt();
        let shift = |scale: f64| if scale > 0.0 { scale * libm::exp(-1.0 / scale) / 2.0 } else { 0.0 };
        let unfinished = (key - 1.0).abs().max(cycle * (other - 1.0).abs()) / n;
        // The smallest frames are limited to 10 B.
        let smallest = 10.0 / o.mean_bytes(target) * 0.02;
        let bound = spread(o.size_scale, mean_square) + spread(o.interval_scale, 1.0)
            + shift(o.size_scale) + shift(o.interval_scale) + unfinished + smallest;
        prop_assert!((ratio - 1.0).abs() < bound, "{ratio} with bound {bound}");
        prop_assert!(bound < 0.15, "the bound itself is a few percent: {bound}");
    }

    /// Each captured frame is written or skipped, in order, within the bounds, and whatever the transport reports.
    #[test]
    fn captured_frames_are_written_or_skipped(
        o in any_options(), seed: u64, states in prop::collection::vec((prop::option::of(0u64..9_000), 0u64..100_000), 1..300),
    ) {
        prop_assume!(o.check().is_ok());
        let o = EncoderOptions { skip_above: Some(Duration::from_millis(150)), ..o };
        let mut encoder = start(&o, seed);
        let (mut captured, mut writes) = (0, Vec::new());
        for (rate, waiting) in &states {
            encoder.follow(TransportState { target_rate: rate.map(kbps), waiting: Bytes::new(*waiting) });
            let due = encoder.poll_timeout().unwrap();
            captured += 1;
            let write = encoder.poll(due);
            prop_assert!(write.is_none_or(|write| write.created == due));
            prop_assert!((o.min_rate..=o.max_rate).contains(&encoder.rate()));
            writes.extend(write);
        }
        let counts = encoder.counts();
        prop_assert_eq!(captured, writes.len() as u64 + counts.skipped_frames);
        prop_assert_eq!((captured, writes.iter().map(bytes).sum::<u64>()), (counts.captured_frames, counts.written_bytes));
        prop_assert!(counts.bursts <= counts.rate_changes && counts.rate_changes <= captured);
        prop_assert!((0.0..=counts.windowed_bytes).contains(&counts.bytes_above_target));
        prop_assert!(counts.windowed_bytes <= counts.written_bytes as f64);
        prop_assert!(writes.windows(2).all(|pair| pair[0].created < pair[1].created));
        let WriteSize::Payload(largest) = o.largest_write(None).unwrap() else { panic!() };
        prop_assert!(writes.iter().all(|write| (10..=largest.count()).contains(&bytes(write))));
        let length = encoder.poll_timeout().unwrap().since(START);
        prop_assert!(captured <= o.writes_within(length));
    }
}
