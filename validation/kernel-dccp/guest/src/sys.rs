//! Three system calls that safe libraries do not support.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

const SOL_DCCP: i32 = 269;

/// Opens the existing TUN device `name` for reading and writing IP packets.
pub(crate) fn tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let mut letters = [0; libc::IFNAMSIZ];
    for (letter, byte) in letters.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *letter = byte as libc::c_char;
    }
    let ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    let mut request = libc::ifreq { ifr_name: letters, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags } };
    // SAFETY: TUNSETIFF reads and writes one ifreq, which lives until the call returns.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if done == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option of a DCCP socket.
pub(crate) fn set_option(socket: &impl AsRawFd, option: i32, value: &[u8]) -> io::Result<()> {
    let (bytes, len) = (value.as_ptr().cast(), value.len() as libc::socklen_t);
    // SAFETY: the kernel reads `len` bytes, which are those of `value`.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), SOL_DCCP, option, bytes, len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option of a DCCP socket into `value`, which has the length of the option.
pub(crate) fn option(socket: &impl AsRawFd, option: i32, value: &mut [u8]) -> io::Result<()> {
    let (bytes, mut len) = (value.as_mut_ptr().cast(), value.len() as libc::socklen_t);
    // SAFETY: the kernel writes at most `len` bytes, which are those of `value`.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), SOL_DCCP, option, bytes, &raw mut len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
