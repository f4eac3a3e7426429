//! Attacks by local processes without the token and by strangers on the network do not affect honest clients.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "attackers and clients have sockets")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const ANY: &str = "127.0.0.1:0";
/// Maximum time to wait for an event.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum memory of a server under attack, in KiB.
const MAX_MEMORY_KIB: u64 = 256 << 10;

/// Serializes tests that open hundreds of sockets: a process may have 1024.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Program that is killed at the end of the test.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn new(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended");
        line.trim_end().to_owned()
    }

    /// Returns the text of this key in the first line of JSON that has it.
    fn key(&mut self, key: &str) -> String {
        loop {
            let line: Value = serde_json::from_str(&self.line()).unwrap();
            if let Some(text) = line[key].as_str() {
                return text.to_owned();
            }
        }
    }

    /// Returns the peak memory of the program, in KiB.
    fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(host: &str) -> TcpStream {
    let stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Returns the bytes that a server sends until it closes the connection.
fn ask(host: &str, request: &str) -> String {
    let mut stream = connect(host);
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends `chunk` repeatedly until the server closes or `max` bytes are sent. Returns the number of accepted bytes.
fn flood(stream: &mut TcpStream, chunk: &[u8], max: usize) -> usize {
    let mut sent = 0;
    while sent < max {
        match stream.write(chunk) {
            Ok(length) => sent += length,
            Err(_) => break,
        }
    }
    sent
}

/// Running `headway view` of a small record.
struct View {
    running: Running,
    host: String,
    token: String,
    record: PathBuf,
    _folder: tempfile::TempDir,
}

impl View {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (scenario, record) = (folder.path().join("voice.toml"), folder.path().join("record"));
        let text = "name = \"voice\"\nduration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n\
                    [[flow]]\nname = \"talk\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"udp\" }\n\
                    source = { kind = \"cbr\", interval = \"20ms\", payload = \"160B\" }\n";
        std::fs::write(&scenario, text).unwrap();
        let text = |path: &Path| path.display().to_string();
        let mut run = Running::new(&["run", "--quiet", "--json", &text(&scenario), "--out", &text(&record)]);
        let mut all = String::new();
        run.out.read_to_string(&mut all).unwrap();
        assert!(run.child.wait().unwrap().success());
        let mut running = Running::new(&["view", "--no-open", &text(&record)]);
        let line = running.line();
        let (host, token) = line.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        Self { running, host, token, record, _folder: folder }
    }

    fn request(&self, method: &str, path: &str, fields: &str) -> String {
        let Self { host, token, .. } = self;
        format!("{method} {path}?token={token} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n")
    }

    fn without_token(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host)
    }

    fn answers_honest_clients(&self) {
        let answer = ask(&self.host, &self.request("GET", "/api/records", "Connection: close\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"name\":\"record\""), "{answer}");
        let peak = self.running.peak_kib();
        assert!(peak < MAX_MEMORY_KIB, "{peak} KiB");
    }
}

#[test]
fn only_the_first_pipelined_request_without_the_token_is_answered() {
    let (_alone, view) = (alone(), View::new());
    let mut stream = connect(&view.host);
    let requests = view.without_token("/api/records").repeat(60_000);
    let _ = stream.write_all(requests.as_bytes());
    let mut answers = Vec::new();
    // Unread requests may reset the connection.
    let _ = stream.read_to_end(&mut answers);
    let answers = String::from_utf8_lossy(&answers).into_owned();
    assert!(answers.matches("HTTP/1.1 ").count() <= 1 && answers.matches("HTTP/1.1 200").count() == 0, "{answers}");
    view.answers_honest_clients();
}

#[test]
fn a_header_of_600_mib_is_refused() {
    const HEADER: usize = 600 << 20;
    let (_alone, view) = (alone(), View::new());
    let mut stream = connect(&view.host);
    stream.write_all(view.without_token("/").trim_end().as_bytes()).unwrap();
    stream.write_all(b"\r\nX: ").unwrap();
    assert!(flood(&mut stream, &[b'x'; 1 << 16], HEADER) < HEADER);
    view.answers_honest_clients();
    // RFC 6585 section 5. The server reads the rest of a slightly too large header, so that its answer arrives.
    let large = view.without_token("/").trim_end().to_owned() + "\r\nX: " + &"x".repeat(20_000) + "\r\n\r\n";
    let answer = ask(&view.host, &large);
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[test]
fn idle_connections_do_not_block_clients_of_view() {
    let (_alone, view) = (alone(), View::new());
    let mut idle: Vec<_> = (0..300).map(|_| connect(&view.host)).collect();
    view.answers_honest_clients();
    // The oldest connection was closed.
    assert!(matches!(idle[0].read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn idle_connections_do_not_block_prometheus() {
    let _alone = alone();
    let mut receiver = Running::new(&["recv", ANY, "--insecure", "--json", "--metrics", ANY]);
    let host = receiver.key("metrics");
    let mut idle = Vec::new();
    for count in [15, 300] {
        idle.extend((0..count).map(|_| connect(&host)));
        let answer = ask(&host, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("version=0.0.4"), "{answer}");
    }
    assert!(receiver.peak_kib() < MAX_MEMORY_KIB);
}

/// Slowloris: endless headers, one byte at a time.
#[test]
fn slow_headers_do_not_block_clients() {
    let (_alone, view) = (alone(), View::new());
    let begin = view.without_token("/").trim_end().to_owned() + "\r\nX: ";
    let mut slow: Vec<_> = (0..200).map(|_| connect(&view.host)).collect();
    slow.iter_mut().for_each(|stream| drop(stream.write_all(begin.as_bytes())));
    for _ in 0..10 {
        slow.iter_mut().for_each(|stream| drop(stream.write_all(b"x")));
        view.answers_honest_clients();
    }
}

/// Returns clients with the token that have requested a file of 1 GiB and read only the status of the answer.
fn readers_of_a_large_file(view: &View, count: usize) -> Vec<TcpStream> {
    std::fs::File::create(view.record.join("packets.arrow")).unwrap().set_len(1 << 30).unwrap();
    let request = view.request("GET", "/api/records/0/packets.arrow", "");
    let reader = |_| {
        let mut stream = connect(&view.host);
        stream.write_all(request.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        stream
    };
    (0..count).map(reader).collect()
}

#[test]
fn clients_that_do_not_read_do_not_delay_others() {
    let (_alone, view) = (alone(), View::new());
    let readers = readers_of_a_large_file(&view, 20);
    view.answers_honest_clients();
    drop(readers);
    view.answers_honest_clients();
}

#[test]
fn clients_that_use_all_connections_and_do_not_read_do_not_block_others() {
    let (_alone, view) = (alone(), View::new());
    let mut readers = readers_of_a_large_file(&view, 150);
    view.answers_honest_clients();
    // The newest reader still receives its file.
    let mut rest = vec![0; 1 << 20];
    readers.last_mut().unwrap().read_exact(&mut rest).unwrap();
}

#[test]
fn a_request_has_at_most_100_header_fields() {
    let (_alone, view) = (alone(), View::new());
    let fields = |count: usize| (0..count).map(|number| format!("X-{number}: 0\r\n")).collect::<String>();
    // Host and Connection are two further fields.
    for (count, status) in [(98, "HTTP/1.1 200"), (99, "HTTP/1.1 431")] {
        let answer = ask(&view.host, &view.request("GET", "/api/records", &(fields(count) + "Connection: close\r\n")));
        assert!(answer.starts_with(status), "{count}: {answer}");
    }
}

/// DNS rebinding: the name of a page resolves to the loopback address.
#[test]
fn a_page_of_another_host_cannot_read_the_metrics() {
    let _alone = alone();
    let mut receiver = Running::new(&["recv", ANY, "--insecure", "--json", "--metrics", ANY]);
    let host = receiver.key("metrics");
    let port = host.rsplit_once(':').unwrap().1;
    let get = |fields: &str| ask(&host, &format!("GET /metrics HTTP/1.1\r\n{fields}\r\n"));
    for fields in
        [format!("Host: rebound.example:{port}\r\n"), String::new(), format!("Host: {host}\r\nHost: {host}\r\n")]
    {
        assert!(get(&fields).starts_with("HTTP/1.1 403"), "{fields}");
    }
    for name in [host.clone(), format!("localhost:{port}")] {
        assert!(get(&format!("Host: {name}\r\n")).starts_with("HTTP/1.1 200"), "{name}");
    }
}

#[test]
fn a_request_body_of_1_gib_is_not_read() {
    const BODY: usize = 1 << 30;
    let (_alone, view) = (alone(), View::new());
    for method in ["POST", "GET"] {
        let mut stream = connect(&view.host);
        let head = view.request(method, "/api/records", &format!("Content-Length: {BODY}\r\n"));
        stream.write_all(head.as_bytes()).unwrap();
        assert!(flood(&mut stream, &[b'x'; 1 << 16], BODY) < BODY);
        view.answers_honest_clients();
    }
}

#[test]
fn paths_outside_of_a_record_are_not_served() {
    let (_alone, view) = (alone(), View::new());
    for path in [
        "/api/records/0/../../voice.toml",
        "/api/records/0/..%2f..%2fvoice.toml",
        "/api/records/0/%2e%2e/voice.toml",
        "/api/records/0/.headway",
        "/api/records/../records/0/summary.json",
        "/api/records/0//etc/passwd",
        "/api/records/00000000000000000000000000000000000000001/summary.json",
        "//etc/passwd",
        "/../../etc/passwd",
        "/%00",
    ] {
        let with = ask(&view.host, &view.request("GET", path, "Connection: close\r\n"));
        assert!(with.starts_with("HTTP/1.1 404"), "{path}: {with}");
        let without = ask(&view.host, &view.without_token(path));
        assert!(without.starts_with("HTTP/1.1 403"), "{path}: {without}");
    }
    view.answers_honest_clients();
}

/// Returns the first datagram of a client: a DCCP-Request or a DTLS ClientHello.
fn opening(security: &str) -> Vec<u8> {
    let trap = UdpSocket::bind(ANY).unwrap();
    trap.set_read_timeout(Some(TIMEOUT)).unwrap();
    let at = trap.local_addr().unwrap().to_string();
    let _client = Running::new(&["send", &at, security, "--quiet", "--model", "kind = \"ftp\", segments = 10"]);
    let mut datagram = [0; 2000];
    let (length, _) = trap.recv_from(&mut datagram).unwrap();
    datagram[..length].to_vec()
}

/// Returns a datagram of 0 to 40 bytes that depends on `number`.
fn garbage(number: u32) -> Vec<u8> {
    (0..number % 41).map(|byte| (number.wrapping_mul(2_654_435_761).rotate_left(byte) >> 24) as u8).collect()
}

/// A receiver for one sender gets 300 half-open handshakes and 10,000 invalid datagrams, which continue during an
/// honest transfer.
#[test]
fn half_open_handshakes_and_garbage_do_not_block_a_sender() {
    const BYTES: u64 = 100_001;
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").display().to_string();
    std::fs::write(&file, vec![7; BYTES as usize]).unwrap();
    for (receives, sends) in [(&["--insecure"][..], "--insecure"), (&[], "--any")] {
        let mut receiver = Running::new(&[&["recv", ANY, "--json", "--max-senders", "1"], receives].concat());
        let at = receiver.key("listening");
        let opening = opening(sends);
        let strangers: Vec<_> = (0..300).map(|_| UdpSocket::bind(ANY).unwrap()).collect();
        strangers.iter().for_each(|stranger| drop(stranger.send_to(&opening, &at)));
        // The handshakes have started.
        strangers[0].set_read_timeout(Some(TIMEOUT)).unwrap();
        strangers[0].recv_from(&mut [0; 2000]).unwrap();
        for number in 0..10_000 {
            let _ = strangers[number as usize % 300].send_to(&garbage(number), &at);
        }
        let is_over = AtomicBool::new(false);
        #[expect(clippy::disallowed_methods, reason = "the stranger and the sender are two programs")]
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    let _ = strangers[number as usize % 300].send_to(&garbage(number), &at);
                    if number % 50 == 0 {
                        std::thread::park_timeout(Duration::from_millis(1));
                    }
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            // Datagrams that do not fit in the socket buffer are retransmitted.
            let queue = ["--queue", "sfdps2,resend=true", "--file", &file];
            let mut honest = Running::new(&[&["send", &at, sends, "--quiet"], &queue[..]].concat());
            let status = honest.child.wait().unwrap();
            is_over.store(true, Ordering::Relaxed);
            status
        });
        assert!(sent.success(), "{sends}");
        let received = || serde_json::from_str::<Value>(&receiver.line()).unwrap()["received_bytes"].as_u64();
        let mut received = received;
        while received() != Some(BYTES) {}
        assert!(receiver.peak_kib() < MAX_MEMORY_KIB);
    }
}

/// A stranger uses 600 ports; the proxy supports 256 clients. A new client is served and keeps its socket to the
/// server.
#[test]
fn strangers_do_not_block_clients_of_a_proxy() {
    let _alone = alone();
    let server = UdpSocket::bind(ANY).unwrap();
    server.set_read_timeout(Some(TIMEOUT)).unwrap();
    let to = server.local_addr().unwrap().to_string();
    let front = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().to_string();
    let _proxy = Running::new(&["proxy", "--listen", &front, "--to", &to, "--quiet"]);
    let honest = UdpSocket::bind(ANY).unwrap();
    honest.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut bytes = [0; 100];
    // Sends a datagram to the server and waits for the answer, until the proxy listens.
    let mut exchange = |word: &[u8]| {
        for _ in 0..600 {
            honest.send_to(word, &front).unwrap();
            if let Ok(length) = honest.recv(&mut bytes)
                && &bytes[..length] == word
            {
                return;
            }
        }
        panic!("the proxy forwards nothing");
    };
    let seen = Mutex::new(Vec::new());
    let is_over = AtomicBool::new(false);
    #[expect(clippy::disallowed_methods, reason = "the server is another program")]
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = [0; 100];
            while !is_over.load(Ordering::Relaxed) {
                let (length, from) = server.recv_from(&mut bytes).unwrap();
                if bytes[..length].starts_with(b"honest") {
                    seen.lock().unwrap().push(from);
                    server.send_to(&bytes[..length], from).unwrap();
                }
            }
        });
        for round in 0..2 {
            let strangers: Vec<_> = (0..300).map(|_| UdpSocket::bind(ANY).unwrap()).collect();
            strangers.iter().for_each(|stranger| drop(stranger.send_to(b"stranger", &front)));
            exchange(format!("honest {round}").as_bytes());
        }
        is_over.store(true, Ordering::Relaxed);
        server.send_to(b"over", server.local_addr().unwrap()).unwrap();
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() >= 2 && seen.iter().all(|from| *from == seen[0]), "{seen:?}");
}
