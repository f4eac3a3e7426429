//! Programs of a lab: each runs in the network namespace of a node and in a PID namespace, which ends with it.

use super::error::LabError;
use super::node::Node;
use crate::namespace;
use crate::shell::ShellError;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time in which a server must open a socket. After it, the run starts without.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two looks at the sockets of a server.
const SOCKETS_INTERVAL: Duration = Duration::from_millis(5);
/// Time that a program has after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// A shell command and its place.
#[derive(Clone, Debug)]
pub(super) struct ProgramCommand {
    /// This program, which becomes the first process of a PID namespace and starts the command.
    pub(super) init: PathBuf,
    pub(super) flow: String,
    pub(super) command: String,
    pub(super) node: Node,
    /// File of both outputs.
    pub(super) log: PathBuf,
    /// Whether the process has a user namespace.
    pub(super) is_user_namespace: bool,
}

/// A program that waits for its start, runs or has ended.
#[derive(Debug)]
pub(super) struct Program {
    start: Option<Sender<()>>,
    /// Process number; 0 before the start and after the end.
    process: Arc<AtomicI32>,
    /// Whether the lab has stopped the program.
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<Result<Option<ExitStatus>, LabError>>,
}

impl Program {
    /// Prepares a program that starts with [`start`](Self::start).
    pub(super) fn prepare(command: ProgramCommand) -> Result<Self, LabError> {
        let (start, started) = mpsc::channel();
        Self::spawn(command, Some(start), started, None)
    }

    /// Starts a server. Returns when it has opened a socket, has ended, or after a timeout.
    pub(super) fn serve(command: ProgramCommand) -> Result<Self, LabError> {
        let (start, started) = mpsc::channel();
        let _ = start.send(());
        let (ready, is_ready) = mpsc::channel();
        let program = Self::spawn(command, None, started, Some(ready))?;
        // An error is that of the thread, which `finish` returns.
        let _ = is_ready.recv();
        Ok(program)
    }

    fn spawn(
        command: ProgramCommand,
        start: Option<Sender<()>>,
        started: Receiver<()>,
        ready: Option<Sender<()>>,
    ) -> Result<Self, LabError> {
        let process = Arc::new(AtomicI32::new(0));
        let run = {
            let process = Arc::clone(&process);
            move || run(&command, &started, &process, ready)
        };
        let thread = Builder::new().name("program".to_owned()).spawn(run).map_err(ShellError::Link)?;
        Ok(Self { start, process, stopped: Arc::default(), thread })
    }

    pub(super) fn start(&self) {
        if let Some(start) = &self.start {
            let _ = start.send(());
        }
    }

    /// Sends SIGTERM to the program if it has not ended. It is then not a failed one.
    pub(super) fn terminate(&self) {
        if !self.has_ended() {
            self.stopped.store(true, Ordering::Relaxed);
            self.signal(Signal::SIGTERM);
        }
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.load(Ordering::Relaxed);
        if process != 0 {
            let _ = kill(Pid::from_raw(process), signal);
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Returns the exit status of the program after it has been [terminated](Self::terminate), or has ended before.
    /// `None`: the lab stopped it, or never started it.
    ///
    /// # Errors
    /// The program could not be started.
    pub(super) fn finish(mut self) -> Result<Option<ExitStatus>, LabError> {
        // A program that was not started ends now.
        self.start = None;
        let mut waited = Duration::ZERO;
        while !self.has_ended() {
            std::thread::park_timeout(SOCKETS_INTERVAL);
            waited += SOCKETS_INTERVAL;
            if waited > GRACE {
                self.signal(Signal::SIGKILL);
            }
        }
        let panicked = |_| LabError::Node(ShellError::Link(std::io::Error::other("the thread of a program panicked")));
        let stopped = self.stopped.load(Ordering::Relaxed);
        match self.thread.join().map_err(panicked)? {
            _ if stopped => Ok(None),
            status => status,
        }
    }
}

/// Runs the command when it is started. Returns its exit status; `None` if it is never started.
fn run(
    command: &ProgramCommand,
    started: &Receiver<()>,
    process: &AtomicI32,
    ready: Option<Sender<()>>,
) -> Result<Option<ExitStatus>, LabError> {
    command.node.enter()?;
    if command.is_user_namespace {
        namespace::keep_capabilities()?;
    }
    namespace::enter_processes()?;
    if started.recv().is_err() {
        return Ok(None);
    }
    let failed = |error| LabError::Program { flow: command.flow.clone(), command: command.command.clone(), error };
    let log = fs::File::create(&command.log).map_err(failed)?;
    let sockets = open_sockets();
    let mut child = Command::new(&command.init)
        .arg("shell-init")
        .arg(std::process::id().to_string())
        .args(["-", "/bin/sh", "-c", &command.command])
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log)
        // The lab decides what Ctrl-C means.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    process.store(child.id().cast_signed(), Ordering::Relaxed);
    if let Some(ready) = ready {
        let mut waited = Duration::ZERO;
        while waited < SERVER_TIMEOUT && open_sockets() <= sockets && child.try_wait().map_err(failed)?.is_none() {
            std::thread::park_timeout(SOCKETS_INTERVAL);
            waited += SOCKETS_INTERVAL;
        }
        let _ = ready.send(());
    }
    let status = child.wait().map_err(failed)?;
    process.store(0, Ordering::Relaxed);
    Ok(Some(status))
}

/// Returns the number of sockets in the namespace of this thread that accept packets: TCP sockets that listen (state 0A)
/// and UDP sockets (proc(5)).
fn open_sockets() -> usize {
    let lines = |protocol: &str, state: &str| {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{protocol}")).unwrap_or_default();
        table
            .lines()
            .skip(1)
            .filter(|line| line.split_whitespace().nth(3).is_some_and(|at| at.starts_with(state)))
            .count()
    };
    ["tcp", "tcp6"].into_iter().map(|protocol| lines(protocol, "0A")).sum::<usize>()
        + ["udp", "udp6"].into_iter().map(|protocol| lines(protocol, "")).sum::<usize>()
}
