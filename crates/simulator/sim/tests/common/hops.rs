//! Comparison of `packets.arrow` with ns-2's trace of the same run.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails where it panics")]

use super::columns::Table;
use headway_scenario::Scenario;
use std::collections::BTreeMap;

/// Row, with times in ns since the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    pub offered: i64,
    pub start: i64,
    pub end: i64,
    /// Time of arrival at the far end, or of the drop.
    pub ended: i64,
    pub link: usize,
    pub flow: usize,
    pub kind: String,
    pub fate: String,
    pub bytes: i64,
    pub sequence: u32,
    pub queue: usize,
    pub mark: bool,
    pub deadline: Option<i64>,
}

/// Returns the rows of a file in file order.
pub fn rows(table: &Table) -> Vec<Hop> {
    let names = |key: &str| serde_json::from_str::<Vec<String>>(table.metadata_value(key)).unwrap();
    let (kinds, fates) = (names("kinds"), names("fates"));
    let all = |name: &str| table.all(name);
    let (base, tick, offered) = (all("base_ns"), all("tick_ns"), all("offered"));
    let (wait, transmission, propagation) = (all("wait"), all("transmission"), all("propagation"));
    let (link, flow, kind, fate) = (all("link"), all("flow"), all("kind"), all("fate"));
    let (bytes, sequence, queue, mark) = (all("bytes"), all("sequence"), all("queue"), all("mark"));
    let deadline = table.numbers("deadline");
    let row = |row: usize| {
        let offered = base[row] + offered[row] * tick[row];
        let start = offered + wait[row] * tick[row];
        let end = start + transmission[row] * tick[row];
        Hop {
            offered,
            start,
            end,
            ended: end + propagation[row] * tick[row],
            link: link[row] as usize,
            flow: flow[row] as usize,
            kind: kinds[kind[row] as usize].clone(),
            fate: fates[fate[row] as usize].clone(),
            bytes: bytes[row],
            sequence: sequence[row] as u32,
            queue: queue[row] as usize,
            mark: mark[row] == 1,
            deadline: deadline[row],
        }
    };
    (0..base.len()).map(row).collect()
}

/// A packet at a link, from the lines of a trace; times in us.
#[derive(Debug, Default)]
struct Traced {
    offered: f64,
    start: Option<f64>,
    received: Option<f64>,
    dropped: Option<f64>,
    bytes: i64,
    sequence: i64,
    queue: usize,
    ce_left: bool,
}

/// Returns the packets of each link, in the order of the offers.
fn traced(scenario: &Scenario, trace: &str) -> Vec<Vec<Traced>> {
    let links: BTreeMap<(usize, usize), usize> =
        scenario.links.iter().enumerate().map(|(number, link)| ((link.from, link.to), number)).collect();
    let mut hops: Vec<Vec<Traced>> = scenario.links.iter().map(|_| Vec::new()).collect();
    let mut open: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    let mut waiting = vec![0; scenario.links.len()];
    for line in trace.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |field: usize| fields[field].parse::<i64>().unwrap();
        let at = fields[1].parse::<f64>().unwrap() * 1e6;
        let link = links[&(number(2) as usize, number(3) as usize)];
        let key = (link, number(11) as u64);
        let is_open = open.contains_key(&key);
        if fields[0] == "+" || (fields[0] == "d" && !is_open) {
            open.insert(key, hops[link].len());
            let (bytes, sequence, queue) = (number(5), number(10), waiting[link]);
            hops[link].push(Traced { offered: at, bytes, sequence, queue, ..Traced::default() });
        }
        let hop = &mut hops[link][open[&key]];
        match fields[0] {
            "+" => waiting[link] += 1,
            "-" => {
                hop.start = Some(at);
                hop.ce_left = fields[6].contains('E');
                waiting[link] -= 1;
            }
            "r" => {
                hop.received = Some(at);
                open.remove(&key);
            }
            "d" => {
                hop.dropped = Some(at);
                waiting[link] -= usize::from(is_open && hop.start.is_none());
                open.remove(&key);
            }
            other => panic!("{other}"),
        }
    }
    hops
}

/// Asserts that rows and hops of the trace agree one to one. No link may copy packets.
pub fn agree(scenario: &Scenario, trace: &str, rows: &[Hop], end_ns: i64) {
    let mut by_link: Vec<Vec<&Hop>> = scenario.links.iter().map(|_| Vec::new()).collect();
    for row in rows {
        by_link[row.link].push(row);
    }
    // Rows of long hops are written after rows offered later.
    by_link.iter_mut().for_each(|rows| rows.sort_by_key(|row| row.offered));
    let near = |ns: i64, us: f64| (ns as f64 / 1e3 - us).abs() < 0.51 + us * 1e-12;
    for (link, (ours, theirs)) in by_link.into_iter().zip(traced(scenario, trace)).enumerate() {
        assert_eq!(ours.len(), theirs.len(), "link {link}");
        for (row, hop) in ours.into_iter().zip(theirs) {
            let text = || format!("link {link}: {row:?}\n{hop:?}");
            assert!(near(row.offered, hop.offered), "{}", text());
            assert_eq!((row.bytes, row.sequence, row.queue), (hop.bytes, hop.sequence as u32, hop.queue), "{}", text());
            let start = hop.start.or(hop.dropped).unwrap_or(end_ns as f64 / 1e3);
            assert!(near(row.start, start), "{}", text());
            match (hop.received, hop.dropped) {
                (Some(received), None) => {
                    // Hosts drop packets after the link.
                    assert!(["delivered", "host"].contains(&row.fate.as_str()), "{}", text());
                    assert!(near(row.ended, received), "{}", text());
                }
                (None, Some(dropped)) => {
                    assert!(!["delivered", "host", "in_flight"].contains(&row.fate.as_str()), "{}", text());
                    assert!(near(row.ended, dropped), "{}", text());
                }
                (None, None) => {
                    assert_eq!(row.fate, "in_flight", "{}", text());
                    assert!(hop.start.is_some() || (row.start, row.end) == (end_ns, end_ns), "{}", text());
                }
                (Some(_), Some(_)) => panic!("{}", text()),
            }
            assert!(!row.mark || hop.ce_left || hop.start.is_none(), "{}", text());
        }
    }
}
