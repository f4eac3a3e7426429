//! HTTP answers with streamed bodies.

use hyper::body::{Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use std::io::{self, Cursor, ErrorKind, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Maximum size of the part of a body that is in memory, in bytes.
const CHUNK: u64 = 64 << 10;

/// Header fields of every answer: same-origin use only, and no caching.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// An answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// Media type of the body.
    pub(crate) kind: &'static str,
    /// `Content-Range`, for a part of a file.
    pub(crate) range: Option<String>,
    pub(crate) body: Box<dyn Read + Send>,
    /// Length of the body, in bytes.
    pub(crate) length: u64,
}

impl Answer {
    pub(crate) fn text(kind: &'static str, text: String) -> Self {
        let length = text.len() as u64;
        Self { status: StatusCode::OK, kind, range: None, body: Box::new(Cursor::new(text)), length }
    }

    /// Returns an answer with a plain-text message.
    pub(crate) fn message(status: StatusCode, message: &str) -> Self {
        Self { status, ..Self::text("text/plain; charset=utf-8", format!("{message}\n")) }
    }

    /// Returns the answer to a request with a wrong host.
    pub(crate) fn foreign_host() -> Self {
        Self::message(StatusCode::FORBIDDEN, "the host must be the address of this server")
    }

    pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Self {
        match serde_json::to_string(value) {
            Ok(text) => Self::text("application/json", text),
            Err(error) => Self::message(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    /// `closes`: whether the connection is closed after this answer.
    pub(super) fn response(self, closes: bool) -> Response<Body> {
        let mut response = Response::new(Body { content: self.body, left: self.length });
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(header::CONTENT_LENGTH, self.length.into());
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Some(range) = self.range.and_then(|range| range.try_into().ok()) {
            headers.insert(header::CONTENT_RANGE, range);
        }
        if closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Body that is read in chunks when the client can receive them.
pub(super) struct Body {
    content: Box<dyn Read + Send>,
    left: u64,
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut bytes = vec![0; self.left.min(CHUNK) as usize];
        let read = match self.content.read(&mut bytes) {
            // The file has become shorter than the announced length.
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            read => read,
        };
        Poll::Ready(Some(read.map(|length| {
            bytes.truncate(length);
            self.left -= length as u64;
            Frame::data(bytes.into())
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Body as _;
    use std::task::Waker;

    /// Returns the sizes of the frames of a body with `length` bytes.
    fn frames(content: &'static [u8], length: u64) -> Vec<io::Result<usize>> {
        let mut body = Body { content: Box::new(content), left: length };
        let mut context = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| match Pin::new(&mut body).poll_frame(&mut context) {
            Poll::Ready(frame) => frame.map(|frame| frame.map(|frame| frame.into_data().unwrap().len())),
            Poll::Pending => unreachable!("a file is always ready"),
        })
        .take(9)
        .collect()
    }

    /// A record of any size uses 64 KiB of memory per reader.
    #[test]
    fn a_body_is_read_in_chunks() {
        static CONTENT: [u8; 150_000] = [7; 150_000];
        let sizes: Vec<usize> = frames(&CONTENT, 150_000).into_iter().map(Result::unwrap).collect();
        assert_eq!(sizes, [65_536, 65_536, 18_928]);
        assert!(frames(&CONTENT, 0).is_empty());
        // Bytes after the part are not sent.
        assert_eq!(frames(&CONTENT, 5).into_iter().map(Result::unwrap).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_file_that_became_shorter_ends_the_connection() {
        let read = frames(&[1, 2, 3], 5);
        assert_eq!(*read[0].as_ref().unwrap(), 3);
        assert_eq!(read[1].as_ref().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
