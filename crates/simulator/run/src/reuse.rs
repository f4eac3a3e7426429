//! Reuse of complete records.

use crate::job::{Found, Job};
use crate::{Error, Watch};
use headway_record::Summary;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of damaged records that a message names.
const MAX_NAMED: usize = 5;

/// Counts of complete records that were reused instead of simulated again, and of damaged records whose runs were
/// repeated.
#[derive(Debug, Default)]
pub struct Reuse {
    reused: AtomicUsize,
    damaged: Mutex<Vec<String>>,
}

impl Reuse {
    /// Returns the summary of the job: from its folder if that holds a complete record of this job, otherwise from a
    /// new run.
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

    /// Returns messages for the user: how many of the `all` runs were reused, and the folders of damaged records.
    #[must_use]
    pub fn messages(self, all: usize) -> Vec<String> {
        let mut messages = Vec::new();
        let reused = self.reused.into_inner();
        if reused > 0 {
            messages.push(format!("{reused} of {all} runs reused"));
        }
        let mut damaged = self.damaged.into_inner().unwrap_or_else(PoisonError::into_inner);
        damaged.sort();
        if !damaged.is_empty() {
            let more = if damaged.len() > MAX_NAMED { ", ..." } else { "" };
            let named = damaged.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let count = damaged.len();
            messages.push(format!("{count} run again because their files were damaged or changed: {named}{more}"));
        }
        messages
    }
}
