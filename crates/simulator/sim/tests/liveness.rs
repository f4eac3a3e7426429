//! A sender never stays down: when an episode of loss, outage or congestion is over, every controller comes back, with every send queue,
//! source and dialect. What a run delivers is compared with the same run without the episode.
//!
//! A part of all combinations is run by default; `LIVENESS=all` runs all of them, and prints the slowest of each kind.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
use crate::common::product::{PATHS, Path, QUEUES, SOURCES};

use headway_sim::{Body, LinkEvent, Observer, Packet};
use headway_units::Instant;
use std::collections::BTreeMap;

/// Without UDDJ, which keeps some of its senders down by itself: any growth of a delay is congestion to it (`docs/src/clocks-survey.md`).
const TRANSPORTS: [(&str, &str); 15] = [
    ("tfrc", "kind = \"tfrc\""),
    ("tfrc-sp", "kind = \"tfrc-sp\""),
    ("tcp-like", "kind = \"tcp-like\""),
    ("ccid 2", "kind = \"dccp\", ccid = 2"),
    ("ccid 3", "kind = \"dccp\", ccid = 3"),
    ("ccid 4", "kind = \"dccp\", ccid = 4"),
    ("udpm", "kind = \"udpm\""),
    ("ccid 248", "kind = \"dccp\", ccid = 248"),
    ("spacing", "kind = \"spacing\", line_rate = \"100Mbps\""),
    ("ccid 249", "kind = \"dccp\", ccid = 249, connection = { line_rate = \"100Mbps\" }"),
    ("spacing-equation", "kind = \"spacing-equation\""),
    ("tfrc guarded", "kind = \"tfrc\", controller = { loss_filter = \"guarded\" }"),
    ("ccid 250", "kind = \"dccp\", ccid = 250"),
    ("rap", "kind = \"rap\""),
    ("ccid 254", "kind = \"dccp\", ccid = 254"),
];

/// What happens, and from when to when in s.
const EPISODES: [(&str, f64, f64); 7] = [
    ("a tenth is lost", 6.0, 10.0),
    ("no way there or back", 6.0, 10.0),
    ("no way there", 6.0, 7.5),
    ("no way back", 6.0, 10.0),
    ("a flood", 6.0, 10.0),
    ("a download", 5.3, 16.0),
    ("a long outage", 6.0, 26.0),
];
const END_S: f64 = 120.0;
const BIN_S: f64 = 0.1;
/// So many bins must hold nine tenths of what they hold without the episode.
const WINDOW: usize = 40;

/// Bytes of the first flow that came over the first link, in bins.
struct Delivered(Vec<u64>);

impl Observer for Delivered {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        let data = match &packet.body {
            Body::Numbered(datagram) => datagram.data.payload,
            Body::Dccp(dccp) => dccp.data.payload,
            _ => 0,
        };
        if event == LinkEvent::Receive && link == 0 && packet.flow.0 == 0 {
            self.0[(now.as_secs_f64() / BIN_S) as usize] += u64::from(data);
        }
    }
}

#[derive(Clone, Copy)]
struct Case {
    dialect: &'static str,
    path: Path,
    transport: (&'static str, &'static str),
    queue: &'static str,
    source: (&'static str, &'static str),
}

impl Case {
    fn scenario(&self, episode: Option<(&str, f64, f64)>) -> String {
        let (name, from, until) = episode.unwrap_or_default();
        let (mbps, ms, packets) = self.path;
        let link = |between: &str, loss: Option<f64>| {
            let loss = loss.map_or(String::new(), |probability| {
                let first = format!("{{ at = \"{from}s\", probability = {probability:?} }}");
                format!(
                    "loss = {{ kind = \"bernoulli\", probability = 0.0, changes = [{first}, {{ at = \"{until}s\", probability = 0.0 }}] }}"
                )
            });
            format!(
                "[[link]]\nbetween = [{between}]\none_way = true\nrate = \"{mbps}Mbps\"\ndelay = \"{ms}ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"{packets}packets\" }}\n{loss}\n"
            )
        };
        let rival = |transport: &str, source: &str| {
            format!(
                "[[flow]]\nname = \"rival\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{from}s\"\nstop = \"{until}s\"\n\
                 transport = {{ kind = \"{transport}\" }}\nsource = {{ {source} }}\n"
            )
        };
        let (there, back, rival) = match name {
            "" => (None, None, String::new()),
            "a tenth is lost" => (Some(0.1), None, String::new()),
            "no way there or back" | "a long outage" => (Some(1.0), Some(1.0), String::new()),
            "no way there" => (Some(1.0), None, String::new()),
            "no way back" => (None, Some(1.0), String::new()),
            "a flood" => (None, None, rival("udp", "kind = \"cbr\", rate = \"11Mbps\", size = \"700B\"")),
            "a download" => (None, None, rival("tcp-cubic", "kind = \"ftp\"")),
            _ => unreachable!(),
        };
        format!(
            "duration = \"{END_S}s\"\ndialect = \"{}\"\nrecord.series = false\n{}{}[[flow]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ {} }}\nsend_queue = {{ kind = \"{}\" }}\nsource = {{ {} }}\n{rival}",
            self.dialect,
            link("\"a\", \"b\"", there),
            link("\"b\", \"a\"", back),
            self.transport.1,
            self.queue,
            self.source.1,
        )
    }

    fn delivered(&self, episode: Option<(&str, f64, f64)>) -> Vec<u64> {
        let scenario = common::scenario_beside_shipped(&self.scenario(episode));
        common::run(&scenario, Delivered(vec![0; (END_S / BIN_S) as usize])).observer.0
    }

    /// How long after the episode's end the sender is back, in s.
    fn back_after(&self, usual: &[u64], episode: (&str, f64, f64)) -> Option<f64> {
        let bins = self.delivered(Some(episode));
        let first = (episode.2 / BIN_S).round() as usize;
        let in_window = |bins: &[u64], at: usize| bins[at..at + WINDOW].iter().sum::<u64>() as f64;
        let back = (first..bins.len() - WINDOW).find(|at| in_window(&bins, *at) >= 0.9 * in_window(usual, *at));
        back.map(|at| (at - first) as f64 * BIN_S)
    }

    /// The bound: so many times as long as the episode lasted, and so many round trips. A sender that hears nothing waits twice as
    /// long for each packet (RFC 5348 section 4.4, RFC 6298 section 5.5), and so about as long again as the episode lasted before the
    /// next one tells it that the way is there; over DCCP more than 100 lost packets cost one more for a Sync (RFC 4340 section 7.5.1).
    /// What follows are round trips: the rate doubles in each up to the equation's, and that rises as packets lengthen the interval
    /// since the last loss. ns-2's rises by a packet in each. They are round trips through the queue that a flood has filled: where three of
    /// four packets are lost, the equation of RFC 5348 asks for a gap of up to 243 of them (p = 1, t_RTO = 4 R), and who has a large packet waits for it.
    fn bound_s(&self, (name, from, until): (&str, f64, f64)) -> f64 {
        let (mbps, ms, packets) = self.path;
        let queue_s = if name == "a flood" { f64::from(packets) * 700.0 * 8.0 / (f64::from(mbps) * 1e6) } else { 0.0 };
        let r = f64::from(ms) * 2e-3 + queue_s;
        let trips = if self.dialect == "ns2" { 1500.0 } else { 400.0 };
        4.0 * (until - from) + trips * r
    }
}

fn check(dialect: &'static str, transports: &[(&'static str, &'static str)]) {
    let all = std::env::var("LIVENESS").is_ok_and(|which| which == "all");
    let part = |few: usize, of: usize| if all { of } else { few };
    // Behind the pauses of bursts RFC 3448's limit, which is ns-2's, can hold a rate down: its page says so.
    let few = if dialect == "ns2" { 3 } else { 4 };
    let mut slowest: BTreeMap<String, (f64, String)> = BTreeMap::new();
    let mut down = Vec::new();
    for path in &PATHS[..part(1, PATHS.len())] {
        for &transport in transports {
            for source in &SOURCES[..part(few, SOURCES.len())] {
                for queue in &QUEUES[..part(4, QUEUES.len())] {
                    let case = Case { dialect, path: *path, transport, queue, source: *source };
                    let usual = case.delivered(None);
                    for episode in EPISODES {
                        let back = case.back_after(&usual, episode).unwrap_or(f64::INFINITY);
                        let told =
                            format!("{path:?} {} {} {queue} after {}: {back:.1} s", transport.0, source.0, episode.0);
                        let key = format!("{} after {}", transport.0, episode.0);
                        let worst = slowest.entry(key).or_default();
                        if back >= worst.0 {
                            *worst = (back, told.clone());
                        }
                        if back > case.bound_s(episode) {
                            down.push(told);
                        }
                    }
                }
            }
        }
    }
    slowest.values().for_each(|(_, told)| println!("slowest of {dialect}: {told}"));
    assert!(down.is_empty(), "{} stay down under {dialect}:\n{}", down.len(), down.join("\n"));
}

/// Packets of 20 B, far apart behind a minute of heavy loss, are received at less than a byte a second: a Receive Rate of nothing (RFC
/// 4342 section 8.3) kept the sender at one packet in 64 s for ever.
#[test]
fn less_than_a_byte_a_second() {
    for ccid in [3, 4] {
        let lossy =
            "probability = 0.0, changes = [{ at = \"6s\", probability = 0.6 }, { at = \"66s\", probability = 0.0 }]";
        let text = format!(
            "duration = \"400s\"\nmeasure_from = \"320s\"\nseed = 2\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"3Mbps\"\ndelay = \"15ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"25packets\" }}\nloss = {{ kind = \"bernoulli\", {lossy} }}\n[[flow]]\nname = \"call\"\n\
             from = \"a\"\nto = \"b\"\ntransport = {{ kind = \"dccp\", ccid = {ccid} }}\n\
             source = {{ kind = \"cbr\", interval = \"20ms\", payload = \"20B\", media = \"audio\" }}\n"
        );
        let record = common::run(&common::scenario(&text), ());
        assert!(record.summary.flows[0].received_packets > 3900, "{:?}", record.summary.flows[0].received_packets);
    }
}

/// Bursts of 5 s and pauses of 30 s by chance, over CCID 4 behind losses of 0.3: where the receiver takes pauses for round trips (RFC 4342
/// section 8.1), X_recv is spread over them, for minutes.
#[test]
fn pauses_are_no_round_trips() {
    let received = |loss: f64| {
        let loss = format!("probability = {loss:?}, changes = [{{ at = \"42s\", probability = 0.0 }}]");
        let text = format!(
            "duration = \"600s\"\nmeasure_from = \"100s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"3Mbps\"\ndelay = \"15ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"25packets\" }}\nloss = {{ kind = \"bernoulli\", {loss} }}\n[[flow]]\nname = \"call\"\n\
             from = \"a\"\nto = \"b\"\ntransport = {{ kind = \"dccp\", ccid = 4 }}\nsend_queue = {{ kind = \"edf\" }}\n\
             source = {{ kind = \"exponential\", rate = \"600kbps\", payload = \"300B\", burst_time = \"5s\", idle_time = \"30s\", lifetime = \"200ms\" }}\n"
        );
        common::run(&common::scenario(&text), ()).summary.flows[0].received_packets
    };
    let (behind_losses, usual) = (received(0.3), received(0.0));
    assert!(behind_losses * 10 > usual * 9, "{behind_losses} of {usual}");
}

/// Of all combinations some that did. Packets five round trips apart, which measure none, so that the receiver did not know when its four bits of
/// counter had gone round (RFC 4342 section 8.1); a small packet that came among large ones that were lost, and was X_recv while the next
/// large one waited (RFC 5348 section 4.3); a receiver without delayed acknowledgements that waited for four packets, while the window was one
/// (Ack Ratio, RFC 4341 section 6.1.2).
#[test]
fn those_that_stayed_down() {
    let named = |list: &[(&'static str, &'static str)], name| *list.iter().find(|(known, _)| *known == name).unwrap();
    let cases = [
        ("rfc", PATHS[1], "ccid 3", "audio", "fifo", "a long outage"),
        ("rfc", PATHS[1], "ccid 4", "audio", "fifo", "a long outage"),
        ("rfc", PATHS[0], "ccid 3", "trace", "edf", "a flood"),
        ("linux", PATHS[2], "tcp-like", "trace", "sure-first", "a flood"),
        ("linux", PATHS[2], "ccid 2", "cbr", "fifo", "a long outage"),
    ];
    for (dialect, path, transport, source, queue, episode) in cases {
        let (transport, source) = (named(&TRANSPORTS, transport), named(&SOURCES, source));
        let case = Case { dialect, path, transport, queue, source };
        let episode = *EPISODES.iter().find(|known| known.0 == episode).unwrap();
        let back = case.back_after(&case.delivered(None), episode);
        assert!(back.is_some_and(|back| back <= case.bound_s(episode)), "{path:?} {transport:?} {queue}: {back:?}");
    }
}

#[test]
fn rfc() {
    check("rfc", &TRANSPORTS);
}

#[test]
fn ns2() {
    check("ns2", &TRANSPORTS);
}

/// Without TFRC: behind an outage that is the first loss the kernel's own receiver says p = 1 for ever (`validation/kernel-dccp`,
/// outage-ccid3-client), and so does this dialect.
#[test]
fn linux() {
    check("linux", &TRANSPORTS[2..4]);
}
