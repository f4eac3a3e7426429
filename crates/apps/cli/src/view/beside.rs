//! A view of a record that this very program is writing.

use super::records::Records;
use super::server::Server;
use super::{open, page};
use crate::error::Failure;
use headway_net::Clock;
use headway_run::Folder;
use headway_units::{Duration, Instant};
use std::cell::Cell;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A page asks for more each second: so long it is still answered, and has the end.
const LAST: Duration = Duration::from_secs(2);

/// Serves it until it is dropped, and the page has had the time to see the end.
pub(crate) struct Beside {
    address: String,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Beside {
    /// Of this folder, which is called so, at this port, or at any that is free if it is 0.
    pub(crate) fn new(folder: &Folder, label: &str, port: u16, opens: bool) -> Result<Self, Failure> {
        if page::VIEWER.is_none() {
            return Err(Failure::Sockets(
                "--view needs the viewer, without which this program was built: run `make viewer`, then build this program again".to_owned(),
            ));
        }
        let server = Server::new(Records::of_one(folder.clone(), label), port)?;
        let (address, ends) = (server.address().to_owned(), Arc::new(AtomicBool::new(false)));
        let asked = Arc::clone(&ends);
        let failed = |error| Failure::Sockets(format!("cannot begin a thread: {error}"));
        let serve = move || {
            let (clock, end) = (Clock::new(), Cell::new(Instant::FAR_FUTURE));
            let is_over = || {
                if asked.load(Ordering::Relaxed) && end.get() == Instant::FAR_FUTURE {
                    end.set(clock.now() + LAST);
                }
                clock.now() >= end.get()
            };
            server.serve(is_over);
        };
        let thread = std::thread::Builder::new().spawn(serve).map_err(failed)?;
        if opens && std::io::stderr().is_terminal() {
            open(&address);
        }
        Ok(Self { address, ends, thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
