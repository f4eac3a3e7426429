//! Programs in C compile with the header, link the library as `install` installs it, and send datagrams.
//!
//! The flags are those of the installed `headway.pc`; `validation/capi/run` reads them with pkg-config. Without a C
//! compiler the tests report that they were left out; with `CI=true` they fail. A C++ compiler is optional.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns whether this tool exists.
fn is_installed(tool: &str, is_required: bool) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let may_be_absent = !is_required || std::env::var("CI").as_deref() != Ok("true");
    assert!(found || may_be_absent, "{tool} is required: install it, or set CI=false");
    if !found {
        println!("left out: {tool} is not installed");
    }
    found
}

/// Runs a command and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Installs the library, which cargo has built next to this test.
fn installed() -> TempDir {
    let prefix = tempfile::tempdir().unwrap();
    let build = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    run(Command::new(source("install")).arg(prefix.path()).arg(build));
    prefix
}

/// Returns the flags of these fields of `headway.pc`, whose variables are defined before their use.
fn flags(prefix: &Path, fields: &[&str]) -> Vec<String> {
    let folder = prefix.join("lib/pkgconfig");
    let file = std::fs::read_to_string(folder.join("headway.pc")).unwrap();
    let mut variables = vec![("pcfiledir".to_owned(), folder.display().to_string())];
    let mut flags = vec![];
    for line in file.lines() {
        let resolved =
            variables.iter().fold(line.to_owned(), |line, (name, value)| line.replace(&format!("${{{name}}}"), value));
        if let Some((name, value)) = resolved.split_once('=').filter(|(name, _)| !name.contains(':')) {
            variables.push((name.to_owned(), value.to_owned()));
        } else if let Some((_, value)) = resolved.split_once(": ").filter(|(field, _)| fields.contains(field)) {
            flags.extend(value.split_whitespace().map(str::to_owned));
        }
    }
    flags
}

/// Compiles a program without warnings and links it with these flags.
fn compiled(prefix: &Path, name: &str, link: &[String]) -> PathBuf {
    let program = prefix.join("program");
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program);
    run(command.arg(source(name)).args(flags(prefix, &["Cflags"])).args(link));
    program
}

fn program(program: &Path, prefix: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}

/// Process that does not survive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn each_function_checks_its_arguments() {
    if !is_installed("cc", true) {
        return;
    }
    let prefix = installed();
    let shared = flags(prefix.path(), &["Libs"]);
    let abi = compiled(prefix.path(), "tests/abi.c", &shared);
    assert_eq!(run(&mut program(&abi, prefix.path())), "all calls as expected\n");
}

/// The static library needs no other file at run time.
#[test]
fn the_static_library_is_complete() {
    if !is_installed("cc", true) {
        return;
    }
    let prefix = installed();
    std::fs::remove_file(prefix.path().join("lib/libheadway.so")).unwrap();
    let link = flags(prefix.path(), &["Libs", "Libs.private"]);
    let abi = compiled(prefix.path(), "tests/abi.c", &link);
    assert_eq!(run(&mut Command::new(abi)), "all calls as expected\n");
}

#[test]
fn the_example_sends_to_itself() {
    if !is_installed("cc", true) {
        return;
    }
    let prefix = installed();
    let shared = flags(prefix.path(), &["Libs"]);
    let send = compiled(prefix.path(), "examples/send.c", &shared);
    let mut listening = program(&send, prefix.path());
    let mut listener = Process(listening.args(["listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut output = BufReader::new(listener.0.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    let (port, fingerprint) = first.trim_end().split_once(' ').unwrap();
    let address = format!("127.0.0.1:{port}");

    let sent = run(program(&send, prefix.path()).args([&address, fingerprint]));
    assert!(sent.ends_with("20 of 20 datagrams delivered\n"), "{sent}");
    let mut received = String::new();
    output.read_to_string(&mut received).unwrap();
    assert_eq!(received, "20 datagrams received: the peer closed the connection\n");
    assert!(listener.0.wait().unwrap().success());

    let wrong = program(&send, prefix.path()).args([&address, "AB:CD"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("is not a fingerprint"));
}

/// The header compiles as C++.
#[test]
fn the_header_is_valid_in_cplusplus() {
    if !is_installed("c++", false) {
        return;
    }
    let mut command = Command::new("c++");
    run(command
        .args(["-fsyntax-only", "-pedantic", "-Wall", "-Wextra", "-Werror", "-x", "c++"])
        .arg(source("include/headway.h")));
}
