//! Prints the ends of transmission of packets on a link with a shaper. Each input line has the arrival in ns and the
//! bytes of a packet. Each output line is the time in ns of the last bit of a packet, in order, without dropped
//! packets.
//!
//! usage: shaped RATE OVERHEAD SHAPER LIMIT < PACKETS
//!
//! SHAPER is a JSON object, such as `{"rate": "1Mbps", "burst": "3kB"}`. `validation/token-bucket/run` compares the
//! output with exact sums.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a wrong call panics with a message")]

use headway_engine::{Class, Moment, Ties};
use headway_link::queue::droptail;
use headway_link::{Config, DroppedPacket, Handle, Handler, Item, Ports, QueueOptions};
use headway_record::Measured;
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
    fn set_ecn(&mut self, _: Ecn) {}
    fn dscp(&self) -> Dscp {
        Dscp::CS0
    }
}

/// A handler that ignores everything: only arrivals are printed.
struct Nothing;

impl Handler<Packet> for Nothing {
    fn duplicate(&mut self, _: Instant, _: usize, _: &Packet, _: usize) -> Option<Packet> {
        None
    }
    fn marked(&mut self, _: Instant, _: usize, _: Handle, _: &mut Packet) {}
    fn dropped(&mut self, _: DroppedPacket<'_, Packet>) {}
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [rate, overhead, shaper, limit] = &arguments[..] else {
        panic!("usage: shaped RATE OVERHEAD SHAPER LIMIT < PACKETS");
    };
    let delay = Duration::from_millis(1);
    let limit: QueueSize = limit.parse().expect("the size of a queue");
    let queue = QueueOptions::DropTail(droptail::Options { limit, ..droptail::Options::preset(Dialect::Rfc) });
    let config = Config {
        overhead: overhead.parse().expect("bytes"),
        shaper: Some(serde_json::from_str(shaper).expect("a shaper in JSON")),
        ..Config::new(rate.parse().expect("a rate"), delay, queue)
    };
    let measured = Measured::between(Instant::ZERO, Instant::FAR_FUTURE);
    let mut link = Ports::new(Ties::Drawn, &measured, Nothing);
    link.add(&config.into(), 1, "link", false);
    let mut offered: Vec<_> = std::io::read_to_string(std::io::stdin()).expect("a text").lines().map(packet).collect();
    offered.reverse();
    loop {
        let at = offered.last().map(|(at, _)| Moment::in_class(*at, at.as_secs_f64(), Class::Source));
        if let Some((at, _, packet)) = link.next_arrival(at.unwrap_or(Moment::after_all(Instant::FAR_FUTURE))) {
            link.packets.remove(packet);
            println!("{}", at.at.as_nanos() - delay.as_nanos());
        } else if let (Some(at), Some((_, packet))) = (at, offered.pop()) {
            let packet = link.packets.insert(packet);
            link.offer(at, 0, packet);
        } else {
            return;
        }
    }
}

fn packet(line: &str) -> (Instant, Packet) {
    let (at, size) = line.split_once(' ').expect("a time and a size");
    (Instant::from_nanos(at.parse().expect("ns")), Packet(size.parse().expect("bytes")))
}
