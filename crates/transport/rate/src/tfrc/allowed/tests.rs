//! RFC 5348 sections 4.3 and 4.4, computed by hand: s is 1000 B and R 0.1 s, so the initial rate is 40000 B/s, a packet
//! per round trip 10000 B/s and one per 64 s 15.625 B/s.

use super::*;
use headway_units::{Dialect, Options};

fn options(change: impl FnOnce(&mut TfrcOptions)) -> TfrcOptions {
    let mut options = TfrcOptions::preset(Dialect::Rfc);
    change(&mut options);
    options
}

fn at(seconds: f64) -> Moment {
    Moment {
        now: Instant::from_nanos((seconds * 1e9) as u64),
        s: 1000.0,
        r: Some(0.1),
        w_init: 4000.0,
        idle: false,
        recently_limited: false,
        round: 10,
    }
}

fn idle(seconds: f64) -> Moment {
    Moment { idle: true, ..at(seconds) }
}

fn received(p: f64, x_bps: f64, x_recv: f64) -> ReceivedReport {
    ReceivedReport { p, x_bps, x_recv, new_loss: false, limited: false, overloaded: false }
}

/// Returns the state after a first report at 1 s with the given p, X, X_Bps and X_recv_set.
fn steady(options: &TfrcOptions, p: f64, x: f64, x_bps: f64, x_recv: f64) -> Allowed {
    let mut allowed = Allowed::new(options, 1000.0);
    allowed.begin(&at(0.9));
    allowed.on_report(&at(1.0), &received(0.0, f64::INFINITY, 1e4));
    (allowed.p, allowed.x, allowed.x_bps, allowed.seen_loss) = (p, x, x_bps, p > 0.0);
    allowed.set.replace(at(1.0).now, x_recv);
    allowed
}

fn after(mut allowed: Allowed, moment: &Moment, received: &ReceivedReport) -> f64 {
    allowed.on_report(moment, received);
    allowed.x()
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-9 * wanted, "found {found}, wanted {wanted}");
}

/// Section 4.2: one packet per second or `start_rate` until a round trip is measured; then `W_init` per round trip.
#[test]
fn the_first_rates() {
    let unknown = Moment { r: None, s: 700.0, ..at(0.0) };
    let mut allowed = Allowed::new(&options(|_| ()), 1000.0);
    close(allowed.x(), 1000.0);
    allowed.begin(&unknown);
    close(allowed.x(), 700.0);
    allowed.begin(&at(0.0));
    close(allowed.x(), 40_000.0);
    let mut configured = Allowed::new(&options(|o| o.expert.start_rate = Some("2400bps".parse().unwrap())), 1000.0);
    configured.begin(&unknown);
    close(configured.x(), 300.0);
}

/// Section 4.3 step 4: X = max(min(X_Bps, recv_limit), s / t_mbi), where recv_limit is twice the maximum of X_recv_set.
#[test]
fn the_equation_and_its_limits() {
    let rfc = options(|_| ());
    for (x_bps, x_recv, wanted) in
        [(50_000.0, 40_000.0, 50_000.0), (90_000.0, 40_000.0, 80_000.0), (1.0, 40_000.0, 15.625)]
    {
        let allowed = steady(&rfc, 0.01, 60_000.0, 60_000.0, 30_000.0);
        close(after(allowed, &at(1.1), &received(0.01, x_bps, x_recv)), wanted);
    }
    let unbounded = options(|o| o.expert.minimum_rate = false);
    close(after(steady(&unbounded, 0.01, 6e4, 6e4, 3e4), &at(1.1), &received(0.01, 1.0, 4e4)), 1.0);
}

/// Section 4.3 step 4 for data-limited intervals: after a loss event or a greater p, X_recv_set is halved and includes
/// 85 % of X_recv; otherwise it keeps the maximum.
#[test]
fn data_limited_intervals() {
    let rfc = options(|_| ());
    let report = |p: f64, x_recv: f64, new_loss: bool| {
        let allowed = steady(&rfc, 0.01, 60_000.0, 60_000.0, 100_000.0);
        after(allowed, &at(1.1), &ReceivedReport { limited: true, new_loss, ..received(p, 1e6, x_recv) })
    };
    close(report(0.01, 40_000.0, true), 50_000.0);
    close(report(0.01, 80_000.0, true), 68_000.0);
    close(report(0.02, 40_000.0, false), 50_000.0);
    close(report(0.01, 40_000.0, false), 200_000.0);
    close(report(0.01, 110_000.0, false), 220_000.0);
}

/// Slow start: the rate doubles once per R, limited by recv_limit, and is at least the initial rate (ns-3 and Linux:
/// one packet per round trip).
#[test]
fn doubling() {
    let rfc = options(|_| ());
    let report = |options: &TfrcOptions, seconds: f64, x: f64, x_recv: f64| {
        after(steady(options, 0.0, x, f64::INFINITY, x_recv), &at(seconds), &received(0.0, f64::INFINITY, x_recv))
    };
    close(report(&rfc, 1.1, 60_000.0, 100_000.0), 120_000.0);
    close(report(&rfc, 1.099, 60_000.0, 100_000.0), 60_000.0);
    close(report(&rfc, 1.1, 60_000.0, 50_000.0), 100_000.0);
    close(report(&rfc, 1.1, 60_000.0, 5_000.0), 40_000.0);
    let from_one = options(|o| o.expert.slow_start = SlowStart::DoublingFromOne);
    close(report(&from_one, 1.1, 60_000.0, 2_000.0), 10_000.0);
}

/// ns-2 `conservative_`: 1.5 X_recv, X_recv after a loss, and 2 X_recv in slow start.
#[test]
fn conservative() {
    let careful = options(|o| o.receive_limit = ReceiveLimit::Conservative);
    let lossy = || steady(&careful, 0.01, 60_000.0, 60_000.0, 30_000.0);
    close(after(lossy(), &at(1.1), &received(0.01, 1e6, 40_000.0)), 60_000.0);
    close(after(lossy(), &at(1.1), &ReceivedReport { new_loss: true, ..received(0.01, 1e6, 40_000.0) }), 40_000.0);
    let clean = steady(&careful, 0.0, 60_000.0, f64::INFINITY, 30_000.0);
    close(after(clean, &at(1.1), &received(0.0, f64::INFINITY, 50_000.0)), 100_000.0);
}

/// RFC 4342 section 5.2: the receive rate of an overloaded receiver is the limit immediately, regardless of earlier
/// reports.
#[test]
fn an_overloaded_receiver() {
    let rfc = options(|_| ());
    for (overloaded, wanted) in [(false, 400_000.0), (true, 60_000.0)] {
        let allowed = steady(&rfc, 0.01, 60_000.0, 60_000.0, 200_000.0);
        close(after(allowed, &at(1.1), &ReceivedReport { overloaded, ..received(0.01, 1e6, 30_000.0) }), wanted);
    }
}

/// ns-2: the first loss sets the rate of the equation; then the rate grows by a packet per round trip for each round
/// trip, at most two.
#[test]
fn one_packet_per_round_trip() {
    let ns2 = options(|o| {
        (o.increase, o.receive_limit, o.expert.minimum_rate) = (Increase::PacketPerRtt, ReceiveLimit::Last, false);
    });
    let first = steady(&ns2, 0.0, 60_000.0, f64::INFINITY, 30_000.0);
    close(after(first, &at(1.1), &received(0.01, 99_000.0, 1_000.0)), 99_000.0);
    let later = |moment: &Moment, x_bps: f64, x_recv: f64| {
        after(steady(&ns2, 0.01, 60_000.0, 60_000.0, 30_000.0), moment, &received(0.01, x_bps, x_recv))
    };
    close(later(&at(1.1), 99_000.0, 90_000.0), 70_000.0);
    close(later(&at(1.15), 99_000.0, 90_000.0), 75_000.0);
    close(later(&at(2.0), 99_000.0, 90_000.0), 80_000.0);
    close(later(&at(2.0), 65_000.0, 90_000.0), 65_000.0);
    close(later(&at(1.1), 99_000.0, 33_000.0), 66_000.0);
    // A decrease is immediate. A limit below one packet per round trip is raised to that.
    close(later(&at(1.1), 20_000.0, 90_000.0), 20_000.0);
    close(later(&at(1.1), 20_000.0, 1_000.0), 10_000.0);
    // A limited application keeps the initial rate.
    let limited = Moment { recently_limited: true, ..at(1.1) };
    close(later(&limited, 99_000.0, 1_000.0), 40_000.0);
    close(later(&at(1.1), 99_000.0, 1_000.0), 10_000.0);
    close(later(&limited, 20_000.0, 1_000.0), 10_000.0);
}

/// ns-2's first report starts slow start even if it reports losses (tcp/tfrc.cc, `recv`). The second sets the rate of
/// the equation; the third adds a packet per round trip since the last change, which excludes the second.
#[test]
fn a_first_report_of_losses_in_ns2() {
    let ns2 = options(|o| {
        (o.increase, o.expert.slow_start, o.receive_limit) =
            (Increase::PacketPerRtt, SlowStart::Spread, ReceiveLimit::Last);
    });
    let mut allowed = Allowed::new(&ns2, 1000.0);
    allowed.begin(&at(0.9));
    for (seconds, wanted) in [(1.0, 40_000.0), (1.1, 70_000.0), (1.2, 90_000.0)] {
        let x_bps = if seconds < 1.15 { 70_000.0 } else { 99_000.0 };
        allowed.on_report(&at(seconds), &received(0.01, x_bps, 90_000.0));
        close(allowed.x(), wanted);
    }
}

fn timeout(options: &TfrcOptions, moment: &Moment, p: f64, x: f64, x_bps: f64, x_recv: f64) -> f64 {
    let mut allowed = steady(options, p, x, x_bps, x_recv);
    allowed.on_timeout(moment);
    allowed.x()
}

/// Section 4.4, busy sender: half of X without losses; with losses half of the limit, X_Bps or twice the maximum of
/// X_recv_set; at least s / t_mbi.
#[test]
fn the_nofeedback_timer() {
    let rfc = options(|_| ());
    let busy = at(1.4);
    close(timeout(&rfc, &busy, 0.0, 60_000.0, f64::INFINITY, 30_000.0), 30_000.0);
    close(timeout(&rfc, &busy, 0.0, 20.0, f64::INFINITY, 30_000.0), 15.625);
    close(timeout(&rfc, &busy, 0.01, 60_000.0, 100_000.0, 30_000.0), 30_000.0);
    close(timeout(&rfc, &busy, 0.01, 50_000.0, 50_000.0, 30_000.0), 25_000.0);
    close(timeout(&rfc, &busy, 0.01, 60_000.0, 60_000.0, 30_000.0), 30_000.0);
    let mut allowed = steady(&rfc, 0.01, 60_000.0, 100_000.0, 30_000.0);
    for wanted in [30_000.0, 15_000.0, 7_500.0] {
        allowed.on_timeout(&busy);
        close(allowed.x(), wanted);
    }
}

/// Section 4.4 before any report: half of X; an idle sender keeps its rate while the round-trip time is unknown.
#[test]
fn the_timer_before_any_report() {
    for (idle, wanted) in [(false, 500.0), (true, 1000.0)] {
        let mut allowed = Allowed::new(&options(|_| ()), 1000.0);
        allowed.on_timeout(&Moment { r: None, idle, ..at(2.0) });
        close(allowed.x(), wanted);
    }
    let mut allowed = Allowed::new(&options(|_| ()), 1000.0);
    allowed.begin(&at(0.0));
    allowed.p = 0.01;
    allowed.on_timeout(&at(2.0));
    close(allowed.x(), 20_000.0);
}

/// Idle sender. RFC 5348 section 4.4: unchanged while X_recv (with losses) is below the initial rate, or X (without
/// losses) below twice that. RFC 3448 section 4.4: at least two packets per round trip. RFC 4342 section 5.1: at least
/// the initial rate.
#[test]
fn an_idle_sender() {
    let by = |idle: Idle| options(|o| o.idle = idle);
    let rfc5348 = by(Idle::Rfc5348);
    close(timeout(&rfc5348, &idle(1.4), 0.01, 60_000.0, 90_000.0, 39_000.0), 60_000.0);
    close(timeout(&rfc5348, &idle(1.4), 0.01, 60_000.0, 90_000.0, 40_000.0), 40_000.0);
    close(timeout(&rfc5348, &idle(1.4), 0.0, 79_000.0, f64::INFINITY, 90_000.0), 79_000.0);
    close(timeout(&rfc5348, &idle(1.4), 0.0, 80_000.0, f64::INFINITY, 90_000.0), 40_000.0);
    let rfc3448 = by(Idle::Rfc3448);
    close(timeout(&rfc3448, &idle(1.4), 0.0, 60_000.0, f64::INFINITY, 39_000.0), 60_000.0);
    close(timeout(&rfc3448, &idle(1.4), 0.0, 60_000.0, f64::INFINITY, 40_000.0), 30_000.0);
    let rfc4342 = by(Idle::Rfc4342);
    for (x, wanted) in [(100_000.0, 50_000.0), (60_000.0, 40_000.0), (30_000.0, 30_000.0)] {
        close(timeout(&rfc4342, &idle(1.4), 0.0, x, f64::INFINITY, 30_000.0), wanted);
    }
    close(timeout(&rfc4342, &idle(1.4), 0.01, 60_000.0, 100_000.0, 30_000.0), 40_000.0);
}

/// Faster Restart: an idle sender keeps twice the initial rate.
#[test]
fn an_idle_sender_with_faster_restart() {
    let restart = options(|o| (o.faster_restart, o.idle) = (true, Idle::Rfc4342));
    close(timeout(&restart, &idle(1.4), 0.0, 100_000.0, f64::INFINITY, 30_000.0), 80_000.0);
}

/// ns-2: the rate of a busy sender is halved. That of an idle sender is limited to the initial rate, or halved if above
/// twice that.
#[test]
fn an_idle_sender_in_ns2() {
    let ns2 = options(|o| o.idle = Idle::HalvedToInitial);
    for (moment, x, wanted) in [
        (at(1.4), 60_000.0, 30_000.0),
        (idle(1.4), 60_000.0, 40_000.0),
        (idle(1.4), 80_000.0, 40_000.0),
        (idle(1.4), 90_000.0, 45_000.0),
        (idle(1.4), 30_000.0, 30_000.0),
    ] {
        close(timeout(&ns2, &moment, 0.01, x, 90_000.0, 30_000.0), wanted);
    }
    let mut allowed = Allowed::new(&ns2, 1000.0);
    allowed.on_timeout(&Moment { r: None, idle: true, ..at(2.0) });
    close(allowed.x(), 1000.0);
}

/// Linux: the rate is halved in any case, but after two round trips without packets the limit is at least the initial
/// rate. A report immediately after an expiry does not double the rate.
#[test]
fn an_idle_sender_in_linux() {
    let linux = options(|o| (o.idle, o.receive_limit) = (Idle::HalvedAndLifted, ReceiveLimit::Last));
    close(timeout(&linux, &idle(1.4), 0.0, 60_000.0, f64::INFINITY, 30_000.0), 30_000.0);
    close(timeout(&linux, &at(1.4), 0.01, 60_000.0, 100_000.0, 30_000.0), 30_000.0);
    close(timeout(&linux, &idle(1.4), 0.01, 60_000.0, 100_000.0, 30_000.0), 40_000.0);
    close(after(steady(&linux, 0.01, 6e4, 6e4, 3e4), &idle(1.4), &received(0.01, 1e6, 1_000.0)), 40_000.0);
    close(after(steady(&linux, 0.01, 6e4, 6e4, 3e4), &at(1.4), &received(0.01, 1e6, 1_000.0)), 2_000.0);
    let mut allowed = steady(&linux, 0.0, 60_000.0, f64::INFINITY, 30_000.0);
    allowed.on_timeout(&at(1.4));
    allowed.on_report(&at(1.5), &received(0.0, f64::INFINITY, 90_000.0));
    close(allowed.x(), 30_000.0);
    allowed.on_report(&at(1.6), &received(0.0, f64::INFINITY, 90_000.0));
    close(allowed.x(), 60_000.0);
}

/// ns-2 slow start: each step is spread over the packets of a round trip, from the third round trip.
#[test]
fn spread_slow_start() {
    let ns2 = options(|o| {
        (o.expert.slow_start, o.receive_limit, o.expert.minimum_rate) = (SlowStart::Spread, ReceiveLimit::Last, false);
    });
    let mut allowed = steady(&ns2, 0.0, 40_000.0, f64::INFINITY, 30_000.0);
    allowed.on_report(&at(1.2), &received(0.0, f64::INFINITY, 50_000.0));
    close(allowed.x(), 80_000.0);
    // Eight packets per R at 80000 B/s: steps of 5000 B/s.
    assert_eq!((allowed.rising(2), allowed.rising(3)), (None, Some(40_000.0)));
    for _ in 0..7 {
        allowed.on_send(3);
    }
    close(allowed.rising(3).unwrap(), 75_000.0);
    allowed.on_send(3);
    assert_eq!(allowed.rising(3), None);
    // The rate grows only a round trip after the last change; it falls to half the limit immediately.
    allowed.on_report(&at(1.29), &received(0.0, f64::INFINITY, 90_000.0));
    close(allowed.x(), 80_000.0);
    allowed.on_report(&at(1.31), &received(0.0, f64::INFINITY, 30_000.0));
    close(allowed.x(), 30_000.0);
    assert_eq!(allowed.rising(3), None, "a decrease is immediate");
    allowed.on_report(&at(1.32), &received(0.0, f64::INFINITY, 0.0));
    close(allowed.x(), 10_000.0);
    // In the first two round trips, and for a limited application, the rate is at least the initial rate.
    let held = |moment: &Moment, x_recv: f64| {
        after(steady(&ns2, 0.0, 20_000.0, f64::INFINITY, 30_000.0), moment, &received(0.0, f64::INFINITY, x_recv))
    };
    close(held(&Moment { round: 2, ..at(1.2) }, 5_000.0), 40_000.0);
    close(held(&Moment { round: 3, ..at(1.2) }, 5_000.0), 5_000.0);
    close(held(&Moment { recently_limited: true, ..at(1.2) }, 5_000.0), 40_000.0);
    close(held(&Moment { recently_limited: true, ..at(1.2) }, 30_000.0), 40_000.0);
    close(held(&Moment { recently_limited: true, ..at(1.2) }, 0.0), 10_000.0);
}

/// RFC 5681 section 3.1: slow start ends at the threshold. After 160000 B/s with p = 0.01 and a silence, the rate is
/// 40, 80 and 160 kB/s, then grows by a packet per round trip, 10000 B/s. Without losses there is no threshold.
#[test]
fn slow_start_after_a_silence_ends_at_the_old_rate() {
    for (p, remembers_rate, rates) in [
        (0.01, true, [40_000.0, 80_000.0, 160_000.0, 170_000.0]),
        (0.01, false, [40_000.0, 80_000.0, 160_000.0, 320_000.0]),
        (0.0, true, [40_000.0, 80_000.0, 160_000.0, 320_000.0]),
    ] {
        let options = options(|options| options.remembers_rate = remembers_rate);
        let mut allowed = steady(&options, p, 160_000.0, 160_000.0, 160_000.0);
        if p > 0.0 {
            allowed.on_report(&at(1.1), &received(p, 160_000.0, 160_000.0));
            // First expiry of the silence.
            allowed.on_timeout(&at(1.5));
        }
        allowed.restart();
        for (n, rate) in rates.into_iter().enumerate() {
            allowed.on_report(&at(5.0 + 0.1 * n as f64), &received(0.0, f64::INFINITY, 1e6));
            close(allowed.x(), rate);
        }
        // A second silence before the next loss keeps the threshold or raises it to the reached rate.
        allowed.restart();
        assert_eq!(allowed.threshold, if p > 0.0 && remembers_rate { 170_000.0 } else { f64::INFINITY });
    }
}

/// RFC 5348 section 4.2: W_init in the first measured round trip, 4000 B in 1 s. The nofeedback timer, with the old R
/// of 0.1 s, expired six times before.
#[test]
fn expiries_before_the_first_round_trip_after_a_silence_do_not_count() {
    let mut allowed = steady(&options(|_| ()), 0.0, 80_000.0, f64::INFINITY, 80_000.0);
    allowed.restart();
    allowed.on_report(&at(5.0), &received(0.0, f64::INFINITY, 1.0));
    (0..6).for_each(|n| allowed.on_timeout(&at(5.4 + 0.4 * f64::from(n))));
    assert!(allowed.x() < 4000.0);
    allowed.on_first_round_trip(&Moment { r: Some(1.0), ..at(6.5) });
    close(allowed.x(), 4000.0);
}
