//! Papers and their parsed files.

use crate::arguments::PapersOptions;
use crate::error::Failure;
use headway_papers::{Claims, ClaimsError, PAPERS, Paper, Profile, Reference};
use headway_run::read_regular;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Subfolder of a paper with its scenarios.
const SCENARIOS: &str = "scenarios";

/// Maximum size of a file of a paper, in bytes.
const MAX_FILE_SIZE: u64 = 16 << 20;

/// Paper with parsed claims and reference values.
pub(super) struct Read {
    /// Name of a built-in paper, or path of a folder as written by the user.
    pub(super) name: String,
    pub(super) paper: Paper,
    pub(super) claims: Claims,
    pub(super) ns2: Reference,
    /// Folder of the scenarios, if the paper is not built in.
    pub(super) folder: Option<PathBuf>,
}

impl Read {
    /// Parses a built-in paper.
    pub(super) fn new(paper: &Paper) -> Result<Self, Failure> {
        Self::named(&paper.id, paper)
    }

    fn named(name: &str, paper: &Paper) -> Result<Self, Failure> {
        let file = |file: &str| Path::new(name).join(file).display().to_string();
        let claims = paper.claims().map_err(|error| match error {
            ClaimsError::Text(mut error) => {
                error.problems.iter_mut().for_each(|problem| problem.file = file("claims.toml"));
                Failure::Papers(error.to_string())
            }
            error => Failure::Papers(format!("{}: {error}", file("claims.toml"))),
        });
        let ns2 = paper.ns2().map_err(|error| Failure::Papers(format!("{}: {error}", file("ns2.csv"))));
        Ok(Self { name: name.to_owned(), paper: paper.clone(), claims: claims?, ns2: ns2?, folder: None })
    }

    /// Returns the built-in paper with this name, or the paper in this folder.
    pub(super) fn find(id: &str) -> Result<Self, Failure> {
        if let Some(paper) = Paper::find(id) {
            return Self::new(paper);
        }
        let folder = Path::new(id);
        if !folder.is_dir() {
            let known = PAPERS.iter().map(|paper| paper.id.as_ref()).collect::<Vec<_>>().join(", ");
            let why = format!("there is no paper and no folder \"{id}\"; papers are {known}");
            return Err(Failure::Papers(why));
        }
        Ok(Self { folder: Some(folder.join(SCENARIOS)), ..Self::named(id, &of_folder(folder)?)? })
    }
}

/// Reads the files of a paper's folder.
fn of_folder(folder: &Path) -> Result<Paper, Failure> {
    let text = |path: &Path| {
        let text =
            read_regular(path, MAX_FILE_SIZE).and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
        text.map_err(Failure::file("read", path))
    };
    let claims = text(&folder.join("claims.toml"))?;
    let ns2 = folder.join("ns2.csv");
    let ns2 = if ns2.exists() { text(&ns2)? } else { String::new() };
    let mut scenarios = BTreeMap::new();
    let place = folder.join(SCENARIOS);
    for entry in std::fs::read_dir(&place).map_err(Failure::file("read", &place))? {
        let path = entry.map_err(Failure::file("read", &place))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            scenarios.insert(name, text(&path)?);
        }
    }
    // The ID is the name of the folder, also if the path ends with "..".
    let whole = folder.canonicalize().map_err(Failure::file("read", folder))?;
    let id = whole.file_name().map_or_else(|| "paper".to_owned(), |name| name.to_string_lossy().into_owned());
    Ok(Paper::of_folder(id, claims, scenarios, ns2))
}

pub(super) fn profile(options: &PapersOptions) -> Profile {
    if options.full { Profile::Full } else { Profile::Default }
}
