//! What there is of an Arrow file that is still being written, as an Arrow stream.
//!
//! Layout: "Arrow Columnar Format", sections "IPC Streaming Format" and "IPC File Format": a file is a stream behind `ARROW1` and zeroes, up to
//! a multiple of 8 bytes or more, with a footer behind it.

use crate::arrow_metadata::body_length;

const MAGIC: &[u8] = b"ARROW1";
/// What begins a message, before its header's length.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// A message of no length ends a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The whole messages at the beginning of `file`, and a stream's end behind them: what any reader of streams takes. None if not even the
/// schema is there.
#[must_use]
pub fn arrow_stream(file: &[u8]) -> Option<Vec<u8>> {
    let rest = file.strip_prefix(MAGIC)?;
    let stream = &rest[rest.iter().position(|byte| *byte != 0)?..];
    let mut length = 0;
    while let Some(message) = message_length(&stream[length..]) {
        length += message;
    }
    (length > 0).then(|| [&stream[..length], &END].concat())
}

/// How long the message is that these bytes begin with; none if it is the last, or not whole.
fn message_length(bytes: &[u8]) -> Option<usize> {
    let header = usize::try_from(u32::from_le_bytes(*bytes.strip_prefix(&CONTINUATION)?.first_chunk()?)).ok()?;
    let (from, until) = (8, header.checked_add(8)?);
    if header == 0 {
        return None;
    }
    let end = until.checked_add(usize::try_from(body_length(bytes.get(from..until)?)?).ok()?)?;
    (end <= bytes.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SeriesNames, SeriesWriter};
    use arrow_ipc::reader::StreamReader;
    use headway_units::{Duration, Instant};

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

    fn rows(stream: &[u8]) -> usize {
        StreamReader::try_new(stream, None).unwrap().map(|batch| batch.unwrap().num_rows()).sum()
    }

    /// However far the file has come, what comes out is a stream, and never one of fewer rows than before.
    #[test]
    fn every_beginning_of_a_file_is_a_stream_of_its_whole_batches() {
        let file = file();
        let mut before = 0;
        for length in 0..=file.len() {
            match arrow_stream(&file[..length]) {
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
    fn what_is_no_arrow_file_is_no_stream() {
        for file in [&b""[..], b"ARROW1", b"ARROW1\0\0\0", b"ARROW1\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", b"PAR1"] {
            assert_eq!(arrow_stream(file), None, "{file:?}");
        }
    }
}
