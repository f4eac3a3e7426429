//! `packets.arrow` as Arrow's own reader finds it: columns, batches and their order, computed by hand from `docs/src/records.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::DataType;
use headway_record::{Hop, HopId, HopLink, PacketIndex, PacketNames, PacketRows, TraversalOutcome};
use headway_units::{Bytes, DropCause, Duration, Instant, Rate};
use serde_json::Value;
use std::io::Cursor;

/// Rows of a full batch.
const BATCH: u64 = 65_536;

fn ns(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn names(links: usize, flows: usize) -> PacketNames {
    let link =
        |n| HopLink::new(&format!("l{n}"), ["a", "b"], Duration::from_millis(5), Rate::from_bits_per_second(1_000_000));
    PacketNames {
        links: (0..links).map(link).collect(),
        flows: (0..flows).map(|n| format!("f{n}")).collect(),
        kinds: vec!["data", "feedback"],
    }
}

fn hop(offered: u64, link: u32) -> Hop {
    let (bytes, sequence) = (Bytes::new(1000), offered as u32);
    Hop { offered: ns(offered), link, flow: 0, kind: 0, bytes, sequence, queue: 0, deadline: None }
}

/// Ends the run at a time in ns, and returns the index and the bytes of the file.
fn finish(mut rows: PacketRows, now: u64) -> (PacketIndex, Vec<u8>) {
    let mut bytes = rows.take().unwrap();
    let index = rows.finish(ns(now));
    bytes.extend(rows.take().unwrap());
    (index, bytes)
}

fn batches(bytes: &[u8]) -> Vec<RecordBatch> {
    FileReader::try_new(Cursor::new(bytes), None).unwrap().map(Result::unwrap).collect()
}

/// A column of a batch; none where a row has no value.
fn values(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).unwrap();
    macro_rules! of {
        ($Type:ty) => {
            column.as_primitive::<$Type>().iter().map(|value| value.map(i64::from)).collect()
        };
    }
    match column.data_type() {
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        other => panic!("{name}: {other}"),
    }
}

/// A column of a batch without gaps.
fn column(batch: &RecordBatch, name: &str) -> Vec<i64> {
    values(batch, name).into_iter().map(Option::unwrap).collect()
}

fn lengths(batches: &[RecordBatch]) -> Vec<usize> {
    batches.iter().map(RecordBatch::num_rows).collect()
}

fn json(index: &PacketIndex) -> Value {
    serde_json::from_str(&index.to_json()).unwrap()
}

/// An entry of each batch in the index.
fn of_batches(index: &PacketIndex, key: &str) -> Vec<u64> {
    json(index)["batches"].as_array().unwrap().iter().map(|batch| batch[key].as_u64().unwrap()).collect()
}

/// The first offer is at 1000 ns. Rows are ordered by link, and those of a link by their offers.
#[test]
fn each_fate_of_a_packet_has_its_times() {
    let mut rows = PacketRows::new(&names(2, 2));
    // Link 1: waits 10 ns, is transmitted for 20 ns and propagates for 30 ns.
    let delivered = rows.offered(&Hop { flow: 1, kind: 1, queue: 3, sequence: 77, ..hop(1000, 1) });
    rows.transmitted(delivered, ns(1010), ns(1030));
    rows.marked(delivered);
    // Link 0: dropped at once.
    let refused = rows.offered(&Hop { bytes: Bytes::new(40), queue: u64::MAX, ..hop(1001, 0) });
    rows.ended(refused, ns(1001), TraversalOutcome::Dropped(DropCause::QueueFull));
    // Link 1: would be transmitted from 1030 ns on, but is dropped at 1015 ns while it waits.
    let waiting = rows.offered(&hop(1002, 1));
    rows.transmitted(waiting, ns(1030), ns(1050));
    rows.ended(waiting, ns(1015), TraversalOutcome::Dropped(DropCause::Early));
    rows.ended(delivered, ns(1060), TraversalOutcome::Delivered);
    // Link 0: is transmitted at once, arrives and finds no room at the host.
    let host = rows.offered(&hop(1003, 0));
    rows.transmitted(host, ns(1003), ns(1013));
    rows.ended(host, ns(1018), TraversalOutcome::Dropped(DropCause::Host));
    // Link 0: is in flight at the end of the run at 1100 ns, 7 ns after its transmission.
    let in_flight = rows.offered(&hop(1004, 0));
    rows.transmitted(in_flight, ns(1013), ns(1093));
    // Link 1: still waits at the end of the run.
    rows.offered(&hop(1005, 1));
    // Link 0: is dropped when its transmission would begin.
    let beginning = rows.offered(&hop(1006, 0));
    rows.transmitted(beginning, ns(1020), ns(1040));
    rows.ended(beginning, ns(1020), TraversalOutcome::Dropped(DropCause::Policer));
    let (index, bytes) = finish(rows, 1100);
    let batches = batches(&bytes);
    let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
    let fates: Vec<&str> = column(batch, "fate")
        .into_iter()
        .map(|code| TraversalOutcome::names()[usize::try_from(code).unwrap()])
        .collect();
    assert_eq!(fates, ["queue_full", "host", "in_flight", "policer", "delivered", "early", "in_flight"]);
    for (name, expected) in [
        ("base_ns", [1000; 7]),
        ("tick_ns", [1; 7]),
        ("link", [0, 0, 0, 0, 1, 1, 1]),
        ("offered", [1, 3, 4, 6, 0, 2, 5]),
        ("wait", [0, 0, 9, 14, 10, 13, 95]),
        ("transmission", [0, 10, 80, 0, 20, 0, 0]),
        ("propagation", [0, 5, 7, 0, 30, 0, 0]),
        ("flow", [0, 0, 0, 0, 1, 0, 0]),
        ("kind", [0, 0, 0, 0, 1, 0, 0]),
        ("bytes", [40, 1000, 1000, 1000, 1000, 1000, 1000]),
        ("sequence", [1001, 1003, 1004, 1006, 77, 1002, 1005]),
        ("queue", [65_535, 0, 0, 0, 3, 0, 0]),
        ("mark", [0, 0, 0, 0, 1, 0, 0]),
    ] {
        assert_eq!(column(batch, name), expected, "{name}");
    }
    assert_eq!(json(&index)["rows"], 7);
    assert_eq!((of_batches(&index, "base_ns"), of_batches(&index, "until_ns")), (vec![1000], vec![1100]));
}

/// Whole milliseconds from the offer to the deadline, rounded down; null without a deadline.
#[test]
fn deadlines_are_milliseconds_from_the_offer() {
    let mut rows = PacketRows::new(&names(1, 1));
    for deadline in [None, Some(12_999_999), Some(10_000_000), Some(9_999_999)] {
        rows.offered(&Hop { deadline: deadline.map(ns), ..hop(10_000_000, 0) });
    }
    let batches = batches(&finish(rows, 20_000_000).1);
    assert_eq!(values(&batches[0], "deadline"), [None, Some(2), Some(0), Some(-1)]);
}

/// 65,536 links or flows have numbers of two bytes, one more has four.
#[test]
fn many_links_and_flows_have_wider_numbers() {
    for (links, flows, types) in [
        (65_536, 1, [DataType::UInt16, DataType::UInt16]),
        (65_537, 1, [DataType::UInt32, DataType::UInt16]),
        (1, 65_536, [DataType::UInt16, DataType::UInt16]),
        (1, 65_537, [DataType::UInt16, DataType::UInt32]),
    ] {
        let mut rows = PacketRows::new(&names(links, flows));
        let (link, flow) = (links as u32 - 1, flows as u32 - 1);
        rows.offered(&Hop { flow, ..hop(0, link) });
        let batches = batches(&finish(rows, 1).1);
        let found = ["link", "flow"].map(|name| batches[0].column_by_name(name).unwrap().data_type().clone());
        assert_eq!(found, types, "{links} links, {flows} flows");
        assert_eq!((column(&batches[0], "link"), column(&batches[0], "flow")), (vec![link.into()], vec![flow.into()]));
    }
}

/// 2^32 - 1 ns fit into 32 bits; one more needs ticks of 10 ns, and ten times as many need ticks of 100 ns. Times are rounded down.
#[test]
fn ticks_are_as_long_as_a_batch_needs() {
    const MOST: u64 = u32::MAX as u64;
    for (last, tick) in [(MOST, 1), (MOST + 1, 10), (10 * MOST + 9, 10), (10 * MOST + 10, 100)] {
        let base = 7;
        let mut rows = PacketRows::new(&names(1, 1));
        rows.offered(&hop(base, 0));
        let second = rows.offered(&hop(base + 8, 0));
        rows.transmitted(second, ns(base + 12), ns(base + 121));
        rows.ended(second, ns(base + 309), TraversalOutcome::Delivered);
        rows.offered(&hop(base + last, 0));
        let (index, bytes) = finish(rows, base + last);
        let batches = batches(&bytes);
        assert_eq!(column(&batches[0], "base_ns"), [7; 3]);
        assert_eq!(column(&batches[0], "tick_ns"), [tick; 3], "{last}");
        assert_eq!(of_batches(&index, "tick_ns"), [tick as u64]);
        assert_eq!(column(&batches[0], "offered"), [0, 8 / tick, last as i64 / tick]);
        // The sum of the columns is the time of each step, rounded down.
        let ticks = [8, 12, 121, 309].map(|at| at / tick);
        let of_second = ["wait", "transmission", "propagation"].map(|name| column(&batches[0], name)[1]);
        assert_eq!(of_second, [ticks[1] - ticks[0], ticks[2] - ticks[1], ticks[3] - ticks[2]], "{last}");
    }
}

/// A tick is 1 s at most, since it has 32 bits. Later times, after more than 136 years, are the latest that 32 bits can hold.
#[test]
fn ticks_are_one_second_at_most() {
    const LATEST: u64 = u32::MAX as u64 * 1_000_000_000 + 999_999_999;
    for last in [LATEST, LATEST + 1] {
        let mut rows = PacketRows::new(&names(1, 1));
        rows.offered(&hop(0, 0));
        rows.offered(&hop(last, 0));
        let batches = batches(&finish(rows, last).1);
        assert_eq!(column(&batches[0], "tick_ns"), [1_000_000_000; 2]);
        assert_eq!(column(&batches[0], "offered"), [0, u32::MAX.into()]);
    }
}

/// Names are in the metadata as JSON, and the index, which lists the bytes of each batch, is in the footer.
#[test]
fn a_file_describes_itself() {
    let mut rows = PacketRows::new(&names(1, 2));
    for number in 0..=BATCH {
        let id = rows.offered(&hop(number, 0));
        rows.ended(id, ns(number), TraversalOutcome::Delivered);
    }
    let (index, bytes) = finish(rows, BATCH);
    let reader = FileReader::try_new(Cursor::new(&bytes), None).unwrap();
    let of = |key: &str| -> Value { serde_json::from_str(&reader.schema().metadata()[key]).unwrap() };
    let link =
        serde_json::json!({ "name": "l0", "from": "a", "to": "b", "delay_ns": 5_000_000, "rate_bps": 1_000_000 });
    assert_eq!(of("links"), serde_json::json!([link]));
    assert_eq!(of("flows"), serde_json::json!(["f0", "f1"]));
    assert_eq!(of("kinds"), serde_json::json!(["data", "feedback"]));
    assert_eq!(of("fates"), serde_json::json!(TraversalOutcome::names()));
    assert_eq!(of("rows"), BATCH + 1);
    assert_eq!(of("headway.packets"), json(&index)["version"]);
    assert_eq!(PacketIndex::text_of(&bytes), Some(index.to_json()));
    assert_eq!(PacketIndex::text_of(&bytes[..bytes.len() - 1]), None);
    let expected = batches(&bytes);
    assert_eq!(lengths(&expected), [BATCH as usize, 1]);
    let part = |place: &Value| {
        let [offset, length] = ["offset", "length"].map(|key| place[key].as_u64().unwrap() as usize);
        &bytes[offset..offset + length]
    };
    let index = json(&index);
    for (place, expected) in index["batches"].as_array().unwrap().iter().zip(&expected) {
        let stream = [part(&index["schema"]), part(place)].concat();
        let found: Vec<RecordBatch> =
            StreamReader::try_new(Cursor::new(stream), None).unwrap().map(Result::unwrap).collect();
        let [found] = &found[..] else { panic!("{} batches", found.len()) };
        assert_eq!(found.columns(), expected.columns());
        assert_eq!(place["rows"], expected.num_rows());
    }
}

/// Two full batches and 10 rows. The n-th row is offered at n ns to link n mod 3, and each row has its own fate, times and mark, which are
/// reported two batches later at most.
#[test]
fn rows_of_several_batches_keep_their_fates() {
    let fate =
        |n: u64| [TraversalOutcome::Delivered, TraversalOutcome::Dropped(DropCause::Channel)][n as usize % 5 / 4];
    let all = 2 * BATCH + 10;
    let mut rows = PacketRows::new(&names(3, 1));
    let ids: Vec<HopId> = (0..all).map(|n| rows.offered(&hop(n, (n % 3) as u32))).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "identifiers rise");
    for (id, n) in ids.iter().zip(0..) {
        rows.transmitted(*id, ns(n + n % 11), ns(n + n % 11 + n % 13));
        if n % 7 == 0 {
            rows.marked(*id);
        }
        rows.ended(*id, ns(n + n % 11 + n % 13 + 5), fate(n));
    }
    let (index, bytes) = finish(rows, all);
    let batches = batches(&bytes);
    assert_eq!(lengths(&batches), [65_536, 65_536, 10]);
    assert_eq!(of_batches(&index, "rows"), [65_536, 65_536, 10]);
    assert_eq!(of_batches(&index, "base_ns"), [0, 65_536, 131_072]);
    assert_eq!(json(&index)["rows"], all);
    // The last event of a batch is an arrival.
    let last = |first: u64| (first..(first + BATCH).min(all)).map(|n| n + n % 11 + n % 13 + 5).max().unwrap();
    assert_eq!(of_batches(&index, "until_ns"), [0, BATCH, 2 * BATCH].map(last));
    for (batch, first) in batches.iter().zip((0..all).step_by(BATCH as usize)) {
        let mut expected: Vec<u64> = (first..(first + BATCH).min(all)).collect();
        expected.sort_by_key(|n| n % 3);
        let of = |value: &dyn Fn(u64) -> u64| expected.iter().map(|n| value(*n) as i64).collect::<Vec<_>>();
        let assert_column = |name: &str, value: &dyn Fn(u64) -> u64| {
            assert!(column(batch, name) == of(value), "{name} of the batch from {first} on");
        };
        assert_column("offered", &|n| n - first);
        assert_column("link", &|n| n % 3);
        assert_column("wait", &|n| n % 11);
        assert_column("transmission", &|n| n % 13);
        assert_column("propagation", &|_| 5);
        assert_column("mark", &|n| u64::from(n % 7 == 0));
        assert_column("fate", &|n| fate(n).code().into());
    }
}

/// A batch is written when the next one begins and no packet of the first is on its link.
#[test]
fn a_batch_is_written_as_soon_as_it_is_settled() {
    let mut rows = PacketRows::new(&names(1, 1));
    let mut file = rows.take().unwrap();
    let offer = |rows: &mut PacketRows, n: u64| {
        let id = rows.offered(&hop(n, 0));
        if n > 0 {
            rows.ended(id, ns(n), TraversalOutcome::Delivered);
        }
        id
    };
    let first = offer(&mut rows, 0);
    (1..2 * BATCH).for_each(|n| {
        offer(&mut rows, n);
    });
    let ready = rows.take().unwrap();
    file.extend(&ready);
    assert!(ready.is_empty(), "the first packet is on its link: {} bytes", ready.len());
    rows.ended(first, ns(9), TraversalOutcome::Delivered);
    assert!(rows.take().unwrap().is_empty(), "the third batch has not begun");
    offer(&mut rows, 2 * BATCH);
    let ready = rows.take().unwrap();
    assert!(!ready.is_empty(), "two batches are settled");
    file.extend(ready);
    let index = rows.finish(ns(2 * BATCH));
    file.extend(rows.take().unwrap());
    assert_eq!(lengths(&batches(&file)), [65_536, 65_536, 1]);
    assert_eq!(of_batches(&index, "until_ns"), [65_535, 131_071, 131_072]);
}

/// While a packet is on its link 16 more batches may be offered. Then its batch is written without it, and its row is in a later one.
#[test]
fn packets_that_stay_for_long_are_in_a_later_batch() {
    let mut rows = PacketRows::new(&names(1, 1));
    let slow: Vec<HopId> = (0..3).map(|n| rows.offered(&hop(n, 0))).collect();
    let offer = |rows: &mut PacketRows, from: u64, to: u64| {
        for n in from..to {
            let id = rows.offered(&hop(n, 0));
            rows.ended(id, ns(n), TraversalOutcome::Delivered);
        }
    };
    let mut file = rows.take().unwrap();
    offer(&mut rows, 3, 17 * BATCH);
    assert!(rows.take().unwrap().is_empty(), "the first batch and 16 more wait");
    offer(&mut rows, 17 * BATCH, 17 * BATCH + 1);
    file.extend(rows.take().unwrap());
    // The second one first: their rows are in the order of their offers all the same.
    for n in [1, 0] {
        let end = ns(20 * BATCH + n);
        rows.transmitted(slow[n as usize], ns(10 + n), end);
        rows.marked(slow[n as usize]);
        rows.ended(slow[n as usize], end, TraversalOutcome::Dropped(DropCause::Channel));
    }
    let end = 21 * BATCH;
    let index = rows.finish(ns(end));
    file.extend(rows.take().unwrap());
    let mut expected = vec![65_536; 17];
    expected[0] = 65_533;
    expected.extend([1, 3]);
    assert_eq!(of_batches(&index, "rows"), expected);
    assert_eq!(json(&index)["rows"], 17 * BATCH + 1);
    assert_eq!(of_batches(&index, "base_ns")[17..], [17 * BATCH, 0]);
    let mut reader = FileReader::try_new(Cursor::new(&file), None).unwrap();
    reader.set_index(18).unwrap();
    let last = reader.next().unwrap().unwrap();
    assert_eq!(column(&last, "offered"), [0, 1, 2]);
    let codes = [
        TraversalOutcome::Dropped(DropCause::Channel),
        TraversalOutcome::Dropped(DropCause::Channel),
        TraversalOutcome::InFlight,
    ]
    .map(|fate| i64::from(fate.code()));
    assert_eq!(column(&last, "fate"), codes);
    assert_eq!(column(&last, "mark"), [1, 1, 0]);
    assert_eq!(column(&last, "wait"), [10, 10, end as i64 - 2]);
    let transmission = (20 * BATCH - 10) as i64;
    assert_eq!(column(&last, "transmission"), [transmission, transmission, 0]);
    reader.set_index(0).unwrap();
    let first = column(&reader.next().unwrap().unwrap(), "offered");
    assert_eq!((first.len(), first[0], first[65_532]), (65_533, 0, 65_532));
}

/// 65,536 packets stay on their links for long. When the last of them has left, their rows are a batch, in the order of their offers.
#[test]
fn packets_that_stayed_for_long_make_a_batch() {
    let mut rows = PacketRows::new(&names(1, 1));
    let slow: Vec<HopId> = (0..BATCH).map(|n| rows.offered(&hop(n, 0))).collect();
    let offer = |rows: &mut PacketRows, from: u64, to: u64| {
        for n in from..to {
            let id = rows.offered(&hop(n, 0));
            rows.ended(id, ns(n), TraversalOutcome::Delivered);
        }
    };
    let mut file = rows.take().unwrap();
    offer(&mut rows, BATCH, 17 * BATCH + 1);
    for id in slow[1..].iter().rev() {
        rows.ended(*id, ns(18 * BATCH), TraversalOutcome::Delivered);
    }
    file.extend(rows.take().unwrap());
    offer(&mut rows, 17 * BATCH + 1, 18 * BATCH + 1);
    // The first one is on its link: 65,535 rows are no batch.
    rows.ended(slow[0], ns(18 * BATCH + 1), TraversalOutcome::Delivered);
    offer(&mut rows, 18 * BATCH + 1, 19 * BATCH + 1);
    let index = rows.finish(ns(20 * BATCH));
    file.extend(rows.take().unwrap());
    // The batches of the others, the late one, and the one row of the last.
    let mut expected: Vec<u64> = (1..19).map(|number| number * BATCH).collect();
    expected.extend([0, 19 * BATCH]);
    assert_eq!(of_batches(&index, "base_ns"), expected);
    assert_eq!(of_batches(&index, "rows")[17..], [BATCH, BATCH, 1]);
    let mut reader = FileReader::try_new(Cursor::new(&file), None).unwrap();
    reader.set_index(18).unwrap();
    let late = column(&reader.next().unwrap().unwrap(), "offered");
    assert!(late == (0..BATCH as i64).collect::<Vec<_>>(), "in the order of their offers");
}

/// The same hops give the same bytes, taken at once or in pieces.
#[test]
fn the_same_hops_give_the_same_bytes() {
    let file = |take_every: u64| {
        let (mut rows, mut bytes) = (PacketRows::new(&names(2, 1)), Vec::new());
        for n in 0..2 * BATCH {
            let id = rows.offered(&hop(n, (n % 2) as u32));
            rows.ended(id, ns(n), TraversalOutcome::Delivered);
            if n % take_every == 0 {
                bytes.extend(rows.take().unwrap());
            }
        }
        rows.finish(ns(2 * BATCH));
        bytes.extend(rows.take().unwrap());
        bytes
    };
    assert!(file(u64::MAX) == file(10_000));
}

/// A run without packets is a file without rows.
#[test]
fn no_packets_are_a_file_without_rows() {
    let (index, bytes) = finish(PacketRows::new(&names(1, 1)), 5);
    assert_eq!(batches(&bytes), []);
    assert_eq!((json(&index)["rows"].clone(), of_batches(&index, "rows")), (0.into(), vec![]));
}
