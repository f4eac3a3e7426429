//! Outputs of received datagrams.
#![expect(clippy::disallowed_types, reason = "datagrams are forwarded by UDP")]

use super::arguments::{Framing, RecvOptions};
use super::endpoint::destination;
use super::framing::frame;
use crate::error::Failure;
use std::fs::File;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Output that all connections share.
pub(super) enum Sink {
    Nothing,
    File { path: PathBuf, file: Mutex<OutputFile>, framing: Framing },
    Stdout { framing: Framing },
    Udp(SocketAddr),
}

/// File that keeps its contents until the first datagram arrives.
pub(super) struct OutputFile {
    file: File,
    /// Whether a datagram has arrived.
    has_begun: bool,
}

/// Output of one connection.
pub(super) struct Outlet {
    sink: Arc<Sink>,
    socket: Option<UdpSocket>,
    framed: Vec<u8>,
}

impl Sink {
    pub(super) fn new(args: &RecvOptions) -> Result<Self, Failure> {
        let framing = args.framing;
        Ok(match (&args.out, &args.to) {
            (Some(path), _) if path.as_os_str() == "-" => {
                if is_closed(STDOUT) {
                    let why =
                        "--out -: standard output is closed or is /dev/null; remove --out to count the datagrams only";
                    return Err(Failure::Sockets(why.to_owned()));
                }
                Self::Stdout { framing }
            }
            (Some(path), _) => {
                let file = File::options().write(true).create(true).truncate(false).open(path);
                let file = file.map_err(Failure::file("write", path))?;
                Self::File { path: path.clone(), file: Mutex::new(OutputFile { file, has_begun: false }), framing }
            }
            (None, Some(to)) => Self::Udp(destination(to)?),
            (None, None) => Self::Nothing,
        })
    }

    /// Returns whether datagrams are written or forwarded, instead of only counted.
    pub(super) const fn has_output(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Returns whether datagrams are written to standard output.
    pub(super) const fn uses_stdout(&self) -> bool {
        matches!(self, Self::Stdout { .. })
    }

    pub(super) fn outlet(self: &Arc<Self>) -> Result<Outlet, Failure> {
        let socket = match **self {
            Self::Udp(to) => {
                let socket = socket_towards(to)?;
                // The system reports a closed port on a connected socket only.
                socket.connect(to).map_err(|error| Failure::Sockets(format!("cannot send to {to}: {error}")))?;
                Some(socket)
            }
            Self::Nothing | Self::File { .. } | Self::Stdout { .. } => None,
        };
        Ok(Outlet { sink: Arc::clone(self), socket, framed: Vec::new() })
    }
}

pub(super) const STDIN: u32 = 0;
const STDOUT: u32 = 1;

/// Returns whether the program was started without this standard stream. The Rust runtime then opens /dev/null for
/// reading and writing instead: output would be lost without an error, and input would be empty.
pub(super) fn is_closed(stream: u32) -> bool {
    const ACCESS_MODE: u32 = 0o3;
    const READ_AND_WRITE: u32 = 0o2;
    let is_null = std::fs::read_link(format!("/proc/self/fd/{stream}")).is_ok_and(|to| to.as_os_str() == "/dev/null");
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{stream}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    is_null && flags.is_some_and(|flags| flags & ACCESS_MODE == READ_AND_WRITE)
}

/// Sends a datagram. Returns false after an error. The error of a closed port belongs to the previous datagram; this
/// one is then sent again.
fn send(socket: &UdpSocket, datagram: &[u8]) -> bool {
    match socket.send(datagram) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let _ = socket.send(datagram);
            false
        }
        sent => sent.is_ok(),
    }
}

/// Returns a socket of the address family of `to`.
pub(super) fn socket_towards(to: SocketAddr) -> Result<UdpSocket, Failure> {
    let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    UdpSocket::bind(SocketAddr::new(any, 0)).map_err(|error| Failure::Sockets(format!("cannot send to {to}: {error}")))
}

impl OutputFile {
    /// Appends a datagram. The first one replaces the contents of the file.
    fn write(&mut self, datagram: &[u8]) -> io::Result<()> {
        if !self.has_begun && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.has_begun = true;
        self.file.write_all(datagram)
    }
}

impl Outlet {
    /// Writes a datagram. Returns false if the system refused it, which is possible for UDP only.
    pub(super) fn write(&mut self, datagram: &[u8]) -> Result<bool, Failure> {
        match &*self.sink {
            Sink::Nothing => {}
            Sink::File { path, file, framing } => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write(framed(*framing, datagram, &mut self.framed)).map_err(Failure::file("write", path))?;
            }
            Sink::Stdout { framing } => {
                let mut out = io::stdout().lock();
                out.write_all(framed(*framing, datagram, &mut self.framed)).and_then(|()| out.flush()).map_err(
                    |error| {
                        // Unlike for text output, a closed pipe is an error: these datagrams are lost.
                        Failure::Sockets(format!("cannot write the datagrams to standard output: {error}"))
                    },
                )?;
            }
            Sink::Udp(_) => return Ok(self.socket.as_ref().is_some_and(|socket| send(socket, datagram))),
        }
        Ok(true)
    }
}

fn framed<'a>(framing: Framing, datagram: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    match framing {
        Framing::Raw => datagram,
        Framing::Length => {
            frame(datagram, buffer);
            buffer
        }
    }
}
