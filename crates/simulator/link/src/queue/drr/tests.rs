use super::*;
use crate::queue::testing::{Packet, check_bounds};
use headway_units::{DropCause, Ecn, Options as _};

fn dscp(name: &str) -> Dscp {
    name.parse().unwrap()
}

struct Run {
    queue: Drr,
    pool: Pool<Packet>,
}

impl Run {
    /// EF has a quantum of 500 B, AF41 and AF42 1000 B, other packets 2000 B.
    fn new() -> Self {
        let class = |names: &[&str], quantum: u64| Class {
            dscp: names.iter().map(|name| dscp(name)).collect(),
            quantum: Some(Bytes::new(quantum)),
            limit: None,
        };
        let options = Options {
            limit: QueueSize::Packets(10_000),
            quantum: Bytes::new(2000),
            classes: vec![class(&["ef"], 500), class(&["af41", "af42"], 1000)],
        };
        options.check().unwrap();
        Self { queue: Drr::new(&options), pool: Pool::default() }
    }

    fn arrive(&mut self, name: &str, size: u32) {
        let packet = self.pool.insert(Packet { dscp: dscp(name), ..Packet::of(size) });
        self.queue.enqueue(Instant::ZERO, packet, &mut self.pool, &mut VecDeque::new());
    }

    fn depart(&mut self) -> Option<(String, u32)> {
        let packet = self.queue.dequeue(Instant::ZERO, &mut self.pool, &mut VecDeque::new())?;
        let Packet { dscp, size, .. } = *self.pool.get(packet);
        Some((dscp.to_string(), size))
    }

    fn departures(&mut self, packets: usize) -> Vec<(String, u32)> {
        std::iter::from_fn(|| self.depart()).take(packets).collect()
    }
}

/// Computed by hand: EF saves for two rounds before its 1000 B depart; AF sends two of 500 B per round; other packets
/// one of 1500 B, which leaves 500 B.
#[test]
fn deficits_are_carried_from_round_to_round() {
    let mut run = Run::new();
    run.arrive("ef", 1000);
    run.arrive("ef", 1000);
    for _ in 0..4 {
        run.arrive("af41", 500);
        run.arrive("cs0", 1500);
    }
    let expected = [
        // EF 500.
        ("af41", 500),
        ("af41", 500),
        ("cs0", 1500),
        // EF 1000, the others 2500.
        ("ef", 1000),
        ("af41", 500),
        ("af41", 500),
        ("cs0", 1500),
        // EF 500, the others 3000.
        ("cs0", 1500),
        ("cs0", 1500),
        ("ef", 1000),
    ];
    assert_eq!(run.departures(20), expected.map(|(name, size)| (name.to_owned(), size)));
    // An empty class saves nothing.
    assert_eq!((run.queue.deficits.clone(), run.queue.waiting()), (vec![0; 3], (0, 0)));
}

#[test]
fn shares_are_those_of_the_quanta() {
    let mut run = Run::new();
    let mut bytes = std::collections::BTreeMap::new();
    let sizes = [("ef", 137), ("af41", 1500), ("af42", 700), ("cs0", 1250)];
    sizes.iter().for_each(|(name, size)| (0..9000).for_each(|_| run.arrive(name, *size)));
    while bytes.values().sum::<u32>() < 1_000_000 {
        let (name, size) = run.depart().unwrap();
        *bytes.entry(if name == "af42" { "af41".to_owned() } else { name }).or_default() += size;
    }
    for (name, part) in [("ef", 1.0 / 7.0), ("af41", 2.0 / 7.0), ("cs0", 4.0 / 7.0)] {
        let found = f64::from(bytes[name]) / 1e6;
        assert!((found - part).abs() < 0.005, "{name}: {found}");
    }
}

#[test]
fn a_full_class_drops_its_own() {
    let mut run = Run::new();
    run.queue = Drr::new(&Options {
        limit: QueueSize::Packets(2),
        classes: vec![Class { dscp: vec![dscp("ef")], quantum: None, limit: Some(QueueSize::Bytes(Bytes::new(300))) }],
        ..Options::preset(Dialect::Rfc)
    });
    let admits = |run: &mut Run, name, size| {
        // Packets of other classes do not count.
        let backlog = Backlog { packets: 99, bytes: 99_999, idle: false, idle_s: 0.0 };
        let arrival = Arrival { size: Bytes::new(u64::from(size)), ecn: Ecn::Ect0, dscp: dscp(name) };
        let verdict = run.queue.admit(Instant::ZERO, &backlog, arrival, &mut Random::new(1, ""));
        if verdict == Verdict::Admit {
            run.arrive(name, size);
        } else {
            assert_eq!(verdict, Verdict::Drop(DropCause::QueueFull));
        }
        verdict == Verdict::Admit
    };
    assert_eq!([200, 101, 100, 1].map(|size| admits(&mut run, "ef", size)), [true, false, true, false]);
    assert_eq!(["cs0", "af11", "cs7"].map(|name| admits(&mut run, name, 1500)), [true, true, false]);
}

fn class_of(dscp: &[Dscp], quantum: Option<u64>, limit: Option<u64>) -> Class {
    Class { dscp: dscp.to_vec(), quantum: quantum.map(Bytes::new), limit: limit.map(QueueSize::Packets) }
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    check_bounds::<Options>(
        &[
            |options| options.limit = QueueSize::Packets(1),
            |options| options.quantum = Bytes::new(64),
            |options| options.quantum = Bytes::new(1_000_000_000),
            |options| options.classes = vec![class_of(&[dscp("ef")], Some(64), Some(1))],
            |options| options.classes = vec![class_of(&[dscp("ef")], Some(1_000_000_000), None)],
            |options| options.classes = ["ef", "af41"].map(|name| class_of(&[dscp(name)], None, None)).to_vec(),
        ],
        &[
            ("limit", |options| options.limit = QueueSize::Packets(0)),
            ("quantum", |options| options.quantum = Bytes::new(63)),
            ("quantum", |options| options.quantum = Bytes::new(1_000_000_001)),
            ("quantum", |options| options.classes = vec![class_of(&[dscp("ef")], Some(63), None)]),
            ("quantum", |options| options.classes = vec![class_of(&[dscp("ef")], Some(1_000_000_001), None)]),
            ("limit", |options| options.classes = vec![class_of(&[dscp("ef")], None, Some(0))]),
            ("classes", |options| options.classes = vec![class_of(&[], None, None)]),
            ("classes", |options| {
                options.classes = ["ef", "ef"].map(|name| class_of(&[dscp(name)], None, None)).to_vec();
            }),
        ],
    );
}

#[test]
fn an_error_in_a_class_names_its_table() {
    let tables = |quantum, of_class| {
        let classes = vec![class_of(&[dscp("ef")], Some(of_class), None)];
        Options { quantum: Bytes::new(quantum), classes, ..Options::preset(Dialect::Rfc) }.check().unwrap_err().tables
    };
    assert_eq!((tables(63, 64), tables(64, 63)), (vec![], vec!["classes"]));
}
