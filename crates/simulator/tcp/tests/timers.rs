//! Timers that a few runs hardly show: how long a sink waits, and the longest timeout, of a path that answers nothing: 60 s is what RFC 6298 section 2.5 allows at least and what ns-2 has (`maxrto_`), 120 s
//! what Linux has (`TCP_RTO_MAX`).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_tcp::{Sender, TcpOptions};
use headway_units::{Dialect, Duration, Instant, Random, Registry};

#[test]
fn a_dead_path_is_tried_less_and_less_often() {
    for (dialect, longest) in [(Dialect::Rfc, 60), (Dialect::Ns2, 60), (Dialect::Linux, 120)] {
        let options = TcpOptions::preset("tcp-reno", dialect).unwrap();
        let mut sender = Sender::new(&options, Random::new(1, "flow"));
        sender.write(Instant::ZERO, 10);
        let (mut now, mut gaps) = (Instant::ZERO, Vec::new());
        for _ in 0..14 {
            while sender.poll_transmit(now).is_some() {}
            let due = sender.poll_timeout().unwrap();
            gaps.push(due.since(now));
            now = due;
            sender.handle_timeout(now);
        }
        assert!(gaps.is_sorted(), "{dialect}: {gaps:?}");
        assert_eq!(gaps.last(), Some(&Duration::from_secs(longest)), "{dialect}: {gaps:?}");
    }
}

/// RFC 5681 section 4.2: "within 500 ms"; Linux's `TCP_DELACK_MIN` is HZ / 25; ns-2's sink acknowledges at once unless it is a DelAck.
#[test]
fn how_long_a_sink_waits() {
    for (dialect, wait) in [(Dialect::Rfc, Some(200)), (Dialect::Ns2, None), (Dialect::Linux, Some(40))] {
        let options = TcpOptions::preset("tcp-reno", dialect).unwrap();
        assert_eq!(options.rules.delayed_ack, wait.map(Duration::from_millis), "{dialect}");
    }
}
