//! Tests of `headway shell` with faults of its surroundings: lost devices, and programs that misbehave. Each test ends
//! without a process or a device.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the programs on both sides of the link use the system"
)]

use crate::common::text;
use crate::shell::{accept, connect, has_rights, run, shell};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Command that prints the name of its device.
const PRINT_DEVICE: &str = "awk -F: '/headway/ { print $1 }' /proc/net/dev";

/// Returns whether ip(8) is installed, which deletes and configures devices.
fn has_ip() -> bool {
    let installed = Command::new("ip").arg("-V").output().is_ok_and(|out| out.status.success());
    if !installed {
        eprintln!("skipped: ip(8) is not installed");
    }
    installed
}

/// Waits until a device does not exist. Another test may use its name meanwhile.
fn wait_for_the_end_of(device: &str) {
    let start = Instant::now();
    while std::fs::read_to_string("/proc/net/dev").unwrap().contains(&format!("{device}:")) {
        assert!(start.elapsed() < Duration::from_secs(300), "{device} still exists");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a command that does not end, and returns the name of its outer device.
fn start() -> (Child, String) {
    let mut child = shell(&[], &format!("{PRINT_DEVICE}; exec sleep 1000")).spawn().unwrap();
    let mut device = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut device).unwrap();
    (child, device.trim().replace("headway", "shell"))
}

fn ip(arguments: &[&str]) {
    let out = Command::new("ip").args(arguments).output().unwrap();
    assert!(out.status.success(), "ip {arguments:?}: {}", text(&out.stderr));
}

/// A command cannot continue without its link: it is killed, and the error names the device.
#[test]
fn a_deleted_device_ends_the_command() {
    if !has_rights() || !has_ip() {
        return;
    }
    let inner = run(&[], &format!("ip link delete $({PRINT_DEVICE}); exec sleep 1000"));
    let (child, device) = start();
    ip(&["link", "delete", &device]);
    let outer = child.wait_with_output().unwrap();
    for (out, name) in [(inner, "headway0-"), (outer, &device[..])] {
        let messages = text(&out.stderr);
        assert_eq!(out.status.code(), Some(125), "{messages}");
        assert!(messages.contains(&format!("the device {name}")) && messages.contains(" failed: "), "{messages}");
    }
    wait_for_the_end_of(&device);
}

/// Nothing arrives while a device is down. The link continues when it is up again.
#[test]
fn a_device_may_be_set_down_and_up() {
    if !has_rights() || !has_ip() {
        return;
    }
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("{PRINT_DEVICE}; exec bash -c '{}; cat <&3 >&3'", connect(port));
    let (mut child, mut stream) = accept(&listener, shell(&[], &script).spawn().unwrap());
    let mut device = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut device).unwrap();
    let device = device.trim().replace("headway", "shell");
    ip(&["link", "set", &device, "down"]);
    ip(&["link", "set", &device, "up"]);
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    drop(stream);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

/// Neither processes that have left their parent nor many of them survive the command.
#[test]
fn programs_that_fork_and_end_leave_nothing_behind() {
    if !has_rights() {
        return;
    }
    // All processes hold standard output open, so that its end is the end of all of them.
    let daemon = "sh -c '(setsid sleep 1000 &) ; setsid sh -c \"sleep 1000 & exec sleep 1000\" &' &";
    let out = run(&[], &format!("for i in $(seq 50); do {daemon} done; {PRINT_DEVICE}; exit 7"));
    assert_eq!(out.status.code(), Some(7), "{}", text(&out.stderr));
    let device = text(&out.stdout).trim().replace("headway", "shell");
    assert!(device.starts_with("shell"), "{device}");
    wait_for_the_end_of(&device);
}

/// A program that never reads its connection or its input fills the buffers of the kernel, not those of the emulator.
#[test]
fn programs_that_never_read_do_not_block_the_end() {
    if !has_rights() {
        return;
    }
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec bash -c '{}; exec sleep 1000'", connect(port));
    let mut command = shell(&["--rate", "100Mbps", "--delay", "1ms"], &script);
    let (mut child, mut stream) = accept(&listener, command.stdin(Stdio::piped()).spawn().unwrap());
    stream.set_nonblocking(true).unwrap();
    let block = vec![0; 1 << 16];
    let mut refused = 0;
    // The buffers are full if nothing is accepted for half a second.
    while refused < 50 {
        match stream.write(&block) {
            Ok(written) => refused *= usize::from(written == 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    let start = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    drop(child.stdin.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(128 + 15), "{}", text(&out.stderr));
    assert!(start.elapsed() < Duration::from_secs(300));
}
