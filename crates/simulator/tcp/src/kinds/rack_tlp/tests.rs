use super::*;
use crate::kinds::aimd::Aimd;
use crate::segment::ack;
use crate::sender::Flow;
use crate::{Sink, TcpOptions};
use headway_units::{Dialect, Random, Registry};

type Reno = Flow<RackTlp, Aimd>;

fn options() -> TcpOptions {
    let mut options = TcpOptions::preset("tcp-sack", Dialect::Rfc).unwrap();
    let rules = options.rules_mut();
    (rules.sack.pipe, rules.delayed_ack, rules.timestamps) = (crate::Pipe::RackTlp, None, true);
    options
}

/// Returns a flow that sent ten segments at 100 ms, after a round trip of 100 ms.
fn begun(segments: u64) -> Reno {
    let mut flow = Reno::new(&options().rules, &(), &(), Random::new(1, "rack"));
    flow.write(Instant::ZERO, segments);
    assert_eq!(sent(&mut flow, 0), [0]);
    flow.handle(Instant::from_millis(100), &ack(1, &[]));
    assert_eq!(sent(&mut flow, 100), (1..=segments.min(10)).collect::<Vec<_>>());
    flow
}

fn sent(flow: &mut Reno, ms: u64) -> Vec<u64> {
    std::iter::from_fn(|| flow.poll_transmit(Instant::from_millis(ms))).map(|segment| segment.seq).collect()
}

fn acked(flow: &mut Reno, ms: u64, seq: u64, blocks: &[(u64, u64)], echo_ms: u64) -> Vec<u64> {
    let ack = Segment { echo: Instant::from_millis(echo_ms), ..ack(seq, blocks) };
    flow.handle(Instant::from_millis(ms), &ack);
    sent(flow, ms)
}

fn timed_out(flow: &mut Reno) -> (u64, Vec<u64>) {
    let due = flow.state.poll_timeout().unwrap();
    flow.handle_timeout(due);
    let ms = due.as_nanos() / 1_000_000;
    (ms, sent(flow, ms))
}

/// Section 6.2 step 4: without reordering seen and with fewer than three segments received above the hole, a segment
/// is lost a quarter of the least round trip after a later one was delivered.
#[test]
fn a_hole_is_lost_after_the_reordering_window() {
    let mut flow = begun(10);
    assert_eq!(acked(&mut flow, 200, 1, &[(2, 3)], 100), [0; 0]);
    assert_eq!(flow.state.poll_timeout(), Some(Instant::from_millis(100 + 100 + 25)));
    assert_eq!(timed_out(&mut flow), (225, vec![1]));
    assert_eq!(flow.state.counters.fast_recoveries, 1);
}

/// Section 6.2 step 4: three segments received above the hole leave no reordering window.
#[test]
fn three_segments_above_a_hole_make_it_lost_at_once() {
    let mut flow = begun(10);
    assert_eq!(acked(&mut flow, 200, 1, &[(2, 4)], 100), [0; 0]);
    assert_eq!(acked(&mut flow, 201, 1, &[(2, 5)], 100), [1]);
}

/// Section 6.2 step 3: once a segment was delivered after a later one, three segments no longer suffice.
#[test]
fn reordering_opens_the_window_for_good() {
    let mut flow = begun(10);
    acked(&mut flow, 200, 1, &[(2, 3)], 100);
    acked(&mut flow, 205, 3, &[], 100);
    assert!(flow.recovery.reordering.seen);
    acked(&mut flow, 206, 3, &[(4, 9)], 100);
    assert_eq!((flow.state.counters.fast_recoveries, flow.recovery.flight.count > 0), (0, true));
    // The segments above were delivered 106 ms after their transmission.
    assert_eq!(flow.state.poll_timeout(), Some(Instant::from_millis(100 + 106 + 25)));
}

/// Section 6.2 step 4: each round with a D-SACK widens the window by a quarter of the least round trip.
#[test]
fn a_duplicate_report_widens_the_window() {
    let mut flow = begun(10);
    acked(&mut flow, 200, 1, &[(2, 3)], 100);
    acked(&mut flow, 201, 3, &[(1, 2)], 100);
    assert_eq!(flow.recovery.reordering.factor, 2);
    acked(&mut flow, 202, 3, &[(1, 2)], 100);
    assert_eq!(flow.recovery.reordering.factor, 2, "once per round");
}

/// Section 7.3: the last segment is probed after two smoothed round trips. It is lost there, so that the
/// acknowledgement of later data reduces the window (section 7.4.2).
#[test]
fn a_probe_repairs_the_end_of_a_transfer() {
    let mut flow = begun(3);
    assert_eq!(acked(&mut flow, 200, 3, &[], 100), [0; 0]);
    // One segment in flight: 200 ms more for a delayed acknowledgement.
    assert_eq!(timed_out(&mut flow), (600, vec![3]));
    assert_eq!(flow.state.counters.timeouts, 0);
    let before = flow.state.window.cwnd;
    acked(&mut flow, 700, 4, &[], 600);
    flow.write(Instant::from_millis(750), 2);
    assert_eq!(sent(&mut flow, 750), [4, 5]);
    acked(&mut flow, 850, 6, &[], 750);
    assert!(flow.state.window.cwnd < before, "{} {before}", flow.state.window.cwnd);
}

/// Section 7.4.2: a probe that arrives in addition to the original changes nothing.
#[test]
fn a_needless_probe_does_not_reduce_the_window() {
    let mut flow = begun(3);
    acked(&mut flow, 200, 3, &[], 100);
    assert_eq!(timed_out(&mut flow), (600, vec![3]));
    let before = flow.state.window.cwnd;
    acked(&mut flow, 610, 4, &[], 100);
    acked(&mut flow, 700, 4, &[(3, 4)], 100);
    assert!(flow.recovery.probe.is_none());
    assert!(flow.state.window.cwnd >= before);
}

/// Section 6.1: a retransmission is lost if a segment sent after it was delivered, without a timeout.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let mut flow = begun(60);
    assert!(acked(&mut flow, 200, 1, &[(2, 6)], 100).contains(&1));
    let new = acked(&mut flow, 210, 1, &[(2, 11)], 100);
    assert!(new.iter().all(|&seq| seq > 10) && !new.is_empty(), "{new:?}");
    let last = *new.last().unwrap();
    // The segments sent 10 ms after the retransmission arrive, it does not.
    assert!(acked(&mut flow, 310, 1, &[(2, last + 1)], 100).contains(&1));
    assert_eq!((flow.state.counters.timeouts, flow.state.counters.fast_recoveries), (0, 1));
}

/// RFC 3522 section 3.2: the acknowledgement answers the first transmission, so the recovery was spurious.
#[test]
fn a_spurious_recovery_is_undone() {
    for (echo_ms, restored) in [(100, true), (200, false)] {
        let mut flow = begun(60);
        let before = flow.state.window.cwnd;
        assert!(acked(&mut flow, 200, 1, &[(2, 6)], 100).contains(&1));
        assert!(flow.state.window.cwnd < before);
        acked(&mut flow, 220, 6, &[], echo_ms);
        assert_eq!(flow.recovery.phase == Phase::Open && flow.state.window.cwnd >= before, restored);
    }
}

/// RFC 3522 section 3.2: each acknowledgement answers a retransmission, also of the second loss, which was sent later
/// than the first one. So nothing is undone.
#[test]
fn a_recovery_of_two_losses_is_not_undone() {
    let mut flow = begun(60);
    let before = flow.state.window.cwnd;
    assert!(acked(&mut flow, 200, 1, &[(2, 3), (4, 11)], 100).contains(&1));
    acked(&mut flow, 210, 1, &[(2, 3), (4, 11)], 100);
    acked(&mut flow, 300, 3, &[(4, 11)], 200);
    acked(&mut flow, 400, 11, &[], 300);
    assert!(flow.state.window.cwnd < before, "{} {before}", flow.state.window.cwnd);
    assert_eq!((flow.state.counters.fast_recoveries, flow.recovery.undo.is_some()), (1, true));
}

/// RFC 7323 section 4.1: with timestamps, the round trip of a SYN that was sent twice is that of the answered one.
#[test]
fn a_syn_that_was_sent_twice_is_timed_by_its_timestamp() {
    for (timestamps, rtt) in [(true, Duration::from_millis(100)), (false, Duration::MAX)] {
        let mut options = options();
        options.rules_mut().timestamps = timestamps;
        let mut flow = Reno::new(&options.rules, &(), &(), Random::new(1, "rack"));
        flow.write(Instant::ZERO, 10);
        assert_eq!(sent(&mut flow, 0), [0]);
        assert_eq!(timed_out(&mut flow), (1000, vec![0]));
        acked(&mut flow, 1100, 1, &[], 1000);
        assert_eq!(flow.recovery.min_rtt, rtt);
    }
}

/// RFC 3708: without timestamps, the report that the retransmission arrived twice undoes the reduction.
#[test]
fn a_duplicate_report_undoes_a_recovery() {
    let mut options = options();
    options.rules_mut().timestamps = false;
    let mut flow = Reno::new(&options.rules, &(), &(), Random::new(1, "rack"));
    flow.write(Instant::ZERO, 60);
    sent(&mut flow, 0);
    acked(&mut flow, 100, 1, &[], 0);
    let before = flow.state.window.cwnd;
    acked(&mut flow, 200, 1, &[(2, 6)], 0);
    assert!(flow.state.window.cwnd < before);
    acked(&mut flow, 220, 6, &[], 0);
    acked(&mut flow, 300, 6, &[(1, 2)], 0);
    assert!(flow.recovery.phase == Phase::Open && flow.state.window.cwnd >= before);
}

/// Section 6.3: a timeout declares the first segment lost, and those sent long enough ago.
#[test]
fn a_timeout_keeps_recent_segments_in_flight() {
    let mut flow = begun(10);
    assert_eq!(acked(&mut flow, 200, 9, &[], 100).len(), 0);
    // A probe, then the timeout.
    assert_eq!(timed_out(&mut flow).1, [10]);
    let (_, resent) = timed_out(&mut flow);
    assert_eq!(resent, [9]);
    assert_eq!((flow.state.counters.timeouts, flow.state.window.cwnd), (1, 1.0));
}

/// RFC 2883 section 4: a sink with this recovery reports a duplicate in its first block.
#[test]
fn a_sink_reports_duplicates() {
    let mut sink = Sink::new(&options());
    let segment = |seq| Segment { is_ack: false, ..ack(seq, &[]) };
    let mut answer = |seq| {
        sink.handle(Instant::ZERO, &segment(seq));
        let ack = sink.poll_transmit(Instant::ZERO).unwrap();
        (ack.seq, ack.sack.iter(ack.seq).map(|block| (block.start, block.end)).collect::<Vec<_>>())
    };
    assert_eq!(answer(0), (1, vec![]));
    assert_eq!(answer(2), (1, vec![(2, 3)]));
    assert_eq!(answer(2), (1, vec![(2, 3), (2, 3)]));
    assert_eq!(answer(1), (3, vec![]));
    assert_eq!(answer(1), (3, vec![(1, 2)]));
}
