//! The complete messages of an Arrow file that is still being written.
//!
//! Layout: "Arrow Columnar Format", sections "IPC Streaming Format" and "IPC File Format": a file is `ARROW1`, zeros up
//! to a multiple of 8 bytes, a stream, and a footer.

use super::metadata::{CONTINUATION, MAGIC, body_length};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// Maximum length of the magic and its padding, in bytes. Writers align to 8 or 64 bytes.
const MAX_PROLOGUE: u64 = 4 << 10;
/// Maximum length of a message header, in bytes. Headers of a record have a few hundred.
const MAX_HEADER: u32 = 1 << 20;

/// A message of length 0, which ends a stream.
pub const ARROW_STREAM_END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Returns the range of the complete messages in the first `length` bytes of `file`. Followed by [`ARROW_STREAM_END`],
/// they are a valid stream. `None` if the schema is incomplete. Only message headers are read.
///
/// # Errors
///
/// The error of the file.
pub fn arrow_messages(file: &mut (impl Read + Seek), length: u64) -> io::Result<Option<Range<u64>>> {
    file.seek(SeekFrom::Start(0))?;
    let mut prologue = Vec::new();
    file.by_ref().take(length.min(MAX_PROLOGUE)).read_to_end(&mut prologue)?;
    let zeros = prologue.strip_prefix(MAGIC);
    let Some(padding) = zeros.and_then(|zeros| zeros.iter().position(|byte| *byte != 0)) else { return Ok(None) };
    let start = (MAGIC.len() + padding) as u64;
    let mut end = start;
    while let Some(next) = message_end(file, end, length)? {
        end = next;
    }
    Ok((end > start).then_some(start..end))
}

/// Returns the end of the message that starts at `start`. `None` if it ends the stream or is incomplete.
fn message_end(file: &mut (impl Read + Seek), start: u64, length: u64) -> io::Result<Option<u64>> {
    let mut head = [0; 8];
    if length - start < head.len() as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut head)?;
    let [a, b, c, d, size @ ..] = head;
    let size = u32::from_le_bytes(size);
    let body = start + head.len() as u64 + u64::from(size);
    if [a, b, c, d] != CONTINUATION || size == 0 || size > MAX_HEADER || body > length {
        return Ok(None);
    }
    let mut header = vec![0; size as usize];
    file.read_exact(&mut header)?;
    let end = body_length(&header).and_then(|length| body.checked_add(length));
    Ok(end.filter(|end| *end <= length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SeriesNames, SeriesWriter};
    use arrow_ipc::reader::StreamReader;
    use headway_units::{Duration, Instant};
    use std::io::Cursor;

    /// A file of three batches of 2, 1 and 1 rows.
    fn file() -> Vec<u8> {
        let mut names = SeriesNames::default();
        let ids = ["a", "b"].map(|name| names.series(name, "throughput_bps"));
        let mut samples: SeriesWriter = names.samples();
        let at = |seconds: u64| Instant::ZERO + Duration::from_secs(seconds);
        for (second, ids) in [(1, &ids[..]), (2, &ids[..1]), (3, &ids[1..])] {
            ids.iter().for_each(|id| samples.push(*id, at(second), 1.0));
            samples.flush();
        }
        let mut file = Vec::new();
        samples.finish(&mut file).unwrap();
        file
    }

    /// Returns the messages of the first `length` bytes as a stream.
    fn arrow_stream(file: &[u8], length: usize) -> Option<Vec<u8>> {
        let part = arrow_messages(&mut Cursor::new(file), length as u64).unwrap()?;
        Some([&file[part.start as usize..part.end as usize], &ARROW_STREAM_END].concat())
    }

    fn rows(stream: &[u8]) -> usize {
        StreamReader::try_new(stream, None).unwrap().map(|batch| batch.unwrap().num_rows()).sum()
    }

    /// For each length of the file, the result is a stream with no fewer rows than for a smaller length.
    #[test]
    fn every_prefix_of_a_file_is_a_stream_of_its_complete_batches() {
        let file = file();
        let mut before = 0;
        for length in 0..=file.len() {
            match arrow_stream(&file, length) {
                None => assert_eq!(before, 0),
                Some(stream) => {
                    let now = rows(&stream);
                    assert!(now >= before && [0, 2, 3, 4].contains(&now), "{length}: {before}, {now}");
                    before = now;
                }
            }
        }
        assert_eq!(before, 4);
    }

    #[test]
    fn other_files_give_no_stream() {
        for file in [&b""[..], b"ARROW1", b"ARROW1\0\0\0", b"ARROW1\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", b"PAR1"] {
            assert_eq!(arrow_stream(file, file.len()), None, "{file:?}");
        }
    }
}
