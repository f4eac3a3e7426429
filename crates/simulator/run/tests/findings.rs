//! Findings in scenarios with known problems, and in one without problems.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_record::Summary;
use headway_run::{Finding, Folder, Job, ScenarioFiles, ScenarioText, Severity, findings, findings_between};
use headway_units::{DropCause, MediaKind};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs flows over a link of 1 Mb/s and 20 ms; `keys` are further keys of the link.
fn found(keys: &str, flows: &str, duration: &str) -> (Summary, Vec<Finding>) {
    let text = format!(
        "duration = \"{duration}\"\n[record]\nseries = \"100ms\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"20ms\"\n{keys}\n{flows}"
    );
    found_in(&text, &[])
}

/// Creates a job of this scenario with overrides.
fn job(place: &Path, text: &str, sets: &[&str]) -> Job {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let text = ScenarioText::written("known.toml", text, &sets).unwrap();
    let loaded =
        headway_scenario::load("known.toml", &text.text, &text.overrides, &ScenarioFiles::new(".".into())).unwrap();
    Job {
        label: String::new(),
        scenario: loaded.scenario,
        resolved: loaded.resolved_toml,
        folder: Folder(place.join("out")),
        files: BTreeMap::new(),
        traces: Vec::new(),
        resumes: false,
    }
}

fn found_in(text: &str, sets: &[&str]) -> (Summary, Vec<Finding>) {
    let place = tempfile::tempdir().unwrap();
    let job = job(place.path(), text, sets);
    let summary = job.run(&()).unwrap();
    let found = findings(&job.folder, &summary).unwrap();
    // Findings are ordered, within the run, and about existing entities.
    assert!(found.is_sorted_by_key(|finding| finding.severity));
    for finding in &found {
        assert!(0.0 <= finding.time_from_s && finding.time_from_s <= finding.time_to_s, "{finding:?}");
        assert!(finding.time_to_s <= summary.interval.to, "{finding:?}");
        let names = summary.flows.iter().map(|flow| &flow.name).chain(summary.links.iter().map(|link| &link.name));
        assert!(names.into_iter().any(|name| *name == finding.subject), "{finding:?}");
    }
    (summary, found)
}

fn flow(name: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{more}\n")
}

const QUEUE: &str = "queue = { kind = \"droptail\", limit = \"20packets\" }";
const DOWNLOAD: &str = "transport = { kind = \"tcp-reno\" }\nsource = { kind = \"ftp\" }";

/// Returns the only finding with `words` in its text.
fn only<'a>(found: &'a [Finding], words: &str) -> &'a Finding {
    let mut matching = found.iter().filter(|finding| finding.text.contains(words));
    let (first, second) = (matching.next(), matching.next());
    assert!(first.is_some() && second.is_none(), "{words}: {found:#?}");
    first.unwrap()
}

#[test]
fn a_record_without_problems_has_no_findings() {
    let media = "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"500kbps\", size = \"1000B\" }";
    assert_eq!(found(QUEUE, &flow("media", media), "10s").1, []);
}

/// Two downloads through DropTail: the one with the longer round trip has more throughput, until each release is
/// delayed by a random part of a packet's transmission time (Floyd and Jacobson 1992).
#[test]
fn phase_effects_are_found_and_avoided_by_overhead() {
    let text = include_str!("../../../../scenarios/phase.toml");
    let throughput = |summary: &Summary, name: &str| {
        summary.flows.iter().find(|flow| flow.name == name).map(|flow| flow.throughput_bps).unwrap()
    };
    let (summary, phased) = found_in(text, &[]);
    assert!(throughput(&summary, "long") > 2.0 * throughput(&summary, "short"));
    let finding = only(&phased, "phase effect");
    assert_eq!((finding.severity, finding.subject.as_str()), (Severity::Problem, "west->east"));
    // 1500 B at 2 Mb/s take 6 ms.
    for words in ["long has the longer round trip", "times the throughput of short", "overhead = \"6ms\""] {
        assert!(finding.text.contains(words), "{words}: {finding:?}");
    }
    let (summary, without) = found_in(text, &["flow[*].transport.overhead=6ms"]);
    assert!(throughput(&summary, "short") > throughput(&summary, "long"));
    assert!(!without.iter().any(|finding| finding.text.contains("phase effect")), "{without:#?}");
}

/// The fair share is limited by the sustained rate of the shaper or policer: a flow with that rate does not starve.
#[test]
fn fair_shares_are_limited_by_shapers_and_policers() {
    for bucket in
        ["shaper = { rate = \"60kbps\", burst = \"3kB\" }", "policer = { rate = \"60kbps\", burst = \"15kB\" }"]
    {
        let (_, found) = found(&format!("{QUEUE}\n{bucket}"), &flow("download", DOWNLOAD), "30s");
        // A flow may starve for some seconds during a backed-off timeout.
        let starved: Vec<_> = found.iter().filter(|finding| finding.text.contains("fair share")).collect();
        let all: f64 = starved.iter().map(|finding| finding.time_to_s - finding.time_from_s).sum();
        assert!(starved.iter().all(|finding| finding.text.contains("60 kb/s at a->b")), "{bucket}: {found:#?}");
        assert!(all < 15.0, "{bucket}: {found:#?}");
    }
}

/// From 10 to 20 s a constant-rate flow uses the whole link: TCP starves until its backed-off timer expires after
/// that (RFC 6298, section 5.5). The text has the time and the cause.
#[test]
fn starvation_is_found_with_time_and_cause() {
    let flood = "start = \"10s\"\nstop = \"20s\"\ntransport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"1.2Mbps\", size = \"1000B\" }";
    let (summary, found) = found(QUEUE, &(flow("download", DOWNLOAD) + &flow("flood", flood)), "30s");
    let starved: Vec<_> = found.iter().filter(|finding| finding.text.contains("fair share")).collect();
    assert!(!starved.is_empty() && starved.iter().all(|finding| finding.subject == "download"), "{found:#?}");
    let longest = starved.iter().max_by(|a, b| (a.time_to_s - a.time_from_s).total_cmp(&(b.time_to_s - b.time_from_s)));
    let longest = longest.unwrap();
    assert!((9.9..14.0).contains(&longest.time_from_s) && (20.0..30.0).contains(&longest.time_to_s), "{longest:?}");
    for words in ["500 kb/s at a->b", "timeout", "queue-full drop", "meanwhile flood used"] {
        assert!(longest.text.contains(words), "{words}: {longest:?}");
    }
    assert_eq!(longest.severity, Severity::Problem);
    // The count is that of the record.
    let overflow = only(&found, "overflowed");
    let link = summary.links.iter().find(|link| link.name == overflow.subject).unwrap();
    assert!(
        overflow.text.contains(&format!(" {} packets ", link.dropped_packets.of(DropCause::QueueFull))),
        "{overflow:?}"
    );
    assert!(overflow.text.contains("of flood"), "{overflow:?}");
}

/// Each cause is named; many flows with one cause are one finding.
#[test]
fn undelivered_flows_are_found_with_the_cause() {
    let udp = "transport = { kind = \"udp\" }\nsource = ";
    let media = &format!("start = \"1ms\"\n{udp}{{ kind = \"cbr\", interval = \"100ms\", size = \"1000B\" }}");
    // The transmitter is always busy, so each packet of the other flow waits.
    let busy = flow("busy", &format!("{udp}{{ kind = \"cbr\", interval = \"10us\", size = \"1000B\" }}"));
    for (keys, others, cause) in [
        (
            "queue = { kind = \"droptail\", limit = \"500B\" }",
            busy.as_str(),
            "each packet is larger than the queue of a->b, which dropped 10 packets",
        ),
        ("loss = { kind = \"bernoulli\", probability = 1 }", "", "the channel of a->b lost 10 packets"),
        (
            "changes = [{ at = \"0.01ms\", rate = \"0bps\" }, { at = \"100s\", rate = \"1Mbps\" }]",
            "",
            "all were in transit at the end of the run: a link is down or slow, or the run is shorter than the delay",
        ),
    ] {
        let (summary, found) = found(keys, &(flow("media", media) + others), "0.95s");
        assert_eq!((summary.flows[0].sent_packets, summary.flows[0].received_packets), (10, 0), "{keys}");
        let finding = only(&found, "nothing of media arrived, although it sent 10 packets: ");
        assert!(finding.text.ends_with(cause), "{keys}: {finding:?}");
    }
    let many: String = (0..9).map(|number| flow(&format!("m{number}"), media)).collect();
    let lost =
        "loss = { kind = \"bernoulli\", probability = 1 }\nqueue = { kind = \"droptail\", limit = \"1000packets\" }";
    let (_, found) = found(lost, &many, "0.95s");
    let finding = only(&found, "nothing of ");
    assert!(finding.text.ends_with("; likewise 8 more flows"), "{finding:?}");
}

/// A call at half of the rate that it needs.
#[test]
fn packets_discarded_by_a_send_queue_are_found() {
    let call = "transport = { kind = \"dccp\", ccid = 3 }\nsend_queue = { kind = \"sfdps2\" }\nsource = { kind = \"gop\", i_mean = \"26kB\", p_mean = \"9kB\", b_mean = \"4kB\", variation = 0.25, lifetime = \"150ms\" }";
    let (summary, found) = found(QUEUE, &flow("call", call), "20s");
    let queue = &summary.flows[0].send_queue[&MediaKind::VideoB];
    assert!(queue.expired_packets > 0 && queue.mean_lateness_s.is_some());
    let b = only(&found, "of video-b (");
    assert!(b.text.contains(&format!("discarded {} packets", queue.unsent_packets())), "{b:?}");
    assert!(b.text.contains(&format!("{} would have arrived too late", queue.expired_packets)), "{b:?}");
    assert!(b.text.contains("packets past their deadline were late by"), "{b:?}");
    let frames = &summary.flows[0].frames[&MediaKind::VideoB];
    let whole =
        format!("call: only {} of {} frames of video-b arrived", frames.on_time_frames.unwrap(), frames.written_frames);
    assert_eq!(only(&found, &whole).severity, Severity::Problem);
}

#[test]
fn channel_losses_are_not_queue_overflows() {
    let media = "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"500kbps\", size = \"1000B\" }";
    let loss = format!("{QUEUE}\nloss = {{ kind = \"bernoulli\", probability = 0.05 }}");
    let (summary, found) = found(&loss, &flow("media", media), "20s");
    let lost = summary.links[0].dropped_packets.of(DropCause::Channel);
    let finding = only(&found, "the channel of a->b lost");
    assert!(finding.text.contains(&format!("lost {lost} packets")), "{finding:?}");
    assert_eq!((found.len(), finding.severity), (1, Severity::Problem));
}

#[test]
fn standing_queues_are_found() {
    let long = "queue = { kind = \"droptail\", limit = \"200packets\" }";
    let (summary, found) = found(long, &flow("download", DOWNLOAD), "60s");
    let finding = only(&found, "on average");
    assert_eq!(finding.subject, "a->b");
    // The rest of a packet's delay is its transmission and propagation, 12 and 20 ms.
    let wait = summary.flows[0].one_way_delay_s.unwrap().mean - 0.032;
    let reported =
        finding.text.strip_prefix("packets waited ").unwrap().split_once(" s in the queue of a->b").unwrap().0;
    assert!((reported.parse::<f64>().unwrap() / wait - 1.0).abs() < 0.02, "{finding:?}: {wait}");
}

/// The queue is long only while the link is slow: its mean length divided by the mean rate is 60 ms.
#[test]
fn a_standing_queue_on_a_slow_link_is_found() {
    let keys = "queue = { kind = \"droptail\", limit = \"20packets\" }\nchanges = [{ at = \"6s\", rate = \"100kbps\" }, { at = \"20s\", rate = \"10Mbps\" }]";
    let media = "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"500kbps\", size = \"1000B\" }";
    let (summary, found) = found(keys, &flow("media", media), "40s");
    let mean_rate = (6.0 * 1e6 + 14.0 * 1e5 + 20.0 * 1e7) / 40.0;
    assert!(summary.links[0].mean_queue_bytes * 8.0 / mean_rate < 0.05);
    assert_eq!(only(&found, "on average").subject, "a->b");
}

#[test]
fn outages_are_found_with_their_times() {
    let keys = format!(
        "{QUEUE}\nchanges = [{{ at = \"3s\", rate = \"0bps\" }}, {{ at = \"4500ms\", rate = \"1Mbps\" }}]\nreverse = {{ changes = [] }}"
    );
    let media = "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"500kbps\", size = \"1000B\" }";
    let (_, all) = found(&keys, &flow("media", media), "10s");
    let outage = only(&all, "outage");
    assert_eq!((outage.time_from_s, outage.time_to_s, outage.severity), (3.0, 4.5, Severity::Problem));
    assert_eq!(outage.text, "outage: a->b forwarded nothing for 1.50 s");
    // The shaper alone has an outage.
    let shaper = "shaper = { rate = \"900kbps\", burst = \"3kB\", changes = [{ at = \"3s\", rate = \"0bps\" }, { at = \"4500ms\", rate = \"1Mbps\" }] }";
    let (_, shaped) =
        found(&format!("{QUEUE}\n{shaper}\nreverse = {{ shaper = false }}"), &flow("download", DOWNLOAD), "8s");
    let outage = only(&shaped, "outage");
    assert_eq!((outage.time_from_s, outage.time_to_s, outage.severity), (3.0, 4.5, Severity::Problem));
    assert_eq!(outage.text, "outage: the shaper of a->b forwarded no more than its burst for 1.50 s");
    // An outage that continues at the end of the run is reported up to the end.
    let (_, cut) = found(&keys, &flow("media", media), "4s");
    assert_eq!(only(&cut, "outage").time_to_s, 4.0);
    let (_, before) = found(&keys, &flow("media", media), "3s");
    assert!(before.iter().all(|finding| !finding.text.contains("outage")), "{before:?}");
}

/// The smoother flow is determined from the coefficients of variation in the record.
#[test]
fn the_smoother_controller_is_named() {
    let media = "transport = { kind = \"tfrc\" }\nsource = { kind = \"ftp\" }";
    let (summary, found) = found(QUEUE, &(flow("media", media) + &flow("download", DOWNLOAD)), "60s");
    let cov = |name: &str| summary.flows.iter().find(|flow| flow.name == name).unwrap().rate_cov.unwrap();
    let (smooth, rough) = if cov("media") < cov("download") { ("media", "download") } else { ("download", "media") };
    let finding = only(&found, "smoother");
    assert_eq!(finding.subject, smooth);
    for name in [smooth, rough] {
        assert!(finding.text.contains(&format!("{:.2}", cov(name))), "{finding:?}");
    }
}

/// The same source over UDP and over TFRC, in two runs: UDP is smoother, and late because of the queue that it fills.
#[test]
fn the_smoother_of_two_runs_is_named() {
    let source = "source = { kind = \"cbr\", rate = \"1.2Mbps\", size = \"1000B\", lifetime = \"150ms\" }";
    let of = |transport: &str| {
        found(QUEUE, &flow("media", &format!("transport = {{ kind = \"{transport}\" }}\n{source}")), "30s").0
    };
    let (udp, tfrc) = (of("udp"), of("tfrc"));
    let [smooth, rough] = [&udp, &tfrc].map(|run| run.flows[0].rate_cov.unwrap());
    assert!(rough - smooth > 0.01, "{smooth} {rough}");
    let between = findings_between(&[("bare", udp.clone()), ("controlled", tfrc.clone())]);
    let smoother = only(&between, "smoother");
    assert_eq!(smoother.subject, "media");
    let words = format!(
        "in bare (udp) than in controlled (tfrc): its rate varied by {smooth:.2} of its mean, compared with {rough:.2}"
    );
    assert!(smoother.text.ends_with(&words), "{smoother:?}");
    let in_time = |run: &Summary, share: f64| {
        let mut run = run.clone();
        run.flows[0].on_time_ratio.insert(MediaKind::Data, share);
        run
    };
    let between = findings_between(&[("bare", in_time(&udp, 0.5)), ("controlled", in_time(&tfrc, 0.913))]);
    let words =
        "more of the data of media arrived on time in controlled (tfrc) than in bare (udp): 91 %, compared with 50 %";
    assert_eq!(only(&between, "on time").text, words);
    let alike = findings_between(&[("bare", in_time(&udp, 0.5)), ("controlled", in_time(&tfrc, 0.505))]);
    assert!(!alike.iter().any(|finding| finding.text.contains("on time")), "{alike:?}");
    // A run compared with itself, and runs without a common flow, have no findings.
    assert_eq!(findings_between(&[("one", udp.clone()), ("same", udp.clone())]), []);
    let mut other = tfrc;
    other.flows[0].name = "other".to_owned();
    assert_eq!(findings_between(&[("one", udp), ("another", other)]), []);
}

/// Half of the transmitted packets are lost after the queue. They waited in it for at most 60 ms.
#[test]
fn packets_lost_after_the_queue_count_in_the_mean_delay() {
    let keys = "queue = { kind = \"droptail\", limit = \"6packets\" }\nloss = { kind = \"bernoulli\", probability = 0.5, place = \"after-transmission\" }";
    let media = "transport = { kind = \"udp\" }\nsource = { kind = \"cbr\", rate = \"1.1Mbps\", size = \"1000B\" }";
    let (_, found) = found(keys, &flow("media", media), "20s");
    assert!(found.iter().all(|finding| !finding.text.contains("on average")), "{found:#?}");
}

/// Two flows with the same constant rate, of which one starts in the middle: neither is smoother.
#[test]
fn flows_that_start_late_are_not_compared() {
    let media = |name: &str, more: &str| {
        flow(name, &format!("{more}\nsource = {{ kind = \"cbr\", rate = \"200kbps\", size = \"1000B\" }}"))
    };
    let udp = media("udp", "transport = { kind = \"udp\" }");
    let late = media("tfrc", "start = \"10s\"\ntransport = { kind = \"tfrc\" }");
    assert_eq!(found(QUEUE, &(udp + &late), "20s").1, []);
}

/// A queue of 1000 packets at 1 Mb/s takes longer than 5 s to fill, so that slow start has not ended. The path holds
/// 1 Mb/s for 40 ms, which is 3 packets. A measurement from the beginning includes start-up intentionally.
#[test]
fn a_download_in_start_up_is_found() {
    let deep = "queue = { kind = \"droptail\", limit = \"1000packets\" }";
    let (summary, measured_late) = found(deep, &flow("download", DOWNLOAD), "20s\"\nmeasure_from = \"5s");
    let finding = only(&measured_late, "was in start-up");
    assert_eq!((finding.subject.as_str(), finding.severity), ("download", Severity::Note));
    assert_eq!(finding.time_from_s, 5.0);
    assert!(finding.text.contains("threshold was 10000 packets, the path holds 3;"), "{finding:?}");
    assert!(summary.flows.iter().all(|flow| !flow.stuck));
    let (_, measured_from_the_start) = found(deep, &flow("download", DOWNLOAD), "20s");
    assert!(
        measured_from_the_start.iter().all(|finding| !finding.text.contains("start-up")),
        "{measured_from_the_start:#?}"
    );
    // A flow limited by the receiver's window never reaches the threshold, regardless of when the measurement begins.
    let held = DOWNLOAD.replace("kind = \"tcp-reno\"", "kind = \"tcp-reno\", window = \"20packets\"");
    assert_ne!(held, DOWNLOAD);
    let (_, held) = found(deep, &flow("download", &held), "20s\"\nmeasure_from = \"5s");
    assert!(held.iter().all(|finding| !finding.text.contains("start-up")), "{held:#?}");
}

#[test]
fn a_sender_without_a_window_and_a_timer_is_found() {
    let (mut summary, nothing) = found(QUEUE, &flow("download", DOWNLOAD), "5s");
    assert!(nothing.iter().all(|finding| !finding.text.contains("stopped forever")), "{nothing:#?}");
    summary.flows[0].stuck = true;
    let found = findings(&Folder(tempfile::tempdir().unwrap().path().to_owned()), &summary).unwrap();
    assert_eq!(only(&found, "neither an open window nor a timer").severity, Severity::Problem);
}

/// 40 downloads with one cause have one finding. The fair share is 1 Mb/s divided by 40 flows.
#[test]
fn many_starved_flows_of_a_link_are_one_finding() {
    let flows = flow("f", &format!("count = 40\n{DOWNLOAD}"));
    let (_, found) = found(QUEUE, &flows, "20s");
    let starved: Vec<_> = found.iter().filter(|finding| finding.text.contains("fair share")).collect();
    assert_eq!(starved.len(), 1, "{found:#?}");
    assert!(starved[0].text.contains("(25 kb/s at a->b)") && starved[0].text.contains("; likewise "), "{starved:#?}");
}

#[test]
fn a_stopped_command_makes_no_findings() {
    struct Stopped;
    impl headway_run::Watch for Stopped {
        fn stopped(&self) -> bool {
            true
        }
    }
    let place = tempfile::tempdir().unwrap();
    let keys = format!("{QUEUE}\nloss = {{ kind = \"bernoulli\", probability = 0.05 }}");
    let text = format!(
        "duration = \"2s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"20ms\"\n{keys}\n{}",
        flow("download", DOWNLOAD)
    );
    let job = job(place.path(), &text, &[]);
    assert_ne!(job.run_with_findings(&()).unwrap().1, []);
    assert_eq!(job.run_with_findings(&Stopped).unwrap().1, []);
}
