//! Sources of datagrams: a file, standard input, UDP of a program, or a media model.
#![expect(clippy::disallowed_types, reason = "a program sends its datagrams by UDP")]

use super::arguments::{MediaOptions, SendOptions};
use super::endpoint::address;
use super::framing::{self, MAX_LENGTH};
use super::line::Line;
use super::model::Model;
use super::mpeg_ts;
use super::sink::{STDIN, is_closed};
use crate::error::Failure;
use headway_net::{Closed, Media};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};

/// Size of datagrams that fit in every packet, in bytes: the MTU of IPv6 is at least 1280 with all headers.
const SAFE_SIZE: usize = 1000;
/// Maximum time between two checks whether the source must stop.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);

/// Source of datagrams, with a separate thread.
pub(super) enum Source {
    File { path: PathBuf, file: File, media: MediaOptions, chunk: Option<usize> },
    Stdin { media: MediaOptions, chunk: Option<usize> },
    Udp { socket: UdpSocket, media: MediaOptions },
    Model(Model),
}

/// Reason for which a source stopped early.
#[derive(Debug)]
pub(super) enum Ended {
    /// The connection ended.
    Connection,
    /// The source was stopped.
    Stopped,
    /// The source failed.
    Failed(Failure),
}

impl From<Closed> for Ended {
    fn from(_: Closed) -> Self {
        Self::Connection
    }
}

impl Source {
    pub(super) fn new(args: &SendOptions) -> Result<Self, Failure> {
        let (media, chunk) = (args.media, args.chunk.map(usize::from));
        if let Some(path) = &args.file {
            let file = open(path).map_err(Failure::file("read", path))?;
            return Ok(Self::File { path: path.clone(), file, media, chunk });
        }
        if let Some(at) = &args.udp {
            return Ok(Self::Udp { socket: listen(at)?, media });
        }
        match &args.model {
            Some(text) => Model::new(text, args.seed, media.expires).map(Self::Model),
            None if is_closed(STDIN) => {
                let why = "--stdin: standard input is closed or is /dev/null; write the datagrams to it, or use --file";
                Err(Failure::Sockets(why.to_owned()))
            }
            None => Ok(Self::Stdin { media, chunk }),
        }
    }

    /// Returns a message about the address of `--udp`.
    pub(super) fn announcement(&self) -> Option<String> {
        let Self::Udp { socket, .. } = self else { return None };
        Some(format!("sending datagrams that arrive at {}", socket.local_addr().ok()?))
    }

    /// Sends all datagrams of the source, until it is stopped.
    pub(super) fn run(self, line: &Line) -> Result<(), Ended> {
        self.send(line)?;
        if line.is_stopped() { Err(Ended::Stopped) } else { Ok(()) }
    }

    fn send(self, line: &Line) -> Result<(), Ended> {
        match self {
            Self::File { path, mut file, media, chunk } => {
                let failed = |error| Failure::file("read", &path)(error);
                let mut head = vec![0; mpeg_ts::HEAD];
                let read = framing::read_up_to(&mut file, &mut head).map_err(|error| Ended::Failed(failed(error)))?;
                head.truncate(read);
                let chunks = match chunk {
                    Some(size) => Chunks::Size(size),
                    None if mpeg_ts::is_mpeg_ts(&head) => Chunks::MpegTs,
                    None => Chunks::Largest,
                };
                in_chunks(&mut head.as_slice().chain(file), media, chunks, line, failed)
            }
            Self::Stdin { media, chunk } => {
                let failed = |error| Failure::Sockets(format!("cannot read standard input: {error}"));
                match chunk {
                    Some(size) => in_chunks(&mut io::stdin().lock(), media, Chunks::Size(size), line, failed),
                    None => framed(&mut io::stdin().lock(), media, line, failed),
                }
            }
            Self::Udp { socket, media } => one_for_one(&socket, media, line),
            Self::Model(model) => model.run(line),
        }
    }
}

/// Opens a file for reading. Opening a folder would succeed, and only its first read would fail.
fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(file) }
}

pub(super) fn listen(at: &str) -> Result<UdpSocket, Failure> {
    let local = address(at)?;
    let bind = || {
        let socket = UdpSocket::bind(local)?;
        socket.set_read_timeout(Some(POLL_INTERVAL))?;
        Ok(socket)
    };
    bind().map_err(|error: io::Error| Failure::Sockets(format!("cannot listen at {local}: {error}")))
}

impl MediaOptions {
    pub(super) const fn of<'a>(&self, payload: &'a [u8]) -> Media<'a> {
        Media { payload, kind: self.kind, priority: self.priority, expires: self.expires, method: self.method }
    }
}

/// Size of the datagrams into which a byte stream is split.
#[derive(Clone, Copy)]
enum Chunks {
    /// Size in bytes.
    Size(usize),
    /// As large as a packet allows.
    Largest,
    /// Whole packets of an MPEG transport stream.
    MpegTs,
}

/// Splits the input into datagrams and sends them as fast as the connection allows.
fn in_chunks(
    from: &mut impl Read,
    media: MediaOptions,
    chunks: Chunks,
    line: &Line,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<(), Ended> {
    line.connected()?;
    let mut buffer = Vec::new();
    while !line.is_stopped() {
        let room = line.wait_for_room();
        // The path MTU can change.
        let chunk = match chunks {
            Chunks::Size(size) => size,
            Chunks::Largest => line.largest(),
            Chunks::MpegTs => mpeg_ts::datagram_size(line.largest()),
        };
        if matches!(chunks, Chunks::Size(_)) && !line.fits(chunk) && !line.is_stopped() {
            let message = format!("--chunk {chunk}: larger than the maximum of {} bytes on this path", line.largest());
            return Err(Ended::Failed(Failure::Sockets(message)));
        }
        buffer.resize(room * chunk, 0);
        // Send the available data without waiting for more, as standard input may be slow.
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

/// Sends datagrams with length prefixes.
fn framed(
    from: &mut impl Read,
    media: MediaOptions,
    line: &Line,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<(), Ended> {
    let mut datagram = Vec::new();
    let mut number = 0u64;
    while !line.is_stopped() {
        // With a lifetime, the send queue drops old datagrams instead of blocking the writer.
        if media.expires.is_none() {
            line.wait_for_room();
        }
        if !framing::read(from, &mut datagram).map_err(|error| Ended::Failed(failed(error)))? {
            return Ok(());
        }
        number += 1;
        // The maximum size is known after the connection is established. Small datagrams do not wait for it.
        if datagram.len() > SAFE_SIZE {
            line.connected()?;
        }
        if datagram.len() > SAFE_SIZE && !line.fits(datagram.len()) && !line.is_stopped() {
            let message = format!(
                "datagram {number} of standard input has {} bytes, above the maximum of {} on this path; expected a length of two \
                 bytes before each datagram",
                datagram.len(),
                line.largest(),
            );
            return Err(Ended::Failed(Failure::Sockets(message)));
        }
        line.send(&[media.of(&datagram)])?;
    }
    Ok(())
}

/// Sends the datagrams that arrive at the socket.
fn one_for_one(socket: &UdpSocket, media: MediaOptions, line: &Line) -> Result<(), Ended> {
    let mut buffer = vec![0; MAX_LENGTH];
    while !line.is_stopped() {
        match socket.recv(&mut buffer) {
            Ok(length) => line.send(&[media.of(&buffer[..length])])?,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            // The program has closed its socket and may open it again.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(Ended::Failed(Failure::Sockets(format!("cannot receive: {error}")))),
        }
    }
    Ok(())
}
