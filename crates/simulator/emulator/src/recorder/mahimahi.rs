//! The log of one direction in the format of Mahimahi's `mm-link`, which `mm-throughput-graph` and `mm-delay-graph` plot.
//!
//! Times are in ms, truncated, since the start of the run. After the header, each line is an event:
//!
//! | line | meaning |
//! |---|---|
//! | `ms + bytes` | a packet arrived |
//! | `ms # bytes` | the link could send this many bytes |
//! | `ms - bytes delay` | a packet departed; waiting and transmission took `delay` ms |
//! | `ms d packets bytes` | packets were dropped |
//!
//! In Mahimahi, propagation is the task of another program, `mm-delay`. Thus a packet departs here at the end of its
//! transmission, before the delay of the link. Jitter and changes of the delay count as waiting. A capacity trace has an
//! opportunity of 1504 B per line. Other links have one per ms, with the bytes that the link can transmit in it. Sizes
//! include the overhead of the link, which is 4 B for a trace, as in `mm-link`.

use super::{PacketEvent, PacketEventKind, PacketSink};
use headway_link::{CapacityTrace, Config};
use headway_units::{Duration, Instant};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts in the header of a [`MahimahiLog`].
#[derive(Clone, Debug)]
pub struct LogHeader {
    /// Name of the direction, such as `Uplink`.
    pub direction: String,
    /// Name of the trace, or the rate of the link.
    pub trace: String,
    /// Command line of the emulator.
    pub command_line: String,
    /// Queue of the link with its options, as text.
    pub queue: String,
}

/// Log of one direction of a link, in the format of Mahimahi's `mm-link`.
#[derive(Debug)]
pub struct MahimahiLog<W = BufWriter<File>> {
    file: PathBuf,
    out: W,
    /// Direction whose events are written.
    path: usize,
    header: LogHeader,
    config: Arc<Config>,
    /// Number of complete ms whose capacity is written.
    millis: u64,
    /// Capacity that is not yet written, in bytes.
    rest: f64,
}

impl MahimahiLog {
    /// Creates the log of one direction of a link. `path` is the index of the direction and `config` its configuration.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn create(file: &Path, path: usize, header: LogHeader, config: &Arc<Config>) -> io::Result<Self> {
        Ok(Self::new(file, BufWriter::new(File::create(file)?), path, header, config))
    }
}

impl<W: Write> MahimahiLog<W> {
    fn new(file: &Path, out: W, path: usize, header: LogHeader, config: &Arc<Config>) -> Self {
        Self { file: file.to_owned(), out, path, header, config: Arc::clone(config), millis: 0, rest: 0.0 }
    }

    /// Writes the opportunities up to `until`.
    fn write_capacity(&mut self, until: Instant) -> io::Result<()> {
        while Instant::from_millis(self.millis + 1) <= until {
            let [from, to] = [self.millis, self.millis + 1].map(Instant::from_millis);
            self.millis += 1;
            self.rest += self.config.mean_rate(from, to) * to.since(from).as_secs_f64() / 8.0;
            // The mean rate of a trace has a rounding error.
            let opportunity = match self.config.capacity {
                Some(_) => CapacityTrace::OPPORTUNITY.count(),
                None => ((self.rest + 1e-6) as u64).max(1),
            };
            while self.rest + 1e-6 >= opportunity as f64 {
                self.rest -= opportunity as f64;
                writeln!(self.out, "{} # {opportunity}", self.millis)?;
            }
        }
        Ok(())
    }
}

impl<W: Write + Send> PacketSink for MahimahiLog<W> {
    fn path(&self) -> &Path {
        &self.file
    }

    fn needs_bytes(&self) -> bool {
        false
    }

    fn begin(&mut self, epoch: Duration) -> io::Result<()> {
        let LogHeader { direction, trace, command_line, queue } = &self.header;
        writeln!(self.out, "# mahimahi mm-link ({direction}) [{trace}] > {}", self.file.display())?;
        for (key, text) in [("command line", command_line), ("queue", queue)] {
            // A line feed in an argument would end the line.
            writeln!(self.out, "# {key}: {}", text.replace('\n', " "))?;
        }
        writeln!(self.out, "# init timestamp: {}\n# base timestamp: 0", epoch.as_nanos() / 1_000_000)?;
        self.out.flush()
    }

    fn record(&mut self, event: &PacketEvent) -> io::Result<()> {
        if event.path != self.path {
            return Ok(());
        }
        self.write_capacity(event.at)?;
        let bytes = u64::from(event.size) + self.config.overhead.count();
        match event.kind {
            PacketEventKind::Arrived => writeln!(self.out, "{} + {bytes}", millis(event.at)),
            PacketEventKind::Departed => {
                let sent = event.at.checked_sub(self.config.delay).unwrap_or(Instant::ZERO).max(event.arrived_at);
                let delay = millis(sent) - millis(event.arrived_at);
                writeln!(self.out, "{} - {bytes} {delay}", millis(sent))
            }
            PacketEventKind::Dropped(_) => writeln!(self.out, "{} d 1 {bytes}", millis(event.at)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finish(&mut self, end: Instant) -> io::Result<()> {
        self.write_capacity(end)?;
        self.out.flush()
    }
}

fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_link::QueueOptions;
    use headway_units::{Dialect, DropCause, Registry};

    fn log(config: Config, events: &[(PacketEventKind, u64, u64)], end: u64) -> String {
        let header = LogHeader {
            direction: "Uplink".to_owned(),
            trace: "x.trace".to_owned(),
            command_line: "'headway' 'a\nb'".to_owned(),
            queue: "droptail".to_owned(),
        };
        let mut log = MahimahiLog::new(Path::new("up.log"), Vec::new(), 0, header, &Arc::new(config));
        log.begin(Duration::from_micros(1_700_000_000_123_456)).unwrap();
        for (kind, at, arrived_at) in events {
            let [at, arrived_at] = [*at, *arrived_at].map(Instant::from_micros);
            let event = PacketEvent { path: 0, at, arrived_at, size: 1000, bytes: Vec::new(), kind: *kind };
            log.record(&event).unwrap();
            log.record(&PacketEvent { path: 1, ..event }).unwrap();
        }
        log.finish(Instant::from_micros(end)).unwrap();
        String::from_utf8(log.out).unwrap()
    }

    fn config(rate: &str) -> Config {
        let queue = QueueOptions::preset("droptail", Dialect::Rfc).unwrap();
        Config::new(rate.parse().unwrap(), Duration::from_millis(20), queue)
    }

    /// 2 Mb/s are 250 B in each ms. The packet of 1000 B is transmitted in 4 ms, and the delay of 20 ms does not count.
    #[test]
    fn a_rate_has_an_opportunity_per_ms() {
        use PacketEventKind::{Arrived, Departed, Dropped};
        let events = [(Arrived, 1900, 1900), (Dropped(DropCause::QueueFull), 2000, 2000), (Departed, 25_900, 1900)];
        let text = log(config("2Mbps"), &events, 25_999);
        let (header, lines) = text.split_at(text.find("\n1 #").unwrap() + 1);
        assert_eq!(
            header,
            "# mahimahi mm-link (Uplink) [x.trace] > up.log\n# command line: 'headway' 'a b'\n# queue: droptail\n\
             # init timestamp: 1700000000123\n# base timestamp: 0\n"
        );
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[..4], ["1 # 250", "1 + 1000", "2 # 250", "2 d 1 1000"]);
        assert_eq!(lines.len(), 25 + 3);
        assert_eq!(lines[27], "5 - 1000 4");
    }

    /// Rates below 8 kb/s have less than one opportunity per ms: 3 kb/s are 375 B in a second.
    #[test]
    fn fractions_of_a_byte_are_carried() {
        let text = log(config("3kbps"), &[], 1_000_000);
        let sum: u64 = text.lines().filter_map(|line| line.split_once(" # ")?.1.parse::<u64>().ok()).sum();
        assert_eq!(sum, 375);
    }

    #[test]
    fn a_trace_has_an_opportunity_of_1504_bytes_per_line() {
        let mut config = config("1Mbps");
        config.capacity = Some(Arc::new(CapacityTrace::parse("2\n2\n5\n").unwrap()));
        config.overhead = CapacityTrace::HEADER;
        let text = log(config, &[(PacketEventKind::Arrived, 100, 100)], 11_000);
        let lines: Vec<&str> = text.lines().skip(5).collect();
        assert_eq!(lines, ["0 + 1004", "2 # 1504", "2 # 1504", "5 # 1504", "7 # 1504", "7 # 1504", "10 # 1504"]);
    }
}
