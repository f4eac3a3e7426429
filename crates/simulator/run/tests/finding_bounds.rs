//! Rules of findings at their thresholds, in synthetic records: the last value without a finding and the first with
//! one.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_record::{
    DropCounts, Event, EventCause, EventKind, EventLog, EventNames, FlowSummary, FrameSummary, Interval, LinkSummary,
    RttSummary, SendQueueSummary, SeriesNames, Summary, metric,
};
use headway_run::{Finding, Folder, Severity, findings, findings_between};
use headway_units::{DropCause, Duration, Instant, MediaKind};
use std::collections::BTreeMap;

const LINK: &str = "duration = \"100s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1200kbps\"\ndelay = \"50ms\"\n\
                    queue = { kind = \"droptail\", limit = \"20packets\" }\n";

/// Names in events are indexes of this list.
const FLOWS: [&str; 3] = ["one", "two", "three"];

/// A synthetic record.
struct Record {
    scenario: String,
    summary: Summary,
    /// In order of time.
    events: Vec<Event>,
    /// Flow, metric, time in s, value.
    series: Vec<(&'static str, &'static str, f64, f64)>,
}

impl Record {
    /// Creates a record without findings.
    fn new(flows: &[&str]) -> Self {
        let summary = Summary {
            version: String::new(),
            name: String::new(),
            seed: 1,
            complete: true,
            interval: Interval { from: 0.0, to: 100.0 },
            flows: flows.iter().map(|name| flow(name)).collect(),
            links: vec![link()],
            hosts: Vec::new(),
            attackers: Vec::new(),
            jain_index: None,
            packet_hops: 0,
            fingerprint: String::new(),
        };
        let written = flows.iter().map(|name| download(name, "tcp-reno", ""));
        Self { scenario: LINK.to_owned() + &written.collect::<String>(), summary, events: vec![], series: vec![] }
    }

    fn found(&self) -> Vec<Finding> {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().to_owned());
        std::fs::write(folder.path(Folder::SCENARIO), &self.scenario).unwrap();
        let mut log = EventLog::new(EventNames::new(["a->b"], FLOWS, MediaKind::ALL.map(MediaKind::name)));
        self.events.iter().for_each(|event| log.push(*event));
        std::fs::write(folder.path(Folder::EVENTS), log.finish().unwrap()).unwrap();
        let mut names = SeriesNames::default();
        let ids: Vec<_> = self.series.iter().map(|(flow, metric, ..)| names.series(flow, metric)).collect();
        let mut writer = names.samples();
        for (id, (.., at, value)) in ids.into_iter().zip(&self.series) {
            writer.push(id, instant(*at), *value);
        }
        let mut series = Vec::new();
        writer.finish(&mut series).unwrap();
        std::fs::write(folder.path(Folder::SERIES), series).unwrap();
        findings(&folder, &self.summary).unwrap()
    }

    fn texts(&self) -> Vec<(Severity, String)> {
        self.found().into_iter().map(|finding| (finding.severity, finding.text)).collect()
    }

    /// Returns whether a text contains `words`.
    fn has(&self, words: &str) -> bool {
        self.found().iter().any(|finding| finding.text.contains(words))
    }
}

fn instant(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

fn download(name: &str, transport: &str, more: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"{transport}\" }}\nsource = {{ kind = \"ftp\" }}\n{more}\n"
    )
}

fn flow(name: &str) -> FlowSummary {
    FlowSummary {
        name: name.to_owned(),
        from: "a".to_owned(),
        to: "b".to_owned(),
        kind: "tcp-reno".to_owned(),
        sent_packets: 1000,
        received_packets: 1000,
        lost_packets: DropCounts::default(),
        duplicate_packets: 0,
        in_flight_packets: 0,
        throughput_bps: 100_000.0,
        goodput_bps: 100_000.0,
        loss_ratio: 0.0,
        one_way_delay_error_s: None,
        one_way_delay_s: None,
        jitter_s: None,
        rtt_s: None,
        on_time_ratio: BTreeMap::new(),
        r_factor: None,
        mos: None,
        late_ratio: BTreeMap::new(),
        frames: BTreeMap::new(),
        display: None,
        encoder: None,
        rate_cov: None,
        retransmitted_packets: None,
        timeouts: None,
        stuck: false,
        send_queue: BTreeMap::new(),
        connection_failure: None,
        losses_judged: None,
        sessions: None,
        pages: None,
        phases: BTreeMap::new(),
    }
}

fn link() -> LinkSummary {
    LinkSummary {
        name: "a->b".to_owned(),
        from: "a".to_owned(),
        to: "b".to_owned(),
        arrived_packets: 1000,
        dropped_packets: DropCounts::default(),
        marked_packets: 0,
        duplicated_packets: 0,
        reordered_packets: 0,
        mean_queue_packets: 0.0,
        mean_queue_bytes: 0.0,
        peak_queue_packets: 0,
        mean_red_average: None,
        utilisation: 0.5,
        flows: Vec::new(),
    }
}

fn dropped(cause: DropCause, packets: u64) -> DropCounts {
    let mut counts = DropCounts::default();
    counts.add_many(cause, packets);
    counts
}

/// Returns the drop of a packet of a flow of [`FLOWS`] by the full queue.
fn drop_of(flow: u32, at: f64) -> Event {
    Event {
        at: instant(at),
        kind: EventKind::Drop,
        entity: 0,
        flow,
        media: None,
        cause: Some(EventCause::Drop(DropCause::QueueFull)),
        sequence: None,
        bytes: Some(1500),
        late: None,
    }
}

#[test]
fn two_percent_of_dropped_packets_are_a_problem() {
    let severity = |cause, arrived, packets| {
        let mut record = Record::new(&[]);
        record.summary.links[0].arrived_packets = arrived;
        record.summary.links[0].dropped_packets = dropped(cause, packets);
        record.found().first().map(|finding| finding.severity)
    };
    assert_eq!(severity(DropCause::QueueFull, 100, 2), Some(Severity::Problem));
    assert_eq!(severity(DropCause::QueueFull, 101, 2), Some(Severity::Note));
    assert_eq!(severity(DropCause::QueueFull, 100, 0), None);
    // A sender that ignores the MTU never delivers such a packet.
    assert_eq!(severity(DropCause::TooBig, 1000, 1), Some(Severity::Problem));
    // The host drops these packets, not the link.
    assert_eq!(severity(DropCause::Host, 100, 50), None);
}

/// The text names the flow with the most drops: all of them, at least half of them, or fewer.
#[test]
fn the_flow_with_the_most_drops_is_named_with_its_part() {
    let text = |drops: [u32; 3]| {
        let mut record = Record::new(&[]);
        let flows = (0..3).flat_map(|flow| vec![flow; drops[flow as usize] as usize]);
        record.events = flows.zip(1..).map(|(flow, second)| drop_of(flow, f64::from(second))).collect();
        record.summary.links[0].dropped_packets = dropped(DropCause::QueueFull, u64::from(drops.iter().sum::<u32>()));
        record.texts().remove(0).1
    };
    let begins = |packets: &str, part| {
        format!("the queue of a->b overflowed: it dropped {packets} ({part} of the packets that arrived)")
    };
    assert_eq!(text([2, 0, 0]), begins("2 packets", "0.2 %") + ", of one");
    assert_eq!(text([3, 1, 0]), begins("4 packets", "0.4 %") + ", most of them (75 %) of one");
    assert_eq!(text([2, 1, 1]), begins("4 packets", "0.4 %") + ", most of them (50 %) of one");
    assert_eq!(text([4, 3, 3]), begins("10 packets", "1.0 %") + ", the largest part (40 %) of one");
}

/// RED drops packets for the same cause while its average is too long, also if the queue has room.
#[test]
fn drops_of_red_are_not_called_an_overflow() {
    let mut record = Record::new(&[]);
    record.summary.links[0].dropped_packets = dropped(DropCause::QueueFull, 2);
    record.summary.links[0].mean_red_average = Some(5.0);
    let text = record.texts().remove(0).1;
    assert!(
        text.starts_with("the queue of a->b was full, or its average too long (RED): it dropped 2 packets"),
        "{text}"
    );
}

/// Events at both ends of the measured interval count; others do not. The finding spans the events that count.
#[test]
fn events_in_the_measured_interval_count() {
    let mut record = Record::new(&[]);
    record.summary.interval = Interval { from: 10.0, to: 20.0 };
    record.summary.links[0].dropped_packets = dropped(DropCause::QueueFull, 2);
    record.events = vec![drop_of(0, 9.5), drop_of(1, 10.0), drop_of(1, 20.0), drop_of(0, 20.5)];
    let found = record.found();
    assert_eq!((found[0].time_from_s, found[0].time_to_s), (10.0, 20.0));
    assert!(found[0].text.ends_with(", of two"), "{found:?}");
    record.events = vec![drop_of(1, 12.0), drop_of(1, 15.0)];
    let found = record.found();
    assert_eq!((found[0].time_from_s, found[0].time_to_s), (12.0, 15.0));
    record.events.clear();
    let found = record.found();
    assert_eq!((found[0].time_from_s, found[0].time_to_s), (10.0, 20.0));
}

#[test]
fn one_percent_of_late_packets_is_a_problem() {
    let mut record = Record::new(&["one"]);
    let late = |at, millis| Event {
        kind: EventKind::Late,
        media: Some(MediaKind::Audio as u8),
        cause: None,
        late: Some(Duration::from_millis(millis)),
        ..drop_of(0, at)
    };
    record.events = vec![late(1.0, 200), late(2.0, 100)];
    let mut texts = |part| {
        record.summary.flows[0].late_ratio = BTreeMap::from([(MediaKind::Audio, part)]);
        record.texts()
    };
    let text = "1.0 % of audio of one arrived after its deadline, at most by 200 ms".to_owned();
    assert_eq!(texts(0.01), [(Severity::Problem, text.clone())]);
    assert_eq!(texts(0.01_f64.next_down()), [(Severity::Note, text)]);
    assert_eq!(texts(0.0), []);
}

#[test]
fn fewer_than_95_percent_of_frames_in_time_are_a_problem() {
    let found = |kind, complete_frames, on_time_frames| {
        let frames = FrameSummary {
            written_frames: 100,
            complete_frames,
            on_time_frames,
            complete_ratio: 0.0,
            on_time_ratio: None,
            delay_s: None,
        };
        let mut record = Record::new(&["one"]);
        record.summary.flows[0].frames = BTreeMap::from([(kind, frames)]);
        let found = record.has("arrived whole");
        assert_eq!(record.has("and on time"), found && on_time_frames.is_some());
        found
    };
    assert!(found(MediaKind::VideoI, 100, Some(94)) && !found(MediaKind::VideoI, 100, Some(95)));
    assert!(found(MediaKind::VideoB, 94, None) && !found(MediaKind::VideoB, 95, None));
    assert!(!found(MediaKind::Audio, 0, None) && !found(MediaKind::Data, 0, None));
}

/// Little's law: a mean of one packet for 100 s and 1000 packets through the queue is a wait of 100 ms.
#[test]
fn a_mean_wait_of_100_ms_is_a_problem() {
    let found = |mean, arrived, refused: &[DropCause], place: &str| {
        let mut record = Record::new(&["one"]);
        let loss = format!(
            "limit = \"20packets\" }}\nloss = {{ kind = \"bernoulli\", probability = 0.1, place = \"{place}\" }}"
        );
        record.scenario = record.scenario.replace("limit = \"20packets\" }", &loss);
        let link = &mut record.summary.links[0];
        (link.mean_queue_packets, link.arrived_packets) = (mean, arrived);
        refused.iter().for_each(|cause| link.dropped_packets.add_many(*cause, 100));
        record.has("packets waited 100 ms in the queue of a->b on average")
    };
    let after = "after-transmission";
    assert!(found(1.0, 1000, &[], after) && !found(0.999, 1000, &[], after));
    // These causes drop a packet before it waits. A channel after the transmission drops it later.
    for cause in [DropCause::QueueFull, DropCause::Early, DropCause::TooBig, DropCause::Policer] {
        assert!(found(1.0, 1100, &[cause], after) && !found(1.0, 1101, &[cause], after), "{cause:?}");
    }
    assert!(!found(1.0, 1100, &[DropCause::Channel], after));
    let before = "before-queue";
    assert!(found(1.0, 1100, &[DropCause::Channel], before) && !found(1.0, 1101, &[DropCause::Channel], before));
}

#[test]
fn one_percent_of_unsent_packets_is_a_problem() {
    let texts = |written, [expired, refused, pushed_out]: [u64; 3]| {
        let queue = SendQueueSummary {
            written_packets: written,
            sent_packets: 0,
            refused_packets: refused,
            pushed_out_packets: pushed_out,
            expired_packets: expired,
            mean_wait_s: None,
            max_wait_s: None,
            late_packets: 0,
            mean_lateness_s: None,
            returned_packets: 0,
            lost_late_packets: 0,
        };
        let mut record = Record::new(&["one"]);
        record.summary.flows[0].send_queue = BTreeMap::from([(MediaKind::Audio, queue)]);
        record.texts()
    };
    let begins = "one discarded 1 packet of audio (1.0 %) before they were sent: 1 ";
    assert_eq!(texts(100, [1, 0, 0]), [(Severity::Problem, format!("{begins}would have arrived too late"))]);
    assert_eq!(texts(101, [0, 1, 0]), [(Severity::Note, format!("{begins}found the queue full"))]);
    assert_eq!(texts(100, [0, 0, 1]), [(Severity::Problem, format!("{begins}made room for more urgent packets"))]);
    assert_eq!(texts(100, [0, 0, 0]), []);
}

#[test]
fn a_connection_that_failed_is_a_problem() {
    let mut record = Record::new(&["one"]);
    record.summary.flows[0].connection_failure = Some("refused".to_owned());
    assert_eq!(record.texts(), [(Severity::Problem, "the connection of one failed: refused".to_owned())]);
}

/// In start-up, cwnd is below ssthresh and below the receiver's window, and ssthresh is above the 10 packets of the
/// path.
#[test]
fn start_up_ends_at_the_thresholds() {
    let at_10_s = |cwnd, ssthresh, more: &str| {
        let mut record = Record::new(&["one"]);
        record.scenario = LINK.to_owned() + &download("one", "tcp-reno\", window = \"30packets", more);
        record.summary.interval.from = 10.0;
        for (at, cwnd, ssthresh) in [(10.0, cwnd, ssthresh), (60.0, 12.0, 11.0)] {
            record.series.extend([("one", metric::CWND, at, cwnd), ("one", metric::SSTHRESH, at, ssthresh)]);
        }
        record.found()
    };
    let found = at_10_s(10.0, 11.0, "");
    assert_eq!((found.len(), found[0].time_from_s, found[0].time_to_s), (1, 10.0, 60.0));
    let text = "one was in start-up until 60.0 s, after the measurement began at 10.0 s: its slow-start threshold was 11 packets, the \
                path holds 10; a later measure_from leaves start-up out";
    assert_eq!(found[0].text, text);
    assert_eq!(at_10_s(11.0, 11.0, ""), [], "cwnd has reached ssthresh");
    assert_eq!(at_10_s(9.0, 10.0, ""), [], "ssthresh is what the path holds");
    assert_eq!((at_10_s(29.0, 100.0, "").len(), at_10_s(30.0, 100.0, "").len()), (1, 0), "the window is 30 packets");
    assert_eq!(at_10_s(10.0, 11.0, "start = \"9999ms\"").len(), 1);
    assert_eq!(at_10_s(10.0, 11.0, "start = \"10s\""), [], "it starts with the measurement");
}

/// Two downloads with a fair share of 600 kb/s each. The first has `rate` in these intervals, in s, and its share
/// otherwise. Samples are 500 ms apart.
fn starving(low: &[(f64, f64)], rate: f64) -> Record {
    let mut record = Record::new(&["one", "two"]);
    for half in 1..=200 {
        let at = f64::from(half) / 2.0;
        let is_low = low.iter().any(|(from, to)| *from < at && at <= *to);
        record.series.push(("one", metric::THROUGHPUT, at, if is_low { rate } else { 600_000.0 }));
    }
    record
}

#[test]
fn a_flow_below_a_tenth_of_its_share_for_a_second_starves() {
    let texts = |low: &[(f64, f64)], rate| starving(low, rate).texts();
    let text = |seconds: &str| format!("one below a tenth of its fair share (600 kb/s at a->b) for {seconds}");
    assert_eq!(texts(&[(10.0, 11.0)], 59_999.0), [(Severity::Problem, text("1.00 s"))]);
    assert_eq!(texts(&[(10.0, 11.0)], 60_000.0), []);
    assert_eq!(texts(&[(10.0, 10.5)], 0.0), []);
    // A window of one packet per 100 ms is 120 kb/s: the flow gets half of it, and a tenth is 12 kb/s.
    let mut held = starving(&[(10.0, 11.0)], 59_999.0);
    held.scenario = held.scenario.replace("\"tcp-reno\"", "\"tcp-reno\", window = \"1packets\"");
    assert_eq!(held.texts(), []);
    // A tenth of the rate that the window allows counts, if that is less than the fair share. An answer has the delay
    // of the link, too: 100 ms.
    for (window, tenth) in [("1packets", 12_000.0), ("2packets", 24_000.0), ("100packets", 60_000.0)] {
        let held = |rate| {
            let mut record = starving(&[(10.0, 11.0)], rate);
            let segment = format!("\"tcp-reno\", window = \"{window}\", segment = \"1500B\"");
            record.scenario = record.scenario.replace("\"tcp-reno\"", &segment);
            record.texts().len()
        };
        assert_eq!((held(tenth - 1.0), held(tenth)), (1, 0), "{window}");
    }
    // The first second is slow start, unless drops or timeouts occurred.
    assert_eq!(texts(&[(1.0, 3.0)], 0.0), []);
    assert_eq!(texts(&[(1.5, 3.0)], 0.0), [(Severity::Problem, text("1.50 s"))]);
    let mut record = starving(&[(1.0, 3.0)], 0.0);
    record.events = vec![drop_of(0, 2.0)];
    assert_eq!(record.texts(), [(Severity::Problem, text("2.00 s") + ": 1 queue-full drop at a->b")]);
}

/// Of four periods, the three longest are reported, and the first has the number and the sum: 1 + 2 + 3 + 4 s.
#[test]
fn four_periods_of_starvation_are_summarized() {
    let low = [(10.0, 11.0), (20.0, 22.0), (30.0, 33.0), (40.0, 44.0)];
    let found = starving(&low, 0.0).found();
    let mut spans: Vec<_> = found.iter().map(|finding| (finding.time_from_s, finding.time_to_s)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(spans, low[1..]);
    let more: Vec<_> = found.iter().filter(|finding| finding.text.contains("more")).collect();
    assert_eq!((more.len(), more[0].time_from_s), (1, 40.0));
    assert!(more[0].text.ends_with("for 4.00 s (and 1 time more, 10.0 s in all)"), "{more:?}");
    let three = starving(&low[1..], 0.0).found();
    assert!(three.len() == 3 && three.iter().all(|finding| !finding.text.contains("more")), "{three:?}");
}

/// The flow that starved longest in total represents the others with the same cause. Three flows are reported
/// individually.
#[test]
fn the_flow_that_starves_longest_represents_the_others() {
    let names = ["one", "two", "three", "four"];
    let mut record = Record::new(&names);
    // One period of 2 s, and for the third flow 5 s in two periods: the sums are 2, 2, 5 and 2 s.
    for name in names {
        for second in 1..=100 {
            let is_low = match name {
                "three" => matches!(second, 11..=13 | 21..=22),
                _ => matches!(second, 91..=92),
            };
            let rate = if is_low { 0.0 } else { 300_000.0 };
            record.series.push((name, metric::THROUGHPUT, f64::from(second), rate));
        }
    }
    let found = record.found();
    assert_eq!((found.len(), found[0].subject.as_str()), (1, "three"), "{found:?}");
    assert!(found[0].text.ends_with("for 3.00 s; likewise 3 more flows"), "{found:?}");
}

/// A second download starts after 2 s of 4: the fair share falls from 1.2 Mb/s to 600 kb/s.
#[test]
fn the_minimum_fair_share_of_a_period_is_reported() {
    let mut record = starving(&[(10.0, 14.0)], 0.0);
    record.scenario =
        LINK.to_owned() + &download("one", "tcp-reno", "") + &download("two", "tcp-reno", "start = \"12s\"");
    assert!(record.has("fair share (600 kb/s at a->b) for 4.00 s"), "{:?}", record.texts());
}

#[test]
fn a_drop_within_a_second_before_starvation_is_a_cause() {
    let cause = |at| {
        let mut record = starving(&[(10.0, 12.0)], 0.0);
        record.events = vec![drop_of(0, at)];
        record.has("queue-full drop at a->b")
    };
    assert_eq!([8.999, 9.0, 12.0, 12.001].map(cause), [false, true, true, false]);
}

/// Half of 1.2 Mb/s is 600 kb/s.
#[test]
fn a_flow_with_half_of_the_link_is_named_as_a_cause() {
    let named = |rate| {
        let mut record = starving(&[(10.0, 12.0)], 0.0);
        // Rates outside of the period are ignored.
        let samples = (1..=100).map(|second| if matches!(second, 11 | 12) { (second, rate) } else { (second, 1e6) });
        record.series.extend(samples.map(|(second, rate)| ("two", metric::THROUGHPUT, f64::from(second), rate)));
        record.has("meanwhile two used 50 % of the link")
    };
    assert_eq!([599_999.0, 600_000.0].map(named), [false, true]);
}

/// Outages of 1, 2, 3 and 4 s: the three longest in the measured interval are reported, and the sum is 10 s.
#[test]
fn four_outages_are_summarized() {
    let outages = [(10, 11), (20, 22), (30, 33), (40, 44)];
    let changes: Vec<_> = outages
        .map(|(from, to)| format!("{{ at = \"{from}s\", rate = \"0bps\" }}, {{ at = \"{to}s\", rate = \"1200kbps\" }}"))
        .into();
    let mut record = Record::new(&["one"]);
    let changes = format!("delay = \"50ms\"\nchanges = [{}]\nreverse = {{ changes = [] }}", changes.join(", "));
    record.scenario = record.scenario.replace("delay = \"50ms\"", &changes);
    let texts = |record: &Record| record.texts().into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let text = |seconds: &str| format!("outage: a->b forwarded nothing for {seconds}");
    assert_eq!(texts(&record), [text("2.00 s"), text("3.00 s"), text("4.00 s") + " (and 1 time more, 10.0 s in all)"]);
    // An outage that ends when the measurement begins is excluded.
    record.summary.interval.from = 22.0;
    assert_eq!(texts(&record), [text("3.00 s"), text("4.00 s")]);
    record.summary.interval.from = 21.999;
    assert_eq!(texts(&record), [text("2.00 s"), text("3.00 s"), text("4.00 s")]);
}

/// Two flows with this many loss events and equal round trips. The second has 1.2 times the throughput of the first.
fn phase(ours: u32, theirs: u32) -> Record {
    let mut record = Record::new(&["one", "two"]);
    let rtt_s = Some(RttSummary { mean: 0.25, min: 0.1, max: 0.5 });
    for (flow, (losses, throughput_bps)) in
        record.summary.flows.iter_mut().zip([(ours, 100_000.0), (theirs, 120_000.0)])
    {
        (flow.rtt_s, flow.throughput_bps) = (rtt_s, throughput_bps);
        flow.lost_packets = dropped(DropCause::QueueFull, u64::from(losses));
    }
    lose(&mut record, 0.375, ours, theirs);
    record
}

/// Drops packets of each flow at this interval.
fn lose(record: &mut Record, apart_s: f64, ours: u32, theirs: u32) {
    let drops = |flow, count| (1..=count).map(move |place| drop_of(flow, f64::from(place) * apart_s));
    record.events = drops(0, ours).chain(drops(1, theirs)).collect();
    record.events.sort_by_key(|event| event.at);
}

const PHASE: &str = "phase effect";

/// Of n loss events, ours are binomial. With half of the packets, ours - theirs = 4 sqrt(n) is 4 deviations: 30 - 6 =
/// 4 sqrt(36). With 3/4 of the packets, the deviation is sqrt(3 n / 16): 3 for n = 48, and 48 - 36 is 4 deviations.
#[test]
fn four_deviations_are_a_phase_effect() {
    assert!(phase(30, 6).has(PHASE) && !phase(30, 7).has(PHASE));
    let of_three_quarters = |ours, theirs| {
        let mut record = phase(ours, theirs);
        record.summary.flows[0].sent_packets = 3000;
        record.has(PHASE)
    };
    assert!(of_three_quarters(48, 0) && !of_three_quarters(47, 0));
}

/// 20 loss events to 0 are sqrt(20) deviations, and 19 to 0 are sqrt(19): both are more than 4.
#[test]
fn twenty_loss_events_are_a_phase_effect() {
    assert!(phase(20, 0).has(PHASE) && !phase(19, 0).has(PHASE));
    // Drops within a mean round trip, here 0.25 s, are one loss event: of 39 drops 20 are more than 0.25 s apart.
    let apart = |count| {
        let mut record = phase(count, 0);
        lose(&mut record, 0.25, count, 0);
        record.has(PHASE)
    };
    assert!(apart(39) && !apart(38));
}

/// 200 loss events to 100 are 5.8 deviations.
#[test]
fn twice_the_loss_event_rate_is_a_phase_effect() {
    assert!(phase(200, 100).has(PHASE) && !phase(199, 100).has(PHASE));
}

#[test]
fn a_phase_effect_has_a_lower_throughput_and_no_longer_round_trip() {
    let found = |throughput_bps, [ours, theirs]: [f64; 2]| {
        let mut record = phase(40, 4);
        record.summary.flows[1].throughput_bps = throughput_bps;
        for (flow, min) in record.summary.flows.iter_mut().zip([ours, theirs]) {
            flow.rtt_s = Some(RttSummary { mean: 0.25, min, max: 0.5 });
        }
        record.texts().into_iter().find_map(|(_, text)| text.starts_with(PHASE).then_some(text))
    };
    let text = |trip: &str| {
        // 40 and 4 of 1000 packets. 1500 B at 1.2 Mb/s take 10 ms.
        Some(format!(
            "phase effect: two has {trip} and 1.2 times the throughput of one, because the queue of a->b dropped 4.0 % of the packets of \
             one and 0.4 % of those of two; a transport with overhead = \"10ms\" breaks the phase"
        ))
    };
    let (equal, longer) = ("an equal round trip", "the longer round trip");
    assert_eq!(found(120_000.0, [0.1, 0.1]), text(equal));
    assert_eq!(found(119_999.0, [0.1, 0.1]), None);
    // Up to 5 % apart they are equal: 105 and 100 ms.
    assert_eq!(found(120_000.0, [0.105, 0.1]), text(equal));
    assert_eq!(found(120_000.0, [0.1051, 0.1]), None);
    assert_eq!(found(120_000.0, [0.1, 0.105]), text(equal));
    assert_eq!(found(120_000.0, [0.1, 0.1051]), text(longer));
}

/// Both flows always send through a DropTail queue, with the same transport and without random overhead.
#[test]
fn a_phase_effect_is_between_flows_that_send_all_the_time() {
    let found = |one: &str, two: &str| {
        let mut record = phase(40, 4);
        record.scenario = LINK.to_owned() + one + two;
        record.has(PHASE)
    };
    let of = |name, more| download(name, "tcp-reno", more);
    assert!(found(&of("one", ""), &of("two", "")));
    assert!(found(&of("one", "start = \"1s\""), &of("two", "")));
    assert!(!found(&of("one", "start = \"1001ms\""), &of("two", "")));
    assert!(found(&of("one", ""), &of("two", "stop = \"100s\"")));
    assert!(!found(&of("one", ""), &of("two", "stop = \"99999ms\"")));
    assert!(!found(&of("one", ""), &download("two", "tcp-newreno", "")));
    let overhead = |name| download(name, "tcp-reno\", overhead = \"1ms", "");
    assert!(!found(&overhead("one"), &overhead("two")));
    let mut red = phase(40, 4);
    red.scenario = red.scenario.replace("droptail", "red");
    assert!(!red.has(PHASE));
}

/// A flow that starts before 0.5 s is active in all bins of 0.5 s except the first.
#[test]
fn flows_that_start_in_the_first_bin_are_compared() {
    let smoother = |start: &str| {
        let mut record = Record::new(&["one", "two"]);
        record.scenario = LINK.to_owned() + &download("one", "tcp-reno", "") + &download("two", "tfrc", start);
        let [one, two] = &mut record.summary.flows[..] else { unreachable!() };
        (one.rate_cov, two.rate_cov) = (Some(0.5), Some(0.25));
        "tfrc".clone_into(&mut two.kind);
        record.has("tfrc was smoother than tcp-reno: its rate varied by 0.25 of its mean, the other's by 0.50")
    };
    assert!(smoother("start = \"500ms\"") && !smoother("start = \"501ms\""));
}

#[test]
fn differences_of_one_percent_between_runs_are_reported() {
    let count = |cov: [f64; 2], share: [f64; 2]| {
        let [first, second] = [0, 1].map(|run| {
            let mut summary = Record::new(&["one"]).summary;
            summary.flows[0].rate_cov = Some(cov[run]);
            summary.flows[0].on_time_ratio = BTreeMap::from([(MediaKind::Audio, share[run])]);
            summary
        });
        findings_between(&[("first", first), ("second", second)]).len()
    };
    assert_eq!(count([0.0, 0.01], [0.0, 0.0]), 1);
    assert_eq!(count([0.0, 0.01_f64.next_down()], [0.0, 0.0]), 0);
    assert_eq!(count([0.0, 0.0], [0.0, 0.01]), 1);
    assert_eq!(count([0.0, 0.0], [0.0, 0.01_f64.next_down()]), 0);
}
