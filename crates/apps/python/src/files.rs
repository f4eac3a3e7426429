//! The files that a scenario names.

use headway_run::Beside;
use headway_scenario::Files;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Contents of files by the names that a scenario has for them.
pub(crate) type Contents = BTreeMap<String, Arc<[u8]>>;

/// Files that were read before, so that a scenario is the same wherever it is sent; others are read beside it.
pub(crate) struct Kept {
    kept: Contents,
    /// Those of them that the scenario names.
    named: RefCell<Contents>,
    beside: Beside,
}

impl Kept {
    pub(crate) fn new(kept: Contents, folder: PathBuf) -> Self {
        Self { kept, named: RefCell::default(), beside: Beside::new(folder) }
    }

    /// What the scenario names.
    pub(crate) fn into_named(self) -> Contents {
        let mut named = self.named.into_inner();
        named.extend(self.beside.taken());
        named
    }
}

impl Files for Kept {
    fn read(&self, name: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        let Some(bytes) = self.kept.get(name) else { return self.beside.read(name, limit) };
        self.named.borrow_mut().insert(name.to_owned(), Arc::clone(bytes));
        Ok(bytes.to_vec())
    }
}
