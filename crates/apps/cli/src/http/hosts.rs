//! Check of the `Host` field against DNS rebinding, by which pages of other sites reach a loopback address.

use super::{Head, header};
use std::net::SocketAddr;

/// Accepted values of `Host`; `None` accepts any name.
pub(crate) struct Hosts(Option<[String; 2]>);

impl Hosts {
    /// Returns the hosts of a server at this address. A server on another interface than loopback accepts any name.
    pub(crate) fn of(address: SocketAddr) -> Self {
        let is_local = address.ip().is_loopback();
        Self(is_local.then(|| [address.to_string(), format!("localhost:{}", address.port())]))
    }

    /// Returns whether the request has exactly one `Host`, and this server as host and in its target (RFC 9112 section
    /// 3.2).
    pub(crate) fn match_request(&self, head: &Head) -> bool {
        let Some(hosts) = &self.0 else { return true };
        let is_ours = |name: &[u8]| hosts.iter().any(|host| host.as_bytes() == name);
        let mut named = head.headers.get_all(header::HOST).iter();
        let is_named = named.next().is_some_and(|host| is_ours(host.as_bytes())) && named.next().is_none();
        is_named && head.uri.authority().is_none_or(|authority| is_ours(authority.as_str().as_bytes()))
    }
}
