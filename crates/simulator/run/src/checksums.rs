//! Checksums of a record's files: they reveal truncated, damaged and edited files. They give no protection
//! against forgery, because a forger can recompute them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// XXH128 of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u128);

impl Checksum {
    /// Computes the checksum of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxhash_rust::xxh3::xxh3_128(bytes))
    }

    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = crate::files::open_regular(path, u64::MAX)?;
        let mut hash = Xxh3::new();
        let mut bytes = vec![0; 1 << 16];
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(Self(hash.digest128())),
                read => hash.update(&bytes[..read]),
            }
        }
    }
}

/// The checksums of files, by file name. The text form has one line per file, in the format of `xxhsum -H2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums(BTreeMap<String, Checksum>);

impl fmt::Display for Checksums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, Checksum(hash))| writeln!(f, "{hash:032x}  {name}"))
    }
}

impl Checksums {
    /// Adds or replaces the checksum of a file.
    pub fn add(&mut self, name: &str, checksum: Checksum) {
        self.0.insert(name.to_owned(), checksum);
    }

    /// Parses the text form. Returns `None` if a line is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = |line: &str| {
            let (hash, name) = line.split_once("  ")?;
            Some((name.to_owned(), Checksum(u128::from_str_radix(hash, 16).ok()?)))
        };
        text.lines().map(line).collect::<Option<_>>().map(Self)
    }

    /// Returns the checksum of a file.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Checksum> {
        self.0.get(name).copied()
    }

    /// Returns the names of the files with a checksum.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns whether every listed file exists in the folder and its content has the listed checksum.
    #[must_use]
    pub fn hold(&self, folder: &Path) -> bool {
        self.0
            .iter()
            .all(|(name, checksum)| Checksum::of_file(&folder.join(name)).is_ok_and(|found| found == *checksum))
    }
}

/// A writer that forwards bytes to another writer and computes their checksum.
pub struct Hashing<W> {
    writer: W,
    hash: Xxh3,
}

impl<W> fmt::Debug for Hashing<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashing").finish_non_exhaustive()
    }
}

impl<W> Hashing<W> {
    /// Creates a writer that forwards to `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, hash: Xxh3::new() }
    }

    /// Returns the checksum of the bytes written so far.
    pub fn checksum(&self) -> Checksum {
        Checksum(self.hash.digest128())
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufWriter;

    /// A buffered writer below passes on its bytes only when it is flushed.
    #[test]
    fn a_flush_reaches_the_writer_below() {
        let mut hashing = Hashing::new(BufWriter::new(Vec::new()));
        hashing.write_all(b"abc").unwrap();
        assert_eq!(hashing.writer.get_ref(), b"");
        hashing.flush().unwrap();
        assert_eq!(hashing.writer.get_ref(), b"abc");
    }

    /// The values of xxhsum 0.8.1 (`printf '' | xxhsum -H2`, `printf abc | xxhsum -H2`).
    #[test]
    fn checksums_match_xxhsum() {
        for (bytes, shown) in
            [(&b""[..], "99aa06d3014798d86001c324468d497f"), (b"abc", "06b05ab6733a618578af5f94892f3950")]
        {
            let mut sums = Checksums::default();
            sums.add("file", Checksum::of(bytes));
            assert_eq!(sums.to_string(), format!("{shown}  file\n"));
            let mut pieces = Hashing::new(Vec::new());
            bytes.chunks(2).for_each(|piece| pieces.write_all(piece).unwrap());
            assert_eq!(sums.of("file"), Some(pieces.checksum()));
            assert_eq!(Checksums::parse(&sums.to_string()), Some(sums));
        }
        assert_eq!(Checksums::parse("no checksum\n"), None);
    }
}
