//! Endpoints: identity, rate controller and addresses.
#![expect(clippy::disallowed_types, reason = "the system reports which addresses are local by binding a socket")]

use super::arguments::{EndpointOptions, QueueOptions};
use super::controller::with_controller;
use super::schemes::{controller_of_spacing, with_loss_filter, with_spacing};
use crate::error::Failure;
use crate::queues;
use headway_net::{Fec, Identity, Options, Qlog, Trust};
use headway_run::read;
use headway_units::Registry as _;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

/// Maximum size of an identity file, in bytes. A certificate with its key has some hundred bytes.
const MAX_IDENTITY_SIZE: u64 = 64 << 10;
/// Maximum number of queued events: some tenths of a second at a high rate.
const MAX_EVENTS: usize = 1 << 16;

/// Maximum number of received datagrams of a connection that are queued for the output: 3 MB.
pub(super) const MAX_UNREAD: usize = 1 << 11;

impl EndpointOptions {
    /// Returns the options of the endpoint.
    pub(super) fn options(&self, trust: Trust, queue: Option<&QueueOptions>) -> Result<Options, Failure> {
        let mut options = if self.insecure {
            Options::insecure()
        } else {
            let identity = match &self.identity {
                Some(file) => stored_identity(file)?,
                None => Identity::generate().map_err(|error| Failure::Sockets(error.to_string()))?,
            };
            Options::new(identity, trust)
        };
        options.connection.line_rate = self.line_rate;
        if let Some(text) = &self.controller {
            options = with_controller(options, text)?;
        }
        if let Some(text) = &self.loss_filter {
            options = with_loss_filter(options, text)?;
        }
        if let Some(text) = &self.spacing {
            options = with_spacing(options, text)?;
        }
        let mut controllers = options.connection.controllers.iter();
        if self.line_rate.is_some() && !controllers.any(|row| options.needs_line_rate(row.ccid)) {
            return Err(Failure::Sockets(format!(
                "--line-rate has no effect with the controller {}; remove --line-rate",
                self.controller()
            )));
        }
        // An endpoint without a send queue sends no data.
        options.fec = queue.map_or(Fec::Off, |queue| queue.fec);
        if let Some(text) = queue.and_then(|queue| queue.queue.as_ref()) {
            options.queue = queues::parse(text, options.queue.rules.limit, options.queue.rules.resend)?;
        }
        (options.events, options.unread) = (MAX_EVENTS, MAX_UNREAD);
        let qlog = self.qlog.as_ref().map(Qlog::new).transpose();
        options.qlog = qlog.map_err(|error| Failure::Sockets(format!("--qlog: {error}")))?;
        Ok(options)
    }

    /// Returns the name of the controller for records and statistics.
    pub(super) fn controller(&self) -> &str {
        match (&self.loss_filter, &self.spacing) {
            (Some(_), _) => "tfrc-filtered",
            (None, Some(text)) => controller_of_spacing(text),
            (None, None) => {
                self.controller.as_deref().and_then(|text| text.split(',').next()).map_or("tfrc-filtered", str::trim)
            }
        }
    }
}

/// Checks that the send queue supports methods for each datagram, if some datagrams have one.
pub(super) fn check_methods(have_methods: bool, options: &Options) -> Result<(), Failure> {
    if !have_methods || options.queue.accepts_methods() {
        return Ok(());
    }
    let kind = options.queue.kind();
    Err(Failure::Sockets(format!(
        "--queue {kind}: this queue does not support methods of single datagrams; remove the methods, or set another --queue"
    )))
}

/// Returns the identity in a file. Creates the file if it is missing.
fn stored_identity(path: &Path) -> Result<Identity, Failure> {
    let failed = |error: headway_net::SecureError| Failure::Sockets(format!("{}: {error}", path.display()));
    match read(path, MAX_IDENTITY_SIZE) {
        Ok(bytes) => {
            warn_of_readers(path);
            Identity::from_pem(&String::from_utf8_lossy(&bytes)).map_err(failed)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let identity = Identity::generate().map_err(failed)?;
            let mut file = create_private(path).map_err(Failure::file("write", path))?;
            if let Err(error) = file.write_all(identity.to_pem().as_bytes()) {
                // A partial file would prevent the next run.
                let _ = std::fs::remove_file(path);
                return Err(Failure::file("write", path)(error));
            }
            Ok(identity)
        }
        Err(error) => Err(Failure::file("read", path)(error)),
    }
}

fn create_private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Other systems have no file modes.
#[cfg(not(unix))]
fn warn_of_readers(_: &Path) {}

/// Warns if other users can read the private key: they could impersonate its owner.
#[cfg(unix)]
fn warn_of_readers(path: &Path) {
    if let Ok(about) = std::fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
    {
        let path = path.display();
        crate::output::note(&format!("warning: other users can read the private key in {path}; run chmod 600 {path}"));
    }
}

/// Parses an address or host name with a port. IPv6 addresses are in brackets, with the interface of link-local ones:
/// `[fe80::1%eth0]:5004`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| Failure::Sockets(format!("\"{text}\" {why}"));
    let bare = || wrong(format!("is an IPv6 address without brackets or port; expected [{text}]:5004"));
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once("]:")) {
        Some(Some(both)) => both,
        None if text.parse::<Ipv6Addr>().is_ok() => return Err(bare()),
        _ if text.parse::<u16>().is_ok() => {
            return Err(wrong(format!("is only a port; write HOST:PORT, such as 127.0.0.1:{text}")));
        }
        Some(None) | None => text
            .rsplit_once(':')
            .filter(|(host, _)| !host.starts_with('['))
            .ok_or_else(|| wrong("has no port; expected HOST:PORT, such as 127.0.0.1:5004 or [::1]:5004".to_owned()))?,
    };
    let Ok(port) = port.parse::<u16>() else {
        return Err(wrong(format!("is not an address: \"{port}\" is not a port; expected 0 to 65535")));
    };
    let mut found = (host, port).to_socket_addrs().map_err(|error| wrong(format!("cannot be resolved: {error}")))?;
    found.next().ok_or_else(|| wrong("has no address".to_owned()))
}

/// Parses the address of a destination, whose port must not be 0.
pub(crate) fn destination(text: &str) -> Result<SocketAddr, Failure> {
    let to = address(text)?;
    if to.port() == 0 {
        return Err(Failure::Sockets(format!("\"{text}\" has port 0; expected a port from 1 to 65535")));
    }
    Ok(to)
}

/// Checks that datagrams to `to` do not arrive at the socket of this command at `listening`, which would create a loop.
/// `what` is the name of the destination in the error.
pub(crate) fn check_not_own(listening: SocketAddr, what: &str, to: SocketAddr) -> Result<(), Failure> {
    if !is_reached_at(listening, to) {
        return Ok(());
    }
    Err(Failure::Sockets(format!(
        "{what} {to}: this command listens at {listening} and would receive its own datagrams; set the address of another program"
    )))
}

/// Returns whether a datagram from this host to `to` arrives at a socket that is bound to `listening`. Port 0 is any
/// free port.
fn is_reached_at(listening: SocketAddr, to: SocketAddr) -> bool {
    if listening.port() != to.port() || listening.port() == 0 {
        return false;
    }
    let (bound, ip) = (listening.ip().to_canonical(), to.ip().to_canonical());
    // The system replaces the unspecified address by the loopback address.
    let is_local = || ip.is_unspecified() || ip.is_loopback() || UdpSocket::bind(SocketAddr::new(ip, 0)).is_ok();
    match bound {
        // An IPv6 socket that is bound to all addresses also receives IPv4.
        IpAddr::V6(bound) if bound.is_unspecified() => is_local(),
        IpAddr::V4(bound) if bound.is_unspecified() => ip.is_ipv4() && is_local(),
        bound => bound == ip || bound.is_loopback() && ip.is_unspecified() && bound.is_ipv4() == ip.is_ipv4(),
    }
}

/// Runs `run` in a new thread.
pub(super) fn spawn<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>, Failure> {
    let failed = |error| Failure::Sockets(format!("cannot start a thread: {error}"));
    std::thread::Builder::new().spawn(run).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_parsed() {
        for (text, expected) in [
            ("127.0.0.1:5004", "127.0.0.1:5004"),
            ("[::1]:5004", "[::1]:5004"),
            ("[fe80::1%3]:5004", "[fe80::1%3]:5004"),
        ] {
            assert_eq!(address(text).unwrap(), expected.parse().unwrap());
        }
        for (text, why) in [
            ("::1", "expected [::1]:5004"),
            ("::1:5004", "without brackets"),
            ("[::1]", "has no port"),
            ("127.0.0.1", "has no port"),
            ("127.0.0.1:", "\"\" is not a port"),
            ("127.0.0.1:65536", "\"65536\" is not a port; expected 0 to 65535"),
            ("[::1]:", "is not a port"),
        ] {
            let error = address(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(destination("127.0.0.1:0").unwrap_err().to_string().contains("port 0"));
    }

    /// No interface has the address 192.0.2.1 (RFC 5737).
    #[test]
    fn own_addresses_are_detected() {
        for (listening, to, expected) in [
            ("127.0.0.1:7100", "127.0.0.1:7100", true),
            ("127.0.0.1:7100", "[::ffff:127.0.0.1]:7100", true),
            ("127.0.0.1:7100", "0.0.0.0:7100", true),
            ("0.0.0.0:7100", "127.0.0.1:7100", true),
            ("0.0.0.0:7100", "127.0.0.2:7100", true),
            ("[::]:7100", "127.0.0.1:7100", true),
            ("[::]:7100", "[::1]:7100", true),
            ("[::1]:7100", "[::1]:7100", true),
            ("127.0.0.1:7100", "127.0.0.1:7101", false),
            ("127.0.0.1:7100", "127.0.0.2:7100", false),
            ("127.0.0.1:7100", "[::1]:7100", false),
            ("0.0.0.0:7100", "[::1]:7100", false),
            ("0.0.0.0:7100", "192.0.2.1:7100", false),
            ("[::]:7100", "192.0.2.1:7100", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
        ] {
            assert_eq!(is_reached_at(listening.parse().unwrap(), to.parse().unwrap()), expected, "{listening} {to}");
        }
    }
}
