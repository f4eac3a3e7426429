//! Routes, only for pairs of nodes that talk: the path with the fewest links; among equals, as ns-2 chooses: at each node
//! the path whose last node before the goal stands first in the scenario, then the one before that, and so on back.
//!
//! It is what Dijkstra's algorithm leaves that takes the nearest node of the lowest number next and replaces no route by an
//! equal one (ns-2.35 `routing/route.cc`), run for each node by itself. In which order links are listed does not matter.
//!
//! A route is a run of link numbers in one shared list, ended by [`Routes::END`]; a packet carries its place in it, so
//! that forwarding is one look-up.

use std::collections::VecDeque;
use std::ops::Index;

#[derive(Debug, Default)]
pub(crate) struct Routes {
    hops: Vec<u32>,
}

/// There is no way from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoute {
    /// Which of the asked pairs.
    pub(crate) pair: usize,
}

/// What is known of the ways to one node.
#[derive(Debug, Default)]
struct Search {
    /// How many links each node is from it; `u32::MAX`: it cannot be reached.
    distance: Vec<u32>,
    /// The link that each node takes, as far as that was asked; `u32::MAX`: not yet.
    chosen: Vec<u32>,
}

struct Graph<'a> {
    links: &'a [(usize, usize)],
    outgoing: Lists,
    incoming: Lists,
}

/// Links of each node, in their order.
struct Lists {
    links: Vec<u32>,
    /// Where those of each node begin among all of them, and the end.
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
    /// What stands after the last link of a route.
    pub(crate) const END: u32 = u32::MAX;

    /// Finds a route for each (from, to) among the links (from, to), and where in the list it starts.
    pub(crate) fn find(
        nodes: usize,
        links: &[(usize, usize)],
        pairs: &[(usize, usize)],
    ) -> Result<(Self, Vec<u32>), NoRoute> {
        let graph = Graph::new(nodes, links);
        // A node with one way in is reached through it: towards all clients of a star there is one search, not one each.
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
                // A chain of single ways out that misses the gateway would go round for ever.
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

    /// The link at this place of the list, or [`Routes::END`].
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

    /// The last node before `to` that every path from `from` must pass, as far as single ways in tell.
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

    /// Breadth first from `to` against the links: how far each node is from it.
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

    /// The link that `at` takes towards `to`, from which the search was; [`Routes::END`] if there is none.
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

    /// Back from `to` on paths of fewest links from `at`, always to the node that stands first.
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
#[allow(clippy::needless_range_loop, reason = "Floyd and Warshall as they are written")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(nodes: usize, links: &[(usize, usize)], from: usize, to: usize) -> Option<Vec<u32>> {
        let (routes, starts) = Routes::find(nodes, links, &[(from, to)]).ok()?;
        Some(routes.hops[starts[0] as usize..].iter().copied().take_while(|&link| link != Routes::END).collect())
    }

    #[test]
    fn a_star_needs_no_search_and_takes_two_links() {
        let links: Vec<_> = (1..5).flat_map(|client| [(client, 0), (0, client)]).collect();
        assert_eq!(path(5, &links, 1, 4), Some(vec![0, 7]));
        assert_eq!(path(5, &links, 4, 1), Some(vec![6, 1]));
    }

    #[test]
    fn the_shorter_way_wins_and_among_equals_the_first_node() {
        // 0 -> 1 -> 3, 0 -> 2 -> 3, and the long way 0 -> 4 -> 5 -> 3.
        let links = [(0, 4), (4, 5), (5, 3), (0, 2), (0, 1), (1, 3), (2, 3)];
        assert_eq!(path(6, &links, 0, 3), Some(vec![4, 5]));
    }

    /// ns-2's next hops in six networks drawn at random, links in any order, some one-way.
    #[test]
    fn among_equals_ns2_goes_the_same_way() {
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
    fn dead_ends_and_rings_without_the_goal_are_no_route() {
        assert_eq!(path(3, &[(0, 1), (1, 0)], 0, 2), None);
        assert_eq!(path(4, &[(0, 1), (1, 0), (3, 2)], 0, 2), None);
        assert_eq!(path(2, &[], 0, 1), None);
        assert_eq!(path(4, &[(2, 3), (3, 2)], 0, 3), None);
    }

    proptest! {
        /// Against Floyd and Warshall: a path exists where it should, connects, and is as short as can be.
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
