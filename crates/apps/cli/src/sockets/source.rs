//! Where the datagrams come from that are sent: a file, standard input, a program's UDP.
#![expect(clippy::disallowed_types, reason = "a program sends its datagrams by UDP")]

use super::arguments::{MediaOptions, SendOptions};
use super::end::address;
use super::framing::{self, LONGEST};
use super::line::Line;
use super::model::Model;
use super::sink::{STDIN, is_closed};
use crate::error::Failure;
use headway_net::{Closed, Media};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};

/// Datagrams of so many bytes go everywhere: IPv6 carries 1280 with all headers.
const SMALL: usize = 1000;
/// So long a source without data does not look whether it is to end.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

/// Makes datagrams, in a thread of its own.
pub(super) enum Source {
    File { path: PathBuf, file: File, media: MediaOptions, chunk: Option<usize> },
    Stdin { media: MediaOptions, chunk: Option<usize> },
    Udp { socket: UdpSocket, media: MediaOptions },
    Model(Model),
}

/// Why a source ended before its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// The connection did, which tells why itself.
    Connection,
    /// It was stopped before its end.
    Stopped,
    /// It has no more to give, though it should.
    Failed(Failure),
}

impl From<Closed> for Ended {
    fn from(_: Closed) -> Self {
        Self::Connection
    }
}

impl Source {
    pub(super) fn new(asked: &SendOptions) -> Result<Self, Failure> {
        let (media, chunk) = (asked.media, asked.chunk.map(usize::from));
        if let Some(path) = &asked.file {
            let file = open(path).map_err(Failure::file("read", path))?;
            return Ok(Self::File { path: path.clone(), file, media, chunk });
        }
        if let Some(at) = &asked.udp {
            return Ok(Self::Udp { socket: listen(at)?, media });
        }
        match &asked.model {
            Some(text) => Model::new(text, asked.seed).map(Self::Model),
            None if is_closed(STDIN) => {
                let why =
                    "--stdin: standard input is closed or is /dev/null: write the datagrams to it, or send a --file";
                Err(Failure::Sockets(why.to_owned()))
            }
            None => Ok(Self::Stdin { media, chunk }),
        }
    }

    /// What is to be said of it when it begins.
    pub(super) fn announcement(&self) -> Option<String> {
        let Self::Udp { socket, .. } = self else { return None };
        Some(format!("datagrams to {} are sent", socket.local_addr().ok()?))
    }

    /// Sends all that it has, until it is stopped.
    pub(super) fn run(self, line: &Line) -> Result<(), Ended> {
        self.send(line)?;
        if line.is_stopped() { Err(Ended::Stopped) } else { Ok(()) }
    }

    fn send(self, line: &Line) -> Result<(), Ended> {
        match self {
            Self::File { path, mut file, media, chunk } => {
                let failed = |error| Failure::file("read", &path)(error);
                in_chunks(&mut file, media, chunk, line, failed)
            }
            Self::Stdin { media, chunk } => {
                let failed = |error| Failure::Sockets(format!("cannot read standard input: {error}"));
                match chunk {
                    Some(_) => in_chunks(&mut io::stdin().lock(), media, chunk, line, failed),
                    None => framed(&mut io::stdin().lock(), media, line, failed),
                }
            }
            Self::Udp { socket, media } => one_for_one(&socket, media, line),
            Self::Model(model) => model.run(line),
        }
    }
}

/// Opens a file to read it. A folder can be opened too, and would fail at the first read, when the connection exists.
fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(file) }
}

pub(super) fn listen(at: &str) -> Result<UdpSocket, Failure> {
    let local = address(at)?;
    let bind = || {
        let socket = UdpSocket::bind(local)?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(socket)
    };
    bind().map_err(|error: io::Error| Failure::Sockets(format!("cannot listen at {local}: {error}")))
}

impl MediaOptions {
    pub(super) const fn of<'a>(&self, payload: &'a [u8]) -> Media<'a> {
        Media { payload, kind: self.kind, priority: self.priority, expires: self.expires, method: self.method }
    }
}

/// Whatever is read, cut; as fast as there is room.
fn in_chunks(
    from: &mut impl Read,
    media: MediaOptions,
    chunk: Option<usize>,
    line: &Line,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<(), Ended> {
    line.connected()?;
    let (mut buffer, asked) = (Vec::new(), chunk.is_some());
    while !line.is_stopped() {
        let room = line.room();
        // Paths change, and with them what a packet takes.
        let chunk = chunk.unwrap_or_else(|| line.largest());
        if asked && !line.takes(chunk) && !line.is_stopped() {
            let message = format!("--chunk {chunk}: a packet takes {} bytes at most on this path", line.largest());
            return Err(Ended::Failed(Failure::Sockets(message)));
        }
        buffer.resize(room * chunk, 0);
        // What can be read now is sent now: standard input may be slow.
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Ended::Failed(failed(error))),
        };
        let rest = read.next_multiple_of(chunk) - read;
        let more = framing::read_up_to(from, &mut buffer[read..read + rest]);
        let filled = read + more.map_err(|error| Ended::Failed(failed(error)))?;
        let all: Vec<Media<'_>> = buffer[..filled].chunks(chunk).map(|part| media.of(part)).collect();
        line.send(&all)?;
    }
    Ok(())
}

/// Datagrams that have their length before them.
fn framed(
    from: &mut impl Read,
    media: MediaOptions,
    line: &Line,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<(), Ended> {
    let mut datagram = Vec::new();
    let mut number = 0u64;
    while !line.is_stopped() {
        // What is of use for a while only had better be thrown away than wait in a pipe.
        if media.expires.is_none() {
            line.room();
        }
        if !framing::read(from, &mut datagram).map_err(|error| Ended::Failed(failed(error)))? {
            return Ok(());
        }
        number += 1;
        // Before there is a connection nobody knows, and what is small goes at once.
        if datagram.len() > SMALL {
            line.connected()?;
        }
        if datagram.len() > SMALL && !line.takes(datagram.len()) && !line.is_stopped() {
            let message = format!(
                "datagram {number} of standard input has {} bytes, and a packet takes {} at most on this path: was each \
                 datagram's length written before it, in two bytes?",
                datagram.len(),
                line.largest(),
            );
            return Err(Ended::Failed(Failure::Sockets(message)));
        }
        line.send(&[media.of(&datagram)])?;
    }
    Ok(())
}

/// A program's datagrams, as they come.
fn one_for_one(socket: &UdpSocket, media: MediaOptions, line: &Line) -> Result<(), Ended> {
    let mut buffer = vec![0; LONGEST];
    while !line.is_stopped() {
        match socket.recv(&mut buffer) {
            Ok(length) => line.send(&[media.of(&buffer[..length])])?,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            // Where the program's own socket has gone; it may come back.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(Ended::Failed(Failure::Sockets(format!("cannot receive: {error}")))),
        }
    }
    Ok(())
}
