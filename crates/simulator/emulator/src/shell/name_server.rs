//! The name servers of the system.

use std::fs;
use std::net::{IpAddr, SocketAddr};

/// Returns a name server at a loopback address, which a namespace cannot reach, if the system has no other name server
/// (resolv.conf(5)).
pub(super) fn on_loopback() -> Option<SocketAddr> {
    of(&fs::read_to_string("/etc/resolv.conf").ok()?)
}

fn of(text: &str) -> Option<SocketAddr> {
    let servers: Vec<IpAddr> =
        text.lines().filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse().ok()).collect();
    let are_on_loopback = servers.iter().all(|address| address.is_loopback());
    servers.first().filter(|_| are_on_loopback).map(|address| (*address, super::DNS_PORT).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_server_on_loopback_needs_forwarding() {
        let local = "127.0.0.53:53".parse().ok();
        assert_eq!(of("# systemd-resolved\nnameserver 127.0.0.53\noptions edns0\n"), local);
        assert_eq!(of("nameserver 127.0.0.53\nnameserver 192.0.2.1\n"), None);
        assert_eq!(of("nameserver 192.0.2.1\nnameserver 127.0.0.53\n"), None);
        assert_eq!(of("search example.org\nnameserver\n"), None);
    }
}
