//! What an expression asks for, held against the names that a record will have: mistakes are found before the run.

use super::function::Function;
use super::keys::keys_of;
use super::path::{Named, Path, fits};
use super::{Expression, ExpressionError, ExpressionFault, Node};

/// Keys of flows, links, hosts, attackers and the summary whose values are texts.
const TEXTS: [&str; 9] = ["at", "connection_failure", "fingerprint", "from", "kind", "name", "target", "to", "version"];

/// The names of what a record will hold.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Its flows.
    pub flows: Vec<String>,
    /// The directions of its links.
    pub links: Vec<String>,
    /// Its hosts.
    pub hosts: Vec<String>,
    /// Its attackers.
    pub attackers: Vec<String>,
}

/// A list of a record.
struct List<'a> {
    /// What one of it is called.
    one: &'static str,
    names: &'a [String],
    /// Keys that one of it may have.
    keys: &'static [&'static str],
}

impl Names {
    fn lists(&self) -> [List<'_>; 4] {
        [
            List { one: "flow", names: &self.flows, keys: keys_of(Some("flow")) },
            List { one: "link", names: &self.links, keys: keys_of(Some("link")) },
            List { one: "host", names: &self.hosts, keys: keys_of(Some("host")) },
            List { one: "attacker", names: &self.attackers, keys: keys_of(Some("attacker")) },
        ]
    }
}

impl Expression {
    /// Checks that a record with these names can have what it asks for: its names, the first key of each path, and that it is one number. Deeper
    /// keys depend on the run.
    ///
    /// # Errors
    /// A name or a key that no such record has, a text, or several numbers.
    pub fn check_names(&self, names: &Names) -> Result<(), ExpressionError> {
        let mut first = Ok(());
        self.root.any(&mut |node| {
            if let Node::Path(path) = node {
                first = path.check(names);
            }
            first.is_err()
        });
        let one = first.and_then(|()| match self.root.fewest(names) {
            0 | 1 => Ok(()),
            count => Err(ExpressionFault::Several { count }),
        });
        one.map_err(|why| ExpressionError { expression: self.text.clone(), why })
    }
}

impl Node {
    /// Returns how many numbers it is at least, if a record with these names has them.
    fn fewest(&self, names: &Names) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Path(path) => path.fewest(names),
            Self::Negative(node) => node.fewest(names),
            Self::Two(_, nodes) => nodes.iter().map(|node| node.fewest(names)).max().unwrap_or(1),
            Self::Call(Function::Or, nodes) => nodes.iter().map(|node| node.fewest(names)).min().unwrap_or(1),
            Self::Call(..) => 1,
        }
    }
}

impl Path {
    fn fewest(&self, names: &Names) -> usize {
        let Some(Named { list, name }) = &self.list else { return 1 };
        let lists = names.lists();
        let found = lists.iter().find(|known| known.one == list);
        found.map_or(1, |found| found.names.iter().filter(|known| fits(name, known)).count())
    }

    fn check(&self, names: &Names) -> Result<(), ExpressionFault> {
        let Some(Named { list, name }) = &self.list else { return self.check_key(keys_of(None)) };
        let lists = names.lists();
        let present = || lists.iter().filter(|known| !known.names.is_empty());
        let Some(found) = present().find(|known| known.one == list) else {
            let known = present().map(|known| known.one.to_owned()).collect();
            return Err(ExpressionFault::UnknownList { list: list.clone(), known });
        };
        if !found.names.iter().any(|known| fits(name, known)) {
            let (list, name, known) = (list.clone(), name.clone(), found.names.to_vec());
            return Err(ExpressionFault::UnknownName { list, name, known });
        }
        self.check_key(found.keys)
    }

    fn check_key(&self, known: &'static [&'static str]) -> Result<(), ExpressionFault> {
        match self.keys.first() {
            Some(key) if !known.contains(&key.as_str()) => Err(ExpressionFault::UnknownKey { key: key.clone(), known }),
            Some(key) if TEXTS.contains(&key.as_str()) => Err(ExpressionFault::Text(key.clone())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names and keys are those of docs/src/records.md. A key that only some flows have (`timeouts`) is one.
    #[test]
    fn names_and_keys_that_no_record_has_are_found_without_a_record() {
        let name = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names = Names { flows: name(&["tcp-1", "tcp-2"]), links: name(&["a->b"]), ..Names::default() };
        let check =
            |text: &str| text.parse::<Expression>().unwrap().check_names(&names).map_err(|error| error.why.to_string());
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
            ("jain", "there is no \"jain\"; there are version, name,"),
            ("flow[tcp-1].kind", "\"kind\" is a text where a number is wanted"),
            ("sum(flow[*].name)", "\"name\" is a text where a number is wanted"),
            (
                "1e3 * flow[tcp*].jitter_s",
                "these are 2 numbers where one is wanted: write a function around them (mean,",
            ),
            ("or(flow[*].jitter_s, flow[tcp*].jitter_s)", "these are 2 numbers where one is wanted"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
