//! The packet-spacing paper: settings of its runs, and values computed by hand.

use crate::common::link;
use headway_papers::{Outcome, Paper};
use headway_record::Summary;
use headway_scenario::{NoFiles, Scenario, load};
use headway_sim::simulate;
use headway_units::{Duration, Rate};

fn paper() -> &'static Paper {
    Paper::find("packet-spacing").unwrap()
}

fn scenarios(prefix: &str) -> Vec<(String, Scenario)> {
    crate::common::scenarios(paper(), prefix)
}

const PAPERS_CELLS: [&str; 7] = ["p", "t1", "t2", "t4", "t8", "d2", "e2"];

/// Section 3.1: k senders with 100 Mb/s and 2 ms, a gateway with a buffer of ten packets, and 155 Mb/s and 40 ms to one
/// sink.
#[test]
fn figure_5_is_the_network() {
    for (name, scenario) in PAPERS_CELLS.into_iter().flat_map(scenarios) {
        let trunk = link(&scenario, "middle", "sink");
        assert_eq!(trunk.rate, Rate::from_bits_per_second(155_000_000), "{name}");
        assert_eq!(trunk.delay, Duration::from_millis(40), "{name}");
        let queue = serde_json::to_value(&trunk.queue).unwrap();
        assert_eq!((&queue["kind"], &queue["limit"]), (&"droptail".into(), &"10packets".into()), "{name}");
        for flow in &scenario.flows {
            let access = link(&scenario, &scenario.nodes[flow.from], "middle");
            assert_eq!(access.rate, Rate::from_bits_per_second(100_000_000), "{name}");
            assert_eq!(access.delay, Duration::from_millis(2), "{name}");
            assert_eq!(scenario.nodes[flow.to], "sink", "{name}");
        }
    }
}

/// Section 3.2: 2, 4, 8 and 16 PSAs alone, and 1, 2, 4, 8 and 16 with as many TCPs; section 3.3: two alone, and two
/// with ten TCPs.
#[test]
fn counts_are_the_papers() {
    let count =
        |scenario: &Scenario, begins: &str| scenario.flows.iter().filter(|flow| flow.name.starts_with(begins)).count();
    for (prefix, spaced, tcps) in [
        ("p2.", 2, 0),
        ("p4.", 4, 0),
        ("p8.", 8, 0),
        ("p16.", 16, 0),
        ("t1.", 1, 1),
        ("t2.", 2, 2),
        ("t4.", 4, 4),
        ("t8.", 8, 8),
        ("t16.", 16, 16),
        ("d2.", 2, 0),
        ("d2t10.", 2, 10),
        ("e2t10.", 2, 10),
    ] {
        for (name, scenario) in scenarios(prefix) {
            assert_eq!((count(&scenario, "psa"), count(&scenario, "tcp")), (spaced, tcps), "{name}");
        }
    }
}

/// Section 3.2.2: "buffers tuned to the bandwidth-delay product", 155 Mb/s times 84 ms = 13.02 Mb = 1085 packets of
/// 1500 B.
#[test]
fn the_window_is_the_bandwidth_delay_product() {
    for (name, scenario) in scenarios("t16.").into_iter().chain(scenarios("d2t10.")) {
        for tcp in scenario.flows.iter().filter(|flow| flow.name.starts_with("tcp")) {
            let options = serde_json::to_value(&*tcp.transport).unwrap();
            assert_eq!((&options["window"], &options["segment"]), (&"1085packets".into(), &"1.5kB".into()), "{name}");
        }
    }
    assert_eq!(1085 * 1500 * 8, 155_000_000 / 1000 * 84);
}

fn run(scenario: &Scenario) -> Summary {
    simulate(scenario).unwrap().summary
}

/// Note 1: thirty frames per second are 33 ms apart, and across a continent a packet that TCP retransmits is 100 ms
/// late, three frames.
#[test]
fn note_1_frames_are_33_ms_apart() {
    let slowest = |loss: &str| {
        let text = format!(
            "duration = \"10s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"155Mbps\"\ndelay = \"42ms\"\n{loss}\
             [[flow]]\nname = \"v\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"tcp-sack\" }}\n\
             source = {{ kind = \"cbr\", interval = \"33333333ns\", payload = \"12kB\", media = \"video\" }}\n"
        );
        let summary = run(&load("note.toml", &text, &[], &NoFiles).unwrap().scenario);
        let frames = summary.flows[0].frames.values().next().unwrap();
        assert_eq!(frames.written_frames, 301, "10 s / 33.3 ms");
        frames.delay_s.as_ref().unwrap().max
    };
    let late = slowest("loss = { kind = \"list\", packets = [1500] }\n") - 0.042;
    assert!(late > 0.084, "{late}");
}

/// Vector `psp.psa.fluid`: at 1000 us sixteen senders send 10.714 Mb/s each, and 155/16 = 9.69 Mb/s each arrive. At
/// 3000 us none is lost.
#[test]
fn sixteen_senders_lose_the_excess_over_the_link_rate() {
    for (spacing, sent, received) in [(1000, 10.714_286, 9.6875), (3000, 3.846_154, 3.846_154)] {
        let (_, mut scenario) = scenarios(&format!("p16.{spacing}")).swap_remove(0);
        (scenario.duration, scenario.measure_from) = (Duration::from_secs(3), Duration::from_secs(1));
        let summary = run(&scenario);
        let outcome = Outcome { scenario: &scenario, summary: &summary, series: None };
        let values = paper().claims().unwrap().metrics.of(&outcome).unwrap();
        let metric = |name: &str| values[name];
        // Clocks are slow by 500 ppm on average, and one packet is 0.06 %.
        for (name, expected) in [("psa_sent_mbps", sent), ("psa_mbps", received)] {
            let found = metric(name);
            assert!((found / expected - 1.0).abs() < 0.002, "{spacing} us, {name}: {found}");
        }
        let loss = metric("psa_loss_pct");
        assert!((loss - 100.0 * (1.0 - received / sent)).abs() < 0.1, "{spacing} us: {loss}");
    }
}
