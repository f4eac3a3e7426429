//! Pages: distributions, dependencies between transfers, and invalid options.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, all of it")]

use headway_media::{Context, ObjectCounts, PageEvent, Pages, PagesOptions, Source, SourceOptions, Write, WriteSize};
use headway_units::{Dialect, Duration, Instant, Options as _, Random, Registry, SchemaRegistry};
use serde_json::{Value, json};

fn options(table: &Value) -> SourceOptions {
    let SourceOptions::Pages(preset) = SourceOptions::preset("pages", Dialect::Rfc).unwrap() else { panic!() };
    let mut all = serde_json::to_value(preset).unwrap();
    all.as_object_mut().unwrap().extend(table.as_object().unwrap().clone());
    SourceOptions::deserialize("pages", all).unwrap()
}

fn start(table: &Value, seed: u64, stop: Option<Instant>) -> Box<Pages> {
    let context = Context { start: Instant::ZERO, stop, random: Random::new(seed, "flow web source"), trace: None };
    let Source::Pages(pages) = Source::new(&options(table), context).unwrap() else { panic!() };
    pages
}

fn poll(pages: &mut Source, now: Instant) -> Option<(Instant, u64)> {
    let Write { size: WriteSize::Payload(size), created, .. } = pages.poll(now)? else {
        panic!("the application's bytes")
    };
    Some((created, size.count()))
}

/// Results of a network in which each object takes `takes`: writes and events with their times.
struct Run {
    writes: Vec<(Instant, u64)>,
    events: Vec<(Instant, PageEvent)>,
    max_open: usize,
}

fn run(table: &Value, seed: u64, takes: Duration, until_s: u64) -> Run {
    let until = Instant::from_secs(until_s);
    let mut source = Source::Pages(start(table, seed, Some(until)));
    let mut run = Run { writes: Vec::new(), events: Vec::new(), max_open: 0 };
    let mut open: std::collections::VecDeque<(Instant, u64)> = std::collections::VecDeque::new();
    loop {
        let (due, ends) = (source.poll_timeout(), open.front().map(|(ends, _)| *ends));
        let Some(now) = due.into_iter().chain(ends).min() else { return run };
        while let Some((_, write)) = open.pop_front_if(|(ends, _)| *ends <= now) {
            let Source::Pages(pages) = &mut source else { panic!() };
            pages.ended(now, write, false);
        }
        while let Some(write) = poll(&mut source, now) {
            assert_eq!(write.0, now);
            open.push_back((now + takes, run.writes.len() as u64));
            run.writes.push(write);
            run.max_open = run.max_open.max(open.len());
        }
        let Source::Pages(pages) = &mut source else { panic!() };
        run.events.extend(pages.events().map(|event| (now, event)));
    }
}

const fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Three embedded objects, two connections, no parsing: the main object alone, then two objects, then the third when
/// the first of these has arrived.
#[test]
fn objects_wait_for_the_main_object_and_for_a_connection() {
    let table = json!({ "arrivals": { "at": ["1s", "5s"] }, "parsing_time": "0s", "main": { "constant": "9kB" },
        "embedded": { "list": ["1kB", "2kB", "3kB"] }, "objects": { "constant": 3 }, "connections": 2 });
    let run = run(&table, 1, Duration::from_millis(100), 60);
    let page = |at| [(at, 9000), (at + 100, 1000), (at + 100, 2000), (at + 200, 3000)].map(|(at, size)| (ms(at), size));
    assert_eq!(run.writes, [page(1000), page(5000)].concat());
    assert_eq!(run.max_open, 2);
    let event = |at, event| (ms(at), event);
    assert_eq!(
        run.events,
        [
            event(1000, PageEvent::Began(ms(1000))),
            event(1300, PageEvent::Completed(ms(1000))),
            event(5000, PageEvent::Began(ms(5000))),
            event(5300, PageEvent::Completed(ms(5000))),
        ]
    );
}

/// A page of one object is complete when it has arrived. Users read before each page, so each has at most one in
/// progress.
#[test]
fn a_user_reads_one_page_at_a_time() {
    let table =
        json!({ "users": 3, "reading_time": "1s", "objects": { "constant": 0 }, "main": { "constant": "1kB" } });
    let run = run(&table, 1, Duration::from_secs(2), 20_000);
    assert!(run.max_open <= 3);
    // A page takes 2 s, followed by a second of reading: 20000 pages, with a deviation of 1 s sqrt(20000/3) per user.
    let pages = run.writes.len() as f64;
    assert!((pages / 20_000.0 - 1.0).abs() < 0.02, "{pages}");
    let completed = run
        .events
        .iter()
        .filter(|(now, event)| matches!(event, PageEvent::Completed(began) if *began + Duration::from_secs(2) == *now));
    assert!(run.writes.len() - completed.count() <= 3);
}

/// IEEE 802.16m-08/004r5 section 10.1: 5.64 embedded objects per page (5.62 after rounding, from 0 to 53, which are
/// 21.8 % and 2.6 % of the pages), main objects of 10.7 kB and embedded ones of 8.2 kB within their limits, with
/// medians of 4235 B and 790 B. Exponential parsing of 0.13 s and reading of 30 s: 1/e exceed the mean.
#[test]
fn the_preset_has_the_distributions_of_ieee_802_16m() {
    let takes = Duration::from_nanos(1);
    let pages = |table: &Value| {
        let run = run(table, 1, takes, 3_000_000);
        let mut pages: Vec<Vec<(Instant, u64)>> = Vec::new();
        let mut began = run
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                PageEvent::Began(at) => Some(*at),
                _ => None,
            })
            .peekable();
        for write in run.writes {
            if began.next_if(|at| *at == write.0).is_some() {
                pages.push(Vec::new());
            }
            pages.last_mut().unwrap().push(write);
        }
        pages
    };
    let pages = pages(&json!({}));
    let count = pages.len() as f64;
    let near = |what: &str, seen: f64, expected: f64, error: f64| {
        assert!((seen - expected).abs() < 4.0 * error, "{what}: {seen}, and not {expected} within 4 times {error}");
    };
    let share = |what: &str, seen: usize, of: f64, expected: f64| {
        near(what, seen as f64 / of, expected, (expected * (1.0 - expected) / of).sqrt());
    };
    assert!(count > 90_000.0, "{count}");

    let objects: Vec<usize> = pages.iter().map(|page| page.len() - 1).collect();
    let mean = objects.iter().sum::<usize>() as f64 / count;
    let deviation = (objects.iter().map(|n| (*n as f64 - mean) * (*n as f64 - mean)).sum::<f64>() / count).sqrt();
    near("objects", mean, 5.619_981, deviation / count.sqrt());
    share("pages without", objects.iter().filter(|n| **n == 0).count(), count, 0.217_654);
    share("pages of 53", objects.iter().filter(|n| **n == 53).count(), count, 0.026_369);
    assert_eq!(objects.iter().max(), Some(&53));

    let main: Vec<u64> = pages.iter().map(|page| page[0].1).collect();
    let embedded: Vec<u64> = pages.iter().flat_map(|page| page[1..].iter().map(|(_, size)| *size)).collect();
    for (what, sizes, [least, mean, deviation, median, tenth]) in [
        ("main", main, [100.0, 10_734.07, 24_503.65, 4_235.195, 24_317.09]),
        ("embedded", embedded, [50.0, 8_212.18, 46_606.44, 790.368_5, 12_524.41]),
    ] {
        let of = sizes.len() as f64;
        near(what, sizes.iter().sum::<u64>() as f64 / of, mean, deviation / of.sqrt());
        share(what, sizes.iter().filter(|size| **size as f64 > median).count(), of, 0.5);
        share(what, sizes.iter().filter(|size| **size as f64 > tenth).count(), of, 0.1);
        assert!(sizes.iter().all(|size| (least as u64..=2_000_000).contains(size)));
    }

    let between = |from: Instant, to: Instant| to.since(from).as_secs_f64();
    let parsing: Vec<f64> = pages.iter().filter_map(|page| Some(between(page[0].0, page.get(1)?.0))).collect();
    share("parsing", parsing.iter().filter(|time| **time > 0.13).count(), parsing.len() as f64, 0.367_879);
    let reading: Vec<f64> = pages.windows(2).map(|two| between(two[0].last().unwrap().0, two[1][0].0)).collect();
    share("reading", reading.iter().filter(|time| **time > 30.0).count(), reading.len() as f64, 0.367_879);
}

/// Contents, parsing and reading times of pages do not depend on the duration of transfers.
#[test]
fn the_network_does_not_change_the_pages() {
    for table in [json!({}), json!({ "arrivals": { "poisson": "10s" } })] {
        let sizes = |takes, connections| {
            let mut table = table.clone();
            table["connections"] = json!(connections);
            let run = run(&table, 3, takes, 20_000);
            run.writes.iter().map(|(_, size)| *size).take(1000).collect::<Vec<_>>()
        };
        // With one connection, pages of a user do not overlap, nor do arriving pages if transfers take no time.
        let fast = sizes(Duration::from_micros(1), 1);
        assert_eq!(fast, sizes(Duration::from_micros(1), 1));
        assert_eq!(fast, sizes(Duration::from_micros(2), 6));
        assert_eq!(fast.len(), 1000);
    }
    let times =
        |takes| run(&json!({ "objects": { "constant": 0 } }), 3, takes, 20_000).writes.into_iter().map(|(at, _)| at);
    let (fast, slow) = (times(Duration::from_secs(1)), times(Duration::from_secs(3)));
    for (number, (fast, slow)) in fast.zip(slow).enumerate() {
        assert_eq!(slow.since(fast), Duration::from_secs(2 * number as u64), "page {number}");
    }
}

#[test]
fn users_are_independent() {
    let first = |users: u32| {
        let run = run(
            &json!({ "users": users, "objects": { "constant": 0 }, "reading_time": "1s" }),
            5,
            Duration::from_micros(1),
            50,
        );
        run.writes
    };
    let (one, two) = (first(1), first(2));
    assert!(one.len() > 20 && two.len() > one.len());
    assert!(one.iter().all(|write| two.contains(write)));
}

/// A page with a refused object requests no more objects, and its user continues.
#[test]
fn a_refused_object_ends_its_page() {
    let table =
        json!({ "parsing_time": "0s", "objects": { "constant": 9 }, "connections": 2, "main": { "constant": "1kB" } });
    let mut source = Source::Pages(start(&table, 1, None));
    let began = source.poll_timeout().unwrap();
    poll(&mut source, began).unwrap();
    let end = |source: &mut Source, write, refused| {
        let Source::Pages(pages) = source else { panic!() };
        pages.ended(began, write, refused);
        pages.events().last()
    };
    assert_eq!(end(&mut source, 0, false), Some(PageEvent::Began(began)));
    poll(&mut source, began).unwrap();
    assert_eq!(end(&mut source, 1, true), Some(PageEvent::Refused(began)));
    assert_eq!(poll(&mut source, began), None);
    assert!(source.poll_timeout().unwrap() > began);
    // Repeated notifications, and those of unknown writes, are ignored.
    assert_eq!(end(&mut source, 1, false), None);
    assert_eq!(end(&mut source, 77, false), None);
}

/// At most 65536 pages wait for their main object.
#[test]
fn pages_in_progress_are_limited() {
    let table = json!({ "arrivals": { "every": "1us" }, "most": 70_000 });
    let Source::Pages(mut pages) = Source::Pages(start(&table, 1, None)) else { panic!() };
    let mut source = Source::Pages(pages);
    let mut writes = 0;
    while let Some(due) = source.poll_timeout() {
        writes += u32::from(poll(&mut source, due).is_some());
    }
    let Source::Pages(of_source) = source else { panic!() };
    pages = of_source;
    assert_eq!(writes, 65_536);
    let refused = pages.events().filter(|event| matches!(event, PageEvent::Refused(_))).count();
    assert_eq!(refused, 70_000 - 65_536);
}

#[test]
fn no_write_is_made_at_the_stop_or_later() {
    let table =
        json!({ "arrivals": { "at": ["1s"] }, "parsing_time": "0s", "objects": { "constant": 3 }, "connections": 1 });
    let stopped = |until_s| run(&table, 1, Duration::from_secs(1), until_s).writes.len();
    assert_eq!([1, 2, 3, 4, 5].map(stopped), [0, 1, 2, 3, 4]);
}

#[test]
fn invalid_options_are_rejected() {
    for (table, key) in [
        (json!({ "users": 0 }), "users"),
        (json!({ "users": 10_001 }), "users"),
        (json!({ "users": 1, "arrivals": { "every": "1s" } }), "users"),
        (json!({ "arrivals": { "every": "1ns" } }), "arrivals"),
        (json!({ "reading_time": "0s" }), "reading_time"),
        (json!({ "main": { "constant": "0B" } }), "main"),
        (json!({ "embedded": { "list": [] } }), "embedded"),
        (json!({ "main": { "lognormal": { "mean": "1kB", "deviation": "0B" } } }), "main"),
        (json!({ "main": { "lognormal": { "mean": "1kB", "deviation": "1kB", "minimum": "1GB" } } }), "main"),
        (
            json!({ "main": { "lognormal": { "mean": "1kB", "deviation": "1kB", "minimum": "2kB", "maximum": "1kB" } } }),
            "main",
        ),
        (json!({ "objects": { "pareto": { "minimum": 0, "shape": 1.1, "maximum": 55 } } }), "objects"),
        (json!({ "objects": { "pareto": { "minimum": 2, "shape": 0.0, "maximum": 55 } } }), "objects"),
        (json!({ "objects": { "pareto": { "minimum": 2, "shape": 1.1, "maximum": 2 } } }), "objects"),
        (json!({ "objects": { "pareto": { "minimum": 2, "shape": 1.1, "maximum": 1003 } } }), "objects"),
        (json!({ "connections": 0 }), "connections"),
        (json!({ "connections": 1001 }), "connections"),
        (json!({ "most": 0 }), "most"),
    ] {
        assert_eq!(options(&table).check().unwrap_err().key, key, "{table}");
    }
    options(&json!({})).check().unwrap();
    // The range is checked when the number is read, and for options created otherwise.
    for objects in [json!(1001), json!(-1)] {
        let table = json!({ "objects": { "constant": objects } });
        let error = SourceOptions::deserialize("pages", table).unwrap_err().to_string();
        assert!(error.contains("from 0 to 1000"), "{error}");
    }
    let many = PagesOptions { objects: ObjectCounts::Constant(1001), ..PagesOptions::preset(Dialect::Rfc) };
    assert_eq!(many.check().unwrap_err().key, "objects");
}
