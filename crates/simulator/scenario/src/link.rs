//! `[[link]]`: a link, or several replicas of it.
//!
//! To add a key that both directions share: add a field to [`LinkTable`], read it in [`read`], apply it in [`expand`],
//! and regenerate `vocabulary.txt` (see `vocabulary.rs`). Keys that each direction may set are in `link/direction.rs`.

mod changes;
mod direction;
mod duplicate;
mod policer;
mod shaper;

use crate::document::Value;
use crate::files::Traces;
use crate::limits::MAX_REPLICAS;
use crate::names::{Names, check_name, check_text, pairs};
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::vocabulary::VOCABULARY;
pub(crate) use direction::{DEFAULT_QUEUE, Direction};
use foldhash::fast::RandomState;
use headway_engine::Ties;
use headway_link::Config;
use headway_units::Dialect;
use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Link in both directions, or in one with `one_way`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("required" = ["between", "delay"]))]
pub(crate) struct LinkTable {
    /// Name by which overrides refer to the link, as in link[access].rate. The record does not use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Nodes at both ends. If one node has replicas, each replica has a link to the other node. If both have, replicas
    /// with equal numbers are linked.
    pub(crate) between: [String; 2],
    /// Whether the link has only the direction from the first end of `between` to the second.
    #[schemars(default)]
    pub(crate) one_way: bool,
    /// Number of simulator events per packet, which affects only the speed of the simulation; chosen automatically if
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<Events>,
    /// Whether the record also has the counts of the link for each flow, in each direction.
    #[schemars(default)]
    pub(crate) by_flow: bool,
    /// Dialect of this link: the implementation or standard whose default values its absent options have. If absent:
    /// the dialect of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Dialect>,
    #[serde(flatten)]
    pub(crate) direction: Direction,
    /// Keys of the direction from the second end of `between` to the first. Absent keys have the values of the link;
    /// `changes` only if `reverse` sets neither `rate`, `capacity` nor `delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverse: Option<Direction>,
}

/// Number of simulator events per packet on the link; the record does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Events {
    /// One event per packet, its arrival at the far end: the departure time is computed when the packet arrives at the
    /// queue.
    One,
    /// Two events per packet: the end of its transmission and its arrival at the far end.
    Two,
}

/// One direction of a link. Dereferences to its [configuration](Config).
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique name, such as `"n1->n2"`.
    pub name: String,
    /// Sending node: index into [`Scenario::nodes`](crate::Scenario::nodes).
    pub from: usize,
    /// Receiving node: index into [`Scenario::nodes`](crate::Scenario::nodes).
    pub to: usize,
    /// Whether the record also has counts for each flow at this direction of the link.
    pub by_flow: bool,
    /// Configuration. Replicas share it; it is copied on write.
    pub config: Arc<Config>,
}

impl Deref for Link {
    type Target = Config;

    #[inline]
    fn deref(&self) -> &Config {
        &self.config
    }
}

impl DerefMut for Link {
    fn deref_mut(&mut self) -> &mut Config {
        Arc::make_mut(&mut self.config)
    }
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path, dialect: Dialect) -> Option<LinkTable> {
    let mut open = reader.open(value, path, &VOCABULARY.link)?;
    let name: Option<String> = open.optional("name");
    if let Some(name) = &name {
        check_name(&mut open, name, |_| false);
    }
    let between: Option<[String; 2]> = ends(&mut open);
    for end in between.iter().flatten() {
        check_text(&mut open, "between", end, |_| false);
    }
    let one_way = open.optional("one_way").unwrap_or_default();
    let (events, by_flow) = (open.optional("events"), open.optional("by_flow").unwrap_or_default());
    let own_dialect = open.optional("dialect");
    let dialect = own_dialect.unwrap_or(dialect);
    let direction = direction::read(&mut open, dialect, None);
    let reverse = open.value("reverse");
    if one_way && reverse.is_some() {
        open.wrong("reverse", "a link with one_way = true has no reverse direction: leave one of the two out");
    }
    let path = path.key("reverse");
    let reverse = reverse.and_then(|value| reader.open(value, &path, &VOCABULARY.reverse));
    let reverse = reverse.map(|mut open| direction::read(&mut open, dialect, Some(&direction)));
    Some(LinkTable { name, between: between?, one_way, events, by_flow, dialect: own_dialect, direction, reverse })
}

fn ends(open: &mut Open<'_, '_>) -> Option<[String; 2]> {
    const EXAMPLE: &str = "[\"a\", \"b\"]";
    let Some(value) = open.value("between") else {
        open.missing("between", EXAMPLE);
        return None;
    };
    match value.array() {
        Some([_, _]) => open.optional("between"),
        _ => {
            open.wrong("between", format!("a link has two ends: write between = {EXAMPLE}"));
            None
        }
    }
}

/// Expands the tables into directed links.
pub(crate) fn expand(
    reader: &mut Reader<'_>,
    tables: &[LinkTable],
    names: &Names,
    ties: Ties,
    traces: &mut Traces<'_>,
) -> Option<Vec<Link>> {
    let mut links = Vec::new();
    let mut handles = BTreeSet::new();
    let mut taken: IndexSet<_, RandomState> = IndexSet::default();
    for (index, table) in tables.iter().enumerate() {
        if reader.problems.is_full() {
            return None;
        }
        let path = Path::default().key("link").index(index);
        if let Some(name) = &table.name
            && !handles.insert(name)
        {
            reader.wrong(&path.key("name"), format!("two links are called \"{name}\""));
        }
        let between = path.key("between");
        let [Some(a), Some(b)] = [0, 1].map(|end| names.find(reader, &between.index(end), &table.between[end])) else {
            continue;
        };
        let Some(pairs) = pairs(reader, &between, [a, b], &table.between) else { continue };
        let Some(forward) = table.direction.config(reader, &path, None, traces) else { continue };
        let reverse = match &table.reverse {
            Some(reverse) => reverse.config(reader, &path.key("reverse"), Some((&table.direction, &forward)), traces),
            None => Some(forward.clone()),
        };
        // Unreadable files have been reported.
        let Some(reverse) = reverse else { continue };
        let directions = if table.one_way { 1 } else { 2 };
        let mut configs = [forward, reverse];
        if table.events == Some(Events::One) {
            check_one_event(reader, &path.key("events"), &configs[..directions], ties);
        }
        configs.iter_mut().for_each(|config| config.two_events = table.events == Some(Events::Two));
        if (links.len() + pairs * directions) as u64 > 2 * MAX_REPLICAS {
            reader.wrong(&path, format!("there are too many links: at most {MAX_REPLICAS} in both directions"));
            return None;
        }
        links.reserve(pairs * directions);
        taken.reserve(pairs * directions);
        let configs = configs.map(Arc::new);
        for replica in 0..pairs {
            let (a, b) = (a.replica(replica), b.replica(replica));
            for ((from, to), config) in [(a, b), (b, a)].into_iter().zip(&configs).take(directions) {
                let name = [&names.nodes[from], "->", &names.nodes[to]].concat();
                if from == to {
                    reader.wrong(&between, format!("a link cannot lead from \"{}\" to itself", names.nodes[from]));
                } else if !taken.insert((from, to)) {
                    reader.wrong(&between, format!("there are two links {name}: one of them would never be used"));
                }
                links.push(Link { name, from, to, by_flow: table.by_flow, config: Arc::clone(config) });
            }
        }
    }
    Some(links)
}

/// Reports directions that cannot be simulated with one event per packet.
fn check_one_event(reader: &mut Reader<'_>, path: &Path, directions: &[Config], ties: Ties) {
    if directions.iter().any(|direction| !direction.queue.decides_at_arrival()) {
        reader.wrong(
            path,
            "this queue drops or marks queued packets: its link needs events = \"two\", or leave events out",
        );
    }
    if ties == Ties::Scheduled {
        reader.wrong(
            path,
            "ties = \"scheduled\" needs two events: write ties = \"drawn\" for the scenario, or leave events out",
        );
    }
    if directions.iter().any(Config::overtakes) {
        reader.wrong(path, "reordered packets need two events: leave events out");
    }
}
