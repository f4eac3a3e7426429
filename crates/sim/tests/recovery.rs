//! After an outage without feedback, each sender is back within max(2 s, 10 round trips) (`docs/src/rate/headway.md`).
//!
//! `cargo test` runs a fixed part of all combinations. `RECOVERY=all` runs all of them, and prints the slowest of each kind.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;
use crate::common::product::{PATHS, Path, QUEUES, SOURCES};

use headway_sim::{Body, LinkEvent, Observer, Packet};
use headway_units::Instant;
use std::collections::BTreeMap;

/// Name, kind, and options of the controller.
type Transport = (&'static str, &'static str, &'static str);
const TRANSPORTS: [Transport; 13] = [
    ("tfrc", "kind = \"tfrc\"", ""),
    ("tfrc-sp", "kind = \"tfrc-sp\"", ""),
    ("tcp-like", "kind = \"tcp-like\"", ""),
    ("ccid 2", "kind = \"dccp\", ccid = 2", ""),
    ("ccid 3", "kind = \"dccp\", ccid = 3", ""),
    ("ccid 4", "kind = \"dccp\", ccid = 4", ""),
    ("udpm", "kind = \"udpm\"", ""),
    ("ccid 248", "kind = \"dccp\", ccid = 248", ""),
    ("spacing", "kind = \"spacing\", line_rate = \"100Mbps\"", ""),
    ("ccid 249", "kind = \"dccp\", ccid = 249, connection = { line_rate = \"100Mbps\" }", ""),
    ("spacing-equation", "kind = \"spacing-equation\"", ""),
    ("tfrc guarded", "kind = \"tfrc\"", "loss_filter = \"guarded\""),
    ("ccid 250", "kind = \"dccp\", ccid = 250", ""),
];

/// How long the outages last, in s.
const OUTAGES: [f64; 8] = [0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0];
const PHASES: usize = 8;
const FROM_S: f64 = 12.0;
const END_S: f64 = 42.0;
const BIN_S: f64 = 0.1;
/// This many bins must hold nine tenths of what they hold without the outage.
const WINDOW: usize = 40;

/// Bytes of the first flow that arrived over the first link, in bins, and its packets that the link dropped.
#[derive(Default)]
struct Delivered {
    bins: Vec<u64>,
    drops: Vec<f64>,
}

impl Observer for Delivered {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if link != 0 || packet.flow.0 != 0 {
            return;
        }
        let data = match &packet.body {
            Body::Numbered(datagram) => datagram.data.payload,
            Body::Dccp(dccp) => dccp.data.payload,
            _ => 0,
        };
        match event {
            LinkEvent::Receive => {
                let bin = (now.as_secs_f64() / BIN_S) as usize;
                if let Some(bin) = self.bins.get_mut(bin) {
                    *bin += u64::from(data);
                }
            }
            LinkEvent::Drop => self.drops.push(now.as_secs_f64()),
            _ => {}
        }
    }
}

/// What happens to the path, from when to when in s.
#[derive(Clone, Copy)]
struct Outage {
    from: f64,
    until: f64,
    /// The link's rate is 0, and its queue holds packets; otherwise all packets are lost, both ways.
    stalls: bool,
    /// By which the rate is multiplied afterwards.
    rate_after: f64,
}

#[derive(Clone, Copy)]
struct Case {
    dialect: &'static str,
    /// Options of the controller that differ from the dialect.
    off: &'static str,
    path: Path,
    transport: Transport,
    queue: &'static str,
    source: (&'static str, &'static str),
}

impl Case {
    fn scenario(&self, outage: Option<Outage>, start_s: f64, end_s: f64) -> String {
        let (mbps, ms, packets) = self.path;
        let rate = f64::from(mbps) * 1e6;
        let (mut changes, mut loss) = (String::new(), String::new());
        if let Some(Outage { from, until, stalls, rate_after }) = outage {
            let after = (rate * rate_after) as u64;
            let stop = if stalls { format!("{{ at = \"{from}s\", rate = \"0bps\" }}, ") } else { String::new() };
            changes = format!("changes = [{stop}{{ at = \"{until}s\", rate = \"{after}bps\" }}]");
            if !stalls {
                loss = format!(
                    "loss = {{ kind = \"bernoulli\", probability = 0.0, changes = [{{ at = \"{from}s\", probability = 1.0 }}, \
                     {{ at = \"{until}s\", probability = 0.0 }}] }}"
                );
            }
        }
        let link = |between: &str| {
            format!(
                "[[link]]\nbetween = [{between}]\none_way = true\nrate = \"{rate}bps\"\ndelay = \"{ms}ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"{packets}packets\" }}\n{changes}\n{loss}\n"
            )
        };
        let (own, off) = (self.transport.2, self.off);
        let comma = if own.is_empty() || off.is_empty() { "" } else { ", " };
        format!(
            "duration = \"{end_s}s\"\ndialect = \"{}\"\nrecord.series = false\n{}{}[[flow]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{start_s}s\"\n\
             transport = {{ {}, controller = {{ {own}{comma}{off} }} }}\nsend_queue = {{ kind = \"{}\" }}\nsource = {{ {} }}\n",
            self.dialect,
            link("\"a\", \"b\""),
            link("\"b\", \"a\""),
            self.transport.1,
            self.queue,
            self.source.1,
        )
    }

    fn run(&self, outage: Option<Outage>, start_s: f64, end_s: f64) -> Delivered {
        let scenario = common::scenario_beside_shipped(&self.scenario(outage, start_s, end_s));
        common::run(&scenario, Delivered { bins: vec![0; (end_s / BIN_S) as usize], drops: vec![] }).observer
    }

    fn usual(&self) -> Vec<u64> {
        self.run(None, 0.0, END_S).bins
    }

    /// How long after the outage's end the sender is back, in s.
    fn back_after(&self, usual: &[u64], outage: Outage) -> Option<f64> {
        let bins = self.run(Some(outage), 0.0, (outage.until + 9.0).min(END_S)).bins;
        let first = (outage.until / BIN_S).ceil() as usize;
        let in_window = |bins: &[u64], at: usize| bins[at..at + WINDOW].iter().sum::<u64>() as f64;
        let back = (first..bins.len() - WINDOW).find(|at| in_window(&bins, *at) >= 0.9 * in_window(usual, *at));
        back.map(|at| (at - first) as f64 * BIN_S)
    }

    /// max(2 s, 10 R), the promise. A path that stalled returns with a full queue, through which its first round trips go.
    fn bound_s(&self, outage: Outage) -> f64 {
        let (mbps, ms, packets) = self.path;
        let queue_s = if outage.stalls { f64::from(packets) * 1240.0 * 8.0 / (f64::from(mbps) * 1e6) } else { 0.0 };
        f64::max(2.0, 10.0 * (f64::from(ms) * 2e-3 + queue_s))
    }
}

/// The outage of this length at one of [`PHASES`] phases of a second.
fn outage(seconds: f64, phase: usize) -> Outage {
    let from = FROM_S + (phase % PHASES) as f64 * 0.137;
    Outage { from, until: from + seconds, stalls: phase % 2 == 1, rate_after: 1.0 }
}

/// Each transport with each source, and with queues, paths and phases in turn; or all of them.
fn cases() -> Vec<Case> {
    let all = std::env::var("RECOVERY").is_ok_and(|which| which == "all");
    let mut cases = Vec::new();
    for (t, &transport) in TRANSPORTS.iter().enumerate() {
        for (s, &source) in SOURCES.iter().enumerate() {
            let few = [((5 * t + s) % QUEUES.len(), (t + s) % PATHS.len())];
            let product: Vec<_> = (0..QUEUES.len()).flat_map(|q| (0..PATHS.len()).map(move |p| (q, p))).collect();
            for &(q, p) in if all { &product[..] } else { &few } {
                cases.push(Case { dialect: "headway-1", off: "", path: PATHS[p], transport, queue: QUEUES[q], source });
            }
        }
    }
    cases
}

#[test]
fn back_within_two_seconds() {
    let off: &'static str = std::env::var("RECOVERY_OFF").unwrap_or_default().leak();
    let only = std::env::var("RECOVERY_ONLY").unwrap_or_default();
    let mut slowest: BTreeMap<String, (f64, String)> = BTreeMap::new();
    let mut late = Vec::new();
    let mut count = 0;
    for (i, case) in cases().into_iter().enumerate() {
        if !only.is_empty() && case.transport.0 != only {
            continue;
        }
        let case = Case { off, ..case };
        let usual = case.usual();
        for (o, seconds) in OUTAGES.into_iter().enumerate() {
            let outage = outage(seconds, 3 * i + o);
            let back = case.back_after(&usual, outage).unwrap_or(f64::INFINITY);
            let Case { path, transport, queue, source, .. } = case;
            let text = format!(
                "{path:?} {} {} {queue} stalls {} from {}, {seconds} s: {back:.1} s",
                transport.0, source.0, outage.stalls, outage.from
            );
            let worst = slowest.entry(format!("{} {seconds}", transport.0)).or_default();
            if back >= worst.0 {
                *worst = (back, text.clone());
            }
            count += 1;
            if back > case.bound_s(outage) {
                println!("late: {text}");
                late.push(text);
            }
        }
    }
    slowest.values().for_each(|(_, text)| println!("slowest: {text}"));
    assert!(late.is_empty(), "{} of {count} are late:\n{}", late.len(), late.join("\n"));
}

/// The case of the dialect: dark for 3 s from 10 s on, under a video stream of 1.2 Mb/s. Under `rfc` the flow was silent until 33 s.
#[test]
fn an_outage_of_three_seconds() {
    let received = |dialect: &str, from: u32| {
        let text = format!(
            "duration = \"{}s\"\nmeasure_from = \"{from}s\"\ndialect = \"{dialect}\"\n[[link]]\nbetween = [\"c\", \"s\"]\nrate = \"3Mbps\"\n\
             delay = \"40ms\"\nqueue = {{ kind = \"droptail\", limit = \"60packets\" }}\n\
             changes = [{{ at = \"10s\", rate = \"0bps\" }}, {{ at = \"13s\", rate = \"3Mbps\" }}]\n[[flow]]\nname = \"cam\"\nfrom = \"c\"\nto = \"s\"\n\
             transport = {{ kind = \"dccp\", ccid = 3 }}\nsend_queue = {{ kind = \"sfdps2\", limit = \"256packets\" }}\n\
             source = {{ kind = \"cbr\", rate = \"1.2Mbps\", size = \"1000B\", media = \"video\", lifetime = \"320ms\" }}\n",
            from + 5
        );
        common::run(&common::scenario(&text), ()).summary.flows[0].received_packets
    };
    let usual = received("headway-1", 5);
    assert!(received("headway-1", 15) * 10 > usual * 9);
    assert!(received("rfc", 15) * 2 < usual, "dialect rfc keeps its rules");
}

/// The path returns with a tenth, or ten times, of its rate: the restarted sender loses no more packets than a fresh one does that
/// starts on that path, but for an initial window.
#[test]
fn no_more_overshoot_than_a_fresh_start() {
    let cbr = SOURCES[5];
    let mut worse = Vec::new();
    for transport in TRANSPORTS.into_iter().filter(|transport| transport.0 != "spacing" && transport.0 != "ccid 249") {
        for (path, rate_after) in [((10, 15, 40), 0.1), ((3, 40, 25), 0.1), ((1, 15, 25), 10.0)] {
            let case = Case { dialect: "headway-1", off: "", path, transport, queue: "sfdps2", source: cbr };
            let (mut restarted, mut fresh) = (0, 0);
            for phase in 0..PHASES {
                let outage = Outage { rate_after, stalls: false, ..outage(3.0, phase) };
                let until = outage.until;
                // Late packets of the silence are lost by the path, not by its queue.
                let overflows = |Delivered { bins, drops }: &Delivered| {
                    let first = (until / BIN_S).ceil() as usize;
                    // A handshake may come first.
                    let first = (first..bins.len()).find(|bin| bins[*bin] > 0).unwrap_or(first) as f64 * BIN_S;
                    drops.iter().filter(|at| (first..first + 2.5).contains(*at)).count()
                };
                restarted += overflows(&case.run(Some(outage), 0.0, until + 4.0));
                let at_once = Outage { from: 0.0, until: 0.1, ..outage };
                fresh += overflows(&case.run(Some(at_once), until, until + 4.0));
            }
            println!("overshoot {} {path:?} x {rate_after}: {restarted} after the outage, {fresh} fresh", transport.0);
            // The window of four packets that a restart sends may find the last probes still under way.
            if restarted > fresh + 4 * PHASES {
                worse.push(format!(
                    "{} {path:?} x {rate_after}: {restarted} after the outage, {fresh} fresh",
                    transport.0
                ));
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

/// Packets that 50 flows send and receive through 200 kb/s for 60 s.
fn crowd(dialect: &str, transport: &str) -> (u64, u64) {
    let mut text = format!(
        "duration = \"90s\"\nmeasure_from = \"30s\"\ndialect = \"{dialect}\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"200kbps\"\ndelay = \"30ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"20packets\" }}\n"
    );
    for flow in 0..50 {
        text += &format!(
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{}ms\"\ntransport = {{ {transport} }}\n\
             source = {{ kind = \"cbr\", rate = \"400kbps\", size = \"500B\" }}\n",
            37 * flow
        );
    }
    let record = common::run(&common::scenario(&text), ());
    let flows = &record.summary.flows;
    (flows.iter().map(|flow| flow.sent_packets).sum(), flows.iter().map(|flow| flow.received_packets).sum())
}

/// Persistent congestion looks like outages. 50 flows through 200 kb/s lose no larger share of their packets than under `rfc`, or a twentieth more.
#[test]
fn a_crowd_on_a_tiny_link_backs_off() {
    let tcp = crowd("rfc", "kind = \"tcp-sack\"");
    println!("crowd tcp: {tcp:?}");
    for transport in
        ["kind = \"tfrc\"", "kind = \"dccp\", ccid = 3", "kind = \"tcp-like\"", "kind = \"dccp\", ccid = 2"]
    {
        let ((sent, came), (rfc_sent, rfc_came)) = (crowd("headway-1", transport), crowd("rfc", transport));
        println!("crowd {transport}: headway-1 {sent} {came}, rfc {rfc_sent} {rfc_came}");
        let [loss, rfc_loss] = [(sent, came), (rfc_sent, rfc_came)].map(|(sent, came)| 1.0 - came as f64 / sent as f64);
        assert!(loss <= rfc_loss * 1.05, "{transport}: {loss} instead of {rfc_loss}");
    }
}

/// Restarts gain nothing where losses are random: over 30 to 60 % of loss, both dialects receive as much.
#[test]
fn random_losses_are_no_outages() {
    for transport in
        ["kind = \"tfrc\"", "kind = \"dccp\", ccid = 3", "kind = \"tcp-like\"", "kind = \"dccp\", ccid = 2"]
    {
        for loss in [0.3, 0.45, 0.6] {
            let received = |dialect: &str| -> u64 {
                (1..=8)
                    .map(|seed| {
                        let text = format!(
                            "duration = \"600s\"\nseed = {seed}\ndialect = \"{dialect}\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbps\"\n\
                             delay = \"20ms\"\nqueue = {{ kind = \"droptail\", limit = \"50packets\" }}\nloss = {{ kind = \"bernoulli\", probability = {loss} }}\n\
                             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ {transport} }}\nsource = {{ kind = \"cbr\", rate = \"4Mbps\", size = \"1000B\" }}\n"
                        );
                        common::run(&common::scenario(&text), ()).summary.flows[0].received_packets
                    })
                    .sum()
            };
            let (headway, rfc) = (received("headway-1"), received("rfc"));
            println!("random {transport} {loss}: headway-1 {headway}, rfc {rfc}");
            // A packet more in two minutes is none of a restart.
            assert!(headway as f64 <= rfc as f64 * 1.1 + 40.0, "{transport} at {loss}: {headway} instead of {rfc}");
        }
    }
}
