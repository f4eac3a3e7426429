//! Figures of dropped packets: values read from their axes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::reading::{Element, Panel, Points, lines, number};
use headway_record::plot::{Figure, RunEvents, Style, drops_figure};
use headway_record::{
    Event, EventCause, EventKind, EventLog, EventNames, EventTable, FEEDBACK, Interval, MAX_EVENTS_PER_KIND,
};
use headway_units::{DropCause, Instant, SendDrop};

const FLOWS: [&str; 6] = ["call", "data", "a", "b", "c", "d"];

/// A drop at a time in s: flow, kind of packet and cause.
type Drop = (f64, u32, u8, EventCause);

fn table(drops: &[Drop]) -> EventTable {
    let entities = ["a->b"].into_iter().chain(FLOWS);
    let mut log = EventLog::new(EventNames::new(entities, FLOWS, ["data", FEEDBACK]));
    for (at, flow, media, cause) in drops {
        let (kind, entity) = match cause {
            EventCause::Drop(_) => (EventKind::Drop, 0),
            EventCause::Unsent(_) => (EventKind::Unsent, 1 + flow),
        };
        log.push(Event {
            at: Instant::from_nanos((at * 1e9).round() as u64),
            kind,
            entity,
            flow: *flow,
            media: Some(*media),
            cause: Some(*cause),
            sequence: Some(1),
            bytes: Some(100),
            late: None,
        });
    }
    EventTable::from_ipc(&log.finish().unwrap()).unwrap()
}

fn draw(runs: &[(&str, &EventTable)]) -> Option<Figure> {
    let runs: Vec<RunEvents<'_>> = runs
        .iter()
        .map(|(label, events)| RunEvents { label, events, interval: Interval { from: 0.5, to: 10.0 } })
        .collect();
    drops_figure(&runs, &Style::default()).unwrap()
}

fn texts<'a>(elements: &[Element<'a>]) -> Vec<&'a str> {
    elements.iter().filter(|e| e.is("text")).map(|e| e.text).collect()
}

const FULL: EventCause = EventCause::Drop(DropCause::QueueFull);
const CHANNEL: EventCause = EventCause::Drop(DropCause::Channel);
const EXPIRED: EventCause = EventCause::Unsent(SendDrop::Expired);

/// Drops before 0.5 s or after 10 s and those of feedback do not count.
#[test]
fn each_cause_is_a_line_of_steps() {
    let events = table(&[
        (0.2, 0, 0, FULL),
        (1.0, 0, 0, FULL),
        (1.5, 0, 1, FULL),
        (2.0, 0, 0, FULL),
        (2.0, 0, 0, FULL),
        (4.0, 0, 0, EXPIRED),
        (5.0, 1, 0, CHANNEL),
        (10.1, 1, 0, CHANNEL),
    ]);
    let figure = draw(&[("run", &events)]).unwrap();
    assert_eq!(figure.name, "drops");
    let elements = Element::all(&figure.svg);
    let panels = Panel::all(&elements, number, number);
    let [call, data] = &panels[..] else { panic!("{} panels", panels.len()) };
    let found = lines(&elements, call);
    let full: Points =
        vec![(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (2.0, 2.0), (2.0, 3.0), (10.0, 3.0)];
    let one = |at: f64| vec![(0.5, 0.0), (at, 0.0), (at, 1.0), (10.0, 1.0)];
    assert_eq!(found.len(), 2);
    call.assert_shows(&found[0], &full, "queue full");
    call.assert_shows(&found[1], &one(4.0), "expired");
    let found = lines(&elements, data);
    assert_eq!(found.len(), 1);
    data.assert_shows(&found[0], &one(5.0), "channel");
    let texts = texts(&elements);
    for expected in ["call", "data", "queue full", "expired", "channel", "Dropped (packets)"] {
        assert!(texts.contains(&expected), "{expected}: {texts:?}");
    }
    assert!(!texts.contains(&"early"), "{texts:?}");
}

#[test]
fn many_flows_are_one_sum() {
    let all: Vec<Drop> = (0..6).map(|flow| (1.0 + f64::from(flow), flow, 0, FULL)).collect();
    let (six, four) = (table(&all), table(&all[..4]));
    let panels = |runs: &[(&str, &EventTable)]| {
        let figure = draw(runs).unwrap();
        let elements = Element::all(&figure.svg);
        let panels = Panel::all(&elements, number, number);
        let ends: Vec<f64> = panels.iter().map(|panel| lines(&elements, panel)[0].last().unwrap().1).collect();
        panels
            .iter()
            .zip(ends)
            .map(|(panel, end)| {
                let per_packet = panel.y.pixel(0.0) - panel.y.pixel(1.0);
                ((panel.y.pixel(0.0) - end) / per_packet).round()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(panels(&[("run", &four)]), [1.0; 4], "a panel for each flow");
    assert_eq!(panels(&[("run", &six)]), [6.0], "one for all flows");
    assert_eq!(panels(&[("x", &six), ("y", &four)]), [6.0, 4.0], "one for each run");
}

#[test]
fn a_run_without_drops_has_no_figure() {
    assert!(draw(&[("run", &table(&[]))]).is_none());
    assert!(draw(&[("run", &table(&[(0.2, 0, 0, FULL), (2.0, 0, 1, FULL)]))]).is_none());
}

/// If the file omits drops, the number at the end of the run is unknown: the lines end with the last event.
#[test]
fn lines_end_with_the_last_known_drop() {
    let drop = |n: u64| (1.0 + n as f64 * 1e-5, 0, 0, FULL);
    let events = table(&(0..=MAX_EVENTS_PER_KIND).map(drop).collect::<Vec<_>>());
    let figure = draw(&[("run", &events)]).unwrap();
    let elements = Element::all(&figure.svg);
    let panel = &Panel::all(&elements, number, number)[0];
    let end = *lines(&elements, panel)[0].last().unwrap();
    let last = (1.0 + (MAX_EVENTS_PER_KIND - 1) as f64 * 1e-5, MAX_EVENTS_PER_KIND as f64);
    panel.assert_shows(&[end], &[last], "the last drop in the file");
}

/// A cause has one color in all panels of a figure.
#[test]
fn a_cause_has_one_color() {
    let events = table(&[(1.0, 0, 0, FULL), (2.0, 0, 0, EXPIRED), (3.0, 1, 0, EXPIRED), (4.0, 1, 0, CHANNEL)]);
    let figure = draw(&[("run", &events)]).unwrap();
    let elements = Element::all(&figure.svg);
    let strokes = |panel: &Panel| -> Vec<&str> {
        let lines = elements.iter().filter(|e| e.is("polyline") && e.get("stroke-width") == "7");
        lines.filter(|e| e.points().iter().all(|at| panel.holds(*at))).map(|e| e.get("stroke")).collect()
    };
    let panels: Vec<Vec<&str>> = Panel::all(&elements, number, number).iter().map(strokes).collect();
    let [call, data] = &panels[..] else { panic!("{panels:?}") };
    assert_eq!((call.len(), data.len()), (2, 2), "{panels:?}");
    let expired: Vec<&&str> = call.iter().filter(|color| data.contains(color)).collect();
    assert_eq!(expired.len(), 1, "the panels share only this cause: {panels:?}");
}

/// Panels are in the order of the scenario, not in that of the first drops.
#[test]
fn panels_are_in_the_order_of_the_scenario() {
    let events = table(&[(1.0, 1, 0, FULL), (2.0, 0, 0, FULL)]);
    let figure = draw(&[("run", &events)]).unwrap();
    let elements = Element::all(&figure.svg);
    let titles: Vec<&str> = texts(&elements).into_iter().filter(|text| FLOWS.contains(text)).collect();
    assert_eq!(titles, ["call", "data"]);
}

/// A unit of time in the title of the axis is that of its numbers.
#[test]
fn the_time_axis_has_the_unit_of_its_title() {
    let events = table(&[(1.0, 0, 0, FULL)]);
    let runs = [RunEvents { label: "run", events: &events, interval: Interval { from: 0.5, to: 10.0 } }];
    for (title, second) in [("Time (ms)", 1e3), ("Seconds", 1.0)] {
        let style = Style { x_title: Some(title.to_owned()), ..Style::default() };
        let figure = drops_figure(&runs, &style).unwrap().unwrap();
        let elements = Element::all(&figure.svg);
        let panel = &Panel::all(&elements, number, number)[0];
        let expected = [(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (10.0, 1.0)].map(|(at, count)| (at * second, count));
        panel.assert_shows(&lines(&elements, panel)[0], &expected, title);
        assert!(texts(&elements).contains(&title));
    }
}
