//! What a scenario calls its nodes, and which replicas a name stands for.

use crate::limits::MOST_REPLICAS;
use crate::path::Path;
use crate::reader::Reader;
use crate::suggest::{hint, quoted};
use crate::tables::{LinkTable, NodeTable};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What one name in `between`, `from` or `to` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// That node.
    One(usize),
    /// So many replicas, one after the other from the first.
    Many { first: usize, count: usize },
}

impl Named {
    /// The node of replica `index`, from 0.
    pub(crate) fn replica(self, index: usize) -> usize {
        match self {
            Self::One(node) => node,
            Self::Many { first, .. } => first + index,
        }
    }

    /// How many replicas; `None` for a node without.
    pub(crate) fn count(self) -> Option<usize> {
        match self {
            Self::One(_) => None,
            Self::Many { count, .. } => Some(count),
        }
    }
}

/// All nodes.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// In the order of [`crate::Scenario::nodes`].
    pub(crate) nodes: Vec<String>,
    by_name: BTreeMap<String, Named>,
}

impl Names {
    /// Those of the node tables, then those that only links name.
    pub(crate) fn of(reader: &mut Reader<'_>, nodes: &[NodeTable], links: &[LinkTable]) -> Self {
        let mut names = Self::default();
        for (index, node) in nodes.iter().enumerate() {
            let path = Path::default().key("node").index(index).key("name");
            match node.count {
                None => names.add(reader, &path, &node.name),
                Some(count) => {
                    let first = names.nodes.len();
                    for replica in 1..=count {
                        names.add(reader, &path, &format!("{}{replica}", node.name));
                    }
                    names.enter(reader, &path, &node.name, Named::Many { first, count: count as usize });
                }
            }
        }
        for (index, link) in links.iter().enumerate() {
            for (end, name) in link.between.iter().enumerate() {
                if names.by_name.contains_key(name) {
                    continue;
                }
                let path = Path::default().key("link").index(index).key("between").index(end);
                if let Some((base, count)) = names.beyond_the_last_replica(name) {
                    reader.wrong(&path, format!("there is no \"{name}\": \"{base}\" has {count} replicas"));
                }
                names.add(reader, &path, name);
            }
        }
        if names.nodes.len() as u64 > MOST_REPLICAS {
            let message = format!("these links make {} nodes: at most {MOST_REPLICAS}", names.nodes.len());
            reader.wrong(&Path::default().key("link"), message);
        }
        names
    }

    fn add(&mut self, reader: &mut Reader<'_>, path: &Path, name: &str) {
        let node = Named::One(self.nodes.len());
        self.nodes.push(name.to_owned());
        self.enter(reader, path, name, node);
    }

    fn enter(&mut self, reader: &mut Reader<'_>, path: &Path, name: &str, named: Named) {
        match self.by_name.entry(name.to_owned()) {
            Entry::Vacant(vacant) => {
                vacant.insert(named);
            }
            Entry::Occupied(_) => reader.wrong(path, format!("two nodes are called \"{name}\"")),
        }
    }

    fn beyond_the_last_replica(&self, name: &str) -> Option<(String, usize)> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let count = self.by_name.get(base)?.count()?;
        (base != name).then(|| (base.to_owned(), count))
    }

    /// What the name at `path` stands for.
    pub(crate) fn find(&self, reader: &mut Reader<'_>, path: &Path, name: &str) -> Option<Named> {
        let found = self.by_name.get(name).copied();
        if found.is_none() {
            let message = match self.beyond_the_last_replica(name) {
                Some((base, count)) => format!("there is no \"{name}\": \"{base}\" has {count} replicas"),
                None => {
                    format!("unknown node \"{}\"{}", quoted(name), hint(name, self.by_name.keys().map(String::as_str)))
                }
            };
            reader.wrong(path, message);
        }
        found
    }
}
