//! CUBIC's window reduction and growth through the public interface (RFC 9438 sections 4.3 and 4.6; Linux,
//! `net/ipv4/tcp_cubic.c`).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::path::{Limit, Outcome, hop, run, run_with};
use headway_tcp::{Sender, TcpOptions};
use headway_units::{Dialect, Duration, Instant, QueueSize, Registry};

fn options(dialect: Dialect) -> TcpOptions {
    TcpOptions::preset("tcp-cubic", dialect).unwrap()
}

/// Runs over a link of 1 Gb/s with an unlimited queue that drops only this packet (0 is the SYN).
fn with_loss(options: &TcpOptions, delay: &str, lost: u64, until: Duration) -> Outcome {
    let mut link = hop("1Gbps", delay, Limit::None);
    link.lost = [lost].into();
    run(&[link], &[(options.clone(), Instant::ZERO, u64::MAX / 2)], Instant::ZERO, Instant::ZERO + until)
}

/// Returns cwnd before the loss and ssthresh after it.
fn reduction(outcome: &Outcome) -> (f64, f64) {
    let windows = &outcome.flows[0].windows;
    let reduced = windows.windows(2).find(|pair| pair[1].2 < pair[0].2 && pair[1].1 < pair[0].1).unwrap();
    (reduced[0].1, reduced[1].2)
}

/// Section 4.6: "ssthresh = flight_size * beta_cubic" with beta_cubic 0.7. Receiver windows of 100, 200 and 1000
/// segments set the FlightSize.
#[test]
fn a_loss_leaves_seven_tenths_of_the_flight() {
    for window in [100u64, 200, 1000] {
        let mut options = options(Dialect::Rfc);
        options.rules_mut().window = QueueSize::Packets(window);
        options.rules_mut().delayed_ack = None;
        let (_, ssthresh) = reduction(&with_loss(&options, "5ms", 10 * window, Duration::from_millis(500)));
        assert_eq!(ssthresh, (7 * window / 10) as f64, "{window}");
    }
}

/// Linux uses integers: `max((snd_cwnd * beta) / BICTCP_BETA_SCALE, 2U)` with `beta = 717` of 1024. A window of 1027
/// becomes 719; 7/10 of it would be 718.
#[test]
fn linux_leaves_717_of_1024() {
    let mut distinguishable = 0;
    for lost in (600..3000).step_by(97) {
        let mut options = options(Dialect::Linux);
        options.own_mut().cubic.hystart = false;
        let (cwnd, ssthresh) = reduction(&with_loss(&options, "5ms", lost, Duration::from_millis(300)));
        let cwnd = cwnd as u64;
        assert_eq!(ssthresh as u64, cwnd * 717 / 1024, "after a window of {cwnd}");
        distinguishable += u64::from(cwnd * 717 / 1024 != cwnd * 7 / 10);
    }
    assert!(distinguishable >= 5, "{distinguishable}");
}

/// Returns alpha of `W += alpha / W` per acknowledged segment, for which `W^2` grows by 2 alpha.
fn increase(from: &Sender, to: &Sender) -> f64 {
    let acknowledged = (to.acknowledged() - from.acknowledged()) as f64;
    (to.cwnd() * to.cwnd() - from.cwnd() * from.cwnd()) / (2.0 * acknowledged)
}

/// Section 4.3: `W_est += alpha * segments_acked / cwnd` with `alpha = 3 (1 - 0.7) / (1 + 0.7) = 9/17`, and 1 from
/// `cwnd_prior` on. The round trip is short, so the cubic curve is below W_est: K is seconds.
#[test]
fn a_short_round_trip_grows_as_reno() {
    let mut options = options(Dialect::Rfc);
    options.rules_mut().delayed_ack = None;
    let at = |micros| with_loss(&options, "10us", 60, Duration::from_micros(micros));
    let (prior, ssthresh) = reduction(&at(5_000));
    let [after_loss, below, above, far] = [5_000, 20_000, 45_000, 80_000].map(at);
    let [after_loss, below, above, far] = [&after_loss, &below, &above, &far].map(|outcome| &outcome.flows[0].sender);
    let windows = [after_loss.cwnd(), below.cwnd(), above.cwnd(), far.cwnd()];
    assert!(ssthresh <= windows[0] && windows[1] < prior && prior < windows[2], "{prior}, {ssthresh}, {windows:?}");
    let (slow, fast) = (increase(after_loss, below), increase(above, far));
    assert!((slow / (9.0 / 17.0) - 1.0).abs() < 0.005, "{slow}");
    assert!((fast - 1.0).abs() < 0.005, "{fast}");
}

/// Section 4.2: t excludes application-limited periods exactly once. For 30 s an application writes a segment per
/// second, each after a silence, or one per 30 ms, without silences. The window stays the same, and the growth in the
/// following 5 s does not depend on the 30 s.
#[test]
fn application_limited_time_is_excluded_from_t_once() {
    let cwnd = |every: u64| {
        let mut options = options(Dialect::Rfc);
        options.rules_mut().restart_after_idle = headway_tcp::Restart::Keep;
        let mut link = hop("400Mbps", "50ms", Limit::None);
        link.lost = [3000].into();
        let at = Instant::from_millis;
        let slow = (6_000..36_000).step_by(usize::try_from(every).unwrap()).map(|millis| (0, at(millis), 1));
        let later: Vec<_> = slow.chain([(0, at(36_000), u64::MAX / 2)]).collect();
        let flows = [(options, Instant::ZERO, 40_000)];
        let outcome = run_with(&[link], &flows, &later, Instant::ZERO, at(41_000));
        outcome.flows[0].sender.cwnd()
    };
    let (with_silences, without) = (cwnd(1000), cwnd(30));
    assert!((with_silences / without - 1.0).abs() < 0.01, "{with_silences}, {without}");
}
