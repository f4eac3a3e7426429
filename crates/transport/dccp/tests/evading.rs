//! Receivers that acknowledge no skipped number, and omit losses (RFC 4342 sections 8.6.1 and 9).
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

/// A receiver of CCID 3, 10 ms away, that writes its own reports. It requests SyncAcks, whose loss
/// does not count because they carry no data.
struct Evader {
    client: Dialogue,
    ms: u64,
    seq: u64,
    /// Numbers of the last SyncAcks received, in order.
    sync_acks: Vec<u32>,
    /// Numbers of all packets in the last round trip, in order.
    sent: Vec<u32>,
}

impl Evader {
    fn new(passed_over_interval: u64) -> Self {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        // The window allows a thousand packets at once.
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

    /// Advances by a round trip: the SyncAcks requested in the last one have arrived.
    fn round(&mut self, syncs: usize) {
        self.ms += 20;
        while self.client.outbox.0.len() < 1000 {
            self.client.outbox.push(&[0; 500]);
        }
        let output = self.client.drain_output(self.ms - 10);
        let numbers = |output: &String| output.split(' ').nth(1).unwrap().parse::<u32>().unwrap();
        self.sync_acks = output.iter().filter(|output| output.starts_with("SyncAck")).map(numbers).collect();
        self.sent = output.iter().map(numbers).collect();
        let newest = output.iter().map(numbers).max().unwrap_or(1);
        for _ in 0..syncs {
            self.client.send(self.ms, &format!("Sync {} ({newest})", self.seq), &[], b"");
            self.seq += 1;
        }
    }

    fn acknowledge(&mut self, number: u32) {
        self.client.send(self.ms, &format!("Ack {} ({number})", self.seq), &[], b"");
        self.seq += 1;
    }

    /// Sends a report. `elapsed` is in units of 10 us.
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

    /// Returns the number of data packets sent. With hardly any accepted feedback the rate stays
    /// near one packet per second.
    fn sent(&mut self) -> u64 {
        assert_eq!(self.client.connection().status().counters.lies, 0);
        assert_eq!(self.client.state(), State::Open);
        self.client.connection().status().counters.sent_data_packets
    }

    /// Acknowledges three consecutive SyncAcks, so that earlier packets are settled. Returns the first and the last.
    fn settle(&mut self) -> Option<(u32, u32)> {
        let [first, middle, last] = *self.sync_acks.get(..3)? else { return None };
        self.acknowledge(first);
        self.acknowledge(middle);
        Some((first, last))
    }
}

/// Packets omitted from a report count as lost. Otherwise the next report could start after them.
#[test]
fn packets_omitted_from_reports_are_lost() {
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

/// A report without a round trip is not feedback (RFC 4342 section 6). Its losses must be reported again.
#[test]
fn losses_in_rejected_reports_are_reported_again() {
    let mut evader = Evader::new(50);
    let mut reported = 0;
    for _ in 0..200 {
        evader.round(3);
        let Some((first, last)) = evader.settle() else { continue };
        // Its Elapsed Time exceeds the age of the packet.
        evader.report(last, 100_000, &vec![(0, last + 1 - reported)]);
        evader.report(last, 0, &vec![(last - first, 1)]);
        reported = first;
    }
    let sent = evader.sent();
    assert!(sent < 600, "{sent}");
}

/// The losses are in a second option, after one full of intervals of packets without data.
#[test]
fn many_intervals_do_not_hide_losses() {
    let mut evader = Evader::new(50);
    let mut reported = 0;
    for _ in 0..200 {
        evader.round(30);
        let Some(&last) = evader.sync_acks.last() else { continue };
        let mut end = last + 1;
        let mut intervals = Intervals::new();
        for sync_ack in evader.sync_acks.iter().rev() {
            intervals.push((end - sync_ack - 1, 1));
            end = *sync_ack;
        }
        intervals.push((0, end - reported));
        evader.report(last, 0, &intervals);
        reported = end - 100.min(end);
    }
    let sent = evader.sent();
    assert!(sent < 600, "{sent}");
}

/// Three consecutive numbers are acknowledged, and the report has the middle one: later packets
/// need not be settled, and earlier reports need not be repeated.
#[test]
fn an_old_acknowledgement_number_settles_nothing() {
    let mut evader = Evader::new(50);
    let mut reported = 0;
    for _ in 0..200 {
        evader.round(3);
        let Some((first, last)) = evader.settle() else { continue };
        evader.acknowledge(last);
        evader.report(first + 1, 0, &vec![(first + 1 - reported, 1)]);
        reported = first;
    }
    let connection = evader.client.connection();
    let sent = connection.status().counters.sent_data_packets;
    assert!(sent < 600 || connection.status().counters.lies > 2, "{sent}");
}

/// Returns intervals with all packets up to `newest` received except the `missing` ones, newest first, at most fifty.
fn without<'a>(newest: u32, missing: impl ExactSizeIterator<Item = &'a u32>) -> Intervals {
    let (mut end, mut intervals, all) = (newest + 1, Intervals::new(), missing.len() < 50);
    for number in missing.take(50) {
        // Consecutive losses are one event.
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

/// A receiver cannot withdraw a reported loss. Otherwise it could report truthfully, derive from
/// the sender's rate whether a number was lost or skipped, and then report lost ones as received.
#[test]
fn reported_losses_cannot_be_withdrawn() {
    let sent = |takes_back: bool| {
        let (mut evader, mut random) = (Evader::new(200), Random::new(3, "path"));
        // Missing numbers, and whether data was lost.
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

/// RFC 4340 section 10: the CCID changes while an Ack Vector of the old receiver is in flight. No number is skipped
/// before a report of the new receiver, whose first interval covers all numbers that it has not seen.
#[test]
fn another_ccid_is_verified_by_its_own_reports() {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let rules =
        ConnectionOptions { send_ccids: vec![2, 3], receive_ccids: vec![3], passed_over_interval: 20, ..preset };
    let mut area = [0; 8];
    let mut writer = OptionWriter::new(&mut area);
    writer.push(DccpOption::AckVector(AckVector::new(false, &[0]))).unwrap();
    let vector = writer.finish().unwrap().as_bytes();
    // Almost all of these connections have a number that could be skipped.
    for before in 0..20 {
        let mut client = Dialogue::open_client(&rules);
        // Confirm L(Send Ack Vector, 1).
        client.send(30, "Ack 1002 (1)", &[33, 5, 6, 1, 1], b"");
        (0..before).for_each(|_| client.outbox.push(&[0; 500]));
        client.drain_output(5000);
        // Change R(CCID, 3), and the vector that was sent before.
        client.send(5000, "Ack 1004 (1)", &[34, 4, 1, 3], b"");
        assert_eq!(client.connection().status().send_ccid, Ccid::TFRC);
        client.send(5001, "Ack 1003 (1)", vector, b"");
        // Confirm L(Send Ack Vector, 0) permits data.
        client.send(5300, &format!("Ack 1005 ({})", before + 2), &[33, 5, 6, 0, 0], b"");
        client.drain_output(5301);
        (0..100).for_each(|_| client.outbox.push(&[0; 500]));
        let output = client.drain_output(200_000);
        let numbers: Vec<u32> =
            output.iter().map(|output| output.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        assert!(numbers.len() > 5 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{before}: {numbers:?}");
    }
}

/// Skipped numbers are two round trips apart, but a receiver cannot prevent them by acknowledging a
/// packet an hour later.
#[test]
fn a_long_round_trip_does_not_prevent_skipped_numbers() {
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

/// A receiver that can count missing datagrams in the data itself, such as a file or a call, can distinguish skipped
/// numbers from losses and hide only the losses. Skipped numbers do not detect this, as the threat model states.
#[test]
fn numbered_data_distinguishes_losses_from_skipped_numbers() {
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
    // At most a thousand per round trip are available.
    let sent = evader.sent();
    assert!(holes.len() > 100 && sent > 50_000, "{sent}");
}
