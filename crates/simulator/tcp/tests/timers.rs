//! Timers: the delay of acknowledgements, and the maximum timeout on a path without acknowledgements. 60 s is the least
//! maximum that RFC 6298 section 2.5 allows and the value of ns-2 (`maxrto_`), 120 s that of Linux (`TCP_RTO_MAX`).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_tcp::{Sender, TcpOptions};
use headway_units::{Dialect, Duration, Instant, Random, Registry};

#[test]
fn timeouts_on_a_dead_path_increase_to_the_maximum() {
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

/// RFC 5681 section 4.2: "within 500 ms". Linux's `TCP_DELACK_MIN` is HZ / 25. ns-2's sink acknowledges immediately
/// unless it is a DelAck.
#[test]
fn delayed_acknowledgement_defaults() {
    for (dialect, wait) in [(Dialect::Rfc, Some(200)), (Dialect::Ns2, None), (Dialect::Linux, Some(40))] {
        let options = TcpOptions::preset("tcp-reno", dialect).unwrap();
        assert_eq!(options.rules.delayed_ack, wait.map(Duration::from_millis), "{dialect}");
    }
}
