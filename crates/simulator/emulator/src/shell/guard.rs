//! Access to the outside for a shell of root: address translation with nftables, and IP forwarding.
//!
//! A separate process, the guard, makes both settings and undoes them when its standard input ends. Thus they are undone
//! even if the emulator is killed.

use super::block::{Block, Side};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Setting of the system that guards change, and the file with its former value while they do.
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";
const FORMER_FORWARDING: &str = "/run/headway-ip-forward";

/// Number of checks whether nftables has made the settings, and the time between them.
const MAX_CHECKS: usize = 200;
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Reason for which a shell cannot reach the outside.
#[derive(Debug, thiserror::Error)]
enum OutsideError {
    #[error(
        "nft cannot be started ({0}): the command reaches this machine only; install nftables for access to the outside"
    )]
    NoNft(io::Error),
    #[error("nft cannot translate addresses: the command reaches this machine only")]
    Translation,
    #[error("cannot set {FORWARDING}: {0}")]
    Forwarding(io::Error),
}

/// Running guard, and what prevents access to the outside.
#[derive(Debug)]
pub(super) struct Guard {
    process: Child,
    pub(super) problem: Option<String>,
}

impl Guard {
    /// Starts the guard of a shell and waits until its settings are made.
    pub(super) fn start(program: &Path, block: Block) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("shell-guard").arg(block.device(Side::Outer)).arg(cidr(block));
        // Ctrl-C must not end it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let mut problem = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut problem)?;
        }
        let problem = problem.trim();
        Ok(Self { process, problem: (!problem.is_empty()).then(|| problem.to_owned()) })
    }

    /// Undoes the settings.
    pub(super) fn finish(mut self) -> io::Result<()> {
        drop(self.process.stdin.take());
        self.process.wait().map(|_| ())
    }
}

/// Gives a `headway shell` access to the outside until standard input ends: enables IP forwarding, and translates the
/// source addresses `network` (NAT) of packets that leave on any interface except `device`, the outer device of the
/// shell. Prints one line: the reason if this fails, else an empty line.
///
/// # Errors
/// Standard input or output fails.
pub fn run_guard(device: &str, network: &str) -> io::Result<()> {
    let (nft, problem) = match translate(device, network) {
        Ok(nft) => (Some(nft), forward().err().map(OutsideError::Forwarding)),
        Err(error) => (None, Some(error)),
    };
    println!("{}", problem.map(|problem| problem.to_string()).unwrap_or_default());
    io::stdin().read_to_end(&mut Vec::new())?;
    if let Some(mut nft) = nft {
        drop(nft.stdin.take());
        nft.wait()?;
    }
    restore(device)
}

/// Translates the addresses `network` to that of the interface to the outside. The kernel deletes the table when the
/// process ends.
fn translate(device: &str, network: &str) -> Result<Child, OutsideError> {
    // The table of an ended shell with this device may still exist.
    let table = format!("headway_{}", std::process::id());
    let rules = format!(
        "add table ip {table} {{ flags owner; }}\n\
         add chain ip {table} out {{ type nat hook postrouting priority srcnat; policy accept; }}\n\
         add rule ip {table} out ip saddr {network} oifname != \"{device}\" masquerade\n"
    );
    let mut command = Command::new("nft");
    command.arg("-i").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut nft = command.spawn().map_err(OutsideError::NoNft)?;
    let sent = nft.stdin.as_mut().is_some_and(|stdin| stdin.write_all(rules.as_bytes()).is_ok());
    let is_made = || {
        let list = Command::new("nft").args(["list", "chain", "ip", &table, "out"]).stderr(Stdio::null()).output();
        list.is_ok_and(|list| String::from_utf8_lossy(&list.stdout).contains("masquerade"))
    };
    for _ in 0..MAX_CHECKS {
        if sent && is_made() {
            return Ok(nft);
        }
        std::thread::park_timeout(CHECK_INTERVAL);
    }
    let _ = nft.kill();
    let _ = nft.wait();
    Err(OutsideError::Translation)
}

/// Turns forwarding on, and stores the former value for the last guard.
fn forward() -> io::Result<()> {
    let former = fs::read_to_string(FORWARDING)?;
    if former.trim() == "0" {
        fs::write(FORMER_FORWARDING, former)?;
        fs::write(FORWARDING, "1")?;
    }
    Ok(())
}

/// Restores forwarding if no other shell runs.
fn restore(device: &str) -> io::Result<()> {
    let interfaces = nix::net::if_::if_nameindex()?;
    let names = interfaces.iter().filter_map(|interface| interface.name().to_str().ok());
    let is_last = names.filter(|name| *name != device).all(|name| !Block::is_outer_device(name));
    if let (true, Ok(former)) = (is_last, fs::read_to_string(FORMER_FORWARDING)) {
        fs::write(FORWARDING, former)?;
        fs::remove_file(FORMER_FORWARDING)?;
    }
    Ok(())
}

fn cidr(block: Block) -> String {
    let (address, prefix) = block.network();
    format!("{address}/{prefix}")
}
