//! The system allocator with counters per thread, as the test harness has a thread that allocates at any time.
#![allow(dead_code, reason = "shared by test files that use parts of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Returns the bytes that this thread has allocated and not freed, including those freed for other threads.
pub(crate) fn held() -> usize {
    usize::try_from(HELD.get()).unwrap_or(0)
}
pub(crate) fn taken() -> usize {
    TAKEN.get()
}

// SAFETY: all calls are forwarded to the system allocator. The counters need no memory and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add_unsigned(layout.size()));
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub_unsigned(layout.size()));
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
