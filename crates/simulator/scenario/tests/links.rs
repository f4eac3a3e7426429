//! Keys of a `[[link]]` and of its `reverse` direction.

use crate::common::{OneTrace, SMALL, changed};
use headway_link::{EcnRewrite, LossOptions, LossTrace};
use headway_scenario::{Files, Link, Loaded, load};
use headway_units::{Bytes, Probability, Registry};

const POLICED: &str = "\"10ms\"\npolicer = { rate = \"1Mbps\", burst = \"15kB\" }";

#[test]
fn both_directions_have_the_policer() {
    let loaded = changed("\"10ms\"", POLICED).unwrap();
    let policers: Vec<_> = loaded.scenario.links.iter().map(|link| link.policer.unwrap()).collect();
    assert_eq!(policers[0], policers[1]);
    assert_eq!((policers[0].rate.bits_per_second(), policers[0].burst), (1_000_000, Bytes::new(15_000)));
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
}

#[test]
fn errors_of_a_policer_name_their_place() {
    for (from, to, expected) in [
        ("burst", "bursts", "small.toml:8:29: link[0].policer: unknown key \"bursts\"; did you mean \"burst\"?"),
        (", burst = \"15kB\"", "", "link[0].policer: the key \"burst\" is missing; write it like burst = \"15kB\""),
        ("rate = \"1Mbps\", ", "", "link[0].policer: the key \"rate\" is missing; write it like rate = \"1Mbps\""),
        ("\"1Mbps\"", "\"0bps\"", "link[0].policer.rate: a policer of 0bps passes nothing after its first burst"),
        ("\"15kB\"", "\"1kB\"", "link[0].policer.burst: a packet of 1.5kB never passes a burst of 1kB"),
        (
            "\"15kB\" }",
            "\"8kB\" }\nmtu = \"9000B\"",
            "link[0].policer.burst: a packet of 9kB never passes a burst of 8kB",
        ),
        (
            "{ rate = \"1Mbps\", burst = \"15kB\" }",
            "true",
            "link[0].policer: true is not a table: write one with the keys burst, rate",
        ),
    ] {
        let error = changed("\"10ms\"", &POLICED.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
    let small = "\"10ms\"\nmtu = \"1500B\"\npolicer = { rate = \"1Mbps\", burst = \"1500B\" }";
    changed("\"10ms\"", small).unwrap();
}

/// Only the file `losses.txt`, with this text.
struct Losses(&'static str);

impl Files for Losses {
    fn read(&self, path: &str, _: u64) -> std::io::Result<Vec<u8>> {
        if path == "losses.txt" { Ok(self.0.into()) } else { Err(std::io::ErrorKind::NotFound.into()) }
    }
}

fn with_loss(loss: &str, text: &'static str) -> Result<Loaded, String> {
    let scenario = SMALL.replace("\"10ms\"", &format!("\"10ms\"\nloss = {loss}"));
    load("small.toml", &scenario, &[], &Losses(text)).map_err(|error| error.to_string())
}

#[test]
fn loss_bursts_have_two_notations() {
    for (written, key) in [
        ("mean = \"2%\", run = 4", "run = 4"),
        ("mean = 0.02, run = 1.5, place = \"after-transmission\"", "run = 1.5"),
        ("to_bad = \"1%\", to_good = 0.2, loss_bad = 0.5", "loss_bad = 0.5"),
    ] {
        let loaded = with_loss(&format!("{{ kind = \"gilbert-elliott\", {written} }}"), "").unwrap();
        assert!(loaded.resolved_toml.contains(key), "{}", loaded.resolved_toml);
        let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
        assert_eq!(again.scenario, loaded.scenario);
    }
    for (written, expected) in [
        ("mean = 0.02", "small.toml:8:1: link[0].loss.run: mean needs a run"),
        ("mean = 0.9, run = 2", "link[0].loss.run: 2 is too short for a mean of 0.9"),
        ("mean = 0.1, run = 2, to_bad = 0.1", "link[0].loss.to_bad: to_bad conflicts with mean and run"),
        ("mean = 2, run = 4", "link[0].loss.mean: 2 is out of range: 0 or more; a mean below 1"),
        ("p = 0.1", "link[0].loss: unknown key \"p\""),
    ] {
        let error = with_loss(&format!("{{ kind = \"gilbert-elliott\", {written} }}"), "").unwrap_err();
        assert!(error.contains(expected), "{written}:\n{error}");
    }
}

const TRACE: &str = "{ kind = \"trace\", file = \"losses.txt\" }";

#[test]
fn a_loss_trace_is_read_from_a_file() {
    let loaded = with_loss(TRACE, "001\n").unwrap();
    for link in &loaded.scenario.links {
        let Some(LossOptions::Trace(options)) = link.loss.as_ref() else { panic!("{:?}", link.loss) };
        assert_eq!(options.trace.as_deref(), Some(&LossTrace::Packets(vec![false, false, true])));
    }
    assert!(loaded.resolved_toml.contains("file = \"losses.txt\""), "{}", loaded.resolved_toml);
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &Losses("001\n")).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    let steps = with_loss(TRACE, "1,0.25\n").unwrap();
    let Some(LossOptions::Trace(options)) = steps.scenario.links[0].loss.as_ref() else { panic!("another kind") };
    let Some(LossTrace::Steps(steps)) = options.trace.as_deref() else { panic!("{options:?}") };
    assert_eq!(steps[0].1, Probability::new(0.25).unwrap());
}

#[test]
fn errors_of_a_loss_trace_are_reported_once_with_file_and_line() {
    let error = with_loss(TRACE, "001\n0x1\n").unwrap_err();
    let expected = "small.toml:8:33: link[0].loss.file: \"losses.txt\" is not a loss trace: line 2: \"0x1\" is invalid; expected packets, such as 00100, or seconds";
    assert!(error.contains(expected), "{error}");
    assert_eq!(error.matches("link[").count(), 1, "{error}");
    let error = with_loss("{ kind = \"trace\", file = \"other.txt\" }", "").unwrap_err();
    assert!(error.contains("link[0].loss.file: cannot read \"other.txt\": entity not found"), "{error}");
    let error = with_loss("{ kind = \"trace\" }", "").unwrap_err();
    assert!(
        error.contains("link[0].loss: the key \"file\" is missing; write it like file = \"losses.txt\""),
        "{error}"
    );
}

/// Returns the kinds of loss and the rates of the policers (Mb/s) of both directions of a link with these lines.
fn both_directions(lines: &str) -> [(Option<&'static str>, Option<u64>); 2] {
    let loaded = changed("\"10ms\"", &format!("\"10ms\"\n{lines}")).unwrap();
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    assert_eq!(again.resolved_toml, loaded.resolved_toml);
    let [forward, reverse] = &loaded.scenario.links[..] else { panic!("a duplex link") };
    [forward, reverse].map(|link| {
        let rate = link.policer.map(|policer| policer.rate.bits_per_second() / 1_000_000);
        (link.loss.as_ref().map(Registry::kind), rate)
    })
}

#[test]
fn each_direction_can_have_its_own_loss_and_policer() {
    const LOSS: &str = "loss = { kind = \"bernoulli\", probability = 0.1 }";
    const OTHER: &str = "loss = { kind = \"gilbert-elliott\", mean = 0.1, run = 2 }";
    const POLICER: &str = "policer = { rate = \"1Mbps\", burst = \"15kB\" }";
    let (random, runs) = (Some("bernoulli"), Some("gilbert-elliott"));
    for (lines, expected) in [
        (LOSS.to_owned(), [(random, None), (random, None)]),
        (format!("{LOSS}\nreverse = {{ loss = false }}"), [(random, None), (None, None)]),
        (format!("reverse = {{ {LOSS} }}"), [(None, None), (random, None)]),
        (format!("{LOSS}\nreverse = {{ {OTHER} }}"), [(random, None), (runs, None)]),
        (format!("{POLICER}\nreverse = {{ policer = false }}"), [(None, Some(1)), (None, None)]),
        (format!("{LOSS}\n{POLICER}\nreverse = {{ loss = false }}"), [(random, Some(1)), (None, Some(1))]),
        (
            format!("{POLICER}\nreverse = {{ policer = {{ rate = \"2Mbps\", burst = \"15kB\" }} }}"),
            [(None, Some(1)), (None, Some(2))],
        ),
        (format!("{LOSS}\nreverse = {{}}"), [(random, None), (random, None)]),
    ] {
        assert_eq!(both_directions(&lines), expected, "{lines}");
    }
}

#[test]
fn each_direction_can_have_its_own_rate_delay_and_queue() {
    const CHANGES: &str = "changes = [{ at = \"1s\", rate = \"1Mbps\" }]";
    let all = "mtu = \"1500B\"\noverhead = \"38B\"";
    let reverse = "reverse = { rate = \"50Mbps\", delay = \"2ms\", queue = { kind = \"codel\" }, overhead = \"0B\" }";
    let loaded = changed("\"10ms\"", &format!("\"10ms\"\n{all}\n{CHANGES}\n{reverse}")).unwrap();
    let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
    assert_eq!((&again.scenario, &again.resolved_toml), (&loaded.scenario, &loaded.resolved_toml));
    let [forward, reverse] = &loaded.scenario.links[..] else { panic!("a duplex link") };
    let of =
        |link: &Link| (link.rate.bits_per_second(), link.delay.as_nanos(), link.queue.kind(), link.overhead.count());
    assert_eq!(of(forward), (2_000_000, 10_000_000, "droptail", 38));
    assert_eq!(of(reverse), (50_000_000, 2_000_000, "codel", 0));
    assert_eq!((forward.mtu, reverse.mtu.map(Bytes::count)), (reverse.mtu, Some(1500)));
    // A direction with its own rate does not inherit the changes of the link.
    assert!(forward.changes.is_some() && reverse.changes.is_none());
    let equal = changed("\"10ms\"", &format!("\"10ms\"\n{CHANGES}\nreverse = {{ mtu = \"9kB\" }}")).unwrap();
    assert!(equal.scenario.links.iter().all(|link| link.changes.is_some()));
}

#[test]
fn errors_of_the_reverse_direction_name_their_place() {
    for (lines, expected) in [
        (
            "one_way = true\nreverse = { loss = false }",
            "link[0].reverse: a link with one_way = true has no reverse direction",
        ),
        ("reverse = { los = false }", "link[0].reverse: unknown key \"los\"; did you mean \"loss\"?"),
        ("reverse = { loss = true }", "link[0].reverse.loss: true is not a table: the loss is a table"),
        (
            "reverse = { loss = { kind = \"bernouli\" } }",
            "link[0].reverse.loss.kind: unknown loss \"bernouli\"; did you mean",
        ),
        (
            "reverse = { policer = { rate = \"1Mbps\", burst = \"1B\" } }",
            "link[0].reverse.policer.burst: a packet of 1.5kB",
        ),
        (
            "reverse = { loss = { kind = \"trace\", file = \"x\" } }",
            "link[0].reverse.loss.file: \"x\" is not a loss trace: line 1",
        ),
        (
            "reverse = true",
            "link[0].reverse: true is not a table: write one with the keys capacity, changes, delay, duplicate, ecn, jitter, loss, mtu, overhead, policer, queue, rate, reorder, shaper",
        ),
        // The error named neither the value nor what is allowed.
        ("reverse = { changes = false }", "link[0].reverse.changes: false is not an array: write [] for none"),
        ("changes = false", "link[0].changes: false is not an array: write [] for none"),
        ("policer = true", "link[0].policer: true is not a table: write one with the keys burst, rate"),
        ("reverse = { rate = \"0bps\" }", "link[0].reverse.rate: a link of 0bps transmits nothing"),
        (
            "reverse = { capacity = \"x\", rate = \"1Mbps\" }",
            "link[0].reverse.rate: capacity already determines the rate: leave one of the two out",
        ),
        (
            "reverse = { rate = \"9Gbps\", delay = \"0s\" }",
            "link[0].reverse.delay: a link with a delay of 0s transmits at 8Gbps at most",
        ),
        (
            "policer = { rate = \"1Mbps\", burst = \"15kB\" }\nmtu = \"1500B\"\nreverse = { mtu = \"20kB\" }",
            "link[0].reverse.mtu: the policer of the link does not allow this mtu: burst: a packet of 20kB",
        ),
    ] {
        let error = changed("\"10ms\"", &format!("\"10ms\"\n{lines}")).unwrap_err();
        assert!(error.contains(expected), "{lines}:\n{error}");
    }
    let error = changed("{ kind = \"droptail\", limit = \"20packets\" }", "false").unwrap_err();
    assert!(error.contains("link[0].queue: false is not a table: the queue is a table, such as"), "{error}");
}

/// Traces with an opportunity of 1504 B every 1 ms or 2 ms.
struct TwoTraces;

impl Files for TwoTraces {
    fn read(&self, path: &str, _: u64) -> std::io::Result<Vec<u8>> {
        match path {
            "down" => Ok(b"1\n".to_vec()),
            "up" => Ok(b"2\n".to_vec()),
            "still" => Ok(b"0\n0\n".to_vec()),
            _ => Ok(b"no\n".to_vec()),
        }
    }
}

#[test]
fn each_direction_can_have_its_own_capacity() {
    let with = |keys: &str| load("c.toml", &SMALL.replace("rate = \"2Mbps\"", keys), &[], &TwoTraces);
    let rates =
        |loaded: &Loaded| loaded.scenario.links.iter().map(|link| link.rate.bits_per_second()).collect::<Vec<_>>();
    let both = with("capacity = \"down\"").unwrap();
    assert_eq!(rates(&both), [12_032_000; 2]);
    let apart = with("capacity = \"down\"\nreverse = { capacity = \"up\" }").unwrap();
    assert_eq!(rates(&apart), [12_032_000, 6_016_000]);
    assert!(apart.scenario.links.iter().all(|link| link.capacity.is_some()));
    assert_eq!(load("r.toml", &apart.resolved_toml, &[], &TwoTraces).unwrap().scenario, apart.scenario);
    // Only the reverse direction has a trace.
    let back = with("rate = \"2Mbps\"\nreverse = { capacity = \"up\" }").unwrap();
    assert_eq!(rates(&back), [2_000_000, 6_016_000]);
    // mm-link counts the 4 B of the TUN header; only directions with a trace do so.
    let overheads =
        |loaded: &Loaded| loaded.scenario.links.iter().map(|link| link.overhead.count()).collect::<Vec<_>>();
    assert_eq!((overheads(&both), overheads(&back)), (vec![4, 4], vec![0, 4]));
    assert_eq!(overheads(&with("capacity = \"down\"\noverhead = \"0B\"").unwrap()), [0, 0]);
    assert_eq!(load("r.toml", &back.resolved_toml, &[], &TwoTraces).unwrap().scenario, back.scenario);
    for (keys, why) in [
        ("rate = \"2Mbps\"\ncapacity = \"down\"", "leave one of the two out"),
        ("capacity = \"still\"", "\"still\" is not a capacity trace: the last line is 0"),
        ("capacity = \"other\"", "\"other\" is not a capacity trace: line 1: \"no\" is not a time"),
    ] {
        let error = with(keys).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn each_direction_can_have_its_own_changes() {
    let with = |keys: &str| changed("rate = \"2Mbps\"", &format!("rate = \"2Mbps\"\n{keys}"));
    let changes = |loaded: &Loaded| {
        let count = |link: &Link| link.changes.as_ref().map_or(0, |changes| changes.as_slice().len());
        loaded.scenario.links.iter().map(count).collect::<Vec<_>>()
    };
    let outage = "changes = [{ at = \"1s\", rate = \"0bps\" }, { at = \"2s\", rate = \"1Mbps\", delay = \"5ms\" }]";
    let both = with(outage).unwrap();
    assert_eq!(changes(&both), [2, 2]);
    let again = load("again.toml", &both.resolved_toml, &[], &OneTrace).unwrap();
    assert_eq!(again.scenario.links, both.scenario.links);
    assert_eq!(changes(&with(&format!("{outage}\nreverse = {{ changes = [] }}")).unwrap()), [2, 0]);
    assert_eq!(changes(&with("reverse = { changes = [{ at = \"1s\", rate = \"1Mbps\" }] }").unwrap()), [0, 1]);
    for (keys, why) in [
        (
            "changes = [{ at = \"2s\", rate = \"1Mbps\" }, { at = \"1s\", rate = \"2Mbps\" }]",
            "small.toml:7:43: link[0].changes[1]: each change must be later than the previous one; 1s is not later than 2s",
        ),
        ("changes = [{ at = \"2s\" }]", "link[0].changes[0]: a change without rate and delay"),
        ("changes = [{ at = \"2s\", rate = \"0bps\" }]", "link[0].changes[0]: the last rate is 0bps"),
        ("changes = [{ at = \"2s\", delay = \"2000000s\" }]", "link[0].changes[0].delay: expected a delay of at most"),
        (
            "changes = [{ at = \"2s\", rate = \"9Gbps\", delay = \"0s\" }]",
            "link[0].changes[0]: a link with a delay of 0s transmits at",
        ),
        ("changes = [{ at = \"2s\", speed = \"9Gbps\" }]", "speed"),
        (
            "reverse = { changes = [{ at = \"2s\", rate = \"0bps\" }] }",
            "link[0].reverse.changes[0]: the last rate is 0bps",
        ),
    ] {
        let error = with(keys).unwrap_err();
        assert!(error.contains(why), "{keys}:\n{error}");
    }
}

const IMPAIRED: &str = r#""10ms"
shaper = { rate = "1Mbps", burst = "15kB" }
jitter = { kind = "normal", mean = "3ms", deviation = "1ms", correlation = 0.25 }
reorder = { kind = "held-back", probability = "1%", by = "5ms" }
duplicate = { probability = "2%" }
ecn = "bleach""#;

/// `reverse` inherits absent keys, and the resolved scenario is equal.
#[test]
fn both_directions_have_jitter_reordering_and_duplication() {
    let links = |more: &str| {
        let loaded = changed("\"10ms\"", &format!("{IMPAIRED}\n{more}")).unwrap();
        let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
        assert_eq!(again.scenario, loaded.scenario);
        loaded.scenario.links
    };
    let links_of = links("");
    let of = |link: &Link| (link.shaper.clone(), link.jitter.clone(), link.reorder.clone(), link.duplicate, link.ecn);
    assert_eq!(of(&links_of[0]), of(&links_of[1]));
    assert!(links_of[0].shaper.is_some() && links_of[0].duplicate.is_some() && links_of[0].reorder.is_some());
    assert_eq!(links_of[0].ecn, Some(EcnRewrite::Bleach));
    let none = links("reverse = { shaper = false, jitter = false, reorder = false, duplicate = false, ecn = false }");
    assert_eq!((of(&none[0]), of(&none[1])), (of(&links_of[0]), (None, None, None, None, None)));
    let other = links("reverse = { jitter = { kind = \"uniform\", most = \"4ms\" }, duplicate = { probability = 1 } }");
    assert_eq!(other[1].shaper, other[0].shaper);
    assert!(other[1].jitter != other[0].jitter && other[1].duplicate != other[0].duplicate);
}

/// RED's `mark_limit` allows the 2.0 of ns-2; the limit of netem is in packets.
#[test]
fn limits_of_marks_and_of_packets_in_flight() {
    let queue = |keys: &str| changed("kind = \"droptail\", limit = \"20packets\"", keys);
    for right in ["2", "2.0", "\"10%\"", "0.1", "false", "100"] {
        let loaded = queue(&format!("kind = \"red\", ecn = true, mark_limit = {right}")).unwrap();
        let again = load("resolved.toml", &loaded.resolved_toml, &[], &OneTrace).unwrap();
        assert_eq!(again.scenario, loaded.scenario, "{right}");
    }
    for (keys, expected) in [
        ("kind = \"red\", mark_limit = 101", "queue.mark_limit: 101 is out of range: from 0 to 100"),
        ("kind = \"red\", mark_limit = -1", "queue.mark_limit: -1 is out of range: from 0 to 100"),
        ("kind = \"red\", mark_limit = \"two\"", "or a number above 1 such as 2 to mark always"),
        ("kind = \"red\", automatic_bottom = \"ns3\"", "queue.automatic_bottom"),
        (
            "kind = \"droptail\", counts = \"in-flight\", limit = \"9kB\"",
            "queue.limit: counts packets with counts = \"in-flight\"",
        ),
        ("kind = \"droptail\", counts = \"in-flight\", drop = \"front\"", "which drops the arriving packet"),
    ] {
        let error = queue(keys).unwrap_err();
        assert!(error.contains(expected), "{keys}:\n{error}");
    }
}

#[test]
fn errors_of_jitter_reordering_and_duplication_name_their_place() {
    for (from, to, expected) in [
        ("\"15kB\"", "\"1kB\"", "link[0].shaper.burst: a packet of 1.5kB never passes a burst of 1kB"),
        ("\"1Mbps\"", "\"0bps\"", "link[0].shaper.rate: a shaper of 0bps passes nothing after its first burst"),
        (
            "burst = \"15kB\"",
            "burst = \"15kB\", changes = [{ at = \"2s\", rate = \"1Mbps\" }, { at = \"1s\", rate = \"2Mbps\" }]",
            "link[0].shaper.changes: change 1: each change must be later than the previous one; 1s is not later than 2s",
        ),
        (
            "burst = \"15kB\"",
            "burst = \"15kB\", changes = [{ at = \"2s\", burst = \"1kB\" }]",
            "link[0].shaper.changes",
        ),
        ("\"normal\"", "\"weibull\"", "link[0].jitter.kind: unknown jitter \"weibull\""),
        (
            "deviation = \"1ms\", ",
            "",
            "link[0].jitter: the key \"deviation\" is missing; write it like deviation = \"10ms\"",
        ),
        ("= 0.25", "= 1", "link[0].jitter.correlation: 1 is out of range"),
        ("by = \"5ms\"", "gap = 0, by = \"5ms\"", "link[0].reorder.gap: 0 is out of range"),
        (", by = \"5ms\"", "", "link[0].reorder: the key \"by\" is missing"),
        ("probability = \"2%\"", "", "link[0].duplicate: the key \"probability\" is missing"),
        ("\"2%\" }", "\"2%\" }\nevents = \"one\"", "link[0].events: reordered packets need two events"),
        ("\"bleach\"", "\"bleached\"", "link[0].ecn: "),
        ("\"2%\" }", "\"2%\", gap = 2 }", "link[0].duplicate: unknown key \"gap\""),
    ] {
        let error = changed("\"10ms\"", &IMPAIRED.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{from} -> {to}:\n{error}");
    }
    // Jitter that keeps order, duplication and a shaper need only one event.
    let ordered = IMPAIRED.lines().filter(|line| !line.starts_with("reorder")).collect::<Vec<_>>().join("\n");
    changed("\"10ms\"", &format!("{ordered}\nevents = \"one\"")).unwrap();
}
