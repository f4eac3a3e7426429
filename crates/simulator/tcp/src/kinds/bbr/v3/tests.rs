use super::*;

pub(super) fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} instead of {expected}");
}

/// `BBRAdaptLowerBoundsFromCongestion`: 0.7 times the last bound, or the latest delivery if it is higher.
#[test]
fn short_term_bounds() {
    for (bw, inflight, latest, expected) in [
        (f64::INFINITY, f64::INFINITY, (90.0, 800.0), (90.0, 1400.0)),
        (100.0, 2000.0, (50.0, 800.0), (70.0, 1400.0)),
        (70.0, 1400.0, (60.0, 1300.0), (60.0, 1300.0)),
    ] {
        let mut bbr = V3::new(1460, 10, false);
        (bbr.state, bbr.bw_filter[1], bbr.loss_in_round) = (State::Cruise, 100.0, true);
        (bbr.bw_shortterm, bbr.inflight_shortterm) = (bw, inflight);
        (bbr.bw_latest, bbr.inflight_latest, bbr.loss_round_start) = (latest.0, latest.1, true);
        bbr.update_congestion_signals(&sample(0.0), 2000.0);
        close(bbr.bw_shortterm, expected.0);
        close(bbr.inflight_shortterm, expected.1);
        assert!(!bbr.loss_in_round);
    }
}

/// Sections 5.6.2, 5.6.3 and 5.6.4.2 in segments of 1460 B: Mb/s, min_rtt in ms, state, pacing rate in B/s, burst in
/// B, and the target of the window in B with a budget of one and of three bursts.
#[test]
fn pacing_burst_and_window() {
    let smss = 1460.0;
    for (mbps, rtt, state, pacing, burst, one, three) in [
        (1.0, 50, State::Startup, 342_787.5, 2920.0, 12_500.0, 12_500.0),
        (1.0, 50, State::Up, 154_687.5, 2920.0, 16_982.5, 16_982.5),
        (1.0, 50, State::ProbeRtt, 123_750.0, 2920.0, 5840.0, 8760.0),
        (10.0, 50, State::Startup, 3_427_875.0, 3427.875, 125_000.0, 125_000.0),
        (10.0, 50, State::Down, 1_113_750.0, 2920.0, 125_000.0, 125_000.0),
        (10.0, 50, State::Up, 1_546_875.0, 2920.0, 143_545.0, 143_545.0),
        (0.064, 100, State::Startup, 21_938.4, 2920.0, 5840.0, 8760.0),
        (0.064, 100, State::Up, 9900.0, 2920.0, 8760.0, 11_680.0),
        (1000.0, 100, State::Startup, 342_787_500.0, 65_536.0, 25_000_000.0, 25_000_000.0),
        (1000.0, 100, State::Up, 154_687_500.0, 65_536.0, 28_127_920.0, 28_127_920.0),
    ] {
        for (offload, target) in [(false, one), (true, three)] {
            let mut bbr = V3::new(1460, 10, offload);
            bbr.bw = mbps * 1e6 / 8.0 / smss;
            bbr.min_rtt.start(Instant::ZERO, Some(Duration::from_millis(rtt)));
            bbr.enter(state);
            bbr.full_bw_reached = true;
            let (pacing_gain, cwnd_gain) = state.gains();
            bbr.set_pacing_rate(pacing_gain);
            close(bbr.pacing_rate * smss, pacing);
            close(bbr.send_quantum() * smss, burst);
            close(bbr.inflight(cwnd_gain, bbr.bw) * smss, target);
        }
    }
}

/// `BBRInflightWithHeadroom`: 15 %, at least one segment, and at least four remain.
#[test]
fn headroom() {
    for (longterm, expected) in [(8.0, 6.8), (5.0, 4.0), (4.0, 4.0), (20.0, 17.0), (100.0, 85.0), (6.0, 5.0)] {
        close(inflight_with_headroom(longterm), expected);
    }
    assert!(inflight_with_headroom(f64::INFINITY).is_infinite());
}

pub(super) fn sample(rate: f64) -> RateSample {
    RateSample {
        now: Instant::ZERO,
        rate: Some(rate).filter(|&rate| rate > 0.0),
        delivered: 0,
        prior_delivered: 0,
        rtt: None,
        tx_in_flight: 0,
        lost: 0,
        app_limited: false,
        newly_delivered: 0,
        newly_lost: 0,
        lost_ranges: 0,
        total_delivered: 0,
        prior_in_flight: 0,
        in_flight: 0,
        window_limited: false,
        recovering: false,
        departs: Instant::ZERO,
    }
}
