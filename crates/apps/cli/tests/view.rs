//! Tests of `headway view` and `headway report` from the command line.
#![expect(clippy::disallowed_types, reason = "the tests send HTTP requests")]

use crate::common::VOICE;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn headway() -> Command {
    Command::new(env!("CARGO_BIN_EXE_headway"))
}

fn record(place: &Path) -> PathBuf {
    let (scenario, out) = (place.join("voice.toml"), place.join("record"));
    std::fs::write(&scenario, format!("name = \"voice\"{}", VOICE.replace("\"voice\"", "\"talk\""))).unwrap();
    let ran = headway().args(["run", "--quiet", "--json"]).arg(&scenario).arg("--out").arg(&out).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    // Scenarios cannot have such names, but records of other programs can.
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let summary =
        summary.replace("\"voice\"", "\"<b>voice\"").replace("\"talk\"", "\"</script><script>alert(1)</script>\"");
    std::fs::write(out.join("summary.json"), summary).unwrap();
    std::fs::remove_file(out.join("checksums.txt")).unwrap();
    out
}

/// Server that is killed at the end of the test.
struct Server {
    child: Child,
    host: String,
    token: String,
}

impl Server {
    fn start(record: &Path) -> Self {
        let mut command = headway();
        let mut child = command.arg("view").arg(record).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (host, token) = line.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        Self { child, host: host.to_owned(), token: token.to_owned() }
    }

    /// Sends a request and returns the head and the body of the answer.
    fn ask(&self, request: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        (String::from_utf8(all[..end].to_vec()).unwrap(), all[end + 4..].to_vec())
    }

    fn get(&self, path: &str, more: &str) -> (String, Vec<u8>) {
        let and = if path.contains('?') { "&" } else { "?" };
        let Self { host, token, .. } = self;
        self.ask(&format!("GET {path}{and}token={token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn records_are_served_with_the_token() {
    let place = tempfile::tempdir().unwrap();
    let record = record(place.path());
    let server = Server::start(&record);
    let (head, body) = server.get("/api/records", "");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("nosniff") && head.contains("no-store"), "{head}");
    let listed: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["complete"]), (&"0".into(), &true.into()));
    assert_eq!(listed[0]["name"], "record");
    let summary = std::fs::read(record.join("summary.json")).unwrap();
    assert_eq!(server.get("/api/records/0/summary.json", "").1, summary);
    let (head, part) = server.get("/api/records/0/summary.json", "Range: bytes=10-19\r\n");
    assert!(head.starts_with("HTTP/1.1 206") && head.contains(&format!("bytes 10-19/{}", summary.len())), "{head}");
    assert_eq!(part, summary[10..20]);
    let (head, _) = server.get("/api/records/0/summary.json", "Range: bytes=99999999-\r\n");
    assert!(head.starts_with("HTTP/1.1 416") && head.contains(&format!("bytes */{}", summary.len())), "{head}");
    for path in [
        "/api/records/1/summary.json",
        "/api/records/0/.headway",
        "/api/records/0/../voice.toml",
        "/api/records/0/%2e%2e/voice.toml",
        "/etc/passwd",
    ] {
        let (head, _) = server.get(path, "");
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
    }
}

/// The viewer polls until there is a summary. Without the viewer, the record is refused.
#[test]
fn a_run_in_progress_is_listed() {
    let place = tempfile::tempdir().unwrap();
    let record = record(place.path());
    let summary = std::fs::read(record.join("summary.json")).unwrap();
    std::fs::remove_file(record.join("summary.json")).unwrap();
    if !crate::common::has_viewer() {
        let refused = headway().arg("view").arg(&record).output().unwrap();
        assert!(String::from_utf8_lossy(&refused.stderr).contains("the run was killed"));
        return;
    }
    let server = Server::start(&record);
    let listed = || serde_json::from_slice::<serde_json::Value>(&server.get("/api/records", "").1).unwrap();
    // No process holds the lock of the folder.
    let state = || ["in_progress", "killed", "complete"].map(|what| listed()[0][what].as_bool().unwrap());
    assert_eq!(state(), [true, true, false]);
    let refused = headway().arg("report").arg(&record).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the run was killed"));
    let marker = std::fs::File::open(record.join(".headway")).unwrap();
    marker.lock().unwrap();
    assert_eq!(state(), [true, false, false]);
    let refused = headway().arg("plot").arg(&record).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the run is still in progress"));
    assert_eq!(listed()[0]["files"], serde_json::json!([]));
    // Growing files have other names, and their last batch is incomplete.
    let series = std::fs::read(record.join("series.arrow")).unwrap();
    std::fs::write(record.join("series.arrow.partial"), &series[..series.len() - 100]).unwrap();
    std::fs::write(record.join("summary.json.partial"), &summary).unwrap();
    let names: Vec<_> = listed()[0]["files"].as_array().unwrap().iter().map(|file| file["name"].clone()).collect();
    assert_eq!(names, ["summary.json", "series.arrow"]);
    assert_eq!(server.get("/api/records/0/summary.json", "").1, summary);
    let (head, stream) = server.get("/api/records/0/series.arrow", "");
    let (begin, end) = ([0xff; 4], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    assert!(head.starts_with("HTTP/1.1 200") && stream.starts_with(&begin) && stream.ends_with(&end), "{head}");
    assert_eq!(server.get("/api/findings?record=0", "").1, b"null");
    assert!(server.get("/api/records/0/packets.arrow", "").0.starts_with("HTTP/1.1 404"));
    std::fs::write(record.join("summary.json"), summary).unwrap();
    assert_eq!(state(), [false, false, true]);
    assert_eq!(server.get("/api/records/0/series.arrow", "").1, series);
    assert_ne!(server.get("/api/findings?record=0", "").1, b"null");
}

#[test]
fn a_record_with_a_damaged_file_is_not_shown() {
    let place = tempfile::tempdir().unwrap();
    let (scenario, out) = (place.path().join("voice.toml"), place.path().join("record"));
    std::fs::write(&scenario, VOICE).unwrap();
    let ran = headway().args(["run", "--quiet"]).arg(&scenario).arg("--out").arg(&out).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut series = std::fs::read(out.join("series.arrow")).unwrap();
    let middle = series.len() / 2;
    series[middle] ^= 1;
    std::fs::write(out.join("series.arrow"), series).unwrap();
    let shown = headway().arg("view").arg(&out).output().unwrap();
    let message = String::from_utf8_lossy(&shown.stderr);
    assert!(!shown.status.success() && message.contains("series.arrow: the file was damaged or edited"), "{message}");
}

#[test]
fn the_error_of_a_damaged_file_includes_its_name() {
    let place = tempfile::tempdir().unwrap();
    let record = record(place.path());
    let server = Server::start(&record);
    std::fs::write(record.join("series.arrow"), b"no Arrow file").unwrap();
    let (head, body) = server.get("/api/findings?record=0", "");
    let body = String::from_utf8(body).unwrap();
    assert!(head.starts_with("HTTP/1.1 500") && body.contains("series.arrow: "), "{head}{body}");
}

/// DNS rebinding: other pages have neither the host nor the token. Without the token, answers do not depend on the
/// path.
#[test]
fn every_path_requires_the_host_and_the_token() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&record(place.path()));
    let Server { host, token, .. } = &server;
    let paths =
        ["/", "/papers", "/api/records", "/api/records/0/summary.json", "/nothing", "/favicon.ico", "/..", "/%2e%2e/"];
    let without: Vec<_> = paths
        .iter()
        .map(|path| {
            let (head, body) = server.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert!(head.starts_with("HTTP/1.1 403") && head.contains("connection: close"), "{path}: {head}");
            body
        })
        .collect();
    assert!(without.iter().all(|body| *body == without[0]));
    for (request, status) in [
        (format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n"), 403),
        (format!("GET /api/records?token={token} HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n"), 403),
        (format!("GET http://evil.example/api/records?token={token} HTTP/1.1\r\nHost: {host}\r\n"), 403),
        (format!("GET /api/records HTTP/1.1\r\nHost: {host}\r\n"), 403),
        (format!("GET /api/records?token={token}0 HTTP/1.1\r\nHost: {host}\r\n"), 403),
        (format!("GET /api/records?token={token} HTTP/1.1\r\nHost: evil.example\r\n"), 403),
        (format!("GET /api/records?token={token} HTTP/1.1\r\n"), 403),
        (format!("POST /api/records?token={token} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n"), 405),
        (format!("GET /api/records?token={token}&{} HTTP/1.1\r\nHost: {host}\r\n", "a".repeat(3000)), 414),
    ] {
        let (head, body) = server.ask(&format!("{request}Connection: close\r\n\r\n"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {head}");
        assert!(!String::from_utf8_lossy(&body).contains("voice"), "{request}");
    }
}

#[test]
fn names_in_a_report_are_escaped() {
    let place = tempfile::tempdir().unwrap();
    let record = record(place.path());
    let out = place.path().join("report.html");
    let made = headway().arg("report").arg(&record).arg("-o").arg(&out).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(!page.contains("<script>alert(1)") && !page.contains("<b>voice"));
    assert!(page.contains("Content-Security-Policy"));
    let missing = headway().args(["report", "nowhere"]).arg("-o").arg(&out).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}

/// Compiled build scripts may run in a copy of the checkout.
#[test]
fn build_scripts_read_their_folder_at_run_time() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scripts = ["apps/cli", "simulator/run", "research/papers"].map(|name| crates.join(name).join("build.rs"));
    let texts = scripts.map(|script| std::fs::read_to_string(script).unwrap());
    assert!(texts.iter().all(|text| !text.contains("env!(\"CARGO_MANIFEST_DIR")));
}
