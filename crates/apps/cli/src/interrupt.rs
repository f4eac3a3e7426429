//! Signals: SIGINT, SIGTERM and SIGHUP. The first signal requests runs to stop and to keep their partial results. The
//! second ends the program.

use crate::exit::print_final_message;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::time::Duration;

static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| Arc::new(AtomicUsize::new(SIGINT as usize)));

static STOP_REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let requested = Arc::new(AtomicBool::new(false));
    for signal in signals() {
        // Handlers run in this order, so that the second signal sees the flag of the first. If the system refuses a
        // handler, the signal ends the program as usual.
        let _ = flag::register_conditional_shutdown(signal, SIGNAL_STATUS + signal, Arc::clone(&requested));
        let _ = flag::register_usize(signal, Arc::clone(&SIGNAL), signal as usize);
        let _ = flag::register(signal, Arc::clone(&requested));
    }
    requested
});

fn signals() -> Vec<i32> {
    #[cfg(unix)]
    if !hangups_are_ignored() {
        return vec![SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
    }
    vec![SIGINT, SIGTERM]
}

/// Returns whether the parent process (`nohup`) has set SIGHUP to be ignored. Reads `/proc` of Linux.
#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal_hook::consts::SIGHUP - 1) & 1 == 1)
}

/// Offset of the exit status after a signal: the status is 128 plus the signal number, 130 for Ctrl-C.
const SIGNAL_STATUS: i32 = 128;

/// Returns the exit status after a signal.
pub(crate) fn status() -> u8 {
    u8::try_from(SIGNAL_STATUS as usize + SIGNAL.load(Ordering::Relaxed)).unwrap_or(u8::MAX)
}

/// Time between two checks for a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Ends the program with this message at the first signal, or immediately if one has arrived. All results are stored.
pub(crate) fn exit_on_signal(message: &'static str) {
    static WAITING: Once = Once::new();
    let end = move || {
        print_final_message(format!("headway: {message}"));
        std::process::exit(status().into())
    };
    if stop_requested() {
        end();
    }
    WAITING.call_once(|| {
        // Without a thread the second signal ends the program.
        let _ = std::thread::Builder::new().spawn(move || {
            while !stop_requested() {
                std::thread::park_timeout(POLL_INTERVAL);
            }
            end();
        });
    });
}

pub(crate) fn listen() {
    LazyLock::force(&STOP_REQUESTED);
}

/// Returns whether a signal has requested the program to stop.
pub(crate) fn stop_requested() -> bool {
    STOP_REQUESTED.load(Ordering::Relaxed)
}
