//! The files that a scenario names.

use headway_run::ScenarioFiles;
use headway_scenario::Files;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Contents of files, by the names that a scenario uses.
pub(crate) type Contents = BTreeMap<String, Arc<[u8]>>;

/// Files that are given with a scenario that was sent from elsewhere; others are read from its folder.
pub(crate) struct Kept {
    kept: Contents,
    /// Given files that the scenario names.
    named: RefCell<Contents>,
    others: ScenarioFiles,
}

impl Kept {
    pub(crate) fn new(kept: Contents, folder: PathBuf) -> Self {
        Self { kept, named: RefCell::default(), others: ScenarioFiles::new(folder) }
    }

    /// Returns all files that the scenario names.
    pub(crate) fn into_named(self) -> Contents {
        let mut named = self.named.into_inner();
        named.extend(self.others.loaded());
        named
    }
}

impl Files for Kept {
    fn read(&self, name: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        let Some(bytes) = self.kept.get(name) else { return self.others.read(name, limit) };
        self.named.borrow_mut().insert(name.to_owned(), Arc::clone(bytes));
        Ok(bytes.to_vec())
    }
}
