//! Independent work items on several threads.

use crate::Watch;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs `work` for each number below `count` and returns the results in order. Uses `jobs` threads, or one
/// per core if it is `None`. After `watch` stops or an item fails, no further item is started; items that
/// were not started are `None`.
///
/// # Errors
/// The first error of `work`.
#[expect(clippy::disallowed_methods, reason = "runs are independent: a thread takes whole runs")]
pub fn each<T: Send, E: Send>(
    count: usize,
    jobs: Option<NonZeroUsize>,
    watch: &dyn Watch,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<Option<T>>, E> {
    let workers = jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get).min(count);
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let failure: Mutex<Option<E>> = Mutex::new(None);
    let worker = || {
        while !watch.stopped() {
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
            watch.run_done();
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
