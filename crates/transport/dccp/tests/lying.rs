//! Receivers that send false reports to get more than their share (RFC 4340 section 12.3, RFC 4342 section 9).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;
use crate::pipe;

use dialogue::Dialogue;
use headway_dccp::{
    AckRun, AckState, AckVector, Ccid, CcidOption, Closed, ConnectionOptions, DccpOption, Elapsed, Event, LossInterval,
    LossIntervals, OptionWriter, Packet, ResetCode, State,
};
use headway_units::{Dialect, Duration, Options, Random, Seq48};
use pipe::{Fate, Lie, Pipe, addresses};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn rules(ccid: u8, passed_over_interval: u64) -> ConnectionOptions {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], passed_over_interval, ..preset }
}

/// Returns a path of 10 ms each way that loses one packet in twenty of the client at random.
fn path(seed: u64) -> impl FnMut(u64) -> Fate {
    let mut random = Random::new(seed, "path");
    move |sent| Fate { lost: sent > 20 && random.uniform() < 0.05, copies: 1, delay: Duration::from_millis(10) }
}

fn with_options(packet: &Packet<'_>, change: impl Fn(DccpOption<'_>, &mut OptionWriter<'_>)) -> Option<Vec<u8>> {
    let mut area = [0; 1008];
    let mut writer = OptionWriter::new(&mut area);
    for option in packet.options.iter() {
        change(option.unwrap(), &mut writer);
    }
    let options = writer.finish().unwrap();
    let mut bytes = vec![0; 65_535];
    let len = Packet { options, ..*packet }.encode(&mut bytes, addresses()).unwrap();
    bytes.truncate(len);
    Some(bytes)
}

/// Reports all packets as received and unmarked.
fn hides_losses(packet: &Packet<'_>) -> Option<Vec<u8>> {
    with_options(packet, |option, writer| match option {
        DccpOption::AckVector(vector) => {
            let runs = vector.runs().map(|run| AckRun { state: AckState::Received, ..run }.to_byte().unwrap());
            writer.push(DccpOption::AckVector(AckVector::new(false, &runs.collect::<Vec<_>>()))).unwrap();
        }
        DccpOption::Ccid(raw) if raw.number == 193 => {
            let all = LossInterval { lossless_length: (1 << 24) - 1, loss_length: 0, nonce: false, data_length: 0 };
            let bytes = all.to_bytes().unwrap();
            let intervals = LossIntervals::new(0, std::slice::from_ref(&bytes)).unwrap();
            writer.push_ccid(CcidOption::LossIntervals(intervals)).unwrap();
        }
        other => writer.push(other).unwrap(),
    })
}

/// Runs a client with data for a packet every millisecond.
fn played(
    rules: &ConnectionOptions,
    lie: Option<Lie>,
    seconds: u64,
    seed: u64,
) -> Pipe<impl FnMut(u64) -> Fate + use<>> {
    let mut pipe = Pipe::new(rules, rules, path(seed));
    if let Some(lie) = lie {
        pipe.lie = lie;
    }
    for _ in 0..1000 * seconds {
        if pipe.client.outbox.0.len() < 10 {
            pipe.client.outbox.push(&[0; 500]);
        }
        pipe.run(Duration::from_millis(1));
    }
    pipe
}

fn counters<F>(pipe: &Pipe<F>) -> headway_dccp::Counters {
    pipe.client.connection.as_ref().unwrap().status().counters
}

fn penalised<F>(pipe: &Pipe<F>) -> bool {
    let code = |event: &Event| if let Event::Closed(Closed::ByUs(reset)) = event { Some(reset.code) } else { None };
    pipe.client.events.iter().any(|event| code(event) == Some(ResetCode::AGGRESSION_PENALTY))
}

/// A receiver that hides losses gets all data without verification. With skipped numbers the connection is reset after
/// three lies: the first follows after 200 packets on average, the others after 25 each and a round trip.
#[test]
fn hidden_losses_are_penalized() {
    for ccid in [2, 3, 4] {
        let honest = counters(&played(&rules(ccid, 0), None, 20, 7)).sent_data_packets;
        let liar = counters(&played(&rules(ccid, 0), Some(hides_losses), 20, 7)).sent_data_packets;
        // CCID 4 sends at most one packet per 10 ms, which its equation also permits to the honest receiver here.
        assert!(ccid == 4 || liar > 2 * honest && liar > 10_000, "CCID {ccid}: {liar}, {honest}");

        let pipe = played(&rules(ccid, 200), Some(hides_losses), 20, 7);
        assert!(penalised(&pipe), "CCID {ccid}: {:?}", pipe.client.events);
        let sent = counters(&pipe).sent_data_packets;
        println!("CCID {ccid}: {honest}, {liar}, {sent}");
        assert!(sent < 1200, "CCID {ccid}: {sent}");
    }
}

/// An honest receiver is never accused and gets the same throughput: skipped numbers do not count as congestion.
#[test]
fn an_honest_receiver_loses_nothing() {
    for ccid in [2, 3, 4] {
        let sent = |interval| {
            let runs = (0..10).map(|seed| {
                let pipe = played(&rules(ccid, interval), None, 30, seed);
                assert_eq!(
                    (pipe.client.state(), pipe.server.state()),
                    (State::Open, State::Open),
                    "CCID {ccid}, interval {interval}, seed {seed}: {:?}\n{}",
                    pipe.client.events,
                    pipe.log[pipe.log.len() - 20..].join("\n")
                );
                assert_eq!(counters(&pipe).lies, 0, "CCID {ccid}");
                counters(&pipe).sent_data_packets
            });
            runs.sum::<u64>() as f64
        };
        let ratio = sent(50) / sent(0);
        println!("CCID {ccid}: {ratio}");
        assert!((0.95..1.05).contains(&ratio), "CCID {ccid}: {ratio}");
    }
}

/// RFC 4342 section 6: acknowledgements without Loss Intervals "are not considered feedback packets". A Loss Event Rate
/// alone cannot be verified and is no feedback, so that the rate falls to nearly zero.
#[test]
fn a_loss_event_rate_alone_is_no_feedback() {
    fn rate_only(packet: &Packet<'_>) -> Option<Vec<u8>> {
        with_options(packet, |option, writer| match option {
            DccpOption::Ccid(raw) if raw.number == 193 => {
                writer.push_ccid(CcidOption::LossEventRate(None)).unwrap();
            }
            other => writer.push(other).unwrap(),
        })
    }
    let sent = [0, 200]
        .map(|interval| counters(&played(&rules(Ccid::TFRC.0, interval), Some(rate_only), 20, 7)).sent_data_packets);
    assert!(sent[0] > 10_000 && sent[1] < 200, "{sent:?}");
}

/// A receiver that acknowledges packets in flight, to shorten the round trip, also acknowledges skipped numbers.
#[test]
fn optimistic_acknowledgements_are_caught() {
    fn ahead(packet: &Packet<'_>) -> Option<Vec<u8>> {
        let headway_dccp::Body::Ack { ack } = packet.body else { return None };
        let packet = Packet { body: headway_dccp::Body::Ack { ack: ack + 1 }, ..*packet };
        with_options(&packet, |option, writer| match option {
            DccpOption::AckVector(vector) => {
                let one = AckRun { state: AckState::Received, packets: 1 }.to_byte().unwrap();
                let bytes: Vec<u8> = [one].into_iter().chain(vector.runs().map(|run| run.to_byte().unwrap())).collect();
                writer.push(DccpOption::AckVector(AckVector::new(false, &bytes))).unwrap();
            }
            other => writer.push(other).unwrap(),
        })
    }
    // Under CCID 2 the minimum window is one packet: an acknowledgement of the next one is invalid
    // (step 6), and no data follows.
    let pipe = played(&rules(2, 200), Some(ahead), 60, 7);
    assert!(counters(&pipe).sent_data_packets < 1000, "{:?}", counters(&pipe));
    let pipe = played(&rules(3, 200), Some(ahead), 60, 7);
    assert!(penalised(&pipe), "{:?}, {:?}", pipe.client.events, counters(&pipe));
}

/// RFC 4340 section 12.3: "its peer is reporting inappropriately" false Elapsed Times. The round trip is 20 ms, with at
/// most one packet per millisecond: a reported delay is limited to the time between packets.
#[test]
fn elapsed_times_do_not_shorten_the_round_trip() {
    fn waited(packet: &Packet<'_>) -> Option<Vec<u8>> {
        with_options(packet, |option, writer| match option {
            DccpOption::ElapsedTime(_) => {
                writer.push(DccpOption::ElapsedTime(Elapsed::from_duration(Duration::from_micros(19_900)))).unwrap();
            }
            other => writer.push(other).unwrap(),
        })
    }
    let pipe = played(&rules(Ccid::TFRC.0, 0), Some(waited), 20, 7);
    let rtt = pipe.client.connection.as_ref().unwrap().status().rtt.unwrap();
    println!("{rtt}");
    assert!(rtt > Duration::from_millis(15), "{rtt}");
}

/// RFC 4342 section 5 derives the first rate from the first round trip. A client that reports
/// nearly all of it as delay, in the handshake and while the server has no data, at most halves it
/// if the server verifies. Otherwise seven eighths of the Sequence Window are sent at once.
#[test]
fn elapsed_times_in_a_pause_halve_the_round_trip_at_most() {
    let ccid = Ccid::TFRC.0;
    // 9.99 ms of 10.
    let waited = [43, 4, 999_u16.to_be_bytes()[0], 999_u16.to_be_bytes()[1]];
    for (interval, least) in [(0, Duration::from_micros(10)), (200, Duration::from_millis(5))] {
        let rules = rules(ccid, interval);
        let mut server = Dialogue::server(&rules);
        server.send(0, "Request 1000", &dialogue::changes(&rules), b"");
        server.next(0);
        server.send(10, "Ack 1001 (0)", &waited, b"");
        (1002..1050).for_each(|seq| {
            server.send(10, &format!("Ack {seq} (0)"), &waited, b"");
        });
        let status = server.connection().status();
        assert_eq!((status.rtt, status.sender.unwrap().rtt), (Some(least), Some(least)), "{interval}");
        for _ in 0..10_000 {
            server.outbox.push(&[0; 1000]);
        }
        let sent = server.drain_output(15).iter().filter(|output| output.contains("Len=1000")).count();
        assert!(if interval == 0 { (80..=88).contains(&sent) } else { sent < 10 }, "{interval}: {sent}");
    }
}

/// Section 7.7: an NDP Count covers the packets directly before its own. It must not cover a number skipped after
/// packets without data, which the receiver would then not count as lost (RFC 4342 section 6.1).
#[test]
fn ndp_counts_cause_no_accusation() {
    for ccid in [3, 4] {
        let rules = ConnectionOptions { ndp_counts: true, ..rules(ccid, 50) };
        let mut pipe = Pipe::new(&rules, &rules, pipe::perfect);
        for ms in 0..20_000 {
            for (end, every) in [(&mut pipe.client, 2), (&mut pipe.server, 3)] {
                if end.outbox.0.len() < 10 && ms % every == 0 {
                    end.outbox.push(&[0; 500]);
                }
            }
            pipe.run(Duration::from_millis(1));
        }
        assert_eq!((pipe.client.state(), pipe.server.state()), (State::Open, State::Open), "CCID {ccid}");
        assert_eq!(counters(&pipe).lies, 0, "CCID {ccid}");
    }
}

/// RFC 4342 section 8.6: Skip Length is at most 3. During an outage of 150 ms, here as many
/// packets, missing packets therefore count as received until three later ones have arrived.
#[test]
fn outages_cause_no_accusation() {
    let rules = rules(3, 20);
    let outage = Rc::new(Cell::new(false));
    let there = Rc::clone(&outage);
    let fate = move |_| Fate { lost: there.get(), ..pipe::perfect(0) };
    let mut pipe = Pipe::new(&rules, &rules, fate);
    for ms in 0..60_000 {
        if pipe.client.outbox.0.len() < 10 {
            pipe.client.outbox.push(&[0; 500]);
        }
        outage.set(ms > 5000 && ms % 5000 < 150);
        pipe.run(Duration::from_millis(1));
    }
    assert_eq!((counters(&pipe).lies, pipe.client.state()), (0, State::Open));
}

/// An Ack Vector next to a Loss Event Rate is verified, but the controller uses the rate.
#[test]
fn an_ack_vector_does_not_verify_a_loss_event_rate() {
    fn with_vector(packet: &Packet<'_>) -> Option<Vec<u8>> {
        with_options(packet, |option, writer| match option {
            DccpOption::Ccid(raw) if raw.number == 193 => {
                writer.push_ccid(CcidOption::LossEventRate(None)).unwrap();
                let one = AckRun { state: AckState::Received, packets: 1 }.to_byte().unwrap();
                writer.push(DccpOption::AckVector(AckVector::new(false, &[one]))).unwrap();
            }
            other => writer.push(other).unwrap(),
        })
    }
    let sent = counters(&played(&rules(Ccid::TFRC.0, 200), Some(with_vector), 20, 7)).sent_data_packets;
    assert!(sent < 200, "{sent}");
}

/// No path causes an accusation, in either direction, with NDP Counts, path MTU probes and dropped data.
#[test]
fn no_path_causes_an_accusation() {
    for (seed, ccid) in (0..12).flat_map(|seed| [2, 3, 4].map(|ccid| (seed, ccid))) {
        let mut random = Random::new(seed, "path");
        let rules = ConnectionOptions {
            ndp_counts: seed % 2 == 0,
            probe_mtu: seed % 3 == 0,
            ..rules(ccid, 1 + random.below(60))
        };
        let (loss, jitter) = ([0.01, 0.1, 0.3][seed as usize % 3], 1 + random.below(40));
        let outage = Rc::new(Cell::new(false));
        let there = Rc::clone(&outage);
        let mut pipe = Pipe::new(&rules, &rules, move |sent| Fate {
            lost: there.get() || sent > 20 && random.uniform() < loss,
            copies: 1 + random.below(10) / 9,
            delay: Duration::from_millis(if random.uniform() < 0.2 { 5 + random.below(jitter) } else { 5 }),
        });
        for ms in 0..20_000 {
            let talks = [ms / 1000 % 2 == 0, ms % (1 + seed) == 0];
            for (end, talks) in [&mut pipe.client, &mut pipe.server].into_iter().zip(talks) {
                if talks && end.outbox.0.len() < 10 {
                    end.outbox.push(&[0; 500]);
                }
            }
            outage.set(ms > 3000 && ms % 3000 < 200);
            pipe.run(Duration::from_millis(1));
        }
        for end in [&pipe.client, &pipe.server] {
            let lies = end.connection.as_ref().unwrap().status().counters.lies;
            assert_eq!((end.state(), lies), (State::Open, 0), "CCID {ccid}, seed {seed}");
        }
    }
}

/// A report with a lower acknowledgement number than an earlier one need not be reordered. The liar
/// acknowledges its newest packet on a bare Ack, and an older one on the report. It is still judged
/// by what it had to know when the older one was the newest.
#[test]
fn old_acknowledgement_numbers_are_verified() {
    thread_local!(static NAMED: RefCell<Vec<Seq48>> = const { RefCell::new(Vec::new()) });
    fn older(packet: &Packet<'_>) -> Option<Vec<u8>> {
        let headway_dccp::Body::Ack { ack } = packet.body else { return None };
        if packet.options.iter().flatten().all(|option| !matches!(option, DccpOption::Ccid(_))) {
            return None;
        }
        let (bare, named) = NAMED.with_borrow_mut(|named| {
            named.push(ack);
            // On every second Ack the options are sent with the acknowledgement number of the fourth before.
            (named.len() % 2 == 1, named[named.len().saturating_sub(4)])
        });
        if bare {
            return with_options(packet, |_, _| ());
        }
        let packet = Packet { body: headway_dccp::Body::Ack { ack: named }, ..*packet };
        hides_losses(&packet)
    }
    let pipe = played(&rules(3, 200), Some(older), 20, 7);
    assert!(penalised(&pipe), "{:?}, {:?}", pipe.client.events, counters(&pipe));
}

/// RFC 4342 section 8.6.1. A receiver may report only the newest packets, whose loss need not be known yet, with
/// intervals that start with packets without data, such as requested SyncAcks. No skipped number would prove it false.
#[test]
fn reports_of_the_newest_packets_only_are_no_feedback() {
    const SYNCS: usize = 9;
    let mut client = Dialogue::open_client(&rules(3, 50));
    let (mut seq, mut newest) = (1002, 1);
    for round in 0..200 {
        let ms = 40 + 20 * round;
        while client.outbox.0.len() < 1000 {
            client.outbox.push(&[0; 500]);
        }
        let mut sync_acks = Vec::new();
        for output in client.drain_output(ms - 10) {
            newest = output.split(' ').nth(1).unwrap().parse::<u32>().unwrap();
            if output.starts_with("SyncAck") {
                sync_acks.push(newest);
            }
        }
        let mut end = newest + 1;
        let mut intervals: Vec<[u8; 9]> = sync_acks
            .iter()
            .rev()
            .map(|sync_ack| {
                let lossless_length = end - sync_ack - 1;
                end = *sync_ack;
                let interval =
                    LossInterval { lossless_length, loss_length: 1, nonce: false, data_length: lossless_length };
                interval.to_bytes().unwrap()
            })
            .collect();
        if round == 0 {
            let all = LossInterval { lossless_length: end, loss_length: 0, nonce: false, data_length: 0 };
            intervals = vec![all.to_bytes().unwrap()];
        }
        let mut area = [0; 1008];
        let mut writer = OptionWriter::new(&mut area);
        writer.push(DccpOption::ElapsedTime(Elapsed(0))).unwrap();
        writer.push_ccid(CcidOption::ReceiveRate(10_000_000)).unwrap();
        if let Some(intervals) = LossIntervals::new(0, &intervals) {
            writer.push_ccid(CcidOption::LossIntervals(intervals)).unwrap();
        }
        client.send(ms, &format!("Ack {seq} ({newest})"), writer.finish().unwrap().as_bytes(), b"");
        for sync in 1..=SYNCS {
            client.send(ms, &format!("Sync {} ({newest})", seq + sync), &[], b"");
        }
        seq += 1 + SYNCS;
    }
    let status = client.connection().status();
    println!("{status:?}");
    assert!(status.counters.sent_data_packets < 200, "{status:?}");
}

/// With several skipped numbers per round trip, losses of data are rarer than the ten events of a report, and an
/// interval has more packets than there are remembered numbers. The throughput remains the same.
#[test]
fn an_honest_receiver_loses_nothing_at_high_rates() {
    let sent = |ccid, lossy, interval| {
        let rules = ConnectionOptions { largest_sequence_window: 1 << 16, ..rules(ccid, interval) };
        let mut random = Random::new(7, "path");
        let fate = |sent| Fate {
            lost: lossy && sent > 20 && random.uniform() < 0.0005,
            copies: 1,
            delay: Duration::from_millis(50),
        };
        let mut pipe = Pipe::new(&rules, &rules, fate);
        for _ in 0..20_000 {
            while pipe.client.outbox.0.len() < 10 {
                pipe.client.outbox.push(&[0; 500]);
            }
            pipe.run(Duration::from_millis(1));
        }
        assert_eq!((pipe.client.state(), counters(&pipe).lies), (State::Open, 0), "CCID {ccid}");
        counters(&pipe).sent_data_packets as f64
    };
    for (ccid, lossy) in [2, 3, 4].into_iter().flat_map(|ccid| [(ccid, false), (ccid, true)]) {
        let [without, with] = [0, 20].map(|interval| sent(ccid, lossy, interval));
        println!("CCID {ccid}, losses {lossy}: {with} instead of {without}");
        assert!((0.9..1.1).contains(&(with / without)), "CCID {ccid}: {with} instead of {without}");
    }
}

/// A run of skipped numbers has one number or more, like losses. Otherwise a receiver could report
/// single missing numbers and hide bursts, which a full queue causes.
#[test]
fn hidden_bursts_are_penalized() {
    fn hides_bursts(packet: &Packet<'_>) -> Option<Vec<u8>> {
        with_options(packet, |option, writer| match option {
            DccpOption::AckVector(vector) => {
                let runs = vector.runs().map(|run| {
                    let single = run.state == AckState::NotYetReceived && run.packets == 1;
                    AckRun { state: if single { run.state } else { AckState::Received }, ..run }.to_byte().unwrap()
                });
                writer.push(DccpOption::AckVector(AckVector::new(false, &runs.collect::<Vec<_>>()))).unwrap();
            }
            other => writer.push(other).unwrap(),
        })
    }
    let rules = rules(2, 200);
    let (mut random, mut left) = (Random::new(7, "path"), 0);
    let mut pipe = Pipe::new(&rules, &rules, move |sent| {
        if left == 0 && sent > 20 && random.uniform() < 0.002 {
            left = 10;
        }
        left = u64::saturating_sub(left, 1);
        Fate { lost: left > 0, copies: 1, delay: Duration::from_millis(10) }
    });
    pipe.lie = hides_bursts;
    for _ in 0..40_000 {
        if pipe.client.outbox.0.len() < 10 {
            pipe.client.outbox.push(&[0; 500]);
        }
        pipe.run(Duration::from_millis(1));
    }
    let sent = counters(&pipe).sent_data_packets;
    println!("{sent}");
    assert!(penalised(&pipe) && sent < 2000, "{sent}");
}
