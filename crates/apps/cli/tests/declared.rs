//! Each file of tests is run. Crates that link their tests into one program declare them, so that Cargo finds none itself.

use std::path::{Path, PathBuf};

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn each_file_of_tests_is_declared() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut modules = 0;
    for folder in entries(&crates).iter().flat_map(|layer| entries(layer)) {
        let Ok(program) = std::fs::read_to_string(folder.join("tests/all.rs")) else { continue };
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for path in entries(&folder.join("tests")).iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
        {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_module = program.lines().any(|line| line == format!("mod {name};"));
            let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(is_module || is_program, "{} does not run: declare it in tests/all.rs", path.display());
            modules += usize::from(is_module);
        }
    }
    assert!(modules > 100, "{modules} modules");
}
