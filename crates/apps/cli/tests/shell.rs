//! Tests of `headway shell` from the command line: function and containment. No test depends on the load of the machine;
//! `validation/lab/run` measures the timing.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the programs on both sides of the link use the system"
)]

use crate::common::{headway, text};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Bound of the release error that no run exceeds, so that all runs are valid.
pub(crate) const NO_BOUND: &str = "1h";

/// Returns whether this process may create network namespaces and TUN devices on a kernel that has both, and prints the
/// reason if not.
pub(crate) fn has_rights() -> bool {
    const NET_ADMIN: u32 = 12;
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    let is_administrator = effective.is_some_and(|set| set >> NET_ADMIN & 1 == 1 && set >> SYS_ADMIN & 1 == 1);
    let tun = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    // gVisor has part of the interface of Linux 4.4.
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let is_recent = release.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 5);
    // A container may have the capabilities and refuse the calls.
    let unshare = Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "true"]).output();
    let may_unshare = unshare.is_ok_and(|out| out.status.success());
    let missing = match (is_administrator, tun) {
        (true, Ok(_)) if is_recent && may_unshare => return true,
        (true, Ok(_)) if is_recent => "unshare(1) cannot create namespaces".to_owned(),
        (true, Ok(_)) => format!("the kernel {} is older than 5.0", release.trim()),
        (false, _) => "the tests run without CAP_NET_ADMIN and CAP_SYS_ADMIN".to_owned(),
        (_, Err(error)) => format!("/dev/net/tun: {error}"),
    };
    eprintln!("skipped: {missing}");
    false
}

/// Waits for a connection from the command, which must not end before.
pub(crate) fn accept(listener: &TcpListener, mut child: Child) -> (Child, TcpStream) {
    listener.set_nonblocking(true).unwrap();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                return (child, stream);
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        if child.try_wait().unwrap().is_some() {
            let out = child.wait_with_output().unwrap();
            panic!("the command ended with {}: {}", out.status, text(&out.stderr));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn shell(arguments: &[&str], script: &str) -> Command {
    let mut command = headway(&["shell", "--bound", NO_BOUND, "--quiet"]);
    command.args(arguments).args(["--", "sh", "-c", script]);
    command
}

pub(crate) fn run(arguments: &[&str], script: &str) -> Output {
    shell(arguments, script).output().unwrap()
}

/// Listener of the host, which commands reach at the gateway.
struct Gateway {
    listener: TcpListener,
}

impl Gateway {
    fn new() -> Self {
        Self { listener: TcpListener::bind("0.0.0.0:0").unwrap() }
    }

    /// Starts a shell whose command sends back each byte that it receives from this gateway.
    fn echo(&self, outer: &[&str], inner: &[&str]) -> (Child, TcpStream) {
        let connect = connect(self.listener.local_addr().unwrap().port());
        let mut command = headway(&["shell", "--bound", NO_BOUND, "--quiet"]);
        command.args(outer).args(["--", "bash", "-c"]);
        if inner.is_empty() {
            command.arg(format!("{connect}; cat <&3 >&3"));
        } else {
            let program = env!("CARGO_BIN_EXE_headway");
            let inner = inner.join(" ");
            command
                .arg(format!("{program} shell --bound {NO_BOUND} --quiet {inner} -- bash -c '{connect}; cat <&3 >&3'"));
        }
        accept(&self.listener, command.spawn().unwrap())
    }
}

/// Returns a command of bash that connects file descriptor 3 to a port of the gateway.
pub(crate) fn connect(port: u16) -> String {
    format!("exec 3<>/dev/tcp/$HEADWAY_HOST/{port}")
}

fn round_trip(stream: &mut TcpStream) -> Duration {
    let start = Instant::now();
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    start.elapsed()
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    if !has_rights() {
        return;
    }
    for (script, status) in [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("exec /nonexistent", 127)] {
        assert_eq!(run(&[], script).status.code(), Some(status), "{script}");
    }
    let missing = headway(&["shell", "--bound", NO_BOUND, "--quiet", "--", "/nonexistent"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("cannot start /nonexistent"), "{}", text(&missing.stderr));
    let directory = headway(&["shell", "--bound", NO_BOUND, "--quiet", "--", "/"]).output().unwrap();
    assert_eq!(directory.status.code(), Some(126));
}

/// The namespace has two devices, one route to the gateway, no other process, and no abstract socket of the system.
#[test]
fn the_namespace_contains_only_the_link() {
    if !has_rights() {
        return;
    }
    let out = text(&run(&[], "cut -d: -sf1 /proc/net/dev; awk 'NR > 1 { print $2 }' /proc/net/route").stdout);
    let lines: Vec<&str> = out.split_whitespace().collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines[0] == "lo" && lines[1].starts_with("headway0-"), "{out}");
    assert_eq!(lines[2], "00000000", "{out}");
    let own = text(&run(&[], "grep -c ' @.' /proc/net/unix; ls -d /proc/[0-9]* | wc -l").stdout);
    let counts: Vec<usize> = own.split_whitespace().map(|count| count.parse().unwrap()).collect();
    // The first process, the shell, ls and wc.
    assert!(counts[0] == 0 && counts[1] <= 4, "{own}");
}

/// A service of this machine at a loopback address is not reachable unless `--host-port` names its port.
#[test]
fn services_at_loopback_are_reachable_by_host_port_only() {
    if !has_rights() {
        return;
    }
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let command = |arguments: &[&str]| {
        let mut command = headway(&["shell", "--bound", NO_BOUND, "--quiet"]);
        command.args(arguments).args(["--", "bash", "-c", &format!("{} && echo connected && cat <&3", connect(port))]);
        command
    };
    let refused = command(&[]).output().unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty());
    let child = command(&["--host-port", &port.to_string()]).spawn().unwrap();
    let (child, mut stream) = accept(&service, child);
    stream.write_all(b"from the host").unwrap();
    drop(stream);
    let reached = child.wait_with_output().unwrap();
    assert_eq!((reached.status.code(), &text(&reached.stdout)[..]), (Some(0), "connected\nfrom the host"));
}

/// Nothing is released early: each round trip takes at least twice the delay, or the sum for nested shells.
#[test]
fn round_trips_take_at_least_twice_the_delay() {
    if !has_rights() {
        return;
    }
    let gateway = Gateway::new();
    for (outer, inner) in [
        (&["--delay", "25ms"][..], &[][..]),
        (&["--delay", "40ms", "--reverse", "delay=10ms"], &[]),
        (&["--delay", "15ms"], &["--delay", "10ms"]),
    ] {
        let (child, mut stream) = gateway.echo(outer, inner);
        for _ in 0..3 {
            let measured = round_trip(&mut stream);
            assert!(measured >= Duration::from_millis(50), "{measured:?} with {outer:?} {inner:?}");
        }
        drop(stream);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    }
}

/// The report counts the packets of each direction. The loss model of the reverse direction does not change the other.
#[test]
fn the_report_counts_the_packets_of_each_direction() {
    if !has_rights() {
        return;
    }
    let service = UdpSocket::bind("0.0.0.0:0").unwrap();
    service.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let connect = connect(service.local_addr().unwrap().port()).replace("/dev/tcp/", "/dev/udp/");
    let script = format!("{connect}; for i in 1 2 3 4 5; do echo $i >&3; done; cat");
    let mut command = headway(&["shell", "--bound", NO_BOUND, "--json"]);
    command.args(["--reverse", "loss={ kind = \"bernoulli\", probability = 1 }", "--", "bash", "-c", &script]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    for number in 1..=5 {
        let mut datagram = [0; 10];
        let (length, from) = service.recv_from(&mut datagram).unwrap();
        assert_eq!(text(&datagram[..length]), format!("{number}\n"));
        assert!(matches!(from.ip(), std::net::IpAddr::V4(address) if is_shared(address)), "{from}");
        service.send_to(b"lost", from).unwrap();
    }
    // The command ends when all datagrams have passed the link.
    drop(child.stdin.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    let report: Value = serde_json::from_str(text(&out.stderr).lines().last().unwrap()).unwrap();
    // An IP header of 20 B, a UDP header of 8 B, a digit and a line feed.
    let counts = &report["uplink"]["counts"];
    assert_eq!((&counts["delivered_packets"], &counts["delivered_bytes"]), (&5.into(), &150.into()));
    assert_eq!(report["downlink"]["counts"]["delivered_packets"], 0);
}

/// Returns whether an address is in the shared address space of RFC 6598, 100.64.0.0/10.
fn is_shared(address: Ipv4Addr) -> bool {
    address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64
}

/// All processes of the command end with it and with the emulator, however that ends, and its device disappears.
#[test]
fn nothing_is_left_behind() {
    if !has_rights() {
        return;
    }
    // Both processes hold standard output open.
    let script = "awk 'NR == 3 || NR == 4 { print $1 }' /proc/net/dev; sleep 1000 & ";
    let ended = run(&[], &format!("{script} exit 5"));
    assert_eq!(ended.status.code(), Some(5));
    for signal in ["-KILL", "-TERM"] {
        let mut child = shell(&[], &format!("{script} exec sleep 1000")).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut device = String::new();
        while !device.contains("headway") {
            device.clear();
            assert_ne!(out.read_line(&mut device).unwrap(), 0, "no device");
        }
        let outer = device.trim().trim_end_matches(':').replace("headway", "shell");
        let has_device = || fs::read_to_string("/proc/net/dev").unwrap().contains(&format!("{outer}:"));
        assert!(has_device(), "{outer}");
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        // The end of the output is the end of all processes.
        out.read_to_string(&mut String::new()).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), (signal == "-TERM").then_some(128 + 15));
        let start = Instant::now();
        while has_device() {
            assert!(start.elapsed() < Duration::from_secs(300), "{outer} still exists");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Ctrl-C concerns the command, which may continue: an interactive program uses it to cancel a line.
#[test]
fn an_interrupt_does_not_end_the_emulator() {
    if !has_rights() {
        return;
    }
    let mut child = shell(&[], "echo started; cat").stdin(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    for signal in ["-INT", "-INT", "-QUIT"] {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    }
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"still here\n").unwrap();
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "still here\n");
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A run in which the emulator did not run for 100 bounds is not valid.
#[test]
fn a_stopped_emulator_makes_the_run_invalid() {
    if !has_rights() {
        return;
    }
    let mut command = headway(&["shell", "--bound", "1ms", "--quiet", "--", "sh", "-c", "echo started; cat"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    let signal =
        |name: &str| assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(500));
    signal("-CONT");
    drop(child.stdin.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(125));
    let messages = text(&ended.stderr);
    assert!(messages.contains("this run is not valid: uplink: the emulator did not run for "), "{messages}");
}

/// Returns the scheduling policies of the link's threads.
fn policies(emulator: u32) -> Vec<String> {
    let mut policies = Vec::new();
    for thread in fs::read_dir(format!("/proc/{emulator}/task")).unwrap() {
        // A thread may have ended.
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default();
        if let Some((name, fields)) = stat.rsplit_once(')')
            && name.contains("(To")
        {
            // Field 41 of proc_pid_stat(5); the name is field 2.
            policies.push(fields.split_whitespace().nth(41 - 3).unwrap().to_owned());
        }
    }
    policies
}

/// The threads of the link, and no process of the command, have the policy SCHED_RR if the process may set it.
#[test]
fn the_link_preempts_ordinary_programs() {
    if !has_rights() {
        return;
    }
    let may_preempt = Command::new("chrt").args(["-r", "1", "true"]).output();
    if !may_preempt.is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: chrt(1) cannot set SCHED_RR");
        return;
    }
    let mut child = shell(&[], "cut -d' ' -f41 /proc/self/stat; cat").stdin(Stdio::piped()).spawn().unwrap();
    let mut policy = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut policy).unwrap();
    assert_eq!(policy, "0\n", "SCHED_OTHER");
    // The threads may start after the command.
    let start = Instant::now();
    while policies(child.id()) != ["2", "2"] {
        assert!(start.elapsed() < Duration::from_secs(300), "{:?} is not SCHED_RR", policies(child.id()));
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn wrong_options_are_refused_before_the_command_starts() {
    for (arguments, message) in [
        (&["--rate", "-3Mbps"][..], "--rate"),
        (&["--queue", "fq"], "fq-codel"),
        (&["--reverse", "rate"], "--reverse rate: expected KEY=VALUE"),
        (&["--reverse", "speed=3Mbps"], "speed"),
        (&["--trace", "/nonexistent"], "/nonexistent"),
        (&["--host-port", "0"], "--host-port"),
        (&["--bound", "-1ms"], "--bound"),
    ] {
        let refused = run(arguments, "echo started");
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{arguments:?}");
        assert!(text(&refused.stderr).contains(message), "{arguments:?}: {}", text(&refused.stderr));
    }
}
