//! Datagrams in a byte stream. Each follows its length, a 16-bit integer in network byte order (RFC 4571).

use std::io::{self, ErrorKind, Read};

/// Maximum length of a datagram, in bytes.
pub(super) const MAX_LENGTH: usize = u16::MAX as usize;

/// Replaces the contents of `framed` by the length and the datagram.
pub(super) fn frame(datagram: &[u8], framed: &mut Vec<u8>) {
    let length = u16::try_from(datagram.len()).unwrap_or(u16::MAX);
    framed.clear();
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(&datagram[..length.into()]);
}

/// Replaces the contents of `datagram` by the next datagram. Returns false at the end of the stream.
pub(super) fn read(from: &mut impl Read, datagram: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 2];
    if fill(from, &mut length)? == 0 {
        return Ok(false);
    }
    datagram.resize(u16::from_be_bytes(length).into(), 0);
    if fill(from, datagram)? < datagram.len() {
        return Err(truncated());
    }
    Ok(true)
}

/// Fills the buffer, less at the end of the stream. Returns the number of bytes. A length of one byte is an error.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let read = read_up_to(from, buffer)?;
    if read == 1 && buffer.len() == 2 { Err(truncated()) } else { Ok(read) }
}

/// Fills the buffer, less at the end of the stream. Returns the number of bytes.
pub(super) fn read_up_to(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match from.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

fn truncated() -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        "the stream ends within a datagram; expected a length of two bytes before each datagram",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4571 section 2: the length is in network byte order and does not count itself.
    #[test]
    fn a_datagram_follows_its_length() {
        let mut framed = vec![9; 9];
        frame(&[7; 258], &mut framed);
        assert_eq!(framed[..3], [1, 2, 7]);
        assert_eq!(framed.len(), 260);
    }

    #[test]
    fn framed_datagrams_are_read_back() {
        let all: [&[u8]; 4] = [b"one", b"", &[7; MAX_LENGTH], b"four"];
        let (mut stream, mut framed) = (Vec::new(), Vec::new());
        for datagram in all {
            frame(datagram, &mut framed);
            stream.extend_from_slice(&framed);
        }
        let (mut rest, mut datagram) = (&stream[..], vec![1; 5]);
        for expected in all {
            assert!(read(&mut rest, &mut datagram).unwrap());
            assert_eq!(datagram, expected);
        }
        assert!(!read(&mut rest, &mut datagram).unwrap(), "the end");
    }

    #[test]
    fn a_truncated_datagram_is_an_error() {
        for cut in [&[0][..], &[0, 3], &[0, 3, 1, 2], &[0, 2, 1]] {
            let error = read(&mut &cut[..], &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{cut:?}");
        }
    }
}
