//! Whole runs spread over threads.

use crate::error::Failure;
use crate::interrupt;
use crate::progress::Progress;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does `work` for each number below `count`, on `jobs` threads or one a core, and gives the answers in order. After
/// Ctrl-C nothing more is begun: what never was has no answer. The first error ends it.
#[expect(clippy::disallowed_methods, reason = "runs are independent: a thread takes whole runs")]
pub(crate) fn each<T: Send>(
    count: usize,
    jobs: Option<NonZeroUsize>,
    progress: &Progress,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<Option<T>>, Failure> {
    let workers = jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get).min(count);
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    let worker = || {
        while !interrupt::asked() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            match work(number) {
                Ok(answer) => answers.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(answer),
                Err(error) => {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    next.store(count, Ordering::Relaxed);
                }
            }
            progress.run_done();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(worker);
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(answers.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}
