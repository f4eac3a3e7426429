//! Sessions: each behaves like a separate flow, and the record counts them.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{SeriesTable, SessionsSummary, metric};
use headway_sim::{Body, LinkEvent, Packet, Record, Simulation};
use headway_units::Instant;

/// All link events of TCP packets, of any flow, and the time of the last acknowledgement.
#[derive(Debug, Default)]
struct Log(Vec<String>, Instant);

impl common::Watcher for Log {
    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        let Body::Tcp(tcp) = &packet.body else { panic!("only TCP is sent") };
        let segment = tcp.segment(packet);
        self.0.push(format!("{now} {event:?} {link} {segment:?}"));
        if tcp.is_ack && event == LinkEvent::Receive {
            self.1 = now;
        }
    }
}

/// Runs flows over a path whose second link loses data and acknowledgements at random and has a short queue.
fn lossy(dialect: &str, duration_s: u32, flows: &str) -> Record<Log> {
    let text = format!(
        r#"
        duration = "{duration_s}s"
        dialect = "{dialect}"
        [[link]]
        between = ["a", "b"]
        rate = "10Mbps"
        delay = "2ms"
        [[link]]
        between = ["b", "c"]
        rate = "2Mbps"
        delay = "13ms"
        queue = {{ kind = "droptail", limit = "9packets" }}
        loss = {{ kind = "bernoulli", probability = 0.03 }}
        {flows}"#
    );
    common::watch(&scenario(&text), Log::default())
}

fn flow(number: u32, start_s: f64, transport: &str, source: &str) -> String {
    format!(
        r#"
        [[flow]]
        name = "f{number}"
        from = "a"
        to = "c"
        start = "{start_s}s"
        transport = {{ {transport} }}
        source = {{ {source} }}
        "#
    )
}

fn listed(times: &str, sizes: &str) -> String {
    format!(r#"kind = "sessions", arrivals = {{ at = [{times}] }}, sizes = {{ list = [{sizes}] }}"#)
}

/// A size, and its number of segments: 1000 B of data each, the last one partly filled.
const SIZES: [(&str, u32); 4] = [("1B", 1), ("1kB", 1), ("1001B", 2), ("133.7kB", 134)];
const KINDS: [&str; 5] = ["tcp-tahoe", "tcp-reno", "tcp-newreno", "tcp-sack", "tcp-cubic"];

fn each(mut test: impl FnMut(&str, &str)) {
    for dialect in ["ns2", "rfc", "linux"] {
        for kind in KINDS {
            // A transfer of a number of segments has no FIN.
            test(
                dialect,
                &format!(r#"kind = "{kind}", header = "40B", segment = "1040B", expert = {{ answer_fin = false }}"#),
            );
        }
    }
}

/// `sendmsg` of ns-2 counts this many segments (tcp/tcp.cc: `nbytes/size_ + (nbytes%size_ ? 1 : 0)`). The session
/// then equals a transfer of as many segments that starts at the same time, in each packet and in each number of the
/// record.
#[test]
fn a_session_alone_is_a_transfer_of_as_many_segments() {
    let mut late = 0;
    each(|dialect, transport| {
        for (size, segments) in SIZES {
            let ftp = flow(0, 0.3, transport, &format!(r#"kind = "ftp", segments = {segments}"#));
            let ours = flow(0, 0.3, transport, &listed(r#""0s""#, &format!(r#""{size}""#)));
            let (ftp, mut ours) = (lossy(dialect, 60, &ftp), lossy(dialect, 60, &ours));
            assert_eq!(ftp.observer.0, ours.observer.0, "{dialect} {transport} {size}");
            let SessionsSummary { arrived, completed, completion_s, .. } =
                ours.summary.flows[0].sessions.take().unwrap();
            assert_eq!((arrived, completed), (1, 1), "{dialect} {transport} {size}");
            assert_eq!(ftp.summary.flows, ours.summary.flows);
            // Late packets are acknowledged after the session is complete.
            let ended_ns = 300_000_000 + (completion_s.unwrap().max * 1e9).round() as u64;
            late += usize::from(ours.observer.1 > Instant::from_nanos(ended_ns + 1));
        }
    });
    assert!(late > 0, "no run has an acknowledgement after the completion");
}

#[test]
fn two_sessions_one_after_the_other_are_two_transfers() {
    each(|dialect, transport| {
        let ftp = |segments| format!(r#"kind = "ftp", segments = {segments}"#);
        let two = flow(0, 0.3, transport, &ftp(134)) + &flow(1, 40.7, transport, &ftp(60));
        let ours = flow(0, 0.3, transport, &listed(r#""0s", "40.4s""#, r#""133.7kB", "60kB""#));
        let (two, ours) = (lossy(dialect, 80, &two), lossy(dialect, 80, &ours));
        assert_eq!(two.observer.0, ours.observer.0, "{dialect} {transport}");
        let sum = |what: fn(&headway_record::FlowSummary) -> u64| two.summary.flows.iter().map(what).sum::<u64>();
        let flow = &ours.summary.flows[0];
        assert_eq!(flow.sent_packets, sum(|flow| flow.sent_packets));
        assert_eq!(flow.retransmitted_packets.unwrap(), sum(|flow| flow.retransmitted_packets.unwrap()));
        assert_eq!(flow.timeouts.unwrap(), sum(|flow| flow.timeouts.unwrap()));
        assert_eq!(flow.sessions.as_ref().unwrap().completed, 2);
    });
}

/// Many concurrent sessions with losses in both directions: each completes, and the distinct bytes received are those
/// of their segments. A packet delivered to another session would be missing in one and surplus in the other.
#[test]
fn sessions_do_not_receive_packets_of_other_sessions() {
    each(|dialect, transport| {
        let source =
            r#"kind = "sessions", arrivals = { poisson = "40ms" }, sizes = { constant = "7500B" }, most = 200"#;
        let record = lossy(dialect, 400, &flow(0, 0.0, transport, source));
        let flow = &record.summary.flows[0];
        let sessions = flow.sessions.as_ref().unwrap();
        assert_eq!((sessions.arrived, sessions.completed, sessions.open), (200, 200, 0), "{dialect} {transport}");
        assert_eq!((flow.goodput_bps * 400.0 / 8.0).round() as u64, 200 * 8 * 1000, "{dialect} {transport}");
    });
}

/// Runs sessions over one link of 1 Mb/s and 10 ms. A session of one segment needs its SYN there and back, its
/// segment there and its acknowledgement back: 3 x 40 B and 1040 B, and four times the delay.
fn clean(more: &str, source: &str) -> Record {
    let text = format!(
        r#"
        dialect = "ns2"
        record.series = "500ms"
        {more}
        [[link]]
        between = ["a", "c"]
        rate = "1Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "200000packets" }}
        {}"#,
        flow(0, 0.0, r#"kind = "tcp-newreno""#, source)
    );
    run(&scenario(&text), ())
}

const ONE_SEGMENT_S: f64 = (3.0 * 40.0 + 1040.0) * 8.0 / 1e6 + 4.0 * 0.01;

#[test]
fn completion_times_are_from_the_arrival_to_the_last_acknowledgement() {
    // Before the measured interval, in it, and too late to complete.
    let times = r#""1s", "1.99s", "2s", "3s", "4s", "9s", "9.96s""#;
    let sizes = r#""1kB", "1kB", "1kB", "10kB", "10001B", "1MB", "1B""#;
    let record = clean("duration = \"10s\"\nmeasure_from = \"2s\"", &listed(times, sizes));
    let sessions = record.summary.flows[0].sessions.clone().unwrap();
    assert_eq!((sessions.arrived, sessions.completed, sessions.open, sessions.refused), (5, 3, 2, 0));
    assert!((sessions.offered_bps - (1000.0 + 10_000.0 + 10_001.0 + 1e6 + 1.0) * 8.0 / 8.0).abs() < 1e-6);
    let classes = sessions.completion_s_by_size.classes().map(|(_, of)| of.map_or(0, |of| of.completed));
    assert_eq!(classes, [2, 1, 0, 0, 0]);
    let all = sessions.completion_s.unwrap();
    assert!(all.max > all.p50 && all.p50 > ONE_SEGMENT_S, "{sessions:?}");

    let record = clean("duration = \"10s\"", &listed(r#""1s", "5s""#, r#""1kB", "1000B""#));
    let sessions = record.summary.flows[0].sessions.clone().unwrap();
    let all = sessions.completion_s.unwrap();
    let short = sessions.completion_s_by_size.up_to_10_kb.unwrap().times;
    for seen in [all.mean, all.p50, all.p95, all.p99, all.max, short.mean, short.p50, short.p95, short.p99, short.max] {
        assert!((seen - ONE_SEGMENT_S).abs() < 2e-9, "{seen}");
    }
}

/// The window of ns-2 opens by one per acknowledgement: a SYN, two segments, and then eight back to back, since the
/// first acknowledgement of four arrives before the last of the four has left.
#[test]
fn ten_segments_take_their_rounds() {
    let record = clean("duration = \"10s\"", &listed(r#""1s""#, r#""10kB""#));
    let (small_s, segment_s, there_and_back_s) = (40.0 * 8.0 / 1e6, 1040.0 * 8.0 / 1e6, 0.02);
    let rounds_s = [
        2.0 * small_s + there_and_back_s,
        segment_s + small_s + there_and_back_s,
        8.0 * segment_s + small_s + there_and_back_s,
    ];
    let seen = record.summary.flows[0].sessions.as_ref().unwrap().completion_s.unwrap().max;
    assert!((seen - rounds_s.iter().sum::<f64>()).abs() < 2e-9, "{seen} {rounds_s:?}");
}

#[test]
fn a_stop_ends_arrivals_but_no_session() {
    let source = r#"kind = "sessions", arrivals = { every = "1s" }, sizes = { constant = "100kB" }"#;
    for dialect in ["ns2", "rfc"] {
        let text = format!(
            r#"
            duration = "30s"
            dialect = "{dialect}"
            [[link]]
            between = ["a", "c"]
            rate = "1Mbps"
            delay = "10ms"
            {}"#,
            flow(0, 0.0, "kind = \"tcp-newreno\"", source).replace("start =", "stop = \"4.5s\"\nstart =")
        );
        let record = run(&scenario(&text), ());
        let sessions = record.summary.flows[0].sessions.clone().unwrap();
        assert_eq!((sessions.arrived, sessions.completed), (5, 5), "{dialect}");
    }
}

#[test]
fn the_series_count_open_sessions_and_have_no_window() {
    let mut record = clean("duration = \"4s\"", &listed(r#""0.6s", "0.7s", "2.2s""#, r#""110kB", "1kB", "1kB""#));
    let mut bytes = Vec::new();
    record.series.take().unwrap().finish(&mut bytes).unwrap();
    let table = SeriesTable::from_ipc(&bytes).unwrap();
    let values = |what: &str| -> Vec<f64> { table.samples("f0", what).iter().map(|(_, value)| *value).collect() };
    // 110 segments take at least 0.92 s, and slow start less than 0.1 s more; one segment next to them takes 0.2 s.
    assert_eq!(values(metric::OPEN_SESSIONS), [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(values(metric::CWND).is_empty());
}

/// At most 65,536 sessions are open: of 100,000 that arrive before any acknowledgement, the others are refused.
#[test]
fn the_number_of_open_sessions_is_limited() {
    let source = r#"kind = "sessions", arrivals = { every = "1us" }, sizes = { constant = "1kB" }"#;
    let text = format!(
        r#"
        duration = "100ms"
        record.series = false
        [[link]]
        between = ["a", "c"]
        rate = "1Gbps"
        delay = "1s"
        queue = {{ kind = "droptail", limit = "200000packets" }}
        {}"#,
        flow(0, 0.0, r#"kind = "tcp-newreno""#, source)
    );
    let scenario = scenario(&text);
    let mut simulation = Simulation::new(&scenario, ()).unwrap();
    while !simulation.run(u64::MAX).unwrap() {}
    let sessions = simulation.finish().summary.flows[0].sessions.clone().unwrap();
    assert_eq!((sessions.arrived, sessions.open, sessions.refused), (100_000, 65_536, 100_000 - 65_536));
}

#[test]
fn the_load_does_not_depend_on_the_transport() {
    let source =
        r#"kind = "sessions", arrivals = { poisson = "45ms" }, sizes = { pareto = { mean = "10kB", shape = 1.5 } }"#;
    let load = |transport: &str| {
        let record = lossy("ns2", 20, &flow(0, 0.0, transport, source));
        let sessions = record.summary.flows[0].sessions.clone().unwrap();
        (sessions.arrived, sessions.offered_bps)
    };
    assert_eq!(load(r#"kind = "tcp-tahoe""#), load(r#"kind = "tcp-cubic", dialect = "linux""#));
}
