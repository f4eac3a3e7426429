//! A command behind a link: it runs in a network namespace whose only way out is the link.
//!
//! The link has a TUN device on both sides. A thread for each direction reads packets from one device, passes them
//! through an [`Emulator`](crate::Emulator) and writes them to the other device.

mod block;
pub(crate) mod device;
pub(crate) mod error;
mod forward;
mod guard;
mod init;
mod name_server;
mod path;
mod report;

pub use error::ShellError;
pub use guard::run_guard;
pub use init::run_init;
pub use path::PathReport;
pub use report::ShellReport;

use crate::emulator::{self, Emulator};
use crate::namespace;
use crate::recorder::{PacketSink, Recorder};
use block::{Block, Side};
use device::Device;
use forward::Port;
use guard::Guard;
use headway_engine::Ties;
use headway_link::Config;
use headway_net::Clock;
use headway_units::Duration;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use path::Path;
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::SystemTime;

/// Port of name servers (RFC 1035 section 4.2).
const DNS_PORT: u16 = 53;

/// Options of a shell: a command behind an emulated link.
#[derive(Clone, Debug)]
pub struct ShellOptions {
    /// Program (of this crate's user) that calls [`run_init`] with its arguments after `shell-init`, and [`run_guard`]
    /// with those after `shell-guard`.
    pub program: PathBuf,
    /// Maximum 99th percentile of the release error in a valid run. The release error is the time from the departure of
    /// a packet from the emulated link until the kernel has accepted it.
    pub bound: Duration,
    /// Ports of the gateway that are forwarded to the same ports of this machine's loopback address, TCP and UDP.
    pub host_ports: Vec<u16>,
}

/// A running command behind a link.
#[derive(Debug)]
pub struct Shell {
    clock: Clock,
    bound: Duration,
    /// Process number of the first process of the namespace; 0 before its start and after its end.
    init: Arc<AtomicI32>,
    /// Returns the number of packets that the kernel dropped before the downlink.
    outer: Owner<u64>,
    inner: Owner<Ended>,
    uplink: Direction,
    downlink: Direction,
    guard: Option<Guard>,
    recorder: Option<Recorder>,
}

/// Thread in the network namespace of a device, and its sender.
#[derive(Debug)]
struct Owner<T> {
    thread: JoinHandle<T>,
    sender: Sender<()>,
}

/// End of a command.
#[derive(Debug)]
struct Ended {
    status: io::Result<ExitStatus>,
    /// Packets that the kernel dropped before the uplink.
    unread_packets: u64,
}

/// Thread of a direction, and the event that ends it.
#[derive(Debug)]
struct Direction {
    thread: JoinHandle<Result<PathReport, ShellError>>,
    stop: Arc<EventFd>,
}

impl Shell {
    /// Starts a command behind a link. `ties`, `directions` and `seed` are those of
    /// [`Emulator::new`](crate::Emulator::new): out of the namespace, then into it. Without privileges the process must
    /// have a single thread, and it gets a user namespace. Unless the shell is inside another one, the environment
    /// variable `HEADWAY_HOST` of the command is the address of the gateway. `sinks` record the packets; the number of a
    /// direction is its index.
    ///
    /// # Errors
    /// Missing rights, and failures of the kernel.
    pub fn start(
        options: &ShellOptions,
        ties: Ties,
        directions: [(&str, &Arc<Config>); 2],
        seed: u64,
        sinks: Vec<Box<dyn PacketSink>>,
        command: &[OsString],
    ) -> Result<Self, ShellError> {
        let mtu = device::mtu(directions.iter().map(|(_, config)| &***config));
        let is_user_namespace = namespace::acquire_rights()?;
        let nameserver = if is_user_namespace { None } else { name_server::on_loopback() };
        let (outer, (block, outer_device, ports)) =
            start_outer(mtu, is_user_namespace, options.host_ports.clone(), nameserver)?;
        forward::forward(ports).map_err(ShellError::Link)?;
        let gateway = block.address(Side::Outer);
        let mut first = init_command(&options.program, nameserver.map(|_| gateway), command);
        if !block.is_nested() {
            first.env("HEADWAY_HOST", gateway.to_string());
        }
        let init = Arc::new(AtomicI32::new(0));
        let (inner, inner_device) = start_inner(block, mtu, is_user_namespace, first, &init)?;
        // A shell inside another one has its access.
        let needs_guard = !is_user_namespace && !block.is_nested();
        let guard = needs_guard.then(|| Guard::start(&options.program, block)).transpose().map_err(ShellError::Link)?;
        let clock = Clock::new();
        let recorder = (!sinks.is_empty()).then(|| Recorder::start(sinks, time_of_day())).transpose();
        let recorder = recorder.map_err(ShellError::Link)?;
        let start = |direction: emulator::Direction, from: &Arc<Device>, to: &Arc<Device>| {
            let link = Emulator::new(ties, directions, seed);
            let tap = recorder.as_ref().map(|recorder| recorder.tap(direction as usize));
            let (from, to) = (Arc::clone(from), Arc::clone(to));
            let path = Path { direction, from, to, link, clock, mtu: mtu as usize, tap };
            let stop = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?);
            let run = {
                let stop = Arc::clone(&stop);
                move || path.run(&stop)
            };
            Ok(Direction { thread: Builder::new().name(format!("{direction:?}")).spawn(run)?, stop })
        };
        let uplink = start(emulator::Direction::ToServer, &inner_device, &outer_device).map_err(ShellError::Link)?;
        let downlink = start(emulator::Direction::ToClient, &outer_device, &inner_device).map_err(ShellError::Link)?;
        // The command starts when the link runs.
        let _ = inner.sender.send(());
        Ok(Self { clock, bound: options.bound, init, outer, inner, uplink, downlink, guard, recorder })
    }

    /// Returns why the command cannot reach hosts outside of this machine: address translation or IP forwarding could
    /// not be set up. `None` if both were set up, and for a shell without root, from which no command can reach other
    /// hosts.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.guard.as_ref()?.problem.as_deref()
    }

    /// Returns whether the command has ended. Kills it if a direction of the link has failed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        if self.uplink.thread.is_finished() || self.downlink.thread.is_finished() {
            self.kill();
        }
        self.inner.thread.is_finished()
    }

    /// Sends SIGTERM to the command of the shell.
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills all processes that the command has started, and the command itself.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        let process = self.init.load(Ordering::Relaxed);
        if process != 0 {
            let _ = kill(Pid::from_raw(process), signal);
        }
    }

    /// Waits for the end of the command, stops the link and removes its devices. Returns the exit status of the
    /// command and the report.
    ///
    /// # Errors
    /// The command could not be started or the link failed.
    pub fn finish(self) -> Result<(ExitStatus, ShellReport), ShellError> {
        let panicked = || ShellError::Link(io::Error::other("a thread of the link panicked"));
        let Ended { status, unread_packets } = self.inner.thread.join().map_err(|_| panicked())?;
        drop(self.outer.sender);
        let unread_downlink = self.outer.thread.join().map_err(|_| panicked())?;
        let finish = |direction: Direction, unread_packets| {
            // The counter of a new event is far from its maximum.
            let _ = direction.stop.write(1);
            let report = direction.thread.join().map_err(|_| panicked())??;
            Ok(PathReport { unread_packets, ..report })
        };
        let elapsed = self.clock.now();
        let uplink = finish(self.uplink, unread_packets);
        let downlink = finish(self.downlink, unread_downlink);
        let unwritten = self.recorder.map(|recorder| recorder.finish(elapsed)).unwrap_or_default();
        let guarded = self.guard.map_or(Ok(()), Guard::finish);
        let report = ShellReport::new(elapsed, uplink?, downlink?, self.bound, &unwritten);
        guarded.map_err(ShellError::Link)?;
        Ok((status.map_err(ShellError::Link)?, report))
    }
}

/// What a thread that owns a device has made.
type Made<T, D> = Result<(Owner<T>, D), ShellError>;

/// Creates the outer side on a thread that waits until its sender is dropped.
fn start_outer(
    mtu: u32,
    is_user_namespace: bool,
    host_ports: Vec<u16>,
    nameserver: Option<SocketAddr>,
) -> Made<u64, (Block, Arc<Device>, Vec<Port>)> {
    let create = move || {
        // The namespace of the system belongs to another user.
        if is_user_namespace {
            namespace::enter_network()?;
        }
        let (block, device) = device::create_outer()?;
        device::configure(&device, block, Side::Outer, mtu)?;
        let gateway = block.address(Side::Outer);
        let mut ports = Vec::new();
        for port in host_ports {
            let listening = Port::listen(gateway, port, (Ipv4Addr::LOCALHOST, port).into());
            ports.push(listening.map_err(|error| ShellError::HostPort { port, error })?);
        }
        // A name server that listens at all addresses needs no forwarding.
        ports.extend(nameserver.and_then(|server| Port::listen(gateway, DNS_PORT, server).ok()));
        Ok((block, Arc::new(device), ports))
    };
    own("outer side", move |ready, end| {
        let created = create();
        let name = created.as_ref().map(|(_, device, _)| device.name.clone()).unwrap_or_default();
        let _ = ready.send(created);
        let _ = end.recv();
        device::dropped_packets(&name)
    })
}

/// Creates the inner side on a thread that starts the command when it receives a message. The thread must outlive the
/// command, which the kernel kills with it.
fn start_inner(
    block: Block,
    mtu: u32,
    is_user_namespace: bool,
    mut command: Command,
    init: &Arc<AtomicI32>,
) -> Made<Ended, Arc<Device>> {
    let init = Arc::clone(init);
    let create = move || {
        namespace::enter_network()?;
        let device = device::create_inner(block)?;
        device::configure(&device, block, Side::Inner, mtu)?;
        if is_user_namespace {
            namespace::keep_capabilities()?;
        }
        namespace::enter_processes()?;
        Ok(Arc::new(device))
    };
    own("inner side", move |ready, start| {
        let created = create();
        let name = created.as_ref().map(|device| device.name.clone()).unwrap_or_default();
        let _ = ready.send(created);
        if start.recv().is_err() {
            return Ended { status: Err(io::ErrorKind::Interrupted.into()), unread_packets: 0 };
        }
        let status = command.spawn().and_then(|mut child| {
            init.store(child.id().cast_signed(), Ordering::Relaxed);
            let status = child.wait();
            init.store(0, Ordering::Relaxed);
            status
        });
        Ended { status, unread_packets: device::dropped_packets(&name) }
    })
}

/// Starts a thread that sends what it has created and then waits for a message.
fn own<T: Send + 'static, D: Send + 'static>(
    name: &str,
    run: impl FnOnce(Sender<Result<D, ShellError>>, Receiver<()>) -> T + Send + 'static,
) -> Made<T, D> {
    let (ready, created) = mpsc::channel();
    let (sender, receiver) = mpsc::channel();
    let thread = Builder::new().name(name.to_owned()).spawn(move || run(ready, receiver)).map_err(ShellError::Link)?;
    let created =
        created.recv().map_err(|_| ShellError::Link(io::Error::other(format!("the thread of the {name} ended"))))?;
    Ok((Owner { thread, sender }, created?))
}

/// Returns the command of the first process of the namespace.
fn init_command(program: &std::path::Path, nameserver: Option<Ipv4Addr>, command: &[OsString]) -> Command {
    let mut init = Command::new(program);
    init.arg("shell-init").arg(std::process::id().to_string());
    init.arg(nameserver.map_or_else(|| "-".to_owned(), |address| address.to_string()));
    init.args(command);
    init
}

/// Returns the time since 1970.
#[expect(clippy::disallowed_methods, reason = "captures have the time of day")]
fn time_of_day() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Duration::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
