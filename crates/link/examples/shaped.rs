//! When a link with a shaper has transmitted each of a list of packets, a line each: arrival in ns, bytes. Prints the ns at which the last bit of each packet has
//! left, in order; a packet that is dropped has no line.
//!
//! usage: shaped RATE OVERHEAD SHAPER LIMIT < PACKETS
//!
//! SHAPER is a table in JSON, such as `{"rate": "1Mbps", "burst": "3kB"}`. `validation/token-bucket/run` compares the output with exact sums.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a wrong call panics with a message")]

use headway_engine::{Class, Moment, Places, Ties};
use headway_link::queue::droptail;
use headway_link::{Common, Config, Delivery, Item, Link, Offer, Pool, QueueOptions};
use headway_units::{Dialect, Dscp, Duration, Ecn, Instant, Options, QueueSize};

struct Packet(u32);

impl Item for Packet {
    fn release(&mut self) {}
    fn size(&self) -> u32 {
        self.0
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn dscp(&self) -> Dscp {
        Dscp::CS0
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [rate, overhead, shaper, limit] = &arguments[..] else {
        panic!("usage: shaped RATE OVERHEAD SHAPER LIMIT < PACKETS");
    };
    let delay = Duration::from_millis(1);
    let limit: QueueSize = limit.parse().expect("the size of a queue");
    let config = Config {
        rate: rate.parse().expect("a rate"),
        delay,
        mtu: None,
        overhead: overhead.parse().expect("bytes"),
        queue: QueueOptions::DropTail(droptail::Options { limit, ..droptail::Options::preset(Dialect::Rfc) }),
        loss: None,
        policer: None,
        shaper: Some(serde_json::from_str(shaper).expect("a shaper in JSON")),
        jitter: None,
        reorder: None,
        duplicate: None,
        capacity: None,
        changes: None,
        two_events: false,
        ties: Ties::Drawn,
    };
    let (mut link, mut common) = (Link::new(1, "link", 0), Common::new(&config, 1, "link"));
    let (mut pool, mut places) = (Pool::default(), Places::default());
    for line in std::io::read_to_string(std::io::stdin()).expect("a text").lines() {
        let (at, size) = line.split_once(' ').expect("a time and a size");
        let at = Instant::from_nanos(at.parse().expect("ns"));
        let packet = pool.insert(Packet(size.parse().expect("bytes")));
        let now = Moment::in_class(at, at.as_secs_f64(), Class::Source);
        if let Offer::Dropped(_) = link.offer(&mut common, &mut pool, &mut places, now, packet, 0, |_, _| ()) {
            pool.remove(packet);
        }
    }
    while let Some(arrival) = link.next_arrival() {
        if let Some(Delivery::Arrived(packet)) = link.arrive(&mut common, &mut pool, arrival) {
            pool.remove(packet);
            println!("{}", arrival.at.as_nanos() - delay.as_nanos());
        }
    }
}
