//! Every k-th data packet is lost: the rate must be the equation's at p = 1/k (RFC 5348 section 3.1).

mod path;
use headway_rate::{ControllerOptions, LossForm};
use headway_units::{Dialect, Duration, Instant};
use path::{Form, Path, options};

/// RFC 5348 section 3.1 with b = 1 and `t_RTO` = 4R, in bytes/s.
fn equation(s: f64, r: f64, p: f64) -> f64 {
    s / (r * (2.0 * p / 3.0).sqrt() + 4.0 * r * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// Mean rate over X(1/k) in the steady state.
fn ratio(options: &ControllerOptions, form: Form, losses: LossForm, rtt: Duration, k: u64) -> f64 {
    let mut path = Path::new(options, form, losses, 1000, rtt);
    path.drop = Box::new(move |n| n % k == k - 1);
    let from = (k * 40).max(4000);
    let to = from + (k * 40).max(20_000);
    let mut until = Instant::ZERO;
    while path.sent <= to {
        until += Duration::from_secs(10);
        path.run(until);
        assert!(path.sent > 0 && until < Instant::from_secs(200_000), "k = {k}: it stands still");
    }
    let (first, last) = (path.sent_at[from as usize], path.sent_at[to as usize]);
    let rate = (to - from) as f64 * 1000.0 / last.since(first).as_secs_f64();
    rate / equation(1000.0, path.mean_r_sample(), 1.0 / k as f64)
}

#[test]
fn table() {
    for rtt in [10u64, 50, 100, 200] {
        let rtt = Duration::from_millis(rtt);
        let ns2 = options("tfrc", Dialect::Ns2, |o| {
            o.tcp_tick = Duration::from_millis(1);
            o.min_rto = rtt * 4;
        });
        let rfc = options("tfrc", Dialect::Rfc, |_| {});
        let literal = options("tfrc", Dialect::Rfc, |o| o.open_interval = headway_rate::OpenInterval::ToHighest);
        let linux = options("tfrc", Dialect::Linux, |_| {});
        for k in [2, 3, 5, 10, 20, 50, 100, 1000] {
            println!(
                "{rtt} {k:5} ns2 {:.5} rfc {:.5} literal {:.5} ccid3 {:.5} ccid3-rate {:.5} linux {:.5}",
                ratio(&ns2, Form::Agent, LossForm::EventRate, rtt, k),
                ratio(&rfc, Form::Agent, LossForm::EventRate, rtt, k),
                ratio(&literal, Form::Agent, LossForm::EventRate, rtt, k),
                ratio(&rfc, Form::Counter, LossForm::Intervals, rtt, k),
                ratio(&rfc, Form::Counter, LossForm::EventRate, rtt, k),
                ratio(&linux, Form::Counter, LossForm::EventRate, rtt, k),
            );
        }
    }
}
#[test]
fn dbg() {
    let rtt = Duration::from_millis(100);
    let rfc = options("tfrc", Dialect::Rfc, |_| {});
    let mut path = Path::new(&rfc, Form::Counter, LossForm::EventRate, 1000, rtt);
    path.drop = Box::new(move |n| n % 100 == 99);
    path.run(Instant::from_secs(60));
    println!("{:?} {}", path.status(), path.sent);
    let n = path.reported.len();
    let mut last = 0.0;
    for r in &path.reported[n - 100..] {
        if r.1 != last {
            println!("{} {}", r.0.as_secs_f64(), r.1);
            last = r.1;
        }
    }
    let a = 4000;
    let b = path.sent_at.len() - 1;
    println!("{}", (b - a) as f64 * 1000.0 / path.sent_at[b].since(path.sent_at[a]).as_secs_f64());
    for i in 4500..b {
        let g = path.sent_at[i + 1].since(path.sent_at[i]).as_nanos();
        if g < 8902163 || g > 8902166 {
            println!("{i} {} {g}", path.sent_at[i].as_secs_f64());
        }
    }
    for r in &path.reported {
        if r.0 > Instant::from_millis(57000) && r.0 < Instant::from_millis(57500) {
            println!("{} {}", r.0.as_secs_f64(), r.1);
        }
    }
}
