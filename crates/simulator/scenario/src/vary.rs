//! `[vary]`: keys with several values, whose combinations are the runs of a scenario.

use crate::de;
use crate::document::{Data, Origin, Value};
use crate::limits::MAX_RUNS;
use crate::overrides::{OverrideError, resolve};
use crate::path::{Path, Step};
use crate::quantity;
use crate::range::{self, Range, RangeTable};
use crate::reader::{Open, Reader};
use crate::suggest::quoted;
use crate::vary_option::Vary;
use crate::vocabulary::VOCABULARY;
use headway_units::counted;
use schemars::JsonSchema;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Schema of `[vary]`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "used by the schema only")]
pub(crate) struct VaryTable {
    /// Number of seeds from 1, or their first and number. Every combination is run with each seed.
    seeds: Option<SeedsForm>,
    /// Groups of keys that vary together: the first value of each, then the second, and so on.
    zip: Option<Vec<Vec<String>>>,
    /// Explicit combinations, each with a value for the same keys.
    list: Option<Vec<BTreeMap<String, serde_json::Value>>>,
    /// Keys as in `--set`, in quotes.
    #[schemars(flatten)]
    keys: BTreeMap<String, AxisForm>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "used by the schema only")]
enum SeedsForm {
    Count(u64),
    From(SeedsTable),
}

/// Consecutive seeds.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "used by the schema only")]
pub(crate) struct SeedsTable {
    /// First seed.
    first: u64,
    /// Number of seeds.
    #[schemars(range(min = 1, max = 100_000))]
    count: u64,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "used by the schema only")]
enum AxisForm {
    Values(Vec<serde_json::Value>),
    Range(RangeTable),
}

/// Keys that vary together; usually one.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) keys: Vec<Varying>,
}

/// Key of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Varying {
    pub(crate) path: Arc<Path>,
    /// Paths that it matches.
    places: Vec<Path>,
    values: Vec<Arc<Value>>,
}

/// Keys that a scenario varies.
#[derive(Debug, Default)]
pub(crate) struct Varied {
    /// Axes without the seed.
    pub(crate) axes: Vec<Axis>,
    /// Seeds, if they vary.
    pub(crate) seeds: Option<Vec<Arc<Value>>>,
}

impl Axis {
    /// Returns the number of values of each key.
    fn count(&self) -> usize {
        self.keys.first().map_or(0, |key| key.values.len())
    }

    /// Returns the origin of its first value.
    fn origin(&self) -> Option<&Origin> {
        self.keys.first()?.values.first().map(|value| &value.origin)
    }

    /// Returns the values of a key in order.
    pub(crate) fn values(&self, key: usize) -> &[Arc<Value>] {
        &self.keys[key].values
    }
}

impl Varied {
    /// Removes the keys that the overrides set.
    pub(crate) fn without(&mut self, root: &Value, set: &[Path]) {
        let is_set = |places: &[Path]| places.iter().all(|place| set.contains(place));
        for axis in &mut self.axes {
            axis.keys.retain(|key| !is_set(&key.places));
        }
        self.axes.retain(|axis| !axis.keys.is_empty());
        if resolve(root, &Path::default().key(SEED)).is_ok_and(|places| is_set(&places)) {
            self.seeds = None;
        }
    }

    /// Returns the index of the value of each axis at each point.
    pub(crate) fn points(&self, reader: &mut Reader<'_>) -> Vec<Vec<usize>> {
        let points = self.grid(reader);
        if points.len().saturating_mul(self.seeds.as_ref().map_or(1, Vec::len)) > MAX_RUNS {
            self.too_many(reader);
        }
        self.check_duplicates(reader);
        points
    }

    /// Reports equal values. Equal runs would count several times, and confidence intervals would be too narrow.
    fn check_duplicates(&self, reader: &mut Reader<'_>) {
        let duplicate = |rows: Vec<String>| {
            let mut seen = BTreeSet::new();
            rows.into_iter().find(|row| !seen.insert(row.clone()))
        };
        let shown_seeds = |seeds: &Vec<Arc<Value>>| seeds.iter().map(|seed| shown(seed)).collect();
        if let Some(seed) = self.seeds.as_ref().and_then(|seeds| duplicate(shown_seeds(seeds))) {
            let first = self.seeds.iter().flatten().next();
            first.iter().for_each(|seed| reader.problems.set_argument(&seed.origin));
            reader.wrong(&vary(), format!("seed {seed} is listed twice: each seed is run once"));
        }
        for axis in &self.axes {
            let mut rows = vec![String::new(); axis.count()];
            for key in 0..axis.keys.len() {
                let meanings = axis.values(key).iter().map(|value| quantity::meaning(&unlabelled(value)));
                rows.iter_mut().zip(meanings).for_each(|(row, meaning)| *row += &format!("{meaning} "));
            }
            let first = axis.keys.iter().map(|key| key.path.to_string()).collect::<Vec<_>>().join(" and ");
            if duplicate(rows).is_some() {
                axis.origin().iter().for_each(|origin| reader.problems.set_argument(origin));
                reader.wrong(&vary(), format!("{first} has the same value twice: each is run once"));
            }
        }
        reader.problems.set_argument(&Origin::Preset);
    }

    /// Reports that there are too many runs, at the last command-line argument that varies a key, if there is one.
    fn too_many(&self, reader: &mut Reader<'_>) {
        let seeds = self.seeds.as_ref().and_then(|seeds| Some(&seeds.first()?.origin));
        self.axes.iter().filter_map(Axis::origin).chain(seeds).for_each(|origin| {
            if !matches!(origin, Origin::Text(_)) {
                reader.problems.set_argument(origin);
            }
        });
        let message = format!("these are more than {MAX_RUNS} runs: vary fewer keys, or each over fewer values");
        reader.wrong(&vary(), message);
        reader.problems.set_argument(&Origin::Preset);
    }

    fn grid(&self, reader: &mut Reader<'_>) -> Vec<Vec<usize>> {
        let counts: Vec<usize> = self.axes.iter().map(Axis::count).collect();
        let all = counts.iter().try_fold(1usize, |all, count| all.checked_mul(*count).filter(|all| *all <= MAX_RUNS));
        if all.is_none() {
            self.too_many(reader);
            return Vec::new();
        }
        let mut points = vec![Vec::new()];
        for count in counts {
            let with = |point: &Vec<usize>| {
                let point = point.clone();
                (0..count).map(move |value| [&point[..], &[value]].concat())
            };
            points = points.iter().flat_map(with).collect();
        }
        points
    }
}

const SEED: &str = "seed";

fn vary() -> Path {
    Path::default().key("vary")
}

/// Checks `[vary]` of a scenario that is loaded as one run.
pub(crate) fn check(open: &mut Open<'_, '_>) {
    let varied = read(open.reader, &[]);
    if open.reader.problems.is_empty() {
        varied.points(open.reader);
    }
}

/// Reads the keys of `[vary]` in the order of the text, then those of `varies`, which replace equal keys of the text.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, varies: &'a [Vary]) -> Varied {
    let mut varied = Varied::default();
    let mut written: Vec<_> = match reader.root.table().and_then(|table| table.get("vary")) {
        None => Vec::new(),
        Some(entry) => match entry.value.table() {
            Some(table) => table.iter().collect(),
            None => {
                reader.wrong(&vary(), "write [vary] as a table of keys, each with an array of values");
                return varied;
            }
        },
    };
    // Overrides have no position in the text and are first.
    written.sort_by_key(|(_, entry)| match &entry.key {
        Origin::Text(span) => span.start,
        _ => 0,
    });
    let mut zips = Vec::new();
    for (key, entry) in written {
        if !varies.iter().any(|other| is_same_key(reader.root, &other.key, key)) {
            one_key(reader, key, &entry.value, &mut varied, &mut zips);
        }
    }
    for other in varies {
        reader.problems.set_argument(&other.value.origin);
        one_key(reader, &other.key, &other.value, &mut varied, &mut zips);
    }
    reader.problems.set_argument(&Origin::Preset);
    for (keys, path) in zips {
        zip(reader, &mut varied, &keys, &path);
    }
    check_overlaps(reader, &varied);
    varied
}

/// Returns whether both match the same paths, or are the same keyword of `[vary]`.
pub(crate) fn is_same_key(root: &Value, one: &str, other: &str) -> bool {
    one == other || is_same(root, one, other)
}

fn is_same(root: &Value, one: &str, other: &str) -> bool {
    let places = |key: &str| Path::parse(key).ok().and_then(|path| resolve(root, &path).ok());
    places(one).is_some_and(|places_of_one| Some(places_of_one) == places(other))
}

/// Keys that vary together, and the path of the group.
type Zip = (Vec<String>, Path);

fn one_key<'a>(reader: &mut Reader<'a>, key: &str, value: &'a Value, varied: &mut Varied, zips: &mut Vec<Zip>) {
    if reader.problems.is_full() {
        return;
    }
    let place = vary().key(key);
    match key {
        "seeds" => varied.seeds = seeds(reader, value, &place).or_else(|| varied.seeds.take()),
        "design" => reader.problems.key(reader.root, &vary(), key, "unknown key \"design\"; it was removed"),
        "zip" => {
            let message =
                "write arrays of keys that vary together: zip = [[\"link[0].rate\", \"link[0].queue.limit\"]]";
            let texts = |value: &Value| {
                let keys = value.array()?.iter().map(|key| key.text().map(str::to_owned));
                keys.collect::<Option<Vec<String>>>().filter(|keys| keys.len() > 1)
            };
            match value.array().and_then(|groups| groups.iter().map(texts).collect::<Option<Vec<_>>>()) {
                Some(groups) => zips.extend(groups.into_iter().enumerate().map(|(at, group)| (group, place.index(at)))),
                None => reader.wrong(&place, message),
            }
        }
        "list" => varied.axes.extend(list(reader, value, &place)),
        _ => {
            let Some((path, places)) = key_of(reader, key) else { return };
            let values: Vec<Arc<Value>> = match &value.data {
                Data::Array(values) if !values.is_empty() => {
                    values.iter().map(|value| Arc::new(value.clone())).collect()
                }
                Data::Table(_) if range::is_range(value) => match range::read(reader, value, &place) {
                    Some(range) => range.values().map(Arc::new).collect(),
                    None => return,
                },
                Data::Table(_) => {
                    let message = "put the whole key in quotes, such as \"link[0].rate\", and its values in an array, or in a range { from = .., to = .., steps = .. }";
                    reader.problems.key(reader.root, &vary(), key, message);
                    return;
                }
                _ => {
                    reader.problems.key(
                        reader.root,
                        &vary(),
                        key,
                        format!("{path} varies over an array of one or more values"),
                    );
                    return;
                }
            };
            if path.0[..] == [Step::Key(SEED.to_owned())] {
                let is_seed = |value: &&Arc<Value>| matches!(value.data, Data::Integer(seed) if seed >= 0);
                if let Some(wrong) = values.iter().find(|value| !is_seed(value)) {
                    let message = format!("seed {} is not a whole number from 0 to {}", shown(wrong), i64::MAX);
                    reader.problems.key(reader.root, &vary(), key, message);
                    return;
                }
                if varied.seeds.is_some() {
                    let message = "seeds already sets the seeds: leave one of the two out";
                    reader.problems.key(reader.root, &vary(), key, message);
                } else {
                    varied.seeds = Some(values);
                }
                return;
            }
            varied.axes.push(Axis { keys: vec![Varying { path: Arc::new(path), places, values }] });
        }
    }
}

/// Parses a key and returns it with the paths that it matches.
fn key_of(reader: &mut Reader<'_>, key: &str) -> Option<(Path, Vec<Path>)> {
    let path = Path::parse(key).map_err(OverrideError::from);
    let found = path.and_then(|path| resolve(reader.root, &path).map(|places| (path, places)));
    match found {
        Ok((path, _)) if path.0.first() == Some(&Step::Key("vary".to_owned())) => {
            reader.problems.key(reader.root, &vary(), key, "[vary] cannot vary itself");
            None
        }
        Ok(found) => Some(found),
        Err(error) => {
            reader.problems.key(reader.root, &vary(), key, error);
            None
        }
    }
}

fn seeds<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path) -> Option<Vec<Arc<Value>>> {
    let (first, count) = match &value.data {
        Data::Integer(count) => (1, u64::try_from(*count).unwrap_or(0)),
        data if !matches!(data, Data::Table(_)) => {
            let found = de::as_written(value);
            let message = format!(
                "{found} is not a number of seeds: write it, such as seeds = 20, or {{ first = 5, count = 20 }}; the key \
                 \"seed\" takes a list or a range"
            );
            reader.wrong(path, message);
            return None;
        }
        _ => {
            const MAX_SEED: u64 = i64::MAX as u64;
            let mut open = reader.open(value, path, &VOCABULARY.seeds)?;
            for (key, example) in [("first", "1"), ("count", "20")] {
                if open.value(key).is_none() {
                    open.missing(key, example);
                }
            }
            let count = open.within("count", 1..=MAX_RUNS as u64, &format!("from 1 to {MAX_RUNS}"));
            let most = MAX_SEED + 1 - count.unwrap_or(1);
            let first = open.within("first", 0..=most, &format!("write a whole number from 0 to {most}"));
            (first?, count?)
        }
    };
    if !(1..=MAX_RUNS as u64).contains(&count) {
        reader.wrong(path, format!("write how many seeds, from 1 to {MAX_RUNS}: seeds = 20"));
        return None;
    }
    Some(Range::of_integers(value.origin.clone(), first, count).values().map(Arc::new).collect())
}

/// Reads explicit combinations.
fn list(reader: &mut Reader<'_>, value: &Value, path: &Path) -> Option<Axis> {
    let message = "write an array of tables with the same keys: list = [{ \"link[0].rate\" = \"1Mbps\", \"link[0].delay\" = \"10ms\" }]";
    let tables = value.array().and_then(|rows| rows.iter().map(Value::table).collect::<Option<Vec<_>>>());
    let Some([first, ..]) = tables.as_deref().filter(|tables| tables.iter().all(|table| !table.is_empty())) else {
        reader.wrong(path, message);
        return None;
    };
    let tables = tables.as_deref().unwrap_or_default();
    for (row, table) in tables.iter().enumerate() {
        let missing = first.keys().find(|key| !table.contains_key(*key));
        let more = table.keys().find(|key| !first.contains_key(*key));
        if let Some(key) = missing.or(more) {
            let which = if missing.is_some() { "is missing here" } else { "is missing in the first" };
            reader.wrong(&path.index(row), format!("\"{}\" {which}: all tables need the same keys", quoted(key)));
            return None;
        }
    }
    let mut keys = Vec::new();
    for key in first.keys() {
        let (key_path, places) = key_of(reader, key)?;
        if key_path.0[..] == [Step::Key(SEED.to_owned())] {
            reader.wrong(path, "each combination runs with all seeds: write seeds = 20 next to the list");
            return None;
        }
        let values = tables.iter().filter_map(|table| Some(Arc::new(table.get(key)?.value.clone()))).collect();
        keys.push(Varying { path: Arc::new(key_path), places, values });
    }
    Some(Axis { keys })
}

/// Merges the axes of these keys into the axis of the first.
fn zip(reader: &mut Reader<'_>, varied: &mut Varied, keys: &[String], path: &Path) {
    let mut together: Option<usize> = None;
    for key in keys {
        let is_it = |axis: &Axis| axis.keys.len() == 1 && is_same(reader.root, &axis.keys[0].path.to_string(), key);
        let in_it = |axis: &Axis| axis.keys.iter().any(|of| is_same(reader.root, &of.path.to_string(), key));
        let Some(at) = varied.axes.iter().position(is_it) else {
            // A key that an override sets does not vary.
            if !varied.axes.iter().any(in_it) && key_of(reader, key).is_some() {
                reader.wrong(path, format!("\"{}\" has no values: give it an array in [vary], too", quoted(key)));
            } else if varied.axes.iter().any(in_it) {
                reader.wrong(path, format!("\"{}\" already varies together with other keys", quoted(key)));
            }
            return;
        };
        match together {
            None => together = Some(at),
            Some(first) => {
                if varied.axes[first].count() != varied.axes[at].count() {
                    let count = |at: usize| counted(varied.axes[at].count() as u64, "value");
                    let (count_here, count_first) = (count(at), count(first));
                    let first = &varied.axes[first].keys[0].path;
                    reader.wrong(
                        path,
                        format!(
                            "\"{}\" has {count_here}, and {first} has {count_first}: they vary together",
                            quoted(key)
                        ),
                    );
                    return;
                }
                let axis = varied.axes.remove(at);
                let first = first - usize::from(at < first);
                varied.axes[first].keys.extend(axis.keys);
                together = Some(first);
            }
        }
    }
}

/// Reports paths that two keys match.
fn check_overlaps(reader: &mut Reader<'_>, varied: &Varied) {
    let mut known = BTreeSet::new();
    for key in varied.axes.iter().flat_map(|axis| &axis.keys) {
        if let Some(place) = key.places.iter().find(|place| !known.insert((*place).clone())) {
            let message = format!("{place} is also set by another key: leave one of the two out");
            reader.problems.key(reader.root, &vary(), &key.path.to_string(), message);
        }
    }
}

/// Key of a varied table that sets its label. No table of a scenario has this key.
const LABEL: &str = "label";

fn own_label(value: &Value) -> Option<&str> {
    value.table()?.get(LABEL)?.value.text()
}

/// Returns the value without its label.
pub(crate) fn unlabelled(value: &Arc<Value>) -> Arc<Value> {
    if own_label(value).is_none() {
        return Arc::clone(value);
    }
    let mut value = Value::clone(value);
    if let Data::Table(table) = &mut value.data {
        table.remove(LABEL);
    }
    Arc::new(value)
}

/// Returns unique labels of the values of a key. Of values with equal text, the second and later ones get their
/// position in the array. Tables of different kinds have their kinds as labels.
pub(crate) fn labels(values: &[Arc<Value>]) -> Vec<String> {
    let kind = |value: &Arc<Value>| Some(value.table()?.get("kind")?.value.text()?.to_owned());
    let named = |value: &Arc<Value>| own_label(value).map(str::to_owned);
    let kinds: Option<Vec<String>> = values.iter().map(|value| named(value).or_else(|| kind(value))).collect();
    let by_kind = kinds.filter(|kinds| kinds.iter().collect::<BTreeSet<_>>().len() == kinds.len());
    let shown =
        by_kind.unwrap_or_else(|| values.iter().map(|value| named(value).unwrap_or_else(|| shown(value))).collect());
    let mut known: BTreeMap<String, &Value> = BTreeMap::new();
    let mut labels = Vec::with_capacity(values.len());
    for (place, (text, value)) in shown.iter().zip(values).enumerate() {
        let label = quoted(text);
        labels.push(match known.get(&label) {
            Some(_) => format!("{label} #{}", place + 1),
            None => {
                known.insert(label.clone(), value);
                label
            }
        });
    }
    labels
}

/// Formats a value for a label.
fn shown(value: &Value) -> String {
    match &value.data {
        Data::Text(text) | Data::Datetime(text) | Data::Unrepresentable(text) => text.clone(),
        Data::Integer(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Boolean(value) => value.to_string(),
        Data::Array(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(",")),
        Data::Table(table) => {
            let pairs = table.iter().map(|(key, entry)| format!("{key}={}", shown(&entry.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
    }
}
