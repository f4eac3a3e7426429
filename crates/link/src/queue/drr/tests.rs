use super::*;
use crate::queue::testing::Packet;
use headway_units::{DropCause, Ecn, Options as _};

fn dscp(name: &str) -> Dscp {
    name.parse().unwrap()
}

struct Run {
    queue: Drr,
    pool: Pool<Packet>,
}

impl Run {
    /// EF with a quantum of 500 B, AF41 and AF42 with 1000 B, the rest with 2000 B.
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

    fn come(&mut self, name: &str, size: u32) {
        let packet = self.pool.insert(Packet { dscp: dscp(name), ..Packet::of(size) });
        self.queue.hold(Instant::ZERO, packet, &mut self.pool, &mut VecDeque::new());
    }

    fn leave(&mut self) -> Option<(String, u32)> {
        let packet = self.queue.dequeue(Instant::ZERO, &mut self.pool, &mut VecDeque::new())?;
        let Packet { dscp, size, .. } = *self.pool.get(packet);
        Some((dscp.to_string(), size))
    }

    fn leaves(&mut self, packets: usize) -> Vec<(String, u32)> {
        std::iter::from_fn(|| self.leave()).take(packets).collect()
    }
}

/// Worked by hand: EF saves for two rounds before its 1000 B go; AF sends two of 500 B a round; the rest sends one of 1500 B and keeps 500 B.
#[test]
fn deficits_are_carried_from_round_to_round() {
    let mut run = Run::new();
    run.come("ef", 1000);
    run.come("ef", 1000);
    for _ in 0..4 {
        run.come("af41", 500);
        run.come("cs0", 1500);
    }
    let expected = [
        // EF 500.
        ("af41", 500),
        ("af41", 500),
        ("cs0", 1500),
        // EF 1000, the rest 2500.
        ("ef", 1000),
        ("af41", 500),
        ("af41", 500),
        ("cs0", 1500),
        // EF 500, the rest 3000.
        ("cs0", 1500),
        ("cs0", 1500),
        ("ef", 1000),
    ];
    assert_eq!(run.leaves(20), expected.map(|(name, size)| (name.to_owned(), size)));
    // Who has nothing to send saves nothing.
    assert_eq!((run.queue.deficits.clone(), run.queue.waiting()), (vec![0; 3], (0, 0)));
}

/// Classes share as their quanta are, whatever the sizes of their packets.
#[test]
fn shares_are_those_of_the_quanta() {
    let mut run = Run::new();
    let mut bytes = std::collections::BTreeMap::new();
    let sizes = [("ef", 137), ("af41", 1500), ("af42", 700), ("cs0", 1250)];
    sizes.iter().for_each(|(name, size)| (0..9000).for_each(|_| run.come(name, *size)));
    while bytes.values().sum::<u32>() < 1_000_000 {
        let (name, size) = run.leave().unwrap();
        *bytes.entry(if name == "af42" { "af41".to_owned() } else { name }).or_default() += size;
    }
    for (name, part) in [("ef", 1.0 / 7.0), ("af41", 2.0 / 7.0), ("cs0", 4.0 / 7.0)] {
        let found = f64::from(bytes[name]) / 1e6;
        assert!((found - part).abs() < 0.005, "{name}: {found}");
    }
}

/// Each class has a limit of its own.
#[test]
fn a_full_class_drops_its_own() {
    let mut run = Run::new();
    run.queue = Drr::new(&Options {
        limit: QueueSize::Packets(2),
        classes: vec![Class { dscp: vec![dscp("ef")], quantum: None, limit: Some(QueueSize::Bytes(Bytes::new(300))) }],
        ..Options::preset(Dialect::Rfc)
    });
    let admits = |run: &mut Run, name, size| {
        // What waits in all is not the class's.
        let backlog = Backlog { packets: 99, bytes: 99_999, idle: false, idle_s: 0.0 };
        let arrival = Arrival { size: Bytes::new(u64::from(size)), ecn: Ecn::Ect0, dscp: dscp(name) };
        let verdict = run.queue.admit(Instant::ZERO, &backlog, arrival, &mut Random::new(1, ""));
        if verdict == Verdict::Admit {
            run.come(name, size);
        } else {
            assert_eq!(verdict, Verdict::Drop(DropCause::QueueFull));
        }
        verdict == Verdict::Admit
    };
    assert_eq!([200, 101, 100, 1].map(|size| admits(&mut run, "ef", size)), [true, false, true, false]);
    assert_eq!(["cs0", "af11", "cs7"].map(|name| admits(&mut run, name, 1500)), [true, true, false]);
}

#[test]
fn impossible_options_are_named() {
    let class = Class { dscp: vec![dscp("ef")], quantum: None, limit: None };
    let wrong = |change: &dyn Fn(&mut Options)| {
        let mut options = Options { classes: vec![class.clone()], ..Options::preset(Dialect::Rfc) };
        change(&mut options);
        let error = options.check().unwrap_err();
        (error.key, error.tables)
    };
    assert_eq!(wrong(&|options| options.limit = QueueSize::Packets(0)), ("limit", vec![]));
    assert_eq!(wrong(&|options| options.quantum = Bytes::new(63)), ("quantum", vec![]));
    assert_eq!(wrong(&|options| options.classes[0].quantum = Some(Bytes::new(63))), ("quantum", vec!["classes"]));
    assert_eq!(wrong(&|options| options.classes[0].limit = Some(QueueSize::Packets(0))), ("limit", vec!["classes"]));
    assert_eq!(wrong(&|options| options.classes[0].dscp = vec![]), ("classes", vec![]));
    assert_eq!(wrong(&|options| options.classes.push(class.clone())), ("classes", vec![]));
}
