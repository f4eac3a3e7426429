//! Frame sizes of the video call of the SFDPS paper (section 4.1): mean and standard deviation with and without motion.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_media::{ConferenceOptions, Context, SmallerFrames, Source, SourceOptions, WriteSize};
use headway_units::{Dialect, Duration, Instant, MediaKind, Options, Random};
use std::collections::BTreeMap;

/// Returns the frames of 40 calls of a minute, with and without motion. Section 4.2: 10 s of motion, 5 s without, 5 s
/// with.
fn frames(options: &ConferenceOptions) -> [Vec<f64>; 2] {
    let mut frames = [Vec::new(), Vec::new()];
    for seed in 0..40 {
        let stop = Some(Instant::from_secs(60));
        let context = Context { start: Instant::ZERO, stop, random: Random::new(seed, "flow"), trace: None };
        let mut source = Source::new(&SourceOptions::Conference(options.clone()), context).unwrap();
        let mut sizes: BTreeMap<Instant, u64> = BTreeMap::new();
        while let Some(write) = source.poll_timeout().and_then(|due| source.poll(due)) {
            let (WriteSize::Wire(size) | WriteSize::Payload(size)) = write.size;
            if write.kind == MediaKind::Video {
                *sizes.entry(write.created).or_default() += size.count();
            }
        }
        for (at, size) in sizes {
            let still = (10..15).contains(&(at.as_nanos() / 1_000_000_000 % 20));
            frames[usize::from(still)].push(size as f64);
        }
    }
    frames
}

fn moments(sizes: &[f64]) -> (f64, f64) {
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let squares: f64 = sizes.iter().map(|size| (size - mean) * (size - mean)).sum();
    (mean, (squares / (sizes.len() as f64 - 1.0)).sqrt())
}

/// "4450 B +- 1000 B" with motion, "1075 B +- 475 B" without. The standard error of the mean of n normal sizes is s /
/// sqrt(n), that of the deviation s / sqrt(2 n): for 18 000 frames with motion 7.5 and 5.3 B, for 6000 without 6.1 and
/// 4.3 B; four of each are allowed. Frames have at least 1 B. With motion, this limit is 4.4 deviations away and has no
/// effect. Without motion, it is z = -1074 / 475 = -2.261 away, with phi = 0.03095 and Phi = 0.01188 (tables). Redraws
/// raise the mean by 475 x 0.03095 / 0.98812 = 14.9 B and reduce the variance to 475^2 x (1 - 2.261 x 0.03132 -
/// 0.03132^2), a deviation of 457.6 B.
#[test]
fn frame_sizes_have_the_distribution_of_the_paper() {
    let [motion, still] = frames(&ConferenceOptions::preset(Dialect::Rfc));
    assert_eq!((motion.len(), still.len()), (18_000, 6_000));
    for (sizes, mean, deviation, share) in [(motion, 4450.0, 1000.0, 0.6827), (still, 1089.9, 457.6, 0.6724)] {
        let (n, found) = (sizes.len() as f64, moments(&sizes));
        assert!((found.0 - mean).abs() < 4.0 * deviation / n.sqrt(), "mean {} for {mean}", found.0);
        assert!(
            (found.1 - deviation).abs() < 4.0 * deviation / (2.0 * n).sqrt(),
            "deviation {} for {deviation}",
            found.1
        );
        // Truncated distribution: from z = -0.932 to 0.995, (0.8401 - 0.1757) / 0.98812.
        let within = sizes.iter().filter(|size| (*size - mean).abs() < deviation).count() as f64 / n;
        assert!((within - share).abs() < 4.0 * (share * (1.0 - share) / n).sqrt(), "{within} within one deviation");
    }
}

/// With draws below 1 B raised to 1 B: the normal distribution below z = -2.261 has 1.19 % of the frames without
/// motion, 71 of 6000, with a standard error of 8.4.
#[test]
fn raised_frames_are_the_tail_of_the_distribution() {
    let options =
        ConferenceOptions { smaller_frames: SmallerFrames::Truncate, ..ConferenceOptions::preset(Dialect::Rfc) };
    let [_, still] = frames(&options);
    let raised = still.iter().filter(|size| **size == 1.0).count();
    assert!((71 - 34..=71 + 34).contains(&raised), "{raised}");
}

/// The intervals of the paper: audio every 20 ms, a frame every 100 ms.
#[test]
fn a_call_has_the_intervals_of_the_paper() {
    let options = ConferenceOptions::preset(Dialect::Rfc);
    let stop = Some(Instant::from_secs(10));
    let context = Context { start: Instant::ZERO, stop, random: Random::new(1, "flow"), trace: None };
    let mut source = Source::new(&SourceOptions::Conference(options), context).unwrap();
    let (mut audio, mut video) = (Vec::new(), Vec::new());
    while let Some(write) = source.poll_timeout().and_then(|due| source.poll(due)) {
        if write.kind == MediaKind::Audio { &mut audio } else { &mut video }.push(write.created);
    }
    video.dedup();
    for (times, step, count) in [(audio, 20, 500), (video, 100, 100)] {
        assert_eq!(times.len(), count);
        assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_millis(step)));
    }
}

/// Conversational speech (ITU-T P.59, table 1): mean talkspurts of 1.004 s and pauses of 1.587 s.
#[test]
fn talkspurts_and_pauses_have_the_means_of_itu_t_p59() {
    let options = ConferenceOptions::preset(Dialect::Rfc);
    let means = [options.mean_talkspurt, options.mean_pause];
    assert_eq!(means, [1_004, 1_587].map(Duration::from_millis));
}
