//! Adapter of a TCP connection of tokio to hyper.

use super::Pace;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Maximum size of one read, in bytes.
const READ: usize = 4 << 10;
/// Maximum number of bytes that are discarded after the last answer.
const MAX_DISCARDED: usize = 64 << 10;

pub(super) struct Carrier {
    stream: TcpStream,
    pace: Arc<Pace>,
    is_shut: bool,
    /// Number of bytes that may still be discarded.
    left: usize,
}

impl Carrier {
    pub(super) fn new(stream: TcpStream, pace: Arc<Pace>) -> Self {
        // With Nagle's algorithm, an answer may wait for the acknowledgment of the previous one.
        let _ = stream.set_nodelay(true);
        Self { stream, pace, is_shut: false, left: MAX_DISCARDED }
    }

    /// Reads into `bytes` and returns the number of bytes, 0 at the end.
    fn read(&mut self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(bytes);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        self.pace.progress();
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl Read for Carrier {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ];
        let limit = into.remaining().min(READ);
        let length = ready!(self.read(context, &mut bytes[..limit]))?;
        into.put_slice(&bytes[..length]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Carrier {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.pace.progress();
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes in stages (RFC 9112 section 9.6). Closing a socket with unread bytes resets it, and the client may lose
    /// the answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.is_shut = true;
        }
        let mut bytes = [0; READ];
        while self.left > 0 {
            match ready!(self.read(context, &mut bytes))? {
                0 => break,
                length => self.left = self.left.saturating_sub(length),
            }
        }
        Poll::Ready(Ok(()))
    }
}
