use super::*;
use headway_units::Options as _;
use proptest::prelude::*;

fn options(change: impl FnOnce(&mut CbrOptions)) -> CbrOptions {
    let mut options = CbrOptions::preset(Dialect::Rfc);
    change(&mut options);
    options
}

fn every(millis: u64) -> CbrOptions {
    options(|o| {
        o.interval = Some(Duration::from_millis(millis));
        o.size = Some(Bytes::new(1000));
    })
}

fn start(options: &CbrOptions, start: Instant, stop: Option<Instant>, name: &str) -> Cbr {
    options.check().unwrap();
    Cbr::new(options, Context { start, stop, random: Random::new(1, name), trace: None }).unwrap()
}

fn times(cbr: &mut Cbr, at_most: usize) -> Vec<u64> {
    std::iter::from_fn(|| {
        let due = cbr.poll_timeout()?;
        Some(cbr.poll(due).unwrap().created.as_nanos())
    })
    .take(at_most)
    .collect()
}

#[test]
fn a_write_is_created_at_its_due_time() {
    let mut cbr = start(
        &options(|o| {
            o.rate = Some(Rate::from_bits_per_second(64_000));
            o.payload = Some(Bytes::new(160));
            o.lifetime = Some(Duration::from_millis(150));
            o.media = MediaKind::Audio;
            o.priority = 3;
        }),
        Instant::from_millis(100),
        None,
        "",
    );
    assert_eq!(cbr.poll(Instant::from_nanos(99_999_999)), None);
    // The poll is 3 ms late, but the write is created on time.
    assert_eq!(
        cbr.poll(Instant::from_millis(103)),
        Some(Write {
            size: WriteSize::Payload(Bytes::new(160)),
            kind: MediaKind::Audio,
            priority: 3,
            created: Instant::from_millis(100),
            expires: Some(Instant::from_millis(250)),
            rest: WriteSize::NOTHING,
        })
    );
    assert_eq!(cbr.poll(Instant::from_millis(103)), None);
    assert_eq!(cbr.poll_timeout(), Some(Instant::from_millis(120)));
}

proptest! {
    /// The n-th write is within 1 ns of start + n * size * 8 / rate.
    #[test]
    fn rates_are_exact(bytes in 1u64..70_000, rate in 1_000u64..100_000_000_000, n in 1usize..3_000) {
        let o = options(|o| {
            o.rate = Some(Rate::from_bits_per_second(rate));
            o.payload = Some(Bytes::new(bytes));
        });
        prop_assume!(o.check().is_ok());
        let times = times(&mut start(&o, Instant::from_secs(1), None, ""), n);
        let exact = u128::from(bytes) * 8_000_000_000 * (n as u128 - 1) / u128::from(rate);
        prop_assert_eq!(u128::from(times[n - 1]), 1_000_000_000 + exact);
    }

    /// Intervals and the number of writes are within the bounds of the options, with and without dither.
    #[test]
    fn intervals_stay_in_their_bounds(interval in 1u64..1_000_000, dither: bool, random_start: bool, seed: u64) {
        let o = options(|o| {
            o.interval = Some(Duration::from_nanos(interval));
            o.size = Some(Bytes::new(1));
            o.dither = dither;
            o.random_start = random_start;
        });
        let stop = Instant::from_nanos(5_000 + 200 * interval);
        let times = times(&mut start(&o, Instant::from_nanos(5_000), Some(stop), &seed.to_string()), usize::MAX);
        prop_assert!(times.len() as u64 <= o.writes_within(Duration::from_nanos(200 * interval)));
        let phase = if random_start { interval } else { 1 };
        prop_assert!(times[0] < 5_000 + phase);
        for pair in times.windows(2) {
            let gap = pair[1] - pair[0];
            let half = if dither { interval / 2 } else { 0 };
            prop_assert!((interval - half..=interval + half).contains(&gap), "{gap}");
        }
        prop_assert!(*times.last().unwrap() < stop.as_nanos());
    }

    #[test]
    fn no_options_panic_or_stall(
        rate: Option<u64>, interval: Option<u64>, size: Option<u64>, payload: Option<u64>,
        random_start: bool, dither: bool, stop_by_sum: bool, packets: Option<u64>, begin: u64,
    ) {
        let o = options(|o| {
            o.rate = rate.map(Rate::from_bits_per_second);
            o.interval = interval.map(Duration::from_nanos);
            o.size = size.map(|size| Bytes::new(size >> 40));
            o.payload = payload.map(|payload| Bytes::new(payload >> 40));
            (o.random_start, o.dither, o.stop_by_sum, o.packets) = (random_start, dither, stop_by_sum, packets);
        });
        if o.check().is_ok() {
            let times = times(&mut start(&o, Instant::from_nanos(begin), None, ""), 100);
            prop_assert!(times.is_sorted());
            prop_assert!(times.len() < 100 || times[99] > times[0]);
        }
    }
}

/// ns-2 sends at 1, 1.25, 1.5 and 1.75 s for a source from 1 to 2 s with 0.25 s between packets (measured, ns-2.35:
/// `stop` is scheduled before the timer of 2 s and cancels it). Sums of 0.25 are exact.
#[test]
fn no_write_is_sent_at_the_stop() {
    for stop_by_sum in [false, true] {
        let mut o = every(250);
        o.stop_by_sum = stop_by_sum;
        let mut cbr = start(&o, Instant::from_secs(1), Some(Instant::from_secs(2)), "");
        assert_eq!(times(&mut cbr, usize::MAX), [1_000_000_000, 1_250_000_000, 1_500_000_000, 1_750_000_000]);
        assert_eq!(cbr.poll(Instant::FAR_FUTURE), None);
    }
    let mut never = start(&every(250), Instant::from_secs(1), Some(Instant::from_secs(1)), "");
    assert_eq!(never.poll_timeout(), None);
    assert_eq!(never.poll(Instant::FAR_FUTURE), None);
}

#[test]
fn centuries_between_writes_end_the_source() {
    let o = options(|o| {
        o.interval = Some(Duration::from_nanos(u64::MAX / 3 * 2));
        o.size = Some(Bytes::new(1));
        o.dither = true;
    });
    for flow in 0..50 {
        assert!(times(&mut start(&o, Instant::ZERO, None, &flow.to_string()), 9).len() <= 2);
    }
}

#[test]
fn packets_are_counted() {
    let mut o = every(250);
    o.packets = Some(3);
    assert_eq!(times(&mut start(&o, Instant::ZERO, None, ""), usize::MAX), [0, 250_000_000, 500_000_000]);
    assert_eq!(o.writes_within(Duration::from_secs(10)), 3);
    assert_eq!(every(250).writes_within(Duration::from_secs(10)), 41);
    let faster = options(|o| {
        o.rate = Some(Rate::from_bits_per_second(8_000));
        o.size = Some(Bytes::new(1000));
        o.changes = vec![Change { at: Duration::from_secs(9), rate: Rate::from_bits_per_second(80_000) }];
    });
    assert_eq!(faster.writes_within(Duration::from_secs(10)), 101);
}

/// Random starts are uniform over an interval, and the phase stays constant.
#[test]
fn a_random_start_is_uniform_over_an_interval() {
    let mut o = every(8);
    o.random_start = true;
    let mut eighths = [0u32; 8];
    for flow in 0..8_000 {
        let times = times(&mut start(&o, Instant::ZERO, None, &format!("flow {flow}")), 2);
        assert_eq!(times[1] - times[0], 8_000_000);
        eighths[(times[0] / 1_000_000) as usize] += 1;
    }
    // Chi-square with 7 degrees of freedom: 24.3 is the 0.1 % point.
    let chi: f64 = eighths.iter().map(|&n| (f64::from(n) - 1e3) * (f64::from(n) - 1e3) / 1e3).sum();
    assert!(chi < 24.3, "{eighths:?}");
}

#[test]
fn contradictory_options_are_rejected() {
    let full = |rate: Option<u64>, interval: Option<u64>, size: Option<u64>, payload: Option<u64>| {
        options(|o| {
            o.rate = rate.map(Rate::from_bits_per_second);
            o.interval = interval.map(Duration::from_nanos);
            o.size = size.map(Bytes::new);
            o.payload = payload.map(Bytes::new);
        })
        .check()
    };
    for (result, key, part) in [
        (full(Some(1), None, None, None), "size", "needs size"),
        (full(Some(1), None, Some(1), Some(1)), "payload", "exclude each other"),
        (full(None, None, Some(1), None), "rate", "needs rate"),
        (full(Some(1), Some(1), Some(1), None), "interval", "exclude each other"),
        (full(Some(0), None, Some(1), None), "rate", "at least 1bps"),
        (full(None, Some(0), Some(1), None), "interval", "at least 1ns"),
        (full(Some(1), None, Some(0), None), "size", "from 1B to 16MiB"),
        (full(Some(1), None, None, Some((16 << 20) + 1)), "payload", "from 1B to 16MiB"),
        (full(Some(17_000_000_000), None, Some(1), None), "rate", "more than one write each nanosecond"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
    assert!(full(Some(1), None, Some(1 << 24), None).is_ok());
    let change = |millis, rate| Change { at: Duration::from_millis(millis), rate: Rate::from_bits_per_second(rate) };
    for (rate, changes, part) in [
        (None, vec![change(1, 5)], "write rate instead of interval"),
        (Some(1), vec![change(2, 5), change(2, 6)], "write a time after 2ms"),
        (Some(1), vec![change(2, 0)], "at least 1bps"),
        (Some(1), vec![change(2, 17_000_000_000_000)], "more than one write each nanosecond"),
    ] {
        let error = options(|o| {
            o.rate = rate.map(Rate::from_bits_per_second);
            o.interval = rate.is_none().then_some(Duration::from_millis(1));
            o.size = Some(Bytes::new(1000));
            o.changes = changes;
        })
        .check()
        .unwrap_err();
        assert_eq!(error.key, "changes", "{error}");
        assert!(error.message.contains(part), "{error}");
    }
    let zero = |change: fn(&mut CbrOptions)| {
        let mut o = every(8);
        change(&mut o);
        o.check().unwrap_err().key
    };
    assert_eq!(zero(|o| o.packets = Some(0)), "packets");
    assert_eq!(zero(|o| o.lifetime = Some(Duration::ZERO)), "lifetime");
}
