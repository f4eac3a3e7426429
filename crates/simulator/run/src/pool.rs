//! Independent work items on several threads.

use crate::Watch;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs `work` for each number below `count` and returns the results in order. Uses `jobs` threads, or one per core if
/// `jobs` is `None`. After [`Watch::stopped`] returns `true` or an item fails, no further item is started; the results
/// of items that were not started are `None`.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Stops after this many items, and counts those that are done.
    struct Limited(usize, AtomicUsize);

    impl Watch for Limited {
        fn stopped(&self) -> bool {
            self.1.load(Ordering::SeqCst) >= self.0
        }
        fn run_done(&self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for jobs in [None, NonZeroUsize::new(1), NonZeroUsize::new(3), NonZeroUsize::new(100)] {
            let watch = Limited(usize::MAX, AtomicUsize::new(0));
            let found = each(40, jobs, &watch, |number| Ok::<_, ()>(number * number)).unwrap();
            assert_eq!(found, (0..40).map(|number| Some(number * number)).collect::<Vec<_>>());
            assert_eq!(watch.1.into_inner(), 40);
        }
        assert_eq!(each(0, None, &(), |_| Ok::<(), ()>(())), Ok(vec![]));
    }

    #[test]
    fn no_item_is_started_after_a_stop_or_an_error() {
        let one = NonZeroUsize::new(1);
        let found = each(9, one, &Limited(4, AtomicUsize::new(0)), Ok::<_, ()>).unwrap();
        assert_eq!(found.iter().flatten().count(), 4);
        assert_eq!(found[3..5], [Some(3), None]);
        let started = AtomicUsize::new(0);
        let found = each(9, one, &(), |number| {
            started.fetch_add(1, Ordering::SeqCst);
            if number >= 4 { Err(number) } else { Ok(()) }
        });
        assert_eq!((found, started.into_inner()), (Err(4), 5));
    }
}
