//! Gains of a lying receiver despite skipped numbers: the figures of the threat model.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::pipe;

use headway_dccp::{
    Ccid, CcidOption, ConnectionOptions, DccpOption, DroppedPackets, Elapsed, LossInterval, LossIntervals,
    OptionWriter, Packet, PacketType, RawOption, State,
};
use headway_units::{Dialect, Duration, Options, Random};
use pipe::{Fate, Lie, Pipe, addresses};

/// Round trip in ms, and the probability of a burst of losses with its length.
#[derive(Clone, Copy)]
struct Path {
    round_trip: u64,
    chance: f64,
    in_a_row: u64,
}

/// Returns the data packets that a receiver gets in this time, over five paths.
fn gets(ccid: u8, path: Path, seconds: u64, lie: Option<Lie>) -> f64 {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let rules =
        ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], passed_over_interval: 200, ..preset };
    let runs = (0..5).map(|seed| {
        let (mut random, mut left) = (Random::new(seed, "path"), 0u64);
        let mut pipe = Pipe::new(&rules, &rules, move |sent| {
            if left == 0 && sent > 20 && random.uniform() < path.chance {
                left = path.in_a_row;
            }
            let lost = left > 0;
            left = left.saturating_sub(1);
            Fate { lost, copies: 1, delay: Duration::from_micros(path.round_trip * 500) }
        });
        pipe.lie = lie.unwrap_or(pipe.lie);
        for _ in 0..1000 * seconds {
            while pipe.client.outbox.0.len() < 10 {
                pipe.client.outbox.push(&[0; 300]);
            }
            pipe.run(Duration::from_millis(1));
        }
        let counters = pipe.client.connection.as_ref().unwrap().status().counters;
        assert_eq!((pipe.client.state(), counters.lies), (State::Open, 0), "the lie is not detected");
        counters.sent_data_packets
    });
    runs.sum::<u64>() as f64
}

/// Returns the gain of a liar over the same honest receiver, as a ratio.
fn wins(ccid: u8, path: Path, seconds: u64, lie: Lie) -> f64 {
    let wins = gets(ccid, path, seconds, Some(lie)) / gets(ccid, path, seconds, None) - 1.0;
    println!("{:+.1} %", 100.0 * wins);
    wins
}

fn changed(packet: &Packet<'_>, change: impl Fn(DccpOption<'_>, &mut OptionWriter<'_>) -> bool) -> Option<Vec<u8>> {
    let mut area = [0; 1008];
    let mut writer = OptionWriter::new(&mut area);
    for option in packet.options.iter().map(Result::unwrap).filter(|option| *option != DccpOption::Padding) {
        if !change(option, &mut writer) {
            writer.push(option).unwrap();
        }
    }
    let options = writer.finish().unwrap();
    let mut bytes = vec![0; 65_535];
    let len = Packet { options, ..*packet }.encode(&mut bytes, addresses()).unwrap();
    bytes.truncate(len);
    Some(bytes)
}

fn with_intervals(packet: &Packet<'_>, change: fn(Vec<LossInterval>) -> Vec<LossInterval>) -> Option<Vec<u8>> {
    changed(packet, |option, writer| {
        let DccpOption::Ccid(raw @ RawOption { number: 193, .. }) = option else { return false };
        let Ok(CcidOption::LossIntervals(reported)) = CcidOption::decode(Ccid::TFRC, raw, PacketType::Ack) else {
            return false;
        };
        let bytes: Vec<_> = change(reported.iter().collect()).iter().map(|one| one.to_bytes().unwrap()).collect();
        writer
            .push_ccid(CcidOption::LossIntervals(LossIntervals::new(reported.skip_length(), &bytes).unwrap()))
            .unwrap();
        true
    })
}

/// The Drop Count of an interval does not identify the lost packets (RFC 5622 section 8.7). It would matter if
/// intervals lasted at most two round trips: there a constant count of one gained 69 %.
#[test]
fn drop_counts_of_one() {
    fn one(packet: &Packet<'_>) -> Option<Vec<u8>> {
        changed(packet, |option, writer| {
            let DccpOption::Ccid(raw @ RawOption { number: 195, .. }) = option else { return false };
            let Ok(CcidOption::DroppedPackets(reported)) = CcidOption::decode(Ccid::TFRC_SP, raw, PacketType::Ack)
            else {
                return false;
            };
            let counts: Vec<_> = reported.iter().map(|count| [0, 0, u8::from(count > 0)]).collect();
            writer.push_ccid(CcidOption::DroppedPackets(DroppedPackets::new(&counts).unwrap())).unwrap();
            true
        })
    }
    let path = |chance| Path { round_trip: 200, chance, in_a_row: 2 };
    assert!((-0.01..0.01).contains(&wins(4, path(0.02), 60, one)), "losses are more than two round trips apart");
    assert!((-0.01..0.01).contains(&wins(4, path(0.1), 60, one)));
}

/// The first interval is synthetic, and skipped numbers do not verify its length. It matters up to
/// the eighth loss event.
#[test]
fn a_first_interval_of_any_length() {
    fn endless(packet: &Packet<'_>) -> Option<Vec<u8>> {
        with_intervals(packet, |mut reported| {
            if let Some(first) = reported.last_mut().filter(|first| first.loss_length == 0 && first.data_length > 0) {
                first.data_length = (1 << 24) - 1;
            }
            reported
        })
    }
    let path = |chance| Path { round_trip: 20, chance, in_a_row: 1 };
    assert!((0.0..0.05).contains(&wins(3, path(0.01), 20, endless)), "80 events");
    assert!((0.03..0.2).contains(&wins(3, path(0.0003), 20, endless)), "8 events");
}

/// Losses within a round trip and a half may be one event: no gain with twelve packets per round
/// trip, a few per cent with five.
#[test]
fn events_that_are_joined() {
    fn joined<const PACKETS: u32>(packet: &Packet<'_>) -> Option<Vec<u8>> {
        with_intervals(packet, |reported| {
            let mut joined: Vec<LossInterval> = Vec::new();
            for older in reported {
                match joined.last_mut() {
                    Some(newer)
                        if older.loss_length > 0
                            && newer.loss_length + older.lossless_length + older.loss_length < PACKETS =>
                    {
                        newer.loss_length += older.lossless_length + older.loss_length;
                        newer.data_length += older.data_length;
                    }
                    _ => joined.push(older),
                }
            }
            joined
        })
    }
    let path = |chance| Path { round_trip: 20, chance, in_a_row: 1 };
    assert!((-0.03..0.03).contains(&wins(3, path(0.01), 20, joined::<18>)));
    assert!((0.0..0.08).contains(&wins(3, path(0.05), 20, joined::<11>)));
}

/// An Elapsed Time is limited to the time until the next packet was sent: with w packets in a round
/// trip it removes one of them.
#[test]
fn elapsed_times_of_a_round_trip() {
    fn waited(packet: &Packet<'_>) -> Option<Vec<u8>> {
        changed(packet, |option, writer| {
            let DccpOption::ElapsedTime(_) = option else { return false };
            writer.push(DccpOption::ElapsedTime(Elapsed::from_duration(Duration::from_micros(19_900)))).is_ok()
        })
    }
    let path = |chance| Path { round_trip: 20, chance, in_a_row: 1 };
    // w = sqrt(1.5 / p): 12 and 5.5, less where timeouts occur.
    assert!((0.04..0.12).contains(&wins(3, path(0.01), 20, waited)));
    assert!((0.15..0.4).contains(&wins(3, path(0.05), 20, waited)));
}
