//! Rate for an encoder in another program: lines of JSON on a file descriptor (`--rate-fd`), and `/rate` of the server of
//! metrics. A reader that does not read never blocks the data path.

use super::arguments::RateOptions;
use super::console::Console;
use super::metrics::CurrentRate;
#[cfg(target_os = "linux")]
use super::sink::is_closed;
use crate::error::Failure;
use headway_net::Rate;
#[cfg(target_os = "linux")]
use nix::sys::socket::{MsgFlags, SockaddrStorage, getpeername, send};
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io::{self, ErrorKind, Write};
#[cfg(target_os = "linux")]
use std::os::fd::RawFd;

/// Number of standard error.
#[cfg(target_os = "linux")]
const LAST_STANDARD_STREAM: u32 = 2;

pub(super) struct RateFeed {
    lines: Option<(u32, Lines<Output>)>,
    current: CurrentRate,
}

impl RateFeed {
    /// `current`: the rate that the server of metrics returns. Call this before any file or socket of this command is
    /// open, because a descriptor that was not inherited may be one of these.
    pub(super) fn new(args: RateOptions, current: CurrentRate) -> Result<Self, Failure> {
        let open = |number| {
            let failed = |error: io::Error| {
                Failure::Sockets(format!(
                    "--rate-fd {number}: {error}; expected the number of an open pipe, socket or file"
                ))
            };
            open(number).map(|file| (number, Lines::new(file))).map_err(failed)
        };
        Ok(Self { lines: args.rate_fd.map(open).transpose()?, current })
    }

    /// Reports the current rate. Call it often: a line for which there is no room is written by a later call.
    pub(super) fn update(&mut self, rate: Option<Rate>, console: &Console) {
        self.current.set(rate);
        let (Some((number, lines)), Some(rate)) = (&mut self.lines, rate) else { return };
        if let Err(error) = lines.update(rate) {
            console.warn(&format!("warning: --rate-fd {number}: {error}; the rate is no longer written"));
            self.lines = None;
        }
    }
}

type Output = Box<dyn Write + Send>;

/// Returns an output to a file descriptor of this process that never waits for its reader. A pipe or file is opened a
/// second time, so that only this end of a pipe does not wait. A descriptor that is not open for writing is an error,
/// although its file could be opened for writing.
#[cfg(target_os = "linux")]
fn open(number: u32) -> io::Result<Output> {
    let not_open = || io::Error::new(ErrorKind::NotFound, "this file descriptor is not open");
    let target = std::fs::read_link(format!("/proc/self/fd/{number}")).map_err(|_| not_open())?;
    if number <= LAST_STANDARD_STREAM && is_closed(number) {
        return Err(not_open());
    }
    if target.to_string_lossy().starts_with("socket:") {
        let socket = RawFd::try_from(number).map_err(|_| not_open())?;
        getpeername::<SockaddrStorage>(socket)?;
        return Ok(Box::new(Socket(socket)));
    }
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(nix::libc::O_RDONLY);
    if flags & nix::libc::O_ACCMODE == nix::libc::O_RDONLY {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is not open for writing"));
    }
    let mut options = File::options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options.append(true), nix::libc::O_NONBLOCK);
    Ok(Box::new(options.open(format!("/proc/self/fd/{number}"))?))
}

#[cfg(not(target_os = "linux"))]
fn open(_: u32) -> io::Result<Output> {
    Err(io::Error::new(ErrorKind::Unsupported, "this option needs Linux"))
}

/// Connected socket of the program that started the command. It cannot be opened a second time.
#[cfg(target_os = "linux")]
struct Socket(RawFd);

#[cfg(target_os = "linux")]
impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines of JSON for the changes of a rate.
struct Lines<W> {
    out: W,
    /// Rate of the last line.
    rate: Option<Rate>,
    /// Rest of the last line.
    rest: Vec<u8>,
}

impl<W: Write> Lines<W> {
    const fn new(out: W) -> Self {
        Self { out, rate: None, rest: Vec::new() }
    }

    /// Writes what there is room for. The newest rate replaces those for which there was none.
    fn update(&mut self, rate: Rate) -> io::Result<()> {
        loop {
            if self.rest.is_empty() {
                if self.rate == Some(rate) {
                    return Ok(());
                }
                self.rest = format!("{{\"encoder_rate_bps\":{}}}\n", rate.bits_per_second()).into_bytes();
                self.rate = Some(rate);
            }
            let whole = self.rest.len();
            match self.out.write(&self.rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.rest.drain(..written.min(whole))),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // No part of this line was written: a later rate replaces it.
                    if self.rest.first() == Some(&b'{') {
                        (self.rest, self.rate) = (Vec::new(), None);
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pipe with room for a number of bytes.
    #[derive(Default)]
    struct Pipe {
        room: usize,
        written: Vec<u8>,
        is_closed: bool,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.is_closed {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let part = bytes.len().min(self.room);
            if part == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.room -= part;
            self.written.extend_from_slice(&bytes[..part]);
            Ok(part)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A reader gets whole lines, of which the last one has the newest rate.
    #[test]
    fn the_newest_rate_wins_if_the_reader_does_not_read() {
        let mut lines = Lines::new(Pipe { room: 40, ..Pipe::default() });
        let mut update = |bps, room| {
            lines.out.room += room;
            lines.update(Rate::from_bits_per_second(bps)).unwrap();
            String::from_utf8(lines.out.written.clone()).unwrap()
        };
        let line = |bps: u64| format!("{{\"encoder_rate_bps\":{bps}}}\n");
        assert_eq!(update(100, 0), line(100));
        assert_eq!(update(100, 0), line(100), "no change");
        let parts = line(100) + &line(200);
        assert_eq!(update(200, 0), parts[..40], "there is room for a part");
        assert_eq!(update(300, 0), parts[..40], "the reader does not read");
        assert_eq!(update(400, 35), parts.clone() + &line(400), "300 was replaced");
        assert_eq!(update(500, 0), parts.clone() + &line(400), "there is no room");
        assert_eq!(update(600, 100), parts + &line(400) + &line(600));
    }

    /// A file that the user opened for reading, such as standard input, is not written to.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_descriptor_for_reading_is_an_error() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let (read, write) = (File::open(path.path()).unwrap(), File::options().write(true).open(path.path()).unwrap());
        assert_eq!(open(number(&read)).err().unwrap().to_string(), "it is not open for writing");
        assert!(open(number(&write)).is_ok());
    }

    #[cfg(target_os = "linux")]
    fn number(file: &impl std::os::fd::AsRawFd) -> u32 {
        u32::try_from(file.as_raw_fd()).unwrap()
    }

    /// A socket without a peer, or whose peer does not read, is an error and does not block.
    #[cfg(target_os = "linux")]
    #[test]
    fn lines_are_written_to_an_inherited_socket() {
        use std::io::Read as _;
        use std::os::unix::net::{UnixDatagram, UnixStream};
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut output = open(number(&here)).unwrap();
        output.write_all(b"rate").unwrap();
        let mut read = [0; 4];
        there.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"rate");
        let full = std::iter::repeat_with(|| output.write(&[0; 4096])).find_map(Result::err).unwrap();
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        drop(there);
        assert_eq!(output.write(b"rate").unwrap_err().kind(), ErrorKind::BrokenPipe);
        let unconnected = UnixDatagram::unbound().unwrap();
        assert_eq!(open(number(&unconnected)).err().unwrap().kind(), ErrorKind::NotConnected);
    }

    #[test]
    fn a_closed_pipe_is_an_error() {
        let mut lines = Lines::new(Pipe { is_closed: true, ..Pipe::default() });
        assert_eq!(lines.update(Rate::from_bits_per_second(1)).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
