//! Whether packets can get from one node to another at all.

use crate::link::Link;
use std::collections::VecDeque;

/// The most steps that are spent on looking, a second or so. A star needs one search, of a step a link; networks whose
/// flows end at thousands of nodes with several links need as many.
const MOST_STEPS: u64 = 100_000_000;

/// Some packets' way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trip {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// IP bytes of the largest of them.
    pub(crate) size: u64,
}

/// What there is for a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A way of so many links, each with an MTU that lets the packets through.
    Hops(u32),
    /// None.
    None,
    /// The network is so large that looking was given up.
    TooFar,
}

/// The links into each node, in their order.
struct Incoming {
    links: Vec<usize>,
    /// Where those of each node begin among all of them, and the end.
    begins: Vec<usize>,
}

impl Incoming {
    fn new(nodes: usize, links: &[Link]) -> Self {
        let mut begins = vec![0; nodes + 1];
        links.iter().for_each(|link| begins[link.to + 1] += 1);
        (0..nodes).for_each(|node| begins[node + 1] += begins[node]);
        let (mut order, mut next) = (vec![0; links.len()], begins.clone());
        for (number, link) in links.iter().enumerate() {
            order[next[link.to]] = number;
            next[link.to] += 1;
        }
        Self { links: order, begins }
    }

    fn of(&self, node: usize) -> &[usize] {
        &self.links[self.begins[node]..self.begins[node + 1]]
    }
}

/// The least number of links for each trip.
pub(crate) fn ways(nodes: usize, links: &[Link], trips: &[Trip]) -> Vec<Way> {
    let incoming = Incoming::new(nodes, links);
    let mtu = |link: usize| links[link].mtu.map_or(u64::MAX, |mtu| mtu.count());
    // Two sizes between the same two MTUs see the same links: they are told apart by the next MTU.
    let mut mtus: Vec<u64> = (0..links.len()).map(mtu).collect();
    mtus.sort_unstable();
    mtus.dedup();
    let sort = |size: u64| mtus.get(mtus.partition_point(|&mtu| mtu < size)).copied().unwrap_or(u64::MAX);

    // All clients of a star have one way in, from the same node: one search serves them.
    let end = |trip: &Trip| match *incoming.of(trip.to) {
        [only] if mtu(only) >= trip.size => (links[only].from, sort(trip.size), 1),
        _ => (trip.to, sort(trip.size), 0),
    };
    let mut order: Vec<((usize, u64, u32), usize)> = trips.iter().map(end).zip(0..).collect();
    order.sort_unstable();

    let mut ways = vec![Way::None; trips.len()];
    let mut distances = Vec::new();
    let mut searched = None;
    let mut steps = 0;
    for ((end, smallest, more), trip) in order {
        if searched != Some((end, smallest)) {
            steps += (nodes + links.len()) as u64;
            if steps > MOST_STEPS {
                ways[trip] = Way::TooFar;
                continue;
            }
            distances = search(nodes, end, &incoming, |link| (mtu(link) >= smallest).then_some(links[link].from));
            searched = Some((end, smallest));
        }
        ways[trip] = distances[trips[trip].from].map_or(Way::None, |hops: u32| Way::Hops(hops + more));
    }
    ways
}

/// Breadth first from `end`, against the links; `from` is where a link that may be used comes from.
fn search(nodes: usize, end: usize, incoming: &Incoming, from: impl Fn(usize) -> Option<usize>) -> Vec<Option<u32>> {
    let mut distances = vec![None; nodes];
    let mut queue = VecDeque::from([(end, 0)]);
    distances[end] = Some(0);
    while let Some((node, distance)) = queue.pop_front() {
        for from in incoming.of(node).iter().filter_map(|&link| from(link)) {
            if distances[from].is_none() {
                distances[from] = Some(distance + 1);
                queue.push_back((from, distance + 1));
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_link::{Config, QueueOptions};
    use headway_units::{Bytes, Dialect, Duration, Rate, Registry};

    fn link(from: usize, to: usize, mtu: Option<u64>) -> Link {
        let queue = QueueOptions::preset("droptail", Dialect::Rfc).unwrap();
        let config = Config::new(Rate::from_bits_per_second(1), Duration::ZERO, queue);
        let config = Config { mtu: mtu.map(Bytes::new), ..config }.into();
        Link { name: format!("{from}->{to}"), from, to, by_flow: false, config }
    }

    fn way(links: &[Link], from: usize, to: usize, size: u64) -> Way {
        ways(5, links, &[Trip { from, to, size }])[0]
    }

    #[test]
    fn one_way_links_lead_one_way() {
        let links = [link(0, 1, None), link(1, 2, None), link(2, 3, None), link(3, 1, None)];
        assert_eq!(way(&links, 0, 3, 1500), Way::Hops(3));
        assert_eq!(way(&links, 3, 0, 1500), Way::None);
        assert_eq!(way(&links, 0, 4, 1500), Way::None);
    }

    #[test]
    fn large_packets_need_a_way_around_a_small_mtu() {
        let links = [link(0, 1, Some(576)), link(0, 2, None), link(2, 3, Some(1500)), link(3, 1, None)];
        assert_eq!(way(&links, 0, 1, 576), Way::Hops(1));
        assert_eq!(way(&links, 0, 1, 577), Way::Hops(3));
        assert_eq!(way(&links, 0, 1, 1500), Way::Hops(3));
        assert_eq!(way(&links, 0, 1, 1501), Way::None);
    }

    #[test]
    fn many_trips_are_answered_in_their_order() {
        let star: Vec<Link> = (1..5).flat_map(|client| [link(client, 0, None), link(0, client, None)]).collect();
        let trips = [(1, 2), (3, 0), (0, 4), (4, 1)].map(|(from, to)| Trip { from, to, size: 40 });
        assert_eq!(ways(5, &star, &trips), [2, 1, 1, 2].map(Way::Hops));
    }
}
