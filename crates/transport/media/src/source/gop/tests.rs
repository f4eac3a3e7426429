use super::*;
use headway_units::Options as _;
use proptest::prelude::*;

fn options(change: impl FnOnce(&mut GopOptions)) -> GopOptions {
    let mut options = GopOptions::preset(Dialect::Rfc);
    (options.i_mean, options.p_mean, options.b_mean) =
        (Some(Bytes::new(26_000)), Some(Bytes::new(5_700)), Some(Bytes::new(2_100)));
    change(&mut options);
    options
}

fn pattern(pattern: &str) -> GopOptions {
    options(|o| o.pattern = pattern.into())
}

fn start(options: &GopOptions, seed: u64) -> Gop {
    options.check().unwrap();
    let context = Context { start: Instant::from_secs(1), stop: None, random: Random::new(seed, "film"), trace: None };
    Gop::new(options, context).unwrap()
}

/// Returns written frames: time after the start in ns, kind, and size in bytes.
fn frames(gop: &mut Gop, count: usize) -> Vec<(u64, MediaKind, u64)> {
    let mut frames: Vec<(u64, MediaKind, u64)> = Vec::new();
    while frames.len() < count || gop.packets.peek().is_some() {
        let due = gop.poll_timeout().unwrap();
        let write = gop.poll(due).unwrap();
        assert_eq!(write.created, due);
        let (at, bytes) = (due.since(Instant::from_secs(1)).as_nanos(), write.size.payload(Bytes::new(0)).count());
        match frames.last_mut() {
            Some(frame) if frame.0 == at => frame.2 += bytes,
            _ => frames.push((at, write.kind, bytes)),
        }
    }
    frames
}

fn letters(frames: &[(u64, MediaKind, u64)]) -> String {
    let letter = |kind| match kind {
        MediaKind::VideoI => 'I',
        MediaKind::VideoP => 'P',
        MediaKind::VideoB => 'B',
        _ => '?',
    };
    frames.iter().map(|frame| letter(frame.1)).collect()
}

/// B frames follow the frame presented after them. Those at the end of a GOP follow the next I frame.
#[test]
fn frames_are_written_in_coding_order() {
    for (presented, coded) in [
        ("IBBPBBPBBPBB", "IPBBPBBPBBIBBPBBPBBPBBIBBPBB"),
        ("IBBPBBP", "IPBBPBBIPBBPBBIPBBPBB"),
        ("IPPP", "IPPPIPPPIPPP"),
        ("IB", "IIBIBIB"),
        ("IBIPB", "IIBPIBIBPIBIBP"),
        ("I", "IIII"),
    ] {
        let written = frames(&mut start(&pattern(presented), 1), coded.len());
        assert_eq!(letters(&written), coded, "{presented}");
    }
}

#[test]
fn frames_are_evenly_spaced_and_packets_have_their_kind() {
    let mut gop = start(&options(|o| o.lifetime = Some(Duration::from_millis(150))), 1);
    let writes: Vec<Write> = std::iter::from_fn(|| gop.poll(Instant::from_millis(1_119))).collect();
    // 26000 = 18 * 1400 + 800, 5700 = 4 * 1400 + 100, 2100 = 1400 + 700.
    assert_eq!(writes.len(), 19 + 5 + 2);
    let expected = [
        (
            0,
            Write {
                size: WriteSize::Payload(Bytes::new(1400)),
                rest: WriteSize::Payload(Bytes::new(24_600)),
                ..of(MediaKind::VideoI, 0, 1_000)
            },
        ),
        (18, Write { size: WriteSize::Payload(Bytes::new(800)), ..of(MediaKind::VideoI, 0, 1_000) }),
        (23, Write { size: WriteSize::Payload(Bytes::new(100)), ..of(MediaKind::VideoP, 1, 1_040) }),
        (25, Write { size: WriteSize::Payload(Bytes::new(700)), ..of(MediaKind::VideoB, 2, 1_080) }),
    ];
    for (index, write) in expected {
        assert_eq!(writes[index], write);
    }
    assert_eq!(gop.poll_timeout(), Some(Instant::from_millis(1_120)));
}

fn of(kind: MediaKind, priority: u8, millis: u64) -> Write {
    Write {
        size: WriteSize::Payload(Bytes::new(0)),
        kind,
        priority,
        created: Instant::from_millis(millis),
        expires: Some(Instant::from_millis(millis + 150)),
        rest: WriteSize::NOTHING,
    }
}

#[test]
fn without_variation_every_frame_has_its_mean() {
    for (_, kind, bytes) in frames(&mut start(&options(|_| {}), 1), 100) {
        let mean = match kind {
            MediaKind::VideoI => 26_000,
            MediaKind::VideoP => 5_700,
            _ => 2_100,
        };
        assert_eq!(bytes, mean);
    }
}

/// A lognormal distribution of mean 10 kB and variation 0.5: s^2 = ln 1.25, the median is 10 kB / sqrt(1.25) = 8944 B,
/// and 15.87 % exceed the median times exp(s) = 14 346 B.
#[test]
fn sizes_are_lognormal() {
    let gop = options(|o| (o.pattern, o.i_mean, o.variation) = ("I".into(), Some(Bytes::new(10_000)), 0.5));
    let sizes: Vec<f64> = frames(&mut start(&gop, 1), 40_000).iter().map(|frame| frame.2 as f64).collect();
    let count = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / count;
    let deviation = (sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / count).sqrt();
    // Four standard errors: 5000 / 200 B each.
    assert!((mean - 10_000.0).abs() < 100.0, "{mean}");
    assert!((deviation / mean - 0.5).abs() < 0.02, "{deviation}");
    let above = |bound: f64| sizes.iter().filter(|size| **size > bound).count() as f64 / count;
    assert!((above(8_944.0) - 0.5).abs() < 0.01, "{}", above(8_944.0));
    assert!((above(14_346.0) - 0.1587).abs() < 0.008, "{}", above(14_346.0));
}

/// The starts of many flows are uniform over the GOP of 480 ms. Sizes do not depend on the option.
#[test]
fn a_random_start_is_uniform_over_a_gop() {
    let random = options(|o| (o.random_start, o.variation) = (true, 0.3));
    let fixed = options(|o| o.variation = 0.3);
    let mut eighths = [0u32; 8];
    for seed in 0..4_000 {
        let late = frames(&mut start(&random, seed), 3);
        eighths[(late[0].0 / 60_000_000) as usize] += 1;
        assert_eq!(late[2].0 - late[0].0, 80_000_000);
        let early = frames(&mut start(&fixed, seed), 3);
        assert!(early.iter().zip(&late).all(|(early, late)| early.2 == late.2));
    }
    // Chi-square with 7 degrees of freedom: 24.3 is the 0.1 % point.
    let chi: f64 = eighths.iter().map(|&n| (f64::from(n) - 500.0) * (f64::from(n) - 500.0) / 500.0).sum();
    assert!(chi < 24.3, "{eighths:?}");
}

#[test]
fn invalid_options_are_rejected() {
    for (change, key, part) in [
        ((|o| o.pattern.clear()) as fn(&mut GopOptions), "pattern", "begins with its I-frame"),
        (|o| o.pattern = "BBI".into(), "pattern", "begins with its I-frame"),
        (|o| o.pattern = "IBXP".into(), "pattern", "'X' is no frame type"),
        (|o| o.pattern = "I".repeat(1001), "pattern", "at most 1000"),
        (|o| o.i_mean = None, "i_mean", "the pattern has I-frames"),
        (|o| o.b_mean = None, "b_mean", "the pattern has B-frames"),
        (|o| o.p_mean = Some(Bytes::new(0)), "p_mean", "from 1B to 16MiB"),
        (|o| o.frame_interval = Duration::ZERO, "frame_interval", "at least 1ns"),
        (|o| o.variation = -0.1, "variation", "variation is from 0 to 2"),
        (|o| o.variation = f64::NAN, "variation", "variation is from 0 to 2"),
        (|o| o.video_packet = Bytes::new(0), "video_packet", "from 1B to 16MiB"),
        (|o| o.lifetime = Some(Duration::ZERO), "lifetime", "at least 1ns"),
    ] {
        let error = options(change).check().unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
    options(|o| (o.pattern, o.p_mean, o.b_mean) = ("I".into(), None, None)).check().unwrap();
}

#[test]
fn bounds_are_those_of_the_largest_draw() {
    let even = options(|_| {});
    assert_eq!(even.largest_write(), WriteSize::Payload(Bytes::new(1400)));
    assert_eq!(even.writes_within(Duration::from_secs(1)), 26 * 19);
    let small = options(|o| (o.pattern, o.i_mean) = ("I".into(), Some(Bytes::new(700))));
    assert_eq!(small.largest_write(), WriteSize::Payload(Bytes::new(700)));
    let absurd = options(|o| (o.frame_interval, o.video_packet) = (Duration::from_nanos(1), Bytes::new(1)));
    assert_eq!(absurd.writes_within(Duration::MAX), u64::MAX);
}

proptest! {
    /// A decoder that delays each I or P frame until the next one, and shows B frames immediately, shows the repeated
    /// pattern. Frames are evenly spaced, and packets are within the size and number limits.
    #[test]
    fn a_decoder_restores_the_pattern(
        rest in "[IPB]{0,15}", interval in 1u64..100_000_000, variation in 0.0..2.0, packet in 1u64..3_000, seed: u64,
    ) {
        let o = options(|o| {
            o.pattern = format!("I{rest}");
            o.frame_interval = Duration::from_nanos(interval);
            (o.i_mean, o.p_mean, o.b_mean) = (Some(Bytes::new(900)), Some(Bytes::new(300)), Some(Bytes::new(1)));
            (o.variation, o.video_packet) = (variation, Bytes::new(packet));
        });
        let written = frames(&mut start(&o, seed), 60);
        let (mut shown, mut held) = (String::new(), None);
        for letter in letters(&written).chars() {
            match letter {
                'B' => shown.push('B'),
                reference => shown.extend(held.replace(reference)),
            }
        }
        prop_assert_eq!(&shown, &o.pattern.repeat(60)[..shown.len()]);
        for (n, frame) in written.iter().enumerate() {
            prop_assert_eq!(frame.0, n as u64 * interval);
            prop_assert!(frame.2 >= 1 && frame.2 <= o.largest_frame());
        }
        let length = Duration::from_nanos(60 * interval);
        let mut gop = start(&o, seed);
        let writes: Vec<Write> =
            std::iter::from_fn(|| gop.poll(Instant::from_nanos(1_000_000_000 + 60 * interval - 1))).collect();
        prop_assert!(writes.len() as u64 <= o.writes_within(length));
        prop_assert!(writes.is_sorted_by_key(|write| write.created));
        let bytes = |write: &Write| write.size.payload(Bytes::new(0)).count();
        prop_assert!(writes.iter().all(|write| (1..=packet).contains(&bytes(write))));
        prop_assert_eq!(writes.iter().map(bytes).sum::<u64>(), written.iter().map(|frame| frame.2).sum::<u64>());
    }

    #[test]
    fn no_options_panic_or_stall(
        pattern in "[IPB\\PC]{0,4}", numbers in prop::array::uniform6(any::<u64>()), given in prop::array::uniform3(any::<bool>()),
        variation: f64, begin: u64,
    ) {
        let o = options(|o| {
            o.pattern = format!("I{pattern}");
            o.frame_interval = Duration::from_nanos(numbers[0]);
            [o.i_mean, o.p_mean, o.b_mean] = [0, 1, 2].map(|n| given[n].then(|| Bytes::new(numbers[n + 1] >> 40)));
            (o.variation, o.video_packet) = (variation, Bytes::new(numbers[4] >> 40));
            (o.lifetime, o.random_start) = (Some(Duration::from_nanos(numbers[5])), true);
        });
        let _ = (o.largest_write(), o.writes_within(Duration::MAX));
        if o.check().is_ok() {
            let context = Context { start: Instant::from_nanos(begin), stop: None, random: Random::new(1, ""), trace: None };
            let mut gop = Gop::new(&o, context).unwrap();
            let times: Vec<Instant> =
                std::iter::from_fn(|| gop.poll(Instant::FAR_FUTURE)).map(|write| write.created).take(200).collect();
            prop_assert!(times.is_sorted());
        }
    }
}
