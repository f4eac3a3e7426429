//! Properties of every kind and dialect under any loss pattern.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "a test fails where it panics")]

use crate::path::{dumbbell, run};
use headway_tcp::{HalvedWindow, Pipe, Restart, SackBlocks, Segment, Sender, Sink, TcpOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, QueueSize, Random, Registry};
use proptest::prelude::*;

const DIALECTS: [Dialect; 4] = [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Linux];

const HALVED_WINDOWS: [Option<HalvedWindow>; 4] =
    [None, Some(HalvedWindow::Ssthresh), Some(HalvedWindow::Fractional), Some(HalvedWindow::Whole)];

fn kinds() -> impl Strategy<Value = TcpOptions> {
    let kind = prop::sample::select(TcpOptions::KINDS);
    let halved = prop::sample::select(&HALVED_WINDOWS);
    let recovery = (any::<bool>(), any::<bool>());
    (kind, prop::sample::select(&DIALECTS), 2u64..60, any::<bool>(), any::<bool>(), halved, recovery).prop_map(
        |(kind, dialect, window, delayed, timestamps, halved, (by_time, offloads))| {
            let mut options = TcpOptions::preset(kind, dialect).unwrap();
            let rules = options.rules_mut();
            rules.window = QueueSize::Packets(window);
            rules.delayed_ack = delayed.then(|| Duration::from_millis(100));
            rules.timestamps = timestamps;
            rules.halved_window = halved.unwrap_or(rules.halved_window);
            if by_time && rules.sack.sack_blocks > 0 && rules.sack.pipe != Pipe::Fack {
                rules.sack.pipe = Pipe::RackTlp;
            }
            if offloads && rules.paced {
                rules.segmentation_offload = Some(Duration::from_millis(1));
            }
            options
        },
    )
}

fn segment(is_ack: bool, seq: u64) -> Segment {
    Segment {
        seq,
        sent: Instant::ZERO,
        echo: Instant::ZERO,
        sack: SackBlocks::default(),
        size: 40,
        ecn: Ecn::NotEct,
        is_ack,
        ece: false,
        cwr: false,
        push: false,
        retransmission: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// For any losses and marks, every segment is delivered and acknowledged. A sender with data to send but neither an
    /// open window nor a timer fails a debug assertion.
    #[test]
    fn a_finite_transfer_ends(
        options in kinds(),
        marked in prop::collection::btree_set(0u64..400, 0..200),
        segments in 1u64..300,
        limit in 2usize..40,
        lost in prop::collection::btree_set(0u64..400, 0..60),
    ) {
        let mut hops = dumbbell("2Mbps", "10ms", limit);
        hops[0].lost = lost;
        let mut options = options;
        options.rules_mut().ecn |= !marked.is_empty();
        hops[0].marked = marked;
        // Sixty consecutive losses back off to the maximum timeout each time.
        let until = Instant::from_secs(60 * 130);
        let outcome = run(&hops, &[(options.clone(), Instant::ZERO, segments)], Instant::ZERO, until);
        let flow = &outcome.flows[0];
        prop_assert_eq!(flow.sink.received_segments(), segments, "{} of {:?}", options.kind(), flow.sender);
        prop_assert!(flow.sender.is_finished());
        prop_assert_eq!(flow.sink.next_expected(), segments + 1);
        let counters = flow.sender.counters();
        prop_assert_eq!(counters.sent, counters.retransmitted + segments + 1);
        prop_assert_eq!(
            counters.sent,
            flow.sink.received_segments() + 1 + flow.sink.duplicates() + outcome.drops.len() as u64
        );
        // ns-2's windows may have no minimum, but its timer always runs (ns2.rs, `vegas-window-of-none`,
        // `tahoe-window-of-none`).
        let least = if options.rules.restart_after_idle == Restart::One { 0.0 } else { 1.0 };
        prop_assert!(flow.windows.iter().all(|&(_, cwnd, ssthresh)| cwnd >= least && ssthresh >= 2.0));
    }

    /// Any sequence of acknowledgements, timeouts and writes: no panic, at most a window in flight, and only written
    /// segments are sent.
    #[test]
    fn invalid_input_is_tolerated(
        options in kinds(),
        ecn: bool,
        steps in prop::collection::vec((0u8..12, 0u64..200, 0u64..80, 0u64..20, any::<u16>()), 1..300),
    ) {
        let mut options = options;
        options.rules_mut().ecn = ecn;
        let QueueSize::Packets(window) = options.rules.window else { unreachable!() };
        let mut sender = Sender::new(&options, Random::new(1, "nonsense"));
        let mut sink = Sink::new(&options);
        let (mut now, mut written, mut highest) = (Instant::ZERO, 0, 0);
        for (step, a, b, c, bits) in steps {
            now += Duration::from_micros(u64::from(bits) * 10);
            match step {
                0 => {
                    sender.write(now, a);
                    written += a;
                }
                1 => sender.handle_timeout(sender.poll_timeout().unwrap_or(now).max(now)),
                2 => sender.handle(now, &segment(false, a)),
                _ => {
                    let mut ack = segment(true, if step == 3 { u64::MAX - a } else { sender.acknowledged() + a % 8 });
                    for block in 0..c % 4 {
                        ack.sack.push(ack.seq.wrapping_add(b * block)..ack.seq.wrapping_add(b + c));
                    }
                    ack.ece = bits % 3 == 0;
                    ack.echo = Instant::from_micros(a * b);
                    sender.handle(now, &ack);
                }
            }
            for _ in 0..1000 {
                let Some(sent) = sender.poll_transmit(now) else { break };
                prop_assert!(!sent.is_ack && sent.seq <= written, "{} of {written}", sent.seq);
                highest = highest.max(sent.seq);
                sink.handle(now, &sent);
                // Invalid segments for the sink, too.
                sink.handle(now, &segment(false, sent.seq.wrapping_mul(b)));
                sink.handle_timeout(now);
            }
            prop_assert!(sender.poll_transmit(now).is_none(), "a burst without end");
            // With fack, SACKed segments are not in flight.
            let fack = options.rules.sack.pipe == Pipe::Fack;
            prop_assert!(fack || sender.in_flight() <= window, "{} in flight of {window}", sender.in_flight());
            prop_assert!(sender.acknowledged() <= highest + 1);
            while let Some(ack) = sink.poll_transmit(now) {
                prop_assert!(ack.is_ack && ack.sack.len() <= 3);
            }
        }
    }

    /// SACK blocks contain received segments only, and the first contains the latest (RFC 2018 section 4).
    #[test]
    fn blocks_contain_received_segments_only(order in Just((0u64..40).collect::<Vec<_>>()).prop_shuffle(), drop in 0u64..40) {
        let options = TcpOptions::preset("tcp-sack", Dialect::Rfc).unwrap();
        let mut sink = Sink::new(&options);
        let mut received = std::collections::BTreeSet::new();
        for seq in order.into_iter().filter(|&seq| seq != drop) {
            received.insert(seq);
            sink.handle(Instant::ZERO, &segment(false, seq));
            while let Some(ack) = sink.poll_transmit(Instant::ZERO) {
                prop_assert!((0..ack.seq).all(|seq| received.contains(&seq)) && !received.contains(&ack.seq));
                let blocks: Vec<_> = ack.sack.iter(ack.seq).collect();
                prop_assert!(blocks.iter().cloned().flatten().all(|seq| received.contains(&seq)));
                prop_assert_eq!(u64::from(ack.size), 40 + 8 * blocks.len() as u64);
                if seq > ack.seq {
                    prop_assert!(blocks[0].contains(&seq), "{blocks:?} after {seq}");
                }
            }
        }
    }
}
