//! Plain sockets: blocking `send` and `recv` of one peer, and segmentation offload (GSO and GRO) in `batch`.
//! [`Polled`] is what a program with many peers and deadlines needs.

use crate::{Done, Job, Kind, cpu, sleep_until};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const RUN: usize = 54;

pub fn run(job: &Job) -> Done {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(server.local_addr().unwrap()).unwrap();
    for socket in [&server, &client] {
        let state = UdpSocketState::new(UdpSockRef::from(socket)).unwrap();
        state.set_recv_buffer_size(UdpSockRef::from(socket), 8 << 20).unwrap();
        state.set_send_buffer_size(UdpSockRef::from(socket), 8 << 20).unwrap();
        socket.set_nonblocking(false).unwrap();
    }
    server.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let before = cpu();
    let receiver = {
        let job = job.clone();
        std::thread::spawn(
            move || if job.kind == Kind::Batch { receive_runs(&job, &server) } else { receive(&job, &server) },
        )
    };
    let begin = Instant::now();
    let sent = if job.kind == Kind::Batch { send_runs(job, &client, begin) } else { send(job, &client, begin) };
    let wall = begin.elapsed().as_secs_f64();
    let latencies = receiver.join().unwrap();
    Done { sent, latencies, wall, before }
}

/// Sends in a loop with a timerfd at the due times.
fn send_by_timer(job: &Job, begin: Instant, send: impl Fn(&[u8])) -> u64 {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::empty()).unwrap();
    let zero = Duration::from(nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap()) - begin.elapsed();
    let (datagram, mut sent) = (vec![0; job.length], 0);
    while let Some(due) = job.due(begin, sent) {
        if due > Instant::now() {
            let at = TimeSpec::from_duration(zero + (due - begin));
            timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME).unwrap();
            timer.wait().unwrap();
        }
        send(&datagram);
        sent += 1;
    }
    sent
}

fn send(job: &Job, client: &UdpSocket, begin: Instant) -> u64 {
    if job.kind == Kind::Gaps {
        return send_by_timer(job, begin, |datagram| assert_eq!(client.send(datagram).unwrap(), datagram.len()));
    }
    let (mut datagram, mut sent) = (vec![0; job.length], 0);
    while let Some(due) = job.due(begin, sent) {
        sleep_until(due);
        job.stamp(&mut datagram);
        client.send(&datagram).unwrap();
        sent += 1;
    }
    sent
}

fn receive(job: &Job, server: &UdpSocket) -> Vec<u64> {
    let (mut datagram, mut latencies) = (vec![0; 2048], Vec::with_capacity(1 << 22));
    while server.recv(&mut datagram).is_ok() {
        latencies.push(job.latency(&datagram));
    }
    latencies
}

fn send_runs(job: &Job, client: &UdpSocket, begin: Instant) -> u64 {
    let state = UdpSocketState::new(UdpSockRef::from(client)).unwrap();
    client.set_nonblocking(false).unwrap();
    let many = RUN.min(state.max_gso_segments()).min(65_000 / job.length);
    let (mut run, mut sent, destination) = (vec![0; job.length * many], 0, client.peer_addr().unwrap());
    while job.due(begin, sent).is_some() {
        run.chunks_mut(job.length).for_each(|datagram| job.stamp(datagram));
        let transmit =
            Transmit { destination, ecn: None, contents: &run, segment_size: Some(job.length), src_ip: None };
        state.try_send(UdpSockRef::from(client), &transmit).unwrap();
        sent += many as u64;
    }
    sent
}

fn receive_runs(job: &Job, server: &UdpSocket) -> Vec<u64> {
    let state = UdpSocketState::new(UdpSockRef::from(server)).unwrap();
    // One buffer per call: a blocking call waits for all of them.
    server.set_nonblocking(false).unwrap();
    let (mut buffer, mut latencies) = (vec![0; 65_535], Vec::with_capacity(1 << 22));
    let mut meta = [RecvMeta::default()];
    while state.recv(UdpSockRef::from(server), &mut [IoSliceMut::new(&mut buffer)], &mut meta).is_ok() {
        latencies.extend(buffer[..meta[0].len].chunks(meta[0].stride).map(|datagram| job.latency(datagram)));
    }
    latencies
}

/// Unconnected nonblocking socket with epoll. A call receives several datagrams if available.
pub struct Polled {
    io: UdpSocket,
    state: UdpSocketState,
    epoll: Epoll,
    buffers: Vec<Vec<u8>>,
}

impl Polled {
    pub fn new() -> Self {
        let io = UdpSocket::bind("127.0.0.1:0").unwrap();
        let state = UdpSocketState::new(UdpSockRef::from(&io)).unwrap();
        state.set_recv_buffer_size(UdpSockRef::from(&io), 8 << 20).unwrap();
        state.set_send_buffer_size(UdpSockRef::from(&io), 8 << 20).unwrap();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap();
        epoll.add(&io, EpollEvent::new(EpollFlags::EPOLLIN, 0)).unwrap();
        Self { io, state, epoll, buffers: vec![vec![0; 65_535]; 8] }
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.io.local_addr().unwrap()
    }

    pub fn send(&self, destination: SocketAddr, contents: &[u8]) {
        let transmit = Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None };
        while self.state.try_send(UdpSockRef::from(&self.io), &transmit).is_err() {
            std::thread::yield_now();
        }
    }

    /// Receives until no datagram has arrived for half a second.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8])) {
        let mut metas = [RecvMeta::default(); 8];
        loop {
            let mut buffers = self.buffers.iter_mut();
            let mut slices: [IoSliceMut<'_>; 8] = std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap()));
            match self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut metas) {
                Ok(many) => {
                    for (meta, buffer) in metas.iter().zip(&self.buffers).take(many) {
                        buffer[..meta.len].chunks(meta.stride.max(1)).for_each(&mut each);
                    }
                    if many == 8 {
                        continue;
                    }
                }
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
            if self.epoll.wait(&mut [EpollEvent::empty(); 2], EpollTimeout::from(500_u16)).unwrap() == 0 {
                return;
            }
        }
    }
}

pub fn run_polled(job: &Job) -> Done {
    let (mut server, client) = (Polled::new(), Polled::new());
    let to = server.local_addr();
    let before = cpu();
    let receiver = {
        let job = job.clone();
        std::thread::spawn(move || {
            let mut latencies = Vec::with_capacity(1 << 22);
            server.receive(|datagram| latencies.push(job.latency(datagram)));
            latencies
        })
    };
    let begin = Instant::now();
    let sent = if job.kind == Kind::Gaps {
        send_by_timer(job, begin, |datagram| client.send(to, datagram))
    } else {
        let (mut datagram, mut sent) = (vec![0; job.length], 0);
        while let Some(due) = job.due(begin, sent) {
            sleep_until(due);
            job.stamp(&mut datagram);
            client.send(to, &datagram);
            sent += 1;
        }
        sent
    };
    let wall = begin.elapsed().as_secs_f64();
    Done { sent, latencies: receiver.join().unwrap(), wall, before }
}
