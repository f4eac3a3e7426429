//! Ctrl-C, `kill`, and a terminal that is closed: the first asks runs to stop and keep what they have, the second ends the
//! program.

use crate::exit::last_words;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::time::Duration;

static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| Arc::new(AtomicUsize::new(SIGINT as usize)));

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in signals() {
        // In this order: what the first signal sets is seen by the second. Where the system refuses a handler a signal
        // ends the program as usual.
        let _ = flag::register_conditional_shutdown(signal, STOPPED + signal, Arc::clone(&asked));
        let _ = flag::register_usize(signal, Arc::clone(&SIGNAL), signal as usize);
        let _ = flag::register(signal, Arc::clone(&asked));
    }
    asked
});

fn signals() -> Vec<i32> {
    #[cfg(unix)]
    if !hangups_are_ignored() {
        return vec![SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
    }
    vec![SIGINT, SIGTERM]
}

/// Whether nohup has asked for it, as Linux tells.
#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal_hook::consts::SIGHUP - 1) & 1 == 1)
}

/// A program that a signal stops says so to the shell by this and the signal's number: 130 for Ctrl-C.
const STOPPED: i32 = 128;

/// What is said to the shell by who was stopped.
pub(crate) fn status() -> u8 {
    u8::try_from(STOPPED as usize + SIGNAL.load(Ordering::Relaxed)).unwrap_or(u8::MAX)
}

/// How often a thread checks whether a signal has arrived.
const LOOK: Duration = Duration::from_millis(20);

/// Lets the first signal end the program with this sentence, also one that has arrived already: everything is kept.
pub(crate) fn end_at_once(sentence: &'static str) {
    static WAITS: Once = Once::new();
    let end = move || {
        last_words(format!("headway: {sentence}"));
        std::process::exit(status().into())
    };
    if asked() {
        end();
    }
    WAITS.call_once(|| {
        // Without a thread the second signal ends the program.
        let _ = std::thread::Builder::new().spawn(move || {
            while !asked() {
                std::thread::park_timeout(LOOK);
            }
            end();
        });
    });
}

pub(crate) fn listen() {
    LazyLock::force(&ASKED);
}

/// Whether the user wants to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
