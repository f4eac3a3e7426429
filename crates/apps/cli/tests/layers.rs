//! Dependency cycles between the files of a crate have at most three files.
//!
//! The test reads paths from the text of the sources. `mod` declarations, `pub use` of a file's own submodules, and
//! unit tests do not count. An imported name refers to the file that defines it, also if it is imported from another
//! file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names of a path from the root of the crate, such as `["connection", "mtu", "PathMtu"]`.
type Names = Vec<String>;

/// Source file.
#[derive(Default)]
struct Source {
    /// Paths of imports with their names, and whether they are public.
    imports: Vec<(Names, String, bool)>,
    /// Other paths in the text.
    paths: Vec<Names>,
}

fn sources(src: &Path, folder: &Path, all: &mut BTreeMap<Names, Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            sources(src, &path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            let mut module: Names = path
                .strip_prefix(src)
                .unwrap()
                .with_extension("")
                .iter()
                .map(|name| name.to_str().unwrap().into())
                .collect();
            module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
            if !module.iter().any(|name| name == "tests") {
                all.insert(module, Source::read(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
}

impl Source {
    fn read(text: &str) -> Self {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let mut source = Self::default();
        let mut import = String::new();
        for line in text.lines().map(|line| line.split("//").next().unwrap()) {
            let is_public = |line: &str| line.starts_with("pub");
            let begins = line.starts_with("use ") || is_public(line) && line.contains(" use ");
            if begins || !import.is_empty() {
                import.push_str(line);
                if line.ends_with(';') {
                    let (before, tree) = import.split_once("use ").unwrap();
                    expand(&[], tree.trim_end_matches(';'), is_public(before), &mut source.imports);
                    import.clear();
                }
            } else {
                let of_path = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
                let words = line.split(|letter| !of_path(letter)).filter(|word| word.contains("::"));
                source.paths.extend(words.map(names));
            }
        }
        source
    }
}

fn names(path: &str) -> Names {
    path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Adds the paths of a tree such as `a::{b, c::{self, D as E}}`.
fn expand(before: &[String], tree: &str, public: bool, all: &mut Vec<(Names, String, bool)>) {
    let Some((head, rest)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path = [before, &names(path)].concat();
        path.pop_if(|last| last == "self");
        let name = alias.or(path.last().map(String::as_str)).unwrap_or_default().to_owned();
        return all.push((path, name, public));
    };
    let before = [before, &names(head)].concat();
    let (mut depth, mut from) = (0, 0);
    let inside = rest.rsplit_once('}').unwrap().0;
    for (at, letter) in inside.char_indices().chain([(inside.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[from..at].trim().is_empty() {
                    expand(&before, &inside[from..at], public, all);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the module that defines the item of `path`, a path in the file of `module`.
fn target(all: &BTreeMap<Names, Source>, module: &[String], path: &[String], depth: u8) -> Option<Names> {
    let (mut at, mut rest) = (module.to_vec(), path);
    match rest.first()?.as_str() {
        "crate" => (at, rest) = (vec![], &rest[1..]),
        "self" | "super" => {
            while let Some(name) = rest.first().filter(|name| ["self", "super"].contains(&name.as_str())) {
                if name == "super" {
                    at.pop()?;
                }
                rest = &rest[1..];
            }
        }
        first => {
            all.get(&[module, &[first.to_owned()]].concat())?;
        }
    }
    while let Some((name, following)) = rest.split_first() {
        let child = [at.as_slice(), std::slice::from_ref(name)].concat();
        if !all.contains_key(&child) {
            let import = all.get(&at)?.imports.iter().find(|(_, given, _)| given == name);
            let further = import.filter(|_| depth < 8).map(|(path, ..)| [path.as_slice(), following].concat());
            return Some(further.and_then(|path| target(all, &at, &path, depth + 1)).unwrap_or(at));
        }
        (at, rest) = (child, following);
    }
    Some(at)
}

/// Adds the files that `from` uses, directly or through other files.
fn reach<'a>(uses: &'a BTreeMap<Names, BTreeSet<Names>>, from: &Names, seen: &mut BTreeSet<&'a Names>) {
    for used in uses.get(from).into_iter().flatten() {
        if seen.insert(used) {
            reach(uses, used, seen);
        }
    }
}

/// Returns the sets of files that use one another, directly or through other files.
fn cycles(src: &Path) -> BTreeSet<BTreeSet<Names>> {
    let mut all = BTreeMap::new();
    sources(src, src, &mut all);
    let mut uses: BTreeMap<Names, BTreeSet<Names>> = BTreeMap::new();
    for (module, source) in &all {
        let imports = source.imports.iter().map(|(path, _, public)| (path, *public));
        for (path, public) in imports.chain(source.paths.iter().map(|path| (path, false))) {
            let used = target(&all, module, path, 0).filter(|used| used != module);
            // A `pub use` of a file's own submodule does not count.
            if let Some(used) = used.filter(|used| !(public && used.starts_with(module))) {
                uses.entry(module.clone()).or_default().insert(used);
            }
        }
    }
    let reached = |from| {
        let mut seen = BTreeSet::new();
        reach(&uses, from, &mut seen);
        seen
    };
    let all: BTreeMap<_, _> = uses.keys().map(|from| (from, reached(from))).collect();
    let cycle = |(from, seen): (&&Names, &BTreeSet<&Names>)| -> BTreeSet<Names> {
        seen.iter()
            .filter(|used| all.get(**used).is_some_and(|back| back.contains(*from)))
            .map(|used| (*used).clone())
            .collect()
    };
    all.iter().map(cycle).collect()
}

#[test]
fn cycles_have_at_most_three_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folders = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
    };
    let all: Vec<PathBuf> =
        folders(&crates).iter().flat_map(|layer| folders(layer)).map(|one| one.join("src")).collect();
    assert!(all.len() > 15, "{all:?}");
    let mut pairs = 0;
    for src in all {
        for cycle in cycles(&src) {
            let files: Vec<String> = cycle.iter().map(|module| module.join("/")).collect();
            assert!(files.len() <= 3, "{}: these files use one another: {}", src.display(), files.join(", "));
            pairs += usize::from(files.len() > 1);
        }
    }
    assert!(pairs > 0, "the test finds cycles of two files");
}
