//! After an episode of loss, outage or congestion, every controller recovers, with every send queue, source and
//! dialect. The delivered data are compared with the same run without the episode.
//!
//! By default, each controller runs with four sources on one path, each source with another send queue;
//! `LIVENESS=all` runs all combinations and prints the slowest of each kind.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
use crate::common::product::{PATHS, Path, QUEUES, SOURCES};

use headway_sim::{Body, LinkEvent, Packet};
use headway_units::Instant;
use std::collections::BTreeMap;

/// All controllers except UDDJ, which starves some of its senders without losses: it treats any growth of a delay as
/// congestion (`docs/src/clocks-survey.md`).
const TRANSPORTS: [(&str, &str); 22] = [
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
    ("nada", "kind = \"nada\""),
    ("gcc", "kind = \"gcc\""),
    ("scream2", "kind = \"scream2\""),
    ("scream2 ericsson", "kind = \"scream2\", controller = { version = \"ericsson-2026-07\" }"),
    ("scream2 libwebrtc", "kind = \"scream2\", controller = { version = \"libwebrtc-2026-07\" }"),
    ("prague", "kind = \"prague\", ecn = true"),
    ("prague frames", "kind = \"prague\", ecn = true, controller = { mode = \"frames\" }"),
    ("ccid 254", "kind = \"dccp\", ccid = 254"),
];

/// Episode, with start and end in s.
const EPISODES: [(&str, f64, f64); 7] = [
    ("a tenth is lost", 6.0, 10.0),
    ("both directions fail", 6.0, 10.0),
    ("forward path fails", 6.0, 7.5),
    ("reverse path fails", 6.0, 10.0),
    ("a flood", 6.0, 10.0),
    ("a download", 5.3, 16.0),
    ("a long outage", 6.0, 26.0),
];
const END_S: f64 = 120.0;
const BIN_S: f64 = 0.1;
/// Number of bins that must contain nine tenths of the bytes without the episode.
const WINDOW: usize = 40;

/// Bytes of the first flow that arrived over the first link, in bins.
struct Delivered(Vec<u64>);

impl common::Watcher for Delivered {
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
            "both directions fail" | "a long outage" => (Some(1.0), Some(1.0), String::new()),
            "forward path fails" => (Some(1.0), None, String::new()),
            "reverse path fails" => (None, Some(1.0), String::new()),
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
        let scenario = common::scenario_with_shipped_files(&self.scenario(episode));
        common::watch(&scenario, Delivered(vec![0; (END_S / BIN_S) as usize])).observer.0
    }

    /// Returns the time from the end of the episode to the recovery, in s.
    fn recovery_s(&self, usual: &[u64], episode: (&str, f64, f64)) -> Option<f64> {
        let bins = self.delivered(Some(episode));
        let first = (episode.2 / BIN_S).round() as usize;
        let in_window = |bins: &[u64], at: usize| bins[at..at + WINDOW].iter().sum::<u64>() as f64;
        let back = (first..bins.len() - WINDOW).find(|at| in_window(&bins, *at) >= 0.9 * in_window(usual, *at));
        back.map(|at| (at - first) as f64 * BIN_S)
    }

    /// Returns the bound of the recovery: a multiple of the episode and of the round-trip time. Without feedback, a
    /// sender doubles its wait for each packet (RFC 5348 section 4.4, RFC 6298 section 5.5): the next packet after
    /// the episode may take about as long as the episode. Over DCCP, more than 100 lost packets need a Sync (RFC 4340
    /// section 7.5.1). Then the rate doubles in each round trip up to the equation's, which rises as packets lengthen
    /// the interval since the last loss. In dialect ns2, it rises by a packet per round trip. A flood fills the queue
    /// for these round trips: with three of four packets lost, the equation of RFC 5348 requires gaps of up to 243
    /// round trips (p = 1, t_RTO = 4 R), for which a large packet waits.
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
    // After pauses between bursts, the limit of RFC 3448 in dialect ns2 may restrict the rate, as its page documents.
    let few = if dialect == "ns2" { 3 } else { 4 };
    let mut slowest: BTreeMap<String, (f64, String)> = BTreeMap::new();
    let mut failed = Vec::new();
    for path in &PATHS[..part(1, PATHS.len())] {
        for (t, &transport) in transports.iter().enumerate() {
            for (s, source) in SOURCES[..part(few, SOURCES.len())].iter().enumerate() {
                let first = (t + s) % 4;
                let queues = if all { &QUEUES[..] } else { &QUEUES[first..=first] };
                for queue in queues {
                    let case = Case { dialect, path: *path, transport, queue, source: *source };
                    let usual = case.delivered(None);
                    for episode in EPISODES {
                        let back = case.recovery_s(&usual, episode).unwrap_or(f64::INFINITY);
                        let text =
                            format!("{path:?} {} {} {queue} after {}: {back:.1} s", transport.0, source.0, episode.0);
                        let key = format!("{} after {}", transport.0, episode.0);
                        let worst = slowest.entry(key).or_default();
                        if back >= worst.0 {
                            *worst = (back, text.clone());
                        }
                        if back > case.bound_s(episode) {
                            failed.push(text);
                        }
                    }
                }
            }
        }
    }
    slowest.values().for_each(|(_, text)| println!("slowest of {dialect}: {text}"));
    assert!(failed.is_empty(), "{} do not recover under {dialect}:\n{}", failed.len(), failed.join("\n"));
}

/// Packets of 20 B, far apart after a minute of heavy loss, arrive at less than a byte per second. A Receive Rate of
/// 0 (RFC 4342 section 8.3) would keep the sender at one packet per 64 s.
#[test]
fn a_receive_rate_below_one_byte_per_second_recovers() {
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

/// Random bursts of 5 s and pauses of 30 s over CCID 4 after losses of 0.3. If the receiver counted pauses as round
/// trips (RFC 4342 section 8.1), X_recv would be averaged over them, for minutes.
#[test]
fn pauses_are_not_counted_as_round_trips() {
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
    let (after_losses, usual) = (received(0.3), received(0.0));
    assert!(after_losses * 10 > usual * 9, "{after_losses} of {usual}");
}

/// Combinations that once did not recover. Packets five round trips apart, without round-trip samples, so that the
/// receiver did not detect that its four-bit counter wrapped (RFC 4342 section 8.1). A small packet that arrived
/// among large lost ones and determined X_recv while the next large one waited (RFC 5348 section 4.3). A receiver
/// without delayed acknowledgements that waited for four packets while the window was one (Ack Ratio, RFC 4341
/// section 6.1.2).
#[test]
fn former_failures_recover() {
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
        let back = case.recovery_s(&case.delivered(None), episode);
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

/// Without TFRC: after an outage with the first loss, the kernel's receiver reports p = 1 forever
/// (`validation/kernel-dccp`, outage-ccid3-client), and so does this dialect.
#[test]
fn linux() {
    check("linux", &TRANSPORTS[2..4]);
}
