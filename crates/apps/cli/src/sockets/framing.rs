//! Datagrams in a stream of bytes: their length in two bytes before each, the first of which counts 256, as TCP carries RTP (RFC 4571).

use std::io::{self, ErrorKind, Read};

/// The longest datagram that two bytes can tell of.
pub(super) const LONGEST: usize = u16::MAX as usize;

/// Puts the datagram behind its length into `framed`, in place of what it holds.
pub(super) fn frame(datagram: &[u8], framed: &mut Vec<u8>) {
    let length = u16::try_from(datagram.len()).unwrap_or(u16::MAX);
    framed.clear();
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(&datagram[..length.into()]);
}

/// Reads the next datagram into `datagram`, in place of what it holds; whether there was one.
pub(super) fn read(from: &mut impl Read, datagram: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 2];
    if fill(from, &mut length)? == 0 {
        return Ok(false);
    }
    datagram.resize(u16::from_be_bytes(length).into(), 0);
    if fill(from, datagram)? < datagram.len() {
        return Err(cut_off());
    }
    Ok(true)
}

/// Reads as much as fits, less at the end; how much. What is cut off within two bytes of length is an error.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let read = read_up_to(from, buffer)?;
    if read == 1 && buffer.len() == 2 { Err(cut_off()) } else { Ok(read) }
}

/// Reads as much as fits, less at the end; how much.
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

fn cut_off() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it ends within a datagram: each has its length in two bytes before it")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4571 section 2: the length is in network byte order and does not count itself.
    #[test]
    fn a_datagram_has_its_length_before_it() {
        let mut framed = vec![9; 9];
        frame(&[7; 258], &mut framed);
        assert_eq!(framed[..3], [1, 2, 7]);
        assert_eq!(framed.len(), 260);
    }

    #[test]
    fn what_is_framed_is_read_again() {
        let all: [&[u8]; 4] = [b"one", b"", &[7; LONGEST], b"four"];
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

    /// A stream that is cut anywhere but between two datagrams is an error, not a datagram.
    #[test]
    fn what_is_cut_off_is_no_datagram() {
        for cut in [&[0][..], &[0, 3], &[0, 3, 1, 2], &[0, 2, 1]] {
            let error = read(&mut &cut[..], &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{cut:?}");
        }
    }
}
