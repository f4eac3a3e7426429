//! What an expression asks for, held against the names that a record will have: mistakes are found before the run.

use super::function::Function;
use super::keys::keys_of;
use super::path::{Named, Path, fits, listed, text};
use super::{Expression, ExpressionError, Node, several};

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
            many => Err(several(many)),
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

    fn check(&self, names: &Names) -> Result<(), String> {
        let Some(Named { list, name }) = &self.list else { return self.check_key(keys_of(None)) };
        let lists = names.lists();
        let present = || lists.iter().filter(|known| !known.names.is_empty());
        let Some(found) = present().find(|known| known.one == list) else {
            return Err(format!("there is no list \"{list}\"; there are {}", listed(present().map(|known| known.one))));
        };
        if !found.names.iter().any(|known| fits(name, known)) {
            let known = listed(found.names.iter().map(String::as_str));
            return Err(format!("there is no {list} \"{name}\"; there are {known}"));
        }
        self.check_key(found.keys)
    }

    fn check_key(&self, known: &[&str]) -> Result<(), String> {
        match self.keys.first() {
            Some(key) if !known.contains(&key.as_str()) => {
                Err(format!("there is no \"{key}\"; there are {}", known.join(", ")))
            }
            Some(key) if TEXTS.contains(&key.as_str()) => Err(text(key)),
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
        let check = |text: &str| text.parse::<Expression>().unwrap().check_names(&names).map_err(|error| error.why);
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
