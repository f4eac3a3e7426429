//! Runs one job with one transport over loopback. Both ends are in this process, so that its CPU time is that of the
//! job.
//!
//! usage: headway-bench-transport JOB TRANSPORT SECONDS [LENGTH] [RATE]
//!
//! - `gaps`: paced datagrams at RATE per second. The program submits 54 at a time, as for a frame. Prints CPU ns per
//!   datagram, the error of the gaps between arrivals (p50 and p99 in us), and the number of datagrams.
//! - `idle`: RATE idle connections. Prints bytes of memory per end of a connection.
//! - `first`: the time from the start of a connection to the arrival of the first datagram, RATE times. A datagram is
//!   sent every 10 ms over a link with a delay of 20 ms and LENGTH percent loss. Prints milliseconds.
//! - `records`: only the DTLS library, both ends in one thread. Prints ns per datagram to seal and to open it.
//! - `has`: whether the transport is available: 1 or 0.
//! - `core`: the protocol without sockets. Prints ns per datagram at the sender and at the receiver.
//! - `streams`: RATE streams that share 600 Mb/s on one socket. The program submits the due datagrams each
//!   millisecond. Prints what `flood` prints.
//! - `flood`, `batch`, `rate`: one datagram per call without limit; as many per call as the transport supports; RATE
//!   per second. Prints one line: datagrams submitted, delivered, wall seconds, CPU ns per delivered datagram,
//!   one-way latency p50, p99, p99.9 in us.

mod core;
mod first;
mod headway;
mod quic;
mod raw;
mod records;
mod srt;
mod streams;

use std::time::{Duration, Instant};

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    pub kind: Kind,
    pub seconds: f64,
    /// Length of a datagram, in bytes.
    pub length: usize,
    /// Datagrams per second; 0 for no limit.
    pub rate: f64,
    pub start: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Flood,
    Batch,
    Rate,
    Idle,
    First,
    Gaps,
    Streams,
    Core,
}

impl Job {
    /// Returns when the n-th datagram is due; `None` after the end of the job.
    pub fn due(&self, begin: Instant, n: u64) -> Option<Instant> {
        let after = if self.rate > 0.0 { n as f64 / self.rate } else { begin.elapsed().as_secs_f64() };
        (after < self.seconds).then(|| begin + Duration::from_secs_f64(if self.rate > 0.0 { after } else { 0.0 }))
    }
    /// Writes the time into a datagram.
    pub fn stamp(&self, datagram: &mut [u8]) {
        datagram[..8].copy_from_slice(&(self.start.elapsed().as_nanos() as u64).to_le_bytes());
    }
    /// Returns nanoseconds since the time in the datagram; in `gaps` since the start of the job.
    pub fn latency(&self, datagram: &[u8]) -> u64 {
        if self.kind == Kind::Gaps {
            return self.start.elapsed().as_nanos() as u64;
        }
        let mut stamp = [0; 8];
        stamp.copy_from_slice(&datagram[..8]);
        (self.start.elapsed().as_nanos() as u64).saturating_sub(u64::from_le_bytes(stamp))
    }
}

/// Result of a job.
#[derive(Debug, Default)]
pub struct Done {
    pub sent: u64,
    pub latencies: Vec<u64>,
    pub wall: f64,
    /// CPU time before the first datagram.
    pub before: f64,
}

/// Returns the CPU time of this process, in s.
pub fn cpu() -> f64 {
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Returns the resident memory of this process, in bytes.
pub fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// Sleeps until a time, with the best precision of the system. All transports use it.
pub fn sleep_until(at: Instant) {
    let left = at.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

fn library(large: bool) -> srt::Srt {
    srt::Srt::load(large).expect("libsrt.so.1.5 is required: see the job `has`")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| args.get(index).map_or(default, |text| text.parse().expect("a number"));
    let kind = match args.first().map(String::as_str) {
        Some("flood") => Kind::Flood,
        Some("batch") => Kind::Batch,
        Some("rate") => Kind::Rate,
        Some("idle") => Kind::Idle,
        Some("first") => Kind::First,
        Some("gaps") => Kind::Gaps,
        Some("streams") => Kind::Streams,
        Some("core") => Kind::Core,
        Some("records") => return records::run(number(2, 1.0), number(3, 1200.0) as usize),
        Some("has") => {
            return println!(
                "{}",
                u8::from(args.get(1).map(String::as_str) != Some("srt") || srt::Srt::load(false).is_some())
            );
        }
        _ => {
            panic!("usage: flood|batch|rate|gaps|streams|core|records|has|idle|first TRANSPORT SECONDS [LENGTH] [RATE]")
        }
    };
    let rate = if matches!(kind, Kind::Flood | Kind::Batch) { 0.0 } else { number(4, 1000.0) };
    let job = Job { kind, seconds: number(2, 2.0), length: number(3, 1200.0) as usize, rate, start: Instant::now() };
    let transport = args.get(1).map_or("", String::as_str);
    match (kind, transport) {
        (Kind::Core, _) => return core::run(job.seconds, job.length),
        (Kind::Idle, "srt") => return println!("{:.0}", srt::idle(&library(false), rate as usize)),
        (Kind::Idle, "quinn") => return println!("{:.0}", quic::idle(rate as usize)),
        (Kind::Idle, other) => return println!("{:.0}", headway::idle(rate as usize, other)),
        (Kind::First, name) => {
            let srt = (name == "srt").then(|| library(false));
            let one = |seed| {
                let path = first::Path { loss_pct: job.length, seed };
                match (&srt, name) {
                    (Some(srt), _) => srt::first(srt, path),
                    (None, "quinn") => quic::first(path),
                    (None, other) => headway::first(other, path),
                }
            };
            return first::print((1..=rate as u64).map(one));
        }
        _ => {}
    }
    let many = streams::Streams { many: rate as usize, bits: 600e6 / rate };
    let done = match args.get(1).map(String::as_str) {
        Some("raw") if kind == Kind::Streams => streams::raw(&job, many),
        Some("polled") if kind == Kind::Streams => streams::polled(&job, many),
        Some("quinn") if kind == Kind::Streams => streams::quinn(&job, many),
        Some(other) if kind == Kind::Streams => streams::headway(&job, other, many),
        Some("raw") => raw::run(&job),
        Some("polled") => raw::run_polled(&job),
        Some("quinn") => quic::run(&job),
        Some("srt") => srt::run(&library(true), &job),
        Some(other) => headway::run(&job, other),
        None => panic!("the transport is missing"),
    };
    let cpu = cpu() - done.before;
    if kind == Kind::Gaps {
        let gap = 1e6 / rate;
        let mut errors: Vec<f64> =
            done.latencies.windows(2).map(|two| ((two[1] - two[0]) as f64 / 1e3 - gap).abs()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let quantile =
            |q: f64| errors.get((errors.len().max(1) - 1) * (q * 1000.0) as usize / 1000).copied().unwrap_or(0.0);
        let per = cpu * 1e9 / done.latencies.len().max(1) as f64;
        return println!("{per:.1} {:.2} {:.2} {}", quantile(0.5), quantile(0.99), done.latencies.len());
    }
    let mut latencies = done.latencies;
    latencies.sort_unstable();
    let quantile =
        |q: f64| latencies.get(((latencies.len().max(1) - 1) as f64 * q) as usize).map_or(0.0, |ns| *ns as f64 / 1e3);
    println!(
        "{} {} {:.3} {:.1} {:.1} {:.1} {:.1}",
        done.sent,
        latencies.len(),
        done.wall,
        cpu * 1e9 / latencies.len().max(1) as f64,
        quantile(0.5),
        quantile(0.99),
        quantile(0.999)
    );
}
