//! The first process of a shell's PID namespace. It starts the command and ends with its exit status; the kernel then
//! kills all other processes of the namespace. The kernel also kills it when the thread that started it ends.

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

/// Exit status of a command that was not found, and of one that cannot be executed, as in POSIX shells.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// Exit status of a command that a signal has ended, minus the number of the signal.
const SIGNALED: i32 = 128;

/// Starts a command, waits for its end and returns its exit status: 128 plus the number of the signal if a signal ended
/// the command. The calling process must be the first process of a PID namespace. The kernel kills it and the command
/// if the process `parent` ends first. `nameserver` replaces the name servers of the system.
///
/// # Errors
/// The command cannot be started: the exit status that POSIX shells use (127 not found, 126 otherwise), and the reason.
pub fn run_init(parent: u32, nameserver: Option<Ipv4Addr>, command: &[OsString]) -> Result<u8, (u8, io::Error)> {
    let failed = |error: io::Error| (NOT_EXECUTABLE, error);
    set_pdeathsig(Signal::SIGKILL).map_err(|error| failed(error.into()))?;
    // `/proc` still shows the namespace of the parent, which may have ended before the last call.
    if !Path::new(&format!("/proc/{parent}")).exists() {
        return Err(failed(io::Error::other("the emulator has ended")));
    }
    let mounted = mount_file_systems(nameserver);
    mounted.map_err(failed)?;
    let (program, arguments) = command.split_first().ok_or_else(|| failed(ErrorKind::InvalidInput.into()))?;
    // Signals of the terminal reach the command directly. This process must survive them.
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT]).map_err(failed)?;
    let child = Command::new(program)
        .args(arguments)
        .spawn()
        .map_err(|error| (if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE }, error))?;
    let child = Pid::from_raw(child.id().cast_signed());
    let forward = move || {
        for signal in signals.forever() {
            if let (SIGTERM | SIGHUP, Ok(signal)) = (signal, Signal::try_from(signal)) {
                let _ = kill(child, signal);
            }
        }
    };
    std::thread::Builder::new().spawn(forward).map_err(failed)?;
    // Processes whose parent has ended become children of this process.
    loop {
        match waitpid(None::<Pid>, None) {
            Ok(WaitStatus::Exited(ended, status)) if ended == child => return Ok(status as u8),
            Ok(WaitStatus::Signaled(ended, signal, _)) if ended == child => return Ok((SIGNALED + signal as i32) as u8),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
}

/// Gives this process file systems that show its namespaces, and name servers that it can reach.
fn mount_file_systems(nameserver: Option<Ipv4Addr>) -> io::Result<()> {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE)?;
    if let Some(address) = nameserver {
        // The file is in a file system that has no other name, so that nothing is left behind.
        mount(Some("tmpfs"), "/proc", Some("tmpfs"), MsFlags::empty(), NONE)?;
        fs::write("/proc/resolv.conf", format!("nameserver {address}\n"))?;
        mount(Some("/proc/resolv.conf"), "/etc/resolv.conf", NONE, MsFlags::MS_BIND, NONE)?;
        umount2("/proc", MntFlags::MNT_DETACH)?;
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    // Containers may forbid both. Programs then see the processes and the devices of the container.
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NONE);
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), flags, NONE);
    Ok(())
}
