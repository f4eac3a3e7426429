use super::*;
use headway_units::Options as _;
use proptest::prelude::*;

fn options(change: impl FnOnce(&mut ConferenceOptions)) -> ConferenceOptions {
    let mut options = ConferenceOptions::preset(Dialect::Rfc);
    change(&mut options);
    options
}

fn start(options: &ConferenceOptions, seed: u64, begin: Instant, length: Duration) -> Conference {
    options.check().unwrap();
    let context = Context { start: begin, stop: Some(begin + length), random: Random::new(seed, "call"), trace: None };
    Conference::new(options, context)
}

const RUN: Duration = Duration::from_secs(60);

/// Returns all writes of a minute, polled when due.
fn call(options: &ConferenceOptions, seed: u64) -> Vec<Write> {
    let mut call = start(options, seed, Instant::ZERO, RUN);
    std::iter::from_fn(|| {
        let due = call.poll_timeout()?;
        let write = call.poll(due).unwrap();
        assert_eq!(write.created, due);
        Some(write)
    })
    .collect()
}

fn bytes(write: &Write) -> u64 {
    match write.size {
        WriteSize::Wire(size) | WriteSize::Payload(size) => size.count(),
    }
}

fn of(kind: MediaKind, writes: &[Write]) -> Vec<Write> {
    writes.iter().filter(|write| write.kind == kind).copied().collect()
}

/// Returns times in ns and sizes of whole frames.
fn frames(writes: &[Write]) -> Vec<(u64, u64)> {
    let video = of(MediaKind::Video, writes);
    video
        .chunk_by(|a, b| a.created == b.created)
        .map(|frame| (frame[0].created.as_nanos(), frame.iter().map(bytes).sum()))
        .collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The SFDPS paper, section 4.1: 86 kb/s of audio (85.6), 289 of video (288.5), and 374 in total.
#[test]
fn a_minute_has_the_papers_rates() {
    let rate = |writes: &[Write]| writes.iter().map(bytes).sum::<u64>() as f64 * 8.0 / 60.0;
    let calls: Vec<Vec<Write>> = (0..30).map(|seed| call(&options(|_| {}), seed)).collect();
    let audio = rate(&of(MediaKind::Audio, &calls[0]));
    assert_eq!(audio, 85_600.0);
    assert!((audio / 86_000.0 - 1.0).abs() < 0.005);
    let video = mean(calls.iter().map(|call| rate(&of(MediaKind::Video, call))));
    assert!((video / 289_000.0 - 1.0).abs() < 0.01, "{video}");
    let all = mean(calls.iter().map(|call| rate(call)));
    assert!((all / 374_000.0 - 1.0).abs() < 0.01, "{all}");
}

/// Section 4.2: three patterns in 60 s, without the first 3 s.
#[test]
fn a_minute_has_the_papers_counts() {
    let call = call(&options(|_| {}), 1);
    let counts = |from: u64| {
        let counted: Vec<Write> =
            call.iter().filter(|write| write.created >= Instant::from_secs(from)).copied().collect();
        (of(MediaKind::Audio, &counted).len(), frames(&counted).len())
    };
    assert_eq!(counts(0), (3000, 600));
    assert_eq!(counts(3), (2850, 570));
}

/// Returns packets per frame, with and without motion, and bytes per packet, over `runs` minutes.
fn cutting(options: &ConferenceOptions, runs: u64) -> (f64, f64, f64) {
    let (mut packets, mut moved, mut still, mut sum) = (0, 0, 0, 0);
    for seed in 0..runs {
        let call = call(options, seed);
        packets += call.len();
        sum += call.iter().map(bytes).sum::<u64>();
        for write in of(MediaKind::Video, &call) {
            let phase = write.created.as_nanos() / 1_000_000_000 % 20;
            *(if (10..15).contains(&phase) { &mut still } else { &mut moved }) += 1;
        }
    }
    let runs = runs as f64;
    (f64::from(moved) / (450.0 * runs), f64::from(still) / (150.0 * runs), sum as f64 / packets as f64)
}

/// Normal sizes split at 1026 B, integrated numerically: 4.837 and 1.568 packets per frame and 518.9 B per packet if
/// sizes below 1 B are redrawn; 4.837, 1.560 and 518.6 B if they are raised to 1 B. The paper (section 5.2) has 519 B.
#[test]
fn packets_have_the_papers_mean_size() {
    for (smaller, still_expected, mean_expected) in
        [(SmallerFrames::Redraw, 1.567, 518.87), (SmallerFrames::Truncate, 1.5605, 518.62)]
    {
        let (moved, still, mean) = cutting(&options(|o| o.smaller_frames = smaller), 200);
        assert!((moved - 4.837).abs() < 0.015, "{moved}");
        assert!((still - still_expected).abs() < 0.01, "{still}");
        assert!((mean - mean_expected).abs() < 0.6, "{mean}");
        assert!((mean / 519.0 - 1.0).abs() < 0.005, "{mean}");
    }
}

/// Mean of still frames: 1075 B plus the effect of the cut tail. For a normal distribution with z = (1 - 1075) / 475 =
/// -2.26 it is 475 phi(z) / Phi(-z) = 15 B with redraws, and 475 (phi(z) + z Phi(z)) = 2 B with sizes raised to 1 B.
#[test]
fn small_frames_are_redrawn_or_raised() {
    let sizes = |smaller| -> Vec<u64> {
        let still = options(|o| {
            o.pattern = vec![Duration::ZERO, Duration::from_secs(1)];
            o.smaller_frames = smaller;
        });
        (0..200).flat_map(|seed| frames(&call(&still, seed))).map(|(_, size)| size).collect()
    };
    let (redrawn, raised) = (sizes(SmallerFrames::Redraw), sizes(SmallerFrames::Truncate));
    assert_eq!((redrawn.len(), raised.len()), (120_000, 120_000));
    let average = |sizes: &[u64]| mean(sizes.iter().map(|&size| size as f64));
    // The standard error of 120 000 frames is 1.4 B.
    assert!((average(&redrawn) - 1089.8).abs() < 5.5, "{}", average(&redrawn));
    assert!((average(&raised) - 1076.9).abs() < 5.5, "{}", average(&raised));
    let least = |sizes: &[u64]| sizes.iter().filter(|&&size| size == 1).count();
    // Phi(-2.26) = 1.19 %.
    assert!((1_200..1_650).contains(&least(&raised)), "{}", least(&raised));
    assert!(least(&redrawn) < 30 && !redrawn.contains(&0) && !raised.contains(&0));
}

#[test]
fn sizes_are_rounded_to_the_nearest_byte() {
    let distribution = SizeDistribution { mean: Bytes::new(1_000), deviation: Bytes::new(100) };
    for (z, size) in [(0.0, 1_000), (0.004, 1_000), (0.006, 1_001), (-0.006, 999), (-2.5, 750), (-11.0, 0)] {
        assert_eq!(distribution.size(z), size, "{z}");
    }
}

/// Setup of the measurements of Linux's DCCP: payload sizes, frames of at least 50 B, random phases.
#[test]
fn the_call_of_the_kernel_measurements_can_be_configured() {
    let kernel = options(|o| {
        o.sizes = Sizes::Payload;
        o.smallest_frame = Bytes::new(50);
        o.smaller_frames = SmallerFrames::Truncate;
        o.random_start = true;
    });
    let (mut audio, mut video, mut least) = (Vec::new(), Vec::new(), 0);
    for seed in 0..300 {
        let call = call(&kernel, seed);
        assert!(call.iter().all(|write| matches!(write.size, WriteSize::Payload(_))));
        let frames = frames(&call);
        least += frames.iter().filter(|frame| frame.1 == 50).count();
        assert!(frames.iter().all(|frame| frame.1 >= 50));
        assert_eq!((of(MediaKind::Audio, &call).len(), frames.len()), (3000, 600));
        audio.push(of(MediaKind::Audio, &call)[0].created.as_nanos() as f64 / 20e6);
        video.push(frames[0].0 as f64 / 100e6);
    }
    assert!(least > 0);
    for phases in [audio, video] {
        assert!(phases.iter().all(|phase| (0.0..1.0).contains(phase)));
        // Five standard errors of a mean of 300 uniforms.
        assert!((mean(phases.into_iter()) - 0.5).abs() < 0.083);
    }
}

/// Every fifth audio packet is due with a frame. Both orders are equally likely, and a frame is never split.
#[test]
fn ties_are_broken_at_random() {
    let call = call(&options(|_| {}), 1);
    let mut audio_first = 0;
    for due in call.chunk_by(|a, b| a.created == b.created).filter(|due| due.len() > 1) {
        let place = due.iter().position(|write| write.kind == MediaKind::Audio).unwrap();
        assert!(place == 0 || place == due.len() - 1);
        audio_first += u32::from(place == 0);
    }
    // Five standard deviations of 600 fair draws.
    assert!((239..=361).contains(&audio_first), "{audio_first}");
}

#[test]
fn writes_have_their_kind_priority_and_expiry() {
    let call = call(&options(|_| {}), 1);
    for write in &call {
        let priority = if write.kind == MediaKind::Audio { 0 } else { 1 };
        assert_eq!(write.priority, priority);
        assert_eq!(write.expires, Some(write.created + Duration::from_millis(200)));
        assert!(matches!(write.size, WriteSize::Wire(size) if size.count() <= 1026));
    }
    // Each audio packet ends a frame; of a video frame, only the last packet does.
    let ends = |kind| call.iter().filter(|write| write.kind == kind && write.ends_frame(Bytes::new(0))).count();
    assert_eq!(ends(MediaKind::Audio), call.iter().filter(|write| write.kind == MediaKind::Audio).count());
    assert_eq!(ends(MediaKind::Video), frames(&call).len());
}

/// 10 s of motion, 5 s without, 5 s of motion: 4450 and 1075 B are more than three deviations of either apart.
#[test]
fn the_pattern_starts_at_the_beginning_or_at_random() {
    let shown = |options: &ConferenceOptions, seed| -> Vec<f64> {
        let mut call = start(options, seed, Instant::from_secs(7), RUN);
        let writes: Vec<Write> = std::iter::from_fn(|| call.poll(Instant::FAR_FUTURE)).collect();
        let frames = frames(&writes);
        frames.chunks(10).map(|second| mean(second.iter().map(|frame| frame.1 as f64))).collect()
    };
    for (second, size) in shown(&options(|_| {}), 1).into_iter().enumerate() {
        assert_eq!(size < 2500.0, (10..15).contains(&(second % 20)), "{second}");
    }
    let mut begins_still = 0;
    for seed in 0..200 {
        let seconds = shown(&options(|o| o.random_pattern = true), seed);
        begins_still += u32::from(seconds[0] < 2500.0);
        let still = seconds.iter().filter(|size| **size < 2500.0).count();
        assert!((12..=18).contains(&still));
    }
    // A quarter of the time is still; five standard deviations of 200 draws.
    assert!((20..=80).contains(&begins_still), "{begins_still}");
}

/// Conversational speech (ITU-T P.59): talkspurts for 38.7 % of the time, of 1.004 s, and pauses of 1.587 s on average.
#[test]
fn pauses_are_not_sent() {
    let quiet = options(|o| o.silence_suppression = true);
    let (mut packets, mut spurts, mut loud) = (0, 0, 0);
    for seed in 0..300 {
        let audio = of(MediaKind::Audio, &call(&quiet, seed));
        let times: Vec<u64> = audio.iter().map(|write| write.created.as_nanos()).collect();
        assert!(times.iter().all(|time| time % 20_000_000 == 0));
        packets += times.len();
        spurts += times.chunk_by(|a, b| b - a == 20_000_000).count();
        loud += usize::from(times.first() == Some(&0));
    }
    let duty = packets as f64 / (300.0 * 3000.0);
    assert!((duty - 0.3875).abs() < 0.012, "{duty}");
    assert!((70..=165).contains(&loud), "{loud}");
    // Spurts and pauses shorter than a packet interval are invisible, so visible ones are longer by about 20 ms.
    let spurt = packets as f64 * 0.02 / spurts as f64;
    assert!((0.98..1.08).contains(&spurt), "{spurt}");
}

#[test]
fn audio_options_change_no_frame() {
    let plain = frames(&call(&options(|_| {}), 5));
    for other in [
        options(|o| o.silence_suppression = true),
        options(|o| (o.audio_interval, o.audio_size) = (Duration::from_millis(7), Bytes::new(3))),
    ] {
        assert_eq!(frames(&call(&other, 5)), plain);
    }
    assert_ne!(frames(&call(&options(|_| {}), 6)), plain);
}

#[test]
fn a_late_poll_returns_all_due_writes_with_their_times() {
    let mut call = start(&options(|_| {}), 1, Instant::from_secs(1), RUN);
    assert_eq!(call.poll(Instant::from_nanos(999_999_999)), None);
    let due: Vec<Write> = std::iter::from_fn(|| call.poll(Instant::from_millis(1_115))).collect();
    assert_eq!((of(MediaKind::Audio, &due).len(), frames(&due).len()), (6, 2));
    assert!(due.is_sorted_by_key(|write| write.created));
    assert_eq!(call.poll_timeout(), Some(Instant::from_millis(1_120)));
}

#[test]
fn invalid_options_are_rejected() {
    for (change, key, part) in [
        ((|o| o.audio_size = Bytes::new(0)) as fn(&mut ConferenceOptions), "audio_size", "from 1B to 16MiB"),
        (|o| o.video_packet = Bytes::new(0), "video_packet", "from 1B to 16MiB"),
        (|o| o.smallest_frame = Bytes::new(0), "smallest_frame", "from 1B to 16MiB"),
        (|o| o.audio_interval = Duration::ZERO, "audio_interval", "at least 1ns"),
        (|o| o.frame_interval = Duration::ZERO, "frame_interval", "at least 1ns"),
        (|o| o.still_mean = Bytes::new(0), "still_mean", "below smallest_frame"),
        (|o| o.smallest_frame = Bytes::new(4451), "motion_mean", "below smallest_frame"),
        (|o| o.motion_mean = Bytes::new(16 << 20), "motion_mean", "at most 16MiB"),
        (|o| o.still_deviation = Bytes::new(2 << 20), "still_mean", "at most 16MiB"),
        (|o| o.still_mean = Bytes::new(u64::MAX), "still_mean", "at most 16MiB"),
        (|o| o.pattern.clear(), "pattern", "lasts no time"),
        (|o| o.pattern = vec![Duration::ZERO; 3], "pattern", "lasts no time"),
        (|o| o.pattern = vec![RUN; 1001], "pattern", "at most 1000"),
        (|o| o.lifetime = Some(Duration::ZERO), "lifetime", "at least 1ns"),
        (
            |o| (o.silence_suppression, o.mean_talkspurt) = (true, Duration::from_millis(19)),
            "mean_talkspurt",
            "at least audio_interval",
        ),
    ] {
        let error = options(change).check().unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

/// A frame with motion has at most 4450 + 8.6 * 1000 = 13050 B: 13 packets.
#[test]
fn bounds_are_those_of_the_largest_draw() {
    let plain = options(|_| {});
    assert_eq!(plain.largest_write(), WriteSize::Wire(Bytes::new(1026)));
    assert_eq!(options(|o| o.audio_size = Bytes::new(2000)).largest_write(), WriteSize::Wire(Bytes::new(2000)));
    assert_eq!(plain.writes_within(RUN), 3001 + 601 * 13);
    let absurd = options(|o| (o.audio_interval, o.video_packet) = (Duration::from_nanos(1), Bytes::new(1)));
    assert_eq!(absurd.writes_within(Duration::MAX), u64::MAX);
}

prop_compose! {
    fn any_options()(
        audio in (1u64..100_000_000, 1u64..3000, any::<bool>(), 0u64..200_000_000, 0u64..200_000_000),
        frame_interval in 1u64..300_000_000,
        motion in (0u64..20_000, 0u64..9_000),
        still in (0u64..9_000, 0u64..9_000),
        pattern in prop::collection::vec(0u64..3_000_000_000, 1..6),
        small in (1u64..300, any::<bool>()),
        video_packet in 1u64..3_000,
        random in any::<(bool, bool)>(),
    ) -> ConferenceOptions {
        options(|o| {
            (o.audio_interval, o.audio_size) = (Duration::from_nanos(audio.0), Bytes::new(audio.1));
            o.silence_suppression = audio.2;
            (o.mean_talkspurt, o.mean_pause) = (Duration::from_nanos(audio.3), Duration::from_nanos(audio.4));
            o.frame_interval = Duration::from_nanos(frame_interval);
            (o.motion_mean, o.motion_deviation) = (Bytes::new(motion.0), Bytes::new(motion.1));
            (o.still_mean, o.still_deviation) = (Bytes::new(still.0), Bytes::new(still.1));
            o.pattern = pattern.into_iter().map(Duration::from_nanos).collect();
            o.smallest_frame = Bytes::new(small.0);
            o.smaller_frames = if small.1 { SmallerFrames::Redraw } else { SmallerFrames::Truncate };
            o.video_packet = Bytes::new(video_packet);
            (o.random_start, o.random_pattern) = random;
        })
    }
}

proptest! {
    /// Writes are in order, within the bounds, on the grid, and no byte is lost.
    #[test]
    fn every_call_is_within_its_bounds(o in any_options(), begin in 0u64..u64::MAX / 2, seed: u64, length in 1u64..2_000_000_000) {
        prop_assume!(o.check().is_ok());
        let (begin, length) = (Instant::from_nanos(begin), Duration::from_nanos(length));
        let mut call = start(&o, seed, begin, length);
        let most = o.writes_within(length);
        let mut writes = Vec::new();
        while let Some(due) = call.poll_timeout() {
            let write = call.poll(due).unwrap();
            prop_assert_eq!(write.created, due);
            writes.push(write);
            if writes.len() > 20_000 {
                break;
            }
        }
        prop_assert!(writes.len() as u64 <= most);
        prop_assert!(writes.is_sorted_by_key(|write| write.created));
        for write in &writes {
            prop_assert!(write.created >= begin && write.created < begin + length);
            prop_assert!(bytes(write) >= 1);
            let WriteSize::Wire(most) = o.largest_write() else { panic!() };
            prop_assert!(bytes(write) <= most.count());
        }
        let audio = of(MediaKind::Audio, &writes);
        let gaps = audio.windows(2).map(|pair| pair[1].created.since(pair[0].created).as_nanos());
        let interval = o.audio_interval.as_nanos();
        for gap in gaps {
            prop_assert!(gap > 0 && gap % interval == 0);
            prop_assert!(o.silence_suppression || gap == interval);
        }
        let whole = if writes.len() > 20_000 { 1 } else { 0 };
        let frames = frames(&writes);
        for frame in &frames[..frames.len().saturating_sub(whole)] {
            prop_assert!(frame.1 >= o.smallest_frame.count());
        }
        for pair in frames.windows(2) {
            prop_assert_eq!(pair[1].0 - pair[0].0, o.frame_interval.as_nanos());
        }
    }

    #[test]
    fn no_options_panic(
        numbers in prop::array::uniform12(prop_oneof![1 => any::<u64>(), 6 => 1u64..10, 12 => any::<u64>().prop_map(|n| n >> 44)]),
        pattern in prop::collection::vec(any::<u64>(), 0..4), switches: u8, begin: u64,
    ) {
        let on = |bit: u8| switches & (1 << bit) != 0;
        let o = options(|o| {
            [o.audio_interval, o.mean_talkspurt, o.mean_pause, o.frame_interval] =
                [0, 1, 2, 3].map(|index| Duration::from_nanos(numbers[index]));
            [o.audio_size, o.motion_mean, o.motion_deviation, o.still_mean, o.still_deviation, o.smallest_frame, o.video_packet] =
                [4, 5, 6, 7, 8, 9, 10].map(|index| Bytes::new(numbers[index]));
            o.lifetime = Some(Duration::from_nanos(numbers[11]));
            o.pattern = pattern.into_iter().map(Duration::from_nanos).collect();
            (o.silence_suppression, o.random_start, o.random_pattern) = (on(0), on(1), on(2));
            o.smaller_frames = if on(3) { SmallerFrames::Redraw } else { SmallerFrames::Truncate };
        });
        let _ = (o.largest_write(), o.writes_within(Duration::MAX));
    }
}
