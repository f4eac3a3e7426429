//! Receivers that say nothing that is false of a number that was passed over, and leave the losses out (RFC 4342 sections 8.6.1 and 9).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::dialogue;

use dialogue::Dialogue;
use headway_dccp::{
    AckVector, Ccid, CcidOption, ConnectionOptions, DccpOption, Elapsed, LossInterval, LossIntervals, OptionWriter,
    State,
};
use headway_units::{Dialect, Options, Random};
use std::collections::BTreeMap;

/// Lossless and lossy part, the newest interval first.
type Intervals = Vec<(u32, u32)>;

/// A receiver of CCID 3, 10 ms away, that makes its own reports. It asks for SyncAcks: they carry no data, so that their loss is none.
struct Evader {
    client: Dialogue,
    ms: u64,
    seq: u64,
    /// The SyncAcks that came last, in their order.
    sync_acks: Vec<u32>,
    /// All that was sent in the last round trip, in its order.
    sent: Vec<u32>,
}

impl Evader {
    fn new(passed_over_interval: u64) -> Self {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        // Wide enough for a thousand packets at once.
        let sequence_window = 5000;
        let ccids = || vec![3];
        let options = ConnectionOptions {
            send_ccids: ccids(),
            receive_ccids: ccids(),
            passed_over_interval,
            sequence_window,
            ..preset
        };
        let mut client = Dialogue::open_client(&options);
        // Confirm R(Sequence Window, 5000).
        client.send(39, "Ack 1002 (1)", &[35, 9, 3, 0, 0, 0, 0, 0x13, 0x88], b"");
        Self { client, ms: 40, seq: 1003, sync_acks: Vec::new(), sent: Vec::new() }
    }

    /// A round trip goes by: the SyncAcks asked for in the last one have come.
    fn round(&mut self, syncs: usize) {
        self.ms += 20;
        while self.client.outbox.0.len() < 1000 {
            self.client.outbox.push(&[0; 500]);
        }
        let said = self.client.drain_said(self.ms - 10);
        let numbers = |said: &String| said.split(' ').nth(1).unwrap().parse::<u32>().unwrap();
        self.sync_acks = said.iter().filter(|said| said.starts_with("SyncAck")).map(numbers).collect();
        self.sent = said.iter().map(numbers).collect();
        let newest = said.iter().map(numbers).max().unwrap_or(1);
        for _ in 0..syncs {
            self.client.send(self.ms, &format!("Sync {} ({newest})", self.seq), &[], b"");
            self.seq += 1;
        }
    }

    fn name(&mut self, number: u32) {
        self.client.send(self.ms, &format!("Ack {} ({number})", self.seq), &[], b"");
        self.seq += 1;
    }

    /// `elapsed` in ten microseconds.
    fn report(&mut self, number: u32, elapsed: u32, intervals: &Intervals) {
        let bytes: Vec<[u8; 9]> = intervals
            .iter()
            .map(|(lossless_length, loss_length)| {
                let data_length = lossless_length + loss_length;
                let interval = LossInterval {
                    lossless_length: *lossless_length,
                    loss_length: *loss_length,
                    nonce: false,
                    data_length,
                };
                interval.to_bytes().unwrap()
            })
            .collect();
        let mut area = [0; 1008];
        let mut writer = OptionWriter::new(&mut area);
        writer.push(DccpOption::ElapsedTime(Elapsed(elapsed))).unwrap();
        writer.push_ccid(CcidOption::ReceiveRate(10_000_000)).unwrap();
        for bytes in bytes.chunks(LossIntervals::MAX) {
            writer.push_ccid(CcidOption::LossIntervals(LossIntervals::new(0, bytes).unwrap())).unwrap();
        }
        let options = writer.finish().unwrap().as_bytes().to_vec();
        self.client.send(self.ms, &format!("Ack {} ({number})", self.seq), &options, b"");
        self.seq += 1;
    }

    /// Data packets until now. Where next to nothing is believed, the rate stays near a packet a second.
    fn sent(&mut self) -> u64 {
        assert_eq!(self.client.connection().status().counters.lies, 0);
        assert_eq!(self.client.state(), State::Open);
        self.client.connection().status().counters.sent_data_packets
    }

    /// Names three SyncAcks in a row, so that nothing before them is of open fate. The first, and the last.
    fn settle(&mut self) -> Option<(u32, u32)> {
        let [first, middle, last] = *self.sync_acks.get(..3)? else { return None };
        self.name(first);
        self.name(middle);
        Some((first, last))
    }
}

/// What a report leaves out counts as lost. Otherwise the next one could begin behind it.
#[test]
fn what_is_left_out_is_lost() {
    let mut evader = Evader::new(50);
    for _ in 0..200 {
        evader.round(3);
        let Some((first, last)) = evader.settle() else { continue };
        evader.report(last, 0, &vec![(0, 1)]);
        evader.report(last, 0, &vec![(last - first, 1)]);
    }
    let sent = evader.sent();
    assert!(sent < 600, "{sent}");
}

/// Without a round trip a report is no feedback (RFC 4342 section 6), and what it confesses has to be told again.
#[test]
fn what_is_told_in_vain_is_told_again() {
    let mut evader = Evader::new(50);
    let mut told = 0;
    for _ in 0..200 {
        evader.round(3);
        let Some((first, last)) = evader.settle() else { continue };
        // It has waited for longer than the packet is old.
        evader.report(last, 100_000, &vec![(0, last + 1 - told)]);
        evader.report(last, 0, &vec![(last - first, 1)]);
        told = first;
    }
    let sent = evader.sent();
    assert!(sent < 600, "{sent}");
}

/// As many intervals as one option holds, of packets without data, and behind them, in a second option, the losses.
#[test]
fn many_intervals_hide_no_losses() {
    let mut evader = Evader::new(50);
    let mut told = 0;
    for _ in 0..200 {
        evader.round(30);
        let Some(&last) = evader.sync_acks.last() else { continue };
        let mut end = last + 1;
        let mut intervals = Intervals::new();
        for sync_ack in evader.sync_acks.iter().rev() {
            intervals.push((end - sync_ack - 1, 1));
            end = *sync_ack;
        }
        intervals.push((0, end - told));
        evader.report(last, 0, &intervals);
        told = end - 100.min(end);
    }
    let sent = evader.sent();
    assert!(sent < 600, "{sent}");
}

/// Three numbers in a row are named, and a report of the one between: what is behind the last ones need not be known yet, and what
/// was told before need not be told again.
#[test]
fn an_old_number_settles_nothing() {
    let mut evader = Evader::new(50);
    let mut told = 0;
    for _ in 0..200 {
        evader.round(3);
        let Some((first, last)) = evader.settle() else { continue };
        evader.name(last);
        evader.report(first + 1, 0, &vec![(first + 1 - told, 1)]);
        told = first;
    }
    let connection = evader.client.connection();
    let sent = connection.status().counters.sent_data_packets;
    assert!(sent < 600 || connection.status().counters.lies > 2, "{sent}");
}

/// All up to `newest` has come but for these, the newest first, of which fifty at most are told.
fn without<'a>(newest: u32, missing: impl ExactSizeIterator<Item = &'a u32>) -> Intervals {
    let (mut end, mut intervals, all) = (newest + 1, Intervals::new(), missing.len() < 50);
    for number in missing.take(50) {
        // Losses in a row are one event.
        match intervals.last_mut() {
            Some((_, lossy)) if end == number + 1 => *lossy += 1,
            _ => intervals.push((end - number - 1, 1)),
        }
        end = *number;
    }
    if all {
        intervals.push((end, 0));
    }
    intervals
}

/// What a receiver has told as lost it may not take back. It could tell the truth, see by the sender's rate whether data was lost or a
/// number was passed over, and say of what was lost that it has come after all.
#[test]
fn nothing_is_taken_back() {
    let sent = |takes_back: bool| {
        let (mut evader, mut random) = (Evader::new(200), Random::new(3, "path"));
        // Of each missing number, whether data was lost.
        let (mut missing, mut newest) = (BTreeMap::new(), 1);
        for _ in 0..1000 {
            evader.round(0);
            if takes_back {
                missing.retain(|_, lost: &mut bool| !*lost);
            }
            for number in std::mem::take(&mut evader.sent) {
                missing.extend((newest + 1..number).map(|passed_over| (passed_over, false)));
                newest = newest.max(number);
                if random.uniform() < 0.01 {
                    missing.insert(number, true);
                }
            }
            while missing.remove(&newest).is_some() {
                newest -= 1;
            }
            evader.report(newest, 0, &without(newest, missing.keys().rev()));
        }
        evader.sent()
    };
    let [honest, liar] = [false, true].map(sent);
    println!("{liar} instead of {honest}");
    assert!(liar < honest * 11 / 10, "{liar} instead of {honest}");
}

/// RFC 4340 section 10: the CCID changes, and an Ack Vector of the receiver before is still under way. No number is passed over
/// until the new receiver has said something, since its first interval reaches down to whatever it has not seen.
#[test]
fn another_ccid_is_verified_by_its_own_reports() {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let rules =
        ConnectionOptions { send_ccids: vec![2, 3], receive_ccids: vec![3], passed_over_interval: 20, ..preset };
    let mut area = [0; 8];
    let mut writer = OptionWriter::new(&mut area);
    writer.push(DccpOption::AckVector(AckVector::new(false, &[0]))).unwrap();
    let vector = writer.finish().unwrap().as_bytes();
    // Of so many connections next to none is without a number that may be passed over.
    for before in 0..20 {
        let mut client = Dialogue::open_client(&rules);
        // Confirm L(Send Ack Vector, 1).
        client.send(30, "Ack 1002 (1)", &[33, 5, 6, 1, 1], b"");
        (0..before).for_each(|_| client.outbox.push(&[0; 500]));
        client.drain_said(5000);
        // Change R(CCID, 3), and the vector that was sent before.
        client.send(5000, "Ack 1004 (1)", &[34, 4, 1, 3], b"");
        assert_eq!(client.connection().status().send_ccid, Ccid::TFRC);
        client.send(5001, "Ack 1003 (1)", vector, b"");
        // Confirm L(Send Ack Vector, 0) lets data go.
        client.send(5300, &format!("Ack 1005 ({})", before + 2), &[33, 5, 6, 0, 0], b"");
        client.drain_said(5301);
        (0..100).for_each(|_| client.outbox.push(&[0; 500]));
        let said = client.drain_said(200_000);
        let numbers: Vec<u32> = said.iter().map(|said| said.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        assert!(numbers.len() > 5 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{before}: {numbers:?}");
    }
}

/// Two round trips lie between numbers that are passed over, but not as many as a receiver would have by naming a packet an hour later.
#[test]
fn no_round_trip_is_so_long_that_nothing_is_passed_over() {
    let mut evader = Evader::new(50);
    evader.ms += 3_600_000;
    let mut area = [0; 8];
    let mut writer = OptionWriter::new(&mut area);
    writer.push(DccpOption::ElapsedTime(Elapsed(0))).unwrap();
    evader.client.send(evader.ms, &format!("Ack {} (1)", evader.seq), writer.finish().unwrap().as_bytes(), b"");
    evader.seq += 1;
    for _ in 0..200 {
        evader.round(0);
        let Some(&newest) = evader.sent.last() else { continue };
        if evader.client.state() != State::Open {
            break;
        }
        evader.report(newest, 0, &vec![(newest + 1, 0)]);
    }
    let counters = evader.client.connection().status().counters;
    assert!(counters.lies >= 3 && counters.sent_data_packets < 5000, "{counters:?}");
}

/// Whoever knows from the data itself how many datagrams are missing, a file's or a call's, can tell a hole in which none is from a
/// loss, and hides the losses alone. No number that was passed over catches it: the threat model says so.
#[test]
fn numbered_data_tells_losses_from_holes() {
    let mut evader = Evader::new(20);
    let mut holes = Vec::new();
    let mut newest = 1;
    for _ in 0..300 {
        evader.round(0);
        for number in std::mem::take(&mut evader.sent) {
            holes.extend(newest + 1..number);
            newest = newest.max(number);
        }
        evader.report(newest, 0, &without(newest, holes.iter().rev()));
    }
    // A thousand a round trip are all there is.
    let sent = evader.sent();
    assert!(holes.len() > 100 && sent > 50_000, "{sent}");
}
