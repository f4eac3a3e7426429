//! Agreement with ns-2.35 for bit-identical times: all times are whole nanoseconds, and flows and links are equal and
//! listed in any order. Data and source: the header of `data/ns2-ties/runs.csv`.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{data, fields, run, scenario};
use headway_sim::{LinkEvent, Packet, Simulation};
use headway_units::Instant;
use std::fmt::Write;

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Returns the rows of a field: `a/b c/d`.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.split(' ').map(|row| row.split('/').collect()).collect()
}

fn text(row: &[&str]) -> String {
    let mut text = format!("duration = \"{}s\"\ndialect = \"ns2\"\nrecord.series = false\n", row[1]);
    for link in rows(row[3]) {
        let [one, other, kbps, ms, packets] = link[..] else { panic!("{link:?}") };
        writeln!(
            text,
            "[[link]]\nbetween = [\"n{one}\", \"n{other}\"]\nrate = \"{kbps}kbps\"\ndelay = \"{ms}ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"{packets}packets\" }}"
        )
        .unwrap();
    }
    let mut phases = numbers::<f64>(row[5]).into_iter();
    for (number, flow) in rows(row[4]).into_iter().enumerate() {
        // The kind of an agent contains slashes.
        let (kind, [from, to, start, one, other]) = flow.split_at(flow.len() - 5) else { panic!("{flow:?}") };
        let carried = match kind {
            ["Agent", "UDP"] => format!(
                "transport = {{ kind = \"udp\", datagram = \"{one}B\" }}\n\
                 source = {{ kind = \"cbr\", rate = \"{other}bps\", size = \"{one}B\" }}"
            ),
            tcp => {
                let kind = match tcp[2..] {
                    [] => "tcp-tahoe",
                    ["Reno"] => "tcp-reno",
                    ["Newreno"] => "tcp-newreno",
                    _ => "tcp-sack",
                };
                let segment = other.parse::<u32>().unwrap() + 40;
                let phase_ns = (phases.next().unwrap() * 1e7).round();
                format!(
                    "transport = {{ kind = \"{kind}\", window = \"{one}packets\", segment = \"{segment}B\", \
                     clock_phase = \"{phase_ns}ns\" }}\nsource = {{ kind = \"ftp\" }}"
                )
            }
        };
        writeln!(
            text,
            "[[flow]]\nname = \"f{number}\"\nfrom = \"n{from}\"\nto = \"n{to}\"\nstart = \"{start}s\"\n{carried}"
        )
        .unwrap();
    }
    text
}

/// Hash of the order of flows whose data arrive at the end of a link.
struct Order {
    link: usize,
    hash: u64,
}

impl common::Watcher for Order {
    fn link_event(&mut self, _: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if event == LinkEvent::Receive && link == self.link && packet.forward {
            self.hash = (self.hash ^ u64::from(packet.flow.0)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[test]
fn simultaneous_events_run_in_the_order_of_scheduling() {
    let stored = data("ns2-ties/runs.csv");
    let mut runs = 0;
    for row in fields(&stored).skip(1) {
        let described = scenario(&text(&row));
        let end = described.flows[0].to;
        let link = described.links.iter().position(|link| link.to == end).unwrap();
        let record = common::watch(&described, Order { link, hash: 0xcbf2_9ce4_8422_2325 });
        let flows = &record.summary.flows;
        let received: Vec<_> = flows.iter().map(|flow| flow.received_packets).collect();
        let dropped: Vec<_> = flows.iter().map(|flow| flow.lost_packets.total()).collect();
        assert_eq!((received, dropped), (numbers(row[6]), numbers(row[7])), "{row:?}");
        assert_eq!(format!("{:016x}", record.observer.hash), row[8], "{row:?}");
        runs += 1;
    }
    assert_eq!(runs, 36);
}

/// Number of packets of 1000 B that ns-2.35 sends at 80 kb/s from 0 s to a stop (measured): at 1 s, its sum of ten
/// tenths is below one, and an eleventh packet is sent; at 0.3 s, the sum of three is above, as are the sums at 1.5
/// and 2 s.
#[test]
fn a_source_stops_by_the_sum_of_its_intervals() {
    for (stop, sent) in [("0.3s", 3), ("1s", 11), ("1.5s", 15), ("2s", 20)] {
        let sent_by = |ties: &str| {
            let text = format!(
                "duration = \"3s\"\nties = \"{ties}\"\n\
                 [[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"1ms\"\n\
                 [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nstop = \"{stop}\"\n\
                 transport = {{ kind = \"udp\", datagram = \"1000B\" }}\n\
                 source = {{ kind = \"cbr\", rate = \"80kbps\", size = \"1000B\" }}\n"
            );
            run(&scenario(&text), ()).summary.flows[0].sent_packets
        };
        assert_eq!(sent_by("scheduled"), sent, "{stop}");
        // No packet is written at the stop itself.
        assert_eq!(sent_by("drawn"), sent - u64::from(stop == "1s"), "{stop}");
    }
}

/// The sum of a timer's start and its wait may be rounded to a nanosecond before the deadline. The sender then uses
/// the deadline as the time, so that time advances. Each of these runs once hung after 200 to 870 s.
#[test]
fn a_sum_before_the_deadline_counts_as_the_deadline() {
    for (rate, transport, source) in [
        ("3300kbps", "kind = \"tfrc\"", "kind = \"ftp\""),
        ("1Mbps", "kind = \"dccp\", ccid = 3", "kind = \"conference\", lifetime = false"),
    ] {
        let text = format!(
            "duration = \"900s\"\ndialect = \"ns2\"\nseed = 723\nrecord.series = false\n[[link]]\nbetween = [\"w\", \"e\"]\nrate = \"{rate}\"\n\
             delay = \"300ms\"\nqueue = {{ kind = \"droptail\", limit = \"15packets\" }}\n[[flow]]\nname = \"call\"\nfrom = \"w\"\nto = \"e\"\n\
             transport = {{ {transport} }}\nsend_queue = {{ kind = \"sfdps2\" }}\nsource = {{ {source} }}\n"
        );
        let scenario = scenario(&text);
        let mut simulation = Simulation::new(&scenario, ()).unwrap();
        let done = (0..100).any(|_| simulation.run(1 << 20).unwrap());
        assert!(done, "{transport}: no end after 10^8 events");
    }
}
