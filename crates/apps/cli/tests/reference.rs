//! Pages of the book that are generated: scenario keys from the JSON Schema, commands from their help, and the index of
//! scenarios from the comments of the files. `UPDATE_DOCS=1` writes them.

use crate::common::{headway, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Compares a generated page with the book, or writes it.
fn check(page: &str, generated: &str) {
    let path = root().join("docs/src").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(old == generated, "run this test with UPDATE_DOCS=1 to write docs/src/{page}");
}

fn printed(arguments: &[&str]) -> String {
    let output = headway(arguments).env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success(), "headway {}: {}", arguments.join(" "), text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Returns the commands that a help text lists, without `help`.
fn commands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let entries = list.lines().take_while(|line| !line.is_empty());
    let names = entries.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_page_of_commands_has_their_help() {
    let mut page = head(
        "Commands",
        "This page lists the commands of the program `headway` with their options, as `headway COMMAND --help` prints \
         them. Times, rates and sizes have units, such as `20ms`, `2Mbps` and `1500B`.",
    );
    let mut waiting = VecDeque::from([Vec::<String>::new()]);
    while let Some(words) = waiting.pop_front() {
        let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = printed(&arguments);
        let below: Vec<_> = commands(&help).into_iter().map(|name| [words.clone(), vec![name]].concat()).collect();
        for command in below.into_iter().rev() {
            waiting.push_front(command);
        }
        let name = ["headway"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    }
    check("commands.md", &page);
}

#[test]
fn the_index_of_scenarios_has_each_file_with_its_first_sentence() {
    let mut names: Vec<_> =
        std::fs::read_dir(root().join("scenarios")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    names.sort();
    let mut page = head(
        "Scenarios that are included",
        "This page lists the files in `scenarios/`. Run one with `headway run scenarios/demo.toml`; the comment at the \
         top of a file describes what to compare. The charts, which `docs/thumbnails.sh` makes, show one quantity of a \
         run: a line is a flow, a link or a group of flows. The [gallery](gallery.md) has larger charts with legends.",
    );
    page.push_str("\n| chart | file and contents |\n|---|---|\n");
    let mut pictures = BTreeSet::new();
    for path in names {
        let file = std::fs::read_to_string(&path).unwrap();
        let comment = file.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
        let paragraph = comment.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(first, _)| first);
        let sentence = sentence.trim_end_matches(['.', ':']);
        assert!(!sentence.is_empty(), "{} has no comment at the top", path.display());
        let name = path.file_stem().unwrap().to_str().unwrap();
        let picture = format!("pictures/scenarios/{name}.svg");
        writeln!(page, "| [![{name}]({picture})]({picture}) | `{name}.toml`: {sentence} |").unwrap();
        pictures.insert(format!("{name}.svg"));
    }
    check("scenarios.md", &page);
    let stored: BTreeMap<_, _> = std::fs::read_dir(root().join("docs/src/pictures/scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    assert_eq!(stored.keys().collect::<Vec<_>>(), pictures.iter().collect::<Vec<_>>(), "run docs/thumbnails.sh");
    for (name, bytes) in stored {
        assert!((1000..15_000).contains(&bytes), "{name} has {bytes} bytes");
    }
}

/// Pages of keys: file, prefix of the paths of their tables, title, and the text at the top.
const PAGES: [(&str, &str, &str, &str); 2] = [
    (
        "keys.md",
        "",
        "Scenario keys",
        "This page lists the tables of a scenario file with all keys, except for those of \
         [transports](keys-of-transports.md). It is generated from the schema that `headway schema` prints. \
         [Scenarios](scenario.md) describes how the tables belong together. An absent key has the value of the dialect, \
         which the page of its subject lists.",
    ),
    (
        "keys-of-transports.md",
        "flow.transport",
        "Keys of transports",
        "This page lists the keys of `transport` of a flow, for each kind. It is generated from the schema that \
         `headway schema` prints. [TCP](tcp.md), [DCCP](dccp.md) and [rate controllers](rate.md) list the values in each \
         dialect.",
    ),
];

/// A table of the schema that gets a section: its path, such as `link.queue`, its kind, and its schema.
struct Table<'a> {
    path: String,
    kind: Option<String>,
    schema: &'a Value,
}

struct Keys<'a> {
    definitions: &'a Value,
    seen: BTreeSet<&'a str>,
    waiting: VecDeque<Table<'a>>,
    /// The schemas of a path and key, each with the first kind that has it.
    known: BTreeMap<(String, &'a str), Vec<(String, &'a Value)>>,
}

impl<'a> Keys<'a> {
    /// Returns the definition that a schema refers to, and its name.
    fn resolve(&self, schema: &'a Value) -> (Option<&'a str>, &'a Value) {
        let name = schema["$ref"].as_str().map(|reference| reference.trim_start_matches("#/$defs/"));
        name.map_or((None, schema), |name| (Some(name), &self.definitions[name]))
    }

    /// Describes the values of a key in a few words. Tables in it are put in line for a section.
    fn values(&mut self, path: &str, kind: Option<&str>, schema: &'a Value) -> String {
        let (name, schema) = self.resolve(schema);
        if schema["properties"].is_object() {
            if name.is_none_or(|name| self.seen.insert(name)) {
                self.waiting.push_back(Table { path: path.to_owned(), kind: kind.map(str::to_owned), schema });
            }
            return "table".to_owned();
        }
        if let Some(alternatives) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
            if alternatives.iter().all(|one| one["properties"]["kind"]["const"].is_string()) {
                if name.is_none_or(|name| self.seen.insert(name)) {
                    let kinds = alternatives.iter().map(|one| (kind_of(&one["properties"]), one));
                    self.waiting.extend(kinds.map(|(kind, schema)| Table { path: path.to_owned(), kind, schema }));
                }
                return "table with `kind`".to_owned();
            }
            let mut texts: Vec<String> = Vec::new();
            for one in alternatives {
                let is_none = one["type"] == "boolean";
                let text = if is_none { "`false`".to_owned() } else { self.values(path, kind, one) };
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            return texts.join(", ");
        }
        if let Some(value) = schema.get("const") {
            return format!("`{value}`");
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
        }
        match (schema["type"].as_str(), name) {
            (Some("array"), _) => format!("list of {}", self.values(path, kind, &schema["items"])),
            (Some("string"), Some(name)) => words(name),
            (Some("boolean"), _) => "`true`, `false`".to_owned(),
            (Some("object"), _) => "table".to_owned(),
            (Some(kind), _) => kind.to_owned(),
            (None, _) => "any".to_owned(),
        }
    }

    /// Returns the first kind that has the same key with the same meaning, if it is another one.
    fn other_kind(&mut self, path: &str, kind: &str, key: &'a str, property: &'a Value) -> Option<String> {
        let known = self.known.entry((path.to_owned(), key)).or_default();
        let other = known.iter().find(|(_, schema)| *schema == property).map(|(kind, _)| kind.clone());
        if other.is_none() {
            known.push((kind.to_owned(), property));
        }
        other
    }

    /// Returns a list of the values of a key with their meanings, if the schema has these. Dialects have a page.
    fn meanings(&self, key: &str, property: &'a Value) -> String {
        let alternatives = property["anyOf"].as_array().into_iter().flatten();
        let schemas = std::iter::once(property).chain(alternatives).map(|schema| self.resolve(schema));
        let described = schemas.filter(|(name, _)| *name != Some("Dialect"));
        let values = described.filter_map(|(_, schema)| schema["oneOf"].as_array()).flatten();
        let mut list = String::new();
        for value in values {
            if let (Some(name), Some(meaning)) = (value["const"].as_str(), value["description"].as_str()) {
                let item = format!("- `\"{name}\"`: {}", meaning.replace('\n', " "));
                writeln!(list, "{}", wrapped(&item, 98).replace('\n', "\n  ")).unwrap();
            }
        }
        if list.is_empty() { list } else { format!("\nValues of `{key}`:\n\n{list}") }
    }

    /// Appends the section of a table.
    fn section(&mut self, page: &mut String, Table { path, kind, schema }: Table<'a>) {
        let (mut rows, mut lists) = (String::new(), String::new());
        let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in schema["properties"].as_object().unwrap() {
            if key == "kind" {
                continue;
            }
            if let Some(other) = kind.as_deref().and_then(|kind| self.other_kind(&path, kind, key, property)) {
                others.entry(other).or_default().push(format!("`{key}`"));
                continue;
            }
            let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let values = self.values(&place, kind.as_deref(), property).replace('|', "\\|");
            let meaning = property["description"].as_str().unwrap_or_default().replace('|', "\\|").replace('\n', " ");
            let mark = if required.contains(&key.as_str()) { ", required" } else { "" };
            writeln!(rows, "| `{key}`{mark} | {values} | {meaning} |").unwrap();
            lists.push_str(&self.meanings(key, property));
        }
        let title = match (path.as_str(), kind) {
            ("", _) => "The file".to_owned(),
            (path, None) => path.to_owned(),
            (path, Some(kind)) => format!("{path}: {kind}"),
        };
        writeln!(page, "\n## {title}\n").unwrap();
        if !rows.is_empty() {
            write!(page, "| key | values | meaning |\n|---|---|---|\n{rows}{lists}").unwrap();
        }
        for (index, (other, keys)) in others.iter().enumerate() {
            let line = format!("As for `{other}`: {}.", keys.join(", "));
            let gap = if index > 0 || !rows.is_empty() { "\n" } else { "" };
            writeln!(page, "{gap}{}", wrapped(&line, 100)).unwrap();
        }
        if rows.is_empty() && others.is_empty() {
            writeln!(page, "No keys.").unwrap();
        }
    }
}

/// Returns the title of a page and the text below it.
fn head(title: &str, text: &str) -> String {
    format!("# {title}\n\n{}\n", wrapped(text, 100))
}

/// Wraps a line at `width` columns. No line begins with a mark of a list.
fn wrapped(line: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().unwrap();
        if !last.is_empty() && last.len() + 1 + word.len() > width && !["+", "-", "*"].contains(&word) {
            lines.push(word.to_owned());
        } else {
            *last = format!("{last} {word}").trim_start().to_owned();
        }
    }
    lines.join("\n")
}

/// Returns the kind of a table, with its CCID if it is of a DCCP connection.
fn kind_of(properties: &Value) -> Option<String> {
    let kind = properties["kind"]["const"].as_str()?;
    Some(properties["ccid"]["const"].as_u64().map_or_else(|| kind.to_owned(), |ccid| format!("{kind}, ccid {ccid}")))
}

/// Returns the name of a type as words: `QueueSize` is `queue size`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[test]
fn the_pages_of_keys_have_each_table_of_the_schema() {
    let schema: Value = serde_json::from_str(&printed(&["schema"])).unwrap();
    let root = Table { path: String::new(), kind: None, schema: &schema };
    let waiting = VecDeque::from([root]);
    let mut keys = Keys { definitions: &schema["$defs"], seen: BTreeSet::new(), waiting, known: BTreeMap::new() };
    let mut pages = PAGES.map(|(_, _, title, text)| head(title, text));
    while let Some(table) = keys.waiting.pop_front() {
        let page = PAGES.iter().rposition(|(_, prefix, _, _)| table.path.starts_with(prefix)).unwrap();
        keys.section(&mut pages[page], table);
    }
    for ((name, _, _, _), page) in PAGES.iter().zip(pages) {
        assert!(!page.contains("](crate") && !page.contains("[`"), "{name}: a description has a link of rustdoc");
        check(name, &page);
    }
}
