use super::*;
use headway_units::{Bytes, MediaKind};
use proptest::prelude::*;

const NONE: [u64; 0] = [];

/// Creates a packet whose size is its number.
fn packet(number: u64, expires: Option<Instant>) -> Media {
    let (kind, created) = (MediaKind::Data, Instant::ZERO);
    Media { payload: (), size: Bytes::new(number), kind, priority: 0, created, expires, fragment: None, method: None }
}

fn sent(numbers: impl IntoIterator<Item = u64>) -> Outstanding<Media> {
    let mut outstanding = Outstanding::default();
    numbers.into_iter().for_each(|number| outstanding.sent(number, packet(number, None)));
    outstanding
}

fn reported(numbers: RangeInclusive<u64>, received: bool) -> ReportedPackets {
    ReportedPackets { numbers, received }
}

/// Returns the lost packets of a report with a letter for each number from 0: `+` received, `-` not received, `.` not
/// covered.
fn lost(outstanding: &mut Outstanding<Media>, report: &str) -> Vec<u64> {
    let reports = report.bytes().zip(0..).filter(|(letter, _)| *letter != b'.');
    let reports = reports.map(|(letter, number)| reported(number..=number, letter == b'+'));
    outstanding.report(Instant::ZERO, reports).iter().map(|media| media.size.count()).collect()
}

/// RFC 4341 section 5: "at least NUMDUPACK packets transmitted after P".
#[test]
fn a_packet_is_lost_after_three_later_packets() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, "-++"), NONE);
    assert_eq!(lost(&mut outstanding, "-+++"), [0]);
    assert_eq!(lost(&mut outstanding, ".---+-+-+"), NONE);
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, "-+--+-+"), [0]);
    assert_eq!(lost(&mut outstanding, "-+--+-+-+"), [2, 3]);
}

/// "The acknowledged packets following the hole may be DCCP-Acks or other non-data packets."
#[test]
fn packets_without_data_count_as_later_ones() {
    let mut outstanding = sent([0, 7]);
    assert_eq!(lost(&mut outstanding, "-++"), NONE);
    assert_eq!(lost(&mut outstanding, "-+++"), [0]);
}

/// The three packets may be reported in separate reports, in any order.
#[test]
fn reports_accumulate() {
    for order in [["-...+", "-.+", "-+"], ["-+", "-.+", "-...+"], ["-.+", "-...+", "-+"]] {
        let mut outstanding = sent(0..9);
        assert_eq!(lost(&mut outstanding, order[0]), NONE);
        assert_eq!(lost(&mut outstanding, order[1]), NONE);
        assert_eq!(lost(&mut outstanding, order[2]), [0], "{order:?}");
    }
}

/// "Inferred to be lost, rather than delayed": a packet overtaken by two others may still arrive.
#[test]
fn a_delayed_packet_is_not_lost() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, "-++"), NONE);
    assert_eq!(lost(&mut outstanding, "++++++"), NONE);
    assert_eq!(lost(&mut outstanding, "+++++++++"), NONE);
    assert!(outstanding.packets.is_empty());
}

/// RFC 4340 section 11.4.1: a received packet stays received after an older report. Repeated reports count once.
#[test]
fn old_and_repeated_reports_are_ignored() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, "++-++"), NONE);
    assert_eq!(lost(&mut outstanding, "-+"), NONE);
    assert_eq!(lost(&mut outstanding, "++-++"), NONE);
    assert_eq!(lost(&mut outstanding, "-+-+++"), [2]);
    assert_eq!(lost(&mut outstanding, "-+-+++"), NONE);
}

/// RFC 4340 section 11.4.2: a receiver discards old state. A packet missing from a report is not lost.
#[test]
fn a_missing_report_is_no_loss() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, ".++++"), NONE);
    assert_eq!(lost(&mut outstanding, "-...."), [0]);
}

/// A packet that reports no longer cover is dropped once it has expired.
#[test]
fn expired_packets_without_reports_are_removed() {
    let mut outstanding = Outstanding::default();
    let (now, before) = (Instant::from_millis(10), Instant::from_millis(9));
    for (number, expires) in [(0, Some(before)), (1, Some(now)), (2, None), (3, Some(before)), (4, Some(before))] {
        outstanding.sent(number, packet(number, expires));
    }
    assert_eq!(outstanding.report(now, [reported(3..=3, false)]), []);
    let kept: Vec<_> = outstanding.packets.iter().map(|sent| sent.number).collect();
    assert_eq!(kept, [1, 2, 3, 4]);
}

#[test]
fn without_reports_the_oldest_are_removed() {
    let mut outstanding = sent(0..100_000);
    assert_eq!(outstanding.packets.len(), 32_384);
    assert_eq!(
        outstanding.report(Instant::ZERO, [reported(0..=99_996, false), reported(99_997..=99_999, true)]).len(),
        32_381
    );
    assert!(outstanding.packets.is_empty());
}

#[test]
fn numbers_that_do_not_increase_are_rejected() {
    let outstanding = sent([5, 5, 3, u64::MAX, 0]);
    assert_eq!(outstanding.packets.iter().map(|sent| sent.number).collect::<Vec<_>>(), [5, u64::MAX]);
}

/// Returns the receiver's report about packets from `oldest` to `newest`.
fn truth(received: &[bool], oldest: usize, newest: usize) -> Vec<ReportedPackets> {
    (oldest..=newest).map(|number| reported(number as u64..=number as u64, received[number])).collect()
}

proptest! {
    /// On a path that keeps the order, with lost, repeated and reordered reports: no received packet is detected lost,
    /// none is detected twice, and after a complete report all losses below the third newest packet are detected.
    #[test]
    fn no_packet_is_missed_or_doubled(
        received in prop::collection::vec(prop::bool::weighted(0.7), 4..80),
        reports in prop::collection::vec((0usize..80, 0usize..80), 0..40),
    ) {
        let mut outstanding = sent(0..received.len() as u64);
        let mut found = Vec::new();
        // A receiver reports when a packet arrives.
        let writable = |newest: usize| (0..=newest.min(received.len() - 1)).rev().find(|number| received[*number]);
        for (newest, span) in reports {
            if let Some(newest) = writable(newest) {
                found.extend(outstanding.report(Instant::ZERO, truth(&received, newest.saturating_sub(span), newest)));
            }
        }
        if let Some(newest) = writable(received.len()) {
            found.extend(outstanding.report(Instant::ZERO, truth(&received, 0, newest)));
        }
        let mut numbers: Vec<_> = found.iter().map(|media| media.size.count() as usize).collect();
        numbers.sort_unstable();
        let third = (0..received.len()).rev().filter(|number| received[*number]).nth(2).unwrap_or(0);
        let missing: Vec<_> = (0..third).filter(|number| !received[*number]).collect();
        prop_assert_eq!(numbers, missing);
    }

    /// For any report, with huge numbers and inverted ranges: each packet is returned at most once, and nothing grows.
    #[test]
    fn invalid_reports_are_tolerated(
        numbers in prop::collection::vec(0u64..50, 0..30),
        reports in prop::collection::vec(prop::collection::vec((any_number(), any_number(), any::<bool>()), 0..10), 0..10),
    ) {
        let mut outstanding = sent(numbers);
        let kept = outstanding.packets.len();
        let mut found = Vec::new();
        for report in reports {
            let before = outstanding.packets.len();
            let report = report.into_iter().map(|(first, last, received)| reported(first..=last, received));
            found.extend(outstanding.report(Instant::ZERO, report).iter().map(|media| media.size.count()));
            prop_assert!(outstanding.packets.len() <= before);
        }
        prop_assert!(found.len() + outstanding.packets.len() <= kept);
        found.sort_unstable();
        prop_assert!(found.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..60, Just(u64::MAX), Just(u64::MAX - 1), any::<u64>()]
}
