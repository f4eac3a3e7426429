//! libsrt 1.5 in live mode, encrypted (AES-128), without play-out delay. It is loaded at run time, so that the
//! benchmark can be built without it.

use crate::{Done, Job, Kind, cpu, sleep_until};
use libloading::{Library, Symbol};
use std::ffi::{c_char, c_int, c_void};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// `SRT_SOCKOPT` of srt.h.
const RCVBUF: c_int = 6;
const SNDBUF: c_int = 5;
const FC: c_int = 4;
const UDP_SNDBUF: c_int = 8;
const UDP_RCVBUF: c_int = 9;
const RCVTIMEO: c_int = 14;
const TSBPDMODE: c_int = 22;
const PASSPHRASE: c_int = 26;
/// `SRT_LOG_CRIT`.
const QUIET: c_int = 2;

pub struct Srt {
    library: Library,
    /// Whether its buffers are large enough for `flood`.
    large: bool,
}

/// A socket, closed when dropped.
pub struct Socket<'a>(&'a Srt, c_int);

impl Srt {
    pub fn load(large: bool) -> Option<Self> {
        let library = unsafe { Library::new("libsrt.so.1.5") }.ok()?;
        unsafe {
            library.get::<unsafe extern "C" fn() -> c_int>(b"srt_startup").ok()?();
            library.get::<unsafe extern "C" fn(c_int)>(b"srt_setloglevel").ok()?(QUIET);
        }
        Some(Self { library, large })
    }

    fn get<T>(&self, name: &[u8]) -> Symbol<'_, T> {
        unsafe { self.library.get(name) }.expect("libsrt 1.5 has it")
    }

    fn socket(&self) -> Socket<'_> {
        let create: Symbol<'_, unsafe extern "C" fn() -> c_int> = self.get(b"srt_create_socket");
        let socket = Socket(self, unsafe { create() });
        let large =
            [(FC, 1 << 16), (SNDBUF, 64 << 20), (RCVBUF, 64 << 20), (UDP_SNDBUF, 8 << 20), (UDP_RCVBUF, 8 << 20)];
        large.into_iter().filter(|_| self.large).for_each(|(option, value)| socket.set(option, value));
        socket.set(TSBPDMODE, 0);
        let set: Symbol<'_, unsafe extern "C" fn(c_int, c_int, *const c_void, c_int) -> c_int> =
            self.get(b"srt_setsockflag");
        let phrase = b"as quinn and DTLS are";
        assert!(unsafe { set(socket.1, PASSPHRASE, phrase.as_ptr().cast(), phrase.len() as c_int) } == 0);
        socket
    }

    /// Creates a listening socket, and returns its address.
    pub fn listener(&self) -> (Socket<'_>, SocketAddr) {
        let socket = self.socket();
        let named: Symbol<'_, unsafe extern "C" fn(c_int, *const libc::sockaddr_in, c_int) -> c_int> =
            self.get(b"srt_bind");
        let name = v4("127.0.0.1:0".parse().unwrap());
        assert!(unsafe { named(socket.1, &raw const name, size_of_val(&name) as c_int) } == 0);
        let listen: Symbol<'_, unsafe extern "C" fn(c_int, c_int) -> c_int> = self.get(b"srt_listen");
        assert!(unsafe { listen(socket.1, 1000) } == 0);
        let own: Symbol<'_, unsafe extern "C" fn(c_int, *mut libc::sockaddr_in, *mut c_int) -> c_int> =
            self.get(b"srt_getsockname");
        let (mut name, mut length) = (name, size_of::<libc::sockaddr_in>() as c_int);
        assert!(unsafe { own(socket.1, &raw mut name, &raw mut length) } == 0);
        (socket, SocketAddr::from(([127, 0, 0, 1], u16::from_be(name.sin_port))))
    }

    pub fn connect(&self, to: SocketAddr) -> Socket<'_> {
        let socket = self.socket();
        let connect: Symbol<'_, unsafe extern "C" fn(c_int, *const libc::sockaddr_in, c_int) -> c_int> =
            self.get(b"srt_connect");
        let name = v4(to);
        assert!(unsafe { connect(socket.1, &raw const name, size_of_val(&name) as c_int) } == 0, "SRT connects");
        socket
    }
}

impl Socket<'_> {
    fn set(&self, option: c_int, value: c_int) {
        let set: Symbol<'_, unsafe extern "C" fn(c_int, c_int, *const c_void, c_int) -> c_int> =
            self.0.get(b"srt_setsockflag");
        assert!(unsafe { set(self.1, option, (&raw const value).cast(), 4) } == 0, "option {option}");
    }

    pub fn accept(&self) -> Self {
        let accept: Symbol<'_, unsafe extern "C" fn(c_int, *mut c_void, *mut c_int) -> c_int> =
            self.0.get(b"srt_accept");
        Self(self.0, unsafe { accept(self.1, std::ptr::null_mut(), std::ptr::null_mut()) })
    }

    pub fn sender(&self) -> impl Fn(&[u8]) + '_ {
        let send: Symbol<'_, unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int> = self.0.get(b"srt_send");
        let socket = self.1;
        move |datagram| _ = unsafe { send(socket, datagram.as_ptr().cast(), datagram.len() as c_int) }
    }

    /// Returns a receiver of datagrams; it returns the length, or `None` after half a second.
    pub fn receiver(&self) -> impl FnMut(&mut [u8]) -> Option<usize> + '_ {
        self.set(RCVTIMEO, 500);
        let receive: Symbol<'_, unsafe extern "C" fn(c_int, *mut c_char, c_int) -> c_int> = self.0.get(b"srt_recv");
        let socket = self.1;
        move |datagram| {
            usize::try_from(unsafe { receive(socket, datagram.as_mut_ptr().cast(), datagram.len() as c_int) }).ok()
        }
    }
}

impl Drop for Socket<'_> {
    fn drop(&mut self) {
        let close: Symbol<'_, unsafe extern "C" fn(c_int) -> c_int> = self.0.get(b"srt_close");
        unsafe { close(self.1) };
    }
}

fn v4(address: SocketAddr) -> libc::sockaddr_in {
    let mut name = unsafe { std::mem::zeroed::<libc::sockaddr_in>() };
    name.sin_family = libc::AF_INET as libc::sa_family_t;
    name.sin_port = address.port().to_be();
    name.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
    name
}

pub fn run(srt: &Srt, job: &Job) -> Done {
    let (listener, address) = srt.listener();
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| listener.accept());
        let connection = srt.connect(address);
        let accepted = accepting.join().unwrap();
        let before = cpu();
        let receiver = scope.spawn(move || {
            let mut receive = accepted.receiver();
            let (mut datagram, mut latencies) = (vec![0; 2048], Vec::with_capacity(1 << 22));
            while receive(&mut datagram).is_some() {
                latencies.push(job.latency(&datagram));
            }
            latencies
        });
        let (send, begin) = (connection.sender(), Instant::now());
        let (mut datagram, mut sent) = (vec![0; job.length], 0);
        while let Some(due) = job.due(begin, sent) {
            if job.kind == Kind::Rate {
                sleep_until(due);
            }
            job.stamp(&mut datagram);
            send(&datagram);
            sent += 1;
        }
        let wall = begin.elapsed().as_secs_f64();
        Done { sent, latencies: receiver.join().unwrap(), wall, before }
    })
}

/// Returns bytes of memory per end of a connection.
pub fn idle(srt: &Srt, many: usize) -> f64 {
    let (listener, address) = srt.listener();
    let pair = || {
        std::thread::scope(|scope| {
            let accepting = scope.spawn(|| listener.accept());
            (srt.connect(address), accepting.join().unwrap())
        })
    };
    let some: Vec<_> = (0..10).map(|_| pair()).collect();
    let before = crate::resident();
    let all: Vec<_> = (0..many).map(|_| pair()).collect();
    std::thread::sleep(Duration::from_millis(500));
    let bytes = crate::resident() - before;
    drop((some, all));
    bytes / many as f64 / 2.0
}

/// Returns seconds from the start of the connection to the arrival of the first datagram. One is sent every 10 ms
/// after the connection is established.
pub fn first(srt: &Srt, path: crate::first::Path) -> f64 {
    let (listener, address) = srt.listener();
    let address = crate::first::behind_link(address, path);
    std::thread::scope(|scope| {
        let arriving = scope.spawn(|| {
            let accepted = listener.accept();
            let mut receive = accepted.receiver();
            while receive(&mut [0; 2048]).is_none() {}
            Instant::now()
        });
        let begin = Instant::now();
        let connection = srt.connect(address);
        let send = connection.sender();
        while !arriving.is_finished() {
            send(&[1; 1000]);
            std::thread::sleep(crate::first::GAP);
        }
        arriving.join().unwrap().duration_since(begin).as_secs_f64()
    })
}
