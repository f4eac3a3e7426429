//! What a queue makes of a list of arrivals, a line each: instant in ns, flow, bytes. Prints `NS - NUMBER` for each packet whose transmission begins and `NS d NUMBER` for
//! each that is dropped, in their order; packets are numbered from 0.
//!
//! usage: departures KIND DIALECT OPTIONS RATE < ARRIVALS
//!
//! OPTIONS is a table in JSON, laid over the preset of the dialect, such as `{"limit": "100packets"}`. `validation/ns3/run` sets it beside ns-3.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "whoever calls it wrongly is told so by a panic")]

use headway_link::{Common, Config, Decision, Delivery, Item, Link, Offer, Pool, QueueOptions};
use headway_units::{Bytes, Dscp, Duration, Ecn, History, Instant, Moment, Registry, SchemaRegistry, Ties};

struct Packet {
    number: usize,
    flow: u64,
    size: u32,
}

impl Item for Packet {
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn dscp(&self) -> Dscp {
        Dscp::CS0
    }
    fn flow(&self) -> u64 {
        self.flow
    }
}

fn options(kind: &str, dialect: &str, changes: &str) -> QueueOptions {
    let preset = QueueOptions::preset(kind, dialect.parse().expect("a dialect")).expect("a kind of queue");
    let mut options = serde_json::to_value(preset).unwrap();
    let table = options.as_object_mut().unwrap();
    table.remove("kind");
    let changes: serde_json::Map<_, _> = serde_json::from_str(changes).expect("options in JSON");
    table.extend(changes);
    let options = QueueOptions::deserialize(kind, options).expect("options of this kind");
    options.check().expect("options in their ranges");
    options
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [kind, dialect, changes, rate] = &arguments[..] else {
        panic!("usage: departures KIND DIALECT OPTIONS RATE < ARRIVALS");
    };
    let config = Config {
        rate: rate.parse().expect("a rate"),
        delay: Duration::from_millis(1),
        mtu: None,
        overhead: Bytes::new(0),
        queue: options(kind, dialect, changes),
        loss: None,
        policer: None,
        shaper: None,
        jitter: None,
        reorder: None,
        duplicate: None,
        capacity: None,
        changes: None,
        two_events: true,
        ties: Ties::Drawn,
    };
    let (mut link, mut common) = (Link::new(1, "link", 0), Common::new(&config, 1, "link"));
    let (mut pool, mut history) = (Pool::default(), History::default());
    let arrivals = std::io::read_to_string(std::io::stdin()).expect("a text");
    let arrivals: Vec<[u64; 3]> = arrivals
        .lines()
        .map(|line| {
            let mut fields = line.split_whitespace().map(|field| field.parse().expect("a number"));
            std::array::from_fn(|_| fields.next().expect("three numbers"))
        })
        .collect();
    let mut arrivals = arrivals.iter().enumerate().peekable();
    loop {
        // Before what else happens at that instant.
        let offer = arrivals.peek().map(|(_, [at, ..])| Moment::before_all(Instant::from_nanos(*at)));
        let (departure, arrival) = (link.next_departure(&common), link.next_arrival());
        let Some(now) = [offer, departure, arrival].into_iter().flatten().min() else { break };
        let mut began = None;
        if arrival == Some(now) {
            if let Some(Delivery::Arrived(packet)) = link.arrive(&mut common, &mut pool, now) {
                pool.remove(packet);
            }
            continue;
        }
        if offer == Some(now) {
            let (number, [_, flow, size]) = arrivals.next().expect("it was there");
            let packet = pool.insert(Packet { number, flow: *flow, size: *size as u32 });
            let told = |_: &Pool<_>, begun| began = Some(begun);
            match link.offer(&mut common, &mut pool, &mut history, now, packet, 0, told) {
                Offer::Accepted | Offer::Decided => {}
                Offer::Dropped(_) => {
                    println!("{} d {number}", now.at.as_nanos());
                    pool.remove(packet);
                }
                other => panic!("{other:?}: this queue does not hold what waits"),
            }
        } else {
            link.depart(&mut common, &mut pool, &mut history, |_, begun| began = Some(begun));
        }
        while let Some(decision) = common.poll_decision() {
            if let Decision::Dropped { packet, .. } = decision {
                println!("{} d {}", now.at.as_nanos(), pool.get(packet).number);
                pool.remove(packet);
            }
        }
        if let Some(begun) = began {
            println!("{} - {}", begun.start.as_nanos(), pool.get(begun.packet).number);
        }
    }
}
