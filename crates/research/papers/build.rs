//! Compresses the stored results of each paper, which are built into the crate.

use flate2::{Compression, write::GzEncoder};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // Not `env!`: a build script compiled in another checkout would read the papers of that checkout.
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or(format!("cargo sets no {name}"));
    let (papers, out) = (folder("CARGO_MANIFEST_DIR")?.join("../../../papers"), folder("OUT_DIR")?);
    println!("cargo::rerun-if-changed=src/paper.rs"); // lists the papers
    for paper in std::fs::read_dir(papers)? {
        let paper = paper?;
        let results = paper.path().join("results.json");
        if results.exists() {
            println!("cargo::rerun-if-changed={}", results.display());
            let file = format!("{}.results.json.gz", paper.file_name().display());
            let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
            gzip.write_all(&std::fs::read(results)?)?;
            std::fs::write(out.join(file), gzip.finish()?)?;
        }
    }
    Ok(())
}
