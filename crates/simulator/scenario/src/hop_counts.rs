//! Number of links on the shortest path of each route, by a breadth-first search.

use crate::link::Link;
use std::collections::VecDeque;

/// Maximum number of search steps, about a second. A search takes a step per node and link. A star needs one search; a
/// network whose flows end at thousands of nodes with several links needs thousands.
const MAX_STEPS: u64 = 100_000_000;

/// Ends of a path and the size of its largest packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// IP bytes of the largest packet.
    pub(crate) size: u64,
}

/// Result of the search for a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopCount {
    /// Number of links on the shortest path with a large enough MTU.
    Hops(u32),
    /// No path has a large enough MTU.
    Unreachable,
    /// The search exceeded [`MAX_STEPS`].
    Unknown,
}

/// Incoming links of each node, in order.
struct Incoming {
    links: Vec<usize>,
    /// First index into `links` of each node, and the length of `links`.
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

/// Returns the smallest number of links for each route.
pub(crate) fn hop_counts(nodes: usize, links: &[Link], routes: &[Route]) -> Vec<HopCount> {
    let incoming = Incoming::new(nodes, links);
    let mtu = |link: usize| links[link].mtu.map_or(u64::MAX, |mtu| mtu.count());
    // Sizes between the same two MTUs can use the same links: they share a search by the next larger MTU.
    let mut mtus: Vec<u64> = (0..links.len()).map(mtu).collect();
    mtus.sort_unstable();
    mtus.dedup();
    let next_mtu = |size: u64| mtus.get(mtus.partition_point(|&mtu| mtu < size)).copied().unwrap_or(u64::MAX);

    // All clients of a star have one incoming link, from the same node: one search serves them.
    let end = |route: &Route| match *incoming.of(route.to) {
        [only] if mtu(only) >= route.size => (links[only].from, next_mtu(route.size), 1),
        _ => (route.to, next_mtu(route.size), 0),
    };
    let mut order: Vec<((usize, u64, u32), usize)> = routes.iter().map(end).zip(0..).collect();
    order.sort_unstable();

    let mut counts = vec![HopCount::Unreachable; routes.len()];
    let mut distances = Vec::new();
    let mut searched = None;
    let mut steps = 0;
    for ((end, smallest, more), route) in order {
        if searched != Some((end, smallest)) {
            steps += (nodes + links.len()) as u64;
            if steps > MAX_STEPS {
                counts[route] = HopCount::Unknown;
                continue;
            }
            distances = search(nodes, end, &incoming, |link| (mtu(link) >= smallest).then_some(links[link].from));
            searched = Some((end, smallest));
        }
        let distance: Option<u32> = distances[routes[route].from];
        counts[route] = distance.map_or(HopCount::Unreachable, |hops| HopCount::Hops(hops + more));
    }
    counts
}

/// Searches breadth-first from `end`, against the direction of the links. `from` returns the source of a usable link.
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

    fn hops(links: &[Link], from: usize, to: usize, size: u64) -> HopCount {
        hop_counts(5, links, &[Route { from, to, size }])[0]
    }

    #[test]
    fn one_way_links_have_no_reverse_path() {
        let links = [link(0, 1, None), link(1, 2, None), link(2, 3, None), link(3, 1, None)];
        assert_eq!(hops(&links, 0, 3, 1500), HopCount::Hops(3));
        assert_eq!(hops(&links, 3, 0, 1500), HopCount::Unreachable);
        assert_eq!(hops(&links, 0, 4, 1500), HopCount::Unreachable);
    }

    #[test]
    fn large_packets_avoid_links_with_a_small_mtu() {
        let links = [link(0, 1, Some(576)), link(0, 2, None), link(2, 3, Some(1500)), link(3, 1, None)];
        assert_eq!(hops(&links, 0, 1, 576), HopCount::Hops(1));
        assert_eq!(hops(&links, 0, 1, 577), HopCount::Hops(3));
        assert_eq!(hops(&links, 0, 1, 1500), HopCount::Hops(3));
        assert_eq!(hops(&links, 0, 1, 1501), HopCount::Unreachable);
    }

    #[test]
    fn results_have_the_order_of_the_routes() {
        let star: Vec<Link> = (1..5).flat_map(|client| [link(client, 0, None), link(0, client, None)]).collect();
        let routes = [(1, 2), (3, 0), (0, 4), (4, 1)].map(|(from, to)| Route { from, to, size: 40 });
        assert_eq!(hop_counts(5, &star, &routes), [2, 1, 1, 2].map(HopCount::Hops));
    }
}
