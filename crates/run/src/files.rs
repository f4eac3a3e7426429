//! Names of files, and texts in them.

use std::fs;
use std::path::Path;

/// A part of a file name made of any text: letters, digits and a few signs stay, the rest becomes `_`. A long one loses its
/// middle.
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

/// The folder of what is called `name`, of which others are there: one that cannot be called so has a number of its name behind,
/// so that no two names share a folder.
#[must_use]
pub fn folder_name(name: &str) -> String {
    let safe = safe_name(name);
    if safe == name { safe } else { format!("{safe}-{:08x}", xxhash_rust::xxh3::xxh3_64(name.as_bytes()) as u32) }
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, std::io::Error> {
    use std::io::{Error, ErrorKind, Read};
    let mut bytes = Vec::new();
    let read = fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if read as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_folder() {
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
