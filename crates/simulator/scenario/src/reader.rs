//! Reads the tables of a scenario and continues after errors, so that all errors are reported at once.

use crate::de::{self, Fault};
use crate::disabled::{Disabled, Keys};
use crate::document::{self, Data, Origin, Table, Value};
use crate::key_range;
use crate::kind_options::KindOptions;
use crate::path::{Path, Step};
use crate::problem::Problems;
use crate::suggest::{REMOVED, choices, hint, nearest, quoted};
use crate::vocabulary::KindKeys;
use headway_units::{Dialect, OptionError, SchemaRegistry};
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::ops::RangeBounds;

/// Document that is being read, with the problems found so far.
pub(crate) struct Reader<'a> {
    pub(crate) root: &'a Value,
    pub(crate) problems: Problems,
    /// Keys that an error about an unknown key proposed. They are not reported as missing, too.
    proposed: Vec<Path>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, problems: Problems::default(), proposed: Vec::new() }
    }

    pub(crate) fn wrong(&mut self, path: &Path, message: impl ToString) {
        self.problems.value(self.root, path, message);
    }

    /// Reports that the table at `path` lacks `key`.
    fn missing(&mut self, path: &Path, key: &str, example: &str) {
        if !self.proposed.contains(&path.key(key)) {
            self.wrong(path, format!("the key \"{key}\" is missing; write it like {key} = {example}"));
        }
    }

    /// Opens a table and reports the keys that are not `known`.
    pub(crate) fn open(&mut self, value: &'a Value, path: &Path, known: &Keys) -> Option<Open<'_, 'a>> {
        let Some(table) = value.table() else {
            let keys = known.keys().cloned().collect::<Vec<_>>().join(", ");
            let found = de::as_written(value);
            // A key can be left out, an element of an array cannot.
            let none = matches!(path.0.last(), Some(Step::Key(_))) && value.data == Data::Boolean(false);
            let none = if none { ", or leave it out for none" } else { "" };
            self.wrong(path, format!("{found} is not a table: write one with the keys {keys}{none}"));
            return None;
        };
        self.unknown_keys(table, path, known, None, &|_, _| None);
        Some(Open { reader: self, table, path: path.clone() })
    }

    /// Reports the keys of a table that are not `known`. `kind` is the entry of the kind if an override has set it.
    /// `place` returns where an unknown key is allowed, or that it was removed.
    fn unknown_keys(
        &mut self,
        table: &Table,
        path: &Path,
        known: &Keys,
        kind: Option<&document::Entry>,
        place: &dyn Fn(&str, &Keys) -> Option<String>,
    ) {
        for (key, entry) in table.iter().filter(|(key, _)| !known.contains_key(*key)) {
            if self.problems.is_full() {
                return;
            }
            let hint = match place(key, known) {
                Some(place) => format!("; it {place}"),
                None => {
                    let known = known.keys().map(String::as_str);
                    self.proposed.extend(nearest(key, known.clone()).map(|near| path.key(near)));
                    hint(key, known)
                }
            };
            let Some(kind) = kind.filter(|_| !entry.is_overridden()) else {
                self.problems.key(self.root, path, key, format!("unknown key \"{}\"{hint}", quoted(key)));
                continue;
            };
            let message =
                format!("this kind has no key \"{}\": leave the key out, or override the whole table", quoted(key));
            self.problems.key(self.root, path, key, message);
            self.problems.attribute(&kind.value.origin, kind.value.text().unwrap_or_default());
        }
        for (name, entry) in table {
            if let (Some(key), Some(within)) = (known.get(name), entry.value.table())
                && !key.table.is_empty()
            {
                self.unknown_keys(within, &path.key(name), &key.table, kind, place);
            }
        }
    }

    fn fault(&mut self, path: &Path, mut fault: Fault) {
        if fault.about_key
            && let Some(Step::Key(key)) = fault.steps.pop()
        {
            self.problems.key(self.root, &path.join(&fault.steps), &key, fault.message);
            return;
        }
        let path = path.join(&fault.steps);
        // An array in place of a value is probably meant to vary the key; an array within an array is not.
        if fault.is_list && matches!(path.0.last(), Some(Step::Key(_))) {
            let message = fault.message;
            let message =
                format!("{message}: to make a run of each value, write them under [vary], as \"{path}\" = [...]");
            self.wrong(&path, message);
        } else {
            self.wrong(&path, fault.message);
        }
    }

    /// Reads `kind` and the options of that kind. Absent options have the values of the preset of the dialect.
    pub(crate) fn options<R: SchemaRegistry>(
        &mut self,
        value: &Value,
        path: &Path,
        dialect: Dialect,
        known: &KindKeys,
    ) -> Option<KindOptions<R>> {
        let what = R::WHAT;
        let Some(table) = value.table() else {
            // A kind in place of the table: the example in the error has this kind.
            let is_written =
                |kind: &&&'static str| value.text() == Some(written::<R>(kind).map_or(**kind, |(stem, _)| stem));
            let kind = R::KINDS.iter().find(is_written).unwrap_or(&R::KINDS[0]);
            let (found, example) = (de::as_written(value), example_of::<R>(kind, dialect));
            self.wrong(path, format!("{found} is not a table: the {what} is a table, such as {example}"));
            return None;
        };
        let Some(entry) = table.get("kind") else {
            self.wrong(
                path,
                format!("the key \"kind\" is missing: the kinds of {what} are {}", words::<R>().join(", ")),
            );
            return None;
        };
        let Some(kind) = entry.value.text() else {
            self.wrong(&path.key("kind"), format!("the kind of a {what} is text, such as \"{}\"", R::KINDS[0]));
            return None;
        };
        let number_key = R::NUMBERED.filter(|(stem, _)| *stem == kind).map(|(_, key)| key);
        let kind = match number_key {
            Some(key) => self.numbered_kind::<R>(table, path, kind, key)?,
            None => kind.to_owned(),
        };
        let kind = kind.as_str();
        let known_kind = R::KINDS.iter().find(|known| **known == kind);
        let is_written_so = |kind| number_key.is_some() || written::<R>(kind).is_none();
        let (Some(keys), true) = (known.get(kind), known_kind.is_some_and(|kind| is_written_so(*kind))) else {
            let choices = choices(kind, words::<R>());
            self.wrong(&path.key("kind"), format!("unknown {what} \"{}\"{choices}", quoted(kind)));
            return None;
        };
        let overridden = Some(entry).filter(|entry| entry.is_overridden());
        self.unknown_keys(table, path, keys, overridden, &|key, here| place_of::<R>(key, here, keys, known));

        let own_dialect = table.get("dialect").and_then(|entry| self.read(&entry.value, &path.key("dialect")));
        let preset = R::preset(kind, own_dialect.unwrap_or(dialect))?;
        let mut written = table.clone();
        written.retain(|key, _| !matches!(key.as_str(), "kind" | "dialect") && Some(key.as_str()) != number_key);
        // Unknown keys have been reported.
        drop_unknown(&mut written, keys);
        let disabled = Disabled::take(&mut written, keys);
        let options = self.over_preset(kind, &preset, &written, &disabled, path)?;
        if let Err(error) = options.check() {
            if let (Some(example), false) = (&error.example, written.contains_key(error.key)) {
                self.missing(path, error.key, example);
                if let Some(kind) = overridden {
                    self.problems.attribute(&kind.value.origin, kind.value.text().unwrap_or_default());
                }
                return None;
            }
            let path = error.tables.iter().fold(path.clone(), |path, table| path.key(table));
            self.wrong(&path.key(error.key), error.message);
            return None;
        }
        let unused = without_effect(&preset, &options, &written);
        for error in &unused {
            let path = error.tables.iter().fold(path.clone(), |path, table| path.key(table));
            self.wrong(&path.key(error.key), error.message.clone());
            if let Some(kind) = overridden {
                self.problems.attribute(&kind.value.origin, kind.value.text().unwrap_or_default());
            }
        }
        unused.is_empty().then_some(KindOptions { dialect: own_dialect, options, disabled })
    }

    /// Returns the kind whose number is the value of `key`.
    fn numbered_kind<R: SchemaRegistry>(
        &mut self,
        table: &Table,
        path: &Path,
        stem: &str,
        key: &'static str,
    ) -> Option<String> {
        let numbers: Vec<&str> = R::KINDS.iter().filter_map(|kind| Some(written::<R>(kind)?.1)).collect();
        let Some(entry) = table.get(key) else {
            let message = format!("the key \"{key}\" is missing; write it like {key} = {}", numbers.first()?);
            self.wrong(path, message);
            return None;
        };
        match entry.value.data {
            Data::Integer(number) if numbers.contains(&number.to_string().as_str()) => Some(format!("{stem}-{number}")),
            _ => {
                let message =
                    format!("this is not a {key} of {stem}: write one of {}, without quotes", numbers.join(", "));
                self.wrong(&path.key(key), message);
                None
            }
        }
    }

    fn over_preset<R: SchemaRegistry>(
        &mut self,
        kind: &str,
        preset: &R,
        written: &Table,
        disabled: &Disabled,
        path: &Path,
    ) -> Option<R> {
        let Some(mut preset) = preset_table(preset) else {
            self.wrong(path, format!("the preset of \"{kind}\" is not a table: this is a bug of headway"));
            return None;
        };
        disabled.remove_from(&mut preset);
        let read = |written: &Table| with_preset::<R>(kind, &preset, written);
        let fault = match read(written) {
            Ok(options) => return Some(options),
            Err(fault) => fault,
        };
        let narrowed = |fault| key_range::narrowed::<R>(kind, &preset, written, fault);
        // Reads each key by itself, so that all wrong keys are reported.
        let fault_of =
            |(key, entry): (&String, &document::Entry)| read(&Table::from([(key.clone(), entry.clone())])).err();
        let faults: Vec<Fault> = written.iter().filter_map(fault_of).collect();
        if faults.is_empty() {
            self.fault(path, narrowed(fault));
        }
        for fault in faults {
            self.fault(path, narrowed(fault));
        }
        None
    }

    pub(crate) fn read<T: DeserializeOwned>(&mut self, value: &Value, path: &Path) -> Option<T> {
        de::read(value).map_err(|fault| self.fault(path, fault)).ok()
    }
}

/// Describes where a key that is not in `here` is allowed, or that it was removed. `here` is the table of a kind with
/// these `keys`, or a table within it.
fn place_of<R: SchemaRegistry>(key: &str, here: &Keys, keys: &Keys, known: &KindKeys) -> Option<String> {
    if let Some(table) = table_with(key, here).or_else(|| table_with(key, keys)) {
        return Some(match table.as_str() {
            "" => "is a key of the enclosing table".to_owned(),
            table => format!("is in the table \"{table}\": write {table} = {{ {key} = .. }}"),
        });
    }
    let kinds = R::KINDS.iter().filter(|kind| known.get(**kind).is_some_and(|keys| table_with(key, keys).is_some()));
    let mut words: Vec<_> = kinds.map(|kind| written::<R>(kind).map_or(*kind, |(stem, _)| stem)).collect();
    words.dedup();
    let is_within = !std::ptr::eq(here, keys);
    if REMOVED.contains(&key) && (is_within || words.is_empty()) {
        return Some("was removed".to_owned());
    }
    (!words.is_empty()).then(|| format!("is a key of {}", words.join(", ")))
}

/// Returns the table with this key among the keys and the tables within them, as `outer.inner`: empty for the keys
/// themselves.
fn table_with(key: &str, keys: &Keys) -> Option<String> {
    if keys.contains_key(key) {
        return Some(String::new());
    }
    keys.iter().find_map(|(name, within)| match table_with(key, &within.table)?.as_str() {
        "" => Some(name.clone()),
        table => Some(format!("{name}.{table}")),
    })
}

/// Removes unknown keys from a table and the tables within it.
fn drop_unknown(table: &mut Table, known: &Keys) {
    table.retain(|name, _| known.contains_key(name));
    for (name, entry) in table {
        if let (Some(key), Data::Table(within)) = (known.get(name), &mut entry.value.data)
            && !key.table.is_empty()
        {
            drop_unknown(within, &key.table);
        }
    }
}

/// Returns the keys of a preset without those that name its kind.
fn preset_table<R: SchemaRegistry>(preset: &R) -> Option<Table> {
    let preset = serde_json::to_value(preset).ok().and_then(document::preset);
    let Some(Value { data: Data::Table(mut preset), .. }) = preset else { return None };
    for key in ["kind"].into_iter().chain(R::NUMBERED.map(|(_, key)| key)) {
        preset.remove(key);
    }
    Some(preset)
}

/// Returns the written keys that have no effect. Keys with the value of the preset are allowed: a resolved scenario has
/// all keys.
fn without_effect<R: SchemaRegistry>(preset: &R, options: &R, written: &Table) -> Vec<OptionError> {
    let unused = options.unused();
    if unused.is_empty() {
        return unused;
    }
    let (Some(preset), Some(options)) = (preset_table(preset), preset_table(options)) else { return Vec::new() };
    let value = |table: &Table, error: &OptionError| {
        let table = error.tables.iter().try_fold(table.clone(), |table, name| table.get(*name)?.value.table().cloned());
        table.and_then(|table| table.get(error.key).map(|entry| entry.value.clone()))
    };
    let has_no_effect = |error: &OptionError| {
        let is_preset = match (value(&preset, error), value(&options, error)) {
            (Some(preset), Some(chosen)) => preset.is_alike(&chosen),
            (preset, chosen) => preset == chosen,
        };
        value(written, error).is_some() && !is_preset
    };
    unused.into_iter().filter(has_no_effect).collect()
}

/// Reads the written keys merged into the preset of their kind.
pub(crate) fn with_preset<R: SchemaRegistry>(kind: &str, preset: &Table, written: &Table) -> Result<R, Fault> {
    let mut merged = preset.clone();
    document::merge(&mut merged, written);
    let value = Value { origin: Origin::Preset, data: Data::Table(merged) };
    de::read_with(|deserializer| R::deserialize(kind, deserializer), &value)
}

/// Returns an example table of this kind with the keys that its preset lacks; `..` for keys without an example.
fn example_of<R: SchemaRegistry>(kind: &'static str, dialect: Dialect) -> String {
    let mut example = match (written::<R>(kind), R::NUMBERED) {
        (Some((stem, number)), Some((_, key))) => format!("kind = \"{stem}\", {key} = {number}"),
        _ => format!("kind = \"{kind}\""),
    };
    let preset = R::preset(kind, dialect).and_then(|preset| preset_table(&preset)).unwrap_or_default();
    let mut keys = Table::new();
    while let Some(lacking) = with_preset::<R>(kind, &preset, &keys).ok().and_then(|options| options.check().err()) {
        let value = lacking.example.as_ref().and_then(|text| document::parse_value(text, &Origin::Preset).ok());
        let (Some(text), Some(value), false) = (&lacking.example, value, keys.contains_key(lacking.key)) else {
            example.push_str(", ..");
            break;
        };
        example.push_str(&format!(", {} = {text}", lacking.key));
        keys.insert(lacking.key.to_owned(), document::Entry { key: Origin::Preset, value });
    }
    format!("{{ {example} }}")
}

/// Returns the word and the number of a numbered kind.
fn written<R: SchemaRegistry>(kind: &'static str) -> Option<(&'static str, &'static str)> {
    let (stem, _) = R::NUMBERED?;
    Some((stem, kind.strip_prefix(stem)?.strip_prefix('-')?))
}

/// Returns the allowed values of `kind`.
fn words<R: SchemaRegistry>() -> Vec<&'static str> {
    let mut words: Vec<_> = R::KINDS.iter().map(|kind| written::<R>(kind).map_or(*kind, |(stem, _)| stem)).collect();
    words.dedup();
    words
}

/// Table that is being read. Invalid values are reported and replaced by the default.
pub(crate) struct Open<'r, 'a> {
    pub(crate) reader: &'r mut Reader<'a>,
    table: &'a Table,
    pub(crate) path: Path,
}

impl<'a> Open<'_, 'a> {
    pub(crate) fn value(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key).map(|entry| &entry.value)
    }

    pub(crate) fn wrong(&mut self, key: &str, message: impl ToString) {
        let path = self.path.key(key);
        self.reader.wrong(&path, message);
    }

    /// Reads `key`. Returns `None` if it is absent or invalid.
    pub(crate) fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.value(key)?;
        let path = self.path.key(key);
        self.reader.read(value, &path)
    }

    /// Reads `key` with a value in `range`, which `allowed` describes in the error message.
    pub(crate) fn within<T>(&mut self, key: &str, range: impl RangeBounds<T>, allowed: &str) -> Option<T>
    where
        T: DeserializeOwned + PartialOrd + Display,
    {
        let value = self.value(key)?;
        let refused = match de::read::<T>(value) {
            Ok(value) if range.contains(&value) => return Some(value),
            Ok(value) => value.to_string(),
            Err(Fault { out_of_range: Some(found), .. }) => found,
            Err(_) => return self.optional(key),
        };
        self.wrong(key, format!("{refused} is out of range: {allowed}"));
        None
    }

    /// Reads `key`, which must be present.
    pub(crate) fn required<T: DeserializeOwned>(&mut self, key: &str, example: &str) -> Option<T> {
        if self.value(key).is_none() {
            self.missing(key, example);
        }
        self.optional(key)
    }

    /// Reads `kind` and its options in the table `key`.
    pub(crate) fn options<R: SchemaRegistry>(
        &mut self,
        key: &str,
        dialect: Dialect,
        known: &KindKeys,
    ) -> Option<KindOptions<R>> {
        let value = self.value(key)?;
        let path = self.path.key(key);
        self.reader.options(value, &path, dialect, known)
    }

    /// Returns the tables of an array of tables, each with its path.
    pub(crate) fn tables(&mut self, key: &str) -> Vec<(&'a Value, Path)> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let path = self.path.key(key);
        match value.array() {
            Some(values) => values.iter().enumerate().map(|(index, value)| (value, path.index(index))).collect(),
            None => {
                let found = de::as_written(value);
                self.wrong(key, format!("{found} is not an array: write [[{key}]] with two brackets"));
                Vec::new()
            }
        }
    }

    pub(crate) fn missing(&mut self, key: &str, example: &str) {
        let path = self.path.clone();
        self.reader.missing(&path, key, example);
    }
}
