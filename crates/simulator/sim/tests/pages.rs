//! Web pages: the order of their transfers, and their record.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use common::{run, scenario};
use headway_record::{FlowSummary, PagesSummary};

/// Duration of a session of one segment over a link of 1 Mb/s and 10 ms, as in the tests of sessions: SYN there and
/// back, segment there, and acknowledgement back.
const ONE_SEGMENT_S: f64 = (3.0 * 40.0 + 1040.0) * 8.0 / 1e6 + 4.0 * 0.01;

fn of(more: &str, rate: &str, delay: &str, source: &str) -> FlowSummary {
    until(more, "100000s", rate, delay, source)
}

fn until(more: &str, stop: &str, rate: &str, delay: &str, source: &str) -> FlowSummary {
    let text = format!(
        r#"
        dialect = "ns2"
        {more}
        [[link]]
        between = ["a", "c"]
        rate = "{rate}"
        delay = "{delay}"
        queue = {{ kind = "droptail", limit = "200000packets" }}
        [[flow]]
        name = "web"
        from = "a"
        to = "c"
        stop = "{stop}"
        transport = {{ kind = "tcp-newreno" }}
        source = {{ kind = "pages", {source} }}
        "#
    );
    run(&scenario(&text), ()).summary.flows.remove(0)
}

fn pages(flow: &FlowSummary) -> PagesSummary {
    flow.pages.clone().unwrap()
}

/// A main object and three embedded ones, one at a time: four transfers, one after the other.
#[test]
fn transfers_of_a_page_are_sequential() {
    let source = r#"arrivals = { at = ["1s", "3s"] }, parsing_time = "0s", connections = 1, main = { constant = "1kB" },
                    embedded = { constant = "1kB" }, objects = { constant = 3 }"#;
    let flow = of("duration = \"10s\"", "1Mbps", "10ms", &source.replace('\n', " "));
    let (pages, sessions) = (pages(&flow), flow.sessions.unwrap());
    assert_eq!((pages.arrived, pages.completed, pages.open, pages.refused), (2, 2, 0, 0));
    assert_eq!((sessions.arrived, sessions.completed), (8, 8));
    let took = pages.completion_s.unwrap();
    for seen in [took.mean, took.p50, took.p99, took.max] {
        assert!((seen - 4.0 * ONE_SEGMENT_S).abs() < 1e-8, "{seen}");
    }
}

/// Delayed acknowledgements do not delay complete transfers: a FIN is acknowledged at once (`answer_fin`).
#[test]
fn a_page_does_not_wait_for_delayed_acknowledgements() {
    let source = r#"arrivals = { at = ["1s"] }, parsing_time = "0s", main = { constant = "1kB" }, embedded = { constant = "1kB" }, objects = { constant = 6 }"#;
    let took = |fin: bool| {
        let text = format!(
            r#"
            duration = "5s"
            [[link]]
            between = ["a", "c"]
            rate = "100Mbps"
            delay = "15ms"
            queue = {{ kind = "droptail", limit = "1000packets" }}
            [[flow]]
            name = "web"
            from = "a"
            to = "c"
            transport = {{ kind = "tcp-cubic", expert = {{ answer_fin = {fin} }} }}
            source = {{ kind = "pages", {source} }}
            "#
        );
        pages(&run(&scenario(&text), ()).summary.flows[0]).completion_s.unwrap().max
    };
    // Two rounds, each with a SYN there and back and a segment there and back.
    assert!((took(true) - 4.0 * 0.03).abs() < 0.002, "{}", took(true));
    assert!((took(false) - took(true) - 2.0 * 0.2).abs() < 0.002, "{}", took(false));
}

/// A page belongs to the interval of its request. Objects due at the stop or later are not requested.
#[test]
fn pages_belong_to_the_interval_of_their_request() {
    let source = r#"arrivals = { at = ["1s", "1.99s", "2s", "4s"] }, parsing_time = "0s", main = { constant = "1kB" },
                    embedded = { constant = "1kB" }, objects = { constant = 1 }"#;
    let more = "duration = \"10s\"\nmeasure_from = \"2s\"";
    let flow = of(more, "1Mbps", "10ms", &source.replace('\n', " "));
    assert_eq!((pages(&flow).arrived, pages(&flow).completed), (2, 2));
    // The main object of the last page arrived after the stop.
    let flow = until(more, "4.03s", "1Mbps", "10ms", &source.replace('\n', " "));
    assert_eq!((pages(&flow).arrived, pages(&flow).completed, pages(&flow).open), (2, 1, 1));
}

/// At most 65,536 sessions of a flow are open. A page with a refused object requests no more objects and counts as
/// refused. Of 100 pages with 1000 objects each, whose main objects arrive one after the other, 65 open all sessions.
/// The 66th opens the sessions left by the main objects of the 34 others, and each of those one, in place of its main
/// object.
#[test]
fn pages_are_refused_with_their_objects() {
    let times = vec!["\"0s\""; 100].join(", ");
    let source = format!(
        "arrivals = {{ at = [{times}] }}, parsing_time = \"0s\", main = {{ constant = \"1kB\" }}, embedded = {{ constant = \"1kB\" }}, \
         objects = {{ constant = 1000 }}, connections = 1000"
    );
    let flow = of("duration = \"9s\"\nrecord.series = false", "1Gbps", "1s", &source);
    let (pages, sessions) = (pages(&flow), flow.sessions.unwrap());
    assert_eq!((pages.arrived, pages.completed, pages.open, pages.refused), (100, 65, 0, 35));
    let opened = 100 + 65_000 + (65_536 - 65_000 - 34) + 34;
    assert_eq!((sessions.arrived, sessions.completed, sessions.refused), (opened + 35, opened, 35));
}

/// Simulated users continue forever. The same seed gives the same run; another seed gives another.
#[test]
fn the_same_seed_gives_the_same_run() {
    let source = r#"users = 5, reading_time = "500ms""#;
    let run = |seed| of(&format!("duration = \"60s\"\nseed = {seed}"), "10Mbps", "10ms", source);
    let (one, other) = (run(1), run(2));
    assert_eq!(one, run(1));
    assert_ne!(one, other);
    let pages = pages(&one);
    assert!(pages.completed > 200 && pages.open <= 5 && pages.arrived == pages.completed + pages.open, "{pages:?}");
}
