//! Runs that are found where they would be left.

use crate::job::{Found, Job};
use crate::{Error, Watch};
use headway_record::Summary;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Of many damaged records so many are named.
const NAMED: usize = 5;

/// What became of the records that were found.
#[derive(Debug, Default)]
pub struct Reuse {
    reused: AtomicUsize,
    damaged: Mutex<Vec<String>>,
}

impl Reuse {
    /// The job's summary: that of its folder, or of a run.
    ///
    /// # Errors
    /// Those of [`Job::run`].
    pub fn or_run(&self, job: &Job, watch: &dyn Watch) -> Result<Summary, Error> {
        match job.found() {
            Found::Whole(summary) => {
                self.reused.fetch_add(1, Ordering::Relaxed);
                return Ok(*summary);
            }
            Found::Damaged => {
                let folder = job.folder.0.display().to_string();
                self.damaged.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
            }
            Found::Nothing => {}
        }
        job.run(watch)
    }

    /// How many of `all` runs were not run again, and which were since a file was not as it was left: a sentence each.
    #[must_use]
    pub fn told(self, all: usize) -> Vec<String> {
        let mut told = Vec::new();
        let reused = self.reused.into_inner();
        if reused > 0 {
            told.push(format!("{reused} of {all} runs reused"));
        }
        let mut damaged = self.damaged.into_inner().unwrap_or_else(PoisonError::into_inner);
        damaged.sort();
        if !damaged.is_empty() {
            let more = if damaged.len() > NAMED { ", ..." } else { "" };
            let named = damaged.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let count = damaged.len();
            told.push(format!("{count} run again, since their files are not as a run has left them: {named}{more}"));
        }
        told
    }
}
