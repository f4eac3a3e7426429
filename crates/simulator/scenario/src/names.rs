//! Names of nodes, and the replicas that a name denotes.

use crate::limits::{MAX_NAME_CHARS, MAX_REPLICAS};
use crate::link::LinkTable;
use crate::node::NodeTable;
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::suggest::{hint, quoted};
use foldhash::fast::RandomState;
use indexmap::IndexSet;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Nodes that a name in `between`, `from` or `to` denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Index of a single node.
    One(usize),
    /// Consecutive replicas.
    Many { first: usize, count: usize },
}

impl Named {
    /// Returns the node of replica `index`, from 0.
    pub(crate) fn replica(self, index: usize) -> usize {
        match self {
            Self::One(node) => node,
            Self::Many { first, .. } => first + index,
        }
    }

    /// Returns the number of replicas; `None` for a node without replicas.
    pub(crate) fn count(self) -> Option<usize> {
        match self {
            Self::One(_) => None,
            Self::Many { count, .. } => Some(count),
        }
    }
}

/// Names of all nodes.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Nodes in the order of [`crate::Scenario::nodes`].
    pub(crate) nodes: IndexSet<String, RandomState>,
    /// Names of nodes with replicas.
    replicas: BTreeMap<String, Named>,
}

impl Names {
    /// Collects the nodes of the node tables, then those that only links name.
    pub(crate) fn of(reader: &mut Reader<'_>, nodes: &[NodeTable], links: &[LinkTable]) -> Self {
        let mut names = Self::default();
        for (index, node) in nodes.iter().enumerate() {
            let path = Path::default().key("node").index(index).key("name");
            match node.count {
                None => names.add(reader, &path, node.name.clone()),
                Some(count) => {
                    let first = names.nodes.len();
                    names.nodes.reserve(count as usize);
                    for replica in 1..=count {
                        names.add(reader, &path, numbered(&node.name, replica));
                    }
                    if names.is_known(&node.name) {
                        duplicate(reader, &path, &node.name);
                    }
                    names.replicas.insert(node.name.clone(), Named::Many { first, count: count as usize });
                }
            }
        }
        for (index, link) in links.iter().enumerate() {
            for (end, name) in link.between.iter().enumerate() {
                if names.is_known(name) {
                    continue;
                }
                let path = Path::default().key("link").index(index).key("between").index(end);
                if let Some((base, count)) = names.beyond_the_last_replica(name) {
                    reader.wrong(&path, format!("there is no \"{name}\": \"{base}\" has {count} replicas"));
                }
                names.add(reader, &path, name.clone());
            }
        }
        if names.nodes.len() as u64 > MAX_REPLICAS {
            let message = format!("these links make {} nodes: at most {MAX_REPLICAS}", names.nodes.len());
            reader.wrong(&Path::default().key("link"), message);
        }
        names
    }

    fn add(&mut self, reader: &mut Reader<'_>, path: &Path, name: String) {
        if self.replicas.contains_key(&name) {
            duplicate(reader, path, &name);
        }
        let number = self.nodes.len();
        let (first, is_new) = self.nodes.insert_full(name);
        if !is_new {
            duplicate(reader, path, &self.nodes[first]);
            // A placeholder keeps the indices of the other nodes. No valid name has a blank.
            self.nodes.insert(format!("{} {number}", self.nodes[first]));
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.nodes.contains(name) || self.replicas.contains_key(name)
    }

    fn beyond_the_last_replica(&self, name: &str) -> Option<(String, usize)> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let count = self.replicas.get(base)?.count()?;
        (base != name).then(|| (base.to_owned(), count))
    }

    /// Returns the nodes that the name at `path` denotes; an unknown name is reported.
    pub(crate) fn find(&self, reader: &mut Reader<'_>, path: &Path, name: &str) -> Option<Named> {
        let node = self.nodes.get_index_of(name).map(Named::One);
        let found = node.or_else(|| self.replicas.get(name).copied());
        if found.is_none() {
            let message = match self.beyond_the_last_replica(name) {
                Some((base, count)) => format!("there is no \"{name}\": \"{base}\" has {count} replicas"),
                None => {
                    let known: BTreeSet<&str> =
                        self.nodes.iter().chain(self.replicas.keys()).map(String::as_str).collect();
                    format!("unknown node \"{}\"{}", quoted(name), hint(name, known))
                }
            };
            reader.wrong(path, message);
        }
        found
    }
}

/// Returns the name of a replica.
pub(crate) fn numbered(name: &str, replica: u64) -> String {
    const DIGITS: usize = MAX_REPLICAS.ilog10() as usize + 1;
    let mut numbered = String::with_capacity(name.len() + DIGITS);
    numbered.push_str(name);
    let _ = write!(numbered, "{replica}");
    numbered
}

fn duplicate(reader: &mut Reader<'_>, path: &Path, name: &str) {
    reader.wrong(path, format!("two nodes are called \"{name}\""));
}

/// Returns the number of replicas of a table with these two nodes.
pub(crate) fn pairs(reader: &mut Reader<'_>, path: &Path, ends: [Named; 2], names: &[String; 2]) -> Option<usize> {
    match ends.map(Named::count) {
        [Some(a), Some(b)] if a != b => {
            let message = format!(
                "\"{}\" has {a} replicas and \"{}\" has {b}: replicas are paired, so write the same count",
                names[0], names[1]
            );
            reader.wrong(path, message);
            None
        }
        [a, b] => Some(a.or(b).unwrap_or(1)),
    }
}

/// Reads the number of replicas.
pub(crate) fn count(open: &mut Open<'_, '_>) -> Option<u64> {
    open.within("count", 1..=MAX_REPLICAS, &format!("from 1 to {MAX_REPLICAS}"))
}

/// Checks the key `name`. Names are parts of paths, tables and file names.
pub(crate) fn check_name(open: &mut Open<'_, '_>, name: &str, also: fn(char) -> bool) {
    // A missing name has been reported.
    if open.value("name").is_some() {
        check_text(open, "name", name, also);
    }
}

pub(crate) fn check_text(open: &mut Open<'_, '_>, key: &str, name: &str, also: fn(char) -> bool) {
    let right = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':') || also(c);
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || !name.chars().all(right) {
        let blanks = if also(' ') { ", blanks" } else { "" };
        let message = format!(
            "\"{}\" is not a name: write 1 to {MAX_NAME_CHARS} letters, digits{blanks} and _ - . :",
            quoted(name)
        );
        open.wrong(key, message);
    }
}
