//! Routes for the pairs of nodes that communicate: paths with the fewest links. Ties are broken as in ns-2: of two
//! paths, the one whose last node before the destination is listed first in the scenario is used; if these nodes are
//! the same, the nodes before them are compared, and so on.
//!
//! This is the result of Dijkstra's algorithm if it visits the nearest node with the lowest number first and does not
//! replace a route by an equal one (ns-2.35 `routing/route.cc`), run separately for each node. The order of links
//! does not matter.
//!
//! A route is a sequence of link numbers in a shared list, terminated by [`Routes::END`]. A packet contains its
//! position in the list, so that forwarding is one lookup.

use std::collections::VecDeque;
use std::ops::Index;

#[derive(Debug, Default)]
pub(crate) struct Routes {
    hops: Vec<u32>,
}

/// Error: no path between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoute {
    /// Index of the requested pair.
    pub(crate) pair: usize,
}

/// Search state for one destination.
#[derive(Debug, Default)]
struct Search {
    /// Number of links from each node to the destination; `u32::MAX`: unreachable.
    distance: Vec<u32>,
    /// Next link of each node; `u32::MAX`: not chosen yet.
    chosen: Vec<u32>,
}

struct Graph<'a> {
    links: &'a [(usize, usize)],
    outgoing: Lists,
    incoming: Lists,
}

/// Links of each node, in order.
struct Lists {
    links: Vec<u32>,
    /// Start of each node's links in `links`, and the end of the list.
    begins: Vec<u32>,
}

impl Lists {
    fn new(nodes: usize, of: impl Iterator<Item = usize> + Clone) -> Self {
        let mut begins = vec![0; nodes + 2];
        for node in of.clone() {
            begins[node + 2] += 1;
        }
        for node in 2..begins.len() {
            begins[node] += begins[node - 1];
        }
        let mut links = vec![0; begins[nodes + 1] as usize];
        for (link, node) in of.enumerate() {
            let next = &mut begins[node + 1];
            links[*next as usize] = link as u32;
            *next += 1;
        }
        Self { links, begins }
    }
}

impl Index<usize> for Lists {
    type Output = [u32];

    fn index(&self, node: usize) -> &[u32] {
        &self.links[self.begins[node] as usize..self.begins[node + 1] as usize]
    }
}

impl Routes {
    /// Terminator of a route.
    pub(crate) const END: u32 = u32::MAX;

    /// Finds a route for each (from, to) of `pairs` among the links (from, to). Returns the routes and their starts.
    pub(crate) fn find(
        nodes: usize,
        links: &[(usize, usize)],
        pairs: &[(usize, usize)],
    ) -> Result<(Self, Vec<u32>), NoRoute> {
        let graph = Graph::new(nodes, links);
        // A node with a single incoming link is reached through it, so one search serves all clients of a star.
        let mut jobs: Vec<(usize, usize)> =
            pairs.iter().enumerate().map(|(pair, &(from, to))| (graph.gateway(from, to), pair)).collect();
        jobs.sort_unstable();
        let mut routes = Self::default();
        let mut starts = vec![0; pairs.len()];
        let mut search = Search::default();
        let mut searched = None;
        for (gateway, pair) in jobs {
            let (from, to) = pairs[pair];
            starts[pair] = routes.hops.len() as u32;
            let mut at = from;
            while at != gateway {
                let link = if let [only] = graph.outgoing[at][..] {
                    only
                } else {
                    if searched != Some(gateway) {
                        graph.search_backwards(gateway, &mut search);
                        searched = Some(gateway);
                    }
                    graph.choose(at, gateway, &mut search)
                };
                // A cycle of single outgoing links that does not contain the gateway would not terminate.
                let length = routes.hops.len() - starts[pair] as usize;
                if link == Self::END || length > nodes {
                    return Err(NoRoute { pair });
                }
                routes.hops.push(link);
                at = links[link as usize].1;
            }
            let tail_from = routes.hops.len();
            let mut back = to;
            while back != gateway {
                let link = graph.incoming[back][0];
                routes.hops.push(link);
                back = links[link as usize].0;
            }
            routes.hops[tail_from..].reverse();
            routes.hops.push(Self::END);
        }
        Ok((routes, starts))
    }

    /// Returns the link at this position, or [`Routes::END`].
    pub(crate) fn link_at(&self, place: u32) -> u32 {
        self.hops[place as usize]
    }
}

impl<'a> Graph<'a> {
    fn new(nodes: usize, links: &'a [(usize, usize)]) -> Self {
        let outgoing = Lists::new(nodes, links.iter().map(|(from, _)| *from));
        let incoming = Lists::new(nodes, links.iter().map(|(_, to)| *to));
        Self { links, outgoing, incoming }
    }

    fn nodes(&self) -> usize {
        self.incoming.begins.len() - 2
    }

    /// Returns the last node before `to` that every path from `from` crosses, by chains of single incoming links only.
    fn gateway(&self, from: usize, to: usize) -> usize {
        let mut at = to;
        for _ in 0..self.nodes() {
            match self.incoming[at][..] {
                [only] if at != from => at = self.links[only as usize].0,
                _ => return at,
            }
        }
        at
    }

    /// Computes the distance of each node to `to` by breadth-first search against the direction of links.
    fn search_backwards(&self, to: usize, search: &mut Search) {
        let Search { distance, chosen } = search;
        for table in [&mut *distance, chosen] {
            table.clear();
            table.resize(self.nodes(), u32::MAX);
        }
        distance[to] = 0;
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front() {
            for &link in &self.incoming[node] {
                let from = self.links[link as usize].0;
                if distance[from] == u32::MAX {
                    distance[from] = distance[node] + 1;
                    frontier.push_back(from);
                }
            }
        }
    }

    /// Returns the next link of `at` towards `to`, for which `search` was run; [`Routes::END`] if there is none.
    fn choose(&self, at: usize, to: usize, search: &mut Search) -> u32 {
        let Search { distance, chosen } = search;
        if chosen[at] != u32::MAX || distance[at] == u32::MAX {
            return chosen[at];
        }
        let nearer = |link: &u32| {
            let (from, to) = self.links[*link as usize];
            distance[to] < distance[from]
        };
        let mut nearest = self.outgoing[at].iter().copied().filter(nearer);
        let (first, second) = (nearest.next(), nearest.next());
        chosen[at] = match (first, second) {
            (Some(only), None) => only,
            _ => self.choose_among_equals(at, to, distance),
        };
        chosen[at]
    }

    /// Follows shortest paths from `at` backwards from `to`, always to the node listed first. Returns the first link.
    fn choose_among_equals(&self, at: usize, to: usize, distance: &[u32]) -> u32 {
        let mut reached = vec![false; distance.len()];
        reached[at] = true;
        let mut frontier = VecDeque::from([at]);
        while let Some(node) = frontier.pop_front() {
            for &link in &self.outgoing[node] {
                let next = self.links[link as usize].1;
                if distance[next] < distance[node] && !reached[next] {
                    reached[next] = true;
                    frontier.push_back(next);
                }
            }
        }
        let mut node = to;
        loop {
            let before = |link: &&u32| {
                let from = self.links[**link as usize].0;
                reached[from] && distance[from] == distance[node] + 1
            };
            let links = self.incoming[node].iter().filter(before);
            let Some(&link) = links.min_by_key(|link| self.links[**link as usize].0) else { return Routes::END };
            node = self.links[link as usize].0;
            if node == at {
                return link;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::needless_range_loop, reason = "Floyd and Warshall in their usual notation")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(nodes: usize, links: &[(usize, usize)], from: usize, to: usize) -> Option<Vec<u32>> {
        let (routes, starts) = Routes::find(nodes, links, &[(from, to)]).ok()?;
        Some(routes.hops[starts[0] as usize..].iter().copied().take_while(|&link| link != Routes::END).collect())
    }

    #[test]
    fn a_route_in_a_star_has_two_links() {
        let links: Vec<_> = (1..5).flat_map(|client| [(client, 0), (0, client)]).collect();
        assert_eq!(path(5, &links, 1, 4), Some(vec![0, 7]));
        assert_eq!(path(5, &links, 4, 1), Some(vec![6, 1]));
    }

    #[test]
    fn shortest_path_then_first_node() {
        // 0 -> 1 -> 3, 0 -> 2 -> 3, and the longer path 0 -> 4 -> 5 -> 3.
        let links = [(0, 4), (4, 5), (5, 3), (0, 2), (0, 1), (1, 3), (2, 3)];
        assert_eq!(path(6, &links, 0, 3), Some(vec![4, 5]));
    }

    /// Next hops of ns-2 in six random networks, with links in any order, some of them one-way.
    #[test]
    fn ties_are_broken_as_in_ns2() {
        let (mut links, mut node, mut networks) = (Vec::new(), 0, 0);
        for line in include_str!("../tests/data/ns2-routes/routes.txt").lines() {
            match line.split_once(' ').unwrap() {
                ("links", all) => {
                    let ends = |link: &str| link.split_once('-').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
                    links = all.split(' ').filter_map(ends).collect();
                    (node, networks) = (0, networks + 1);
                }
                ("next", row) => {
                    let nodes = row.split(' ').count();
                    for (to, next) in row.split(' ').enumerate().filter(|(to, _)| *to != node) {
                        let ours = path(nodes, &links, node, to).map(|path| links[path[0] as usize].1);
                        assert_eq!(ours, next.parse().ok(), "network {networks} from {node} to {to}");
                    }
                    node += 1;
                }
                _ => {}
            }
        }
        assert_eq!(networks, 6);
    }

    #[test]
    fn dead_ends_and_cycles_without_the_destination_are_no_route() {
        assert_eq!(path(3, &[(0, 1), (1, 0)], 0, 2), None);
        assert_eq!(path(4, &[(0, 1), (1, 0), (3, 2)], 0, 2), None);
        assert_eq!(path(2, &[], 0, 1), None);
        assert_eq!(path(4, &[(2, 3), (3, 2)], 0, 3), None);
    }

    proptest! {
        /// Compares with Floyd and Warshall: a path exists if it should, is connected, and is shortest.
        #[test]
        fn paths_are_shortest(
            nodes in 2usize..9,
            edges in prop::collection::vec((0usize..9, 0usize..9), 0..20),
        ) {
            let links: Vec<_> = edges.into_iter().filter(|(a, b)| a < &nodes && b < &nodes && a != b).collect();
            let mut distance = vec![vec![usize::MAX / 4; nodes]; nodes];
            for node in 0..nodes { distance[node][node] = 0; }
            for &(a, b) in &links { distance[a][b] = 1; }
            for k in 0..nodes { for i in 0..nodes { for j in 0..nodes {
                distance[i][j] = distance[i][j].min(distance[i][k] + distance[k][j]);
            } } }
            for from in 0..nodes { for to in 0..nodes {
                match path(nodes, &links, from, to) {
                    None => prop_assert!(distance[from][to] >= usize::MAX / 4),
                    Some(path) => {
                        let mut at = from;
                        for link in &path { prop_assert_eq!(links[*link as usize].0, at); at = links[*link as usize].1; }
                        prop_assert_eq!(at, to);
                        prop_assert_eq!(path.len(), distance[from][to]);
                    }
                }
            } }
        }
    }
}
