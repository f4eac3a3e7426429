//! One connection of the kernel's TCP, which sends as much as it can.

use super::node::Node;
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Port of the receiver.
const PORT: u16 = 5001;
/// Size of the buffers of both ends, in bytes.
const BUFFER: usize = 1 << 17;
/// Longest time for which an end waits in a system call until it looks whether it must stop.
const WAIT: Duration = Duration::from_millis(50);
/// Longest time of the handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Congestion controls that the kernel has.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// A connection and the threads of its ends.
#[derive(Debug)]
pub(super) struct KernelTcp {
    start: Option<Sender<()>>,
    stop: Arc<AtomicBool>,
    sender: JoinHandle<io::Result<()>>,
    receiver: JoinHandle<io::Result<()>>,
}

impl KernelTcp {
    /// Listens at the receiving node, and prepares a sender that connects on [`start`](Self::start).
    pub(super) fn prepare(from: &Node, to: &Node, to_address: Ipv4Addr, congestion: &str) -> io::Result<Self> {
        let address: SockAddr = SocketAddrV4::new(to_address, PORT).into();
        let bound = address.clone();
        let listener = in_namespace(to, move || {
            let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            listener.bind(&bound)?;
            listener.listen(1)?;
            listener.set_read_timeout(Some(WAIT))?;
            Ok(listener)
        })?;
        let name = congestion.to_owned();
        let socket = in_namespace(from, move || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_tcp_congestion(name.as_bytes()).map_err(|error| unavailable(&name, &error))?;
            socket.set_write_timeout(Some(WAIT))?;
            Ok(socket)
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let (start, started) = mpsc::channel();
        let (stop_sender, stop_receiver) = (Arc::clone(&stop), Arc::clone(&stop));
        let sender = Builder::new().name("TCP sender".to_owned());
        let sender = sender.spawn(move || send(socket, &address, &started, &stop_sender))?;
        let receiver = Builder::new().name("TCP receiver".to_owned());
        let receiver = receiver.spawn(move || receive(&listener, &stop_receiver))?;
        Ok(Self { start: Some(start), stop, sender, receiver })
    }

    pub(super) fn start(&self) {
        if let Some(start) = &self.start {
            let _ = start.send(());
        }
    }

    /// Closes the connection.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Closes the connection and returns its error, such as a refused handshake.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.start = None;
        self.stop();
        let panicked = |_| io::Error::other("a thread of a connection panicked");
        let sent = self.sender.join().map_err(panicked)?;
        let received = self.receiver.join().map_err(panicked)?;
        sent.and(received)
    }
}

/// Creates a socket in the namespace of a node.
fn in_namespace(node: &Node, create: impl FnOnce() -> io::Result<Socket> + Send + 'static) -> io::Result<Socket> {
    let node = node.clone();
    let thread = Builder::new().spawn(move || node.enter().map_err(io::Error::other).and_then(|()| create()))?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread of a socket panicked")))
}

/// Adds the available congestion controls to the error of the kernel.
fn unavailable(name: &str, error: &io::Error) -> io::Error {
    let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
    let available = available.split_whitespace().collect::<Vec<_>>().join(", ");
    io::Error::new(
        error.kind(),
        format!("the kernel refused the congestion control \"{name}\" ({error}); it has {available}"),
    )
}

fn send(mut socket: Socket, address: &SockAddr, started: &Receiver<()>, stop: &AtomicBool) -> io::Result<()> {
    if started.recv().is_err() {
        return Ok(());
    }
    if let Err(error) = socket.connect_timeout(address, CONNECT_TIMEOUT) {
        return if stop.load(Ordering::Relaxed) { Ok(()) } else { Err(error) };
    }
    let buffer = vec![0; BUFFER];
    while !stop.load(Ordering::Relaxed) {
        match socket.write(&buffer) {
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn receive(listener: &Socket, stop: &AtomicBool) -> io::Result<()> {
    let mut connection = loop {
        match listener.accept() {
            Ok((connection, _)) => break connection,
            Err(_) if stop.load(Ordering::Relaxed) => return Ok(()),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    };
    connection.set_read_timeout(Some(WAIT))?;
    let mut buffer = vec![0; BUFFER];
    while !stop.load(Ordering::Relaxed) {
        match connection.read(&mut buffer) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
