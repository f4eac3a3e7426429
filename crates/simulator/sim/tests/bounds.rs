//! Bounds of the memory of a run and of the time of one call of `run`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::scenario;
use headway_sim::{RunError, Simulation};

fn one_flow(rate: &str, queue: &str, transport: &str, source: &str) -> headway_scenario::Scenario {
    scenario(&format!(
        "duration = \"1h\"\nrecord.series = false\n\
         [[link]]\nbetween = [\"a\", \"b\"]\nrate = \"{rate}\"\ndelay = \"1s\"\n\
         queue = {{ kind = \"droptail\", limit = \"{queue}\" }}\n\
         [[flow]]\nname = \"flow\"\nfrom = \"a\"\nto = \"b\"\ntransport = {transport}\nsource = {source}\n"
    ))
}

/// A window of 2^30 segments that opens at once, on a link with a sufficient queue.
#[test]
fn a_window_beyond_memory_ends_the_run_with_an_error() {
    let window = "1073741824packets";
    let transport = format!(
        "{{ kind = \"tcp-newreno\", segment = \"41B\", window = \"{window}\", initial_window = \"{window}\", \
         initial_window_bytes = false, expert = {{ initial_rto = \"60s\" }} }}"
    );
    let scenario = one_flow("1Tbps", "1000000000packets", &transport, "{ kind = \"ftp\" }");
    let mut simulation = Simulation::new(&scenario, ()).unwrap();
    let error = loop {
        match simulation.run(100_000) {
            Ok(done) => assert!(!done, "the window did not open"),
            Err(error) => break error,
        }
    };
    let RunError::TooManyPackets { at } = &error;
    assert_eq!(*at, simulation.now());
    // All at one time, when the SYN is acknowledged: 1 s there and 1 s back.
    assert_eq!(at.as_nanos() / 1_000_000, 2000);
    assert!(error.to_string().contains("4194304 packets are in the network"), "{error}");
    let all = simulation.conservation();
    assert_eq!(all.in_flight, 4_194_304);
    assert_eq!(all.sent, all.delivered + all.dropped + all.in_flight);
    assert!(!simulation.finish().summary.complete);
}

/// A mebibyte in datagrams of one byte: all are sent at the same time, but not in one call.
#[test]
fn a_large_write_in_small_datagrams_is_sent_in_turns() {
    let source = "{ kind = \"cbr\", payload = \"1MiB\", interval = \"10h\" }";
    let scenario = one_flow("1Mbps", "5packets", "{ kind = \"udp\", datagram = \"1B\", header = \"0B\" }", source);
    let mut simulation = Simulation::new(&scenario, ()).unwrap();
    assert!(!simulation.run(1).unwrap());
    let first = simulation.conservation().sent;
    assert!((1..100_000).contains(&first), "{first}");
    while !simulation.run(1).unwrap() {}
    let record = simulation.finish();
    assert_eq!(record.conservation.sent, 1 << 20);
    // One packet is in transmission and five wait.
    assert_eq!(record.conservation.dropped, (1 << 20) - 6);
}
