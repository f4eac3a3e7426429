//! Runs the code blocks of the book and the README files.
//!
//! This test runs blocks of the kinds `console` and `sh`, page by page. Each command must succeed, unless the page
//! shows its error. Blocks with a requirement (`console,needs=minutes`) are counted and not run, but the options of
//! their commands are checked. Other kinds have separate tests, see [`KINDS`].
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "a free port is found by binding it")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Kinds of blocks, and the tests that run them.
const KINDS: [(&str, &str); 10] = [
    ("console", "this test"),
    ("sh", "this test"),
    ("toml", "crates/simulator/scenario/tests/book.rs, and tests of papers and rules"),
    ("python", "python/tests/test_book.py"),
    ("sql", "python/tests/test_book.py"),
    ("rust", "the documentation tests of the crate, or crates/*/*/tests/book.rs"),
    ("rust,ignore", "validation/adding/run, or the included examples of headway-net"),
    ("c", "crates/apps/capi/tests/c.rs, for the included example"),
    ("mermaid", "drawn by mdBook"),
    ("text", "not code"),
];

/// Requirements of blocks that are not run, with the number of blocks.
const NEEDS: &[(&str, usize)] = &[
    ("cargo", 3),
    ("cargo-mutants", 3),
    ("cluster", 3),
    ("ffmpeg", 2),
    ("minutes", 7),
    ("namespaces", 13),
    ("nightly", 1),
    ("node", 1),
    ("ns2", 1),
    ("peer", 18),
    ("pip", 2),
    ("podman", 1),
    ("root", 1),
];

/// Scenario files of pages: page, file name, text, and whether the first TOML block of the page is appended.
const FILES: &[(&str, &str, &str, bool)] = &[
    ("README.md", "ftp.toml", "", true),
    ("docs/src/how-to/mark-with-ecn.md", "ecn.toml", "", true),
    ("docs/src/tutorials/question-to-figure.md", "study.toml", "", true),
    ("docs/src/tutorials/from-ns-2-or-ns-3.md", "greis.toml", "", true),
    (
        "docs/src/first-run.md",
        "lan.toml",
        "duration = \"1s\"\n\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\n    dealy = \"10ms\"\n",
        false,
    ),
    ("docs/src/sweeps.md", "study.toml", STUDY, true),
];

const STUDY: &str = r#"
duration = "0.1s"
[[link]]
name = "bottleneck"
between = ["a", "b"]
rate = "1Mbps"
delay = "5ms"
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = { kind = "tcp-newreno" }
source = { kind = "ftp" }
"#;

/// Commands whose results a page uses without listing the commands.
const BEFORE: &[(&str, &str)] = &[
    ("docs/src/plots.md", "headway run scenarios/demo.toml --out out/demo"),
    ("docs/src/plots.md", "headway run scenarios/demo.toml --out out/red --set record.distributions=true"),
    ("docs/src/plots.md", "headway run scenarios/demo.toml --out out/droptail --set record.distributions=true"),
];

/// Recipe of `make demo` after the build.
const DEMO: &str = "headway run scenarios/demo.toml --out out/demo --again && headway plot out/demo";

/// Maximum duration of a command, in ms.
const TIMEOUT_MS: u64 = 120_000;
const POLL_INTERVAL_MS: u64 = 20;

/// Commands that run until a signal arrives.
const SERVERS: [&str; 4] = ["view", "recv", "proxy", "relay"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

#[derive(Debug)]
struct Block {
    page: String,
    line: usize,
    kind: String,
    text: String,
}

fn pages() -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                below(&entry, found);
            } else if entry.extension().is_some_and(|extension| extension == "md") {
                found.push(entry);
            }
        }
    }
    let root = root();
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("python/README.md")];
    below(&root.join("docs/src"), &mut found);
    for layer in ["transport", "simulator", "apps", "research"] {
        let crates = std::fs::read_dir(root.join("crates").join(layer)).unwrap();
        found.extend(crates.map(|one| one.unwrap().path().join("README.md")).filter(|readme| readme.exists()));
    }
    found.sort();
    found
}

fn blocks() -> Vec<Block> {
    let (root, mut blocks) = (root(), Vec::new());
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let page = page.strip_prefix(&root).unwrap().display().to_string();
        let (mut open, mut indent): (Option<Block>, usize) = (None, 0);
        for (number, line) in text.lines().enumerate() {
            let unindented = line.trim_start();
            match (unindented.strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(kind), None) => {
                    let kind = kind.trim().to_owned();
                    indent = line.len() - unindented.len();
                    open = Some(Block { page: page.clone(), line: number + 1, kind, text: String::new() });
                }
                // A block within a list is indented with it.
                (None, Some(block)) => block.text += &format!("{}\n", line.get(indent..).unwrap_or_default()),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page}: a block has no end");
    }
    blocks
}

impl Block {
    /// Returns the kind and the requirement of the block.
    fn needs(&self) -> (&str, Option<&str>) {
        self.kind.split_once(",needs=").map_or((self.kind.as_str(), None), |(kind, needs)| (kind, Some(needs)))
    }

    /// Returns the commands with the output that the page shows.
    fn commands(&self) -> Vec<(String, Vec<String>)> {
        let is_shell = self.needs().0 == "sh";
        let mut commands: Vec<(String, Vec<String>)> = Vec::new();
        let mut continues = false;
        for line in self.text.lines() {
            let prompt = line.split_once("$ ").filter(|(host, _)| host.chars().all(char::is_alphanumeric));
            let command = prompt.map(|(_, command)| command).or(is_shell.then_some(line));
            match (commands.last_mut(), command) {
                (Some((last, _)), _) if continues => *last += &format!("\n{line}"),
                (_, Some(command)) => commands.push((command.to_owned(), Vec::new())),
                (Some((_, output)), None) => output.push(line.to_owned()),
                (None, None) => panic!("{}:{}: the block does not start with a command", self.page, self.line),
            }
            continues = line.ends_with('\\');
        }
        commands
    }
}

#[test]
fn every_block_has_a_known_kind() {
    for block in blocks() {
        let (kind, needs) = block.needs();
        let place = format!("{}:{}", block.page, block.line);
        assert!(KINDS.iter().any(|(known, _)| *known == kind), "{place}: no test runs blocks of kind \"{kind}\"");
        assert!(needs.is_none() || ["console", "sh"].contains(&kind), "{place}: {kind} needs {needs:?}");
    }
}

#[test]
fn blocks_with_requirements_are_counted() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for block in blocks() {
        if let Some(needs) = block.needs().1 {
            println!("{}:{} is not run: it needs {needs}", block.page, block.line);
            *counts.entry(needs.to_owned()).or_default() += 1;
        }
    }
    let expected: BTreeMap<String, usize> = NEEDS.iter().map(|(needs, count)| ((*needs).to_owned(), *count)).collect();
    assert_eq!(counts, expected);
}

/// Also checks blocks that are not run.
#[test]
fn options_of_commands_exist() {
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for block in blocks().iter().filter(|block| ["console", "sh"].contains(&block.needs().0)) {
        for (command, _) in block.commands() {
            let words: Vec<&str> = command.split_whitespace().take_while(|word| *word != "#").collect();
            // What follows ` -- ` is the command of a shell, which may be another shell.
            for words in words.split(|word| *word == "--") {
                let Some(("headway" | "target/release/headway", rest)) =
                    words.split_first().map(|(name, rest)| (*name, rest))
                else {
                    continue;
                };
                let of = if rest[0] == "papers" { &rest[..2] } else { &rest[..1] };
                let of: Vec<String> = of.iter().map(|word| (*word).to_owned()).collect();
                let help = helps.entry(of.clone()).or_insert_with(|| {
                    let help = Command::new(env!("CARGO_BIN_EXE_headway")).args(&of).arg("--help").output().unwrap();
                    assert!(help.status.success(), "{}:{}: there is no command {of:?}", block.page, block.line);
                    String::from_utf8(help.stdout).unwrap()
                });
                for option in rest.iter().filter(|word| word.starts_with("--")) {
                    let option = option.split('=').next().unwrap();
                    seen.insert(option.to_owned());
                    let known = help.split(|c: char| c.is_whitespace() || ",[=".contains(c)).any(|word| word == option);
                    assert!(known, "{}:{}: {of:?} has no {option}", block.page, block.line);
                }
            }
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
}

/// Creates a folder for the commands of a page, with links to `headway` and the scenarios.
fn place(page: &str) -> tempfile::TempDir {
    let (place, root) = (tempfile::tempdir().unwrap(), root());
    let link = |from: &Path, to: &str| {
        let to = place.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(from, to).unwrap();
    };
    link(&root.join("scenarios"), "scenarios");
    link(&root.join("validation"), "validation");
    link(Path::new(env!("CARGO_BIN_EXE_headway")), "target/release/headway");
    for (_, name, head, has_block) in FILES.iter().filter(|(of, ..)| *of == page) {
        let own = blocks().into_iter().find(|block| block.page == page && block.kind == "toml");
        let own = own.filter(|_| *has_block).map_or_else(String::new, |block| block.text);
        std::fs::write(place.path().join(name), format!("{head}{own}")).unwrap();
    }
    place
}

/// Replaces fixed ports by free ones, because tests run in parallel.
fn with_free_ports(command: &str) -> String {
    let mut parts = command.split("127.0.0.1:");
    let mut replaced = parts.next().unwrap().to_owned();
    for part in parts {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        replaced += &format!("127.0.0.1:{port}{}", part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    replaced
}

/// Runs a command and returns its status and output. A server gets a signal after its first line.
fn shell(place: &Path, command: &str) -> (Option<i32>, String) {
    let command = if command.split(" #").next().unwrap().trim() == "make demo" { DEMO } else { command };
    let is_server = SERVERS.iter().any(|server| command.contains(&format!("headway {server} ")));
    let command = if is_server { format!("exec {}", with_free_ports(command)) } else { command.to_owned() };
    let path = format!("{}:{}", place.join("target/release").display(), std::env::var("PATH").unwrap());
    let printed = place.join("printed");
    let file = std::fs::File::create(&printed).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", &command]).current_dir(place).env("PATH", path).stdin(Stdio::null());
    let mut child = bash.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
    let messages = || String::from_utf8_lossy(&std::fs::read(&printed).unwrap()).into_owned();
    let mut is_signaled = false;
    for _ in 0..TIMEOUT_MS / POLL_INTERVAL_MS {
        if let Some(status) = child.try_wait().unwrap() {
            // A signal before the server has its handlers ends it, too.
            return (status.code().or(is_server.then_some(0)), messages());
        }
        if is_server && !is_signaled && messages().contains('\n') {
            is_signaled = true;
            let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
            assert!(ended.success(), "{command}");
        }
        std::thread::park_timeout(Duration::from_millis(POLL_INTERVAL_MS));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (None, messages())
}

#[test]
fn the_recipe_of_make_demo_is_that_of_this_test() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let recipe = makefile.split("\ndemo:").nth(1).unwrap().lines().skip(1).take_while(|line| line.starts_with('\t'));
    let commands = recipe.map(str::trim).filter(|command| command.starts_with("$(PROGRAM)"));
    let commands = commands.map(|command| command.replace("$(PROGRAM)", "headway").replace("$(DEMO)", "out/demo"));
    assert_eq!(commands.collect::<Vec<_>>().join(" && "), DEMO);
}

/// `validation/adding/run` makes the change of the worked example, compiles it and measures its effect. Each line of code
/// in sections 3 and 4 of CONTRIBUTING.md that concerns the key is in that script, and each place that the script
/// changes is in the code.
#[test]
fn the_worked_example_is_that_of_validation_adding() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let script = read("validation/adding/run").replace("\\n", "\n");
    let page = read("CONTRIBUTING.md");
    let (_, steps) = page.split_once("### 3. Add the rule").unwrap();
    let (steps, _) = steps.split_once("Add a case for a value out of range").unwrap();
    let code = steps.split("```text").skip(1).filter_map(|block| block.split("```").next());
    let lines = code.flat_map(str::lines).map(str::trim).filter(|line| line.contains("minimum") && line.contains(':'));
    let missing: Vec<&str> = lines.clone().filter(|line| !script.contains(line)).collect();
    assert_eq!((missing, lines.count()), (Vec::new(), 7));
    let (_, table) = script.split_once("LINK_KEY = [").unwrap();
    let (table, _) = table.split_once("\n]").unwrap();
    let entries =
        table.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split("\", \"").collect::<Vec<_>>().into());
    for entry in entries {
        let [file, anchor] = [entry[0], entry[1].split("\",").next().unwrap()];
        let source = read(&format!("crates/simulator/{file}"));
        assert!(source.lines().any(|line| line.starts_with(anchor)), "{file} has no line that begins with {anchor:?}");
    }
}

/// Replaces runs of white space by one space.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the differences between the output of a command and the page.
fn differences(shown: &[String], status: Option<i32>, output: &str) -> Vec<String> {
    let is_error = shown.iter().any(|line| line.contains(".toml:"));
    let mut wrong = Vec::new();
    if status != Some(i32::from(is_error)) {
        wrong.push(format!("its exit status is {status:?}:\n{output}"));
    }
    let lines: BTreeSet<String> = output.lines().map(words).collect();
    let shown = shown.iter().map(|line| words(line)).filter(|line| !line.is_empty() && line != "...");
    wrong.extend(shown.filter(|line| !lines.contains(line)).map(|line| format!("it does not print: {line}")));
    wrong
}

/// Page whose commands make its pictures.
const GALLERY: &str = "docs/src/gallery.md";

/// Returns the pictures of the gallery that differ from those of its commands.
fn stale_pictures(place: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(GALLERY)).unwrap();
    let names = text.lines().filter_map(|line| line.split_once("(pictures/gallery/")?.1.strip_suffix(".svg)"));
    let is_stale = |name: &&str| {
        let stored = std::fs::read(root().join("docs/src/pictures/gallery").join(format!("{name}.svg"))).unwrap();
        let made = std::fs::read_dir(place.join("out/gallery").join(name)).unwrap().map(|entry| entry.unwrap().path());
        let made: Vec<PathBuf> = made.filter(|path| path.extension().is_some_and(|ending| ending == "svg")).collect();
        !made.iter().any(|path| std::fs::read(path).unwrap() == stored)
    };
    let stale = names.filter(is_stale).map(|name| format!("{GALLERY}: {name}.svg is stale: run docs/gallery.sh"));
    stale.collect()
}

#[test]
fn commands_print_the_output_of_the_pages() {
    let all = blocks();
    let runs = |block: &&Block| matches!(block.needs(), ("console" | "sh", None));
    let pages: BTreeSet<&str> = all.iter().filter(runs).map(|block| block.page.as_str()).collect();
    let (mut ran, mut mistakes) = (0, Vec::new());
    for page in pages {
        let place = place(page);
        for (_, command) in BEFORE.iter().filter(|(of, _)| *of == page) {
            let (status, output) = shell(place.path(), command);
            assert_eq!(status, Some(0), "{page}: {command}\n{output}");
        }
        for block in all.iter().filter(runs).filter(|block| block.page == page) {
            for (command, shown) in block.commands() {
                println!("{page}:{}: {command}", block.line);
                let (status, output) = shell(place.path(), &command);
                let of = |mistake| format!("{page}:{}: {command}: {mistake}", block.line);
                mistakes.extend(differences(&shown, status, &output).into_iter().map(of));
                ran += 1;
            }
        }
        if page == GALLERY {
            mistakes.extend(stale_pictures(place.path()));
        }
    }
    println!("{ran} commands ran");
    assert!(ran > 15, "{ran}");
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
