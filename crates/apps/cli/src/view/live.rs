//! Live view of a record that this process is writing.

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

/// Time for which the server answers after the end. The page polls each second and receives the final record.
const LINGER: Duration = Duration::from_secs(2);

/// Viewer of a growing record. Dropping it stops the server after a delay, so that the page receives the final record.
pub(crate) struct LiveView {
    address: String,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LiveView {
    /// Serves the record in `folder` with the name `label`. Port 0 selects a free port. `opens` opens the browser.
    pub(crate) fn new(folder: &Folder, label: &str, port: u16, opens: bool) -> Result<Self, Failure> {
        if page::VIEWER.is_none() {
            return Err(Failure::Sockets(
                "--view: this program was built without the viewer; run `make viewer` and rebuild it".to_owned(),
            ));
        }
        let server = Server::new(Records::of_one(folder.clone(), label), port)?;
        let (address, is_ending) = (server.address().to_owned(), Arc::new(AtomicBool::new(false)));
        let ending = Arc::clone(&is_ending);
        let failed = |error| Failure::Sockets(format!("cannot start a thread: {error}"));
        let serve = move || {
            let (clock, end) = (Clock::new(), Cell::new(Instant::FAR_FUTURE));
            let is_over = || {
                if ending.load(Ordering::Relaxed) && end.get() == Instant::FAR_FUTURE {
                    end.set(clock.now() + LINGER);
                }
                clock.now() >= end.get()
            };
            server.serve(is_over);
        };
        let thread = std::thread::Builder::new().spawn(serve).map_err(failed)?;
        if opens && std::io::stderr().is_terminal() {
            open(&address);
        }
        Ok(Self { address, is_ending, thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
