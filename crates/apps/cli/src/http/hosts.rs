//! Check of the `Host` field against DNS rebinding, by which pages of other sites reach a loopback address.

use super::{Head, header};
use std::net::{IpAddr, SocketAddr};

/// Accepted values of `Host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// `localhost` or a loopback address, with any port: `ssh -L` forwards a port with another number.
    Loopback,
    Any,
}

impl Hosts {
    /// Returns the hosts of a server at this address. A server on another interface than loopback accepts any name.
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.ip().is_loopback() { Self::Loopback } else { Self::Any }
    }

    /// Returns whether the request has exactly one `Host`, and an accepted host there and in its target (RFC 9112 section
    /// 3.2).
    pub(crate) fn match_request(self, head: &Head) -> bool {
        if self == Self::Any {
            return true;
        }
        let mut named = head.headers.get_all(header::HOST).iter();
        let is_named = named.next().is_some_and(|host| is_loopback(host.as_bytes())) && named.next().is_none();
        is_named && head.uri.authority().is_none_or(|authority| is_loopback(authority.as_str().as_bytes()))
    }
}

/// Returns whether `HOST` or `HOST:PORT` names a loopback interface.
fn is_loopback(authority: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(authority) else { return false };
    let with_port = text.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let host = with_port.map_or(text, |(host, _)| host);
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_loopback_interfaces_are_accepted_with_any_port() {
        for host in ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:9000", "127.0.0.1", "[::1]:9000", "[::1]"]
        {
            assert!(is_loopback(host.as_bytes()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "localhost:80@evil.example",
            "192.0.2.1:80",
            "[2001:db8::1]:80",
            "localhost:99999",
            "user@localhost:80",
            "",
            ":80",
        ] {
            assert!(!is_loopback(host.as_bytes()), "{host}");
        }
    }
}
