//! File names, and reading of files with a size limit.

use std::fs;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Converts any text to a part of a file name: ASCII letters, digits and `-_.=+,` stay, other characters
/// become `_`. Text above 100 characters is shortened in the middle.
#[must_use]
pub fn safe_name(text: &str) -> String {
    const HALF: usize = 50;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.=+,".contains(c);
    let mut name: String = text.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    if name.len() > 2 * HALF {
        name = format!("{}...{}", &name[..HALF], &name[name.len() - HALF..]);
    }
    if name.trim_matches('.').is_empty() { "_".to_owned() } else { name }
}

/// Returns a unique folder name for `name`: the [safe name](safe_name), with a hash of `name` appended if
/// they differ.
#[must_use]
pub fn folder_name(name: &str) -> String {
    let safe = safe_name(name);
    if safe == name { safe } else { format!("{safe}-{:08x}", xxhash_rust::xxh3::xxh3_64(name.as_bytes()) as u32) }
}

/// Reads a file of at most `limit` bytes. The path was given by the user, so pipes are allowed.
///
/// # Errors
/// The file cannot be read, or is larger.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if read as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

/// Opens a regular file of at most `limit` bytes, directly or through a symbolic link. Pipes and devices are
/// rejected: a pipe blocks the caller, and a device may be endless.
///
/// # Errors
/// The file cannot be read, is not a regular file, or is larger.
pub fn open_regular(path: &Path, limit: u64) -> Result<fs::File, Error> {
    let checked = |about: fs::Metadata| {
        if !about.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        if about.len() > limit {
            let message = format!("it has {} bytes; at most {limit} are read", about.len());
            return Err(Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(())
    };
    // Opening a pipe blocks until it has a writer, so the check comes first.
    checked(fs::metadata(path)?)?;
    let file = fs::File::open(path)?;
    checked(file.metadata()?)?;
    Ok(file)
}

/// Reads a [regular file](open_regular) of at most `limit` bytes.
///
/// # Errors
/// Those of [`open_regular`].
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = open_regular(path, limit)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(file.metadata()?.len().min(limit) as usize)?;
    // The file may grow while it is read; bytes above the limit are ignored.
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An untrusted record may link `series.arrow` to /dev/zero or hold a FIFO in its place. POSIX `open`
    /// waits for a writer of a FIFO, and /dev/zero has no end.
    #[cfg(unix)]
    #[test]
    fn devices_pipes_and_large_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        fs::write(path("file"), [7; 100]).unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        fs::File::create(path("sparse")).unwrap().set_len(1 << 40).unwrap();
        let kind = |name| read_regular(&path(name), 100).map_err(|error| error.kind());
        assert_eq!([kind("fifo"), kind("zero")], [const { Err(ErrorKind::InvalidInput) }; 2]);
        assert_eq!(kind("sparse"), Err(ErrorKind::FileTooLarge));
        assert_eq!([kind("file"), kind("link")], [Ok(vec![7; 100]), Ok(vec![7; 100])]);
        assert_eq!(read_regular(&path("file"), 99).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(kind("none"), Err(ErrorKind::NotFound));
    }

    /// Pipes are allowed: the user named the path.
    #[test]
    fn files_of_the_user_are_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read(&path, 100).unwrap(), [7; 100]);
        let error = read(&path, 99).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::FileTooLarge, "it is larger than 99 bytes"));
        assert_eq!(read(&folder.path().join("none"), 1).unwrap_err().kind(), ErrorKind::NotFound);
    }

    /// Different names have different folders; a name that is safe is kept.
    #[test]
    fn folder_names_are_unique() {
        assert_eq!(folder_name("red.tcp-10"), "red.tcp-10");
        let names = ["a/b", "a b", "a_b", "", ".", &"x".repeat(200), &"x".repeat(201)].map(folder_name);
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len(), "{names:?}");
        assert!(names[0].starts_with("a_b-") && names[3].starts_with("_-"), "{names:?}");
        assert!(names.iter().all(|name| !name.contains('/') && name.len() <= 112), "{names:?}");
    }

    #[test]
    fn safe_names_have_no_separators() {
        for (text, name) in
            [("a/b", "a_b"), ("..", "_"), ("", "_"), ("link[0].rate=2Mbps seed=1", "link_0_.rate=2Mbps_seed=1")]
        {
            assert_eq!(safe_name(text), name);
        }
        assert_eq!(
            safe_name(&format!("{}seed=12", "é".repeat(300))),
            format!("{}...{}seed=12", "_".repeat(50), "_".repeat(43))
        );
    }
}
