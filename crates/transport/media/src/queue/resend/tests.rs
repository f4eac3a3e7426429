use super::*;
use headway_units::{Bytes, MediaKind};
use proptest::prelude::*;

const NONE: [u64; 0] = [];

/// A packet whose size is its number.
fn packet(number: u64, expires: Option<Instant>) -> Media {
    let (kind, created) = (MediaKind::Data, Instant::ZERO);
    Media { payload: (), size: Bytes::new(number), kind, priority: 0, created, expires, fragment: None, method: None }
}

fn sent(numbers: impl IntoIterator<Item = u64>) -> Outstanding<Media> {
    let mut outstanding = Outstanding::default();
    numbers.into_iter().for_each(|number| outstanding.sent(number, packet(number, None)));
    outstanding
}

fn told(numbers: RangeInclusive<u64>, received: bool) -> Told {
    Told { numbers, received }
}

/// The numbers that a report shows lost: `report` has a letter for each number from 0, `+` received, `-` not, `.` untold.
fn lost(outstanding: &mut Outstanding<Media>, report: &str) -> Vec<u64> {
    let told = report.bytes().zip(0..).filter(|(letter, _)| *letter != b'.');
    let told = told.map(|(letter, number)| self::told(number..=number, letter == b'+'));
    outstanding.report(Instant::ZERO, told).iter().map(|media| media.size.count()).collect()
}

/// RFC 4341 section 5: "at least NUMDUPACK packets transmitted after P".
#[test]
fn lost_after_three_later_ones() {
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

/// Each of the three may be told by another report, whatever their order.
#[test]
fn reports_add_up() {
    for order in [["-...+", "-.+", "-+"], ["-+", "-.+", "-...+"], ["-.+", "-...+", "-+"]] {
        let mut outstanding = sent(0..9);
        assert_eq!(lost(&mut outstanding, order[0]), NONE);
        assert_eq!(lost(&mut outstanding, order[1]), NONE);
        assert_eq!(lost(&mut outstanding, order[2]), [0], "{order:?}");
    }
}

/// "Inferred to be lost, rather than delayed": what two others have overtaken may still come.
#[test]
fn a_delayed_packet_is_not_lost() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, "-++"), NONE);
    assert_eq!(lost(&mut outstanding, "++++++"), NONE);
    assert_eq!(lost(&mut outstanding, "+++++++++"), NONE);
    assert!(outstanding.packets.is_empty());
}

/// RFC 4340 section 11.4.1: what was received stays so, though an older report comes later; a report that comes twice is one.
#[test]
fn old_and_repeated_reports_change_nothing() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, "++-++"), NONE);
    assert_eq!(lost(&mut outstanding, "-+"), NONE);
    assert_eq!(lost(&mut outstanding, "++-++"), NONE);
    assert_eq!(lost(&mut outstanding, "-+-+++"), [2]);
    assert_eq!(lost(&mut outstanding, "-+-+++"), NONE);
}

/// RFC 4340 section 11.4.2: a receiver forgets what it has told. That it does not speak of a packet says nothing.
#[test]
fn silence_is_no_loss() {
    let mut outstanding = sent(0..9);
    assert_eq!(lost(&mut outstanding, ".++++"), NONE);
    assert_eq!(lost(&mut outstanding, "-...."), [0]);
}

/// Untold and expired, a packet is of no more interest; untold and under way it is.
#[test]
fn what_nobody_speaks_of_is_forgotten_when_it_has_expired() {
    let mut outstanding = Outstanding::default();
    let (now, before) = (Instant::from_millis(10), Instant::from_millis(9));
    for (number, expires) in [(0, Some(before)), (1, Some(now)), (2, None), (3, Some(before)), (4, Some(before))] {
        outstanding.sent(number, packet(number, expires));
    }
    assert_eq!(outstanding.report(now, [told(3..=3, false)]), []);
    let kept: Vec<_> = outstanding.packets.iter().map(|sent| sent.number).collect();
    assert_eq!(kept, [1, 2, 3, 4]);
}

#[test]
fn the_oldest_give_way_where_nothing_is_reported() {
    let mut outstanding = sent(0..100_000);
    assert_eq!(outstanding.packets.len(), 32_384);
    assert_eq!(outstanding.report(Instant::ZERO, [told(0..=99_996, false), told(99_997..=99_999, true)]).len(), 32_381);
    assert!(outstanding.packets.is_empty());
}

#[test]
fn numbers_that_do_not_grow_are_not_kept() {
    let outstanding = sent([5, 5, 3, u64::MAX, 0]);
    assert_eq!(outstanding.packets.iter().map(|sent| sent.number).collect::<Vec<_>>(), [5, u64::MAX]);
}

/// What the receiver says of all packets up to `newest`, from `oldest` up.
fn truth(come: &[bool], oldest: usize, newest: usize) -> Vec<Told> {
    (oldest..=newest).map(|number| told(number as u64..=number as u64, come[number])).collect()
}

proptest! {
    /// On a path that keeps the order, with reports that are lost, repeated and overtake each other: nothing that came is found
    /// lost, nothing is found lost twice, and after a report on everything all that is below the third newest has been found.
    #[test]
    fn no_packet_is_missed_or_doubled(
        come in prop::collection::vec(prop::bool::weighted(0.7), 4..80),
        reports in prop::collection::vec((0usize..80, 0usize..80), 0..40),
    ) {
        let mut outstanding = sent(0..come.len() as u64);
        let mut found = Vec::new();
        // A report is written when a packet has come.
        let writable = |newest: usize| (0..=newest.min(come.len() - 1)).rev().find(|number| come[*number]);
        for (newest, span) in reports {
            if let Some(newest) = writable(newest) {
                found.extend(outstanding.report(Instant::ZERO, truth(&come, newest.saturating_sub(span), newest)));
            }
        }
        if let Some(newest) = writable(come.len()) {
            found.extend(outstanding.report(Instant::ZERO, truth(&come, 0, newest)));
        }
        let mut numbers: Vec<_> = found.iter().map(|media| media.size.count() as usize).collect();
        numbers.sort_unstable();
        let third = (0..come.len()).rev().filter(|number| come[*number]).nth(2).unwrap_or(0);
        let missing: Vec<_> = (0..third).filter(|number| !come[*number]).collect();
        prop_assert_eq!(numbers, missing);
    }

    /// Whatever a report says, huge numbers and ranges the wrong way round: each packet comes back once at most, and nothing grows.
    #[test]
    fn lies_do_no_harm(
        numbers in prop::collection::vec(0u64..50, 0..30),
        reports in prop::collection::vec(prop::collection::vec((any_number(), any_number(), any::<bool>()), 0..10), 0..10),
    ) {
        let mut outstanding = sent(numbers);
        let kept = outstanding.packets.len();
        let mut found = Vec::new();
        for report in reports {
            let before = outstanding.packets.len();
            let report = report.into_iter().map(|(first, last, received)| told(first..=last, received));
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
