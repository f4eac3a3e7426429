//! Vectors of the RFCs (tests/data/tfrc.json) and of the papers (tests/data/papers.json).

use super::allowed::{Allowed, Moment, ReceivedReport};
use super::average::{Average, Interval};
use super::counter::WindowCounter;
use super::equation::Equation;
use super::options::{Idle, InitialWindow, ReceiveLimit, TfrcOptions};
use super::rtt::RoundTrip;
use headway_units::{Dialect, Instant, Options};
use serde_json::Value;

fn rfc() -> TfrcOptions {
    TfrcOptions { idle: Idle::Rfc5348, ..TfrcOptions::preset(Dialect::Rfc) }
}

fn data(name: &str) -> Value {
    let texts = [include_str!("../../tests/data/tfrc.json"), include_str!("../../tests/data/papers.json")];
    let all = texts.map(|text| serde_json::from_str::<Value>(text).unwrap());
    all.into_iter().map(|mut all| all[name].take()).find(|found| !found.is_null()).unwrap()
}

fn rows(name: &str) -> Vec<Value> {
    data(name).as_array().unwrap().clone()
}

/// Returns a number; "inf" is infinity.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::INFINITY)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[track_caller]
fn near(got: f64, expected: f64, relative: f64) {
    assert!((got - expected).abs() <= relative * expected.abs(), "{got} instead of {expected}");
}

fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9).round() as u64)
}

fn equation(change: impl FnOnce(&mut TfrcOptions)) -> Equation {
    let mut options = rfc();
    change(&mut options);
    Equation::new(&options)
}

/// RFC 5348 section 8.1: X_Bps = s / (R f(p)).
#[test]
fn f_of_p() {
    let (plain, bounded) = (equation(|_| {}), equation(|o| o.expert.bounded_timeout_term = true));
    for row in rows("f_of_p") {
        let f = |equation: &Equation| 1.0 / equation.rate(1.0, 1.0, 4.0, number(&row["p"]));
        near(f(&plain), number(&row["f"]), 1e-12);
        near(f(&bounded), number(&row["f_capped"]), 1e-12);
    }
}

/// RFC 5348 section 3.1.
#[test]
fn equation_grid() {
    let (plain, bounded) = (equation(|_| {}), equation(|o| o.expert.bounded_timeout_term = true));
    for row in rows("equation_grid") {
        let (s, r, p) = (number(&row["s"]), number(&row["R"]), number(&row["p"]));
        near(plain.rate(s, r, 4.0 * r, p), number(&row["X_Bps"]), 1e-12);
        near(plain.rate(s, r, f64::max(4.0 * r, 1.0), p), number(&row["X_trto_1s"]), 1e-12);
        near(bounded.rate(s, r, 4.0 * r, p), number(&row["X_capped"]), 1e-12);
    }
}

#[test]
fn equation_of_the_papers() {
    for row in data("tfrc.equation")["rows"].as_array().unwrap() {
        let row = numbers(row);
        near(equation(|_| {}).rate(row[0], row[1], 4.0 * row[1], row[2]), row[3], 1e-8);
    }
}

/// net/dccp/ccids/lib/tfrc_equation.c: p = 1.234 % uses the entry of 1.23 %, 12.3 % that of 12.2 %. A first loss at
/// 2.437 % uses 2.44 %, as in a capture of 40 packets (1/2.44 % = 40.98). There is no entry below 0.01 %.
#[test]
fn linux_uses_a_table() {
    let exact = Equation::new(&TfrcOptions::preset(Dialect::Rfc));
    let tabled = Equation::new(&TfrcOptions::preset(Dialect::Linux));
    for (p, entry) in [(0.01234, 0.0123), (0.123, 0.122), (0.02, 0.02), (0.000_05, 0.0001)] {
        let (read, expected) = (tabled.rate(1000.0, 0.1, 0.4, p), exact.rate(1000.0, 0.1, 0.4, entry));
        assert!((read / expected - 1.0).abs() < 1e-12, "{p}: {read} and {expected}");
    }
    let x = exact.rate(300.0, 0.0586, 0.2344, 0.02437);
    assert!((tabled.inverse(x, 300.0, 0.0586, 0.2344) - 0.0244).abs() < 1e-12);
}

/// RFC 6928 section 2 (1): min(10 MSS, max(2 MSS, 14600)).
#[test]
fn rfc_6928_initial_window() {
    for (mss, window) in [(100.0, 1000.0), (1460.0, 14_600.0), (1500.0, 14_600.0), (8960.0, 17_920.0)] {
        assert_eq!(InitialWindow::Ten.bytes(mss), window);
    }
}

/// RFC 5348 section 6.3.1; the last row is below the rate for p = 1 with most s.
#[test]
fn inverse() {
    let exact = equation(|_| {});
    for row in rows("synthetic_first_interval") {
        let (s, r, x) = (number(&row["s"]), number(&row["R"]), number(&row["X_target"]));
        near(exact.inverse(x, s, r, 4.0 * r), number(&row["p"]), 1e-9);
        near(1.0 / exact.inverse(x, s, r, 4.0 * r), number(&row["interval"]), 1e-9);
        let coarse = exact.coarse_inverse(x, s, r, 4.0 * r);
        near(exact.rate(s, r, 4.0 * r, coarse), x, 0.05);
    }
    for row in data("tfrc.inverse")["rows"].as_array().unwrap() {
        let (s, r, x) = (number(&row["s"]), number(&row["R"]), number(&row["x_Bps"]));
        near(exact.inverse(x, s, r, 4.0 * r), number(&row["p"]), 1e-7);
    }
    assert_eq!(exact.inverse(1.0, 1000.0, 0.1, 0.4), 1.0);
}

fn intervals(lengths: &[f64]) -> Vec<Interval> {
    let start = |i: usize| 1000 - i as u64;
    lengths.iter().enumerate().map(|(i, length)| Interval { start: start(i), length: *length }).collect()
}

fn mean(lengths: &[f64], change: impl FnOnce(&mut TfrcOptions)) -> f64 {
    let mut options = rfc();
    change(&mut options);
    1.0 / Average::new(&options).loss_event_rate(&intervals(lengths), true)
}

/// RFC 5348 sections 5.4 and 5.5; ns-2 without discounting is section 5.5 with factors of one.
#[test]
fn loss_interval_averages() {
    for row in rows("loss_interval_averages") {
        let lengths = numbers(&row["intervals"]);
        near(mean(&lengths, |o| o.discounting = false), number(&row["I_mean"]), 1e-12);
        near(mean(&lengths, |o| o.expert.discount_threshold = 0.25), number(&row["I_mean_disc"]), 1e-12);
        near(mean(&lengths, |o| o.expert.discount_threshold = 0.5), number(&row["I_mean_disc_05"]), 1e-12);
        near(mean(&lengths, |o| o.expert.discount_threshold = 1.0), number(&row["I_mean_ns2"]), 1e-12);
    }
    for row in data("tfrc.loss-interval-average")["rows"].as_array().unwrap() {
        let lengths = numbers(&row["intervals_open_first"]);
        near(mean(&lengths, |o| o.discounting = false), number(&row["I_mean"]), 1e-8);
    }
}

/// RFC 5348 section 5.5: the factors over two loss events.
#[test]
fn discount_evolution() {
    let mut average = Average::new(&rfc());
    let mut closed = vec![100.0; 8];
    let mut open = 0.0;
    let mut events = 0;
    for row in rows("discount_evolution") {
        let event = match row["step"].as_str().unwrap() {
            "grow" => 0,
            "after loss 1" => 1,
            _ => 2,
        };
        if event > events {
            closed.insert(0, open);
            events = event;
        }
        open = number(&row["I_0"]);
        let lengths: Vec<f64> = std::iter::once(open).chain(closed.iter().copied()).take(9).collect();
        let mut list = intervals(&lengths);
        list.iter_mut().for_each(|interval| interval.start += events);
        near(average.loss_event_rate(&list, true), number(&row["p"]), 1e-12);
    }
}

/// RFC 5348 sections 4.2 to 4.5, followed by 4.4.
#[test]
fn sender_trace() {
    let options = rfc();
    let mut rtt = RoundTrip::new(&options, None);
    let mut allowed = Allowed::new(&options, 1000.0);
    let equation = Equation::new(&options);
    let moment = |seconds: f64, r: Option<f64>, idle: bool| Moment {
        now: at(seconds),
        s: 1000.0,
        r,
        w_init: 4000.0,
        idle,
        recently_limited: false,
        round: 0,
    };
    let samples = [0.10, 0.10, 0.10, 0.10, 0.12, 0.14, 0.12, 0.10, 0.10, 0.10];
    let limited = |row: usize| row >= 7;
    let new_loss = |row: usize| row == 5 || row == 8;
    let trace = rows("sender_trace");
    for (i, (row, sample)) in trace.iter().zip(samples).enumerate() {
        rtt.on_sample(sample);
        let r = rtt.r().unwrap();
        near(r, number(&row["R"]), 1e-12);
        let p = number(&row["p"]);
        let x_recv = number(&row["X_recv"]) / if i == 8 { 0.85 } else { 1.0 };
        let x_bps = equation.rate(1000.0, r, 4.0 * r, p);
        let report = ReceivedReport { p, x_bps, x_recv, new_loss: new_loss(i), limited: limited(i), overloaded: false };
        allowed.on_report(&moment(number(&row["t"]), Some(r), false), &report);
        near(allowed.x(), number(&row["X"]), 1e-12);
        near(allowed.x() * rtt.relief(), number(&row["X_inst"]), 1e-12);
        near(f64::max(4.0 * r, 2000.0 / allowed.x()), number(&row["nofeedback"]), 1e-12);
    }
    let traces = data("nofeedback_traces");
    let r = rtt.r();
    for (row, idle) in traces["after_sender_trace"].as_array().unwrap().iter().zip([false, false, true]) {
        allowed.on_timeout(&moment(number(&row["t"]), r, idle));
        near(allowed.x(), number(&row["X"]), 1e-12);
    }
    let mut allowed = Allowed::new(&options, 1000.0);
    for row in traces["before_first_feedback"].as_array().unwrap() {
        allowed.on_timeout(&moment(number(&row["t"]), None, false));
        near(allowed.x(), number(&row["X"]), 1e-12);
    }
    let mut allowed = Allowed::new(&options, 1000.0);
    for (seconds, x_recv) in [(0.1, 0.0), (0.2, 40_000.0)] {
        let report = ReceivedReport { p: 0.0, x_bps: 0.0, x_recv, new_loss: false, limited: false, overloaded: false };
        allowed.on_report(&moment(seconds, Some(0.1), false), &report);
    }
    for (row, idle) in traces["idle_in_slow_start"].as_array().unwrap().iter().zip([true, true, false]) {
        allowed.on_timeout(&moment(number(&row["t"]), Some(0.1), idle));
        near(allowed.x(), number(&row["X"]), 1e-12);
    }
}

/// The paper's sender by RFC 3448: after an idle round trip, X_recv leaves one packet per 64 s.
#[test]
fn twice_the_last_receive_rate() {
    let options = TfrcOptions { receive_limit: ReceiveLimit::Last, idle: Idle::Rfc3448, ..rfc() };
    for row in data("sfdps.ccid3.rate")["rows"].as_array().unwrap() {
        let s = number(&row["s"]);
        let mut allowed = Allowed::new(&options, s);
        let (x_bps, x_recv) = (number(&row["X_calc"]), number(&row["X_recv"]));
        let report = ReceivedReport { p: 0.01, x_bps, x_recv, new_loss: false, limited: true, overloaded: false };
        for seconds in [0.1, 0.2] {
            let now = at(seconds);
            let (r, w_init) = (Some(0.1), 4.0 * s);
            let moment = Moment { now, s, r, w_init, idle: false, recently_limited: false, round: 0 };
            allowed.on_report(&moment, &report);
        }
        near(allowed.x(), number(&row["X"]), 1e-12);
    }
}

/// RFC 4342 section 8.1, and RFC 5348 section 3.2.1: a "timestamp" of quarters of a round trip.
#[test]
fn ccval() {
    let vector = data("ccval");
    let mut counter = WindowCounter::default();
    for (seconds, value) in numbers(&vector["times"]).into_iter().zip(numbers(&vector["ccval"])) {
        let ccval = counter.on_send(at(seconds), Some(number(&vector["rtt"]))) % 16;
        assert_eq!(ccval, value as u64, "at {seconds}");
    }
}

/// RFC 4828 section 3: the equation for 1460 B, reduced by headers.
#[test]
fn small_packets() {
    for row in rows("tfrc_sp") {
        let (r, p, s_true) = (number(&row["R"]), number(&row["p"]), number(&row["s_true"]));
        near(equation(|_| {}).rate(1460.0, r, 4.0 * r, p), number(&row["X_raw"]), 1e-12);
        for (header, key) in [(40, "X_H40"), (36, "X_H36")] {
            let mut options = crate::TfrcSpOptions::preset(Dialect::Rfc).0;
            options.expert.header = headway_units::Bytes::new(header);
            let got = super::sender::tests::allowed_after(&options, s_true as u64, r, p);
            near(got, number(&row[key]), 1e-6);
        }
        near(100.0 * s_true, number(&row["cap_100pps"]), 1e-12);
    }
}
