//! Parser of a ClientHello in one record, which also restores the first ClientHello from the second.
//!
//! A client that is asked for a cookie repeats its ClientHello with the cookie: a field in DTLS 1.2
//! (RFC 6347 section 4.2.1), an extension in 1.3 (RFC 8446 section 4.2.2). Only the padding may differ otherwise
//! (section 4.1.2), so a server need not store the first ClientHello.

use super::record::{HANDSHAKE, PLAIN_HEADER, handshake_type};
use std::ops::Range;

const HANDSHAKE_HEADER: usize = 12;
const CLIENT_HELLO: u8 = 1;
const BODY: usize = PLAIN_HEADER + HANDSHAKE_HEADER;
const EXTENSION_PADDING: u16 = 21;
const EXTENSION_COOKIE: u16 = 44;
/// Offsets of the lengths of the message and of its fragment.
const LENGTH_AT: usize = PLAIN_HEADER + 1;
const FRAGMENT_LENGTH_AT: usize = PLAIN_HEADER + 9;

/// A ClientHello. Ranges are offsets in the datagram.
#[derive(Clone, Debug)]
pub(super) struct Hello<'a> {
    datagram: &'a [u8],
    pub(super) random: [u8; 32],
    /// Cookie field of DTLS 1.2, without its length.
    legacy_cookie: Range<usize>,
    /// Extensions without their length; `None` if the message ends before them.
    extensions: Option<Range<usize>>,
    /// Cookie extension of 1.3.
    cookie: Option<Range<usize>>,
    /// Length of the padding, in bytes.
    pub(super) padding: Option<u16>,
}

impl<'a> Hello<'a> {
    /// Parses a ClientHello; `None` for any other datagram, or a fragment.
    pub(super) fn parse(datagram: &'a [u8]) -> Option<Self> {
        let whole = datagram.len().checked_sub(BODY)?;
        let is_whole = handshake_type(datagram)? == CLIENT_HELLO
            && usize::from(u16_at(datagram, PLAIN_HEADER - 2)?) == datagram.len() - PLAIN_HEADER
            && u24_at(datagram, LENGTH_AT)? == whole
            && u24_at(datagram, FRAGMENT_LENGTH_AT - 3)? == 0
            && u24_at(datagram, FRAGMENT_LENGTH_AT)? == whole;
        if !is_whole {
            return None;
        }
        let random = datagram.get(BODY + 2..BODY + 34)?.try_into().ok()?;
        let session_id = after(datagram, BODY + 34, 1)?;
        let legacy_cookie = after(datagram, session_id.end, 1)?;
        let suites = after(datagram, legacy_cookie.end, 2)?;
        let compressions = after(datagram, suites.end, 1)?;
        let mut hello = Self { datagram, random, legacy_cookie, extensions: None, cookie: None, padding: None };
        if compressions.end == datagram.len() {
            return Some(hello);
        }
        let all = after(datagram, compressions.end, 2)?;
        if all.end != datagram.len() {
            return None;
        }
        for (kind, data) in extensions(datagram, all.clone()) {
            match kind {
                EXTENSION_COOKIE => hello.cookie = Some(after(datagram, data.start, 2)?),
                EXTENSION_PADDING => hello.padding = u16::try_from(data.len()).ok(),
                _ => {}
            }
        }
        hello.extensions = Some(all);
        Some(hello)
    }

    /// Returns the cookie of the client.
    pub(super) fn cookie(&self) -> Option<&'a [u8]> {
        let place = self.cookie.clone().unwrap_or_else(|| self.legacy_cookie.clone());
        self.datagram.get(place).filter(|cookie| !cookie.is_empty())
    }

    /// Restores the first ClientHello, without a cookie and with this length of padding.
    pub(super) fn first(&self, padding: Option<u16>) -> Option<Vec<u8>> {
        let mut first = vec![HANDSHAKE, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, CLIENT_HELLO];
        first.resize(BODY, 0);
        let before = self.datagram.get(BODY..self.legacy_cookie.start - 1)?;
        first.extend_from_slice(before);
        first.push(0);
        let end = self.extensions.as_ref().map_or(self.datagram.len(), |all| all.start - 2);
        first.extend_from_slice(self.datagram.get(self.legacy_cookie.end..end)?);
        if let Some(all) = &self.extensions {
            let length_at = first.len();
            first.extend_from_slice(&[0, 0]);
            let pad = |first: &mut Vec<u8>| {
                if let Some(padding) = padding {
                    first.extend_from_slice(&EXTENSION_PADDING.to_be_bytes());
                    first.extend_from_slice(&padding.to_be_bytes());
                    first.resize(first.len() + usize::from(padding), 0);
                }
            };
            for (kind, data) in extensions(self.datagram, all.clone()) {
                match kind {
                    EXTENSION_COOKIE => {}
                    EXTENSION_PADDING => pad(&mut first),
                    _ => first.extend_from_slice(self.datagram.get(data.start - 4..data.end)?),
                }
            }
            if self.padding.is_none() {
                pad(&mut first);
            }
            let length = u16::try_from(first.len() - length_at - 2).ok()?;
            first.get_mut(length_at..length_at + 2)?.copy_from_slice(&length.to_be_bytes());
        }
        let record = u16::try_from(first.len() - PLAIN_HEADER).ok()?;
        first.get_mut(PLAIN_HEADER - 2..PLAIN_HEADER)?.copy_from_slice(&record.to_be_bytes());
        let [_, length @ ..] = u32::try_from(first.len() - BODY).ok()?.to_be_bytes();
        for at in [LENGTH_AT, FRAGMENT_LENGTH_AT] {
            first.get_mut(at..at + 3)?.copy_from_slice(&length);
        }
        Some(first)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
fn u24_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..at + 3).map(|bytes| bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
}

/// Returns the range after a length field of `length` bytes.
fn after(bytes: &[u8], at: usize, length: usize) -> Option<Range<usize>> {
    let count = bytes.get(at..at + length)?.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let place = at + length..at + length + count;
    bytes.get(place.clone()).map(|_| place)
}

/// Returns types and ranges of the extensions, up to the first malformed one.
fn extensions(datagram: &[u8], all: Range<usize>) -> impl Iterator<Item = (u16, Range<usize>)> {
    let mut at = all.start;
    std::iter::from_fn(move || {
        let kind = u16_at(datagram, at)?;
        let data = after(datagram, at + 2, 2)?;
        at = data.end;
        (data.end <= all.end).then_some((kind, data))
    })
}
