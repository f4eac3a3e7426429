//! Errors of a shell.

use std::io;

/// Error of a shell.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// The process is not root and cannot become root in a user namespace.
    #[error(
        "cannot create a user namespace: {0}; run as root, or allow user namespaces (see the sysctls \
         user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    UserNamespace(io::Error),
    /// A network or PID namespace cannot be created.
    #[error("cannot create a network namespace: {0}; a container needs the capabilities NET_ADMIN and SYS_ADMIN")]
    Namespace(io::Error),
    /// `/dev/net/tun` cannot be opened, or a device cannot be created.
    #[error(
        "cannot create a TUN device: {0}; /dev/net/tun must exist (modprobe tun; in a container: --device /dev/net/tun) and be \
         readable and writable"
    )]
    Tun(io::Error),
    /// All blocks of addresses are in use, or the shells are nested too deep.
    #[error("there is no address left: at most 256 shells run in a system, and at most six are nested")]
    NoBlock,
    /// The kernel refused an address, a route or another setting of an interface.
    #[error("cannot configure {what}: {reason}")]
    Configure {
        /// Setting, such as `the route of headway0`.
        what: String,
        /// Reason that the kernel gave.
        reason: String,
    },
    /// The gateway cannot listen at a port.
    #[error("cannot listen at port {port} of the gateway: {error}")]
    HostPort {
        /// Port at which the gateway cannot listen.
        port: u16,
        /// Error of the system.
        error: io::Error,
    },
    /// A thread, epoll or the timer cannot be created.
    #[error("cannot start the link: {0}")]
    Link(io::Error),
    /// A device failed while the command was running: it was deleted or set down.
    #[error("the device {device} failed: {error}")]
    Device {
        /// Name of the device.
        device: String,
        /// Error of the system.
        error: io::Error,
    },
}
