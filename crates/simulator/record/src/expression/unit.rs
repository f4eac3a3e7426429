//! The unit of an expression, computed from the suffixes of keys.

use super::function::Function;
use super::path::Path;
use super::{Expression, Node, Operator};
use crate::metric::unit_of;

/// Suffix of completion times by session size, and their key of a count without a unit.
const BY_SIZE: &str = "_s_by_size";
const COUNT_BY_SIZE: &str = "completed";

impl Expression {
    /// Returns the unit of the value: `bps`, `s`, `packets` or `B`. Sums, means and extremes of equal units have that
    /// unit; products, quotients and constants have none.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        self.root.unit()
    }
}

impl Node {
    fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Number(_) => None,
            Self::Path(path) => path.unit(),
            Self::Negative(node) => node.unit(),
            Self::Binary(Operator::Add | Operator::Subtract, nodes) => common(&nodes[..]),
            Self::Binary(Operator::Multiply | Operator::Divide, _)
            | Self::Call(Function::Count | Function::Jain, _) => None,
            Self::Call(Function::Mean | Function::Sum | Function::Min | Function::Max | Function::Or, nodes) => {
                common(nodes)
            }
        }
    }
}

impl Path {
    /// Returns the unit of the last key that has one; percentiles and causes have the unit of their parent.
    fn unit(&self) -> Option<&'static str> {
        if self.keys.last().is_some_and(|key| key == COUNT_BY_SIZE) {
            return None;
        }
        let of = |key: &String| unit_of(if key.ends_with(BY_SIZE) { "_s" } else { key });
        self.keys.iter().rev().find_map(of)
    }
}

/// Returns the unit of all nodes, if it is the same.
fn common(nodes: &[Node]) -> Option<&'static str> {
    let first = nodes.first()?.unit()?;
    nodes.iter().all(|node| node.unit() == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The units are those of docs/src/records.md.
    #[test]
    fn an_expression_has_the_unit_of_its_parts() {
        let unit = |text: &str| text.parse::<Expression>().unwrap().unit();
        for (text, expected) in [
            ("flow[f].throughput_bps", Some("bps")),
            ("flow[f].one_way_delay_s.p95", Some("s")),
            ("flow[f].lost_packets.queue_full", Some("packets")),
            ("link[a->b].mean_queue_bytes", Some("B")),
            ("flow[web].sessions.completion_s_by_size.up_to_10kB.p99", Some("s")),
            ("flow[web].sessions.completion_s_by_size.up_to_10kB.completed", None),
            ("flow[f].loss_ratio", None),
            ("jain_index", None),
            ("mean(flow[*].goodput_bps)", Some("bps")),
            ("flow[a].goodput_bps + flow[b].goodput_bps", Some("bps")),
            ("-(flow[a].rtt_s.mean - flow[b].rtt_s.min)", Some("s")),
            ("max(flow[a].goodput_bps, flow[a].throughput_bps)", Some("bps")),
            ("flow[a].goodput_bps + flow[a].rtt_s.mean", None),
            ("flow[a].goodput_bps + 1", None),
            ("flow[a].goodput_bps / 1e6", None),
            ("2 * flow[a].goodput_bps", None),
            ("sum(flow[*].lost_packets) / sum(flow[*].sent_packets)", None),
            ("count(flow[*].goodput_bps)", None),
            ("jain(flow[*].goodput_bps)", None),
        ] {
            assert_eq!(unit(text), expected, "{text}");
        }
    }
}
