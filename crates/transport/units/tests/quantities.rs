//! Units of quantities, and rounding of times to the nearest nanosecond.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_units::{Bytes, Duration, Rate, Threshold};

/// SI prefixes are powers of 1000, IEC prefixes of 1024; a byte is 8 bits.
#[test]
fn units_have_their_standard_sizes() {
    for (text, bits) in [
        ("3bps", 3),
        ("3kbps", 3_000),
        ("3Mbps", 3_000_000),
        ("3Gbps", 3_000_000_000),
        ("3Tbps", 3_000_000_000_000),
        ("3b/s", 3),
        ("3kb/s", 3_000),
        ("3Mb/s", 3_000_000),
        ("3Gb/s", 3_000_000_000),
        ("3B/s", 24),
        ("3kB/s", 24_000),
        ("3MB/s", 24_000_000),
    ] {
        assert_eq!(text.parse::<Rate>().unwrap().bits_per_second(), bits, "{text}");
    }
    for (text, bytes) in [
        ("3B", 3),
        ("3kB", 3_000),
        ("3MB", 3_000_000),
        ("3GB", 3_000_000_000),
        ("3KiB", 3_072),
        ("3MiB", 3_145_728),
        ("3GiB", 3_221_225_472),
    ] {
        assert_eq!(text.parse::<Bytes>().unwrap().count(), bytes, "{text}");
    }
    for (text, nanos) in [
        ("3ns", 3),
        ("3us", 3_000),
        ("3µs", 3_000),
        ("3ms", 3_000_000),
        ("3s", 3_000_000_000),
        ("3min", 180_000_000_000),
        ("3h", 10_800_000_000_000),
    ] {
        assert_eq!(text.parse::<Duration>().unwrap().as_nanos(), nanos, "{text}");
    }
    for (text, threshold) in [
        ("2.5packets", Threshold::Packets(2.5)),
        ("1packet", Threshold::Packets(1.0)),
        ("2.5B", Threshold::Bytes(2.5)),
        ("2.5kB", Threshold::Bytes(2_500.0)),
        ("2.5MB", Threshold::Bytes(2_500_000.0)),
    ] {
        assert_eq!(text.parse::<Threshold>().unwrap(), threshold, "{text}");
    }
}

/// 8000 bits at 3 Mb/s are 2666666.67 ns, at 7 Mb/s 1142857.14 ns; 8 bits at 16 Gb/s are half a nanosecond.
#[test]
fn transmission_times_are_rounded_to_the_nearest_nanosecond() {
    for (bytes, rate, nanos) in [
        (1000, "3Mbps", 2_666_667),
        (1000, "7Mbps", 1_142_857),
        (1, "16Gbps", 1),
        (1, "17Gbps", 0),
        (1500, "10Mbps", 1_200_000),
    ] {
        let rate: Rate = rate.parse().unwrap();
        assert_eq!(rate.time_of(Bytes::new(bytes)).as_nanos(), nanos, "{bytes} B at {rate}");
    }
}

/// Rounds half up.
#[test]
fn seconds_are_rounded_to_the_nearest_nanosecond() {
    for (seconds, nanos) in [(1.4e-9, 1), (1.6e-9, 2), (0.25, 250_000_000), (-1.0, 0), (f64::NAN, 0)] {
        assert_eq!(Duration::from_secs_f64(seconds).as_nanos(), nanos, "{seconds} s");
    }
}

/// Multiplication saturates.
#[test]
fn a_duration_is_multiplied_with_saturation() {
    assert_eq!((Duration::from_micros(1_500) * 4).as_nanos(), 6_000_000);
    assert_eq!(Duration::MAX * 2, Duration::MAX);
}

#[test]
fn only_a_rate_of_zero_is_zero() {
    for (text, is_zero) in [("0bps", true), ("0.4bps", true), ("1bps", false), ("10Mbps", false)] {
        assert_eq!(text.parse::<Rate>().unwrap().is_zero(), is_zero, "{text}");
    }
}

/// Messages quote at most 40 characters of the input.
#[test]
fn errors_quote_the_input_shortened() {
    for (length, quoted) in [(1, 1), (40, 40), (41, 37), (1_000_000, 37)] {
        let message = "x".repeat(length).parse::<Rate>().unwrap_err().to_string();
        let dots = if quoted < length { "..." } else { "" };
        assert!(message.contains(&format!("\"{}{dots}\"", "x".repeat(quoted))), "{length}: {message}");
    }
}
