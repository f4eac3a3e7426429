//! Namespaces of Linux. A network namespace belongs to a thread: children, sockets and devices that the thread creates
//! are in its namespace.

use crate::shell::error::ShellError;
use caps::{CapSet, Capability};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::io;
use std::os::fd::AsFd;

/// Whether the process may create network namespaces and devices.
fn is_administrator() -> bool {
    [Capability::CAP_NET_ADMIN, Capability::CAP_SYS_ADMIN]
        .into_iter()
        .all(|capability| caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false))
}

/// Ensures that this thread may create network namespaces. A process without privileges gets a user namespace, in which
/// it keeps its user and has all capabilities; the process must have a single thread. Returns whether it has one.
pub(crate) fn acquire_rights() -> Result<bool, ShellError> {
    if is_administrator() {
        return Ok(false);
    }
    let (user, group) = (geteuid(), getegid());
    let enter = || -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        // A process without privileges may map a group only if it cannot drop groups (user_namespaces(7)).
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    };
    enter().map_err(ShellError::UserNamespace)?;
    Ok(true)
}

/// Lets the programs that this thread starts keep its capabilities, although they do not run as root.
pub(crate) fn keep_capabilities() -> Result<(), ShellError> {
    let keep = || {
        let all = caps::read(None, CapSet::Permitted)?;
        caps::set(None, CapSet::Inheritable, &all)?;
        caps::set(None, CapSet::Ambient, &all)
    };
    keep().map_err(|error| ShellError::Namespace(io::Error::other(error.to_string())))
}

/// Moves this thread into a new network namespace.
pub(crate) fn enter_network() -> Result<(), ShellError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| ShellError::Namespace(error.into()))
}

/// Moves this thread into an existing network namespace.
pub(crate) fn enter_existing(namespace: impl AsFd) -> Result<(), ShellError> {
    setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|error| ShellError::Namespace(error.into()))
}

/// Puts the future children of this thread into a new PID namespace. The kernel kills all its processes when the first
/// child ends.
pub(crate) fn enter_processes() -> Result<(), ShellError> {
    unshare(CloneFlags::CLONE_NEWPID).map_err(|error| ShellError::Namespace(error.into()))
}
