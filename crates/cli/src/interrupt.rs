//! Ctrl-C: the first asks runs to stop and keep what they have, the second ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts listening. Without a handler (where the system refuses one) Ctrl-C ends the program as usual.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether the user wants to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
