//! Tests of the captures and logs of `headway shell`. The readers of both formats are those of this file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the programs on both sides of the link use the system"
)]

use crate::common::text;
use crate::shell::{connect, has_rights, shell};
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// Number of datagrams in each direction, and the size of their packets: a header of IP and of UDP, a digit, a line feed.
const DATAGRAMS: usize = 5;
const BYTES: u32 = 20 + 8 + 2;
/// Loses all answers.
const LOSSY: &str = "loss={ kind = \"bernoulli\", probability = 1 }";

/// Runs a command that sends datagrams, each of which is answered, and that ends when `is_complete` returns true.
fn exchange(arguments: &[&str], is_complete: impl Fn() -> bool) -> Output {
    let service = UdpSocket::bind("0.0.0.0:0").unwrap();
    service.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let connect = connect(service.local_addr().unwrap().port()).replace("/dev/tcp/", "/dev/udp/");
    let script = format!("{connect}; for i in $(seq {DATAGRAMS}); do echo $i >&3; done; cat");
    let mut command = shell(arguments, "exec bash -c \"$SCRIPT\"");
    let mut child = command.env("SCRIPT", script).stdin(Stdio::piped()).spawn().unwrap();
    for _ in 0..DATAGRAMS {
        let mut datagram = [0; 10];
        let (length, from) = service.recv_from(&mut datagram).unwrap();
        service.send_to(&datagram[..length], from).unwrap();
    }
    let start = Instant::now();
    while !is_complete() {
        assert!(start.elapsed() < Duration::from_secs(300), "the files do not have the packets");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(child.stdin.take());
    child.wait_with_output().unwrap()
}

/// Packet of a capture.
#[derive(Debug)]
struct Captured {
    interface: u32,
    /// Time of day, in ns.
    at: u64,
    bytes: Vec<u8>,
    /// 1 for received, 2 for sent.
    direction: u32,
    comment: String,
}

/// Reads a little-endian capture (draft-ietf-opsawg-pcapng section 4): its interfaces and the datagrams of this test. A
/// shell may get packets of connections of an earlier shell with its address. The last block may be incomplete.
fn read_capture(file: &Path) -> (Vec<String>, Vec<Captured>) {
    let bytes = fs::read(file).unwrap();
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    let mut rest = &bytes[..];
    while rest.len() >= 12 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let length = word(4) as usize;
        if length > rest.len() {
            break;
        }
        assert_eq!(word(length - 4) as usize, length, "both lengths of a block are equal");
        let options = |mut at: usize| {
            let mut found = Vec::new();
            loop {
                let (code, size) = (word(at) & 0xffff, (word(at) >> 16) as usize);
                if code == 0 {
                    return found;
                }
                found.push((code, rest[at + 4..at + 4 + size].to_vec()));
                at += 4 + size.next_multiple_of(4);
            }
        };
        let option = |found: &[(u32, Vec<u8>)], code| {
            found.iter().find(|(other, _)| *other == code).map(|(_, value)| value.clone()).unwrap_or_default()
        };
        match word(0) {
            // An interface of raw IP packets with timestamps in ns.
            1 => {
                assert_eq!(word(8) & 0xffff, 101);
                let options = options(16);
                assert_eq!(option(&options, 9), [9]);
                interfaces.push(text(&option(&options, 2)));
            }
            6 => {
                let captured = word(20) as usize;
                let options = options(28 + captured.next_multiple_of(4));
                packets.push(Captured {
                    interface: word(8),
                    at: u64::from(word(12)) << 32 | u64::from(word(16)),
                    bytes: rest[28..28 + captured].to_vec(),
                    direction: u32::from_le_bytes(option(&options, 2).try_into().unwrap()),
                    comment: text(&option(&options, 1)),
                });
            }
            kind => assert_eq!(kind, 0x0a0d_0d0a),
        }
        rest = &rest[length..];
    }
    packets.retain(|packet: &Captured| packet.bytes.len() as u32 == BYTES);
    (interfaces, packets)
}

/// The capture of an end has the packets that it sent and received, at the times of the link. Dropped packets are in a
/// separate capture.
#[test]
fn captures_have_the_packets_of_both_ends_and_the_dropped_ones() {
    if !has_rights() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let captures = folder.path().join("new/captures");
    let name = captures.to_str().unwrap();
    let drops = captures.join("drops.pcapng");
    let done = exchange(&["--delay", "20ms", "--reverse", LOSSY, "--capture", name], || {
        read_capture(&drops).1.len() == DATAGRAMS
    });
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let read = |name: &str| read_capture(&captures.join(name));
    let (interfaces, shell) = read("shell.pcapng");
    assert_eq!(interfaces, ["shell-gateway"]);
    let (interfaces, gateway) = read("gateway.pcapng");
    assert_eq!(interfaces, ["gateway-shell"]);
    let (interfaces, drops) = read("drops.pcapng");
    assert_eq!(interfaces, ["shell->gateway", "gateway->shell"]);
    assert_eq!((shell.len(), gateway.len(), drops.len()), (DATAGRAMS, 2 * DATAGRAMS, DATAGRAMS));
    let received: Vec<&Captured> = gateway.iter().filter(|packet| packet.direction == 1).collect();
    assert_eq!(received.len(), DATAGRAMS);
    for ((sent, received), digit) in shell.iter().zip(&received).zip(b'1'..) {
        assert_eq!((sent.interface, sent.direction, &sent.comment[..]), (0, 2, ""));
        assert_eq!((&sent.bytes, sent.bytes.len() as u32), (&received.bytes, BYTES));
        // IPv4 with UDP; the payload.
        assert_eq!((sent.bytes[0], sent.bytes[9]), (0x45, 17));
        assert_eq!(sent.bytes[28..], [digit, b'\n']);
        // 30 B at 8 Gb/s take 30 ns.
        assert!(received.at >= sent.at + 20_000_030, "{} {}", sent.at, received.at);
    }
    let times: Vec<u64> = gateway.iter().map(|packet| packet.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    let mut answers = gateway.iter().filter(|packet| packet.direction == 2);
    for drop in &drops {
        let sent = answers.next().unwrap();
        assert_eq!((&drop.bytes, drop.interface), (&sent.bytes, 1));
        assert!(drop.comment.starts_with("dropped (channel) after "), "{}", drop.comment);
    }
}

/// Events of a log, as Mahimahi's scripts count them.
#[derive(Debug, Default)]
struct Log {
    base: Option<u64>,
    /// Time in ms, and bytes.
    arrivals: Vec<(u64, u64)>,
    capacity: Vec<(u64, u64)>,
    /// Time in ms, bytes and delay in ms.
    departures: Vec<(u64, u64, u64)>,
    dropped_packets: u64,
    dropped_bytes: u64,
}

impl Log {
    /// Follows the rules by which `mm-throughput-graph` refuses a log. Only `mm-link` writes `d`. Skips the packets of
    /// other connections, and the last line if it is incomplete.
    fn read(file: &Path) -> Self {
        let mut log = Self::default();
        let text = fs::read_to_string(file).unwrap();
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            if let Some(base) = line.strip_prefix("# base timestamp: ") {
                assert_eq!(log.base.replace(base.parse().unwrap()), None, "base timestamp multiply defined");
                continue;
            }
            if line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |field: usize| -> u64 { fields[field].parse().unwrap() };
            let at = number(0) - log.base.unwrap();
            // The header of the TUN device has 4 B, as in Mahimahi.
            let is_own = |size: u64| [u64::from(BYTES), u64::from(BYTES) + 4].contains(&size);
            match (fields[1], fields.len()) {
                ("+", 3) | ("-", 4) if !is_own(number(2)) => {}
                ("d", 4) if !is_own(number(3)) => {}
                ("+", 3) => log.arrivals.push((at, number(2))),
                ("#", 3) => log.capacity.push((at, number(2))),
                ("-", 4) => {
                    assert!(number(3) <= at, "invalid timestamp and delay: {line}");
                    log.departures.push((at, number(2), number(3)));
                }
                ("d", 4) => {
                    log.dropped_packets += number(2);
                    log.dropped_bytes += number(3);
                }
                _ => panic!("unknown event: {line}"),
            }
        }
        log
    }
}

/// At 6 kb/s a packet of 30 B takes 40 ms, so that the last of five departs at least 200 ms after the arrival of the
/// first.
#[test]
fn logs_have_arrivals_opportunities_departures_and_drops() {
    if !has_rights() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [up, down] = ["up.log", "down.log"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let trace = folder.path().join("down.trace");
    // 1504 B each 2 ms.
    fs::write(&trace, "2\n").unwrap();
    let trace = format!("capacity={:?}", trace.to_str().unwrap());
    let link = ["--rate", "6kbps", "--delay", "20ms", "--reverse", &trace, "--reverse", LOSSY];
    let done = exchange(&[&link[..], &["--uplink-log", &up, "--downlink-log", &down]].concat(), || {
        Path::new(&down).exists() && Log::read(Path::new(&down)).dropped_packets == DATAGRAMS as u64
    });
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let header = fs::read_to_string(&up).unwrap();
    let header: Vec<&str> = header.lines().take_while(|line| line.starts_with('#')).collect();
    assert_eq!(header[0], format!("# mahimahi mm-link (Uplink) [6kbps] > {up}"));
    assert!(
        header[1].starts_with("# command line: '/") && header[1].contains("' 'shell' '--bound' '1h'"),
        "{header:?}"
    );
    assert!(header[2].starts_with("# queue: {\"kind\":\"droptail\",\"limit\":"), "{header:?}");
    let [uplink, downlink] = [&up, &down].map(|file| Log::read(Path::new(file)));
    let bytes = u64::from(BYTES);
    assert!(uplink.arrivals.iter().all(|(_, size)| *size == bytes) && uplink.arrivals.len() == DATAGRAMS);
    assert!(uplink.departures.iter().all(|(_, size, delay)| *size == bytes && *delay >= 39), "{uplink:?}");
    assert_eq!((uplink.departures.len(), uplink.dropped_packets), (DATAGRAMS, 0));
    assert!(uplink.departures[DATAGRAMS - 1].0 >= uplink.arrivals[0].0 + 199, "{uplink:?}");
    // 3 B in 4 ms: one in each ms, and none in each fourth.
    let last = uplink.capacity[uplink.capacity.len() - 1].0;
    let sum: u64 = uplink.capacity.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(sum, last * 3 / 4);
    assert!(last + 2 >= uplink.departures[DATAGRAMS - 1].0, "{uplink:?}");
    assert!(downlink.arrivals.iter().all(|(_, size)| *size == bytes + 4) && downlink.arrivals.len() == DATAGRAMS);
    let dropped = (downlink.departures.len(), downlink.dropped_packets, downlink.dropped_bytes);
    assert_eq!(dropped, (0, 5, 5 * (bytes + 4)));
    for ((at, size), number) in downlink.capacity.iter().zip(1..) {
        assert_eq!((*at, *size), (2 * number, 1504));
    }
}

/// A full disk does not stop the link. The error is printed at the end, and the run is not valid.
#[test]
fn a_full_disk_is_reported_at_the_end() {
    if !has_rights() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    symlink("/dev/full", folder.path().join("gateway.pcapng")).unwrap();
    for (options, file) in [(["--capture", name], name), (["--downlink-log", "/dev/full"], "/dev/full")] {
        let done = exchange(&options, || true);
        assert_eq!(done.status.code(), Some(125));
        let messages = text(&done.stderr);
        assert!(messages.contains(&format!("this run is not valid: cannot write {file}: No space left")), "{messages}");
    }
}

#[test]
fn files_that_cannot_be_created_are_errors_before_the_command_starts() {
    if !has_rights() {
        return;
    }
    for option in ["--capture", "--uplink-log", "--downlink-log"] {
        let refused = shell(&[option, "/dev/null/x"], "echo started").output().unwrap();
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(125), 0));
        let message = format!("{option} /dev/null/x: cannot create: Not a directory");
        assert!(text(&refused.stderr).contains(&message), "{}", text(&refused.stderr));
    }
}
