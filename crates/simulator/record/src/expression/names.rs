//! Checks of an expression against the names of a future record, so that errors are found before the run.

use super::function::Function;
use super::keys::keys_of;
use super::path::{Path, Selector, matches_pattern};
use super::{Expression, ExpressionError, ExpressionFault, Node};

/// Keys of flows, links, hosts, attackers and the summary whose values are strings.
const STRING_KEYS: [&str; 9] =
    ["at", "connection_failure", "fingerprint", "from", "kind", "name", "target", "to", "version"];

/// Names of the flows, link directions, hosts and attackers that the record of a future run will contain.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names of the flows.
    pub flows: Vec<String>,
    /// Names of the link directions.
    pub links: Vec<String>,
    /// Names of the hosts with a modeled receive CPU.
    pub hosts: Vec<String>,
    /// Names of the attackers.
    pub attackers: Vec<String>,
}

/// A list of a record.
struct List<'a> {
    /// Singular of the list's name.
    singular: &'static str,
    names: &'a [String],
    /// Keys of its elements.
    keys: &'static [&'static str],
}

impl Names {
    fn lists(&self) -> [List<'_>; 4] {
        [
            List { singular: "flow", names: &self.flows, keys: keys_of(Some("flow")) },
            List { singular: "link", names: &self.links, keys: keys_of(Some("link")) },
            List { singular: "host", names: &self.hosts, keys: keys_of(Some("host")) },
            List { singular: "attacker", names: &self.attackers, keys: keys_of(Some("attacker")) },
        ]
    }
}

impl Expression {
    /// Checks the expression for records with these names: each path (such as `flow[NAME].rtt_s.mean`) has a known name
    /// and first key, and the expression has one value. Deeper keys depend on the run and are not checked.
    ///
    /// # Errors
    /// A name or a key is unknown, a value is a string, or the expression has several values.
    pub fn check_names(&self, names: &Names) -> Result<(), ExpressionError> {
        let mut result = Ok(());
        self.root.any(&mut |node| {
            if let Node::Path(path) = node {
                result = path.check(names);
            }
            result.is_err()
        });
        let result = result.and_then(|()| match self.root.min_values(names) {
            0 | 1 => Ok(()),
            count => Err(ExpressionFault::Several { count }),
        });
        result.map_err(|fault| ExpressionError { expression: self.text.clone(), fault })
    }
}

impl Node {
    /// Returns the minimum number of values for a record with these names.
    fn min_values(&self, names: &Names) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Path(path) => path.min_values(names),
            Self::Negative(node) => node.min_values(names),
            Self::Binary(_, nodes) => nodes.iter().map(|node| node.min_values(names)).max().unwrap_or(1),
            Self::Call(Function::Or, nodes) => nodes.iter().map(|node| node.min_values(names)).min().unwrap_or(1),
            Self::Call(..) => 1,
        }
    }
}

impl Path {
    fn min_values(&self, names: &Names) -> usize {
        let Some(Selector { list, name }) = &self.list else { return 1 };
        let lists = names.lists();
        let found = lists.iter().find(|known| known.singular == list);
        found.map_or(1, |found| found.names.iter().filter(|known| matches_pattern(name, known)).count())
    }

    fn check(&self, names: &Names) -> Result<(), ExpressionFault> {
        let Some(Selector { list, name }) = &self.list else { return self.check_key(keys_of(None)) };
        let lists = names.lists();
        let present = || lists.iter().filter(|known| !known.names.is_empty());
        let Some(found) = present().find(|known| known.singular == list) else {
            let known = present().map(|known| known.singular.to_owned()).collect();
            return Err(ExpressionFault::UnknownList { list: list.clone(), known });
        };
        if !found.names.iter().any(|known| matches_pattern(name, known)) {
            let (list, name, known) = (list.clone(), name.clone(), found.names.to_vec());
            return Err(ExpressionFault::UnknownName { list, name, known });
        }
        self.check_key(found.keys)
    }

    fn check_key(&self, known: &'static [&'static str]) -> Result<(), ExpressionFault> {
        match self.keys.first() {
            Some(key) if !known.contains(&key.as_str()) => Err(ExpressionFault::UnknownKey { key: key.clone(), known }),
            Some(key) if STRING_KEYS.contains(&key.as_str()) => Err(ExpressionFault::Text(key.clone())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and keys are those of docs/src/records.md. A key of only some flows (`timeouts`) is valid.
    #[test]
    fn unknown_names_and_keys_are_found_without_a_record() {
        let name = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names = Names { flows: name(&["tcp-1", "tcp-2"]), links: name(&["a->b"]), ..Names::default() };
        let check = |text: &str| {
            text.parse::<Expression>().unwrap().check_names(&names).map_err(|error| error.fault.to_string())
        };
        for text in [
            "mean(flow[tcp*].throughput_bps) / 1e6",
            "flow[tcp-1].timeouts + link[a->b].dropped_packets.early",
            "or(flow[tcp-2].sessions.refused, 0)",
            "jain_index * (interval.to - interval.from)",
            "2 + 2",
            "or(flow[tcp*].timeouts, 0)",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for (text, why) in [
            ("flow[tpc-1].throughput_bps", "there is no flow \"tpc-1\"; there are tcp-1, tcp-2"),
            (
                "sum(flow[*].sent_packets) / sum(link[b->a].arrived_packets)",
                "there is no link \"b->a\"; there are a->b",
            ),
            ("host[a].cpu", "there is no list \"host\"; there are flow, link"),
            ("-flow[tcp-1].throughputs", "there is no \"throughputs\"; there are name, from, to, kind, sent_packets,"),
            ("jain", "there is no \"jain\"; did you mean jain_index? There are version, name,"),
            ("delay", "there is no \"delay\"; did you mean flow[NAME].one_way_delay_s? There are version, name,"),
            ("flow[tcp-1].delay", "there is no \"delay\"; did you mean one_way_delay_s? There are name, from,"),
            ("flow[tcp-1].kind", "\"kind\" is a string; expected a number"),
            ("sum(flow[*].name)", "\"name\" is a string; expected a number"),
            ("1e3 * flow[tcp*].jitter_s", "it has 2 values; expected one number: use a function (mean,"),
            ("or(flow[*].jitter_s, flow[tcp*].jitter_s)", "it has 2 values; expected one number"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
