//! Compares with ns-2.35's agents over a link of 10 Mb/s and 50 ms that drops listed packets: cwnd and the last
//! acknowledged number at five times (measured with Debian ns2 2.35+dfsg-5: window_ 100, FTP, DropTail 1000).
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

use crate::path::{Limit, Outcome, dumbbell, hop, run, run_with};
use headway_tcp::TcpOptions;
use headway_units::{Dialect, Duration, Instant, QueueSize, Registry};

/// Kind, dropped packets (0 is the SYN), delayed acknowledgements; cwnd/ack at 0.75, 1, 1.5, 2, 3 s; ssthresh,
/// timeouts, resent.
const TABLE: &str = "
tahoe   30       no  2/62    8/68     18.9/141  23.61/241 33.28/516 15 0 1
reno    30       no  16.32/74 18.23/107 23.08/207 27.94/331 37.57/646 15 0 1
newreno 30       no  16.32/74 18.23/107 23.08/207 27.94/331 37.57/646 15 0 1
sack    30       no  16.26/74 18.18/107 23.04/207 27.84/329 37.49/644 15 0 1
vegas   30       no  12/29   10/49    13.69/100 18.49/175 28.31/400 2  0 1
tahoe   30,33,34 no  2/32    8/66     18.9/139  23.61/239 33.28/514 15 0 5
reno    30,33,34 no  15.56/32 1/32    8.788/92  13.33/142 22.98/317 7  1 4
newreno 30,33,34 no  15.5/32 7.945/99 12.39/144 17.14/214 26.76/425 7  1 18
sack    30,33,34 no  16.01/70 17.9/102 22.6/197 27.4/317  37.16/632 15 0 3
vegas   30,33,34 no  12/29   15.11/32 10.09/73  15.06/133 25.03/328 2  0 3
tahoe   30       yes 1/29    3/50     9.062/77  11.24/121 15.77/243 8  0 1
reno    30       yes 8.5/29  9.073/56 11.25/100 13.52/156 18.08/300 8  0 1
newreno 30       yes 8.5/29  9.073/56 11.25/100 13.52/156 18.08/300 8  0 1
sack    30       yes 8.5/29  8.961/56 11.16/100 13.44/156 18.03/300 8  0 1
newreno 30,33,34 yes 17/29   8.5/32   5.689/77  7.79/105  12.13/191 4  1 11
sack    30,33,34 yes 17/29   8.618/50 10.79/92  13.06/146 17.63/286 8  0 3
";

fn options(kind: &str, window: u64) -> TcpOptions {
    let mut options = TcpOptions::preset(&format!("tcp-{kind}"), Dialect::Ns2).unwrap();
    options.rules_mut().window = QueueSize::Packets(window);
    options
}

fn after(options: &TcpOptions, lost: &str, until: f64) -> Outcome {
    let mut link = hop("10Mbps", "50ms", Limit::Ns2(1000));
    link.lost = lost.split(',').map(|number| number.parse().unwrap()).collect();
    let until = Instant::ZERO + Duration::from_secs_f64(until);
    run(&[link], &[(options.clone(), Instant::ZERO, u64::MAX / 2)], Instant::ZERO, until)
}

/// Rounds to four significant digits, as C's `%.4g` for numbers from 1 to 1000.
fn four_digits(value: f64) -> f64 {
    let scale = if value < 10.0 { 1000.0 } else { 100.0 };
    (value * scale).round() / scale
}

#[test]
fn the_golden_table() {
    for row in TABLE.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<_> = row.split_whitespace().collect();
        let mut options = options(cells[0], 100);
        options.rules_mut().delayed_ack = (cells[2] == "yes").then(|| Duration::from_millis(100));
        for (at, cell) in [0.75, 1.0, 1.5, 2.0, 3.0].into_iter().zip(&cells[3..8]) {
            let sender = &after(&options, cells[1], at).flows[0].sender;
            let (cwnd, ack) = cell.split_once('/').unwrap();
            assert_eq!(four_digits(sender.cwnd()), cwnd.parse::<f64>().unwrap(), "{row}: cwnd at {at} s");
            assert_eq!(sender.acknowledged() - 1, ack.parse::<u64>().unwrap(), "{row}: ack at {at} s");
        }
        let sender = &after(&options, cells[1], 3.001).flows[0].sender;
        let counters = sender.counters();
        let seen = [sender.ssthresh() as u64, counters.timeouts, counters.retransmitted];
        assert_eq!(seen.map(|number| number.to_string()), cells[8..11], "{row}: ssthresh, timeouts, resent");
    }
}

/// ns-2.35's Agent/TCP/Newreno over the same link: `advance 15` at 0 s, `advance 400` at 0.56 s. Nothing is in flight
/// after the acknowledgement that ends the recovery. Dropped packet, `exit_recovery_fix_`; cwnd/ack at 0.55, 0.75, 1
/// and 2 s.
#[test]
fn exit_recovery_fix_uses_flight_size_plus_one() {
    for (lost, fix, cells) in [
        ("9", false, "5.2/15 6.099/20 8.808/40 18.12/165"),
        ("9", true, "2/15 4/17 7.306/32 16.56/142"),
        ("10", true, "2/15 4/17 7.306/32 16.56/142"),
        ("11", true, "2/15 4/17 8.143/34 17.41/152"),
    ] {
        let mut options = options("newreno", 100);
        options.rules_mut().newreno.exit_recovery_fix = fix;
        for (millis, cell) in [550, 750, 1000, 2000].into_iter().zip(cells.split(' ')) {
            let mut link = hop("10Mbps", "50ms", Limit::Ns2(1000));
            link.lost = [lost.parse().unwrap()].into();
            let flow = [(options.clone(), Instant::ZERO, 15)];
            let later = [(0, Instant::from_millis(560), 385)];
            let outcome = run_with(&[link], &flow, &later, Instant::ZERO, Instant::from_millis(millis));
            let sender = &outcome.flows[0].sender;
            let (cwnd, ack) = cell.split_once('/').unwrap();
            assert_eq!(four_digits(sender.cwnd()), cwnd.parse::<f64>().unwrap(), "{lost}: cwnd at {millis} ms");
            assert_eq!(sender.acknowledged() - 1, ack.parse::<u64>().unwrap(), "{lost}: ack at {millis} ms");
        }
    }
}

/// 1 Mb/s and 20 ms after an access link of 10 Mb/s and 2 ms, a queue of 50 packets, window_ 200, 20 s.
#[test]
fn packets_through_one_bottleneck() {
    for (kind, acknowledged) in [("tahoe", 2297), ("reno", 2322), ("newreno", 2322), ("sack", 2319)] {
        let flow = (options(kind, 200), Instant::ZERO, u64::MAX / 2);
        let outcome = run(&dumbbell("1Mbps", "20ms", 50)[..2], &[flow], Instant::ZERO, Instant::from_secs(20));
        assert_eq!(outcome.flows[0].sender.acknowledged() - 1, acknowledged, "{kind}");
        assert_eq!(outcome.drops.len(), 57, "{kind}");
    }
    let flow = (options("vegas", 200), Instant::ZERO, u64::MAX / 2);
    let outcome = run(&dumbbell("1Mbps", "20ms", 50)[..2], &[flow], Instant::ZERO, Instant::from_secs(20));
    assert_eq!((outcome.flows[0].sender.acknowledged() - 1, outcome.drops.len()), (2473, 0), "vegas");
}

/// 40 packets, then silence: cwnd is 42 at 0.4 s. The idle timer reduces it to 1 by 1 s, with ssthresh unchanged.
#[test]
fn silence_closes_the_window() {
    let options = options("reno", 100);
    let link = [hop("10Mbps", "20ms", Limit::Ns2(1000))];
    let after =
        |millis| run(&link, &[(options.clone(), Instant::ZERO, 40)], Instant::ZERO, Instant::from_millis(millis));
    for (millis, cwnd) in [(400, 42.0), (1000, 1.0)] {
        let sender = &after(millis).flows[0].sender;
        assert_eq!((sender.cwnd(), sender.ssthresh()), (cwnd, 100.0), "at {millis} ms");
        assert_eq!(sender.counters().timeouts, 0, "nothing was in flight");
    }
}
