//! Both ends: who they are, whom they believe, and what controls their rate.

use super::arguments::{EndOptions, QueueOptions};
use crate::error::Failure;
use crate::queues;
use headway_net::{Identity, Options, Trust};
use headway_run::read;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// A certificate and a key have some hundred bytes; a chain and its texts some more.
const LARGEST_IDENTITY: u64 = 64 << 10;
/// Events that wait while a line is printed, or another thread has the processor: some tenths of a second of a fast line.
const EVENTS: usize = 1 << 16;

/// Datagrams of a connection that wait while what came before is written: 3 MB.
const UNREAD: usize = 1 << 11;

impl EndOptions {
    /// What the endpoint is told.
    pub(super) fn options(&self, trust: Trust, queue: Option<&QueueOptions>) -> Result<Options, Failure> {
        let mut options = if self.insecure {
            Options::insecure()
        } else {
            let identity = match &self.identity {
                Some(file) => kept(file)?,
                None => Identity::generate().map_err(|error| Failure::Sockets(error.to_string()))?,
            };
            Options::new(identity, trust)
        };
        if let Some(kind) = &self.controller {
            options = options
                .with_controller(kind)
                .map_err(|error| Failure::Sockets(format!("--controller {kind}: {}: {}", error.key, error.message)))?;
        }
        if let Some(text) = queue.and_then(|queue| queue.queue.as_ref()) {
            options.queue = queues::parse(text, options.queue.rules.limit)?;
        }
        (options.events, options.unread) = (EVENTS, UNREAD);
        Ok(options)
    }

    /// What the record and the statistics call the controller.
    pub(super) fn controller(&self) -> &str {
        self.controller.as_deref().unwrap_or("tfrc")
    }
}

/// The identity in a file, which is made if it is missing.
fn kept(path: &Path) -> Result<Identity, Failure> {
    let failed = |error: headway_net::SecureError| Failure::Sockets(format!("{}: {error}", path.display()));
    match read(path, LARGEST_IDENTITY) {
        Ok(bytes) => {
            warn_of_readers(path);
            Identity::from_pem(&String::from_utf8_lossy(&bytes)).map_err(failed)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let identity = Identity::generate().map_err(failed)?;
            let write = || create_private(path)?.write_all(identity.to_pem().as_bytes());
            write().map_err(Failure::file("write", path))?;
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

/// Who can read the key can pass for its owner. Other systems have no such modes.
#[cfg(not(unix))]
fn warn_of_readers(_: &Path) {}

/// Who can read the key can pass for its owner.
#[cfg(unix)]
fn warn_of_readers(path: &Path) {
    if let Ok(about) = std::fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
    {
        let path = path.display();
        crate::output::note(&format!("warning: others may read the private key in {path}: chmod 600 {path}"));
    }
}

/// An address with its port, by number or by name.
pub(super) fn address(text: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| Failure::Sockets(format!("\"{text}\" {why}"));
    if !text.contains(':') {
        return Err(wrong("has no port: write HOST:PORT, such as 127.0.0.1:5004".to_owned()));
    }
    let mut found = text.to_socket_addrs().map_err(|error| wrong(format!("is no address: {error}")))?;
    found.next().ok_or_else(|| wrong("has no address".to_owned()))
}
