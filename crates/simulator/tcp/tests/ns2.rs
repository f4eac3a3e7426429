//! Compares packet by packet with ns-2.35: each file `data/ns2-*.txt` is a recorded run of its agents.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

#[path = "path/recorded.rs"]
mod recorded;

use crate::path::{Outcome, dumbbell, run};
use headway_tcp::TcpOptions;
use headway_units::{Dialect, Instant, Registry, SchemaRegistry as _};
use recorded::{Case, first_difference};

trait Replay {
    fn options(&self) -> TcpOptions;
    fn run(&self) -> Outcome;
}

impl Replay for Case {
    fn options(&self) -> TcpOptions {
        let mut table = serde_json::to_value(TcpOptions::preset(&self.kind, Dialect::Ns2).unwrap()).unwrap();
        table.as_object_mut().unwrap().remove("kind");
        for (name, value) in &self.options {
            table[name] = serde_json::from_str(value).unwrap();
        }
        let options = TcpOptions::deserialize(&self.kind, table).unwrap();
        options.check().unwrap();
        options
    }

    fn run(&self) -> Outcome {
        let mut hops = dumbbell(&self.path[0], &self.path[1], self.path[2].parse().unwrap());
        hops[0].lost.clone_from(&self.lost);
        hops[0].marked.clone_from(&self.marked);
        let segments = if self.segments == 0 { u64::MAX / 2 } else { self.segments };
        run(&hops, &[(self.options(), Instant::ZERO, segments)], Instant::ZERO, Instant::ZERO + self.until)
    }
}

fn replay(name: &str, text: &str) {
    let case = Case::read(text);
    let outcome = case.run();
    let flow = &outcome.flows[0];
    if let Some(difference) = first_difference(&outcome.drops, &case.drops, 2) {
        panic!("{name}: drops differ at {difference}");
    }
    if let Some(difference) = first_difference(&flow.received, &case.received, 2) {
        panic!("{name}: receptions differ at {difference}");
    }
    assert_eq!(flow.sender.counters().sent, case.sent, "{name}: packets sent");
    for &(at, cwnd, ssthresh) in &case.window {
        // Printed to the nearest 10 us; changes are at least 32 us apart, the transmission time of an acknowledgement.
        let before = flow.windows.partition_point(|window| window.0 <= at * 10_000 + 6_000);
        let ours = flow.windows[before - 1];
        assert!(
            (ours.1 - cwnd).abs() <= 0.000_500_1 && ours.2 == ssthresh,
            "{name}: at {} us cwnd {} ssthresh {}, ns-2 {cwnd} {ssthresh}",
            at * 10,
            ours.1,
            ours.2
        );
    }
    assert!(case.window.len() > 20 || case.received.len() < 50, "{name}: the record of windows is cut short");
}

macro_rules! cases {
    ($($test:ident $file:literal),+ $(,)?) => {$(
        #[test]
        fn $test() {
            replay($file, include_str!(concat!("data/ns2-", $file, ".txt")));
        }
    )+};
}

cases! {
    // Calibration runs: 2 Mb/s, 10 ms, DropTail of 20 (19 waiting).
    tahoe_in_a_short_queue "tahoe-q20",
    tahoe_in_a_window_of_30 "tahoe-q20-win30",
    reno_in_a_short_queue "reno-q20",
    reno_in_a_window_of_30 "reno-q20-win30",
    newreno_in_a_short_queue "newreno-q20",
    newreno_in_a_window_of_30 "newreno-q20-win30",
    sack_in_a_short_queue "sack1-q20",
    sack_in_a_window_of_30 "sack1-q20-win30",
    reno_without_loss "reno-noloss-win15",
    reno_sends_100_segments_with_timeouts "reno-100seg",
    reno_with_delayed_acknowledgements "reno-delack-q20",
    // Listed losses and marks on a link of 1.3007 Mb/s and 37.7171 ms.
    tahoe_delayed_acknowledgements_and_losses "tahoe-delack-lost",
    newreno_delayed_acknowledgements_and_losses "newreno-delack-lost",
    sack_delayed_acknowledgements_and_losses "sack-delack-lost",
    sack_many_losses_in_a_window "sack-lost-burst",
    newreno_many_losses_in_a_window "newreno-lost-burst",
    reno_loses_its_syn "reno-lost-syn",
    reno_answers_ecn "reno-ecn",
    sack_answers_ecn_and_loss "sack-ecn-delack",
    tahoe_answers_ecn_and_loss "tahoe-ecn",
    newreno_with_timestamps "newreno-timestamps",
    reno_in_whole_steps_and_short_bursts "reno-whole-maxburst",
    newreno_slow_but_steady "newreno-slow-but-steady",
    tahoe_without_limited_transmit "tahoe-no-limited-transmit",
    reno_halves_in_whole_segments "reno-whole-halves",
    sack_halves_in_whole_segments "sack-whole-halves",
    tahoe_is_marked_down_to_a_zero_window "tahoe-window-of-none",
    newreno_resends_with_half_a_segment "newreno-half-a-segment",
    vegas_in_a_short_queue "vegas-short-queue",
    vegas_many_losses_in_a_window "vegas-lost-burst",
    vegas_delayed_acknowledgements_and_losses "vegas-delack-lost",
    vegas_loses_its_syn "vegas-lost-syn",
    vegas_deflates_to_a_zero_window "vegas-window-of-none",
    // Agent/TCP/Linux.
    westwood_in_a_short_queue "westwood-q20",
    westwood_in_a_window_of_20 "westwood-window-20",
    westwood_loses_its_syn_and_more "westwood-lost",
    westwood_many_losses_in_a_window "westwood-lost-burst",
    westwood_delayed_acknowledgements_and_losses "westwood-delack-lost",
    westwood_answers_ecn_and_loss "westwood-ecn",
    veno_in_a_short_queue "veno-q20",
    veno_losses_with_and_without_a_queue "veno-lost",
    veno_many_losses_in_a_window "veno-burst",
    bic_in_a_short_queue "bic-q20",
    bic_losses_with_and_without_a_queue "bic-lost",
    bic_many_losses_in_a_window "bic-burst",
}

/// Checks that each recorded file has a test.
#[test]
fn every_recorded_file_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let this = include_str!("ns2.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(case) = name.strip_prefix("ns2-").and_then(|name| name.strip_suffix(".txt")) {
            assert!(this.contains(&format!("\"{case}\"")), "{name} is not replayed");
        }
    }
}
